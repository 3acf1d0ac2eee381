"""Compare a glTF file with the model in its sidecar; the result is a plan for the rebuild.

The unit of change is the slot for geometry, the node for poses, tracks and names, the model for
the header (docs/reference/model.md, What the writer does).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError, called, few, in_words, plural
from ..findings import Report, Subject
from ..formats.names import decode_text, encode_name
from ..options import ImportOptions
from ..scene.dialect import cell_title, part_key
from ..scene.scene import Cell, Node, Part, Scene
from .materials import resolve_same_names, same_materials
from .node_roles import StoredMeshes
from .nodes import Identified
from .poses import PoseChanges
from .triangles import Match, TriangleList, is_degenerate, keep_normals, match, triangle_list


@dataclass(eq=False)
class PartPlan:
    """One part of the file and its part in the sidecar.

    Attributes:
        part: in the identified scene.
        slot: the stored slot it had, ``None`` for a new part.
        triangles: its triangles; not read for parts that are unchanged.
        match: how they meet the stored ones.
        stored: the stored ones.
        cell: where it is in the stored model; ``None``: in a new node.
        source: the cell that it was in, or is a copy of; ``None``: ``cell``, or it is new.
        copied: a part of the file is still where it was.
        placed: how it was placed where its object was left and its node was not.
    """

    part: Part
    slot: int | None = None
    triangles: TriangleList | None = None
    match: Match | None = None
    stored: TriangleList | None = None
    cell: Cell | None = None
    source: Cell | None = None
    copied: bool = False
    placed: str = ""

    @property
    def unchanged(self) -> bool:
        """Whether every triangle is as it was."""
        return self.match is not None and self.match.unchanged


@dataclass
class Plan:
    """What to keep and what to rebuild.

    Attributes:
        names, flags, labels, parents: nodes of which that changed.
        kept_parts: cells (stored node, lod, group) that the file does not show and that stay.
        deleted_parts: cells (stored node, lod, group) that are gone.
        replaced_parts: cells (stored node, lod, group) that show another stored part, and whose
            own no cell shows any more.
        materials: per material of the file the stored ones that it may be.
    """

    identified: Identified
    poses: set[int] = field(default_factory=set)
    names: set[int] = field(default_factory=set)
    flags: set[int] = field(default_factory=set)
    labels: set[int] = field(default_factory=set)
    parents: set[int] = field(default_factory=set)
    parts: list[PartPlan] = field(default_factory=list)
    kept_parts: list[Cell] = field(default_factory=list)
    deleted_parts: list[Cell] = field(default_factory=list)
    replaced_parts: list[Cell] = field(default_factory=list)
    deleted_nodes: list[int] = field(default_factory=list)
    materials: list[set[int]] = field(default_factory=list)

    @property
    def report(self) -> Report:
        """What the import says; its changes are those that the rebuild applies."""
        return self.identified.report


#: A part that left its cell and was edited, too, still has this ratio of its triangles.
_MOST = 0.5


def compare_parts(plan: Plan, stored: Scene, *, lightmap: bool, only_shown: bool, options: ImportOptions) -> None:
    """Find the changed, moved, new and missing parts of a file. ``plan``: filled in; its materials are compared
    already.
    """
    _Comparison(plan, stored, lightmap).run()
    lists = [(part.triangles, part.match) for part in plan.parts if part.triangles is not None and part.match]
    resolve_same_names(plan.materials, plan.identified.scene, stored, lists)
    has_flags = any(mesh.tri_flags is not None for mesh in stored.meshes)
    for part in plan.parts:
        if has_flags:
            _keep_exported_flags(part, stored)
        elif part.triangles is not None:
            part.triangles.flags = None
        _describe(plan, part, stored)
    _missing_parts(plan, stored, lightmap=lightmap, only_shown=only_shown, options=options)


class _Comparison:
    """Find the stored part that each part of a file comes from; parts by their indices."""

    def __init__(self, plan: Plan, stored: Scene, lightmap: bool) -> None:
        self.plan, self.stored, self.lightmap = plan, stored, lightmap
        self.scene = plan.identified.scene
        self.known = StoredMeshes(stored)
        self.part_of: dict[Cell, Part] = {part.cell: part for part in stored.parts}
        self.cells_of: dict[int, list[Cell]] = {}  # stored mesh -> its cells
        for cell, part in self.part_of.items():
            self.cells_of.setdefault(part.mesh, []).append(cell)
        self.lists: dict[int, TriangleList] = {}
        self.alike: dict[int, list[int]] | None = None  # shape key -> stored meshes
        self.origin: dict[int, int] = {}  # part of the file -> stored mesh

    def run(self) -> None:
        """Fill the plan's parts."""
        plan, scene = self.plan, self.scene
        for i, part in enumerate(scene.parts):
            k = plan.identified.stored_of.get(part.node)
            triangles = triangle_list(scene, part, lightmap=self.lightmap)
            cell = None if k is None else (k, part.lod, part.group)
            why = plan.identified.reasons.get(i, "")
            plan.parts.append(PartPlan(part, triangles=triangles, cell=cell, placed=why))
        count = range(len(plan.parts))
        for i in count:
            own = self._own(i)
            if own is not None and (same := self._match(i, own)).same_triangles:
                self._take(i, own, same)
        for i in count:
            if i not in self.origin:
                self._find_alike(i)
        occupied = {part.cell: i for i, part in enumerate(plan.parts) if part.cell is not None}
        for i in count:
            if i not in self.origin:
                self._find_edited(i, occupied)
        self._name_sources(occupied)

    def _own(self, i: int) -> int | None:
        """The stored mesh of the cell that a part is in."""
        cell = self.plan.parts[i].cell
        old = None if cell is None else self.part_of.get(cell)
        return None if old is None else old.mesh

    def _hint(self, i: int) -> int | None:
        """The stored mesh that a part's mesh was, by its extras or its name."""
        mesh = self.known.of(self.scene.meshes[self.plan.parts[i].part.mesh])
        return mesh if mesh in self.cells_of else None

    def _list(self, mesh: int) -> TriangleList:
        if mesh not in self.lists:
            part = self.part_of[self.cells_of[mesh][0]]
            triangles = triangle_list(self.stored, part, lightmap=self.lightmap)
            flags = self.stored.meshes[mesh].tri_flags
            triangles.flags = None if flags is None else flags.astype(np.int64)
            self.lists[mesh] = triangles
        return self.lists[mesh]

    def _match(self, i: int, mesh: int) -> Match:
        triangles = self.plan.parts[i].triangles
        assert triangles is not None
        return match(triangles, self._list(mesh), self.plan.materials)

    def _take(self, i: int, mesh: int, matched: Match) -> None:
        part = self.plan.parts[i]
        if not self.plan.identified.imported.has_normals and part.triangles is not None:
            keep_normals(part.triangles, self._list(mesh), matched)
        self.origin[i], part.match = mesh, matched
        part.slot, part.stored = self.stored.meshes[mesh].slot, self._list(mesh)

    def _find_alike(self, i: int) -> None:
        """Find a stored part of the same triangles, first by extras and name."""
        if self.alike is None:
            self.alike = {}
            for mesh in self.cells_of:
                self.alike.setdefault(_shape_key(self._list(mesh)), []).append(mesh)
        triangles, hint = self.plan.parts[i].triangles, self._hint(i)
        assert triangles is not None
        meshes = self.alike.get(_shape_key(triangles), [])
        for mesh in [*([] if hint is None else [hint]), *meshes]:
            if (same := self._match(i, mesh)).same_triangles:
                self._take(i, mesh, same)
                return

    def _find_edited(self, i: int, occupied: dict[Cell, int]) -> None:
        """Find what an edited part was: the part of its cell, or one that has left its own."""
        mesh, hint = self._own(i), self._hint(i)
        matched = None if mesh is None else self._match(i, mesh)
        if hint is not None and hint != mesh and self._has_left(hint, occupied):
            other = self._match(i, hint)
            kept, here = (0 if m is None else int((m.old_of >= 0).sum()) for m in (other, matched))
            if kept > here and kept >= _MOST * len(other.old_of):
                mesh, matched = hint, other
        if mesh is not None and matched is not None:
            self._take(i, mesh, matched)

    def _has_left(self, mesh: int, occupied: dict[Cell, int]) -> bool:
        """Whether another part is where a stored one was, or none."""
        users = [occupied[cell] for cell in self.cells_of[mesh] if cell in occupied]
        return all(self.origin.get(i, self._hint(i)) not in (mesh, None) for i in users)

    def _name_sources(self, occupied: dict[Cell, int]) -> None:
        """Name the cell that each moved part has left, or whose copy it is."""
        left = {
            mesh: [c for c in cells if self.origin.get(occupied.get(c, -1)) != mesh]
            for mesh, cells in self.cells_of.items()
        }
        for i, mesh in self.origin.items():
            if mesh != self._own(i):
                part, free = self.plan.parts[i], left[mesh]
                part.copied = not free
                part.source = free.pop(0) if free else self.cells_of[mesh][0]


def _shape_key(triangles: TriangleList) -> int:
    """Return a number that parts of the same triangles have in common, in whatever order.

    Duplicate and degenerate triangles, which Blender drops, do not count.
    """
    bits = (triangles.positions + np.float32(0)).view(np.uint32).astype(np.uint64)
    corner = _scrambled(bits @ np.array([1, 1 << 20, 1 << 40], np.uint64))  # (T, 3)
    a, b, c = corner.T
    flat = (a == b) | (b == c) | (a == c)
    return int(np.unique(_scrambled(corner[~flat].sum(axis=1))).sum())


def _scrambled(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread 64-bit numbers evenly, modulo 2 ** 64."""
    mixed = values * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


def _keep_exported_flags(part: PartPlan, stored: Scene) -> None:
    """Take flags that were exported with an object off the triangles that came to it later."""
    value, flags = part.part.tri_flags, None if part.triangles is None else part.triangles.flags
    if value is None or flags is None or part.source is None or part.match is None:
        return
    here = (p.mesh for p in stored.parts if p.cell == part.cell)
    if any(stored.meshes[mesh].common_flags == value for mesh in here):
        flags[(part.match.old_of >= 0) & (flags == value)] = -1


def _describe(plan: Plan, part: PartPlan, stored: Scene) -> None:
    scene = plan.identified.scene
    title = cell_title(part.part.lod, part.part.group, scene.dialect)
    where = Subject("part", scene.nodes[part.part.node].name, cell=title)
    if part.match is None or part.triangles is None or part.stored is None:
        plan.report.changed(where, "is new")
        return
    if part.source is not None:
        source = _where(plan, stored, part.source)
        what = f"is new, a copy of {source}" if part.copied else f"was {source}"
        plan.report.changed(where, what)
    part.match.compare_materials(part.triangles, part.stored, plan.materials)
    part.match.compare_flags(part.triangles, part.stored)
    if not part.match.unchanged:
        what = part.match.describe(len(part.stored))
        if part.part.matrix is not None:
            what += f", {part.placed or 'as its object was moved, turned or scaled'}"
        plan.report.changed(where, what)
    if part.match.colours_kept:
        plan.report.warnings.append(
            f"{where}: {part.match.colours_kept} triangles came back white beside coloured ones "
            "and keep their colours (Blender writes white where the materials of an object "
            "use vertex alpha in different ways; to paint white, leave one value below 1)"
        )


def _missing_parts(plan: Plan, stored: Scene, *, lightmap: bool, only_shown: bool, options: ImportOptions) -> None:
    """Delete the parts that are missing, or keep and report them.

    Scenes prove nothing: Blender writes those of hidden parts empty, and *Visible Objects* leaves
    the parts out. So parts are missing on purpose if one outside the default scene arrived.
    """
    shown = plan.identified.shown
    present = set(plan.identified.stored_of.values())
    parts = {part.cell: part for part in stored.parts}

    def is_outside(cell: Cell) -> bool:
        return cell[1:] != shown or stored.nodes[cell[0]].cockpit

    came = {part.cell if part.source is None else part.source for part in plan.parts}
    left = {part.source for part in plan.parts if part.source is not None and not part.copied}
    met = {part.cell for part in plan.parts}
    missing: list[Cell] = []
    unseen: list[Cell] = []
    for cell, part in parts.items():
        if cell in met or cell in left:
            continue
        if cell[0] not in present:
            plan.deleted_parts.append(cell)
        elif only_shown and is_outside(cell):
            plan.kept_parts.append(cell)
            unseen.append(cell)
        elif is_degenerate(triangle_list(stored, part, lightmap=lightmap)).all():  # Blender drops them
            plan.kept_parts.append(cell)
        else:
            missing.append(cell)
    _left_behind(plan, stored, unseen)
    came &= parts.keys()
    doubtful = any(map(is_outside, missing)) and not any(is_outside(c) for c in came if c)
    for cell in missing:
        where = _where(plan, stored, cell)
        if doubtful and not options.allow_delete:
            plan.kept_parts.append(cell)
            plan.report.skipped(
                where,
                "is missing",
                "no part outside the default scene is in the file: it was exported with "
                "visible or selected objects only, or they were deleted",
                "export everything, or delete them with --allow-delete",
            )
        else:
            plan.deleted_parts.append(cell)
            plan.report.changed(where, "is missing")
    _replaced_parts(plan, stored)


def _left_behind(plan: Plan, stored: Scene, unseen: list[Cell]) -> None:
    """Report the parts that the file never had, and whose nodes were moved or scaled under them."""
    shifted = {plan.identified.stored_of[node] for node in plan.identified.shifted}
    cells = [cell for cell in unseen if cell[0] in shifted]
    if cells:
        keys = [part_key(stored.nodes[node].name, lod, group) for node, lod, group in cells]
        plan.report.skipped(
            Subject("part", *keys, text=few([_where(plan, stored, cell) for cell in cells], 1)),
            "keeps its vertices, though its node was scaled or its origin was moved",
            "the file does not have it",
            "export every part, without --parts visible, and edit that file",
        )


def _where(plan: Plan, stored: Scene, cell: Cell) -> Subject:
    """What messages call a stored part: after its node, as the file calls that now."""
    now = plan.identified.now_of.get(cell[0])
    name = (stored.nodes[cell[0]] if now is None else plan.identified.scene.nodes[now]).name
    return Subject("part", name, cell=cell_title(*cell[1:], stored.dialect))


def _replaced_parts(plan: Plan, stored: Scene) -> None:
    """List the stored parts whose cells now show others, and which nothing shows any more."""
    slot_of = {p.cell: stored.meshes[p.mesh].slot for p in stored.parts}
    used = {part.slot for part in plan.parts} | {slot_of[cell] for cell in plan.kept_parts}
    for part in plan.parts:
        if part.cell in slot_of and part.source is not None and slot_of[part.cell] not in used:
            plan.replaced_parts.append(part.cell)
            plan.report.changed(_where(plan, stored, part.cell), "its triangles are gone")


def compare_model(
    identified: Identified,
    stored: Scene,
    poses: PoseChanges,
    *,
    lightmap: bool,
    has_names: bool,
    has_labels: bool,
    only_shown: bool,
    options: ImportOptions,
) -> Plan:
    """Return every difference between a file and the model in its sidecar. Raises ConversionError: more than half of
    the nodes are missing, and nobody allowed that.

    Args:
        identified: the file's scene, its nodes identified against ``stored``, its parts placed.
        lightmap: whether Res18 holds lightmap coordinates.
        only_shown: the file was exported with nothing but the default scene.
    """
    plan = Plan(identified)
    scene = identified.scene
    plan.materials = same_materials(scene, stored)
    stored_of = identified.stored_of
    for i, node in enumerate(scene.nodes):
        if i in stored_of:
            old = stored.nodes[stored_of[i]]
            _node_changes(plan, i, node, old)
            if has_names:
                _name_changes(plan, i, node, old)
            if has_labels:
                _label_changes(plan, i, node, old)
        else:
            plan.report.changed(f"node {called(node.name)}", "is new")
            plan.poses.add(i)
    below = [i for i, k in stored_of.items() if stored.nodes[k].parent >= 0]
    if len(below) > 1 and all(scene.nodes[i].parent < 0 for i in below):
        plan.report.warnings.append(
            "every node is at the root: so Blender exports with Data > Scene Graph > Flatten Object Hierarchy; "
            "clear it, and export again, unless you meant that"
        )
    present = set(stored_of.values())
    plan.deleted_nodes = [k for k in range(len(stored.nodes)) if k not in present]
    if not options.allow_delete and 2 * len(plan.deleted_nodes) > len(stored.nodes):
        raise _too_many_missing(plan, stored)
    for k in plan.deleted_nodes:
        plan.report.changed(f"node {called(stored.nodes[k].name)}", "is missing")
    compare_parts(plan, stored, lightmap=lightmap, only_shown=only_shown, options=options)
    plan.poses |= poses.nodes
    plan.report.add(poses.report)
    return plan


def _too_many_missing(plan: Plan, stored: Scene) -> ConversionError:
    """The error for a file that shows a small part of the model, most likely by mistake."""
    names = [called(stored.nodes[k].name) for k in plan.deleted_nodes[:3]]
    more = ", ..." if len(plan.deleted_nodes) > len(names) else ""
    return ConversionError(
        f"{len(plan.deleted_nodes)} of the model's {plural(len(stored.nodes), 'node')} are missing",
        value=", ".join(names) + more,
        hint="if only selected or visible objects were exported, export everything; --allow-delete deletes them",
    )


def _node_changes(plan: Plan, i: int, node: Node, old: Node) -> None:
    identified, what = plan.identified, []
    if (-1 if node.parent < 0 else identified.stored_of.get(node.parent, -2)) != old.parent:
        above = identified.scene.nodes[node.parent].name if node.parent >= 0 else None
        what.append(f"moved under {in_words(above)}" if above else "moved to the root")
        plan.parents.add(i)
    if node.flags is not None and node.flags != old.flags:
        what.append(f"flags {old.flags} became {node.flags}")
        plan.flags.add(i)
    plan.report.changed(f"node {called(old.name)}", *what)


def _name_changes(plan: Plan, i: int, node: Node, old: Node) -> None:
    if node.name != old.name:
        name = node.name if (raw := plan.identified.fitted.get(i)) is None else decode_text(raw)
        plan.report.changed(f"node {called(old.name)}", f"renamed to {in_words(name)}")
        plan.names.add(i)


def _label_changes(plan: Plan, i: int, node: Node, old: Node) -> None:
    if node.label != old.label:
        written = decode_text(encode_name(node.label))
        plan.report.changed(f"node {called(old.name)}", f"label {in_words(old.label)} became {in_words(written)}")
        if written != node.label:
            what = f"has label {in_words(written)} in the game"
            plan.report.skipped(Subject("node", node.name), what, "labels are CP1251", "choose another label", "fact")
        plan.labels.add(i)
