"""Areals are edited in a glTF file: what fits arrives in the map, anything else is named.

Plain edits are drawn by the judge's trials (``tests.converter.judge.grounds``).
"""

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from msh_gltf.converter import cli
from msh_gltf.converter.checks.areal_map import check_areal_map, check_areal_map_further
from msh_gltf.converter.formats.areal_map import read_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.converter.judge.grounds import Areals
from tests.converter.judge.world import AXES
from tests.support.areals import own
from tests.support.corruption.areal import Map
from tests.support.corruption.base import NAN, Nres
from tests.support.maps import level_called
from tests.support.recorded import outcome
from tests.support.runs import call

SOURCE = level_called("spec__AutoMAP_00").folder / "Land.map"
#: An areal inside the map, its corners in axes of glTF, and one that several areals have.
AREAL = 15
OUTER = own(read_areal_map(read_nres(SOURCE.read_bytes(), "Land.map")), AREAL) @ AXES.astype(np.float32)
CENTRE, CORNER = OUTER.mean(axis=0), OUTER[0]
#: A primitive with positions, numbers and flags of its triangles, as ``Areals.faces`` has them.
Mesh = tuple[Any, np.ndarray, np.ndarray, np.ndarray]


def mine(f: Areals) -> tuple[Mesh, np.ndarray]:
    """The mesh of the areal, and its triangles."""
    return next((mesh, rows) for mesh in f.faces() if len(rows := np.flatnonzero(mesh[2][:, 0] == AREAL + 1)))


def put(f: Areals, mesh: Mesh, kept: Any, triangles: Any = (), number: float = 0.0) -> None:
    """Keep some triangles of a mesh, and add others of a number."""
    primitive, *arrays = mesh
    new = np.array(triangles, np.float32).reshape(-1, 3, 3)
    more = (new, np.full((len(new), 3), number), np.full((len(new), 3), -1))
    for name, array, added in zip(("POSITION", "_MSH_AREAL", "_MSH_LOGIC"), arrays, more, strict=True):
        width = 3 if name == "POSITION" else 1
        whole = np.concatenate([array[kept], added]).reshape(-1, width)
        primitive["attributes"][name] = f.file.add(whole.astype(np.float32))
    primitive["attributes"].pop("NORMAL", None)
    primitive["indices"] = f.file.add(np.arange(len(whole), dtype=np.uint32)[:, None])


def move_corner(f: Areals) -> None:
    """In all areals that have it."""
    f.edit_move_corner(np.random.default_rng(0))


def number(f: Areals, value: float, rows: slice = slice(1, 2)) -> None:
    """0 and unknown numbers are new; a fraction, as the extension writes it, is of the same."""
    mesh, triangles = mine(f)
    mesh[2][triangles[rows]] = value


def few(f: Areals) -> None:
    """Nothing but one areal."""
    mesh, rows = mine(f)
    put(f, mesh, rows)
    for node in f.nodes:
        if f.file.json["meshes"][node["mesh"]]["primitives"][0] is not mesh[0]:
            del node["mesh"]


def towards_the_centre(f: Areals, share: float) -> None:
    """A corner moves, in the one areal alone: away from its neighbours, or through the opposite edge."""
    mesh, rows = mine(f)
    points = mesh[1][rows]
    points[(points == CORNER).all(axis=2)] += (CENTRE - CORNER) * np.float32(share)
    mesh[1][rows] = points


def fill_with_a_hole(f: Areals) -> None:
    """A ring of triangles inside the areal's outline."""
    mesh, rows = mine(f)
    ring, ends = (OUTER + CENTRE) / 2, np.roll(np.arange(len(OUTER)), -1)
    outside = [[OUTER[k], OUTER[end], ring[k]] for k, end in enumerate(ends)]
    inside = [[OUTER[end], ring[end], ring[k]] for k, end in enumerate(ends)]
    put(f, mesh, np.setdiff1d(np.arange(len(mesh[1])), rows), outside + inside, AREAL + 1)


def cover(f: Areals, value: float) -> None:
    mesh, rows = mine(f)
    put(f, mesh, slice(None), mesh[1][rows], value)


def mix_flags(f: Areals) -> None:
    mesh, rows = mine(f)
    mesh[3][rows[0], 0] = 1 - mesh[3][rows[0], 0]


def forget_the_class(f: Areals) -> None:
    f.file.json["materials"][0] = {"name": "grass"}
    f.nodes[0]["name"] = "grass"
    f.nodes[0].pop("extras")


def merge_vertices(f: Areals) -> None:
    """Blender's importer with *Merge Vertices*: a corner has one number for all its areals."""
    for _, positions, numbers, _ in f.faces():
        _, first, place = np.unique(positions.reshape(-1, 3), axis=0, return_index=True, return_inverse=True)
        numbers[:] = numbers.reshape(-1)[first[place.reshape(-1)]].reshape(-1, 3)
    move_corner(f)


def z_up(f: Areals) -> None:
    for _, positions, *_ in f.faces():
        positions[:] = positions @ AXES.T


def many_corners(f: Areals) -> None:
    """Whether its edges cross would take minutes."""
    outer = np.array([[np.cos(a), 0, -np.sin(a)] for a in np.linspace(0, 6.28, 4200)]) * 50
    put(f, f.faces()[0], slice(None), np.stack([np.zeros_like(outer[:-1]), outer[:-1], outer[1:]], axis=1))


def without_numbers(f: Areals) -> None:
    """What Blender's exporter makes by default, and version 0.1 did."""
    for primitive, *_ in f.faces():
        primitive["attributes"] = {"POSITION": primitive["attributes"]["POSITION"]}


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
    """An edit of a map's triangles, of a map that has errors, or with an option."""

    edit: Callable[[Areals], object]
    errors: bool = False
    allow_delete: bool = False

    def found(self, folder: Path) -> str:
        source = with_errors(folder) if self.errors else SOURCE
        if self.errors:
            assert call(cli.msh2gltf, source, "-o", folder / "m.glb", "-q", "--tolerant") == 0
        f = Areals.of_file(folder / "m.glb") if self.errors else Areals(folder)
        self.edit(f)
        back = partial(import_gltf, f.file.save(f.path), None, ImportOptions(allow_delete=self.allow_delete))
        return outcome(back, folder, lambda out: sorted(new_findings(source.read_bytes(), out.data)))


CASES = {
    **{f"split, number {n}": Row(lambda f, n=n: number(f, n)) for n in (AREAL + 1 + 1 / 64, 9999.0)},
    "deleted and added": Row(lambda f: number(f, 0, slice(None))),
    # Blender copies the custom properties of a material along; the name counts
    "a new class": Row(lambda f: f.file.json["materials"][0].update(name="class_7.001")),
    "an object moved": Row(lambda f: [node.update(translation=[100, 5, 0]) for node in f.nodes]),
    "few": Row(few),
    "few, allowed": Row(few, allow_delete=True),
    "lost neighbours": Row(lambda f: towards_the_centre(f, 0.1)),
    "pulled through": Row(lambda f: towards_the_centre(f, 6)),
    "a hole": Row(fill_with_a_hole),
    "over another": Row(lambda f: cover(f, 0)),
    "twice": Row(lambda f: cover(f, AREAL + 1)),
    "mixed flags": Row(mix_flags),
    "no class": Row(forget_the_class),
    "merged vertices": Row(merge_vertices),
    "very many corners": Row(many_corners),
    "z up": Row(z_up),
    "without numbers": Row(without_numbers),
    "without numbers, a corner moved": Row(lambda f: (move_corner(f), without_numbers(f))),
    "with errors": Row(lambda f: None, errors=True),
    "with errors, a corner moved": Row(move_corner, errors=True),
}
