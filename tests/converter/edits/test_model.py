"""gltf2msh: unchanged content gives the same bytes, whatever the file looks like; edits do not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pygltflib
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.edits.materials import _most_votes
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.corpus import SAMPLES, Sample, every_sample, sample_called
from tests.support.gltf_edit import HARMLESS, Editable
from tests.support.runs import call, first_difference, to_gltf

ANIMATED = "retail__odd__s_rock_009"


@every_sample
@pytest.mark.parametrize("form", ["glb", "gltf"])
def test_bytes_come_back(sample: Sample, form: str, tmp_path: Path) -> None:
    back = import_gltf(to_gltf(sample, tmp_path / f"m.{form}"))
    assert (back.changes, back.not_applied) == ([], [])
    assert first_difference(sample.source, back.data) is None


@pytest.mark.parametrize(
    "options",
    [
        ["--fps", 30],
        ["--fps", 23.976],
        ["--lod", 1],
        ["--group", 4],
        ["--parts", "visible"],
        ["--parts", "visible", "--lod", 2],
        ["--subframes", 3],
        ["--keys"],
        ["--paths"],
    ],
)
@pytest.mark.parametrize("name", [ANIMATED, "spec__odd__B_PLANT_008", "retail__static__i_room_006"])
def test_every_option_has_a_way_back(name: str, options: list, tmp_path: Path) -> None:
    assert import_gltf(to_gltf(sample_called(name), tmp_path / "m.glb", *options)).unchanged


@every_sample
@pytest.mark.parametrize("change", HARMLESS)
def test_other_files_of_the_same_content(sample: Sample, change: str, tmp_path: Path) -> None:
    document = Editable(to_gltf(sample, tmp_path / "m.glb"))
    HARMLESS[change](document)
    back = import_gltf(document.save(tmp_path / "m.gltf", indent=1))
    assert (back.changes, back.not_applied) == ([], [])
    assert first_difference(sample.source, back.data) is None


def test_parts_at_the_origin_are_warned_of(tmp_path: Path) -> None:
    """What Blender makes of collections that are switched off in a reopened .blend."""
    walker = Path(__file__).parents[3] / "examples/walker.msh"
    path = tmp_path / "m.glb"
    assert call(cli.msh2gltf, walker, "-o", path, "-q") == 0
    assert import_gltf(path).warnings == []
    document = Editable(path)
    for name in ("gun.level1", "turret.level1"):
        document.node(name)["translation"] = [0, 0, 0]
    document.node("shin_l.level1")["translation"][0] += 1
    back = import_gltf(document.save(path))
    assert len(back.changes) == 3
    (warning,) = back.warnings
    assert "'turret.level1' and 1 more came to the origin" in warning


def test_saved_by_pygltflib(tmp_path: Path) -> None:
    path = to_gltf(sample_called(ANIMATED), tmp_path / "m.glb")
    document = pygltflib.GLTF2().load(str(path))
    document.save(str(path))
    assert import_gltf(path).changes == []


# ------------------------------------------------------------------ edits


def move_node(d: Editable) -> None:
    d.node("BTCP_6")["translation"][0] += 1e-3


def turn_node(d: Editable) -> None:
    d.node("BTCP_6")["rotation"] = [0, 0, 0, 1]


def rename(d: Editable) -> None:
    d.node("foot_m3o2")["name"] = "нога"


def reparent(d: Editable) -> None:
    d.node("BTCP_6")["children"].remove(7)
    d.node("Base_TM")["children"].append(7)


def flags(d: Editable) -> None:
    d.node("CP_7")["extras"]["msh"]["flags"] += 1


def move_vertex(d: Editable) -> None:
    positions = d.arrays[d.primitives()[0]["attributes"]["POSITION"]]
    positions[0, 0] = np.nextafter(positions[0, 0], np.float32(1e9))


def delete_face(d: Editable) -> None:
    primitive = d.primitives()[0]
    primitive["indices"] = d.add(d.arrays[primitive["indices"]][3:])


def move_key(d: Editable) -> None:
    channel = d.json["animations"][0]["channels"][0]
    d.arrays[d.json["animations"][0]["samplers"][channel["sampler"]]["output"]][3, 0] += 0.01


def delete_channel(d: Editable) -> None:
    d.json["animations"][0]["channels"].pop()


def delete_clip(d: Editable) -> None:
    del d.json["animations"]


def test_normals_may_be_rounded(tmp_path: Path) -> None:
    """Blender turns normals by up to 0.36 degrees; a step of a stored one is 0.45."""
    for degrees, unchanged in ((0.05, True), (0.4, True), (0.6, False)):
        document = Editable(to_gltf(sample_called(ANIMATED), tmp_path / f"{degrees}.glb"))
        for primitive in document.primitives():
            normals = document.arrays[primitive["attributes"]["NORMAL"]].astype(np.float64)
            side = np.cross(normals, [0.3, 0.5, 0.8])
            side /= np.linalg.norm(side, axis=1, keepdims=True)
            turned = normals + np.tan(np.radians(degrees)) * side
            turned /= np.linalg.norm(turned, axis=1, keepdims=True)
            accessor = document.add(turned.astype(np.float32))
            primitive["attributes"]["NORMAL"] = accessor
        changes = import_gltf(document.save(tmp_path / f"{degrees}.glb")).changes
        assert (changes == []) is unchanged


def test_rotation_sign_is_free(tmp_path: Path) -> None:
    document = Editable(to_gltf(sample_called(ANIMATED), tmp_path / "m.glb"))
    node = document.node("foot_m3o2")
    node["rotation"] = [-c for c in node["rotation"]]
    assert import_gltf(document.save(tmp_path / "m.glb")).changes == []


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("日本", "renamed to '??'", "is called '??' in the game"),
        ("Ж" * 60, f"renamed to '{'Ж' * 31}'", f"is called '{'Ж' * 31}' in the game"),
        ("a\0b", "renamed to 'a'", "is called 'a' in the game"),
        ("", "", "has no name in the file"),
        (None, "", "has no name in the file"),
    ],
)
def test_a_name_that_does_not_arrive_is_not_applied(name: str | None, change: str, named: str, tmp_path: Path) -> None:
    """So that --require-all refuses it; a change says what is written."""
    document = Editable(to_gltf(sample_called(ANIMATED), tmp_path / "m.glb"))
    node = next(one for one in document.json["nodes"] if one["name"] == "foot_m3o2")
    node.pop("name") if name is None else node.update(name=name)
    back = import_gltf(document.save(tmp_path / "e.glb"), tmp_path / "m.msh-sidecar")
    assert [one.what for one in back.changes] == [change] * bool(change)
    assert [one.what for one in back.not_applied] == [named]


def test_a_label_that_does_not_arrive_is_not_applied(tmp_path: Path) -> None:
    document = Editable(to_gltf(sample_called("retail__system__R_H_002"), tmp_path / "m.glb"))
    document.json["nodes"][1]["extras"]["msh"]["label"] = "日本"
    back = import_gltf(document.save(tmp_path / "e.glb"), tmp_path / "m.msh-sidecar")
    assert back.changes[0].what.endswith("became '??'")
    assert [one.what for one in back.not_applied] == ["has label '??' in the game"]


def test_all_bundled_models_are_tested() -> None:
    assert len(SAMPLES) >= 13
    assert json.loads((SAMPLES[0].truth_stem.with_suffix(".json")).read_text("utf-8"))


def test_materials_of_one_name_are_assigned_as_scipy_does() -> None:
    """Also where every material has a favourite of its own, and SciPy is not asked."""
    from scipy.optimize import linear_sum_assignment

    random = np.random.default_rng(0)
    for _ in range(500):
        count, stored = random.integers(2, 6), random.integers(2, 6)
        votes = random.integers(0, 4, (count, stored)) * random.integers(0, 9, (count, 1)) * 1.0
        names, old = random.integers(0, 2, count), random.integers(0, 2, stored)
        allowed = names[:, None] == old
        rows = [i for i in range(count) if allowed[i].sum() > 1 and random.random() < 0.8]
        if not rows:
            continue
        best = linear_sum_assignment(np.where(allowed, votes, -1e9), maximize=True)
        expected = {(i, k) for i, k in zip(*best, strict=True) if i in rows and votes[i, k] > 0}
        found = {(i, k) for i, k in _most_votes(votes, allowed, rows) if votes[i, k] > 0}
        assert {p for p in found if allowed[p]} == {p for p in expected if allowed[p]}


def test_a_material_on_no_known_triangle_needs_no_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    votes, allowed = np.array([[3.0, 0.0], [0.0, 0.0]]), np.ones((2, 2), np.bool_)
    assert _most_votes(votes, allowed, [0, 1]) == [(0, 0)]
