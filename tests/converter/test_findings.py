"""Findings: one about all rows that break a rule."""

from __future__ import annotations

import numpy as np

from msh_gltf.converter.findings import Place, first_bad
from msh_gltf.converter.formats.texture import TEXM_SIDES

PLACE = Place("Res1", lambda row: 100 * row)


def test_a_row_with_several_broken_values_counts_once() -> None:
    bad = np.zeros((5, 2, 3), np.bool_)
    bad[2], bad[4, 1, 0] = True, True
    (finding,) = first_bad(TEXM_SIDES, bad, "is broken", PLACE, np.arange(5))
    assert finding.rows is not None
    assert (finding.row, finding.count, finding.rows.tolist()) == (2, 2, [2, 4])
    assert (finding.value, finding.offset) == (2, 200)
    assert finding.problem == "is broken (and in 1 more rows)"


def test_rows_that_are_not_broken_have_no_finding() -> None:
    assert not [*first_bad(TEXM_SIDES, np.zeros((5, 3), np.bool_), "is broken", PLACE)]
    assert not [*first_bad(TEXM_SIDES, np.False_, "is broken", PLACE)]
