"""The triangles of a core model (Res7): links, selectors, normals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, about_table, first_bad
from ..formats.model import MshModel, StreamType
from ..numeric.adjacency import NO_EDGE
from ..numeric.arrays import NONE16, Bools, Floats, Ints, Records, beyond, cross_products, largest_known, ranges
from .places import in_table

_rule = partial(Rule, "core model", source="docs/reference/model.md#res7-triangle-descriptors")

#: How far a packed normal's length may be from 1, and the least cosine to the real one.
_LENGTH, _ALONG = 1e-2, 0.99


def check_descriptors(model: MshModel) -> Iterator[Finding]:
    """Yield descriptors that do not fit the indices, and unusual selectors and normals."""
    if model.triangles is not None:
        yield from _count(model, model.triangles)
        yield from _selectors(model, model.triangles)
        yield from _lengths(model, model.triangles)


TRIANGLE_COUNT = _rule(
    "triangle-count",
    "warning",
    "There is one descriptor per index triple.",
    why="Descriptor i belongs to indices 3i..3i+2: hits report the wrong triangle.",
    fix="Convert to glTF and back without the sidecar.",
)


def _count(model: MshModel, triangles: Records) -> Iterator[Finding]:
    if 3 * len(triangles) != len(model.indices):
        yield about_table(
            TRIANGLE_COUNT,
            "not one descriptor per index triple",
            in_table(model, StreamType.TRIANGLES),
            len(triangles),
            f"{len(model.indices) / 3:g}",
        )


TRIANGLE_LINK = _rule(
    "triangle-link",
    "error",
    "A neighbour is a triangle, or 0xFFFF.",
    why="Collision would read past the descriptors.",
    fix="Set it to 0xFFFF, or rebuild the part.",
    drops="the link: the edge has no neighbour",
)


def check_triangles(model: MshModel) -> Iterator[Finding]:
    """Yield triangles whose neighbours do not exist."""
    if model.triangles is None:
        return
    link = model.triangles["link"]
    bad = beyond(link, len(link))
    yield from first_bad(
        TRIANGLE_LINK,
        bad.any(1) if np.count_nonzero(bad) else np.False_,
        "neighbour is not a triangle",
        in_table(model, StreamType.TRIANGLES, "link"),
        lambda row: largest_known(link[row]),
        f"below {len(link)}",
    )


TRIANGLE_MUTUAL = _rule(
    "triangle-mutual",
    "warning",
    "A neighbour links back across the edge that the selector names.",
    source="docs/reference/model.md#neighbours",
    why="Walks over the surface go astray.",
    fix="Convert to glTF, touch the part and convert back.",
)


def check_links(model: MshModel) -> Iterator[Finding]:
    """Yield triangles whose neighbours do not link back across the shared edge."""
    if model.triangles is None or not len(model.triangles):
        return
    stored = model.triangles["link"]
    link = stored.astype(np.int64)
    linked = link != NONE16
    selectors = model.triangles["selectors"].astype(np.int64)
    edge = np.stack([selectors >> 2 * k & 3 for k in range(3)], axis=1)
    inside = linked & (link < len(link)) & (edge < 3)
    back = link[np.where(inside, link, 0), np.where(inside, edge, 0)]
    bad = linked & ~(inside & (back == np.arange(len(link))[:, None]))
    yield from first_bad(
        TRIANGLE_MUTUAL,
        bad.any(axis=1),
        "neighbour does not link back across the edge that the selector names",
        in_table(model, StreamType.TRIANGLES, "link"),
        lambda row: largest_known(stored[row]),
        "mutual links",
    )


TRIANGLE_SELECTOR = _rule(
    "triangle-selector",
    "warning",
    "An edge selector is 3 exactly where there is no neighbour.",
    source="docs/reference/model.md#neighbours",
    why="Walks over the surface go astray.",
    fix="Convert to glTF, touch the part and convert back.",
)


def _selectors(model: MshModel, triangles: Records) -> Iterator[Finding]:
    edge = triangles["selectors"][:, None] >> np.array([0, 2, 4]) & 3
    bad = ((triangles["link"] == NONE16) != (edge == NO_EDGE)).any(axis=1)
    yield from first_bad(
        TRIANGLE_SELECTOR,
        bad,
        "edge selector does not fit its link",
        in_table(model, StreamType.TRIANGLES, "selectors"),
        edge,
        "3 exactly where there is no neighbour",
    )


TRIANGLE_UNIT = _rule(
    "triangle-unit",
    "warning",
    "Descriptor normals are unit vectors.",
    why="The hit test uses the stored normal.",
    fix="Convert to glTF, touch the part and convert back.",
)


def _lengths(model: MshModel, triangles: Records) -> Iterator[Finding]:
    length = np.sqrt((triangles["normal"].astype(np.float64) ** 2).sum(axis=1)) / 32767
    yield from first_bad(
        TRIANGLE_UNIT,
        np.abs(length - 1) > _LENGTH,
        "normal is not of unit length",
        in_table(model, StreamType.TRIANGLES, "normal"),
        length,
        "1",
    )


def check_normals(model: MshModel) -> Iterator[Finding]:
    """Yield descriptor and vertex normals that do not agree with the winding."""
    batches = model.batches
    whole = (batches["index_count"] % 3 == 0) & (batches["index_start"] % 3 == 0)
    start, length = (batches[k][whole].astype(np.int64) for k in ("index_start", "index_count"))
    at = ranges(start, length)
    base = np.repeat(batches["base_vertex"][whole].astype(np.int64), length)
    vertex = (model.indices[at] + base).reshape(-1, 3)
    if not len(vertex):
        return
    points = model.positions[vertex].astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        side = cross_products(points)
        size = np.linalg.norm(side, axis=1)
        real = size > 1e-6 * np.square(np.abs(points - points[:, :1]).max(axis=(1, 2)))
        side = side / size[:, None]
    if model.triangles is not None and len(model.triangles):
        yield from _normals(model, model.triangles, at[::3] // 3, side, real)
    if model.normals is not None and real.any():
        mean = model.normals[vertex, :3].astype(np.float64).sum(axis=1)
        yield from _winding(model, (mean * side).sum(axis=1)[real] < 0)


TRIANGLE_NORMAL = _rule(
    "triangle-normal",
    "note",
    "Descriptor normals point along the winding.",
    why="The hit test uses the stored normal (8 of the game's triangles differ).",
    fix="Convert to glTF, touch the part and convert back.",
)


def _normals(model: MshModel, triangles: Records, row: Ints, side: Floats, real: Bools) -> Iterator[Finding]:
    inside = real & (row < len(triangles))
    normal = triangles["normal"][row[inside]].astype(np.float64)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1)[:, None]
    bad = np.zeros(len(triangles), np.bool_)
    bad[row[inside]] = (normal * side[inside]).sum(axis=1) < _ALONG
    yield from first_bad(
        TRIANGLE_NORMAL,
        bad,
        "normal does not point along the winding",
        in_table(model, StreamType.TRIANGLES, "normal"),
        triangles["normal"],
    )


TRIANGLE_WINDING = _rule(
    "triangle-winding",
    "note",
    "Winding agrees with the vertex normals.",
    source="docs/reference/conventions.md#axes",
    why="The model may be inside out (one of the game's is).",
    fix="Flip the faces, or the normals.",
)


def _winding(model: MshModel, against: Bools) -> Iterator[Finding]:
    wrong = int(against.sum())
    if 2 * wrong > len(against):
        yield about_table(
            TRIANGLE_WINDING,
            "winding does not agree with the vertex normals",
            in_table(model, StreamType.INDICES),
            f"{wrong} of {len(against)} triangles",
            "few",
        )
