"""Choose the clip of an edited file, ask ``frame_rate`` for its rate, and put it on the nodes.

A model has one clip. Clips for nodes that the chosen one does not move are read too, since Blender
makes a clip of its own for every object that gets its first key; without a sidecar only whole ones.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from ..errors import ConversionError, called, few, in_words, plural
from ..findings import Kind, Report, Subject
from ..numeric.arrays import F64
from ..numeric.pose import multiply, quaternion_of, rotation_in, rotation_matrix
from ..options import ImportOptions
from ..scene.scene import Channel, Clip, ImportedNode, ImportedScene, Scene, Track, evaluate, moves
from .controller import with_ranges
from .frame_rate import DEFAULT_FPS, FrameRate, TimedClip, Timing
from .nodes import POSE_NOISE, Identified
from .poses import placed_elsewhere

_ACTIONS = "export with Animation > Animation Mode: Actions"
#: What differs where a node moves otherwise.
_MOVES: tuple[Kind, ...] = ("place", "turn", "triangles")


def choose_clip(identified: Identified, stored: Scene | None, options: ImportOptions) -> Timing | None:
    """Put the clip of a file on its nodes; what of the animations is left out is reported. Raises ConversionError: no
    such clip, animated scale, or rotations that shear.

    Returns:
        What the times of the clip mean, ``None`` without a clip.
    """
    imported = identified.imported
    if options.fps is not None and not 0 < options.fps < np.inf:
        raise ConversionError("fps is not positive", value=options.fps)
    _animated_parts(identified)
    timed, hidden = None, stored is not None and imported.placed is not None and not imported.placed.moves
    if not imported.tracks:  # an OBJ has those of the sidecar
        timed = _read(identified, stored, options)
        if timed is not None:
            imported.tracks = timed.tracks
            if hidden:
                assert stored is not None
                still = set(identified.node_of) - {track.node for track in timed.tracks}
                imported.tracks = [*timed.tracks, *_stored_tracks(identified, stored, still)]
        elif stored is not None and stored.tracks:
            _missing_clip(identified, stored, options)
    fps = timed.timing.fps if timed is not None else options.fps or imported.fps or DEFAULT_FPS
    if imported.ranges:
        alike = set(identified.node_of) - set(identified.frames)
        before = None if stored is None or timed is None else _stored_tracks(identified, stored, alike)
        imported.tracks = with_ranges(identified, imported.tracks, before, fps)
    _place(identified)
    _report_still(identified, stored)
    length = None if timed is None else timed.frame_count
    if timed is None and imported.tracks and stored is not None:
        length = stored.frame_count
    if hidden and length is not None and stored is not None:
        length = max(length, stored.frame_count)
    if timed is not None and (length or 1) > 1 and not moves(identified.scene.tracks):
        _report_motionless(imported.report, stored, length or 1)
    if length is not None:
        identified.scene.frame_count = length
    return None if timed is None else timed.timing


def _animated_parts(identified: Identified) -> None:
    imported = identified.imported
    moved = {track.node for clip in imported.clips for track in clip.tracks}
    for i in sorted(moved & identified.part_items):
        imported.report.skipped(
            Subject("part", imported.nodes[i].name),
            "is animated",
            "only nodes can move, and a part moves with its node",
            "animate the node",
            *_MOVES,
        )


def _report_still(identified: Identified, stored: Scene | None) -> None:
    imported, moved = identified.imported, {track.node for track in identified.scene.tracks}
    old = {} if stored is None else {track.node: track for track in stored.tracks}
    still = []
    for item, node in identified.node_of.items() if moved or not old else ():
        k, one = identified.stored_of.get(node), imported.nodes[item]
        if node in moved or (stored is None and one.extras.get("frame_count", 1) < 2):
            continue
        if stored is not None:
            noises = 2 * POSE_NOISE * identified.size, 4 * identified.turn_noise
            now, track = identified.scene.nodes[node], None if k is None else old.get(k)
            if k is None or track is None or not placed_elsewhere(track, now, stored.nodes[k], noises):
                continue
        still.append(called(one.name))
    if still:
        imported.report.warnings.append(
            f"{plural(len(still), 'node')} without keys that the exported clip moved: {few(still)}; "
            "in the game they stand where they are in the file. What a driver or a constraint moves is one pose in a "
            "glTF: in Blender, bake it (Object > Animation > Bake Action)"
        )


def _report_motionless(report: Report, stored: Scene | None, length: int) -> None:
    """Warn of a clip that moves nothing, unless the stored one does not, either."""
    if stored is None or moves(stored.tracks):
        report.warnings.append(
            f"nothing moves in the {plural(length, 'frame')} of the clip: the model has no clip now; if something "
            "should, give it keys that differ"
        )


def _read(identified: Identified, stored: Scene | None, options: ImportOptions) -> TimedClip | None:
    """The clip in frames, ``None`` where nothing moves."""
    imported, nodes = identified.imported, identified.node_of
    clips = [replace(clip, tracks=[track for track in clip.tracks if track.node in nodes]) for clip in imported.clips]
    chosen = _chosen(clips, options.clip)
    if chosen is None:
        return None
    left: list[Clip] = []
    if stored is not None and options.clip is None and _is_broadcast(clips, stored):
        tracks = _of_broadcast(identified, clips, stored, options)
    else:
        whole = "part" if stored is not None else "whole"
        merge = None if options.clip is not None else whole
        tracks, left = _merged(imported, clips, chosen, merge)
    ids = {id(track) for track in tracks}
    read = [c for c in clips if c is chosen or any(id(track) in ids for track in c.tracks)]
    _require_no_scale(read, options)
    known = {id(clip) for clip in left} - {id(clip) for clip in read}
    _report(imported, [clip for clip in clips if id(clip) not in known])
    if not tracks:
        return None
    rate = _rate(identified, stored, tracks)
    length = imported.info.get("frame_count")
    if length is None:
        stated = (item.extras.get("frame_count") for item in imported.nodes)
        length = next((count for count in stated if count is not None), None)
    timing = rate.decide(options.fps, imported.fps, length)
    if stored is not None and options.fps is None and imported.fps and timing.fps != imported.fps:
        imported.report.warnings.append(
            f"the clip is taken for one of {timing.fps:g} frames per second, though the file states {imported.fps:g}: "
            f"if it was made slower or faster, --fps {imported.fps:g} makes it so"
        )
    out = rate.apply(timing, length)
    exported = stored is not None and length == stored.frame_count  # who changes keys may leave what was stated
    if not exported and None not in (length, out.frame_count) and length != out.frame_count:
        frames = plural(out.frame_count or 0, "frame")
        imported.report.warnings.append(f"the clip has {frames}, though the file states {length}")
        imported.report.concerns(["clip"], "clip")
    if stored is None and length is not None and length == out.frame_count and out.last < length - 1:
        imported.report.warnings.append(
            f"the clip has {plural(length, 'frame')}, as the file states, though its last key is at frame "
            f"{out.last:g}: clear frame_count of the scene if it is shorter now"
        )
        imported.report.concerns(["clip"], "clip")
    if stored is not None and stored.tracks and (out.first > 0 or timing.start > 0):
        _report_late(imported.report, chosen, stored, out)
    if out.left_out and rate.step:
        imported.report.warnings.append(
            f"the file has {1 / rate.step:.4g} keys of the clip per second, and the game {timing.fps:g} frames: those "
            f"between are kept (in Blender, set the scene to {timing.fps:g} frames per second before you import)"
        )
        imported.report.concerns([imported.nodes[track.node].name for track in out.tracks], *_MOVES)
    return out


def _chosen(clips: list[Clip], name: str | None) -> Clip | None:
    """The clip of a name or number, by default the first that moves a node."""
    if name is None:
        return next((clip for clip in clips if clip.tracks), clips[0] if clips else None)
    for i, clip in enumerate(clips):
        if name in (clip.name, str(i)):
            return clip
    names = ", ".join(f"{i} {clip.name}".strip() for i, clip in enumerate(clips))
    raise ConversionError("no such clip", value=name, expected=names or "none", hint="choose one of these")


def _rate(identified: Identified, stored: Scene | None, tracks: list[Track]) -> FrameRate:
    stored_of = {
        item: identified.stored_of[node]
        for item, node in identified.node_of.items()
        if node in identified.stored_of and item not in identified.frames
    }
    return FrameRate(tracks, stored_of, stored=stored, size=identified.size, turn_noise=identified.turn_noise)


def _merged(
    imported: ImportedScene, clips: list[Clip], chosen: Clip, merge: str | None
) -> tuple[list[Track], list[Clip]]:
    """The tracks of the chosen clip, and those of others for nodes that it does not move.

    ``merge``: of clips that also move other nodes, too (``part``), not of these (``whole``).

    Returns the clips, too, of which something is not read; they are reported.
    """
    taken = {track.node: track for track in chosen.tracks}
    owner = dict.fromkeys(taken, chosen)
    names = [chosen.name]
    left: list[Clip] = []
    for clip in clips:
        if clip is chosen:
            continue
        more = [t for t in clip.tracks if merge and t.node not in taken]
        if merge == "whole" and len(more) < len(clip.tracks):
            more = []
        rest = [t for t in clip.tracks if t not in more and not _same(t, taken.get(t.node))]
        taken |= {track.node: track for track in more}
        owner |= {track.node: clip for track in more}
        names += [clip.name] if more else []
        if rest:
            left.append(clip)
            if merge == "part":
                node = rest[0].node
                _report_second(imported, clip, owner[node], node)
    if left and merge != "part":
        shown = few([called(clip.name) for clip in left])
        imported.report.skipped(
            Subject("animation", *(c.name for c in left), text=f"animation{'s' if len(left) > 1 else ''} {shown}"),
            "are not read" if len(left) > 1 else "is not read",
            f"a model has one clip, and {in_words(chosen.name)} is taken",
            "--clip NAME takes another",
        )
    if len(names) > 1:
        shown = few([called(name) for name in names])
        imported.report.warnings.append(
            f"{plural(len(names), 'animation')} of different nodes are read as one clip: {shown} "
            "(--clip NAME reads one alone)"
        )
    return list(taken.values()), left


def _report_second(imported: ImportedScene, clip: Clip, taken: Clip, node: int) -> None:
    imported.report.skipped(
        Subject("animation", clip.name),
        f"moves node {called(imported.nodes[node].name)} too",
        f"a model has one clip, and {in_words(taken.name)} is taken",
        "--clip NAME takes another; delete the one that is not meant",
    )


def _same(track: Track, other: Track | None) -> bool:
    if other is None:
        return False

    def equal(a: Channel | None, b: Channel | None) -> bool:
        if a is None or b is None:
            return a is b
        return (
            a.frames.shape == b.frames.shape
            and a.values.shape == b.values.shape
            and np.allclose(a.frames, b.frames, atol=1e-5)
            and np.allclose(a.values, b.values, atol=1e-5)
        )

    return equal(track.translation, other.translation) and equal(track.rotation, other.rotation)


def _require_no_scale(read: list[Clip], options: ImportOptions) -> None:
    """Refuse animated scale in the clips that are read, unless it is ignored."""
    scaled = [name for clip in read for name in clip.scaled]
    if scaled and not options.ignore_scale:
        raise ConversionError(
            f"node {called(scaled[0])} has animated scale", hint="nodes of a model have none: --ignore-scale skips it"
        )


def _report(imported: ImportedScene, clips: list[Clip]) -> None:
    """Report what a model cannot have of clips: of those that are read, and of those that hold
    nothing else."""
    for clip in clips:
        imported.report.add(clip.report)
        for name in clip.scaled:
            imported.report.skipped(
                Subject("node", name),
                "has animated scale",
                "nodes of a model have none",
                "move its vertices with nodes of their own",
                *_MOVES,
            )


def _is_broadcast(clips: list[Clip], stored: Scene) -> bool:
    """Whether each clip moves one node, and each of several nodes has several clips; or one has those of all."""
    nodes = [{track.node for track in clip.tracks} for clip in clips if clip.tracks]
    if any(len(moved) != 1 for moved in nodes):
        return False
    counts = Counter(node for moved in nodes for node in moved)
    several = len(counts) > 1 or len(clips) == len(stored.tracks) > 1
    return several and min(counts.values(), default=0) > 1


def _of_broadcast(identified: Identified, clips: list[Clip], stored: Scene, options: ImportOptions) -> list[Track]:
    """For every node the clip that is the stored one; where none is, the stored one itself."""
    imported = identified.imported
    fps = options.fps or imported.fps or DEFAULT_FPS
    tracks: dict[int, Track] = {}
    for clip in clips:
        for track in clip.tracks:
            rate = _rate(identified, stored, [track])
            if track.node not in tracks and rate.shows_stored(Timing(fps)):
                tracks[track.node] = track
    kept = _stored_tracks(identified, stored, set(identified.node_of) - set(tracks), fps)
    names = [imported.nodes[track.node].name for track in kept]
    imported.report.skipped(
        Subject("animation", stored.name, *names, *(clip.name for clip in clips)),
        f"came as {plural(len(clips), 'animation')}, several of every node",
        "Blender's mode Broadcast exports so, and the stored clip is kept",
        _ACTIONS,
        "clip",
        *_MOVES,
    )
    return [*tracks.values(), *kept]


def _stored_tracks(identified: Identified, stored: Scene, items: set[int], fps: float = 1.0) -> list[Track]:
    """Stored curves of nodes of the file; times divided by a rate."""
    old = {track.node: track for track in stored.tracks}
    out = []
    for item in sorted(items):
        k = identified.stored_of.get(identified.node_of.get(item, -1))
        if k in old:
            channels = [
                None if c is None else replace(c, frames=c.frames / fps) for c in (old[k].rotation, old[k].translation)
            ]
            out.append(Track(item, *channels))
    return out


def _missing_clip(identified: Identified, stored: Scene, options: ImportOptions) -> None:
    """Keep the stored clip where the file has none, unless it may be deleted."""
    imported = identified.imported
    hidden = imported.placed is not None and not imported.placed.moves
    if options.allow_delete and not hidden:
        return
    imported.tracks = _stored_tracks(identified, stored, set(identified.node_of))
    if imported.tracks and not hidden:
        imported.report.skipped(
            Subject("animation", stored.name),
            "is missing",
            "the file has no animation (exported without Animation, or deleted), and the stored clip is kept",
            "export with Animation; --allow-delete deletes the clip",
        )


def _report_late(report: Report, clip: Clip, stored: Scene, timed: TimedClip) -> None:
    """Report a clip that does not begin at its first frame."""
    start = timed.timing.start * timed.timing.fps
    where = Subject("animation", clip.name or stored.name)
    if start:
        report.skipped(
            where,
            f"begins {plural(round(start), 'frame')} late" if round(start) else "begins late",
            "Blender's mode NLA Tracks exports so, and the first key is taken for frame 0",
            _ACTIONS,
        )
        return
    report.skipped(
        where,
        f"is exported from frame {timed.first:g} to frame {timed.last:g}",
        "Blender's mode Scene, or Limit to Playback Range, exports so; stored frames outside are kept",
        f"{_ACTIONS}, without Limit to Playback Range",
    )


def _place(identified: Identified) -> None:
    scene, imported = identified.scene, identified.imported
    imported.tracks = [track for track in imported.tracks if track.node in identified.node_of]
    for track in imported.tracks:
        node = identified.node_of[track.node]
        frame, item = identified.frames.get(track.node), imported.nodes[track.node]
        moved = replace(track, node=node)
        scene.tracks.append(moved if frame is None else rigid_track(item, track, frame, node))


#: How far a scale may be from an even one, relative to it.
_EVEN = 1e-5


def rigid_track(item: ImportedNode, track: Track, frame: F64, node: int) -> Track:
    """Return a track as it is in the rigid frame of the node above.

    Translations and even scales, mirrored or not, are exact whatever the interpolation. Rotations below an uneven scale
    are possible where they leave its axes alone. ``frame``: (4, 4), from the frame that the item stands in to that of
    the node above. Raises ConversionError: the vertices would be sheared in another way at every frame.
    """
    translation, rotation = track.translation, track.rotation
    linear = frame[:3, :3]
    if translation is not None:
        values = translation.values @ linear.T
        whole = slice(1, None, 3) if translation.interpolation == "CUBICSPLINE" else slice(None)
        values[whole] += frame[:3, 3]
        translation = Channel(translation.frames, values, translation.interpolation)
    if rotation is not None:
        rotation = _rotations(item, rotation, linear)
    return Track(node, rotation, translation)


def _rotations(item: ImportedNode, channel: Channel, linear: F64) -> Channel:
    """A rotation channel below a frame that is not rigid."""
    own = np.eye(3)
    if item.linear is not None:
        own = rotation_matrix(item.rotation).T @ item.linear
    square = linear.T @ linear
    size = np.trace(square) / 3
    if np.abs(square - size * np.eye(3)).max() <= _EVEN * size:
        # an even scale: what is not rotation is the same at every moment
        left, right = (quaternion_of(rotation_in(m)) for m in (linear, own))
        values = multiply(multiply(left, channel.values), right)
        return Channel(channel.frames, values, channel.interpolation)
    keys = channel.frames
    frames = np.concatenate([keys, (keys[1:] + keys[:-1]) / 2])
    posed = np.concatenate([evaluate(channel, frames), item.rotation[None]])
    whole = linear @ rotation_matrix(posed) @ own
    turns = np.array([rotation_in(matrix) for matrix in whole])
    rest = turns.transpose(0, 2, 1) @ whole
    if channel.interpolation == "CUBICSPLINE" or np.abs(rest - rest[-1]).max() > _EVEN * np.abs(rest).max():
        raise ConversionError(
            f"node {called(item.name)} turns below an uneven scale, which shears it",
            hint="apply the scale of its parents before you export",
        )
    values = np.array([quaternion_of(turn) for turn in turns[: len(keys)]])
    return Channel(keys, values, channel.interpolation)
