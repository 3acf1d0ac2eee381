"""Answer what the runtime asks a level: a terrain's faces, heights, rays, walks; the areals of its map and paths.

The rules and their sources are in docs/reference/terrain.md, What the runtime asks, and docs/reference/areal_map.md.

Two indices over the faces of a level: the runtime's own grid of squares, whose slots have runs of
faces and whose cell lists complete them, and a finer grid of plan-view boxes for many points at
once. Both are only indices: every answer equals that of a search over all faces.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import needed_for
from ..formats.areal_map import ArealMap, game_xy, link_targets, points_inside, require_areal
from ..formats.terrain import FINE, Grid, Terrain
from ..numeric.arrays import F32, F64, I64, NONE16, U32, Records, ranges
from ..numeric.quantize import decode_unit
from ..numeric.surfaces import FaceFlag, passes

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: A face is ground if its normal rises more than this: 80 degrees.
GROUND_NORMAL = 0.173648
#: ... and if it is not water.
NOT_GROUND = int(FaceFlag.WATER)
#: How many faces a walk looks at before it gives up, the first among them.
WALK_FACES = 24
#: Room for rounding at the edges of a face, in its barycentric coordinates.
_EDGE = 1e-9

CELL_DTYPE = np.dtype([("id", "<u4"), ("aux", "<u4")])  # +0, +4
assert CELL_DTYPE.itemsize == 8


class Hit(NamedTuple):
    """Where a segment meets a face.

    Attributes:
        fraction: 0 at the segment's start, 1 at its end.
        face: row of the face table.
        point: (3,) float64.
    """

    fraction: float
    face: int
    point: F64


class Step(NamedTuple):
    """Where a walk ends.

    Attributes:
        face: row of the face table, -1 = there is no ground.
        height: z at the end; NaN without ground.
        crossed: how many edges were crossed; -1: the vertical search found the face.
    """

    face: int
    height: float
    crossed: int


class CellLists(NamedTuple):
    """Faces by cell: those of cell ``c`` are ``start[c] .. start[c + 1]`` of ``entries``."""

    start: I64
    entries: Records


class TerrainQueries:
    """Answers about one level of a valid terrain.

    Attributes:
        grid: origin, inverse sizes and number of squares.
        faces: (F,) rows of the level's faces, ascending.
    """

    def __init__(self, terrain: Terrain, level: int = FINE) -> None:
        self._terrain, self._level = terrain, level
        self.grid: Grid = terrain.grid
        self.faces: I64 = terrain.faces_of(level)
        self._corners: F64 = terrain.positions[terrain.faces["vertex"]].astype(np.float64)
        self._rise: F32 = decode_unit(terrain.faces["normal"][:, 2])
        self._flags: U32 = terrain.faces["flags"]

    @property
    def inverse_size(self) -> F64:
        """(2,) float64: squares per unit along x and y."""
        inverse: F64 = 1.0 / self.grid.size
        return inverse

    # -------------------------------------------------------------- candidates

    def cell_range(self, low: ArrayLike, high: ArrayLike) -> tuple[int, int, int, int]:
        """Return the columns and rows that a world box touches: first and last of each.

        ``floor((p - origin) * inverse)``, kept inside the grid. ``low``, ``high``: (2+,) corners of the box.
        """
        grid = self.grid
        corners = np.stack([np.asarray(low, np.float64)[:2], np.asarray(high, np.float64)[:2]])
        cell = np.floor((corners - grid.low) * self.inverse_size)
        cell = np.clip(cell, 0, [grid.across - 1, grid.down - 1]).astype(np.int64)
        return int(cell[0, 0]), int(cell[1, 0]), int(cell[0, 1]), int(cell[1, 1])

    @cached_property
    def cell_lists(self) -> CellLists:
        """The lists that complete the squares' runs: faces of other squares whose plan-view box
        touches a square, borders included. ``aux`` is 0, as the runtime sets it."""
        grid, rows = self.grid, self.faces
        low, high = self._boxes
        first = np.floor((low - grid.low) / grid.size - 1e-9)
        last = np.floor((high - grid.low) / grid.size + 1e-9)
        most = [grid.across - 1, grid.down - 1]
        first, last = (np.clip(v, 0, most).astype(np.int64) for v in (first, last))
        face, column, row = _spread(first, last)
        square = grid.number(column, row)
        other = self._terrain.square_of_face[rows[face]] != square
        return _lists(square[other], rows[face[other]], grid.across * grid.down)

    @cached_property
    def _boxes(self) -> tuple[F64, F64]:
        """Plan-view boxes of the level's faces, (F, 2) each."""
        plan = self._corners[self.faces][..., :2]
        return plan.min(axis=1), plan.max(axis=1)

    def candidates(self, low: ArrayLike, high: ArrayLike, required: int = 0, forbidden: int = 0) -> I64:
        """Return the rows of the faces that may touch a world box, ascending.

        Runs of the squares that the box touches, their cell lists, then the masks.

        Args:
            low, high: (2+,) corners of the box; heights are not looked at.
            required, forbidden: masks of the full flags.
        """
        left, right, bottom, top = self.cell_range(low, high)
        columns, rows = np.meshgrid(np.arange(left, right + 1), np.arange(bottom, top + 1))
        squares = self.grid.number(columns.reshape(-1), rows.reshape(-1))
        slots = self._terrain.square_slots(self._level)[squares]
        slots = np.unique(slots[slots >= 0])
        table = self._terrain.slots
        run = ranges(*(table[k][slots].astype(np.int64) for k in ("tri_start", "tri_count")))
        start, entries = self.cell_lists
        more = entries["id"][ranges(start[squares], start[squares + 1] - start[squares])]
        found = np.union1d(run, more.astype(np.int64))
        return found[passes(self._flags[found], required, forbidden)]

    # -------------------------------------------------------------- heights

    @cached_property
    def _fine(self) -> tuple[F64, F64, I64, CellLists]:
        """A grid of about one face a cell: origin, cells per unit, counts, lists."""
        low, high = self._boxes
        if not len(self.faces):
            none = np.empty(0, np.int64)
            return np.zeros(2), np.ones(2), np.ones(2, np.int64), _lists(none, none, 1)
        origin, extent = low.min(axis=0), high.max(axis=0) - low.min(axis=0)
        side = np.sqrt(max(float(extent.prod()), 1e-30) / len(self.faces))
        count = np.clip(np.ceil(extent / max(side, 1e-30)), 1, 1024).astype(np.int64)
        scale = count / np.where(extent > 0, extent, 1.0)
        first, last = (
            np.clip(np.floor((v - origin) * scale + w), 0, count - 1).astype(np.int64)
            for v, w in ((low, -1e-9), (high, 1e-9))
        )
        face, column, row = _spread(first, last)
        cell = column * count[1] + row
        return origin, scale, count, _lists(cell, self.faces[face], int(count.prod()))

    def height_at(self, points: ArrayLike, required: int = 0, forbidden: int = NOT_GROUND) -> tuple[F64, I64]:
        """Return the height of the ground at points seen from above, and its face.

        Ground is a face that rises more than ``GROUND_NORMAL`` and, by default, is not water.
        Of several the highest counts, of equal ones the lowest row.

        Args:
            points: (P, 2) x and y.
            required, forbidden: masks of the full flags.

        Returns:
            (P,) z, NaN where there is no ground, and (P,) rows of the face table, -1 = none.
        """
        where = np.asarray(points, np.float64).reshape(-1, 2)
        origin, scale, count, (start, entries) = self._fine
        cell = np.floor((where - origin) * scale)
        inside = np.asarray(np.isfinite(cell).all(axis=1))
        # the far border belongs to the last cell; beyond it there is nothing to find
        cell = np.clip(np.where(inside[:, None], cell, 0), 0, count - 1).astype(np.int64)
        number = cell[:, 0] * count[1] + cell[:, 1]
        size = np.where(inside, start[number + 1] - start[number], 0)
        masked = passes(self._flags, required, forbidden)
        usable = masked & np.greater(self._rise, GROUND_NORMAL)
        best = np.full(len(where), -np.inf)
        face = np.full(len(where), -1, np.int64)
        # one round per place in the cells' lists: they are short, and alike
        order = np.argsort(-size, kind="stable")
        sorted_size = size[order]
        for place in range(int(size.max(initial=0))):
            rows = order[: np.searchsorted(-sorted_size, -place, "left")]
            tried: I64 = entries["id"][start[number[rows]] + place].astype(np.int64)
            keep = usable[tried]
            rows, tried = rows[keep], tried[keep]
            height = self._heights(tried, where[rows])
            better = height > best[rows]
            better |= (height == best[rows]) & (tried < face[rows])
            best[rows[better]], face[rows[better]] = height[better], tried[better]
        return np.where(face >= 0, best, np.nan), face

    def _heights(self, faces: I64, points: F64) -> F64:
        """z of faces at points, one each; -inf where a point is not over its face."""
        a, b, c = (self._corners[faces, k] for k in range(3))
        u, v, area = _barycentric(a, b, c, points)
        with np.errstate(divide="ignore", invalid="ignore"):
            u, v = u / area, v / area
            height = a[:, 2] + u * (b[:, 2] - a[:, 2]) + v * (c[:, 2] - a[:, 2])
            over = (area != 0) & (u >= -_EDGE) & (v >= -_EDGE) & (u + v <= 1 + _EDGE)
        return np.where(over, height, -np.inf)

    # -------------------------------------------------------------- rays and walks

    def trace(self, start: ArrayLike, end: ArrayLike, required: int = 0, forbidden: int = 0) -> Hit | None:
        """Return the first face that a segment meets, from either side; ``None`` if it meets none.

        The box of the segment gives the candidates, then the masks, the plane, and whether the
        point lies in the triangle. Of equal ones the lowest row.

        Args:
            start, end: (3,) game space.
            required, forbidden: masks of the full flags.
        """
        a, b = np.asarray(start, np.float64), np.asarray(end, np.float64)
        rows = self.candidates(np.minimum(a, b), np.maximum(a, b), required, forbidden)
        corner, along = self._corners[rows], b - a
        first, second = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
        across = np.cross(along, second)
        determinant = np.einsum("fi,fi->f", first, across)
        away = a - corner[:, 0]
        turned = np.cross(away, first)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.einsum("fi,fi->f", away, across) / determinant
            v = turned @ along / determinant
            fraction = np.einsum("fi,fi->f", second, turned) / determinant
            meets = (determinant != 0) & (u >= -_EDGE) & (v >= -_EDGE) & (u + v <= 1 + _EDGE)
            meets &= (fraction >= 0) & (fraction <= 1)
        if not meets.any():
            return None
        fraction = np.where(meets, fraction, np.inf)
        best = int(np.argmin(fraction))
        at = float(fraction[best])
        return Hit(at, int(rows[best]), a + at * along)

    def walk(self, face: int, start: ArrayLike, end: ArrayLike) -> Step:
        """Return where one stands at ``end`` after walking there from ``start`` on a face.

        The walk crosses winged edges in the plan view, over at most ``WALK_FACES`` faces, onto such
        as are ground. Where it cannot go on, the vertical search (:meth:`height_at`) decides.

        Args:
            face: row of the face table that ``start`` is on.
            start, end: (2+,) x and y.
        """
        a, b = np.asarray(start, np.float64)[:2], np.asarray(end, np.float64)[:2]
        table, along = self._terrain.faces, b - a
        came = -1
        for crossed in range(WALK_FACES):
            height = float(self._heights(np.array([face]), b[None])[0])
            if height > -np.inf:
                return Step(face, height, crossed)
            edge = self._exit(face, a, along, came)
            link = NONE16 if edge < 0 else int(table["link"][face][edge])
            if link == NONE16 or not self._is_ground(link):
                break
            came = int(table["selectors"][face]) >> 2 * edge & 3
            face = link
        found, rows = self.height_at(b[None])
        return Step(int(rows[0]), float(found[0]), -1)

    def _is_ground(self, face: int) -> bool:
        return bool(self._rise[face] > GROUND_NORMAL) and not int(self._flags[face]) & NOT_GROUND

    def _exit(self, face: int, start: F64, along: F64, came: int) -> int:
        """The edge through which a line leaves a face in the plan view, -1 = none."""
        corner = self._corners[face][:, :2]
        edge = np.roll(corner, -1, axis=0) - corner
        away = corner - start
        cross = along[0] * edge[:, 1] - along[1] * edge[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            fraction = (away[:, 0] * edge[:, 1] - away[:, 1] * edge[:, 0]) / cross
            place = (away[:, 0] * along[1] - away[:, 1] * along[0]) / cross
        # of a counter-clockwise face, a line leaves where the edge's outside is ahead
        leaves = (cross > 0) & (place >= -1e-7) & (place <= 1 + 1e-7) & (np.arange(3) != came)
        if not leaves.any():
            return -1
        return int(np.argmax(np.where(leaves, fraction, -np.inf)))


def _barycentric(a: F64, b: F64, c: F64, points: F64) -> tuple[F64, F64, F64]:
    """Weights of ``b`` and ``c`` at points in the plan view, and what to divide them by."""
    first, second, away = b - a, c - a, points - a[:, :2]
    area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    u = away[:, 0] * second[:, 1] - away[:, 1] * second[:, 0]
    v = first[:, 0] * away[:, 1] - first[:, 1] * away[:, 0]
    return u, v, area


def _spread(first: I64, last: I64) -> tuple[I64, I64, I64]:
    """Every cell of every range of columns and rows: (range, column, row) of each."""
    size = last - first + 1
    number = size.prod(axis=1)
    face = np.repeat(np.arange(len(first)), number)
    place = ranges(np.zeros_like(number), number)
    high = size[face, 1]
    return face, first[face, 0] + place // high, first[face, 1] + place % high


def _lists(cell: I64, face: I64, cells: int) -> CellLists:
    """Lists by cell, faces ascending."""
    order = np.lexsort([face, cell])
    entries = np.zeros(len(order), CELL_DTYPE)
    entries["id"] = face[order]
    start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells))])
    return CellLists(start.astype(np.int64), entries)


#: Points that one round of :func:`areal_at` takes, which bounds its memory.
_POINTS_AT_ONCE = 1 << 16


def areal_at(areals: ArealMap, points: ArrayLike) -> I64:
    """The areal under each point, found through the cells as the runtime does.

    A point's cell is ``floor((p - low) / size)`` over the vertices' extent, the last one on the
    upper border (docs/reference/areal_map.md). Of the areals which the cell lists and which
    contain the point (:func:`points_inside`), the lowest index.

    Args:
        points: (P, 2) x, y in map units.

    Returns:
        (P,) int64, -1 = none: outside the extent, or no listed areal is there.

    Raises ValueError: ``points`` has another shape.
    """
    wanted = np.asarray(points, np.float64)
    if wanted.ndim != 2 or wanted.shape[1] != 2:
        raise ValueError(f"points have shape {wanted.shape}, not (P, 2)")
    out = np.full(len(wanted), -1, np.int64)
    if areals.cells_x and areals.cells_y:
        for at in range(0, len(wanted), _POINTS_AT_ONCE):
            part = slice(at, at + _POINTS_AT_ONCE)
            out[part] = _areal_at(areals, wanted[part])
    return out


def _areal_at(areals: ArealMap, points: F64) -> I64:
    low, high = areals.extent
    grid = np.array([areals.cells_x, areals.cells_y])
    span = high - low
    span[span == 0] = 1  # all vertices in a line: one row of cells
    known = np.flatnonzero(((low <= points) & (points <= high)).all(1))
    # dividing last, so that a point on a border gets a whole number
    place = np.floor((points[known] - low) * grid / span).astype(np.int64)
    place = np.minimum(place, grid - 1)
    cell = place[:, 0] * areals.cells_y + place[:, 1]
    count = np.diff(areals.cell_start)[cell]
    who = np.repeat(known, count)
    candidate = areals.cell_ids[ranges(areals.cell_start[:-1][cell], count)].astype(np.int64)
    real = candidate < len(areals.records)
    who, candidate = who[real], candidate[real]
    hit = points_inside(game_xy(areals.vertices), areals.vertex_start, points[who], candidate)
    best = np.full(len(points), len(areals.records), np.int64)
    np.minimum.at(best, who[hit], candidate[hit])
    return np.where(best == len(areals.records), -1, best)


def link_graph(areals: ArealMap) -> csr_array:
    """The links as a sparse graph for ``scipy.sparse.csgraph``.

    Returns:
        (N, N) ``csr_array`` of float64: from each areal to each areal that it links to, the
        distance of their anchors in x and y, map units. The logic flag does not count: what its
        values 0 and 1 tell apart is not established (docs/reference/areal_map.md).
    """
    with needed_for("the graph of links", "scipy"):
        from scipy.sparse import csr_array

    count = len(areals.records)
    target = link_targets(areals)
    linked = target >= 0
    # several edges may lead to one neighbour; a sparse matrix would add them up
    code = np.unique(areals.owner[linked] * count + areals.owner[target[linked]])
    # older versions of SciPy want 32-bit indices in their graphs
    source, goal = (part.astype(np.int32) for part in np.divmod(code, max(count, 1)))
    anchor = game_xy(areals.records["anchor"])
    with np.errstate(invalid="ignore"):
        length = np.hypot(*(anchor[source] - anchor[goal]).T)
    known = np.isfinite(length)
    return csr_array((length[known], (source[known], goal[known])), shape=(count, count))


def shortest_path(areals: ArealMap, start: int, goal: int) -> list[int]:
    """The shortest way from areal to areal over :func:`link_graph`, both ends included.

    Returns:
        Indices of areals; empty if no way leads there.

    Raises ConversionError: there is no such areal.
    """
    with needed_for("the shortest path", "scipy"):
        from scipy.sparse.csgraph import dijkstra

    for index in (start, goal):
        require_areal(areals, index)
    before = dijkstra(link_graph(areals), indices=[start], return_predecessors=True)[1][0].tolist()
    path = [goal]
    while path[-1] != start:
        if before[path[-1]] < 0:
            return []
        path.append(before[path[-1]])
    return path[::-1]
