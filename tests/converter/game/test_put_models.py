"""A new model in an archive of a game, again and elsewhere, as the Blender extension puts it."""

from dataclasses import replace
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.game.games import Games
from msh_gltf.converter.game.new_models import Destination, add_model, find_destination, plan_libraries
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.docs.materials import EXAMPLES, example_game
from tests.support.game import snapshot, write


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A copy of the example game."""
    for path in example_game().rglob("*"):
        if path.is_file():
            write(tmp_path / "GAME" / path.relative_to(example_game()), path.read_bytes())
    return tmp_path / "GAME"


@pytest.fixture(scope="module")
def robot() -> ImportResult:
    options = ImportOptions("retail", new=True)
    return import_gltf(EXAMPLES / "edits/my_robot.glb", None, options)


class Scene:
    """A scene of Blender: what it wrote is told from what others did by its owner."""

    def __init__(self, owner: str = "one") -> None:
        self.owner = owner

    def games(self) -> Games:
        return Games("put", self.owner, takes_back=True)

    def put(self, to: Destination, result: ImportResult) -> list[str]:
        """Names of the files that were written."""
        with self.games() as games:
            plan = plan_libraries(games, to.folders, result)
            add_model(plan, to, result, hint="choose another name")
            plan.put()
            return [path.name for path in games.commit()]


def test_the_registry_is_written_last(game: Path, robot: ImportResult) -> None:
    """What names others comes after them: a kill in between leaves no key without its model."""
    to = find_destination(game / "static.rlb", b"my_robot.msh", "EXTO")
    done = Scene().put(to, robot)
    assert sorted(done[:2]) == ["Material.lib", "Textures.lib"]
    assert done[2:] == ["static.rlb", "objects.rlb"]


def test_it_moves_to_another_archive_without_a_trace(game: Path, robot: ImportResult) -> None:
    scene, before = Scene(), snapshot(game)
    to = find_destination(game / "static.rlb", b"my_robot.msh", "EXTO")
    scene.put(to, robot)
    first = snapshot(game)
    assert scene.put(to, robot) == []
    other = replace(to, archive=game / "guns.rlb", tag=None)
    assert sorted(scene.put(other, robot)) == ["guns.rlb", "objects.rlb", "static.rlb"]
    moved = snapshot(game)
    assert {name for name in moved if moved[name] != before[name]} == {"guns.rlb", "Material.lib", "Textures.lib"}
    scene.put(to, robot)
    assert snapshot(game) == first


def test_another_scene_finds_the_same_model_and_no_other(game: Path, robot: ImportResult) -> None:
    to = find_destination(game / "static.rlb", b"my_robot.msh", "EXTO")
    Scene().put(to, robot)
    done = snapshot(game)
    assert Scene("two").put(to, robot) == []
    changed = replace(robot, data=read_robot(game))
    with pytest.raises(ConversionError, match="which is another one") as caught:
        Scene("two").put(to, changed)
    assert caught.value.hint == "choose another name"
    assert snapshot(game) == done


def read_robot(game: Path) -> bytes:
    """Another model."""
    archive = read_nres(read_file(game / "static.rlb"), "x")
    return bytes(archive.entries[0].payload)


def test_a_file_that_changes_meanwhile_is_not_replaced(game: Path, robot: ImportResult) -> None:
    to = find_destination(game / "static.rlb", b"my_robot.msh", "EXTO")
    before = snapshot(game)
    with Scene().games() as games:
        plan = plan_libraries(games, to.folders, robot)
        add_model(plan, to, robot)
        plan.put()
        data = (game / "objects.rlb").read_bytes()
        write(game / "objects.rlb", (game / "guns.rlb").read_bytes())
        with pytest.raises(ConversionError, match="changed while this run was at work"):
            games.commit()
    write(game / "objects.rlb", data)
    assert snapshot(game) == before  # all or nothing
    assert "objects.rlb" in Scene().put(to, robot)
