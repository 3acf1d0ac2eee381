"""Every kind of the catalogue is found under its code, as written down; checks and conversion agree on it.

What is found in the first sample of each kind, with its place, value and count, stands in ``findings.txt``;
``python -m tests.converter.checks.test_corruptions`` writes it again, for you to read what became different.
"""

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import Finding
from msh_gltf.converter.game.inspect import check_item, check_tasks
from msh_gltf.converter.kinds.check import Checked
from msh_gltf.converter.kinds.differences import diff_files, lines
from tests.converter.checks.test_agreement import require_agreement_of
from tests.support.corruption import CATALOGUE
from tests.support.corruption.base import Case, Corruption
from tests.support.recorded import Recorded, digest

SECONDS = 60
MEMORY = 160 << 20
#: How many samples of a kind are converted as well; all are checked.
CONVERTED = 2


#: What is found, by kind.
FINDINGS = Recorded(__file__, "findings.txt")
STATM = Path("/proc/self/statm")


@contextmanager
def bounded() -> Iterator[None]:
    """Not more than so much time, and memory beyond what is in use (where Linux tells)."""
    if not STATM.exists():
        yield
        return
    import resource

    def late(signal: int, frame: object) -> None:
        raise AssertionError(f"not done in {SECONDS} s")

    size = int(STATM.read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    old = signal.signal(signal.SIGALRM, late)
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, before[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        resource.setrlimit(resource.RLIMIT_AS, before)


def checked(path: Path) -> list[Checked]:
    """What a check of a file or a directory finds."""
    tasks, run = check_tasks([path])
    found = list(run.checked)
    for task in tasks:
        outcome = check_item(task)
        assert outcome.status == "checked", (task.source, outcome.detail)
        found += outcome.result
    return found


def said_of(kind: Corruption, findings: list[Finding]) -> str:
    """How the rule that a kind breaks says it, and what other rules are broken by it, in a line."""
    own = [f for f in findings if f.code == kind.code]
    assert not [str(f) for f in own if f.expected is not None and str(f.expected) in ("", str(f.value))]
    found = [f"{f.severity}, {f.count} x {f}" for f in own]
    also = sorted({f.code for f in findings} - {kind.code})
    return " | ".join([*found, *also]).replace("\n", " ")


def differences(case: Case) -> str:
    """What ``msh-inspect --diff`` says of a file and the valid one: how much, and a digest."""
    if case.path.is_dir():
        return ""
    try:
        found = lines(diff_files(case.valid(), case.path))
    except ConversionError as error:
        return f" | no comparison: {error.problem}"
    return f" | {len(found)} lines of differences, {digest(found)}"


@pytest.mark.parametrize("kind", CATALOGUE, ids=[kind.name for kind in CATALOGUE])
def test_every_corruption_is_found(kind: Corruption, tmp_path: Path) -> None:
    done = 0
    for done, case in enumerate(kind.make(tmp_path / "cases"), 1):
        with bounded():
            found = [f for one in checked(case.path) for f in one.findings]
        assert kind.code in {f.code for f in found}, (case.sample, found)
        if done == 1:
            FINDINGS.require(kind.name, said_of(kind, found) + differences(case))
        if done <= CONVERTED:
            with bounded():
                require_agreement_of(kind, case, tmp_path / f"game {done}")
    assert done, "no sample has a place for it"


def test_names_are_unique() -> None:
    names = [kind.name for kind in CATALOGUE]
    assert len(set(names)) == len(names)
    assert len(names) >= 100


def test_every_rule_is_broken_by_some_corruption() -> None:
    # a model that a unit or mission places: found by export only, tested with it;
    # what a tolerant reader could not leave out: no input is known (test_recover)
    assert all_rules().keys() - {"placed-model", "still-broken"} == {kind.code for kind in CATALOGUE}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        first = [(kind, next(kind.make(Path(folder) / str(i)))) for i, kind in enumerate(CATALOGUE)]
        FINDINGS.write(
            (kind.name, said_of(kind, [f for one in checked(case.path) for f in one.findings]) + differences(case))
            for kind, case in first
        )
