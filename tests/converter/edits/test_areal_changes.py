"""Areals are edited in a glTF file: what fits arrives in the map, anything else is named.

What comes of each edit stands in ``areals.txt``; ``python -m tests.converter.edits.test_areal_changes`` writes it
again, for you to read what became different.
"""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.checks.areal_map import check_areal_map, check_areal_map_further
from msh_gltf.converter.edits.areal_changes import class_of
from msh_gltf.converter.formats.areal_map import read_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.areals import own
from tests.support.corruption.areal import Map
from tests.support.corruption.base import NAN, Nres
from tests.support.gltf_edit import HARMLESS, Editable
from tests.support.gltf_view import TO_GAME
from tests.support.maps import BUNDLED, level_called
from tests.support.recorded import Recorded, outcome
from tests.support.runs import call

#: What comes of each edit.
AREALS = Recorded(__file__, "areals.txt")
SOURCE = level_called("spec__AutoMAP_00").folder / "Land.map"
OLD = read_areal_map(read_nres(SOURCE.read_bytes(), "Land.map"))


class Faces:
    """All triangles of a map's glTF, each with corners of its own, as an artist's tool has them."""

    def __init__(self, folder: Path, source: Path = SOURCE) -> None:
        self.path = folder / "m.glb"
        assert call(cli.msh2gltf, source, "-o", self.path, "-q", "--tolerant") == 0
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

    def back(self, *, allow_delete: bool = False, numbered: bool = True) -> ImportResult:
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
            if not numbered:
                primitive["attributes"] = {"POSITION": primitive["attributes"]["POSITION"]}
            index = np.arange(3 * rows.sum(), dtype=np.uint32)[:, None]
            primitive["indices"] = add(index)
        self.document.save(self.path)
        return import_gltf(self.path, None, ImportOptions(allow_delete=allow_delete))


#: An areal inside the map, and a corner that several areals have.
AREAL = 15
CORNER = own(OLD, AREAL)[0]


def move_corner(f: Faces) -> None:
    """In all areals that have it."""
    f.points[(f.points == CORNER).all(axis=2)] += np.float32([0.5, -0.25, 0])


def split(f: Faces, number: float) -> None:
    """0 and unknown numbers are new; a fraction, as the extension writes it, is of the same."""
    f.number[f.of(AREAL)[1]] = number


def delete(f: Faces) -> None:
    f.keep(np.setdiff1d(np.arange(len(f.mesh)), f.of(AREAL)))


def delete_and_add(f: Faces) -> None:
    place, mesh = f.points[f.of(AREAL)], int(f.mesh[f.of(AREAL)[0]])
    delete(f)
    f.add(place, 0, mesh)


def move_object(f: Faces) -> None:
    for node in f.document.json["nodes"]:
        node["translation"] = [100, 5, 0]


def lose_neighbours(f: Faces) -> None:
    """Only one of two areals moves a common corner away."""
    rows, centre = f.of(AREAL), own(OLD, AREAL).mean(axis=0)
    points = f.points[rows]
    points[(points == CORNER).all(axis=2)] += (centre - CORNER) * np.float32(0.1)
    f.points[rows] = points


def fill_with_a_hole(f: Faces) -> None:
    """A ring of six triangles inside the areal's outline."""
    rows = f.of(AREAL)
    outer = own(OLD, AREAL)
    middle = outer.mean(axis=0)
    ring = (outer + middle) / 2
    f.keep(np.setdiff1d(np.arange(len(f.mesh)), rows))
    for k in range(len(outer)):
        j = (k + 1) % len(outer)
        f.add([[outer[k], outer[j], ring[k]], [outer[j], ring[j], ring[k]]], AREAL + 1)


def lie_over_another(f: Faces) -> None:
    f.add(f.points[f.of(AREAL)], 0)


def cover_twice(f: Faces) -> None:
    rows = f.of(AREAL)
    f.add(f.points[rows], AREAL + 1, int(f.mesh[rows[0]]))


def pull_through(f: Faces) -> None:
    """A corner goes beyond the opposite edge."""
    points, centre = own(OLD, AREAL), own(OLD, AREAL).mean(axis=0)
    rows = f.of(AREAL)
    own_points = f.points[rows]
    own_points[(own_points == points[0]).all(axis=2)] += (centre - points[0]) * np.float32(6)
    f.points[rows] = own_points


def mix_flags(f: Faces) -> None:
    rows = f.of(AREAL)
    f.logic[rows[0], 0] = 1 - f.logic[rows[0], 0]


def forget_the_class(f: Faces) -> None:
    f.document.json["materials"][0] = {"name": "grass"}
    node = f.document.json["nodes"][0]
    node["name"] = "grass"
    node.pop("extras")


def merge_vertices(f: Faces) -> None:
    """Blender's importer with *Merge Vertices*: a corner has one number for all its areals."""
    same: dict[tuple[float, ...], float] = {}
    for row, column in np.ndindex(*f.number.shape):
        key = (int(f.mesh[row]), *f.points[row, column].tolist())
        f.number[row, column] = same.setdefault(key, f.number[row, column])
    move_corner(f)


def z_up(f: Faces) -> None:
    x, y, z = np.moveaxis(f.points, -1, 0)
    f.points = np.stack([x, -z, y], axis=-1)


def many_corners(f: Faces) -> None:
    """Whether its edges cross would take minutes."""
    outer = np.float32([[np.cos(a), np.sin(a), 0] for a in np.linspace(0, 6.28, 4200)]) * 50
    f.add(np.stack([np.zeros_like(outer[:-1]), outer[:-1], outer[1:]], axis=1), 0)


EDITS: dict[str, Callable[[Faces], object]] = {
    "a corner moved": move_corner,
    **{f"split, number {n}": lambda f, n=n: split(f, n) for n in (0.0, AREAL + 1 + 1 / 64, 9999.0)},
    "deleted": delete,
    "deleted and added": delete_and_add,
    # Blender copies the custom properties of a material along; the name counts
    "a new class": lambda f: f.document.json["materials"][0].update(name="class_7.001"),
    "an object moved": move_object,
    "few": lambda f: f.keep(f.of(AREAL)),
    "few, allowed": lambda f: f.keep(f.of(AREAL)),
    "lost neighbours": lose_neighbours,
    "a hole": fill_with_a_hole,
    "over another": lie_over_another,
    "twice": cover_twice,
    "pulled through": pull_through,
    "mixed flags": mix_flags,
    "no class": forget_the_class,
    "merged vertices": merge_vertices,
    "very many corners": many_corners,
    "z up": z_up,
    # what Blender's exporter makes by default, and version 0.1 did
    "without numbers": lambda f: None,
    "without numbers, a corner moved": move_corner,
    "with errors": lambda f: None,
    "with errors, a corner moved": move_corner,
}


def with_errors(folder: Path) -> Path:
    """A map of which an edit cannot be applied."""
    box = Nres.read(SOURCE.read_bytes())
    area = Map(box)
    struct.pack_into("<f", area.data, area.records[2] + 56, NAN)
    (folder / "Land.map").write_bytes(box.write())
    return folder / "Land.map"


def found(name: str, folder: Path) -> str:
    """What comes of an edit, which brings no new findings."""
    source = with_errors(folder) if "with errors" in name else SOURCE
    faces = Faces(folder, source)
    EDITS[name](faces)

    def back() -> ImportResult:
        result = faces.back(allow_delete="allowed" in name, numbered="without numbers" not in name)
        maps = [read_areal_map(read_nres(data, "map")) for data in (source.read_bytes(), result.data)]
        before, now = ({f.code for f in [*check_areal_map(m), *check_areal_map_further(m)]} for m in maps)
        assert now <= before or "few" in name
        assert not now & {"areal-link", "areal-link-mutual"}
        return result

    return outcome(back, folder)


@pytest.mark.parametrize("name", EDITS)
def test_what_comes_of_an_edit(name: str, tmp_path: Path) -> None:
    AREALS.require(name, found(name, tmp_path))


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


@pytest.mark.parametrize("change", HARMLESS)
@pytest.mark.parametrize("level", BUNDLED, ids=lambda level: level.id)
def test_other_layouts_are_unchanged(level, change: str, tmp_path: Path) -> None:
    assert call(cli.msh2gltf, level.folder / "Land.map", "-o", tmp_path / "m.glb", "-q") == 0
    document = Editable(tmp_path / "m.glb")
    lines = [document.json["meshes"].pop()] if change in ("shuffled", "merged") else []
    HARMLESS[change](document)
    document.json["meshes"] += lines
    back = import_gltf(document.save(tmp_path / "m.glb"))
    assert (back.unchanged, back.not_applied) == (True, [])


if __name__ == "__main__":
    AREALS.write_each(EDITS, found)
