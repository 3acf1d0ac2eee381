"""Missions that were edited as glTF: only the records concerned change."""

import copy
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.checks.assembly import check_mission
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.mission import Mission, read_mission
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.kinds.test_export_units import exported
from tests.support.assembled_game import BASE, ROBOT, GameParts
from tests.support.gltf_edit import Editable
from tests.support.runs import call
from tests.support.terrain_twin import Tables

Node = dict[str, Any]


class Edited:
    """The glTF of a mission, to be edited and imported."""

    def __init__(self, folder: Path, parts: GameParts | None = None) -> None:
        self.source = (parts or GameParts()).write(folder / "GAME")
        self.path = folder / "mission.glb"
        exported(self.source, self.path)
        self.file = Editable(self.path)

    def of(self, kind: str, row: int = 0) -> Node:
        """The node of a kind and row."""
        nodes = self.file.json["nodes"]
        found = [n for n in nodes if n.get("extras", {}).get("msh", {}).get("kind") == kind]
        return next(n for n in found if n["extras"]["msh"]["index"] == row)

    def object(self, row: int) -> Node:
        return self.of("object", row)

    def roots(self) -> list[int]:
        return self.file.json["scenes"][0]["nodes"]

    def delete(self, node: Node) -> None:
        number = self.file.json["nodes"].index(node)
        for scene in self.file.json["scenes"]:
            scene["nodes"] = [one for one in scene.get("nodes", []) if one != number]

    def add(self, node: Node, scene: int = 0) -> Node:
        self.file.json["nodes"].append(node)
        self.file.json["scenes"][scene]["nodes"].append(len(self.file.json["nodes"]) - 1)
        return node

    def copy(self, node: Node, at: list[float], scene: int = 0) -> Node:
        made = {key: value for key, value in copy.deepcopy(node).items() if key != "children"}
        return self.add({**made, "name": f"{node['name']}.001", "translation": at}, scene)

    def back(self, **options: Any) -> tuple[ImportResult, Mission, Mission]:
        """What comes of the import, the mission before and after."""
        out = import_gltf(self.file.save(self.path), None, ImportOptions(**options))
        before = read_mission(self.source.read_bytes(), "x")
        return out, before, read_mission(out.data, "x")


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    return Edited(tmp_path)


def test_a_quaternion_of_the_other_sign_and_noise_are_no_edit(edited: Edited) -> None:
    for row in range(4):
        node = edited.object(row)
        x, y, z, w = node.get("rotation", (0, 0, 0, 1))
        node["rotation"] = [-x, -y, -z, -w]
        if "scale" in node:
            node["scale"] = [1.5000001, 1.4999999, 1.5]
    out, _, _ = edited.back()
    assert out.unchanged


@pytest.mark.parametrize("start", [0, 1])
def test_a_moved_building_says_at_which_height_it_will_likely_stand(start: int, tmp_path: Path) -> None:
    """The mean height of the ground below the corners of its outline, unless its start flag is set."""
    outline = np.float32([[-30, -20, 5], [40, -20, 6], [40, 25, 5], [-30, 25, 7], [-30, -20, 5]])
    ring = struct.pack("<2i", 1, 4) + outline.tobytes()
    parts = GameParts(more=[(int.from_bytes(b"BASE", "little"), b"base.bas", ring + bytes(32) + ring)])
    parts.objects["fr_base"][1].append(("static.rlb", "base.bas"))
    parts.placed[0]["start"] = start
    edited = Edited(tmp_path, parts)
    edited.object(0)["translation"] = [130.0, 2.0, -140.0]
    edited.object(0)["rotation"] = [0.0, float(np.sin(0.25)), 0.0, float(np.cos(0.25))]
    edited.object(2)["translation"] = [130.0, 2.0, -140.0]  # a unit
    out, _, _ = edited.back(game=str(tmp_path / "GAME"))
    lines = [line for line in out.warnings if "stands likely" in line]
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    level = Tables((tmp_path / "GAME/DATA/MAPS/M1/Land.msh").read_bytes())
    heights = [height(level, point) for point in outline[:4, :2] @ turn.T + [130, 140]]
    said = f"object 'Base': stands likely at z {np.mean(heights):.2f} in the game, not at 2.00: without its start flag"
    assert len(lines) == (not start)
    assert all(line.startswith(said) for line in lines)


def height(level: Tables, point: np.ndarray) -> float:
    """The height of the only face of the fine level above or below a point."""
    corners = level.positions[np.array(level.vertex[: len(level.vertex) // 2])].astype(float)
    a, b, c = corners.transpose(1, 0, 2)
    weights = np.linalg.solve(
        np.stack([b - a, c - a, np.broadcast_to([0, 0, 1.0], a.shape)], axis=2) + 1e-12 * np.eye(3),
        np.concatenate([point - a[:, :2], -a[:, 2:]], axis=1)[..., None],
    )[..., 0]
    inside = (weights[:, 0] >= 0) & (weights[:, 1] >= 0) & (weights[:, 0] + weights[:, 1] <= 1)
    (face,) = np.flatnonzero(inside)
    return float(a[face, 2] + weights[face, 0] * (b - a)[face, 2] + weights[face, 1] * (c - a)[face, 2])


def test_scenery_is_scaled_and_units_are_not(edited: Edited) -> None:
    edited.object(3)["scale"] = [2.0, 2.0, 2.0]
    edited.object(2)["scale"] = [2.0, 2.0, 2.0]
    out, _, now = edited.back()
    assert now.objects[3].scale == (2, 2, 2)
    assert [str(change) for change in out.changes] == ["object 'S_ROCK': scaled"]
    (refused,) = out.not_applied
    assert refused.where == "object 'Guard'"
    assert "ignores the scale" in refused.why


def test_a_tilt_is_reported_unless_the_object_stood_tilted(edited: Edited) -> None:
    edited.object(2)["rotation"] = [float(np.sin(0.1)), 0.0, 0.0, float(np.cos(0.1))]
    out, _, now = edited.back()
    assert not out.changes
    assert [one.what for one in out.not_applied] == ["is tilted"]
    assert not now.objects[2].record["turns"].any()


def test_of_two_with_one_index_the_one_at_the_stored_place_keeps_it(edited: Edited) -> None:
    stored = edited.object(2)
    copied = edited.copy(stored, [150.0, 5.0, -150.0])
    copied["name"], stored["name"] = stored["name"], copied["name"]  # names do not decide
    out, before, now = edited.back()
    assert len(now.objects) == 5
    assert now.objects[2].record.tobytes() == before.objects[2].record.tobytes()
    new = now.objects[4]
    np.testing.assert_allclose(new.record["position"], (150, 150, 5))
    assert new.logical_id == 103
    assert new.reference == ROBOT
    assert not out.not_applied


def test_the_id_of_a_copy_is_unused_and_its_property_follows(edited: Edited) -> None:
    edited.copy(edited.object(0), [150.0, 5.0, -150.0])
    edited.copy(edited.object(0), [160.0, 5.0, -150.0])
    _, _, now = edited.back()
    assert [one.logical_id for one in now.objects] == [100, 101, 102, -1, 103, 104]
    values = [{p.title: p.number for p in one.properties} for one in now.objects[4:]]
    assert [one["LogicalID"] for one in values] == [103, 104]


def test_a_guest_of_a_deleted_building_stands_where_it_is_shown(edited: Edited) -> None:
    x, y, z = edited.object(1)["translation"]
    edited.delete(edited.object(0))
    out, _, now = edited.back()
    guest = now.objects[0]
    assert guest.title == "Герой"
    assert guest.host is None
    np.testing.assert_allclose(guest.record["position"], (x, -z, y), rtol=1e-6)
    assert any("its building 100 is deleted" in str(change) for change in out.changes)


def test_a_guest_without_host_takes_its_place_from_the_node(edited: Edited) -> None:
    node = edited.object(1)
    node["translation"] = [10.0, 2.0, -30.0]
    node["extras"]["msh"] |= {"host": -1, "vertex": -1}
    out, _, now = edited.back()
    assert not out.not_applied
    assert now.objects[1].host is None
    assert now.objects[1].record["position"].tolist() == [10, 30, 2]


@pytest.mark.parametrize("name", ["robot", "robot.002", "e_gun_1"])
def test_an_asset_of_the_game_is_placed_by_its_name(edited: Edited, name: str) -> None:
    edited.add({"name": name, "translation": [40.0, 3.0, -60.0]})
    out, _, now = edited.back(game=str(edited.source.parents[2]))
    new = now.objects[4]
    assert new.reference.lower() in (ROBOT.lower(), "e_gun_1")
    np.testing.assert_allclose(new.record["position"], (40, 60, 3))
    assert not out.not_applied


def test_an_instance_around_an_object_is_not_placed_by_its_name_too(edited: Edited) -> None:
    extras = {"msh": {"kind": "object", "path": ROBOT}}
    edited.file.json["nodes"].append({"name": "robot.001", "extras": extras})
    inside = len(edited.file.json["nodes"]) - 1
    edited.add({"name": "robot", "translation": [40.0, 3.0, -60.0], "children": [inside]})
    out, _, now = edited.back(game=str(edited.source.parents[2]))
    assert len(now.objects) == 5
    np.testing.assert_allclose(now.objects[4].record["position"], (40, 60, 3))
    assert not out.not_applied


def test_an_object_of_a_path_is_placed(edited: Edited) -> None:
    extras = {"msh": {"kind": "object", "path": "units/BUILDS/base.dat"}}
    edited.add({"name": "Fort", "translation": [40.0, 3.0, -60.0], "extras": extras})
    _, _, now = edited.back()
    new = now.objects[4]
    assert (new.reference, new.title, new.kind) == (BASE, "Fort", 0)
    assert new.logical_id == 103


def test_an_unknown_path_is_an_error_with_the_known_names(edited: Edited) -> None:
    extras = {"msh": {"kind": "object", "path": "units/moon.dat"}}
    edited.add({"name": "Moon", "extras": extras})
    with pytest.raises(ConversionError, match="places what neither the mission") as caught:
        edited.back()
    assert "robot.dat" in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("logical_id", 100, "another object has it"),
        ("logical_id", "x", "whole number"),
        ("properties", {"LogicalID": 1e999, "ClanID": 1}, "whole number"),
        ("clan", 9, "the mission has 2 clans"),
        ("host", 77, "no object has that logical id"),
        ("properties", {}, "keep their properties"),
        ("properties", {"LogicalID": "many", "ClanID": 1}, "whole number"),
        ("properties", {"LogicalID": 100, "ClanID": 1.5}, "whole number"),
        ("properties", {"LogicalID": 100, "ClanID": 1, "New": 1}, "no type and range"),
    ],
)
def test_a_value_that_cannot_be_is_reported(edited: Edited, key: str, value: object, what: str) -> None:
    row = 0 if key == "properties" else 2
    edited.object(row)["extras"]["msh"][key] = value
    if key == "host":
        edited.object(row)["extras"]["msh"]["vertex"] = 1
    out, before, now = edited.back()
    assert what in str(out.not_applied[0])
    assert now.objects[row].logical_id == before.objects[row].logical_id


def test_names_ids_and_properties_are_edited(edited: Edited) -> None:
    node = edited.object(0)
    node["name"] = "Крепость"
    node["extras"]["msh"] |= {"logical_id": 500, "clan": 0}
    node["extras"]["msh"]["properties"]["ClanID"] = 1
    out, _, now = edited.back()
    assert not out.not_applied
    base, guest = now.objects[:2]
    assert (base.title, base.logical_id) == ("Крепость", 500)
    assert {p.title: p.number for p in base.properties} == {"LogicalID": 500, "ClanID": 0}
    assert guest.host == (500, 3)


@pytest.mark.parametrize(("name", "said"), [("守衛", "CP1251"), ("", "has no name in the file")])
def test_a_name_that_cannot_be_is_reported(edited: Edited, name: str, said: str) -> None:
    edited.object(2)["name"] = name
    out, _, _ = edited.back()
    assert said in str(out.not_applied[0])


def test_the_level_and_the_clans_are_reported(edited: Edited) -> None:
    """Custom properties of the scene; a scene without them says nothing."""
    head = edited.file.json["scenes"][0]["extras"]["msh"]
    head |= {"map": "DATA\\MAPS\\M2\\land", "clans": "Nature\nИгроки"}
    out, _, _ = edited.back()
    assert out.data == edited.source.read_bytes()
    assert [one.what.partition(" became")[0] for one in out.not_applied] == [
        "property 'map' of the scene",
        "property 'clans' of the scene",
    ]
    del head["map"], head["clans"]
    assert edited.back()[0].unchanged


def test_two_routes_do_not_get_one_number(tmp_path: Path) -> None:
    edited = Edited(tmp_path, GameParts(routes=[(7, [(1, 1, 0), (5, 2, 0)]), (8, [(9, 9, 0), (9, 2, 0)])]))
    edited.of("route", 1)["extras"]["msh"]["route"] = 7
    out, _, now = edited.back()
    assert [str(one) for one in out.not_applied] == ["route 8: number became 7; another has it; enter another"]
    assert [one.id for one in now.routes] == [7, 8]
    edited.of("route", 1)["extras"]["msh"]["route"] = 9
    assert [one.id for one in edited.back()[2].routes] == [7, 9]


def test_lines_of_another_order_are_no_edit(edited: Edited) -> None:
    mesh = edited.file.json["meshes"][edited.of("route")["mesh"]]
    index = mesh["primitives"][0]["indices"]
    edited.file.arrays[index] = edited.file.arrays[index][::-1].copy()
    assert edited.back()[0].unchanged


def test_routes_without_lines_are_kept_with_a_warning(edited: Edited) -> None:
    del edited.of("route")["mesh"]
    out, _, _ = edited.back()
    assert out.data == edited.source.read_bytes()
    assert "Loose Edges" in out.warnings[0]


def test_zones_and_lodes_move_and_are_copied(edited: Edited) -> None:
    zone, lode = edited.of("zone"), edited.of("lode")
    zone["translation"], zone["scale"] = [60.0, 0.0, -50.0], [12.0, 12.0, 12.0]
    zone["extras"]["msh"]["inner"] = 6.5
    edited.copy(lode, [5.0, 0.0, -5.0], scene=3)["extras"]["msh"]["amount"] = 50.0
    out, _, now = edited.back()
    assert not out.not_applied
    np.testing.assert_allclose(now.clans[0].zones["centre"], [(60, 50, 0)])
    assert now.clans[0].zones[["inner", "outer"]].tolist() == [(6.5, 12.0)]
    assert now.lodes["amount"].tolist() == [1000, 50]
    assert now.lodes["position"].tolist() == [[20, 30, 5], [5, 5, 0]]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("zone", {"rotation": [0.0, 0.7071068, 0.0, 0.7071068]}),
        ("lode", {"rotation": [0.0, 0.7071068, 0.0, 0.7071068]}),
        ("lode", {"scale": [2.0, 2.0, 2.0]}),
        ("zone", {"scale": [-12.0, 12.0, 12.0]}),
        ("zone", {"scale": [12.0, 12.0, 9.0]}),
    ],
)
def test_what_an_empty_cannot_be_is_reported(edited: Edited, kind: str, change: dict[str, list[float]]) -> None:
    edited.of(kind).update(change)
    result = edited.back()[0]
    what = "has another size in the game, or is turned"
    assert [(one.where.split()[0], one.what) for one in result.not_applied] == [(kind, what)]


def test_a_deleted_zone_and_route_are_gone(edited: Edited) -> None:
    edited.delete(edited.of("zone"))
    edited.delete(edited.of("route"))
    _, _, now = edited.back()
    assert not now.routes
    assert now.clans[0].zone_counts == []


def test_without_its_sidecar_a_mission_is_refused(edited: Edited) -> None:
    with pytest.raises(ConversionError, match="is not written without its sidecar"):
        edited.back(use_sidecar=False)


def test_a_file_without_custom_properties_is_refused(edited: Edited) -> None:
    for node in edited.file.json["nodes"]:
        node.pop("extras", None)
    with pytest.raises(ConversionError, match="lost its custom properties") as caught:
        edited.back()
    assert "Custom Properties" in str(caught.value.hint)


@pytest.mark.parametrize("index", [float("1e999"), -1, 0.5, "x", None, [1], 10**400])
def test_an_index_that_is_none_makes_a_new_object(edited: Edited, index: object) -> None:
    edited.object(2)["extras"]["msh"]["index"] = index
    _, _, now = edited.back()
    assert len(now.objects) == 4
    assert now.objects[3].logical_id == 103


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"translation": [1e30, 0.0, 0.0]}, "too large"),
        ({"translation": [1e9, 0.0, 0.0]}, "row 3: object 'S_ROCK' has no valid position.*at most 1e.06"),
        ({"scale": [2e6, 2e6, 2e6]}, "row 3: object 'S_ROCK' has no valid scale"),
    ],
)
def test_what_the_export_refuses_is_not_written(edited: Edited, change: Node, said: str) -> None:
    """By the same rules; --no-verify writes it all the same."""
    edited.object(3).update(change)
    with pytest.raises(ConversionError, match=said):
        edited.back()
    if "row" in said:
        now = edited.back(verify=False)[2]
        assert [one.code for one in check_mission(now) if one.severity == "error"] == ["mission-place"]


def test_a_mission_is_written_to_a_file_of_its_ending(edited: Edited, tmp_path: Path) -> None:
    edited.file.save(edited.path)
    for name in ("x.msh", "x.dat", "x.map"):
        assert call(cli.gltf2msh, edited.path, "-o", tmp_path / name, "-q") == 2
    assert call(cli.gltf2msh, edited.path, "-o", tmp_path / "x.tma", "-q") == 0
    assert (tmp_path / "x.tma").read_bytes() == edited.source.read_bytes()
    assert [path.name for path in tmp_path.glob("x.*")] == ["x.tma"]
