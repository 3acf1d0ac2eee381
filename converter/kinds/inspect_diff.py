"""Two models compared entry by entry, table by table, row by row, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import plural, printable
from ..formats.model import TABLES, MshModel, StreamType

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
        names = f"{printable(ea.name)!r} became {printable(eb.name)!r}"
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
    raw_a, raw_b = (
        np.ascontiguousarray(t).view(np.uint8).reshape(len(t), t.dtype.itemsize * t[0].size)
        if len(t)
        else np.zeros((0, 1), np.uint8)
        for t in (a, b)
    )
    if len(a) != len(b):
        head = _equal_rows(raw_a, raw_b)
        tail = _equal_rows(raw_a[head:][::-1], raw_b[head:][::-1])
        middle = f"rows {head}..{len(a) - tail - 1}" if head + tail < len(a) else "no row"
        now = f"rows {head}..{len(b) - tail - 1}" if head + tail < len(b) else "nothing"
        what = f"{len(a)} rows became {len(b)}: {middle} became {now}"
        what += f", {tail} rows after them only moved" if tail else ""
        return [{"table": title, "what": what}]
    out: list[Json] = []
    count = len(a)
    rows = np.flatnonzero((raw_a != raw_b).any(axis=1)) if count else np.zeros(0, np.int64)
    if not rows.size:
        return out
    names = a.dtype.names or ("",)
    fields = []
    examples = []
    for name in names:
        x, y = (a[rows], b[rows]) if not name else (a[name][rows], b[name][rows])
        same = (
            np.ascontiguousarray(x).view(np.uint8).reshape(len(rows), -1)
            == np.ascontiguousarray(y).view(np.uint8).reshape(len(rows), -1)
        ).all(axis=1)
        if not same.all():
            fields.append(name or "value")
            first = int(np.argmin(same))
            examples.append(
                f"row {rows[first]}{' ' + name if name else ''}: {_text(x[first])} became {_text(y[first])}"
            )
    out.append(
        {
            "table": title,
            "what": f"{len(rows)} of {count} rows differ",
            "rows": rows.tolist(),
            "fields": fields,
            "examples": examples,
        }
    )
    return out


def _equal_rows(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> int:
    """How many rows two tables have in common at the start."""
    count = min(len(a), len(b))
    if not count or a.shape[1] != b.shape[1]:
        return 0
    differ = np.flatnonzero((a[:count] != b[:count]).any(axis=1))
    return int(differ[0]) if differ.size else count


def _diff_lists(title: str, a: list[bytes], b: list[bytes]) -> list[Json]:
    out: list[Json] = []
    if len(a) != len(b):
        out.append({"table": title, "what": f"{len(a)} rows became {len(b)}"})
    rows = [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    if rows:
        first = rows[0]
        out.append(
            {
                "table": title,
                "what": f"{len(rows)} of {min(len(a), len(b))} rows differ",
                "rows": rows,
                "fields": ["text"],
                "examples": [f"row {first}: {a[first]!r} became {b[first]!r}"],
            }
        )
    return out


def _text(value: Any) -> str:
    return np.array2string(np.asarray(value), separator=", ", max_line_width=200, threshold=8)


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
