"""What a mission or unit places is one object: selected, moved, copied and deleted whole."""

from pathlib import Path

import pytest

from msh_gltf.converter.formats.objects import read_unit
from tests.blender.test_extension import Seen, see, zip_file

__all__ = ["zip_file"]
STEPS = ("things", "opened", "by_gltf", "carried", "fielded")


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), STEPS)


def test_a_placed_object_is_one_empty(seen: Seen) -> None:
    """So a click selects it: the scene has no mesh but the ground."""
    facts = seen.facts["things"]
    assert facts["empties"] == ["Base", "Guard", "S_ROCK", "Герой"]
    assert len(facts["meshes"]) == 2, "the ground and a route"
    assert facts["shared"]


def test_moving_copying_and_deleting_mean_the_object(seen: Seen) -> None:
    facts = seen.facts["things"]
    assert facts["gestures"]["warnings"] == []
    rows = {tuple(row[1:]) for row in facts["gestures"]["rows"]}
    assert {row[-1] for row in rows} >= {"moved", "is deleted"}
    after = facts["after"]
    assert "S_ROCK" not in after
    assert after["Base"][0] == 107
    assert len(after) == 4
    assert sorted(place[0] for place in after.values()).count(120) == 1


def test_a_model_that_is_opened_and_closed_is_unchanged(seen: Seen) -> None:
    facts = seen.facts["opened"]
    assert (facts["below"], facts["active"], facts["type"], facts["copies"]) == (True, "MESH", "NONE", True)
    assert facts["closed"]
    for name in ("open", "done"):
        assert facts[name]["warnings"] == []
        seen.same("opened", f"{name}.tma", seen.out / "opened/before.tma")


def test_an_edit_of_a_model_is_one_of_all_its_places(seen: Seen) -> None:
    facts = seen.facts["opened"]
    for name in ("edited", "again"):
        assert any("static.rlb" in row[1] or "room.msh" in row[1] for row in facts[name]["rows"]), facts[name]
    seen.same("opened", "edited.tma", seen.out / "opened/before.tma")


def test_what_goes_by_gltf_is_unchanged_too(seen: Seen) -> None:
    facts = seen.facts["by_gltf"]
    assert facts["needs"]
    seen.same("by_gltf", "same.tma", seen.out / "by_gltf/before.tma")


def test_a_part_of_a_unit_is_one_object(seen: Seen) -> None:
    """Also one that carries others, which stay on their sockets: opened, closed, and moved by the clip."""
    facts = seen.facts["carried"]
    assert facts["kinds"] == ["EMPTY"]
    assert facts["parts"]["u_robot"][::2] == ["COLLECTION", 2]
    assert facts["parts"]["e_gun_1"] == ["COLLECTION", "u_robot", 0]
    assert max(facts["away"]) < 1e-5
    assert facts["open"] == [True, []]
    assert facts["closed"] == [True, True, 2]
    assert (facts["untouched"]["warnings"], facts["done"]) == ([], [])
    for name in ("same", "open", "done", "by_gltf", "undone"):
        seen.same("carried", f"{name}.dat", seen.out / "carried/before.dat")
    assert facts["mounted"][0]
    assert any("attach" in row[-1] for row in facts["mounted"][1]["rows"])
    after = read_unit((seen.out / "carried/deleted.dat").read_bytes(), "deleted")
    assert [after.key(row) for row in range(len(after))] == ["u_robot", "i_comp"]


def test_fields_are_the_custom_properties(seen: Seen) -> None:
    facts = seen.facts["fielded"]
    assert facts["fields"] == ["path", "clan", "logical_id", "start", "host", "vertex"]
    assert facts["component"] == ["key", "attach", "class", "label"]
    assert facts["boxes"] == [32, True, False]
    assert facts["node"] == ["flags", *["tri_flags"] * 5]
    assert (facts["was"], facts["typed"]) == (102, 4)
    assert any("logical_id 102 became 500" in row[-1] for row in facts["report"]["rows"]), facts["report"]


def test_a_row_of_the_report_selects_what_it_names(seen: Seen) -> None:
    assert seen.facts["fielded"]["selected"] == ["Guard"]


def test_what_the_user_switched_off_is_named(seen: Seen) -> None:
    """Not the routes, zones and lodes, which the import switched off."""
    assert seen.facts["fielded"]["off"] == []
    assert seen.facts["fielded"]["backup"] == ["backup"]
