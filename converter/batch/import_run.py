"""Import a whole run: ``gltf2msh OUT_DIR -o NEW_GAME_DIR --game GAME_DIR``.

Everything is converted before anything is written. The game's directory is read, never written,
unless the user asks for it to be changed in place.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from ...exporters.nres import add_entry, replace_entry, write_nres
from ...importers.nres import read_file, read_nres
from ..errors import ConversionError, printable
from ..formats.archive import Archive
from ..formats.names import readable
from ..formats.sidecar import sha256
from ..locks import no_run, only_run
from ..pipeline.companions import with_wear
from ..pipeline.import_result import unapplied
from ..pipeline.options import ImportOptions
from ..storage import (
    copy_output,
    remove_temporary,
    require_inside,
    write_outputs,
)
from .engine import Engine, Progress
from .import_item import Edited, ImportTask, import_item
from .library_edits import add_library_edits
from .manifest import Manifest, read_manifest
from .outcome import FAILED, Outcome, Run
from .replace_entry import HINT_OF_RUN, changed_since, may_replace, replace_file, with_companions
from .walk import BACKUP, MANIFEST, Skipped, Tree, text_of, tree

_MESH = int.from_bytes(b"MESH", "little")
#: A glTF file that the manifest does not know: its path, its archive or ``None``, its entry name.
_New = tuple[str, str | None, str]
Display = Callable[[str, int], contextlib.AbstractContextManager[Progress]]


@dataclass(frozen=True)
class Places:
    """Where a run reads and writes.

    Attributes:
        out: the directory that ``msh2gltf`` wrote.
        game: the game's directory.
        new: the new game directory; ``None``: in place.
    """

    out: Path
    game: Path
    new: Path | None

    def check(self) -> None:
        """Stop where two of them overlap, or are not there.

        Raises:
            ConversionError: they are not three separate directories.
        """
        if not self.game.is_dir():
            raise ConversionError("is not a directory", file=str(self.game))
        if self.new is None:
            return
        game, new, out = (path.resolve() for path in (self.game, self.new, self.out))
        for other, what in ((game, "the game's directory"), (out, "the glTF directory")):
            if new == other or new.is_relative_to(other) or other.is_relative_to(new):
                raise ConversionError(
                    f"the new game directory overlaps {what}",
                    file=str(self.new),
                    value=str(other),
                    hint="name a directory of its own (or change the game with --in-place)",
                )


def import_run(
    places: Places,
    options: ImportOptions,
    engine: Engine,
    progress: Display,
    *,
    add: bool = False,
    require_all: bool = False,
    force: bool = False,
    dry_run: bool = False,
) -> Run:
    """Write what changed into the game's archives.

    Args:
        places: where to read and write.
        options: how glTF becomes a model.
        engine: where the work is done.
        progress: makes a progress display from a verb and a number of items.
        add: make entries of new glTF files in archives' folders.
        require_all: write nothing where a difference cannot be applied.
        force: replace what is in the way.
        dry_run: write nothing.

    Raises:
        ConversionError: no manifest, overlapping directories, or something is in the way.
    """
    started = perf_counter()
    places.check()
    with no_run(places.out):
        manifest = read_manifest(places.out)
        if manifest is None:
            raise ConversionError(
                f"has no {MANIFEST}",
                file=str(places.out),
                hint="give the directory that msh2gltf GAME -o DIR wrote",
            )
        below = tree(places.game)
        new = _new_files(places.out, manifest)
        added = [row for row in new if add and row[1] is not None]
        run = Run("gltf2msh", unreadable=below.unreadable)
        for target, source, _ in new:
            if source is None:
                run.skipped.append(Skipped(target, "new, but not in an archive's folder"))
            elif not add:
                run.skipped.append(Skipped(target, "a new glTF; --add makes it an entry"))
        tasks = _tasks(places, manifest, added, below, options=options, force=force)
        if not tasks:
            raise ConversionError("holds nothing to put back", file=str(places.out))
        run.total = sum(not task.is_texture for task in tasks)
        goal = places.new or places.game
        with nullcontext() if dry_run else only_run(goal):
            if not dry_run:
                remove_temporary(goal)
            _import_all(run, tasks, engine, progress)
            if not run.interrupted:
                add_library_edits(run, places.game, places.out, manifest, force=force)
            refused = require_all and _refuse_unapplied(run)
            if not (run.interrupted or refused):
                if engine.fail_fast and run.failures:
                    note = "stopped at the first failure (--fail-fast): nothing was written"
                    run.notes.append(note)
                else:
                    _write(_Writer(places, below, run, force), None if dry_run else progress)
        run.seconds = perf_counter() - started
        return run


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
        )
        for id, target, source, record in [*rows, *new]
    ]


def _new_files(out: Path, manifest: Manifest) -> list[_New]:
    """glTF files that the manifest does not know."""
    known = {output.path for record in manifest.records.values() for output in record.outputs}
    for target in manifest.records:  # a .glb that came back from Blender as .gltf
        if not out.joinpath(*target.split("/")).exists():
            known.add(f"{target.removesuffix('.glb')}.gltf")
    folders = {archive.folder: archive.source for archive in manifest.archives.values()}
    found = []
    for path in tree(out).files:
        text = path.as_posix()
        if path.suffix.lower() in (".glb", ".gltf") and text not in known:
            source = folders.get(path.parent.as_posix())
            found.append((text, source, f"{readable(path.stem)}.msh"))
    return found


def _import_all(
    run: Run,
    tasks: list[ImportTask],
    engine: Engine,
    progress: Display,
) -> None:
    ids, sizes = [t.id for t in tasks], [t.record.size if t.record else 0 for t in tasks]
    with progress("comparing", len(tasks)) as tick:
        outcomes, run.interrupted = engine.gather(import_item, tasks, tick, ids=ids, sizes=sizes)
    if run.interrupted:
        run.notes.append("nothing was written")
    run.outcomes = [outcome for i, outcome in outcomes.items() if not tasks[i].is_texture]
    run.textures = [outcome for i, outcome in outcomes.items() if tasks[i].is_texture]


def _write(writer: _Writer, progress: Display | None) -> None:
    """Plan what to write, and write it; ``progress``: ``None`` in a dry run."""
    writer.plan()
    if progress is not None:
        with progress("writing", len(writer.jobs)) as tick:
            writer.write(tick)


class _Writer:
    """What to write where; planned as a whole before the first byte."""

    def __init__(self, places: Places, below: Tree, run: Run, force: bool) -> None:
        self._places = places
        self._tree = below
        self._run = run
        self._force = force
        #: Files by path from the root: new bytes, or ``None`` for a copy.
        self.jobs: dict[Path, bytes | None] = {}
        #: Digests of the files that new bytes were made from.
        self._made_from: dict[Path, str] = {}

    def plan(self) -> None:
        """Make the changed files' bytes and see that nothing is in the way.

        Raises:
            ConversionError: an output exists, or a backup does.
        """
        edits: dict[str, list[Outcome]] = {}
        for outcome in self._run.everything:
            if isinstance(outcome.result, Edited):
                edits.setdefault(outcome.result.source, []).append(outcome)
        in_place = self._places.new is None
        for path in self._tree.files:
            changed = edits.get(text_of(path))
            data = None if changed is None else self._edited(path, changed)
            if data is not None or not (in_place or path in self.jobs):
                self.jobs[path] = data
        blocked = [path for path, data in self.jobs.items() if self._in_the_way(path, data)]
        if blocked and not self._force:
            first = self._target(blocked[0])
            more = f", and {len(blocked) - 1} more" if len(blocked) > 1 else ""
            raise ConversionError(
                f"backup exists already{more}" if in_place else f"output exists already{more}",
                file=f"{first}{BACKUP}" if in_place else str(first),
                hint="--force replaces it",
            )

    def _target(self, path: Path) -> Path:
        return (self._places.new or self._places.game) / path

    def _in_the_way(self, path: Path, data: bytes | None) -> bool:
        target = self._target(path)
        if self._places.new is None:
            if path not in self._made_from:
                return os.path.lexists(target)
            # a backup that a killed run made of this very file is as good as a new one
            backup = Path(f"{target}{BACKUP}")
            same = backup.is_file() and filecmp.cmp(target, backup, shallow=False)
            return os.path.lexists(backup) and not same
        if not os.path.lexists(target):
            return False
        source = self._places.game / path
        if not target.is_file() or target.is_symlink():
            return not (target.is_symlink() and source.is_symlink())
        if data is not None and read_file(target) == data:
            return False
        # what the game has as well is not lost
        return not (source.is_file() and filecmp.cmp(source, target, shallow=False))

    def _edited(self, path: Path, outcomes: list[Outcome]) -> bytes | None:
        """The bytes of a changed file; an edit that does not fit fails, the others stay."""
        source = self._places.game / path
        before = read_file(source)
        self._made_from[path] = sha256(before)
        archive = None
        for outcome in outcomes:
            edited: Edited = outcome.result
            try:
                if edited.index is None and edited.name is None:
                    self._beside(path, edited)
                    return edited.data
                archive = archive or read_nres(before, edited.source)
                changed = archive
                if edited.name is not None:
                    changed = self._with_new(archive, edited, outcome)
                elif edited.data is not None:
                    assert edited.index is not None
                    width, height = edited.sizes
                    changed = replace_entry(
                        archive, edited.index, edited.data, attr1=width, attr2=height
                    )
                # only what fits as a whole: a model whose companion is refused stays, too
                archive = with_companions(
                    changed, edited.model, edited.companions, HINT_OF_RUN, force=self._force
                )
            except ConversionError as error:
                outcome.status, outcome.detail, outcome.result = FAILED, str(error), None
        if archive is None or all(outcome.result is None for outcome in outcomes):
            return None
        data = write_nres(archive)
        return None if data == before else data

    def _with_new(self, archive: Archive, edited: Edited, outcome: Outcome) -> Archive:
        """Return an archive with a new model and its ``.wea``; one that is there already stays.

        Raises:
            ConversionError: an entry of its name is another one, or the name does not fit.
        """
        assert edited.name is not None
        assert edited.data is not None
        found = archive.find(edited.name)
        there = None if found is None else archive.entries[found]
        if found is None or there is None or there.type_id != _MESH:
            archive = add_entry(archive, edited.name, _MESH, edited.data)
        elif there.payload == edited.data:  # by this command before, or by one that was killed
            outcome.status, outcome.detail = "unchanged", "the game has it already"
        elif self._force:
            archive = replace_entry(archive, found, edited.data)
            outcome.status = "changed"
        else:
            raise ConversionError(
                "has an entry of this name already, which is another model", file=archive.label,
                value=printable(there.name),
                hint="--force replaces it, or give the new file another name",
            )  # fmt: skip
        archive, messages = with_wear(archive, edited.name, edited.wear)
        outcome.warnings += messages
        return archive

    def _beside(self, path: Path, edited: Edited) -> None:
        """Plan the files that change with a model that is a file of its own.

        Raises:
            ConversionError: one of them is not the one that was converted.
        """
        here = {text_of(other).lower(): other for other in self._tree.files}
        for one in edited.companions:
            wanted = path.with_suffix(one.ending)
            other = here.get(text_of(wanted).lower(), wanted)
            if (source := self._places.game / other).is_file():
                if (now := read_file(source)) == one.data:
                    continue
                if not (self._force or may_replace(one, now)):
                    raise changed_since(text_of(other), None, HINT_OF_RUN)
                self._made_from[other] = sha256(now)
            self.jobs[other] = one.data

    def write(self, progress: Progress) -> None:
        """Write the plan, file by file; each appears whole or not at all."""
        done = 0
        try:
            if self._places.new is not None:
                self._make_directories(self._places.new)
            for path, data in self.jobs.items():
                outcome = self._write_one(path, data)
                done += 1
                if outcome.status == FAILED:
                    self._run.unreadable.append(Skipped(outcome.id, outcome.detail))
                progress(outcome, done, len(self.jobs))
        except KeyboardInterrupt:
            self._run.interrupted = True
            self._run.notes.append(f"{done} of {len(self.jobs)} files are written")

    def _write_one(self, path: Path, data: bytes | None) -> Outcome:
        id, target, source = text_of(path), self._target(path), self._places.game / path
        try:
            if self._places.new is None:
                assert data is not None
                if path not in self._made_from:
                    write_outputs([(target, data)], force=False, durable=True)
                    return Outcome(id, "written")
                if sha256(read_file(source)) != self._made_from[path]:
                    raise ConversionError("changed while this run was at work", hint="run it again")
                # the plan refused any other backup, unless --force is set
                if message := replace_file(target, data, replace_backup=True).message:
                    self._run.notes.append(message)
                return Outcome(id, "written")
            require_inside(self._places.new, target, self._places.game)
            if data is not None:
                write_outputs([(target, data)], force=True)
                if source.is_file():
                    shutil.copymode(source, target)
                return Outcome(id, "written")
            if source.is_symlink() and not source.is_file():
                _copy_link(source, target, self._places.game)
            elif not os.path.lexists(source):
                return Outcome(id, FAILED, "was there when the run began, and is gone")
            elif not source.is_file():
                return Outcome(id, "skipped")  # a pipe or a device: found_in has named it
            elif not (target.is_file() and filecmp.cmp(source, target, shallow=False)):
                copy_output(source, target)
            return Outcome(id, "copied")
        except ConversionError as error:
            return Outcome(id, FAILED, str(error))
        except OSError as error:
            return Outcome(id, FAILED, f"cannot be written ({error.strerror or error})")

    def _make_directories(self, new: Path) -> None:
        for path in self._tree.directories:
            with contextlib.suppress(OSError):  # writing a file there says what is wrong
                (new / path).mkdir(parents=True, exist_ok=True)
        for path in self._tree.directory_links:
            with contextlib.suppress(OSError):
                _copy_link(self._places.game / path, new / path, self._places.game)


def _copy_link(source: Path, target: Path, game: Path) -> None:
    """Make the same link; one that leads out of the game leads to the same place."""
    if os.path.lexists(target):
        return
    text, real = os.readlink(source), os.path.realpath(source)
    inside = Path(real).is_relative_to(os.path.realpath(game))
    target.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(text if inside and not os.path.isabs(text) else real, target)
