"""The commands on Windows: the same bytes and exit codes as on Linux, names, paths and other processes."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from PIL import Image

from tests.support.corpus import LIBS, sample_called
from tests.support.game import MESH, archive, entry, make_game, make_large_game, model, snapshot, write
from tests.support.gltf_edit import DEVICES, PATHS_ELSEWHERE, Editable
from tests.support.runs import run
from tests.support.vault import originals
from tests.support.wine import needs_windows, run_on_windows, start_on_windows, windows_path

pytestmark = needs_windows
WALKER = Path(__file__).parents[2] / "examples" / "walker.msh"
#: Files of Windows' devices, of characters that it refuses, and that differ in case only.
NAMES = ("CON.msh", "nul", "a<b>.msh", "tail. .msh", "Twin.msh", "TWIN.MSH", "COM1.msh")
#: Commands, in a folder with a model, a game, an archive of odd names, a picture and a library. Between them stand
#: lists of glTF files, in each of which a vertex is moved; ``*`` makes every file read-only.
SESSIONS = {
    "a model": ("msh2gltf walker.msh", "gltf2msh walker.glb -o back.msh", "msh2gltf walker.msh -o w.gltf"),
    # trimesh calls crealf, which wine 8 does not have: no import
    "an OBJ": ("msh2gltf walker.msh -o w.obj",),
    "a game and its edits": (
        "msh2gltf игра -o out -j 2",
        "gltf2msh out --game игра -o untouched -j 2",
        ["i_room_006.glb", "b_bun_000.glb", "птица.glb"],
        "gltf2msh out --game игра -o edited -j 2",
    ),
    "in place": (
        "msh2gltf игра -o out",
        ["R_H_002.glb"],
        "gltf2msh out --game игра --in-place",
        "msh-mod restore игра",
    ),
    "a picture into a library": ("gltf2msh NEW.png --into Textures.lib",),
    "checks": ("msh-inspect --check игра --json", "msh-inspect --roundtrip игра --json"),
    "names that Windows refuses": ("msh2gltf odd -o out",),
    # what came from a disc is read-only: read, kept so in the copy, replaced on request
    "read-only files": (
        ["*"],
        *("msh2gltf игра -o out", "gltf2msh out --game игра -o copy"),
        *("msh2gltf игра -o out --force", "gltf2msh out --game игра -o copy --force"),
    ),
    # Cyrillic names are UTF-8 where the output is not a console
    "a name from a listing": ("msh2gltf игра --list", "msh2gltf игра -o out --include SYSTEM.RLB::птица.msh"),
}


def make_files(folder: Path) -> Path:
    make_game(folder / "игра")
    for path in (WALKER, LIBS / "Textures.lib"):
        shutil.copy(path, folder)
    Image.new("RGB", (32, 32), (200, 30, 90)).save(folder / "NEW.png")
    data = model("spec__static__b_bun_000")
    write(folder / "odd/odd.rlb", archive([entry(MESH, name.encode(), data) for name in NAMES]))
    return folder


def change(path: Path) -> None:
    """Move a vertex of a glTF file; make another one read-only."""
    if path.suffix == ".glb":
        document = Editable(path)
        document.arrays[document.primitives()[0]["attributes"]["POSITION"]][0] += 0.25
        document.save(path)
    elif path.is_file():
        path.chmod(0o444)


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_makes_what_it_makes_on_linux(tmp_path: Path, session: str) -> None:
    there, here = (make_files(tmp_path / name) for name in ("there", "here"))
    for step in SESSIONS[session]:
        if isinstance(step, list):
            for path in (path for place in (there, here) for name in step for path in place.rglob(name)):
                change(path)
            continue
        code, output = run_on_windows(*step.split(), cwd=there)
        done = run(*step.split(), cwd=here)
        assert code == done.returncode, output
        if not done.stderr:
            assert output == done.stdout
        assert snapshot(there) == snapshot(here), step
        assert originals(there / "игра") == originals(here / "игра")


# ------------------------------------------------------------------ names and paths


AWAY = "\\\\nowhere\\share\\"
#: Commands, and words of the one line that refuses each: devices, inputs on two drives, a machine that is not there.
REFUSED = [
    *(
        (("msh2gltf", source, "-o", name), f"-o {name}: Windows takes {name} for a device, choose another name")
        for source in (WALKER, WALKER.parent)
        for name in ("NUL", "con.glb", "aux")
    ),
    (("msh2gltf", WALKER, "C:\\windows", "-o", "two"), "different drives"),
    (("msh2gltf", f"{AWAY}walker.msh", "-o", "x.glb"), "nowhere"),
    (("msh2gltf", WALKER, "-o", f"{AWAY}x.glb"), "nowhere"),
    (("msh2gltf", WALKER.parent, "-o", f"{AWAY}out"), "nowhere"),
    (("gltf2msh", WALKER.parent / "edits/my_bunker.glb", "-o", f"{AWAY}x.msh"), "nowhere"),
    (("msh-inspect", f"{AWAY}walker.msh"), "nowhere"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_a_place_that_cannot_be_is_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    code, output = run_on_windows(*words, cwd=tmp_path)
    assert code == 2, output
    *usage, line = output.strip().splitlines()
    assert not usage or usage[0].startswith("Usage: ")
    assert message in line
    assert "internal error" not in line
    assert not list(tmp_path.iterdir())


def test_long_paths(tmp_path: Path) -> None:
    """Beyond 260 characters: converted, or refused in one line."""
    deep = tmp_path.joinpath(*["folder_of_thirty_characters_xx"] * 9)
    code, output = run_on_windows("msh2gltf", WALKER, "-o", deep / "walker.glb")
    assert "Traceback" not in output
    assert "internal error" not in output
    if code == 0:
        assert (deep / "walker.glb").is_file()
    else:
        assert len(output.strip().splitlines()) == 1


@pytest.mark.parametrize("start", ["\\\\?\\", "\\\\?\\unix"], ids=["extended", "share"])
def test_extended_and_unc_paths(tmp_path: Path, start: str) -> None:
    """Of a share wine has no other one."""
    name = windows_path(tmp_path)
    here = start + (name if start.endswith("\\") else name.removeprefix("Z:"))
    shutil.copy(WALKER, tmp_path / "walker.msh")
    for command, source, target in (("msh2gltf", "walker.msh", "out\\w.glb"), ("gltf2msh", "out\\w.glb", "back.msh")):
        code, output = run_on_windows(command, f"{here}\\{source}", "-o", f"{here}\\{target}")
        assert code == 0, output
    assert (tmp_path / "back.msh").read_bytes() == WALKER.read_bytes()


# ------------------------------------------------------------------ other processes


@contextmanager
def another_program(code: str, target: Path) -> Iterator[None]:
    """Hold something while a command is run."""
    code = f"import ctypes, sys\nfrom pathlib import Path\n{code}\nprint('ready', flush=True); sys.stdin.read()"
    with start_on_windows(code, target) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"ready"
        yield
        process.communicate()


def test_a_second_run_waits_for_nobody(tmp_path: Path) -> None:
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    hold = "from msh_gltf.converter.files import only_run\nlock = only_run(Path(sys.argv[1])); lock.__enter__()"
    with another_program(hold, out):
        code, output = run_on_windows("msh2gltf", game, "-o", out)
    assert code == 2
    assert "another run is at work" in output
    assert run_on_windows("msh2gltf", game, "-o", out)[0] == 0


def test_a_file_that_is_open_elsewhere_stays(tmp_path: Path) -> None:
    """And nothing unfinished is left, which has the file's own attributes: read-only here."""
    target = tmp_path / "walker.glb"
    assert run_on_windows("msh2gltf", WALKER, "-o", target)[0] == 0
    target.chmod(0o444)
    before = snapshot(tmp_path)
    hold = (
        "handle = ctypes.windll.kernel32.CreateFileW(sys.argv[1], 0x80000000, 0, None, 3, 0, None)\n"
        "assert handle not in (-1, 0xFFFFFFFF)"
    )
    with another_program(hold, target):
        code, output = run_on_windows("msh2gltf", WALKER, "-o", target, "--force")
    assert code == 2, output
    assert "walker.glb" in output
    assert len(output.strip().splitlines()) == 1
    assert snapshot(tmp_path) == before


def test_a_killed_worker_costs_its_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = make_large_game(tmp_path / "game", 12)
    code = "from msh_gltf.converter.cli import msh2gltf as main; main()"
    monkeypatch.setenv("MSH_GLTF_RUN", str(tmp_path))
    with start_on_windows(code, game, "-o", tmp_path / "out", "-j", "2") as process:
        killed = kill_worker(f"MSH_GLTF_RUN={tmp_path}".encode(), 60)
        output = process.communicate(timeout=300)[0].decode("utf-8", "replace")
    assert killed, "no worker was seen"
    assert process.returncode in (0, 1), output
    assert "internal error" not in output
    code_again, output = run_on_windows("msh2gltf", game, "-o", tmp_path / "out", "-j", "2")
    assert code_again == 0, output
    assert run("msh2gltf", game, "-o", tmp_path / "here").returncode == 0
    assert snapshot(tmp_path / "out") == snapshot(tmp_path / "here")


def test_a_worker_that_dies_as_it_starts_is_noticed(tmp_path: Path) -> None:
    """Before it takes its end of the pipe, which this process then holds open itself."""
    code = (
        "import multiprocessing\n"
        "from msh_gltf.converter.game.workers import run_here\n"
        "multiprocessing.set_executable(r'C:\\windows\\system32\\hostname.exe')\n"
        "for _, result in run_here(abs, [1, 2, 3], 2): print(result)"
    )
    with start_on_windows(code) as process:
        output = process.communicate(timeout=120)[0].decode()
    assert output.count("the process that worked on it ended with exit code") == 3, output


def kill_worker(mark: bytes, seconds: float) -> bool:
    """Kill the first worker of the run whose environment holds a mark."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                if b"spawn_main" not in (folder / "cmdline").read_bytes():
                    continue
                if mark in (folder / "environ").read_bytes():
                    time.sleep(0.5)  # at work by then
                    os.kill(int(folder.name), signal.SIGKILL)
                    return True
        time.sleep(0.05)
    return False


def test_buffers_and_pictures_elsewhere_are_refused(tmp_path: Path) -> None:
    """A path to another machine must not make Windows log in there; all in one process."""
    sample = sample_called("retail__odd__s_rock_009")
    done = run("msh2gltf", sample.path, "-o", tmp_path / "m.gltf")
    assert done.returncode == 0, done.stderr
    code = (
        "import json, sys; from pathlib import Path\n"
        "from msh_gltf.converter.game.gallery import pack\n"
        "from msh_gltf.converter.errors import ConversionError\n"
        "def looked(path, strict=False): raise AssertionError(f'{path} was resolved')\n"
        "folder = Path(sys.argv[1]); good = (folder / 'm.gltf').read_text('utf-8')\n"
        "resolve = Path.resolve\n"
        "for uri in json.loads(sys.argv[2]):\n"
        "  for key in ('buffers', 'images'):\n"
        "    Path.resolve = looked if key == 'buffers' else resolve\n"
        "    document = json.loads(good)\n"
        "    document['buffers'][0] |= {'uri': uri} if key == 'buffers' else {}\n"
        "    if key == 'images': document['images'] = [{'uri': uri}]\n"
        "    (folder / 'e.gltf').write_text(json.dumps(document), 'utf-8')\n"
        "    try: pack(folder / 'e.gltf', folder)\n"
        "    except ConversionError as error: print(error)\n"
    )
    uris = (*PATHS_ELSEWHERE, *DEVICES)
    with start_on_windows(code, tmp_path, json.dumps(uris)) as process:
        output = process.communicate(timeout=300)[0].decode("utf-8", "replace")
    assert output.count("buffer 0 lies outside the file's directory") == len(uris), output
    assert output.count("picture lies outside the output directory") == len(uris), output
