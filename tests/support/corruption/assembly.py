"""Broken registries, units and missions."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import assembly as make
from tests.support import rsli
from tests.support.assembled_game import FULL, GROUND, ROBOT, ROOM, GameParts
from tests.support.corruption.base import INF, NAN, Nres, change, cut, kinds, pack, put
from tests.support.game import MESH, archive, entry, model


@dataclass(frozen=True)
class Made:
    """A valid file that is made for the purpose."""

    id: str
    data: bytes


def _writer(name: str) -> Callable[..., Path]:
    def write(folder: Path, sample: Made, change: Callable[[bytearray], None]) -> Path:
        data = bytearray(sample.data)
        change(data)
        path = folder / name
        path.write_bytes(data)
        return path

    return write


def _write_registry(folder: Path, sample: Made, change: Callable[[Nres], None]) -> Path:
    box = Nres.read(sample.data)
    change(box)
    path = folder / "objects.rlb"
    path.write_bytes(box.write())
    return path


def _registries() -> list[Made]:
    rows = {"a": ("FORT", [("objects.rlb", "b")]), "b": ("EXTO", [("static.rlb", "b.msh"), ("static.rlb", "b.wea")])}
    return [Made("two", make.registry(rows))]


def _units() -> list[Made]:
    parts = [("a", 0, -1, 2), ("b", 1, 3, 1), ("c", 4, 2, 0), ("d", 3, 0, 0)]
    return [Made("one", make.unit([("a", 0, -1, 0)])), Made("four", make.unit(parts))]


def _missions() -> list[Made]:
    return [Made(f"version {v}", make.full_mission(v)) for v in (10, 6, 2)]


of_registry = kinds("objects.rlb", _registries, _write_registry)
of_unit = kinds("unit", _units, _writer("unit.dat"))
of_mission = kinds("mission", _missions, _writer("data.tma"))


of_registry.table([("registry-size", "registry-row-cut", lambda box: box.entries[1].data.pop())])


@of_registry("registry-cycle")
def registry_parents_in_a_circle(box: Nres) -> None:
    box.entries[1].data += make.row("OBJECTS.RLB", "A")


@of_registry("registry-cycle")
def registry_parent_of_itself(box: Nres) -> None:
    box.entries[0].data[:] = make.row("objects.rlb", "a")


@of_registry("registry-parent")
def registry_parent_missing(box: Nres) -> None:
    box.entries[0].data += make.row("objects.rlb", "nobody")


@of_registry("registry-parent")
def registry_of_many_parents(box: Nres) -> None:
    for number in range(40):
        name = b"z%02d" % number
        box.add(0x4F545845, b"")
        box.entries[-1].name = name.ljust(36, b"\0")
        box.entries[0].data += make.row("objects.rlb", name.decode())
    order = sorted(range(len(box.entries)), key=lambda i: box.entries[i].name)
    for each, index in zip(box.entries, order, strict=True):
        each.sort = index


of_unit.table(
    [
        ("unit-magic", "unit-of-another-magic", lambda data: put(data, 0, 0)),
        ("unit-size", "unit-cut", lambda data: cut(data, -5)),
        ("unit-size", "unit-of-a-magic", lambda data: cut(data, 4)),
        ("unit-tree", "unit-without-components", lambda data: cut(data, 8)),
        ("unit-tree", "unit-with-many-children", lambda data: pack("<i", data, 8 + 108, 0x7FFFFFFF)),
        ("unit-tree", "unit-with-negative-children", lambda data: pack("<i", data, 8 + 108, -1)),
        ("unit-tree", "unit-with-a-second-root", lambda data: data.extend(make.component("second"))),
    ]
)


of_mission.table(
    [
        ("mission-version", "mission-of-version-2", lambda data: pack("<I", data, 0, 2)),
        ("mission-version", "mission-with-other-clans", lambda data: pack("<I", data, 8 + 8 + 24 + 8, 7)),
        ("mission-end", "mission-cut", lambda data: data.pop()),
        ("mission-end", "mission-cut-early", lambda data: cut(data, 6)),
        ("mission-end", "mission-empty", lambda data: data.clear()),
        ("mission-end", "mission-with-a-tail", lambda data: data.extend(b"\0")),
        ("mission-end", "mission-of-many-routes", lambda data: pack("<I", data, 4, 0xFFFFFFFF)),
        ("mission-end", "mission-route-of-many-points", lambda data: pack("<I", data, 12, 0xFFFFFFFF)),
    ]
)


@of_mission("mission-end")
def mission_clan_with_a_long_name(data: bytearray) -> None:
    at = data.index(b"Nature") - 4
    struct.pack_into("<I", data, at, 0xFFFFFFF0)


# ------------------------------------------------------------------ .bas and .ndp


def _beside_a_model(name: bytes) -> Callable[..., Path]:
    def write(folder: Path, sample: Made, change: Callable[[bytearray], None]) -> Path:
        data = bytearray(sample.data)
        change(data)
        rows = [(MESH, b"room.msh", model(ROOM)), (0x20534142, name, bytes(data))]
        path = folder / "game.rlb"
        path.write_bytes(archive([entry(*row) for row in rows]))
        return path

    return write


def _ring(count: int) -> bytes:
    return struct.pack("<2i", 1, count) + bytes(12 * (count + 1))


def _footings() -> list[Made]:
    return [Made("rings", _ring(4) + bytes(8 * 4) + _ring(6))]


def _node_properties() -> list[Made]:
    return [Made("room", struct.pack("<I", 12) + bytes(76 * 12))]


of_footing = kinds("footing", _footings, _beside_a_model(b"room.bas"))
of_properties = kinds("node properties", _node_properties, _beside_a_model(b"ROOM.NDP"))


of_footing.table(
    [
        ("footing-size", "footing-cut", lambda data: data.pop()),
        ("footing-size", "footing-empty", lambda data: data.clear()),
        ("footing-size", "footing-of-many-points", lambda data: pack("<i", data, 4, 0x7FFFFFFF)),
        ("footing-size", "footing-of-fewer-than-none", lambda data: pack("<i", data, 4, -1)),
        ("footing-size", "footing-with-a-tail", lambda data: data.extend(b"tail")),
    ]
)


of_properties.table(
    [
        ("ndp-size", "properties-cut", lambda data: data.pop()),
        ("ndp-size", "properties-of-many-nodes", lambda data: pack("<I", data, 0, 0xFFFFFFFF)),
    ]
)


@of_properties("ndp-count")
def properties_of_a_node_less(data: bytearray) -> None:
    del data[-76:]
    struct.pack_into("<I", data, 0, 11)


# ------------------------------------------------------------------ RsLi


def _libraries() -> list[Made]:
    entries = [("A", b"content" * 20, 0x60), ("B", b"more", 0x100), ("C", b"last", 0)]
    return [Made("three", rsli.library(entries))]


of_rsli = kinds("RsLi", _libraries, _writer("sprites.lib"))


def _entry(data: bytearray, row: int, form: str, offset: int, value: int) -> None:
    """Change a field of the enciphered table."""
    count = struct.unpack_from("<h", data, 4)[0]
    table = bytearray(rsli.cipher(bytes(data[32 : 32 + 32 * count])))
    struct.pack_into(form, table, 32 * row + offset, value)
    data[32 : 32 + 32 * count] = rsli.cipher(bytes(table))


of_rsli.table(
    [
        ("rsli-header", "rsli-of-a-magic", lambda data: cut(data, 8)),
        ("rsli-header", "rsli-of-many-entries", lambda data: pack("<h", data, 4, 0x7FFF)),
        ("rsli-header", "rsli-of-fewer-than-none", lambda data: pack("<h", data, 4, -1)),
        ("rsli-entry", "rsli-entry-outside", lambda data: _entry(data, 2, "<I", 24, 0xFFFFFFF0)),
        ("rsli-entry", "rsli-entry-huge", lambda data: _entry(data, 1, "<I", 20, 0xFFFFFFFF)),
        ("rsli-entry", "rsli-entry-damaged", lambda data: _entry(data, 1, "<I", 24, 40)),
        ("rsli-method", "rsli-method-unknown", lambda data: _entry(data, 2, "<H", 16, 0x1E0)),
        ("rsli-method", "rsli-method-above-deflate", lambda data: _entry(data, 2, "<H", 16, 0x140)),
    ]
)


@of_rsli("rsli-entry")
def rsli_entry_of_another_size(data: bytearray) -> None:
    _entry(data, 0, "<I", 20, 139)
    _entry(data, 1, "<I", 20, 5)


# ------------------------------------------------------------------ against the game they are in


@dataclass(frozen=True)
class WholeGame:
    """A valid game, rebuilt each time."""

    id: str = "game"


def _write_game(checked: str) -> Callable[..., Path]:
    def write(folder: Path, sample: WholeGame, change: Callable[[GameParts], None]) -> Path:
        parts = GameParts()
        change(parts)
        parts.write(folder)
        return folder / checked

    return write


def _game(checked: str) -> Any:
    return kinds(f"game, {checked}", lambda: [WholeGame()], _write_game(checked))


of_objects = _game("objects.rlb")
of_robot = _game("UNITS/robot.dat")
of_placed = _game("MISSIONS/Single.01/data.tma")


@of_objects("object-model")
def object_without_its_archive(game: GameParts) -> None:
    game.objects["s_rock"] = ("STAT", [("nowhere.rlb", "a.msh"), ("static.rlb", "rock.msh")])


@of_objects("object-model")
def object_outside_the_game(game: GameParts) -> None:
    game.objects["s_rock"] = ("STAT", [("..\\static.rlb", "rock.msh")])


@of_objects("object-file")
def object_without_its_points(game: GameParts) -> None:
    game.objects["s_rock"][1].append(("static.rlb", "rock.cpt"))


of_robot.table(
    [
        ("unit-class", "part-of-class-9", lambda game: put(game.units[ROBOT], 2, ("i_comp", 9, 0, 0))),
        ("unit-key", "part-that-nobody-knows", lambda game: put(game.units[ROBOT], 2, ("i_nothing", 3, 0, 0))),
        ("unit-socket", "gun-on-no-node", lambda game: put(game.units[ROBOT], 1, ("e_gun_1", 4, 12, 0))),
        ("unit-socket", "gun-of-armour-on-no-node", lambda game: put(game.units[ROBOT], 1, ("E_GUN_1", 2, -1, 0))),
        ("unit-mount", "gun-on-geometry", lambda game: put(game.units[ROBOT], 1, ("e_gun_1", 4, FULL, 0))),
    ]
)


@of_robot("unit-key")
def part_without_its_model(game: GameParts) -> None:
    game.objects["e_gun_1"] = ("EXTO", [("static.rlb", "gone.msh")])


of_placed.table(
    [
        ("mission-kind", "object-of-kind-4", lambda game: put(game.placed[3], "kind", 4)),
        ("mission-place", "object-nowhere", lambda game: put(game.placed[3], "place", (NAN, 1.0, 1.0))),
        ("mission-place", "object-of-no-size", lambda game: put(game.placed[3], "scale", INF)),
        ("mission-marker", "route-to-nowhere", lambda game: change(game, routes=[(7, [(1, 1, 0), (NAN, 1, 0)])])),
        ("mission-clan", "unit-of-clan-2", lambda game: put(game.placed[2], "clan", 2)),
        ("mission-id", "id-twice", lambda game: put(game.placed[2], "id", 100)),
        ("mission-host", "host-that-is-missing", lambda game: put(game.placed[1], "host", (999, 3))),
        ("mission-host", "host-that-is-a-unit", lambda game: put(game.placed[1], "host", (102, 3))),
        ("mission-host", "host-without-a-vertex", lambda game: put(game.placed[1], "host", (100, -1))),
        ("mission-host", "host-with-too-few-vertices", lambda game: put(game.placed[1], "host", (100, 11))),
        ("mission-path", "unit-that-is-missing", lambda game: put(game.placed[2], "path", "UNITS\\nobody.dat")),
        ("mission-path", "unit-outside-the-game", lambda game: put(game.placed[2], "path", "..\\..\\robot.dat")),
        ("mission-path", "rock-that-nobody-knows", lambda game: put(game.placed[3], "path", "s_nothing")),
        ("mission-path", "rock-without-a-model", lambda game: put(game.placed[3], "path", "i_comp")),
        ("mission-map", "mission-without-its-level", lambda game: change(game, map="DATA\\MAPS\\Nowhere\\land")),
        ("mission-outside", "object-off-the-map", lambda game: put(game.placed[3], "place", (-5.0, 100.0, 0.0))),
        ("mission-ground", "object-in-the-sky", lambda game: put(game.placed[2], "place", (100.0, 100.0, GROUND + 60))),
    ]
)


@of_placed("mission-property")
def property_of_another_id(game: GameParts) -> None:
    game.placed[0]["id"] = 103
    game.placed[1]["host"] = (103, 3)


@of_placed("mission-ground")
def object_below_the_ground(game: GameParts) -> None:
    game.placed[3]["place"] = (100.0, 100.0, GROUND - 3)
