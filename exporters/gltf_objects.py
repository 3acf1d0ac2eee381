"""A glTF document as objects of pygltflib, without its JSON loader, which takes 60 times as long."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from ..converter.errors import needed_for
from ..converter.formats.gltf import Json

if TYPE_CHECKING:
    from pygltflib import GLTF2


#: Where the JSON of a ``.glb`` starts: after its header and that of the chunk.
_JSON_AT = 20


def gltf_objects(glb: bytes) -> GLTF2:
    """Return a ``.glb`` of this project as ``pygltflib.GLTF2``: what its loader makes of it, its blob set.

    Raises:
        MissingPackage: pygltflib is not installed.
    """
    with needed_for("glTF as objects", "pygltflib"):
        import pygltflib

    end = _JSON_AT + int.from_bytes(glb[12:16], "little")
    out: GLTF2 = _object(pygltflib.GLTF2, json.loads(glb[_JSON_AT:end]))
    if blob := glb[end + 8 :]:
        out.set_binary_blob(blob)
    return out


def _object(kind: type, values: Json) -> Any:
    """Make an object of a class of pygltflib."""
    nested = _nested(kind)
    return kind(**{name: _value(nested.get(name), value) for name, value in values.items()})


def _value(kind: type | None, value: Any) -> Any:
    if kind is None:
        return value
    return [_object(kind, one) for one in value] if isinstance(value, list) else _object(kind, value)


@cache
def _nested(kind: type) -> dict[str, type]:
    """The fields of a class that hold objects of another class, or a list of such."""
    found = {name: _class_in(hint, kind.__module__) for name, hint in get_type_hints(kind).items()}
    return {name: cls for name, cls in found.items() if cls is not None}


def _class_in(hint: Any, module: str) -> type | None:
    """The class of pygltflib in a type as ``Optional[List[Node]]``."""
    if isinstance(hint, type) and hint.__module__ == module:
        return hint
    return next(filter(None, (_class_in(one, module) for one in get_args(hint))), None)
