"""Pictures to textures and back, as files, through the commands."""

import io
import json
import shutil
import struct
import subprocess
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.files import only_run, read_file
from msh_gltf.converter.formats.nres import Archive, read_nres, write_nres
from msh_gltf.converter.formats.texture import PAGE_DTYPE, new_texm, read_texm, with_pages_of
from tests.converter.formats.test_texture import every_library
from tests.support.corpus import LIBS, sample_called
from tests.support.game import archive as archive_bytes
from tests.support.game import entry as game_entry
from tests.support.runs import SCRIPTS, call, run
from tests.support.vault import VAULT

#: Bits of red, green, blue, alpha that a format stores; 0: alpha is lost.
BITS = {8888: (8, 8, 8, 8), 888: (8, 8, 8, 0), 565: (5, 6, 5, 0), 4444: (4, 4, 4, 4)}
TEXM = int.from_bytes(b"Texm", "little")


def save(path: Path, pixels: np.ndarray) -> Path:
    Image.fromarray(pixels).save(path)
    return path


def noise(height: int, width: int, seed: int = 0, *, alpha: bool = True) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3 + alpha), np.uint8)


def shown(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGBA"))


def load(path: Path) -> Archive:
    return read_nres(path.read_bytes(), path.name)


def at(archive: Archive, name: str) -> int:
    return next(i for i, e in enumerate(archive.entries) if e.name == name)


@st.composite
def pictures(draw: st.DrawFn) -> np.ndarray:
    """Any pixels, mostly of few colours, some of them opaque."""
    height, width = 2 ** draw(st.integers(0, 5)), 2 ** draw(st.integers(0, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    palette = random.integers(0, 256, (draw(st.integers(1, 300)), 4), np.uint8)
    if draw(st.booleans()):
        palette[:, 3] = 255
    return palette[random.integers(0, len(palette), (height, width))]


@given(pixels=pictures(), format=st.sampled_from([None, *BITS]))
def test_pictures_come_back(pixels: np.ndarray, format: int | None) -> None:
    """PNG -> Texm -> PNG: exact by default and with 8888, within channel depth elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        source = save(Path(folder) / "wall.png", pixels)
        texture, back = Path(folder) / "wall.0", Path(folder) / "back.png"
        asked = () if format is None else ("--texm", format)
        assert call(cli.gltf2msh, source, "-o", texture, "-q", *asked) == 0
        assert call(cli.msh2gltf, texture, "-o", back, "-q") == 0
        made = read_texm(texture.read_bytes(), "wall.0")
        got = shown(back).astype(int)
    opaque = bool((pixels[..., 3] == 255).all())
    assert made.format == (format or (888 if opaque else 8888))
    if format in (None, 8888):
        np.testing.assert_array_equal(got, pixels)
        return
    for i, bits in enumerate(BITS[format]):
        if bits == 0:
            assert (got[..., i] == 255).all()
            continue
        # half a step of the channel, and the half that 8 bits round away
        step = 255 / (2**bits - 1)
        assert np.abs(got[..., i] - pixels[..., i].astype(int)).max() <= step / 2 + 0.5


@every_library
def test_the_commands_show_the_recorded_pixels(paths: list[Path], truth: Path, tmp_path: Path) -> None:
    """Every format of the libraries, from the library's entry and from a loose file."""
    formats = set()
    with np.load(truth) as recorded:
        for path in paths:
            for i, entry in enumerate(load(path).entries):
                target, loose = tmp_path / f"{i}.png", tmp_path / "loose.0"
                where = (path, "--entry", entry.name)
                assert call(cli.msh2gltf, *where, "-o", target, "-q", "--force") == 0
                pixels = recorded[f"{path.name}::{entry.name}"]
                np.testing.assert_array_equal(shown(target), pixels)
                loose.write_bytes(entry.payload)
                assert call(cli.msh2gltf, loose, "-o", target, "-q", "--force") == 0
                np.testing.assert_array_equal(shown(target), pixels)
                formats.add(read_texm(entry.payload, "x").format)
    assert formats == {0, 565, 556, 4444, 888, 8888}


def test_other_kinds_of_png(tmp_path: Path) -> None:
    """Palettes with transparency, and shades of grey."""
    grey = Image.fromarray(noise(4, 8)[..., 0])
    palette = Image.fromarray(noise(4, 8, alpha=False)).quantize(7)
    clear = palette.copy()
    clear.info["transparency"] = 3
    for i, picture in enumerate((grey, palette, clear, grey.convert("LA"), grey.convert("1"))):
        picture.save(tmp_path / f"{i}.png")
        assert call(cli.gltf2msh, tmp_path / f"{i}.png", "-o", tmp_path / f"{i}.0", "-q") == 0
        made = read_texm((tmp_path / f"{i}.0").read_bytes(), "x").rgba()
        np.testing.assert_array_equal(made, np.asarray(picture.convert("RGBA")))
        assert (made[..., 3] == 0).any() == (picture is clear)


def test_levels(tmp_path: Path) -> None:
    wall = save(tmp_path / "wall.png", noise(16, 64))
    for asked, levels in (((), 5), (("--mips", 1), 1), (("--mips", 3), 3)):
        assert call(cli.gltf2msh, wall, "-o", tmp_path / "w.0", "-q", "--force", *asked) == 0
        assert len(read_texm((tmp_path / "w.0").read_bytes(), "w").levels) == levels


def test_names_and_words(tmp_path: Path) -> None:
    """Default names, and what is said."""
    save(tmp_path / "wall.png", noise(8, 8, alpha=False))
    out = run("gltf2msh", "wall.png", cwd=tmp_path)
    assert out.stdout.splitlines() == ["wall.png: 8 x 8, format 888, 4 levels", "  wrote wall.0 (372 bytes)"]
    out = run("msh2gltf", "wall.0", cwd=tmp_path)
    assert out.stdout.splitlines()[0] == "wall.0: 8 x 8, format 888, 4 levels"
    assert out.stdout.splitlines()[1].startswith("  wrote wall.0.png (")
    again = run("gltf2msh", "wall.0.png", cwd=tmp_path)
    assert "wall.0 is there already, with the same bytes" in again.stdout
    save(tmp_path / "wall.0.png", noise(4, 4, alpha=False))
    assert run("gltf2msh", "wall.0.png", cwd=tmp_path).returncode == 2  # another wall.0 is there
    assert run("msh2gltf", "wall.0", "--force", cwd=tmp_path).returncode == 0
    assert run("gltf2msh", "wall.0.png", "-o", "there/", cwd=tmp_path).returncode == 0
    assert (tmp_path / "there/wall.0").read_bytes() == (tmp_path / "wall.0").read_bytes()
    assert run("msh2gltf", "wall.0", "-o", "out/", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out/wall.0.png").read_bytes() == (tmp_path / "wall.0.png").read_bytes()


def test_standard_output(tmp_path: Path) -> None:
    pixels = noise(4, 4)
    wall = save(tmp_path / "wall.png", pixels)
    piped = subprocess.run([SCRIPTS / "gltf2msh", wall, "-o", "-"], capture_output=True, check=True).stdout
    (tmp_path / "wall.0").write_bytes(piped)
    back = subprocess.run(
        [SCRIPTS / "msh2gltf", tmp_path / "wall.0", "-o", "-"], capture_output=True, check=True
    ).stdout
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(back))), pixels)


def test_inspect(tmp_path: Path) -> None:
    out = run("msh-inspect", LIBS / "Textures.lib", "--entry", "0")
    texm = read_texm(load(LIBS / "Textures.lib").entries[0].payload, "x")
    size = f"{texm.width} x {texm.height}, format {texm.format}"
    assert f"texture, {size}" in out.stdout
    facts = json.loads(run("msh-inspect", LIBS / "Textures.lib", "--entry", "0", "--json").stdout)
    assert (facts["kind"], facts["width"], facts["format"]) == ("texture", texm.width, texm.format)


# ------------------------------------------------------------------ libraries


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "game").mkdir()
    return Path(shutil.copyfile(LIBS / "Textures.lib", tmp_path / "game" / "Textures.lib"))


def test_a_texture_is_added(library: Path, tmp_path: Path) -> None:
    """Found by its name in any case, and shown by the command."""
    pixels = noise(8, 32, 4)
    source = save(tmp_path / "Стена.png", pixels)
    assert call(cli.gltf2msh, source, "--into", library, "-q") == 0
    archive = load(library)
    added = archive.entries[-1]
    assert (added.name, added.attr1, added.attr2, added.type_text) == ("Стена.0", 32, 8, "Texm")
    assert archive.find("Стена.0") == len(archive.entries) - 1
    assert call(cli.msh2gltf, library, "--entry", "Стена.0", "-o", tmp_path / "b.png", "-q") == 0
    np.testing.assert_array_equal(shown(tmp_path / "b.png"), pixels)


def test_entries_without_a_number_are_found(tmp_path: Path) -> None:
    """Lightmaps are called without .0; an empty library has nothing to copy attributes from."""
    texture = load(LIBS / "Textures.lib").entries[0].payload
    library = tmp_path / "lightmap.lib"
    library.write_bytes(archive_bytes([game_entry(TEXM, b"LM_1", bytes(texture))]))
    source = save(tmp_path / "lm_1.png", noise(4, 4))
    assert call(cli.gltf2msh, source, "--into", library, "-q") == 0
    (made,) = load(library).entries
    # attr1 and attr2 were not the size of the texture: they stay
    assert (made.name, made.attr1, made.attr2, made.attr3) == ("LM_1", 3, 1, 0)
    empty = tmp_path / "empty.lib"
    empty.write_bytes(write_nres(Archive("x")))
    assert call(cli.gltf2msh, source, "--into", empty, "-q") == 0
    (made,) = load(empty).entries
    assert (made.name, made.attr1, made.attr2) == ("lm_1.0", 4, 4)


def test_rectangles_stay_with_the_size(library: Path, tmp_path: Path) -> None:
    archive = load(library)
    paged = next(e for e in archive.entries if len(read_texm(e.payload, "x").pages))
    old = read_texm(paged.payload, "x")
    same = save(tmp_path / f"{paged.name}.png", noise(old.height, old.width))
    out = run("gltf2msh", same, "--into", library)
    assert (out.returncode, out.stderr) == (0, "")
    made = read_texm(load(library).entries[at(archive, paged.name)].payload, "x")
    assert made.pages.tobytes() == old.pages.tobytes()
    np.testing.assert_array_equal(made.rgba(), shown(same))

    save(same, noise(2 * old.height, 4 * old.width))
    out = run("gltf2msh", same, "--into", library)
    assert (out.returncode, out.stderr) == (0, "")
    grown = read_texm(load(library).entries[at(archive, paged.name)].payload, "x")
    for name, factor in (("x", 4), ("width", 4), ("y", 2), ("height", 2)):
        np.testing.assert_array_equal(grown.pages[name], factor * old.pages[name])

    save(same, noise(old.height, 2 * old.width))  # half of what it is by now
    out = run("gltf2msh", same, "--into", library)
    assert "(Page), which do not fit the new size" in out.stderr
    assert f"(whole multiples of {4 * old.width} x {2 * old.height} keep them)" in out.stderr
    made = read_texm(load(library).entries[at(archive, paged.name)].payload, "x")
    assert not len(made.pages)


def test_rectangles_beyond_16_bits_do_not_wrap() -> None:
    old = new_texm(np.zeros((2, 2, 4), np.uint8), 565)
    rects = np.array([(40000, 1, 0, 2)], PAGE_DTYPE)
    new = new_texm(np.zeros((4, 4, 4), np.uint8), 565)
    assert with_pages_of(new, replace(old, rects=rects)) is None


def test_alpha_that_a_picture_lost_is_reported_once(library: Path, tmp_path: Path) -> None:
    """The second time there is nothing to lose."""
    source, lost = tmp_path / "clear.png", []
    for pixels in (noise(8, 8), noise(16, 16, alpha=False), noise(8, 8, alpha=False)):
        out = run("gltf2msh", save(source, pixels), "--into", library)
        assert out.returncode == 0, out.stderr
        lost.append("clear.0 had alpha (format 8888), and the picture has none: what was" in out.stderr)
    assert lost == [False, True, False]


@pytest.mark.parametrize("size", [(8, 8), (16, 32)])
def test_keep_alpha_takes_that_of_the_texture(size: tuple[int, int], library: Path, tmp_path: Path) -> None:
    source, first, second = tmp_path / "clear.png", noise(8, 8), noise(*size, alpha=False)
    run("gltf2msh", save(source, first), "--into", library)
    out = run("gltf2msh", save(source, second), "--into", library, "--keep-alpha")
    assert (out.returncode, "had alpha" in out.stderr) == (0, False), out.stderr
    archive = load(library)
    rgba = read_texm(archive.entries[at(archive, "clear.0")].payload, "x").rgba()
    np.testing.assert_array_equal(rgba[..., :3], second[..., :3])
    np.testing.assert_array_equal(rgba[..., 3], first[..., 3].repeat(size[0] // 8, 0).repeat(size[1] // 8, 1))


def test_one_run_at_a_time(library: Path, tmp_path: Path) -> None:
    """Two that read the same library would lose one of two textures."""
    source = save(tmp_path / "new.png", noise(4, 4))
    with only_run(library.parent):
        out = run("gltf2msh", source, "--into", library)
    assert (out.returncode, "another run is at work" in out.stderr) == (2, True)
    assert library.read_bytes() == (LIBS / "Textures.lib").read_bytes()


def test_long_names_are_said(library: Path, tmp_path: Path) -> None:
    source = save(tmp_path / "a_wall_of_bricks.png", noise(4, 4))
    out = run("gltf2msh", source, "--into", library)
    assert out.returncode == 0
    assert "a material's texture name only room for 16" in out.stderr


# ------------------------------------------------------------------ refusals


def deep(colour: int, channels: int) -> bytes:
    """A PNG of 4 x 4 pixels with 16 bits a channel."""
    head = struct.pack(">IIBBBBB", 4, 4, 16, colour, 0, 0, 0)
    rows = zlib.compress(bytes(1 + 8 * channels) * 4)
    chunks = [(b"IHDR", head), (b"IDAT", rows), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


@pytest.mark.parametrize(
    ("make", "arguments", "said"),
    [
        (lambda p: save(p, noise(4, 6)), (), "sides of a texture must be powers of two: 6 x 4"),
        (lambda p: save(p, noise(4, 8)), ("--mips", 4), "levels do not fit the size: 4"),
        (lambda p: p.write_bytes(deep(0, 1)), (), "picture has 16 bits a channel"),
        (lambda p: p.write_bytes(deep(2, 3)), (), "picture has 16 bits a channel"),
        (lambda p: p.write_bytes(deep(6, 4)), (), "picture has 16 bits a channel"),
        (lambda p: p.write_bytes(deep(2, 3)[:33] + deep(2, 3)[-12:]), (), "cannot be read as PNG"),
        (lambda p: p.write_bytes(b"no picture"), (), "cannot be read as PNG"),
        (lambda p: save(p, noise(64, 64)) and p.write_bytes(p.read_bytes()[:999]), (), "as PNG"),
        (lambda p: None, (), "cannot be read as PNG (No such file or directory)"),
        (lambda p: save(p, noise(4, 4)), ("--game", "."), "--game is for models, not for pictures"),
        (lambda p: save(p, noise(4, 4)), ("--into", "x.lib"), "expected a library such as"),
        (lambda p: save(p, noise(4, 4)), ("--into", "x", "-o", "y"), "exclude each other"),
        (lambda p: save(p, noise(4, 4)), ("-o", "Textures.lib"), "--into puts it into a library"),
    ],
)
def test_what_is_refused(make, arguments: tuple[object, ...], said: str, tmp_path: Path) -> None:
    make(tmp_path / "wall.png")
    before = sorted(tmp_path.iterdir())
    out = run("gltf2msh", "wall.png", *arguments, cwd=tmp_path)
    assert out.returncode == 2
    assert said in out.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_what_else_is_refused(library: Path, tmp_path: Path) -> None:
    out = run("gltf2msh", tmp_path / "m.glb", "--texm", 565)
    assert "--texm is for pictures (.png)" in out.stderr
    out = run("msh2gltf", library)
    assert "archive holds no core model; choose a texture with --entry NAME" in out.stderr
    out = run("msh2gltf", library, "--entry", "0", "-o", tmp_path / "x.glb")
    assert "expected a directory or a file ending in .png" in out.stderr
    cut = bytes(load(library).entries[0].payload[:40])
    (tmp_path / "cut.0").write_bytes(cut)
    out = run("msh2gltf", tmp_path / "cut.0")
    assert out.returncode == 2
    assert "do not fit the data" in out.stderr
    model = tmp_path / "models.rlb"
    room = sample_called("retail__static__i_room_006").path.read_bytes()
    model.write_bytes(archive_bytes([game_entry(1, b"wall.0", room)]))
    source = save(tmp_path / "wall.png", noise(4, 4))
    out = run("gltf2msh", source, "--into", model)
    assert (out.returncode, "is no texture" in out.stderr) == (2, True)
    out = run("gltf2msh", save(tmp_path / "壁.png", noise(4, 4)), "--into", library)
    assert "letters that CP1251 lacks" in out.stderr
    assert library.read_bytes() == bytes(read_file(LIBS / "Textures.lib"))
    assert not (library.parent / VAULT).exists()
