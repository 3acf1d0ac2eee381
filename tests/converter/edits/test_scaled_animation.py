"""Animation of and below scaled and mirrored nodes: every vertex is where the file shows it.

The file, and the export of the model that comes out, are evaluated by plain matrices (``tests.support.gltf_shown``).
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.support.foreign import Builder
from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import Shown, moved
from tests.support.rebuilt import ALONE
from tests.support.runs import convert

FRAMES = 7
SHAPE = np.array([[0, 0, 0], [1, 0, 0], [0, 0.5, 0], [0.2, 0.1, 0.7]], np.float32)
FACES = (0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3)
MIRRORS = [(-1, 1, 1), (-1, 1, -1), (-1, -1, -1), (1, -1, 1), (-2, 2, 2), (0.5, 0.5, -0.5)]
EVEN = [(1, 1, 1), (2, 2, 2), *MIRRORS]
UNEVEN = [*EVEN[:3], (1, 2, 1), (1, 1, -3)]


def corners(shown: Shown, seconds: float) -> np.ndarray:
    """(N, 3) corners of all triangles at a time."""
    poses = shown.poses(seconds)
    return np.concatenate([moved(shown.mesh(i), poses[i]).corners.reshape(-1, 3) for i in shown.drawn])


def assert_same_places(path: Path, back: ImportResult, fps: float = 24) -> None:
    """Every vertex of the file is near one of the model, and the other way round."""
    (made := path.with_name("made.msh")).write_bytes(back.data)
    given, shown = (
        Shown(Editable(one)) for one in (path, convert(made, made.with_suffix(".glb"), dialect=back.dialect))
    )
    for frame in range(FRAMES):
        a, b = corners(given, frame / fps), corners(shown, frame / 24)
        near = 2e-3 * max(1.0, float(np.abs(a).max()))
        away = max(cKDTree(a).query(b)[0].max(), cKDTree(b).query(a)[0].max())
        assert away < near, f"frame {frame}: {away:.3g} away"


def random_file(folder: Path, rng: np.random.Generator, scales: list[Any], kind: str, fps: float = 24) -> Path:
    """A tree of five nodes, some scaled, some animated."""
    builder = Builder()
    for i in range(5):
        children = {0: [1, 2], 1: [3], 3: [4]}.get(i, [])
        turn = rng.normal(size=4)
        builder.node(
            name=f"n{i}",
            mesh=builder.mesh(SHAPE * (i + 1), FACES),
            translation=rng.normal(size=3).tolist(),
            rotation=(turn / np.linalg.norm(turn)).tolist(),
            scale=list(scales[rng.integers(len(scales))]),
            **({"children": children} if children else {}),
        )
    keys = np.arange(FRAMES) if kind == "LINEAR" else np.arange(0, FRAMES, 3)
    count = len(keys) * (3 if kind == "CUBICSPLINE" else 1)
    for i in range(5):
        if rng.random() < 0.6:
            builder.clip(i, "translation", keys / fps, rng.normal(size=(count, 3)), kind)
        if rng.random() < 0.6:
            turns = rng.normal(size=(count, 4)) + np.array([0, 0, 0, 3])
            whole = slice(1, None, 3) if kind == "CUBICSPLINE" else slice(None)
            turns[whole] /= np.linalg.norm(turns[whole], axis=1)[:, None]
            builder.clip(i, "rotation", keys / fps, turns, kind)
    return builder.save(folder)


@pytest.mark.parametrize("kind", ["LINEAR", "STEP", "CUBICSPLINE"])
@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from([24, 25, 30, 50, 60]), st.booleans())
def test_every_place_is_shown(kind: str, seed: int, fps: float, uneven: bool) -> None:
    """Uneven scales convert exactly, or are refused."""
    rate = fps if kind == "LINEAR" else 24  # other keys are not on every frame
    with TemporaryDirectory() as folder:
        path = random_file(Path(folder), np.random.default_rng(seed), UNEVEN if uneven else EVEN, kind, rate)
        refused = ""
        try:
            back = import_gltf(path, None, ALONE)
            assert back.timing is None or back.timing.fps == rate
            assert_same_places(path, back, rate)
        except ConversionError as error:
            refused = str(error)
        assert not refused or (uneven and "uneven scale" in refused)
