"""Broken NRes containers: header, directory, sort table, what lies between."""

import struct
from pathlib import Path

from tests.support.corruption.base import (
    CATALOGUE,
    DATA,
    Case,
    Corruption,
    Entry,
    Made,
    Nres,
    change,
    kinds,
    need,
    of_bytes,
    of_model,
    pack,
    put,
    written,
)


def _row(data: bytearray, row: int) -> int:
    count, total = struct.unpack_from("<iI", data, 8)
    return total - 64 * (count - row)


of_bytes("nres-magic", "magic-lower-case", lambda data: put(data, slice(None, 4), b"nres"))
of_bytes("nres-magic", "magic-of-another-format", lambda data: put(data, slice(None, 4), b"RIFF"))
of_bytes("nres-version", "version-2", lambda data: pack("<I", data, 4, 0x200))
of_bytes("nres-version", "version-big-endian", lambda data: pack("<I", data, 4, 0x10000))
of_bytes("nres-size", "total-size-zero", lambda data: pack("<I", data, 12, 0))
of_bytes("nres-size", "total-size-huge", lambda data: pack("<I", data, 12, 0xFFFFFFFF))
of_bytes("nres-count", "count-negative", lambda data: pack("<i", data, 8, -1))
of_bytes("nres-count", "count-huge", lambda data: pack("<i", data, 8, 0x7FFFFFFF))
of_bytes("nres-count", "count-past-the-start", lambda data: pack("<i", data, 8, len(data) // 64 + 1))
of_bytes("nres-payload", "payload-past-the-directory", lambda d: pack("<I", d, _row(d, 0) + 56, len(d)))
of_bytes("nres-payload", "payload-in-the-header", lambda data: pack("<I", data, _row(data, 1) + 56, 8))
of_bytes("nres-payload", "payload-size-huge", lambda data: pack("<I", data, _row(data, 2) + 12, 0xFFFFFFFF))
of_bytes("nres-payload", "payload-offset-wraps", lambda data: pack("<I", data, _row(data, 0) + 56, 0xFFFFFFF0))
of_bytes("nres-magic", "nothing-but-zeros", lambda data: bytes(len(data)))
of_bytes("nres-magic", "empty-file", lambda data: b"")
of_bytes("nres-magic", "three-bytes", lambda data: b"NRe")
of_bytes("nres-header", "only-the-magic", lambda data: b"NRes")
of_bytes("nres-header", "header-cut", lambda data: bytes(data[:15]))
of_bytes("nres-size", "last-byte-lost", lambda data: bytes(data[:-1]))
of_bytes("nres-size", "half-the-file", lambda data: bytes(data[: len(data) // 2]))
of_bytes("nres-trailing", "byte-appended", lambda data: bytes(data) + b"\0")


@of_model("nres-reuse")
def payloads_all_the_same(box: Nres) -> None:
    size = max(len(entry.data) for entry in box.entries)
    need(size >= 2048)
    total = sum(len(entry.data) + 72 for entry in box.entries) + 16
    for _ in range(max(16 * total, 1 << 20) // (size - 1100) + 1):
        entry = box.add(99, b"")
        entry.offset, entry.size = 16, size


# fmt: off
of_model("nres-alignment", "payloads-not-aligned", lambda box: change(box, shift=4))
of_model("nres-gap", "gaps-not-zero", lambda box: change(box, gap=0xAA))
of_model("nres-region", "forgotten-bytes", lambda box: change(box, forgotten=bytes(range(16))))
of_model("nres-sort", "sort-index-huge", lambda box: change(box.entries[0], sort=0xFFFFFFFF))
of_model("nres-sort", "sort-index-twice", lambda box: change(box.entries[0], sort=box.entries[1].sort))
of_model("nres-name", "name-without-end", lambda box: change(box.entries[0], name=b"R" * 36))
of_model("nres-name-tail", "bytes-behind-a-name", lambda b: change(b.entries[-1], name=b.entries[-1].name[:-1] + b"x"))
of_model("nres-overlap", "payloads-overlap",
    lambda box: (need(len(box.entries[0].data) >= 8), change(box.add(99, b"8 bytes."), offset=16)))
# fmt: on


@of_model("nres-order")
def sort_table_backwards(box: Nres) -> None:
    names = [entry.name.partition(b"\0")[0].upper() for entry in box.entries]
    order = sorted(range(len(names)), key=lambda i: names[i], reverse=True)
    need(len(set(names)) > 1)
    for entry, index in zip(box.entries, order, strict=True):
        entry.sort = index


# ------------------------------------------------------------------ archives


def archives() -> list[Made]:
    """A model and its material list, and libraries."""
    box = Nres([])
    for number, (type_id, suffix) in enumerate(((b"MESH", "msh"), (b"WEAR", "wea"))):
        data = (DATA / f"spec__static__b_bun_000.{suffix}").read_bytes()
        name = f"b_bun_000.{suffix}".encode().ljust(36, b"\0")
        box.entries.append(Entry(int.from_bytes(type_id, "little"), 0, 0, 0, name, bytearray(data), number))
    libraries = [Made(name, (DATA / "libs" / name).read_bytes()) for name in ("Material.lib", "Textures.lib")]
    return [Made("model", box.write()), *libraries]


of_archive = kinds("archive", archives, written("archive.rlb", Nres.read, Nres.write))


BUNKER = DATA / "spec__static__b_bun_000.msh"


def _changed(data: bytes, at: int, form: str, value: object) -> bytes:
    out = bytearray(data)
    pack(form, out, at, value)
    return bytes(out)


def _append(box: Nres, type_id: bytes, name: bytes, data: bytes) -> None:
    kind = int.from_bytes(type_id, "little")
    entry = Entry(kind, 0, 0, 0, name.ljust(36, b"\0"), bytearray(data), 0)
    box.entries.append(entry)
    box.sort()


@of_archive("nres-name-twice")
def name_twice(box: Nres) -> None:
    entry = box.entries[0]
    name = entry.name.partition(b"\0")[0].swapcase()
    _append(box, entry.type.to_bytes(4, "little"), name, bytes(entry.data))


# fmt: off
of_archive("archive-mesh", "mesh-of-text", lambda box: _append(box, b"MESH", b"text.msh", b"not a model at all"))
of_archive("archive-mesh", "mesh-empty", lambda box: _append(box, b"MESH", b"empty.msh", b""))
of_archive("archive-nested", "archive-in-an-archive", lambda b: _append(b, b"DATA", b"inner.rlb", b.write()))
of_archive("nres-size", "model-in-archive-cut",
    lambda box: _append(box, b"MESH", b"cut.msh", BUNKER.read_bytes()[:-100]))
of_archive("nres-count", "model-in-archive-count",
    lambda box: _append(box, b"MESH", b"count.msh", _changed(BUNKER.read_bytes(), 8, "<i", -5)))
# fmt: on


def _unreadable(folder: Path):
    path = Path("/proc/self/mem")  # a regular file that refuses to be read
    if path.exists():
        yield Case("/proc/self/mem", path, lambda: path)


CATALOGUE.append(Corruption("file: refuses-to-be-read", "unreadable", "system", _unreadable))
