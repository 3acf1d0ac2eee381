"""Find the vertices of new terrain faces among the stored ones, and make those that are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..edits.terrain import TERRAIN_NORMAL_DEGREES
from ..edits.triangles import TriangleList, normals_apart
from ..formats.terrain import TerrainStream
from ..numeric.arrays import row_ids
from ..numeric.quantize import decode_normals, encode_normals, normalise

I64 = NDArray[np.int64]
_T = TerrainStream

#: One vertex as stored, all streams side by side.
VERTEX_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),
        ("normal", "i1", (4,)),
        ("uv0", "<i2", (2,)),
        ("micro_uv", "<i2", (2,)),
        ("blend", "<f4"),
    ]
)
assert VERTEX_DTYPE.itemsize == 28
#: The table of each field of ``VERTEX_DTYPE``.
STREAMS = {"position": _T.POSITIONS, "normal": _T.NORMALS, "uv0": _T.UV0, "micro_uv": _T.MICRO_UV, "blend": _T.BLEND}


def vertex_means(vertex: I64, values: NDArray[np.float32], count: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the mean of the values that corners give a vertex, and which vertices have any.

    Args:
        vertex: (n,) vertex of each corner.
        values: (n, k).
        count: V, the number of vertices.

    Returns:
        (V, k), and (V,) bool.
    """
    total = np.zeros((count, values.shape[-1]))
    np.add.at(total, vertex, values.astype(np.float64))
    number = np.bincount(vertex, minlength=count)
    return (total / np.maximum(number, 1)[:, None]).astype(np.float32), number > 0


def micro_uv_words(extra: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Return stored microtexture coordinates. (..., 4) bytes -> (..., 2) int16."""
    return np.ascontiguousarray(extra).view("<i2")


def find_vertices(vertices: NDArray[np.void], usable: I64, triangles: TriangleList, fresh: I64) -> I64:
    """Return the vertex that equals each corner of some triangles in every stream, -1 = none.

    Normals may differ by what editors round.

    Args:
        vertices: (V,) ``VERTEX_DTYPE``.
        usable: rows of ``vertices`` to choose from.
        triangles: the file's.
        fresh: (n,) which of them.

    Returns:
        (3n,) rows of ``vertices``.
    """
    columns = [(triangles.positions[fresh] + np.float32(0)).view(np.int32)]
    pool = vertices[usable]
    pool_columns = [(np.ascontiguousarray(pool["position"]) + np.float32(0)).view(np.int32)]
    if triangles.uv0 is not None:
        columns.append(triangles.uv0[fresh].astype(np.int32))
        pool_columns.append(pool["uv0"].astype(np.int32))
    if triangles.extra is not None:
        columns.append(micro_uv_words(triangles.extra[fresh]).astype(np.int32))
        pool_columns.append(pool["micro_uv"].astype(np.int32))
    stacked = np.concatenate(columns, axis=-1)
    corner = stacked.reshape(3 * len(fresh), stacked.shape[-1])
    both = np.concatenate([np.concatenate(pool_columns, axis=-1), corner]).astype(np.int64)
    ids = row_ids(both.view(np.uint64))
    home, wanted = ids[: len(usable)], ids[len(usable) :]
    normals = None if triangles.normals is None else triangles.normals[fresh].reshape(-1, 3)
    first_row = _first_near(home, wanted, normals, pool["normal"])
    return np.where(first_row >= 0, usable[first_row], -1) if len(usable) else first_row


def _first_near(home: I64, wanted: I64, normals: NDArray[np.float32] | None, stored: NDArray[np.int8]) -> I64:
    """Per wanted id the first row of that id whose normal is near; -1 = none.

    Several rows may have one id.
    """
    order = np.argsort(home, kind="stable")
    low = np.searchsorted(home[order], wanted, "left")
    high = np.searchsorted(home[order], wanted, "right")
    out = np.full(len(wanted), -1, np.int64)
    for step in range(int((high - low).max(initial=0))):
        open_ = np.flatnonzero((out < 0) & (low + step < high))
        row = order[low[open_] + step]
        if normals is None:
            fits = np.ones(len(open_), np.bool_)
        else:
            held = decode_normals(stored[row])
            fits = ~normals_apart(normals[open_], held, TERRAIN_NORMAL_DEGREES)
        out[open_[fits]] = row[fits]
    return out


def new_vertices(triangles: TriangleList, triangle: I64, corner: I64) -> NDArray[np.void]:
    """Return the stored form of corners; their blend is 1.

    Args:
        triangles: the file's.
        triangle, corner: (n,) which corners of which triangles.

    Returns:
        (n,) ``VERTEX_DTYPE``.
    """
    out = np.zeros(len(triangle), VERTEX_DTYPE)
    out["position"] = triangles.positions[triangle, corner]
    if triangles.normals is not None:
        unit = normalise(triangles.normals[triangle, corner], (0, 0, 1))
        out["normal"][:, :3] = encode_normals(unit)
    if triangles.uv0 is not None:
        out["uv0"] = triangles.uv0[triangle, corner]
    if triangles.extra is not None:
        out["micro_uv"] = micro_uv_words(triangles.extra[triangle, corner])
    out["blend"] = 1.0
    return out
