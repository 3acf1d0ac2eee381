"""Import a unit or a mission that was edited, and what it shows of models and its level, each into a file of its own.

A placed model takes the same import as a model alone. Where placements of it were edited in
different ways, none is applied, and each is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..checks.assembly import check_mission
from ..edits.looks import compare_surfaces
from ..edits.materials import merged_materials, names_of_rows, same_stored
from ..edits.mission import MissionEdit
from ..edits.mission_objects import edit_mission
from ..edits.node_roles import leave_out_hidden
from ..edits.nodes import world_matrices
from ..edits.placed_scene import Copies, Shown, ShownModel, settle_objects
from ..edits.placements import PLACES, Placements
from ..edits.unit import edit_unit
from ..errors import ConversionError, called, in_words, plural, printable
from ..findings import Change, NotApplied, Report, Subject, without_new_errors
from ..formats.kinds import Kind
from ..formats.mission import BUILDING, NO_ID, Mission, PlacedObject, read_mission, write_mission
from ..formats.model_parts import POINTS_ENDING, read_points
from ..formats.names import without_number
from ..formats.nres import read_nres
from ..formats.objects import Unit, read_unit, write_unit
from ..formats.sidecar import Description, Sidecar
from ..formats.terrain import read_terrain
from ..judge.assemblies import PlacedModel
from ..judge.difference import Difference, tell
from ..judge.judge import judge_motion
from ..judge.missions import differences_of_mission, differences_of_unit
from ..judge.models import snapshot
from ..judge.shown import WrittenLooks, named
from ..numeric.arrays import F64
from ..options import ExportOptions, ImportOptions
from ..queries.landscape import TerrainQueries
from ..scene.assembly import CLIPS, TERRAIN, hosted_places, material_names, object_key, object_label, stored_pose
from ..scene.companions import shown_points
from ..scene.scene import ImportedScene, Placed, Scene
from .base import EditedFile
from .import_companions import numbered_files
from .import_model import import_edited, stored_model, written_model
from .import_result import (
    ImportResult,
    PlacedImport,
    placed_import,
    refuse_draco,
    refuse_turned,
    shared_lists,
    why_elsewhere,
    written_looks,
)
from .landscape import differences_of as differences_of_terrain
from .landscape import import_terrain, stored_terrain
from .model import description
from .new_entries import add_surface_edits, merged
from .placed_models import PlacedModels, game_for, known_assets, own_sidecar
from .registry import Game


@dataclass(frozen=True)
class _Source:
    """A model that is shown: its sidecar, and an object key of it."""

    kept: Sidecar
    key: str


class ShownFiles:
    """The models and the terrain that the glTF of a unit or mission shows; ``shown``: what it shows."""

    def __init__(self, kept: Sidecar) -> None:
        """Read what is attached to a sidecar; ``kept``: that of a unit or mission. Raises ConversionError: something
        attached cannot be read.
        """
        self._about = kept.description
        self._sources: dict[int, _Source] = {}
        inside = self._about.inside
        rows: dict[int, ShownModel] = {}
        keys: dict[str, ShownModel] = {}
        for text, number in inside.items():
            kind, _, key = text.partition(" ")
            if kind == "model":
                row = _row(kept, number, Kind.MODEL)
                if row not in rows:
                    rows[row] = self._model(_Source(kept.attached[row], key), moves=CLIPS in inside)
                keys[key] = rows[row]
        self.level = kept.attached[_row(kept, inside[TERRAIN], Kind.TERRAIN)] if TERRAIN in inside else None
        ground = None
        if self.level is not None:
            ground = stored_terrain(self.level, self.level.description.source)[1].positions
        self.shown = Shown(inside, keys, ground)

    def _model(self, source: _Source, *, moves: bool, of_game: bool = False) -> ShownModel:
        about = source.kept.description
        scene = stored_model(source.kept, Path(about.source)).scene
        points = read_points(about.companions.get(POINTS_ENDING, b""), about.source)
        out = ShownModel(about.source, scene, shown_points(points, scene)[0], moves, of_game)
        self._sources[id(out)] = source
        return out

    def add_from_game(self, given: ImportedScene, game: Game | None) -> None:
        """Add the models of objects that were added to a file.

        Assets show the first level of detail without clips; other files are left as they are. Raises ConversionError:
        the game's registry cannot be read.
        """
        models, about = self.shown.models, self._about
        keys = {object_key(n.extras) for n in given.nodes if n.extras.get("kind") in PLACES} - {*models, ""}
        if game is None or given.clips or (about.lod, about.group) != (0, 0) or not keys:
            return
        options = ExportOptions(find_textures=False, points=False)
        found = PlacedModels(game, options)
        rows = {key: row for key in sorted(keys) if (row := found.row(key)) is not None}
        made: dict[int, ShownModel] = {}
        for key, row in rows.items():
            one = found.loaded[row]
            source = _Source(own_sidecar(description(one, options, "samples"), one), key)
            made[row] = self._model(source, moves=False, of_game=True)
        self.shown = replace(self.shown, models={**models, **{key: made[row] for key, row in rows.items()}})

    def source(self, model: ShownModel) -> _Source:
        """Return where a model came from."""
        return self._sources[id(model)]

    def sidecar(self, kept: Sidecar, scene: Scene) -> Sidecar:
        """Return the sidecar of a model with what its materials showed in the whole file."""
        names, about = material_names(self._about.inside), self._about
        if not (shown := dict(zip(names, about.shown, strict=False))):
            return kept
        blank = next(iter(shown.values()))._replace(definition="", picture=None, light=None)
        surfaces = [shown.get(material.name, blank) for material in scene.materials]
        return replace(kept, description=replace(kept.description, shown=surfaces, library=about.library))


def _row(kept: Sidecar, number: str, kind: Kind) -> int:
    """The number of an attached sidecar of a kind."""
    row = int(number) if number.isdecimal() and len(number) < 10 else -1
    if not 0 <= row < len(kept.attached) or kept.attached[row].description.kind is not kind:
        raise ConversionError("sidecar's description cannot be read", value=f"{kind.in_extras} {number}")
    return row


@dataclass
class _Edit:
    """Copies of a model, and what comes of their import; ``None``: it was refused."""

    copies: Copies
    result: ImportResult | None
    problem: str = ""

    @property
    def changes(self) -> list[Change]:
        """What of it is applied."""
        return [] if self.result is None else [*self.result.changes]

    @property
    def inside(self) -> list[str]:
        """The names of all that the copies show."""
        return [node.name for node in self.copies.scene.nodes]


class _Import:
    """What the imports of a unit and of a mission have in common."""

    def __init__(self, edited: EditedFile) -> None:
        """Leave out what is hidden. Raises ConversionError: the file lost its custom properties, or is compressed."""
        self.kept, self.given, self.options = edited.kept, edited.given, edited.options
        if not any("kind" in node.extras for node in self.given.nodes):
            raise ConversionError(
                "does not say what its objects are: it lost its custom properties",
                hint="export it with Include > Custom Properties",
            )
        refuse_draco(self.given, rebuilds=False)
        leave_out_hidden(self.given, lambda item: bool(item.extras))
        self.about, self.data = self.kept.description, bytes(self.kept.source)
        self.name = self.about.source
        self.out = ImportResult(self.name, self.data, "", self.given.report, kept_all=True)
        self.game, self.files = game_for(edited.gltf, self.options), ShownFiles(self.kept)

    def add_placed(self, world: F64, new: set[int], exchanged: dict[int, str]) -> None:
        """Import the models that the file shows and what its materials show; arguments as of :class:`Placements`.

        Raises ConversionError: everything is turned, as Blender exports it without +Y Up.
        """
        out, files = self.out, self.files
        files.add_from_game(self.given, self.game)
        self.placements = Placements(self.given, world, files.shown, new, exchanged)
        out.kept_all = not out.changes
        self._compare_surfaces()
        self.import_placed()
        if out.changes or out.not_applied:
            refuse_turned(self.given, files.shown.positions, None)

    def _compare_surfaces(self) -> None:
        """Add what materials show otherwise: that belongs to the game's libraries.

        Materials of other names, and those on other triangles, are the models' (``import_placed``).
        """
        given, rows = self.given, material_names(self.about.inside)
        names = [material.name for material in given.materials]
        used = {p.material for mesh in given.meshes for p in mesh.primitives}
        bare = ([(None, without_number(name)) for name in some] for some in (names, rows))
        same = same_stored(*bare)
        surfaces = compare_surfaces(given, self.about, names, same, used=used, rows=names_of_rows(rows))
        add_surface_edits(self.out, surfaces, self.options)

    def import_placed(self) -> None:
        """Import what the file changes of the models that it shows."""
        options = replace(self.options, lod_ratios=(), own_materials=False, clip=None, ignore_scale=True)
        alike: dict[tuple[str, str], list[_Edit]] = {}
        for copies in self.placements.copies(options.fps):
            about = self.files.source(copies.model).kept.description
            alike.setdefault((about.source, about.source_sha256), []).append(self._imported(copies, options))
        for edits in alike.values():
            self._choose(edits)

    def _imported(self, copies: Copies, options: ImportOptions) -> _Edit:
        kept = self.files.source(copies.model).kept
        path = Path(kept.description.source)
        if copies.is_copy and (missing := copies.missing):
            return _Edit(copies, None, f"lacks {plural(len(missing), 'node')} of its model, as {in_words(missing[0])}")
        placed, seen = copies.scene.placed, snapshot(copies.scene)
        try:
            stored = stored_model(self.files.sidecar(kept, copies.model.scene), path)
            result = import_edited(copies.scene, stored, numbered_files(stored.about), options)
            if options.verify and result.timing is not None and placed is not None and placed.moves:
                written = written_model(result, stored.about)
                if not written.stored_keys:
                    judge_motion(result.differences, seen, stored.scene, written.scene(), result.timing, seen.shown)
            return _Edit(copies, result)
        except ConversionError as error:
            return _Edit(copies, None, str(error))

    def _choose(self, edits: Sequence[_Edit]) -> None:
        """Take what placements of one model agree on; report the rest."""
        report = self.out.differences
        places = [place for edit in edits for place in edit.copies.places]
        of_file, reported = {(one.where, one.why) for one in report.not_applied}, set[NotApplied]()
        for edit in edits:
            title = self._title(edit, of_all=len(edit.copies.places) == len(places))
            if edit.result is None:
                why, instead = "the model cannot hold it", "undo it, or edit the model's own file"
                report.skipped(title, edit.problem, why, instead, names=edit.inside)
                continue
            for one in edit.result.not_applied:
                if one not in reported and (one.where, one.why) not in of_file:
                    report.not_applied.append(replace(one, where=f"{title}, {one.where}"))
                    reported.add(one)
        edited = [edit for edit in edits if edit.changes]
        if not edited:
            return
        best = max(edited, key=lambda edit: len(edit.changes))
        # an edit may be contained in another one, as that of a mesh that all placements share
        most = {*best.changes}
        if all({*one.changes} <= most and best.copies.covers(one.copies) for one in edited if one is not best):
            self._take(best, edited, places)
            return
        for edit in edited:
            others = self.placements.title([p for other in edited if other is not edit for p in other.copies.places], 1)
            report.skipped(
                self._title(edit, of_all=False),
                "; ".join(f"{change.where}: {change.what}" for change in edit.changes[:5]),
                f"all places show one model, and in {others} it was edited in another way",
                "make the same edit in all places, or undo it in all but one",
                names=edit.inside,
            )

    def _title(self, edit: _Edit, *, of_all: bool) -> Subject:
        """What messages call a model, and those of its places that show it so where these are not all."""
        file, names = edit.copies.model.file, (self.given.nodes[i].name for i in edit.copies.places)
        title = f"model {called(file)}"
        if not of_all:
            title += f" in {self.placements.title(edit.copies.places)}"
        return Subject("model", file, *names, text=title)

    def _take(self, best: _Edit, edited: Sequence[_Edit], places: Sequence[int]) -> None:
        out, game, result, model = self.out, self.game, best.result, best.copies.model
        assert result is not None
        source = self.files.source(model)
        about = source.kept.description
        title = f"model {called(model.file)}"
        placed = placed_import(result, about, None if game is None else game.object(source.key))
        if problem := why_elsewhere(placed, out.placed):
            where = self._title(best, of_all=False)
            what = "; ".join(f"{change.where}: {change.what}" for change in result.changes[:5])
            out.differences.skipped(where, what, *problem, names=best.inside)
            return
        for change in result.changes:
            out.differences.changed(f"{title}, {change.where}", change.what)
        out.differences.warnings += [f"{printable(model.file)}: {text}" for text in result.warnings]
        shown = sum(len(edit.copies.places) for edit in edited if {*edit.changes} == {*best.changes})
        elsewhere = [k for i in places if i not in best.copies.places for k in (i, *self.placements.items_of[i])]
        others = [self.given.nodes[k].name for k in elsewhere]
        out.differences.concerned += result.differences.concerned
        out.differences.concerns(others)
        if (count := len(places)) > shown:
            out.differences.warnings.append(
                f"{printable(model.file)} was edited in {self.placements.title(best.copies.places)}, and changes in "
                f"{plural(count - shown, 'other place')} of this file too"
            )
        out.library += result.library
        out.new_materials += result.new_materials
        if not (result.kept_all and not result.companions):
            out.placed.append(placed)
        if game is not None:
            out.differences.warnings += shared_lists(placed, game)

    def merge_materials(self) -> None:
        """Join what several placed models change in the game's libraries; report what contradicts itself."""
        out = self.out
        out.library, conflicts = merged(out.library)
        out.new_materials, others = merged_materials(out.new_materials)
        out.differences.not_applied += [*conflicts, *others]

    def import_ground(self, mission: Mission) -> None:
        """Import what a file changes of the level that it shows."""
        level, own = self.files.level, self.placements.terrain()
        if level is None or own is None:
            return
        out, report, about = self.out, self.out.differences, level.description
        try:
            result = import_terrain(level, own, replace(self.options, own_materials=False), about.source)
        except ConversionError as error:
            report.skipped("terrain", str(error), "the level cannot hold it", "undo it, or edit the level's own file")
            return
        for change in result.changes:
            report.changed(f"terrain, {change.where}", change.what)
        report.not_applied += [replace(one, where=f"terrain, {one.where}") for one in result.not_applied]
        report.warnings += [f"terrain: {text}" for text in result.warnings]
        if result.changes:
            out.library += result.library
            out.new_materials += result.new_materials
            path = None if self.game is None else self.game.file(f"{mission.map}.msh")
            out.placed.append(PlacedImport(result, about.source_sha256, path))

    def tell_heights(self, stored: Mission, edited: Mission) -> None:
        """Name the height of every building that is new or stands elsewhere, and has no start flag.

        The engine likely sets it at the mean height of the level, as it is now, below its outline, whatever height the
        mission gives it. Buildings without an outline are left out.
        """
        out, level = self.out, self.files.level
        if level is None or self.game is None:
            return
        about, before, queries = level.description, {_stands(placed) for placed in stored.objects}, None
        for placed in edited.objects:
            free = placed.kind == BUILDING and not placed.record["start"] and placed.record["host"] == NO_ID
            outline = self.game.outline(placed.reference) if free and _stands(placed) not in before else None
            if outline is None:
                continue
            if queries is None:
                edits = [one.result.data for one in out.placed if one.sha256 == about.source_sha256]
                data = edits[0] if edits else level.source
                queries = TerrainQueries(read_terrain(read_nres(data, about.source), about.source))
            heights, _ = queries.height_at(stored_pose(placed).apply(outline)[:, :2])
            if np.isfinite(heights).any():
                seat, shown = float(np.nanmean(heights)), float(placed.record["position"][2])
                out.differences.warnings.append(
                    f"object {called(object_label(placed))}: stands likely at z {seat:.2f} in the game, not at "
                    f"{shown:.2f}: without its start flag a building is set at the mean height of its outline"
                )


def _stands(placed: PlacedObject) -> tuple[bytes, bytes, bytes]:
    record = placed.record
    return placed.path.lower(), record["position"].tobytes(), record["turns"].tobytes()


def import_mission(edited: EditedFile) -> ImportResult:
    """Import a mission that was edited. Raises ConversionError: unreadable, or an object of something that nothing is
    known of.
    """
    work = _Import(edited)
    mission, out, game, options = read_mission(work.data, work.name), work.out, work.game, work.options
    settle_objects(work.given, mission, work.files.shown)
    known, hosted = known_assets(mission, game, options.new_keys), hosted_places(work.about.inside)
    edit = MissionEdit(work.given, mission, known, hosted, _left_out(work.about, mission), options)
    edit_mission(edit)
    work.add_placed(edit.world, edit.new_items, edit.exchanged)
    work.import_ground(mission)
    work.merge_materials()
    work.tell_heights(mission, edit.mission)
    if not out.kept_all:
        out.data = write_mission(edit.mission)
        again = read_mission(out.data, work.name)
        if write_mission(again) != out.data:
            raise ConversionError("the written mission does not read back", value=work.name)
        if options.verify:
            without_new_errors(check_mission(again), check_mission(mission), work.name)
    if edited.seen is not None:
        judge_mission(out, edited.seen, work.kept)
    return out


def _left_out(about: Description, mission: Mission) -> frozenset[int]:
    """The rows of the objects that a file was made without."""
    shown = {int(row) for row in about.inside.get("rows", "").split() if row.isdecimal()}
    return frozenset({*range(len(mission.objects))} - shown)


def import_unit(edited: EditedFile) -> ImportResult:
    """Import a unit that was edited; errors as of :func:`import_mission`. A unit without its chassis is refused."""
    work = _Import(edited)
    stored, out, game = read_unit(work.data, work.name), work.out, work.game
    known = None
    if game is not None:
        known = {key.lower(): key for key in (*game.registry.keys(), *work.options.new_keys)}
    edit = edit_unit(work.given, stored, known)
    work.add_placed(world_matrices(work.given.nodes), edit.new, edit.exchanged)
    work.merge_materials()
    unit = _on_sockets(out, edit.unit, work.files)
    out.kept_all &= unit is edit.unit
    if not out.kept_all:
        out.data = write_unit(unit)
        if write_unit(read_unit(out.data, work.name)) != out.data:
            raise ConversionError("the written unit does not read back", value=work.name)
    if edited.seen is not None:
        judge_unit(out, edited.seen, work.kept)
    return out


def _on_sockets(out: ImportResult, unit: Unit, files: ShownFiles) -> Unit:
    """Return a unit whose parts stay on their sockets, where nodes of a model that was edited here have other rows."""
    edited = {(one.result.name, one.sha256): one.result.rows for one in out.placed}
    records = unit.records.copy()
    for row in (row for row in range(1, len(unit)) if unit.is_shown(row)):
        if (model := files.shown.models.get(unit.key(int(unit.parents[row])).lower())) is not None:
            about, old = files.source(model).kept.description, unit.attach(row)
            new = edited.get((about.source, about.source_sha256), {}).get(old, old)
            if new != old:
                records["attach"][row] = new
                what = f"attach {old} became {new}"
                out.differences.changed(f"component {row} {in_words(unit.key(row))}", what)
    return unit if (records == unit.records).all() else Unit(unit.type, records)


def judge_unit(out: ImportResult, seen: ImportedScene, kept: Sidecar) -> None:
    """Compare an edited unit with the file; what nothing explains goes into the report."""
    about = kept.description
    stored, written = read_unit(bytes(kept.source), about.source), read_unit(out.data, out.name)
    tell(out.differences, differences_of_unit(seen, stored, written, _models(kept, out), _looks(out, about)))


def judge_mission(out: ImportResult, seen: ImportedScene, kept: Sidecar) -> None:
    """Compare an edited mission with the file; what nothing explains goes into the report."""
    about = kept.description
    stored, written = read_mission(bytes(kept.source), about.source), read_mission(out.data, out.name)
    hosted, models, looks = hosted_places(about.inside), _models(kept, out), _looks(out, about)
    left_out = _left_out(about, stored)
    found = differences_of_mission(seen, stored, written, models, hosted, left_out, looks, about.inside)
    tell(out.differences, found + _differences_of_ground(out, seen, kept))


def _differences_of_ground(out: ImportResult, seen: ImportedScene, kept: Sidecar) -> list[Difference]:
    """What the level will show otherwise than the file of a mission, as it will be, if it was edited there."""
    if (number := kept.description.inside.get(TERRAIN)) is None:
        return []
    level = kept.attached[int(number)]
    about = level.description
    kept_as_is = ImportResult(about.source, bytes(level.source), "", Report())
    edited = (one.result for one in out.placed if one.index is None and one.sha256 == about.source_sha256)
    nodes = [node if "level" in node.extras else replace(node, mesh=-1) for node in seen.nodes]
    if not any(node.mesh >= 0 and seen.meshes[node.mesh].drawn for node in nodes):
        return [Difference(TERRAIN, "node", "is in the game, and not in the file", (TERRAIN,))]
    own = replace(seen, nodes=nodes, placed=Placed(0.0, moves=False, points=False))
    return differences_of_terrain(next(edited, kept_as_is), own, level, about.source)


def _looks(out: ImportResult, about: Description) -> WrittenLooks | None:
    return written_looks(out, about, named([without_number(name) for name in material_names(about.inside)]))


def _models(kept: Sidecar, out: ImportResult) -> dict[str, PlacedModel]:
    about = kept.description
    edited = {(one.result.name, one.sha256): one.result for one in out.placed}
    made: dict[str, PlacedModel] = {}
    models: dict[str, PlacedModel] = {}
    for text, number in about.inside.items():
        kind, _, key = text.partition(" ")
        if kind != "model":
            continue
        if number not in made:
            own = kept.attached[int(number)]
            stored = stored_model(own, Path(own.description.source))
            result = edited.get((own.description.source, own.description.source_sha256))
            scene = stored.scene if result is None else written_model(result, stored.about).scene()
            rows = {} if result is None else result.rows
            made[number] = PlacedModel(scene, (about.lod, about.group), stored.scene, rows)
        models[key] = made[number]
    return models
