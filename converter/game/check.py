"""Checking whole games: ``msh-inspect --check``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ..files import UNREADABLE
from ..findings import Finding
from ..formats.kinds import Kind
from ..kinds.check import Checked, check_file
from .outcome import FAILED, Outcome, Progress, guarded
from .walk import Skipped, files_below, foreign
from .workers import Engine


@dataclass(frozen=True)
class CheckTask:
    """One file. ``folders``: where the game's libraries are looked for. ``known``: the user named it."""

    path: str
    source: str
    folders: tuple[str, ...]
    known: bool


@dataclass
class CheckRun:
    """What became of a check.

    Attributes:
        checked: files and their entries, in the order of sorted paths and directories.
        skipped: files of other kinds, and those that are not opened.
        failures: ``(file, error)`` of faults of the machine or of this program.
    """

    checked: list[Checked] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    interrupted: bool = False


def check_item(task: CheckTask) -> Outcome:
    """Check one file; never raises. ``result`` is what was found."""
    return guarded(task.source, partial(_check, task))


def _check(task: CheckTask) -> Outcome:
    folders = [Path(folder) for folder in task.folders]
    found = check_file(Path(task.path), task.source, folders, known=task.known)
    # which rows they are is for programs in this process, and may be much
    small = [replace(one, findings=[replace(finding, rows=None) for finding in one.findings]) for one in found]
    return Outcome(task.source, "checked", result=small)


def check_tasks(inputs: Sequence[Path]) -> tuple[list[CheckTask], CheckRun]:
    """What there is to check, and a run that knows what there is not; ``inputs``: directories, archives, other files.

    Raises:
        ConversionError: an input is not there.
    """
    below = files_below(inputs)
    named = {str(Path(path).absolute()) for path in inputs}
    folders = tuple(str(path.absolute()) for path in inputs if path.is_dir())
    tasks = []
    run = CheckRun(skipped=below.found.skipped)
    for broken in below.found.unreadable:
        finding = Finding(UNREADABLE, broken.reason)
        run.checked.append(Checked(broken.id, None, None, Kind.UNKNOWN.file_format, [finding]))
    for source, path, reason in below.opened:
        if reason is not None:
            run.skipped.append(Skipped(source, reason))
        else:
            tasks.append(CheckTask(str(path), source, folders, str(path) in named))
    return tasks, run


def check_run(tasks: Sequence[CheckTask], run: CheckRun, engine: Engine, progress: Progress) -> CheckRun:
    """Check files; the run is filled in and returned. ``tasks``, ``run``: from :func:`check_tasks`."""
    here = Engine(0) if len(tasks) == 1 else engine
    ids, sizes = [task.source for task in tasks], [_size(task.path) for task in tasks]
    outcomes, run.interrupted = here.gather(check_item, tasks, progress, ids=ids, sizes=sizes)
    for at, outcome in outcomes.items():
        if outcome.status == FAILED:
            run.failures.append((outcome.id, outcome.detail))
        elif outcome.result:
            run.checked += outcome.result
        else:
            reason = foreign(Path(tasks[at].path)) or "of no kind known here"
            run.skipped.append(Skipped(outcome.id, reason))
    return run


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
