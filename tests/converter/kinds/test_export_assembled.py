"""Units and missions as glTF: every part and every object where the game shows it.

What comes of each game that is made by hand stands in ``assembled.txt``; ``python -m
tests.converter.kinds.test_export_assembled`` writes it again, for you to read what became different.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.mission import FLOAT, Property, read_mission
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.missions import find_unit
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.assembly import property_labels, property_values
from tests.support import assembly as make
from tests.support.assembled_game import ROBOT, SOCKET, GameParts
from tests.support.corpus import CORPUS
from tests.support.game import MESH
from tests.support.gltf_view import GltfView
from tests.support.recorded import Recorded, shown
from tests.support.runs import convert, require
from tests.support.validator import issues

#: What comes of each game, the mission and the robot.
ASSEMBLED = Recorded(__file__, "assembled.txt")


def exported(path: Path, target: Path, **options: Any) -> GltfView:
    return GltfView(convert(path, target, **options))


def animated_chassis(parts: GameParts) -> None:
    """The clip of the chassis moves its gun."""
    rock, room = parts.objects["e_gun_1"], parts.objects["u_robot"]
    parts.objects |= {"u_robot": rock, "e_gun_1": room}
    parts.units[ROBOT] = [("u_robot", 0, -1, 1), ("e_gun_1", 4, 3, 0)]


def guest_of_a_building(parts: GameParts) -> None:
    """It stands unturned at the vertex of its host."""
    parts.placed[0] |= {"place": (150.0, 90.0, 7.0), "turn": 0.5}
    parts.placed[1] |= {"place": (1.0, 1.0, 1.0), "turn": 1.5}


def without_names(parts: GameParts) -> None:
    """What has no name is called after its file; a route of two points has one side, not two."""
    parts.routes = [(7, [(1, 1, 0), (9, 1, 0)])]
    for placed in parts.placed:
        placed.pop("name", None)


def robot_of(parts: GameParts, *components: make.Part) -> None:
    parts.units[ROBOT] = [("u_robot", 0, -1, len(components)), *components]


def model_beyond_reading(parts: GameParts) -> None:
    parts.more = [(MESH, b"bad.msh", b"XRes")]
    parts.objects["e_gun_1"][1][:] = [("static.rlb", "bad.msh")]


CASES: dict[str, Callable[[GameParts], object]] = {
    "as it is": lambda parts: None,
    # only scenery is
    "all scaled": lambda parts: [placed.update(scale=2.5) for placed in parts.placed],
    "x turned towards y": lambda parts: parts.placed[2].update(turn=np.pi / 2),
    "a guest of a building": guest_of_a_building,
    **{
        f"a guest of {host}": lambda parts, host=host: parts.placed[1].update(host=host, place=(101.0, 102.0, 9.0))
        for host in ((100, 999), (55, 0), (101, 0))
    },
    # it is one mesh
    "a forest": lambda parts: parts.placed.extend(
        {**parts.placed[3], "place": (100.0 + i, 90.0, 6.0)} for i in range(300)
    ),
    "without names": without_names,
    "no level": lambda parts: setattr(parts, "map", "DATA\\MAPS\\M9\\land"),
    "an object nowhere": lambda parts: parts.placed[2].update(place=(float("nan"), 0.0, 0.0)),
    "an animated chassis": animated_chassis,
    "an internal part": lambda parts: robot_of(parts, ("e_gun_1", 3, 0, 0)),
    "a part of no key": lambda parts: robot_of(parts, ("e_gun_9", 4, SOCKET, 0)),
    "a part on no node": lambda parts: robot_of(parts, ("e_gun_1", 4, 999, 0)),
    "a part on a node below 0": lambda parts: robot_of(parts, ("e_gun_1", 4, -2, 0)),
    "a model that cannot be read": model_beyond_reading,
    "materials that the registry names": lambda parts: parts.objects["e_gun_1"][1].append(("static.rlb", "room.wea")),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "strict": {"mode": "strict"},
    "tolerant": {"mode": "tolerant"},
    "all parts": {"parts": "all"},
}


def found(name: str, folder: Path) -> str:
    """What comes of the mission and of the robot with each option, where that is another thing."""
    parts = GameParts()
    CASES[name](parts)
    mission = parts.write(folder / "GAME")
    lines = []
    for source in (mission.parent, folder / "GAME/UNITS/robot.dat"):
        said = {title: said_of(source, folder / title, options) for title, options in OPTIONS.items()}
        lines += [f"{title}: {text}" for title, text in said.items() if not title or text != said[""]]
    return "; ".join(lines).replace(f"{folder}/", "")


def said_of(source: Path, folder: Path, options: dict[str, Any]) -> str:
    """What an export shows, what is said of it, and where each of its first objects and components is."""
    folder.mkdir(exist_ok=True)
    target = folder / f"{source.stem}.glb"
    try:
        said = sorted({str(one) for one in load_file(source, None, ExportOptions(**options)).findings})
        view = exported(source, target, **options)
    except ConversionError as error:
        return f"refused: {error}"
    placed = [i for i in range(len(view["nodes"])) if view.extras(i).get("kind") in ("object", "component")]
    return ", ".join([shown(target), *said, *(f"{view['nodes'][i]['name']} {places(view, i)}" for i in placed[:12])])


def places(view: GltfView, node: int) -> str:
    """Where a node is in the game, where its x points to, and where its first child is in frame 5."""
    matrix = view.game_world(node)
    found = [matrix[:3, 3], matrix[:3, 0]]
    if view["animations"] and view["nodes"][node].get("children"):
        found.append(view.game_world(view["nodes"][node]["children"][0], 5)[:3, 3])
    return " ".join(f"({' '.join(f'{value:g}' for value in one.round(2) + 0.0)})" for one in found)


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    ASSEMBLED.require(name, found(name, tmp_path))


def test_a_unit_without_a_game_is_refused(tmp_path: Path) -> None:
    GameParts().write(tmp_path / "GAME")
    alone = tmp_path / "robot.dat"
    alone.write_bytes((tmp_path / "GAME/UNITS/robot.dat").read_bytes())
    with pytest.raises(ConversionError, match=r"no directory above it has objects.rlb"):
        load_file(alone, None, ExportOptions())
    assert len(load_file(alone, None, ExportOptions(game=str(tmp_path / "GAME"))).assembly.models) == 2


def test_units_are_found_by_name(tmp_path: Path) -> None:
    parts = GameParts()
    parts.units["UNITS\\A\\robot.dat"] = parts.units[ROBOT]
    parts.write(tmp_path)
    assert find_unit(tmp_path, "BASE").name == "base.dat"
    assert find_unit(tmp_path, "a/Robot.dat") == tmp_path / "UNITS/A/robot.dat"
    with pytest.raises(ConversionError, match=r"several units.*UNITS/A/robot.dat"):
        find_unit(tmp_path, "robot")
    with pytest.raises(ConversionError, match=r"no such unit: rbot; it has one of robot"):
        find_unit(tmp_path, "rbot")


def test_properties_keep_names_apart_and_fit_blender() -> None:
    names = ["a", "a", "", "x" * 70, "a"]
    properties = [Property(1, i, 0, 9, name.encode()) for i, name in enumerate(names)]
    assert property_labels(properties) == ["a", "a#2", "property_2", "property_3", "a#3"]
    nan = Property(FLOAT, 0x7FC00000, 0, 0, b"n")
    unknown = Property(7, 5, 0, 0, b"u")
    negative = Property(1, 0xFFFFFFFF, 0, 0, b"m")
    assert property_values([nan, unknown, negative]) == {"n": "0x7fc00000", "u": "0x5", "m": -1}


def recorded(what: str) -> list[Path]:
    """Truth of the corpus."""
    return sorted(Path(CORPUS).glob(f"*/truth/{what}/*.json")) if CORPUS else []


def require_drawn(view: GltfView, meshes: list[int], truth: dict[str, Any]) -> None:
    """So many triangles, in such a box."""
    corners = [view.triangles(mesh)["POSITION"].reshape(-1, 3) for mesh in meshes]
    assert sum(map(len, corners)) == 3 * truth["triangles"]
    if truth["triangles"]:
        points = np.concatenate(corners)
        bounds = truth["bounds"]
        np.testing.assert_allclose([points.min(0), points.max(0)], [bounds["min"], bounds["max"]], atol=1e-4)


def test_every_part_of_the_corpus_is_at_its_recorded_place(tmp_path: Path) -> None:
    require(recorded("units"), "needs MSH_GLTF_CORPUS")
    files = []
    for path in recorded("units"):
        truth = json.loads(path.read_text("utf-8"))
        files.append(tmp_path / f"{path.stem}.glb")
        view = exported(path.parents[2] / "game" / truth["file"], files[-1])
        (root,) = view["scenes"][0]["nodes"]
        found = view.below(root, "component")
        assert sorted(found) == list(range(len(truth["components"])))
        for expected in truth["components"]:
            require_component(view, found[expected["index"]], expected)
    assert issues(files) == {}


def require_component(view: GltfView, node: int, truth: dict[str, Any]) -> None:
    extras, meshes = view.extras(node), view.own_meshes(node)
    names = ("key", "class", "attach", "label")
    assert {name: extras[name] for name in names} == {name: truth[name] for name in names}
    if truth["matrix"] is None:
        assert not meshes
        return
    np.testing.assert_allclose(view.game_world(node), np.array(truth["matrix"]).reshape(4, 4), atol=1e-4)
    require_drawn(view, meshes, truth)
    primitives = [p for mesh in meshes for p in view["meshes"][view["nodes"][mesh]["mesh"]]["primitives"]]
    assert not truth["look"] or {view["materials"][p["material"]]["name"] for p in primitives} <= set(truth["look"])
    for point in truth.get("points", []):
        if point["node"] >= 0:  # others have no place
            at = view.game_world(point_nodes(view, node)[point["name"]])
            np.testing.assert_allclose(at[:3, 3], point["world"], atol=1e-4)


def point_nodes(view: GltfView, node: int) -> dict[str, int]:
    """Control points of a placed model by name, without those of what is mounted on it."""
    out, waiting = {}, list(view["nodes"][node].get("children", []))
    while waiting:
        one = waiting.pop()
        kind = view.extras(one).get("kind")
        if kind == "point":
            out[view["nodes"][one]["name"].split(".point")[0]] = one
        elif kind != "component":
            waiting += view["nodes"][one].get("children", [])
    return out


def test_every_object_of_the_corpus_is_at_its_recorded_place(tmp_path: Path) -> None:
    require(recorded("missions"), "needs MSH_GLTF_CORPUS")
    for path in recorded("missions"):
        truth = json.loads(path.read_text("utf-8"))
        source, target = path.parents[2] / "game" / truth["file"], tmp_path / f"{path.stem}.glb"
        view = exported(source, target)
        roots = view["scenes"][0]["nodes"]
        found = {view.extras(node)["index"]: node for node in roots if view.extras(node).get("kind") == "object"}
        assert sorted(found) == list(range(len(truth["objects"])))
        assert len(read_mission(source.read_bytes(), "").objects) == len(found)
        for expected in truth["objects"]:
            require_object(view, found[expected["index"]], expected)
        with np.load(path.with_suffix(".npz")) as points:
            require_points(view, found, points)
        assert issues([target]) == {}


def require_points(view: GltfView, found: dict[int, int], truth: Any) -> None:
    """Control points in the world, by object, component and row."""
    assert len(truth["point_at"])
    for (row, part, point), world in zip(truth["point_at"], truth["point_world"], strict=True):
        node = view.below(found[row], "component").get(part, found[row])
        rows = {view.extras(n)["index"]: n for n in point_nodes(view, node).values()}
        if point in rows:
            np.testing.assert_allclose(view.game_world(rows[point])[:3, 3], world, atol=1e-4)
        else:
            assert np.isnan(world).any() or point == 8  # it names no node


def require_object(view: GltfView, node: int, truth: dict[str, Any]) -> None:
    extras, components = view.extras(node), view.below(node, "component")
    np.testing.assert_allclose(view.game_world(node), np.array(truth["matrix"]).reshape(4, 4), atol=1e-4)
    said = (extras["path"], extras["object_kind"], extras["logical_id"], bool(extras.get("hosted")))
    assert said == tuple(truth[name] for name in ("path", "kind", "logical_id", "hosted"))
    assert list(extras.get("properties", {})) == [each[4] for each in truth["properties"]]
    for expected in truth["components"]:
        if truth["kind"] > 1:
            require_drawn(view, view.own_meshes(node), expected)
        elif expected["shown"]:
            require_component(view, components[expected["index"]], expected)


if __name__ == "__main__":
    ASSEMBLED.write_each(CASES, found)
