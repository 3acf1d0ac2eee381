"""``msh-inspect --check`` and ``--explain`` as a user meets them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from msh_gltf.converter.checks import all_rules
from tests.support.corpus import DATA
from tests.support.corruption.base import Nres
from tests.support.game import archive, entry, make_game
from tests.support.runs import run

ROCK = DATA / "retail__odd__s_rock_009.msh"
CLEAN = Path(__file__).parents[3] / "examples/walker.msh"


def broken(path: Path, change) -> Path:
    box = Nres.read(CLEAN.read_bytes())
    change(box)
    path.write_bytes(box.write())
    return path


@pytest.fixture
def with_error(tmp_path: Path) -> Path:
    """An error that a tolerant reader can leave out."""
    return broken(tmp_path / "error.msh", lambda box: box.table(2).set(3, 4, "H", 60000))


@pytest.fixture
def with_warning(tmp_path: Path) -> Path:
    return broken(tmp_path / "warning.msh", lambda box: box.table(2).set(2, 44, "f", -1.0))


@pytest.fixture
def with_note(tmp_path: Path) -> Path:
    return broken(tmp_path / "note.msh", lambda box: setattr(box.entry(3), "attr2", 1))


def test_sound(tmp_path: Path) -> None:
    for mode in ([], ["--strict"], ["--tolerant"]):
        out = run("msh-inspect", "--check", CLEAN, *mode)
        assert (out.returncode, out.stderr) == (0, "")
        assert "1 file checked: 0 errors, 0 warnings, 0 notes; valid" in out.stdout
    quiet = run("msh-inspect", "--check", CLEAN, "-q")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("severity", "default", "strict", "tolerant"), [("error", 1, 1, 0), ("warning", 0, 1, 0), ("note", 0, 0, 0)]
)
def test_modes(severity: str, default: int, strict: int, tolerant: int, request) -> None:
    path = request.getfixturevalue(f"with_{severity}")
    assert run("msh-inspect", "--check", path).returncode == default
    assert run("msh-inspect", "--check", path, "--strict").returncode == strict
    assert run("msh-inspect", "--check", path, "--tolerant").returncode == tolerant


def test_tolerant_fails_on_what_cannot_be_left_out(tmp_path: Path) -> None:
    path = broken(tmp_path / "cut.msh", lambda box: box.entry(2).data.__delitem__(slice(8, None)))
    out = run("msh-inspect", "--check", path, "--tolerant")
    assert out.returncode == 1
    assert "slots-size" in out.stdout


def test_what_is_said(with_error: Path, with_note: Path) -> None:
    out = run("msh-inspect", "--check", with_error).stdout
    lines = out.splitlines()
    assert lines[0] == "error.msh  core model"
    assert lines[1].startswith("  error    slot-batches: Res2 (slots), row 3, byte 0x")
    assert "(expected at most" in lines[1]
    assert "see msh-inspect --explain slot-batches" in lines[-1]
    assert "entry-attr2: " not in run("msh-inspect", "--check", with_note).stdout
    assert "entry-attr2: " in run("msh-inspect", "--check", with_note, "-v").stdout


def test_equal_findings_of_a_table_are_one(tmp_path: Path) -> None:
    path = tmp_path / "BuildDat.lst"
    path.write_bytes(b"".join(b"junk %d\r\n" % i * 2 for i in range(0, 2000, 2)).replace(b" ", b"/"))
    (item,) = json.loads(run("msh-inspect", "--check", path, "--json").stdout)["items"]
    (finding,) = item["findings"]
    assert (finding["code"], finding["row"], finding["count"]) == ("build-line", 1, 2000)
    assert finding["problem"].endswith("(and in 1999 more places)")


def test_quiet_says_what_fails(with_error: Path, with_warning: Path) -> None:
    out = run("msh-inspect", "--check", with_error, with_warning, "-q")
    assert (out.returncode, out.stdout) == (1, "")
    assert out.stderr.count("\n") == 1
    assert out.stderr.startswith("error.msh: error slot-batches: ")


def test_ignore(with_error: Path) -> None:
    out = run("msh-inspect", "--check", with_error, "--ignore", "slot-batches")
    assert out.returncode == 0
    assert "slot-batches" not in out.stdout
    wrong = run("msh-inspect", "--check", with_error, "--ignore", "slot-batch")
    assert wrong.returncode == 2
    assert "unknown code 'slot-batch': did you mean slot-batches" in wrong.stderr


def test_whole_game(tmp_path: Path) -> None:
    game = make_game(tmp_path / "game")
    out = run("msh-inspect", "--check", game, "--json")
    facts = json.loads(out.stdout)
    assert (out.returncode, facts["counts"]["error"]) == (0, 0), facts["codes"]
    kinds = {item["id"]: item["kind"] for item in facts["items"]}
    assert kinds["SYSTEM.RLB"] == "archive"
    assert kinds["SYSTEM.RLB::птица.msh"] == "core model"
    assert kinds["SYSTEM.RLB::птица.wea"] == "WEAR"
    assert kinds["DATA/MAPS/M1/Land.msh"] == "terrain"
    assert kinds["DATA/MAPS/M1/Land.map"] == "areal map"
    assert kinds["DATA/MAPS/M1/Land1.wea"] == "WEAR"
    skipped = {row["id"]: row["reason"] for row in facts["skipped"]}
    assert skipped["gamefont.rlb"].startswith("RsLi")
    assert {"zero.dat", "short.bin", "Video/intro.avi", "DATA/notes.msh"} <= skipped.keys()
    one_process = run("msh-inspect", "--check", game, "--json", "-j", "1")
    assert one_process.stdout == out.stdout


def test_equal_findings_of_many_files_are_not_all_listed(tmp_path: Path) -> None:
    for number in range(9):
        broken(tmp_path / f"{number}.msh", lambda box: box.table(2).set(3, 4, "H", 60000))
    out = run("msh-inspect", "--check", tmp_path)
    assert out.stdout.count("error    slot-batches: ") == 5
    assert "4 more like these are not listed" in out.stdout
    assert run("msh-inspect", "--check", tmp_path, "-v").stdout.count("slot-batches: ") == 9


def test_one_entry(tmp_path: Path) -> None:
    path = tmp_path / "two.rlb"
    mesh = int.from_bytes(b"MESH", "little")
    path.write_bytes(archive([entry(mesh, b"good.msh", CLEAN.read_bytes()), entry(mesh, b"bad.msh", b"junk")]))
    whole = json.loads(run("msh-inspect", "--check", path, "--json").stdout)
    assert [item["id"] for item in whole["items"]] == ["two.rlb", "two.rlb::good.msh"]
    assert "archive-mesh" in whole["codes"]
    for name in ("GOOD.msh", "0"):
        out = run("msh-inspect", "--check", path, "--entry", name, "--strict", "--ignore", "wear-id")
        assert out.returncode == 0
        assert "1 file checked" in out.stdout
    none = run("msh-inspect", "--check", path, "--entry", "nobody.msh")
    assert none.returncode == 2
    assert "no entry of this name is checked" in none.stderr


def test_nothing_to_check_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    out = run("msh-inspect", "--check", tmp_path / "notes.txt")
    assert out.returncode == 1  # what is named is checked, and is not an archive
    (tmp_path / "notes.txt").unlink()
    out = run("msh-inspect", "--check", tmp_path)
    assert out.returncode == 2
    assert "nothing that can be checked: no files" in out.stderr


def test_one_entry_of_an_archive_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "cut.rlb"
    path.write_bytes(archive([entry(2, b"x", b"12345678")])[:-1])
    out = run("msh-inspect", "--check", path, "--entry", "x")
    assert out.returncode == 1
    assert "nres-size" in out.stdout


def test_an_archive_of_many_broken_entries(tmp_path: Path) -> None:
    cut = CLEAN.read_bytes()[:1000]
    path = tmp_path / "cut.rlb"
    path.write_bytes(archive([entry(1, b"%d.msh" % i, cut) for i in range(20)] + [entry(2, b"x", b"NRes")]))
    facts = json.loads(run("msh-inspect", "--check", path, "--json").stdout)
    assert facts["codes"]["nres-size"]["files"] == 20
    assert facts["codes"]["nres-header"]["files"] == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_pipes_and_links_are_passed_by(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.msh")
    (tmp_path / "lost.msh").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    shutil.copyfile(CLEAN, tmp_path / "model.msh")
    facts = json.loads(run("msh-inspect", "--check", tmp_path, "--json").stdout)
    assert [item["id"] for item in facts["items"]] == ["model.msh"]
    assert {row["id"] for row in facts["skipped"]} == {"pipe.msh", "lost.msh", "loop"}


def test_usage() -> None:
    for arguments, said in (
        (["--check"], "Missing argument"),
        (["--check", CLEAN, "--strict", "--tolerant"], "one of --strict and --tolerant"),
        ([CLEAN, "--strict"], "--strict goes with --check"),
        (["--check", CLEAN, "--dialect", "spec"], "without --dialect"),
        ([CLEAN, CLEAN], "--diff takes two files"),
        (["--diff", CLEAN], "--diff takes two files"),
        (["--check", "no/such/file"], "No such file or directory"),
    ):
        out = run("msh-inspect", *arguments)
        assert out.returncode == 2
        assert said in out.stderr, out.stderr


def test_explain() -> None:
    out = run("msh-inspect", "--explain", "slot-batches").stdout
    rule = all_rules()["slot-batches"]
    for text in ("error", rule.rule, rule.why, rule.fix, rule.source, "leaves out the slot"):
        assert text in out
    wrong = run("msh-inspect", "--explain", "slot-baches")
    assert wrong.returncode == 2
    assert "did you mean slot-batches" in wrong.stderr
    assert "--explain list" in run("msh-inspect", "--explain", "zzzz").stderr


def test_explain_lists_every_code() -> None:
    out = run("msh-inspect", "--explain", "list")
    assert out.returncode == 0
    assert [line.split()[0] for line in out.stdout.splitlines()] == list(all_rules())


def test_explain_imports_nothing_heavy() -> None:
    """NumPy is needed: rules stand in the modules of their checks."""
    code = (
        "import sys; from msh_gltf.converter import cli\n"
        "try: cli.msh_inspect(['--explain', 'slot-box'])\n"
        "except SystemExit: pass\n"
        "heavy = {'scipy', 'trimesh', 'pygltflib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
