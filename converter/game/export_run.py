"""Export a whole run, and resume it: ``msh2gltf GAME_DIR -o OUT_DIR``."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import IO, Any, Literal

from .. import MANIFEST, __version__
from ..errors import ConversionError, plural
from ..files import Stamp, only_run, read_file, stamp
from ..findings import Finding, messages
from ..formats.kinds import ASSEMBLY_KINDS, Kind
from ..formats.nres import Archive
from ..formats.sidecar import sha256
from ..kinds.appearance import find_appearance, with_libraries_around
from ..options import ExportOptions
from ..storage import IN_THE_WAY, absolute, no_follow, remove_temporary, require_inside, write_outputs
from .manifest import (
    FAILED,
    JOURNAL,
    Manifest,
    Outcome,
    Output,
    Progress,
    Record,
    Run,
    as_row,
    guarded,
    has_journal,
    known_at_once,
    read_manifest,
    write_manifest,
)
from .sources import archive_of, files_beside, payload_of, picture_items, placed_files, source_of, wear_text
from .walk import Folder, Found, Item, Skipped, common_root, select, walk
from .workers import Engine

#: What ``--only`` chooses.
ONLY = {
    "models": Kind.MODEL,
    "terrains": Kind.TERRAIN,
    "areal-maps": Kind.AREAL_MAP,
    "units": Kind.UNIT,
    "missions": Kind.MISSION,
}


def found_in(
    inputs: Sequence[Path],
    out: Path | None,
    include: Sequence[str],
    exclude: Sequence[str],
    only: Sequence[str] = (),
    *,
    in_game: bool = False,
    longer: bool = False,
) -> tuple[list[Item], Found]:
    """The models that a run is about, and all that was met on the way.

    Args:
        out: the output directory, which is not looked into.
        include, exclude: globs on ``path::entry``.
        only: keys of ``ONLY``; none: all of them.
        in_game, longer: as of :func:`~converter.game.walk.walk`.

    Raises:
        ConversionError: there is nothing to convert.
    """
    found = walk(inputs, out, in_game=in_game, longer=longer)
    items = select(found.items, include, exclude)
    kinds = [ONLY[name] for name in only]
    items = [item for item in items if not kinds or item.kind in kinds]
    if not items:
        where = ", ".join(map(str, inputs))
        if found.items:
            raise ConversionError(
                f"none of {len(found.items)} models is left by --include, --exclude and --only",
                file=where,
                hint="--list shows what they are matched with",
            )
        problem = "holds no core model"
        if found.unreadable:
            problem += f", and {found.unreadable[0].id} {found.unreadable[0].reason}"
        hint = "name the game's folder, or an archive with models; --unpack DIR takes entries of any kind"
        raise ConversionError(problem, file=where, hint=hint)
    return items, found


def run_options(sources: Sequence[Path], options: ExportOptions) -> ExportOptions:
    """Return the options of a run: the root's libraries come after those that the user named.

    Where the root has none, those of the folder around it.

    Pictures beside the glTF are one set for the whole run, so no other folder is searched. Raises ConversionError:
    the sources have no common directory.
    """
    root = absolute(common_root(sources))
    folders = with_libraries_around(root, [Path(folder) for folder in options.textures])
    return replace(options, textures=tuple(map(str, folders)), own_folder=bool(options.embed))


def export_run(
    items: Sequence[Item],
    found: Found,
    out: Path,
    options: ExportOptions,
    engine: Engine,
    progress: Progress,
    *,
    sidecar: bool = True,
    force: bool = False,
    dry_run: bool = False,
) -> Run:
    """Convert models into an output directory and write its manifest.

    Raises:
        ConversionError: the output directory cannot be used.
    """
    started = perf_counter()
    run = Run("msh2gltf", total=len(items), skipped=found.skipped, unreadable=found.unreadable)
    items = [*items, *picture_items(items, options)]
    with nullcontext() if dry_run else only_run(out):
        before = read_manifest(out) or Manifest(__version__)
        if not before.id and not (before.records and before.converter):
            before.id = os.urandom(8).hex()  # one that was written before it had ids keeps none
        if not dry_run:
            remove_temporary(out)
            if has_journal(out):
                write_manifest(out, before)
        manifest = Manifest(
            __version__,
            dict(before.records),
            {archive.source: archive for archive in found.archives},
            found.skipped,
            found.unreadable,
            id=before.id,
        )
        task = partial(
            ExportTask, out=str(absolute(out)), options=options, sidecar=sidecar, force=force, dry_run=dry_run
        )
        tasks = [task(item, before=before.records.get(item.target)) for item in items]
        journal = None if dry_run else Journal(out, found.archives)
        try:
            outcomes, run.interrupted = _export_all(
                tasks, manifest, journal, engine, progress, edits=_transactions(items)
            )
        finally:
            if journal is not None:
                journal.close()
                remove_temporary(out)  # of workers that died
        run.outcomes = [o for i, o in outcomes.items() if items[i].kind is not Kind.TEXTURE]
        run.textures = [o for i, o in outcomes.items() if items[i].kind is Kind.TEXTURE]
        if not dry_run:
            manifest.failed = [Skipped(o.id, o.detail) for o in run.everything if o.status == FAILED]
            if manifest != before or has_journal(out) or not (out / MANIFEST).is_file():
                try:
                    write_manifest(out, manifest)
                except ConversionError as error:  # what was converted is there all the same
                    run.unreadable = [*run.unreadable, Skipped(MANIFEST, str(error))]
    here = {item.target for item in [*found.items, *items]}
    if gone := len(manifest.records.keys() - here):
        run.notes.append(f"{plural(gone, 'model')} of earlier runs: not in the input, outputs kept")
    run.seconds = perf_counter() - started
    return run


def _export_all(
    tasks: Sequence[ExportTask],
    manifest: Manifest,
    journal: Journal | None,
    engine: Engine,
    progress: Progress,
    edits: int,
) -> tuple[dict[int, Outcome], bool]:
    """What :meth:`Engine.gather` returns; records go into the manifest and the journal."""

    def note(outcome: Outcome) -> None:
        if isinstance(outcome.result, Record):
            if outcome.status == "converted":
                outcome.result = replace(outcome.result, edits=edits)
            manifest.put(outcome.result)
            if journal is not None and outcome.status == "converted":
                journal.add(outcome.result)

    ids, sizes = [task.item.id for task in tasks], [task.item.size for task in tasks]
    return engine.gather(export_item, tasks, progress, ids=ids, sizes=sizes, each=note, known=unchanged_item)


def _transactions(items: Sequence[Item]) -> int:
    """The last transaction on the game that is exported, in the history that an import reads."""
    from .vault import last_transaction  # a dry run needs none of it

    first = items[0]
    return last_transaction(Path(first.path).parents[first.source.count("/")])


#: What became of an output since it was written.
State = Literal["ours", "edited", "missing"]


@dataclass(frozen=True)
class ExportTask:
    """One item and what is to be done with it.

    Attributes:
        out: the output directory; absolute.
        sidecar: whether sidecars are written.
        force: convert and replace, whatever is there.
        before: what the manifest says of it.
    """

    item: Item
    out: str
    options: ExportOptions
    sidecar: bool = True
    force: bool = False
    dry_run: bool = False
    before: Record | None = None


@dataclass(frozen=True)
class Look:
    """An item and its outputs as they are now.

    Attributes:
        task: the item, and what is to be done with it.
        started: when it was looked at.
        now: stamp of its file.
        size, digest: of the item.
        facts: what the outputs depend on.
        states: of the outputs that were written before.
        current: they are those of the item as it is now, as far as they are there.
    """

    task: ExportTask
    started: float
    now: Stamp
    archive: Archive
    size: int
    digest: str
    facts: str
    states: dict[str, State]
    current: bool

    @property
    def edited(self) -> list[str]:
        """Outputs that somebody edited."""
        return [name for name, state in self.states.items() if state == "edited"]

    @property
    def note(self) -> str:
        """What to report of them."""
        edited = ", ".join(self.edited)
        return f"{edited}: edited since it was written, kept" if edited else ""

    @property
    def outcome(self) -> Outcome | None:
        """The outcome where nothing is to be done."""
        if not self.current or self.task.force or "missing" in self.states.values():
            return None
        seconds = {"read": perf_counter() - self.started}
        status = "kept" if self.edited else "unchanged"
        return Outcome(self.task.item.id, status, self.note, seconds=seconds, result=self.task.before)


def unchanged_item(task: ExportTask) -> Outcome | None:
    """The outcome of an item whose outputs are current; ``None``: it is to be exported."""
    if task.before is None or task.force:
        return None
    return known_at_once(lambda: look_at(task).outcome)


def look_at(task: ExportTask) -> Look:
    """Read an item and its outputs as they are now. Raises ConversionError: the item cannot be read."""
    item, before = task.item, task.before
    started = perf_counter()
    now = stamp(item.path)
    archive = archive_of(item, now)
    payload = payload_of(archive, item)
    digest = sha256(payload)
    facts = _facts(task, archive, digest)
    current = before is not None and key_of(facts, before.dialect_step, archive, item) == before.key
    states = output_states(Path(task.out), before)
    return Look(task, started, now, archive, len(payload), digest, facts, states, current)


def _facts(task: ExportTask, archive: Archive, digest: str) -> str:
    """What the outputs depend on, as text; ``digest``: of the item."""
    item, path = task.item, Path(task.item.path)
    options = _as_row(task.options)
    if item.kind in ASSEMBLY_KINDS:
        made_of = placed_files(path, task.options).digest(item.kind, path)
        return json.dumps([made_of, options, task.sidecar, __version__], sort_keys=True)
    wear = wear_text(archive, path, item)
    appearance = find_appearance(wear, path, task.options)
    materials = "" if appearance is None else sha256(repr(appearance).encode())
    beside = files_beside(archive, path, item, task.options) if item.kind is Kind.MODEL else []
    return json.dumps([digest, sha256(wear), beside, options, materials, task.sidecar, __version__], sort_keys=True)


@lru_cache(maxsize=1)
def _as_row(options: ExportOptions) -> dict[str, Any]:
    """The options as JSON data, without where the libraries lie: what is in them counts."""
    return asdict(replace(options, textures=(), game=None))


def key_of(facts: str, step: str, archive: Archive, item: Item) -> str:
    """Digest of what the outputs depend on: of the archive too where that had a say."""
    if step in ("archive", "d") and item.index is not None:
        facts += _archive_digest(item.path, archive.total_size)
    return sha256(facts.encode())


@lru_cache(maxsize=16)
def _archive_digest(path: str, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def output_states(out: Path, before: Record | None) -> dict[str, State]:
    """What became of each output that was written before: ours, edited, or missing."""
    states: dict[str, State] = {}
    for output in before.outputs if before is not None else ():
        path = out.joinpath(*output.path.split("/"))
        if not path.is_file():
            # Blender's exporter may have made a .gltf of the .glb
            other = path.suffix == ".glb" and path.with_suffix(".gltf").is_file()
            states[output.path] = "edited" if other else "missing"
        else:
            states[output.path] = "ours" if sha256(read_file(path)) == output.sha256 else "edited"
    return states


def refuse_to_lose(files: list[tuple[Path, bytes]], outputs: list[Output], states: dict[str, State]) -> None:
    """Stop where a file is in the way that this converter did not write.

    Raises:
        ConversionError: a file was edited since it was written, or is somebody else's.
    """
    for (path, _), output in zip(files, outputs, strict=True):
        if states.get(output.path) in ("ours", "missing") or not path.exists():
            continue
        if not path.is_file() or sha256(read_file(path)) != output.sha256:
            known = output.path in states
            raise ConversionError(
                "output was edited since it was written" if known else "output exists already",
                file=output.path,
                hint="name another directory, or move the edited file away first" if known else IN_THE_WAY,
            )


class Journal:
    """Records as they come, so that a killed run need not be done again."""

    def __init__(self, directory: Path, archives: Sequence[Folder]) -> None:
        self._path = directory / JOURNAL
        self._file: IO[bytes] | None = None
        self._rows = [*map(asdict, archives)]

    def add(self, record: Record) -> None:
        """Append a record. A full disk loses the line, not the run: the output is compared.

        Raises:
            ConversionError: the journal is a link.
        """
        try:
            if self._file is None:
                # a new file: the run has written an older journal into the manifest
                self._file = open(self._path, "xb", opener=no_follow)  # noqa: SIM115 - close()
            rows, self._rows = [*self._rows, as_row(record)], []
            for row in rows:
                self._file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self._file.flush()
        except OSError:
            return

    def close(self) -> None:
        """Close the file; ``write_manifest`` removes it."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()


def export_item(task: ExportTask) -> Outcome:
    """Convert one model; never raises. ``result`` is its new record, ``None`` if it failed."""
    return guarded(task.item.id, partial(_export, task))


def _export(task: ExportTask) -> Outcome:
    from ..kinds.dispatch import load  # what a run that has nothing to do goes without
    from ..kinds.model import LoadedModel

    look = look_at(task)
    item, archive = task.item, look.archive
    read = perf_counter()
    out = Path(task.out)
    target = out.joinpath(*item.target.split("/"))
    loaded = load(item.kind, source_of(archive, item, look.now), task.options)
    files = loaded.files(target, task.options, sidecar=task.sidecar, root=out)
    dialect = ("", "", "")
    if isinstance(loaded, LoadedModel):
        decision = loaded.decision
        dialect = decision.dialect.value, decision.step, decision.reason
    outputs = [Output(path.relative_to(out).as_posix(), len(d), sha256(d)) for path, d in files]
    converted = perf_counter()
    if not task.force:
        if look.current:  # somebody removed a part of what is there, and edited another
            files = [f for f, o in zip(files, outputs, strict=True) if o.path not in look.edited]
        else:
            refuse_to_lose(files, outputs, look.states)
    if not task.dry_run:
        require_inside(out, target)
        write_outputs(files, force=True)
    record = Record(
        item.source,
        item.index,
        item.name,
        None if item.index is None else archive.entries[item.index].name_bytes.hex(),
        item.kind,
        _when(look.now[-1]),
        look.size,
        look.digest,
        key_of(look.facts, dialect[1], archive, item),
        *dialect,
        tuple(outputs),
        tuple(map(_row, loaded.findings)),
    )
    return Outcome(
        item.id,
        "converted",
        detail=look.note if look.current else "",
        warnings=[*messages(loaded.findings), *filter(None, [loaded.why_no_ranges(task.options)])],
        facts={"dialect": record.dialect, "outputs": [output.path for output in outputs]},
        seconds={"read": read - look.started, "convert": converted - read, "write": perf_counter() - converted},
        result=record,
    )


def _row(finding: Finding) -> dict[str, str]:
    """A finding in the manifest; an error says what was left out."""
    row = {"code": finding.code, "severity": finding.severity, "text": str(finding)}
    return row | ({"left_out": finding.rule.drops} if finding.severity == "error" else {})


def _when(nanoseconds: int) -> str:
    """A file's time as text, also before 1970; later than any calendar: its last second."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=nanoseconds // 10**9)).isoformat()
    except OverflowError:
        return datetime.max.replace(microsecond=0, tzinfo=UTC).isoformat()
