"""``msh2gltf GAME_DIR -o OUT_DIR``: outputs, manifest, repeats, refusals."""

import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.game.export_run import ExportTask, export_item, found_in
from msh_gltf.converter.game.manifest import Manifest, read_manifest
from msh_gltf.converter.options import ExportOptions
from tests.support.game import MESH, archive, entry, make_game, model, snapshot, write
from tests.support.runs import SCRIPTS, call

ROCK = "retail__odd__s_rock_009"
#: Paths that lead out of a directory, here or on Windows.
OUTSIDE = ("/x", "a/../b", "..", "a\\..\\b", "C:x", "C:\\x", "\\\\server\\x", "\\x", "a\0b")


@pytest.fixture
def game(tmp_path: Path) -> Path:
    return make_game(tmp_path / "game")


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
