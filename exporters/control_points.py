""":class:`~converter.formats.control_points.ControlPoints` to ``.cpt`` bytes."""

from __future__ import annotations

from ..converter.formats.control_points import ControlPoints


def write_points(points: ControlPoints) -> bytes:
    """Return the bytes of a ``.cpt`` (docs/reference/control_points.md)."""
    count = len(points.records).to_bytes(4, "little")
    return count + points.records.tobytes() + points.names.tobytes()
