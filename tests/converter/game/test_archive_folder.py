"""Archives as folders and back: the same bytes in every layout, and edits through the door of the game."""

import base64
import json
import zlib
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.game.archive_folder import LAYOUTS, deflated, library_of, wave_format
from tests.docs.materials import example_game
from tests.support.game import snapshot
from tests.support.runs import call
from tests.support.unpackers import LAYOUTS as TOOLS
from tests.support.unpackers import members
from tests.support.verbs import small_game


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
