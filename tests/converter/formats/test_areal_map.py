"""Areal maps: read, written, refused."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.areal_map import AREALS, CELLS, ArealMap, areal_payload, read_areal_map, write_areal_map
from msh_gltf.converter.formats.nres import Archive, Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from tests.support.maps import every_level, level_called


def archive_of(payload: bytes, count: int, *others: Entry) -> Archive:
    areals = Entry(12, count, 7, 9, name_field(b"Land"), 0, 0, payload)
    return read_nres(write_nres(new_archive([*others, areals], "x")), "Land.map")


def areal(corners: int = 0, polys: tuple[int, ...] = (), fill: bytes = b"\x5a") -> bytes:
    """One record: opaque bytes everywhere but in the counts."""
    head = fill * 48 + struct.pack("<II", corners, len(polys))
    tail = b"".join(struct.pack("<I", n) + fill * (12 * n) for n in polys)
    return head + fill * (20 * corners + 24 * len(polys)) + tail


def grid(x: int, y: int, cells: list[list[int]]) -> bytes:
    lists = b"".join(struct.pack(f"<{len(c) + 1}H", len(c), *c) for c in cells)
    return struct.pack("<II", x, y) + lists


@every_level
def test_bytes_come_back(level) -> None:
    source = bytes(read_file(level.folder / "Land.map"))
    areals = read_areal_map(read_nres(source, "x"))
    assert areal_payload(areals) == bytes(areals.entry.payload)
    assert write_areal_map(areals) == source


@every_level
def test_arrays_equal_the_truth(level) -> None:
    areals = read_areal_map(read_nres(read_file(level.folder / "Land.map"), "x"))
    truth, facts = level.areal, level.facts("areal")
    np.testing.assert_array_equal(areals.vertex_start, truth["start"])
    np.testing.assert_array_equal(areals.vertices, truth["vertex"])
    np.testing.assert_array_equal(areals.links["areal"], truth["link"][:, 0])
    np.testing.assert_array_equal(areals.links["edge"], truth["link"][:, 1])
    for field in ("anchor", "area", "normal", "logic", "class_id"):
        np.testing.assert_array_equal(areals.records[field], truth[field])
    np.testing.assert_array_equal(areals.cell_start, truth["cell_start"])
    np.testing.assert_array_equal(areals.cell_ids, truth["cell_ids"])
    assert [areals.cells_x, areals.cells_y] == facts["cells"]
    assert areals.records["poly_count"].sum() == facts["poly_records"]
    assert len(areals.extra_links) == 3 * facts["poly_records"]
    dtypes = (areals.vertices.dtype, areals.vertex_start.dtype, areals.cell_start.dtype)
    assert dtypes == (np.float32, np.int64, np.int64)
    assert areals.cell_ids.dtype == np.uint16


def test_arrays_are_read_only() -> None:
    path = level_called("mixed__MULTI02").folder / "Land.map"
    areals = read_areal_map(read_nres(read_file(path), "x"))
    arrays = [value for value in vars(areals).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 8
    assert not any(array.flags.writeable for array in arrays)


@st.composite
def payloads(draw: st.DrawFn) -> tuple[bytes, int]:
    records = []
    for _ in range(draw(st.integers(0, 4))):
        polys = tuple(draw(st.lists(st.integers(0, 2), max_size=2)))
        record = bytearray(areal(draw(st.integers(0, 3)), polys, bytes([draw(st.integers(0, 255))])))
        record[:48] = draw(st.binary(min_size=48, max_size=48))
        records.append(bytes(record))
    x, y = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    lists = st.lists(st.integers(0, 0xFFFF), max_size=3)
    cells = draw(st.lists(lists, min_size=x * y, max_size=x * y))
    return b"".join(records) + grid(x, y, cells), len(records)


@given(payloads(), st.binary(max_size=9), st.binary(max_size=9))
def test_any_bytes_survive(made: tuple[bytes, int], before: bytes, again: bytes) -> None:
    """Opaque words, NaN payloads, other entries and a second one of type 12 too."""
    payload, count = made
    other = Entry(99, 1, 2, 3, name_field(b"Other"), 0, 0, before)
    archive = archive_of(payload, count, other)
    second = Entry(12, 77, 0, 0, name_field(b"Later"), 0, 0, again)
    archive = new_archive([*archive.entries, second], "x")
    areals = read_areal_map(archive)
    assert len(areals.records) == len(areals.polys) == count
    assert areal_payload(areals) == payload
    assert write_areal_map(areals) == write_nres(archive)


@given(payloads())
def test_cells_are_split_as_a_loop_would(made: tuple[bytes, int]) -> None:
    payload, count = made
    areals = read_areal_map(archive_of(payload, count))
    at = len(payload) - 2 * (len(areals.cell_ids) + len(areals.cell_start) - 1)
    for row in range(areals.cells_x * areals.cells_y):
        (length,) = struct.unpack_from("<H", payload, at)
        ids = struct.unpack_from(f"<{length}H", payload, at + 2)
        assert areals.cell_ids[areals.cell_start[row] : areals.cell_start[row + 1]].tolist() == [*ids]
        at += 2 + 2 * length
    assert at == len(payload)


ONE = areal(1)


def test_every_cut_is_refused() -> None:
    payload = areal(3, (1, 0)) + areal(1) + grid(2, 2, [[0], [], [1, 0], [1]])
    read_areal_map(archive_of(payload, 2))
    for end in range(len(payload)):
        with pytest.raises(ConversionError):
            read_areal_map(archive_of(payload[:end], 2))


def small() -> ArealMap:
    payload = areal(3, (1,)) + areal(1) + grid(1, 2, [[0], [1, 0]])
    other = Entry(99, 1, 2, 3, name_field(b"Other"), 0, 0, b"kept as it is")
    return read_areal_map(archive_of(payload, 2, other))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: {"vertices": m.vertices[1:]},
        lambda m: {"links": m.links[1:]},
        lambda m: {"extra_links": m.extra_links[1:]},
        lambda m: {"vertex_start": m.vertex_start + np.array([0, 1, 0])},
        lambda m: {"extra_start": m.extra_start + np.array([0, 1, 0])},
        lambda m: {"polys": m.polys[1:]},
        lambda m: {"cells_x": 3},
        lambda m: {"cell_ids": m.cell_ids[1:]},
        lambda m: {"cell_start": np.array([0, 0, 70000]), "cell_ids": np.zeros(70000, np.uint16)},
    ],
)
def test_contradictions_are_not_written(change) -> None:
    areals = small()
    with pytest.raises(ConversionError) as caught:
        areal_payload(replace(areals, **change(areals)))
    assert caught.value.table in (AREALS, CELLS)
    assert caught.value.file == "Land.map"
