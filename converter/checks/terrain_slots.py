"""The slots and squares of a terrain: ranges, boxes, the grid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, about_table, first_bad
from ..formats.terrain import COARSE, FINE, Terrain, TerrainStream
from ..numeric.arrays import NONE16, max_uses, ranges
from .places import in_table

_rule = partial(Rule, "terrain", source="docs/reference/terrain.md#res2-slots")

_T = TerrainStream
#: How far a sphere may be off, over its radius.
_SPHERE = 1e-3
#: How far faces may stick out of a slot's box, over the largest coordinate (measured: 0).
_BOX = 1e-5


TERRAIN_SLOT_COUNT = _rule(
    "terrain-slot-count",
    "error",
    "attr1 of Res2 is the number of slots.",
    source="docs/reference/terrain.md#the-tables",
    why="The game takes the count from here.",
    fix="Correct attr1.",
)


def check_slot_count(terrain: Terrain) -> Iterator[Finding]:
    """Yield a number of slots that is not the directory's."""
    entry, count = terrain.archive.first_of_type(_T.SLOTS), len(terrain.slots)
    if entry is not None and entry.attr1 != count:
        place = in_table(terrain, _T.SLOTS)
        problem = "attr1 is not the number of slots"
        yield about_table(TERRAIN_SLOT_COUNT, problem, place, entry.attr1, count)


TERRAIN_SLOT_FACES = _rule(
    "terrain-slot-faces",
    "error",
    "A slot's faces lie inside Res21.",
    why="The game would read past the faces.",
    fix="Correct triStart and triCount.",
    drops="the slot",
)


def _faces(terrain: Terrain) -> Iterator[Finding]:
    slots, most = terrain.slots, len(terrain.faces)
    end = slots["tri_start"].astype(np.int64) + slots["tri_count"]
    yield from first_bad(
        TERRAIN_SLOT_FACES,
        end > most,
        "slot's faces run past the table",
        in_table(terrain, _T.SLOTS, "tri_start"),
        end,
        f"at most {most}",
    )


TERRAIN_REUSE = _rule(
    "terrain-reuse",
    "error",
    "Slots use the faces at most 16 times on average, or 1,048,576 faces in all.",
    source="docs/limits.md",
    why="A small file could be made to look like a huge one, and exhaust memory and time.",
    fix="Every face belongs to one slot: correct triStart and triCount.",
)


def _reuse(terrain: Terrain) -> Iterator[Finding]:
    used = int(terrain.slots["tri_count"].sum(dtype=np.int64))
    most = max_uses(len(terrain.faces))
    if used > most:
        place = in_table(terrain, _T.SLOTS)
        problem = "slots use the same faces too often"
        yield about_table(TERRAIN_REUSE, problem, place, used, f"at most {most}")


TERRAIN_SLOT_BOX = _rule(
    "terrain-slot-box",
    "error",
    "A slot's box is finite.",
    why="Queries would not find the square.",
    fix="Convert to glTF, touch the square and convert back.",
    drops="the slot's box",
)


def _boxes(terrain: Terrain) -> Iterator[Finding]:
    boxes = np.stack([terrain.slots[key] for key in ("aabb_min", "aabb_max")], axis=1)
    yield from first_bad(
        TERRAIN_SLOT_BOX,
        ~np.isfinite(boxes).all(axis=(1, 2)),
        "slot's box is not finite",
        in_table(terrain, _T.SLOTS, "aabb_min"),
    )


TERRAIN_SLOT_BOUNDS = _rule(
    "terrain-slot-bounds",
    "warning",
    "A slot's box contains its faces.",
    why="The square vanishes at the edge of the screen, and what is outside cannot be hit.",
    fix="Convert to glTF, touch the square and convert back.",
)


def check_bounds(terrain: Terrain) -> Iterator[Finding]:
    """Yield slots whose box does not contain their faces; the tables must be valid."""
    slots = terrain.slots
    start, count = (slots[k].astype(np.int64) for k in ("tri_start", "tri_count"))
    rows = np.flatnonzero(count)
    if not rows.size:
        return
    faces = terrain.positions[terrain.faces["vertex"]].astype(np.float64)
    points = faces[ranges(start[rows], count[rows])]
    firsts = np.cumsum(count[rows]) - count[rows]
    low = np.minimum.reduceat(points.min(axis=1), firsts)
    high = np.maximum.reduceat(points.max(axis=1), firsts)
    room = _BOX * (1 + np.abs(points).max())
    outside = ~((low >= slots["aabb_min"][rows] - room) & (high <= slots["aabb_max"][rows] + room))
    bad = np.zeros(len(slots), np.bool_)
    bad[rows] = outside.any(axis=1)
    expected = np.zeros((len(slots), 3))
    expected[rows] = low
    yield from first_bad(
        TERRAIN_SLOT_BOUNDS,
        bad,
        "slot's box does not contain its faces",
        in_table(terrain, _T.SLOTS, "aabb_min"),
        slots["aabb_min"],
        expected,
    )


TERRAIN_SLOT_SPHERE = _rule(
    "terrain-slot-sphere",
    "note",
    "A slot's sphere is the sphere round its box.",
    why="The square is culled too early or too late.",
    fix="Convert to glTF, touch the square and convert back.",
)


def check_spheres(terrain: Terrain) -> Iterator[Finding]:
    """Yield slots whose sphere is not the one around their box."""
    slots = terrain.slots
    low, high = (slots[k].astype(np.float64) for k in ("aabb_min", "aabb_max"))
    with np.errstate(invalid="ignore"):
        radius = np.linalg.norm(high - low, axis=1) / 2
        off = np.abs(slots["sphere_radius"] - radius)
        apart = np.linalg.norm(slots["sphere_center"] - (low + high) / 2, axis=1)
        bad = ~((off <= _SPHERE * radius + 1e-4) & (apart <= _SPHERE * radius + 1e-4))
    yield from first_bad(
        TERRAIN_SLOT_SPHERE,
        bad,
        "sphere is not the one around the box",
        in_table(terrain, _T.SLOTS, "sphere_center"),
        slots["sphere_radius"],
        "half the box's diagonal",
    )


TERRAIN_SLOT_PAIR = _rule(
    "terrain-slot-pair",
    "note",
    "The two slots of a square have one box.",
    source="docs/reference/terrain.md#squares-and-levels",
    why="The square is culled by level.",
    fix="Convert to glTF, touch the square and convert back.",
)


def check_pairs(terrain: Terrain) -> Iterator[Finding]:
    """Yield squares whose fine and coarse slots have different boxes."""
    slots = np.stack([terrain.square_slots(level) for level in (FINE, COARSE)], axis=1)
    if not len(terrain.slots):
        return
    boxes = np.stack([terrain.slots[key][np.maximum(slots, 0)] for key in ("aabb_min", "aabb_max")])
    differ = (boxes[:, :, 0] != boxes[:, :, 1]).any(axis=(0, 2))
    yield from first_bad(
        TERRAIN_SLOT_PAIR,
        (slots >= 0).all(axis=1) & differ,
        "the square's two slots have different boxes",
        in_table(terrain, _T.SQUARES, "slot_index"),
        slots,
        "one box",
    )


TERRAIN_SLOT_RUN = _rule(
    "terrain-slot-run",
    "warning",
    "Slots' runs of faces follow one another and sum to the face count.",
    why="Faces are in two squares, or in none.",
    fix="Convert to glTF, change the topology and convert back.",
)


def check_runs(terrain: Terrain) -> Iterator[Finding]:
    """Yield slots whose faces do not follow one another, or do not have every face once."""
    start, count = (terrain.slots[k].astype(np.int64) for k in ("tri_start", "tri_count"))
    place = in_table(terrain, _T.SLOTS, "tri_start")
    chained = np.concatenate([[0], np.cumsum(count)[:-1]])
    problem = "slots' runs of faces do not follow one another"
    yield from first_bad(TERRAIN_SLOT_RUN, start != chained, problem, place, start)
    total, faces = int(count.sum()), len(terrain.faces)
    if total != faces:
        problem = "slots do not have every face once"
        yield about_table(TERRAIN_SLOT_RUN, problem, place, total, faces)


TERRAIN_SQUARES = _rule(
    "terrain-squares",
    "error",
    "attr2 of Res1 divides the number of squares.",
    source="docs/reference/terrain.md#squares-and-levels",
    why="No square can be found.",
    fix="Correct attr2 (16 or 8 in the game's files).",
)


def check_squares(terrain: Terrain) -> Iterator[Finding]:
    """Yield a grid that is not a rectangle, and squares and slots that leave their tables."""
    squares, across = len(terrain.squares), terrain.across
    if not squares or across <= 0 or squares % across:
        yield about_table(
            TERRAIN_SQUARES,
            "attr2 is not a number of squares across",
            in_table(terrain, _T.SQUARES),
            across,
            f"a divisor of {squares}",
        )
        return
    yield from _square_slots(terrain)
    yield from _faces(terrain)
    yield from _reuse(terrain)
    yield from _boxes(terrain)


TERRAIN_SQUARE_SLOT = _rule(
    "terrain-square-slot",
    "error",
    "A square's slots are slots, or 0xFFFF.",
    source="docs/reference/terrain.md#res1-squares",
    why="The game would read past the slots.",
    fix="Correct the square.",
    drops="the square's slot",
)


def _square_slots(terrain: Terrain) -> Iterator[Finding]:
    words, slots = terrain.squares["slot_index"][:, 0, :2], len(terrain.slots)
    yield from first_bad(
        TERRAIN_SQUARE_SLOT,
        ((words >= slots) & (words != NONE16)).any(axis=1),
        "square has a slot past the table",
        in_table(terrain, _T.SQUARES, "slot_index"),
        words,
        f"below {slots}",
    )


TERRAIN_SQUARE_FINE = _rule(
    "terrain-square-fine",
    "warning",
    "A square has a fine slot.",
    source="docs/reference/terrain.md#squares-and-levels",
    why="There is no ground near the camera, and nothing to stand on.",
    fix="Correct the square.",
)


def check_fine_slots(terrain: Terrain) -> Iterator[Finding]:
    """Yield squares without a fine slot."""
    words = terrain.squares["slot_index"][:, 0, :2]
    yield from first_bad(
        TERRAIN_SQUARE_FINE,
        words[:, 0] == NONE16,
        "square has no fine slot",
        in_table(terrain, _T.SQUARES, "slot_index"),
        words,
        f"below {len(terrain.slots)}",
    )


TERRAIN_SQUARE_WORDS = _rule(
    "terrain-square-words",
    "note",
    "A square is 0, 0xFFFF, 0, 0, its fine slot, its coarse slot, then 13 x 0xFFFF.",
    source="docs/reference/terrain.md#res1-squares",
    why="All files of the game have it so.",
    fix="Nothing to do.",
)


def check_square_words(terrain: Terrain) -> Iterator[Finding]:
    """Yield squares whose other words are unusual."""
    count = len(terrain.squares)
    wanted = np.full((count, 19), NONE16)
    wanted[:, [0, 2, 3]] = 0
    wanted[:, 4] = np.arange(count)
    wanted[:, 5] = np.arange(count) + count
    words = terrain.squares.view("<u2").reshape(count, 19)
    yield from first_bad(
        TERRAIN_SQUARE_WORDS,
        (words != wanted).any(axis=1),
        "square's words are unusual",
        in_table(terrain, _T.SQUARES),
        words,
        "0, 65535, 0, 0, its slots, 65535 ...",
    )
