"""Materials renamed, added and assigned: what becomes of the ``.wea``, and what stays."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from msh_gltf.converter.formats.wear import read_wear_names
from tests.support.corpus import DATA
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.recorded import Case

#: One with lightmaps and ids that are not positions, one of the other dialect; the walker has few materials.
ROBOT, BIRD = "retail__system__R_H_002", "spec__system__a_bird_007"


def wear(data: bytes | None) -> Callable[[Path], None]:
    """Give the model another ``.wea``, or none."""

    def put(folder: Path) -> None:
        (folder / "m.wea").unlink() if data is None else (folder / "m.wea").write_bytes(data)

    return put


def rename(document: Editable, before: str, after: str, *, first: bool = False) -> None:
    found = [m for m in document.json["materials"] if m["name"] == before]
    for number, material in enumerate(found[:1] if first else found):
        material["name"] = after + (f".{number:03}" if number else "")


def third(model: str) -> str:
    return read_wear_names((DATA / f"{model}.wea").read_bytes())[2]


def assign(document: Editable, name: str, primitive: int = 0) -> None:
    """Give a new material to a batch, the first one of the first part."""
    document.json["materials"].append({"name": name})
    document.primitives()[primitive]["material"] = len(document.json["materials"]) - 1


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
    d.put({"name": "box", "mesh": len(d.json["meshes"]) - 1})


Row = partial(Case, export=("--no-textures",))
BOTH = (("retail", ROBOT), ("spec", BIRD))
CASES = {
    **{
        f"{what}, {name}{', no extras' * (not extras)}": Row(
            lambda d, m=m, new=new, first=first: rename(d, third(m), new, first=first), m, extras=extras
        )
        for what, new, first in (("renamed", "Ржавчина", False), ("some renamed", "rust", True))
        for name, m in BOTH
        for extras in (True, False)
    },
    # a number that one material has is of its name: Blender numbers the second one
    "one renamed, with a number": Row(lambda d: rename(d, third(BIRD), "rust.001", first=True), BIRD),
    "a new row before lightmaps": Row(lambda d: assign(d, "rust"), ROBOT),
    "new names": Row(some_new_names),
    "the name of another row": Row(lambda d: rename(d, "armour", "glass.001")),
    "the name of another row, no extras": Row(lambda d: rename(d, "armour", "glass.001"), extras=False),
    "names swapped": Row(swap),
    "a row that nothing uses": Row(leave_a_row),
    "hidden faces keep their name": Row(without_hidden),
    "a row that no batch can name": Row(
        lambda d: assign(d, "rust"), before=wear(("256\r\n" + "".join(f"{i} m{i}\r\n" for i in range(256))).encode())
    ),
    "a broken .wea": Row(
        lambda d: assign(d, "rust"), before=wear(b"5\r\n0 armour\r\n1 glass\r\n2 joint\r\n3 glow\r\n")
    ),
    "no .wea, one renamed": Row(lambda d: rename(d, "material_0", "rust"), before=wear(None)),
    "no .wea, all renamed": Row(
        lambda d: [rename(d, f"material_{i}", f"metal{i}") for i in range(4)], before=wear(None)
    ),
    "rows beyond the .wea": Row(lambda d: rename(d, "material_3", "lamp"), before=wear(b"2\r\n0 armour\r\n1 glass")),
    "a row in the extras": Row(lambda d: d.json["materials"][0]["extras"]["msh"].update(row=2)),
    "a new material that is called by a row": Row(lambda d: assign(d, "material_1")),
    "new faces of a new material": Row(new_faces),
    "a name that cannot be, no extras": Row(lambda d: rename(d, "armour", "日本"), extras=False),
    **{
        f"a name that cannot be, {name[:4]!r}{', assigned' * new}": Row(
            lambda d, name=name, new=new: assign(d, name) if new else rename(d, "armour", name)
        )
        for name in ("x" * 36, "日本", " rust", "rust\n")
        for new in (False, True)
    },
}
