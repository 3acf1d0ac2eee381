"""Edits of a terrain and of its materials, rows of Land1.wea and Land2.wea: they arrive, or a line has a reason."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from msh_gltf.converter import cli
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.second.container import Container
from tests.second.level import Land
from tests.support.gltf_edit import HARMLESS, Editable, drop_extras
from tests.support.maps import level_called
from tests.support.recorded import outcome
from tests.support.runs import call

LEVEL = level_called("spec__AutoMAP_00").folder
FIRST = LEVEL.joinpath("Land1.wea").read_bytes()
#: A material whose row no other one has, and one of many pairs.
ALONE, SHARED = "WATER_BOT", "LND_05"


class Edit:
    """A level's glTF as arrays: one position stream, and indices by level and primitive."""

    def __init__(self, level: Path, folder: Path) -> None:
        self.path, source = folder / "Land.glb", level / "Land.msh"
        assert call(cli.msh2gltf, source, "-o", self.path, "-q", "--force") == 0
        self.source = source.read_bytes()
        self.document = Editable(self.path)
        self.attributes = self.primitives()[0]["attributes"]
        self.positions = self.stream("POSITION")

    def stream(self, name: str) -> np.ndarray:
        return self.document.arrays[self.attributes[name]]

    def primitives(self, mesh: int = 0) -> list[dict]:
        return self.document.json["meshes"][mesh]["primitives"]

    def index(self, primitive: dict) -> np.ndarray:
        return self.document.arrays[primitive["indices"]].reshape(-1, 3)

    def set_index(self, primitive: dict, triangles: np.ndarray) -> None:
        self.document.arrays[primitive["indices"]] = triangles.reshape(-1, 1).astype("<u2")

    def append(self, **streams: list) -> int:
        """A vertex like vertex 0 but for some streams; returns its number."""
        for name, accessor in self.attributes.items():
            array = self.document.arrays[accessor]
            row = np.array(streams.get(name, array[0]), array.dtype).reshape(1, -1)
            self.document.arrays[accessor] = np.concatenate([array, row])
        return len(self.document.arrays[self.attributes["POSITION"]]) - 1

    def back(self) -> ImportResult:
        self.document.save(self.path)
        return import_gltf(self.path)


def inner_vertex(e: Edit) -> int:
    """A vertex that many fine faces use, away from the squares' borders."""
    tables = Container(e.source).tables()
    size = max(struct.unpack_from("<24f", tables[2].data)[::3]) / tables[1].attr2
    used = np.concatenate([e.index(p).reshape(-1) for p in e.primitives()])
    number = np.bincount(used, minlength=len(e.positions))
    place = e.positions[:, [0, 2]] / size % 1
    inside = ((np.abs(place) > 0.2) & (np.abs(place) < 0.8)).all(axis=1)
    return int(np.argmax(number * inside))


def coarse_vertex(e: Edit, stream: str) -> None:
    """Vertices of coarse faces are the fine level's."""
    primitive = e.primitives(1)[0]
    values = e.document.arrays[primitive["attributes"][stream]].copy()
    vertex = int(e.index(primitive)[0, 0])
    values[vertex] = [0, 0.6, 0.8] if stream == "NORMAL" else values[vertex] / 2 + 0.125
    for one in e.primitives(1):
        one["attributes"] = {**one["attributes"], stream: e.document.add(values)}


def hole(e: Edit, *, everything: bool) -> None:
    """Under coarse faces, whether neighbours still use its corners or not."""
    vertex = inner_vertex(e)
    for primitive in e.primitives():
        index = e.index(primitive)
        hit = np.flatnonzero((index == vertex).any(axis=1))
        e.set_index(primitive, np.delete(index, hit if everything else hit[:1], axis=0))


def hole_through_both(e: Edit) -> None:
    square = e.index(e.primitives()[0])
    low, high = (e.positions[square[0]].min(0)[[0, 2]], e.positions[square[0]].max(0)[[0, 2]])
    for primitive in (*e.primitives(0), *e.primitives(1)):
        index = e.index(primitive)
        corners = e.positions[index][..., [0, 2]]
        over = ((corners.max(1) > low) & (corners.min(1) < high)).all(axis=1)
        if not over.all():
            e.set_index(primitive, index[~over])


def lifted(e: Edit) -> None:
    """An object that is moved up takes its vertices along."""
    for node in e.document.json["nodes"]:
        node["translation"] = [0, 2, 0]


def equal_corners(e: Edit) -> None:
    vertex, primitive = inner_vertex(e), e.primitives()[0]
    index = e.index(primitive)
    e.set_index(primitive, np.concatenate([index, [(vertex, vertex, int(index[0, 0]))]]))


def z_up(e: Edit) -> None:
    x, y, z = e.positions.T
    e.document.arrays[e.attributes["POSITION"]] = np.stack([x, -z, y], axis=1)


def without_materials(e: Edit, *, every: bool) -> None:
    primitives = e.document.primitives()
    for primitive in primitives if every else primitives[:1]:
        del primitive["material"]
    if every:
        del e.document.json["materials"]


def recoloured(e: Edit) -> None:
    material = e.document.json["materials"][e.primitives()[0]["material"]]
    material["pbrMetallicRoughness"]["baseColorFactor"] = [0.25, 0.5, 0.75, 1]


def rename(e: Edit, names: dict[str, str]) -> None:
    for material in e.document.json["materials"]:
        material["name"] = names.get(material["name"], material["name"])


def assign(e: Edit, *names: str) -> None:
    """Materials of new names on some faces."""
    materials = e.document.json["materials"]
    for name, primitive in zip(names, e.primitives(), strict=False):
        primitive["material"] = len(materials)
        materials.append({"name": name})


def in_all_pairs(e: Edit) -> None:
    names = [material["name"] for material in e.document.json["materials"]]
    rename(e, {name: name.replace(SHARED, "lava") for name in names})


def no_extras(e: Edit, edit: Callable[[Edit], object]) -> None:
    edit(e)
    drop_extras(e.document)


def microtexture(e: Edit, text: str, *, everywhere: bool) -> None:
    """By the extras of all its materials."""
    for material in e.document.json["materials"]:
        extras = material["extras"]["msh"]
        for key, name in (("first", "microtexture"), ("second", "microtexture2")):
            if extras[key] == 6 and (everywhere or "+" not in material["name"]):
                extras[name] = text


def raised(e: Edit) -> None:
    e.positions[inner_vertex(e), 1] += 3


def over_another(e: Edit) -> None:
    """A new face replaces none, so its words are those of new ground."""
    primitive = e.primitives()[0]
    index = e.index(primitive)
    lifted = [e.append(POSITION=(e.positions[v] + [0, 9, 0]).tolist()) for v in index[-1].tolist()]
    e.set_index(primitive, np.concatenate([index, [lifted]]))


def another_object(e: Edit) -> None:
    """An artist's own object: its faces are new faces of the fine level."""
    document, place = e.document.json, e.positions[inner_vertex(e)].astype("f8")
    corners = [e.append(POSITION=(place + d).tolist()) for d in ((0, 9, 0), (0, 9, 2), (2, 9, 0))]
    index = e.document.add(np.array(corners, "<u2").reshape(-1, 1))
    primitive = {"attributes": e.attributes, "indices": index, "material": 0}
    document["meshes"].append({"name": "roof", "primitives": [primitive]})
    e.document.put({"name": "roof", "mesh": len(document["meshes"]) - 1})


def moved(e: Edit, stream: str, by: float) -> None:
    e.stream(stream)[inner_vertex(e)] += by


def painted(e: Edit, colour: list[int]) -> None:
    """White is nothing."""
    colours = np.full((len(e.positions), 4), 255, "u1")
    colours[3] = colour
    for primitive in e.primitives():
        primitive["attributes"]["COLOR_0"] = e.document.add(colours)
        e.document.normalized[primitive["attributes"]["COLOR_0"]] = True


def without(e: Edit, attribute: str) -> None:
    for primitive in e.document.primitives():
        primitive["attributes"] = {k: v for k, v in primitive["attributes"].items() if k != attribute}


def by_default(e: Edit) -> None:
    """As Blender's exporter writes it by default: no extras, no _MSH_BLEND."""
    drop_extras(e.document)
    without(e, "_MSH_BLEND")


def not_shown(e: Edit) -> None:
    """Coarse faces that are not in the file stay, and follow their vertices."""
    e.document.json["scenes"] = e.document.json["scenes"][:1]
    e.positions[:, 1] += 1


def coarse_face(e: Edit, *, cut: bool) -> None:
    """A coarse face goes, or is cut at a vertex that the fine level does not have."""
    primitive = e.primitives(1)[0]
    index = e.index(primitive)
    a, b, c = index[0].tolist()
    m = e.append(POSITION=e.positions[[a, b, c]].astype("f8").mean(axis=0).tolist()) if cut else 0
    e.set_index(primitive, np.concatenate([index[1:], [(a, b, m), (b, c, m), (c, a, m)]]) if cut else index[1:])


def odd_links(folder: Path) -> None:
    """Stored links that no rule explains, far from the vertex that is raised and beside its faces."""
    source = bytearray(LEVEL.joinpath("Land.msh").read_bytes())
    land, vertex = Land(bytes(source)), inner_vertex(Edit(LEVEL, folder))
    at, place = source.index(land.tables[21].data), np.array(land.points[vertex])
    far = next(i for i, face in enumerate(land.faces) if np.abs(land.points[face[4]] - place).max() > 300)
    links = [other for face in land.faces if vertex in face[4:7] for other in face[7:10]]
    beside = next(i for i in links if i != 0xFFFF and vertex not in land.faces[i][4:7])
    for face in (far, beside):
        source[at + 28 * face + 14 : at + 28 * face + 20] = b"\xff\xff" * 3
    source[at + 28 * far + 26] = 0xBF  # and two upper bits that nobody knows
    (folder / "Land.msh").write_bytes(source)


def two_at_one_place(folder: Path) -> None:
    """A vertex that has another normal for one of its faces."""
    e = Edit(LEVEL, folder)
    index = e.index(e.primitives()[0]).copy()
    streams = {name: e.stream(name)[index[0, 0]].tolist() for name in e.attributes}
    index[0, 0] = e.append(**streams | {"NORMAL": [0, 0.6, 0.8]})
    e.set_index(e.primitives()[0], index)
    (folder / "Land.msh").write_bytes(e.back().data)


def odd_order(folder: Path) -> None:
    """The first slot is drawn the other way round."""
    land = Land(source := LEVEL.joinpath("Land.msh").read_bytes())
    start, count = land.slots[land.squares[0][4]][:2]
    rows = np.frombuffer(land.tables[11].data, "<u2").reshape(-1, 2).copy()
    rows[start : start + count, 0] = rows[start : start + count, 0][::-1]
    (folder / "Land.msh").write_bytes(source.replace(land.tables[11].data, rows.tobytes()))


def last_face_gone(e: Edit) -> None:
    """At the other end of the level: all slots move."""
    away = [(e.positions[e.index(p)] @ (1, 0, -1)).min(axis=1) for p in e.primitives()]
    last = max(range(len(away)), key=lambda i: away[i].max())
    primitive = e.primitives()[last]
    e.set_index(primitive, np.delete(e.index(primitive), away[last].argmax(), axis=0))


def all_rows(folder: Path) -> None:
    """Land1.wea has as many names as a face can tell apart."""
    names = FIRST.splitlines()[1:] + [f"{i} m_{i}".encode() for i in range(11, 255)]
    (folder / "Land1.wea").write_bytes(b"\r\n".join([b"255", *names, b""]))


def of_version_01(e: Edit) -> None:
    """A sidecar that does not have the lists of materials."""
    beside = e.path.with_suffix(".msh-sidecar")
    kept = read_sidecar(beside.read_bytes(), "")
    kept.description.companions.clear()
    beside.write_bytes(write_sidecar(kept))
    rename(e, {ALONE: "lava"})


def first_renamed(e: Edit) -> None:
    e.document.json["materials"][0]["name"] = "lava"


def differing(before: bytes, after: bytes) -> list[str]:
    """Which tables differ, how many faces do, and the words of those with a new vertex."""
    old, new = Land(before), Land(after)
    kinds = [str(kind) for kind in old.tables if old.tables[kind].data != new.tables[kind].data]
    changed = len({*new.faces} - {*old.faces})
    faces = [struct.pack("<I2BH6H3h2B", *face) for face in new.faces if max(face[4:7]) >= len(old.points)]
    words = sorted({f"{face[:8].hex()} {face[27:].hex()}" for face in faces})
    return [f"tables {', '.join(kinds)}, {changed} of {len(new.faces)} faces", *words]


class Row(NamedTuple):
    """An edit; ``before`` changes a copy of the level first."""

    edit: Callable[[Edit], object]
    before: Callable[[Path], object] | None = None

    def found(self, folder: Path) -> str:
        level = LEVEL
        if self.before is not None:
            level = shutil.copytree(LEVEL, folder / "level")
            self.before(level)
        e = Edit(level, folder)
        self.edit(e)
        return outcome(e.back, folder, lambda out: differing(e.source, out.data) if out.data != e.source else ())


EDITS: dict[str, Callable[[Edit], object]] = {
    **{f"a coarse vertex, {name}": lambda e, name=name: coarse_vertex(e, name) for name in ("NORMAL", "_MSH_BLEND")},
    "a coarse vertex, TEXCOORD_0": lambda e: coarse_vertex(e, "TEXCOORD_0"),
    "a hole of a face": lambda e: hole(e, everything=False),
    "a hole": lambda e: hole(e, everything=True),
    "a hole through both levels": hole_through_both,
    "lifted": lifted,
    "lifted, no extras": lambda e: no_extras(e, lifted),
    "a face of two equal corners": equal_corners,
    "z up": z_up,
    "a face without a material": lambda e: without_materials(e, every=False),
    "without materials": lambda e: without_materials(e, every=True),
    "another colour": recoloured,
    "a row renamed": lambda e: rename(e, {ALONE: "лава"}),
    "a row of pairs renamed alone": lambda e: rename(e, {SHARED: "lava"}),
    "a row renamed in all its pairs": in_all_pairs,
    "new names": lambda e: assign(e, "lava", "lnd_03+ash.001", "lnd_03+ash"),
    "numbered copies of a new name": lambda e: assign(e, "ash.001", "ash.002"),
    "a row renamed, no extras": lambda e: no_extras(e, lambda e: rename(e, {ALONE: "lava"})),
    "custom properties of a row that no material had": lambda e: e.document.json["materials"][2]["extras"][
        "msh"
    ].update(first=8),
    "custom properties beyond a byte": lambda e: e.document.json["materials"][2]["extras"]["msh"].update(first=300),
    "two names exchanged": lambda e: rename(e, {ALONE: SHARED, SHARED: ALONE}),
    **{
        f"a name {name[:9]}": lambda e, name=name: rename(e, {ALONE: name})
        for name in ("岩", "x" * 40, "a+b+c", "a+", "")
    },
    **{
        f"a name {name[:9]}, no extras": lambda e, name=name: no_extras(e, lambda e: rename(e, {ALONE: name}))
        for name in ("岩", "x" * 40, "a+b+c", "a+")
    },
    **{
        f"microtexture {text[:9]}{', everywhere' * everywhere}": lambda e, text=text, everywhere=everywhere: (
            microtexture(e, text, everywhere=everywhere)
        )
        for text, everywhere in (("MIC_NEW", True), ("MIC_NEW", False), ("x" * 40, True))
    },
    "a vertex raised": raised,
    "a face over another": over_another,
    "a new pair by name": lambda e: assign(e, "lnd_03+LND_05"),
    "another object": another_object,
    **{
        f"{stream} moved by {by:g}": lambda e, stream=stream, by=by: moved(e, stream, by)
        for stream, by in (("TEXCOORD_0", 0.25), ("TEXCOORD_1", 0.25), ("TEXCOORD_0", 1000), ("_MSH_BLEND", -0.125))
    },
    "a face across a border": lambda e: moved(e, "POSITION", 400),
    "painted white": lambda e: painted(e, [255, 255, 255, 255]),
    "painted": lambda e: painted(e, [255, 0, 0, 255]),
    "by default": by_default,
    "by default, a vertex raised": lambda e: (by_default(e), raised(e)),
    "no normals": lambda e: without(e, "NORMAL"),
    "no normals, a vertex raised": lambda e: (without(e, "NORMAL"), raised(e)),
    "the coarse level is not shown": not_shown,
    "a coarse face less": lambda e: coarse_face(e, cut=False),
    "a coarse face cut": lambda e: coarse_face(e, cut=True),
    "a sidecar of version 0.1": of_version_01,
}
CASES = {name: Row(edit) for name, edit in EDITS.items()} | {
    **{change: Row(lambda e, change=change: HARMLESS[change](e.document)) for change in HARMLESS},
    "odd links": Row(raised, odd_links),
    "odd links, a face over another": Row(over_another, odd_links),
    "two vertices at one place": Row(lambda e: None, two_at_one_place),
    "two vertices at one place, a face over another": Row(over_another, two_at_one_place),
    "an odd order": Row(last_face_gone, odd_order),
    "no row is left": Row(first_renamed, all_rows),
    "no microtextures": Row(first_renamed, lambda folder: (folder / "Land2.wea").unlink()),
    # a list of one name would take the names of all other rows
    "no materials": Row(first_renamed, lambda folder: (folder / "Land1.wea").unlink()),
}
