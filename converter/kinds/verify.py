"""What was written, read again and compared with the file it came from (``--verify``).

Geometry in quantised space, in the frame of each node; where the nodes stand in the model at every
whole and half frame; links and windows of what was rebuilt. A difference beyond quantisation is an
error before the output appears.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks.model import require_valid
from ..checks.model_tables import batch_window, triangle_mutual
from ..edits.nodes import Identified
from ..edits.poses import poses_at
from ..edits.triangles import match, triangle_list
from ..errors import ConversionError, printable
from ..findings import Finding
from ..formats.model import MshModel
from ..numeric.pose import parents_first, rotation, rotation_matrix
from ..numeric.quantize import normalise
from ..numeric.sampler import Tracks, sample
from ..scene import dialect as dialects
from ..scene.decode import decode
from ..scene.dialect import Dialect
from ..scene.scene import Node

#: Radians: four quaternion components that are off by the key's rounding and key reduction's.
_ANGLE = 4.8e-4
#: Of the model's size.
_POSITION = 3e-5
#: Rotations a half turn apart have this dot product at most, with their rounding.
_HALF_TURN = 5e-4
#: Nodes times frames that are composed at once.
_BLOCK = 1 << 16
#: Nodes times frames that are compared in all; of longer clips of more nodes every nth block.
_MOST_POSES = 1 << 20


def verify(
    model: MshModel,
    identified: Identified,
    rows: dict[int, int],
    dialect: Dialect,
    before: MshModel | None = None,
    *,
    shifted: Mapping[tuple[int, int, int], NDArray[np.int16]] | None = None,
) -> None:
    """Compare a model that was written with the scene it was made of.

    Args:
        model: read again from the bytes.
        identified: the file's scene.
        rows: node of the file -> row in Res1.
        dialect: the model's.
        shifted: texture coordinates of cells that were shifted by whole turns, (T, 3, 2).
        before: the stored model; what was not strict there need not be strict here.

    Raises:
        ConversionError: unsound, or it shows something else.
    """
    require_valid(model)
    known = set() if before is None else {finding.code for finding in _about_links(before)}
    for finding in _about_links(model):
        if finding.code not in known:
            raise ConversionError(f"verification failed: {finding}")
    scene = decode(model, dialect, "written")
    if model.legacy:
        return
    lightmap = dialect is Dialect.RETAIL
    written = {(p.node, p.lod, p.group): p for p in scene.parts}
    given = identified.scene
    for part in given.parts:
        cell = (rows[part.node], part.lod, part.group)
        triangles = triangle_list(given, part, lightmap=lightmap)
        triangles.uv0 = (shifted or {}).get(part[:3], triangles.uv0)
        if not len(triangles):
            continue
        where = f"part {printable(given.nodes[part.node].name)!r} lod {part.lod} group {part.group}"
        raw = triangles.positions + np.float32(0)
        flat = (raw == raw[:, [2, 0, 1]]).all(axis=-1).any(axis=1)
        if cell not in written:
            if flat.all():
                continue
            raise ConversionError(f"verification failed: {where} is not in what was written")
        result = match(triangles, triangle_list(scene, written[cell], lightmap=lightmap), ())
        missing = (result.old_of < 0) & ~flat
        if missing.any() or result.lost.size:
            raise ConversionError(
                f"verification failed: {where} came out with other triangles",
                value=f"{int(missing.sum())} missing, {len(result.lost)} too many",
            )
        if result.normals_differ.any():
            raise ConversionError(
                f"verification failed: {where} came out with other normals",
                value=f"{int(result.normals_differ.sum())} triangles",
            )
    _poses(model, identified, rows, dialect, before)


# ------------------------------------------------------------------ poses


def _about_links(model: MshModel) -> list[Finding]:
    return [*triangle_mutual(model), *batch_window(model)]


def _poses(
    model: MshModel, identified: Identified, rows: dict[int, int], dialect: Dialect, before: MshModel | None
) -> None:
    """Compare where the nodes stand in the model, at every whole and half frame, or at so many of
    them as ``_MOST_POSES`` allows.

    What is expected comes from the file's own nodes, with their scales and mirrors; the game has
    keys at whole frames only, so half a frame is the middle between two.
    """
    tracks = dialects.tracks(model, dialect)
    if tracks is None or not identified.scene.nodes:
        return
    if tracks.animated.size and identified.scene.tracks:
        wanted = identified.scene.frame_count
        if tracks.frame_count != wanted:
            raise ConversionError(
                "verification failed: the clip came out with another length",
                value=tracks.frame_count,
                expected=f"{wanted} frames",
            )
    stored = None if before is None else dialects.tracks(before, dialect)
    last = identified.scene.frame_count - 1 if identified.scene.tracks else 0
    nodes = max(len(identified.imported.nodes), 1)
    left_out = last * nodes // _MOST_POSES
    step = max(1, _BLOCK // nodes // (1 + left_out))
    for first in range(0, max(last, 1), step * (1 + left_out)):
        times = np.arange(2 * first, 2 * min(first + step, last) + 1) / 2
        with np.errstate(invalid="ignore", over="ignore"):  # of stored keys that are broken
            file = _file_poses(identified, times)
            if stored is not None:
                _leave_out_kept(file, identified, rows, tracks, stored, times)
            _compare_poses(file, identified, rows, tracks, times)


def _compare_poses(
    file: _FilePoses, identified: Identified, rows: dict[int, int], tracks: Tracks, times: NDArray[np.float64]
) -> None:
    """Compose the poses that were written and compare them with the file's.

    Errors add up from node to node, and an angle's grows with the distance.
    """
    nodes = identified.scene.nodes
    got = sample(tracks, [rows[i] for i in range(len(nodes))], times)
    world = _matrices(rotation(got.quaternion), got.position)
    away = np.linalg.norm(world[..., :3, 3], axis=2)
    loose_turn = np.full(len(nodes), _ANGLE)
    loose_place = np.full(away.shape, _POSITION * _size(identified))
    order = parents_first([node.parent for node in nodes], root=-1)
    for i in order:
        up = nodes[i].parent
        if up >= 0:
            loose_turn[i] += loose_turn[up]
            loose_place[i] += loose_place[up] + loose_turn[up] * away[i]
            file.unclear[i] |= file.unclear[up]
            world[i] = world[up] @ world[i]
    moved = np.linalg.norm(world[..., :3, 3] - file.world[..., :3, 3], axis=2)
    for i, baked in identified.baked.items():
        world[i, :, :3, :3] @= baked
    turned, scale = (np.abs(linear[..., :3, :3]).max(axis=(2, 3)) for linear in (world - file.world, file.world))
    bad = (moved > loose_place) | (turned > loose_turn[:, None] * scale)
    bad &= ~file.unclear
    for i in order if bad.any() else ():
        if bad[i].any():
            at = int(np.argmax(bad[i]))
            raise ConversionError(
                f"verification failed: pose of node {_name(nodes[i])} came out different",
                value=f"frame {times[at]:g}, {moved[i, at]:.3g} away",
            )


@dataclass
class _FilePoses:
    """Where a file's nodes are. ``world`` (N, T, 4, 4) float64, node to model; ``unclear`` (N, T)
    where nobody can say: half a turn between two frames goes either way round."""

    world: NDArray[np.float64]
    unclear: NDArray[np.bool_]


def _file_poses(identified: Identified, times: NDArray[np.float64]) -> _FilePoses:
    """Compose the file's items at whole and half frames: those that are nodes, and those above."""
    items, node_of = identified.imported.nodes, identified.node_of
    above = set(node_of)
    for i in node_of:
        while (i := items[i].parent) >= 0 and i not in above:
            above.add(i)
    order = [i for i in parents_first([item.parent for item in items], root=-1) if i in above]
    tracks = {t.node: t for t in identified.imported.tracks if t.node in node_of}
    poses = [poses_at(tracks.get(i), items[i], times[::2]) for i in order]
    translations, rotations = (np.stack(values) for values in zip(*poses, strict=True))
    world = np.empty((len(order), len(times), 4, 4))
    world[:, ::2] = _matrices(rotations, translations)
    middle = (translations[:, 1:] + translations[:, :-1]) / 2
    world[:, 1::2] = _matrices(_middle(rotations), middle)
    place = {i: k for k, i in enumerate(order)}
    for k, i in enumerate(order):
        item = items[i]
        if item.linear is not None:
            world[k, :, :3, :3] @= rotation_matrix(item.rotation).T @ item.linear
        if item.parent >= 0:
            world[k] = world[place[item.parent]] @ world[k]
    nodes = [place[i] for i in sorted(node_of, key=node_of.__getitem__)]
    unclear = np.zeros((len(nodes), len(times)), np.bool_)
    dots = np.einsum("nti,nti->nt", rotations[nodes, 1:], rotations[nodes, :-1])
    unclear[:, 1::2] = np.abs(dots) < _HALF_TURN
    return _FilePoses(world[nodes], unclear)


def _leave_out_kept(
    file: _FilePoses,
    identified: Identified,
    rows: dict[int, int],
    written: Tracks,
    stored: Tracks,
    times: NDArray[np.float64],
) -> None:
    """Leave out half frames where a stored track that was kept does not go through the middle."""
    both = identified.stored_of
    samples = (sample(written, [rows[i] for i in both], times), sample(stored, [*both.values()], times))
    new, old = (np.concatenate([one.quaternion, one.position], axis=2) for one in samples)
    kept = ((new == old) | (np.isnan(new) & np.isnan(old))).all(axis=(1, 2))
    nodes, poses = np.array([*both], np.int64)[kept], old[kept]
    # between two keys of one time the runtime divides by zero
    file.unclear[nodes] |= ~np.isfinite(poses).all(axis=2)
    turns, places = rotation(poses[..., :4]), poses[..., 4:].astype(np.float64)
    middle = _matrices(_middle(turns[:, ::2]), (places[:, 2::2] + places[:, :-2:2]) / 2)
    apart = np.abs(_matrices(turns[:, 1::2], places[:, 1::2]) - middle)
    far = apart[..., :3, 3].max(axis=2) > _POSITION * _size(identified) / 2
    file.unclear[nodes, 1::2] |= far | (apart[..., :3, :3].max(axis=(2, 3)) > _ANGLE / 2)


def _middle(rotations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotations between each two neighbours. (..., T, 4) -> (..., T - 1, 4)."""
    before, after = rotations[..., :-1, :], rotations[..., 1:, :]
    dots = np.einsum("...i,...i->...", before, after)
    return normalise(before + np.where(dots < 0, -1.0, 1.0)[..., None] * after, (1, 0, 0, 0))


def _matrices(rotations: NDArray[np.float64], translations: NDArray[Any]) -> NDArray[np.float64]:
    """Rigid matrices. (..., 4), (..., 3) -> (..., 4, 4)."""
    out = np.zeros((*rotations.shape[:-1], 4, 4))
    out[..., :3, :3], out[..., :3, 3], out[..., 3, 3] = rotation_matrix(rotations), translations, 1
    return out


def _size(identified: Identified) -> float:
    """The extent of the file's model, which tolerances are relative to."""
    scene = identified.scene
    size = max(identified.size, *(float(np.abs(n.translation).max()) for n in scene.nodes), 1e-6)
    return max(size, float(np.abs(scene.streams.positions).max(initial=0)))


def _name(node: Node) -> str:
    return repr(printable(node.name))
