"""JSON text of glTF objects, fast where there are thousands that are alike.

Of a game's glTF files most of the text is accessors and primitives that differ in a few numbers.
:func:`json_rows` writes such objects by filling a template, which costs a tenth of encoding each.
"""

from __future__ import annotations

import json
from itertools import chain, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.formats.gltf import Json

_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)


class Text(str):
    """JSON text: an object that is encoded already, or several with commas between."""

    __slots__ = ()


def json_object(members: Json) -> Text:
    """Return the text of an object whose values may be lists of :class:`Text`."""
    texts = (f'"{key}":{_member(value)}' for key, value in members.items())
    return Text(f"{{{','.join(texts)}}}")


def json_rows(*objects: Json) -> list[Text]:
    """Return the texts of n times some objects, alike but for the values that are arrays.

    Args:
        objects: glTF objects. Where a value is an array, (n,) or (n, k), row i has its number i or
            its list of k numbers i.

    Returns:
        n texts, each of all the objects with commas between.
    """
    columns: list[NDArray[Any]] = []
    template = ",".join(_template(value, columns) for value in objects)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    texts = "\n".join([template] * len(columns[0])) % tuple(chain.from_iterable(rows))
    return list(map(Text, texts.split("\n")))


def _template(value: object, columns: list[NDArray[Any]]) -> str:
    """A format string of a value; appends the columns that fill it."""
    if isinstance(value, dict):
        members = (f'"{key}":{_template(part, columns)}' for key, part in value.items())
        return f"{{{','.join(members)}}}"
    if type(value) is int:
        return str(value)
    if not isinstance(value, np.ndarray):
        return _ENCODER.encode(value).replace("%", "%%")
    if value.ndim == 1:
        columns.append(value)
        return "%r"
    columns.extend(value.T)
    return f"[{','.join(['%r'] * value.shape[1])}]"


def _member(value: object) -> str:
    if not isinstance(value, list) or Text not in (types := set(map(type, value))):
        return _ENCODER.encode(value)
    if len(types) == 1:
        return f"[{','.join(value)}]"
    runs = groupby(value, key=lambda part: isinstance(part, Text))
    texts = (",".join(run) if ready else _ENCODER.encode([*run])[1:-1] for ready, run in runs)
    return f"[{','.join(texts)}]"
