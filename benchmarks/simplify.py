"""Compare ways to make levels of detail: triangles, error, and what happens to borders and attributes.

    python -m benchmarks.simplify [MODEL.msh ...] [--ratios 0.5,0.25]

Every part of level 0 of every model (without models: seven smooth meshes) is simplified by each method that is
installed. The error is the largest distance from either surface to the other, sampled at vertices, edge midpoints
and centres, relative to the diagonal of the part's box. Columns: triangles left in all, error of parts (median, 95
%, worst), parts with a vertex that is not an original one, seconds.

    pip install meshoptimizer pyfqmr fast-simplification

Results: docs/decisions/0031-generated-levels.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.numeric.arrays import surface_distance
from msh_gltf.converter.rebuild.lods import TRIES, Simplifier
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect, decide

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
#: Points (V, 3), faces (F, 3), material of each face (F,), triangles wanted -> points, faces.
Method = Callable[[F64, I64, I64, int], tuple[F64, I64]]


def parts(paths: list[Path]) -> Iterator[tuple[F64, I64, I64]]:
    """Parts of level 0, welded by position: points, faces, material of each face."""
    for path in paths:
        model = read_model(read_nres(path.read_bytes(), path.name), path.name)
        dialect = decide(model).dialect
        scene = decode(model, dialect, path.stem)
        for part in scene.parts:
            if (part.group if dialect is Dialect.RETAIL else part.lod) or scene.legacy:
                continue
            corners, materials = [], []
            for p in scene.meshes[part.mesh].primitives:
                corners.append(
                    scene.streams.indices[p.index_start :][: p.index_count].astype(np.int64) + p.vertex_start
                )
                materials.append(np.full(p.index_count // 3, p.material))
            points, inverse = np.unique(
                scene.streams.positions[np.concatenate(corners)].astype(np.float64), axis=0, return_inverse=True
            )
            faces, material = inverse.reshape(-1, 3), np.concatenate(materials)
            whole = (faces != np.roll(faces, 1, 1)).all(1)
            if np.count_nonzero(whole) >= 8:
                yield points, faces[whole], material[whole]


def smooth() -> Iterator[tuple[F64, I64, I64]]:
    """Seven smooth meshes of one material: two spheres, a torus, a capsule, a cone, an open sheet, a rough rock."""
    import trimesh

    made = trimesh.creation
    rock = made.icosphere(3)
    rock.vertices *= 1 + 0.08 * np.sin(7 * rock.vertices).sum(axis=1, keepdims=True)
    at = np.stack(np.meshgrid(np.arange(21), np.arange(21), indexing="ij"), axis=-1).reshape(-1, 2) / 20
    corner = (21 * np.arange(20)[:, None] + np.arange(20)).reshape(-1, 1, 1)
    sheet = trimesh.Trimesh(
        np.column_stack([at, 0.1 * np.sin(6 * at[:, 0]) * np.cos(5 * at[:, 1])]),
        (corner + np.array([[0, 21, 1], [1, 21, 22]])).reshape(-1, 3),
        process=False,
    )
    meshes = (
        made.icosphere(3),
        made.uv_sphere(count=[16, 24]),
        made.torus(1.0, 0.3, major_sections=32, minor_sections=16),
        made.capsule(height=1.0, radius=0.5, count=[16, 24]),
        made.cone(1.0, 2.0, sections=48).subdivide().subdivide(),
        sheet,
        rock,
    )
    for mesh in meshes:
        faces = np.asarray(mesh.faces, np.int64)
        yield np.asarray(mesh.vertices, np.float64), faces, np.zeros(len(faces), np.int64)


def by_material(simplify: Callable[[F64, I64, int], tuple[F64, I64]]) -> Method:
    """Simplify the faces of each material by themselves."""

    def method(points: F64, faces: I64, material: I64, wanted: int) -> tuple[F64, I64]:
        out_points, out_faces, start = [], [], 0
        for one in np.unique(material):
            own = faces[material == one]
            used, inverse = np.unique(own, return_inverse=True)
            share = max(4, wanted * len(own) // len(faces))
            made = (points[used], inverse.reshape(-1, 3))
            if len(own) > share:
                made = simplify(*made, share)
            out_points.append(made[0])
            out_faces.append(made[1] + start)
            start += len(made[0])
        return np.concatenate(out_points), np.concatenate(out_faces)

    return method


def fast_simplification(points: F64, faces: I64, wanted: int) -> tuple[F64, I64]:
    """What the converter used before; it has no locked borders."""
    import fast_simplification as library

    made = library.simplify(points, faces, target_count=wanted)
    return np.asarray(made[0], np.float64), np.asarray(made[1], np.int64)


def pyfqmr(points: F64, faces: I64, wanted: int) -> tuple[F64, I64]:
    """Borders are kept by ``preserve_border``."""
    import pyfqmr as library

    mesh = library.Simplify()
    mesh.setMesh(points, faces)
    mesh.simplify_mesh(target_count=wanted, preserve_border=True, verbose=False)
    found = mesh.getMesh()
    return np.asarray(found[0], np.float64), np.asarray(found[1], np.int64)


def meshoptimizer(points: F64, faces: I64, wanted: int) -> tuple[F64, I64]:
    """Vertices from the original set; ``LOCK_BORDER``."""
    import meshoptimizer as library

    index = faces.reshape(-1).astype(np.uint32)
    out = np.zeros_like(index)
    count = library.simplify(
        out,
        index,
        points.astype(np.float32),
        target_index_count=3 * wanted,
        target_error=1.0,
        options=library.SIMPLIFY_LOCK_BORDER,
    )
    return points, out[:count].reshape(-1, 3).astype(np.int64)


def own(limit: float) -> Method:
    """The converter's own: all materials of a part at once; again with half the room until each is within the bound."""

    def method(points: F64, faces: I64, material: I64, wanted: int) -> tuple[F64, I64]:
        bound = limit * diagonal(points)
        room = bound
        for _ in range(TRIES):
            made = Simplifier(points, faces, material, room)
            left, before = faces_of(made, wanted), points[faces]
            of = material[made.alive]
            if all(
                surface_distance(before[material == i], points[left[of == i]]) <= bound for i in np.unique(material)
            ):
                return points, left
            room /= 2
        return points, faces

    return method


def faces_of(made: Simplifier, wanted: int) -> I64:
    """The faces that are left."""
    made.reduce(wanted)
    return made.faces[made.alive]


def diagonal(points: F64) -> float:
    """Of the box of some points."""
    return float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0


def main() -> None:
    """Print one row for each method and ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", type=Path, help="by default seven smooth meshes")
    parser.add_argument("--ratios", default="0.5,0.25")
    options = parser.parse_args()
    found = list(parts(options.models) if options.models else smooth())
    total = sum(len(faces) for _, faces, _ in found)
    print(f"{len(found)} parts of {len(options.models)} models, {total:,} triangles")
    methods: dict[str, Method] = {}
    for name, function in (
        ("fast_simplification", fast_simplification),
        ("pyfqmr", pyfqmr),
        ("meshoptimizer", meshoptimizer),
    ):
        if find_spec(name):
            methods[name] = by_material(function)
    methods |= {"own, no bound": own(np.inf), "own, 5 %": own(0.05), "own, 2 %": own(0.02)}
    print(f"{'method':22}{'ratio':>6}{'triangles':>11}{'median':>9}{'95 %':>9}{'worst':>9}{'moved':>7}{'seconds':>9}")
    for ratio in map(float, options.ratios.split(",")):
        for name, method in methods.items():
            errors, left, moved, started = [], 0, 0, time.perf_counter()
            made = [method(*part, max(4, int(len(part[1]) * ratio))) for part in found]
            seconds = time.perf_counter() - started
            for (points, faces, _), (new_points, new_faces) in zip(found, made, strict=True):
                left += len(new_faces)
                known = set(map(tuple, points.tolist()))
                moved += any(tuple(p) not in known for p in new_points[np.unique(new_faces)].tolist())
                away = surface_distance(points[faces], new_points[new_faces])
                errors.append(min(away, 1e9) / diagonal(points))  # inf: nothing is left
            median, high, worst = np.quantile(errors, [0.5, 0.95, 1.0])
            print(f"{name:22}{ratio:6.2f}{left:11,}{median:9.4f}{high:9.4f}{worst:9.4f}{moved:7}{seconds:9.2f}")


if __name__ == "__main__":
    main()
