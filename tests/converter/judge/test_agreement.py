"""The product's judge and that of the tests agree on random edits; ``python -m tests.converter.judge`` draws more."""

from __future__ import annotations

import pytest

from tests.converter.judge.agreement import TRIALS, verdict
from tests.converter.kinds.test_every_difference import MODELS, outcomes


@pytest.mark.parametrize("what", TRIALS)
def test_two_judges_agree(what: str) -> None:
    found = [verdict(what, number) for number in range(30 if what == "model" else 12)]
    assert [one for one in found if not one.agrees] == []
    assert any(one.judged for one in found), "none of them was ignored"


def test_parts_of_a_node_that_has_another_row_are_named_by_what_the_report_calls_them() -> None:
    """Nodes without names are called after their rows, which move up where one is deleted."""
    model = next(path for path in MODELS if path.stem == "mixed__odd__l_mast_058")
    kinds = ["delete node but not its children", "duplicate tree"]
    assert outcomes(model, kinds, 579491963, "sidecar") == ([], [])
