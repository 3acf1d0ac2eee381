"""Units that were edited as glTF: parts exchanged, moved, removed and added.

What comes of each edit stands in ``units.txt``; ``python -m tests.converter.kinds.test_import_units`` writes it again,
for you to read what became different.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.kinds.test_export_assembled import exported
from tests.support.assembled_game import ROBOT, GameParts
from tests.support.gltf_edit import Editable
from tests.support.recorded import Recorded, outcome

Node = dict[str, Any]
#: What comes of each edit.
UNITS = Recorded(__file__, "units.txt")


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

    def back(self, *, game: bool = True) -> ImportResult:
        options = ImportOptions(game=str(self.game) if game else None)
        return import_gltf(self.file.save(self.path), None, options)


def copied_gun(e: Edited) -> None:
    gun = copy.deepcopy(e.part(1))
    gun.pop("children", None)
    e.add({**gun, "name": "e_gun_1.001"}, e.node(8))


#: Edits by name; those of ``ALONE`` are imported without the game.
EDITS: dict[str, Callable[[Edited], object]] = {
    "exchanged, in other letters": lambda e: e.extras(1).update(key="E_GUN_2"),
    "on another socket": lambda e: e.attach(e.part(1), e.node(8)),
    "attach": lambda e: e.extras(1).update(attach=11),
    "a copied gun": copied_gun,
    "an asset": lambda e: e.add({"name": "e_gun_2"}, e.node(8)),
    "an unknown key": lambda e: e.extras(1).update(key="e_gun_9"),
    "a class that does not fit the socket": lambda e: e.extras(1).update({"class": 1}),
    "on nothing": lambda e: e.file.json["scenes"][0]["nodes"].append(e.detach(e.part(1))),
    "without its chassis": lambda e: e.part(0).update(extras={"msh": {"kind": "other"}}),
    "typed: words of a component": lambda e: e.part(1)["extras"].update(
        {"key": "s_rock", "label": "Камень", "class": 2}
    ),
    **{
        f"{key} {value}": lambda e, key=key, value=value: e.extras(1).update({key: value})
        for key, value in (("class", 9), ("class", "x"), ("attach", "x"), ("label", "守" * 3))
    },
}
ALONE: dict[str, Callable[[Edited], object]] = {
    f"a key of {length} bytes": lambda e, length=length: e.extras(1).update(key="k" * length) for length in (31, 32)
}


def found(name: str, folder: Path) -> str:
    """What comes of an edit."""
    e = Edited(folder)
    (EDITS | ALONE)[name](e)
    return outcome(lambda: e.back(game=name in EDITS), folder)


@pytest.mark.parametrize("name", [*EDITS, *ALONE])
def test_what_comes_of_an_edit(name: str, tmp_path: Path) -> None:
    UNITS.require(name, found(name, tmp_path))


if __name__ == "__main__":
    UNITS.write_each([*EDITS, *ALONE], found)
