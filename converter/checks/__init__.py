"""Every rule about a file beside the check that finds where it is broken, and tolerant reading.

A module is named after what it is about: ``batches`` holds the rules about batches, each above the
function that checks it. ``model``, ``terrain`` and ``areal_map`` run the checks of a file: first
those that conversion relies on, then those that only ``msh-inspect --check`` looks at.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..findings import Rule


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by its code, in the order in which they are listed.

    Imports every module that declares one: rules found while reading bytes stand in ``formats``.
    """
    from .. import input_files
    from ..findings import Rule
    from ..formats import (
        areal_map,
        build_dat,
        control_points,
        material,
        mission,
        model_parts,
        nres,
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
        batches,
        container,
        directory,
        graph,
        header,
        level,
        materials,
        missions,
        names,
        nodes,
        objects,
        placed,
        recover,
        slots,
        terrain_draw,
        terrain_faces,
        terrain_slots,
        terrain_tables,
        textures,
        triangles,
        units,
        vertices,
    )

    modules = (
        input_files,
        nres,
        container,
        core_model,
        directory,
        vertices,
        nodes,
        slots,
        header,
        names,
        graph,
        batches,
        triangles,
        recover,
        animation,
        terrain_data,
        terrain_tables,
        terrain_slots,
        terrain_faces,
        terrain_draw,
        level,
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
    declared = (value for module in modules for value in vars(module).values())
    return {value.code: value for value in declared if isinstance(value, Rule)}


def similar_codes(code: str) -> list[str]:
    """Return known codes that look like one that does not exist, the nearest first."""
    from difflib import get_close_matches

    wanted, known = code.strip().lower(), all_rules()
    return get_close_matches(wanted, known, 4) or [each for each in known if wanted and wanted in each][:4]
