"""Outputs appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.storage import copy_output, write_outputs


def test_writes_all_and_makes_directories(tmp_path: Path) -> None:
    a, b = tmp_path / "новая" / "a.bin", tmp_path / "новая" / "deep" / "b.bin"
    write_outputs([(a, b"1"), (b, b"2")], force=False)
    assert (a.read_bytes(), b.read_bytes()) == (b"1", b"2")
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["a.bin", "b.bin"]


def test_existing_outputs_are_refused(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    b.write_bytes(b"mine")
    with pytest.raises(ConversionError, match="output exists already; --force"):
        write_outputs([(a, b"1"), (b, b"2")], force=False)
    assert not a.exists()
    assert b.read_bytes() == b"mine"
    write_outputs([(a, b"1"), (b, b"2")], force=True)
    assert b.read_bytes() == b"2"


def test_an_output_with_the_same_bytes_is_not_in_the_way(tmp_path: Path) -> None:
    """The same command wrote it, and perhaps was killed before it wrote the others."""
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"1")
    before = a.stat()
    assert write_outputs([(a, b"1"), (b, b"2")], force=False) == [b]
    assert a.stat() == before
    assert write_outputs([(a, b"1"), (b, b"2")], force=False) == []
    b.write_bytes(b"3")
    with pytest.raises(ConversionError, match="b: output exists already; --force"):
        write_outputs([(a, b"1"), (b, b"2")], force=False)


def test_nothing_is_left_when_a_write_fails(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    with pytest.raises(ConversionError, match="cannot be written"):
        write_outputs([(tmp_path / "a", b"1"), (blocked / "b", b"2")], force=False)
    assert os.listdir(tmp_path) == ["file"]


def test_nothing_is_left_when_a_rename_fails(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(ConversionError, match="cannot be written"):
        write_outputs([(tmp_path / "b", b"2"), (tmp_path / "a", b"1")], force=True)
    assert os.listdir(tmp_path) == ["b"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_ordinary_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_outputs([(tmp_path / "a", b"1")], force=False)
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_copy_names_the_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match=r"there.bin: cannot be read"):
        copy_output(tmp_path / "not_there.bin", tmp_path / "copy.bin")
    assert list(tmp_path.iterdir()) == []
