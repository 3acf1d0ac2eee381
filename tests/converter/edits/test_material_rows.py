"""Materials renamed, added and assigned: what becomes of the ``.wea``, and what stays."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf import ImportResult, import_gltf, write_msh
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.wear import read_wear_names
from tests.converter.edits.test_compare_materials import without_wear
from tests.converter.rebuild.test_materials import painted
from tests.support.corpus import Sample, sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import run

#: One with lightmaps and ids that are not positions, one of the other dialect.
ROBOT, BIRD = sample_called("retail__system__R_H_002"), sample_called("spec__system__a_bird_007")
#: One whose files were made by the examples: few materials.
WALKER = Path(__file__).parents[3] / "examples/walker.msh"
TAIL = b"\r\n\r\nLIGHTMAPS\r\n1\r\n3 LM_R_H_002_0_3\r\n"


def exported(source: Path, folder: Path, dialect: str = "auto", *, wear: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    shutil.copy(source, folder / "m.msh")
    if wear:
        shutil.copy(source.with_suffix(".wea"), folder / "m.wea")
    out = run("msh2gltf", "m.msh", "-o", "m.glb", "--dialect", dialect, "--no-textures", cwd=folder)
    assert (out.returncode, out.stderr) == (0, "")
    return folder / "m.glb"


def export_of(sample: Sample, folder: Path) -> Path:
    return exported(sample.path, folder, sample.dialect)


def again(back: ImportResult, folder: Path, dialect: str = "auto") -> Path:
    """The result, written beside a copy of its .wea and exported."""
    folder.mkdir()
    for old in folder.parent.glob("m.wea"):
        shutil.copy(old, folder / "m.wea")
    write_msh(back, folder / "m.msh", force=True)
    out = run("msh2gltf", "m.msh", "-o", "m.glb", "--dialect", dialect, "--no-textures", cwd=folder)
    assert out.returncode == 0
    return folder / "m.glb"


def rename(document: Editable, before: str, after: str, *, first: bool = False) -> None:
    found = [m for m in document.json["materials"] if m["name"] == before]
    for number, material in enumerate(found[:1] if first else found):
        material["name"] = after + (f".{number:03}" if number else "")


def edited(path: Path, edit: Callable[[Editable], object]) -> ImportResult:
    document = Editable(path)
    edit(document)
    return import_gltf(document.save(path))


def unwritten(back: ImportResult) -> list[str]:
    """What is not applied, but for colours: a name that a row has means the colours of that row."""
    return [str(one) for one in back.not_applied if not one.what.startswith("colour")]


def copies(back: ImportResult) -> list[tuple[str, str]]:
    return [(new.name, new.like) for new in back.new_materials]


def wear_of(back: ImportResult) -> bytes:
    (one,) = back.companions
    assert one.ending == ".wea"
    return one.data


@pytest.mark.parametrize("extras", [True, False])
@pytest.mark.parametrize("sample", [ROBOT, BIRD], ids=lambda s: s.dialect)
def test_a_renamed_material_renames_its_row(sample: Sample, extras: bool, tmp_path: Path) -> None:
    path = export_of(sample, tmp_path)
    before = sample.path.with_suffix(".wea").read_bytes()
    name = read_wear_names(before)[2]

    def edit(document: Editable) -> None:
        if not extras:
            drop_extras(document)
        rename(document, name, "Ржавчина")

    back = edited(path, edit)
    assert back.not_applied == []
    assert [str(change) for change in back.changes] == [f"row 2 of the .wea: '{name}' became 'Ржавчина'"]
    assert back.data == sample.source  # nothing but the name
    assert wear_of(back) == before.replace(name.encode(), "Ржавчина".encode("cp1251"))
    assert copies(back) == [("Ржавчина", name)]
    assert painted(again(back, tmp_path / "back", sample.dialect)) == painted(path)


def test_a_number_that_one_material_has_is_of_its_name(tmp_path: Path) -> None:
    """Blender numbers the second one."""
    names = read_wear_names(BIRD.path.with_suffix(".wea").read_bytes())
    back = edited(export_of(BIRD, tmp_path), lambda document: rename(document, names[2], "rust.001", first=True))
    assert copies(back) == [("rust.001", names[2])]


@pytest.mark.parametrize("extras", [True, False])
@pytest.mark.parametrize("sample", [ROBOT, BIRD], ids=lambda s: s.dialect)
def test_where_some_are_renamed_their_faces_get_a_new_row(sample: Sample, extras: bool, tmp_path: Path) -> None:
    path = export_of(sample, tmp_path)
    before = sample.path.with_suffix(".wea").read_bytes()
    names = read_wear_names(before)
    old = words(sample.source)

    def edit(document: Editable) -> None:
        if not extras:
            drop_extras(document)
        rename(document, names[2], "rust", first=True)

    back = edited(path, edit)
    assert back.not_applied == []
    assert str(back.changes[-1]) == f"row {len(names)} of the .wea: 'rust' is new"
    assert copies(back) == [("rust", names[2])]
    wear = wear_of(back)
    assert read_wear_names(wear) == [*names, "rust"]
    lines = before.splitlines(keepends=True)
    rows = lines[1 : 1 + len(names)]
    tail = lines[1 + len(names) :]
    row = f"{len(names)} rust\r\n".encode()
    assert wear.splitlines(keepends=True) == [b"%d\r\n" % (len(names) + 1), *rows, row, *tail]
    assert painted(again(back, tmp_path / "back", sample.dialect)) == painted(path)
    # flags, lightmaps and free words are as they were
    column = 2 if sample.dialect == "retail" else 1
    new = words(back.data)
    assert {masked(word, column) for word in new} == {masked(word, column) for word in old}


def words(data: bytes) -> set[tuple[int, ...]]:
    batches = read_model(read_nres(data, "x"), "x").batches
    return {tuple(int(row[f"word{n}"]) for n in (0, 2, 4, 6)) for row in batches}


def masked(word: tuple[int, ...], column: int) -> tuple[int, ...]:
    """Batch words without the row."""
    return tuple(value & 0xFF00 if i == column else value for i, value in enumerate(word))


def test_lightmaps_stay_behind_a_new_row(tmp_path: Path) -> None:
    path = export_of(ROBOT, tmp_path)
    back = edited(path, lambda document: assign(document, "rust"))
    assert wear_of(back).startswith(b"7\r\n")
    assert wear_of(back).endswith(b"\r\n6 rust" + TAIL)
    assert copies(back) == [("rust", copies(back)[0][1])]


def assign(document: Editable, name: str, **more: Any) -> None:
    """Give a new material to the first part's first batch."""
    document.json["materials"].append({"name": name, **more})
    document.primitives()[0]["material"] = len(document.json["materials"]) - 1


def test_two_new_names_are_two_rows_and_a_number_is_none(tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path)

    def edit(document: Editable) -> None:
        for i, name in enumerate(["rust", "rust.001", "gold", "glass.002"]):
            shown = dict(document.json["materials"][0], name=name)
            document.json["materials"].append(shown)
            del shown["extras"]
            document.primitives()[i]["material"] = len(document.json["materials"]) - 1

    back = edited(path, edit)
    assert unwritten(back) == []
    assert read_wear_names(wear_of(back)) == ["armour", "glass", "joint", "glow", "rust", "gold"]
    assert painted(again(back, tmp_path / "back")) == painted(path)


@pytest.mark.parametrize("extras", [True, False])
def test_a_material_under_the_name_of_another_row_is_that_row(extras: bool, tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path)

    def edit(document: Editable) -> None:
        if not extras:
            drop_extras(document)
        rename(document, "armour", "glass.001")

    back = edited(path, edit)
    assert (unwritten(back), back.companions) == ([], [])
    assert painted(again(back, tmp_path / "back")) == painted(path)
    assert not any(name == "armour" for name, _ in painted(path))


def test_names_swapped_are_rows_swapped(tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path)

    def edit(document: Editable) -> None:
        rename(document, "armour", "x")
        rename(document, "glass", "armour")
        rename(document, "x", "glass")

    back = edited(path, edit)
    assert (unwritten(back), back.companions) == ([], [])
    assert painted(again(back, tmp_path / "back")) == painted(path)


def test_a_row_that_nothing_uses_any_more_stays(tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path)

    def edit(document: Editable) -> None:
        number = {m["name"]: i for i, m in enumerate(document.json["materials"])}
        for primitive in document.primitives():
            if primitive["material"] == number["glow"]:
                primitive["material"] = number["joint"]

    back = edited(path, edit)
    assert (unwritten(back), back.companions) == ([], [])
    assert back.changes
    assert painted(again(back, tmp_path / "back")) == painted(path)


def test_a_part_that_the_file_does_not_show_keeps_its_name(tmp_path: Path) -> None:
    """Without extras a name on the shown faces says nothing of the others."""
    path = exported(WALKER, tmp_path)
    document = Editable(path)
    drop_extras(document)
    document.json["scenes"] = document.json["scenes"][:1]
    rename(document, "armour", "rust")
    back = import_gltf(document.save(path))
    assert read_wear_names(wear_of(back)) == ["armour", "glass", "joint", "glow", "rust"]
    names = {name for name, _ in painted(again(back, tmp_path / "back"))}
    assert names == {"armour", "glass", "joint", "glow", "rust"}


@pytest.mark.parametrize("name", ["x" * 36, "日本", " rust", "rust\n"])
@pytest.mark.parametrize("renamed", [True, False])
def test_a_name_that_cannot_be_written_is_reported(name: str, renamed: bool, tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path)
    if renamed:
        back = edited(path, lambda document: rename(document, "armour", name))
    else:
        back = edited(path, lambda document: assign(document, name))
    (line,) = back.not_applied
    assert "a name in Material.lib is one line of 1 to 35 bytes of CP1251" in line.why
    assert (line.what == "is 'armour' under another name") == renamed
    assert (back.data, back.companions) == (WALKER.read_bytes(), [])


def test_a_row_that_no_batch_can_name_is_an_error(tmp_path: Path) -> None:
    rows = "".join(f"{i} m{i}\r\n" for i in range(256))
    shutil.copy(WALKER, tmp_path / "w.msh")
    (tmp_path / "w.wea").write_bytes(f"256\r\n{rows}".encode())
    path = exported(tmp_path / "w.msh", tmp_path / "sub")
    with pytest.raises(ConversionError, match=r"'rust' needs a row that no batch.*256.*0\.\.255"):
        edited(path, lambda document: assign(document, "rust"))


def test_a_sidecar_without_the_wea_is_reported(tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path)
    without_wear(path)

    def edit(document: Editable) -> None:
        rename(document, "armour", "rust")
        assign(document, "gold")

    back = edited(path, edit)
    assert [(one.where, one.what) for one in back.not_applied] == [
        ("material 'rust'", "is 'armour' under another name"),
        ("material 'gold'", "is not one of the model's"),
    ]
    assert all("version 0.1" in one.why for one in back.not_applied)
    assert (back.data, back.companions) == (WALKER.read_bytes(), [])


def test_a_broken_wea_is_reported(tmp_path: Path) -> None:
    shutil.copy(WALKER, tmp_path / "w.msh")
    (tmp_path / "w.wea").write_bytes(b"5\r\n0 armour\r\n1 glass\r\n2 joint\r\n3 glow\r\n")
    path = exported(tmp_path / "w.msh", tmp_path / "sub")
    back = edited(path, lambda document: assign(document, "rust"))
    (line,) = back.not_applied
    assert "its .wea has errors" in line.why


def test_a_model_without_a_wea_gets_one_where_all_rows_are_named(tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path, wear=False)

    def some(document: Editable) -> None:
        rename(document, "material_0", "rust")

    def others(document: Editable) -> None:
        for row in (1, 2, 3):
            rename(document, f"material_{row}", f"metal{row}")

    back = edited(path, some)
    (line,) = back.not_applied
    assert line.where == "material 'rust'"
    assert "no .wea" in line.why
    assert back.companions == []
    back = edited(path, others)
    assert back.not_applied == []
    assert wear_of(back) == b"4\r\n0 rust\r\n1 metal1\r\n2 metal2\r\n3 metal3\r\n"
    assert painted(again(back, tmp_path / "back")) == painted(path)


def test_rows_beyond_the_wea_are_filled_where_one_is_named(tmp_path: Path) -> None:
    shutil.copy(WALKER, tmp_path / "w.msh")
    (tmp_path / "w.wea").write_bytes(b"2\r\n0 armour\r\n1 glass")
    path = exported(tmp_path / "w.msh", tmp_path / "sub")
    back = edited(path, lambda document: rename(document, "material_3", "lamp"))
    assert wear_of(back) == b"4\r\n0 armour\r\n1 glass\r\n2 DEFAULT\r\n3 lamp"
    assert back.data == WALKER.read_bytes()


def test_a_row_in_the_extras_that_somebody_changed_counts(tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path)

    def edit(document: Editable) -> None:
        document.json["materials"][0]["extras"]["msh"]["row"] = 2

    back = edited(path, edit)
    assert (unwritten(back), back.companions) == ([], [])
    rows = {int(word[2]) & 0xFF for word in words(back.data)}
    assert rows == {1, 2, 3}


def test_new_faces_of_a_new_material(tmp_path: Path) -> None:
    path = exported(WALKER, tmp_path)

    def edit(document: Editable) -> None:
        primitive = {**document.primitives()[0]}
        attributes = dict(primitive["attributes"])
        moved = document.arrays[attributes["POSITION"]] + np.float32(0.25)
        attributes["POSITION"] = document.add(moved)
        document.json["materials"].append({"name": "rust"})
        number = len(document.json["materials"]) - 1
        mesh = {"name": "box", "primitives": [{**primitive, "attributes": attributes}]}
        mesh["primitives"][0]["material"] = number
        document.json["meshes"].append(mesh)
        document.json["nodes"].append({"name": "box", "mesh": len(document.json["meshes"]) - 1})
        document.json["scenes"][0]["nodes"].append(len(document.json["nodes"]) - 1)

    back = edited(path, edit)
    assert back.not_applied == []
    assert copies(back) == [("rust", "")]
    assert painted(again(back, tmp_path / "back")) == painted(path)
