"""Areals are edited in a glTF file: what fits arrives in the map, anything else is named."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.checks.areal_map import check_areal_map, check_areal_map_further
from msh_gltf.converter.edits.areal_polygons import class_of
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import ArealMap, link_targets, read_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.numeric.arrays import near_pairs
from msh_gltf.converter.numeric.surfaces import shared_area
from msh_gltf.converter.options import ImportOptions
from tests.support.areal_edits import own, record_bytes, require_mutual
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import TO_GAME
from tests.support.maps import level_called
from tests.support.runs import call

SOURCE = level_called("spec__AutoMAP_00").folder / "Land.map"
OLD = read_areal_map(read_nres(SOURCE.read_bytes(), "Land.map"))


class Faces:
    """All triangles of a map's glTF, each with corners of its own, as an artist's tool has them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "m.glb"
        assert call(cli.msh2gltf, SOURCE, "-o", self.path, "-q") == 0
        self.document = Editable(self.path)
        self.meshes = [m for m in self.document.json["meshes"] if m["name"] != "borders"]
        parts = []
        for number, mesh in enumerate(self.meshes):
            (primitive,) = mesh["primitives"]
            index = self.document.arrays[primitive["indices"]].reshape(-1, 3)
            names = ("POSITION", "_MSH_AREAL", "_MSH_LOGIC")
            arrays = [self.document.arrays[primitive["attributes"][k]][index] for k in names]
            parts.append((*arrays, np.full(len(index), number)))
        joined = [np.concatenate(some).copy() for some in zip(*parts, strict=True)]
        #: (T, 3, 3) game axes; (T, 3), (T, 3); the mesh of each triangle, (T,).
        self.points = joined[0] @ TO_GAME.T.astype(np.float32)
        self.number, self.logic, self.mesh = joined[1][..., 0], joined[2][..., 0], joined[3]

    def of(self, areal: int) -> np.ndarray:
        return np.flatnonzero(self.number[:, 0] == areal + 1)

    def add(self, triangles: object, number: float, mesh: int = 0) -> None:
        points = np.array(triangles, np.float32)
        rows = (len(points), 3)
        self.points = np.concatenate([self.points, points])
        self.number = np.concatenate([self.number, np.full(rows, number, np.float32)])
        self.logic = np.concatenate([self.logic, np.full(rows, -1, np.float32)])
        self.mesh = np.append(self.mesh, np.full(len(points), mesh))

    def keep(self, rows: np.ndarray) -> None:
        self.points, self.number = self.points[rows], self.number[rows]
        self.logic, self.mesh = self.logic[rows], self.mesh[rows]

    def back(self, *, allow_delete: bool = False) -> ImportResult:
        for number, mesh in enumerate(self.meshes):
            rows = self.mesh == number
            (primitive,) = mesh["primitives"]
            if not rows.any():
                for node in self.document.json["nodes"]:
                    if node.get("name") == mesh["name"]:
                        node.pop("mesh", None)
                continue
            positions = self.points[rows].reshape(-1, 3) @ TO_GAME.astype(np.float32)
            add = self.document.add
            primitive["attributes"] = {
                "POSITION": add(positions.astype(np.float32)),
                "_MSH_AREAL": add(self.number[rows].reshape(-1, 1)),
                "_MSH_LOGIC": add(self.logic[rows].reshape(-1, 1)),
            }
            index = np.arange(3 * rows.sum(), dtype=np.uint32)[:, None]
            primitive["indices"] = add(index)
        self.document.save(self.path)
        return import_gltf(self.path, None, ImportOptions(allow_delete=allow_delete))


@pytest.fixture
def faces(tmp_path: Path) -> Faces:
    return Faces(tmp_path)


def arrived(result: ImportResult) -> ArealMap:
    """The map that came of an edit; without new findings."""
    assert result.not_applied == []
    new = read_areal_map(read_nres(result.data, "new"))
    found = {f.code for f in [*check_areal_map(OLD), *check_areal_map_further(OLD)]}
    now = {f.code for f in [*check_areal_map(new), *check_areal_map_further(new)]}
    assert now <= found
    require_mutual(new)
    return new


def inner() -> tuple[int, np.ndarray]:
    """An areal inside the map, and a corner that several areals have."""
    low, high = OLD.extent
    for areal in range(len(OLD.records)):
        points = own(OLD, areal)
        if (points[:, :2] > low).all() and (points[:, :2] < high).all() and len(points) == 4:
            return areal, points[0]
    raise AssertionError


AREAL, CORNER = inner()


def test_a_moved_corner_moves_in_all_areals_that_have_it(faces: Faces) -> None:
    at = (faces.points == CORNER).all(axis=2)
    concerned = sorted({int(n) - 1 for n in faces.number[at]})
    assert len(concerned) > 1
    faces.points[at] += np.float32([0.5, -0.25, 0])
    result = faces.back()
    assert [change.where for change in result.changes] == [f"areal {i}" for i in concerned]
    text = ", ".join(f"{v:g}" for v in (CORNER + np.float32([0.5, -0.25, 0])).tolist())
    assert result.changes[0].what == f"corners differ; 1 new corner, the first at ({text})"
    new = arrived(result)
    assert result.warnings == []
    moved = CORNER + np.float32([0.5, -0.25, 0])
    assert all((own(new, i) == moved).all(axis=1).any() for i in concerned)
    assert not (new.vertices == CORNER).all(axis=1).any()
    assert np.array_equal(new.links, OLD.links)
    old_bytes = record_bytes(OLD, bytes(OLD.entry.payload))
    new_bytes = record_bytes(new, bytes(new.entry.payload))
    assert {i for i, one in enumerate(old_bytes) if one != new_bytes[i]} == set(concerned)


@pytest.mark.parametrize("number", [0.0, AREAL + 1 + 1 / 64, 9999.0])
def test_a_split_areal_is_two(number: float, faces: Faces) -> None:
    """0 and unknown numbers are new; a fraction, as the extension writes it, is of the same."""
    rows = faces.of(AREAL)
    assert len(rows) == 2
    faces.number[rows[1]] = number
    result = faces.back()
    count = len(OLD.records)
    new = arrived(result)
    assert len(new.records) == count + 1
    assert sorted((len(own(new, AREAL)), len(own(new, count)))) == [3, 3]
    areas = new.records["area"][[AREAL, count]].sum()
    assert areas == pytest.approx(OLD.records["area"][AREAL], rel=1e-5)
    assert new.records["class_id"][count] == OLD.records["class_id"][AREAL]
    assert new.records["logic"][count] == OLD.records["logic"][AREAL]
    assert (link_targets(new) >= 0).sum() == (link_targets(OLD) >= 0).sum() + 2
    assert result.warnings == []
    split = f", split from areal {AREAL}" if number == AREAL + 1 + 1 / 64 else ""
    normal = OLD.records["normal"][AREAL].tolist() if split else [0, 0, 1]
    assert new.records["normal"][count].tolist() == normal
    assert result.changes[-1].what.endswith(f"class {OLD.records['class_id'][AREAL]}{split}")


def test_deleted_areals_and_new_ones(faces: Faces) -> None:
    gone = faces.of(AREAL)
    place = faces.points[gone]
    mesh = int(faces.mesh[gone[0]])
    faces.keep(np.setdiff1d(np.arange(len(faces.mesh)), gone))
    result = faces.back()
    assert [str(change) for change in result.changes] == [f"areal {AREAL}: is deleted"]
    new = arrived(result)
    assert len(new.records) == len(OLD.records) - 1
    assert np.array_equal(own(new, AREAL), own(OLD, AREAL + 1))
    faces.add(place, 0, mesh)
    result = faces.back()
    new = arrived(result)
    assert len(new.records) == len(OLD.records)
    assert (link_targets(new) >= 0).sum() == (link_targets(OLD) >= 0).sum()
    assert result.warnings == []


def test_a_new_class_is_a_material_of_its_name(faces: Faces) -> None:
    """Blender copies the custom properties of a material along; the name counts."""
    faces.document.json["materials"][0]["name"] = "class_7.001"
    result = faces.back()
    assert result.changes
    assert {change.what.rpartition(" becomes ")[2] for change in result.changes} == {"7"}
    arrived(result)


def test_a_moved_object_moves_its_areals(faces: Faces) -> None:
    for node in faces.document.json["nodes"]:
        node["translation"] = [100, 5, 0]
    result = faces.back()
    new = arrived(result)
    assert np.allclose(new.vertices, OLD.vertices + np.float32([100, 0, 5]), atol=1e-3)
    assert np.array_equal(new.links, OLD.links)


def test_few_areals_are_a_selection(faces: Faces) -> None:
    faces.keep(faces.of(AREAL))
    result = faces.back()
    assert result.kept_all
    assert "looks like a part of the scene" in result.not_applied[0].line
    result = faces.back(allow_delete=True)
    assert result.not_applied == []
    new = read_areal_map(read_nres(result.data, "new"))
    assert np.array_equal(new.vertices, own(OLD, AREAL))


def test_lost_neighbours_are_named(faces: Faces) -> None:
    """Only one of two areals moves a common corner away."""
    rows = faces.of(AREAL)
    centre = own(OLD, AREAL).mean(axis=0)
    at = (faces.points[rows] == CORNER).all(axis=2)
    points = faces.points[rows]
    points[at] += (centre - CORNER) * np.float32(0.1)
    faces.points[rows] = points
    result = faces.back()
    (warning,) = result.warnings
    named = re.findall(r"areal (\d+) near \(([^)]+)\)", warning)
    assert str(AREAL) in dict(named)
    for _, place in named:  # in the middle of an edge at the corner
        near = np.abs(np.array([float(v) for v in place.split(", ")]) - CORNER).max()
        assert near <= np.ptp(own(OLD, AREAL), axis=0).max()
    assert " lost a neighbour: units cannot cross" in warning


# ------------------------------------------------------------------ what does not fit


def fill_with_a_hole(faces: Faces) -> None:
    """A ring of six triangles inside the areal's outline."""
    rows = faces.of(AREAL)
    outer = own(OLD, AREAL)
    middle = outer.mean(axis=0)
    ring = (outer + middle) / 2
    faces.keep(np.setdiff1d(np.arange(len(faces.mesh)), rows))
    for k in range(len(outer)):
        j = (k + 1) % len(outer)
        faces.add([[outer[k], outer[j], ring[k]], [outer[j], ring[j], ring[k]]], AREAL + 1)


def lie_over_another(faces: Faces) -> None:
    faces.add(faces.points[faces.of(AREAL)], 0)


def cover_twice(faces: Faces) -> None:
    rows = faces.of(AREAL)
    faces.add(faces.points[rows], AREAL + 1, int(faces.mesh[rows[0]]))


def pull_through(faces: Faces) -> None:
    """A corner goes beyond the opposite edge."""
    points, centre = own(OLD, AREAL), own(OLD, AREAL).mean(axis=0)
    rows = faces.of(AREAL)
    own_points = faces.points[rows]
    own_points[(own_points == points[0]).all(axis=2)] += (centre - points[0]) * np.float32(6)
    faces.points[rows] = own_points


def mix_flags(faces: Faces) -> None:
    rows = faces.of(AREAL)
    faces.logic[rows[0], 0] = 1 - faces.logic[rows[0], 0]


def forget_the_class(faces: Faces) -> None:
    faces.document.json["materials"][0] = {"name": "grass"}
    node = faces.document.json["nodes"][0]
    node["name"] = "grass"
    node.pop("extras")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (fill_with_a_hole, rf"areal {AREAL} has a hole: at \([-\d.]+, [-\d.]+, [-\d.]+\); cut it"),
        (lie_over_another, r"areals \d+ and \d+ overlap: [\d.]+ square units at \("),
        (cover_twice, rf"areal {AREAL} touches itself, or lies there twice: at \("),
        (pull_through, rf"areal {AREAL}: |areals \d+ and \d+ overlap"),
        (mix_flags, r"corners of one areal have different logic flags: 0 and 1 at \("),
        (forget_the_class, r"an object has no class of areals: \d+ faces of 'grass'"),
    ],
)
def test_what_does_not_fit_is_refused(edit: Callable[[Faces], None], message: str, faces: Faces) -> None:
    edit(faces)
    with pytest.raises(ConversionError, match=message) as caught:
        faces.back()
    assert "m.glb" in str(caught.value)


def test_merged_vertices_change_nothing(faces: Faces) -> None:
    """Blender's importer with *Merge Vertices*: a corner has one number for all its areals."""
    same = {}
    for row, column in np.ndindex(*faces.number.shape):
        key = (int(faces.mesh[row]), *faces.points[row, column].tolist())
        faces.number[row, column] = same.setdefault(key, faces.number[row, column])
    faces.points[(faces.points == CORNER).all(axis=2)] += np.float32([0.5, 0, 0])
    result = faces.back()
    assert result.data == SOURCE.read_bytes()
    assert {one.instead for one in result.not_applied} == {
        "import it without Merge Vertices; give a new face a number that no areal has"
    }


def test_names_of_classes() -> None:
    for name, extras, number in (
        ("class_3.001", {"class_id": 5}, 3),
        ("grass", {"class_id": 5}, 5),
        ("grass", {}, -1),
        ("class_4294967295", {}, 4294967295),
        ("class_4294967296", {}, -1),
        ("class_99999999999999999999", {"class_id": 7}, 7),
        ("x", {"class_id": "7"}, -1),
        ("x", {"class_id": float("nan")}, -1),
        ("x", None, -1),
    ):
        assert class_of(name, extras) == number, name


def test_a_polygon_of_very_many_corners_is_refused(faces: Faces) -> None:
    """Whether its edges cross would take minutes."""
    outer = np.float32([[np.cos(a), np.sin(a), 0] for a in np.linspace(0, 6.28, 4200)]) * 50
    middle = np.zeros_like(outer[:-1])
    faces.add(np.stack([middle, outer[:-1], outer[1:]], axis=1), 0)
    with pytest.raises(ConversionError, match="new areal of class 1 has too many corners: 4201"):
        faces.back()


# ------------------------------------------------------------------ the parts


def test_shared_area_of_triangles() -> None:
    """Against a count of random points."""
    rng = np.random.default_rng(3)
    first, second = rng.uniform(0, 1, (2, 40, 3, 2))
    for one in (first, second):
        across = one[:, 1:] - one[:, :1]
        flip = across[:, 0, 0] * across[:, 1, 1] < across[:, 0, 1] * across[:, 1, 0]
        one[flip] = one[flip][:, ::-1]
    points = rng.uniform(0, 1, (20000, 2))

    def inside(triangle: np.ndarray) -> np.ndarray:
        a, b = triangle, np.roll(triangle, -1, 0)
        away, along = points[:, None] - a, b - a
        return (along[:, 0] * away[..., 1] >= along[:, 1] * away[..., 0]).all(axis=1)

    area, centre = shared_area(first, second)
    for k in range(40):
        both = inside(first[k]) & inside(second[k])
        assert area[k] == pytest.approx(both.mean(), abs=0.015)
        if both.mean() > 0.05:
            assert np.allclose(centre[k], points[both].mean(0), atol=0.03)
    beside = np.array([[[0.0, 0], [1, 0], [0, 1]]])
    assert shared_area(beside, np.array([[[1.0, 0], [1, 1], [0, 1]]]))[0] == pytest.approx(0)


def test_near_pairs_are_those_of_all_pairs() -> None:
    points = np.random.default_rng(4).uniform(-1, 1, (200, 3))
    points[50:100] = points[:50] + np.random.default_rng(5).uniform(-0.12, 0.12, (50, 3))
    i, j = near_pairs(points, 0.1)
    apart = np.abs(points[:, None] - points[None]).max(axis=2)
    a, b = np.nonzero(np.triu(apart <= 0.1, 1))
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == sorted(zip(a.tolist(), b.tolist(), strict=True))
    assert near_pairs(np.empty((0, 3)), 0.1)[0].size == 0
