"""Tolerant conversion of maps, edits of broken models, sidecars and OBJ."""

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.checks.recover import leave_out
from msh_gltf.converter.cli import gltf2msh, msh2gltf
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.corpus import DATA
from tests.support.corruption.base import NAN, Nres
from tests.support.gltf_edit import Editable
from tests.support.runs import call
from tests.support.tolerant import LEFT_OUT, OF_GEOMETRY, OF_MODELS, convert, first_case, ids, load

# ------------------------------------------------------------------ maps


@pytest.mark.parametrize("kind", [k for k in LEFT_OUT if k.format == "terrain"], ids=lambda k: k.name)
def test_terrains_lose_their_broken_faces_only(kind, tmp_path: Path) -> None:
    for case in kind.make(tmp_path / "cases"):
        data = case.path.read_bytes()
        valid = load((DATA / "maps" / case.sample / "Land.msh").read_bytes(), case.path).scene
        got = load(data, case.path).scene
        box = Nres.read(data)
        faces, slots, squares = box.table(21), box.table(2), box.table(1)
        points = box.table(3)
        for level in (0, 1):
            wanted = set()
            for square in range(len(squares)):
                slot = squares.get(square, 8 + 2 * level)
                if slot >= len(slots):
                    continue
                start, count = slots.get(slot, 0, "2H")
                if start + count <= len(faces):
                    wanted |= set(range(start, start + count))
            for row in list(wanted):
                corners = faces.get(row, 8, "3H")
                inside = all(corner < len(points) for corner in corners)
                if not inside or not (np.abs([points.get(c, 0, "3f") for c in corners]) <= 1e12).all():
                    wanted.remove(row)
            assert {r for _, rows in got.primitives[level] for r in rows.tolist()} == wanted
            before = {r for _, rows in valid.primitives[level] for r in rows.tolist()}
            assert wanted <= before
            rows = sorted(wanted)
            assert np.array_equal(got.vertex[rows], valid.vertex[rows])
            assert np.array_equal(got.positions[got.vertex[rows]], valid.positions[valid.vertex[rows]])
        assert np.isfinite(got.positions).all()


def test_a_terrain_without_ground_is_refused(tmp_path: Path) -> None:
    box = Nres.read((DATA / "maps/spec__AutoMAP_00/Land.msh").read_bytes())
    slots = box.table(2)
    for row in range(len(slots)):
        slots.set(row, 0, "H", 60000)
    with pytest.raises(ConversionError, match="no ground is left to show"):
        load(box.write(), tmp_path / "Land.msh")


def test_an_edit_of_a_broken_terrain_is_refused(tmp_path: Path) -> None:
    kind = next(k for k in LEFT_OUT if k.code == "terrain-face-vertex")
    convert(first_case(kind, tmp_path / "c"), tmp_path / "a.glb")
    edit = Editable(tmp_path / "a.glb")
    primitive = edit.primitives()[0]
    corner = edit.arrays[primitive["indices"]][0, 0]
    edit.arrays[primitive["attributes"]["POSITION"]][corner, 1] += 1
    edit.save(tmp_path / "a.glb")
    with pytest.raises(ConversionError, match="the edit meets tables that are broken"):
        import_gltf(tmp_path / "a.glb")


def test_broken_areals_go_and_all_others_stay(tmp_path: Path) -> None:
    """Against the valid map: every polygon but the broken one, and a border where it was."""
    from tests.support.corruption.areal import Map

    path = DATA / "maps/spec__AutoMAP_00/Land.map"
    valid = load(path.read_bytes(), path).areals
    box = Nres.read(path.read_bytes())
    area = Map(box)
    row = 2
    struct.pack_into("<f", area.data, area.records[row] + 56, NAN)
    got = load(box.write(), path).areals
    assert len(got.records) == len(valid.records) - 1
    keep = valid.owner != row
    assert np.array_equal(got.vertices, valid.vertices[keep])
    assert np.array_equal(got.records, valid.records[np.arange(len(valid.records)) != row])
    old = valid.links[keep]
    now = got.links
    lost = (old["areal"] == row) | (old["areal"] < 0)
    assert (now["areal"][lost] == -1).all()
    moved = old["areal"] - (old["areal"] > row)
    assert np.array_equal(now["areal"][~lost], moved[~lost])
    assert np.array_equal(now["edge"][~lost], old["edge"][~lost])
    for cell in range(len(valid.cell_start) - 1):
        a = valid.cell_ids[valid.cell_start[cell] : valid.cell_start[cell + 1]].astype(int)
        b = got.cell_ids[got.cell_start[cell] : got.cell_start[cell + 1]].astype(int)
        a = a[a != row]
        assert b.tolist() == (a - (a > row)).tolist()


# ------------------------------------------------------------------ edits, sidecars, OBJ


def renamed(edit: Editable) -> None:
    edit.json["nodes"][1]["name"] = "other"


def moved(edit: Editable) -> None:
    """The first corner of the last part, a little."""
    points = edit.arrays[edit.primitives()[-1]["attributes"]["POSITION"]]
    points[edit.arrays[edit.primitives()[-1]["indices"]][0, 0]] += 0.25


def turned(edit: Editable) -> None:
    """The first clip of a node, a little to the side."""
    clip = edit.json["animations"][0]
    channel = next(c for c in clip["channels"] if c["target"]["path"] == "translation")
    edit.arrays[clip["samplers"][channel["sampler"]]["output"]] += 0.5


#: What an edit may meet: it goes in unless it changes a broken table or one that rows point into.
EDITS = {
    renamed: {kind.code for kind in OF_MODELS} - {"table-stride"},
    moved: {"vertex-count", "node-parent", "node-cycle", "node-map", "node-fallback", "key-finite", "string-run"},
    turned: (OF_GEOMETRY - {"table-stride"})
    | {"vertex-count", "node-parent", "node-cycle", "slot-triangles", "triangle-link", "string-run"},
}


@pytest.mark.parametrize("kind", OF_MODELS, ids=ids(OF_MODELS))
@pytest.mark.parametrize("change", EDITS, ids=lambda change: change.__name__)
def test_edits(change, kind, tmp_path: Path) -> None:
    """An edit apart from what is broken goes in, and what is broken stays byte for byte."""
    data = first_case(kind, tmp_path / "c", "s_rock_009")
    convert(data, tmp_path / "a.glb")
    edit = Editable(tmp_path / "a.glb")
    if not (edit.json.get("animations") if change is turned else edit.primitives()):
        return  # all of it is left out
    change(edit)
    edit.save(tmp_path / "a.glb")
    if kind.code not in EDITS[change]:
        with pytest.raises(ConversionError, match="the edit meets tables that are broken") as said:
            import_gltf(tmp_path / "a.glb")
        assert "--no-sidecar" in str(said.value)
        return
    back = import_gltf(tmp_path / "a.glb")
    assert back.changes
    assert not back.kept_all
    assert "what is broken was kept as it is, as --tolerant left it out" in back.warnings
    before, after = (read_model(read_nres(data, "x"), "x"), read_model(read_nres(back.data, "x"), "x"))
    errors = [
        [(f.code, f.row, str(f.value)) for f in leave_out(m)[1] if f.severity == "error"] for m in (before, after)
    ]
    assert errors[0] == errors[1]
    again = convert(back.data, tmp_path / "b.glb")
    assert again.tolerant
    assert import_gltf(tmp_path / "b.glb").data == back.data


def test_the_sidecar_of_a_sound_model_is_not_marked(tmp_path: Path) -> None:
    path = DATA / "retail__system__R_H_002.msh"
    for name, options in (("a", ()), ("b", ("--tolerant",))):
        (tmp_path / name).mkdir()
        assert call(msh2gltf, path, "-o", tmp_path / name / "m.glb", "-q", *options) == 0
    for file in ("m.glb", "m.msh-sidecar"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_sidecar_without_the_mark_is_refused(tmp_path: Path) -> None:
    """It is the sidecar of a conversion that this glTF is not of; named as such, its model is read
    as always, and refused."""
    from msh_gltf.converter.formats.sidecar import write_sidecar

    data = first_case(next(k for k in OF_MODELS if k.code == "slot-batches"), tmp_path / "c")
    convert(data, tmp_path / "a.glb")
    path = tmp_path / "a.msh-sidecar"
    kept = read_sidecar(path.read_bytes(), "x")
    unmarked = replace(kept, description=replace(kept.description, tolerant=False))
    path.write_bytes(write_sidecar(unmarked))
    with pytest.raises(ConversionError, match="sidecar is of another conversion of this model"):
        import_gltf(tmp_path / "a.glb")
    editable = Editable(tmp_path / "a.glb")
    del editable.json["scenes"][0]["extras"]["msh"]["pair"]  # as an older converter made it
    editable.save(tmp_path / "a.glb")
    with pytest.raises(ConversionError, match="run past the table"):
        import_gltf(tmp_path / "a.glb")


@pytest.mark.parametrize("code", ["slot-batches", "vertex-finite", "node-cycle", "node-fallback"])
def test_obj(code: str, tmp_path: Path) -> None:
    kind = next(k for k in OF_MODELS if k.code == code)
    data = first_case(kind, tmp_path / "c", "R_H")
    path, out = tmp_path / "m.msh", tmp_path / "m.obj"
    path.write_bytes(data)
    assert call(msh2gltf, path, "-o", out, "-q") == 2
    assert call(msh2gltf, path, "-o", out, "-q", "--tolerant", "--frame", "3") == 0
    assert call(gltf2msh, out, "-o", tmp_path / "back.msh", "-q") == 0
    assert (tmp_path / "back.msh").read_bytes() == data
