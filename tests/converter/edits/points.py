"""Control points that were edited: what their ``.cpt`` becomes, and what stays."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msh_gltf.converter.kinds.import_result import ImportResult
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.points import Point, cpt, rows
from tests.support.recorded import Case

ROBOT = "retail__system__R_H_002"
POINTS: list[Point] = [
    ("CameraCenter", 2, (0.0, 0.0, 0.876), (0.0, 1.0, 0.0)),
    ("Dir_1", 0, (1.5, -2.25, 3.0), (0.0, 4.849, 0.0)),
    ("Свет", 3, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ("Dir_1", 3, (0.5, 0.25, -0.125), (0.3, 0.0, -0.42)),
    ("down", 1, (0.0, 1.0, 0.0), (0.0, 0.0, -2.0)),
]


def stored() -> bytes:
    """A .cpt with what the game's have: leftovers, a flag, another second node, a hidden point."""
    data = bytearray(cpt([*POINTS, ("lost", 99, (0, 0, 0), (0, 0, 1))]))
    data[4:8] = struct.pack("<I", 0x80000000)  # flags of CameraCenter
    data[4 + 36 + 8 : 4 + 36 + 12] = struct.pack("<i", 2)  # node2 of the first Dir_1
    names = 4 + 36 * 6
    data[names + 20 : names + 24] = b"left"  # after the first name's NUL
    return bytes(data)


def beside(points: Callable[[], bytes]) -> Callable[[Path], object]:
    return lambda folder: (folder / "m.cpt").write_bytes(points())


def other_rows(back: ImportResult, points: Callable[[], bytes]) -> list[str]:
    """The rows of a ``.cpt`` that no row was."""
    lines = []
    for one in back.companions:
        made, before = rows(one.data), rows(points())
        assert (one.ending, one.attr1) == (".cpt", len(made))
        lines += [f"{len(made)} points", *(f"{i}: {row}" for i, row in enumerate(made) if row not in before[i : i + 1])]
    return lines


def edit_of(edit: Callable[[Editable], object], points: Callable[[], bytes] = stored, **more: Any) -> Case:
    """An edit of a model that has control points."""
    return Case(edit, ROBOT, before=beside(points), more=lambda _, back: other_rows(back, points), **more)


def spun(d: Editable, **values: Any) -> None:
    d.node("Dir_1.point").update(values)


def below(d: Editable, name: str, parent: int) -> None:
    """Parent a node to another one."""
    number = d.json["nodes"].index(d.node(name))
    d.take_out(number)
    d.json["nodes"][parent].setdefault("children", []).append(number)


def without(d: Editable, part: str) -> None:
    d.take_out(*(i for i, node in enumerate(d.json["nodes"]) if part in node["name"]))


def added_and_deleted(d: Editable) -> None:
    without(d, "Свет.point")
    d.put({"name": "New.point", "translation": [1.0, 2.0, 3.0]}, 2)
    d.put(d.node("down.point") | {"name": "down.point.001", "translation": [9.0, 0.0, 0.0]}, 1)


def node_gone(d: Editable) -> None:
    """Node 1 is deleted; what was below it is below its parent."""
    nodes = d.json["nodes"]
    above = next(node for node in nodes if 1 in node.get("children", []))
    above["children"].remove(1)
    above["children"] += nodes[1].pop("children", [])


def drawn(d: Editable) -> None:
    spun(d, mesh=0)


EDITS: dict[str, Callable[[Editable], object]] = {
    "nothing": lambda d: None,
    "moved": lambda d: spun(d, translation=[2.0, 3.0, 2.25]),
    "turned": lambda d: spun(d, rotation=[0.0, 0.0, 0.0, 1.0]),
    "scaled": lambda d: spun(d, scale=[2.0, 2.0, 2.0]),
    "renamed": lambda d: spun(d, name="Ствол.point"),
}
KIND = {"extras": {"msh": {"kind": "point"}}}
CASES = {
    **{name: edit_of(edit) for name, edit in EDITS.items()},
    **{f"{name}, no extras": edit_of(lambda d, e=edit: (drop_extras(d), e(d))) for name, edit in EDITS.items()},
    "another parent": edit_of(lambda d: below(d, "CameraCenter.point", 4)),
    "added and deleted": edit_of(added_and_deleted),
    "all missing": edit_of(lambda d: without(d, ".point")),
    "all missing, as asked": edit_of(lambda d: without(d, ".point"), options={"allow_delete": True}),
    "a node gone": edit_of(node_gone),
    **{
        f"a name {what}": edit_of(lambda d, n=name: d.put({"name": f"{n}.point", **KIND}, 2))
        for what, name in {"of nothing": "", "too long": "ы" * 32, "not of CP1251": "日本"}.items()
    },
    "a stored name not of CP1251": edit_of(lambda d: spun(d, name="日本.point")),
    "too far": edit_of(lambda d: d.node("down.point").update(translation=[0.0, 2e6, 0.0])),
    "a new model": edit_of(lambda d: d.json["scenes"][0].pop("extras"), alone=True),
    "with a mesh": edit_of(drawn),
    "with a mesh, no sidecar": edit_of(drawn, alone=True),
    # editors round places in binary32: what is far from its node drifts farther
    "drifted": edit_of(
        lambda d: d.node("far.point")["translation"].__setitem__(2, -1e5 - 0.05),
        points=lambda: cpt([("far", 0, (0.0, 1e5, 0.0), (0.0, 0.0, 1.0))]),
    ),
}
