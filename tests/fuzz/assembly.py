"""Targets of the readers of registries, units and missions."""

from typing import Any

from tests.fuzz.engine import Target
from tests.fuzz.mutate import mutate_bytes, mutate_nres
from tests.fuzz.targets import read_container


def _registry_seeds() -> list[bytes]:
    from tests.support.assembly import registry

    rows = [("static.rlb", "a.msh"), ("static.rlb", "a.wea"), ("", "")]
    chain = {f"k{i}": ("FORT", [("objects.rlb", f"K{i + 1}")]) for i in range(5)}
    return [registry({"a": ("STAT", rows)}), registry({**chain, "k5": ("EXTO", rows)})]


def _registry(data: bytes) -> Any:
    from msh_gltf.converter.formats.registry import read_registry

    return data, read_registry(read_container(data))


def _registry_rest(opened: Any) -> None:
    from msh_gltf.converter.formats.registry import write_registry

    data, registry = opened
    assert write_registry(registry) == data, "the bytes do not come back"
    list(registry.check())
    for key in [*registry.keys()[:8], "K0"]:
        registry.resolve(key)


def _unit_seeds() -> list[bytes]:
    from tests.support.assembly import unit

    parts = [("a", 0, -1, 2), ("b", 1, 3, 1), ("e_gun_c", 2, 2, 0), ("d", 3, 0, 0)]
    return [unit([("a", 0, -1, 0)]), unit(parts)]


def _unit(data: bytes) -> Any:
    from msh_gltf.converter.formats.unit import read_unit

    return data, read_unit(data, "x.dat")


def _unit_rest(opened: Any) -> None:
    from msh_gltf.converter.formats.unit import write_unit

    data, unit = opened
    assert write_unit(unit) == data, "the bytes do not come back"
    for row in range(len(unit)):
        _ = unit.key(row), unit.label(row), unit.is_shown(row), unit.parents[row]


def _mission_seeds() -> list[bytes]:
    from tests.support.assembly import full_mission, mission

    return [mission(), *(full_mission(version) for version in (10, 8, 5, 2))]


def _mission(data: bytes) -> Any:
    from msh_gltf.converter.formats.mission import read_mission

    return data, read_mission(data, "data.tma")


def _mission_rest(opened: Any) -> None:
    from msh_gltf.converter.formats.mission import write_mission

    data, mission = opened
    assert write_mission(mission) == data, "the bytes do not come back"
    _ = mission.map, mission.hosts()
    for placed in mission.objects:
        _ = placed.reference, placed.title, placed.host, placed.scale
        _ = [(each.title, each.number) for each in placed.properties]


def _rsli_seeds() -> list[bytes]:
    from tests.support.rsli import library

    data = b"content, content, content"
    methods = (0, 0x20, 0x40, 0x60, 0x80, 0x100)
    entries = [(f"E{method:X}", data, method) for method in methods]
    return [library(entries), library(entries[:2], overlay=9), *(library([e]) for e in entries[2:])]


def _rsli(data: bytes) -> Any:
    from msh_gltf.converter.formats.rsli import read_rsli

    return read_rsli(data, "x.lib")


def _rsli_rest(library: Any) -> None:
    from msh_gltf.converter.formats.rsli import check_rsli

    list(check_rsli(library))
    for row in range(min(len(library.rows), 8)):
        _ = library.name(row), library.method_name(row)
    library.find("e40")


def _footing_seeds() -> list[bytes]:
    import struct

    def ring(count: int) -> bytes:
        return struct.pack("<2i", 1, count) + bytes(12 * (count + 1))

    return [ring(n) + bytes(8 * n) + ring(m) for n, m in ((0, 0), (3, 4), (6, 1))]


def _footing(data: bytes) -> Any:
    from msh_gltf.converter.formats.model_parts import read_footing

    return data, read_footing(data, "x.bas")


def _footing_rest(opened: Any) -> None:
    from msh_gltf.converter.formats.model_parts import write_footing

    data, footing = opened
    assert write_footing(footing) == data, "the bytes do not come back"


def _properties_seeds() -> list[bytes]:
    return [n.to_bytes(4, "little") + bytes(76 * n) for n in (0, 1, 5)]


def _properties(data: bytes) -> Any:
    from msh_gltf.converter.formats.model_parts import read_node_properties

    return data, read_node_properties(data, "x.ndp")


def _properties_rest(opened: Any) -> None:
    from msh_gltf.converter.formats.model_parts import write_node_properties

    data, records = opened
    assert write_node_properties(records) == data, "the bytes do not come back"


def _controller_seeds() -> list[bytes]:
    from tests.support.controller import channel, component, controller, walker

    parts = [component(2, 4, [0, 1], b"Eye"), component(0, 19)]
    return [controller(), walker(3), controller(channels=[channel(1), channel(0)], components=parts)]


def _controller(data: bytes) -> Any:
    from msh_gltf.converter.formats.controller import read_controller

    return data, read_controller(data, "x.ctl")


def _controller_rest(opened: Any) -> None:
    from msh_gltf.converter.checks.controller import Facts, check_controller
    from msh_gltf.converter.formats.controller import ranges_of, with_nodes, write_controller
    from msh_gltf.converter.scene.controller import states_text

    data, controller = opened
    assert write_controller(controller) == data, "the bytes do not come back"
    list(check_controller(controller, Facts(3, 9, 2)))
    _ = ranges_of(controller), states_text(controller), with_nodes(controller, {0: 1})


ASSEMBLY = [
    Target("registry", _registry_seeds, mutate_nres, _registry, _registry_rest, 500),
    Target("footing", _footing_seeds, mutate_bytes, _footing, _footing_rest, 500),
    Target("controller", _controller_seeds, mutate_bytes, _controller, _controller_rest, 500),
    Target("node_properties", _properties_seeds, mutate_bytes, _properties, _properties_rest, 500),
    Target("rsli", _rsli_seeds, mutate_bytes, _rsli, _rsli_rest, 500),
    Target("unit", _unit_seeds, mutate_bytes, _unit, _unit_rest, 500),
    Target("mission", _mission_seeds, mutate_bytes, _mission, _mission_rest, 1000),
]
