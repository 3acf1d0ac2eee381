"""Every check has a model that breaks it, and valid models have no errors."""

import numpy as np
import pytest

from msh_gltf.converter.checks.model import check_model, require_valid
from msh_gltf.converter.checks.recover import leave_out
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import TABLES, MshModel, StreamType, largest_indices
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.queries.model import node_string, slot_for
from tests.support.corpus import every_sample, sample_called
from tests.support.tolerant import box_of, model_of


@every_sample
def test_the_corpus_is_sound(sample) -> None:
    model = read_msh(sample.path, sample.entry)
    findings = require_valid(model)
    codes = {finding.code for finding in findings if finding.severity == "warning"}
    assert codes <= {"node-legacy", "table-missing"}
    assert ("node-legacy" in codes) == sample.truth["legacy"]


def edit(model: MshModel, stream: StreamType, row: object, **values: object) -> None:
    """Change fields of a row of a table; of one without fields, the row."""
    table = model.streams[stream] = model.streams[stream].copy()
    for field, value in values.items():
        where = table[field] if table.dtype.fields else table
        where[row] = value


S = StreamType


@pytest.mark.parametrize(
    ("code", "stream", "row", "values", "within"),
    [
        ("vertex-finite", S.POSITIONS, 3, {"x": (0, np.nan, 0)}, 0),
        ("node-parent", S.NODES, 2, {"parent": 99}, 2),
        ("node-cycle", S.NODES, 1, {"parent": 1}, 2),
        ("node-slot", S.NODES, 2, {"slot_index": 9999}, 8),
        ("slot-batches", S.SLOTS, 1, {"batch_start": 60000}, 4),
        ("slot-triangles", S.SLOTS, 1, {"tri_start": 60000}, 0),
        ("batch-indices", S.BATCHES, 5, {"index_start": 0xFFFFFFFF}, 10),
        ("batch-vertices", S.BATCHES, 5, {"base_vertex": 0xFFFFFFFF}, 16),
        ("triangle-link", S.TRIANGLES, 4, {"link": (0, 1, 65534)}, 2),
        ("key-finite", S.KEYS, 2, {"time": np.inf}, 0),
        ("node-fallback", S.NODES, 3, {"fallback_key": 65535}, 6),
        ("node-map", S.NODES, 3, {"map_start": 65000}, 4),
    ],
)
def test_errors_say_where(code: str, stream: S, row: int, values: dict, within: int) -> None:
    model = read_msh(sample_called("retail__odd__s_rock_009").path)
    edit(model, stream, row, **values)
    found = [f for f in check_model(model) if f.severity == "error"]
    assert code in {f.code for f in found}, found
    first = next(f for f in found if f.code == code)
    assert (first.table, first.row) == (TABLES[stream].label, row)
    entry = model.archive.first_of_type(stream)
    assert entry is not None
    record = {1: 38, 2: 68}.get(stream) or TABLES[stream].dtype.itemsize
    header = 140 if stream is S.SLOTS else 0
    assert first.offset == entry.data_offset + header + record * row + within
    with pytest.raises(ConversionError) as caught:
        require_valid(model)
    assert caught.value.file == model.archive.label


@pytest.mark.parametrize(
    ("code", "severity", "change"),
    [
        ("vertex-count", "error", lambda m: shorten(m, S.NORMALS)),
        ("vertex-extra", "warning", lambda m: lengthen(m, S.UV0)),
        ("table-missing", "warning", lambda m: m.archive.entries.pop(3)),
        ("entry-unknown", "note", lambda m: setattr(m.archive.entries[13], "type_id", 99)),
        ("entry-twice", "warning", lambda m: setattr(m.archive.entries[13], "type_id", 9)),
        ("entry-attr3", "warning", lambda m: setattr(m.archive.entries[5], "attr3", 9)),
        ("key-zero", "note", lambda m: edit(m, S.KEYS, 1, quaternion=0)),
        ("batch-triangles", "warning", lambda m: edit(m, S.BATCHES, 0, index_count=4)),
        ("string-tail", "warning", lambda m: setattr(m.strings, "tail", b"x")),
    ],
)
def test_other_findings(code: str, severity: str, change) -> None:
    model = read_msh(sample_called("retail__odd__s_rock_009").path)
    change(model)
    assert (code, severity) in {(f.code, f.severity) for f in check_model(model)}


def shorten(model: MshModel, stream: S) -> None:
    model.streams[stream] = model.streams[stream][:-1]


def lengthen(model: MshModel, stream: S) -> None:
    model.streams[stream] = np.concatenate([model.streams[stream]] * 2)


def test_several_bad_rows_are_counted() -> None:
    model = read_msh(sample_called("retail__odd__s_rock_009").path)
    nodes = model.nodes = model.nodes.copy()
    nodes["parent"][2:5] = 77
    finding = next(f for f in check_model(model) if f.code == "node-parent")
    assert "(and in 2 more rows)" in finding.problem


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
