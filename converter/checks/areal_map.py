"""The checks of an areal map, in their order."""

from __future__ import annotations

import numpy as np

from ..findings import Finding
from ..formats.areal_map import ArealMap
from .areal_cells import check_cells, check_links, check_lists
from .areal_polygons import check_polygons, check_tiling
from .areal_records import check_counts, check_records, check_records_further


def check_areal_map(areals: ArealMap) -> list[Finding]:
    """Return the findings about what conversion relies on.

    Rows count areals, links (``ArealMap.links``) or cells (``x * cells_y + y``); offsets count
    from the start of the file.
    """
    with np.errstate(invalid="ignore"):  # what is not finite has findings of its own
        return [
            *check_counts(areals),
            *check_records(areals),
            *check_polygons(areals),
            *check_links(areals),
            *check_cells(areals),
        ]


def check_areal_map_further(areals: ArealMap) -> list[Finding]:
    """Return the findings about what all maps of the game have and conversion does not need.

    Args:
        areals: a map about which :func:`check_areal_map` finds no error.
    """
    with np.errstate(invalid="ignore"):
        return [*check_records_further(areals), *check_tiling(areals), *check_lists(areals)]
