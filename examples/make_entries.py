"""Entries of the example game's archives."""

from __future__ import annotations

import tempfile
from pathlib import Path

from make_models import Model

from msh_gltf.converter.formats.nres import Entry
from msh_gltf.converter.formats.nres_edits import name_field
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions

MESH, WEAR = (int.from_bytes(code, "little") for code in (b"MESH", b"WEAR"))


def entry(type_id: int, name: str, payload: bytes) -> Entry:
    return Entry(type_id, 0, 0, 0, name_field(name.encode("cp1251")), 0, 0, payload)


def pair(name: str, model: bytes, wear: bytes) -> list[Entry]:
    """A model and its material list, as entries of an archive."""
    return [entry(MESH, f"{name}.msh", model), entry(WEAR, f"{name}.wea", wear)]


def made(model: Model) -> list[Entry]:
    """A model of ``make_models``, through glTF."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder))
        back = import_gltf(Path(folder) / f"{model.name}.glb", None, ImportOptions("retail"))
        return pair(model.name, back.data, (Path(folder) / f"{model.name}.wea").read_bytes())
