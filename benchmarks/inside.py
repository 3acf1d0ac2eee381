"""What the commands do inside, in this process: bytes to bytes, no files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks import floor, game, libraries, scalar_sampler
from benchmarks.commands import large_game
from benchmarks.measure import WORK, as_in_commands, by_turns, exponent, timed
from benchmarks.record import Row
from msh_gltf import read_models, to_glb
from msh_gltf.converter.formats.kinds import models_in
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.formats.terrain import read_terrain
from msh_gltf.converter.kinds.base import Source
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.model import LoadedModel
from msh_gltf.converter.numeric.pose import sample
from msh_gltf.converter.numeric.surfaces import neighbour_links
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.converter.queries.landscape import GROUND_NORMAL, TerrainQueries
from msh_gltf.converter.scene.dialect import Dialect, tracks
from tests.support.terrain_maker import make_terrain

Archives = list[tuple[Path, bytes]]
_PLAIN = ExportOptions(find_textures=False)  # materials are read from files


def archives(source: Path) -> Archives:
    """The archives of a game with models in them."""
    return [(path, path.read_bytes()) for path in sorted(source.glob("*.rlb"))]


def way_out(given: Archives) -> list[bytes]:
    """Every model of archives as a GLB."""
    out = []
    for path, data in given:
        archive = read_nres(data, path.name)
        for index in models_in(archive):
            loaded = LoadedModel.load(Source(path, archive, index), _PLAIN)
            [(_, glb)] = loaded.files(Path("model.glb"), _PLAIN, sidecar=False)
            out.append(glb)
    return out


def model_bytes(rounds: int) -> list[Row]:
    """435 models to GLB bytes, against the floor and other libraries."""
    given = archives(large_game())
    made = [libraries.parts(glb) for glb in way_out(given)]
    ready = [libraries.pieces(*document) for document in made]
    jobs = {
        "own": lambda: way_out(given),
        "floor": lambda: [floor.glb(m) for _, data in given for m in floor.models(data)],
        "pygltflib": lambda: [libraries.through_pygltflib(*document) for document in made],
        "trimesh": lambda: [libraries.through_trimesh(model) for model in ready],
    }
    with as_in_commands():
        times = by_turns({k: timed(job, process_time) for k, job in jobs.items()}, rounds)
    job, own = "435 models to GLB bytes, in process, processor", times["own"]
    saved, exported = "pygltflib, ready document", "trimesh, ready arrays"
    return [
        Row("bytes", job, own, "s", times["floor"], "floor", 2.4),
        Row("bytes-pygltflib", job, own, "s", times["pygltflib"], saved, 4, faster=True),
        Row("bytes-trimesh", job, own, "s", times["trimesh"], exported, 5, faster=True),
    ]


def api(rounds: int) -> list[Row]:
    """The models of a game through ``read_models`` and ``to_glb``, and how that grows with the archive."""
    files = sorted(large_game().glob("*.rlb"))

    def through(paths: list[Path]) -> None:
        for path in paths:
            for model in read_models(path):
                to_glb(model)

    jobs = {
        "own": timed(lambda: through(files), process_time),
        "floor": timed(lambda: [floor.glb(m) for path in files for m in floor.models(path.read_bytes())], process_time),
    }
    small = sorted(game.make(WORK / "api-game", 48).glob("*.rlb"))[0]
    sizes = (1, 4, 16, 64)
    for count in sizes:
        entries = read_nres(small.read_bytes(), small.name).entries * count
        path = WORK / f"api-{count}.rlb"
        path.write_bytes(write_nres(new_archive(entries, path.name)))
        jobs[path.name] = timed(partial(through, [path]), process_time)
    with as_in_commands():
        times = by_turns(jobs, rounds)
    grown = exponent(sizes, [times[f"api-{count}.rlb"] for count in sizes])
    return [
        Row("api", "435 models, read_models and to_glb, processor", times["own"], "s", times["floor"], "floor", 2.5),
        Row("api-growth", "exponent, an archive of 6 to 384 models", grown, "", aim=1.1),
    ]


def largest(rounds: int) -> list[Row]:
    """A model at the format's limits, both ways."""
    WORK.mkdir(exist_ok=True)
    entries = [game.entry(game.MESH, "largest.msh", game.largest_model())]
    given = [(Path("largest.rlb"), write_nres(new_archive(entries, "largest")))]
    file = WORK / "largest.glb"
    file.write_bytes(way_out(given)[0])
    rebuild = ImportOptions(use_sidecar=False)
    times = by_turns(
        {"out": timed(lambda: way_out(given)), "back": timed(lambda: import_gltf(file, None, rebuild))}, rounds
    )
    return [
        Row("largest", "65,000 triangles to GLB bytes, in process", times["out"]),
        Row("largest-back", "the same, rebuilt without its sidecar", times["back"]),
    ]


# ------------------------------------------------------------------ neighbour links

SIZES = (1000, 2000, 4000, 8000, 16000, 32000, 65000)


def torus(count: int) -> np.ndarray:
    """About ``count`` triangles of a closed grid in random order, (T, 3, 3) float32."""
    rows = int(np.sqrt(count / 2))
    columns = count // (2 * rows)
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")

    def point(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        u, v = 2 * np.pi * (a % rows) / rows, 2 * np.pi * (b % columns) / columns
        reach = 3 + np.cos(v)
        return np.stack([reach * np.cos(u), reach * np.sin(u), np.sin(v)], axis=-1)

    a, b, c, d = point(i, j), point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)
    quads = [np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)]
    triangles = np.concatenate(quads).reshape(-1, 3, 3).astype(np.float32)
    return np.random.default_rng(0).permutation(triangles)


def neighbours(rounds: int) -> list[Row]:
    """Neighbour links of one slot."""
    meshes = {size: torus(size) for size in SIZES}
    for corners in meshes.values():
        assert (neighbour_links(corners)[0] != 0xFFFF).all(), "a torus is closed"
    jobs = {str(size): timed(partial(neighbour_links, corners)) for size, corners in meshes.items()}
    times = by_turns(jobs, 3 * rounds)
    growth = exponent([len(corners) for corners in meshes.values()], list(times.values()))
    return [
        Row("neighbours", "neighbour links, 65,000 triangles", times["65000"], aim=0.05),
        Row("neighbours-growth", "exponent, 1,000 to 65,000", growth, "", aim=1.1),
    ]


# ------------------------------------------------------------------ sampling

NODES, TIMES, SCALAR_TIMES = 40, 10_000, 100


def sampling(rounds: int) -> list[Row]:
    """A model of 40 nodes at 10,000 times; the scalar reference at 100 of them, times 100."""
    model = read_model(read_nres(game.build(0, nodes=NODES, frames=200), "model"), "model.msh")
    curves = tracks(model, Dialect.RETAIL)
    assert curves is not None
    raw = {entry.type_id: bytes(entry.payload) for entry in model.archive.entries}
    reference = scalar_sampler.ScalarModel(raw[1], raw[8], raw[19], model.frame_count, True)
    times = np.random.default_rng(0).uniform(0, model.frame_count, TIMES).astype(np.float32)
    some = times[:: TIMES // SCALAR_TIMES].tolist()

    def scalar() -> list[list[scalar_sampler.Vector]]:
        return [[scalar_sampler.sample(reference, node, t)[0] for t in some] for node in range(NODES)]

    whole = sample(curves, range(NODES), some).quaternion
    assert np.array_equal(whole, np.array(scalar(), np.float32)), "the reference agrees"
    medians = by_turns({"own": timed(lambda: sample(curves, range(NODES), times)), "scalar": timed(scalar)}, rounds)
    slow = medians["scalar"] * TIMES / SCALAR_TIMES
    job, against = "sampling 40 nodes at 10,000 times", "scalar reference, 1 % x 100"
    return [Row("sampling", job, medians["own"], "s", slow, against, 50, faster=True)]


# ------------------------------------------------------------------ ground heights

POINTS, SEARCHED = 100_000, 1_000


def ground(rounds: int) -> list[Row]:
    """Heights at 100,000 points of a terrain, against a search over all faces at 1,000."""
    terrain = read_terrain(read_nres(make_terrain(0, across=8, down=8, steps=8), "Land"), "Land.msh")
    low, high = (f(terrain.positions[:, :2], axis=0) for f in (np.min, np.max))
    points = np.random.default_rng(1).uniform(low, high, (POINTS, 2))
    corner = terrain.positions[terrain.faces["vertex"][: 2 * 64 * 64]].astype(np.float64)
    corner = corner[terrain.faces["normal"][: len(corner), 2] / 32767 > GROUND_NORMAL]

    def search() -> np.ndarray:
        return np.concatenate([_highest(corner, p) for p in np.split(points[:SEARCHED], 20)])

    found, _ = TerrainQueries(terrain).height_at(points[:SEARCHED])
    assert np.allclose(found, search(), rtol=0, atol=1e-6)
    own = timed(lambda: TerrainQueries(terrain).height_at(points))
    medians = by_turns({"own": own, "search": timed(search)}, rounds)
    slow = medians["search"] * POINTS / SEARCHED
    job, against = "ground heights, 100,000 points", "search of all faces, 1 % x 100"
    return [Row("ground", job, medians["own"], "s", slow, against, 50, faster=True)]


def _highest(corner: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Heights of the highest of all faces at points; blocks of points fit the caches."""
    a, first, second = corner[:, 0], corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    away = points[:, None] - a[None, :, :2]
    u = (away[..., 0] * second[:, 1] - away[..., 1] * second[:, 0]) / area
    v = (first[:, 0] * away[..., 1] - first[:, 1] * away[..., 0]) / area
    inside = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
    height = a[:, 2] + u * first[:, 2] + v * second[:, 2]
    return np.asarray(np.where(inside, height, -np.inf).max(axis=1))
