"""Control points that were edited: what their ``.cpt`` becomes, and what stays."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf import import_gltf
from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.model_parts import ControlPoints, read_points
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import sample_called
from tests.support.game import MESH, archive, entry, write
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.gltf_view import GltfView
from tests.support.points import Point, cpt
from tests.support.runs import call, run
from tests.support.vault import originals

ROBOT = sample_called("retail__system__R_H_002")
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


@pytest.fixture
def glb(tmp_path: Path) -> Path:
    """A model with control points, exported."""
    (tmp_path / "robot.cpt").write_bytes(stored())
    shutil.copy(ROBOT.path, tmp_path / "robot.msh")
    target = tmp_path / "out/robot.glb"
    assert call(cli.msh2gltf, tmp_path / "robot.msh", "-o", target, "-q") == 0
    return target


def edited(glb: Path, edit: Callable[[Editable], object], **options: Any) -> ImportResult:
    document = Editable(glb)
    edit(document)
    document.save(glb)
    return import_gltf(glb, options=ImportOptions(**options))


def points_of(result: ImportResult) -> ControlPoints:
    (one,) = result.companions
    assert one.ending == ".cpt"
    assert one.attr1 == len(read_points(one.data, "x").records)
    return read_points(one.data, "x")


def rows_changed(result: ImportResult) -> list[int]:
    """Rows whose record or name is another one; as many as before."""
    now, before = points_of(result), read_points(stored(), "x")
    assert len(now.records) == len(before.records)
    return [
        i
        for i in range(len(now.records))
        if now.records[i].tobytes() + now.names[i].tobytes() != before.records[i].tobytes() + before.names[i].tobytes()
    ]


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


@pytest.mark.parametrize("extras", [True, False])
def test_untouched_writes_nothing(glb: Path, extras: bool) -> None:
    back = edited(glb, lambda d: None if extras else drop_extras(d))
    assert back.unchanged
    assert back.companions == []


@pytest.mark.parametrize("extras", [True, False])
@pytest.mark.parametrize("kind", ["moved", "turned", "scaled", "renamed"])
def test_an_edit_changes_one_record(glb: Path, kind: str, extras: bool) -> None:
    def edit(document: Editable) -> None:
        if not extras:
            drop_extras(document)
        node = document.node("Dir_1.point")
        if kind == "moved":
            node["translation"][0] += 0.5
        elif kind == "turned":
            node["rotation"] = [0.0, 0.0, 0.0, 1.0]
        elif kind == "scaled":
            node["scale"] = [2.0, 2.0, 2.0]
        else:
            node["name"] = "Ствол.point"

    back = edited(glb, edit)
    assert rows_changed(back) == [1]
    assert back.kept_all
    assert not back.unchanged
    now = points_of(back)
    record, before = now.records[1], read_points(stored(), "x").records[1]
    assert int(record["second"]) == 2
    expected = {
        "moved": ((2.0, -2.25, 3.0), (0.0, 4.849, 0.0)),
        "turned": ((1.5, -2.25, 3.0), (0.0, 0.0, 4.849)),
        "scaled": ((1.5, -2.25, 3.0), (0.0, 9.698, 0.0)),
        "renamed": ((1.5, -2.25, 3.0), (0.0, 4.849, 0.0)),
    }[kind]
    np.testing.assert_allclose(record["position"], expected[0], rtol=1e-6)
    np.testing.assert_allclose(record["direction"], expected[1], rtol=1e-6, atol=1e-6)
    if kind != "moved":
        assert record["position"].tobytes() == before["position"].tobytes()
    assert now.name(1) == ("Ствол" if kind == "renamed" else "Dir_1")
    assert len(back.changes) == 1


def test_reparented(glb: Path) -> None:
    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        point = next(i for i, n in enumerate(nodes) if n["name"] == "CameraCenter.point")
        old = next(n for n in nodes if point in n.get("children", []))
        old["children"].remove(point)
        nodes[4].setdefault("children", []).append(point)

    back = edited(glb, edit)
    assert rows_changed(back) == [0]
    record = points_of(back).records[0]
    assert (int(record["node"]), int(record["second"]), int(record["opaque0"])) == (4, 4, 0x80000000)
    assert bytes(points_of(back).names[0]["name"])[20:24] == b"left"


def test_added_and_deleted(glb: Path) -> None:
    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        gone = next(i for i, n in enumerate(nodes) if n["name"] == "Свет.point")
        for node in nodes:
            if gone in node.get("children", []):
                node["children"].remove(gone)
        nodes.append({"name": "New.point", "translation": [1.0, 2.0, 3.0]})
        nodes[2].setdefault("children", []).append(len(nodes) - 1)
        copied = dict(document.node("down.point"), name="down.point.001")
        nodes.append(copied | {"translation": [9.0, 0.0, 0.0]})
        nodes[1].setdefault("children", []).append(len(nodes) - 1)

    back = edited(glb, edit)
    now = points_of(back)
    names = [now.name(i) for i in range(len(now.records))]
    assert names == ["CameraCenter", "Dir_1", "Dir_1", "down", "lost", "New", "down"]
    assert int(now.records[4]["node"]) == 99
    new = now.records[5]
    assert (int(new["node"]), int(new["second"])) == (2, 2)
    assert new["position"].tolist() == [1.0, -3.0, 2.0]
    assert new["direction"].tolist() == [0.0, 0.0, 1.0]
    assert now.records[6]["direction"].tolist() == [0.0, 0.0, -2.0]
    said = [str(change) for change in back.changes]
    assert len(said) == 3
    assert "control point 'Свет.point': is missing" in said


def test_all_missing_are_kept_unless_asked(glb: Path) -> None:
    def edit(document: Editable) -> None:
        for node in document.json["nodes"]:
            node["children"] = [
                i for i in node.get("children", []) if ".point" not in document.json["nodes"][i]["name"]
            ]
            if not node["children"]:
                del node["children"]

    back = edited(glb, edit)
    (said,) = back.not_applied
    assert "--allow-delete" in said.instead
    assert back.companions == []
    back = edited(glb, lambda d: None, allow_delete=True)
    now = points_of(back)
    assert [now.name(i) for i in range(len(now.records))] == ["lost"]


def test_rows_follow_their_nodes(glb: Path) -> None:
    """Node 1 is deleted; what was below it is below its parent."""

    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        above = next(node for node in nodes if 1 in node.get("children", []))
        above["children"].remove(1)
        above["children"] += nodes[1].pop("children", [])

    now = points_of(edited(glb, edit))
    assert [int(node) for node in now.records["node"][:4]] == [1, 0, 2, 2]
    assert [int(node) for node in now.records["second"][:4]] == [1, 1, 2, 2]


@pytest.mark.parametrize(("name", "why"), [("", "1 to 31 bytes"), ("ы" * 32, "1 to 31 bytes"), ("日本", "CP1251")])
def test_names_that_cannot_be(glb: Path, name: str, why: str) -> None:
    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        nodes.append({"name": f"{name}.point", "extras": {"msh": {"kind": "point"}}})
        nodes[2].setdefault("children", []).append(len(nodes) - 1)

    back = edited(glb, edit)
    if name:
        (said,) = back.not_applied
        assert why in said.why
        assert back.companions == []


def test_too_far_and_animated(glb: Path) -> None:
    def edit(document: Editable) -> None:
        document.node("down.point")["translation"] = [0.0, 2e6, 0.0]

    back = edited(glb, edit)
    (said,) = back.not_applied
    assert said.where == "control point 'down.point'"
    assert back.companions == []


def test_the_command_writes_the_file_beside(glb: Path, tmp_path: Path) -> None:
    document = Editable(glb)
    document.node("down.point")["translation"] = [0.0, 0.0, -2.0]
    document.save(glb)
    back = run("gltf2msh", glb, "-o", tmp_path / "back/robot.msh")
    assert back.returncode == 0, back.stderr
    assert (tmp_path / "back/robot.msh").read_bytes() == ROBOT.path.read_bytes()
    points = read_points((tmp_path / "back/robot.cpt").read_bytes(), "x")
    assert points.records[4]["position"].tolist() == [0.0, 2.0, 0.0]
    assert "1 change" in back.stdout
    again = run("gltf2msh", glb, "-o", tmp_path / "back/robot.msh")
    assert "robot.cpt is there already, with the same bytes" in again.stdout
    document.node("down.point")["translation"] = [0.0, 0.0, -3.0]
    document.save(glb)
    other = run("gltf2msh", glb, "-o", tmp_path / "back/robot.msh")
    assert (other.returncode, "exists" in other.stderr) == (2, True)


def test_a_game(tmp_path: Path) -> None:
    """Only the .cpt of the archive differs; in place twice; loose files, too."""
    game, out = tmp_path / "game", tmp_path / "out"
    entries = [
        entry(MESH, b"R_H.msh", ROBOT.source),
        entry(CTPT, b"r_h.CPT", stored()),
        entry(MESH, b"other.msh", ROBOT.source),
    ]
    write(game / "a.rlb", archive(entries))
    shutil.copy(ROBOT.path, game / "Loose.msh")
    (game / "LOOSE.CPT").write_bytes(stored())
    before = (game / "a.rlb").read_bytes()
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    for path in (out / "a.rlb/R_H.glb", out / "Loose.glb"):
        document = Editable(path)
        document.node("down.point")["translation"] = [0.0, 0.0, -2.0]
        document.save(path)
    assert call(cli.gltf2msh, out, "--game", game, "-o", tmp_path / "new", "-q") == 0
    now = read_nres(read_file(tmp_path / "new/a.rlb"), "a.rlb")
    was = read_nres(before, "a.rlb")
    differ = [a.name for a, b in zip(was.entries, now.entries, strict=True) if a.payload != b.payload]
    assert differ == ["r_h.CPT"]
    assert (tmp_path / "new/LOOSE.CPT").read_bytes() == bytes(now.entries[1].payload)
    assert (tmp_path / "new/Loose.msh").read_bytes() == ROBOT.path.read_bytes()
    assert not (tmp_path / "new/Loose.cpt").exists()
    for _ in range(2):
        assert call(cli.gltf2msh, out, "--game", game, "--in-place", "-q") == 0
        assert (game / "a.rlb").read_bytes() == (tmp_path / "new/a.rlb").read_bytes()
        assert originals(game) == {"a.rlb": before, "LOOSE.CPT": stored()}


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


def test_new_models_get_their_points(tmp_path: Path, glb: Path) -> None:
    document = Editable(glb)
    del document.json["scenes"][0]["extras"]
    document.save(tmp_path / "tower.glb")
    back = import_gltf(tmp_path / "tower.glb", options=ImportOptions(use_sidecar=False))
    points = points_of(back)
    assert [points.name(i) for i in range(len(points.records))] == [p[0] for p in POINTS]
    np.testing.assert_allclose(points.records["position"], [p[2] for p in POINTS], atol=1e-6)
    np.testing.assert_allclose(points.records["direction"], [p[3] for p in POINTS], atol=1e-5)
    assert int(points.records["opaque0"][0]) == 0x80000000
    run_back = run("gltf2msh", tmp_path / "tower.glb", "--no-sidecar", "-o", tmp_path / "t.msh")
    assert run_back.returncode == 0, run_back.stderr
    assert (tmp_path / "t.cpt").is_file()


def test_points_drift_by_their_own_size(tmp_path: Path) -> None:
    """Editors round places in binary32: what is far from its node drifts farther."""
    (tmp_path / "m.cpt").write_bytes(cpt([("far", 0, (0.0, 1e5, 0.0), (0.0, 0.0, 1.0))]))
    shutil.copy(ROBOT.path, tmp_path / "m.msh")
    assert call(cli.msh2gltf, tmp_path / "m.msh", "-o", tmp_path / "m.glb", "-q") == 0
    document = Editable(tmp_path / "m.glb")
    document.node("far.point")["translation"][2] = -1e5 - 0.05
    document.save(tmp_path / "m.glb")
    assert import_gltf(tmp_path / "m.glb").unchanged
