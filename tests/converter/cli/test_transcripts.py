"""What the commands print and what they write, session by session: ``transcripts.txt``.

There ``# TITLE`` begins a session in an empty folder. ``$`` is what is typed: a command, or one of ``STEPS``, which
set something up or do what another program does. Below it ``|`` is what is printed, ``!`` the same to standard error,
``=`` an exit code that is not 0; ``+ ~ -`` are files that are new, different and gone, with what they show or which
other file they equal. To add a session write its lines of ``#`` and ``$``: ``python -m
tests.converter.cli.test_transcripts`` writes all others again, for you to read what became different.
"""

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter.storage import VAULT
from tests.docs.materials import EXAMPLES, example_game
from tests.support.assembled_game import GameParts
from tests.support.controller import walker
from tests.support.corpus import DATA
from tests.support.corruption.base import Nres
from tests.support.game import archive, entry, make_game
from tests.support.gltf_edit import Editable
from tests.support.recorded import digest, shown
from tests.support.runs import run, run_apart

TRANSCRIPTS = Path(__file__).with_name("transcripts.txt")
#: Of more lines than these the last ones are a digest.
LONGEST = 30
#: What is another one in each run, or where bytes are packed otherwise.
OTHER = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\+00:00)?"), "TIME"),
    (re.compile(r"(\(|originals |changes |\.0: )[\d,.]+ (bytes|MB)"), r"\1N \2"),
    (re.compile(r"[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"(\d+\.\d{4})\d+"), r"\1"),
]
#: What comes before each error of usage.
USAGE = re.compile(r"Usage: .*\.\.\.$|Usage: .*\]$|Usage: .* INPUT$|Try '.*' for help\.$|$")
#: Help is as wide as the terminal.
ENVIRONMENT = {"COLUMNS": "80", "MSH_GLTF_LANG": "en"}
#: Files that hold such.
UNLIKE = (".msh-sidecar", ".json", ".gltf", ".zip", ".bin")


def take(name: str, to: str) -> None:
    """Copy a file of the examples or of the tests' data."""
    place = next(folder / name for folder in (EXAMPLES, DATA) if (folder / name).exists())
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(place, to)


def assembled_game(root: str, *edits: str) -> None:
    """Make a small game of units and a mission; edits are statements about its ``parts``."""
    names = {"parts": GameParts()}
    for edit in edits:
        exec(edit, names)
    names["parts"].write(Path(root))


def pack(path: str, kind: str, *files: str) -> None:
    """Make an archive of files, as entries of one type; ``NAME=FILE`` gives an entry another name."""
    number = int(kind) if kind.isdigit() else int.from_bytes(kind.encode(), "little")
    given = {Path(one.partition("=")[0]).name: Path(one.rpartition("=")[2]).read_bytes() for one in files}
    Path(path).write_bytes(archive([entry(number, name.encode("cp1251"), data) for name, data in given.items()]))


def play(path: str, frames: str, node: str = "3") -> None:
    """Make a controller that plays so many frames."""
    Path(path).write_bytes(walker(int(frames), node=int(node)))


def paint(path: str, size: str, mode: str, seed: str) -> None:
    """Make a picture of any pixels."""
    width, height = map(int, size.split("x"))
    pixels = np.random.default_rng(int(seed)).integers(0, 256, (height, width, len(mode)), np.uint8)
    Image.fromarray(pixels).save(path)


def break_table(path: str, table: str, row: str, at: str, kind: str, value: str) -> None:
    """Put another number into a table of a model."""
    box = Nres.read(Path(path).read_bytes())
    box.table(int(table)).set(int(row), int(at), kind, float(value) if kind == "f" else int(value))
    Path(path).write_bytes(box.write())


def break_entry(path: str, kind: str, what: str, value: str) -> None:
    """Give a table of a model another attribute, leave so many bytes of it (``size``), or take out a ``row``."""
    box = Nres.read(Path(path).read_bytes())
    entry, number = box.entry(int(kind)), int(value)
    if what == "size":
        del entry.data[number:]
    elif what == "row":
        size = box.table(int(kind)).stride
        del entry.data[size * number : size * (number + 1)]
    else:
        setattr(entry, what, number)
    Path(path).write_bytes(box.write())


def move(path: str, name: str) -> None:
    """Move a node of a glTF."""
    document = Editable(Path(path))
    node = document.node(name)
    node["translation"] = [1 + x for x in node.get("translation", [0, 0, 0])]
    document.save(Path(path))


def rename(path: str, old: str, new: str) -> None:
    """Call materials of a glTF otherwise."""
    document = Editable(Path(path))
    for material in document.json["materials"]:
        material["name"] = material["name"].replace(old, new)
    document.save(Path(path))


def stray(path: str) -> None:
    """Give a glTF a part of a node that its model does not have."""
    document = Editable(Path(path))
    extras = {"msh": {"node": 999, "lod": 1, "group": 0}}
    document.json["nodes"].append({"name": "stray", "mesh": 0, "extras": extras})
    document.json["scenes"][0]["nodes"].append(len(document.json["nodes"]) - 1)
    document.save(Path(path))


def write(path: str, text: str) -> None:
    """Write a text; ``\\n`` ends a line."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.replace("\\n", "\n").encode())


def cut(path: str, size: str) -> None:
    """Leave so many bytes of a file; of fewer than none: without the last ones."""
    Path(path).write_bytes(Path(path).read_bytes()[: int(size)])


def flip(path: str, at: str) -> None:
    """Change a bit of a byte; of fewer than none: counted from the end."""
    data = bytearray(Path(path).read_bytes())
    data[int(at)] ^= 1
    Path(path).write_bytes(data)


def replace(path: str, old: str, new: str) -> None:
    """Replace the first such text in a file; ``\\0`` is a byte of 0."""
    data, before = Path(path).read_bytes(), old.encode()
    assert before in data
    Path(path).write_bytes(data.replace(before, new.replace("\\0", "\0").encode(), 1))


def show(path: str) -> str:
    """Print a text file."""
    return Path(path).read_text("utf-8")


def remove(path: str) -> None:
    shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()


STEPS: dict[str, Callable[..., object]] = {
    "take": take,
    "example-game": lambda root: shutil.copytree(example_game(), root),
    "small-game": lambda root: make_game(Path(root)),
    "assembled-game": assembled_game,
    "pack": pack,
    "play": play,
    "paint": paint,
    "break-table": break_table,
    "break-entry": break_entry,
    "move": move,
    "rename": rename,
    "stray": stray,
    "write": write,
    "cut": cut,
    "flip": flip,
    "replace": replace,
    "show": show,
    "rm": remove,
    "cp": lambda one, two: shutil.copytree(one, two) if Path(one).is_dir() else shutil.copyfile(one, two),
    "mv": os.rename,
    "mkdir": os.mkdir,
    "link": lambda path, to: os.symlink(to, path),
    "pipe": lambda path: os.mkfifo(path),
}


def facts(folder: Path, known: dict[str, tuple[bytes, str]]) -> Iterator[tuple[str, tuple[bytes, str]]]:
    """The files of a folder: their bytes and what they show; what is ``known`` is not looked at again."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if VAULT in path.parts:
            if path.name == VAULT:
                yield name, (b"", "")
        elif path.is_file():
            data = path.read_bytes()
            if name in known and known[name][0] == data:
                yield name, known[name]
            elif path.suffix in UNLIKE:
                yield name, (data, "")
            else:
                drawn = data.startswith((b"glTF", b"\x89PNG"))
                yield name, (data, shown(path) if drawn and path.suffix in (".glb", ".png") else digest(data))


def printed(mark: str, text: str, folder: Path) -> list[str]:
    """What is printed, without what is of this machine and moment."""
    text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), "HERE")
    for pattern, instead in OTHER:
        text = pattern.sub(instead, text)
    lines = [f"{mark} {line}".rstrip() for line in text.splitlines() if not USAGE.match(line)]
    rest = lines[LONGEST:]
    return [*lines[:LONGEST], f"{mark} ... and {len(rest)} more {digest(rest)}"] if rest else lines


def played(typed: list[str], folder: Path) -> list[str]:
    """A session: what is typed, and what comes of it."""
    lines, known = [], dict[str, tuple[bytes, str]]()
    for line in typed:
        command, *words = shlex.split(line.removeprefix("$ "))
        lines.append(line)
        if command in STEPS:
            with chdir(folder):
                said = STEPS[command](*words)
            lines += printed("|", said, folder) if command == "show" else []
            known = dict(facts(folder, known))
            continue
        with mock.patch.dict(os.environ, ENVIRONMENT):
            # help by itself: once it was other after tests that ran before
            done = (run_apart if "--help" in words else run)(command, *words, cwd=folder)
        lines += printed("|", done.stdout, folder) + printed("!", done.stderr, folder)
        lines += [f"= {done.returncode}"] if done.returncode else []
        now = dict(facts(folder, known))
        lines += [f"- {name}" for name in known if name not in now]
        for name, fact in now.items():
            if fact != known.get(name):
                same = [other for other in now if other != name and now[other][0] == fact[0] != b""]
                what = f"as {min(same, key=len)}" if same else fact[1]
                lines.append(f"{'~' if name in known else '+'} {name} {what}".rstrip())
        known = now
    return lines


def sessions() -> dict[str, list[str]]:
    """The lines of each session by its title."""
    parts = re.split(r"^# ", TRANSCRIPTS.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return {title: [line for line in lines if line] for title, *lines in map(str.splitlines, parts)}


SESSIONS = sessions()


@pytest.mark.parametrize("title", SESSIONS)
def test_a_session_is_what_it_was(title: str, tmp_path: Path) -> None:
    assert played([line for line in SESSIONS[title] if line.startswith("$")], tmp_path) == SESSIONS[title]


if __name__ == "__main__":
    text = []
    for title, known_lines in SESSIONS.items():
        with TemporaryDirectory() as place:
            again = played([line for line in known_lines if line.startswith("$")], Path(place).resolve())
        text += [f"# {title}", *again, ""]
    TRANSCRIPTS.write_text("\n".join(text), "utf-8")
