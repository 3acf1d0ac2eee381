"""Import a whole run: ``gltf2msh OUT_DIR -o NEW_GAME_DIR --game GAME_DIR``.

Everything is converted before anything is written. The game's directory is read, never written,
unless the user asks for it to be changed in place.

Write models that were edited where a unit or mission shows them into their own archives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

from .. import MANIFEST
from ..errors import ConversionError, printable, quoted
from ..files import no_run, read_file
from ..findings import NotApplied, Subject
from ..formats.names import decode_text, readable, unescape
from ..kinds.import_result import PlacedImport, unapplied
from ..options import ImportOptions
from ..storage import real_path, remove_temporary
from .edits import GameEdits
from .history import digest_of_file
from .import_item import JOIN, Brought, Edited, ImportTask, brought_by, import_item, untouched_item
from .library_edits import add_library_edits
from .manifest import Manifest, read_manifest
from .new_models import NewKeys
from .outcome import FAILED, Outcome, Progress, Run, guarded
from .replace_entry import HINT_OF_RUN, changed_since, entry_to_replace
from .sources import stray_pictures
from .vault import find_root
from .walk import Skipped, Tree, text_of, tree
from .workers import Engine
from .write_game import GameWriter, Places

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
        manifest = read_manifest(places.out)
        if manifest is None:
            above = next((one for one in places.out.parents if (one / MANIFEST).is_file()), None)
            hint = "give the directory that msh2gltf GAME -o DIR wrote"
            hint = hint if above is None else f"give {quoted(above)}, which has it"
            raise ConversionError(f"has no {MANIFEST}", file=str(places.out), hint=hint)
        beside = tree(places.out)
        for broken in beside.unreadable:  # nobody knows what is new there
            raise ConversionError(broken.reason, file=f"{places.out}/{broken.id}")
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
            if not tasks:
                raise ConversionError(
                    "holds nothing to put back", file=str(places.out), hint="name the directory that msh2gltf wrote"
                )
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
                writer = GameWriter(places, below, run, door, brought, force, keys)
                _write(writer, None if dry_run else progress)
            run.notes = [*door.messages, *run.notes]
        run.seconds = perf_counter() - started
        return run


def _door(places: Places, manifest: Manifest, dry_run: bool) -> tuple[GameEdits, str]:
    """The transaction on the game, and the path of its directory from the folder with the vault."""
    game, owner = places.game.absolute(), manifest.owner(places.out)
    command = f"gltf2msh {places.out.name}"
    root = find_root(game)
    if places.new is None:
        inside = game.relative_to(root).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        return GameEdits(root, f"{command} --in-place", owner, dry_run=dry_run), prefix
    new = places.new.absolute()
    return GameEdits(new, f"{command} -o {new.name}", owner, source=game, dry_run=dry_run), ""


def _added(run: Run, out: Path, manifest: Manifest, beside: Tree, brought: Brought, add: bool) -> list[_New]:
    """The new glTF files that become entries; what is not taken is noted as skipped."""
    new = _new_files(out, manifest, beside.files)
    before = {item for _, _, layer in brought.layers for item in layer.item.split(JOIN)}
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
    files = {text_of(path): str((places.game / path).absolute()) for path in paths}
    rows = [(r.id, r.target, r.source, r) for r in manifest.in_order()]
    new = [(f"{source}::{name}", target, source or "", None) for target, source, name in added]
    return [
        ImportTask(
            id,
            str(places.out.absolute()),
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
    in_force = {item for _, _, layer in brought.layers for item in layer.item.split(JOIN)}
    out = set()
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


def _write(writer: GameWriter, progress: Display | None) -> None:
    """Plan what to write, and write it; ``progress``: ``None`` in a dry run."""
    writer.plan()
    if progress is not None:
        with progress("writing", len(writer.jobs)) as tick:
            writer.write(tick)


def add_placed_edits(run: Run, game: Path, *, brought: Brought, force: bool = False) -> None:
    """Let the models that units and missions of a run show be written as they were edited there.

    Where two of them show a model otherwise, or one otherwise than the model's own glTF, that of the model alone is
    applied, else none. ``run``: its outcomes; those of the models change, and ``not_applied`` grows.
    """
    groups: dict[tuple[str, bytes], list[tuple[Outcome, PlacedImport]]] = {}
    for outcome in run.outcomes:
        for one in outcome.placed:
            root = game.absolute()
            if one.path is None or not one.path.is_relative_to(root):
                _refuse(outcome, one, "its file is not in the game's directory", "give the whole game with --game")
                continue
            groups.setdefault((text_of(one.path.relative_to(root)), one.raw_name), []).append((outcome, one))
    known = {outcome.id: outcome for outcome in run.outcomes}
    for (source, raw), group in groups.items():
        id = f"{source}::{decode_text(raw)}" if raw else source
        _add(run, known.get(id), id, source, group, brought, force)


def _add(
    run: Run,
    own: Outcome | None,
    id: str,
    source: str,
    group: Sequence[tuple[Outcome, PlacedImport]],
    brought: Brought,
    force: bool,
) -> None:
    """Apply the edits of one model, or report them."""
    first = group[0][1]
    both = "make both the same, or undo one of them"
    if any(_content(one) != _content(first) for _, one in group):
        for outcome, one in group:
            other = next(o.id for o, theirs in group if _content(theirs) != _content(one))
            _refuse(outcome, one, f"{other} shows it edited in another way", both)
        return
    made = guarded(id, partial(_edited, id, source, first, brought, force))
    if own is not None and (own.status == FAILED or isinstance(own.result, Edited)):
        if own.result != made.result:
            for outcome, one in group:
                _refuse(outcome, one, "its own glTF is edited in another way", both)
        return
    made.origins = [id, *(outcome.id for outcome, _ in group)]
    made.facts["changes"] = [str(change) for change in first.result.changes]
    made.facts["items"] = [row for row in first.result.report if row["status"] != "kept"]
    for outcome, _ in group:
        if outcome.status == "unchanged" and made.status != FAILED:
            outcome.detail = f"it shows {printable(first.result.name)} edited, which is written to {source}"
    if own is None:
        run.outcomes.append(made)
        return
    made.warnings = own.warnings + made.warnings
    run.outcomes[run.outcomes.index(own)] = made


def _content(placed: PlacedImport) -> tuple[bytes, list[bytes]]:
    return placed.result.data, [companion.data for companion in placed.result.companions]


def _edited(id: str, source: str, placed: PlacedImport, brought: Brought, force: bool) -> Outcome:
    result, path, index = placed.result, placed.path, placed.index
    assert path is not None
    known = {placed.sha256, *brought.digests(source, decode_text(placed.raw_name), placed.raw_name.hex())}
    is_there = result.kept_all
    if index is None:
        now = brought.was(source) if brought.has(source) else bytes(read_file(path))
        if not is_there and now != result.data and digest_of_file(now) not in known and not force:
            raise changed_since(source, None, HINT_OF_RUN)
    else:
        archive = brought.archive(path, source)
        index = entry_to_replace(
            archive,
            placed.raw_name,
            index,
            known=known,
            is_new=lambda entry: entry.payload == result.data,
            hint=HINT_OF_RUN,
            force=force,
        )
        is_there |= index is None
    if is_there and not result.companions:
        return Outcome(id, "unchanged", "the game has it already")
    data, companions = None if is_there else result.data, tuple(result.companions)
    return Outcome(
        id, "changed", result=Edited(source, index, None, data, model=placed.raw_name, companions=companions)
    )


def _refuse(outcome: Outcome, placed: PlacedImport, why: str, instead: str) -> None:
    changes = "; ".join(str(change) for change in placed.result.changes[:5])
    outcome.not_applied.append(
        NotApplied(where=Subject("model", placed.result.name), what=changes, why=why, instead=instead)
    )
