"""Archives as folders and back: the same bytes in every layout, and edits through the door of the game."""

import base64
import io
import json
import struct
import wave
import zlib
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.game.archive_folder import LAYOUTS, deflated, library_of, wave_format
from tests.docs.materials import example_game
from tests.support.game import snapshot
from tests.support.runs import call
from tests.support.unpackers import LAYOUTS as TOOLS
from tests.support.unpackers import members

WAVE = int.from_bytes(b"WAVE", "little")


def sound(rate: int = 22050, seconds: float = 0.1) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack("<h", rate % 1000) * int(rate * seconds))
    return out.getvalue()


@pytest.fixture
def sounds(tmp_path: Path) -> Path:
    """A game with a library of two sounds and gaps that only the original explains."""
    names = {b"Exp_anl_06.wav": sound(), "\u0433\u043e\u043b\u043e\u0441.wav".encode("cp1251"): sound(11025)}
    entries = [Entry(WAVE, 1, 2, 3, name_field(name), 0, 0, data) for name, data in names.items()]
    data = bytearray(write_nres(new_archive(entries, "sounds.lib")))
    end = min(one.data_offset for one in read_nres(bytes(data), "x").entries) + len(sound())
    data[end : end + 2] = b"!?"  # what lies between payloads stays
    game = tmp_path / "GAME"
    game.mkdir()
    (game / "sounds.lib").write_bytes(data)
    return game / "sounds.lib"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_archive_comes_back(tmp_path: Path, layout: str, sounds: Path) -> None:
    (tmp_path / "empty.lib").write_bytes(write_nres(new_archive([], "empty.lib")))
    archives = [
        sounds,
        tmp_path / "empty.lib",
        *(example_game() / f"{name}" for name in ("turrets.rlb", "Textures.lib", "static.rlb")),
    ]
    for path in archives:
        folder = tmp_path / "files" / path.name
        assert call(cli.msh2gltf, path, "--unpack", folder, "--layout", layout, "-q") == 0
        assert call(cli.gltf2msh, folder, "--pack", tmp_path / "new" / path.name, "-q") == 0
        assert (tmp_path / "new" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("layout", [name for name in TOOLS if name != "fparkan-numbered"])
def test_what_other_tools_unpacked_goes_back(tmp_path: Path, layout: str) -> None:
    """Into the archive that is there, byte for byte; where their index has the types, without it too."""
    path = tmp_path / "turrets.rlb"
    path.write_bytes((example_game() / "turrets.rlb").read_bytes())
    before, folder = path.read_bytes(), tmp_path / "files"
    folder.mkdir()
    TOOLS[layout](folder, members(before))
    assert call(cli.gltf2msh, folder, "--pack", path, "-q") == 0
    assert path.read_bytes() == before
    done = call(cli.gltf2msh, folder, "--pack", tmp_path / "new.rlb", "-q")
    if layout.startswith("fparkan"):
        assert done == 0
        assert (tmp_path / "new.rlb").read_bytes() == before
    else:
        assert done == 2
        assert not (tmp_path / "new.rlb").exists()


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


def test_a_sound_is_replaced_and_comes_back(sounds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, folder = sounds.read_bytes(), tmp_path / "files"
    assert call(cli.msh2gltf, sounds, "--unpack", folder, "-q") == 0
    with wave.open(str(folder / "Exp_anl_06.wav")) as file:
        assert file.getframerate() == 22050
    longer = sound(44100, 0.3)
    (folder / "Exp_anl_06.wav").write_bytes(longer)
    (folder / "new.wav").write_bytes(sound())
    capsys.readouterr()
    assert call(cli.gltf2msh, folder, "--pack", sounds) == 0
    shown = capsys.readouterr()
    assert "replaced entry Exp_anl_06.wav" in shown.out
    assert "added entry new.wav" in shown.out
    assert "PCM, 44,100 Hz, 16 bits, mono; the game's was PCM, 22,050 Hz" in shown.err
    archive = read_nres(sounds.read_bytes(), "x")
    index = archive.find("Exp_anl_06.wav")
    assert index is not None
    assert archive.entries[index].payload == longer
    assert b"!?" in sounds.read_bytes()
    assert archive.entries[-1].attr1 == 1
    assert call(cli.msh_mod, "undo", sounds.parent) == 0
    assert sounds.read_bytes() == before


def test_only_what_differs_is_put(sounds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What somebody else changed since stays; where both changed, nothing is written."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        assert call(cli.msh2gltf, sounds, "--unpack", folder, "-q") == 0
    names = [path.name for path in sorted(first.glob("*.wav"))]
    (first / names[0]).write_bytes(sound(8000))
    (second / names[1]).write_bytes(sound(8001))
    for folder in (first, second):
        assert call(cli.gltf2msh, folder, "--pack", sounds, "-q") == 0
    payloads = {entry.name: entry.payload for entry in read_nres(sounds.read_bytes(), "x").entries}
    assert (payloads[names[0]], payloads[names[1]]) == (sound(8000), sound(8001))
    (second / names[0]).write_bytes(sound(9000))
    now = sounds.read_bytes()
    capsys.readouterr()
    assert call(cli.gltf2msh, second, "--pack", sounds) == 2
    assert "has changed since it was unpacked" in capsys.readouterr().err
    assert sounds.read_bytes() == now
    assert call(cli.gltf2msh, second, "--pack", sounds, "--force", "-q") == 0


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "Exp_anl_06.wav").write_bytes(b"ID3 an mp3"), "is not a WAV file"),
        (lambda folder: (folder / "Exp_anl_06.wav").unlink(), "has no file any more"),
        (lambda folder: (folder / "notes.txt").write_bytes(b"x"), "its type is not known"),
    ],
)
def test_what_has_no_place_is_named(
    sounds: Path, tmp_path: Path, spoil, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, folder = sounds.read_bytes(), tmp_path / "files"
    assert call(cli.msh2gltf, sounds, "--unpack", folder, "-q") == 0
    spoil(folder)
    call(cli.gltf2msh, folder, "--pack", sounds)
    assert said in capsys.readouterr().err
    assert sounds.read_bytes() == before


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_an_index_what_has_no_file_is_named(
    layout: str, sounds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, folder = sounds.read_bytes(), tmp_path / "files"
    assert call(cli.msh2gltf, sounds, "--unpack", folder, "--layout", layout, "-q") == 0
    files = sorted(folder.rglob("*Exp_anl_06*"))
    for path in [*folder.glob("*.json"), *files]:
        path.unlink()
    capsys.readouterr()
    done = call(cli.gltf2msh, folder, "--pack", sounds)
    told = capsys.readouterr().err
    if layout == "fparkan-validator":  # escaped names do not say what they were
        assert (done, "put manifest.json back into it" in told) == (2, True)
    else:
        assert (done, "kept in the archive, without a file in the folder: 'Exp_anl_06.wav'\n" in told) == (0, True)
    assert sounds.read_bytes() == before


def test_what_the_game_cannot_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Entries that changed are checked as others are; folders have no place in an archive."""
    path, folder = tmp_path / "turrets.rlb", tmp_path / "files"
    path.write_bytes((example_game() / "turrets.rlb").read_bytes())
    assert call(cli.msh2gltf, path, "--unpack", folder, "-q") == 0
    (folder / "sub").mkdir()
    name = next(one.name for one in folder.iterdir() if one.suffix == ".msh")
    for data, said in (((folder / name).read_bytes()[:-700], "total_size"), (b"", "not an NRes file")):
        (folder / name).write_bytes(data)
        assert call(cli.gltf2msh, folder, "--pack", path, "--dry-run", "--force") == 0
        told = capsys.readouterr().err
        assert f"warning: {name}: the game cannot read it: " in told
        assert said in told
        assert "folders in it are not packed: 'sub'" in told


def test_a_whole_game(tmp_path: Path) -> None:
    assert call(cli.msh2gltf, example_game(), "--unpack", tmp_path / "files", "-q") == 0
    assert {path.name for path in (tmp_path / "files").iterdir()} == {
        path.name for path in example_game().glob("*.[rl][li]b") if path.name != "objects.rlb"
    } | {"objects.rlb"}


@pytest.mark.parametrize(
    "damage", [{"entries": 3}, {"entries": [{"file": "../x", "name": "00", "type": 1, "attributes": [0, 0, 0]}]}, [], 5]
)
def test_an_index_that_lies(tmp_path: Path, sounds: Path, damage: object, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "files"
    assert call(cli.msh2gltf, sounds, "--unpack", folder, "-q") == 0
    for name in ("archive.json", "index.json", "manifest.json"):
        (folder / name).write_text(json.dumps(damage), "utf-8")
    assert call(cli.gltf2msh, folder, "--pack", tmp_path / "new.lib") == 2
    assert "internal error" not in capsys.readouterr().err
    assert call(cli.msh2gltf, folder, "-o", tmp_path / "out") in (0, 2)


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


def test_a_numbered_file_is_not_a_second_entry(
    tmp_path: Path, sounds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a type that no tool is known to write, the names are not recognised: nothing is added, and each is named."""
    folder, before = tmp_path / "files", sounds.read_bytes()
    folder.mkdir()
    for one in members(before):
        (folder / f"{one.index}_ODD1_{one.text}").write_bytes(one.payload)
    assert call(cli.gltf2msh, folder, "--pack", sounds, "-q") == 0
    assert sounds.read_bytes() == before
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "it looks like entry 'Exp_anl_06.wav' with the number and type of an unpacker" in said[0] + said[1]
