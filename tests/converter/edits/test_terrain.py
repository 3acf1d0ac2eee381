"""Edits of a terrain and of its materials, rows of Land1.wea and Land2.wea: they arrive, or a line has a reason.

What comes of each edit stands in ``terrain.txt``; ``python -m tests.converter.edits.test_terrain`` writes it again, for
you to read what became different.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.converter.rebuild.test_terrain import LEVEL, Edit, inner_vertex
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.maps import level_called
from tests.support.recorded import Recorded, outcome
from tests.support.runs import call
from tests.support.terrain_twin import check

#: What comes of each edit.
TERRAIN = Recorded(__file__, "terrain.txt")
FIRST = level_called(LEVEL).folder.joinpath("Land1.wea").read_bytes()
#: A material whose row no other one has, and one of many pairs.
ALONE, SHARED = "WATER_BOT", "LND_05"


def coarse_vertex(e: Edit, stream: str) -> None:
    """Vertices of coarse faces are the fine level's."""
    primitive = e.primitives(1)[0]
    values = e.document.arrays[primitive["attributes"][stream]].copy()
    vertex = int(e.index(primitive)[0, 0])
    values[vertex] = [0, 0.6, 0.8] if stream == "NORMAL" else values[vertex] / 2 + 0.125
    for one in e.primitives(1):
        one["attributes"] = {**one["attributes"], stream: e.document.add(values)}


def hole(e: Edit, *, everything: bool) -> None:
    """Under coarse faces, whether neighbours still use its corners or not."""
    vertex = inner_vertex(e)
    for primitive in e.primitives():
        index = e.index(primitive)
        hit = np.flatnonzero((index == vertex).any(axis=1))
        e.set_index(primitive, np.delete(index, hit if everything else hit[:1], axis=0))


def hole_through_both(e: Edit) -> None:
    square = e.index(e.primitives()[0])
    low, high = (e.positions[square[0]].min(0)[[0, 2]], e.positions[square[0]].max(0)[[0, 2]])
    for primitive in (*e.primitives(0), *e.primitives(1)):
        index = e.index(primitive)
        corners = e.positions[index][..., [0, 2]]
        over = ((corners.max(1) > low) & (corners.min(1) < high)).all(axis=1)
        if not over.all():
            e.set_index(primitive, index[~over])


def lifted(e: Edit) -> None:
    """An object that is moved up takes its vertices along."""
    for node in e.document.json["nodes"]:
        node["translation"] = [0, 2, 0]


def equal_corners(e: Edit) -> None:
    vertex, primitive = inner_vertex(e), e.primitives()[0]
    index = e.index(primitive)
    e.set_index(primitive, np.concatenate([index, [(vertex, vertex, int(index[0, 0]))]]))


def z_up(e: Edit) -> None:
    accessor = e.attributes["POSITION"]
    x, y, z = e.document.arrays[accessor].T
    e.document.arrays[accessor] = np.stack([x, -z, y], axis=1)


def without_materials(e: Edit, *, every: bool) -> None:
    primitives = e.document.primitives()
    for primitive in primitives if every else primitives[:1]:
        del primitive["material"]
    if every:
        del e.document.json["materials"]


def recoloured(e: Edit) -> None:
    material = e.document.json["materials"][e.primitives()[0]["material"]]
    material["pbrMetallicRoughness"]["baseColorFactor"] = [0.25, 0.5, 0.75, 1]


def rename(e: Edit, names: dict[str, str]) -> None:
    for material in e.document.json["materials"]:
        material["name"] = names.get(material["name"], material["name"])


def assign(e: Edit, *names: str) -> None:
    """Materials of new names on some faces."""
    materials = e.document.json["materials"]
    for name, primitive in zip(names, e.primitives(), strict=False):
        primitive["material"] = len(materials)
        materials.append({"name": name})


def in_all_pairs(e: Edit) -> None:
    names = [material["name"] for material in e.document.json["materials"]]
    rename(e, {name: name.replace(SHARED, "lava") for name in names})


def no_extras(e: Edit, edit: Callable[[Edit], object]) -> None:
    edit(e)
    drop_extras(e.document)


def microtexture(e: Edit, text: str, *, everywhere: bool) -> None:
    """By the extras of all its materials."""
    for material in e.document.json["materials"]:
        extras = material["extras"]["msh"]
        for key, name in (("first", "microtexture"), ("second", "microtexture2")):
            if extras[key] == 6 and (everywhere or "+" not in material["name"]):
                extras[name] = text


EDITS: dict[str, Callable[[Edit], object]] = {
    **{f"a coarse vertex, {name}": lambda e, name=name: coarse_vertex(e, name) for name in ("NORMAL", "_MSH_BLEND")},
    "a coarse vertex, TEXCOORD_0": lambda e: coarse_vertex(e, "TEXCOORD_0"),
    "a hole of a face": lambda e: hole(e, everything=False),
    "a hole": lambda e: hole(e, everything=True),
    "a hole through both levels": hole_through_both,
    "lifted": lifted,
    "lifted, no extras": lambda e: no_extras(e, lifted),
    "a face of two equal corners": equal_corners,
    "z up": z_up,
    "a face without a material": lambda e: without_materials(e, every=False),
    "without materials": lambda e: without_materials(e, every=True),
    "another colour": recoloured,
    "a row renamed": lambda e: rename(e, {ALONE: "лава"}),
    "a row of pairs renamed alone": lambda e: rename(e, {SHARED: "lava"}),
    "a row renamed in all its pairs": in_all_pairs,
    "new names": lambda e: assign(e, "lava", "lnd_03+ash.001", "lnd_03+ash"),
    "numbered copies of a new name": lambda e: assign(e, "ash.001", "ash.002"),
    "a row renamed, no extras": lambda e: no_extras(e, lambda e: rename(e, {ALONE: "lava"})),
    "custom properties of a row that no material had": lambda e: e.document.json["materials"][2]["extras"][
        "msh"
    ].update(first=8),
    "custom properties beyond a byte": lambda e: e.document.json["materials"][2]["extras"]["msh"].update(first=300),
    "two names exchanged": lambda e: rename(e, {ALONE: SHARED, SHARED: ALONE}),
    **{
        f"a name {name[:9]}": lambda e, name=name: rename(e, {ALONE: name})
        for name in ("岩", "x" * 40, "a+b+c", "a+", "")
    },
    **{
        f"a name {name[:9]}, no extras": lambda e, name=name: no_extras(e, lambda e: rename(e, {ALONE: name}))
        for name in ("岩", "x" * 40, "a+b+c", "a+")
    },
    **{
        f"microtexture {text[:9]}{', everywhere' * everywhere}": lambda e, text=text, everywhere=everywhere: (
            microtexture(e, text, everywhere=everywhere)
        )
        for text, everywhere in (("MIC_NEW", True), ("MIC_NEW", False), ("x" * 40, True))
    },
}


def found(name: str, folder: Path) -> str:
    """What comes of an edit, which keeps all rules."""
    e = Edit(level_called(LEVEL), folder)
    EDITS[name](e)

    def back() -> ImportResult:
        made = e.back()
        check(made.data)
        return made

    return outcome(back, folder)


@pytest.mark.parametrize("name", EDITS)
def test_what_comes_of_an_edit(name: str, tmp_path: Path) -> None:
    TERRAIN.require(name, found(name, tmp_path))


def test_rows_end_where_a_face_cannot_name_them(tmp_path: Path) -> None:
    level = shutil.copytree(level_called(LEVEL).folder, tmp_path / "level")
    names = FIRST.splitlines()[1:] + [f"{i} m_{i}".encode() for i in range(11, 255)]
    (level / "Land1.wea").write_bytes(b"\r\n".join([b"255", *names, b""]))
    assert call(cli.msh2gltf, level / "Land.msh", "-o", tmp_path / "Land.glb", "-q") == 0
    document = Editable(tmp_path / "Land.glb")
    document.json["materials"][0]["name"] = "lava"
    document.save(tmp_path / "Land.glb")
    with pytest.raises(ConversionError, match="needs a row that no face can name"):
        import_gltf(tmp_path / "Land.glb")


def test_a_sidecar_without_the_wear(tmp_path: Path) -> None:
    """One of 0.1 does not have it."""
    edit = Edit(level_called(LEVEL), tmp_path)
    rename(edit, {ALONE: "lava"})
    edit.document.save(edit.path)
    beside = edit.path.with_suffix(".msh-sidecar")
    kept = read_sidecar(beside.read_bytes(), "")
    kept.description.companions.clear()
    beside.write_bytes(write_sidecar(kept))
    back = import_gltf(edit.path)
    assert (back.companions, back.data) == ([], edit.source)
    assert [one.what for one in back.not_applied] == ["was renamed to 'lava'"]
    assert "convert the model again" in back.not_applied[0].why


def test_a_level_without_microtextures(tmp_path: Path) -> None:
    level = shutil.copytree(level_called(LEVEL).folder, tmp_path / "level")
    (level / "Land2.wea").unlink()
    assert call(cli.msh2gltf, level / "Land.msh", "-o", tmp_path / "Land.glb", "-q") == 0
    document = Editable(tmp_path / "Land.glb")
    document.json["materials"][0]["name"] = "lava"
    document.save(tmp_path / "Land.glb")
    assert [one.ending for one in import_gltf(tmp_path / "Land.glb").companions] == ["1.wea"]


def test_a_level_without_materials(tmp_path: Path) -> None:
    """A list of one name would take the names of all other rows."""
    level = shutil.copytree(level_called(LEVEL).folder, tmp_path / "level")
    (level / "Land1.wea").unlink()
    assert call(cli.msh2gltf, level / "Land.msh", "-o", tmp_path / "Land.glb", "-q") == 0
    document = Editable(tmp_path / "Land.glb")
    before, document.json["materials"][0]["name"] = document.json["materials"][0]["name"], "lava"
    document.save(tmp_path / "Land.glb")
    back = import_gltf(tmp_path / "Land.glb")
    assert (back.companions, [one.where for one in back.not_applied]) == ([], [f"material '{before}'"])
    assert "no Land1.wea lies beside" in back.not_applied[0].why


def test_a_single_file_gets_them_beside_it(tmp_path: Path) -> None:
    edit = Edit(level_called(LEVEL), tmp_path)
    rename(edit, {SHARED: "lava"})
    edit.document.save(edit.path)
    assert call(cli.gltf2msh, edit.path, "-o", tmp_path / "new" / "Land.msh", "-q") == 0
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names[:3] == ["Land.msh", "Land1.wea", "Land2.wea"]
    assert call(cli.msh2gltf, tmp_path / "new" / "Land.msh", "-o", tmp_path / "again.glb", "-q") == 0
    assert "lava" in {m["name"] for m in Editable(tmp_path / "again.glb").json["materials"]}


if __name__ == "__main__":
    TERRAIN.write_each(EDITS, found)
