"""Large fake games, built from nothing: about 435 models, 240,000 triangles, 15,000 batches.

    python -m benchmarks.game OUT_DIR

The figures follow what readers counted in the retail game: 1,845 nodes, 34,049 keys, a few large
models and many small ones, in a dozen archives beside files of other kinds. The same every time.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

from msh_gltf.converter.edits.clips import choose_clip
from msh_gltf.converter.edits.nodes import identify
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.kinds import models_in
from msh_gltf.converter.formats.model import model_at, write_model
from msh_gltf.converter.formats.nres import NRES_ENTRY_DTYPE, NRES_HEADER_DTYPE, Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.rebuild.model import new_model
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import (
    Channel,
    ImportedNode,
    ImportedScene,
    Material,
    Mesh,
    Primitive,
    Streams,
    Track,
)
from tests.support.terrain_maker import make_terrain

MODELS = 435
LEVELS = 33
ARCHIVES = ("static", "system", "bases", "fortif", "turrets", "guns", "intsys", "animals", "bots")
MESH, _WEAR, TEXM = (int.from_bytes(code, "little") for code in (b"MESH", b"WEAR", b"Texm"))


def patch(chance: np.random.Generator, triangles: int) -> tuple[np.ndarray, ...]:
    """A bumpy sheet of about that many triangles: positions, normals, uv, indices."""
    columns = max(1, int(np.sqrt(triangles / 2)))
    rows = max(1, triangles // (2 * columns))
    u, v = np.meshgrid(np.arange(columns + 1), np.arange(rows + 1))
    height = chance.normal(0, 0.3, u.shape)
    points = np.stack([u, v, height], axis=-1).reshape(-1, 3) + chance.normal(0, 3, 3)
    normals = chance.normal((0, 0, 1), 0.2, points.shape)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    corner = (v[:-1, :-1] * (columns + 1) + u[:-1, :-1]).reshape(-1)
    across = corner + columns + 1
    faces = np.stack([corner, corner + 1, across + 1, corner, across + 1, across], axis=1)
    return (
        points.astype(np.float32),
        normals.astype(np.float32),
        (points[:, :2] / 4).astype(np.float32),
        faces.reshape(-1).astype(np.uint32),
    )


def build(seed: int, nodes: int | None = None, frames: int | None = None) -> bytes:
    """One model's bytes; with a number of frames it is animated."""
    chance = np.random.default_rng(seed)
    nodes = nodes or 1 + int(chance.poisson(3.1))
    size = 14 * float(chance.lognormal(0, 0.6))
    streams: list[tuple[np.ndarray, ...]] = []
    meshes, items, tracks = [], [], []
    vertices = indices = 0
    length, moves = int(chance.integers(20, 60)), chance.random() < 0.55
    animated, frames = moves or frames is not None, frames or length
    for node in range(nodes):
        turn = chance.normal(0, 1, 4)
        items.append(
            ImportedNode(
                f"node_{node}",
                int(chance.integers(0, node)) if node else -1,
                chance.normal(0, 2, 3).astype(np.float32),
                turn / np.linalg.norm(turn),
                None,
                -1,
                {},
            )
        )
    for node in range(nodes):
        for lod in range(int(chance.choice([1, 2, 3], p=[0.35, 0.3, 0.35]))):
            primitives = []
            for _ in range(1 + int(chance.poisson(4.0))):
                made = patch(chance, max(2, int(size * chance.lognormal(0, 0.5) / (1 + lod / 2))))
                streams.append(made)
                material = int(chance.integers(0, 8))
                primitives.append(Primitive(material, vertices, len(made[0]), indices, len(made[3])))
                vertices += len(made[0])
                indices += len(made[3])
            meshes.append(Mesh(f"node_{node}.lod{lod}.group0", primitives))
            if lod == 0:
                items[node].mesh = len(meshes) - 1
            else:
                still = np.array([1.0, 0, 0, 0])
                name = f"node_{node}.lod{lod}.group0"
                items.append(ImportedNode(name, node, np.zeros(3, "<f4"), still, None, len(meshes) - 1, {}))
        if animated and node:
            times = np.arange(0.0, frames)
            turns = np.cumsum(chance.normal(0, 0.3, (frames, 4)), axis=0)
            turns[:, 0] += 5
            turns /= np.linalg.norm(turns, axis=1, keepdims=True)
            tracks.append(Track(node, rotation=Channel(times, turns)))
    return msh(f"model_{seed:03}", items, meshes, streams, tracks)


def msh(
    name: str,
    items: list[ImportedNode],
    meshes: list[Mesh],
    streams: list[tuple[np.ndarray, ...]],
    tracks: list[Track],
    materials: int = 8,
) -> bytes:
    """A core model's bytes; ``streams`` are patches, one after the other."""
    positions, normals, uv, indices = (np.concatenate(arrays) for arrays in zip(*streams, strict=True))
    given = ImportedScene(
        name,
        {},
        nodes=items,
        meshes=meshes,
        streams=Streams(positions, indices, normals, uv),
        materials=[material(i) for i in range(materials)],
        tracks=tracks,
    )
    identified = identify(given, None, (0, 0))
    choose_clip(identified, None, ImportOptions())  # puts the tracks on their nodes
    lengths = [len(track.rotation.frames) for track in tracks if track.rotation is not None]
    identified.scene.frame_count = max(lengths, default=1)
    built = new_model(identified, f"{name}.msh", Dialect.RETAIL, reduce=False)
    return write_model(built.model)


def material(number: int) -> Material:
    """A material unlike any other."""
    row, lightmap = number % 256, 255 - number // 256
    return Material(f"material_{row}", row, lightmap, 0, 0, row | lightmap << 8, 0xFFFF)


def entry(type_id: int, name: str, payload: bytes) -> Entry:
    return Entry(type_id, 0, 0, 0, name_field(name.encode()), 0, 0, payload)


def wear(rows: int = 8) -> bytes:
    """The names of materials."""
    lines = [f"{rows}", *(f"{i} MATERIAL_{i}" for i in range(rows)), ""]
    return "\r\n".join(lines).encode()


def made_once(root: Path) -> bool:
    """Whether a game is there already; if not, what is left of it is gone."""
    if (root / "complete").is_file():
        return True
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    return False


def make(root: Path, models: int = MODELS) -> Path:
    """Build the game below a directory, unless it is there; returns it."""
    if made_once(root):
        return root
    for at, name in enumerate(ARCHIVES):
        entries = []
        for seed in range(at, models, len(ARCHIVES)):
            entries.append(entry(MESH, f"model_{seed:03}.msh", build(seed)))
            entries.append(entry(_WEAR, f"model_{seed:03}.wea", wear()))
        (root / f"{name}.rlb").write_bytes(write_nres(new_archive(entries, name)))
    (root / "textures.lib").write_bytes(textures(1000, 16384))
    (root / "complete").touch()
    return root


def textures(count: int, size: int, entries: list[Entry] | None = None) -> bytes:
    """An archive of noise that is called textures, after other entries."""
    chance = np.random.default_rng(0)
    noise = [entry(TEXM, f"tex_{i:04}.0", chance.bytes(size)) for i in range(count)]
    return write_nres(new_archive([*(entries or []), *noise], "textures"))


def make_with_levels(root: Path, game: Path) -> Path:
    """The same game with 33 levels: terrains of 275,000 faces in all."""
    if made_once(root):
        return root
    shutil.copytree(game, root, ignore=shutil.ignore_patterns("complete"), dirs_exist_ok=True)
    for number in range(LEVELS):
        level = root / "DATA" / "MAPS" / f"LEVEL_{number:02}"
        level.mkdir(parents=True)
        (level / "Land.msh").write_bytes(make_terrain(number, across=8, down=8, steps=8))
        for name in ("Land1.wea", "Land2.wea"):
            (level / name).write_bytes(wear())
    (root / "complete").touch()
    return root


def make_in_one(root: Path, game: Path) -> Path:
    """The same models in one archive, after 300 MB of textures: who holds it, is seen."""
    if made_once(root):
        return root
    entries = []
    for path in sorted(game.glob("*.rlb")):
        archive = read_nres(read_file(path), path.name)
        entries += [entry(e.type_id, e.name, bytes(e.payload)) for e in archive.entries]
    (root / "all.rlb").write_bytes(textures(1200, 250_000, entries))
    (root / "complete").touch()
    return root


def make_tenfold(root: Path, game: Path) -> Path:
    """Ten copies of every archive: 4,350 models."""
    if made_once(root):
        return root
    for path in sorted(game.glob("*.rlb")):
        for copy in range(10):
            shutil.copy(path, root / f"{path.stem}_{copy}.rlb")
    (root / "complete").touch()
    return root


def make_film(root: Path, model: Path, size: int = 1 << 30) -> Path:
    """One model in an archive, and an entry of 1 GB that is not one, of zeros (a sparse file)."""
    if made_once(root):
        return root
    made = new_archive([entry(MESH, "a.msh", model.read_bytes()), entry(7, "film", b"")], "film")
    data = write_nres(made)
    directory = len(data) - 2 * NRES_ENTRY_DTYPE.itemsize
    rows = np.frombuffer(data[directory:], NRES_ENTRY_DTYPE).copy()
    rows["size"][1], rows["data_offset"][1] = size, directory
    header = np.frombuffer(data[: NRES_HEADER_DTYPE.itemsize], NRES_HEADER_DTYPE).copy()
    header["total_size"] += size
    with (root / "film.rlb").open("wb") as file:
        file.write(header.tobytes() + data[NRES_HEADER_DTYPE.itemsize : directory])
        file.seek(size, 1)
        file.write(rows.tobytes())
    (root / "complete").touch()
    return root


def largest_model() -> bytes:
    """A model at the format's limit, which is 65,535 triangles in all (triStart has 16 bits)."""
    chance = np.random.default_rng(0)
    still = np.array([1.0, 0, 0, 0])
    items, meshes, streams = [], [], []
    vertices = indices = 0
    for node, sizes in enumerate([[8_190] * 4, [16_383], [16_383]]):
        primitives = []
        for size in sizes:
            made = patch(chance, size)
            streams.append(made)
            primitives.append(Primitive(0, vertices, len(made[0]), indices, len(made[3])))
            vertices, indices = vertices + len(made[0]), indices + len(made[3])
        meshes.append(Mesh(f"node_{node}", primitives))
        step = np.array([0, 0, node], np.float32)
        items.append(ImportedNode(f"node_{node}", node - 1, step, still, None, node, {}))
    return msh("largest", items, meshes, streams, [], 1)


def largest_entry(path: Path) -> int:
    """Size of the largest entry of an archive."""
    return max(e.size for e in read_nres(read_file(path), path.name).entries)


def count(root: Path) -> dict[str, int]:
    """What a game holds."""
    totals = dict.fromkeys(("models", "nodes", "batches", "triangles", "keys", "bytes"), 0)
    for path in sorted(root.glob("*.rlb")):
        archive = read_nres(read_file(path), path.name)
        for index in models_in(archive):
            model = model_at(archive, index, path.name)
            totals["models"] += 1
            totals["nodes"] += len(model.nodes)
            totals["batches"] += len(model.batches)
            totals["triangles"] += len(model.indices) // 3
            totals["keys"] += 0 if model.keys is None else len(model.keys)
            totals["bytes"] += archive.entries[index].size
    return totals


if __name__ == "__main__":
    print(count(make(Path(sys.argv[1]))))
