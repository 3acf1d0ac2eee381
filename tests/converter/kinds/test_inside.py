"""Models and terrain that are edited inside of a mission: carried into their own files, or reported."""

import copy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.storage import write_outputs
from tests.support.assembled_game import ROBOT, SOCKET, GameParts
from tests.support.gltf_edit import HARMLESS
from tests.support.inside_edits import EDITS, ROOM, animated, rock, shift
from tests.support.inside_game import Inside, convert, make, robot_of


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


#: Edits that a model, or its level, cannot hold: they are named.
NAMED = {
    "no material",
    "renamed material",
    "all deleted",
    "point deleted",
    "a second clip",
    "an object animated",
    "scale animated",
    "ground without material",
    "ground moved",
    "ground painted",
    "ground deleted",
    "ground heights",
    "ground blend",
    "ground renamed",
}
#: Edits that show the same in a file of the model alone: no materials of other models, no numbers of
#: repeated names, no parts that a mission does not show.
ALONE = [
    name
    for name in EDITS
    if name not in NAMED
    and "ground" not in name
    and name not in ("material", "in one place", "added", "copied", "scaled")
]


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_what_is_placed_is_carried_or_named(made: Path, tmp_path: Path, name: str) -> None:
    edit, where, what = EDITS[name]
    file = opened(made, tmp_path)
    edit(file)
    out = file.back()
    assert out.kept_all
    assert not out.unchanged
    told = [*(one.line for one in out.not_applied)] if name in NAMED else [*map(str, out.changes)]
    text, where = "\n".join(told).replace(": ", " "), where.split(" in ")[0]
    assert where in text, text
    assert all(words in text for words in what.split(", ")), text
    assert "no line of this report" not in "\n".join(one.line for one in out.not_applied)
    own = {"terrain": "Land.msh"}.get(where, where.strip("model '"))
    assert [placed.result.name for placed in out.placed] == ([] if name in NAMED else [own])


@pytest.mark.parametrize("name", ["ground micro", "ground normals", "ground repainted"])
def test_an_edit_of_the_level_that_is_ignored_is_named(
    made: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("msh_gltf.converter.kinds.import_missions._Import.import_ground", lambda *_: None)
    file = opened(made, tmp_path)
    EDITS[name][0](file)
    lines = [one.line for one in file.back().not_applied]
    assert lines
    assert all("part 'terrain'" in line and "no line of this report" in line for line in lines)


class Alone(Inside):
    """The glTF of a model alone, edited by what edits it inside a mission."""

    def _below(self, key: str, place: int, name: str, number: int) -> Any:
        return next(node for node in self.nodes if self.extras(node).get(name) == number)


@pytest.mark.parametrize("name", ALONE)
def test_what_is_carried_is_what_the_same_edit_of_the_model_alone_gives(made: Path, tmp_path: Path, name: str) -> None:
    edit, where, _ = EDITS[name]
    file = opened(made, tmp_path)
    edit(file)
    (placed,) = file.back().placed
    target = tmp_path / "alone.glb"
    given = ExportOptions()
    loaded = load_file(made / "GAME/static.rlb", where, given)
    write_outputs(loaded.files(target, given), force=True)
    alone = Alone(target)
    edit(alone)
    out = alone.back()
    assert placed.result.data == out.data
    assert placed.result.companions == out.companions


def test_places_that_were_edited_alike_agree(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path)
    for place in range(2):
        rock(file, 7, place).update(translation=[9, 9, 9])
    out = file.back()
    assert out.not_applied == []
    (placed,) = out.placed
    assert [str(change) for change in placed.result.changes] == ["node 'CP_7': translation changed"]


def test_a_mesh_of_all_places_and_a_node_of_one_are_one_edit(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path)
    shift(file, rock(file), "POSITION", 1)
    rock(file, 7).update(translation=[9, 9, 9])
    out = file.back()
    assert out.not_applied == []
    (placed,) = out.placed
    assert len(placed.result.changes) == 2


def test_what_all_places_show_is_of_the_one_with_a_further_edit(made: Path, tmp_path: Path) -> None:
    """New nodes are told apart by their names; one that is gone there may be anywhere else."""
    file = opened(made, tmp_path)
    for place in range(2):
        for name, x in (("left", 1.0), ("right", 2.0)):
            file.add({"name": name, "mesh": rock(file)["mesh"], "translation": [x, 0, 0]}, rock(file, 0, place))
    file.remove(rock(file, 7))
    out = file.back()
    assert out.not_applied == []
    (placed,) = out.placed
    told = [str(change) for change in placed.result.changes]
    assert [any(name in text for text in told) for name in ("'left'", "'right'", "is missing")] == [True] * 3


def test_places_that_were_edited_otherwise_are_named_and_none_is_applied(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path)
    for place in range(2):
        rock(file, 7, place).update(translation=[9, 9, 9 + place])
    out = file.back()
    assert out.placed == []
    assert out.changes == []
    places = ("S_ROCK", "S_ROCK#2")
    assert {one.where for one in out.not_applied} == {f"model 'rock.msh' in node {place!r}" for place in places}
    assert {one.why for one in out.not_applied} == {
        f"all places show one model, and in node {place!r} it was edited in another way" for place in places
    }


def test_nodes_that_a_copy_lacks_are_not_deleted(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path)
    top = copy.deepcopy(file.places("S_ROCK")[1])
    top |= {"name": "S_ROCK.001", "translation": [150.0, 7.0, -150.0]}
    waiting = [top]
    while waiting:
        node = waiting.pop()
        below = [copy.deepcopy(file.nodes[child]) for child in node.pop("children", [])]
        waiting += [file.add(one, node) for one in below if file.extras(one).get("node") != 7]
    file.file.json["scenes"][0]["nodes"].append(len(file.nodes))
    file.nodes.append(top)
    out = file.back()
    assert out.placed == []
    (one,) = out.not_applied
    assert (one.where, one.what) == ("model 'rock.msh' in node 'S_ROCK.001'", "lacks 1 node of its model, as 'CP_7'")


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


def test_an_edit_of_a_shared_mesh_is_one_edit(made: Path, tmp_path: Path) -> None:
    """The rock is placed twice as scenery, and it is the gun of two robots."""
    file = opened(made, tmp_path)
    shift(file, rock(file), "POSITION", 1)
    out = file.back()
    (one,) = out.changes
    assert one.where == "model 'rock.msh', part 'Base_m1o2' stage 0 level 0"
    assert [placed.path for placed in out.placed] == [None]
    assert out.warnings == []
    rock(file, 7, place=1)["translation"] = [1.0, 2.0, 3.0]  # and in one place more
    out = file.back()
    assert [one.what for one in out.changes] == [one.what, "translation changed"]
    assert out.warnings == ["rock.msh was edited in node 'S_ROCK#2', and changes in 3 other places of this file too"]


def test_a_node_that_is_deleted_in_one_object_is_gone_in_all(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path)
    file.remove(rock(file, 7, place=1))
    out = file.back()
    assert [str(one) for one in out.changes] == ["model 'rock.msh', node 'CP_7': is missing"]
    assert out.warnings == [
        "rock.msh: 1 portal to deleted nodes: nothing is behind now",
        "rock.msh was edited in node 'S_ROCK#2', and changes in 3 other places of this file too",
    ]


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
    (one,) = out.not_applied
    assert one.where == "model 'rock.msh' in node 'S_ROCK.001'"
    assert "of its model" in one.what


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
    assert out.not_applied == []
    carried = ["model 'rock.msh', node 'CP_7'"] if edited else []
    assert [change.where for change in out.changes] == ["object 'asset'", *carried]
    assert [placed.path for placed in out.placed] == ([tmp_path / "GAME/static.rlb"] if edited else [])


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


@pytest.mark.parametrize("key", [0, 3])
def test_without_animation_a_warning_says_that_clips_are_not_compared(made: Path, tmp_path: Path, key: int) -> None:
    """Also where the file shows another frame: Blender's *Use Current Frame*."""
    for name in ("mission", "robot"):
        file = opened(made, tmp_path, name)
        for clip in file.file.json.pop("animations"):
            for channel in clip["channels"] if key else ():
                values = file.file.arrays[clip["samplers"][channel["sampler"]]["output"]]
                target = channel["target"]
                file.nodes[target["node"]][target["path"]] = values[min(key, len(values) - 1)].tolist()
        out = file.back()
        assert (out.changes, out.not_applied) == ([], [])
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


@pytest.mark.parametrize("name", ["mission", "robot"])
def test_what_moves_otherwise_between_frames_is_named(made: Path, tmp_path: Path, name: str) -> None:
    file = opened(made, tmp_path, name)
    for sampler in file.file.json["animations"][0]["samplers"]:
        sampler["interpolation"] = "STEP"
    assert any("away between frames" in one.what and one.where.startswith("model ") for one in file.back().not_applied)


def test_a_clip_in_a_mission_without_clips_keeps_the_other_nodes_moving(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path, "still")
    animated(file, rock(file, 2))
    out = file.back()
    assert out.not_applied == []
    assert {change.where for change in out.changes} == {"model 'rock.msh', animation of node 'foot_m2o3'"}


def test_an_edit_inside_a_unit_is_carried(made: Path, tmp_path: Path) -> None:
    file = opened(made, tmp_path, "robot")
    shift(file, file.node("e_gun_1", 1), "POSITION", 1)
    file.remove(file.node(ROOM, 11))
    out = file.back()
    results = {placed.result.name: placed.result for placed in out.placed}
    assert results.keys() == {"rock.msh", "room.msh"}
    assert out.not_applied == []
    assert out.kept_all
    moved = [text for text in results["room.msh"].warnings if "path point" in text]
    assert moved == ["1 path point stood on deleted nodes: the first node has them"]


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
