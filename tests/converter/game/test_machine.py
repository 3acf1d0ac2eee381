"""The door into a game under random sequences, kills and other programs.

``python -m tests.converter.game 10000 300`` runs many more.
"""

from hypothesis import HealthCheck, settings

from tests.converter.game.commands import Commands
from tests.converter.game.machine import Game

#: Of sequences; the command above looks for new ones.
STEPS = {"stateful_step_count": 12, "deadline": None, "suppress_health_check": [*HealthCheck]}
TestGame = Game.TestCase
TestCommands = Commands.TestCase
TestGame.settings = TestCommands.settings = settings(max_examples=20, derandomize=True, **STEPS)
