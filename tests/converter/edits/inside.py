"""Models and terrain that are edited inside of a mission: carried into their own files, or reported."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.converter.edits.named import z_up
from tests.support.assembled_game import ROBOT, SOCKET, GameParts
from tests.support.gltf_edit import HARMLESS
from tests.support.inside_game import Inside, Node, Placed

ROCK, ROOM, LIT, PAINTED = "s_rock", "u_robot", "s_lit", "s_painted"


def rock(file: Inside, number: int = 1, place: int = 0) -> Any:
    """A node of a rock of the mission, which is called by its key."""
    return file.node("S_ROCK", number, place)


def shift(file: Inside, node: Any, name: str, by: float) -> None:
    file.values(node, name)[:] += np.float32(by)


def normals(file: Inside) -> None:
    values = file.values(rock(file), "NORMAL")
    values[:] = np.roll(values, 1, axis=1)


def colours(file: Inside) -> None:
    values = file.values(file.node(PAINTED, 1), "COLOR_0")
    values[:, :3] = values[:, :3] // 2 + 3


def paint(file: Inside, node: Node) -> None:
    """Give it the next material."""
    primitive = file.primitive(node)
    primitive["material"] = (primitive["material"] + 1) % len(file.file.json["materials"])


def renamed_material(file: Inside) -> None:
    number = file.primitive(rock(file))["material"]
    file.file.json["materials"][number]["name"] = "new"


def less(file: Inside) -> None:
    primitive = file.primitive(rock(file))
    primitive["indices"] = file.file.add(file.file.arrays[primitive["indices"]][:-3])


def in_one(file: Inside) -> None:
    """A mesh of its own in one place, as *Make Single User* makes it."""
    node, meshes = rock(file), file.file.json["meshes"]
    mesh = copy.deepcopy(meshes[node["mesh"]])
    attributes = mesh["primitives"][0]["attributes"]
    attributes["POSITION"] = file.file.add(file.file.arrays[attributes["POSITION"]] + 1)
    meshes.append(mesh)
    node["mesh"] = len(meshes) - 1


def clip(file: Inside) -> dict[str, Any]:
    found: dict[str, Any] = file.file.json["animations"][0]
    return found


def channels(file: Inside, node: Any) -> list[dict[str, Any]]:
    number = file.nodes.index(node)
    return [one for one in clip(file)["channels"] if one["target"]["node"] == number]


def sampler_of(file: Inside, path: str = "rotation") -> dict[str, Any]:
    node = rock(file, 2)
    channel = next(one for one in channels(file, node) if one["target"]["path"] == path)
    sampler: dict[str, Any] = clip(file)["samplers"][channel["sampler"]]
    return sampler


def keys(file: Inside) -> None:
    output = file.file.arrays[sampler_of(file, "translation")["output"]]
    output[5] += 1


def fewer_keys(file: Inside) -> None:
    sampler = sampler_of(file)
    for name in ("input", "output"):
        sampler[name] = file.file.add(file.file.arrays[sampler[name]][:10])


def slower(file: Inside) -> None:
    for sampler in clip(file)["samplers"]:
        sampler["input"] = file.file.add(file.file.arrays[sampler["input"]] * np.float32(1.3))


def stopped(file: Inside) -> None:
    stopped = channels(file, rock(file, 2))
    clip(file)["channels"] = [one for one in clip(file)["channels"] if one not in stopped]


def animated(file: Inside, node: Any, path: str = "translation") -> None:
    times = file.file.add(np.array([[0.0], [1.0]], np.float32))
    values = file.file.add(np.array([[1, 1, 1], [1, 2, 3]], np.float32))
    clip = file.file.json.setdefault("animations", [{"name": "x", "channels": [], "samplers": []}])
    clip[0]["samplers"].append({"input": times, "output": values})
    target = {"node": file.nodes.index(node), "path": path}
    clip[0]["channels"].append({"sampler": len(clip[0]["samplers"]) - 1, "target": target})


def second_clip(file: Inside) -> None:
    sampler, node = sampler_of(file, "translation"), rock(file, 2)
    values = file.file.add(file.file.arrays[sampler["output"]] + 5)
    target = {"node": file.nodes.index(node), "path": "translation"}
    file.file.json["animations"].append(
        {"name": "second", "channels": [{"sampler": 0, "target": target}], "samplers": [{**sampler, "output": values}]}
    )


def ground(file: Inside) -> Any:
    return next(node for node in file.nodes if node["name"] == "terrain")


def paint_ground(file: Inside) -> None:
    primitive = file.primitive(ground(file))
    count = len(file.file.arrays[primitive["attributes"]["POSITION"]])
    primitive["attributes"]["COLOR_0"] = file.file.add(np.tile(np.float32([1, 0, 0, 1]), (count, 1)))


def other_ground(file: Inside) -> None:
    material = file.file.json["materials"][file.primitive(ground(file))["material"]]
    material["extras"]["msh"]["first"] += 1


def each_rock(f: Inside, *places: tuple[float, ...]) -> None:
    """Move a node in places that show the same model."""
    for place, there in enumerate(places):
        rock(f, 7, place).update(translation=there)


def mesh_and_node(f: Inside, place: int = 0) -> None:
    """A mesh of all places, and a node of one."""
    shift(f, rock(f), "POSITION", 1)
    rock(f, 7, place).update(translation=[9, 9, 9])


def new_in_both_gone_in_one(f: Inside) -> None:
    """New nodes are told apart by their names; one that is gone there may be anywhere else."""
    for place in range(2):
        for name, x in (("left", 1.0), ("right", 2.0)):
            f.add({"name": name, "mesh": rock(f)["mesh"], "translation": [x, 0, 0]}, rock(f, 0, place))
    f.remove(rock(f, 7))


def copied(f: Inside, kept: Callable[[Node], bool], **changed: Any) -> Node:
    """A copy of a rock, its nodes copies, too, where they are kept."""
    top = copy.deepcopy(f.places("S_ROCK")[1]) | {"name": "S_ROCK.001", "translation": [150.0, 7.0, -150.0]} | changed
    waiting = [top]
    while waiting:
        node = waiting.pop()
        below = [copy.deepcopy(f.nodes[child]) for child in node.pop("children", [])]
        waiting += [f.add(one, node) for one in below if kept(f.extras(one))]
    f.file.json["scenes"][0]["nodes"].append(len(f.nodes))
    f.nodes.append(top)
    return top


def asset(f: Inside, key: str, edited: bool) -> None:
    """Of the one model the sidecar knows nothing; an asset has neither clips nor points."""
    extras = {"msh": {"kind": "object", "object_kind": 2, "path": key}}
    copied(f, lambda extras: "point" not in extras, name="asset", extras=extras)
    if edited:
        f.node(key, 7, -1)["translation"] = [9.0, 9.0, 9.0]


def foreign(f: Inside) -> None:
    """Its nodes are no objects by themselves; an empty around objects is not new."""
    scene = f.file.json["scenes"][0]["nodes"]
    house = {"name": "house", "children": [len(f.nodes) + 1, len(f.nodes) + 2]}
    f.nodes += [house, {"name": "wall", "mesh": 0}, {"name": "roof", "mesh": 0}]
    scene.append(len(f.nodes) - 3)
    stands = f.nodes.index(f.places("S_ROCK")[0])
    scene[scene.index(stands)] = len(f.nodes)
    f.nodes.append({"name": "group", "children": [stands, len(f.nodes) + 1]})
    f.nodes.append({"name": "cube", "mesh": 0})


def no_animation(f: Inside, key: int) -> None:
    """Also where the file shows another frame: Blender's *Use Current Frame*."""
    for clip in f.file.json.pop("animations"):
        for channel in clip["channels"] if key else ():
            values = f.file.arrays[clip["samplers"][channel["sampler"]]["output"]]
            target = channel["target"]
            f.nodes[target["node"]][target["path"]] = values[min(key, len(values) - 1)].tolist()


def held(f: Inside) -> None:
    """As Blender exports the clips of several models, which are one animation: held to the end of another."""
    for sampler in f.file.json["animations"][0]["samplers"]:
        times, values = (f.file.arrays[sampler[key]] for key in ("input", "output"))
        kept = [0] if (values == values[0]).all() else slice(None)  # of constant ones it keeps two
        sampler["input"] = f.file.add(np.append(times[kept], np.float32([[3.0]]), axis=0))
        sampler["output"] = f.file.add(np.append(values[kept], values[-1:], axis=0))


def stepped(f: Inside) -> None:
    for sampler in f.file.json["animations"][0]["samplers"]:
        sampler["interpolation"] = "STEP"


def unit_edited(f: Inside) -> None:
    shift(f, f.node("e_gun_1", 1), "POSITION", 1)
    f.remove(f.node(ROOM, 11))


#: Of a model, or of the terrain.
EDITS: dict[str, Callable[[Inside], object]] = {
    "positions": lambda f: shift(f, rock(f), "POSITION", 1),
    "texture": lambda f: shift(f, rock(f), "TEXCOORD_0", 0.1),
    "lightmap": lambda f: shift(f, f.node(LIT, 0), "TEXCOORD_1", 0.01),
    "normals": normals,
    "colours": colours,
    "material": lambda f: paint(f, rock(f)),
    "no material": lambda f: f.primitive(rock(f)).pop("material"),
    "renamed material": renamed_material,
    "faces": less,
    "moved": lambda f: rock(f, 7).update(translation=[9, 9, 9]),
    "still moved": lambda f: f.node(LIT, 3).update(translation=[9, 9, 9]),
    "still turned": lambda f: f.node(LIT, 3).update(rotation=[0, 1, 0, 0]),
    "scaled": lambda f: f.node(LIT, 3).update(scale=[2, 2, 2]),
    "renamed": lambda f: rock(f).update(name="new"),
    "deleted": lambda f: f.remove(rock(f, 7)),
    "copied": lambda f: f.copy(rock(f, 3), f.above(rock(f, 3))),
    "reparented": lambda f: f.move(rock(f, 3), rock(f, 1)),
    "added": lambda f: f.add({"name": "cube", "mesh": 0}, rock(f)),
    "an empty": lambda f: f.add({"name": "dot"}, rock(f)),
    "flags": lambda f: f.extras(rock(f)).update(flags=77),
    "label": lambda f: f.extras(rock(f)).update(label="x"),
    "triangle flags": lambda f: f.extras(rock(f)).update(tri_flags=9),
    "batch flags": lambda f: f.extras(f.file.json["materials"][f.primitive(rock(f))["material"]]).update(batch_flags=9),
    "in one place": in_one,
    "all deleted": lambda f: f.places("e_gun_1")[0].update(children=[]),
    "point moved": lambda f: f.point("S_ROCK").update(translation=[7, 7, 7]),
    "point turned": lambda f: f.point("S_ROCK").update(rotation=[1, 0, 0, 0]),
    "point renamed": lambda f: f.point("S_ROCK").update(name="eye"),
    "point flags": lambda f: f.extras(f.point("S_ROCK")).update(flags=4),
    "point deleted": lambda f: f.remove(f.point("S_ROCK")),
    "key": keys,
    "fewer keys": fewer_keys,
    "slower": slower,
    "channels deleted": stopped,
    "a second clip": second_clip,
    "a still node animated": lambda f: animated(f, f.node(LIT, 3)),
    "an object animated": lambda f: animated(f, f.places("S_ROCK")[1]),
    "scale animated": lambda f: animated(f, f.node(LIT, 3), "scale"),
    "ground painted": paint_ground,
    "ground without material": lambda f: f.primitive(ground(f)).pop("material"),
    "ground moved": lambda f: ground(f).update(translation=[1.0, 0.0, 0.0]),
    "ground deleted": lambda f: f.file.take_out(f.nodes.index(ground(f))),
    "ground heights": lambda f: shift(f, ground(f), "POSITION", 0.5),
    "ground micro": lambda f: shift(f, ground(f), "TEXCOORD_1", 0.3),
    "ground blend": lambda f: shift(f, ground(f), "_MSH_BLEND", 0.5),
    "ground normals": lambda f: f.values(ground(f), "NORMAL").__setitem__(slice(None), [1, 0, 0]),
    "ground repainted": lambda f: paint(f, ground(f)),
    "ground rows": other_ground,
    "ground renamed": lambda f: ground(f).update(name="hill"),
}


def stands_nowhere() -> GameParts:
    """Another part of the same object shows the same model."""
    parts = GameParts()
    parts.units[ROBOT] = [("u_robot", 0, -1, 3), *parts.units[ROBOT][1:], ("e_gun_1", 4, 99, 0)]
    return parts


#: A unit of other components than the robot has.
OTHER = ROBOT.replace("robot", "other")


def with_another_unit() -> GameParts:
    parts = GameParts()
    parts.units[OTHER] = [("u_robot", 0, -1, 1), ("e_gun_1", 1, SOCKET, 0)]
    robot = next(one for one in parts.placed if one["path"] == ROBOT)
    parts.placed.append({**robot, "path": OTHER, "name": "Other", "id": 900})
    return parts


def another_unit(f: Inside) -> None:
    """The file still shows the old one."""
    f.extras(next(node for node in f.nodes if f.extras(node).get("path") == ROBOT))["path"] = OTHER


BOTH: dict[str, Callable[[Inside], object]] = {
    "no animation": lambda f: no_animation(f, 0),
    "no animation, another frame": lambda f: no_animation(f, 3),
    "clips held": held,
    "clips of steps": stepped,
}
#: The rock is placed twice as scenery, and it is the gun of two robots.
CASES = {
    "places edited alike": Placed(lambda f: each_rock(f, (9, 9, 9), (9, 9, 9)), "clips"),
    "places edited otherwise": Placed(lambda f: each_rock(f, (9, 9, 9), (9, 9, 10)), "clips"),
    "a shared mesh": Placed(lambda f: shift(f, rock(f), "POSITION", 1), "clips"),
    "a shared mesh and a node": Placed(mesh_and_node, "clips"),
    "a shared mesh and a node elsewhere": Placed(lambda f: mesh_and_node(f, 1), "clips"),
    "new in both places, gone in one": Placed(new_in_both_gone_in_one, "clips"),
    "gone in one place": Placed(lambda f: f.remove(rock(f, 7, place=1)), "clips"),
    "a copy lacks a node": Placed(lambda f: copied(f, lambda extras: extras.get("node") != 7), "clips"),
    "a copy lacks nodes": Placed(lambda f: copied(f, lambda extras: extras.get("node") == 0), "clips"),
    **{
        f"an asset {key}{', edited' * edited}": Placed(lambda f, k=key, e=edited: asset(f, k, e), name)
        for name, key in {"mission": "s_spare", "clips": "S_ROCK"}.items()
        for edited in (False, True)
    },
    "a foreign model": Placed(foreign),
    "a clip where none is": Placed(lambda f: animated(f, rock(f, 2))),
    "a unit": Placed(unit_edited, "robot"),
    **{name: Placed(edit, "clips") for name, edit in EDITS.items()},
    **{f"turned, {file}": Placed(lambda f: z_up(f.file), file) for file in ("mission", "robot")},
    **{f"{name}, {file}": Placed(edit, file) for name, edit in BOTH.items() for file in ("clips", "robot")},
    **{
        f"{layout}, {file}": Placed(lambda f, layout=layout: HARMLESS[layout](f.file), file)
        for layout in HARMLESS
        if layout != "no extras"
        for file in ("clips", "mission", "robot")
    },
    **{
        f"a part that stands nowhere, {file}": Placed(lambda f: None, file, parts=stands_nowhere)
        for file in ("clips", "robot")
    },
    "another unit in the place of one": Placed(another_unit, parts=with_another_unit),
}
