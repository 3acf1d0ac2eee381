"""Whole pipelines: a file and what lies beside it in, other files out; all in this process."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from msh_gltf.converter.files import read_file
from msh_gltf.converter.findings import Mode
from msh_gltf.converter.formats.kinds import Kind, find_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.appearance import Libraries
from msh_gltf.converter.kinds.base import Source
from msh_gltf.converter.kinds.check import check_file
from msh_gltf.converter.kinds.dispatch import import_gltf, load, load_file
from msh_gltf.converter.kinds.model import LoadedModel
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.options import ExportOptions, ImportOptions
from tests.fuzz.engine import PIPELINE, Target, as_file, scratch, write
from tests.fuzz.mutate import (
    dump,
    join_glb,
    join_nres,
    mutate_gltf,
    mutate_nres,
    mutate_sidecar,
    mutate_text,
    split_glb,
    split_nres,
)
from tests.fuzz.targets import (
    DATA,
    OBJ,
    areal_maps,
    as_obj,
    gltf_seeds,
    is_json,
    models,
    read_container,
    terrains,
    tiny_models,
)

LIBS = DATA / "libs"


def _out(data: bytes) -> Any:
    """The file and its archive: what is no container gets no further."""
    return as_file(data, ".msh"), read_container(data)


def _model_out(opened: Any, mode: Mode = "default", keep: bool = False) -> None:
    """``msh2gltf`` of a model: read, check, decode, write glTF."""
    path, archive = opened
    options = ExportOptions(paths=True, points=True, mode=mode)
    loaded = LoadedModel.load(Source(path, archive, find_model(archive, None)), options)
    for target, data in loaded.files(path.with_suffix(".glb"), options):
        if keep:
            write(target, data)


def _model_tolerant(opened: Any) -> None:
    """``--tolerant``: what is locally broken is left out, and the import gives the bytes."""
    path, _ = opened
    _model_out(opened, "tolerant", keep=True)
    assert import_gltf(path.with_suffix(".glb")).data == path.read_bytes()


def _map_out(kind: Kind, mode: Mode = "default") -> Callable[[Any], None]:
    """``msh2gltf`` of a terrain or an areal map."""

    def out(opened: Any) -> None:
        path, archive = opened
        options = ExportOptions(mode=mode)
        load(kind, Source(path, archive), options).files(path.with_suffix(".glb"), options)

    return out


# ------------------------------------------------------------------ checks


def _small_models() -> list[bytes]:
    """For what takes a model through many steps."""
    return [*tiny_models(), *models()[:4]]


def _check_seeds() -> list[bytes]:
    return [*tiny_models(), *models()[:8], *terrains()[:3], *areal_maps()]


def _check(opened: Any) -> None:
    """``msh-inspect --check``: every finding about any file, none of it an exception."""
    path, _ = opened
    for checked in check_file(path, path.name, ()):
        for finding in checked.findings:
            str(finding).encode("utf-8", "surrogateescape")


# ------------------------------------------------------------------ appearance


def _library_seeds() -> list[bytes]:
    found = []
    for name in ("Material.lib", "lightmap.lib", "Textures.lib"):
        entries = split_nres((LIBS / name).read_bytes())
        assert entries is not None
        entries.sort(key=lambda entry: len(entry[5]))
        found.append(join_nres([*entries[:_ENTRIES], *(entries[-2:] if "Mat" in name else [])]))
    return found


#: How many small entries a library has.
_ENTRIES = 6


@cache
def _bare() -> Any:
    path = as_file(tiny_models()[0], ".msh")
    return load_file(path, None, ExportOptions(find_textures=False))


def _library(data: bytes) -> Any:
    """A folder with the bundled libraries, one of them replaced."""
    archive = read_container(data)
    kinds = {entry.type_text for entry in archive.entries}
    name = "Material.lib" if "MAT0" in kinds else "Textures.lib"
    folder = scratch() / "libs"
    folder.mkdir(exist_ok=True)
    for other in ("Material.lib", "Textures.lib", "lightmap.lib"):
        (folder / other).unlink(missing_ok=True)
        if other != name:
            (folder / other).symlink_to(LIBS / other)
    (folder / name).write_bytes(data)
    return folder


def _with_materials(folder: Path) -> None:
    """A model with the materials of the libraries, its pictures in the glTF."""
    materials, lightmaps, _ = _names()
    appearance = Libraries([folder]).appearance(["", *materials, "missing"], lightmaps, {(0, 1): 0.5})
    replace(_bare(), appearance=appearance).files(folder / "x.glb", ExportOptions())


@cache
def _names() -> list[list[str]]:
    """What the entries of each library are called."""
    libraries = [split_nres(library) or [] for library in _library_seeds()]
    return [[entry[4].partition(b"\0")[0].decode("cp1251") for entry in entries] for entries in libraries]


# ------------------------------------------------------------------ back


@cache
def pairs() -> list[tuple[bytes, bytes]]:
    """``(glb, sidecar)`` of small models, a terrain and an areal map."""
    found = []
    for model in (*tiny_models()[:2], tiny_models()[-1], (DATA / "retail__odd__l_mast_010.msh").read_bytes()):
        loaded = load_file(as_file(model, ".msh"), None, ExportOptions(find_textures=False))
        files = loaded.files(scratch() / "pair.glb", ExportOptions())
        found.append((files[1][1], files[0][1]))
    for data, kind in ((terrains()[1], Kind.TERRAIN), (areal_maps()[1], Kind.AREAL_MAP)):
        path = as_file(data, ".msh")
        archive = read_nres(bytes(read_file(path)), "Land")
        made = load(kind, Source(path, archive), ExportOptions())
        files = made.files(scratch() / "pair.glb", ExportOptions())
        found.append((files[1][1], files[0][1]))
    return found


def _edited_seeds() -> list[bytes]:
    """glTF files of ours, as they are and with something moved, so that much is rebuilt."""
    found = []
    for glb, _ in pairs():
        text, binary = split_glb(glb) or (b"", b"")
        tree = json.loads(text)
        for node in tree["nodes"]:
            if "mesh" in node:
                node["translation"] = [0.5, 0.25, 0.0]
        found += [glb, join_glb(dump(tree), binary)]
    return found


def _back(data: bytes) -> Any:
    """A glTF file beside the sidecar whose digest it names, or beside the first."""
    text = (split_glb(data) or (data, b""))[0]
    is_json(text)
    kept = next((s for g, s in pairs() if _digest(g) in text), pairs()[0][1])
    path = as_file(data, ".glb")
    (scratch() / "beside").write_bytes(kept)
    return path, scratch() / "beside"


@cache
def _digest(glb: bytes) -> bytes:
    tree = json.loads((split_glb(glb) or (b"", b""))[0])
    digest: str = tree["scenes"][0]["extras"]["msh"]["digest"]
    return digest.encode()


def _to_model(opened: Any) -> None:
    """``gltf2msh`` with the sidecar."""
    path, sidecar = opened
    import_gltf(path, sidecar)


def _alone(data: bytes) -> Any:
    is_json((split_glb(data) or (data, b""))[0])
    return as_file(data, ".glb")


def _to_new_model(path: Path) -> None:
    """``gltf2msh --no-sidecar``: a model of nothing but the file, in one of two dialects."""
    dialect = ("auto", "retail")[path.stat().st_size % 2]
    options = ImportOptions(dialect=dialect, rigid_skin=True, ignore_scale=True, use_sidecar=False)
    import_gltf(path, None, options)


@cache
def _without_digest(at: int) -> bytes:
    """The edited file of a pair, such that any sidecar is its own."""
    text, binary = split_glb(_edited_seeds()[2 * at + 1]) or (b"", b"")
    tree = json.loads(text)
    for scene in tree["scenes"]:
        for key in ("digest", "pair"):
            scene.get("extras", {}).get("msh", {}).pop(key, None)
    return join_glb(dump(tree), binary)


def _sidecar(data: bytes) -> Any:
    """A sidecar beside an edited glTF file of the same kind of source."""
    at = 4 if b'"terrain"' in data[:4096] else 5 if b'"areal map"' in data[:4096] else 0
    path = as_file(_without_digest(at), ".glb")
    (scratch() / "beside").write_bytes(data)
    return path, scratch() / "beside"


PIPELINES = [
    Target("model_out", models, mutate_nres, _out, _model_out, 150, PIPELINE),
    Target("terrain_out", terrains, mutate_nres, _out, _map_out(Kind.TERRAIN), 150, PIPELINE),
    Target("areal_out", areal_maps, mutate_nres, _out, _map_out(Kind.AREAL_MAP), 150, PIPELINE),
    Target("model_tolerant", _small_models, mutate_nres, _out, _model_tolerant, 60, PIPELINE),
    Target("terrain_tolerant", terrains, mutate_nres, _out, _map_out(Kind.TERRAIN, "tolerant"), 100, PIPELINE),
    Target("areal_tolerant", areal_maps, mutate_nres, _out, _map_out(Kind.AREAL_MAP, "tolerant"), 100, PIPELINE),
    Target("check", _check_seeds, mutate_nres, _out, _check, 150, PIPELINE),
    Target("appearance_out", _library_seeds, mutate_nres, _library, _with_materials, 60, PIPELINE),
    Target("gltf_back", _edited_seeds, mutate_gltf, _back, _to_model, 100, PIPELINE),
    Target("sidecar_back", lambda: [kept for _, kept in pairs()], mutate_sidecar, _sidecar, _to_model, 80, PIPELINE),
    Target("gltf_new", gltf_seeds, mutate_gltf, _alone, _to_new_model, 120, PIPELINE),
    Target(
        "obj_new",
        lambda: list(OBJ),
        mutate_text,
        as_obj,
        lambda path: import_obj(path, None, ImportOptions(use_sidecar=False)),
        80,
        PIPELINE,
    ),
]
