"""Runs over many files: progress, log, report, summary; a directory of glTF back into a game, and ``--watch``."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, NoReturn

import click

from ..errors import ConversionError, listed, plural, printable, quoted
from ..game.manifest import FAILED, Outcome, Progress, Run
from ..language import in_language
from ..storage import cannot_write, no_follow, walk_files, write_outputs
from .common import STDOUT, console, refuse_device, say

if TYPE_CHECKING:
    from rich.console import Console

    from ..game.workers import Engine
    from ..options import ImportOptions
    from .given import Given, ToGltf, ToMsh

_LOG = logging.getLogger("msh_gltf")
#: How many lines of a kind a summary shows.
_SHOWN = 10
#: Seconds between two looks at a folder.
INTERVAL = 0.25


def engine(given: Given) -> Engine:
    """Return what does the work of a run."""
    from ..game.workers import Engine, cores

    return Engine(given.jobs or cores(), given.dask, given.fail_fast)


def finish(run: Run, given: ToGltf | ToMsh, closing: str) -> None:
    """Report, summary and exit code of a run."""
    if given.report is not None:
        write_report(run, given.report)
    for outcome in run.everything:
        for difference in outcome.not_applied:
            say(f"not applied: {outcome.id}: {difference}", error=True)
    if given.quiet:
        for id, error in run.failures:
            say(f"{run.command}: {id}: {error}", error=True)
    else:
        show_summary(console(), run, given.verbose)
        say("dry run: nothing was written" if given.dry_run else closing)
    if run.exit_code:
        sys.exit(run.exit_code)


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


def put_back(given: ToMsh, options: ImportOptions) -> None:
    """Put a directory of glTF into a game, once or whenever something is saved there; exits with the run's code.

    Raises:
        click.UsageError: options that do not go together.
        ConversionError: the directory or the game is not what it should be.
    """
    game, output = given.game, given.output
    if game is None:
        raise click.UsageError("a directory of glTF needs the game: --game GAME_DIR")
    if given.in_place == (output is not None):
        raise click.UsageError("give a new game directory with -o NEW_GAME_DIR, or --in-place")
    if output == STDOUT:
        raise click.UsageError("-o -: expected a directory")
    if given.watch and (output is not None or given.dry_run):
        raise click.UsageError("--watch is for --in-place, without --dry-run")
    refuse_device(output or "")
    if given.log_file is not None:
        open_log(given.log_file)
    if given.watch:
        _watch(given, options)
    run, closing = _run_of(given, options)
    finish(run, given, closing)


def _run_of(given: ToMsh, options: ImportOptions, saved: set[str] | None = None) -> tuple[Run, str]:
    """Put a directory back, or what was saved there; the run, and the line that ends it."""
    from ..formats.material import MATERIALS
    from ..game.import_run import import_run
    from ..game.write_game import Places

    game, output = given.game, given.output
    assert game is not None
    run = import_run(
        Places(given.source, game, None if output is None else Path(output)),
        options,
        engine(given if saved is None else replace(given, jobs=1)),  # a few files: no process is started
        partial(progress_bar, quiet=given.quiet or saved is not None),
        add=given.add,
        tag=given.tag,
        require_all=given.require_all,
        force=given.force,
        dry_run=given.dry_run,
        saved=saved,
    )
    changed = [outcome for outcome in run.outcomes if outcome.status in ("changed", "added")]
    painted = [outcome for outcome in run.textures if outcome.status in ("changed", "added")]
    nouns = Counter(outcome.kind for outcome in changed)
    nouns += Counter("material" if o.id.startswith(f"{MATERIALS}::") else "texture" for o in painted)
    nouns["object key"] = sum("key" in outcome.facts for outcome in changed)
    parts = [plural(count, noun) for noun, count in nouns.items() if count]
    where = game if output is None else output
    what = f"{listed(parts)} went into {where}" if parts else f"nothing went into {where}"
    if back := sum(outcome.status == "restored" for outcome in run.everything):
        what += f"; taken back: {plural(back, 'earlier change')}"
    undo = f"; msh-mod undo {quoted(game)} takes it back" if output is None and (parts or back) else ""
    return run, what + undo


def _watch(given: ToMsh, options: ImportOptions) -> NoReturn:
    """Put the directory back now, and each of its files whenever it is saved; only a signal ends it."""
    saves, saved = Saves(given.source), None
    while True:
        try:
            run, closing = _run_of(given, options, saved)
        except ConversionError as error:
            if saved is None:
                raise
            say(f"gltf2msh: {error}", error=True)
        else:
            if run.interrupted:
                raise KeyboardInterrupt
            _show_pass(run, given, closing)
        if saved is None and not given.quiet:
            say(f"waiting for files that are saved in {given.source}; Ctrl+C ends it")
        saved = saves.wait()


def _show_pass(run: Run, given: ToMsh, closing: str) -> None:
    """What one pass did, in few lines."""
    if given.report is not None:
        write_report(run, given.report)
    for outcome in run.everything:
        for text in (
            *(f"warning: {outcome.id}: {text}" for text in outcome.warnings if not given.quiet),
            *(f"not applied: {outcome.id}: {difference}" for difference in outcome.not_applied),
        ):
            say(text, error=True)
        if outcome.status in ("changed", "added", "restored") and not given.quiet:
            say(f"{outcome.status:10}{outcome.id}")
    for id, error in run.failures:
        say(f"{run.command}: {id}: {error}", error=True)
    if not given.quiet:
        say(closing)


class Saves:
    """What was saved below a folder since the last time that somebody asked."""

    def __init__(self, folder: Path) -> None:
        """Begin now: what is saved from here on is reported."""
        self._folder = folder
        self._known = self._stamps()

    def wait(self) -> set[str]:
        """Return the paths that were saved, made or removed, once no file changes any more.

        A program may write a file in several steps: it is complete when two looks see the same.
        """
        now = self._known
        while now == self._known:
            sleep(INTERVAL)
            now = self._stamps()
        before: dict[str, tuple[int, int]] = {}
        while now != before:
            sleep(INTERVAL)
            before, now = now, self._stamps()
        changed = {path for path, _ in self._known.items() ^ now.items()}
        self._known = now
        return changed

    def _stamps(self) -> dict[str, tuple[int, int]]:
        """Time and size of each file, by its path with ``/``."""
        out = {}
        for here, _, files in walk_files(self._folder):
            for name in files:
                path = here / name
                with contextlib.suppress(OSError):  # removed between the two
                    about = os.stat(path)
                    out[path.relative_to(self._folder).as_posix()] = about.st_mtime_ns, about.st_size
        return out
