"""Compare the parts of a glTF file with those of the model in its sidecar."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import printable
from ..requirements import needed_for
from ..scene.differences import Change
from ..scene.scene import Part, Scene
from .match_triangles import Match, TriangleList, is_degenerate, match, triangle_list
from .plan import Cell, PartPlan, Plan


def compare_parts(plan: Plan, stored: Scene, *, lightmap: bool) -> None:
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
