"""Two models, units, missions or registries compared, row by row, in words (``msh-inspect --diff``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, in_words, plural, printable
from ..formats.controller import ACTION_DTYPE, CHANNELS, GROUPS, PARTS, STATES, Controller
from ..formats.mission import LODES, OBJECTS, ROUTES, Clan, Mission, PlacedObject, Route
from ..formats.model import TABLES, MshModel, StreamType
from ..formats.names import decode_text
from ..formats.objects import COMPONENTS, Registry, Unit
from ..numeric.arrays import U8, Records
from .model import controller_at
from .open_files import read_assembly, read_msh

Json = dict[str, Any]
_MOST_ROWS = 5


def diff_models(a: MshModel, b: MshModel) -> list[Json]:
    """Differences of two models, in directory order.

    Returns:
        Per difference ``table``, ``what`` (words), and where they apply ``rows`` (numbers of the
        differing rows), ``fields`` (names), ``examples`` (texts).
    """
    out: list[Json] = []
    order_a = [entry.type_id for entry in a.archive.entries]
    order_b = [entry.type_id for entry in b.archive.entries]
    for one, other, which in ((order_a, order_b, "first"), (order_b, order_a, "second")):
        missing = [t for t in one if t not in other]
        out += [{"table": _title(t), "what": f"is only in the {which}"} for t in missing]
    common = [t for t in order_a if t in order_b]
    if [t for t in order_b if t in order_a] != common:
        out.append({"table": "directory", "what": "entries come in another order"})
    for type_id in dict.fromkeys(common):
        out += _diff_entry(a, b, type_id)
    return out


def _title(type_id: int) -> str:
    spec = TABLES.get(type_id)
    return spec.label if spec else f"entry of type {type_id}"


def _diff_entry(a: MshModel, b: MshModel, type_id: int) -> list[Json]:
    ea, eb = a.archive.first_of_type(type_id), b.archive.first_of_type(type_id)
    assert ea is not None
    assert eb is not None
    out: list[Json] = []
    title = _title(type_id)
    for field in ("attr1", "attr2", "attr3"):
        x, y = getattr(ea, field), getattr(eb, field)
        if x != y:
            out.append({"table": title, "what": f"{field} of the directory: {x} became {y}"})
    if ea.raw_name != eb.raw_name:
        names = f"{in_words(ea.name)} became {in_words(eb.name)}"
        out.append({"table": title, "what": f"its name: {names}"})
    if bytes(ea.payload) == bytes(eb.payload):
        return out
    if type_id == StreamType.SLOTS:
        return [*out, *_diff_rows(f"{title}, header", a.header, b.header), *_diff_rows(title, a.slots, b.slots)]
    if type_id == StreamType.STRINGS and a.strings is not None and b.strings is not None:
        return [*out, *_diff_lists(title, a.strings.records, b.strings.records)]
    if type_id == StreamType.GRAPH and a.graph is not None and b.graph is not None:
        return [
            *out,
            *_diff_rows(f"{title}, points", a.graph.points, b.graph.points),
            *_diff_rows(f"{title}, links", a.graph.links, b.graph.links),
        ]
    x, y = a.streams.get(type_id), b.streams.get(type_id)
    if x is not None and y is not None and x.dtype == y.dtype:
        return [*out, *_diff_rows(title, x, y)]
    return [*out, {"table": title, "what": f"{plural(ea.size, 'byte')} became {eb.size} other bytes"}]


def _diff_rows(title: str, a: NDArray[Any], b: NDArray[Any]) -> list[Json]:
    """Rows that differ. Tables of different lengths are lined up at both ends, so that rows which
    only moved do not count as different."""
    raw_a, raw_b = _raw(a), _raw(b)
    if len(a) != len(b):
        head = _equal_rows(raw_a, raw_b)
        tail = _equal_rows(raw_a[head:][::-1], raw_b[head:][::-1])
        middle = f"rows {head}..{len(a) - tail - 1}" if head + tail < len(a) else "no row"
        now = f"rows {head}..{len(b) - tail - 1}" if head + tail < len(b) else "nothing"
        what = f"{len(a)} rows became {len(b)}: {middle} became {now}"
        what += f", {tail} rows after them only moved" if tail else ""
        return [{"table": title, "what": what}]
    rows = np.flatnonzero((raw_a != raw_b).any(axis=1))
    fields, examples = [], []
    for name in a.dtype.names or ("",):
        x, y = (table[name][rows] if name else table[rows] for table in (a, b))
        differ = np.flatnonzero((_raw(x) != _raw(y)).any(axis=1))
        if differ.size:
            first = differ[0]
            fields.append(name or "value")
            place = f"row {rows[first]} {name}".rstrip()
            examples.append(f"{place}: {_array_text(x[first])} became {_array_text(y[first])}")
    return _rows_differ(title, len(a), rows.tolist(), fields, examples)


def _raw(rows: NDArray[Any]) -> U8:
    """The bytes of each row. (n, k)."""
    return np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), rows[:1].nbytes)


def _rows_differ(title: str, count: int, rows: list[int], fields: list[str], examples: list[str]) -> list[Json]:
    if not rows:
        return []
    what = f"{len(rows)} of {count} rows differ"
    return [{"table": title, "what": what, "rows": rows, "fields": fields, "examples": examples}]


def _equal_rows(a: U8, b: U8) -> int:
    """How many rows two tables have in common at the start."""
    count = min(len(a), len(b))
    if not count or a.shape[1] != b.shape[1]:
        return 0
    differ = np.flatnonzero((a[:count] != b[:count]).any(axis=1))
    return int(differ[0]) if differ.size else count


def _diff_lists(title: str, a: list[bytes], b: list[bytes]) -> list[Json]:
    longer = [{"table": title, "what": f"{len(a)} rows became {len(b)}"}] if len(a) != len(b) else []
    rows = [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    examples = [f"row {i}: {in_words(a[i])} became {in_words(b[i])}" for i in rows[:1]]
    return longer + _rows_differ(title, min(len(a), len(b)), rows, ["text"], examples)


def _array_text(values: Any) -> str:
    return np.array2string(np.asarray(values), separator=", ", max_line_width=200, threshold=8)


def lines(differences: list[Json]) -> list[str]:
    """The differences as text, one line each, with a few examples."""
    out = []
    for item in differences:
        rows = item.get("rows", [])
        shown = ", ".join(map(str, rows[:_MOST_ROWS])) + (" ..." if len(rows) > _MOST_ROWS else "")
        named = "; ".join(filter(None, [shown, ", ".join(item.get("fields", []))]))
        where = f" (rows {named})" if rows else ""
        out.append(f"{item['table']}: {item['what']}{where}")
        out += [f"    {example}" for example in item.get("examples", [])]
    return out


class Field(NamedTuple):
    """The bytes of a field, which are compared, and its text."""

    raw: bytes
    text: str


class Record(NamedTuple):
    """A record to compare.

    Attributes:
        name: what it is matched by; unequal names are different records.
        fields: by name.
    """

    title: str
    name: str
    fields: dict[str, Field]


def diff_files(a: Path, b: Path, entry: str | None = None) -> list[Json]:
    """Differences of two files, or of an entry of both. Raises ConversionError: one cannot be read, is not of a kind
    that is compared, or they are of two kinds. ``entry``: of archives, the entry's name or directory index.
    """
    one, other = (_read(path, entry) for path in (a, b))
    if one is None and other is None:
        return diff_models(*(read_msh(path, entry) for path in (a, b)))
    if type(one) is not type(other):
        raise ConversionError("is not of the kind of the other file", file=str(b), hint="compare two of one kind")
    return _DIFFS[type(one)](one, other)


def _read(path: Path, entry: str | None) -> Controller | Registry | Unit | Mission | None:
    """What a file is; ``None``: neither of these, so that it should be a model."""
    if (found := controller_at(path, entry)) is not None:
        return found[0]
    return read_assembly(path) if entry is None else None


def diff_controllers(a: Controller, b: Controller) -> list[Json]:
    """Differences of two controllers; as of :func:`kinds.differences.diff_models`."""
    return [
        *_diff("header", *([Record("", "", _words(one.header[0]))] for one in (a, b))),
        *_diff(STATES, *([_state(one, row) for row in range(len(one.states))] for one in (a, b))),
        *_diff(CHANNELS, *(_rows(one.channels) for one in (a, b))),
        *_diff(PARTS, *([_part(one, row) for row in range(len(one.parts))] for one in (a, b))),
        *_diff("events", *([Record("", "", {"groups": _array(one.events)})] for one in (a, b))),
        *(
            difference
            for row in range(max(len(a.groups), len(b.groups)))
            for difference in _diff(f"{GROUPS}, group {row}", *(_rows(_group(one, row)) for one in (a, b)))
        ),
    ]


def _group(controller: Controller, row: int) -> Records:
    return controller.groups[row] if row < len(controller.groups) else np.zeros(0, ACTION_DTYPE)


def _state(controller: Controller, row: int) -> Record:
    contacts = {f"contact {i}": _whole(one) for i, one in enumerate(controller.contacts[row])}
    costs = {f"cost from {i}": _array(np.asarray(cost)) for i, cost in enumerate(controller.costs[row])}
    return Record("", str(row), {**_words(controller.states[row]), **contacts, **costs})


def _part(controller: Controller, row: int) -> Record:
    fields = _words(controller.parts[row])
    fields |= {"channels": _array(controller.part_channels[row]), "label": _text(controller.labels[row])}
    return Record(controller.part_name(row), str(row), fields)


def diff_missions(a: Mission, b: Mission) -> list[Json]:
    """Differences of two missions; as of :func:`kinds.differences.diff_models`."""
    return [
        *_diff("mission", [_mission(a)], [_mission(b)]),
        *_diff(ROUTES, [_route(r) for r in a.routes], [_route(r) for r in b.routes]),
        *_diff("clans", [_clan(c) for c in a.clans], [_clan(c) for c in b.clans]),
        *_diff(OBJECTS, [_object(o) for o in a.objects], [_object(o) for o in b.objects]),
        *_diff(LODES, _rows(a.lodes), _rows(b.lodes)),
    ]


def diff_units(a: Unit, b: Unit) -> list[Json]:
    """Differences of two units; as of :func:`kinds.differences.diff_models`."""
    heads = [[Record("", "", {"type": _number(unit.type)})] for unit in (a, b)]
    rows = [[_component(unit, row) for row in range(len(unit))] for unit in (a, b)]
    return [*_diff("unit", *heads), *_diff(COMPONENTS, *rows)]


def diff_registries(a: Registry, b: Registry) -> list[Json]:
    """Differences of two registries; as of :func:`kinds.differences.diff_models`."""
    return _diff("keys", *([_key(one, row) for row in range(len(one.rows))] for one in (a, b)))


_DIFFS: dict[type, Callable[[Any, Any], list[Json]]] = {
    Controller: diff_controllers,
    Mission: diff_missions,
    Unit: diff_units,
    Registry: diff_registries,
}


def _mission(mission: Mission) -> Record:
    numbers = {
        name: _number(getattr(mission, name))
        for name in ("version", "clan_version", "object_version", "lode_version", "word")
    }
    texts = {"map path": _text(mission.map_path), "description": _text(mission.description)}
    return Record("", "", numbers | texts)


def _route(route: Route) -> Record:
    points = {f"point {i}": _array(point) for i, point in enumerate(route.points)}
    return Record(f"route {route.id}", str(route.id), {"id": _number(route.id), **points})


def _clan(clan: Clan) -> Record:
    fields = {
        "name": _text(clan.name),
        **_words(clan.record),
        "script": _text(clan.script),
        "zone groups": _array(np.array(clan.zone_counts, np.int64)),
        **{f"zone {i}": _whole(zone) for i, zone in enumerate(clan.zones)},
        "behaviour tree": _text(clan.tree),
        "minds": _number(clan.minds),
        **{f"relation to {printable(decode_text(to))}": _number(number) for to, number in clan.relations},
    }
    return Record(clan.title, clan.title, fields)


def _object(placed: PlacedObject) -> Record:
    fields = {"path": _text(placed.path), "name": _text(placed.name), **_words(placed.record)}
    for i, each in enumerate(placed.properties):
        words = np.array([each.type, each.value, each.minimum, each.maximum], np.uint32)
        raw = words.tobytes() + each.name
        fields[f"property {i} ({each.title})"] = Field(raw, f"{each.title} = {each.number}")
    number = placed.logical_id
    title = placed.title or placed.reference
    return Record(title, f"{placed.reference.lower()}\n{number}", fields)


def _component(unit: Unit, row: int) -> Record:
    fields = _words(unit.records[row])
    for name in ("archive", "key", "label"):
        fields[name] = _text(unit.records[name][row].tobytes())
    return Record(unit.key(row), f"{unit.key(row).lower()}\n{unit.attach(row)}", fields)


def _key(registry: Registry, row: int) -> Record:
    entry = registry.archive.entries[row]
    fields = {"type": Field(entry.type_id.to_bytes(4, "little"), entry.type_text)}
    for i, (record, member) in enumerate(zip(registry.rows[row], registry.members(row), strict=True)):
        fields[f"row {i}"] = Field(record.tobytes(), str(member))
    fields["tail"] = Field(registry.tails[row], f"{len(registry.tails[row])} bytes")
    return Record(entry.name, entry.name.lower(), fields)


def _rows(records: Records) -> list[Record]:
    return [Record("", str(row), _words(record)) for row, record in enumerate(records)]


def _words(record: np.void) -> dict[str, Field]:
    names = record.dtype.names or ()
    return {name: _array(np.asarray(record[name])) for name in names}


def _number(number: int) -> Field:
    return Field(str(number).encode(), str(number))


def _array(values: NDArray[Any]) -> Field:
    return Field(values.tobytes(), _array_text(values))


def _whole(record: np.void) -> Field:
    return Field(record.tobytes(), str(record))


def _text(raw: bytes) -> Field:
    shown = decode_text(raw.partition(b"\0")[0])
    return Field(raw, in_words(shown))


def _diff(table: str, a: Sequence[Record], b: Sequence[Record]) -> list[Json]:
    matcher = SequenceMatcher(None, _contents(a), _contents(b), autojunk=False)
    gone: list[int] = []
    new: list[int] = []
    pairs: list[tuple[int, int]] = []
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            continue
        left, right = list(range(i1, i2)), list(range(j1, j2))
        pairs += _take_pairs(left, right, a, b)
        if len(left) == len(right):  # renamed in place
            pairs += zip(left, right, strict=True)
        else:
            gone += left
            new += right
    pairs += _take_pairs(gone, new, a, b)  # those that moved to another place of the table
    out = [_changed(table, i, j, a[i], b[j]) for i, j in pairs]
    out += [_only(table, i, a[i], "is only in the first") for i in gone]
    out += [_only(table, j, b[j], "is only in the second") for j in new]
    return sorted(out, key=lambda item: item["rows"])


def _contents(records: Sequence[Record]) -> list[tuple[tuple[str, bytes], ...]]:
    """What is equal in equal records."""
    return [tuple((n, field.raw) for n, field in record.fields.items()) for record in records]


def _take_pairs(left: list[int], right: list[int], a: Sequence[Record], b: Sequence[Record]) -> list[tuple[int, int]]:
    """Rows of one name on both sides, in order; they are taken out of the lists."""
    waiting: dict[str, list[int]] = {}
    for j in right:
        waiting.setdefault(b[j].name, []).append(j)
    pairs = [(i, waiting[a[i].name].pop(0)) for i in left if waiting.get(a[i].name)]
    taken_left, taken_right = {i for i, _ in pairs}, {j for _, j in pairs}
    left[:] = [i for i in left if i not in taken_left]
    right[:] = [j for j in right if j not in taken_right]
    return pairs


def _changed(table: str, i: int, j: int, a: Record, b: Record) -> Json:
    nothing = Field(b"", "nothing")
    names = [name for name in dict.fromkeys([*a.fields, *b.fields]) if a.fields.get(name) != b.fields.get(name)]
    examples = []
    for name in names:
        one, other = a.fields.get(name, nothing), b.fields.get(name, nothing)
        same = one.text == other.text
        became = "has the same text, other bytes" if same else f"{one.text} became {other.text}"
        examples.append(f"{name}{' ' if same else ': '}{became}")
    moved = "" if i == j else f", now row {j}"
    what = f"{_name(a)}differs{moved}" if names else f"{_name(a)}is row {j} now"
    return {"table": table, "what": what, "rows": [i], "fields": names, "examples": examples}


def _only(table: str, row: int, record: Record, what: str) -> Json:
    text = f"{_name(record)}{what}"
    return {"table": table, "what": text, "rows": [row], "fields": [], "examples": []}


def _name(record: Record) -> str:
    return f"{in_words(record.title)} " if record.title else ""
