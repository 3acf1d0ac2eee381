"""The material lists of a level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ..findings import Finding, Rule, first_bad
from ..formats.terrain import NO_MATERIAL, Terrain, TerrainStream
from .places import in_table

_rule = partial(Rule, "level", source="docs/reference/terrain.md#res21-faces")

LEVEL_WEAR = _rule(
    "level-wear",
    "error",
    "The files 1.wea and 2.wea beside a terrain are lists of materials.",
    source="docs/reference/terrain.md",
    why="The game stops.",
    fix="Correct the list.",
    drops="the material names",
)


def not_a_list(problem: str, value: str | None = None) -> Finding:
    """Return the finding about a file that is not a list of materials."""
    return Finding(LEVEL_WEAR, problem, value=value)


LEVEL_WEAR_PARALLEL = _rule(
    "level-wear-parallel",
    "warning",
    "1.wea and 2.wea have as many rows.",
    why="Row i of the second names the microtexture of row i of the first.",
    fix="Add the missing rows.",
)


def check_level_lists(
    terrain: Terrain, wear: Sequence[str], micro: Sequence[str], names: tuple[str, str]
) -> Iterator[tuple[int, Finding]]:
    """Yield where valid files of a level do not fit each other.

    Args:
        terrain: a valid terrain.
        wear, micro: names by row of ``1.wea`` and ``2.wea``.
        names: what the two files are called.

    Yields:
        Which file a finding is about (0 the terrain, 2 ``2.wea``), and the finding.
    """
    if len(wear) != len(micro):
        yield (
            2,
            Finding(
                LEVEL_WEAR_PARALLEL,
                "the two material lists are not parallel",
                value=f"{len(micro)} rows",
                expected=f"{len(wear)} rows, as in {names[0]}",
            ),
        )
    for finding in _materials(terrain, len(wear), names[0]):
        yield 0, finding


LEVEL_MATERIAL = _rule(
    "level-material",
    "warning",
    "A face's materials are rows of 1.wea.",
    why="The game reads a name past the list.",
    fix="Add rows, or correct the face.",
)


def _materials(terrain: Terrain, rows: int, name: str) -> Iterator[Finding]:
    for column in ("first", "second"):
        row = terrain.faces[column].astype(np.int64)
        past = (row >= rows) & ((row != NO_MATERIAL) | (column == "first"))
        yield from first_bad(
            LEVEL_MATERIAL,
            past,
            f"face has a {column} material past {name}",
            in_table(terrain, TerrainStream.FACES, column),
            row,
            f"below {rows}",
        )
