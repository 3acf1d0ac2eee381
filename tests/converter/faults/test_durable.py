"""Files of a game after a power cut: old or new, with the originals. strace shows the order."""

import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter import cli
from tests.converter.game.test_import_run import move
from tests.support.game import make_game
from tests.support.runs import call
from tests.support.strace import calls, require_strace, traced
from tests.support.vault import VAULT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strace")

_WATCHED = "trace=write,fsync,rename,renameat,renameat2,link,linkat"


def steps(log: Path, folder: Path) -> list[str]:
    """What happened to the files of a game: ``write X``, ``sync X``, ``name X``, ``names of X``.

    Each with the file, whose temporary name is replaced by its next one; ``names of`` is the sync
    of a folder. What is nobody's loss is left out: who is at work, and what explains the vault.
    """
    folders = {folder, *(folder / VAULT / name for name in ("", "originals", "changes", "staged"))}
    found: list[tuple[str, str]] = []
    names: dict[str, str] = {}
    for call_name, arguments in calls(log):
        if call_name in ("write", "fsync"):
            opened = re.match(r"\d+<([^>]*)>", arguments)
            if opened is None or not Path(opened[1]).is_relative_to(folder):
                continue
            if Path(opened[1]) in folders:
                names[opened[1]] = Path(opened[1]).relative_to(folder).as_posix()
                found.append(("names of", opened[1]))
            else:
                found.append(("sync" if call_name == "fsync" else "write", opened[1]))
        else:
            old, new = re.findall(r'"([^"]*)"', arguments)
            names[old] = Path(new).name
            found.append(("name", old))
    out = [f"{what} {names.get(path, Path(path).name)}" for what, path in found]
    out = [re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", step) for step in out]
    out = [step for step in out if not step.endswith((" writer", " README.txt"))]
    return [step for i, step in enumerate(out) if i == 0 or step != out[i - 1]]


def kept(name: str, folder: str) -> list[str]:
    """What must happen, in this order, to a file of the vault."""
    return [f"write {name}", f"sync {name}", f"name {name}", f"names of {folder}"]


def transaction(name: str, *, first: bool) -> list[str]:
    """What must happen, in this order: each on the disk before the next."""
    original = kept("DIGEST", f"{VAULT}/originals") if first else []
    return [
        "names of .",  # the vault's own
        *original,
        *kept("DIGEST", f"{VAULT}/changes"),
        *kept("0", f"{VAULT}/staged"),
        *kept("intent.json", VAULT),
        f"name {name}",
        "names of .",
        "write edits.jsonl",
        "sync edits.jsonl",
        *([f"names of {VAULT}"] if first else []),
    ]


def test_in_place(tmp_path: Path) -> None:
    """The original, the change, the intent, the archive, the history."""
    require_strace()
    game, out, log = make_game(tmp_path / "game"), tmp_path / "out", tmp_path / "log"
    assert call(cli.msh2gltf, game, "-o", out, "-q", "--include", "*s_rock*") == 0
    move(out / "static.rlb/s_rock_057.glb")
    options = ["-y", "-o", str(log), "-e", _WATCHED]
    done = traced(options, "gltf2msh", out, "--game", game, "--in-place", "-q")
    assert done.returncode == 0, done.stderr
    assert steps(log, game) == transaction("static.rlb", first=True)


def test_undo(tmp_path: Path) -> None:
    """What is removed goes after its bytes are in the vault."""
    require_strace()
    library, log = make_game(tmp_path / "game") / "empty.rlb", tmp_path / "log"
    Image.new("RGB", (4, 4), "red").save(tmp_path / "one.png")
    assert call(cli.gltf2msh, tmp_path / "one.png", "--into", library, "-q") == 0
    done = traced(["-y", "-o", str(log), "-e", _WATCHED], "msh-mod", "undo", library.parent)
    assert done.returncode == 0, done.stderr
    changes = kept("DIGEST", f"{VAULT}/changes")
    expected = [one for one in transaction("empty.rlb", first=False) if one not in changes]
    assert steps(log, library.parent) == expected
