"""Games that other tools unpacked: every texture is found, and edits go into the files that were there."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.open_files import layout_of, rows_of
from tests.docs.materials import example_game
from tests.support.game import archive, entry, snapshot
from tests.support.runs import call
from tests.support.unpackers import LAYOUTS, members, unpack_game

every_layout = pytest.mark.parametrize("layout", LAYOUTS)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(example_game(), tmp_path_factory.mktemp("packed") / "GAME"))


@pytest.fixture(scope="module")
def expected(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(packed, tmp_path_factory.mktemp("expected") / "out")


def export(game: Path, out: Path) -> Path:
    assert call(cli.msh2gltf, game, "-o", out, "-q", "-j", 1) == 0
    return out


def pictures(out: Path) -> dict[str, bytes]:
    folder = out / "textures"
    return {
        path.relative_to(folder).as_posix(): np.asarray(Image.open(path)).tobytes()
        for path in sorted(folder.rglob("*.png"))
    }


def models(out: Path) -> list[str]:
    return sorted(path.relative_to(out).as_posix().replace("/entries/", "/") for path in out.rglob("*.glb"))


@every_layout
def test_the_same_models_and_textures(packed: Path, expected: Path, tmp_path: Path, layout: str) -> None:
    game = unpack_game(Path(shutil.copytree(packed, tmp_path / "GAME")), layout)
    out = export(game, tmp_path / "out")
    assert models(out) == models(expected)
    assert pictures(out) == pictures(expected) != {}
    assert call(cli.gltf2msh, out, "--game", game, "-o", tmp_path / "new", "-q", "-j", 1) == 0
    assert snapshot(tmp_path / "new") == snapshot(game)


@pytest.mark.parametrize("layout", ["fparkan-numbered", "playground", "playground-packer"])
def test_an_archive_of_one_entry(packed: Path, tmp_path: Path, layout: str) -> None:
    """Its only file has number 0, and the folder an archive's name: that says enough."""
    folder = tmp_path / "lightmap.lib"
    folder.mkdir()
    found = [replace(members((packed / "Textures.lib").read_bytes())[0], sort=0)]
    LAYOUTS[layout](folder, found)
    assert [*layout_of(folder).names.values()] == [found[0].text]
    (tmp_path / "0_mine.0").write_bytes(found[0].payload)
    assert [*layout_of(tmp_path).names.values()] == ["0_mine.0"]


def test_numbers_of_an_unpacker_have_few_gaps(tmp_path: Path) -> None:
    """They are below twice how many there are; a new file has the next, and an ending as the others."""
    for last, known in ((5, True), (6, False)):
        files = ["0_a.0", "1_b.0", f"{last}_c.0"]
        (tmp_path / str(last)).mkdir()
        for file in files:
            (tmp_path / str(last) / file).write_bytes(b"")
        layout = layout_of(tmp_path / str(last))
        assert [*layout.names.values()] == (["a.0", "b.0", "c.0"] if known else files)
        assert [layout.rename(3, name) for name in ("d.0", "d")] == (["3_d.0", "3_d.bin"] if known else ["d.0", "d"])


def test_an_index_names_no_file_outside(tmp_path: Path) -> None:
    for file, within in (("a", True), ("entries/a", True), ("entries/a/b", False), ("../a", False), ("/a", False)):
        entries = [{"file": file, "name": b"a".hex(), "type": 1, "attributes": [0, 0, 0]}]
        (tmp_path / "archive.json").write_text(json.dumps({"entries": entries}))
        assert (rows_of(tmp_path) is not None) == within, file


@every_layout
def test_entries_of_types_that_nobody_knows(tmp_path: Path, layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Their archive says which they are, by their numbers: the same bytes, and an edit in its place."""
    types = (b"q7Zk", b"\x01\xff\x00Z", b"q7Zk")
    for count in (1, 3):
        names = ("a_88.dat", "00_a", "f_ha.dat")[:count]
        made = [
            entry(int.from_bytes(kind, "little"), name.encode(), name.encode() * 3)
            for kind, name in zip(types, names, strict=False)
        ]
        packed = archive(made)
        path, folder = tmp_path / f"{count}/misc.rlb", tmp_path / f"files/{count}/misc.rlb"
        folder.mkdir(parents=True)
        path.parent.mkdir()
        path.write_bytes(packed)
        LAYOUTS[layout](folder, members(packed))
        assert call(cli.gltf2msh, folder, "--pack", path, "-q") == 0
        assert (path.read_bytes(), capsys.readouterr().err) == (packed, "")
        for file in folder.rglob("*a_88*"):
            file.write_bytes(b"other")
        assert call(cli.gltf2msh, folder, "--pack", path, "-q") == 0
        assert [one.payload for one in members(path.read_bytes())] == [b"other", *(one.payload for one in made[1:])]
