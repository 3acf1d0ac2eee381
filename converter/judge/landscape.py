"""Whether a written terrain or areal map shows what an edited file shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..edits.areal_changes import PARTS, class_of
from ..edits.nodes import world_matrices
from ..errors import called, in_words, plural
from ..formats.areal_map import ArealMap
from ..formats.terrain import COARSE, FINE, NO_MATERIAL
from ..numeric.arrays import F64, I64
from ..scene.decode import TerrainScene
from ..scene.scene import ImportedScene
from .compare import Comparison
from .difference import LOST, Difference
from .shown import Shown, Thing, Triangles, WrittenLooks, looks_of_file, named, shown_at_once, triangles_of, ways


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
    """Return what a written areal map shows otherwise than the file."""
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
        names = (where, f"areal of class {class_id}", "areal map")
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
        first = seen.streams.corners(seen.meshes[node.mesh].primitives)[:, 0]
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


#: What objects and reports call the levels.
_OBJECTS, _LEVELS = ("terrain", "coarse"), ("fine level", "coarse level")
#: What a pair of grounds states besides its rows.
_MICRO = ("microtexture", "microtexture2")
#: The channel of colours that a blend is in.
_BLEND = np.array([True, False, False, False])


def differences_of_terrain(
    seen: ImportedScene, written: TerrainScene, *, absent: bool, looks: WrittenLooks | None = None
) -> list[Difference]:
    """Return what a written terrain shows otherwise than the file."""
    file, result = _file(seen if looks is None else looks.in_rectangles(seen)), _result(written)
    if looks is not None:
        file.looks = looks_of_file(seen.surfaces)
        result.looks = looks.of(named([pair.name for pair in written.material_pairs]))
    comparison = Comparison(file, result, absent)
    for cell in sorted(file.cells.keys() | result.cells.keys()):
        if cell in file.cells or not absent:
            comparison.cell(cell)
    comparison.found += [LOST["vertex colours"]] if _is_painted(seen) else []
    return [*comparison.found, *_objects(seen)]


def _objects(seen: ImportedScene) -> Iterator[Difference]:
    """What the file of a level has besides faces: names of its objects; outside of missions empties and motion."""

    def differs(where: str, of: Sequence[str], text: str, why: str, instead: str) -> Difference:
        names = tuple(name.casefold() for name in of if name)
        return Difference(where, "node", text, names, reason=(why, instead))

    for level, name in enumerate(_OBJECTS):
        mine = [item.name for item in seen.nodes if item.extras.get("level") == level]
        if mine and all(name not in ways(one) for one in mine):
            text = f"was renamed to {in_words(mine[0])}"
            yield differs(
                f"node {called(name)}", (name, mine[0]), text, "a terrain has no names of objects", "name it as before"
            )
    above = {item.parent for item in seen.nodes}
    for i, item in enumerate(seen.nodes) if seen.placed is None else ():
        if item.mesh < 0 and i not in above:
            where = f"node {called(item.name)}"
            yield differs(where, (item.name,), "is new", "a terrain has no objects without faces", "delete it")
    tracks = [track for clip in [*seen.clips, *seen.ranges] for track in clip.tracks]
    if tracks and seen.placed is None:
        moved = [seen.nodes[track.node].name for track in tracks]
        yield differs(
            f"animation of node {called(moved[0])}", moved, "is new", "a terrain has no animation", "delete it"
        )


def _is_painted(seen: ImportedScene) -> bool:
    """Whether a level has vertex colours besides its blend; white ones show nothing."""
    colours = seen.streams.colours
    meshes = [seen.meshes[item.mesh] for item in seen.nodes if item.mesh >= 0]
    rows = [slice(p.vertex_start, p.vertex_start + p.vertex_count) for mesh in meshes for p in mesh.primitives]
    return colours is not None and any((colours[at] != 255).any() for at in rows)


def _file(seen: ImportedScene) -> Shown:
    levels = [_level(item.name, item.extras.get("level")) for item in seen.nodes]
    names = [(item.name, _OBJECTS[at], _LEVELS[at]) for item, at in zip(seen.nodes, levels, strict=True)]
    blend = seen.streams.blend
    streams = replace(seen.streams, colours=None if blend is None else _as_colours(blend))
    cells = [(level, 0) for level in levels]
    out = shown_at_once(replace(seen, streams=streams), world_matrices(seen.nodes), cells, names)
    for material, stated in enumerate(seen.material_extras):
        out.facts_of_materials[material] = {name: str(value) for name, value in stated.items() if name in _MICRO}
        if "first" in stated:
            out.rows[material] = stated["first"] << 8 | stated.get("second", NO_MATERIAL)
    for (level, _), found in out.cells.items():
        if level == FINE and found.colours is not None:
            found.known = np.tile(_BLEND, (len(found), 1))
        else:
            found.colours = found.known = None
    return out


def _level(name: str, stated: int | None) -> int:
    if stated is not None:
        return COARSE if stated == COARSE else FINE
    return COARSE if name.partition(".")[0] == _OBJECTS[COARSE] else FINE


def _as_colours(blend: np.ndarray) -> np.ndarray:
    """Weights of second materials as the first channel of colours. (...) -> (..., 4)."""
    out = np.zeros((*blend.shape, 4), np.uint8)
    out[..., 0] = np.round(np.clip(blend, 0, 1) * 255)
    return out


def _result(scene: TerrainScene) -> Shown:
    out = Shown(materials=[{pair.name.casefold()} for pair in scene.material_pairs])
    for level, primitives in enumerate(scene.primitives):
        rows = np.concatenate([np.empty(0, np.int64), *(rows for _, rows in primitives)])
        vertex = scene.vertex[rows].astype(np.int64)
        material = np.repeat(np.array([pair for pair, _ in primitives], np.int64), [len(r) for _, r in primitives])
        found = Triangles(
            scene.positions[vertex].astype(np.float64),
            np.full(len(rows), len(out.things)),
            material,
            scene.normals[vertex].astype(np.float64) if level == FINE else None,
            scene.uv0[vertex],
            scene.micro_uv[vertex],
        )
        if scene.blend is not None and level == FINE:
            found.colours, found.known = _as_colours(scene.blend[vertex]), np.tile(_BLEND, (len(vertex), 1))
        out.cells[level, 0] = found
        names = (_OBJECTS[level], _LEVELS[level])
        out.things.append(Thing(_OBJECTS[level], -1, np.eye(4)[None], {}, names))
    out.rows, out.rows_count = [pair.first << 8 | pair.second for pair in scene.material_pairs], True
    out.known = set[str]().union(*out.materials)
    out.facts_of_materials = [
        dict(zip(_MICRO, (pair.micro, pair.micro2), strict=True)) for pair in scene.material_pairs
    ]
    return out
