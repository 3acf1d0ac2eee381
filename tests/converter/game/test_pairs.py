"""A few random pairs of mods through the commands; ``python -m tests.converter.game.pairs`` runs many."""

from tests.converter.game.pairs import run


def test_pairs_of_mods_merge_or_are_refused_in_either_order() -> None:
    pairs = run(8, 0)
    assert {pair.outcome for pair in pairs} == {"merged", "refused"}
