"""The commands as their users run them: processes, start to finish."""

from __future__ import annotations

import filecmp
import json
import struct
import sys
from pathlib import Path

import numpy as np

from benchmarks import full_game, game
from benchmarks.measure import ROOT, WORK, by_turns, command, peaks, processor
from benchmarks.record import Row

#: A model without a clip.
MODEL = ROOT / "tests" / "data" / "retail__system__R_H_002.msh"
FLOOR = ROOT / "benchmarks" / "floor.py"
_MB = 1e6


def large_game() -> Path:
    """The game of 435 models."""
    return game.make(WORK / "game")


def startup(rounds: int) -> list[Row]:
    """One static model, both ways."""
    WORK.mkdir(exist_ok=True)
    glb, msh = WORK / "one.glb", WORK / "one.msh"
    times = by_turns(
        {
            "numpy": command(sys.executable, "-c", "import numpy"),
            "out": command("msh2gltf", MODEL, "-o", glb, "--force"),
            "back": command("gltf2msh", glb, "-o", msh, "--force"),
        },
        5 * rounds,
    )
    against = "python -c 'import numpy'"
    return [
        Row("startup", "msh2gltf, one static model", times["out"], "s", times["numpy"], against, 1.6),
        Row("startup-back", "gltf2msh, the same", times["back"], "s", times["numpy"], against, 2),
    ]


def whole_game(rounds: int) -> list[Row]:
    """435 models out, back unchanged, and rebuilt."""
    source = large_game()
    out, new, rebuilt = WORK / "out", WORK / "new", WORK / "rebuilt"
    back = ("gltf2msh", out, "--game", source, "-j", 2)
    times = by_turns(
        {
            "floor": command(sys.executable, FLOOR, source),
            "one": command("msh2gltf", source, "-o", out, "-j", 1, fresh=[out]),
            "out": command("msh2gltf", source, "-o", out, "-j", 2, fresh=[out]),
            "again": command("msh2gltf", source, "-o", out, "-j", 2),
            "back": command(*back, "-o", new, fresh=[new]),
            "rebuild": command(*back, "-o", rebuilt, "--no-sidecar", fresh=[rebuilt]),
        },
        rounds,
    )
    require_same(source, new)
    export = times["out"], "the export"
    return [
        Row("game", "msh2gltf, 435 models, -j 2", times["out"], "s", times["floor"], "floor", 3),
        Row("game-j1", "msh2gltf, the same, -j 1", times["one"], "s", *export),
        Row("again", "msh2gltf, the same again, -j 2", times["again"], "s", *export),
        Row("back", "gltf2msh, nothing changed, -j 2", times["back"], "s", *export, 1),
        Row("rebuild", "gltf2msh --no-sidecar, -j 2", times["rebuild"], "s", *export, 3.5),
    ]


def full(rounds: int) -> list[Row]:
    """The game with maps, materials and textures: parts of it, and all; wall, then processor."""
    source = full_game.make(WORK / "full", large_game())
    out, new = WORK / "full-out", WORK / "full-new"
    export = ("msh2gltf", source, "-o", out, "-j", 2)
    models, maps = ("--include", "*.rlb::*"), ("--include", "DATA/*")
    walls = by_turns(
        {
            "floor": command(sys.executable, FLOOR, source),
            "models": command(*export, *models, "--no-textures", fresh=[out]),
            "maps": command(*export, *maps, "--no-textures", fresh=[out]),
            "maps-textures": command(*export, *maps, fresh=[out]),
            "all": command(*export, fresh=[out]),
        },
        rounds,
    )
    spent = by_turns(
        {
            "floor": processor(sys.executable, FLOOR, source),
            "again": processor(*export),
            "back": processor("gltf2msh", out, "--game", source, "-o", new, "-j", 2, fresh=[new]),
        },
        rounds,
    )
    require_same(source, new)

    def row(name: str, job: str, times: dict[str, float], aim: float) -> Row:
        key = name.removeprefix("full-")
        return Row(name, job, times[key], "s", times["floor"], "floor", aim)

    return [
        row("full-models", "msh2gltf, models, no textures, -j 2", walls, 3),
        row("full-maps", "msh2gltf, 33 maps, no textures, -j 2", walls, 1.8),
        row("full-maps-textures", "msh2gltf, 33 maps, with textures, -j 2", walls, 5),
        row("full-all", "msh2gltf, maps, models, 500 textures, -j 2", walls, 8),
        row("full-again", "msh2gltf, the same again, processor", spent, 1.5),
        row("full-back", "gltf2msh, nothing changed, processor", spent, 2),
    ]


def textures(rounds: int) -> list[Row]:
    """The full game with its textures at three sizes, against the run without; processor time."""
    rows = []
    for size in (64, 128, 256):
        source = full_game.make(WORK / f"full-{size}", large_game(), size)
        out = WORK / "textures-out"
        export = ("msh2gltf", source, "-o", out, "-j", 2)
        jobs = {"with": processor(*export, fresh=[out]), "without": processor(*export, "--no-textures", fresh=[out])}
        times = by_turns(jobs, rounds)
        job = f"msh2gltf, all, 500 textures of {size}, processor"
        aim = 1.7 if size == 128 else None
        rows.append(Row(f"textures-{size}", job, times["with"], "s", times["without"], "without textures", aim))
    return rows


def edited(rounds: int) -> list[Row]:
    """One edited model, and 435 of which 1, 10 and 100 % were, with the judge and without it; processor time."""
    glb, msh = WORK / "edited-one" / "one.glb", WORK / "edited-one.msh"
    command("msh2gltf", MODEL, "-o", glb, fresh=[glb.parent])()
    move(glb)
    one = ("gltf2msh", glb, "-o", msh, "--force")
    times = by_turns({"judge": processor(*one), "none": processor(*one, "--no-verify")}, 5 * rounds)
    source = large_game()
    out, new = WORK / "edited-out", WORK / "edited-new"
    export = command("msh2gltf", source, "-o", out, "-j", 2, fresh=[out])
    back = ("gltf2msh", out, "--game", source, "-o", new, "-j", 2)
    job = "gltf2msh, one edited model, processor"
    rows = [Row("edited-one", job, times["judge"], "s", times["none"], "--no-verify", 2)]
    for percent, step in ((1, 100), (10, 10), (100, 1)):
        export()
        for file in sorted(out.rglob("*.glb"))[::step]:
            move(file)
        jobs = {"judge": processor(*back, fresh=[new]), "none": processor(*back, "--no-verify", fresh=[new])}
        if percent == 100:
            jobs["rebuild"] = processor(*back, "--no-sidecar", fresh=[new])
        times = by_turns(jobs, rounds)
        job = f"gltf2msh, {percent} % of 435 models edited, processor"
        rows.append(Row(f"edited-{percent}", job, times["judge"], "s", times["none"], "--no-verify"))
    rows.append(Row("edited-rebuild", "gltf2msh, all edited", times["judge"], "s", times["rebuild"], "--no-sidecar", 1))
    return rows


def move(file: Path) -> None:
    """Move the first vertex of a glTF halfway to the second one; all its other bytes stay."""
    data = bytearray(file.read_bytes())
    (size,) = struct.unpack_from("<I", data, 12)
    document = json.loads(data[20 : 20 + size])
    accessor = document["accessors"][document["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]
    view = document["bufferViews"][accessor["bufferView"]]
    start = 28 + size + view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    first, second = (np.frombuffer(data, "<f4", 3, start + at) for at in (0, view.get("byteStride", 12)))
    data[start : start + 12] = ((first + second) / 2).tobytes()
    file.write_bytes(data)


def tenfold(rounds: int) -> list[Row]:
    """4,350 models, against 435: time, and memory of a worker and of the command itself."""
    small = large_game()
    source = game.make_tenfold(WORK / "tenfold", small)
    out = WORK / "tenfold-out"
    times = by_turns(
        {
            "small": command("msh2gltf", small, "-o", out, "-j", 2, fresh=[out]),
            "large": command("msh2gltf", source, "-o", out, "-j", 2, fresh=[out]),
        },
        rounds,
    )
    words = ("msh2gltf", source, "-o", out, "-j", 2, "--force")
    own, worker = (size / _MB for size in peaks(*words))
    job, against = "msh2gltf, 4,350 models, -j 2", "435 models"
    return [
        Row("tenfold", job, times["large"], "s", times["small"], against),
        Row("tenfold-worker", "msh2gltf, 4,350 models: a worker", worker, "MB"),
        Row("tenfold-own", "msh2gltf, 4,350 models: the command itself", own, "MB"),
    ]


def film(rounds: int) -> list[Row]:
    """An archive with an entry of 1 GB that is not a model: the largest process."""
    source = game.make_film(WORK / "film", MODEL)
    out = WORK / "film-out"
    words = ("msh2gltf", source, "-o", out, "-j", 2, "--force")
    most = max(size for _ in range(rounds) for size in peaks(*words)) / _MB
    return [Row("film", "msh2gltf, archive with a foreign entry of 1 GB", most, "MB", aim=60)]


def levels(rounds: int) -> list[Row]:
    """The same game with 33 terrains, out and back."""
    source = game.make_with_levels(WORK / "levels", large_game())
    out, new = WORK / "levels-out", WORK / "levels-new"
    back = ("gltf2msh", out, "--game", source, "-o", new, "-j", 2)
    times = by_turns(
        {"out": command("msh2gltf", source, "-o", out, "-j", 2, fresh=[out]), "back": command(*back, fresh=[new])},
        rounds,
    )
    require_same(source, new)
    export = times["out"], "the export"
    return [
        Row("levels", "msh2gltf, 435 models and 33 terrains", times["out"]),
        Row("levels-back", "gltf2msh, the same, nothing changed", times["back"], "s", *export),
    ]


def memory(rounds: int) -> list[Row]:
    """The largest worker of runs over one archive of 300 MB, both ways: the largest of the runs."""
    source = game.make_in_one(WORK / "in-one", large_game())
    out, new = WORK / "in-one-out", WORK / "in-one-new"
    allowed = 60 + 4 * game.largest_entry(source / "all.rlb") / _MB
    command("msh2gltf", source, "-o", out, "-j", 2, fresh=[out])()
    jobs = {
        "memory": ("msh2gltf", source, "-o", out, "-j", 2, "--force"),
        "memory-back": ("gltf2msh", out, "--game", source, "-o", new, "-j", 2, "--force"),
    }
    against = "60 MB + 4 x largest entry"
    rows = []
    for name, words in jobs.items():
        pairs = [peaks(*words) for _ in range(rounds)]
        own, worker = (max(column) / _MB for column in zip(*pairs, strict=True))
        job = f"{words[0]}, archive of 300 MB: a worker"
        rows.append(Row(name, job, worker, "MB", allowed, against, 1))
        rows.append(Row(f"{name}-own", f"{words[0]}, the same: the command itself", own, "MB"))
    return rows


def require_same(old: Path, new: Path) -> None:
    """Stop where a game did not come back byte for byte: its time says nothing."""
    files = [path.relative_to(old) for path in old.rglob("*") if path.is_file()]
    _, differing, missing = filecmp.cmpfiles(old, new, map(str, files), shallow=False)
    if differing or missing:
        raise SystemExit(f"{new} is not {old}: {[*differing, *missing][:5]}")
