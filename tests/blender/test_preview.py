"""``examples/blender/preview.py`` makes pictures that show something."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter import cli
from tests.support.blender import BLENDER
from tests.support.runs import call

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("preview") / "walker.glb"
    assert call(cli.msh2gltf, ROOT / "examples/walker.msh", "-o", target, "-q") == 0
    return target


def preview(model: Path, *options: str, code: int = 0) -> str:
    script = [BLENDER, ROOT / "examples/blender/preview.py", model, model.with_name("a.png"), "--size", "96x80"]
    done = subprocess.run([*script, *options], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr[-1000:]
    return done.stderr


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGBA"), np.int64)


def test_thumbnail_frame_and_lod(walker: Path) -> None:
    """A transparent border round a model; another frame and another LOD look different."""
    shown = []
    for options in ((), ("--frame", "6"), ("--level", "1")):
        preview(walker, "--transparent", *options)
        picture = pixels(walker.with_name("a.png"))
        assert picture.shape == (80, 96, 4)
        assert picture[[0, 0, -1, -1], [0, -1, 0, -1], 3].max() == 0
        assert 0.03 < (picture[..., 3] > 0).mean() < 0.9
        shown.append(picture)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert (np.abs(shown[a] - shown[b]).max(axis=2) > 30).mean() > 0.01


def test_turntable_and_a_cell_that_is_not_there(walker: Path) -> None:
    preview(walker, "--turntable", "3")
    made = sorted(walker.parent.glob("a_*.png"))
    assert [p.name for p in made] == ["a_000.png", "a_001.png", "a_002.png"]
    first, second, _ = map(pixels, made)
    assert (first != second).any()
    assert (first[..., 3] == 255).all()
    assert "the model has no parts in stage1.level2" in preview(walker, "--stage", "1", "--level", "2", code=1)
