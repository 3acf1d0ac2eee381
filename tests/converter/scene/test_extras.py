"""The schema of ``extras.msh`` against the files that are written, and what is read of any file."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.scene.extras import OBJECTS, schema
from tests.support.runs import call

ROOT = Path(__file__).parents[3]
BUNDLED = [
    *sorted(ROOT.glob("tests/data/*.msh")),
    *sorted(ROOT.glob("examples/*.msh")),
    *sorted(ROOT.glob("tests/data/maps/*/Land.*[hp]")),
]
KEYS = [row for kind in OBJECTS.values() for row in schema(kind)]


def written_extras(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every ``extras.msh`` of a document, with the name of the list that its object is in."""
    for name, objects in document.items():
        for thing in objects if isinstance(objects, list) else []:
            if "extras" in thing:
                assert list(thing["extras"]) == ["msh"]
                yield name, thing["extras"]["msh"]


@pytest.mark.parametrize("source", BUNDLED, ids=lambda path: "-".join(path.parts[-2:]))
def test_only_keys_of_the_schema_are_written(source: Path, tmp_path: Path) -> None:
    more = [] if "maps" in source.parts else ["--paths", "--points"]
    options = ["-q", "--textures", ROOT / "examples/textures", *more]
    assert call(cli.msh2gltf, source, "-o", tmp_path / "a.gltf", *options) == 0
    document = json.loads((tmp_path / "a.gltf").read_text("utf-8"))
    found = list(written_extras(document))
    file = found[0][1]["kind"]
    assert {"scenes"} < {place for place, _ in found}
    for place, values in found:
        keys = {name: (form, key) for name, form, key in schema(OBJECTS[place])}
        assert values.keys() <= keys.keys(), place
        for name, value in values.items():
            form, key = keys[name]
            assert file in key.files.split(), (place, name)
            if name != "batch_flags":  # text if the highest bit is set
                assert isinstance(value, int | float if form is float else form), (place, name)


def test_a_key_has_one_type_and_range_on_all_objects() -> None:
    assert len({(name, form) for name, form, _ in KEYS}) == len({name for name, _, _ in KEYS})
    ranges = {(name, key.most) for name, _, key in KEYS if key.most is not None}
    assert len(ranges) == len({name for name, _ in ranges})


def test_readers_of_a_key_mention_it() -> None:
    folders = {"importers": ROOT / "importers", "viewer": ROOT / "viewer"}
    for name, _, key in KEYS:
        for reader in key.readers.split():
            folder = folders.get(reader, ROOT / "converter" / reader)
            files = folder.glob("*.js" if reader == "viewer" else "**/*.py")
            mention = re.compile(rf"[\"'.]{name}\b")
            assert any(mention.search(path.read_text("utf-8")) for path in files), (reader, name)


def test_a_key_that_is_looked_up_has_a_reader() -> None:
    """By ``get``, or in a table of keys that people edit."""
    folders = [ROOT / name for name in ("importers", "converter/edits", "converter/kinds")]
    text = "".join(path.read_text("utf-8") for folder in folders for path in folder.glob("*.py"))
    table = re.search(r"^_EDITED = \{.*?^\}", text, re.MULTILINE | re.DOTALL)
    assert table
    names = {name for name, _, key in KEYS if not key.readers} - {name for name, _, key in KEYS if key.readers}
    assert len(names) > 8
    assert {name for name in names if re.search(rf"\.get\(\"{name}\"|stated\[\"{name}\"", text)} == set()
    assert names & set(re.findall(r"\"(\w+)\"", table[0])) == set()
