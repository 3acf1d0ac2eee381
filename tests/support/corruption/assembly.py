"""Broken registries, units and missions."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support import assembly as make
from tests.support.corruption.base import Nres, kinds


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
    rows = {
        "a": ("FORT", [("objects.rlb", "b")]),
        "b": ("EXTO", [("static.rlb", "b.msh"), ("static.rlb", "b.wea")]),
    }
    return [Made("two", make.registry(rows))]


def _units() -> list[Made]:
    parts = [("a", 0, -1, 2), ("b", 1, 3, 1), ("c", 4, 2, 0), ("d", 3, 0, 0)]
    return [Made("one", make.unit([("a", 0, -1, 0)])), Made("four", make.unit(parts))]


def _missions() -> list[Made]:
    return [Made(f"version {v}", make.full_mission(v)) for v in (10, 6, 2)]


of_registry = kinds("objects.rlb", _registries, _write_registry)
of_unit = kinds("unit", _units, _writer("unit.dat"))
of_mission = kinds("mission", _missions, _writer("data.tma"))


@of_registry("registry-size")
def registry_row_cut(box: Nres) -> None:
    del box.entries[1].data[-1]


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
    for entry, index in zip(box.entries, order, strict=True):
        entry.sort = index


@of_unit("unit-magic")
def unit_of_another_magic(data: bytearray) -> None:
    data[0] = 0


@of_unit("unit-size")
def unit_cut(data: bytearray) -> None:
    del data[-5:]


@of_unit("unit-size")
def unit_of_a_magic(data: bytearray) -> None:
    del data[4:]


@of_unit("unit-tree")
def unit_without_components(data: bytearray) -> None:
    del data[8:]


@of_unit("unit-tree")
def unit_with_many_children(data: bytearray) -> None:
    struct.pack_into("<i", data, 8 + 108, 0x7FFFFFFF)


@of_unit("unit-tree")
def unit_with_negative_children(data: bytearray) -> None:
    struct.pack_into("<i", data, 8 + 108, -1)


@of_unit("unit-tree")
def unit_with_a_second_root(data: bytearray) -> None:
    data += make.component("second")


@of_mission("mission-version")
def mission_of_version_2(data: bytearray) -> None:
    struct.pack_into("<I", data, 0, 2)


@of_mission("mission-version")
def mission_with_other_clans(data: bytearray) -> None:
    struct.pack_into("<I", data, 8 + 8 + 24 + 8, 7)


@of_mission("mission-end")
def mission_cut(data: bytearray) -> None:
    del data[-1]


@of_mission("mission-end")
def mission_cut_early(data: bytearray) -> None:
    del data[6:]


@of_mission("mission-end")
def mission_empty(data: bytearray) -> None:
    data.clear()


@of_mission("mission-end")
def mission_with_a_tail(data: bytearray) -> None:
    data += b"\0"


@of_mission("mission-end")
def mission_of_many_routes(data: bytearray) -> None:
    struct.pack_into("<I", data, 4, 0xFFFFFFFF)


@of_mission("mission-end")
def mission_route_of_many_points(data: bytearray) -> None:
    struct.pack_into("<I", data, 12, 0xFFFFFFFF)


@of_mission("mission-end")
def mission_clan_with_a_long_name(data: bytearray) -> None:
    at = data.index(b"Nature") - 4
    struct.pack_into("<I", data, at, 0xFFFFFFF0)
