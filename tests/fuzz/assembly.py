"""Targets of the readers of registries, units and missions."""

import struct
from typing import Any

from msh_gltf.converter.checks.companions import Facts, check_controller
from msh_gltf.converter.formats.controller import ranges_of, read_controller, with_nodes, write_controller
from msh_gltf.converter.formats.mission import read_mission, write_mission
from msh_gltf.converter.formats.model_parts import (
    read_footing,
    read_node_properties,
    write_footing,
    write_node_properties,
)
from msh_gltf.converter.formats.objects import read_registry, read_unit, write_registry, write_unit
from msh_gltf.converter.formats.rsli import check_rsli, read_rsli
from msh_gltf.converter.scene.companions import states_text
from tests.fuzz.engine import Target
from tests.fuzz.mutate import mutate_bytes, mutate_nres
from tests.fuzz.targets import and_back, read_container
from tests.support.assembly import full_mission, mission, registry, unit
from tests.support.controller import channel, component, controller, walker
from tests.support.rsli import library


def _registry_seeds() -> list[bytes]:
    rows = [("static.rlb", "a.msh"), ("static.rlb", "a.wea"), ("", "")]
    chain = {f"k{i}": ("FORT", [("objects.rlb", f"K{i + 1}")]) for i in range(5)}
    return [registry({"a": ("STAT", rows)}), registry({**chain, "k5": ("EXTO", rows)})]


def _use_registry(registry: Any) -> None:
    list(registry.check())
    for key in [*registry.keys()[:8], "K0"]:
        registry.resolve(key)


def _unit_seeds() -> list[bytes]:
    parts = [("a", 0, -1, 2), ("b", 1, 3, 1), ("e_gun_c", 2, 2, 0), ("d", 3, 0, 0)]
    return [unit([("a", 0, -1, 0)]), unit(parts)]


def _use_unit(unit: Any) -> None:
    for row in range(len(unit)):
        _ = unit.key(row), unit.label(row), unit.is_shown(row), unit.parents[row]


def _mission_seeds() -> list[bytes]:
    return [mission(), *(full_mission(version) for version in (10, 8, 5, 2))]


def _use_mission(mission: Any) -> None:
    _ = mission.map, mission.hosts()
    for placed in mission.objects:
        _ = placed.reference, placed.title, placed.host, placed.scale
        _ = [(each.title, each.number) for each in placed.properties]


def _rsli_seeds() -> list[bytes]:
    data = b"content, content, content"
    methods = (0, 0x20, 0x40, 0x60, 0x80, 0x100)
    entries = [(f"E{method:X}", data, method) for method in methods]
    return [library(entries), library(entries[:2], overlay=9), *(library([e]) for e in entries[2:])]


def _rsli_rest(library: Any) -> None:
    list(check_rsli(library))
    for row in range(min(len(library.rows), 8)):
        _ = library.name(row), library.method_name(row)
    library.find("e40")


def _footing_seeds() -> list[bytes]:
    def ring(count: int) -> bytes:
        return struct.pack("<2i", 1, count) + bytes(12 * (count + 1))

    return [ring(n) + bytes(8 * n) + ring(m) for n, m in ((0, 0), (3, 4), (6, 1))]


def _properties_seeds() -> list[bytes]:
    return [n.to_bytes(4, "little") + bytes(76 * n) for n in (0, 1, 5)]


def _controller_seeds() -> list[bytes]:
    parts = [component(2, 4, [0, 1], b"Eye"), component(0, 19)]
    return [controller(), walker(3), controller(channels=[channel(1), channel(0)], components=parts)]


def _use_controller(controller: Any) -> None:
    list(check_controller(controller, Facts(3, 9, 2)))
    _ = ranges_of(controller), states_text(controller), with_nodes(controller, {0: 1})


_REGISTRY = and_back(lambda data: read_registry(read_container(data)), write_registry, use=_use_registry)
_CONTROLLER = and_back(read_controller, write_controller, "x.ctl", use=_use_controller)
_PROPERTIES = and_back(read_node_properties, write_node_properties, "x.ndp")
_FOOTING = and_back(read_footing, write_footing, "x.bas")
_UNIT = and_back(read_unit, write_unit, "x.dat", use=_use_unit)
_MISSION = and_back(read_mission, write_mission, "data.tma", use=_use_mission)
ASSEMBLY = [
    Target("registry", _registry_seeds, mutate_nres, *_REGISTRY, 500),
    Target("footing", _footing_seeds, mutate_bytes, *_FOOTING, 500),
    Target("controller", _controller_seeds, mutate_bytes, *_CONTROLLER, 500),
    Target("node_properties", _properties_seeds, mutate_bytes, *_PROPERTIES, 500),
    Target("rsli", _rsli_seeds, mutate_bytes, lambda data: read_rsli(data, "x.lib"), _rsli_rest, 500),
    Target("unit", _unit_seeds, mutate_bytes, *_UNIT, 500),
    Target("mission", _mission_seeds, mutate_bytes, *_MISSION, 1000),
]
