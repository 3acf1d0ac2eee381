"""The strings (Res10) and names (Res9) of a core model's nodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..errors import plural
from ..findings import Finding, Place, Rule, first_bad
from ..formats.model import TABLES, MshModel, StreamType, StringTable
from ..formats.tables import NAME_DTYPE
from .places import in_table

_rule = partial(Rule, "core model", source="docs/reference/model.md#res10-strings")

_STRINGS, _NAMES = TABLES[StreamType.STRINGS].label, TABLES[StreamType.NAMES].label


def check_strings(model: MshModel) -> Iterator[Finding]:
    """Yield strings that are missing, and bytes after the last one."""
    if model.strings is not None:
        if len(model.strings.records) < len(model.nodes):
            yield from _missing(model, model.strings)
        else:
            yield from _tail(model.strings)


STRING_RUN = _rule(
    "string-run",
    "error",
    "Every string of Res10 lies inside the table.",
    why="The runtime would read past the table.",
    fix="The table was cut: take it from a backup.",
    drops="the string and those after it",
)


def _missing(model: MshModel, strings: StringTable) -> Iterator[Finding]:
    records, tail = strings.records, strings.tail
    length = int.from_bytes(tail[:4], "little")
    yield Finding(
        STRING_RUN,
        "string runs past the table",
        table=_STRINGS,
        row=len(records),
        offset=model.offset_of(StreamType.STRINGS, 0, sum(4 + len(record) for record in records)),
        value=f"length {length}" if len(tail) >= 4 else "no length word",
        expected=f"at most {max(0, len(tail) - 5)} bytes of {len(tail)} left",
        rows=np.arange(len(records), len(model.nodes)),
    )


STRING_NUL = _rule(
    "string-nul",
    "warning",
    "A string of Res10 ends with a NUL.",
    why="The runtime would read on into the next record.",
    fix="Convert to glTF, rename the node and convert back.",
)


def check_string_ends(model: MshModel) -> Iterator[Finding]:
    """Yield strings that do not end with a NUL."""
    if model.strings is None:
        return
    records = model.strings.records
    start = model.offset_of(StreamType.STRINGS) or 0
    place = Place(_STRINGS, lambda row: start + 4 + sum(4 + len(record) for record in records[:row]))
    bad = np.array([bool(record) and record[-1] != 0 for record in records], np.bool_)
    yield from first_bad(
        STRING_NUL, bad, "string has no NUL at its end", place, lambda row: f"{records[row][-1]:#04x}", "0"
    )


STRING_TAIL = _rule(
    "string-tail",
    "warning",
    "Res10 holds one record per node and nothing after them.",
    why="The rest is never read; perhaps nodes are missing.",
    fix="Nothing to do; it is kept.",
)


def _tail(strings: StringTable) -> Iterator[Finding]:
    if strings.tail:
        problem, value = "bytes after the last string are kept", plural(len(strings.tail), "byte")
        yield Finding(STRING_TAIL, problem, _STRINGS, value=value, expected="none")


NAME_STRIDE = _rule(
    "name-stride",
    "warning",
    "Res9 holds names of 32 bytes.",
    source="docs/reference/model.md#res9-names",
    why="The names cannot be read; the table is kept.",
    fix="Take it from a backup.",
)
NAME_COUNT = _rule(
    "name-count",
    "warning",
    "Res9 holds one name per node.",
    source="docs/reference/model.md#res9-names",
    why="Names belong to the wrong nodes, or nodes have none.",
    fix="Convert to glTF and back without the sidecar.",
)
NAME_NUL = _rule(
    "name-nul",
    "warning",
    "A name of Res9 ends with a NUL inside its 32 bytes.",
    source="docs/reference/model.md#res9-names",
    why="It would run into the next one.",
    fix="Give the node a name of at most 31 bytes.",
)


def check_names(model: MshModel) -> Iterator[Finding]:
    """Yield a table of names that cannot be read, or does not fit the nodes."""
    entry = model.archive.first_of_type(StreamType.NAMES)
    if entry is None:
        return
    names, offset = model.names, entry.data_offset
    if names is None:
        value, expected = plural(entry.size, "byte"), f"a multiple of {NAME_DTYPE.itemsize}"
        yield Finding(NAME_STRIDE, "names cannot be read", _NAMES, None, offset, value, expected)
        return
    if len(names) != len(model.nodes) and not model.legacy:
        problem, count = "not one name per node", len(model.nodes)
        yield Finding(NAME_COUNT, problem, _NAMES, None, offset, len(names), count)
    full = (names["name"] != 0).all(axis=1)
    yield from first_bad(NAME_NUL, full, "name has no NUL", in_table(model, StreamType.NAMES), None, "at most 31 bytes")
