"""What missions show, and placed models: where things stand, what they are (units: ``judge.units``).

A unit or mission places models that are in files of their own. What the file shows below a placement
is compared with the model and with where the result puts it; what is missing there never counts,
since levels, clips and points are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..edits.frame_rate import Timing
from ..edits.nodes import PLACED_TURN_NOISE, POSE_NOISE, local_matrix, model_size
from ..edits.placed_nodes import row_of
from ..edits.poses import placed_elsewhere
from ..errors import printable
from ..findings import Kind
from ..formats.mission import Mission, PlacedObject
from ..numeric.pose import parents_first, rotation_matrix
from ..scene.assembly import Marker, Pose, markers, object_extras, object_key, root_pose, stored_pose
from ..scene.extras import NodeExtras
from ..scene.scene import ImportedNode, ImportedScene, Scene
from .compare import Comparison, Difference, still_elsewhere
from .looks import WrittenLooks, looks_of_file
from .models import in_frames, scene_materials
from .shown import F32, F64, Shown, Thing, triangles_of, ways

#: How far a place may be: relative to its coordinates, of float32 on its way through editors.
_PLACE = 4e-6
#: How far axes may be, relative to their length.
_AXES = 1e-4
#: What is scaled to less has no size.
_NOTHING = 1e-12
#: With which every frame of scenes at 24, 25, 30, 50 and 60 a second is among those that are looked at.
_EDITORS = Timing(24.0)
#: What markers state besides their place.
_FACTS_OF_MARKERS = {"route": ("route",), "zone": ("clan", "inner"), "lode": ("amount", "type", "found")}
#: What an object states and a copy of it gets of its own.
_OF_ONE = ("logical_id", "host", "vertex")


@dataclass(frozen=True)
class PlacedModel:
    """A model that is shown below placements: its scene, the cell that is shown, and the scene that was exported."""

    scene: Scene
    cell: tuple[int, int]
    exported: Scene


@dataclass
class Placed:
    """The nodes of a file of a unit or mission, and where the result puts them.

    Attributes:
        given: the file as it was read.
        models: by object key in lower case.
        looks: what the materials of the result look like; ``None``: not known.
        found: the differences.
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
        self.world = np.tile(np.eye(4), (len(items), 1, 1))
        for i in self.order:
            local = local_matrix(items[i])
            self.world[i] = local if items[i].parent < 0 else self.world[items[i].parent] @ local
        self.parents = {item.parent for item in items}
        self.animated = {track.node: track for clip in self.given.clips for track in clip.tracks}
        self.expected: dict[int, F64] = {}
        self.holder: dict[int, tuple[int, str]] = {}
        self.whole: dict[int, int] = {}

    def names(self, i: int) -> frozenset[str]:
        """Return the names of a node and of all above it."""
        out = set()
        while i >= 0:
            out.add(self.given.nodes[i].name.casefold())
            i = self.given.nodes[i].parent
        return frozenset(out - {""})

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

    def record_names(self, i: int) -> frozenset[str]:
        """Return what reports call the record of a route, zone or lode."""
        extras = {**self.given.nodes[i].extras}
        kind, row = extras.get("kind"), extras.get("route", extras.get("index"))
        return frozenset({f"{kind} {row}"} if kind in _FACTS_OF_MARKERS else ())

    def add(self, i: int, kind: Kind, what: str, amount: float = 0.0) -> None:
        """Add a difference about a node."""
        item = self.given.nodes[i]
        where = f"{item.extras.get('kind', 'node')} {printable(item.name)!r}"
        names = self.names(i) if kind in ("node", "place", "turn", "triangles") else frozenset({item.name.casefold()})
        names |= self.record_names(i)
        self.found.append(Difference(where, kind, what, names, amount))

    def compare_models(self) -> None:
        """Compare what is below placements whose place in the result is known (``expected``)."""
        nodes, drawn = self.given.nodes, list[int]()
        for i in self.order:
            self._expect(i)
            shows = i in self.holder and nodes[i].mesh >= 0 and "node" in nodes[i].extras
            drawn += [i] if shows and self.given.meshes[nodes[i].mesh].drawn else []
        still = [i for i in drawn if not self._is_moving(i)]
        self._compare_wholes(still)
        seen: dict[tuple[object, ...], int] = {}
        for i in still:
            self._stands(i)
        for i in self.animated.keys() & self.holder.keys():
            self._rests(i)
        for i in drawn:
            key = nodes[i].mesh, self.holder[i][1], nodes[i].extras["node"]
            seen.setdefault((*key, *np.round(self._scale(i), 3).reshape(-1).tolist()), i)
        for i in seen.values():
            self._mesh(i, self.models[self.holder[i][1]], nodes[i].extras["node"])

    def _compare_wholes(self, drawn: Sequence[int]) -> None:
        """Tell of placements that stand elsewhere as a whole, by their own node or one on it, and put all there."""
        groups: dict[int, list[int]] = {}
        for i in drawn:
            groups.setdefault(self.whole[i], []).append(i)
        for root, group in groups.items():
            fits = self._fitting(np.eye(4), group)
            if fits == len(group):
                continue
            near = [k for k in self._near.get(root, ()) if abs(np.linalg.det(self.world[k])) > _NOTHING]
            shifts = [self.world[k] @ np.linalg.inv(self.expected[k]) for k in near]
            counts = [self._fitting(by, group) for by in shifts]
            if max(counts, default=0) > fits:
                best = int(np.argmax(counts))
                # a unit has no place: what stands elsewhere is a part of it
                at = near[best] if self.given.nodes[root].extras.get("kind") == "unit" else root
                self.tell_place(at, shifts[best] @ self.expected[at], self.expected[at])
                for k in (k for k, of in self.whole.items() if of == root and k in self.expected):
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
        return sum(not any(_apart(self.world[k], by @ self.expected[k])) for k in group)

    def _scale(self, i: int) -> F64:
        """What a node is scaled by that the result's is not. (3, 3)."""
        by = np.linalg.inv(self.expected[i][:3, :3]) @ self.world[i][:3, :3]
        return by if np.abs(np.linalg.norm(by, axis=0) - 1).max() > _AXES else np.eye(3)

    def _expect(self, i: int) -> None:
        """Find where the result puts a node that is below a placement."""
        item = self.given.nodes[i]
        kind, above = item.extras.get("kind"), item.parent
        self.whole[i] = i if i in self.expected else self.whole.get(above, -1)
        if i in self.expected:
            self.holder[i] = i, object_key(item.extras)
        elif above not in self.expected:
            return
        elif kind == "component":
            self.expected[i] = self.expected[above]
            key = object_key(item.extras)
            self.holder[i] = i, key
            if "node" in self.given.nodes[above].extras and key in self.models:
                self.expected[i] = self.expected[above] @ _matrix(root_pose(self.models[key].scene).inverse())
        elif kind is None and (node := item.extras.get("node")) is not None:
            key = self.holder[above][1]
            model = self.models.get(key)
            if model is not None and 0 <= node < len(model.scene.nodes):
                local = model.scene.nodes[node]
                pose = Pose(local.translation.astype(np.float64), local.rotation)
                self.expected[i] = self.expected[above] @ _matrix(pose)
                self.holder[i] = self.holder[above]

    def _is_moving(self, i: int) -> bool:
        """Whether a clip of the file moves a node: where it stands by itself, in any frame, says nothing then."""
        while i >= 0 and i not in self.animated:
            i = self.given.nodes[i].parent
        return i >= 0

    def _stands(self, i: int) -> None:
        """Whether a node stands where the result puts it; what is scaled is compared by its triangles."""
        scaled = np.eye(4)
        scaled[:3, :3] = self._scale(i)
        self.tell_place(i, self.world[i], self.expected[i] @ scaled)

    def _rests(self, i: int) -> None:
        """Whether a node that a clip moves stands by itself where the clip or its model puts it."""
        item, row = self.given.nodes[i], self.given.nodes[i].extras.get("node", -1)
        model = self.models.get(self.holder[i][1])
        if model is None or not 0 <= row < len((scene := model.exported).nodes):
            return
        noises = (
            2 * POSE_NOISE * max(model_size(scene), float(np.abs(self.world[i, :3, 3]).max())),
            4 * PLACED_TURN_NOISE,
        )
        track = in_frames(self.animated[i], _EDITORS)
        if how := placed_elsewhere(track, item, scene.nodes[row], noises):
            self.found.append(still_elsewhere(item.name, how))

    def tell_place(self, i: int, mine: F64, theirs: F64) -> None:
        """Add a difference where the result's place of a node is another one than the file's."""
        apart, turned = _apart(mine, theirs)
        if apart:
            self.add(i, "place", f"stands {apart:.3g} away from there in the game", apart)
        if turned:
            self.add(i, "turn", "is turned or scaled otherwise in the game", turned)

    def _mesh(self, i: int, model: PlacedModel, node: int) -> None:
        """Whether a mesh is that of a node of a model."""
        streams, scene = self.given.streams, model.scene
        mesh = self.given.meshes[self.given.nodes[i].mesh]
        at = (node, *model.cell)
        part = next((p for p in scene.parts if p[:3] == at), None)
        a = triangles_of(streams, mesh, 0)
        name = self.given.nodes[i].name
        own = (name, self.given.meshes[self.given.nodes[i].mesh].name, scene.nodes[node].name)
        scaled = np.eye(4)
        scaled[:3, :3] = self._scale(i)
        thing = Thing(name, -1, scaled[None], {}, (*own, *self.names(i)), own=3)
        file = Shown([thing], cells={model.cell: a}, materials=[ways(m.name) for m in self.given.materials])
        file.facts_of_materials = [{} for _ in self.given.materials]
        file.rows = [-1 for _ in self.given.materials]
        result = scene_materials(Shown([Thing(scene.nodes[node].name, -1, np.eye(4)[None])]), scene)
        if part is not None:
            result.cells = {model.cell: triangles_of(scene.streams, scene.meshes[part.mesh], 0)}
        if self.looks is not None:
            file.looks, result.looks = looks_of_file(self.given.surfaces), self.looks.of(scene.materials)
        comparison = Comparison(file, result, absent=True, file_only=True)
        comparison.cell(model.cell)
        self.found += comparison.found


def _matrix(pose: Pose) -> F64:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation_matrix(pose.rotation) * pose.scale, pose.translation
    return out


def _apart(mine: F64, theirs: F64) -> tuple[float, float]:
    """How far two places are apart, and how far their axes; 0 where that is rounding."""
    apart = float(np.abs(mine[:3, 3] - theirs[:3, 3]).max())
    loose = _PLACE * max(1.0, float(np.abs(theirs[:3, 3]).max()))
    turned = float(np.abs(mine[:3, :3] - theirs[:3, :3]).max())
    size = max(float(np.abs(theirs[:3, :3]).max()), 1e-9)
    return apart if apart > loose else 0.0, turned if turned > _AXES * size else 0.0


# ------------------------------------------------------------------ missions


def differences_of_mission(
    seen: ImportedScene,
    stored: Mission,
    written: Mission,
    models: Mapping[str, PlacedModel],
    hosted: Mapping[int, Pose],
    left_out: frozenset[int],
    looks: WrittenLooks | None = None,
) -> list[Difference]:
    """Return what a written mission shows otherwise than the file.

    Args:
        seen: the file as it was read.
        stored: the mission that was exported.
        written: the result, read from its bytes.
        models: what it shows, by object key in lower case.
        hosted: where objects were shown that start in a building, by stored row.
        left_out: stored rows that were not shown.
        looks: what the materials of models look like; ``None``: not known.
    """
    placed = Placed(seen, models, looks)
    items = [i for i, n in enumerate(seen.nodes) if n.extras.get("kind") in ("object", "unit")]
    items = [i for i in items if seen.nodes[i].extras["kind"] == "object" or not _is_below_object(seen, i)]
    kept = {id(one) for row, one in enumerate(written.objects) if row in left_out}
    row_of_item = _match_objects(placed, items, written, hosted, stored)
    stated: set[object] = {seen.nodes[i].extras.get("logical_id") for i in row_of_item}
    first: set[int] = set()
    for i in items:
        row = row_of_item.get(i)
        if row is None:
            if placed.shows(i):
                placed.add(i, "node", "is in the file, and not in the game")
            continue
        one, index = written.objects[row], row_of(seen.nodes[i].extras)
        copied = index is None or index in first
        first |= set() if index is None else {index}
        _compare_object(placed, i, one, row, stored, copied, stated)
        if index in hosted and one.host is not None and not copied:
            continue  # it stands in its building, wherever that is
        placed.expected[i] = _matrix(stored_pose(one))
        _object_stands(placed, i)
        if index is not None and index < len(stored.objects) and stored.objects[index].path != one.path:
            del placed.expected[i]  # what is below it is not what it places
    taken = {*items}
    for row in sorted({*range(len(written.objects))} - {*row_of_item.values()}):
        one = written.objects[row]
        new = next((i for i in range(len(seen.nodes)) if i not in taken and _is_asset(seen.nodes[i], one)), None)
        if new is not None:
            taken.add(new)
            placed.tell_place(new, placed.world[new], _matrix(stored_pose(one)))
        elif id(one) not in kept and items:
            name = one.title or one.reference
            names = frozenset({name.casefold(), one.reference.casefold(), "objects"})
            what = "is in the game, not in the file"
            placed.found.append(Difference(f"object {printable(name)!r}", "node", what, names))
    placed.compare_models()
    _markers(placed, written)
    return placed.found


def _is_asset(node: ImportedNode, one: PlacedObject) -> bool:
    """Whether a node that says nothing of itself places what an object places: by a property, or its name."""
    if "kind" in node.extras or "node" in node.extras:
        return False
    base = one.reference.lower().rpartition("\\")[2]
    names = {one.reference.lower(), base, base.rpartition(".")[0]} - {""}
    typed = str(node.typed.get("path", "")).lower().replace("/", "\\")
    return typed in names if typed else bool(ways(node.name) & names)


def _is_below_object(seen: ImportedScene, i: int) -> bool:
    above = seen.nodes[i].parent
    while above >= 0 and seen.nodes[above].extras.get("kind") != "object":
        above = seen.nodes[above].parent
    return above >= 0


def _match_objects(
    placed: Placed, items: Sequence[int], written: Mission, hosted: Mapping[int, Pose], stored: Mission
) -> dict[int, int]:
    """The record of each node that is an object: of the same path the nearest, the same name first."""
    nodes = placed.given.nodes
    places = np.array([one.record["position"] for one in written.objects], np.float64).reshape(-1, 3)
    ids = np.array([one.logical_id for one in written.objects], np.int64)
    rows_of: dict[str, list[int]] = {}
    for row, one in enumerate(written.objects):
        rows_of.setdefault(one.reference.lower(), []).append(row)
    out: dict[int, int] = {}
    free = np.ones(len(ids), np.bool_)

    def pair(of_path: bool) -> None:
        ranked: list[NDArray[np.float64]] = []
        for i in items:
            if i in out:
                continue
            extras = nodes[i].extras
            paths = {str(one.get("path", "")).lower() for one in (extras, nodes[i].typed)} if of_path else rows_of
            rows = np.array([row for path in paths for row in rows_of.get(path, []) if free[row]], np.int64)
            away = np.abs(places[rows] - _start(placed, i, hosted, stored)).max(axis=1, initial=0)
            other = ids[rows] != extras.get("logical_id")
            ranked.append(np.stack([other & (away > 1e-3), away, other, np.full(len(rows), i), rows], axis=1))
        columns = np.concatenate([np.empty((0, 5)), *ranked])
        for i, row in columns[np.lexsort(columns.T[::-1])][:, 3:].astype(np.int64).tolist():
            if i not in out and free[row]:
                out[i], free[row] = row, False

    pair(of_path=True)
    pair(of_path=False)
    return out


def _start(placed: Placed, i: int, hosted: Mapping[int, Pose], stored: Mission) -> F64:
    """Where a node that is an object stands; of a guest that stands in its building its own record. (3,)."""
    at, index = placed.world[i, :3, 3], row_of(placed.given.nodes[i].extras)
    pose = hosted.get(index) if index is not None else None
    if pose is None or index is None or np.abs(pose.translation - at).max() >= 1e-3 + _PLACE * np.abs(at).max():
        return np.asarray(at)
    return np.asarray(stored.objects[index].record["position"], np.float64)


def _compare_object(
    placed: Placed, i: int, one: PlacedObject, row: int, stored: Mission, copied: bool, ids: set[object]
) -> None:
    """Compare what a node states of an object with its record."""
    node = placed.given.nodes[i]
    index = row_of(node.extras)
    known = index is not None and index < len(stored.objects)
    was: NodeExtras = (
        object_extras(stored.objects[index], index, False) if known and index is not None else NodeExtras()
    )
    now = object_extras(one, row, False)
    for name in ("path", "object_kind", "clan", "start", *(() if copied else _OF_ONE)):
        expected = {**node.extras}.get(name)
        typed = node.typed.get(name)
        if typed is not None and typed != {**was}.get(name):
            expected = typed
        had = {**now}.get(name)
        if name == "object_kind" and known and index is not None and stored.objects[index].path != one.path:
            continue  # it follows from the path
        if (name == "host" and expected not in ids) or (name == "vertex" and one.host is None):
            continue  # its building is deleted
        if expected is not None and not _same(expected, had):
            placed.add(i, "fact", f"has {name} {expected!r} in the file, and {had!r} in the game")
    properties = node.extras.get("properties")
    follow = {"ClanID", "LogicalID"}
    for name, value in (properties or {}).items() if isinstance(properties, dict) else ():
        had = now.get("properties", {}).get(name)
        if name not in follow and not _same(value, had):
            placed.add(i, "fact", f"has property {name} {value!r} in the file, and {had!r} in the game")


def _same(mine: object, theirs: object) -> bool:
    if isinstance(mine, int | float) and isinstance(theirs, int | float):
        return abs(mine - theirs) <= 1e-5 * max(abs(theirs), 1e-30)
    if isinstance(mine, str) and isinstance(theirs, int):
        return mine.lower() == f"{theirs:#x}"
    return str(mine).lower().replace("/", "\\") == str(theirs).lower().replace("/", "\\")


def _object_stands(placed: Placed, i: int) -> None:
    """Whether an object stands where its record puts it; one whose parts stand right does, too."""
    if i in placed.parents:
        return  # what is seen is below it
    placed.tell_place(i, placed.world[i], placed.expected[i])


def _markers(placed: Placed, written: Mission) -> None:
    """Compare routes, zones and lodes; where a file has none of them they are kept."""
    made = markers(written)
    nodes = placed.given.nodes
    items = {kind: [i for i, n in enumerate(nodes) if n.extras.get("kind") == kind] for kind in _FACTS_OF_MARKERS}
    if not any(items.values()):
        return
    for kind, group in items.items():
        theirs = made[f"{kind}s"]
        if len(group) != len(theirs):
            text = f"are {len(group)} in the file, and {len(theirs)} in the game"
            names = frozenset({f"{kind}s", kind, *(nodes[i].name.casefold() for i in group)})
            placed.found.append(Difference(f"{kind}s", "node", text, names))
        for i in group if theirs else ():
            if kind == "route" and not _lines(placed, i):
                continue  # it is kept
            away = [_marker_away(placed, i, one) for one in theirs]
            near = [one for one, far in zip(theirs, away, strict=True) if far == min(away)]
            apart, turned = min(away)
            if apart:
                placed.add(i, "place", f"is {apart:.3g} away in the game", apart)
            if turned:
                placed.add(i, "turn", "has another size in the game, or is turned", turned)
            if apart or turned:
                continue
            stated = {name: {**nodes[i].extras}.get(name) for name in _FACTS_OF_MARKERS[kind]}
            stated |= {name: typed for name in stated if (typed := nodes[i].typed.get(name)) is not None}
            for name, value in stated.items():
                had = [{**one.extras}.get(name) for one in near]
                if value is not None and not any(_same(value, one) for one in had):
                    placed.add(i, "fact", f"has {name} {value!r} in the file, and {had[0]!r} in the game")


def _lines(placed: Placed, i: int) -> list[F32]:
    node = placed.given.nodes[i]
    return [] if node.mesh < 0 else placed.given.meshes[node.mesh].lines


def _marker_away(placed: Placed, i: int, one: Marker) -> tuple[float, float]:
    """How far a marker of the result is from a node, and how far their axes are apart; 0 where that is rounding."""
    if one.outline is None:
        return _apart(placed.world[i], _matrix(one.pose))
    world, other = placed.world[i], one.outline.astype(np.float64)
    points = np.concatenate(_lines(placed, i)).reshape(-1, 3).astype(np.float64) @ world[:3, :3].T + world[:3, 3]
    if not len(other):
        return float("inf"), 0.0
    apart = np.abs(points[:, None] - other[None]).max(axis=2)
    away = float(max(apart.min(axis=1).max(), apart.min(axis=0).max()))
    return (away if away > _PLACE * max(1.0, float(np.abs(points).max())) else 0.0), 0.0
