"""Control points that were edited: what their ``.cpt`` becomes, and what stays.

What comes of each edit stands in ``points.txt``; ``python -m tests.converter.edits.test_points`` writes it again, for
you to read what became different.
"""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from msh_gltf import import_gltf
from msh_gltf.converter import cli
from msh_gltf.converter.formats.model_parts import read_points
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.gltf_view import GltfView
from tests.support.points import Point, cpt
from tests.support.recorded import Recorded, judged_as_stored, outcome
from tests.support.runs import call, run

ROBOT = sample_called("retail__system__R_H_002")
FOUND = Recorded(__file__, "points.txt")
CTPT = int.from_bytes(b"CTPT", "little")
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


def exported(folder: Path, data: bytes) -> Path:
    """A model with control points, exported."""
    (folder / "robot.cpt").write_bytes(data)
    shutil.copy(ROBOT.path, folder / "robot.msh")
    target = folder / "out/robot.glb"
    assert call(cli.msh2gltf, folder / "robot.msh", "-o", target, "-q") == 0
    return target


@pytest.fixture
def glb(tmp_path: Path) -> Path:
    return exported(tmp_path, stored())


class Case(NamedTuple):
    """An edit of the model's glTF; ``options`` are of the import, ``points`` what it has."""

    edit: Callable[[Editable], object]
    options: dict[str, Any] = {}  # noqa: RUF012
    points: Callable[[], bytes] = stored


def rows(data: bytes) -> list[str]:
    found = read_points(data, "x")
    out = []
    for i, row in enumerate(found.records):
        place, to = (row[key].astype(float).round(3).tolist() for key in ("position", "direction"))
        rest = f"{int(row['opaque0']):#x}, {bytes(found.names[i]['name'])[20:].hex()}"
        out.append(f"{found.name(i)!r} {int(row['node'])}/{int(row['second'])} at {place} to {to}, {rest}")
    return out


def found(name: str, folder: Path) -> str:
    """What comes of an edit, and the rows that no row was."""
    case = CASES[name]
    document = Editable(exported(folder, case.points()))
    case.edit(document)
    with judged_as_stored() as unlike:
        back = import_gltf(document.save(folder / "out/robot.glb"), options=ImportOptions(**case.options))
    lines = [outcome(lambda: back, folder, unlike)]
    for one in back.companions:
        made, before = rows(one.data), rows(case.points())
        assert (one.ending, one.attr1) == (".cpt", len(made))
        lines += [f"{len(made)} points", *(f"{i}: {row}" for i, row in enumerate(made) if row not in before[i : i + 1])]
    return "; ".join(lines)


def spun(d: Editable, **values: Any) -> None:
    d.node("Dir_1.point").update(values)


def reparented(d: Editable) -> None:
    nodes = d.json["nodes"]
    point = next(i for i, n in enumerate(nodes) if n["name"] == "CameraCenter.point")
    next(n for n in nodes if point in n.get("children", []))["children"].remove(point)
    nodes[4].setdefault("children", []).append(point)


def put(d: Editable, parent: int, node: dict[str, Any]) -> None:
    d.json["nodes"].append(node)
    d.json["nodes"][parent].setdefault("children", []).append(len(d.json["nodes"]) - 1)


def without(d: Editable, part: str) -> None:
    for node in d.json["nodes"]:
        below = node.pop("children", [])
        if kept := [i for i in below if part not in d.json["nodes"][i]["name"]]:
            node["children"] = kept


def added_and_deleted(d: Editable) -> None:
    without(d, "Свет.point")
    put(d, 2, {"name": "New.point", "translation": [1.0, 2.0, 3.0]})
    put(d, 1, d.node("down.point") | {"name": "down.point.001", "translation": [9.0, 0.0, 0.0]})


def node_gone(d: Editable) -> None:
    """Node 1 is deleted; what was below it is below its parent."""
    nodes = d.json["nodes"]
    above = next(node for node in nodes if 1 in node.get("children", []))
    above["children"].remove(1)
    above["children"] += nodes[1].pop("children", [])


def drawn(d: Editable) -> None:
    spun(d, mesh=0)


def no_scene_extras(d: Editable) -> None:
    del d.json["scenes"][0]["extras"]


EDITS: dict[str, Callable[[Editable], object]] = {
    "nothing": lambda d: None,
    "moved": lambda d: spun(d, translation=[2.0, 3.0, 2.25]),
    "turned": lambda d: spun(d, rotation=[0.0, 0.0, 0.0, 1.0]),
    "scaled": lambda d: spun(d, scale=[2.0, 2.0, 2.0]),
    "renamed": lambda d: spun(d, name="Ствол.point"),
}
KIND = {"extras": {"msh": {"kind": "point"}}}
CASES = {
    **{name: Case(edit) for name, edit in EDITS.items()},
    **{f"{name}, no extras": Case(lambda d, e=edit: (drop_extras(d), e(d))) for name, edit in EDITS.items()},
    "another parent": Case(reparented),
    "added and deleted": Case(added_and_deleted),
    "all missing": Case(lambda d: without(d, ".point")),
    "all missing, as asked": Case(lambda d: without(d, ".point"), {"allow_delete": True}),
    "a node gone": Case(node_gone),
    **{
        f"a name {what}": Case(lambda d, n=name: put(d, 2, {"name": f"{n}.point", **KIND}))
        for what, name in {"of nothing": "", "too long": "ы" * 32, "not of CP1251": "日本"}.items()
    },
    "a stored name not of CP1251": Case(lambda d: spun(d, name="日本.point")),
    "too far": Case(lambda d: d.node("down.point").update(translation=[0.0, 2e6, 0.0])),
    "a new model": Case(no_scene_extras, {"use_sidecar": False}),
    "with a mesh": Case(drawn),
    "with a mesh, no sidecar": Case(drawn, {"use_sidecar": False}),
    # editors round places in binary32: what is far from its node drifts farther
    "drifted": Case(
        lambda d: d.node("far.point")["translation"].__setitem__(2, -1e5 - 0.05),
        points=lambda: cpt([("far", 0, (0.0, 1e5, 0.0), (0.0, 0.0, 1.0))]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    FOUND.require(name, found(name, tmp_path))


def test_exported_as_the_contract_says(glb: Path) -> None:
    view = GltfView(glb)
    by_row = {n["extras"]["msh"].get("index"): n for n in view["nodes"] if "extras" in n}
    for row, (name, node, _, direction) in enumerate(POINTS):
        about = by_row[row]["extras"]["msh"]
        assert by_row[row]["name"].startswith(f"{name}.point")
        assert (about["kind"], about["point"]) == ("point", row)
        assert about["node2"] == (2 if row == 1 else node)
        np.testing.assert_allclose(about["length"], np.linalg.norm(direction), rtol=1e-6)
        x, y, z, w = by_row[row].get("rotation", [0, 0, 0, 1])
        # +Y of glTF, turned; game (x, y, z) is (x, z, -y)
        up = np.array([2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)])
        across, along, upward = direction
        shown = np.array([across, upward, -along])
        np.testing.assert_allclose(up * about["length"], shown, atol=1e-6)
    assert by_row[0]["extras"]["msh"]["flags"] == "0x80000000"


def test_a_changed_game_is_not_overwritten(tmp_path: Path) -> None:
    game, out = tmp_path / "game", tmp_path / "out"
    game.mkdir()
    shutil.copy(ROBOT.path, game / "r.msh")
    (game / "r.cpt").write_bytes(stored())
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    document = Editable(out / "r.glb")
    document.node("down.point")["translation"] = [0.0, 0.0, -2.0]
    document.save(out / "r.glb")
    (game / "r.cpt").write_bytes(cpt(POINTS[:2]))
    back = run("gltf2msh", out, "--game", game, "-o", tmp_path / "new")
    assert back.returncode == 1
    assert "has changed since it was converted" in back.stdout + back.stderr


if __name__ == "__main__":
    FOUND.write_each(CASES, found)
