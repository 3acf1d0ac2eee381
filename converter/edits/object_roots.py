"""Make the object's edit of an edit of the nodes that show it.

A mission stores where its objects are. In an editor one clicks what they show: the root component,
or the root node of a model. Moving or deleting these is meant for the object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..formats.mission import Mission
from ..numeric.arrays import F64
from ..numeric.pose import rotation_matrix
from ..scene.assembly import Pose, component_text, object_key
from ..scene.scene import ImportedScene, nodes_above, require_in_range
from .nodes import POSE_NOISE, keep_nodes, local_matrix, world_matrices
from .placed_nodes import TURN_NOISE, row_of, same_linear
from .placed_scene import ShownModel
from .placements import Shown


def settle_objects(imported: ImportedScene, stored: Mission, shown: Shown) -> None:
    """Move objects as their roots were moved, and leave out objects whose roots were deleted.

    Afterwards the roots are where the export put them, as if the object's own node had been edited. Roots are the
    components that an object has directly below it, and the root nodes of the models of these and of scenery. They are
    left where they are if only some of them were moved, if they are animated, or scaled to nothing. ``imported``: the
    file. Its nodes change. Raises ConversionError: a place is out of range.
    """
    _Roots(imported, stored, shown).run()


class _Roots:
    """The roots of the objects of a file.

    Attributes:
        world: (n, 4, 4) places of the nodes, which tolerances are relative to.
        below: the nodes directly below each node.
        rows: how many nodes state each stored row.
        animated: nodes that a clip moves.
    """

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
        for i in range(len(self.nodes)):
            if self._kind(i) not in ("object", "unit"):
                continue
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

    # -------------------------------------------------------------- what is shown

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

    def _shows_nodes(self, path: str) -> bool:
        """Whether the export showed a model of an object of a path."""
        inside, start = self.shown.inside, f"component {path} "
        keys = [path]
        for label, text in inside.items():
            if label.startswith(start) and f"bare {path} {label[len(start) :]}" not in inside:
                keys.append(text.partition(" ")[0].lower())
        models = [self.shown.models.get(key) for key in keys]
        return any(model is not None and model.scene.nodes for model in models)

    # -------------------------------------------------------------- moves

    def _carry_model(self, key: str, holder: int) -> None:
        """Move a node as the root nodes of the model below it were moved."""
        model = self.shown.models.get(key)
        if model is None:
            return
        roots = _root_poses(model)
        root_items = {
            item: roots[number]
            for item in self.below[holder]
            if self._kind(item) is None and (number := self.nodes[item].extras.get("node")) in roots
        }
        numbers = {self.nodes[item].extras["node"] for item in root_items}
        moving = {model.scene.nodes[track.node].index for track in model.scene.tracks if model.moves}
        if (
            len(root_items) == len(roots) == len(numbers)
            and not moving & numbers
            and not self.animated & root_items.keys()
        ):
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
                self.nodes[i] = replace(
                    self.nodes[i],
                    translation=roots[i].translation.astype(np.float32),
                    rotation=roots[i].rotation,
                    linear=None,
                )
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
        """Give a node another place. (4, 4)."""
        node, linear = self.nodes[i], local[:3, :3]
        if np.abs(linear - local_matrix(node)[:3, :3]).max() > 1e-12:
            node = replace(node, linear=linear)
        self.nodes[i] = replace(node, translation=local[:3, 3].astype(np.float32))

    # -------------------------------------------------------------- deletion

    def _is_emptied(self, i: int) -> bool:
        """Whether nothing is left below a stored object but components that show nothing."""
        node = self.nodes[i]
        row = row_of(node.extras) if self._kind(i) == "object" else None
        if row is None or row >= len(self.stored.objects):
            return False
        path = self.stored.objects[row].reference
        below = [self.nodes[child] for child in self._all_below(i)]
        return (
            self.rows[row] == 1  # an empty copy of another is a new object
            and path == node.extras.get("path") == node.typed.get("path", path)
            and all(child.extras.get("kind") == "component" and child.mesh < 0 for child in below)
            and self._shows_nodes(path.lower())
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


def _root_poses(model: ShownModel) -> dict[object, Pose]:
    """Where the root nodes of a model were exported, by their numbers."""
    return {
        node.index: Pose(node.translation.astype(np.float64), node.rotation)
        for node in model.scene.nodes
        if node.parent < 0
    }
