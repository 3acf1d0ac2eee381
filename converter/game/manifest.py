"""What a run did: outcomes, the report; ``manifest.json``, which says what the output directory holds, and whence.

The manifest has the truth about names. While a run is at work, it keeps a journal beside it, which the next
reader joins with the manifest.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from .. import MANIFEST, __version__
from ..errors import MACHINE, ConversionError, Malformed, fault_of, internal_error, printable, reason_of, shortened
from ..files import read_file, read_json
from ..formats.kinds import Kind
from ..formats.sidecar import sha256
from ..storage import TEMPORARY, real_path, require_no_link, write_outputs
from .walk import Folder, Skipped

if TYPE_CHECKING:
    from ..edits.materials import NewMaterial
    from ..findings import NotApplied
    from ..formats.material import LibraryEdit
    from ..kinds.import_result import PlacedImport

#: Statuses that mean that something is not as the user asked.
FAILED = "failed"


@dataclass
class Outcome:
    """What became of one item.

    Attributes:
        id: ``path::entry``, or the path alone.
        kind: what it is, as manifests call it (:class:`~converter.formats.kinds.Kind`).
        status: ``converted``, ``unchanged``, ``kept``, ``changed``, ``added``, ``restored`` (an
            edit that was written before is undone) or ``failed``.
        detail: the error, or why it was kept.
        not_applied: differences of an edited file that are not applied.
        facts: what else a report says.
        result: what the caller needs: a record, or the model's bytes. Not reported.
        library: what it changes in the game's libraries; not reported, its entries are.
        is_gone: its file is gone, so that what was written for it stays.
        new_materials: materials that the game may not have; likewise.
        placed: models and a level that a unit or mission shows and that were edited there; likewise.
        origins: the models whose glTF an entry of a library comes from; empty: itself.
    """

    id: str
    status: str
    detail: str = ""
    warnings: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    result: Any = None
    not_applied: list[NotApplied] = field(default_factory=list)
    library: list[LibraryEdit] = field(default_factory=list)
    new_materials: list[NewMaterial] = field(default_factory=list)
    placed: list[PlacedImport] = field(default_factory=list)
    is_gone: bool = False
    origins: list[str] = field(default_factory=list)
    kind: str = "model"

    @property
    def is_undecided(self) -> bool:
        """Whether nothing is known of what its file shows."""
        return self.is_gone or self.status == FAILED


#: What hints advise that only a command on one file has.
_OF_ONE_FILE = ", or give it with --sidecar PATH"


def guarded(id: str, work: Callable[[], Outcome]) -> Outcome:
    """The outcome of some work; whatever goes wrong is this item's failure and no other's."""
    try:
        return work()
    except ConversionError as error:
        error.hint = error.hint and error.hint.replace(_OF_ONE_FILE, "")
        return Outcome(id, FAILED, str(error))
    except MACHINE as error:
        return Outcome(id, FAILED, str(fault_of(error)))
    except RecursionError as error:
        return Outcome(id, FAILED, reason_of(error))
    except Exception as error:
        return Outcome(id, FAILED, internal_error(error))


def known_at_once(work: Callable[[], Outcome | None]) -> Outcome | None:
    """The outcome of an item that needs no work; ``None`` also where looking fails.

    The work then says why.
    """
    try:
        return work()
    except Exception:
        return None


@dataclass
class Run:
    """A whole run, in the order of its items whatever the order of work.

    Attributes:
        outcomes: by model; those of a run that was interrupted may be fewer.
        textures: by picture that the models use, and by entry of a library that they change.
        total: how many models there were.
        skipped, unreadable: files and entries that are no items.
        notes: what the run as a whole has to say.
    """

    command: str
    outcomes: list[Outcome] = field(default_factory=list)
    textures: list[Outcome] = field(default_factory=list)
    total: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def everything(self) -> list[Outcome]:
        """Models and textures."""
        return [*self.outcomes, *self.textures]

    @property
    def counts(self) -> dict[str, int]:
        """Number of models by status."""
        return _counts(self.outcomes)

    @property
    def texture_counts(self) -> dict[str, int]:
        """Number of textures by status."""
        return _counts(self.textures)

    @property
    def failures(self) -> list[tuple[str, str]]:
        """``(id, error)`` of everything that failed, files that cannot be read first."""
        failed = [(o.id, o.detail) for o in self.everything if o.status == FAILED]
        return [*((b.id, b.reason) for b in self.unreadable), *failed]

    @property
    def exit_code(self) -> int:
        """0 all done, 1 some failed, 130 interrupted."""
        if self.interrupted:
            return 130
        return 1 if self.failures else 0

    def report(self) -> dict[str, Any]:
        """The run as JSON data. Only ``times`` differs between equal runs."""
        stages: Counter[str] = Counter()
        for outcome in self.everything:
            stages.update(outcome.seconds)
        return {
            "format": 1,
            "command": self.command,
            "converter": __version__,
            "interrupted": self.interrupted,
            "total": self.total,
            "counts": self.counts,
            "texture_counts": self.texture_counts,
            "items": _rows(self.outcomes),
            "textures": _rows(self.textures),
            "skipped": [{"id": p.id, "reason": p.reason} for p in self.skipped],
            "unreadable": [{"id": p.id, "reason": p.reason} for p in self.unreadable],
            "notes": self.notes,
            "times": {
                "seconds": round(self.seconds, 3),
                "stages": {stage: round(value, 3) for stage, value in sorted(stages.items())},
                "items": {o.id: round(sum(o.seconds.values()), 4) for o in self.everything},
            },
        }


def _counts(outcomes: list[Outcome]) -> dict[str, int]:
    return dict(sorted(Counter(outcome.status for outcome in outcomes).items()))


def _rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [
        {
            "id": outcome.id,
            "status": outcome.status,
            "detail": outcome.detail,
            "warnings": outcome.warnings,
            "not_applied": [difference.facts() for difference in outcome.not_applied],
            **outcome.facts,
        }
        for outcome in outcomes
    ]


#: Called after every item: the outcome, how many are done, how many there are.
Progress = Callable[[Outcome, int, int], None]

FORMAT = 1
#: The file of records that a run keeps until it writes the manifest.
JOURNAL = f"{TEMPORARY}journal"


@dataclass(frozen=True)
class Output:
    """A file that was written."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Record:
    """One model or texture: where it came from and what was made of it.

    Attributes:
        source: the file it is, or is in, from the game's root.
        index: directory index of its entry; ``None`` where the file is the model.
        name: entry or file name as text.
        raw_name: the entry's name as hex; ``None`` for a file.
        kind: as of :class:`~converter.game.walk.Item`.
        modified: when the source file was last changed, UTC.
        size, sha256: of the model's bytes.
        key: digest of all that its outputs depend on: the model, its material names, the options,
            the converter's version; of its archive too where that decided the dialect.
        dialect, dialect_step, dialect_reason: how the ambiguous fields were read, and why
            (``dialect.Decision``); empty for maps, which have none.
        outputs: the glTF is the last.
        findings: ``{"code", "severity", "text"}`` each, of errors also ``"left_out"``.
        edits: the last transaction on the game that the outputs show (``game.edits``).
    """

    source: str
    index: int | None
    name: str
    raw_name: str | None
    kind: Kind
    modified: str
    size: int
    sha256: str
    key: str
    dialect: str
    dialect_step: str
    dialect_reason: str
    outputs: tuple[Output, ...]
    findings: tuple[dict[str, str], ...]
    edits: int = 0

    @property
    def target(self) -> str:
        """Path of the glTF, which tells records apart."""
        return self.outputs[-1].path

    @property
    def id(self) -> str:
        """``path::entry``, or the path alone."""
        return self.source if self.index is None else f"{self.source}::{self.name}"


@dataclass
class Manifest:
    """The content of ``manifest.json``.

    Attributes:
        converter: version that wrote it.
        records: by target.
        archives: every archive and the folder of its models, by source.
        skipped, unreadable: what the last run skipped or could not read.
        failed: what it could not convert.
        id: what the history of a game calls the output directory; random.
    """

    converter: str
    records: dict[str, Record] = field(default_factory=dict)
    archives: dict[str, Folder] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: list[Skipped] = field(default_factory=list)
    failed: list[Skipped] = field(default_factory=list)
    id: str = ""

    def owner(self, out: Path) -> str:
        """Return what the history of a game calls the directory; older manifests have no id."""
        return f"out:{self.id or sha256(str(real_path(out)).encode())[:16]}"

    def put(self, record: Record) -> None:
        """Add a record, or replace the one of its target."""
        self.records[record.target] = record

    def in_order(self) -> list[Record]:
        """The records by source, then by directory index."""
        return sorted(self.records.values(), key=lambda r: (r.source, -1 if r.index is None else r.index, r.target))


def read_manifest(directory: Path) -> Manifest | None:
    """The manifest of an output directory, with the journal of a run that was killed.

    Returns:
        ``None`` where there is none.

    Raises:
        ConversionError: it cannot be read, is of a newer converter, or one of the two is a link.
    """
    path, journal = directory / MANIFEST, directory / JOURNAL
    require_no_link(path)
    require_no_link(journal)
    manifest = None
    if path.is_file():
        manifest = _parse(bytes(read_file(path)), path)
    if journal.is_file():
        manifest = manifest or Manifest("")
        for line in bytes(read_file(journal)).split(b"\n"):
            try:
                facts = read_json(line)
                if "folder" in facts:
                    manifest.archives[facts["source"]] = _made(Folder, facts)
                else:
                    manifest.put(_record(facts))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # the line that was being written when the run was killed
    return manifest


def has_journal(directory: Path) -> bool:
    """Whether a run was killed there."""
    return (directory / JOURNAL).is_file()


def _parse(data: bytes, path: Path) -> Manifest:
    try:
        facts = read_json(data)
        if facts["format"] != FORMAT:
            raise ConversionError(
                "manifest version is not known", file=str(path), value=facts["format"], expected=FORMAT
            )
        manifest = Manifest(str(facts["converter"]), id=str(facts.get("id", ""))[:64])
        for row in [*facts["models"], *facts.get("textures", ())]:
            manifest.put(_record(row))
        manifest.archives = {row["source"]: _made(Folder, row) for row in facts["archives"]}
        manifest.skipped = [_made(Skipped, row) for row in facts["skipped"]]
        manifest.unreadable = [_made(Skipped, row) for row in facts["unreadable"]]
        manifest.failed = [_made(Skipped, row) for row in facts["failed"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConversionError(
            "manifest cannot be read", file=str(path), value=reason_of(error), hint="delete it and convert again"
        ) from None
    return manifest


def _record(facts: dict[str, Any]) -> Record:
    outputs = tuple(_made(Output, output) for output in facts.pop("outputs"))
    findings = tuple(facts.pop("findings"))
    if not outputs or not all(isinstance(finding, dict) for finding in findings):
        raise Malformed("a model has no outputs, or findings that are none")
    kind = Kind(facts.pop("kind"))
    return _made(Record, {**facts, "kind": kind, "outputs": outputs, "findings": findings})


_TYPES: dict[Any, Any] = {
    "str": str,
    "int": int,
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "dict[str, int]": dict,
}
_Row = TypeVar("_Row", Output, Record, Folder, Skipped)


def _made(kind: type[_Row], facts: dict[str, Any]) -> _Row:
    """A row of the manifest: every field of its type, no path that leads out of the directory.

    Raises:
        TypeError, Malformed: it is none.
    """
    row = kind(**facts)
    for about in fields(kind):
        value = getattr(row, about.name)
        if about.type in _TYPES and not isinstance(value, _TYPES[about.type]):
            raise Malformed(f"{about.name} is {shortened(printable(str(value)), 80)}")
        if about.name in ("path", "folder") and _leads_out(value):
            raise Malformed(f"{about.name} leads out of the directory: {shortened(printable(value), 80)}")
        if about.name == "path" and not PurePosixPath(value).name:
            raise Malformed(f"path is not a file's: {shortened(printable(value), 80)}")
    return row


def _leads_out(path: str) -> bool:
    """Whether a path from a directory may lead elsewhere, on this system or another."""
    return path[:1] in ("/", "\\") or path[1:2] == ":" or "\0" in path or ".." in re.split(r"[/\\]", path)


def as_row(record: Record) -> dict[str, Any]:
    """Return a record as JSON data; ``asdict`` would copy every value."""
    return {**vars(record), "outputs": [vars(output) for output in record.outputs]}


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write ``manifest.json``, the same bytes for the same content; the journal goes.

    Raises:
        ConversionError: it cannot be written.
    """
    records = manifest.in_order()
    facts = {
        "format": FORMAT,
        "converter": manifest.converter,
        "id": manifest.id,
        "models": [as_row(record) for record in records if record.kind is not Kind.TEXTURE],
        "textures": [as_row(record) for record in records if record.kind is Kind.TEXTURE],
        "archives": [asdict(manifest.archives[name]) for name in sorted(manifest.archives)],
        "skipped": [asdict(passed) for passed in manifest.skipped],
        "unreadable": [asdict(passed) for passed in manifest.unreadable],
        "failed": [asdict(passed) for passed in manifest.failed],
    }
    data = json.dumps(facts, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
    write_outputs([(directory / MANIFEST, data)], force=True)
    with contextlib.suppress(OSError):  # its records are in the manifest now: read twice, no harm
        (directory / JOURNAL).unlink(missing_ok=True)
