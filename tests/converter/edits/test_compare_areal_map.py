"""A file that does not number its areals: every edit is named, with its class and areal."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.pipeline.dispatch import import_gltf
from tests.support.gltf_edit import HARMLESS, Editable, drop_extras
from tests.support.maps import LEVELS, level_called
from tests.support.runs import call

MAP = level_called("spec__AutoMAP_00").folder / "Land.map"


@pytest.fixture
def given(tmp_path: Path) -> Editable:
    assert call(cli.msh2gltf, MAP, "-o", tmp_path / "m.glb", "-q") == 0
    return without_numbers(Editable(tmp_path / "m.glb"))


def without_numbers(document: Editable) -> Editable:
    """What Blender's exporter does by default, and version 0.1 did."""
    for primitive in document.primitives():
        for name in ("_MSH_AREAL", "_MSH_LOGIC"):
            primitive["attributes"].pop(name, None)
    return document


def reported(document: Editable, folder: Path) -> list[str]:
    back = import_gltf(document.save(folder / "m.glb"))
    assert (back.changes, back.warnings, back.data) == ([], [], MAP.read_bytes())
    assert back.unchanged is (not back.not_applied)
    return [f"{edit.where}: {edit.what}" for edit in back.not_applied]


def positions(document: Editable) -> np.ndarray:
    return document.arrays[document.primitives()[0]["attributes"]["POSITION"]]


def move_a_vertex(document: Editable) -> None:
    points = positions(document)
    points[(points == points[5]).all(axis=1)] += np.float32(0.5)


def delete_a_triangle(document: Editable) -> None:
    primitive = document.primitives()[0]
    primitive["indices"] = document.add(document.arrays[primitive["indices"]][3:])


def add_a_triangle(document: Editable) -> None:
    primitive = document.primitives()[0]
    index = document.arrays[primitive["indices"]]
    primitive["indices"] = document.add(np.concatenate([index, index[[0, 4, 9]]]))


def change_the_class(document: Editable) -> None:
    """A triangle goes into another node."""
    one, other = document.primitives()[:2]
    index = document.arrays[one["indices"]]
    one["indices"] = document.add(index[3:])
    more = copy.deepcopy(one)
    more["indices"] = document.add(index[:3])
    document.json["meshes"][1]["primitives"] = [other, more]


def delete_a_node(document: Editable) -> None:
    document.json["scenes"][0]["nodes"].remove(1)


def delete_the_borders(document: Editable) -> None:
    document.json["scenes"][0]["nodes"].pop()


def rename_a_node(document: Editable) -> None:
    document.json["nodes"][1]["name"] = "lake"


def move_a_node(document: Editable) -> None:
    document.json["nodes"][1]["translation"] = [0, 1, 0]


def add_an_object(document: Editable) -> None:
    document.json["nodes"].append({"name": "rock", "mesh": 0})
    document.json["scenes"][0]["nodes"].append(len(document.json["nodes"]) - 1)


@pytest.mark.parametrize("extras", [True, False])
@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (move_a_vertex, r"node '{0}': shape of areal \d+.* 1 corner that .*nearest areal \d+$"),
        (delete_a_triangle, r"node '{0}': areal \d+ misses faces$"),
        (add_a_triangle, r"node '{0}': 1 triangle with 0 corners that .*, nearest areal \d+$"),
        (change_the_class, r"node '{1}': has areal \d+ of class {0_id}$"),
        (delete_a_node, r"node '{1}': is missing$"),
        (delete_the_borders, r"node 'borders': is missing$"),
        (move_a_node, r"node '{1}': was moved, turned or scaled$"),
        (add_an_object, r"object 'rock': \d+ triangles with 0 corners that .*, nearest areal \d+$"),
    ],
)
def test_an_edit_is_named(
    edit: Callable[[Editable], None], what: str, extras: bool, given: Editable, tmp_path: Path
) -> None:
    names = [node["name"] for node in given.json["nodes"]]
    edit(given)
    if not extras:
        drop_extras(given)
    for key, value in (("{0_id}", names[0][6:]), ("{0}", names[0]), ("{1}", names[1])):
        what = what.replace(key, value)
    found = reported(given, tmp_path)
    assert any(re.search(f"^areal map, {what}", text) for text in found), found


def test_a_renamed_node_is_known_by_its_extras(given: Editable, tmp_path: Path) -> None:
    name = given.json["nodes"][1]["name"]
    rename_a_node(given)
    (text,) = reported(given, tmp_path)
    assert text == f"areal map, node '{name}': was renamed to 'lake'"
    drop_extras(given)
    texts = reported(given, tmp_path)
    assert texts[0] == f"areal map, node '{name}': is missing"
    assert "object 'lake'" in texts[-1]


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
