"""Models that were rebuilt."""

from msh_gltf.converter.formats.model import MshModel, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.options import ImportOptions

ALONE = ImportOptions(use_sidecar=False)


def parse(data: bytes) -> MshModel:
    return read_model(read_nres(data, "x"), "x")
