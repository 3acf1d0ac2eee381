"""Import a mission or a unit that was edited, and tell at which height a moved building will likely stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..checks.assembly import check_mission
from ..edits.looks import UNRECORDED, compare_surfaces
from ..edits.materials import names_of_rows, same_stored
from ..edits.mission import Asset, MissionEdit
from ..edits.mission_objects import edit_mission
from ..edits.node_roles import leave_out_hidden
from ..edits.nodes import world_matrices
from ..edits.placed_scene import settle_objects
from ..edits.placements import Placements
from ..edits.unit import edit_unit
from ..errors import ConversionError, called, in_words
from ..findings import Report, without_new_errors
from ..formats.mission import (
    BUILDING,
    NO_ID,
    UNIT,
    VEGETATION,
    Mission,
    PlacedObject,
    kind_of_unit,
    read_mission,
    write_mission,
)
from ..formats.model_parts import FOOTING_ENDING, read_footing
from ..formats.names import readable, stem, without_number
from ..formats.nres import read_nres
from ..formats.objects import UNIT_ENDING, UNITS, Unit, read_unit, write_unit
from ..formats.sidecar import Description, Sidecar
from ..formats.terrain import Terrain, read_terrain
from ..judge.assemblies import PlacedModel
from ..judge.difference import Difference, tell
from ..judge.missions import differences_of_mission, differences_of_unit
from ..judge.shown import WrittenLooks, named
from ..numeric.arrays import F64
from ..options import ImportOptions
from ..queries.landscape import TerrainQueries
from ..scene.assembly import TERRAIN, hosted_places, material_names, object_label, stored_pose
from ..scene.scene import ImportedScene, Placed
from ..storage import walk_files
from .base import EditedFile
from .import_model import stored_model, written_model
from .import_placed import ShownFiles, import_ground, import_placed, merge_materials
from .import_result import ImportResult, refuse_draco, refuse_turned, written_looks
from .landscape import differences_of as differences_of_terrain
from .new_entries import add_surface_edits
from .registry import Game, find_game


def height_warnings(stored: Mission, edited: Mission, ground: Terrain, game: Game) -> Iterator[str]:
    """Yield the height of every building that is new or stands elsewhere, and has no start flag.

    The engine likely sets it at the mean height of the ground below its outline, the inner ring of its ``.bas``,
    whatever height the mission gives it. Buildings without an outline are left out. ``stored``, ``edited``: the mission
    before and after.
    """
    before = {_place(placed) for placed in stored.objects}
    queries = None
    for placed in edited.objects:
        free = placed.kind == BUILDING and not placed.record["start"] and placed.record["host"] == NO_ID
        if not free or _place(placed) in before:
            continue
        outline = _outline(placed, game)
        if outline is None:
            continue
        queries = queries or TerrainQueries(ground)
        pose = stored_pose(placed)
        heights, _ = queries.height_at(pose.apply(outline)[:, :2])
        if np.isfinite(heights).any():
            seat, shown = float(np.nanmean(heights)), float(placed.record["position"][2])
            yield (
                f"object {called(object_label(placed))}: stands likely at z {seat:.2f} in the game, not at "
                f"{shown:.2f}: without its start flag a building is set at the mean height of its outline"
            )


def _place(placed: PlacedObject) -> tuple[bytes, bytes, bytes]:
    record = placed.record
    return placed.path.lower(), record["position"].tobytes(), record["turns"].tobytes()


def _outline(placed: PlacedObject, game: Game) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    """The corners of a building's outline in its own frame, (n, 3); ``None``: it has none that can be read."""
    with suppress(ConversionError):  # the mission's own check says what is missing
        unit = game.unit(placed.reference)
        resolved = game.registry.resolve(unit.key(0))
        member = None if resolved is None else resolved.members.get(FOOTING_ENDING)
        if member is not None:
            return read_footing(game.open(member).entry.payload, str(member)).inner[:-1].astype(np.float64)
    return None


def _tell_heights(out: ImportResult, stored: Mission, edited: Mission, files: ShownFiles, game: Game | None) -> None:
    """Name the height at which moved buildings will stand, on the level as it is now."""
    if files.level is None or game is None:
        return
    level = files.level.description
    edits = [one.result.data for one in out.placed if one.sha256 == level.source_sha256]
    ground = read_terrain(read_nres(edits[0] if edits else files.level.source, level.source), level.source)
    out.differences.warnings += height_warnings(stored, edited, ground, game)


def game_for(gltf: Path, options: ImportOptions) -> Game | None:
    """Return the game whose models and units are known: as given, or one that a file lies in. Raises ConversionError:
    the directory that was given is not a game's.
    """
    if options.game is None:
        beside = find_game(gltf.parent)
        return None if beside is None else Game(beside)
    root = find_game(Path(options.game))
    if root is None:
        raise ConversionError("has no objects.rlb", file=options.game, hint="name the game's directory")
    return Game(root)


def known_assets(mission: Mission, game: Game | None, new_keys: Sequence[str] = ()) -> dict[str, Asset]:
    """Return what a mission can place, by path, key and name in lower case.

    Args:
        mission: what it places already is known.
        game: its units, and its objects that have a model.
    """
    known: dict[str, Asset] = {}
    for placed in mission.objects:
        _add(known, Asset(placed.kind, placed.reference))
    for key in new_keys:
        _add(known, Asset(VEGETATION, key))
    if game is None:
        return known
    folder = game.file(UNITS)
    for here, _, files in walk_files(folder) if folder is not None else ():
        for file in files:
            if not file.lower().endswith(UNIT_ENDING):
                continue
            path = Path(here, file).relative_to(game.root)
            parts = [readable(part) for part in path.parts]
            _add(known, Asset(kind_of_unit(parts), "\\".join(parts)))
    keys = game.registry.keys()
    for key in keys:
        resolved = game.registry.resolve(key)
        if resolved is not None and resolved.model is not None:
            _add(known, Asset(VEGETATION, key))
    return known


def _add(known: dict[str, Asset], asset: Asset) -> None:
    name = asset.path.rpartition("\\")[2]
    names = {asset.path, name, stem(name) if asset.kind in (BUILDING, UNIT) else name}
    for one in names:
        known.setdefault(one.lower(), asset)


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

    def add_placed(self, world: F64, new: set[int], exchanged: dict[int, str]) -> Placements:
        """Import the models that the file shows and what its materials show; arguments as of :class:`Placements`.

        Raises ConversionError: everything is turned, as Blender exports it without +Y Up.
        """
        out, files = self.out, self.files
        files.add_from_game(self.given, self.game)
        placements = Placements(self.given, world, files.shown, new, exchanged)
        out.kept_all = not out.changes
        self._compare_surfaces()
        import_placed(out, files, placements, self.game, self.options)
        if out.changes or out.not_applied:
            refuse_turned(self.given, files.shown.positions, None)
        return placements

    def _compare_surfaces(self) -> None:
        """Add what materials show otherwise: that belongs to the game's libraries.

        Materials of other names, and those on other triangles, are the models' (``import_placed``).
        """
        imported, about, rows = self.given, self.about, material_names(self.about.inside)
        names = [material.name for material in imported.materials]
        used = {p.material for mesh in imported.meshes for p in mesh.primitives if p.material >= 0}
        if used and imported.surfaces and not rows:
            imported.report.warnings.append(UNRECORDED)
        bare = ([(None, without_number(name)) for name in some] for some in (names, rows))
        surfaces = compare_surfaces(
            names,
            imported.surfaces,
            about.shown,
            same_stored(*bare),
            used=used,
            entries=about.library,
            rows=names_of_rows(rows),
        )
        add_surface_edits(self.out, surfaces, self.options)


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
    placements = work.add_placed(edit.world, edit.new_items, edit.exchanged)
    import_ground(out, work.files, placements, mission, game, options)
    merge_materials(out)
    _tell_heights(out, mission, edit.mission, work.files, game)
    if not out.kept_all:
        out.data = write_mission(edit.mission)
        again = read_mission(out.data, work.name)
        if write_mission(again) != out.data:
            raise ConversionError("the written mission does not read back", value=work.name)
        if options.verify:
            without_new_errors(check_mission(again), check_mission(mission), work.name)
    if edited.seen is not None:
        _judge_mission(out, edited.seen, work.kept)
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
    merge_materials(out)
    unit = _on_sockets(out, edit.unit, work.files)
    out.kept_all &= unit is edit.unit
    if not out.kept_all:
        out.data = write_unit(unit)
        if write_unit(read_unit(out.data, work.name)) != out.data:
            raise ConversionError("the written unit does not read back", value=work.name)
    if edited.seen is not None:
        models, looks = _models(work.kept, out), _looks(out, work.about)
        written = read_unit(out.data, out.name)
        tell(out.differences, differences_of_unit(edited.seen, stored, written, models, looks))
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


def _judge_mission(out: ImportResult, seen: ImportedScene, kept: Sidecar) -> None:
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
    kept_as_is = ImportResult(about.source, bytes(level.source), "", Report(), kept_all=True)
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
