"""One target per reader: bytes in, a value or a ``ConversionError`` out."""

import base64
import io
import json
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from msh_gltf.converter import MANIFEST
from msh_gltf.converter.formats.areal_map import areal_payload, read_areal_map
from msh_gltf.converter.formats.kinds import archive_kind, find_model, kind_at, models_in
from msh_gltf.converter.formats.material import find_material, new_material, read_material, write_material
from msh_gltf.converter.formats.model import model_at, write_model
from msh_gltf.converter.formats.model_parts import read_points
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.formats.terrain import read_build_dat, read_terrain, write_build_dat, write_terrain
from msh_gltf.converter.formats.texture import read_texm, write_texm
from msh_gltf.converter.formats.wear import agrees, new_wear, read_wear, read_wear_names
from msh_gltf.converter.game.manifest import Manifest, Output, Record, read_manifest, write_manifest
from msh_gltf.converter.game.walk import Folder, Skipped
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.converter.scene.appearance import appearance_of
from msh_gltf.converter.scene.companions import shown_points
from msh_gltf.exporters.gltf_file import png_bytes
from msh_gltf.importers.gltf import read_gltf
from msh_gltf.importers.materials import read_picture
from msh_gltf.importers.obj import read_obj
from tests.fuzz.documents import documents
from tests.fuzz.engine import ROOT, Target, as_file, outside, scratch
from tests.fuzz.mutate import (
    join_nres,
    mutate_bytes,
    mutate_gltf,
    mutate_json,
    mutate_nres,
    mutate_png,
    mutate_sidecar,
    mutate_text,
    split_glb,
    split_nres,
)
from tests.support.points import cpt
from tests.support.terrain_maker import make_terrain

DATA = ROOT / "tests/data"
Use = Callable[[Any], object]


@cache
def models() -> list[bytes]:
    """The smaller bundled models, and some that are left with few records."""
    files = sorted(DATA.glob("*.msh"), key=lambda path: path.stat().st_size)
    found = [path.read_bytes() for path in files[:8]]
    return [*map(cut_model, found), *found[:3], (ROOT / "examples/walker.msh").read_bytes()]


@cache
def tiny_models() -> list[bytes]:
    """Models of few nodes, made of the documents, in two dialects: a pipeline takes a few ms."""
    return [
        import_gltf(
            as_file(document, ".glb"),
            None,
            ImportOptions(dialect=dialect, rigid_skin=True, ignore_scale=True, use_sidecar=False),
        ).data
        for dialect in ("retail", "spec")
        for document in gltf_seeds()[:6:2]
    ]


def cut_model(data: bytes) -> bytes:
    """A model whose unused entries are gone and whose vertices nobody needs are few."""
    entries = split_nres(data)
    assert entries is not None
    small = []
    for entry in entries:
        kind, payload = entry[0], entry[5]
        if kind in (3, 4, 5, 15, 16, 18):
            entry[5] = payload[: 60 * {3: 12, 4: 4, 5: 4, 15: 8, 16: 8, 18: 4}[kind]]
        elif kind == 13:
            entry[5] = payload[:40]
        elif kind == 2:
            entry[5] = payload[: 140 + 68 * 2]
        small.append(entry)
    return join_nres(small)


# ------------------------------------------------------------------ readers of the game's formats


def _nres_seeds() -> list[bytes]:
    return [
        (DATA / "gamefont.rlb").read_bytes(),
        join_nres([]),
        join_nres([[9, 1, 2, 3, b"a.b" + bytes(33), b"xyz"], [9, 0, 0, 0, bytes(36), b""]]),
        (DATA / "libs/Material.lib").read_bytes(),
        join_nres([[0x4853454D, 3, 1, 0, b"m.msh" + bytes(31), models()[0]]]),
    ]


def read_container(data: bytes) -> Any:
    return read_nres(data, "x")


def _use_container(archive: Any) -> None:
    archive_kind(archive)
    models_in(archive)
    archive.find("a.B")
    archive.find(b"DEFAULT")
    for i, entry in enumerate(archive.entries[:20]):
        _ = entry.name, entry.type_text
        if i < 3:
            archive.find(entry.name)
    kind_at(archive, find_model(archive, None))


@cache
def terrains() -> list[bytes]:
    sizes = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 2, 2)]
    return [
        make_terrain(i, across=a, down=d, steps=s, blend=bool(i % 2), x_first=i < 3)
        for i, (a, d, s) in enumerate(sizes)
    ]


@cache
def areal_maps() -> list[bytes]:
    """Small areal maps: a few squares side by side, with and without polys, and cells."""

    def made(wide: int, high: int, polys: int) -> bytes:
        areals = b""
        for y in range(high):
            for x in range(wide):
                corners = [(x, y, 0), (x + 1, y, 0), (x + 1, y + 1, 0), (x, y + 1, 0)]
                areals += struct.pack("<12f", x + 0.5, y + 0.5, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0)[:32]
                areals += struct.pack("<6I", 1, 0, 3, 0, 4, polys)
                areals += b"".join(struct.pack("<3f", *c) for c in corners)
                beside = [
                    (y * wide + x - wide, 2) if y else (-1, -1),
                    (y * wide + x + 1, 3) if x + 1 < wide else (-1, -1),
                    (y * wide + x + wide, 0) if y + 1 < high else (-1, -1),
                    (y * wide + x - 1, 1) if x else (-1, -1),
                ]
                areals += b"".join(struct.pack("<2i", *pair) for pair in beside)
                areals += struct.pack("<6i", *[-1] * 6) * polys + struct.pack("<I3I", 1, 1, 2, 3) * polys
        grid = struct.pack("<2I", 2, 2) + struct.pack("<HH", 1, 0) * 3 + struct.pack("<H", 0)
        entry = [12, wide * high, 0, 0, b"Areal".ljust(36, b"\0"), areals + grid]
        return join_nres([entry])

    return [made(1, 1, 0), made(2, 1, 0), made(3, 2, 0), made(2, 2, 1)]


def _areal_rest(archive: Any) -> None:
    areals = read_areal_map(archive)
    entry = archive.first_of_type(12)
    assert areal_payload(areals) == entry.payload, "the bytes do not come back"


def _text_seeds(*paths: str) -> list[bytes]:
    return [b"", *(path.read_bytes()[:300] for name in paths for path in sorted(DATA.glob(name)))]


def _wear_rest(wear: Any) -> None:
    names = read_wear_names(wear.text.encode("cp1251", "replace"))
    agrees(names, wear.materials)
    new_wear(wear.materials, wear.lightmaps)


def _materials() -> list[bytes]:
    entries = split_nres((DATA / "libs/Material.lib").read_bytes())
    assert entries is not None
    entries.sort(key=lambda entry: len(entry[5]))
    return [join_nres([entry]) for entry in (*entries[:2], *entries[-5:])]


def _material(data: bytes) -> Any:
    archive = read_container(data)
    return archive, archive.entries[:4]


def _material_rest(opened: Any) -> None:
    archive, entries = opened
    find_material(archive, "DEFAULT")
    for entry in entries:
        material = read_material(entry, "Material.lib")
        write_material(material)
        appearance_of("a", material, "name")
        new_material(material, "b", "wall.0", alpha=0.5)


def _textures() -> list[bytes]:
    """Each texture alone; the large ones cut to a small one's size."""
    entries = split_nres((DATA / "libs/Textures.lib").read_bytes())
    assert entries is not None
    found = [entry[5] for entry in sorted(entries, key=lambda entry: len(entry[5]))]
    small = []
    for kind, width in ((0, 1), (565, 2), (556, 2), (4444, 2), (88, 2), (888, 4), (8888, 4)):
        head = struct.pack("<4s7I", b"Texm", 4, 2, 2, 32, 0, 0, kind)
        page = b"Page" + struct.pack("<I4H", 1, 0, 2, 0, 2)
        small.append(head + bytes(range(256)) * 4 * (not kind) + bytes(range(10 * width)) + page)
    return [*small, *found[:2]]


def _texm_rest(texm: Any) -> None:
    for level in range(len(texm.levels)):
        texm.rgba(level)
    _ = texm.pages, texm.has_alpha
    write_texm(texm)


def _points_seeds() -> list[bytes]:
    one = ("a", 0, (1.0, 2.0, 3.0), (0.0, 0.0, 1.0))
    return [b"", cpt([]), cpt([one]), cpt([one, ("b", 1, (0, 0, 0), (0, 0, 0))] * 2)]


@cache
def _scene() -> Any:
    return load_file(DATA / "retail__odd__l_mast_010.msh", None, ExportOptions()).scene


# ------------------------------------------------------------------ own and foreign formats


@cache
def _sidecar_seeds() -> list[bytes]:
    loaded = load_file(DATA / "retail__system__MTCHECK.msh", None, ExportOptions())
    return [loaded.files(Path("x.glb"), ExportOptions())[0][1]]


@cache
def gltf_seeds() -> list[bytes]:
    """Small documents with every feature that is read: made here, and of the exporters."""
    found = []
    for tree, binary in documents():
        uri = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
        alone = {**tree, "buffers": [{"byteLength": len(binary), "uri": uri}]}
        from tests.fuzz.mutate import dump, join_glb

        found += [join_glb(dump(tree), binary), dump(alone)]
    return found


def _gltf(data: bytes) -> Any:
    parts = split_glb(data)
    is_json(data if parts is None else parts[0])
    return as_file(data, ".glb")


def is_json(data: bytes) -> None:
    """Inputs that no JSON reader takes count as stopped by the first checks, and are run."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        outside()


OBJ = (
    b"# made by hand\nmtllib x.mtl\no a\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\n"
    b"vt 1 0\nvt 1 1\nvn 0 0 1\nusemtl one\nf 1/1/1 2/2/1 3/3/1\ng b\nusemtl two\nf -4 -3 -2 -1\n"
    b"f 1//1 3//1 4//1\n",
    b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    b"# msh-gltf source=a.msh dialect=retail lod=0 group=0 frame=0 up=y\no a\nv 0 0 0 1\n"
    b"v 1 0 0 1\nv 0 1 0 1\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n",
)


@cache
def manifests() -> list[bytes]:
    made = Manifest("1.0")
    outputs = (Output("a/m.msh-sidecar", 5, "ab"), Output("a/m.glb", 7, "cd"))
    finding = {"code": "entry-twice", "severity": "warning", "text": "x"}
    for index in (None, 3):
        head = (
            "a.rlb",
            index,
            f"m{index}.msh",
            "6d",
            "model",
            "2020-01-01T00:00:00Z",
            9,
            "00",
            "11",
            "spec",
            "a",
            "box",
        )
        made.put(Record(*head, (outputs[0], Output(f"a/{index}.glb", 1, "ee")), (finding,)))
    made.archives = {"a.rlb": Folder("a.rlb", "a", {"MESH": 2})}
    made.skipped = [Skipped(*["x"] * len(Skipped.__dataclass_fields__))]
    with tempfile.TemporaryDirectory() as folder:
        write_manifest(Path(folder), made)
        return [(Path(folder) / MANIFEST).read_bytes()]


def _manifest(data: bytes) -> Any:
    is_json(data)
    folder = scratch() / "run"
    folder.mkdir(exist_ok=True)
    path = as_file(data, ".json", folder)
    path.replace(folder / MANIFEST)
    return folder


def _manifest_rest(folder: Any) -> None:
    manifest = read_manifest(folder)
    assert manifest is not None
    for record in manifest.in_order():
        _ = record.id, record.target


@cache
def _pictures() -> list[bytes]:
    ramp = np.arange(8 * 4 * 4, dtype=np.uint8).reshape(4, 8, 4)
    found = [png_bytes(ramp)]
    for mode in ("L", "P", "1", "RGB", "LA", "I;16"):
        file = io.BytesIO()
        Image.fromarray(ramp[..., 0].copy()).convert(mode).save(file, "PNG")
        found.append(file.getvalue())
    return found


def and_back(
    read: Callable[..., Any], write: Callable[[Any], bytes], *label: str, use: Use = lambda value: None
) -> tuple[Callable[[bytes], Any], Use]:
    """Read a file, write what was read, and ask it more; ``label``: what messages call it."""

    def first(data: bytes) -> Any:
        return data, read(data, *label)

    def rest(opened: Any) -> None:
        data, value = opened
        assert write(value) == data, "the bytes do not come back"
        use(value)

    return first, rest


def as_obj(data: bytes) -> Path:
    return as_file(data, ".obj")


READERS = [
    Target("nres", _nres_seeds, mutate_nres, *and_back(read_container, write_nres, use=_use_container), 1000),
    Target("msh", models, mutate_nres, read_container, lambda found: write_model(model_at(found, None, "x.msh")), 500),
    Target("terrain", terrains, mutate_nres, read_container, lambda a: write_terrain(read_terrain(a, "Land.msh")), 500),
    Target("areal_map", areal_maps, mutate_nres, read_container, _areal_rest, 500),
    Target(
        "build_dat",
        lambda: _text_seeds("BuildDat.lst"),
        mutate_text,
        lambda data: read_build_dat(data, "BuildDat.lst")[0],
        lambda build: (write_build_dat(build), build.categories),
        500,
    ),
    Target(
        "wear",
        lambda: _text_seeds("*.wea", "maps/*/*.wea"),
        mutate_text,
        lambda data: read_wear(data, "x.wea")[0],
        _wear_rest,
        1000,
    ),
    Target("material", _materials, mutate_nres, _material, _material_rest, 1000),
    Target("texm", _textures, mutate_bytes, lambda data: read_texm(data, "x"), _texm_rest, 1000),
    Target(
        "control_points",
        _points_seeds,
        mutate_bytes,
        lambda data: read_points(data, "x.cpt"),
        lambda points: shown_points(points, _scene()),
        1000,
    ),
    Target(
        "sidecar", _sidecar_seeds, mutate_sidecar, lambda data: read_sidecar(data, "x.msh-sidecar"), write_sidecar, 500
    ),
    Target("gltf", gltf_seeds, mutate_gltf, _gltf, lambda path: read_gltf(path, rigid_skin=True), 800),
    Target("obj", lambda: list(OBJ), mutate_text, as_obj, read_obj, 300),
    Target("manifest", manifests, mutate_json, _manifest, _manifest_rest, 500),
    Target("picture", _pictures, mutate_png, lambda data: as_file(data, ".png"), read_picture, 500),
]
