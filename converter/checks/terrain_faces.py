"""The faces of a terrain: vertices, links, normals, materials, the draw order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..findings import Bad, Finding
from ..formats.terrain import COARSE, FINE, LEVELS, NO_MATERIAL, Terrain, TerrainStream
from ..numeric.arrays import F64, I64, NONE16, Bools, beyond, cross_products
from ..numeric.surfaces import NO_EDGE, FaceFlag
from . import Rules, why

_FACES, _DRAW_ORDER = TerrainStream.FACES, TerrainStream.DRAW_ORDER
_FACE_FLAGS = np.uint32(0x600)
#: Flags of Res11, and those of a group's first face.
_DRAW, _DRAW_FIRST = 0x48, 0x58
#: How far a normal's length may be from 1, and the least cosine to the real one.
_LENGTH, _ALONG = 1e-2, 0.99


rule = Rules("terrain", "docs/reference/terrain.md#res21-faces")


@rule("terrain-face-vertex", "error", "A face's vertices lie inside Res3.", drops="the face")
@why("The game would read past the vertices.", fix="Remove the face, or correct it.")
def terrain_face_vertex(terrain: Terrain) -> Iterator[Bad]:
    vertex, most = terrain.faces["vertex"], len(terrain.positions)
    yield Bad("face has a vertex past the table", (_FACES, "vertex"), vertex >= most, vertex, f"below {most}")


@rule(
    "terrain-face-link",
    "error",
    "A face's neighbour is a face, or 0xFFFF.",
    drops="the link: the edge has no neighbour",
)
@why("Walks would read past the faces.", fix="Set it to 0xFFFF.")
def terrain_face_link(terrain: Terrain) -> Iterator[Bad]:
    link, most = terrain.faces["link"], len(terrain.faces)
    yield Bad("face links past the table", (_FACES, "link"), beyond(link, most), link, f"below {most}, or 65535")


def check_links(terrain: Terrain) -> Iterator[Finding]:
    """Yield faces whose links and selectors do not fit; the tables must be valid."""
    edge = terrain.faces["selectors"][:, None] >> np.array([0, 2, 4]) & 3
    link = terrain.faces["link"].astype(np.int64)
    yield from terrain_link_mutual(terrain, edge, link)
    yield from terrain_edge_class(terrain, edge, link)


@rule("terrain-link-mutual", "warning", "A neighbour links back across the edge that the selector names.")
@why("Walks go astray.", fix="Convert to glTF, change the topology there and convert back.")
def terrain_link_mutual(terrain: Terrain, edge: I64, link: I64) -> Iterator[Bad]:
    none = link == NONE16
    back = link[np.where(none, 0, link), np.minimum(edge, 2)]
    mutual = none | ((edge < NO_EDGE) & (back == np.arange(len(link))[:, None]))
    yield Bad("the face across an edge does not link back", (_FACES, "link"), ~mutual, link)


@rule("terrain-edge-class", "warning", "An edge selector is 3 exactly where there is no neighbour.")
@why("Walks go astray.", fix="Convert to glTF, change the topology there and convert back.")
def terrain_edge_class(terrain: Terrain, edge: I64, link: I64) -> Iterator[Bad]:
    bad, expected = (link == NONE16) != (edge == NO_EDGE), "3 exactly where there is no neighbour"
    yield Bad("edge selector does not fit its link", (_FACES, "selectors"), bad, edge, expected)


@rule("terrain-lone-face", "note", "A face has a neighbour (its selectors are never 63).")
@why("No unit walks onto it.", fix="Join its corners with the ground around.")
def terrain_lone_face(terrain: Terrain) -> Iterator[Bad]:
    link = terrain.faces["link"]
    yield Bad("face has no neighbour", (_FACES, "link"), (link == NONE16).all(axis=1), link)


@rule("terrain-face-flat", "note", "A face has an area.")
@why("It cannot be seen or stood on.", fix="Remove it, or move its corners apart.")
def terrain_face_flat(terrain: Terrain) -> Iterator[Bad]:
    vertex = terrain.faces["vertex"]
    size = np.linalg.norm(cross_products(terrain.positions[vertex].astype(np.float64)), axis=1)
    yield Bad("face has no area", (_FACES, "vertex"), size == 0, vertex)


@rule("terrain-face-square", "warning", "A face lies inside its square.", "#squares-and-levels")
@why("Queries look only into one square.", fix="Cut the face at the border.")
def terrain_face_square(terrain: Terrain) -> Iterator[Bad]:
    square = terrain.square_of_face
    vertices = terrain.positions[:, :2].astype(np.float64)[terrain.faces["vertex"]]
    bad = terrain.grid.outside(vertices, square) & (square >= 0)[:, None, None]
    yield Bad("face crosses its square's border", (_FACES, "vertex"), bad, square, "inside the square that has it")


@rule(
    "terrain-coarse-vertex", "warning", "The coarse level uses vertices of the fine level only.", "#squares-and-levels"
)
@why("The two levels separate when one is edited.", fix="Use a vertex of the fine level.")
def terrain_coarse_vertex(terrain: Terrain) -> Iterator[Bad]:
    vertex = terrain.faces["vertex"]
    fine = np.zeros(len(terrain.positions), np.bool_)
    fine[vertex[terrain.faces_of(FINE)]] = True
    coarse = terrain.faces_of(COARSE)
    bad = np.zeros(len(vertex), np.bool_)
    # of a square without a fine slot no face could use one
    known = terrain.square_slots(FINE)[terrain.square_of_face[coarse]] >= 0
    bad[coarse] = known & ~fine[vertex[coarse]].all(axis=1)
    problem = f"{LEVELS[COARSE]} face has a vertex that the {LEVELS[FINE]} level does not use"
    yield Bad(problem, (_FACES, "vertex"), bad, vertex)


def check_facing(terrain: Terrain) -> Iterator[Finding]:
    """Yield faces whose normals do not follow from their vertices, or that look down."""
    side = cross_products(terrain.positions[terrain.faces["vertex"]].astype(np.float64))
    yield from terrain_normal(terrain, side)
    yield from terrain_winding(terrain, side[:, 2] < 0)


@rule("terrain-normal", "warning", "A face's normal is a unit vector along its winding.")
@why("Whether one can stand there is read off it.", fix="Convert to glTF, touch the face and convert back.")
def terrain_normal(terrain: Terrain, side: F64) -> Iterator[Bad]:
    stored = terrain.faces["normal"]
    normal = stored.astype(np.float64) / 32767
    size, length = np.linalg.norm(side, axis=1), np.linalg.norm(normal, axis=1)
    along = (normal * side).sum(axis=1) >= _ALONG * length * size
    bad = (np.abs(length - 1) > _LENGTH) | ((size > 1e-9) & ~along)
    yield Bad("normal is not a unit vector along the winding", (_FACES, "normal"), bad, stored)


@rule("terrain-winding", "note", "Faces wind counter-clockwise seen from above.")
@why("No unit can stand on it: it looks down.", fix="Flip the face.")
def terrain_winding(terrain: Terrain, down: Bools) -> Iterator[Bad]:
    expected = "counter-clockwise from above"
    yield Bad("face looks down", (_FACES, "vertex"), down, terrain.faces["vertex"], expected)


@rule("terrain-flags", "note", "Every face has the flags 0x600.", "#flags-of-a-face")
@why("All faces of the game have them.", fix="Nothing to do.")
def terrain_flags(terrain: Terrain) -> Iterator[Bad]:
    flags = terrain.faces["flags"]
    bad = (flags & _FACE_FLAGS) != _FACE_FLAGS
    yield Bad("face lacks the flags 0x600", (_FACES, "flags"), bad, flags, "0x600 set")


@rule("terrain-footing", "note", "No face has row 0 of 1.wea: it is reserved for the footings of buildings.")
@why("The game may paint it over.", fix="Give the face another material.")
def terrain_footing(terrain: Terrain) -> Iterator[Bad]:
    first, second = terrain.faces["first"], terrain.faces["second"]
    yield Bad("face has material row 0", (_FACES, "first"), (first == 0) | (second == 0), first)


@rule(
    "terrain-second-material",
    "warning",
    "Flag 0x4 is set exactly where there is a second material.",
    "#flags-of-a-face",
)
@why("The second material is not drawn, or one that is not there is.", fix="Correct flag or byte.")
def terrain_second_material(terrain: Terrain) -> Iterator[Bad]:
    flags = terrain.faces["flags"]
    second = terrain.faces["second"] != NO_MATERIAL
    flagged = (flags & np.uint32(FaceFlag.SECOND_MATERIAL)) != 0
    yield Bad("flag 0x4 and the second material do not agree", (_FACES, "flags"), second != flagged, flags)


rule = Rules("terrain", "docs/reference/terrain.md#res11-the-order-in-which-faces-are-drawn")


@rule("terrain-draw-order", "warning", "Res11 is a permutation of the faces that stays inside each slot's run.")
@why("Faces are drawn twice, or not at all.", fix="Convert to glTF, change the topology and convert back.")
def terrain_draw_order(terrain: Terrain) -> Iterator[Bad]:
    rows, count = terrain.draw_order, len(terrain.faces)
    place = _DRAW_ORDER
    if len(rows) != count or not np.array_equal(np.sort(rows["face"]), np.arange(count)):
        drawn = len(rows) if len(rows) != count else np.unique(rows["face"]).size
        yield Bad("draw order is not a permutation of the faces", place, None, drawn, count)
        return
    slot = np.repeat(np.arange(len(terrain.slots)), terrain.slots["tri_count"])
    if len(slot) == count and (terrain.square_of_face >= 0).all():
        yield Bad("draw order leaves its slot's run", place, slot[rows["face"]] != slot, rows["face"])


@rule(
    "terrain-draw-group",
    "note",
    "In a slot's run each pair of materials is one group; flags are 0x48, 0x58 on its first.",
)
@why("It is drawn in more steps than needed.", fix="Convert to glTF, change the topology and convert back.")
def terrain_draw_group(terrain: Terrain) -> Iterator[Bad]:
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
    yield Bad("draw order is not grouped by materials", (_DRAW_ORDER, "flags"), bad, rows["flags"], flags)


rule = Rules("level", "docs/reference/terrain.md#res21-faces")


@rule(
    "level-wear",
    "error",
    "The files 1.wea and 2.wea beside a terrain are lists of materials.",
    "docs/reference/terrain.md",
    drops="the material names",
)
@why("The game stops.", fix="Correct the list.")
def level_wear(problem: str, value: str | None = None) -> Iterator[Bad]:
    """Yield a file that is not a list of materials."""
    yield Bad(problem, None, None, value)


@rule("level-wear-parallel", "warning", "1.wea and 2.wea have as many rows.")
@why("Row i of the second names the microtexture of row i of the first.", fix="Add the missing rows.")
def level_wear_parallel(wear: Sequence[str], micro: Sequence[str], name: str) -> Iterator[Bad]:
    """Yield material lists that are not parallel; the first one's file is called ``name``."""
    if len(wear) != len(micro):
        expected = f"{len(wear)} rows, as in {name}"
        yield Bad("the two material lists are not parallel", None, None, f"{len(micro)} rows", expected)


@rule("level-material", "warning", "A face's materials are rows of 1.wea.")
@why("The game reads a name past the list.", fix="Add rows, or correct the face.")
def level_material(terrain: Terrain, rows: int, name: str) -> Iterator[Bad]:
    """Yield faces whose materials lie past a list of so many rows, in a file that is called ``name``."""
    for column in ("first", "second"):
        row = terrain.faces[column].astype(np.int64)
        past = (row >= rows) & ((row != NO_MATERIAL) | (column == "first"))
        yield Bad(f"face has a {column} material past {name}", (_FACES, column), past, row, f"below {rows}")
