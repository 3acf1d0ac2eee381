"""One item of a run: what a worker of ``msh2gltf GAME_DIR`` or of ``--roundtrip`` does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from ..errors import plural
from ..files import Stamp, stamp
from ..findings import Finding, Mode, messages
from ..formats.kinds import Kind
from ..formats.nres import Archive, read_nres
from ..formats.sidecar import sha256
from ..kinds.base import Files, Source
from ..kinds.dispatch import import_gltf, load
from ..kinds.model import LoadedModel
from ..options import ExportOptions
from ..storage import require_inside, write_outputs
from .export_run import ExportTask, key_of, look_at, refuse_to_lose
from .manifest import Output, Record
from .outcome import Outcome, guarded
from .sources import archive_majority, archive_of, payload_of
from .walk import Item

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
    findings, dialect, files, why = _convert(task, archive, look.now, target)
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
        warnings=[*messages(findings), *([why] if why else [])],
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
) -> tuple[list[Finding], tuple[str, str, str], Files, str]:
    """Findings, dialect with its step and reason, output files, and why there is no clip of a range (of models)."""
    item = task.item
    others = None
    if item.index is not None:
        others = partial(archive_majority, item.path, item.source, now)
    loaded = load(item.kind, Source(Path(item.path), archive, item.index, fallback=others), task.options)
    files = loaded.files(target, task.options, sidecar=task.sidecar, root=Path(task.out))
    dialect, why = ("", "", ""), ""
    if isinstance(loaded, LoadedModel):
        decision = loaded.decision
        dialect = decision.dialect.value, decision.step, decision.reason
        why = loaded.why_no_ranges(task.options)
    return loaded.findings, dialect, files, why


#: What became of a model: the same bytes, or others.
IDENTICAL, DIFFERENT = "identical", "different"


@dataclass(frozen=True)
class RoundTripTask:
    """One item to export and import again.

    Attributes:
        dialect, mode: how to read it; as of :class:`~converter.options.ExportOptions`.
        folder: a directory for temporary files. It is the caller's, who removes it whatever becomes
            of the process that works in it.
    """

    item: Item
    folder: str
    dialect: str = "auto"
    mode: Mode = "default"


def roundtrip_item(task: RoundTripTask) -> Outcome:
    """Convert one model to glTF and back, in a temporary directory; never raises.

    The status is ``IDENTICAL``, ``DIFFERENT`` (``detail`` says where first) or ``failed``.
    """
    return guarded(task.item.id, partial(_round_trip, task))


def _round_trip(task: RoundTripTask) -> Outcome:
    item, path = task.item, Path(task.item.path)
    started = perf_counter()
    now = stamp(path)
    archive = archive_of(item, now)
    options = ExportOptions(task.dialect, find_textures=False, mode=task.mode)
    with TemporaryDirectory(dir=task.folder) as folder:
        target = Path(folder, "model.glb")
        others = None
        if item.index is not None:
            others = partial(archive_majority, item.path, item.source, now)
        loaded = load(item.kind, Source(path, archive, item.index, fallback=others), options)
        files = loaded.files(target, options)
        write_outputs(files, force=False)
        exported = perf_counter()
        result = import_gltf(target)
    source = payload_of(archive, item)
    status, detail = IDENTICAL, ""
    if source != result.data:
        status, detail = DIFFERENT, _difference(bytes(source), result.data, item.kind)
    elif result.not_applied:
        status, detail = DIFFERENT, result.not_applied[0].line
    return Outcome(
        item.id,
        status,
        detail,
        result.warnings,
        {"kind": item.kind, "bytes": item.size, "changes": [str(c) for c in result.changes]},
        {"out": exported - started, "back": perf_counter() - exported},
    )


def _difference(before: bytes, after: bytes, kind: Kind) -> str:
    """Where two files differ first, by table where they are models."""
    if kind is Kind.MODEL:
        from ..formats.model import read_model
        from ..kinds.differences import diff_models, lines

        differences = lines(diff_models(*(read_model(read_nres(b, kind), kind) for b in (before, after))))
        if differences:
            return str(differences[0])
    if len(before) != len(after):
        return f"{plural(len(after), 'byte')} instead of {len(before)}"
    at = int((np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)).argmax())
    return f"byte {at}: {after[at]:#04x} instead of {before[at]:#04x}"
