"""The object registry against the files that it names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..errors import printable
from ..findings import Finding, Rule
from ..formats.registry import ROWS, Member, Resolved

_rule = partial(Rule, "objects.rlb", source="docs/reference/registry.md#from-a-key-to-a-model")

OBJECT_MODEL = _rule(
    "object-model",
    "warning",
    "The archive and the member of the first .msh row are there.",
    why="The object has no model: later rows and parents are not tried.",
    fix="Correct the row, or add the model.",
)
OBJECT_FILE = _rule(
    "object-file",
    "warning",
    "The other files that a key means are there.",
    why="The object has no materials, no points, or whatever the file was for.",
    fix="Correct the row, or add the file.",
)


def missing_member(object: Resolved, member: Member, problem: str) -> Iterator[Finding]:
    """Yield the finding about a file that a key means and that cannot be opened."""
    rule = OBJECT_MODEL if member is object.model else OBJECT_FILE
    text = f"{member.ending} of {printable(object.key)!r} is missing: {problem}"
    yield Finding(rule, text, ROWS, value=printable(str(member)))
