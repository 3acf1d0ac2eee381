"""The patterns for Kaitai Struct and ImHex read what the converter reads (docs/make_patterns.py)."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml

from msh_gltf.converter.formats.model import TABLES, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.tables import TableFile, TableSpec
from msh_gltf.converter.formats.terrain import TERRAIN_TABLES, read_terrain
from tests.docs.materials import ROOT
from tests.support.runs import require

PATTERNS = ROOT / "docs" / "reference" / "patterns"
COMPILER = ROOT / "tests" / "kaitai"
MODELS = sorted((ROOT / "tests/data").glob("*.msh"))
TERRAINS = sorted((ROOT / "tests/data/maps").rglob("*.msh"))
_SIZES = {"u8": 1, "u16": 2, "u32": 4, "s8": 1, "s16": 2, "s32": 4, "float": 4, "char": 1}


@pytest.fixture(scope="module")
def patterns() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        yield importlib.import_module("make_patterns")
    finally:
        sys.path.remove(str(ROOT / "docs"))


@pytest.fixture(scope="module")
def parsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The classes that Kaitai's compiler makes, by the name of their file."""
    node = shutil.which("node")
    require(node is not None and (COMPILER / "node_modules").is_dir(), "no compiler of Kaitai Struct")
    folder = tmp_path_factory.mktemp("kaitai")
    sources = []
    for path in sorted(PATTERNS.glob("*.ksy")):
        sources.append(folder / f"{path.stem}.json")
        sources[-1].write_text(json.dumps(yaml.safe_load(path.read_text("utf-8"))), "utf-8")
    command = [str(node), str(COMPILER / "compile.mjs"), str(folder), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(folder))
    try:
        modules = {source.stem: importlib.import_module(source.stem) for source in sources}
        yield {name: getattr(module, name.title().replace("_", "")) for name, module in modules.items()}
    finally:
        sys.path.remove(str(folder))


def test_files_are_up_to_date(patterns: ModuleType) -> None:
    """After a change of a record: python docs/make_patterns.py."""
    made = patterns.files()
    assert {path.name for path in PATTERNS.iterdir()} == set(made)
    assert [name for name, text in made.items() if (PATTERNS / name).read_text("utf-8") != text] == []


def numbers(row: Any, dtype: np.dtype[np.generic], name: str = "values") -> list[Any]:
    """The numbers of a row that Kaitai read, in the order of the record's bytes."""
    if dtype.names is not None and dtype.fields is not None:
        return [value for key in dtype.names for value in numbers(row, dtype.fields[key][0], key)]
    value = getattr(row, name)
    return list(value) if isinstance(value, (bytes, list)) else [value]


def compare(parsed: Any, content: TableFile, specs: Mapping[int, TableSpec]) -> int:
    """Compare all tables; return how many there were."""
    assert len(parsed.directory) == len(content.archive.entries)
    compared = 0
    for row, entry in zip(parsed.directory, content.archive.entries, strict=True):
        for name in ("type_id", "size", "attr1", "attr2", "attr3"):
            assert getattr(row, name) == getattr(entry, name)
        spec = specs.get(entry.type_id)
        if spec is None or spec.dtype is None:
            assert row.payload == entry.payload
            continue
        table = content.streams[entry.type_id]
        record = spec.record(entry.attr3)
        assert record is not None
        if spec.header is not None:
            assert numbers(row.payload.header, spec.header) == flat(content.header, spec.header)
        read = [value for one in row.payload.rows for value in numbers(one, record)]
        np.testing.assert_array_equal(np.array(read, float), np.array(flat(table, record), float))
        compared += 1
    return compared


def flat(table: np.ndarray[Any, Any], dtype: np.dtype[np.generic]) -> list[Any]:
    """All numbers of a table, row by row."""
    if dtype.names is None:
        return list(table.ravel().tolist())
    columns = [table[name].reshape(len(table), -1) for name in dtype.names]
    return [value for i in range(len(table)) for column in columns for value in column[i].tolist()]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_kaitai_reads_a_model_as_the_converter_does(parsers: dict[str, Any], path: Path) -> None:
    data = path.read_bytes()
    model = read_model(read_nres(data, path.name), path.name)
    assert compare(parsers["parkan_msh"].from_bytes(data), model, TABLES) >= 8


@pytest.mark.parametrize("path", TERRAINS, ids=lambda path: path.parent.name)
def test_kaitai_reads_a_terrain_as_the_converter_does(parsers: dict[str, Any], path: Path) -> None:
    data = path.read_bytes()
    terrain = read_terrain(read_nres(data, path.name), path.name)
    assert compare(parsers["parkan_land"].from_bytes(data), terrain, TERRAIN_TABLES) >= 8


def test_kaitai_reads_an_archive(parsers: dict[str, Any]) -> None:
    data = (ROOT / "examples/textures/Material.lib").read_bytes()
    rows = parsers["parkan_nres"].from_bytes(data).directory
    assert rows
    assert all(data[row.data_offset :].startswith(row.payload) for row in rows)


@pytest.mark.parametrize("name", ["parkan_nres", "parkan_msh", "parkan_land"])
def test_records_of_imhex_have_the_size_of_ours(patterns: ModuleType, name: str) -> None:
    """ImHex itself is not run: its records are counted byte by byte."""
    text = (PATTERNS / f"{name}.hexpat").read_text("utf-8")
    records = patterns.records_of(patterns.PATTERNS[name][2])
    for record, (dtype, _) in records.items():
        body = re.search(rf"^struct {record} \{{\n(.*?)^\}};", text, re.MULTILINE | re.DOTALL)
        assert body is not None
        rows = re.findall(r"^    (\w+) \w+(?:\[(\d+)\])?;", body[1], re.MULTILINE)
        assert sum(_SIZES[kind] * int(count or 1) for kind, count in rows) == dtype.itemsize, record
