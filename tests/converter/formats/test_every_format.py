"""Every format of the game's files: bytes come back, also of damaged files, and what is read of them is on record."""

import zlib
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.findings import Finding
from msh_gltf.converter.formats import (
    controller,
    material,
    mission,
    model,
    model_parts,
    objects,
    rsli,
    terrain,
    texture,
)
from msh_gltf.converter.formats.areal_map import areal_payload, read_areal_map, write_areal_map
from msh_gltf.converter.formats.nres import Archive, is_nres, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.formats.wear import read_lightmap_names, read_wear, read_wear_names, write_wear
from tests.converter.formats import files as made
from tests.fuzz.mutate import join_nres
from tests.support.corpus import CORPUS
from tests.support.points import POINTS, cpt
from tests.support.recorded import Recorded, digest

READS = Recorded(__file__, "reads.txt")
MAT0 = int.from_bytes(b"MAT0", "little")
#: How many damaged files are made of each.
DAMAGED = 12


class Format(NamedTuple):
    """A format: its reader and writer, files of it by name, and what else is known of what was read."""

    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]
    files: Callable[[], dict[str, bytes]]
    more: Callable[[Any], object] = lambda _: None


# ------------------------------------------------------------------ what else is known


def strictly(text: terrain.BuildDat) -> str:
    try:
        terrain.read_build_dat(terrain.write_build_dat(text), "x.lst", strict=True)
    except ConversionError as error:
        return str(error)
    return ""


def about_controller(read: controller.Controller) -> str:
    named = [*controller.node_references(read), *controller.point_references(read)]
    moved = [one.number for one in controller.node_references(controller.with_nodes(read, {4: 7, 0: 1}))]
    out = [" ".join(map(str, one)) for one in named]
    out += [f"moved {moved}", f"states at {controller.state_offsets(read).tolist()}"]
    out += [f"then {controller.costs_offset(read)}, {controller.channels_offset(read)}"]
    out += [f"frames {one.first} to {one.last}: {one.states} {one.speed}" for one in controller.ranges_of(read)]
    return "; ".join([*out, *(read.part_name(row) for row in range(len(read.parts)))])


def about_mission(read: mission.Mission) -> str:
    out = []
    for one in read.objects:
        place = (one.kind, one.record["position"].tolist(), one.record["turns"].tolist(), one.scale, one.record["clan"])
        named = (
            one.reference,
            one.title,
            one.logical_id,
            one.host,
            [(each.title, each.number) for each in one.properties],
        )
        out.append(" ".join(map(str, (*place, *named))))
    out += [f"{clan.title} {clan.type} {clan.base} {clan.zone_counts}" for clan in read.clans]
    out += [f"route {route.id}: {len(route.points)}" for route in read.routes]
    return "; ".join([*out, read.map, f"lodes {read.lodes['amount'].tolist()}"])


def about_unit(unit: objects.Unit) -> str:
    of_row = (unit.archive, unit.key, unit.label, unit.part_class, unit.attach, unit.is_gun, unit.is_shown)
    return "; ".join(" ".join(str(ask(row)) for ask in of_row) for row in range(len(unit)))


def about_registry(registry: objects.Registry) -> str:
    out = []
    for key in [*registry.keys(), "none"]:
        found = registry.resolve(key.swapcase())
        members = [] if found is None else [f"{ending} {member}" for ending, member in found.members.items()]
        said = () if found is None else (found.key, found.tag, *found.chain, *map(str, found.findings))
        out.append(" ".join([*said, *members]))
    return "; ".join(out)


def about_archive(archive: Archive) -> object:
    texts = [(entry.name, entry.type_text, archive.find(entry.name.swapcase())) for entry in archive.entries]
    return texts, archive.sort_table_fold() is None


def about_library(read: rsli.RsliLibrary) -> str:
    out = [str(finding) for finding in rsli.check_rsli(read)]
    for row in range(len(read.rows)):
        out.append(
            f"{read.find(str(row))} {read.find(read.name(row).lower())} {read.name(row)} {read.method_name(row)}"
        )
        try:
            out.append(digest(rsli.unpack(read, row)))
        except ConversionError as error:
            out.append(str(error))
    return "; ".join(out)


def packed_again(read: rsli.RsliLibrary) -> bytes:
    """Contents are packed as they were; what has no method, or is broken, cannot be."""
    contents = {row: rsli.unpack(read, row) for row in range(len(read.rows))}
    again = rsli.read_rsli(rsli.with_contents(read, contents), "again.lib")
    assert {row: rsli.unpack(again, row) for row in range(len(again.rows))} == contents
    return bytes(read.data)


def entry_of(data: bytes) -> Any:
    return read_nres(join_nres([[MAT0, 8, 6, 0, name_field(b"\xcb\xe5\xf1"), data]]), "Material.lib").entries[0]


FORMATS: dict[str, Format] = {
    "archive": Format(lambda data: read_nres(data, "x.rlb"), write_nres, made.archives, about_archive),
    "model": Format(
        lambda data: model.read_model(read_nres(data, "x.msh"), "x"), model.write_model, made.models, model.table_bytes
    ),
    "terrain": Format(
        lambda data: terrain.read_terrain(read_nres(data, "Land.msh"), "Land.msh"),
        terrain.write_terrain,
        made.bundled("maps/*/Land.msh"),
        lambda read: [read.square_of_face, [read.faces_of(level) for level in (0, 1)]],
    ),
    "areal map": Format(
        lambda data: read_areal_map(read_nres(data, "Land.map")), write_areal_map, made.areal_maps, areal_payload
    ),
    "BuildDat.lst": Format(
        lambda data: terrain.read_build_dat(data, "BuildDat.lst"),
        lambda read: terrain.write_build_dat(read[0]),
        lambda: made.numbered(made.BUILDINGS),
        lambda read: (read[0].categories, strictly(read[0])),
    ),
    "WEAR": Format(
        lambda data: (*read_wear(data, "x.wea"), read_wear_names(data), read_lightmap_names(data)),
        lambda read: write_wear(read[0]),
        lambda: made.bundled("*.wea")() | made.numbered(made.MATERIAL_LISTS),
    ),
    "material": Format(
        lambda data: material.read_material(entry_of(data), "Material.lib"), material.write_material, made.materials
    ),
    "texture": Format(
        lambda data: texture.read_texm(data, "wall.0"),
        texture.write_texm,
        made.textures,
        lambda texm: [texm.rgba(level) for level in range(len(texm.levels))],
    ),
    "mission": Format(
        lambda data: mission.read_mission(data, "data.tma"), mission.write_mission, made.missions, about_mission
    ),
    "unit": Format(lambda data: objects.read_unit(data, "a.dat"), objects.write_unit, made.units, about_unit),
    "registry": Format(
        lambda data: objects.read_registry(read_nres(data, "objects.rlb")),
        objects.write_registry,
        made.registries,
        about_registry,
    ),
    "controller": Format(
        lambda data: controller.read_controller(data, "x.ctl"),
        controller.write_controller,
        made.controllers,
        about_controller,
    ),
    "footing": Format(lambda data: model_parts.read_footing(data, "x.bas"), model_parts.write_footing, made.footings),
    "node properties": Format(
        lambda data: model_parts.read_node_properties(data, "x.ndp"),
        model_parts.write_node_properties,
        made.node_properties,
    ),
    "points": Format(
        lambda data: (model_parts.read_points(data, "x.cpt"), data),
        lambda read: read[1],
        lambda: {"none": cpt([]), "four": cpt(POINTS)},
    ),
    "library": Format(lambda data: rsli.read_rsli(data, "x.lib"), packed_again, made.libraries, about_library),
    "sidecar": Format(
        lambda data: read_sidecar(data, "m.msh-sidecar"), write_sidecar, made.sidecars, lambda read: write_sidecar(read)
    ),
}


@cache
def files(name: str) -> dict[str, bytes]:
    return FORMATS[name].files()


# ------------------------------------------------------------------ what is on record


def flat(value: object) -> Iterator[bytes]:
    """Everything in a value."""
    if isinstance(value, np.ndarray | np.generic):
        yield repr(value.shape).encode() + value.tobytes()
    elif isinstance(value, bytes | bytearray | memoryview):
        yield bytes(value)
    elif isinstance(value, dict):
        yield from flat([*value.items()])
    elif isinstance(value, list | tuple):
        yield repr(len(value)).encode()
        for one in value:
            yield from flat(one)
    elif isinstance(value, str | int | float | Enum | None):
        yield repr(value).encode()
    elif isinstance(value, Finding):
        yield f"{value.code} {value.severity} {value.row} {value}".encode()
    elif hasattr(value, "__dict__"):
        yield from flat([*vars(value).values()])


def properties(value: object) -> list[object]:
    """What is computed of a value. Of a model with legacy nodes no parents are known."""
    names = {name for name in dir(type(value)) if isinstance(getattr(type(value), name), property | cached_property)}
    names -= {"parents"} if getattr(value, "legacy", False) else set()
    return [(name, getattr(value, name)) for name in sorted(names)]


def read_again(name: str, data: bytes) -> str:
    """What is read of a file, whose bytes come back; or why it is refused."""
    try:
        read = FORMATS[name].read(data)
        about = digest(b"|".join(flat(read)))
        assert FORMATS[name].write(read) == data
    except ConversionError as error:
        return str(error)
    return about


def damaged(data: bytes, dice: np.random.Generator) -> bytes:
    """With a number that is another, a part that is there twice or not at all; near an end as often as elsewhere."""
    out = bytearray(data)
    places = (len(data), min(len(data), 64), min(len(data), 256))
    kind, reach = int(dice.integers(6)), places[int(dice.integers(3))]
    at = int(dice.integers(reach)) if reach else 0
    at = len(data) - 1 - at if reach == places[2] and data else at
    if kind == 0:
        return bytes(out[:at])
    if kind == 1:
        return bytes(out + dice.bytes(int(dice.integers(1, 9))))
    if kind == 2:
        return bytes(out[:at] + out[at : at + int(dice.integers(1, 40))] + out[at:])
    width = int(dice.choice([1, 2, 4]))
    at = at // width * width
    old = int.from_bytes(out[at : at + width], "little")
    others = [0, 1, old + 1, old - 1, -1, 1 << 8 * width - 1, int(dice.integers(1 << 31)), *b'\n"/']
    new = others[int(dice.integers(len(others)))]
    out[at : at + width] = (new % (1 << 8 * width)).to_bytes(width, "little")
    return bytes(out[: len(data)])


def found(name: str, file: str) -> Iterator[tuple[str, str]]:
    """What is on record of a file: what is read of it, and of damaged ones."""
    data, kind = files(name)[file], FORMATS[name]
    try:
        read = kind.read(data)
    except ConversionError as error:
        yield f"{name}, {file}", str(error)
        return
    several = read if isinstance(read, tuple) else (read,)
    more = kind.more(read)
    text = f"{read_again(name, data)}, more {digest(b'|'.join(flat([*map(properties, several), more])))}"
    text += f"; {more}" if isinstance(more, str) else ""
    findings = [str(one) for part in several if isinstance(part, list) for one in part if isinstance(one, Finding)]
    yield f"{name}, {file}", "; ".join([text, *findings])
    dice = np.random.default_rng(zlib.crc32(f"{name}{file}".encode()))
    some = [read_again(name, damaged(data, dice)) for _ in range(DAMAGED)]
    yield f"{name}, {file}, damaged", "; ".join(dict.fromkeys(some))


@pytest.mark.parametrize(("name", "file"), [(name, file) for name in FORMATS for file in files(name)])
def test_bytes_come_back_and_what_is_read_is_on_record(name: str, file: str) -> None:
    for line, text in found(name, file):
        READS.require(line, text)


#: The format of a file or an entry by the ending of its name.
ENDINGS = {
    ".msh": "model",
    ".map": "areal map",
    ".lst": "BuildDat.lst",
    ".wea": "WEAR",
    ".tma": "mission",
    ".dat": "unit",
    ".ctl": "controller",
    ".bas": "footing",
    ".ndp": "node properties",
}


def files_of_games() -> Iterator[tuple[str, bytes]]:
    """Format and bytes of every file of the whole games, and of every entry of their archives."""
    for path in sorted(Path(CORPUS or "").glob("*/game/**/*")):
        if not path.is_file():
            continue
        data, name = bytes(read_file(path)), path.name.lower()
        if name == "objects.rlb":
            yield "registry", data
        elif is_nres(data) and path.suffix.lower() not in ENDINGS:
            yield "archive", data
            for entry in read_nres(data, path.name).entries:
                kinds = {"MAT0": "material", "TEXM": "texture"}
                kind = kinds.get(entry.type_text.upper(), ENDINGS.get(entry.name.lower()[-4:]))
                if kind:
                    yield kind, bytes(entry.payload)
        elif path.suffix.lower() == ".dat" and "units" not in str(path).lower():
            continue  # a table of something else
        elif kind := "terrain" if name == "land.msh" else ENDINGS.get(path.suffix.lower()):
            yield kind, data


@pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")
def test_files_of_the_corpus_come_back() -> None:
    seen, refused = set(), []
    for kind, data in files_of_games():
        try:
            read = FORMATS[kind].read(data)
        except ConversionError as error:
            refused.append(str(error))
            continue
        assert FORMATS[kind].write(read) == data
        seen.add(kind)
    assert seen == {*FORMATS} - {"points", "library", "sidecar"}
    assert [text for text in refused if "NREs" not in text] == [], "but for one that is broken on purpose"


if __name__ == "__main__":
    READS.write(row for name in FORMATS for file in files(name) for row in found(name, file))
