"""What a terrain has no place for is reported, with the object and a place; nothing else is."""

from pathlib import Path

import numpy as np
import pytest

from tests.converter.rebuild.test_terrain import LEVEL, Edit, inner_vertex
from tests.support.gltf_edit import drop_extras
from tests.support.maps import level_called
from tests.support.terrain_twin import Tables


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    return Edit(level_called(LEVEL), tmp_path)


def reported(edit: Edit, *, kept: bool = True) -> list[str]:
    """What is not applied; ``kept``: and nothing else changed."""
    back = edit.back()
    if kept:
        assert (back.changes, back.data) == ([], edit.source)
    assert back.unchanged is (kept and not back.not_applied)
    return [f"{one.where}: {one.what}" for one in back.not_applied]


def test_nothing_is_reported_of_an_untouched_file(edit: Edit) -> None:
    back = edit.back()
    assert (back.unchanged, back.warnings, back.data) == (True, [], edit.source)


def test_a_missing_coarse_level(edit: Edit) -> None:
    del edit.document.json["scenes"][1:]
    assert reported(edit) == ["coarse level: is missing"]


def test_renamed_objects(edit: Edit) -> None:
    edit.document.json["nodes"][0]["name"] = "hills"
    assert reported(edit) == ["node 'terrain': was renamed to 'hills'"]


def test_empty_objects(edit: Edit) -> None:
    edit.document.json["nodes"].append({"name": "Empty"})
    edit.document.json["scenes"][0]["nodes"].append(2)
    assert reported(edit) == ["node 'Empty': is new"]


def test_clips(edit: Edit) -> None:
    document = edit.document
    times = document.add(np.float32([[0], [1]]))
    values = document.add(np.float32([[0, 0, 0], [0, 9, 0]]))
    channel = {"sampler": 0, "target": {"node": 0, "path": "translation"}}
    clip = {"channels": [channel], "samplers": [{"input": times, "output": values}]}
    document.json["animations"] = [clip]
    assert reported(edit) == ["animation of node 'terrain': is new"]


@pytest.mark.parametrize(
    ("stream", "what"),
    [
        ("NORMAL", "normals changed on"),
        ("_MSH_BLEND", "blend changed on"),
        ("TEXCOORD_0", "texture coordinates changed on"),
    ],
)
def test_vertices_of_coarse_faces(edit: Edit, stream: str, what: str) -> None:
    """They are the fine level's."""
    primitive = edit.primitives(1)[0]
    values = edit.document.arrays[primitive["attributes"][stream]].copy()
    vertex = int(edit.index(primitive)[0, 0])
    values[vertex] = [0, 0.6, 0.8] if stream == "NORMAL" else values[vertex] / 2 + 0.125
    for one in edit.primitives(1):
        one["attributes"] = {**one["attributes"], stream: edit.document.add(values)}
    (text,) = reported(edit, kept=stream != "TEXCOORD_0")
    assert text.startswith(f"coarse level: {what} ")
    if stream == "TEXCOORD_0":
        assert edit.back().data == edit.source


@pytest.mark.parametrize("everything", [False, True])
def test_a_hole_under_coarse_faces(edit: Edit, everything: bool) -> None:
    """Whether neighbours still use its corners or not."""
    vertex = inner_vertex(edit)
    for primitive in edit.primitives():
        index = edit.index(primitive)
        hit = np.flatnonzero((index == vertex).any(axis=1))
        edit.set_index(primitive, np.delete(index, hit if everything else hit[:1], axis=0))
    (text,) = reported(edit, kept=False)
    assert text.startswith("coarse level: covers ")
    x, y = (float(v) for v in text.rpartition("(")[2].rstrip(")").split(", "))
    place = edit.positions[vertex]
    assert np.hypot(x - place[0], -y - place[2]) < np.ptp(edit.positions[:, 0]) / 8


def test_a_hole_through_both_levels_is_not_reported(edit: Edit) -> None:
    square = edit.index(edit.primitives()[0])
    low, high = edit.positions[square[0]].min(0), edit.positions[square[0]].max(0)
    for mesh in (0, 1):
        for primitive in edit.primitives(mesh):
            index = edit.index(primitive)
            corners = edit.positions[index][..., [0, 2]]
            over = (corners.max(1) > low[[0, 2]]) & (corners.min(1) < high[[0, 2]])
            if not over.all(axis=1).all():
                edit.set_index(primitive, index[~over.all(axis=1)])
    assert not any("covers" in text for text in reported(edit, kept=False))


@pytest.mark.parametrize("extras", [True, False])
def test_a_moved_terrain_is_applied(edit: Edit, extras: bool) -> None:
    """An object that is moved up takes its vertices along."""
    for node in edit.document.json["nodes"]:
        node["translation"] = [0, 2, 0]
    if not extras:
        drop_extras(edit.document)
    back = edit.back()
    assert (back.not_applied, back.kept_all) == ([], False)
    before, after = Tables(edit.source).positions, Tables(back.data).positions
    lift = after.astype("f8") - before
    assert sorted(set(np.round(lift[:, 2], 3).tolist())) in ([2.0], [0.0, 2.0])


def test_a_new_face_with_two_equal_corners(edit: Edit) -> None:
    vertex = inner_vertex(edit)
    primitive = edit.primitives()[0]
    index = edit.index(primitive)
    edit.set_index(primitive, np.concatenate([index, [(vertex, vertex, int(index[0, 0]))]]))
    found = reported(edit, kept=False)
    assert any("1 face with two equal corners left out, at (" in text for text in found), found
