"""Export one model or texture: what a worker of ``msh2gltf GAME_DIR`` does."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

from ...importers.control_points import points_of
from ...importers.nres import Stamp, open_nres, read_file, read_nres, stamp
from ...importers.unpacked import open_unpacked
from ...importers.wear import wear_of, wears_of_level
from .. import __version__
from ..errors import ConversionError
from ..findings import Finding, messages
from ..formats.archive import Archive
from ..formats.kinds import ASSEMBLY_KINDS, Kind
from ..formats.sidecar import sha256
from ..pipeline import areal_map, terrain, texture, texture_lookup  # noqa: F401 - see below
from ..pipeline.appearance import find_appearance
from ..pipeline.dispatch import gltf_files, load
from ..pipeline.export_model import LoadedModel
from ..pipeline.game import majority_of
from ..pipeline.gltf_output import Files
from ..pipeline.options import ExportOptions
from ..pipeline.placed_files import PlacedFiles
from ..pipeline.placed_models import require_game
from ..scene.dialect import Decision
from ..storage import require_inside, write_outputs
from .manifest import Output, Record
from .outcome import Outcome, guarded, known_at_once
from .resume import State, key_of, output_states, refuse_to_lose
from .walk import Item

# The process that forks the workers imports this module: what any kind of item needs is imported
# here, once, and not by every worker.

#: How many archives' directories a worker keeps: tasks come by size, so from all of a game's by
#: turns.
_KEPT = 16


@dataclass(frozen=True)
class ExportTask:
    """One item and what is to be done with it.

    Attributes:
        item: the model.
        out: the output directory; absolute.
        options: how models become glTF.
        sidecar: whether sidecars are written.
        force: convert and replace, whatever is there.
        dry_run: write nothing.
        before: what the manifest says of it.
    """

    item: Item
    out: str
    options: ExportOptions
    sidecar: bool = True
    force: bool = False
    dry_run: bool = False
    before: Record | None = None


def export_item(task: ExportTask) -> Outcome:
    """Convert one model; never raises. ``result`` is its new record, ``None`` if it failed."""
    return guarded(task.item.id, partial(_export, task))


def unchanged_item(task: ExportTask) -> Outcome | None:
    """The outcome of an item whose outputs are current; ``None``: it is to be exported."""
    if task.before is None or task.force:
        return None
    return known_at_once(lambda: _look(task).outcome)


@dataclass(frozen=True)
class _Look:
    """An item and its outputs as they are now.

    Attributes:
        task: the item, and what is to be done with it.
        started: when it was looked at.
        now: stamp of its file.
        archive: the file.
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
        return Outcome(
            self.task.item.id, status, self.note, seconds=seconds, result=self.task.before
        )


def _look(task: ExportTask) -> _Look:
    item, before = task.item, task.before
    started = perf_counter()
    now = stamp(item.path)
    archive = archive_of(item, now)
    payload = payload_of(archive, item)
    digest = sha256(payload)
    facts = _facts(task, archive, digest)
    current = before is not None and key_of(facts, before.dialect_step, archive, item) == before.key
    states = output_states(Path(task.out), before)
    return _Look(task, started, now, archive, len(payload), digest, facts, states, current)


def _export(task: ExportTask) -> Outcome:
    look = _look(task)
    if (done := look.outcome) is not None:
        return done
    item, archive = task.item, look.archive
    read = perf_counter()
    out = Path(task.out)
    target = out.joinpath(*item.target.split("/"))
    findings, dialect, files = _convert(task, archive, look.now, target)
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
        tuple(map(_row, findings)),
    )
    return Outcome(
        item.id,
        "converted",
        detail=look.note if look.current else "",
        warnings=messages(findings),
        facts={"dialect": record.dialect, "outputs": [output.path for output in outputs]},
        seconds={
            "read": read - look.started,
            "convert": converted - read,
            "write": perf_counter() - converted,
        },
        result=record,
    )


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
    points = b""
    if task.options.points and item.kind is Kind.MODEL:
        points = bytes(points_of(archive, path, item.index))
    return json.dumps(
        [digest, sha256(wear), sha256(points), options, materials, task.sidecar, __version__],
        sort_keys=True,
    )


@lru_cache(maxsize=1)
def _as_row(options: ExportOptions) -> dict[str, Any]:
    """The options as JSON data, without where the libraries lie: what is in them counts."""
    return asdict(replace(options, textures=(), game=None))


def placed_files(path: Path, options: ExportOptions) -> PlacedFiles:
    """What the units and missions of a game depend on; kept while its directory is the same.

    Raises:
        ConversionError: the file is not in a game.
    """
    game = require_game(path, options)
    known = _PLACED.get("files")
    if known is None or known.game is not game or known.options != options:
        known = _PLACED["files"] = PlacedFiles(game, options)
    return known


#: Those of the game that a worker is at.
_PLACED: dict[str, PlacedFiles] = {}


def _row(finding: Finding) -> dict[str, str]:
    """A finding in the manifest; an error says what was left out."""
    row = {"code": finding.code, "severity": finding.severity, "text": str(finding)}
    return row | ({"left_out": finding.rule.drops} if finding.severity == "error" else {})


def _when(nanoseconds: int) -> str:
    """A file's time as text, also before 1970; later than any calendar: its last second."""
    try:
        return (
            datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=nanoseconds // 10**9)
        ).isoformat()
    except OverflowError:
        return datetime.max.replace(microsecond=0, tzinfo=UTC).isoformat()


def _convert(
    task: ExportTask, archive: Archive, now: Stamp, target: Path
) -> tuple[list[Finding], tuple[str, str, str], Files]:
    """Findings, dialect with its step and reason (models only), and the output files."""
    item = task.item
    others = None
    if item.index is not None:
        others = partial(archive_majority, item.path, item.source, now)
    loaded = load(item.kind, archive, Path(item.path), item.index, task.options, fallback=others)
    files = gltf_files(loaded, target, task.options, sidecar=task.sidecar, root=Path(task.out))
    dialect = "", "", ""
    if isinstance(loaded, LoadedModel):
        decision = loaded.decision
        dialect = decision.dialect.value, decision.step, decision.reason
    return loaded.findings, dialect, files


def wear_text(archive: Archive, path: Path, item: Item) -> bytes:
    """The WEAR that names an item's materials: of a terrain both, one after the other."""
    if item.kind is Kind.TERRAIN:
        return b"".join(wears_of_level(archive, path, item.index))
    return b"" if item.kind is Kind.TEXTURE else bytes(wear_of(archive, path, item.index))


def archive_of(item: Item, now: Stamp) -> Archive:
    """The NRes file that an item is in, or is; of a unit or mission its bytes, without entries.

    Args:
        item: the item.
        now: its file's stamp.
    """
    if item.kind in ASSEMBLY_KINDS:
        return Archive(item.source, read_from=read_file(Path(item.path)))
    if item.index is None:
        return read_nres(read_file(Path(item.path)), item.source, longer=True)
    return open_archive(item.path, item.source, now)


@lru_cache(maxsize=_KEPT)
def open_archive(path: str, label: str, now: Stamp) -> Archive:
    """An NRes file whose directory a worker reads once, and entries when they are asked for.

    Args:
        path: the file, or the folder that it was unpacked into.
        label: what messages call it.
        now: its stamp; another one means another file.
    """
    where = Path(path)
    return open_unpacked(where, label) if where.is_dir() else open_nres(where, label, longer=True)


def payload_of(archive: Archive, item: Item) -> memoryview | bytes:
    """The bytes of an item: a file of its own, or an entry of its archive.

    Raises:
        ConversionError: the file cannot be read, or the archive has fewer entries than it had.
    """
    if item.index is None:
        return archive.read_from
    if item.index >= len(archive.entries):
        raise ConversionError("changed while it was read", file=item.source)
    return archive.entries[item.index].payload


@lru_cache(maxsize=_KEPT)
def archive_majority(path: str, label: str, now: Stamp) -> Decision | None:
    """The dialect of most models of an archive (``evidence`` page, Reading: auto).

    Arguments as of :func:`open_archive`.
    """
    return majority_of(open_archive(path, label, now))
