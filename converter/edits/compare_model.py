"""Compare a glTF file with the model in its sidecar; the result is a plan for the rebuild.

The unit of change is the slot for geometry, the node for poses, tracks and names, the model for
the header (docs/reference/model.md, What the writer does).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import printable
from ..formats.names import without_number
from ..requirements import needed_for
from ..scene.differences import Change, NotApplied
from ..scene.scene import Node, Part, Scene
from .compare_poses import compare_poses
from .identify_nodes import Identified
from .match_triangles import Match, TriangleList, is_degenerate, match, triangle_list

Cell = tuple[int, int, int]


@dataclass(eq=False)
class PartPlan:
    """One part of the file and its part in the sidecar.

    Attributes:
        part: in the identified scene.
        slot: the stored slot it had, ``None`` for a new part.
        triangles: its triangles; not read for parts that are unchanged.
        match: how they meet the stored ones.
    """

    part: Part
    slot: int | None = None
    triangles: TriangleList | None = None
    match: Match | None = None

    @property
    def unchanged(self) -> bool:
        """Whether every triangle is as it was."""
        return self.match is not None and self.match.unchanged


@dataclass
class Plan:
    """What to keep and what to rebuild.

    Attributes:
        changes: every difference that the rebuild applies.
        not_applied: every other difference.
        poses: nodes that need a new key run.
        names, flags, labels, parents: nodes of which that changed.
        parts: every part of the file.
        kept_parts: cells (stored node, lod, group) that the file does not show and that stay.
        deleted_parts: cells (stored node, lod, group) that are gone.
        deleted_nodes: stored nodes that are gone.
        materials: per material of the file the stored ones that it may be.
        warnings: what the user should know.
    """

    identified: Identified
    changes: list[Change] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)
    poses: set[int] = field(default_factory=set)
    names: set[int] = field(default_factory=set)
    flags: set[int] = field(default_factory=set)
    labels: set[int] = field(default_factory=set)
    parents: set[int] = field(default_factory=set)
    parts: list[PartPlan] = field(default_factory=list)
    kept_parts: list[Cell] = field(default_factory=list)
    deleted_parts: list[Cell] = field(default_factory=list)
    deleted_nodes: list[int] = field(default_factory=list)
    materials: list[set[int]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def compare_model(identified: Identified, stored: Scene, *, lightmap: bool) -> Plan:
    """Return every difference between a file and the model in its sidecar.

    Args:
        identified: the file's scene, its nodes identified against ``stored``.
        stored: decoded from the sidecar's model.
        lightmap: whether Res18 holds lightmap coordinates.
    """
    plan = Plan(identified)
    scene = identified.scene
    plan.materials = same_materials(scene, stored)
    stored_of = identified.stored_of
    for i, node in enumerate(scene.nodes):
        if i in stored_of:
            _node_changes(plan, i, node, stored)
        else:
            plan.changes.append(Change(f"node {printable(node.name)!r}", "is new"))
            plan.poses.add(i)
    present = set(stored_of.values())
    plan.deleted_nodes = [k for k in range(len(stored.nodes)) if k not in present]
    plan.changes += [
        Change(f"node {printable(stored.nodes[k].name)!r}", "is missing")
        for k in plan.deleted_nodes
    ]
    _part_changes(plan, stored, lightmap)
    poses = compare_poses(identified, stored)
    plan.poses |= poses.nodes
    plan.changes += poses.changes
    return plan


def same_materials(edited: Scene, stored: Scene) -> list[set[int]]:
    """Return the stored materials that each edited one may be: by its key, else by its name.

    Blender appends ``.001`` to equal names, and drops extras by default: several stored
    materials of one name cannot be distinguished then, and any of them is taken for unchanged.
    """
    by_key: dict[tuple[int, ...], set[int]] = {}
    by_name: dict[str, set[int]] = {}
    for i, material in enumerate(stored.materials):
        by_key.setdefault(material.key, set()).add(i)
        by_name.setdefault(material.name, set()).add(i)
    out = []
    for material in edited.materials:
        if -1 not in material.key:
            out.append(by_key.get(material.key, set()))
        else:
            bare = without_number(material.name)
            out.append(by_name.get(material.name) or by_name.get(bare) or set())
    return out


def _node_changes(plan: Plan, i: int, node: Node, stored: Scene) -> None:
    identified = plan.identified
    old = stored.nodes[identified.stored_of[i]]
    what = []
    if node.name != old.name:
        what.append(f"renamed to {printable(node.name)!r}")
        plan.names.add(i)
    parent = -1 if node.parent < 0 else identified.stored_of.get(node.parent, -2)
    if parent != old.parent:
        above = identified.scene.nodes[node.parent].name if node.parent >= 0 else None
        what.append(f"moved under {printable(above)!r}" if above else "moved to the root")
        plan.parents.add(i)
    if node.flags is not None and node.flags != old.flags:
        what.append(f"flags {old.flags} became {node.flags}")
        plan.flags.add(i)
    if node.label != old.label:
        what.append(f"label {old.label!r} became {node.label!r}")
        plan.labels.add(i)
    where = f"node {printable(old.name)!r}"
    plan.changes += [Change(where, text) for text in what]


def _part_changes(plan: Plan, stored: Scene, lightmap: bool) -> None:
    """Changed, new and missing parts; a scene of which nothing is in the file stays."""
    identified = plan.identified
    scene, shown = identified.scene, identified.shown
    old_parts: dict[Cell, Part] = {(p.node, p.lod, p.group): p for p in stored.parts}
    old_lists: dict[int, TriangleList] = {}
    met: set[Cell] = set()
    olds: list[tuple[str, Match, TriangleList]] = []
    for part in scene.parts:
        k = identified.stored_of.get(part.node)
        cell = None if k is None else (k, part.lod, part.group)
        where = f"part {printable(scene.nodes[part.node].name)!r} lod {part.lod} group {part.group}"
        old = None if cell is None else old_parts.get(cell)
        triangles = triangle_list(scene, part, lightmap=lightmap)
        if old is None or cell is None:
            plan.parts.append(PartPlan(part, None, triangles))
            plan.changes.append(Change(where, "is new"))
            continue
        met.add(cell)
        if old.mesh not in old_lists:
            old_lists[old.mesh] = triangle_list(stored, old, lightmap=lightmap)
        result = match(triangles, old_lists[old.mesh], plan.materials)
        plan.parts.append(PartPlan(part, stored.meshes[old.mesh].slot, triangles, result))
        olds.append((where, result, old_lists[old.mesh]))
    _resolve_materials(plan, stored)
    for plan_part, (where, result, old_list) in zip(
        [p for p in plan.parts if p.match is not None], olds, strict=True
    ):
        assert plan_part.triangles is not None
        result.compare_materials(plan_part.triangles, old_list, plan.materials)
        if not result.unchanged:
            plan.changes.append(Change(where, result.describe(len(old_list))))
        if result.colours_kept:
            plan.warnings.append(
                f"{where}: {result.colours_kept} triangles came back white beside coloured ones "
                "and keep their colours (Blender writes white where the materials of an object "
                "use vertex alpha in different ways; to paint white, leave one value below 1)"
            )
    views = {_view_of(stored, cell, shown) for cell in met} | {(*shown, False)}
    present = set(identified.stored_of.values())
    for cell, part in old_parts.items():
        if cell in met:
            continue
        name = stored.nodes[cell[0]].name
        gone = cell[0] not in present
        shown_here = _view_of(stored, cell, shown) in views
        if gone or (shown_here and not _only_degenerate(stored, part, lightmap)):
            plan.deleted_parts.append(cell)
            if not gone:
                where = f"part {printable(name)!r} lod {cell[1]} group {cell[2]}"
                plan.changes.append(Change(where, "is missing"))
        else:
            plan.kept_parts.append(cell)


def _resolve_materials(plan: Plan, stored: Scene) -> None:
    """Distinguish materials of one name by the triangles they are on: most did not change theirs.

    Only for files without extras, where Blender's ``.001`` is their only difference.
    """
    open_ones = [i for i, choices in enumerate(plan.materials) if len(choices) > 1]
    open_ones = [i for i in open_ones if -1 in plan.identified.scene.materials[i].key]
    if not open_ones:
        return
    votes = np.zeros((len(plan.materials), len(stored.materials)))
    for part in plan.parts:
        if (
            part.triangles is not None
            and part.match is not None
            and part.match.old_material is not None
        ):
            hit = part.match.old_of >= 0
            new, old = part.triangles.material[hit], part.match.old_material[part.match.old_of[hit]]
            np.add.at(votes, (new[new >= 0], old[new >= 0]), 1)
    allowed = np.zeros(votes.shape, np.bool_)
    for i in open_ones:
        allowed[i, list(plan.materials[i])] = True
    for i, k in _most_votes(votes, allowed, open_ones):
        if votes[i, k] > 0 and allowed[i, k]:
            plan.materials[i] = {k}


def _most_votes(
    votes: NDArray[np.float64], allowed: NDArray[np.bool_], rows: list[int]
) -> list[tuple[int, int]]:
    """Assign stored materials to materials so that their triangles agree the most.

    Args:
        votes: (materials, stored materials), triangles that had the one and have the other.
        allowed: the same shape, whether the names fit.
        rows: the materials to assign; each has two or more stored ones that are allowed.

    Returns:
        Pairs of a row and its column.

    Raises:
        MissingPackage: two of them want the same, and SciPy is not installed to settle it.
    """
    counted = np.where(allowed, votes, -1)[rows]
    best, ranked = counted.argmax(1), np.sort(counted, axis=1)
    clear = bool((ranked[:, -1] > np.maximum(ranked[:, -2], 0)).all())
    others = np.asarray(np.delete(allowed, rows, axis=0).any(0), np.bool_)
    if clear and not others[best].any() and len(np.unique(best)) == len(best):
        return list(zip(rows, best.tolist(), strict=True))  # no sum can be larger
    with needed_for("telling several materials of one name apart", "materials"):
        from scipy.optimize import linear_sum_assignment

    found = linear_sum_assignment(np.where(allowed, votes, -1e9), maximize=True)
    pairs = zip(*(part.tolist() for part in found), strict=True)
    return [(i, k) for i, k in pairs if i in rows]


def _view_of(scene: Scene, cell: Cell, shown: tuple[int, int]) -> tuple[int, int, bool]:
    """Which scene of the glTF file shows a cell: parts of one come and go together."""
    return cell[1], cell[2], scene.nodes[cell[0]].cockpit and cell[1:] == shown


def _only_degenerate(stored: Scene, part: Part, lightmap: bool) -> bool:
    """Whether a part holds nothing that Blender would not drop."""
    return bool(is_degenerate(triangle_list(stored, part, lightmap=lightmap)).all())
