"""Import a whole run: ``gltf2msh OUT_DIR -o NEW_GAME_DIR --game GAME_DIR``.

Everything is converted before anything is written. The game's directory is read, never written,
unless the user asks for it to be changed in place. What the models change in the game's libraries
(colours, pictures, new entries) is joined.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter

from .. import MANIFEST
from ..edits.materials import NewMaterial, contradiction
from ..errors import ConversionError, called, in_words, plural, printable, quoted
from ..files import no_run, read_file
from ..findings import Change, NotApplied
from ..formats.material import MATERIALS, TEXTURES, LibraryEdit
from ..formats.names import decode_text, encode_name, readable, unescape
from ..formats.nres import NAME_SIZE
from ..formats.sidecar import SUFFIX, read_sidecar
from ..formats.wear import WEAR_ENDING, edited_wear, read_wear, write_wear
from ..kinds.import_result import unapplied
from ..kinds.new_entries import NewEntries, NewEntry, contradicted, meant_message, merged, no_library
from ..kinds.open_files import entry_file, find_library
from ..options import ImportOptions
from ..storage import absolute, real_path, remove_temporary
from .edits import GameEdits
from .games import HINT_OF_RUN, library_edit
from .import_item import Brought, Edited, ImportTask, brought_by, import_item, untouched_item
from .manifest import FAILED, Manifest, Outcome, Progress, Run, guarded, read_manifest
from .new_models import NewKeys
from .sources import stray_pictures
from .vault import find_root
from .walk import Skipped, Tree, text_of, tree
from .workers import Engine
from .write_game import GameWriter, Places, add_placed_edits

#: A glTF file that the manifest does not know: its path, its archive or ``None``, its entry name.
_New = tuple[str, str | None, str]
Display = Callable[[str, int], contextlib.AbstractContextManager[Progress]]


def import_run(
    places: Places,
    options: ImportOptions,
    engine: Engine,
    progress: Display,
    *,
    add: bool = False,
    tag: str | None = None,
    require_all: bool = False,
    force: bool = False,
    dry_run: bool = False,
    saved: Collection[str] | None = None,
) -> Run:
    """Write what changed into the game's archives.

    Args:
        require_all: write nothing where a difference cannot be applied.
        saved: paths below the glTF directory: only these are looked at, and what is in force in the game. What
            ``msh-mod undo`` took back stays so until its file is saved again.

    Raises:
        ConversionError: no manifest, overlapping directories, or something is in the way.
    """
    started = perf_counter()
    places.check()
    with no_run(places.out):
        manifest, beside = _converted(places.out)
        below = tree(places.game)
        _require_sources(places, manifest, below)
        door, prefix = _door(places, manifest, dry_run)
        with door:
            if not dry_run:
                remove_temporary(places.new or places.game)
            run = Run("gltf2msh")
            brought = brought_by(door, prefix, {r.id: r for r in manifest.records.values()})
            if door.messages:  # what a killed run left has been completed
                below = tree(places.game)
            run.unreadable = below.unreadable
            keys = NewKeys(places.game, below.files, tag, brought)
            added = _added(run, places.out, manifest, beside, brought, add)
            names = ((f"{source}::{name}", unescape(name)) for _, source, name in added)
            options = replace(options, new_keys=keys.names(names))
            tasks = _tasks(places, manifest, added, below, brought, options=options, force=force)
            run.total = sum(not task.is_texture for task in tasks)
            skipped = set() if saved is None else _not_concerned(tasks, saved, brought)
            _import_all(run, tasks, engine, progress, skipped)
            if not run.interrupted:
                add_placed_edits(run, places.game, brought=brought, force=force)
                add_library_edits(
                    run, places.game, places.out, manifest, brought=brought, like=options.like, force=force
                )
            refused = require_all and _refuse_unapplied(run)
            if engine.fail_fast and run.failures and not (run.interrupted or refused):
                run.notes.append("stopped at the first failure (--fail-fast): nothing was written")
            elif not (run.interrupted or refused):
                _write(GameWriter(places, below, run, door, brought, force, keys), None if dry_run else progress)
            run.notes = [*door.messages, *run.notes]
        run.seconds = perf_counter() - started
        return run


def _converted(out: Path) -> tuple[Manifest, Tree]:
    """What a directory was made from, and what is in it."""
    if (manifest := read_manifest(out)) is None:
        above = next((one for one in out.parents if (one / MANIFEST).is_file()), None)
        hint = "give the directory that msh2gltf GAME -o DIR wrote"
        hint = hint if above is None else f"give {quoted(above)}, which has it"
        raise ConversionError(f"has no {MANIFEST}", file=str(out), hint=hint)
    beside = tree(out)
    for broken in beside.unreadable:  # nobody knows what is new there
        raise ConversionError(broken.reason, file=f"{out}/{broken.id}")
    return manifest, beside


def _door(places: Places, manifest: Manifest, dry_run: bool) -> tuple[GameEdits, str]:
    """The transaction on the game, and the path of its directory from the folder with the vault."""
    game, owner = absolute(places.game), manifest.owner(places.out)
    command = f"gltf2msh {places.out.name}"
    root = find_root(game)
    if places.new is None:
        inside = game.relative_to(root).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        return GameEdits(root, f"{command} --in-place", owner, dry_run=dry_run), prefix
    new = absolute(places.new)
    return GameEdits(new, f"{command} -o {new.name}", owner, source=game, dry_run=dry_run), ""


def _added(run: Run, out: Path, manifest: Manifest, beside: Tree, brought: Brought, add: bool) -> list[_New]:
    """The new glTF files that become entries; what is not taken is noted as skipped."""
    new = _new_files(out, manifest, beside.files)
    before = brought.items
    added = [row for row in new if row[1] is not None and (add or f"{row[1]}::{row[2]}" in before)]
    for target, source, name in new:
        if source is None:
            run.skipped.append(Skipped(target, "new, but not in an archive's folder"))
        elif (target, source, name) not in added:
            run.skipped.append(Skipped(target, "a new glTF; --add makes it an entry"))
    for path in (path for path in beside.files if path.suffix.lower() == ".obj"):
        run.skipped.append(Skipped(path.as_posix(), "an OBJ; --into ARCHIVE --add takes one"))
    run.skipped += stray_pictures(out, manifest, beside.files)
    return added


def _write(writer: GameWriter, progress: Display | None) -> None:
    """Plan what to write, and write it; ``progress``: ``None`` in a dry run."""
    writer.plan()
    if progress is not None:
        with progress("writing", len(writer.jobs)) as tick:
            writer.write(tick)


def _refuse_unapplied(run: Run) -> bool:
    """Whether a difference was not applied; each model that has one fails."""
    partial = [outcome for outcome in run.everything if outcome.not_applied]
    for outcome in partial:
        outcome.status, outcome.result = FAILED, None
        outcome.detail = str(unapplied(outcome.not_applied))
    if partial:
        run.notes.append("nothing was written (--require-all)")
    return bool(partial)


def _tasks(
    places: Places,
    manifest: Manifest,
    added: list[_New],
    below: Tree,
    brought: Brought,
    *,
    options: ImportOptions,
    force: bool,
) -> list[ImportTask]:
    # a library may be a folder that it was unpacked into
    paths = [*below.directories, *below.files]
    files = {text_of(path): str(absolute(places.game / path)) for path in paths}
    rows = [(r.id, r.target, r.source, r) for r in manifest.in_order()]
    new = [(f"{source}::{name}", target, source or "", None) for target, source, name in added]
    if not (rows or new):
        hint = "name the directory that msh2gltf wrote"
        raise ConversionError("holds nothing to put back", file=str(places.out), hint=hint)
    return [
        ImportTask(
            id,
            str(absolute(places.out)),
            target=target,
            source=source,
            game_file=files.get(source),
            record=record,
            options=options,
            force=force,
            written=frozenset(brought.digests(source, record.name, record.raw_name or "")) if record else frozenset(),
            before=brought.before(Path(file), record) if record and (file := files.get(source)) else None,
        )
        for id, target, source, record in [*rows, *new]
    ]


def _require_sources(places: Places, manifest: Manifest, below: Tree) -> None:
    """Refuse a directory that has none of the files that were converted.

    The glTF directory itself has a folder for each archive, as an unpacked game has.
    """
    is_out = real_path(places.game) == real_path(places.out)
    paths = below.files if is_out else [*below.files, *below.directories]
    rows = [record.source for record in manifest.in_order()]
    sources = [*rows, *(archive.source for archive in manifest.archives.values())]
    if sources and not {text_of(path) for path in paths} & set(sources):
        raise ConversionError(
            "is the glTF directory" if is_out else "has none of the files that were converted",
            file=str(places.game),
            value=None if is_out else f"no {sources[0]}",
            hint="give the directory that msh2gltf converted with --game",
        )


def _new_files(out: Path, manifest: Manifest, files: list[Path]) -> list[_New]:
    """glTF files that the manifest does not know, of those in the output directory."""
    known = {output.path for record in manifest.records.values() for output in record.outputs}
    for target in manifest.records:  # a .glb that came back from Blender as .gltf
        if not out.joinpath(*target.split("/")).exists():
            known.add(f"{target.removesuffix('.glb')}.gltf")
    folders = {archive.folder: archive.source for archive in manifest.archives.values()}
    found = []
    for path in files:
        text = path.as_posix()
        if path.suffix.lower() in (".glb", ".gltf") and text not in known:
            source = folders.get(path.parent.as_posix())
            found.append((text, source, f"{readable(path.stem)}.msh"))
    return found


def _not_concerned(tasks: list[ImportTask], saved: Collection[str], brought: Brought) -> set[str]:
    """The items of which no file was saved, and nothing is in force in the game."""
    out, in_force = set(), brought.items
    for task in tasks:
        paths = {task.target, f"{task.target.removesuffix('.glb')}.gltf"}
        paths |= {output.path for output in task.record.outputs} if task.record is not None else set()
        if task.id not in in_force and paths.isdisjoint(saved):
            out.add(task.id)
    return out


def _import_all(run: Run, tasks: list[ImportTask], engine: Engine, progress: Display, skipped: Collection[str]) -> None:
    def known(task: ImportTask) -> Outcome | None:
        return Outcome(task.id, "unchanged") if task.id in skipped else untouched_item(task)

    ids, sizes = [t.id for t in tasks], [t.record.size if t.record else 0 for t in tasks]
    with progress("comparing", len(tasks)) as tick:
        outcomes, run.interrupted = engine.gather(import_item, tasks, tick, ids=ids, sizes=sizes, known=known)
    if run.interrupted:
        run.notes.append("nothing was written")
    run.outcomes = [outcome for i, outcome in outcomes.items() if not tasks[i].is_texture]
    run.textures = [outcome for i, outcome in outcomes.items() if tasks[i].is_texture]


def _entry_added(game: Path, entry: NewEntry, origins: list[str]) -> Outcome:
    """Return the outcome of an entry that is new in a library, and what it comes from."""
    made = guarded(f"{entry.library}::{entry.name}", partial(_add_entry, game, entry))
    made.origins = origins
    return made


def add_library_edits(
    run: Run, game: Path, out: Path, manifest: Manifest, *, brought: Brought, like: str = "", force: bool = False
) -> None:
    """Join what the models of a run change in the game's libraries; an outcome for each entry.

    Where two models change one entry in different ways, or one in another way than its picture in ``textures/``,
    neither is applied. ``run``: its outcomes; textures are added, and ``not_applied`` grows. Raises
    ConversionError: the game has no material ``like``.
    """
    found = [(outcome, edit) for outcome in run.outcomes for edit in outcome.library]
    new = [(outcome, one) for outcome in run.outcomes for one in outcome.new_materials]
    if not (found or new or like):
        return
    entries = _libraries(game, brought, like)
    joined, _ = merged(edit for _, edit in found)
    agreed = {edit.entry.key for edit in joined}
    for outcome, edit in found:
        if edit.entry.key not in agreed:
            others = (
                other.id
                for other, theirs in found
                if theirs.entry.key == edit.entry.key and theirs.values != edit.values
            )
            outcome.not_applied.append(contradicted(edit, next(others, outcome.id)))
    users = _users(out, manifest)
    pictures = [outcome for outcome in run.textures if isinstance(outcome.result, Edited)]
    for shown in joined:
        edit, texture = entries.with_picture(shown)
        entry = edit.entry
        id = f"{entry.library}::{entry.name}"
        made = guarded(id, partial(_import_entry, id, edit, game, brought, force))
        origins = [outcome.id for outcome, one in found if one.entry.key == entry.key]
        place = (made.result.source, made.result.index) if isinstance(made.result, Edited) else None
        painted = next((one for one in pictures if (one.result.source, one.result.index) == place), None)
        made.origins = origins
        if painted is not None:
            painted.origins = [painted.id, *origins]
        if painted is None:
            if made.status == "changed" and users[entry.key] > 1:
                title = f"{printable(entry.name)} of {entry.library}"
                made.warnings.append(
                    f"{title} is used by {plural(users[entry.key], 'model')} (--own-materials "
                    "makes a copy for each model instead)"
                )
            run.textures.append(made)
            if texture is not None and made.status == "changed":
                run.textures.append(_entry_added(game, texture, origins))
        elif painted.result.data != made.result.data:
            for outcome, one in found:
                if one.entry.key == entry.key:
                    outcome.not_applied.append(contradicted(one, f"its picture in {out.name}"))
                    painted.not_applied.append(contradicted(one, outcome.id))
            painted.status, painted.result = "kept", None
    _add_new_materials(run, new, entries, game)


def _add_new_materials(run: Run, new: list[tuple[Outcome, NewMaterial]], entries: NewEntries, game: Path) -> None:
    """Make the materials that the game does not have, each once; different ones of one name get numbers."""
    groups: dict[str, list[tuple[Outcome, NewMaterial]]] = {}
    done = []
    for outcome, one in new:
        groups.setdefault(one.name.casefold(), []).append((outcome, one))
    for group in [part for whole in groups.values() for part in _told_apart(whole, entries, {*groups})]:
        first = group[0][1]
        if entries.materials is None:
            for outcome, one in group:
                outcome.not_applied += no_library(one, str(game))
            continue
        if any(one.content != first.content for _, one in group) and not entries.has(first.name):
            for outcome, one in group:
                other = next(o.id for o, theirs in group if theirs.content != one.content)
                outcome.not_applied.append(contradiction(one, other))
            continue
        for outcome, one in group:
            made = entries.material(one)
            outcome.not_applied += made.not_applied
            done.append(made)
            if one is first:
                origins = [outcome.id for outcome, _ in group]
                run.textures += [_entry_added(game, entry, origins) for entry in made.entries]
    run.notes += meant_message(done)


def _told_apart(
    group: list[tuple[Outcome, NewMaterial]], entries: NewEntries, taken: set[str]
) -> list[list[tuple[Outcome, NewMaterial]]]:
    """Return new materials of one name by what they show; those of the second and further have new names.

    Args:
        taken: names that others have, in lower case; grows.
    """
    first, name = group[0]
    if entries.materials is None or entries.has(name.name):
        return [group]
    parts: list[list[tuple[Outcome, NewMaterial]]] = []
    for outcome, one in group:
        same = next((part for part in parts if part[0][1].content == one.content), None)
        if same is None:
            parts.append([(outcome, one)])
        else:
            same.append((outcome, one))
    for part in parts[1:]:
        numbers = (f"{decode_text(encode_name(name.name)[: NAME_SIZE - 5])}_{number}" for number in count(2))
        new = next(one for one in numbers if one.casefold() not in taken and not entries.has(one))
        if not all(_names(outcome, name.name) for outcome, _ in part):
            return [group]  # reported as a contradiction
        taken.add(new.casefold())
        for i, (outcome, one) in enumerate(part):
            outcome.result = _renamed(outcome.result, one.name, new)
            part[i] = outcome, replace(one, name=new)
            outcome.warnings.append(
                f"material {called(one.name)} is another one than in {first.id}: the game has it as {in_words(new)}"
            )
    return parts


def _names(outcome: Outcome, name: str) -> bool:
    """Whether the list of materials that is written with a model names a material."""
    edited = outcome.result
    return isinstance(edited, Edited) and _renamed(edited, name, f"{name}_") != edited


def _renamed(edited: Edited, name: str, new: str) -> Edited:
    """A model whose list of materials has another name in place of one."""

    def rows(names: Sequence[str]) -> dict[int, str]:
        return {row: new for row, one in enumerate(names) if one.casefold() == name.casefold()}

    companions = []
    for one in edited.companions:
        if one.ending.lower() == WEAR_ENDING:
            wear = read_wear(one.data, edited.source)[0]
            one = replace(one, data=write_wear(edited_wear(wear, rows(wear.materials))))
        companions.append(one)
    names = None if edited.wear is None else [rows(edited.wear).get(row, one) for row, one in enumerate(edited.wear)]
    return replace(edited, wear=names, companions=tuple(companions))


def _add_entry(game: Path, entry: NewEntry) -> Outcome:
    id = f"{entry.library}::{entry.name}"
    path = _library(game, entry.library)
    source = text_of(path.relative_to(game))
    outcome = Outcome(id, "added", warnings=list(entry.warnings))
    outcome.facts["changes"] = [str(Change(entry.where, entry.what))]
    if path.is_dir():
        outcome.result = Edited(f"{source}/{entry_file(path, entry.name)}", None, None, entry.data, is_new_file=True)
        if entry.library == MATERIALS and entry.attributes[0]:
            outcome.not_applied.append(_no_modes(entry.where, "has a draw mode"))
    else:
        outcome.result = Edited(
            source, None, encode_name(entry.name), entry.data, type_id=entry.type_id, attributes=entry.attributes
        )
    return outcome


def _libraries(game: Path, brought: Brought, like: str) -> NewEntries:
    """The libraries as they were converted."""
    paths = (find_library(game, name) for name in (MATERIALS, TEXTURES))
    found = [None if path is None else brought.archive(path, text_of(path.relative_to(game))) for path in paths]
    return NewEntries(found[0], found[1], like)


def _library(game: Path, library: str) -> Path:
    path = find_library(game, library)
    if path is None:
        raise ConversionError(f"has no {library}", file=str(game), hint="give the whole game")
    return path


def _no_modes(where: str, what: str) -> NotApplied:
    why = "a folder of loose files has no draw modes"
    return NotApplied(where=where, what=what, why=why, instead="pack it into Material.lib again")


def _users(out: Path, manifest: Manifest) -> Counter[tuple[str, str]]:
    """How many models of a run show each entry."""
    users: Counter[tuple[str, str]] = Counter()
    for record in manifest.records.values():
        for output in record.outputs:
            path = out.joinpath(*output.path.split("/"))
            if path.suffix == SUFFIX and path.is_file():
                about = read_sidecar(read_file(path), str(path)).description
                users.update({entry.key for entry in about.library})
    return users


def _import_entry(id: str, edit: LibraryEdit, game: Path, brought: Brought, force: bool) -> Outcome:
    library = edit.entry.library
    path = _library(game, library)
    source = text_of(path.relative_to(game))
    archive = brought.archive(path, source)
    known = brought.digests(source, edit.entry.name, encode_name(edit.entry.name).hex())
    found = library_edit(archive, edit, source, known, HINT_OF_RUN, force)
    if found is None:
        return Outcome(id, "unchanged", "the game has it already")
    index, new = found
    outcome = Outcome(id, "changed", warnings=new.warnings)
    outcome.facts["changes"] = [str(Change(edit.where, edit.what))]
    if not path.is_dir():
        sizes = (new.attr1, new.attr2)
        outcome.result = Edited(source, index, None, new.data, sizes=sizes)
        return outcome
    if library == MATERIALS and new.attr1 is not None:
        outcome.not_applied.append(_no_modes(edit.where, "its draw mode changes"))
    file = f"{source}/{entry_file(path, archive.entries[index].name)}"
    outcome.result = Edited(file, None, None, new.data)
    return outcome
