"""What a walk finds, names, and passes by."""

import os
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.kinds import Kind, kind_at, models_in
from msh_gltf.converter.formats.nres import NRES_ENTRY_DTYPE, NRES_HEADER_DTYPE, entry_types, read_nres
from msh_gltf.converter.game.export_run import found_in
from msh_gltf.converter.game.walk import common_root, tree, walk
from msh_gltf.converter.kinds.open_files import open_nres
from tests.support.corruption.base import Nres
from tests.support.game import LOOSE, MESH, MODELS, archive, entry, make_game, model, write

ROCK = "retail__odd__s_rock_009"
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs links and any file name")


def test_hostile_entry_names(tmp_path: Path) -> None:
    names = [
        b"..\\..\\x",
        b"CON.msh",
        b"a/b",
        "Ж".encode("cp1251") * 35,
        b"same.msh",
        b"SAME.MSH",
        b"same.msh",
        b"\x98.msh",
        b"",
    ]
    write(tmp_path / "g/bad.rlb", archive([entry(MESH, n, model(ROCK)) for n in names]))
    found = walk([tmp_path / "g"])
    assert [item.target for item in found.items] == [
        "bad.rlb/%2E.%5C..%5Cx.glb",
        "bad.rlb/%43ON.glb",
        "bad.rlb/a%2Fb.glb",
        f"bad.rlb/{'Ж' * 35}.glb",
        "bad.rlb/same.glb",
        "bad.rlb/SAME~5.glb",
        "bad.rlb/same~6.glb",
        "bad.rlb/%98.glb",
        "bad.rlb/~.glb",
    ]


@linux
def test_paths_that_differ_in_case_only(tmp_path: Path) -> None:
    one = archive([entry(MESH, b"a.msh", model(ROCK))])
    for path in ("DATA/x.rlb", "data/x.rlb", "data/X.RLB", "data/a:b/y.rlb", "manifest.json"):
        write(tmp_path / path, one)
    write(tmp_path / "data/x.glb", one)  # an archive named as a model's output would be
    write(tmp_path / "data/x.msh", model(ROCK))
    write(tmp_path / "data/X.msh", model(ROCK))
    found = walk([tmp_path])
    targets = {item.id: item.target for item in found.items}
    assert targets == {
        "DATA/x.rlb::a.msh": "DATA/x.rlb/a.glb",
        "data/X.RLB::a.msh": "data~2/X.RLB/a.glb",
        "data/X.msh": "data~2/X.glb",
        "data/a:b/y.rlb::a.msh": "data~2/a%3Ab/y.rlb/a.glb",
        "data/x.glb::a.msh": "data~2/x.glb~2/a.glb",
        "data/x.msh": "data~2/x~2.glb",
        "data/x.rlb::a.msh": "data~2/x.rlb~2/a.glb",
        "manifest.json::a.msh": "manifest.json~2/a.glb",
    }
    assert len({t.casefold() for t in targets.values()}) == len(targets)


@linux
def test_links_and_special_files(tmp_path: Path) -> None:
    game = make_game(tmp_path / "game")
    (game / "loop").symlink_to(".")
    (game / "DATA" / "up").symlink_to("..")
    (game / "self").symlink_to("self")
    (game / "nowhere").symlink_to("missing")
    (game / "linked.rlb").symlink_to("static.rlb")
    os.mkfifo(game / "pipe")
    found = walk([game])
    reasons = {p.id: p.reason for p in found.skipped}
    assert reasons["loop"] == reasons["DATA/up"] == "a link to a directory is not followed"
    assert reasons["self"] == reasons["nowhere"] == "a link that leads nowhere"
    assert reasons["pipe"] == "not a regular file"
    assert sum(item.source == "linked.rlb" for item in found.items) == len(MODELS["static.rlb"])
    assert found.unreadable == []


@linux
def test_names_of_any_bytes(tmp_path: Path) -> None:
    name = os.fsdecode("Дом".encode("cp1251"))
    write(tmp_path / f"{name}.msh", model(ROCK))
    found = walk([tmp_path])
    assert [item.id for item in found.items] == ["Дом.msh"]
    write(tmp_path / "Дом.msh", model(ROCK))
    found = walk([tmp_path])
    assert len(found.items) == 1
    assert found.unreadable[0].reason == "two files have this name, as UTF-8 and as CP1251"


def test_broken_archives_and_entries(tmp_path: Path) -> None:
    write(tmp_path / "cut.rlb", archive([entry(MESH, b"a.msh", model(ROCK))])[:-1])
    inner = archive([entry(MESH, b"a.msh", model(ROCK))])
    write(
        tmp_path / "odd.rlb",
        archive(
            [
                entry(MESH, b"text.msh", b"just text"),
                entry(MESH, b"cut.msh", model(ROCK)[:-1]),
                entry(5, b"nested.rlb", inner),
                entry(MESH, b"tables.msh", inner),
                entry(7, b"model.dat", model(ROCK)),
            ]
        ),
    )
    found = walk([tmp_path])
    assert [b.id for b in found.unreadable] == ["cut.rlb"]
    assert "total_size is not the file's length" in found.unreadable[0].reason
    assert [item.name for item in found.items] == ["cut.msh", "tables.msh", "model.dat"]
    assert {p.id: p.reason for p in found.skipped} == {
        "odd.rlb::text.msh": "called a model (MESH), but not an NRes file",
        "odd.rlb::nested.rlb": "an archive in an archive is not looked into",
    }


def test_inputs(tmp_path: Path) -> None:
    game = make_game(tmp_path / "game")
    found = walk([game / "static.rlb"])
    assert {item.source for item in found.items} == {"static.rlb"}
    found = walk([game / "static.rlb", game / "DATA", game / "DATA/Loose"])
    assert common_root([game / "static.rlb", game / "DATA", game / "DATA/Loose"]) == game
    assert {item.source for item in found.items} == {
        "static.rlb",
        LOOSE,
        "DATA/MAPS/M1/Land.msh",
        "DATA/MAPS/M1/Land.map",
    }
    assert len(found.items) == len(MODELS["static.rlb"]) + 3
    assert common_root([game / "DATA", game / "Video"]) == game
    with pytest.raises(ConversionError, match="No such file"):
        walk([game / "missing"])
    with pytest.raises(ConversionError, match="holds no core model"):
        found_in([game / "Video"], None, [], [])


def test_outputs_backups_and_vaults_are_left_out(tmp_path: Path) -> None:
    game = make_game(tmp_path / "game")
    write(game / "static.rlb.bak", (game / "static.rlb").read_bytes())
    write(game / "lone.bak", (game / "static.rlb").read_bytes())
    write(game / "out/copy.rlb", (game / "static.rlb").read_bytes())
    for vault in (".msh-gltf", "DATA/.MSH-gltf"):
        write(game / vault / "originals/static.rlb", (game / "static.rlb").read_bytes())
    found = walk([game], game / "out")
    sources = {item.source for item in found.items}
    maps = {"DATA/MAPS/M1/Land.msh", "DATA/MAPS/M1/Land.map"}
    assert sources == {"static.rlb", "SYSTEM.RLB", "lone.bak", LOOSE} | maps
    assert tree(game, leave_out=game / "out").files == [
        p.relative_to(game)
        for p in sorted(game.rglob("*"))
        if p.is_file() and "out" not in p.relative_to(game).parts
        if "originals" not in p.parts
    ]


def test_looking_for_models_reads_no_payload_of_others(tmp_path: Path) -> None:
    """A large entry of another kind costs four bytes; what no entry covers is not read at all."""
    small = archive([entry(1, b"foreign", b"RIFF"), entry(MESH, b"rock.msh", model(ROCK))])
    start, rows = 16, len(small) - 2 * 64
    large = 256 << 20
    # the same archive with two holes (a sparse file): in the foreign entry, and after all payloads
    data = np.frombuffer(small, "u1").copy()
    header = data[:16].view(NRES_HEADER_DTYPE)
    header["total_size"] += 2 * large
    directory = data[rows:].view(NRES_ENTRY_DTYPE)
    directory["size"][0] = large
    directory["data_offset"][1] += large
    path = tmp_path / "game/large.rlb"
    path.parent.mkdir()
    with path.open("wb") as file:
        file.write(data[: start + 8].tobytes())
        file.seek(large, os.SEEK_CUR)
        file.write(data[start + 8 : rows].tobytes())
        file.seek(large, os.SEEK_CUR)
        file.write(data[rows:].tobytes())
    tracemalloc.start()
    try:
        found = walk([path.parent])
        opened = open_nres(path, "large.rlb")
        assert models_in(opened) == [1]
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert [item.id for item in found.items] == ["large.rlb::rock.msh"]
    assert sum(len(region) for _, region in opened.unindexed) >= large


def nested(path: Path, payload: int, rows: int) -> None:
    """Write an archive with a model and a container whose payloads are a hole, its rows empty."""
    first = model(ROCK)
    size = 16 + payload + 64 * rows
    head = archive([entry(MESH, b"rock.msh", first)])[: 16 + len(first)]
    start = len(head) + -len(head) % 8
    both = np.frombuffer(archive([entry(MESH, b"rock.msh", first), entry(2, b"in", b"")]), "u1")
    directory = both[-128:].copy().view(NRES_ENTRY_DTYPE)
    directory["size"][1], directory["data_offset"][1] = size, start
    header = np.zeros(1, NRES_HEADER_DTYPE)
    header[0] = b"NRes", 0x100, 2, start + size + 128
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
        file.write(blank.tobytes() + directory.tobytes())


@pytest.mark.parametrize(("payload", "rows"), [(256 << 20, 3), (0, 1 << 20)])
def test_of_a_container_in_an_archive_the_directory_is_read(payload: int, rows: int, tmp_path: Path) -> None:
    """Not its payloads, and a directory of 64 MiB in blocks."""
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
