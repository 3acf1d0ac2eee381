"""A game whose archives were unpacked into folders: the same models and pictures, both ways."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter.formats.sidecar import sha256
from msh_gltf.converter.kinds.appearance import libraries
from tests.docs.materials import example_game
from tests.support.game import snapshot, unpack_archives
from tests.support.gltf_edit import Editable
from tests.support.runs import run
from tests.support.vault import originals


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


def test_the_same_models_and_pictures(packed: Path, unpacked: Path, tmp_path: Path) -> None:
    one, other = export(packed, tmp_path / "one"), export(unpacked, tmp_path / "other")
    names = sorted(path.relative_to(one).as_posix() for path in one.rglob("*.glb"))
    assert names == sorted(path.relative_to(other).as_posix() for path in other.rglob("*.glb"))
    assert len(names) > 5
    expected, found = pictures(one), pictures(other)
    assert expected.keys() == found.keys()
    assert len(found) > 5
    assert all(np.array_equal(expected[name], found[name]) for name in found)
    for name in names:
        first, second = Editable(one / name).json, Editable(other / name).json
        for document in (first, second):
            for material in document.get("materials", []):
                material.pop("alphaMode", None)  # the directory says how it is drawn
                material.get("extras", {}).get("msh", {}).pop("additive", None)
        assert first["materials"] == second["materials"]


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


@pytest.mark.parametrize("in_place", [False, True])
def test_a_model_and_a_texture_go_back(unpacked: Path, tmp_path: Path, in_place: bool) -> None:
    out = export(unpacked, tmp_path / "out")
    gltf = min((out / "turrets.rlb").glob("*.glb"))
    document = Editable(gltf)
    document.json["nodes"][0]["translation"] = [1.0, 2.0, 3.0]
    document.save(gltf)
    picture = min((out / "textures").glob("*.png"))
    painted = Image.open(picture).convert("RGBA")
    painted.paste((255, 0, 0, 255), (0, 0, 8, 8))
    painted.save(picture)
    before = snapshot(unpacked)
    new = unpacked if in_place else tmp_path / "new"
    where = ["--in-place"] if in_place else ["-o", new]
    done = run("gltf2msh", out, "--game", unpacked, *where, "-q")
    assert done.returncode == 0, done.stderr
    after = snapshot(new)
    changed = {f"turrets.rlb/{gltf.stem}.msh", f"Textures.lib/{picture.stem}"}
    assert {name for name in before if after[name] != before[name]} == changed
    assert after.keys() == before.keys()
    kept = originals(new)
    assert kept.keys() == changed
    assert {name: sha256(data or b"") for name, data in kept.items()} == {name: before[name] for name in changed}
    again = run("msh2gltf", new, "-o", tmp_path / "again", "-q")
    assert again.returncode == 0
    assert pictures(tmp_path / "again")[picture.name][0, 0].tolist()[:3] == [255, 0, 0]


def test_libraries_beside_the_folder_of_a_model(unpacked: Path, tmp_path: Path) -> None:
    model = min((unpacked / "turrets.rlb").glob("*.msh"))
    done = run("msh2gltf", model, "-o", tmp_path / "one")
    assert (done.returncode, done.stderr) == (0, "")
    assert Editable(next((tmp_path / "one").glob("*.glb"))).json["images"]
    export(unpacked / "turrets.rlb", tmp_path / "many")
    assert pictures(tmp_path / "many")


def test_libraries_far_above_a_model(packed: Path, tmp_path: Path) -> None:
    """A level lies in DATA/MAPS/NAME of its game; a folder that is named comes first."""
    game = Path(shutil.copytree(packed, tmp_path / "game"))
    folder, found = game / "DATA/MAPS/M1", next(game.glob("*.rlb"))
    folder.mkdir(parents=True, exist_ok=True)
    assert run("msh2gltf", found, "-o", tmp_path / "all", "-q").returncode == 0
    shutil.copy(found, folder / "copy.rlb")
    export(folder / "copy.rlb", tmp_path / "one")
    assert pictures(tmp_path / "one").keys() == pictures(tmp_path / "all").keys() != set()
    (other := tmp_path / "other").mkdir()
    for name in ("Material.lib", "Textures.lib"):
        shutil.move(game / name, other / name)
    export(folder / "copy.rlb", tmp_path / "two", "--textures", other)
    assert pictures(tmp_path / "two").keys() == pictures(tmp_path / "all").keys()


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


def test_a_file_that_changes_is_read_again(unpacked: Path) -> None:
    name = "wall.0"
    first = libraries([unpacked]).picture("Textures.lib", name)
    other = next(p for p in sorted((unpacked / "Textures.lib").iterdir()) if p.name != name)
    (unpacked / "Textures.lib" / name).write_bytes(other.read_bytes())
    os.utime(unpacked / "Textures.lib" / name, ns=(1, 1))
    second = libraries([unpacked]).picture("Textures.lib", name)
    assert first is not None
    assert second is not None
    assert first.digest != second.digest


def test_which_material_was_the_first_is_not_known(unpacked: Path) -> None:
    (unpacked / "Material.lib" / "DEFAULT").unlink(missing_ok=True)
    found = libraries([unpacked])
    look = found.appearance(["nobody"]).materials[0]
    assert look.material is None or look.material == ""
    assert found.warnings == ["Material.lib has no material 'nobody', and does not say which one was its first"]
