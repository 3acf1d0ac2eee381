"""Rebuild the parts of a model: the slot of every cell, the geometry of changed slots, their materials.

Materials of a glTF become batch words and WEAR rows (docs/reference/model.md, Res13). Texture coordinates
fit into stored words by whole turns, which change nothing, since textures repeat.
"""

from __future__ import annotations

from itertools import count

import numpy as np
from numpy.typing import NDArray

from ..edits.material_rows import NO_NAME
from ..edits.materials import materials_in_use, stated_row
from ..edits.model import PartPlan, Plan
from ..edits.triangles import TriangleList
from ..errors import ConversionError, plural
from ..findings import Report, Subject
from ..formats.material import DEFAULT_MATERIAL
from ..formats.model import BATCH_LIGHTMAP, NO_LIGHTMAP
from ..formats.names import without_number
from ..formats.tables import GROUP_COUNT, LOD_COUNT
from ..formats.wear import is_material_name
from ..numeric.arrays import F64, NONE16, U16, Bools
from ..numeric.quantize import encode_uv
from ..scene.dialect import Dialect, last_row
from ..scene.scene import Material, Scene
from .geometry import SlotGeometry, build_slots, too_many
from .slots import Edit, change_in_place, new_corners, rebuild_slot
from .workspace import Cell, Rebuild, Workspace

Shape = tuple[int, bytes, int | None]


def rebuild_parts(job: Rebuild, space: Workspace) -> dict[Cell, int]:
    """Change the geometry tables by the plan; return the slot of every cell. Raises ConversionError: more triangles,
    batches or slots than a model can have.
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
            fit_uv(part, self.job.scene)
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


def material_words(material: Material | None, dialect: Dialect) -> tuple[int, int, int, int]:
    """Return the batch words +0, +2, +4, +6 of a material.

    What its extras give wins; the rest follows from row and lightmap row.
    """
    row = max(0, material.row) if material is not None else 0
    light = NO_LIGHTMAP
    if material is not None and 0 <= material.lightmap < NO_LIGHTMAP:
        light = material.lightmap
    if row > (most := last_row(dialect)):
        raise ConversionError(f"material row does not fit {dialect.value}", value=row, expected=f"0..{most}")
    if dialect is Dialect.RETAIL:
        flags = BATCH_LIGHTMAP if light != NO_LIGHTMAP else 0
        words = [flags, 0, row | light << 8, NONE16]
    else:
        words = [0, row, 0, 0]
    if material is not None:
        if material.batch_flags >= 0:
            words[0] = material.batch_flags & 0xFFFF
            if dialect is Dialect.RETAIL:
                words[1] = material.batch_flags >> 16 & 0xFFFF
        if material.w6 >= 0:
            words[3] = material.w6
        # a row or lightmap given in the extras wins over the raw word it lives in
        if material.w2 >= 0 and dialect is Dialect.RETAIL and material.batch_flags < 0:
            words[1] = material.w2
        if material.w4 >= 0 and dialect is Dialect.SPEC:
            words[2] = material.w4
    return words[0], words[1], words[2], words[3]


def words_table(materials: list[Material], plan: Plan | None, stored: Scene | None, dialect: Dialect) -> U16:
    """Return the batch words of each material of the file, (M + 1, 4); the last row is none."""
    rows: list[tuple[int, int, int, int]] = []
    if stored is None:
        materials = new_rows(materials)
    for i, material in enumerate(materials):
        same = plan.materials[i] if plan is not None else set()
        if -1 in material.key and same and stored is not None:
            material = stored.materials[min(same)]
        rows.append(material_words(material, dialect))
    rows.append(material_words(None, dialect))
    return np.array(rows, np.uint16).reshape(-1, 4)


def stored_choices(
    materials: list[Material], plan: Plan, stored: Scene | None, dialect: Dialect
) -> list[set[tuple[int, ...]]]:
    """Return the words that each material may have that lost its extras, else none."""
    if stored is None:
        return []
    return [
        {material_words(stored.materials[k], dialect) for k in plan.materials[i]} if -1 in material.key else set()
        for i, material in enumerate(materials)
    ]


def new_rows(materials: list[Material]) -> list[Material]:
    """Return the materials of a file that has no sidecar, each with its row.

    A row in the extras stands, unless a material before has it under another name, and
    ``material_7`` is row 7. The others take the rows that are left, in order of appearance: one for
    each name (Blender's ``.001`` does not count, nor does case), one for each material without a
    name. A name that has a row already keeps to it.
    """
    rows: dict[str | int, int] = {}
    owners: dict[int, str] = {}
    out = []
    for material in materials:
        bare = without_number(material.name)
        row = material.row if material.row >= 0 else stated_row(bare)
        name = bare.casefold()
        if row is not None and name and owners.setdefault(row, name) != name:
            material = material._replace(row=-1)  # one of its row was renamed
        elif row is not None:
            rows.setdefault(name, row)
        out.append(material)
    taken = {*rows.values(), *(material.row for material in out)}
    free = (row for row in count() if row not in taken)
    for i, material in enumerate(out):
        if material.row < 0:
            key = without_number(material.name).casefold() or i
            if key not in rows:
                rows[key] = next(free)
            out[i] = material._replace(row=rows[key])
    return out


def wear_rows(scene: Scene, report: Report) -> list[str]:
    """Return the WEAR rows of a new model; warn of names that they cannot have.

    A row is called like its first material. Rows that no material names are ``DEFAULT``, which is what the game shows
    for an unknown name; so is a name that no ``Material.lib`` can hold. ``scene``: whose materials :func:`new_rows`
    gave the batches their rows.
    """
    materials = new_rows(scene.materials)
    used = materials_in_use(scene)
    names: dict[int, str] = {}
    for i in sorted(used):
        material = materials[i] if i >= 0 else None
        row = 0 if material is None else material.row
        name = "" if material is None else without_number(material.name)
        if row in names or not name:
            continue
        if is_material_name(name):
            names[row] = name
        else:
            what = f"is {DEFAULT_MATERIAL} in row {row} of the .wea"
            report.skipped(Subject("material", name), what, NO_NAME, "choose another name", "materials")
    rows = {0, *(materials[i].row for i in used if i >= 0)}
    if any(0 <= materials[i].lightmap < NO_LIGHTMAP for i in used if i >= 0):
        report.warnings.append("the names of its lightmaps are not in the file: the .wea has no LIGHTMAPS")
    return [names.get(row, DEFAULT_MATERIAL) for row in range(max(rows) + 1)]


def fit_uv(part: PartPlan, scene: Scene) -> NDArray[np.int16] | None:
    """Shift the new triangles of a part by whole turns into -32..32; the judge names what is clamped.

    All by one shift where that is enough, else those that do not fit by one of their own; u and v separately. Triangles
    that match stored ones are not touched. ``part``: a part that changed; its triangles are changed in place.

    Returns:
        The part's texture coordinates where they were shifted, (T, 3, 2).
    """
    triangles = part.triangles
    if triangles is None or part.unchanged:
        return None
    fresh = np.ones(len(triangles), np.bool_) if part.match is None else part.match.old_of < 0
    if triangles.clamped and triangles.uv0 is not None and scene.streams.uv0 is not None:
        uv = scene.streams.uv0[triangles.vertex[fresh]].astype(np.float64)
        _shift(uv, (0, 1))
        for axis in (0, 1):
            far = ~_fits(uv[..., axis]).all(axis=1)
            turned = uv[far, :, axis]
            uv[far, :, axis] = turned - _turns(turned, 1)
        triangles.uv0[fresh], triangles.clamped = encode_uv(uv)
        return triangles.uv0
    return None


def _shift(uv: F64, axes: tuple[int, ...]) -> None:
    """Shift all triangles, (T, 3, 2), along u and v where one does not fit."""
    for axis in (0, 1):
        values = uv[..., axis]
        if not _fits(values).all():
            uv[..., axis] = values - _turns(values, axes)


def _turns(values: F64, axes: int | tuple[int, ...]) -> F64:
    """Whole turns from 0 to the middle of some values."""
    low, high = values.min(axis=axes, keepdims=True), values.max(axis=axes, keepdims=True)
    return np.asarray(np.rint((low + high) / 2))


def _fits(values: F64) -> Bools:
    return np.asarray((values * 1024 >= -32768.5) & (values * 1024 < 32767.5))
