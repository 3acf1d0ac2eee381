"""Rebuild a model from a plan of changes; what did not change keeps its stored bytes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..edits.compare_model import PartPlan, Plan, poses_at, same_rotations
from ..edits.identify_nodes import POSE_NOISE, Identified
from ..edits.match_triangles import TriangleList, triangle_list
from ..errors import ConversionError, printable
from ..formats.archive import Archive, Entry, decode_text, encode_name, name_field
from ..formats.model import MshModel, PathGraph, StringTable
from ..formats.tables import (
    BATCH_PORTAL,
    GRAPH_LINK_DTYPE,
    GRAPH_POINT_DTYPE,
    GROUP_COUNT,
    HEADER_DTYPE,
    LOD_COUNT,
    NAME_DTYPE,
    NODE_DTYPE,
    SLOT_DTYPE,
    TABLES,
    StreamType,
)
from ..numeric.arrays import NONE16
from ..numeric.pose import compose, rotate, rotation
from ..numeric.sampler import Tracks, sample
from ..scene import dialect as dialects
from ..scene.decode import rest_pose
from ..scene.dialect import Dialect
from ..scene.scene import Scene
from .geometry import SlotGeometry, too_many
from .header import header
from .key_reduction import Run, make_run
from .materials import stored_choices, words_table
from .nodes import NodeEdit, build_nodes, node_order
from .report import report_rows
from .slots import Edit, build_new, change_in_place, rebuild_slot
from .workspace import Workspace

_PLAIN = (1, 2, 3, 4, 5, 15, 13, 6, 7, 8, 19, 9, 10, 17)
_WITH_EXTRA = (1, 2, 3, 4, 5, 18, 15, 13, 6, 7, 8, 19, 9, 10, 17, 20)


@dataclass(frozen=True)
class RebuildOptions:
    """How to rebuild; see ``gltf2msh --help``."""

    reduce: bool = True


@dataclass
class Rebuilt:
    """A model and the story of how it came about.

    Attributes:
        model: the model.
        report: rows of (what, name, status, reason) for people and programs.
        warnings: what the user should know.
        rows: node of the file -> row in Res1.
    """

    model: MshModel
    report: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)


# ------------------------------------------------------------------ the whole model


def new_model(
    identified: Identified, name: str, dialect: Dialect, options: RebuildOptions
) -> Rebuilt:
    """A model of a scene that has no stored one."""
    scene = identified.scene
    extra = (scene.streams.uv1 if dialect is Dialect.RETAIL else scene.streams.colours) is not None
    model = _blank_model(name, extra=extra)
    out = Rebuilt(model)
    plan = Plan(identified, poses=set(range(len(scene.nodes))))
    lightmap = dialect is Dialect.RETAIL
    plan.parts = [
        PartPlan(part, None, triangle_list(scene, part, lightmap=lightmap)) for part in scene.parts
    ]
    order = sorted(plan.parts, key=lambda p: (p.part.node, p.part.lod, p.part.group))
    plan.parts = order
    _build(plan, model, None, dialect, options, out, Workspace.empty(extra=extra))
    return out


def edited_model(
    plan: Plan, model: MshModel, stored: Scene, dialect: Dialect, options: RebuildOptions
) -> Rebuilt:
    """The stored model with the plan's changes, everything else byte for byte.

    Args:
        plan: from ``compare_model``; has changes.
        model: the stored model; a copy of it is changed.
        stored: the stored model's scene.
        dialect: the stored model's.
        options: how to rebuild.
    """
    if model.legacy:
        raise ConversionError(
            "the model has legacy nodes (stride 24), which cannot be edited",
            hint="nobody knows their format; the unchanged file comes back as it was",
        )
    edited = replace(model, streams=dict(model.streams))
    edited.archive = replace(model.archive, entries=list(model.archive.entries))
    out = Rebuilt(edited)
    _build(plan, edited, stored, dialect, options, out, Workspace.of(model))
    return out


def _build(
    plan: Plan,
    model: MshModel,
    stored: Scene | None,
    dialect: Dialect,
    options: RebuildOptions,
    out: Rebuilt,
    space: Workspace,
) -> None:
    cells = _geometry(plan, model, stored, dialect, space, out)
    space.into(model)
    edits = _node_edits(plan, model, stored, dialect, options, cells)
    order = node_order(edits)
    out.rows = {i: row for row, i in enumerate(order)}
    changed = bool(plan.poses or plan.parents or plan.deleted_nodes) or len(order) != len(
        model.nodes
    )
    if changed or any(edit.old is None for edit in edits):
        tables = build_nodes(
            edits, order, model if stored is not None else None, dialects.key_order(dialect)
        )
        model.nodes = tables.nodes
        model.streams[StreamType.KEYS] = tables.keys
        model.streams[StreamType.FRAME_MAP] = tables.frame_map
        _set_attr2(model, StreamType.FRAME_MAP, tables.frame_count)
    else:
        nodes = model.nodes.copy()
        for row, i in enumerate(order):
            nodes["slot_index"][row] = edits[i].cells
            nodes["flags"][row] = edits[i].flags
        model.nodes = nodes
    _names(plan, model, stored, dialect, edits, order, out)
    _renumbered(model, dialect, edits, order, out)
    geometry = any(not p.unchanged for p in plan.parts) or bool(plan.deleted_parts)
    if geometry or changed or stored is None:
        model.header = posed_header(model, dialect)
    _limits(model)
    out.report = report_rows(plan, stored)


# ------------------------------------------------------------------ geometry


def _geometry(
    plan: Plan,
    model: MshModel,
    stored: Scene | None,
    dialect: Dialect,
    space: Workspace,
    out: Rebuilt,
) -> dict[tuple[int, int, int], int]:
    """Change the workspace; returns the slot of every cell (node of the file, lod, group)."""
    scene = plan.identified.scene
    words = words_table(scene.materials, plan if stored is not None else None, stored, dialect)
    choices = stored_choices(scene.materials, plan, stored, dialect)
    blank = np.array([255] * 4 if dialect is Dialect.SPEC else [0] * 4, np.uint8)
    cells: dict[tuple[int, int, int], int] = {}
    node_of = {k: i for i, k in plan.identified.stored_of.items()}
    users: dict[int, int] = {}
    if stored is not None:
        stored_cells = model.nodes["slot_index"].astype(np.int64)
        for slot in stored_cells[stored_cells != NONE16].tolist():
            users[slot] = users.get(slot, 0) + 1
        known = {(p.node, p.lod, p.group) for p in stored.parts}
        gone = set(plan.deleted_parts)
        for k, i in node_of.items():
            for lod in range(LOD_COUNT):
                for group in range(GROUP_COUNT):
                    slot = int(stored_cells[k, lod, group])
                    # cells that draw nothing are in no scene: they stay
                    stays = (k, lod, group) in plan.kept_parts or (k, lod, group) not in known
                    if slot != NONE16 and stays and (k, lod, group) not in gone:
                        cells[i, lod, group] = slot
    changed: dict[int, list[PartPlan]] = {}
    fresh: list[PartPlan] = []
    for part in plan.parts:
        if part.unchanged and part.slot is not None:
            cells[_cell(part)] = part.slot
        elif part.slot is not None:
            changed.setdefault(part.slot, []).append(part)
        else:
            fresh.append(part)
    staying = set(cells.values())
    dropped = degenerate = 0
    geometries: list[SlotGeometry] = []
    owners: list[tuple[tuple[int, int, int], int]] = []
    for slot, parts in changed.items():
        # users of one slot that changed alike go on sharing one
        alike: dict[tuple[int, bytes], list[PartPlan]] = {}
        for part in parts:
            alike.setdefault(_shape(part), []).append(part)
        leading, *others = alike.values()
        if slot in staying:  # somebody still shows the stored one
            leading, others = [], [leading, *others]
        for users_of_one in others:
            edit = Edit(_triangles(users_of_one[0]), users_of_one[0].match, words, blank, choices)
            geometries.append(rebuild_slot(space, slot, edit))
            degenerate += geometries[-1].zero_area
            owners += [(_cell(part), len(geometries) - 1) for part in users_of_one]
        if leading:
            edit = Edit(_triangles(leading[0]), leading[0].match, words, blank, choices)
            cells.update({_cell(part): slot for part in leading})
            if not change_in_place(space, slot, edit):
                geometry = rebuild_slot(space, slot, edit)
                degenerate += geometry.zero_area
                space.replace(slot, geometry)
    seen: dict[tuple[int, bytes], int | None] = {}
    for part in fresh:
        key = _shape(part)
        if key not in seen:
            new, lost = build_new(Edit(_triangles(part), None, words, blank))
            dropped += lost
            seen[key] = None
            if new is not None:
                degenerate += new.zero_area
                seen[key] = len(geometries)
                geometries.append(new)
        number = seen[key]
        if number is not None:
            owners.append((_cell(part), number))
    _fits(space, geometries)
    rows = space.append(geometries)
    cells.update({cell: rows[number] for cell, number in owners})
    if stored is not None:
        gone_slots = sorted(slot for slot in users if slot not in set(cells.values()))
        for slot in gone_slots:
            space.replace(slot, None)
        if gone_slots:
            moved = space.drop_slots(gone_slots)
            cells = {cell: int(moved[slot]) for cell, slot in cells.items()}
    if dropped:
        out.warnings.append(f"{dropped} degenerate triangles were dropped")
    if degenerate:
        out.warnings.append(f"{degenerate} triangles have no area; their normal is made up")
    clamped = sum(
        p.triangles.clamped for p in plan.parts if p.triangles is not None and not p.unchanged
    )
    if clamped:
        out.warnings.append(f"{clamped} texture coordinates were clamped to -32..32")
    return cells


def _cell(part: PartPlan) -> tuple[int, int, int]:
    return part.part.node, part.part.lod, part.part.group


def _shape(part: PartPlan) -> tuple[int, bytes]:
    """Parts of one shape can share a slot: one mesh, taken into their nodes' frames alike."""
    matrix = part.part.matrix
    return part.part.mesh, b"" if matrix is None else matrix.tobytes()


def _triangles(part: PartPlan) -> TriangleList:
    assert part.triangles is not None
    return part.triangles


def _fits(space: Workspace, geometries: list[SlotGeometry]) -> None:
    """Whether new slots fit, before they are laid out in 16-bit fields."""
    for title, have, more in (
        ("triangles", len(space.indices) // 3, sum(len(g.indices) // 3 for g in geometries)),
        ("batches", len(space.batches), sum(len(g.batches) for g in geometries)),
        ("slots", len(space.slots), len(geometries)),
    ):
        if have + more > NONE16:
            raise too_many(title, have + more)


def _limits(model: MshModel) -> None:
    """Limits of the format (``rebuild`` page, Vertices and batches)."""
    for title, value in (
        ("triangles", len(model.indices) // 3),
        ("batches", len(model.batches)),
        ("slots", len(model.slots)),
        ("nodes", len(model.nodes)),
    ):
        if value > NONE16:
            raise too_many(title, value)


# ------------------------------------------------------------------ nodes


def _node_edits(
    plan: Plan,
    model: MshModel,
    stored: Scene | None,
    dialect: Dialect,
    options: RebuildOptions,
    cells: dict[tuple[int, int, int], int],
) -> list[NodeEdit]:
    scene = plan.identified.scene
    tracks = {track.node: track for track in scene.tracks}
    stored_of = plan.identified.stored_of
    tolerance = 1e-5 * _diagonal(scene, plan)
    stored_tracks = dialects.tracks(model, dialect) if stored is not None else None
    out = []
    for i, node in enumerate(scene.nodes):
        k = stored_of.get(i)
        table = np.full((LOD_COUNT, GROUP_COUNT), NONE16, np.uint16)
        for lod in range(LOD_COUNT):
            for group in range(GROUP_COUNT):
                table[lod, group] = cells.get((i, lod, group), NONE16)
        flags = node.flags
        if flags is None:
            flags = int(model.nodes["flags"][k]) if k is not None else 0
        run = None
        if i in plan.poses:
            frames = np.arange(float(scene.frame_count if i in tracks else 1))
            translations, turned = poses_at(tracks.get(i), node, frames)
            quaternions = turned * [1, -1, -1, -1]
            positions = translations.astype(np.float32)
            if k is not None and stored is not None and stored_tracks is not None:
                _take_stored(quaternions, positions, plan, k, stored_tracks, frames)
            run = make_run(quaternions, positions, tolerance, reduce=options.reduce)
            if k is not None and stored_tracks is not None and not run.animated:
                _keep_sign(run, stored_tracks, k)
        wanted = k if stored is not None else node.index
        out.append(NodeEdit(k, wanted, node.parent, flags & 0xFFFF, run, table))
    return out


def _take_stored(
    quaternions: NDArray[np.float64],
    positions: NDArray[np.float32],
    plan: Plan,
    k: int,
    stored_tracks: Tracks,
    frames: NDArray[np.float64],
) -> None:
    """Where a frame says what the runtime samples, take the runtime's own numbers."""
    samples = sample(stored_tracks, [k], frames)
    raw = samples.quaternion[0].astype(np.float64)
    same = same_rotations(quaternions * [1, -1, -1, -1], rotation(samples.quaternion[0]))
    signs = np.where(np.einsum("ti,ti->t", raw, quaternions) < 0, -1.0, 1.0)
    quaternions[same] = (raw * signs[:, None])[same]
    noise = POSE_NOISE * plan.identified.size
    near = (np.abs(positions - samples.position[0]) <= noise).all(axis=1)
    positions[near] = samples.position[0][near]


def _keep_sign(run: Run, stored_tracks: Tracks, k: int) -> None:
    """A static key keeps the sign of the stored one, so that an unturned key keeps its words."""
    old = stored_tracks.quaternion[int(stored_tracks.fallback[k])]
    if float(run.words[0].astype(np.float64) @ old) < 0:
        run.words = -run.words


def _diagonal(scene: Scene, plan: Plan) -> float:
    """The model's extent, for tolerances: its nodes and its parts."""
    reach = [1e-6]
    for part in plan.parts:
        if part.triangles is not None and len(part.triangles):
            points = part.triangles.positions.reshape(-1, 3).astype(np.float64)
            reach.append(float(np.linalg.norm(points.max(axis=0) - points.min(axis=0))))
    if scene.nodes:
        _, world = rest_pose(scene)
        reach.append(float(np.linalg.norm(world.max(axis=0) - world.min(axis=0))))
    return max(reach)


def _names(
    plan: Plan,
    model: MshModel,
    stored: Scene | None,
    dialect: Dialect,
    edits: list[NodeEdit],
    order: list[int],
    out: Rebuilt,
) -> None:
    """Res9 always, Res10 by dialect (``rebuild`` page, Nodes, tracks)."""
    scene = plan.identified.scene
    moved = [edits[i].old for i in order] != list(
        range(len(model.strings.records) if model.strings else len(order))
    )
    if stored is not None and not plan.names and not plan.labels and not moved:
        return
    res9 = np.zeros(len(order), NAME_DTYPE)
    old9 = model.streams.get(StreamType.NAMES)
    records = []
    for row, i in enumerate(order):
        old, node = edits[i].old, scene.nodes[i]
        raw = encode_name(node.name)
        fresh = old is None or i in plan.names
        if fresh and decode_text(raw) != node.name:
            out.warnings.append(
                f"name of node {printable(node.name)!r} has letters that CP1251 lacks"
            )
        if fresh and len(raw) > 31:
            raise ConversionError(
                f"name of node {printable(node.name)!r} is too long",
                value=f"{len(raw)} bytes", expected="at most 31",
            )  # fmt: skip
        if fresh or old9 is None or old is None or old >= len(old9):
            res9["name"][row, : len(raw[:31])] = np.frombuffer(raw[:31], np.uint8)
        else:
            res9[row] = old9[old]
        text = encode_name(node.label) if dialect is Dialect.RETAIL else raw
        keep = (
            old is not None
            and model.strings is not None
            and i not in (plan.labels if dialect is Dialect.RETAIL else plan.names)
        )
        if keep and model.strings is not None and old is not None:
            records.append(model.strings.records[old])
        else:
            records.append(text + b"\0" if text else b"")
    if old9 is not None or stored is None:
        model.streams[StreamType.NAMES] = res9
    if model.strings is not None:
        model.strings = StringTable(records, model.strings.tail)


def _renumbered(
    model: MshModel, dialect: Dialect, edits: list[NodeEdit], order: list[int], out: Rebuilt
) -> None:
    """Indices of nodes inside the model follow them (``evidence`` page)."""
    new_of = {edits[i].old: row for row, i in enumerate(order) if edits[i].old is not None}
    if all(old == row for old, row in new_of.items()):
        return
    if dialect is Dialect.RETAIL:
        batches = model.batches.copy()
        portal = (batches["word0"] & BATCH_PORTAL).astype(bool) & (batches["word6"] != NONE16)
        batches["word6"][portal] = [
            new_of.get(int(old), NONE16) for old in batches["word6"][portal]
        ]
        model.streams[StreamType.BATCHES] = batches
    if model.graph is not None and len(model.graph.points):
        points = model.graph.points.copy()
        points["node"] = [new_of.get(int(old), 0) for old in points["node"]]
        model.graph = PathGraph(points, model.graph.links)
        tails = model.graph.links["opaque8"]
        if (tails != 0xFFFFFFFF).any():
            out.warnings.append("path links have words that may be node numbers; they were kept")
    out.warnings.append(
        "nodes were renumbered: check the model's .ndp, .cpt, .dat and .ctl, which name nodes"
    )


# ------------------------------------------------------------------ header, containers


def posed_header(model: MshModel, dialect: Dialect) -> NDArray[np.void]:
    """The header of a model: LOD 0, group 0 without cockpits, posed at t = 0."""
    vertices, nodes, counts = dialects.header_vertices(model)
    owner = np.repeat(nodes, counts)
    points = model.positions[vertices].astype(np.float64)
    tracks = dialects.tracks(model, dialect)
    if tracks is None or not len(points):
        return header(points)
    rest = sample(tracks, np.arange(len(model.nodes)), [0.0])
    world_r, world_t = compose(
        model.parents, rotation(rest.quaternion[:, 0]), rest.position[:, 0].astype(np.float64)
    )
    return header(rotate(world_r[owner], points) + world_t[owner])


def _blank_model(name: str, *, extra: bool) -> MshModel:
    """An empty model with the entries of a new one (``rebuild`` page, Entries of a new model)."""
    entries = [
        Entry(number, 0, 0, TABLES[number].attr3, name_field(f"Res{number}".encode()), 0, 0, b"")
        for number in (_WITH_EXTRA if extra else _PLAIN)
    ]
    # data_offset, sort_index and total_size are settled when it is written
    model = MshModel(
        name,
        Archive(name, entries=entries),
        np.zeros(0, NODE_DTYPE),
        np.zeros(1, HEADER_DTYPE),
        np.zeros(0, SLOT_DTYPE),
        StringTable([]),
        PathGraph(np.zeros(0, GRAPH_POINT_DTYPE), np.zeros(0, GRAPH_LINK_DTYPE)),
        b"" if extra else None,
    )
    _set_attr2(model, StreamType.FRAME_MAP, 1)
    return model


def _set_attr2(model: MshModel, stream: StreamType, value: int) -> None:
    entries = model.archive.entries
    for i, entry in enumerate(entries):
        if entry.type_id == stream:
            entries[i] = replace(entry, attr2=value)
            return
