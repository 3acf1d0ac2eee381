"""Archives as folders and back, in our layouts and those of other tools: the same bytes, edits in their place."""

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.game.archive_folder import LAYOUTS, deflated, library_of, wave_format
from msh_gltf.converter.kinds.open_files import layout_of, rows_of
from tests.docs.materials import example_game
from tests.support.game import archive, entry, small_game, snapshot
from tests.support.runs import call
from tests.support.unpackers import LAYOUTS as TOOLS
from tests.support.unpackers import members


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_archive_comes_back(tmp_path: Path, layout: str) -> None:
    small_game(tmp_path / "game")
    (tmp_path / "empty.lib").write_bytes(write_nres(new_archive([], "empty.lib")))
    archives = [
        tmp_path / "game/a.rlb",
        tmp_path / "empty.lib",
        *(example_game() / f"{name}" for name in ("turrets.rlb", "Textures.lib", "static.rlb")),
    ]
    for path in archives:
        folder = tmp_path / "files" / path.name
        assert call(cli.msh2gltf, path, "--unpack", folder, "--layout", layout, "-q") == 0
        assert call(cli.gltf2msh, folder, "--pack", tmp_path / "new" / path.name, "-q") == 0
        assert (tmp_path / "new" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("layout", "ours"), [("fparkan", "fparkan-list"), ("playground", "playground")])
def test_other_tools_find_what_they_write(tmp_path: Path, layout: str, ours: str) -> None:
    data = (example_game() / "turrets.rlb").read_bytes()
    (tmp_path / "theirs").mkdir()
    TOOLS[ours](tmp_path / "theirs", members(data))
    assert (
        call(cli.msh2gltf, example_game() / "turrets.rlb", "--unpack", tmp_path / "own", "--layout", layout, "-q") == 0
    )
    theirs, own = snapshot(tmp_path / "theirs"), snapshot(tmp_path / "own")
    index = "index.json"
    if index in theirs:
        assert json.loads((tmp_path / "own" / index).read_text("utf-8")) == json.loads(
            (tmp_path / "theirs" / index).read_text("utf-8")
        )
    assert {k: v for k, v in theirs.items() if k != index} == {
        k: v for k, v in own.items() if k not in (index, "archive.json")
    }


def test_an_index_unpacks_to_what_its_folder_explains(tmp_path: Path) -> None:
    """A thousandth of what it unpacks to is no index of small files; what is written can always be read."""
    data, index = bytes(17 << 20), tmp_path / "archive.json"

    def write(text: str) -> None:
        index.write_text(json.dumps({"format": 1, "library": text, "frame": text, "entries": []}), "utf-8")

    write(base64.b64encode(zlib.compress(data, 9)).decode())
    for _ in range(2):
        with pytest.raises(ConversionError, match="is damaged"):
            library_of(tmp_path)
        (tmp_path / "entries").mkdir(exist_ok=True)
    (tmp_path / "entries/big.bin").write_bytes(bytes(2 << 20))
    assert library_of(tmp_path) == data
    (tmp_path / "entries/big.bin").unlink()
    write(deflated(data, ()))
    assert library_of(tmp_path) == data


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        (b"fmt \x10\0\0\0\1\0\1\0\x22\x56\0\0\0\0\0\0\2\0\x10\0", "PCM, 22,050 Hz, 16 bits, mono"),
        (b"odd \1\0\0\0x\0fmt \x10\0\0\0\x11\0\3\0\0\1\0\0\0\0\0\0\1\0\4\0", "IMA ADPCM, 256 Hz, 4 bits, 3 channels"),
        (b"fmt \x10\0\0\0\1\0\1\0\x22\x56\0\0\0\0\0\0\2\0\x10", "a WAV file without a format"),
        (b"data\2\0\0\0xyfmt ", "a WAV file without a format"),
        (b"", "a WAV file without a format"),
    ],
)
def test_what_a_sound_is(chunks: bytes, said: str) -> None:
    assert wave_format(b"RIFF\0\0\0\0WAVE" + chunks) == said


# ------------------------------------------------------------------ what other tools unpacked


@pytest.mark.parametrize("layout", ["fparkan-numbered", "playground", "playground-packer"])
def test_an_archive_of_one_entry(tmp_path: Path, layout: str) -> None:
    """Its only file has number 0, and the folder an archive's name: that says enough."""
    folder = tmp_path / "lightmap.lib"
    folder.mkdir()
    found = [replace(members((example_game() / "Textures.lib").read_bytes())[0], sort=0)]
    TOOLS[layout](folder, found)
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


@pytest.mark.parametrize("layout", TOOLS)
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
        TOOLS[layout](folder, members(packed))
        assert call(cli.gltf2msh, folder, "--pack", path, "-q") == 0
        assert (path.read_bytes(), capsys.readouterr().err) == (packed, "")
        for file in folder.rglob("*a_88*"):
            file.write_bytes(b"other")
        assert call(cli.gltf2msh, folder, "--pack", path, "-q") == 0
        assert [one.payload for one in members(path.read_bytes())] == [b"other", *(one.payload for one in made[1:])]
