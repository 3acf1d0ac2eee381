"""The changes of a game, replayed: which are in force in which file, and what a file was; a file composed of them.

A change in force is a :class:`Layer`: a difference for one entry of an archive (or for a whole
file), and who brought it. A file is always composed from its base and its layers, so neither the
order of transactions nor what was taken back in between shows in the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from ..errors import Conflict, ConversionError, Malformed, listed, printable, reason_of
from ..formats.kinds import Kind, content_kind
from ..formats.model_parts import POINTS_ENDING, POINTS_TYPE
from ..formats.names import decode_text, fold_upper
from ..formats.nres import Archive, Entry, is_nres, read_nres, write_nres
from ..formats.nres_edits import ArchiveEdits, remove_entries
from ..formats.sidecar import sha256
from ..formats.wear import WEAR_ENDING, WEAR_TYPE
from .vault import Vault

#: Between what one change came from: an entry of a library may come from several models.
JOIN = "\n"
#: Reads a stored difference by its digest.
Read = Callable[[str], bytes]
#: The directory's type_id, attr1, attr2 and attr3; of a change ``None`` where it keeps one.
Attributes = tuple[int | None, ...]
#: Types of files by their endings, as their entries in archives have them.
_TYPES = {WEAR_ENDING: WEAR_TYPE, POINTS_ENDING: POINTS_TYPE}
_MAX_NUMBER = 1 << 31


class Slot(NamedTuple):
    """What of a file a layer changes.

    Attributes:
        name: the entry's name, as hex; empty: the whole file.
        nth: its place among the entries of this name, in directory order.
    """

    name: str = ""
    nth: int = 0

    @property
    def text(self) -> str:
        """The name for messages; empty for the whole file."""
        return printable(decode_text(bytes.fromhex(self.name)))


@dataclass(frozen=True)
class Layer:
    """One change in force.

    Attributes:
        number: the transaction that brought it; layers of a slot apply in this order.
        owner: who brought it: an output directory's id, a mod.
        item: the models, textures or files that it came from, as reports call them, :data:`JOIN` between them.
        slot: what it changes.
        before, after: SHA-256 of the value that it was made for, and of its result; ``before`` is
            empty where there was nothing.
        attributes: directory attributes that it sets.
        stored: SHA-256 of the difference (``differences``), which the vault has.
    """

    number: int
    owner: str
    item: str
    slot: Slot
    before: str
    after: str
    attributes: Attributes
    stored: str

    @property
    def items(self) -> list[str]:
        """What it came from, one by one."""
        return self.item.split(JOIN)

    @property
    def source(self) -> str:
        """The same in a sentence."""
        return listed(self.items)

    def is_made_on(self, other: Layer) -> bool:
        """Whether another change of the same, or of the whole file, came first."""
        return self.number > other.number and other.slot in (self.slot, Slot())

    def as_row(self) -> list[Any]:
        """The layer as JSON has it."""
        return [list(value) if isinstance(value, tuple) else value for value in astuple(self)]

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> Layer:
        """Return a layer that JSON holds. Raises ValueError, TypeError: it holds another thing."""
        number, owner, item, (name, nth), before, after, attributes, stored = row
        texts = (owner, item, name, before, after, stored)
        numbers = (number, nth, *(one for one in attributes if one is not None))
        if not all(isinstance(text, str) for text in texts) or len(attributes) != 4:
            raise Malformed("it is not a change")
        if not all(type(one) is int and 0 <= one < 2**32 for one in numbers):
            raise Malformed("a change has a number that is out of range")
        bytes.fromhex(name)
        slot = Slot(name, nth)
        return cls(number, owner, item, slot, before, after, tuple(attributes), stored)


class Value(NamedTuple):
    """What a slot holds. ``attributes``: type_id, attr1, attr2 and attr3; zeros for a file."""

    data: bytes
    attributes: tuple[int, ...] = (0, 0, 0, 0)


def is_archive(data: bytes) -> bool:
    """Return whether a file is an archive, whose entries change one by one."""
    try:
        return is_nres(data) and content_kind(data, "") is Kind.ARCHIVE
    except ConversionError:
        return False


def slots_of(archive: Archive) -> dict[Slot, int]:
    """Return the directory index of every entry by its slot."""
    found: dict[Slot, int] = {}
    counts: dict[str, int] = {}
    for index, entry in enumerate(archive.entries):
        name = entry.name_bytes.hex()
        counts[name] = counts.get(name, -1) + 1
        found[Slot(name, counts[name])] = index
    return found


def value_of(entry: Entry) -> Value:
    """Return what an entry holds."""
    return Value(bytes(entry.payload), (entry.type_id, entry.attr1, entry.attr2, entry.attr3))


def put_value(edits: ArchiveEdits, index: int, value: Value) -> None:
    """Replace an entry's bytes and attributes."""
    type_id, attr1, attr2, attr3 = value.attributes
    old = edits.entries[index]
    edits.put(index, replace(old, type_id=type_id, attr1=attr1, attr2=attr2, attr3=attr3, payload=value.data))


def compose(base: bytes | None, layers: Iterable[Layer], read: Read, label: str) -> bytes | None:
    """Return a file's bytes: its base with the layers applied.

    Replaced entries keep their places; new ones follow in the order of their names. Without layers
    it is the base, byte for byte.

    Args:
        base: the file without our changes; ``None``: there is none.
        layers: the changes in force, in any order.

    Raises:
        Conflict: a layer does not fit what is below it.
        ConversionError: the base is damaged.
    """
    groups = by_slot(layers)
    if not groups:
        return base
    if Slot() in groups:
        value = _applied(None if base is None else Value(base), groups.pop(Slot()), read, label)
        base = value.data
        if not groups:
            return base
    if base is None:
        raise Conflict("is gone, and changes of its entries with it", file=label, hint="msh-mod restore brings it back")
    archive = read_nres(base, label)
    edits, places = ArchiveEdits(archive), slots_of(archive)
    for slot in sorted(places.keys() & groups.keys(), key=places.__getitem__):
        index = places[slot]
        put_value(edits, index, _applied(value_of(archive.entries[index]), groups[slot], read, label))
    for slot in sorted(groups.keys() - places.keys()):
        value = _applied(None, groups[slot], read, label)
        type_id, attr1, attr2, attr3 = value.attributes
        edits.add(bytes.fromhex(slot.name), type_id, value.data, (attr1, attr2, attr3))
    return write_nres(edits.archive())


def without(layers: Iterable[Layer], others: Iterable[Layer]) -> list[Layer]:
    """Return the layers that others are not."""
    away = {*others}
    return [layer for layer in layers if layer not in away]


def by_slot(layers: Iterable[Layer]) -> dict[Slot, list[Layer]]:
    """Return layers by what they change, oldest first."""
    groups: dict[Slot, list[Layer]] = {}
    for layer in sorted(layers, key=lambda one: one.number):
        groups.setdefault(layer.slot, []).append(layer)
    return groups


@dataclass(frozen=True)
class Stack:
    """A file's base and its layers by slot, oldest first, of which slots are asked one by one."""

    base: bytes | None
    groups: dict[Slot, list[Layer]]
    read: Read
    label: str

    @cached_property
    def _entries(self) -> dict[Slot, Entry]:
        """The entries below the layers of entries."""
        archive = read_nres(compose(self.base, self.groups.get(Slot(), ()), self.read, self.label) or b"", self.label)
        return {slot: archive.entries[index] for slot, index in slots_of(archive).items()}

    def values(self, slot: Slot) -> list[Value | None]:
        """Return what a slot holds before each of its layers and after the last; nothing where it has none."""
        if not self.groups.get(slot):
            return []
        if slot == Slot():
            values = [None if self.base is None else Value(self.base)]
        else:
            values = [value_of(self._entries[slot]) if slot in self._entries else None]
        for layer in self.groups[slot]:
            values.append(_applied(values[-1], [layer], self.read, self.label))
        return values


def _applied(value: Value | None, layers: Sequence[Layer], read: Read, label: str) -> Value:
    """What a slot holds with its layers."""
    if layers:
        from .differences import apply  # where nothing is in force, no table is looked at
    for layer in layers:
        try:
            data = apply(read(layer.stored), None if value is None else value.data)
        except Conflict as error:
            raise error.at(file=label, entry=layer.slot.text or None) from None
        now = (0, 0, 0, 0) if value is None else value.attributes
        wanted = zip(now, layer.attributes, strict=True)
        value = Value(data, tuple(old if new is None else new for old, new in wanted))
    assert value is not None
    return value


class Changed(NamedTuple):
    """What a slot held and holds; ``before`` is ``None`` where it is new."""

    before: Value | None
    after: Value

    @property
    def attributes(self) -> Attributes:
        """The directory attributes that it sets; ``None`` where it keeps one."""
        was = (None,) * 4 if self.before is None else self.before.attributes
        return tuple(new if new != old else None for old, new in zip(was, self.after.attributes, strict=True))

    def difference(self, file: str, *, shared: bool) -> bytes:
        """Return the stored form of the change (``differences.difference``).

        Args:
            file: the file that it is in, whose ending tells its type where it is the whole file.
            shared: it may leave the game's folder.
        """
        from .differences import difference

        ending = f".{file.rpartition('.')[2].lower()}"
        type_id = self.after.attributes[0] or _TYPES.get(ending)
        before = None if self.before is None else self.before.data
        return difference(before, self.after.data, type_id=type_id, shared=shared)


def changes(before: bytes | None, after: bytes, label: str) -> dict[Slot, Changed]:
    """Return what differs between two versions of a file.

    By entries where both are archives and none is gone, else the whole file. ``before``: the file as it was;
    ``None``: there was none.
    """
    if before == after:
        return {}
    if before is None or not (is_archive(before) and is_archive(after)):
        return {Slot(): Changed(None if before is None else Value(before), Value(after))}
    old, new = read_nres(before, label), read_nres(after, label)
    places, there = slots_of(old), slots_of(new)
    if not places.keys() <= there.keys():
        return {Slot(): Changed(Value(before), Value(after))}
    found = {}
    for slot, index in there.items():
        was = None if slot not in places else value_of(old.entries[places[slot]])
        if was != (now := value_of(new.entries[index])):
            found[slot] = Changed(was, now)
    return found


def taken_out(
    now: bytes, base: bytes | None, layers: Sequence[Layer], read: Read, label: str
) -> tuple[bytes, list[Layer]]:
    """Return a file that somebody else has changed, with our changes taken out of it, and the layers that are lost.

    An entry that holds what we wrote becomes what it was; one that was changed after us stays as it is, and our layers
    of it are lost. ``base``: what our layers were applied to.
    """
    groups = by_slot(layers)
    if base is None or Slot() in groups or not (is_archive(now) and is_archive(base)):
        return now, list(layers)
    ours = compose(base, layers, read, label)
    assert ours is not None
    wrote, old = read_nres(ours, label), read_nres(base, label)
    written, original = slots_of(wrote), slots_of(old)
    archive, lost, away = read_nres(now, label), [], []
    edits, places = ArchiveEdits(archive), slots_of(archive)
    for slot, group in groups.items():
        index = places.get(slot)
        if index is None or value_of(archive.entries[index]) != value_of(wrote.entries[written[slot]]):
            lost += group
        elif slot in original:
            put_value(edits, index, value_of(old.entries[original[slot]]))
        else:
            away.append(index)
    return now if len(lost) == len(layers) else write_nres(remove_entries(edits.archive(), away)), lost


def new_names_taken(base: bytes | None, layers: Iterable[Layer], label: str) -> list[Layer]:
    """Return the layers of new entries whose names an archive has already."""
    if base is None or not is_archive(base):
        return []
    names = {fold_upper(entry.name_bytes) for entry in read_nres(base, label).entries}
    return [
        layer
        for slot, group in by_slot(layers).items()
        if slot.name and not group[0].before and fold_upper(bytes.fromhex(slot.name)) in names
        for layer in group
    ]


@dataclass(frozen=True)
class State:
    """What the history says of a file.

    Attributes:
        base: SHA-256 of the file without our changes; empty where there was none.
        after: SHA-256 of the file as it was written last; empty where it was removed.
        layers: the changes in force.
    """

    base: str
    after: str
    layers: tuple[Layer, ...] = ()


class History:
    """The transactions of a game, replayed.

    Attributes:
        records: the transactions, oldest first.
        files: what they say of each file, by path from the root.
        undone: numbers of transactions that a later one took back.
    """

    def __init__(self, records: list[dict[str, Any]]) -> None:
        """Replay transactions."""
        self.records = records
        self.files: dict[str, State] = {}
        self.undone: set[int] = set()
        self._versions: dict[tuple[str, str], State] = {}
        self._kept: dict[tuple[str, str, tuple[Layer, ...]], str] = {}
        self._before: dict[tuple[int, str], tuple[Layer, ...]] = {}
        self._last = 0
        for place, record in enumerate(records, 1):
            try:
                self._replay(record)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise ConversionError(
                    "the history of changes is damaged",
                    file=".msh-gltf/edits.jsonl",
                    value=f"change {place}: {reason_of(error)}",
                    hint="take it from a copy of the game's folder",
                ) from None

    @property
    def next_number(self) -> int:
        """The number of the next transaction."""
        return self._last + 1

    def record(self, number: int) -> dict[str, Any] | None:
        """Return a transaction by its number."""
        return next((record for record in self.records if record["number"] == number), None)

    def version(self, file: str, digest: str) -> State | None:
        """Return what was in force in a version of a file; ``None``: no transaction met or wrote it."""
        return self._versions.get((file, digest))

    def kept(self, file: str, base: str, layers: tuple[Layer, ...]) -> str | None:
        """Return SHA-256 of a file that another program made, by what was in force in it.

        What is composed has the same content, not always the same layout. ``base``: of the file without our changes.
        """
        return self._kept.get((file, base, layers))

    def before(self, number: int, file: str) -> tuple[Layer, ...]:
        """Return what was in force in a file before a transaction changed it."""
        return self._before[number, file]

    def first(self, file: str) -> str:
        """Return SHA-256 of the first original of a file; empty where there was none."""
        return next((r["files"][file]["base"] for r in self.records if file in r["files"]), "")

    def taken_out(self, owner: str | None = None) -> Iterator[tuple[int, str, Layer]]:
        """Yield what transactions took out: number, file, change; without an owner, all not taken back themselves."""
        for record in self.records:
            if record["owner"] != owner if owner is not None else record["number"] in self.undone:
                continue
            for file, facts in record["files"].items():
                for row in facts["removed"]:
                    yield record["number"], file, Layer.from_row(row)

    def _replay(self, record: dict[str, Any]) -> None:
        texts = [record[key] for key in ("time", "command", "owner", "kind")]
        number, undoes = record["number"], record.get("undoes")
        if type(number) is not int or not all(type(text) is str for text in texts):
            raise Malformed("it is not a change")
        if not self._last < number < _MAX_NUMBER or not isinstance(undoes, int | None):
            raise Malformed(f"it has the number {number}, and takes back {undoes}")
        self._last = number
        if undoes is not None:
            self.undone.add(undoes)
            again = self.record(undoes) or {}
            self.undone.discard(again.get("undoes", -1))
        for file, facts in record["files"].items():
            digests = facts["base"], facts["before"], facts["after"], facts.get("base_before", "")
            if any(type(digest) is not str for digest in digests):
                raise Malformed("a digest is not text")
            before = self.files.get(file, State("", ""))
            there = self._before[number, file] = _with(before.layers, facts["lost"], facts.get("found", ()))
            if "found" in facts and facts.get("kept") == facts["before"]:
                found = State(facts.get("base_before", facts["base"]), facts["before"], there)
                self._versions[file, found.after] = found
                self._kept[file, found.base, there] = found.after
            state = State(facts["base"], facts["after"], _with(there, facts["removed"], facts["added"]))
            self.files[file] = self._versions[file, state.after] = state


def _with(layers: Iterable[Layer], removed: Iterable[Any], added: Iterable[Any]) -> tuple[Layer, ...]:
    """Layers without some and with others, which are rows of a record."""
    away, more = [Layer.from_row(row) for row in removed], [Layer.from_row(row) for row in added]
    return in_order([*without(layers, [*away, *more]), *more])


def in_order(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Return layers in the order in which they apply."""
    return tuple(sorted(layers, key=lambda layer: (layer.number, layer.slot)))


def version(vault: Vault, history: History, file: str, state: State) -> bytes | None:
    """Return a file in a state of the history; ``None``: it was not there. Raises ConversionError: damaged."""
    if (kept := history.kept(file, state.base, state.layers)) is not None:
        return vault.original(kept)
    base = vault.original(state.base) if state.base else None
    return compose(base, state.layers, vault.change, file)


def can_be_made(vault: Vault, history: History, file: str, digest: str) -> bool:
    """Whether the vault has all that a version of a file is made of."""
    if (state := history.version(file, digest)) is None:
        return False
    try:
        return digest_of_file(version(vault, history, file, state)) == digest
    except ConversionError:
        return False


def digest_of_file(data: bytes | None) -> str:
    """Return SHA-256 of a file; empty where there is none."""
    return "" if data is None else sha256(data)
