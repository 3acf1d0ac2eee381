"""Invariants of a terrain that conversion does not need (``evidence`` page, Terrain; terrain page,
9), and of a level's material lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..findings import Finding
from ..formats.tables import TerrainStream
from ..formats.terrain import NO_MATERIAL, Terrain
from ..numeric.arrays import NONE16, cross_products
from .terrain_structure import find_rows

_T = TerrainStream
#: The order of the tables in the game's files (terrain page, 9).
_ORDER = [1, 2, 3, 4, 5, 18, 14, 11, 21]
_FACE_FLAGS = np.uint32(0x600)
_DRAW, _DRAW_FIRST = 0x48, 0x58
#: How far a normal's length may be from 1, and the least cosine to the real one.
_LENGTH, _ALONG = 1e-2, 0.99
#: How far a sphere may be off, over its radius.
_SPHERE = 1e-3


def check_terrain_further(terrain: Terrain) -> list[Finding]:
    """Findings about a sound terrain."""
    return [
        *_entries(terrain),
        *_squares(terrain),
        *_slots(terrain),
        *_faces(terrain),
        *_draw_groups(terrain),
    ]


def _entries(terrain: Terrain) -> Iterator[Finding]:
    types = [entry.type_id for entry in terrain.archive.entries]
    first = list(dict.fromkeys(types))
    if len(first) != len(types):
        row = next(i for i, type_id in enumerate(types) if type_id in types[:i])
        yield Finding(
            "terrain-twice", "second entry of a type; the first one counts", "NRes directory", row,
            value=types[row], count=len(types) - len(first),
        )  # fmt: skip
    known = [type_id for type_id in _ORDER if type_id in first]
    if [type_id for type_id in first if type_id in _ORDER] != known:
        yield Finding(
            "terrain-order", "tables are in another order", "NRes directory",
            value=first, expected=known,
        )  # fmt: skip


def _squares(terrain: Terrain) -> Iterator[Finding]:
    squares = terrain.squares
    count = len(squares)
    wanted = np.full((count, 19), NONE16)
    wanted[:, [0, 2, 3]] = 0
    wanted[:, 4] = np.arange(count)
    wanted[:, 5] = np.arange(count) + count
    words = squares.view("<u2").reshape(count, 19)
    yield from find_rows(
        terrain, "terrain-square-words", _T.SQUARES, "square's words are unusual",
        (words != wanted).any(axis=1), 0, words, "0, 65535, 0, 0, its slots, 65535 ...",
    )  # fmt: skip
    slots = [terrain.square_slots(level) for level in (0, 1)]
    both = (slots[0] >= 0) & (slots[1] >= 0)
    boxes = [
        np.stack([terrain.slots[key][np.maximum(slot, 0)] for key in ("aabb_min", "aabb_max")], 1)
        for slot in slots
    ] if len(terrain.slots) else [np.zeros((count, 2, 3))] * 2  # fmt: skip
    yield from find_rows(
        terrain, "terrain-slot-pair", _T.SQUARES, "the square's two slots have different boxes",
        both & (boxes[0] != boxes[1]).any(axis=(1, 2)), 8,
        np.stack(slots, axis=1), "one box",
    )  # fmt: skip


def _slots(terrain: Terrain) -> Iterator[Finding]:
    slots = terrain.slots
    low, high = (slots[k].astype(np.float64) for k in ("aabb_min", "aabb_max"))
    with np.errstate(invalid="ignore"):
        radius = np.linalg.norm(high - low, axis=1) / 2
        off = np.abs(slots["sphere_radius"] - radius)
        apart = np.linalg.norm(slots["sphere_center"] - (low + high) / 2, axis=1)
        bad = ~((off <= _SPHERE * radius + 1e-4) & (apart <= _SPHERE * radius + 1e-4))
    yield from find_rows(
        terrain, "terrain-slot-sphere", _T.SLOTS, "sphere is not the one round the box", bad, 32,
        slots["sphere_radius"], "half the box's diagonal",
    )  # fmt: skip
    unknown = np.zeros(len(slots), np.bool_)
    for key in ("batch_start", "batch_count", "area", "volume", "opaque56", "opaque60", "opaque64"):
        unknown |= slots[key] != 0
    hull = terrain.header["hull"][0]
    if (hull[0, :2] != hull[:, :2].min(axis=0)).any():
        yield Finding(
            "terrain-corner", "corner 0 is not the grid's origin", terrain.label_of(_T.SLOTS), None,
            (terrain.offset_of(_T.SLOTS) or 0) - 140, hull[0].tolist(), hull.min(axis=0).tolist(),
        )  # fmt: skip
    if terrain.header.tobytes()[96:].strip(b"\0"):
        yield Finding(
            "terrain-opaque", "bytes behind the header's corners are not zero",
            terrain.label_of(_T.SLOTS), None, (terrain.offset_of(_T.SLOTS) or 0) - 44,
        )  # fmt: skip
    yield from find_rows(
        terrain, "terrain-opaque", _T.SLOTS, "slot's unknown bytes are not zero", unknown, 4
    )


def _faces(terrain: Terrain) -> Iterator[Finding]:
    faces = terrain.faces
    points = terrain.positions[faces["vertex"]].astype(np.float64)
    side = cross_products(points)
    size = np.linalg.norm(side, axis=1)
    normal = faces["normal"].astype(np.float64) / 32767
    length = np.linalg.norm(normal, axis=1)
    along = (normal * side).sum(axis=1) >= _ALONG * length * size
    yield from find_rows(
        terrain, "terrain-normal", _T.FACES, "normal is no unit vector along the winding",
        (np.abs(length - 1) > _LENGTH) | ((size > 1e-9) & ~along), 20, faces["normal"],
    )  # fmt: skip
    yield from find_rows(
        terrain, "terrain-winding", _T.FACES, "face looks down", side[:, 2] < 0, 8,
        faces["vertex"], "counter-clockwise from above",
    )  # fmt: skip
    yield from find_rows(
        terrain, "terrain-footing", _T.FACES, "face has material row 0",
        (faces["first"] == 0) | (faces["second"] == 0), 4, faces["first"],
    )  # fmt: skip
    yield from find_rows(
        terrain, "terrain-flags", _T.FACES, "face lacks the flags 0x600",
        (faces["flags"] & _FACE_FLAGS) != _FACE_FLAGS, 0, faces["flags"], "0x600 set",
    )  # fmt: skip
    yield from find_rows(
        terrain, "terrain-lone-face", _T.FACES, "face has no neighbour",
        (faces["link"] == NONE16).all(axis=1), 14, faces["link"],
    )  # fmt: skip


def _draw_groups(terrain: Terrain) -> Iterator[Finding]:
    """Pairs of materials in one group each; flags of its first entry (``evidence`` page, Res11)."""
    rows, faces = terrain.draw_order, terrain.faces
    slot = np.repeat(np.arange(len(terrain.slots)), terrain.slots["tri_count"])
    count = len(faces)
    whole = len(rows) == count and len(slot) == count and bool((rows["face"] < count).all())
    if not whole or not count or (slot[rows["face"]] != slot).any():
        return  # said already: terrain-draw-order, terrain-slot-run
    pair = faces["first"].astype(np.int64) << 8 | faces["second"]
    key = slot << 16 | pair[rows["face"]]
    fresh = np.ones(count, np.bool_)
    fresh[1:] = key[1:] != key[:-1]
    flags = np.where(fresh, _DRAW_FIRST, _DRAW)
    _, where = np.unique(key, return_index=True)
    once = np.zeros(count, np.bool_)
    once[where] = True
    bad = (rows["flags"] != flags) | (fresh & ~once) | (rows["opaque3"] != 0)
    yield from find_rows(
        terrain, "terrain-draw-group", _T.DRAW_ORDER, "draw order is not grouped by materials",
        bad, 2, rows["flags"], flags,
    )  # fmt: skip


def check_level_lists(
    terrain: Terrain, wear: Sequence[str], micro: Sequence[str], names: tuple[str, str]
) -> Iterator[tuple[int, Finding]]:
    """What is sound by itself and does not fit the rest (``evidence`` page, Terrain).

    Args:
        terrain: a sound terrain.
        wear, micro: names by row of ``1.wea`` and ``2.wea``.
        names: what the two files are called.

    Yields:
        Which file a finding is about (0 the terrain, 2 ``2.wea``), and the finding.
    """
    if len(wear) != len(micro):
        yield 2, Finding(
            "level-wear-parallel", "the two material lists are not parallel",
            value=f"{len(micro)} rows", expected=f"{len(wear)} rows, as in {names[0]}",
        )  # fmt: skip
    for column in ("first", "second"):
        row = terrain.faces[column].astype(np.int64)
        past = (row >= len(wear)) & ((row != NO_MATERIAL) | (column == "first"))
        within = 4 if column == "first" else 5
        problem = f"face has a {column} material past {names[0]}"
        for finding in find_rows(
            terrain, "level-material", _T.FACES, problem, past, within, row, f"below {len(wear)}"
        ):
            yield 0, finding
