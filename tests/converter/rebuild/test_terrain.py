"""Terrains rebuilt: what an edit does not concern stays, and rebuilding again changes nothing.

The second reader holds every terrain that is made; what comes of single edits stands in ``edits/terrain.txt``. What
comes of several at random, in small terrains with words of every kind, stands in ``terrains.txt``; ``python -m
tests.converter.rebuild.test_terrain`` writes it again, for you to read what became different.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.checks.terrain import check_terrain
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import read_terrain, write_terrain
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.converter.edits.terrain import Edit, differing
from tests.support.gltf_edit import drop_extras
from tests.support.recorded import Recorded, outcome
from tests.support.terrain_maker import make_terrain

TERRAINS = Recorded(__file__, "terrains.txt")
#: Two rows have one name, so that the name alone does not tell them apart.
NAMES = ("none", "LND_01", "LND_02", "LND_01", "LND_04")
COUNT = 60
Chance = np.random.Generator


def made(folder: Path, chance: Chance) -> bytes:
    """A terrain of any shape, with its lists of materials."""
    across, down, steps = (int(chance.integers(1, 5)) for _ in range(3))
    blend, x_first = chance.random(2) < 0.5
    data = make_terrain(
        int(chance.integers(2**32)), across=across, down=down, steps=steps, blend=bool(blend), x_first=bool(x_first)
    )
    (folder / "Land.msh").write_bytes(data)
    for name in ("Land1.wea", "Land2.wea"):
        rows = "".join(f"{row} {one}\r\n" for row, one in enumerate(NAMES))
        (folder / name).write_text(f"{len(NAMES)}\r\n{rows}", newline="")
    return data


def some(chance: Chance, count: int, most: int = 5) -> np.ndarray:
    return chance.choice(count, min(count, int(chance.integers(1, most))), replace=False)


def raise_vertices(e: Edit, chance: Chance) -> None:
    e.stream("POSITION")[some(chance, len(e.stream("POSITION"))), 1] += np.float32(chance.uniform(-3, 3))


def shift_coordinates(e: Edit, chance: Chance) -> None:
    stream = str(chance.choice(["TEXCOORD_0", "TEXCOORD_1", "NORMAL"]))
    e.stream(stream)[some(chance, len(e.stream("POSITION")))] *= np.float32(0.5)


def delete_faces(e: Edit, chance: Chance) -> None:
    level = int(chance.integers(2))
    primitive = e.primitives(level)[int(chance.integers(len(e.primitives(level))))]
    index = e.index(primitive)
    if len(index) > 1:
        e.set_index(primitive, np.delete(index, some(chance, len(index) - 1), axis=0))


def turn_faces(e: Edit, chance: Chance) -> None:
    """Another corner first."""
    primitive = e.primitives(int(chance.integers(2)))[0]
    e.set_index(primitive, np.roll(e.index(primitive), int(chance.integers(1, 3)), axis=1))


def cut_face(e: Edit, chance: Chance) -> None:
    primitive = e.primitives()[int(chance.integers(len(e.primitives())))]
    index = e.index(primitive)
    row = int(chance.integers(len(index)))
    a, b, c = index[row].tolist()
    middle = e.stream("POSITION")[[a, b, c]].astype("f8").mean(axis=0)
    middle[1] += chance.uniform(0, 2)
    m = e.append(POSITION=middle.tolist())
    e.set_index(primitive, np.concatenate([np.delete(index, row, axis=0), [(a, b, m), (b, c, m), (c, a, m)]]))


def cover(e: Edit, chance: Chance) -> None:
    """New faces over others, which replace none."""
    primitive = e.primitives()[int(chance.integers(len(e.primitives())))]
    index = e.index(primitive)
    rows = index[some(chance, len(index))]
    above = [[e.append(POSITION=(e.stream("POSITION")[v] + [0, 9, 0]).tolist()) for v in row] for row in rows.tolist()]
    e.set_index(primitive, np.concatenate([index, above]))


def give_faces(e: Edit, chance: Chance) -> None:
    """To another material, of either level."""
    primitives = e.primitives(int(chance.integers(2)))
    one, other = (primitives[int(i)] for i in chance.integers(len(primitives), size=2))
    index = e.index(one)
    if one is not other and len(index) > 1:
        rows = some(chance, len(index) - 1)
        e.set_index(other, np.concatenate([e.index(other), index[rows]]))
        e.set_index(one, np.delete(index, rows, axis=0))


def coarse_corner(e: Edit, chance: Chance) -> None:
    """A coarse face gets other corners of the fine level."""
    primitive = e.primitives(1)[0]
    index = e.index(primitive).copy()
    corners = some(chance, 3)
    index[int(chance.integers(len(index))), corners] = e.index(e.primitives()[0])[0, corners]
    e.set_index(primitive, index)


def one_material_of_a_name(e: Edit, _: Chance) -> None:
    """Without custom properties, the name stands for several pairs of rows."""
    names = [material["name"].partition(".")[0] for material in e.document.json["materials"]]
    for primitive in e.document.primitives():
        primitive["material"] = names.index(names[primitive["material"]])
    drop_extras(e.document)


EDITS = (
    raise_vertices,
    shift_coordinates,
    delete_faces,
    turn_faces,
    cut_face,
    cover,
    give_faces,
    coarse_corner,
    one_material_of_a_name,
)


def shown(e: Edit) -> Counter[tuple[object, ...]]:
    """The faces of a file: their level, the name of their material, and where their corners are, in order."""
    names = [material["name"] for material in e.document.json["materials"]]
    faces: Counter[tuple[object, ...]] = Counter()
    for level in (0, 1):
        for primitive in e.primitives(level):
            for face in e.stream("POSITION")[e.index(primitive)].round(3).tolist():
                turned = min(face[k:] + face[:k] for k in range(3))
                faces[level, names[primitive["material"]], str(turned)] += 1
    return faces


def found(number: str, folder: Path) -> str:
    """Edits of a terrain, and what comes of them."""
    chance = np.random.default_rng(int(number))
    data = made(folder, chance)
    terrain = read_terrain(read_nres(data, "Land.msh"), "Land.msh")
    assert write_terrain(terrain) == data
    assert [f for f in check_terrain(terrain) if f.severity != "note"] == []
    assert Edit(folder, folder).back().data == data
    e = Edit(folder, folder)
    edits = [EDITS[int(i)] for i in some(chance, len(EDITS))]
    for edit in edits:
        edit(e, chance)
    if alone := chance.random() < 0.2:
        drop_extras(e.document)
    back: list[ImportResult] = []

    def act() -> ImportResult:
        back.append(e.back())
        return back[0]

    text = outcome(act, folder)
    if back and back[0].data != data:
        text = "; ".join([text, *differing(data, back[0].data)])
        again = folder / "again"
        again.mkdir()
        for name in ("Land1.wea", "Land2.wea"):
            (again / name).write_bytes((folder / name).read_bytes())
        (again / "Land.msh").write_bytes(back[0].data)
        after = Edit(again, again)
        assert back[0].not_applied or shown(after) == shown(e), text
        assert after.back().kept_all
    return "; ".join([", ".join(edit.__name__ for edit in edits) + ", by names" * alone, text])


@pytest.mark.parametrize("number", [str(number) for number in range(COUNT)])
def test_edits_of_any_terrain(number: str, tmp_path: Path) -> None:
    TERRAINS.require(number, found(number, tmp_path))


if __name__ == "__main__":
    TERRAINS.write_each([str(number) for number in range(COUNT)], found)
