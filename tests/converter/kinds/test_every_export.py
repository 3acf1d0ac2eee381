"""Each kind of file, exported with every option and inspected: what comes of it stands in ``exports.txt``.

``python -m tests.converter.kinds.test_every_export`` writes it again, for you to read what became different.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.converter.judge.worlds import WORLDS
from tests.converter.kinds.test_every_difference import MODELS
from tests.support.corpus import DATA, LIBS
from tests.support.recorded import Recorded, digest, shown
from tests.support.runs import run

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
    for options in ([], ["--json"], ["--check"]):
        said = run("msh-inspect", path, *options)
        text = without(said.stdout, folder)
        facts = json.loads(text, parse_float=lambda number: f"{float(number):.5g}") if options == ["--json"] else text
        yield " ".join([name, "inspected", *options]), line(said, folder, [digest(facts)])


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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        parts = [(source, Path(place) / str(number)) for number, source in enumerate(SOURCES)]
        for _, each in parts:
            each.mkdir()
        EXPORTS.write(row for source, each in parts for row in exports(source, each))
