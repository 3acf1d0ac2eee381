"""Rebuild a model from a plan of changes; what did not change keeps its stored bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..edits.compare_poses import clip_length_changed
from ..edits.identify_nodes import Identified
from ..edits.match_triangles import triangle_list
from ..edits.plan import PartPlan, Plan
from ..errors import ConversionError
from ..formats.archive import Archive, Entry, name_field
from ..formats.model import MshModel, PathGraph, StringTable
from ..formats.tables import (
    GRAPH_LINK_DTYPE,
    GRAPH_POINT_DTYPE,
    HEADER_DTYPE,
    NODE_DTYPE,
    SLOT_DTYPE,
    TABLES,
    StreamType,
)
from ..numeric.arrays import NONE16
from ..scene import dialect as dialects
from ..scene.dialect import Dialect
from ..scene.scene import Scene
from .context import Rebuild, RebuildOptions, Rebuilt
from .geometry import too_many
from .header import posed_header
from .names import renumber, write_names
from .node_edits import node_edits
from .nodes import NodeEdit, build_nodes, node_order
from .parts import rebuild_parts
from .report import report_rows
from .workspace import Workspace

_PLAIN = (1, 2, 3, 4, 5, 15, 13, 6, 7, 8, 19, 9, 10, 17)
_WITH_EXTRA = (1, 2, 3, 4, 5, 18, 15, 13, 6, 7, 8, 19, 9, 10, 17, 20)


def new_model(identified: Identified, name: str, dialect: Dialect, options: RebuildOptions) -> Rebuilt:
    """Build a model of a scene that has no stored one.

    Raises:
        ConversionError: a limit of the format.
    """
    scene, lightmap = identified.scene, dialect is Dialect.RETAIL
    extra = (scene.streams.uv1 if lightmap else scene.streams.colours) is not None
    plan = Plan(identified, poses=set(range(len(scene.nodes))))
    plan.parts = [
        PartPlan(part, None, triangle_list(scene, part, lightmap=lightmap))
        for part in sorted(scene.parts, key=lambda p: (p.node, p.lod, p.group))
    ]
    job = Rebuild(plan, None, dialect, options, Rebuilt(_blank_model(name, extra=extra)))
    return _rebuild(job, Workspace.empty(extra=extra))


def edited_model(plan: Plan, model: MshModel, *, stored: Scene, dialect: Dialect, options: RebuildOptions) -> Rebuilt:
    """Rebuild the stored model with a plan's changes; everything else stays byte for byte.

    Args:
        plan: from ``compare_model``; has changes.
        model: the stored model; a copy of it is changed.
        stored: the stored model's scene.
        dialect: the stored model's.
        options: how to rebuild.

    Raises:
        ConversionError: a legacy model, or a limit of the format.
    """
    if model.legacy:
        raise ConversionError(
            "the model has legacy nodes (stride 24), which cannot be edited",
            hint="their format is not known; without edits the stored file comes back",
        )
    edited = replace(model, streams=dict(model.streams))
    edited.archive = replace(model.archive, entries=list(model.archive.entries))
    return _rebuild(Rebuild(plan, stored, dialect, options, Rebuilt(edited)), Workspace.of(model))


def _rebuild(job: Rebuild, space: Workspace) -> Rebuilt:
    plan, model, out = job.plan, job.model, job.out
    cells = rebuild_parts(job, space)
    space.into(model)
    edits = node_edits(job, cells)
    order = node_order(edits)
    out.rows = {i: row for row, i in enumerate(order)}
    posed = bool(plan.poses or plan.parents or plan.deleted_nodes)
    posed |= len(order) != len(model.nodes)
    retimed = job.stored is not None and clip_length_changed(job.scene, job.stored)
    if posed or retimed or any(edit.old is None for edit in edits):
        _write_nodes(job, edits, order)
    else:
        model.nodes = model.nodes.copy()
        for row, i in enumerate(order):
            model.nodes["slot_index"][row], model.nodes["flags"][row] = (edits[i].cells, edits[i].flags)
    write_names(job, edits, order)
    renumber(job, edits, order)
    drawn = any(not p.unchanged or _moves_shown(p) for p in plan.parts)
    drawn |= bool(plan.deleted_parts)
    if drawn or posed or job.stored is None:
        model.header = posed_header(model, job.dialect)
    _require_limits(model)
    out.statuses = report_rows(plan, job.stored)
    return out


def _moves_shown(part: PartPlan) -> bool:
    """Whether a part came into or left the cell that the header's box is made of."""
    if part.source is None:
        return False
    left = None if part.copied else part.source[1:]
    return (0, 0) in ((part.part.lod, part.part.group), left)


def _write_nodes(job: Rebuild, edits: list[NodeEdit], order: list[int]) -> None:
    model = job.model
    stored = model if job.stored is not None else None
    length = job.scene.frame_count if job.scene.tracks else None
    tables = build_nodes(edits, order, stored, key_order=dialects.key_order(job.dialect), length=length)
    model.nodes = tables.nodes
    model.streams[StreamType.KEYS] = tables.keys
    model.streams[StreamType.FRAME_MAP] = tables.frame_map
    _set_attr2(model, StreamType.FRAME_MAP, tables.frame_count)


def _require_limits(model: MshModel) -> None:
    """Refuse tables that outgrow their 16-bit row numbers."""
    for title, value in (
        ("triangles", len(model.indices) // 3),
        ("batches", len(model.batches)),
        ("slots", len(model.slots)),
        ("nodes", len(model.nodes)),
    ):
        if value > NONE16:
            raise too_many(title, value)


def _blank_model(name: str, *, extra: bool) -> MshModel:
    """An empty model with the entries of a new one, in the order of the game's files."""
    entries = [
        Entry(
            number,
            0,
            0,
            TABLES[number].attr3,
            name_field(f"Res{number}".encode()),
            data_offset=0,
            sort_index=0,
            payload=b"",
        )
        for number in (_WITH_EXTRA if extra else _PLAIN)
    ]
    # data_offset, sort_index and total_size are settled when it is written
    model = MshModel(
        name,
        Archive(name, entries=entries),
        np.zeros(1, HEADER_DTYPE),
        {StreamType.NODES: np.zeros(0, NODE_DTYPE), StreamType.SLOTS: np.zeros(0, SLOT_DTYPE)},
        strings=StringTable([]),
        graph=PathGraph(np.zeros(0, GRAPH_POINT_DTYPE), np.zeros(0, GRAPH_LINK_DTYPE)),
        table20=b"" if extra else None,
    )
    _set_attr2(model, StreamType.FRAME_MAP, 1)
    return model


def _set_attr2(model: MshModel, stream: StreamType, value: int) -> None:
    entries = model.archive.entries
    for i, entry in enumerate(entries):
        if entry.type_id == stream:
            entries[i] = replace(entry, attr2=value)
            return
