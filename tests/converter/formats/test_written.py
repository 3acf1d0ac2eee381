"""What is changed or made is written as it was meant, or refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.checks.terrain import check_terrain
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import AREALS, CELLS, areal_payload, read_areal_map
from msh_gltf.converter.formats.controller import ranges_of, read_controller
from msh_gltf.converter.formats.material import FoundMaterial, find_material
from msh_gltf.converter.formats.mission import number_of, word_of
from msh_gltf.converter.formats.nres import Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.formats.objects import REGISTRY_ROW_DTYPE, read_registry, write_registry
from msh_gltf.converter.formats.terrain import TerrainStream, read_terrain
from msh_gltf.converter.formats.wear import new_wear, read_wear, read_wear_names, write_wear
from msh_gltf.converter.kinds.open_files import read_msh
from tests.converter.formats import files
from tests.support.assembly import row
from tests.support.controller import State, controller
from tests.support.corpus import DATA
from tests.support.maps import level_called


@pytest.mark.parametrize(
    "change",
    [
        lambda m: {"vertices": m.vertices[1:]},
        lambda m: {"links": m.links[1:]},
        lambda m: {"extra_links": m.extra_links[1:]},
        lambda m: {"vertex_start": m.vertex_start + np.array([0, 1, 0, 0])},
        lambda m: {"extra_start": m.extra_start + np.array([0, 1, 0, 0])},
        lambda m: {"polys": m.polys[1:]},
        lambda m: {"cells_x": 3},
        lambda m: {"cell_ids": m.cell_ids[1:]},
        lambda m: {"cell_start": np.array([0, 0, 0, 0, 0, 0, 70000]), "cell_ids": np.zeros(70000, np.uint16)},
    ],
)
def test_contradictions_in_an_areal_map_are_refused(change) -> None:
    areals = read_areal_map(read_nres(files.areal_maps()["letters"], "Land.map"))
    with pytest.raises(ConversionError) as caught:
        areal_payload(replace(areals, **change(areals)))
    assert caught.value.table in (AREALS, CELLS)
    assert caught.value.file == "Land.map"


def test_edited_rows_of_a_registry_are_resolved_and_written() -> None:
    before = read_registry(read_nres(files.registries()["made"], "objects.rlb"))
    index = before.find("sun")
    assert index is not None
    before.rows[index] = np.frombuffer(row("static.rlb", "sun.msh") * 2, REGISTRY_ROW_DTYPE)
    assert str(before.resolve("sun").model) == "static.rlb::sun.msh"
    after = read_registry(read_nres(write_registry(before), "objects.rlb"))
    assert after.archive.entries[index].attr1 == 2
    members = [[registry.members(row) for row in range(len(registry.rows))] for registry in (before, after)]
    assert members[0] == members[1]


def test_squares_of_a_terrain_may_run_down_first() -> None:
    path = level_called("spec__AutoMAP_00").folder / "Land.msh"
    terrain = read_terrain(read_nres(path.read_bytes(), path.name), path.name)
    across = terrain.across
    order = np.arange(across * across).reshape(across, across).T.reshape(-1)
    turned = terrain.with_table(TerrainStream.SQUARES, terrain.squares[order])
    assert not turned.grid.x_first
    assert check_terrain(turned) == []
    middle = terrain.positions[terrain.faces["vertex"]].mean(axis=1)
    np.testing.assert_array_equal(turned.grid.squares_at(middle), turned.square_of_face)


@given(st.integers(0, 1), st.integers(0, 0xFFFFFFFF))
def test_words_of_properties_come_back(type: int, word: int) -> None:
    number = number_of(type, word)
    if number == number:  # a NaN comes back as a NaN
        assert word_of(type, number) == word


NAMES = st.lists(st.text("AbЯ_. 1", min_size=1, max_size=9).filter(lambda s: s == s.strip()))


@given(NAMES, NAMES)
def test_a_new_list_of_materials_reads_back(materials: list[str], lightmaps: list[str]) -> None:
    data = write_wear(new_wear(materials, lightmaps))
    wear, findings = read_wear(data, "new.wea")
    assert (wear.materials, wear.lightmaps, findings) == (materials, lightmaps, [])
    assert read_wear_names(data) == materials


@pytest.mark.parametrize("name", ["", " ", "a ", " a", "a\nb", "a\r", "a\x85b", "\u4e2d", "\x98"])
def test_names_that_would_not_come_back_are_refused(name: str) -> None:
    for lists in ((["ok", name], []), (["ok"], ["ok", name])):
        with pytest.raises(ConversionError) as caught:
            new_wear(*lists)
        assert caught.value.row == 1
        assert "\n" not in str(caught.value)


def test_unknown_names_of_materials_lead_to_default_then_to_the_first() -> None:
    def found(wanted: str | bytes, *names: bytes) -> FoundMaterial | None:
        entries = [Entry(0, 0, 6, 0, name_field(name), 0, 0, b"") for name in names]
        return find_material(new_archive(entries, "Material.lib"), wanted)

    for wanted in ("WALL", b"wall"):
        assert found(wanted, b"zinc", b"Default", b"Wall") == FoundMaterial(2, "name")
    assert found("default", b"zinc", b"Default", b"Wall") == FoundMaterial(1, "name")
    assert found("no such", b"zinc", b"Default", b"Wall") == FoundMaterial(1, "DEFAULT")
    assert found("no such", b"zinc", b"Wall") == FoundMaterial(0, "first")
    assert found("no such") is None


def test_many_states_that_all_lead_to_each_other_take_no_time() -> None:
    """Paths are not enumerated: 105 states as the hero has, and every transition is free."""
    states = [State((0, 1), row < 3) for row in range(105)]
    free = [(a, b) for a in range(105) for b in range(105)]
    assert len(ranges_of(read_controller(controller(states, free=free), "x"))) == 1


def archive_of_models(folder: Path, names: list[str]) -> Path:
    """An archive of the same small model under several names; ``.txt`` names hold text."""
    payload, mesh = (DATA / "retail__system__MTCHECK.msh").read_bytes(), int.from_bytes(b"MESH", "little")
    entries = [
        Entry(mesh, 0, 0, 0, name_field(name.encode("cp1251")), 0, 0, b"text" if name.endswith(".txt") else payload)
        for name in names
    ]
    path = folder / f"models{len(names)}.rlb"
    path.write_bytes(write_nres(new_archive(entries, "x")))
    return path


def test_models_of_an_archive_have_names_and_numbers(tmp_path: Path) -> None:
    path = archive_of_models(tmp_path, ["one.msh", "БАШНЯ.msh", "note.txt"])
    assert read_msh(path, "ONE.MSH").name == "one.msh"
    assert read_msh(path, "1").name == "БАШНЯ.msh"
    for entry, said in (
        (None, r"holds 2 models.*--entry NAME: one\.msh, БАШНЯ\.msh"),
        ("two.msh", r"no such entry: two\.msh"),
        ("note.txt", r"entry note\.txt.*not an NRes file"),
    ):
        with pytest.raises(ConversionError, match=said):
            read_msh(path, entry)
    assert read_msh(archive_of_models(tmp_path, ["only.msh"])).name == "only.msh"
