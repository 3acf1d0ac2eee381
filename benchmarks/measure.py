"""How the benchmarks measure: times by turns, memory of processes, growth, the machine."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
#: Where the games are made, once.
WORK = Path(tempfile.gettempdir()) / "msh-gltf-benchmark"
SCRIPTS = Path(sys.executable).parent
#: Commands run this tree's code, wherever the project is installed from.
SETTINGS = os.environ | {"PYTHONPATH": str(ROOT)}
#: Compiled modules are kept, as where the project is installed.
SETTINGS.pop("PYTHONDONTWRITEBYTECODE", None)

Job = Callable[[], float]


def by_turns(jobs: Mapping[str, Job], rounds: int) -> dict[str, float]:
    """Medians of jobs that are run by turns, so that what else the machine does hits all of them.

    Args:
        jobs: by name; each returns its seconds. Every job is run once more before, unmeasured.
        rounds: how often each is measured.
    """
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            seconds = job()
            if number:
                times[name].append(seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def timed(function: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> Job:
    """A job of this process: a call, with garbage collected before the clock starts.

    Args:
        function: what is measured.
        clock: ``time.process_time`` for the processor time.
    """

    def job() -> float:
        gc.collect()
        started = clock()
        function()
        return clock() - started

    return job


def command(*arguments: object, fresh: Sequence[Path] = ()) -> Job:
    """A job of its own process, start to finish; ``fresh`` is removed before the clock starts."""

    def job() -> float:
        for path in fresh:
            shutil.rmtree(path, ignore_errors=True)
        started = time.perf_counter()
        done = subprocess.run(words(arguments), env=SETTINGS, capture_output=True, check=False)
        seconds = time.perf_counter() - started
        require(done.returncode, arguments, done.stderr)
        return seconds

    return job


def processor(*arguments: object, fresh: Sequence[Path] = ()) -> Job:
    """As :func:`command`, but the processor time of the command and all processes below it.

    Workers outlive the process that forked them: this process adopts them (Linux), and waits.
    """
    _adopt_orphans()

    def job() -> float:
        before = _spent()
        command(*arguments, fresh=fresh)()
        with contextlib.suppress(ChildProcessError):  # nobody is left
            while True:
                os.wait()
        return _spent() - before

    return job


def _adopt_orphans() -> None:
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def _spent() -> float:
    """Processor seconds of all children that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def words(arguments: Sequence[object]) -> list[str]:
    """A command line: the project's commands are those beside this Python."""
    first, *more = (str(argument) for argument in arguments)
    return [str(SCRIPTS / first) if (SCRIPTS / first).exists() else first, *more]


def require(code: int, arguments: Sequence[object], said: bytes = b"") -> None:
    """Stop where a command failed: its time says nothing."""
    if code:
        text = " ".join(map(str, arguments))
        raise SystemExit(f"{text} ended with exit code {code}\n{said.decode(errors='replace')}")


def peaks(*arguments: object) -> tuple[int, int]:
    """Peak resident memory in bytes of a command, and of the largest process below it.

    Read from /proc while they run (Linux): a process is seen if it lives for 5 ms.
    """
    job = subprocess.Popen(words(arguments), env=SETTINGS, stdout=subprocess.DEVNULL)
    peak: dict[int, int] = {}
    while job.poll() is None:
        for pid, memory in _family(job.pid):
            peak[pid] = max(memory, peak.get(pid, 0))
        time.sleep(0.005)
    require(job.returncode, arguments)
    own = peak.pop(job.pid, 0)
    return own, max(peak.values(), default=0)


def _family(pid: int) -> Iterator[tuple[int, int]]:
    """A process and its descendants, each with its peak memory in bytes."""
    with contextlib.suppress(OSError):  # it ended meanwhile
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                yield pid, 1024 * int(line.split()[1])
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from _family(int(child))


@contextlib.contextmanager
def as_in_commands() -> Iterator[None]:
    """Garbage is looked for as seldom as in the commands and their workers."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The power of the size that the time grows with, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def machine() -> dict[str, str]:
    """What was measured, and on what."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        "machine": f"{processor}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def _commit() -> str:
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    return "unknown"
