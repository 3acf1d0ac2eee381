"""Rebuild the parts of a model: which slot every cell has, and the geometry of changed slots."""

from __future__ import annotations

import numpy as np

from ..edits.fit_uv import fit_uv
from ..edits.plan import PartPlan
from ..edits.triangles import TriangleList
from ..errors import plural
from ..formats.tables import GROUP_COUNT, LOD_COUNT
from ..numeric.arrays import NONE16
from ..scene.dialect import Dialect
from .geometry import SlotGeometry, build_slots, too_many
from .materials import stored_choices, words_table
from .slots import Edit, change_in_place, new_corners, rebuild_slot
from .workspace import Cell, Rebuild, Workspace

Shape = tuple[int, bytes, int | None]


def rebuild_parts(job: Rebuild, space: Workspace) -> dict[Cell, int]:
    """Change the geometry tables by the plan; return the slot of every cell.

    Raises:
        ConversionError: more triangles, batches or slots than a model can have.
    """
    return _Parts(job, space).run()


class _Parts:
    """The slots in the making: new geometries are appended together at the end."""

    def __init__(self, job: Rebuild, space: Workspace) -> None:
        plan, stored, materials = job.plan, job.stored, job.scene.materials
        self.job, self.space = job, space
        self.words = words_table(materials, plan if stored is not None else None, stored, job.dialect)
        self.choices = stored_choices(materials, plan, stored, job.dialect)
        self.no_extra = np.full(4, 255 if job.dialect is Dialect.SPEC else 0, np.uint8)
        self.cells: dict[Cell, int] = {}
        self.geometries: list[SlotGeometry] = []
        self.owners: list[tuple[Cell, int]] = []  # cell and number of its slot in all of these

    def run(self) -> dict[Cell, int]:
        plan = self.job.plan
        users = self._keep_cells()
        for part in plan.parts:
            fit_uv(part, self.job.scene, self.job.report)
        changed: dict[int, list[PartPlan]] = {}
        for part in plan.parts:
            if part.slot is None:
                continue
            if part.unchanged:
                self.cells[_cell(part)] = part.slot
            else:
                changed.setdefault(part.slot, []).append(part)
        staying = set(self.cells.values())
        zero_area = sum(self._change(slot, parts, staying) for slot, parts in changed.items())
        dropped = self._build([part for part in plan.parts if part.slot is None])
        zero_area += sum(geometry.zero_area for geometry in self.geometries)
        _require_room(self.space, self.geometries)
        rows = self.space.append(self.geometries)
        self.cells.update({cell: rows[number] for cell, number in self.owners})
        self._drop_unused(users)
        if dropped:
            self.job.report.warnings.append(f"{plural(dropped, 'degenerate triangle')} dropped")
        if zero_area:
            self.job.report.warnings.append(f"{plural(zero_area, 'triangle')} without area; the normal is made up")
        return self.cells

    def _keep_cells(self) -> set[int]:
        """Keep the slots of cells that the file does not show; return all slots in use."""
        stored, plan = self.job.stored, self.job.plan
        if stored is None:
            return set()
        slots = self.job.model.nodes["slot_index"].astype(np.int64)
        known = {(p.node, p.lod, p.group) for p in stored.parts}
        gone = set(plan.deleted_parts)
        for i, k in plan.identified.stored_of.items():
            for lod in range(LOD_COUNT):
                for group in range(GROUP_COUNT):
                    slot = int(slots[k, lod, group])
                    # cells that draw nothing are in no scene: they stay
                    stays = (k, lod, group) in plan.kept_parts or (k, lod, group) not in known
                    if slot != NONE16 and stays and (k, lod, group) not in gone:
                        self.cells[i, lod, group] = slot
        return set(slots[slots != NONE16].tolist())

    def _change(self, slot: int, parts: list[PartPlan], staying: set[int]) -> int:
        """Rebuild a stored slot for the parts that have it; return its triangles without area.

        Parts that changed alike go on sharing one slot; all others get slots of their own.
        """
        alike: dict[Shape, list[PartPlan]] = {}
        for part in parts:
            alike.setdefault(_shape(part), []).append(part)
        leading, *others = alike.values()
        if slot in staying:  # an unchanged part still shows the stored one
            leading, others = [], [leading, *others]
        for users in others:
            self._add(rebuild_slot(self.space, slot, self._edit(users[0])), [users])
        if not leading:
            return 0
        edit = self._edit(leading[0])
        self.cells.update({_cell(part): slot for part in leading})
        if change_in_place(self.space, slot, edit):
            return 0
        geometry = rebuild_slot(self.space, slot, edit)
        self.space.replace(slot, geometry)
        return geometry.zero_area

    def _build(self, parts: list[PartPlan]) -> int:
        """Build slots for new parts; return how many degenerate triangles were dropped."""
        dropped = 0
        alike: dict[Shape, list[PartPlan]] = {}
        for part in parts:
            alike.setdefault(_shape(part), []).append(part)
        corners, users = [], []
        for same in alike.values():
            edit = Edit(_triangles(same[0]), None, self.words, self.no_extra)
            new, lost = new_corners(edit)
            dropped += lost
            if new is not None:
                corners.append(new)
                users.append(same)
        if corners:
            self._add(build_slots(corners), users)
        return dropped

    def _edit(self, part: PartPlan) -> Edit:
        return Edit(_triangles(part), part.match, self.words, self.no_extra, self.choices)

    def _add(self, geometry: SlotGeometry, users: list[list[PartPlan]]) -> None:
        """Add slots, with the parts that use each."""
        first = sum(len(g.slots) for g in self.geometries)
        for number, parts in enumerate(users, first):
            self.owners += [(_cell(part), number) for part in parts]
        self.geometries.append(geometry)

    def _drop_unused(self, users: set[int]) -> None:
        """Delete the slots that no cell has any more."""
        gone = sorted(users - set(self.cells.values()))
        for slot in gone:
            self.space.replace(slot, None)
        if gone:
            moved = self.space.drop_slots(gone)
            self.cells = {cell: int(moved[slot]) for cell, slot in self.cells.items()}


def _cell(part: PartPlan) -> Cell:
    return part.part.node, part.part.lod, part.part.group


def _shape(part: PartPlan) -> Shape:
    """What parts that can share a slot have in common: mesh, matrix into the node, flags."""
    mesh, matrix = part.part.mesh, part.part.matrix
    return mesh, b"" if matrix is None else matrix.tobytes(), part.part.tri_flags


def _triangles(part: PartPlan) -> TriangleList:
    assert part.triangles is not None
    return part.triangles


def _require_room(space: Workspace, geometries: list[SlotGeometry]) -> None:
    """Refuse new slots that would not fit, before they are laid out in 16-bit fields."""
    for title, have, more in (
        ("triangles", len(space.indices) // 3, sum(len(g.indices) // 3 for g in geometries)),
        ("batches", len(space.batches), sum(len(g.batches) for g in geometries)),
        ("slots", len(space.slots), sum(len(g.slots) for g in geometries)),
    ):
        if have + more > NONE16:
            raise too_many(title, have + more)
