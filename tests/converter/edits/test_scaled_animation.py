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

from msh_gltf.converter.edits import nodes
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.judge.difference import JUDGED
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.numeric.pose import sample
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect, tracks
from msh_gltf.converter.scene.scene import Track
from tests.support.corpus import Sample, sample_called
from tests.support.foreign import Builder
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import TO_GAME, trs
from tests.support.runs import to_gltf

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
            times = document.arrays[sampler["input"]][:, 0] * fps
            values, kind = document.arrays[sampler["output"]], sampler.get("interpolation")
            target = channel["target"]
            posed.setdefault(target["node"], {})[target["path"]] = curve(times, values, kind, frame)
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


def curve(times: np.ndarray, values: np.ndarray, kind: str | None, frame: float) -> np.ndarray:
    """A curve at a frame that is a key, or between two."""
    values = values.astype(np.float64)
    at = int(np.clip(np.searchsorted(times, frame + 1e-3, "right") - 1, 0, len(times) - 1))
    if kind == "STEP" or abs(times[at] - frame) < 1e-3 or at == len(times) - 1:
        return values[3 * at + 1] if kind == "CUBICSPLINE" else values[at]
    span = (times[at + 1] - times[at]) / 24
    t = (frame - times[at]) / (times[at + 1] - times[at])
    if kind in (None, "LINEAR"):
        a, b = values[at], values[at + 1]
        if len(a) == 4 and a @ b < 0:
            b = -b
        angle = np.arccos(np.clip(a @ b, -1, 1)) if len(a) == 4 else 0.0
        if angle < 1e-6:
            return a + (b - a) * t
        return (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)
    a, out, into, b = values[3 * at + 1], values[3 * at + 2], values[3 * at + 3], values[3 * at + 4]
    mixed = (2 * t**3 - 3 * t**2 + 1) * a + span * (t**3 - 2 * t**2 + t) * out
    mixed = mixed + (3 * t**2 - 2 * t**3) * b + span * (t**3 - t**2) * into
    return mixed / np.linalg.norm(mixed) if len(mixed) == 4 else mixed


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


def assert_same_places(document: Editable, data: bytes, dialect: str, frames: int) -> None:
    """Every vertex of the one is near one of the other."""
    for frame in range(frames):
        a, b = file_points(document, frame), model_points(data, dialect, frame)
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
@given(st.integers(0, 2**32 - 1))
def test_even_scales_and_mirrors(kind: str, seed: int) -> None:
    with TemporaryDirectory() as folder:
        path = random_file(Path(folder), np.random.default_rng(seed), EVEN, kind)
        back = import_gltf(path, None, ALONE)
        assert_same_places(Editable(path), back.data, back.dialect, FRAMES)


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


# ------------------------------------------------------------------ models with a sidecar


def animated_nodes(document: Editable) -> set[int]:
    clips = document.json.get("animations", [])
    return {channel["target"]["node"] for clip in clips for channel in clip["channels"]}


@pytest.mark.parametrize("scale", MIRRORS, ids=str)
@pytest.mark.parametrize("which", ["root", "animated"])
@pytest.mark.parametrize("name", ["walker", "spec__odd__B_PLANT_008", "retail__odd__s_rock_009"])
def test_a_node_of_a_model_is_mirrored(tmp_path: Path, name: str, which: str, scale: tuple[float, ...]) -> None:
    sample = Sample(name, WALKER, None, WALKER) if name == "walker" else sample_called(name)
    document = Editable(to_gltf(sample, tmp_path / "m.glb"))
    animated = animated_nodes(document)
    roots = document.json["scenes"][0]["nodes"]
    inner = [i for i in sorted(animated) if document.json["nodes"][i].get("children")]
    node = document.json["nodes"][(roots if which == "root" else inner)[0]]
    node["scale"] = list(scale)
    edited = document.save(tmp_path / "e.glb")
    back = import_gltf(edited, tmp_path / "m.msh-sidecar")
    assert not back.kept_all
    frames = max(len(document.arrays[s["input"]]) for s in document.json["animations"][0]["samplers"])
    assert_same_places(document, back.data, back.dialect, frames)


@pytest.mark.parametrize("name", ["mast_c_m2o1", "Base_TM", "roof_m4o2"])
def test_degenerate_triangles_do_not_stay_where_a_mirrored_part_was(tmp_path: Path, name: str) -> None:
    """Blender drops them; what is put back must not lie where nothing else of the part is."""
    document = Editable(to_gltf(sample_called("spec__odd__Gen_stat_011"), tmp_path / "m.glb"))
    document.node(name)["scale"] = [-1, -1, -1]
    edited = document.save(tmp_path / "e.glb")
    back = import_gltf(edited, tmp_path / "m.msh-sidecar")
    assert_same_places(document, back.data, back.dialect, 3)


# ------------------------------------------------------------------ verification


def test_the_judge_sees_a_track_that_was_not_mirrored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = random_file(tmp_path, np.random.default_rng(1), MIRRORS, "LINEAR")
    import_gltf(path, None, ALONE)
    monkeypatch.setattr(
        "msh_gltf.converter.edits.clips.rigid_track",
        lambda item, track, frame, node: Track(node, track.rotation, track.translation),
    )
    assert any(one.why == JUDGED for one in import_gltf(path, None, ALONE).not_applied)


def test_the_judge_sees_a_node_in_the_wrong_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = random_file(tmp_path, np.random.default_rng(2), MIRRORS, "LINEAR")
    right = nodes.rigid_part

    def wrong(name: str, world: Any, above: Any) -> Any:
        turned, moved, bake, place = right(name, world, above)
        return turned, -moved, bake, place

    monkeypatch.setattr("msh_gltf.converter.edits.nodes.rigid_part", wrong)
    assert any(one.why == JUDGED for one in import_gltf(path, None, ALONE).not_applied)
