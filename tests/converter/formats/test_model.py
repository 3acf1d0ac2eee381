"""Core model tables: read, written, refused."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.model import TABLES, StringTable, encode_strings, read_model, table_bytes, write_model
from msh_gltf.converter.formats.nres import Archive, Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.kinds.open_files import read_msh
from tests.support.corpus import DATA, every_sample
from tests.support.runs import first_difference


@every_sample
def test_bytes_come_back(sample) -> None:
    model = read_msh(sample.path, sample.entry)
    assert first_difference(sample.source, write_model(model)) is None
    for stream, data in table_bytes(model).items():
        entry = model.archive.first_of_type(stream)
        assert entry is not None
        assert data == bytes(entry.payload), TABLES[stream].label


@every_sample
def test_tables_equal_the_truth(sample) -> None:
    model, truth, arrays = read_msh(sample.path, sample.entry), sample.truth, sample.arrays
    assert [e.type_id for e in model.archive.entries] == truth["order"]
    assert model.frame_count == truth["frame_count"]
    assert len(model.slots) == truth["counts"]["slots"]
    np.testing.assert_array_equal(model.positions, arrays["vertex_pos"])
    np.testing.assert_array_equal(model.normals, arrays["vertex_nrm"])
    np.testing.assert_array_equal(model.uv0, arrays["vertex_uv"])
    np.testing.assert_array_equal(model.batches["index_count"], arrays["batch_count"])
    assert model.header.tobytes() == arrays["header"].astype("<f4").tobytes()
    bounds = ("aabb_min", "aabb_max", "sphere_center", "sphere_radius")
    joined = np.concatenate([model.slots[k].reshape(len(model.slots), -1) for k in bounds], axis=1)
    np.testing.assert_array_equal(joined, arrays["slot_bounds"])
    np.testing.assert_array_equal(model.slots["area"], arrays["slot_area"])
    np.testing.assert_array_equal(model.slots["volume"], arrays["slot_volume"])
    if model.triangles is not None:
        np.testing.assert_array_equal(model.triangles["link"], arrays["desc_link"])
        np.testing.assert_array_equal(model.triangles["normal"], arrays["desc_normal"])
    if "graph_point" in arrays:
        assert model.graph is not None
        np.testing.assert_array_equal(model.graph.points["position"], arrays["graph_point"])
        np.testing.assert_array_equal(model.graph.points["node"], arrays["graph_node"])
    if not model.legacy:
        np.testing.assert_array_equal(model.nodes["slot_index"].reshape(-1, 15), [n["words"] for n in truth["nodes"]])


def tables(draw: st.DrawFn) -> dict[int, bytes]:
    """Random bytes of the right stride for every table; two nodes, two vertices."""
    out = {}
    for spec in TABLES.values():
        if spec.dtype is not None:
            rows = 2 if spec.per_vertex or spec.stream == 1 else draw(st.integers(0, 3))
            size = spec.start + rows * spec.dtype.itemsize
            out[spec.stream] = draw(st.binary(min_size=size, max_size=size))
    out[10] = b"\0\0\0\0" + struct.pack("<I", 3) + draw(st.binary(min_size=4, max_size=4))
    out[20] = draw(st.binary(max_size=9))
    out[99] = draw(st.binary(max_size=9))
    return out


@given(st.composite(tables)())
def test_any_bytes_of_the_right_stride_survive(payloads: dict[int, bytes]) -> None:
    model = read_model(container(payloads), "x")
    written = read_nres(write_model(model), "y")
    assert {e.type_id: bytes(e.payload) for e in written.entries} == payloads
    assert table_bytes(model) == {t: b for t, b in payloads.items() if t in TABLES and t != 17}


@given(st.lists(st.binary(max_size=9)), st.binary(max_size=3))
def test_strings_survive(texts: list[bytes], tail: bytes) -> None:
    records = [text + b"\0" if text else b"" for text in texts]
    data = encode_strings(StringTable(records, tail))
    payloads = minimal() | {1: bytes(38 * len(texts)), 10: data}
    model = read_model(container(payloads), "x")
    assert model.strings == StringTable(records, tail)
    assert [model.strings.text(i) for i in range(len(texts))] == [t or None for t in texts]


def test_model_in_an_archive(tmp_path: Path) -> None:
    path = archive_of_models(tmp_path, ["one.msh", "БАШНЯ.msh", "note.txt"])
    assert read_msh(path, "ONE.MSH").name == "one.msh"
    assert read_msh(path, "1").name == "БАШНЯ.msh"
    with pytest.raises(ConversionError, match=r"holds 2 models.*--entry NAME: one\.msh, БАШНЯ\.msh"):
        read_msh(path)
    with pytest.raises(ConversionError, match=r"no such entry: two\.msh"):
        read_msh(path, "two.msh")
    with pytest.raises(ConversionError, match=r"entry note\.txt") as caught:
        read_msh(path, "note.txt")
    assert "not an NRes file" in str(caught.value)
    assert read_msh(archive_of_models(tmp_path, ["only.msh"])).name == "only.msh"


def test_directory_attributes_of_the_runtime() -> None:
    archive = container(minimal() | {19: b"", 20: b"abc"})
    for item in archive.entries:
        item.attr1, item.attr2 = item.type_id + 100, item.type_id + 200
    model = read_model(archive, "x")
    assert model.frame_count == 219  # attr2 of Res19
    assert model.table20_count == 120  # attr1 of Res20


def minimal() -> dict[int, bytes]:
    return {1: b"", 2: bytes(140), 3: b"", 6: b"", 13: b""}


def entry(type_id: int, data: bytes, name: bytes = b"Res") -> Entry:
    attr3 = TABLES[type_id].attr3 if type_id in TABLES else 0
    return Entry(type_id, 0, 0, attr3, name_field(name), 0, 0, data)


def container(payloads: dict[int, bytes]) -> Archive:
    return new_archive([entry(type_id, data) for type_id, data in payloads.items()], "x.msh")


def archive_of_models(folder: Path, names: list[str]) -> Path:
    """An archive of the same small model under several names; ``.txt`` names hold text."""
    payload = bytes(read_file(DATA / "retail__system__MTCHECK.msh"))
    entries = [
        entry(
            int.from_bytes(b"MESH", "little"), b"just text" if name.endswith(".txt") else payload, name.encode("cp1251")
        )
        for name in names
    ]
    path = folder / f"models{len(names)}.rlb"
    path.write_bytes(write_nres(new_archive(entries, "x")))
    return path


def test_load_order() -> None:
    """As msh-core (docs/reference/sources.md) has it, 4.1; the last two are not loaded."""
    assert list(TABLES) == [1, 2, 3, 4, 5, 10, 8, 19, 7, 13, 6, 15, 16, 18, 20, 9, 17]
