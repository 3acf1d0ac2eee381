"""Export one model or texture: what a worker of ``msh2gltf GAME_DIR`` does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import perf_counter

from ..files import Stamp
from ..findings import Finding, messages
from ..formats.nres import Archive
from ..formats.sidecar import sha256
from ..kinds import areal_map, game, terrain, texture, texture_lookup  # noqa: F401 - see below
from ..kinds.dispatch import gltf_files, load
from ..kinds.export_model import LoadedModel
from ..kinds.gltf_output import Files
from ..storage import require_inside, write_outputs
from .manifest import Output, Record
from .outcome import Outcome, guarded
from .resume import ExportTask, key_of, look_at, refuse_to_lose
from .sources import archive_majority

# The process that forks the workers imports this module: what any kind of item needs is imported
# here, once, and not by every worker. The process that starts them does without it.


def export_item(task: ExportTask) -> Outcome:
    """Convert one model; never raises. ``result`` is its new record, ``None`` if it failed."""
    return guarded(task.item.id, partial(_export, task))


def _export(task: ExportTask) -> Outcome:
    look = look_at(task)
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
