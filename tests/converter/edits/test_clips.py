"""Which animations are read, and what is reported of the others and of what a model cannot have.

What comes of each edit stands in ``clips.txt``; ``python -m tests.converter.edits.test_clips`` writes it again, for you
to read what became different.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.converter.edits.test_frame_rate import FRAMES, samplers, turn_last
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import trs
from tests.support.recorded import Case, Recorded

#: What comes of each edit.
CLIPS = Recorded(__file__, "clips.txt")


def animated(d: Editable) -> int:
    """The first animated node."""
    return d.json["animations"][0]["channels"][0]["target"]["node"]


def copied_clip(document: Editable, name: str) -> dict:
    """A second animation, with samplers of its own."""
    clip = json.loads(json.dumps(document.json["animations"][0])) | {"name": name}
    document.json["animations"].append(clip)
    return clip


def second_clip(d: Editable) -> None:
    """The same nodes, backwards."""
    for sampler in copied_clip(d, "run")["samplers"]:
        sampler["output"] = d.add(d.arrays[sampler["output"]][::-1].copy())


def split(d: Editable) -> None:
    """A clip per node, as Blender writes them for objects with actions of other names."""
    (whole,) = d.json["animations"]
    names = [d.json["nodes"][c["target"]["node"]]["name"] for c in whole["channels"]]
    d.json["animations"] = [
        {**whole, "name": name, "channels": [c for c, own in zip(whole["channels"], names, strict=True) if own == name]}
        for name in dict.fromkeys(names)
    ]


def split_but_one(d: Editable) -> None:
    """The third clip moves the node of the first one, too."""
    split(d)
    first, _, third, *_ = d.json["animations"]
    third["channels"] = [*third["channels"], *first["channels"]]
    third["samplers"] = [s | {"output": d.add(d.arrays[s["output"]][::-1].copy())} for s in third["samplers"]]


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


def stopping(d: Editable) -> None:
    """Starts and stops at every frame: halfway between them, too, it is where the game is."""
    for sampler in d.json["animations"][0]["samplers"]:
        values = d.arrays[sampler["output"]]
        keys = np.stack([np.zeros_like(values), values, np.zeros_like(values)], axis=1).reshape(-1, values.shape[1])
        sampler |= {"output": d.add(keys), "interpolation": "CUBICSPLINE"}


def broadcast(d: Editable, left_out: int) -> None:
    """Every action on every object, on some, on two or on one: of each node the stored curve is found, or kept."""
    split(d)
    clips = d.json["animations"]
    nodes = list(dict.fromkeys(clip["channels"][0]["target"]["node"] for clip in clips))[left_out:]
    d.json["animations"] = [
        clip | {"channels": [c | {"target": c["target"] | {"node": node}} for c in clip["channels"]]}
        for node in nodes
        for clip in clips
    ]


def without_clip(d: Editable, *, matrices: bool = False, moved: bool = False) -> None:
    if moved:
        d.json["nodes"][animated(d)].update(translation=[3.0, 30.0, 300.0], rotation=[0.5, 0.5, 0.5, 0.5])
    del d.json["animations"]
    for node in d.json["nodes"] if matrices else ():
        node["matrix"] = trs(node).T.reshape(-1).tolist()
        for name in ("translation", "rotation", "scale"):
            node.pop(name, None)


def moved_vertex(d: Editable) -> None:
    node = next(n for n in d.json["nodes"] if "mesh" in n)
    d.arrays[d.json["meshes"][node["mesh"]]["primitives"][0]["attributes"]["POSITION"]][0] += 1


def moved_nodes(d: Editable) -> None:
    for channel in d.json["animations"][0]["channels"]:
        d.json["nodes"][channel["target"]["node"]]["translation"] = [3.0, 30.0, 300.0]


def posed(d: Editable, frame: float) -> None:
    """As Blender exports nodes at its current frame; scenes at 30 or 25 have frames in between."""
    (clip,) = d.json["animations"]
    for channel in clip["channels"]:
        values = d.arrays[clip["samplers"][channel["sampler"]]["output"]]
        pose = np.array([np.interp(frame, np.arange(len(values)), column) for column in values.T], np.float64)
        if channel["target"]["path"] == "rotation":
            pose /= np.linalg.norm(pose)
        d.json["nodes"][channel["target"]["node"]][channel["target"]["path"]] = pose.tolist()


def scale_clip(d: Editable, path: str = "scale") -> dict:
    """A clip that holds scale and nothing else, as Blender makes of an action of its own."""
    sampler = {"input": d.add(np.float32([[0], [1]])), "output": d.add(np.float32([[1, 1, 1], [2, 2, 2]]))}
    return {
        "name": "grow",
        "channels": [{"sampler": 0, "target": {"node": animated(d), "path": path}}],
        "samplers": [sampler],
    }


def with_scale(d: Editable, clip: dict, size: float | None = None) -> None:
    """Add scale to a clip: from one size to another, or a constant one."""
    scaled = scale_clip(d)
    if size is not None:
        scaled["samplers"][0]["output"] = d.add(np.full((2, 3), size, np.float32))
    clip["channels"].append(scaled["channels"][0] | {"sampler": len(clip["samplers"])})
    clip["samplers"] += scaled["samplers"]


def one_pose(d: Editable, *, moved: bool) -> None:
    """As Blender exports what a constraint moves; keys that were deleted leave the node where it was."""
    (clip,), node = d.json["animations"], animated(d)
    clip["channels"] = [one for one in clip["channels"] if one["target"]["node"] != node]
    if moved:
        d.json["nodes"][node]["translation"] = [3.0, 30.0, 300.0]


def still(d: Editable, frames: int) -> None:
    """Nothing moves in a clip of so many frames."""
    for _, sampler in samplers(d):
        sampler["input"] = d.add((np.arange(frames) / 24).astype(np.float32)[:, None])
        sampler["output"] = d.add(np.repeat(d.arrays[sampler["output"]][:1], frames, axis=0))


def clip_of_a_static_model(d: Editable) -> None:
    """Its frame map is where it would be in the game's files."""
    times = d.add(np.arange(4, dtype=np.float32)[:, None] / 24)
    moves = d.add(np.float32([[0, 0, 0], [1, 0, 0], [2, 1, 0], [2, 2, 0]]))
    target = {"sampler": 0, "target": {"node": 1, "path": "translation"}}
    d.json["animations"] = [{"samplers": [{"input": times, "output": moves}], "channels": [target]}]


CASES = {
    **{
        f"a clip of {name}": Case(clip_of_a_static_model, name)
        for name in ("retail__static__i_room_006", "spec__system__R_H_002")
    },
    **{f"{count} still frames": Case(lambda d, n=count: still(d, n), alone=True, extras=False) for count in (1, 2, 3)},
    "a second clip": Case(second_clip),
    "a second clip, chosen": Case(second_clip, options={"clip": "run"}),
    "an equal second clip": Case(lambda d: copied_clip(d, "copy")),
    "a clip for each node": Case(split),
    "a clip for each node, and one more, alone": Case(split_but_one, alone=True),
    "late": Case(lambda d: late(d, 1)),
    "late, of another model": Case(lambda d: late(d, 1), "spec__odd__B_PLANT_008"),
    "a range, edited": Case(lambda d: (from_frame(d, 1, 250), turn_last(d, slice(5, 8)))),
    "stops at every frame": Case(stopping),
    "no clip": Case(without_clip),
    "no clip, matrices": Case(lambda d: without_clip(d, matrices=True)),
    "no clip, allowed": Case(without_clip, options={"allow_delete": True}),
    "no clip, a vertex moved": Case(lambda d: (moved_vertex(d), without_clip(d))),
    "no clip, a node moved": Case(lambda d: without_clip(d, moved=True)),
    "an animated node moved": Case(lambda d: d.json["nodes"][animated(d)].update(translation=[3.0, 30.0, 300.0])),
    "animated nodes moved, alone": Case(moved_nodes, alone=True),
    "animated nodes moved, alone, no extras": Case(moved_nodes, alone=True, extras=False),
    "scale in the clip": Case(lambda d: with_scale(d, d.json["animations"][0])),
    "shape keys alone": Case(lambda d: d.json["animations"].append(scale_clip(d, "weights"))),
    "a copy with scale": Case(lambda d: with_scale(d, copied_clip(d, "copy"))),
    **{f"a range to {last}": Case(lambda d, last=last: from_frame(d, 1, last)) for last in (250, FRAMES - 1, 15)},
    **{f"Broadcast from {left}": Case(lambda d, left=left: broadcast(d, left)) for left in (0, 1, -2, -1)},
    **{f"the pose of frame {at}": Case(lambda d, at=at: posed(d, at)) for at in (7, 24, 7.2, 6.96)},
    **{
        f"a constant scale of {size}": Case(lambda d, size=size: with_scale(d, d.json["animations"][0], size))
        for size in (1, 2)
    },
    **{
        f"scale alone, {place}{', alone' * alone}": Case(
            lambda d, place=place: d.json["animations"].insert(place, scale_clip(d)), alone=alone
        )
        for place in (0, 1)
        for alone in (False, True)
    },
    **{
        f"one pose{', moved' * moved}{', alone' * alone}": Case(
            lambda d, moved=moved: one_pose(d, moved=moved), alone=alone
        )
        for moved in (True, False)
        for alone in (False, True)
    },
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_an_edit(name: str, tmp_path: Path) -> None:
    CLIPS.require(name, CASES[name].found(tmp_path))


if __name__ == "__main__":
    CLIPS.write_each(CASES, lambda name, folder: CASES[name].found(folder))
