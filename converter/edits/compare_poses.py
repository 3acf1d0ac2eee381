"""Compare the poses and animations of a glTF file with those of the model in its sidecar."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import printable
from ..scene.curves import evaluate
from ..scene.differences import Change
from ..scene.scene import Channel, ImportedNode, Node, Scene, Track
from .identify_nodes import POSE_NOISE, ROTATION_NOISE, Identified

#: What Blender's exporter takes for a constant curve (1e-4), and rounding.
_CONSTANT = 1.2e-4


@dataclass
class PoseChanges:
    """What differs in poses: nodes that need a new key run, and each difference."""

    nodes: set[int] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)


def compare_poses(identified: Identified, stored: Scene) -> PoseChanges:
    """Compare rest poses of static nodes, and samples of animated ones at every frame.

    Args:
        identified: the file's scene, its nodes identified against ``stored``.
        stored: decoded from the sidecar's model.
    """
    out, scene = PoseChanges(), identified.scene
    new = {track.node: track for track in scene.tracks}
    old = {track.node: track for track in stored.tracks}
    noise = POSE_NOISE * identified.size
    for i, k in identified.stored_of.items():
        node, before = scene.nodes[i], stored.nodes[k]
        where = f"node {printable(before.name)!r}"
        if i not in new and k not in old:
            moved = np.abs(node.translation - before.translation).max() > noise
            turned = not same_rotations(node.rotation, before.rotation).all()
            if moved or turned:
                out.nodes.add(i)
            out.changes += [Change(where, "translation changed")] if moved else []
            out.changes += [Change(where, "rotation changed")] if turned else []
            continue
        frames = _common_frames(new.get(i), old.get(k), scene, stored)
        a_t, a_r = poses_at(new.get(i), node, frames)
        b_t, b_r = poses_at(old.get(k), before, frames)
        track = new.get(i, Track(i))
        loose_t, loose_r = _collapsed(track.translation, b_t), _collapsed(track.rotation, b_r)
        for path, same in (
            ("translation", (np.abs(a_t - b_t) <= max(noise, loose_t)).all(axis=1)),
            ("rotation", same_rotations(a_r, b_r, max(ROTATION_NOISE, loose_r))),
        ):
            if not same.all():
                out.nodes.add(i)
                frame = frames[int(np.argmin(same))]
                count = int((~same).sum())
                more = f" and {count - 1} more frames" if count > 1 else ""
                text = f"{path} changed at frame {frame:g}{more}"
                out.changes.append(Change(f"animation of {where}", text))
    return out


def _common_frames(
    new: Track | None, old: Track | None, scene: Scene, stored: Scene
) -> NDArray[np.float64]:
    """The frames at which two tracks are compared: those of the stored one, and what is added."""
    end = scene.frame_count if new is not None else 1
    channel = None if old is None else old.rotation or old.translation
    if channel is None:
        return np.arange(float(max(end, 1)))
    frames = channel.frames
    return np.concatenate([frames, np.arange(float(np.floor(frames[-1])) + 1, end)])


def poses_at(
    track: Track | None, node: Node | ImportedNode, frames: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (T, 3) translations and (T, 4) rotations of a node at (T,) frames.

    Where a channel is missing, the node's own value.
    """
    if track is not None and track.translation is not None:
        translations = evaluate(track.translation, frames)
    else:
        translations = np.tile(node.translation.astype(np.float64), (len(frames), 1))
    if track is not None and track.rotation is not None:
        rotations = evaluate(track.rotation, frames)
    else:
        rotations = np.tile(node.rotation, (len(frames), 1))
    return translations, rotations


def same_rotations(
    a: NDArray[np.float64], b: NDArray[np.float64], noise: float = ROTATION_NOISE
) -> NDArray[np.bool_]:
    """Return whether rotations are equal up to sign and noise. (..., 4) each -> (...)."""
    near = np.minimum(np.abs(a - b).max(-1), np.abs(a + b).max(-1))
    return np.asarray(near <= noise)


def _collapsed(channel: Channel | None, stored: NDArray[np.float64]) -> float:
    """Tolerance of a curve that Blender's exporter took for constant: all within 1e-4.

    It keeps the first and the last key of such a curve and drops what is between.
    """
    if channel is None or len(channel.frames) > 2 or len(stored) <= 2:
        return 0.0
    signs = np.where(np.einsum("ti,i->t", stored, stored[0]) < 0, -1.0, 1.0)
    spread = (
        np.ptp(stored * signs[:, None], axis=0).max()
        if stored.shape[1] == 4
        else (np.ptp(stored, axis=0).max())
    )
    return _CONSTANT if spread <= _CONSTANT else 0.0
