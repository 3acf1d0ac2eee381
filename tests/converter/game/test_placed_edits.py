"""Models that were edited where a mission of a run shows them: written into their own archives."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.formats.nres import read_nres
from tests.support.inside_game import Inside, make
from tests.support.runs import call, run


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a game, and with ``out``, made of it."""
    folder = tmp_path_factory.mktemp("placed")
    make(folder / "GAME")
    assert call(msh2gltf, folder / "GAME", "-o", folder / "out", "-j", "1", "--quiet") == 0
    return folder


@pytest.fixture
def folder(converted: Path, tmp_path: Path) -> Path:
    for name in ("GAME", "out"):
        shutil.copytree(converted / name, tmp_path / name)
    return tmp_path


def mission_of(folder: Path) -> Inside:
    return Inside(folder / "out" / "MISSIONS/Single.01/data.glb")


def edit_rock(folder: Path, by: float = 1.0) -> None:
    file = mission_of(folder)
    file.values(file.node("S_ROCK", 1), "POSITION")[:] += np.float32(by)
    file.file.save(file.path)


def edit_alone(folder: Path, by: float) -> None:
    (path,) = (folder / "out").rglob("rock.glb")
    file = Inside(path)
    node = next(node for node in file.nodes if file.extras(node).get("node") == 1)
    file.values(node, "POSITION")[:] += np.float32(by)
    file.file.save(path)


def back(folder: Path, *options: object) -> str:
    made = run("gltf2msh", folder / "out", "--game", folder / "GAME", "--in-place", "-j", "1", *options)
    assert made.returncode == 0, made.stdout + made.stderr
    return str(made.stdout + made.stderr)


def rock_of(folder: Path) -> bytes:
    archive = read_nres((folder / "GAME/static.rlb").read_bytes(), "static.rlb")
    return bytes(archive.entries[archive.find("rock.msh")].payload)


def files_of(folder: Path) -> dict[str, bytes]:
    game = folder / "GAME"
    return {
        path.relative_to(game).as_posix(): path.read_bytes()
        for path in sorted(game.rglob("*"))
        if path.is_file() and ".msh-gltf" not in path.parts
    }


def test_a_placed_model_is_written_into_its_archive(folder: Path) -> None:
    before = files_of(folder)
    edit_rock(folder)
    text = back(folder)
    now = files_of(folder)
    assert [name for name in before if now[name] != before[name]] == ["static.rlb"]
    assert "1 model" in text
    status = run("msh-mod", "status", folder / "GAME").stdout
    assert " from static.rlb::rock.msh and MISSIONS/Single.01/data.tma\n" in status


def test_it_is_what_the_same_edit_of_the_model_alone_gives(folder: Path, converted: Path, tmp_path: Path) -> None:
    edit_rock(folder)
    back(folder)
    alone = tmp_path / "alone"
    for name in ("GAME", "out"):
        shutil.copytree(converted / name, alone / name)
    edit_alone(alone, 1.0)
    back(alone)
    assert rock_of(folder) == rock_of(alone)


def test_an_edit_that_is_gone_from_the_mission_is_taken_back(folder: Path, converted: Path) -> None:
    before = files_of(folder)
    path = mission_of(folder).path
    kept = path.read_bytes()
    edit_rock(folder)
    back(folder)
    assert files_of(folder) != before
    path.write_bytes(kept)
    back(folder)
    assert files_of(folder) == before


def test_the_same_edit_again_changes_nothing(folder: Path) -> None:
    edit_rock(folder)
    back(folder)
    now = files_of(folder)
    back(folder)
    assert files_of(folder) == now


def test_the_model_s_own_edit_counts_where_the_mission_shows_another_one(folder: Path) -> None:
    edit_rock(folder, 1.0)
    edit_alone(folder, 2.0)
    assert "its own glTF is edited in another way" in back(folder)
    edited = rock_of(folder)
    edit_rock(folder, 1.0)  # now the mission shows the same
    assert "its own glTF" not in back(folder)
    assert rock_of(folder) == edited


def test_one_file_is_written_beside_the_mission(folder: Path, tmp_path: Path) -> None:
    edit_rock(folder)
    made = run("gltf2msh", mission_of(folder).path, "-o", tmp_path / "new/", "--game", folder / "GAME")
    assert made.returncode == 0, made.stderr
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert "rock.msh" in names
    assert "rock.msh of static.rlb" in made.stdout + made.stderr
    back(folder)
    assert (tmp_path / "new/rock.msh").read_bytes() == rock_of(folder)
