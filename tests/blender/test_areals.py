"""Areal maps edited in real Blender, by its own importer and exporter, in a whole game."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.areal_map import read_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.areal_edits import own, record_bytes, require_mutual
from tests.support.game import snapshot
from tests.support.gltf_view import TO_GAME, GltfView
from tests.support.maps import level_called
from tests.support.runs import call, run

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")
pytestmark = pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
HERE = Path(__file__).parent
LEVEL = level_called("spec__AutoMAP_00").folder
EDITS = ("move", "split", "delete")
MAP, GROUND = "DATA/MAPS/M1/Land.map", "DATA/MAPS/M1/Land.msh"


def blender(script: str, *arguments: object) -> None:
    result = subprocess.run([BLENDER, HERE / script, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game with one level, its glTF, and each edit of them in Blender."""
    base = tmp_path_factory.mktemp("areals")
    (base / "game/DATA/MAPS").mkdir(parents=True)
    shutil.copytree(LEVEL, base / "game/DATA/MAPS/M1")
    assert call(cli.msh2gltf, base / "game", "-o", base / "out", "-q") == 0
    shutil.copytree(base / "out", base / "kept")
    for attributes in (0, 1):
        folder = base / f"edits{attributes}"
        folder.mkdir()
        blender("edit_areals.py", base / f"out/{MAP}.glb", folder, attributes, *EDITS)
    blender("edit_terrain.py", base / "out/DATA/MAPS/M1/Land.glb", base, 1, "raise_all")
    return base


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_arrives_in_the_game(name: str, edited: Path, tmp_path: Path) -> None:
    """Together with one of the ground; and the original files undo both."""
    game = shutil.copytree(edited / "game", tmp_path / "game")
    out = shutil.copytree(edited / "out", tmp_path / "out")
    before = snapshot(game)
    shutil.copy(edited / f"edits1/{name}.glb", out / f"{MAP}.glb")
    shutil.copy(edited / "raise_all.glb", out / "DATA/MAPS/M1/Land.glb")
    done = run("gltf2msh", out, "--game", game, "--in-place")
    assert done.returncode == 0, done.stdout + done.stderr
    after = snapshot(game)
    assert {k for k in after if after[k] != before[k]} == {MAP, GROUND}
    assert run("msh-inspect", "--check", game).returncode == 0

    old, new = (read_areal_map(read_nres(read_file(g / MAP), "x")) for g in (edited / "game", game))
    require_mutual(new)
    fact = json.loads((edited / "edits1/facts.json").read_text("utf-8"))[name]
    one, other = (record_bytes(a, bytes(a.entry.payload)) for a in (old, new))
    assert call(cli.msh2gltf, game, "-o", tmp_path / "again", "-q") == 0
    view = GltfView(tmp_path / f"again/{MAP}.glb")
    shown = [view.array(p["attributes"]["POSITION"]) @ TO_GAME.T for mesh in view["meshes"] for p in mesh["primitives"]]
    places = np.concatenate(shown).astype(np.float32)
    if name == "move":
        was = np.float32(fact)
        concerned = {i for i in range(len(one)) if (own(old, i) == was).all(axis=1).any()}
        assert {i for i in range(len(one)) if one[i] != other[i]} == concerned
        assert (places == was + np.float32([0.5, 0, 0])).all(axis=1).any()
        assert not (places == was).all(axis=1).any()
    elif name == "split":
        count = len(one)
        assert len(new.records) == count + 1
        assert len(own(new, fact)) + len(own(new, count)) == len(own(old, fact)) + 2
    else:
        assert len(new.records) == len(old.records) - 1
        assert np.array_equal(new.vertices, np.delete(old.vertices, np.flatnonzero(old.owner == fact), axis=0))

    shutil.copytree(edited / "kept", out, dirs_exist_ok=True)
    assert run("gltf2msh", out, "--game", game, "--in-place").returncode == 0
    assert snapshot(game) == before


def test_without_attributes_the_option_is_named(edited: Path) -> None:
    sidecar = edited / f"out/{MAP}.msh-sidecar"
    for name in ("move", "delete"):  # a split shows in nothing but the numbers
        back = import_gltf(edited / f"edits0/{name}.glb", sidecar)
        assert back.data == (LEVEL / "Land.map").read_bytes()
        assert back.not_applied
        assert all("Data > Mesh > Attributes" in one.instead for one in back.not_applied)
