"""NRes archives (``.rlb``, ``.lib``, ``.msh``): entries, names, the sort table (docs/reference/nres.md).

Edits of an archive are ``formats.nres_edits``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import le

import numpy as np

from ..errors import ConversionError, in_words, plural
from ..files import Later, foreign_file
from ..findings import Finding, Rule, Rules
from ..numeric.arrays import field_offset, max_uses
from .names import decode_text, encode_name, fold_lower, fold_upper

NRES_MAGIC = b"NRes"
NRES_VERSION = 0x100
NAME_SIZE = 36

NRES_HEADER_DTYPE = np.dtype(
    [
        ("magic", "V4"),  # +0   "NRes"
        ("version", "<u4"),  # +4   0x100
        ("entry_count", "<i4"),  # +8
        ("total_size", "<u4"),  # +12  the file's length
    ]
)
assert NRES_HEADER_DTYPE.itemsize == 16

NRES_ENTRY_DTYPE = np.dtype(
    [
        ("type_id", "<u4"),  # +0   a FourCC in archives, a small integer in a model
        ("attr1", "<u4"),  # +4   mostly a count
        ("attr2", "<u4"),  # +8
        ("size", "<u4"),  # +12  of the payload, bytes
        ("attr3", "<u4"),  # +16  mostly a stride
        ("name", "u1", (NAME_SIZE,)),  # +20  NUL-terminated; the tail after the NUL is kept
        ("data_offset", "<u4"),  # +56
        ("sort_index", "<u4"),  # +60  sorted position -> directory index
    ]
)
assert NRES_ENTRY_DTYPE.itemsize == 64

_rule = Rules("NRes", "docs/reference/nres.md#header")

Fold = Callable[[bytes], bytes]

NRES_MAGIC_RULE = _rule("nres-magic", "error", "A container starts with the four bytes NRes.")(
    why="Content decides what a file is; without the magic nothing in it can be found.",
    fix="Give the right file; a file that was an archive once is damaged: take it from a backup.",
)
NRES_HEADER = _rule("nres-header", "error", "A container has a header of 16 bytes.")(
    why="A shorter file does not hold the place of its entries.", fix="The file was cut off: copy it again."
)
NRES_VERSION_RULE = _rule("nres-version", "error", "The version word is 0x100.")(
    why="Another version may lay out everything else in another way.",
    fix="Take the file from the game again; no other version is known.",
)
NRES_SIZE = _rule("nres-size", "error", "total_size is the length of the file.")(
    why="The directory lies at the end: a wrong length means that it is looked for in the wrong place.",
    fix="The file was cut off or something was appended: copy it again.",
)
NRES_TRAILING = _rule("nres-trailing", "error", "Nothing follows the directory.", drops="what follows the directory")(
    why="The directory is looked for at the end of the file.", fix="Something was appended: copy the file again."
)
NRES_COUNT = _rule(
    "nres-count", "error", "entry_count is not negative, and so many directory rows of 64 bytes fit after the header."
)(why="The directory would start before the data.", fix="Take the file from a backup, or pack it again.")
NRES_PAYLOAD = _rule(
    "nres-payload", "error", "Every payload lies between the header and the directory.", "#a-row-of-the-directory"
)(why="Reading it would leave the file.", fix="Pack the archive again from its entries.")
NRES_REUSE = _rule(
    "nres-reuse", "error", "All payloads together are at most 16 times the file, or 1,048,576 bytes.", "docs/limits.md"
)(
    why="A small file could be made to look like a huge one, and exhaust memory and time.",
    fix="Pack the archive again: every entry gets bytes of its own.",
)


class _Payload:
    """Reads a :class:`Later` payload when ``Entry.payload`` is accessed."""

    def __get__(self, entry: Entry | None, kind: type[Entry]) -> memoryview | bytes:
        if entry is None:
            raise AttributeError("no default")
        stored: memoryview | bytes | Later = entry.__dict__["_payload"]
        return stored.read(0, stored.size) if isinstance(stored, Later) else stored

    def __set__(self, entry: Entry, value: memoryview | bytes | Later) -> None:
        entry.__dict__["_payload"] = value


@dataclass
class Entry:
    """One directory entry and its payload.

    Attributes:
        type_id: a FourCC as a little-endian number in archives, a small integer in models.
        raw_name: the 36 bytes of the name field, tail after the NUL included.
        data_offset: where the payload starts in the file it was read from.
        sort_index: this row of the sort table.
        payload: the bytes; a view of the file where the entry was read from one. Set to a
            :class:`Later`, it is read from the file when it is asked for.
    """

    type_id: int
    attr1: int
    attr2: int
    attr3: int
    raw_name: bytes
    data_offset: int
    sort_index: int
    payload: _Payload = _Payload()

    @property
    def name_bytes(self) -> bytes:
        """The name without its NUL and tail."""
        return self.raw_name.partition(b"\0")[0]

    @property
    def name(self) -> str:
        """The name as text (``decode_text``)."""
        return decode_text(self.name_bytes)

    @property
    def size(self) -> int:
        """Payload size in bytes."""
        stored = self.__dict__["_payload"]
        return stored.size if isinstance(stored, Later) else len(stored)

    def start(self, count: int) -> bytes:
        """The first bytes of the payload, as many as there are; the rest is not read."""
        return bytes(self.part(0, count))

    def part(self, start: int, count: int) -> memoryview | bytes:
        """Bytes of the payload from an offset on, as many as there are; the rest is not read."""
        stored = self.__dict__["_payload"]
        if isinstance(stored, Later):
            return stored.part(start, count)
        return stored[start : start + count]  # type: ignore[no-any-return]

    @property
    def type_text(self) -> str:
        """``MESH`` for a FourCC, else the number."""
        raw = self.type_id.to_bytes(4, "little")
        return raw.decode("ascii") if raw.isalnum() else str(self.type_id)


#: Regions of a file that no payload covers: where each starts, and its bytes.
Regions = Sequence[tuple[int, memoryview | bytes]]


class _Regions:
    """Reads regions that were given as a function when ``Archive.unindexed`` is accessed."""

    def __get__(self, archive: Archive | None, kind: type[Archive]) -> Regions:
        if archive is None:
            return ()  # the default
        stored: Regions | Callable[[], Regions] = archive.__dict__["_unindexed"]
        return stored() if callable(stored) else stored

    def __set__(self, archive: Archive, value: Regions | Callable[[], Regions]) -> None:
        archive.__dict__["_unindexed"] = value


@dataclass
class Archive:
    """An NRes file, without loss: entries in directory order plus every byte between payloads.

    Attributes:
        label: what messages call it (a path, or ``path, entry name``).
        version: the header's version word.
        entries: in directory order.
        unindexed: ``(offset, bytes)`` of every region before the directory that no payload
            covers: alignment gaps and forgotten data alike. Set to a function, they are read
            from the file when they are asked for.
        total_size: length of the file in bytes.
        trailing: bytes after the directory that a reader that was asked to left out.
        read_from: the bytes that it was read from, whatever was replaced since; none of a new one.
    """

    label: str
    version: int = NRES_VERSION
    entries: list[Entry] = field(default_factory=list)
    unindexed: _Regions = _Regions()
    total_size: int = NRES_HEADER_DTYPE.itemsize
    trailing: int = 0
    read_from: memoryview | bytes = field(default=b"", repr=False, compare=False)

    @property
    def type_ids(self) -> set[int]:
        """The type ids that occur."""
        return {entry.type_id for entry in self.entries}

    @property
    def directory(self) -> int:
        """Where the directory lies in the file, bytes: after all payloads."""
        return self.total_size - NRES_ENTRY_DTYPE.itemsize * len(self.entries)

    def sort_table_fold(self) -> Fold | None:
        """The case folding under which the sort table is sorted, or ``None``.

        ``None``: it is not a permutation, or sorted under neither folding; a lookup then
        scans. Archives of the game obey one or the other; if both fit, upper case.
        """
        return self._sorted[0]

    @cached_property
    def _sorted(self) -> tuple[Fold | None, list[int], list[bytes]]:
        """The folding, entries by their names as the game finds them, and these folded names.

        Entries may be replaced, but not renamed: a renamed entry needs a new archive.
        """
        names = [entry.name_bytes for entry in self.entries]
        order = [entry.sort_index for entry in self.entries]
        if sorted(order) == list(range(len(order))):
            for fold in (fold_upper, fold_lower):
                keys = [fold(names[i]) for i in order]
                if all(map(le, keys, keys[1:])):
                    return fold, order, keys
        keys = [fold_upper(name) for name in names]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return None, order, [keys[i] for i in order]

    def find(self, name: str | bytes) -> int | None:
        """Directory index of the entry called ``name``, or ``None``: the first of :meth:`namesakes`."""
        return next(iter(self.namesakes(name)), None)

    def namesakes(self, name: str | bytes) -> list[int]:
        """Directory indices of all entries called ``name``, ASCII case-insensitively, in the order of the sort table.

        Where that is not a sorted permutation, of the directory, as the game's linear scan.
        """
        fold, order, keys = self._sorted
        wanted = (fold or fold_upper)(encode_name(name) if isinstance(name, str) else name)
        return order[bisect_left(keys, wanted) : bisect_right(keys, wanted)]

    def first_of_type(self, type_id: int) -> Entry | None:
        """The first entry of a type in directory order: how the runtime finds tables."""
        return next((entry for entry in self.entries if entry.type_id == type_id), None)


_DIRECTORY = "NRes directory"


_HEADER_SIZE, _ROW_SIZE = NRES_HEADER_DTYPE.itemsize, NRES_ENTRY_DTYPE.itemsize
_NUL = b"\0"
#: A directory entry whose name is bytes: the fields of ``NRES_ENTRY_DTYPE``.
_FIELDS = NRES_ENTRY_DTYPE.names or ()
_ROW = np.dtype([(key, "V36" if key == "name" else NRES_ENTRY_DTYPE[key]) for key in _FIELDS])
#: How many rows of the directory of a container in a container are read at a time.
_BLOCK = 1 << 16


def is_nres(data: memoryview | bytes) -> bool:
    """Whether the bytes start like an NRes file, whatever its extension."""
    return bytes(data[:4]) == NRES_MAGIC


def read_nres(data: memoryview | bytes | Later, label: str, *, longer: bool = False) -> Archive:
    """Read an NRes file; payloads are views of ``data``, nothing is copied.

    Args:
        data: the whole file. Of a :class:`~converter.files.Later` no more than the directory is
            read, and payloads on access: for few entries of many, since memory holds only these.
        longer: bytes after the directory are left out, and ``Archive.trailing`` says so.

    Raises ConversionError: the header or a directory entry cannot be true.
    """
    whole = memoryview(b"" if isinstance(data, Later) else data)
    file = data if isinstance(data, Later) else Later(len(whole), lambda start, count: whole[start : start + count])
    payload = file.section if file is data else file.part
    head = memoryview(file.part(0, _HEADER_SIZE))
    end = _stated(head, file.size) if longer else file.size
    version, directory = _header(head, end, label)
    entries = [
        Entry(*attributes, name, start, sort_index, payload(start, size))
        for attributes, name, start, sort_index, size in _rows(
            memoryview(file.part(directory, end - directory)), directory, label
        )
    ]
    unindexed = partial(_read_regions, file, _unindexed(entries, directory))
    return Archive(label, version, entries, unindexed if file is data else unindexed(), end, file.size - end, whole)


def _read_regions(file: Later, places: list[tuple[int, int]]) -> Regions:
    return [(start, file.part(start, end - start)) for start, end in places]


def trailing_bytes(archive: Archive) -> Finding:
    """Return the finding about what follows an archive's directory."""
    return Finding(
        NRES_TRAILING,
        f"{plural(archive.trailing, 'byte')} after the directory",
        "NRes header",
        offset=field_offset(NRES_HEADER_DTYPE, "total_size"),
        value=archive.total_size,
        expected=archive.total_size + archive.trailing,
        rows=np.zeros(0, np.int64),
    )


def _stated(head: memoryview, size: int) -> int:
    """The size that a file states, where it is longer and its directory would fit; else its own."""
    if len(head) < _HEADER_SIZE or not is_nres(head):
        return size
    _, _, count, total = np.frombuffer(head[:_HEADER_SIZE], NRES_HEADER_DTYPE).tolist()[0]
    fits = count >= 0 and _HEADER_SIZE + _ROW_SIZE * count <= total < size
    return int(total) if fits else size


def entry_types(entry: Entry, label: str) -> set[int]:
    """Return the type ids in the directory of an entry that starts like an NRes file; nothing else is read.

    Raises ConversionError: the header or a directory entry cannot be true.
    """
    size = entry.size
    _, directory = _header(memoryview(entry.part(0, _HEADER_SIZE)), size, label)
    types: set[int] = set()
    shared = 0
    for start in range(directory, size, _ROW_SIZE * _BLOCK):
        part = entry.part(start, min(_ROW_SIZE * _BLOCK, size - start))
        rows = np.frombuffer(part, _ROW)
        low, sizes = rows["data_offset"].astype(np.int64), rows["size"].astype(np.int64)
        if ((low < _HEADER_SIZE) | (low + sizes > directory)).any():
            _rows(memoryview(part), directory, label)  # reports it
        types.update(rows["type_id"].tolist())
        shared += int(sizes.sum())
    if shared > max_uses(size):
        raise _reused(shared, size, label)
    return types


def _header(data: memoryview, size: int, label: str) -> tuple[int, int]:
    """Version, and where the directory lies, of a file of a size that begins with the 16 bytes."""

    def fail(rule: Rule, problem: str, field: str, value: object, expected: object) -> ConversionError:
        return ConversionError(
            problem,
            file=label,
            table="NRes header",
            offset=field_offset(NRES_HEADER_DTYPE, field),
            value=value,
            expected=expected,
            code=rule.code,
        )

    if not is_nres(data):
        found = bytes(data[:4]) or "an empty file"
        error = fail(NRES_MAGIC_RULE, "not an NRes file", "magic", found, "NRes")
        error.hint = foreign_file(data) or "give the game's folder, an archive or a model"
        raise error
    if size < _HEADER_SIZE:
        problem = "file too short for a header"
        raise fail(NRES_HEADER, problem, "magic", plural(size, "byte"), f"at least {_HEADER_SIZE}")
    _, version, count, total = np.frombuffer(data, NRES_HEADER_DTYPE).tolist()[0]
    if version != NRES_VERSION:
        known = f"{NRES_VERSION:#x}"
        raise fail(NRES_VERSION_RULE, "unknown version", "version", f"{version:#x}", known)
    if total < size and count >= 0 and _HEADER_SIZE + _ROW_SIZE * count <= total:
        problem = f"{plural(size - total, 'byte')} after the directory"
        raise fail(NRES_TRAILING, problem, "total_size", total, size)
    if total != size:
        raise fail(NRES_SIZE, "total_size is not the file's length", "total_size", total, size)
    directory = total - _ROW_SIZE * count
    if count < 0 or directory < _HEADER_SIZE:
        problem = "entry_count does not fit the file"
        room = f"0..{(total - _HEADER_SIZE) // _ROW_SIZE}"
        raise fail(NRES_COUNT, problem, "entry_count", count, room)
    return version, directory


def _rows(data: memoryview, directory: int, label: str) -> list[tuple[tuple[int, int, int, int], bytes, int, int, int]]:
    """The directory at an offset: type and attributes, name, payload's start, sort index, size."""
    rows = []
    for i, row in enumerate(np.frombuffer(data, _ROW).tolist()):
        type_id, attr1, attr2, size, attr3, name, start, sort_index = row
        if start < _HEADER_SIZE or start + size > directory:
            raise ConversionError(
                f"payload of {in_words(name.partition(_NUL)[0])} lies outside the data region",
                file=label,
                table=_DIRECTORY,
                row=i,
                offset=directory + _ROW_SIZE * i + field_offset(NRES_ENTRY_DTYPE, "data_offset"),
                value=f"bytes {start}..{start + size}",
                expected=f"inside {_HEADER_SIZE}..{directory}",
                code=NRES_PAYLOAD.code,
            )
        rows.append(((type_id, attr1, attr2, attr3), name, start, sort_index, size))
    shared, total = sum(row[-1] for row in rows), directory + len(data)
    if shared > max_uses(total):
        raise _reused(shared, total, label)
    return rows


def _reused(shared: int, size: int, label: str) -> ConversionError:
    problem, value = "payloads overlap too often", f"{plural(shared, 'byte')} in all"
    expected = f"at most {max_uses(size)}"
    return ConversionError(problem, file=label, table=_DIRECTORY, value=value, expected=expected, code=NRES_REUSE.code)


def _unindexed(entries: list[Entry], directory: int) -> list[tuple[int, int]]:
    """Regions between header and directory that no payload covers: start and end."""
    regions = []
    cursor = _HEADER_SIZE
    for start, size in sorted((e.data_offset, e.size) for e in entries):
        if size:
            if start > cursor:
                regions.append((cursor, start))
            cursor = max(cursor, start + size)
    if cursor < directory:
        regions.append((cursor, directory))
    return regions


def write_nres(archive: Archive) -> bytes:
    """The bytes of an archive, every payload and unindexed region at its offset.

    An archive that was read and not changed gives the bytes it was read from.
    """
    data = bytearray(archive.total_size)
    header = np.zeros(1, NRES_HEADER_DTYPE)
    header["magic"] = np.void(b"NRes")
    header["version"] = archive.version
    header["entry_count"] = len(archive.entries)
    header["total_size"] = archive.total_size
    data[: header.nbytes] = header.tobytes()
    for offset, region in archive.unindexed:
        data[offset : offset + len(region)] = region
    for entry in archive.entries:
        data[entry.data_offset : entry.data_offset + entry.size] = entry.payload
    rows = np.zeros(len(archive.entries), NRES_ENTRY_DTYPE)
    for i, e in enumerate(archive.entries):
        name = np.frombuffer(e.raw_name, "u1")
        rows[i] = (e.type_id, e.attr1, e.attr2, e.size, e.attr3, name, e.data_offset, e.sort_index)
    if rows.size:
        data[-rows.nbytes :] = rows.tobytes()
    return bytes(data)


def bytes_as_read(archive: Archive) -> memoryview | bytes:
    """The file that an archive was read from; of one that was only opened it is put together."""
    return archive.read_from or write_nres(archive)
