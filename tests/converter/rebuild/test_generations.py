"""A rebuilt model that is rebuilt again does not change, however often."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf import import_gltf
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.rebuild.nodes import make_run
from tests.converter.edits.test_scaled_animation import EVEN, random_file
from tests.support.foreign import Builder, quaternion
from tests.support.runs import convert

ALONE = ImportOptions(use_sidecar=False)


def exported(data: bytes, folder: Path) -> Path:
    (folder / "m.msh").write_bytes(data)
    return convert(folder / "m.msh", folder / "m.glb")


def stays(path: Path, folder: Path) -> None:
    first = import_gltf(path, options=ALONE).data
    again = first
    for _ in range(3):
        again = import_gltf(exported(again, folder), options=ALONE).data
        assert again == first


@pytest.mark.parametrize("kind", ["LINEAR", "STEP", "CUBICSPLINE"])
@pytest.mark.parametrize("seed", range(3))
def test_foreign_models_settle_at_once(seed: int, kind: str, tmp_path: Path) -> None:
    stays(random_file(tmp_path, np.random.default_rng(seed), EVEN, kind), tmp_path)


@pytest.mark.parametrize("slow", [False, True])
def test_turns_at_uneven_times_settle_at_once(slow: bool, tmp_path: Path) -> None:
    chance, b = np.random.default_rng(5), Builder()
    angles = np.cumsum(chance.uniform(0, 0.02 if slow else 0.6, 40))
    b.node(name="n", mesh=b.mesh(), children=[1])
    b.node(name="m", mesh=b.mesh(), translation=[1, 2, 3])
    for node in (0, 1):
        seconds = np.sort(chance.choice(200, 40, replace=False)) / 24
        b.clip(node, "rotation", seconds, [quaternion((1, 2, 3 + node), angle) for angle in angles])
    stays(b.save(tmp_path), tmp_path)


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
