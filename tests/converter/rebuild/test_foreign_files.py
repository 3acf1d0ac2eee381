"""Files from elsewhere: what a new model is made of, and what is said of what it cannot have.

What comes of each stands in ``foreign_files.txt``; ``python -m tests.converter.rebuild.test_foreign_files`` writes it
again, for you to read what became different.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import trimesh

from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from tests.support.corpus import sample_called
from tests.support.foreign import QUAD, Builder, quaternion
from tests.support.recorded import Recorded, outcome
from tests.support.runs import to_gltf

FILES = Recorded(__file__, "foreign_files.txt")
UV = np.float32([[0, 0], [1, 0], [0, 1], [1, 1]])


class Case(NamedTuple):
    """What is in a file, and options of its import."""

    make: Callable[[Builder], object]
    options: dict[str, Any] = {}  # noqa: RUF012


def textured(b: Builder, uv: np.ndarray, points: np.ndarray = QUAD, indices: Any = (0, 1, 2, 1, 3, 2)) -> None:
    b.node(name="quad", mesh=b.mesh(points, indices, attributes={"TEXCOORD_0": b.accessor(np.float32(uv))}))


def two_triangles(b: Builder) -> None:
    """They share no vertex, and are 100 turns apart."""
    corners = [0, 1, 2, 1, 3, 2]
    textured(b, UV[corners] + np.float32([[0, 0]] * 3 + [[100, 0]] * 3), QUAD[corners], range(6))


def two_looks(b: Builder, other: str, *, same: bool) -> None:
    """The game finds materials in any case."""
    for number, (name, colour) in enumerate((("WALL", [1, 0, 0, 1]), (other, [int(same), 0, 0, 1]))):
        b.json.setdefault("materials", []).append({"name": name, "pbrMetallicRoughness": {"baseColorFactor": colour}})
        b.node(name=f"n{number}", mesh=b.mesh(material=number))
    b.json["scenes"][0]["nodes"] = [0, 1]


def nameless(b: Builder, colour: list[float]) -> None:
    """The row is DEFAULT; a material that shows nothing is as good as that."""
    b.json["materials"] = [{"pbrMetallicRoughness": {"baseColorFactor": colour}}]
    b.node(name="n", mesh=b.mesh(material=0))


def named(b: Builder, *names: str) -> None:
    for k, name in enumerate(names):
        b.node(name=name, mesh=b.mesh(QUAD + k))
    b.json["scenes"][0]["nodes"] = [*range(len(names))]


def painted(b: Builder, name: str | None) -> None:
    """A name that a material of the game may not have, and one that it has."""
    b.json["materials"] = [{} if name is None else {"name": name}, {"name": "y" * 35}]
    for number in range(2):
        b.node(name=f"n{number}", mesh=b.mesh(material=number))
    b.json["scenes"][0]["nodes"] = [0, 1]


def late_row(b: Builder) -> None:
    b.json["materials"] = [{"name": "late", "extras": {"msh": {"row": 4}}}]
    b.node(name="n", mesh=b.mesh(material=0))


def moving(b: Builder, seconds: Any, values: Any, path: str = "translation") -> None:
    b.node(name="n", mesh=b.mesh())
    b.clip(0, path, seconds, values)
    b.json["animations"][0]["name"] = "go"


def places(count: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, 3))


def other_channels(b: Builder) -> None:
    """They move a camera, a node of no scene, shape keys and a material."""
    moving(b, [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.json["nodes"] += [{"name": "gone"}, {"name": "camera", "camera": 0}]
    b.json["scenes"][0]["nodes"].append(2)
    b.json["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}}]
    pointer = {"pointer": "/materials/0/pbrMetallicRoughness/baseColorFactor"}
    b.json["animations"][0]["channels"] += [
        {"sampler": 0, "target": {"node": 2, "path": "translation"}},
        {"sampler": 0, "target": {"node": 1, "path": "translation"}},
        {"sampler": 0, "target": {"node": 0, "path": "weights"}},
        {"sampler": 0, "target": {"path": "pointer", "extensions": {"KHR_animation_pointer": pointer}}},
    ]


def scaled_too(b: Builder) -> None:
    moving(b, [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.clip(0, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]])


def wheel(b: Builder) -> None:
    """It spins round the axis along which its axle is stretched: even across it."""
    b.node(name="axle", mesh=b.mesh(), scale=[1, 3, 1], children=[1])
    b.node(name="wheel", mesh=b.mesh(), translation=[0, 1, 0])
    b.clip(1, "rotation", np.arange(7) / 24, [quaternion((0, 1, 0), angle) for angle in np.linspace(0, 2, 7)])


def ball(b: Builder) -> None:
    mesh = trimesh.creation.icosphere(2)
    b.node(name="ball", mesh=b.mesh(np.float32(mesh.vertices), mesh.faces.reshape(-1)))


CELLS = ("hut", "hut.level1", "hut.stage1", "hut.stage1.level2", "hut.lod2", "hut.view")
CASES = {
    **{
        f"a texture at {far}": Case(lambda b, far=far: textured(b, UV + far))
        for far in ((1000, 0), (-40.5, 33), (0, -100))
    },
    "a texture of two triangles, far apart": Case(two_triangles),
    "a texture that is too wide": Case(lambda b: textured(b, UV * 200)),
    **{
        f"WALL and {other}{', another look' * (not same)}": Case(lambda b, o=other, s=same: two_looks(b, o, same=s))
        for other in ("WALL.001", "wall")
        for same in (True, False)
    },
    "a look without a name": Case(lambda b: nameless(b, [1, 0, 0, 1])),
    "no look and no name": Case(lambda b: nameless(b, [1, 1, 1, 1])),
    **{
        f"a material {name!r}"[:20]: Case(lambda b, name=name: painted(b, name))
        for name in ("壁", None, "a\0b", "x" * 36, " edge", "a\nb", "Стена", "B GLASS")
    },
    "a row after others": Case(late_row),
    "long names": Case(lambda b: named(b, "я" * 31, "я" * 32, "я" * 33, "ok")),
    **{f"names of cells, {d}": Case(lambda b: named(b, *CELLS), {"dialect": d}) for d in ("spec", "retail")},
    "channels that a model cannot have": Case(other_channels),
    "animated scale": Case(scaled_too),
    "animated scale, ignored": Case(scaled_too, {"ignore_scale": True}),
    # sampled at a usual rate, a key is a frame; other spacings are keys at 24
    **{f"31 keys at {rate}": Case(lambda b, r=rate: moving(b, np.arange(31) / r, places(31))) for rate in (30, 25, 7)},
    "a clip beyond every limit": Case(lambda b: moving(b, [0, 1e9], places(2))),
    # nothing says where levels go: spec would make damage stages of them in the game
    **{
        f"{len(ratios)} levels{f', {dialect}' if dialect else ''}": Case(
            ball, {"lod_ratios": ratios} | ({"dialect": dialect} if dialect else {})
        )
        for ratios in ((0.5, 0.25), (0.5, 0.3, 0.2))
        for dialect in (None, "spec", "retail")
    },
    "a wheel on an axle that is stretched": Case(wheel),
}


def found(name: str, folder: Path) -> str:
    """What comes of a file: its report, the rows of materials, nodes and cells, and what a frame is."""
    b, made = Builder(), list[ImportResult]()
    CASES[name].make(b)
    path, options = b.save(folder), ImportOptions(use_sidecar=False, **CASES[name].options)

    def act() -> ImportResult:
        made.append(import_gltf(path, None, options))
        return made[0]

    text = outcome(act, folder)
    if not made:
        return text
    scene = decode(read_model(read_nres(made[0].data, "m"), "m"), Dialect(made[0].dialect), "m")
    cells = [f"{scene.nodes[part.node].name} {part.lod}/{part.group}" for part in scene.parts]
    timing = [f"{scene.frame_count} frames at {made[0].timing.fps:g}"] if made[0].timing else []
    return "; ".join([text, f"rows {made[0].wear}", ", ".join(cells), *timing])


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    FILES.require(name, found(name, tmp_path))


def without_maps(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith(("vt ", "vn "))]
    return "\n".join(" ".join(word.partition("/")[0] for word in line.split()) for line in lines)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda text: text.replace("\no ", "\no other_"), "no object is named after a node.*Base_TM"),
        (lambda text: text.replace("o Base_TM\n", "o other\n"), "object 'other' .*a new node"),
        (without_maps, "no normals in the file.*texture coordinates"),
    ],
)
def test_an_obj_is_refused_or_says_what_it_does_not_have(
    edit: Callable[[str], str], expected: str, tmp_path: Path
) -> None:
    path = to_gltf(sample_called("retail__system__R_H_002"), tmp_path / "m.obj")
    path.write_text(edit(path.read_text("utf-8")), "utf-8")
    assert re.search(expected, outcome(lambda: import_obj(path), tmp_path))


if __name__ == "__main__":
    FILES.write_each(CASES, found)
