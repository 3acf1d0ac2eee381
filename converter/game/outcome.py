"""What became of each item of a run, and what a run says of it: progress, summary, log, report."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import MACHINE, ConversionError, fault_of, internal_error, printable, reason_of
from ..language import in_language
from ..storage import cannot_write, no_follow, write_outputs

if TYPE_CHECKING:
    from rich.console import Console

    from ..edits.materials import NewMaterial
    from ..findings import NotApplied
    from ..formats.library import LibraryEdit
    from ..kinds.import_result import PlacedImport
    from .walk import Skipped

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


_LOG = logging.getLogger("msh_gltf")
_SHOWN = 10


#: Called after every item: the outcome, how many are done, how many there are.
Progress = Callable[[Outcome, int, int], None]


@contextmanager
def progress_bar(verb: str, total: int, quiet: bool) -> Iterator[Progress]:
    """Something to call after every item; a bar where a person watches.

    Args:
        verb: what is being done, e.g. ``converting``.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda outcome, done, total: log(outcome)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failures]}"),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )
    failed = 0
    with bar:
        task = bar.add_task(in_language(verb), total=total, rate="", failures="")

        def update(outcome: Outcome, done: int, total: int) -> None:
            nonlocal failed
            log(outcome)
            failed += outcome.status == FAILED
            speed = bar.tasks[0].speed
            bar.update(
                task,
                completed=done,
                total=total,  # pictures come on top of the models
                rate=f"{speed:,.0f}/s" if speed else "",
                failures=f"[red]{in_language(f'{failed} failed')}[/red]" if failed else "",
            )

        yield update


class _LogFile(logging.FileHandler):
    """A log that is not written through a link; /dev/stderr and the like are streams."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        opener = None if path.is_relative_to("/dev") else no_follow
        return open(path, "a", encoding=self.encoding, errors=self.errors, opener=opener)


def open_log(path: Path) -> None:
    """Start a log file; it is appended to. Raises ConversionError: it cannot be written, or is a link."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _LogFile(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise cannot_write(path, error) from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False


def log(outcome: Outcome) -> None:
    """Note an outcome in the log file."""
    if not _LOG.handlers:
        return
    level = logging.ERROR if outcome.status == FAILED else logging.INFO
    name = printable(outcome.id)
    what = ": ".join(filter(None, (outcome.status, outcome.detail)))
    _LOG.log(level, "%s: %s", name, printable(what))
    for warning in (*outcome.warnings, *(one.line for one in outcome.not_applied)):
        _LOG.warning("%s: %s", name, printable(warning))


def write_report(run: Run, path: Path) -> None:
    """The run as JSON; an older report is replaced. Raises ConversionError: it cannot be written."""
    data = json.dumps(run.report(), ensure_ascii=False, indent=1).encode("utf-8", "replace")
    write_outputs([(path, data + b"\n")], force=True)


def show_summary(console: Console, run: Run, verbose: bool) -> None:
    """The end of a run: counts, what was skipped and why, what failed."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    for status, count in run.counts.items():
        table.add_row(str(count), status)
    for status, count in run.texture_counts.items():
        table.add_row(str(count), f"textures {status}")
    if run.unreadable:
        table.add_row(str(len(run.unreadable)), "cannot be read")
    for reason, count in sorted(Counter(p.reason for p in run.skipped).items()):
        table.add_row(str(count), f"skipped: {reason}")
    console.print(table, markup=False)
    warnings: dict[str, list[str]] = {}
    for outcome in run.everything:
        for warning in outcome.warnings:
            warnings.setdefault(warning, []).append(outcome.id)
    kept = [(o.id, o.detail) for o in run.everything if o.detail and o.status != FAILED]
    _show_lines(console, "kept", kept, verbose)
    grouped = [
        (ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more", text) for text, ids in warnings.items()
    ]
    _show_lines(console, "warnings", grouped, verbose)
    _show_lines(console, "failed", run.failures, verbose)
    for note in run.notes:
        console.print(note, markup=False)
    if verbose:
        _show_lines(console, "skipped", [(p.id, p.reason) for p in run.skipped], True)
    if run.interrupted:
        left = run.total - len(run.outcomes)
        console.print(
            f"interrupted: {len(run.outcomes)} of {run.total} done, {left} left; "
            "the same command goes on where it stopped",
            markup=False,
        )


def _show_lines(console: Console, title: str, lines: list[tuple[str, str]], verbose: bool) -> None:
    if not lines:
        return
    shown = lines if verbose else lines[:_SHOWN]
    console.print(f"{title}:", markup=False)
    for id, text in shown:
        line = text if text.startswith(id) else f"{id}: {text}"
        console.print(f"  {printable(line)}", markup=False, soft_wrap=True)
    if len(shown) < len(lines):
        console.print(f"  and {len(lines) - len(shown)} more (--verbose lists them)", markup=False)
