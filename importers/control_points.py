"""``.cpt`` bytes to :class:`~converter.points.ControlPoints`, and where a model's points lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from converter.archive import Archive
from converter.errors import ConversionError
from converter.points import POINTS_TYPE, TABLE, ControlPoints
from converter.tables import NAME_DTYPE, POINT_DTYPE
from importers.wear import companion


def read_points(data: memoryview | bytes, label: str) -> ControlPoints:
    """The points of a ``.cpt``; the records are views of ``data``.

    Args:
        data: the file; no bytes are no points.
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
            value=f"{len(view)} bytes",
            expected=size,
        )
    names = 4 + count * POINT_DTYPE.itemsize
    return ControlPoints(
        np.frombuffer(view[4:names], POINT_DTYPE), np.frombuffer(view[names:], NAME_DTYPE)
    )


def points_of(archive: Archive, path: Path, index: int | None) -> memoryview | bytes:
    """The ``.cpt`` of a model's name beside it; arguments as of :func:`importers.wear.wear_of`."""
    return companion(archive, path, index, ".cpt", POINTS_TYPE)
