"""Names of materials, textures and lightmaps that the game's libraries do not have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from ..errors import printable
from ..findings import Finding, Rule
from ..formats.material import Material
from ..formats.names import fold_upper

LOOK_MISSING = Rule(
    "WEAR, MAT0",
    "look-missing",
    "warning",
    "What a WEAR names is in Material.lib, and its textures in Textures.lib.",
    source="docs/reference/material.md#from-a-name-to-a-material",
    why="The game shows DEFAULT, else the first material.",
    fix="Correct the name, or add the material.",
)


def check_row_names(title: str, names: Sequence[str], known: Collection[bytes]) -> Iterator[Finding]:
    """Yield the rows of a WEAR whose names are not in a library.

    Args:
        title: ``material`` or ``lightmap``.
        names: by row, empty where there is none.
        known: names of the library's entries, in upper case.
    """
    rows = [row for row, name in enumerate(names) if name and fold_upper(name.encode("cp1251", "replace")) not in known]
    if rows:
        yield Finding(
            LOOK_MISSING,
            f"row {rows[0]} names a {title} that the game's library does not have",
            f"WEAR ({title}s)",
            value=printable(names[rows[0]]),
            rows=np.array(rows, np.int64),
            count=len(rows),
        )


def check_phase_textures(material: Material, known: Collection[bytes]) -> Iterator[Finding]:
    """Yield the phases of a material whose textures are not in a library.

    Args:
        material: the material.
        known: names of the library's entries, in upper case.
    """
    for row, raw in enumerate(material.phases["texture"]):
        name = raw.tobytes().partition(b"\0")[0]
        if name and fold_upper(name) not in known:
            yield Finding(
                LOOK_MISSING,
                "texture is not in the game's library",
                "MAT0 (phases)",
                row,
                value=printable(name.decode("cp1251", "replace")),
            )


def missing_appearance(problem: str) -> Finding:
    """Return the finding about a name that was looked up and not found."""
    return Finding(LOOK_MISSING, problem)
