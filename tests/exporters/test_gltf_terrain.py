"""Terrains and areal maps as glTF: against recorded truth, name by name, and the validator."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from msh_gltf.converter import cli
from msh_gltf.exporters.gltf import _normals
from tests.support.areals import sample
from tests.support.gltf_view import TO_GAME, GltfView
from tests.support.maps import every_level, level_called
from tests.support.runs import call, run


def export(level, folder: Path, name: str = "Land.msh", *options: object) -> GltfView:
    target = folder / "out.glb"
    assert call(cli.msh2gltf, level.folder / name, "-o", target, "-q", "--force", *options) == 0
    return GltfView(target)


@every_level
def test_terrain_equals_the_truth(level, tmp_path: Path) -> None:
    view = export(level, tmp_path, "Land.msh", "--no-textures")  # with pictures, several pairs have one colour
    truth, facts = level.terrain, level.facts("terrain")
    assert [n["name"] for n in view["nodes"]] == ["terrain", "coarse"]
    assert [s["name"] for s in view["scenes"]] == ["Land", "coarse"]
    assert view.info["kind"] == "terrain"
    assert view.info["source"] == "Land.msh"
    names = [name for _, name in facts["materials1"]]
    micro = [name for _, name in facts["materials2"]]
    for number in (0, 1):
        scene = view["scenes"][number]
        mesh = view["meshes"][view["nodes"][scene["nodes"][0]]["mesh"]]
        pairs, colours = set(), set()
        triangles = 0
        for primitive in mesh["primitives"]:
            extras = view["materials"][primitive["material"]]["extras"]["msh"]
            first, second = extras["first"], extras["second"]
            pairs.add((first, second))
            name = names[first] if second == 255 else f"{names[first]}+{names[second]}"
            material = view["materials"][primitive["material"]]
            assert (material["name"], material["doubleSided"]) == (name, True)
            colours.add(tuple(material["pbrMetallicRoughness"]["baseColorFactor"]))
            assert extras["microtexture"] == micro[first]
            index = view.array(primitive["indices"]).reshape(-1, 3)
            rows = np.flatnonzero((truth["level"] == number) & (truth["mat1"] == first) & (truth["mat2"] == second))
            np.testing.assert_array_equal(index, truth["face"][rows])
            triangles += len(rows)
        assert len(pairs) == len(colours) == len(mesh["primitives"])
        assert triangles == (truth["level"] == number).sum()
    attributes = view["meshes"][0]["primitives"][0]["attributes"]
    positions = view.array(attributes["POSITION"]) @ TO_GAME.T
    np.testing.assert_array_equal(positions, truth["pos"])
    np.testing.assert_array_equal(view.array(attributes["TEXCOORD_0"]), truth["uv1"])
    np.testing.assert_array_equal(view.array(attributes["TEXCOORD_1"]), truth["uv2"])
    np.testing.assert_array_equal(view.array(attributes["_MSH_BLEND"])[:, 0], truth["weight"])
    normals = view.array(attributes["NORMAL"]) @ TO_GAME.T
    length = np.linalg.norm(truth["normal"], axis=1, keepdims=True)
    np.testing.assert_allclose(normals, truth["normal"] / length, atol=2e-7)


@every_level
def test_areal_map_equals_the_truth(level, tmp_path: Path) -> None:
    """Every class' polygons, by area and by corners; borders are the edges without a link."""
    view, truth = export(level, tmp_path, "Land.map"), level.areal
    assert view.info["kind"] == "areal_map"
    start, rows = truth["start"], np.flatnonzero((truth["link"] == -1).all(axis=1))
    assert ("borders" in [node["name"] for node in view["nodes"]]) == bool(len(rows))
    for node in view["nodes"]:
        primitive = view["meshes"][node["mesh"]]["primitives"][0]
        points = view.array(primitive["attributes"]["POSITION"]) @ TO_GAME.T
        if node["name"] == "borders":
            assert primitive["mode"] == 1
            following = np.arange(len(truth["vertex"])) + 1
            following[start[1:] - 1] = start[:-1]
            expected = np.stack([truth["vertex"][rows], truth["vertex"][following[rows]]], axis=1)
            np.testing.assert_array_equal(points.reshape(-1, 2, 3), expected)
            continue
        number = node["extras"]["msh"]["class_id"]
        assert node["name"] == f"class_{number}"
        mine = np.flatnonzero(truth["class_id"] == number)
        corners = points[view.array(primitive["indices"])[:, 0]].reshape(-1, 3, 3)
        assert len(corners) == sum(start[i + 1] - start[i] - 2 for i in mine)
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert (cross[:, 2] > -1e-6).all(), "no triangle is turned over"
        polygons = [truth["vertex"][start[i] : start[i + 1]].astype(float) for i in mine]
        area = sum((p[:, 0] * np.roll(p[:, 1], -1) - p[:, 1] * np.roll(p[:, 0], -1)).sum() / 2 for p in polygons)
        assert abs(cross[:, 2].sum() / 2 - area) <= 1e-6 * area
        ours = np.unique(points, axis=0)
        np.testing.assert_array_equal(ours, np.unique(np.concatenate(polygons), axis=0))


def test_areals_without_a_normal_look_up() -> None:
    areals = sample()
    records = areals.records.copy()
    records["normal"][:2] = [[0, 0, 0], [3, 0, 4]]
    shown = _normals(replace(areals, records=records))[:2].tolist()
    assert shown == [[0, 0, 1], [np.float32(0.6), 0, np.float32(0.8)]]


def test_needs_its_sidecar(tmp_path: Path) -> None:
    export(level_called("spec__AutoMAP_00"), tmp_path)
    back = run("gltf2msh", tmp_path / "out.glb", "--no-sidecar", "-o", f"{tmp_path}/back/")
    assert back.returncode == 2
    assert "is a terrain, which needs its sidecar to be rebuilt" in back.stderr
