"""Materials renamed, added and assigned: what becomes of the ``.wea``, and what stays.

What comes of each edit stands in ``materials.txt``; ``python -m tests.converter.edits.test_material_rows`` writes it
again, for you to read what became different.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from msh_gltf import import_gltf
from msh_gltf.converter.formats.wear import read_wear_names
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.recorded import Recorded, outcome
from tests.support.runs import run

#: What comes of each edit.
MATERIALS = Recorded(__file__, "materials.txt")
#: One with lightmaps and ids that are not positions, one of the other dialect.
ROBOT, BIRD = (sample_called(name).path for name in ("retail__system__R_H_002", "spec__system__a_bird_007"))
#: One whose files were made by the examples: few materials.
WALKER = Path(__file__).parents[3] / "examples/walker.msh"


class Row(NamedTuple):
    """An edit, the model that it is of, and its ``.wea``."""

    edit: Callable[[Editable], object]
    model: Path = WALKER
    wear: bytes | None = b"as it is"


def rename(document: Editable, before: str, after: str, *, first: bool = False) -> None:
    found = [m for m in document.json["materials"] if m["name"] == before]
    for number, material in enumerate(found[:1] if first else found):
        material["name"] = after + (f".{number:03}" if number else "")


def third(model: Path) -> str:
    return read_wear_names(model.with_suffix(".wea").read_bytes())[2]


def assign(document: Editable, name: str, **more: Any) -> None:
    """Give a new material to the first part's first batch."""
    document.json["materials"].append({"name": name, **more})
    document.primitives()[0]["material"] = len(document.json["materials"]) - 1


def some_new_names(d: Editable) -> None:
    """Two new names are two rows, and a number is none."""
    for i, name in enumerate(["rust", "rust.001", "gold", "glass.002"]):
        shown = {key: value for key, value in d.json["materials"][0].items() if key != "extras"}
        d.json["materials"].append(shown | {"name": name})
        d.primitives()[i]["material"] = len(d.json["materials"]) - 1


def swap(d: Editable) -> None:
    for before, after in (("armour", "x"), ("glass", "armour"), ("x", "glass")):
        rename(d, before, after)


def leave_a_row(d: Editable) -> None:
    """Nothing uses it any more: it stays."""
    number = {m["name"]: i for i, m in enumerate(d.json["materials"])}
    for primitive in d.primitives():
        if primitive["material"] == number["glow"]:
            primitive["material"] = number["joint"]


def without_hidden(d: Editable) -> None:
    """Without extras a name on the shown faces says nothing of the others."""
    drop_extras(d)
    d.json["scenes"] = d.json["scenes"][:1]
    rename(d, "armour", "rust")


def new_faces(d: Editable) -> None:
    primitive = {**d.primitives()[0]}
    moved = d.arrays[primitive["attributes"]["POSITION"]] + np.float32(0.25)
    d.json["materials"].append({"name": "rust"})
    primitive["attributes"] = primitive["attributes"] | {"POSITION": d.add(moved)}
    d.json["meshes"].append({"name": "box", "primitives": [primitive | {"material": len(d.json["materials"]) - 1}]})
    d.json["nodes"].append({"name": "box", "mesh": len(d.json["meshes"]) - 1})
    d.json["scenes"][0]["nodes"].append(len(d.json["nodes"]) - 1)


def bare(d: Editable, edit: Callable[[Editable], object]) -> None:
    edit(d)
    drop_extras(d)


BOTH = (("retail", ROBOT), ("spec", BIRD))
EDITS = {
    **{f"renamed, {name}": Row(lambda d, m=m: rename(d, third(m), "Ржавчина"), m) for name, m in BOTH},
    **{
        f"renamed, {name}, no extras": Row(lambda d, m=m: bare(d, lambda d: rename(d, third(m), "Ржавчина")), m)
        for name, m in BOTH
    },
    **{f"some renamed, {name}": Row(lambda d, m=m: rename(d, third(m), "rust", first=True), m) for name, m in BOTH},
    **{
        f"some renamed, {name}, no extras": Row(
            lambda d, m=m: bare(d, lambda d: rename(d, third(m), "rust", first=True)), m
        )
        for name, m in BOTH
    },
    # a number that one material has is of its name: Blender numbers the second one
    "one renamed, with a number": Row(lambda d: rename(d, third(BIRD), "rust.001", first=True), BIRD),
    "a new row before lightmaps": Row(lambda d: assign(d, "rust"), ROBOT),
    "new names": Row(some_new_names),
    "the name of another row": Row(lambda d: rename(d, "armour", "glass.001")),
    "the name of another row, no extras": Row(lambda d: bare(d, lambda d: rename(d, "armour", "glass.001"))),
    "names swapped": Row(swap),
    "a row that nothing uses": Row(leave_a_row),
    "hidden faces keep their name": Row(without_hidden),
    "a row that no batch can name": Row(
        lambda d: assign(d, "rust"), wear=("256\r\n" + "".join(f"{i} m{i}\r\n" for i in range(256))).encode()
    ),
    "a broken .wea": Row(lambda d: assign(d, "rust"), wear=b"5\r\n0 armour\r\n1 glass\r\n2 joint\r\n3 glow\r\n"),
    "no .wea, one renamed": Row(lambda d: rename(d, "material_0", "rust"), wear=None),
    "no .wea, all renamed": Row(lambda d: [rename(d, f"material_{i}", f"metal{i}") for i in range(4)], wear=None),
    "rows beyond the .wea": Row(lambda d: rename(d, "material_3", "lamp"), wear=b"2\r\n0 armour\r\n1 glass"),
    "a row in the extras": Row(lambda d: d.json["materials"][0]["extras"]["msh"].update(row=2)),
    "a new material that is called by a row": Row(lambda d: assign(d, "material_1")),
    "new faces of a new material": Row(new_faces),
    "a name that cannot be, no extras": Row(lambda d: bare(d, lambda d: rename(d, "armour", "日本"))),
    **{
        f"a name that cannot be, {name[:4]!r}{', assigned' * new}": Row(
            lambda d, name=name, new=new: assign(d, name) if new else rename(d, "armour", name)
        )
        for name in ("x" * 36, "日本", " rust", "rust\n")
        for new in (False, True)
    },
}


def found(name: str, folder: Path) -> str:
    """What comes of an edit."""
    row = EDITS[name]
    shutil.copy(row.model, folder / "m.msh")
    if row.wear is not None:
        own = row.model.with_suffix(".wea").read_bytes()
        (folder / "m.wea").write_bytes(own if row.wear == b"as it is" else row.wear)
    dialect = "auto" if row.model == WALKER else row.model.name.partition("__")[0]
    out = run("msh2gltf", "m.msh", "-o", "m.glb", "--dialect", dialect, "--no-textures", cwd=folder)
    assert out.returncode == 0
    document = Editable(folder / "m.glb")
    row.edit(document)
    path = document.save(folder / "m.glb")
    return outcome(lambda: import_gltf(path), folder)


@pytest.mark.parametrize("name", EDITS)
def test_what_comes_of_an_edit(name: str, tmp_path: Path) -> None:
    MATERIALS.require(name, found(name, tmp_path))


if __name__ == "__main__":
    MATERIALS.write_each(EDITS, found)
