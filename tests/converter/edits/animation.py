"""Edits of animations: which are read, which frames their times mean, and what a model cannot have of them."""

import json
from collections.abc import Callable
from functools import partial

import numpy as np

from msh_gltf.converter.kinds.import_result import ImportResult
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.gltf_view import trs
from tests.support.rebuilt import parse
from tests.support.recorded import Case, made

FRAMES = 25
PLANT = "spec__odd__B_PLANT_008"


Keys = tuple[np.ndarray, np.ndarray]


def samplers(document: Editable, clip: int = 0) -> list[tuple[str, dict]]:
    """Path and sampler of each channel of a clip."""
    found = document.json["animations"][clip]
    return [(c["target"]["path"], found["samplers"][c["sampler"]]) for c in found["channels"]]


def rekey(document: Editable, change: Callable[[np.ndarray, np.ndarray], Keys], clip: int = 0) -> None:
    """Give every channel of a clip other keys: of its frames at 24 per second, (k,), and values, (k, n)."""
    for _, sampler in samplers(document, clip):
        times, values = (document.arrays[sampler[name]] for name in ("input", "output"))
        frames, values = change(times[:, 0].astype(np.float64) * 24, values)
        sampler["input"] = document.add((frames / 24).astype(np.float32)[:, None])
        sampler["output"] = document.add(values.astype(np.float32))


# ------------------------------------------------------------------ other times


def play_at(document: Editable, fps: float, clip: int = 0) -> None:
    """What Blender writes of a clip imported at 24 when its scene then plays at another rate."""
    rekey(document, lambda frames, values: (frames * 24 / fps, values), clip)


def resample(document: Editable, fps: float, clip: int = 0) -> None:
    """What Blender writes of a clip imported into a scene at another rate: keys at its frames."""

    def keys(frames: np.ndarray, values: np.ndarray) -> Keys:
        at = np.arange(np.ceil(frames[-1] / 24 * fps - 1e-4) + 1) * 24 / fps
        rows = np.stack([np.interp(at, frames, column) for column in values.T], axis=1)
        return at, rows / np.linalg.norm(rows, axis=1)[:, None] if rows.shape[1] == 4 else rows

    rekey(document, keys, clip)


def at_24(d: Editable, rate: int) -> None:
    """Exported at another rate, through a Blender at 24 that drops the extras: neither file nor keys state the rate."""
    play_at(d, rate)
    resample(d, 24)
    rekey(d, lambda at, values: (at[:-1], values[:-1]))  # no frame beyond its end
    drop_extras(d)


def late(d: Editable, frames: float) -> None:
    rekey(d, lambda at, values: (at + frames, values))


def cut(d: Editable, frames: int) -> None:
    rekey(d, lambda at, values: (at[:frames], values[:frames]))


def hold(d: Editable, frames: int) -> None:
    """Repeat the last key of every channel some frames later."""
    rekey(d, lambda at, values: (np.append(at, at[-1] + frames), np.concatenate([values, values[-1:]])))


def still(d: Editable, frames: int) -> None:
    """Nothing moves in a clip of so many frames."""
    rekey(d, lambda _, values: (np.arange(frames), np.repeat(values[:1], frames, axis=0)))


def from_frame(d: Editable, first: int, last: int) -> None:
    """Samples of a playback range, the last pose held beyond the clip."""
    frames = np.arange(first, last + 1)
    rekey(d, lambda _, values: (frames, values[np.minimum(frames, len(values) - 1)]))


def with_its_end(d: Editable, rate: int) -> None:
    """Samples at another rate, and one at the end, less than a sample after the one before it."""
    ends = [[d.arrays[sampler[name]][-1] for name in ("input", "output")] for _, sampler in samplers(d)]
    resample(d, rate)
    last = iter(ends)

    def keys(frames: np.ndarray, values: np.ndarray) -> Keys:
        (time,), value = next(last)
        inside = frames / 24 < time - 1e-4
        return np.append(frames[inside], time * 24), np.concatenate([values[inside], value[None]])

    rekey(d, keys)


def rounded(d: Editable, rate: int) -> None:
    """Times are float32, which moves a fast node a little; Blender may lose the last sample to rounding."""
    resample(d, rate)
    for _, sampler in samplers(d):
        kept = slice(-1 if rate > 24 * 2 else None)
        sampler["input"] = d.add(np.nextafter(d.arrays[sampler["input"]], np.float32(9))[kept])
        sampler["output"] = d.add(d.arrays[sampler["output"]][kept])


# ------------------------------------------------------------------ other values


def turn_last(document: Editable, keys: slice) -> None:
    """Turn the last animated node at some of its keys."""
    sampler = [sampler for path, sampler in samplers(document) if path == "rotation"][-1]
    values = document.arrays[sampler["output"]].copy()
    values[keys] = np.float32([0.5, 0.5, 0.5, 0.5])
    sampler["output"] = document.add(values)


def every_second_frame(d: Editable) -> None:
    """A new clip with a key on every second frame is not one at 12 frames per second."""
    rng = np.random.default_rng(3)
    times = d.add((np.arange(0, 15, 2) / 24).astype(np.float32)[:, None])
    for path, sampler in samplers(d):
        values = rng.normal(size=(8, 4 if path == "rotation" else 3))
        values /= np.linalg.norm(values, axis=1)[:, None]
        sampler["input"], sampler["output"] = times, d.add(values.astype(np.float32))


def between_stored_keys(d: Editable) -> None:
    """A clip of stored keys is compared at every frame, not only at its keys."""
    sampler = next(sampler for path, sampler in samplers(d) if path == "rotation")
    times = d.arrays[sampler["input"]][:, 0]
    wide = int(np.argmax(np.diff(times)))
    middle = (times[wide] + times[wide + 1]) / 2
    assert times[wide + 1] - times[wide] > 1.5 / 24
    middle = np.float32(np.rint(middle * 24) / 24)
    sampler["input"] = d.add(np.insert(times, wide + 1, middle)[:, None])
    sampler["output"] = d.add(np.insert(d.arrays[sampler["output"]], wide + 1, [0.5] * 4, axis=0))


def fast(d: Editable) -> None:
    """Half a turn from frame to frame."""
    values = np.float32([[0, 0, 0, 1], [0.97, 0.1, 0.2, 0.1]] * 13)[:FRAMES]
    for path, sampler in samplers(d):
        if path == "rotation":
            sampler["output"] = d.add(values / np.linalg.norm(values, axis=1)[:, None])


def stopping(d: Editable) -> None:
    """Starts and stops at every frame: halfway between them, too, it is where the game is."""
    for sampler in d.json["animations"][0]["samplers"]:
        values = d.arrays[sampler["output"]]
        keys = np.stack([np.zeros_like(values), values, np.zeros_like(values)], axis=1).reshape(-1, values.shape[1])
        sampler |= {"output": d.add(keys), "interpolation": "CUBICSPLINE"}


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


def one_pose(d: Editable, *, moved: bool) -> None:
    """As Blender exports what a constraint moves; keys that were deleted leave the node where it was."""
    (clip,), node = d.json["animations"], animated(d)
    clip["channels"] = [one for one in clip["channels"] if one["target"]["node"] != node]
    if moved:
        d.json["nodes"][node]["translation"] = [3.0, 30.0, 300.0]


# ------------------------------------------------------------------ other clips


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


def clip_of_a_static_model(d: Editable) -> None:
    """Its frame map is where it would be in the game's files."""
    times = d.add(np.arange(4, dtype=np.float32)[:, None] / 24)
    moves = d.add(np.float32([[0, 0, 0], [1, 0, 0], [2, 1, 0], [2, 2, 0]]))
    target = {"sampler": 0, "target": {"node": 1, "path": "translation"}}
    d.json["animations"] = [{"samplers": [{"input": times, "output": moves}], "channels": [target]}]


def rate(_: bytes, back: ImportResult) -> list[str]:
    """How long the clip is, and which rate was found."""
    timing, length = back.timing, parse(back.data).frame_count
    found = f" at {timing.fps:g} from {timing.start:g}: {timing.reason}" if timing else ""
    return [f"{length} frames{found}"]


Clip = partial(Case, more=rate)
CASES = {
    **{f"{rate} that nothing states": Clip(lambda d, r=rate: at_24(d, r)) for rate in (30, 50, 60)},
    # nothing tells which it is: the stored clip is kept, and a line says how to have the other
    "half the speed, or half the rate": Clip(lambda d: play_at(d, 12)),
    **{
        f"{model}, {change.__name__} {rate}{', no extras' * bare}": Clip(
            lambda d, c=change, r=rate: c(d, r), model, extras=not bare
        )
        for model in ("walker", PLANT)
        for change in (play_at, resample)
        for rate in (25, 30, 50, 60)
        for bare in (False, True)
    },
    **{
        f"keys at {rate}, and at frame {last}": Clip(
            lambda d, r=rate: with_its_end(d, r), before=made(lambda d, n=last + 1: cut(d, n), reduce=False)
        )
        for rate, last in ((25, 20), (30, 21), (50, 22), (30, 23), (25, 23))
    },
    **{
        f"fast turns at {rate}": Clip(lambda d, r=rate: rounded(d, r), before=made(fast, reduce=False))
        for rate in (25, 50, 60)
    },
    **{
        f"a hold{what}{', alone' * alone}": Clip(
            edit, export=export, alone=alone, before=made(lambda d: hold(d, 10), reduce=False)
        )
        for what, edit, export in (
            (" and an edit", lambda d: turn_last(d, slice(3, 5)), ()),
            (", cut", lambda d: cut(d, FRAMES + 4), ()),
            (" without a key", lambda d: None, ("--keys",)),  # the file's extras state the length
        )
        for alone in (False, True)
    },
    # it interpolates rotations per component: between sparse keys that is not the arc
    "stored keys through Blender": Clip(lambda d: resample(d, 24), "retail__odd__s_rock_009", ("--keys",)),
    "half the speed": Clip(lambda d: play_at(d, 12), options={"fps": 24.0}),
    "edited, played at 30": Clip(lambda d: (play_at(d, 30), turn_last(d, slice(10, 14)))),
    "edited, sampled at 30": Clip(lambda d: (resample(d, 30), turn_last(d, slice(10, 14)))),
    # between samples of another rate, the stored pose is taken where nothing changed
    "edited, all keys": Clip(lambda d: (resample(d, 30), turn_last(d, slice(20, 24))), options={"reduce": False}),
    "every second frame": Clip(every_second_frame),
    "played at 30, 60 given": Clip(lambda d: play_at(d, 30), options={"fps": 60.0}),
    "played at 30, alone": Clip(lambda d: play_at(d, 30), alone=True),
    "sampled at 30, alone": Clip(lambda d: resample(d, 30), alone=True),
    "sampled at 12": Clip(lambda d: resample(d, 12), PLANT),
    "a longer hold": Clip(lambda d: hold(d, 10)),
    "a key between stored keys": Clip(between_stored_keys, export=("--keys",)),
    **{
        f"a clip of {name}": Clip(clip_of_a_static_model, name)
        for name in ("retail__static__i_room_006", "spec__system__R_H_002")
    },
    **{f"{count} still frames": Clip(lambda d, n=count: still(d, n), alone=True, extras=False) for count in (1, 2, 3)},
    "a second clip": Clip(second_clip),
    "a second clip, chosen": Clip(second_clip, options={"clip": "run"}),
    "an equal second clip": Clip(lambda d: copied_clip(d, "copy")),
    "a clip for each node": Clip(split),
    "a clip for each node, and one more, alone": Clip(split_but_one, alone=True),
    "late": Clip(lambda d: late(d, 1)),
    "late, of another model": Clip(lambda d: late(d, 1), PLANT),
    "a range, edited": Clip(lambda d: (from_frame(d, 1, 250), turn_last(d, slice(5, 8)))),
    "stops at every frame": Clip(stopping),
    "no clip": Clip(without_clip),
    "no clip, matrices": Clip(lambda d: without_clip(d, matrices=True)),
    "no clip, allowed": Clip(without_clip, options={"allow_delete": True}),
    "no clip, a vertex moved": Clip(lambda d: (moved_vertex(d), without_clip(d))),
    "no clip, a node moved": Clip(lambda d: without_clip(d, moved=True)),
    "an animated node moved": Clip(lambda d: d.json["nodes"][animated(d)].update(translation=[3.0, 30.0, 300.0])),
    "animated nodes moved, alone": Clip(moved_nodes, alone=True),
    "animated nodes moved, alone, no extras": Clip(moved_nodes, alone=True, extras=False),
    "scale in the clip": Clip(lambda d: with_scale(d, d.json["animations"][0])),
    "shape keys alone": Clip(lambda d: d.json["animations"].append(scale_clip(d, "weights"))),
    "a copy with scale": Clip(lambda d: with_scale(d, copied_clip(d, "copy"))),
    **{f"a range to {last}": Clip(lambda d, last=last: from_frame(d, 1, last)) for last in (250, FRAMES - 1, 15)},
    **{f"Broadcast from {left}": Clip(lambda d, left=left: broadcast(d, left)) for left in (0, 1, -2, -1)},
    **{f"the pose of frame {at}": Clip(lambda d, at=at: posed(d, at)) for at in (7, 24, 7.2, 6.96)},
    **{
        f"a constant scale of {size}": Clip(lambda d, size=size: with_scale(d, d.json["animations"][0], size))
        for size in (1, 2)
    },
    **{
        f"scale alone, {place}{', alone' * alone}": Clip(
            lambda d, place=place: d.json["animations"].insert(place, scale_clip(d)), alone=alone
        )
        for place in (0, 1)
        for alone in (False, True)
    },
    **{
        f"one pose{', moved' * moved}{', alone' * alone}": Clip(
            lambda d, moved=moved: one_pose(d, moved=moved), alone=alone
        )
        for moved in (True, False)
        for alone in (False, True)
    },
}


def drawn(number: int) -> Case:
    """A clip that came back through programs and hands: its rate, its ends, what the file states, what was edited."""
    chance = np.random.default_rng([24, number])

    def edit(d: Editable) -> None:
        rate = float(chance.choice([7, 12, 15, 23.976, 24, 25, 29.97, 30, 48, 50, 60]))
        if chance.random() < 0.4:
            cut(d, int(chance.integers(2, FRAMES)))
        elif chance.random() < 0.3:
            hold(d, int(chance.integers(1, 12)))
        (play_at if chance.random() < 0.4 else resample)(d, rate)
        frames, first = int(chance.integers(1, 9)), int(chance.integers(1, 9))
        if chance.random() < 0.25:
            late(d, 24 * frames / rate)
        if chance.random() < 0.25:
            rekey(d, lambda at, values: (at[min(first, len(at) - 1) :], values[min(first, len(at) - 1) :]))
        if chance.random() < 0.5:
            at = int(chance.integers(FRAMES))
            turn_last(d, slice(at, at + int(chance.integers(1, 6))))
        if chance.random() < 0.3:
            drop_extras(d)
        elif chance.random() < 0.5:
            about = d.json["scenes"][0]["extras"]["msh"]
            length = int(chance.choice([10, 25, 26, 70_000]))
            about |= {"fps": float(chance.choice([12, 24, 30])), "frame_count": length}

    options = {"fps": 30.0} if number % 9 == 0 else {}
    return Clip(edit, PLANT if number % 5 == 4 else "walker", alone=number % 2 == 1, options=options)


CASES |= {f"drawn {number}": drawn(number) for number in range(60)}
