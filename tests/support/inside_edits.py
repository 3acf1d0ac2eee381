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


#: An edit, where it is reported, and what the report says.
EDITS: dict[str, tuple[Edit, str, str]] = {
    "positions": (lambda f: shift(f, rock(f), "POSITION", 1), "rock.msh", "Base_m1o2"),
    "texture": (lambda f: shift(f, rock(f), "TEXCOORD_0", 0.1), "rock.msh", "texture coordinates"),
    "lightmap": (lambda f: shift(f, f.node(LIT, 0), "TEXCOORD_1", 0.01), "s_lit.msh", "coordinates changed"),
    "normals": (_normals, "rock.msh", "normals changed"),
    "colours": (_colours, "s_painted.msh", "colours changed"),
    "material": (_material, "rock.msh", "materials changed"),
    "no material": (lambda f: f.primitive(rock(f)).pop("material"), "part ", "without a material"),
    "renamed material": (_renamed_material, "rock.msh", "is not one of the model's"),
    "faces": (_less, "rock.msh", "8 triangles became 7"),
    "moved": (lambda f: rock(f, 7).update(translation=[9, 9, 9]), "rock.msh", "translation"),
    "still moved": (lambda f: f.node(LIT, 3).update(translation=[9, 9, 9]), "s_lit.msh", "translation changed"),
    "still turned": (lambda f: f.node(LIT, 3).update(rotation=[0, 1, 0, 0]), "s_lit.msh", "rotation changed"),
    "scaled": (lambda f: f.node(LIT, 3).update(scale=[2, 2, 2]), "s_lit.msh", "scaled"),
    "renamed": (lambda f: _rename(rock(f), "new"), "rock.msh", "renamed to 'new'"),
    "deleted": (lambda f: f.remove(rock(f, 7)), "rock.msh", "node 'CP_7' is missing"),
    "copied": (_copy, "rock.msh", "node 'foot_m3o2#3.001' is new"),
    "reparented": (lambda f: f.move(rock(f, 3), rock(f, 1)), "rock.msh", "moved under 'Base_m1o2'"),
    "added": (
        lambda f: f.add({"name": "cube", "mesh": 0}, rock(f)),
        "rock.msh",
        "node 'cube', part 'cube' stage 0 level 0 is new",
    ),
    "an empty": (lambda f: f.add({"name": "dot"}, rock(f)), "rock.msh", "'dot' is new"),
    "flags": (lambda f: _set(rock(f), flags=77), "rock.msh", "flags"),
    "label": (lambda f: _set(rock(f), label="x"), "rock.msh", "label"),
    "triangle flags": (lambda f: _set(rock(f), tri_flags=9), "rock.msh", "flags changed"),
    "batch flags": (
        lambda f: _set(f.file.json["materials"][f.primitive(rock(f))["material"]], batch_flags=9),
        "rock.msh",
        "materials changed",
    ),
    "in one place": (_in_one, "model 'rock.msh' in node 'S_ROCK'", "coordinates changed on 8 of 8"),
    "all deleted": (lambda f: f.places("e_gun_1")[0].update(children=[]), "node 'e_gun_1'", "lacks all nodes"),
    "point moved": (
        lambda f: f.point("S_ROCK").update(translation=[7, 7, 7]),
        "rock.msh",
        "control point 'aim.point' moved",
    ),
    "point turned": (lambda f: f.point("S_ROCK").update(rotation=[1, 0, 0, 0]), "rock.msh", "turned or lengthened"),
    "point renamed": (lambda f: _rename(f.point("S_ROCK"), "eye"), "rock.msh", "renamed to 'eye'"),
    "point flags": (lambda f: _set(f.point("S_ROCK"), flags=4), "rock.msh", "flags 0x0 became"),
    "point deleted": (lambda f: f.remove(f.point("S_ROCK")), "rock.msh", "all 1 are missing"),
    "key": (_keys, "rock.msh", "translation changed at frame 5"),
    "fewer keys": (_fewer_keys, "rock.msh", "rotation changed"),
    "slower": (_slower, "rock.msh", "frames, had 26"),
    "channels deleted": (_stopped, "rock.msh", "node 'foot_m2o3' "),
    "a second clip": (_second_clip, "rock.msh", "moves node 'foot_m2o3' too"),
    "a still node animated": (lambda f: animated(f, f.node(LIT, 3)), "s_lit.msh", "translation changed"),
    "an object animated": (lambda f: animated(f, f.places("S_ROCK")[1]), "object 'S_ROCK#2'", "is animated"),
    "scale animated": (lambda f: animated(f, f.node(LIT, 3), "scale"), "node '", "has animated scale"),
    "ground painted": (_paint_ground, "vertex colours", "are in the file"),
    "ground without material": (
        lambda f: f.primitive(_ground(f)).pop("material"),
        "part 'terrain'",
        "without a material",
    ),
    "ground moved": (_move_ground, "terrain", "is moved"),
    "ground deleted": (_delete_ground, "terrain", "is missing"),
    "ground heights": (lambda f: shift(f, _ground(f), "POSITION", 0.5), "terrain", "crosses its square's border"),
    "ground micro": (lambda f: shift(f, _ground(f), "TEXCOORD_1", 0.3), "terrain", "fine level"),
    "ground blend": (lambda f: shift(f, _ground(f), "_MSH_BLEND", 0.5), "terrain", "blend"),
    "ground normals": (
        lambda f: f.values(_ground(f), "NORMAL").__setitem__(slice(None), [1, 0, 0]),
        "terrain",
        "normals changed",
    ),
    "ground repainted": (_repaint_ground, "terrain", "materials changed"),
    "ground rows": (_other_ground, "terrain", "materials changed"),
    "ground renamed": (lambda f: _rename(_ground(f), "hill"), "terrain", "renamed to 'hill'"),
}
