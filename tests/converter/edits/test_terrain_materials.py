"""Materials of a terrain that are renamed or new: rows of Land1.wea and Land2.wea, or a reason."""

import shutil
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.converter.game.test_undo_runs import Place
from tests.converter.rebuild.test_terrain import LEVEL, Edit
from tests.support.game import make_game
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.maps import level_called
from tests.support.runs import call
from tests.support.terrain_twin import Tables, check

FIRST = level_called(LEVEL).folder.joinpath("Land1.wea").read_bytes()
SECOND = level_called(LEVEL).folder.joinpath("Land2.wea").read_bytes()
#: A material whose row no other one has, and one of many pairs.
ALONE, SHARED = "WATER_BOT", "LND_05"


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    return Edit(level_called(LEVEL), tmp_path)


def rename(edit: Edit, names: dict[str, str]) -> None:
    for material in edit.document.json["materials"]:
        material["name"] = names.get(material["name"], material["name"])


def lists(back: ImportResult) -> tuple[bytes, bytes]:
    """Both files as the import leaves them."""
    found = {one.ending: one for one in [*back.companions, *back.kept_companions]}
    assert (found["1.wea"].before, found["2.wea"].before) == (FIRST, SECOND)
    return found["1.wea"].data, found["2.wea"].data


def rows_of(data: bytes) -> set[tuple[int, int]]:
    return {(face[4], face[5]) for face in Tables(data).faces}


def micro(row: int) -> bytes:
    return SECOND.splitlines()[1 + row].split(None, 1)[1]


def said(back: ImportResult) -> list[str]:
    return [f"{one.where}: {one.what}" for one in back.not_applied]


def test_a_name_of_all_materials_of_a_row_renames_it(edit: Edit) -> None:
    rename(edit, {ALONE: "лава"})
    back = edit.back()
    assert (back.data, said(back)) == (edit.source, [])
    assert [str(one) for one in back.changes] == ["row 9 of Land1.wea: 'WATER_BOT' became 'лава'"]
    assert lists(back) == (FIRST.replace(b"9 WATER_BOT", "9 лава".encode("cp1251")), SECOND)
    assert [(one.name, one.like) for one in back.new_materials] == [("лава", ALONE)]


def test_a_row_that_pairs_keep_is_not_renamed(edit: Edit) -> None:
    """The renamed material gets a row of its own, with the same microtexture."""
    rename(edit, {SHARED: "lava"})
    back = edit.back()
    check(back.data)
    assert lists(back) == (
        FIRST.replace(b"11", b"12", 1) + b"11 lava\r\n",
        SECOND.replace(b"11", b"12", 1) + b"11 " + micro(6) + b"\r\n",
    )
    before, after = rows_of(edit.source), rows_of(back.data)
    assert after - before == {(11, 255)}
    assert before - after == {(6, 255)}
    assert "row 11 of Land1.wea: 'lava' is new" in [str(one) for one in back.changes]


def test_a_row_is_renamed_in_all_its_pairs(edit: Edit) -> None:
    names = [material["name"] for material in edit.document.json["materials"]]
    rename(edit, {name: name.replace(SHARED, "lava") for name in names})
    back = edit.back()
    assert (back.data, said(back)) == (edit.source, [])
    assert lists(back) == (FIRST.replace(b"6 LND_05", b"6 lava"), SECOND)


def test_new_names_on_some_faces(edit: Edit) -> None:
    """One alone, one as the second of a pair; a picture's ``.001`` does not count."""
    materials = edit.document.json["materials"]
    materials += [{"name": "lava"}, {"name": "lnd_03+ash.001"}, {"name": "lnd_03+ash"}]
    for i, primitive in enumerate(edit.primitives()[:3]):
        primitive["material"] = len(materials) - 3 + i
    back = edit.back()
    check(back.data)
    assert rows_of(back.data) >= {(11, 255), (4, 12)}
    first, second = lists(back)
    assert first.endswith(b"10 LND_WATER\r\n11 lava\r\n12 ash\r\n")
    assert second.endswith(b"11 %b\r\n12 %b\r\n" % (micro(5), micro(5)))
    assert {one.name for one in back.new_materials} == {"lava", "ash"}
    assert not any(row[:2] == (4, 255) for row in rows_of(back.data) - rows_of(edit.source))


def test_numbered_copies_of_a_new_name_are_one_row(edit: Edit) -> None:
    """As in models: ``ash.001`` and ``ash.002`` without an ``ash`` mean ``ash``."""
    materials = edit.document.json["materials"]
    materials += [{"name": "ash.001"}, {"name": "ash.002"}]
    for i, primitive in enumerate(edit.primitives()[:2]):
        primitive["material"] = len(materials) - 2 + i
    back = edit.back()
    assert lists(back)[0].endswith(b"10 LND_WATER\r\n11 ash\r\n")
    assert {one.name for one in back.new_materials} == {"ash"}


def test_without_custom_properties(edit: Edit) -> None:
    drop_extras(edit.document)
    rename(edit, {ALONE: "lava"})
    back = edit.back()
    assert rows_of(back.data) - rows_of(edit.source) == {(11, 255)}
    assert lists(back)[0].endswith(b"11 lava\r\n")


def test_custom_properties_that_were_edited_count(edit: Edit) -> None:
    """Rows that no material had, under the old name."""
    material = edit.document.json["materials"][2]
    material["extras"]["msh"]["first"] = 8
    back = edit.back()
    assert lists(back) == (FIRST, SECOND)
    assert rows_of(back.data) - rows_of(edit.source) == {(8, 255)}


def test_two_materials_that_changed_names(edit: Edit) -> None:
    """Custom properties that state another pair of the terrain: nobody knows what was meant."""
    rename(edit, {ALONE: SHARED, SHARED: ALONE})
    back = edit.back()
    assert back.data == edit.source
    assert said(back) == [
        f"material '{ALONE}': was renamed to '{SHARED}'",
        f"material '{SHARED}': was renamed to '{ALONE}'",
    ]


@pytest.mark.parametrize(
    ("name", "why"),
    [("岩", "CP1251"), ("x" * 40, "bytes of CP1251"), ("a+b+c", "no third one"), ("a+", "CP1251"), ("", "CP1251")],
)
def test_names_that_no_row_can_have(edit: Edit, name: str, why: str) -> None:
    rename(edit, {ALONE: name})
    back = edit.back()
    assert (back.data, lists(back)) == (edit.source, (FIRST, SECOND))
    assert said(back) == [f"material '{ALONE}': was renamed to '{name}'"]
    assert why in back.not_applied[0].why
    drop_extras(edit.document)
    if name:
        with pytest.raises(ConversionError, match=r"is not in Land1\.wea and cannot be added"):
            edit.back()


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


def test_a_sidecar_without_the_wear(edit: Edit) -> None:
    """One of 0.1 does not have it."""
    rename(edit, {ALONE: "lava"})
    edit.document.save(edit.path)
    beside = edit.path.with_suffix(".msh-sidecar")
    kept = read_sidecar(beside.read_bytes(), "")
    kept.description.companions.clear()
    beside.write_bytes(write_sidecar(kept))
    back = import_gltf(edit.path)
    assert (back.companions, back.data) == ([], edit.source)
    assert said(back) == [f"material '{ALONE}': was renamed to 'lava'"]
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
    assert (back.companions, said(back)) == ([], [f"material '{before}': was renamed to 'lava'"])
    assert "no Land1.wea lies beside" in back.not_applied[0].why


def test_a_single_file_gets_them_beside_it(edit: Edit, tmp_path: Path) -> None:
    rename(edit, {SHARED: "lava"})
    edit.document.save(edit.path)
    assert call(cli.gltf2msh, edit.path, "-o", tmp_path / "new" / "Land.msh", "-q") == 0
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names[:3] == ["Land.msh", "Land1.wea", "Land2.wea"]
    assert call(cli.msh2gltf, tmp_path / "new" / "Land.msh", "-o", tmp_path / "again.glb", "-q") == 0
    assert "lava" in {m["name"] for m in Editable(tmp_path / "again.glb").json["materials"]}


def test_in_a_game_and_undone(tmp_path: Path) -> None:
    """With a new material in its Material.lib; the glTF as it was restores every byte."""
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q", "-j", "1") == 0
    place, land = Place(game, out), Path("DATA/MAPS/M1/Land.glb")
    document = Editable(out / land)
    for material in document.json["materials"]:
        material["name"] = {SHARED: "lava", ALONE: "ash"}.get(material["name"], material["name"])
    document.save(out / land)
    place.back()
    level = land.parent
    changed = {(level / name).as_posix() for name in ("Land.msh", "Land1.wea", "Land2.wea")}
    assert place.differing() >= changed
    text = (game / level / "Land1.wea").read_bytes()
    assert (b"9 ash\r\n" in text, text.endswith(b"11 lava\r\n")) == (True, True)
    place.back()
    place.restore(land.as_posix())
    place.back()
    assert place.differing() == set()


@pytest.mark.parametrize(("text", "everywhere"), [("MIC_NEW", True), ("MIC_NEW", False), ("x" * 40, True)])
def test_a_microtexture_is_renamed_by_the_extras_of_all_its_materials(edit: Edit, text: str, everywhere: bool) -> None:
    for material in edit.document.json["materials"]:
        extras = material["extras"]["msh"]
        for key, name in (("first", "microtexture"), ("second", "microtexture2")):
            if extras[key] == 6 and (everywhere or "+" not in material["name"]):
                extras[name] = text
    back = edit.back()
    if everywhere and len(text) < 36:
        assert lists(back) == (FIRST, SECOND.replace(b"6 " + micro(6), b"6 MIC_NEW", 1))
        assert said(back) == []
        assert [str(one) for one in back.changes] == [f"row 6 of Land2.wea: {micro(6).decode()!r} became 'MIC_NEW'"]
    else:
        (line,) = said(back)
        assert f"microtexture {micro(6).decode()!r} became {text!r}" in line
        assert lists(back) == (FIRST, SECOND)


def test_custom_properties_beyond_a_byte(edit: Edit) -> None:
    edit.document.json["materials"][2]["extras"]["msh"]["first"] = 300
    with pytest.raises(ConversionError, match=r"has a material that Land1\.wea does not have"):
        edit.back()
