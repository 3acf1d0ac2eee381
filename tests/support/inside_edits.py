"""Edits of models and of the terrain inside the glTF of a mission."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.inside_game import Inside

ROCK, ROOM, LIT, PAINTED = "s_rock", "u_robot", "s_lit", "s_painted"
Edit = Callable[[Inside], Any]


def rock(file: Inside, number: int = 1, place: int = 0) -> Any:
    """A node of a rock of the mission, which is called by its key."""
    return file.node("S_ROCK", number, place)


def shift(file: Inside, node: Any, name: str, by: float) -> None:
    file.values(node, name)[:] += np.float32(by)


def _normals(file: Inside) -> None:
    values = file.values(rock(file), "NORMAL")
    values[:] = np.roll(values, 1, axis=1)


def _colours(file: Inside) -> None:
    values = file.values(file.node(PAINTED, 1), "COLOR_0")
    values[:, :3] = values[:, :3] // 2 + 3


def _material(file: Inside) -> None:
    primitive = file.primitive(rock(file))
    primitive["material"] = (primitive["material"] + 1) % len(file.file.json["materials"])


def _renamed_material(file: Inside) -> None:
    number = file.primitive(rock(file))["material"]
    file.file.json["materials"][number]["name"] = "new"


def _less(file: Inside) -> None:
    primitive = file.primitive(rock(file))
    primitive["indices"] = file.file.add(file.file.arrays[primitive["indices"]][:-3])


def _rename(node: Any, name: str) -> None:
    node["name"] = name


def _in_one(file: Inside) -> None:
    """A mesh of its own in one place, as *Make Single User* makes it."""
    node, meshes = rock(file), file.file.json["meshes"]
    mesh = copy.deepcopy(meshes[node["mesh"]])
    attributes = mesh["primitives"][0]["attributes"]
    attributes["POSITION"] = file.file.add(file.file.arrays[attributes["POSITION"]] + 1)
    meshes.append(mesh)
    node["mesh"] = len(meshes) - 1


def _copy(file: Inside) -> None:
    node = rock(file, 3)
    made = {key: value for key, value in copy.deepcopy(node).items() if key != "children"}
    file.add({**made, "name": f"{node['name']}.001"}, file.above(node))


def _clip(file: Inside) -> dict[str, Any]:
    found: dict[str, Any] = file.file.json["animations"][0]
    return found


def _channels(file: Inside, node: Any) -> list[dict[str, Any]]:
    number = file.nodes.index(node)
    return [one for one in _clip(file)["channels"] if one["target"]["node"] == number]


def _sampler(file: Inside, path: str = "rotation") -> dict[str, Any]:
    node = rock(file, 2)
    channel = next(one for one in _channels(file, node) if one["target"]["path"] == path)
    sampler: dict[str, Any] = _clip(file)["samplers"][channel["sampler"]]
    return sampler


def _keys(file: Inside) -> None:
    output = file.file.arrays[_sampler(file, "translation")["output"]]
    output[5] += 1


def _fewer_keys(file: Inside) -> None:
    sampler = _sampler(file)
    for name in ("input", "output"):
        sampler[name] = file.file.add(file.file.arrays[sampler[name]][:10])


def _slower(file: Inside) -> None:
    for sampler in _clip(file)["samplers"]:
        sampler["input"] = file.file.add(file.file.arrays[sampler["input"]] * np.float32(1.3))


def _stopped(file: Inside) -> None:
    stopped = _channels(file, rock(file, 2))
    _clip(file)["channels"] = [one for one in _clip(file)["channels"] if one not in stopped]


def animated(file: Inside, node: Any, path: str = "translation") -> None:
    times = file.file.add(np.array([[0.0], [1.0]], np.float32))
    values = file.file.add(np.array([[1, 1, 1], [1, 2, 3]], np.float32))
    clip = file.file.json.setdefault("animations", [{"name": "x", "channels": [], "samplers": []}])
    clip[0]["samplers"].append({"input": times, "output": values})
    target = {"node": file.nodes.index(node), "path": path}
    clip[0]["channels"].append({"sampler": len(clip[0]["samplers"]) - 1, "target": target})


def _second_clip(file: Inside) -> None:
    sampler, node = _sampler(file, "translation"), rock(file, 2)
    values = file.file.add(file.file.arrays[sampler["output"]] + 5)
    target = {"node": file.nodes.index(node), "path": "translation"}
    file.file.json["animations"].append(
        {"name": "second", "channels": [{"sampler": 0, "target": target}], "samplers": [{**sampler, "output": values}]}
    )


def _ground(file: Inside) -> Any:
    return next(node for node in file.nodes if node["name"] == "terrain")


def _move_ground(file: Inside) -> None:
    _ground(file)["translation"] = [1.0, 0.0, 0.0]


def _delete_ground(file: Inside) -> None:
    scene, number = file.file.json["scenes"][0], file.nodes.index(_ground(file))
    scene["nodes"].remove(number)


def _repaint_ground(file: Inside) -> None:
    file.primitive(_ground(file))["material"] += 1


def _paint_ground(file: Inside) -> None:
    primitive = file.primitive(_ground(file))
    count = len(file.file.arrays[primitive["attributes"]["POSITION"]])
    primitive["attributes"]["COLOR_0"] = file.file.add(np.tile(np.float32([1, 0, 0, 1]), (count, 1)))


def _other_ground(file: Inside) -> None:
    material = file.file.json["materials"][file.primitive(_ground(file))["material"]]
    material["extras"]["msh"]["first"] += 1


def _set(node: Any, **values: object) -> None:
    node["extras"]["msh"].update(values)


#: What comes of each stands in ``kinds/inside.txt``.
EDITS: dict[str, Edit] = {
    "positions": lambda f: shift(f, rock(f), "POSITION", 1),
    "texture": lambda f: shift(f, rock(f), "TEXCOORD_0", 0.1),
    "lightmap": lambda f: shift(f, f.node(LIT, 0), "TEXCOORD_1", 0.01),
    "normals": _normals,
    "colours": _colours,
    "material": _material,
    "no material": lambda f: f.primitive(rock(f)).pop("material"),
    "renamed material": _renamed_material,
    "faces": _less,
    "moved": lambda f: rock(f, 7).update(translation=[9, 9, 9]),
    "still moved": lambda f: f.node(LIT, 3).update(translation=[9, 9, 9]),
    "still turned": lambda f: f.node(LIT, 3).update(rotation=[0, 1, 0, 0]),
    "scaled": lambda f: f.node(LIT, 3).update(scale=[2, 2, 2]),
    "renamed": lambda f: _rename(rock(f), "new"),
    "deleted": lambda f: f.remove(rock(f, 7)),
    "copied": _copy,
    "reparented": lambda f: f.move(rock(f, 3), rock(f, 1)),
    "added": lambda f: f.add({"name": "cube", "mesh": 0}, rock(f)),
    "an empty": lambda f: f.add({"name": "dot"}, rock(f)),
    "flags": lambda f: _set(rock(f), flags=77),
    "label": lambda f: _set(rock(f), label="x"),
    "triangle flags": lambda f: _set(rock(f), tri_flags=9),
    "batch flags": lambda f: _set(f.file.json["materials"][f.primitive(rock(f))["material"]], batch_flags=9),
    "in one place": _in_one,
    "all deleted": lambda f: f.places("e_gun_1")[0].update(children=[]),
    "point moved": lambda f: f.point("S_ROCK").update(translation=[7, 7, 7]),
    "point turned": lambda f: f.point("S_ROCK").update(rotation=[1, 0, 0, 0]),
    "point renamed": lambda f: _rename(f.point("S_ROCK"), "eye"),
    "point flags": lambda f: _set(f.point("S_ROCK"), flags=4),
    "point deleted": lambda f: f.remove(f.point("S_ROCK")),
    "key": _keys,
    "fewer keys": _fewer_keys,
    "slower": _slower,
    "channels deleted": _stopped,
    "a second clip": _second_clip,
    "a still node animated": lambda f: animated(f, f.node(LIT, 3)),
    "an object animated": lambda f: animated(f, f.places("S_ROCK")[1]),
    "scale animated": lambda f: animated(f, f.node(LIT, 3), "scale"),
    "ground painted": _paint_ground,
    "ground without material": lambda f: f.primitive(_ground(f)).pop("material"),
    "ground moved": _move_ground,
    "ground deleted": _delete_ground,
    "ground heights": lambda f: shift(f, _ground(f), "POSITION", 0.5),
    "ground micro": lambda f: shift(f, _ground(f), "TEXCOORD_1", 0.3),
    "ground blend": lambda f: shift(f, _ground(f), "_MSH_BLEND", 0.5),
    "ground normals": lambda f: f.values(_ground(f), "NORMAL").__setitem__(slice(None), [1, 0, 0]),
    "ground repainted": _repaint_ground,
    "ground rows": _other_ground,
    "ground renamed": lambda f: _rename(_ground(f), "hill"),
}
