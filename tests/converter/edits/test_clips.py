"""Which animations are read, and what is reported of the others and of what a model cannot have."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.converter.edits.test_frame_rate import (
    ALONE,
    FRAMES,
    SAMPLES,
    WALKING,
    imported,
    opened,
    parse,
    samplers,
    turn_last,
)
from tests.converter.edits.test_scaled_animation import SHAPE
from tests.importers.test_foreign import Builder
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.gltf_view import trs
from tests.support.runs import first_difference, run, to_gltf


def copied_clip(document: Editable, name: str) -> dict:
    """A second animation, with samplers of its own."""
    clip = json.loads(json.dumps(document.json["animations"][0])) | {"name": name}
    document.json["animations"].append(clip)
    return clip


def node_names(document: Editable, clip: dict) -> list[str]:
    nodes = [document.json["nodes"][c["target"]["node"]]["name"] for c in clip["channels"]]
    return list(dict.fromkeys(nodes))


def reported(back) -> list[tuple[str, str]]:
    return [(each.where, each.what) for each in back.not_applied]


# ------------------------------------------------------------------ several clips


def test_a_second_clip_of_the_same_nodes_is_reported(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    clip = copied_clip(document, "run")
    for sampler in clip["samplers"]:
        values = document.arrays[sampler["output"]]
        sampler["output"] = document.add(values[::-1].copy())
    back = imported(document, tmp_path)
    assert back.changes == []
    first = node_names(document, clip)[0]
    assert reported(back) == [("animation 'run'", f"moves node '{first}' too")]
    assert "'walker' is taken" in back.not_applied[0].why
    other = imported(document, tmp_path, clip="run")
    assert other.changes != []
    assert reported(other) == [("animation 'walker'", "is not read")]


def test_an_equal_second_clip_is_not_reported(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    copied_clip(document, "copy")
    back = imported(document, tmp_path)
    assert back.unchanged
    assert back.warnings == []


def split(document: Editable) -> list[str]:
    """A clip per node, as Blender writes them for objects with actions of other names."""
    (whole,) = document.json["animations"]
    names = node_names(document, whole)
    document.json["animations"] = [
        {
            "name": name,
            "samplers": whole["samplers"],
            "channels": [c for c in whole["channels"] if document.json["nodes"][c["target"]["node"]]["name"] == name],
        }
        for name in names
    ]
    return names


def test_clips_of_different_nodes_are_read_as_one_with_a_sidecar(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    names = split(document)
    back = imported(document, tmp_path)
    assert back.unchanged
    (warning,) = back.warnings
    assert warning.startswith(f"{len(names)} animations of different nodes are read as one clip: ")


def test_without_a_sidecar_clips_are_read_whole_or_not_at_all(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    split(document)
    first, second, third, *rest = document.json["animations"]
    third["channels"] = [*third["channels"], *first["channels"]]
    third["samplers"] = [
        s | {"output": document.add(document.arrays[s["output"]][::-1].copy())} for s in third["samplers"]
    ]
    back = import_gltf(document.save(tmp_path / "e.glb"), None, ALONE)
    assert reported(back) == [(f"animation '{third['name']}'", "is not read")]
    (warning,) = [text for text in back.warnings if "read as one clip" in text]
    assert warning.startswith(f"{2 + len(rest)} animations ")
    assert repr(second["name"]) in warning


# ------------------------------------------------------------------ how Blender exports


def late(document: Editable, frames: int) -> None:
    for number in {sampler["input"] for _, sampler in samplers(document)}:
        document.arrays[number] = document.arrays[number] + np.float32(frames / 24)


def from_frame(document: Editable, first: int, last: int) -> None:
    """Samples of a playback range, the last pose held beyond the clip."""
    for _, sampler in samplers(document):
        values = document.arrays[sampler["output"]]
        frames = np.arange(first, last + 1)
        sampler["input"] = document.add((frames / 24).astype(np.float32)[:, None])
        sampler["output"] = document.add(values[np.minimum(frames, len(values) - 1)])


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
def test_nla_tracks_begin_late(tmp_path: Path, sample) -> None:
    document = opened(sample, tmp_path)
    late(document, 1)
    back = imported(document, tmp_path)
    assert back.changes == []
    (one,) = back.not_applied
    assert one.what == "begins 1 frame late"
    assert "NLA Tracks" in one.why
    assert "Actions" in one.instead


@pytest.mark.parametrize("last", [250, FRAMES - 1, 15])
def test_playback_ranges_keep_the_rest_of_the_clip(tmp_path: Path, last: int) -> None:
    document = opened(WALKING, tmp_path)
    from_frame(document, 1, last)
    back = imported(document, tmp_path)
    assert back.changes == []
    assert first_difference(WALKING.source, back.data) is None
    assert reported(back) == [("animation 'walker'", f"is exported from frame 1 to frame {last}")]


def test_edits_of_a_playback_range_arrive(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    from_frame(document, 1, 250)
    name = turn_last(document, slice(5, 8))
    back = imported(document, tmp_path)
    assert [str(c) for c in back.changes] == [
        f"animation of node '{name}': rotation changed at frame 6 and 2 more frames"
    ]
    assert parse(back.data).frame_count == FRAMES
    assert len(back.not_applied) == 1


def test_a_clip_that_starts_and_stops_at_every_frame_is_named(tmp_path: Path) -> None:
    """On whole frames and halfway between them it is where the game is."""
    document = opened(WALKING, tmp_path)
    for sampler in document.json["animations"][0]["samplers"]:
        values = document.arrays[sampler["output"]]
        still = np.zeros_like(values)
        keys = np.stack([still, values, still], axis=1).reshape(-1, values.shape[1])
        sampler |= {"output": document.add(keys), "interpolation": "CUBICSPLINE"}
    back = imported(document, tmp_path)
    assert ["away between frames" in fact.what for fact in back.not_applied] == [True]
    assert back.changes == []


@pytest.mark.parametrize("left_out", [0, 1, -2, -1])
def test_broadcast_keeps_the_stored_clip(left_out: int, tmp_path: Path) -> None:
    """Every action on every object, on some, on two or on one: of each node the stored curve is found, or kept."""
    document = opened(WALKING, tmp_path)
    split(document)
    clips = document.json["animations"]
    by_node = {clip["channels"][0]["target"]["node"]: clip for clip in clips}
    nodes = list(by_node)[left_out:]
    document.json["animations"] = [
        clip | {"channels": [c | {"target": c["target"] | {"node": node}} for c in clip["channels"]]}
        for node in nodes
        for clip in clips
    ]
    back = imported(document, tmp_path)
    assert back.changes == []
    (one,) = back.not_applied
    assert one.what == f"came as {len(clips) * len(nodes)} animations, several of every node"
    assert "Broadcast" in one.why


@pytest.mark.parametrize("matrices", [False, True])
def test_a_missing_clip_is_kept(matrices: bool, tmp_path: Path) -> None:
    """Also where nodes have matrices instead of translation, rotation and scale."""
    document = opened(WALKING, tmp_path)
    for node in document.json["nodes"] if matrices else ():
        matrix = trs(node).T.reshape(-1).tolist()
        for name in ("translation", "rotation", "scale"):
            node.pop(name, None)
        node["matrix"] = matrix
    del document.json["animations"]
    back = imported(document, tmp_path)
    assert back.changes == []
    assert reported(back) == [("animation 'walker'", "is missing")]
    assert "--allow-delete" in back.not_applied[0].instead
    gone = imported(document, tmp_path, allow_delete=True)
    assert gone.not_applied == []
    assert parse(gone.data).frame_count == 1


def test_other_edits_of_a_file_without_its_clip_arrive(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    del document.json["animations"]
    node = next(n for n in document.json["nodes"] if "mesh" in n)
    accessor = document.json["meshes"][node["mesh"]]["primitives"][0]["attributes"]["POSITION"]
    document.arrays[accessor][0] += 1
    back = imported(document, tmp_path)
    assert all(change.where.startswith("part ") for change in back.changes)
    assert back.changes
    old, new = parse(WALKING.source), parse(back.data)
    assert (new.frame_count, new.keys.tobytes()) == (old.frame_count, old.keys.tobytes())


# ------------------------------------------------------------------ what a model cannot have


def animated_node(document: Editable) -> dict:
    (clip,) = document.json["animations"]
    return document.json["nodes"][clip["channels"][0]["target"]["node"]]


@pytest.mark.parametrize("with_clip", [True, False])
def test_an_animated_node_that_is_moved_is_reported(tmp_path: Path, with_clip: bool) -> None:
    document = opened(WALKING, tmp_path)
    node = animated_node(document)
    node["translation"] = [3.0, 30.0, 300.0]
    node["rotation"] = [0.5, 0.5, 0.5, 0.5]
    if not with_clip:
        del document.json["animations"]
    back = imported(document, tmp_path)
    assert back.changes == []
    name = f"node '{node['name']}'"
    assert (name, "is moved and turned, but its animation is not") in reported(back)
    assert len(back.not_applied) == 2 - with_clip


@pytest.mark.parametrize("extras", [True, False])
def test_without_a_sidecar_moved_nodes_are_reported_too(tmp_path: Path, extras: bool) -> None:
    document = opened(WALKING, tmp_path)
    (clip,) = document.json["animations"]
    for channel in clip["channels"]:
        document.json["nodes"][channel["target"]["node"]]["translation"] = [3.0, 30.0, 300.0]
    if not extras:
        drop_extras(document)
    back = import_gltf(document.save(tmp_path / "e.glb"), None, ALONE)
    nodes = node_names(document, clip)
    wheres = [where for where, what in reported(back) if what.startswith("is moved")]
    assert len(wheres) == (len(nodes) if extras else 1)
    assert extras or wheres[0].endswith(f" and {len(nodes) - 1} others")


@pytest.mark.parametrize("frame", [7, 24, 7.2, 6.96])
def test_the_pose_of_any_frame_is_no_edit(tmp_path: Path, frame: float) -> None:
    """Blender exports nodes at its current frame; scenes at 30 or 25 have frames in between."""
    document = opened(WALKING, tmp_path)
    (clip,) = document.json["animations"]
    for channel in clip["channels"]:
        values = document.arrays[clip["samplers"][channel["sampler"]]["output"]]
        columns = [np.interp(frame, np.arange(len(values)), column) for column in values.T]
        pose = np.array(columns, np.float64)
        if channel["target"]["path"] == "rotation":
            pose /= np.linalg.norm(pose)
        document.json["nodes"][channel["target"]["node"]][channel["target"]["path"]] = pose.tolist()
    assert imported(document, tmp_path).unchanged


def foreign(folder: Path) -> tuple[Builder, int]:
    builder = Builder()
    node = builder.node(name="n", mesh=builder.mesh(SHAPE, (0, 1, 2)))
    builder.clip(node, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    builder.json["animations"][0]["name"] = "go"
    return builder, node


def test_channels_that_a_model_cannot_have_are_reported(tmp_path: Path) -> None:
    builder, node = foreign(tmp_path)
    builder.json["nodes"] += [{"name": "gone"}, {"name": "camera", "camera": 0}]
    builder.json["scenes"][0]["nodes"].append(len(builder.json["nodes"]) - 1)
    builder.json["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}}]
    (clip,) = builder.json["animations"]
    pointer = "/materials/0/pbrMetallicRoughness/baseColorFactor"
    last = len(builder.json["nodes"]) - 1
    clip["channels"] += [
        {"sampler": 0, "target": {"node": last, "path": "translation"}},
        {"sampler": 0, "target": {"node": last - 1, "path": "translation"}},
        {"sampler": 0, "target": {"node": node, "path": "weights"}},
        {"sampler": 0, "target": {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": pointer}}}},
    ]
    back = import_gltf(builder.save(tmp_path), None, ALONE)
    assert reported(back) == [
        ("animation 'go'", "moves 'camera', not in the model"),
        ("animation 'go'", "changes shape keys of 'n'"),
        ("animation 'go'", f"animates '{pointer}'"),
    ]


def test_ignored_scale_is_reported(tmp_path: Path) -> None:
    builder, node = foreign(tmp_path)
    builder.clip(node, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]])
    path = builder.save(tmp_path)
    with pytest.raises(ConversionError, match="node 'n' has animated scale"):
        import_gltf(path, None, ALONE)
    back = import_gltf(path, None, ImportOptions(use_sidecar=False, ignore_scale=True))
    assert reported(back) == [("node 'n'", "has animated scale")]


def scale_clip(document: Editable, node: int, name: str = "grow") -> dict:
    """A clip that holds scale and nothing else, as Blender makes of an action of its own."""
    times = document.add(np.float32([[0], [1]]))
    sampler = {"input": times, "output": document.add(np.float32([[1, 1, 1], [2, 2, 2]]))}
    target = {"node": node, "path": "scale"}
    return {"name": name, "channels": [{"sampler": 0, "target": target}], "samplers": [sampler]}


@pytest.mark.parametrize("sidecar", [True, False])
@pytest.mark.parametrize("place", [0, 1])
def test_a_clip_of_scale_alone_is_reported(tmp_path: Path, place: int, sidecar: bool) -> None:
    """First or last: the clip that moves nodes is read, and nothing is said of merging."""
    document = opened(WALKING, tmp_path)
    (whole,) = document.json["animations"]
    node = whole["channels"][0]["target"]["node"]
    document.json["animations"].insert(place, scale_clip(document, node))
    path = document.save(tmp_path / "e.glb")
    back = import_gltf(path, *((tmp_path / "m.msh-sidecar",) if sidecar else (None, ALONE)))
    name = document.json["nodes"][node]["name"]
    assert reported(back) == [(f"node '{name}'", "has animated scale")]
    assert not any("read as one clip" in text for text in back.warnings)
    if sidecar:
        assert first_difference(WALKING.source, back.data) is None
    else:
        assert parse(back.data).frame_count == FRAMES


def test_scale_in_a_clip_that_is_read_is_refused(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    (whole,) = document.json["animations"]
    scaled = scale_clip(document, whole["channels"][0]["target"]["node"])
    whole["channels"].append(scaled["channels"][0] | {"sampler": len(whole["samplers"])})
    whole["samplers"] += scaled["samplers"]
    with pytest.raises(ConversionError, match="has animated scale"):
        imported(document, tmp_path)


def test_a_clip_of_shape_keys_alone_is_reported(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    clip = scale_clip(document, document.json["animations"][0]["channels"][0]["target"]["node"])
    clip["channels"][0]["target"]["path"] = "weights"
    document.json["animations"].append(clip)
    back = imported(document, tmp_path)
    assert back.changes == []
    ((where, what),) = reported(back)
    assert (where, "changes shape keys of" in what) == ("animation 'grow'", True)


def test_a_copy_of_the_clip_with_scale_is_reported(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    clip = copied_clip(document, "copy")
    scaled = scale_clip(document, clip["channels"][0]["target"]["node"])
    clip["channels"].append(scaled["channels"][0] | {"sampler": len(clip["samplers"])})
    clip["samplers"] += scaled["samplers"]
    back = imported(document, tmp_path)
    assert back.changes == []
    assert [what for _, what in reported(back)] == ["has animated scale"]


@pytest.mark.parametrize(("scale", "count"), [(1, 0), (2, 1)])
def test_a_constant_scale_that_is_not_the_nodes_is_reported(tmp_path: Path, scale: int, count: int) -> None:
    document = opened(WALKING, tmp_path)
    (clip,) = document.json["animations"]
    node = clip["channels"][0]["target"]["node"]
    clip["channels"].append({"sampler": len(clip["samplers"]), "target": {"node": node, "path": "scale"}})
    values = document.add(np.full((2, 3), scale, np.float32))
    times = document.add(np.float32([[0], [1]]))
    clip["samplers"].append({"input": times, "output": values})
    back = imported(document, tmp_path)
    assert back.changes == []
    assert len(back.not_applied) == count
    assert all("is not the node's" in each.what for each in back.not_applied)


def test_require_all_refuses_a_file_without_its_clip(tmp_path: Path) -> None:
    document = Editable(to_gltf(sample_called("spec__odd__B_PLANT_008"), tmp_path / "m.glb"))
    del document.json["animations"]
    path = document.save(tmp_path / "m.glb")
    back = run("gltf2msh", path, "-o", tmp_path / "b.msh", "--require-all")
    assert back.returncode == 1
    assert back.stderr.startswith("not applied: animation ")
    assert not (tmp_path / "b.msh").exists()


@pytest.mark.parametrize("alone", [True, False])
def test_motion_that_came_as_one_pose_is_named(tmp_path: Path, alone: bool) -> None:
    """As Blender exports what a constraint moves; keys that were deleted leave the node where it was."""
    for moved in (True, False):
        document = opened(WALKING, tmp_path)
        (clip,) = document.json["animations"]
        node = clip["channels"][0]["target"]["node"]
        clip["channels"] = [one for one in clip["channels"] if one["target"]["node"] != node]
        if moved:
            document.json["nodes"][node]["translation"] = [3.0, 30.0, 300.0]
        back = import_gltf(document.save(tmp_path / "e.glb"), None, ALONE) if alone else imported(document, tmp_path)
        name = document.json["nodes"][node]["name"]
        said = [
            text
            for text in back.warnings
            if text.startswith(f"1 node without keys that the exported clip moved: '{name}'")
        ]
        assert len(said) == (moved or alone)
