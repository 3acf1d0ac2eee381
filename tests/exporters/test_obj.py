"""The OBJ text against recorded truth and against the glTF, read by a parser of its own."""

import dataclasses
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.obj import obj_files
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.appearance import Appearance, MaterialAppearance, Picture, missing_material
from msh_gltf.converter.scene.decode import rest_pose
from msh_gltf.exporters.obj import escape, export_obj
from msh_gltf.importers.obj import unescape
from tests.support.corpus import SAMPLES, Sample, sample_called
from tests.support.gltf_view import TO_GAME

ANIMATED = "retail__odd__s_rock_009"


class Objects:
    """OBJ text, line by line: per object its corners, names of parts and materials."""

    def __init__(self, text: bytes) -> None:
        self.pools: dict[str, list[list[str]]] = {"v": [], "vt": [], "vn": []}
        self.faces: dict[str, list[list[list[int]]]] = {}
        self.materials: dict[str, list[str]] = {}
        self.parts: dict[str, list[str]] = {}
        self.mtllib = ""
        name = material = ""
        for line in text.decode().splitlines():
            word, *rest = line.split(" ")
            if word in self.pools:
                self.pools[word].append(rest)
            elif word == "o":
                (name,) = rest
                assert name not in self.faces
                self.faces[name], self.materials[name], self.parts[name] = [], [], []
            elif word == "g":
                self.parts[name] += rest
            elif word == "usemtl":
                (material,) = rest
            elif word == "mtllib":
                (self.mtllib,) = rest
            elif word == "f":
                numbers = [[int(n) if n else 0 for n in corner.split("/")] for corner in rest]
                self.faces[name].append(numbers)
                self.materials[name].append(material)
            else:
                assert word == "#", line

    def corners(self, name: str, kind: str) -> np.ndarray:
        """(T, 3, width) values of an object."""
        which = ("v", "vt", "vn").index(kind)
        index = np.array([[corner[which] for corner in face] for face in self.faces[name]])
        assert (index > 0).all()
        return np.array(self.pools[kind], np.float64)[index - 1]


def files(
    sample: Sample,
    folder: Path,
    *,
    lod: int = 0,
    group: int = 0,
    frame: float = 0,
    up: str = "y",
    textures: bool = True,
) -> dict[str, bytes]:
    """What an export would write, by extension."""
    options = ExportOptions(dialect=sample.dialect, lod=lod, group=group, find_textures=textures)
    loaded = load_file(sample.path, sample.entry, options)
    made = obj_files(loaded, folder / "m.obj", options=options, frame=frame, up=up)
    return {path.suffix: data for path, data in made}


def parsed(sample: Sample, folder: Path, **how: object) -> Objects:
    return Objects(files(sample, folder, **how)[".obj"])  # type: ignore[arg-type]


def game(values: np.ndarray) -> np.ndarray:
    return np.asarray(values @ TO_GAME.T)


POSED = [s for s in SAMPLES if not s.truth["legacy"]]


def node_names(sample: Sample) -> list[str]:
    names: list[str] = []
    for i, node in enumerate(sample.truth["nodes"]):
        name = node["name_cp1251"] or f"node_{i}"
        while name in names:
            name += f"#{i}"
        names.append(name)
    return names


@pytest.mark.parametrize("sample", POSED, ids=[s.id for s in POSED])
def test_posed_triangles(sample: Sample, tmp_path: Path) -> None:
    """What scene 0 shows: positions, normals, texture coordinates and materials."""
    # with pictures, coordinates are those of the whole page
    truth, obj, names = sample.arrays, parsed(sample, tmp_path, textures=False), node_names(sample)
    size = max(1.0, np.abs(truth["soup_pos"]).max(initial=0))
    expected = []
    for node, lod, group, _slot, start, count in truth["soup_dir"].tolist():
        cockpit = sample.truth["nodes"][node]["hdr0"] & 0x20
        if not count or (lod, group) != (0, 0) or cockpit:
            continue
        rows, name = slice(start, start + count), escape(names[node])
        expected.append(name)
        assert obj.parts[name] == [name if sample.dialect == "retail" else f"{name}.lod0.group0"]
        got = game(obj.corners(name, "v"))
        np.testing.assert_allclose(got, truth["soup_pos"][rows], atol=1e-5 * size)
        normals = truth["soup_nrm"][rows].astype(np.float64)
        length = np.linalg.norm(normals, axis=-1, keepdims=True)
        given_ones = length[..., 0] > 0
        np.testing.assert_allclose(game(obj.corners(name, "vn"))[given_ones], (normals / length)[given_ones], atol=1e-5)
        uv = obj.corners(name, "vt").astype(np.float32)
        np.testing.assert_array_equal(uv[..., 0], truth["soup_uv"][rows][..., 0])
        np.testing.assert_array_equal(1 - uv[..., 1], truth["soup_uv"][rows][..., 1])
        wear = sample.truth["wear"]
        for row, material in zip(truth["soup_row"][rows], obj.materials[name], strict=True):
            plain = wear[row][1] if row < len(wear) else f"material_{row}"
            assert material.partition("#")[0] == escape(plain)
    assert list(obj.faces) == expected


def test_equal_material_names_get_numbers() -> None:
    sample = sample_called(ANIMATED)
    scene = load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).scene
    scene.materials = [m._replace(name="a b") for m in scene.materials]
    obj, mtl = export_obj(scene, rest_pose(scene))
    used = {name for names in Objects(obj).materials.values() for name in names}
    assert len(used) > 1
    assert used <= {"a%20b", *(f"a%20b#{i}" for i in range(1, len(scene.materials)))}
    assert mtl.count(b"newmtl a%20b") == len(used)


def test_textures_lie_beside(tmp_path: Path) -> None:
    """What was resolved is written as PNG, named in the MTL; a missing look is a row's colour."""
    sample = sample_called(ANIMATED)
    options = ExportOptions(dialect=sample.dialect)
    loaded = load_file(sample.path, None, options)
    plain = dict(obj_files(dataclasses.replace(loaded, appearance=None), tmp_path / "m.obj", options=options))
    assert b"map_Kd" not in plain[tmp_path / "m.mtl"]
    used = sorted(set(sample.arrays["batch_row"].tolist()))
    look = MaterialAppearance("a", "a", "name", (0.5, 0.25, 1, 0.75), (0, 0.5, 0), True, False, "T/1.0", 1)
    appearances = dict.fromkeys(used, look) | {99: dataclasses.replace(look, texture="unused")}
    pixels = np.arange(16, dtype=np.uint8).reshape(2, 2, 4)
    pictures = {name: Picture(name, "", "", lambda: pixels) for name in ("T/1.0", "unused")}
    appearance = Appearance(appearances, pictures)
    made = obj_files(dataclasses.replace(loaded, appearance=appearance), tmp_path / "m.obj", options=options)
    assert [path.name for path, _ in made] == ["m.msh-sidecar", "m.T%2F1.0.png", "m.mtl", "m.obj"]
    assert (np.asarray(Image.open(BytesIO(made[1][1]))) == pixels).all()
    mtl = made[2][1].decode()
    count = mtl.count("newmtl ")
    assert count
    for line in ("Kd 0.5 0.25 1", "d 0.75", "Ke 0 0.5 0", "map_Kd m.T%2F1.0.png", "map_d m.T%2F1.0.png"):
        assert mtl.count(f"\n{line}\n") == count
    gone = Appearance(dict.fromkeys(used, missing_material("a")))
    again = obj_files(dataclasses.replace(loaded, appearance=gone), tmp_path / "m.obj", options=options)
    assert again[-2][1] == plain[tmp_path / "m.mtl"]


@given(st.text(st.characters(), min_size=1))
def test_names_come_back(name: str) -> None:
    """Any name is one word that prints, and comes back; surrogates are no names."""
    escaped = escape(name)
    assert escaped.isprintable()
    assert not set(escaped) & set(" \\\n")
    if not any(0xD800 <= ord(c) < 0xE000 for c in name):
        assert unescape(escaped) == name


def test_streams_that_a_model_lacks() -> None:
    """Without normals or texture coordinates faces do not name them."""
    sample = sample_called(ANIMATED)
    scene = load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).scene
    for absent, pattern in ((["uv0"], b"f 1//1 "), (["normals"], b"f 1/1 "), (["uv0", "normals"], b"f 1 ")):
        scene.streams = dataclasses.replace(scene.streams, **dict.fromkeys(absent))
        obj, _ = export_obj(scene, rest_pose(scene))
        assert pattern in obj
        assert (b"\nvt " in obj) is (scene.streams.uv0 is not None)
        scene.streams = load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).scene.streams
    scene.streams = dataclasses.replace(scene.streams, normals=np.zeros_like(scene.streams.positions))
    turned = {line for line in export_obj(scene, rest_pose(scene))[0].split(b"\n") if line.startswith(b"vn ")}
    assert {tuple(map(float, line.split()[1:])) for line in turned} == {(0, 1, 0)}, "one without length looks up"


@pytest.mark.parametrize("frame", [float("nan"), float("-inf"), 1e300])
def test_a_frame_is_a_number(frame: float, tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="frame is no finite number"):
        files(sample_called(ANIMATED), tmp_path, frame=frame)


def test_positions_beyond_float32() -> None:
    sample = sample_called(ANIMATED)
    scene = load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).scene
    turns, shifts = rest_pose(scene)
    with pytest.raises(ConversionError, match="beyond float32"), np.errstate(over="ignore"):
        export_obj(scene, (turns, shifts + 1e39))
