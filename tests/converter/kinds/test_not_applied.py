"""Differences that an import cannot apply: lines, reports, ``--require-all``, runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from msh_gltf import import_gltf
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.runs import run, to_gltf

ROCK = sample_called("retail__odd__s_rock_009")
WHERE = "part 'stray'"
KEYS = {"where", "what", "why", "instead"}


def with_stray_part(path: Path) -> Path:
    """Give a file a part of a node that it does not have."""
    document = Editable(path)
    extras = {"msh": {"node": 999, "lod": 1, "group": 0}}
    document.json["nodes"].append({"name": "stray", "mesh": 0, "extras": extras})
    document.json["scenes"][0]["nodes"].append(len(document.json["nodes"]) - 1)
    return document.save(path)


def test_untouched_files_have_none(tmp_path: Path) -> None:
    back = import_gltf(to_gltf(ROCK, tmp_path / "m.glb"))
    assert (back.unchanged, back.not_applied) == (True, [])


def test_the_command_prints_each_and_does_not_say_unchanged(tmp_path: Path) -> None:
    path = with_stray_part(to_gltf(ROCK, tmp_path / "m.glb"))
    back = run("gltf2msh", path, "-o", tmp_path / "b.msh", "--report", tmp_path / "r.json")
    assert back.returncode == 0, back.stderr
    (line,) = back.stderr.splitlines()
    assert line.startswith(f"not applied: {WHERE}: is new; ")
    assert ": nothing changed, restored byte for byte, 1 not applied" in back.stdout
    assert (tmp_path / "b.msh").read_bytes() == ROCK.path.read_bytes()
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["unchanged"], report["changes"]) == (False, [])
    (fact,) = report["not_applied"]
    assert set(fact) == KEYS
    assert fact["where"] == WHERE


def test_quiet_prints_them_all_the_same(tmp_path: Path) -> None:
    path = with_stray_part(to_gltf(ROCK, tmp_path / "m.glb"))
    back = run("gltf2msh", path, "-o", tmp_path / "b.msh", "-q")
    assert back.stderr.startswith("not applied: ")
    assert back.stdout == ""


def test_require_all_writes_nothing(tmp_path: Path) -> None:
    path = with_stray_part(to_gltf(ROCK, tmp_path / "m.glb"))
    back = run("gltf2msh", path, "-o", tmp_path / "b.msh", "--require-all")
    assert back.returncode == 1
    first, second = back.stderr.splitlines()
    assert first.startswith(f"not applied: {WHERE}")
    assert "1 difference cannot be applied" in second
    assert not (tmp_path / "b.msh").exists()


def test_runs_report_them_and_keep_what_the_game_has(tmp_path: Path) -> None:
    game, out = tmp_path / "game", tmp_path / "out"
    game.mkdir()
    shutil.copy(ROCK.path, game / "rock.msh")
    assert run("msh2gltf", game, "-o", out).returncode == 0
    with_stray_part(next(out.rglob("*.glb")))
    back = ("gltf2msh", out, "--game", game, "--report", tmp_path / "r.json", "-o", tmp_path / "new")
    refused = run(*back, "--require-all")
    assert refused.returncode == 1
    assert not (tmp_path / "new").exists() or not list((tmp_path / "new").iterdir())
    assert "nothing was written (--require-all)" in refused.stdout
    done = run(*back, "--force")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"not applied: rock.msh: {WHERE}: is new; ")
    (item,) = json.loads((tmp_path / "r.json").read_text())["items"]
    assert (item["status"], item["changes"]) == ("kept", [])
    assert set(item["not_applied"][0]) == KEYS
    assert (tmp_path / "new/rock.msh").read_bytes() == ROCK.path.read_bytes()


def test_a_material_that_no_wea_names_is_no_material_of_the_game(tmp_path: Path) -> None:
    """What it is called in the file comes from the exporter: an entry of that name is one that no row can name."""
    alone = replace(ROCK, path=Path(shutil.copy(ROCK.path, tmp_path / "rock.msh")))
    document = Editable(path := to_gltf(alone, tmp_path / "m.glb"))
    first = [one for one in document.json["materials"] if one["name"] == "material_0"]
    for one in first:
        one["pbrMetallicRoughness"]["baseColorFactor"] = [0.2, 0.3, 0.9, 1]
    back = import_gltf(document.save(path))
    assert (back.new_materials, back.library) == ([], [])
    assert len(back.not_applied) == len(first) > 0
    line = back.not_applied[0]
    assert line.why.startswith("no .wea names its row")
    assert line.instead.startswith("give all materials of the model that are called so")
    for one in document.json["materials"]:
        one["name"] = one["name"].replace("material_", "rust_")
    named = import_gltf(document.save(path))
    assert [str(one) for one in named.changes if "'material_0' became 'rust_0'" in str(one)]
    assert "rust_0" in [one.name for one in named.new_materials]
