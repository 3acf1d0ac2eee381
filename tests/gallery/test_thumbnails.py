"""``--thumbnails``: pictures that show the models, made once, by real VTK."""

import importlib.util
import json
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.game.gallery import MARK
from msh_gltf.exporters.gltf_file import Document, glb_bytes
from tests.support.gallery import WALKER, Camera, corners, ratio_inside
from tests.support.game import make_game, snapshot
from tests.support.gltf_view import GltfView
from tests.support.runs import call, python, run, run_apart

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("vtkmodules") is None, reason="no VTK: the preview extra is missing"
)


def report(tmp_path: Path, *arguments: object, code: int = 0) -> dict[str, Any]:
    path = tmp_path / "report.json"
    assert call(cli.msh2gltf, *arguments, "--report", path, "-q") == code
    facts: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return facts


def listed(out: Path) -> list[dict[str, Any]]:
    """What the page lists, read as the JSON that it is."""
    text = (out / "gallery/models.js").read_text("ascii")
    head, tail = "MSH_GALLERY.models(", ");\n"
    assert text.startswith(head)
    assert text.endswith(tail)
    models: list[dict[str, Any]] = json.loads(text[len(head) : -len(tail)])
    return models


def picture(out: Path, target: str) -> np.ndarray:
    path = out / "gallery/models" / f"{target}.png"
    return np.asarray(Image.open(BytesIO(path.read_bytes())).convert("RGBA"))


def test_a_picture_per_model(out: Path) -> None:
    """Each shows something on a clear ground, and no two models look the same."""
    models = listed(out)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))["models"]
    assert [m["file"] for m in models] == [m["outputs"][-1]["path"] for m in manifest]
    seen: dict[bytes, dict[str, Any]] = {}
    for about in models:
        shown = picture(out, about["target"])
        assert shown.shape == (240, 320, 4)
        assert shown[[0, 0, -1, -1], [0, -1, 0, -1], 3].max() == 0
        assert (shown[..., 3] > 0).mean() > 0.01, about["target"]
        if about["archive"] != "names.rlb":  # there it is one model under many names
            assert seen.setdefault(shown.tobytes(), about) is about
    assert {m["kind"] for m in models} == {"model", "terrain", "areal map"}


@pytest.mark.parametrize("target", ["walker", "static.rlb/i_room_006", "SYSTEM.RLB/R_H_002"])
def test_not_mirrored(target: str, out: Path) -> None:
    """Every corner is where a reference camera sees it; mirrored, many are not."""
    shown = picture(out, target)[..., 3] > 0
    points = corners(GltfView(out / f"{target}.glb"))
    camera = Camera(points, 320, 240)
    assert ratio_inside(shown, camera.pixels(points)) > 0.995
    assert ratio_inside(shown, camera.pixels(points, mirrored=True)) < 0.9
    rows, columns = np.nonzero(shown)
    low, high = camera.pixels(points).min(0), camera.pixels(points).max(0)
    assert np.abs([columns.min(), rows.min()] - low).max() < 2
    assert np.abs([columns.max() + 1, rows.max() + 1] - high).max() < 2


def test_textures_are_shown(game: Path, out: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    only = ("--include", "static.rlb::i_room*")
    assert call(cli.msh2gltf, game, "-o", plain, "--thumbnails", "--no-textures", *only, "-q") == 0
    a, b = (picture(folder, "static.rlb/i_room_006").astype(int) for folder in (out, plain))
    assert ((a[..., 3] > 0) == (b[..., 3] > 0)).mean() > 0.9
    both = (a[..., 3] > 200) & (b[..., 3] > 200)
    assert (np.abs(a - b)[both].max(axis=1) > 40).mean() > 0.3
    # a textured surface has many colours
    assert len(np.unique(a[both], axis=0)) > 2 * len(np.unique(b[both], axis=0))


FILTERING = """
import sys
from pathlib import Path
from msh_gltf.converter.game import thumbnails
from msh_gltf.converter.game.gallery import pack
light = thumbnails._light
def seen(renderer):
    actors = renderer.GetActors()
    actors.InitTraversal()
    while (actor := actors.GetNextActor()) is not None:
        for one in actor.GetProperty().GetTexture("albedoTex"), actor.GetTexture():
            if one is not None: print(one.GetMaximumAnisotropicFiltering())
    light(renderer)
thumbnails._light = seen
out = Path(sys.argv[1])
thumbnails.draw(pack(out / "static.rlb/i_room_006.glb", out).glb)
"""


def test_no_anisotropic_filtering(out: Path) -> None:
    """With it Mesa takes minutes for a textured triangle that is seen edge-on."""
    done = python("-c", FILTERING, out)
    assert set(done.stdout.split()) == {"1.0"}


def test_a_second_run_draws_what_changed(game: Path, out: Path, tmp_path: Path) -> None:
    out = shutil.copytree(out, tmp_path / "out")
    first = snapshot(out)
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    again = report(tmp_path, game, "-o", out, "--thumbnails")
    assert again["notes"] == [f"{out / 'index.html'} shows {len(listed(out))} models (0 drawn now)"]
    assert snapshot(out) == first
    assert times == {path: path.stat().st_mtime_ns for path in times}

    # an edited glTF is kept, and shown as it is now
    rock, room = (out / f"static.rlb/{name}.glb" for name in ("s_rock_057", "i_room_006"))
    raw = rock.read_bytes()
    rock.write_bytes(room.read_bytes())
    # somebody's broken picture, and one of a run that was killed
    (out / "gallery/models/static.rlb/i_room_006.png").write_bytes(b"\x89PNG broken")
    (out / "gallery/models/SYSTEM.RLB/R_H_002.png").unlink()
    (out / "gallery/models/SYSTEM.RLB/.msh-gltf-0123.tmp").write_bytes(b"half")
    again = report(tmp_path, game, "-o", out, "--thumbnails")
    assert again["notes"][0].endswith("(3 drawn now)")
    assert not list(out.rglob("*.tmp"))
    same = [picture(out, target).tobytes() for target in ("static.rlb/s_rock_057", "static.rlb/i_room_006")]
    assert same[0] == same[1]
    rock.write_bytes(raw)
    report(tmp_path, game, "-o", out, "--thumbnails")
    assert snapshot(out) == first

    # some of the game: the others stay on the page
    report(tmp_path, game, "-o", out, "--thumbnails", "--include", "walker.msh")
    assert snapshot(out)["gallery/models.js"] == first["gallery/models.js"]


def test_the_way_back_is_untouched(game: Path, out: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    assert call(cli.gltf2msh, out, "--game", game, "-o", new, "-q") == 0
    assert snapshot(new) == snapshot(game)


def test_a_failing_picture_costs_no_model(tmp_path: Path) -> None:
    """VTK cannot draw one, another cannot be read at all, a third shows nothing."""
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    report(tmp_path, game, "-o", out, "--no-textures")
    packed = GltfView(out / "static.rlb/R_H_002.glb").json
    # VTK does not read it; the converter does, and here nothing is packed with it
    packed["extensionsUsed"] = packed["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    view = GltfView(out / "static.rlb/R_H_002.glb")
    (out / "static.rlb/R_H_002.glb").write_bytes(glb_bytes(Document(packed, view.buffer)))
    (out / "static.rlb/i_room_006.glb").write_bytes(b"no glTF")
    empty = Document({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"name": "x"}]}, b"")
    (out / "static.rlb/s_rock_057.glb").write_bytes(glb_bytes(empty))
    options = ("-o", out, "--thumbnails", "--no-textures")
    facts = report(tmp_path, game, *options)
    items = {item["id"]: item for item in facts["items"]}
    bad, broken, none = (
        items[f"static.rlb::{name}.{suffix}"]
        for name, suffix in (("R_H_002", "MSH"), ("i_room_006", "msh"), ("s_rock_057", "msh"))
    )
    assert any("no thumbnail: " in warning for warning in bad["warnings"])
    assert "thumbnail" not in bad
    assert any("not in the gallery: " in warning for warning in broken["warnings"])
    assert not any("thumbnail" in warning for warning in none["warnings"])
    about = {m["target"]: m for m in listed(out)}
    assert about["static.rlb/R_H_002"]["picture"] is False
    assert about["static.rlb/s_rock_057"]["picture"] is False
    assert "static.rlb/i_room_006" not in about
    assert not (out / "gallery/models/static.rlb/R_H_002.png").exists()
    fine = items["static.rlb::MTCHECK.MSH"]
    assert fine["thumbnail"] == "gallery/models/static.rlb/MTCHECK.png"
    assert (out / fine["thumbnail"]).is_file()


def test_somebody_elses_page_and_a_link_stay(tmp_path: Path) -> None:
    """A page is replaced on request; nothing is written where a link leads."""
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / "index.html").write_text("<!doctype html><title>mine</title>")
    command = ("msh2gltf", WALKER.parent, "-o", out, "--thumbnails")
    assert "output exists already; move it away" in run(*command).stderr
    assert [path.name for path in out.iterdir()] == ["index.html"]
    (out / "gallery").symlink_to(elsewhere)
    assert run(*command, "--force").returncode != 0
    assert not list(elsewhere.iterdir())
    (out / "gallery").unlink()
    assert run(*command, "--force").returncode == 0
    assert (out / "index.html").read_bytes().startswith(MARK)


#: Where VTK finds no OpenGL, it ends the process.
NO_OPENGL = ("VTK_DEFAULT_OPENGL_WINDOW", "vtkOSOpenGLRenderWindow")


def test_without_opengl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message, and nothing is written."""
    monkeypatch.setenv(*NO_OPENGL)
    out = tmp_path / "out"
    result = run_apart("msh2gltf", WALKER.parent, "-o", out, "--thumbnails")
    if result.returncode == 0:
        pytest.skip("this machine has OSMesa: VTK draws even without a graphics driver")
    assert result.returncode == 2
    assert "VTK cannot draw on this machine" in result.stderr
    assert "apt install" in result.stderr
    assert "Traceback" not in result.stderr
    assert not out.exists()


_CRASH = """
import sys
from contextlib import contextmanager
from pathlib import Path
from msh_gltf.converter.game.gallery import make_gallery
from msh_gltf.converter.game.manifest import Run
from msh_gltf.converter.game.workers import Engine

@contextmanager
def progress(verb, total):
    yield lambda outcome, done, total: None

if __name__ == "__main__":
    run = Run("msh2gltf")
    make_gallery(run, Path(sys.argv[1]), Engine(2), progress)
    print(*run.notes, sep="\\n")
"""


def test_a_crash_costs_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has the model all the same. In a process of its own: workers know what was set before the first one."""
    out, script = tmp_path / "out", tmp_path / "crash.py"
    assert call(cli.msh2gltf, WALKER.parent, "-o", out, "-q") == 0
    script.write_text(_CRASH)
    monkeypatch.setenv(*NO_OPENGL)
    monkeypatch.setenv("PYTHONPATH", str(WALKER.parents[1]))
    notes = python(script, out).stdout
    if "3 drawn now" in notes:
        pytest.skip("this machine has OSMesa: VTK does not crash")
    assert notes.count("no thumbnail: the process that worked on it was killed") == 3
    assert "shows 3 models (0 drawn now)" in notes
    assert [m["picture"] for m in listed(out)] == [False] * 3
    assert all((out / f"gallery/models/{m['target']}.js").is_file() for m in listed(out))
