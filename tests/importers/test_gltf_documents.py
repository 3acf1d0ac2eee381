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


def mutants() -> Iterator[tuple[str, str]]:
    """Every value of the documents, replaced by a third of the values of other types, sizes and lengths."""
    values: list[Any] = [None, True, "x", -1, 2**60, 1e300, {}, [None]]

    def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        if at:
            yield at
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, one in inside:
            yield from places(one, (*at, key))

    for tree, binary in documents():
        uri = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
        tree["buffers"][0]["uri"] = uri
        for number, at in enumerate(list(places(tree))):
            for value in [*values, "without", "longer"][number % 3 :: 3]:
                new = copy.deepcopy(tree)
                inside: Any = new
                for key in at[:-1]:
                    inside = inside[key]
                if value == "without":
                    del inside[at[-1]]
                elif value == "longer" and isinstance(inside[at[-1]], list) and inside[at[-1]]:
                    inside[at[-1]].append(inside[at[-1]][-1])
                elif value != "longer":
                    inside[at[-1]] = value
                yield f"{at} = {value!r}", json.dumps(new)


def test_broken_documents_are_read_or_refused_in_words(tmp_path: Path) -> None:
    path, said = tmp_path / "a.gltf", {}
    for what, text in mutants():
        path.write_text(text)
        try:
            read_gltf(path, rigid_skin=True)
        except ConversionError as error:
            said[what] = str(error)
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
    b.json["nodes"][0] |= {"translation": [1, 2, 3], "children": []}
    del b.json["nodes"][0]["children"]
    textured(b, {"index": 0})
    b.json["materials"][0] |= {"alphaMode": "MASK", "alphaCutoff": 0.5, "emissiveFactor": [0, 0, 1]}
    path = b.save(tmp_path)
    assert not [i for found in issues([path]).values() for i in found if i["severity"] == 0]
    tree = json.loads(path.read_text())
    refused = {}
    for k, (place, value) in enumerate((p, v) for p in leaves(tree) for v in (0, 1, 0.5, -1, "x", None, [], {}, "-")):
        new = copy.deepcopy(tree)
        inside: Any = new
        for key in place[:-1]:
            inside = inside[key]
        if value == "-":
            del inside[place[-1]]
        else:
            inside[place[-1]] = value
        mutant = tmp_path / f"{k}.gltf"
        mutant.write_text(json.dumps(new))
        try:
            read_gltf(mutant)
        except ConversionError as error:
            refused[str(mutant)] = f"{place} = {value!r}: {error}"
    found = issues([Path(name) for name in refused])
    # a buffer without data may be brought by the program; its zeros are no key times
    assert not [why for name, why in refused.items() if name not in found and "buffer" not in why.partition(":")[0]]


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if at:
        yield at
    for key, one in inside:
        yield from leaves(one, (*at, key))
