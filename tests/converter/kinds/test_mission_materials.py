"""Materials edited in a mission or a unit: they belong to the game's libraries, and go there."""

import io
import json
import shutil
from base64 import b64encode
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
from PIL import Image

from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.docs.materials import game
from tests.support.gltf_edit import Editable
from tests.support.runs import run

PLACED = {"mission.gltf": ("GAME/MISSIONS/Single.01",), "walker.gltf": ("GAME", "--unit", "walker")}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("materials")
    game(folder / "GAME")
    for name, arguments in PLACED.items():
        done = run("msh2gltf", *arguments, "-o", name, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def recoloured(exported: Path, folder: Path, name: str, **options: bool) -> ImportResult:
    """What comes of a red material ``armour``, wherever the file has it."""
    folder /= "edited"
    shutil.copytree(exported, folder)
    document = json.loads((folder / name).read_text("utf-8"))
    for material in document["materials"]:
        if material["name"] == "armour":
            material["pbrMetallicRoughness"]["baseColorFactor"] = [1.0, 0.0, 0.0, 1.0]
    (folder / name).write_text(json.dumps(document), "utf-8")
    return import_gltf(folder / name, None, ImportOptions(**options))


@pytest.mark.parametrize("name", PLACED)
def test_without_edits_nothing_changes(exported: Path, name: str) -> None:
    result = import_gltf(exported / name, None, ImportOptions())
    assert (result.kept_all, result.changes, result.library) == (True, [], [])
    assert result.not_applied == []


@pytest.mark.parametrize("name", PLACED)
def test_a_colour_becomes_an_edit_of_the_library(exported: Path, tmp_path: Path, name: str) -> None:
    result = recoloured(exported, tmp_path, name)
    (edit,) = result.library
    assert (edit.entry.library, edit.entry.name) == ("Material.lib", "armour")
    assert [change.where for change in result.changes] == ["material 'armour'"]
    assert result.kept_all, "the record of the mission or unit is as it was"
    assert result.not_applied == []


@pytest.mark.parametrize("name", PLACED)
def test_where_libraries_are_not_written_it_is_reported(exported: Path, tmp_path: Path, name: str) -> None:
    result = recoloured(exported, tmp_path, name, libraries=False)
    assert [one.where for one in result.not_applied] == ["material 'armour'"]


def test_a_new_name_is_written_to_the_list_that_the_registry_names(tmp_path: Path) -> None:
    here, out, new = tmp_path / "GAME", tmp_path / "out", tmp_path / "new"
    game(here)
    objects = (here / "objects.rlb").read_bytes()
    (here / "objects.rlb").write_bytes(objects.replace(b"r_dome.wea\0", b"g_gun.wea\0\0"))
    assert run("msh2gltf", here, "-o", out, "-j", "1").returncode == 0
    walker = out / "UNITS/ROBOTS/walker.glb"
    file = Editable(walker)
    for material in file.json["materials"]:
        material["name"] = material["name"].replace("armour", "PLATE")
    file.save(walker)
    assert [one.name for one in import_gltf(walker, None, ImportOptions()).new_materials] == ["PLATE"]
    done = run("gltf2msh", out, "--game", here, "-o", new, "-j", "1")
    assert done.returncode == 0, done.stderr
    before, after = (
        {e.name: bytes(e.payload) for e in read_nres(bytes((folder / "guns.rlb").read_bytes()), "guns.rlb").entries}
        for folder in (here, new)
    )
    assert {name for name in before if before[name] != after[name]} == {"g_gun.wea"}
    assert b"1 PLATE" in after["g_gun.wea"]
    assert b"PLATE" in (new / "Material.lib").read_bytes()
    assert "not applied" not in done.stdout


def test_the_material_of_one_placement_is_that_of_all(exported: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(exported, tmp_path / "edited")
    document = json.loads((folder / "mission.gltf").read_text("utf-8"))
    shown = Counter(node["mesh"] for node in document["nodes"] if "mesh" in node)
    mesh = next(i for i, count in shown.items() if count > 1)
    copy = json.loads(json.dumps(document["meshes"][mesh]))
    names = [one["name"] for one in document["materials"]]
    copy["primitives"][0]["material"] = names.index("glow")
    next(node for node in document["nodes"] if node.get("mesh") == mesh)["mesh"] = len(document["meshes"])
    document["meshes"].append(copy)
    (folder / "mission.gltf").write_text(json.dumps(document), "utf-8")
    result = import_gltf(folder / "mission.gltf", None, ImportOptions())
    assert (len(result.placed), result.not_applied) == (1, [])
    assert "of this file too" in " ".join(result.differences.warnings)


@pytest.mark.parametrize("jpeg", [False, True])
def test_what_is_of_the_whole_file_is_reported_once(exported: Path, tmp_path: Path, jpeg: bool) -> None:
    folder = shutil.copytree(exported, tmp_path / "edited")
    document = json.loads((folder / "walker.gltf").read_text("utf-8"))
    for material in document["materials"]:
        material["name"] = material["name"].replace("joint", "RUST")
        if not jpeg:
            material.get("pbrMetallicRoughness", {}).pop("baseColorTexture", None)
            material.pop("emissiveTexture", None)
    for image in document["images"] if jpeg else ():
        data = io.BytesIO()
        Image.open(folder / unquote(image["uri"])).convert("RGB").save(data, "JPEG")
        image |= {"uri": f"data:image/jpeg;base64,{b64encode(data.getvalue()).decode()}", "mimeType": "image/jpeg"}
    (folder / "walker.gltf").write_text(json.dumps(document), "utf-8")
    result = import_gltf(folder / "walker.gltf", None, ImportOptions())
    assert [one.where for one in result.not_applied] == ["pictures"]


def test_a_unit_that_shows_another_frame_and_no_clip_is_as_it_was(exported: Path, tmp_path: Path) -> None:
    """As Blender exports it with *Use Current Frame*, and without *Animation*."""
    folder = shutil.copytree(exported, tmp_path / "edited")
    file = Editable(folder / "walker.gltf")
    for clip in file.json.pop("animations"):
        for channel in clip["channels"]:
            values = file.arrays[clip["samplers"][channel["sampler"]]["output"]]
            file.json["nodes"][channel["target"]["node"]][channel["target"]["path"]] = values[3].tolist()
    result = import_gltf(file.save(folder / "walker.gltf"), None, ImportOptions())
    assert (result.changes, result.not_applied) == ([], [])
