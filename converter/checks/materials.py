"""Materials that can be read (MAT0)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..errors import plural
from ..findings import Finding, Rule, first_bad
from ..formats.material import (
    MATERIAL_HEADER_DTYPE,
    MATERIAL_KEY_DTYPE,
    MATERIAL_TRACK_DTYPE,
    PHASE_DTYPE,
    Material,
    MaterialKind,
    Track,
)
from ..numeric.arrays import field_offset
from .places import at_offsets

_rule = partial(Rule, "MAT0", source="docs/reference/material.md")

_TABLE = "MAT0"
_MOST_TRACKS = 20


def check_material(material: Material) -> list[Finding]:
    """Return the findings about a material; rows of keys count those of one track."""
    findings = [*_kind(material), *_alpha(material), *_many(material)]
    at = MATERIAL_HEADER_DTYPE.itemsize + PHASE_DTYPE.itemsize * len(material.phases)
    for number, track in enumerate(material.tracks):
        at += MATERIAL_TRACK_DTYPE.itemsize
        findings += _keys(track, f"{_TABLE} (keys of track {number})", at, len(material.phases))
        at += track.keys.nbytes
    return [*findings, *_tail(material, at)]


MATERIAL_KIND = _rule(
    "material-kind",
    "note",
    "The kind (attr1) is 0, 2, 4, 5 or 8.",
    why="How another one is drawn is not known.",
    fix="Nothing to do.",
)


def _kind(material: Material) -> Iterator[Finding]:
    if material.kind not in list(MaterialKind):
        yield Finding(
            MATERIAL_KIND,
            "kind (attr1) is unknown",
            _TABLE,
            value=material.kind,
            expected=", ".join(str(int(kind)) for kind in MaterialKind),
        )


MATERIAL_ALPHA = _rule(
    "material-alpha",
    "note",
    "The ambient alpha is 100 or less.",
    source="docs/reference/material.md#phase",
    why="It is per cent; more is drawn as 100.",
    fix="Nothing to do.",
)


def _alpha(material: Material) -> Iterator[Finding]:
    alpha = material.phases["ambient"][:, 3]
    start = MATERIAL_HEADER_DTYPE.itemsize + field_offset(PHASE_DTYPE, "ambient") + 3
    yield from first_bad(
        MATERIAL_ALPHA,
        alpha > 100,
        "alpha is above 100 per cent",
        at_offsets(f"{_TABLE} (phases)", start + PHASE_DTYPE.itemsize * np.arange(len(alpha))),
        alpha,
        "at most 100",
    )


MATERIAL_KEY_PHASE = _rule(
    "material-key-phase",
    "warning",
    "A track's keys name phases of the material.",
    source="docs/reference/material.md#track",
    why="The game would read past the phases.",
    fix="Correct the key.",
)
MATERIAL_KEY_WORD = _rule(
    "material-key-word",
    "note",
    "The last word of a track's key is 0.",
    source="docs/reference/material.md#track",
    why="It is kept.",
    fix="Nothing to do.",
)


MATERIAL_MANY = _rule(
    "material-many",
    "warning",
    "A material has fewer than 20 tracks.",
    why="No material of the game has more; whether the game reads them is not known.",
    fix="Remove tracks.",
)


def _many(material: Material) -> Iterator[Finding]:
    if len(material.tracks) >= _MOST_TRACKS:
        problem = "more tracks than the game's materials have"
        yield Finding(MATERIAL_MANY, problem, _TABLE, value=len(material.tracks), expected=f"below {_MOST_TRACKS}")


def _keys(track: Track, table: str, start: int, phases: int) -> Iterator[Finding]:
    phase, word = track.keys["phase"], track.keys["opaque4"]
    for rule, bad, problem, field, expected in (
        (MATERIAL_KEY_PHASE, phase >= phases, "key names a phase that does not exist", "phase", f"below {phases}"),
        (MATERIAL_KEY_WORD, word != 0, "key's last word is not 0", "opaque4", "0"),
    ):
        first = start + field_offset(MATERIAL_KEY_DTYPE, field)
        place = at_offsets(table, first + MATERIAL_KEY_DTYPE.itemsize * np.arange(len(phase)))
        yield from first_bad(rule, bad, problem, place, track.keys[field], expected)


MATERIAL_TAIL = _rule(
    "material-tail",
    "warning",
    "Nothing follows the tracks.",
    why="It is never read; perhaps a count is too small.",
    fix="Correct the count.",
)


def _tail(material: Material, at: int) -> Iterator[Finding]:
    if material.trailing:
        value = plural(len(material.trailing), "byte")
        problem = "bytes after the tracks are kept"
        yield Finding(MATERIAL_TAIL, problem, _TABLE, None, at, value, "none")
