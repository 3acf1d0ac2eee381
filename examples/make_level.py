"""Build a landscape and its areal map from nothing.

    python examples/make_level.py OUT_DIR

Writes ``Land.msh``, ``Land.map``, ``Land1.wea`` and ``Land2.wea``: a valley of 512 x 512 units,
8 x 8 squares, with sand below, rock above and grass between. Game axes: x to the right, y forward,
z up. The same bytes on every machine: heights come from whole numbers, rounded to eighths.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from msh_gltf.converter.formats.areal_map import AREAL_DTYPE, AREAL_LINK_DTYPE, ArealMap, areal_payload
from msh_gltf.converter.formats.kinds import AREAL_MAP_TYPE
from msh_gltf.converter.formats.nres import Entry, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.formats.tables import HEADER_DTYPE, NODE_DTYPE, SLOT_DTYPE
from msh_gltf.converter.formats.terrain import FACE_DTYPE, TerrainStream
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.numeric.quantize import encode_normals, encode_unit, encode_uv
from msh_gltf.converter.numeric.surfaces import hull, neighbour_links, sphere_radius
from msh_gltf.converter.rebuild.terrain_tables import draw_group

SQUARES, STEPS, SIZE = 8, 4, 64.0
SIDE = SQUARES * STEPS
#: Cells of the areal map's grid, along x and y.
CELLS = 128
#: Rows of ``Land1.wea`` and of ``Land2.wea``, which is parallel. Row 0 is for building footings.
GROUNDS = ("B_S0", "LND_GRASS", "LND_ROCK", "LND_SAND")
MICRO = ("MIC_00", "MIC_01", "MIC_02", "MIC_03")
_, GRASS, ROCK, SAND = range(4)
NO_MATERIAL = 0xFF
_T = TerrainStream


def heights() -> np.ndarray:
    """(33, 33) heights by row (y) and column (x): hills, and a valley from corner to corner."""
    row, column = np.mgrid[0 : SIDE + 1, 0 : SIDE + 1]
    hills = 26 * noise(row, column, 8, 5) + 10 * noise(row, column, 4, 6)
    away = np.abs(row - column) / SIDE
    rough = 3 * noise(row, column, 2, 7) * (0.2 + away)
    return np.round((hills * np.minimum(1, 0.15 + 2.2 * away * away + away) + rough + 30 * away * away) * 8) / 8


def noise(row: np.ndarray, column: np.ndarray, cell: int, seed: int) -> np.ndarray:
    """Blotches of a size in corners, 0..1."""
    count = SIDE // cell + 2
    i, j = np.mgrid[0:count, 0:count].astype(np.int64)
    hashed = (i * 374761393 + j * 668265263 + seed * 2246822519) & 0xFFFFFFFF
    hashed = ((hashed ^ (hashed >> 13)) * 1274126177) & 0xFFFFFFFF
    grid = (hashed >> 8 & 0xFFFF) / 65536
    r, c = row // cell, column // cell
    v, u = row % cell / cell, column % cell / cell
    v, u = v * v * (3 - 2 * v), u * u * (3 - 2 * u)
    top = grid[r, c] * (1 - u) + grid[r, c + 1] * u
    low = grid[r + 1, c] * (1 - u) + grid[r + 1, c + 1] * u
    return top * (1 - v) + low * v


def terrain() -> bytes:
    """``Land.msh``: a fine level of 32 x 32 cells and a coarse one of 8 x 8."""
    z = heights()
    row, column = np.mgrid[0 : SIDE + 1, 0 : SIDE + 1]
    points = np.stack([column, row, z], axis=-1).reshape(-1, 3)
    points[:, :2] *= SIZE / STEPS
    points = points.astype("<f4")
    fine, fine_square = triangles(1)
    coarse, coarse_square = triangles(STEPS)
    corner = np.concatenate([fine, coarse])
    level = np.repeat([0, 1], [len(fine), len(coarse)])

    faces = np.zeros(len(corner), FACE_DTYPE)
    corners = points[corner]
    cross = np.cross(*(corners[:, k].astype(np.float64) - corners[:, 0] for k in (1, 2)))
    cross /= np.linalg.norm(cross, axis=1, keepdims=True)
    faces["vertex"], faces["normal"], faces["opaque6"] = corner, encode_unit(cross), NONE16
    first, second, blend = grounds(points, corner, cross[:, 2])
    faces["first"], faces["second"] = first, second
    faces["flags"] = 0x600 | np.where(second != NO_MATERIAL, 0x4, 0)
    for number in (0, 1):
        rows = np.flatnonzero(level == number)
        link, selectors = neighbour_links(np.ascontiguousarray(corners[rows]))
        faces["link"][rows] = np.where(link == NONE16, NONE16, rows[0] + link)
        faces["selectors"][rows] = selectors

    slots, order = np.zeros(2 * SQUARES**2, SLOT_DTYPE), []
    pair = first.astype(np.int64) << 8 | second
    owner = np.concatenate([fine_square, SQUARES**2 + coarse_square])
    for i in range(len(slots)):
        rows = np.flatnonzero(owner == i)
        slots["tri_start"][i], slots["tri_count"][i] = rows[0], len(rows)
        order.append(draw_group(rows, pair[rows]))
        box = corners[owner == i % SQUARES**2].reshape(-1, 3)
        low, high = box.min(0), box.max(0)
        center = ((low + high) * np.float32(0.5)).astype(np.float32)
        slots["aabb_min"][i], slots["aabb_max"][i], slots["sphere_center"][i] = low, high, center
        slots["sphere_radius"][i] = sphere_radius(center, hull(low, high))
    header = np.zeros(1, HEADER_DTYPE)
    header["hull"] = hull(points.min(0), points.max(0))
    squares = np.zeros(SQUARES**2, NODE_DTYPE)
    words = squares.view("<u2").reshape(len(squares), 19)
    words[:, 1], words[:, 4:] = NONE16, NONE16
    words[:, 4] = np.arange(SQUARES**2)
    words[:, 5] = SQUARES**2 + words[:, 4]

    smooth = np.zeros((len(points), 3))
    for k in range(3):
        np.add.at(smooth, fine[:, k], cross[: len(fine)])
    smooth /= np.linalg.norm(smooth, axis=1, keepdims=True)
    tables = {
        _T.SQUARES: (squares.tobytes(), SQUARES, 38),
        _T.SLOTS: (header.tobytes() + slots.tobytes(), 0, 68),
        _T.POSITIONS: (points.tobytes(), 0, 12),
        _T.NORMALS: (np.pad(encode_normals(smooth), ((0, 0), (0, 1))).tobytes(), 0, 4),
        _T.UV0: (encode_uv(points[:, :2] / 32)[0].tobytes(), 0, 4),
        _T.MICRO_UV: (encode_uv(points[:, :2] / 20)[0].tobytes(), 0, 4),
        _T.BLEND: (blend.astype("<f4").tobytes(), 0, 4),
        _T.DRAW_ORDER: (np.concatenate(order).tobytes(), 0, 4),
        _T.FACES: (faces.tobytes(), 0, 28),
    }
    entries = []
    for kind, (data, attr2, stride) in tables.items():
        count = (len(data) - (HEADER_DTYPE.itemsize if kind == _T.SLOTS else 0)) // stride
        entries.append(Entry(int(kind), count, attr2, stride, name_field(b"Land"), 0, 0, data))
    return write_nres(new_archive(entries, "Land.msh"))


def triangles(step: int) -> tuple[np.ndarray, np.ndarray]:
    """Two faces for each cell of ``step`` corners: (F, 3) vertices, (F,) squares; by square."""
    row, column = np.mgrid[0:SIDE:step, 0:SIDE:step].reshape(2, -1)
    square = row // STEPS * SQUARES + column // STEPS
    order = np.argsort(square, kind="stable")
    a = (row * (SIDE + 1) + column)[order]
    b, up = a + step, step * (SIDE + 1)
    faces = np.stack([a, b, b + up, a, b + up, a + up], axis=1).reshape(-1, 3)
    return faces, np.repeat(square[order], 2)


def grounds(points: np.ndarray, corner: np.ndarray, steep: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and second material of each face, and each vertex's weight of the second one."""
    z = points[:, 2]
    rock, sand = np.clip((z - 14) / 8, 0, 1), np.clip((4.5 - z) / 2, 0, 1)
    high, low = rock[corner], sand[corner]
    first = np.full(len(corner), GRASS)
    second = np.full(len(corner), NO_MATERIAL)
    second[high.max(1) > 0], second[low.max(1) > 0] = ROCK, SAND
    whole_rock, whole_sand = high.min(1) == 1, low.min(1) == 1
    first[whole_rock], first[whole_sand] = ROCK, SAND
    second[whole_rock | whole_sand] = NO_MATERIAL
    return first, second, np.maximum(rock, sand)


def areal_map() -> bytes:
    """``Land.map``: 16 x 16 square areals, each linked with its neighbours; a cell lists one."""
    count, size = 16, SQUARES * SIZE / 16
    x, y = np.mgrid[0:count, 0:count].reshape(2, -1)
    own = np.arange(count * count)
    records = np.zeros(count * count, AREAL_DTYPE)
    records["anchor"][:, 0], records["anchor"][:, 1] = (x + 0.5) * size, (y + 0.5) * size
    records["area"], records["normal"], records["vertex_count"] = size * size, (0, 0, 1), 4
    records["logic"], records["class_id"] = 1, 1 + (x + y) % 3
    around = [(0, 0), (1, 0), (1, 1), (0, 1)]  # counter-clockwise
    corners = np.stack([np.stack([x + dx, y + dy, 0 * x], axis=1) for dx, dy in around], axis=1)
    linked = np.zeros((count * count, 4), AREAL_LINK_DTYPE)
    for edge, (dx, dy) in enumerate([(0, -1), (1, 0), (0, 1), (-1, 0)]):
        inside = (x + dx >= 0) & (x + dx < count) & (y + dy >= 0) & (y + dy < count)
        linked["areal"][:, edge] = np.where(inside, own + dx * count + dy, -1)
        linked["edge"][:, edge] = np.where(inside, (edge + 2) % 4, -1)
    cell_x, cell_y = np.mgrid[0:CELLS, 0:CELLS].reshape(2, -1) * count // CELLS
    areals = ArealMap(
        new_archive([], "Land.map"),
        records,
        (corners.reshape(-1, 3) * size).astype("<f4"),
        np.arange(count * count + 1) * 4,
        linked.reshape(-1),
        np.zeros(0, AREAL_LINK_DTYPE),
        np.zeros(count * count + 1, np.int64),
        [b""] * len(own),
        CELLS,
        CELLS,
        np.arange(CELLS * CELLS + 1),
        (cell_x * count + cell_y).astype("<u2"),
    )
    name = name_field(b"Land")
    entry = Entry(AREAL_MAP_TYPE, len(own), 0, 0, name, 0, 0, areal_payload(areals))
    return write_nres(new_archive([entry], "Land.map"))


def wear(names: tuple[str, ...]) -> bytes:
    """A material list."""
    rows = [str(len(names)), *(f"{i} {name}" for i, name in enumerate(names)), ""]
    return "\r\n".join(rows).encode("ascii")


def write_level(folder: Path) -> None:
    """The four files of a level."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Land.msh").write_bytes(terrain())
    (folder / "Land.map").write_bytes(areal_map())
    (folder / "Land1.wea").write_bytes(wear(GROUNDS))
    (folder / "Land2.wea").write_bytes(wear(MICRO))


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    folder = Path(sys.argv[1])
    write_level(folder)
    print(f"wrote {folder / 'Land.msh'} and what belongs to it")


if __name__ == "__main__":
    main()
