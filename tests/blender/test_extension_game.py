"""Status and undo of a game in the panel, a game that was moved, and a .blend to give away."""

from pathlib import Path

import pytest

from tests.blender.test_extension import WALKER, Seen, see, zip_file
from tests.docs.materials import example_game
from tests.support.game import original

__all__ = ["zip_file"]

STEPS = ("panel_of_game", "moved_game", "on_save", "unsaved", "exported_over", "given_away")


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), STEPS)


def turrets() -> bytes:
    return (example_game() / "turrets.rlb").read_bytes()


def test_the_panel_shows_what_is_in_force(seen: Seen) -> None:
    facts = seen.facts["panel_of_game"]
    assert facts["no scene"] == []
    assert not [line for line in facts["unread"] if "text=" in line]
    assert "label text=nothing was changed here" in facts["before"]
    assert not facts["history of status"]
    assert facts["put"]["outcome"] == "1 change"
    assert "label text=1 change in force" in facts["after"]
    assert "label text=1: game.rlb: e_tur_01.msh" in facts["after"]


def test_undo_takes_the_last_change_of_the_game_back(seen: Seen) -> None:
    facts, out = seen.facts["panel_of_game"], seen.out / "panel_of_game"
    assert "has no change to take back" in facts["nothing"]
    assert "msh-mod" not in facts["nothing"]
    question = "Take change 1 back: Blender: put back e_tur_01.msh?"
    assert facts["asked"] == [["invoke_confirm", question]]
    assert facts["undo"]["outcome"] == "change 1 (Blender: put back e_tur_01.msh) is taken back"
    assert "label text=as it was" in facts["undone"]
    assert (out / "undone.rlb").read_bytes() == turrets()
    assert facts["again"]["outcome"] == "1 change"
    assert (out / "again.rlb").read_bytes() != turrets()
    assert "change 1 is taken back already" in facts["named"]


def test_saving_puts_back(seen: Seen) -> None:
    """One change each; where that is impossible, the .blend is saved all the same, and the panel says why."""
    facts, out = seen.facts["on_save"], seen.out / "on_save"
    assert [facts[name]["outcome"] for name in ("first", "second")] == ["1 change", "1 change"]
    assert len({(out / f"{name}.rlb").read_bytes() for name in ("first", "second")} | {turrets()}) == 3
    assert facts["second"]["warnings"] == []
    assert facts["given"]
    error, said = facts["gone"]
    assert error == ""
    assert "is not where it was" in str(said["warnings"])
    assert facts["undo"]["outcome"].startswith("change 3 ")
    assert facts["undone"]


def test_a_game_that_was_moved_is_asked_for(seen: Seen) -> None:
    facts, out = seen.facts["moved_game"], seen.out / "moved_game"
    assert facts["first"] == ""
    assert facts["asked"] == [["invoke_props_dialog"]]
    place = seen.out / "moved_game/NEW/units"
    assert facts["asked again"] == [["invoke_confirm", f"Write game.rlb: e_tur_01.msh in {place}?"]]
    assert "game.rlb: is not where it was; choose the game's folder" in facts["gone"]
    assert "label text=the game is not where it was icon=ERROR" in facts["shown"]
    assert "is not in" in facts["elsewhere"]
    assert (facts["found"], facts["path"]) == ("", "units/game.rlb")
    assert facts["second"]["outcome"] == "1 change"
    contents = {(out / f"{name}.rlb").read_bytes() for name in ("first", "second")}
    assert len(contents | {turrets()}) == 3
    assert original(out / "NEW/units/game.rlb") == turrets()


def test_a_copy_of_a_blend_says_what_it_replaces(seen: Seen) -> None:
    facts, out = seen.facts["moved_game"], seen.out / "moved_game"
    (warning,) = facts["copy"]["warnings"]
    assert "replaced change 2 of the game, which another copy of this .blend" in warning
    assert (out / "copy.rlb").read_bytes() == (out / "first.rlb").read_bytes()
    assert facts["by preferences"]["warnings"] == []


def test_a_blend_goes_on_in_the_game_of_somebody_else(seen: Seen) -> None:
    """Names in any case, as on another system."""
    facts, game = seen.facts["moved_game"], seen.out / "moved_game/theirs/GAME.RLB"
    for name in ("friend", "friend again"):
        assert facts[name]["outcome"] == "1 change", facts[name]
    assert original(game) == turrets()


def test_a_blend_that_was_not_saved_takes_its_edit_back(seen: Seen) -> None:
    facts = seen.facts["unsaved"]
    assert facts["put"] == ""
    assert facts["again"]["outcome"] == "unchanged, restored byte for byte"
    (warning,) = facts["again"]["warnings"]
    assert "or this one before it was opened again" in warning
    assert (seen.out / "unsaved/game.rlb").read_bytes() == turrets()


def test_an_export_onto_a_file_of_the_game_keeps_the_original(seen: Seen) -> None:
    path = seen.out / "exported_over/game/walker.msh"
    assert seen.facts["exported_over"]["outcome"] == "1 change"
    assert path.read_bytes() != WALKER.read_bytes()
    assert original(path) == WALKER.read_bytes()


def test_a_copy_without_originals(seen: Seen) -> None:
    facts = seen.facts["given_away"]
    assert "own.blend: is the open file, which needs its sidecars" in facts["own"]
    assert (facts["save"], facts["kept"], facts["put"]) == ("", True, "")
    assert len(facts["texts"]) == 3
    assert facts["file"] == "own.blend"
    assert facts["gift texts"] == ["notes"]
    assert facts["gift objects"] > 0
    assert "the sidecar of scene 'e_tur_01' is missing from this .blend" in facts["gift"]
