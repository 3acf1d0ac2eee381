"""What a run says: progress while it works, a summary at its end, a log and a report.

Progress goes to standard error and only to a terminal; the summary goes to standard output.
"""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConversionError, printable
from ..storage import no_follow, write_outputs
from .engine import Progress
from .outcome import FAILED, Outcome, Run

if TYPE_CHECKING:
    from rich.console import Console

_LOG = logging.getLogger("msh_gltf")
_SHOWN = 10


@contextmanager
def progress_bar(verb: str, total: int, quiet: bool) -> Iterator[Progress]:
    """Something to call after every item; a bar where a person watches.

    Args:
        verb: what is being done, e.g. ``converting``.
        total: number of items.
        quiet: show nothing.
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
        task = bar.add_task(verb, total=total, rate="", failures="")

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
                failures=f"[red]{failed} failed[/red]" if failed else "",
            )

        yield update


class _LogFile(logging.FileHandler):
    """A log that is not written through a link; /dev/stderr and the like are streams."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        opener = None if path.is_relative_to("/dev") else no_follow
        return open(path, "a", encoding=self.encoding, errors=self.errors, opener=opener)


def open_log(path: Path) -> None:
    """Start a log file; it is appended to.

    Raises:
        ConversionError: it cannot be written, or is a link.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _LogFile(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise ConversionError(problem, file=str(path)) from error
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
    """The run as JSON; an older report is replaced.

    Raises:
        ConversionError: it cannot be written.
    """
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
