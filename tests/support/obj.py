"""OBJ files for tests: ours, and some by hand."""

from pathlib import Path

import numpy as np

from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.obj import obj_files
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.scene import ImportedScene
from tests.support.corpus import Sample

ANIMATED = "retail__odd__s_rock_009"


def to_obj(
    sample: Sample, target: Path, *, lod: int = 0, group: int = 0, frame: float = 0, up: str = "y", sidecar: bool = True
) -> Path:
    options = ExportOptions(dialect=sample.dialect, lod=lod, group=group)
    loaded = load_file(sample.path, sample.entry, options)
    for path, data in obj_files(loaded, target, options=options, frame=frame, up=up, sidecar=sidecar):
        path.write_bytes(data)
    return target


def triangles(given: ImportedScene, item: int = 0) -> np.ndarray:
    """(T, 3, 3) positions of an item, in the order of the file's primitives."""
    out = []
    for p in given.meshes[given.nodes[item].mesh].primitives:
        index = given.streams.indices[p.index_start : p.index_start + p.index_count]
        out.append(given.streams.positions[index.astype(int) + p.vertex_start])
    return np.concatenate(out).reshape(-1, 3, 3)


SQUARE = "v 0 0 0\nv 1 0 0\nv 1 0 -1\nv 0 0 -1\n"  # in game axes x and y run from 0 to 1


def as_blender_writes(text: str) -> str:
    """Six decimals of positions and texture coordinates, four of normals, header gone, objects
    sorted, face order and corner order changed."""
    pools: dict[str, list[str]] = {"v": [], "vt": [], "vn": []}
    objects: dict[str, list[str]] = {}
    name = material = ""
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word in pools:
            digits = 4 if word == "vn" else 6
            numbers = " ".join(f"{float(n):.{digits}f}" for n in rest.split())
            pools[word].append(f"{word} {numbers}")
        elif word == "o":
            name = rest
        elif word == "f":
            a, b, c = rest.split()
            objects.setdefault(name, []).insert(0, f"f {b} {c} {a}")
            objects[name].insert(0, material)
        elif word == "usemtl":
            material = line
    out = ["# Blender", *pools["v"], *pools["vt"], *pools["vn"]]
    for name in sorted(objects):
        out += [f"o {name}", "s 1", *objects[name]]
    return "\n".join(out) + "\n"
