"""Where the work of a run is done: processes of this machine, this one, or a dask cluster."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .. import GARBAGE, STOPPING
from ..errors import ConversionError, needed_for, reason_of

if TYPE_CHECKING:  # a run that starts no process does not import it
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from .manifest import Outcome, Progress

T = TypeVar("T")
R = TypeVar("R")

#: Before Python 3.13, Windows waits for 63 handles at most.
_MOST_ON_WINDOWS = 60
#: What most work needs, and the process that starts the workers often not: imported once, by the one that forks them.
_DECODERS = [f"{__package__.removesuffix('game')}kinds.{name}" for name in ("dispatch", "model")]
#: Bytes that a pipe holds on every system.
_PIPE = 4096
#: Seconds between checks for workers that may have died without closing their pipe.
_LOOK = 1.0
#: Bytes of a socket's path on the least of systems, less those of the socket's own name.
_SOCKET = 104 - len("/pymp-01234567/listener-01234567") - 1


def run_here(
    function: Callable[[T], R], tasks: Sequence[T], jobs: int
) -> Generator[tuple[int, R | ConversionError], None, None]:
    """Run tasks in ``jobs`` processes of this machine, in the order given.

    Args:
        function: importable by name; takes a task, returns its result, raises nothing.

    Yields:
        Position of a task and its result, or what became of its worker, as they are done.

    Raises:
        ConversionError: fewer files may be open than so many processes need.
    """
    import multiprocessing
    from multiprocessing.connection import wait

    if _forks():
        _require_descriptors(jobs)
        start_server(function.__module__)
    context: Any = multiprocessing.get_context("forkserver" if _forks() else "spawn")
    if sys.platform == "win32":
        jobs = min(jobs, _MOST_ON_WINDOWS)
    crew = _Crew(context, function, tasks)
    try:
        for _ in range(min(jobs, len(tasks))):
            crew.start()
        while crew.workers:
            # a Connection on Linux, a PipeConnection on Windows: the same interface
            ready = cast("list[Connection]", wait(list(crew.workers), _LOOK))
            # where a worker dies before it takes its end of the pipe, Windows leaves that open here
            for here in ready or crew.dead():
                yield crew.result(here)
    finally:
        crew.kill()


class _Crew(Generic[T, R]):
    """The processes of a run, each with the task that it is at, and the one that follows."""

    def __init__(self, context: Any, function: Callable[[T], R], tasks: Sequence[T]) -> None:
        self.context, self.function, self.tasks = context, function, tasks
        self.waiting = deque(range(len(tasks)))
        self.workers: dict[Connection, tuple[BaseProcess, deque[int]]] = {}

    def start(self) -> None:
        """Start a process with the next task, if there is one."""
        if not self.waiting:
            return
        here, there = self.context.Pipe()
        arguments = (there, self.function)
        process = self.context.Process(target=_work, args=arguments, daemon=True)
        try:
            with _starting(), _interrupts_ignored(), _main_hidden():
                process.start()
        finally:
            there.close()
        self.workers[here] = process, deque()
        self._hand_out(here, 1)

    def _hand_out(self, here: Connection, most: int) -> None:
        """Give a process tasks until it has as many.

        The second only where it is small: sending what the pipe does not hold would wait for the
        process, which may itself be sending.
        """
        queue = self.workers[here][1]
        while self.waiting and len(queue) < most:
            from multiprocessing.reduction import ForkingPickler

            data = ForkingPickler.dumps(self.tasks[self.waiting[0]])
            if queue and len(data) > _PIPE:
                return
            queue.append(self.waiting.popleft())
            with contextlib.suppress(OSError):  # the process is dead: receiving says so
                here.send_bytes(data)

    def dead(self) -> list[Connection]:
        """Connections to processes that have ended."""
        return [here for here, (process, _) in self.workers.items() if not process.is_alive()]

    def result(self, here: Connection) -> tuple[int, R | ConversionError]:
        """Take the result of a process, and give it the next task."""
        process, queue = self.workers[here]
        at = queue.popleft()
        try:
            if not here.poll():
                raise EOFError
            result: R = here.recv()
        except (EOFError, OSError):
            del self.workers[here]
            here.close()
            process.join()
            self.waiting.extendleft(reversed(queue))
            self.start()
            return at, _death(process.exitcode)
        # one more while many are left, so that it need not wait
        self._hand_out(here, 2 if len(self.waiting) > len(self.workers) else 1)
        if not queue:
            with contextlib.suppress(OSError):  # the process is dead: nobody waits for its end
                here.send(None)
            del self.workers[here]
            here.close()
        return at, result

    def kill(self) -> None:
        """End every process that is still there."""
        for process, _ in self.workers.values():
            process.kill()
        for process, _ in self.workers.values():
            process.join()


def _require_descriptors(jobs: int) -> None:
    """Stop before the processes run out of file descriptors, which they would say at length."""
    import resource

    limit, wanted = resource.getrlimit(resource.RLIMIT_NOFILE)[0], 32 + 8 * jobs
    if limit != resource.RLIM_INFINITY and limit < wanted:
        raise ConversionError(
            "Too many open files would be needed",
            value=f"the limit is {limit}",
            expected=f"at least {wanted} for {jobs} processes",
            hint=f"ulimit -n {wanted}, or fewer processes (-j 1)",
        )


def _forks() -> bool:
    """Whether a server forks the workers; else each starts a new interpreter, which takes longer.

    The server's socket lies in the directory for temporary files, whose path may be too long.
    """
    import multiprocessing

    there = "forkserver" in multiprocessing.get_all_start_methods()
    return there and len(os.fsencode(tempfile.gettempdir())) <= _SOCKET


def start_server(module: str) -> None:
    """Start the process that forks the workers, unless it is there; it imports a module first.

    Whoever knows early that there will be workers calls it early: the import takes as long as the
    caller's own, beside it.

    It blocks what stops the run: it would die before the parent, and its workers could not be waited for. Blocked
    signals stay so in its children. Raises ConversionError: it cannot be started.
    """
    if not _forks():
        return
    from multiprocessing import forkserver, resource_tracker, spawn

    program = os.fsdecode(spawn.get_executable())
    if not os.access(program, os.X_OK):  # else nobody says so: it is a child that fails
        raise ConversionError("processes cannot be started: not executable", file=program, hint="-j 1 starts none")
    forkserver.set_forkserver_preload([module, *_DECODERS])
    blocked = (signal.SIGTERM, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        with _starting():
            resource_tracker.ensure_running()  # itself blocks SIGTERM, which it unblocks here
            signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """Raise one error where the system, or the server that forks workers, refuses a process.

    A BrokenPipeError would mean that the reader of the output is gone. Processes start with ``python -c``, which
    imports from the current directory before anything else: there may be a ``threading.py`` of somebody else. Raises
    ConversionError: a process cannot be started.
    """
    try:
        with warnings.catch_warnings(), _environment("PYTHONSAFEPATH", "1"):
            warnings.filterwarnings("ignore", "resource_tracker: process died")
            yield
    except (OSError, EOFError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "its starter ended"
        raise ConversionError(
            "processes cannot be started", value=reason, hint="fewer of them (-j 1) need less"
        ) from error


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set a variable for processes that start meanwhile."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextlib.contextmanager
def _main_hidden() -> Iterator[None]:
    """Let processes that start meanwhile not import the program that runs here.

    They would, for functions that it defines. None of those is handed out, and the program may do
    more than define functions.
    """
    name = "__main__"
    main = sys.modules[name]
    sys.modules[name] = ModuleType(name)
    try:
        yield
    finally:
        sys.modules[name] = main


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes that start meanwhile ignore Ctrl-C on Windows, before they run any Python."""
    if sys.platform != "win32":
        yield  # the server that forks them ignores it
        return
    import ctypes

    ignore = ctypes.windll.kernel32.SetConsoleCtrlHandler
    ignore(None, True)
    try:
        yield
    finally:
        ignore(None, False)


def _work(connection: Connection, function: Callable[[Any], Any]) -> None:
    """A worker's life. It ends with the parent, whose end of the pipe then closes."""
    gc.freeze()
    gc.set_threshold(GARBAGE)
    for name in STOPPING:  # the parent decides what an interrupt means
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    with contextlib.suppress(EOFError, OSError):
        while (task := connection.recv()) is not None:
            connection.send(function(task))


def _death(code: int | None) -> ConversionError:
    if code is not None and code < 0:
        why = f"was killed by signal {-code}"
        if -code == 9:
            why += ", perhaps for lack of memory"
    else:
        why = f"ended with exit code {code}"
    return ConversionError(f"the process that worked on it {why}")


def run_on_dask(
    function: Callable[[T], R], tasks: Sequence[T], address: str
) -> Generator[tuple[int, R | ConversionError], None, None]:
    """Run tasks on a dask.distributed cluster; as :func:`run_here`.

    The project must be installed on the cluster's workers, and they must see the same paths.

    Args:
        function: importable by name on the workers.
        tasks: what to hand out, the first with the highest priority.
        address: the scheduler's, e.g. ``tcp://10.0.0.1:8786``.

    Raises:
        ConversionError: ``distributed`` is not installed, or the scheduler does not answer.
    """
    with needed_for("--dask", "dask"):
        from distributed import Client
    from concurrent.futures import as_completed

    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        hint, expected = "start it, or leave --dask out", f"host:port ({reason_of(error)})"
        raise ConversionError("no dask scheduler answers", value=address, expected=expected, hint=hint) from None
    with client, client.get_executor(pure=False) as executor:
        futures = {executor.submit(function, task): at for at, task in enumerate(tasks)}
        try:
            for future in as_completed(futures):
                if (died := future.exception()) is None:
                    yield futures[future], future.result()
                else:
                    yield futures[future], ConversionError(f"its worker died: {died}")
        finally:
            for future in futures:
                future.cancel()


def cores() -> int:
    """How many processes this one may use at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
        from .manifest import FAILED, Outcome  # not before the processes start, which takes as long

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
