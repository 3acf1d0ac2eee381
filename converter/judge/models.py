"""What a model shows: in an edited file, and as a scene that was decoded from its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, reduce

import numpy as np

from ..edits.frame_rate import Timing
from ..edits.node_roles import NodeRoles, Role, hidden_items, owner_items, stored_in
from ..edits.nodes import POSE_NOISE, model_size
from ..findings import Report
from ..numeric.arrays import F64, I64
from ..numeric.pose import parents_first, rotation_matrix
from ..scene.companions import spliced
from ..scene.dialect import Dialect, node_of_part, part_key, part_name
from ..scene.scene import (
    Channel,
    Clip,
    ImportedNode,
    ImportedScene,
    Node,
    Scene,
    Track,
    channels_of,
    evaluate,
    moves,
    nodes_above,
)
from .shown import (
    MOST_FRAMES,
    MOST_POSES,
    MOVE,
    TURN,
    Link,
    Shown,
    Thing,
    Triangles,
    joined,
    linked,
    some_of,
    triangles_of,
    ways,
)

#: What share of the keys of a clip that was not resampled are on whole frames.
_ON_WHOLE = 0.9
#: A key this near to a whole frame is on it.
_ON_FRAME = 1e-3
#: How far the rate of an editor may be off a whole number of samples for each frame.
_ON_RATE = 2e-4
_FACTS = ("lightmap", "batch_flags")


def local_poses(items: Sequence[ImportedNode | Node], tracks: Sequence[Track], frames: F64) -> F64:
    """The transforms of items below their parents at some frames. (n, T, 4, 4)."""
    out = np.zeros((len(items), len(frames), 4, 4))
    out[..., 3, 3] = 1.0
    unscaled = rotation_matrix(np.array([item.rotation for item in items]).reshape(-1, 4))
    linear = unscaled.copy()
    for i, item in enumerate(items):
        if (stated := getattr(item, "linear", None)) is not None:
            linear[i] = stated
    out[..., :3, :3] = linear[:, None]
    out[..., :3, 3] = np.array([item.translation for item in items]).reshape(-1, 1, 3)
    if turning := {track.node: track.rotation for track in tracks if track.rotation is not None}:
        nodes = [*turning]
        turned = rotation_matrix(np.array([evaluate(channel, frames) for channel in turning.values()]))
        out[nodes, :, :3, :3] = turned @ (unscaled[nodes].transpose(0, 2, 1) @ linear[nodes])[:, None]
    for track in tracks:
        if track.translation is not None:
            out[track.node, :, :3, 3] = evaluate(track.translation, frames)
    return out


def world_poses(items: Sequence[ImportedNode | Node], tracks: Sequence[Track], frames: F64) -> F64:
    """Return the transforms of items to the world at some frames. (n, T, 4, 4)."""
    world = local_poses(items, tracks, frames)
    for i in parents_first([item.parent for item in items], root=-1):
        if (above := items[i].parent) >= 0:
            world[i] = world[above] @ world[i]
    return world


def snapshot(given: ImportedScene) -> ImportedScene:
    """Return a file as it was read, which the import changes in place."""
    return replace(
        given,
        nodes=[replace(item) for item in given.nodes],
        meshes=[replace(mesh, primitives=[*mesh.primitives]) for mesh in given.meshes],
        streams=replace(given.streams, normals=given.streams.normals if given.has_normals else None),
        materials=[*given.materials],
        surfaces=[*given.surfaces],
        tracks=[*given.tracks],
        clips=[replace(clip, tracks=[*clip.tracks]) for clip in given.clips],
        report=Report(),
    )


def shown_by_scene(scene: Scene, frames: F64 | None = None) -> Shown:
    """Return what a model shows that was decoded from bytes, with samples at whole frames. ``frames``: those that are
    looked at; by default the first.
    """
    count = frames_of(scene)
    out = Shown(
        frames=np.zeros(1) if frames is None else frames, frame_count=count, clip=(scene.name,), dialect=scene.dialect
    )
    world = world_poses(scene.nodes, scene.tracks, out.frames)
    loose = _looseness(scene, world)
    moving, links = _moving(scene.nodes, {track.node for track in scene.tracks}), linked(scene.nodes)
    for i, node in enumerate(scene.nodes):
        facts: dict[str, object] = {"flags": node.flags, "label": node.label}
        turn, move = loose[0][i], loose[1][i]
        out.things.append(Thing(node.name, node.parent, world[i], facts, (node.name,), turn, move, i in moving))
        out.things[-1].above_names = (links[i].above,)
    out.nodes = [*range(len(scene.nodes))]
    lists: dict[tuple[int, int], list[Triangles]] = {}
    for part in scene.parts:
        node = scene.nodes[part.node]
        name = part_name(node.name, part.lod, part.group, scene.dialect)
        names = (part_key(node.name, part.lod, part.group), node.name, name)
        found = triangles_of(scene.streams, mesh := scene.meshes[part.mesh], len(out.things))
        found.flags = np.zeros(len(found), np.int64) if mesh.tri_flags is None else mesh.tri_flags.astype(np.int64)
        lists.setdefault((part.lod, part.group), []).append(found)
        below = out.things[part.node]
        at = (below.turn, below.move, below.moving)
        out.things.append(Thing(name, part.node, below.world, {}, names, *at, own=3, above_names=below.above_names))
    out.cells = {cell: joined(found) for cell, found in lists.items()}
    return scene_materials(out, scene)


def scene_materials(out: Shown, scene: Scene) -> Shown:
    """Add the materials of a model to what is shown, and what it has no table for; return it."""
    streams = scene.streams
    sets = {"vertex colours": streams.colours, "texture coordinates": streams.uv0, "lightmap coordinates": streams.uv1}
    out.lacks |= {kind for kind, values in sets.items() if values is None}
    out.lacks |= {"tri_flags"} if all(mesh.tri_flags is None for mesh in scene.meshes) else set()
    out.materials = [{material.name.casefold()} for material in scene.materials]
    out.rows = [material.row for material in scene.materials]
    out.facts_of_materials = [
        {name: getattr(material, name) for name in _FACTS} | {"portal": material.w6} for material in scene.materials
    ]
    return out


def _moving(items: Sequence[ImportedNode | Node], moved: set[int]) -> set[int]:
    """The items that are moved, and all below them."""
    out = set(moved)
    for i in parents_first([item.parent for item in items], root=-1):
        if items[i].parent in out:
            out.add(i)
    return out


def frames_of(scene: Scene) -> int:
    """Return the length of a model's clip in frames; 1 where nothing moves."""
    return scene.frame_count if moves(scene.tracks) else 1


def _looseness(scene: Scene, world: F64) -> tuple[list[float], list[F64]]:
    """How far the poses of nodes may be turned and moved by rounding: it adds up from node to node."""
    turns, moves = [TURN] * len(scene.nodes), [np.zeros(world.shape[1])] * len(scene.nodes)
    size = max(float(np.abs(world[..., :3, 3]).max(initial=0)), 1e-6)
    for i in parents_first([node.parent for node in scene.nodes], root=-1):
        up = scene.nodes[i].parent
        moves[i] = np.full(world.shape[1], MOVE * size)
        if up >= 0:
            away = np.linalg.norm(world[i, :, :3, 3] - world[up, :, :3, 3], axis=1)
            turns[i] += turns[up]
            moves[i] = moves[i] + moves[up] + turns[up] * away
    return turns, moves


def _same_curves(track: Track, other: Track | None) -> bool:
    """Whether two tracks have the same keys."""

    def keys(one: Track) -> list[F64]:
        return [array for c in channels_of([one]) for array in (c.frames, c.values)]

    mine, theirs = keys(track), [] if other is None else keys(other)
    return len(mine) == len(theirs) and all(
        a.shape == b.shape and np.allclose(a, b, atol=1e-5) for a, b in zip(mine, theirs, strict=True)
    )


class FileOfModel:
    """What an edited file of a model shows. ``held``: frames that the clip has at least: stored keys do not show a hold
    at the end.

    Attributes:
        place: node of the file -> its thing, once it is :meth:`shown`.
        unread: clips that show something else than what is read.
    """

    def __init__(
        self,
        given: ImportedScene,
        stored: Scene | None,
        timing: Timing | None,
        clip: str | None,
        cell: tuple[int, int],
        held: int = 1,
        dialect: Dialect = Dialect.SPEC,
    ) -> None:
        self.given, self.items, self.cell, self.held = given, given.nodes, cell, held
        size = 1.0 if stored is None else model_size(stored)
        self.dialect = dialect if stored is None else stored.dialect
        self.roles = NodeRoles(given, stored, POSE_NOISE * size, self.dialect).run()
        self.stored, self.timing, self.unread = stored, timing, list[Clip]()
        self.tracks, self.clip_names = self._tracks(timing, clip)

    def _tracks(self, timing: Timing | None, name: str | None) -> tuple[list[Track], tuple[str, ...]]:
        """The curves that are shown, in frames, and the names of all clips."""
        clips, names = self.given.clips, tuple(clip.name for clip in self.given.clips)
        self._whole: list[F64] = []
        if not clips or timing is None:
            return [], names
        chosen = self._chosen(clips, name)
        _, gone = hidden_items(self.items, (lambda _: False) if self.stored is None else stored_in(self.stored))
        taken: dict[int, Track] = {}
        for clip in [chosen, *(clips if name is None else ())]:
            for track in clip.tracks:
                if track.node not in gone:
                    taken.setdefault(track.node, track)
        for clip in clips:
            alike = (_same_curves(track, taken.get(track.node)) for track in clip.tracks if track.node not in gone)
            self.unread += [] if all(alike) else [clip]
        tracks = {i: in_frames(track, timing) for i, track in taken.items()}
        self._whole = [c.frames for c in channels_of([*tracks.values()])]  # a range may be sampled between them
        end = max((float(frames[-1]) for frames in self._whole), default=0.0)
        for clip in self.given.ranges:
            put_in = {node for node, _ in clip.put_in}
            for part in (track for track in self.of_range(clip) if track.node in put_in):
                whole = tracks.get(part.node, Track(part.node))
                curves = (self._spliced(whole, part, path, clip, end) for path in ("rotation", "translation"))
                tracks[part.node] = Track(part.node, *curves)
        return [*tracks.values()], names

    def of_range(self, clip: Clip) -> list[Track]:
        """Return the curves of a range of the clip, in frames from its first on."""
        return [] if self.timing is None else [in_frames(t, replace(self.timing, start=0.0)) for t in clip.tracks]

    def _spliced(self, whole: Track, part: Track, path: str, clip: Clip, end: float) -> Channel | None:
        """A curve of the whole clip with that of a range of it, which the import put in."""
        curve: Channel | None = getattr(whole, path)
        inside: Channel | None = getattr(part, path)
        if inside is None or (part.node, path) not in clip.put_in:
            return curve
        still = np.asarray(getattr(self.items[part.node], path), np.float64)
        first, last = clip.span or (0.0, end)
        return spliced(curve or Channel(np.zeros(1), still[None]), inside, first, last, end)

    def keep_clip(self, stored: Scene) -> None:
        """Let the nodes move as the sidecar's do: the file has no clip, and the import kept it."""
        items = {k: i for i, k in self.exported_rows.items()}
        self.tracks = [replace(track, node=items[track.node]) for track in stored.tracks if track.node in items]

    def _chosen(self, clips: list[Clip], name: str | None) -> Clip:
        if name is not None:
            return next(clip for i, clip in enumerate(clips) if name in (clip.name, str(i)))
        moving = (c for c in clips if any(self._is_node(track.node) for track in c.tracks))
        return next(moving, clips[0])

    def _is_node(self, i: int) -> bool:
        role = self.roles[i]
        return role is not None and not role.is_part

    def exported(self, i: int) -> Node | None:
        """Return the node of the sidecar's model that an item is; ``None``: it is none of them, or not known."""
        role = self.roles[i]
        if self.stored is None or role is None or role.stored is None:
            return None
        return self.stored.nodes[role.stored]

    @property
    def exported_rows(self) -> dict[int, int | None]:
        """The node of the sidecar's model that each item is."""
        return {i: role.stored for i, role in enumerate(self.roles) if role is not None and not role.is_part}

    @property
    def frame_count(self) -> int:
        """Length of the clip in frames; 1 where nothing moves.

        Of a clip that was sampled between frames, what is cut off at the end is less than a sample, or a short one.
        """
        if not moves(self.tracks):
            return 1
        ends = max((c.frames[-1] for c in channels_of(self.tracks)), default=0)
        count = max(self.held, int(np.floor(ends + _ON_FRAME)) + 1)
        kept = 0 if self.stored is None else frames_of(self.stored)
        step = self._sample()
        cut = step + (_ON_FRAME if step < 1 else -_ON_FRAME)
        return kept if count < kept < ends + cut + 1 else count

    def _sample(self) -> float:
        """Frames from sample to sample of a clip that an editor sampled between frames; 0: it did not."""
        gaps = [np.diff(frames) for frames in self._times if len(frames) > 2]
        if not gaps or np.ptp(each := np.concatenate(gaps)) > 2 * _ON_FRAME or each.mean() <= 0:
            return 0.0
        step = float(each.mean())
        return step if abs(1 / step - round(1 / step)) > _ON_RATE else 0.0

    def frames(self, count: int) -> F64:
        """Return whole frames of a clip to look at; where an editor resampled it, those that it kept.

        Between stored keys, editors do not turn along the arc: of these, what all nodes have keys at.
        """
        if self.held > 1 and self.stored is not None and self.stored.tracks:
            common = reduce(np.intersect1d, [c.frames for c in channels_of(self.stored.tracks)])
            return np.union1d(common[common <= count - 1], [0.0])
        keys = self._keys()
        if np.mean(keys % 1 == 0) > _ON_WHOLE:
            most = max(MOST_FRAMES, MOST_POSES // max(len(self.items), 1))
            return some_of(count, most).astype(np.float64)
        whole = np.unique(keys[(keys % 1 == 0) & (keys >= 0) & (keys <= count - 1)])
        return whole[some_of(len(whole))]

    def _keys(self) -> F64:
        return np.concatenate([np.zeros(1), *self._times])

    @property
    def _times(self) -> list[F64]:
        """The keys of each curve, without those of ranges."""
        return self._whole or [c.frames for c in channels_of(self.tracks)]

    def between(self, count: int) -> F64:
        """Return frames to look at between whole ones; none where whole ones are not what has keys.

        Halfway a spline may be where the even motion is, and yet start and stop at every frame.
        """
        if self.held > 1 or not self.tracks or np.mean(self._keys() % 1 == 0) <= _ON_WHOLE:
            return np.empty(0)
        channels = [one for track in self.tracks for one in (track.translation, track.rotation) if one is not None]
        splines = any(channel.interpolation == "CUBICSPLINE" for channel in channels)
        parts = np.array([0.25, 0.5, 0.75] if splines else [0.5])
        return (some_of(count - 1)[:, None] + parts).reshape(-1) if count > 1 else np.empty(0)

    def shown(self, frames: F64) -> Shown:
        """Return what the file shows at some frames."""
        out = Shown(frames=frames, frame_count=self.frame_count, clip=self.clip_names)
        world = world_poses(self.items, self.tracks, frames)
        moved = {track.node for clip in self.given.clips for track in clip.tracks}
        moving = _moving(self.items, moved | {track.node for track in self.tracks})
        above_names = linked(self.items)
        place = self.place = self._add_nodes(out, world, moving, above_names)
        # stored keys need not be what the runtime shows first
        own = world_poses(self.items, [], frames[:1]) if self.held > 1 else world
        items, owners = {thing: i for i, thing in place.items()}, owner_items(self.items, self.roles)
        lists: dict[tuple[int, int], list[Triangles]] = {}
        for i, item in enumerate(self.items):
            role = self.roles[i]
            if item.mesh < 0 or item.hidden or not self.given.meshes[item.mesh].drawn:
                continue
            cell, poses, links = self.cell, world[i], [above_names[i]]
            above = place.get(i, -1)
            if role is not None and role.owner is not None:
                cell, above = (role.lod, role.group), place.get(owners.get(role.owner, -1), -1)
                if above >= 0:
                    poses = _following(world[i], out.things[above].world, own[i, 0], own[items[above], 0])
                    links = [*links, above_names[items[above]]]
            mine = (item.name, self._name_above(i, above, out), self.given.meshes[item.mesh].name)
            called = next(filter(None, mine), "")
            thing = Thing(called, above, poses, {}, mine, own=3, above_names=tuple(links))
            thing.moving = i in moving or (above >= 0 and out.things[above].moving)
            mesh = self.given.meshes[item.mesh]
            found = triangles_of(self.given.streams, mesh, len(out.things), poses[0, :3, :3])
            found.flags = self._flags(i, role, found)
            lists.setdefault(cell, []).append(found)
            out.things.append(thing)
        out.cells = {cell: joined(found) for cell, found in lists.items()}
        out.materials = [ways(material.name) for material in self.given.materials]
        out.rows = [material.row for material in self.given.materials]
        thing_of = {row: place[i] for i in sorted(place, reverse=True) if (row := self._row(i)) is not None}
        portals = self.dialect is Dialect.RETAIL  # elsewhere w6 is 0xFFFF
        out.facts_of_materials = [
            {name: value for name in _FACTS if (value := getattr(material, name)) >= 0}
            | ({"portal": thing_of[material.w6]} if portals and material.w6 in thing_of else {})
            for material in self.given.materials
        ]
        return out

    def _row(self, i: int) -> int | None:
        """The row of a node in the stored model, or without one that which the file states."""
        role = self.roles[i]
        return self.items[i].extras.get("node") if self.stored is None or role is None else role.stored

    def _flags(self, i: int, role: Role | None, found: Triangles) -> I64:
        """The flags that were edited: those of a material, else of an object that are not as exported. (T,)."""
        of_materials = np.array([*(-1 if v is None else v for v in self.given.material_flags), -1], np.int64)
        own, exported = self.given.nodes[i].tri_flags
        cell = (-1, 0, 0) if role is None else (role.stored, *self.cell)
        if role is not None and role.is_part:
            cell = (role.owner, role.lod, role.group)  # type: ignore[assignment]
        before = self._flags_before.get(cell)
        value = exported if own is None or (exported is not None and own == before) else own
        stated = -1 if value is None or value == before else value
        flags = of_materials[np.minimum(found.material, len(of_materials) - 1)]
        return np.asarray(np.where(flags < 0, stated, flags))

    @cached_property
    def _flags_before(self) -> dict[tuple[int | None, int, int], int | None]:
        parts = [] if self.stored is None else self.stored.parts
        return {p[:3]: self.stored.meshes[p.mesh].common_flags for p in parts if self.stored is not None}

    def _add_nodes(self, out: Shown, world: F64, moving: set[int], links: list[Link]) -> dict[int, int]:
        """Add the nodes; return the thing of each item that is one."""
        place: dict[int, int] = {}
        for i in parents_first([item.parent for item in self.items], root=-1):
            if not self._is_node(i):
                continue
            above = next((k for k in nodes_above(self.items, i) if k in place), -1)
            extras = self.items[i].extras
            facts: dict[str, object] = {"flags": extras.get("flags"), "label": extras.get("label")}
            place[i] = len(out.things)
            out.nodes.append(len(out.things))
            name, role = self.items[i].name, self.roles[i]
            if role is not None and role.name == node_of_part(name):  # a foreign "tree.lod0" founds the node "tree"
                name = role.name
            thing = Thing(name, place.get(above, -1), world[i], facts, (self.items[i].name,))
            thing.above_names = (links[i].above,)
            thing.moving = i in moving
            out.things.append(thing)
        return place

    def _name_above(self, i: int, above: int, out: Shown) -> str:
        """What the node of a mesh is called: the one that it belongs to, or else the item above it."""
        up = self.items[i].parent
        return out.things[above].name if above >= 0 else self.items[up].name if up >= 0 else ""


def in_frames(track: Track, timing: Timing) -> Track:
    """Return a curve in frames whose times are seconds."""

    def moved(channel: Channel | None) -> Channel | None:
        if channel is None:
            return None
        values = channel.values
        if channel.interpolation == "CUBICSPLINE":  # tangents are per second
            values = values.reshape(-1, 3, values.shape[1]) / np.array([timing.fps, 1, timing.fps])[:, None]
            values = values.reshape(channel.values.shape)
        frames = (channel.frames - timing.start) * timing.fps
        whole = np.round(frames)  # times are float32
        frames = np.where(np.abs(frames - whole) < _ON_FRAME, whole, frames)
        return replace(channel, frames=frames, values=values)

    return replace(track, rotation=moved(track.rotation), translation=moved(track.translation))


def _following(part: F64, node: F64, part_rest: F64, node_rest: F64) -> F64:
    """Where a part is that stands where the file shows it first, and follows its node from there."""
    if np.abs(np.linalg.det(node_rest[:3, :3])) < 1e-30:
        return part
    return np.asarray(node @ (np.linalg.inv(node_rest) @ part_rest))
