"""Flags of triangles: stated by objects and materials, kept where nothing is stated, exported."""

import json
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from msh_gltf.converter.formats.model import MshModel, write_model
from msh_gltf.converter.kinds.differences import diff_models
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.numeric.arrays import NONE16
from tests.converter.edits.parts import PLANT, cells_of, name_of
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.rebuilt import parse
from tests.support.recorded import Case, made

#: Flags of its triangles differ inside parts; one slot of two cells.
SHARED = "spec__odd__Gen_stat_011"
ROBOT = "retail__system__R_H_002"
NO_RES7 = "mixed__odd__l_mast_058"


def flags_in(model: MshModel, row: int, lod: int, group: int) -> list[int]:
    """The flags of a part's triangles."""
    slot = model.slots[int(model.nodes["slot_index"][row, lod, group])]
    first = int(slot["tri_start"])
    return [] if model.triangles is None else model.triangles["tri_flags"][first:][: int(slot["tri_count"])].tolist()


def flags_by_part(model: MshModel) -> dict[str, str]:
    cells = np.argwhere(model.nodes["slot_index"] != NONE16).tolist()
    runs = {".".join(map(str, c)): [(f, len([*g])) for f, g in groupby(flags_in(model, *c))] for c in cells}
    return {cell: " + ".join(f"{count} of {flag}" for flag, count in run) for cell, run in runs.items()}


PLANTS = parse(sample_called(PLANT).source)
FIRST, SECOND = cells_of(PLANTS, 0, 0)[:2]


def of_tables(change: Callable[[MshModel], object]) -> Callable[[Path], None]:
    """Change the tables of the model first."""

    def make(folder: Path) -> None:
        model = parse((folder / "m.msh").read_bytes())
        change(model)
        (folder / "m.msh").write_bytes(write_model(model))

    return make


def too_few(model: MshModel) -> None:
    """One of the first part's triangles has no descriptor."""
    model.slots = model.slots.copy()
    model.slots["tri_count"][int(model.nodes["slot_index"][FIRST, 0, 0])] -= 1


def flat_in_second_batch(model: MshModel) -> None:
    """A triangle without area in the second batch of the first part that has two."""
    batch = int(next(slot["batch_start"] for slot in model.slots if slot["batch_count"] > 1)) + 1
    first = int(model.batches["index_start"][batch])
    model.indices = model.indices.copy()
    model.indices[first + 1] = model.indices[first]


def other_flags(former: bytes, back: ImportResult) -> list[str]:
    """The tables that differ, and the flags of each part whose flags do."""
    old, new = parse(former), parse(back.data)
    tables = sorted({item["table"].partition(" ")[0] for item in diff_models(old, new)})
    parts = [f"{cell} has {run}" for cell, run in flags_by_part(new).items() if flags_by_part(old).get(cell) != run]
    return ["other tables: " + (", ".join(tables) or "none"), *parts]


def vertices_moved(document: Editable) -> None:
    for primitive in document.primitives():
        document.arrays[primitive["attributes"]["POSITION"]][0] += 0.25


def state(document: Editable, own: object = None, nested: object = None, row: int = FIRST) -> None:
    """State flags for an object, as an artist does and as the export does."""
    extras = document.json["nodes"][row]["extras"]
    for where, value in ((extras, own), (extras["msh"], nested)):
        if value is not None:
            where["tri_flags"] = value


def primitive_of(document: Editable, node: dict[str, Any]) -> dict[str, Any]:
    return document.json["meshes"][node["mesh"]]["primitives"][0]


def triangle_more(document: Editable) -> None:
    primitive = primitive_of(document, document.json["nodes"][FIRST])
    index = document.arrays[primitive["indices"]]
    primitive["indices"] = document.add(np.concatenate([index, index[[0, 4, 5]]]))


def split_first_face(document: Editable, material: dict[str, Any]) -> None:
    """Give the first face of the first part another material."""
    document.json["materials"].append(material)
    primitives = document.json["meshes"][document.json["nodes"][FIRST]["mesh"]]["primitives"]
    index = document.arrays[primitives[0]["indices"]]
    fresh = {**primitives[0], "material": len(document.json["materials"]) - 1}
    primitives.append({**fresh, "indices": document.add(index[:3].copy())})
    primitives[0]["indices"] = document.add(index[3:].copy())


def face_of_a_copy(document: Editable, extras: str) -> None:
    """A copy of the material states flags for a face; the object's are for the other ones."""
    primitive = primitive_of(document, document.json["nodes"][FIRST])
    copy = json.loads(json.dumps(document.json["materials"][primitive["material"]]))
    copy["name"] += ".001"
    if extras == "none":
        copy["extras"] = {}
    (copy["extras"]["msh"] if extras == "nested" else copy["extras"])["tri_flags"] = 16
    split_first_face(document, copy)
    state(document, 4)


def one_of_two_users(document: Editable) -> None:
    slots = parse(sample_called(SHARED).source).nodes["slot_index"][:, 0, 0]
    rows, counts = np.unique(slots[slots != NONE16], return_counts=True)
    state(document, 32, row=int(np.flatnonzero(slots == rows[counts > 1][0])[0]))


def swapped(document: Editable) -> None:
    """What was exported with the objects is not stated for the triangles that come to them."""
    here, there = (document.json["nodes"][row] for row in (FIRST, SECOND))
    here["mesh"], there["mesh"] = there["mesh"], here["mesh"]


def face_less(document: Editable) -> None:
    """A part of several flags loses a face, so that its slot is rebuilt."""
    cells = np.argwhere(PLANTS.nodes["slot_index"] != NONE16).tolist()
    cell = next(cell for cell in cells if cell[1:] != [0, 0] and len(set(flags_in(PLANTS, *cell))) > 1)
    primitive = primitive_of(document, document.node(name_of(document, *cell)))
    primitive["indices"] = document.add(document.arrays[primitive["indices"]][3:])


def new_objects(document: Editable, *values: int) -> None:
    """Objects of one mesh."""
    mesh = json.loads(json.dumps(document.json["meshes"][0]))
    attributes = mesh["primitives"][0]["attributes"]
    attributes["POSITION"] = document.add(document.arrays[attributes["POSITION"]] * 2)
    document.json["meshes"].append({"name": "new", "primitives": mesh["primitives"]})
    for value in values:
        extras = {"tri_flags": value}
        document.put({"name": f"new{value}", "mesh": len(document.json["meshes"]) - 1, "extras": extras})


def no_longer_exported(document: Editable, own: int | None = None) -> None:
    del document.json["nodes"][FIRST]["extras"]["msh"]["tri_flags"]
    state(document, own)


def without_triangles(document: Editable) -> None:
    state(document, 2, row=next(r for r in range(len(PLANTS.nodes)) if r not in cells_of(PLANTS, 0, 0)))


#: The triangles of the first part all have the same flags.
UNIFORM = made(lambda d: state(d, 2))
WRONG: tuple[object, ...] = (65536, -1, 2.5, "walk", True, [2])
Row = partial(Case, model=PLANT, more=other_flags)
CASES = {
    **{
        f"states {own}, exported with {nested}": Row(lambda d, o=own, n=nested: state(d, o, n), before=UNIFORM)
        for own, nested in ((None, 2), (16, 2), (2, 4), (16, 4), (0, 2))
    },
    "exported with nothing": Row(no_longer_exported, before=UNIFORM),
    "states 16, exported with nothing": Row(lambda d: no_longer_exported(d, 16), before=UNIFORM),
    "a triangle more": Row(triangle_more, before=UNIFORM),
    **{f"a face of a copy, {e}": Row(lambda d, e=e: face_of_a_copy(d, e)) for e in ("kept", "nested", "none")},
    "a face of a new material": Row(lambda d: split_first_face(d, {"name": "walkable", "extras": {"tri_flags": 2}})),
    "one of two users of a slot": Row(one_of_two_users, model=SHARED),
    "two objects swap meshes": Row(swapped, before=UNIFORM),
    "nothing, alone": Row(lambda d: None, before=UNIFORM, alone=True),
    "states 16, alone": Row(lambda d: state(d, 16), before=UNIFORM, alone=True),
    **{f"an object's {value!r}": Row(lambda d, v=value: state(d, v)) for value in WRONG},
    **{f"an exported {value!r}": Row(lambda d, v=value: state(d, None, v)) for value in WRONG},
    "a material's 0, an object's 2": Row(
        lambda d: (d.json["materials"][0]["extras"].update(tri_flags=0), state(d, 2)), before=UNIFORM
    ),
    **{
        f"a material's {value!r}": Row(lambda d, v=value: d.json["materials"][0]["extras"].update(tri_flags=v))
        for value in WRONG
    },
    "a float that is an integer": Row(lambda d: state(d, 2.0)),
    "no descriptors": Row(
        lambda d: state(d, 2, row=cells_of(parse(sample_called(NO_RES7).source), 0, 0)[0]), model=NO_RES7
    ),
    "no triangles": Row(without_triangles),
    "a face less": Row(face_less),
    "a new object": Row(lambda d: new_objects(d, 2)),
    "new objects of one mesh": Row(lambda d: new_objects(d, 2, 4)),
    "a flat triangle in a second batch": Row(vertices_moved, model=ROBOT, before=of_tables(flat_in_second_batch)),
    "too few descriptors": Row(lambda d: state(d, 2), before=of_tables(too_few)),
}
