"""Materials against recorded truth; broken entries are named."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.material import FoundMaterial, find_material, read_material, write_material
from msh_gltf.converter.formats.nres import Archive, Entry, read_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from tests.support.corpus import CORPUS, LIBS

MAT0 = int.from_bytes(b"MAT0", "little")


def libraries() -> list[tuple[str, Path, dict[str, Any]]]:
    out = [("bundled", LIBS / "Material.lib", LIBS / "materials.json")]
    for truth in sorted(Path(CORPUS).glob("*/truth/manifest.json")) if CORPUS else ():
        game = truth.parents[1]
        out.append((game.name, game / "game/Material.lib", truth))
    return [(name, lib, json.loads(t.read_text("utf-8"))["materials"]) for name, lib, t in out]


every_library = pytest.mark.parametrize(
    ("path", "truth"), [case[1:] for case in libraries()], ids=[case[0] for case in libraries()]
)


def load(path: Path) -> Archive:
    return read_nres(read_file(path), path.name)


def entry(payload: bytes, *, kind: int = 0, version: int = 6, name: bytes = b"M") -> Entry:
    return Entry(MAT0, kind, version, 0, name_field(name), 0, 0, payload)


def phase(texture: bytes = b"", ambient: bytes = bytes(4), cell: int = -1) -> bytes:
    return struct.pack("<4s4s4s4sBb16s", ambient, b"DIFA", b"SPEA", b"EMIA", 7, cell, texture)


def header(phases: int, tracks: int = 0) -> bytes:
    return struct.pack("<HHBBfI", phases, tracks, 5, 9, 1.5, 77)


@every_library
def test_bytes_come_back(path: Path, truth: dict[str, Any]) -> None:
    archive = load(path)
    assert archive.entries
    for item in archive.entries:
        material = read_material(item, path.name)
        assert write_material(material) == item.payload
        assert material.trailing == b"", "header, phases and tracks are all there is"


@every_library
def test_values_equal_the_truth(path: Path, truth: dict[str, Any]) -> None:
    archive = load(path)
    assert len(truth) == len(archive.entries)
    for name, facts in truth.items():
        found = find_material(archive, name)
        assert found is not None
        assert found.step == "name"
        material = read_material(archive.entries[found.index], path.name)
        assert material.name == name
        assert material.kind == facts["flags"]
        assert material.texture == facts["texture"]
        assert len(material.phases) == facts["phases"]
        for value, key in (
            (material.self_light, "ambient"),
            (material.diffuse, "diffuse"),
            (material.specular, "specular"),
        ):
            assert value == tuple(byte / 255 for byte in facts[key])
        assert material.phases["emissive"][0, :3].tolist() == facts["emissive"]
        assert material.alpha == facts["alpha"] / 100
        assert material.additive == (facts["flags"] == 8)
        assert material.translucent == (facts["flags"] in (4, 8))
        assert material.cell == facts.get("cell", -1)


@every_library
def test_tracks_are_what_the_layout_says(path: Path, truth: dict[str, Any]) -> None:
    """Keys name phases, end later and later, and leave their last word 0."""
    seen = 0
    for item in load(path).entries:
        material = read_material(item, path.name)
        for track in material.tracks:
            seen += 1
            assert (track.keys["phase"] < len(material.phases)).all()
            ends = track.keys["end"].astype(int)
            assert (ends[1:] > ends[:-1]).all()
            assert not track.keys["opaque4"].any()
            assert track.word == track.lerp_mask * 8 + track.mode
    assert seen


def test_every_byte_has_its_place() -> None:
    key = struct.pack("<HHH", 1, 500, 3)
    track = struct.pack("<IH", 0b10101_010, 1) + key
    data = header(2, 1) + phase(b"sixteen_letters_", b"\x10\x20\x30\x50", 3) + phase() + track
    material = read_material(entry(data + b"tail", kind=77, name=b"\xcb\xe5\xf1"), "Material.lib")
    assert material.name == "Лес"
    assert material.kind == 77
    assert (material.surface, material.texture, material.cell) == (5, "sixteen_letters_", 3)
    assert material.self_light == (0x10 / 255, 0x20 / 255, 0x30 / 255)
    assert material.alpha == 0.8
    assert material.diffuse == tuple(byte / 255 for byte in b"DIF")
    assert material.specular == tuple(byte / 255 for byte in b"SPE")
    assert material.phases["power"].tolist() == [7, 7]
    assert not material.additive
    assert not material.translucent
    assert (material.header["opaque5"], material.header["opaque10"]) == (9, 77)
    assert material.header["opaque6"] == 1.5
    (only,) = material.tracks
    assert (only.mode, only.lerp_mask) == (2, 0b10101)
    assert only.keys.tolist() == [(1, 500, 3)]
    assert material.trailing == b"tail"
    assert write_material(material) == data + b"tail"


TRACKS = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.lists(st.binary(min_size=6, max_size=6))))


@given(
    st.binary(min_size=10, max_size=10),
    st.lists(st.binary(min_size=34, max_size=34), min_size=1, max_size=4),
    TRACKS,
    st.binary(max_size=9),
)
def test_any_bytes_come_back(
    rest: bytes, phases: list[bytes], tracks: list[tuple[int, list[bytes]]], tail: bytes
) -> None:
    data = struct.pack("<HH", len(phases), len(tracks)) + rest + b"".join(phases)
    for word, keys in tracks:
        data += struct.pack("<IH", word, len(keys)) + b"".join(keys)
    material = read_material(entry(data + tail), "x")
    assert write_material(material) == data + tail
    assert material.trailing == tail
    assert [(t.word, len(t.keys)) for t in material.tracks] == [(w, len(k)) for w, k in tracks]


def test_unknown_names_lead_to_default_then_to_the_first() -> None:
    names = [b"zinc", b"Default", b"Wall"]
    archive = new_archive([entry(b"", name=name) for name in names], "Material.lib")
    assert find_material(archive, "WALL") == FoundMaterial(2, "name")
    assert find_material(archive, b"wall") == FoundMaterial(2, "name")
    assert find_material(archive, "default") == FoundMaterial(1, "name")
    assert find_material(archive, "no such") == FoundMaterial(1, "DEFAULT")
    bare = new_archive([entry(b"", name=name) for name in (b"zinc", b"Wall")], "Material.lib")
    assert find_material(bare, "no such") == FoundMaterial(0, "first")
    assert find_material(new_archive([], "Material.lib"), "no such") is None
