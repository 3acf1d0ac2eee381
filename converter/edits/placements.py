"""Find what an edited unit or mission shows of the models that it places, and what belongs to none.

Each model becomes a file of its own (``edits.placed_scene``), which is imported like any other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import few, in_words, plural
from ..findings import Kind, Report, Subject
from ..numeric.arrays import F64
from ..numeric.pose import parents_first, rotation_matrix
from ..scene.assembly import CLIPS, Pose, object_key, root_pose
from ..scene.extras import NodeExtras
from ..scene.scene import ImportedNode, ImportedScene, Placed, nodes_above
from .nodes import all_above, local_matrix, model_size
from .placed_scene import Copies, PlacedScenes, Shown, ShownModel
from .poses import same_linear, same_position, shows_a_frame

#: Kinds of nodes that a model can be below.
PLACES = ("object", "component", "unit")
#: Why a component has no place of its own, and what to do, by the kind of what it is below.
_NO_PLACE = {
    "object": ("a mission stores where objects are, not their components", "move the object's own node"),
    "component": ("only a part on a socket has a place", "undo it, or parent it to a socket"),
    "unit": ("a unit has no place: missions say where it is", "undo it, or move it in a mission"),
    "": ("it is below nothing that has a place", "undo it"),
}
#: What to do about a part on a socket, which has no place of its own.
_MOVE_SOCKET = "move the socket's node in that model, or mount it on another one"
#: What to do where an object lost only a part of what it shows.
_DELETE_ALL = ("missions place units and do not change them", "delete the object's own node and all below it")
#: How far what is scaled may be from what is not.
_EVEN = 1e-4
#: How many are named; the others are counted.
_NAMED = 20


class Placements:
    """The nodes of a file by what they are below; what belongs to no model is reported.

    Attributes:
        items_of: the nodes below each node that places a model.
        parents: the nodes that others are below; around: those that placed objects are below.
        keys: those of what exchanged nodes still show.
        foreign: names of nodes that are not of anything that is placed.
    """

    def __init__(
        self, given: ImportedScene, world: F64, shown: Shown, new: Collection[int], exchanged: Mapping[int, str]
    ) -> None:
        """Sort the nodes.

        Args:
            world: (n, 4, 4) places of its nodes.
            new: nodes of new objects and components, below which nothing may be.
            exchanged: nodes that place another thing than what is still shown below them, and the key
                of that; of a new one, empty.
        """
        self.given, self.world, self.shown, self.inside = given, world, shown, shown.inside
        self.new, self.exchanged = set(new), self._all_below(set(exchanged))
        self.keys, self.report = exchanged, given.report
        self.items_of: dict[int, list[int]] = defaultdict(list)
        self.rows_of: dict[int, list[int | None]] = defaultdict(list)
        self.parents = {item.parent for item in given.nodes}
        places = (i for i, n in enumerate(given.nodes) if n.extras.get("kind") in PLACES or i in self.new)
        self.around = all_above(given.nodes, places)
        self.foreign: dict[str, None] = {}
        self.ground: list[int] = []
        self.rows_in: dict[str, list[str]] = defaultdict(list)
        for text in self.inside:
            kind, _, rest = text.partition(" ")
            key, _, number = rest.rpartition(" ")
            if kind == "component":
                self.rows_in[key].append(number)
        for i in range(len(given.nodes)):
            if i not in self.exchanged:
                self._sort_in(i)
            elif self.keys.get(i) and given.nodes[i].extras.get("kind") == "component":
                self._require_in_place(i)
        self._compare_components()
        self._report_clips()
        self._report_foreign()

    def _all_below(self, items: set[int]) -> set[int]:
        """Nodes, and the nodes below them up to the next object, of a component the next one."""
        nodes, out = self.given.nodes, set(items)
        whole = {i for i in items if nodes[i].extras.get("kind") == "object"}
        for i in parents_first([item.parent for item in nodes], root=-1):
            above, kind = nodes[i].parent, nodes[i].extras.get("kind")
            if above in whole and kind != "object":
                whole.add(i)
            elif above not in out or kind in PLACES:
                continue
            out.add(i)
        return out

    def _sort_in(self, i: int) -> None:
        item, above = self.given.nodes[i], self._above(i)
        kind = item.extras.get("kind")
        if "level" in item.extras:
            self.ground.append(i)
        elif kind == "component":
            self._require_in_place(i)
            if (owner := self._owner(i)) is not None and owner not in self.new:
                self.rows_of[owner].append(item.extras.get("index"))
        elif kind == "point" and above is not None:
            model = self.shown.models.get(object_key(self.given.nodes[above].extras))
            if model is None or not model.of_game:
                self.items_of[above].append(i)
        elif (kind is None or (kind == "point" and above is None)) and i not in self.new:
            placed = above is not None and object_key(self.given.nodes[above].extras)
            if above is not None and placed in self.shown.models:
                self.items_of[above].append(i)
            elif above not in self.new and (item.mesh >= 0 or i not in self.parents):
                # it shows something, or is an empty that nothing is below
                self.foreign[self.given.nodes[self._top(i)].name] = None

    def _above(self, i: int) -> int | None:
        nodes = self.given.nodes
        return next((k for k in nodes_above(nodes, i) if k in self.new or nodes[k].extras.get("kind") in PLACES), None)

    def _top(self, i: int) -> int:
        """The highest node above one that is not around, or of, something that is placed."""
        nodes = self.given.nodes
        above = nodes[i].parent
        while above >= 0 and above not in self.around and "kind" not in nodes[above].extras:
            i, above = above, nodes[above].parent
        return i

    def copies(self, fps: float | None) -> list[Copies]:
        """Return every model as the file shows it, placements that show it alike as one."""
        scenes, out = PlacedScenes(self.given, self.world, fps), dict[int, list[Copies]]()
        found = []
        for i, item in enumerate(self.given.nodes):
            if i in self.exchanged or item.extras.get("kind") not in PLACES:
                continue
            model = self.shown.models.get(object_key(item.extras))
            items = self.items_of.get(i, [])
            bare = i in self.new or self._is_bare(i) or (model is not None and model.of_game)
            if model is None or (not items and bare):
                continue
            if not items and model.scene.nodes:
                self.report.skipped(_quoted(item), "lacks all nodes of its model", *_DELETE_ALL)
                continue
            self._put_root_back(i, items, model)
            found.append(scenes.of(i, items, model, is_copy=self._is_new(i)))
        for one in sorted(found, key=lambda one: 0.0 if one.scene.placed is None else one.scene.placed.reach):
            others = out.setdefault(id(one.model), [])
            same = next((other for other in others if one.is_like(other)), None)
            if same is None:
                others.append(one)
            else:
                same.places += one.places
                same.is_copy &= one.is_copy
        return [one for group in out.values() for one in group]

    def terrain(self) -> ImportedScene | None:
        """Return the terrain as a file of its own; ``None``: it is not there, or moved, which is reported."""
        if self.shown.ground is None:
            return None
        nodes = [self.given.nodes[i] for i in self.ground]
        if not any(item.mesh >= 0 and self.given.meshes[item.mesh].drawn for item in nodes):
            self.report.skipped("terrain", "is missing", "a mission shows the level's own", "undo it")
            return None
        if not np.allclose(self.world[self.ground], np.eye(4), atol=1e-5):
            self.report.skipped(
                "terrain", "is moved, turned or scaled", "a level has no place", "move its vertices, or undo it"
            )
        still = np.array([1.0, 0, 0, 0])
        own = [
            replace(item, parent=-1, translation=np.zeros(3, np.float32), rotation=still, linear=None) for item in nodes
        ]
        placed = Placed(0.0, moves=False, points=False)
        return replace(self.given, nodes=own, clips=[], ranges=[], placed=placed, report=Report())

    def title(self, where: Collection[int], most: int = 3) -> str:
        """Return the names of the objects that nodes belong to; at most ``most`` of them."""
        owners = [self._owner(i) for i in where]
        names = [
            _quoted(self.given.nodes[i if owner is None else owner]) for i, owner in zip(where, owners, strict=True)
        ]
        return few(sorted(set(names)), most)

    def _is_bare(self, i: int) -> bool:
        """Whether a component showed nothing though its key has a model."""
        owner = self._owner(i)
        path = "" if owner is None else object_key(self.given.nodes[owner].extras)
        return f"bare {path} {self.given.nodes[i].extras.get('index')}" in self.inside

    def _is_new(self, i: int) -> bool:
        return i in self.new or self._owner(i) in self.new

    def _owner(self, i: int) -> int | None:
        """The object that a component is of; ``None``: it is of a unit by itself."""
        above: int | None = i
        while above is not None and self.given.nodes[above].extras.get("kind") == "component":
            above = self._above(above)
        known = above is not None and self.given.nodes[above].extras.get("kind") == "object"
        return above if known else None

    def _compare_components(self) -> None:
        """Report objects whose components are not those of their unit; copies without any pass."""
        for i, item in enumerate(self.given.nodes):
            if item.extras.get("kind") != "object" or i in self.exchanged or (i in self.new and i not in self.rows_of):
                continue
            expected = self.rows_in.get(object_key(item.extras))
            rows = self.rows_of.get(i, [])
            if expected is not None and sorted(map(str, rows)) != sorted(expected):
                self.report.skipped(_quoted(item), "has other components than its unit", *_DELETE_ALL)

    def _require_in_place(self, i: int) -> None:
        """Report a component that is not where the export puts it."""
        title = _quoted(self.given.nodes[i])
        above, local = self._place_in(i, lambda one: "node" in one or one.get("kind") in PLACES)
        on_socket = above >= 0 and "node" in self.given.nodes[above].extras
        if above < 0 and self.given.nodes[i].extras.get("index") != 0:
            return  # what is on nothing is reported as such; a chassis may be
        poses = self._poses(i, on_socket)
        if poses and not any(
            same_linear(local[:3, :3], pose) and same_position(local[:3, 3], pose.translation, self.world[i])
            for pose in poses
        ):
            kinds: tuple[Kind, ...] = ("place", "turn", "triangles") if _is_scaled(local) else ("place", "turn")
            if on_socket:
                what = "is scaled on its socket" if _is_scaled(local) else "is moved on its socket"
                self.report.skipped(title, what, *self._on_socket(above), *kinds)
            else:
                self.report.skipped(title, "is moved, turned or scaled", *self._no_place(above), *kinds)
        elif on_socket and _is_scaled(self._place_in(i, lambda one: one.get("kind") in PLACES)[1]):
            what = "is scaled by a node that it is mounted on"
            self.report.skipped(title, what, *self._on_socket(above), "turn", "triangles")

    def _on_socket(self, socket: int) -> tuple[str, str]:
        owner = self._above(socket)
        model = None if owner is None else self.shown.models.get(object_key(self.given.nodes[owner].extras))
        of = "" if model is None else f" of {in_words(model.file)}"
        return f"it is mounted on the socket {in_words(self.given.nodes[socket].name)}{of}", _MOVE_SOCKET

    def _no_place(self, above: int) -> tuple[str, str]:
        """Why a part that is not on a socket has no place, and what to do; of what it is below, -1 = nothing."""
        kind = None if above < 0 else self.given.nodes[above].extras.get("kind")
        return _NO_PLACE.get(kind or "", _NO_PLACE[""])

    def _put_root_back(self, i: int, items: Sequence[int], model: ShownModel) -> None:
        """Report that the first node of a part's model is moved, and put it back: its frame is the part's.

        What is animated stays, and so do the components of a mission's object, which moves with them
        (``object_roots``). A scale stays: that is one of vertices.
        """
        above, _ = self._place_in(i, lambda one: "node" in one or one.get("kind") in PLACES)
        on_socket = above >= 0 and "node" in self.given.nodes[above].extras
        if self.given.nodes[i].extras.get("kind") != "component" or not (on_socket or self._owner(i) is None):
            return
        first = model.scene.nodes[0].index if model.scene.nodes else None
        roots = [
            r for r in items if self.given.nodes[r].parent == i and self.given.nodes[r].extras.get("node") == first
        ]
        animated = {track.node for clip in self.given.clips for track in clip.tracks}
        if len(roots) != 1 or roots[0] in animated:
            return
        track = next((one for one in model.scene.tracks if one.node == 0), None)
        size = model_size(model.scene) + float(np.abs(self.world[roots[0], :3, 3]).max())
        if not self.given.clips and shows_a_frame(track, self.given.nodes[roots[0]], size):
            return
        root, rest = self.given.nodes[roots[0]], root_pose(model.scene)
        local, still = local_matrix(root), rotation_matrix(rest.rotation)
        turn = _rotation_of(local[:3, :3])
        turned = turn is not None and not same_linear(turn, rest)
        if not turned and same_position(local[:3, 3], rest.translation, self.world[roots[0]]):
            return
        linear = None if root.linear is None or turn is None else still @ turn.T @ local[:3, :3]
        self.given.nodes[roots[0]] = replace(
            root,
            translation=rest.translation.astype(np.float32),
            rotation=root.rotation if turn is None else rest.rotation,
            linear=root.linear if turn is None else linear,
        )
        if on_socket:
            self.report.skipped(_quoted(root), "is moved on its socket", *self._on_socket(above), "place", "turn")
        else:
            self.report.skipped(_quoted(root), "is moved or turned", *self._no_place(above), "place", "turn")

    def _place_in(self, i: int, ends: Callable[[NodeExtras], bool]) -> tuple[int, F64]:
        """The first node above one whose extras end the search, -1 = none; the place in it."""
        nodes, local = self.given.nodes, local_matrix(self.given.nodes[i])
        above = nodes[i].parent
        while above >= 0 and not ends(nodes[above].extras):
            local = local_matrix(nodes[above]) @ local
            above = nodes[above].parent
        return above, local

    def _poses(self, i: int, on_socket: bool) -> list[Pose]:
        """Where a component may be, none if that is not known.

        On a socket, the root of its model is there, or that of the model that it showed before.
        """
        if not on_socket or self._is_bare(i):
            return [Pose()]
        own = object_key(self.given.nodes[i].extras)
        models = [self.shown.models.get(key) for key in {own, self.keys.get(i, own).lower()}]
        if None in models and self._is_new(i):
            return []
        return [Pose() if one is None else root_pose(one.scene).inverse() for one in models]

    def _report_clips(self) -> None:
        clips = [*self.given.clips, *self.given.ranges]
        models = self.shown.models.values()
        if CLIPS in self.inside and not clips and any(model.scene.tracks for model in models):
            self.report.warnings.append("the file has no animation: the clips of its models are not compared")
        scaled = [Subject("node", name) for clip in clips for name in clip.scaled]
        if scaled:
            why, instead = "nodes of a model have none", "move its vertices with nodes of their own"
            nodes = Subject.of([*dict.fromkeys(scaled)], _NAMED)
            self.report.skipped(nodes, "has animated scale", why, instead, "turn", "triangles")
        self.report.not_applied += [one for clip in clips for one in clip.report.not_applied]

    def _report_foreign(self) -> None:
        names = [*self.foreign]
        for name in names[:_NAMED]:
            why, instead = (
                "it is not an object that the mission or the game knows",
                "make a model of it, or give it the path of what it shows",
            )
            self.report.skipped(Subject("node", name), "is new", why, instead)
        if rest := names[_NAMED:]:
            others = Subject("node", *rest, text=plural(len(rest), "more node"))
            self.report.skipped(others, "are new", "they are not objects", "make models of them")


def _is_scaled(matrix: F64) -> bool:
    return bool(np.abs(matrix[:3, :3].T @ matrix[:3, :3] - np.eye(3)).max() > _EVEN)


def _rotation_of(linear: F64) -> F64 | None:
    """The rotation nearest to a matrix (3, 3); ``None``: it mirrors, or scales to nothing."""
    if np.linalg.det(linear) <= 0:
        return None
    left, _, right = np.linalg.svd(linear)
    turn: F64 = left @ right
    return turn


def _quoted(item: ImportedNode) -> Subject:
    return Subject("node", item.name)
