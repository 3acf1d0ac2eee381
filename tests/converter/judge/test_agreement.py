"""The product's judge and that of the tests agree on random edits; ``python -m tests.converter.judge`` draws more."""

from __future__ import annotations

import pytest

from tests.converter.judge.agreement import TRIALS, verdict


@pytest.mark.parametrize("what", TRIALS)
def test_two_judges_agree(what: str) -> None:
    found = [verdict(what, number) for number in range(30 if what == "model" else 12)]
    assert [one for one in found if not one.agrees] == []
    assert any(one.judged for one in found), "none of them was ignored"
