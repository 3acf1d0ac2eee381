"""Compare an areal map in a glTF file that does not number its areals with the stored one.

Without ``_MSH_AREAL`` (docs/reference/gltf.md) nobody knows which areal a triangle belongs to, so
that nothing is applied, and every difference is reported. Other files: ``areal_changes``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import plural, printable
from ..formats.areal_map import ArealMap
from ..formats.names import without_number
from ..numeric.adjacency import row_ids
from ..numeric.arrays import Ints
from ..numeric.triangulate import triangulate
from ..scene.scene import ImportedNode, ImportedScene, Part, Scene
from .identify_nodes import world_matrices
from .match_triangles import Match, TriangleList, concatenate, match, triangle_list

_PLACE_NOISE = 1e-6
_CLASS_NAME = re.compile(r"class_(\d+)")


def compare_areal_map(edited: ImportedScene, areals: ArealMap, reason: tuple[str, str]) -> None:
    """Report every difference between a file and the areal map in its sidecar.

    Args:
        edited: the file.
        areals: the sidecar's map.
        reason: why nothing is applied, and what to do.
    """
    _Comparison(edited, areals, reason).run()


class _Comparison:
    """A file and a map; ``classes``: ids of the map's classes."""

    def __init__(self, edited: ImportedScene, areals: ArealMap, reason: tuple[str, str]) -> None:
        self.why, self.instead = reason
        self.edited, self.areals, self.items = edited, areals, edited.nodes
        self.classes: list[int] = np.unique(areals.records["class_id"]).tolist()

    def run(self) -> None:
        class_of = [self._class(item) for item in self.items]
        self._objects(class_of)
        new, owner = self._shown()
        new.material = np.array([*class_of, -1], np.int64)[owner]
        old, areal = self._stored()
        found = match(new, old, [{k} for k in range(len(self.classes))])
        for k, number in enumerate(self.classes):
            where = f"areal map, node 'class_{number}'"
            lost = found.lost[old.material[found.lost] == k]
            fresh = np.flatnonzero((found.old_of < 0) & (new.material == k))
            self._shapes(where, areal[lost], new.positions[fresh])
            self._moved_in(where, found, areal, np.flatnonzero(new.material == k))
        for i in range(len(self.items)):
            mine = np.flatnonzero((owner == i) & (new.material < 0))
            if mine.size:
                where = f"areal map, object {printable(self.items[i].name)!r}"
                self._shapes(where, areal[:0], new.positions[mine])

    # -------------------------------------------------------------- objects

    def _class(self, item: ImportedNode) -> int:
        """Position of an object's class in ``classes``, -1 = none."""
        name = _CLASS_NAME.fullmatch(without_number(item.name))
        number = item.extras.get("class_id", int(name[1]) if name else -1)
        return self.classes.index(number) if number in self.classes else -1

    def _objects(self, class_of: Sequence[int]) -> None:
        """Objects that are missing, renamed, or stand elsewhere."""
        for number in set(range(len(self.classes))) - set(class_of):
            self._add(f"areal map, node 'class_{self.classes[number]}'", "is missing")
        borders = [i for i in self.items if i.extras.get("kind", i.name) == "borders"]
        if not borders and bool((self.areals.links["areal"] == -1).any()):
            self._add("areal map, node 'borders'", "is missing")
        apart = np.abs(world_matrices(self.items) - np.eye(4)).max(axis=(1, 2), initial=0)
        for item, k, away in zip(self.items, class_of, apart.tolist(), strict=True):
            label = f"class_{self.classes[k]}" if k >= 0 else item.name
            where = f"areal map, node {printable(label)!r}"
            if k >= 0 and without_number(item.name) != label:
                self._add(where, f"was renamed to {printable(item.name)!r}")
            if away > _PLACE_NOISE:
                self._add(where, "was moved, turned or scaled")

    # -------------------------------------------------------------- triangles

    def _shown(self) -> tuple[TriangleList, Ints]:
        """The file's triangles in the frames of their objects, and the object of each."""
        edited = self.edited
        scene = Scene(edited.name, edited.streams, meshes=edited.meshes)
        drawn = [i for i, m in enumerate(self.items) if m.mesh >= 0 and edited.meshes[m.mesh].drawn]
        lists = [triangle_list(scene, Part(i, 0, 0, self.items[i].mesh), lightmap=False) for i in drawn]
        if not lists:
            none = np.empty((0, 3), np.int64)
            empty = np.empty((0, 3, 3), np.float32)
            return TriangleList(empty, None, None, None, none[:, 0], none, False), none[:, 0]
        joined = concatenate(lists)
        joined.normals = joined.uv0 = joined.extra = None
        return joined, np.repeat(drawn, [len(one) for one in lists])

    def _stored(self) -> tuple[TriangleList, Ints]:
        """The map's triangles as the export makes them, and the areal of each."""
        areals = self.areals
        start = areals.vertex_start
        corners = triangulate(areals.vertices[:, :2].astype(np.float64), start)
        areal = np.repeat(np.arange(len(areals.records)), np.maximum(np.diff(start) - 2, 0))
        material = np.searchsorted(self.classes, areals.records["class_id"][areal])
        points = areals.vertices[corners]
        return TriangleList(points, None, None, None, material, corners, False), areal

    def _shapes(self, where: str, lost: Ints, fresh: NDArray[np.float32]) -> None:
        """Report areals that lost triangles, (L,), and triangles that are new, (T, 3, 3)."""
        if not lost.size and not len(fresh):
            return
        what = []
        if lost.size:
            gone = np.unique(lost)
            several = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
            areals = f"areal {gone[0]}{several}"
            what.append(f"shape of {areals} differs" if len(fresh) else f"{areals} misses faces")
        if len(fresh):
            corners = np.unique(fresh.reshape(-1, 3) + np.float32(0), axis=0)
            moved = corners[~self._is_stored(corners)]
            place = (moved if len(moved) else corners)[0]
            text = ", ".join(f"{value:g}" for value in place.tolist())
            what.append(
                f"{plural(len(fresh), 'triangle')} with {plural(len(moved), 'corner')} that the "
                f"map does not have, at ({text}), nearest areal {self._nearest(place)}"
            )
        self._add(where, "; ".join(what))

    def _moved_in(self, where: str, found: Match, areal: Ints, rows: Ints) -> None:
        """Report areals that came from another class. ``rows``: triangles of the class."""
        other = rows[found.materials_differ[rows]]
        came = np.unique(areal[found.old_of[other]])
        if came.size:
            before = int(self.areals.records["class_id"][came[0]])
            several = f" and {len(came) - 1} more" if len(came) > 1 else ""
            self._add(where, f"has areal {came[0]}{several} of class {before}")

    def _is_stored(self, points: NDArray[np.float32]) -> NDArray[np.bool_]:
        both = np.concatenate([points, self.areals.vertices]) + np.float32(0)
        ids = row_ids(both.view(np.int32).astype(np.int64).view(np.uint64))
        return np.isin(ids[: len(points)], ids[len(points) :])

    def _nearest(self, point: NDArray[np.float32]) -> int:
        """The areal of the stored vertex that is nearest to a point."""
        away = self.areals.vertices.astype(np.float64) - point
        return int(self.areals.owner[np.argmin((away**2).sum(axis=1))]) if len(away) else -1

    def _add(self, where: str, what: str) -> None:
        self.edited.report.skipped(where, what, self.why, self.instead)
