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
from msh_gltf.converter.options import ImportOptions
from tests.support.assembled_game import GameParts
from tests.support.inside_game import Inside, Node, convert, robot_of
from tests.support.recorded import Recorded, outcome

#: What comes of each edit.
UNITS = Recorded(__file__, "units.txt")


class Edited(Inside):
    """The glTF of the robot, to be edited and imported."""

    def __init__(self, folder: Path) -> None:
        parts = GameParts()
        parts.objects["e_gun_2"] = parts.objects["e_gun_1"]
        self.game = folder / "GAME"
        convert(robot_of(parts.write(self.game)), folder / "robot.glb")
        super().__init__(folder / "robot.glb")

    def part(self, row: int) -> Node:
        components = [node for node in self.nodes if self.extras(node).get("kind") == "component"]
        return next(node for node in components if self.extras(node)["index"] == row)

    def of(self, row: int) -> dict[str, Any]:
        return self.extras(self.part(row))

    def chassis(self, number: int) -> Node:
        return self.node("u_robot", number)


def copied_gun(e: Edited) -> None:
    gun = copy.deepcopy(e.part(1))
    gun.pop("children", None)
    e.add({**gun, "name": "e_gun_1.001"}, e.chassis(8))


#: Edits by name; those of ``ALONE`` are imported without the game.
EDITS: dict[str, Callable[[Edited], object]] = {
    "exchanged, in other letters": lambda e: e.of(1).update(key="E_GUN_2"),
    "on another socket": lambda e: e.move(e.part(1), e.chassis(8)),
    "attach": lambda e: e.of(1).update(attach=11),
    "a copied gun": copied_gun,
    "an asset": lambda e: e.add({"name": "e_gun_2"}, e.chassis(8)),
    "an unknown key": lambda e: e.of(1).update(key="e_gun_9"),
    "a class that does not fit the socket": lambda e: e.of(1).update({"class": 1}),
    "on nothing": lambda e: e.file.json["scenes"][0]["nodes"].append(e.remove(e.part(1))),
    "without its chassis": lambda e: e.part(0).update(extras={"msh": {"kind": "other"}}),
    "typed: words of a component": lambda e: e.part(1)["extras"].update(
        {"key": "s_rock", "label": "Камень", "class": 2}
    ),
    **{
        f"{key} {value}": lambda e, key=key, value=value: e.of(1).update({key: value})
        for key, value in (("class", 9), ("class", "x"), ("attach", "x"), ("label", "守" * 3))
    },
}
ALONE: dict[str, Callable[[Edited], object]] = {
    f"a key of {length} bytes": lambda e, length=length: e.of(1).update(key="k" * length) for length in (31, 32)
}


def found(name: str, folder: Path) -> str:
    """What comes of an edit."""
    e = Edited(folder)
    (EDITS | ALONE)[name](e)
    options = ImportOptions(game=str(e.game) if name in EDITS else None)
    return outcome(lambda: import_gltf(e.file.save(e.path), None, options), folder)


@pytest.mark.parametrize("name", [*EDITS, *ALONE])
def test_what_comes_of_an_edit(name: str, tmp_path: Path) -> None:
    UNITS.require(name, found(name, tmp_path))


if __name__ == "__main__":
    UNITS.write_each([*EDITS, *ALONE], found)
