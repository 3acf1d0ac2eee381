"""What one model changes in the game's libraries is written into them, by the library in Python."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import msh_gltf
from msh_gltf.converter.formats.material import read_material
from msh_gltf.converter.game.games import Games
from msh_gltf.converter.game.new_models import plan_libraries
from tests.converter.game.library_edits import BLUE, BRICK, RED, TURRETS, Edit, Json, colour, made
from tests.support.vault import original

__all__ = ["made"]


@pytest.fixture
def edit(made: Path, tmp_path: Path) -> Edit:
    return Edit(made, tmp_path)


def test_edits_and_new_entries_are_written_once(edit: Edit) -> None:
    shutil.copytree(edit.game, edit.new)
    edit.material(TURRETS[0], "armour", colour(1, 0, 0, 1))
    edit.assign(TURRETS[0], "joint", "BRICK", BRICK)
    edit.rename(TURRETS[0], "glass", "pane")
    result = msh_gltf.import_gltf(edit.out / TURRETS[0])
    wrote = msh_gltf.write_libraries(result, edit.new)
    assert [path.name for path in wrote] == ["Material.lib", "Textures.lib"]
    assert edit.names("Material.lib")[-1] == "pane"
    assert edit.names("Textures.lib")[-1] == "BRICK.0"
    for path in wrote:
        assert original(edit.new, path.name) == (edit.game / path.name).read_bytes()
    assert "pane is new in Material.lib" in result.warnings
    assert result.not_applied == []
    again = msh_gltf.import_gltf(edit.out / TURRETS[0])
    assert msh_gltf.write_libraries(again, edit.new) == []
    assert again.not_applied == []


def test_what_another_model_made_of_a_name_is_reported_and_what_it_made_itself_changes(edit: Edit) -> None:
    """Two scenes of Blender, each of which remembers what it wrote."""
    shutil.copytree(edit.game, edit.new)
    first, second = "blend:1", "blend:2"

    def put(name: str, paint: Callable[[Json], None], owner: str) -> list[str]:
        options = msh_gltf.ImportOptions(new=True)
        result = msh_gltf.import_gltf(edit.look(name, paint), options=options)
        with Games("Blender", owner, takes_back=True) as games:
            plan = plan_libraries(games, [edit.new], result)
            plan.put()
            games.commit()
        return [f"{one.what}; {one.why}" for one in plan.not_applied]

    def diffuse() -> tuple[float, ...]:
        return read_material(edit.entry("Material.lib", "Material"), "").diffuse

    assert (put("one", RED, first), diffuse()) == ([], (1, 0, 0))
    other = "its colour #0000ff; the game has a material 'Material', which is meant"
    assert (put("two", BLUE, second), diffuse()) == ([other], (1, 0, 0))
    assert (put("two", RED, second), diffuse()) == ([], (1, 0, 0))
    assert (put("one", BLUE, first), diffuse()) == ([], (0, 0, 1))


def test_a_library_that_somebody_changed_is_not_overwritten(edit: Edit) -> None:
    shutil.copytree(edit.game, edit.new)
    edit.material(TURRETS[0], "armour", colour(1, 0, 0, 1))
    result = msh_gltf.import_gltf(edit.out / TURRETS[0])
    msh_gltf.write_libraries(result, edit.new)
    edit.material(TURRETS[0], "armour", colour(0, 1, 0, 1))
    other = msh_gltf.import_gltf(edit.out / TURRETS[0])
    before = (edit.new / "Material.lib").read_bytes()
    with pytest.raises(msh_gltf.ConversionError, match="has changed since it was converted"):
        msh_gltf.write_libraries(other, edit.new)
    assert (edit.new / "Material.lib").read_bytes() == before


def test_a_folder_without_libraries_is_reported(edit: Edit, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    edit.material(TURRETS[0], "armour", colour(1, 0, 0, 1))
    edit.rename(TURRETS[0], "glass", "pane")
    result = msh_gltf.import_gltf(edit.out / TURRETS[0])
    assert msh_gltf.write_libraries(result, tmp_path / "empty") == []
    whys = [one.why for one in result.not_applied]
    assert whys == ["there is no Material.lib in the game's folder", "the game's folder has no Material.lib"]
