"""The short run of every target, and every input that ever did what it must not."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.__main__ import REGRESSIONS, TARGETS
from tests.fuzz.engine import ROOM, Hang, Report, Target, attempt, execute, fuzz, limited, minimise, strict
from tests.fuzz.mutate import mutate_bytes

FILES = sorted(REGRESSIONS.rglob("*.bin"))


@pytest.mark.parametrize("name", TARGETS)
def test_short_run(name: str) -> None:
    """A value or a ``ConversionError``, whatever comes in; the same run every time."""
    report = fuzz(TARGETS[name], TARGETS[name].short, seed=1)
    assert not report.crashes, "\n".join(crash.text for crash in report.crashes.values())
    assert report.executions == TARGETS[name].short
    # the mutators keep most inputs past the first checks, and many whole
    assert report.inside > report.executions / 8, str(report)
    assert report.values > report.executions / 40, str(report)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_regression(path: Path) -> None:
    target, data = TARGETS[path.parent.name], path.read_bytes()
    with strict(), limited(target, data):
        execute(target, data)


def test_every_regression_has_its_target() -> None:
    assert {path.parent.name for path in FILES} <= TARGETS.keys()


# ------------------------------------------------------------------ the fuzzer itself


def _faulty(data: bytes) -> bytes:
    if data[:2] == b"ab" and len(data) > 6 and data[6] > 200:
        raise IndexError("a fault to be found")
    return data


FAULTY = Target("faulty", lambda: [b"abcdefghij"], mutate_bytes, _faulty)


def test_a_fault_is_found_counted_and_made_small() -> None:
    report = fuzz(FAULTY, 2000, seed=3)
    ((place, crash),) = report.crashes.items()
    assert place.startswith("IndexError")
    small = minimise(FAULTY, crash.data, place)
    assert len(small) == 7
    assert small[:2] == b"ab"


def too_long(data: bytes) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (too_long, Hang),
        (lambda data: bytes(2 * ROOM), MemoryError),
        (lambda data: np.float32(1e38) * np.float32(len(data) * 1e9), RuntimeWarning),
    ],
)
def test_what_takes_too_much_or_warns_is_a_fault(read: Callable[[bytes], object], fault: type) -> None:
    with strict():
        assert type(attempt(Target("x", lambda: [b"a"], mutate_bytes, read, seconds=0.05), b"a")[2]) is fault
    assert bytes(2 * ROOM)  # the limit is gone


def test_chance_is_the_seed_s() -> None:
    def run(seed: int) -> tuple[int, int, int]:
        report: Report = fuzz(TARGETS["texm"], 200, seed)
        return report.inside, report.values, report.largest

    assert run(1) == run(1)
    assert run(1) != run(2)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 and newer note lines")
def test_new_lines_are_kept() -> None:
    """Coverage guides: what a chain of comparisons asks for is found byte by byte."""
    report = fuzz(TARGETS["wear"], 600, seed=1)
    assert report.corpus > len(TARGETS["wear"].seeds())
