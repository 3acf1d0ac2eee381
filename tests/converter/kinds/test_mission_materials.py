"""Materials edited in a mission or a unit: they belong to the game's libraries, and go there."""

import json
import shutil
from pathlib import Path

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.docs.materials import game
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
