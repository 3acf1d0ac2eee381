"""The commands in a console of Windows: names in code page 866, Ctrl-C, Ctrl-Break."""

from pathlib import Path

import pytest

from tests.support.game import MESH, archive, entry, make_large_game, model, snapshot, write
from tests.support.runs import run
from tests.support.wine import Console, entry_point, needs_windows, run_on_windows

pytestmark = needs_windows
#: Starts a program in the console of Russian Windows, as ``chcp 866`` leaves it.
RUSSIAN = """
import ctypes, subprocess, sys
kernel = ctypes.windll.kernel32
assert kernel.SetConsoleOutputCP(866) and kernel.SetConsoleCP(866)
sys.exit(subprocess.call([sys.executable, "-c", *sys.argv[1:]]))
"""
#: Sets a window's title and colours; the euro is in code page 1251 and not in 866.
EVIL = "\x1b]0;owned\x07\x1b[31m[red]"


@pytest.fixture
def game(tmp_path: Path) -> Path:
    data = model("retail__odd__l_mast_010")
    names = ("птица.msh", f"a{EVIL}.msh", "5 €.msh")
    entries = [entry(MESH, name.encode("cp1251"), data) for name in names]
    entries.append(entry(MESH, "сломана €.msh".encode("cp1251"), data[: len(data) // 2]))
    write(tmp_path / "игра с пробелом/модели.rlb", archive(entries))
    return tmp_path / "игра с пробелом"


@pytest.mark.parametrize("legacy", [False, True], ids=["", "PYTHONLEGACYWINDOWSSTDIO"])
def test_names_in_code_page_866(game: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, legacy: bool) -> None:
    """Every name is shown; none is obeyed as a sequence of the terminal."""
    if legacy:  # Python then has an encoding without Cyrillic for what the console takes as text
        monkeypatch.setenv("PYTHONLEGACYWINDOWSSTDIO", "1")
    for code, *command in (
        (0, "msh2gltf", game, "--list"),
        (1, "msh2gltf", game, "-o", tmp_path / "out", "-j", "1"),
        (1, "msh-inspect", "--check", game),
        # Windows gives arguments as text, whatever the console's code page
        *((0, "msh2gltf", game, "--include", f"*{name}", "-o", tmp_path / name) for name in ("птица.msh", "5 €.msh")),
    ):
        console = Console(RUSSIAN, entry_point(command[0]), *command[1:])
        assert console.close() == code, console.text
        text = console.text
        if "--include" in command:
            assert len(list(command[-1].rglob("*.glb"))) == 1
        assert "Traceback" not in text
        assert "internal error" not in text
        if "--list" in command:
            assert "модели.rlb::птица.msh" in text
            assert r"модели.rlb::a\x1b]0;owned\x07\x1b[31m[red].msh" in text
        if "--list" in command or not (legacy or "--include" in command):
            assert "модели.rlb::сломана €.msh" in text


@pytest.mark.parametrize(
    ("key", "when"), [("Ctrl-C", "as workers start"), ("Ctrl-C", "at work"), ("Ctrl-Break", "at work")]
)
def test_an_interrupt_leaves_whole_files(tmp_path: Path, key: str, when: str) -> None:
    """The message is one line, no worker says anything, and the same command completes."""
    game, out = make_large_game(tmp_path / "game", 3), tmp_path / "out"
    program = entry_point("msh2gltf")
    if key == "Ctrl-Break":  # wine cannot send it: as Python hands it to its main thread
        program = (
            "import os, signal, sys, threading, time\n"
            "def press():\n"
            "    while not os.path.exists(sys.argv[3] + '.break'): time.sleep(.05)\n"
            "    signal.raise_signal(signal.SIGBREAK)\n"
            "threading.Thread(target=press, daemon=True).start()\n" + program
        )
    console = Console(program, game, "-o", out, "-j", "2")
    if when == "at work":
        assert console.watch(lambda: any(out.rglob("*.glb"))), console.text
    else:
        assert console.watch((out / ".msh-gltf-lock").exists), console.text
        console.watch(lambda: False, 0.6)
    if key == "Ctrl-C":
        console.press(b"\x03")
    else:
        (tmp_path / "out.break").touch()
    code, text = console.close(), " ".join(console.text.split())  # lines are wrapped
    assert code == (130 if key == "Ctrl-C" else 149), text
    assert "the same command goes on where it stopped" in text
    assert "Traceback" not in text
    assert "Fatal Python error" not in text
    code, output = run_on_windows("msh2gltf", game, "-o", out, "-j", "2")
    assert code == 0, output
    assert run("msh2gltf", game, "-o", tmp_path / "here").returncode == 0
    assert snapshot(out) == snapshot(tmp_path / "here")
