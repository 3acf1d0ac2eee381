"""The words of an areal map's cells."""

from dataclasses import replace

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import CELLS, cell_words, pack_cells, unpack_cells
from tests.support.areals import read, square, tiny
from tests.support.maps import every_level


def test_cell_words_by_hand() -> None:
    words = pack_cells([0, 1, 1023, 5], [0, 1, 4194303, 7])
    assert words.tolist() == [0, 1 << 22 | 1, 0xFFFFFFFF, 5 << 22 | 7]
    assert words.dtype == np.uint32
    counts, starts = unpack_cells(words)
    assert counts.tolist() == [0, 1, 1023, 5]
    assert starts.tolist() == [0, 1, 4194303, 7]


@pytest.mark.parametrize(
    ("counts", "starts", "row", "value"),
    [
        ([1, 1024], [1, 2], 1, 1024),
        ([1, 2, -1], [1, 2, 4], 2, -1),
        ([1, 0, 3], [1, 2, 1 << 22], 2, 1 << 22),
        ([1, 2], [0, 1], 0, 0),
        ([0], [-1], 0, -1),
    ],
)
def test_cell_words_that_do_not_fit(counts: list, starts: list, row: int, value: int) -> None:
    with pytest.raises(ConversionError) as caught:
        pack_cells(counts, starts)
    assert (caught.value.table, caught.value.row, caught.value.value) == (CELLS, row, value)


@every_level
def test_cell_words_of_a_map(level) -> None:
    areals = read(level.folder / "Land.map")
    pool = areals.cell_ids.tolist()
    start = level.areal["cell_start"].tolist()
    for row, word in enumerate(cell_words(areals).tolist()):
        count, first = word >> 22, word & 0x3FFFFF  # the source's formula
        assert pool[first - 1 : first - 1 + count] == pool[start[row] : start[row + 1]]


def test_cell_words_name_the_file() -> None:
    areals = tiny(square(0, 0, 1))
    full = replace(areals, cell_start=np.array([0, 1024]), cell_ids=np.zeros(1024, np.uint16))
    with pytest.raises(ConversionError, match=r"Land\.map, Type 12 \(cells\), row 0"):
        cell_words(full)
