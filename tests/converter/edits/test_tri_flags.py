"""Flags of triangles: stated by objects and materials, kept where nothing is stated, exported."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.formats.model import MshModel
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.part_edits import PLANT, Outcome, cells_of, edited, name_of, parse
from tests.support.runs import run, to_gltf

ALONE = ImportOptions(use_sidecar=False)
#: Flags of its triangles differ inside parts; one slot of two cells.
SHARED = "spec__odd__Gen_stat_011"
NO_RES7 = "mixed__odd__l_mast_058"


def flags_in(model: MshModel, row: int, lod: int, group: int) -> list[int]:
    """The flags of a part's triangles."""
    slot = model.slots[int(model.nodes["slot_index"][row, lod, group])]
    first = int(slot["tri_start"])
    assert model.triangles is not None
    return model.triangles["tri_flags"][first : first + int(slot["tri_count"])].tolist()


def first_row(name: str, lod: int = 0, group: int = 0) -> int:
    return cells_of(parse(sample_called(name).source), lod, group)[0]


def state(document: Editable, name: str, value: object, *, nested: bool = False) -> None:
    extras = document.node(name)["extras"]
    (extras["msh"] if nested else extras)["tri_flags"] = value


def exported_again(out: Outcome, folder: Path) -> Editable:
    """The glTF of a model that was edited."""
    (folder / "again.msh").write_bytes(out.back.data)
    options = ("--dialect", out.back.dialect, "-q", "--force")
    assert run("msh2gltf", "again.msh", "-o", "again.glb", *options, cwd=folder).returncode == 0
    return Editable(folder / "again.glb")


def test_flags_that_differ_or_are_0_are_not_exported(tmp_path: Path) -> None:
    path = to_gltf(sample_called(PLANT), tmp_path / "m.glb")
    assert not any("tri_flags" in json.dumps(n) for n in Editable(path).json["nodes"])


def uniform(folder: Path, value: int = 2) -> tuple[Path, str, int]:
    """A model whose first part's triangles all have the same flags, exported."""
    row = first_row(PLANT)
    names = []

    def edit(document: Editable) -> None:
        names.append(document.json["nodes"][row]["name"])
        state(document, names[0], value)

    out = edited(folder, PLANT, edit)
    exported_again(out, folder)
    return folder / "again.glb", names[0], row


@pytest.mark.parametrize(
    ("own", "nested", "expected"),
    [(None, 2, 2), (16, 2, 16), (2, 4, 4), (16, 4, 16), (0, 2, 0), (None, None, 2), (16, None, 16)],
)
def test_what_differs_from_the_export_counts(
    own: int | None, nested: int | None, expected: int, tmp_path: Path
) -> None:
    path, name, row = uniform(tmp_path)
    source = (tmp_path / "again.msh").read_bytes()
    document = Editable(path)
    if nested is None:
        del document.node(name)["extras"]["msh"]["tri_flags"]
    else:
        state(document, name, nested, nested=True)
    if own is not None:
        state(document, name, own)
    back = import_gltf(document.save(path))
    assert set(flags_in(parse(back.data), row, 0, 0)) == {expected}
    assert back.unchanged == (expected == 2) == (back.data == source)


def test_new_triangles_take_what_the_object_states(tmp_path: Path) -> None:
    path, name, row = uniform(tmp_path)
    document = Editable(path)
    mesh = document.json["meshes"][document.node(name)["mesh"]]
    primitive = mesh["primitives"][0]
    index = document.arrays[primitive["indices"]]
    primitive["indices"] = document.add(np.concatenate([index, index[[0, 4, 5]]]))
    model = parse(import_gltf(document.save(path)).data)
    flags = flags_in(model, row, 0, 0)
    assert set(flags) == {2}
    assert len(flags) == len(flags_in(parse((tmp_path / "again.msh").read_bytes()), row, 0, 0)) + 1


def split_first_face(document: Editable, mesh: int, material: dict[str, Any]) -> None:
    """Give the first face of a mesh another material."""
    document.json["materials"].append(material)
    primitives = document.json["meshes"][mesh]["primitives"]
    index = document.arrays[primitives[0]["indices"]]
    fresh = {**primitives[0], "material": len(document.json["materials"]) - 1}
    primitives.append({**fresh, "indices": document.add(index[:3].copy())})
    primitives[0]["indices"] = document.add(index[3:].copy())


@pytest.mark.parametrize("extras", ["kept", "nested", "none"])
def test_a_material_states_the_flags_of_single_faces(extras: str, tmp_path: Path) -> None:
    """A copy of the material; an object's value is for the other faces."""
    row = first_row(PLANT)

    def edit(document: Editable) -> None:
        node = document.json["nodes"][row]
        primitive = document.json["meshes"][node["mesh"]]["primitives"][0]
        copy = json.loads(json.dumps(document.json["materials"][primitive["material"]]))
        copy["name"] += ".001"
        if extras == "none":
            copy["extras"] = {}
        (copy["extras"]["msh"] if extras == "nested" else copy["extras"])["tri_flags"] = 16
        split_first_face(document, node["mesh"], copy)
        state(document, node["name"], 4)

    out = edited(tmp_path, PLANT, edit)
    flags = flags_in(out.new, row, 0, 0)
    assert flags == [16] + [4] * (len(flags) - 1)
    assert set(out.tables) == {"Res7"}
    assert out.back.not_applied == []


def test_faces_of_a_new_material_have_its_flags(tmp_path: Path) -> None:
    """They are a batch of their own, the last one of the slot."""
    row = first_row(PLANT)

    def edit(document: Editable) -> None:
        mesh = document.json["nodes"][row]["mesh"]
        split_first_face(document, mesh, {"name": "walkable", "extras": {"tri_flags": 2}})

    out = edited(tmp_path, PLANT, edit)
    flags = flags_in(out.new, row, 0, 0)
    assert flags == [0] * (len(flags) - 1) + [2]
    assert out.back.not_applied == []


def test_one_of_two_users_of_a_slot_gets_flags(tmp_path: Path) -> None:
    model = parse(sample_called(SHARED).source)
    slots = model.nodes["slot_index"][:, 0, 0]
    rows, counts = np.unique(slots[slots != 0xFFFF], return_counts=True)
    one, two = np.flatnonzero(slots == rows[counts > 1][0])[:2].tolist()
    out = edited(tmp_path, SHARED, lambda d: state(d, d.json["nodes"][one]["name"], 32))
    assert set(flags_in(out.new, one, 0, 0)) == {32}
    assert flags_in(out.new, two, 0, 0) == flags_in(out.old, two, 0, 0)
    assert out.cell(one, 0, 0) != out.cell(two, 0, 0)


def test_triangles_keep_their_flags_where_two_objects_swap_meshes(tmp_path: Path) -> None:
    """What was exported with the objects is not stated for the triangles that come to them."""
    path, name, row = uniform(tmp_path)
    other = cells_of(parse(sample_called(PLANT).source), 0, 0)[1]
    source = parse((tmp_path / "again.msh").read_bytes())
    document = Editable(path)
    here, there = document.node(name), document.json["nodes"][other]
    here["mesh"], there["mesh"] = there["mesh"], here["mesh"]
    back = import_gltf(document.save(path))
    model = parse(back.data)
    assert flags_in(model, row, 0, 0) == flags_in(source, other, 0, 0)
    assert flags_in(model, other, 0, 0) == flags_in(source, row, 0, 0)
    assert model.triangles.tobytes() == source.triangles.tobytes()


def test_flags_come_through_a_rebuild_without_a_sidecar(tmp_path: Path) -> None:
    path, name, row = uniform(tmp_path)
    model = parse(import_gltf(path, None, ALONE).data)
    assert set(flags_in(model, row, 0, 0)) == {2}
    others = [r for r in cells_of(model, 0, 0) if r != row]
    assert {f for r in others for f in flags_in(model, r, 0, 0)} == {0}
    document = Editable(path)
    state(document, name, 16)
    model = parse(import_gltf(document.save(path), None, ALONE).data)
    assert set(flags_in(model, row, 0, 0)) == {16}


@pytest.mark.parametrize("value", [65536, -1, 2.5, "walk", True, [2]])
@pytest.mark.parametrize("place", ["object", "nested", "material"])
def test_what_is_not_a_number_of_16_bits_is_reported(value: object, place: str, tmp_path: Path) -> None:
    def edit(document: Editable) -> None:
        if place == "material":
            document.json["materials"][0]["extras"]["tri_flags"] = value
        else:
            name = document.json["nodes"][first_row(PLANT)]["name"]
            state(document, name, value, nested=place == "nested")

    out = edited(tmp_path, PLANT, edit)
    assert out.back.changes == []
    (one,) = out.back.not_applied
    assert one.where.startswith("material '" if place == "material" else "node '")
    assert "65535" in one.why


def test_a_float_that_is_an_integer_is_one(tmp_path: Path) -> None:
    """Blender's custom properties are floats unless set otherwise."""
    row = first_row(PLANT)
    out = edited(tmp_path, PLANT, lambda d: state(d, d.json["nodes"][row]["name"], 2.0))
    assert set(flags_in(out.new, row, 0, 0)) == {2}


def test_a_model_without_descriptors_has_no_flags(tmp_path: Path) -> None:
    row = first_row(NO_RES7)
    out = edited(tmp_path, NO_RES7, lambda d: state(d, d.json["nodes"][row]["name"], 2))
    assert out.back.changes == []
    (one,) = out.back.not_applied
    assert "Res7" in one.why


def test_flags_of_an_object_without_triangles_are_reported(tmp_path: Path) -> None:
    model = parse(sample_called(PLANT).source)
    row = next(r for r in range(len(model.nodes)) if r not in cells_of(model, 0, 0))
    out = edited(tmp_path, PLANT, lambda d: state(d, d.json["nodes"][row]["name"], 2))
    assert [one.why for one in out.back.not_applied] == ["it has no triangles"]


def test_flags_stay_with_moved_triangles(tmp_path: Path) -> None:
    """A part of several flags loses a face, so that its slot is rebuilt."""
    model = parse(sample_called(PLANT).source)
    row, lod, group = next(
        cell
        for cell in np.argwhere(model.nodes["slot_index"] != NONE16).tolist()
        if cell[1:] != [0, 0] and len(set(flags_in(model, *cell))) > 1
    )

    def edit(document: Editable) -> None:
        node = document.node(name_of(document, row, lod, group))
        mesh = document.json["meshes"][node["mesh"]]
        primitive = mesh["primitives"][0]
        primitive["indices"] = document.add(document.arrays[primitive["indices"]][3:])

    out = edited(tmp_path, PLANT, edit)
    assert flags_in(out.new, row, lod, group) == flags_in(out.old, row, lod, group)[1:]


@pytest.mark.parametrize("values", [(2,), (2, 4)])
def test_new_objects_of_one_mesh_state_flags_of_their_own(values: tuple[int, ...], tmp_path: Path) -> None:
    def edit(document: Editable) -> None:
        mesh = json.loads(json.dumps(document.json["meshes"][0]))
        attributes = mesh["primitives"][0]["attributes"]
        attributes["POSITION"] = document.add(document.arrays[attributes["POSITION"]] * 2)
        document.json["meshes"].append({"name": "new", "primitives": mesh["primitives"]})
        nodes = document.json["nodes"]
        for value in values:
            nodes.append({"name": f"new{value}", "mesh": len(document.json["meshes"]) - 1})
            nodes[-1]["extras"] = {"tri_flags": value}
            document.json["scenes"][0]["nodes"].append(len(nodes) - 1)

    out = edited(tmp_path, PLANT, edit)
    rows = range(len(out.new.nodes) - len(values), len(out.new.nodes))
    assert [set(flags_in(out.new, row, 0, 0)) for row in rows] == [{value} for value in values]


@pytest.mark.plants_faults
def test_descriptors_are_made_where_a_slot_has_too_few(tmp_path: Path) -> None:
    """Flags are stated for triangles that have no descriptor."""
    from msh_gltf.converter.formats.model import write_model

    row = first_row(PLANT)
    model = parse(sample_called(PLANT).source)
    model.slots = model.slots.copy()
    model.slots["tri_count"][int(model.nodes["slot_index"][row, 0, 0])] -= 1
    (tmp_path / "few.msh").write_bytes(write_model(model))
    done = run("msh2gltf", "few.msh", "-o", "few.glb", "--dialect", "spec", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = Editable(tmp_path / "few.glb")
    state(document, document.json["nodes"][row]["name"], 2)
    back = import_gltf(document.save(tmp_path / "few.glb"))
    assert set(flags_in(parse(back.data), row, 0, 0)) == {2}
