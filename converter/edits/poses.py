"""Compare the poses and animations of a glTF file with those of the model in its sidecar, and place its parts.

A part that is an object of its own goes where the file shows it at the first frame, relative to where its node
will be. An object that was not touched since the export shows nothing but where its node was: such a part
follows its node, unless the mesh of the node was moved the other way, as Blender's *Apply* and
*Set Origin* do, or replaced (docs/reference/gltf.md, Import).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import ConversionError, called, few, plural, printable
from ..findings import Report, Subject
from ..numeric.arrays import F32, F64, Bools, near_pairs, row_ids
from ..numeric.pose import affine, rotation_matrix
from ..scene.assembly import Pose
from ..scene.decode import rest_pose
from ..scene.scene import Channel, ImportedNode, Node, Part, Scene, Track, evaluate
from .nodes import PLACED_TURN_NOISE, POSE_NOISE, ROTATION_NOISE, Identified, world_matrices

#: What Blender's exporter takes for a constant curve (1e-4), and rounding.
_CONSTANT = 1.2e-4
#: Moments per frame at which an animated node may have been exported.
_MOMENTS = 25
#: Moments that are looked at together: a clip may have millions.
_BLOCK = 1 << 13


@dataclass
class PoseChanges:
    """What differs in poses: nodes that need a new key run, and each difference, told after those of nodes."""

    nodes: set[int] = field(default_factory=set)
    frames: set[float] = field(default_factory=set)
    report: Report = field(default_factory=Report)


def compare_poses(identified: Identified, stored: Scene) -> PoseChanges:
    """Compare rest poses of static nodes, samples of animated ones at every frame, and the length. ``identified``: the
    file's scene, its nodes identified against ``stored``, its clip in place.
    """
    out, scene = PoseChanges(), identified.scene
    new = {track.node: track for track in scene.tracks}
    old = {track.node: track for track in stored.tracks}
    noise, turn_noise = POSE_NOISE * identified.size, identified.turn_noise
    for i, k in identified.stored_of.items():
        node, before = scene.nodes[i], stored.nodes[k]
        where = Subject("node", before.name)
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
        out.report.changed(f"animation {called(stored.name)}", text)
    return out


def clip_length_changed(scene: Scene, stored: Scene) -> bool:
    """Return whether both have a clip, and one of another length."""
    return bool(stored.tracks and scene.tracks) and scene.frame_count != stored.frame_count


def _common_frames(new: Track | None, old: Track | None, scene: Scene) -> F64:
    """The frames at which two tracks are compared: keys of the stored one, and all whole ones."""
    end = scene.frame_count if new is not None else 1
    channel = None if old is None else old.rotation or old.translation
    if channel is None:
        return np.arange(float(max(end, 1)))
    whole = np.arange(max(float(np.floor(channel.frames[-1])) + 1, end))
    return np.union1d(channel.frames, whole)


def _differing(
    new: Track | None, old: Track | None, node: Node, before: Node, frames: F64, noise: tuple[float, float]
) -> tuple[Bools, Bools]:
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


def placed_elsewhere(
    track: Track, item: ImportedNode | Node, before: Node | None, noises: tuple[float, float]
) -> list[str]:
    """Return how a node stands elsewhere than it ever does in its animation, and than it did before. ``track``: its
    animation, in frames.
    """
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


def _moments(channel: Channel) -> Iterator[F64]:
    """Where an editor's current frame may be: the keys, and every 25th of a frame, which holds the
    frames of scenes at 25, 30, 50 and 60 per second. Blocks of frames."""
    frames = channel.frames
    yield frames
    steps = int(np.ceil((frames[-1] - frames[0]) * _MOMENTS)) + 1
    for first in range(0, steps, _BLOCK):
        yield frames[0] + np.arange(first, min(first + _BLOCK, steps)) / _MOMENTS


def poses_at(track: Track | None, node: Node | ImportedNode, frames: F64) -> tuple[F64, F64]:
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


def same_rotations(a: F64, b: F64, noise: float | F64 = ROTATION_NOISE) -> Bools:
    """Return whether rotations are equal up to sign and noise, (...) or a number. (..., 4) each -> (...)."""
    near = np.minimum(np.abs(a - b).max(-1), np.abs(a + b).max(-1))
    return np.asarray(near <= noise)


def spread(values: F64) -> float:
    """Return by how much the values of a curve vary, rotations but for their signs. (T, 3) or (T, 4)."""
    if values.shape[1] == 4:
        values = values * np.where(np.einsum("ti,i->t", values, values[0]) < 0, -1.0, 1.0)[:, None]
    return float(np.ptp(values, axis=0).max())


def collapsed(channel: Channel | None, stored: F64) -> float:
    """Return the tolerance of a curve that Blender's exporter took for constant: all within 1e-4.

    It keeps the first and the last key of such a curve and drops what is between.
    """
    if channel is None or len(channel.frames) > 2 or len(stored) <= 2:
        return 0.0
    return _CONSTANT if spread(stored) <= _CONSTANT else 0.0


#: A mesh that was edited, too, still has this ratio of its vertices.
_MOST = 0.5


def shows_a_frame(track: Track | None, item: ImportedNode, size: float) -> bool:
    """Return whether a node stands as in some frame of its animation; ``size``: how far it is from the origin."""
    return track is not None and not placed_elsewhere(track, item, None, (2 * POSE_NOISE * size, 4 * PLACED_TURN_NOISE))


def place_parts(identified: Identified, stored: Scene | None, moved: set[int]) -> None:
    """Fill in the matrices of parts that are objects of their own. Raises ConversionError: a part is scaled to nothing.

    Args:
        identified: the file's scene, its clip in place; its parts are changed.
        moved: nodes whose poses changed; those of the others stay as they are stored.
    """
    if not identified.part_of and not moved and not identified.baked:
        return
    places = _Places(identified, stored, moved)
    for index in identified.part_of:
        places.place(index)
    if stored is not None:
        shifted = (node for node in identified.stored_of if places.is_shifted(node))
        identified.shifted = {node for node in shifted if node in identified.baked or not places.takes_parts(node)}
    places.report()


class _Places:
    def __init__(self, identified: Identified, stored: Scene | None, moved: set[int]) -> None:
        self.identified, self.scene, self.stored = identified, identified.scene, stored
        self.imported = identified.imported
        self.item_of = identified.item_of
        self.world = self._items_at_start()
        self.node_world = _matrices(self._at_start(moved))
        self.as_it_is = _matrices(self.scene)
        self.rest = None if stored is None else _matrices(stored)
        self.cells = {p.cell: p for p in ([] if stored is None else stored.parts)}
        self.taking: dict[int, bool] = {}
        self.following: list[str] = []
        self.with_node: list[str] = []
        self.apart: list[str] = []
        self.at_origin: list[str] = []

    def _at_start(self, moved: set[int]) -> Scene:
        """The nodes as they will be at the first frame."""
        tracks = {track.node: track for track in self.scene.tracks}
        nodes = []
        for i, node in enumerate(self.scene.nodes):
            k = self.identified.stored_of.get(i)
            if self.stored is not None and k is not None and i not in moved:
                old = self.stored.nodes[k]
                place, turn = old.translation, old.rotation
            else:
                place, turn = _first_pose(tracks.get(i), node)
            nodes.append(replace(node, translation=place, rotation=turn))
        return replace(self.scene, nodes=nodes)

    def _items_at_start(self) -> F64:
        """(n, 4, 4) matrices from items to the model at the first frame."""
        if not self.imported.tracks:
            return self.identified.world
        items = [*self.imported.nodes]
        for track in self.imported.tracks:
            item = items[track.node]
            place, turn = _first_pose(track, item)
            linear = item.linear
            if linear is not None:
                linear = rotation_matrix(turn) @ rotation_matrix(item.rotation).T @ linear
            items[track.node] = replace(item, translation=place, rotation=turn, linear=linear)
        return world_matrices(items)

    def place(self, index: int) -> None:
        """Fill in the matrix of a part."""
        item, part = self.identified.part_of[index], self.scene.parts[index]
        name, world = printable(self.imported.nodes[item].name), self.world[item]
        k, here = self.identified.stored_of.get(part.node), index in self.identified.exported
        matrix = self._into(world, self.node_world[part.node])
        rest = self.rest[k] if here and self.rest is not None and k is not None else None
        if rest is not None and self._into(world, rest) is None:
            if not self.is_shifted(part.node):
                matrix = None
            elif self.takes_parts(part.node):
                self.following.append(name)
                matrix = self._baked(part.node)
                self._leaves(item, part, matrix)
                self.identified.reasons[index] = "to follow its node, as its object was left where it was exported"
            else:
                self.identified.reasons[index] = "to stay where the file shows it, as the origin of its node was moved"
        elif matrix is not None and self._stands_with_node(item, part.node):
            self.with_node.append(name)
            matrix = None
            self._leaves(item, part, matrix)
        elif matrix is not None:
            self._require_size(matrix, name)
            if here and (world == np.eye(4)).all() and self._is_intact(part, self._old(part)):
                self.at_origin.append(name)
            if self.stored is None and "lod" in self.imported.nodes[item].extras:
                self.apart.append(name)
        self.scene.parts[index] = part._replace(matrix=matrix)

    def _leaves(self, item: int, part: Part, matrix: F64 | None) -> None:
        """State how far a part will be from where the file shows it."""
        there = self.node_world[part.node] @ (np.eye(4) if matrix is None else matrix) - self.world[item]
        points = _points(self.scene, part.mesh).astype(np.float64)
        away = np.linalg.norm(points @ there[:3, :3].T + there[:3, 3], axis=1).max(initial=0)
        most = float(away) + 4 * POSE_NOISE * self.identified.size
        self.imported.report.concerns([self.imported.nodes[item].name], "place", most=most)

    def _stands_with_node(self, item: int, node: int) -> bool:
        """Whether a part is where its node is by the node's own transform, which of an animated
        node is that of any frame: the one that was shown when the part was put there."""
        return self._into(self.identified.world[item], self.as_it_is[node]) is None

    @staticmethod
    def _require_size(matrix: F64, name: str) -> None:
        if abs(np.linalg.det(matrix[:3, :3])) < 1e-12:
            raise ConversionError(f"part {called(name)} is scaled to nothing", hint="delete it, or give it a size")

    def _old(self, part: Part) -> int | None:
        """The stored mesh of the cell that a part is in."""
        k = self.identified.stored_of.get(part.node, -1)
        old = self.cells.get((k, part.lod, part.group))
        return None if old is None else old.mesh

    def is_shifted(self, node: int) -> bool:
        """Whether the file shows a stored node elsewhere than it was exported, or scaled."""
        k = self.identified.stored_of.get(node)
        if self.rest is None or k is None:
            return False
        if node in self.identified.baked:
            return True
        return self._into(self.node_world[node], self.rest[k]) is not None

    def takes_parts(self, node: int) -> bool:
        """Whether the parts of a node that was moved, turned or scaled go with it.

        Not where its own mesh was moved the other way, so that it is seen where it was, and not
        where it was replaced: then nothing says that the parts are meant, too.
        """
        if node not in self.taking:
            cell, k = self.identified.shown, self.identified.stored_of[node]
            own = (
                part
                for index, part in enumerate(self.scene.parts)
                if part.cell == (node, *cell) and index not in self.identified.part_of
            )
            part, old = next(own, None), self.cells.get((k, *cell))
            mesh = None if old is None else old.mesh
            self.taking[node] = part is None or self._is_intact(part, mesh, node)
        return self.taking[node]

    def _is_intact(self, part: Part, mesh: int | None, node: int | None = None) -> bool:
        """Whether most vertices of a stored mesh are where they were in the frame of their object,
        and, for the mesh of a node, no more of them where they were in the model."""
        if self.stored is None or mesh is None:
            return False
        old, new = _points(self.stored, mesh), _points(self.scene, part.mesh)
        ids = row_ids(np.concatenate([old, new]).view(np.uint32).astype(np.uint64))
        kept = int(np.isin(ids[: len(old)], ids[len(old) :]).sum())
        if kept < _MOST * len(old) or node is None or self.rest is None:
            return kept >= _MOST * len(old)
        rest = self.rest[self.identified.stored_of[node]]
        back = np.linalg.inv(self.world[self.item_of[node]]) @ rest
        placed = old.astype(np.float64) @ back[:3, :3].T + back[:3, 3]
        i, k = near_pairs(np.concatenate([placed, new]), 4 * POSE_NOISE * self.identified.size)
        return kept >= len(np.unique(i[(i < len(old)) & (k >= len(old))]))

    def _baked(self, node: int) -> F64 | None:
        """What the vertices of a node's own mesh need, which those of its parts need, too."""
        shape = self.identified.baked.get(node)
        return None if shape is None else affine(shape, 0.0)

    def _into(self, world: F64, frame: F64) -> F64 | None:
        """The matrix from an item's frame to a node's, ``None`` where they are the same."""
        matrix: F64 = np.linalg.inv(frame) @ world
        unturned = np.abs(matrix[:3, :3] - np.eye(3)).max() <= 4 * ROTATION_NOISE
        unmoved = np.abs(matrix[:3, 3]).max() <= 2 * POSE_NOISE * max(self.identified.size, 1e-6)
        return None if unturned and unmoved else matrix

    def report(self) -> None:
        """Warn of parts that are placed otherwise than the user may mean."""
        warnings = self.imported.report.warnings
        if self.at_origin:
            # Blender does not evaluate collections that are switched off; measured with 4.5 and 5.0
            more = f" and {len(self.at_origin) - 1} more" if len(self.at_origin) > 1 else ""
            warnings.append(
                f"part {called(self.at_origin[0])}{more} came to the origin: so Blender exports what is "
                "switched off in a .blend that was opened again (switch its collections on, and "
                "export again)"
            )
        for names, one, several in (
            (
                self.following,
                "follows its node, which was moved, turned or scaled: its object was left as "
                "exported (to place a part by itself, move its object, too)",
                "follow their nodes, which were moved, turned or scaled: their objects were left "
                "as exported (to place a part by itself, move its object, too)",
            ),
            (
                self.with_node,
                "stands with its node, and goes where the first frame of the animation has that",
                "stand with their nodes, and go where the first frame of the animation has those",
            ),
            (
                self.apart,
                "stands elsewhere than its node, and so in the model (with the sidecar, a part "
                "that was not moved follows its node)",
                "stand elsewhere than their nodes, and so in the model (with the sidecar, parts "
                "that were not moved follow their nodes)",
            ),
        ):
            if names:
                warnings.append(f"{_list(names)} {one if len(names) == 1 else several}")


def _list(names: Sequence[str]) -> str:
    return f"{'part' if len(names) == 1 else 'parts'} {few([*map(called, names)])}"


def _first_pose(track: Track | None, node: Node | ImportedNode) -> tuple[F32, F64]:
    if track is None:
        return node.translation, node.rotation
    places, turns = poses_at(track, node, np.zeros(1))
    return places[0].astype(np.float32), turns[0]


def _matrices(scene: Scene) -> F64:
    """(n, 4, 4) matrices from nodes at rest to the model."""
    turns, places = rest_pose(scene)
    return affine(rotation_matrix(turns), places)


def _points(scene: Scene, mesh: int) -> F32:
    """The distinct positions that a mesh uses. (n, 3)"""
    used = np.unique(scene.streams.corners(scene.meshes[mesh].primitives))
    return np.unique(scene.streams.positions[used] + np.float32(0), axis=0)


#: What matrices round on their way through an editor: of a rotation, relative of a scale.
TURN_NOISE = 1e-5


@dataclass(frozen=True)
class Place:
    """Where a node stands in the world.

    Attributes:
        position: (3,).
        linear: (3, 3).
        scale: (3,) lengths of the columns; the axes of ``turn``.
        turn: (3, 3) rotation; ``None``: mirrored, sheared or scaled to nothing.
    """

    position: F64
    linear: F64
    scale: F64
    turn: F64 | None


def place_of(world: F64) -> Place:
    """Return the place of a node. (4, 4)."""
    linear = world[:3, :3]
    scale = np.linalg.norm(linear, axis=0)
    turn = None
    if scale.min() > 0:
        turn = linear / scale
        square = np.abs(turn.T @ turn - np.eye(3)).max() < 1e-4
        if not square or np.linalg.det(turn) < 0:
            turn = None
    return Place(world[:3, 3], linear, scale, turn)


def same_position(a: F64, b: F64, world: F64 | None = None) -> bool:
    """Tell whether two places differ by noise only.

    Args:
        a, b: (3,) places in one frame.
        world: (4, 4) of a node below others, which editors compute from its place in the world.
    """
    largest = np.abs(b).max() if world is None else np.abs(world[:3, 3]).max()
    return bool(np.abs(a - b).max() <= POSE_NOISE * max(1.0, float(largest)))


def same_linear(linear: F64, pose: Pose) -> bool:
    """Tell whether a rotation with scale is that of a pose, but for noise."""
    stored = rotation_matrix(pose.rotation) * pose.scale
    size = max(float(np.abs(pose.scale).max()), 1e-9)
    return bool(np.abs(linear - stored).max() <= TURN_NOISE * size)
