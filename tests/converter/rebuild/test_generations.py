"""A rebuilt model that is rebuilt again does not change, however often."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from msh_gltf import import_gltf
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.converter.rebuild.nodes import make_run
from tests.support.foreign import Builder, quaternion

ALONE = ImportOptions(use_sidecar=False)


def exported(data: bytes, folder: Path) -> Path:
    (folder / "m.msh").write_bytes(data)
    loaded = load_file(folder / "m.msh", None, ExportOptions())
    for path, content in loaded.files(folder / "m.glb", ExportOptions()):
        path.write_bytes(content)
    return folder / "m.glb"


def stays(path: Path, folder: Path) -> None:
    first = import_gltf(path, options=ALONE).data
    again = first
    for _ in range(3):
        again = import_gltf(exported(again, folder), options=ALONE).data
        assert again == first


def foreign(seed: int, *, slow: bool) -> Builder:
    """Some bodies with turns of any size, curves with keys at even or uneven times."""
    rng = np.random.default_rng(seed)
    b = Builder()
    b.json["materials"] = [{"name": name} for name in "abc"]
    for i in range(3):
        body = trimesh.creation.icosphere(1)
        points = np.asarray(body.vertices, np.float32) * np.float32(rng.uniform(0.3, 30))
        sets = {"NORMAL": b.accessor(np.asarray(body.vertex_normals, np.float32))} if i else {}
        sets["TEXCOORD_0"] = b.accessor(rng.uniform(-3, 3, (len(points), 2)).astype(np.float32))
        mesh = b.mesh(points, np.asarray(body.faces).reshape(-1), attributes=sets, material=i)
        place = rng.uniform(-20, 20, 3).tolist()
        b.node(
            name=f"n{i}", mesh=mesh, translation=place, rotation=quaternion((*rng.normal(size=3),), rng.uniform(0, 6))
        )
        count = int(rng.integers(2, 40))
        even, uneven = np.arange(count) * int(rng.integers(1, 6)), np.sort(rng.choice(200, count, replace=False))
        seconds = (even if seed % 2 else uneven) / 24
        angles = np.cumsum(rng.uniform(0, 0.02 if slow else 0.6, count))
        axis = (*rng.normal(size=3),)
        b.clip(i, "rotation", seconds, [quaternion(axis, angle) for angle in angles])
        if i:
            b.clip(i, "translation", seconds, np.cumsum(rng.normal(size=(count, 3)), axis=0))
    b.json["nodes"][0]["children"] = [1]
    b.json["scenes"][0]["nodes"] = [0, 2]
    return b


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_foreign_models_settle_at_once(seed: int, slow: bool, tmp_path: Path) -> None:
    stays(foreign(seed, slow=slow).save(tmp_path), tmp_path)


def test_words_of_small_turns_are_those_that_they_lead_back_to() -> None:
    """Of words that show nearly the same pose the same ones are written again."""
    turns = np.random.default_rng(1).uniform(-0.01, 0.01, (20_000, 4))
    turns[:, 0] = 1
    places = np.zeros((len(turns), 3), np.float32)
    words = make_run(turns / np.linalg.norm(turns, axis=1)[:, None], places, 0, reduce=False).words
    stored = (words.astype(np.float32) * (np.float32(1) / np.float32(32767))).astype(float)
    shown = stored / np.linalg.norm(stored, axis=1)[:, None]
    again = make_run(shown.astype(np.float32).astype(float), places, 0, reduce=False).words
    assert np.array_equal(again, words)
