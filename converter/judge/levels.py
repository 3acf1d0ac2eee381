"""Whether levels of detail that an import made are what it states of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import printable
from ..numeric.arrays import row_ids
from ..numeric.distance import surface_distance
from ..scene.scene import GeneratedLevel
from .difference import Difference
from .match import steps
from .shown import I64, Shown, Triangles


def take_levels(result: Shown, levels: Sequence[GeneratedLevel]) -> list[Difference]:
    """Take the levels that the import made out of what a model shows: the file does not have them.

    Args:
        result: the model, as it was decoded from its bytes; changed.
        levels: what is stated of each, by node of the model.

    Returns:
        A difference for each that is farther from its part than is stated, or has corners that its part does not
        have. No line of a report explains it.
    """
    found = [one for level in levels if (one := _judged(result, level)) is not None]
    for level in levels:
        if (cell := result.cells.get((level.lod, level.group))) is not None:
            result.cells[level.lod, level.group] = cell.select(~_is_of(result, cell, level.node))
    return found


def _is_of(result: Shown, cell: Triangles, node: int) -> np.ndarray:
    """Which triangles of a cell are of a node."""
    return np.isin(cell.owner, [i for i, thing in enumerate(result.things) if thing.above == node])


def _judged(result: Shown, level: GeneratedLevel) -> Difference | None:
    """What is wrong with a level."""
    cells = (result.cells.get(level.whole), result.cells.get((level.lod, level.group)))
    whole, made = (None if cell is None else cell.select(_is_of(result, cell, level.node)) for cell in cells)
    name, what = result.things[level.node].name, ""
    if made is None or not len(made):
        what = "is not there"
    elif whole is None or not len(whole):
        what = "is of a part that is not there"
    else:
        away = _away(whole, made)
        name = result.things[int(made.owner[0])].name
        if away > level.error + float(steps(whole.local, whole.local).max()):
            what = f"is {away:.3g} away from its part, and not {level.error:.3g} at most"
        elif strange := int(np.count_nonzero(~np.isin(*_corners(made, whole)))):
            what = f"has {strange:,} corners that its part does not have"
    return Difference(f"generated level {printable(name)!r}", "level", what, frozenset()) if what else None


def _away(whole: Triangles, made: Triangles) -> float:
    """How far the surfaces of each material are from each other at most, in the frame of their node."""
    return max(
        surface_distance(whole.local[whole.material == material], made.local[made.material == material])
        for material in np.union1d(whole.material, made.material)
    )


def _corners(made: Triangles, whole: Triangles) -> tuple[I64, I64]:
    """Numbers of the corners of both: equal where a viewer shows the same there."""
    names = [name for name in ("local", "normals", "uv0", "uv1", "colours") if getattr(made, name) is not None]
    rows = [np.concatenate([getattr(side, n) for n in names], axis=2, dtype=np.float64) for side in (made, whole)]
    ids = row_ids((np.concatenate(rows).reshape(-1, rows[0].shape[2]) + 0.0).view(np.uint64))
    return ids[: 3 * len(made)], ids[3 * len(made) :]
