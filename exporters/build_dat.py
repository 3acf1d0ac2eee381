""":class:`~converter.formats.build_dat.BuildDat` to bytes (docs/reference/build_dat.md)."""

from __future__ import annotations

from ..converter.formats.build_dat import BuildDat


def write_build_dat(build_dat: BuildDat) -> bytes:
    """The bytes of the file: those it was read from, where nothing was edited."""
    return b"".join(build_dat.lines)
