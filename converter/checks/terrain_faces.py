"""The faces of a terrain: vertices, links, normals, materials."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..findings import Finding, Rule, first_bad
from ..formats.terrain import BORDER, COARSE, FINE, LEVELS, NO_MATERIAL, Terrain, TerrainStream
from ..numeric.adjacency import NO_EDGE
from ..numeric.arrays import NONE16, beyond, cross_products
from ..numeric.face_flags import FaceFlag
from .places import in_table

_rule = partial(Rule, "terrain", source="docs/reference/terrain.md#res21-faces")

_T = TerrainStream
_FACE_FLAGS = np.uint32(0x600)
#: How far a normal's length may be from 1, and the least cosine to the real one.
_LENGTH, _ALONG = 1e-2, 0.99


def check_faces_further(terrain: Terrain) -> Iterator[Finding]:
    """Yield unusual normals, materials, flags and links."""
    yield from _facing(terrain)
    yield from _words(terrain)
    yield from _lone(terrain)
    yield from _flat(terrain)


TERRAIN_FACE_VERTEX = _rule(
    "terrain-face-vertex",
    "error",
    "A face's vertices lie inside Res3.",
    why="The game would read past the vertices.",
    fix="Remove the face, or correct it.",
    drops="the face",
)
TERRAIN_FACE_LINK = _rule(
    "terrain-face-link",
    "error",
    "A face's neighbour is a face, or 0xFFFF.",
    why="Walks would read past the faces.",
    fix="Set it to 0xFFFF.",
    drops="the link: the edge has no neighbour",
)


def check_faces(terrain: Terrain) -> Iterator[Finding]:
    """Yield faces whose vertices or neighbours do not exist."""
    vertex, vertices = terrain.faces["vertex"], len(terrain.positions)
    yield from first_bad(
        TERRAIN_FACE_VERTEX,
        vertex >= vertices,
        "face has a vertex past the table",
        in_table(terrain, _T.FACES, "vertex"),
        vertex,
        f"below {vertices}",
    )
    link, count = terrain.faces["link"], len(terrain.faces)
    yield from first_bad(
        TERRAIN_FACE_LINK,
        beyond(link, count),
        "face links past the table",
        in_table(terrain, _T.FACES, "link"),
        link,
        f"below {count}, or 65535",
    )


TERRAIN_LINK_MUTUAL = _rule(
    "terrain-link-mutual",
    "warning",
    "A neighbour links back across the edge that the selector names.",
    why="Walks go astray.",
    fix="Convert to glTF, change the topology there and convert back.",
)


TERRAIN_EDGE_CLASS = _rule(
    "terrain-edge-class",
    "warning",
    "An edge selector is 3 exactly where there is no neighbour.",
    why="Walks go astray.",
    fix="Convert to glTF, change the topology there and convert back.",
)


def check_links(terrain: Terrain) -> Iterator[Finding]:
    """Yield faces whose links and selectors do not fit; the tables must be valid."""
    edge = terrain.faces["selectors"][:, None] >> np.array([0, 2, 4]) & 3
    link = terrain.faces["link"].astype(np.int64)
    none = link == NONE16
    safe = np.where(none, 0, link)
    back = link[safe, np.minimum(edge, 2)]
    mutual = none | ((edge < NO_EDGE) & (back == np.arange(len(link))[:, None]))
    yield from first_bad(
        TERRAIN_LINK_MUTUAL,
        ~mutual,
        "the face across an edge does not link back",
        in_table(terrain, _T.FACES, "link"),
        link,
    )
    yield from first_bad(
        TERRAIN_EDGE_CLASS,
        none != (edge == NO_EDGE),
        "edge selector does not fit its link",
        in_table(terrain, _T.FACES, "selectors"),
        edge,
        "3 exactly where there is no neighbour",
    )


TERRAIN_LONE_FACE = _rule(
    "terrain-lone-face",
    "note",
    "A face has a neighbour (its selectors are never 63).",
    why="No unit walks onto it.",
    fix="Join its corners with the ground around.",
)


def _lone(terrain: Terrain) -> Iterator[Finding]:
    link = terrain.faces["link"]
    yield from first_bad(
        TERRAIN_LONE_FACE,
        (link == NONE16).all(axis=1),
        "face has no neighbour",
        in_table(terrain, _T.FACES, "link"),
        link,
    )


TERRAIN_FACE_FLAT = _rule(
    "terrain-face-flat",
    "note",
    "A face has an area.",
    why="It cannot be seen or stood on.",
    fix="Remove it, or move its corners apart.",
)


def _flat(terrain: Terrain) -> Iterator[Finding]:
    vertex = terrain.faces["vertex"]
    size = np.linalg.norm(cross_products(terrain.positions[vertex].astype(np.float64)), axis=1)
    place = in_table(terrain, _T.FACES, "vertex")
    yield from first_bad(TERRAIN_FACE_FLAT, size == 0, "face has no area", place, vertex)


TERRAIN_FACE_SQUARE = _rule(
    "terrain-face-square",
    "warning",
    "A face lies inside its square.",
    source="docs/reference/terrain.md#squares-and-levels",
    why="Queries look only into one square.",
    fix="Cut the face at the border.",
)


def check_borders(terrain: Terrain) -> Iterator[Finding]:
    """Yield faces that cross the border of their square."""
    square = terrain.square_of_face
    vertices = terrain.positions[:, :2].astype(np.float64)[terrain.faces["vertex"]]
    low, high = terrain.grid.box(np.arange(len(terrain.squares)))
    room = BORDER * terrain.grid.size
    outside = vertices < (low - room)[square, None]
    outside |= vertices > (high + room)[square, None]
    yield from first_bad(
        TERRAIN_FACE_SQUARE,
        outside & (square >= 0)[:, None, None],
        "face crosses its square's border",
        in_table(terrain, _T.FACES, "vertex"),
        square,
        "inside the square that has it",
    )


TERRAIN_COARSE_VERTEX = _rule(
    "terrain-coarse-vertex",
    "warning",
    "The coarse level uses vertices of the fine level only.",
    source="docs/reference/terrain.md#squares-and-levels",
    why="The two levels separate when one is edited.",
    fix="Use a vertex of the fine level.",
)


def check_coarse_vertices(terrain: Terrain) -> Iterator[Finding]:
    """Yield coarse faces with vertices of their own."""
    vertex = terrain.faces["vertex"]
    fine = np.zeros(len(terrain.positions), np.bool_)
    fine[vertex[terrain.faces_of(FINE)]] = True
    coarse = terrain.faces_of(COARSE)
    bad = np.zeros(len(vertex), np.bool_)
    # of a square without a fine slot no face could use one
    known = terrain.square_slots(FINE)[terrain.square_of_face[coarse]] >= 0
    bad[coarse] = known & ~fine[vertex[coarse]].all(axis=1)
    yield from first_bad(
        TERRAIN_COARSE_VERTEX,
        bad,
        f"{LEVELS[COARSE]} face has a vertex that the {LEVELS[FINE]} level does not use",
        in_table(terrain, _T.FACES, "vertex"),
        vertex,
    )


TERRAIN_NORMAL = _rule(
    "terrain-normal",
    "warning",
    "A face's normal is a unit vector along its winding.",
    why="Whether one can stand there is read off it.",
    fix="Convert to glTF, touch the face and convert back.",
)
TERRAIN_WINDING = _rule(
    "terrain-winding",
    "note",
    "Faces wind counter-clockwise seen from above.",
    why="No unit can stand on it: it looks down.",
    fix="Flip the face.",
)


def _facing(terrain: Terrain) -> Iterator[Finding]:
    side = cross_products(terrain.positions[terrain.faces["vertex"]].astype(np.float64))
    stored = terrain.faces["normal"]
    normal = stored.astype(np.float64) / 32767
    size, length = np.linalg.norm(side, axis=1), np.linalg.norm(normal, axis=1)
    along = (normal * side).sum(axis=1) >= _ALONG * length * size
    yield from first_bad(
        TERRAIN_NORMAL,
        (np.abs(length - 1) > _LENGTH) | ((size > 1e-9) & ~along),
        "normal is not a unit vector along the winding",
        in_table(terrain, _T.FACES, "normal"),
        stored,
    )
    yield from first_bad(
        TERRAIN_WINDING,
        side[:, 2] < 0,
        "face looks down",
        in_table(terrain, _T.FACES, "vertex"),
        terrain.faces["vertex"],
        "counter-clockwise from above",
    )


TERRAIN_FLAGS = _rule(
    "terrain-flags",
    "note",
    "Every face has the flags 0x600.",
    source="docs/reference/terrain.md#flags-of-a-face",
    why="All faces of the game have them.",
    fix="Nothing to do.",
)
TERRAIN_FOOTING = _rule(
    "terrain-footing",
    "note",
    "No face has row 0 of 1.wea: it is reserved for the footings of buildings.",
    why="The game may paint it over.",
    fix="Give the face another material.",
)


def _words(terrain: Terrain) -> Iterator[Finding]:
    first, second = terrain.faces["first"], terrain.faces["second"]
    yield from first_bad(
        TERRAIN_FOOTING,
        (first == 0) | (second == 0),
        "face has material row 0",
        in_table(terrain, _T.FACES, "first"),
        first,
    )
    flags = terrain.faces["flags"]
    yield from first_bad(
        TERRAIN_FLAGS,
        (flags & _FACE_FLAGS) != _FACE_FLAGS,
        "face lacks the flags 0x600",
        in_table(terrain, _T.FACES, "flags"),
        flags,
        "0x600 set",
    )


TERRAIN_SECOND_MATERIAL = _rule(
    "terrain-second-material",
    "warning",
    "Flag 0x4 is set exactly where there is a second material.",
    source="docs/reference/terrain.md#flags-of-a-face",
    why="The second material is not drawn, or one that is not there is.",
    fix="Correct flag or byte.",
)


def check_second_materials(terrain: Terrain) -> Iterator[Finding]:
    """Yield faces whose flag and second material do not agree."""
    flags = terrain.faces["flags"]
    second = terrain.faces["second"] != NO_MATERIAL
    flagged = (flags & np.uint32(FaceFlag.SECOND_MATERIAL)) != 0
    yield from first_bad(
        TERRAIN_SECOND_MATERIAL,
        second != flagged,
        "flag 0x4 and the second material do not agree",
        in_table(terrain, _T.FACES, "flags"),
        flags,
    )
