"""``msh2gltf GAME_DIR -o OUT_DIR`` and back: outputs, manifest, names, what a run imports."""

import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.game.export_run import ExportTask, export_item, found_in
from msh_gltf.converter.game.walk import walk
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ExportOptions
from tests.support.corpus import CORPUS
from tests.support.game import MESH, archive, entry, make_game, model, snapshot, write
from tests.support.gltf_edit import Editable
from tests.support.runs import call, require
from tests.support.verbs import move

ROCK = "retail__odd__s_rock_009"


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


@pytest.mark.skipif(sys.platform != "linux", reason="needs any file name")
def test_names_of_any_bytes(tmp_path: Path) -> None:
    """CP1251 file names on a UTF-8 system come back as they were."""
    game = tmp_path / "game"
    name = os.fsdecode("Здания/Дом".encode("cp1251"))
    write(game / f"{name}.msh", model("retail__odd__s_rock_009"))
    assert call(cli.msh2gltf, game, "-o", tmp_path / "out", "-q") == 0
    path = tmp_path / "out/Здания/Дом.glb"
    back = (tmp_path / "out", "--game", game, "-o", tmp_path / "new", "-q")
    assert call(cli.gltf2msh, *back) == 0
    assert snapshot(tmp_path / "new") == snapshot(game)
    move(path)
    assert call(cli.gltf2msh, *back) == 0
    assert (tmp_path / "new" / f"{name}.msh").read_bytes() == import_gltf(path).data
    write(game / "Здания/Дом.msh", b"")
    assert [one.reason for one in walk([game]).unreadable] == ["two files have this name, as UTF-8 and as CP1251"]


@pytest.mark.parametrize("name", ["spec", "retail", "mixed"])
def test_whole_corpus_games(name: str, tmp_path: Path) -> None:
    require(CORPUS, "no corpus: MSH_GLTF_CORPUS names no folder of whole games")
    game = Path(str(CORPUS)) / name / "game"
    assert call(cli.msh2gltf, game, "-o", tmp_path / "out", "-q") == 0
    truth = json.loads((game.parent / "truth/manifest.json").read_text("utf-8"))
    facts = json.loads((tmp_path / "out/manifest.json").read_text("utf-8"))
    made = {(row["source"].casefold(), row["name"].casefold()): row for row in facts["models"]}
    assert len(made) == len(truth["models"]) + 1 + 2 * len(truth["maps"])
    assert facts["failed"] == facts["unreadable"] == []
    for expected in truth["models"]:
        row = made[expected["archive"].casefold(), expected["entry"].casefold()]
        assert row["dialect"] == expected["dialect"], row
    for path in (tmp_path / "out").rglob("*.glb"):
        Editable(path).save(path)  # every file is read and compared
    arguments = ("--game", game, "-o", tmp_path / "new", "-q")
    assert call(cli.gltf2msh, tmp_path / "out", *arguments) == 0
    assert snapshot(tmp_path / "new") == snapshot(game)
