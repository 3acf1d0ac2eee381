"""WEAR texts: every byte comes back, names by row, oddities named with their lines."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import is_nres, read_nres
from msh_gltf.converter.formats.wear import new_wear, read_wear, read_wear_names, write_wear
from tests.support.corpus import CORPUS, DATA

GOOD = b"2\r\n0 wall\r\n1 B_ROOF\r\n\r\nLIGHTMAPS\r\n1\r\n0 LM_1\r\n"


def all_wear_files() -> list[bytes]:
    """Bundled WEAR files, and every one of the corpus: loose or in an archive."""
    files = [p for p in sorted(DATA.rglob("*")) if p.suffix.lower() == ".wea"]
    out = [p.read_bytes() for p in files]
    for path in sorted(Path(CORPUS).glob("*/game/**/*")) if CORPUS else ():
        if path.suffix.lower() == ".wea":
            out.append(path.read_bytes())
        elif path.is_file() and is_nres(data := read_file(path)):
            entries = read_nres(data, path.name).entries
            out += [bytes(e.payload) for e in entries if e.type_text == "WEAR"]
    return out


WEAR_FILES = all_wear_files()


def reference(data: bytes) -> tuple[list[str], list[str]]:
    """The names of a well-formed ASCII text, by one expression."""
    text = data.decode("ascii").replace("\r\n", "\n")
    rows = r"(?:\d+ \S+\n)*"
    match = re.fullmatch(rf"(\d+)\n({rows})(?:\nLIGHTMAPS\n(\d+)\n({rows}))?", text)
    assert match
    names = [re.findall(r"\d+ (\S+)\n", part or "") for part in (match[2], match[4])]
    assert [len(part) for part in names] == [int(match[1]), int(match[3] or 0)]
    return names[0], names[1]


def codes(data: bytes) -> list[tuple[str, str, int | None]]:
    return [(f.code, f.severity, f.row) for f in read_wear(data, "x.wea")[1]]


def test_game_files_come_back_and_are_understood() -> None:
    sections = 0
    for data in WEAR_FILES:
        wear, findings = read_wear(data, "x.wea")
        assert write_wear(wear) == data
        assert (wear.materials, wear.lightmaps) == reference(data)
        assert read_wear_names(data) == wear.materials
        assert {f.code for f in findings} <= {"wear-id"}
        sections += bool(wear.lightmaps)
    assert sections
    assert len(WEAR_FILES) > 10


def test_new_text_has_the_form_of_the_games_files() -> None:
    for data in WEAR_FILES:
        wear, _ = read_wear(data, "x.wea")
        made = new_wear(wear.materials, wear.lightmaps)
        head, word, tail = data.partition(b"LIGHTMAPS")
        expected = b"".join(map(numbered, (head, word, tail)))
        assert write_wear(made) == expected
        assert made.check() == []


def numbered(section: bytes) -> bytes:
    """The section with ids in order."""
    numbers = iter(range(1000))
    return re.sub(rb"(?m)^\d+ ", lambda _: b"%d " % next(numbers), section)


@given(st.binary(max_size=80) | st.text("0123 \r\n\t\0aL", max_size=40).map(str.encode))
def test_any_bytes_come_back(data: bytes) -> None:
    for text in (data, GOOD + data, data + GOOD):
        wear, findings = read_wear(text, "any.wea")
        assert write_wear(wear) == text
        assert "".join(wear.lines) == wear.text
        if not any(f.severity == "error" for f in findings):
            assert read_wear_names(text) == wear.materials


NAMES = st.lists(st.text("AbЯ_. 1", min_size=1, max_size=9).filter(lambda s: s == s.strip()))


@given(NAMES, NAMES)
def test_new_text_reads_back(materials: list[str], lightmaps: list[str]) -> None:
    data = write_wear(new_wear(materials, lightmaps))
    wear, findings = read_wear(data, "new.wea")
    assert (wear.materials, wear.lightmaps, findings) == (materials, lightmaps, [])
    assert read_wear_names(data) == materials


@pytest.mark.parametrize("name", ["", " ", "a ", " a", "a\nb", "a\r", "a\x85b", "\u4e2d", "\x98"])
def test_names_that_would_not_come_back_are_refused(name: str) -> None:
    for lists in ((["ok", name], []), (["ok"], ["ok", name])):
        with pytest.raises(ConversionError) as caught:
            new_wear(*lists)
        assert caught.value.row == 1
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "materials", "lightmaps", "expected"),
    [
        (GOOD, ["wall", "B_ROOF"], ["LM_1"], []),
        (b"", [], [], [("wear-count", "error", 1)]),
        (b"two\n0 a\n", [], [], [("wear-count", "error", 1)]),
        (b"-1\n0 a\n", [], [], [("wear-count", "error", 1)]),
        (b"9" * 5000, [], [], [("wear-count", "error", 1)]),
        (b"3\n0 a\n1 b\n", ["a", "b"], [], [("wear-count", "error", 1)]),
        (b"9\n0 a\n\nLIGHTMAPS\n1\n0 l\n", ["a"], ["l"], [("wear-count", "error", 1)]),
        (b"1\n0 a\n1 b\n2 c\n", ["a"], [], [("wear-extra", "warning", 3)]),
        (b"2\n0 a\n7\n", ["a", ""], [], [("wear-row", "error", 3)]),
        (b"3\n0 a\n\n2 c\n", ["a", "", "c"], [], [("wear-row", "error", 3)]),
        (b"3\n0 a\n5 b\n6 c\n", ["a", "b", "c"], [], [("wear-id", "warning", 3)]),
        (b"2\n00 a\n01 b\n", ["a", "b"], [], []),
        (b"1\nx a\n", ["a"], [], [("wear-id", "warning", 2)]),
        (b"1\n0 a\nLIGHTMAPS\n1\n0 l\n", ["a"], ["l"], [("wear-blank", "warning", 3)]),
        (b"1\n0 a\n\nLIGHTMAPS\n", ["a"], [], [("wear-count", "error", 5)]),
        (b"1\n0 a\n\nLIGHTMAPS\nmany\n", ["a"], [], [("wear-count", "error", 5)]),
        (b"1\n0 a\n\nLIGHTMAPS\n2\n0 l\n", ["a"], ["l"], [("wear-count", "error", 5)]),
        (b"1\n0 a\n\n lightmaps \n\n1\n1 l\n", ["a"], ["l"], [("wear-id", "warning", 7)]),
        (b"LIGHTMAPS\n1\n0 l\n", [], ["l"], [("wear-count", "error", 1)]),
        (b"1\r0 two words \r\0\0", ["two words"], [], []),
        (b"1\n0 \xcb\xe5\xf1", ["Лес"], [], []),
    ],
)
def test_oddities_are_findings(
    data: bytes, materials: list[str], lightmaps: list[str], expected: list[tuple[str, str, int]]
) -> None:
    wear, _ = read_wear(data, "x.wea")
    assert (wear.materials, wear.lightmaps) == (materials, lightmaps)
    assert codes(data) == expected
    assert write_wear(wear) == data


def test_findings_say_what_they_found() -> None:
    _, findings = read_wear(b"3\n0 a\n5 b\n6 c\n\nstray\nmore\n", "x.wea")
    assert [str(f) for f in findings] == [
        "WEAR, row 3: id is not the row's position (and in 1 more rows): 5 (expected 1)",
        "WEAR, row 6: line after the rows is not read (and in 1 more lines): stray (expected 3 rows)",
    ]
