"""The checks of a terrain, in their order."""

from __future__ import annotations

from ..findings import Finding
from ..formats.terrain import Terrain
from .terrain_draw import check_draw_groups, check_draw_order
from .terrain_faces import (
    check_borders,
    check_coarse_vertices,
    check_faces,
    check_faces_further,
    check_links,
    check_second_materials,
)
from .terrain_slots import (
    check_bounds,
    check_fine_slots,
    check_pairs,
    check_runs,
    check_slot_count,
    check_spheres,
    check_square_words,
    check_squares,
)
from .terrain_tables import check_entries, check_header, check_tables


def check_terrain(terrain: Terrain) -> list[Finding]:
    """Return the findings about what conversion relies on.

    Some checks need valid tables: they run only where the others find no error.
    """
    if terrain.cut:
        return [*terrain.cut, *check_terrain(terrain.without_cut())]
    findings = [*check_tables(terrain), *check_slot_count(terrain), *check_faces(terrain), *check_squares(terrain)]
    if any(finding.severity == "error" for finding in findings):
        return findings
    return [
        *findings,
        *check_links(terrain),
        *check_runs(terrain),
        *check_borders(terrain),
        *check_coarse_vertices(terrain),
        *check_draw_order(terrain),
        *check_second_materials(terrain),
    ]


def check_terrain_further(terrain: Terrain) -> list[Finding]:
    """Return the findings about what conversion does not need.

    Args:
        terrain: a terrain about which :func:`check_terrain` finds no error.
    """
    return [
        *check_entries(terrain),
        *check_fine_slots(terrain),
        *check_square_words(terrain),
        *check_pairs(terrain),
        *check_bounds(terrain),
        *check_spheres(terrain),
        *check_header(terrain),
        *check_faces_further(terrain),
        *check_draw_groups(terrain),
    ]
