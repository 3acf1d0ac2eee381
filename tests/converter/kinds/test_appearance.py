"""New materials: what they are made like, and what of them is in every phase."""

from pathlib import Path

import pytest

from msh_gltf.converter.edits.materials import NewMaterial
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.material import (
    MATERIAL_VERSION,
    MaterialKind,
    new_material,
    read_material,
    write_material,
)
from msh_gltf.converter.formats.nres import Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.kinds.library import add_or_replace_material
from msh_gltf.converter.kinds.new_entries import NewEntries
from tests.support.corpus import LIBS

ROOT = Path(__file__).parents[3]


def test_a_new_material_is_made_like_another_one(tmp_path: Path) -> None:
    """One that is named, or that it is a copy of, else DEFAULT, else what is usual: white, solid, one phase."""
    library = read_nres(read_file(LIBS / "Material.lib"), "lib")
    known = {entry.name.lower(): entry for entry in library.entries}
    for libraries, new, text, like in (
        (NewEntries(), NewMaterial("brick", "x"), "with what is usual", None),
        (NewEntries(library), NewMaterial("brick", "x"), "like DEFAULT", "default"),
        (NewEntries(library, like="metal_002"), NewMaterial("brick", "x"), "like Metal_002", "metal_002"),
        (NewEntries(library), NewMaterial("brick", "x", like="metal_002"), "a copy of Metal_002", "metal_002"),
    ):
        (made,) = libraries.material(new).entries
        assert (made.name, made.what) == ("brick", f"is new, {text}")
        if like is not None:
            assert (made.data, made.attributes[0]) == (bytes(known[like].payload), known[like].attr1)
            continue
        one = read_material(Entry(made.type_id, *made.attributes, b"brick\0", 0, 0, made.data), "x")
        assert (len(one.phases), one.texture, one.diffuse, one.alpha, one.kind) == (1, "", (1, 1, 1), 1, 0)
    for materials, file in ((None, "Material.lib"), (library, "lib")):
        with pytest.raises(ConversionError, match=f"^{file}: has no such material: of no library"):
            NewEntries(materials, like="of no library")
    (tmp_path / "Material.lib").write_bytes(write_nres(new_archive([], "x")))
    (tmp_path / "brick.mat0").write_bytes(made.data)
    (put,) = read_nres(add_or_replace_material(tmp_path / "Material.lib", tmp_path / "brick.mat0").data, "x").entries
    assert (put.name, put.attr1, put.attr2) == ("brick", 0, MATERIAL_VERSION)


def test_new_materials() -> None:
    """What is given, in every phase; every other byte is the other material's."""
    library = read_nres(read_file(LIBS / "Material.lib"), "x")
    several = 0
    for entry in library.entries:
        like = read_material(entry, "x")
        assert write_material(new_material(like, "copy")) == entry.payload
        made = new_material(like, "new", "T.0", diffuse=(1, 0.5, 0), alpha=0.4, self_light=(0, 0, 0.25), kind=8)
        assert (made.name, made.texture, made.kind) == ("new", "T.0", MaterialKind.ADDITIVE)
        several += len(like.phases) > 1
        old, new = bytearray(entry.payload), write_material(made)
        for at in range(14, 14 + 34 * len(like.phases), 34):
            old[at : at + 4] = bytes([0, 0, 64, 40])
            old[at + 4 : at + 7] = bytes([255, 128, 0])
            old[at + 17 : at + 34] = b"\xffT.0".ljust(17, b"\0")
        assert new == old
    assert several
    long = new_material(like, "new", "sixteen_bytes.00")
    assert long.texture == "sixteen_bytes.00"
    assert new_material(like, "new", "").texture == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"texture": "seventeen_bytes.0"}, "texture name of material 'new' does not fit"),
        ({"texture": "a\0b"}, "texture name"),
        ({"texture": "壁.0"}, "at most 16 bytes of CP1251"),
        ({"alpha": 1.5}, r"alpha of material 'new' does not fit: \[1.5\]"),
        ({"diffuse": (0, -0.1, 0)}, "diffuse"),
        ({"self_light": (0, float("nan"), 0)}, "self_light"),
    ],
)
def test_materials_that_cannot_be(changes: dict[str, object], said: str) -> None:
    like = read_material(read_nres(read_file(LIBS / "Material.lib"), "x").entries[0], "x")
    with pytest.raises(ConversionError, match=said):
        new_material(like, "new", **changes)
