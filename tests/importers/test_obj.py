"""OBJ files of other tools, and hostile ones."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.importers.obj import read_obj
from tests.support.obj import SQUARE, read, triangles


def test_objects_and_materials(tmp_path: Path) -> None:
    given = read(
        tmp_path,
        "mtllib none.mtl\n" + SQUARE + "f 1 2 3\no left hand\nusemtl red paint\nf 1 2 3\n"
        "g ignored\nusemtl blue\nf 1 3 4\no right%20hand\nf 2 3 4\no left hand\nf 4 3 2\no empty\n",
    )
    assert [item.name for item in given.nodes] == ["left hand", "right hand", "empty", "in"]
    assert [item.mesh >= 0 for item in given.nodes] == [True, True, False, True]
    assert [m.name for m in given.materials] == ["red paint", "blue"]
    left, right, _, loose = (given.meshes[i] for i in range(4))
    names = [given.materials[p.material].name for p in left.primitives]
    assert names == ["red paint", "blue"]
    assert [p.index_count for p in left.primitives] == [3, 6]
    assert [p.material for p in right.primitives] == [1]
    assert [p.material for p in loose.primitives] == [-1]
    assert all(item.parent == -1 and not item.translation.any() for item in given.nodes)
    np.testing.assert_array_equal(triangles(given, 3)[0], [[0, 0, 0], [1, 0, 0], [1, 1, 0]])


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


def test_v_points_down(tmp_path: Path) -> None:
    given = read(tmp_path, SQUARE + "vt 0.25 0.75\nvt 1 0\nvt 0 1 0\nf 1/1 2/2 3/3\n".replace("vt 0 1 0", "vt 0 1"))
    assert given.streams.uv0 is not None
    assert given.streams.uv0.tolist() == [[0.25, 0.25], [1, 1], [0, 0]]


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


@pytest.mark.parametrize(
    ("line", "what"), [("l 1 2", "lines"), ("p 1", "points"), ("curv 0 1 1 2", "curves or surfaces")]
)
def test_what_is_not_a_face_is_reported(line: str, what: str, tmp_path: Path) -> None:
    given = read(tmp_path, f"{SQUARE}f 1 2 3\n{line}\n")
    assert [fact.what for fact in given.report.not_applied] == [f"has {what}"]
    assert not read(tmp_path, f"{SQUARE}f 1 2 3\nusemtl l 1\n").report.not_applied


def test_vertex_colours_are_reported(tmp_path: Path) -> None:
    coloured = "".join(f"{line} 1 0.5 0\n" for line in SQUARE.splitlines())
    warning = "colours of vertices in an OBJ are not read: use glTF for them"
    assert read(tmp_path, f"{coloured}f 1 2 3\n").report.warnings == [warning]
    assert not read(tmp_path, f"{SQUARE}f 1 2 3\n").report.warnings


def test_a_missing_mtl_is_reported(tmp_path: Path) -> None:
    given = read(tmp_path, f"mtllib none.mtl\n{SQUARE}usemtl steel\nf 1 2 3\n")
    (warning,) = given.report.warnings
    assert warning.startswith("none.mtl, its .mtl, is not in its folder: colours and pictures")


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


def test_russian_names(tmp_path: Path) -> None:
    for encoding in ("utf-8", "cp1251"):
        given = read(tmp_path, f"{SQUARE}o башня\nf 1 2 3\n".encode(encoding))
        assert given.nodes[0].name == "башня"


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


def test_degenerate_and_double_faces_stay(tmp_path: Path) -> None:
    given = read(tmp_path, SQUARE + "f 1 2 3\nf 1 2 3\nf 1 1 2\nf 3 3 3\nf 1 2\n")
    assert len(triangles(given)) == 4
    assert given.report.warnings == ["1 face with fewer than three corners skipped"]
    assert given.streams.normals is not None
    assert np.isfinite(given.streams.normals).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "has no vertices"),
        (b"hello\n", "has no vertices"),
        (b'{"asset": {}}', "has no vertices"),
        (b"glTF\x02\0\0\0", "is not an OBJ"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\n", "has no faces"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2\n", "has no faces"),
        (b"v 0 0 0\nf\n", "has no faces"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 4\n", "line 4: a face has an index out of range: v 4"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 0\n", "out of range: v 0 of 3"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 -4\n", "out of range: v 0 of 3"),
        (b"v 0 0 0\nv 1 0 0\nf 1 2 -1\nv 1 1 0\nf 1 2 -9\n", "line 5: a face has an index"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nf 1/1 2/2 3/1\n", "out of range: vt 2 of 1"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nvn 0 0 1\nf 1//1 2//1 3//2\n", "out of range: vn 2 of 1"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 99999999999999999999999\n", "too many digits"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 x\n", "line 4: a face cannot be read: f 1 2 x"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3.5\n", "a face cannot be read"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 1-3\n", "a face cannot be read"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 -\n", "a face cannot be read"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\nf 1 2 /1\n", "line 5: a face cannot be read"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3/1/1/1\n", "a face cannot be read"),
        (b"v 0 0 0\nv 1 0 nan\nv 1 1 0\nf 1 2 3\n", "not finite"),
        (b"v 0 0 0\nv 1 0 inf\nv 1 1 0\nf 1 2 3\n", "not finite"),
        (b"v 0 0 0\nv 1 0 1e39\nv 1 1 0\nf 1 2 3\n", "too large"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nvt nan 0\nf 1/1 2/1 3/1\n", "not finite"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nvn 0 0 nan\nf 1//1 2//1 3//1\n", "not finite"),
        (b"v 0 0\nv 1 0\nv 1 1\nf 1 2 3\n", "too few numbers"),
        (b"v 0 0 0\nv 1 0 zero\nv 1 1 0\nf 1 2 3\n", "a vertex cannot be read"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 1\nf 1/1 2/1 3/1\n", "too few numbers"),
        (b"# msh-gltf frame=soon\n", "msh-gltf line cannot be understood"),
        (b"# msh-gltf frame=nan\n", "msh-gltf line cannot be understood"),
        (b"# msh-gltf lod=3\n", "msh-gltf line cannot be understood"),
        (b"# msh-gltf group=-1\n", "msh-gltf line cannot be understood"),
        (b"# msh-gltf up=x\n", "msh-gltf line cannot be understood"),
        (b"# msh-gltf dialect=other\n", "msh-gltf line cannot be understood"),
        (b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf" + b" 1 2 3" * 200, "too many corners: 600"),
    ],
)
def test_hostile_files_are_named(text: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConversionError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert "in.obj" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConversionError):
        read_obj(tmp_path / "none.obj")
