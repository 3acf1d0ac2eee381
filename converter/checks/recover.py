"""Tolerant reading: a view of a broken model in which what is broken locally is left out.

What users see of it: docs/checks.md#converting-a-broken-file. What is left out for a finding is in
its rule (:attr:`~converter.findings.Rule.drops`); rows keep their numbers, and the stored tables
are never changed. The same bytes always give the same view, so the import compares with what was
shown. Those of terrains and areal maps are beside their checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from ..errors import ConversionError
from ..findings import Finding, Mode, Rule, without_errors
from ..formats.model import TABLE_STRIDE, MshModel, StreamType, StringTable, largest_indices
from ..formats.tables import KEY_DTYPE, TableFile
from ..numeric.arrays import F32, I64, NONE16, Bools, Records, beyond, covered, fill_non_finite, ranges
from ..numeric.surfaces import NO_EDGE
from ..scene.scene import in_range
from .animation import key_finite, node_fallback, node_map
from .model import check_model, entry_name, node_cycle, node_parent, node_slot, vertex_count, vertex_finite
from .model_bounds import slot_batches, slot_triangles
from .model_tables import batch_indices, batch_vertices, string_run, triangle_link

BATCH_OVERLAP = Rule(
    "core model",
    "batch-overlap",
    "error",
    "Batches whose triangles a tolerant reader leaves out use the indices at most 8 times.",
    source="docs/checks.md#converting-a-broken-file",
    why="What is left of each batch is laid out again: a small file would become a huge one.",
    fix="Correct the batches' vertices first.",
)
STILL_BROKEN = Rule(
    "core model",
    "still-broken",
    "error",
    "Where what is broken is left out, nothing is broken; of terrains and areal maps too.",
    source="docs/checks.md#converting-a-broken-file",
    why="Too much depends on what is broken to show the rest.",
    fix="Fix what is named first.",
)
T = TypeVar("T")
F = TypeVar("F", bound=TableFile)
Steps = Mapping[Rule, Callable[[T, Finding], T]]

#: Tables that broken rows point into, and vertices of batches that are not shown.
_POINTS_INTO = {
    node_slot.rule: {StreamType.SLOTS},
    slot_batches.rule: {StreamType.BATCHES},
    slot_triangles.rule: {StreamType.TRIANGLES},
    batch_indices.rule: {StreamType.INDICES, StreamType.POSITIONS},
    batch_vertices.rule: {StreamType.POSITIONS},
    node_map.rule: {StreamType.FRAME_MAP},
    node_fallback.rule: {StreamType.KEYS},
}
#: How often the batches of triangles that are left out may use the indices: no table of a real
#: model uses them twice, and what overlaps a thousand times is not laid out.
_OVERLAP = 8


def checked_model(model: MshModel, mode: Mode) -> tuple[MshModel, list[Finding]]:
    """A model that can be decoded (``tolerant``: a view without what is broken locally), and what was found.

    Raises ConversionError: the first finding that is refused.
    """
    if mode == "tolerant":
        return leave_out(model)
    return model, without_errors(check_model(model), model.archive.label, entry_name(model), mode)


def leave_out(model: MshModel) -> tuple[MshModel, list[Finding]]:
    """A view of a model, which shares all valid tables and passes ``check_model`` without errors, and the findings
    about the model, whose errors are what the view leaves out. Raises ConversionError: one that concerns more than a
    part.
    """
    return without_broken(model, check_model, STEPS, model.archive.label, entry_name(model))


def without_broken(
    content: T, check: Callable[[T], list[Finding]], steps: Steps[T], file: str, entry: str | None = None
) -> tuple[T, list[Finding]]:
    """Leave out what errors concern until there are none: some hide others.

    Args:
        steps: by rule, in the order in which to take them: a copy without what a finding concerns.

    Returns:
        The copy, and all findings of the first check, and errors that the others added.

    Raises ConversionError: an error that no step takes away.
    """
    findings = check(content)
    reported = list(findings)
    for _ in steps:
        errors = [finding for finding in findings if finding.severity == "error"]
        if not errors:
            return content, reported
        without_errors(errors, file, entry, "tolerant")
        for rule, step in steps.items():
            for finding in errors:
                if finding.rule == rule:
                    content = step(content, finding)
        findings = check(content)
        reported += [finding for finding in findings if finding.severity == "error"]
    for finding in findings:
        if finding.severity == "error":  # no step could take it away
            value = f"{finding.code}: {finding}"
            problem = "something is broken still"
            raise Finding(STILL_BROKEN, problem, value=value).to_error().at(file=file, entry=entry)
    return content, reported


def refuse_edit(changes: Sequence[object], sidecar: str) -> ConversionError:
    """The error where :func:`put_back` cannot keep what is broken apart from what was edited (decision 0021)."""
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return ConversionError(
        "it was converted with --tolerant, and the edit meets tables that are broken",
        file=sidecar,
        value=f"{changes[0]}{more}",
        hint="fix the source first (msh-inspect --check says how) and convert it again, or "
        "rebuild what a model's file shows with --no-sidecar",
    )


def put_back(edited: MshModel, model: MshModel) -> MshModel | None:
    """An edited view, made of ``leave_out(model)``, with the broken tables of the stored model, byte for byte.

    ``None`` where the edit changes a broken table, or one that broken rows point into: they could come to point to
    something.
    """
    if model.cut or model.archive.trailing:
        return None  # bytes that no table has would be lost
    view, findings = leave_out(model)
    stored, shown, made = model.streams, view.streams, edited.streams
    broken = {key for key, table in stored.items() if table is not shown[key]}
    rules = {finding.rule for finding in findings if finding.severity == "error"}
    apart = broken.union(*(_POINTS_INTO[rule] for rule in rules & _POINTS_INTO.keys()))
    strings = model.strings is not view.strings
    if (
        any(made[key].tobytes() != shown[key].tobytes() for key in apart)
        or edited.frame_count != view.frame_count
        or (strings and edited.strings != view.strings)
    ):
        return None
    tables = made | {key: stored[key] for key in broken}
    result = replace(edited, streams=tables, strings=model.strings if strings else edited.strings)
    return result if _errors(leave_out(result)[1]) == _errors(findings) else None


def _errors(findings: list[Finding]) -> list[tuple[str, list[int]]]:
    """What is left out, to compare."""
    errors = [finding for finding in findings if finding.severity == "error"]
    return [(finding.code, rows_of(finding).tolist()) for finding in errors]


def rows_of(finding: Finding) -> I64:
    """The rows that a finding concerns."""
    assert finding.rows is not None, f"{finding.code} names no rows"
    return finding.rows


# ------------------------------------------------------------------ any table


def setting(stream: int, value: int, *fields: str) -> Callable[[F, Finding], F]:
    """Return a step that sets fields of the rows that a finding concerns."""

    def step(file: F, finding: Finding) -> F:
        table = cast(Records, file.streams[stream].copy())
        for field in fields:
            table[field][rows_of(finding)] = value
        return file.with_table(stream, table)

    return step


def without_links(stream: int) -> Callable[[F, Finding], F]:
    """Return a step that takes away links to triangles or faces that do not exist."""

    def step(file: F, finding: Finding) -> F:
        table = cast(Records, file.streams[stream].copy())
        wrong = beyond(table["link"], len(table))
        table["link"][wrong] = NONE16
        edges = (wrong * (NO_EDGE << 2 * np.arange(3))).sum(axis=1)
        table["selectors"] |= edges.astype(table["selectors"].dtype)
        return file.with_table(stream, table)

    return step


# ------------------------------------------------------------------ nodes


def _no_cycle(model: MshModel, finding: Finding) -> MshModel:
    """The lowest node of each cycle becomes a root: parents come first in files of the game."""
    nodes = model.nodes.copy()
    parents = model.parents
    seen: dict[int, int] = {}  # node -> the walk that met it first
    for walk in rows_of(finding).tolist():
        node, path = walk, []
        while node != NONE16 and node not in seen:
            seen[node] = walk
            path.append(node)
            node = parents[node]
        if node != NONE16 and seen[node] == walk:
            nodes["parent"][min(path[path.index(node) :])] = NONE16
    return model.with_table(StreamType.NODES, nodes)


def _no_slot_index(model: MshModel, finding: Finding) -> MshModel:
    nodes = model.nodes.copy()
    cells = nodes["slot_index"]
    cells[cells >= len(model.slots)] = NONE16
    return model.with_table(StreamType.NODES, nodes)


def _no_strings(model: MshModel, finding: Finding) -> MshModel:
    assert model.strings is not None
    records = [*model.strings.records, *[b""] * len(rows_of(finding))]
    return replace(model, strings=StringTable(records))


# ------------------------------------------------------------------ geometry


def whole_streams(file: F, finding: Finding) -> F:
    """Vertex streams with one record per vertex: zeros where they are short, normals up."""
    count = len(file.streams[StreamType.POSITIONS])
    for stream, table in file.streams.items():
        if file.SPECS[stream].per_vertex and len(table) != count:
            more = np.zeros((max(0, count - len(table)), *table.shape[1:]), table.dtype)
            if stream == StreamType.NORMALS:
                more[:, 2] = np.iinfo(np.int8).max
            file = file.with_table(stream, np.concatenate([table[:count], more]))
    return file


def filled(positions: F32) -> F32:
    """Return positions, those that are not in range replaced by the one before. (n, 3)."""
    return fill_non_finite(np.where(in_range(positions)[:, None], positions, np.float32("nan")))


def _no_far_triangles(model: MshModel, finding: Finding) -> MshModel:
    touched = np.zeros(len(model.batches), np.bool_)
    touched[rows_of(finding)] = True
    return _without_triangles(model, finding, touched, len(model.positions))


def _no_vertex(model: MshModel, finding: Finding) -> MshModel:
    """No triangle shows the vertices, which are filled: bounds and buffers are of finite ones."""
    bad = np.zeros(len(model.positions) + 1, np.bool_)  # what is past the table is not judged
    bad[rows_of(finding)] = True
    before = np.concatenate([[0], np.cumsum(bad)])
    count = model.batches["index_count"]
    low = model.batches["base_vertex"].astype(np.int64)
    high = np.minimum(low + np.where(count > 0, largest_indices(model) + 1, 0), len(bad))
    touched = before[high] > before[np.minimum(low, len(bad))]
    model = _without_triangles(model, finding, touched, bad)
    return model.with_table(StreamType.POSITIONS, filled(model.positions))


def _without_triangles(model: MshModel, finding: Finding, touched: Bools, bad: Bools | int) -> MshModel:
    """Without the triangles of some batches that reach a bad vertex.

    What is left of their batches lies after the indices of all others; words that nobody uses any
    more become 0.

    Args:
        model: batches inside their tables.
        finding: what they are left out for.
        touched: (B,) the batches.
        bad: (V + 1,) by vertex, the last one for all past the table; or the first bad vertex.

    Raises ConversionError: they overlap so much that what is left would be many times the table.
    """
    batches, indices = model.batches.copy(), model.indices
    start, count, base = (batches[name].astype(np.int64) for name in ("index_start", "index_count", "base_vertex"))
    rows, whole = np.flatnonzero(touched), (count - count % 3)[touched]
    if int(whole.sum()) > _OVERLAP * len(indices):
        most = _OVERLAP * len(indices)
        raise (
            Finding(
                BATCH_OVERLAP,
                "batches overlap too much to leave out their triangles",
                finding.table,
                finding.row,
                finding.offset,
                int(whole.sum()),
                f"at most {most} indices",
            )
            .to_error()
            .at(file=model.archive.label, entry=entry_name(model))
        )
    words = indices[ranges(start[rows], whole)]
    corner = words + np.repeat(base[rows], whole)
    wrong = corner >= bad if isinstance(bad, int) else bad[np.minimum(corner, len(bad) - 1)]
    keep = np.repeat(~wrong.reshape(-1, 3).any(axis=1), 3)
    kept = np.bincount(np.repeat(np.arange(len(rows)), whole)[keep], minlength=len(rows))
    new = indices.copy()
    unused = covered(start[touched], count[touched], len(new))
    new[unused & ~covered(start[~touched], count[~touched], len(new))] = 0
    batches["index_start"][rows] = len(new) + np.cumsum(kept) - kept
    batches["index_count"][rows] = kept
    batches["base_vertex"][rows[kept == 0]] = 0
    model = model.with_table(StreamType.INDICES, np.concatenate([new, words[keep]]))
    return model.with_table(StreamType.BATCHES, batches)


# ------------------------------------------------------------------ animation


def _no_keys(model: MshModel, finding: Finding) -> MshModel:
    """The nodes stand still at a key after all others: all zero, which is read as identity."""
    nodes, keys = model.nodes.copy(), model.keys
    assert keys is not None
    nodes["map_start"][rows_of(finding)] = NONE16
    nodes["fallback_key"][rows_of(finding)] = len(keys)
    model = model.with_table(StreamType.KEYS, np.concatenate([keys, np.zeros(1, KEY_DTYPE)]))
    return model.with_table(StreamType.NODES, nodes)


def _no_key(model: MshModel, finding: Finding) -> MshModel:
    """Broken keys become all zero, and nodes that move with one stand still."""
    assert model.keys is not None
    nodes, keys = model.nodes.copy(), model.keys.copy()
    keys[rows_of(finding)] = np.zeros(1, KEY_DTYPE)
    bad = np.zeros(len(keys) + 1, np.bool_)
    bad[rows_of(finding)] = True
    before = np.concatenate([[0], np.cumsum(bad)])
    starts, lasts = (nodes[name].tolist() for name in ("map_start", "fallback_key"))
    for node, (start, last) in enumerate(zip(starts, lasts, strict=True)):
        first = lasts[node - 1] + 1 if node else 0  # of the node's own run
        words = model.frame_map[start : start + model.frame_count].astype(np.int64)
        words = words[words < last]
        moves_with = before[last + 1] - before[min(first, last)] > 0
        if start != NONE16 and (moves_with or bad[words].any() or bad[words + 1].any()):
            nodes["map_start"][node] = NONE16
    return model.with_table(StreamType.KEYS, keys).with_table(StreamType.NODES, nodes)


#: What is left out, by the rule of the finding; ranges before what lies in them.
STEPS: Steps[MshModel] = {
    TABLE_STRIDE: lambda model, finding: replace(model, cut=[]),
    vertex_count.rule: whole_streams,
    string_run.rule: _no_strings,
    node_parent.rule: setting(StreamType.NODES, NONE16, "parent"),
    node_cycle.rule: _no_cycle,
    node_slot.rule: _no_slot_index,
    slot_batches.rule: setting(StreamType.SLOTS, 0, "batch_start", "batch_count"),
    slot_triangles.rule: setting(StreamType.SLOTS, 0, "tri_start", "tri_count"),
    batch_indices.rule: setting(StreamType.BATCHES, 0, "index_start", "index_count", "base_vertex"),
    batch_vertices.rule: _no_far_triangles,
    vertex_finite.rule: _no_vertex,
    triangle_link.rule: without_links(StreamType.TRIANGLES),
    node_map.rule: setting(StreamType.NODES, NONE16, "map_start"),
    node_fallback.rule: _no_keys,
    key_finite.rule: _no_key,
}
