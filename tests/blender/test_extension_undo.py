"""Blender's undo takes back scenes, not files; the panel shows what was written, and only that."""

from pathlib import Path

import pytest

from msh_gltf.converter.formats.nres import read_nres
from tests.blender.test_extension import Seen, see, zip_file
from tests.docs.materials import example_game
from tests.support.game import original as kept
from tests.support.game import snapshot

__all__ = ["zip_file"]

UNCHANGED = "unchanged, restored byte for byte"
FAILED = "the last export failed"
STEPS = ("undone", "other_models", "several", "new_models", "failing")


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), STEPS)


def same(seen: Seen, step: str, *names: str) -> bool:
    return len({(seen.out / step / f"{name}.rlb").read_bytes() for name in names}) == 1


def test_put_back_works_after_undo_and_redo(seen: Seen) -> None:
    """One step, several, forward again, and past the import."""
    facts, out = seen.facts["undone"], seen.out / "undone"
    assert not [text for text in facts.values() if isinstance(text, str)], facts
    original = (example_game() / "turrets.rlb").read_bytes()
    assert (out / "undone.rlb").read_bytes() == original
    assert same(seen, "undone", "undone", "undone twice")
    assert same(seen, "undone", "first", "redone", "imported by redo")
    assert same(seen, "undone", "second", "redone twice")
    assert not same(seen, "undone", "first", "undone")
    assert not same(seen, "undone", "first", "second")
    assert kept(out / "game.rlb") == original
    assert facts["before import"] == [0, ""]


def test_what_was_put_back_is_saved_after_undo(seen: Seen) -> None:
    """The .blend was saved after an undo: the game had the edit, the scene had not."""
    assert seen.facts["undone"]["reopened"]["outcome"] == UNCHANGED
    assert same(seen, "undone", "reopened", "undone", "undone later")
    assert same(seen, "undone", "edited later", "first")


def test_after_an_undo_in_the_game_no_other_copy_is_suspected(seen: Seen) -> None:
    """It brought back what this very .blend had put there before."""
    facts = seen.facts["undone"]
    assert not any("another copy" in line for line in facts["after undo in the game"]["warnings"])
    assert same(seen, "undone", "before undo in the game", "after undo in the game")


def test_the_panel_shows_what_was_written_last(seen: Seen) -> None:
    facts = seen.facts["undone"]
    assert facts["first"]["outcome"] == "1 change"
    assert facts["after undo"] == facts["first"]
    assert facts["undone"]["outcome"] == UNCHANGED


def test_several_models_go_each_into_its_own_place(seen: Seen) -> None:
    """A node that is shown in the scene of another model is new there, and takes the place of none."""
    facts = seen.facts["several"]
    names = ("e_tur_01.msh", "e_tur_02.msh")
    assert sorted(facts["scenes"]) == [*names, *(f"game.rlb: {name}" for name in names)]
    same = ["", [], "unchanged, restored byte for byte", []]
    assert facts["same"] == [same] * 4
    for place in facts["scenes"]:
        assert facts[place][:3] == ["", [place.partition(":")[0]], "1 change"], place
    error, changed, outcome, statuses = facts["guest"]
    assert (error, changed, outcome) == ("", ["game.rlb"], "3 changes, 1 not applied"), "what it is below moves"
    assert sorted({*statuses}) == ["kept", "new", "rebuilt"]
    assert statuses.count("new") == 2  # the node, and its part
    assert facts["host"][:3] == ["", [], "1 change"]


def test_undo_in_one_scene_leaves_other_models(seen: Seen) -> None:
    """Those of the same archive, also where the scene was the other model's before undo."""
    facts, out = seen.facts["other_models"], seen.out / "other_models"
    assert [facts[name] for name in ("first", "second", "undone")] == [""] * 3
    assert (facts["scenes"], facts["written"]) == (1, "")
    assert same(seen, "other_models", "first", "undone")
    first, second = (read_nres((out / f"{name}.rlb").read_bytes(), name) for name in ("first", "second"))
    changed = [a.name for a, b in zip(first.entries, second.entries, strict=True) if a.payload != b.payload]
    assert changed == ["b_bun_000.msh"]


def test_a_new_model_is_put_into_the_game_after_undo_and_redo(seen: Seen) -> None:
    facts = seen.facts["new_models"]
    assert (facts["put"], facts["again"]) == ("", "")
    assert facts["state"] == ["static.rlb", "my_box", "STAT"]


def test_a_model_that_is_imported_later_does_not_inherit_what_was_written(seen: Seen) -> None:
    assert seen.facts["new_models"]["imported"] == ["walker", "", ""]


def test_an_original_that_cannot_be_kept_is_no_success(seen: Seen) -> None:
    """The panel says so, also after undo; the archive stays."""
    facts = seen.facts["failing"]
    assert (facts["unedited"], facts["fine"]["outcome"]) == ("", UNCHANGED)
    assert ".msh-gltf: is not a folder but a link or a file" in facts["backup"]
    assert facts["shown"]["outcome"] == FAILED
    assert facts["shown"]["rows"] == []
    (message,) = facts["shown"]["warnings"]
    assert facts["backup"] == f"Error: {message}"
    assert facts["after undo"] == facts["shown"]
    assert facts["same"]
    assert facts["files"] == [".msh-gltf", "game.rlb"]


def test_nothing_is_written_where_a_library_is_locked(seen: Seen) -> None:
    """Neither the model nor the library is; the next time both are."""
    facts, out = seen.facts["failing"], seen.out / "failing"
    assert "is at work in this game" in facts["locked"]
    assert facts["locked shown"]["outcome"] == FAILED
    assert (out / "locked.rlb").read_bytes() == (example_game() / "turrets.rlb").read_bytes()
    assert facts["later"] == ""
    assert facts["later shown"] != FAILED
    assert set(snapshot(out / "libraries")) == {"Material.lib", "Textures.lib"}
