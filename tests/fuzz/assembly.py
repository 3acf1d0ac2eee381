"""Targets of the readers of registries, units and missions."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.fuzz.engine import Target, called
from tests.fuzz.mutate import mutate_bytes, mutate_nres
from tests.fuzz.targets import read_container

Pair = tuple[Callable[[bytes], Any], Callable[[Any], None]]


def _and_back(module: str, what: str, label: str | None, use: Callable[[Any], object] = lambda value: None) -> Pair:
    """Read a file, write what was read, and ask it more.

    Args:
        module: of the format, which has ``read_WHAT`` and ``write_WHAT``.
        label: what messages call the file; ``None``: it is read from a container.
    """

    def first(data: bytes) -> Any:
        read = getattr(import_module(f"msh_gltf.converter.formats.{module}"), f"read_{what}")
        return data, read(read_container(data)) if label is None else read(data, label)

    def rest(opened: Any) -> None:
        data, value = opened
        write = getattr(import_module(f"msh_gltf.converter.formats.{module}"), f"write_{what}")
        assert write(value) == data, "the bytes do not come back"
        use(value)

    return first, rest


def _registry_seeds() -> list[bytes]:
    from tests.support.assembly import registry

    rows = [("static.rlb", "a.msh"), ("static.rlb", "a.wea"), ("", "")]
    chain = {f"k{i}": ("FORT", [("objects.rlb", f"K{i + 1}")]) for i in range(5)}
    return [registry({"a": ("STAT", rows)}), registry({**chain, "k5": ("EXTO", rows)})]


def _use_registry(registry: Any) -> None:
    list(registry.check())
    for key in [*registry.keys()[:8], "K0"]:
        registry.resolve(key)


def _unit_seeds() -> list[bytes]:
    from tests.support.assembly import unit

    parts = [("a", 0, -1, 2), ("b", 1, 3, 1), ("e_gun_c", 2, 2, 0), ("d", 3, 0, 0)]
    return [unit([("a", 0, -1, 0)]), unit(parts)]


def _use_unit(unit: Any) -> None:
    for row in range(len(unit)):
        _ = unit.key(row), unit.label(row), unit.is_shown(row), unit.parents[row]


def _mission_seeds() -> list[bytes]:
    from tests.support.assembly import full_mission, mission

    return [mission(), *(full_mission(version) for version in (10, 8, 5, 2))]


def _use_mission(mission: Any) -> None:
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


def _properties_seeds() -> list[bytes]:
    return [n.to_bytes(4, "little") + bytes(76 * n) for n in (0, 1, 5)]


def _controller_seeds() -> list[bytes]:
    from tests.support.controller import channel, component, controller, walker

    parts = [component(2, 4, [0, 1], b"Eye"), component(0, 19)]
    return [controller(), walker(3), controller(channels=[channel(1), channel(0)], components=parts)]


def _use_controller(controller: Any) -> None:
    from msh_gltf.converter.checks.companions import Facts, check_controller
    from msh_gltf.converter.formats.controller import ranges_of, with_nodes
    from msh_gltf.converter.scene.companions import states_text

    list(check_controller(controller, Facts(3, 9, 2)))
    _ = ranges_of(controller), states_text(controller), with_nodes(controller, {0: 1})


_rsli = called("converter.formats.rsli", "read_rsli", "x.lib")
_REGISTRY = _and_back("objects", "registry", None, _use_registry)
_CONTROLLER = _and_back("controller", "controller", "x.ctl", _use_controller)
_PROPERTIES = _and_back("model_parts", "node_properties", "x.ndp")
ASSEMBLY = [
    Target("registry", _registry_seeds, mutate_nres, *_REGISTRY, 500),
    Target("footing", _footing_seeds, mutate_bytes, *_and_back("model_parts", "footing", "x.bas"), 500),
    Target("controller", _controller_seeds, mutate_bytes, *_CONTROLLER, 500),
    Target("node_properties", _properties_seeds, mutate_bytes, *_PROPERTIES, 500),
    Target("rsli", _rsli_seeds, mutate_bytes, _rsli, _rsli_rest, 500),
    Target("unit", _unit_seeds, mutate_bytes, *_and_back("objects", "unit", "x.dat", _use_unit), 500),
    Target("mission", _mission_seeds, mutate_bytes, *_and_back("mission", "mission", "data.tma", _use_mission), 1000),
]
