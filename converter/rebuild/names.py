"""Write the names of nodes, and renumber what names nodes by their row."""

from __future__ import annotations

import numpy as np

from ..errors import ConversionError, plural, printable
from ..formats.archive import decode_text, encode_name
from ..formats.model import PathGraph, StringTable
from ..formats.tables import BATCH_PORTAL, NAME_DTYPE, StreamType
from ..numeric.arrays import NONE16
from ..scene.dialect import Dialect
from .context import Rebuild
from .nodes import NodeEdit


def write_names(job: Rebuild, edits: list[NodeEdit], order: list[int]) -> None:
    """Write Res9 always, and Res10 by dialect (docs/reference/model.md, What the writer does).

    Args:
        job: the rebuild; its model has the new nodes.
        edits: every node.
        order: from ``node_order``.

    Raises:
        ConversionError: a name longer than 31 bytes.
    """
    plan, model, dialect, scene = job.plan, job.model, job.dialect, job.scene
    moved = [edits[i].old for i in order] != list(range(len(model.strings.records) if model.strings else len(order)))
    if job.stored is not None and not plan.names and not plan.labels and not moved:
        return
    res9 = np.zeros(len(order), NAME_DTYPE)
    old9 = model.streams.get(StreamType.NAMES)
    records = []
    for row, i in enumerate(order):
        old, node = edits[i].old, scene.nodes[i]
        raw = encode_name(node.name)
        fresh = old is None or i in plan.names
        if fresh and decode_text(raw) != node.name:
            job.report.warnings.append(f"name of node {printable(node.name)!r} has letters that CP1251 lacks")
        if fresh and len(raw) > 31:
            raise ConversionError(
                f"name of node {printable(node.name)!r} is too long",
                value=plural(len(raw), "byte"),
                expected="at most 31",
            )
        if fresh or old9 is None or old is None or old >= len(old9):
            res9["name"][row, : len(raw[:31])] = np.frombuffer(raw[:31], np.uint8)
        else:
            res9[row] = old9[old]
        text = encode_name(node.label) if dialect is Dialect.RETAIL else raw
        keep = (
            old is not None
            and model.strings is not None
            and i not in (plan.labels if dialect is Dialect.RETAIL else plan.names)
        )
        if keep and model.strings is not None and old is not None:
            records.append(model.strings.records[old])
        else:
            records.append(text + b"\0" if text else b"")
    if old9 is not None or job.stored is None:
        model.streams[StreamType.NAMES] = res9
    if model.strings is not None:
        model.strings = StringTable(records, model.strings.tail)


def renumber(job: Rebuild, edits: list[NodeEdit], order: list[int]) -> None:
    """Let portals and path points follow the nodes that they name.

    These are word +6 of a portal's batch in ``retail``, and Res17 (docs/reference/model.md).
    """
    model = job.model
    new_of = {edits[i].old: row for row, i in enumerate(order) if edits[i].old is not None}
    if all(old == row for old, row in new_of.items()):
        return
    if job.dialect is Dialect.RETAIL:
        batches = model.batches.copy()
        portal = (batches["word0"] & BATCH_PORTAL).astype(bool) & (batches["word6"] != NONE16)
        batches["word6"][portal] = [new_of.get(int(old), NONE16) for old in batches["word6"][portal]]
        model.streams[StreamType.BATCHES] = batches
    if model.graph is not None and len(model.graph.points):
        points = model.graph.points.copy()
        points["node"] = [new_of.get(int(old), 0) for old in points["node"]]
        model.graph = PathGraph(points, model.graph.links)
        tails = model.graph.links["opaque8"]
        if (tails != 0xFFFFFFFF).any():
            job.report.warnings.append("path links have words that may be node numbers; they were kept")
    job.report.warnings.append("nodes were renumbered: check the model's .ndp, .cpt, .dat and .ctl, which name nodes")
