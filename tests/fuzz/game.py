"""Pipelines of units, missions and registries: a small game in, glTF out, and back."""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from msh_gltf.converter.formats.mission import read_mission
from msh_gltf.converter.formats.objects import read_unit
from msh_gltf.converter.kinds.check import check_file
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.options import ExportOptions, ImportOptions
from tests.fuzz.assembly import _registry_seeds, _unit_seeds
from tests.fuzz.engine import PIPELINE, Target, as_file, scratch, write
from tests.fuzz.mutate import (
    dump,
    in_place,
    join_glb,
    join_nres,
    mutate_bytes,
    mutate_gltf,
    mutate_nres,
    mutate_sidecar,
    split_glb,
)
from tests.fuzz.targets import areal_maps, is_json, read_container, terrains, tiny_models
from tests.support.assembly import clan, full_mission, mission, placed, registry, unit

_MISSION, _UNIT, _REGISTRY = "MISSIONS/M/data.tma", "UNITS/robot.dat", "objects.rlb"


def _registry() -> bytes:
    parts = {f"m{i}": ("EXTO", [("static.rlb", f"m{i}.msh")]) for i in range(3)}
    return registry({**parts, "fr_base": ("FORT", [("objects.rlb", "m1")]), "s_rock": ("STAT", parts["m0"][1])})


def _robot() -> bytes:
    return unit([("m2", 0, -1, 2), ("m0", 4, 1, 0), ("m1", 3, 0, 0)])


@cache
def _missions() -> list[bytes]:
    place = (1.0, 1.0, 0.0)
    objects = [
        placed(kind=0, path="UNITS\\robot.dat", id=100, name="Base", clan=1, place=place),
        placed(kind=1, path="UNITS\\ROBOT.dat", id=101, name="A", host=(100, 1), clan=1),
        placed(kind=3, path="S_ROCK", clan=77, place=place, scale=1.5),
    ]
    clans = [clan("Nature", 0, [[(5, 5, 0, 5, 9)]]), clan("A")]
    routes = [(7, [(1, 1, 0), (9, 1, 0)])]
    whole = mission(objects, clans=clans, map="MAPS\\land", routes=routes, lodes=[(2.0, 3.0, 5.0, 1.0)])
    return [whole, mission(objects[2:], map="MAPS\\land"), full_mission(10), full_mission(5)]


@cache
def _game() -> Path:
    """A game of three models, a level, a unit, a mission and a registry."""
    root = scratch() / "GAME"
    mesh = int.from_bytes(b"MESH", "little")
    rows = [[mesh, 0, 0, 0, f"m{i}.msh".encode().ljust(36, b"\0"), model] for i, model in enumerate(tiny_models()[:3])]
    files = {
        "static.rlb": join_nres(rows),
        "MAPS/Land.msh": terrains()[0],
        "MAPS/Land.map": areal_maps()[0],
        _REGISTRY: _registry(),
        _UNIT: _robot(),
        _MISSION: _missions()[0],
    }
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def _in_game(name: str, data: bytes) -> Path:
    """The game with one of its files replaced, all others as they were."""
    root = _game()
    for known, whole in ((_REGISTRY, _registry()), (_UNIT, _robot())):
        if known != name and (root / known).read_bytes() != whole:
            (root / known).write_bytes(whole)
    (root / name).write_bytes(data)
    return root / name


def _export(path: Path, **options: Any) -> list[tuple[Path, bytes]]:
    given = ExportOptions(**options)
    return list(load_file(path, None, given).files(scratch() / "x.glb", given))


def mutate_mission(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change numbers in place, mostly: a mission is read from front to back, nothing may move."""
    return mutate_bytes(chance, data, others) if chance.random() < 0.2 else in_place(chance, data)


# ------------------------------------------------------------------ out


def _unit_first(data: bytes) -> Path:
    read_unit(data, "robot.dat")
    return _in_game(_UNIT, data)


def _mission_first(data: bytes) -> Path:
    read_mission(data, "data.tma")
    return _in_game(_MISSION, data)


def _out(path: Path) -> None:
    """``msh2gltf`` of a unit or a mission, internal parts and clips too."""
    _export(path, parts="all", clips=True)


def _out_tolerant(path: Path) -> None:
    """``--tolerant``, and the import gives the bytes."""
    for target, data in _export(path, mode="tolerant"):
        write(target, data)
    assert import_gltf(scratch() / "x.glb").data == path.read_bytes()


def _registry_first(data: bytes) -> Path:
    read_container(data)
    return _in_game(_REGISTRY, data).parent / _UNIT


def _checked(path: Path) -> None:
    """``msh-inspect --check`` of the file, and of the registry of its game."""
    for one in (path, _game() / _REGISTRY):
        for checked in check_file(one, one.name, (_game(),)):
            for finding in checked.findings:
                str(finding).encode("utf-8", "surrogateescape")


def _registry_out(path: Path) -> None:
    """A broken registry: a unit of the game is exported, and everything is checked."""
    _checked(path)
    _export(path)


# ------------------------------------------------------------------ back


@cache
def _pairs(name: str) -> tuple[bytes, bytes]:
    """The glTF of the game's mission or unit and its sidecar."""
    source = {_MISSION: _missions()[0], _UNIT: _robot()}[name]
    files = dict(_export(_in_game(name, source)))
    return files[scratch() / "x.glb"], next(d for p, d in files.items() if p.suffix != ".glb")


def _edited(name: str) -> list[bytes]:
    """A glTF file of ours, as it is, and with everything moved or renamed."""
    glb, _ = _pairs(name)
    text, binary = split_glb(glb) or (b"", b"")
    tree = json.loads(text)
    for row, node in enumerate(tree["nodes"]):
        kind = node.get("extras", {}).get("msh", {}).get("kind")
        if kind in ("object", "component", "zone", "route", "lode"):
            node["translation"] = [0.5 + row, 0.25, 1.0]
            node["name"] = f"{node.get('name', '')}.001"
    copied = json.loads(text)
    copied["nodes"] += copied["nodes"][-2:]
    copied["scenes"][0]["nodes"] += range(len(copied["nodes"]) - 2, len(copied["nodes"]))
    return [glb, join_glb(dump(tree), binary), join_glb(dump(copied), binary)]


def _back(name: str) -> Any:
    """What puts an edited glTF beside the sidecar, in the game."""

    def first(data: bytes) -> Any:
        is_json((split_glb(data) or (data, b""))[0])
        sidecar = scratch() / "beside"
        sidecar.write_bytes(_pairs(name)[1])
        return as_file(data, ".glb", _game()), sidecar

    return first


def _with_sidecar(name: str) -> Any:
    """What puts a broken sidecar beside an edited glTF."""

    def first(data: bytes) -> Any:
        text, binary = split_glb(_edited(name)[1]) or (b"", b"")
        tree = json.loads(text)
        for key in ("digest", "pair"):
            tree["scenes"][0].get("extras", {}).get("msh", {}).pop(key, None)
        path = as_file(join_glb(dump(tree), binary), ".glb", _game())
        write(scratch() / "beside", data)
        return path, scratch() / "beside"

    return first


def _import(opened: Any) -> None:
    """``gltf2msh`` with the sidecar, where nodes may be missing."""
    path, sidecar = opened
    import_gltf(path, sidecar, ImportOptions(allow_delete=True))


GAME = [
    Target("unit_out", lambda: [_robot(), *_unit_seeds()], mutate_bytes, _unit_first, _out, 100, PIPELINE),
    Target("mission_out", _missions, mutate_mission, _mission_first, _out, 100, PIPELINE),
    Target("mission_tolerant", _missions, mutate_mission, _mission_first, _out_tolerant, 60, PIPELINE),
    Target("mission_check", _missions, mutate_mission, _mission_first, _checked, 150, PIPELINE),
    Target(
        "registry_out",
        lambda: [_registry(), *_registry_seeds()],
        mutate_nres,
        _registry_first,
        _registry_out,
        100,
        PIPELINE,
    ),
    *(
        Target(f"{kind}_back", lambda n=name: _edited(n), mutate_gltf, _back(name), _import, 60, PIPELINE)
        for kind, name in (("unit", _UNIT), ("mission", _MISSION))
    ),
    Target(
        "mission_sidecar_back",
        lambda: [_pairs(_MISSION)[1]],
        mutate_sidecar,
        _with_sidecar(_MISSION),
        _import,
        300,  # one input in twenty is a sidecar of this file
        PIPELINE,
    ),
]
