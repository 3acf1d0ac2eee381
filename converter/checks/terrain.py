"""Terrains: tables, slots and squares, the order of all checks, tolerant reading as ``checks.recover`` of models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..findings import Bad, Finding, Mode, without_errors
from ..formats.tables import HEADER_DTYPE
from ..formats.terrain import (
    COARSE,
    FINE,
    MOST_FACES,
    MOST_VERTICES,
    TERRAIN_GROUND,
    TERRAIN_STRIDE,
    TERRAIN_TABLES,
    TERRAIN_TABLES_RULE,
    Terrain,
    TerrainStream,
)
from ..numeric.arrays import NONE16, Bools, field_offset, max_uses, ranges
from ..scene.scene import MAX_COORDINATE, in_range
from . import DIRECTORY, Check, Rules, run, why
from .recover import Steps, filled, rows_of, setting, whole_streams, without_broken, without_links
from .terrain_faces import (
    check_facing,
    check_links,
    terrain_coarse_vertex,
    terrain_draw_group,
    terrain_draw_order,
    terrain_face_flat,
    terrain_face_link,
    terrain_face_square,
    terrain_face_vertex,
    terrain_flags,
    terrain_footing,
    terrain_lone_face,
    terrain_second_material,
)

_T = TerrainStream
#: The order of the tables in the game's files (docs/reference/terrain.md#the-tables).
_ORDER = [1, 2, 3, 4, 5, 18, 14, 11, 21]
#: How far a sphere may be off, over its radius.
_SPHERE = 1e-3
#: How far faces may stick out of a slot's box, over the largest coordinate (measured: 0).
_BOX = 1e-5


def check_terrain(terrain: Terrain) -> list[Finding]:
    """Return the findings about what conversion relies on.

    Some checks need valid tables: they run only where the others find no error.
    """
    if terrain.cut:
        return [*terrain.cut, *check_terrain(terrain.without_cut())]
    findings = [
        *run(terrain, _vertex_tables, terrain_limits, terrain_faces, terrain_finite, terrain_blend_finite),
        *run(terrain, terrain_blend, terrain_box, terrain_slot_count, terrain_face_vertex, terrain_face_link, _squares),
    ]
    if any(finding.severity == "error" for finding in findings):
        return findings
    return [
        *findings,
        *run(terrain, check_links, terrain_slot_run, terrain_face_square, terrain_coarse_vertex, terrain_draw_order),
        *terrain_second_material(terrain),
    ]


def check_terrain_further(terrain: Terrain) -> list[Finding]:
    """Return the findings about what conversion does not need; ``terrain``: one without errors."""
    return [
        *run(terrain, terrain_attr1, terrain_attr3, terrain_twice, terrain_order, terrain_square_fine),
        *run(terrain, terrain_square_words, terrain_slot_pair, terrain_slot_bounds, terrain_slot_sphere),
        *run(terrain, terrain_corner, terrain_opaque, check_facing, terrain_footing, terrain_flags, terrain_lone_face),
        *run(terrain, terrain_face_flat, terrain_draw_group),
    ]


rule = Rules("terrain", "docs/reference/terrain.md#res2-the-whole-box")


@rule("terrain-order", "note", "Tables come in the order 1, 2, 3, 4, 5, 18, 14, 11, 21.", "#the-tables")
@why("Order means nothing; all files of the game keep it.", fix="Nothing to do.")
def terrain_order(terrain: Terrain) -> Iterator[Bad]:
    first = list(_first_rows(terrain))
    known = [type_id for type_id in _ORDER if type_id in first]
    if [type_id for type_id in first if type_id in _ORDER] != known:
        yield Bad("tables are in another order", DIRECTORY, None, first, known)


def _first_rows(terrain: Terrain) -> dict[int, int]:
    """The row of the first entry of each type, by type, in the order of the rows."""
    rows: dict[int, int] = {}
    for row, entry in enumerate(terrain.archive.entries):
        rows.setdefault(entry.type_id, row)
    return rows


@rule("terrain-twice", "warning", "A type occurs once.", "docs/reference/nres.md#a-row-of-the-directory")
@why("The game takes the first.", fix="Remove the one that is not wanted.")
def terrain_twice(terrain: Terrain) -> Iterator[Bad]:
    entries, first = terrain.archive.entries, _first_rows(terrain)
    if len(first) != len(entries):
        row = next(row for row, entry in enumerate(entries) if first[entry.type_id] < row)
        problem, count = "second entry of a type; the first one counts", len(entries) - len(first)
        yield Bad(problem, DIRECTORY, row, entries[row].type_id, count=count)


@rule("terrain-attr1", "warning", "attr1 of Res1, Res3, Res11 and Res21 is the number of records.", "#the-tables")
@why("The game may read the count from here instead of from the size.", fix="Correct attr1.")
def terrain_attr1(terrain: Terrain) -> Iterator[Bad]:
    """Yield counts of the first entry of each type but Res2 (``terrain-slot-count``)."""
    rows = _first_rows(terrain)
    for stream in (_T.SQUARES, _T.POSITIONS, _T.DRAW_ORDER, _T.FACES):
        if stream in rows and stream in terrain.streams:
            count, found = len(terrain.streams[stream]), terrain.archive.entries[rows[stream]].attr1
            if found != count:
                problem = f"attr1 of {terrain.label_of(stream)} is not its count"
                yield Bad(problem, (DIRECTORY, "attr1"), rows[stream], found, count)


@rule("terrain-attr3", "warning", "attr3 of Res2 and Res21 is the size of a record, 68 and 28.", "#the-tables")
@why("The game may step through the table with it.", fix="Correct attr3.")
def terrain_attr3(terrain: Terrain) -> Iterator[Bad]:
    rows = _first_rows(terrain)
    for stream in (_T.SLOTS, _T.FACES):
        if stream in rows:
            stride, found = TERRAIN_TABLES[stream].attr3, terrain.archive.entries[rows[stream]].attr3
            if found != stride:
                problem = f"attr3 of {terrain.label_of(stream)} is not the size of a record"
                yield Bad(problem, (DIRECTORY, "attr3"), rows[stream], found, stride)


def _vertex_tables(terrain: Terrain) -> Iterator[Finding]:
    if not len(terrain.positions) and any(len(terrain.streams[s]) for s in (_T.NORMALS, _T.UV0)):
        yield from _no_positions(terrain)
    else:
        yield from terrain_vertex_count(terrain)


def _without_positions(terrain: Terrain) -> Iterator[Bad]:
    yield Bad("terrain has no positions", _T.POSITIONS, None, 0)


_no_positions = Check(TERRAIN_TABLES_RULE, _without_positions)


@rule(
    "terrain-vertex-count",
    "error",
    "Every vertex stream has one record per vertex.",
    "#the-tables",
    drops="what is too much or missing: zeros, normals that point up",
)
@why("The runtime indexes all streams with one number.", fix="Take the file from a backup.")
def terrain_vertex_count(terrain: Terrain) -> Iterator[Bad]:
    count = len(terrain.positions)
    for stream, table in terrain.streams.items():
        if TERRAIN_TABLES[stream].per_vertex and len(table) != count:
            yield Bad("not one row per vertex", stream, None, len(table), count)


@rule("terrain-limits", "error", "A terrain has at most 65,535 vertices.", "#what-the-writer-does")
@why("A face names vertices with 16 bits, and 0xFFFF is none.", fix="Simplify it.")
def terrain_limits(terrain: Terrain) -> Iterator[Bad]:
    if (vertices := len(terrain.positions)) > MOST_VERTICES:
        yield Bad("more vertices than faces can name", _T.POSITIONS, None, vertices, f"at most {MOST_VERTICES}")


@rule("terrain-faces", "warning", "A terrain has at most 32,767 faces.", "#what-the-writer-does")
@why("No file of the game has more.", fix="Simplify it.")
def terrain_faces(terrain: Terrain) -> Iterator[Bad]:
    if (faces := len(terrain.faces)) > MOST_FACES:
        yield Bad("more faces than the game's files have", _T.FACES, None, faces, f"at most {MOST_FACES}")


@rule(
    "terrain-finite",
    "error",
    "Positions are finite numbers of at most 1e12.",
    "docs/reference/conventions.md#divisors",
    drops="the faces of the vertex",
)
@why("glTF cannot hold infinity or NaN.", fix="Move the vertex in the tool that wrote it.")
def terrain_finite(terrain: Terrain) -> Iterator[Bad]:
    problem = "position is not finite, or too large"
    yield Bad(problem, _T.POSITIONS, ~in_range(terrain.positions), terrain.positions, f"at most {MAX_COORDINATE:g}")


@rule(
    "terrain-blend-finite", "error", "Blend values are finite numbers.", "#res14-blend", drops="the blend: 1 is taken"
)
@why("glTF cannot hold infinity or NaN.", fix="Paint the place again.")
def terrain_blend_finite(terrain: Terrain) -> Iterator[Bad]:
    if terrain.blend is not None:
        yield Bad("blend is not finite", _T.BLEND, ~np.isfinite(terrain.blend), terrain.blend)


@rule("terrain-blend", "warning", "Blend values lie in 0..1.", "#res14-blend")
@why("It is an alpha.", fix="Paint the place again.")
def terrain_blend(terrain: Terrain) -> Iterator[Bad]:
    if (blend := terrain.blend) is not None:
        outside = np.isfinite(blend) & ((blend < 0) | (blend > 1))
        yield Bad("blend is not between 0 and 1", _T.BLEND, outside, blend)


@rule("terrain-box", "error", "The header's box is finite.")
@why("Its corner is the grid's origin: no square can be found.", fix="Take the file from a backup.")
def terrain_box(terrain: Terrain) -> Iterator[Bad]:
    if not np.isfinite(terrain.header["hull"]).all():
        yield Bad("the whole box is not finite", _T.SLOTS)


@rule("terrain-corner", "note", "Corner 0 of the header is the lowest in x and y: the grid's origin.")
@why("Squares are counted from here.", fix="Take the file from a backup.")
def terrain_corner(terrain: Terrain) -> Iterator[Bad]:
    hull = terrain.header["hull"][0]
    if (hull[0, :2] != hull[:, :2].min(axis=0)).any():
        place, lowest = (_T.SLOTS, -HEADER_DTYPE.itemsize), hull.min(axis=0).tolist()
        yield Bad("corner 0 is not the grid's origin", place, None, hull[0].tolist(), lowest)


@rule("terrain-opaque", "note", "The bytes after the header's corners, and the unknown bytes of slots, are zero.")
@why("They mean nothing that is known, and are kept.", fix="Nothing to do.")
def terrain_opaque(terrain: Terrain) -> Iterator[Bad]:
    slots, within = terrain.slots, field_offset(HEADER_DTYPE, "sphere_center")
    if terrain.header.tobytes()[within:].strip(b"\0"):
        yield Bad("bytes after the header's corners are not zero", (_T.SLOTS, within - HEADER_DTYPE.itemsize))
    unknown = np.zeros(len(slots), np.bool_)
    for key in ("batch_start", "batch_count", "area", "volume", "opaque56", "opaque60", "opaque64"):
        unknown |= slots[key] != 0
    yield Bad("slot's unknown bytes are not zero", (_T.SLOTS, "batch_start"), unknown)


rule = Rules("terrain", "docs/reference/terrain.md#res2-slots")


@rule("terrain-slot-count", "error", "attr1 of Res2 is the number of slots.", "#the-tables")
@why("The game takes the count from here.", fix="Correct attr1.")
def terrain_slot_count(terrain: Terrain) -> Iterator[Bad]:
    entry, count = terrain.archive.first_of_type(_T.SLOTS), len(terrain.slots)
    if entry is not None and entry.attr1 != count:
        yield Bad("attr1 is not the number of slots", _T.SLOTS, None, entry.attr1, count)


@rule("terrain-slot-faces", "error", "A slot's faces lie inside Res21.", drops="the slot")
@why("The game would read past the faces.", fix="Correct triStart and triCount.")
def terrain_slot_faces(terrain: Terrain) -> Iterator[Bad]:
    slots, most = terrain.slots, len(terrain.faces)
    end = slots["tri_start"].astype(np.int64) + slots["tri_count"]
    yield Bad("slot's faces run past the table", (_T.SLOTS, "tri_start"), end > most, end, f"at most {most}")


@rule(
    "terrain-reuse",
    "error",
    "Slots use the faces at most 16 times on average, or 1,048,576 faces in all.",
    "docs/limits.md",
)
@why(
    "A small file could be made to look like a huge one, and exhaust memory and time.",
    fix="Every face belongs to one slot: correct triStart and triCount.",
)
def terrain_reuse(terrain: Terrain) -> Iterator[Bad]:
    used = int(terrain.slots["tri_count"].sum(dtype=np.int64))
    most = max_uses(len(terrain.faces))
    if used > most:
        yield Bad("slots use the same faces too often", _T.SLOTS, None, used, f"at most {most}")


@rule("terrain-slot-box", "error", "A slot's box is finite.", drops="the slot's box")
@why("Queries would not find the square.", fix="Convert to glTF, touch the square and convert back.")
def terrain_slot_box(terrain: Terrain) -> Iterator[Bad]:
    boxes = np.stack([terrain.slots[key] for key in ("aabb_min", "aabb_max")], axis=1)
    yield Bad("slot's box is not finite", (_T.SLOTS, "aabb_min"), ~np.isfinite(boxes).all(axis=(1, 2)))


@rule("terrain-slot-bounds", "warning", "A slot's box contains its faces.")
@why(
    "The square vanishes at the edge of the screen, and what is outside cannot be hit.",
    fix="Convert to glTF, touch the square and convert back.",
)
def terrain_slot_bounds(terrain: Terrain) -> Iterator[Bad]:
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
    bad, expected = np.zeros((2, len(slots)), np.bool_), np.zeros((2, len(slots), 3))
    expected[:, rows] = low, high
    bad[0, rows] = ~(low >= slots["aabb_min"][rows] - room).all(axis=1)
    bad[1, rows] = ~(high <= slots["aabb_max"][rows] + room).all(axis=1) & ~bad[0, rows]
    for field, wrong, wanted in zip(("aabb_min", "aabb_max"), bad, expected, strict=True):
        yield Bad("slot's box does not contain its faces", (_T.SLOTS, field), wrong, slots[field], wanted)


@rule("terrain-slot-sphere", "note", "A slot's sphere is the sphere round its box.")
@why("The square is culled too early or too late.", fix="Convert to glTF, touch the square and convert back.")
def terrain_slot_sphere(terrain: Terrain) -> Iterator[Bad]:
    slots = terrain.slots
    low, high = (slots[k].astype(np.float64) for k in ("aabb_min", "aabb_max"))
    with np.errstate(invalid="ignore"):
        radius = np.linalg.norm(high - low, axis=1) / 2
        off = np.abs(slots["sphere_radius"] - radius)
        apart = np.linalg.norm(slots["sphere_center"] - (low + high) / 2, axis=1)
        bad = ~((off <= _SPHERE * radius + 1e-4) & (apart <= _SPHERE * radius + 1e-4))
    problem = "sphere is not the one around the box"
    yield Bad(problem, (_T.SLOTS, "sphere_center"), bad, slots["sphere_radius"], "half the box's diagonal")


@rule("terrain-slot-pair", "note", "The two slots of a square have one box.", "#squares-and-levels")
@why("The square is culled by level.", fix="Convert to glTF, touch the square and convert back.")
def terrain_slot_pair(terrain: Terrain) -> Iterator[Bad]:
    slots = np.stack([terrain.square_slots(level) for level in (FINE, COARSE)], axis=1)
    if not len(terrain.slots):
        return
    boxes = np.stack([terrain.slots[key][np.maximum(slots, 0)] for key in ("aabb_min", "aabb_max")])
    differ = (boxes[:, :, 0] != boxes[:, :, 1]).any(axis=(0, 2))
    bad = (slots >= 0).all(axis=1) & differ
    yield Bad("the square's two slots have different boxes", (_T.SQUARES, "slot_index"), bad, slots, "one box")


@rule("terrain-slot-run", "warning", "Slots' runs of faces follow one another and sum to the face count.")
@why("Faces are in two squares, or in none.", fix="Convert to glTF, change the topology and convert back.")
def terrain_slot_run(terrain: Terrain) -> Iterator[Bad]:
    start, count = (terrain.slots[k].astype(np.int64) for k in ("tri_start", "tri_count"))
    place = (_T.SLOTS, "tri_start")
    chained = np.concatenate([[0], np.cumsum(count)[:-1]])
    yield Bad("slots' runs of faces do not follow one another", place, start != chained, start)
    total, faces = int(count.sum()), len(terrain.faces)
    if total != faces:
        yield Bad("slots do not have every face once", place, None, total, faces)


def _squares(terrain: Terrain) -> Iterator[Finding]:
    """A grid that is not a rectangle, else squares and slots that leave their tables."""
    if broken := [*terrain_squares(terrain)]:
        yield from broken
        return
    yield from run(terrain, terrain_square_slot, terrain_slot_faces, terrain_reuse, terrain_slot_box)


@rule("terrain-squares", "error", "attr2 of Res1 divides the number of squares.", "#squares-and-levels")
@why("No square can be found.", fix="Correct attr2 (16 or 8 in the game's files).")
def terrain_squares(terrain: Terrain) -> Iterator[Bad]:
    squares, across = len(terrain.squares), terrain.across
    if not squares or across <= 0 or squares % across:
        yield Bad("attr2 is not a number of squares across", _T.SQUARES, None, across, f"a divisor of {squares}")


@rule(
    "terrain-square-slot", "error", "A square's slots are slots, or 0xFFFF.", "#res1-squares", drops="the square's slot"
)
@why("The game would read past the slots.", fix="Correct the square.")
def terrain_square_slot(terrain: Terrain) -> Iterator[Bad]:
    words, slots = terrain.squares["slot_index"][:, 0, :2], len(terrain.slots)
    bad = ((words >= slots) & (words != NONE16)).any(axis=1)
    yield Bad("square has a slot past the table", (_T.SQUARES, "slot_index"), bad, words, f"below {slots}")


@rule("terrain-square-fine", "warning", "A square has a fine slot.", "#squares-and-levels")
@why("There is no ground near the camera, and nothing to stand on.", fix="Correct the square.")
def terrain_square_fine(terrain: Terrain) -> Iterator[Bad]:
    words = terrain.squares["slot_index"][:, 0, :2]
    bad = words[:, 0] == NONE16
    yield Bad("square has no fine slot", (_T.SQUARES, "slot_index"), bad, words, f"below {len(terrain.slots)}")


@rule(
    "terrain-square-words",
    "note",
    "A square is 0, 0xFFFF, 0, 0, its fine slot, its coarse slot, then 13 x 0xFFFF.",
    "#res1-squares",
)
@why("All files of the game have it so.", fix="Nothing to do.")
def terrain_square_words(terrain: Terrain) -> Iterator[Bad]:
    count = len(terrain.squares)
    wanted = np.full((count, 19), NONE16)
    wanted[:, [0, 2, 3]] = 0
    wanted[:, 4] = np.arange(count)
    wanted[:, 5] = np.arange(count) + count
    words = terrain.squares.view("<u2").reshape(count, 19)
    bad = (words != wanted).any(axis=1)
    yield Bad("square's words are unusual", _T.SQUARES, bad, words, "0, 65535, 0, 0, its slots, 65535 ...")


# ------------------------------------------------------------------ tolerant reading


def checked_terrain(terrain: Terrain, mode: Mode) -> tuple[Terrain, list[Finding]]:
    """A terrain that can be decoded, and what was found; as ``recover.checked_model``.

    Raises ConversionError: the first finding that is refused; with what is broken nothing is left.
    """
    label = terrain.archive.label
    if mode != "tolerant":
        return terrain, without_errors(check_terrain(terrain), label, mode=mode)
    view, findings = without_broken(terrain, check_terrain, TERRAIN_STEPS, label)
    broken = [finding for finding in findings if finding.severity == "error"]
    if broken and not len(view.faces_of(FINE)):
        problem = f"without what {broken[0].code} concerns no ground is left to show"
        raise Finding(TERRAIN_GROUND, problem, broken[0].table).to_error().at(file=label)
    return view, findings


def _without_faces(terrain: Terrain, bad: Bools) -> Terrain:
    """Faces that are not shown; they keep their rows. (F,)."""
    faces = terrain.faces.copy()
    faces["vertex"][bad] = 0
    left_out = np.union1d(terrain.left_out, np.flatnonzero(bad))
    return replace(terrain.with_table(_T.FACES, faces), left_out=left_out)


def _no_face(terrain: Terrain, finding: Finding) -> Terrain:
    bad = np.zeros(len(terrain.faces), np.bool_)
    bad[rows_of(finding)] = True
    return _without_faces(terrain, bad)


def _no_vertex(terrain: Terrain, finding: Finding) -> Terrain:
    bad = np.zeros(NONE16 + 1, np.bool_)
    bad[rows_of(finding)] = True
    terrain = _without_faces(terrain, bad[terrain.faces["vertex"]].any(axis=1))
    return terrain.with_table(_T.POSITIONS, filled(terrain.positions))


def _no_blend(terrain: Terrain, finding: Finding) -> Terrain:
    assert terrain.blend is not None
    blend = terrain.blend.copy()
    rows = rows_of(finding)
    blend[rows[rows < len(blend)]] = 1  # what is too much of the stream is gone already
    return terrain.with_table(_T.BLEND, blend)


def _no_square_slot(terrain: Terrain, finding: Finding) -> Terrain:
    squares = terrain.squares.copy()
    squares["slot_index"][squares["slot_index"] >= len(terrain.slots)] = NONE16
    return terrain.with_table(_T.SQUARES, squares)


#: What is left out of a terrain, by the rule of the finding.
TERRAIN_STEPS: Steps[Terrain] = {
    TERRAIN_STRIDE: lambda terrain, finding: terrain.without_cut(),
    terrain_vertex_count.rule: whole_streams,
    terrain_square_slot.rule: _no_square_slot,
    terrain_slot_faces.rule: setting(_T.SLOTS, 0, "tri_start", "tri_count"),
    terrain_slot_box.rule: setting(_T.SLOTS, 0, "aabb_min", "aabb_max"),
    terrain_face_vertex.rule: _no_face,
    terrain_finite.rule: _no_vertex,
    terrain_face_link.rule: without_links(_T.FACES),
    terrain_blend_finite.rule: _no_blend,
}
