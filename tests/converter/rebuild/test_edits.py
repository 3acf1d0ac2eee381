"""Edits rebuilt: they touch only what they must, and what refers to it follows."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_model import require_sound
from msh_gltf.converter.rebuild.workspace import Workspace
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.rebuilt import ALONE, parse
from tests.support.runs import to_gltf


def test_verification_checks_links(tmp_path: Path) -> None:
    gltf = to_gltf(sample_called("spec__static__b_bun_000"), tmp_path / "m.glb")
    model = parse(import_gltf(gltf, None, ALONE).data)
    triangles = model.triangles.copy()
    triangles["selectors"][3] ^= 1
    model.streams[7] = triangles
    with pytest.raises(ConversionError, match=r"verification failed: Res7.*link back"):
        require_sound(model)
    require_sound(model, before=model)  # it was so before


def test_bas_beside_the_model_is_named(tmp_path: Path) -> None:
    document = Editable(to_gltf(sample_called("retail__odd__s_rock_009"), tmp_path / "m.glb"))
    primitive = document.primitives()[0]
    primitive["indices"] = document.add(document.arrays[primitive["indices"]][3:])
    document.save(tmp_path / "m.glb")
    assert not any(".bas" in w for w in import_gltf(tmp_path / "m.glb").warnings)
    (tmp_path / "m.bas").write_bytes(b"")
    assert any(".bas" in w for w in import_gltf(tmp_path / "m.glb").warnings)


def test_a_lost_sidecar_is_mentioned(tmp_path: Path) -> None:
    """A renamed export without extras does not find its sidecar: that is said."""
    document = Editable(to_gltf(sample_called("retail__odd__s_rock_009"), tmp_path / "m.glb"))
    drop_extras(document)
    back = import_gltf(document.save(tmp_path / "renamed.glb"))
    assert back.rebuilt
    assert any("m.msh-sidecar lies beside it" in warning for warning in back.warnings)


def test_rows_behind_the_last_vertex_stay(tmp_path: Path) -> None:
    """A per-vertex table that is too long keeps its tail through an edit of its rows."""
    model = parse(sample_called("spec__static__b_bun_000").source)
    model.streams[5] = np.concatenate([model.uv0, model.uv0[:3] + 1])
    space = Workspace.of(model)
    space.vertices = space.vertices[:-4]
    space.into(model)
    assert len(model.positions) == 206
    assert model.uv0[206:].tobytes() == (model.uv0[:3] + 1).tobytes()
