"""JSON text of glTF objects, fast where there are thousands that are alike.

Of a game's glTF files most of the text is accessors and primitives that differ in a few numbers.
:func:`json_rows` writes such objects by filling a template, which costs a tenth of encoding each.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain
from json.encoder import encode_basestring
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.formats.gltf import Json


@dataclass(frozen=True, slots=True)
class Text:
    """JSON text: a value that is encoded already, or several with commas between."""

    text: str


#: What stands for a :class:`Text` while the rest is encoded; no string of JSON holds such quotes.
_MARK: Json = {"": None}
_MARK_TEXT = '{"":null}'


def json_text(value: object) -> str:
    """Return a value as JSON text; any part of it may be a :class:`Text`."""
    parts: list[str] = []

    def keep(part: object) -> Json:
        assert isinstance(part, Text)
        parts.append(part.text)
        return _MARK

    encoder = json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False, default=keep
    )
    between = encoder.encode(value).split(_MARK_TEXT)
    return "".join(chain.from_iterable(zip(between, [*parts, ""], strict=True)))


def quoted(text: str) -> str:
    """Return a string as JSON text."""
    return encode_basestring(text)


def numbers_text(value: object) -> str:
    """Return a small object of objects and whole numbers as JSON text."""
    if not isinstance(value, dict):
        return str(value)
    return "{" + ",".join([f'"{key}":{numbers_text(part)}' for key, part in value.items()]) + "}"


def json_rows(*objects: Json) -> list[str]:
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
    return texts.split("\n")


def _template(value: object, columns: list[NDArray[Any]]) -> str:
    """A format string of a value; appends the columns that fill it."""
    if isinstance(value, dict):
        members = (f'"{key}":{_template(part, columns)}' for key, part in value.items())
        return f"{{{','.join(members)}}}"
    if type(value) is int:
        return str(value)
    if type(value) is str:
        return quoted(value).replace("%", "%%")
    if not isinstance(value, np.ndarray):
        return json_text(value).replace("%", "%%")
    if value.ndim == 1:
        columns.append(value)
        return "%r"
    columns.extend(value.T)
    return f"[{','.join(['%r'] * value.shape[1])}]"
