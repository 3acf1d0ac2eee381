"""Every rule about a file as data above the function that checks it, and tolerant reading.

A module holds the rules about one thing, and runs their checks in order: first those that
conversion relies on, then those that only ``msh-inspect --check`` looks at.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from .. import files, formats
from ..findings import Rule
from .rules import Check

#: What rules are about, in the order in which they are listed.
FORMATS = (
    "NRes",
    "core model",
    "core model (animation)",
    "terrain",
    "level",
    "areal map",
    "BuildDat.lst",
    "WEAR",
    "WEAR, MAT0",
    "MAT0",
    "Texm",
    "control points",
    "controller",
    "footings, node properties",
    "RsLi",
    "objects.rlb",
    "unit",
    "mission",
    "unit, mission",
)


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by its code, in the order in which they are listed.

    Looks into ``files`` and every module of ``formats``, where reading the bytes finds what is wrong, and then of
    this package; those of one format stay in the order of the modules' names.
    """
    rules: dict[str, Rule] = {}
    packages = (import_module(name) for name in (formats.__name__, __name__))
    names = [f"{package.__name__}.{module.name}" for package in packages for module in iter_modules(package.__path__)]
    for module in map(import_module, [files.__name__, *names]):
        for value in vars(module).values():
            if isinstance(value, Check) and value.function.__module__ == module.__name__:
                rules.setdefault(value.rule.code, value.rule)
            elif isinstance(value, Rule):
                rules.setdefault(value.code, value)
    return dict(sorted(rules.items(), key=lambda item: FORMATS.index(item[1].format)))


def similar_codes(code: str) -> list[str]:
    """Return known codes that look like one that does not exist, the nearest first."""
    from difflib import get_close_matches

    wanted, known = code.strip().lower(), all_rules()
    return get_close_matches(wanted, known, 4) or [each for each in known if wanted and wanted in each][:4]
