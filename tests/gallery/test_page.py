"""The gallery in a real browser, from the disk and from a server."""

import functools
import http.server
import importlib.util
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.options import ExportOptions
from tests.gallery.test_thumbnails import listed
from tests.support.browser import Heard, browser
from tests.support.gallery import HOSTILE, HOSTILE_ARCHIVE, Camera, corners, ratio_inside
from tests.support.gltf_view import GltfView

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("vtkmodules") is None, reason="no VTK: the preview extra is missing"
)
REFERENCE = Path(__file__).with_name("walker.png")
WIDE = {"width": 1400, "height": 900}


@pytest.fixture(scope="module")
def server(out: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(out))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}/index.html"
        served.shutdown()


class Tab:
    """A page; whatever it complains of is collected, and is nothing at the end."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.page = browser.new_page(color_scheme="light", **options)
        self.address = address
        self.heard = Heard(self.page)

    def visit(self, hash: str = "") -> Any:
        self.page.goto(self.address + hash)
        self.page.locator("#count:not(:empty)").wait_for()
        return self.page

    def shown(self) -> Any:
        """Wait until a model is shown; returns its canvas."""
        self.page.locator("#triangles:not(:empty)").wait_for(timeout=20_000)
        self.settle()
        return self.page.locator("#canvas")

    def settle(self) -> None:
        """Two pictures of the screen: what was asked for is drawn."""
        wait = "() => new Promise((d) => requestAnimationFrame(() => requestAnimationFrame(d)))"
        self.page.evaluate(wait)

    def leave(self) -> None:
        """Close the viewer, and wait until the address says so."""
        self.page.keyboard.press("Escape")
        self.page.wait_for_url(lambda url: "#" not in url)

    def pixels(self) -> np.ndarray:
        """(height, width, 3) what the canvas shows."""
        self.settle()
        shot = self.page.locator("#canvas").screenshot()
        return np.asarray(Image.open(BytesIO(shot)).convert("RGB"), np.int64)

    def triangles(self) -> int:
        return int(self.page.inner_text("#triangles").split()[0].replace(",", ""))

    def seek(self, frame: float) -> None:
        self.page.locator("#frame").evaluate(
            "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input')); }", frame
        )


@pytest.fixture(params=["file", "http"])
def either(request: pytest.FixtureRequest, browser: Any, out: Path, server: str) -> Iterator[Tab]:
    """A tab on the page, from the disk and from a server."""
    address = (out / "index.html").as_uri() if request.param == "file" else server
    yield from opened(browser, address)


@pytest.fixture
def tab(browser: Any, out: Path) -> Iterator[Tab]:
    """A tab on the page as a double click opens it."""
    yield from opened(browser, (out / "index.html").as_uri())


def opened(browser: Any, address: str) -> Iterator[Tab]:
    tab = Tab(browser, address, viewport=WIDE)
    yield tab
    tab.page.close()
    tab.heard.require_nothing(address.rsplit("/", 1)[0])


def mask(pixels: np.ndarray) -> np.ndarray:
    """Where something else than the ground is."""
    return np.abs(pixels - pixels[0, 0]).max(axis=2) > 8


def hash_of(target: str) -> str:
    return "#" + quote(target, safe="/!'()*")


def test_everything_is_listed(either: Tab, out: Path) -> None:
    page = either.visit()
    models = listed(out)
    assert page.locator(".card").count() == len(models)
    titles = page.locator("section > h2").all_text_contents()
    archives = list(dict.fromkeys(m["archive"] for m in models))
    expected = [f"{a or 'Files at the top'} {sum(m['archive'] == a for m in models)}" for a in archives]
    assert titles == expected
    assert page.locator(".name").all_text_contents() == [m["name"] for m in models]
    assert page.inner_text("#count").startswith(f"{len(models)} models in ")
    # every picture is there; those further down are only loaded when they are scrolled to
    images = page.locator(".card img")
    assert images.count() == sum(m["picture"] for m in models)
    assert images.first.get_attribute("loading") == "lazy"
    for i in range(images.count()):
        images.nth(i).scroll_into_view_if_needed()
        images.nth(i).evaluate("(image) => image.decode()")
        assert images.nth(i).evaluate("(image) => image.naturalWidth") == 320


def test_search(tab: Tab, out: Path) -> None:
    page = tab.visit()
    page.keyboard.press("/")
    page.keyboard.type("static.rlb r_h")
    assert page.locator(".card:visible .name").all_text_contents() == ["R_H_002.MSH"]
    assert page.locator("section:visible h2").all_text_contents() == ["static.rlb 1 of 4"]
    assert page.inner_text("#count").startswith("1 model in 1 ")
    page.fill("#search", "ПТИЦА")
    assert page.locator(".card:visible .name").all_text_contents() == ["птица.msh"]
    page.fill("#search", "terrain")
    assert page.locator(".card:visible .name").all_text_contents() == ["Land.msh"]
    page.fill("#search", "no such model")
    assert page.locator(".card:visible").count() == 0
    assert page.inner_text("#count") == f"none of {len(listed(out))} models has this in its name"
    page.keyboard.press("Escape")
    assert page.locator(".card:visible").count() == len(listed(out))


def test_the_viewer_shows_a_model(either: Tab, out: Path) -> None:
    """Its corners are where a reference camera sees them; the picture is the one looked at."""
    page = either.visit()
    page.locator(".card", has_text="walker.msh").click()
    canvas = either.shown()
    box = canvas.bounding_box()
    assert page.inner_text("#name") == "walker.msh"
    assert page.url.endswith("#walker")
    assert either.triangles() == 192
    assert page.inner_text("#facts") == "11 nodes, 25 frames"
    pixels = either.pixels()
    seen = mask(pixels)
    points = corners(GltfView(out / "walker.glb"))
    camera = Camera(points, round(box["width"]), round(box["height"]))
    assert ratio_inside(seen, camera.pixels(points)) > 0.995
    assert ratio_inside(seen, camera.pixels(points, mirrored=True)) < 0.9
    reference = np.asarray(Image.open(REFERENCE).convert("RGB"), np.int64)
    assert reference.shape == pixels.shape
    # browsers and drivers differ at edges and in the last bits, not in what they show
    assert np.abs(pixels - reference).mean() < 1.5
    assert (mask(reference) != seen).mean() < 0.005


def test_textures_in_the_viewer(tab: Tab, out: Path) -> None:
    """As many colours as VTK's picture has, where a model without textures has few."""
    tab.visit(hash_of("static.rlb/i_room_006"))
    tab.shown()
    pixels = tab.pixels()
    inside = pixels[mask(pixels)]
    assert len(np.unique(inside // 8, axis=0)) > 300


@pytest.mark.parametrize(
    ("target", "path", "entry"),
    [("walker", "walker.msh", None), ("names.rlb/Ёж и кот", "names.rlb", "Ёж и кот.msh")],
    ids=["levels", "cockpit"],
)
def test_level_and_stage(target: str, path: str, entry: str | None, tab: Tab, out: Path) -> None:
    """Every choice shows as many triangles as the model has there, and looks different."""
    page = tab.visit(hash_of(target))
    tab.shown()
    scene = load_file(out.parent / "game" / path, entry, ExportOptions(dialect="retail")).scene
    true: dict[tuple[int, int, bool], int] = {}
    for part in scene.parts:
        cell = (part.lod, part.group, scene.nodes[part.node].cockpit)
        true[cell] = true.get(cell, 0) + scene.triangle_count(part.mesh)
    lods, groups = (
        [{"view": 4}.get(text) or int(text) for text in page.locator(f"#{id} option").all_inner_texts()]
        for id in ("lod", "group")
    )
    assert page.inner_text("label[for=lod]") == "Damage stage"
    assert page.inner_text("label[for=group]") == "Level of detail"
    assert lods == sorted({lod for lod, _, _ in true})
    assert groups == sorted({group for _, group, _ in true})
    assert len(lods) * len(groups) > 2
    with_cockpit = any(cockpit for _, _, cockpit in true)
    assert page.locator("#cockpit").is_visible() == with_cockpit == (entry is not None)
    looks: dict[bytes, tuple[int, int]] = {}
    for lod in lods:
        for group in groups:
            for id, value, values in (("lod", lod, lods), ("group", group, groups)):
                if len(values) > 1:
                    page.select_option(f"#{id}", str(value))
            outside = true.get((lod, group, False), 0)
            assert tab.triangles() == outside
            pixels = tab.pixels()
            assert ("draws nothing" in page.inner_text("#message")) == (not outside)
            if outside:
                assert mask(pixels).any()
                assert looks.setdefault(pixels.tobytes(), (lod, group)) == (lod, group)
            if with_cockpit:
                page.check("#cockpit")
                assert tab.triangles() == outside + true.get((lod, group, True), 0)
                page.uncheck("#cockpit")


@pytest.mark.parametrize("level", [0, 1])
def test_animation(level: int, tab: Tab, out: Path) -> None:
    """Frames look different, and each part of a level stands where a reference poses it."""
    tab.visit(hash_of("walker"))
    box = tab.shown().bounding_box()
    view = GltfView(out / "walker.glb")
    camera = Camera(corners(view), round(box["width"]), round(box["height"]))
    tab.page.select_option("#group", str(level))
    rest = camera.pixels(corners(view, 0, level))
    moved = 0
    for frame in (0, 6, 13, 24):
        tab.seek(frame)
        assert tab.page.inner_text("#at") == f"frame {frame} of 24"
        seen = mask(tab.pixels())
        where = camera.pixels(corners(view, 0, level, frame))
        inside = (where > 2).all(1) & (where < np.array([box["width"], box["height"]]) - 2).all(1)
        assert inside.mean() > 0.6
        assert ratio_inside(seen, where[inside]) > 0.99
        moved += np.abs(where - rest).max() > 20
    assert moved >= 2


def test_play(tab: Tab) -> None:
    """The whole clip, or a range that a controller plays, as fast as it says: round between its frames, till Pause."""
    page = tab.visit(hash_of("walker"))
    tab.shown()
    first, slider = tab.pixels(), page.locator("#frame")
    assert page.locator("#range option").all_inner_texts() == ["all", "5..13 in 0.5 s at 5 m/s"]
    for chosen, low, high in (("0", 0, 24), ("1", 5, 13)):
        page.select_option("#range", chosen)
        if page.inner_text("#play") == "Play":
            page.click("#play")
        assert page.inner_text("#play") == "Pause"
        seen: set[float] = set()
        while len(seen) < 12 or max(seen) < low + 6 or min(seen) >= low + 3:  # however slow the machine is
            tab.settle()
            seen.add(float(slider.input_value()))
        assert (slider.get_attribute("min"), slider.get_attribute("max")) == (str(low), str(high))
        assert low <= min(seen) <= max(seen) <= high
    page.click("#play")
    assert page.inner_text("#play") == "Play"
    at = page.input_value("#frame")
    assert (np.abs(first - tab.pixels()).max(axis=2) > 20).mean() > 0.005
    assert page.input_value("#frame") == at
    tab.visit()
    tab.visit(hash_of("names.rlb/Ёж и кот"))
    tab.shown()
    assert page.locator("#range-control").is_hidden()


def test_maps(tab: Tab, out: Path) -> None:
    page = tab.visit(hash_of("DATA/MAPS/M1/Land"))
    tab.shown()
    known = {m["target"]: m for m in listed(out)}
    assert tab.triangles() == known["DATA/MAPS/M1/Land"]["triangles"]
    fine = tab.pixels()
    page.select_option("#group", label="coarse")
    view = GltfView(out / "DATA/MAPS/M1/Land.glb")
    rows = [view["accessors"][p["indices"]]["count"] for p in view["meshes"][1]["primitives"]]
    assert tab.triangles() == sum(rows) // 3
    assert (tab.pixels() != fine).any()
    tab.leave()
    page = tab.visit(hash_of("DATA/MAPS/M1/Land.map"))
    tab.shown()
    assert tab.triangles() == known["DATA/MAPS/M1/Land.map"]["triangles"]
    assert mask(tab.pixels()).mean() > 0.05


def test_hostile_names(tab: Tab, out: Path) -> None:
    """Whatever a file is called, it is text; and the address of its card opens its model."""
    page = tab.visit()
    page.evaluate("() => { window.hacked = () => { window.was = true; }; }")
    models = listed(out)
    assert [m["name"] for m in models if m["archive"] == "names.rlb"] == list(HOSTILE)
    for number, about in enumerate(models):
        if about["archive"] not in ("names.rlb", HOSTILE_ARCHIVE):
            continue
        card = page.locator(".card").nth(number)
        assert card.get_attribute("href") == hash_of(about["target"])
        card.click()
        tab.shown()
        assert page.inner_text("#name") == about["name"]
        assert page.inner_text("#source") == about["archive"]
        assert tab.triangles() == about["triangles"] > 0
        tab.leave()
    assert page.evaluate("() => window.was") is None
    assert page.locator("main img:not([src^='gallery/models/'])").count() == 0


def test_keys_and_addresses(tab: Tab, out: Path) -> None:
    targets = [m["target"] for m in listed(out)]
    page = tab.visit(hash_of(targets[0]))
    tab.shown()
    page.keyboard.press("ArrowRight")
    page.locator("#name", has_text=listed(out)[1]["name"]).wait_for()
    assert page.url.endswith(hash_of(targets[1]))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.locator("#name", has_text=listed(out)[-1]["name"]).wait_for()
    tab.shown()
    tab.leave()
    focused = "() => document.activeElement.getAttribute('href')"
    assert page.evaluate(focused) == hash_of(targets[-1])
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == hash_of(targets[-2])
    page.keyboard.press("Enter")
    tab.shown()
    assert page.inner_text("#name") == listed(out)[-2]["name"]
    page.go_back()
    page.locator("#viewer").wait_for(state="hidden")
    tab.settle()
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == hash_of(targets[0])


def test_a_missing_script_is_said(tab: Tab, out: Path) -> None:
    script = out / "gallery/models/walker.js"
    data = script.read_bytes()
    script.unlink()
    try:
        page = tab.visit(hash_of("walker"))
        page.locator("#message", has_text="is missing; run msh2gltf --thumbnails again").wait_for()
    finally:
        script.write_bytes(data)
    assert [said for said in tab.heard.said if "ERR_FILE_NOT_FOUND" not in said] == []
    tab.heard.said.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_dark(scheme: str, browser: Any, out: Path) -> None:
    """Nothing sticks out at 400 pixels, and text stands out in both colour schemes."""
    narrow = {"width": 400, "height": 800}
    page = browser.new_page(viewport=WIDE, color_scheme=scheme)
    page.goto((out / "index.html").as_uri() + hash_of("walker"))
    page.locator("#triangles:not(:empty)").wait_for(timeout=20_000)
    page.set_viewport_size(narrow)
    page.wait_for_timeout(500)
    wide = "() => document.documentElement.scrollWidth"
    assert page.evaluate(wide) == 400
    for control in page.locator(".controls button:visible, .controls select:visible").all():
        box = control.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400
    box = page.locator("#canvas").bounding_box()
    assert box["height"] > 300
    # the model stays in the picture when the window changes
    shot = Image.open(BytesIO(page.locator("#canvas").screenshot())).convert("RGB")
    seen = mask(np.asarray(shot, np.int64))
    assert seen.mean() > 0.05
    assert not np.concatenate([seen[0], seen[-1], seen[:, 0], seen[:, -1]]).any()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "#" not in url)
    page.wait_for_timeout(500)
    assert page.evaluate(wide) == 400
    shot = Image.open(BytesIO(page.screenshot())).convert("L")
    low, high = shot.getextrema()
    assert high - low > 180
    ground = np.median(np.asarray(shot))
    assert (ground > 128) == (scheme == "light")
    page.close()
