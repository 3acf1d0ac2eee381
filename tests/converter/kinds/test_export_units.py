"""Units as glTF: every part where the game shows it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.kinds import Kind
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.missions import find_unit
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.storage import write_outputs
from tests.support import assembly as make
from tests.support.assembled_game import ROBOT, ROOM, SOCKET, GameParts
from tests.support.corpus import CORPUS, DATA
from tests.support.game import write
from tests.support.gltf_view import GltfView
from tests.support.runs import require, run
from tests.support.validator import issues


def exported(path: Path, target: Path, **options: Any) -> GltfView:
    given = ExportOptions(**options)
    write_outputs(load_file(path, None, given).files(target, given), force=True)
    return GltfView(target)


def robot(parts: GameParts, root: Path) -> Path:
    parts.write(root)
    return root / ROBOT.replace("\\", "/")


def component(view: GltfView, index: int) -> int:
    (root,) = view["scenes"][0]["nodes"]
    return view.below(root, "component")[index]


def child(view: GltfView, node: int, row: int) -> int:
    """The node of a row of a placed model."""
    waiting = list(view["nodes"][node]["children"])
    while waiting:
        one = waiting.pop()
        if view.extras(one).get("node") == row:
            return one
        if view.extras(one).get("kind") != "component":
            waiting += view["nodes"][one].get("children", [])
    raise AssertionError(row)


@pytest.fixture
def view(tmp_path: Path) -> GltfView:
    return exported(robot(GameParts(), tmp_path / "GAME"), tmp_path / "robot.glb")


def test_the_clip_of_the_chassis_moves_its_gun(tmp_path: Path) -> None:
    parts = GameParts()
    rock, room = parts.objects["e_gun_1"], parts.objects["u_robot"]
    parts.objects |= {"u_robot": rock, "e_gun_1": room}  # the rock is animated
    parts.units[ROBOT] = [("u_robot", 0, -1, 1), ("e_gun_1", 4, 3, 0)]
    view = exported(robot(parts, tmp_path / "GAME"), tmp_path / "robot.glb")
    (clip,) = view["animations"]
    assert clip["name"] == "robot"
    assert view.info["frame_count"] == 26
    chassis, gun = component(view, 0), component(view, 1)
    socket, root = child(view, chassis, 3), child(view, gun, 0)
    for frame in (0, 5, 20):
        np.testing.assert_allclose(view.game_world(root, frame), view.game_world(socket, frame), atol=1e-4)
    assert np.abs(view.game_world(root, 5) - view.game_world(root, 0)).max() > 1e-2


def test_internal_parts_are_shown_on_request(tmp_path: Path) -> None:
    parts = GameParts()
    parts.units[ROBOT] = [("u_robot", 0, -1, 1), ("e_gun_1", 3, 0, 0)]
    path = robot(parts, tmp_path / "GAME")
    hidden = exported(path, tmp_path / "hidden.glb")
    assert not hidden.own_meshes(component(hidden, 1))
    shown = exported(path, tmp_path / "shown.glb", parts="all")
    assert shown.own_meshes(component(shown, 1))
    np.testing.assert_allclose(shown.game_world(component(shown, 1)), np.eye(4), atol=1e-6)


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (("e_gun_9", 4, SOCKET, 0), "unit-key"),
        (("e_gun_1", 4, 999, 0), "unit-socket"),
        (("e_gun_1", 4, -2, 0), "unit-socket"),
    ],
)
def test_a_part_without_a_place_or_a_model_is_not_shown_and_reported(
    tmp_path: Path, part: make.Part, code: str
) -> None:
    parts = GameParts()
    parts.units[ROBOT] = [("u_robot", 0, -1, 1), part]
    path = robot(parts, tmp_path / "GAME")
    loaded = load_file(path, None, ExportOptions())
    assert code in [finding.code for finding in loaded.findings]
    view = exported(path, tmp_path / "robot.glb")
    assert not view.own_meshes(component(view, 1))
    with pytest.raises(ConversionError, match="--strict refuses"):
        load_file(path, None, ExportOptions(mode="strict"))


def test_a_model_that_cannot_be_read_is_reported_and_left_out(tmp_path: Path) -> None:
    path = robot(GameParts(), tmp_path / "GAME")
    library = tmp_path / "GAME/static.rlb"
    data = bytearray(library.read_bytes())
    at = data.rindex(b"NRes", 4)  # the second model
    data[at : at + 4] = b"XXXX"
    library.write_bytes(data)
    loaded = load_file(path, None, ExportOptions())
    assert "placed-model" in [finding.code for finding in loaded.findings]
    view = exported(path, tmp_path / "robot.glb")
    assert view.own_meshes(component(view, 0))
    assert not view.own_meshes(component(view, 1))


def test_the_materials_are_those_that_the_registry_names(tmp_path: Path) -> None:
    parts = GameParts()
    parts.objects["e_gun_1"][1][:] = [("static.rlb", "rock.msh"), ("static.rlb", "room.wea")]
    view = exported(robot(parts, tmp_path / "GAME"), tmp_path / "robot.glb")
    names = {
        view["materials"][p["material"]]["name"]
        for node in view.own_meshes(component(view, 1))
        for p in view["meshes"][view["nodes"][node]["mesh"]]["primitives"]
    }
    wear = (DATA / f"{ROOM}.wea").read_text("cp1251")
    assert names
    assert all(name in wear for name in names)


def test_a_unit_without_a_game_is_refused(tmp_path: Path) -> None:
    path = robot(GameParts(), tmp_path / "GAME")
    alone = tmp_path / "alone/robot.dat"
    write(alone, path.read_bytes())
    with pytest.raises(ConversionError, match=r"no directory above it has objects.rlb"):
        load_file(alone, None, ExportOptions())
    game = str(tmp_path / "GAME")
    assert load_file(alone, None, ExportOptions(game=game)).kind is Kind.UNIT


def test_units_are_found_by_name(tmp_path: Path) -> None:
    parts = GameParts()
    parts.units["UNITS\\A\\robot.dat"] = parts.units[ROBOT]
    robot(parts, tmp_path)
    assert find_unit(tmp_path, "BASE").name == "base.dat"
    assert find_unit(tmp_path, "a/Robot.dat") == tmp_path / "UNITS/A/robot.dat"
    with pytest.raises(ConversionError, match=r"several units.*UNITS/A/robot.dat"):
        find_unit(tmp_path, "robot")
    with pytest.raises(ConversionError, match=r"no such unit: rbot; it has one of robot"):
        find_unit(tmp_path, "rbot")


def test_the_command_takes_a_unit_by_file_and_by_name(tmp_path: Path) -> None:
    path = robot(GameParts(), tmp_path / "GAME")
    done = run("msh2gltf", path, "-o", tmp_path / "a.glb")
    assert "unit, 3 components, 2 models in 2 places" in done.stdout
    run("msh2gltf", tmp_path / "GAME", "--unit", "robot", "-o", tmp_path / "b.glb")
    assert GltfView(tmp_path / "a.glb")["nodes"] == GltfView(tmp_path / "b.glb")["nodes"]
    assert issues([tmp_path / "a.glb"]) == {}


UNITS = sorted(Path(CORPUS).glob("*/truth/units/*.json")) if CORPUS else []


def test_every_part_of_the_corpus_is_at_its_recorded_place(tmp_path: Path) -> None:
    require(UNITS, "needs MSH_GLTF_CORPUS")
    files = []
    for path in UNITS:
        truth = json.loads(path.read_text("utf-8"))
        files.append(tmp_path / f"{path.stem}.glb")
        view = exported(path.parents[2] / "game" / truth["file"], files[-1])
        (root,) = view["scenes"][0]["nodes"]
        found = view.below(root, "component")
        assert sorted(found) == list(range(len(truth["components"])))
        for expected in truth["components"]:
            check_component(view, found[expected["index"]], expected)
    assert issues(files) == {}


def check_component(view: GltfView, node: int, truth: dict[str, Any]) -> None:
    extras = view.extras(node)
    names = ("key", "class", "attach", "label")
    assert {name: extras[name] for name in names} == {name: truth[name] for name in names}
    meshes = view.own_meshes(node)
    corners = [view.triangles(mesh) for mesh in meshes]
    triangles = sum(len(shape["POSITION"]) for shape in corners)
    if truth["matrix"] is None:
        assert not meshes
        return
    matrix = np.array(truth["matrix"]).reshape(4, 4)
    np.testing.assert_allclose(view.game_world(node), matrix, atol=1e-4)
    assert triangles == truth["triangles"]
    if triangles:
        points = np.concatenate([shape["POSITION"].reshape(-1, 3) for shape in corners])
        np.testing.assert_allclose(points.min(0), truth["bounds"]["min"], atol=1e-4)
        np.testing.assert_allclose(points.max(0), truth["bounds"]["max"], atol=1e-4)
    used = {
        view["materials"][p["material"]]["name"]
        for mesh in meshes
        for p in view["meshes"][view["nodes"][mesh]["mesh"]]["primitives"]
    }
    if truth["look"]:
        assert used <= set(truth["look"])
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
