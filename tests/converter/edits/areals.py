"""Areals are edited in a glTF file: what fits arrives in the map, anything else is named."""

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from msh_gltf.converter import cli
from msh_gltf.converter.checks.areal_map import check_areal_map, check_areal_map_further
from msh_gltf.converter.formats.areal_map import read_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.areals import own
from tests.support.corruption.areal import Map
from tests.support.corruption.base import NAN, Nres
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import TO_GAME
from tests.support.maps import level_called
from tests.support.recorded import outcome
from tests.support.runs import call

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


def with_errors(folder: Path) -> Path:
    """A map of which an edit cannot be applied."""
    box = Nres.read(SOURCE.read_bytes())
    area = Map(box)
    struct.pack_into("<f", area.data, area.records[2] + 56, NAN)
    (folder / "Land.map").write_bytes(box.write())
    return folder / "Land.map"


def new_findings(source: bytes, made: bytes) -> set[str]:
    """What is wrong in a map that was not before."""
    maps = [read_areal_map(read_nres(data, "map")) for data in (source, made)]
    before, now = ({f.code for f in [*check_areal_map(m), *check_areal_map_further(m)]} for m in maps)
    assert not now & {"areal-link", "areal-link-mutual"}
    return now - before


class Row(NamedTuple):
    """An edit of a map's triangles; of a map that has errors, of a file without numbers of areals, with an option."""

    edit: Callable[[Faces], object]
    errors: bool = False
    numbered: bool = True
    allow_delete: bool = False

    def found(self, folder: Path) -> str:
        source = with_errors(folder) if self.errors else SOURCE
        faces = Faces(folder, source)
        self.edit(faces)
        back = partial(faces.back, allow_delete=self.allow_delete, numbered=self.numbered)
        return outcome(back, folder, lambda out: sorted(new_findings(source.read_bytes(), out.data)))


CASES = {
    "a corner moved": Row(move_corner),
    **{f"split, number {n}": Row(lambda f, n=n: split(f, n)) for n in (0.0, AREAL + 1 + 1 / 64, 9999.0)},
    "deleted": Row(delete),
    "deleted and added": Row(delete_and_add),
    # Blender copies the custom properties of a material along; the name counts
    "a new class": Row(lambda f: f.document.json["materials"][0].update(name="class_7.001")),
    "an object moved": Row(move_object),
    "few": Row(lambda f: f.keep(f.of(AREAL))),
    "few, allowed": Row(lambda f: f.keep(f.of(AREAL)), allow_delete=True),
    "lost neighbours": Row(lose_neighbours),
    "a hole": Row(fill_with_a_hole),
    "over another": Row(lambda f: f.add(f.points[f.of(AREAL)], 0)),
    "twice": Row(cover_twice),
    "pulled through": Row(pull_through),
    "mixed flags": Row(mix_flags),
    "no class": Row(forget_the_class),
    "merged vertices": Row(merge_vertices),
    "very many corners": Row(many_corners),
    "z up": Row(z_up),
    # what Blender's exporter makes by default, and version 0.1 did
    "without numbers": Row(lambda f: None, numbered=False),
    "without numbers, a corner moved": Row(move_corner, numbered=False),
    "with errors": Row(lambda f: None, errors=True),
    "with errors, a corner moved": Row(move_corner, errors=True),
}
