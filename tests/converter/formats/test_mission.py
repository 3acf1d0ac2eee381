"""Missions: every byte comes back, in every version; what is wrong is named with its place."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.mission import (
    LODE_DTYPE,
    OBJECT_DTYPE,
    SINCE,
    ZONE_DTYPE,
    Clan,
    Mission,
    PlacedObject,
    Property,
    Route,
    new_clan_record,
    number_of,
    read_mission,
    word_of,
    write_mission,
)
from tests.support import assembly as make
from tests.support.corpus import CORPUS

WORDS = st.integers(0, 0xFFFFFFFF)
TEXTS = st.binary(max_size=12)


def records(dtype: np.dtype) -> st.SearchStrategy:
    """A record of any bits: NaN with payloads too."""
    size = dtype.itemsize
    return st.binary(min_size=size, max_size=size).map(lambda raw: np.frombuffer(raw, dtype)[0])


def tables(dtype: np.dtype) -> st.SearchStrategy:
    return st.integers(0, 3).flatmap(
        lambda n: st.binary(min_size=n * dtype.itemsize, max_size=n * dtype.itemsize).map(
            lambda raw: np.frombuffer(raw, dtype)
        )
    )


@st.composite
def clans(draw: st.DrawFn) -> Clan:
    counts = draw(st.lists(st.integers(0, 2), max_size=3))
    size = sum(counts) * ZONE_DTYPE.itemsize
    zones = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), ZONE_DTYPE)
    record = draw(records(new_clan_record().dtype))
    relations = draw(st.lists(st.tuples(TEXTS, WORDS), max_size=2))
    return Clan(record, draw(TEXTS), draw(TEXTS), counts, zones, draw(TEXTS), draw(WORDS), relations)


OBJECTS = st.builds(
    PlacedObject,
    records(OBJECT_DTYPE),
    TEXTS,
    TEXTS,
    st.lists(st.builds(Property, WORDS, WORDS, WORDS, WORDS, TEXTS), max_size=2),
)
ROUTES = st.builds(Route, WORDS, tables(np.dtype([("point", "<f4", (3,))])).map(lambda t: t["point"]))
MISSIONS = st.builds(
    Mission,
    st.lists(ROUTES, max_size=2),
    st.lists(clans(), max_size=2),
    st.lists(OBJECTS, max_size=3),
    tables(LODE_DTYPE),
    TEXTS,
    WORDS,
    TEXTS,
    object_version=st.integers(1, 10),
)


@given(MISSIONS)
def test_any_mission_comes_back_byte_for_byte(mission: Mission) -> None:
    data = write_mission(mission)
    again = read_mission(data, "data.tma")
    assert write_mission(again) == data
    assert [c.name for c in again.clans] == [c.name for c in mission.clans]
    assert [c.zones.tobytes() for c in again.clans] == [c.zones.tobytes() for c in mission.clans]
    if mission.object_version == 10:
        for one, other in zip(again.objects, mission.objects, strict=True):
            assert one.record.tobytes() == other.record.tobytes()
            assert (one.path, one.name, one.properties) == (other.path, other.name, other.properties)


@pytest.mark.parametrize("version", range(1, 11))
def test_every_version_of_the_object_record_is_read(version: int) -> None:
    data = make.full_mission(version)
    mission = read_mission(data, "data.tma")
    assert write_mission(mission) == data
    base, hero, tree, rock = mission.objects
    assert [placed.kind for placed in mission.objects] == [0, 1, 2, 3]
    assert base.reference == "UNITS\\BUILDS\\base.dat"
    assert rock.record["position"].tolist() == [1, 2, 3]
    assert tree.record["turns"].tolist() == [0, 0, 0.5]
    assert int(base.record["clan"]) == (1 if version >= SINCE["clan"] else 0xFFFFFFFF)
    assert hero.logical_id == (101 if version >= SINCE["logical_id"] else -1)
    assert hero.title == ("Герой" if version >= SINCE["name"] else "")
    assert hero.host == ((100, 2) if version >= SINCE["host"] else None)
    assert tree.scale == ((1.5,) * 3 if version >= SINCE["scale"] else (1.0,) * 3)
    numbers = [(each.title, each.number) for each in base.properties]
    wanted = [("LogicalID", 100), ("MaxSpeedPercent", 0.5)]
    assert numbers == (wanted if version >= SINCE["property_version"] else [])


def test_tables_are_read() -> None:
    mission = read_mission(make.full_mission(), "data.tma")
    assert mission.map == "DATA\\MAPS\\Tut_1\\Land"
    assert [(route.id, len(route.points)) for route in mission.routes] == [(7, 2), (8, 0)]
    nature, player = mission.clans
    assert (nature.title, nature.type, nature.base) == ("Nature", 0, (10.0, 20.0))
    assert nature.zone_counts == [1, 0, 2]
    assert nature.zones["outer"].tolist() == [5, 1, 1]
    assert player.title == "Игрок"
    assert mission.lodes["amount"].tolist() == [5000]


@given(st.integers(0, 1), WORDS)
def test_words_of_properties_come_back(type: int, word: int) -> None:
    number = number_of(type, word)
    if number == number:  # a NaN comes back as a NaN
        assert word_of(type, number) == word


def test_what_is_refused_is_named_with_its_place() -> None:
    for at, word, text in (
        (0, 99, "m/data.tma, byte 0x0: version of the file is unknown: 99 (expected 1)"),
        (4, 0xFFFFFFFF, "m/data.tma, routes, byte 0x4: more routes than the file has bytes for: 4294967295"),
    ):
        data = bytearray(make.full_mission())
        struct.pack_into("<I", data, at, word)
        with pytest.raises(ConversionError) as error:
            read_mission(bytes(data), "m/data.tma")
        assert text in str(error.value)


@pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")
def test_missions_of_the_corpus_come_back() -> None:
    found = sorted(Path(CORPUS or "").glob("*/game/MISSIONS/**/*.tma"))
    assert found
    for path in found:
        data = path.read_bytes()
        assert write_mission(read_mission(data, path.name)) == data
