"""The format reference speaks of every field of every record, and of nothing else."""

import json
import re
import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.formats.model import TABLES
from msh_gltf.converter.formats.terrain import TERRAIN_TABLES
from tests.support.runs import call

ROOT = Path(__file__).parent.parent


def script(name: str) -> dict[str, Any]:
    """A script of ``docs``, which imports from its own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        return runpy.run_path(str(ROOT / "docs" / name))


MAKE = script("make_reference.py")
FIELDS = MAKE["FIELDS"]
EVERY_PAGE = sorted((ROOT / "docs/reference").glob("*.md"))
PAGES = [page for page in EVERY_PAGE if not page.name.endswith(".ru.md")]
TEXTS = {page.name: page.read_text("utf-8") for page in PAGES}
#: How code cites the documentation: a page, and perhaps a heading on it.
CITATION = r"docs/[\w/-]+\.md(?:#[\w-]+)?"


#: A record in a source: ``np.dtype([("name", ...``, perhaps with a comment before it begins.
RECORD = r"np\.dtype\((?:\s*#.*)?\s*\[\s*\(\""


def declared() -> set[str]:
    """Every record of the sources, as ``fields.toml`` calls it."""
    names = set()
    folders = [ROOT / name for name in ("converter", "importers", "exporters")]
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        module, text = ".".join(["msh_gltf", *path.relative_to(ROOT).with_suffix("").parts]), path.read_text("utf-8")
        found = re.findall(rf"^(\w+) = {RECORD}", text, re.MULTILINE)
        assert len(found) == len(re.findall(RECORD, text)), f"{path}: a record without a name of its own"
        names |= {name if module == "msh_gltf.converter.formats.tables" else f"{module}:{name}" for name in found}
    return names


def plain() -> set[str]:
    """Tables of plain numbers, as ``fields.toml`` calls them."""
    return {
        f"Res{number}{place}"
        for specs, place in ((TABLES, ""), (TERRAIN_TABLES, " in Land.msh"))
        for number, spec in specs.items()
        if spec.dtype is not None and spec.dtype.names is None
    }


def test_every_record_is_spoken_of() -> None:
    found = declared()
    assert len(found) > 25
    assert "NODE_DTYPE" in found
    in_terrains = {f"{name}_DTYPE in Land.msh" for name in ("NODE", "HEADER", "SLOT")}
    assert set(FIELDS) == found | plain() | in_terrains


@pytest.mark.parametrize("record", FIELDS)
def test_every_field_is_spoken_of(record: str) -> None:
    dtype = MAKE["dtype_of"](record)
    if dtype.names is not None:
        assert tuple(FIELDS[record]) == dtype.names
    else:
        assert len(FIELDS[record]) in (1, int(np.prod(dtype.shape)))
    for name, text in FIELDS[record].items():
        assert set(text) - {"alias"} == {"meaning", "evidence", "writer"}, name
        assert all(value.strip() for value in text.values()), name
        for kind, place in MAKE["evidence"](text["evidence"]):
            assert kind in MAKE["EVIDENCE"], f"{name}: {kind}"
            assert place, name


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).lower()) for title in titles}


def test_citations_can_be_opened() -> None:
    """What docstrings, comments and the rules of ``--explain`` cite is a page and a heading."""
    cited = set()
    for package in ("converter", "importers", "exporters", "msh_gltf"):
        for path in sorted((ROOT / package).rglob("*.py")):
            cited |= {(name, path) for name in re.findall(CITATION, path.read_text("utf-8"))}
    assert len(cited) > 100
    for name, path in sorted(cited):
        page, _, anchor = name.partition("#")
        assert (ROOT / page).is_file(), f"{path}: {name}"
        assert not anchor or anchor in anchors(ROOT / page), f"{path}: {name}"


def test_evidence_names_a_source_that_has_a_section() -> None:
    """``sources.md`` says of each who published it, and where."""
    named = set()
    for record, fields in FIELDS.items():
        for name, text in fields.items():
            for kind, place in MAKE["evidence"](text["evidence"]):
                found = MAKE["CITED"].findall(place)
                assert found or kind not in ("source", "measured"), f"{record}.{name}: {place}"
                named |= set(found)
    assert len(named) >= 6
    sources = TEXTS["sources.md"].split("## By format")[0].split("## What is cited")[1]
    for section in sources.split("### ")[1:]:
        title, _, body = section.partition("\n")
        assert "https://" in body or title.endswith("measurements"), title


@pytest.mark.parametrize("page", sorted(set(TEXTS) - {"sources.md"}))
def test_sources_are_links(page: str) -> None:
    """Where a page says that a fact has a source, one can follow it."""
    text = re.sub(r"\[[^\]]*\]\([^)]*\)", "LINK", TEXTS[page])
    bare = [name for name in MAKE["SOURCES"] if re.search(rf"[:(,;] {re.escape(name)}[,;.)]", text)]
    assert bare == []
    assert not re.search(r"\b(core|evidence|terrain|animation|container|assembly) page\b", text)


def test_every_record_is_on_one_page() -> None:
    made = [found["name"] for text in TEXTS.values() for found in MAKE["BLOCK"].finditer(text)]
    assert sorted(made) == sorted([*FIELDS, *MAKE["BLOCKS"]])


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_pages_are_current(page: Path) -> None:
    assert MAKE["current"](page) == page.read_text("utf-8"), "run: python docs/make_reference.py"


def test_every_translation_is_used() -> None:
    used: set[str] = set()

    def noted(text: str) -> str:
        used.add(text)
        return text

    for page in set(EVERY_PAGE) - set(PAGES):
        MAKE["updated"](page.read_text("utf-8"), noted)
    assert MAKE["TRANSLATIONS"].keys() - used == set()


def test_diagrams_are_current() -> None:
    make = script("make_diagrams.py")
    drawn = {f"{name}.svg": draw().svg() for name, draw in make["DRAWINGS"].items()}
    stored = {path.name: path.read_text("utf-8") for path in make["FOLDER"].iterdir()}
    assert drawn == stored, "run: python docs/make_diagrams.py"


def test_diagrams_are_narrow_and_whole() -> None:
    """No text leaves its picture, as wide as letters can be taken for; every picture is shown."""
    make = script("make_diagrams.py")
    for name, draw in make["DRAWINGS"].items():
        root = ElementTree.fromstring(draw().svg())
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        assert width <= 400
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            size, x = float(text.get("font-size", 0)), float(text.get("x", 0))
            long = 0.55 * size * len(text.text or "")
            left = x - long * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "")]
            assert left >= 2, f"{name}: {text.text!r} begins at {left:.0f}"
            assert left + long <= width - 2, f"{name}: {text.text!r} ends at {left + long:.0f}"
            assert size <= float(text.get("y", 0)) <= height - 4, f"{name}: {text.text!r}"
        shown = [page for page, text in TEXTS.items() if f"/reference/{name}.svg)" in text]
        assert len(shown) == 1, name


MAPS = ROOT / "tests/data/maps/spec__AutoMAP_00"


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (ROOT / "examples/walker.msh", ["--textures", ROOT / "examples/textures"]),
        (ROOT / "tests/data/retail__static__i_room_006.msh", ["--paths"]),
        (MAPS / "Land.msh", ["--textures", ROOT / "examples/textures"]),
        (MAPS / "Land.map", []),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_vertex_attributes_are_on_the_page(tmp_path: Path, source: Path, options: list) -> None:
    """Every vertex attribute that is written is on the page."""
    assert call(msh2gltf, source, "-o", tmp_path / "out.gltf", "--quiet", *options) == 0
    document = json.loads((tmp_path / "out.gltf").read_text("utf-8"))
    words = set(re.findall(r"`([\w]+)`", TEXTS["gltf.md"]))
    drawn = [p for mesh in document["meshes"] for p in mesh["primitives"]]
    attributes = {name for primitive in drawn for name in primitive["attributes"]}
    assert attributes <= words, attributes - words
