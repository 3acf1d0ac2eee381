"""What is changed or made: what is written of it, or why it is refused, stands in ``written.txt``."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.checks.terrain import check_terrain
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import areal_payload, read_areal_map
from msh_gltf.converter.formats.controller import ranges_of, read_controller
from msh_gltf.converter.formats.material import find_material
from msh_gltf.converter.formats.mission import number_of, word_of
from msh_gltf.converter.formats.nres import Entry, read_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.formats.objects import REGISTRY_ROW_DTYPE, read_registry, write_registry
from msh_gltf.converter.formats.terrain import TerrainStream, read_terrain
from msh_gltf.converter.formats.texture import (
    FORMATS,
    TEXM_HEADER_DTYPE,
    WRITABLE_FORMATS,
    Texm,
    _fewer,
    new_texm,
    read_texm,
    repainted,
    write_texm,
)
from msh_gltf.converter.formats.wear import new_wear, read_wear, read_wear_names, write_wear
from tests.converter.formats import files
from tests.support.assembly import row
from tests.support.controller import State, controller
from tests.support.maps import level_called
from tests.support.recorded import Recorded, digest

WRITTEN = Recorded(__file__, "written.txt")

# ------------------------------------------------------------------ textures

#: Largest error of a channel, by format; 255 = it is not stored.
PRECISION = {
    0: (0, 0, 0, 255),
    565: (4, 2, 4, 255),
    556: (4, 4, 2, 255),
    4444: (9, 9, 9, 9),
    888: (0, 0, 0, 255),
    8888: (0, 0, 0, 0),
}
TEXTURES = [read_texm(data, name) for name, data in files.entries_of("Textures.lib", "lightmap.lib")().items()]


def words(texm: Texm) -> np.ndarray:
    return np.frombuffer(write_texm(texm), np.uint8)


def test_the_formats_of_the_game_are_here() -> None:
    assert {texm.format for texm in TEXTURES} == set(PRECISION)


@pytest.mark.parametrize("texm", TEXTURES, ids=lambda texm: Path(texm.label).name)
def test_one_pixel(texm: Texm) -> None:
    """It arrives within the format's precision, and nothing else changes."""
    rgba = texm.rgba().copy()
    assert (words(repainted(texm, rgba)) == words(texm)).all()
    y, x = texm.height // 2, texm.width // 3
    rgba[y, x, :3] = rgba[y, x, :3] ^ 0x80
    if texm.has_alpha:
        rgba[y, x, 3] ^= 0x40
    new = repainted(texm, rgba)
    again = read_texm(write_texm(new), "again")
    apart = np.abs(again.rgba().astype(int) - rgba)
    assert (apart[y, x] <= PRECISION[texm.format]).all()
    apart[y, x] = 0
    assert not apart.any()
    assert (again.header.tobytes(), again.trailing) == (texm.header.tobytes(), texm.trailing)
    assert again.pages.tobytes() == texm.pages.tobytes()
    for i, (level, before) in enumerate(zip(again.levels, texm.levels, strict=True)):
        differing = np.argwhere(level != before).tolist()
        assert differing in ([], [[y >> i, x >> i]])
    changed = np.count_nonzero(words(new) != words(texm))
    assert 0 < changed <= len(texm.levels) * FORMATS[texm.format][0].itemsize + 3


def pixels(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*shape, 4)).astype(np.uint8)


def texture(format: int, seed: int) -> Texm:
    """8 x 16 random pixels; 88, which is not made, as a file that is read."""
    if format in WRITABLE_FORMATS:
        return new_texm(pixels(seed, 16, 8), format)
    texm = new_texm(pixels(seed, 16, 8), 4444)
    texm.header["format"] = format
    return texm


def painted_as_new(format: int) -> str:
    """All pixels of a texture painted: the digests of it, and of a new one where that can be made."""
    rgba = pixels(9, 16, 8)
    new = [new_texm(rgba, format)] if format in WRITABLE_FORMATS else []
    return " ".join(digest(write_texm(one)) for one in [repainted(texture(format, 5), rgba), *new])


def indexed(colours: int) -> Texm:
    """32 x 32 pixels of some colours, in one level."""
    header = np.zeros(1, TEXM_HEADER_DTYPE)
    header["magic"] = np.void(b"Texm")
    header["width"] = header["height"] = 32
    header["mips"] = 1
    palette = (np.arange(256, dtype="<u4") * 0x010201) | 0xAB000000
    return Texm("indexed", header, palette, [(np.arange(1024) % colours).astype(np.uint8).reshape(32, 32)])


def new_colours(colours: int) -> str:
    """Which colours the first row of a texture has after it is painted in 32 new ones, and what other rows have."""
    old = indexed(colours)
    rgba = old.rgba().copy()
    rgba[0, :, :3] = [(i * 8, 255 - i * 8, 128) for i in range(32)]
    new = repainted(old, rgba)
    exact = int((new.rgba()[0] == rgba[0]).all(-1).sum())
    kept = bool((new.levels[0][1:] == old.levels[0][1:]).all() and (new.rgba()[1:] == rgba[1:]).all())
    return f"{exact} of 32 exact, the rest {'as it was' if kept else 'another'}, {digest(write_texm(new))}"


def every_word(format: int) -> str:
    """All words of 16 bits as pixels, and packed again."""
    data = new_texm(pixels(0, 256, 256), format, 1)
    data.levels[0][:] = np.arange(65536, dtype="<u2").reshape(256, 256)
    again = write_texm(new_texm(data.rgba(), format, 1))
    return f"{digest(data.rgba().tobytes())}, {'the same' if again == write_texm(data) else 'another'}"


# ------------------------------------------------------------------ the others


def contradicting(change: Callable) -> Callable[[], str]:
    """An areal map some of whose tables do not fit the others."""

    def write() -> str:
        areals = read_areal_map(read_nres(files.areal_maps()["letters"], "Land.map"))
        return digest(areal_payload(replace(areals, **change(areals))))

    return write


def edited_registry() -> str:
    """A row that names a model, as it is resolved and written."""
    before = read_registry(read_nres(files.registries()["made"], "objects.rlb"))
    before.rows[before.find("sun")] = np.frombuffer(row("static.rlb", "sun.msh") * 2, REGISTRY_ROW_DTYPE)
    after = read_registry(read_nres(write_registry(before), "objects.rlb"))
    members = [[registry.members(row) for row in range(len(registry.rows))] for registry in (before, after)]
    assert members[0] == members[1]
    return f"{before.resolve('sun').model}, {after.archive.entries[after.find('sun')].attr1} rows"


def squares_that_run_down_first() -> str:
    path = level_called("spec__AutoMAP_00").folder / "Land.msh"
    terrain = read_terrain(read_nres(path.read_bytes(), path.name), path.name)
    order = np.arange(terrain.across**2).reshape(terrain.across, -1).T.reshape(-1)
    turned = terrain.with_table(TerrainStream.SQUARES, terrain.squares[order])
    middle = terrain.positions[terrain.faces["vertex"]].mean(axis=1)
    np.testing.assert_array_equal(turned.grid.squares_at(middle), turned.square_of_face)
    return f"x first: {turned.grid.x_first}; {check_terrain(turned)}"


ODD_NAMES = ("", " ", "a ", " a", "a\nb", "a\r", "a\x85b", "\u4e2d", "\x98", "a b", "Я")


def is_refused(name: str) -> bool:
    try:
        return not new_wear(["ok", name])
    except ConversionError:
        return True


def found_material(wanted: str | bytes, *names: bytes) -> str:
    """Which of the names is taken for another, and why: DEFAULT, else the first."""
    entries = [Entry(0, 0, 6, 0, name_field(name), 0, 0, b"") for name in names]
    return str(find_material(new_archive(entries, "Material.lib"), wanted))


def many_states() -> str:
    """105 states as the hero has, and every transition is free: paths are not enumerated, which would not end."""
    states = [State((0, 1), row < 3) for row in range(105)]
    free = [(a, b) for a in range(105) for b in range(105)]
    return str(ranges_of(read_controller(controller(states, free=free), "x")))


SOLID = np.full((4, 4, 4), 255, np.uint8)
THREE = np.array([[255, 0, 0, 9], [0, 0, 255, 9], [0, 128, 0, 9]] * 5, np.uint8)
GROUNDS = (b"zinc", b"Default", b"Wall")
ROWS: dict[str, Callable[[], str]] = {
    **{f"texture, every word of {kind}": lambda kind=kind: every_word(kind) for kind in (565, 556, 4444)},
    **{f"texture, painted all over, {kind}": lambda kind=kind: painted_as_new(kind) for kind in FORMATS if kind},
    **{f"texture, new colours in {n} of 256": lambda n=n: new_colours(n) for n in (200, 240, 250, 256)},
    "texture, alpha that is not stored": lambda: digest(
        write_texm(repainted(new_texm(SOLID, 888), SOLID - np.uint8([0, 0, 0, 9])))
    ),
    "texture, the same": lambda: digest(write_texm(new_texm(SOLID, 888))),
    "texture, of another size": lambda: digest(write_texm(repainted(indexed(3), SOLID))),
    **{f"three colours as {n}": lambda n=n: f"{_fewer(THREE, n).tolist()}" for n in (3, 2, 0)},
    **{
        f"texture, new, {shape} of {kind}": lambda shape=shape, kind=kind: digest(
            write_texm(new_texm(pixels(3, *shape), kind, label="wall.png"))
        )
        for shape, kind in [((8, 4), kind) for kind in FORMATS] + [((n, 6 - n % 4), 565) for n in (0, 3, 4)]
    },
    **{
        f"texture, new, of {array.dtype} {array.shape}": lambda array=array: digest(write_texm(new_texm(array, 8888)))
        for array in (SOLID[..., :3], SOLID[0], SOLID / 2)
    },
    "areals, fewer vertices": contradicting(lambda m: {"vertices": m.vertices[1:]}),
    "areals, fewer links": contradicting(lambda m: {"links": m.links[1:]}),
    "areals, fewer links of polys": contradicting(lambda m: {"extra_links": m.extra_links[1:]}),
    "areals, other starts": contradicting(lambda m: {"vertex_start": m.vertex_start + np.array([0, 1, 0, 0])}),
    "areals, other starts of polys": contradicting(lambda m: {"extra_start": m.extra_start + np.array([0, 1, 0, 0])}),
    "areals, fewer polys": contradicting(lambda m: {"polys": m.polys[1:]}),
    "areals, another grid": contradicting(lambda m: {"cells_x": 3}),
    "areals, fewer in cells": contradicting(lambda m: {"cell_ids": m.cell_ids[1:]}),
    "areals, 70,000 in a cell": contradicting(
        lambda m: {"cell_start": np.array([0] * 6 + [70000]), "cell_ids": np.zeros(70000, np.uint16)}
    ),
    "registry, an edited row": edited_registry,
    "terrain, squares that run down first": squares_that_run_down_first,
    "materials, names that cannot be written": lambda: " ".join(map(repr, filter(is_refused, ODD_NAMES))),
    "materials, one of two lines": lambda: str(new_wear(["ok", "a\nb"])),
    "materials, in a list of lightmaps": lambda: str(new_wear(["ok"], ["ok", "a\nb"])),
    **{f"material {name!r}": lambda name=name: found_material(name, *GROUNDS) for name in ("WALL", b"wall", "default")},
    "material that is not there": lambda: found_material("no such", *GROUNDS),
    "material that is not there, without DEFAULT": lambda: found_material("no such", b"zinc", b"Wall"),
    "material of none": lambda: found_material("no such"),
    "states that all lead to each other": many_states,
}


def outcome(name: str) -> str:
    try:
        return ROWS[name]()
    except (ConversionError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", ROWS)
def test_what_is_written(name: str) -> None:
    WRITTEN.require(name, outcome(name))


# ------------------------------------------------------------------ what comes back


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


if __name__ == "__main__":
    WRITTEN.write((name, outcome(name)) for name in ROWS)
