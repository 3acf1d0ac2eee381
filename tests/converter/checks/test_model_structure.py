"""Every check has a model that breaks it, and valid models have no errors."""

import numpy as np
import pytest

from msh_gltf.converter.checks.recover import leave_out
from msh_gltf.converter.formats.model import MshModel, StreamType, largest_indices
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.queries.model import node_string, slot_for
from tests.support.corpus import every_sample, sample_called
from tests.support.tolerant import box_of, model_of


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


@every_sample
def test_largest_indices(sample) -> None:
    """Against a plain loop; the window word of canonical batches is that plus one."""
    model = read_msh(sample.path, sample.entry)
    got = largest_indices(model)
    for batch, top in zip(model.batches, got, strict=True):
        start, count = int(batch["index_start"]), int(batch["index_count"])
        assert top == max(model.indices[start : start + count].tolist(), default=0)


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


@pytest.mark.parametrize("edge", range(3))
def test_a_link_to_nothing_becomes_no_neighbour(edge: int) -> None:
    """Its word is 65535 and its two bits of the selectors are both set; the rest of the row stays."""
    box = box_of("retail__static__i_room_006")
    was = model_of(box).triangles
    box.table(7).set(0, 2 + 2 * edge, "H", 0xFFFE)
    now = leave_out(model_of(box))[0].triangles
    assert was is not None
    assert now is not None
    links = was["link"].copy()
    links[0, edge] = 0xFFFF
    np.testing.assert_array_equal(now["link"], links)
    selectors = was["selectors"].copy()
    selectors[0] |= 0b11 << 2 * edge
    np.testing.assert_array_equal(now["selectors"], selectors)
