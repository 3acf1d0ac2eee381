"""Counts and sizes are looked at before memory is taken; nothing in a file runs or leads out."""

import ast
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.game.manifest import read_manifest
from msh_gltf.importers.gltf import read_gltf
from tests.fuzz.__main__ import TARGETS
from tests.fuzz.documents import documents
from tests.fuzz.engine import ROOT, execute, limited, peak_kib, strict
from tests.fuzz.hostile import hostile
from tests.fuzz.mutate import dump, join_glb

#: What hostile files may take in all, beyond what the process has: mebibytes.
ROOM = 160
CASES = list(hostile())


def run_all() -> None:
    """Every hostile file, in a process that may not grow by more than ``ROOM``."""
    import resource

    for target in dict.fromkeys(target for _, target, _ in CASES):
        for seed in TARGETS[target].seeds():  # what is imported late is no file's fault
            execute(TARGETS[target], seed)
    before = peak_kib()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (ROOM << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name, target, data in CASES:
        start = time.perf_counter()
        with strict(), limited(TARGETS[target], data):
            _, value = execute(TARGETS[target], data)
        grown = (peak_kib() - before) >> 10
        took = time.perf_counter() - start
        said = "value" if value else "refused"
        print(f"{target}: {name}: {said}, {len(data)} bytes, {grown} MiB, {took:.2f} s")


def test_hostile_files_take_little_memory() -> None:
    pytest.importorskip("resource", reason="no limits of memory on this system")
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say how large a process is")
    code = "from tests.fuzz.test_limits import run_all; run_all()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert len(lines) == len(CASES)
    values = [line for line in lines if ": value," in line]
    assert len(values) < len(lines) / 4, values


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nested", "payloads overlap too often"),
        ("batches share indices", "batches use indices too often"),
        ("nodes share a slot", "nodes use indices too often"),
        ("slots share batches", "slots use batches too often"),
        ("nodes share frames", "nodes use frames too often"),
        ("slots share faces", "slots use the same faces too often"),
        ("primitives share", "unpacks to far more than it holds"),
        ("nodes share", "unpacks to far more than it holds"),
        ("accessors share", "unpacks to far more than it holds"),
        ("Draco", "unpacks to far more than it holds"),
        ("loop of nodes", "nodes form a loop"),
        ("depth", "nested too deeply"),
        ("objects", "too many objects"),
        ("4097 x 4096 picture", "too large"),
        ("65,700 nodes in a chain", "too many nodes: 65,700 .*65,535"),
        ("1,000,001 nodes", "too many nodes: 1,000,001 .*131,070"),
        ("200,000 materials", "unpacks to far more than it holds"),
        ("200,000 accessors", r"accessors\[0\]: {} .*an object with componentType"),
        ("200,000 samplers", r"samplers\[0\]: {} .*an object with input"),
        ("clip of 3e6 s", "the clip is too long: 72,000,001 .*65,535 frames"),
        ("clip of 65,536 frames", "the clip is too long: 65,536 .*65,535 frames"),
        ("clip of 3e6 s before 0", "key times are negative"),
        ("clip of 3e6 s that ends before 0", "key times are negative"),
        ("clip at 1e30 frames a second", "the clip is too long"),
        ("clip of 1e8 stated frames", "the clip is too long: 100,000,000"),
        ("2,000 nodes that move for 60,000 frames", "too many animated frames: 120,002,000"),
    ],
)
def test_what_unpacks_is_refused_for_that(name: str, said: str) -> None:
    """Not for something else that the hostile file also has."""
    target, data = next((TARGETS[t], d) for n, t, d in CASES if n == name)
    with pytest.raises(ConversionError, match=said):
        target.rest(target.first(data))


@pytest.mark.parametrize("above", ["side by side", "in a chain"])
def test_many_nodes_take_time_in_proportion(above: str) -> None:
    """As every file of the pipelines: 10 s of the processor, and 50 s for each MB."""
    count = 4000
    nodes: list[dict[str, Any]] = [{"mesh": 0, "translation": [i % 9, 0, 0]} for i in range(count)]
    for i, node in enumerate(nodes[:-1] if above == "in a chain" else ()):
        node |= {"children": [i + 1], "translation": [0.01, 0, 0]}
    view = {"buffer": 0, "byteOffset": 0, "byteLength": 36}
    document = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0] if above == "in a chain" else [*range(count)]}],
        "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [view],
        "buffers": [{"byteLength": 36}],
    }
    data, target = join_glb(dump(document), np.eye(3, dtype=np.float32).tobytes()), TARGETS["gltf_new"]
    with limited(target, data):
        target.rest(target.first(data))


def test_there_is_a_hostile_file_for_every_reader() -> None:
    covered = {target for _, target, _ in CASES}
    whole = {"msh": "model_out", "terrain": "terrain_out", "areal_map": "areal_out"}
    whole |= {"gltf": "gltf_new", "obj": "obj_new"}
    from tests.fuzz.assembly import ASSEMBLY
    from tests.fuzz.targets import READERS

    assert {whole.get(target.name, target.name) for target in [*READERS, *ASSEMBLY]} <= covered | {"model_out"}


@pytest.mark.parametrize("path", ["../x.glb", "/x.glb", "a/../../x", "C:/x", "C:x", "..\\x", "a\0b"])
@pytest.mark.parametrize("place", ["outputs", "archives"])
def test_a_manifest_names_nothing_outside_its_directory(path: str, place: str, tmp_path: Path) -> None:
    facts = json.loads(TARGETS["manifest"].seeds()[0])
    row = facts["models"][0]["outputs"][0] if place == "outputs" else facts["archives"][0]
    (tmp_path / "manifest.json").write_text(json.dumps(facts))
    assert read_manifest(tmp_path) is not None
    row["path" if place == "outputs" else "folder"] = path
    (tmp_path / "manifest.json").write_text(json.dumps(facts))
    with pytest.raises(ConversionError, match="leads out"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("path", ["", ".", "./", "/"])
def test_an_output_of_a_manifest_is_a_file(path: str, tmp_path: Path) -> None:
    """Not the directory itself, which would be taken for a file that is gone."""
    facts = json.loads(TARGETS["manifest"].seeds()[0])
    facts["models"][0]["outputs"][0]["path"] = path
    (tmp_path / "manifest.json").write_text(json.dumps(facts))
    with pytest.raises(ConversionError, match="manifest cannot be read"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scenes": [{"nodes": [-1]}]}, r"scenes\[0\].nodes\[0\]: -1 .*an index into nodes"),
        ({"nodes": [{"mesh": -1}]}, r"nodes\[0\].mesh: -1 .*an index into meshes"),
        ({"nodes": [{"mesh": 0, "translation": [1, 2]}]}, r"translation: \[1, 2\] .*an array of 3 values"),
        ({"nodes": [{"mesh": 0, "translation": [1e13, 0, 0]}]}, "too large"),
        ({"nodes": [{"mesh": 0, "name": 5}]}, r"nodes\[0\].name: 5 .*a text"),
        ({"nodes": [{"mesh": 0, "name": "\ud800"}]}, "JSON cannot be read"),
        ({"nodes": [{"mesh": 0, "extras": {"msh": {"lod": 3}}}]}, "lod of extras.msh is not valid: 3 "),
        ({"scenes": [{"nodes": [0], "extras": {"msh": {"dialect": "x"}}}]}, "dialect of extras.msh is not valid: x "),
        ({"accessors": [{"componentType": 5126, "count": 3, "type": "VEC2"}]}, "POSITION of mesh"),
    ],
)
def test_documents_that_say_what_cannot_be(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    tree, binary = documents()[1]
    primitive = {"attributes": {"POSITION": 0}}
    accessor = {"bufferView": 0, "componentType": 5126, "count": 1, "type": "VEC3"}
    plain = {"nodes": [{"mesh": 0}], "meshes": [{"primitives": [primitive]}]}
    plain |= {"scenes": [{"nodes": [0]}], "animations": [], "accessors": [accessor]}
    path = tmp_path / "x.glb"
    path.write_bytes(join_glb(dump({**tree, **plain}), binary))
    read_gltf(path)
    path.write_bytes(join_glb(dump({**tree, **plain, **change}), binary))
    with pytest.raises(ConversionError, match=said):
        read_gltf(path)


SOURCES = [p for name in ("converter", "importers", "exporters") for p in (ROOT / name).rglob("*.py")]
#: Modules whose readers run what a file says, and functions that do.
_RUNNING = {"pickle", "marshal", "shelve", "dill", "joblib", "code", "runpy", "yaml"}
_CALLS = {"eval", "exec", "compile", "__import__"}


def running(text: str) -> list[str]:
    """What could run code from a file, in a source."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.partition(".")[0] in _RUNNING]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module] if (node.module or "").partition(".")[0] in _RUNNING else []
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in _CALLS:
                found.append(called.id)
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                whole = f"{called.value.id}.{called.attr}"
                found += [whole] if whole in ("np.load", "numpy.load", "np.fromfile") else []
        elif isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "shell"):
            found.append(node.arg)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_nothing_in_a_file_runs(path: Path) -> None:
    assert not running(path.read_text("utf-8"))


@pytest.mark.parametrize(
    "text", ["import pickle", "from marshal import loads", "eval('1')", "np.load(x, allow_pickle=True)"]
)
def test_what_runs_is_seen(text: str) -> None:
    assert running(text)
