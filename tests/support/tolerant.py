"""Broken files of the catalogue, and their tolerant conversion in this process."""

from pathlib import Path

from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.formats.sidecar import Description, read_sidecar
from tests.support.corruption import CATALOGUE
from tests.support.runs import run

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


def convert(data: bytes, target: Path) -> Description:
    """Make the glTF of some bytes; returns what its sidecar says."""
    path = target.with_suffix(".msh")
    path.write_bytes(data)
    assert run("msh2gltf", path, "-o", target, "--tolerant", "--no-textures", "--force").returncode == 0
    return read_sidecar(target.with_suffix(".msh-sidecar").read_bytes(), "").description


def first_case(kind, folder: Path, wanted: str = "") -> bytes:
    """The first sample of a kind that there is."""
    case = next(c for c in kind.make(folder) if wanted in c.sample)
    return case.path.read_bytes()
