"""A game whose archives were unpacked into folders: the same models and pictures, both ways."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter.kinds.appearance import libraries
from tests.docs.materials import example_game
from tests.support.game import snapshot, unpack_archives
from tests.support.gltf_edit import Editable
from tests.support.runs import run


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example game without units and missions, which need the archives."""
    ignored = shutil.ignore_patterns("UNITS", "MISSIONS")
    return Path(shutil.copytree(example_game(), tmp_path_factory.mktemp("packed") / "GAME", ignore=ignored))


@pytest.fixture
def unpacked(packed: Path, tmp_path: Path) -> Path:
    """The example game; of every archive in its root a folder of that name, an entry a file."""
    return unpack_archives(Path(shutil.copytree(packed, tmp_path / "Игра")))


def export(game: Path, out: Path, *options: object) -> Path:
    done = run("msh2gltf", game, "-o", out, "-q", *options)
    assert done.returncode == 0, done.stderr
    return out


def pictures(out: Path) -> dict[str, np.ndarray]:
    folder = out / "textures"
    return {path.relative_to(folder).as_posix(): np.asarray(Image.open(path)) for path in sorted(folder.rglob("*.png"))}


def test_a_unit_of_models_in_folders(tmp_path: Path) -> None:
    """The registry is an archive; the models that it names are files in folders."""
    shown = []
    for name, made in (("packed", lambda game: game), ("unpacked", unpack_archives)):
        game = made(Path(shutil.copytree(example_game(), tmp_path / name)))
        if (game / "objects.rlb").is_dir():
            shutil.rmtree(game / "objects.rlb")
            shutil.copy(example_game() / "objects.rlb", game)
        done = run("msh2gltf", game / "UNITS/ROBOTS/walker.dat", "-o", tmp_path / f"{name}.glb")
        assert (done.returncode, done.stderr) == (0, "")
        shown.append(Editable(tmp_path / f"{name}.glb").json["nodes"])
    assert shown[0] == shown[1]


def test_nothing_changed(unpacked: Path, tmp_path: Path) -> None:
    out = export(unpacked, tmp_path / "out")
    done = run("gltf2msh", out, "--game", unpacked, "-o", tmp_path / "new", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert snapshot(tmp_path / "new") == snapshot(unpacked)


def test_libraries_beside_the_folder_of_a_model(unpacked: Path, tmp_path: Path) -> None:
    model = min((unpacked / "turrets.rlb").glob("*.msh"))
    done = run("msh2gltf", model, "-o", tmp_path / "one")
    assert (done.returncode, done.stderr) == (0, "")
    assert Editable(next((tmp_path / "one").glob("*.glb"))).json["images"]
    export(unpacked / "turrets.rlb", tmp_path / "many")
    assert pictures(tmp_path / "many")


def test_folders_without_the_ending(unpacked: Path, tmp_path: Path) -> None:
    expected = pictures(export(unpacked, tmp_path / "one"))
    for name in ("Material.lib", "Textures.lib", "lightmap.lib"):
        if (unpacked / name).exists():
            (unpacked / name).rename(unpacked / name.partition(".")[0].upper())
    found = pictures(export(unpacked, tmp_path / "other"))
    assert found.keys() == expected.keys()


def test_a_folder_of_pictures_is_not_a_library(packed: Path, tmp_path: Path) -> None:
    root = tmp_path / "game"
    shutil.copytree(packed, root)
    (root / "Textures.lib").unlink()
    (root / "textures").mkdir()
    Image.new("RGB", (4, 4)).save(root / "textures" / "WALL.png")
    assert "Textures.lib" not in libraries([root]).files


def test_which_material_was_the_first_is_not_known(unpacked: Path) -> None:
    (unpacked / "Material.lib" / "DEFAULT").unlink(missing_ok=True)
    found = libraries([unpacked])
    look = found.appearance(["nobody"]).materials[0]
    assert look.material is None or look.material == ""
    assert found.warnings == ["Material.lib has no material 'nobody', and does not say which one was its first"]
