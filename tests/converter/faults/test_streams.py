"""Standard streams that are closed, full, or have lost their reader."""

import sys
from pathlib import Path

import pytest

from tests.support.corpus import DATA
from tests.support.faults import leftovers, shell
from tests.support.game import make_game, snapshot

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="bash")

MODEL = DATA / "retail__system__R_H_002.msh"


@pytest.mark.parametrize(
    "command",
    [
        "msh2gltf model.msh -o -",
        "msh-inspect model.msh",
        "msh-inspect model.msh --json",
        "msh-inspect --explain list",
        "msh-inspect --check model.msh -v",
        "msh2gltf --help",
        "msh2gltf model.msh -o - > /dev/null; msh2gltf model.msh -o x.glb",
    ],
)
def test_the_reader_goes_away(command: str, tmp_path: Path) -> None:
    """Silence, and the code that ``cat`` has."""
    (tmp_path / "model.msh").write_bytes(MODEL.read_bytes())
    done = shell(
        'cd "$1"; export PATH="$BIN:$PATH"; { sleep 0.1; eval "$2"; echo $? > code; } | true', tmp_path, command
    )
    assert done.stderr == ""
    assert (tmp_path / "code").read_text() == "141\n"
    assert not leftovers(tmp_path)


def test_the_reader_reads_a_little(tmp_path: Path) -> None:
    done = shell('set -o pipefail; for i in 1 2; do "$BIN/msh2gltf" "$1" -o -; done | head -c 4', MODEL)
    assert done.stdout == "glTF"
    assert done.stderr == ""


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    """No output file gets what was meant for a stream."""
    game = make_game(tmp_path / "game")
    script = f"""
        cd "$2"; mkdir one two
        "$BIN/msh2gltf" "$1" -o one/x.glb > /dev/null || exit 1
        "$BIN/msh2gltf" "$1" -o two/x.glb {closed} || exit 2
        "$BIN/msh-inspect" "$1" {closed} || exit 3
        "$BIN/msh-inspect" --check "$1" {closed} || exit 4
        "$BIN/msh2gltf" "$3" -o out --log-file log -j 2 {closed} || exit 5
        "$BIN/msh2gltf" nothing {closed} 2> /dev/null; [ $? = 2 ] || exit 6
    """
    done = shell(script, MODEL, tmp_path, game)
    assert (done.returncode, done.stderr) == (0, "")
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")
    assert "converted" in (tmp_path / "log").read_text("utf-8")


def test_what_a_library_says_goes_nowhere(tmp_path: Path) -> None:
    """With standard error closed its number would be the next file's."""
    code = (
        "import os, sys, click; from msh_gltf.converter.cli import _run\n"
        "@click.command\ndef say():\n"
        "    with open(sys.argv[1], 'wb') as file: os.write(2, b'a message'); file.write(b'data')\n"
        "_run(say, [])"
    )
    done = shell(f'"$3" -c "$1" "$2" {"<&- 2>&-"}', code, tmp_path / "file", sys.executable)
    assert done.returncode == 0
    assert (tmp_path / "file").read_bytes() == b"data"


def test_closed_standard_output_is_no_output() -> None:
    done = shell('"$BIN/msh2gltf" "$1" -o - >&-', MODEL)
    assert done.returncode == 2
    assert done.stderr == ("msh2gltf: error: standard output is closed; -o FILE writes a file\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", ['"$1" -o -', '"$1" -o "$2/x.glb"', '"$1" -o "$2/x.glb" -v'])
def test_full_streams(arguments: str, tmp_path: Path) -> None:
    """What cannot be said is an error, without a word where that cannot be said either."""
    done = shell(f'"$BIN/msh2gltf" {arguments} > /dev/full', MODEL, tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "msh2gltf: error: No space left on device; make room, and run it again\n",
    )
    done = shell(f'"$BIN/msh2gltf" {arguments} --force > /dev/full 2> /dev/full', MODEL, tmp_path)
    assert (done.returncode, done.stderr) == (2, "")
    assert not leftovers(tmp_path)
