"""Units that were edited as glTF: parts exchanged, moved, removed and added."""

import copy
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.objects import Unit, read_unit
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.kinds.test_export_units import exported
from tests.support.assembled_game import ROBOT, SOCKET, GameParts
from tests.support.gltf_edit import Editable

Node = dict[str, Any]


class Edited:
    """The glTF of the robot, to be edited and imported."""

    def __init__(self, folder: Path) -> None:
        parts = GameParts()
        parts.objects["e_gun_2"] = parts.objects["e_gun_1"]
        parts.write(folder / "GAME")
        self.game = folder / "GAME"
        self.source = self.game / ROBOT.replace("\\", "/")
        self.path = folder / "robot.glb"
        exported(self.source, self.path)
        self.file = Editable(self.path)

    def part(self, row: int) -> Node:
        nodes = self.file.json["nodes"]
        found = [n for n in nodes if n.get("extras", {}).get("msh", {}).get("kind") == "component"]
        return next(n for n in found if n["extras"]["msh"]["index"] == row)

    def extras(self, row: int) -> dict[str, Any]:
        found: dict[str, Any] = self.part(row)["extras"]["msh"]
        return found

    def node(self, number: int) -> Node:
        """A node of the chassis."""
        nodes = self.file.json["nodes"]
        return next(n for n in nodes if n.get("extras", {}).get("msh", {}).get("node") == number)

    def detach(self, node: Node) -> int:
        number: int = self.file.json["nodes"].index(node)
        for other in self.file.json["nodes"]:
            if number in other.get("children", []):
                other["children"].remove(number)
        return number

    def attach(self, node: Node, above: Node) -> None:
        above.setdefault("children", []).append(self.detach(node))

    def add(self, node: Node, above: Node) -> Node:
        self.file.json["nodes"].append(node)
        self.attach(node, above)
        return node

    def back(self, *, game: bool = True, **options: Any) -> tuple[ImportResult, Unit, Unit]:
        given = ImportOptions(game=str(self.game) if game else None, **options)
        out = import_gltf(self.file.save(self.path), None, given)
        return out, read_unit(self.source.read_bytes(), "x"), read_unit(out.data, "x")


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    return Edited(tmp_path)


def test_a_part_that_is_parented_to_another_socket_is_mounted_there(edited: Edited) -> None:
    edited.attach(edited.part(1), edited.node(8))
    out, _, now = edited.back()
    assert now.attach(1) == 8
    assert not out.not_applied
    assert [str(one) for one in out.changes] == ["component 1 'e_gun_1': attach 2 became 8"]


def test_the_attachment_is_edited_as_a_property(edited: Edited) -> None:
    edited.extras(1)["attach"] = 11
    _, _, now = edited.back()
    assert now.attach(1) == 11


def test_a_copied_gun_is_added_to_its_socket(edited: Edited) -> None:
    gun = copy.deepcopy(edited.part(1))
    gun.pop("children", None)
    edited.add({**gun, "name": "e_gun_1.001"}, edited.node(8))
    out, _, now = edited.back()
    assert not out.not_applied
    rows = [(now.key(row), now.attach(row)) for row in range(len(now))]
    assert rows == [("u_robot", -1), ("e_gun_1", SOCKET), ("i_comp", 0), ("e_gun_1", 8)]
    assert now.records["child_count"].tolist() == [3, 0, 0, 0]
    assert now.label(3) == "the e_gun_1"


def test_an_asset_is_added_by_its_name(edited: Edited) -> None:
    edited.add({"name": "e_gun_2"}, edited.node(8))
    out, _, now = edited.back()
    assert not out.not_applied
    assert (now.key(3), now.part_class(3), now.attach(3)) == ("e_gun_2", 4, 8)
    assert now.archive(3) == "objects.rlb"


def test_an_unknown_key_is_an_error_with_the_known_ones(edited: Edited) -> None:
    edited.extras(1)["key"] = "e_gun_9"
    with pytest.raises(ConversionError, match="is an object that the game does not have") as caught:
        edited.back()
    assert "e_gun_2" in str(caught.value)


def test_a_key_fills_its_field_or_is_refused(edited: Edited) -> None:
    """The field has 32 bytes, the last of them NUL: nothing is cut off in silence."""
    edited.extras(1)["key"] = "k" * 31
    assert edited.back(game=False)[2].key(1) == "k" * 31
    edited.extras(1)["key"] = "k" * 32
    with pytest.raises(ConversionError, match="is an object that the game does not have"):
        edited.back(game=False)


def test_a_class_that_does_not_fit_its_socket_is_a_warning(edited: Edited) -> None:
    edited.extras(1)["class"] = 1
    out, _, now = edited.back()
    assert now.part_class(1) == 1
    assert any("does not fit its socket" in text for text in out.warnings)


def test_a_part_on_nothing_is_reported(edited: Edited) -> None:
    number = edited.detach(edited.part(1))
    edited.file.json["scenes"][0]["nodes"].append(number)
    out, _, now = edited.back()
    assert len(now) == 2
    assert [one.where for one in out.not_applied] == ["node 'e_gun_1'"]
    assert "is on nothing" in out.not_applied[0].what


def test_a_unit_without_its_chassis_is_refused(edited: Edited) -> None:
    edited.part(0)["extras"] = {"msh": {"kind": "other"}}
    with pytest.raises(ConversionError, match="has no chassis"):
        edited.back()


@pytest.mark.parametrize(("key", "value"), [("class", 9), ("class", "x"), ("attach", "x"), ("label", "守" * 3)])
def test_a_value_that_cannot_be_is_reported(edited: Edited, key: str, value: object) -> None:
    edited.extras(1)[key] = value
    if key == "label":  # texts that readers rely on are checked
        out, _, _ = edited.back()
        assert "CP1251" in str(out.not_applied[0])
        return
    out, _, _ = edited.back()
    assert out.data == edited.source.read_bytes()
    assert len(out.not_applied) == 1
