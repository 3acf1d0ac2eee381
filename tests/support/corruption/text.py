"""Broken lists, materials and textures."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msh_gltf.converter.formats.control_points import POINTS_TYPE
from tests.support.corruption.base import DATA, Entry, NotHere, Nres, kinds
from tests.support.game import MESH, archive, entry
from tests.support.points import cpt


@dataclass(frozen=True)
class Text:
    """A bundled text file."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name


def _writer(name: str) -> Callable[..., Path]:
    def write(folder: Path, sample: Text, change: Callable[[list[bytes]], None]) -> Path:
        lines = sample.path.read_bytes().splitlines(keepends=True)
        change(lines)
        path = folder / name
        path.write_bytes(b"".join(lines))
        return path

    return write


of_build = kinds("BuildDat", lambda: [Text(DATA / "BuildDat.lst")], _writer("BuildDat.lst"))
of_wear = kinds("WEAR", lambda: [Text(path) for path in sorted(DATA.glob("*.wea"))], _writer("model.wea"))


def _header(lines: list[bytes]) -> int:
    """The line of a category that has paths."""
    return next(i for i, line in enumerate(lines) if line.startswith(b"Bunker_Medium"))


@of_build("build-category")
def category_unknown(lines: list[bytes]) -> None:
    lines[_header(lines)] = b"Castle 3\r\n"


@of_build("build-category")
def category_in_lower_case(lines: list[bytes]) -> None:
    lines[_header(lines)] = b"bunker_medium 3\r\n"


@of_build("build-count")
def count_too_large(lines: list[bytes]) -> None:
    lines.append(b"Hangar 99\r\n")


@of_build("build-count")
def count_negative(lines: list[bytes]) -> None:
    lines[_header(lines)] = b"Bunker_Medium -3\r\n"


@of_build("build-count")
def count_of_letters(lines: list[bytes]) -> None:
    lines[_header(lines)] = b"Bunker_Medium three\r\n"


@of_build("build-count")
def count_of_many_digits(lines: list[bytes]) -> None:
    lines[_header(lines)] = b"Bunker_Medium " + b"9" * 5000 + b"\r\n"


@of_build("build-path")
def path_without_quotes(lines: list[bytes]) -> None:
    at = _header(lines) + 1
    lines[at] = lines[at].replace(b'"', b"")


@of_build("build-stray")
def path_too_many(lines: list[bytes]) -> None:
    lines[_header(lines)] = b"Bunker_Medium 2\r\n"


@of_build("build-line")
def line_of_junk(lines: list[bytes]) -> None:
    lines.insert(0, b"\x00\xff junk junk\r\n")


@of_build("build-twice")
def category_twice(lines: list[bytes]) -> None:
    lines.append(b"\r\nBunker_Medium 0\r\n")


@of_wear("wear-count")
def wear_empty(lines: list[bytes]) -> None:
    lines.clear()


@of_wear("wear-count")
def wear_count_of_letters(lines: list[bytes]) -> None:
    lines[0] = b"many\r\n"


@of_wear("wear-count")
def wear_count_too_large(lines: list[bytes]) -> None:
    lines[0] = b"99999\r\n"


@of_wear("wear-count")
def wear_count_of_many_digits(lines: list[bytes]) -> None:
    lines[0] = b"9" * 5000 + b"\r\n"


@of_wear("wear-count")
def wear_lightmaps_without_a_count(lines: list[bytes]) -> None:
    if b"LIGHTMAPS" in b"".join(lines).upper():
        raise NotHere
    lines += [b"\r\n", b"LIGHTMAPS\r\n"]


@of_wear("wear-row")
def wear_row_without_a_name(lines: list[bytes]) -> None:
    lines[1] = b"0\r\n"


@of_wear("wear-id")
def wear_id_is_not_the_row(lines: list[bytes]) -> None:
    lines[1] = b"77 NAME\r\n"


@of_wear("wear-extra")
def wear_row_too_many(lines: list[bytes]) -> None:
    if b"LIGHTMAPS" in b"".join(lines).upper():
        raise NotHere
    lines.append(b"9 EXTRA\r\n")


@of_wear("wear-blank")
def wear_lightmaps_without_a_blank_line(lines: list[bytes]) -> None:
    if b"LIGHTMAPS" in b"".join(lines).upper():
        raise NotHere
    lines += [b"LIGHTMAPS\r\n", b"1\r\n", b"0 LM\r\n"]


# ------------------------------------------------------------------ MAT0 and Texm


@dataclass(frozen=True)
class Member:
    """An entry of a bundled library."""

    library: str
    row: int

    @property
    def id(self) -> str:
        return f"{self.library}:{self.row}"


def _members(library: str) -> Callable[[], list[Member]]:
    def members() -> list[Member]:
        box = Nres.read((DATA / "libs" / library).read_bytes())
        return [Member(library, row) for row in range(len(box.entries))]

    return members


def write_member(folder: Path, sample: Member, change: Callable[[Entry], None]) -> Path:
    box = Nres.read((DATA / "libs" / sample.library).read_bytes())
    box.entries = [box.entries[sample.row]]
    box.entries[0].sort = 0
    change(box.entries[0])
    path = folder / "one.lib"
    path.write_bytes(box.write())
    return path


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
    if not struct.unpack_from("<H", entry.data, at + 4)[0]:
        raise NotHere
    return at + 6


@of_material("material-version")
def version_5(entry: Entry) -> None:
    entry.attr2 = 5


@of_material("material-header")
def material_of_5_bytes(entry: Entry) -> None:
    del entry.data[5:]


@of_material("material-header")
def material_empty(entry: Entry) -> None:
    entry.data.clear()


@of_material("material-phases")
def no_phases(entry: Entry) -> None:
    struct.pack_into("<H", entry.data, 0, 0)


@of_material("material-phases")
def phases_past_the_entry(entry: Entry) -> None:
    struct.pack_into("<H", entry.data, 0, 0xFFFF)


@of_material("material-phases")
def phase_cut(entry: Entry) -> None:
    del entry.data[14 + 20 :]


@of_material("material-tracks")
def tracks_past_the_entry(entry: Entry) -> None:
    at, _ = _tracks(entry)
    del entry.data[at:]
    struct.pack_into("<H", entry.data, 2, 0xFFFF)


@of_material("material-keys")
def keys_past_the_entry(entry: Entry) -> None:
    at = _with_track(entry)
    struct.pack_into("<H", entry.data, at - 2, 0xFFFF)


@of_material("material-alpha")
def alpha_of_200(entry: Entry) -> None:
    entry.data[14 + 3] = 200


@of_material("material-kind")
def kind_of_77(entry: Entry) -> None:
    entry.attr1 = 77


@of_material("material-key-phase")
def key_past_the_phases(entry: Entry) -> None:
    struct.pack_into("<H", entry.data, _with_track(entry), 0xFFFF)


@of_material("material-key-word")
def key_word_not_zero(entry: Entry) -> None:
    struct.pack_into("<H", entry.data, _with_track(entry) + 4, 1)


@of_material("material-tail")
def bytes_behind_the_tracks(entry: Entry) -> None:
    entry.data += b"tail"


def _points() -> list[Text]:
    return [Text(path) for path in sorted(DATA.glob("retail__*.msh"))]


def _write_points(folder: Path, sample: Text, change: Callable[[bytearray], None]) -> Path:
    """An archive of a model and its control points."""
    data = bytearray(cpt([("Eye", 0, (1.0, 2.0, 3.0), (0.0, 1.0, 0.0))]))
    change(data)
    path = folder / "game.rlb"
    rows = [(MESH, b"a.msh", sample.path.read_bytes()), (POINTS_TYPE, b"a.cpt", bytes(data))]
    path.write_bytes(archive([entry(*row) for row in rows]))
    return path


of_points = kinds("control points", _points, _write_points)


@of_points("points-size")
def points_cut(data: bytearray) -> None:
    del data[-1]


@of_points("points-size")
def points_many(data: bytearray) -> None:
    struct.pack_into("<I", data, 0, 0xFFFFFFFF)


@of_points("point-place")
def point_on_no_node(data: bytearray) -> None:
    struct.pack_into("<i", data, 8, 9999)


@of_points("point-place")
def point_on_a_negative_node(data: bytearray) -> None:
    struct.pack_into("<i", data, 8, -1)


@of_points("point-place")
def point_nowhere(data: bytearray) -> None:
    struct.pack_into("<f", data, 4 + 12, float("nan"))


def _twice(code: str) -> Callable[[Callable[[Entry], None]], Callable[[Entry], None]]:
    """For textures and lightmaps alike."""

    def register(function: Callable[[Entry], None]) -> Callable[[Entry], None]:
        of_texture(code)(function)
        of_lightmap(code)(function)
        return function

    return register


@_twice("texm-magic")
def magic_wrong(entry: Entry) -> None:
    entry.data[:4] = b"DDS "


@_twice("texm-magic")
def texture_empty(entry: Entry) -> None:
    entry.data.clear()


@_twice("texm-header")
def texture_of_20_bytes(entry: Entry) -> None:
    del entry.data[20:]


@_twice("texm-format")
def format_of_7(entry: Entry) -> None:
    struct.pack_into("<I", entry.data, 28, 7)


@_twice("texm-sides")
def width_zero(entry: Entry) -> None:
    struct.pack_into("<I", entry.data, 4, 0)


@_twice("texm-mips")
def no_levels(entry: Entry) -> None:
    struct.pack_into("<I", entry.data, 12, 0)


@_twice("texm-mips")
def levels_huge(entry: Entry) -> None:
    struct.pack_into("<I", entry.data, 12, 0xFFFFFFFF)


@_twice("texm-size")
def sides_huge(entry: Entry) -> None:
    struct.pack_into("<2I", entry.data, 4, 0x7FFFFFFF, 0x7FFFFFFF)


@_twice("texm-size")
def pixels_cut(entry: Entry) -> None:
    del entry.data[40:]


@_twice("texm-word16")
def word16_of_5(entry: Entry) -> None:
    struct.pack_into("<I", entry.data, 16, 5)


def _without_page(entry: Entry) -> None:
    at = entry.data.rfind(b"Page")
    if at >= 32:
        del entry.data[at:]


@_twice("texm-page")
def page_cut(entry: Entry) -> None:
    _without_page(entry)
    entry.data += b"Page" + struct.pack("<I", 0x7FFFFFFF)


@_twice("texm-rect")
def rectangle_outside(entry: Entry) -> None:
    _without_page(entry)
    entry.data += b"Page" + struct.pack("<I4H", 1, 60000, 10, 0, 10)


@_twice("texm-tail")
def bytes_behind_the_levels(entry: Entry) -> None:
    _without_page(entry)
    entry.data += b"junk"


@of_material("material-many")
def twenty_tracks(entry: Entry) -> None:
    at, _ = _tracks(entry)
    entry.data[at:] = struct.pack("<IH3H", 0, 1, 0, 100, 0) * 20
    struct.pack_into("<H", entry.data, 2, 20)


@of_build("build-empty")
def path_empty(lines: list[bytes]) -> None:
    row = next(i for i, line in enumerate(lines) if line.strip().startswith(b'"'))
    lines[row] = b'""\r\n'
