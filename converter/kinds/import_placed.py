"""Import what an edited unit or mission shows of models and its level, each into a file of its own.

A placed model takes the same import as a model alone. Where placements of it were edited in
different ways, none is applied, and each is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..edits.materials import merged_materials
from ..edits.placed_scene import Copies, Shown, ShownModel
from ..edits.placements import PLACES, Placements
from ..errors import ConversionError, called, few, in_words, plural, printable
from ..findings import Change, NotApplied, Subject
from ..formats.kinds import Kind
from ..formats.mission import Mission
from ..formats.model_parts import POINTS_ENDING, read_points
from ..formats.names import decode_text
from ..formats.objects import Member
from ..formats.sidecar import Description, Sidecar
from ..formats.wear import WEAR_ENDING, read_wear_names
from ..judge.judge import judge_motion
from ..judge.models import snapshot
from ..options import ExportOptions, ImportOptions
from ..scene.assembly import CLIPS, TERRAIN, material_names, object_key
from ..scene.companions import shown_points
from ..scene.scene import ImportedScene, Scene
from .import_model import import_edited, stored_model, written_model
from .import_result import ImportResult, PlacedImport
from .landscape import import_terrain, stored_terrain
from .model import description
from .new_entries import merged
from .placed_models import PlacedModels, own_sidecar
from .registry import Game, KnownObject, inside


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
        made = {
            row: self._model(
                _Source(own_sidecar(description(found.loaded[row], options, "samples"), found.loaded[row]), key),
                moves=False,
                of_game=True,
            )
            for key, row in rows.items()
        }
        self.shown = replace(self.shown, models={**models, **{key: made[row] for key, row in rows.items()}})

    def source(self, model: ShownModel) -> _Source:
        """Return where a model came from."""
        return self._sources[id(model)]

    def sidecar(self, kept: Sidecar, scene: Scene) -> Sidecar:
        """Return the sidecar of a model with what its materials showed in the whole file."""
        names, about = material_names(self._about.inside), self._about
        shown = dict(zip(names, about.shown, strict=False))
        if not shown:
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


def import_placed(
    out: ImportResult, files: ShownFiles, placements: Placements, game: Game | None, options: ImportOptions
) -> None:
    """Import what a file changes of the models that it shows.

    Args:
        out: the result of the unit or mission; what is placed, its report and its materials grow.
        files: what the file showed when it was exported.
        game: where the models' files are; ``None``: not known.
    """
    options = replace(options, lod_ratios=(), own_materials=False, clip=None, ignore_scale=True)
    alike: dict[tuple[str, str], list[_Edit]] = {}
    for copies in placements.copies(options.fps):
        about = files.source(copies.model).kept.description
        alike.setdefault((about.source, about.source_sha256), []).append(_imported(copies, files, options))
    for edits in alike.values():
        _choose(out, edits, files, placements, game)


@dataclass
class _Edit:
    """Copies of a model, and what comes of their import; ``None``: it was refused."""

    copies: Copies
    result: ImportResult | None
    problem: str = ""

    @property
    def is_edit(self) -> bool:
        """Whether something of it is applied."""
        return self.result is not None and bool(self.result.changes)


def _imported(copies: Copies, files: ShownFiles, options: ImportOptions) -> _Edit:
    kept = files.source(copies.model).kept
    path = Path(kept.description.source)
    if copies.is_copy and (missing := copies.missing):
        return _Edit(copies, None, f"lacks {plural(len(missing), 'node')} of its model, as {in_words(missing[0])}")
    placed, seen = copies.scene.placed, snapshot(copies.scene)
    try:
        stored = stored_model(files.sidecar(kept, copies.model.scene), path)
        result = import_edited(path, copies.scene, stored, options)
        if options.verify and result.timing is not None and placed is not None and placed.moves:
            written = written_model(result, stored.about)
            if not written.stored_keys:
                judge_motion(result.differences, seen, stored.scene, written.scene(), result.timing, seen.shown)
        return _Edit(copies, result)
    except ConversionError as error:
        return _Edit(copies, None, str(error))


def _choose(
    out: ImportResult, edits: Sequence[_Edit], files: ShownFiles, placements: Placements, game: Game | None
) -> None:
    """Take what placements of one model agree on; report the rest."""
    report, model = out.differences, edits[0].copies.model
    places = [place for edit in edits for place in edit.copies.places]
    of_file, told = {(one.where, one.why) for one in report.not_applied}, set[NotApplied]()
    for edit in edits:
        title = _title(model, edit, placements, of_all=len(edit.copies.places) == len(places))
        if edit.result is None:
            report.skipped(title, edit.problem, "the model cannot hold it", "undo it, or edit the model's own file")
            continue
        for one in edit.result.not_applied:
            if one not in told and (one.where, one.why) not in of_file:
                report.not_applied.append(replace(one, where=f"{title}, {one.where}"))
                told.add(one)
    edited = [edit for edit in edits if edit.is_edit]
    if not edited:
        return
    best = max(edited, key=lambda edit: len(_changes(edit)))
    if all(_is_part_of(other, best) for other in edited if other is not best):
        _take(out, best, edited, files, placements, game, places)
        return
    for edit in edited:
        others = placements.title([p for other in edited if other is not edit for p in other.copies.places], 1)
        report.skipped(
            _title(model, edit, placements, of_all=False),
            "; ".join(f"{change.where}: {change.what}" for change in _changes(edit)[:5]),
            f"all places show one model, and in {others} it was edited in another way",
            "make the same edit in all places, or undo it in all but one",
        )


def _title(model: ShownModel, edit: _Edit, placements: Placements, *, of_all: bool) -> Subject:
    """What messages call a model, and those of its places that show it so where these are not all."""
    title, names = f"model {called(model.file)}", (placements.given.nodes[i].name for i in edit.copies.places)
    if not of_all:
        title += f" in {placements.title(edit.copies.places)}"
    return Subject("model", model.file, *names, text=title)


def _changes(edit: _Edit) -> list[Change]:
    return [] if edit.result is None else [*edit.result.changes]


def _is_part_of(other: _Edit, best: _Edit) -> bool:
    """Whether an edit is contained in another one, as that of a mesh that all placements share."""
    return set(_changes(other)) <= set(_changes(best)) and best.copies.covers(other.copies)


def _take(
    out: ImportResult,
    best: _Edit,
    edited: Sequence[_Edit],
    files: ShownFiles,
    placements: Placements,
    game: Game | None,
    places: Sequence[int],
) -> None:
    result, model = best.result, best.copies.model
    assert result is not None
    source = files.source(model)
    about = source.kept.description
    title = f"model {called(model.file)}"
    placed = _placed(result, about, None if game is None else game.object(source.key))
    if problem := _elsewhere(placed, out.placed):
        where = _title(model, best, placements, of_all=False)
        what = "; ".join(f"{change.where}: {change.what}" for change in result.changes[:5])
        out.differences.skipped(where, what, *problem)
        return
    for change in result.changes:
        out.differences.changed(f"{title}, {change.where}", change.what)
    out.differences.warnings += [f"{printable(model.file)}: {text}" for text in result.warnings]
    shown = sum(len(edit.copies.places) for edit in edited if {*_changes(edit)} == {*_changes(best)})
    elsewhere = [k for i in places if i not in best.copies.places for k in (i, *placements.items_of[i])]
    others = [placements.given.nodes[k].name for k in elsewhere]
    out.differences.concerned += result.differences.concerned
    out.differences.concerns(others)
    if (count := len(places)) > shown:
        out.differences.warnings.append(
            f"{printable(model.file)} was edited in {placements.title(best.copies.places)}, and changes in "
            f"{plural(count - shown, 'other place')} of this file too"
        )
    out.library += result.library
    out.new_materials += result.new_materials
    if not (result.kept_all and not result.companions):
        out.placed.append(placed)
    if game is not None:
        out.differences.warnings += _shared_lists(placed, game)


def _placed(result: ImportResult, about: Description, known: KnownObject | None) -> PlacedImport:
    """A model and what changes with it, where the registry says that they are."""
    if known is None or known.model is None or known.resolved is None:
        return PlacedImport(result, about.source_sha256)
    there, files = known.model, known.resolved.members
    for i, one in enumerate(result.companions):
        member = files.get(one.ending.lower())
        if member is not None and member.name.lower() != one.entry_name(there.entry.name).lower():
            result.companions[i] = replace(one, name=member.name)
    return PlacedImport(result, about.source_sha256, there.path, there.index, there.entry.name_bytes)


def _elsewhere(placed: PlacedImport, others: Sequence[PlacedImport]) -> tuple[str, str] | None:
    """Why a file of another name that goes with a model cannot be written with it, and what to do; ``None``: it can."""
    own = {one.name.lower(): one for one in placed.result.companions if one.name}
    for other in others:
        model = decode_text(other.raw_name)
        for one in other.result.companions if other.path == placed.path else ():
            mine = own.get(one.entry_name(model).lower())
            if mine is not None and mine.data != one.data:
                why = f"it shares {printable(mine.name)} with model {called(other.result.name)}, which is edited, too"
                return why, "put one of the two edits into the game first"
    return None


def _shared_lists(placed: PlacedImport, game: Game) -> Iterator[str]:
    """Warn of objects that show an edited model with another list of materials, or another model with this one."""
    for one in placed.result.companions:
        if placed.path is None or one.ending.lower() != WEAR_ENDING:
            continue
        archive, model = inside(placed.path, game), decode_text(placed.raw_name)
        name = one.entry_name(model)
        own = Member(archive, model).place, Member(archive, name).place
        before = read_wear_names(one.before)
        renamed = before != read_wear_names(one.data)[: len(before)]
        others = []
        for known in game.objects:
            if known.model is not None and known.wear is not None:
                of_model, of_list = known.model.place == own[0], known.wear.place == own[1]
                if of_model != of_list and (of_model or renamed):
                    others.append(printable(known.key))
        if others:
            yield (
                f"{printable(name)} was edited for {printable(model)}; object {few(others)} has this list with "
                "another model, or this model with another list: look at it, too"
            )


def merge_materials(out: ImportResult) -> None:
    """Join what several placed models change in the game's libraries; report what contradicts itself."""
    out.library, conflicts = merged(out.library)
    out.new_materials, others = merged_materials(out.new_materials)
    out.differences.not_applied += [*conflicts, *others]


def import_ground(
    out: ImportResult,
    files: ShownFiles,
    placements: Placements,
    mission: Mission,
    game: Game | None,
    options: ImportOptions,
) -> None:
    """Import what a file changes of the level that it shows; arguments as of :func:`import_placed`."""
    level, own = files.level, placements.terrain()
    if level is None or own is None:
        return
    report, about = out.differences, level.description
    try:
        result = import_terrain(level, own, replace(options, own_materials=False), about.source)
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
        path = None if game is None else game.file(f"{mission.map}.msh")
        out.placed.append(PlacedImport(result, about.source_sha256, path))
