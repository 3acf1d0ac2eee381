"""The loop: mutate, run, keep what reaches new lines, remember what must not happen."""

import random
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from msh_gltf.converter.errors import ConversionError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]
from tests.fuzz.coverage import PACKAGES, Coverage
from tests.fuzz.mutate import Mutator

ROOT = Path(__file__).parents[2]
#: Processor time in seconds that an input may take: readers, whole pipelines (a clip may have
#: 65,535 frames), and more for each byte of it (a node of 20 bytes costs a millisecond).
READER, PIPELINE, PER_BYTE = 1.0, 10.0, 5e-5
#: Bytes that an input may take beyond what the process has and its own size.
ROOM = 256 << 20
_STATM = Path("/proc/self/statm")


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
    place: str
    text: str
    times: int = 1


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
    slowest_input: bytes = b""
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


@contextmanager
def limited(target: Target, data: bytes) -> Iterator[None]:
    """Interrupt an input that takes longer than it may, and refuse it memory beyond ``ROOM``.

    Time is the processor's, so that other work on the machine does not count. Where the system
    knows no such limits, there are none.
    """
    if resource is None:
        yield
        return
    seconds = target.seconds + PER_BYTE * len(data)

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"longer than {seconds:.1f} s of processor time")

    before = signal.signal(signal.SIGPROF, ring)
    own = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(_STATM.read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + ROOM + len(data)
    limit = limit if own[1] == resource.RLIM_INFINITY else min(limit, own[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, own[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, own)
        signal.signal(signal.SIGPROF, before)


_outside = [False]


def outside() -> None:
    """Say, from a target's ``first``, that this input is run but is stopped by the first checks."""
    _outside[0] = True


def execute(target: Target, data: bytes) -> tuple[bool, bool]:
    """Run one input: whether it got past the first checks, and whether it gave a value.

    Raises:
        BaseException: what must not happen.
    """
    inside = False
    try:
        _outside[0] = False
        opened = target.first(data)
        inside = not _outside[0]
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
    """Run a target.

    Args:
        target: what to run.
        executions: how often.
        seed: of all chance: the same run again, but for the clock.
        seconds: end sooner where it takes longer than this.
    """
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
    try:
        with limited(target, data):
            inside, value = execute(target, data)
        report.inside += inside
        report.values += value
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        report.inside += 1
        place = place_of(error)
        if place in report.crashes:
            crash = report.crashes[place]
            crash.times += 1
            if len(data) < len(crash.data):
                crash.data = data
        else:
            text = "".join(traceback.format_exception(error))
            report.crashes[place] = Crash(data, place, text)
    took = time.process_time() - start
    report.slow += took > READER
    if took > report.slowest:
        report.slowest, report.slowest_input = took, data


def peak_kib() -> int:
    """The largest resident size of this process so far."""
    if resource is None:
        return 0  # Windows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def minimise(target: Target, crash: Crash, tries: int = 2000) -> bytes:
    """A smaller input with the same crash, found by leaving runs of bytes out."""
    data, used = crash.data, 0
    step = max(1, len(data) // 2)
    with strict():
        while step and used < tries:
            at, shrunk = 0, False
            while at < len(data) and used < tries:
                used += 1
                smaller = data[:at] + data[at + step :]
                if _same(target, smaller, crash.place):
                    data, shrunk = smaller, True
                else:
                    at += step
            if not shrunk or step > len(data):
                step //= 2
    return data


def _same(target: Target, data: bytes, place: str) -> bool:
    try:
        with limited(target, data):
            execute(target, data)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return place_of(error) == place
    return False


_numbers = count()


@cache
def scratch() -> Path:
    """A folder for this process; in memory where the system has such a place."""
    memory = Path("/dev/shm")
    _kept.append(tempfile.TemporaryDirectory("", "fuzz-", memory if memory.is_dir() else None))
    return Path(_kept[0].name)


_kept: list[Any] = []


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


_written: list[Path] = []
