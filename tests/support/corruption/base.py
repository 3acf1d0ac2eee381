"""What a corruption is, and containers that can be broken."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data"
NAN, INF = math.nan, math.inf
NONE = 0xFFFF


class NotHere(Exception):
    """A corruption that a sample has no place for."""


@dataclass
class Case:
    """A broken file in a directory of its own, made for one sample.

    Attributes:
        sample: what it was made of.
        path: the file to check.
        valid: makes the file that it was, elsewhere.
    """

    sample: str
    path: Path
    valid: Callable[[], Path]


@dataclass(frozen=True)
class Corruption:
    """One named kind.

    Attributes:
        name: unique, says what is done.
        code: the rule that it breaks.
        format: what it is done to.
        make: makes the cases for a directory, one by one; samples that have no place for it are
            left out.
    """

    name: str
    code: str
    format: str
    make: Callable[[Path], Iterator[Case]]


CATALOGUE: list[Corruption] = []


def kinds(format: str, samples: Callable[[], list[Any]], write: Callable[..., Path]) -> Any:
    """What notes the corruptions of a format: by the code of the rule that is broken, a name, and what is done.

    Args:
        samples: the valid files; each has ``id``.
        write: applies a function to a sample below a directory and returns the file to check; may
            raise :class:`NotHere`.

    With a code alone it is a decorator of a function, which has the name.
    """

    def note(code: str, name: str = "", function: Any = None) -> Any:
        if function is None:
            return lambda function: note(code, function.__name__.replace("_", "-"), function)

        def make(folder: Path) -> Iterator[Case]:
            for number, sample in enumerate(samples()):
                place = folder / str(number)
                place.mkdir(parents=True)
                try:
                    path = write(place, sample, function)
                except NotHere:
                    continue
                yield Case(sample.id, path, partial(valid, place.with_name(f"{number} valid"), sample))

        def valid(place: Path, sample: Any) -> Path:
            place.mkdir(exist_ok=True)
            return write(place, sample, nothing)

        CATALOGUE.append(Corruption(f"{format}: {name}", code, format, make))
        return function

    return note


@dataclass(frozen=True)
class Made:
    """The bytes that a valid file is made of."""

    id: str
    data: bytes


def written(
    name: str, read: Callable[[bytes], Any] = bytearray, write: Callable[[Any], bytes] = bytes
) -> Callable[..., Path]:
    """What writes a file of a name: what is read of a sample's bytes, changed; or the bytes that the change gives."""

    def make(folder: Path, sample: Made, change: Callable[[Any], object]) -> Path:
        content = read(sample.data)
        changed = change(content)
        path = folder / name
        path.write_bytes(changed if isinstance(changed, bytes) else write(content))
        return path

    return make


pack = struct.pack_into
ALL = slice(None)


def cut(data: bytearray, start: int, stop: int | None = None) -> None:
    del data[start:stop]


def put(where: Any, key: Any, value: Any) -> None:
    where[key] = value


def change(where: Any, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(where, name, value)


def swap(data: bytearray, one: int, other: int) -> None:
    """Exchange two points."""
    data[one : one + 12], data[other : other + 12] = data[other : other + 12], data[one : one + 12]


def nothing(_: Any) -> None:
    """What is done for a valid file."""


def need(there: object) -> None:
    """Leave a sample out that has no place for what is done next."""
    if not there:
        raise NotHere


# ------------------------------------------------------------------ containers


@dataclass
class Entry:
    """A directory entry and its bytes; ``offset`` and ``size`` win over the real ones."""

    type: int
    attr1: int
    attr2: int
    attr3: int
    name: bytes
    data: bytearray
    sort: int
    offset: int | None = None
    size: int | None = None


@dataclass
class Nres:
    """A container as its parts. ``facts`` is what is known of the sample."""

    entries: list[Entry]
    facts: dict[str, Any] = field(default_factory=dict)
    gap: int = 0
    shift: int = 0
    forgotten: bytes = b""

    @classmethod
    def read(cls, data: bytes, facts: dict[str, Any] | None = None) -> Nres:
        count, total = struct.unpack_from("<iI", data, 8)
        entries = []
        for i in range(count):
            at = total - 64 * (count - i)
            kind, a1, a2, size, a3 = struct.unpack_from("<5I", data, at)
            offset, sort = struct.unpack_from("<2I", data, at + 56)
            payload = bytearray(data[offset : offset + size])
            entries.append(Entry(kind, a1, a2, a3, data[at + 20 : at + 56], payload, sort))
        return cls(entries, facts or {})

    def write(self) -> bytes:
        out = bytearray(16)
        rows = []
        for entry in self.entries:
            while (len(out) - self.shift) % 8 or len(out) < 16 + self.shift:
                out.append(self.gap)
            offset = len(out) if entry.offset is None else entry.offset
            size = len(entry.data) if entry.size is None else entry.size
            rows.append(
                struct.pack("<5I", entry.type, entry.attr1, entry.attr2, size, entry.attr3)
                + entry.name
                + struct.pack("<2I", offset, entry.sort)
            )
            out += entry.data
        while (len(out) - self.shift) % 8:
            out.append(self.gap)
        out += self.forgotten + b"".join(rows)
        struct.pack_into("<4sIiI", out, 0, b"NRes", 0x100, len(rows), len(out))
        return bytes(out)

    def entry(self, type: int) -> Entry:
        found = next((entry for entry in self.entries if entry.type == type), None)
        need(found)
        return found

    def has(self, type: int) -> bool:
        return any(entry.type == type for entry in self.entries)

    def add(self, type: int, data: bytes, a1: int = 0, a2: int = 0, a3: int = 0) -> Entry:
        name = f"Res{type}x".encode().ljust(36, b"\0")
        new = Entry(type, a1, a2, a3, name, bytearray(data), len(self.entries))
        self.entries.append(new)
        self.sort()
        return new

    def remove(self, type: int) -> None:
        self.entries.remove(self.entry(type))
        self.sort()

    def sort(self) -> None:
        order = sorted(range(len(self.entries)), key=lambda i: self.entries[i].name.partition(b"\0")[0].upper())
        for entry, index in zip(self.entries, order, strict=True):
            entry.sort = index

    def table(self, type: int) -> Table:
        stride, start = STRIDES[type]
        return Table(self.entry(type), stride, start)


#: Type -> bytes of a record, and where the first is.
STRIDES = {1: (38, 0), 2: (68, 140), 3: (12, 0), 4: (4, 0), 5: (4, 0), 6: (2, 0), 7: (16, 0), 8: (24, 0), 9: (32, 0)}
STRIDES |= {11: (4, 0), 13: (20, 0), 14: (4, 0), 15: (8, 0), 18: (4, 0), 19: (2, 0), 21: (28, 0)}


@dataclass
class Table:
    """The records of an entry; fields by offset and ``struct`` format."""

    entry: Entry
    stride: int
    start: int

    def __len__(self) -> int:
        return (len(self.entry.data) - self.start) // self.stride

    def get(self, row: int, offset: int, form: str = "H") -> Any:
        values = struct.unpack_from("<" + form, self.entry.data, self._at(row, offset))
        return values[0] if len(values) == 1 else values

    def set(self, row: int, offset: int, form: str, *values: Any) -> None:
        struct.pack_into("<" + form, self.entry.data, self._at(row, offset), *values)

    def change(self, row: int, offset: int, form: str, new: Callable[[Any], Any]) -> None:
        """Put what a function makes of a field, or of some, in its place."""
        made = new(self.get(row, offset, form))
        self.set(row, offset, form, *(made if isinstance(made, list | tuple) else [made]))

    def change_all(self, offset: int, form: str, new: Callable[[Any], Any]) -> None:
        for row in range(len(self)):
            self.change(row, offset, form, new)

    def column(self, offset: int, form: str = "H") -> list[Any]:
        return [self.get(row, offset, form) for row in range(len(self))]

    def append(self, record: bytes | None = None) -> None:
        """One more record (a copy of the last), and the count in attr1."""
        self.entry.data += self.entry.data[-self.stride :] if record is None else record
        self.entry.attr1 = len(self)

    def first(self, wanted: Callable[[int], bool]) -> int:
        """The first row that a function wants."""
        found = next((row for row in range(len(self)) if wanted(row)), None)
        need(found is not None)
        return found

    def _at(self, row: int, offset: int) -> int:
        need(0 <= row < len(self))
        return self.start + self.stride * row + offset


def empty(entry: Entry) -> None:
    """Leave a table no records."""
    entry.data.clear()
    entry.attr1 = 0


def twice(box: Nres, type: int) -> None:
    """A second entry that is like one that is there."""
    entry = box.entry(type)
    box.add(type, bytes(entry.data), entry.attr1, entry.attr2, entry.attr3)


# ------------------------------------------------------------------ valid models


@dataclass(frozen=True)
class Model:
    """A bundled model."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.stem

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def facts(self) -> dict[str, Any]:
        truth = json.loads(self.path.with_suffix(".json").read_text("utf-8"))
        sure = truth["auto"]["step"] == "a"
        return {"dialect": truth["dialect"] if sure else None, "legacy": truth["legacy"]}


def models() -> list[Model]:
    return [Model(path) for path in sorted(DATA.glob("*.msh"))]


def write_model(folder: Path, sample: Model, change: Callable[[Nres], None]) -> Path:
    """A changed model, with its material list beside it."""
    box = Nres.read(sample.data, sample.facts)
    before = box.write()
    change(box)
    data = box.write()
    need(data != before or change is nothing)
    path = folder / "model.msh"
    path.write_bytes(data)
    path.with_suffix(".wea").write_bytes(sample.path.with_suffix(".wea").read_bytes())
    return path


of_model = kinds("model", models, write_model)
of_bytes = kinds("file", models, written("model.msh"))


def sound_nodes(box: Nres) -> Table:
    """Res1 of a model with 38-byte nodes."""
    need(not box.facts.get("legacy"))
    return box.table(1)


def of_dialect(box: Nres, dialect: str) -> None:
    """Only where the file's header box says how to read it."""
    need(box.facts.get("dialect") == dialect)
