"""What units and missions place: where models stand, and what is shown of them.

A unit or mission places models that are in files of their own. What the file shows below a placement
is compared with the model and with where the result puts it; what is missing there never counts,
since levels, clips and points are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..edits.frame_rate import Timing
from ..edits.nodes import PLACED_TURN_NOISE, POSE_NOISE, model_size, world_matrices
from ..edits.poses import placed_elsewhere, shows_a_frame
from ..errors import called
from ..findings import Kind
from ..numeric.arrays import F64
from ..numeric.pose import affine, parents_first, rotation_matrix
from ..scene.assembly import Pose, object_key, root_pose
from ..scene.scene import ImportedScene, Scene, Track, nodes_above
from .compare import Comparison
from .difference import Difference, still_elsewhere
from .models import in_frames, scene_materials
from .shown import MOVE, TURN, Look, Shown, Thing, WrittenLooks, looks_of_file, triangles_of, ways

#: How far a place may be: relative to its coordinates, of float32 on its way through editors.
PLACE = 4e-6
#: How far axes may be, relative to their length.
_AXES = 1e-4
#: What is scaled to less has no size.
_NOTHING = 1e-12
#: With which every frame of scenes at 24, 25, 30, 50 and 60 a second is among those that are looked at.
_EDITORS = Timing(24.0)

#: Why what a mission or unit places does not move by itself, and what to do.
_NO_MOTION = ("only nodes of models move in the game", "animate nodes of its model")
#: Why the name of a node that is a part of a unit does not count, and what to do.
_NAMES = ("parts of a unit have no names of their own", "undo it; what the game may show is the custom property label")


@dataclass(frozen=True)
class PlacedModel:
    """A model that is shown below placements.

    Attributes:
        scene: as it will be.
        cell: that is shown.
        exported: the scene that was.
        rows: node of that -> row now; empty: they are the same.
    """

    scene: Scene
    cell: tuple[int, int]
    exported: Scene
    rows: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def size(self) -> float:
        """Its largest coordinate."""
        return model_size(self.scene)

    @cached_property
    def made(self) -> list[int]:
        """The rows of nodes that the file made."""
        return sorted({*range(len(self.scene.nodes))} - {*self.rows.values()}) if self.rows else []

    def row(self, stated: int) -> int:
        """Return the row of a node now; -1: it has none."""
        row = self.rows.get(stated, -1 if self.rows else stated)
        return row if 0 <= row < len(self.scene.nodes) else -1


@dataclass
class Placed:
    """The nodes of a file of a unit or mission, and where the result puts them.

    Attributes:
        models: by object key in lower case.
        expected: where the result puts nodes. (4, 4).
        rows: of nodes of models, in the result.
        exchanged: nodes that place another model than what is still shown below them.
        assets: nodes that place something, though they do not say so.
    """

    given: ImportedScene
    models: Mapping[str, PlacedModel]
    looks: WrittenLooks | None = None
    found: list[Difference] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.looks is not None:
            self.given = self.looks.in_rectangles(self.given)
        items = self.given.nodes
        self.order = parents_first([item.parent for item in items], root=-1)
        self.world = world_matrices(items)
        self.parents = {item.parent for item in items}
        self.animated = {track.node: track for clip in self.given.clips for track in clip.tracks}
        self.expected: dict[int, F64] = {}
        self.holder: dict[int, tuple[int, str]] = {}
        self.whole: dict[int, int] = {}
        self.exchanged: set[int] = set()
        self.assets: set[int] = set()
        self.rows: dict[int, int] = {}
        self._loose: dict[int, tuple[float, float]] = {}
        self._taken: dict[tuple[int, int], int] = {}
        self._scales: dict[int, F64] = {}
        self._materials = [ways(material.name) for material in self.given.materials]
        self._file_looks = looks_of_file(self.given.surfaces)
        self._model_looks: dict[str, list[Look]] = {}

    def names(self, i: int) -> tuple[str, ...]:
        """Return the names of a node and of all above it; nodes of models also without what made theirs unique."""
        out = list[str]()
        for node in (self.given.nodes[k] for k in (i, *nodes_above(self.given.nodes, i))):
            out += [node.name.casefold(), *(sorted(ways(node.name)) if "kind" not in node.extras else ())]
        return tuple(filter(None, out))

    def shows(self, i: int) -> bool:
        """Return whether something is drawn below a node."""
        below, drawn = {i}, False
        for k in self.order:
            if self.given.nodes[k].parent in below:
                below.add(k)
                drawn |= self.given.nodes[k].mesh >= 0
        return drawn

    def draws(self, i: int) -> bool:
        """Return whether a node has a mesh, or nodes of its own model below it that have."""
        below = [k for k, node in enumerate(self.given.nodes) if node.parent == i and "kind" not in node.extras]
        return self.given.nodes[i].mesh >= 0 or any(self.draws(k) for k in below)

    def add(
        self, i: int, kind: Kind, what: str, amount: float = 0.0, reason: tuple[str, str] | None = None, fact: str = ""
    ) -> None:
        """Add a difference about a node."""
        item = self.given.nodes[i]
        where = f"{item.extras.get('kind', 'node')} {called(item.name)}"
        moves = kind in ("node", "place", "turn", "triangles")
        names = self.names(i) if moves else tuple(filter(None, [item.name.casefold()]))
        self.found.append(Difference(where, kind, what, names, amount, fact=fact, reason=reason))

    def compare_models(self) -> None:
        """Compare what is below placements whose place in the result is known (``expected``)."""
        nodes, known = self.given.nodes, list[int]()
        for i in self.order:
            self._expect(i)
            known += [i] if i in self.holder and nodes[i].extras.get("kind") is None else []
        drawn = [i for i in known if nodes[i].mesh >= 0 and self.given.meshes[nodes[i].mesh].drawn]
        movers = {i: self._mover(i) for i in known}
        still = [i for i in known if movers[i] is None]
        self._compare_wholes([i for i in drawn if movers[i] is None])
        self._find_scales(known)
        seen: dict[tuple[object, ...], int] = {}
        away = {*np.array(still)[np.any(self._apart(still, *self._places(still)), axis=0)].tolist()}
        for i in still:
            if i in away or i not in self._scales:  # it was put elsewhere since
                self._stands(i)
        for i, mover in movers.items():
            if mover is not None and mover != i and mover in self.expected:
                self._stands(i, mover)
        for i in self.animated:
            if "level" in nodes[i].extras or nodes[i].extras.get("kind") not in (None, "point"):
                self.add(i, "place", "is animated", reason=_NO_MOTION)
            elif i in self.holder:
                self._rests(i)
        for i in drawn:
            key = nodes[i].mesh, self.holder[i][1], self.rows[i]
            seen.setdefault((*key, *np.round(self._scale(i), 3).reshape(-1).tolist()), i)
        for i in seen.values():
            self._mesh(i, self.holder[i][1], self.rows[i])

    def compare_name(self, i: int, key: str, *others: str) -> None:
        """Add a part of a unit that is called otherwise than its object, or than that was."""
        if self.given.nodes[i].name and not ways(self.given.nodes[i].name) & {key, *others}:
            self.add(i, "name", f"is called {called(key)} in the game, as its object is", reason=_NAMES)

    def find_unknown_nodes(self) -> None:
        """Add what is drawn and is below nothing that is placed."""
        placed = {*self.assets}
        for i in self.order:
            item = self.given.nodes[i]
            if item.parent in placed or "kind" in item.extras or "level" in item.extras:
                placed.add(i)
            elif i not in placed and item.mesh >= 0 and self.given.meshes[item.mesh].drawn:
                self.add(i, "node", "is in the file, and not in the game")

    def _compare_wholes(self, drawn: Sequence[int]) -> None:
        """Tell of placements that stand elsewhere as a whole, by their own node or one on it, and put all there."""
        groups: dict[int, list[int]] = {}
        for i in drawn:
            groups.setdefault(self.whole[i], []).append(i)
        for root, group in groups.items():
            fits = self._fitting(np.eye(4), group)
            if fits == len(group) or all(map(self._is_taken, group)):
                continue
            near = [k for k in self._near.get(root, ()) if abs(np.linalg.det(self.world[k])) > _NOTHING]
            if self._is_of_unit(root):
                near = [k for k in near if root in (k, self.given.nodes[k].parent)]
            shifts = [self.world[k] @ np.linalg.inv(self.expected[k]) for k in near]
            counts = [self._fitting(by, group) for by in shifts]
            if max(counts, default=0) > fits:
                best = int(np.argmax(counts))
                at = near[best] if self._is_of_unit(root) else root  # a unit has no place, nor its parts
                self.tell_place(at, shifts[best] @ self.expected[at], self.expected[at])
                rest = [k for k, of in self.whole.items() if of == root and k in self.expected]
                away = np.any(self._apart(rest, self.world[rest], np.array([self.expected[k] for k in rest])), axis=0)
                for k in (k for k, elsewhere in zip(rest, away, strict=True) if elsewhere):  # others were not moved
                    self.expected[k] = shifts[best] @ self.expected[k]

    @cached_property
    def _near(self) -> dict[int, list[int]]:
        """Each node's own row, and those on it and on these, where the result puts them somewhere."""
        out: dict[int, list[int]] = {}
        for k in sorted(self.expected):
            root = k
            for _ in range(3):
                if root >= 0:
                    out.setdefault(root, []).append(k)
                    root = self.given.nodes[root].parent
        return out

    def _fitting(self, by: F64, group: Sequence[int]) -> int:
        """How many nodes stand where the result puts them, all of that moved."""
        apart = self._apart(group, self.world[group], by @ np.array([self.expected[k] for k in group]))
        return int((~np.any(apart, axis=0)).sum())

    def _apart(self, group: Sequence[int], mine: F64, there: F64) -> tuple[F64, F64]:
        """As of :func:`places_apart`, beyond what the stored words of models that were edited here round."""
        move, turn = np.array([self._loose.get(k, (0.0, 0.0)) for k in group]).reshape(-1, 2).T
        size = np.maximum(1.0, np.abs(there[:, :3, :3]).max(axis=(1, 2)))
        apart, turned = places_apart(mine, there)
        return apart * (apart > move * size), turned * (turned > turn * size)

    def _find_scales(self, group: Sequence[int]) -> None:
        """Find what nodes are scaled by that those of the result are not."""
        expected = np.array([self.expected[k] for k in group]).reshape(-1, 4, 4)[:, :3, :3]
        expected[np.linalg.det(expected) == 0] = np.eye(3)  # of no size, which nothing scales
        by = np.linalg.inv(expected) @ self.world[group, :3, :3]
        left, _, right = np.linalg.svd(by)
        turn = left @ right
        rounded = np.abs(turn - np.eye(3)).max(axis=(1, 2)) <= 2 * TURN
        by[rounded] = turn[rounded].swapaxes(1, 2) @ by[rounded]
        by[~(np.abs(np.linalg.norm(by, axis=1) - 1).max(axis=1) > _AXES)] = np.eye(3)
        self._scales.update(zip(group, by, strict=True))

    def _scale(self, i: int) -> F64:
        """What a node is scaled by that the result's is not. (3, 3)."""
        if i not in self._scales:
            self._find_scales([i])
        return self._scales[i]

    def _places(self, group: Sequence[int]) -> tuple[F64, F64]:
        """Where nodes are in the file, and in the result, scaled as in the file. (n, 4, 4) each."""
        there = np.array([self.expected[k] for k in group]).reshape(-1, 4, 4)
        there[:, :3, :3] = there[:, :3, :3] @ np.array([self._scale(k) for k in group]).reshape(-1, 3, 3)
        return self.world[group], there

    def _expect(self, i: int) -> None:
        """Find where the result puts a node that is below a placement."""
        item = self.given.nodes[i]
        kind, above = item.extras.get("kind"), item.parent
        self.whole[i] = i if i in self.expected or self._is_of_unit(i) else self.whole.get(above, -1)
        if i in self.expected:
            self.holder[i] = i, object_key(item.extras)
        elif above not in self.expected or i in self.exchanged:
            return
        elif kind == "component":
            self.expected[i], self._loose[i] = self.expected[above], self._loose.get(above, (0.0, 0.0))
            key = object_key(item.extras)
            self.holder[i] = i, key
            if "node" in self.given.nodes[above].extras and key in self.models:
                self.expected[i] = self.expected[above] @ matrix(root_pose(self.models[key].scene).inverse())
        elif kind is None and i not in self.assets and (model := self.models.get(self.holder[above][1])) is not None:
            if (row := self._row(i, self.holder[above][0], model)) < 0:
                if item.extras.get("node", -1) != self.given.nodes[above].extras.get("node"):  # else a piece of that
                    self.add(i, "node", "is in the file, and not in the game")
                return
            local = model.scene.nodes[row]
            pose = Pose(local.translation.astype(np.float64), local.rotation)
            self.expected[i] = self.expected[above] @ matrix(pose)
            self.holder[i], self.rows[i] = self.holder[above], row
            edited, (move, turn) = bool(model.rows), self._loose.get(above, (0.0, 0.0))
            move += turn * float(np.linalg.norm(local.translation)) + edited * MOVE * model.size
            self._loose[i] = move, turn + edited * TURN

    def _is_of_unit(self, i: int) -> bool:
        above = self.given.nodes[i].parent
        return above >= 0 and self.given.nodes[above].extras.get("kind") == "unit"

    def _row(self, i: int, holder: int, model: PlacedModel) -> int:
        """The row in the result of a node of a model: that which it states, of a copy or a new one by its name; -1."""
        item, nodes = self.given.nodes[i], model.scene.nodes
        stated = model.row(item.extras.get("node", -1))
        if stated >= 0 and self._taken.setdefault((holder, stated), i) == i:
            return stated
        made = [k for k in model.made if ways(nodes[k].name) & ways(item.name)]
        free = [k for k in made if (holder, k) not in self._taken]
        row = min(free, key=lambda k: float(np.abs(nodes[k].translation - item.translation).max()), default=-1)
        if row >= 0:
            self._taken[holder, row] = i
        return row

    def _mover(self, i: int) -> int | None:
        """The nearest node, itself or above, that a clip of the file moves: where that stands alone says nothing."""
        return next((k for k in (i, *nodes_above(self.given.nodes, i)) if k in self.animated), None)

    def _stands(self, i: int, mover: int | None = None) -> None:
        """Whether a node stands where the result puts it, from what moves it; scales are compared by triangles."""
        (mine,), (there,) = self._places([i])
        if mover is not None:
            if abs(np.linalg.det(self.expected[mover])) <= _NOTHING:
                return
            there = self.world[mover] @ np.linalg.inv(self.expected[mover]) @ there
        if np.any(self._apart([i], mine[None], there[None])) and not (self._rests(i) or self._is_taken(i)):
            self.tell_place(i, mine, there)

    def _is_taken(self, i: int) -> bool:
        """Whether a node of a file without clips, and all above it, stand as in a frame of their model's clip."""
        chain = [k for k in (i, *nodes_above(self.given.nodes, i)) if k in self.expected]
        around, top = chain[:-1], chain[-1]
        if self.given.clips or not any(map(self._track, around)):
            return False
        return all(map(self._is_in_a_frame, around)) and not any(places_apart(self.world[top], self.expected[top]))

    def _is_in_a_frame(self, i: int) -> bool:
        """Whether a node stands below the one above it as its model has it, or its model's clip in any frame."""
        above, track = self.given.nodes[i].parent, self._track(i)
        if track is not None:
            size = model_size(self.models[self.holder[i][1]].exported) + float(np.abs(self.world[i, :3, 3]).max())
            return shows_a_frame(track, self.given.nodes[i], size)
        if min(abs(np.linalg.det(at[above])) for at in (self.world, self.expected)) <= _NOTHING:
            return False
        return not any(places_apart(*(np.linalg.inv(at[above]) @ at[i] for at in (self.world, self.expected))))

    def _track(self, i: int) -> Track | None:
        model, row = self.models.get(self.holder.get(i, (0, ""))[1]), self.rows.get(i)
        return None if model is None else next((one for one in model.scene.tracks if one.node == row), None)

    def _rests(self, i: int) -> bool:
        """Whether a node that moves stands by itself where neither a clip nor its model puts it, which is told.

        A file without clips shows each node where it was; the model's own clip is kept.
        """
        item, row = self.given.nodes[i], self.given.nodes[i].extras.get("node", -1)
        model = self.models.get(self.holder[i][1])
        if model is None or not 0 <= row < len((exported := model.exported).nodes):
            return False
        size = max(model_size(exported), float(np.abs(self.world[i, :3, 3]).max()))
        track = self._track(i)
        if i in self.animated:
            track = in_frames(self.animated[i], _EDITORS)
        noises = 2 * POSE_NOISE * size, 4 * PLACED_TURN_NOISE
        how = [] if track is None else placed_elsewhere(track, item, exported.nodes[row], noises)
        if how:
            self.found.append(still_elsewhere(item.name, how))
            self._take_along(i)
        return bool(how)

    def _take_along(self, i: int) -> None:
        """Put what is below a node that was told of where it takes it."""
        _, (there,) = self._places([i])
        if abs(np.linalg.det(there)) > _NOTHING:
            shift, below = self.world[i] @ np.linalg.inv(there), {i}
            for k in self.order:
                if self.given.nodes[k].parent in below and k in self.expected:
                    below.add(k)
                    self.expected[k] = shift @ self.expected[k]
                    self._scales.pop(k, None)

    def tell_place(self, i: int, mine: F64, theirs: F64) -> None:
        """Add a difference where the result's place of a node is another one than the file's."""
        apart, turned = map(float, places_apart(mine, theirs))
        if apart:
            self.add(i, "place", f"stands {apart:.3g} away from there in the game", apart)
        if turned:
            self.add(i, "turn", "is turned or scaled otherwise in the game", turned)

    def _mesh(self, i: int, key: str, node: int) -> None:
        streams, model = self.given.streams, self.models[key]
        scene = model.scene
        mesh = self.given.meshes[self.given.nodes[i].mesh]
        at = (node, *model.cell)
        part = next((p for p in scene.parts if p[:3] == at), None)
        a = triangles_of(streams, mesh, 0)
        name = self.given.nodes[i].name
        own = (name, self.given.meshes[self.given.nodes[i].mesh].name, scene.nodes[node].name)
        thing = Thing(name, -1, affine(self._scale(i), 0.0)[None], {}, (*own, *self.names(i)), own=3)
        file = Shown([thing], cells={model.cell: a}, materials=self._materials)
        result = scene_materials(Shown([Thing(scene.nodes[node].name, -1, np.eye(4)[None])]), scene)
        if part is not None:
            result.cells = {model.cell: triangles_of(scene.streams, scene.meshes[part.mesh], 0)}
        if self.looks is not None:
            if key not in self._model_looks:
                self._model_looks[key] = self.looks.of(scene.materials)
            file.looks, result.looks = self._file_looks, self._model_looks[key]
        comparison = Comparison(file, result, absent=True, file_only=True)
        comparison.cell(model.cell)
        self.found += comparison.found


def matrix(pose: Pose) -> F64:
    """Return the (4, 4) matrix of a pose."""
    return affine(rotation_matrix(pose.rotation) * pose.scale, pose.translation)


def places_apart(mine: F64, theirs: F64) -> tuple[F64, F64]:
    """Return how far places are apart, and how far their axes; 0 where that is rounding. (..., 4, 4) each -> (...)."""
    away, there = np.abs(mine - theirs)[..., :3, :], np.abs(theirs[..., :3, :])
    apart, turned = away[..., 3].max(axis=-1), away[..., :3].max(axis=(-2, -1))
    loose = PLACE * np.maximum(1.0, there[..., 3].max(axis=-1))
    size = np.maximum(there[..., :3].max(axis=(-2, -1)), 1e-9)
    return apart * (apart > loose), turned * (turned > _AXES * size)
