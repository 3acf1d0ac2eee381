"""Options of Blender's exporter that damage every vertex are recognised, and named."""

import re
from pathlib import Path

import numpy as np
import pytest

from msh_gltf import ConversionError, import_gltf
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import read_terrain
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.options import ImportOptions
from tests.converter.rebuild.test_terrain import LEVEL
from tests.converter.rebuild.test_terrain import Edit as TerrainEdit
from tests.docs.materials import example_game
from tests.support.corpus import SAMPLES, Sample, sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.maps import level_called
from tests.support.runs import run, to_gltf

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


def test_z_up_of_an_areal_map_is_refused(tmp_path: Path) -> None:
    source = example_game() / "DATA/MAPS/Tut_1/Land.map"
    assert run("msh2gltf", source, "-o", tmp_path / "m.glb").returncode == 0
    document = Editable(tmp_path / "m.glb")
    for accessor in {p["attributes"]["POSITION"] for p in document.primitives()}:
        x, y, z = document.arrays[accessor].T
        document.arrays[accessor] = np.stack([x, -z, y], axis=1)
    with pytest.raises(ConversionError, match="turned by 90 degrees about X"):
        import_gltf(document.save(tmp_path / "m.glb"))


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
    with pytest.raises(ConversionError, match=r"with Draco.*clear Compression.*--no-sidecar makes a new model"):
        import_gltf(path)
    options = ImportOptions(use_sidecar=False)
    assert import_gltf(path, options=options).rebuilt


def without(path: Path, attribute: str) -> Path:
    document = Editable(path)
    for primitive in document.primitives():
        del primitive["attributes"][attribute]
    return document.save(path)


@pytest.mark.parametrize("name", ["TEXCOORD_0", "POSITION"])
def test_without_normals_edited_faces_alone_are_flat(name: str, tmp_path: Path) -> None:
    """A face of which only texture coordinates changed keeps its normals, too."""
    sample = sample_called("retail__system__R_H_002")
    path = without(to_gltf(sample, tmp_path / "m.glb"), "NORMAL")
    document = Editable(path)
    values = document.arrays[document.primitives()[0]["attributes"][name]]
    values[0] += 0.25
    back = import_gltf(document.save(path), options=ImportOptions())
    assert (len(back.changes), back.not_applied) == (1, [])
    before, after = (normals_by_face(data) for data in (sample.path.read_bytes(), back.data))
    other = {key for key in before if before[key] != after.get(key)}
    moved = {key for key in after if key not in before}
    assert bool(moved) == (name == "POSITION")
    assert other == {key for key in before if key not in after}
    corners = np.array([np.frombuffer(key, np.float32).reshape(3, 3) for key in moved]).reshape(-1, 3, 3)
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    for key, normal in zip(moved, flat / np.linalg.norm(flat, axis=1, keepdims=True), strict=True):
        (words,) = after[key]
        np.testing.assert_allclose(np.frombuffer(words, np.int8).reshape(3, 4)[:, :3] / 127, [normal] * 3, atol=0.02)


def normals_by_face(data: bytes) -> dict[bytes, set[bytes]]:
    """The stored normals of the triangles of a model, by their corners; the order of corners does not count."""
    model = read_model(read_nres(data, "m"), "m")
    assert model.normals is not None
    out: dict[bytes, set[bytes]] = {}
    for batch in model.batches:
        first, count = int(batch["index_start"]), int(batch["index_count"])
        rows = model.indices[first : first + count].astype(np.int64).reshape(-1, 3) + int(batch["base_vertex"])
        for row in rows:
            start = min(range(3), key=lambda k: model.positions[row[k]].tobytes())
            turned = np.roll(row, -start)
            key = np.asarray(model.positions[turned], np.float32).tobytes()
            out.setdefault(key, set()).add(model.normals[turned].tobytes())
    return out


def test_a_terrain_without_normals_keeps_those_of_faces_that_stay(tmp_path: Path) -> None:
    edit = TerrainEdit(level_called(LEVEL), tmp_path)
    without(edit.path, "NORMAL")
    edit.document = Editable(edit.path)
    assert edit.back().data == edit.source
    at = int(edit.index(edit.primitives()[0])[0, 0])
    positions = edit.document.arrays[edit.attributes["POSITION"]]
    positions[(positions == positions[at]).all(axis=1), 1] += 0.5
    back = edit.back()
    assert any("keep the stored ones" in warning for warning in back.warnings)
    before, after = (read_terrain(read_nres(data, "m"), "m") for data in (edit.source, back.data))
    moved = np.flatnonzero((before.positions != after.positions).any(axis=1))
    assert 0 < len(moved) < 4
    turned = np.flatnonzero((before.normals != after.normals).any(axis=1))
    assert turned.tolist() == moved.tolist()


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
