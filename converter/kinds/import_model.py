"""Import a model: merge an edited file with its sidecar, or rebuild it from the file alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..checks.model import require_valid
from ..checks.model_tables import batch_window, triangle_mutual
from ..checks.recover import checked_model, leave_out, put_back, refuse_edit
from ..edits.clips import choose_clip
from ..edits.looks import SurfaceEdits, compare_surfaces, own_materials, own_name
from ..edits.material_rows import WearEdit, settle_materials
from ..edits.materials import (
    HARMLESS,
    materials_in_use,
    materials_of_model,
    report_looks_without_a_name,
    report_one_name_two_looks,
)
from ..edits.model import Plan, compare_model
from ..edits.node_roles import leave_out_hidden, stored_in
from ..edits.nodes import Identified, identify
from ..edits.poses import compare_poses, place_parts
from ..errors import ConversionError, called, few, printable, with_article
from ..findings import Finding, Mode, NotApplied, Subject
from ..formats.kinds import Kind
from ..formats.model import MshModel, read_model, write_model
from ..formats.model_parts import POINTS_ENDING
from ..formats.names import readable, stem
from ..formats.nres import read_nres
from ..formats.sidecar import SUFFIX, Description, Sidecar
from ..formats.tables import LOD_COUNT
from ..formats.wear import WEAR_ENDING, read_wear_names
from ..judge.judge import WrittenModel, judge_model
from ..numeric.quantize import colour_of_row
from ..options import ImportOptions
from ..scene.decode import decode
from ..scene.dialect import Dialect
from ..scene.scene import GeneratedLevel, ImportedScene, Scene
from .import_companions import (
    NumberedFiles,
    import_clip,
    import_new_points,
    import_nodes,
    import_points,
    import_triangles,
    import_unseen,
    import_wears,
    rows_now,
    why_locked,
)
from .import_result import ImportResult, refuse_draco, refuse_turned_model, report_no_normals, written_looks
from .new_entries import add_surface_edits

if TYPE_CHECKING:
    from ..rebuild.workspace import Rebuilt

#: Of a colour that a file shows: Blender rounds it by far less.
_COLOUR_NOISE = 1e-3
_KEEP_SIDECAR = "keep the .msh-sidecar beside the file, or give it with --sidecar PATH"


@dataclass(frozen=True)
class StoredModel:
    """The model of a sidecar. ``model``: the same without what a tolerant reader leaves out."""

    path: Path
    about: Description
    data: memoryview | bytes
    whole: MshModel
    model: MshModel
    scene: Scene

    @property
    def dialect(self) -> Dialect:
        """The dialect that it is written in."""
        return Dialect(self.about.dialect)


def stored_model(kept: Sidecar, path: Path, *, of_obj: bool = False) -> StoredModel:
    """Read and decode the model of a sidecar. Raises ConversionError: its source cannot be read. ``of_obj``: an OBJ is
    imported: what materials of a glTF showed does not count, nor vice versa.
    """
    about = kept.description
    if about.shown_in_obj != of_obj:
        about = replace(about, shown=[])
    container = read_nres(kept.source, str(path), longer=about.tolerant)
    whole = read_model(container, about.source, cut=about.tolerant)
    model, _ = checked_model(whole, about.mode)
    scene = decode(
        model, Dialect(about.dialect), stem(about.source), wear=about.materials, stored_keys=about.clip == "keys"
    )
    return StoredModel(path, about, kept.source, whole, model, scene)


def report_left_out(imported: ImportedScene, stored: Scene) -> None:
    """Report that a file has no texture or lightmap coordinates, or no normals, at all, and what stored faces keep.
    ``imported``: the file; what is reported is added to it. An OBJ never has the lightmap coordinates.
    """
    if not len(imported.streams.positions):
        return
    here, there = imported.streams, stored.streams
    sets = [("texture coordinates", here.uv0, there.uv0)]
    sets += [("lightmap coordinates", here.uv1, there.uv1)] if "up" not in imported.info else []
    for kind, new, old in sets:
        if new is None and old is not None:
            imported.report.skipped(
                kind,
                "are not in the file",
                "UVs is cleared in Blender's exporter, or the UV map was deleted: stored faces keep theirs, and those "
                "of new ones are zeros",
                "check UVs, and export again",
            )
    if there.normals is not None:
        report_no_normals(imported)


def report_unlit(imported: ImportedScene) -> None:
    """Name the meshes without lightmap coordinates, where others have them: theirs are zeros."""
    drawn = {item.mesh: item.name for item in imported.nodes if item.mesh >= 0}
    meshes = [(imported.meshes[i], name) for i, name in drawn.items()]
    unlit = [called(mesh.name or name) for mesh, name in meshes if not all(one.lit for one in mesh.primitives)]
    if unlit:
        imported.report.warnings.append(
            f"no second UV map in {few(unlit)}, though others have one: the lightmap coordinates of the faces are zeros"
        )


def import_edited(
    imported: ImportedScene,
    stored: StoredModel,
    numbered: NumberedFiles,
    options: ImportOptions,
    *,
    only_shown: bool = False,
) -> ImportResult:
    """Apply what a file changed to the model of its sidecar. Raises ConversionError: the edit cannot be kept.
    ``only_shown``: the file never had more than what the default scene shows.
    """
    about, model, scene, dialect = stored.about, stored.model, stored.scene, stored.dialect
    shown = imported.info.get("lod", about.lod), imported.info.get("group", about.group)
    refuse_draco(imported)
    report_left_out(imported, scene)
    leave_out_hidden(imported, stored_in(scene))
    if imported.streams.uv1 is not None and scene.streams.uv1 is not None:
        report_unlit(imported)
    identified = identify(imported, scene, shown, dialect)
    timing = choose_clip(identified, scene, options)
    wear = settle_materials(identified, scene, about.materials, dialect=dialect, locked=why_locked(about))
    poses = compare_poses(identified, scene)
    place_parts(identified, scene, poses.nodes)
    levels = _add_lods(identified, scene, options, dialect)
    retail, has_strings = dialect is Dialect.RETAIL, model.strings is not None
    plan = compare_model(
        identified,
        scene,
        poses,
        lightmap=retail,
        has_names=model.node_names is not None or (has_strings and not retail),
        has_labels=has_strings and retail,
        only_shown=only_shown or about.visible_only or options.scene is not None or imported.placed is not None,
        options=options,
    )
    edited = bool(imported.report.changes)
    if edited:
        refuse_turned_model(imported, scene)
    surfaces = _compare_surfaces(plan, stored, wear, options)
    out = ImportResult(
        about.source, bytes(stored.data), dialect.value, imported.report, timing=timing, kept_all=not edited
    )
    rows: Mapping[int, int] = identified.stored_of
    controllers = numbered.controllers()
    if edited:
        built = _rebuild(out, plan, stored, options)
        rows = built.rows
        out.rows = rows_now(identified, rows, scene)
    import_clip(out, controllers, scene, identified.scene, rows, poses.frames)
    import_nodes(out, controllers, identified, numbered, scene, rows)
    gone = plan.deleted_parts or plan.replaced_parts
    if edited and (gone or not all(part.unchanged for part in plan.parts)):
        import_triangles(out, numbered, model, built.model, out.rows)
    out.levels = [one._replace(node=rows[one.node]) for one in levels]
    import_wears(out, about, wear.report, {WEAR_ENDING: wear.names})
    if "up" not in imported.info and (imported.placed is None or imported.placed.points):  # an OBJ has none
        import_points(out, identified, about, scene, rows, options, controllers)
    add_surface_edits(out, surfaces, options)
    return out


def _rebuild(out: ImportResult, plan: Plan, stored: StoredModel, options: ImportOptions) -> Rebuilt:
    from ..rebuild.model import edited_model

    built = edited_model(plan, stored.model, stored=stored.scene, dialect=stored.dialect, reduce=options.reduce)
    if stored.about.tolerant:
        if (with_broken := put_back(built.model, stored.whole)) is None:
            raise refuse_edit(plan.report.changes, str(stored.path))
        built.model = with_broken
        plan.report.warnings.append("what is broken was kept as it is, as --tolerant left it out")
    _write(out, built, options, before=stored.model, mode=stored.about.mode)
    return built


def _compare_surfaces(plan: Plan, stored: StoredModel, wear: WearEdit, options: ImportOptions) -> SurfaceEdits:
    scene, about = plan.identified.scene, stored.about
    given, names, used = plan.identified.imported, [one.name for one in scene.materials], materials_in_use(scene)
    if given.placed is not None:
        used &= wear.created.keys()
    rows = [one.name if one.row < len(about.materials) else "" for one in stored.scene.materials]
    surfaces = compare_surfaces(given, about, names, plan.materials, used=used, created=wear.created, rows=rows)
    if options.own_materials and not why_locked(about):
        own_materials(surfaces, wear, about, [material.row for material in stored.scene.materials])
    return surfaces


def import_new(gltf: Path, imported: ImportedScene, seen: ImportedScene | None, options: ImportOptions) -> ImportResult:
    """Rebuild a model from nothing but a file. ``seen``: what the judge compares it with. Raises ConversionError:
    nothing to make a model of, or beyond the format's limits.
    """
    from ..rebuild.model import new_model
    from ..rebuild.workspace import wear_rows

    if (kind := imported.info.get("kind", "model")) != Kind.MODEL.in_extras:
        raise ConversionError(
            f"is {with_article(kind.replace('_', ' '))}, which needs its sidecar to be rebuilt", hint=_KEEP_SIDECAR
        )
    if imported.info.get("legacy"):
        needs = "is a model with legacy nodes (stride 24), which needs its sidecar to be rebuilt"
        raise ConversionError(needs, hint=_KEEP_SIDECAR)
    stated = imported.info.get("dialect", "spec")
    dialect = Dialect(stated if options.dialect == "auto" else options.dialect)
    name = imported.info.get("source") or f"{stem(readable(gltf.name))}.msh"
    missed = options.use_sidecar and not options.new
    others = sorted(gltf.parent.glob(f"*{SUFFIX}")) if missed else []
    if others:
        imported.report.warnings.append(
            f"no sidecar of this file was found, though {printable(others[0].name)} lies beside "
            "it: everything is rebuilt (--sidecar PATH keeps what glTF cannot hold)"
        )
    leave_out_hidden(imported, lambda _: False)
    identified = identify(imported, None, imported.shown, dialect)
    timing = choose_clip(identified, None, options)
    place_parts(identified, None, set())
    if options.lod_ratios and options.dialect == "auto" and "dialect" not in imported.info:
        raise ConversionError(
            "nothing says where the game keeps levels of detail of this model",
            hint="--generate-lods of a new model needs --dialect retail (the game's models) or --dialect spec",
        )
    levels = _add_lods(identified, None, options, dialect)
    if not identified.scene.nodes:
        raise ConversionError(
            "has no nodes to make a model of",
            hint="export at least one object (in Blender: check Limit to in its glTF exporter)",
        )
    lost = _lost_without_sidecar(imported)
    built = new_model(identified, name, dialect, reduce=options.reduce)
    if identified.scene.streams.uv1 is not None:
        report_unlit(imported)
    out = ImportResult(name, b"", dialect.value, imported.report, rebuilt=True, timing=timing)
    _write(out, built, options)
    out.levels = [one._replace(node=built.rows[one.node]) for one in levels]
    import_new_points(out, identified, built.rows)
    import_unseen(out, gltf, identified, built.rows, options)
    out.wear = wear_rows(identified.scene, imported.report)
    add_surface_edits(out, SurfaceEdits(new=materials_of_model(imported, identified.scene)), options)
    imported.report.not_applied += lost
    if not identified.scene.materials:
        imported.report.concerns(["materials"], "materials")
        imported.report.warnings.append(f"no materials in the file: its faces have row 0 ({out.wear[0]})")
    known, used = identified.scene.materials, materials_in_use(identified.scene)
    report_one_name_two_looks(imported.report, known, imported.surfaces)
    report_looks_without_a_name(imported.report, known, imported.surfaces, used)
    if seen is not None:
        written, cell = written_model(out, None), seen.shown
        judge_model(out.differences, seen, None, written, timing=timing, clip=options.clip, cell=cell, absent=False)
    return out


def _add_lods(
    identified: Identified, stored: Scene | None, options: ImportOptions, dialect: Dialect
) -> list[GeneratedLevel]:
    """Add the levels of ``--generate-lods``, and return what is stated of them."""
    if not options.lod_ratios:
        return []
    if dialect is Dialect.SPEC and len(options.lod_ratios) >= LOD_COUNT:
        raise ConversionError(
            "--generate-lods asks for more levels than a model of the dialect spec has",
            value=len(options.lod_ratios),
            expected=f"at most {LOD_COUNT - 1}",
        )
    from ..rebuild.lods import generate_lods

    parts, now_of = stored.parts if stored is not None else [], identified.now_of
    taken = {(now_of[p.node], p.lod, p.group) for p in parts if p.node in now_of}
    return generate_lods(identified.scene, options.lod_ratios, taken, identified.report, dialect, options.lod_error)


def _write(
    out: ImportResult, built: Rebuilt, options: ImportOptions, *, before: MshModel | None = None, mode: Mode = "default"
) -> None:
    out.data, out.report = write_model(built.model), built.statuses
    if options.verify:
        again = read_model(read_nres(out.data, out.name), out.name)
        require_sound(leave_out(again)[0] if mode == "tolerant" else again, before)


def require_sound(model: MshModel, before: MshModel | None = None) -> None:
    """Refuse a written model that does not hold together; what it shows, the judge looks at.

    Args:
        model: read again from the bytes.
        before: the stored model; what was not strict there need not be strict here.
    """
    require_valid(model)
    found = _about_links(model)
    known = {one.code for one in _about_links(before)} if found and before is not None else set()
    for finding in found:
        if finding.code not in known:
            raise ConversionError(f"verification failed: {finding}")


def _about_links(model: MshModel) -> list[Finding]:
    return [*triangle_mutual(model), *batch_window(model)]


def judge_edited(out: ImportResult, seen: ImportedScene, stored: StoredModel, options: ImportOptions) -> None:
    """Compare an edited model with the file; what nothing explains goes into the report."""
    about = stored.about
    made = {one.name for one in out.new_materials} if options.own_materials else set()
    owns = {own_name(name, stem(about.source)): name for name in about.materials}
    copied = {name: of for name, of in owns.items() if name in made}
    judge_model(
        out.differences,
        seen,
        stored.scene,
        replace(written_model(out, about), copied=copied, looks=written_looks(out, about, stored.scene.materials)),
        timing=out.timing,
        clip=options.clip,
        cell=(seen.info.get("lod", about.lod), seen.info.get("group", about.group)),
        absent=about.visible_only or options.scene is not None,
        held=int(seen.info.get("frame_count", 1)) if about.clip == "keys" else 1,
    )


def written_model(out: ImportResult, about: Description | None) -> WrittenModel:
    """A model as it would be written; ``about``: what it was exported as; ``None``: it was made of a file alone."""
    files = {one.ending: one.data for one in out.companions}
    made = WrittenModel(name=out.name, data=out.data, dialect=out.dialect, wear=out.wear or [], levels=out.levels)
    if about is None:
        return replace(made, points=files.get(POINTS_ENDING, b""))
    before = about.companions.get(POINTS_ENDING, b"")
    return replace(
        made,
        wear=read_wear_names(files[WEAR_ENDING]) if WEAR_ENDING in files else about.materials,
        mode=about.mode,
        stored_keys=about.clip == "keys",
        points=None if about.points and not before else files.get(POINTS_ENDING, before),  # version 0.1 did not keep it
        exported=before,
    )


def _lost_without_sidecar(given: ImportedScene) -> list[NotApplied]:
    """Return what a file shows of its model's tables that cannot be rebuilt; warn of the rest. ``given``: the file; its
    warnings get a line where an exporter of this project made it.
    """
    if "digest" in given.info or "source" in given.info:
        given.report.warnings.append(
            "rebuilt without the sidecar: unknown tables and words (Res15, Res17, Res20, the last "
            "words of slots) are empty or zero now, whatever the model had"
        )
    paths = [node for node in given.nodes if node.extras.get("kind") == "paths"]
    return _recoloured(given) + [
        NotApplied(
            where=Subject("interior path graph", node.name),
            what="is shown, and not in the model",
            why="the file has its lines, not its tables (Res17)",
            instead=_KEEP_SIDECAR,
        )
        for node in paths
    ]


def _recoloured(given: ImportedScene) -> list[NotApplied]:
    """Materials that were exported in the colour of their row, and look otherwise now."""
    out = []
    for material, extras, surface in zip(given.materials, given.material_extras, given.surfaces, strict=False):
        if material.row < 0 or "material" in extras:  # foreign, or coloured by a game's library
            continue
        shown = (*colour_of_row(material.row), 1.0)
        there = surface.picture is not None or surface.light is not None or {*surface.others} - {*HARMLESS}
        more = there or any(surface.emission) or surface.alpha_mode != "OPAQUE"
        if more or np.abs(np.array(surface.colour) - shown).max() > _COLOUR_NOISE:
            edit = NotApplied(
                where=Subject("material", material.name),
                what="has another colour, or a picture, light, alpha or extensions",
                why="a model has but the names of its materials, and no game was at hand",
                instead="keep the .msh-sidecar beside the file, and export with the game at hand",
            )
            out.append(edit)
    return out
