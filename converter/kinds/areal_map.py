"""Export an areal map to glTF, and import what was edited. No printing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...exporters.gltf import export_areal_map
from ...exporters.gltf_file import Document
from ..checks.recover_maps import checked_areals
from ..edits.areal_changes import ArealPlan, plan_areals, require_no_overlap, warn_of_lost_neighbours
from ..edits.areal_map import edit_areals
from ..edits.areal_polygons import mixed_face
from ..errors import ConversionError, plural
from ..findings import Change, NotApplied
from ..formats.areal_map import ArealMap, read_areal_map, write_areal_map
from ..formats.kinds import Kind
from ..formats.names import readable, stem
from ..formats.nres import read_nres
from ..formats.sidecar import Description
from ..judge.difference import tell
from ..judge.landscape import differences_of_areal_map
from ..options import ExportOptions
from ..scene.appearance import Appearance
from ..scene.extras import SourceExtras
from ..scene.scene import ImportedScene, require_in_range
from .base import EditedFile, Exported, Json, LoadedContainer, Source
from .import_result import ImportResult


@dataclass(frozen=True, kw_only=True)
class LoadedArealMap(LoadedContainer):
    """A valid areal map; ``areals``: its tables."""

    kind = Kind.AREAL_MAP

    areals: ArealMap

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        areals = self.areals
        return (
            f"areal map, {plural(len(areals.records), 'areal')}, "
            f"{len(areals.vertices):,} vertices, "
            f"{areals.cells_x} x {areals.cells_y} cells"
        )

    @classmethod
    def load(cls, source: Source, options: ExportOptions) -> LoadedArealMap:
        """Read an areal map."""
        own, name = source.own()
        areals, findings = checked_areals(read_areal_map(own), options.mode)
        return LoadedArealMap(name=readable(name), archive=own, findings=findings, areals=areals)

    def exported(self, options: ExportOptions) -> Exported:
        """Return what goes into its glTF."""
        require_in_range("a position", self.areals.vertices, self.name)  # the import refuses it
        about = Description.without_dialect(self.name, self.kind, tolerant=self.tolerant)

        def document(extras: SourceExtras, appearance: Appearance | None) -> Document:
            return export_areal_map(self.areals, stem(self.name), extras)

        return Exported(about, SourceExtras(), document)

    @staticmethod
    def import_edited(edited: EditedFile) -> ImportResult:
        """Apply what a glTF file changed to the areal map of its sidecar."""
        out = _import(edited)
        if edited.seen is not None:
            about = edited.kept.description
            read = read_areal_map(read_nres(out.data, str(edited.sidecar), longer=about.tolerant))
            tell(out.differences, differences_of_areal_map(edited.seen, checked_areals(read, about.mode)[0]))
        return out

    def describe(self) -> Json:
        """Return the facts about it as plain JSON values."""
        areals = self.areals
        classes, counts = np.unique(areals.records["class_id"], return_counts=True)
        own = {
            "counts": {
                "areals": len(areals.records),
                "vertices": len(areals.vertices),
                "cells": [areals.cells_x, areals.cells_y],
                "cell_entries": len(areals.cell_ids),
            },
            "classes": dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True)),
            "area": float(areals.records["area"].astype(np.float64).sum()),
        }
        return self.facts(own)


def _import(edited: EditedFile) -> ImportResult:
    """Apply what a glTF file changed."""
    kept, given = edited.kept, edited.given
    about = kept.description
    out = ImportResult(about.source, bytes(kept.source), "", given.report, kept_all=True)
    container = read_nres(kept.source, str(edited.sidecar), longer=about.tolerant)
    areals, _ = checked_areals(read_areal_map(container), about.mode)
    if (refusal := _not_numbered(given)) is not None:
        given.report.not_applied.append(refusal)
        return out
    plan = plan_areals(given, areals, edited.options)
    if about.tolerant:
        given.report.not_applied += map(_in_broken_map, given.report.changes)
        given.report.changes.clear()
    if not out.changes:
        return out
    try:
        new = _edited(areals, plan)
        out.data, out.kept_all = write_areal_map(new), False
        checked_areals(read_areal_map(read_nres(out.data, about.source)), "default")
    except ConversionError as error:
        error.file = None  # not the sidecar's fault: the caller names the glTF
        raise
    return out


def _not_numbered(given: ImportedScene) -> NotApplied | None:
    """Why nothing of a file can be applied; ``None`` where each triangle has the number of its areal."""
    if given.streams.areal is None:
        why = "the file does not number its areals (_MSH_AREAL)"
        instead = "convert the map again and repeat the edit; in Blender, export with Data > Mesh > Attributes"
    elif (place := mixed_face(given)) is not None:
        why = f"a face has corners of several areals (_MSH_AREAL), at {place}"
        instead = "import it without Merge Vertices; give a new face a number that no areal has"
    else:
        return None
    return NotApplied(where="areal map", what="is kept, whatever was edited", why=why, instead=instead)


def _in_broken_map(change: Change) -> NotApplied:
    """An edit of a map that was exported with errors."""
    why = "the map has errors, which msh-inspect --check names"
    return NotApplied(where=change.where, what=change.what, why=why, instead="take the map from a backup")


def _edited(areals: ArealMap, plan: ArealPlan) -> ArealMap:
    """The map with what a plan says."""
    records = areals.records.copy()
    for field, values in (("class_id", plan.classes), ("logic", plan.logic)):
        for number, value in values.items():
            records[field][number] = value
    before = replace(areals, records=records)
    if not plan.shapes_change:
        return before
    new, edited = edit_areals(before, removed=plan.removed, polygons=plan.polygons, added=plan.added)
    require_no_overlap(areals, new, edited)
    warn_of_lost_neighbours(plan.report, areals, new, plan.removed)
    return new
