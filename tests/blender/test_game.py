"""A whole game directory through real Blender: untouched, and with three models edited."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from tests.support.game import make_game, snapshot
from tests.support.gltf_view import GltfView
from tests.support.runs import call

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")
pytestmark = pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
HERE = Path(__file__).parent
EDITED = {
    ("static.rlb", "i_room_006.msh"): "move_vertex",
    ("static.rlb", "R_H_002.MSH"): "move_node",
    ("SYSTEM.RLB", "птица.msh"): "subdivide",
}


def blender(script: str, *arguments: object) -> None:
    result = subprocess.run([BLENDER, HERE / script, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]


def test_a_game_through_blender(tmp_path: Path) -> None:
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    models = sorted(out.rglob("*.glb"))
    for number, path in enumerate(models):  # Blender's output is named after its input
        shutil.copy(path, tmp_path / f"{number}.glb")
    blender("roundtrip.py", tmp_path, *(tmp_path / f"{n}.glb" for n in range(len(models))))
    for number, path in enumerate(models):
        shutil.copy(tmp_path / "plain" / f"{number}.glb", path)
    command = (out, "--game", game, "-q")
    assert call(cli.gltf2msh, *command, "-o", tmp_path / "same") == 0
    assert snapshot(tmp_path / "same") == snapshot(game)

    for (archive, name), edit in EDITED.items():
        path = out / archive / f"{name[:-4]}.glb"
        node = next(n["name"] for n in GltfView(path).json["nodes"] if "mesh" in n)
        blender("edit.py", path, tmp_path / "edits", node, edit)
        shutil.copy(tmp_path / "edits" / f"{edit}.glb", path)
    report = tmp_path / "report.json"
    assert call(cli.gltf2msh, *command, "-o", tmp_path / "new", "--report", report) == 0
    facts = json.loads(report.read_text("utf-8"))
    assert {r["id"] for r in facts["items"] if r["status"] == "changed"} == {
        f"{archive}::{name}" for archive, name in EDITED
    }
    before, after = snapshot(game), snapshot(tmp_path / "new")
    assert {k for k in after if after[k] != before[k]} == {"static.rlb", "SYSTEM.RLB"}
    for archive in ("static.rlb", "SYSTEM.RLB"):
        old, new = (read_nres(read_file(d / archive), "x") for d in (game, tmp_path / "new"))
        differ = {a.name for a, b in zip(old.entries, new.entries, strict=True) if bytes(a.payload) != bytes(b.payload)}
        assert differ == {name for folder, name in EDITED if folder == archive}
