"""A mission of 300 objects: to glTF and back, into Blender, and the asset library of its game."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from time import process_time

import numpy as np
import pygltflib

from benchmarks import game
from benchmarks.commands import large_game
from benchmarks.measure import WORK, as_in_commands, by_turns, require, timed
from benchmarks.record import Row
from blender_extension import build
from msh_gltf.converter.formats.kinds import models_in
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.base import Source
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.kinds.missions import LoadedMission
from msh_gltf.converter.kinds.model import LoadedModel
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.converter.storage import write_outputs
from tests.support import assembly
from tests.support.terrain_maker import make_terrain

#: Objects of a mission, and models that they are made of.
BUILDINGS, UNITS, SCENERY, MODELS = 20, 40, 240, 60
MAP, MISSION = "DATA\\MAPS\\M1\\Land", "MISSIONS/Single.01/data.tma"
#: A Python with bpy; without it, what needs Blender is left out.
BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")
#: What Blender runs: each prints its seconds, and more words.
_IMPORT = """
import os, sys, time, bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
started = time.perf_counter()
bpy.ops.import_scene.gltf(filepath=sys.argv[1])
seconds = time.perf_counter() - started
print("\\nTOOK", seconds, len(bpy.data.objects), len(bpy.data.meshes), flush=True)
os._exit(0)
"""
_LIBRARY = """
import os, sys, time, bpy
from pathlib import Path
folder, source, target = map(Path, sys.argv[1:])
sys.path.insert(0, str(folder))
from msh_extension.assets import make_library
from msh_extension.window import at_once
bpy.ops.wm.read_factory_settings(use_empty=True)
started = time.perf_counter()
count, _ = at_once(make_library(bpy.context, source, target))
print("\\nTOOK", time.perf_counter() - started, count, target.stat().st_size, flush=True)
os._exit(0)
"""


def make(root: Path, source: Path) -> Path:
    """Build a game of the archives of another with a mission, unless it is there; returns it."""
    if game.made_once(root):
        return root
    for path in sorted(source.glob("*.rlb")):
        shutil.copy(path, root)
    files = {f"m{i}": (f"{game.ARCHIVES[i % 9]}.rlb", f"model_{i:03}") for i in range(MODELS)}
    rows = {key: [(a, f"{m}.msh"), (a, f"{m}.wea")] for key, (a, m) in files.items()}
    objects = {key: ("STAT" if key > "m3" else "EXTO", found) for key, found in rows.items()}
    (root / "objects.rlb").write_bytes(assembly.registry(objects))
    paths = []
    for number in range(10):
        parts = [(f"m{number}", 0, -1, 2), (f"m{10 + number}", 1, 0, 0), ("m20", 4, 0, 0)]
        folder = "BUILDS" if number < 5 else "ROBOTS"
        paths.append(f"UNITS\\{folder}\\u{number}.dat")
        path = root / paths[-1].replace("\\", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(assembly.unit([(f"m{number}", 0, -1, 0)] if number < 5 else parts))
    level = (root / MAP.replace("\\", "/")).parent
    level.mkdir(parents=True)
    (level / "Land.msh").write_bytes(make_terrain(0, across=8, down=8, steps=8))
    for name in ("Land1.wea", "Land2.wea"):
        (level / name).write_bytes(game.wear())
    (root / MISSION).parent.mkdir(parents=True)
    (root / MISSION).write_bytes(_mission(paths))
    (root / "complete").touch()
    return root


def _mission(units: list[str]) -> bytes:
    """The bytes of a mission: buildings, units, scenery of 39 models."""
    chance = np.random.default_rng(0)
    made = []
    for number in range(BUILDINGS + UNITS + SCENERY):
        x, y = chance.uniform(0, 400, 2).tolist()
        kind = 0 if number < BUILDINGS else 1 if number < BUILDINGS + UNITS else 2
        path = units[number % 5 + 5 * kind] if kind < 2 else f"m{21 + number % 39}"
        id = number if kind < 2 else -1
        turn = float(chance.uniform(0, 6))
        made.append(assembly.placed(kind, path, id=id, place=(x, y, 0.0), turn=turn))
    return assembly.mission(made, clans=[assembly.clan("A")], map=MAP)


def mission(rounds: int) -> list[Row]:
    """300 objects to glTF and back, against their models and terrain alone; processor time."""
    root = make(WORK / "mission-game", large_game())
    options, out = ExportOptions(find_textures=False), WORK / "mission-out"
    alone = ExportOptions(find_textures=False, parts="visible")
    out.mkdir(exist_ok=True)
    loaded = load_file(root / MISSION, None, options)
    assert isinstance(loaded, LoadedMission)
    names = {model.name.lower() for model in loaded.models}

    def whole() -> list[tuple[Path, bytes]]:
        return load_file(root / MISSION, None, options).files(out / "m.glb", options)

    def parts() -> None:
        for path in sorted(root.glob("*.rlb")):
            archive = read_nres(path.read_bytes(), path.name)
            for index in models_in(archive):
                if archive.entries[index].name.lower() in names:
                    model = LoadedModel.load(Source(path, archive, index), alone)
                    model.files(out / "x.glb", alone)
        ground = load_file(root / f"{MAP.replace(chr(92), '/')}.msh", None, alone)
        ground.files(out / "x.glb", alone)

    files = whole()
    write_outputs(files, force=True)
    back = import_gltf(out / "m.glb", None, ImportOptions())
    assert back.unchanged, [str(one) for one in back.not_applied][:3]
    edited = out / "edited.glb"
    _move_object(out / "m.glb", edited)
    judged, unjudged = ImportOptions(), ImportOptions(verify=False)
    with as_in_commands():
        jobs = {
            "own": whole,
            "alone": parts,
            "back": lambda: import_gltf(out / "m.glb", None, judged),
            "edited": lambda: import_gltf(edited, None, judged),
            "unjudged": lambda: import_gltf(edited, None, unjudged),
        }
        times = by_turns({k: timed(job, process_time) for k, job in jobs.items()}, rounds)
    against = f"its {len(names)} models and terrain alone"
    job = f"mission of {len(loaded.mission.objects)} objects, in process, processor"
    sizes = {path.suffix: len(data) / 1e6 for path, data in files}
    return [
        Row("mission", job, times["own"], "s", times["alone"], against, 2),
        Row("mission-back", "the same, back", times["back"], "s", times["own"], "the export"),
        Row("mission-judge", "the same, an object moved", times["edited"], "s", times["unjudged"], "--no-verify", 2),
        Row("mission-size", "the same: its .glb", sizes[".glb"], "MB"),
        Row("mission-sidecar", "the same: its sidecar", sizes[".msh-sidecar"], "MB"),
        *_in_blender(rounds, root, out),
    ]


def _move_object(source: Path, target: Path) -> None:
    """Write a mission's glTF with one of its objects elsewhere."""
    file = pygltflib.GLTF2().load_binary(str(source))
    one = next(node for node in file.nodes if node.extras.get("msh", {}).get("kind") == "object")
    one.translation = [12.0, 0.0, -34.0]
    file.save_binary(str(target))
    shutil.copy(source.with_suffix(".msh-sidecar"), target.with_suffix(".msh-sidecar"))


def _in_blender(rounds: int, root: Path, out: Path) -> list[Row]:
    """What Blender needs for the mission, and for an asset library of the game."""
    if BLENDER is None:
        return []
    target, extension = out / "assets.blend", out / "extension"
    for name, data in build.sources():
        path = extension / "msh_extension" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    seconds, objects, meshes = _taken(rounds, _IMPORT, out / "m.glb")
    made, count, size = _taken(rounds, _LIBRARY, extension, root, target)
    what = f"the same into Blender, {objects:,.0f} objects of {meshes:,.0f} meshes"
    return [
        Row("mission-blender", what, seconds),
        Row("assets", f"asset library of the game, {count:,.0f} assets, in Blender", made),
        Row("assets-size", "the same: its .blend", size / 1e6, "MB"),
    ]


def _taken(rounds: int, script: str, *arguments: Path) -> tuple[float, float, float]:
    """The median of the seconds that a script in Blender took, and what else it printed."""
    found = []
    for _ in range(rounds):
        done = subprocess.run([str(BLENDER), "-c", script, *map(str, arguments)], capture_output=True, check=False)
        require(done.returncode, arguments, done.stderr)
        line = next(x for x in done.stdout.decode().splitlines() if x.startswith("TOOK "))
        found.append([float(word) for word in line.split()[1:]])
    seconds, first, second = np.median(found, axis=0).tolist()
    return seconds, first, second
