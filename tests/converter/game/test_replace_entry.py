"""One model back into its file or archive: nothing else changes, and the old file is kept."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.names import encode_name
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import sha256
from msh_gltf.converter.formats.wear import WEAR_TYPE
from msh_gltf.converter.game.games import Games, Origin, replace_model
from msh_gltf.converter.kinds.import_result import Companion
from tests.converter.game.test_import_run import same_but_for
from tests.support.game import make_game
from tests.support.vault import VAULT, original, originals

NEW = b"NRes, but longer than what was there" * 40
NAME = "птица.msh"


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    path = make_game(tmp_path / "game") / "SYSTEM.RLB"
    index = read_nres(path.read_bytes(), "x").find(NAME)
    return Origin(path, index, encode_name(NAME))


def payload(origin: Origin) -> bytes:
    entries = read_nres(origin.path.read_bytes(), "x").entries
    return bytes(entries[origin.index or 0].payload)


def put(
    origin: Origin, data: bytes, known: set[str], companions: Sequence[Companion] = (), *, owner: str = "scene"
) -> bool:
    """Put a model back, as a scene of Blender does; whether anything was written."""
    with Games("put back", owner, takes_back=True) as games:
        replace_model(games, origin, data, known, companions)
        return bool(games.commit())


def test_an_entry(origin: Origin, tmp_path: Path) -> None:
    before = origin.path.read_bytes()
    assert put(origin, NEW, {sha256(payload(origin))})
    (tmp_path / "before").write_bytes(before)
    assert original(origin.path.parent, "SYSTEM.RLB") == before
    assert payload(origin) == NEW
    same_but_for(tmp_path / "before", origin.path, origin.index or 0)


@pytest.mark.parametrize("other", ["scene", "another"])
def test_the_first_original_stays(origin: Origin, other: str) -> None:
    """Whoever edits next: the same scene knows what it wrote, another one what it has read."""
    before, old = origin.path.read_bytes(), payload(origin)
    assert put(origin, NEW, {sha256(old)})
    assert put(origin, NEW[:-9], {sha256(old), sha256(NEW)}, owner=other)
    assert original(origin.path.parent, "SYSTEM.RLB") == before
    assert payload(origin) == NEW[:-9]
    assert put(origin, old, {sha256(NEW)}, owner=other)
    assert origin.path.read_bytes() == before
    assert originals(origin.path.parent) == {"SYSTEM.RLB": before}


def test_nothing_new_writes_nothing(origin: Origin) -> None:
    old = payload(origin)
    assert not put(origin, old, {sha256(old)})
    assert not put(origin, old, set())
    assert not (origin.path.parent / VAULT).exists()


def test_another_model_is_not_replaced(origin: Origin) -> None:
    before = origin.path.read_bytes()
    with pytest.raises(ConversionError, match=r"entry птица.msh: has changed since.*again"):
        put(origin, NEW, {sha256(b"something else")})
    gone = Origin(origin.path, origin.index, b"gone.msh")
    with pytest.raises(ConversionError, match=r"has no such entry any more: gone.msh"):
        put(gone, NEW, set())
    assert origin.path.read_bytes() == before
    assert not (origin.path.parent / VAULT).exists()


def test_an_entry_that_moved_is_found(origin: Origin) -> None:
    """By its name; its number is where it was before."""
    moved = Origin(origin.path, 0, origin.raw_name)
    assert put(moved, NEW, {sha256(payload(origin))})
    assert payload(origin) == NEW


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.msh"
    path.write_bytes(b"old")
    with pytest.raises(ConversionError, match=r"a\.msh: has changed since it was converted"):
        put(Origin(path), NEW, {sha256(b"older")})
    assert put(Origin(path), NEW, {sha256(b"old")})
    assert path.read_bytes() == NEW
    assert originals(tmp_path) == {"a.msh": b"old"}


@pytest.mark.parametrize("theirs", [b"theirs", b"", None])
def test_a_companion_comes_back_where_it_was_written_here(tmp_path: Path, theirs: bytes | None) -> None:
    path, wea = tmp_path / "a.msh", tmp_path / "a.wea"
    path.write_bytes(b"model")
    wea.write_bytes(b"old")
    origin, model = Origin(path), {sha256(b"model")}
    edit = Companion(".wea", WEAR_TYPE, b"new", b"old")
    kept = Companion(".wea", WEAR_TYPE, b"old", b"old")
    assert put(origin, b"model", model, [edit])
    assert wea.read_bytes() == b"new"
    assert not put(origin, b"model", model, [kept], owner="another")
    assert wea.read_bytes() == b"new"
    assert put(origin, b"model", model, [kept])
    assert wea.read_bytes() == b"old"
    if theirs is None:
        wea.unlink()
    else:
        wea.write_bytes(theirs)
    assert not put(origin, b"model", model, [kept])
    assert (wea.read_bytes() if wea.exists() else None) == theirs


def test_a_companion_of_a_version_before_the_vault_comes_back(tmp_path: Path) -> None:
    path, wea = tmp_path / "a.msh", tmp_path / "a.wea"
    path.write_bytes(b"model")
    wea.write_bytes(b"new")
    kept = Companion(".wea", WEAR_TYPE, b"old", b"old")
    assert put(Origin(path), b"model", {sha256(b"model"), sha256(b"new")}, [kept])
    assert wea.read_bytes() == b"old"


def test_a_companion_comes_back_into_the_archive(origin: Origin) -> None:
    origin = Origin(origin.path, 2, b"b_bun_000.msh")
    before, old = origin.path.read_bytes(), payload(origin)
    entries = read_nres(before, "x").entries
    assert entries[3].name == "b_bun_000.wea"
    stored = bytes(entries[3].payload)
    edit = Companion(".wea", WEAR_TYPE, b"1\r\n0 rust\r\n", stored)
    kept = Companion(".wea", WEAR_TYPE, stored, stored)
    assert put(origin, old, {sha256(old)}, [edit])
    assert origin.path.read_bytes() != before
    assert not put(origin, old, {sha256(old)}, [kept], owner="another")
    assert put(origin, old, {sha256(old)}, [kept])
    assert origin.path.read_bytes() == before
