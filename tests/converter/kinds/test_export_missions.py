"""Missions as glTF: the level, and every object where the game places it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.mission import FLOAT, Property, read_mission
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.assembly import property_labels, property_values
from tests.converter.kinds.test_export_units import check_component, exported, point_nodes
from tests.support.assembled_game import BASE, ROBOT, GameParts
from tests.support.corpus import CORPUS
from tests.support.gltf_view import GltfView
from tests.support.runs import require, run
from tests.support.validator import issues


def objects(view: GltfView) -> dict[int, int]:
    """Nodes of the placed objects by their row."""
    roots = view["scenes"][0]["nodes"]
    return {view.extras(node)["index"]: node for node in roots if view.extras(node).get("kind") == "object"}


def view_of(parts: GameParts, folder: Path, **options: Any) -> GltfView:
    return exported(parts.write(folder / "GAME"), folder / "mission.glb", **options)


@pytest.fixture
def view(tmp_path: Path) -> GltfView:
    return view_of(GameParts(), tmp_path)


def test_only_scenery_is_scaled(tmp_path: Path) -> None:
    parts = GameParts()
    for placed in parts.placed:
        placed["scale"] = 2.5
    view = view_of(parts, tmp_path)
    scales = [view["nodes"][node].get("scale") for node in objects(view).values()]
    assert scales == [None, None, None, [2.5, 2.5, 2.5]]


def test_a_turn_takes_x_towards_y(tmp_path: Path) -> None:
    parts = GameParts()
    parts.placed[2]["turn"] = np.pi / 2
    view = view_of(parts, tmp_path)
    matrix = view.game_world(objects(view)[2])
    np.testing.assert_allclose(matrix[:3, 0], [0, 1, 0], atol=1e-6)


def test_a_guest_stands_unturned_at_the_vertex_of_its_host(tmp_path: Path) -> None:
    parts = GameParts()
    parts.placed[0] |= {"place": (150.0, 90.0, 7.0), "turn": 0.5}
    parts.placed[1] |= {"place": (1.0, 1.0, 1.0), "turn": 1.5}
    path = parts.write(tmp_path / "GAME")
    view = exported(path, tmp_path / "mission.glb")
    from msh_gltf.converter.kinds.open_files import read_msh
    from tests.support.assembled_game import ROOM
    from tests.support.corpus import DATA

    graph = read_msh(DATA / f"{ROOM}.msh", None).graph
    assert graph is not None
    row = graph.points[3]
    (base,) = view.below(objects(view)[0], "component").values()
    waiting, node = list(view["nodes"][base]["children"]), -1
    while node < 0:
        one = waiting.pop()
        waiting += view["nodes"][one].get("children", [])
        node = one if view.extras(one).get("node") == int(row["node"]) else -1
    point = (view.game_world(node) @ [*row["position"].tolist(), 1.0])[:3]
    guest = view.game_world(objects(view)[1])
    np.testing.assert_allclose(guest[:3, 3], point, atol=1e-3)
    np.testing.assert_allclose(guest[:3, :3], np.eye(3), atol=1e-6)


@pytest.mark.parametrize("host", [(100, 999), (55, 0), (101, 0)])
def test_a_host_without_the_vertex_leaves_the_unit_at_its_place(tmp_path: Path, host: tuple[int, int]) -> None:
    parts = GameParts()
    parts.placed[1] |= {"host": host, "place": (101.0, 102.0, 9.0)}
    view = view_of(parts, tmp_path)
    node = objects(view)[1]
    assert "hosted" not in view.extras(node)
    np.testing.assert_allclose(view.game_world(node)[:3, 3], [101.0, 102.0, 9.0], atol=1e-4)
    loaded = load_file(tmp_path / "GAME/MISSIONS/Single.01", None, ExportOptions())
    assert host[0] == 101 or "mission-host" in [finding.code for finding in loaded.findings]


def test_a_forest_is_one_mesh(tmp_path: Path) -> None:
    few, many = GameParts(), GameParts()
    rock = few.placed[3]
    many.placed = [*few.placed, *({**rock, "place": (100.0 + i, 90.0, 6.0)} for i in range(300))]
    one, all_ = view_of(few, tmp_path / "few"), view_of(many, tmp_path / "many")
    assert len(objects(all_)) == 304
    for part in ("meshes", "materials", "images", "accessors"):
        assert all_[part] == one[part], part
    assert len({node["name"] for node in all_["nodes"]}) == len(all_["nodes"])


def test_a_route_of_two_points_and_objects_without_names(tmp_path: Path) -> None:
    """One side, not two; what has no name is called after its file."""
    parts = GameParts(routes=[(7, [(1, 1, 0), (9, 1, 0)])])
    for placed in parts.placed:
        placed.pop("name", None)
    view = view_of(parts, tmp_path)
    (route,) = view["scenes"][1]["nodes"]
    primitive = view["meshes"][view["nodes"][route]["mesh"]]["primitives"][0]
    assert view.array(primitive["indices"]).ravel().tolist() == [0, 1]
    stems = [path.rpartition("\\")[2].removesuffix(".dat") for path in (BASE, ROBOT.lower(), ROBOT)]
    assert [view["nodes"][node]["name"].partition("#")[0] for node in objects(view).values()] == [*stems, "S_ROCK"]


def shift(x: float, y: float, z: float) -> np.ndarray:
    out = np.zeros((4, 4))
    out[:3, 3] = x, y, z
    return out


def test_properties_keep_names_apart_and_fit_blender() -> None:
    names = ["a", "a", "", "x" * 70, "a"]
    properties = [Property(1, i, 0, 9, name.encode()) for i, name in enumerate(names)]
    assert property_labels(properties) == ["a", "a#2", "property_2", "property_3", "a#3"]
    nan = Property(FLOAT, 0x7FC00000, 0, 0, b"n")
    unknown = Property(7, 5, 0, 0, b"u")
    negative = Property(1, 0xFFFFFFFF, 0, 0, b"m")
    assert property_values([nan, unknown, negative]) == {"n": "0x7fc00000", "u": "0x5", "m": -1}


def test_a_missing_level_is_reported_and_left_out(tmp_path: Path) -> None:
    parts = GameParts(map="DATA\\MAPS\\M9\\land")
    view = view_of(parts, tmp_path)
    assert "terrain" not in [node["name"] for node in view["nodes"]]
    assert len(objects(view)) == 4
    loaded = load_file(tmp_path / "GAME/MISSIONS/Single.01/data.tma", None, ExportOptions())
    assert "mission-map" in [finding.code for finding in loaded.findings]


def test_an_object_that_is_nowhere_is_refused_or_left_out(tmp_path: Path) -> None:
    parts = GameParts()
    parts.placed[2]["place"] = (float("nan"), 0.0, 0.0)
    path = parts.write(tmp_path / "GAME")
    with pytest.raises(ConversionError, match=r"--tolerant leaves out the object"):
        load_file(path, None, ExportOptions())
    view = exported(path, tmp_path / "mission.glb", mode="tolerant")
    assert sorted(objects(view)) == [0, 1, 3]


def test_broken_units_of_a_mission_are_reported_with_their_path(tmp_path: Path) -> None:
    parts = GameParts()
    parts.units[ROBOT][1] = ("e_gun_9", 4, 2, 0)
    loaded = load_file(parts.write(tmp_path), None, ExportOptions())
    (text,) = {str(f) for f in loaded.findings if f.code == "unit-key"}
    assert "robot.dat" in text.lower()
    assert "e_gun_9" in text


def test_the_command_takes_a_directory_with_an_output_file(tmp_path: Path) -> None:
    path = GameParts().write(tmp_path / "GAME")
    for source, name in ((path.parent, "a.glb"), (path, "b.glb")):
        done = run("msh2gltf", source, "-o", tmp_path / name)
        assert "mission, 4 objects" in done.stdout, done.stderr
    assert issues([tmp_path / "a.glb", tmp_path / "b.glb"]) == {}
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "data.tma").write_bytes(path.read_bytes())
    done = run("msh2gltf", alone, "-o", tmp_path / "c.glb")
    assert done.returncode == 2
    assert "--game DIR" in done.stderr
    done = run("msh2gltf", alone, "-o", tmp_path / "c.glb", "--game", tmp_path / "GAME")
    assert done.returncode == 0, done.stderr
    done = run("msh2gltf", path.parent, "-o", tmp_path / "m.obj")
    assert done.returncode == 2
    assert "only models become OBJ" in done.stderr


MISSIONS = sorted(Path(CORPUS).glob("*/truth/missions/*.json")) if CORPUS else []


def test_every_object_of_the_corpus_is_at_its_recorded_place(tmp_path: Path) -> None:
    require(MISSIONS, "needs MSH_GLTF_CORPUS")
    for path in MISSIONS:
        truth = json.loads(path.read_text("utf-8"))
        source = path.parents[2] / "game" / truth["file"]
        target = tmp_path / f"{path.stem}.glb"
        view = exported(source, target)
        found = objects(view)
        assert sorted(found) == list(range(len(truth["objects"])))
        mission = read_mission(source.read_bytes(), "")
        assert len(mission.objects) == len(found)
        for expected in truth["objects"]:
            check_object(view, found[expected["index"]], expected)
        check_points(view, found, path.with_suffix(".npz"))
        assert issues([target]) == {}


def check_points(view: GltfView, found: dict[int, int], path: Path) -> None:
    """Control points in the world, by object, component and row."""
    with np.load(path) as truth:
        assert len(truth["point_at"])
        for (row, part, point), world in zip(truth["point_at"], truth["point_world"], strict=True):
            node = view.below(found[row], "component").get(part, found[row])
            rows = {view.extras(n)["index"]: n for n in point_nodes(view, node).values()}
            if point in rows:
                np.testing.assert_allclose(view.game_world(rows[point])[:3, 3], world, atol=1e-4)
            else:
                assert np.isnan(world).any() or point == 8  # it names no node


def check_object(view: GltfView, node: int, truth: dict[str, Any]) -> None:
    matrix = np.array(truth["matrix"]).reshape(4, 4)
    np.testing.assert_allclose(view.game_world(node), matrix, atol=1e-4)
    extras = view.extras(node)
    assert extras["path"] == truth["path"]
    assert extras["object_kind"] == truth["kind"]
    assert extras["logical_id"] == truth["logical_id"]
    assert bool(extras.get("hosted")) is truth["hosted"]
    assert list(extras.get("properties", {})) == [each[4] for each in truth["properties"]]
    components = view.below(node, "component")
    for expected in truth["components"]:
        if truth["kind"] > 1:
            corners = [view.triangles(mesh)["POSITION"] for mesh in view.own_meshes(node)]
            assert sum(map(len, corners)) == expected["triangles"]
            if corners:
                points = np.concatenate(corners).reshape(-1, 3)
                np.testing.assert_allclose(points.min(0), expected["bounds"]["min"], atol=1e-4)
                np.testing.assert_allclose(points.max(0), expected["bounds"]["max"], atol=1e-4)
        elif expected["shown"]:
            check_component(view, components[expected["index"]], expected)
