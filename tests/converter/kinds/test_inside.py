"""Models and terrain that are edited inside of a mission: carried into their own files, or reported.

What comes of most edits stands in ``inside.txt``; ``python -m tests.converter.kinds.test_inside`` writes it again, for
you to read what became different.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.storage import write_outputs
from tests.support.assembled_game import ROBOT, SOCKET, GameParts
from tests.support.gltf_edit import HARMLESS
from tests.support.inside_edits import EDITS, ROOM, animated, rock, shift
from tests.support.inside_game import Inside, Node, convert, opened, robot_of, whole
from tests.support.recorded import Recorded, outcome

FOUND = Recorded(__file__, "inside.txt")


#: Edits that show something else in a file of the model alone: materials of other models, numbers of repeated names,
#: parts that a mission does not show; or that a model cannot hold.
NOT_ALONE = {
    "material",
    "no material",
    "renamed material",
    "in one place",
    "all deleted",
    "added",
    "copied",
    "scaled",
    "point deleted",
    "a second clip",
    "an object animated",
    "scale animated",
}


class Alone(Inside):
    """The glTF of a model alone, edited by what edits it inside a mission."""

    def _below(self, key: str, place: int, name: str, number: int) -> Any:
        return next(node for node in self.nodes if self.extras(node).get(name) == number)


@pytest.mark.parametrize("name", [name for name in EDITS if name not in NOT_ALONE and not name.startswith("ground")])
def test_what_is_carried_is_what_the_same_edit_of_the_model_alone_gives(tmp_path: Path, name: str) -> None:
    file = opened(tmp_path, "clips")
    EDITS[name](file)
    (placed,) = file.back().placed
    target = tmp_path / "alone.glb"
    given = ExportOptions()
    loaded = load_file(whole() / "GAME/static.rlb", placed.result.name, given)
    write_outputs(loaded.files(target, given), force=True)
    alone = Alone(target)
    EDITS[name](alone)
    out = alone.back()
    assert placed.result.data == out.data
    assert placed.result.companions == out.companions


@pytest.mark.parametrize("name", ["clips", "mission", "robot"])
@pytest.mark.parametrize("layout", [name for name in HARMLESS if name != "no extras"])
def test_another_layout_is_no_edit(tmp_path: Path, name: str, layout: str) -> None:
    file = opened(tmp_path, name)
    HARMLESS[layout](file.file)
    out = file.back()
    assert [str(one) for one in out.not_applied] == []
    assert out.unchanged


def test_what_a_sidecar_says_of_models_and_the_level_is_held_against_what_it_has(tmp_path: Path) -> None:
    file = opened(tmp_path, "clips")
    path = file.path.with_suffix(".msh-sidecar")
    kept = read_sidecar(path.read_bytes(), path.name)
    inside = kept.description.inside
    model = next(key for key in inside if key.startswith("model "))
    for key, number in ((model, inside["terrain"]), ("terrain", inside[model]), (model, "99"), (model, "x")):
        described = replace(kept.description, inside=inside | {key: number})
        path.write_bytes(write_sidecar(replace(kept, description=described)))
        with pytest.raises(ConversionError, match="description cannot be read"):
            file.back()


def test_a_part_that_stands_nowhere_shows_nothing(tmp_path: Path) -> None:
    """Its object has a model, which another part of the same object shows."""
    parts = GameParts()
    parts.units[ROBOT].append(("e_gun_1", 4, 99, 0))
    parts.units[ROBOT][0] = ("u_robot", 0, -1, 3)
    mission = parts.write(tmp_path / "GAME")
    for name, source in (("clips", mission), ("robot", robot_of(mission))):
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


def turned(f: Inside) -> None:
    """As Blender exports it without +Y Up: every vertex and every place is another."""
    for node in f.nodes:
        if "translation" in node:
            x, y, z = node["translation"]
            node["translation"] = [x, -z, y]
    for primitive in f.file.primitives():
        for part in {"POSITION", "NORMAL"} & primitive["attributes"].keys():
            x, y, z = f.file.arrays[primitive["attributes"][part]].T
            f.file.arrays[primitive["attributes"][part]] = np.stack([x, -z, y], axis=1)


BOTH: dict[str, Callable[[Inside], object]] = {
    "no animation": lambda f: no_animation(f, 0),
    "no animation, another frame": lambda f: no_animation(f, 3),
    "clips held": held,
    "clips of steps": stepped,
}
#: A file, and an edit of it; the rock is placed twice as scenery, and it is the gun of two robots.
CASES: dict[str, tuple[str, Callable[[Inside], object]]] = {
    "places edited alike": ("clips", lambda f: each_rock(f, (9, 9, 9), (9, 9, 9))),
    "places edited otherwise": ("clips", lambda f: each_rock(f, (9, 9, 9), (9, 9, 10))),
    "a shared mesh": ("clips", lambda f: shift(f, rock(f), "POSITION", 1)),
    "a shared mesh and a node": ("clips", mesh_and_node),
    "a shared mesh and a node elsewhere": ("clips", lambda f: mesh_and_node(f, 1)),
    "new in both places, gone in one": ("clips", new_in_both_gone_in_one),
    "gone in one place": ("clips", lambda f: f.remove(rock(f, 7, place=1))),
    "a copy lacks a node": ("clips", lambda f: copied(f, lambda extras: extras.get("node") != 7)),
    "a copy lacks nodes": ("clips", lambda f: copied(f, lambda extras: extras.get("node") == 0)),
    **{
        f"an asset {key}{', edited' * edited}": (name, lambda f, k=key, e=edited: asset(f, k, e))
        for name, key in {"mission": "s_spare", "clips": "S_ROCK"}.items()
        for edited in (False, True)
    },
    "a foreign model": ("mission", foreign),
    "a clip where none is": ("mission", lambda f: animated(f, rock(f, 2))),
    "a unit": ("robot", unit_edited),
    **{name: ("clips", edit) for name, edit in EDITS.items()},
    **{f"turned, {file}": (file, turned) for file in ("mission", "robot")},
    **{f"{name}, {file}": (file, edit) for name, edit in BOTH.items() for file in ("clips", "robot")},
}


def found(name: str, folder: Path) -> str:
    """What comes of an edit, and the files that models are put into."""
    stem, edit = CASES[name]
    file = opened(folder, stem, game=True)
    edit(file)
    results: list[ImportResult] = []

    def back() -> ImportResult:
        results.append(file.back())
        return results[0]

    text = outcome(back, folder)
    return "; ".join([text, *(f"into {one.path}" for out in results for one in out.placed)]).replace(f"{folder}/", "")


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    FOUND.require(name, found(name, tmp_path))


if __name__ == "__main__":
    FOUND.write_each(CASES, found)
