"""Every kind of the catalogue is found under its code, as written down; checks and conversion agree on it.

What is found in the first sample of each kind, with its place, value and count, stands in ``findings.txt``, with what
the second reader of the tests counts in it that is not in the valid file, and a digest of what is found in all;
``python -m tests.converter.checks.test_corruptions`` writes it again, for you to read what became different.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import Finding
from msh_gltf.converter.game.inspect import check_item, check_tasks
from msh_gltf.converter.kinds.check import Checked
from msh_gltf.converter.kinds.differences import diff_files, lines
from tests.converter.checks.test_agreement import require_agreement_of
from tests.fuzz.engine import bounded
from tests.second.container import Container, Problems, archive_problems
from tests.second.level import areal_problems, terrain_problems
from tests.second.model import model_problems
from tests.second.placed import controller_problems, mission_problems, unit_problems
from tests.support.corruption import CATALOGUE
from tests.support.corruption.base import Case, Corruption
from tests.support.recorded import Recorded, digest

SECONDS = 60
MEMORY = 160 << 20
#: How many samples of a kind are converted as well; all are checked.
CONVERTED = 2

#: What is found, by kind.
FINDINGS = Recorded(__file__, "findings.txt")
#: The second reader of a format.
READERS: dict[str, Callable[[bytes], Problems]] = {
    "model": model_problems,
    "file": model_problems,
    "archive": archive_problems,
    "objects.rlb": archive_problems,
    "terrain": terrain_problems,
    "areal map": areal_problems,
    "unit": unit_problems,
    "mission": mission_problems,
    "game, MISSIONS/Single.01/data.tma": mission_problems,
    "controller": lambda archive: controller_problems(Container(archive).entries[-1].data),
}


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


def seen_by_another(kind: Corruption, case: Case) -> str:
    """What the second reader counts in a file more than in the valid one."""
    read = READERS.get(kind.format)
    found = sorted(read(case.path.read_bytes()) - read(case.valid().read_bytes())) if read else []
    return f" | a second reader: {', '.join(found)}" if found else ""


def cases(kind: Corruption, folder: Path) -> Iterator[tuple[Case, str]]:
    """The cases of a kind, and what is found in each: that which the rule says, and the codes of others."""
    for case in kind.make(folder):
        with bounded(SECONDS, MEMORY):
            found = [f for one in checked(case.path) for f in one.findings]
        assert kind.code in {f.code for f in found}, (case.sample, found)
        yield case, said_of(kind, found).replace(str(folder), "")


def on_record(kind: Corruption, found: list[tuple[Case, str]]) -> str:
    """What is found in the first case, how it differs from the valid file, and a digest of all cases."""
    (case, said), *_ = found
    number = f"{len(found)} cases, {digest([text for _, text in found])}"
    return f"{said}{differences(case)}{seen_by_another(kind, case)} | {number}"


@pytest.mark.parametrize("kind", CATALOGUE, ids=[kind.name for kind in CATALOGUE])
def test_every_corruption_is_found(kind: Corruption, tmp_path: Path) -> None:
    found = list(cases(kind, tmp_path / "cases"))
    assert found, "no sample has a place for it"
    FINDINGS.require(kind.name, on_record(kind, found))
    for number, (case, _) in enumerate(found[:CONVERTED]):
        with bounded(SECONDS, MEMORY):
            require_agreement_of(kind, case, tmp_path / f"game {number}")


def test_names_are_unique() -> None:
    names = [kind.name for kind in CATALOGUE]
    assert len(set(names)) == len(names) >= 100


def test_every_rule_is_broken_by_some_corruption() -> None:
    # a model that a unit or mission places: found by export only, tested with it;
    # what a tolerant reader could not leave out: no input is known (test_recover)
    assert all_rules().keys() - {"placed-model", "still-broken"} == {kind.code for kind in CATALOGUE}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FINDINGS.write(
            (kind.name, on_record(kind, list(cases(kind, Path(folder) / str(number)))))
            for number, kind in enumerate(CATALOGUE)
        )
