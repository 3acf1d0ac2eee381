"""Sequences of ordinary commands: what the game's files held can be had again, always."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.formats.sidecar import sha256
from msh_gltf.converter.game.undo import status
from tests.converter.game.library_edits import TURRETS, Edit, colour, made
from tests.converter.game.test_import_run import move
from tests.converter.game.test_undo_runs import ROCK, Place, place, rename_material
from tests.support.game import snapshot
from tests.support.runs import call

__all__ = ["made", "place"]
ROOM = "static.rlb/i_room_006.glb"


def export(game: Path, out: Path, *options: str) -> int:
    return call(cli.msh2gltf, game, "-o", out, "-q", "-j", "1", *options)


def kept(game: Path, name: str) -> list[str]:
    """Digests of the states of a file that the vault keeps, the original first."""
    return [one.digest for one in status(game).kept if one.file == name]


def restored(game: Path) -> dict[str, str]:
    assert call(cli.msh_mod, "restore", game) == 0
    return snapshot(game)


def patched(path: Path, index: int) -> bytes:
    """What another tool makes of an archive: an entry has the bytes of the one after the next."""
    theirs = read_nres(bytes(read_file(path)), "x")
    other = bytes(theirs.entries[index + 2].payload)
    path.write_bytes(write_nres(replace_entry(theirs, index, other)))
    return path.read_bytes()


# ------------------------------------------------------------------ originals


def test_what_is_printed_never_costs_the_original(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    original = (place.game / "static.rlb").read_bytes()
    move(place.out / ROCK)
    assert place.back() == {"changed": ["static.rlb::s_rock_057.msh"]}
    assert export(place.game, place.out) == 1
    message = capsys.readouterr().err
    assert "edited since it was written; name another directory, or move the edited" in message
    assert "--force" not in message
    assert export(place.game, place.out, "--force") == 0
    for _ in range(2):
        move(place.out / ROOM)
        assert place.back("--force") == {"changed": ["static.rlb::i_room_006.msh"]}
        assert kept(place.game, "static.rlb") == [sha256(original)]
    assert restored(place.game) == place.before


def test_edits_from_two_output_directories(place: Place, tmp_path: Path) -> None:
    """Each is undone to what it was exported from, in any order."""
    move(place.out / ROCK)
    place.back()
    first = snapshot(place.game)
    (tmp_path / "two").mkdir()
    other = tmp_path / "two/out"
    assert export(place.game, other) == 0
    second = Place(place.game, other)
    move(other / ROOM)
    assert second.back() == {"changed": ["static.rlb::i_room_006.msh"]}
    assert place.back() == {}
    second.restore(ROOM)
    assert second.back() == {"restored": ["static.rlb::i_room_006.msh"]}
    assert snapshot(place.game) == first
    move(other / ROCK)
    assert second.back() == {"changed": ["static.rlb::s_rock_057.msh"]}
    place.restore(ROCK)  # the second edit was made on the first one, which stays below it
    place.back()
    assert restored(place.game) == place.before


def test_into_a_library_that_another_tool_patched(made: Path, tmp_path: Path) -> None:
    (tmp_path / "libs").mkdir()
    library = Path(shutil.copy(made / "GAME/Textures.lib", tmp_path / "libs"))
    original, patch = library.read_bytes(), b""
    for name in ("one", "two", "three"):
        Image.new("RGB", (8, 8), "red").save(tmp_path / f"{name}.png")
        if name == "two":
            patch = patched(library, 0)
        assert call(cli.gltf2msh, tmp_path / f"{name}.png", "--into", library, "-q") == 0
    states = kept(tmp_path / "libs", "Textures.lib")
    assert states[0] == sha256(original)
    assert sha256(patch) in states
    # our changes go, the patch stays, and the first original can be had
    assert call(cli.msh_mod, "restore", library) == 0
    now, first = read_nres(library.read_bytes(), ""), read_nres(original, "")
    differing = [i for i, (a, b) in enumerate(zip(now.entries, first.entries, strict=True)) if a.payload != b.payload]
    assert differing == [0]
    to = ("--to", states[0][:12])
    assert call(cli.msh_mod, "restore", library.parent, "Textures.lib", *to) == 0
    assert library.read_bytes() == original


def test_somebodys_backup_is_a_candidate(place: Place) -> None:
    """A ``.bak`` of an older version is kept, and used only when it is named."""
    (place.game / "static.rlb.bak").write_bytes(b"somebody's own")
    place.before = snapshot(place.game)
    move(place.out / ROCK)
    assert place.back() == {"changed": ["static.rlb::s_rock_057.msh"]}
    found = {one.what: one.digest for one in status(place.game).kept}
    assert found["candidate"] == sha256(b"somebody's own")
    place.restore(ROCK)
    assert place.back() == {"restored": ["static.rlb::s_rock_057.msh"]}
    assert snapshot(place.game) == place.before
    to = ("--to", found["candidate"])
    assert call(cli.msh_mod, "restore", place.game, "static.rlb", *to) == 0
    assert (place.game / "static.rlb").read_bytes() == b"somebody's own"


def test_a_new_game_can_be_restored_by_itself(place: Place, tmp_path: Path) -> None:
    """A copy has a vault of its own, with what was in force in the game as well."""
    move(place.out / ROCK)
    place.back()
    move(place.out / ROOM)
    new = tmp_path / "new"
    where = ("--game", place.game, "-o", new, "-q", "-j", "1")
    assert call(cli.gltf2msh, place.out, *where) == 0
    assert call(cli.gltf2msh, place.out, *where) == 0
    assert snapshot(new)["static.rlb"] != snapshot(place.game)["static.rlb"]
    assert restored(new) == place.before
    assert snapshot(place.game) != place.before


# ------------------------------------------------------------------ history


@pytest.mark.parametrize(
    "options",
    [
        ("--only", "areal-maps", "--force"),
        ("--only", "areal-maps"),
        ("--include", "*::i_room_006.msh", "--force"),
        ("--include", "DATA/*", "--force"),
    ],
)
def test_a_part_that_is_exported_again_leaves_the_other_undo(place: Place, options: tuple[str, ...]) -> None:
    move(place.out / ROCK)
    rename_material(place.out / ROCK, "other")
    assert place.back()["changed"] == ["static.rlb::s_rock_057.msh"]
    assert export(place.game, place.out, *options) == 0
    place.restore(ROCK)
    assert place.back() == {"restored": ["static.rlb::s_rock_057.msh"]}
    assert place.differing() == set()


@pytest.mark.parametrize("options", [("--force",), ("--force", "--include", "*::s_rock_057.msh")])
def test_what_is_exported_again_is_the_original_from_then_on(place: Place, options: tuple[str, ...]) -> None:
    """Its list of materials too, which is an entry of its own; ``msh-mod`` still undoes it."""
    move(place.out / ROOM)
    rename_material(place.out / ROCK, "other")
    place.back()
    edited = (place.game / "static.rlb").read_bytes()
    assert export(place.game, place.out, *options) == 0
    assert place.back() == {}
    assert (place.game / "static.rlb").read_bytes() == edited
    place.restore(ROCK)  # the file of the first export, with the sidecar of the second
    place.back(code=1)
    assert (place.game / "static.rlb").read_bytes() == edited
    assert restored(place.game) == place.before


def test_a_material_that_a_model_was_exported_with_again_stays(made: Path, tmp_path: Path) -> None:
    edit = Edit(made, tmp_path)
    place = Place(shutil.copytree(edit.game, tmp_path / "GAME"), edit.out)
    edit.material(TURRETS[0], "armour", colour(1, 0, 0, 1))
    assert place.back()["changed"] == ["Material.lib::armour"]
    edited = (place.game / "Material.lib").read_bytes()
    only = f"*::{Path(TURRETS[0]).stem}.msh"
    assert export(place.game, place.out, "--include", only, "--force") == 0
    assert place.back() == {}
    assert (place.game / "Material.lib").read_bytes() == edited


def test_a_missing_glTF_that_has_no_part_in_it_leaves_the_undo(made: Path, tmp_path: Path) -> None:
    edit = Edit(made, tmp_path)
    place = Place(shutil.copytree(edit.game, tmp_path / "GAME"), edit.out)
    edit.material(TURRETS[0], "armour", colour(1, 0, 0, 1))
    place.back()
    edited = snapshot(place.game)
    min(place.out.glob("static.rlb/*.glb")).unlink()
    # the one that it came from: reported, and nothing changes
    (place.out / TURRETS[0]).unlink()
    assert "Material.lib::armour" not in place.back().get("restored", [])
    assert place.notes == ["kept in the game as it was written: what came from turrets.rlb::e_tur_01.msh"]
    assert snapshot(place.game) == edited
    place.restore(TURRETS[0])
    assert place.back()["restored"] == ["Material.lib::armour"]
    assert place.differing() == set()


def test_an_added_model_goes_with_its_file_though_another_is_missing(place: Place) -> None:
    new = place.out / "static.rlb/new_rock.glb"
    shutil.copy(place.out / ROCK, new)
    shutil.copy((place.out / ROCK).with_suffix(".msh-sidecar"), new.with_suffix(".msh-sidecar"))
    place.back("--add")
    new.unlink()
    (place.out / ROOM).unlink()
    assert place.back()["restored"] == ["static.rlb::new_rock.msh"]
    assert place.differing() == set()


def test_the_history_of_a_folder_below_does_not_count(place: Place) -> None:
    """An archive that was changed by itself before has a vault and numbers of its own."""
    below = place.game / "DATA/other"
    below.mkdir()
    shutil.copy(place.game / "static.rlb", below / "some.lib")
    (below / ".msh-gltf").mkdir()
    Image.new("RGB", (8, 8), "red").save(below.parent / "one.png")
    for colour_of in ("red", "blue"):
        Image.new("RGB", (8, 8), colour_of).save(below.parent / "one.png")
        call(cli.gltf2msh, below.parent / "one.png", "--into", below / "some.lib", "-q")
    (below.parent / "one.png").unlink()
    assert export(place.game, place.out, "--force") == 0
    before = snapshot(place.game)
    exported = (place.out / ROCK).read_bytes()
    move(place.out / ROCK)
    assert place.back() == {"changed": ["static.rlb::s_rock_057.msh"]}
    (place.out / ROCK).write_bytes(exported)
    assert place.back() == {"restored": ["static.rlb::s_rock_057.msh"]}
    assert snapshot(place.game) == before


# ------------------------------------------------------------------ what others claim


@pytest.mark.parametrize("file", ["static.rlb", "DATA/MAPS/M1/Land1.wea", "DATA/Loose/Дом.msh"])
def test_a_received_history_removes_nothing(place: Place, file: str) -> None:
    """``written.json`` of older versions, or anybody's, is not read."""
    digest = place.before[file]
    claim = {"format": 1, "files": {file: [["", digest, [["", "", digest, "x"]]]]}}
    (place.out / "written.json").write_text(json.dumps(claim), "utf-8")
    assert place.back() == {}
    assert snapshot(place.game) == place.before


def test_a_received_manifest_with_an_id_of_the_games_history_takes_back_only_its_own(place: Place) -> None:
    """The id names what was written from a directory; it gives no right to anything else."""
    move(place.out / ROCK)
    place.back()
    facts = json.loads((place.out / "manifest.json").read_text("utf-8"))
    received = place.out.with_name("received")
    shutil.copytree(place.kept, received)
    (received / "manifest.json").write_text(json.dumps(facts), "utf-8")
    call(cli.gltf2msh, received, "--game", place.game, "--in-place", "-q", "-j", "1")
    assert restored(place.game) == place.before


@pytest.mark.parametrize("source", ["../outside.txt", ".msh-gltf/edits.jsonl", "/etc/hosts"])
def test_a_manifest_that_names_other_files_changes_nothing(place: Place, source: str) -> None:
    move(place.out / ROCK)
    place.back()
    done = snapshot(place.game)
    manifest = place.out / "manifest.json"
    text = manifest.read_text("utf-8").replace('"static.rlb"', json.dumps(source))
    manifest.write_text(text, "utf-8")
    where = ("--game", place.game, "--in-place", "-q", "-j", "1")
    call(cli.gltf2msh, place.out, *where)
    # a model that the manifest does not know any more counts as gone, and its edit is undone
    assert snapshot(place.game) in (done, place.before)
    assert restored(place.game) == place.before
