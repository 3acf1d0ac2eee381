"""Broken lists, materials and textures."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from msh_gltf.converter.formats.model_parts import POINTS_TYPE
from tests.support.corruption.base import DATA, Entry, Made, Nres, change, cut, kinds, need, pack, put, written
from tests.support.game import MESH, archive, entry
from tests.support.points import cpt


def _files(*patterns: str) -> list[Made]:
    return [Made(path.name, path.read_bytes()) for pattern in patterns for path in sorted(DATA.glob(pattern))]


def _lines(name: str) -> Callable[..., Path]:
    return written(name, lambda data: data.splitlines(keepends=True), b"".join)


of_build = kinds("BuildDat", lambda: _files("BuildDat.lst"), _lines("BuildDat.lst"))
of_wear = kinds("WEAR", lambda: _files("*.wea"), _lines("model.wea"))


def _header(lines: list[bytes]) -> int:
    """The line of a category that has paths."""
    return next(i for i, line in enumerate(lines) if line.startswith(b"Bunker_Medium"))


# fmt: off
of_build("build-category", "category-unknown", lambda lines: put(lines, _header(lines), b"Castle 3\r\n"))
of_build("build-category", "category-in-lower-case", lambda lines: put(lines, _header(lines), b"bunker_medium 3\r\n"))
of_build("build-count", "count-too-large", lambda lines: lines.append(b"Hangar 99\r\n"))
of_build("build-count", "count-negative", lambda lines: put(lines, _header(lines), b"Bunker_Medium -3\r\n"))
of_build("build-count", "count-of-letters", lambda lines: put(lines, _header(lines), b"Bunker_Medium three\r\n"))
of_build("build-stray", "path-too-many", lambda lines: put(lines, _header(lines), b"Bunker_Medium 2\r\n"))
of_build("build-line", "line-of-junk", lambda lines: lines.insert(0, b"\x00\xff junk junk\r\n"))
of_build("build-twice", "category-twice", lambda lines: lines.append(b"\r\nBunker_Medium 0\r\n"))
of_build("build-count", "count-of-many-digits",
    lambda lines: put(lines, _header(lines), b"Bunker_Medium " + b"9" * 5000 + b"\r\n"))
of_build("build-path", "path-without-quotes",
    lambda lines: put(lines, at := _header(lines) + 1, lines[at].replace(b'"', b"")))
# fmt: on


def _no_lightmaps(lines: list[bytes]) -> None:
    need(b"LIGHTMAPS" not in b"".join(lines).upper())


# fmt: off
of_wear("wear-count", "wear-empty", lambda lines: lines.clear())
of_wear("wear-count", "wear-count-of-letters", lambda lines: put(lines, 0, b"many\r\n"))
of_wear("wear-count", "wear-count-too-large", lambda lines: put(lines, 0, b"99999\r\n"))
of_wear("wear-count", "wear-count-of-many-digits", lambda lines: put(lines, 0, b"9" * 5000 + b"\r\n"))
of_wear("wear-row", "wear-row-without-a-name", lambda lines: put(lines, 1, b"0\r\n"))
of_wear("wear-id", "wear-id-is-not-the-row", lambda lines: put(lines, 1, b"77 NAME\r\n"))
of_wear("wear-count", "wear-lightmaps-without-a-count",
    lambda lines: (_no_lightmaps(lines), lines.extend([b"\r\n", b"LIGHTMAPS\r\n"])))
of_wear("wear-extra", "wear-row-too-many", lambda lines: (_no_lightmaps(lines), lines.append(b"9 EXTRA\r\n")))
of_wear("wear-blank", "wear-lightmaps-without-a-blank-line",
    lambda lines: (_no_lightmaps(lines), lines.extend([b"LIGHTMAPS\r\n", b"1\r\n", b"0 LM\r\n"])))
# fmt: on


# ------------------------------------------------------------------ MAT0 and Texm


def _members(library: str) -> Callable[[], list[Made]]:
    """Each entry of a bundled library, in one of its own."""

    def members() -> list[Made]:
        box = Nres.read((DATA / "libs" / library).read_bytes())
        return [Made(f"{library}:{row}", Nres([replace(one, sort=0)]).write()) for row, one in enumerate(box.entries)]

    return members


write_member = written("one.lib", lambda data: Nres.read(data).entries[0], lambda entry: Nres([entry]).write())
of_material = kinds("MAT0", _members("Material.lib"), write_member)
of_texture = kinds("Texm", _members("Textures.lib"), write_member)
of_lightmap = kinds("Texm of a lightmap", _members("lightmap.lib"), write_member)


def _tracks(entry: Entry) -> tuple[int, int]:
    """Where the tracks start, and how many there are."""
    phases, tracks = struct.unpack_from("<2H", entry.data)
    return 14 + 34 * phases, tracks


def _with_track(entry: Entry) -> int:
    """Where the first key of a track is; one is added where there is none."""
    at, tracks = _tracks(entry)
    if not tracks:
        struct.pack_into("<H", entry.data, 2, 1)
        entry.data[at:at] = struct.pack("<IH3H", 0, 1, 0, 100, 0)
    need(struct.unpack_from("<H", entry.data, at + 4)[0])
    return at + 6


# fmt: off
of_material("material-version", "version-5", lambda entry: change(entry, attr2=5))
of_material("material-header", "material-of-5-bytes", lambda entry: cut(entry.data, 5))
of_material("material-header", "material-empty", lambda entry: entry.data.clear())
of_material("material-phases", "no-phases", lambda entry: pack("<H", entry.data, 0, 0))
of_material("material-phases", "phases-past-the-entry", lambda entry: pack("<H", entry.data, 0, 0xFFFF))
of_material("material-phases", "phase-cut", lambda entry: cut(entry.data, 14 + 20))
of_material("material-alpha", "alpha-of-200", lambda entry: put(entry.data, 14 + 3, 200))
of_material("material-kind", "kind-of-77", lambda entry: change(entry, attr1=77))
of_material("material-key-phase", "key-past-the-phases",
    lambda entry: pack("<H", entry.data, _with_track(entry), 0xFFFF))
of_material("material-key-word", "key-word-not-zero", lambda entry: pack("<H", entry.data, _with_track(entry) + 4, 1))
of_material("material-tail", "bytes-behind-the-tracks", lambda entry: entry.data.extend(b"tail"))
of_material("material-keys", "keys-past-the-entry",
    lambda entry: pack("<H", entry.data, _with_track(entry) - 2, 0xFFFF))
# fmt: on


of_material("material-tracks", "tracks-past-the-entry", lambda entry: _with_tracks(entry, 0xFFFF, b""))


def _write_points(folder: Path, sample: Made, change: Callable[[bytearray], None]) -> Path:
    """An archive of a model and its control points."""
    data = bytearray(cpt([("Eye", 0, (1.0, 2.0, 3.0), (0.0, 1.0, 0.0))]))
    change(data)
    path = folder / "game.rlb"
    path.write_bytes(archive([entry(MESH, b"a.msh", sample.data), entry(POINTS_TYPE, b"a.cpt", bytes(data))]))
    return path


of_points = kinds("control points", lambda: _files("retail__*.msh"), _write_points)


of_points("points-size", "points-cut", lambda data: data.pop())
of_points("points-size", "points-many", lambda data: pack("<I", data, 0, 0xFFFFFFFF))
of_points("point-place", "point-on-no-node", lambda data: pack("<i", data, 8, 9999))
of_points("point-place", "point-on-a-negative-node", lambda data: pack("<i", data, 8, -1))
of_points("point-place", "point-nowhere", lambda data: pack("<f", data, 4 + 12, float("nan")))


# fmt: off
#: For textures and lightmaps alike.
TEXTURES = [
    ("texm-magic", "magic-wrong", lambda entry: put(entry.data, slice(None, 4), b"DDS ")),
    ("texm-magic", "texture-empty", lambda entry: entry.data.clear()),
    ("texm-header", "texture-of-20-bytes", lambda entry: cut(entry.data, 20)),
    ("texm-format", "format-of-7", lambda entry: pack("<I", entry.data, 28, 7)),
    ("texm-sides", "width-zero", lambda entry: pack("<I", entry.data, 4, 0)),
    ("texm-mips", "no-levels", lambda entry: pack("<I", entry.data, 12, 0)),
    ("texm-mips", "levels-huge", lambda entry: pack("<I", entry.data, 12, 0xFFFFFFFF)),
    ("texm-size", "sides-huge", lambda entry: pack("<2I", entry.data, 4, 0x7FFFFFFF, 0x7FFFFFFF)),
    ("texm-size", "pixels-cut", lambda entry: cut(entry.data, 40)),
    ("texm-word16", "word16-of-5", lambda entry: pack("<I", entry.data, 16, 5)),
    ("texm-page", "page-cut", lambda entry: _behind(entry, struct.pack("<4sI", b"Page", 0x7FFFFFFF))),
    (
        "texm-rect",
        "rectangle-outside",
        lambda entry: _behind(entry, b"Page" + struct.pack("<I4H", 1, 60000, 10, 0, 10)),
    ),
    ("texm-tail", "bytes-behind-the-levels", lambda entry: _behind(entry, b"junk")),
]
# fmt: on
for of_picture in (of_texture, of_lightmap):
    for row in TEXTURES:
        of_picture(*row)


def _behind(entry: Entry, data: bytes) -> None:
    """Bytes instead of the page of rectangles."""
    at = entry.data.rfind(b"Page")
    put(entry.data, slice(at if at >= 32 else len(entry.data), None), data)


def _with_tracks(entry: Entry, count: int, tracks: bytes) -> None:
    put(entry.data, slice(_tracks(entry)[0], None), tracks)
    pack("<H", entry.data, 2, count)


# fmt: off
of_material("material-many", "twenty-tracks",
    lambda entry: _with_tracks(entry, 20, struct.pack("<IH3H", 0, 1, 0, 100, 0) * 20))
of_build("build-empty", "path-empty",
    lambda lines: put(lines, [line.strip()[:1] for line in lines].index(b'"'), b'""\r\n'))
# fmt: on
