"""The draw order of a terrain (Res11)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, about_table, first_bad
from ..formats.terrain import Terrain, TerrainStream
from .places import in_table

_rule = partial(Rule, "terrain", source="docs/reference/terrain.md#res11-the-order-in-which-faces-are-drawn")

_T = TerrainStream
_DRAW, _DRAW_FIRST = 0x48, 0x58


TERRAIN_DRAW_ORDER = _rule(
    "terrain-draw-order",
    "warning",
    "Res11 is a permutation of the faces that stays inside each slot's run.",
    why="Faces are drawn twice, or not at all.",
    fix="Convert to glTF, change the topology and convert back.",
)


def check_draw_order(terrain: Terrain) -> Iterator[Finding]:
    """Yield a draw order that is not a permutation of each slot's faces."""
    rows, count = terrain.draw_order, len(terrain.faces)
    place = in_table(terrain, _T.DRAW_ORDER)
    if len(rows) != count or not np.array_equal(np.sort(rows["face"]), np.arange(count)):
        problem = "draw order is not a permutation of the faces"
        yield about_table(TERRAIN_DRAW_ORDER, problem, place, len(rows), count)
        return
    slot = np.repeat(np.arange(len(terrain.slots)), terrain.slots["tri_count"])
    if len(slot) == count and (terrain.square_of_face >= 0).all():
        yield from first_bad(
            TERRAIN_DRAW_ORDER, slot[rows["face"]] != slot, "draw order leaves its slot's run", place, rows["face"]
        )


TERRAIN_DRAW_GROUP = _rule(
    "terrain-draw-group",
    "note",
    "In a slot's run each pair of materials is one group; flags are 0x48, 0x58 on its first.",
    why="It is drawn in more steps than needed.",
    fix="Convert to glTF, change the topology and convert back.",
)


def check_draw_groups(terrain: Terrain) -> Iterator[Finding]:
    """Yield pairs of materials that are not drawn in one group each."""
    rows, faces = terrain.draw_order, terrain.faces
    slot = np.repeat(np.arange(len(terrain.slots)), terrain.slots["tri_count"])
    count = len(faces)
    whole = len(rows) == count and len(slot) == count and bool((rows["face"] < count).all())
    if not whole or not count or (slot[rows["face"]] != slot).any():
        return  # terrain-draw-order, terrain-slot-run
    pair = faces["first"].astype(np.int64) << 8 | faces["second"]
    key = slot << 16 | pair[rows["face"]]
    fresh = np.ones(count, np.bool_)
    fresh[1:] = key[1:] != key[:-1]
    flags = np.where(fresh, _DRAW_FIRST, _DRAW)
    _, where = np.unique(key, return_index=True)
    once = np.zeros(count, np.bool_)
    once[where] = True
    bad = (rows["flags"] != flags) | (fresh & ~once) | (rows["opaque3"] != 0)
    yield from first_bad(
        TERRAIN_DRAW_GROUP,
        bad,
        "draw order is not grouped by materials",
        in_table(terrain, _T.DRAW_ORDER, "flags"),
        rows["flags"],
        flags,
    )
