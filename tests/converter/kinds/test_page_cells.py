"""Materials that show one rectangle of their texture's ``Page``: as the game shows them, and back."""

import base64
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

from msh_gltf import import_gltf, read_msh, to_trimesh
from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.material import read_material
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.formats.texture import PAGE_DTYPE, read_texm, write_texm
from msh_gltf.converter.judge.difference import JUDGED
from msh_gltf.converter.options import ImportOptions
from msh_gltf.exporters.gltf_file import png_bytes
from tests.support.game import snapshot
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import GltfView
from tests.support.runs import call, run

ROOT = Path(__file__).resolve().parents[3]
MODEL = "turrets.rlb/e_tur_01.glb"
NAME = "KHR_texture_transform"
BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")
#: Left, width, top, height as parts of the texture: a Page stores them in this order.
CELLS = [(0, 0.5, 0, 0.5), (0.5, 0.25, 0.25, 0.75)]


def with_pages(game: Path) -> None:
    """Give the texture of ``joint`` a Page, and let ``joint`` show its second rectangle."""
    path = game / "Textures.lib"
    archive = read_nres(read_file(path), path.name)
    index = archive.find("joint.0")
    assert index is not None
    texm = read_texm(archive.entries[index].payload, "joint.0")
    sides = (texm.width, texm.width, texm.height, texm.height)
    rects = np.array([tuple(int(a * b) for a, b in zip(c, sides, strict=True)) for c in CELLS], PAGE_DTYPE)
    path.write_bytes(write_nres(replace_entry(archive, index, write_texm(replace(texm, rects=rects)))))
    path = game / "Material.lib"
    archive = read_nres(read_file(path), path.name)
    index = archive.find("joint")
    assert index is not None
    data = bytearray(archive.entries[index].payload)
    data[14 + 17] = 1
    path.write_bytes(write_nres(replace_entry(archive, index, bytes(data))))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cells")
    script = [sys.executable, ROOT / "examples/make_game.py", folder / "GAME"]
    subprocess.run(script, check=True, capture_output=True)
    with_pages(folder / "GAME")
    assert call(cli.msh2gltf, folder / "GAME", "-o", folder / "out", "-q") == 0
    return folder


class Edit:
    """The glTF of one model of the game, edited, and what comes of it."""

    def __init__(self, made: Path, folder: Path) -> None:
        self.game, self.out, self.new = made / "GAME", folder / "out", folder / "NEW"
        shutil.copytree(made / "out", self.out)
        self.document = Editable(self.out / MODEL)
        self.joints = [m for m in self.document.json["materials"] if m["name"].startswith("joint")]
        assert self.joints

    def transform(self, **values: Any) -> None:
        """Give the material another transform."""
        for material in self.joints:
            for info in infos(material):
                info["extensions"][NAME].update(values)

    def back(self, *options: str) -> tuple[str, set[str]]:
        """What is printed, and the files of the game that differ."""
        self.document.save(self.out / MODEL)
        done = run("gltf2msh", self.out, "--game", self.game, "-o", self.new, *options)
        self.code = done.returncode
        before, after = snapshot(self.game), snapshot(self.new) if self.new.is_dir() else {}
        return done.stdout + done.stderr, {name for name in after if after[name] != before[name]}

    def uv(self, root: Path) -> np.ndarray:
        """Texture coordinates of the model, shown by the material ``joint``."""
        archive = read_nres(read_file(root / "turrets.rlb"), "turrets.rlb")
        index = archive.find("e_tur_01.msh")
        assert index is not None
        model = read_model(read_nres(archive.entries[index].payload, "x"), "x")
        return np.asarray(model.uv0)

    def cell(self) -> int:
        archive = read_nres(read_file(self.new / "Material.lib"), "x")
        index = archive.find("joint")
        assert index is not None
        return read_material(archive.entries[index], "x").cell


def infos(material: dict[str, Any]) -> list[dict[str, Any]]:
    """The textures of a material that show its picture."""
    found = [material["pbrMetallicRoughness"]["baseColorTexture"], material.get("emissiveTexture")]
    return [info for info in found if info]


@pytest.fixture
def edit(made: Path, tmp_path: Path) -> Edit:
    return Edit(made, tmp_path)


def test_a_cell_is_shown_by_a_texture_transform(made: Path) -> None:
    view = GltfView(made / "out" / MODEL)
    assert view["extensionsUsed"] == [NAME]
    for material in view["materials"]:
        transforms = [info.get("extensions", {}).get(NAME) for info in infos(material)]
        is_joint = material["name"].startswith("joint")
        expected = {"offset": [0.5, 0.25], "scale": [0.25, 0.75]} if is_joint else None
        assert transforms == [expected] * len(transforms)
        assert material["extras"]["msh"].get("rectangle") == ("0.5 0.25 0.25 0.75" if is_joint else None)


def test_an_untouched_cell_changes_nothing(edit: Edit) -> None:
    edit.transform(offset=[0.5 + 1e-7, 0.25 - 1e-7], rotation=0.0)  # as Blender may write it
    text, files = edit.back("--require-all")
    assert (files, edit.code) == (set(), 0), text


def test_another_cell_of_the_page_is_an_edit_of_the_material(edit: Edit) -> None:
    edit.transform(offset=[0, 0], scale=[0.5, 0.5])
    text, files = edit.back("--require-all")
    assert (files, edit.cell()) == ({"Material.lib"}, 0), text


def test_a_transform_that_no_cell_has_goes_into_the_coordinates(edit: Edit) -> None:
    """Moved by an eighth of the texture, which is half of the rectangle: 512 of 1024 steps."""
    edit.transform(offset=[0.625, 0.25])
    text, files = edit.back("--require-all")
    assert files == {"turrets.rlb"}, text
    moved = np.unique(edit.uv(edit.new).astype(int) - edit.uv(edit.game), axis=0)
    assert moved.tolist() == [[0, 0], [512, 0]]


@pytest.mark.parametrize(
    ("ignored", "values"),
    [
        ("kinds.import_result._move", {"offset": [0.625, 0.25]}),
        ("edits.looks._Comparison._cell", {"offset": [0, 0], "scale": [0.5, 0.5]}),
    ],
)
def test_a_transform_that_is_not_carried_out_is_named(
    ignored: str, values: dict[str, Any], edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge looks at the file before its coordinates are settled."""
    edit.transform(**values)
    path = edit.document.save(edit.out / MODEL)
    assert import_gltf(path).not_applied == []
    monkeypatch.setattr(f"msh_gltf.converter.{ignored}", lambda *_: None)
    found = import_gltf(path).not_applied
    assert found
    assert all(one.why == JUDGED and "has other texture coordinates" in one.what for one in found)


def test_another_picture_is_shown_whole(edit: Edit) -> None:
    """A new texture has no Page: what the transform showed of it is in the coordinates."""
    pixels = np.random.default_rng(1).integers(0, 256, (8, 8, 4), np.uint8)
    image = {"name": "tiles.0", "uri": "data:image/png;base64," + base64.b64encode(png_bytes(pixels)).decode()}
    edit.document.json["images"].append(image)
    edit.document.json["textures"].append({"source": len(edit.document.json["images"]) - 1})
    for material in edit.joints:
        infos(material)[0]["index"] = len(edit.document.json["textures"]) - 1
    text, files = edit.back()
    assert (files, edit.cell()) == ({"turrets.rlb", "Material.lib", "Textures.lib"}, -1), text


def test_a_model_without_its_sidecar_keeps_the_coordinates_of_the_cell(made: Path, tmp_path: Path) -> None:
    source = made / "out" / MODEL
    for name, options in (("kept", []), ("alone", ["--no-sidecar"])):
        done = run("gltf2msh", source, "-o", tmp_path / f"{name}.msh", "-q", "--game", made / "GAME", *options)
        assert done.returncode == 0, done.stderr
    rows = [
        {tuple(row) for row in read_model(read_nres((tmp_path / f"{n}.msh").read_bytes(), n), n).uv0.tolist()}
        for n in ("kept", "alone")
    ]
    assert rows[0] == rows[1]


def test_an_obj_and_a_trimesh_scene_have_the_coordinates_that_are_shown(made: Path, tmp_path: Path) -> None:
    """Neither has a place for a transform: judged by trimesh. They come back, with and without a sidecar."""
    archive = read_nres(read_file(made / "GAME/turrets.rlb"), "x")
    stored = bytes(archive.entries[archive.find("e_tur_01.msh") or 0].payload)
    path = tmp_path / "tower.obj"
    command = (made / "GAME/turrets.rlb", "--entry", "e_tur_01.msh", "-o", path, "-q")
    assert call(cli.msh2gltf, *command) == 0
    view = Editable(made / "out" / MODEL)
    (joint,) = [i for i, m in enumerate(view.json["materials"]) if m["name"] == "joint"]
    rows = [view.arrays[p["attributes"]["TEXCOORD_0"]] for p in view.primitives() if p["material"] == joint]
    (x, wide, y, high), raw = CELLS[1], np.concatenate(rows)
    wanted = {(round(x + wide * u, 4), round(y + high * v, 4)) for u, v in raw.tolist()}
    model = read_msh(made / "GAME/turrets.rlb", "e_tur_01.msh")
    for scene in (trimesh.load(path, process=False), to_trimesh(model)):
        found = set()
        for mesh in scene.geometry.values():
            names = [m.name for m in getattr(mesh.visual.material, "materials", [mesh.visual.material])]
            if "joint" in names:
                of = mesh.face_attributes.get("material", np.zeros(len(mesh.faces), int))
                corners = np.unique(mesh.faces[of == names.index("joint")])
                found |= {(round(u, 4), round(1 - v, 4)) for u, v in mesh.visual.uv[corners].tolist()}
        assert found == wanted
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
def test_blender_keeps_cells(made: Path, tmp_path: Path) -> None:
    edit = Edit(made, tmp_path)
    script = "import sys, bpy\nbpy.ops.wm.read_factory_settings(use_empty=True)\n"
    script += "bpy.ops.import_scene.gltf(filepath=sys.argv[1])\n"
    script += "bpy.ops.export_scene.gltf(filepath=sys.argv[1], export_extras=True)\n"
    target = edit.out / MODEL
    done = subprocess.run([str(BLENDER), "-c", script, str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert NAME in GltfView(target)["extensionsUsed"]
    edit.document = Editable(target)
    text, files = edit.back("--require-all")
    assert (files, edit.code) == (set(), 0), text
