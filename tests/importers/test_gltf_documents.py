"""Broken glTF documents: read or refused in words, never a bug; judged by the Khronos validator."""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msh_gltf.converter.errors import ConversionError
from msh_gltf.importers.gltf import read_gltf
from tests.fuzz.documents import documents
from tests.support.foreign import QUAD, Builder
from tests.support.gltf_rules import plain, primitive, textured
from tests.support.validator import issues

Place = tuple[Any, ...]
#: Instead of a value: nothing, and its last element twice.
WITHOUT, LONGER = "without", "longer"


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Where values are in a document."""
    if at:
        yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*at, key))


def changed(tree: Any, at: Place, value: Any) -> str:
    """A document with another value at a place."""
    new = copy.deepcopy(tree)
    inside: Any = new
    for key in at[:-1]:
        inside = inside[key]
    if value == WITHOUT:
        del inside[at[-1]]
    elif value == LONGER and isinstance(inside[at[-1]], list) and inside[at[-1]]:
        inside[at[-1]].append(inside[at[-1]][-1])
    elif value != LONGER:
        inside[at[-1]] = value
    return json.dumps(new)


def test_broken_documents_are_read_or_refused_in_words(tmp_path: Path) -> None:
    """Every value of the documents, replaced by a third of the values of other types, sizes and lengths."""
    path, said = tmp_path / "a.gltf", {}
    values: list[Any] = [None, True, "x", -1, 2**60, 1e300, {}, [None], WITHOUT, LONGER]
    for tree, binary in documents():
        tree["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
        for number, at in enumerate(list(places(tree))):
            for value in values[number % 3 :: 3]:
                path.write_text(changed(tree, at, value))
                try:
                    read_gltf(path, rigid_skin=True)
                except ConversionError as error:
                    said[f"{at} = {value!r}"] = str(error)
    assert len(said) > 700
    assert not [what for what, words in said.items() if "cannot be read as glTF" in words or "Error" in words]
    python = re.compile(r"\b(None|True|False|nan|inf|dtype)\b|array\(|[{\[(]'|''|object at 0x|\\\\x")
    assert not {what: words for what, words in said.items() if python.search(words.replace(str(path), ""))}


def test_what_the_khronos_validator_finds_valid_is_not_refused(tmp_path: Path) -> None:
    b = Builder()
    plain(b)
    bounds = {"min": QUAD.min(axis=0).tolist(), "max": QUAD.max(axis=0).tolist()}
    b.json["accessors"][primitive(b)["attributes"]["POSITION"]] |= bounds
    b.clip(0, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, 0.6, 0.8]])
    b.json["accessors"][-2] |= {"min": [0], "max": [1]}
    b.json["nodes"][0] |= {"translation": [1, 2, 3]}
    textured(b, {"index": 0})
    b.json["materials"][0] |= {"alphaMode": "MASK", "alphaCutoff": 0.5, "emissiveFactor": [0, 0, 1]}
    path = b.save(tmp_path)
    assert not [i for found in issues([path]).values() for i in found if i["severity"] == 0]
    tree, refused = json.loads(path.read_text()), {}
    for number, at in enumerate(list(places(tree))):
        for value in (0, 1, 0.5, -1, "x", None, [], {}, WITHOUT):
            mutant = tmp_path / f"{number} {value}.gltf"
            mutant.write_text(changed(tree, at, value))
            try:
                read_gltf(mutant)
            except ConversionError as error:
                refused[str(mutant)] = f"{at} = {value!r}: {error}"
    found = issues([Path(name) for name in refused])
    # a buffer without data may be brought by the program; its zeros are no key times
    assert not [why for name, why in refused.items() if name not in found and "buffer" not in why.partition(":")[0]]
