"""Files of every format, by name: bundled ones, made ones with everything that a format has, and broken ones."""

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.model import TABLES
from msh_gltf.converter.formats.model_parts import ControlPoint
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.nres_edits import name_field
from msh_gltf.converter.formats.sidecar import Description, Sidecar, sha256, write_sidecar
from tests.fuzz.mutate import join_nres
from tests.support import assembly as make
from tests.support import controller as control
from tests.support.corpus import DATA, LIBS
from tests.support.rsli import cipher, library


def bundled(pattern: str, folder: Path = DATA) -> Callable[[], dict[str, bytes]]:
    return lambda: {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.glob(pattern))}


def entries_of(*libraries: str) -> Callable[[], dict[str, bytes]]:
    def files() -> dict[str, bytes]:
        archives = [read_nres(read_file(LIBS / name), name) for name in libraries]
        return {entry.name: bytes(entry.payload) for archive in archives for entry in archive.entries}

    return files


def archives() -> dict[str, bytes]:
    one = [9, 1, 2, 3, b"a.b\0tail".ljust(36, b"\xcc"), b"xyz"]
    other = [7, 9, 8, 0xFFFFFFFF, name_field("башня".encode("cp1251")), b""]
    shared = bytearray(join_nres([one, other, one]))
    struct.pack_into("<I", shared, len(shared) - 8, 16)  # two entries on one payload, and a gap
    return {"empty": join_nres([]), "two": join_nres([one, other]), "shared": bytes(shared)}


def models() -> dict[str, bytes]:
    """Bundled ones, and one with random bytes of the right stride in every table, strings, and an unknown table."""
    dice, tables = np.random.default_rng(7), []
    for spec in TABLES.values():
        if spec.dtype is not None:
            rows = 2 if spec.per_vertex or spec.stream == 1 else 3
            tables.append((spec.stream, spec.attr3, dice.bytes(spec.start + rows * spec.dtype.itemsize)))
    tables += [(10, 0, struct.pack("<2I", 0, 3) + b"abc\0"), (20, 0, b"nine here"), (99, 0, b"unknown")]
    rows = [[kind, 100 + kind, 200 + kind, attr3, name_field(b"Res"), data] for kind, attr3, data in tables]
    return bundled("*.msh")() | {"made": join_nres(rows)}


def areal(corners: int, polys: tuple[int, ...], fill: bytes) -> bytes:
    """An areal: opaque bytes everywhere but in the counts."""
    head = fill * 12 + struct.pack("<2I", corners, len(polys))
    tail = b"".join(struct.pack("<I", n) + fill * (3 * n) for n in polys)
    return head + fill * (5 * corners + 6 * len(polys)) + tail


def areal_maps() -> dict[str, bytes]:
    """Bundled ones, and two of other entries, NaN, polys, empty cells and a grid that is not square."""
    found = bundled("maps/*/Land.map")()
    cells = struct.pack("<2I", 2, 3) + b"".join(
        struct.pack(f"<{len(cell) + 1}H", len(cell), *cell) for cell in ([0], [], [1, 0], [1], [0xFFFF], [])
    )
    for name, fill in (("letters", b"Z~aQ"), ("nan", b"\1\0\xc0\x7f")):
        payload = areal(3, (1, 0, 2), fill) + areal(1, (), fill) + areal(0, (0,), fill) + cells
        other = [99, 1, 2, 3, name_field(b"Other"), b"kept as it is"]
        found[name] = join_nres(
            [other, [12, 3, 7, 9, name_field(b"Land"), payload], [12, 77, 0, 0, bytes(36), b"late"]]
        )
    return found


#: Texts of buildings, each odd in a way, or in none.
BUILDINGS = (
    b'Mine 2\n"UNITS\\a.dat"\n"b"\nPlant 1\n"c"\nHangar 0\n',
    b'//\r\r\nMine\t 2 \n \t\n  "a\\b"  \r  // c\n"c"\n\n// end',
    'Mine 1\n"Шахта"\n"x" // not one\n'.encode("cp1251"),
    b'Mine 1\n"\x98\xc0"',
    b'Mine 1\n"a"\nFoo 1\n"b"\nPlant 0',
    b'mine 1\n"a"',
    b'Mine 2\n"a"\n\nPlant 0',
    b'\r\nMine 2\r\n"a"\r\n//',
    b'Mine 1\n"a"\n"b"\n"c"',
    b'"a"\nMine 0',
    b'Mine x\n"a"\n"b"\nPlant 0',
    b'Mine\n"a"',
    b"Mine -1\n",
    b"Mine 1234567890\n",
    b"Mine " + b"9" * 5000,  # past what int() takes
    b"Mine 1 // one\n",
    b"Foo -1\n",
    b'Mine 2\nUNITS\\a.dat\n"b"',
    b"Mine 1\nUNITS\\a 1",
    b'Mine 1\n"a',
    b'Mine 1\n"a" "b"',
    b"what is this\nMine 0",
    b'Mine 1\n"a"\nMine 1\n"b"',
    b'Plant 3\n"a"\nMine 1\nx\n"y"',
    b'Foo 1\n"f"\nMine x\n"a"\nb\n"c"\nPlant 2\np\n"q"\n"stray"\nMine 1\n"twice"\nHangar 5\n"h"',
)
#: Lists of materials, each odd in a way, or in none.
MATERIAL_LISTS = (
    b"2\r\n0 wall\r\n1 B_ROOF\r\n\r\nLIGHTMAPS\r\n1\r\n0 LM_1\r\n",
    b"",
    b"two\n0 a\n",
    b"-1\n0 a\n",
    b"9" * 5000,
    b"3\n0 a\n1 b\n",
    b"9\n0 a\n\nLIGHTMAPS\n1\n0 l\n",
    b"1\n0 a\n1 b\n2 c\n",
    b"2\n0 a\n7\n",
    b"3\n0 a\n\n2 c\n",
    b"3\n0 a\n5 b\n6 c\n\nstray\nmore\n",
    b"2\n00 a\n01 b\n",
    b"1\nx a\n",
    b"1\n0 a\nLIGHTMAPS\n1\n0 l\n",
    b"1\n0 a\n\nLIGHTMAPS\n",
    b"1\n0 a\n\nLIGHTMAPS\nmany\n",
    b"1\n0 a\n\nLIGHTMAPS\n2\n0 l\n",
    b"1\n0 a\n\n lightmaps \n\n1\n1 l\n",
    b"LIGHTMAPS\n1\n0 l\n",
    b"1\r0 two words \r\0\0",
    b"1\n0 \xcb\xe5\xf1",
)


def numbered(files: tuple[bytes, ...]) -> dict[str, bytes]:
    return {f"text {number}": data for number, data in enumerate(files)}


def materials() -> dict[str, bytes]:
    """Bundled ones, and one with another value in every byte, tracks and a tail."""
    track = struct.pack("<IH", 0b10101_010, 1) + struct.pack("<HHH", 1, 500, 3)
    phase = struct.pack("<4s4s4s4sBb16s", b"\x10\x20\x30\x50", b"DIFA", b"SPEA", b"EMIA", 7, 3, b"sixteen_letters_")
    header = struct.pack("<HHBBfI", 2, 2, 5, 9, 1.5, 77)
    return entries_of("Material.lib")() | {"made": header + phase + phase[::-1] + track + track + b"tail"}


def textures() -> dict[str, bytes]:
    """Bundled ones, and one of each format with levels, odd sides, words and a page."""
    found = entries_of("Textures.lib", "lightmap.lib")()
    for kind, width in ((0, 1), (565, 2), (556, 2), (4444, 2), (88, 2), (888, 4), (8888, 4)):
        head = struct.pack("<4s7I", b"Texm", 5, 3, 3, 32, 70000, 9, kind)
        dice = np.random.default_rng(kind)
        page = b"Page" + struct.pack("<I8H", 2, 0, 3, 1, 2, *range(65532, 65536))
        found[f"made {kind}"] = head + dice.bytes(1024 * (not kind) + width * (15 + 2 + 1)) + page + b"tail"[: kind % 5]
    return found


def missions() -> dict[str, bytes]:
    return {f"version {number}": make.full_mission(number) for number in range(1, 11)}


def units() -> dict[str, bytes]:
    """Trees of components, and counts of children that make none."""
    parts = [
        ("u_walker", 0, -1, 5),
        ("e_tur", 1, 3, 0),
        ("E_GUN_1", 2, 2, 0),
        ("e_plate", 2, 2, 0),
        ("i_comp", 3, 0, 0),
    ]
    parts += [("e_gun_2", 4, 5, 1), ("i_clip", 5, 0, 0)]
    trees = ([0], [1, 1, 1, 0], [2, 2, 0, 1, 0, 0], [3, 0, 2, 0, 0, 1, 0], [], [0, 0], [2, 0], [1, 1], [-1])
    made = {str(counts): make.unit([(f"k{row}", row, row, n) for row, n in enumerate(counts)], 7) for counts in trees}
    return made | {"walker": make.unit(parts)}


def registries() -> dict[str, bytes]:
    """Rows that decide and rows that do not, one to four parents, a circle, and keys that lead nowhere."""
    rows: dict[str, tuple[str, list[tuple[str, str]]]] = {
        "s_tree": ("STAT", [("", ""), ("static.rlb", "TREE.MSH"), ("static.rlb", "old.msh"), ("static.rlb", "o.wea")]),
        "base": ("EXTO", [("Fortif.rlb", "base.msh"), ("Fortif.rlb", "base.wea")]),
        "fr_1": ("FORT", [("Objects.RLB", "BASE"), ("Fortif.rlb", "b1.bas"), ("a.rlb", "own.wea")]),
        "fr_2": ("FORT", [("objects.rlb", "fr_1")]),
        "fr_3": ("FORT", [("objects.rlb", "fr_2")]),
        "fr_4": ("FORT", [("objects.rlb", "fr_3")]),
        "loop_a": ("FORT", [("objects.rlb", "loop_b")]),
        "loop_b": ("FORT", [("objects.rlb", "loop_a"), ("x.rlb", "x.msh")]),
        "sun": ("SUNO", [("", "")]),
        "odd": ("FORT", [("objects.rlb", "nobody"), ("other.rlb", "base")]),
    }
    return {"made": make.registry(rows)}


def controllers() -> dict[str, bytes]:
    """The walker's, and one whose ranges are chains from anchor to anchor, some of which lead nowhere."""
    state = control.State
    states = [state((2, 2), True), state((2, 5), speed=(2, 8)), state((5, 13), speed=(2, 10)), state((13, 13), True)]
    states += [state((13, 4)), state((2, 20), speed=(-6, -2)), state((20, 20), True)]
    free = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6)]
    return {
        "empty": control.controller(contacts=[1, 2]),
        "walker": control.walker(),
        "other walker": control.walker(40, node=4, points=3),
        "chains": control.controller(states, free=free),
    }


def footings() -> dict[str, bytes]:
    dice = np.random.default_rng(1)
    rings = [(3, 5), (0, 0), (1, 2)]
    return {
        f"{n} and {m}": struct.pack("<2i", 1, n)
        + dice.bytes(12 * (n + 1) + 8 * n)
        + struct.pack("<2i", 7, m)
        + dice.bytes(12 * (m + 1))
        for n, m in rings
    }


def node_properties() -> dict[str, bytes]:
    dice = np.random.default_rng(2)
    return {f"{n} nodes": struct.pack("<I", n) + dice.bytes(76 * n) for n in (0, 1, 3)}


def libraries() -> dict[str, bytes]:
    """Contents that each method packs, with and without a trailer that shifts the offsets."""
    data = b"abc" * 20 + bytes(range(40)) + b" " * 30
    methods = (0x000, 0x020, 0x040, 0x060, 0x080, 0x0A0, 0x100)
    rows = [(f"N{method:x}", data[method % 7 :], method) for method in methods]
    longer = bytearray(library([("A", b"content" * 9, 0x100)]))
    row = bytearray(cipher(bytes(longer[32:64])))
    row[28] += 1  # as of an entry of sprites.lib, which is at its end
    longer[32:64] = cipher(bytes(row))
    unknown = library([("A", b"a", 0x1E0)])
    return {"plain": library(rows), "overlay": library(rows, 7), "unknown": unknown, "a byte more": bytes(longer)}


def sidecars() -> dict[str, bytes]:
    """With nothing more than version 0.1 wrote, with everything, with others attached; and what cannot be read."""
    about = Description("башня.msh", sha256(b"model"), "retail", "because", "samples", 2, 0, "1", ["м", ""])
    point = ControlPoint("a.point", 3, 1, (0.1, -2.0, 3e5), (0.0, 0.0, 1.0))
    whole = replace(about, points=[point], companions={".cpt": b"\0\xff", ".wea": b""}, tolerant=True)
    other = Sidecar(replace(about, source="b.msh", source_sha256=sha256(b"two")), b"two")
    plain = write_sidecar(Sidecar(about, b"model"))
    files = {
        "plain": plain,
        "whole": write_sidecar(Sidecar(whole, b"model")),
        "attached": write_sidecar(Sidecar(about, b"model", [other, other])),
        "nested": write_sidecar(Sidecar(about, b"model", [Sidecar(about, b"model", [other])])),
        "another source": write_sidecar(Sidecar(about, b"other")),
        "another version": plain[:8] + b"\2" + plain[9:],
        "a huge source": plain[:16] + b"\xff" * 8 + plain[24:],
    }
    strange: list[dict[str, Any]] = [{"dialect": "klingon"}, {"lod": 3}, {"group": "x"}, {"tolerant": "yes"}]
    strange += [{"points": [()]}, {"points": [("a", 1, 0, (0, 0), (0, 0, 1))]}]
    for one in strange:
        files[str(one)] = write_sidecar(Sidecar(replace(about, **one), b"model"))
    text = json.loads(plain[56 : 56 + struct.unpack_from("<I", plain, 12)[0]])
    for sizes in ([-1], [6], [1, -1], [2**70], ["1"], 5):
        rest = json.dumps(text | {"attached": sizes}).encode()
        head = struct.pack("<8sIIQ", b"MSHSIDE\x1a", 1, len(rest), 5)
        files[f"attached {sizes}"] = head + hashlib.sha256(rest + b"model").digest() + rest + b"model"
    return files
