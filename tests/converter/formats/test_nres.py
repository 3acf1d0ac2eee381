"""NRes: any container survives reading and writing; one entry can be replaced alone."""

import os
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import ArchiveEdits, new_archive
from msh_gltf.converter.kinds.open_files import open_nres

NAMES = st.binary(min_size=0, max_size=35).map(lambda b: b.replace(b"\0", b"_"))


@st.composite
def containers(draw: st.DrawFn) -> bytes:
    """Whole NRes files: random attributes, name tails, gaps, shared and empty payloads."""
    count = draw(st.integers(0, 6))
    data = bytearray()
    places = []
    for _ in range(count):
        data += draw(st.binary(max_size=12))  # a gap, or bytes that no entry points at
        size = draw(st.integers(0, 20))
        if places and draw(st.booleans()):
            places.append(draw(st.sampled_from(places)))  # two entries on one payload
            continue
        places.append((16 + len(data), size))
        data += draw(st.binary(min_size=size, max_size=size))
    data += draw(st.binary(max_size=9))
    directory = b""
    for offset, size in places:
        name = draw(NAMES)
        tail = draw(st.binary(min_size=35 - len(name), max_size=35 - len(name)))
        attributes = draw(st.tuples(*[st.integers(0, 2**32 - 1)] * 5))
        directory += struct.pack("<5I", *attributes[:3], size, attributes[3])
        directory += name + b"\0" + tail + struct.pack("<2I", offset, attributes[4])
    total = 16 + len(data) + len(directory)
    return b"NRes" + struct.pack("<IiI", 0x100, count, total) + bytes(data) + directory


@given(containers())
def test_every_byte_survives(data: bytes) -> None:
    assert write_nres(read_nres(data, "x")) == data


@pytest.mark.parametrize("how", ["written", "replaced", "cut", "gone"])
def test_opened_and_changed(how: str, tmp_path: Path) -> None:
    """What is read of a file belongs to the directory that was read of it, or is refused."""
    path = tmp_path / "x"
    path.write_bytes(write_nres(new_archive([Entry(1, 0, 0, 0, bytes(36), 0, 0, b"1234")], "x")))
    entry = open_nres(path, "x").entries[0]
    assert entry.payload == b"1234"
    data, time = path.read_bytes(), path.stat().st_mtime_ns
    if how == "written":
        path.write_bytes(data.replace(b"1234", b"5678"))
        os.utime(path, ns=(time + 1, time + 1))
    elif how == "replaced":
        (tmp_path / "y").write_bytes(data)
        os.utime(tmp_path / "y", ns=(time, time))
        (tmp_path / "y").replace(path)
    elif how == "cut":
        path.write_bytes(data[:18])
        os.utime(path, ns=(time, time))
    else:
        path.unlink()
    with pytest.raises(ConversionError, match=r"changed while it was read|No such file"):
        _ = entry.payload


def test_opening_reads_no_payload(tmp_path: Path) -> None:
    """Memory holds the directory, and a payload as long as somebody looks at it."""
    entry = Entry(1, 0, 0, 0, bytes(36), 0, 0, bytes(32 << 20))
    (tmp_path / "x").write_bytes(write_nres(new_archive([entry, entry], "x")))
    del entry
    tracemalloc.start()
    try:
        archive = open_nres(tmp_path / "x", "x")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        for stored in archive.entries:
            assert len(stored.payload) == stored.size == 32 << 20
        assert tracemalloc.get_traced_memory()[1] < 33 << 20
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()


@given(containers(), st.data())
def test_replace_leaves_all_else(data: bytes, draw: st.DataObject) -> None:
    archive = read_nres(data, "x")
    if not archive.entries:
        return
    index = st.integers(0, len(archive.entries) - 1)
    payloads = draw.draw(st.dictionaries(index, st.binary(max_size=40), min_size=1))
    edits = ArchiveEdits(archive)
    for i, payload in payloads.items():
        edits.replace(i, payload)
    with suppress(ConversionError), edits.whole():  # taken back
        edits.replace(0, b"half done")
        edits.add(b"half done", 1, b"half done")
        edits.add(b"", 1, b"has no name")
    after = read_nres(write_nres(edits.archive()), "y")
    for i, (old, new) in enumerate(zip(archive.entries, after.entries, strict=True)):
        assert bytes(new.payload) == payloads.get(i, bytes(old.payload))
        for name in ("raw_name", "attr1", "attr2", "attr3", "type_id", "sort_index"):
            assert getattr(old, name) == getattr(new, name)
    kept = b"".join(bytes(region) for _, region in after.unindexed)
    for _, region in archive.unindexed:
        assert bytes(region).rstrip(b"\0") in kept


def test_map_file(tmp_path: Path) -> None:
    empty = tmp_path / "пусто.dat"
    empty.write_bytes(b"")
    assert bytes(read_file(empty)) == b""
    with pytest.raises(ConversionError, match="cannot be read"):
        read_file(tmp_path / "missing")
