"""A game of a registry, a robot, a building and a mission, which can be broken part by part."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import assembly as make
from tests.support.corpus import DATA
from tests.support.game import MESH, WEAR, archive, entry, model, write

#: Has geometry-less nodes 2, 8 and 11, and a path graph of 11 points.
ROOM = "retail__static__i_room_006"
ROCK = "retail__odd__s_rock_009"
SOCKET, FULL = 2, 0
ROBOT, BASE = "UNITS\\robot.dat", "UNITS\\BUILDS\\base.dat"
#: The ground of the level at x, y = 100, 100.
GROUND = 6.17


def _objects() -> dict[str, tuple[str, list[tuple[str, str]]]]:
    room = [("static.rlb", "room.msh"), ("static.rlb", "room.wea")]
    return {
        "u_robot": ("EXTO", room),
        "e_gun_1": ("EXTO", [("static.rlb", "rock.msh")]),
        "i_comp": ("INTO", [("", "")]),
        "b_base": ("EXTO", room),
        "fr_base": ("FORT", [("objects.rlb", "b_base")]),
        "s_rock": ("STAT", [("static.rlb", "rock.msh")]),
    }


def _units() -> dict[str, list[make.Part]]:
    robot = [("u_robot", 0, -1, 2), ("e_gun_1", 4, SOCKET, 0), ("i_comp", 3, 0, 0)]
    return {ROBOT: robot, BASE: [("fr_base", 0, -1, 0)]}


def _placed() -> list[dict[str, Any]]:
    place = (100.0, 100.0, GROUND)
    owned = {"clan": 1, "place": place}
    base = [(1, 100, "LogicalID"), (1, 1, "ClanID")]
    return [
        {"kind": 0, "path": BASE, "id": 100, "name": "Base", "properties": base, **owned},
        {"kind": 1, "path": ROBOT.lower(), "id": 101, "name": "Герой", "host": (100, 3), **owned},
        {"kind": 1, "path": ROBOT, "id": 102, "name": "Guard", **owned},
        {"kind": 3, "path": "S_ROCK", "clan": 77, "place": place, "scale": 1.5},
    ]


@dataclass
class GameParts:
    """What the game is made of; change it, then write it."""

    objects: dict[str, tuple[str, list[tuple[str, str]]]] = field(default_factory=_objects)
    units: dict[str, list[make.Part]] = field(default_factory=_units)
    placed: list[dict[str, Any]] = field(default_factory=_placed)
    routes: list[tuple[int, list[tuple[float, float, float]]]] = field(
        default_factory=lambda: [(7, [(1, 1, 0), (9, 1, 0), (9, 9, 0)])]
    )
    #: Further entries of ``static.rlb``: type, name, bytes.
    more: list[tuple[int, bytes, bytes]] = field(default_factory=list)
    map: str = "DATA\\MAPS\\M1\\land"

    @property
    def mission(self) -> bytes:
        clans = [make.clan("Nature", 0, [[(50, 50, 0, 5, 9)]]), make.clan("Игрок")]
        objects = [make.placed(**one) for one in self.placed]
        return make.mission(objects, clans=clans, map=self.map, routes=self.routes, lodes=[(20.0, 30.0, 5.0, 1000.0)])

    def write_models(self, root: Path, edited: Mapping[str, bytes]) -> None:
        """Write the library of models; some of its entries as they were edited."""
        wear = (DATA / f"{ROOM}.wea").read_bytes()
        rows = [
            (MESH, b"room.msh", model(ROOM)),
            (WEAR, b"room.wea", wear),
            (MESH, b"rock.msh", model(ROCK)),
            *self.more,
        ]
        made = [entry(type_id, name, edited.get(name.decode(), data)) for type_id, name, data in rows]
        write(root / "static.rlb", archive(made))

    def write(self, root: Path) -> Path:
        """Write the game below a directory; returns its mission."""
        self.write_models(root, {})
        write(root / "objects.rlb", make.registry(self.objects))
        for path, parts in self.units.items():
            write(root / path.replace("\\", "/"), make.unit(parts))
        level = DATA / "maps/spec__AutoMAP_00"
        for name in ("Land.msh", "Land.map", "Land1.wea", "Land2.wea"):
            write(root / "DATA/MAPS/M1" / name, (level / name).read_bytes())
        mission = root / "MISSIONS/Single.01/data.tma"
        write(mission, self.mission)
        return mission
