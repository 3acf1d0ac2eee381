"""Units: keys that the game does not know, parts that hang on nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..errors import printable
from ..findings import Finding, Place, Rule, first_bad
from ..formats.unit import CLASSES, COMPONENTS, Unit, offset_of
from ..numeric.arrays import Bools, Records

_rule = partial(Rule, "unit", source="docs/reference/unit.md#how-a-part-is-mounted")


@dataclass(frozen=True)
class PartFacts:
    """What the game has for a component.

    Attributes:
        known: whether the registry has its key.
        problem: why there is no model although the registry names one; empty otherwise.
        geometry: (n,) which nodes of its model have geometry; ``None``: there is no model.
    """

    known: bool
    problem: str = ""
    geometry: Bools | None = None


UNIT_CLASS = _rule(
    "unit-class",
    "warning",
    "A component's class is 0 to 5.",
    source="docs/reference/unit.md",
    why="What the game does with another one is not known.",
    fix="Take the class of a component like it.",
)


def check_components(unit: Unit) -> Iterator[Finding]:
    """Yield what is wrong with a unit by itself."""
    part = unit.records["part_class"]
    yield from first_bad(
        UNIT_CLASS, part >= len(CLASSES), "class is unknown", _at("part_class"), part, f"0..{len(CLASSES) - 1}"
    )


UNIT_KEY = _rule(
    "unit-key",
    "warning",
    "A component's key is in objects.rlb, and its model is there.",
    source="docs/reference/registry.md#from-a-key-to-a-model",
    why="The part is missing in the game, and what is mounted on it.",
    fix="Correct the key, or add the object.",
)
UNIT_SOCKET = _rule(
    "unit-socket",
    "warning",
    "A turret or gun is mounted on a node of its parent's model.",
    why="There is no place for it: the part is not shown.",
    fix="Name a socket of the parent.",
)
UNIT_MOUNT = _rule(
    "unit-mount",
    "warning",
    "The node that a part is mounted on has no geometry.",
    why="All sockets of the game's models are without; the part would sit inside another one.",
    fix="Name a node whose name begins with Base_.",
)


def check_parts(unit: Unit, facts: Sequence[PartFacts]) -> Iterator[Finding]:
    """Yield components that do not resolve, and shown ones that are not mounted on a socket.

    Args:
        unit: the unit.
        facts: about each component.
    """
    for row, fact in enumerate(facts):
        name = printable(unit.key(row))
        if not fact.known:
            yield _about(UNIT_KEY, "objects.rlb does not have the key", row, "key", name)
        elif fact.problem:
            yield _about(UNIT_KEY, f"model of {name!r} is missing: {fact.problem}", row, "key")
        parent = int(unit.parents[row])
        geometry = None if parent < 0 else facts[parent].geometry
        if geometry is None or not unit.is_shown(row):
            continue
        attach = unit.attach(row)
        if not 0 <= attach < len(geometry):
            where = f"parent {printable(unit.key(parent))!r} has no such node for {name!r}"
            yield _about(UNIT_SOCKET, where, row, "attach", attach, f"0..{len(geometry) - 1}")
        elif geometry[attach]:
            where = f"{name!r} is mounted on a node with geometry of {printable(unit.key(parent))!r}"
            yield _about(UNIT_MOUNT, where, row, "attach", attach, "a node without")


def has_geometry(nodes: Records) -> Bools:
    """Return which nodes of a model have geometry. (n,) ``NODE_DTYPE`` -> (n,)."""
    slots = nodes["slot_index"].reshape(len(nodes), -1)
    return np.asarray((slots != 0xFFFF).any(axis=1))


def _at(name: str) -> Place:
    return Place(COMPONENTS, lambda row: offset_of(row, name))


def _about(rule: Rule, problem: str, row: int, name: str, value: object = None, expected: object = None) -> Finding:
    return Finding(rule, problem, COMPONENTS, row, offset_of(row, name), value, expected)
