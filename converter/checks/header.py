"""The header of a core model: box, sphere and cylinder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule
from ..formats.model import MshModel
from ..formats.tables import HEADER_DTYPE, StreamType, field_offset
from ..numeric.bounds import hull
from ..rebuild.geometry import bounding_header
from ..scene.dialect import Decision, Dialect, posed_at_rest

_rule = partial(
    Rule,
    "core model",
    source="docs/reference/model.md#the-header",
    fix="Convert to glTF and back after a change: the header is computed.",
)

#: How far geometry may stick out of the header's box, as in ``dialect.decide``.
_BOX = 0.05
#: How far sphere and cylinder may be off, over the diagonal of the box.
_ROUND = 1e-3


def check_header(model: MshModel, decision: Decision) -> Iterator[Finding]:
    """Yield the findings about the header's bounds, which depend on the dialect."""
    findings = [*_finite(model)]
    yield from findings
    if not findings:
        yield from _corners(model)
        yield from _flat(model, decision.dialect)
        yield from _sphere(model, decision.dialect)
        yield from _cylinder(model)
        yield from _box(model, decision)


def _found(model: MshModel, rule: Rule, problem: str, value: object, expected: object, field: str = "hull") -> Finding:
    """A finding about a field of the header."""
    within = field_offset(HEADER_DTYPE, field) - HEADER_DTYPE.itemsize  # it lies before the slots
    offset = model.offset_of(StreamType.SLOTS, 0, within)
    return Finding(rule, problem, model.label_of(StreamType.SLOTS), None, offset, value, expected)


def _room(model: MshModel) -> float:
    corners = model.header[0]["hull"]
    return _ROUND * (1e-3 + float(np.linalg.norm(corners.max(axis=0) - corners.min(axis=0))))


HEADER_FINITE = _rule(
    "header-finite",
    "warning",
    "The header's box, sphere and cylinder are finite numbers, radii not negative.",
    why="The model is culled or hit at random.",
)


def _finite(model: MshModel) -> Iterator[Finding]:
    header = model.header[0]
    floats = np.frombuffer(model.header.tobytes(), "<f4")
    radii = np.array([header["sphere_radius"], header["cylinder_radius"]])
    infinite = floats[~np.isfinite(floats)]
    if infinite.size or (radii < 0).any():
        value = infinite[0] if infinite.size else radii[0]
        yield _found(model, HEADER_FINITE, "header has no valid bounds", value, "finite")


HEADER_CORNERS = _rule(
    "header-corners",
    "warning",
    "The header's corners are a box in the stated order.",
    why="The bottom ring is used as a footprint.",
)


def _corners(model: MshModel) -> Iterator[Finding]:
    corners = model.header[0]["hull"]
    if not np.array_equal(corners, hull(corners.min(axis=0), corners.max(axis=0))):
        yield _found(
            model,
            HEADER_CORNERS,
            "header's corners are not a box in the usual order",
            corners[0].tolist(),
            corners.min(axis=0).tolist(),
        )


HEADER_FLAT = _rule(
    "header-flat",
    "warning",
    "The header's box is not flat, nor its sphere a point.",
    why="The model is culled while it is in view, and cannot be hit.",
)


def _flat(model: MshModel, dialect: Dialect) -> Iterator[Finding]:
    """A flat box or no radius round geometry that has a size."""
    points = posed_at_rest(model).get(dialect)
    if points is None or not len(points):
        return
    header, extent = model.header[0], np.ptp(points, axis=0)
    thick = np.ptp(header["hull"].astype(np.float64), axis=0)
    least = _ROUND * float(extent.max())
    if ((extent > least) & (thick == 0)).any():
        yield _found(model, HEADER_FLAT, "header's box is flat, the geometry is not", thick.tolist(), extent.tolist())
    if extent.max() > 0 and header["sphere_radius"] == 0:
        problem = "header's sphere has no size"
        yield _found(model, HEADER_FLAT, problem, 0, "a radius", "sphere_radius")


HEADER_BOX = _rule(
    "header-box",
    "note",
    "The header's box fits the geometry at rest.",
    why="The model is culled too early or too late; the dialect cannot be read off it.",
)


def _box(model: MshModel, decision: Decision) -> Iterator[Finding]:
    errors = decision.box_error
    if errors and min(errors.values()) > _BOX:
        yield _found(
            model,
            HEADER_BOX,
            "header's box does not fit the geometry at rest",
            f"off by {min(errors.values()):.2g} of its diagonal",
            f"at most {_BOX}",
        )


HEADER_SPHERE = _rule(
    "header-sphere", "note", "The header's sphere contains the geometry at rest.", why="It is the collision radius."
)


def _sphere(model: MshModel, dialect: Dialect) -> Iterator[Finding]:
    header = model.header[0]
    points = posed_at_rest(model).get(dialect)
    if points is None:
        return
    center, radius = header["sphere_center"].astype(np.float64), float(header["sphere_radius"])
    needed = float(np.linalg.norm(points - center, axis=1).max())
    if not needed <= radius + _room(model):
        yield _found(
            model,
            HEADER_SPHERE,
            "header's sphere does not contain the geometry at rest",
            radius,
            f"{needed:g}",
            "sphere_center",
        )


HEADER_CYLINDER = _rule(
    "header-cylinder",
    "note",
    "The header's cylinder encloses its box along the axis of the smallest volume.",
    why="Collision is looser or tighter than the box.",
)


def _cylinder(model: MshModel) -> Iterator[Finding]:
    header, room = model.header[0], _room(model)
    wanted = bounding_header(header["hull"].astype(np.float64))[0]
    for field in ("cylinder_a", "cylinder_b", "cylinder_radius"):
        if not (np.abs(header[field].astype(np.float64) - wanted[field]) <= room).all():
            yield _found(
                model,
                HEADER_CYLINDER,
                "header's cylinder is not the one around its box",
                header[field].tolist(),
                wanted[field].tolist(),
                "cylinder_a",
            )
            return
