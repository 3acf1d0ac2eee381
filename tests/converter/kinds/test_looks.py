"""Rectangles of textures in files that have no place for a transform; edits of looks are in ``../edits/looks.py``."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import trimesh

from msh_gltf import import_gltf, read_msh, to_trimesh
from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.options import ImportOptions
from tests.converter.edits.looks import CELLS, TRANSFORM, TURRET, made
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import GltfView
from tests.support.runs import call

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")


def test_an_obj_and_a_trimesh_scene_have_the_coordinates_that_are_shown(tmp_path: Path) -> None:
    """Neither has a place for a transform: judged by trimesh. They come back, with and without a sidecar."""
    source = made() / "GAME/turrets.rlb"
    archive = read_nres(read_file(source), "x")
    stored = bytes(archive.entries[archive.find("e_tur_01.msh") or 0].payload)
    path = tmp_path / "tower.obj"
    assert call(cli.msh2gltf, source, "--entry", "e_tur_01.msh", "-o", path, "-q") == 0
    view = Editable(made() / "out" / TURRET)
    (joint,) = [i for i, m in enumerate(view.json["materials"]) if m["name"] == "joint"]
    rows = [view.arrays[p["attributes"]["TEXCOORD_0"]] for p in view.primitives() if p["material"] == joint]
    (x, wide, y, high), raw = CELLS[1], np.concatenate(rows)
    wanted = {(round(x + wide * u, 4), round(y + high * v, 4)) for u, v in raw.tolist()}
    model = read_msh(source, "e_tur_01.msh")
    for scene in (trimesh.load(path, process=False), to_trimesh(model)):
        shown = set()
        for mesh in scene.geometry.values():
            names = [m.name for m in getattr(mesh.visual.material, "materials", [mesh.visual.material])]
            if "joint" in names:
                of = mesh.face_attributes.get("material", np.zeros(len(mesh.faces), int))
                corners = np.unique(mesh.faces[of == names.index("joint")])
                shown |= {(round(u, 4), round(1 - v, 4)) for u, v in mesh.visual.uv[corners].tolist()}
        assert shown == wanted
    back = import_gltf(to_trimesh(model))
    assert (back.data, back.unchanged) == (stored, True)
    for sidecar in (True, False):
        back = import_gltf(path, options=ImportOptions(use_sidecar=sidecar, dialect="retail"))
        assert not [line for line in back.not_applied if "coordinates" in line.what]
        words = {tuple(row) for row in read_model(read_nres(back.data, "x"), "x").uv0.tolist()}
        shown = {tuple(row) for row in read_model(read_nres(stored, "x"), "x").uv0.tolist()}
        assert words == shown if sidecar else words <= shown
    bare = path.with_suffix(".mtl").read_text("utf-8").replace("# msh-gltf rectangle", "#")
    path.with_suffix(".mtl").write_text(bare, "utf-8")
    assert import_gltf(path).unchanged
    path.with_suffix(".mtl").unlink()  # the sidecar knows the rectangles
    assert import_gltf(path).unchanged


@pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
def test_blender_keeps_cells(tmp_path: Path) -> None:
    target = shutil.copytree(made() / "out", tmp_path / "out") / TURRET
    script = "import sys, bpy\nbpy.ops.wm.read_factory_settings(use_empty=True)\n"
    script += "bpy.ops.import_scene.gltf(filepath=sys.argv[1])\n"
    script += "bpy.ops.export_scene.gltf(filepath=sys.argv[1], export_extras=True)\n"
    done = subprocess.run([str(BLENDER), "-c", script, str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert TRANSFORM in GltfView(target)["extensionsUsed"]
    back = import_gltf(target)
    assert (back.unchanged, back.not_applied, back.library) == (True, [], [])
