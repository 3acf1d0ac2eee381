"""Where libraries are looked for, and what is shown of names that none has."""

from pathlib import Path

from msh_gltf.converter.files import Later
from msh_gltf.converter.formats.material import TEXTURES
from msh_gltf.converter.kinds.appearance import Libraries, with_libraries_around
from tests.support.corpus import LIBS


def test_missing_libraries(tmp_path: Path) -> None:
    """Nothing there: a grey look, and one warning that names the places tried."""
    libraries = Libraries([tmp_path, tmp_path / "nowhere"])
    look = libraries.material("Metal_002")
    assert (look.step, look.material, look.texture) == ("missing", "", "")
    assert libraries.find(TEXTURES, "TEX_000.0") is None
    assert libraries.material("other").colour == look.colour
    assert len(libraries.warnings) == 2
    assert f"no Material.lib in {tmp_path}, {tmp_path / 'nowhere'}" in libraries.warnings[0]


def test_unknown_names_and_case(tmp_path: Path) -> None:
    for name in ("Material.lib", "Textures.lib"):
        (tmp_path / name.upper()).write_bytes((LIBS / name).read_bytes())
    libraries = Libraries([tmp_path])
    assert libraries.material("mEtAl_002").step == "name"
    look = libraries.material("of no library")
    assert look.step == "DEFAULT"
    assert look.material == "DEFAULT"
    assert libraries.find(TEXTURES, look.texture.lower()) is not None
    assert libraries.find(TEXTURES, "no such") is None
    libraries.material("of no library")
    assert len(libraries.warnings) == 2
    assert "has no material 'of no library': 'DEFAULT' is shown" in libraries.warnings[0]
    assert "has no texture 'no such'" in libraries.warnings[1]


def test_libraries_beside_what_is_converted_are_looked_in_too(tmp_path: Path) -> None:
    """After those that the user named, and before those of the game around it."""
    own = tmp_path / "game" / "level"
    own.mkdir(parents=True)
    (own / "Textures.lib").write_bytes((LIBS / "Textures.lib").read_bytes())
    assert with_libraries_around(own, []) == []
    assert with_libraries_around(own, [LIBS]) == [LIBS, own]
    (own.parent / "Material.lib").write_bytes((LIBS / "Material.lib").read_bytes())
    assert with_libraries_around(own, []) == [own.parent]
    assert with_libraries_around(own, [LIBS]) == [LIBS, own, own.parent]
    assert with_libraries_around(own.parent, [LIBS]) == [LIBS, own.parent]


def test_a_texture_is_read_once() -> None:
    libraries = Libraries([LIBS])
    library = libraries.library(TEXTURES)
    assert library is not None
    entry, reads = library.entries[0], []
    stored = entry.__dict__["_payload"]
    assert isinstance(stored, Later)

    def read(start: int, count: int) -> memoryview | bytes:
        reads.append(count)
        return stored.read(start, count)

    entry.__dict__["_payload"] = Later(stored.size, read)
    assert libraries.picture(TEXTURES, entry.name) is not None
    assert libraries.picture(TEXTURES, entry.name) is not None
    assert reads == [stored.size]
