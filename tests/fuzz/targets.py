"""One target per reader: bytes in, a value or a ``ConversionError`` out."""

import base64
import io
import struct
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from msh_gltf.converter import MANIFEST
from msh_gltf.converter.checks.companions import Facts, check_controller
from msh_gltf.converter.formats.areal_map import areal_payload
from msh_gltf.converter.formats.kinds import archive_kind, find_model, kind_at, models_in
from msh_gltf.converter.formats.material import new_material
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.formats.terrain import read_terrain, write_terrain
from msh_gltf.converter.formats.wear import agrees, new_wear
from msh_gltf.converter.game.manifest import Manifest, Output, Record, read_manifest, write_manifest
from msh_gltf.converter.game.walk import Folder, Skipped
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.converter.scene.appearance import appearance_of
from msh_gltf.converter.scene.companions import shown_points, states_text
from msh_gltf.exporters.gltf_file import png_bytes
from msh_gltf.importers.gltf import read_gltf
from msh_gltf.importers.materials import read_picture
from msh_gltf.importers.obj import read_obj
from tests.converter.formats.test_every_format import FORMATS, files, properties
from tests.fuzz.documents import documents
from tests.fuzz.engine import ROOT, Target, as_file, scratch
from tests.fuzz.mutate import (
    Mutator,
    dump,
    join_glb,
    join_nres,
    mutate_bytes,
    mutate_gltf,
    mutate_json,
    mutate_nres,
    mutate_png,
    mutate_sidecar,
    mutate_text,
)
from tests.support.areals import linked, square, tiny
from tests.support.terrain_maker import make_terrain

DATA = ROOT / "tests/data"
#: How many of a format's files are seeds: the smallest.
_SEEDS = 12


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


@cache
def models() -> list[bytes]:
    """Those, the smallest bundled models, and the walker."""
    files = sorted(DATA.glob("*.msh"), key=lambda path: path.stat().st_size)
    return [*tiny_models(), *(path.read_bytes() for path in (*files[:3], ROOT / "examples/walker.msh"))]


@cache
def terrains() -> list[bytes]:
    sizes = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 2, 2)]
    return [
        make_terrain(i, across=a, down=d, steps=s, blend=bool(i % 2), x_first=i < 3)
        for i, (a, d, s) in enumerate(sizes)
    ]


@cache
def areal_maps() -> list[bytes]:
    """Small areal maps: a few squares side by side, with and without polys."""

    def made(count: int, polys: int = 0) -> bytes:
        areals = tiny(*(square(x, 0, 1) for x in range(count)), cells=2)
        for x in range(count - 1):
            areals = linked(areals, {4 * x + 1: (x + 1, 3), 4 * x + 7: (x, 1)})
        areals.records["poly_count"] = polys
        areals = replace(
            areals,
            extra_start=np.arange(count + 1) * 3 * polys,
            extra_links=np.full(3 * polys * count, -1, areals.extra_links.dtype),
            polys=[struct.pack("<4I", 1, 1, 2, 3) * polys] * count,
        )
        return join_nres([[12, count, 0, 0, b"Areal".ljust(36, b"\0"), areal_payload(areals)]])

    return [made(1), made(2), made(6), made(4, 1)]


# ------------------------------------------------------------------ the game's formats


def _ask_archive(archive: Any) -> None:
    archive_kind(archive)
    models_in(archive)
    kind_at(archive, find_model(archive, None))


def _ask_wear(read: Any) -> None:
    wear, _, names, _ = read
    agrees(names, wear.materials)
    new_wear(wear.materials, wear.lightmaps)


def _ask_material(material: Any) -> None:
    appearance_of("a", material, "name")
    new_material(material, "b", "wall.0", alpha=0.5)


def _archives() -> list[bytes]:
    model = [0x4853454D, 3, 1, 0, b"m.msh" + bytes(31), models()[0]]
    return [*files("archive").values(), (DATA / "gamefont.rlb").read_bytes(), join_nres([model])]


def _sidecars() -> list[bytes]:
    return [files("sidecar")[name] for name in ("plain", "whole", "attached", "nested")]


def _container(data: bytes) -> Any:
    return read_nres(data, "x")


@cache
def _scene() -> Any:
    return load_file(DATA / "retail__odd__l_mast_010.msh", None, ExportOptions()).scene


def _ask_controller(controller: Any) -> None:
    list(check_controller(controller, Facts(3, 9, 2)))
    states_text(controller)


def _ask_mission(mission: Any) -> None:
    for one in [*mission.objects, *(each for placed in mission.objects for each in placed.properties)]:
        properties(one)


#: What else is asked of what was read, by its format.
_ASK: dict[str, Sequence[Callable[[Any], object]]] = {
    "archive": [_ask_archive],
    "WEAR": [_ask_wear],
    "material": [_ask_material],
    "points": [lambda read: shown_points(read[0], _scene())],
    "controller": [_ask_controller],
    "mission": [_ask_mission],
}


def of_format(
    name: str, of: str, mutate: Mutator, short: int = 500, seeds: Callable[[], list[bytes]] | None = None
) -> Target:
    """The target of a format of the table that has each: its bytes come back, and all that is known of it is asked."""
    kind = FORMATS[of]

    def some() -> list[bytes]:
        return sorted(files(of).values(), key=len)[:_SEEDS]

    def ask(opened: Any) -> None:
        data, read = opened
        assert kind.write(read) == data, "the bytes do not come back"
        for one in (kind.more, *_ASK.get(of, ())):
            one(read)

    return Target(name, seeds or some, mutate, lambda data: (data, kind.read(data)), ask, short)


# ------------------------------------------------------------------ foreign formats, and what a run writes


@cache
def gltf_seeds() -> list[bytes]:
    """Small documents with every feature that is read: made here, and of the exporters."""
    found = []
    for tree, binary in documents():
        uri = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
        alone = {**tree, "buffers": [{"byteLength": len(binary), "uri": uri}]}
        found += [join_glb(dump(tree), binary), dump(alone)]
    return found


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


def as_glb(data: bytes) -> Path:
    return as_file(data, ".glb")


def as_obj(data: bytes) -> Path:
    return as_file(data, ".obj")


READERS = [
    of_format("nres", "archive", mutate_nres, 1000, _archives),
    of_format("msh", "model", mutate_nres, seeds=models),
    Target("terrain", terrains, mutate_nres, _container, lambda a: write_terrain(read_terrain(a, "Land.msh")), 500),
    of_format("areal_map", "areal map", mutate_nres, seeds=areal_maps),
    of_format("build_dat", "BuildDat.lst", mutate_text),
    of_format("wear", "WEAR", mutate_text, 1000),
    of_format("material", "material", mutate_bytes, 1000),
    of_format("texm", "texture", mutate_bytes, 1000),
    of_format("control_points", "points", mutate_bytes, 1000),
    of_format("controller", "controller", mutate_bytes),
    of_format("node_properties", "node properties", mutate_bytes),
    of_format("footing", "footing", mutate_bytes),
    of_format("registry", "registry", mutate_nres),
    of_format("unit", "unit", mutate_bytes),
    of_format("mission", "mission", mutate_bytes, 1000),
    of_format("rsli", "library", mutate_bytes),
    Target("sidecar", _sidecars, mutate_sidecar, lambda data: read_sidecar(data, "x.msh-sidecar"), write_sidecar, 500),
    Target("gltf", gltf_seeds, mutate_gltf, as_glb, lambda path: read_gltf(path, rigid_skin=True), 800),
    Target("obj", lambda: list(OBJ), mutate_text, as_obj, read_obj, 300),
    Target("manifest", manifests, mutate_json, _manifest, _manifest_rest, 500),
    Target("picture", _pictures, mutate_png, lambda data: as_file(data, ".png"), read_picture, 500),
]
