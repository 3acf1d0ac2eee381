"""What an areal map shows: the borders of areals, their classes and flags, however a file cuts them into triangles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..edits.areal_polygons import PARTS, class_of
from ..edits.nodes import world_matrices
from ..errors import plural
from ..formats.areal_map import ArealMap
from ..scene.scene import ImportedScene
from .difference import Difference
from .shown import F64, I64, triangles_of, vertices_of


@dataclass(frozen=True)
class Borders:
    """E edges of areals, in no order.

    Attributes:
        ends: (E, 2, 3) float64, game axes; the end of the smaller coordinates is first.
        areal: (E,) the areal that it is of; -1: a new one.
        class_id: (E,) its class.
        logic: (E,) its flag, -1 = not stated.
    """

    ends: F64
    areal: I64
    class_id: I64
    logic: I64


def differences_of_areal_map(seen: ImportedScene, written: ArealMap) -> list[Difference]:
    """Return what a written areal map shows otherwise than the file.

    Args:
        seen: the file as it was read.
        written: the result, read from its bytes.
    """
    if seen.streams.areal is None:
        return []  # nothing says which areal is where
    file, result = _of_file(seen, len(written.records)), _of_map(written)
    pairs = np.array([*_pairs(file, result)], np.int64).reshape(-1, 2)
    found: list[Difference] = []
    for side, rows, there, other in ((file, pairs[:, 0], "file", "game"), (result, pairs[:, 1], "game", "file")):
        left = np.ones(len(side.areal), np.bool_)
        left[rows] = False
        _tell(found, side, left, f"in the {there} that are not in the {other}, or are of another class there")
    stated = file.logic[pairs[:, 0]]
    other_flag = np.zeros(len(file.areal), np.bool_)
    other_flag[pairs[(stated >= 0) & (stated != result.logic[pairs[:, 1]]), 0]] = True
    _tell(found, file, other_flag, "with another logic flag in the game")
    return found


def _tell(found: list[Difference], side: Borders, chosen: np.ndarray, what: str) -> None:
    """Add a difference for each areal that has such edges."""
    columns = np.stack([side.areal, side.class_id], axis=1)[chosen]
    for (areal, class_id), count in zip(
        *(a.tolist() for a in np.unique(columns, axis=0, return_counts=True)), strict=True
    ):
        where = f"areal {areal}" if areal >= 0 else f"new areal of class {class_id}"
        names = frozenset({where, "areal map", f"areal of class {class_id}"})
        found.append(Difference(where, "place", f"has {plural(count, 'edge')} {what}", names, count))


def _pairs(file: Borders, result: Borders) -> Iterator[tuple[int, int]]:
    """Edges in one place, of one class; of one flag where there are such."""
    free: dict[tuple[bytes, int], list[int]] = {}
    for k, end in enumerate(result.ends.astype(np.float32)):
        free.setdefault((end.tobytes(), int(result.class_id[k])), []).append(k)
    left = []
    for i, end in enumerate(file.ends.astype(np.float32)):
        group = free.get((end.tobytes(), int(file.class_id[i])), [])
        if group:
            k = next((k for k in group if result.logic[k] == file.logic[i]), group[0])
            group.remove(k)
            yield i, k
        else:
            left.append(i)
    rest = np.array([k for group in free.values() for k in group], np.int64)
    rest = rest[np.argsort(result.ends[rest].sum(axis=(1, 2)), kind="stable")]
    along = result.ends[rest].sum(axis=(1, 2))
    near = 4 * float(np.spacing(np.float32(np.abs(file.ends).max(initial=1))))
    taken = np.zeros(len(rest), np.bool_)
    for i in left:  # what rounding moved
        end = file.ends[i]
        some = np.arange(*np.searchsorted(along, (end.sum() - 6 * near, end.sum() + 6 * near)))
        theirs = result.ends[rest[some]]
        apart = np.minimum(*(np.abs(theirs - e).max(axis=(1, 2)) for e in (end, end[::-1])))
        fits = some[(apart <= near) & ~taken[some] & (result.class_id[rest[some]] == file.class_id[i])]
        if len(fits):
            taken[fits[0]] = True
            yield i, int(rest[fits[0]])


def _of_file(seen: ImportedScene, count: int) -> Borders:
    """What triangles of one areal and class do not share."""
    assert seen.streams.areal is not None
    world = world_matrices(seen.nodes)
    by_material = [class_of(m.name, e) for m, e in zip(seen.materials, seen.material_extras, strict=True)]
    corners, facts = [np.empty((0, 3, 3))], [np.empty((0, 3))]
    for i, node in enumerate(seen.nodes):
        if node.mesh < 0 or not seen.meshes[node.mesh].drawn:
            continue
        one = triangles_of(seen.streams, seen.meshes[node.mesh], 0)
        class_ids = np.array([*by_material, -1], np.int64)[one.material]
        class_ids[class_ids < 0] = class_of(node.name, node.extras)
        first = vertices_of(seen.streams, seen.meshes[node.mesh])[:, 0]
        number = np.rint(seen.streams.areal[first].astype(np.float64) * PARTS) / PARTS
        flag = np.full(len(first), -1.0) if seen.streams.logic is None else seen.streams.logic[first]
        corners.append(one.local @ world[i, :3, :3].T + world[i, :3, 3])
        facts.append(np.stack([number, class_ids, flag], axis=1))
    points, rows = np.concatenate(corners).astype(np.float32) + np.float32(0), np.concatenate(facts)
    _, ids = np.unique(points.reshape(-1, 3), axis=0, return_inverse=True)
    ids = ids.reshape(-1, 3)
    edges = np.stack([ids, ids[:, [1, 2, 0]]], axis=2).reshape(-1, 2)
    ends = np.stack([points, points[:, [1, 2, 0]]], axis=2).reshape(-1, 2, 3).astype(np.float64)
    owner = np.repeat(np.arange(len(points)), 3)
    _, group = np.unique(rows[:, :2], axis=0, return_inverse=True)
    keys = np.concatenate([group.reshape(-1)[owner][:, None], np.sort(edges, axis=1)], axis=1)
    _, first, of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    net = np.bincount(of.reshape(-1), np.sign(edges[:, 1] - edges[:, 0]), len(first))
    kept = first[net != 0]
    number, class_id, flag = rows[owner[kept]].T
    areal = np.floor(number).astype(np.int64) - 1
    areal[(areal < 0) | (areal >= count)] = -1
    return Borders(_sorted(ends[kept]), areal, class_id.astype(np.int64), np.where(flag < 0, -1, flag).astype(np.int64))


def _of_map(written: ArealMap) -> Borders:
    ends = np.stack([written.vertices, written.vertices[written.following]], axis=1).astype(np.float64)
    records = written.records[written.owner]
    long = np.abs(ends[:, 0] - ends[:, 1]).max(axis=1, initial=0) > 0
    facts = (records[name][long].astype(np.int64) for name in ("class_id", "logic"))
    return Borders(_sorted(ends[long]), written.owner[long].astype(np.int64), *facts)


def _sorted(ends: F64) -> F64:
    """Edges whose end of the smaller coordinates is first. (E, 2, 3)."""
    order = np.lexsort(np.moveaxis(ends, 2, 0)[::-1], axis=1)
    return np.take_along_axis(ends, order[..., None], axis=1) + 0.0
