"""``python -m tests.converter.game 10000 300 [SEED]``: sequences on the class, and of commands."""

import secrets
import sys
from time import perf_counter

from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.converter.game.commands import Commands
from tests.converter.game.machine import Game
from tests.converter.game.test_machine import STEPS


def main() -> None:
    sequences, commands, *given = map(int, sys.argv[1:])
    number = given[0] if given else secrets.randbits(32)
    print(f"seed {number}", flush=True)
    for machine, count in ((Game, sequences), (Commands, commands)):
        if not count:
            continue
        started = perf_counter()
        run_state_machine_as_test(
            seed(number)(machine),
            settings=settings(
                max_examples=count, database=None, report_multiple_bugs=False, phases=[Phase.generate], **STEPS
            ),
        )
        print(f"{machine.__name__}: {count} sequences, {perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
