"""Broken files of the catalogue, and their tolerant conversion in this process."""

from dataclasses import replace
from pathlib import Path

from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.formats.kinds import kind_at
from msh_gltf.converter.formats.model import MshModel, read_model
from msh_gltf.converter.formats.nres import read_nres, trailing_bytes
from msh_gltf.converter.kinds import dispatch
from msh_gltf.converter.kinds.base import Loaded, Source
from msh_gltf.converter.options import ExportOptions
from tests.support.corpus import DATA
from tests.support.corruption import CATALOGUE
from tests.support.corruption.base import Nres

TOLERANT = ExportOptions(find_textures=False, mode="tolerant")
#: Kinds of the catalogue that a default conversion refuses.
REFUSED = [
    kind
    for kind in CATALOGUE
    if kind.format in ("model", "file", "terrain", "areal map") and all_rules()[kind.code].severity == "error"
]
LEFT_OUT = [kind for kind in REFUSED if all_rules()[kind.code].drops]
OF_MODELS = [kind for kind in LEFT_OUT if kind.format == "model"]
#: Of these triangles are left out.
OF_GEOMETRY = {"table-stride", "node-slot", "slot-batches", "batch-indices", "batch-vertices", "vertex-finite"}


def ids(kinds: list) -> list[str]:
    return [kind.name for kind in kinds]


def load(data: bytes, path: Path, **options: object) -> Loaded:
    archive = read_nres(data, "x", longer=True)
    chosen = replace(TOLERANT, **options)
    loaded = dispatch.load(kind_at(archive, None), Source(path, archive), chosen)
    trailing = [trailing_bytes(archive)] if archive.trailing else []
    return replace(loaded, findings=[*trailing, *loaded.findings])


def convert(data: bytes, target: Path, **options: object) -> Loaded:
    """The glTF of some bytes, with its sidecar."""
    loaded = load(data, target.with_suffix(".msh"), **options)
    for path, content in loaded.files(target, replace(TOLERANT, **options)):
        path.write_bytes(content)
    return loaded


def first_case(kind, folder: Path, wanted: str = "") -> bytes:
    """The first sample of a kind that there is."""
    case = next(c for c in kind.make(folder) if wanted in c.sample)
    return case.path.read_bytes()


def box_of(name: str = "retail__odd__s_rock_009") -> Nres:
    return Nres.read((DATA / f"{name}.msh").read_bytes())


def model_of(box: Nres) -> MshModel:
    return read_model(read_nres(box.write(), "x"), "m.msh")


def cut_model(path: Path) -> MshModel:
    """The tables of a file, up to their last whole records."""
    return read_model(read_nres(path.read_bytes(), "x"), path.name, cut=True)
