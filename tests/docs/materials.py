"""What a page of the documentation may find in its folder: one maker for each name."""

from __future__ import annotations

import atexit
import functools
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msh_gltf.converter.formats.model import StreamType
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.tables import HEADER_DTYPE, SLOT_DTYPE
from tests.support.game import unpack_archives

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
MAKERS: dict[str, Callable[[Path], object]] = {}


def lay_out(folder: Path, names: list[str]) -> None:
    """Put things into a page's folder; a copy of the examples is always there.

    Raises:
        KeyError: nobody makes a thing of this name.
    """
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name in names:
        MAKERS[name](folder / name)


def maker(name: str) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    def note(function: Callable[[Path], object]) -> Callable[[Path], object]:
        MAKERS[name] = function
        return function

    return note


def call_example(script: str, function: str, *arguments: object) -> Any:
    """Call a function of a script in ``examples``."""
    before = sys.path[:]
    sys.path.insert(0, str(EXAMPLES))
    try:
        return runpy.run_path(str(EXAMPLES / script))[function](*arguments)
    finally:
        sys.path[:] = before


@functools.cache
def example_game() -> Path:
    """The game of ``examples/make_game.py``, made once."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    root = Path(folder.name) / "GAME"
    call_example("make_game.py", "make_game", root)
    return root


@maker("GAME")
@maker("GAME_COPY")
def game(path: Path) -> None:
    """The example game."""
    shutil.copytree(example_game(), path)


@maker("UNPACKED")
def unpacked(path: Path) -> None:
    """The example game, its archives unpacked into folders; units and missions need archives."""
    ignored = shutil.ignore_patterns("UNITS", "MISSIONS")
    unpack_archives(shutil.copytree(example_game(), path, ignore=ignored))


@maker("robot.msh")
def robot(path: Path) -> None:
    """The walker, with what its materials are called."""
    shutil.copy(EXAMPLES / "walker.msh", path)
    shutil.copy(EXAMPLES / "walker.wea", path.with_suffix(".wea"))


@maker("tower.glb")
def tower(path: Path) -> None:
    """A new model, from a tool that knows nothing of the game."""
    with tempfile.TemporaryDirectory() as folder:
        call_example("make_models.py", "hangar").save(Path(folder))
        shutil.copy(Path(folder) / "hangar.glb", path)


@maker("WALL.png")
def wall(path: Path) -> None:
    """A picture of 64 x 64."""
    from PIL import Image

    Image.new("RGB", (64, 64), (150, 90, 60)).save(path)


@maker("DATA")
def data(path: Path) -> None:
    """The example game's."""
    shutil.copytree(example_game() / "DATA", path)


@maker("Land.map")
def areals(path: Path) -> None:
    """The example game's."""
    shutil.copy(example_game() / "DATA/MAPS/Tut_1/Land.map", path)


@maker("tower.obj")
def tower_obj(path: Path) -> None:
    """A model that another tool wrote as OBJ: four triangles."""
    path.write_text("o tower\nv 0 0 0\nv 1 0 0\nv 0 0 -1\nv 0 2 0\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")


@maker("broken.msh")
def broken(path: Path) -> None:
    """The walker; its slot 3 has more batches than there are."""
    data = bytearray((EXAMPLES / "walker.msh").read_bytes())
    slots = read_nres(bytes(data), "walker.msh").first_of_type(StreamType.SLOTS)
    row = slots.data_offset + HEADER_DTYPE.itemsize + 3 * SLOT_DTYPE.itemsize
    data[row + 6 : row + 8] = (60000).to_bytes(2, "little")
    path.write_bytes(data)
