"""Landscapes: terrains and areal maps to glTF, the edited glTF imported. No printing.

A material of a terrain is a ground, a row of ``Land1.wea``, or a pair of two that blend. A pair shows the colour of its
first ground, and both pictures, mixed; the same row of ``Land2.wea`` names the microtexture of a ground, which glTF
states in the material's extras (docs/levels.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...exporters.gltf import export_areal_map, export_terrain
from ...exporters.gltf_file import Document
from ..checks.areal_map import checked_areals
from ..checks.recover import refuse_edit
from ..checks.terrain import check_terrain, checked_terrain
from ..checks.terrain_faces import terrain_coarse_vertex
from ..edits.areal_changes import ArealPlan, mixed_face, plan_areals, warn_of_lost_neighbours
from ..edits.areal_map import edit_areals, require_no_overlap
from ..edits.looks import OF_TWO, SurfaceEdits, compare_surfaces
from ..edits.material_rows import NO_NAME, TerrainWearEdit, settle_terrain_materials
from ..edits.materials import names_of_rows
from ..edits.node_roles import leave_out_hidden
from ..edits.terrain import TerrainPlan, compare_terrain, compare_terrain_objects
from ..errors import ConversionError, called, few, in_words, plural, printable
from ..findings import Subject
from ..formats.areal_map import ArealMap, read_areal_map, write_areal_map
from ..formats.gltf import FilePicture, Surface
from ..formats.kinds import Kind
from ..formats.material import MATERIALS, LibraryEntry, entry_key
from ..formats.names import known_name, readable, stem
from ..formats.nres import read_nres
from ..formats.sidecar import Description, Sidecar
from ..formats.terrain import COARSE, FINE, NO_MATERIAL, Terrain, read_terrain, write_terrain
from ..formats.wear import LEVEL_ENDINGS, is_material_name, read_wear_names
from ..judge.difference import Difference, tell
from ..judge.landscape import differences_of_areal_map, differences_of_terrain
from ..judge.shown import named
from ..numeric.surfaces import describe as describe_flags
from ..options import ExportOptions, ImportOptions
from ..queries.landscape import TerrainQueries
from ..scene.appearance import Appearance
from ..scene.decode import MaterialPair, TerrainScene, blend_weights, decode_terrain, material_pair
from ..scene.extras import SourceExtras
from ..scene.scene import ImportedScene, require_in_range
from .appearance import find_appearance, missing_materials
from .base import EditedFile, Exported, Json, LoadedContainer, Source
from .import_companions import import_wears, why_level_locked
from .import_result import ImportResult, refuse_draco, refuse_turned, report_no_normals, written_looks
from .new_entries import add_surface_edits
from .open_files import wears_of_level


@dataclass(frozen=True, kw_only=True)
class LoadedTerrain(LoadedContainer):
    """A valid terrain, decoded.

    Attributes:
        wear, micro: names by row of ``Land1.wea`` and ``Land2.wea``.
        companions: these files, by ending.
    """

    kind = Kind.TERRAIN

    terrain: Terrain
    wear: list[str]
    micro: list[str]
    companions: dict[str, bytes]
    scene: TerrainScene

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        terrain = self.terrain
        fine, coarse = (len(terrain.faces_of(level)) for level in (0, 1))
        return (
            f"terrain, {len(terrain.positions):,} vertices, {fine:,} fine and {coarse:,} "
            f"coarse faces, {terrain.across} x {terrain.down} squares"
        )

    @classmethod
    def load(cls, source: Source, options: ExportOptions) -> LoadedTerrain:
        """Read a terrain and decode it."""
        own, name = source.own()
        terrain, findings = checked_terrain(read_terrain(own, name, cut=True), options.mode)
        first, second = wears_of_level(source.file, source.path, source.index)
        wear, micro = read_wear_names(first), read_wear_names(second)
        title = readable(name)
        scene = decode_terrain(terrain, stem(title), wear, micro)
        appearance = find_appearance(first, source.path, options, blend_weights(scene))
        return LoadedTerrain(
            name=title,
            archive=own,
            findings=[*findings, *missing_materials(appearance)],
            appearance=appearance,
            terrain=terrain,
            wear=wear,
            micro=micro,
            companions={k: text for k, text in zip(LEVEL_ENDINGS, (first, second), strict=True) if text},
            scene=scene,
        )

    def exported(self, options: ExportOptions) -> Exported:
        """Return what goes into its glTF."""
        require_in_range("a position", self.terrain.positions, self.name)  # the import refuses it

        def document(extras: SourceExtras, appearance: Appearance | None) -> Document:
            return export_terrain(self.scene, extras, appearance, visible_only=options.visible_only)

        return Exported(terrain_description(self, options), SourceExtras(), document)

    @staticmethod
    def import_edited(edited: EditedFile) -> ImportResult:
        """Apply what a glTF file changed to the terrain of its sidecar."""
        label = str(edited.sidecar)
        out = import_terrain(edited.kept, edited.given, edited.options, label)
        if edited.seen is not None:
            tell(out.differences, differences_of(out, edited.seen, edited.kept, label))
        return out

    def describe(self) -> Json:
        """Return the facts about it as plain JSON values."""
        terrain, faces = self.terrain, self.terrain.faces
        flags, counts = np.unique(faces["flags"], return_counts=True)
        pairs = np.unique(np.stack([faces["first"], faces["second"]], axis=1), axis=0)
        hull = terrain.header["hull"][0]
        counted = {"vertices": len(terrain.positions), "faces": len(faces)}
        levels = {"fine": len(terrain.faces_of(0)), "coarse": len(terrain.faces_of(1))}
        own = {
            "counts": {**counted, **levels, "squares": [terrain.across, terrain.down]},
            "box": [hull.min(axis=0).tolist(), hull.max(axis=0).tolist()],
            "materials": [
                material_pair(first, second, self.wear, self.micro)._asdict() for first, second in pairs.tolist()
            ],
            "flags": {
                describe_flags(flag): number for flag, number in zip(flags.tolist(), counts.tolist(), strict=True)
            },
        }
        return self.facts(own)


def terrain_description(loaded: LoadedTerrain, options: ExportOptions) -> Description:
    """Return the description of a terrain's sidecar, without the digest."""
    return Description.without_dialect(
        loaded.name,
        loaded.kind,
        materials=loaded.wear,
        micro=loaded.micro,
        companions=loaded.companions,
        tolerant=loaded.tolerant,
        visible_only=options.visible_only,
    )


def stored_terrain(kept: Sidecar, label: str) -> tuple[Terrain, TerrainScene]:
    """Return the tables and the scene of a sidecar's terrain. Raises ConversionError: its source cannot be read."""
    about = kept.description
    terrain = _terrain(kept.source, about, label)
    return terrain, decode_terrain(terrain, stem(about.source), about.materials, about.micro)


def _terrain(data: memoryview | bytes, about: Description, label: str) -> Terrain:
    container = read_nres(data, label, longer=about.tolerant)
    return checked_terrain(read_terrain(container, about.source, cut=about.tolerant), about.mode)[0]


def _areal_map(data: memoryview | bytes, about: Description, label: str) -> ArealMap:
    return checked_areals(read_areal_map(read_nres(data, label, longer=about.tolerant)), about.mode)[0]


def import_terrain(kept: Sidecar, given: ImportedScene, options: ImportOptions, label: str) -> ImportResult:
    """Apply what a glTF file changed to the terrain of its sidecar. Raises ConversionError: unreadable, or an edit that
    the game cannot hold.
    """
    about = kept.description
    out = ImportResult(about.source, bytes(kept.source), "", given.report, kept_all=True)
    terrain, scene = stored_terrain(kept, label)
    refuse_draco(given)
    report_no_normals(given)
    leave_out_hidden(given, lambda _: True)
    locked = why_level_locked(about)
    stated = {
        i: (extras["first"], extras.get("second", NO_MATERIAL))
        for i, extras in enumerate(given.material_extras)
        if "first" in extras
    }
    wear = settle_terrain_materials(given, scene, about.materials, about.micro, locked=locked)
    plan = compare_terrain(given, terrain, scene, about.materials)
    compare_terrain_objects(plan, given, terrain, visible_only=about.visible_only or given.placed is not None)
    levels = plan.levels.values()
    used = {int(i) for found in levels for i in np.unique(found.edited.triangles.material)} - {-1}
    drawn = {i: rows for i, rows in stated.items() if i in used}
    settle_microtextures(wear, given, scene.material_pairs, drawn, locked)
    if given.placed is not None:
        used &= wear.created.keys()
    rows = names_of_rows(pair.name for pair in scene.material_pairs)
    surfaces = compare_surfaces(given, about, plan.materials, plan.alike, used=used, created=wear.created, rows=rows)
    if options.own_materials:
        given.report.warnings.append("a terrain gets no materials of its own: edits change those of the game")
    changed = settle_pairs(surfaces, given.surfaces, scene.material_pairs, plan.alike, used, about.library)
    changed |= {new.name for new in surfaces.new}
    others = [name for name in plan.materials if name.partition("+")[0] in changed]
    others += [plan.materials[i] for i in surfaces.library]
    out.differences.concerns(others, "look")  # all pairs of a ground show its colour, and a change says so
    # a new ground that pairs show as their second one is a copy of the second one that they had, not of the first
    surfaces.new = [
        one if (second := wear.second_of.get(one.name)) is None else replace(one, like=second.like, base=None)
        for one in surfaces.new
    ] + wear.seconds
    if out.changes:
        refuse_turned(given, terrain.positions, terrain.uv0)
        if about.tolerant:
            raise refuse_edit(out.changes, label)
        _rebuild(out, plan, terrain, options)
    lists = dict(zip(LEVEL_ENDINGS, (wear.names, wear.micro), strict=True))
    if LEVEL_ENDINGS[1] not in about.companions:  # a level without Land2.wea gets none
        del lists[LEVEL_ENDINGS[1]]
    import_wears(out, about, wear.report, lists)
    add_surface_edits(out, surfaces, options)
    return out


def _rebuild(out: ImportResult, plan: TerrainPlan, terrain: Terrain, options: ImportOptions) -> None:
    from ..rebuild.terrain import edited_terrain

    built, out.report = edited_terrain(plan, terrain)
    out.data, out.kept_all = write_terrain(built), False
    _report_covered_holes(plan, terrain, built)
    if options.verify:
        _verify(out, terrain)


def _report_covered_holes(plan: TerrainPlan, before: Terrain, after: Terrain) -> None:
    """Report holes that were cut into the fine level and that coarse faces still cover."""
    corners = before.positions[before.faces["vertex"][plan.levels[FINE].lost]].astype(np.float64)
    middle = corners.mean(axis=1).reshape(-1, 3)[:, :2]
    was, now, coarse = (
        TerrainQueries(terrain, level).height_at(middle, forbidden=0)[1] >= 0
        for terrain, level in ((before, FINE), (after, FINE), (after, COARSE))
    )
    holes = middle[was & ~now & coarse]
    if len(holes):
        x, y = holes[0].tolist()
        plan.report.skipped(
            "coarse level",
            f"covers {plural(len(holes), 'face')} that the fine level lost, at ({x:g}, {y:g})",
            "the two levels are objects of their own",
            "delete the faces over the hole in the object 'coarse' too",
        )


def _verify(out: ImportResult, before: Terrain) -> None:
    """Read the written terrain again: nothing may be wrong with it that was not before."""
    again = read_terrain(read_nres(out.data, out.name), out.name)
    known = {finding.code for finding in check_terrain(before)}
    for finding in check_terrain(again):
        if finding.rule == terrain_coarse_vertex.rule:
            # it stays (docs/reference/terrain.md); the user should know
            out.differences.warnings.append(finding.problem)
        elif finding.code not in known and finding.severity != "note":
            raise ConversionError(
                "the rebuilt terrain does not hold together, please report it",
                value=str(finding),
                hint="--no-verify writes it all the same",
            )


def differences_of(out: ImportResult, seen: ImportedScene, kept: Sidecar, label: str) -> list[Difference]:
    """Return what an edited terrain shows otherwise than the file. ``out``: the result; its bytes and companions matter
    here.
    """
    about = kept.description
    files = {one.ending: read_wear_names(one.data) for one in out.companions}
    first, second = LEVEL_ENDINGS
    wear, micro = files.get(first, about.materials), files.get(second, about.micro)
    scene = decode_terrain(_terrain(out.data, about, label), stem(about.source), wear, micro)
    absent = about.visible_only or seen.placed is not None
    stored = stored_terrain(kept, label)[1]
    looks = written_looks(out, about, named([pair.name for pair in stored.material_pairs]))
    found = differences_of_terrain(seen, scene, absent=absent, looks=looks)
    coarse = [one for one in found if "coarse level" in one.names]
    if coarse:  # one that is as it was exported follows the corners of the fine level (docs/levels.md)
        before = differences_of_terrain(seen, stored, absent=absent)
        if not any("coarse level" in one.names for one in before):
            found = [one for one in found if one not in coarse]
    return found


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
        out = _import_areals(edited)
        if edited.seen is not None:
            written = _areal_map(out.data, edited.kept.description, str(edited.sidecar))
            tell(out.differences, differences_of_areal_map(edited.seen, written))
        return out

    def describe(self) -> Json:
        """Return the facts about it as plain JSON values."""
        areals = self.areals
        classes, counts = np.unique(areals.records["class_id"], return_counts=True)
        cells = {"cells": [areals.cells_x, areals.cells_y], "cell_entries": len(areals.cell_ids)}
        own = {
            "counts": {"areals": len(areals.records), "vertices": len(areals.vertices), **cells},
            "classes": dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True)),
            "area": float(areals.records["area"].astype(np.float64).sum()),
        }
        return self.facts(own)


def _import_areals(edited: EditedFile) -> ImportResult:
    kept, given = edited.kept, edited.given
    about = kept.description
    out = ImportResult(about.source, bytes(kept.source), "", given.report, kept_all=True)
    areals = _areal_map(kept.source, about, str(edited.sidecar))
    if _not_numbered(given):
        return out
    refuse_turned(given, areals.vertices, None)
    plan = plan_areals(given, areals, edited.options)
    if about.tolerant:
        why, instead = "the map has errors, which msh-inspect --check names", "take the map from a backup"
        for change in given.report.changes:
            given.report.skipped(change.where, change.what, why, instead)
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


def _not_numbered(given: ImportedScene) -> bool:
    """Report that nothing of a file can be applied, unless each triangle has the number of its areal."""
    if given.streams.areal is None:
        why = "the file does not number its areals (_MSH_AREAL)"
        instead = "convert the map again and repeat the edit; in Blender, export with Data > Mesh > Attributes"
    elif (place := mixed_face(given)) is not None:
        why = f"a face has corners of several areals (_MSH_AREAL), at {place}"
        instead = "import it without Merge Vertices; give a new face a number that no areal has"
    else:
        return False
    given.report.skipped("areal map", "is kept, whatever was edited", why, instead)
    return True


def _edited(areals: ArealMap, plan: ArealPlan) -> ArealMap:
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


def settle_pairs(
    found: SurfaceEdits,
    surfaces: Sequence[Surface[FilePicture]],
    pairs: Sequence[MaterialPair],
    choices: Sequence[set[int]],
    used: set[int],
    entries: Sequence[LibraryEntry],
) -> set[str]:
    """Give edits of pairs to the ground that they are about, name what else shows it, and return what changes.

    That is the second one where the material's extras name it, or where it was changed alike and the first one stands
    unchanged elsewhere in the file.
    """
    changed, named = set[str](), set[str]()
    known = {entry.key: entry for entry in entries}
    pair_of = {i: pairs[found.origins.get(i, min(choices[i]))] for i in used if i < len(choices) and choices[i]}
    shows: dict[int, list[int]] = {}
    for i, pair in sorted(pair_of.items()):
        shows.setdefault(pair.first, []).append(i)
    for i in sorted(found.library.keys() & pair_of.keys()):
        pair = pair_of[i]
        grounds = pair.name.split("+")
        changed.add(grounds[0])
        own = [edit for edit in found.library[i] if edit.entry.library == MATERIALS]
        if len(own) < len(found.library[i]):  # a picture, which either may show
            changed.update(grounds)
        if not own:
            continue
        still = [k for k in shows[pair.first] if k not in found.library]
        second = known.get(entry_key(MATERIALS, grounds[-1])) if pair.second != NO_MATERIAL else None
        stated, first = surfaces[i].definition.lower(), own[0].entry.name
        values = [edit.values for k in shows.get(pair.second, []) for edit in found.library.get(k, [])]
        alike = bool(still) and all(edit.values in values for edit in own)
        if second is not None and (alike or stated == second.name.lower() != first.lower()):
            changed.add(grounds[1])
            before, after = OF_TWO.format(printable(first), "first"), OF_TWO.format(printable(second.name), "second")
            found.library[i] = [
                replace(edit, entry=second, what=edit.what.replace(before, after)) if edit in own else edit
                for edit in found.library[i]
            ]
        elif still and first not in named:
            named.add(first)
            found.report.warnings.append(
                f"material {called(pair.name)}: {printable(first)} changes everywhere, and the file shows it "
                f"as it was in {few([printable(pair_of[k].name) for k in still], 3)}"
            )
    return changed


def settle_microtextures(
    wear: TerrainWearEdit,
    edited: ImportedScene,
    pairs: Sequence[MaterialPair],
    used: Mapping[int, tuple[int, int]],
    locked: str,
) -> None:
    """Rename the microtextures that all materials of a row state by one new name; report the others.

    Args:
        wear: what changes of ``Land1.wea`` and ``Land2.wea``; its ``micro`` and report grow.
        used: materials of the file that faces have, and the rows that their extras stated.
        locked: why ``Land2.wea`` cannot be changed, if so.
    """
    stored = {(pair.first, pair.second): pair for pair in pairs}
    stated, before = dict[int, dict[str, str]](), dict[int, str]()
    for i, rows in sorted(used.items()):
        pair, name = stored.get(rows), edited.materials[i].name
        if pair is None or known_name(name.casefold(), pair.name.casefold().__eq__) != pair.name.casefold():
            continue  # it has other rows now
        extras = edited.material_extras[i]
        for row, own, text in (
            (pair.first, pair.micro, extras.get("microtexture")),
            (pair.second, pair.micro2, extras.get("microtexture2")),
        ):
            if row != NO_MATERIAL and text is not None:
                before[row] = own
                stated.setdefault(row, {}).setdefault(text, name)
    for row, texts in sorted(stated.items()):
        for text in sorted(texts.keys() - {before[row]}):
            where, what = Subject("material", texts[text]), f"microtexture {in_words(before[row])} became "
            why = locked or ("" if is_material_name(text) else NO_NAME)
            if not why and len(texts) > 1:
                others = ", ".join(called(other) for other in sorted(texts.keys() - {text}))
                why = f"all materials of row {row} have one microtexture, and others state {others}"
            if why:
                wear.report.skipped(where, f"{what}{in_words(text)}", why, "change it in all of them, or in none")
            else:
                wear.micro[row] = text
                wear.report.changed(f"row {row} of Land2.wea", f"{in_words(before[row])} became {in_words(text)}")
