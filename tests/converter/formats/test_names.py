"""File names for entries: safe, unique, reversible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.formats.names import Names, decode_text, entry_name, escape, file_stem, known_name, unescape

RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{d}{i}" for d in ("COM", "LPT") for i in range(10))}


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("r_h_01.msh", "r_h_01"),
        ("R_H_01.MSH", "R_H_01"),
        ("tower.rlb", "tower.rlb"),
        ("tower", "tower"),
        ("..\\..\\x", "%2E.%5C..%5Cx"),
        ("CON.msh", "%43ON"),
        ("con.x.msh", "%63on.x"),
        ("console.msh", "console"),
        ("a/b", "a%2Fb"),
        ("c:d.msh", "c%3Ad"),
        ("Башня №5.msh", "Башня №5"),
        ("a.", "a%2E"),
        ("a \x01\t.msh", "a %01%09"),
        ("100%~1.msh", "100%25%7E1"),
        (".msh", "%2Emsh"),
    ],
)
def test_examples(name: str, stem: str) -> None:
    assert file_stem(name) == stem


@given(st.binary(max_size=35))
def test_safe_and_reversible(raw: bytes) -> None:
    name = decode_text(raw)
    safe = escape(name)
    assert not set(safe) & set('<>:"/\\|?*~')
    assert safe.isprintable()
    assert not safe.startswith(".")
    assert not safe.endswith((".", " "))
    assert safe.partition(".")[0].upper() not in RESERVED
    assert unescape(safe) == name


@given(st.binary(min_size=1, max_size=31).filter(lambda raw: b"\0" not in raw))
def test_new_entries_get_the_name_back(raw: bytes) -> None:
    assert entry_name(file_stem(decode_text(raw + b".msh"))) == raw + b".msh"


def test_names_are_unique_in_any_case() -> None:
    names = Names("manifest.json")
    taken = [names.take(*n) for n in (("a", 1), ("A", 2), ("a", 3), ("MANIFEST.JSON", 4))]
    assert taken == ["a", "A~2", "a~3", "MANIFEST.JSON~4"]
    assert names.take("a", 9, ".glb") == "a.glb"
    assert names.take("A", 9, ".glb") == "A~9.glb"
    assert names.take("b", 2, ".glb", ".x") == "b.glb"
    assert names.take("B.X", 2) == "B.X~2"
    assert names.take("c.x", 2) == "c.x"
    assert names.take("c", 2, ".glb", ".x") == "c~2.glb"


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("ash.001", {"ash"}, "ash"),
        ("ash.001", {"ash", "ash.001"}, "ash.001"),
        ("ash.001", set(), "ash.001"),
        ("ash.01", {"ash"}, "ash.01"),
        ("ash", {"ash"}, "ash"),
    ],
)
def test_a_number_of_blender_does_not_count_where_the_rest_is_known(name: str, known: set[str], expected: str) -> None:
    assert known_name(name, known.__contains__) == expected
