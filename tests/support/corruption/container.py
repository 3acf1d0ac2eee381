"""Broken NRes containers: header, directory, sort table, what lies between."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.corruption.base import (
    CATALOGUE,
    DATA,
    Case,
    Corruption,
    Entry,
    NotHere,
    Nres,
    change,
    kinds,
    of_bytes,
    of_model,
    put,
)


def _put(data: bytearray, at: int, form: str, value: object) -> None:
    struct.pack_into("<" + form, data, at, value)


def _row(data: bytearray, row: int) -> int:
    count, total = struct.unpack_from("<iI", data, 8)
    return total - 64 * (count - row)


of_bytes.table(
    [
        ("nres-magic", "magic-lower-case", lambda data: put(data, slice(None, 4), b"nres")),
        ("nres-magic", "magic-of-another-format", lambda data: put(data, slice(None, 4), b"RIFF")),
        ("nres-version", "version-2", lambda data: _put(data, 4, "I", 0x200)),
        ("nres-version", "version-big-endian", lambda data: _put(data, 4, "I", 0x10000)),
        ("nres-size", "total-size-zero", lambda data: _put(data, 12, "I", 0)),
        ("nres-size", "total-size-huge", lambda data: _put(data, 12, "I", 0xFFFFFFFF)),
        ("nres-count", "count-negative", lambda data: _put(data, 8, "i", -1)),
        ("nres-count", "count-huge", lambda data: _put(data, 8, "i", 0x7FFFFFFF)),
        ("nres-count", "count-past-the-start", lambda data: _put(data, 8, "i", len(data) // 64 + 1)),
        ("nres-payload", "payload-past-the-directory", lambda d: _put(d, _row(d, 0) + 56, "I", len(d))),
        ("nres-payload", "payload-in-the-header", lambda data: _put(data, _row(data, 1) + 56, "I", 8)),
        ("nres-payload", "payload-size-huge", lambda data: _put(data, _row(data, 2) + 12, "I", 0xFFFFFFFF)),
        ("nres-payload", "payload-offset-wraps", lambda data: _put(data, _row(data, 0) + 56, "I", 0xFFFFFFF0)),
        ("nres-magic", "nothing-but-zeros", lambda data: bytes(len(data))),
        ("nres-magic", "empty-file", lambda data: b""),
        ("nres-magic", "three-bytes", lambda data: b"NRe"),
        ("nres-header", "only-the-magic", lambda data: b"NRes"),
        ("nres-header", "header-cut", lambda data: bytes(data[:15])),
        ("nres-size", "last-byte-lost", lambda data: bytes(data[:-1])),
        ("nres-size", "half-the-file", lambda data: bytes(data[: len(data) // 2])),
        ("nres-trailing", "byte-appended", lambda data: bytes(data) + b"\0"),
    ]
)


@of_model("nres-reuse")
def payloads_all_the_same(box: Nres) -> None:
    size = max(len(entry.data) for entry in box.entries)
    if size < 2048:
        raise NotHere
    total = sum(len(entry.data) + 72 for entry in box.entries) + 16
    for _ in range(max(16 * total, 1 << 20) // (size - 1100) + 1):
        entry = box.add(99, b"")
        entry.offset, entry.size = 16, size


@of_model("nres-overlap")
def payloads_overlap(box: Nres) -> None:
    if len(box.entries[0].data) < 8:
        raise NotHere
    box.add(99, b"8 bytes.").offset = 16


of_model.table(
    [
        ("nres-alignment", "payloads-not-aligned", lambda box: change(box, shift=4)),
        ("nres-gap", "gaps-not-zero", lambda box: change(box, gap=0xAA)),
        ("nres-region", "forgotten-bytes", lambda box: change(box, forgotten=bytes(range(16)))),
        ("nres-sort", "sort-index-huge", lambda box: change(box.entries[0], sort=0xFFFFFFFF)),
        ("nres-sort", "sort-index-twice", lambda box: change(box.entries[0], sort=box.entries[1].sort)),
        ("nres-name", "name-without-end", lambda box: change(box.entries[0], name=b"R" * 36)),
        ("nres-name-tail", "bytes-behind-a-name", lambda b: change(b.entries[-1], name=b.entries[-1].name[:-1] + b"x")),
    ]
)


@of_model("nres-order")
def sort_table_backwards(box: Nres) -> None:
    names = [entry.name.partition(b"\0")[0].upper() for entry in box.entries]
    order = sorted(range(len(names)), key=lambda i: names[i], reverse=True)
    if len(set(names)) < 2:
        raise NotHere
    for entry, index in zip(box.entries, order, strict=True):
        entry.sort = index


# ------------------------------------------------------------------ archives


@dataclass(frozen=True)
class Archive:
    """A valid archive: a model and its material list, or a library."""

    id: str

    def read(self) -> Nres:
        if self.id == "model":
            box = Nres([])
            for type_id, suffix in ((b"MESH", "msh"), (b"WEAR", "wea")):
                data = (DATA / f"spec__static__b_bun_000.{suffix}").read_bytes()
                name = f"b_bun_000.{suffix}".encode().ljust(36, b"\0")
                kind = int.from_bytes(type_id, "little")
                box.entries.append(Entry(kind, 0, 0, 0, name, bytearray(data), len(box.entries)))
            return box
        return Nres.read((DATA / "libs" / self.id).read_bytes())


def archives() -> list[Archive]:
    return [Archive("model"), Archive("Material.lib"), Archive("Textures.lib")]


def write_archive(folder: Path, sample: Archive, change: Callable[[Nres], None]) -> Path:
    box = sample.read()
    change(box)
    path = folder / "archive.rlb"
    path.write_bytes(box.write())
    return path


of_archive = kinds("archive", archives, write_archive)


def _append(box: Nres, type_id: bytes, name: bytes, data: bytes) -> None:
    kind = int.from_bytes(type_id, "little")
    entry = Entry(kind, 0, 0, 0, name.ljust(36, b"\0"), bytearray(data), 0)
    box.entries.append(entry)
    names = [entry.name.partition(b"\0")[0].upper() for entry in box.entries]
    for entry, index in zip(box.entries, sorted(range(len(names)), key=names.__getitem__), strict=True):
        entry.sort = index


@of_archive("nres-name-twice")
def name_twice(box: Nres) -> None:
    entry = box.entries[0]
    name = entry.name.partition(b"\0")[0].swapcase()
    _append(box, entry.type.to_bytes(4, "little"), name, bytes(entry.data))


of_archive.table(
    [
        ("archive-mesh", "mesh-of-text", lambda box: _append(box, b"MESH", b"text.msh", b"not a model at all")),
        ("archive-mesh", "mesh-empty", lambda box: _append(box, b"MESH", b"empty.msh", b"")),
        ("archive-nested", "archive-in-an-archive", lambda b: _append(b, b"DATA", b"inner.rlb", b.write())),
    ]
)


@of_archive("nres-size")
def model_in_archive_cut(box: Nres) -> None:
    whole = (DATA / "spec__static__b_bun_000.msh").read_bytes()
    _append(box, b"MESH", b"cut.msh", whole[:-100])


@of_archive("nres-count")
def model_in_archive_count(box: Nres) -> None:
    whole = bytearray((DATA / "spec__static__b_bun_000.msh").read_bytes())
    _put(whole, 8, "i", -5)
    _append(box, b"MESH", b"count.msh", bytes(whole))


def _unreadable(folder: Path):
    path = Path("/proc/self/mem")  # a regular file that refuses to be read
    if path.exists():
        yield Case("/proc/self/mem", path)


CATALOGUE.append(Corruption("file: refuses-to-be-read", "unreadable", "system", _unreadable))
