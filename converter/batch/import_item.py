"""One model back: what a worker of ``gltf2msh OUT_DIR`` does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

from ...importers.nres import read_file, stamp
from ..errors import ConversionError
from ..formats.archive import Archive
from ..formats.kinds import Kind
from ..formats.names import entry_name
from ..formats.sidecar import sha256
from ..pipeline.dispatch import import_gltf
from ..pipeline.options import ImportOptions
from ..scene.dialect import Dialect
from .export_item import archive_majority, open_archive
from .manifest import Record
from .outcome import Outcome, guarded


@dataclass(frozen=True)
class RestoreTask:
    """One glTF and where it belongs.

    Attributes:
        id: what reports call it.
        out: the directory that ``msh2gltf`` wrote; absolute.
        target: the glTF's path from there.
        source: the game's file that it belongs to, from the game's root.
        game_file: that file; ``None`` where the game has none of that name.
        record: what the manifest says; ``None``: it is new.
        options: how glTF becomes a model.
        force: put it back even where the game has another model now.
    """

    id: str
    out: str
    target: str
    source: str
    game_file: str | None
    record: Record | None
    options: ImportOptions
    force: bool = False

    @property
    def is_texture(self) -> bool:
        """Whether it is a picture that models wear."""
        return self.record is not None and self.record.kind is Kind.TEXTURE


@dataclass(frozen=True)
class Returning:
    """A model that goes into the game.

    Attributes:
        source: the file that it is, or is in.
        index: directory index of its entry; ``None``: a file of its own, or a new entry.
        name: the name of a new entry.
        data: its bytes.
        wear: material names by row, of a new entry.
        sizes: the directory's attr1 and attr2, where they change too.
    """

    source: str
    index: int | None
    name: bytes | None
    data: bytes
    wear: list[str] | None = None
    sizes: tuple[int | None, int | None] = (None, None)


def restore_item(task: RestoreTask) -> Outcome:
    """Bring one model back; never raises. ``result`` is a :class:`Returning` if it changed."""
    work = _painted if task.is_texture else _new if task.record is None else _known
    return guarded(task.id, partial(work, task))


def _known(task: RestoreTask) -> Outcome:
    record = task.record
    assert record is not None
    started = perf_counter()
    gltf = Path(task.out, *task.target.split("/"))
    if not gltf.is_file():
        other = gltf.with_suffix(".gltf")
        if not other.is_file():
            return Outcome(task.id, "kept", "its glTF is gone: kept as it is in the game")
        gltf = other
    elif replace(task.options, verify=True) == ImportOptions() and _untouched(task, record):
        return Outcome(task.id, "unchanged", seconds={"read": perf_counter() - started})
    options = task.options
    if record.kind is not Kind.MODEL:  # nothing but its sidecar can make a map of it
        options = replace(options, use_sidecar=True)
    back = import_gltf(gltf, None, options)
    digest = sha256(back.data)
    outcome = Outcome(
        task.id,
        "unchanged",
        warnings=back.warnings,
        seconds={"convert": perf_counter() - started},
    )
    if back.kept_all or digest == record.sha256:
        return outcome
    if task.game_file is None:
        raise ConversionError("is not in the game's directory", file=task.source)
    index = _place(task, record, digest)
    if index == -1:
        outcome.detail = "the game has it already"
        return outcome
    outcome.status = "changed"
    outcome.facts = {
        "changes": [str(change) for change in back.changes],
        "items": [row for row in back.report if row["status"] != "kept"],
    }
    outcome.result = Returning(task.source, index, None, back.data)
    return outcome


def _painted(task: RestoreTask) -> Outcome:
    """A picture that models wear: back into its library if somebody edited it."""
    from ..pipeline.texture import repainted

    record = task.record
    assert record is not None
    started = perf_counter()
    picture = Path(task.out, *task.target.split("/"))
    if not picture.is_file():
        return Outcome(task.id, "kept", "its picture is gone: kept as it is in the game")
    outcome = Outcome(task.id, "unchanged")
    if _untouched(task, record):
        return outcome
    if task.game_file is None:
        raise ConversionError("is not in the game's directory", file=task.source)
    archive = _game_archive(task)
    assert record.index is not None
    same = entries_called(archive, bytes.fromhex(record.raw_name or ""), record.index)
    new = {i: repainted(picture, archive.entries[i], task.source) for i in same}
    outcome.seconds = {"convert": perf_counter() - started}
    digests = [sha256(archive.entries[i].payload) for i in same]
    if record.sha256 in digests:
        index = same[digests.index(record.sha256)]
    elif any(made is None or archive.entries[i].payload == made.data for i, made in new.items()):
        outcome.detail = "the game has it already"
        return outcome
    elif same and task.force:
        index = same[0]
    else:
        raise _another(task.source, record.name if same else None, missing=not same)
    made = new[index]
    if made is not None:
        outcome.status, outcome.warnings = "changed", made.warnings
        sizes = (made.attr1, made.attr2)
        outcome.result = Returning(task.source, index, None, made.data, sizes=sizes)
    return outcome


def _untouched(task: RestoreTask, record: Record) -> bool:
    """Whether the files are the very bytes that ``msh2gltf`` wrote."""
    for output in record.outputs:
        path = Path(task.out, *output.path.split("/"))
        if not path.is_file() or sha256(read_file(path)) != output.sha256:
            return False
    return True


def _game_archive(task: RestoreTask) -> Archive:
    assert task.game_file is not None
    return open_archive(task.game_file, task.source, stamp(task.game_file))


def _place(task: RestoreTask, record: Record, digest: str) -> int | None:
    """Directory index of the entry that a model goes back to; ``None`` for a file of its own.

    -1: the game has the new bytes already.

    Raises:
        ConversionError: the game's model is not the one that was converted.
    """
    assert task.game_file is not None
    if record.index is None:
        now = sha256(read_file(Path(task.game_file)))
        if now == digest:
            return -1
        if now != record.sha256 and not task.force:
            raise _another(task.source, None)
        return None
    archive = _game_archive(task)
    same = entries_called(archive, bytes.fromhex(record.raw_name or ""), record.index)
    digests = [sha256(archive.entries[i].payload) for i in same]
    if record.sha256 in digests:
        return same[digests.index(record.sha256)]
    if digest in digests:
        return -1
    if same and task.force:
        return same[0]
    raise _another(task.source, record.name if same else None, missing=not same)


def entries_called(archive: Archive, raw_name: bytes, index: int) -> list[int]:
    """Directory indices of the entries of a name; where it was before comes first."""
    found = [i for i, entry in enumerate(archive.entries) if entry.name_bytes == raw_name]
    return sorted(found, key=lambda i: i != index)


def _another(source: str, name: str | None, missing: bool = False) -> ConversionError:
    if missing:
        return ConversionError("the game's archive has no such entry any more", file=source)
    return ConversionError(
        "what the game has is not the one that was converted",
        file=source,
        entry=name,
        hint="convert the game again, or replace it with --force",
    )


def _new(task: RestoreTask) -> Outcome:
    started = perf_counter()
    if task.game_file is None:
        raise ConversionError("is not in the game's directory", file=task.source)
    options = task.options
    if options.dialect == "auto":
        decision = archive_majority(task.game_file, task.source, stamp(task.game_file))
        options = replace(options, dialect=decision.dialect if decision else Dialect.SPEC)
    gltf = Path(task.out, *task.target.split("/"))
    back = import_gltf(gltf, None, options)
    name = entry_name(gltf.stem)
    return Outcome(
        task.id,
        "added",
        warnings=back.warnings,
        facts={"dialect": back.dialect, "items": back.report, "wear": back.wear},
        seconds={"convert": perf_counter() - started},
        result=Returning(task.source, None, name, back.data, back.wear),
    )
