"""The door into a game under random sequences, kills, other programs, and received things.

``python -m tests.converter.game 10000 300`` and ``python -m tests.converter.game.hostile 200`` run
many more.
"""

import pytest
from hypothesis import HealthCheck, settings

from tests.converter.game.commands import Commands
from tests.converter.game.hostile import attempt
from tests.converter.game.machine import Game
from tests.support.strace import require_strace

#: Of sequences; the command above looks for new ones.
STEPS = {"stateful_step_count": 12, "deadline": None, "suppress_health_check": [*HealthCheck]}
TestGame = Game.TestCase
TestCommands = Commands.TestCase
TestGame.settings = TestCommands.settings = settings(max_examples=20, derandomize=True, **STEPS)


@pytest.mark.parametrize("seed", range(8))
def test_received_things_write_nothing_else(seed: int) -> None:
    require_strace()
    assert attempt(seed) == ""
