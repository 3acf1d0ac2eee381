"""Differences of two authors: merged in either order alike, or a conflict by table and row."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import Conflict
from msh_gltf.converter.formats.material import MATERIAL_HEADER_DTYPE, MATERIAL_TYPE, PHASE_DTYPE, read_material
from msh_gltf.converter.formats.model_parts import POINTS_TYPE
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.wear import WEAR_TYPE, Wear, edited_wear, read_wear
from msh_gltf.converter.game.differences import apply, difference, overlap, touched
from msh_gltf.converter.game.split import split
from tests.support.corpus import DATA, LIBS, SAMPLES, sample_called
from tests.support.game_edits import edited_model, edited_terrain, findings_of
from tests.support.maps import LEVELS, level_called

TIMES = int(os.environ.get("MSH_GLTF_EXAMPLES", "1"))
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
MATERIALS = [
    entry for entry in read_nres((LIBS / "Material.lib").read_bytes(), "x").entries if entry.type_id == MATERIAL_TYPE
]


def merged(base: bytes, one: bytes, other: bytes, type_id: int | None = None) -> bytes | None:
    """Two versions in one, which is the same in either order; ``None`` where they conflict.

    That is a conflict in either order, and foretold by ``overlap``.
    """
    a, b = (difference(base, version, type_id=type_id) for version in (one, other))
    assert apply(a, base) == one
    assert apply(b, base) == other
    places = overlap(a, b)
    assert bool(places) == bool(overlap(b, a))
    if places:
        named = {place.table for place in (*places, *overlap(b, a))}
        for diff, version in ((a, other), (b, one)):
            with pytest.raises(Conflict) as error:
                apply(diff, version)
            assert error.value.table in named
            assert {place.table for place in error.value.places} <= named
        return None
    result = apply(b, one)
    assert apply(a, other) == result
    return result


@cache
def model_edits(path: Path) -> list[bytes]:
    """A model after a random edit, each of another kind or seed."""
    chance, out = np.random.default_rng(31), []
    while len(out) < 9 + TIMES:
        data = edited_model(path, str(chance.choice(KINDS)), int(chance.integers(99)))
        if data is not None:
            out.append(data)
    return out


def test_two_edits_of_a_model_merge_or_conflict() -> None:
    chance, results = np.random.default_rng(32), []
    for _ in range(100 * TIMES):
        path = MODELS[chance.integers(len(MODELS))]
        edits = model_edits(path)
        base = path.read_bytes()
        one, other = (edits[at] for at in chance.choice(len(edits), 2, replace=False))
        results.append(merged(base, one, other))
        if results[-1] is not None:
            known = findings_of(base) | findings_of(one) | findings_of(other)
            assert not findings_of(results[-1]) - known
    assert 0.2 < np.mean([result is None for result in results]) < 0.8


@pytest.mark.parametrize("level", LEVELS, ids=[level.id for level in LEVELS])
def test_two_edits_of_a_terrain_merge(level) -> None:
    path = level.folder / "Land.msh"
    base = path.read_bytes()
    versions = [edited_terrain(path, seed) for seed in range(4 * TIMES)]
    results = []
    for i, one in enumerate(versions):
        for other in versions[:i]:
            results.append(merged(base, one, other))
            if results[-1] is not None:
                known = findings_of(base) | findings_of(one) | findings_of(other)
                assert not findings_of(results[-1]) - known
    assert any(result is not None for result in results)


def test_bounds_that_both_changed_hold_both() -> None:
    path = sample_called("retail__odd__l_mast_010").path
    base = path.read_bytes()
    versions = [edited_model(path, "move vertices", seed) for seed in range(1, 6)]
    bounds = ("Res2 (slots)", "Res2 (header)")
    found = 0
    for i, one in enumerate(versions):
        for other in versions[:i]:
            if one is None or other is None:
                continue
            both = [{t.table for t in touched(difference(base, v))} for v in (one, other)]
            if both[0] & both[1] & set(bounds) and (out := merged(base, one, other)) is not None:
                found += 1
                assert not findings_of(out) - findings_of(base)
    assert found


def edited_material(data: bytes, chance: np.random.Generator) -> bytes:
    """Another colour of one phase, or another surface."""
    out = bytearray(data)
    phases = int.from_bytes(data[:2], "little")
    if chance.random() < 0.2:
        out[4] = (out[4] + 1 + int(chance.integers(200))) % 256
    else:
        row = MATERIAL_HEADER_DTYPE.itemsize + PHASE_DTYPE.itemsize * int(chance.integers(phases))
        at = row + int(chance.integers(16))
        out[at] = (out[at] + 1 + int(chance.integers(200))) % 256
    return bytes(out)


def test_two_edits_of_a_material_merge_or_conflict() -> None:
    chance, seen = np.random.default_rng(5), set()
    for _ in range(100 * TIMES):
        entry = MATERIALS[chance.integers(len(MATERIALS))]
        base = bytes(entry.payload)
        one, other = (edited_material(base, chance) for _ in range(2))
        out = merged(base, one, other, MATERIAL_TYPE)
        seen.add(out is None)
        if out is not None:
            entry = type(entry)(**{**_fields(entry), "payload": out})
            read_material(entry, "x")
    assert seen == {True, False}


def _fields(entry) -> dict[str, object]:
    names = ("type_id", "attr1", "attr2", "attr3", "raw_name", "data_offset", "sort_index")
    return {name: getattr(entry, name) for name in names}


def test_two_edits_of_a_wear_merge_or_conflict() -> None:
    files = sorted(DATA.glob("*.wea"))
    chance, seen = np.random.default_rng(6), set()
    for _ in range(100 * TIMES):
        base = files[chance.integers(len(files))].read_bytes()
        wear = read_wear(base, "x")[0]
        rows = len(wear.materials)
        versions = []
        for _ in range(2):
            name = f"M_{chance.integers(1000)}"
            changed = edited_wear(wear, {int(chance.integers(rows + 1)): name})
            versions.append(changed.text.encode("cp1251"))
        out = merged(base, *versions, WEAR_TYPE)
        seen.add(out is None)
        if out is not None:
            found = Wear(out.decode("cp1251"))
            assert [f.code for f in found.check()] == [f.code for f in wear.check()]
            before, one, other = (Wear(v.decode("cp1251")).materials for v in (base, *versions))
            for row, name in enumerate(found.materials):
                changed = [v[row] for v in (one, other) if row < len(v) and v[row] not in before[row : row + 1]]
                assert name in (changed or before[row : row + 1])
    assert seen == {True, False}


def test_two_edits_of_control_points_merge_or_conflict() -> None:
    chance = np.random.default_rng(7)
    count = 4
    base = count.to_bytes(4, "little") + chance.bytes(count * 68)
    first, again, second = (bytearray(base) for _ in range(3))
    first[4 + 12] ^= 1
    again[4 + 13] ^= 1
    second[4 + 36 + 12] ^= 1
    out = merged(base, bytes(first), bytes(second), POINTS_TYPE)
    assert out is not None
    assert out[4 + 12] == first[4 + 12]
    assert merged(base, bytes(first), bytes(again), POINTS_TYPE) is None
    diff = difference(base, bytes(first), type_id=POINTS_TYPE)
    with pytest.raises(Conflict, match="points, row 0"):
        apply(diff, bytes(again))


def test_three_mods_merge_in_any_order() -> None:
    path = sample_called("spec__odd__B_PLANT_008").path
    base = path.read_bytes()
    kinds = ("move vertices", "change uv", "move key", "rename node")
    versions = [edited_model(path, kind, 1) for kind in kinds]
    diffs = [difference(base, version) for version in versions if version is not None]
    assert len(diffs) > 2
    results = set()
    for order in np.random.default_rng(8).permuted(np.tile(np.arange(len(diffs)), (6, 1)), axis=1):
        data = base
        for at in order.tolist():
            data = apply(diffs[at], data)
        results.add(data)
    assert len(results) == 1


def test_what_a_table_counts_may_not_move_under_what_names_it() -> None:
    """One adds triangles, the other names slots: row numbers would not mean what they did."""
    conflicts = 0
    for path in MODELS:
        base = path.read_bytes()
        one = edited_model(path, "delete part", 1)
        other = edited_model(path, "move part to another cell", 2)
        if one is not None and other is not None:
            conflicts += merged(base, one, other) is None
    assert conflicts


def test_a_version_with_errors_conflicts_in_either_order() -> None:
    path = sample_called("spec__odd__B_PLANT_008").path
    base = path.read_bytes()
    model = split("model", base)
    batches = model.tables["13.0"].matrix.copy()
    batches[0, 16:20] = 255  # the base vertex
    broken = model.join({"13.0": batches.tobytes()}, {})
    renamed = edited_model(path, "rename node", 1)
    assert merged(base, renamed, broken) is None


def test_other_names_of_tables_conflict_in_either_order() -> None:
    path = sample_called("spec__odd__B_PLANT_008").path
    base = path.read_bytes()
    foreign = bytearray(base)
    foreign[-64 + 21] ^= 1  # a letter of the last entry's name
    assert merged(base, edited_model(path, "rename node", 1), bytes(foreign)) is None


def test_the_box_of_a_terrain_does_not_depend_on_the_order() -> None:
    path = level_called("spec__AutoMAP_00").folder / "Land.msh"
    base = path.read_bytes()
    terrain = split("terrain", base)
    hull = np.frombuffer(terrain.tables["2.0h"].data, "<f4").copy()
    heights = hull[:24].reshape(8, 3)[:, 2]
    hull[2] = heights.mean()  # one corner, inside the box
    odd = terrain.join({"2.0h": hull.tobytes()}, {})
    for seed in range(6):
        assert merged(base, odd, edited_terrain(path, seed)) is not None
