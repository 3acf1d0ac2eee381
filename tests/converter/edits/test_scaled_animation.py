"""Animation of and below scaled and mirrored nodes: every vertex is where the file shows it.

The file is evaluated by plain matrices here, the model that comes out by the runtime's sampler.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.numeric.pose import sample
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect, tracks
from tests.support.foreign import Builder
from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import curve
from tests.support.gltf_view import TO_GAME, trs

FRAMES = 7
ALONE = ImportOptions(use_sidecar=False)
SHAPE = np.array([[0, 0, 0], [1, 0, 0], [0, 0.5, 0], [0.2, 0.1, 0.7]], np.float32)
FACES = (0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3)
MIRRORS = [(-1, 1, 1), (-1, 1, -1), (-1, -1, -1), (1, -1, 1), (-2, 2, 2), (0.5, 0.5, -0.5)]
EVEN = [(1, 1, 1), (2, 2, 2), *MIRRORS]
WALKER = Path(__file__).parents[3] / "examples" / "walker.msh"


# ------------------------------------------------------------------ reference


def file_points(document: Editable, frame: float, fps: float = 24) -> np.ndarray:
    """(N, 3) corners that a file's first scene shows at a frame, game axes; no other LODs, which
    Blender exports beside the first."""
    json = document.json
    posed: dict[int, dict[str, Any]] = {}
    for clip in json.get("animations", []):
        for channel in clip["channels"]:
            sampler = clip["samplers"][channel["sampler"]]
            times, values = (document.arrays[sampler[name]].astype(np.float64) for name in ("input", "output"))
            node, path = channel["target"]["node"], channel["target"]["path"]
            kind = sampler.get("interpolation", "LINEAR")
            posed.setdefault(node, {})[path] = curve(times[:, 0], values, kind, path, frame / fps)
    points = []

    def visit(index: int, above: np.ndarray) -> None:
        node = json["nodes"][index] | posed.get(index, {})
        here = above @ trs(node)
        if "mesh" in node and not re.search(r"\.(lod|stage|level)\d|\.view", node.get("name", "")):
            for primitive in json["meshes"][node["mesh"]]["primitives"]:
                corners = document.arrays[primitive["attributes"]["POSITION"]].astype(np.float64)
                points.append(corners @ here[:3, :3].T + here[:3, 3])
        for child in node.get("children", []):
            visit(child, here)

    for root in json["scenes"][json.get("scene", 0)]["nodes"]:
        visit(root, np.eye(4))
    return np.concatenate(points) @ TO_GAME.T


def model_points(data: bytes, dialect: str, frame: float) -> np.ndarray:
    """(N, 3) vertices of level 0, group 0, where the runtime draws them at a frame."""
    model = read_model(read_nres(data, "m"), "m")
    scene = decode(model, Dialect(dialect), "m")
    keys = tracks(model, Dialect(dialect))
    assert keys is not None
    poses = sample(keys, range(len(scene.nodes)), [frame])
    world: list[np.ndarray] = []
    for node, q, p in zip(scene.nodes, poses.quaternion[:, 0], poses.position[:, 0], strict=True):
        w, x, y, z = q  # the engine's matrix is the transpose of the textbook one
        local = trs({"translation": p, "rotation": [-x, -y, -z, w] if np.any(q) else [0, 0, 0, 1]})
        world.append(world[node.parent] @ local if node.parent >= 0 else local)
    points = []
    for part in scene.parts:
        if (part.lod, part.group) == (0, 0) and not scene.nodes[part.node].cockpit:
            for primitive in scene.meshes[part.mesh].primitives:
                window = slice(primitive.vertex_start, primitive.vertex_start + primitive.vertex_count)
                corners = scene.streams.positions[window].astype(np.float64)
                here = world[part.node]
                points.append(corners @ here[:3, :3].T + here[:3, 3])
    return np.concatenate(points)


def assert_same_places(document: Editable, data: bytes, dialect: str, frames: int, fps: float = 24) -> None:
    """Every vertex of the one is near one of the other."""
    for frame in range(frames):
        a, b = file_points(document, frame, fps), model_points(data, dialect, frame)
        near = 2e-3 * max(1.0, float(np.abs(a).max()))
        away = max(cKDTree(a).query(b)[0].max(), cKDTree(b).query(a)[0].max())
        assert away < near, f"frame {frame}: {away:.3g} away"


# ------------------------------------------------------------------ files from elsewhere


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
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([24, 25, 30, 50, 60]))
def test_even_scales_and_mirrors(kind: str, seed: int, fps: float) -> None:
    with TemporaryDirectory() as folder:
        rate = fps if kind == "LINEAR" else 24  # other keys are not on every frame
        path = random_file(Path(folder), np.random.default_rng(seed), EVEN, kind, rate)
        back = import_gltf(path, None, ALONE)
        assert back.timing is None or back.timing.fps == rate
        assert_same_places(Editable(path), back.data, back.dialect, FRAMES, rate)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_uneven_scales_convert_exactly_or_are_refused(seed: int) -> None:
    scales = [*EVEN[:3], (1, 2, 1), (1, 1, -3)]
    with TemporaryDirectory() as folder:
        path = random_file(Path(folder), np.random.default_rng(seed), scales, "LINEAR")
        refused = ""
        try:
            back = import_gltf(path, None, ALONE)
            assert_same_places(Editable(path), back.data, back.dialect, FRAMES)
        except ConversionError as error:
            refused = str(error)
        assert not refused or "uneven scale" in refused
