"""The OBJ text against recorded truth, line by line; ``kinds/test_obj.py`` reads it back."""

import dataclasses
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.model import LoadedModel
from msh_gltf.converter.kinds.obj import obj_files
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.appearance import Appearance, MaterialAppearance, Picture, missing_material
from msh_gltf.converter.scene.decode import rest_pose
from msh_gltf.exporters.obj import escape, export_obj
from msh_gltf.importers.obj import unescape
from tests.support.corpus import SAMPLES, Sample, sample_called
from tests.support.gltf_view import TO_GAME

ROCK = sample_called("retail__odd__s_rock_009")
POSED = [s for s in SAMPLES if not s.truth["legacy"]]


def loaded(sample: Sample = ROCK) -> LoadedModel:
    options = ExportOptions(dialect=sample.dialect, find_textures=False)
    return load_file(sample.path, sample.entry, options)


def files(model: LoadedModel, **how: object) -> dict[str, bytes]:
    """What an export would write, by name."""
    return {path.name: data for path, data in obj_files(model, Path("m.obj"), options=ExportOptions(), **how)}


@pytest.mark.parametrize("sample", POSED, ids=[s.id for s in POSED])
def test_posed_triangles(sample: Sample) -> None:
    """What scene 0 shows: names, positions, normals, texture coordinates and materials."""
    truth, model = sample.arrays, loaded(sample)
    lines = [line.split(" ") for line in files(model)["m.obj"].decode().splitlines()]
    pools = [np.array([line[1:] for line in lines if line[0] == word], np.float64) for word in ("v", "vt", "vn")]
    index = np.array([[corner.split("/") for corner in line[1:]] for line in lines if line[0] == "f"], int) - 1
    at, uv, normals = (pool[index[..., k]] for k, pool in enumerate(pools))
    found = [rest[0] for word, *rest in lines if word == "o"]
    cells = [row for row in truth["soup_dir"].tolist() if row[5] and row[1:3] == [0, 0]]
    cells = [row for row in cells if not sample.truth["nodes"][row[0]]["hdr0"] & 0x20]  # cockpits
    names = [escape(model.scene.nodes[node].name) for node, *_ in cells]
    assert found == names
    ending = "" if sample.dialect == "retail" else ".lod0.group0"
    assert [rest for word, *rest in lines if word == "g"] == [[f"{name}{ending}"] for name in names]
    rows = np.concatenate([np.arange(start, start + count) for *_, start, count in cells])
    size = max(1.0, np.abs(truth["soup_pos"]).max(initial=0))
    np.testing.assert_allclose(at @ TO_GAME.T, truth["soup_pos"][rows], atol=1e-5 * size)
    stored = truth["soup_nrm"][rows].astype(np.float64)
    length = np.linalg.norm(stored, axis=-1, keepdims=True)
    known = length[..., 0] > 0
    np.testing.assert_allclose((normals @ TO_GAME.T)[known], (stored / length)[known], atol=1e-5)
    np.testing.assert_array_equal(uv[..., 0].astype(np.float32), truth["soup_uv"][rows][..., 0])
    np.testing.assert_array_equal(1 - uv[..., 1].astype(np.float32), truth["soup_uv"][rows][..., 1])
    wear, material, materials = sample.truth["wear"], "", []
    for word, *rest in lines:
        material = rest[0].partition("#")[0] if word == "usemtl" else material
        materials += [material] * (word == "f")
    plain = [wear[row][1] if row < len(wear) else f"material_{row}" for row in truth["soup_row"][rows]]
    assert materials == [escape(name) for name in plain]


def test_equal_material_names_get_numbers() -> None:
    scene = loaded().scene
    scene.materials = [m._replace(name="a b") for m in scene.materials]
    obj, mtl = (text.decode().split() for text in export_obj(scene, rest_pose(scene)))
    used = [name for word, name in pairwise(mtl) if word == "newmtl"]
    assert {name for word, name in pairwise(obj) if word == "usemtl"} == {*used}
    assert "a%20b" in used
    assert {*used} <= {"a%20b", *(f"a%20b#{i}" for i in range(1, len(scene.materials)))}
    assert len(used) > 1


def test_textures_lie_beside() -> None:
    """What was resolved is written as PNG, named in the MTL; a missing look is a row's colour."""
    rows = sorted(set(ROCK.arrays["batch_row"].tolist()))
    look = MaterialAppearance("a", "a", "name", (0.5, 0.25, 1, 0.75), (0, 0.5, 0), True, False, "T/1.0", 1)
    looks = dict.fromkeys(rows, look) | {99: dataclasses.replace(look, texture="unused")}
    pixels = np.arange(16, dtype=np.uint8).reshape(2, 2, 4)
    pictures = {name: Picture(name, "", "", lambda: pixels) for name in ("T/1.0", "unused")}
    plain, made, gone = (
        files(dataclasses.replace(loaded(), appearance=appearance))
        for appearance in (None, Appearance(looks, pictures), Appearance(dict.fromkeys(rows, missing_material("a"))))
    )
    assert [*made] == ["m.msh-sidecar", "m.T%2F1.0.png", "m.mtl", "m.obj"]
    assert (np.asarray(Image.open(BytesIO(made["m.T%2F1.0.png"]))) == pixels).all()
    mtl = made["m.mtl"].decode()
    for line in ("Kd 0.5 0.25 1", "d 0.75", "Ke 0 0.5 0", "map_Kd m.T%2F1.0.png", "map_d m.T%2F1.0.png"):
        assert mtl.count(f"\n{line}\n") == mtl.count("newmtl ") > 0
    assert b"map_Kd" not in plain["m.mtl"] == gone["m.mtl"]


@given(st.text(st.characters(), min_size=1))
def test_names_come_back(name: str) -> None:
    """Any name is one word that prints, and comes back; surrogates are no names."""
    escaped = escape(name)
    assert escaped.isprintable()
    assert not set(escaped) & set(" \\\n")
    if not any(0xD800 <= ord(c) < 0xE000 for c in name):
        assert unescape(escaped) == name


@pytest.mark.parametrize(
    ("absent", "face"), [(["uv0"], b"f 1//1 "), (["normals"], b"f 1/1 "), (["uv0", "normals"], b"f 1 ")]
)
def test_faces_do_not_name_what_a_model_lacks(absent: list[str], face: bytes) -> None:
    scene = loaded().scene
    scene.streams = dataclasses.replace(scene.streams, **dict.fromkeys(absent))
    obj, _ = export_obj(scene, rest_pose(scene))
    assert face in obj
    assert (b"\nvt " in obj) is ("uv0" not in absent)


def test_normals_without_length_look_up() -> None:
    scene = loaded().scene
    scene.streams = dataclasses.replace(scene.streams, normals=np.zeros_like(scene.streams.positions))
    turned = {line for line in export_obj(scene, rest_pose(scene))[0].split(b"\n") if line.startswith(b"vn ")}
    assert {tuple(map(float, line.split()[1:])) for line in turned} == {(0, 1, 0)}


@pytest.mark.parametrize("frame", [float("nan"), float("-inf"), 1e300])
def test_a_frame_is_a_number(frame: float) -> None:
    with pytest.raises(ConversionError, match="frame is no finite number"):
        files(loaded(), frame=frame)


def test_positions_beyond_float32() -> None:
    scene = loaded().scene
    turns, shifts = rest_pose(scene)
    with pytest.raises(ConversionError, match="beyond float32"), np.errstate(over="ignore"):
        export_obj(scene, (turns, shifts + 1e39))
