"""The checks of a core model, in their order."""

from __future__ import annotations

import numpy as np

from ..errors import printable
from ..findings import Finding, without_errors
from ..formats.model import MshModel
from ..numeric.arrays import MAX_USES, ranges
from ..scene.dialect import Decision
from .animation import check_animation, check_keys
from .batches import check_batches, check_tiling, check_window_ends, check_windows
from .directory import check_attributes, check_entries
from .graph import check_graph
from .header import check_header
from .names import check_names, check_string_ends, check_strings
from .nodes import check_nodes, check_nodes_further
from .slots import check_bounds, check_reuse, check_slots, check_slots_further, check_unused_slots
from .triangles import check_descriptors, check_links, check_normals, check_triangles
from .vertices import check_vertex_tables, check_vertex_use


def require_valid(model: MshModel) -> list[Finding]:
    """Return the model's findings, none of them an error.

    Raises:
        ConversionError: the first error finding.
    """
    return without_errors(check_model(model), model.archive.label, entry_name(model))


def entry_name(model: MshModel) -> str | None:
    """Return what messages call the entry that a model was read from."""
    return None if model.entry is None else printable(model.entry)


def check_model(model: MshModel) -> list[Finding]:
    """Return the findings about what conversion relies on, in the order of the tables.

    Where rows are used so often that looking at them would take long, only that is reported.
    """
    findings = [*model.cut, *check_entries(model), *(reuse := [*check_reuse(model)])]
    if reuse:
        return findings
    return [
        *findings,
        *check_vertex_tables(model),
        *check_nodes(model),
        *check_slots(model),
        *check_batches(model),
        *check_triangles(model),
        *check_keys(model),
        *check_strings(model),
    ]


def check_model_further(model: MshModel, decision: Decision) -> list[Finding]:
    """Return the findings about what conversion does not need.

    Args:
        model: a model about which :func:`check_model` finds no error.
        decision: its dialect (``dialect.decide``), which the header's bounds depend on.
    """
    return [
        *check_attributes(model),
        *check_nodes_further(model),
        *check_unused_slots(model),
        *check_string_ends(model),
        *check_names(model),
        *check_graph(model),
        *check_header(model, decision),
        *check_animation(model),
        *check_geometry(model),
    ]


def check_geometry(model: MshModel) -> list[Finding]:
    """Return the further findings about slots, batches, triangles and vertices."""
    findings = [
        *check_slots_further(model),
        *check_tiling(model),
        *check_window_ends(model),
        *check_descriptors(model),
        *check_links(model),
        *check_windows(model),
    ]
    if _bounded(model):
        findings += [*check_bounds(model), *check_vertex_use(model), *check_normals(model)]
    return findings


def _bounded(model: MshModel) -> bool:
    """Whether ranges are used so seldom that what they cover is not much larger than the file."""
    batches, slots = model.batches, model.slots
    rows = int(slots["batch_count"].astype(np.int64).sum())
    if rows > MAX_USES * (len(batches) + 1):
        return False
    at = ranges(slots["batch_start"].astype(np.int64), slots["batch_count"].astype(np.int64))
    indices = batches["index_count"].astype(np.int64)
    most = MAX_USES * (len(model.indices) + 1)
    return int(indices.sum()) <= most and int(indices[at].sum()) <= most
