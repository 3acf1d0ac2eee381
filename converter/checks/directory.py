"""The directory of a core model: types, attributes, missing tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..errors import printable
from ..findings import Finding, Rule
from ..formats.model import TABLES, MshModel, StreamType
from ..formats.tables import Presence, TableSpec
from .places import DIRECTORY, in_directory

_rule = partial(Rule, "core model", source="docs/reference/model.md#the-tables")

#: Tables whose attr2 has a meaning, or about which nothing is known.
_OTHER_ATTR2 = {1, 9, 17, 19, 20}
#: Tables whose attr1 is not known to be a number of records.
_OTHER_ATTR1 = {9, 17, 20}


TABLE_MISSING = _rule(
    "table-missing",
    "warning",
    "A core model has tables 4, 5, 7 and 10.",
    why="They are usually required; the engine's fallback is not known.",
    fix="Convert to glTF and back without the sidecar: all tables are made.",
)
ENTRY_UNKNOWN = _rule(
    "entry-unknown",
    "note",
    "The directory holds tables of known types.",
    why="Its purpose is not known; it is kept.",
    fix="Nothing to do.",
)
ENTRY_TWICE = _rule(
    "entry-twice",
    "warning",
    "A type occurs once.",
    source="docs/reference/nres.md#a-row-of-the-directory",
    why="The game takes the first; the second is dead weight, or the one that was meant.",
    fix="Remove the one that is not wanted.",
)


def check_entries(model: MshModel) -> Iterator[Finding]:
    """Yield unknown, duplicate and unusual entries, and tables that are usually present."""
    seen: set[int] = set()
    for row, entry in enumerate(model.archive.entries):
        spec = TABLES.get(entry.type_id)
        if spec is None:
            problem = f"entry {printable(entry.name)} of unknown type is kept"
            yield Finding(ENTRY_UNKNOWN, problem, DIRECTORY, row, value=entry.type_id)
        elif entry.type_id in seen:
            problem = f"second {spec.label}; the first one counts"
            yield Finding(ENTRY_TWICE, problem, DIRECTORY, row)
        else:
            yield from _attr3(model, row, spec)
        seen.add(entry.type_id)
    for spec in TABLES.values():
        if spec.presence is Presence.USUAL and spec.stream not in seen:
            yield Finding(TABLE_MISSING, f"model has no {spec.label}", spec.label)


ENTRY_ATTR1 = _rule(
    "entry-attr1",
    "warning",
    "attr1 is the number of records.",
    why="The game may read the count from here instead of from the size.",
    fix="Convert to glTF and back; a rebuilt table gets its attributes.",
)
ENTRY_ATTR2 = _rule(
    "entry-attr2",
    "note",
    "attr2 is 0 where it has no meaning (Res2 to Res7, 8, 10, 13, 15, 16, 18).",
    why="The files of the game have 0.",
    fix="Nothing to do.",
)


def check_attributes(model: MshModel) -> Iterator[Finding]:
    """Yield the entries whose attributes are not those of their tables."""
    counts = {stream: len(table) for stream, table in model.streams.items()}
    counts[StreamType.STRINGS] = len(model.nodes)
    attr1, attr2 = (in_directory(model.archive, field).offset for field in ("attr1", "attr2"))
    seen: set[int] = set()
    for row, entry in enumerate(model.archive.entries):
        spec = TABLES.get(entry.type_id)
        if spec is None or entry.type_id in seen:
            continue
        seen.add(entry.type_id)
        count = counts.get(entry.type_id)
        if entry.type_id not in _OTHER_ATTR1 and count is not None and entry.attr1 != count:
            problem = f"attr1 of {spec.label} is not its count"
            yield Finding(ENTRY_ATTR1, problem, DIRECTORY, row, attr1(row), entry.attr1, count)
        if entry.type_id not in _OTHER_ATTR2 and entry.attr2:
            problem = f"attr2 of {spec.label} is not 0"
            yield Finding(ENTRY_ATTR2, problem, DIRECTORY, row, attr2(row), entry.attr2, 0)


ENTRY_ATTR3 = _rule(
    "entry-attr3",
    "warning",
    "attr3 is the table's stride or its constant (Res8: 4, Res10: 0).",
    why="The game may step through the table with it.",
    fix="Convert to glTF and back; a rebuilt table gets its attributes.",
)


def _attr3(model: MshModel, row: int, spec: TableSpec) -> Iterator[Finding]:
    found = model.archive.entries[row].attr3
    if found != spec.attr3 and not (model.legacy and spec.stream is StreamType.NODES):
        problem = f"attr3 of {spec.label} is unusual"
        yield Finding(ENTRY_ATTR3, problem, DIRECTORY, row, value=found, expected=spec.attr3)
