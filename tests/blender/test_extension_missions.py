"""Units and missions through the extension in real Blender."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.formats.objects import read_unit
from tests.blender.test_extension import Seen, see, zip_file
from tests.support.assembled_game import BASE, GROUND, ROBOT

__all__ = ["zip_file"]


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), ("units", "missions", "assets", "placing"))


def test_a_unit_is_opened_in_its_game(seen: Seen) -> None:
    facts = seen.facts["units"]
    assert facts["scene"] == "robot"
    assert facts["kinds"] == {"component": 3, "unit": 1}
    assert facts["keys"] == ["e_gun_1", "i_comp", "u_robot"]
    assert facts["frames"] == [0, 25, 24]
    assert facts["state"][:2] == ["robot.dat", "unit"]
    assert facts["state"][3] == "robot.msh-sidecar"


def test_a_unit_is_put_back(seen: Seen) -> None:
    facts, folder = seen.facts["units"], seen.out / "units"
    for name in ("same.dat", "undone.dat"):
        seen.same("units", name, folder / "before.dat")
    before, after = (read_unit((folder / f"{n}.dat").read_bytes(), n) for n in ("before", "exchanged"))
    assert [before.key(row) for row in range(3)] == ["u_robot", "e_gun_1", "i_comp"]
    assert [after.key(row) for row in range(3)] == ["u_robot", "s_rock", "i_comp"]
    assert len(facts["exchanged"]["rows"]) == 1


def test_a_unit_outside_a_game_needs_the_preferences(seen: Seen) -> None:
    facts = seen.facts["units"]
    assert "no folder around it has objects.rlb" in facts["outside"]
    assert "Preferences > Add-ons > MSH" in facts["outside"]
    assert "--game" not in facts["outside"]
    assert facts["named"] == facts["state"][2]


def test_a_mission_is_sorted_by_kind_and_clan(seen: Seen) -> None:
    facts = seen.facts["missions"]
    assert facts["scene"] == "Single.01"
    assert facts["collections"] == {
        "Single.01": False,
        "Single.01.routes": True,
        "Single.01.zones": True,
        "Single.01.lodes": True,
    }
    assert facts["tree"] == {
        "objects": [],
        "Single.01.buildings": {"objects": [], "Single.01.buildings.Игрок": {"objects": ["Base"]}},
        "Single.01.units": {"objects": [], "Single.01.units.Игрок": {"objects": ["Guard", "Герой"]}},
        "Single.01.rocks": {"objects": ["S_ROCK"]},
    }
    assert facts["routes"] == ["route_7"]


def test_objects_say_what_they_are_and_stand_where_the_game_has_them(seen: Seen) -> None:
    facts = seen.facts["missions"]
    paths = {name: said["path"] for name, said in facts["said"].items()}
    assert paths == {"Base": BASE, "Герой": ROBOT.lower(), "Guard": ROBOT, "S_ROCK": "S_ROCK"}
    assert facts["said"]["Герой"]["hosted"] == 1
    assert facts["properties"] == {"LogicalID": 100, "ClanID": 1}
    assert facts["reopened"] == facts["said"]
    for name in ("Base", "Guard", "S_ROCK"):
        np.testing.assert_allclose(facts["places"][name], [100, 100, GROUND], atol=1e-5)
    assert facts["shared"] == [4, 3], "two robots show one collection"
    assert facts["folder"]


def test_a_mission_is_no_model(seen: Seen) -> None:
    facts = seen.facts["missions"]
    assert "not one model; untick Rebuild Everything" in facts["rebuild"]
    assert facts["untouched"]["warnings"] == []
    seen.same("missions", "same.tma", seen.out / "missions/before.tma")


def test_an_asset_library_has_every_model_and_unit(seen: Seen) -> None:
    facts = seen.facts["assets"]
    found = facts["assets"]
    assert sorted(found) == ["BUILDS/base", "robot", "static/s_rock", "static/u_robot"]
    named = {line.split(":")[0]: line.split(":")[1] for line in facts["catalogs"].splitlines()[2:]}
    assert {name: named[one["catalog"]] for name, one in found.items()} == {
        "BUILDS/base": "units/BUILDS",
        "robot": "units",
        "static/s_rock": "models/static.rlb",
        "static/u_robot": "models/static.rlb",
    }
    tops = {name: one["top"][0][1] for name, one in found.items()}
    assert all(len(one["top"]) == 1 for one in found.values())
    assert tops["BUILDS/base"] == {"kind": "object", "object_kind": 0, "path": BASE}
    assert tops["robot"] == {"kind": "object", "object_kind": 1, "path": ROBOT}
    assert tops["static/s_rock"] == {"kind": "object", "object_kind": 2, "path": "s_rock"}
    own = found["static/u_robot"]["meshes"] + found["static/s_rock"]["meshes"]
    assert sorted(own) == found["robot"]["meshes"], "a unit shows the meshes of its models"


def test_assets_have_thumbnails(seen: Seen) -> None:
    """Blender 5.0 and 5.1 drop them when they write a library."""
    facts = seen.facts["assets"]
    shape, covered, corner = facts["drawn"]
    assert shape == [128, 128, 4]
    assert 0.1 < covered < 0.9
    assert corner == [0, 0, 0, 0]
    for one in facts["assets"].values():
        if [5, 0] <= facts["version"] < [5, 2]:
            assert one["thumbnail"] is None
        else:
            assert one["thumbnail"][:2] == [128, 128]
            assert 0.1 < one["thumbnail"][2] < 0.9


def test_a_library_changes_nothing_else(seen: Seen) -> None:
    facts = seen.facts["assets"]
    assert facts["same"] == [True, "walker"]
    assert facts["files"] == ["blender_assets.cats.txt", "библиотека.blend"]
    lines = facts["catalogs"].splitlines()
    assert "abc:mine:mine" in lines
    assert len(lines) == len(set(lines)) == 6
    assert "Preferences > Add-ons > MSH" in facts["no_game"]


def test_assets_are_placed_in_a_mission_and_put_back(seen: Seen) -> None:
    facts = seen.facts["placing"]
    assert facts["warnings"] == []
    assert sorted(row[3] for row in facts["rows"]) == ["is new, S_ROCK", "is new, units\\robot.dat", "moved"]
    said = facts["said"]
    assert len(said) == 6
    assert said["robot"][0].lower() == ROBOT.lower()
    np.testing.assert_allclose(said["robot"][1], [120, 80, 9], atol=1e-4)
    np.testing.assert_allclose(said["S_ROCK#2"][1], [130, 80, 9], atol=1e-4)
    np.testing.assert_allclose(said["Guard"][1], [107, 100, GROUND], atol=1e-4)
