"""``.cpt`` bytes to :class:`~converter.formats.control_points.ControlPoints`.

Also where the points of a model lie.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..converter.errors import ConversionError, plural
from ..converter.findings import Finding
from ..converter.formats.archive import Archive
from ..converter.formats.control_points import (
    POINTS_ENDING,
    POINTS_SIZE,
    POINTS_TYPE,
    TABLE,
    ControlPoint,
    ControlPoints,
)
from ..converter.formats.tables import NAME_DTYPE, POINT_DTYPE
from ..converter.scene.points import shown_points
from ..converter.scene.scene import Scene
from .wear import companion


def read_points(data: memoryview | bytes, label: str) -> ControlPoints:
    """The points of a ``.cpt``; the records are views of ``data``.

    Args:
        data: the file; empty for a model without points.
        label: what messages call it.

    Raises:
        ConversionError: its size is not that of its count.
    """
    view = memoryview(data)
    if not view:
        return ControlPoints(np.zeros(0, POINT_DTYPE), np.zeros(0, NAME_DTYPE))
    count = int.from_bytes(view[:4], "little")
    size = 4 + count * (POINT_DTYPE.itemsize + NAME_DTYPE.itemsize)
    if len(view) != size:
        raise ConversionError(
            f"size does not fit its count of {count} control points",
            file=label,
            table=TABLE,
            offset=0,
            value=plural(len(view), "byte"),
            expected=size,
            code=POINTS_SIZE.code,
        )
    names = 4 + count * POINT_DTYPE.itemsize
    return ControlPoints(np.frombuffer(view[4:names], POINT_DTYPE), np.frombuffer(view[names:], NAME_DTYPE))


def points_of(archive: Archive, path: Path, index: int | None) -> memoryview | bytes:
    """The ``.cpt`` of a model's name beside it; arguments as of :func:`importers.wear.wear_of`."""
    return companion(archive, path, index, POINTS_ENDING, POINTS_TYPE)


def points_in(scene: Scene, data: bytes) -> tuple[list[ControlPoint], list[Finding]]:
    """The control points of a model that have a place in its scene, and findings about the others.

    A broken ``.cpt`` is a warning too: the model is whole without it.

    Args:
        scene: the model.
        data: its ``.cpt``.
    """
    try:
        points = read_points(data, f"{scene.name}.cpt")
    except ConversionError as error:
        return [], [Finding(POINTS_SIZE, str(error))]
    return shown_points(points, scene)
