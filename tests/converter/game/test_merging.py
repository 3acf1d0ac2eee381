"""Differences of two authors: merged in either order alike, or a conflict by table and row.

What comes of each pair stands in ``merges.txt``; ``python -m tests.converter.game.test_merging`` writes it again, for
you to read what became different.
"""

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from msh_gltf.converter.edits.areal_map import replace_polygons
from msh_gltf.converter.errors import Conflict
from msh_gltf.converter.formats.areal_map import write_areal_map
from msh_gltf.converter.formats.kinds import Kind, content_kind
from msh_gltf.converter.formats.material import MATERIAL_HEADER_DTYPE, MATERIAL_TYPE, PHASE_DTYPE
from msh_gltf.converter.formats.mission import Mission, read_mission, write_mission
from msh_gltf.converter.formats.model_parts import POINTS_TYPE
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.objects import read_unit, write_unit
from msh_gltf.converter.formats.wear import WEAR_TYPE, edited_wear, read_wear
from msh_gltf.converter.game.differences import Touched, apply, difference, overlap
from msh_gltf.converter.game.split import split
from tests.support import assembly
from tests.support.areals import inner, own, sample
from tests.support.assembled_game import ROBOT, GameParts
from tests.support.corpus import DATA, LIBS, SAMPLES, sample_called
from tests.support.game_edits import bare, edited_model, edited_terrain, findings_of, repeats
from tests.support.maps import BUNDLED, level_called
from tests.support.recorded import Recorded, digest

TIMES = int(os.environ.get("MSH_GLTF_EXAMPLES", "1"))
MERGES = Recorded(__file__, "merges.txt")
MODELS = [s.path for s in SAMPLES if s.path.parent == DATA and not s.truth["legacy"]][1::2]
KINDS = (
    "move node",
    "turn node",
    "move vertices",
    "change uv",
    "change normals",
    "move key",
    "assign material",
    "rename node",
    "delete triangles",
    "add triangles",
    "change flags",
    "new object",
    "delete part",
    "reparent node",
    "scale part object",
    "change lightmap uv",
    "change colours",
    "animate node",
    "lengthen clip",
    "change label",
    "flip triangles",
    "duplicate node",
    "delete node and its parts",
    "move part to another cell",
)
PLANT = sample_called("spec__odd__B_PLANT_008").path
MATERIALS = [
    bytes(entry.payload)
    for entry in read_nres((LIBS / "Material.lib").read_bytes(), "x").entries
    if entry.type_id == MATERIAL_TYPE
]
PARTS = GameParts()
#: A unit with so many properties that a copy of it repeats 64 bytes.
PARTS.placed[1]["properties"] = [(1, n, f"Property number {n}") for n in range(6)]
MISSION = PARTS.mission


class Pair(NamedTuple):
    """An entry and what two authors make of it; ``both``: what is to come of it, where that is known."""

    base: bytes
    one: bytes
    other: bytes
    type_id: int | None = None
    both: bytes | None = None

    def merged(self) -> bytes | list[Touched]:
        """Both versions in one, which is the same in either order; or where they conflict.

        That is a conflict in either order, and foretold by ``overlap``.
        """
        a, b = (difference(self.base, version, type_id=self.type_id) for version in (self.one, self.other))
        assert apply(a, self.base) == self.one
        assert apply(b, self.base) == self.other
        places = overlap(a, b)
        assert bool(places) == bool(overlap(b, a))
        if places:
            named = {place.table for place in (*places, *overlap(b, a))}
            for diff, version in ((a, self.other), (b, self.one)):
                with pytest.raises(Conflict) as error:
                    apply(diff, version)
                assert error.value.table in named
                assert {place.table for place in error.value.places} <= named
            return places
        result = apply(b, self.one)
        assert apply(a, self.other) == result
        return result

    def outcome(self) -> str:
        """What comes of it, which has no fault that none of the versions has."""
        out = self.merged()
        if isinstance(out, list):
            rows = [one.rows.tolist() for one in out]
            shown = [some if len(some) < 9 else digest(some) for some in rows]
            return ", ".join(f"{one.table} {one.kind} {some}" for one, some in zip(out, shown, strict=True))
        assert self.both in (None, out)
        if content_kind(out) in (Kind.MODEL, Kind.TERRAIN):
            known = findings_of(self.base) | findings_of(self.one) | findings_of(self.other)
            assert not findings_of(out) - known
        return f"merged {len(out)} {digest(out)}"


# ------------------------------------------------------------------ models and terrains


@cache
def model_edits(path: Path) -> list[bytes]:
    """A model after a random edit, each of another kind or seed."""
    chance, out = np.random.default_rng(31), []
    while len(out) < 9 + TIMES:
        data = edited_model(path, str(chance.choice(KINDS)), int(chance.integers(99)))
        if data is not None:
            out.append(data)
    return out


def of_models() -> Iterator[Pair]:
    chance = np.random.default_rng(32)
    for _ in range(100 * TIMES):
        path = MODELS[chance.integers(len(MODELS))]
        edits = model_edits(path)
        one, other = (edits[at] for at in chance.choice(len(edits), 2, replace=False))
        yield Pair(path.read_bytes(), one, other)


def of_bounds() -> Iterator[Pair]:
    """Boxes that both changed hold both."""
    path = sample_called("retail__odd__l_mast_010").path
    versions = [edited_model(path, "move vertices", seed) for seed in range(1, 6)]
    for one, other in combinations([one for one in versions if one is not None], 2):
        yield Pair(path.read_bytes(), one, other)


def of_tables() -> Iterator[Pair]:
    """What a table counts may not move under what names it; errors and other names of tables."""
    for path in MODELS:
        one, other = edited_model(path, "delete part", 1), edited_model(path, "move part to another cell", 2)
        if one is not None and other is not None:
            yield Pair(path.read_bytes(), one, other)
    base = PLANT.read_bytes()
    renamed, model = edited_model(PLANT, "rename node", 1), split("model", base)
    assert renamed is not None
    batches = model.tables["13.0"].matrix.copy()
    batches[0, 16:20] = 255  # the base vertex
    yield Pair(base, renamed, model.join({"13.0": batches.tobytes()}, {}))
    foreign = bytearray(base)
    foreign[-64 + 21] ^= 1  # a letter of the last entry's name
    yield Pair(base, renamed, bytes(foreign))


def of_terrains() -> Iterator[Pair]:
    for level in BUNDLED:
        path = level.folder / "Land.msh"
        for one, other in combinations([edited_terrain(path, seed) for seed in range(4 * TIMES)], 2):
            yield Pair(path.read_bytes(), one, other)
    path = level_called("spec__AutoMAP_00").folder / "Land.msh"
    terrain = split("terrain", path.read_bytes())
    hull = np.frombuffer(terrain.tables["2.0h"].data, "<f4").copy()
    hull[2] = hull[:24].reshape(8, 3)[:, 2].mean()  # one corner, inside the box
    odd = terrain.join({"2.0h": hull.tobytes()}, {})
    for seed in range(6):
        yield Pair(path.read_bytes(), odd, edited_terrain(path, seed))


# ------------------------------------------------------------------ small files


def of_materials() -> Iterator[Pair]:
    """Another colour of one phase, or another surface."""
    chance = np.random.default_rng(5)

    def edited(data: bytes) -> bytes:
        out, at = bytearray(data), 4
        if chance.random() >= 0.2:
            phase = int(chance.integers(int.from_bytes(data[:2], "little")))
            at = MATERIAL_HEADER_DTYPE.itemsize + PHASE_DTYPE.itemsize * phase + int(chance.integers(16))
        out[at] = (out[at] + 1 + int(chance.integers(200))) % 256
        return bytes(out)

    for _ in range(100 * TIMES):
        base = MATERIALS[chance.integers(len(MATERIALS))]
        yield Pair(base, edited(base), edited(base), MATERIAL_TYPE)


def of_wears() -> Iterator[Pair]:
    files, chance = sorted(DATA.glob("*.wea")), np.random.default_rng(6)
    for _ in range(100 * TIMES):
        base = files[chance.integers(len(files))].read_bytes()
        wear = read_wear(base, "x")[0]
        rows = [(int(chance.integers(len(wear.materials) + 1)), f"M_{chance.integers(1000)}") for _ in range(2)]
        one, other = (edited_wear(wear, {row: name}).text.encode("cp1251") for row, name in rows)
        is_known = rows[0][0] != rows[1][0]
        both = edited_wear(wear, dict(rows)).text.encode("cp1251") if is_known else None
        yield Pair(base, one, other, WEAR_TYPE, both)


def of_points() -> Iterator[Pair]:
    base = (4).to_bytes(4, "little") + np.random.default_rng(7).bytes(4 * 68)
    first, again, second = (bytearray(base) for _ in range(3))
    first[4 + 12] ^= 1
    again[4 + 13] ^= 1
    second[4 + 36 + 12] ^= 1
    both = bytearray(second)
    both[4 + 12] ^= 1
    yield Pair(base, bytes(first), bytes(second), POINTS_TYPE, bytes(both))
    yield Pair(base, bytes(first), bytes(again), POINTS_TYPE)
    yield Pair(b"a" * 100, b"b" * 100, b"c" * 100)  # of no format


# ------------------------------------------------------------------ records of sizes of their own


Change = Callable[[Mission], object]


def of_mission(*changes: Change) -> bytes:
    mission = copy.deepcopy(read_mission(MISSION, "x"))
    for change in changes:
        change(mission)
    return write_mission(mission)


def move(row: int, x: float) -> Change:
    def change(mission: Mission) -> None:
        mission.objects[row].record["position"][0] = x

    return change


def name(row: int, text: bytes) -> Change:
    return lambda mission: setattr(mission.objects[row], "name", text)


def add(like: int, x: float) -> Change:
    def change(mission: Mission) -> None:
        mission.objects.append(copy.deepcopy(mission.objects[like]))
        mission.objects[-1].record["position"][0] = x

    return change


def route(mission: Mission) -> None:
    mission.routes[0] = replace(mission.routes[0], points=mission.routes[0].points + np.float32(1))


def of_missions() -> Iterator[Pair]:
    for one, other in (
        (move(1, 5), move(2, 6)),
        (move(1, 5), name(2, b"another name")),
        (name(0, b""), route),
        (add(1, 9), move(2, 6)),
        (add(3, 9), route),
    ):
        yield Pair(MISSION, of_mission(one), of_mission(other), both=of_mission(one, other))
    for one, other in (
        (move(1, 5), move(1, 6)),
        (move(1, 5), name(1, b"it")),
        (add(1, 5), add(2, 6)),
        (lambda mission: mission.objects.pop(0), move(2, 6)),
    ):
        yield Pair(MISSION, of_mission(one), of_mission(other))


def of_units() -> Iterator[Pair]:
    base = assembly.unit(PARTS.units[ROBOT])

    def labelled(row: int, text: bytes) -> bytes:
        unit = read_unit(base, "x")
        records = unit.records.copy()
        records["label"][row] = np.frombuffer(text.ljust(32, b"\0"), np.uint8)
        return write_unit(replace(unit, records=records))

    yield Pair(base, labelled(1, b"a"), labelled(2, b"b"))
    yield Pair(base, labelled(1, b"a"), labelled(1, b"b"))


def of_areals() -> Iterator[Pair]:
    """Cells that both change are a conflict; areals far apart share none."""
    areals = sample()
    base = write_areal_map(areals)

    def shrunk(index: int) -> bytes:
        polygon = own(areals, index)
        centre = polygon.mean(0)
        return write_areal_map(replace_polygons(areals, {index: centre + (polygon - centre) * np.float32(0.8)}))

    versions = [shrunk(index) for index in inner(areals, 6, 3)]
    for one, other in combinations(versions, 2):
        yield Pair(base, one, other)
    yield Pair(base, versions[0], versions[0], both=versions[0])


PAIRS: dict[str, Callable[[], Iterator[Pair]]] = {
    one.__name__.removeprefix("of_"): one
    for one in (of_models, of_bounds, of_tables, of_terrains, of_materials, of_wears, of_points, of_missions)
} | {"units": of_units, "areals": of_areals}


def outcomes(kind: str) -> Iterator[tuple[str, str]]:
    for number, pair in enumerate(PAIRS[kind]()):
        yield f"{kind} {number}", pair.outcome()


@pytest.mark.parametrize("kind", PAIRS)
def test_two_edits_merge_or_conflict(kind: str) -> None:
    """Some of each kind do, and some of them do not."""
    texts = list[str]()
    for number, text in outcomes(kind):
        texts.append(text)
        if TIMES == 1:
            MERGES.require(number, text)
    assert {text.startswith("merged") for text in texts} == ({False} if kind == "tables" else {False, True})


def test_three_mods_merge_in_any_order() -> None:
    base = PLANT.read_bytes()
    versions = [edited_model(PLANT, kind, 1) for kind in ("move vertices", "change uv", "move key", "rename node")]
    diffs = [difference(base, version) for version in versions if version is not None]
    assert len(diffs) > 2
    results = set()
    for order in np.random.default_rng(8).permuted(np.tile(np.arange(len(diffs)), (6, 1)), axis=1):
        data = base
        for at in order.tolist():
            data = apply(diffs[at], data)
        results.add(data)
    assert len(results) == 1


def test_a_copied_record_is_not_given_away_and_needs_what_it_copies() -> None:
    """Its difference is made of the record; who changes that one overlaps, in either order."""
    diff = difference(MISSION, of_mission(add(1, 9)))
    assert apply(diff, MISSION) == of_mission(add(1, 9))
    assert not any(repeats(part, MISSION) for part in bare(diff, MISSION))
    for row, count in ((1, 1), (2, 0)):
        other = difference(MISSION, of_mission(move(row, 3)))
        assert len(overlap(diff, other)) == len(overlap(other, diff)) == count


if __name__ == "__main__":
    MERGES.write(row for kind in PAIRS for row in outcomes(kind))
