"""Received directories, histories and mods, run under strace: nothing else is written.

``python -m tests.converter.game.hostile 200`` runs many; the gate runs some.
"""

import json
import os
import random
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.game import two_outputs
from tests.support.runs import run
from tests.support.strace import traced
from tests.support.verbs import move

PATHS = (
    "../outside/x",
    "/outside/x",
    "a/../../outside/x",
    ".msh-gltf/edits.jsonl",
    "..",
    "C:\\x",
    "static.rlb/../../outside/x",
    "link/x",
    "",
    "\u0000",
    "DATA/" * 900,
)
WRITES = (
    "openat,open,creat,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,"
    "truncate,chmod,fchmodat,utimensat"
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def prepare(folder: Path, chance: random.Random) -> None:
    """A game with a history, an edited output directory, a mod, and what must stay as it is."""
    shutil.copytree(two_outputs(), folder, dirs_exist_ok=True)
    (folder / "outside").mkdir()
    (folder / "outside/x").write_bytes(b"nobody's")
    move(folder / "out_a/turrets.rlb/e_tur_01.glb", chance.random())
    assert run("gltf2msh", "out_a", "--game", "game", "--in-place", "-q", "-j", "1", cwd=folder).returncode == 0
    assert run("msh-mod", "make", "game", "mod.zip", "--name", "M", cwd=folder).returncode == 0
    move(folder / "out_a/turrets.rlb/e_tur_01.glb", chance.random())


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each text and number of JSON is."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, dict | list):
            yield from places(one, (*path, key))
        else:
            yield (*path, key)


def spoil(facts: Any, chance: random.Random) -> None:
    """Replace some values of JSON by hostile ones."""
    known = list(places(facts))
    for place in chance.sample(known, min(len(known), chance.randint(1, 4))):
        target = facts
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = chance.choice([*PATHS, -1, 2**70, 0, None, 1e300])


def take_away(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def hostile_manifest(folder: Path, chance: random.Random) -> str:
    path = folder / "out_a/manifest.json"
    facts = json.loads(path.read_text("utf-8"))
    spoil(facts, chance)
    path.write_text(json.dumps(facts), "utf-8")
    return "gltf2msh out_a --game game --in-place"


def hostile_links(folder: Path, chance: random.Random) -> str:
    names = "textures turrets.rlb manifest.json .msh-gltf-journal .msh-gltf-lock turrets.rlb/e_tur_02.glb "
    for name in chance.sample(f"{names}static.rlb/added.glb written.json".split(), 3):
        path = folder / "out_a" / name
        take_away(path)
        if not path.parent.is_symlink():
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(folder / chance.choice(["outside/x", "outside", "outside/none", "game/static.rlb"]))
    exports = ["msh2gltf game -o out_a", "msh2gltf game -o out_a --force"]
    return chance.choice([*exports, *["gltf2msh out_a --game game --in-place --add"] * 2])


def hostile_history(folder: Path, chance: random.Random) -> str:
    vault = folder / "game/.msh-gltf"
    path = vault / "edits.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    spoil(lines, chance)
    if chance.random() < 0.5:
        lines[0]["files"] = {chance.choice(PATHS): next(iter(lines[0]["files"].values()))}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    if chance.random() < 0.4:
        intent = {"record": lines[-1], "order": list(lines[-1]["files"])}
        (vault / "intent.json").write_text(json.dumps(intent), "utf-8")
        (vault / "staged").mkdir()
        (vault / "staged/0").symlink_to(folder / "outside/x")
    if chance.random() < 0.3:
        name = chance.choice(["originals", "changes", "staged", "writer", "README.txt"])
        take_away(vault / name)
        (vault / name).symlink_to(folder / chance.choice(["outside", "outside/x", "none"]))
    commands = ["msh-mod undo game", "msh-mod restore game", "msh-mod status game", "msh-mod install mod.zip game"]
    return chance.choice([*commands, "gltf2msh out_a --game game --in-place"])


def hostile_mod(folder: Path, chance: random.Random) -> str:
    with zipfile.ZipFile(folder / "mod.zip") as file, zipfile.ZipFile(folder / "bad.zip", "w") as new:
        facts = json.loads(file.read("mod.json"))
        spoil(facts, chance)
        if chance.random() < 0.5:
            facts["changes"][0]["file"] = chance.choice(PATHS)
        new.writestr("mod.json", json.dumps(facts))
        for name in file.namelist():
            data = bytearray(file.read(name))
            if name != "mod.json":
                data[chance.randrange(len(data))] ^= chance.choice([0, 0, 1, 128])
                new.writestr(chance.choice([name, name, "../outside/x"]), bytes(data))
    shutil.rmtree(folder / "game")
    shutil.copytree(two_outputs() / "game", folder / "game")
    return f"msh-mod {chance.choice(['install', 'show'])} bad.zip game"


KINDS: tuple[Callable[[Path, random.Random], str], ...] = (
    hostile_manifest,
    hostile_links,
    hostile_history,
    hostile_mod,
)


def written(log: str) -> set[str]:
    """Paths that system calls of a log changed."""
    found = set()
    for line in log.splitlines():
        name = re.match(r"(?:\d+ +)?(\w+)\(", line)
        if name is None or name[1] not in WRITES.split(",") or " = -1 " in line or "unfinished" in line:
            continue
        if name[1].startswith("open") and not re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", line):
            continue
        texts = [text.encode().decode("unicode_escape") for text in _QUOTED.findall(line)]
        found |= {text.encode("latin-1").decode("utf-8", "replace") for text in texts}
    return found


def attempt(seed: int) -> str:
    """Run one received thing; return what went wrong, or nothing."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name).resolve() / "w", Path(name) / "log"
        prepare(folder, chance)
        command = KINDS[seed % len(KINDS)](folder, chance)
        words = [str(folder / word) if (folder / word).exists() else word for word in command.split()]
        done = traced(["-o", str(log), "-s", "4096", "-e", f"trace={WRITES}"], *words)
        allowed = (f"{folder}/game", f"{folder}/out_a")
        paths = written(log.read_text("utf-8", "replace"))
        wrong = [one for one in paths if one.startswith(("/outside", str(folder))) and not one.startswith(allowed)]
        if done.returncode not in (0, 1, 2):
            wrong.append(f"exit code {done.returncode}")
        if "Traceback" in done.stderr or "internal error" in done.stderr:
            wrong.append(done.stderr[-600:])
        if (folder / "outside/x").read_bytes() != b"nobody's" or len(os.listdir(folder / "outside")) != 1:
            wrong.append("outside has changed")
        return f"seed {seed}: {command}: {wrong}" if wrong else ""


def main() -> int:
    found = [text for seed in range(int(sys.argv[1])) if (text := attempt(seed))]
    print("\n".join([*found, f"{sys.argv[1]} received things, {len(found)} findings"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
