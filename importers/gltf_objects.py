"""``pygltflib.GLTF2`` to a document as :mod:`importers.gltf_file` reads it, without writing JSON."""

from __future__ import annotations

from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .gltf_file import GltfInMemory

if TYPE_CHECKING:
    from pygltflib import GLTF2


def document_of(gltf: GLTF2) -> GltfInMemory:
    """Return the document of pygltflib's objects, with their blob and the folder that they were loaded from.

    As pygltflib writes it, what is ``None`` or empty is left out; extras and extensions stay as they are.
    """
    folder = getattr(gltf, "_path", None)  # GLTF2.load sets it
    blob = gltf.binary_blob()
    return GltfInMemory((_plain(gltf), blob), None if folder is None else Path(folder))


def _plain(value: Any) -> Any:
    """Objects as dictionaries."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not is_dataclass(value) and type(value).__name__ != "Attributes":  # no data class: it may have any name
        return value
    fields = ((k, v) for k, v in vars(value).items() if not k.startswith("_glb") and k not in _PRIVATE)
    return {k: _plain(v) for k, v in fields if v is not None and not (isinstance(v, list | dict) and not v)}


#: What ``GLTF2`` keeps beside its fields.
_PRIVATE = frozenset(("_path", "_name", "_glb_data", "_min_alignment"))
