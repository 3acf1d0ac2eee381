"""OBJ files of other tools, and hostile ones."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.obj import SQUARE, read, triangles


def test_up(tmp_path: Path) -> None:
    text = "v 1 2 3\nv 4 5 6\nv 7 8 10\nvn 0 1 0\nf 1//1 2//1 3//1\n"
    y, z = read(tmp_path, text), read(tmp_path, text, up="z")
    assert y.streams.positions[0].tolist() == [1, -3, 2]
    assert z.streams.positions[0].tolist() == [1, 2, 3]
    assert y.streams.normals is not None
    assert z.streams.normals is not None
    assert y.streams.normals[0].tolist() == [0, 0, 1]
    assert z.streams.normals[0].tolist() == [0, 1, 0]
    said = read(tmp_path, f"# msh-gltf up=z frame=2.5\n{text}")
    assert said.streams.positions[0].tolist() == [1, 2, 3]
    assert said.info == {"up": "z", "frame": 2.5}


@pytest.mark.parametrize("corners", [3, 4, 5, 9])
@pytest.mark.parametrize("form", ["{0}", "{0}/{0}", "{0}//{0}", "{0}/{0}/{0}"])
def test_convex_polygons_become_fans(corners: int, form: str, tmp_path: Path) -> None:
    angle = np.arange(corners) * 2 * np.pi / corners
    ring = np.stack([np.cos(angle), np.sin(angle), angle * 0], axis=1)
    text = "".join(f"v {x:.9g} {y:.9g} {z:.9g}\nvt 0 0\nvn 0 0 1\n" for x, y, z in ring)
    text += "f " + " ".join(form.format(i + 1) for i in range(corners)) + "\n"
    got = triangles(read(tmp_path, text, up="z"))
    expected = [[ring[0], ring[k], ring[k + 1]] for k in range(1, corners - 1)]
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_a_polygon_that_is_not_convex_is_no_fan(tmp_path: Path) -> None:
    text = "v 1 0.2 0\nv 0 2 0\nv 0 0 0\nv 2 0 0\nv 2 2 0\nf 1 2 3 4 5\n"
    corners = triangles(read(tmp_path, text, up="z"))
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] / 2
    assert (area > 0).all()
    np.testing.assert_allclose(area.sum(), 2.2)


def test_layout_does_not_matter(tmp_path: Path) -> None:
    plain = read(tmp_path, f"o a\n{SQUARE}f 1 2 3\n")
    for text in (
        f"\ufeff# x\r\n\r\n  o a  \n{SQUARE}f  1\t2 3 # usemtl f 1 2 3\n",
        f"o a\n{SQUARE}f 1 \\\n2 3",
        f"o a\n{SQUARE}s off\nl 1 2\np 1\nvp 1\nf 1 2 3\n".replace("\n", "\r"),
        "o a\nv 0 0 0 1\nv 1 0 0 1\nv 1e0 0 -1.0E+00 1\nf 1 2 3\n",
        "o a\nv 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 1 0 -1 1 0 0\nf 1 2 3\n",
    ):
        given = read(tmp_path, text)
        assert [item.name for item in given.nodes] == ["a"]
        np.testing.assert_array_equal(triangles(given), triangles(plain))


def test_missing_normals(tmp_path: Path) -> None:
    """Area-weighted, smooth where positions meet, even across a seam of texture coordinates."""
    text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 1 1 -2\nv 0 0 0\nvt 0 0\nvt 1 1\n"
    given = read(tmp_path, text + "f 1/1 2/1 3/1\nf 2/2 4/2 3/2\n", up="z")
    normals = given.streams.normals
    assert normals is not None
    at = given.streams.positions
    expected = np.array([2.0, 0, 1]) / np.sqrt(5)  # areas 1 and 1/2
    for corner in ([1, 0, 0], [1, 1, 0]):
        shared = (at == corner).all(axis=1)
        assert shared.sum() == 2
        np.testing.assert_allclose(normals[shared], np.tile(expected, (2, 1)), atol=1e-6)
    np.testing.assert_allclose(normals[(at == 0).all(axis=1)], [[0, 0, 1]], atol=1e-6)
    text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nvn 1 0 0\no a\nf 1//1 2//1 3//1\no b\nf 1 2 3\no c\nf 1 1 1\n"
    given = read(tmp_path, text, up="z")
    assert given.streams.normals is not None
    assert given.streams.normals.tolist() == [[1, 0, 0]] * 3 + [[0, 0, 1]] * (len(given.streams.normals) - 3)
