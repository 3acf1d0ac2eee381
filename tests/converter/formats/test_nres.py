"""NRes: any container survives reading and writing; one entry can be replaced alone."""

import os
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.names import decode_text, fold_lower, fold_upper
from msh_gltf.converter.formats.nres import Archive, Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import (
    ArchiveEdits,
    name_field,
    new_archive,
    repack,
    replace_entry,
    sort_table,
)
from msh_gltf.converter.kinds.open_files import open_nres
from tests.support.corpus import every_sample

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


@given(containers())
def test_opened_is_as_read(data: bytes) -> None:
    """Whoever asks for payloads one by one sees the same, and nothing else is lost either."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "x")
        path.write_bytes(data)
        later, read = open_nres(path, "x"), read_nres(data, "x")
        assert later == read
        assert [entry.size for entry in later.entries] == [entry.size for entry in read.entries]
        assert write_nres(later) == data


@pytest.mark.parametrize("change", ["directory", "payload", "header", "size"])
def test_opened_is_refused_as_read(change: str, tmp_path: Path) -> None:
    data = bytearray(write_nres(new_archive([Entry(1, 0, 0, 0, bytes(36), 0, 0, b"1234")], "x")))
    if change == "directory":
        data[-8:-4] = b"\xff\xff\xff\x7f"
    elif change == "payload":
        data[8:12] = b"\x09\0\0\0"
    elif change == "header":
        data = data[:11]
    else:
        data += b"\0"
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(ConversionError) as read:
        read_nres(bytes(data), "x")
    with pytest.raises(ConversionError) as opened:
        open_nres(path, "x")
    assert str(opened.value) == str(read.value)


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
        assert (old.raw_name, old.attr1, old.attr2, old.attr3, old.type_id, old.sort_index) == (
            new.raw_name,
            new.attr1,
            new.attr2,
            new.attr3,
            new.type_id,
            new.sort_index,
        )
    kept = b"".join(bytes(region) for _, region in after.unindexed)
    for _, region in archive.unindexed:
        assert bytes(region).rstrip(b"\0") in kept


def test_replace_same_size_changes_only_the_payload() -> None:
    archive = _archive([b"a.msh", b"b.msh", b"c.msh"])
    before = write_nres(archive)
    after = write_nres(replace_entry(archive, 1, b"XXXXX"))
    at = archive.entries[1].data_offset
    assert after == before[:at] + b"XXXXX" + before[at + 5 :]


@pytest.mark.parametrize("size", [0, 1, 5, 8, 9, 100])
def test_replace_keeps_order_and_alignment(size: int) -> None:
    archive = _archive([b"a.msh", b"b.msh", b"c.msh"])
    after = read_nres(write_nres(replace_entry(archive, 1, b"n" * size)), "y")
    offsets = [entry.data_offset for entry in after.entries]
    assert offsets == sorted(offsets)
    assert not any(offset % 8 for offset in offsets)
    assert [bytes(e.payload) for e in after.entries] == [b"pay a", b"n" * size, b"pay c"]


def test_repack_is_canonical() -> None:
    archive = _archive([b"Zed", b"alpha", b"Beta"])
    loose = replace_entry(archive, 0, b"longer than before")
    packed = repack(loose)
    assert [e.sort_index for e in packed.entries] == [1, 2, 0]
    assert write_nres(repack(read_nres(write_nres(packed), "x"))) == write_nres(packed)
    assert not any(any(region) for _, region in packed.unindexed)


@pytest.mark.parametrize("fold", [fold_upper, fold_lower])
def test_find_through_the_sort_table(fold) -> None:
    names = [b"s_tree", b"sA", b"S^x", b"robot.MSH", b"ROBOT.msh", b"a"]
    archive = _archive(names)
    order = sort_table(names, fold)
    for entry, index in zip(archive.entries, order, strict=True):
        entry.sort_index = index
    assert archive.sort_table_fold() is fold
    for index, name in enumerate(names):
        found = archive.find(name.swapcase())
        assert found is not None
        assert names[found].lower() == name.lower()
        assert found == min(i for i, n in enumerate(names) if n.lower() == name.lower()), index
    assert archive.find("missing") is None


def test_find_falls_back_to_a_scan() -> None:
    archive = _archive([b"b", b"a", b"c"])
    for entry in archive.entries:
        entry.sort_index = 7  # no permutation
    assert archive.sort_table_fold() is None
    assert archive.find("A") == 1


def test_what_is_added_is_found_beside_what_was_there() -> None:
    edits = ArchiveEdits(new_archive([Entry(1, 0, 0, 0, name_field(b"one"), 0, 0, b"1")], "x"))
    edits.add(b"two", 2, b"2")
    assert [edits.find(name) for name in (b"ONE", b"Two", b"three")] == [0, 1, None]


def test_sort_index_is_no_rank() -> None:
    # worked by hand: sorted order is a(2), b(0), c(1)
    assert sort_table([b"b", b"c", b"A"]) == [2, 0, 1]


@every_sample
def test_sort_tables_of_the_corpus(sample) -> None:
    archive = read_nres(sample.source, "x")
    assert archive.sort_table_fold() is not None
    for entry in archive.entries:
        assert archive.find(entry.name) is not None


def test_cp1251_names() -> None:
    archive = _archive(["башня.msh".encode("cp1251")])
    assert archive.entries[0].name == "башня.msh"
    assert archive.find("башня.MSH") == 0
    assert archive.find("БАШНЯ.msh") is None  # ASCII folding only
    assert decode_text(b"\x98") == "\x98"  # CP1251 lacks it: latin-1


def test_payloads_are_views() -> None:
    data = write_nres(_archive([b"a"]))
    entry = read_nres(data, "x").entries[0]
    assert isinstance(entry.payload, memoryview)
    assert entry.payload.obj is data


def test_map_file(tmp_path: Path) -> None:
    empty = tmp_path / "пусто.dat"
    empty.write_bytes(b"")
    assert bytes(read_file(empty)) == b""
    with pytest.raises(ConversionError, match="cannot be read"):
        read_file(tmp_path / "missing")


def _archive(names: list[bytes]) -> Archive:
    entries = [Entry(0x48534D, 1, 2, 3, name.ljust(36, b"\0"), 0, 0, b"pay " + name[:1]) for name in names]
    return new_archive(entries, "x")
