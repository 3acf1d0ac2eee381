"""Taking changes back: exact, or refused with the transaction that is in the way."""

from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry, repack
from msh_gltf.converter.formats.wear import WEAR_TYPE
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.undo import restore, status, undo
from tests.converter.game.others import ROWS, with_row
from tests.converter.game.test_vault import BEFORE, FILE, change, digest, entries, game, patch
from tests.support.game import snapshot
from tests.support.vault import VAULT

__all__ = ["game"]
PLAIN = "DATA/plain.bin"
ONE, TWO, FOUR = b"one" * 9, b"two" * 9, b"four" * 9


def take_back(game: Path, number: int | None = None, *, dry_run: bool = False) -> list[str]:
    """``msh-mod undo``: the files that were written."""
    with GameEdits(game, "msh-mod undo", "msh-mod", dry_run=dry_run) as door:
        return door.commit("undo", undoes=undo(door, number))


def put_away(game: Path, files: list[str] | None = None, to: str | None = None) -> list[str]:
    """``msh-mod restore``: what it says."""
    with GameEdits(game, "msh-mod restore", "msh-mod") as door:
        said = restore(door, files, to=to)
        door.commit("restore")
        return [*door.messages, *said]


def plain(game: Path, data: bytes, owner: str = "out:1") -> None:
    with GameEdits(game, "edit", owner) as door:
        door.put(PLAIN, data, lambda layer: layer.owner == owner)
        door.commit()


def test_what_is_not_there_any_more_is_not_taken_back(game: Path) -> None:
    change(game, "out:1", {0: b"mine"})
    change(game, "out:1")
    with pytest.raises(ConversionError, match=r"change 2 \(edit out:1\) changed it later"):
        take_back(game, 1)
    change(game, "out:1", {0: b"mine"})
    patch(game, 0, b"patched")
    with pytest.raises(ConversionError, match="what change 3 wrote is not in the game"):
        take_back(game)
    assert entries(game)[0] == b"patched"
    with pytest.raises(ConversionError, match="has no such change"):
        take_back(game, 9)


def test_undo_gives_back_the_bytes_of_another_program(game: Path) -> None:
    """The layout too, which nobody can compose: of an archive that it packed, with an edit in it."""
    change(game, "out:1", {0: b"mine"}, new={b"new": b"new"})
    packed = write_nres(repack(read_nres(patch(game, 1, b"patched"), FILE)))
    (game / FILE).write_bytes(packed)
    change(game, "out:2", {3: b"theirs"})
    change(game, "out:1", {0: b"again"})
    edited = (game / FILE).read_bytes()
    take_back(game)
    take_back(game)
    assert (game / FILE).read_bytes() == packed
    assert status(game).foreign == {FILE: "holds what another program changed"}
    take_back(game, 5)
    take_back(game, 4)
    assert (game / FILE).read_bytes() == edited


def test_undo_of_a_state_gives_back_what_it_replaced(game: Path) -> None:
    change(game, "out:1", {0: b"mine"})
    patched = patch(game, 1, b"patched")
    put_away(game, [FILE], to=digest(BEFORE))
    take_back(game, 2)
    assert (game / FILE).read_bytes() == patched
    take_back(game, 3)
    patch(game, 1, b"patched again")
    with pytest.raises(ConversionError, match="what change 4 wrote is not in the game"):
        take_back(game, 4)


def test_a_version_that_the_user_copied_back_has_its_changes(game: Path) -> None:
    change(game, "out:1", {0: b"mine"})
    edited = (game / FILE).read_bytes()
    put_away(game)
    (game / FILE).write_bytes(edited)
    change(game, "out:2", {3: b"theirs"})
    take_back(game)
    assert (game / FILE).read_bytes() == edited
    assert take_back(game, 2) == []  # it is so already
    with pytest.raises(ConversionError, match="taken back already"):
        take_back(game, 2)


def test_undo_names_what_another_program_changed(game: Path) -> None:
    change(game, "out:1", {0: b"mine"})
    take_back(game)
    patch(game, 0, b"patched")
    before = snapshot(game)
    with pytest.raises(ConversionError, match="what change 2 wrote was changed since") as caught:
        take_back(game, 2)
    assert (caught.value.file, caught.value.entry) == (FILE, "one")
    (game / FILE).unlink()
    with pytest.raises(ConversionError, match="what change 2 wrote was changed since"):
        take_back(game, 2)
    assert snapshot(game) == {name: data for name, data in before.items() if name != FILE}


def test_an_older_change_under_a_later_one_is_refused(game: Path) -> None:
    """A later transaction took away what it was made on: it would not be as it was."""
    rows, last = ROWS, len(entries(game))
    with GameEdits(game, "edit", "out:0") as door:
        archive = add_entry(read_nres(BEFORE, FILE), b"a.wea", WEAR_TYPE, rows)
        door.put(FILE, write_nres(archive), lambda layer: False)
        door.commit()
    one = with_row(rows, b"x")
    change(game, "out:1", {last: one})
    change(game, "out:2", {last: with_row(one, b"yy")})
    change(game, "out:1")
    assert entries(game)[last] == with_row(rows, b"yy")
    with pytest.raises(ConversionError, match="what change 3 wrote is not in the game"):
        take_back(game, 3)
    assert entries(game)[last] == with_row(rows, b"yy")


def test_changes_that_cancel_are_not_in_force(game: Path) -> None:
    """An entry that becomes what it was before somebody changed it: neither change is in force."""
    change(game, "out:1", {0: b"mine"})
    change(game, "out:2", {0: b"theirs", 1: b"other"})
    change(game, "out:3", {0: b"mine"})
    assert [one.owner for one in status(game).changes] == ["out:1", "out:2"]
    change(game, "out:4", {0: ONE})
    assert [one.entry for one in status(game).changes] == ["two"]
    take_back(game)
    assert entries(game)[0] == b"mine"
    take_back(game)
    assert entries(game)[0] == b"theirs"


def test_a_file_that_an_edit_made_goes_and_is_kept(game: Path) -> None:
    with GameEdits(game, "edit", "out:1") as door:
        door.put("DATA/NEW/a.bin", b"made", lambda layer: False)
        door.commit()
    take_back(game)
    assert not (game / "DATA/NEW/a.bin").exists()
    assert (game / VAULT / "originals" / digest(b"made")).read_bytes() == b"made"
    take_back(game, 2)
    (game / "DATA/NEW/a.bin").write_bytes(b"theirs")
    with pytest.raises(ConversionError, match="is not in the game any more"):
        take_back(game, 1)
    put_away(game)
    assert (game / "DATA/NEW/a.bin").read_bytes() == b"theirs"


# ------------------------------------------------------------------ restore


@pytest.mark.parametrize("to", ["", "abc", "0" * 64, "../../outside.txt", "zzzz"])
def test_no_such_state(game: Path, to: str) -> None:
    change(game, "out:1", {0: b"mine"})
    before = snapshot(game)
    with pytest.raises(ConversionError, match="no state of it"):
        put_away(game, [FILE], to=to)
    assert snapshot(game) == before


def test_a_file_that_somebody_removed_comes_back(game: Path) -> None:
    change(game, "out:1", {0: b"mine"})
    (game / FILE).unlink()
    put_away(game)
    assert (game / FILE).read_bytes() == BEFORE


def test_the_original_that_the_user_put_back_is_no_conflict(game: Path) -> None:
    change(game, "out:1", {0: b"mine"})
    (game / FILE).write_bytes(BEFORE)
    assert status(game).foreign == {FILE: "is its original"}
    assert put_away(game) == [f"{FILE} is as it was before our changes: another program did that"]
    change(game, "out:1", {0: b"again"})
    assert entries(game)[0] == b"again"


def test_a_state_is_had_again_after_another_program(game: Path) -> None:
    """Also where the history says that the file is so already."""
    change(game, "out:1", {0: b"mine"})
    take_back(game)
    theirs = patch(game, 1, b"patched")
    put_away(game, [FILE], to=digest(BEFORE))
    assert (game / FILE).read_bytes() == BEFORE
    put_away(game, [FILE], to=digest(theirs))
    assert (game / FILE).read_bytes() == theirs
