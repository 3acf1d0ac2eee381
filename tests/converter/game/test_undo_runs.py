"""Edits in place, again and undone: a run recognises what it wrote itself, and nothing else."""

import json
import pickle
import shutil
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.model_parts import POINTS_TYPE
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import sha256
from msh_gltf.converter.game.games import Games, Origin, replace_model
from msh_gltf.converter.game.import_item import ImportTask
from msh_gltf.converter.kinds.import_result import Companion
from tests.converter.game.library_edits import TURRETS, Edit, colour, made
from tests.converter.game.test_import_run import move
from tests.support.game import MESH, WEAR, archive, entry, make_game, model, snapshot, write
from tests.support.gltf_edit import Editable
from tests.support.runs import call
from tests.support.vault import original, originals

__all__ = ["made"]
ROCK = "static.rlb/s_rock_057.glb"


class Place:
    """A game, its glTF, and both as they were."""

    def __init__(self, game: Path, out: Path) -> None:
        self.game, self.out, self.before = game, out, snapshot(game)
        self.kept = shutil.copytree(out, out.with_name("kept"))

    def back(self, *options: str, code: int = 0) -> dict[str, list[str]]:
        """Items by status, of all that is not unchanged."""
        report = self.out.with_name("report.json")
        where = ("--game", self.game, "--in-place", "-j", "1", "-q", "--report", report)
        assert call(cli.gltf2msh, self.out, *where, *options) == code
        facts = json.loads(report.read_text("utf-8"))
        found: dict[str, list[str]] = {}
        for row in [*facts["items"], *facts["textures"]]:
            if row["status"] != "unchanged":
                found.setdefault(row["status"], []).append(row["id"])
        self.notes, self.items = facts["notes"], facts["items"]
        return found

    def restore(self, name: str) -> None:
        shutil.copy(self.kept / name, self.out / name)

    def differing(self) -> set[str]:
        """Files that are not as they were; what the vault has aside."""
        now = snapshot(self.game)
        names = now.keys() | self.before.keys()
        return {name for name in names if now.get(name) != self.before.get(name)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    game, out = make_game(tmp_path / "game"), tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q", "-j", "1") == 0
    return Place(game, out)


def rename_material(path: Path, name: str) -> None:
    """Rename a material, so that the ``.wea`` gets a row."""
    document = Editable(path)
    document.json["materials"][0]["name"] = name
    document.save(path)


def test_a_worker_gets_what_its_entry_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After more edits of an archive no task of the next run is larger."""
    sent, real = list[int](), ImportTask.__getstate__
    largest, rock = list[int](), model("mixed__odd__s_rock_057")
    for count in (2, 8):
        game, out = tmp_path / f"{count}/game", tmp_path / f"{count}/out"
        write(game / "a.rlb", archive([entry(MESH, b"rock%d.msh" % i, rock) for i in range(8)]))
        assert call(cli.msh2gltf, game, "-o", out, "-q", "-j", "1") == 0
        place = Place(game, out)
        for run in range(2):
            for i in range(count):
                move(out / f"a.rlb/rock{i}.glb")
            if run:
                monkeypatch.setattr(
                    ImportTask, "__getstate__", lambda task: sent.append(len(pickle.dumps(real(task)))) or real(task)
                )
            assert len(place.back()["changed"]) == count
        assert len(sent) >= count
        largest.append(max(sent))
        sent.clear()
        monkeypatch.undo()
    assert largest[1] - largest[0] < 16


def test_libraries_come_back(made: Path, tmp_path: Path) -> None:
    edit = Edit(made, tmp_path)
    place = Place(shutil.copytree(edit.game, tmp_path / "GAME"), edit.out)
    edit.material(TURRETS[0], "armour", colour(1, 0, 0, 1))
    edit.repaint(TURRETS[0], "armour.0", (255, 0, 0))
    place.back()
    assert place.differing() == {"Material.lib", "Textures.lib"}
    first = snapshot(place.game)
    edit.material(TURRETS[0], "armour", colour(0, 1, 0, 1))
    assert place.back() == {"changed": ["Material.lib::armour"]}
    assert snapshot(place.game)["Material.lib"] != first["Material.lib"]
    assert snapshot(place.game)["Textures.lib"] == first["Textures.lib"]
    place.restore(TURRETS[0])
    restored = place.back()["restored"]
    assert {"Material.lib::armour", "Textures.lib::armour.0"} <= set(restored)
    assert place.differing() == set()


def test_without_an_original_nothing_is_written(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """One that is gone or damaged; the edit stays in the game, and is not taken for another."""
    move(place.out / ROCK)
    place.back()
    kept = next((place.game / ".msh-gltf/originals").iterdir())
    data, before = kept.read_bytes(), snapshot(place.game)
    move(place.out / ROCK)
    for damage in (lambda: kept.write_bytes(data[:-1]), kept.unlink):
        damage()
        where = ("--game", place.game, "--in-place", "-j", "1", "-q")
        assert call(cli.gltf2msh, place.out, *where) in (1, 2)
        said = capsys.readouterr().err
        assert f"originals/{kept.name}" in said, said
        assert snapshot(place.game) == before
    kept.write_bytes(data)
    assert place.back() == {"changed": ["static.rlb::s_rock_057.msh"]}
    place.restore(ROCK)
    assert place.back() == {"restored": ["static.rlb::s_rock_057.msh"]}
    assert place.differing() == set()


def test_what_cannot_be_read_any_more_stays_as_it_was_written(place: Place) -> None:
    """A glTF that is gone or broken says nothing of its model; others are undone."""
    other = "static.rlb/i_room_006.glb"
    for name in (ROCK, other):
        move(place.out / name)
    place.back()
    with_both = read_nres(bytes(read_file(place.game / "static.rlb")), "x")
    (place.out / ROCK).unlink()
    place.restore(other)
    assert place.back()["restored"] == ["static.rlb::i_room_006.msh"]
    now = read_nres(read_file(place.game / "static.rlb"), "x")
    old = read_nres(original(place.game, "static.rlb"), "x")
    assert now.entries[4].payload == with_both.entries[4].payload
    assert now.entries[0].payload == old.entries[0].payload
    (place.out / ROCK).write_bytes(b"broken")
    kept = snapshot(place.game)
    assert place.back(code=1) == {"failed": ["static.rlb::s_rock_057.msh"]}
    assert snapshot(place.game) == kept
    place.restore(ROCK)
    place.back()
    assert place.differing() == set()


def test_an_added_model_stays_without_add_and_goes_with_its_file(place: Place) -> None:
    new = place.out / "static.rlb/new_rock.glb"
    shutil.copy(place.out / ROCK, new)
    shutil.copy((place.out / ROCK).with_suffix(".msh-sidecar"), new.with_suffix(".msh-sidecar"))
    assert place.back("--add") == {"added": ["static.rlb::new_rock.msh"]}
    assert place.back() == {}
    move(place.out / ROCK)
    place.back()
    assert read_nres(read_file(place.game / "static.rlb"), "x").find("new_rock.msh") is not None
    new.unlink()
    place.restore(ROCK)
    assert "static.rlb::new_rock.msh" in place.back()["restored"]
    assert place.differing() == set()


# ------------------------------------------------------------------ Put Back, and the parts


def put_back(origin: Origin, data: bytes, known: set[str], companions: list[Companion], owner: str = "scene") -> bool:
    """*Put Back* of a scene: what it wrote before is taken back first."""
    with Games("put back", owner, takes_back=True) as games:
        replace_model(games, origin, data, known, companions)
        games.take_back_rest(origin.path)
        return bool(games.commit())


def test_put_back_restores_the_archive(tmp_path: Path) -> None:
    rock = model("mixed__odd__s_rock_057")
    path = tmp_path / "a.rlb"
    path.write_bytes(archive([entry(MESH, b"rock.msh", rock)], forgotten=b"\1forgotten\xff"))
    before, origin = path.read_bytes(), Origin(path, 0, b"rock.msh")
    points = [Companion(".cpt", POINTS_TYPE, b"points", b"")]
    for data in (rock[:-5], rock + b"longer"):
        assert put_back(origin, data, {sha256(rock)}, points)
    assert [e.name for e in read_nres(path.read_bytes(), "x").entries] == ["rock.msh", "rock.cpt"]
    with pytest.raises(ConversionError, match="has changed since"):  # another scene's model
        put_back(origin, b"new", {sha256(b"other")}, [], owner="another")
    assert put_back(origin, rock, {sha256(rock)}, [])
    assert path.read_bytes() == before
    with pytest.raises(ConversionError, match="has changed since"):
        put_back(origin, b"new", {sha256(b"other")}, [])


def test_put_back_removes_a_file_that_an_edit_made(tmp_path: Path) -> None:
    path, wea = tmp_path / "a.msh", tmp_path / "a.wea"
    path.write_bytes(b"model")
    edit = Companion(".wea", WEAR, b"new", b"")
    assert put_back(Origin(path), b"other", {sha256(b"model")}, [edit])
    assert wea.read_bytes() == b"new"
    assert originals(tmp_path) == {"a.msh": b"model", "a.wea": None}
    assert put_back(Origin(path), b"model", {sha256(b"model")}, [])
    assert (path.read_bytes(), wea.exists()) == (b"model", False)


def test_put_back_keeps_a_file_that_an_edit_made_and_somebody_changed(tmp_path: Path) -> None:
    path, wea = tmp_path / "a.msh", tmp_path / "a.wea"
    path.write_bytes(b"model")
    edit = Companion(".wea", WEAR, b"new", b"")
    assert put_back(Origin(path), b"other", {sha256(b"model")}, [edit])
    wea.write_bytes(b"theirs")
    assert put_back(Origin(path), b"model", {sha256(b"model")}, [])
    assert (path.read_bytes(), wea.read_bytes()) == (b"model", b"theirs")
