"""Make of the nodes below a placement of a unit or mission the file of the placed model alone, or the object's edit.

Such a file is imported like any other. Copies that differ by noise are one file. A mission stores where its objects
are: in an editor one clicks what they show, the root component, or the root node of a model. Moving or deleting these
is meant for the object.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..findings import Report
from ..formats.mission import OBJECT_KINDS, Mission, PlacedObject
from ..formats.model_parts import ControlPoint
from ..formats.names import without_number
from ..numeric.arrays import F32, F64
from ..numeric.pose import rotation_matrix
from ..scene.assembly import Pose, component_text, object_key
from ..scene.extras import FileInfo, NodeExtras
from ..scene.scene import (
    Channel,
    Clip,
    ImportedNode,
    ImportedScene,
    Material,
    Node,
    Placed,
    Scene,
    Track,
    nodes_above,
    require_in_range,
)
from .frame_rate import DEFAULT_FPS
from .node_roles import keep_nodes
from .nodes import PLACED_TURN_NOISE, POSE_NOISE, local_matrix, model_size, world_matrices
from .poses import TURN_NOISE, same_linear, same_rotations
from .unit import new_title, row_of

#: What a held value may drift by, and what times of keys round, seconds.
_HELD, _MOMENT = 1e-4, 1e-4


@dataclass(frozen=True, eq=False)
class ShownModel:
    """A model that a unit or mission shows.

    Attributes:
        scene: all of it.
        moves: whether its clip is shown.
        of_game: the sidecar does not know it: an object of it was added.
    """

    file: str
    scene: Scene
    points: list[ControlPoint]
    moves: bool
    of_game: bool = False

    @cached_property
    def size(self) -> float:
        """Its largest coordinate, as of :func:`~converter.edits.nodes.model_size`."""
        return model_size(self.scene)


@dataclass(frozen=True)
class Shown:
    """What the glTF of a unit or mission shows besides its records.

    Attributes:
        inside: as text (``converter.scene.assembly``).
        models: by object key in lower case.
        ground: (V, 3) vertices of the terrain; ``None``: there is none.
    """

    inside: Mapping[str, str]
    models: Mapping[str, ShownModel]
    ground: F32 | None = None

    @property
    def positions(self) -> F32:
        """All vertices that are shown, and more. (V, 3)."""
        models = {id(model): model.scene.streams.positions for model in self.models.values()}
        ground = [] if self.ground is None else [self.ground]
        return np.concatenate([np.empty((0, 3), np.float32), *models.values(), *ground])


@dataclass(eq=False)
class Copies:
    """Placements below which one model is shown alike, as the file of that model alone.

    Attributes:
        meshes: per node the mesh in the file of the unit or mission, -1 = none.
        is_copy: it is of a new object: what it lacks says nothing.
        places: the nodes that place it.
    """

    model: ShownModel
    scene: ImportedScene
    meshes: list[int]
    is_copy: bool
    places: list[int] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        """The nodes of the model that the file does not have."""
        here = {node.extras.get("node") for node in self.scene.nodes}
        return [node.name for node in self.model.scene.nodes if node.index not in here]

    def is_like(self, other: Copies) -> bool:
        """Return whether both files show the same, but for noise."""
        if self._signature != other._signature or not self._same_clips(other):
            return False
        pairs = zip(self.scene.nodes, other.scene.nodes, strict=True)
        return all(self._same_pose(mine, theirs, other) for mine, theirs in pairs)

    def covers(self, other: Copies) -> bool:
        """Return whether this file shows each node as the other one does, if that is not as it is stored."""
        stored = {(0, node.index): node for node in self.model.scene.nodes}
        mine = {_key(node): i for i, node in enumerate(self.scene.nodes)}
        for k, node in enumerate(other.scene.nodes):
            i, before = mine.get(_key(node)), stored.get(_number(node.extras))
            if before is not None and i is None:
                continue  # it is deleted here
            if i is None or self.meshes[i] != other.meshes[k]:
                return False
            if not self._same_pose(self.scene.nodes[i], node, other) and (
                before is None or not self._same_pose(before, node, other)
            ):
                return False
        return True

    @property
    def _signature(self) -> list[tuple[object, ...]]:
        """All of the nodes but their places."""
        pairs = zip(self.scene.nodes, self.meshes, strict=True)
        linear = [None if node.linear is None else np.round(node.linear, 4).tobytes() for node in self.scene.nodes]
        facts = [(node.name, node.parent, mesh, repr(node.extras), node.tri_flags) for node, mesh in pairs]
        return [*zip(facts, linear, strict=True)]

    def _noise(self, other: Copies) -> float:
        reaches = (0.0 if one.scene.placed is None else one.scene.placed.reach for one in (self, other))
        return 2 * POSE_NOISE * max(1.0, self.model.size, *reaches)

    def _same_pose(self, a: ImportedNode | Node, b: ImportedNode, other: Copies) -> bool:
        moved = np.abs(a.translation - b.translation).max()
        turned = not same_rotations(a.rotation, b.rotation, 2 * PLACED_TURN_NOISE).all()
        return bool(moved <= self._noise(other)) and not turned

    def _same_clips(self, other: Copies) -> bool:
        mine, theirs = (
            [(c.name, t) for c in (*one.scene.clips, *one.scene.ranges) for t in c.tracks] for one in (self, other)
        )
        noise = self._noise(other)
        return len(mine) == len(theirs) and all(
            (name, track.node) == (other_name, other_track.node)
            and _alike(track.translation, other_track.translation, noise)
            and _alike(track.rotation, other_track.rotation, 2 * PLACED_TURN_NOISE)
            for (name, track), (other_name, other_track) in zip(mine, theirs, strict=True)
        )


def _alike(a: Channel | None, b: Channel | None, noise: float) -> bool:
    if a is None or b is None:
        return a is b
    if a is b:
        return True
    return (
        a.interpolation == b.interpolation
        and a.values.shape == b.values.shape
        and bool(np.abs(a.frames - b.frames).max() <= _MOMENT)
        and bool(np.abs(a.values - b.values).max() <= max(noise, _HELD))
    )


class PlacedScenes:
    """Makes files of placed models. ``world``: (n, 4, 4) places of its nodes."""

    def __init__(self, given: ImportedScene, world: F64, fps: float | None) -> None:
        self.given, self.world = given, world
        self.fps = fps or given.info.get("fps") or given.fps or DEFAULT_FPS
        self.tracks: dict[int, list[tuple[int, Track]]] = defaultdict(list)
        self.clips = [*given.clips, *given.ranges]
        for number, clip in enumerate(self.clips):
            for track in clip.tracks:
                self.tracks[track.node].append((number, track))
        self._materials: dict[int, list[Material]] = {}

    def of(self, place: int, items: Sequence[int], model: ShownModel, *, is_copy: bool) -> Copies:
        """Return the file of a model at one place.

        Args:
            place: the node that places the model.
            items: the nodes below it that are not of another placed object.
            is_copy: it is new: copies of assets have neither clips nor control points.
        """
        nodes, given = self.given.nodes, self.given
        names = self._names(items, model)
        items = sorted(items, key=lambda i: (*_number(nodes[i].extras), names.get(i, nodes[i].name), i))
        reach = float(np.abs(self.world[[place, *items], :3, 3]).max())
        row_of = {item: row for row, item in enumerate(items)}
        numbers = sorted({nodes[i].mesh for i in items if nodes[i].mesh >= 0})
        mesh_of = {number: row for row, number in enumerate(numbers)}
        own = [
            replace(
                nodes[i],
                name=names.get(i, nodes[i].name),
                parent=row_of.get(nodes[i].parent, -1),
                mesh=mesh_of.get(nodes[i].mesh, -1),
            )
            for i in items
        ]
        tracks = any(self.tracks.get(i) for i in items)
        points = any(nodes[i].extras.get("kind") == "point" for i in items)
        placed = Placed(
            reach,
            moves=bool(given.clips) and model.moves and (tracks or not is_copy),
            points=points or not (is_copy or model.of_game),
        )
        info = FileInfo(lod=given.shown[0], group=given.shown[1])
        if "fps" in given.info:
            info["fps"] = given.info["fps"]
        clips = self._clips(items, row_of, model, reach)
        scene = replace(
            given,
            info=info,
            nodes=own,
            meshes=[replace(given.meshes[i], primitives=[*given.meshes[i].primitives]) for i in numbers],
            materials=[*self._own_materials(model)],
            clips=[clip for clip in clips if clip.span is None],
            ranges=[clip for clip in clips if clip.span is not None],
            tracks=[],
            placed=placed,
            report=Report(),
        )
        return Copies(model, scene, [nodes[i].mesh for i in items], is_copy, [place])

    def _clips(self, items: Sequence[int], row_of: dict[int, int], model: ShownModel, reach: float) -> list[Clip]:
        end = (model.scene.frame_count - 1) / self.fps if model.moves and model.scene.tracks else np.inf
        clips: dict[int, Clip] = {}
        for item in items:
            for number, track in self.tracks[item]:
                whole = self.clips[number]
                clip = clips.setdefault(number, Clip(whole.name, span=whole.span))
                track = replace(track, node=row_of[item])
                clip.tracks.append(track if whole.span else _without_tail(track, end, reach))
        return [clips[number] for number in sorted(clips)]

    def _own_materials(self, model: ShownModel) -> list[Material]:
        """The materials of the file; those of other models have only their names.

        In a unit or mission, the materials of different models have the same keys.
        """
        if id(model) not in self._materials:
            names = {material.name for material in model.scene.materials}
            self._materials[id(model)] = [
                material
                if material.name in names or without_number(material.name) in names
                else Material(material.name, -1, -1, -1, -1, -1, -1)
                for material in self.given.materials
            ]
        return self._materials[id(model)]

    def _names(self, items: Sequence[int], model: ShownModel) -> dict[int, str]:
        """The stored names of nodes whose names differ only by what made them unique.

        Of several nodes with one number, only the one that is where it was has the name.
        """
        stored = {(0, node.index): (node.name, np.asarray(node.translation)) for node in model.scene.nodes}
        for point in model.points:
            stored[1, point.row] = point.name, np.array(point.position)
        best: dict[tuple[int, object], tuple[float, int]] = {}
        labels: dict[int, str] = {}
        for item in items:
            node = self.given.nodes[item]
            key = _number(node.extras)
            if key not in stored:
                continue
            name, place = stored[key]
            away = float(np.abs(node.translation - place).max())
            if new_title(node.name, name) is None:
                labels[item] = name
            if key not in best or away < best[key][0]:
                best[key] = away, item
        chosen = {item for _, item in best.values()}
        return {item: label for item, label in labels.items() if item in chosen}


def _number(extras: NodeExtras) -> tuple[int, int]:
    """What a node says that it is: a node or a control point, and its row; the others come last."""
    if extras.get("kind") == "point":
        return 1, extras.get("point", -1)
    return (0, extras["node"]) if "node" in extras else (2, -1)


def _key(node: ImportedNode) -> tuple[int, int, str]:
    """What pairs the nodes of two copies: what they are, of new ones their names."""
    kind, row = _number(node.extras)
    return kind, row, node.name if kind == 2 else ""


def _without_tail(track: Track, end: float, reach: float) -> Track:
    """A track without the keys after the end of its model's clip that only hold its last value.

    In a unit, the clips of all models are one animation, which an editor exports to its end.
    """
    noise = max(_HELD, 2 * POSE_NOISE * reach)
    return replace(track, rotation=_held(track.rotation, end, _HELD), translation=_held(track.translation, end, noise))


def _held(channel: Channel | None, end: float, noise: float) -> Channel | None:
    if channel is None or channel.interpolation == "CUBICSPLINE" or channel.frames[-1] <= end:
        return channel
    last = int(np.searchsorted(channel.frames, end - _MOMENT))
    frames, values = channel.frames[: last + 1].copy(), channel.values[: last + 1]
    if not _holds(channel.values[last:], noise):
        return channel
    if last > 0 and _holds(values[-2:], noise):
        frames[-1] = max(end, frames[-2] + _MOMENT)
    return replace(channel, frames=frames, values=values)


def _holds(values: F64, noise: float) -> bool:
    """Whether a curve has its first value throughout. (T, 3) or (T, 4)."""
    if values.shape[1] == 4:
        return bool(same_rotations(values, values[0], noise).all())
    return bool(np.abs(values - values[0]).max() <= noise)


def settle_objects(imported: ImportedScene, stored: Mission, shown: Shown) -> None:
    """Move objects as their roots were moved, and leave out objects whose roots were deleted.

    Afterwards the roots are where the export put them, as if the object's own node had been edited. Roots are the
    components that an object has directly below it, and the root nodes of the models of these and of scenery. They are
    left where they are if only some of them were moved, if they are animated, or scaled to nothing. ``imported``: the
    file. Its nodes change. Raises ConversionError: a place is out of range.
    """
    _Roots(imported, stored, shown).run()


class _Roots:
    """The roots of the objects of a file; ``rows``: how many nodes state each stored row."""

    def __init__(self, imported: ImportedScene, stored: Mission, shown: Shown) -> None:
        self.imported, self.stored, self.shown = imported, stored, shown
        self.nodes = imported.nodes
        self.world = world_matrices(self.nodes)
        require_in_range("a place", self.world)
        self.below: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            if node.parent >= 0:
                self.below[node.parent].append(i)
        objects = [node.extras for node in self.nodes if node.extras.get("kind") == "object"]
        self.rows = Counter(row_of(extras) for extras in objects)
        self.animated = {track.node for clip in imported.clips for track in clip.tracks}

    def run(self) -> None:
        for i in (i for i in range(len(self.nodes)) if self._kind(i) in ("object", "unit")):
            path = self._path(i)
            self._carry_model(path, i)
            parts = [child for child in self.below[i] if self._kind(child) == "component"]
            for part in parts:
                self._carry_model(self._key(path, part), part)
            self._carry(i, {part: Pose() for part in parts})
        emptied = {i for i in range(len(self.nodes)) if self._is_emptied(i)}
        if emptied and not self._has_loose_nodes():
            gone = {child for i in emptied for child in self._all_below(i)} | emptied
            keep_nodes(self.imported, {*range(len(self.nodes))} - gone)

    def _kind(self, i: int) -> str | None:
        return self.nodes[i].extras.get("kind")

    def _path(self, i: int) -> str:
        """What is shown below an object: another path may have been typed since."""
        row = row_of(self.nodes[i].extras) if self._kind(i) == "object" else None
        if row is not None and row < len(self.stored.objects):
            return self.stored.objects[row].reference.lower()
        return object_key(self.nodes[i].extras)

    def _key(self, path: str, part: int) -> str:
        """The key of what a component shows; empty: nothing, or it was edited."""
        extras = self.nodes[part].extras
        row, inside = extras.get("index"), self.shown.inside
        same = inside.get(f"component {path} {row}") in (None, component_text(extras))
        return object_key(extras) if same and f"bare {path} {row}" not in inside else ""

    def _shows_nodes(self, placed: PlacedObject) -> bool:
        """Whether the export showed a model of an object: of its components, or of its key."""
        inside, path = self.shown.inside, placed.reference.lower()
        keys, start = [path] if placed.kind < len(OBJECT_KINDS) else [], f"component {path} "
        if placed.is_assembly:
            shown = {label[len(start) :]: text for label, text in inside.items() if label.startswith(start)}
            keys = [text.partition(" ")[0].lower() for row, text in shown.items() if f"bare {path} {row}" not in inside]
        models = [self.shown.models.get(key) for key in keys]
        return any(model is not None and model.scene.nodes for model in models)

    def _carry_model(self, key: str, holder: int) -> None:
        if (model := self.shown.models.get(key)) is None:
            return
        # where they were exported, by their numbers
        roots: dict[object, Pose] = {
            n.index: Pose(n.translation.astype(np.float64), n.rotation) for n in model.scene.nodes if n.parent < 0
        }
        root_items = {
            item: roots[number]
            for item in self.below[holder]
            if self._kind(item) is None and (number := self.nodes[item].extras.get("node")) in roots
        }
        numbers = {self.nodes[item].extras["node"] for item in root_items}
        moving = {model.scene.nodes[track.node].index for track in model.scene.tracks if model.moves}
        whole = len(root_items) == len(roots) == len(numbers)
        if whole and not moving & numbers and not self.animated & root_items.keys():
            self._carry(holder, root_items)

    def _carry(self, holder: int, roots: Mapping[int, Pose]) -> None:
        """Move a node as all of its roots were moved, and these back; other nodes stay."""
        moves = [self._move(i, rest) for i, rest in roots.items()]
        if not moves or (move := moves[0]) is None:
            return
        noise = max(TURN_NOISE, self._noise(holder))
        if any(other is None or np.abs(other - move).max() > noise for other in moves):
            return
        if abs(np.linalg.det(move[:3, :3])) < 1e-9:
            return
        back = np.linalg.inv(move)
        for i in self.below[holder]:
            if i in roots:
                place, turn = roots[i].translation.astype(np.float32), roots[i].rotation
                self.nodes[i] = replace(self.nodes[i], translation=place, rotation=turn, linear=None)
            elif self._kind(i) != "component":  # what a unit consists of comes along
                self._put(i, back @ local_matrix(self.nodes[i]))
        self._put(holder, local_matrix(self.nodes[holder]) @ move)

    def _move(self, i: int, rest: Pose) -> F64 | None:
        """How a node was moved in the frame above it. (4, 4); ``None``: it was not, but for noise.

        An axis along which it was not moved stays exact.
        """
        here, before = local_matrix(self.nodes[i]), np.eye(4)
        before[:3, :3], before[:3, 3] = rotation_matrix(rest.rotation), rest.translation
        away = np.abs(here[:3, 3] - before[:3, 3]) > self._noise(i)
        turned = not same_linear(here[:3, :3], rest)
        if not away.any() and not turned:
            return None
        if not turned:
            here[:3, :3] = before[:3, :3]
        here[:3, 3] = np.where(away, here[:3, 3], before[:3, 3])
        move: F64 = here @ np.linalg.inv(before)
        return move

    def _noise(self, i: int) -> float:
        return POSE_NOISE * max(1.0, float(np.abs(self.world[i][:3, 3]).max()))

    def _put(self, i: int, local: F64) -> None:
        node, linear = self.nodes[i], local[:3, :3]
        if np.abs(linear - local_matrix(node)[:3, :3]).max() > 1e-12:
            node = replace(node, linear=linear)
        self.nodes[i] = replace(node, translation=local[:3, 3].astype(np.float32))

    def _is_emptied(self, i: int) -> bool:
        """Whether nothing is left below a stored object but components that show nothing."""
        node = self.nodes[i]
        row = row_of(node.extras) if self._kind(i) == "object" else None
        if row is None or row >= len(self.stored.objects):
            return False
        placed = self.stored.objects[row]
        path = placed.reference
        below = [self.nodes[child] for child in self._all_below(i)]
        return (
            self.rows[row] == 1  # an empty copy of another is a new object
            and path == node.extras.get("path") == node.typed.get("path", path)
            and all(child.extras.get("kind") == "component" and child.mesh < 0 for child in below)
            and self._shows_nodes(placed)
        )

    def _all_below(self, i: int) -> list[int]:
        out = [*self.below[i]]
        for child in out:
            out += self.below[child]
        return out

    def _has_loose_nodes(self) -> bool:
        """Whether something of a model is below no object: an editor deleted what was above it."""
        return any(
            ("node" in node.extras or self._kind(i) in ("component", "point"))
            and not any(self._kind(k) in ("object", "unit") for k in (i, *nodes_above(self.nodes, i)))
            for i, node in enumerate(self.nodes)
        )
