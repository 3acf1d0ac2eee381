"""A few random pairs of mods through the commands; ``python -m tests.converter.game.pairs`` runs many, in all games.

What comes of each stands in ``pairs.txt``; ``python -m tests.converter.game.test_pairs`` writes it again.
"""

from tests.converter.game.pairs import outcomes
from tests.support.recorded import Recorded

PAIRS = Recorded(__file__, "pairs.txt")


def test_pairs_of_mods_merge_or_are_refused_in_either_order() -> None:
    found = outcomes(9, 4, ["made"])
    for seed, text in found.items():
        PAIRS.require(seed, text)
    assert {text.split()[0].strip(":") for text in found.values()} == {"merged", "refused"}


if __name__ == "__main__":
    PAIRS.write(outcomes(9, 4, ["made"]).items())
