"""Units: the tree of components, and every byte back."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.objects import COMPONENT_DTYPE, read_unit, tree_parents, write_unit
from tests.support import assembly as make
from tests.support.corpus import CORPUS


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Child counts depth first, and the parents that they mean."""
    counts: list[int] = []
    parents: list[int] = []

    def grow(parent: int, depth: int) -> None:
        row = len(counts)
        counts.append(0)
        parents.append(parent)
        if depth < 4:
            counts[row] = draw(st.integers(0, 3))
            for _ in range(counts[row]):
                grow(row, depth + 1)

    grow(-1, 0)
    return counts, parents


@given(trees(), st.randoms(use_true_random=False), st.integers(0, 0xFFFFFFFF))
def test_any_tree_comes_back_byte_for_byte(tree, random, type: int) -> None:
    counts, parents = tree
    raw = random.randbytes(112 * len(counts))
    records = np.frombuffer(raw, COMPONENT_DTYPE).copy()
    records["child_count"] = counts
    data = make.unit([], type) + records.tobytes()
    unit = read_unit(data, "a.dat")
    assert write_unit(unit) == data
    assert unit.type == type
    assert unit.parents.tolist() == parents


def test_what_is_shown() -> None:
    parts = [
        ("u_walker", 0, -1, 5),
        ("e_tur", 1, 3, 0),
        ("E_GUN_1", 2, 2, 0),
        ("e_plate", 2, 2, 0),
        ("i_comp", 3, 0, 0),
        ("e_gun_2", 4, 5, 1),
        ("i_clip", 5, 0, 0),
    ]
    unit = read_unit(make.unit(parts), "a.dat")
    assert [unit.key(row) for row in range(len(unit)) if unit.is_shown(row)] == [
        "u_walker",
        "e_tur",
        "E_GUN_1",
        "e_gun_2",
    ]
    assert unit.parents.tolist() == [-1, 0, 0, 0, 0, 0, 5]
    assert (unit.label(1), unit.attach(1), unit.archive(1)) == ("the e_tur", 3, "objects.rlb")


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([], "has no component"),
        ([0, 0], "row 1, byte 0xe4: component is outside the tree"),
        ([2, 0], "row 0, byte 0x74: component has too few children: 1 (expected 2)"),
        ([1, 1], "row 1, byte 0xe4: component has too few children"),
        ([-1], "child count is negative: -1"),
    ],
)
def test_counts_that_make_no_tree_are_refused(counts: list[int], text: str) -> None:
    with pytest.raises(ConversionError) as error:
        tree_parents(np.array(counts, np.int64))
    assert error.value.code == "unit-tree"
    assert text in str(error.value)


@pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")
def test_units_of_the_corpus_come_back() -> None:
    found = sorted(Path(CORPUS or "").glob("*/game/UNITS/**/*.[dD][aA][tT]"))
    assert found
    for path in found:
        assert write_unit(read_unit(path.read_bytes(), path.name)) == path.read_bytes()
