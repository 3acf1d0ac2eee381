"""Collect what becomes of every node: its row, flags, slots and keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..edits.compare_poses import poses_at, same_rotations
from ..edits.identify_nodes import POSE_NOISE
from ..formats.tables import GROUP_COUNT, LOD_COUNT
from ..numeric.arrays import NONE16
from ..numeric.pose import rotation
from ..numeric.sampler import Samples, Tracks, sample
from ..scene import dialect as dialects
from ..scene.decode import rest_pose
from ..scene.scene import Track
from .context import Cell, Rebuild
from .key_reduction import Run, make_run
from .nodes import NodeEdit

#: Position tolerance of key reduction, relative to the model's extent.
_TOLERANCE = 1e-5


def node_edits(job: Rebuild, cells: dict[Cell, int]) -> list[NodeEdit]:
    """Return the edit of every node of the file.

    Args:
        job: the rebuild; its model still has the stored nodes.
        cells: slot of every cell of the file.
    """
    scene, plan, nodes = job.scene, job.plan, job.model.nodes
    tracks = {track.node: track for track in scene.tracks}
    tolerance = _TOLERANCE * _extent(job)
    stored = dialects.tracks(job.model, job.dialect) if job.stored is not None else None
    animated = set() if stored is None else set(stored.animated.tolist())
    out = []
    for i, node in enumerate(scene.nodes):
        k = plan.identified.stored_of.get(i)
        slots = [[cells.get((i, lod, group), NONE16) for group in range(GROUP_COUNT)] for lod in range(LOD_COUNT)]
        flags = node.flags
        if flags is None:
            flags = int(nodes["flags"][k]) if k is not None else 0
        run = None
        if i in plan.poses:
            still = i not in tracks or (k not in animated and not _moves(tracks[i]))
            frames = np.arange(float(1 if still else scene.frame_count))
            translations, turned = poses_at(tracks.get(i), node, frames)
            quaternions = turned * [1, -1, -1, -1]
            positions = translations.astype(np.float32)
            if k is not None and stored is not None:
                noise = POSE_NOISE * plan.identified.size
                _take_stored(quaternions, positions, sample(stored, [k], frames), noise)
            run = make_run(quaternions, positions, tolerance, reduce=job.options.reduce)
            if k is not None and stored is not None and not run.animated:
                _keep_sign(run, stored, k)
        wanted = k if job.stored is not None else node.index
        table = np.array(slots, np.uint16)
        out.append(NodeEdit(k, wanted, node.parent, flags & 0xFFFF, run, table))
    return out


def _moves(track: Track) -> bool:
    """Whether the values of a track differ at all; one pose is enough for the others."""
    channels = (track.translation, track.rotation)
    return any((c.values != c.values[:1]).any() for c in channels if c is not None)


def _take_stored(
    quaternions: NDArray[np.float64], positions: NDArray[np.float32], samples: Samples, noise: float
) -> None:
    """Take the runtime's own numbers in frames that show what the runtime samples."""
    raw = samples.quaternion[0].astype(np.float64)
    same = same_rotations(quaternions * [1, -1, -1, -1], rotation(samples.quaternion[0]))
    signs = np.where(np.einsum("ti,ti->t", raw, quaternions) < 0, -1.0, 1.0)
    quaternions[same] = (raw * signs[:, None])[same]
    near = (np.abs(positions - samples.position[0]) <= noise).all(axis=1)
    positions[near] = samples.position[0][near]


def _keep_sign(run: Run, stored: Tracks, k: int) -> None:
    """Give a static key the sign of the stored one, so that an unturned key keeps its words."""
    old = stored.quaternion[int(stored.fallback[k])]
    if float(run.words[0].astype(np.float64) @ old) < 0:
        run.words = -run.words


def _extent(job: Rebuild) -> float:
    """The largest diagonal of a part's box and of the box round all nodes."""
    sizes = [1e-6]
    for part in job.plan.parts:
        if part.triangles is not None and len(part.triangles):
            points = part.triangles.positions.reshape(-1, 3).astype(np.float64)
            sizes.append(float(np.linalg.norm(points.max(axis=0) - points.min(axis=0))))
    if job.scene.nodes:
        _, world = rest_pose(job.scene)
        sizes.append(float(np.linalg.norm(world.max(axis=0) - world.min(axis=0))))
    return max(sizes)
