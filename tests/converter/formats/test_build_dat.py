"""BuildDat.lst: every byte survives, findings name lines, edits touch only what they must."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.build_dat import CATEGORIES, BuildDat, read_build_dat, write_build_dat
from tests.support.corpus import CORPUS, DATA

NAMES = [
    "Bunker_Small",
    "Bunker_Medium",
    "Bunker_Large",
    "Generator",
    "Mine",
    "Storage",
    "Plant",
    "Hangar",
    "MainTeleport",
    "Institute",
    "Tower_Medium",
    "Tower_Large",
]


def parse(data: bytes) -> BuildDat:
    """A valid file."""
    build_dat, findings = read_build_dat(data, "test.lst", strict=True)
    assert findings == []
    assert write_build_dat(build_dat) == data
    return build_dat


def found(data: bytes) -> list[tuple[str, str, int | None]]:
    build_dat, findings = read_build_dat(data, "test.lst")
    assert write_build_dat(build_dat) == data
    assert {finding.table for finding in findings} <= {"BuildDat.lst"}
    return [(finding.code, finding.severity, finding.row) for finding in findings]


# ------------------------------------------------------------------ what is read


def test_bundled_file() -> None:
    """Counts and paths as read by eye."""
    build_dat = parse((DATA / "BuildDat.lst").read_bytes())
    got = build_dat.categories
    assert list(got) == NAMES == list(CATEGORIES)
    counts = [len(paths) for paths in got.values()]
    assert counts == [0, 3, 3, 5, 3, 3, 2, 3, 0, 2, 5, 3]
    assert got["Bunker_Medium"] == [
        r"UNITS\BUILDS\BUNKER_M\bunker00.dat",
        r"UNITS\BUILDS\BUNKER_M\bunker01.dat",
        r"UNITS\BUILDS\BUNKER_M\bunker02.dat",
    ]
    assert got["Tower_Large"][-1] == r"UNITS\BUILDS\TOWER_LA\tower_02.dat"
    assert build_dat.text.startswith("// object categories\r\n\r\nBunker_Small 0\r\n")


@pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS names no corpus")
def test_whole_games() -> None:
    files = sorted(Path(CORPUS or "").glob("*/game/BuildDat.lst"))
    assert files
    for file in files:
        manifest = file.parent.parent / "truth/manifest.json"
        truth = json.loads(manifest.read_text("utf-8"))["build_dat"]
        assert parse(file.read_bytes()).categories == truth
        assert list(truth) == NAMES


def test_masks() -> None:
    """Typed from terrain-map-loading in another form: the low words and the tower bits."""
    low = {"Generator": 1, "Mine": 2, "Storage": 3, "Plant": 4, "Hangar": 6, "MainTeleport": 9}
    low |= {"Institute": 10, "Bunker_Small": 16, "Bunker_Medium": 17, "Bunker_Large": 18}
    low |= {"Tower_Medium": 20, "Tower_Large": 21}
    assert {name: 2**31 + 2**bit for name, bit in low.items()} == CATEGORIES


def test_blanks_comments_and_line_ends() -> None:
    data = b'//\r\r\nMine\t 2 \n \t\n  "a\\b"  \r  // c\n"c"\n\n// end'
    assert parse(data).categories == {"Mine": [r"a\b", "c"]}


def test_text_is_cp1251_or_latin1() -> None:
    assert parse('Mine 1\n"Шахта"'.encode("cp1251")).categories == {"Mine": ["Шахта"]}
    build_dat = parse(b'Mine 1\n"\x98\xc0"')
    assert build_dat.categories == {"Mine": ["\x98À"]}
    assert "\x98À" in build_dat.text


@given(
    st.binary()
    | st.lists(
        st.sampled_from(b'Mine;Plant 2;Foo 1;"a\\b";a; ;//;3;-1;\r;\n;\r\n;";Mine 1\n;Mine x\n'.split(b";"))
    ).map(b"".join)
)
def test_any_bytes_survive(data: bytes) -> None:
    build_dat, findings = read_build_dat(data, "test.lst")
    assert write_build_dat(build_dat) == data
    lines = len(re.findall(rb"\r\n|\r|\n", data)) + 1
    assert all(finding.row and 1 <= finding.row <= lines for finding in findings)
    assert all((a.row or 0) <= (b.row or 0) for a, b in pairwise(findings))
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        with pytest.raises(ConversionError) as caught:
            read_build_dat(data, "test.lst", strict=True)
        assert caught.value.row == errors[0].row
    else:
        read_build_dat(data, "test.lst", strict=True)


# ------------------------------------------------------------------ findings


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'Mine 1\n"a"\nFoo 1\n"b"\nPlant 0', [("build-category", "error", 3)]),
        (b'mine 1\n"a"', [("build-category", "error", 1)]),
        (b'Mine 2\n"a"\n\nPlant 0', [("build-count", "error", 1)]),
        (b'\nMine 2\n"a"\n//', [("build-count", "error", 2)]),
        (b'Mine 1\n"a"\n"b"\n"c"', [("build-stray", "error", 3), ("build-stray", "error", 4)]),
        (b'"a"\nMine 0', [("build-stray", "error", 1)]),
        (b'Mine x\n"a"\n"b"\nPlant 0', [("build-count", "error", 1)]),
        (b'Mine\n"a"', [("build-count", "error", 1)]),
        (b"Mine -1\n", [("build-count", "error", 1)]),
        (b"Mine 1234567890\n", [("build-count", "error", 1)]),
        (b"Mine " + b"9" * 5000, [("build-count", "error", 1)]),  # past what int() takes
        (b"Mine 1 // one\n", [("build-count", "error", 1)]),
        (b"Foo -1\n", [("build-category", "error", 1), ("build-count", "error", 1)]),
        (b'Mine 2\nUNITS\\a.dat\n"b"', [("build-path", "error", 2)]),
        (b"Mine 1\nUNITS\\a 1", [("build-path", "error", 2)]),
        (b'Mine 1\n"a', [("build-path", "error", 2)]),
        (b'Mine 1\n"a" "b"', [("build-path", "error", 2)]),
        (b"what is this\nMine 0", [("build-line", "error", 1)]),
        (b'Mine 1\n"a"\nMine 1\n"b"', [("build-twice", "warning", 3)]),
        (
            b'Plant 3\n"a"\nMine 1\nx\n"y"',
            [("build-count", "error", 1), ("build-path", "error", 4), ("build-stray", "error", 5)],
        ),
    ],
)
def test_findings_name_the_line(data: bytes, expected: list) -> None:
    assert found(data) == expected
    assert found(data.replace(b"\n", b"\r\n")) == expected


def test_what_is_still_read_of_a_corrupted_file() -> None:
    data = b'Foo 1\n"f"\nMine x\n"a"\nb\n"c"\nPlant 2\np\n"q"\n"stray"\nMine 1\n"twice"\nHangar 5\n"h"'
    build_dat, _ = read_build_dat(data, "test.lst")
    assert build_dat.categories == {"Mine": ["a", "c"], "Plant": ["q"], "Hangar": ["h"]}


def test_strict_stops_at_the_first_error() -> None:
    data = b'Mine 0\nMine 0\nPlant 2\n"a"\nfoo bar'
    with pytest.raises(ConversionError) as caught:
        read_build_dat(data + b'\n"b"', "DATA/BuildDat.lst", strict=True)
    error = caught.value
    assert error.problem.startswith("BuildDat.lst is corrupted")
    assert (error.file, error.row, error.value) == ("DATA/BuildDat.lst", 5, "foo bar")
    assert "\n" not in str(error)


def test_warnings_do_not_stop_strict_reading() -> None:
    _, findings = read_build_dat(b"Mine 0\nMine 0", "test.lst", strict=True)
    assert [finding.code for finding in findings] == ["build-twice"]


# ------------------------------------------------------------------ edits

SHOP = b'// shop\r\n\r\nMine  2 \r\n  "a"\r\n// why\r\n"b" \r\n\r\nPlant 0\r\n\r\nHangar 1\n"h"\r\n'


@pytest.mark.parametrize(
    ("edit", "old", "new"),
    [
        (lambda d: d.add_path("Mine", "c"), b'2 \r\n  "a"\r\n// why\r\n"b" \r\n', None),
        (lambda d: d.add_path("Mine", "c", 0), b'2 \r\n  "a"', b'3 \r\n"c"\r\n  "a"'),
        (lambda d: d.add_path("Mine", "c", 1), b'2 \r\n  "a"\r\n', b'3 \r\n  "a"\r\n"c"\r\n'),
        (lambda d: d.add_path("Plant", "p\\Щ"), b"0\r\n", b'1\r\n"p\\\xd9"\r\n'),
        (lambda d: d.add_path("Hangar", "i"), b'1\n"h"\r\n', b'2\n"h"\r\n"i"\r\n'),
        (lambda d: d.remove_path("Mine", "a"), b'2 \r\n  "a"\r\n', b"1 \r\n"),
        (lambda d: d.remove_path("Hangar", "h"), b'1\n"h"\r\n', b"0\n"),
        (lambda d: d.set_paths("Mine", ["x", "b"]), b'"a"', b'"x"'),
        (lambda d: d.set_paths("Mine", ["a", "b"]), b"", b""),
        (lambda d: d.set_paths("Mine", ["b"]), b'2 \r\n  "a"\r\n', b"1 \r\n"),
        (
            lambda d: d.set_paths("Mine", ["x", "a", "y", "z"]),
            b'2 \r\n  "a"\r\n// why\r\n"b" \r\n',
            b'4 \r\n"x"\r\n  "a"\r\n// why\r\n"y" \r\n"z"\r\n',
        ),
        (lambda d: d.add_path("Storage", "s"), b'"h"\r\n', b'"h"\r\n\r\nStorage 1\r\n"s"\r\n'),
        (lambda d: d.set_paths("Storage", []), b'"h"\r\n', b'"h"\r\n\r\nStorage 0\r\n'),
    ],
)
def test_edits_change_only_their_lines(edit, old: bytes, new: bytes | None) -> None:
    if new is None:
        new = old.replace(b"2 ", b"3 ") + b'"c"\r\n'
    build_dat = parse(SHOP)
    assert old in SHOP
    assert write_build_dat(edit(build_dat)) == (SHOP.replace(old, new, 1) if old else SHOP)
    assert write_build_dat(build_dat) == SHOP  # an edit makes a new one


@pytest.mark.parametrize(
    ("data", "edited"),
    [
        (b"", b'Mine 1\r\n"n"\r\n'),  # an empty file takes the game's line ends
        (b"Mine 0", b'Mine 1\r\n"n"'),  # no end on the last line before, none after
        (b"// x\nMine 0", b'// x\nMine 1\n"n"'),
        (b'Mine 1\r"a"', b'Mine 2\r"a"\r"n"'),
        (b'Plant 1\n"p"', b'Plant 1\n"p"\n\nMine 1\n"n"'),
        (b"Plant 0\n\n", b'Plant 0\n\nMine 1\n"n"\n'),  # the empty line is there already
        (b"// a\r\n//b\n//c\nMine 0\n", b'// a\r\n//b\n//c\nMine 1\n"n"\n'),
    ],
)
def test_new_lines_take_the_files_line_end(data: bytes, edited: bytes) -> None:
    assert write_build_dat(parse(data).add_path("Mine", "n")) == edited
    parse(edited)


def test_removing_the_last_line_keeps_the_others() -> None:
    assert write_build_dat(parse(b'Mine 2\n"a"\n"b"').remove_path("Mine", "b")) == b'Mine 1\n"a"\n'


def test_one_more_among_equal_paths_is_one_line_more() -> None:
    data = b'Mine 4\n"a"\n//\n"a"\n"a"\n\n"a"\n'
    longer = parse(data).add_path("Mine", "n", 1)
    assert write_build_dat(longer) == data.replace(b'4\n"a"\n', b'5\n"a"\n"n"\n')
    assert write_build_dat(longer.remove_path("Mine", "n")) == data


def test_first_of_equal_paths_is_removed() -> None:
    build_dat = parse(b'Mine 3\n"a"\n"b"\n "a"').remove_path("Mine", "a")
    assert build_dat.categories == {"Mine": ["b", "a"]}


def test_paths_that_stay_keep_bytes_that_cannot_be_written() -> None:
    build_dat = parse(b'Mine 1\n"\x98"')
    paths = [*build_dat.categories["Mine"], "n"]
    assert write_build_dat(build_dat.set_paths("Mine", paths)) == b'Mine 2\n"\x98"\n"n"'


@pytest.mark.parametrize(
    ("data", "edited"),
    [
        (b'Mine 3\n"a"\nPlant 0\n', b'Mine 2\n"a"\n"n"\nPlant 0\n'),
        (b'Mine x\n"a"\n', b'Mine 2\n"a"\n"n"\n'),
        (b'Mine\n"a"\n', b'Mine 2\n"a"\n"n"\n'),
        (b'Mine  \n"a"\n', b'Mine  2\n"a"\n"n"\n'),
        (b"Mine 1\nbare\n", b'Mine 2\nbare\n"n"\n'),
        (b'Mine 1\n"a"\n"stray"\n', b'Mine 2\n"a"\n"n"\n"stray"\n'),
        (b'Mine 0\nMine 1\n"a"\n', b'Mine 1\n"n"\nMine 1\n"a"\n'),
        (b'Foo 2\n"f"\n', b'Foo 2\n"f"\n\nMine 1\n"n"\n'),
    ],
)
def test_edits_of_corrupted_files(data: bytes, edited: bytes) -> None:
    build_dat, _ = read_build_dat(data, "test.lst")
    assert write_build_dat(build_dat.add_path("Mine", "n")) == edited


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda d: d.add_path("mine", "x"), "unknown category: mine"),
        (lambda d: d.set_paths("Foo", []), "unknown category: Foo"),
        (lambda d: d.remove_path("Foo", "x"), "unknown category: Foo"),
        (lambda d: d.remove_path("Mine", "x"), "no such path: x"),
        (lambda d: d.remove_path("Institute", "x"), "no such path: x"),
        (lambda d: d.add_path("Mine", "x", 3), r"no such position: 3 \(expected 0..2\)"),
        (lambda d: d.add_path("Mine", "x", -1), "no such position: -1"),
        (lambda d: d.add_path("Mine", 'a"b'), "double quote or a line break"),
        (lambda d: d.add_path("Mine", "a\nb"), r"line break: a\\nb"),
        (lambda d: d.set_paths("Mine", ["a\rb"]), "line break"),
        (lambda d: d.add_path("Mine", "日本"), "CP1251"),
    ],
)
def test_edits_that_cannot_be(edit, problem: str) -> None:
    with pytest.raises(ConversionError, match=problem) as caught:
        edit(parse(SHOP))
    assert caught.value.table == "BuildDat.lst"
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------ random valid files

# CR and LF in one file could meet and make one line end of two
ends = st.sampled_from([(b"\n", b"\r\n"), (b"\r",)])
blanks = st.sampled_from([b"", b" ", b"\t "])
paths = st.text(st.sampled_from("ab\\ //Ж.9"), max_size=6).filter(str.strip)
skipped = st.sampled_from([b"", b"  ", b"// x", b" //", b'// "q"', b"// Mine 3"])


@st.composite
def valid_files(draw) -> tuple[bytes, dict[str, list[str]]]:
    truth = {
        name: draw(st.lists(paths, max_size=4))
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
    }
    bodies = draw(st.lists(skipped, max_size=2))
    for name, entries in truth.items():
        bodies.append(name.encode() + b" " + draw(blanks) + b"%d" % len(entries) + draw(blanks))
        for path in entries:
            bodies += draw(st.lists(skipped, max_size=1))
            bodies.append(draw(blanks) + b'"' + path.encode("cp1251") + b'"' + draw(blanks))
        bodies += draw(st.lists(skipped, max_size=2))
    some = st.sampled_from(draw(ends))
    data = b"".join(body + draw(some) for body in bodies)
    return (data.rstrip(b"\r\n") if draw(st.booleans()) else data), truth


@given(valid_files())
def test_random_valid_files(file: tuple[bytes, dict[str, list[str]]]) -> None:
    data, truth = file
    got = parse(data).categories
    assert got == truth
    assert list(got) == list(truth)


@given(valid_files(), st.sampled_from(NAMES), st.lists(paths, max_size=5), st.data())
def test_edits_parse_equal(file, category: str, new: list[str], data) -> None:
    source, truth = file
    build_dat = parse(source)

    edited = parse(write_build_dat(build_dat.set_paths(category, new)))
    assert edited.categories == truth | {category: new}
    kept = [line for line in source.splitlines() if line.strip()[:1] in (b"", b"/")]
    after = [line for line in b"".join(edited.lines).splitlines() if line.strip()[:1] in (b"", b"/")]
    if category in truth:
        assert after == kept  # comments and empty lines, in order

    old = truth.get(category, [])
    at = data.draw(st.integers(0, len(old)))
    longer = parse(write_build_dat(build_dat.add_path(category, "new", at)))
    assert longer.categories == truth | {category: [*old[:at], "new", *old[at:]]}
    shorter = longer.remove_path(category, "new")
    assert shorter.categories == truth | {category: old}
    if category in truth and source.endswith((b"\n", b"\r")):
        assert write_build_dat(shorter) == source
