"""Broken registries, units and missions."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import assembly as make
from tests.support import rsli
from tests.support.assembled_game import FULL, GROUND, ROBOT, ROOM, GameParts
from tests.support.corruption.base import ALL, INF, NAN, Made, Nres, change, cut, kinds, pack, put, written
from tests.support.game import MESH, archive, entry, model


def _registries() -> list[Made]:
    rows = {"a": ("FORT", [("objects.rlb", "b")]), "b": ("EXTO", [("static.rlb", "b.msh"), ("static.rlb", "b.wea")])}
    return [Made("two", make.registry(rows))]


def _units() -> list[Made]:
    parts = [("a", 0, -1, 2), ("b", 1, 3, 1), ("c", 4, 2, 0), ("d", 3, 0, 0)]
    return [Made("one", make.unit([("a", 0, -1, 0)])), Made("four", make.unit(parts))]


def _missions() -> list[Made]:
    return [Made(f"version {v}", make.full_mission(v)) for v in (10, 6, 2)]


of_registry = kinds("objects.rlb", _registries, written("objects.rlb", Nres.read, Nres.write))
of_unit = kinds("unit", _units, written("unit.dat"))
of_mission = kinds("mission", _missions, written("data.tma"))


# fmt: off
of_registry("registry-size", "registry-row-cut", lambda box: box.entries[1].data.pop())
of_registry("registry-cycle", "registry-parents-in-a-circle",
    lambda box: box.entries[1].data.extend(make.row("OBJECTS.RLB", "A")))
of_registry("registry-cycle", "registry-parent-of-itself",
    lambda box: put(box.entries[0].data, ALL, make.row("objects.rlb", "a")))
of_registry("registry-parent", "registry-parent-missing",
    lambda box: box.entries[0].data.extend(make.row("objects.rlb", "nobody")))
# fmt: on


@of_registry("registry-parent")
def registry_of_many_parents(box: Nres) -> None:
    for number in range(40):
        name = b"z%02d" % number
        box.add(0x4F545845, b"")
        box.entries[-1].name = name.ljust(36, b"\0")
        box.entries[0].data += make.row("objects.rlb", name.decode())
    box.sort()


of_unit("unit-magic", "unit-of-another-magic", lambda data: put(data, 0, 0))
of_unit("unit-size", "unit-cut", lambda data: cut(data, -5))
of_unit("unit-size", "unit-of-a-magic", lambda data: cut(data, 4))
of_unit("unit-tree", "unit-without-components", lambda data: cut(data, 8))
of_unit("unit-tree", "unit-with-many-children", lambda data: pack("<i", data, 8 + 108, 0x7FFFFFFF))
of_unit("unit-tree", "unit-with-negative-children", lambda data: pack("<i", data, 8 + 108, -1))
of_unit("unit-tree", "unit-with-a-second-root", lambda data: data.extend(make.component("second")))


# fmt: off
of_mission("mission-version", "mission-of-version-2", lambda data: pack("<I", data, 0, 2))
of_mission("mission-version", "mission-with-other-clans", lambda data: pack("<I", data, 8 + 8 + 24 + 8, 7))
of_mission("mission-end", "mission-cut", lambda data: data.pop())
of_mission("mission-end", "mission-cut-early", lambda data: cut(data, 6))
of_mission("mission-end", "mission-empty", lambda data: data.clear())
of_mission("mission-end", "mission-with-a-tail", lambda data: data.extend(b"\0"))
of_mission("mission-end", "mission-of-many-routes", lambda data: pack("<I", data, 4, 0xFFFFFFFF))
of_mission("mission-end", "mission-route-of-many-points", lambda data: pack("<I", data, 12, 0xFFFFFFFF))
of_mission("mission-end", "mission-clan-with-a-long-name",
    lambda data: pack("<I", data, data.index(b"Nature") - 4, 0xFFFFFFF0))
# fmt: on


# ------------------------------------------------------------------ .bas and .ndp


def beside_a_model(name: bytes, kind: int, *more: tuple[int, bytes, bytes]) -> Callable[..., Path]:
    """What writes an archive of a model and a file that is about it, of a name and type; with further entries."""
    rows = [(MESH, b"room.msh", model(ROOM)), *more]
    return written("game.rlb", write=lambda data: archive([entry(*row) for row in (*rows, (kind, name, bytes(data)))]))


BAS = 0x20534142


def _ring(count: int) -> bytes:
    return struct.pack("<2i", 1, count) + bytes(12 * (count + 1))


def _footings() -> list[Made]:
    return [Made("rings", _ring(4) + bytes(8 * 4) + _ring(6))]


def _node_properties() -> list[Made]:
    return [Made("room", struct.pack("<I", 12) + bytes(76 * 12))]


of_footing = kinds("footing", _footings, beside_a_model(b"room.bas", BAS))
of_properties = kinds("node properties", _node_properties, beside_a_model(b"ROOM.NDP", BAS))


of_footing("footing-size", "footing-cut", lambda data: data.pop())
of_footing("footing-size", "footing-empty", lambda data: data.clear())
of_footing("footing-size", "footing-of-many-points", lambda data: pack("<i", data, 4, 0x7FFFFFFF))
of_footing("footing-size", "footing-of-fewer-than-none", lambda data: pack("<i", data, 4, -1))
of_footing("footing-size", "footing-with-a-tail", lambda data: data.extend(b"tail"))


of_properties("ndp-size", "properties-cut", lambda data: data.pop())
of_properties("ndp-size", "properties-of-many-nodes", lambda data: pack("<I", data, 0, 0xFFFFFFFF))
of_properties("ndp-count", "properties-of-a-node-less", lambda data: (cut(data, -76), pack("<I", data, 0, 11)))


# ------------------------------------------------------------------ RsLi


def _libraries() -> list[Made]:
    entries = [("A", b"content" * 20, 0x60), ("B", b"more", 0x100), ("C", b"last", 0)]
    return [Made("three", rsli.library(entries))]


of_rsli = kinds("RsLi", _libraries, written("sprites.lib"))


def _entry(data: bytearray, row: int, form: str, offset: int, value: int) -> None:
    """Change a field of the enciphered table."""
    count = struct.unpack_from("<h", data, 4)[0]
    table = bytearray(rsli.cipher(bytes(data[32 : 32 + 32 * count])))
    struct.pack_into(form, table, 32 * row + offset, value)
    data[32 : 32 + 32 * count] = rsli.cipher(bytes(table))


# fmt: off
of_rsli("rsli-header", "rsli-of-a-magic", lambda data: cut(data, 8))
of_rsli("rsli-header", "rsli-of-many-entries", lambda data: pack("<h", data, 4, 0x7FFF))
of_rsli("rsli-header", "rsli-of-fewer-than-none", lambda data: pack("<h", data, 4, -1))
of_rsli("rsli-entry", "rsli-entry-outside", lambda data: _entry(data, 2, "<I", 24, 0xFFFFFFF0))
of_rsli("rsli-entry", "rsli-entry-huge", lambda data: _entry(data, 1, "<I", 20, 0xFFFFFFFF))
of_rsli("rsli-entry", "rsli-entry-damaged", lambda data: _entry(data, 1, "<I", 24, 40))
of_rsli("rsli-method", "rsli-method-unknown", lambda data: _entry(data, 2, "<H", 16, 0x1E0))
of_rsli("rsli-method", "rsli-method-above-deflate", lambda data: _entry(data, 2, "<H", 16, 0x140))
of_rsli("rsli-entry", "rsli-entry-of-another-size",
    lambda data: (_entry(data, 0, "<I", 20, 139), _entry(data, 1, "<I", 20, 5)))
# fmt: on


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

# fmt: off
of_objects("object-model", "object-without-its-archive",
    lambda game: put(game.objects, "s_rock", ("STAT", [("nowhere.rlb", "a.msh"), ("static.rlb", "rock.msh")])))
of_objects("object-model", "object-outside-the-game",
    lambda game: put(game.objects, "s_rock", ("STAT", [("..\\static.rlb", "rock.msh")])))
of_objects("object-file", "object-without-its-points",
    lambda game: game.objects["s_rock"][1].append(("static.rlb", "rock.cpt")))
# fmt: on


# fmt: off
of_robot("unit-class", "part-of-class-9", lambda game: put(game.units[ROBOT], 2, ("i_comp", 9, 0, 0)))
of_robot("unit-key", "part-that-nobody-knows", lambda game: put(game.units[ROBOT], 2, ("i_nothing", 3, 0, 0)))
of_robot("unit-socket", "gun-on-no-node", lambda game: put(game.units[ROBOT], 1, ("e_gun_1", 4, 12, 0)))
of_robot("unit-socket", "gun-of-armour-on-no-node", lambda game: put(game.units[ROBOT], 1, ("E_GUN_1", 2, -1, 0)))
of_robot("unit-mount", "gun-on-geometry", lambda game: put(game.units[ROBOT], 1, ("e_gun_1", 4, FULL, 0)))
of_robot("unit-key", "part-without-its-model",
    lambda game: put(game.objects, "e_gun_1", ("EXTO", [("static.rlb", "gone.msh")])))
# fmt: on


# fmt: off
of_placed("mission-kind", "object-of-kind-4", lambda game: put(game.placed[3], "kind", 4))
of_placed("mission-place", "object-nowhere", lambda game: put(game.placed[3], "place", (NAN, 1.0, 1.0)))
of_placed("mission-place", "object-of-no-size", lambda game: put(game.placed[3], "scale", INF))
of_placed("mission-marker", "route-to-nowhere", lambda game: change(game, routes=[(7, [(1, 1, 0), (NAN, 1, 0)])]))
of_placed("mission-clan", "unit-of-clan-2", lambda game: put(game.placed[2], "clan", 2))
of_placed("mission-id", "id-twice", lambda game: put(game.placed[2], "id", 100))
of_placed("mission-host", "host-that-is-missing", lambda game: put(game.placed[1], "host", (999, 3)))
of_placed("mission-host", "host-that-is-a-unit", lambda game: put(game.placed[1], "host", (102, 3)))
of_placed("mission-host", "host-without-a-vertex", lambda game: put(game.placed[1], "host", (100, -1)))
of_placed("mission-host", "host-with-too-few-vertices", lambda game: put(game.placed[1], "host", (100, 11)))
of_placed("mission-path", "unit-that-is-missing", lambda game: put(game.placed[2], "path", "UNITS\\nobody.dat"))
of_placed("mission-path", "unit-outside-the-game", lambda game: put(game.placed[2], "path", "..\\..\\robot.dat"))
of_placed("mission-path", "rock-that-nobody-knows", lambda game: put(game.placed[3], "path", "s_nothing"))
of_placed("mission-path", "rock-without-a-model", lambda game: put(game.placed[3], "path", "i_comp"))
of_placed("mission-map", "mission-without-its-level", lambda game: change(game, map="DATA\\MAPS\\Nowhere\\land"))
of_placed("mission-outside", "object-off-the-map", lambda game: put(game.placed[3], "place", (-5.0, 100.0, 0.0)))
of_placed("mission-ground", "object-in-the-sky", lambda game: put(game.placed[2], "place", (100.0, 100.0, GROUND + 60)))
of_placed("mission-property", "property-of-another-id",
    lambda game: (put(game.placed[0], "id", 103), put(game.placed[1], "host", (103, 3))))
of_placed("mission-ground", "object-below-the-ground",
    lambda game: put(game.placed[3], "place", (100.0, 100.0, GROUND - 3)))
# fmt: on
