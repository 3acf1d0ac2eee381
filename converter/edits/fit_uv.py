"""Fit texture coordinates into stored words: textures repeat, so whole turns change nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import plural, printable
from ..findings import Report
from ..numeric.quantize import encode_lightmap_uv, encode_uv
from ..scene.scene import Scene
from .plan import PartPlan

F64 = NDArray[np.float64]


def fit_uv(part: PartPlan, scene: Scene, report: Report) -> NDArray[np.int16] | None:
    """Shift the new triangles of a part by whole turns into -32..32, and report what is clamped.

    All by one shift where that is enough, else those that do not fit by one of their own; u and v
    separately. Triangles that match stored ones are not touched.

    Args:
        part: a part that changed; its triangles are changed in place.
        scene: the file's.
        report: of the import.

    Returns:
        The part's texture coordinates where they were shifted, (T, 3, 2).
    """
    triangles = part.triangles
    if triangles is None or part.unchanged:
        return None
    fresh = np.ones(len(triangles), np.bool_) if part.match is None else part.match.old_of < 0
    shifted = None
    if triangles.clamped and triangles.uv0 is not None and scene.streams.uv0 is not None:
        uv = scene.streams.uv0[triangles.vertex[fresh]].astype(np.float64)
        _shift(uv, (0, 1))
        for axis in (0, 1):
            far = ~_fits(uv[..., axis]).all(axis=1)
            turned = uv[far, :, axis]
            uv[far, :, axis] = turned - _turns(turned, 1)
        triangles.uv0[fresh], triangles.clamped = encode_uv(uv)
        shifted = triangles.uv0
        if triangles.clamped:
            _report_clamped(report, part, scene, triangles.clamped, "texture", "-32..32")
    if triangles.lightmap and scene.streams.uv1 is not None:
        _, lost = encode_lightmap_uv(scene.streams.uv1[triangles.vertex[fresh]])
        if lost:
            _report_clamped(report, part, scene, lost, "lightmap", "0..64")
    return shifted


def _shift(uv: F64, axes: tuple[int, ...]) -> None:
    """Shift all triangles, (T, 3, 2), along u and v where one does not fit."""
    for axis in (0, 1):
        values = uv[..., axis]
        if not _fits(values).all():
            uv[..., axis] = values - _turns(values, axes)


def _turns(values: F64, axes: int | tuple[int, ...]) -> F64:
    """Whole turns from 0 to the middle of some values."""
    low, high = values.min(axis=axes, keepdims=True), values.max(axis=axes, keepdims=True)
    return np.asarray(np.rint((low + high) / 2))


def _fits(values: F64) -> NDArray[np.bool_]:
    return np.asarray((values * 1024 >= -32768.5) & (values * 1024 < 32767.5))


def _report_clamped(report: Report, part: PartPlan, scene: Scene, count: int, what: str, limits: str) -> None:
    node, lod, group = part.part.node, part.part.lod, part.part.group
    report.skipped(
        f"part {printable(scene.nodes[node].name)!r} lod {lod} group {group}",
        f"{plural(count, f'{what} coordinate')} beyond {limits} were clamped",
        "a stored one has 16 bits, in steps of 1/1024",
        "repeat the texture less often on these faces, or cut them",
    )
