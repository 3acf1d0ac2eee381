"""Options of Blender's exporter that damage every vertex are recognised, and named."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from msh_gltf import ConversionError, import_gltf
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.options import ImportOptions
from tests.converter.rebuild.test_terrain import LEVEL
from tests.converter.rebuild.test_terrain import Edit as TerrainEdit
from tests.support.corpus import SAMPLES, Sample, sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.maps import level_called
from tests.support.runs import to_gltf

MODELS = [sample for sample in SAMPLES if "MTCHECK" not in sample.id]


def z_up(document: Editable) -> None:
    """What Blender writes with +Y Up off: its own coordinates."""

    def turned(values: np.ndarray) -> np.ndarray:
        out = values.copy()
        out[..., 1], out[..., 2] = -values[..., 2], values[..., 1]
        return out

    streams = ("POSITION", "NORMAL")
    accessors = {p["attributes"][name] for p in document.primitives() for name in streams}
    for clip in document.json.get("animations", []):
        accessors |= {sampler["output"] for sampler in clip["samplers"]}
    for accessor in accessors:
        document.arrays[accessor] = turned(document.arrays[accessor])
    for node in document.json["nodes"]:
        for path in {"translation", "rotation"} & set(node):
            node[path] = turned(np.array(node[path])).tolist()


@pytest.mark.parametrize("extras", [True, False])
@pytest.mark.parametrize("sample", MODELS, ids=[s.id for s in MODELS])
def test_z_up_is_refused(sample: Sample, extras: bool, tmp_path: Path) -> None:
    path = to_gltf(sample, tmp_path / "m.glb")
    document = Editable(path)
    z_up(document)
    if not extras:
        drop_extras(document)
    with pytest.raises(ConversionError, match=r"turned by 90 degrees about X.*set \+Y Up"):
        import_gltf(document.save(path))


def test_z_up_of_nodes_alone_is_refused(tmp_path: Path) -> None:
    """Where the meshes are symmetric, only the places of the nodes tell."""
    path = to_gltf(sample_called("retail__system__R_H_002"), tmp_path / "m.glb")
    document = Editable(path)
    before = [array.copy() for array in document.arrays]
    z_up(document)
    for accessor in {p["attributes"]["POSITION"] for p in document.primitives()}:
        document.arrays[accessor] = before[accessor]
    with pytest.raises(ConversionError, match="turned by 90 degrees about X"):
        import_gltf(document.save(path))


def test_z_up_of_a_terrain_is_refused(tmp_path: Path) -> None:
    edit = TerrainEdit(level_called(LEVEL), tmp_path)
    accessor = edit.attributes["POSITION"]
    x, y, z = edit.document.arrays[accessor].T
    edit.document.arrays[accessor] = np.stack([x, -z, y], axis=1)
    with pytest.raises(ConversionError, match="turned by 90 degrees about X"):
        edit.back()


def test_a_part_that_is_turned_on_purpose_is_an_edit(tmp_path: Path) -> None:
    path = to_gltf(sample_called("retail__system__R_H_002"), tmp_path / "m.glb")
    document = Editable(path)
    accessor = document.primitives()[0]["attributes"]["POSITION"]
    x, y, z = document.arrays[accessor].T
    document.arrays[accessor] = np.stack([x, -z, y], axis=1)
    assert import_gltf(document.save(path)).changes


def test_draco_is_refused_beside_a_sidecar(tmp_path: Path) -> None:
    dracopy = pytest.importorskip("DracoPy", reason="DracoPy is not installed")
    path = to_gltf(sample_called("retail__odd__s_rock_009"), tmp_path / "m.gltf")
    document = Editable(path)
    primitive = document.primitives()[0]
    attributes = primitive["attributes"]
    points = document.arrays[attributes["POSITION"]]
    faces = document.arrays[primitive["indices"]].reshape(-1, 3).astype(np.uint32)
    packed = np.frombuffer(dracopy.encode(points, faces=faces, quantization_bits=14), np.uint8)
    view = document.add(packed[:, None])  # one view for each accessor
    primitive["attributes"] = {"POSITION": attributes["POSITION"]}
    extension = {"bufferView": view, "attributes": {"POSITION": 0}}
    primitive["extensions"] = {"KHR_draco_mesh_compression": extension}
    document.save(path)
    with pytest.raises(ConversionError, match=r"compressed with Draco.*clear Compression"):
        import_gltf(path)
    options = ImportOptions(use_sidecar=False)
    assert import_gltf(path, options=options).rebuilt


def without(path: Path, attribute: str) -> Path:
    document = Editable(path)
    for primitive in document.primitives():
        del primitive["attributes"][attribute]
    return document.save(path)


def test_a_file_without_texture_coordinates_keeps_and_reports_them(tmp_path: Path) -> None:
    sample = sample_called("retail__system__R_H_002")
    path = without(to_gltf(sample, tmp_path / "m.glb"), "TEXCOORD_0")
    back = import_gltf(path, options=ImportOptions())
    assert back.data == sample.path.read_bytes()
    (fact,) = back.not_applied
    assert (fact.where, fact.what) == ("texture coordinates", "are not in the file")


def test_a_file_without_normals_says_that_they_are_computed(tmp_path: Path) -> None:
    sample = sample_called("retail__system__R_H_002")
    path = without(to_gltf(sample, tmp_path / "m.glb"), "NORMAL")
    (warning,) = import_gltf(path, options=ImportOptions()).warnings
    assert warning.startswith("no normals in the file")


def test_an_obj_without_texture_coordinates_and_normals_reports_both(tmp_path: Path) -> None:
    sample = sample_called("retail__system__R_H_002")
    path = to_gltf(sample, tmp_path / "m.obj")
    lines = path.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("vt ", "vn "))]
    plain = [re.sub(r"/\d*/\d*", "", line) if line.startswith("f ") else line for line in kept]
    path.write_text("".join(plain), "utf-8")
    back = import_obj(path)
    assert [fact.where for fact in back.not_applied] == ["texture coordinates"]
    assert any(warning.startswith("no normals in the file") for warning in back.warnings)
