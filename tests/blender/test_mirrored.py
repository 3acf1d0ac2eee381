"""Nodes mirrored in real Blender: what moves below them is where Blender shows it."""

from pathlib import Path

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.converter.edits.test_scaled_animation import WALKER, assert_same_places
from tests.support.blender import blender
from tests.support.corpus import Sample, sample_called
from tests.support.gltf_edit import Editable
from tests.support.runs import to_gltf

EDITS = ("mirror", "mirror_twice", "mirror_bigger", "mirror_applied", "mirror_applied_below", "bigger_applied")
WALKER_SAMPLE = Sample("walker", WALKER, None, WALKER)
SHARED = sample_called("spec__odd__Gen_stat_011")  # nodes with one mesh, degenerate triangles


@pytest.mark.parametrize(
    ("sample", "node", "frames"),
    [
        *((WALKER_SAMPLE, node, 25) for node in ("Base_TM", "turret", "hip_l")),
        *((SHARED, node, 3) for node in ("Base_TM", "mast_c_m2o1", "roof_m4o2")),
    ],
    ids=lambda value: value.id if isinstance(value, Sample) else str(value),
)
def test_scaled_nodes_with_animation(tmp_path: Path, sample: Sample, node: str, frames: int) -> None:
    source = to_gltf(sample, tmp_path / "model.glb")
    blender("edit.py", source, tmp_path, node, *EDITS)
    for name in EDITS:
        file = tmp_path / f"{name}.glb"
        back = import_gltf(file, tmp_path / "model.msh-sidecar")
        assert not back.kept_all
        assert_same_places(Editable(file), back.data, back.dialect, frames)
        alone = import_gltf(file, None, ImportOptions(use_sidecar=False))
        assert_same_places(Editable(file), alone.data, alone.dialect, frames)
