"""The large game with all that a player's has: levels, areal maps, materials and textures.

33 levels of a terrain and an areal map each (275,000 faces; 34,848 areals of 5.7 edges on average,
as readers counted in the retail game), 500 materials with a texture each.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks import game
from examples.make_textures import Paint, material_entry
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.areal_map import AREAL_DTYPE, AREAL_LINK_DTYPE, ArealMap, areal_payload
from msh_gltf.converter.formats.kinds import AREAL_MAP_TYPE
from msh_gltf.converter.formats.nres import Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.formats.texture import new_texm, write_texm

TEXTURES = 500
#: Areals of a map: columns and rows of a jittered grid; cells in each direction.
COLUMNS, ROWS, CELLS = 32, 33, 128
#: Edges with a vertex in the middle: 4 + 4 * 0.43 edges an areal.
BENT = 0.43
AREAL_SIZE = 20.0


def make(root: Path, models: Path, size: int = 64) -> Path:
    """Build the game below a directory, unless it is there; returns it.

    Args:
        root: where it goes.
        models: the game of models (:func:`benchmarks.game.make`).
        size: of a texture, in pixels.
    """
    if game.made_once(root):
        return root
    game.make_with_levels(root, models)
    (root / "complete").unlink()
    for number, path in enumerate(sorted(root.glob("*.rlb"))):
        archive = read_nres(read_file(path), path.name)
        entries = [_dressed(e, number * len(archive.entries) + i) for i, e in enumerate(archive.entries)]
        path.write_bytes(write_nres(new_archive(entries, path.name)))
    for number, level in enumerate(sorted((root / "DATA" / "MAPS").iterdir())):
        (level / "Land.map").write_bytes(areal_map(number))
        for at, name in enumerate(("Land1.wea", "Land2.wea")):
            (level / name).write_bytes(wear(8 * (2 * number + at)))
    (root / "textures.lib").unlink()
    paints = [Paint(f"MATERIAL_{i}", np.zeros(0)) for i in range(TEXTURES)]
    materials = new_archive([material_entry(paint) for paint in paints], "Material.lib")
    (root / "Material.lib").write_bytes(write_nres(materials))
    chance = np.random.default_rng(0)
    textures = [game.entry(game.TEXM, f"MATERIAL_{i}.0", picture(chance, size)) for i in range(TEXTURES)]
    (root / "Textures.lib").write_bytes(write_nres(new_archive(textures, "Textures.lib")))
    (root / "complete").touch()
    return root


def _dressed(old: Entry, number: int) -> Entry:
    """An entry of its own materials, if it is a WEAR."""
    if not old.name.endswith(".wea"):
        return game.entry(old.type_id, old.name, bytes(old.payload))
    return game.entry(old.type_id, old.name, wear(4 * number))


def wear(first: int, rows: int = 8) -> bytes:
    """The names of materials, from one on."""
    names = [f"{i} MATERIAL_{(first + i) % TEXTURES}" for i in range(rows)]
    return "\r\n".join([f"{rows}", *names, ""]).encode()


def picture(chance: np.random.Generator, size: int = 64) -> bytes:
    """A texture with soft blotches and grain, 565, with all its smaller levels."""
    blotches = chance.integers(40, 200, (9, 9, 3)).astype(np.float64)
    steps = np.linspace(0, 7.999, size)
    low, part = steps.astype(int), (steps % 1)[:, None]
    rows = blotches[low] * (1 - part[:, :, None]) + blotches[low + 1] * part[:, :, None]
    smooth = rows[:, low] * (1 - part) + rows[:, low + 1] * part
    grain = chance.normal(0, 6, smooth.shape[:2])[..., None]
    rgb = np.clip(smooth + grain, 0, 255)
    rgba = np.dstack([rgb, np.full(smooth.shape[:2], 255.0)]).astype(np.uint8)
    return write_texm(new_texm(rgba, 565))


def areal_map(seed: int) -> bytes:
    """``Land.map``: a jittered grid of areals; an edge may have a bend, a link goes across each."""
    chance = np.random.default_rng(seed)
    jitter = chance.uniform(-0.3, 0.3, (COLUMNS + 1, ROWS + 1, 2))
    corner = (np.stack(np.mgrid[0 : COLUMNS + 1, 0 : ROWS + 1], axis=-1) + jitter) * AREAL_SIZE
    # an edge from a corner to the right (0) or up (1): its own vertices, in that direction
    bends = chance.random((COLUMNS + 1, ROWS + 1, 2)) < BENT
    away = chance.uniform(-0.1, 0.1, (COLUMNS + 1, ROWS + 1, 2, 2)) * AREAL_SIZE

    def edge(x: int, y: int, up: int) -> list[tuple[float, float]]:
        ends = corner[x, y], corner[x + (not up), y + up]
        middle = [(ends[0] + ends[1]) / 2 + away[x, y, up]] if bends[x, y, up] else []
        return [tuple(point) for point in (ends[0], *middle, ends[1])]

    polygons, edges = [], []
    for x in range(COLUMNS):
        for y in range(ROWS):
            around = [edge(x, y, 0), edge(x + 1, y, 1), edge(x, y + 1, 0)[::-1], edge(x, y, 1)[::-1]]
            polygons.append([point for side in around for point in side[:-1]])
            edges.append([pair for side in around for pair in pairwise(side)])
    at = {pair: (i, k) for i, own in enumerate(edges) for k, pair in enumerate(own)}
    linked = [at.get(pair[::-1], (-1, -1)) for own in edges for pair in own]
    lengths = [len(polygon) for polygon in polygons]
    vertices = np.array([(*p, 0.0) for polygon in polygons for p in polygon], "<f4")
    start = np.cumsum([0, *lengths])
    records = np.zeros(len(polygons), AREAL_DTYPE)
    ahead = [np.roll(vertices[a:b, :2], -1, 0) for a, b in pairwise(start)]
    after = np.concatenate(ahead)
    twice = vertices[:, 0] * after[:, 1] - vertices[:, 1] * after[:, 0]
    records["area"] = np.add.reduceat(twice, start[:-1]) / 2
    records["anchor"] = np.add.reduceat(vertices, start[:-1]) / np.array(lengths)[:, None]
    records["normal"], records["vertex_count"] = (0, 0, 1), lengths
    records["logic"], records["class_id"] = 1, 1 + chance.integers(0, 29, len(polygons))
    cell_start, cell_ids = cells(vertices[:, :2].astype(np.float64), start)
    areals = ArealMap(
        new_archive([], "Land.map"),
        records,
        vertices,
        start,
        np.array(linked, np.int32).view(AREAL_LINK_DTYPE).reshape(-1),
        np.zeros(0, AREAL_LINK_DTYPE),
        np.zeros(len(polygons) + 1, np.int64),
        [b""] * len(polygons),
        CELLS,
        CELLS,
        cell_start,
        cell_ids,
    )
    entry = Entry(AREAL_MAP_TYPE, len(polygons), 0, 0, name_field(b"Land"), 0, 0, areal_payload(areals))
    return write_nres(new_archive([entry], "Land.map"))


def cells(xy: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ids of the grid's lists: every areal whose box touches the cell, ascending."""
    low, high = (f.reduceat(xy, start[:-1]) for f in (np.minimum, np.maximum))
    size = (xy.max(0) - xy.min(0)) / CELLS
    first = np.clip(((low - xy.min(0)) // size).astype(int), 0, CELLS - 1)
    last = np.clip(((high - xy.min(0)) // size).astype(int), 0, CELLS - 1)
    lists: list[list[int]] = [[] for _ in range(CELLS * CELLS)]
    for number, ((x0, y0), (x1, y1)) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                lists[x * CELLS + y].append(number)
    return np.cumsum([0, *map(len, lists)]), np.array([i for ids in lists for i in ids], "<u2")
