"""What the glTF of a unit or mission shows besides its records, so that edits of it are noticed.

A unit or mission places models and does not change them. Kept as text by key:

- ``rows``: objects that are shown;
- ``hosted ROW``: where an object stands that starts in a building;
- ``terrain``: the digest of its mesh;
- ``node KEY NODE``: a node of a model: the digest of its mesh, its place;
- ``point KEY ROW``: the place of a control point;
- ``component PATH ROW``: a component of a unit of a mission;
- ``material NUMBER``: the name of a material, in the order of the sidecar's ``shown``.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from ..formats.names import without_number
from ..formats.terrain import FINE
from .assembly import AssembledModel, Assembly, Pose
from .extras import NodeExtras
from .scene import Primitive, Streams
from .terrain import TerrainScene

#: Instead of the digest of a mesh where there is none.
NO_MESH = "-"
#: The key of the digest of the terrain's mesh.
TERRAIN = "terrain"


def shown_inside(assembly: Assembly, cell: tuple[int, int]) -> dict[str, str]:
    """Return what the export of an assembly shows besides the records.

    Args:
        assembly: what is shown.
        cell: level of detail and group of each model.
    """
    out: dict[str, str] = {}
    rows = []
    texts: dict[int, list[str]] = {}
    for placement in assembly.placements:
        extras = placement.extras
        if extras.get("kind") == "object":
            rows.append(extras["index"])
            if extras.get("hosted"):
                out[f"hosted {extras['index']}"] = pose_text(placement.pose)
        if placement.model is not None:
            if placement.model not in texts:
                texts[placement.model] = _node_texts(assembly.models[placement.model], cell)
            key = str(extras.get("key", extras.get("path", ""))).lower()
            for node, text in enumerate(texts[placement.model]):
                out[f"node {key} {node}"] = text
            for point in assembly.models[placement.model].scene.points:
                place = Pose(np.array(point.position, np.float64))
                out[f"point {key} {point.row}"] = pose_text(place)
        owner = placement
        while owner.extras.get("kind") == "component" and owner.parent >= 0:
            owner = assembly.placements[owner.parent]
        if owner is not placement and owner.extras.get("kind") == "object":
            path = str(owner.extras["path"]).lower()
            out[f"component {path} {extras['index']}"] = component_text(extras)
    if assembly.terrain is not None:
        out[TERRAIN] = _terrain_digest(assembly.terrain[0])
    if rows:
        out["rows"] = " ".join(map(str, rows))
    return out


def component_text(extras: NodeExtras) -> str:
    """Return what the extras of a component state, as text."""
    return " ".join(str(extras.get(key)) for key in ("key", "class", "attach", "label"))


def material_texts(names: Sequence[str]) -> dict[str, str]:
    """Return the names of a document's materials, by key."""
    return {f"material {i}": name for i, name in enumerate(names)}


def material_names(inside: Mapping[str, str]) -> list[str]:
    """Return the names that :func:`material_texts` states, in order."""
    numbers = itertools.takewhile(lambda i: f"material {i}" in inside, itertools.count())
    return [inside[f"material {i}"] for i in numbers]


def _node_texts(model: AssembledModel, cell: tuple[int, int]) -> list[str]:
    """A text for each node of a model: the digest of its mesh, and its place."""
    scene = model.scene
    names = [material.name for material in scene.materials]
    digests = {
        part.node: mesh_digest(scene.streams, scene.meshes[part.mesh].primitives, names)
        for part in scene.parts
        if (part.lod, part.group) == cell and not scene.nodes[part.node].cockpit
    }
    return [
        f"{digests.get(i, NO_MESH)} "
        + pose_text(Pose(node.translation.astype(np.float64), node.rotation))
        for i, node in enumerate(scene.nodes)
    ]


def _terrain_digest(scene: TerrainScene) -> str:
    """The digest of the fine level."""
    indices = [np.empty(0, np.uint16)]
    primitives, start = [], 0
    for pair, rows in scene.primitives[FINE]:
        indices.append(scene.vertex[rows].reshape(-1))
        count = len(indices[-1])
        primitives.append(Primitive(pair, 0, len(scene.positions), start, count))
        start += count
    streams = Streams(scene.positions, np.concatenate(indices), uv0=scene.uv0)
    return mesh_digest(streams, primitives, [pair.name for pair in scene.material_pairs])


def pose_text(pose: Pose) -> str:
    """Return a place without scale as text."""
    return " ".join(f"{value:.9g}" for value in (*pose.translation, *pose.rotation))


def read_pose(text: str) -> Pose | None:
    """Return the place that a text of :func:`pose_text` states; ``None``: it states none."""
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        return None
    if values.shape != (7,) or not np.isfinite(values).all() or not values[3:].any():
        return None
    return Pose(values[:3], values[3:] / np.linalg.norm(values[3:]))


def hosted_places(inside: Mapping[str, str]) -> dict[int, Pose]:
    """Return where objects were shown that start in a building, by row."""
    found = {}
    for key, text in inside.items():
        kind, _, row = key.partition(" ")
        if kind == "hosted" and row.isdecimal() and (pose := read_pose(text)) is not None:
            found[int(row)] = pose
    return found


def mesh_digest(streams: Streams, primitives: Sequence[Primitive], materials: Sequence[str]) -> str:
    """Return a digest of what a mesh shows.

    That is triangles: positions, texture coordinates, materials. Their order does not count, nor do
    degenerate and repeated triangles, nor normals: an editor changes these by itself.

    Args:
        streams: of all meshes.
        primitives: the mesh's.
        materials: names; a ``.001`` does not count.
    """
    corners, names = [], []
    for one in primitives:
        window = slice(one.index_start, one.index_start + one.index_count - one.index_count % 3)
        rows = streams.indices[window].astype(np.int64) + one.vertex_start
        positions = streams.positions[rows].astype("<f4") + np.float32(0)
        uv = np.zeros((len(rows), 2)) if streams.uv0 is None else streams.uv0[rows]
        words = np.round(np.clip(uv.astype(np.float64) * 1024, -1e9, 1e9)).astype("<i4")
        corners.append(np.concatenate([positions.view("<i4"), words], axis=1).reshape(-1, 3, 5))
        named = 0 <= one.material < len(materials)
        name = without_number(materials[one.material]) if named else ""
        names += [name] * (len(rows) // 3)
    if not names:
        return NO_MESH
    known, material = np.unique(np.array(names), return_inverse=True)
    triangles = _triangles(np.concatenate(corners), material)
    if not triangles:
        return NO_MESH
    digest = hashlib.sha256("\n".join(known.tolist()).encode() + b"\n" + triangles)
    return digest.hexdigest()[:32]


def _triangles(corners: np.ndarray, material: np.ndarray) -> bytes:
    """The distinct triangles of (n, 3, 5) corners, each from its smallest corner, sorted."""
    _, places = np.unique(corners[..., :3].reshape(-1, 3), axis=0, return_inverse=True)
    a, b, c = places.reshape(-1, 3).T
    kept = (a != b) & (b != c) & (c != a)
    corners, material = corners[kept], material[kept]
    if not len(corners):
        return b""
    used, ends = np.unique(corners.reshape(-1, 5), axis=0, return_inverse=True)
    ends = ends.reshape(-1, 3)
    first = ends.argmin(axis=1)
    turned = np.take_along_axis(ends, (first[:, None] + np.arange(3)) % 3, axis=1)
    _, group, count = np.unique(
        np.sort(ends, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    twice = count[group.reshape(-1)] > 1  # an editor keeps one of them, either way round
    turned[twice] = np.sort(turned[twice], axis=1)
    rows = np.unique(np.concatenate([turned, material.reshape(-1, 1)], axis=1), axis=0)
    return used.astype("<i4").tobytes() + rows.astype("<i8").tobytes()
