"""Vertex colours through real Blender, which writes VEC3 on some meshes and VEC4 on others."""

from pathlib import Path

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.blender import blender
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import GltfView
from tests.support.runs import first_difference, to_gltf

SAMPLE = sample_called("spec__system__R_H_002")


@pytest.mark.parametrize("kind", ["plain", "extras"])
@pytest.mark.parametrize("translucent", [0, 1, 2])
def test_colours_come_back_whatever_the_materials_do_with_alpha(tmp_path: Path, translucent: int, kind: str) -> None:
    """Every third material is translucent, so that Blender uses the colours' alpha on it."""
    document = Editable(to_gltf(SAMPLE, tmp_path / "m.glb"))
    for i, material in enumerate(document.json["materials"]):
        if i % 3 == translucent:
            material["alphaMode"] = "BLEND"
    edited = document.save(tmp_path / "e.glb")
    blender("roundtrip.py", tmp_path, edited)
    came = tmp_path / kind / "e.glb"
    view = GltfView(came)
    kinds = {
        view["accessors"][p["attributes"]["COLOR_0"]]["type"] for mesh in view["meshes"] for p in mesh["primitives"]
    }
    assert kinds == {"VEC3", "VEC4"}
    back = import_gltf(came, tmp_path / "m.msh-sidecar")
    assert [str(change) for change in back.changes] == []
    assert first_difference(SAMPLE.source, back.data) is None
