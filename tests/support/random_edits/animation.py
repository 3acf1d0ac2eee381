"""Edits of clips."""

import copy

import numpy as np

from tests.support.random_edits.base import Edited, Json, NotHere, edit, name_of, of_still_node, turn, turned, vector


def _clip(d: Edited) -> Json:
    if not d.json.get("animations"):
        raise NotHere
    clip: Json = d.json["animations"][0]
    return clip


def _channel(d: Edited, chance: np.random.Generator, path: str) -> tuple[int, Json]:
    """A channel's node and its sampler, whose values are its alone from here on."""
    clip = _clip(d)
    found = [c for c in clip["channels"] if c["target"]["path"] == path]
    if not found:
        raise NotHere
    channel = found[int(chance.integers(len(found)))]
    sampler = dict(clip["samplers"][channel["sampler"]])
    sampler["output"] = d.add(d.arrays[sampler["output"]].copy())
    clip["samplers"].append(sampler)
    channel["sampler"] = len(clip["samplers"]) - 1
    return channel["target"]["node"], sampler


@edit
def move_key(d: Edited, chance: np.random.Generator) -> list[str]:
    node, sampler = _channel(d, chance, "translation")
    values = d.arrays[sampler["output"]]
    values[chance.integers(len(values))] += vector(chance, 0.1 * d.size).astype(np.float32)
    return [name_of(d, node)]


@edit
def turn_key(d: Edited, chance: np.random.Generator) -> list[str]:
    node, sampler = _channel(d, chance, "rotation")
    values = d.arrays[sampler["output"]]
    at = chance.integers(len(values))
    values[at] = turned(values[at].tolist(), turn(chance))
    return [name_of(d, node)]


@edit
def offset_animation(d: Edited, chance: np.random.Generator) -> list[str]:
    """Every key of a node moves."""
    node, sampler = _channel(d, chance, "translation")
    d.arrays[sampler["output"]] += vector(chance, 0.1 * d.size).astype(np.float32)
    return [name_of(d, node)]


def _cut(d: Edited, keep: int) -> None:
    for clip in d.json["animations"]:
        for sampler in clip["samplers"]:
            for key in ("input", "output"):
                sampler[key] = d.add(d.arrays[sampler[key]][:keep])


@edit
def shorten_clip(d: Edited, chance: np.random.Generator) -> list[str]:
    count = min(len(d.arrays[s["input"]]) for s in _clip(d)["samplers"])
    if count < 3:
        raise NotHere
    _cut(d, int(chance.integers(2, count)))
    return ["clip", _clip(d)["name"]]


@edit
def lengthen_clip(d: Edited, chance: np.random.Generator) -> list[str]:
    """By a hold at the end."""
    step = int(chance.integers(2, 20))
    for sampler in _clip(d)["samplers"]:
        times, values = d.arrays[sampler["input"]], d.arrays[sampler["output"]]
        later = times[-1:] + np.float32(step / 24)
        sampler["input"] = d.add(np.concatenate([times, later]))
        sampler["output"] = d.add(np.concatenate([values, values[-1:]]))
    return ["clip", _clip(d)["name"]]


@edit
def delete_clip(d: Edited, chance: np.random.Generator) -> list[str]:
    clip = _clip(d)
    del d.json["animations"]
    return ["clip", clip["name"], *(name_of(d, c["target"]["node"]) for c in clip["channels"])]


@edit
def delete_channel(d: Edited, chance: np.random.Generator) -> list[str]:
    clip = _clip(d)
    channel = clip["channels"].pop(int(chance.integers(len(clip["channels"]))))
    if not clip["channels"]:
        raise NotHere
    return [name_of(d, channel["target"]["node"])]


@of_still_node
def animate_node(d: Edited, i: int, chance: np.random.Generator) -> None:
    """Keys for a node that had none, in the file's clip or in one of its own, as Blender writes."""
    count = 9
    own = chance.random() < 0.5 or not d.json.get("animations")
    start = np.array(d.nodes[i].get("translation", [0, 0, 0]))
    values = start + np.cumsum(chance.normal(0, 0.05 * d.size, (count, 3)), axis=0)
    values[0] = start
    sampler = {
        "input": d.add((np.arange(count) / 24).astype(np.float32)[:, None]),
        "output": d.add(values.astype(np.float32)),
    }
    if own:
        d.json.setdefault("animations", []).append({"name": "Action", "channels": [], "samplers": []})
    clip = d.json["animations"][-1 if own else 0]
    clip["samplers"].append(sampler)
    target = {"node": i, "path": "translation"}
    clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": target})


@edit
def second_clip_of_the_same_nodes(d: Edited, chance: np.random.Generator) -> list[str]:
    other = copy.deepcopy(_clip(d))
    other["name"] = "SecondAction"
    for sampler in other["samplers"]:
        values = d.arrays[sampler["output"]]
        sampler["output"] = d.add(values[::-1].copy())
    d.json["animations"].append(other)
    return ["SecondAction"]


@edit
def change_rest_pose_of_animated_node(d: Edited, chance: np.random.Generator) -> list[str]:
    i = d.some(chance, d.is_animated)
    start = np.array(d.nodes[i].get("translation", [0, 0, 0]))
    d.nodes[i]["translation"] = (start + vector(chance, 0.2 * d.size)).tolist()
    d.nodes[i]["rotation"] = turned(d.nodes[i].get("rotation", [0, 0, 0, 1]), turn(chance))
    return [name_of(d, i)]


@edit
def animate_scale(d: Edited, chance: np.random.Generator) -> list[str]:
    clip, i = _clip(d), d.some_node(chance)
    values = np.float32([[1, 1, 1], [2, 2, 2], [1, 1, 1]])
    times = d.add((np.arange(3) / 24).astype(np.float32)[:, None])
    clip["samplers"].append({"input": times, "output": d.add(values)})
    target = {"node": i, "path": "scale"}
    clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": target})
    return [name_of(d, i)]


@edit
def step_interpolation(d: Edited, chance: np.random.Generator) -> list[str]:
    """The same keys without anything between; whole frames show the same."""
    for sampler in _clip(d)["samplers"]:
        sampler["interpolation"] = "STEP"
    return []


@edit
def cubic_interpolation(d: Edited, chance: np.random.Generator) -> list[str]:
    node, sampler = _channel(d, chance, "translation")
    times, values = d.arrays[sampler["input"]], d.arrays[sampler["output"]]
    pick = slice(None, None, 2)
    tangents = chance.normal(0, d.size, (len(values[pick]), 2, 3)).astype(np.float32)
    keys = np.stack([tangents[:, 0], values[pick], tangents[:, 1]], axis=1)
    sampler |= {"input": d.add(times[pick]), "output": d.add(keys.reshape(-1, 3))}
    sampler["interpolation"] = "CUBICSPLINE"
    return [name_of(d, node)]
