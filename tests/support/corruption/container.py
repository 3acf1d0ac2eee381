"""Broken NRes containers: header, directory, sort table, what lies between."""

from __future__ import annotations

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
    kinds,
    of_bytes,
    of_model,
)


def _put(data: bytearray, at: int, form: str, value: object) -> None:
    struct.pack_into("<" + form, data, at, value)


def _row(data: bytearray, row: int) -> int:
    count, total = struct.unpack_from("<iI", data, 8)
    return total - 64 * (count - row)


@of_bytes("nres-magic")
def magic_lower_case(data: bytearray) -> None:
    data[:4] = b"nres"


@of_bytes("nres-magic")
def magic_of_another_format(data: bytearray) -> None:
    data[:4] = b"RIFF"


@of_bytes("nres-magic")
def nothing_but_zeros(data: bytearray) -> bytes:
    return bytes(len(data))


@of_bytes("nres-magic")
def empty_file(data: bytearray) -> bytes:
    return b""


@of_bytes("nres-magic")
def three_bytes(data: bytearray) -> bytes:
    return b"NRe"


@of_bytes("nres-header")
def only_the_magic(data: bytearray) -> bytes:
    return b"NRes"


@of_bytes("nres-header")
def header_cut(data: bytearray) -> bytes:
    return bytes(data[:15])


@of_bytes("nres-version")
def version_2(data: bytearray) -> None:
    _put(data, 4, "I", 0x200)


@of_bytes("nres-version")
def version_big_endian(data: bytearray) -> None:
    _put(data, 4, "I", 0x10000)


@of_bytes("nres-size")
def last_byte_lost(data: bytearray) -> bytes:
    return bytes(data[:-1])


@of_bytes("nres-size")
def half_the_file(data: bytearray) -> bytes:
    return bytes(data[: len(data) // 2])


@of_bytes("nres-trailing")
def byte_appended(data: bytearray) -> bytes:
    return bytes(data) + b"\0"


@of_bytes("nres-size")
def total_size_zero(data: bytearray) -> None:
    _put(data, 12, "I", 0)


@of_bytes("nres-size")
def total_size_huge(data: bytearray) -> None:
    _put(data, 12, "I", 0xFFFFFFFF)


@of_bytes("nres-count")
def count_negative(data: bytearray) -> None:
    _put(data, 8, "i", -1)


@of_bytes("nres-count")
def count_huge(data: bytearray) -> None:
    _put(data, 8, "i", 0x7FFFFFFF)


@of_bytes("nres-count")
def count_past_the_start(data: bytearray) -> None:
    _put(data, 8, "i", len(data) // 64 + 1)


@of_bytes("nres-payload")
def payload_past_the_directory(data: bytearray) -> None:
    _put(data, _row(data, 0) + 56, "I", len(data))


@of_bytes("nres-payload")
def payload_in_the_header(data: bytearray) -> None:
    _put(data, _row(data, 1) + 56, "I", 8)


@of_bytes("nres-payload")
def payload_size_huge(data: bytearray) -> None:
    _put(data, _row(data, 2) + 12, "I", 0xFFFFFFFF)


@of_bytes("nres-payload")
def payload_offset_wraps(data: bytearray) -> None:
    _put(data, _row(data, 0) + 56, "I", 0xFFFFFFF0)


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


@of_model("nres-alignment")
def payloads_not_aligned(box: Nres) -> None:
    box.shift = 4


@of_model("nres-gap")
def gaps_not_zero(box: Nres) -> None:
    box.gap = 0xAA


@of_model("nres-region")
def forgotten_bytes(box: Nres) -> None:
    box.forgotten = bytes(range(16))


@of_model("nres-sort")
def sort_index_huge(box: Nres) -> None:
    box.entries[0].sort = 0xFFFFFFFF


@of_model("nres-sort")
def sort_index_twice(box: Nres) -> None:
    box.entries[0].sort = box.entries[1].sort


@of_model("nres-order")
def sort_table_backwards(box: Nres) -> None:
    names = [entry.name.partition(b"\0")[0].upper() for entry in box.entries]
    order = sorted(range(len(names)), key=lambda i: names[i], reverse=True)
    if len(set(names)) < 2:
        raise NotHere
    for entry, index in zip(box.entries, order, strict=True):
        entry.sort = index


@of_model("nres-name")
def name_without_end(box: Nres) -> None:
    box.entries[0].name = b"R" * 36


@of_model("nres-name-tail")
def bytes_behind_a_name(box: Nres) -> None:
    box.entries[-1].name = box.entries[-1].name[:-1] + b"x"


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


@of_archive("archive-mesh")
def mesh_of_text(box: Nres) -> None:
    _append(box, b"MESH", b"text.msh", b"not a model at all")


@of_archive("archive-mesh")
def mesh_empty(box: Nres) -> None:
    _append(box, b"MESH", b"empty.msh", b"")


@of_archive("archive-nested")
def archive_in_an_archive(box: Nres) -> None:
    _append(box, b"DATA", b"inner.rlb", box.write())


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
