"""Differences between two versions of an entry: exact, bounded, and without the base's bytes.

What is stored of each edit, and what comes of damaged differences, stands in ``differences.txt``;
``python -m tests.converter.game.test_differences`` writes it again, for you to read what became different.
"""

import re
import tracemalloc
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter.edits.areal_map import replace_polygons
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import write_areal_map
from msh_gltf.converter.formats.material import MATERIAL_TRACK_DTYPE, MATERIAL_TYPE
from msh_gltf.converter.formats.mission import read_mission, write_mission
from msh_gltf.converter.formats.model import TRIANGLE_DTYPE
from msh_gltf.converter.formats.objects import TAG_TYPES
from msh_gltf.converter.formats.tables import SLOT_DTYPE
from msh_gltf.converter.formats.wear import WEAR_TYPE
from msh_gltf.converter.game.changes import pack_changes, unpack_changes
from msh_gltf.converter.game.differences import Touched, apply, difference, digests, overlap, touched
from msh_gltf.converter.game.packing import UNPACKED_FLOOR, Packed, pack, repeats_base, unpack
from msh_gltf.converter.game.split import split
from msh_gltf.converter.kinds.new_entries import blank_material
from tests.support import assembly as make
from tests.support.areals import inner, own, sample
from tests.support.assembled_game import GameParts
from tests.support.corpus import DATA, SAMPLES
from tests.support.game_edits import bare, edited_model, edited_terrain
from tests.support.maps import BUNDLED
from tests.support.points import CTPT, POINTS, cpt
from tests.support.recorded import Recorded, digest

#: What is stored of each edit, and what comes of damaged differences.
STORED = Recorded(__file__, "differences.txt")
FILES = sorted(p for p in DATA.rglob("*") if p.suffix in (".msh", ".map", ".wea", ".lib"))
MODELS = [s.path for s in SAMPLES if s.path.parent == DATA and not s.truth["legacy"]][::2]
#: The five edits that a mod is typically made of.
TYPICAL = ("move node", "move vertices", "assign material", "change uv", "move key")
TOPOLOGY = ("delete triangles", "add triangles", "new object", "delete part", "duplicate node")


@cache
def edited() -> list[tuple[bytes, bytes, int | None]]:
    """Entries before and after edits of many kinds, and the types of those that have no signature."""
    kinds = (*TYPICAL, *TOPOLOGY, "animate node", "lengthen clip", "rename node")
    tried = [(path.read_bytes(), edited_model(path, k, 1)) for path in MODELS for k in kinds]
    out = [(before, after) for before, after in tried if after is not None]
    for level in BUNDLED:
        path = level.folder / "Land.msh"
        out.append((path.read_bytes(), edited_terrain(path, 1, 40)))
    areals, mission = sample(), read_mission(GameParts().mission, "x")
    smaller = {row: own(areals, row) * np.float32(0.99) for row in inner(areals, 3, 1)}
    out.append((write_areal_map(areals), write_areal_map(replace_polygons(areals, smaller))))
    more = replace(mission, objects=[*mission.objects, mission.objects[1]])
    out.append((write_mission(mission), write_mission(more)))
    return [*((before, after, None) for before, after in [*out, *odd()]), *plain(), (*moved_rows(), None)]


def odd() -> Iterator[tuple[bytes, bytes]]:
    """Models with fewer descriptors than triangles, with only a header of slots, of a dialect that an edit decides."""
    rock = next(path for path in MODELS if path.stem == "mixed__odd__s_rock_057")
    yield rock.read_bytes(), edited_model(rock, "turn node", 1)
    yield tuple(without_last_triangle(one) for one in (rock.read_bytes(), edited_model(rock, "move vertices", 1)))
    path = MODELS[0]
    whole, moved = (split("model", data) for data in (path.read_bytes(), edited_model(path, "move vertices", 1)))
    header = bytes(whole.tables["2.0h"].data)
    for table in (b"", header[:8]):
        changed = {"2.0": table, "2.0h": header[: 140 * (not table)]}
        first = whole.join(changed, {})
        yield first, split("model", first).join({"3.0": bytes(moved.tables["3.0"].data)}, {})
        yield whole.join({}, {}), first


def moved_rows() -> tuple[bytes, bytes]:
    """A row in front moves all others: by rows the difference would hold the table."""
    model = split("model", (DATA / "spec__odd__B_PLANT_008.msh").read_bytes())
    rows = np.random.default_rng(9).normal(size=(model.tables["3.0"].count, 3)).astype("<f4")
    before, after = (model.join({"3.0": np.roll(rows, by, axis=0).tobytes()}, {}) for by in (0, 1))
    return before, after


def without_last_triangle(data: bytes) -> bytes:
    """A model whose last triangle has no descriptor, and is in no slot: that is no error."""
    model = split("model", data)
    triangles = np.frombuffer(model.tables["7.0"].data, TRIANGLE_DTYPE)[:-1].copy()
    for edge in range(3):
        gone = triangles["link"][:, edge] == len(triangles)
        triangles["link"][gone, edge] = 0xFFFF
        triangles["selectors"][gone] |= 3 << 2 * edge
    slots = np.frombuffer(model.tables["2.0"].data, SLOT_DTYPE).copy()
    last = slots["tri_start"].astype(int) + slots["tri_count"] > len(triangles)
    slots["tri_count"][last] -= 1
    return model.join({"2.0": slots.tobytes(), "7.0": triangles.tobytes()}, {})


def plain() -> Iterator[tuple[bytes, bytes, int | None]]:
    """Entries without a signature: in each a row is another one, then a row is new."""
    wear = [b"2\r\n", b"0 A\r\n", b"1 B_LONGER\r\n", b"LIGHTMAPS\r\n", b"1\r\n", b"0 L\r\n"]
    for lines in ([*wear[:2], b"1 B_ROW\r\n", *wear[3:]], [b"3\r\n", *wear[1:3], b"2 C\r\n", *wear[3:]]):
        yield b"".join(wear), b"".join(lines), WEAR_TYPE
    parts = [("base", 0, -1, 2), ("gun", 3, 1, 0), ("wheel", 1, 2, 0)]
    for some in ([parts[0], ("gun", 4, 1, 0), parts[2]], [*parts, ("lamp", 1, 3, 0)]):
        yield make.unit(parts), make.unit(some), None
    rows = [make.row("static.rlb", f"{name}.msh") for name in "ab"]
    for some in ([rows[0], make.row("robots.rlb", "b.msh")], [*rows, make.row("static.rlb", "b.wea")]):
        yield b"".join(rows), b"".join(some), min(TAG_TYPES)
    moved = (*POINTS[0][:2], (1.0, 0.0, 0.876), POINTS[0][3])
    for points in ([moved, *POINTS[1:]], [*POINTS, POINTS[0]], []):
        yield cpt(POINTS), cpt(points), CTPT
    yield cpt([]), cpt(POINTS), CTPT
    material = bytearray(blank_material())
    material[2:6] = b"\1\0\1\2"
    yield blank_material(), bytes(material), MATERIAL_TYPE
    yield bytes(material), bytes(material) + bytes(MATERIAL_TRACK_DTYPE.itemsize), MATERIAL_TYPE


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes_become_any_others(before: bytes, after: bytes) -> None:
    diff = difference(before, after)
    assert apply(diff, before) == after
    assert digests(diff)[1] == digests(difference(None, after))[1]


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(FILES), st.booleans())
def test_cut_moved_and_changed_bytes_of_real_files_come_back(chance, path, sized) -> None:
    """``sized``: the file's size stays, so that its tables do."""
    before = path.read_bytes()
    after = bytearray(before)
    for _ in range(chance.randint(1, 6)):
        at, size = chance.randrange(len(after) or 1), chance.randrange(1, 400)
        size = min(size, len(after) - at)
        piece = chance.choice([b"", chance.randbytes(size), bytes(after[:size])])
        if sized:
            after[at : at + len(piece)] = piece
        else:
            after[at : at + chance.choice([0, size])] = piece
    type_id = WEAR_TYPE if path.suffix == ".wea" else None
    diff = difference(before, bytes(after), type_id=type_id)
    assert apply(diff, before) == bytes(after)


def stored() -> Iterator[tuple[str, str]]:
    """What is stored of each edit, there and back: it makes what it was made of, and holds no stretch of its base."""
    for number, (before, after, type_id) in enumerate(edited()):
        for way, base, made in ((">", before, after), ("<", after, before)):
            diff = difference(base, made, type_id=type_id)
            assert apply(diff, base) == made
            assert not any(repeats_base(part, base) for part in bare(diff, base))
            raw = zlib.decompress(diff[24:])
            text = ", ".join(f"{table} {kind} {rows}" for table, kind, rows in facts(touched(diff)))
            yield f"{number} {way}", f"{len(raw)} bytes {digest(raw)}; {text}"


def facts(places: list[Touched]) -> list[tuple[str, str, str]]:
    rows = [one.rows.tolist() for one in places]
    return [(p.table, p.kind, str(r) if len(r) < 9 else digest(r)) for p, r in zip(places, rows, strict=True)]


def test_edits_of_entries_come_back() -> None:
    for name, text in stored():
        STORED.require(name, text)


# ------------------------------------------------------------------ hostile input


def refused(diff: bytes, *bases: bytes | None) -> list[str]:
    """Everything that reads a difference gives a result or a ConversionError; in short, which."""
    reads, out = [partial(apply, diff, base) for base in bases], list[str]()
    for read in (*reads, lambda: facts(touched(diff)), lambda: facts(overlap(diff, diff))):
        try:
            out.append(digest(read()))
        except ConversionError as error:
            out.append(str(error))
    return out


def repacked(diff: bytes, chance: np.random.Generator) -> bytes:
    """A difference whose parts were changed, and that unpacks."""
    text_size = int.from_bytes(diff[12:16], "little")
    raw = zlib.decompress(diff[24:])
    facts, text, payload = raw[:72], raw[72 : 72 + text_size], bytearray(raw[72 + text_size :])
    numbers = list(re.finditer(rb'\d+|true|"[^"]*"', text))
    odd = (b"0", b"-1", b"4294967295", b"9" * 30, b"1e308", b"NaN", b"null", b"[]", b"{}", b'"7.0"')
    for _ in range(int(chance.integers(1, 4))):
        match chance.integers(3):
            case 0 if numbers:
                found = numbers[chance.integers(len(numbers))]
                if text[found.start() : found.end()] == found[0]:
                    word = odd[chance.integers(len(odd))]
                    text = text[: found.start()] + word + text[found.end() :]
            case 1 if payload:
                payload[chance.integers(len(payload))] = int(chance.choice([0, 1, 128, 255]))
            case _:
                del payload[chance.integers(len(payload) + 1) :]
    sizes = len(text).to_bytes(4, "little") + len(payload).to_bytes(8, "little")
    return diff[:12] + sizes + zlib.compress(facts + text + bytes(payload))


def damaged() -> Iterator[tuple[str, str]]:
    """What comes of damaged differences, a hundred on a line, but for those that do not unpack."""
    chance, said = np.random.default_rng(12), list[list[str]]()
    cases = [(difference(a, b, type_id=of), a, b) for a, b, of in edited() if len(a) < 20_000]
    for number in range(1500):
        diff, before, after = cases[chance.integers(len(cases))]
        other = cases[chance.integers(len(cases))][1]
        match how := chance.integers(3):
            case 0:
                hostile = diff[: chance.integers(len(diff))]
            case 1:
                flipped = bytearray(diff)
                flipped[chance.integers(len(diff))] ^= 1 << int(chance.integers(8))
                hostile = bytes(flipped)
            case _:
                hostile = repacked(diff, chance)
        outcome = refused(hostile, before, (after, other, None, b"")[chance.integers(4)])
        said += [outcome] if how == 2 else []
        if number % 100 == 99:
            yield f"damaged, to {number}", f"{len(said)} read, {digest(said)}"
            said.clear()


def test_damaged_differences_are_refused() -> None:
    for name, text in damaged():
        STORED.require(name, text)


def bombs() -> list[bytes]:
    """Small files that claim to be huge."""
    head = b"MSHDIFF\x1a" + (1).to_bytes(4, "little")
    zeros = bytes(300 << 20)
    facts = bytes(72)

    def of(text: bytes, payload: bytes, stated: int | None = None) -> bytes:
        size = len(payload) if stated is None else stated
        sizes = len(text).to_bytes(4, "little") + size.to_bytes(8, "little")
        return head + sizes + zlib.compress(facts + text + payload)

    copies = np.zeros((3, 40_000), "<u4")
    copies[2] = 8000  # 320 MB of a base of 8 kB
    delta = len(copies.T).to_bytes(4, "little") + copies.tobytes()
    table = {"k": "3.0", "z": 320_000_000, "b": len(delta), "w": "", "i": ""}
    many = {"n": 2**32 - 1, "s": 4096, "c": 3_000_000, "k": "3.0"}
    whole = pack(Packed("0" * 64, "1" * 64, 320_000_000, {"kind": "whole"}, delta))
    return [
        of(b'{"kind":"new"}', zeros),
        of(b'{"kind":"new"}', zeros, 1 << 20),
        whole,
        pack(Packed("0" * 64, "1" * 64, 1 << 20, {"kind": "whole"}, delta)),
        pack(Packed("2" * 64, "1" * 64, 1 << 20, _tables(table), delta)),
        pack(Packed("2" * 64, "1" * 64, 1 << 20, _tables(many), bytes(UNPACKED_FLOOR - 5000))),
        of(b"[" * 200_000, b""),
        of(b'{"a":' + b"[" * 900 + b"]" * 900 + b"}", b""),
        of(b"[" + b"[]," * 6_000_000 + b"0]", b""),
    ]


@pytest.mark.parametrize("unit", [["3.0", 8, 1], ["7.0", 8, 0], ["7.0", -1, 1], ["7.0", 8, 2], [7, 8, "x"], [0]])
def test_what_is_not_computed_is_refused(unit: list[object]) -> None:
    """Rows of tables that follow from nothing, none, of a table of less than nothing, out of order."""
    about = {"kind": "tables", "content": "model", "computed": True, "units": [unit]}
    with pytest.raises(ConversionError, match=r"computes what is not computed|rows out of order|cannot be read"):
        touched(pack(Packed("0" * 64, "1" * 64, 8, about, bytes(16))))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"like": [0, -1]}, "made of a row that is not there"),  # row 1 as it was is no other row
        ({"like": [1, 2]}, "made of a row that is not there"),  # and there are two
        ({"rows": [1, 3]}, "leaves lines out"),
        ({"rows": [2, 2]}, "rows out of order"),
        ({"sizes": [8, 1 << 30]}, "rows that are too large"),
        ({"lengths": [8, 1 << 20]}, "cut short"),
    ],
)
def test_lines_that_cannot_be_are_refused(columns: dict[str, list[int]], said: str) -> None:
    before, after = (b"2\r\n0 A\r\n1 B\r\n", b"3\r\n0 A\r\n1 BC\r\n2 D\r\n")
    packed = unpack(difference(before, after, type_id=WEAR_TYPE))
    changes = unpack_changes(packed.description, packed.payload)
    lines = changes.rows["materials"]
    assert (lines.rows.tolist(), lines.like.tolist()) == ([1, 2], [1, -1])  # type: ignore[union-attr]
    given = {name: np.array(values) for name, values in columns.items()}
    hostile = replace(changes, rows={**changes.rows, "materials": replace(lines, **given)})  # type: ignore[arg-type]
    with pytest.raises(ConversionError, match=said):
        touched(pack(replace(packed, **dict(zip(("description", "payload"), pack_changes(hostile), strict=True)))))


def _tables(table: dict[str, object]) -> dict[str, object]:
    return {"kind": "tables", "content": "model", "tables": [table]}


def test_bombs_are_refused_within_a_bound_of_memory() -> None:
    base = MODELS[0].read_bytes()
    for bomb in bombs():
        assert len(bomb) < 1 << 20
        tracemalloc.start()
        refused(bomb, base)
        with pytest.raises(ConversionError):
            apply(bomb, base)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 160 << 20


def test_what_unpacks_to_much_is_stored_as_it_is() -> None:
    after = bytes(40 << 20)
    diff = difference(None, after)
    assert apply(diff, None) == after
    assert len(difference(None, bytes(1 << 20))) < 2000


if __name__ == "__main__":
    STORED.write([*stored(), *damaged()])
