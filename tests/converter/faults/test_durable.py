"""Archives after a power cut: old or new, with the backup. strace shows the order."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter import cli
from tests.converter.batch.test_import_run import move
from tests.support.game import make_game
from tests.support.runs import call
from tests.support.strace import calls, require_strace, traced

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strace")

_WATCHED = "trace=write,fsync,rename,renameat,renameat2,link,linkat"
_PUT_BACK = """
import sys
from pathlib import Path
from msh_gltf.converter.batch.replace_entry import Origin, replace_model
from msh_gltf.converter.formats.sidecar import sha256
path = Path(sys.argv[1])
assert replace_model(Origin(path), path.read_bytes() + b"new", {sha256(path.read_bytes())})
"""


def steps(log: Path, folder: Path) -> list[str]:
    """What happened to the files of a directory: ``write``, ``sync``, ``name X``, ``sync names``.

    Each with the file, whose temporary name is replaced by its later one.
    """
    found: list[tuple[str, str]] = []
    names: dict[str, str] = {}
    for call_name, arguments in calls(log):
        if call_name in ("write", "fsync"):
            opened = re.match(r"\d+<([^>]*)>", arguments)
            if opened is None or not Path(opened[1]).is_relative_to(folder):
                continue
            if Path(opened[1]) == folder:
                found.append(("sync names", ""))
            else:
                found.append(("sync" if call_name == "fsync" else "write", opened[1]))
        else:
            old, new = re.findall(r'"([^"]*)"', arguments)
            names[old] = Path(new).name
            found.append(("name", old))
    out = [f"{what} {names.get(path, path)}".strip() for what, path in found]
    return [step for i, step in enumerate(out) if i == 0 or step != out[i - 1]]


def safe(name: str) -> list[str]:
    """What must happen, in this order, to the files of a name."""
    return [f"write {name}", f"sync {name}", f"name {name}", "sync names"]


def test_in_place(tmp_path: Path) -> None:
    """The bytes of the backup, its name, the bytes of the archive, its name: each on the disk
    before the next."""
    require_strace()
    game, out, log = make_game(tmp_path / "game"), tmp_path / "out", tmp_path / "log"
    assert call(cli.msh2gltf, game, "-o", out, "-q", "--include", "*s_rock*") == 0
    move(out / "static.rlb/s_rock_057.glb")
    options = ["-y", "-o", str(log), "-e", _WATCHED]
    done = traced(options, "gltf2msh", out, "--game", game, "--in-place", "-q")
    assert done.returncode == 0, done.stderr
    watched = [step for step in steps(log, game) if "written.json" not in step]
    assert watched[-8:] == [*safe("static.rlb.bak"), *safe("static.rlb")]


def test_into_a_library(tmp_path: Path) -> None:
    """Also where the backup is there already: it stays."""
    require_strace()
    library, log = make_game(tmp_path / "game") / "empty.rlb", tmp_path / "log"
    options = ["-y", "-o", str(log), "-e", _WATCHED]
    for name, order in (
        ("one", [*safe("empty.rlb.bak"), *safe("empty.rlb")]),
        ("two", safe("empty.rlb")),
    ):
        Image.new("RGB", (4, 4), "red").save(tmp_path / f"{name}.png")
        done = traced(options, "gltf2msh", tmp_path / f"{name}.png", "--into", library, "-q")
        assert done.returncode == 0, done.stderr
        assert steps(log, library.parent) == order


def test_put_back(tmp_path: Path) -> None:
    """What the button in Blender calls."""
    require_strace()
    path, log = tmp_path / "game/x.msh", tmp_path / "log"
    path.parent.mkdir()
    path.write_bytes(b"old")
    done = traced(["-y", "-o", str(log), "-e", _WATCHED], "python", "-c", _PUT_BACK, path)
    assert done.returncode == 0, done.stderr
    assert steps(log, path.parent) == [*safe("x.msh.bak"), *safe("x.msh")]
    assert path.read_bytes() == b"oldnew"
