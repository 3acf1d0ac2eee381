"""What a user does wrong, and the whole line that each gives: it says what to do next."""

import json
import re
import shlex
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import LONGEST_LINE
from tests.docs.materials import EXAMPLES, example_game
from tests.support.corpus import DATA
from tests.support.runs import call

#: Files of other programs, and broken ones.
FILES = {
    "r.blend": b"BLENDER-v300",
    "r.fbx": b"Kaydara",
    "r.dae": b"<COLLADA",
    "r.max": b"\xd0\xcf",
    "r.stl": b"solid",
    "r.psd": b"8BPS",
    "r.tga": b"\0\0\2",
    "notes.txt": b"hello",
    "notes.lib": b"hello",
    "notes.zip": b"hello",
    "bad.png": b"\x89PNG\r\n\x1a\n" + bytes(30),
    "empty.glb": b"",
    "empty.msh": b"",
    "cut.gltf": b'{"asset": ',
    "deep.gltf": b"[" * 100_000,
    "huge.gltf": b'{"asset": {"version": "2.0"}, "scene": ' + b"9" * 100_000 + b"}",
    "letters.obj": b"v a b c\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "empty.obj": b"# nothing\n",
    "beyond.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
    "full/walker.glb": b"another file",
    "nothing/.keep": b"",
}
#: Edits of a glTF document.
DOCUMENTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "first": lambda d: d["asset"].update(version="1.0"),
    "base64": lambda d: d["buffers"][0].update(uri="data:application/octet-stream;base64,@@@"),
    "web": lambda d: d["buffers"][0].update(uri="http://example.org/y.bin"),
    "lost": lambda d: d["buffers"][0].update(uri="lost.bin"),
    "nan": lambda d: d["nodes"][0].update(translation=[float("nan"), 0, 0]),
    "index": lambda d: d["scenes"][0].update(nodes=[99]),
    "circle": lambda d: d["nodes"][0].update(children=[0]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a game, its models as glTF, and what a user may have beside them."""
    out = tmp_path_factory.mktemp("wrong")
    for name, data in FILES.items():
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_bytes(data)
    shutil.copytree(example_game(), out / "GAME")
    shutil.copytree(example_game(), out / "My Игра")
    shutil.copy(EXAMPLES / "walker.msh", out)
    shutil.copy(DATA / "gamefont.rlb", out)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(out)
        assert call(cli.msh2gltf, "walker.msh", "-q") == 0
        assert call(cli.msh2gltf, "walker.msh", "-q", "-o", "json/walker.gltf") == 0
        assert call(cli.msh2gltf, "GAME", "-q", "-j", 1, "-o", "out") == 0
    for name, text in (("run_of_none", "{}"), ("run_of_text", "hello")):
        shutil.copytree(out / "out", out / name)
        (out / name / "manifest.json").write_text(text)
    for name in ("lone", "text", "other"):
        (out / name).mkdir()
        shutil.copy(out / "walker.glb", out / name)
    (out / "text/walker.msh-sidecar").write_text("hello")
    shutil.copy(out / "out/static.rlb/r_h_01.msh-sidecar", out / "other/walker.msh-sidecar")
    (out / "cut.glb").write_bytes((out / "walker.glb").read_bytes()[:500])
    (out / "cut.msh").write_bytes((out / "walker.msh").read_bytes()[:500])
    for name, edit in DOCUMENTS.items():
        document = json.loads((out / "json/walker.gltf").read_text("utf-8"))
        edit(document)
        (out / f"json/{name}.gltf").write_text(json.dumps(document))
    zipfile.ZipFile(out / "empty.zip", "w").close()
    return out


#: What was typed, and the line that says what is wrong: errors.txt has them by turns.
LINES = Path(__file__).with_name("errors.txt").read_text("utf-8").splitlines()
ERRORS = [(typed.removeprefix("$ "), line) for typed, line in zip(LINES[::2], LINES[1::2], strict=True)]
COMMANDS = {"msh2gltf": cli.msh2gltf, "gltf2msh": cli.gltf2msh, "msh-inspect": cli.msh_inspect, "msh-mod": cli.msh_mod}
#: What only a Python programmer understands.
PYTHON = re.compile(r"[a-z]Error\b|Traceback|<class|\bb'|NoneType|Expecting|errno|[Ee]xception|\bobject at\b|codec")


def said_in(folder: Path, typed: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that a command that fails prints to standard error."""
    words = shlex.split(typed)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call(COMMANDS[words[0]], *words[1:]) == 2
    return capsys.readouterr().err.replace(f"{folder}/", "").splitlines()


@pytest.mark.parametrize(("typed", "line"), ERRORS)
def test_the_line_says_what_to_do_next(folder: Path, capsys: pytest.CaptureFixture[str], typed: str, line: str) -> None:
    said = said_in(folder, typed, capsys)
    assert said[-1] == line
    assert all(len(one) <= LONGEST_LINE and not PYTHON.search(one) for one in said)
    usage = said[0].startswith("Usage: ") and said[1].endswith("--help' for help.")
    assert usage or (len(said) == 1 and ("; " in line or "? " in line)), "no advice"


def test_there_are_sixty_errors() -> None:
    assert len({typed for typed, _ in ERRORS}) == len(ERRORS) >= 60
