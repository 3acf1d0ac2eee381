"""Where the work of a run is done: processes of this machine, this one, or a dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from ..errors import ConversionError
from .outcome import FAILED, Outcome

#: Called after every item: the outcome, how many are done, how many there are.
Progress = Callable[[Outcome, int, int], None]
T = TypeVar("T")


def cores() -> int:
    """How many processes this one may use at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ByName:
    """A function that is imported by those who call it, the workers, and not by who starts them.

    Args:
        module: where it is.
        name: its name there; it takes a task and returns its outcome.
    """

    def __init__(self, module: str, name: str) -> None:
        self.__module__ = module  # as functions have it
        self._name = name

    def __call__(self, task: Any) -> Outcome:
        outcome: Outcome = getattr(import_module(self.__module__), self._name)(task)
        return outcome


@dataclass(frozen=True)
class Engine:
    """Where the work is done.

    Attributes:
        jobs: processes on this machine; 0: this process does the work.
        dask: address of a dask scheduler that does it instead.
        fail_fast: hand out nothing more after the first failure.
    """

    jobs: int = 1
    dask: str | None = None
    fail_fast: bool = False

    def run(
        self, function: Callable[[T], Outcome], tasks: Sequence[T], ids: Sequence[str]
    ) -> Generator[tuple[int, Outcome], None, None]:
        """Outcomes as they come, each with its task's position; a dead worker's is a failure."""
        if not tasks:
            return
        from .workers import run_here, run_on_dask  # a finished run does without

        if self.dask is not None:
            results = run_on_dask(function, tasks, self.dask)
        elif self.jobs == 0:
            results = ((at, function(task)) for at, task in enumerate(tasks))
        else:
            results = run_here(function, tasks, self.jobs)
        with closing(results):
            for at, result in results:
                if isinstance(result, ConversionError):
                    result = Outcome(ids[at], FAILED, str(result))
                yield at, result
                if self.fail_fast and result.status == FAILED:
                    break

    def gather(
        self,
        function: Callable[[T], Outcome],
        tasks: Sequence[T],
        progress: Progress,
        *,
        ids: Sequence[str],
        sizes: Sequence[int],
        each: Callable[[Outcome], object] | None = None,
        known: Callable[[T], Outcome | None] | None = None,
    ) -> tuple[dict[int, Outcome], bool]:
        """Run tasks, the largest first, until all are done or the user stops it.

        Args:
            function: takes a task, raises nothing.
            tasks: what to do.
            progress: called after every task.
            ids: what reports call each.
            sizes: bytes of each.
            each: called with every outcome, before that.
            known: the outcome of a task that needs no work, else ``None``. Asked first, in this
                process: where nothing is left to do, no other is started.

        Returns:
            Outcomes by the position of their task, in that order; whether the user stopped it.
        """
        order = sorted(range(len(tasks)), key=lambda at: -sizes[at])
        done: dict[int, Outcome] = {}
        interrupted = False

        def take(at: int, outcome: Outcome) -> None:
            done[at] = outcome
            if each is not None:
                each(outcome)
            progress(outcome, len(done), len(tasks))

        try:
            for at in order:
                if known is not None and (outcome := known(tasks[at])) is not None:
                    take(at, outcome)
            left = [at for at in order if at not in done]
            first = [tasks[at] for at in left], [ids[at] for at in left]
            with closing(self.run(function, *first)) as results:
                for number, outcome in results:
                    take(left[number], outcome)
        except KeyboardInterrupt:
            interrupted = True
        return dict(sorted(done.items())), interrupted
