"""Write what changed into the game's archives: everything is planned before the first byte."""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...exporters.nres import replace_entry, write_nres
from ...importers.nres import read_file, read_nres
from ..errors import ConversionError
from ..formats.archive import Archive, decode_text, encode_name
from ..formats.names import stem
from ..formats.sidecar import sha256
from ..formats.wear import WEAR_ENDING
from ..pipeline.companions import shows_same_points, with_wear
from ..storage import copy_output, require_inside, write_outputs
from .engine import Progress
from .import_item import Edited
from .new_keys import NewKeys
from .outcome import FAILED, Outcome, Run
from .replace_entry import (
    HINT_OF_RUN,
    changed_since,
    may_replace,
    replace_file,
    with_companions,
    with_new_entry,
)
from .walk import BACKUP, Skipped, Tree, text_of
from .written import (
    Converted,
    History,
    Written,
    WrittenEntry,
    as_converted,
    carried_over,
    history_of,
    keep_history,
    remember,
    written,
)


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


class GameWriter:
    """What to write where; planned as a whole before the first byte.

    Args:
        places: where to read and write.
        below: what is in the game's directory.
        run: its outcomes; what is written, restored or fails is noted there.
        history: what earlier runs wrote into the game with these glTF files.
        force: replace what is in the way.
        keys: the object keys of new models.
    """

    def __init__(
        self,
        places: Places,
        below: Tree,
        run: Run,
        history: History,
        force: bool,
        keys: NewKeys,
    ) -> None:
        self._places = places
        self._tree = below
        self._run = run
        self._history = history
        self._force = force
        self._keys = keys
        #: Files by path from the root: new bytes, or ``None`` for a copy.
        self.jobs: dict[Path, bytes | None] = {}
        #: Digests of the files that new bytes were made from.
        self._made_from: dict[Path, str] = {}
        #: Changed files that earlier runs wrote, too: their backups are of the first.
        self._ours: set[Path] = set()
        #: Files that earlier runs made, and that go again.
        self._gone: list[Path] = []
        #: Files beside a model, which go with it.
        self._companions: set[Path] = set()
        #: What is to be remembered of this run, by file.
        self._written: dict[Path, Written] = {}

    def plan(self) -> None:
        """Make the changed files' bytes and see that nothing is in the way.

        Raises:
            ConversionError: an output exists, or a backup does.
        """
        edits: dict[str, list[Outcome]] = {}
        for outcome in self._run.everything:
            if isinstance(outcome.result, Edited) and outcome.result.is_new_file:
                self._new_file(outcome)
            elif isinstance(outcome.result, Edited):
                edits.setdefault(outcome.result.source, []).append(outcome)
        in_place = self._places.new is None
        # the registry last: it names entries of the others
        files = sorted(self._tree.files, key=lambda path: path == self._keys.path)
        made = {
            path: self._edited(path, edits.get(text_of(path), []))
            for path in files
            if text_of(path) in edits or (path == self._keys.path and self._keys)
        }
        for path in files:
            done = path in made or path in self.jobs or path in self._companions
            if text_of(path) in self._history and not done:
                made[path] = self._edited(path, [])
        for path in files:
            data = made.get(path)
            if data is not None or not (in_place or path in self.jobs or path in self._gone):
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
            if path in self._ours:
                return False
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

    def _converted(self, path: Path) -> tuple[bytes, Converted]:
        """A file as it is, and as it was converted."""
        source = self._places.game / path
        now = bytes(read_file(source))
        file = text_of(path)
        rows = self._history.get(file)
        known = as_converted(source, file, rows) if rows else Converted(now)
        self._made_from[path] = sha256(now)
        if known.is_ours:
            self._ours.add(path)
        return now, known

    def _edited(self, path: Path, outcomes: list[Outcome]) -> bytes | None:
        """The bytes of a changed file; an edit that does not fit fails, the others stay.

        What earlier runs wrote and this one does not is taken back.
        """
        now, known = self._converted(path)
        if known.data is None:
            self._made_by_an_edit(path, now)
            return None
        before, rows = known.data, self._history.get(text_of(path), ())
        whole = any(row.is_whole for row in rows)
        if whole or any(_is_file(outcome.result) for outcome in outcomes):
            return self._edited_file(path, outcomes, now, known)
        archive, items = read_nres(before, text_of(path)), dict[bytes, str]()
        for outcome in outcomes:
            try:
                archive, names = self._with_edit(archive, outcome)
            except ConversionError as error:
                outcome.status, outcome.detail, outcome.result = FAILED, str(error), None
            else:
                items |= dict.fromkeys(names, outcome.id)
        there = read_nres(now, text_of(path))
        if path == self._keys.path:
            archive, keys = self._keys.applied(archive, there)
            items |= keys
        if not items and not rows:
            return None
        stay = [entry for entry in self._entries(path) if self._is_undecided(entry)]
        archive = carried_over(archive, there, stay)
        items |= {bytes.fromhex(entry.name): entry.item for entry in stay}
        data = write_nres(archive)
        if rows:
            self._report(path, known, there, archive, items)
        if data != before:
            self._written[path] = written(known, data, items)
        return None if data == now else data

    def _with_edit(self, archive: Archive, outcome: Outcome) -> tuple[Archive, list[bytes]]:
        """An archive with one edit in it, and the names of its entries.

        Raises:
            ConversionError: it does not fit.
        """
        edited: Edited = outcome.result
        names = []
        if edited.name is not None:
            assert edited.data is not None
            archive, there = with_new_entry(
                archive, edited.name, edited.type_id, edited.data, edited.attributes,
                force=self._force,
            )  # fmt: skip
            if there:
                outcome.status, outcome.detail = there
            archive, messages = with_wear(archive, edited.name, edited.wear)
            outcome.warnings += messages
            names += [edited.name, encode_name(f"{stem(decode_text(edited.name))}{WEAR_ENDING}")]
        elif edited.data is not None:
            assert edited.index is not None
            width, height = edited.sizes
            names.append(archive.entries[edited.index].name_bytes)
            archive = replace_entry(archive, edited.index, edited.data, attr1=width, attr2=height)
        archive = with_companions(
            archive, edited.model, edited.companions, HINT_OF_RUN, force=self._force
        )
        self._keys.add(archive, edited, outcome)
        model = stem(decode_text(edited.model))
        return archive, [*names, *(encode_name(f"{model}{c.ending}") for c in edited.companions)]

    def _edited_file(
        self, path: Path, outcomes: list[Outcome], now: bytes, known: Converted
    ) -> bytes | None:
        """The same of a file that is a model, or of an unpacked library."""
        assert known.data is not None
        data = None
        for outcome in outcomes:
            try:
                beside = self._beside(path, outcome)
            except ConversionError as error:
                outcome.status, outcome.detail, outcome.result = FAILED, str(error), None
                continue
            data = outcome.result.data or known.data
            if data != known.data:
                self._written[path] = written(known, data, {}, outcome.id)
            if data == now and not beside:
                outcome.status, outcome.detail = "unchanged", "the game has it already"
        entries = self._entries(path)
        if data is None and known.is_ours and not any(map(self._is_undecided, entries)):
            data = known.data
            if known.stays:
                self._warn(path, known.stays[0])
            else:
                self._restored(entries[0])
        return None if data == now else data

    def _beside(self, path: Path, outcome: Outcome) -> bool:
        """Plan the files that change with a model that is a file of its own.

        Returns:
            Whether one of them is to be written.

        Raises:
            ConversionError: one of them is not the one that was converted.
        """
        wrote = False
        here = {text_of(other).lower(): other for other in self._tree.files}
        for one in outcome.result.companions:
            wanted = path.with_name(f"{path.stem}{one.ending}")
            other, known = here.get(text_of(wanted).lower(), wanted), Converted(None)
            if (self._places.game / other).is_file():
                now, known = self._converted(other)
                same = now == one.data or shows_same_points(one, now)
                free = same or known.data is None or self._force
                if not (free or may_replace(one, known.data or b"")):
                    raise changed_since(text_of(other), None, HINT_OF_RUN, one)
                self._companions.add(other)
                if same:
                    continue
            self.jobs[other] = one.data
            self._written[other] = written(known, one.data, {}, outcome.id)
            wrote = True
        return wrote

    def _new_file(self, outcome: Outcome) -> None:
        """Plan a file that is new in the folder of an unpacked library."""
        edited: Edited = outcome.result
        assert edited.data is not None
        path, known = Path(*edited.source.split("/")), Converted(None)
        if (self._places.game / path).is_file():
            now, known = self._converted(path)
            self._companions.add(path)
            if now == edited.data:
                outcome.status, outcome.detail = "unchanged", "the game has it already"
        self.jobs[path] = edited.data
        self._written[path] = written(known, edited.data, {}, outcome.id)

    def _made_by_an_edit(self, path: Path, now: bytes) -> None:
        """Remove a file that an earlier edit made, where it is known that none does now."""
        written_before = [e for e in self._entries(path) if e.after == sha256(now)]
        if not any(map(self._is_undecided, written_before)):
            self._gone.append(path)
            self._restored(written_before[0])

    def _entries(self, path: Path) -> list[WrittenEntry]:
        """What earlier runs wrote into a file, each once."""
        rows = self._history.get(text_of(path), ())
        return list(dict.fromkeys(entry for row in rows for entry in row.entries))

    def _is_undecided(self, entry: WrittenEntry) -> bool:
        """Whether nothing is known of what the file of an entry shows now."""
        items = {outcome.id: outcome for outcome in self._run.everything}
        if entry.item in items:
            return items[entry.item].is_undecided
        return any(outcome.is_undecided for outcome in items.values())

    def _report(
        self,
        path: Path,
        known: Converted,
        now: Archive,
        new: Archive,
        items: Mapping[bytes, str],
    ) -> None:
        """Note what is restored, and which items of this file, not keys of them, are there."""
        there = {(e.name_bytes.hex(), sha256(e.payload)) for e in now.entries}
        here = {(e.name_bytes.hex(), sha256(e.payload)) for e in new.entries}
        for entry in self._entries(path):
            if (entry.name, entry.after) in there and bytes.fromhex(entry.name) not in items:
                if entry in known.stays:
                    self._warn(path, entry)
                elif (entry.name, entry.after) not in here:
                    self._restored(entry)
        for outcome in self._run.everything:
            names = {name.hex() for name, item in items.items() if item == outcome.id}
            mine = {pair for pair in here if pair[0] in names}
            own = isinstance(outcome.result, Edited) and outcome.result.source == text_of(path)
            if own and mine and mine <= there:
                outcome.status, outcome.detail = "unchanged", "the game has it already"

    def _restored(self, entry: WrittenEntry) -> None:
        """Note that an edit of an earlier run is undone."""
        outcome = next((one for one in self._run.everything if one.id == entry.item), None)
        if outcome is None:
            outcome = Outcome(entry.item, "restored")
            is_model = entry.item.lower().endswith(".msh")
            (self._run.outcomes if is_model else self._run.textures).append(outcome)
        if outcome.status in ("unchanged", "kept"):
            outcome.status, outcome.detail = "restored", "as it was converted"

    def _warn(self, path: Path, entry: WrittenEntry) -> None:
        """Note that an edit of an earlier run cannot be undone."""
        self._run.notes.append(
            f"{entry.item} stays as it was written: {path.name}{BACKUP}, which has the original, "
            "is gone or another one"
        )

    def write(self, progress: Progress) -> None:
        """Write the plan, file by file; raises where it cannot be noted, before the first."""
        done = 0
        try:
            if self._places.new is not None:
                self._make_directories(self._places.new)
            else:
                self._remember()
            for path, data in self.jobs.items():
                outcome = self._write_one(path, data)
                done += 1
                if outcome.status == FAILED:
                    self._run.unreadable.append(Skipped(outcome.id, outcome.detail))
                progress(outcome, done, len(self.jobs))
            for path in self._gone if self._places.new is None else ():
                self._remove(path)
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
                self._require_same(path)
                # the plan refused any other backup, unless --force is set
                first = path not in self._ours
                if message := replace_file(target, data, replace_backup=first).message:
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

    def _require_same(self, path: Path) -> None:
        """Stop where a file is not the one that the plan was made for.

        Raises:
            ConversionError: somebody changed it meanwhile.
        """
        if sha256(read_file(self._places.game / path)) != self._made_from[path]:
            raise ConversionError("changed while this run was at work", hint="run it again")

    def _remove(self, path: Path) -> None:
        """Remove a file that an edit of an earlier run made."""
        try:
            self._require_same(path)
            (self._places.game / path).unlink()
        except (ConversionError, OSError) as error:
            self._run.unreadable.append(Skipped(text_of(path), f"cannot be removed ({error})"))

    def _remember(self) -> None:
        """Note what is going to be written, for the next run; before the first byte of it.

        Raises:
            ConversionError: it cannot be kept; the next run would take edits for those of others.
        """
        if not self._written:
            return
        history = history_of(self._places.out)
        for path, one in self._written.items():
            remember(history, text_of(path), one)
        keep_history(self._places.out, history)

    def _make_directories(self, new: Path) -> None:
        for path in self._tree.directories:
            with contextlib.suppress(OSError):  # writing a file there says what is wrong
                (new / path).mkdir(parents=True, exist_ok=True)
        for path in self._tree.directory_links:
            with contextlib.suppress(OSError):
                _copy_link(self._places.game / path, new / path, self._places.game)


def _is_file(edited: object) -> bool:
    """Whether an edit replaces a file, not an entry of one."""
    if not isinstance(edited, Edited) or edited.model:
        return False
    return edited.index is None and edited.name is None


def _copy_link(source: Path, target: Path, game: Path) -> None:
    """Make the same link; one that leads out of the game leads to the same place."""
    if os.path.lexists(target):
        return
    text, real = os.readlink(source), os.path.realpath(source)
    inside = Path(real).is_relative_to(os.path.realpath(game))
    target.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(text if inside and not os.path.isabs(text) else real, target)
