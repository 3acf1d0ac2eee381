"""Differences of files whose records have sizes of their own: missions and areal maps; and units."""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from msh_gltf.converter.edits.areal_map import replace_polygons
from msh_gltf.converter.formats.areal_map import write_areal_map
from msh_gltf.converter.formats.mission import Mission, read_mission, write_mission
from msh_gltf.converter.formats.objects import read_unit, write_unit
from msh_gltf.converter.game.differences import apply, difference, overlap, touched
from tests.converter.game.mod_rows import bare, repeats
from tests.converter.game.test_merging import merged
from tests.support import assembly
from tests.support.areals import inner, own, sample
from tests.support.assembled_game import ROBOT, GameParts

PARTS = GameParts()
#: A unit with so many properties that a copy of it repeats 64 bytes.
PARTS.placed[1]["properties"] = [(1, n, f"Property number {n}") for n in range(6)]
MISSION = PARTS.mission


def of_mission(*changes: Callable[[Mission], object]) -> bytes:
    mission = copy.deepcopy(read_mission(MISSION, "x"))
    for change in changes:
        change(mission)
    return write_mission(mission)


def move(row: int, x: float) -> Callable[[Mission], object]:
    def change(mission: Mission) -> None:
        mission.objects[row].record["position"][0] = x

    return change


def name(row: int, text: bytes) -> Callable[[Mission], object]:
    return lambda mission: setattr(mission.objects[row], "name", text)


def add(like: int, x: float) -> Callable[[Mission], object]:
    def change(mission: Mission) -> None:
        mission.objects.append(copy.deepcopy(mission.objects[like]))
        mission.objects[-1].record["position"][0] = x

    return change


def route(mission: Mission) -> None:
    mission.routes[0] = replace(mission.routes[0], points=mission.routes[0].points + np.float32(1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (move(1, 5), move(2, 6)),
        (move(1, 5), name(2, b"another name")),
        (name(0, b""), route),
        (add(1, 9), move(2, 6)),
        (add(3, 9), route),
    ],
)
def test_records_of_a_mission_merge(one, other) -> None:  # type: ignore[no-untyped-def]
    out = merged(MISSION, of_mission(one), of_mission(other))
    assert out == of_mission(one, other)


@pytest.mark.parametrize(
    ("one", "other", "table", "row"),
    [
        (move(1, 5), move(1, 6), "objects", 1),
        (move(1, 5), name(1, b"it"), "objects", 1),
        (add(1, 5), add(2, 6), "objects", 4),
        (lambda mission: mission.objects.pop(0), move(2, 6), "objects", 2),
    ],
)
def test_one_record_of_a_mission_conflicts(one, other, table: str, row: int) -> None:  # type: ignore[no-untyped-def]
    assert merged(MISSION, of_mission(one), of_mission(other)) is None
    place = overlap(*(difference(MISSION, of_mission(each)) for each in (one, other)))
    assert table in [one.table for one in place]
    assert row in [r for one in place for r in one.rows.tolist()]


def test_a_copied_record_is_not_given_away_and_needs_what_it_copies() -> None:
    """Its difference is made of the record; who changes that one overlaps, in either order."""
    diff = difference(MISSION, of_mission(add(1, 9)))
    assert apply(diff, MISSION) == of_mission(add(1, 9))
    assert not any(repeats(part, MISSION) for part in bare(diff, MISSION))
    for row, count in ((1, 1), (2, 0)):
        other = difference(MISSION, of_mission(move(row, 3)))
        assert len(overlap(diff, other)) == len(overlap(other, diff)) == count


def test_components_of_a_unit_merge() -> None:
    base = assembly.unit(PARTS.units[ROBOT])

    def labelled(row: int, text: bytes) -> bytes:
        unit = read_unit(base, "x")
        records = unit.records.copy()
        records["label"][row] = np.frombuffer(text.ljust(32, b"\0"), np.uint8)
        return write_unit(replace(unit, records=records))

    assert [(t.table, t.rows.tolist()) for t in touched(difference(base, labelled(1, b"a")))] == [("components", [1])]
    assert merged(base, labelled(1, b"a"), labelled(2, b"b")) is not None
    assert merged(base, labelled(1, b"a"), labelled(1, b"b")) is None


def test_polygons_of_an_areal_map_merge() -> None:
    """Cells that both change are a conflict; areals far apart share none."""
    areals = sample()
    base, results = write_areal_map(areals), []

    def shrunk(index: int) -> bytes:
        polygon = own(areals, index)
        centre = polygon.mean(0)
        return write_areal_map(replace_polygons(areals, {index: centre + (polygon - centre) * np.float32(0.8)}))

    some = inner(areals, 6, 3)
    versions = [shrunk(index) for index in some]
    for i, one in enumerate(versions):
        assert {t.kind for t in touched(difference(base, one))} == {"rows"}
        results += [merged(base, one, other) for other in versions[:i]]
    assert any(results)
    assert merged(base, versions[0], shrunk(some[0])) == versions[0]
