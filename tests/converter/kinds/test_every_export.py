"""Each kind of file, exported with every option and inspected: what comes of it stands in ``exports.txt``.

``python -m tests.converter.kinds.test_every_export`` writes it again, for you to read what became different.
"""

import json
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

from msh_gltf.converter.formats.texture import new_texm, write_texm
from tests.converter.judge.worlds import WORLDS
from tests.converter.kinds.test_every_difference import MODELS
from tests.support.assembly import mission, placed, registry
from tests.support.controller import State, action, channel, component, controller
from tests.support.corpus import DATA, LIBS
from tests.support.game import MESH, archive, entry
from tests.support.recorded import Recorded, digest, shown
from tests.support.rsli import library
from tests.support.runs import run

CTLD = int.from_bytes(b"CTLD", "little")

EXPORTS = Recorded(__file__, "exports.txt")
EXAMPLES = Path(__file__).parents[3] / "examples"
LEVELS = sorted((DATA / "maps").glob("*/Land.m??"))
#: What is exported with every option, and what with the first ones alone.
MANY = [EXAMPLES / "walker.msh", DATA / "retail__system__R_H_002.msh", *(WORLDS[name] for name in ("mission", "unit"))]
SOURCES = [*MODELS, *LEVELS, *(WORLDS[name] for name in ("mission", "unit", "points"))]
OPTIONS = [
    ["-o", "m.glb", "--textures", str(LIBS)],
    ["-o", "m.obj", "--textures", str(LIBS)],
    ["-o", "m.glb", "--clips", "states", "--parts", "all", "--paths", "--no-textures"],
    ["-o", "m.glb", "--stage", "1", "--level", "1", "--parts", "visible", "--no-points", "--subframes", "2"],
    ["-o", "m.glb", "--level", "4", "--keys", "--fps", "30", "--no-sidecar"],
    ["-o", "m.glb", "--clips", "all", "--dialect", "retail", "--tolerant"],
    ["-o", "m.glb", "--dialect", "spec"],
]


def exports(source: object, folder: Path) -> Iterator[tuple[str, str]]:
    """What comes of a file with each option, and of its inspection: a name and a line."""
    name = source.__name__ if isinstance(source, type) else f"{source.parent.name} {source.name}"
    path = source.make(folder) if isinstance(source, type) else source
    for number, options in enumerate(OPTIONS if source in MANY else OPTIONS[:3]):
        out = folder / f"out{number}"
        out.mkdir()
        said = run("msh2gltf", path, *options, cwd=out)
        files = sorted(one for one in out.rglob("*") if one.is_file() and one.suffix != ".msh-sidecar")
        made = [f"{one.relative_to(out).as_posix()}: {shown(one)}" for one in files]
        yield f"{name} {' '.join(options[1:])}".replace(f"{LIBS}", "libs"), line(said, folder, made)
    yield from inspected(name, path, folder)


def inspected(name: str, path: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """What comes of the inspection of a file: a name and a line."""
    for options in ([], ["--json"], ["--check"]):
        said = run("msh-inspect", path, *options)
        text = without(said.stdout, folder)
        facts = json.loads(text, parse_float=lambda number: f"{float(number):.5g}") if options == ["--json"] else text
        yield " ".join([name, "inspected", *options]), line(said, folder, [digest(facts)])


def files_to_inspect(folder: Path) -> dict[str, Path]:
    """Files of the kinds that no export is made of, or of which there is one layout more."""
    states = [State((5, 5), True, 50, (-2, 2)), State((5, 9), speed=(2, 8)), State((9, 13), length=40, entered=(7, 9))]
    components = [component(7, 1, [0], b"Turret"), component(6, 27)]
    made = controller(states, [1, 2], [(0, 1), (1, 2)], [channel(7, (0, 25), 2)], components, [[action(7, 7)]])
    properties = struct.pack("<I", 1) + bytes(76)
    parts = [
        entry(MESH, b"robot.msh", MODELS[0].read_bytes()),
        entry(CTLD, b"robot.ctl", made),
        entry(0, b"robot.ndp", properties),
        entry(0, b"alone.ndp", properties),
    ]
    objects = [
        placed(0, "UNITS\\a.dat", clan=3, id=4, properties=[(0, 1.5, "Life")]),
        placed(1, "", host=(4, 2), name="Guard"),
        placed(9, "tree", start=7),
    ]
    files = {
        "other.tma": mission(objects, lodes=[(1, 2, 3, 40)], routes=[(1, [(0, 0, 0), (1, 1, 0)])]),
        "walk.ctl": made,
        "parts.rlb": archive(parts),
        "objects.rlb": registry({"other": ("EXTO", [("parts.rlb", "robot.msh"), ("parts.rlb", "shared.ctl")])}),
        "sprites.lib": library([("LOGO", write_texm(new_texm(np.zeros((1, 2, 4), np.uint8), 8888)), 0x60)]),
        "wall.0": write_texm(new_texm(np.zeros((8, 16, 4), np.uint8), 565))
        + struct.pack("<4sI4H", b"Page", 1, 2, 4, 3, 5),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    others = {"old layout": DATA / "retail__system__MTCHECK.msh", "BuildDat": DATA / "BuildDat.lst"}
    return {name: folder / name for name in files} | others


def inspections(folder: Path) -> Iterator[tuple[str, str]]:
    for name, path in files_to_inspect(folder).items():
        yield from inspected(name, path, folder)


def line(said: CompletedProcess[str], folder: Path, more: list[str]) -> str:
    return "; ".join([str(said.returncode), *more, *without(said.stderr, folder).splitlines()])


def without(text: str, folder: Path) -> str:
    """A text without the places of this machine."""
    for place in (folder, DATA, EXAMPLES):
        text = text.replace(json.dumps(str(place))[1:-1], "").replace(str(place), "")
    return text


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: getattr(source, "__name__", None) or source.stem)
def test_an_export_is_what_it_was(source: object, tmp_path: Path) -> None:
    for name, text in exports(source, tmp_path):
        EXPORTS.require(name, text)


def test_an_inspection_shows_what_it_showed(tmp_path: Path) -> None:
    for name, text in inspections(tmp_path):
        EXPORTS.require(name, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        parts = [(source, Path(place) / str(number)) for number, source in enumerate(SOURCES)]
        for _, each in parts:
            each.mkdir()
        made = [row for source, each in parts for row in exports(source, each)]
        EXPORTS.write([*made, *inspections(Path(place))])
