"""Models that units and missions place, and that cannot be shown as they are."""

from __future__ import annotations

from functools import partial

from ..errors import ConversionError, printable
from ..findings import Finding, Rule

_rule = partial(Rule, "unit, mission", source="docs/reference/registry.md#from-a-key-to-a-model")

PLACED_MODEL = _rule(
    "placed-model",
    "warning",
    "The models that are placed can be read, without errors.",
    why="The place is empty, or lacks what is broken of the model.",
    fix="Check the model by itself: msh-inspect --check says what is wrong with it.",
)


def unreadable_model(key: str, error: ConversionError) -> Finding:
    """Return the finding about a model, or its material list, that cannot be read."""
    return Finding(PLACED_MODEL, f"model of {printable(key)!r} is not shown: {error}")


def broken_model(key: str, finding: Finding) -> Finding:
    """Return the finding about what a tolerant reader leaves out of a placed model."""
    return Finding(PLACED_MODEL, f"model of {printable(key)!r} is not shown whole: {finding}")
