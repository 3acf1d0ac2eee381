"""The commands on Windows, one by one: the same bytes and exit codes as on Linux."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.corpus import LIBS, sample_called
from tests.support.game import MESH, archive, entry, make_game, make_large_game, model, snapshot
from tests.support.gltf_edit import DEVICES, PATHS_ELSEWHERE, Editable
from tests.support.runs import run
from tests.support.vault import originals
from tests.support.wine import needs_windows, run_on_windows, start_on_windows, windows_path

pytestmark = needs_windows
WALKER = Path(__file__).parents[2] / "examples" / "walker.msh"


def move_something(gltf: Path) -> None:
    """Edit a file in place: one vertex of its first mesh."""
    document = Editable(gltf)
    document.arrays[document.primitives()[0]["attributes"]["POSITION"]][0] += 0.25
    document.save(gltf)


def require_same(tmp_path: Path, words: Callable[[Path], Sequence[object]]) -> tuple[Path, Path]:
    """Run a command on Windows and on Linux, each with a folder of its own: what is in the two is the same then."""
    there, here = tmp_path / "there", tmp_path / "here"
    code, output = run_on_windows(*words(there))
    assert code == 0, output
    assert run(*words(here)).returncode == 0
    assert snapshot(there) == snapshot(here)
    return there, here


@pytest.mark.parametrize("name", ["walker.glb", "walker.gltf", "walker.obj"])
def test_one_model_both_ways(tmp_path: Path, name: str) -> None:
    there, _ = require_same(tmp_path, lambda place: ("msh2gltf", WALKER, "-o", place / name))
    if name.endswith(".obj"):
        return  # trimesh calls crealf, which wine 8 does not have
    assert run_on_windows("gltf2msh", there / name, "-o", tmp_path / "back.msh")[0] == 0
    assert (tmp_path / "back.msh").read_bytes() == WALKER.read_bytes()


def test_an_edited_run_gives_the_game_that_linux_makes(tmp_path: Path) -> None:
    game, out = make_game(tmp_path / "игра"), tmp_path / "out"
    assert run_on_windows("msh2gltf", game, "-o", out, "-j", "2")[0] == 0
    assert run("msh2gltf", game, "-o", tmp_path / "on linux", "-j", "2").returncode == 0
    assert snapshot(out) == snapshot(tmp_path / "on linux")
    assert run_on_windows("gltf2msh", out, "--game", game, "-o", tmp_path / "untouched", "-j", "2")[0] == 0
    assert snapshot(tmp_path / "untouched") == snapshot(game)
    for name in ("i_room_006.glb", "b_bun_000.glb", "птица.glb"):
        move_something(next(out.rglob(name)))
    there, _ = require_same(tmp_path, lambda place: ("gltf2msh", out, "--game", game, "-o", place, "-j", "2"))
    assert snapshot(there) != snapshot(game)


def test_in_place(tmp_path: Path) -> None:
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    assert run("msh2gltf", game, "-o", out).returncode == 0
    move_something(next(out.rglob("R_H_002.glb")))
    shutil.copytree(game, tmp_path / "copy")
    code, output = run_on_windows("gltf2msh", out, "--game", game, "--in-place")
    assert code == 0, output
    assert run("gltf2msh", out, "--game", tmp_path / "copy", "--in-place").returncode == 0
    edited = snapshot(game)
    assert edited == snapshot(tmp_path / "copy")
    kept = originals(game)
    assert kept
    assert kept == originals(tmp_path / "copy")
    code, output = run_on_windows("msh-mod", "restore", game)
    assert code == 0, output
    assert run("msh-mod", "restore", tmp_path / "copy").returncode == 0
    assert snapshot(game) == snapshot(tmp_path / "copy") != edited
    assert {file: (game / file).read_bytes() for file in kept} == kept


def test_a_picture_into_a_library(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (32, 32), (200, 30, 90)).save(tmp_path / "NEW.png")
    for place in ("there", "here"):
        (tmp_path / place).mkdir()
        shutil.copy(LIBS / "Textures.lib", tmp_path / place)
    require_same(tmp_path, lambda place: ("gltf2msh", tmp_path / "NEW.png", "--into", place / "Textures.lib"))


def test_check_and_round_trip(tmp_path: Path) -> None:
    game = make_game(tmp_path / "game")
    for option in ("--check", "--roundtrip"):
        code, output = run_on_windows("msh-inspect", option, game, "--json")
        linux = run("msh-inspect", option, game, "--json")
        assert code == linux.returncode
        assert json.loads(output) == json.loads(linux.stdout)


# ------------------------------------------------------------------ names and paths


def test_names_that_windows_refuses(tmp_path: Path) -> None:
    """Devices, characters and case-only differences: the files are called as on Linux."""
    data = model("spec__static__b_bun_000")
    names = ["CON.msh", "nul", "a<b>.msh", "tail. .msh", "Twin.msh", "TWIN.MSH", "COM1.msh"]
    game = tmp_path / "game"
    game.mkdir()
    (game / "odd.rlb").write_bytes(archive([entry(MESH, n.encode(), data) for n in names]))
    require_same(tmp_path, lambda place: ("msh2gltf", game, "-o", place))


@pytest.mark.parametrize("name", ["NUL", "con.glb", "aux"])
def test_a_device_as_the_output_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    for source in (WALKER, WALKER.parent):
        code, output = run_on_windows("msh2gltf", source, "-o", name, cwd=tmp_path)
        assert code == 2, output
        assert output.endswith(f"-o {name}: Windows takes {name} for a device, choose another name\n")


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


def test_extended_paths_and_other_drives(tmp_path: Path) -> None:
    target = tmp_path / "out" / "walker.glb"
    source = "\\\\?\\" + windows_path(WALKER)
    code, output = run_on_windows("msh2gltf", source, "-o", "\\\\?\\" + windows_path(target))
    assert code == 0, output
    assert target.is_file()
    # inputs on two drives have no common folder
    code, output = run_on_windows("msh2gltf", WALKER, "C:\\windows", "-o", tmp_path / "two")
    assert code == 2
    assert "different drives" in output


def test_a_listing_feeds_include(tmp_path: Path) -> None:
    """Cyrillic names are UTF-8 where the output is not a console."""
    game = make_game(tmp_path / "игра с пробелом")
    code, output = run_on_windows("msh2gltf", game, "--list")
    assert code == 0
    name = next(line for line in output.splitlines() if "птица" in line)
    code, output = run_on_windows("msh2gltf", game, "-o", tmp_path / "out", "--include", name)
    assert code == 0, output
    assert [path.name for path in (tmp_path / "out").rglob("*.glb")] == ["птица.glb"]


# ------------------------------------------------------------------ other processes


def test_a_second_run_waits_for_nobody(tmp_path: Path) -> None:
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    hold = (
        "import sys; from pathlib import Path; from msh_gltf.converter.files import only_run\n"
        "with only_run(Path(sys.argv[1])): print('ready', flush=True); sys.stdin.read()"
    )
    with start_on_windows(hold, out) as first:
        assert first.stdout is not None
        assert first.stdout.readline().strip() == b"ready"
        code, output = run_on_windows("msh2gltf", game, "-o", out)
        first.communicate()
    assert code == 2
    assert "another run is at work" in output
    assert run_on_windows("msh2gltf", game, "-o", out)[0] == 0


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


def test_a_file_that_is_open_elsewhere_stays(tmp_path: Path) -> None:
    """And nothing unfinished is left, which has the file's own attributes: read-only here."""
    target = tmp_path / "walker.glb"
    assert run_on_windows("msh2gltf", WALKER, "-o", target)[0] == 0
    target.chmod(0o444)
    before = snapshot(tmp_path)
    hold = (
        "import ctypes, sys\n"
        "open_file = ctypes.windll.kernel32.CreateFileW\n"
        "handle = open_file(sys.argv[1], 0x80000000, 0, None, 3, 0, None)\n"
        "assert handle not in (-1, 0xFFFFFFFF)\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    with start_on_windows(hold, target) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"ready"
        code, output = run_on_windows("msh2gltf", WALKER, "-o", target, "--force")
        other.communicate()
    assert code == 2, output
    assert "walker.glb" in output
    assert len(output.strip().splitlines()) == 1
    assert snapshot(tmp_path) == before


def test_read_only_files_become_a_model_and_a_copy(tmp_path: Path) -> None:
    """What came from a disc is read-only: read, kept so in the copy, replaced on request."""
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    for path in game.rglob("*.*"):
        path.chmod(0o444 if path.is_file() else 0o755)
    new = tmp_path / "new"
    for more in ((), ("--force",)):
        assert run_on_windows("msh2gltf", game, "-o", out, *more)[0] == 0
        code, output = run_on_windows("gltf2msh", out, "--game", game, "-o", new, *more)
        assert code == 0, output
        assert snapshot(new) == snapshot(game)


def test_unc_paths(tmp_path: Path) -> None:
    """As arguments; another machine that is not there is one line."""
    here = "\\\\?\\unix" + str(tmp_path).replace("/", "\\")  # wine has no other share
    shutil.copy(WALKER, tmp_path / "walker.msh")
    code, output = run_on_windows("msh2gltf", f"{here}\\walker.msh", "-o", f"{here}\\w.glb")
    assert code == 0, output
    assert run_on_windows("gltf2msh", f"{here}\\w.glb", "-o", f"{here}\\back.msh")[0] == 0
    assert (tmp_path / "back.msh").read_bytes() == WALKER.read_bytes()
    away = "\\\\nowhere\\share\\"
    for arguments in (
        ("msh2gltf", f"{away}walker.msh", "-o", tmp_path / "x.glb"),
        ("msh2gltf", WALKER, "-o", f"{away}x.glb"),
        ("msh2gltf", tmp_path, "-o", f"{away}out"),
        ("gltf2msh", tmp_path / "w.glb", "-o", f"{away}x.msh"),
        ("msh-inspect", f"{away}walker.msh"),
    ):
        code, output = run_on_windows(*arguments)
        assert code == 2, output
        assert len(output.strip().splitlines()) == 1
        assert "nowhere" in output
        assert "internal error" not in output


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
