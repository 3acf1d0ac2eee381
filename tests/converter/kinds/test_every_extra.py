"""Every key of the extras that exports write, replaced by values of other types: never an internal error.

A file of each kind of the example game, and a model with control points and a controller; the first object
of each list that has a key. What comes of each value stands in ``extras.txt``; ``python -m
tests.converter.kinds.test_every_extra`` writes it again.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from msh_gltf.converter.errors import LONGEST_LINE, ConversionError
from msh_gltf.converter.formats.mission import read_mission, write_mission
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.converter.scene.extras import OBJECTS, raw_extras
from tests.docs.materials import example_game
from tests.fuzz.mutate import join_glb, split_glb
from tests.support.corpus import DATA
from tests.support.points import POINTS, cpt
from tests.support.recorded import Recorded, digest, summary

#: Values of any type; a number that neither float32 nor an index holds.
VALUES = [None, "robot", "7", [1, {"a": None}], 10**30, -5, float("nan"), 1.5]
SOURCES = {
    "model": "turrets.rlb",
    "points": str(DATA / "retail__system__R_H_002.msh"),
    "terrain": "DATA/MAPS/Tut_1/Land.msh",
    "areals": "DATA/MAPS/Tut_1/Land.map",
    "unit": "UNITS/ROBOTS/walker.dat",
    "mission": "MISSIONS/Single.01/data.tma",
}


@cache
def exported(kind: str) -> tuple[dict[str, Any], bytes, bytes, str]:
    """Document, buffer, sidecar and file name of an export."""
    game = example_game()
    options = ExportOptions(game=str(game))
    with TemporaryDirectory() as folder:
        source = game / SOURCES[kind]
        if kind == "points":
            source = Path(shutil.copy(source, folder))
            source.with_suffix(".cpt").write_bytes(cpt(POINTS))
        if kind == "mission":  # of its 152 objects eight, which is a third of the time
            mission = read_mission(source.read_bytes(), "")
            source = Path(folder) / source.name
            source.write_bytes(write_mission(replace(mission, objects=mission.objects[:8])))
        loaded = load_file(source, "e_tur_01.msh" if kind == "model" else None, options)
    files = {path.suffix: data for path, data in loaded.files(Path(f"{kind}.glb"), options, sidecar=True)}
    parts = split_glb(bytes(files[".glb"]))
    assert parts is not None
    return json.loads(parts[0]), parts[1], bytes(files[".msh-sidecar"]), f"{kind}.glb"


def keys_of(document: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    """List, index and key of the first object that has each key; of nodes, the first of each kind of node."""
    seen = set()
    for objects in OBJECTS:
        for i, one in enumerate(document.get(objects, [])):
            extras = raw_extras(one.get("extras"))
            for key in extras:
                place = objects, str(extras.get("kind")), key
                if place not in seen:
                    seen.add(place)
                    yield objects, i, key


CASES = {
    f"{kind} {objects} {index} {key}": (kind, objects, index, key)
    for kind in SOURCES
    for objects, index, key in keys_of(exported(kind)[0])
}
#: What comes of each, as digests.
EXTRAS = Recorded(__file__, "extras.txt")


def found(case: tuple[str, str, int, str], folder: Path) -> str:
    """What comes of each value."""
    kind, objects, index, key = case
    document, binary, sidecar, name = exported(kind)
    path, extras = folder / name, document[objects][index]["extras"]["msh"]
    path.with_suffix(".msh-sidecar").write_bytes(sidecar)
    before = extras[key]
    found = []
    for value in VALUES:
        extras[key] = value
        path.write_bytes(join_glb(json.dumps(document).encode(), binary))
        extras[key] = before
        text, refused = import_of(path)
        assert len(refused) <= LONGEST_LINE
        assert "cannot be read as glTF" not in refused, value
        found.append(text)
    return " ".join(found)


def import_of(path: Path) -> tuple[str, str]:
    """What an import makes and says, as a digest; and what it says of a file that it refuses."""
    try:
        back = import_gltf(path, None, ImportOptions(game=str(example_game())))
    except ConversionError as error:
        return f"refused:{digest(str(error).replace(str(path.parent), ''))}", str(error)
    return digest(summary(back, [], path.parent).replace(str(path.parent), "")), ""


@pytest.mark.parametrize("name", CASES)
def test_another_type_is_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    EXTRAS.require(name, found(CASES[name], tmp_path))


def test_the_cases_cover_the_schema() -> None:
    """Keys that these files do not have are named here, so that a new one is noticed."""
    written = {key for _, _, _, key in CASES.values()}
    declared = {key for kind in OBJECTS.values() for key in kind.__annotations__}
    without = "additive animation cell hosted legacy light range_clips ranges rectangle states tri_flags"
    assert declared - written <= {*without.split()}


if __name__ == "__main__":
    EXTRAS.write_each(CASES, lambda name, folder: found(CASES[name], folder))
