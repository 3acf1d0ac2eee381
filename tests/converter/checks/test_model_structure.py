"""Every check has a model that breaks it, and valid models have no errors."""

import numpy as np
import pytest

from msh_gltf.converter.formats.model import MshModel, StreamType
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.queries.model import node_string, slot_for
from tests.support.corpus import sample_called


def edit(model: MshModel, stream: StreamType, row: object, **values: object) -> None:
    """Change fields of a row of a table; of one without fields, the row."""
    table = model.streams[stream] = model.streams[stream].copy()
    for field, value in values.items():
        where = table[field] if table.dtype.fields else table
        where[row] = value


S = StreamType


def shorten(model: MshModel, stream: S) -> None:
    model.streams[stream] = model.streams[stream][:-1]


def lengthen(model: MshModel, stream: S) -> None:
    model.streams[stream] = np.concatenate([model.streams[stream]] * 2)


def test_slot_lookup() -> None:
    sample = sample_called("retail__odd__s_rock_009")
    model = read_msh(sample.path)
    raw = model.nodes.view("<u2")
    for node, facts in enumerate(sample.truth["nodes"]):
        for lod in range(3):
            for group in range(5):
                word = facts["words"][lod * 5 + group]
                assert word == raw[4 + node * 19 + lod * 5 + group]  # the source's formula
                expected = None if word == NONE16 else word
                assert slot_for(model, node, lod, group) == expected
                assert slot_for(model, node, -1, group, current_lod=lod) == expected
    for node, lod, group in ((99, 0, 0), (0, 3, 0), (0, 0, 5), (0, -2, 0), (-1, 0, 0)):
        with pytest.raises(IndexError):
            slot_for(model, node, lod, group)


def test_node_strings() -> None:
    model = read_msh(sample_called("spec__static__b_bun_000").path)
    truth = sample_called("spec__static__b_bun_000").truth["nodes"]
    for node in truth:
        assert node_string(model, node["index"]) == bytes.fromhex(node["res10_hex"])
    retail = read_msh(sample_called("retail__odd__s_rock_009").path)
    assert node_string(retail, 0) is None  # length 0
    retail.strings = None
    assert node_string(retail, 0) is None
