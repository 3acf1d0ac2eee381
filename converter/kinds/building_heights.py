"""Tell at which height a building that was moved in a mission will likely stand in the game (docs/missions.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from ..errors import ConversionError, printable
from ..formats.mission import BUILDING, NO_ID, Mission, PlacedObject
from ..formats.model_parts import FOOTING_ENDING, read_footing
from ..formats.terrain import Terrain
from ..queries.landscape import TerrainQueries
from ..scene.assembly import object_label, stored_pose
from .registry import Game


def height_warnings(stored: Mission, edited: Mission, ground: Terrain, game: Game) -> Iterator[str]:
    """Yield the height of every building that is new or stands elsewhere, and has no start flag.

    The engine likely sets it at the mean height of the ground below its outline, the inner ring of its ``.bas``,
    whatever height the mission gives it. Buildings without an outline are left out.

    Args:
        stored, edited: the mission before and after.
        ground: its level.
        game: its units and outlines.
    """
    before = {_place(placed) for placed in stored.objects}
    queries = None
    for placed in edited.objects:
        free = placed.kind == BUILDING and not placed.record["start"] and placed.record["host"] == NO_ID
        if not free or _place(placed) in before:
            continue
        outline = _outline(placed, game)
        if outline is None:
            continue
        queries = queries or TerrainQueries(ground)
        pose = stored_pose(placed)
        heights, _ = queries.height_at(pose.apply(outline)[:, :2])
        if np.isfinite(heights).any():
            seat, shown = float(np.nanmean(heights)), float(placed.record["position"][2])
            yield (
                f"object {printable(object_label(placed))!r}: stands likely at z {seat:.2f} in the game, not at "
                f"{shown:.2f}: without its start flag a building is set at the mean height of its outline"
            )


def _place(placed: PlacedObject) -> tuple[bytes, bytes, bytes]:
    record = placed.record
    return placed.path.lower(), record["position"].tobytes(), record["turns"].tobytes()


def _outline(placed: PlacedObject, game: Game) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    """The corners of a building's outline in its own frame, (n, 3); ``None``: it has none that can be read."""
    with suppress(ConversionError):  # the mission's own check says what is missing
        unit = game.unit(placed.reference)
        resolved = game.registry.resolve(unit.key(0))
        member = None if resolved is None else resolved.members.get(FOOTING_ENDING)
        if member is not None:
            return read_footing(game.open(member).entry.payload, str(member)).inner[:-1].astype(np.float64)
    return None
