"""Make the pictures of the documentation again, and the files that Blender made for the tutorials.

    python docs/make_pictures.py                          # all of them
    python docs/make_pictures.py docs/pictures/hill.png   # some of them

Needs VTK, Playwright, a Python with ``bpy`` (``python3 dev.py test`` installs them; another one may
be named by ``MSH_GLTF_BLENDER_PYTHON``) and a Chromium on the PATH. ``docs/pictures/manifest.json``
notes what each was made from; a test says which are out of date.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageOps

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
MANIFEST = PICTURES / "manifest.json"
BLENDER = "examples/blender"
MODELS = tuple(f"examples/{name}.msh" for name in ("walker", "hangar", "tree"))
GAME = (*MODELS, *(f"examples/make_{name}.py" for name in ("game", "entries", "models", "level", "textures")))
PLACED = (*GAME, "examples/make_mission.py")
#: Two such pictures fill the width of a page of the site.
HALF = "494x240"


class Work:
    """A scratch folder with the example game, what was converted and what Blender made of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def game(self) -> Path:
        """The example game."""
        run([sys.executable, ROOT / "examples/make_game.py", self.folder / "GAME"])
        return self.folder / "GAME"

    @cached_property
    def out(self) -> Path:
        """The example game as glTF."""
        return self.to_gltf("out", self.game)

    @cached_property
    def edited(self) -> Path:
        """The game with the tutorials' edits put back, as glTF again."""
        source, game = self.to_gltf("edits", self.game), self.folder / "NEW_GAME"
        for edit, place in EDITS.items():
            shutil.copy(ROOT / edit, source / place)
        run([script("gltf2msh"), source, "--game", self.game, "-o", game, "--add", "-q"])
        return self.to_gltf("edited", game)

    def to_gltf(self, name: str, source: Path, *options: object) -> Path:
        """``msh2gltf SOURCE -o NAME -q OPTIONS``."""
        target = self.folder / name
        run([script("msh2gltf"), source, "-o", target, "-q", *options])
        return target

    def blender(self, name: str, *arguments: object) -> None:
        """Run one of the Blender scripts."""
        python = os.environ.get("MSH_GLTF_BLENDER_PYTHON", ROOT / ".venv-blender/bin/python")
        run([python, ROOT / BLENDER / name, *arguments])

    def edit(self, name: str, place: str, target: Path) -> None:
        """Let a Blender script edit a converted model where it lies, beside its textures."""
        folder = self.to_gltf(f"for_{name}", self.game)
        self.blender(name, folder / place)
        shutil.copy(folder / place, target)

    def preview(self, model: Path, *options: object) -> Path:
        """A picture by ``preview.py``."""
        target = self.folder / f"{len(list(self.folder.iterdir()))}.png"
        self.blender("preview.py", model, target, *options)
        return target

    def scene(self, *arguments: object) -> Path:
        """A picture by ``scene.py``."""
        target = self.folder / f"{len(list(self.folder.iterdir()))}.png"
        self.blender("scene.py", target, *arguments)
        return target


@dataclass(frozen=True)
class Recipe:
    """How something is made.

    Attributes:
        target: path below the repository.
        make: makes it.
        sources: files that it is made from, below the repository.
        says: what a terminal shows; its text is a source too.
    """

    target: str
    make: Callable[[Work, Path], None]
    sources: tuple[str, ...]
    says: Callable[[], str] | None = None

    def made_of(self) -> dict[str, str]:
        """Digests of everything that it is made from."""
        how = (self.make, Work, terminal, beside, save)
        out = {"recipe": digest(code("".join(map(inspect.getsource, how))))}
        for name in self.sources:
            data = (ROOT / name).read_bytes()
            out[name] = digest(code(data.decode()) if name.endswith(".py") else data)
        if self.says is not None:
            out["text"] = digest(self.says().encode())
        return out


RECIPES: dict[str, Recipe] = {}


def recipe(
    target: str, *sources: str, says: Callable[[], str] | None = None
) -> Callable[[Callable[[Work, Path], None]], Callable[[Work, Path], None]]:
    def note(make: Callable[[Work, Path], None]) -> Callable[[Work, Path], None]:
        RECIPES[target] = Recipe(target, make, sources, says)
        return make

    return note


#: File -> the place in a converted game that it takes.
EDITS = {
    "examples/edits/e_tur_01.glb": "turrets.rlb/e_tur_01.glb",
    "examples/edits/my_bunker.glb": "fortif.rlb/my_bunker.glb",
    "examples/edits/Land.glb": "DATA/MAPS/Tut_1/Land.glb",
}


@recipe("examples/edits/e_tur_01.glb", *GAME, f"{BLENDER}/second_gun.py")
def turret_edit(work: Work, target: Path) -> None:
    work.edit("second_gun.py", EDITS["examples/edits/e_tur_01.glb"], target)


@recipe("examples/edits/my_bunker.glb", f"{BLENDER}/bunker.py")
def bunker_edit(work: Work, target: Path) -> None:
    work.blender("bunker.py", target)


@recipe("examples/edits/Land.glb", *GAME, f"{BLENDER}/hill.py")
def land_edit(work: Work, target: Path) -> None:
    work.edit("hill.py", EDITS["examples/edits/Land.glb"], target)


HABITS = ("untouched", "cube", "reopened", "moved", "renamed")


def habit(work: Work, target: Path) -> None:
    folder = work.folder / "habits"
    if not folder.is_dir():
        folder.mkdir()
        work.blender("habits.py", work.out / "turrets.rlb/e_tur_02.glb", folder)
    shutil.copy(folder / target.name, target)


for name in HABITS:
    recipe(f"examples/edits/habits/{name}.glb", *GAME, f"{BLENDER}/habits.py")(habit)


@recipe("docs/pictures/examples.png", *MODELS, f"{BLENDER}/preview.py")
def examples_picture(work: Work, target: Path) -> None:
    plain = work.folder / "plain"
    for name in MODELS:
        work.to_gltf(f"plain/{Path(name).stem}.glb", ROOT / name, "--no-textures")
    look = ("--size", "400x400", "--turn", "145")
    shown = [work.preview(plain / "walker.glb", "--frame", frame, *look) for frame in (0, 6, 12)]
    shown += [work.preview(plain / f"{name}.glb", *look) for name in ("hangar", "tree")]
    save(beside(shown), target)


@recipe("docs/pictures/textured.png", *GAME, f"{BLENDER}/preview.py", f"{BLENDER}/scene.py")
def textured_picture(work: Work, target: Path) -> None:
    tree = work.out / "static.rlb/s_tree_01.glb"
    shown = work.scene(
        f"{work.out / 'static.rlb/r_h_01.glb'}@6,12,15",
        f"{work.out / 'fortif.rlb/f_hangar.glb'}@0,0,0",
        *(f"{tree}@{place}" for place in ("9.5,-3,0", "9,2,40", "-11,5,70")),
        *("--size", "1000x480", "--turn", "150", "--pitch", "13", "--near", "0.8"),
    )
    save(opened(shown), target)


@recipe("docs/pictures/playing.webp", *PLACED, f"{BLENDER}/preview.py", f"{BLENDER}/scene.py")
def playing_picture(work: Work, target: Path) -> None:
    """The clips of a unit and a building, forth and back; half as wide as a page of the site."""
    frames, tree = 25, work.out / "static.rlb/s_tree_01.glb"
    shown = work.scene(
        f"{work.to_gltf('playing.glb', work.game, '--unit', 'walker')}@6,9.8,15",
        f"{work.out / 'fortif.rlb/f_hangar.glb'}@0,0,0",
        *(f"{tree}@{place}" for place in ("9.5,-3,0", "9,2,40", "-11,5,70")),
        *("--size", HALF, "--turn", "150", "--pitch", "13", "--near", "0.72", "--play", frames),
    )
    played = [opened(shown.with_stem(f"{shown.stem}_{frame:03}")) for frame in range(frames)]
    played += played[-2:0:-1]
    played[0].save(target, save_all=True, append_images=played[1:], duration=80, loop=0, quality=70, method=6)


@recipe("docs/pictures/before_after.png", *PLACED, f"{BLENDER}/preview.py", f"{BLENDER}/scene.py")
def before_after_picture(work: Work, target: Path) -> None:
    """A unit as it is, and with the rust that a tutorial gives it."""
    game, edits = work.folder / "RUSTY", work.to_gltf("rusty", work.game)
    armour = edits / "textures/armour.0.png"
    ImageOps.colorize(opened(armour).convert("L"), (40, 20, 10), (220, 120, 50)).save(armour)
    run([script("gltf2msh"), edits, "--game", work.game, "-o", game, "-q"])
    width, height = map(int, HALF.split("x"))
    out = Image.new("RGB", (width, height), "white")
    for side, source in enumerate((work.game, game)):
        unit = work.to_gltf(f"unit{side}.glb", source, "--unit", "walker")
        shown = opened(
            work.scene(f"{unit}@0,0,0", *("--size", f"{width // 2 - 1}x{height}", "--turn", "150", "--pitch", "13"))
        )
        out.paste(shown, (side * (width // 2 + 1), 0))
    draw, middle = ImageDraw.Draw(out), (width // 2, height // 2)
    draw.circle(middle, 17, "white")
    arrow = (-10, -2), (1, -2), (1, -9), (11, 0), (1, 9), (1, 2), (-10, 2)
    draw.polygon([(middle[0] + x, middle[1] + y) for x, y in arrow], (32, 36, 40))
    save(out, target)


@recipe("docs/pictures/cells.png", *GAME)
def cells_picture(work: Work, target: Path) -> None:
    """Four materials of one texture of four rectangles: the whole of it for each, and as the game shows them."""
    from msh_gltf.converter.formats.nres import read_nres, write_nres
    from msh_gltf.converter.formats.nres_edits import replace_entry
    from msh_gltf.converter.formats.texture import PAGE_DTYPE
    from msh_gltf.converter.kinds.library import add_or_replace_texture, texm_of

    game, names, side = work.folder / "PAGE", ("armour", "wall", "floor", "joint"), 128
    shutil.copytree(work.game, game)
    sheet, places = Image.new("RGBA", (2 * side, 2 * side)), [(x, y) for y in (0, side) for x in (0, side)]
    for name, place in zip(names, places, strict=True):
        sheet.paste(opened(work.out / f"textures/{name}.0.png").resize((side, side)), place)
    sheet.save(work.folder / "sheet.png")
    rectangles = np.array([(x, side, y, side) for x, y in places], PAGE_DTYPE)
    texture = replace(texm_of(work.folder / "sheet.png"), rects=rectangles)
    (game / "Textures.lib").write_bytes(add_or_replace_texture(game / "Textures.lib", "sheet.0", texture).data)
    library = read_nres((game / "Material.lib").read_bytes(), "Material.lib")
    shown = []
    for whole in (True, False):
        for cell, name in enumerate(names):
            index = library.find(name)
            data = bytearray(library.entries[index].payload)
            data[31:48] = struct.pack("<b16s", -1 if whole else cell, b"sheet.0")
            library = replace_entry(library, index, bytes(data))
        (game / "Material.lib").write_bytes(write_nres(library))
        out = work.to_gltf(f"page{whole}", game, "--thumbnails")
        (picture,) = out.rglob("f_hangar*.png")
        backdrop = Image.new("RGBA", Image.open(picture).size, (128, 128, 132, 255))
        shown.append(work.folder / f"page{whole}.png")
        Image.alpha_composite(backdrop, Image.open(picture).convert("RGBA")).save(shown[-1])
    save(beside(shown), target)


@recipe("docs/pictures/level.png", *GAME, f"{BLENDER}/preview.py")
def level_picture(work: Work, target: Path) -> None:
    level = work.out / "DATA/MAPS/Tut_1"
    look = ("--size", "700x420", "--turn", "150")
    shown = [work.preview(level / name, *look) for name in ("Land.glb", "Land.map.glb")]
    save(beside(shown), target)


@recipe("docs/pictures/walker.png", *PLACED, f"{BLENDER}/preview.py")
def walker_picture(work: Work, target: Path) -> None:
    unit = work.to_gltf("walker.glb", work.game, "--unit", "walker")
    look = ("--size", "500x440", "--turn", "145")
    save(beside([work.preview(unit, "--frame", frame, *look) for frame in (0, 6)]), target)


@recipe("docs/pictures/mission.png", *PLACED, f"{BLENDER}/preview.py", f"{BLENDER}/scene.py")
def mission_picture(work: Work, target: Path) -> None:
    mission = work.to_gltf("mission.glb", work.game / "MISSIONS/Single.01")
    shown = work.scene(
        f"{mission}@0,0,0", *("--size", "760x420", "--turn", "25", "--pitch", "42", "--near", "0.2", "--no-ground")
    )
    save(opened(shown), target)


@recipe("docs/pictures/lods.png", *GAME, f"{BLENDER}/preview.py", f"{BLENDER}/scene.py")
def lods_picture(work: Work, target: Path) -> None:
    walker = work.out / "static.rlb/r_h_01.glb"
    places = {"": "0,0,0", ":0.1": "-3.95,1.44,0", ":0.2": "-7.9,2.87,0", ":1.0": "-11.85,4.31,0"}
    shown = work.scene(
        *(f"{walker}{cell}@{place}" for cell, place in places.items()),
        *("--size", "1000x330", "--turn", "160", "--near", "0.6", "--no-ground"),
    )
    save(opened(shown), target)


@recipe("docs/pictures/animation.png", *GAME, f"{BLENDER}/preview.py")
def animation_picture(work: Work, target: Path) -> None:
    turret = work.out / "turrets.rlb/e_tur_01.glb"
    look = ("--size", "300x300", "--turn", "145")
    save(beside([work.preview(turret, "--frame", i, *look) for i in (0, 6, 12, 18)]), target)


@recipe("docs/pictures/turret.png", *GAME, "examples/edits/e_tur_01.glb", f"{BLENDER}/preview.py")
def turret_picture(work: Work, target: Path) -> None:
    look = ("--size", "500x400", "--turn", "145")
    shown = [w / "turrets.rlb/e_tur_01.glb" for w in (work.out, work.edited)]
    save(beside([work.preview(model, *look) for model in shown]), target)


@recipe(
    "docs/pictures/bunker.png",
    *GAME,
    "examples/edits/my_bunker.glb",
    f"{BLENDER}/preview.py",
    f"{BLENDER}/scene.py",
    "examples/new_material.py",
    "examples/building/BRICK.png",
)
def bunker_picture(work: Work, target: Path) -> None:
    game = work.folder / "with_bunker"
    shutil.copytree(work.game, game)
    brick = ROOT / "examples/building/BRICK.png"
    run([script("gltf2msh"), brick, "--into", game / "Textures.lib", "-q"])
    material = [game / "Material.lib", "wall", "BRICK", "BRICK.0"]
    run([sys.executable, ROOT / "examples/new_material.py", *material])
    run([script("gltf2msh"), ROOT / "examples/edits/my_bunker.glb", "-o", f"{game}/", "-q"])
    bunker = work.to_gltf("bunker.glb", game / "my_bunker.msh")
    places = {"": "0,0,0", ":0.1": "-10.3,3.75,0", ":0.2": "-20.7,7.5,0", ":1.0": "-31,11.3,0"}
    shown = work.scene(
        *(f"{bunker}{cell}@{place}" for cell, place in places.items()),
        *("--size", "1000x300", "--turn", "160", "--near", "0.7", "--no-ground"),
    )
    save(opened(shown), target)


@recipe("docs/pictures/hill.png", *GAME, "examples/edits/Land.glb", f"{BLENDER}/preview.py")
def hill_picture(work: Work, target: Path) -> None:
    shown = [w / "DATA/MAPS/Tut_1/Land.glb" for w in (work.out, work.edited)]
    look = ("--size", "700x400", "--turn", "150")
    save(beside([work.preview(model, *look) for model in shown]), target)


#: No graphics card is needed; root may not use the sandbox.
SWITCHES = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@recipe("docs/pictures/gallery.png", *PLACED)
def gallery_picture(work: Work, target: Path) -> None:
    from playwright.sync_api import sync_playwright

    page = work.to_gltf("gallery", work.game, "--thumbnails") / "index.html"
    shown = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=SWITCHES)
        for name, width in (("", 560), ("#static.rlb/r_h_01", 640)):
            size = {"width": width, "height": 600}
            tab = browser.new_page(color_scheme="light", viewport=size)
            tab.goto(page.as_uri() + name)
            tab.locator("#count:not(:empty)").wait_for()
            if name:
                tab.locator("#triangles:not(:empty)").wait_for(timeout=30_000)
            tab.wait_for_timeout(1000)
            shown.append(work.folder / f"gallery_{width}.png")
            tab.screenshot(path=shown[-1])
        browser.close()
    save(beside(shown, 12), target)


def block(page: str, command: str) -> str:
    """The ``console`` block of a page that begins with a command; a test runs it."""
    text = (ROOT / page).read_text("utf-8")
    found = text.split(f"```console\n$ {command}", 1)
    if len(found) != 2:
        raise SystemExit(f"{page} has no block with: {command}")
    return f"$ {command}{found[1].partition('```')[0]}".rstrip()


def inspected() -> str:
    whole = block("docs/tutorials/look.md", "msh-inspect GAME/turrets.rlb --entry")
    return whole.partition("\nentries")[0].rstrip()


@recipe("docs/pictures/inspect.svg", says=inspected)
def inspect_picture(work: Work, target: Path) -> None:
    target.write_text(terminal(inspected()), "utf-8")


def terminal(text: str) -> str:
    """A text as a terminal shows it, as SVG that needs nothing from a network."""
    from rich.console import Console
    from rich.text import Text

    width = max(map(len, text.splitlines())) + 1
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    for line in text.splitlines():
        style = "bold #7ee787" if line.startswith("$ ") else ""
        console.print(Text(line, style), no_wrap=True, crop=False)
    made = console.export_svg(title="")
    return re.sub(r"@font-face {.*?}\s*", "", made, flags=re.DOTALL)


def run(command: list[object]) -> None:
    """Run something; what it says is only shown if it fails."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def script(name: str) -> Path:
    """One of the project's commands."""
    return Path(sys.executable).with_name(name)


def chromium() -> str:
    """A browser that is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise SystemExit("no Chromium on the PATH")
    return found


def opened(path: Path) -> Image.Image:
    return Image.open(path).convert("RGB")


def beside(paths: list[Path], gap: int = 0) -> Image.Image:
    """Pictures of one height next to each other; rows that show nothing but the backdrop go."""
    pictures = [opened(path) for path in paths]
    empty = Image.new("RGB", pictures[0].size, pictures[0].getpixel((0, 0)))
    boxes = [ImageChops.difference(p, empty.resize(p.size)).getbbox() for p in pictures]
    top, bottom = min(box[1] for box in boxes), max(box[3] for box in boxes)
    top, bottom = max(0, top - 20), min(pictures[0].height, bottom + 20)
    pictures = [picture.crop((0, top, picture.width, bottom)) for picture in pictures]
    width = sum(picture.width + gap for picture in pictures) - gap
    out = Image.new("RGB", (width, pictures[0].height), (128, 128, 132))
    at = 0
    for picture in pictures:
        out.paste(picture, (at, 0))
        at += picture.width + gap
    return out


def save(picture: Image.Image, target: Path) -> None:
    """As a PNG of 255 colours, which is small."""
    picture.quantize(255, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def code(text: str) -> bytes:
    """What Python code does, however it is laid out."""
    return ast.unparse(ast.parse(text)).encode()


def noted() -> dict[str, dict[str, str]]:
    """The manifest: target -> what it was made of, and its own digest under ``is``."""
    return json.loads(MANIFEST.read_text("utf-8")) if MANIFEST.is_file() else {}


def current(target: str) -> dict[str, str]:
    """What the manifest should say of a target."""
    path = ROOT / target
    own = digest(path.read_bytes()) if path.is_file() else "missing"
    return {"is": own, **RECIPES[target].made_of()}


def main(wanted: list[str]) -> None:
    if unknown := set(wanted) - set(RECIPES):
        raise SystemExit(f"{', '.join(unknown)}: known are {', '.join(RECIPES)}")
    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder))
        for target in wanted or RECIPES:
            path = ROOT / target
            path.parent.mkdir(parents=True, exist_ok=True)
            RECIPES[target].make(work, path)
            manifest = noted() | {target: current(target)}
            text = json.dumps(dict(sorted(manifest.items())), indent=1)
            MANIFEST.write_text(text + "\n", "utf-8")
            print(f"{target}: {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
