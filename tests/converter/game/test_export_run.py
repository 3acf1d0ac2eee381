"""``msh2gltf GAME_DIR -o OUT_DIR``: outputs, manifest, repeats, refusals."""

import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.game.export_run import ExportTask, export_item, found_in
from msh_gltf.converter.game.manifest import Manifest, read_manifest
from msh_gltf.converter.options import ExportOptions
from tests.support.game import MESH, MODELS, archive, entry, make_game, model, snapshot, write
from tests.support.runs import SCRIPTS, call, run

ROCK = "retail__odd__s_rock_009"
#: Paths that lead out of a directory, here or on Windows.
OUTSIDE = ("/x", "a/../b", "..", "a\\..\\b", "C:x", "C:\\x", "\\\\server\\x", "\\x", "a\0b")


@pytest.fixture
def game(tmp_path: Path) -> Path:
    return make_game(tmp_path / "game")


def report(tmp_path: Path, *arguments: object, code: int = 0) -> dict[str, Any]:
    """Run ``msh2gltf`` and read its report."""
    path = tmp_path / "report.json"
    assert call(cli.msh2gltf, *arguments, "--report", path, "-q") == code
    facts: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return facts


def test_memory_is_of_the_entry(tmp_path: Path) -> None:
    """What else is in an archive, a worker does not read."""
    root, out = tmp_path / "game", tmp_path / "out"
    rock = entry(MESH, b"rock.msh", model(ROCK))
    write(root / "static.rlb", archive([rock, entry(1, b"ballast", bytes(48 << 20)), rock]))
    items, _ = found_in([root], out, (), ())
    tasks = [ExportTask(item, str(out), ExportOptions()) for item in items]
    assert export_item(tasks[0]).status == "converted"  # what is imported now is not counted
    tracemalloc.start()
    try:
        assert export_item(tasks[1]).status == "converted"
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_replaced_archive_is_read_anew(tmp_path: Path) -> None:
    """Also where the new one is as old and as large as the one that the worker knows."""
    root, out = tmp_path / "game", tmp_path / "out"
    write(root / "static.rlb", archive([entry(MESH, b"rock.msh", model(ROCK))]))
    items, _ = found_in([root], out, (), ())
    task = ExportTask(items[0], str(out), ExportOptions(), force=True)
    first = export_item(task)
    shutil.copy2(root / "static.rlb", tmp_path / "copy")
    (tmp_path / "copy").replace(root / "static.rlb")
    again = export_item(task)
    assert (again.status, again.detail) == ("converted", "")
    assert first.result.outputs == again.result.outputs


def test_a_finished_run_imports_little(game: Path, tmp_path: Path) -> None:
    """The command itself decodes nothing, and starts no process where nothing has changed."""
    command = "import sys; from msh_gltf.converter import cli\ntry: cli.msh2gltf()\nfinally: print(*sys.modules)"
    words = [sys.executable, "-c", command, str(game), "-o", str(tmp_path / "out"), "-q"]
    words += ["--only", "models", "--only", "terrains", "--only", "areal-maps"]
    heavy = {f"msh_gltf.converter.{name}" for name in ("scene.scene", "checks.model", "edits")}
    for modules in (heavy, heavy | {"multiprocessing"}):
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert not modules & set(done.stdout.split())


def test_workers_start_before_the_command_imports_numpy(game: Path, tmp_path: Path) -> None:
    """Both imports take the same time, on two processors."""
    command = (
        "import sys; from msh_gltf.converter import cli\n"
        "from msh_gltf.converter.game import workers\n"
        "workers.start_server = lambda module: print('numpy' in sys.modules)\n"
        "cli.msh2gltf()"
    )
    words = [sys.executable, "-c", command, str(game), "-o", str(tmp_path / "out"), "--dry-run"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False\n")


def test_manifest_has_the_truth(game: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    facts = json.loads((out / "manifest.json").read_text("utf-8"))
    assert facts["format"] == 1
    by_target = {row["outputs"][-1]["path"]: row for row in facts["models"]}
    bird = by_target["SYSTEM.RLB/птица.glb"]
    assert (bird["source"], bird["index"], bird["name"]) == ("SYSTEM.RLB", 4, "птица.msh")
    assert bytes.fromhex(bird["raw_name"]) == "птица.msh".encode("cp1251")
    assert bird["size"] == len(model("spec__system__a_bird_007"))
    assert bird["dialect"] == "spec"
    assert by_target["static.rlb/MTCHECK.glb"]["findings"][0]["code"] == "node-legacy"
    assert by_target["DATA/Loose/Дом.glb"]["index"] is None
    files = snapshot(out)
    for row in facts["models"]:
        for output in row["outputs"]:
            assert files[output["path"]] == output["sha256"]
            assert (out / output["path"]).stat().st_size == output["size"]
    assert {row["source"]: row["folder"] for row in facts["archives"]} == {
        name: name for name in ("OBJECTS.RLB", "SYSTEM.RLB", "empty.rlb", "static.rlb")
    }
    assert {"id": "gamefont.rlb", "reason": "RsLi, a container of another kind"} in facts["skipped"]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_any_number_of_jobs(jobs: int, game: Path, tmp_path: Path) -> None:
    first = report(tmp_path, game, "-o", tmp_path / "one", "-j", 1)
    other = report(tmp_path, game, "-o", tmp_path / "other", "-j", jobs)
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "other")
    del first["times"], other["times"]
    assert first == other


def test_edits_are_not_overwritten(game: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert report(tmp_path, game, "-o", out)["counts"] == {"converted": 10}
    edited = out / "static.rlb/R_H_002.glb"
    edited.write_bytes(b"my work")
    facts = report(tmp_path, game, "-o", out)
    assert facts["counts"] == {"kept": 1, "unchanged": 9}
    facts = report(tmp_path, game, "-o", out, "--fps", 30, code=1)
    assert facts["counts"] == {"converted": 9, "failed": 1}
    failed = next(row for row in facts["items"] if row["status"] == "failed")
    assert failed["id"] == "static.rlb::R_H_002.MSH"
    assert "static.rlb/R_H_002.glb: output was edited since it was written" in failed["detail"]
    edited.with_suffix(".msh-sidecar").unlink()
    facts = report(tmp_path, game, "-o", out)  # the missing sidecar comes back, the edit stays
    assert facts["counts"] == {"converted": 10}
    assert edited.with_suffix(".msh-sidecar").is_file()
    assert edited.read_bytes() == b"my work"
    edited.rename(edited.with_suffix(".gltf"))  # exported from Blender under another name
    assert report(tmp_path, game, "-o", out)["counts"] == {"kept": 1, "unchanged": 9}
    assert report(tmp_path, game, "-o", out, "--force")["counts"] == {"converted": 10}


def test_one_bad_file_does_not_stop_the_run(game: Path, tmp_path: Path) -> None:
    bad = bytearray(model(ROCK))
    bad[0x316C : 0x316C + 4] = b"\xff\xff\0\0"  # baseVertex of a batch
    write(game / "bad.rlb", archive([entry(MESH, b"bad.msh", bytes(bad))]))
    write(game / "cut.rlb", (game / "static.rlb").read_bytes()[:-5])
    result = run("msh2gltf", game, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "10   converted" in result.stdout
    assert "1   cannot be read" in result.stdout
    assert "bad.rlb, entry bad.msh, Res13 (batches), row 1, byte 0x316c: batch uses" in (result.stdout)
    assert "Traceback" not in result.stderr + result.stdout
    facts = json.loads((tmp_path / "out/manifest.json").read_text("utf-8"))
    assert [row["id"] for row in facts["failed"]] == ["bad.rlb::bad.msh"]
    assert [row["id"] for row in facts["unreadable"]] == ["cut.rlb"]
    quiet = run("msh2gltf", game, "-o", tmp_path / "out", "-q")
    assert quiet.returncode == 1
    assert quiet.stdout == ""
    assert len(quiet.stderr.splitlines()) == 2


def test_fail_fast(tmp_path: Path) -> None:
    bad = model(ROCK)[:-1] + b"\0" * 60000  # the largest comes first
    entries = [entry(MESH, b"bad.msh", bad)]
    entries += [entry(MESH, b"%d.msh" % i, model(ROCK)) for i in range(30)]
    write(tmp_path / "game/a.rlb", archive(entries))
    facts = report(tmp_path, tmp_path / "game", "-o", tmp_path / "out", "-j", 1, "--fail-fast", code=1)
    assert facts["counts"] == {"failed": 1}
    assert facts["total"] == 31


def test_list_and_dry_run(game: Path, tmp_path: Path) -> None:
    listed = run("msh2gltf", game, "--list", "--include", "static.rlb")
    assert listed.stdout.splitlines() == [f"static.rlb::{name}" for name in MODELS["static.rlb"]]
    dry = run("msh2gltf", game, "-o", tmp_path / "out", "--dry-run")
    assert dry.returncode == 0
    assert "10   converted" in dry.stdout
    assert "dry run: nothing was written" in dry.stdout
    assert not (tmp_path / "out").exists()


def test_what_is_gone_stays(game: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    (game / "SYSTEM.RLB").unlink()
    result = run("msh2gltf", game, "-o", out)
    assert "3 models of earlier runs: not in the input, outputs kept" in result.stdout
    assert (out / "SYSTEM.RLB/R_H_002.glb").is_file()


def test_outputs_do_not_leave_the_directory(game: Path, tmp_path: Path) -> None:
    """A link in the output directory is not followed out of it."""
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / "static.rlb").symlink_to(elsewhere)
    facts = report(tmp_path, game, "-o", out, code=1)
    assert facts["counts"] == {"converted": 6, "failed": 4}
    assert os.listdir(elsewhere) == []


def test_log(game: Path, tmp_path: Path) -> None:
    write(game / "bad.rlb", archive([entry(MESH, b"bad.msh", model(ROCK)[:-1])]))
    log = tmp_path / "logs/run.log"
    assert run("msh2gltf", game, "-o", tmp_path / "out", "--log-file", log, "-q").returncode == 1
    lines = log.read_text("utf-8").splitlines()
    assert any("INFO SYSTEM.RLB::птица.msh: converted" in line for line in lines)
    assert any("ERROR bad.rlb::bad.msh: failed: " in line for line in lines)


def manifest_of(out: Path) -> Manifest:
    found = read_manifest(out)
    assert found is not None
    return found


def test_unreadable_manifest(game: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    kept = (out / "manifest.json").read_text("utf-8")
    one = next(iter(manifest_of(out).records))

    def with_path(path: str) -> str:
        return kept.replace(f'"path": "{one}"', f'"path": {json.dumps(path)}')

    for path in ("a..b/c..glb", "..."):
        write(out / "manifest.json", with_path(path).encode())
        assert path in manifest_of(out).records
    for text, said in (
        ("{", "manifest cannot be read"),
        (kept.replace('"format": 1', '"format": 2'), "manifest version is not known: 2"),
        (kept.replace('"key"', '"kex"'), "manifest cannot be read"),
        *((with_path(path), "leads out of the directory") for path in OUTSIDE),
        (kept.replace('"folder": "SYSTEM.RLB"', '"folder": "../SYSTEM.RLB"'), "leads out of the directory"),
    ):
        write(out / "manifest.json", text.encode())
        with pytest.raises(ConversionError, match=said):
            read_manifest(out)
        assert call(cli.msh2gltf, game, "-o", out, "-q") == 2


def test_walks_into_its_own_output(game: Path) -> None:
    """The output directory may lie in the game's; it is not looked into."""
    assert call(cli.msh2gltf, game, "-o", game / "out", "-q") == 0
    before = snapshot(game)
    assert call(cli.msh2gltf, game, "-o", game / "out", "-q") == 0
    assert snapshot(game) == before
    shutil.rmtree(game / "out")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell: str) -> None:
    """Click's own mechanism, as docs/games.md tells it."""
    for command in ("msh2gltf", "gltf2msh", "msh-inspect"):
        variable = f"_{command.upper().replace('-', '_')}_COMPLETE"
        made = subprocess.run(
            [SCRIPTS / command],
            env=os.environ | {variable: f"{shell}_source"},
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode and "bash" in made.stderr.lower():
            pytest.skip("bash older than 4.4, or none")
        assert variable in made.stdout
    asked = {"_MSH2GLTF_COMPLETE": "bash_complete", "COMP_WORDS": "msh2gltf --dr", "COMP_CWORD": "1"}
    got = subprocess.run([SCRIPTS / "msh2gltf"], env=os.environ | asked, capture_output=True, text=True, check=False)
    assert got.stdout.split() == ["plain,--dry-run"]


def test_the_game_is_no_output_directory(game: Path, tmp_path: Path) -> None:
    before = snapshot(game)
    done = run("msh2gltf", game, "-o", f"{game}/../{game.name}")
    assert done.returncode == 2
    assert "is what is converted; its archives are in the way" in done.stderr
    assert snapshot(game) == before
