"""Messages say what is wrong in words, and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from msh_gltf.converter.errors import with_article
from msh_gltf.converter.formats.nres import read_nres
from tests.support.corpus import LIBS, sample_called
from tests.support.game import make_game
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.maps import LEVELS
from tests.support.runs import run, to_gltf

ROCK = sample_called("retail__odd__s_rock_009")


@pytest.mark.parametrize(("noun", "text"), [("terrain", "a terrain"), ("areal map", "an areal map")])
def test_articles(noun: str, text: str) -> None:
    assert with_article(noun) == text


def test_an_areal_map_without_its_sidecar(tmp_path: Path) -> None:
    source = LEVELS[0].folder / "Land.map"
    assert run("msh2gltf", source, "-o", tmp_path / "m.glb").returncode == 0
    done = run("gltf2msh", tmp_path / "m.glb", "--no-sidecar", "-o", tmp_path / "m.msh")
    assert "is an areal map, which needs its sidecar" in done.stderr
    done = run("msh2gltf", source, "-o", tmp_path / "m.obj")
    assert "is an areal map: only models become OBJ" in done.stderr


@pytest.mark.parametrize("command", ["msh2gltf", "msh-inspect"])
@pytest.mark.parametrize("options", [(), ("--entry", "0")])
def test_a_list_of_materials(command: str, options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "rock.wea").write_bytes(b"4\r\n0 A\r\n")
    done = run(command, tmp_path / "rock.wea", *options)
    assert done.returncode == 2
    assert "is a list of materials, and shows nothing by itself; convert the model" in done.stderr
    assert "b'" not in done.stderr


def test_the_traceback_of_a_file_that_is_called_broken(tmp_path: Path) -> None:
    """A document that keeps the rules of glTF, and meets a bug, which no known one does."""
    path = tmp_path / "m.gltf"
    path.write_text('{"asset":{"version":"2.0"},"nodes":[{}]}', "utf-8")
    code = "from msh_gltf.importers import gltf; gltf._parents = lambda file: [][7]\n"
    code += "from msh_gltf.converter.cli import gltf2msh; gltf2msh()"
    command = [sys.executable, "-c", code, path, "-o", tmp_path / "m.msh"]
    quiet = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "MSH_GLTF_TRACEBACK=1 shows where" in quiet.stderr
    assert "Traceback" not in quiet.stderr
    shown = {**os.environ, "MSH_GLTF_TRACEBACK": "1"}
    loud = subprocess.run(command, capture_output=True, text=True, check=False, env=shown)
    assert "Traceback" in loud.stderr
    assert "IndexError" in loud.stderr


def test_a_new_model_of_unknown_materials_names_those_of_the_game(tmp_path: Path) -> None:
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    shutil.copy(LIBS / "Material.lib", game)
    assert run("msh2gltf", game, "-o", out, "--no-textures").returncode == 0
    document = Editable(to_gltf(ROCK, tmp_path / "m.glb", "--no-sidecar"))
    drop_extras(document)
    for material in document.json["materials"]:
        material["name"] = "MTL_01X"
    document.save(out / "static.rlb" / "new.glb")
    done = run("gltf2msh", out, "--game", game, "-o", tmp_path / "new", "--add")
    assert done.returncode == 0, done.stderr
    said = "material 'MTL_01X' is new; the game has one of "
    assert said in done.stdout + done.stderr
    library = read_nres((LIBS / "Material.lib").read_bytes(), "x")
    assert any(entry.name in (done.stdout + done.stderr) for entry in library.entries)


def test_a_new_model_of_a_run_misses_no_sidecar(tmp_path: Path) -> None:
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    assert run("msh2gltf", game, "-o", out).returncode == 0
    folder = out / "static.rlb"
    document = Editable(to_gltf(ROCK, tmp_path / "m.glb", "--no-sidecar"))
    document.json["scenes"][0].pop("extras")
    document.save(folder / "new.glb")
    assert list(folder.glob("*.msh-sidecar"))
    done = run("gltf2msh", out, "--game", game, "-o", tmp_path / "new", "--add")
    assert done.returncode == 0, done.stderr
    assert "new" in done.stdout
    assert "no sidecar" not in done.stdout + done.stderr
