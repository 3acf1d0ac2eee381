"""Files of a game after a power cut: old or new, with the originals, by the order in which they reach the disk."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from PIL import Image

from msh_gltf.converter import cli
from tests.converter.faults.test_links import game, places, whole
from tests.support.game import make_game
from tests.support.runs import call
from tests.support.vault import VAULT

__all__ = ["game", "places", "whole"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")

#: Who is at work, and what explains the vault.
OTHERS = ("writer", "README.txt")


@contextmanager
def steps(folder: Path) -> Iterator[list[str]]:
    """What happens to the files of a game: ``sync X``, ``name X``, ``names of X`` (the sync of a folder).

    Each with the file, whose temporary name is replaced by its next one. What is nobody's loss is left out: who is at
    work, and what explains the vault. Each file has its name, or is left, with the bytes that were synced.
    """
    found, out = list[tuple[str, Path]](), list[str]()
    names, synced = dict[Path, str](), dict[Path, bytes]()

    def sync(file: int, fsync=os.fsync) -> None:
        fsync(file)
        path = Path(os.readlink(f"/proc/self/fd/{file}"))
        if path.is_dir() and path.is_relative_to(folder):
            names[path] = path.relative_to(folder).as_posix()
            found.append(("names of", path))
        elif path.is_relative_to(folder):
            synced[path] = path.read_bytes()
            found.append(("sync", path))

    def naming(function: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
        def name(old: Path, new: Path) -> None:
            function(old, new)
            names[Path(old)] = Path(new).name
            if Path(new).name not in OTHERS:
                synced[Path(new)] = synced[Path(old)]
                assert synced[Path(new)] == Path(new).read_bytes(), new
            found.append(("name", Path(old)))

        return name

    with mock.patch.multiple(os, fsync=sync, replace=naming(os.replace), link=naming(os.link)):
        yield out
    assert {path: data for path, data in synced.items() if path.exists() and path.read_bytes() != data} == {}
    for what, path in found:
        name = names.get(path, path.name)
        step = f"{what} {re.sub(r'[0-9a-f]{64}', 'DIGEST', name)}"
        if name not in OTHERS and [step] != out[-1:]:
            out.append(step)


def kept(name: str, folder: str) -> list[str]:
    """What must happen, in this order, to a file of the vault."""
    return [f"sync {name}", f"name {name}", f"names of {folder}"]


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
        "sync edits.jsonl",
        *([f"names of {VAULT}"] if first else []),
    ]


def test_in_place(places: tuple[Path, Path]) -> None:
    """The original, the change, the intent, the archive, the history."""
    game, out = places
    with steps(game) as found:
        assert call(cli.gltf2msh, out, "--game", game, "--in-place", "-q") == 0
    assert found == transaction("static.rlb", first=True)


def test_undo(tmp_path: Path) -> None:
    """What is removed goes after its bytes are in the vault."""
    library = make_game(tmp_path / "game") / "empty.rlb"
    Image.new("RGB", (4, 4), "red").save(tmp_path / "one.png")
    assert call(cli.gltf2msh, tmp_path / "one.png", "--into", library, "-q") == 0
    with steps(library.parent) as found:
        assert call(cli.msh_mod, "undo", library.parent) == 0
    changes = kept("DIGEST", f"{VAULT}/changes")
    assert found == [one for one in transaction("empty.rlb", first=False) if one not in changes]
