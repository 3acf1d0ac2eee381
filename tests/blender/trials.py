"""Trials: edits that artists make in real Blender, each brought back by the command line and by the extension.

    python -m tests.blender.trials --blender 4.2 [--only WORD] [--kind KIND] [--way WAY] [--keep FOLDER]

What Blender shows of the edited scene (``trial_tools.shown``) is compared with what the result shows,
exported again and read by the tests' own reader. Each trial is *exact*, or *named*: a message is about
it. Anything else is *silent*, and the command fails. ``loud``: exact, though a message says that
something is not applied.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from blender_extension import build
from msh_gltf.converter import cli
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.game import workers
from tests.blender.trial_compare import differences
from tests.docs.materials import example_game
from tests.support.runs import call

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TURRET = {"file": "turrets.rlb", "entry": "e_tur_01.msh", "gltf": "turrets.rlb/e_tur_01.glb"}
MISSION = {"file": "MISSIONS/Single.01/data.tma", "gltf": "MISSIONS/Single.01/data.glb"}
UNIT = {"file": "UNITS/ROBOTS/walker.dat", "gltf": "UNITS/ROBOTS/walker.glb"}
LAND = {"file": "DATA/MAPS/Tut_1/Land.msh", "gltf": "DATA/MAPS/Tut_1/Land.glb"}
AREALS = {"file": "DATA/MAPS/Tut_1/Land.map", "gltf": "DATA/MAPS/Tut_1/Land.map.glb"}
SOURCES = {"model": TURRET, "unit": UNIT, "mission": MISSION, "terrain": LAND, "areal map": AREALS}
#: Frames at which both sides are looked at.
FRAMES = {"model": [0, 3, 12, 24], "unit": [0, 6, 12], "mission": [0], "terrain": [0], "areal map": [0]}
WAYS = ("command line", "extension")
#: The command line, with the files of an exporter whose options nobody changed; only where it is asked for.
PLAIN = "plain"
#: Errors that are about no edit, and lines.
BROKEN = re.compile(r"internal error|cannot be loaded")
NOISE = re.compile(r"unchanged|made a change|^$")


@dataclass
class Outcome:
    """What became of a trial."""

    way: str
    kind: str
    name: str
    verdict: str
    found: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


def main() -> int:
    options = arguments()
    known = names_of_edits([options.way] if options.way else WAYS)
    trials = [trial for trial in known if re.search(options.only, trial[2]) and options.kind in (None, trial[1])]
    folder = Path(options.keep or tempfile.mkdtemp())
    blender = ROOT / f".venv-blender{'' if options.blender == '5.0' else f'-{options.blender}'}" / "bin/python"
    run_blender(blender, folder, options.zip, trials)
    outcomes = []
    for trial in trials:
        outcomes.append(judged(folder, *trial))
        show(outcomes[-1], options.verbose)
    count(outcomes)
    if not options.keep:
        shutil.rmtree(folder)
    return int(any(one.verdict in ("silent", "failed") for one in outcomes))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blender", default="5.0")
    parser.add_argument("--only", default="")
    parser.add_argument("--kind", choices=[*SOURCES], default=None)
    parser.add_argument("--way", choices=[*WAYS, PLAIN], default=None)
    parser.add_argument("--keep", help="leave all files in this folder")
    parser.add_argument("--zip", help="the extension; built by default")
    parser.add_argument("--verbose", action="store_true", help="the messages of every trial")
    return parser.parse_args()


def names_of_edits(ways: Sequence[str]) -> list[tuple[str, str, str]]:
    """Way, kind and name of every trial: the names are read without Blender."""
    command = [sys.executable, HERE / "trial_names.py"]
    found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [
        (way, kind, name)
        for way in ways
        for kind, edits in found["edits"].items()
        for name in edits
        if way == WAYS[1] or [kind, name] not in found["only_extension"]
    ]


def place(folder: Path, way: str, kind: str, name: str) -> Path:
    return folder / way / kind.replace(" ", "_") / name.replace(" ", "_")


def run_blender(blender: Path | str, folder: Path, zip_file: str | None, trials: list[tuple[str, str, str]]) -> None:
    """Run all trials that the folder does not have; one that crashes Blender has failed, and the others go on."""
    game = folder / "game"
    if not game.is_dir():
        shutil.copytree(example_game(), game)
        assert call(cli.msh2gltf, game, "-o", folder / "out", "-q", "-j", "1") == 0
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    while left := [t for t in trials if not place(folder, *t).exists()]:
        job = {
            "zip": str(zip_file or build.build(folder / "zip")),
            "folder": str(folder),
            "game": str(folder / "game"),
            "sources": SOURCES,
            "frames": FRAMES,
            "trials": left,
        }
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        shutil.rmtree(folder / "user", ignore_errors=True)
        environment["BLENDER_USER_RESOURCES"] = str(folder / "user")
        with open(folder / "blender.log", "ab") as log:
            command = [blender, HERE / "trial_run.py", folder / "job.json"]
            done = subprocess.run(command, env=environment, stdout=log, stderr=log, check=False)
        if not any(place(folder, *t).exists() for t in left):
            raise SystemExit(f"Blender ended with {done.returncode}: {folder / 'blender.log'}")


def judged(folder: Path, way: str, kind: str, name: str) -> Outcome:
    """Bring an edit back, and look at what came of it."""
    here = place(folder, way, kind, name)
    if not (here / "said.json").is_file():
        text = (here / "failed.txt").read_text("utf-8") if (here / "failed.txt").is_file() else "Blender crashed"
        return Outcome(way, kind, name, "failed", text.strip().splitlines()[-1:])
    said = json.loads((here / "said.json").read_text("utf-8"))
    messages, error = [*said["messages"], said["error"]], said["error"]
    game, changes = here / "game", [row for row in said["rows"] if " kept: " not in row]
    if way != "extension":
        game, messages, error, changes = by_command(folder, here, SOURCES[kind]["gltf"])
    source = SOURCES[kind]
    entry = ["--entry", source["entry"]] if "entry" in source else []
    second = here / "second.glb"
    code = 0 if second.is_file() else call(cli.msh2gltf, game / source["file"], *entry, "-o", second, "-q")
    with np.load(here / "shown.npz") as arrays:
        shown = dict(arrays)
    found = (
        ["the result cannot be exported"]
        if code
        else differences(said["facts"], shown, second, FRAMES[kind], kind, said["names"])
    )
    about = [text for text in messages if not NOISE.search(text)]
    named = [text for text in about if "Traceback" not in text and any(is_in(one, text) for one in said["names"])]
    refused = error and not BROKEN.search(error)  # nothing was written, and a line says why
    if found:
        verdict = "named" if named or refused else "silent"
    else:
        said_so = any("not applied" in text for text in about) or error
        verdict = "named" if named and said_so else "loud" if said_so else "exact"
    changes += [f"writes {', '.join(written)}"] if (written := differing(folder / "game", game)) else []
    return Outcome(way, kind, name, verdict, found, about, changes)


def differing(before: Path, after: Path) -> list[str]:
    """The files of a game that are others now, with the entries of archives; those of its history are left out."""
    files = [path for path in sorted(after.rglob("*")) if path.is_file() and ".msh-gltf" not in path.parts]
    out = []
    for path in files:
        name = path.relative_to(after).as_posix()
        old, new = (before / name).read_bytes() if (before / name).is_file() else b"", path.read_bytes()
        if old != new and path.suffix in (".rlb", ".lib"):
            was, now = (
                {e.name: (bytes(e.payload), e.attr1) for e in read_nres(data, "x").entries} for data in (old, new)
            )
            name += f" ({', '.join(sorted(one for one in was.keys() | now.keys() if was.get(one) != now.get(one)))})"
        out += [name] if old != new else []
    return out


def is_in(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def by_command(folder: Path, here: Path, gltf: str) -> tuple[Path, list[str], str, list[str]]:
    """``gltf2msh`` on the run with the edited file: the game after it, messages, why it was refused, what changed."""
    if not (here / "edited.glb").is_file():
        return folder / "game", ["Blender exports nothing"], "", []
    report, code = here / "report.json", 0
    if not (here / "out").is_dir():
        shutil.copytree(folder / "out", here / "out")
        shutil.copy(here / "edited.glb", here / "out" / gltf)
        command = (here / "out", "--game", folder / "game", "-o", here / "new", "-j", "1", "-q", "--report", report)
        with contextlib.redirect_stderr(io.StringIO()), mock.patch.object(workers, "run_here", in_this_process):
            code = call(cli.gltf2msh, *command)
    said = json.loads(report.read_text("utf-8")) if report.is_file() else {"items": []}
    messages, changes = texts(said), texts(said, "changes")
    if code and not report.is_file():
        messages.append("refused")
    error = " ".join(one["detail"] for one in said["items"] if one["status"] == "failed")
    return here / "new" if (here / "new").is_dir() else folder / "game", messages, error, changes


def in_this_process(function: Callable[[Any], Any], tasks: Sequence[Any], _: int) -> Iterator[tuple[int, Any]]:
    """Run tasks as ``workers.run_here`` does, without a process that first imports everything."""
    yield from enumerate(map(function, tasks))


def texts(report: Any, of: str = "not_applied") -> list[str]:
    """Every message of a report: what is not applied, warnings and errors; or what changed."""
    out: list[str] = []
    if isinstance(report, list):
        return [text for one in report for text in texts(one, of)]
    if not isinstance(report, dict):
        return out
    for key, value in report.items():
        if key == of:
            start = "not applied: " if of == "not_applied" else ""
            out += [f"{start}{' '.join(map(str, one.values())) if isinstance(one, dict) else one}" for one in value]
        elif of == "not_applied" and key == "warnings":
            out += [str(one) for one in value]
        elif of == "not_applied" and (
            key in ("error", "message") or (key == "detail" and report.get("status") == "failed")
        ):
            out.append(str(value))
        elif isinstance(value, (list, dict)):
            out += texts(value, of)
    return out


def show(one: Outcome, verbose: bool) -> None:
    """Print a line for a trial, and what is known of it where it did not go well."""
    print(f"{one.verdict:7} {one.way:13} {one.kind:10} {one.name}", flush=True)
    if verbose or one.verdict in ("silent", "failed"):
        for text in one.found[:4]:
            print(f"          - {text}")
    if verbose or one.verdict in ("silent", "loud"):
        for text in one.messages[:6]:
            print(f"          > {text[:220]}")


def count(outcomes: list[Outcome]) -> None:
    """Print how many of each verdict there are."""
    for way in (*WAYS, PLAIN):
        found = Counter(one.verdict for one in outcomes if one.way == way)
        if found:
            print(f"{way}: {found.total()} trials, " + ", ".join(f"{n} {v}" for v, n in sorted(found.items())))


if __name__ == "__main__":
    sys.exit(main())
