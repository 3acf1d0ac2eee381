"""What a walk finds, names, and passes by."""

import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.kinds import Kind, kind_at, models_in
from msh_gltf.converter.formats.nres import NRES_ENTRY_DTYPE, NRES_HEADER_DTYPE, entry_types, read_nres
from msh_gltf.converter.game.walk import walk
from msh_gltf.converter.kinds.open_files import open_nres
from tests.support.corruption.base import Nres
from tests.support.game import MESH, archive, entry, model

ROCK = "retail__odd__s_rock_009"


def nested(path: Path, payload: int, rows: int) -> None:
    """Write an archive with a model, a container whose payloads are a hole, its rows empty, and a hole after that."""
    first = model(ROCK)
    size = 16 + payload + 64 * rows
    head = archive([entry(MESH, b"rock.msh", first)])[: 16 + len(first)]
    start = len(head) + -len(head) % 8
    both = np.frombuffer(archive([entry(MESH, b"rock.msh", first), entry(2, b"in", b"")]), "u1")
    directory = both[-128:].copy().view(NRES_ENTRY_DTYPE)
    directory["size"][1], directory["data_offset"][1] = size, start
    header = np.zeros(1, NRES_HEADER_DTYPE)
    header[0] = b"NRes", 0x100, 2, start + size + payload + 128
    inner = np.zeros(1, NRES_HEADER_DTYPE)
    inner[0] = b"NRes", 0x100, rows, size
    blank = np.zeros(rows, NRES_ENTRY_DTYPE)
    blank["data_offset"] = 16
    path.parent.mkdir()
    with path.open("wb") as file:
        file.write(header.tobytes() + head[16:])
        file.seek(start)
        file.write(inner.tobytes())
        file.seek(payload, os.SEEK_CUR)
        file.write(blank.tobytes())
        file.seek(payload, os.SEEK_CUR)
        file.write(directory.tobytes())


@pytest.mark.parametrize(("payload", "rows"), [(256 << 20, 3), (0, 1 << 20)])
def test_of_a_container_in_an_archive_the_directory_is_read(payload: int, rows: int, tmp_path: Path) -> None:
    """Not its payloads, nor what no entry covers, and a directory of 64 MiB in blocks."""
    path = tmp_path / "game/nested.rlb"
    nested(path, payload, rows)
    tracemalloc.start()
    try:
        found = walk([path.parent])
        opened = open_nres(path, "nested.rlb")
        assert models_in(opened) == [0]
        assert kind_at(opened, 1) is Kind.MODEL  # reading it says what is wrong
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert [item.id for item in found.items] == ["nested.rlb::rock.msh"]
    assert sum(len(region) for _, region in opened.unindexed) >= payload
    assert [row.id for row in found.skipped] == ["nested.rlb::in"]


def test_a_container_in_an_archive_is_checked_like_the_file(tmp_path: Path) -> None:
    """A payload outside the data, and too many overlaps: not a model, whatever its tables."""
    for data in (broken_payload(), shared_payloads()):
        whole = archive([entry(MESH, b"a.msh", data), entry(1, b"b.msh", model(ROCK))])
        path = tmp_path / "x.rlb"
        path.write_bytes(whole)
        for opened in (open_nres(path, "x.rlb"), read_nres(whole, "x.rlb")):
            with pytest.raises(ConversionError) as one:
                entry_types(opened.entries[0], "x.rlb")
            with pytest.raises(ConversionError) as two:
                read_nres(data, "x.rlb")
            assert one.value.code == two.value.code
            assert models_in(opened) == [1]


def broken_payload() -> bytes:
    box = Nres.read(model(ROCK))
    box.entries[2].offset = 1 << 30
    return box.write()


def shared_payloads() -> bytes:
    box = Nres.read(model(ROCK))
    large = max(box.entries, key=lambda one: len(one.data))
    box.entries += [replace(large, data=bytearray(), offset=16, size=len(large.data))] * 5000
    return box.write()
