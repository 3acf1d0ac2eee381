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
from collections.abc import Callable
from pathlib import Path

from tests.support.gltf_edit import Editable
from tests.support.runs import run
from tests.support.strace import traced
from tests.support.verbs import two_outputs

_PATHS = (
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
_WRITES = (
    "openat",
    "open",
    "creat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "truncate",
    "chmod",
    "fchmodat",
    "utimensat",
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def prepare(folder: Path, chance: random.Random) -> Path:
    """A game with a history, an edited output directory, a mod, and what must stay as it is."""
    shutil.copytree(two_outputs(), folder, dirs_exist_ok=True)
    (folder / "outside").mkdir()
    (folder / "outside/x").write_bytes(b"nobody's")
    glb = folder / "out_a/turrets.rlb/e_tur_01.glb"
    document = Editable(glb)
    document.json["nodes"][0]["translation"] = [chance.random(), 2.0, 3.0]
    document.save(glb)
    where = ("--game", folder / "game", "--in-place", "-q", "-j", "1")
    assert run("gltf2msh", folder / "out_a", *where).returncode == 0
    mod = ("make", folder / "game", folder / "mod.zip", "--name", "M")
    assert run("msh-mod", *mod).returncode == 0
    document.json["nodes"][0]["translation"] = [chance.random(), 5.0, 3.0]
    document.save(glb)
    return folder


def _texts(value: object, path: tuple = ()):  # type: ignore[no-untyped-def, type-arg]
    """Every text and number of JSON with its place."""
    items = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type, union-attr]
    for key, one in items:
        if isinstance(one, dict | list):
            yield from _texts(one, (*path, key))
        else:
            yield (*path, key)


def spoil(facts: object, chance: random.Random) -> None:
    """Replace some values of JSON by hostile ones."""
    places = list(_texts(facts))
    for place in chance.sample(places, min(len(places), chance.randint(1, 4))):
        target = facts
        for key in place[:-1]:
            target = target[key]  # type: ignore[index]
        number = [-1, 2**70, 0, None, 1e300]
        target[place[-1]] = chance.choice([*_PATHS, *number])  # type: ignore[index]


def hostile_manifest(folder: Path, chance: random.Random) -> tuple[str, ...]:
    path = folder / "out_a/manifest.json"
    facts = json.loads(path.read_text("utf-8"))
    spoil(facts, chance)
    path.write_text(json.dumps(facts), "utf-8")
    return ("gltf2msh", str(folder / "out_a"), "--game", str(folder / "game"), "--in-place")


def hostile_links(folder: Path, chance: random.Random) -> tuple[str, ...]:
    names = (
        "textures",
        "turrets.rlb",
        "manifest.json",
        ".msh-gltf-journal",
        ".msh-gltf-lock",
        "turrets.rlb/e_tur_02.glb",
        "static.rlb/added.glb",
        "written.json",
    )
    for name in chance.sample(names, 3):
        path = folder / "out_a" / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if path.parent.is_symlink():
            continue
        path.parent.mkdir(exist_ok=True)
        where = chance.choice(["outside/x", "outside", "outside/none", "game/static.rlb"])
        path.symlink_to(folder / where)
    if chance.random() < 0.5:
        options = chance.choice([(), ("--force",)])
        return ("msh2gltf", str(folder / "game"), "-o", str(folder / "out_a"), *options)
    return ("gltf2msh", str(folder / "out_a"), "--game", str(folder / "game"), "--in-place", "--add")


def hostile_history(folder: Path, chance: random.Random) -> tuple[str, ...]:
    vault = folder / "game/.msh-gltf"
    path = vault / "edits.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    spoil(lines, chance)
    if chance.random() < 0.5:
        lines[0]["files"] = {chance.choice(_PATHS): next(iter(lines[0]["files"].values()))}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    if chance.random() < 0.4:
        intent = {"record": lines[-1], "order": list(lines[-1]["files"])}
        (vault / "intent.json").write_text(json.dumps(intent), "utf-8")
        (vault / "staged").mkdir()
        (vault / "staged/0").symlink_to(folder / "outside/x")
    if chance.random() < 0.3:
        name = chance.choice(["originals", "changes", "staged", "writer", "README.txt"])
        if (vault / name).is_dir():
            shutil.rmtree(vault / name)
        (vault / name).unlink(missing_ok=True)
        (vault / name).symlink_to(folder / chance.choice(["outside", "outside/x", "none"]))
    game = str(folder / "game")
    return chance.choice(
        [
            ("msh-mod", "undo", game),
            ("msh-mod", "restore", game),
            ("msh-mod", "status", game),
            ("gltf2msh", str(folder / "out_a"), "--game", game, "--in-place"),
            ("msh-mod", "install", str(folder / "mod.zip"), game),
        ]
    )


def hostile_mod(folder: Path, chance: random.Random) -> tuple[str, ...]:
    good, bad = folder / "mod.zip", folder / "bad.zip"
    with zipfile.ZipFile(good) as file, zipfile.ZipFile(bad, "w") as new:
        facts = json.loads(file.read("mod.json"))
        spoil(facts, chance)
        if chance.random() < 0.5:
            facts["changes"][0]["file"] = chance.choice(_PATHS)
        new.writestr("mod.json", json.dumps(facts))
        for name in file.namelist():
            data = bytearray(file.read(name))
            if name != "mod.json" and chance.random() < 0.3:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            if name != "mod.json":
                new.writestr(chance.choice([name, name, "../outside/x"]), bytes(data))
    shutil.rmtree(folder / "game")
    shutil.copytree(two_outputs() / "game", folder / "game")
    command = chance.choice(["install", "show"])
    return ("msh-mod", command, str(bad), str(folder / "game"))


KINDS: tuple[Callable[[Path, random.Random], tuple[str, ...]], ...] = (
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
        if name is None or name[1] not in _WRITES or " = -1 " in line or "unfinished" in line:
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
        folder = prepare(Path(name) / "w", chance)
        command = KINDS[seed % len(KINDS)](folder, chance)
        log = Path(name) / "log"
        done = traced(["-o", str(log), "-s", "4096", "-e", f"trace={','.join(_WRITES)}"], *command)
        here = os.path.realpath(folder)
        allowed = (f"{here}/game", f"{here}/out_a", f"{folder}/game", f"{folder}/out_a")
        wrong = [
            path
            for path in written(log.read_text("utf-8", "replace"))
            if path.startswith(("/outside", here, str(folder))) and not path.startswith(allowed)
        ]
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
