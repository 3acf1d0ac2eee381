"""The sidecar file: survives, and is refused when it is not what it says."""

import hashlib
import json
import struct
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model_parts import ControlPoint
from msh_gltf.converter.formats.sidecar import Description, Sidecar, read_sidecar, sha256, write_sidecar

ABOUT = Description("башня.msh", sha256(b"model"), "retail", "because", "samples", 2, 0, "1", ["м", ""])


@given(st.binary(max_size=50), st.text(max_size=9))
def test_round_trip(source: bytes, name: str) -> None:
    name = name.encode("utf-8", "replace").decode()
    about = replace(ABOUT, source=name, source_sha256=sha256(source))
    back = read_sidecar(write_sidecar(Sidecar(about, source)), "x")
    assert back.description == about
    assert bytes(back.source) == source


def test_layout() -> None:
    """56 bytes of header, then the description, then the source as it was."""
    data = write_sidecar(Sidecar(ABOUT, b"model"))
    magic, version, text_size, source_size, digest = struct.unpack_from("<8sIIQ32s", data)
    assert (magic, version, source_size) == (b"MSHSIDE\x1a", 1, 5)
    # without points it is what it was before there were any
    later = (
        "points",
        "shown",
        "library",
        "tolerant",
        "visible_only",
        "companions",
        "inside",
        "attached",
        "shown_in_obj",
    )
    about = {k: v for k, v in asdict(ABOUT).items() if k not in later}
    assert json.loads(data[56 : 56 + text_size]) == about
    assert data[56 + text_size :] == b"model"
    assert digest == hashlib.sha256(data[56:]).digest()


def test_points_come_back() -> None:
    point = ControlPoint("a.point", 3, 1, (0.1, -2.0, 3e5), (0.0, 0.0, 1.0))
    about = replace(ABOUT, points=[point])
    back = read_sidecar(write_sidecar(Sidecar(about, b"model")), "x")
    assert back.description.points == [point]


def test_companions_come_back_and_are_no_part_of_the_pair() -> None:
    """The glTF does not depend on them: files of version 0.1 lack them."""
    about = replace(ABOUT, companions={".cpt": b"\0\xff", ".wea": b""})
    back = read_sidecar(write_sidecar(Sidecar(about, b"model")), "x")
    assert back.description == about
    assert about.pair == ABOUT.pair


def test_the_mark_of_a_broken_source_comes_back() -> None:
    about = replace(ABOUT, tolerant=True)
    back = read_sidecar(write_sidecar(Sidecar(about, b"model")), "x")
    assert (back.description, back.description.mode) == (about, "tolerant")
    plain = read_sidecar(GOOD, "x").description
    assert (plain.tolerant, plain.mode) == (False, "default")


GOOD = write_sidecar(Sidecar(ABOUT, b"model"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not an msh-gltf sidecar"),
        (GOOD[:40], "is not an msh-gltf sidecar"),
        (b"X" + GOOD[1:], "is not an msh-gltf sidecar"),
        (GOOD[:8] + b"\2" + GOOD[9:], "version is not known"),
        (GOOD[:-1], "cut or padded"),
        (GOOD + b"\0", "cut or padded"),
        (GOOD[:16] + b"\xff" * 8 + GOOD[24:], "cut or padded"),
        (GOOD[:-1] + b"L", "damaged"),
        (GOOD[:60] + b"~" + GOOD[61:], "damaged"),
    ],
)
def test_refused(data: bytes, said: str) -> None:
    with pytest.raises(ConversionError, match=said) as caught:
        read_sidecar(data, "m.msh-sidecar")
    assert caught.value.file == "m.msh-sidecar"


@pytest.mark.parametrize(
    "about",
    [
        replace(ABOUT, dialect="klingon"),
        replace(ABOUT, lod=3),
        replace(ABOUT, group="x"),
        replace(ABOUT, tolerant="yes"),
        replace(ABOUT, points=[()]),
        replace(ABOUT, points=[("a", 1, 0, (0, 0), (0, 0, 1))]),
    ],
)
def test_strange_descriptions(about: Description) -> None:
    with pytest.raises(ConversionError, match="description cannot be read"):
        read_sidecar(write_sidecar(Sidecar(about, b"model")), "x")


def test_source_must_fit_its_digest() -> None:
    with pytest.raises(ConversionError, match="does not fit its digest"):
        read_sidecar(write_sidecar(Sidecar(ABOUT, b"other")), "x")


def test_attached_sidecars_come_back() -> None:
    other = Sidecar(replace(ABOUT, source="b.msh", source_sha256=sha256(b"two")), b"two")
    back = read_sidecar(write_sidecar(Sidecar(ABOUT, b"model", [other, other])), "x")
    assert bytes(back.source) == b"model"
    assert [bytes(one.source) for one in back.attached] == [b"two", b"two"]
    assert back.attached[0].description == other.description
    assert back.description.pair == ABOUT.pair


def test_what_is_attached_has_nothing_attached() -> None:
    """Else a file could nest them without end."""
    inner = Sidecar(ABOUT, b"model", [Sidecar(ABOUT, b"model")])
    with pytest.raises(ConversionError, match="description cannot be read"):
        read_sidecar(write_sidecar(Sidecar(ABOUT, b"model", [inner])), "x")


@pytest.mark.parametrize("sizes", [[-1], [6], [1, -1], [2**70], ["1"], 5])
def test_sizes_of_what_is_attached_must_be_there(sizes: object) -> None:
    text = json.loads(GOOD[56 : 56 + struct.unpack_from("<I", GOOD, 12)[0]]) | {"attached": sizes}
    rest = json.dumps(text).encode()
    head = struct.pack("<8sIIQ", b"MSHSIDE\x1a", 1, len(rest), 5)
    data = head + hashlib.sha256(rest + b"model").digest() + rest + b"model"
    with pytest.raises(ConversionError, match="description cannot be read"):
        read_sidecar(data, "x")
