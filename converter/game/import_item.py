"""Import one model or texture of a run: what a worker of ``gltf2msh OUT_DIR`` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from time import perf_counter
from typing import Any

from ..errors import ConversionError
from ..files import read_file, stamp
from ..formats.kinds import MODEL_TYPE, Kind
from ..formats.names import entry_name, readable
from ..formats.nres import Archive, Entry, read_nres
from ..formats.sidecar import sha256
from ..kinds.dispatch import import_gltf
from ..kinds.import_result import Companion
from ..kinds.open_files import entry_file
from ..options import ImportOptions
from ..scene.dialect import Dialect
from .edits import GameEdits
from .games import HINT_OF_RUN, entry_to_replace, file_as_archive
from .history import Layer, Slot
from .manifest import Outcome, Record, guarded, known_at_once
from .sources import archive_majority, open_archive


@dataclass(frozen=True)
class Brought:
    """What an output directory has brought into the files of a game; it stays in the process that has the game open.

    Attributes:
        door: a transaction on the game, in which nothing is put before all is looked at.
        prefix: the path from its root to the game's directory of the run; empty, or ending in a slash.
        layers: the changes, each with its file: what reports call it, and its path from the run's
            directory.
        left: file, slot and SHA-256 of what these made, and of what came back where an edit cancelled
            what was exported.
    """

    door: GameEdits
    prefix: str
    layers: tuple[tuple[str, str, Layer], ...] = ()
    left: frozenset[tuple[str, Slot, str]] = frozenset()

    _archives: dict[str, Archive] = field(default_factory=dict)

    @cached_property
    def _in_files(self) -> dict[str, list[tuple[str, Layer]]]:
        found: dict[str, list[tuple[str, Layer]]] = {}
        for file, path, layer in self.layers:
            found.setdefault(file, []).append((path, layer))
        return found

    @cached_property
    def _in_folders(self) -> set[str]:
        return {str(folder) for file in self._in_files for folder in PurePosixPath(file).parents}

    @cached_property
    def _left_in(self) -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for file, slot, digest in self.left:
            found.setdefault((file, slot.name), set()).add(digest)
        return found

    @property
    def items(self) -> set[str]:
        """The models and textures that it came from, as reports call them."""
        return {item for _, _, layer in self.layers for item in layer.items}

    def has(self, file: str) -> bool:
        """Whether any of it is in a file."""
        return file in self._in_files

    def layers_of(self, file: str) -> list[Layer]:
        """Return what of it is in a file."""
        return [layer for _, layer in self._in_files.get(file, ())]

    def digests(self, source: str, name: str, raw: str) -> set[str]:
        """Return SHA-256 of all that runs left in one entry, or in one file.

        Args:
            name: the entry's name; a folder has a file of that name.
            raw: the name as hex; empty: the file itself.
        """
        places = ((source, raw), (source, ""), (f"{source}/{name}", ""))
        return set().union(*(self._left_in.get(place, ()) for place in places))

    def was(self, file: str) -> bytes | None:
        """Return a file that something was brought into as it is without that; ``file``: what reports call it.

        Returns:
            Its bytes; ``None``: an edit made the file.

        Raises:
            ConversionError: the file cannot be read, or the vault is damaged.
        """
        path = self._in_files[file][0][0]
        return self.door.was(f"{self.prefix}{path}", {*self.layers_of(file)}.__contains__)

    def archive(self, path: Path, source: str, *, is_model: bool = False) -> Archive:
        """Return an archive, or the folder that it was unpacked into, without what was brought; it is made once.

        ``source``: what messages and reports call it. ``is_model``: the file is one, and becomes an archive of it.
        Raises ConversionError: as of :meth:`was`.
        """
        if source not in self._archives:
            self._archives[source] = self._archive(path, source, is_model)
        return self._archives[source]

    def _archive(self, path: Path, source: str, is_model: bool) -> Archive:
        if is_model:
            return file_as_archive(self.was(source) if self.has(source) else read_file(path), source)
        if self.has(source):
            return read_nres(self.was(source) or b"", source)
        archive = open_archive(str(path), source, stamp(path))
        if source not in self._in_folders:
            return archive
        entries = [
            replace(entry, payload=self.was(file) or b"")
            if self.has(file := f"{source}/{entry_file(path, entry.name)}")
            else entry
            for entry in archive.entries
        ]
        return replace(archive, entries=entries)

    def before(self, path: Path, record: Record) -> tuple[tuple[int, Entry], ...] | None:
        """Return what :class:`ImportTask` says of an item that was exported; ``path``: of its archive or file.

        Raises:
            ConversionError: as of :meth:`was`.
        """
        if not self.has(record.source) and record.source not in self._in_folders:
            return None
        archive = self.archive(path, record.source, is_model=record.index is None)
        raw = bytes.fromhex(record.raw_name or "")
        same = sorted(archive.namesakes(raw))
        return tuple((i, archive.entries[i]) for i in same if archive.entries[i].name_bytes == raw)


def brought_by(door: GameEdits, prefix: str, records: Mapping[str, Record]) -> Brought:
    """Return what an output directory has brought into a game since it was exported.

    Args:
        door: a transaction on the game, whose owner is the output directory.
        prefix: as of :class:`Brought`.
        records: the manifest's, by what reports call them.
    """

    def is_shown(number: int, layer: Layer) -> bool:
        shown = [records[item].edits for item in layer.items if item in records]
        return number <= min(shown, default=0)

    layers = [
        (readable(path := file[len(prefix) :]), path, layer)
        for file, state in door.history.files.items()
        if file.startswith(prefix)
        for layer in state.layers
        if layer.owner == door.owner and not is_shown(layer.number, layer)
    ]
    left = {(file, layer.slot, layer.after) for file, _, layer in layers}
    for number, file, layer in door.history.taken_out(door.owner):
        is_mine = layer.owner == door.owner and not is_shown(layer.number, layer)
        if file.startswith(prefix) and not is_mine and not is_shown(number, layer):
            left.add((readable(file[len(prefix) :]), layer.slot, layer.before))
    return Brought(door, prefix, tuple(layers), frozenset(left))


@dataclass(frozen=True)
class ImportTask:
    """One glTF and where it belongs.

    Attributes:
        id: what reports call it.
        out: the directory that ``msh2gltf`` wrote; absolute.
        target: the glTF's path from there.
        source: the game's file that it belongs to, from the game's root.
        game_file: that file; ``None`` where the game has none of that name.
        record: what the manifest says; ``None``: it is new.
        options: how glTF becomes a model.
        force: write it even where the game has another model now.
        written: SHA-256 of all that earlier runs left of it.
        before: the entries of its name, each with its directory index, or its file, as they are without what earlier
            runs brought into their archive; ``None``: that is nothing, the game has them so.
    """

    id: str
    out: str
    target: str
    source: str
    game_file: str | None
    record: Record | None
    options: ImportOptions
    force: bool = False
    written: frozenset[str] = frozenset()
    before: tuple[tuple[int, Entry], ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what goes to another process: of an archive the bytes of these entries alone."""
        entries = self.before and tuple((i, replace(one, payload=bytes(one.payload))) for i, one in self.before)
        return {**self.__dict__, "before": entries}

    @property
    def is_texture(self) -> bool:
        """Whether it is a picture that models use."""
        return self.record is not None and self.record.kind is Kind.TEXTURE


@dataclass(frozen=True)
class Edited:
    """A model or a texture to write into the game.

    Attributes:
        source: the file that it is, or is in.
        index: directory index of its entry; ``None``: a file of its own, or a new entry.
        name: the name of a new entry.
        data: its bytes; ``None``: only its companions change.
        type_id: of a new entry.
        attributes: attr1, attr2 and attr3 of a new entry.
        is_new_file: it is a new file in the folder of an unpacked library.
        model: name of the model's entry.
        wear: material names by row, of a new entry.
        companions: files of its name that change, too.
        sizes: the directory's attr1 and attr2, where they change too.
    """

    source: str
    index: int | None
    name: bytes | None
    data: bytes | None
    wear: list[str] | None = None
    model: bytes = b""
    companions: tuple[Companion, ...] = ()
    sizes: tuple[int | None, int | None] = (None, None)
    type_id: int = MODEL_TYPE
    attributes: tuple[int, int, int] = (0, 0, 0)
    is_new_file: bool = False

    @property
    def is_file(self) -> bool:
        """Whether it replaces a file of an unpacked library, not an entry."""
        return not self.model and self.index is None and self.name is None


def import_item(task: ImportTask) -> Outcome:
    """Import one model or texture that is not untouched; never raises. ``result``: an :class:`Edited` if it changed."""
    work = _import_texture if task.is_texture else _import_new if task.record is None else _import_known
    return guarded(task.id, partial(work, task))


def untouched_item(task: ImportTask) -> Outcome | None:
    """The outcome of an item whose files are as they were written, or gone; ``None``: import it."""
    return known_at_once(partial(_as_written, task))


def _as_written(task: ImportTask) -> Outcome | None:
    started = perf_counter()
    target = Path(task.out, *task.target.split("/"))
    if task.record is None:
        return None
    if not target.is_file():
        if not task.is_texture and target.with_suffix(".gltf").is_file():
            return None
        what = "picture" if task.is_texture else "glTF"
        problem = f"its {what} is gone: kept as it is in the game"
        return Outcome(task.id, "kept", problem, is_gone=True)
    if (task.is_texture or _usual(task.options)) and _untouched(task, task.record):
        return Outcome(task.id, "unchanged", seconds={"read": perf_counter() - started})
    return None


def _import_known(task: ImportTask) -> Outcome:
    record, started = task.record, perf_counter()
    assert record is not None
    gltf = Path(task.out, *task.target.split("/"))
    if not gltf.is_file():
        gltf = gltf.with_suffix(".gltf")
    options = task.options
    if record.kind is not Kind.MODEL:  # nothing but its sidecar can make a map of it
        options = replace(options, use_sidecar=True)
    result = import_gltf(gltf, None, options)
    if result.source_sha256 not in ("", record.sha256):
        raise ConversionError(
            "was made of another model",
            file=str(gltf),
            value=result.name,
            expected=record.name,
            hint="--add makes a new model of a copy under a name of its own; "
            "gltf2msh FILE --into ARCHIVE --add --force replaces this one",
        )
    outcome = Outcome(
        task.id,
        "unchanged",
        kind=record.kind,
        warnings=result.warnings,
        facts={"changes": [str(change) for change in result.changes]},
        seconds={"convert": perf_counter() - started},
        not_applied=result.not_applied,
        library=result.library,
        new_materials=result.new_materials,
        placed=result.placed,
    )
    if result.not_applied:
        outcome.status, outcome.detail = "kept", "as it is in the game, see not applied"
    kept = result.kept_all or sha256(result.data) == record.sha256
    if kept and not result.companions:
        return outcome
    if task.game_file is None:
        raise ConversionError("is not in the game's directory", file=task.source)
    found = _entry_to_replace(task, record, lambda entry: entry.payload == result.data)
    if found is None and not result.companions:
        outcome.detail = "the game has it already"
        return outcome
    outcome.status, outcome.detail = "changed", ""
    outcome.facts["items"] = [row for row in result.report if row["status"] != "kept"]
    model = bytes.fromhex(record.raw_name or "")
    data = None if found is None or kept else result.data
    index = None if found is None or record.index is None else found[0]
    outcome.result = Edited(task.source, index, None, data, model=model, companions=tuple(result.companions))
    return outcome


def _usual(options: ImportOptions) -> bool:
    """Whether an untouched file is the model that it was made of."""
    usual = replace(options, verify=True, allow_delete=False, own_materials=False, like="", game=None, new_keys=())
    return usual == ImportOptions()


def _import_texture(task: ImportTask) -> Outcome:
    """Import a picture into its library, if somebody edited it."""
    from ..kinds.library import edited_texture

    record, keep_alpha = task.record, task.options.keep_alpha
    assert record is not None
    started = perf_counter()
    picture = Path(task.out, *task.target.split("/"))
    outcome = Outcome(task.id, "unchanged")
    if task.game_file is None:
        raise ConversionError("is not in the game's directory", file=task.source)

    def is_new(entry: Entry) -> bool:
        new = edited_texture(picture, entry, task.source, keep_alpha=keep_alpha)
        return new is None or entry.payload == new.data

    found = _entry_to_replace(task, record, is_new)
    outcome.seconds = {"convert": perf_counter() - started}
    if found is None:
        outcome.detail = "the game has it already"
        return outcome
    index, entry = found
    new = edited_texture(picture, entry, task.source, keep_alpha=keep_alpha)
    if new is not None:
        outcome.status, outcome.warnings = "changed", new.warnings
        if Path(task.game_file).is_dir():
            source = f"{task.source}/{entry_file(Path(task.game_file), entry.name)}"
            outcome.result = Edited(source, None, None, new.data)
        else:
            sizes = (new.attr1, new.attr2)
            outcome.result = Edited(task.source, index, None, new.data, sizes=sizes)
    return outcome


def _untouched(task: ImportTask, record: Record) -> bool:
    """Whether the files are the very bytes that ``msh2gltf`` wrote."""
    for output in record.outputs:
        path = Path(task.out, *output.path.split("/"))
        if not path.is_file() or sha256(read_file(path)) != output.sha256:
            return False
    return True


def _entry_to_replace(task: ImportTask, record: Record, is_new: Callable[[Entry], bool]) -> tuple[int, Entry] | None:
    """The entry that an edited one replaces, with its directory index; as :func:`entry_to_replace`."""
    assert task.game_file is not None
    places: Sequence[int]
    if task.before is not None:
        archive, places = Archive(task.source, entries=[one for _, one in task.before]), [i for i, _ in task.before]
    elif record.index is None:
        archive, places = file_as_archive(read_file(Path(task.game_file)), task.source), (0,)
    else:
        archive = open_archive(task.game_file, task.source, stamp(task.game_file))
        places = range(len(archive.entries))
    found = entry_to_replace(
        archive,
        bytes.fromhex(record.raw_name or ""),
        places.index(record.index or 0) if (record.index or 0) in places else -1,
        known={record.sha256, *task.written},
        is_new=is_new,
        hint=HINT_OF_RUN,
        force=task.force,
    )
    return None if found is None else (places[found], archive.entries[found])


def _import_new(task: ImportTask) -> Outcome:
    started = perf_counter()
    if task.game_file is None:
        raise ConversionError("is not in the game's directory", file=task.source)
    options = replace(task.options, new=True)
    if options.dialect == "auto":
        decision = archive_majority(task.game_file, task.source, stamp(task.game_file))
        options = replace(options, dialect=decision.dialect if decision else Dialect.SPEC)
    gltf = Path(task.out, *task.target.split("/"))
    result = import_gltf(gltf, None, options)
    name = entry_name(gltf.stem)
    return Outcome(
        task.id,
        "added",
        warnings=result.warnings,
        facts={"dialect": result.dialect, "items": result.report, "wear": result.wear},
        seconds={"convert": perf_counter() - started},
        result=Edited(
            task.source, None, name, result.data, result.wear, model=name, companions=tuple(result.own_companions)
        ),
        not_applied=result.not_applied,
        new_materials=result.new_materials,
    )
