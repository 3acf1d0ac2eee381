"""Export a terrain to glTF, and import the edited glTF. No printing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...exporters.gltf import export_terrain
from ...exporters.gltf_file import Document
from .. import __version__
from ..checks.recover import refuse_edit
from ..checks.recover_maps import checked_terrain
from ..checks.terrain import check_terrain
from ..checks.terrain_faces import terrain_coarse_vertex
from ..edits.material_rows import settle_terrain_materials
from ..edits.materials import report_terrain_faces_without_material
from ..edits.nodes import leave_out_hidden
from ..edits.surfaces import UNRECORDED, compare_surfaces
from ..edits.terrain import TerrainPlan, compare_terrain, compare_terrain_objects
from ..edits.transforms import refuse_draco, refuse_turned
from ..errors import ConversionError, plural
from ..formats.kinds import Kind
from ..formats.names import readable, stem
from ..formats.nres import Archive, read_nres
from ..formats.sidecar import Description, Sidecar
from ..formats.terrain import COARSE, FINE, Terrain, read_terrain, write_terrain
from ..formats.wear import LEVEL_ENDINGS, read_wear_names
from ..options import ExportOptions, ImportOptions
from ..queries.level import TerrainQueries
from ..scene.appearance import Appearance
from ..scene.extras import SourceExtras
from ..scene.level import TerrainScene, blend_weights, decode_terrain
from ..scene.scene import ImportedScene, require_in_range
from .appearance import find_appearance, missing_materials
from .gltf_output import Files, output_files
from .import_companions import import_level_wears, why_level_locked
from .import_result import ImportResult
from .library_edits import add_surface_edits
from .loaded import LoadedContainer
from .open_files import wears_of_level


@dataclass(frozen=True, kw_only=True)
class LoadedTerrain(LoadedContainer):
    """A valid terrain, decoded.

    Attributes:
        terrain: its tables.
        wear, micro: names by row of ``Land1.wea`` and ``Land2.wea``.
        companions: these files, by ending.
        scene: what it shows.
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


def container_at(archive: Archive, path: Path, index: int | None) -> tuple[Archive, str]:
    """Return the container and the name of an entry, or of the file itself.

    Raises:
        ConversionError: the entry is not an NRes file.
    """
    if index is None:
        return archive, path.name
    entry = archive.entries[index]
    return read_nres(entry.payload, archive.label), entry.name


def load_terrain(archive: Archive, path: Path, index: int | None, options: ExportOptions) -> LoadedTerrain:
    """Read a terrain and decode it; arguments as of ``dispatch.load``.

    Raises:
        ConversionError: unreadable, or an error finding.
    """
    own, name = container_at(archive, path, index)
    terrain, findings = checked_terrain(read_terrain(own, name, cut=True), options.mode)
    first, second = wears_of_level(archive, path, index)
    wear, micro = read_wear_names(first), read_wear_names(second)
    title = readable(name)
    scene = decode_terrain(terrain, stem(title), wear, micro)
    appearance = find_appearance(first, path, options, blend_weights(scene))
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


def terrain_description(loaded: LoadedTerrain, options: ExportOptions) -> Description:
    """Return the description of a terrain's sidecar, without the digest."""
    return Description(
        loaded.name,
        "",
        dialect="",
        dialect_reason="",
        clip="",
        lod=0,
        group=0,
        converter=__version__,
        materials=loaded.wear,
        kind=loaded.kind,
        micro=loaded.micro,
        companions=loaded.companions,
        tolerant=loaded.tolerant,
        visible_only=options.visible_only,
    )


def terrain_files(
    loaded: LoadedTerrain, target: Path, options: ExportOptions, *, sidecar: bool, root: Path | None
) -> Files:
    """Make the files of a terrain's glTF; arguments as of ``dispatch.gltf_files``."""
    require_in_range("a position", loaded.terrain.positions, loaded.name)  # the import refuses it
    about = terrain_description(loaded, options)

    def document(extras: SourceExtras, appearance: Appearance | None) -> Document:
        return export_terrain(loaded.scene, extras, appearance, visible_only=options.visible_only)

    return output_files(
        loaded, about, SourceExtras(), document, target=target, options=options, sidecar=sidecar, root=root
    )


def stored_terrain(kept: Sidecar, label: str) -> tuple[Terrain, TerrainScene]:
    """Return the tables and the scene of a sidecar's terrain.

    Args:
        kept: the sidecar.
        label: what messages call it.

    Raises:
        ConversionError: its source cannot be read.
    """
    about = kept.description
    container = read_nres(kept.source, label, longer=about.tolerant)
    terrain = read_terrain(container, about.source, cut=about.tolerant)
    terrain, _ = checked_terrain(terrain, about.mode)
    return terrain, decode_terrain(terrain, stem(about.source), about.materials, about.micro)


def import_terrain(kept: Sidecar, given: ImportedScene, options: ImportOptions, label: str) -> ImportResult:
    """Apply what a glTF file changed to the terrain of its sidecar.

    Args:
        kept: the sidecar.
        given: the glTF file.
        options: ``verify`` matters here.
        label: what messages call the sidecar.

    Raises:
        ConversionError: unreadable, or an edit that the game cannot hold.
    """
    about = kept.description
    out = ImportResult(about.source, bytes(kept.source), "", given.report, kept_all=True)
    terrain, scene = stored_terrain(kept, label)
    refuse_draco(given)
    leave_out_hidden(given, lambda _: True)
    wear = settle_terrain_materials(given, scene, about.materials, about.micro, locked=why_level_locked(about))
    plan = compare_terrain(given, terrain, scene, about.materials)
    compare_terrain_objects(plan, given, terrain, visible_only=about.visible_only or given.placed is not None)
    report_terrain_faces_without_material(plan.report, plan.materials, plan.bare_faces())
    levels = plan.levels.values()
    used = {int(i) for found in levels for i in np.unique(found.edited.triangles.material)} - {-1}
    if given.placed is not None:
        used &= wear.created.keys()
    if used and given.surfaces and not about.shown:
        given.report.warnings.append(UNRECORDED)
    if options.own_materials:
        given.report.warnings.append("a terrain gets no materials of its own: edits change those of the game")
    surfaces = compare_surfaces(
        plan.materials,
        given.surfaces,
        about.shown,
        plan.alike,
        used=used,
        entries=about.library,
        created=wear.created,
        rows=[pair.name.partition("+")[0] for pair in scene.material_pairs],
    )
    surfaces.new += wear.seconds
    if out.changes:
        refuse_turned(given, terrain.positions, terrain.uv0)
        if about.tolerant:
            raise refuse_edit(out.changes, label)
        _rebuild(out, plan, terrain, options)
    import_level_wears(out, wear, about)
    add_surface_edits(out, surfaces, options)
    return out


def _rebuild(out: ImportResult, plan: TerrainPlan, terrain: Terrain, options: ImportOptions) -> None:
    """Fill in the terrain with a plan's changes."""
    from ..rebuild.terrain import edited_terrain

    built = edited_terrain(plan, terrain)
    out.data, out.kept_all = write_terrain(built.terrain), False
    out.report = built.statuses
    _report_covered_holes(plan, terrain, built.terrain)
    if options.verify:
        _verify(out, terrain)


def _report_covered_holes(plan: TerrainPlan, before: Terrain, after: Terrain) -> None:
    """Report holes that were cut into the fine level and that coarse faces still cover."""
    fine = plan.levels[FINE]
    gone = np.ones(len(fine.rows), np.bool_)
    gone[fine.old] = gone[fine.back] = False
    corners = before.positions[before.faces["vertex"][fine.rows[gone]]].astype(np.float64)
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
    """Read the written terrain again: nothing may be wrong with it that was not before.

    Raises:
        ConversionError: an internal error, better met here than in the game.
    """
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
