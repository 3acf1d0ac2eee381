"""``msh-inspect`` on units, missions and registries: what they hold, what differs, what is used."""

import json
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter.cli import msh_inspect
from msh_gltf.converter.game.inspect import describe_uses
from msh_gltf.converter.kinds.differences import diff_files
from tests.support.assembled_game import BASE, ROBOT, ROOM, SOCKET, GameParts
from tests.support.corpus import DATA
from tests.support.corruption.base import Nres
from tests.support.runs import call


@pytest.fixture
def game(tmp_path: Path) -> Path:
    root = tmp_path / "game"
    GameParts().write(root)
    return root


def facts(capsys: pytest.CaptureFixture, *arguments: object) -> Any:
    assert call(msh_inspect, *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def shown(capsys: pytest.CaptureFixture, *arguments: object) -> str:
    assert call(msh_inspect, *arguments) == 0
    return capsys.readouterr().out


def test_a_directory_with_a_mission_is_the_mission(game: Path, capsys: pytest.CaptureFixture) -> None:
    path = game / "MISSIONS/Single.01/data.tma"
    assert shown(capsys, path.parent) == shown(capsys, path)
    assert shown(capsys, "--diff", path.parent, path.parent) == "no differences\n"
    assert call(msh_inspect, path.parent.parent) == 2  # a directory without one


def test_missing_parts_are_named(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    parts = GameParts()
    parts.units[ROBOT][2] = ("i_nothing", 3, 0, 0)
    parts.write(tmp_path)
    text = shown(capsys, tmp_path / "UNITS/robot.dat")
    assert "missing: the key" in text
    assert "warning unit-key" in text


def test_a_unit_without_a_game_is_shown(game: Path, capsys: pytest.CaptureFixture) -> None:
    alone = game.parent / "alone.dat"
    alone.write_bytes((game / "UNITS/robot.dat").read_bytes())
    assert "no objects.rlb above it: keys were not looked up" in shown(capsys, alone)


def test_a_registry_is_shown(game: Path, capsys: pytest.CaptureFixture) -> None:
    registry = facts(capsys, game / "objects.rlb")
    fort = next(one for one in registry["objects"] if one["key"] == "fr_base")
    assert fort["files"][".msh"] == "static.rlb::room.msh"
    text = shown(capsys, game / "objects.rlb")
    assert "object registry of 6 keys: 3 EXTO, 1 FORT, 1 INTO, 1 STAT" in text
    assert "fr_base FORT  static.rlb::room.msh  static.rlb::room.wea  by b_base" in text


# ------------------------------------------------------------------ --diff


def differences(game: Path, change, file: str) -> list[tuple[str, str, list[str]]]:
    parts = GameParts()
    change(parts)
    other = game.parent / "other"
    parts.write(other)
    found = diff_files(game / file, other / file)
    return [(item["table"], item["what"], item["fields"]) for item in found]


MISSION = "MISSIONS/Single.01/data.tma"


def test_equal_missions_have_no_differences(game: Path) -> None:
    assert differences(game, lambda parts: None, MISSION) == []


def test_a_moved_object_is_the_one_that_differs(game: Path) -> None:
    def move(parts: GameParts) -> None:
        parts.placed[2]["place"] = (90.0, 100.0, 3.0)

    assert differences(game, move, MISSION) == [("objects", "'Guard' differs", ["position"])]


def test_removed_and_new_objects_are_named(game: Path) -> None:
    def change(parts: GameParts) -> None:
        rock = parts.placed.pop()
        parts.placed.pop(1)
        parts.placed += [{**rock, "turn": 1.0}, {**rock, "place": (1.0, 1.0, 1.0)}]

    assert differences(game, change, MISSION) == [
        ("objects", "'Герой' is only in the first", []),
        ("objects", "'S_ROCK' differs, now row 2", ["turns"]),
        ("objects", "'S_ROCK' is only in the second", []),
    ]


def test_a_property_and_the_map_are_named(game: Path) -> None:
    def change(parts: GameParts) -> None:
        parts.placed[0]["properties"][0] = (1, 200, "LogicalID")
        parts.map = "DATA\\MAPS\\M2\\land"

    assert differences(game, change, MISSION) == [
        ("mission", "differs", ["map path"]),
        ("objects", "'Base' differs", ["property 0 (LogicalID)"]),
    ]


def test_an_exchanged_part_is_named(game: Path) -> None:
    def change(parts: GameParts) -> None:
        parts.units[ROBOT][1] = ("e_gun_2", 4, SOCKET, 0)

    found = differences(game, change, "UNITS/robot.dat")
    assert found == [("components", "'e_gun_1' differs", ["key", "label"])]


def test_a_changed_row_of_the_registry_is_named(game: Path) -> None:
    def change(parts: GameParts) -> None:
        parts.objects["u_robot"][1][1] = ("static.rlb", "other.wea")

    found = differences(game, change, "objects.rlb")
    assert found[0] == ("keys", "'u_robot' differs", ["row 1"])


def test_rows_after_one_that_is_gone_are_not_different(tmp_path: Path) -> None:
    box = Nres.read((DATA / "retail__odd__s_rock_009.msh").read_bytes())
    whole, shorter = tmp_path / "whole.msh", tmp_path / "shorter.msh"
    whole.write_bytes(box.write())
    rows = len(box.entry(8).data) // 24
    del box.entry(8).data[24 * 3 : 24 * 4]
    shorter.write_bytes(box.write())
    after = f", {rows - 4} rows after them only moved"
    for files, what in (
        ((whole, shorter), f"{rows} rows became {rows - 1}: rows 3..3 became nothing{after}"),
        ((shorter, whole), f"{rows - 1} rows became {rows}: no row became rows 3..3{after}"),
    ):
        assert what in [one["what"] for one in diff_files(*files)]


def test_the_command_prints_differences(game: Path, capsys: pytest.CaptureFixture) -> None:
    parts = GameParts()
    parts.placed[3]["scale"] = 2.0
    other = parts.write(game.parent / "other")
    assert call(msh_inspect, "--diff", game / MISSION, game / MISSION) == 0
    assert capsys.readouterr().out == "no differences\n"
    assert call(msh_inspect, "--diff", game / MISSION, other) == 1
    text = capsys.readouterr().out
    assert "objects: 'S_ROCK' differs (rows 3; scale)" in text
    assert "scale: [1.5, 1.5, 1.5] became [2., 2., 2.]" in text
    assert call(msh_inspect, "--diff", game / MISSION, game / "UNITS/robot.dat") == 2
    assert "is not of the kind of the other file" in capsys.readouterr().err


# ------------------------------------------------------------------ --uses


def used_by(game: Path, name: str) -> dict[str, list[tuple[int, str, str]]]:
    return {
        f"{thing['kind']} {thing['name']}": [(user["depth"], user["kind"], user["name"]) for user in thing["users"]]
        for thing in describe_uses(name, game)
    }


def test_a_model_is_followed_to_the_missions(game: Path) -> None:
    found = used_by(game, "ROCK.msh")
    users = found["model static.rlb::rock.msh"]
    assert (1, "object key", "s_rock") in users
    assert (2, "mission", "MISSIONS/Single.01/data.tma") in users
    assert (2, "unit", "units/robot.dat") in users


def test_a_unit_and_a_key_are_found(game: Path) -> None:
    assert used_by(game, BASE)["unit UNITS/BUILDS/base.dat"] == [(1, "mission", "MISSIONS/Single.01/data.tma")]
    assert used_by(game, "b_base")["object key b_base"][0] == (1, "object key", "fr_base")


def test_a_material_is_followed_through_its_list(game: Path) -> None:
    rows = json.loads((DATA / f"{ROOM}.json").read_text("utf-8"))["wear"]
    name = rows[0] if isinstance(rows[0], str) else rows[0][-1]
    users = used_by(game, name)[f"material {name}"]
    assert users[0] == (1, "material list", "static.rlb::room.wea")
    assert (2, "object key", "u_robot") in users


def test_the_command_prints_users(game: Path, capsys: pytest.CaptureFixture) -> None:
    text = shown(capsys, "--uses", "e_gun_1", game)
    assert text.startswith("object key e_gun_1\n  used by unit ")
    assert call(msh_inspect, "--uses", "nobody", game) == 2
    assert "game has nothing of this name: nobody" in capsys.readouterr().err
    assert call(msh_inspect, "--uses", "x", game / MISSION) == 2
    assert "is not a directory" in capsys.readouterr().err
