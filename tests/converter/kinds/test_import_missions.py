"""Missions that were edited as glTF: only the records concerned change.

What comes of each edit stands in ``missions.txt``; ``python -m tests.converter.kinds.test_import_missions`` writes it
again, for you to read what became different.
"""

import copy
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.checks.assembly import check_mission
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.mission import ROCK, VEGETATION, read_mission
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.kinds.test_export_assembled import exported
from tests.support.assembled_game import ROBOT, GameParts
from tests.support.gltf_edit import Editable
from tests.support.recorded import Recorded, outcome

Node = dict[str, Any]
#: What comes of each edit.
MISSIONS = Recorded(__file__, "missions.txt")


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

    def msh(self, row: int, **values: Any) -> None:
        """Change custom properties of an object, as they were exported."""
        self.object(row)["extras"]["msh"].update(values)

    def back(self, **options: Any) -> ImportResult:
        return import_gltf(self.file.save(self.path), None, ImportOptions(**options))


def noise(e: Edited) -> None:
    """A quaternion of the other sign, and what float32 rounds."""
    for row in range(4):
        node = e.object(row)
        x, y, z, w = node.get("rotation", (0, 0, 0, 1))
        node["rotation"] = [-x, -y, -z, -w]
        if "scale" in node:
            node["scale"] = [1.5000001, 1.4999999, 1.5]


def two_of_one_index(e: Edited) -> None:
    """The one at the stored place keeps the record; names do not decide."""
    stored = e.object(2)
    copied = e.copy(stored, [150.0, 5.0, -150.0])
    copied["name"], stored["name"] = stored["name"], copied["name"]


def around_an_object(e: Edited) -> None:
    """An instance around an object is not placed by its name, too."""
    e.file.json["nodes"].append({"name": "robot.001", "extras": {"msh": {"kind": "object", "path": ROBOT}}})
    inside = len(e.file.json["nodes"]) - 1
    e.add({"name": "robot", "translation": [40.0, 3.0, -60.0], "children": [inside]})


def below_another_node(e: Edited) -> None:
    """What is below another node places nothing without a path."""
    forest = e.add({"name": "forest", "children": []})
    for extras in ({}, {"path": "s_rock"}):
        e.file.json["nodes"].append({"name": "S_ROCK", "extras": extras})
        forest["children"].append(len(e.file.json["nodes"]) - 1)


def zones_and_lodes(e: Edited) -> None:
    e.of("zone").update(translation=[60.0, 0.0, -50.0], scale=[12.0, 12.0, 12.0])
    e.of("zone")["extras"]["msh"]["inner"] = 6.5
    e.copy(e.of("lode"), [5.0, 0.0, -5.0], scene=3)["extras"]["msh"]["amount"] = 50.0


def names_ids_and_properties(e: Edited) -> None:
    e.object(0)["name"] = "Крепость"
    e.msh(0, logical_id=500, clan=0)
    e.object(0)["extras"]["msh"]["properties"]["ClanID"] = 1


def lines_turned(e: Edited) -> None:
    index = e.file.json["meshes"][e.of("route")["mesh"]]["primitives"][0]["indices"]
    e.file.arrays[index] = e.file.arrays[index][::-1].copy()


def placed(e: Edited, name: str, **extras: Any) -> None:
    e.add({"name": name, "translation": [40.0, 3.0, -60.0], "extras": extras})


def on_a_part(e: Edited) -> None:
    """In Blender a click selects the mesh, not the empty of the object."""
    part = next(n for n in e.file.json["nodes"] if "node" in n.get("extras", {}).get("msh", {}))
    part["extras"]["path"] = "S_ROCK"


def on_an_outline(start: int) -> GameParts:
    outline = np.float32([[-30, -20, 5], [40, -20, 6], [40, 25, 5], [-30, 25, 7], [-30, -20, 5]])
    ring = struct.pack("<2i", 1, 4) + outline.tobytes()
    parts = GameParts(more=[(int.from_bytes(b"BASE", "little"), b"base.bas", ring + bytes(32) + ring)])
    parts.objects["fr_base"][1].append(("static.rlb", "base.bas"))
    parts.placed[0]["start"] = start
    return parts


def on_a_slope(e: Edited) -> None:
    """Likely it stands at the mean height of the ground below the corners of its outline; a unit where it is put."""
    there = [130.0, 2.0, -140.0]
    e.object(0).update(translation=there, rotation=[0.0, float(np.sin(0.25)), 0.0, float(np.cos(0.25))])
    e.object(2)["translation"] = there


TURN = [0.0, 0.7071068, 0.0, 0.7071068]
IDS = {"LogicalID": 100, "ClanID": 1}
#: Edits by name; those of ``IN_GAME`` are imported with the game.
EDITS: dict[str, Callable[[Edited], object]] = {
    "noise": noise,
    "scaled": lambda e: [e.object(row).update(scale=[2.0, 2.0, 2.0]) for row in (2, 3)],
    "tilted": lambda e: e.object(2).update(rotation=[float(np.sin(0.1)), 0.0, 0.0, float(np.cos(0.1))]),
    "two of one index": two_of_one_index,
    "two copies": lambda e: [e.copy(e.object(0), [x, 5.0, -150.0]) for x in (150.0, 160.0)],
    "a host is deleted": lambda e: e.delete(e.object(0)),
    "a guest without host": lambda e: (
        e.object(1).update(translation=[10.0, 2.0, -30.0]),
        e.msh(1, host=-1, vertex=-1),
    ),
    "an object of a path": lambda e: placed(e, "Fort", msh={"kind": "object", "path": "units/BUILDS/base.dat"}),
    "an unknown path": lambda e: placed(e, "Moon", msh={"kind": "object", "path": "units/moon.dat"}),
    "names, ids and properties": names_ids_and_properties,
    "a name beyond CP1251": lambda e: e.object(2).update(name="守衛"),
    "no name": lambda e: e.object(2).update(name=""),
    "level and clans": lambda e: e.file.json["scenes"][0]["extras"]["msh"].update(
        map="DATA\\MAPS\\M2\\land", clans="Nature\nИгроки"
    ),
    "no level and no clans": lambda e: [e.file.json["scenes"][0]["extras"]["msh"].pop(k) for k in ("map", "clans")],
    "lines in another order": lines_turned,
    "a route without lines": lambda e: e.of("route").pop("mesh"),
    "a route of another number": lambda e: e.of("route")["extras"]["msh"].update(route=9),
    "two routes of one number": lambda e: e.of("route", 1)["extras"]["msh"].update(route=7),
    "zones and lodes": zones_and_lodes,
    "zone and route deleted": lambda e: [e.delete(e.of(kind)) for kind in ("zone", "route")],
    "no custom properties": lambda e: [node.pop("extras", None) for node in e.file.json["nodes"]],
    "too far": lambda e: e.object(3).update(translation=[1e30, 0.0, 0.0]),
    "too far for the game": lambda e: e.object(3).update(translation=[1e9, 0.0, 0.0]),
    "too large for the game": lambda e: e.object(3).update(scale=[2e6, 2e6, 2e6]),
    "another kind follows from the path": lambda e: (e.msh(2, object_kind=3), e.msh(3, object_kind=7)),
    "typed: words of zones, lodes and routes": lambda e: [
        e.of(kind)["extras"].update(words)
        for kind, words in (("zone", {"inner": 2.5}), ("lode", {"amount": 77, "found": 1}), ("route", {"route": 9}))
    ],
    "typed: the edited one of two counts": lambda e: (e.object(2)["extras"].update(clan=1), e.msh(2, clan=0)),
    "typed: a contradiction": lambda e: (e.object(2)["extras"].update(start=2), e.msh(2, start=1)),
    "typed: a path alone": lambda e: placed(e, "Rock in the way", path="s_rock", clan=1, logical_id=55),
    "typed: on a part of a model": on_a_part,
    "typed: below another node": below_another_node,
}
EDITS |= {
    f"row 0, {properties}": lambda e, properties=properties: e.msh(0, properties=properties)
    for properties in (
        {},
        IDS | {"LogicalID": float("inf")},
        IDS | {"LogicalID": "many"},
        IDS | {"ClanID": 1.5},
        IDS | {"New": 1},
    )
}
EDITS |= {
    f"row 2, {values}": lambda e, values=values: e.msh(2, **values)
    for values in ({"logical_id": 100}, {"logical_id": "x"}, {"clan": 9}, {"host": 77, "vertex": 1})
}
EDITS |= {
    f"index {str(index)[:9]}": lambda e, index=index: e.msh(2, index=index)
    for index in (float("inf"), -1, 0.5, "x", None, [1], 10**400)
}
EDITS |= {
    f"{kind}, {change}": lambda e, kind=kind, change=change: e.of(kind).update(change)
    for kind, change in (
        *((kind, {"rotation": TURN}) for kind in ("zone", "lode")),
        ("lode", {"scale": [2.0, 2.0, 2.0]}),
        *(("zone", {"scale": scale}) for scale in ([-12.0, 12.0, 12.0], [12.0, 12.0, 9.0])),
    )
}
EDITS |= {
    f"typed: path {value} {'on an object' if own else 'alone'}": lambda e, value=value, own=own: (
        e.object(2)["extras"].update(path=value) if own else placed(e, "Rock", path=value)
    )
    for value in ("no_such_key", 5, ["s_rock"])
    for own in (False, True)
}
IN_GAME: dict[str, Callable[[Edited], object]] = {
    **{f"a building on a slope, start {start}": on_a_slope for start in (0, 1)},
    **{f"asset {name}": lambda e, name=name: placed(e, name) for name in ("robot", "robot.002", "e_gun_1", "i_comp")},
    "an instance around an object": around_an_object,
    "typed: words of objects": lambda e: (
        e.object(2)["extras"].update(path=ROBOT, clan=0, logical_id=7, start=1),
        e.object(3)["extras"].update(host=-1, vertex=-1, path="u_robot"),
    ),
    "typed: scenery of another path": lambda e: e.msh(3, path="u_robot"),
    "typed: scenery is vegetation or rock": lambda e: (
        e.msh(3, path="u_robot", object_kind=VEGETATION),
        placed(e, "Stone", path="u_robot", object_kind=ROCK),
    ),
}


#: Games that are no plain ones: two routes, and a building with the outline of its base and its start flag.
PARTS = {
    "two routes of one number": lambda: GameParts(routes=[(7, [(1, 1, 0), (5, 2, 0)]), (8, [(9, 9, 0), (9, 2, 0)])]),
    **{f"a building on a slope, start {start}": lambda start=start: on_an_outline(start) for start in (0, 1)},
}


def found(name: str, folder: Path) -> str:
    """What comes of an edit."""
    e = Edited(folder, PARTS.get(name, GameParts)())
    (EDITS | IN_GAME)[name](e)
    return outcome(lambda: e.back(game=str(folder / "GAME") if name in IN_GAME else None), folder)


@pytest.mark.parametrize("name", [*EDITS, *IN_GAME])
def test_what_comes_of_an_edit(name: str, tmp_path: Path) -> None:
    MISSIONS.require(name, found(name, tmp_path))


def test_what_the_export_refuses_is_written_unverified(tmp_path: Path) -> None:
    edited = Edited(tmp_path)
    EDITS["too far for the game"](edited)
    now = read_mission(edited.back(verify=False).data, "x")
    assert [one.code for one in check_mission(now) if one.severity == "error"] == ["mission-place"]


def test_without_its_sidecar_a_mission_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="is not written without its sidecar"):
        Edited(tmp_path).back(use_sidecar=False)


if __name__ == "__main__":
    MISSIONS.write_each([*EDITS, *IN_GAME], found)
