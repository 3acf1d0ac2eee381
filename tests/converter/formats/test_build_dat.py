"""BuildDat.lst: every byte survives, findings name lines, edits touch only what they must."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.names import decode_text
from msh_gltf.converter.formats.terrain import CATEGORIES, BuildDat, read_build_dat, write_build_dat
from tests.support.corpus import CORPUS

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
    assert "\x98À" in decode_text(b"".join(build_dat.lines))


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
