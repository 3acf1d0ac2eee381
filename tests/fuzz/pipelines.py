"""Whole pipelines: a file and what lies beside it in, other files out; all in this process.

Models, maps and libraries lie alone; units, missions and registries in a game of three models and a level.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from msh_gltf.converter.formats.mission import read_mission
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.objects import read_unit
from msh_gltf.converter.kinds.appearance import Libraries
from msh_gltf.converter.kinds.check import check_file
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.options import ExportOptions, ImportOptions
from tests.fuzz.engine import PIPELINE, Target, as_file, scratch, write
from tests.fuzz.mutate import (
    Mutator,
    dump,
    join_glb,
    join_nres,
    mutate_bytes,
    mutate_gltf,
    mutate_nres,
    mutate_sidecar,
    mutate_text,
    mutate_words,
    split_glb,
    split_nres,
)
from tests.fuzz.targets import DATA, OBJ, READERS, areal_maps, as_glb, as_obj, gltf_seeds, models, terrains, tiny_models
from tests.support.assembly import clan, full_mission, mission, placed, registry, unit
from tests.support.game import MESH, archive, entry
from tests.support.game import write as write_below

LIBS = DATA / "libs"
_MISSION, _UNIT, _REGISTRY = "MISSIONS/M/data.tma", "UNITS/robot.dat", "objects.rlb"
_SEEDS = {target.name: target.seeds for target in READERS}
#: A target's ``first``.
Opens = Callable[[bytes], Any]


# ------------------------------------------------------------------ the game


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
    root = scratch() / "GAME"
    made = [entry(MESH, f"m{i}.msh".encode(), model) for i, model in enumerate(tiny_models()[:3])]
    files = {"static.rlb": archive(made), "MAPS/Land.msh": terrains()[0], "MAPS/Land.map": areal_maps()[0]}
    for name, data in (files | {_REGISTRY: _registry(), _UNIT: _robot(), _MISSION: _missions()[0]}).items():
        write_below(root / name, data)
    return root


def _in_game(name: str, data: bytes) -> Path:
    """The game with one of its files replaced, all others as they were."""
    root = _game()
    for known, whole in ((_REGISTRY, _registry()), (_UNIT, _robot())):
        if known != name and (root / known).read_bytes() != whole:
            (root / known).write_bytes(whole)
    (root / name).write_bytes(data)
    return root / name


# ------------------------------------------------------------------ out


def _archive(data: bytes) -> Path:
    """A file of a model or a map: what is no container gets no further."""
    read_nres(data, "x")
    return as_file(data, ".msh")


def _unit_first(data: bytes) -> Path:
    read_unit(data, "robot.dat")
    return _in_game(_UNIT, data)


def _mission_first(data: bytes) -> Path:
    read_mission(data, "data.tma")
    return _in_game(_MISSION, data)


def _registry_first(data: bytes) -> Path:
    read_nres(data, "x")
    return _in_game(_REGISTRY, data).parent / _UNIT


def _out(path: Path, **options: Any) -> dict[Path, bytes]:
    """``msh2gltf``: read, check, decode, write glTF."""
    given = ExportOptions(**options)
    return dict(load_file(path, None, given).files(path.with_suffix(".glb"), given))


def _tolerant(path: Path) -> None:
    """``--tolerant``: what is locally broken is left out, and the import gives the bytes."""
    for target, data in _out(path, mode="tolerant", paths=True, points=True).items():
        write(target, data)
    assert import_gltf(path.with_suffix(".glb")).data == path.read_bytes()


def _check(*paths: Path) -> None:
    """``msh-inspect --check``: every finding about any file, none of it an exception."""
    for path in paths:
        for checked in check_file(path, path.name, (_game(),)):
            for finding in checked.findings:
                str(finding).encode("utf-8", "surrogateescape")


def _registry_out(path: Path) -> None:
    """A broken registry: a unit of the game is exported, and everything is checked."""
    _check(path, _game() / _REGISTRY)
    _out(path)


# ------------------------------------------------------------------ appearance


@cache
def _libraries() -> list[bytes]:
    """Each bundled library with its smallest entries, the materials with two large ones."""
    found = []
    for name in ("Material.lib", "lightmap.lib", "Textures.lib"):
        entries = sorted(split_nres((LIBS / name).read_bytes()), key=lambda entry: len(entry[5]))
        found.append(join_nres([*entries[:6], *(entries[-2:] if "Mat" in name else [])]))
    return found


@cache
def _bare() -> Any:
    return load_file(as_file(tiny_models()[0], ".msh"), None, ExportOptions(find_textures=False))


def _library(data: bytes) -> Path:
    """A folder with the bundled libraries, one of them replaced."""
    kinds = {entry.type_text for entry in read_nres(data, "x").entries}
    name = "Material.lib" if "MAT0" in kinds else "Textures.lib"
    folder = scratch() / "libs"
    folder.mkdir(exist_ok=True)
    for other in ("Material.lib", "Textures.lib", "lightmap.lib"):
        (folder / other).unlink(missing_ok=True)
        if other != name:
            (folder / other).symlink_to(LIBS / other)
    (folder / name).write_bytes(data)
    return folder


def _with_materials(folder: Path) -> None:
    """A model with the materials of the libraries, its pictures in the glTF."""
    names = [[e[4].partition(b"\0")[0].decode("cp1251") for e in split_nres(one)] for one in _libraries()]
    appearance = Libraries([folder]).appearance(["", *names[0], "missing"], names[1], {(0, 1): 0.5})
    replace(_bare(), appearance=appearance).files(folder / "x.glb", ExportOptions())


# ------------------------------------------------------------------ back

#: A glTF and its sidecar.
Pair = tuple[bytes, bytes]


def _pair(path: Path) -> Pair:
    files = _out(path, find_textures=False)
    glb = files.pop(path.with_suffix(".glb"))
    return glb, next(iter(files.values()))


@cache
def _pairs() -> list[Pair]:
    """Of small models, a terrain and an areal map."""
    some = [*tiny_models()[:2], tiny_models()[-1], (DATA / "retail__odd__l_mast_010.msh").read_bytes()]
    return [_pair(as_file(data, ".msh")) for data in (*some, terrains()[1], areal_maps()[1])]


@cache
def _game_pairs(name: str) -> list[Pair]:
    """Of the game's mission or its unit."""
    return [_pair(_in_game(name, {_MISSION: _missions()[0], _UNIT: _robot()}[name]))]


def _edited(glb: bytes) -> list[bytes]:
    """A glTF of ours as it is, with everything moved, and with two nodes that are copies: much is rebuilt."""
    text, binary = split_glb(glb) or (b"", b"")
    tree, copied = json.loads(text), json.loads(text)
    for row, node in enumerate(tree["nodes"]):
        kind = node.get("extras", {}).get("msh", {}).get("kind")
        if kind in ("object", "component", "zone", "route", "lode") or "mesh" in node:
            node["translation"] = [0.5 + row, 0.25, 1.0]
            node["name"] = f"{node.get('name', '')}{'.001' if kind else ''}"
    copied["nodes"] += copied["nodes"][-2:]
    copied["scenes"][0]["nodes"] += range(len(copied["nodes"]) - 2, len(copied["nodes"]))
    return [glb, join_glb(dump(tree), binary), join_glb(dump(copied), binary)]


@cache
def _stated(glb: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((split_glb(glb) or (b"", b""))[0])["scenes"][0]["extras"]["msh"]
    return found


def _beside(data: bytes, sidecar: bytes, folder: Path) -> tuple[Path, Path]:
    path = as_file(data, ".glb", folder)
    (scratch() / "beside").write_bytes(sidecar)
    return path, scratch() / "beside"


def _glb_first(pairs: Callable[[], list[Pair]], folder: Callable[[], Path]) -> Opens:
    """What puts a glTF beside the sidecar whose digest it names, or beside the first."""

    def first(data: bytes) -> Any:
        text = (split_glb(data) or (data, b""))[0]
        kept = next((s for glb, s in pairs() if _stated(glb)["digest"].encode() in text), pairs()[0][1])
        return _beside(data, kept, folder())

    return first


def _sidecar_first(pairs: Callable[[], list[Pair]], folder: Callable[[], Path]) -> Opens:
    """What puts a sidecar beside an edited glTF of the same kind of source, of which any sidecar is its own."""

    def first(data: bytes) -> Any:
        at = 4 if b'"terrain"' in data[:4096] else 5 if b'"areal map"' in data[:4096] else 0
        glb, _ = pairs()[at % len(pairs())]
        text, binary = split_glb(_edited(glb)[1]) or (b"", b"")
        tree = json.loads(text)
        for key in ("digest", "pair"):
            tree["scenes"][0]["extras"]["msh"].pop(key, None)
        return _beside(join_glb(dump(tree), binary), data, folder())

    return first


def _import(opened: Any, **options: Any) -> None:
    """``gltf2msh`` with the sidecar."""
    path, sidecar = opened
    import_gltf(path, sidecar, ImportOptions(**options))


def _to_new_model(path: Path) -> None:
    """``gltf2msh --no-sidecar``: a model of nothing but the file, in one of two dialects."""
    dialect = ("auto", "retail")[path.stat().st_size % 2]
    options = ImportOptions(dialect=dialect, rigid_skin=True, ignore_scale=True, use_sidecar=False)
    import_gltf(path, None, options)


def _to_new_obj(path: Path) -> None:
    import_obj(path, None, ImportOptions(use_sidecar=False))


def _back(name: str, pairs: Callable[[], list[Pair]], folder: Callable[[], Path], short: int, rest: Any) -> Target:
    def seeds() -> list[bytes]:
        return [one for glb, _ in pairs() for one in _edited(glb)]

    return Target(name, seeds, mutate_gltf, _glb_first(pairs, folder), rest, short, PIPELINE)


def _sidecar(name: str, pairs: Callable[[], list[Pair]], folder: Callable[[], Path], short: int, rest: Any) -> Target:
    opens = _sidecar_first(pairs, folder)
    return Target(name, lambda: [kept for _, kept in pairs()], mutate_sidecar, opens, rest, short, PIPELINE)


def _pipeline(name: str, seeds: Any, mutate: Mutator, first: Opens, rest: Any, short: int) -> Target:
    return Target(name, seeds, mutate, first, rest, short, PIPELINE)


def _check_seeds() -> list[bytes]:
    return [*models(), *terrains()[:3], *areal_maps()]


_ALL = partial(_out, paths=True, points=True)
_INSIDE = partial(_out, parts="all", clips=True)
_DELETES = partial(_import, allow_delete=True)
_UNIT_PAIRS, _MISSION_PAIRS = partial(_game_pairs, _UNIT), partial(_game_pairs, _MISSION)

PIPELINES = [
    _pipeline("model_out", models, mutate_nres, _archive, _ALL, 150),
    _pipeline("terrain_out", terrains, mutate_nres, _archive, _out, 150),
    _pipeline("areal_out", areal_maps, mutate_nres, _archive, _out, 150),
    _pipeline("model_tolerant", models, mutate_nres, _archive, _tolerant, 60),
    _pipeline("terrain_tolerant", terrains, mutate_nres, _archive, _tolerant, 100),
    _pipeline("areal_tolerant", areal_maps, mutate_nres, _archive, _tolerant, 100),
    _pipeline("check", _check_seeds, mutate_nres, _archive, _check, 150),
    _pipeline("appearance_out", _libraries, mutate_nres, _library, _with_materials, 60),
    _pipeline("gltf_new", gltf_seeds, mutate_gltf, as_glb, _to_new_model, 120),
    _pipeline("obj_new", lambda: list(OBJ), mutate_text, as_obj, _to_new_obj, 80),
    _pipeline("unit_out", lambda: [_robot(), *_SEEDS["unit"]()], mutate_bytes, _unit_first, _INSIDE, 100),
    _pipeline("mission_out", _missions, mutate_words, _mission_first, _INSIDE, 100),
    _pipeline("mission_tolerant", _missions, mutate_words, _mission_first, _tolerant, 60),
    _pipeline("mission_check", _missions, mutate_words, _mission_first, _check, 150),
    _pipeline(
        "registry_out", lambda: [_registry(), *_SEEDS["registry"]()], mutate_nres, _registry_first, _registry_out, 100
    ),
    _back("gltf_back", _pairs, scratch, 100, _import),
    _back("unit_back", _UNIT_PAIRS, _game, 60, _DELETES),
    _back("mission_back", _MISSION_PAIRS, _game, 60, _DELETES),
    _sidecar("sidecar_back", _pairs, scratch, 80, _import),
    _sidecar("mission_sidecar_back", _MISSION_PAIRS, _game, 300, _DELETES),  # one in twenty is of this file
]
