"""The examples, and the game that their script makes."""

import atexit
import functools
import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def call_example(script: str, function: str, *arguments: object) -> Any:
    """Call a function of a script in ``examples``."""
    before = sys.path[:]
    sys.path.insert(0, str(EXAMPLES))
    try:
        return runpy.run_path(str(EXAMPLES / script))[function](*arguments)
    finally:
        sys.path[:] = before


@functools.cache
def example_game() -> Path:
    """The game of ``examples/make_game.py``, made once."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    root = Path(folder.name) / "GAME"
    call_example("make_game.py", "make_game", root)
    return root


def game(path: Path) -> None:
    """The example game."""
    shutil.copytree(example_game(), path)
