"""Compute the header of a model from its vertices (docs/reference/model.md, The header)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..formats.model import MshModel
from ..formats.tables import HEADER_DTYPE
from ..numeric.bounds import F64, hull, round_down, round_up, sphere_radius
from ..numeric.pose import compose, rotate, rotation
from ..numeric.sampler import sample
from ..scene import dialect as dialects
from ..scene.dialect import Dialect


def bounding_header(points: F64) -> NDArray[np.void]:
    """Return the header of a model from its posed vertices, one ``HEADER_DTYPE`` record.

    The box faces are rounded outward; the cylinder lies along the axis that gives the smallest
    volume (ties: z, then y, then x).

    Args:
        points: (n, 3) float64, model space; none: an all-zero header.
    """
    out = np.zeros(1, HEADER_DTYPE)
    if not len(points):
        return out
    low = np.array([round_down(v) for v in points.min(axis=0)], np.float32)
    high = np.array([round_up(v) for v in points.max(axis=0)], np.float32)
    out["hull"][0] = hull(low, high)
    center = ((low + high) * np.float32(0.5)).astype(np.float32)
    out["sphere_center"], out["sphere_radius"] = center, sphere_radius(center, points)

    size = high.astype(np.float64) - low.astype(np.float64)
    across = [np.delete(size, axis) for axis in range(3)]
    volumes = [float((pair**2).sum() * size[axis]) for axis, pair in enumerate(across)]
    axis = min((2, 1, 0), key=lambda a: volumes[a])
    a, b = center.copy(), center.copy()
    a[axis], b[axis] = low[axis], high[axis]
    out["cylinder_a"], out["cylinder_b"] = a, b
    corners = np.stack([low, high]).astype(np.float64) - center.astype(np.float64)
    extent = np.delete(np.abs(corners).max(axis=0), axis)
    out["cylinder_radius"] = round_up(float(np.sqrt((extent**2).sum())))
    return out


def posed_header(model: MshModel, dialect: Dialect) -> NDArray[np.void]:
    """Return the header of a model: LOD 0, group 0 without cockpits, posed at t = 0."""
    vertices, nodes, counts = dialects.header_vertices(model)
    owner = np.repeat(nodes, counts)
    points = model.positions[vertices].astype(np.float64)
    tracks = dialects.tracks(model, dialect)
    if tracks is None or not len(points):
        return bounding_header(points)
    rest = sample(tracks, np.arange(len(model.nodes)), [0.0])
    world_r, world_t = compose(model.parents, rotation(rest.quaternion[:, 0]), rest.position[:, 0].astype(np.float64))
    return bounding_header(rotate(world_r[owner], points) + world_t[owner])
