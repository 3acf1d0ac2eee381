"""Findings, and the invariants of a core model that conversion rests on.

Sources: core page, section 7; animation page, section 9. Conversion stops at the first finding
whose rule (``converter.checks.rules``) is an error. What conversion does not need is in
``converter.checks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import printable
from ..findings import Finding, more, without_errors
from ..formats.model import MshModel, largest_indices
from ..formats.tables import GROUP_COUNT, LOD_COUNT, SLOT_DTYPE, TABLES, Presence, StreamType
from ..numeric.arrays import NONE16, max_uses
from ..numeric.pose import parents_first


def require_sound(model: MshModel) -> list[Finding]:
    """The model's findings, none of them an error.

    Raises:
        ConversionError: the first error finding.
    """
    return without_errors(check_model(model), model.archive.label, entry_of(model))


def entry_of(model: MshModel) -> str | None:
    """What messages call the entry that a model was read from."""
    return None if model.entry is None else printable(model.entry)


def check_model(model: MshModel) -> list[Finding]:
    """Every finding about a model, in the order of its tables.

    Where ranges are reached so often that looking at them would take long, only that is said.
    """
    entries = [*_check_entries(model)]
    if too_often := [*_check_reuse(model)]:
        return entries + too_often
    return [
        *entries,
        *_check_vertices(model),
        *_check_nodes(model),
        *_check_slots(model),
        *_check_batches(model),
        *_check_triangles(model),
        *_check_animation(model),
        *_check_strings(model),
    ]


def _beyond(words: NDArray[np.uint16], rows: int) -> NDArray[np.bool_]:
    """Which indices, ``0xFFFF`` aside, are none of ``rows`` rows."""
    return np.asarray(words + np.uint16(1) > rows)  # 0xFFFF becomes 0


def _largest(words: NDArray[np.uint16]) -> NDArray[np.int64]:
    """The largest index of every row, ``0xFFFF`` aside. (n, k) -> (n,)."""
    known = np.where(words == NONE16, -1, words.astype(np.int64))
    return np.asarray(known.max(1, initial=-1))


def findings_at(
    model: MshModel,
    stream: StreamType,
    bad: NDArray[np.bool_] | np.bool_,
    code: str,
    problem: str,
    value: Any,
    expected: Any,
    field: str | None = None,
) -> Iterator[Finding]:
    """A finding for the first bad row of a table, saying how many there are.

    ``value`` and ``expected`` are one for all rows, an array with one per row, or a function that
    makes the array when there is something to say.
    """
    if not np.count_nonzero(bad):
        return
    rows = np.flatnonzero(bad)
    row = int(rows[0])
    within = 0
    if field is not None:
        dtype = SLOT_DTYPE if stream is StreamType.SLOTS else TABLES[stream].dtype
        within = dtype.fields[field][1] if dtype is not None and dtype.fields else 0
    yield Finding(
        code,
        more(problem, rows.size),
        TABLES[stream].label,
        row,
        model.offset_of(stream, row, within),
        _of_row(value, row),
        _of_row(expected, row),
        rows,
        rows.size,
    )


def _of_row(values: Any, row: int) -> Any:
    if callable(values):
        values = values()
    if not isinstance(values, np.ndarray):
        return values
    return values[row].tolist() if values.ndim > 1 else values[row]


def _check_entries(model: MshModel) -> Iterator[Finding]:
    """Attributes and duplicates in the directory (core page, 7.1)."""
    seen: set[int] = set()
    for row, entry in enumerate(model.archive.entries):
        spec = TABLES.get(entry.type_id)
        if spec is None:
            name = printable(entry.name)
            yield Finding(
                "entry-unknown",
                f"entry {name} of unknown type is kept",
                "NRes directory",
                row,
                None,
                entry.type_id,
            )
        elif entry.type_id in seen:
            yield Finding(
                "entry-twice",
                f"second {spec.label}; the first one counts",
                "NRes directory",
                row,
            )
        elif entry.attr3 != spec.attr3 and not (model.legacy and spec.stream is StreamType.NODES):
            yield Finding(
                "entry-attr3",
                f"attr3 of {spec.label} is unusual",
                "NRes directory",
                row,
                None,
                entry.attr3,
                spec.attr3,
            )
        seen.add(entry.type_id)
    for spec in TABLES.values():
        if spec.presence is Presence.USUAL and spec.stream not in seen:
            yield Finding("table-missing", f"model has no {spec.label}", spec.label)


def _check_reuse(model: MshModel) -> Iterator[Finding]:
    """Work is bounded by the file's size (see ``tables.MAX_USES``)."""
    slots, batches = model.slots, model.batches
    corners = batches["index_count"].astype(np.int64)
    start, count = slots["batch_start"].astype(np.int64), slots["batch_count"].astype(np.int64)
    reached = [
        (StreamType.BATCHES, "slots reach batches", int(count.sum()), len(batches)),
        (StreamType.INDICES, "batches reach indices", int(corners.sum()), len(model.indices)),
    ]
    shown = np.empty(0, np.int64) if model.legacy else model.nodes["slot_index"][:, 0, 0]
    # no slot or node can reach more than that: most models are done here
    bound = max(int(count.sum()), len(shown) * int(count.max(initial=0)))
    if bound * int(corners.max(initial=0)) > max_uses(len(model.indices)):
        before = np.concatenate([[0], np.cumsum(corners)])
        ends = np.minimum(start + count, len(batches))
        of_slot = before[ends] - before[np.minimum(start, ends)]
        of_node = of_slot[shown[shown < len(slots)]]
        reached += [
            (StreamType.INDICES, "slots reach indices", int(of_slot.sum()), len(model.indices)),
            (StreamType.INDICES, "nodes reach indices", int(of_node.sum()), len(model.indices)),
        ]
    if not model.legacy:
        first = model.nodes["map_start"].astype(np.int64)
        mapped = (first != NONE16) & (first + model.frame_count <= len(model.frame_map))
        moved = int(np.count_nonzero(mapped)) * model.frame_count
        reached.append((StreamType.FRAME_MAP, "nodes reach frames", moved, len(model.frame_map)))
    for stream, what, number, rows in reached:
        if number > max_uses(rows):
            label, most = TABLES[stream].label, max_uses(rows)
            problem = f"{what} too often"
            yield Finding("model-reuse", problem, label, value=number, expected=f"at most {most}")
            return


def _check_vertices(model: MshModel) -> Iterator[Finding]:
    count = len(model.positions)
    finite = np.isfinite(model.positions)
    yield from findings_at(
        model,
        StreamType.POSITIONS,
        np.False_ if np.count_nonzero(finite) == finite.size else ~finite.all(1),
        "vertex-finite",
        "position is not a finite number",
        "inf or NaN",
        "finite",
    )
    for stream, table in model.streams.items():
        spec = TABLES[stream]
        if spec.per_vertex and len(table) != count:
            yield Finding(
                "vertex-count" if len(table) < count else "vertex-extra",
                "not one record per vertex",
                spec.label,
                None,
                model.offset_of(spec.stream),
                len(table),
                count,
            )


def _check_nodes(model: MshModel) -> Iterator[Finding]:
    if model.legacy:
        yield Finding(
            "node-legacy",
            "nodes have the legacy stride of 24 bytes: no hierarchy, poses or LODs are "
            "known, all batches are shown in one node",
            TABLES[1].label,
        )
        return
    nodes, count = model.nodes, len(model.nodes)
    parent = nodes["parent"]
    bad = _beyond(parent, count)
    yield from findings_at(
        model,
        StreamType.NODES,
        bad,
        "node-parent",
        "parent is no node",
        parent,
        f"below {count}",
        "parent",
    )
    if not np.count_nonzero(bad):
        above = parents_first(model.parents)
        looping = np.False_ if len(above) == count else ~np.isin(np.arange(count), above)
        yield from findings_at(
            model,
            StreamType.NODES,
            looping,
            "node-cycle",
            "parents form a cycle",
            parent,
            "a root above",
            "parent",
        )
    slot = nodes["slot_index"].reshape(count, LOD_COUNT * GROUP_COUNT)
    yield from findings_at(
        model,
        StreamType.NODES,
        _beyond(slot, len(model.slots)).any(1),
        "node-slot",
        "slot index is no slot",
        lambda: _largest(slot),
        f"below {len(model.slots)}",
        "slot_index",
    )


def _check_slots(model: MshModel) -> Iterator[Finding]:
    slots, batches = model.slots, len(model.batches)
    end = slots["batch_start"].astype(np.int64) + slots["batch_count"]
    yield from findings_at(
        model,
        StreamType.SLOTS,
        end > batches,
        "slot-batches",
        "slot's batches run past the table",
        end,
        f"at most {batches}",
        "batch_start",
    )
    if model.triangles is not None:
        end = slots["tri_start"].astype(np.int64) + slots["tri_count"]
        yield from findings_at(
            model,
            StreamType.SLOTS,
            end > len(model.triangles),
            "slot-triangles",
            "slot's triangles run past the table",
            end,
            f"at most {len(model.triangles)}",
            "tri_start",
        )


def _check_batches(model: MshModel) -> Iterator[Finding]:
    batches, total = model.batches, len(model.indices)
    start = batches["index_start"].astype(np.int64)
    end = start + batches["index_count"]
    yield from findings_at(
        model,
        StreamType.BATCHES,
        end > total,
        "batch-indices",
        "batch's indices run past the table",
        end,
        f"at most {total}",
        "index_start",
    )
    if np.count_nonzero(end > total):
        return
    largest = batches["base_vertex"].astype(np.int64) + largest_indices(model)
    bad = largest >= len(model.positions)
    if np.count_nonzero(bad):
        bad &= batches["index_count"] > 0
    yield from findings_at(
        model,
        StreamType.BATCHES,
        bad,
        "batch-vertices",
        "batch reaches a vertex past the table",
        largest,
        f"below {len(model.positions)}",
        "base_vertex",
    )
    yield from findings_at(
        model,
        StreamType.BATCHES,
        batches["index_count"] % np.uint16(3) != 0,
        "batch-triangles",
        "index count is no multiple of 3; the rest is not shown",
        batches["index_count"],
        "a multiple of 3",
        "index_count",
    )


def _check_triangles(model: MshModel) -> Iterator[Finding]:
    if model.triangles is None:
        return
    link = model.triangles["link"]
    bad = _beyond(link, len(link))
    yield from findings_at(
        model,
        StreamType.TRIANGLES,
        bad.any(1) if np.count_nonzero(bad) else np.False_,
        "triangle-link",
        "neighbour is no triangle",
        lambda: _largest(link),
        f"below {len(link)}",
        "link",
    )


def check_links(model: MshModel) -> Iterator[Finding]:
    """Links are mutual, and selectors name the shared edge (``rebuild`` page)."""
    if model.triangles is None or not len(model.triangles):
        return
    link = model.triangles["link"].astype(np.int64)
    linked = link != NONE16
    selectors = model.triangles["selectors"].astype(np.int64)
    edge = np.stack([selectors >> 2 * k & 3 for k in range(3)], axis=1)
    inside = linked & (link < len(link)) & (edge < 3)
    back = link[np.where(inside, link, 0), np.where(inside, edge, 0)]
    bad = linked & ~(inside & (back == np.arange(len(link))[:, None]))
    yield from findings_at(
        model,
        StreamType.TRIANGLES,
        bad.any(axis=1),
        "triangle-mutual",
        "neighbour does not link back across the edge that the selector names",
        np.where(linked, link, -1).max(1, initial=-1),
        "mutual links",
        "link",
    )
    window = largest_indices(model) + (model.batches["index_count"] > 0)
    yield from findings_at(
        model,
        StreamType.BATCHES,
        model.batches["window"] != window & 0xFFFF,
        "batch-window",
        "window is not the largest index + 1",
        model.batches["window"],
        window,
        "window",
    )


def _check_animation(model: MshModel) -> Iterator[Finding]:
    """Keys and maps (animation page, 9)."""
    if model.legacy or model.keys is None or not len(model.keys):
        return
    keys, nodes = model.keys, model.nodes
    finite = np.isfinite(keys["position"]).all(1) & np.isfinite(keys["time"])
    yield from findings_at(
        model,
        StreamType.KEYS,
        ~finite,
        "key-finite",
        "key holds a number that is not finite",
        "inf or NaN",
        "finite",
    )
    fallback = nodes["fallback_key"].astype(np.int64)
    yield from findings_at(
        model,
        StreamType.NODES,
        fallback >= len(keys),
        "node-fallback",
        "fallback key is no key",
        fallback,
        f"below {len(keys)}",
        "fallback_key",
    )
    start = nodes["map_start"].astype(np.int64)
    end = np.where(start == NONE16, 0, start + model.frame_count)
    words = len(model.frame_map)
    yield from findings_at(
        model,
        StreamType.NODES,
        end > words,
        "node-map",
        f"map of {model.frame_count} frames runs past the table",
        end,
        f"at most {words}",
        "map_start",
    )
    yield from findings_at(
        model,
        StreamType.KEYS,
        ~keys["quaternion"].any(1),
        "key-zero",
        "all-zero quaternion, read as identity",
        "0, 0, 0, 0",
        "unit length",
        "quaternion",
    )


def _check_strings(model: MshModel) -> Iterator[Finding]:
    if model.strings is None:
        return
    records, tail = model.strings.records, model.strings.tail
    if len(records) < len(model.nodes):
        length = int.from_bytes(tail[:4], "little")
        yield Finding(
            "string-run",
            "string runs past the table",
            TABLES[10].label,
            len(records),
            model.offset_of(StreamType.STRINGS, 0, sum(4 + len(record) for record in records)),
            f"length {length}" if len(tail) >= 4 else "no length word",
            f"at most {max(0, len(tail) - 5)} bytes of {len(tail)} left",
            np.arange(len(records), len(model.nodes)),
        )
    elif tail:
        yield Finding(
            "string-tail",
            "bytes behind the last string are kept",
            TABLES[10].label,
            None,
            None,
            f"{len(model.strings.tail)} bytes",
            "none",
        )
