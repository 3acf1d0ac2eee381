"""``gltf2msh MODEL --into ARCHIVE --add``: one new model, its materials and its object key."""

import shutil
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.objects import read_registry
from msh_gltf.converter.formats.sidecar import sha256
from tests.docs.materials import EXAMPLES, example_game
from tests.support.game import snapshot
from tests.support.gltf_edit import Editable
from tests.support.runs import call, run
from tests.support.vault import originals

ROBOT = EXAMPLES / "edits/my_robot.glb"


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A copy of the example game."""
    return shutil.copytree(example_game(), tmp_path / "GAME")


def test_as_a_run_over_the_game_does(game: Path, tmp_path: Path) -> None:
    """The same bytes: model, materials, textures, control points, key."""
    out = tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q", "-j", "1") == 0
    (out / "static.rlb/my_robot.glb").write_bytes(ROBOT.read_bytes())
    options = ("--add", "--tag", "EXTO", "-q")
    assert call(cli.gltf2msh, out, "--game", game, "-o", tmp_path / "NEW", *options) == 0
    before = snapshot(game)
    assert call(cli.gltf2msh, ROBOT, "--into", game / "static.rlb", *options) == 0
    now = snapshot(game)
    assert now == snapshot(tmp_path / "NEW")
    kept = originals(game)
    assert kept == originals(tmp_path / "NEW")
    assert kept.keys() == {"static.rlb", "objects.rlb", "Material.lib", "Textures.lib"}
    assert all(before[name] == sha256(data or b"") for name, data in kept.items())
    assert call(cli.gltf2msh, ROBOT, "--into", game / "static.rlb", *options) == 0
    assert snapshot(game) == now
    found = read_registry(read_nres(read_file(game / "objects.rlb"), "x")).resolve("my_robot")
    assert found is not None
    assert (found.tag, sorted(found.members)) == ("EXTO", [".cpt", ".msh", ".wea"])
    assert run("msh-inspect", "--check", game).returncode == 0


def test_another_model_of_its_name_is_replaced_with_force_only(
    game: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--into", game / "static.rlb", "--add", "--tag", "EXTO", "-q")
    assert call(cli.gltf2msh, ROBOT, *options) == 0
    document = Editable(ROBOT)
    node = next(n for n in document.json["nodes"] if "mesh" in n)
    node["translation"] = [1, 2, 3]
    document.save(tmp_path / "my_robot.glb")
    done = snapshot(game)
    capsys.readouterr()
    assert call(cli.gltf2msh, tmp_path / "my_robot.glb", *options) == 2
    said = capsys.readouterr().err
    assert "has an entry of this name already, which is another one: my_robot.msh" in said
    assert "--force replaces it, or give the new file another name" in said
    assert snapshot(game) == done
    assert call(cli.gltf2msh, tmp_path / "my_robot.glb", *options, "--force") == 0
    changed = {name for name, digest in snapshot(game).items() if done[name] != digest}
    assert changed == {"static.rlb"}


def test_a_dry_run_and_a_refusal_write_nothing(game: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(game)
    into = ("--into", game / "static.rlb", "--add", "--tag", "STAT")
    assert call(cli.gltf2msh, ROBOT, *into, "--dry-run") == 0
    said = capsys.readouterr().out
    assert "my_robot.msh: rebuilt from the file alone" in said
    assert "object key 'my_robot' is new in objects.rlb" in said
    assert "dry run: nothing was written" in said
    long = tmp_path / f"{'r' * 28}.glb"
    long.write_bytes(ROBOT.read_bytes())
    assert call(cli.gltf2msh, long, *into) == 2
    assert "expected at most 31 bytes" in capsys.readouterr().err
    taken = tmp_path / "s_tree_01.glb"
    taken.write_bytes(ROBOT.read_bytes())
    assert call(cli.gltf2msh, taken, "--into", game / "guns.rlb", *into[2:]) == 2
    assert "entry s_tree_01: has the object key already" in capsys.readouterr().err
    assert snapshot(game) == before


def test_the_game_is_around_the_archive_or_named(
    game: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "alone/static.rlb"
    alone.parent.mkdir()
    alone.write_bytes((game / "static.rlb").read_bytes())
    into = ("--into", alone, "--add", "--tag", "STAT", "-q")
    assert call(cli.gltf2msh, ROBOT, *into) == 2
    assert "lies in no game" in capsys.readouterr().err
    assert call(cli.gltf2msh, ROBOT, *into, "--game", game) == 2
    assert "lies outside the game" in capsys.readouterr().err
    assert [path.name for path in alone.parent.iterdir()] == ["static.rlb"]
    inside = ("--into", game / "static.rlb", "--game", game / "UNITS", "--add", "--tag", "STAT")
    assert call(cli.gltf2msh, ROBOT, *inside, "-q") == 0


@pytest.mark.parametrize(
    ("into", "problem"),
    [
        ("objects.rlb", "has no models"),
        ("Textures.lib", "has no models"),
        ("nothing.rlb", "is not an archive"),
        ("UNITS/ROBOTS/walker.dat", "is not an archive"),
        ("DATA/MAPS/Tut_1/Land.msh", "is one file of the game, not an archive: terrain"),
    ],
)
def test_only_archives_of_models(game: Path, into: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(game)
    assert call(cli.gltf2msh, ROBOT, "--into", game / into, "--add") == 2
    assert problem in capsys.readouterr().err
    assert snapshot(game) == before


@pytest.mark.parametrize(
    "options",
    [
        ("--add",),
        ("--into", "GAME/static.rlb"),
        ("--into", "GAME/static.rlb", "--tag", "STAT"),
        ("--into", "GAME/static.rlb", "--add", "-o", "x.msh"),
        ("--into", "GAME/static.rlb", "--add", "--in-place"),
    ],
)
def test_wrong_usage(game: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(game.parent)
    before = snapshot(game)
    assert call(cli.gltf2msh, ROBOT, *options) == 2
    assert snapshot(game) == before


def test_only_models_are_added(game: Path, tmp_path: Path) -> None:
    mission = tmp_path / "mission.glb"
    assert call(cli.msh2gltf, game / "MISSIONS/Single.01", "-o", mission, "-q") == 0
    before = snapshot(game)
    assert call(cli.gltf2msh, mission, "--into", game / "static.rlb", "--add") == 2
    assert snapshot(game) == before
