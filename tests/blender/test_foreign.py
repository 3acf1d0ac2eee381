"""Scenes made in real Blender by hand convert, or say what is in the way."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import Scene
from tests.support.blender import blender
from tests.support.foreign import world

PLAIN = (
    *("instances", "camera_and_light", "materials"),
    *("animated_hierarchy", "animation_range", "mirrored_animation", "bone_parent"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("foreign")
    blender("make.py", out)
    return out


def surface(triangles: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Area, signed volume vector sums: what does not depend on how quads were split."""
    a, b, c = (triangles[:, i] for i in range(3))
    cross = np.cross(b - a, c - a)
    area = np.linalg.norm(cross, axis=1) / 2
    center = (area[:, None] * (a + b + c) / 3).sum(axis=0) / area.sum()
    return float(area.sum()), center, np.einsum("ti,ti->", a, np.cross(b, c)) / 6


def posed(scene: Scene, frame: int) -> np.ndarray:
    """The triangles of a scene at a frame, as the runtime's sampler has them."""
    for track in scene.tracks:
        node = scene.nodes[track.node]
        if track.translation is not None:
            node.translation = track.translation.values[min(frame, scene.frame_count - 1)]
        if track.rotation is not None:
            node.rotation = track.rotation.values[min(frame, scene.frame_count - 1)]
    return world(scene)[..., :3]


def require_same(scene: Scene, path: Path) -> None:
    """Box, area, centre and volume (winding!) of what Blender shows at five times, game axes."""
    with np.load(path) as file:
        frames, shown = file["frames"].tolist(), file["triangles"]
    for frame, expected in zip(frames, shown, strict=True):
        got = posed(scene, frame)
        np.testing.assert_allclose(got.min((0, 1)), expected.min((0, 1)), atol=1e-3)
        np.testing.assert_allclose(got.max((0, 1)), expected.max((0, 1)), atol=1e-3)
        for a, b in zip(surface(got), surface(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("name", PLAIN)
def test_converts(folder: Path, name: str) -> None:
    back = import_gltf(folder / f"{name}.glb", None, ImportOptions())
    scene = decode(read_model(read_nres(back.data, "x"), "x"), Dialect.SPEC, "x")
    require_same(scene, folder / f"{name}.npz")
    if name == "instances":
        assert len({part.mesh for part in scene.parts}) == 1
    if name == "materials":
        assert [m.row for m in scene.materials] == [0, 1, 2]


def test_shape_keys_are_refused(folder: Path) -> None:
    with pytest.raises(ConversionError, match=r"has morph targets.*apply the shape keys"):
        import_gltf(folder / "shape_keys.glb", None, ImportOptions())


def test_skins(folder: Path) -> None:
    path = folder / "skinned.glb"
    with pytest.raises(ConversionError, match=r"has a skin.*--rigid-skin"):
        import_gltf(path, None, ImportOptions())
    back = import_gltf(path, None, ImportOptions(rigid_skin=True))
    scene = decode(read_model(read_nres(back.data, "x"), "x"), Dialect.SPEC, "x")
    require_same(scene, folder / "skinned.npz")
    assert any(scene.nodes[part.node].name.startswith("Bone") for part in scene.parts)
