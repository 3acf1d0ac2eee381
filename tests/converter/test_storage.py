"""Outputs appear whole or not at all."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import inflate
from msh_gltf.converter.storage import copy_output, write_outputs


def test_writes_all_and_makes_directories(tmp_path: Path) -> None:
    a, b = tmp_path / "новая" / "a.bin", tmp_path / "новая" / "deep" / "b.bin"
    write_outputs([(a, b"1"), (b, b"2")], force=False)
    assert (a.read_bytes(), b.read_bytes()) == (b"1", b"2")
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["a.bin", "b.bin"]


def test_existing_outputs_are_refused(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    b.write_bytes(b"mine")
    with pytest.raises(ConversionError, match="output exists already; move it away"):
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
    with pytest.raises(ConversionError, match="b: output exists already; move it away"):
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


# ------------------------------------------------------------------ compressed bytes


@pytest.mark.parametrize("raw", [False, True])
def test_a_stream_is_unpacked_as_far_as_the_bound(raw: bool) -> None:
    data = bytes(range(256)) * 8
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS if raw else zlib.MAX_WBITS)
    packed = stream.compress(data) + stream.flush()
    assert inflate(packed, len(data) + 1, raw=raw) == (data, True)
    assert inflate(packed, 100, raw=raw) == (data[:100], False)
    assert inflate(packed[:-6], len(data) + 1, raw=raw)[1] is False
    assert inflate(b"\xff" + packed, len(data) + 1, raw=raw) == (b"", False)
    assert inflate(b"", 1, raw=raw) == (b"", False)


def test_a_small_stream_takes_little_memory() -> None:
    """A quarter of a megabyte that would be 256 MiB, where 32 MiB are left."""
    pytest.importorskip("resource", reason="no limits of memory on this system")
    code = """
import resource, zlib
from msh_gltf.converter.files import inflate
stream, block = zlib.compressobj(), bytes(1 << 20)
packed = b"".join(stream.compress(block) for _ in range(256)) + stream.flush()
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (32 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
content, ended = inflate(packed, 8 << 20)
print(len(content), ended)
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say how large a process is")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == f"{8 << 20} False\n", done.stderr
