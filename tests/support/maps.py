"""Levels with recorded truth: the bundled ones, and a whole corpus where one is named."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.corpus import CORPUS, DATA, EVERY


@dataclass(frozen=True)
class Level:
    """One map directory and the truth about it.

    ``terrain`` and ``areal`` are the recorded arrays (see the corpus' own description): for the
    terrain ``pos``, ``face``, ``link``, ...; for the areal map ``start``, ``vertex``, ``link``,
    ``anchor``, ``area``, ``normal``, ``logic``, ``class_id``, ``cell_start``, ``cell_ids``.
    """

    id: str
    folder: Path
    truth_stem: Path

    @property
    def base(self) -> Path:
        """What the game calls the level: the files' common beginning."""
        return self.folder / "Land"

    @cached_property
    def terrain(self) -> dict[str, np.ndarray[Any, Any]]:
        with np.load(f"{self.truth_stem}.terrain.npz") as file:
            return dict(file)

    @cached_property
    def areal(self) -> dict[str, np.ndarray[Any, Any]]:
        with np.load(f"{self.truth_stem}.areal.npz") as file:
            return dict(file)

    def facts(self, kind: str) -> dict[str, Any]:
        """``terrain`` or ``areal``: the recorded JSON."""
        path = Path(f"{self.truth_stem}.{kind}.json")
        facts: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return facts


def _bundled() -> list[Level]:
    return [
        Level(folder.name, folder, folder / folder.name.partition("__")[2])
        for folder in sorted((DATA / "maps").iterdir())
    ]


def _whole_games(root: Path) -> list[Level]:
    return [
        Level(
            f"{path.parents[2].name}:{path.name.partition('.')[0]}",
            path.parents[2] / "game/DATA/MAPS" / path.name.partition(".")[0],
            path.with_name(path.name.partition(".")[0]),
        )
        for path in sorted(root.glob("*/truth/maps/*.terrain.npz"))
    ]


BUNDLED = _bundled()
LEVELS = [*BUNDLED, *(_whole_games(Path(CORPUS))[::EVERY] if CORPUS else [])]

every_level = pytest.mark.parametrize("level", LEVELS, ids=[level.id for level in LEVELS])


def level_called(name: str) -> Level:
    return next(level for level in LEVELS if level.id == name)
