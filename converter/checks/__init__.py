"""Every rule about a file as data above the function that checks it, and tolerant reading.

A module holds the rules about one thing, and runs their checks in order: first those that
conversion relies on, then those that only ``msh-inspect --check`` looks at.
"""

from __future__ import annotations

from functools import cache

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

    Imports every module that declares one: rules found while reading bytes stand in ``formats``.
    """
    from ..formats import (
        archive,
        areal_map,
        build_dat,
        control_points,
        material,
        mission,
        model_parts,
        registry,
        rsli,
        texture,
        unit,
        wear,
    )
    from ..formats import model as core_model
    from ..formats import terrain as terrain_data
    from . import (
        animation,
        appearance,
        areal_cells,
        areal_polygons,
        areal_records,
        materials,
        missions,
        model,
        model_bounds,
        model_names,
        model_triangles,
        nres,
        objects,
        placed,
        recover,
        terrain,
        terrain_faces,
        textures,
        units,
    )

    modules = (
        archive,
        nres,
        core_model,
        model,
        model_bounds,
        model_names,
        model_triangles,
        recover,
        animation,
        terrain_data,
        terrain,
        terrain_faces,
        areal_map,
        areal_records,
        areal_polygons,
        areal_cells,
        build_dat,
        wear,
        appearance,
        material,
        materials,
        texture,
        textures,
        control_points,
        model_parts,
        rsli,
        registry,
        objects,
        unit,
        units,
        mission,
        missions,
        placed,
    )
    rules: dict[str, Rule] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Rule):
                rules.setdefault(value.code, value)
            elif isinstance(value, Check) and value.function.__module__ == module.__name__:
                rules.setdefault(value.rule.code, value.rule)
    return dict(sorted(rules.items(), key=lambda item: FORMATS.index(item[1].format)))


def similar_codes(code: str) -> list[str]:
    """Return known codes that look like one that does not exist, the nearest first."""
    from difflib import get_close_matches

    wanted, known = code.strip().lower(), all_rules()
    return get_close_matches(wanted, known, 4) or [each for each in known if wanted and wanted in each][:4]
