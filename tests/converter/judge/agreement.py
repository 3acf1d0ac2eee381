"""Random edits before two judges: the product's, and one of the tests that reads both sides by itself.

A trial is an edit, drawn from a seed, and every fourth time also an importer that ignores some kind
of edit. The judges agree where both see something that the report does not name, or neither does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from unittest import mock

import numpy as np

from tests.converter.judge import mutants
from tests.converter.kinds.test_every_difference import MODELS, MODES, outcomes
from tests.support.random_edits import EDITS, NotHere

#: One of so many trials has an importer that ignores a kind of edit.
_MUTANTS = 4


@dataclass(frozen=True)
class Verdict:
    """What two judges say of a trial.

    Attributes:
        trial: what was done, to repeat it.
        judged: lines of the product's judge.
        seen: what the judge of the tests sees and the rest of the report does not name.
    """

    trial: str
    judged: list[str]
    seen: list[str]

    @property
    def agrees(self) -> bool:
        """Whether both see something, or neither does."""
        return bool(self.judged) == bool(self.seen)


def model(chance: np.random.Generator) -> Verdict | None:
    """One to three edits of a model; ``None``: it has no place for them."""
    kinds = [str(one) for one in chance.choice(list(EDITS), int(chance.integers(1, 4)))]
    path = MODELS[int(chance.integers(len(MODELS)))]
    seed, mode = int(chance.integers(2**32)), MODES[int(chance.integers(len(MODES)))]
    trial = f"{path.stem} {kinds} {seed} {mode}"
    try:
        if chance.integers(_MUTANTS):
            seen, judged = outcomes(path, kinds, seed, mode, judged=False)
        else:
            target, instead, ignored = mutants.MODELS[int(chance.integers(len(mutants.MODELS)))]
            kinds = [ignored[int(chance.integers(len(ignored)))]]
            trial = f"{path.stem} {kinds} {seed} {mode}, ignored by {target}"
            with mock.patch(target, instead):
                seen, judged = outcomes(path, kinds, seed, mode, judged=False)
    except NotHere:
        return None
    return Verdict(trial, judged, [one.what for one in seen])


#: What trials are of.
TRIALS: dict[str, Callable[[np.random.Generator], Verdict | None]] = {"model": model}


def verdict(what: str, number: int) -> Verdict:
    """One trial; one without a place for its edits is drawn again."""
    chance = np.random.default_rng([sum(what.encode()), number])
    while (found := TRIALS[what](chance)) is None:
        pass
    return found
