"""A file that does not number its areals changes nothing: one line says so, and what to do."""

import struct
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.corruption.areal import Map
from tests.support.corruption.base import NAN, Nres
from tests.support.gltf_edit import HARMLESS, Editable
from tests.support.maps import LEVELS, level_called
from tests.support.runs import call

MAP = level_called("spec__AutoMAP_00").folder / "Land.map"


def move_a_vertex(document: Editable) -> None:
    points = document.arrays[document.primitives()[0]["attributes"]["POSITION"]]
    points[(points == points[5]).all(axis=1)] += np.float32(0.5)


@pytest.mark.parametrize("edited", [True, False])
def test_a_map_without_numbers_is_kept(edited: bool, tmp_path: Path) -> None:
    """What Blender's exporter makes by default, and version 0.1 did."""
    assert call(cli.msh2gltf, MAP, "-o", tmp_path / "m.glb", "-q") == 0
    document = Editable(tmp_path / "m.glb")
    for primitive in document.primitives():
        for name in ("_MSH_AREAL", "_MSH_LOGIC"):
            primitive["attributes"].pop(name, None)
    if edited:
        move_a_vertex(document)
    back = import_gltf(document.save(tmp_path / "m.glb"))
    assert (back.changes, back.warnings, back.data) == ([], [], MAP.read_bytes())
    (refused,) = map(str, back.not_applied)
    assert refused.startswith("areal map: is kept, whatever was edited; the file does not number its areals")
    assert refused.endswith("in Blender, export with Data > Mesh > Attributes")


def test_an_edit_of_a_map_with_errors_is_named(tmp_path: Path) -> None:
    box = Nres.read(MAP.read_bytes())
    area = Map(box)
    struct.pack_into("<f", area.data, area.records[2] + 56, NAN)
    broken = tmp_path / "Land.map"
    broken.write_bytes(box.write())
    assert call(cli.msh2gltf, broken, "-o", tmp_path / "m.glb", "-q", "--tolerant") == 0
    assert import_gltf(tmp_path / "m.glb").not_applied == []
    document = Editable(tmp_path / "m.glb")
    move_a_vertex(document)
    back = import_gltf(document.save(tmp_path / "m.glb"))
    assert (back.changes, back.data) == ([], broken.read_bytes())
    assert back.not_applied
    for refused in back.not_applied:
        assert (refused.what[:14], refused.instead) == ("corners differ", "take the map from a backup")


@pytest.mark.parametrize("change", HARMLESS)
@pytest.mark.parametrize("level", LEVELS[:3], ids=lambda level: level.id)
def test_other_layouts_are_unchanged(level, change: str, tmp_path: Path) -> None:
    source = level.folder / "Land.map"
    assert call(cli.msh2gltf, source, "-o", tmp_path / "m.glb", "-q") == 0
    document = Editable(tmp_path / "m.glb")
    lines = document.json["meshes"].pop() if change in ("shuffled", "merged") else None
    HARMLESS[change](document)
    if lines is not None:
        document.json["meshes"].append(lines)
    back = import_gltf(document.save(tmp_path / "m.glb"))
    assert [str(edit) for edit in back.not_applied] == []
    assert back.unchanged
