"""Slots and strings of a model's nodes, against recorded truth."""

import pytest

from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.queries.model import node_string, slot_for
from tests.support.corpus import sample_called


def test_slot_lookup() -> None:
    sample = sample_called("retail__odd__s_rock_009")
    model = read_msh(sample.path)
    raw = model.nodes.view("<u2")
    for node, facts in enumerate(sample.truth["nodes"]):
        for cell, word in enumerate(facts["words"][:15]):
            lod, group = divmod(cell, 5)
            assert word == raw[4 + node * 19 + cell]  # the source's formula
            expected = None if word == NONE16 else word
            assert slot_for(model, node, lod, group) == expected
            assert slot_for(model, node, -1, group, current_lod=lod) == expected
    for node, lod, group in ((99, 0, 0), (0, 3, 0), (0, 0, 5), (0, -2, 0), (-1, 0, 0)):
        with pytest.raises(IndexError):
            slot_for(model, node, lod, group)


def test_node_strings() -> None:
    bunker = sample_called("spec__static__b_bun_000")
    model = read_msh(bunker.path)
    for node in bunker.truth["nodes"]:
        assert node_string(model, node["index"]) == bytes.fromhex(node["res10_hex"])
    retail = read_msh(sample_called("retail__odd__s_rock_009").path)
    assert node_string(retail, 0) is None  # length 0
    retail.strings = None
    assert node_string(retail, 0) is None
