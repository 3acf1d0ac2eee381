"""Look at the result of an import as the user looks at the file, and report what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..checks.recover import leave_out
from ..edits.frame_rate import Timing
from ..edits.nodes import POSE_NOISE, ROTATION_NOISE, model_size, world_matrices
from ..edits.poses import placed_elsewhere
from ..errors import called, in_words, plural
from ..findings import Kind, Mode, Report
from ..formats.model import MshModel, read_model
from ..formats.model_parts import ControlPoint, ControlPoints, read_points
from ..formats.nres import read_nres
from ..numeric.arrays import F64, I64, row_ids, surface_distance
from ..numeric.pose import affine
from ..scene.companions import is_point, name_of, points_in
from ..scene.decode import decode
from ..scene.dialect import Dialect
from ..scene.scene import GeneratedLevel, ImportedNode, ImportedScene, Scene, Track, channels_of, nodes_above
from .compare import Comparison
from .difference import Difference, nearest, steps, still_elsewhere, tell
from .models import FileOfModel, frames_of, local_poses, shown_by_scene, world_poses
from .shown import MOVE, TURN, Names, Shown, Thing, Triangles, WrittenLooks, looks_of_file, shown_at_once, ways

#: How far a direction may be turned or lengthened, of its length.
_TURN = 1e-4


@dataclass(frozen=True)
class _Point:
    """A control point in the frame of its node; ``direction``: of length 1 where the length is not stated.

    Attributes:
        facts: of a file that does not say, ``None``.
        together: whether its second node is its own, wherever that is.
    """

    name: str
    node: int
    place: F64
    direction: F64
    length: float | None
    facts: Mapping[str, object]
    names: tuple[str, ...] = ()
    together: bool = False

    def as_thing(self) -> Thing:
        """The same, for pairing."""
        return Thing(self.name, self.node, affine(np.eye(3), self.place)[None], {"node": self.node})


def differences_of_points(
    items: Sequence[ImportedNode],
    node_of: Mapping[int, int],
    written: Scene,
    points: Sequence[ControlPoint],
    exported: ControlPoints,
) -> list[Difference]:
    """Return what control points of a result are otherwise than in the file.

    Args:
        node_of: node of the file -> of the result.
        points, exported: those that are written, and those that were exported.
    """
    mine = _of_file(items, node_of, {node.name for node in written.nodes}, exported)
    theirs = [
        _Point(
            p.name.rpartition(".point")[0],
            p.node,
            np.array(p.position),
            *_unit(p.direction),
            {"flags": p.flags, "node2": p.node2},
            (p.name, f"{p.name.rpartition('.point')[0]}.point"),  # a node of the file may have the name
        )
        for p in points
    ]
    reach = max((float(np.abs(p.place).max()) for p in theirs), default=0.0)
    loose = 2 * POSE_NOISE * max(model_size(written), reach)
    world = world_poses(written.nodes, [], np.zeros(1))[:, 0]
    found: list[Difference] = []

    def add(point: _Point, kind: Kind, what: str, amount: float = 0.0) -> None:
        names = tuple(
            n.casefold() for n in (point.name, *sorted(ways(point.name)), *point.names, "control points") if n
        )
        found.append(Difference(f"control point {called(point.name)}", kind, what, names, amount))

    left, free = dict(enumerate(mine)), dict(enumerate(theirs))
    for i, k in _pairs(mine, theirs):
        b = free.pop(k)
        a = replace(one := left.pop(i), names=(one.names[0], *b.names, *one.names[1:]))  # lines may call it either
        frame = np.eye(4) if a.node >= 0 else world[b.node]  # one without a node stands in the world
        if a.node not in (-1, b.node):
            add(a, "node", f"is on node {called(written.nodes[b.node].name)} in the game")
        elif (away := float(np.abs(a.place - frame[:3, :3] @ b.place - frame[:3, 3]).max())) > loose:
            add(a, "place", f"is {away:.3g} away in the game", away)
        elif b.length and (turned := float(np.abs(a.direction - frame[:3, :3] @ b.direction).max())) > _TURN:
            add(a, "turn", "is turned in the game", turned)
        if a.length is not None and b.length is not None and abs(a.length - b.length) > _TURN * max(a.length, b.length):
            add(a, "turn", f"has length {a.length:.3g} in the file, and {b.length:.3g} in the game")
        if not ways(a.name) & ways(b.name):
            add(a, "name", f"is called {in_words(b.name)} in the game")
        for fact, stated in {**a.facts, **({"node2": b.node} if a.together else {})}.items():
            if stated is not None and stated != b.facts[fact]:
                add(a, "fact", f"has {fact} {in_words(stated)} in the file, and {in_words(b.facts[fact])} in the game")
    for point in left.values():
        add(point, "node", "is in the file, and not in the game")
    for point in free.values():
        add(point, "node", "is in the game, and not in the file")
    return found


def _pairs(mine: Sequence[_Point], theirs: Sequence[_Point]) -> list[tuple[int, int]]:
    """Points of one name, the nearest first, then what is left."""
    out: list[tuple[int, int]] = []
    groups: dict[str, tuple[list[int], list[int]]] = {}
    for side, points in enumerate((mine, theirs)):
        for row, point in enumerate(points):
            groups.setdefault(min(ways(point.name)), ([], []))[side].append(row)
    had: tuple[set[int], set[int]] = (set(), set())
    rest = [*range(len(mine))], [*range(len(theirs))]
    for a, b in [*groups.values(), rest]:
        a, b = ([row for row in rows if row not in used] for rows, used in zip((a, b), had, strict=True))
        for i, k in nearest([mine[row].as_thing() for row in a], [theirs[row].as_thing() for row in b]):
            out.append((a[i], b[k]))
            had[0].add(a[i])
            had[1].add(b[k])
    return out


def _of_file(
    items: Sequence[ImportedNode], node_of: Mapping[int, int], names: set[str], exported: ControlPoints
) -> list[_Point]:
    rows = dict(enumerate(exported.records))
    row_of = {items[i].extras.get("node"): k for i, k in reversed([*node_of.items()])}
    world = world_poses(items, [], np.zeros(1))[:, 0]
    out = []
    for i, item in enumerate(items):
        if not is_point(item, names):
            continue
        above, of = next((k for k in nodes_above(items, i) if k in node_of), -1), [item.name]
        matrix = world[i]
        if above >= 0:
            left, _, right = np.linalg.svd(world[above, :3, :3])  # a node of the game is not scaled
            matrix = affine((left @ right).T @ world[i, :3, :3], (left @ right).T @ (world[i] - world[above])[:3, 3])
            of.append(items[above].name)
        direction, scale = _unit(matrix[:3, 2])
        length = item.extras.get("length")
        stated = None if length is None else scale * float(length)
        second, before = item.extras.get("node2"), rows.get(item.extras.get("point", -1))
        kept = before is None or second == before["second"]
        facts = {
            "flags": item.extras.get("flags"),
            "node2": second if not kept else row_of.get(second) if second is not None else None,
        }
        together = before is not None and kept and before["second"] == before["node"]
        place = name_of(item), node_of.get(above, -1), matrix[:3, 3]
        out.append(_Point(*place, direction, stated, facts, tuple(of), together))
    return out


def _unit(direction: Sequence[float] | F64) -> tuple[F64, float]:
    """A direction of length 1, and its length."""
    vector = np.array(direction, np.float64)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else np.array([0.0, 0.0, 1.0]), length


def take_levels(result: Shown, levels: Sequence[GeneratedLevel]) -> list[Difference]:
    """Take the levels that the import made, by node of the model, out of what a model shows: the file has none.

    Returns a difference, which no line of a report explains, for each that is farther from its part than is stated, or
    has corners that its part does not have.
    """
    found = [one for level in levels if (one := _judged(result, level)) is not None]
    for level in levels:
        if (cell := result.cells.get((level.lod, level.group))) is not None:
            result.cells[level.lod, level.group] = cell.select(~_is_of(result, cell, level.node))
    return found


def _is_of(result: Shown, cell: Triangles, node: int) -> np.ndarray:
    return np.isin(cell.owner, [i for i, thing in enumerate(result.things) if thing.above == node])


def _judged(result: Shown, level: GeneratedLevel) -> Difference | None:
    cells = (result.cells.get(level.whole), result.cells.get((level.lod, level.group)))
    whole, made = (None if cell is None else cell.select(_is_of(result, cell, level.node)) for cell in cells)
    name, what = result.things[level.node].name, ""
    if made is None or not len(made):
        what = "is not there"
    elif whole is None or not len(whole):
        what = "is of a part that is not there"
    else:
        away = _away(whole, made)
        name = result.things[int(made.owner[0])].name
        if away > level.error + float(steps(whole.local, whole.local).max()):
            what = f"is {away:.3g} away from its part, and not {level.error:.3g} at most"
        elif strange := int(np.count_nonzero(~np.isin(*_corners(made, whole)))):
            what = f"has {strange:,} corners that its part does not have"
    return Difference(f"generated level {called(name)}", "level", what, ()) if what else None


def _away(whole: Triangles, made: Triangles) -> float:
    """How far the surfaces of each material are from each other at most, in the frame of their node."""
    return max(
        surface_distance(whole.local[whole.material == material], made.local[made.material == material])
        for material in np.union1d(whole.material, made.material)
    )


def _corners(made: Triangles, whole: Triangles) -> tuple[I64, I64]:
    """Numbers of the corners of both: equal where a viewer shows the same there."""
    names = [name for name in ("local", "normals", "uv0", "uv1", "colours") if getattr(made, name) is not None]
    rows = [np.concatenate([getattr(side, n) for n in names], axis=2, dtype=np.float64) for side in (made, whole)]
    ids = row_ids((np.concatenate(rows).reshape(-1, rows[0].shape[2]) + 0.0).view(np.uint64))
    return ids[: 3 * len(made)], ids[3 * len(made) :]


#: How far a node may be away between frames, of the model's size.
_BETWEEN = 1e-3
#: A key of a range this near to a whole frame is on it.
_ON_RANGE = 2e-3
_EVENLY = ("the game moves evenly from one frame to the next", "make keys where it should be, on whole frames")


@dataclass(frozen=True, kw_only=True)
class WrittenModel:
    """A model as it would be written.

    Attributes:
        stored_keys: the clip of the file was exported as the stored keys.
        points: its ``.cpt``, empty without one; ``None``: not known.
        exported: the ``.cpt`` that it had.
        levels: what is stated of levels of detail that the import made.
        copied: names in ``wear`` that the import made (``--own-materials``), each with the one that the file has.
    """

    name: str
    data: bytes
    dialect: str
    wear: Sequence[str]
    mode: Mode = "default"
    stored_keys: bool = False
    points: bytes | None = None
    exported: bytes = b""
    copied: Mapping[str, str] = field(default_factory=dict)
    levels: Sequence[GeneratedLevel] = ()
    looks: WrittenLooks | None = None

    def model(self) -> MshModel:
        """Read it; its import has checked what it wrote."""
        tolerant = self.mode == "tolerant"
        model = read_model(read_nres(self.data, self.name, longer=tolerant), self.name, cut=tolerant)
        return leave_out(model)[0] if tolerant else model

    def scene(self, model: MshModel | None = None) -> Scene:
        """Read and decode it; ``model``: as it was read already."""
        read = self.model() if model is None else model
        return decode(read, Dialect(self.dialect), self.name, wear=self.wear, stored_keys=self.stored_keys)


def differences_of_model(
    seen: ImportedScene,
    stored: Scene | None,
    written: WrittenModel,
    *,
    timing: Timing | None,
    clip: str | None,
    cell: tuple[int, int],
    absent: bool,
    held: int = 1,
) -> list[Difference]:
    """Return what a written model shows otherwise than the file. ``held``: frames that the clip has at least: stored
    keys do not show a hold at the end.
    """
    if written.looks is not None:
        seen = written.looks.in_rectangles(seen)
    model = written.model()
    scene = written.scene(model)
    if scene.legacy:
        return []
    file, found = FileOfModel(seen, stored, timing, clip, cell, held, Dialect(written.dialect)), list[Difference]()
    if not seen.clips and stored is not None and scene.tracks:
        file.keep_clip(stored)
        found.append(_of_clip(stored.name, "is in the game, and not in the file"))
    count = min(file.frame_count, frames_of(scene))
    frames = file.frames(count)
    result = shown_by_scene(scene, frames)
    result.lacks |= {"name"} if model.node_names is None else set()
    result.lacks |= {"label"} if model.strings is None or scene.dialect is not Dialect.RETAIL else set()
    result.known = {name.casefold() for name in written.wear}
    for name, of in written.copied.items():
        for names in result.materials:
            names |= {of.casefold()} if name.casefold() in names else set()
    shown = file.shown(frames)
    if written.looks is not None:
        shown.looks = looks_of_file(seen.surfaces, of_obj="up" in seen.info)
        result.looks = written.looks.of(scene.materials)
    found += take_levels(result, written.levels)
    comparison = Comparison(shown, result, absent)
    found += comparison.run()
    found += _at_rest(file, scene, comparison.partner)
    found += _between(file, scene, comparison, count)
    found += [_of_clip(one.name, "is in the file, and not in the game") for one in file.unread]
    found += _ranges(file, scene, comparison.partner)
    if written.points is not None:
        node_of = {i: comparison.partner[k] for i, k in file.place.items() if k in comparison.partner}
        points, exported = points_in(scene, written.points)[0], read_points(written.exported, written.name)
        found += differences_of_points(seen.nodes, node_of, scene, points, exported)
    return found


def _at_rest(file: FileOfModel, written: Scene, partner: Mapping[int, int]) -> list[Difference]:
    """Nodes that a clip moves, and that stand by themselves where neither it nor the game ever puts them."""
    noises = 2 * POSE_NOISE * model_size(written), 4 * ROTATION_NOISE
    found = []
    for track in file.tracks:
        item, k = file.items[track.node], partner.get(file.place.get(track.node, -1))
        if k is None:
            continue
        before = file.exported(track.node)  # who moves keys may leave the node where it was
        how = placed_elsewhere(track, item, written.nodes[k], noises)
        if how and (before is None or placed_elsewhere(track, item, before, noises)):
            found.append(still_elsewhere(item.name, how))
    if len(found) > 1 and not file.given.info:  # rigs of foreign files rest elsewhere
        others = plural(len(found) - 1, "other")
        found = [replace(found[0], where=f"{found[0].where} and {others}")]
    return found


def _between(file: FileOfModel, written: Scene, comparison: Comparison, count: int) -> list[Difference]:
    """How far nodes are from where the file shows them between frames at most: one difference for the clip."""
    frames = file.between(count)
    if not len(frames) or not comparison.partner:
        return []
    items = {k: i for i, k in file.place.items()}
    mine, theirs = ([items[i] for i in comparison.partner], [*comparison.partner.values()])
    ends = np.concatenate([frames, np.floor(frames), np.ceil(frames)])
    a = world_poses(file.items, file.tracks, ends)[mine]
    b = world_poses(written.nodes, written.tracks, ends)[theirs]
    apart = np.linalg.norm(a[..., :3, 3] - b[..., :3, 3], axis=-1).reshape(len(mine), 3, -1)
    away = apart[:, 0] - apart[:, 1:].max(axis=1)  # what whole frames show is told of them
    if not len(away) or (most := float(away.max())) <= _BETWEEN * comparison.result.size:
        return []
    node, at = np.unravel_index(int(away.argmax()), away.shape)
    name = next((n for n in (*comparison.file.clip, written.name) if n), "")
    what = f"is up to {most:.3g} away between frames (node {called(file.items[mine[node]].name)}, {frames[at]:g})"
    return [replace(_of_clip(name, what), amount=most, moving=True, reason=_EVENLY)]


def _of_clip(name: str, what: str) -> Difference:
    return Difference(f"animation {called(name)}", "clip", what, (name.casefold(), "clip"))


def _ranges(file: FileOfModel, written: Scene, partner: Mapping[int, int]) -> list[Difference]:
    """Animations of a range of the clip that move a node neither as the result does there nor as the export did."""
    scenes = [one for one in (written, file.stored) if one is not None]
    rows = [{i: partner.get(k) for i, k in file.place.items()}, file.exported_rows]
    loose = (2 * POSE_NOISE + MOVE) * max(model_size(written), 1e-6)
    found = []
    for clip in file.given.ranges:
        tracks, (first, last) = file.of_range(clip), clip.span or (0.0, 0.0)
        keys = np.unique(np.concatenate([np.empty(0), *(c.frames for c in channels_of(tracks))]))
        off = np.abs(keys + first - np.rint(keys + first))
        inner = off[1:-1]  # the ends may be between frames in any file
        sampled = inner.max(initial=0) > _ON_RANGE  # an editor at another rate cuts off a sample
        step = float(np.diff(keys).max(initial=0)) if sampled else 0.0
        on_frames = keys[off <= _ON_RANGE]
        mine, frames = local_poses(file.items, tracks, on_frames), np.rint(on_frames + first)
        moved = [_moved(mine, tracks, scene, of, frames, loose) for scene, of in zip(scenes, rows, strict=False)]
        if len(keys) and abs(keys[-1] + first - last) > step + _ON_RANGE:
            what = f"does not end where frames {first:g} to {last:g} of the game's clip do"
            found.append(_of_clip(clip.name, what))
        elif all(moved):
            name = called(file.items[moved[0][0]].name)
            what = f"moves node {name} otherwise than frames {first:g} to {last:g} of the game's clip"
            found.append(_of_clip(clip.name, what))
    return found


def _moved(
    mine: F64, tracks: Sequence[Track], scene: Scene, row_of: Mapping[int, int | None], frames: F64, loose: float
) -> list[int]:
    """The items that tracks move otherwise than a scene at some frames. ``mine``: (n, T, 4, 4), by these tracks."""
    moving = {track.node for track in tracks}, {track.node for track in scene.tracks}
    theirs = local_poses(scene.nodes, scene.tracks, frames)
    out = []
    for i, k in row_of.items():
        if k is not None and (i in moving[0] or k in moving[1]):
            apart = np.abs(mine[i] - theirs[k])[:, :3]
            if apart[..., 3].max(initial=0) > loose or apart[..., :3].max(initial=0) > 2 * TURN:
                out.append(i)
    return out


def judge_motion(
    report: Report, seen: ImportedScene, stored: Scene, written: Scene, timing: Timing, cell: tuple[int, int]
) -> None:
    """Add a line for a model in a unit whose nodes are elsewhere between frames; its import tells of whole ones.

    Args:
        seen: the nodes below its placement, and what of the clip moves them.
        written: what its import made, decoded.
        stored, timing, cell: as of :func:`differences_of_model`.
    """
    file = FileOfModel(seen, stored, timing, None, cell, dialect=written.dialect)
    count = min(file.frame_count, frames_of(written))
    if len(file.between(count)):
        frames = file.frames(count)
        comparison = Comparison(file.shown(frames), shown_by_scene(written, frames))
        comparison.pair_nodes()
        tell(report, _between(file, written, comparison, count))


def judge_model(report: Report, *args: object, **more: object) -> None:
    """Add lines to a report for what nothing in it explains; arguments as of :func:`differences_of_model`."""
    tell(report, differences_of_model(*args, **more))  # type: ignore[arg-type]


def differences_of_obj(
    seen: ImportedScene,
    written: Scene,
    poses: F64,
    *,
    cell: tuple[int, int],
    loose: float,
    looks: WrittenLooks | None = None,
) -> list[Difference]:
    """Return what a written model shows otherwise than an OBJ, or another file without nodes of its own.

    Args:
        seen: the file as it was read, in model space.
        poses: (N, 4, 4) where its nodes are at the frame of the file.
        loose: how far the decimals of the file may move a corner.
    """
    names: list[Names] = [(item.name, "" if item.mesh < 0 else seen.meshes[item.mesh].name) for item in seen.nodes]
    file = shown_at_once(seen, world_matrices(seen.nodes), [cell] * len(seen.nodes), names)
    result = shown_by_scene(written)
    for thing in result.things:  # parts, which have all triangles, stand with the node above them
        thing.world, thing.move, thing.turn = poses[thing.above][None], loose, 0.0  # an OBJ has no poses to round
    if (found := result.cells.get(cell)) is not None:  # what a cockpit shows is in a scene of its own
        cockpit = np.array([written.nodes[thing.above].cockpit for thing in result.things], np.bool_)
        result.cells = {cell: found.select(~cockpit[found.owner])}
    if looks is not None:
        file.looks, result.looks = looks_of_file(seen.surfaces, of_obj=True), looks.of(written.materials)
    comparison = Comparison(file, result)
    comparison.cell(cell)
    return comparison.found
