"""The loop: mutate, run, keep what reaches new lines, remember what must not happen."""

import atexit
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from msh_gltf.converter.errors import ConversionError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]
from tests.fuzz.mutate import Mutator
from tests.support.game import MEMORY

ROOT = Path(__file__).parents[2]
#: Processor time in seconds that an input may take: readers, whole pipelines (a clip may have
#: 65,535 frames), and more for each byte of it (a node of 20 bytes costs a millisecond).
READER, PIPELINE, PER_BYTE = 1.0, 10.0, 5e-5
#: Bytes that an input may take beyond what the process has and its own size.
ROOM = 256 << 20
_STATM = Path("/proc/self/statm")
#: Code of these packages counts.
PACKAGES = ("converter", "importers", "exporters")


@dataclass(frozen=True)
class Target:
    """One reader, or a whole pipeline.

    Attributes:
        name: also the folder of its regression files.
        seeds: valid inputs, made when they are needed.
        mutate: changes an input.
        first: the checks that any file must pass (magic, sizes, JSON); gives what ``rest`` takes.
        rest: everything after them.
        short: executions of the short run.
        seconds: processor time that an input may take, but for its size.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    mutate: Mutator
    first: Callable[[bytes], Any]
    rest: Callable[[Any], object] = lambda opened: None
    short: int = 400
    seconds: float = READER


class Hang(BaseException):
    """An input that took longer than it may."""


@dataclass
class Crash:
    """Something other than a value or a ``ConversionError``."""

    data: bytes
    text: str
    times: int = 0


@dataclass
class Report:
    """What a run of a target came to."""

    name: str
    executions: int = 0
    inside: int = 0
    values: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slow: int = 0
    peak_kib: int = 0
    largest: int = 0
    lines: int = 0
    corpus: int = 0
    crashes: dict[str, Crash] = field(default_factory=dict)

    def __str__(self) -> str:
        share = 100 * self.inside / max(1, self.executions)
        good = 100 * self.values / max(1, self.executions)
        return (
            f"{self.name:16} {self.executions:>9,} runs  {len(self.crashes)} exceptions  "
            f"{self.slow} over 1 s  slowest {self.slowest * 1000:.0f} ms  "
            f"peak +{self.peak_kib / 1024:.0f} MiB  inside {share:.0f}%  values {good:.0f}%  "
            f"{self.lines} lines  corpus {self.corpus}  {self.seconds:.0f} s"
        )


@contextmanager
def strict() -> Iterator[None]:
    """Warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def limited(target: Target, data: bytes) -> AbstractContextManager[None]:
    """Limit the time of an input to the target's, and its memory to ``ROOM``."""
    return bounded(target.seconds + PER_BYTE * len(data), ROOM + len(data))


@contextmanager
def bounded(seconds: float, room: int) -> Iterator[None]:
    """Interrupt what takes longer than it may, and refuse it memory beyond what is in use and ``room``.

    Time is the processor's, so that other work on the machine does not count. Where the system
    knows no such limits, there are none.
    """
    if resource is None:
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"longer than {seconds:.1f} s of processor time")

    before = signal.signal(signal.SIGPROF, ring)
    own = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(_STATM.read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + room
    limit = limit if own[1] == resource.RLIM_INFINITY else min(limit, own[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, own[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, own)
        signal.signal(signal.SIGPROF, before)


class Coverage:
    """Counts the lines of the project that run for the first time: an event is switched off when it was seen.

    Before Python 3.12 nothing is noted, and only the seeds are changed.
    """

    def __init__(self) -> None:
        self.lines = 0
        if not hasattr(sys, "monitoring"):
            return
        monitoring, tool = sys.monitoring, sys.monitoring.COVERAGE_ID

        def line(code: CodeType, _: int) -> Any:
            parts = code.co_filename.replace("\\", "/").split("/")
            self.lines += any(package in parts[-4:-1] for package in PACKAGES)
            return monitoring.DISABLE

        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "fuzz")
        monitoring.restart_events()
        monitoring.register_callback(tool, monitoring.events.LINE, line)
        monitoring.set_events(tool, monitoring.events.LINE)


def execute(target: Target, data: bytes) -> tuple[bool, bool]:
    """Run one input: whether it got past the first checks, and whether it gave a value.

    Raises:
        BaseException: what must not happen.
    """
    inside = False
    try:
        opened = target.first(data)
        inside = True
        target.rest(opened)
    except ConversionError as error:
        str(error).encode("utf-8", "surrogateescape")
        return inside, False
    return inside, True


def place_of(error: BaseException) -> str:
    """The kind of an error and the project's line it came from: what tells crashes apart."""
    lines = [
        f"{Path(f.filename).name}:{f.lineno}"
        for f in traceback.extract_tb(error.__traceback__)
        if any(f"/{package}/" in f.filename.replace("\\", "/") for package in PACKAGES)
    ]
    return f"{type(error).__name__} {lines[-1] if lines else '?'}"


def fuzz(target: Target, executions: int, seed: int, *, seconds: float = float("inf")) -> Report:
    """Run a target so often, or for so many seconds; ``seed``: of all chance."""
    chance = random.Random(f"{target.name} {seed}")
    seeds = target.seeds()
    corpus = list(seeds)
    coverage = Coverage()
    report = Report(target.name)
    most = 4 * max(map(len, seeds)) + 4096
    begin = time.perf_counter()
    with strict():
        for data in seeds:
            execute(target, data)
        base = peak_kib()
        for n in range(executions):
            if n % 64 == 0 and time.perf_counter() - begin > seconds:
                break
            # recent finds first, but no seed is forgotten
            pool = corpus if chance.random() < 0.6 else seeds
            at = chance.randrange(len(pool))
            if pool is corpus:
                at = max(at, chance.randrange(len(pool)))
            parent = pool[at]
            data = target.mutate(chance, parent, seeds)
            known = coverage.lines
            _once(target, data, report)
            if coverage.lines > known and len(data) <= most:
                corpus.append(data)
    report.seconds, report.lines = time.perf_counter() - begin, coverage.lines
    report.corpus, report.peak_kib = len(corpus), peak_kib() - base
    return report


def _once(target: Target, data: bytes, report: Report) -> None:
    report.executions += 1
    report.largest = max(report.largest, len(data))
    start = time.process_time()
    inside, value, error = attempt(target, data)
    if error is not None:
        crash = report.crashes.setdefault(place_of(error), Crash(data, "".join(traceback.format_exception(error))))
        crash.times += 1
        crash.data = min(crash.data, data, key=len)
    report.inside += inside
    report.values += value
    took = time.process_time() - start
    report.slow += took > READER
    report.slowest = max(report.slowest, took)


def attempt(target: Target, data: bytes) -> tuple[bool, bool, BaseException | None]:
    """As :func:`execute`, within the limits; and what must not happen."""
    try:
        with limited(target, data):
            return *execute(target, data), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return True, False, error


def peak_kib() -> int:
    """The largest resident size of this process so far."""
    if resource is None:
        return 0  # Windows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def minimise(target: Target, data: bytes, place: str, tries: int = 2000) -> bytes:
    """A smaller input that fails at the same place, found by leaving runs of bytes out."""
    used, step = 0, max(1, len(data) // 2)
    with strict():
        while step and used < tries:
            at, shrunk = 0, False
            while at < len(data) and used < tries:
                used += 1
                smaller = data[:at] + data[at + step :]
                error = attempt(target, smaller)[2]
                if error is not None and place_of(error) == place:
                    data, shrunk = smaller, True
                else:
                    at += step
            if not shrunk or step > len(data):
                step //= 2
    return data


_numbers, _written = count(), list[Path]()


@cache
def scratch() -> Path:
    """A folder for this process; in memory where the system has such a place."""
    folder = tempfile.mkdtemp("", "fuzz-", MEMORY)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def as_file(data: bytes, suffix: str, folder: Path | None = None) -> Path:
    """The bytes as a new file; the one before goes, and what was written for it."""
    path = (folder or scratch()) / f"input{next(_numbers)}{suffix}"
    for old in _written:
        old.unlink(missing_ok=True)
    _written.clear()
    write(path, data)
    return path


def write(path: Path, data: bytes) -> None:
    """Write a file that goes with the next input: directories are listed, and must stay small."""
    _written.append(path)
    path.write_bytes(data)
