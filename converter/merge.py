"""What an edited scene changed, compared with the model in the sidecar.

Comparison is in quantised space (``gltf-mapping`` page, The way back): positions bit for bit, UV
by word, normals within 0.1 degree, rotations up to sign and 1e-6. The order of vertices and
triangles, and how vertices are shared, is not compared: a part is a set of corner triples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.quantize import encode_lightmap_uv, encode_uv
from converter.scene import Node, Scene

_NORMAL_COSINE = float(np.cos(np.radians(0.1)))
_ROTATION = 1e-6


@dataclass(frozen=True)
class Change:
    """One difference: where (a node, part or the clip) and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def changes(given: Scene, kept: Scene, shown: tuple[int, int] = (0, 0)) -> list[Change]:
    """Every difference between a scene that came back and the one in the sidecar.

    Args:
        given: from the glTF file.
        kept: decoded from the sidecar's model with the options of the glTF file.
        shown: the cell (lod, group) that the file's default scene shows.
    """
    out: list[Change] = []
    node_of = _match_nodes(given, kept, out)
    for i, k in node_of.items():
        out += _node_changes(given, given.nodes[i], kept, kept.nodes[k], node_of)
    out += _part_changes(given, kept, node_of, shown)
    out += _track_changes(given, kept, node_of)
    return out


def _match_nodes(given: Scene, kept: Scene, out: list[Change]) -> dict[int, int]:
    """Given node -> kept node, by index, else by name."""
    by_index = {node.index: k for k, node in enumerate(kept.nodes) if node.index is not None}
    by_name = {node.name: k for k, node in enumerate(kept.nodes)}
    node_of: dict[int, int] = {}
    met: set[int] = set()
    for i, node in enumerate(given.nodes):
        k = by_index.get(node.index) if node.index is not None else by_name.get(node.name)
        if k is None or k in met:
            out.append(Change(f"node {node.name!r}", "is new"))
        else:
            node_of[i] = k
            met.add(k)
    out += [
        Change(f"node {node.name!r}", "is missing")
        for k, node in enumerate(kept.nodes)
        if k not in met
    ]
    return node_of


def _node_changes(
    given: Scene, node: Node, kept: Scene, old: Node, node_of: dict[int, int]
) -> list[Change]:
    what = []
    if node.name != old.name:
        what.append(f"renamed to {node.name!r}")
    parent = node_of.get(node.parent, -1)
    if parent != old.parent:
        name = kept.nodes[parent].name if parent >= 0 else None
        what.append(f"moved under {name!r}" if name else "moved to the root")
    if node.flags is not None and node.flags != old.flags:
        what.append(f"flags {old.flags} became {node.flags}")
    if node.index is not None and node.label != old.label:
        what.append(f"label {old.label!r} became {node.label!r}")
    if not np.array_equal(node.translation, old.translation.astype(np.float32)):
        what.append("translation changed")
    if not _same_rotations(node.rotation, old.rotation).all():
        what.append("rotation changed")
    return [Change(f"node {old.name!r}", text) for text in what]


def _same_rotations(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Equal up to sign and 1e-6 per component. (..., 4) -> (...)."""
    near = np.minimum(np.abs(a - b).max(-1), np.abs(a + b).max(-1))
    return np.asarray(near <= _ROTATION)


def _part_changes(
    given: Scene, kept: Scene, node_of: dict[int, int], shown: tuple[int, int]
) -> list[Change]:
    """Changed, new and missing parts; a scene of which nothing is in the input is kept."""
    new = {
        (node_of[p.node], p.lod, p.group): p.mesh
        for p in given.parts
        if p.node in node_of and given.triangle_count(p.mesh)
    }
    old = {(p.node, p.lod, p.group): p.mesh for p in kept.parts}
    views = {_view_of(kept, cell, shown) for cell in new} | {(*shown, False)}
    materials = _material_classes(given, kept)
    out = []
    for cell in sorted(new.keys() | old.keys()):
        where = f"part {kept.nodes[cell[0]].name!r} lod {cell[1]} group {cell[2]}"
        if cell not in old:
            out.append(Change(where, "is new"))
        elif cell not in new:
            if _view_of(kept, cell, shown) in views and cell[0] in node_of.values():
                out.append(Change(where, "is missing"))
        elif difference := _mesh_difference(given, new[cell], kept, old[cell], materials):
            out.append(Change(where, difference))
    return out


def _view_of(
    scene: Scene, cell: tuple[int, int, int], shown: tuple[int, int]
) -> tuple[int, int, bool]:
    """Which scene of the glTF file shows a cell: parts of one come and go together."""
    return cell[1], cell[2], scene.nodes[cell[0]].cockpit and cell[1:] == shown


def _mesh_difference(
    given: Scene, mesh: int, kept: Scene, old_mesh: int, classes: tuple[list[int], list[int]]
) -> str | None:
    """How two meshes differ as sets of corner triples, or ``None``."""
    new = _corners(given, mesh, kept, classes[0])
    old = _corners(kept, old_mesh, kept, classes[1])
    if len(new.material) != len(old.material):
        return f"{len(old.material)} triangles became {len(new.material)}"
    both = np.concatenate([new.words, old.words]).reshape(-1, new.words.shape[-1])
    _, identity = np.unique(both, axis=0, return_inverse=True)
    new_id, old_id = np.split(identity.reshape(-1, 3).astype(np.int64), 2)
    new_order, new_turn = _canonical(new_id, new)
    old_order, old_turn = _canonical(old_id, old)
    if not np.array_equal(
        new_id[new_order[:, None], new_turn], old_id[old_order[:, None], old_turn]
    ):
        return "positions or texture coordinates changed"
    if not np.array_equal(new.material[new_order], old.material[old_order]):
        return "materials changed"
    if new.normals is not None and old.normals is not None:
        a = new.normals[new_order[:, None], new_turn].astype(np.float64)
        b = old.normals[old_order[:, None], old_turn].astype(np.float64)
        cosine = np.einsum("tci,tci->tc", a, b)
        length = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
        if not (cosine >= _NORMAL_COSINE * length).all():
            return "normals changed"
    elif (new.normals is None) != (old.normals is None):
        return "normals were added or removed"
    return None


@dataclass
class _Corners:
    """Corners of T triangles: (T, 3, K) words, (T, 3, 3) normals, (T,) material."""

    words: NDArray[np.int64]
    normals: NDArray[np.float32] | None
    material: NDArray[np.int64]


def _corners(scene: Scene, mesh: int, kept: Scene, classes: list[int]) -> _Corners:
    streams = scene.streams
    primitives = scene.meshes[mesh].primitives
    vertex = np.concatenate(
        [
            streams.indices[p.index_start : p.index_start + p.index_count].astype(np.int64)
            + p.vertex_start
            for p in primitives
        ]
    ).reshape(-1, 3)
    material = np.repeat(
        [classes[p.material] if p.material >= 0 else -1 for p in primitives],
        [p.index_count // 3 for p in primitives],
    )
    columns: list[NDArray[Any]] = [(streams.positions[vertex] + np.float32(0)).view(np.int32)]
    reference = kept.streams
    if reference.uv0 is not None:
        columns.append(_or_zero(streams.uv0, vertex, 2, encode_uv))
    if reference.uv1 is not None and reference.uv0 is not None:
        columns.append(_or_zero(streams.uv1, vertex, 2, encode_lightmap_uv))
    if reference.colours is not None:
        absent = np.zeros((*vertex.shape, 4), np.int64)
        columns.append(absent if streams.colours is None else streams.colours[vertex])
    words = np.concatenate([column.astype(np.int64) for column in columns], axis=-1)
    normals = None if streams.normals is None else streams.normals[vertex]
    return _Corners(words, normals, material)


def _or_zero(values: Any, vertex: NDArray[np.int64], width: int, encode: Any) -> NDArray[Any]:
    if values is None:
        return np.full((*vertex.shape, width), 1 << 20, np.int64)
    words: NDArray[Any] = encode(values[vertex])[0]
    return words


def _material_classes(given: Scene, kept: Scene) -> tuple[list[int], list[int]]:
    """A class per given and per kept material: equal classes mean the same material.

    By the key in the extras; by name where a given material has lost its extras.
    """
    by_name = any(-1 in material.key for material in given.materials)
    names = [m.name if by_name else m.key for m in kept.materials]
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    new = [first.get(m.name if by_name else m.key, -1) for m in given.materials]
    return new, [first[name] for name in names]


def _canonical(
    identity: NDArray[np.int64], corners: _Corners
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of triangles, and a rotation of each one's corners, that depend on content alone.

    The rotation is the one with the smallest corner identities; ties between equal triangles
    are broken by material, then by normals.
    """
    turns = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    size = int(identity.max(initial=0)) + 1
    rolled = identity[:, turns]
    value = (rolled[..., 0] * size + rolled[..., 1]) * size + rolled[..., 2]
    turn = turns[value.argmin(axis=1)]
    keys = [corners.material, value.min(axis=1)]
    if corners.normals is not None:
        turned = np.take_along_axis(corners.normals, turn[..., None], axis=1)
        keys = [*np.round(turned.reshape(len(turned), 9).T, 2), *keys]
    order = np.lexsort(keys)
    return order, turn[order]


def _track_changes(given: Scene, kept: Scene, node_of: dict[int, int]) -> list[Change]:
    new = {node_of[t.node]: t for t in given.tracks if t.node in node_of}
    old = {t.node: t for t in kept.tracks}
    out = []
    for node in sorted(new.keys() | old.keys()):
        where = f"animation of node {kept.nodes[node].name!r}"
        if node not in new or node not in old:
            out.append(Change(where, "is missing" if node in old else "is new"))
            continue
        a, b = new[node], old[node]
        if len(a.frames) != len(b.frames) or np.abs(a.frames - b.frames).max(initial=0) > 1e-3:
            out.append(Change(where, "its key times changed"))
            continue
        for label, x, y in (
            ("translation", a.translations, b.translations),
            ("rotation", a.rotations, b.rotations),
        ):
            if x is None or y is None:
                out.append(Change(where, f"{label} channel is missing"))
                continue
            same = (
                (x == y).all(-1) if label == "translation" else _same_rotations(x, y)  # type: ignore[arg-type]
            )
            if not same.all():
                frame = b.frames[int(np.argmin(same))]
                out.append(Change(where, f"{label} changed at frame {frame:g}"))
    return out
