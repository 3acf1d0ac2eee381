"""RsLi libraries as folders and back: the same bytes, and edits packed as the entry was."""

import random
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.formats.rsli import METHODS, read_rsli, unpack
from tests.support.corpus import DATA
from tests.support.rsli import library
from tests.support.runs import call

DICE = random.Random(12)
CONTENTS = [b"", b"a", b"ab" * 900, bytes(DICE.randrange(256) for _ in range(3000)), DICE.randbytes(40) * 300]
UNKNOWN = 0x1E0


def contents(data: bytes) -> list[bytes]:
    found = read_rsli(data, "x")
    return [unpack(found, row) for row in range(len(found.rows)) if found.method(row) in METHODS]


@pytest.fixture(params=[None, 16], ids=["", "trailer"])
def sprites(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A library with entries of every method, and of one that nobody knows."""
    entries = [(f"E{method:03X}_{n}", content, method) for method in METHODS for n, content in enumerate(CONTENTS[1:])]
    data = bytearray(library([*entries, ("UNKNOWN", b"not read here", UNKNOWN)], request.param))
    (tmp_path / "GAME").mkdir()
    (tmp_path / "GAME/sprites.lib").write_bytes(data)
    return tmp_path / "GAME/sprites.lib"


def test_libraries_come_back(tmp_path: Path, sprites: Path) -> None:
    for number, path in enumerate((sprites, DATA / "gamefont.rlb")):
        folder, new = tmp_path / f"files{number}", tmp_path / f"new{number}" / path.name
        assert call(cli.msh2gltf, path, "--unpack", folder, "-q") == 0
        assert call(cli.gltf2msh, folder, "--pack", new, "-q") == 0
        assert new.read_bytes() == path.read_bytes()
        found = read_rsli(path.read_bytes(), "x")
        names = {found.name(row): unpack(found, row) for row in range(len(found.rows)) if found.method(row) in METHODS}
        assert {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix != ".json"} == names
    assert call(cli.msh2gltf, sprites.parent, "--unpack", tmp_path / "all", "-q") == 0
    assert (tmp_path / "all/sprites.lib/E000_0").read_bytes() == CONTENTS[1]


def test_edits_of_every_method(tmp_path: Path, sprites: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shorter and longer ones; everything else stays, and undo gives back the library byte for byte."""
    before = sprites.read_bytes()
    for content in CONTENTS:
        folder = tmp_path / str(len(content)) / content[:1].hex()
        assert call(cli.msh2gltf, sprites, "--unpack", folder, "-q") == 0
        for method in METHODS:
            (folder / f"E{method:03X}_2").write_bytes(content)
        assert call(cli.gltf2msh, folder, "--pack", sprites, "-q") == 0
        expected = [content if number % 4 == 2 else one for number, one in enumerate(contents(before))]
        assert contents(sprites.read_bytes()) == expected
        last = sprites.read_bytes()
        found = read_rsli(last, "x")
        assert found.overlay == read_rsli(before, "x").overlay
        assert (found.name(len(found.rows) - 1), found.method(len(found.rows) - 1)) == ("UNKNOWN", UNKNOWN)
        if last != before:
            assert call(cli.msh_mod, "undo", sprites.parent) == 0
        assert sprites.read_bytes() == before
    (folder / "NEW").write_bytes(b"x")
    (folder / "E000_0").unlink()
    capsys.readouterr()
    assert call(cli.gltf2msh, folder, "--pack", sprites, "-q") == 0
    said = capsys.readouterr().err
    assert "file 'NEW': is new; entries of an RsLi library are replaced, not added" in said
    assert "entry 'E000_0': has no file any more" in said


def test_an_entry_that_changed_since_is_refused(
    tmp_path: Path, sprites: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, content in ((one, b"one"), (other, b"other")):
        assert call(cli.msh2gltf, sprites, "--unpack", folder, "-q") == 0
        (folder / "E040_1").write_bytes(content)
    assert call(cli.gltf2msh, one, "--pack", sprites, "-q") == 0
    assert call(cli.gltf2msh, other, "--pack", sprites, "-q") == 2
    assert "entry E040_1: has changed since it was unpacked; unpack it again, or let --force" in capsys.readouterr().err
    assert call(cli.gltf2msh, other, "--pack", sprites, "-q", "--force") == 0
    (one / "archive.json").write_text('{"library": "AAAA"}')
    assert call(cli.gltf2msh, one, "--pack", tmp_path / "new.lib") == 2
    assert "is damaged; unpack the archive again" in capsys.readouterr().err
