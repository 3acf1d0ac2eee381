"""One model back into its file or archive: nothing else changes, and the old file is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from msh_gltf.converter.batch.replace_entry import Origin, replace_model
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.archive import encode_name
from msh_gltf.converter.formats.sidecar import sha256
from msh_gltf.converter.formats.wear import WEAR_TYPE
from msh_gltf.converter.pipeline.import_result import Companion
from msh_gltf.importers.nres import read_nres
from tests.converter.batch.test_import_run import same_but_for
from tests.support.game import make_game

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


def test_an_entry(origin: Origin, tmp_path: Path) -> None:
    before = origin.path.read_bytes()
    assert replace_model(origin, NEW, {sha256(payload(origin))})
    backup = origin.path.with_name("SYSTEM.RLB.bak")
    assert backup.read_bytes() == before
    assert payload(origin) == NEW
    same_but_for(backup, origin.path, origin.index or 0)


def test_the_first_backup_stays(origin: Origin) -> None:
    before, old = origin.path.read_bytes(), payload(origin)
    assert replace_model(origin, NEW, {sha256(old)})
    assert replace_model(origin, NEW[:-9], {sha256(old), sha256(NEW)})
    assert origin.path.with_name("SYSTEM.RLB.bak").read_bytes() == before
    assert replace_model(origin, old, {sha256(NEW[:-9])})
    assert origin.path.read_bytes() == before


def test_nothing_new_writes_nothing(origin: Origin) -> None:
    old = payload(origin)
    assert not replace_model(origin, old, {sha256(old)})
    assert not replace_model(origin, old, set())
    assert not origin.path.with_name("SYSTEM.RLB.bak").exists()


def test_another_model_is_not_replaced(origin: Origin) -> None:
    before = origin.path.read_bytes()
    with pytest.raises(ConversionError, match=r"entry птица.msh: has changed since.*again"):
        replace_model(origin, NEW, {sha256(b"something else")})
    gone = Origin(origin.path, origin.index, b"gone.msh")
    with pytest.raises(ConversionError, match=r"has no such entry any more: gone.msh"):
        replace_model(gone, NEW, set())
    assert origin.path.read_bytes() == before
    assert not origin.path.with_name("SYSTEM.RLB.bak").exists()


def test_an_entry_that_moved_is_found(origin: Origin) -> None:
    """By its name; its number is where it was before."""
    moved = Origin(origin.path, 0, origin.raw_name)
    assert replace_model(moved, NEW, {sha256(payload(origin))})
    assert payload(origin) == NEW


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.msh"
    path.write_bytes(b"old")
    with pytest.raises(ConversionError, match=r"a\.msh: has changed since it was converted"):
        replace_model(Origin(path), NEW, {sha256(b"older")})
    assert replace_model(Origin(path), NEW, {sha256(b"old")})
    assert path.read_bytes() == NEW
    assert (tmp_path / "a.msh.bak").read_bytes() == b"old"


def test_a_companion_comes_back_where_it_was_written_here(tmp_path: Path) -> None:
    path, wea = tmp_path / "a.msh", tmp_path / "a.wea"
    path.write_bytes(b"model")
    wea.write_bytes(b"old")
    origin, model = Origin(path), {sha256(b"model")}
    edit = Companion(".wea", WEAR_TYPE, b"new", b"old")
    kept = Companion(".wea", WEAR_TYPE, b"old", b"old")
    assert replace_model(origin, b"model", model, [edit])
    assert wea.read_bytes() == b"new"
    assert not replace_model(origin, b"model", model, [kept])  # somebody else's
    assert replace_model(origin, b"model", {*model, sha256(b"new")}, [kept])
    assert wea.read_bytes() == b"old"
    wea.unlink()
    assert not replace_model(origin, b"model", model, [kept])


def test_a_companion_comes_back_into_the_archive(origin: Origin) -> None:
    origin = Origin(origin.path, 2, b"b_bun_000.msh")
    before, old = origin.path.read_bytes(), payload(origin)
    entries = read_nres(before, "x").entries
    assert entries[3].name == "b_bun_000.wea"
    stored = bytes(entries[3].payload)
    edit = Companion(".wea", WEAR_TYPE, b"1\r\n0 rust\r\n", stored)
    kept = Companion(".wea", WEAR_TYPE, stored, stored)
    assert replace_model(origin, old, {sha256(old)}, [edit])
    assert origin.path.read_bytes() != before
    assert not replace_model(origin, old, {sha256(old)}, [kept])
    assert replace_model(origin, old, {sha256(old), sha256(edit.data)}, [kept])
    assert origin.path.read_bytes() == before
