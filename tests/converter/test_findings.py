"""Findings: one about all rows that break a rule."""

import numpy as np

from msh_gltf.converter.findings import Bad, Finding, Place, found
from msh_gltf.converter.formats.texture import TEXM_SIDES


def finding_of(bad: Bad) -> Finding | None:
    return found(TEXM_SIDES, bad, lambda at: Place(str(at), lambda row: 100 * row))


def test_a_row_with_several_broken_values_counts_once() -> None:
    bad = np.zeros((5, 2, 3), np.bool_)
    bad[2], bad[4, 1, 0] = True, True
    finding = finding_of(Bad("is broken", "Res1", bad, np.arange(5)))
    assert finding is not None
    assert finding.rows is not None
    assert (finding.row, finding.count, finding.rows.tolist()) == (2, 2, [2, 4])
    assert (finding.table, finding.value, finding.offset) == ("Res1", 2, 200)
    assert finding.problem == "is broken (and in 1 more rows)"


def test_rows_that_are_not_broken_have_no_finding() -> None:
    assert finding_of(Bad("is broken", "Res1", np.zeros((5, 3), np.bool_))) is None
    assert finding_of(Bad("is broken", "Res1", np.False_)) is None


def test_one_row_and_the_whole_table() -> None:
    values = np.arange(5)
    for rows, row, offset in ((3, 3, 300), (None, None, 0)):
        finding = finding_of(Bad("is broken", "Res1", rows, values, count=7))
        assert finding is not None
        assert (finding.row, finding.offset, finding.count, finding.problem) == (row, offset, 7, "is broken")
        assert finding.value is values
