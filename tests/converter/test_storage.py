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
