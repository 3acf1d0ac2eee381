"""Compare the poses and animations of a glTF file with those of the model in its sidecar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import plural, printable
from ..findings import Report
from ..scene.scene import Channel, ImportedNode, Node, Scene, Track, evaluate
from .nodes import POSE_NOISE, ROTATION_NOISE, Identified

#: What Blender's exporter takes for a constant curve (1e-4), and rounding.
_CONSTANT = 1.2e-4
#: Moments per frame at which an animated node may have been exported.
_MOMENTS = 25
#: Moments that are looked at together: a clip may have millions.
_BLOCK = 1 << 13


@dataclass
class PoseChanges:
    """What differs in poses: nodes that need a new key run, and each difference, told after those of nodes.

    Attributes:
        frames: at which an animated node stands otherwise.
    """

    nodes: set[int] = field(default_factory=set)
    frames: set[float] = field(default_factory=set)
    report: Report = field(default_factory=Report)


def compare_poses(identified: Identified, stored: Scene) -> PoseChanges:
    """Compare rest poses of static nodes, samples of animated ones at every frame, and the length.

    Args:
        identified: the file's scene, its nodes identified against ``stored``, its clip in place.
        stored: decoded from the sidecar's model.
    """
    out, scene = PoseChanges(), identified.scene
    new = {track.node: track for track in scene.tracks}
    old = {track.node: track for track in stored.tracks}
    noise, turn_noise = POSE_NOISE * identified.size, identified.turn_noise
    for i, k in identified.stored_of.items():
        node, before = scene.nodes[i], stored.nodes[k]
        where = f"node {printable(before.name)!r}"
        if i not in new and k not in old:
            moved = np.abs(node.translation - before.translation).max() > noise
            turned = not same_rotations(node.rotation, before.rotation, turn_noise).all()
            if moved or turned:
                out.nodes.add(i)
            if moved:
                out.report.changed(where, "translation changed")
            if turned:
                out.report.changed(where, "rotation changed")
            continue
        frames = _common_frames(new.get(i), old.get(k), scene)
        differ = _differing(new.get(i), old.get(k), node, before, frames, (noise, turn_noise))
        out.frames.update(frames[~(differ[0] & differ[1])].tolist())
        for path, same in zip(("translation", "rotation"), differ, strict=True):
            if not same.all():
                out.nodes.add(i)
                frame = frames[int(np.argmin(same))]
                count = int((~same).sum())
                more = f" and {count - 1} more frames" if count > 1 else ""
                text = f"{path} changed at frame {frame:g}{more}"
                out.report.changed(f"animation of {where}", text)
    if clip_length_changed(scene, stored):
        text = f"has {plural(scene.frame_count, 'frame')}, had {stored.frame_count:,}"
        out.report.changed(f"animation {printable(stored.name)!r}", text)
    report_moved_though_animated(out.report, identified, stored)
    return out


def clip_length_changed(scene: Scene, stored: Scene) -> bool:
    """Return whether both have a clip, and one of another length."""
    return bool(stored.tracks and scene.tracks) and scene.frame_count != stored.frame_count


def _common_frames(new: Track | None, old: Track | None, scene: Scene) -> NDArray[np.float64]:
    """The frames at which two tracks are compared: keys of the stored one, and all whole ones."""
    end = scene.frame_count if new is not None else 1
    channel = None if old is None else old.rotation or old.translation
    if channel is None:
        return np.arange(float(max(end, 1)))
    whole = np.arange(max(float(np.floor(channel.frames[-1])) + 1, end))
    return np.union1d(channel.frames, whole)


def _differing(
    new: Track | None,
    old: Track | None,
    node: Node,
    before: Node,
    frames: NDArray[np.float64],
    noise: tuple[float, float],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """At which frames translations and rotations are the same. (T,) bool each."""
    a_t, a_r = poses_at(new, node, frames)
    b_t, b_r = poses_at(old, before, frames)
    track = new or Track(0)
    loose_t, loose_r = collapsed(track.translation, b_t), collapsed(track.rotation, b_r)
    loose_r = max(noise[1], loose_r)
    same_t = (np.abs(a_t - b_t) <= max(noise[0], loose_t)).all(axis=1)
    same_r = same_rotations(a_r, b_r, loose_r)
    if old is not None and old.rotation is not None and not same_r.all():
        # between sparse keys, Blender does not turn along the arc
        chord = evaluate(old.rotation, frames, by_component=True)
        same_r |= same_rotations(a_r, chord, loose_r)
    return np.asarray(same_t), np.asarray(same_r)


def report_moved_though_animated(report: Report, identified: Identified, stored: Scene | None) -> None:
    """Report nodes whose own placement is none of their animation's: keys alone count.

    Blender exports the current frame, which may be any.

    Args:
        report: where to.
        identified: the file's scene, its clip in place.
        stored: the sidecar's scene, if there is one.
    """
    imported = identified.imported
    placed_elsewhere: list[tuple[str, str]] = []
    for track in imported.tracks:
        if track.node in identified.frames:
            continue
        item = imported.nodes[track.node]
        k = identified.stored_of.get(identified.node_of[track.node])
        before = None if stored is None or k is None else stored.nodes[k]
        noise = 2 * POSE_NOISE * identified.size, 4 * identified.turn_noise
        what = _placed_elsewhere(track, item, before, noise)
        if what:
            placed_elsewhere.append((item.name if before is None else before.name, " and ".join(what)))
    more = ""
    if len(placed_elsewhere) > 1 and not imported.info:  # rigs of foreign files rest elsewhere
        more = f" and {plural(len(placed_elsewhere) - 1, 'other')}"
        placed_elsewhere = placed_elsewhere[:1]
    for name, how in placed_elsewhere:
        report.skipped(
            f"node {printable(name)!r}{more}",
            f"is {how}, but its animation is not",
            "the keys alone say where an animated node stands",
            "move its keys",
        )


def _placed_elsewhere(track: Track, item: ImportedNode, before: Node | None, noises: tuple[float, float]) -> list[str]:
    """How a node stands elsewhere than it ever does in its animation, and than it did before."""
    what, (noise, loose) = [], noises
    moved = before is None or np.abs(item.translation - before.translation).max() > noise
    if (places := track.translation) is not None and moved:
        apart = (np.abs(evaluate(places, at) - item.translation).max(axis=1) for at in _moments(places))
        what += ["moved"] if not any((distances <= noise).any() for distances in apart) else []
    turned = before is None or not same_rotations(item.rotation, before.rotation, loose)
    if (turns := track.rotation) is not None and turned:
        near = (
            same_rotations(evaluate(turns, at, by_component=chord), item.rotation, loose)
            for at in _moments(turns)
            for chord in (False, True)
        )
        what += ["turned"] if not any(same.any() for same in near) else []
    return what


def _moments(channel: Channel) -> Iterator[NDArray[np.float64]]:
    """Where an editor's current frame may be: the keys, and every 25th of a frame, which holds the
    frames of scenes at 25, 30, 50 and 60 per second. Blocks of frames."""
    frames = channel.frames
    yield frames
    steps = int(np.ceil((frames[-1] - frames[0]) * _MOMENTS)) + 1
    for first in range(0, steps, _BLOCK):
        yield frames[0] + np.arange(first, min(first + _BLOCK, steps)) / _MOMENTS


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


def same_rotations(a: NDArray[np.float64], b: NDArray[np.float64], noise: float = ROTATION_NOISE) -> NDArray[np.bool_]:
    """Return whether rotations are equal up to sign and noise. (..., 4) each -> (...)."""
    near = np.minimum(np.abs(a - b).max(-1), np.abs(a + b).max(-1))
    return np.asarray(near <= noise)


def collapsed(channel: Channel | None, stored: NDArray[np.float64]) -> float:
    """Return the tolerance of a curve that Blender's exporter took for constant: all within 1e-4.

    It keeps the first and the last key of such a curve and drops what is between.
    """
    if channel is None or len(channel.frames) > 2 or len(stored) <= 2:
        return 0.0
    signs = np.where(np.einsum("ti,i->t", stored, stored[0]) < 0, -1.0, 1.0)
    spread = np.ptp(stored * signs[:, None], axis=0).max() if stored.shape[1] == 4 else (np.ptp(stored, axis=0).max())
    return _CONSTANT if spread <= _CONSTANT else 0.0
