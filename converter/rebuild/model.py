"""Rebuild a model from a plan of changes; what did not change keeps its stored bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..edits.model import PartPlan, Plan
from ..edits.nodes import NAME_ROOM, Identified
from ..edits.poses import clip_length_changed
from ..edits.triangles import TriangleList, triangle_list
from ..errors import ConversionError, called, few, in_words, plural, printable
from ..findings import Subject
from ..formats.model import (
    BATCH_PORTAL,
    GRAPH_LINK_DTYPE,
    GRAPH_POINT_DTYPE,
    NO_LIGHTMAP,
    TABLES,
    MshModel,
    PathGraph,
    StreamType,
    StringTable,
)
from ..formats.names import decode_text, encode_name
from ..formats.nres import Archive, Entry
from ..formats.nres_edits import name_field
from ..formats.tables import GROUP_COUNT, HEADER_DTYPE, LOD_COUNT, NAME_DTYPE, NODE_DTYPE, SLOT_DTYPE
from ..numeric.arrays import F32, F64, NONE16, Bools
from ..numeric.quantize import encode_uv
from ..scene.dialect import Dialect, cell_title, part_name, posed_header
from ..scene.scene import Cell, Scene
from .nodes import NodeEdit, build_nodes, node_edits, node_order, set_frame_count
from .slots import Edit, build_slots, change_in_place, new_corners, rebuild_slot
from .workspace import Rebuild, Rebuilt, SlotGeometry, Workspace, stored_choices, too_many, words_table

_PLAIN = (1, 2, 3, 4, 5, 15, 13, 6, 7, 8, 19, 9, 10, 17)
_WITH_EXTRA = (1, 2, 3, 4, 5, 18, 15, 13, 6, 7, 8, 19, 9, 10, 17, 20)


Shape = tuple[int, bytes, int | None]


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
        """Change the geometry tables by the plan; return the slot of every cell."""
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
        # before they are laid out in 16-bit fields
        made: list[Workspace | SlotGeometry] = [self.space, *self.geometries]
        triangles, batches = sum(len(g.indices) // 3 for g in made), sum(len(g.batches) for g in made)
        _require_limits({"triangles": triangles, "batches": batches, "slots": sum(len(g.slots) for g in made)})
        rows = self.space.append(self.geometries)
        self.cells.update({cell: rows[number] for cell, number in self.owners})
        self._drop_unused(users)
        if dropped:
            self.job.plan.report.warnings.append(f"{plural(dropped, 'degenerate triangle')} dropped")
        if zero_area:
            self.job.plan.report.warnings.append(f"{plural(zero_area, 'triangle')} without area; the normal is made up")
        return self.cells

    def _keep_cells(self) -> set[int]:
        """Keep the slots of cells that the file does not show; return all slots in use."""
        stored, plan = self.job.stored, self.job.plan
        if stored is None:
            return set()
        slots = self.job.model.nodes["slot_index"].astype(np.int64)
        known = {p.cell for p in stored.parts}
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


def _require_limits(counts: dict[str, int]) -> None:
    """Refuse tables that would outgrow their 16-bit row numbers."""
    for title, value in counts.items():
        if value > NONE16:
            raise too_many(title, value)


def new_model(identified: Identified, name: str, dialect: Dialect, *, reduce: bool = True) -> Rebuilt:
    """Build a model of a scene that has no stored one. Raises ConversionError: a limit of the format."""
    scene, lightmap = identified.scene, dialect is Dialect.RETAIL
    scene.streams = replace(scene.streams, uv1=_lightmap_uv(identified, dialect))
    extra = (scene.streams.uv1 if lightmap else scene.streams.colours) is not None
    plan = Plan(identified, poses=set(range(len(scene.nodes))))
    plan.parts = [
        PartPlan(part, None, triangle_list(scene, part, lightmap=lightmap))
        for part in sorted(scene.parts, key=lambda p: p.cell)
    ]
    job = Rebuild(plan, None, dialect, reduce, _blank_model(name, extra=extra))
    return _rebuild(job, Workspace.empty(extra=extra))


def _lightmap_uv(identified: Identified, dialect: Dialect) -> F32 | None:
    """The second set of texture coordinates of a new model, where one of its materials has a lightmap."""
    scene = identified.scene
    uv1 = scene.streams.uv1
    primitives = [p for part in scene.parts for p in scene.meshes[part.mesh].primitives]
    lights = {scene.materials[p.material].lightmap for p in primitives if p.material >= 0}
    lit = dialect is Dialect.RETAIL and any(0 <= light < NO_LIGHTMAP for light in lights)
    if lit and uv1 is None:
        identified.report.warnings.append(
            "no second UV map in the file, though its materials have lightmaps: the model has no lightmap coordinates"
        )
    if lit or uv1 is None:
        return uv1
    identified.report.skipped(
        "second set of texture coordinates",
        "is in the file",
        "only a retail model whose materials state a lightmap row has a table for it",
        "remove the second UV map, or set lightmap in extras.msh of a material",
        "lightmap coordinates",
        names=("lightmap coordinates",),
    )
    return None


def edited_model(plan: Plan, model: MshModel, *, stored: Scene, dialect: Dialect, reduce: bool) -> Rebuilt:
    """Rebuild the stored model, which is not changed, with a plan's changes; everything else stays byte for byte.
    Raises ConversionError: a legacy model, or a limit of the format.
    """
    if model.legacy:
        raise ConversionError(
            "the model has legacy nodes (stride 24), which cannot be edited",
            hint="their format is not known; without edits the stored file comes back",
        )
    edited = replace(model, streams=dict(model.streams))
    edited.archive = replace(model.archive, entries=list(model.archive.entries))
    return _rebuild(Rebuild(plan, stored, dialect, reduce, edited), Workspace.of(model))


def _rebuild(job: Rebuild, space: Workspace) -> Rebuilt:
    plan, model = job.plan, job.model
    cells = _Parts(job, space).run()
    space.into(model)
    edits = node_edits(job, cells)
    order = node_order(edits)
    posed = bool(plan.poses or plan.parents or plan.deleted_nodes)
    posed |= len(order) != len(model.nodes)
    retimed = job.stored is not None and clip_length_changed(job.scene, job.stored)
    if posed or retimed or any(edit.old is None for edit in edits):
        build_nodes(job, edits, order)
    else:
        model.nodes = model.nodes.copy()
        for row, i in enumerate(order):
            model.nodes["slot_index"][row], model.nodes["flags"][row] = (edits[i].cells, edits[i].flags)
    write_names(job, edits, order)
    renumber(job, edits, order)
    drawn = any(not p.unchanged or _moves_shown(p) for p in plan.parts)
    drawn |= bool(plan.deleted_parts)
    if drawn or posed or job.stored is None:
        model.header = posed_header(model, job.dialect)
    counts = {"triangles": len(model.indices) // 3, "batches": len(model.batches), "slots": len(model.slots)}
    _require_limits(counts | {"nodes": len(model.nodes)})
    return Rebuilt(model, report_rows(plan, job.stored), {i: row for row, i in enumerate(order)})


def _moves_shown(part: PartPlan) -> bool:
    """Whether a part came into or left the cell that the header's box is made of."""
    if part.source is None:
        return False
    left = None if part.copied else part.source[1:]
    return (0, 0) in ((part.part.lod, part.part.group), left)


def _blank_model(name: str, *, extra: bool) -> MshModel:
    """An empty model with the entries of a new one, in the order of the game's files."""
    entries = [
        Entry(
            number,
            0,
            0,
            TABLES[number].attr3,
            name_field(f"Res{number}".encode()),
            data_offset=0,
            sort_index=0,
            payload=b"",
        )
        for number in (_WITH_EXTRA if extra else _PLAIN)
    ]
    # data_offset, sort_index and total_size are settled when it is written
    model = MshModel(
        name,
        Archive(name, entries=entries),
        np.zeros(1, HEADER_DTYPE),
        {StreamType.NODES: np.zeros(0, NODE_DTYPE), StreamType.SLOTS: np.zeros(0, SLOT_DTYPE)},
        strings=StringTable([]),
        graph=PathGraph(np.zeros(0, GRAPH_POINT_DTYPE), np.zeros(0, GRAPH_LINK_DTYPE)),
        table20=b"" if extra else None,
    )
    set_frame_count(model, 1)
    return model


def write_names(job: Rebuild, edits: list[NodeEdit], order: list[int]) -> None:
    """Write Res9 always, and Res10 by dialect (docs/reference/model.md, What the writer does)."""
    plan, model, dialect, scene = job.plan, job.model, job.dialect, job.scene
    moved = [edits[i].old for i in order] != list(range(len(model.strings.records) if model.strings else len(order)))
    if job.stored is not None and not plan.names and not plan.labels and not moved:
        return
    old9 = model.streams.get(StreamType.NAMES)
    res9 = np.zeros(len(order), NAME_DTYPE) if old9 is not None or job.stored is None else None
    records = []
    fitted = {i: raw for i, raw in plan.identified.fitted.items() if edits[i].old is None or i in plan.names}
    for row, i in enumerate(order):
        old, node = edits[i].old, scene.nodes[i]
        raw = fitted[i] if i in fitted else encode_name(node.name)
        if res9 is not None and old9 is not None and old is not None and i not in plan.names and old < len(old9):
            res9[row] = old9[old]
        elif res9 is not None:
            res9["name"][row, : len(raw)] = np.frombuffer(raw, np.uint8)
        text, edited = (encode_name(node.label), plan.labels) if dialect is Dialect.RETAIL else (raw, plan.names)
        if old is not None and model.strings is not None and i not in edited:
            records.append(model.strings.records[old])
        else:
            records.append(text + b"\0" if text else b"")
    if fitted and (res9 is not None or (model.strings is not None and dialect is Dialect.SPEC)):
        names, written = [scene.nodes[i].name for i in fitted], [in_words(decode_text(raw)) for raw in fitted.values()]
        job.plan.report.skipped(
            Subject.of([Subject("node", name) for name in names]),
            f"is called {written[0]} in the game" if len(names) == 1 else f"are called {few(written)} in the game",
            f"names of nodes have at most {NAME_ROOM} bytes of CP1251",
            "choose another name",
            "name",
        )
    if res9 is not None:
        model.streams[StreamType.NAMES] = res9
    if model.strings is not None:
        model.strings = StringTable(records, model.strings.tail)


def renumber(job: Rebuild, edits: list[NodeEdit], order: list[int]) -> None:
    """Let portals and path points follow the nodes that they name.

    These are word +6 of a portal's batch in ``retail``, and Res17 (docs/reference/model.md).
    """
    model, report = job.model, job.plan.report
    before = [edits[i].old if job.stored is not None else _stated_row(job, i) for i in order]
    # of a node and its copies, the first
    new_of = {old: row for row, old in reversed([*enumerate(before)]) if old is not None}
    moved = any(old != row for old, row in new_of.items())
    if not moved and not job.plan.deleted_nodes and (job.stored is not None or not new_of):
        if job.stored is None:
            _warn_of_portals(job, [job.scene.nodes[i].name for i in order])
        return
    known = np.array(list(new_of), np.int64)
    if job.dialect is Dialect.RETAIL:
        batches = model.batches.copy()
        portal = (batches["word0"] & BATCH_PORTAL).astype(bool) & (batches["word6"] != NONE16)
        if lost := int((~np.isin(batches["word6"][portal], known)).sum()):
            report.warnings.append(f"{plural(lost, 'portal')} to deleted nodes: nothing is behind now")
        batches["word6"][portal] = [new_of.get(int(old), NONE16) for old in batches["word6"][portal]]
        model.streams[StreamType.BATCHES] = batches
    if model.graph is not None and len(model.graph.points):
        points = model.graph.points.copy()
        if lost := int((~np.isin(points["node"], known)).sum()):
            report.warnings.append(f"{plural(lost, 'path point')} stood on deleted nodes: the first node has them")
        points["node"] = [new_of.get(int(old), 0) for old in points["node"]]
        model.graph = PathGraph(points, model.graph.links)
        tails = model.graph.links["opaque8"]
        if moved and (tails != 0xFFFFFFFF).any():
            report.warnings.append("path links have words that may be node numbers; they were kept")
    if moved and job.stored is not None:
        report.warnings.append("nodes were renumbered: check the units (.dat) that have parts on this model")


def _warn_of_portals(job: Rebuild, names: list[str]) -> None:
    """Name the portals of a file that states their nodes by number, and of no node which number it had."""
    batches = job.model.batches
    portal = (batches["word0"] & BATCH_PORTAL).astype(bool) & (batches["word6"] != NONE16)
    rows = batches["word6"][portal].tolist() if job.dialect is Dialect.RETAIL else []
    if rows:
        behind = [called(names[row]) if row < len(names) else "no node" for row in dict.fromkeys(rows)]
        job.plan.report.warnings.append(
            f"{plural(len(rows), 'portal')} by the numbers of their nodes (w6): {few(behind)}; the file does not "
            "say which node had which number (extras.msh.node): check them, or keep the sidecar beside it"
        )


def _stated_row(job: Rebuild, node: int) -> int | None:
    """The row that the file states for a node, by which portals of a model without its sidecar name it."""
    file = job.plan.identified
    return file.imported.nodes[file.item_of[node]].extras.get("node") if node in file.item_of else None


def report_rows(plan: Plan, stored: Scene | None) -> list[dict[str, str]]:
    """Return what was kept, rebuilt, new and deleted: what, name, status and reason of each."""
    scene = plan.identified.scene
    out: list[dict[str, str]] = []

    def say(what: str, name: str, status: str, reason: str) -> None:
        out.append({"what": what, "name": name, "status": status, "reason": reason})

    reasons: dict[str, list[str]] = {}
    for change in plan.report.changes:
        reasons.setdefault(change.where, []).append(change.what)
    for i, node in enumerate(scene.nodes):
        k = plan.identified.stored_of.get(i)
        name = printable(node.name)
        if stored is None or k is None:
            say("node", name, "new", "not in the sidecar" if stored else "no sidecar")
            continue
        where = f"node {called(stored.nodes[k].name)}"
        why = reasons.get(where, []) + reasons.get(f"animation of {where}", [])
        say("node", name, "rebuilt" if why else "kept", "; ".join(why) or "unchanged")
    for part in plan.parts:
        node = scene.nodes[part.part.node]
        name = part_name(printable(node.name), part.part.lod, part.part.group, scene.dialect)
        where = f"part {called(node.name)} {cell_title(part.part.lod, part.part.group, scene.dialect)}"
        if part.source is not None and not part.copied:
            say("part", name, "moved", "; ".join(reasons[where]))
        elif part.unchanged:
            say("part", name, "kept", "; ".join(reasons.get(where, [part.placed or "unchanged"])))
        elif part.slot is None:
            say("part", name, "new", "not in the sidecar" if stored else "no sidecar")
        else:
            say("part", name, "rebuilt", "; ".join(reasons.get(where, ["changed"])))
    if stored is not None:
        for cells, status, reason in (
            (plan.kept_parts, "kept", "not in the file"),
            (plan.deleted_parts, "deleted", "missing from the file"),
            (plan.replaced_parts, "deleted", "its cell shows another part"),
        ):
            for k, lod, group in cells:
                name = part_name(printable(stored.nodes[k].name), lod, group, scene.dialect)
                say("part", name, status, reason)
        for k in plan.deleted_nodes:
            say("node", printable(stored.nodes[k].name), "deleted", "missing from the file")
    return out


def fit_uv(part: PartPlan, scene: Scene) -> None:
    """Shift the new triangles of a part by whole turns into -32..32; the judge names what is clamped.

    All by one shift where that is enough, else those that do not fit by one of their own; u and v separately. Triangles
    that match stored ones are not touched.
    """
    triangles, uv0 = part.triangles, scene.streams.uv0
    if triangles is None or part.unchanged or not triangles.clamped or triangles.uv0 is None or uv0 is None:
        return
    fresh = np.ones(len(triangles), np.bool_) if part.match is None else part.match.old_of < 0
    uv = uv0[triangles.vertex[fresh]].astype(np.float64)
    for values in (uv[..., 0], uv[..., 1]):
        if not _fits(values).all():
            values -= _turns(values, (0, 1))
        far = ~_fits(values).all(axis=1)
        values[far] -= _turns(values[far], 1)
    triangles.uv0[fresh], triangles.clamped = encode_uv(uv)


def _turns(values: F64, axes: int | tuple[int, ...]) -> F64:
    """Whole turns from 0 to the middle of some values."""
    low, high = values.min(axis=axes, keepdims=True), values.max(axis=axes, keepdims=True)
    return np.asarray(np.rint((low + high) / 2))


def _fits(values: F64) -> Bools:
    return np.asarray((values * 1024 >= -32768.5) & (values * 1024 < 32767.5))
