"""The extension's bridge: welded meshes, levels below their nodes, and what goes by glTF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.numeric.pose import rotation_matrix
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from tests.blender.test_extension import EXAMPLES, UNTOUCHED, WALKER, Seen, parse, see, zip_file
from tests.support.rebuilt import parse as parsed
from tests.support.runs import call

__all__ = ["zip_file"]


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    steps = ("untouched", "corner", "cells", "levels", "beyond", "turned", "unkeyed", "stopped")
    return see(zip_file, tmp_path_factory.mktemp("extension"), steps)


def test_corners_at_one_place_are_one_vertex(seen: Seen) -> None:
    """But for faces that Blender cannot hold on the same vertices: a second one of them, one without area."""
    untouched = seen.facts["untouched"]
    for name in ("walker", "hangar"):
        assert all(vertices == places for vertices, places in untouched[name]["vertices"])
    assert any(a > b for name in UNTOUCHED for a, b in untouched[name]["vertices"])


def test_moving_a_vertex_moves_all_corners_there(seen: Seen) -> None:
    facts = seen.facts["corner"]
    assert facts["corners"] > 2
    assert [row[:3] for row in facts["report"]["rows"] if row[2] != "kept"] == [["part", "gun", "rebuilt"]]
    old, new = parse(WALKER), parse(seen.out / "corner/corner.msh")
    was, now = (np.array(facts[key], np.float32) for key in ("was", "is"))
    before, after = (model.positions for model in (old, new))
    there = (before == was).all(axis=1) & (after != before).any(axis=1)
    assert there.sum() > 1
    assert (after[there] == now).all()
    assert (after[~there] == before[~there]).all()


def test_the_sliders_show_one_stage_and_level(seen: Seen) -> None:
    facts = seen.facts["cells"]
    assert all(".stage" not in name and ".level" not in name for name in facts["first"])
    assert facts["stage 1"]
    assert all(name.endswith(".stage1") for name in facts["stage 1"])
    assert facts["level 1"]
    assert all(name.endswith(".level1") for name in facts["level 1"])
    assert facts["beyond"] == [2, ["Base_TM.level2"]], "a level that no part has shows nothing"
    assert facts["again"] == facts["first"]
    assert facts["untouched"]["outcome"] == "unchanged, restored byte for byte"
    seen.same("cells", "same.msh", WALKER)
    assert facts["follows"] == 0
    name, parent, report = facts["copied"]
    assert parent
    assert report["warnings"] == [], "a copy of a node lies beside it, under the same parent"
    assert any(row[1] == f"{name}.stage1" and "is new" in row[3] for row in report["rows"])


def triangles(data: bytes) -> dict[tuple[int, int, int], list[list[float]]]:
    """The corners of every cell's triangles."""
    scene = decode(parsed(data), Dialect.RETAIL, "m")
    found: dict[tuple[int, int, int], list[list[float]]] = {}
    for part in scene.parts:
        corners = [
            scene.streams.positions[p.vertex_start + scene.streams.indices[p.index_start :][: p.index_count]]
            for p in scene.meshes[part.mesh].primitives
        ]
        rows = np.sort(np.concatenate(corners).reshape(-1, 3, 3), axis=1).reshape(-1, 9)
        found[part.node, part.lod, part.group] = sorted(rows.tolist())
    return found


def test_levels_made_here_are_those_of_the_command(seen: Seen) -> None:
    """What the command's are, other tests measure: near to their part, borders kept, no vertex of their own."""
    facts = seen.facts["levels"]
    assert facts["undone"] == facts["before"]
    assert {"Base_TM.level1", "iHall.level1", "door.level1"} <= {*facts["seen"]}
    assert "iHall" not in facts["seen"]
    assert facts["made"]["outcome"] == "made: 4 levels"
    assert all("triangles, " in row[3] for row in facts["made"]["rows"])
    assert all(text.startswith("Generate Levels: ") and "--" not in text for text in facts["made"]["warnings"])
    assert "every part has these levels already" in facts["again"]
    assert facts["report"]["outcome"] == "4 changes"
    source = EXAMPLES / "hangar.msh"
    gltf = seen.out / "levels.glb"
    assert call(cli.msh2gltf, source, "-o", gltf, "--quiet") == 0
    made = triangles((seen.out / "levels/hangar.msh").read_bytes())
    assert made == triangles(import_gltf(gltf, None, ImportOptions(lod_ratios=(0.5, 0.25))).data)
    report, _ = facts["new"]
    (row,) = report["rows"]
    assert "768 of 2,560 triangles" in row[3], "of what the modifier shows"
    cells = triangles((seen.out / "levels/ball.msh").read_bytes())
    assert {key: len(rows) for key, rows in cells.items()} == {(0, 0, 0): 80, (1, 0, 0): 2560, (1, 0, 1): 768}


@pytest.mark.parametrize("name", ["constraint", "driver", "bone", "instances"])
def test_what_the_bridge_does_not_carry_goes_by_gltf(seen: Seen, name: str) -> None:
    facts = seen.facts["beyond"]
    assert (facts[f"{name} before"], facts[name]) == (False, True)
    assert facts[f"{name} report"]["outcome"]


def test_euler_angles_and_places_from_a_parent(seen: Seen) -> None:
    """A new node stands where Blender shows it, and turns by the angles of its keys."""
    facts = seen.facts["turned"]
    assert any(row[1] == "other" and row[2] == "new" for row in facts["added"]["rows"])
    scene = load_file(seen.out / "turned/added.msh", None, ExportOptions()).scene
    (index,) = (i for i, node in enumerate(scene.nodes) if node.name == "other")
    node = scene.nodes[index]
    local = np.array(facts["local"])
    assert np.allclose(node.translation, local[:3, 3], atol=1e-5)
    (track,) = (track for track in scene.tracks if track.node == index)
    start, end = (rotation_matrix(track.rotation.values[at]) for at in (0, 10))
    turn = np.array([[1, 0, 0], [0, np.cos(1), -np.sin(1)], [0, np.sin(1), np.cos(1)]])
    assert np.allclose(end, start @ turn, atol=1e-3)


def test_what_was_moved_beside_its_keys_is_named(seen: Seen) -> None:
    facts = seen.facts["unkeyed"]
    assert facts["before"]["warnings"] == []
    (line,) = facts["report"]["warnings"]
    assert f"object '{facts['name']}': was moved without a key" in line
    seen.same("unkeyed", "turned.msh", WALKER)


def test_work_that_is_stopped_leaves_nothing(seen: Seen) -> None:
    facts = seen.facts["stopped"]
    assert facts["reading"] == [0, True]
    assert facts["making"][0] > 0, "it was stopped before it made objects"
    assert facts["making"][1]
    assert facts["put_back"], "the report of the last export is gone"
    assert facts["moved"]
    assert WALKER.read_bytes() == (seen.out / "stopped/first.msh").read_bytes()
