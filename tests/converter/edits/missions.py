"""Missions that were edited as glTF: only the records concerned change."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from msh_gltf.converter.formats.mission import ROCK, VEGETATION
from tests.support.assembled_game import ROBOT, GameParts
from tests.support.inside_game import Inside, Node, Placed


def delete(e: Inside, *nodes: Node) -> None:
    e.file.take_out(*map(e.nodes.index, nodes))


def msh(e: Inside, row: int, **values: Any) -> None:
    """Change custom properties of an object, as they were exported."""
    e.extras(e.object(row)).update(values)


def noise(e: Inside) -> None:
    """A quaternion of the other sign, and what float32 rounds."""
    for row in range(4):
        node = e.object(row)
        x, y, z, w = node.get("rotation", (0, 0, 0, 1))
        node["rotation"] = [-x, -y, -z, -w]
        if "scale" in node:
            node["scale"] = [1.5000001, 1.4999999, 1.5]


def two_of_one_index(e: Inside) -> None:
    """The one at the stored place keeps the record; names do not decide."""
    stored = e.object(2)
    other = e.copy(stored, translation=[150.0, 5.0, -150.0])
    other["name"], stored["name"] = stored["name"], other["name"]


def around_an_object(e: Inside) -> None:
    """An instance around an object is not placed by its name, too."""
    e.nodes.append({"name": "robot.001", "extras": {"msh": {"kind": "object", "path": ROBOT}}})
    inside = len(e.nodes) - 1
    e.file.put({"name": "robot", "translation": [40.0, 3.0, -60.0], "children": [inside]})


def below_another_node(e: Inside) -> None:
    """What is below another node places nothing without a path."""
    e.file.put(forest := {"name": "forest", "children": []})
    for extras in ({}, {"path": "s_rock"}):
        e.nodes.append({"name": "S_ROCK", "extras": extras})
        forest["children"].append(len(e.nodes) - 1)


def zones_and_lodes(e: Inside) -> None:
    e.of("zone").update(translation=[60.0, 0.0, -50.0], scale=[12.0, 12.0, 12.0])
    e.of("zone")["extras"]["msh"]["inner"] = 6.5
    e.extras(e.copy(e.of("lode"), translation=[5.0, 0.0, -5.0]))["amount"] = 50.0


def names_ids_and_properties(e: Inside) -> None:
    e.object(0)["name"] = "Крепость"
    msh(e, 0, logical_id=500, clan=0)
    e.extras(e.object(0))["properties"]["ClanID"] = 1


def lines_turned(e: Inside) -> None:
    index = e.file.json["meshes"][e.of("route")["mesh"]]["primitives"][0]["indices"]
    e.file.arrays[index] = e.file.arrays[index][::-1].copy()


def placed(e: Inside, name: str, **extras: Any) -> None:
    e.file.put({"name": name, "translation": [40.0, 3.0, -60.0], "extras": extras})


def on_a_part(e: Inside) -> None:
    """In Blender a click selects the mesh, not the empty of the object."""
    part = next(n for n in e.nodes if "node" in n.get("extras", {}).get("msh", {}))
    part["extras"]["path"] = "S_ROCK"


def on_an_outline(start: int) -> GameParts:
    outline = np.float32([[-30, -20, 5], [40, -20, 6], [40, 25, 5], [-30, 25, 7], [-30, -20, 5]])
    ring = struct.pack("<2i", 1, 4) + outline.tobytes()
    parts = GameParts(more=[(int.from_bytes(b"BASE", "little"), b"base.bas", ring + bytes(32) + ring)])
    parts.objects["fr_base"][1].append(("static.rlb", "base.bas"))
    parts.placed[0]["start"] = start
    return parts


def on_a_slope(e: Inside) -> None:
    """Likely it stands at the mean height of the ground below the corners of its outline; a unit where it is put."""
    there = [130.0, 2.0, -140.0]
    e.object(0).update(translation=there, rotation=[0.0, float(np.sin(0.25)), 0.0, float(np.cos(0.25))])
    e.object(2)["translation"] = there


TURN = [0.0, 0.7071068, 0.0, 0.7071068]
IDS = {"LogicalID": 100, "ClanID": 1}
#: Edits by name; those of ``IN_GAME`` lie in the game when they are imported.
EDITS: dict[str, Callable[[Inside], object]] = {
    "noise": noise,
    "scaled": lambda e: [e.object(row).update(scale=[2.0, 2.0, 2.0]) for row in (2, 3)],
    "tilted": lambda e: e.object(2).update(rotation=[float(np.sin(0.1)), 0.0, 0.0, float(np.cos(0.1))]),
    "two of one index": two_of_one_index,
    "two copies": lambda e: [e.copy(e.object(0), translation=[x, 5.0, -150.0]) for x in (150.0, 160.0)],
    "a host is deleted": lambda e: delete(e, e.object(0)),
    "a guest without host": lambda e: (
        e.object(1).update(translation=[10.0, 2.0, -30.0]),
        msh(e, 1, host=-1, vertex=-1),
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
    "zones and lodes": zones_and_lodes,
    "zone and route deleted": lambda e: delete(e, e.of("zone"), e.of("route")),
    "no custom properties": lambda e: [node.pop("extras", None) for node in e.nodes],
    "too far": lambda e: e.object(3).update(translation=[1e30, 0.0, 0.0]),
    "too far for the game": lambda e: e.object(3).update(translation=[1e9, 0.0, 0.0]),
    "too large for the game": lambda e: e.object(3).update(scale=[2e6, 2e6, 2e6]),
    "another kind follows from the path": lambda e: (msh(e, 2, object_kind=3), msh(e, 3, object_kind=7)),
    "typed: words of zones, lodes and routes": lambda e: [
        e.of(kind)["extras"].update(words)
        for kind, words in (("zone", {"inner": 2.5}), ("lode", {"amount": 77, "found": 1}), ("route", {"route": 9}))
    ],
    "typed: the edited one of two counts": lambda e: (e.object(2)["extras"].update(clan=1), msh(e, 2, clan=0)),
    "typed: a contradiction": lambda e: (e.object(2)["extras"].update(start=2), msh(e, 2, start=1)),
    "typed: a path alone": lambda e: placed(e, "Rock in the way", path="s_rock", clan=1, logical_id=55),
    "typed: on a part of a model": on_a_part,
    "typed: below another node": below_another_node,
}
EDITS |= {
    f"row 0, {properties}": lambda e, properties=properties: msh(e, 0, properties=properties)
    for properties in (
        {},
        IDS | {"LogicalID": float("inf")},
        IDS | {"LogicalID": "many"},
        IDS | {"ClanID": 1.5},
        IDS | {"New": 1},
    )
}
EDITS |= {
    f"row 2, {values}": lambda e, values=values: msh(e, 2, **values)
    for values in ({"logical_id": 100}, {"logical_id": "x"}, {"clan": 9}, {"host": 77, "vertex": 1})
}
EDITS |= {
    f"index {str(index)[:9]}": lambda e, index=index: msh(e, 2, index=index)
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
IN_GAME: dict[str, Callable[[Inside], object]] = {
    **{f"asset {name}": lambda e, name=name: placed(e, name) for name in ("robot", "robot.002", "e_gun_1", "i_comp")},
    "an instance around an object": around_an_object,
    "typed: words of objects": lambda e: (
        e.object(2)["extras"].update(path=ROBOT, clan=0, logical_id=7, start=1),
        e.object(3)["extras"].update(host=-1, vertex=-1, path="u_robot"),
    ),
    "typed: scenery of another path": lambda e: msh(e, 3, path="u_robot"),
    "typed: scenery is vegetation or rock": lambda e: (
        msh(e, 3, path="u_robot", object_kind=VEGETATION),
        placed(e, "Stone", path="u_robot", object_kind=ROCK),
    ),
}


#: A game with two routes, and buildings with the outline of a base.
TWO_ROUTES = GameParts(routes=[(7, [(1, 1, 0), (5, 2, 0)]), (8, [(9, 9, 0), (9, 2, 0)])])
CASES = {
    **{name: Placed(edit, game=False) for name, edit in EDITS.items()},
    **{name: Placed(edit) for name, edit in IN_GAME.items()},
    "two routes of one number": Placed(lambda e: e.extras(e.of("route", 1)).update(route=7), parts=lambda: TWO_ROUTES),
    # a building stands with its outline on the ground where it has the start flag
    **{
        f"a building on a slope, start {start}": Placed(on_a_slope, parts=lambda start=start: on_an_outline(start))
        for start in (0, 1)
    },
    "too far for the game, unverified": Placed(EDITS["too far for the game"], game=False, options={"verify": False}),
    "without its sidecar": Placed(lambda e: None, options={"use_sidecar": False}),
}
