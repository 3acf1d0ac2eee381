"""Compare a terrain in a glTF file with the stored one: its faces, level by level, and its objects.

Faces are compared as sets of corner triples, as for core models (``converter.edits.triangles``).
What is left on both sides is paired inside a square and a material, in order, as long as every
stored vertex then has one new value: those faces moved. All others are deleted or new
(docs/reference/terrain.md, What the writer does).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import ConversionError, called, plural, printable
from ..findings import Report
from ..formats.names import known_name
from ..formats.terrain import COARSE, FINE, LEVELS, NO_MATERIAL, Grid, Terrain
from ..numeric.arrays import F32, I64, Bools, join, row_ids
from ..numeric.quantize import decode_normals, encode_uv
from ..scene.decode import MaterialPair, TerrainScene
from ..scene.extras import MaterialExtras, NodeExtras
from ..scene.scene import ImportedScene, Part, Scene
from .materials import same_stored
from .nodes import world_matrices
from .triangles import Match, TriangleList, best_turns, canonical, concatenate, keep_normals, match, triangle_list

#: Blender stores normals relative to those of the faces round them; on slopes it turns some by up
#: to 0.56 degrees (measured), a little more than a stored step.
TERRAIN_NORMAL_DEGREES = 1.0
_BLEND_NOISE = 1e-6
_PLACE_NOISE = 1e-6


@dataclass
class EditedLevel:
    """One level as a file shows it.

    Attributes:
        triangles: T triangles in game space; ``extra`` is the microtexture UV as stored.
        blend: (T, 3) float32, or ``None`` where the file has none.
        has_normals: whether the file has normals; else those of the triangles are computed.
    """

    triangles: TriangleList
    blend: F32 | None
    owner: I64
    has_normals: bool = True


@dataclass
class Pairs:
    """P stored faces that are still there, and their triangles in the file.

    Attributes:
        old: (P,) stored faces, positions in ``LevelPlan.rows``.
        new: (P,) triangles of the file.
        turn: (P, 3) the new corner of each old corner.
        exact: (P,) whether they are equal in positions and texture coordinates.
    """

    old: I64
    new: I64
    turn: I64
    exact: Bools

    def take(self, keep: Bools) -> Pairs:
        """Return some of the pairs. (P,) bool."""
        return Pairs(self.old[keep], self.new[keep], self.turn[keep], self.exact[keep])


@dataclass(kw_only=True)
class LevelPlan(Pairs):
    """How a level's faces meet the stored ones.

    Attributes:
        rows: (F,) stored faces of the level, rows of the face table.
        back: stored faces that editors drop (duplicates, degenerate ones) and that stay.
        material: (P,) whether the material changed.
        normals: (P,) whether normals changed, of exact pairs.
        blend: (P,) whether the blend changed.
    """

    rows: I64
    edited: EditedLevel
    match: Match
    fresh: I64
    back: I64
    material: Bools
    normals: Bools
    blend: Bools

    @property
    def lost(self) -> I64:
        """Rows of the stored faces that are gone."""
        return np.delete(self.rows, np.concatenate([self.old, self.back]))

    @property
    def unchanged(self) -> bool:
        """Whether the file shows the stored level."""
        return self.match.unchanged and not self.blend.any()


@dataclass
class TerrainPlan:
    """What to keep and what to rebuild.

    Attributes:
        levels: by level; one that the file does not show is not there and stays.
        pairs: per material of the file its rows ``(first, second)``, ``None`` = unknown.
        alike: per material of the file all stored materials that its name may mean.
        choices: per material of the file all stored pairs that its name may mean.
        names: per item of the file its name, for messages.
    """

    report: Report
    levels: dict[int, LevelPlan] = field(default_factory=dict)
    pairs: list[tuple[int, int] | None] = field(default_factory=list)
    choices: list[list[tuple[int, int]]] = field(default_factory=list)
    alike: list[set[int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    materials: list[str] = field(default_factory=list)


def compare_terrain(edited: ImportedScene, terrain: Terrain, scene: TerrainScene, wear: list[str]) -> TerrainPlan:
    """Return every difference between a file and the terrain in its sidecar. Raises ConversionError: the file shows no
    terrain.

    Args:
        terrain: the sidecar's terrain; valid.
        wear: names by row of ``Land1.wea``: new material pairs are looked up there.
    """
    names, materials = ([one.name for one in some] for some in (edited.nodes, edited.materials))
    plan = TerrainPlan(edited.report, names=names, materials=materials)
    same = _same_pairs(edited, scene.material_pairs)
    plan.pairs = [
        _pair(edited.materials[i].name, edited.material_extras[i], group, scene.material_pairs, wear)
        for i, group in enumerate(same)
    ]
    plan.alike = same
    plan.choices = [
        [(scene.material_pairs[i].first, scene.material_pairs[i].second) for i in sorted(group)] for group in same
    ]
    for level, shown in _levels(edited).items():
        shown.has_normals = edited.has_normals
        level_plan = _compare(shown, terrain.faces_of(level), terrain, scene, same)
        if level == COARSE:
            _leave_vertices(plan, level_plan)
        plan.levels[level] = level_plan
    if FINE not in plan.levels:
        raise ConversionError(
            "shows no terrain: it has no mesh called 'terrain'",
            hint="keep the object's name, or give the file that msh2gltf wrote",
        )
    for level, level_plan in sorted(plan.levels.items()):
        if not level_plan.unchanged:
            what = level_plan.match.describe(len(level_plan.rows))
            if level_plan.match.unchanged:
                what = f"blend changed on {int(level_plan.blend.sum())} triangles"
            plan.report.changed(f"{LEVELS[level]} level", what)
    return plan


def report_coarse_vertices(plan: TerrainPlan, count: int, what: str) -> None:
    """Report what coarse faces have at their vertices, where that changed on some of them."""
    if count:
        plan.report.skipped(
            "coarse level",
            f"{what} changed on {plural(count, 'triangle')}",
            "its vertices are those of the fine level",
            "edit them in the object 'terrain'",
        )


def _leave_vertices(plan: TerrainPlan, coarse: LevelPlan) -> None:
    """Leave out normals and blend of the coarse level, and report where they differ."""
    report_coarse_vertices(plan, int(coarse.match.normals_differ.sum()), "normals")
    report_coarse_vertices(plan, int(coarse.blend.sum()), "blend")
    coarse.match.normals_differ[:] = coarse.normals[:] = coarse.blend[:] = False
    coarse.edited.triangles.normals = coarse.edited.blend = None


def _levels(edited: ImportedScene) -> dict[int, EditedLevel]:
    """The file's triangles by level; unknown objects belong to the fine one."""
    scene = Scene(edited.name, edited.streams, meshes=edited.meshes)
    world = world_matrices(edited.nodes)
    still = np.abs(world - np.eye(4)).max(axis=(1, 2), initial=0) <= _PLACE_NOISE
    parts: dict[int, list[tuple[int, TriangleList]]] = {}
    for i, item in enumerate(edited.nodes):
        if item.mesh < 0 or not edited.meshes[item.mesh].primitives:
            continue
        triangles = triangle_list(scene, Part(i, 0, 0, item.mesh, None if still[i] else world[i]), lightmap=False)
        triangles.extra, triangles.lightmap = None, True
        if edited.streams.uv1 is not None:
            words, _ = encode_uv(edited.streams.uv1[triangles.vertex])
            triangles.extra = np.ascontiguousarray(words).view(np.uint8)
        parts.setdefault(_level(item.name, item.extras), []).append((i, triangles))
    return {level: _joined(lists, edited.streams.blend) for level, lists in parts.items()}


def _level(name: str, extras: NodeExtras) -> int:
    if "level" in extras:
        return COARSE if extras["level"] == COARSE else FINE
    return COARSE if name.partition(".")[0] == LEVELS[COARSE] else FINE


def _joined(parts: list[tuple[int, TriangleList]], blend: F32 | None) -> EditedLevel:
    lists = [triangles for _, triangles in parts]
    triangles = concatenate(lists)
    owner = np.repeat([i for i, _ in parts], [len(s) for s in lists])
    return EditedLevel(triangles, None if blend is None else blend[triangles.vertex], owner)


def _same_pairs(edited: ImportedScene, material_pairs: list[MaterialPair]) -> list[set[int]]:
    """Per material of the file the stored pairs that it may be: by its rows, else by its name."""
    stated = (
        (extras["first"], extras.get("second", NO_MATERIAL)) if "first" in extras else None
        for extras in edited.material_extras
    )
    given = zip(stated, (material.name for material in edited.materials), strict=True)
    return same_stored(given, (((pair.first, pair.second), pair.name) for pair in material_pairs))


def _pair(
    name: str, extras: MaterialExtras, group: set[int], material_pairs: list[MaterialPair], wear: list[str]
) -> tuple[int, int] | None:
    """Rows of ``Land1.wea`` that a material of the file stands for."""
    if "first" in extras:
        rows = extras["first"], extras.get("second", NO_MATERIAL)
        return rows if all(0 <= row <= NO_MATERIAL for row in rows) else None
    if group:
        pair = material_pairs[min(group)]
        return pair.first, pair.second
    known = {text.casefold(): row for row, text in reversed(list(enumerate(wear)))}

    def rows_of(title: str) -> list[int]:
        rows = [known.get(part.strip().casefold()) for part in title.split("+")]
        return [row for row in rows if row is not None] if len(rows) <= 2 and None not in rows else []

    rows_of_names = rows_of(known_name(name, rows_of))
    if not rows_of_names:
        return None
    first, second = (*rows_of_names, NO_MATERIAL)[:2]
    return first, second


def _stored(terrain: Terrain, scene: TerrainScene, rows: I64) -> TriangleList:
    vertex = terrain.faces["vertex"][rows].astype(np.int64)
    row_of = {(g.first, g.second): i for i, g in enumerate(scene.material_pairs)}
    first, second = (terrain.faces[k][rows].tolist() for k in ("first", "second"))
    extra = np.ascontiguousarray(terrain.micro_uv[vertex]).view(np.uint8)
    return TriangleList(
        positions=terrain.positions[vertex],
        normals=decode_normals(terrain.normals[vertex]),
        uv0=terrain.uv0[vertex],
        extra=extra.reshape(*vertex.shape, 4),
        material=np.array([row_of[pair] for pair in zip(first, second, strict=True)], np.int64),
        vertex=vertex,
        lightmap=True,
    )


@dataclass(frozen=True)
class _Sides:
    """A level of the file and the stored one.

    Attributes:
        new, old: triangles of the file, and the stored faces.
        same: per material of the file the stored pairs that it may be.
        square: (F,) square of every stored face.
    """

    new: TriangleList
    old: TriangleList
    same: list[set[int]]
    square: I64
    grid: Grid


def _compare(edited: EditedLevel, rows: I64, terrain: Terrain, scene: TerrainScene, same: list[set[int]]) -> LevelPlan:
    new, old = edited.triangles, _stored(terrain, scene, rows)
    matched = match(new, old, same, TERRAIN_NORMAL_DEGREES)
    if not edited.has_normals:
        keep_normals(new, old, matched)
    partner, hit, turn = matched.pairs()
    fresh = np.flatnonzero(matched.old_of < 0)
    sides = _Sides(new, old, same, terrain.square_of_face[rows], terrain.grid)
    moved_old, moved_new = _pair_moved(sides, matched.lost, fresh)
    old_uv0 = None if old.uv0 is None else old.uv0[moved_old]
    moved_turn = best_turns(new, moved_new, old.positions[moved_old], old_uv0, plan_view=True)
    pairs = Pairs(
        np.concatenate([partner, moved_old]),
        np.concatenate([hit, moved_new]),
        np.concatenate([turn, moved_turn]),
        np.arange(len(hit) + len(moved_old)) < len(hit),
    )
    pairs = pairs.take(_consistent(old, new, pairs))
    blend = np.zeros(len(pairs.old), np.bool_)
    if edited.blend is not None and terrain.blend is not None:
        shown = edited.blend[pairs.new[:, None], pairs.turn]
        stored = terrain.blend[old.vertex[pairs.old]]
        blend = (np.abs(shown - stored) > _BLEND_NOISE).any(axis=1)
    return LevelPlan(
        **vars(pairs),
        rows=rows,
        edited=edited,
        match=matched,
        fresh=np.setdiff1d(fresh, pairs.new),
        back=matched.dropped,
        material=matched.materials_differ[pairs.new] & pairs.exact,
        normals=matched.normals_differ[pairs.new],
        blend=blend,
    )


def _pair_moved(sides: _Sides, lost: I64, fresh: I64) -> tuple[I64, I64]:
    """Pair faces that may have moved: as many lost as new ones in a square and a material.

    Materials of one name count as one here: without extras nothing distinguishes them.
    """
    new, old = sides.new, sides.old
    alike = np.arange(int(old.material.max(initial=-1)) + 1)
    for group in sides.same:
        for member in group:
            if member < len(alike):
                alike[member] = min(alike[member], min(group))
    names = np.array([min(group) if group else -2 - i for i, group in enumerate(sides.same)] + [-1])
    new_name, old_name = names[new.material[fresh]], alike[old.material[lost]]
    old_of = np.full(len(fresh), -1, np.int64)
    # what moved up or down is the same in the plan view
    new_key, old_key = _plan_view(new, fresh, old, lost)
    join(old_of, [new_key, new_name], [old_key, old_name])
    free = np.ones(len(lost), np.bool_)
    free[old_of[old_of >= 0]] = False
    left, open_ = np.flatnonzero(free), np.flatnonzero(old_of < 0)
    middle = new.positions[fresh[open_]].astype(np.float64).mean(axis=1).reshape(-1, 3)
    a_key = np.stack([sides.square[lost[left]], old_name[left]], axis=1)
    b_key = np.stack([sides.grid.squares_at(middle), new_name[open_]], axis=1)
    ids = row_ids(np.concatenate([a_key, b_key]).astype(np.int64).view(np.uint64))
    a, b = ids[: len(left)], ids[len(left) :]
    size = int(ids.max(initial=-1)) + 1
    equal = np.bincount(a, minlength=size) == np.bincount(b, minlength=size)
    a_order = np.argsort(a, kind="stable")
    b_order = np.argsort(b, kind="stable")
    old_of[open_[b_order[equal[b[b_order]]]]] = left[a_order[equal[a[a_order]]]]
    paired = np.flatnonzero(old_of >= 0)
    return lost[old_of[paired]], fresh[paired]


def _plan_view(new: TriangleList, fresh: I64, old: TriangleList, lost: I64) -> tuple[I64, I64]:
    """A key per triangle from x and y of its corners."""
    seen = np.concatenate([new.positions[fresh], old.positions[lost]])[..., :2] + np.float32(0)
    ids = row_ids(seen.reshape(-1, 2).view(np.uint32).astype(np.uint64)).reshape(-1, 3)
    key, _ = canonical(ids, int(ids.max(initial=0)) + 1)
    return key[: len(fresh)], key[len(fresh) :]


def _consistent(old: TriangleList, new: TriangleList, pairs: Pairs) -> Bools:
    """Whether each pair stays: under those that stay, every stored vertex has one new value.

    Equal pairs all stay.
    """
    at = (pairs.new[:, None], pairs.turn)
    columns = [old.vertex[pairs.old][..., None], (new.positions[at] + np.float32(0)).view(np.int32).astype(np.int64)]
    if new.uv0 is not None:
        columns.append(new.uv0[at].astype(np.int64))
    if new.extra is not None:
        columns.append(new.extra[at].astype(np.int64))
    stacked = np.concatenate(columns, axis=-1)
    corner = stacked.reshape(3 * len(pairs.old), stacked.shape[-1])
    value = row_ids(np.ascontiguousarray(corner).view(np.uint64)).reshape(-1, 3)
    vertex = old.vertex[pairs.old]
    keep = np.ones(len(pairs.old), np.bool_)
    size = int(vertex.max(initial=-1)) + 1
    while True:
        low = np.full(size, np.iinfo(np.int64).max)
        high = np.full(size, -1)
        np.minimum.at(low, vertex[keep], value[keep])
        np.maximum.at(high, vertex[keep], value[keep])
        torn = (high >= 0) & (low != high)
        wrong = keep & ~pairs.exact & torn[vertex].any(axis=1)
        if not wrong.any():
            return keep
        keep &= ~wrong


def unknown_material(plan: TerrainPlan, owner: int, material: int) -> ConversionError:
    """Return the error for a face whose material is not a row of ``Land1.wea``."""
    name = plan.materials[material] if material >= 0 else ""
    return ConversionError(
        f"object {called(plan.names[owner])} has a material that Land1.wea does not have",
        value=printable(name) if name else "none",
        expected="a name of Land1.wea, or two with a + between",
        hint="use the materials that the terrain came with"
        if plan.materials
        else "set Materials to Export, and export again",
    )


def compare_terrain_objects(plan: TerrainPlan, edited: ImportedScene, terrain: Terrain, *, visible_only: bool) -> None:
    """Report the differences of objects, materials and clips, which are not applied. ``visible_only``: whether the
    coarse level was not exported.
    """
    _report_levels(plan, terrain, visible_only)
    fine = plan.levels.get(FINE)
    unread = fine is not None and fine.edited.blend is None and edited.placed is None and "up" not in edited.info
    if unread and terrain.blend is not None:
        plan.report.warnings.append(
            "how the two grounds of a face blend is not in the file (Attributes is cleared in Blender's glTF exporter) "
            "and stays: to edit it, set Data > Mesh > Attributes"
        )


def _report_levels(plan: TerrainPlan, terrain: Terrain, visible_only: bool) -> None:
    if COARSE not in plan.levels and not visible_only and len(terrain.faces_of(COARSE)):
        plan.report.skipped(
            "coarse level",
            "is missing",
            "a terrain needs both levels: the stored one stays",
            "export the object 'coarse' too (not only visible objects)",
        )
    for level, shown in sorted(plan.levels.items()):
        if terrain.blend is None and shown.edited.blend is not None:
            plan.report.skipped(
                f"{LEVELS[level]} level",
                "has the attribute _MSH_BLEND",
                "this terrain has no blend table (type 14)",
                "remove the attribute; materials named 'first+second' blend fully",
                "vertex colours",
            )
