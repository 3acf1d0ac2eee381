"""Edited entries by the project's own importer, and what their files are checked by."""

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from msh_gltf.converter.checks.model import check_model, check_model_further
from msh_gltf.converter.checks.terrain import check_terrain, check_terrain_further
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import read_terrain
from msh_gltf.converter.game.changes import unpack_changes
from msh_gltf.converter.game.differences import make_exactly
from msh_gltf.converter.game.packing import decode_delta, unpack
from msh_gltf.converter.game.split import Table, split
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.dialect import decide
from tests.support.gltf_edit import Editable
from tests.support.random_edits import EDITS, Edited, NotHere
from tests.support.runs import convert

#: A stretch of so many bytes, of more values than these, is what somebody made.
WINDOW, FEW = 64, 8


@cache
def _exported(path: Path) -> tuple[Path, TemporaryDirectory[str]]:
    folder = TemporaryDirectory()
    return convert(path, Path(folder.name) / "first.glb"), folder


def _imported(path: Path, document: Editable) -> bytes:
    first = _exported(path)[0]
    document.save(first.with_name("edited.glb"))
    sidecar = first.with_suffix(".msh-sidecar")
    options = ImportOptions(allow_delete=True)
    return bytes(import_gltf(first.with_name("edited.glb"), sidecar, options).data)


@cache
def edited_model(path: Path, kind: str, seed: int) -> bytes | None:
    """A model after one random edit; ``None`` where it has no place for it."""
    document = Edited(_exported(path)[0])
    try:
        EDITS[kind](document, np.random.default_rng(seed))
        data = _imported(path, document)
    except (NotHere, ConversionError):
        return None
    return data if data != path.read_bytes() else None


@cache
def edited_terrain(path: Path, seed: int, count: int = 3) -> bytes:
    """A terrain some of whose vertices are higher."""
    document = Editable(_exported(path)[0])
    chance = np.random.default_rng(seed)
    attributes = document.json["meshes"][0]["primitives"][0]["attributes"]
    positions = document.arrays[attributes["POSITION"]]
    rows = chance.choice(len(positions), count, replace=False)
    positions[rows, 1] += chance.uniform(1, 40, count).astype(np.float32)
    return _imported(path, document)


def findings_of(data: bytes) -> Counter[tuple[str, str | None]]:
    """Codes and tables of what is found about a model or a terrain, and how often."""
    archive = read_nres(data, "x")
    if 6 in archive.type_ids:
        model = read_model(archive, "x")
        found = check_model(model) + check_model_further(model, decide(model))
    else:
        terrain = read_terrain(archive, "x")
        found = check_terrain(terrain) + check_terrain_further(terrain)
    return Counter((one.code, one.table) for one in found)


# ------------------------------------------------------------------ what a difference holds


def bare(diff: bytes, before: bytes) -> list[bytes]:
    """What a difference makes of its base set to zero, and what it holds."""
    packed = unpack(diff)
    if packed.description["kind"] == "new":
        return [bytes(packed.payload)]
    if packed.description["kind"] != "tables":
        return [decode_delta(packed.payload, bytes(len(before)), packed.size)]
    changes = unpack_changes(packed.description, packed.payload)
    tables = split(changes.content, before)
    assert tables is not None
    out = [bytes(packed.payload)]
    for key, change in changes.rows.items():
        table = tables.tables[key]
        sizes = None if change.stride else tuple(map(len, table.lines))
        zeros = Table(bytes(len(table.data)), change.stride, sizes)
        out.append(change.written(zeros, np.ones(len(change.rows), np.bool_)))
    for key, blob in changes.blobs.items():
        out.append(decode_delta(blob.delta, bytes(len(tables.tables[key].data)), blob.size))
    made = make_exactly(replace(changes, layout=b""), before, 0)
    if changes.layout:
        out.append(decode_delta(changes.layout, bytes(len(made)), packed.size))
    return out


def repeats(data: bytes, base: bytes) -> bool:
    """Whether 64 bytes with more than eight values are 64 bytes of the base, window by window."""
    windows = {base[i : i + WINDOW] for i in range(len(base) - WINDOW + 1)}
    for i in range(len(data) - WINDOW + 1):
        window = data[i : i + WINDOW]
        if window in windows and len(set(window)) > FEW:
            return True
    return False
