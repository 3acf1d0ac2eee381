"""Edits that artists make in real Blender, brought back by the extension and by the command line.

What Blender shows of the edited scene (``trial_tools.shown``) is compared with what the result shows, exported again
and read by the tests' own reader. Each trial is *exact*, or *named*: a message is about it. Anything else is *silent*,
or *loud*: exact, though a message says that something is not applied.

What is said of each, and what changed, stands in ``trials.txt``, as Blender 5.0 has it; ``python -m
tests.blender.test_trials`` writes it again, for you to read what became different: also in another Blender, which
``MSH_GLTF_BLENDER_PYTHON`` names.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from blender_extension import build
from tests.blender.run_extension import zip_file
from tests.blender.trial_compare import differences
from tests.docs.materials import example_game
from tests.support.blender import with_extension
from tests.support.game import content, files_of
from tests.support.recorded import Recorded
from tests.support.runs import run

__all__ = ["zip_file"]
REPORTS = Recorded(__file__, "trials.txt")
SOURCES = {
    "model": {"file": "turrets.rlb", "entry": "e_tur_01.msh", "gltf": "turrets.rlb/e_tur_01.glb"},
    "unit": {"file": "UNITS/ROBOTS/walker.dat", "gltf": "UNITS/ROBOTS/walker.glb"},
    "mission": {"file": "MISSIONS/Single.01/data.tma", "gltf": "MISSIONS/Single.01/data.glb"},
    "terrain": {"file": "DATA/MAPS/Tut_1/Land.msh", "gltf": "DATA/MAPS/Tut_1/Land.glb"},
    "areal map": {"file": "DATA/MAPS/Tut_1/Land.map", "gltf": "DATA/MAPS/Tut_1/Land.map.glb"},
}
#: Frames at which both sides are looked at; of a scene of somebody's own, too.
FRAMES = {"model": [0, 3, 12, 24], "unit": [0, 6, 12], "scene": [0, 5, 10, 16, 20, 30]}
#: The last one is the command line with the files of an exporter whose options nobody changed.
COMMAND, EXTENSION, PLAIN = "command line", "extension", "plain"
#: Way and kind -> the edits, by name.
NAMES = {
    EXTENSION: {
        "model": """
            nothing, node in a new collection, uneven last key, twice as slow, painted white, taken cell,
            painted colours, painted points, visibility keys, constraint to radar, driver, driven modifier,
            node gamma, node curves, metaball, geometry nodes instances, parent to a vertex, collection instance,
            move vertex, move animated node, euler angles, delta transform, swapped names, muted curve, linked copy,
            keyed copy, skeleton added
        """,
        "unit": "rename component",
        "mission": "nothing, drag to other clan, move building, copy unit, delete tree",
    },
    COMMAND: {
        "model": """
            nothing, move node, turn node, parent keeps transform, rename node, delete node, copy branch,
            cube added below, move vertex, delete face, subdivide, assigned material, level added by name,
            delete level part, rename level part, lod property, array modifier, apply transforms, set origin,
            scale all, move node and levels apart, key on still node, emptied mesh, emission off, repainted,
            new material with picture, renamed material, other picture, half its faces glow, mirror animated node,
            mirror animated node twice, mirror root, mirror applied, mirror applied below, hidden level,
            scale keys, roughness
        """,
        "unit": "nothing, delete component, move component",
        "mission": """
            nothing, move building, turn building, move root of building, move mesh of tree, delete mesh of unit,
            copy tree, scale tree, delete unit, move route point, move lode, edit mesh of building, cube added,
            flip mesh of building, glowing mesh of building, copy mesh of building, mesh of building taken out,
            keys inside unit, no clip inside unit
        """,
        "terrain": """
            raise corner, raise all, ground face deleted, ground subdivided, ground painted, new ground,
            dragged across
        """,
        "areal map": "corner moved, areal deleted",
        "scene": """
            instances, camera and light, materials, shape keys, skinned, animated hierarchy, animation range,
            mirrored animation, bone parent
        """,
    },
    PLAIN: {
        "model": """
            move node, move vertex, delete face, assigned material, rename node, cube added below, emission off,
            repainted, new material with picture, renamed material, other picture
        """,
        "terrain": "raise corner, ground face deleted, ground painted, dragged across",
        "areal map": "corner moved",
    },
}
TRIALS = [
    (way, kind, name)
    for way, kinds in NAMES.items()
    for kind, names in kinds.items()
    for name in " ".join(names.split()).split(", ")
]
#: Errors that are about no edit, and lines.
BROKEN = re.compile(r"internal error|cannot be loaded")
NOISE = re.compile(r"unchanged|made a change|^$")


def run_all(folder: Path, zip_file: Path) -> None:
    shutil.copytree(example_game(), folder / "game")
    assert run("msh2gltf", folder / "game", "-o", folder / "out", "-q").returncode == 0
    trials = [(*trial, str(place(folder, *trial)), FRAMES.get(trial[1], [0])) for trial in TRIALS]
    job = {"game": str(folder / "game"), "out": str(folder / "out"), "sources": SOURCES, "trials": trials}
    (folder / "job.json").write_text(json.dumps(job), "utf-8")
    with_extension(folder, "trial_run.py", zip_file, folder / "job.json")


def place(folder: Path, way: str, kind: str, name: str) -> Path:
    return folder / way / kind.replace(" ", "_") / name.replace(" ", "_")


def judged(folder: Path, way: str, kind: str, name: str) -> tuple[str, str]:
    """Bring an edit back: the verdict, and a line with what differs, what changed, and every message."""
    here = place(folder, way, kind, name)
    said = json.loads((here / "said.json").read_text("utf-8"))
    source = SOURCES.get(kind, {"file": "new.msh"})
    entry = ["--entry", source["entry"]] if "entry" in source else []
    if kind == "scene":
        game, (messages, error, changes) = here, by_file(here)
    elif way == EXTENSION:
        game, messages, error = here / "game", [*said["messages"], said["error"]], said["error"]
        changes = [row for row in said["rows"] if " kept: " not in row]
    else:
        game, messages, error, changes = by_command(folder, here, source["gltf"])
    if game != here and (written := differing(folder / "game", game)):
        changes.append(f"writes {', '.join(written)}")
    with np.load(here / "shown.npz") as arrays:
        shown = dict(arrays)
    found = ["the result cannot be exported"]
    if run("msh2gltf", game / source["file"], *entry, "-o", here / "second.glb", "-q").returncode == 0:
        found = differences(said["facts"], shown, here / "second.glb", FRAMES.get(kind, [0]), kind, said["names"])
    about = [text for text in messages if not NOISE.search(text)]
    named = [text for text in about if "Traceback" not in text and any(is_in(one, text) for one in said["names"])]
    refused = error and not BROKEN.search(error)  # nothing was written, and a line says why
    if found:
        verdict = "named" if named or refused else "silent"
    else:
        said_so = any("not applied" in text for text in about) or error
        verdict = "named" if named and said_so else "loud" if said_so else "exact"
    text = "; ".join([verdict, *found, *changes, *about])
    return verdict, text.replace(str(folder), "").replace("\n", " ")


def differing(before: Path, after: Path) -> list[str]:
    """The files of a game that are others now, with the entries of archives; those of its history are left out."""
    out = []
    old, new = files_of(before), files_of(after)
    for name in (name for name, data in new.items() if old.get(name) != data):
        was, now = content(old.get(name)), content(new[name])
        entries = {key[0].decode("cp1251") for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
        out.append(f"{name} ({', '.join(sorted(entries))})" if name.endswith((".rlb", ".lib")) else name)
    return out


def is_in(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def by_command(folder: Path, here: Path, gltf: str) -> tuple[Path, list[str], str, list[str]]:
    """``gltf2msh`` on the run with the edited file: the game after it, messages, why it was refused, what changed."""
    shutil.copytree(folder / "out", here / "out")
    shutil.copy(here / "edited.glb", here / "out" / gltf)
    report = here / "report.json"
    run("gltf2msh", here / "out", "--game", folder / "game", "-o", here / "new", "-q", "--report", report)
    said = json.loads(report.read_text("utf-8"))
    errors = [one["detail"] for one in said["items"] if one["status"] == "failed"]
    game = here / "new" if (here / "new").is_dir() else folder / "game"
    return game, [*texts(said, "not_applied", "warnings"), *errors], " ".join(errors), [*texts(said, "changes")]


def by_file(here: Path) -> tuple[list[str], str, list[str]]:
    """``gltf2msh`` on a file without a sidecar; again where its option for skins is what is missing."""
    messages: list[str] = []
    command = ["gltf2msh", here / "edited.glb", "-o", here / "new.msh", "-q"]
    while (done := run(*command)).returncode:
        messages.append(done.stderr)
        if "--rigid-skin" not in done.stderr:
            return messages, done.stderr, []
        command.append("--rigid-skin")
    return [*messages, done.stderr], "", [f"makes {(here / 'new.msh').stat().st_size:,} bytes"]


def texts(report: Any, *keys: str) -> Iterator[str]:
    """Every line of a report that is below some keys."""
    for key, value in report.items() if isinstance(report, dict) else enumerate(report):
        if key in keys:
            start = "not applied: " if key == "not_applied" else ""
            yield from (f"{start}{' '.join(map(str, one.values())) if isinstance(one, dict) else one}" for one in value)
        elif isinstance(value, (dict, list)):
            yield from texts(value, *keys)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, zip_file: Path) -> Path:
    out = tmp_path_factory.mktemp("trials")
    run_all(out, zip_file)
    return out


@pytest.mark.parametrize(("way", "kind", "name"), TRIALS, ids=map(" ".join, TRIALS))
def test_an_edit_arrives_or_is_named(folder: Path, way: str, kind: str, name: str) -> None:
    verdict, text = judged(folder, way, kind, name)
    assert verdict in ("exact", "named"), text
    REPORTS.require(f"{way}, {kind}, {name}", text)


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        run_all(Path(made), build.build(Path(made) / "zip"))
        REPORTS.write([(", ".join(trial), judged(Path(made), *trial)[1]) for trial in TRIALS])
