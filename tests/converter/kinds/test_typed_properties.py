"""Custom properties beside ``msh``, as Blender makes them: they count, or are reported."""

from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.mission import ROCK, VEGETATION
from tests.converter.kinds.test_import_missions import Edited
from tests.converter.kinds.test_import_units import Edited as EditedUnit
from tests.support.assembled_game import ROBOT


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    return Edited(tmp_path)


@pytest.fixture
def unit(tmp_path: Path) -> EditedUnit:
    return EditedUnit(tmp_path)


def test_words_of_an_object_count(edited: Edited) -> None:
    edited.object(2)["extras"] |= {"path": ROBOT, "clan": 0, "logical_id": 7, "start": 1}
    edited.object(3)["extras"] |= {"host": -1, "vertex": -1, "path": "u_robot"}
    out, before, now = edited.back(game=str(edited.source.parents[2]))
    assert [str(change) for change in out.changes] == [
        "object 'Guard': clan 1 became 0",
        "object 'Guard': logical_id 102 became 7",
        "object 'Guard': start 0 became 1",
        "object 'S_ROCK': S_ROCK became u_robot",
    ]
    assert not out.not_applied
    assert now.objects[3].reference == "u_robot"
    assert [one.record.tobytes() for one in now.objects[:2]] == [one.record.tobytes() for one in before.objects[:2]]


def test_words_of_zones_lodes_and_routes_count(edited: Edited) -> None:
    edited.of("zone")["extras"]["inner"] = 2.5
    edited.of("lode")["extras"] |= {"amount": 77, "found": 1}
    edited.of("route")["extras"]["route"] = 9
    out, _, now = edited.back()
    assert len(out.changes) == 3
    assert now.clans[0].zones["inner"][0] == 2.5
    assert (now.lodes["amount"][0], now.lodes["found"][0]) == (77, 1)
    assert now.routes[0].id == 9


def test_of_two_the_edited_one_counts_and_a_contradiction_is_reported(edited: Edited) -> None:
    """A scene that is put back again still has the typed one."""
    extras = edited.object(2)["extras"]
    extras["clan"], extras["msh"]["clan"] = 1, 0
    out, _, now = edited.back()
    assert int(now.objects[2].record["clan"]) == 0
    assert not out.not_applied
    extras["msh"]["start"], extras["start"] = 1, 2
    out, _, now = edited.back()
    (refused,) = out.not_applied
    assert (refused.where, refused.what) == ("object 'Guard'", "its custom property start is 2")
    assert "in its property msh was edited, too: 1" in refused.why
    assert int(now.objects[2].record["start"]) == 1


def test_a_path_alone_places_an_object(edited: Edited) -> None:
    node = {"name": "Rock in the way", "translation": [9.0, 1.0, -8.0]}
    edited.add({**node, "extras": {"path": "s_rock", "clan": 1, "logical_id": 55}})
    out, _, now = edited.back()
    new = now.objects[4]
    assert (new.reference, new.title, int(new.record["clan"])) == ("S_ROCK", node["name"], 1)
    assert [one.what for one in out.not_applied] == ["its custom property logical_id is 55"]


@pytest.mark.parametrize("value", ["no_such_key", 5, ["s_rock"]])
def test_a_path_of_nothing_is_reported(edited: Edited, value: object) -> None:
    edited.add({"name": "Rock", "extras": {"path": value}})
    out, _, now = edited.back()
    assert len(now.objects) == 4
    assert {one.where for one in out.not_applied} == {"node 'Rock'"}
    assert "nothing of this name is known of the game" in [one.why for one in out.not_applied]


@pytest.mark.parametrize("value", ["no_such_key", 5])
def test_a_path_of_nothing_on_an_object_is_refused(edited: Edited, value: object) -> None:
    edited.object(2)["extras"]["path"] = value
    with pytest.raises(ConversionError, match="places what neither"):
        edited.back()


def test_on_a_part_of_a_model_it_is_reported(edited: Edited) -> None:
    """In Blender a click selects the mesh, not the empty of the object."""
    part = next(n for n in edited.file.json["nodes"] if "node" in n.get("extras", {}).get("msh", {}))
    part["extras"]["path"] = "S_ROCK"
    out, _, _ = edited.back()
    assert [(one.what, one.instead) for one in out.not_applied] == [
        ("has a custom property path", "give the property to the object above it")
    ]
    assert out.data == edited.source.read_bytes()


def test_what_is_below_another_node_places_nothing_without_a_path(edited: Edited) -> None:
    forest = edited.add({"name": "forest", "children": []})
    for extras in ({}, {"path": "s_rock"}):
        edited.file.json["nodes"].append({"name": "S_ROCK", "extras": extras})
        forest["children"].append(len(edited.file.json["nodes"]) - 1)
    out, _, now = edited.back()
    assert len(now.objects) == 5
    assert [one.where for one in out.not_applied] == ["node 'S_ROCK'"]


def test_words_of_a_component_count(unit: EditedUnit) -> None:
    unit.part(1)["extras"] |= {"key": "s_rock", "label": "Камень", "class": 2}
    out, _, now = unit.back()
    assert (now.key(1), now.label(1), now.part_class(1)) == ("s_rock", "Камень", 2)
    assert not out.not_applied


def test_scenery_is_vegetation_or_rock(edited: Edited) -> None:
    """The kind is kept when the path changes; a new key has no kind of its own."""
    game = str(edited.source.parents[2])
    edited.object(3)["extras"]["msh"]["path"] = "u_robot"
    out, before, now = edited.back(game=game)
    assert (before.objects[3].kind, now.objects[3].kind) == (ROCK, ROCK)
    edited.object(3)["extras"]["msh"]["object_kind"] = VEGETATION
    edited.add({"name": "Stone", "extras": {"path": "u_robot", "object_kind": ROCK}})
    out, _, now = edited.back(game=game)
    assert (now.objects[3].kind, now.objects[4].kind) == (VEGETATION, ROCK)
    assert "object 'S_ROCK': object_kind 3 became 2" in [str(change) for change in out.changes]
    assert not out.not_applied


def test_other_kinds_follow_from_the_path(edited: Edited) -> None:
    edited.object(2)["extras"]["msh"]["object_kind"] = 3
    edited.object(3)["extras"]["msh"]["object_kind"] = 7
    out, _, _ = edited.back()
    assert [(one.where, one.what) for one in out.not_applied] == [
        ("object 'Guard'", "object_kind became 3"),
        ("object 'S_ROCK'", "object_kind became 7"),
    ]
    assert out.data == edited.source.read_bytes()
