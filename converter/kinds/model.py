"""Models: read and decode a file, make its glTF and sidecar, import what was edited; what their controllers say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import __version__
from ..checks.recover import checked_model
from ..errors import called, plural, printable
from ..files import read_file
from ..formats.controller import CONTROLLER_ENDING, CONTROLLER_TYPE, PART_CLASSES, Controller, read_controller
from ..formats.kinds import Kind, entry_index
from ..formats.model import NO_LIGHTMAP, MshModel, model_at
from ..formats.model_parts import POINTS_ENDING
from ..formats.names import readable, stem
from ..formats.nres import Archive, is_nres, read_nres
from ..formats.sidecar import Description
from ..formats.wear import WEAR_ENDING, read_wear_names
from ..options import ExportOptions
from ..scene.appearance import Appearance
from ..scene.companions import PlayedRange, played_extras, played_ranges, points_in
from ..scene.decode import decode, path_segments
from ..scene.dialect import Decision, batch_materials, decide, node_labels, read_keys
from ..scene.extras import SourceExtras
from ..scene.scene import Scene, require_in_range
from .appearance import controller_in, facts_of_model, find_appearance, missing_materials
from .base import EditedFile, Exported, Json, LoadedContainer, Source, list_entries
from .open_files import points_of, wear_of
from .registry import files_that_name, game_of

if TYPE_CHECKING:
    from rich.console import Console

    from ...exporters.gltf_file import Document
    from .import_result import ImportResult


@dataclass(frozen=True, kw_only=True)
class LoadedModel(LoadedContainer):
    """A valid model, decoded.

    Attributes:
        model: its tables, without what a tolerant reader leaves out (``converter.checks.recover``).
        decision: its dialect and why.
        wear: material names by row.
        companions: files of its name that the sidecar keeps, by ending.
        controller: what plays its clip, where it is known.
    """

    kind = Kind.MODEL

    model: MshModel
    decision: Decision
    wear: list[str]
    scene: Scene
    companions: dict[str, bytes] = field(default_factory=dict)
    controller: Controller | None = None

    @property
    def ranges(self) -> list[PlayedRange]:
        """The ranges of its clip that the controller plays."""
        return [] if self.controller is None else played_ranges(self.controller, self.scene)

    @property
    def range_clips(self) -> list[PlayedRange]:
        """Those that ``--clips states`` shows: what lies inside the clip."""
        last = self.scene.frame_count - 1
        inside = [one for one in self.ranges if one.range.first >= 0 and one.range.last <= last]
        return inside if self.scene.tracks else []

    def why_no_ranges(self, options: ExportOptions) -> str:
        """Say why ``--clips states`` makes no clip of a range; empty where it does, or nobody asked for it."""
        if options.clips != "states" or self.range_clips:
            return ""
        if not self.scene.tracks:
            why = "the model has no clip"
        elif self.controller is None:
            why = "the model has no controller (.ctl) beside it, in its archive or by the game's registry"
        else:
            why = "its controller plays no range inside the clip"
        return f"--clips states: {why}, so there is no clip of a range"

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        scene = self.scene
        triangles = sum(scene.triangle_count(part.mesh) for part in scene.parts)
        counts = [(len(scene.nodes), "node"), (len(scene.parts), "part"), (triangles, "triangle")]
        if scene.tracks:
            counts.append((scene.frame_count, "frame"))
        return ", ".join(plural(*count) for count in counts)

    @classmethod
    def load(cls, source: Source, options: ExportOptions) -> LoadedModel:
        """Decode a core model."""
        archive, path, index = source.file, source.path, source.index
        model = source.model or model_at(archive, index, path.name, cut=True)
        text = bytes(wear_of(archive, path, index))
        points = bytes(points_of(archive, path, index)) if options.points else b""
        game = game_of(path) if index is not None else None
        numbered = files_that_name(archive, path, index, game)
        return decode_model(model, text, points, numbered, path, options, fallback=source.fallback)

    def exported(self, options: ExportOptions) -> Exported:
        """Return what goes into its glTF."""
        from ...exporters.gltf import export_gltf  # an import writes none

        require_scene_in_range(self.scene, self.name)
        decision = self.decision
        extras = played_extras(self.controller, self.scene)
        extras["dialect"], extras["dialect_reason"] = decision.dialect.value, decision.reason
        about = description(self, options, "keys" if options.stored_keys else "samples")
        ranges = self.range_clips if options.clips == "states" else []
        if ranges:
            extras["range_clips"] = "\n".join(one.name for one in ranges)

        def document(extras: SourceExtras, appearance: Appearance | None) -> Document:
            return export_gltf(self.scene, options, extras, appearance, ranges)

        return Exported(about, extras, document)

    @staticmethod
    def import_edited(edited: EditedFile) -> ImportResult:
        """Apply what a glTF file changed to the model of its sidecar."""
        from .import_companions import numbered_files
        from .import_model import import_edited, judge_edited, stored_model

        stored = stored_model(edited.kept, edited.sidecar)
        out = import_edited(edited.given, stored, numbered_files(stored.about, edited.gltf), edited.options)
        if edited.seen is not None:
            judge_edited(out, edited.seen, stored, edited.options)
        return out

    def describe(self) -> Json:
        """Return the facts about it as plain JSON values."""
        model, decision, scene = self.model, self.decision, self.scene
        triangles = [scene.triangle_count(i) for i in range(len(scene.meshes))]
        cells = Counter((part.lod, part.group) for part in scene.parts)
        in_cell = Counter[tuple[int, int]]()
        for part in scene.parts:
            in_cell[part.lod, part.group] += triangles[part.mesh]
        facts: Json = {
            "kind": self.kind,
            "name": model.name,
            "bytes": model.archive.total_size,
            "dialect": asdict(decision) | {"dialect": decision.dialect.value},
            "legacy": model.legacy,
            "counts": {
                "nodes": len(model.nodes),
                "slots": len(model.slots),
                "batches": len(model.batches),
                "vertices": len(model.positions),
                "triangles": len(model.indices) // 3,
                "keys": 0 if model.keys is None else len(model.keys),
                "map_words": len(model.frame_map),
            },
            "timeline": {"frame_count": scene.frame_count, "animated_nodes": [t.node for t in scene.tracks]},
            "nodes": _nodes(model, decision, scene, triangles),
            "cells": [
                {"lod": lod, "group": group, "parts": cells[lod, group], "triangles": in_cell[lod, group]}
                for lod, group in sorted(cells)
            ],
            "materials": _materials(model, decision, scene),
            "entries": list_entries(model.archive),
            "findings": [finding.facts() for finding in self.findings],
        }
        if self.controller is not None:
            facts["controller"] = describe_states(self.controller, self.ranges)
        return facts


def decode_model(
    model: MshModel,
    text: bytes,
    points: bytes,
    numbered: Mapping[str, bytes],
    path: Path,
    options: ExportOptions,
    *,
    fallback: Callable[[], Decision | None] | None = None,
) -> LoadedModel:
    """Decode a core model that was read. Raises ConversionError: an error finding.

    Args:
        text: its WEAR; empty where there is none.
        points: its control points, a ``.cpt``; empty where there are none.
        numbered: what names its parts by number, as of ``controllers.files_that_name``.
        path, options: as of ``LoadedModel.load``.
        fallback: what to take where the file has no evidence of a dialect.
    """
    model, findings = checked_model(model, options.mode)
    keys = read_keys(model)
    decision = decide(model, options.dialect, keys)
    if decision.step == "d" and fallback is not None:
        decision = fallback() or decision
    wear = read_wear_names(text)
    scene = decode(
        model,
        decision.dialect,
        stem(readable(model.name)),
        wear=wear,
        subframes=options.subframes,
        stored_keys=options.stored_keys,
        keys=keys,
    )
    if options.paths:
        scene.paths = path_segments(model, scene)
    companions = {WEAR_ENDING: text} if text else {}
    if points:
        companions[POINTS_ENDING] = points
        scene.points, found = points_in(scene, points)
        findings = [*findings, *found]
    controller, found = controller_in(numbered)
    findings = [*findings, *found]
    appearance = find_appearance(text, path, options)
    return LoadedModel(
        name=readable(model.name),
        archive=model.archive,
        findings=[*findings, *missing_materials(appearance)],
        appearance=appearance,
        model=model,
        decision=decision,
        wear=wear,
        scene=scene,
        companions={**companions, **numbered},
        controller=controller,
    )


def require_scene_in_range(scene: Scene, label: str) -> None:
    """Refuse to export what the import would refuse: coordinates that no model has. Raises ConversionError: a
    coordinate beyond ``scene.MAX_COORDINATE``.
    """
    require_in_range("a position", scene.streams.positions, label)
    for node in scene.nodes:
        require_in_range(f"the transform of node {called(node.name)}", node.translation, label)
    for track in scene.tracks:
        if track.translation is not None:
            what = f"a value of the animation of node {called(scene.nodes[track.node].name)}"
            require_in_range(what, track.translation.values, label)


def description(loaded: LoadedModel, options: ExportOptions, clip: str) -> Description:
    """Return the description of a model's sidecar, without the digest."""
    return Description(
        loaded.name,
        "",
        dialect=loaded.decision.dialect.value,
        dialect_reason=loaded.decision.reason,
        clip=clip,
        lod=options.lod,
        group=options.group,
        converter=__version__,
        materials=loaded.wear,
        points=loaded.scene.points,
        companions=loaded.companions,
        tolerant=loaded.tolerant,
        visible_only=options.visible_only,
    )


def _nodes(model: MshModel, decision: Decision, scene: Scene, triangles: list[int]) -> list[Json]:
    if model.legacy:
        about = {"index": 0, "name": scene.nodes[0].name, "parent": -1, "flags": 0, "keys": 0}
        return [about | {"animated": False, "parts": []}]
    labels = node_labels(model, decision.dialect)
    fallback = model.nodes["fallback_key"].astype(np.int64)
    keys = np.diff(fallback, prepend=-1).tolist() if model.keys is not None else [0] * len(labels)
    out: list[Json] = []
    for i, node in enumerate(scene.nodes):
        about = {"index": i, "name": node.name, "parent": node.parent, "flags": node.flags, "keys": keys[i]}
        out.append(about | {"animated": node.animated, "parts": []})
        if labels[i]:
            out[-1]["label"] = labels[i]
    for part in scene.parts:
        slot, count = scene.meshes[part.mesh].slot, triangles[part.mesh]
        out[part.node]["parts"].append({"lod": part.lod, "group": part.group, "slot": slot, "triangles": count})
    return out


def _materials(model: MshModel, decision: Decision, scene: Scene) -> list[Json]:
    meaning = batch_materials(model, decision.dialect)
    names = {material.row: material.name for material in scene.materials}
    counts = model.batches["index_count"].astype(np.int64) // 3
    out = []
    for row in sorted(names):
        mine = meaning.row == row
        lightmaps = sorted({x for x in meaning.lightmap[mine].tolist() if x != NO_LIGHTMAP})
        out.append(
            {
                "row": row,
                "name": names[row],
                "batches": int(mine.sum()),
                "triangles": int(counts[mine].sum()),
                "lightmaps": lightmaps,
                "flags": sorted(set(meaning.flags[mine].tolist())),
            }
        )
    return out


def controller_at(path: Path, entry: str | None) -> tuple[Controller, str, Archive | None, int | None] | None:
    """Read the controller that a user means; ``None``: it is something else. Raises ConversionError: it cannot be read.

    Args:
        path: a ``.ctl``, or an archive.
        entry: an entry of it, by name or directory index.

    Returns:
        The controller, its name, and its archive and directory index where it is in one.
    """
    if entry is None:
        if path.suffix.lower() != CONTROLLER_ENDING or is_nres(data := read_file(path)):
            return None
        return read_controller(data, str(path)), path.name, None, None
    if not path.is_file() or not is_nres(data := read_file(path)):
        return None
    archive = read_nres(data, str(path), longer=True)
    index = entry_index(archive, entry)
    if index is None or (found := archive.entries[index]).type_id != CONTROLLER_TYPE:
        return None
    return read_controller(found.payload, f"{path}: {printable(found.name)}"), found.name, archive, index


def controller_facts(path: Path, entry: str | None) -> Json | None:
    """Return what ``msh-inspect`` shows of a controller; arguments as of :func:`controller_at`."""
    found = controller_at(path, entry)
    if found is None:
        return None
    from ..checks.companions import check_controller

    controller, name, archive, index = found
    findings = check_controller(controller, facts_of_model(archive, path, index, game_of(path)))
    header = controller.header[0]
    return {
        "kind": Kind.CONTROLLER,
        "name": name,
        "top_speed": header["top_speed"].tolist(),
        "turn_rate": header["turn_rate"].tolist(),
        "payload": float(header["payload"]),
        **describe_states(controller, played_ranges(controller, None)),
        "channels": [
            {
                "node": int(row["node"]),
                "frames": row["frames"].tolist(),
                "point": int(row["point"]),
                "second_point": int(row["second_point"]),
                "flags": int(row["flags"]),
            }
            for row in controller.channels
        ],
        "components": [
            {
                "class": int(row["part_class"]),
                "class_name": PART_CLASSES.get(int(row["part_class"]), ""),
                "node": int(row["node"]),
                "label": controller.label(i),
                "mass": float(row["mass"]),
                "channels": controller.part_channels[i].tolist(),
            }
            for i, row in enumerate(controller.parts)
        ],
        "actions": [
            [{"action": int(one["action"]), "arguments": one["arguments"].tolist()} for one in group]
            for group in controller.groups
        ],
        "findings": [finding.facts() for finding in findings],
    }


def describe_states(controller: Controller, ranges: list[PlayedRange]) -> Json:
    """Return the states and ranges of a controller as plain JSON values."""
    states = []
    for row, state in enumerate(controller.states):
        low, high = state["velocity"][:, 1].tolist() if state["boxes"] & 0x2 else (None, None)
        states.append(
            {
                "index": row,
                "anchor": controller.is_anchor(row),
                "a": state["pair_a"].tolist(),
                "b": state["pair_b"].tolist(),
                "ms": float(state["length"]),
                "speed": [low, high],
                "contacts": controller.contacts["point"][row].tolist(),
            }
        )
    shown = [
        {
            "first": played.range.first,
            "last": played.range.last,
            "seconds": played.seconds,
            "speed": played.range.speed,
            "states": list(played.range.states),
            "text": played.line,
        }
        for played in ranges
    ]
    return {"ranges": shown, "states": states}


def show_controller(console: Console, facts: Json) -> None:
    """Print a controller as one screen."""

    def line(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    parts = [(len(facts[what]), what[:-1]) for what in ("states", "ranges", "channels", "components")]
    line(f"{printable(facts['name'])}  controller: " + ", ".join(plural(*part) for part in parts))
    for row in facts["ranges"]:
        states = " ".join(map(str, row["states"]))
        line(f"range     {row['text']}  (states {states})")
    for row in facts["states"]:
        first, last = row["b"]
        low, high = row["speed"]
        text = f"state {row['index']:<3} {'anchor' if row['anchor'] else '      '} frames {first:g}..{last:g}"
        text += f" from {row['a'][0]:g}..{row['a'][1]:g}" if row["a"] != row["b"] else ""
        text += f", {row['ms']:g} ms" if row["ms"] else ""
        line(text + (f", {low:g} to {high:g} m/s forward" if low is not None else ""))
    for i, row in enumerate(facts["channels"]):
        first, last = row["frames"]
        line(f"channel {i:<3} node {row['node']}, frames {first:g}..{last:g}, control point {row['point']}")
    for i, row in enumerate(facts["components"]):
        name = row["class_name"] or f"class {row['class']}"
        line(f"component {i:<3} {name}, node {row['node']}, {row['mass']:g} kg  {printable(row['label'])}".rstrip())
    for finding in facts["findings"]:
        line(f"{finding['severity']} {finding['code']}: {finding['problem']}")
