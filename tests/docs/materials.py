"""What a page of the documentation may find in its folder: one maker for each name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
MAKERS: dict[str, Callable[[Path], object]] = {}


def lay_out(folder: Path, names: list[str]) -> None:
    """Put things into a page's folder; a copy of the examples is always there.

    Raises:
        KeyError: nobody makes a thing of this name.
    """
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name in names:
        MAKERS[name](folder / name)


def maker(name: str) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    def note(function: Callable[[Path], object]) -> Callable[[Path], object]:
        MAKERS[name] = function
        return function

    return note


@maker("robot.msh")
def robot(path: Path) -> None:
    """The walker, with what its materials are called."""
    shutil.copy(EXAMPLES / "walker.msh", path)
    shutil.copy(EXAMPLES / "walker.wea", path.with_suffix(".wea"))
