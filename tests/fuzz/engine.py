"""The loop: mutate, run, keep what reaches new lines, remember what must not happen."""

from __future__ import annotations

import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from msh_gltf.converter.errors import ConversionError
from tests.fuzz.coverage import PACKAGES, Coverage
from tests.fuzz.mutate import Mutator

ROOT = Path(__file__).parents[2]
#: An input may take this long, in seconds; after ``_ALARM`` it is interrupted.
HANG = 1.0
_ALARM = 20
#: Where watching costs much, it becomes seldom after so many executions without a new line.
_WATCHED, _SELDOM = 5000, 16


@dataclass(frozen=True)
class Target:
    """One reader, or a whole road.

    Attributes:
        name: also the folder of its regression files.
        seeds: sound inputs, made when they are needed.
        mutate: changes an input.
        first: the checks that any file must pass (magic, sizes, JSON); gives what ``rest`` takes.
        rest: everything behind them.
        short: executions of the short run.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    mutate: Mutator
    first: Callable[[bytes], Any]
    rest: Callable[[Any], object] = lambda opened: None
    short: int = 400


class Hang(BaseException):
    """An input that had to be interrupted."""


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
def alarm() -> Iterator[None]:
    """Inputs are interrupted after ``_ALARM`` seconds where the system can do it."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"longer than {_ALARM} s")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


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


def fuzz(
    target: Target,
    executions: int,
    seed: int,
    *,
    seconds: float = float("inf"),
    said: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Run a target.

    Args:
        target: what to run.
        executions: how often.
        seed: of all chance: the same run again, but for the clock.
        seconds: end sooner where it takes longer than this.
        said: called with the state every 5 s.
    """
    chance = random.Random(f"{target.name} {seed}")
    seeds = target.seeds()
    corpus = list(seeds)
    coverage = Coverage()
    report = Report(target.name)
    most = 4 * max(map(len, seeds)) + 4096
    last = 0
    begin = spoke = time.perf_counter()
    with strict(), alarm():
        for data in seeds:
            coverage.start()
            try:
                execute(target, data)
            finally:
                coverage.stop()
        base = peak_kib()
        for n in range(executions):
            if n % 64 == 0:
                now = time.perf_counter()
                if now - begin > seconds:
                    break
                if now - spoke > 5:
                    spoke = now
                    report.seconds, report.lines = now - begin, coverage.lines
                    report.corpus, report.peak_kib = len(corpus), peak_kib() - base
                    said(report)
            # recent finds first, but no seed is forgotten
            pool = corpus if chance.random() < 0.6 else seeds
            at = chance.randrange(len(pool))
            if pool is corpus:
                at = max(at, chance.randrange(len(pool)))
            parent = pool[at]
            data = target.mutate(chance, parent, seeds)
            watched = coverage.cheap or n - last < _WATCHED or n % _SELDOM == 0
            _once(target, data, coverage if watched else None, report)
            if not watched or not coverage.fresh:
                continue
            last = n
            if len(data) <= most:
                corpus.append(data)
    report.seconds, report.lines = time.perf_counter() - begin, coverage.lines
    report.corpus, report.peak_kib = len(corpus), peak_kib() - base
    return report


def _once(target: Target, data: bytes, coverage: Coverage | None, report: Report) -> None:
    report.executions += 1
    report.largest = max(report.largest, len(data))
    if hasattr(signal, "SIGALRM"):
        signal.alarm(_ALARM)
    start = time.perf_counter()
    if coverage is not None:
        coverage.start()
    try:
        inside, value = execute(target, data)
        report.inside += inside
        report.values += value
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        sys.settrace(None)
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
    finally:
        if coverage is not None:
            coverage.stop()
    took = time.perf_counter() - start
    report.slow += took > HANG
    if took > report.slowest:
        report.slowest, report.slowest_input = took, data


def peak_kib() -> int:
    """The largest resident size of this process so far."""
    try:
        import resource
    except ImportError:
        return 0  # Windows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def minimise(target: Target, crash: Crash, tries: int = 2000) -> bytes:
    """A smaller input with the same crash, found by leaving runs of bytes out."""
    data, used = crash.data, 0
    step = max(1, len(data) // 2)
    with strict(), alarm():
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
        execute(target, data)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return place_of(error) == place
    return False
