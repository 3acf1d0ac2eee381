"""Which texture coordinates of a glTF go into a model."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.support.foreign import QUAD, Builder, convert


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        # the specification's example: the lower left quadrant, turned clockwise by 90 degrees
        ({"offset": [0, 1], "rotation": np.pi / 2, "scale": [0.5, 0.5]}, [(0, 1), (0, 0.5), (0.5, 1), (0.5, 0.5)]),
        # what is left out changes nothing
        ({}, [(0, 0), (1, 0), (0, 1), (1, 1)]),
        ({"offset": [0, 1]}, [(0, 1), (1, 1), (0, 2), (1, 2)]),
        ({"rotation": np.pi / 2}, [(0, 0), (0, -1), (1, 0), (1, -1)]),
        ({"scale": [0.5, 2]}, [(0, 0), (0.5, 0), (0, 2), (0.5, 2)]),
    ],
)
def test_texture_transform(transform: dict, expected: list[tuple[float, float]], tmp_path: Path) -> None:
    b = Builder()
    uv = b.accessor(QUAD[:, :2])
    mesh = b.mesh(attributes={"TEXCOORD_0": uv}, material=0)
    info = {"index": 0, "extensions": {"KHR_texture_transform": transform}}
    b.json["textures"] = [{}]
    b.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": info}}]
    b.node(mesh=mesh)
    scene, _ = convert(b.save(tmp_path))
    by_place = dict(zip(map(tuple, scene.streams.positions.tolist()), scene.streams.uv0.tolist(), strict=True))
    for (x, y), value in zip([(0, 0), (1, 0), (0, 1), (1, 1)], expected, strict=True):
        assert by_place[x, -0.0, y] == list(value)


@pytest.mark.parametrize("number", [1, 2])
def test_the_base_colour_decides_which_texture_coordinates_count(number: int, tmp_path: Path) -> None:
    """The game has one set for textures; Blender's active UV map may be another than the first."""
    b = Builder()
    other = (QUAD[:, :2] + 2).astype(np.float32)
    sets = {"TEXCOORD_0": b.accessor(QUAD[:, :2]), f"TEXCOORD_{number}": b.accessor(other)}
    mesh = b.mesh(attributes=sets, material=0)
    info = {"index": 0, "texCoord": number}
    b.json["textures"] = [{}]
    b.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": info}}]
    b.node(mesh=mesh)
    scene, _ = convert(b.save(tmp_path))
    assert sorted(scene.streams.uv0.tolist()) == sorted(other.tolist())


@pytest.mark.parametrize(("number", "said"), [(1, "has no TEXCOORD_1,"), (-1, "has no UV map,")])
def test_a_missing_uv_map_is_named(number: int, said: str, tmp_path: Path) -> None:
    """Blender writes -1 for a UV map that the mesh does not have."""
    b = Builder()
    info = {"index": 0, "texCoord": number}
    b.json["textures"] = [{}]
    b.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": info}}]
    for _ in range(3):
        b.node(mesh=b.mesh(attributes={}, material=0))
    back = import_gltf(b.save(tmp_path), None, ImportOptions())
    assert ["is laid by" in str(one) for one in back.not_applied].count(True) == 1, "no mesh has any"
    assert said in str(back.not_applied[0])


def test_texture_coordinates_that_are_too_few_are_broken(tmp_path: Path) -> None:
    b = Builder()
    sets = {"TEXCOORD_0": b.accessor(QUAD[:, :2]), "TEXCOORD_2": b.accessor(QUAD[:3, :2])}
    mesh = b.mesh(attributes=sets, material=0)
    info = {"index": 0, "texCoord": 2}
    b.json["textures"] = [{}]
    b.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": info}}]
    b.node(mesh=mesh)
    with pytest.raises(
        ConversionError, match=r"TEXCOORD_0 of mesh 'mesh' does not fit its vertices: 3 x 2 \(expected 4 x 2\)"
    ):
        convert(b.save(tmp_path))
