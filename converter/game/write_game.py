"""Write what changed into a game: everything is planned before the first byte.

Models that were edited where a unit or mission shows them go into their own archives.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..errors import ConversionError, few, printable, reason_of
from ..files import read_file
from ..findings import NotApplied, Subject
from ..formats.names import decode_text, encode_name, stem
from ..formats.nres import read_nres, write_nres
from ..formats.nres_edits import ArchiveEdits
from ..formats.wear import WEAR_ENDING
from ..kinds.import_result import PlacedImport, put_wear, shows_same_points
from ..kinds.open_files import named_like
from ..storage import absolute, copy_output, real_path, require_inside, write_outputs
from .edits import GameEdits
from .games import HINT_OF_RUN, changed_since, entry_to_replace, may_replace, put_companions, put_new_entry
from .history import JOIN, Layer
from .import_item import Brought, Edited
from .manifest import FAILED, Outcome, Progress, Run, guarded
from .new_models import NewKeys
from .walk import Skipped, Tree, text_of


@dataclass(frozen=True)
class Places:
    """Where a run reads and writes.

    ``out``: the directory that ``msh2gltf`` wrote. ``new``: the new game directory; ``None``: in place.
    """

    out: Path
    game: Path
    new: Path | None

    def check(self) -> None:
        """Stop where two of them overlap, or are not there."""
        if not self.game.is_dir():
            raise ConversionError("is not a directory", file=str(self.game), hint="name the game's folder")
        if self.new is None:
            return
        game, new, out = (real_path(path) for path in (self.game, self.new, self.out))
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
        below: what is in the game's directory.
        door: the transaction on the game.
        brought: what earlier runs brought into the game with these glTF files.
    """

    def __init__(
        self, places: Places, below: Tree, run: Run, door: GameEdits, brought: Brought, force: bool, keys: NewKeys
    ) -> None:
        self._places = places
        self._tree = below
        self._run = run
        self._door = door
        self._brought = brought
        self._force = force
        self._keys = keys
        self._items = {outcome.id: outcome for outcome in run.everything}
        #: Changes that runs with these glTF files may take back now.
        self._mine = {layer for _, _, layer in brought.layers if not self._is_undecided(layer)}
        self._undecided = {layer for _, _, layer in brought.layers} - self._mine
        #: Files that only a copy of the game needs written.
        self.copies: list[Path] = []
        self._plain: dict[Path, bytes | None] = {}
        #: Files that are written or removed, from the folder with the vault.
        self.jobs: dict[str, bytes | None] = {}

    def plan(self) -> None:
        """Make the changed files' bytes and see that nothing is in the way.

        Raises:
            ConversionError: an output exists.
        """
        edits: dict[str, list[Outcome]] = {}
        for outcome in self._run.everything:
            if isinstance(outcome.result, Edited) and outcome.result.is_new_file:
                self._new_file(outcome)
            elif isinstance(outcome.result, Edited):
                edits.setdefault(outcome.result.source, []).append(outcome)
        # the registry last: it names entries of the others
        files = sorted(self._tree.files, key=lambda path: path == self._keys.path)
        for path in files:
            if text_of(path) in edits or (path == self._keys.path and self._keys):
                self._edited(path, edits.get(text_of(path), []))
        for path in files:
            if self._brought.has(text_of(path)) and not self._door.is_planned(self._file(path)):
                self._edited(path, [])
        self.jobs = self._door.planned()
        if self._undecided:
            gone = sorted({item for one in self._undecided for item in one.items})
            self._run.notes.append(f"kept in the game as it was written: what came from {few(gone, 3)}")
        if self._places.new is None:
            return
        changed = self._door.changed()
        self._plain = {self._path(file): data for file, data in self._door.without_changes().items()}
        absent = {path for path, data in self._plain.items() if data is None}
        self.copies = [path for path in files if self._file(path) not in changed and path not in absent]
        jobs = {self._path(file): data for file, data in self.jobs.items()}
        everything = {**dict.fromkeys(self.copies), **self._plain, **jobs}
        blocked = [path for path, data in everything.items() if self._in_the_way(path, data)]
        if blocked and not self._force:
            more = f", and {len(blocked) - 1} more" if len(blocked) > 1 else ""
            hint = "name another directory, or --force replaces it"
            raise ConversionError(f"output exists already{more}", file=str(self._places.new / blocked[0]), hint=hint)

    def _file(self, path: Path) -> str:
        """What the door calls a file."""
        return f"{self._brought.prefix}{path.as_posix()}"

    def _path(self, file: str) -> Path:
        """A file's path from the game's directory."""
        return Path(file[len(self._brought.prefix) :])

    def _in_the_way(self, path: Path, data: bytes | None) -> bool:
        assert self._places.new is not None
        target, source = self._places.new / path, self._places.game / path
        if not os.path.lexists(target):
            return False
        if not target.is_file() or target.is_symlink():
            return not (target.is_symlink() and source.is_symlink())
        if data is not None and read_file(target) == data:
            return False
        if self._door.has_written(self._file(path)):  # its vault can make it again
            return False
        # what the game has as well is not lost
        return not (source.is_file() and filecmp.cmp(source, target, shallow=False))

    def _was(self, path: Path) -> bytes | None:
        """A file without what is taken back."""
        return self._door.was(self._file(path), self._mine.__contains__)

    def _put(self, path: Path, data: bytes | None, items: Mapping[bytes, str], item: str = "") -> None:
        self._door.put(self._file(path), data, self._mine.__contains__, items, item)

    def _edited(self, path: Path, outcomes: list[Outcome]) -> None:
        """Plan a changed file; an edit that does not fit fails, the others stay.

        What earlier runs wrote and this one does not is taken back.
        """
        before = self._was(path)
        own = self._brought.layers_of(text_of(path))
        if (
            before is None
            or any(not layer.slot.name for layer in own)
            or any(outcome.result.is_file for outcome in outcomes)
        ):
            self._edited_file(path, outcomes, before)
            return
        archive, items = ArchiveEdits(read_nres(before, text_of(path))), dict[bytes, str]()
        for outcome in outcomes:
            try:
                with archive.whole():
                    names = self._put_edit(archive, outcome)
            except ConversionError as error:
                outcome.status, outcome.detail, outcome.result = FAILED, str(error), None
            else:
                items |= dict.fromkeys(names, _origins(outcome))
        if path == self._keys.path:
            there = read_nres(bytes(read_file(self._places.game / path)), text_of(path))
            items |= self._keys.put_into(archive, there)
        self._put(path, write_nres(archive.archive()), items)
        self._report(path, outcomes, [path])

    def _put_edit(self, archive: ArchiveEdits, outcome: Outcome) -> list[bytes]:
        """Put one edit into an archive; return the names of its entries."""
        edited: Edited = outcome.result
        names = []
        if edited.name is not None:
            assert edited.data is not None
            there = put_new_entry(
                archive, edited.name, edited.type_id, edited.data, edited.attributes, force=self._force
            )
            if there:
                outcome.status, outcome.detail = there
            outcome.warnings += put_wear(archive, edited.name, edited.wear)
            names += [edited.name, encode_name(f"{stem(decode_text(edited.name))}{WEAR_ENDING}")]
        elif edited.data is not None:
            assert edited.index is not None
            width, height = edited.sizes
            names.append(archive.entries[edited.index].name_bytes)
            archive.replace(edited.index, edited.data, attr1=width, attr2=height)
        put_companions(archive, edited.model, edited.companions, HINT_OF_RUN, force=self._force)
        self._keys.add(archive, edited, outcome)
        model = decode_text(edited.model)
        return [*names, *(encode_name(c.entry_name(model)) for c in edited.companions)]

    def _edited_file(self, path: Path, outcomes: list[Outcome], before: bytes | None) -> None:
        """The same of a file that is a model, or of an unpacked library."""
        data, item, files = before, "", [path]
        for outcome in outcomes:
            try:
                files += self._beside(path, outcome)
            except ConversionError as error:
                outcome.status, outcome.detail, outcome.result = FAILED, str(error), None
                continue
            data, item = outcome.result.data or before, _origins(outcome)
        self._put(path, data, {}, item)
        self._report(path, outcomes, files)

    def _beside(self, path: Path, outcome: Outcome) -> list[Path]:
        """Plan the files that change with a model that is a file of its own; return them.

        Raises:
            ConversionError: one of them is not the one that was converted.
        """
        files = []
        for one in outcome.result.companions:
            other = named_like(self._places.game / path, one.ending).relative_to(self._places.game)
            was = self._was(other)
            if was is not None:
                same = was == one.data or shows_same_points(one, was)
                if not (same or self._force or may_replace(one, was)):
                    raise changed_since(text_of(other), None, HINT_OF_RUN, one)
                if same and was != one.data:
                    continue
            self._put(other, one.data, {}, _origins(outcome))
            files.append(other)
        return files

    def _new_file(self, outcome: Outcome) -> None:
        """Plan a file that is new in the folder of an unpacked library."""
        edited: Edited = outcome.result
        assert edited.data is not None
        path = Path(*edited.source.split("/"))
        was = self._was(path)
        if was not in (None, edited.data) and not self._force:
            hint = "give the new file another name"
            raise ConversionError("is there already, and another one", file=str(self._places.game / path), hint=hint)
        self._put(path, edited.data, {}, _origins(outcome))
        self._report(path, [outcome], [path])

    def _is_undecided(self, layer: Layer) -> bool:
        """Whether nothing is known of what a glTF that a change came from shows now."""
        origins = [self._items.get(item) for item in layer.items]
        return any(outcome is not None and outcome.is_undecided for outcome in origins)

    def _report(self, path: Path, outcomes: list[Outcome], files: list[Path]) -> None:
        """Note what is restored, and which items the game has already."""
        opened = self._door.open(self._file(path))
        slots = {layer.slot for layer in opened.wanted if layer not in self._undecided}
        for layer in opened.layers:
            if layer in self._mine and layer.slot not in slots:
                self._restored(path, layer)
        new = {item for file in files for news in self._door.open(self._file(file)).news for item in news.split(JOIN)}
        for outcome in outcomes:
            done = outcome.result is not None and outcome.status in ("changed", "added")
            if done and new.isdisjoint([outcome.id, *outcome.origins[:1]]):
                outcome.status, outcome.detail = "unchanged", "the game has it already"

    def _restored(self, path: Path, layer: Layer) -> None:
        """Note that an edit of an earlier run is undone."""
        file, item = text_of(path), layer.items[0]
        if item.partition("::")[0] != file:  # an entry of a library, which models changed
            item = f"{file}::{layer.slot.text}" if layer.slot.name else file
        outcome = self._items.get(item)
        if outcome is None:
            outcome = self._items[item] = Outcome(item, "restored")
            is_model = item.lower().endswith(".msh")
            (self._run.outcomes if is_model else self._run.textures).append(outcome)
        if outcome.status in ("unchanged", "kept"):
            outcome.status, outcome.detail = "restored", "as it was converted"

    def write(self, progress: Progress) -> None:
        """Write the plan: copies one by one, changes all or none."""
        done, total = 0, len(self.copies) + len(self.jobs)
        try:
            if (new := self._places.new) is not None:
                self._make_directories(new)
                for file in self.jobs:
                    require_inside(new, new / self._path(file), self._places.game)
            for path in self.copies:
                outcome = self._copy(path)
                done += 1
                if outcome.status == FAILED:
                    self._run.unreadable.append(Skipped(outcome.id, outcome.detail))
                progress(outcome, done, total)
            for file in self._door.commit():
                done += 1
                progress(Outcome(text_of(self._path(file)), "written"), done, total)
        except KeyboardInterrupt:
            self._run.interrupted = True
            self._run.notes.append(f"{done} of {total} files are written")

    def _copy(self, path: Path) -> Outcome:
        assert self._places.new is not None
        id, target, source = text_of(path), self._places.new / path, self._places.game / path
        try:
            require_inside(self._places.new, target, self._places.game)
            if (data := self._plain.get(path)) is not None:
                write_outputs([(target, data)], force=True)
            elif source.is_symlink() and not source.is_file():
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
            return Outcome(id, FAILED, f"cannot be written ({reason_of(error)})")

    def _make_directories(self, new: Path) -> None:
        for path in self._tree.directories:
            with contextlib.suppress(OSError):  # writing a file there says what is wrong
                (new / path).mkdir(parents=True, exist_ok=True)
        for path in self._tree.directory_links:
            with contextlib.suppress(OSError):
                _copy_link(self._places.game / path, new / path, self._places.game)


def _origins(outcome: Outcome) -> str:
    """The models that a change comes from, as the history has them."""
    return JOIN.join(outcome.origins or [outcome.id])


def _copy_link(source: Path, target: Path, game: Path) -> None:
    """Make the same link; one that leads out of the game leads to the same place."""
    if os.path.lexists(target):
        return
    text, real = os.readlink(source), os.path.realpath(source)
    inside = Path(real).is_relative_to(os.path.realpath(game))
    target.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(text if inside and not os.path.isabs(text) else real, target)


def add_placed_edits(run: Run, game: Path, *, brought: Brought, force: bool = False) -> None:
    """Let the models that units and missions of a run show be written as they were edited there.

    Where two of them show a model otherwise, or one otherwise than the model's own glTF, that of the model alone is
    applied, else none. ``run``: its outcomes; those of the models change, and ``not_applied`` grows.
    """
    groups: dict[tuple[str, bytes], list[tuple[Outcome, PlacedImport]]] = {}
    for outcome in run.outcomes:
        for one in outcome.placed:
            root = absolute(game)
            if one.path is None or not one.path.is_relative_to(root):
                _refuse(outcome, one, "its file is not in the game's directory", "give the whole game with --game")
                continue
            groups.setdefault((text_of(one.path.relative_to(root)), one.raw_name), []).append((outcome, one))
    known = {outcome.id: outcome for outcome in run.outcomes}
    for (source, raw), group in groups.items():
        id = f"{source}::{decode_text(raw)}" if raw else source
        _add_placed(run, known.get(id), id, source, group, brought, force)


def _add_placed(
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
    made = guarded(id, partial(_edited_there, id, source, first, brought, force))
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


def _edited_there(id: str, source: str, placed: PlacedImport, brought: Brought, force: bool) -> Outcome:
    result, path, index = placed.result, placed.path, placed.index
    assert path is not None
    found = entry_to_replace(
        brought.archive(path, source, is_model=index is None),
        placed.raw_name,
        index or 0,
        known={placed.sha256, *brought.digests(source, decode_text(placed.raw_name), placed.raw_name.hex())},
        is_new=lambda entry: entry.payload == result.data,
        hint=HINT_OF_RUN,
        force=force,
    )
    is_there = result.kept_all or found is None
    if is_there and not result.companions:
        return Outcome(id, "unchanged", "the game has it already")
    index = None if index is None else found
    data, companions = None if is_there else result.data, tuple(result.companions)
    return Outcome(
        id, "changed", result=Edited(source, index, None, data, model=placed.raw_name, companions=companions)
    )


def _refuse(outcome: Outcome, placed: PlacedImport, why: str, instead: str) -> None:
    changes = "; ".join(str(change) for change in placed.result.changes[:5])
    outcome.not_applied.append(
        NotApplied(where=Subject("model", placed.result.name), what=changes, why=why, instead=instead)
    )
