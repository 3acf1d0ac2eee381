"""Edits in real Blender, by the extension and by Blender's own exporter: each trial is exact, or named (``trials.py``).

What is said of each, and what changed, stands in ``trials.txt``, as Blender 5.0 has it;
``python -m tests.blender.test_trials`` writes it again, for you to read what became different.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from blender_extension import build
from tests.blender.trials import PLAIN, WAYS, judged, run_blender
from tests.support.blender import BLENDER
from tests.support.recorded import Recorded

REPORTS = Recorded(__file__, "trials.txt")
COMMAND, EXTENSION = WAYS
NAMES = {
    (
        EXTENSION,
        "model",
    ): """nothing, node in a new collection, uneven last key, twice as slow, painted white, taken cell,
        painted colours, painted points, visibility keys, constraint to radar, driver, driven modifier, node gamma,
        node curves, metaball, geometry nodes instances, parent to a vertex, collection instance""",
    (EXTENSION, "unit"): "rename component",
    (EXTENSION, "mission"): "nothing, drag to other clan",
    (COMMAND, "model"): """nothing, move node, turn node, parent keeps transform, rename node, delete node, copy branch,
        cube added below, move vertex, delete face, subdivide, assigned material, level added by name,
        delete level part, rename level part, lod property, array modifier, apply transforms, set origin, scale all,
        move node and levels apart, key on still node, emptied mesh, emission off, repainted,
        new material with picture, renamed material, other picture, half its faces glow, mirror animated node,
        mirror animated node twice, mirror root, mirror applied, mirror applied below, hidden level""",
    (COMMAND, "unit"): "nothing, delete component, move component",
    (COMMAND, "mission"): """nothing, move building, turn building, move root of building, move mesh of tree,
        delete mesh of unit, copy tree, scale tree, delete unit, move route point, move lode, edit mesh of building,
        cube added, flip mesh of building, glowing mesh of building, copy mesh of building,
        mesh of building taken out, keys inside unit, no clip inside unit""",
    (
        COMMAND,
        "terrain",
    ): """raise corner, raise all, ground face deleted, ground subdivided, ground painted, new ground,
        dragged across""",
    (COMMAND, "areal map"): "corner moved, areal deleted",
    (
        PLAIN,
        "model",
    ): """move node, move vertex, delete face, assigned material, rename node, cube added below, emission off,
        repainted, new material with picture, renamed material, other picture""",
    (PLAIN, "terrain"): "raise corner, ground face deleted, ground painted, dragged across",
    (PLAIN, "areal map"): "corner moved",
}
TRIALS = [(way, kind, name) for (way, kind), names in NAMES.items() for name in " ".join(names.split()).split(", ")]


def run_all(out: Path) -> None:
    assert BLENDER
    run_blender(BLENDER, out, str(build.build(out / "zip")), TRIALS)


def said(folder: Path, way: str, kind: str, name: str) -> tuple[str, str]:
    """The verdict, and it with what changed and every message."""
    one = judged(folder, way, kind, name)
    lines = [one.verdict, *one.found, *one.changes, *one.messages]
    return one.verdict, "; ".join(lines).replace(str(folder), "").replace("\n", " ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trials")
    try:
        run_all(out)
    except build.BuildError as error:
        pytest.skip(f"no extension: {error}")
    return out


@pytest.mark.parametrize(("way", "kind", "name"), TRIALS, ids=map(" ".join, TRIALS))
def test_an_edit_arrives_or_is_named(folder: Path, way: str, kind: str, name: str) -> None:
    verdict, text = said(folder, way, kind, name)
    assert verdict in ("exact", "named")
    REPORTS.require(f"{way}, {kind}, {name}", text)


def reports(folder: Path) -> Iterator[tuple[str, str]]:
    run_all(folder)
    for trial in TRIALS:
        yield ", ".join(trial), said(folder, *trial)[1]


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        REPORTS.write(reports(Path(place)))
