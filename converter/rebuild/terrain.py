"""Rebuild a terrain from a plan of changes, and refuse faces that cross the border of their square.

Source: docs/reference/terrain.md, What the writer does.
Vertices that moved keep their rows. Where faces came or went, the face table is laid out again:
square by square, the fine level first. Everything that no edit touches keeps its bytes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..edits.terrain import TERRAIN_NORMAL_DEGREES, LevelPlan, TerrainPlan, report_coarse_vertices, unknown_material
from ..edits.triangles import TriangleList, normals_apart
from ..errors import ConversionError, in_words, plural
from ..formats.terrain import (
    COARSE,
    FACE_DTYPE,
    FINE,
    LEVELS,
    MOST_FACES,
    MOST_VERTICES,
    NO_MATERIAL,
    Terrain,
    TerrainStream,
    too_many,
)
from ..numeric.arrays import F64, I64, NONE16, U16, U32, Bools, Records, first_appearance, row_ids
from ..numeric.quantize import decode_normals, encode_normals, normalise, triangle_normals
from ..numeric.surfaces import FaceFlag
from .terrain_tables import (
    STREAMS,
    VERTEX_DTYPE,
    Layout,
    boxes,
    changed_squares,
    draw_order,
    find_vertices,
    micro_uv_words,
    new_vertices,
    relink,
    slot_runs,
    vertex_means,
)

_T = TerrainStream

#: Flags of a new face: 0x600 is on every face; 0x10 in the high half is dry ground.
_NEW_FLAGS = 0x600
_NEW_SURFACE = 0x10


def edited_terrain(plan: TerrainPlan, terrain: Terrain) -> tuple[Terrain, list[dict[str, str]]]:
    """Rebuild the terrain with a plan's edits; also return what was rebuilt: what, name, status and reason of each.
    Raises ConversionError: a face crosses its square's border, a material that Land1.wea does not have, a coarse face
    over a vertex that the fine level lacks, or a limit of the format.
    """
    return _Work(plan, terrain).run()


class _Work:
    """Vertices and faces in the making.

    ``faces`` holds the stored rows first, then new ones; ``alive`` marks those that stay, ``dirty``
    which are new, moved or of another material; ``square`` and ``level`` where each belongs.
    """

    def __init__(self, plan: TerrainPlan, terrain: Terrain) -> None:
        self.plan, self.old = plan, terrain
        count = len(terrain.positions)
        self.vertices = np.zeros(count, VERTEX_DTYPE)
        for name, stream in STREAMS.items():
            table = terrain.streams.get(stream)
            self.vertices[name] = 1.0 if table is None else table
        self.faces = terrain.faces.copy()
        self.vertex = self.faces["vertex"].astype(np.int64)
        self.square = terrain.square_of_face.copy()
        self.level = np.full(len(self.faces), -1)
        for level in (COARSE, FINE):
            self.level[terrain.faces_of(level)] = level
        self.alive = np.ones(len(self.faces), np.bool_)
        self.dirty = np.zeros(len(self.faces), np.bool_)
        self.moved = np.zeros(count, np.bool_)
        self.owner = np.full(len(self.faces), -1)  # item of the file, of new faces

    def run(self) -> tuple[Terrain, list[dict[str, str]]]:
        fine = self.plan.levels[FINE]
        if not fine.unchanged:
            self._move_vertices(fine)
            self._change_materials(fine)
            self._replace_faces(fine, FINE)
        coarse = self.plan.levels.get(COARSE)
        if coarse is not None and not coarse.unchanged:
            self._change_materials(coarse)
            self._edit_coarse(coarse)
        touched = self.moved[self.vertex].any(axis=1) & self.alive
        self.dirty |= touched
        self._assign_squares()
        return self._finished(touched)

    def _move_vertices(self, plan: LevelPlan) -> None:
        """Give stored vertices the values of the corners that are still theirs."""
        triangles, at = plan.edited.triangles, (plan.new[:, None], plan.turn)
        vertex = self.vertex[plan.rows[plan.old]]
        loose = np.broadcast_to(~plan.exact[:, None], vertex.shape)
        rows = vertex[loose]
        before = self.vertices.copy()
        self.vertices["position"][rows] = triangles.positions[at][loose]
        if triangles.uv0 is not None:
            self.vertices["uv0"][rows] = triangles.uv0[at][loose]
        if triangles.extra is not None:
            self.vertices["micro_uv"][rows] = micro_uv_words(triangles.extra[at][loose])
        if triangles.normals is not None:
            changed = loose | plan.normals[:, None]
            if not plan.edited.has_normals:  # a vertex of a face that is where it was keeps its own
                changed &= ~np.isin(vertex, vertex[plan.exact])
            mean, seen = vertex_means(vertex[changed], triangles.normals[at][changed], len(self.vertices))
            stored = decode_normals(self.vertices["normal"])
            far = normals_apart(mean, stored, TERRAIN_NORMAL_DEGREES) & seen
            self.vertices["normal"][far, :3] = encode_normals(normalise(mean[far], (0, 0, 1)))
        blend = plan.edited.blend
        if blend is not None and self.old.blend is not None:
            changed = loose | plan.blend[:, None]
            mean, seen = vertex_means(vertex[changed], blend[at][changed][:, None], len(self.vertices))
            far = seen & (np.abs(mean[:, 0] - self.vertices["blend"]) > 1e-6)
            self.vertices["blend"][far] = mean[far, 0]
        self.moved = (self.vertices["position"] != before["position"]).any(axis=1)

    def _new_vertices(self, plan: LevelPlan, fresh: I64, rows: I64) -> I64:
        """Rows of the corners of new triangles; those that are not found (-1) are appended, welded."""
        flat = rows.copy()
        need = np.flatnonzero(flat < 0)
        if not need.size:
            return flat.reshape(-1, 3)
        triangle, corner = fresh[need // 3], need % 3
        out = new_vertices(plan.edited.triangles, triangle, corner)
        if plan.edited.blend is not None:
            out["blend"] = plan.edited.blend[triangle, corner]
        elif self.old.blend is not None:
            self._adopt_blend(out)
        raw = out.view(np.uint8).reshape(len(out), -1)
        ids = row_ids(np.ascontiguousarray(np.pad(raw, ((0, 0), (0, 4)))).view("<u8"))
        number, first = first_appearance(ids)
        flat[need] = len(self.vertices) + number
        self.vertices = np.concatenate([self.vertices, out[first]])
        self.moved = np.concatenate([self.moved, np.zeros(len(first), np.bool_)])
        return flat.reshape(-1, 3)

    def _adopt_blend(self, out: Records) -> None:
        """The file has no ``_MSH_BLEND``: a new vertex takes that of the nearest stored one."""
        pool = self.vertices["position"].astype(np.float64)
        for row in range(0, len(out), 256):  # blocks, so that the distances fit into memory
            part = out["position"][row : row + 256].astype(np.float64)
            away = ((part[:, None, :2] - pool[None, :, :2]) ** 2).sum(axis=-1)
            out["blend"][row : row + 256] = self.vertices["blend"][away.argmin(axis=1)]
        self.plan.report.warnings.append(
            "the file has no _MSH_BLEND: new vertices take the blend of the nearest old one "
            "(export with Data > Mesh > Attributes on)"
        )

    def _change_materials(self, plan: LevelPlan) -> None:
        """Give faces that are still there the material that the file shows."""
        pick = np.flatnonzero(plan.material)
        rows = plan.rows[plan.old[pick]]
        first, second = self._materials(plan, plan.new[pick])
        self.dirty[rows] |= (self.faces["first"][rows] != first) | (self.faces["second"][rows] != second)
        self.faces["first"][rows], self.faces["second"][rows] = first, second
        self.faces["flags"][rows] = _with_second(self.faces["flags"][rows], second)

    def _materials(self, plan: LevelPlan, triangles: I64) -> tuple[I64, I64]:
        """Rows of Land1.wea of some triangles."""
        material = plan.edited.triangles.material[triangles]
        known = np.array([p is not None for p in self.plan.pairs] + [False])
        if not known[material].all():
            at = int(triangles[int(np.argmin(known[material]))])
            raise unknown_material(self.plan, int(plan.edited.owner[at]), int(plan.edited.triangles.material[at]))
        pairs = np.array([p or (0, 0) for p in self.plan.pairs] + [(0, 0)], np.int64)
        return pairs[material, 0], pairs[material, 1]

    def _replace_faces(self, plan: LevelPlan, level: int) -> None:
        """Take out what is gone, and append what is new."""
        self.alive[plan.lost] = False
        if not plan.fresh.size:
            return
        usable = np.unique(self.vertex[self.alive])
        corners = find_vertices(self.vertices, usable, plan.edited.triangles, plan.fresh)
        vertex = self._new_vertices(plan, plan.fresh, corners)
        distinct = (vertex[:, 0] != vertex[:, 1]) & (vertex[:, 1] != vertex[:, 2]) & (vertex[:, 0] != vertex[:, 2])
        if not distinct.all():
            place = self.vertices["position"][vertex[~distinct][0, 0]].tolist()
            self.plan.report.skipped(
                f"{LEVELS[level]} level",
                f"{plural(int((~distinct).sum()), 'face')} with two equal corners "
                f"left out, at ({place[0]:g}, {place[1]:g}, {place[2]:g})",
                "such a face shows nothing",
                "delete it, or move the corners apart",
                "triangles",
            )
        self._append(plan, plan.fresh[distinct], vertex[distinct], level)

    def _append(self, plan: LevelPlan, triangles: I64, vertex: I64, level: int) -> None:
        """New faces, with the flags and unknown words of those that they replace."""
        new = np.zeros(len(triangles), FACE_DTYPE)
        first, second = self._materials(plan, triangles)
        middle = self.vertices["position"][vertex].astype(np.float64).mean(axis=1)
        square = self.old.grid.squares_at(middle.reshape(-1, 3))
        source = self._replaced(middle, square, plan.lost)
        kept = self.faces[np.maximum(source, 0)]
        has = source >= 0
        # a name that several pairs bear means the pair that was there
        pair = kept["first"].astype(np.int64) << 8 | kept["second"]
        for material, choices in enumerate(self.plan.choices):
            codes = [a << 8 | b for a, b in choices]
            hit = has & (plan.edited.triangles.material[triangles] == material) & np.isin(pair, codes)
            first[hit], second[hit] = kept["first"][hit], kept["second"][hit]
        new["first"], new["second"] = first, second
        flags = np.where(has, kept["flags"] & 0xFFFF0000 | _NEW_FLAGS, _NEW_SURFACE << 16 | _NEW_FLAGS)
        new["flags"] = _with_second(flags.astype(np.uint32), second)
        new["opaque6"] = np.where(has, kept["opaque6"], NONE16)
        new["opaque27"] = np.where(has, kept["opaque27"], 0)
        self.owner = np.concatenate([self.owner, plan.edited.owner[triangles]])
        self.faces = np.concatenate([self.faces, new])
        self.vertex = np.concatenate([self.vertex, vertex])
        self.square = np.concatenate([self.square, square])
        self.level = np.concatenate([self.level, np.full(len(new), level)])
        self.alive = np.concatenate([self.alive, np.ones(len(new), np.bool_)])
        self.dirty = np.concatenate([self.dirty, np.ones(len(new), np.bool_)])

    def _replaced(self, middle: F64, square: I64, lost: I64) -> I64:
        """The lost face under or over the middle of each new one, the nearest in height; where
        none is, the nearest of the square; -1 where the square lost none."""
        out = np.full(len(middle), -1, np.int64)
        corners = self.old.positions[self.old.faces["vertex"][lost]].astype(np.float64)
        for number in np.unique(square).tolist():
            mine = np.flatnonzero(square == number)
            rows = np.flatnonzero(self.old.square_of_face[lost] == number)
            if not rows.size:
                continue
            box = corners[rows]
            point = middle[mine][:, None]
            edge = np.roll(box, -1, axis=1) - box
            away = point[:, :, None, :2] - box[None, :, :, :2]
            side = edge[None, ..., 0] * away[..., 1] - edge[None, ..., 1] * away[..., 0]
            inside = (side >= 0).all(axis=-1) | (side <= 0).all(axis=-1)
            distance = np.linalg.norm(box.mean(axis=1)[None] - point, axis=-1)
            farther = float(distance.max(initial=0)) + 1
            out[mine] = lost[rows[np.argmin(distance + farther * ~inside, axis=1)]]
        return out

    def _edit_coarse(self, plan: LevelPlan) -> None:
        """The coarse level over the fine one's vertices."""
        fine = self.alive & (self.level == FINE)
        usable = np.unique(self.vertex[fine])
        loose = plan.new[~plan.exact]
        fresh = np.concatenate([loose, plan.fresh])
        corners = find_vertices(self.vertices, usable, plan.edited.triangles, fresh)
        # a corner that moved with its vertex is still that vertex, whichever equals it
        rows, turn = plan.rows[plan.old[~plan.exact]], plan.turn[~plan.exact]
        stored_corners = np.empty((len(loose), 3), np.int64)
        np.put_along_axis(stored_corners, turn, self.vertex[rows], axis=1)
        stays = (self.vertices["position"][stored_corners] == plan.edited.triangles.positions[loose]).all(axis=-1)
        corners[: 3 * len(loose)][stays.reshape(-1)] = stored_corners[stays]
        missing = corners < 0
        if missing.any():
            bare = replace(plan.edited.triangles, uv0=None, extra=None, normals=None)
            corners[missing] = find_vertices(self.vertices, usable, bare, fresh)[missing]
        if (corners < 0).any():
            place = plan.edited.triangles.positions[fresh].reshape(-1, 3)[np.argmax(corners < 0)].tolist()
            raise ConversionError(
                "the coarse level has a vertex that the fine level does not have",
                value=f"({place[0]:g}, {place[1]:g}, {place[2]:g})",
                hint="coarse faces may only use corners of fine faces: snap it to one",
            )
        vertex = corners.reshape(-1, 3)
        self._report_coarse_uv(plan.edited.triangles, fresh, vertex)
        # a moved face keeps its row and its corner order
        turned = np.take_along_axis(vertex[: len(loose)], turn, axis=1)
        self.dirty[rows] |= (self.vertex[rows] != turned).any(axis=1)
        self.vertex[rows] = turned
        self.alive[plan.lost] = False
        self._append(plan, plan.fresh, vertex[len(loose) :], COARSE)

    def _report_coarse_uv(self, triangles: TriangleList, rows: I64, vertex: I64) -> None:
        """Report coarse faces, (n,), whose coordinates are not those of their vertices, (n, 3)."""
        apart = np.zeros(len(rows), np.bool_)
        if triangles.uv0 is not None:
            apart |= (self.vertices["uv0"][vertex] != triangles.uv0[rows]).any(axis=(1, 2))
        if triangles.extra is not None:
            words = micro_uv_words(triangles.extra[rows])
            apart |= (self.vertices["micro_uv"][vertex] != words).any(axis=(1, 2))
        report_coarse_vertices(self.plan, int(apart.sum()), "texture coordinates")

    def _assign_squares(self) -> None:
        """Every face that is new or moved must lie in one square, borders included."""
        rows = np.flatnonzero(self.dirty & self.alive)
        points = self.vertices["position"][self.vertex[rows]][..., :2].astype(np.float64)
        grid = self.old.grid
        before = self.square[rows]
        stays = (before >= 0) & ~grid.outside(points, np.maximum(before, 0)).any(axis=(1, 2))
        other = grid.squares_at(points.mean(axis=1))
        target = np.where(stays, before, other)
        bad = ~stays & grid.outside(points, other).any(axis=(1, 2))
        if bad.any():
            at = int(np.argmax(bad))
            row, place = int(rows[at]), points[at].mean(axis=0)
            raise ConversionError(
                "a face crosses its square's border",
                value=f"{self._name(row)} round ({place[0]:g}, {place[1]:g})"
                + (f", and {int(bad.sum()) - 1} more" if bad.sum() > 1 else ""),
                expected=f"inside square {int(other[at])} of {grid.across} x {grid.down}, "
                f"{grid.size[0]:g} x {grid.size[1]:g} units each",
                hint="cut it at the border, or move its corners back",
            )
        self.square[rows] = target

    def _name(self, row: int) -> str:
        owner = int(self.owner[row])
        return f"face {row}" if owner < 0 else f"a face of {in_words(self.plan.names[owner])}"

    def _finished(self, touched: Bools) -> tuple[Terrain, list[dict[str, str]]]:
        old = self.old
        same_faces = bool(self.alive.all()) and len(self.faces) == len(old.faces)
        same_faces &= bool((self.square[: len(old.faces)] == old.square_of_face).all())
        order = np.arange(len(self.faces)) if same_faces else self._layout()
        faces, vertex = self.faces[order], self.vertex[order]
        level, square = self.level[order], self.square[order]
        origin = np.where(order < len(old.faces), order, -1)
        named, vertices = self._used_vertices(vertex)
        if len(faces) > MOST_FACES:
            raise too_many("faces", len(faces), MOST_FACES)
        faces["vertex"] = named
        fresh_shape = touched[order] | (origin < 0) | self._revertexed(order)
        corners = np.ascontiguousarray(vertices["position"][named])
        if fresh_shape.any():
            rows = np.flatnonzero(fresh_shape)
            normals, _ = triangle_normals(corners[rows], vertices["normal"][named[rows]])
            faces["normal"][rows] = normals
        layout = Layout(origin, level, square, fresh_shape, corners, same_faces)
        if fresh_shape.any() or not same_faces:
            relink(faces, old, layout)
        out = replace(old, header=old.header.copy()).with_table(_T.SLOTS, old.slots.copy())
        for name, stream in STREAMS.items():
            if stream in old.streams:
                out.streams[stream] = np.ascontiguousarray(vertices[name])
        out.streams[_T.FACES] = faces
        changed = changed_squares(old, layout)
        if not same_faces:
            slot_runs(out, layout)
        boxes(out, changed, layout)
        out.streams[_T.DRAW_ORDER] = draw_order(out, old, layout)
        statuses = [
            {"what": "square", "name": str(number), "status": "rebuilt", "reason": "edited"}
            for number in changed.tolist()
        ]
        return out, statuses

    def _layout(self) -> I64:
        """Rows of the new face table: by level and square, stored faces in their order first."""
        rows = np.flatnonzero(self.alive)
        taken = np.unique(self.square[rows])
        for level in (FINE, COARSE):
            slots = self.old.square_slots(level)
            used = np.unique(self.square[rows[self.level[rows] == level]])
            if (slots[used] < 0).any() or len(np.unique(slots[used])) != len(used):
                raise ConversionError(
                    "squares of this terrain have no slots of their own",
                    value=f"square {int(used[0])} of {len(taken)}",
                    hint="only vertices and materials of such a terrain can change",
                )
        return rows[np.lexsort([rows, self.square[rows], self.level[rows]])]

    def _revertexed(self, order: I64) -> Bools:
        """Faces that have other vertices than before."""
        out = np.zeros(len(order), np.bool_)
        stored = order < len(self.old.faces)
        before = self.old.faces["vertex"][order[stored]]
        out[stored] = (self.vertex[order[stored]] != before).any(axis=1)
        return out

    def _used_vertices(self, vertex: I64) -> tuple[U16, Records]:
        """Drop vertices that lost their last face; those that never had one stay."""
        used = np.zeros(len(self.vertices), np.bool_)
        used[vertex] = True
        had = np.zeros(len(self.vertices), np.bool_)
        had[self.old.faces["vertex"]] = True
        had[len(self.old.positions) :] = True
        keep = used | ~had
        if (count := int(keep.sum())) > MOST_VERTICES:
            raise too_many("vertices", count, MOST_VERTICES)
        return (np.cumsum(keep) - 1)[vertex].astype(np.uint16), self.vertices[keep]


def _with_second(flags: U32, second: I64) -> U32:
    """Flags whose bit 0x4 states that there is a second material."""
    bit = np.uint32(FaceFlag.SECOND_MATERIAL)
    return np.where(second != NO_MATERIAL, flags | bit, flags & ~bit).astype(np.uint32)
