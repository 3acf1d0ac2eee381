"""Models that were rebuilt."""

from __future__ import annotations

from msh_gltf.converter.formats.model import MshModel
from msh_gltf.converter.options import ImportOptions
from msh_gltf.importers.msh import read_model
from msh_gltf.importers.nres import read_nres

ALONE = ImportOptions(use_sidecar=False)


def parse(data: bytes) -> MshModel:
    return read_model(read_nres(data, "x"), "x")
