"""The units and the mission of the game that ``make_game.py`` makes: a walker and its parts.

Makes ``bases.rlb`` and ``guns.rlb`` (a chassis, a turret, a gun), ``objects.rlb``,
``UNITS/ROBOTS/walker.dat``, ``UNITS/BUILDS/hangar.dat`` and ``MISSIONS/Single.01/data.tma``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from make_entries import entry, made
from make_models import ARMOUR, GLOW, JOINT, Model, Shape, walker

from msh_gltf.converter.formats.mission import (
    BUILDING,
    LODE_DTYPE,
    ROCK,
    UNIT,
    VEGETATION,
    ZONE_DTYPE,
    Clan,
    Mission,
    PlacedObject,
    Property,
    Route,
    new_clan_record,
    new_object_record,
    write_mission,
)
from msh_gltf.converter.formats.nres import write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.formats.objects import (
    CHASSIS,
    COMPONENT_DTYPE,
    GUN,
    REGISTRY_ROW_DTYPE,
    TURRET,
    Unit,
    write_unit,
)
from msh_gltf.converter.formats.terrain import read_terrain
from msh_gltf.converter.kinds.open_files import open_nres
from msh_gltf.converter.queries.landscape import TerrainQueries

#: Key -> type and files.
OBJECTS = {
    "u_walker": ("EXTO", "bases.rlb", "r_walk"),
    "e_tur_dome": ("EXTO", "guns.rlb", "r_dome"),
    "e_gun_01": ("EXTO", "guns.rlb", "g_gun"),
    "fr_hangar": ("FORT", "fortif.rlb", "f_hangar"),
    "s_tree_01": ("STAT", "static.rlb", "s_tree_01"),
}
MAP = "DATA\\MAPS\\Tut_1\\Land"


# ------------------------------------------------------------------ the walker's parts


def chassis() -> Model:
    """The walker without its turret: a socket is left, and turns as the turret did."""
    m = walker()
    m.name = "r_walk"
    socket = next(node for node in m.nodes if node["name"] == "turret")
    gone = {*socket.pop("children")}
    for row, node in enumerate(m.nodes):  # children come after their parents
        gone |= {*node["children"]} if row in gone and "children" in node else set()
    socket["name"] = "Base_Tur"
    del socket["mesh"]
    rows = {old: new for new, old in enumerate(r for r in range(len(m.nodes)) if r not in gone)}
    m.nodes = [m.nodes[row] for row in rows]
    for node in m.nodes:
        if "children" in node:
            node["children"] = [rows[child] for child in node["children"]]
    for channel in m.channels:
        channel["target"]["node"] = rows[channel["target"]["node"]]
    return m


def dome() -> Model:
    """A turret with two sockets."""
    m = Model("r_dome")
    shape = Shape().box(ARMOUR, (0, 0, 0.35), (1.5, 1.4, 0.7), 0.75)
    root = m.node("Base_TM", None, (0, 0, 0), shape.box(GLOW, (0, 0.6, 0.35), (0.7, 0.1, 0.15)))
    for name, sign in (("Base_L", -1), ("Base_R", 1)):
        m.node(name, root, (0.85 * sign, 0.1, 0.35))
    return m


def gun() -> Model:
    """A box with a barrel."""
    m = Model("g_gun")
    barrel = Shape().box(JOINT, (0, 1.2, 0), (0.16, 1.6, 0.16)).box(ARMOUR, (0, 2, 0), (0.3,) * 3)
    m.node("Base_TM", None, (0, 0, 0), barrel.box(ARMOUR, (0, 0, 0), (0.4, 1.0, 0.5), 0.8))
    return m


# ------------------------------------------------------------------ registry, units, mission


def field(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("cp1251").ljust(32, b"\0"), np.uint8)


def registry() -> bytes:
    """``objects.rlb``: where the model and the material list of every key are."""
    entries = []
    for key, (tag, archive, stem) in OBJECTS.items():
        rows = np.zeros(2, REGISTRY_ROW_DTYPE)
        for row, ending in zip(rows, (".msh", ".wea"), strict=True):
            row["archive"], row["member"] = field(archive), field(stem + ending)
        entries.append(entry(int.from_bytes(tag.encode(), "little"), key, rows.tobytes()))
    return write_nres(new_archive(entries, "objects.rlb"))


def unit(*parts: tuple[str, int, int, int]) -> bytes:
    """A unit of (key, class, node that it is mounted on, number of children)."""
    rows = np.zeros(len(parts), COMPONENT_DTYPE)
    for row, (key, part, attach, children) in zip(rows, parts, strict=True):
        row["archive"], row["key"], row["label"] = field("objects.rlb"), field(key), field(key)
        row["flags"], row["attach"], row["part_class"], row["child_count"] = (1, attach, part, children)
    return write_unit(Unit(0x01000001, rows))


def node_of(game: Path, archive: str, name: str, node: str) -> int:
    """The row of a node of a model."""
    from msh_gltf.converter.kinds.open_files import read_msh
    from msh_gltf.converter.scene.dialect import Dialect, node_names

    return node_names(read_msh(game / archive, name), Dialect.RETAIL).index(node)


def placed(kind: int, path: str, place: np.ndarray, turn: float, scale: float = 1.0) -> PlacedObject:
    record = new_object_record(kind)
    record["position"], record["turns"], record["scale"] = place, (0, 0, turn), scale
    return PlacedObject(record, path.encode("ascii"))


def owned(placed: PlacedObject, clan: int, number: int, name: str) -> PlacedObject:
    """The object of a clan."""
    placed.record["clan"], placed.record["logical_id"] = clan, number
    placed.name = name.encode("cp1251")
    for title, value in (("LogicalID", number), ("ClanID", clan)):
        placed.properties.append(Property(1, value, 0, 0xFFFFFFFF, title.encode()))
    return placed


def mission(game: Path) -> bytes:
    """Walkers before a hangar, in a wood."""
    path = game / "DATA/MAPS/Tut_1/Land.msh"
    terrain = read_terrain(open_nres(path, str(path)), path.name)
    queries = TerrainQueries(terrain)
    low, high = terrain.positions[:, :2].min(0), terrain.positions[:, :2].max(0)
    middle = ((low + high) / 2).astype(np.float64)

    def on_ground(points: np.ndarray) -> np.ndarray:
        heights, _ = queries.height_at(points)
        found = np.column_stack([points, heights])
        return found[np.isfinite(heights)]

    objects = [owned(placed(BUILDING, "UNITS\\BUILDS\\hangar.dat", on_ground(middle[None])[0], 0.6), 1, 100, "Base")]
    guards = on_ground(middle + np.array([(-16.0, 14.0), (-4.0, 22.0), (10.0, 20.0)]))
    for number, place in enumerate(guards):
        robot = placed(UNIT, "UNITS\\ROBOTS\\walker.dat", place, 0.5 * number)
        objects.append(owned(robot, 1 + number % 2, 101 + number, f"Walker {number + 1}"))
    random = np.random.default_rng(21)
    spots = middle + random.uniform(-1, 1, (160, 2)) * (high - low) * 0.16
    spots = spots[np.linalg.norm(spots - middle, axis=1) > 26]
    for place in on_ground(spots):
        kind = VEGETATION if random.random() < 0.9 else ROCK
        scale = float(random.uniform(0.8, 1.7))
        objects.append(placed(kind, "s_tree_01", place, float(random.uniform(0, 6.28)), scale))
    corners = np.array([(-30.0, 20.0), (30.0, 20.0), (30.0, 50.0), (-30.0, 50.0)])
    route = on_ground(middle + corners)
    zones = np.zeros(1, ZONE_DTYPE)
    zones["centre"], zones["inner"], zones["outer"] = on_ground(middle[None] + 40)[0], 8, 20
    lodes = np.zeros(1, LODE_DTYPE)
    lodes["position"], lodes["type"] = on_ground(middle[None] - 40)[0], 0x10001000
    lodes["amount"] = 5000
    clans = [
        Clan(new_clan_record(), b"Nature", zone_counts=[1], zones=zones),
        Clan(new_clan_record((middle[0], middle[1]), 1), "Игрок".encode("cp1251")),
        Clan(new_clan_record(type=2), b"Enemy"),
    ]
    routes = [Route(1, route.astype(np.float32))]
    return write_mission(Mission(routes, clans, objects, lodes, MAP.encode("ascii"), 1, b"Hold the hangar."))


def add_mission(game: Path) -> None:
    """All of it; the game's other archives and its level are there."""
    archives = {"bases.rlb": made(chassis()), "guns.rlb": [*made(dome()), *made(gun())]}
    for name, entries in archives.items():
        (game / name).write_bytes(write_nres(new_archive(entries, name)))
    (game / "objects.rlb").write_bytes(registry())
    socket = node_of(game, "bases.rlb", "r_walk.msh", "Base_Tur")
    left, right = (node_of(game, "guns.rlb", "r_dome.msh", f"Base_{side}") for side in "LR")
    files = {
        "UNITS/ROBOTS/walker.dat": unit(
            ("u_walker", CHASSIS, -1, 1),
            ("e_tur_dome", TURRET, socket, 2),
            ("e_gun_01", GUN, left, 0),
            ("e_gun_01", GUN, right, 0),
        ),
        "UNITS/BUILDS/hangar.dat": unit(("fr_hangar", CHASSIS, -1, 0)),
    }
    for name, data in files.items():
        (game / name).parent.mkdir(parents=True, exist_ok=True)
        (game / name).write_bytes(data)
    folder = game / "MISSIONS/Single.01"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.tma").write_bytes(mission(game))
