"""Models and terrain that are edited inside of a mission: every edit is reported."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from tests.support.assembled_game import ROBOT, SOCKET, GameParts
from tests.support.gltf_edit import HARMLESS
from tests.support.inside_game import Inside, convert, make, robot_of

ROCK, ROOM, LIT, PAINTED = "s_rock", "u_robot", "s_lit", "s_painted"
Edit = Callable[[Inside], Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mission and a unit as glTF, with clips."""
    folder = tmp_path_factory.mktemp("inside")
    mission = make(folder / "GAME")
    convert(mission, folder / "mission.glb", clips=True)
    convert(mission, folder / "still.glb")
    convert(robot_of(mission), folder / "robot.glb")
    return folder


def opened(made: Path, folder: Path, name: str = "mission") -> Inside:
    for ending in (".glb", ".msh-sidecar"):
        shutil.copy(made / f"{name}{ending}", folder)
    return Inside(folder / f"{name}.glb")


def rock(file: Inside, number: int = 1, place: int = 0) -> Any:
    """A node of a rock of the mission, which is called by its key."""
    return file.node("S_ROCK", number, place)


def _shift(file: Inside, node: Any, name: str, by: float) -> None:
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


def _animated(file: Inside, node: Any, path: str = "translation") -> None:
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


def _other_ground(file: Inside) -> None:
    material = file.file.json["materials"][file.primitive(_ground(file))["material"]]
    material["extras"]["msh"]["first"] += 1


def _set(node: Any, **values: object) -> None:
    node["extras"]["msh"].update(values)


#: An edit, where it is reported, and what the report says.
EDITS: dict[str, tuple[Edit, str, str]] = {
    "positions": (lambda f: _shift(f, rock(f), "POSITION", 1), "rock.msh", "Base_m1o2"),
    "texture": (lambda f: _shift(f, rock(f), "TEXCOORD_0", 0.1), "rock.msh", "texture coordinates"),
    "lightmap": (lambda f: _shift(f, f.node(LIT, 0), "TEXCOORD_1", 0.01), "s_lit.msh", "coordinates changed"),
    "normals": (_normals, "rock.msh", "normals changed"),
    "colours": (_colours, "s_painted.msh", "colours changed"),
    "material": (_material, "rock.msh", "materials changed"),
    "no material": (lambda f: f.primitive(rock(f)).pop("material"), "rock.msh", "without a material"),
    "renamed material": (_renamed_material, "rock.msh", "materials changed"),
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
        "node 'cube', part 'cube' lod 0 group 0 is new",
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
    "point deleted": (lambda f: f.remove(f.point("S_ROCK")), "rock.msh", "'aim.point' is missing"),
    "key": (_keys, "rock.msh", "translation changed at frame 5"),
    "fewer keys": (_fewer_keys, "rock.msh", "rotation changed"),
    "slower": (_slower, "rock.msh", "frames, had 26"),
    "channels deleted": (_stopped, "rock.msh", "node 'foot_m2o3' "),
    "a second clip": (_second_clip, "rock.msh", "moves node 'foot_m2o3' too"),
    "a still node animated": (lambda f: _animated(f, f.node(LIT, 3)), "s_lit.msh", "translation changed"),
    "an object animated": (lambda f: _animated(f, f.places("S_ROCK")[1]), "node 'S_ROCK#2'", "is animated"),
    "scale animated": (lambda f: _animated(f, f.node(LIT, 3), "scale"), "node '", "has animated scale"),
    "ground without material": (lambda f: f.primitive(_ground(f)).pop("material"), "terrain", "without a material"),
    "ground moved": (_move_ground, "terrain", "is moved"),
    "ground deleted": (_delete_ground, "terrain", "is missing"),
    "ground heights": (lambda f: _shift(f, _ground(f), "POSITION", 0.5), "terrain", "fine level"),
    "ground micro": (lambda f: _shift(f, _ground(f), "TEXCOORD_1", 0.3), "terrain", "fine level"),
    "ground blend": (lambda f: _shift(f, _ground(f), "_MSH_BLEND", 0.5), "terrain", "blend"),
    "ground normals": (
        lambda f: f.values(_ground(f), "NORMAL").__setitem__(slice(None), [1, 0, 0]),
        "terrain",
        "normals changed",
    ),
    "ground repainted": (_repaint_ground, "terrain", "materials changed"),
    "ground rows": (_other_ground, "terrain", "materials changed"),
    "ground renamed": (lambda f: _rename(_ground(f), "hill"), "terrain", "renamed to 'hill'"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_what_is_placed_is_reported(made: Path, tmp_path: Path, name: str) -> None:
    edit, where, what = EDITS[name]
    file = opened(made, tmp_path)
    edit(file)
    out = file.back()
    assert out.kept_all
    found = [one for one in out.not_applied if where in one.where and what in one.what]
    assert found, [str(one) for one in out.not_applied]
    assert not out.unchanged
    others = [one for one in out.not_applied if where.split("'")[0] not in one.where]
    assert {one.where for one in others} <= {"model 's_lit.msh'", "model 'rock.msh'"}, others


@pytest.mark.parametrize("name", ["mission", "still", "robot"])
@pytest.mark.parametrize("layout", [name for name in HARMLESS if name != "no extras"])
def test_another_layout_is_no_edit(made: Path, tmp_path: Path, name: str, layout: str) -> None:
    file = opened(made, tmp_path, name)
    HARMLESS[layout](file.file)
    out = file.back()
    assert [str(one) for one in out.not_applied] == []
    assert out.unchanged


def test_a_part_that_stands_nowhere_shows_nothing(tmp_path: Path) -> None:
    """Its object has a model, which another part of the same object shows."""
    parts = GameParts()
    parts.units[ROBOT].append(("e_gun_1", 4, 99, 0))
    parts.units[ROBOT][0] = ("u_robot", 0, -1, 3)
    mission = parts.write(tmp_path / "GAME")
    for name, source in (("mission", mission), ("robot", robot_of(mission))):
        convert(source, tmp_path / f"{name}.glb")
        out = Inside(tmp_path / f"{name}.glb").back()
        assert [str(one) for one in out.not_applied] == []
        assert out.unchanged


def test_another_unit_in_the_place_of_one(tmp_path: Path) -> None:
    """The file still shows the old one, with other components than the new one has."""
    parts = GameParts()
    other = ROBOT.replace("robot", "other")
    parts.units[other] = [("u_robot", 0, -1, 1), ("e_gun_1", 1, SOCKET, 0)]
    robot = next(one for one in parts.placed if one["path"] == ROBOT)
    parts.placed.append({**robot, "path": other, "name": "Other", "id": 900})
    convert(parts.write(tmp_path / "GAME"), tmp_path / "mission.glb")
    file = Inside(tmp_path / "mission.glb")
    nodes = [n for n in file.nodes if file.extras(n).get("path") == ROBOT]
    file.extras(nodes[0])["path"] = other
    out = file.back()
    assert [str(one) for one in out.not_applied] == []
    assert len(out.changes) == 1


def test_an_edit_of_a_shared_mesh_is_reported_once(made: Path, tmp_path: Path) -> None:
    """The rock is placed twice as scenery, and it is the gun of two robots."""
    file = opened(made, tmp_path)
    _shift(file, rock(file), "POSITION", 1)
    (one,) = file.back().not_applied
    assert one.where == "model 'rock.msh'"
    assert one.instead == "convert that file by itself and edit it there"


def test_a_node_that_is_deleted_in_one_object_names_the_object(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path)
    file.remove(rock(file, 7, place=1))
    (one,) = file.back().not_applied
    assert (one.where, one.what) == ("model 'rock.msh' in node 'S_ROCK#2'", "node 'CP_7' is missing")


def test_a_component_that_is_deleted_in_one_object_is_reported(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path)
    file.remove(file.places("e_gun_1")[1])
    (one,) = file.back().not_applied
    assert (one.where, one.what) == ("node 'Guard'", "has other components than its unit")


def test_a_copy_is_compared_too(made: Path, tmp_path: Path) -> None:
    """A new object is the model of its file, whatever was done to the copy."""
    file = opened(made, tmp_path)
    stored = file.places("S_ROCK")[1]
    made_copy = copy.deepcopy({k: v for k, v in stored.items() if k != "children"})
    made_copy |= {"name": "S_ROCK.001", "translation": [150.0, 7.0, -150.0]}
    file.file.json["scenes"][0]["nodes"].append(len(file.nodes))
    file.nodes.append(made_copy)
    below = copy.deepcopy(file.node("S_ROCK", 0, place=1))
    below.pop("children")
    file.add(below, made_copy)
    out = file.back()
    assert [str(change) for change in out.changes] == ["object 'S_ROCK.001': is new, S_ROCK"]
    assert {one.where for one in out.not_applied} == {"model 'rock.msh' in node 'S_ROCK.001'"}
    assert "is missing" in str(out.not_applied)


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize(("name", "key"), [("still", "s_spare"), ("mission", "S_ROCK")])
def test_an_asset_that_was_added_is_compared(made: Path, tmp_path: Path, name: str, key: str, edited: bool) -> None:
    """Of the one model the sidecar knows nothing; an asset has neither clips nor points."""
    shutil.copytree(made / "GAME", tmp_path / "GAME")
    file = opened(made, tmp_path / "GAME", name)
    top = copy.deepcopy(file.places("S_ROCK")[1])
    top |= {"name": "asset", "translation": [150.0, 7.0, -150.0]}
    top["extras"] = {"msh": {"kind": "object", "object_kind": 2, "path": key}}
    waiting = [top]
    while waiting:  # its nodes are copies, too
        node = waiting.pop()
        below = [copy.deepcopy(file.nodes[child]) for child in node.pop("children", [])]
        below = [one for one in below if "point" not in file.extras(one)]
        waiting += [file.add(one, node) for one in below]
    file.file.json["scenes"][0]["nodes"].append(len(file.nodes))
    file.nodes.append(top)
    if edited:
        file.node(key, 7, -1)["translation"] = [9.0, 9.0, 9.0]
    out = file.back()
    assert [change.where for change in out.changes] == ["object 'asset'"]
    expected = ["model 'rock.msh' in node 'asset'"] if edited else []
    assert [one.where for one in out.not_applied] == expected


def test_of_a_foreign_model_the_top_is_reported(made: Path, tmp_path: Path) -> None:
    """Its nodes are no objects by themselves; an empty around objects is not new."""
    file = opened(made, tmp_path, "still")
    scene = file.file.json["scenes"][0]["nodes"]
    house = {"name": "house", "children": [len(file.nodes) + 1, len(file.nodes) + 2]}
    file.nodes += [house, {"name": "wall", "mesh": 0}, {"name": "roof", "mesh": 0}]
    scene.append(len(file.nodes) - 3)
    rock = file.nodes.index(file.places("S_ROCK")[0])
    scene[scene.index(rock)] = len(file.nodes)
    file.nodes.append({"name": "group", "children": [rock, len(file.nodes) + 1]})
    file.nodes.append({"name": "cube", "mesh": 0})
    out = file.back()
    assert [one.where for one in out.not_applied] == ["node 'house'", "node 'cube'"]
    assert out.kept_all


def test_without_animation_a_warning_says_that_clips_are_not_compared(made: Path, tmp_path: Path) -> None:
    for name in ("mission", "robot"):
        file = opened(made, tmp_path, name)
        del file.file.json["animations"]
        out = file.back()
        assert out.unchanged
        assert "clips of its models are not compared" in str(out.warnings)


@pytest.mark.parametrize("name", ["mission", "robot"])
def test_a_clip_that_is_held_to_the_end_of_another_is_no_edit(made: Path, tmp_path: Path, name: str) -> None:
    """As Blender exports the clips of several models, which are one animation."""
    file = opened(made, tmp_path, name)
    for sampler in file.file.json["animations"][0]["samplers"]:
        times, values = (file.file.arrays[sampler[key]] for key in ("input", "output"))
        kept = [0] if (values == values[0]).all() else slice(None)  # of constant ones it keeps two
        sampler["input"] = file.file.add(np.append(times[kept], np.float32([[3.0]]), axis=0))
        sampler["output"] = file.file.add(np.append(values[kept], values[-1:], axis=0))
    out = file.back()
    assert [str(one) for one in out.not_applied] == []


def test_a_clip_in_a_mission_without_clips_is_reported(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path, "still")
    _animated(file, rock(file, 2))
    (one,) = file.back().not_applied
    assert "translation changed at frame" in one.what


def test_an_edit_inside_a_unit_is_reported(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path, "robot")
    _shift(file, file.node("e_gun_1", 1), "POSITION", 1)
    file.remove(file.node(ROOM, 11))
    out = file.back()
    assert {one.where for one in out.not_applied} == {"model 'rock.msh'", "model 'room.msh'"}
    assert out.kept_all


@pytest.mark.parametrize("name", ["still", "robot"])
def test_a_file_that_is_turned_is_refused(made: Path, tmp_path: Path, name: str) -> None:
    """As Blender exports it without +Y Up: every vertex and every place is another."""
    file = opened(made, tmp_path, name)
    for node in file.nodes:
        if "translation" in node:
            x, y, z = node["translation"]
            node["translation"] = [x, -z, y]
    for primitive in file.file.primitives():
        for part in ("POSITION", "NORMAL"):
            if part in primitive["attributes"]:
                number = primitive["attributes"][part]
                x, y, z = file.file.arrays[number].T
                file.file.arrays[number] = np.stack([x, -z, y], axis=1)
        primitive["attributes"] = {**primitive["attributes"]}
    with pytest.raises(ConversionError, match="turned by 90 degrees") as caught:
        file.back()
    assert "+Y Up" in str(caught.value.hint)


def test_a_hidden_object_stays_and_is_reported(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path, "still")
    file.places("S_ROCK")[0]["extensions"] = {"KHR_node_visibility": {"visible": False}}
    file.file.json["extensionsUsed"] = ["KHR_node_visibility"]
    out = file.back()
    assert out.kept_all
    (one,) = out.not_applied
    assert one.what == "are hidden"
    assert one.where.startswith("node 'S_ROCK'")
