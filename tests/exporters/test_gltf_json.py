"""JSON text of glTF objects, some of it encoded before the rest."""

import json

import numpy as np
import pytest

from msh_gltf.exporters.gltf_file import Text, json_rows, json_text, numbers_text


def test_encoded_parts_take_their_places() -> None:
    names = ['{"":null}', "Кошка", ""]
    value = {"names": names, "parts": [Text('{"a":1}'), {"b": 2}, Text("3,4")], "last": Text("[]")}
    assert json.loads(json_text(value)) == {"names": names, "parts": [{"a": 1}, {"b": 2}, 3, 4], "last": []}


def test_a_number_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"value": float("nan")})


def test_rows_are_what_encoding_each_would_write() -> None:
    rows = np.array([3, 4])
    bounds = np.array([[0.1, 1e-9], [2.0, -0.0]], np.float32)
    texts = json_rows({"name": "50%", "at": {"row": rows}}, {"min": bounds})
    for text, row, low in zip(texts, rows.tolist(), bounds.tolist(), strict=True):
        expected = [json_text({"name": "50%", "at": {"row": row}}), json_text({"min": low})]
        assert text == ",".join(expected)


def test_numbers_are_what_encoding_them_would_write() -> None:
    value = {"msh": {"slot": 3, "lod": 0}, "more": {}}
    assert numbers_text(value) == json_text(value)
