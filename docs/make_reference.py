"""Write the tables of ``docs/reference``: offsets from the dtypes, words from ``fields.toml``.

python docs/make_reference.py

The tables of Russian pages have the translations of ``russian.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from link_translations import RUSSIAN
from link_translations import linked as to_translations

from msh_gltf.converter.formats import tables
from msh_gltf.converter.formats.model import TABLES
from msh_gltf.converter.formats.tables import Presence, TableSpec
from msh_gltf.converter.formats.terrain import CATEGORIES, TERRAIN_TABLES
from msh_gltf.converter.formats.texture import FORMATS, INDEXED, WRITABLE_FORMATS
from msh_gltf.converter.scene.extras import OBJECTS, SceneExtras, SourceExtras, schema

FOLDER = Path(__file__).with_name("reference")
#: Record -> field -> what is said about it.
FIELDS: dict[str, dict[str, dict[str, str]]] = tomllib.loads((FOLDER / "fields.toml").read_text("utf-8"))
#: The texts of Russian tables, by the English ones.
TRANSLATIONS: dict[str, str] = {
    english: text
    for texts in tomllib.loads((FOLDER / "russian.toml").read_text("utf-8")).values()
    for english, text in texts.items()
}
#: Returns a text of a table in the language of its page.
Translate = Callable[[str], str]
#: How a fact can be known; ``docs/reference/index.md`` says what the words mean.
EVIDENCE = ("source", "measured", "derived", "unknown", "ours")
#: The sources that evidence names: what ``sources.md`` has a section for.
SOURCES = re.findall(r"^### (.+)$", (FOLDER / "sources.md").read_text("utf-8"), re.MULTILINE)
#: Longer names first: one holds another.
CITED = re.compile("|".join(map(re.escape, sorted(SOURCES, key=len, reverse=True))))
BLOCK = re.compile(r"(<!-- made by docs/make_reference\.py: (?P<name>.+?) -->\n).*?(<!-- end -->\n)", re.DOTALL)
_TYPES = {"i": "int", "u": "uint", "f": "float"}
_PRESENCE = {
    Presence.REQUIRED: "required",
    Presence.USUAL: "usual",
    Presence.STATIC_OPTIONAL: "may lack in static models",
    Presence.OPTIONAL: "optional",
    Presence.NOT_LOADED: "not loaded",
}
#: (full bit, bit of compactMain16), in the order of docs/reference/terrain.md.
COMPACT_MAIN: tuple[tuple[int, int], ...] = (
    (0x00000001, 0x0001),
    (0x00000008, 0x0002),
    (0x00000010, 0x0004),
    (0x00000020, 0x0008),
    (0x00001000, 0x0010),
    (0x00004000, 0x0020),
    (0x00000002, 0x0040),
    (0x00000400, 0x0080),
    (0x00000800, 0x0100),
    (0x00020000, 0x0200),
    (0x00002000, 0x0400),
    (0x00000200, 0x0800),
    (0x00000004, 0x1000),
    (0x00000040, 0x2000),
    (0x00200000, 0x8000),
)
#: (full bit, bit of compactMaterial6), in the order of docs/reference/terrain.md.
COMPACT_MATERIAL: tuple[tuple[int, int], ...] = (
    (0x00000100, 0x01),
    (0x00008000, 0x02),
    (0x00010000, 0x04),
    (0x00040000, 0x08),
    (0x00080000, 0x10),
    (0x00000080, 0x20),
)


def dtype_of(record: str) -> np.dtype[np.generic]:
    """The dtype of a table of ``fields.toml``."""
    name, _, place = record.partition(" in ")
    if name.startswith("Res"):
        dtype = (TERRAIN_TABLES if place else TABLES)[int(name[3:])].dtype
        assert dtype is not None
        return dtype
    module, _, attribute = name.rpartition(":")
    found: np.dtype[np.generic] = getattr(import_module(module) if module else tables, attribute)
    return found


def rows_of(record: str) -> Iterator[tuple[int, str, str]]:
    """Offset, type and name of every field of a record, as ``fields.toml`` has to have them."""
    dtype, names = dtype_of(record), list(FIELDS.get(record, {}))
    if dtype.names is not None and dtype.fields is not None:
        for name in dtype.names:
            yield dtype.fields[name][1], type_name(dtype.fields[name][0]), name
    elif dtype.subdtype is not None and dtype.shape == (len(names),):
        for i, name in enumerate(names):
            yield i * dtype.base.itemsize, type_name(dtype.base), name
    else:  # a number by itself, or bytes that nobody tells apart
        yield 0, type_name(dtype), names[0] if names else "?"


def type_name(dtype: np.dtype[np.generic]) -> str:
    """``float32[8, 3]``, ``uint16``, ``4 bytes``. (``[8][3]`` would be a link to the site.)"""
    shape = f"[{', '.join(map(str, dtype.shape))}]" if dtype.shape else ""
    if dtype.base.kind == "V":
        return f"{dtype.itemsize} bytes"
    return f"{_TYPES[dtype.base.kind]}{8 * dtype.base.itemsize}{shape}"


def evidence(text: str) -> list[tuple[str, str]]:
    """``source: msh-core, 5.1; unknown: 12`` as pairs of kind and place."""
    pairs = (part.strip().partition(":") for part in re.split(r";(?= \w+:)", text))
    return [(kind, place.strip()) for kind, _, place in pairs]


def linked(place: str) -> str:
    """A place with a link for every source that it names."""
    return CITED.sub(lambda found: f"[{found[0]}](sources.md#{slug(found[0])})", place)


def slug(heading: str) -> str:
    """The anchor of a heading, as the site and repositories make it."""
    return heading.lower().replace(" ", "-")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |\n" for row in lines)


def russian(text: str) -> str:
    """Return the translation of a text.

    Raises:
        SystemExit: there is none.
    """
    if text and text not in TRANSLATIONS:
        raise SystemExit(f"docs/reference/russian.toml has no translation of: {text}")
    return TRANSLATIONS.get(text, "")


def known(text: str, translate: Translate) -> str:
    """How a fact is known; what is a source's own name stays."""
    parts = []
    for kind, place in evidence(text):
        shown = linked(place) if CITED.search(place) else translate(place)
        parts.append(f"**{translate(kind)}**: {shown}")
    return "; ".join(parts)


def record_table(record: str, translate: Translate = str) -> str:
    """The table of one record."""
    head = ("offset", "field", "meaning", "evidence", "the writer")
    rows = []
    for offset, kind, name in rows_of(record):
        text = FIELDS[record][name]
        lines = [f"**{name}**", kind, *([f"*{text['alias']}*"] if "alias" in text else [])]
        place, shown = f"{offset}<br>{offset:#x}", "<br>".join(lines)
        words = translate(text["meaning"]), known(text["evidence"], translate)
        rows.append((place, shown, *words, translate(text["writer"])))
    name = record.partition(" in ")[0]
    module, _, attribute = name.rpartition(":")
    where = "" if name.startswith("Res") else f"`{module or 'msh_gltf.converter.formats.tables'}.{attribute}`, "
    size = translate("{size} bytes each:").format(size=dtype_of(record).itemsize)
    return f"\n{where}{size}\n\n{table([translate(word) for word in head], rows)}\n"


def core_tables(translate: Translate = str) -> str:
    """The tables of a core model in the order in which the game loads them."""
    return tables_of(TABLES, "model", translate)


def terrain_tables(translate: Translate = str) -> str:
    """The tables of a terrain in the order in which the game loads them."""
    return tables_of(TERRAIN_TABLES, "terrain", translate)


def tables_of(specs: Mapping[int, TableSpec], kind: str, translate: Translate) -> str:
    """A specification of tables, row by row."""
    words = ("load", "type", "table", "bytes each", f"in a {kind}", "attr3")
    head = [translate(word) for word in words]
    rows = []
    for i, spec in enumerate(specs.values(), 1):
        size = translate("variable") if spec.dtype is None else str(spec.dtype.itemsize)
        if spec.start:
            size = translate("{start}, then {size}").format(start=spec.start, size=size)
        if spec.per_vertex:
            size = translate("{size} per vertex").format(size=size)
        rows.append(
            (
                str(i) if spec.presence is not Presence.NOT_LOADED else "",
                f"{spec.stream:d} ({spec.stream:#x})",
                translate(spec.title),
                size,
                translate(_PRESENCE[spec.presence]),
                str(spec.attr3),
            )
        )
    return f"\n{table(head, rows)}\n"


def compact_masks(translate: Translate = str) -> str:
    """Face flags and their partners in the compact masks."""
    main, material = dict(COMPACT_MAIN), dict(COMPACT_MATERIAL)
    rows = [
        (f"`{full:#010x}`", f"`{main[full]:#06x}`", "")
        if full in main
        else (f"`{full:#010x}`", "", f"`{material[full]:#04x}`")
        for full in sorted(main | material)
    ]
    head = (translate("full"), "compactMain16", "compactMaterial6")
    return f"\n{table(head, rows)}\n"


def pixel_formats(translate: Translate = str) -> str:
    """How the formats of a texture store a pixel."""
    rows = []
    for number, (dtype, channels) in FORMATS.items():
        bits = ["255" if channel is None else f"{channel[0]}..{channel[0] + channel[1] - 1}" for channel in channels]
        palette = translate("`uint8` into a palette of `uint32`")
        kind = palette if number == INDEXED else f"`{type_name(dtype)}`"
        made = translate("yes") if number in WRITABLE_FORMATS else ""
        rows.append((str(number), kind, *bits, made))
    head = ("format", "a pixel is", "red bits", "green bits", "blue bits", "alpha bits", "written")
    return f"\n{table([translate(word) for word in head], rows)}\n"


def categories(translate: Translate = str) -> str:
    """The categories of ``BuildDat.lst``."""
    rows = [(f"`{name}`", f"`{mask:#010x}`") for name, mask in CATEGORIES.items()]
    return f"\n{table((translate('category'), translate('mask')), rows)}\n"


def extras_tables(translate: Translate = str) -> str:
    """The keys of ``extras.msh``, a table for each kind of glTF object."""
    out = []
    words = ("key", "type", "files", "meaning", "range", "written by", "read by")
    head = [translate(word) for word in words]
    types: dict[Any, str] = {int: "integer", float: "number", str: "text"}
    for kind in OBJECTS.values():
        rows = []
        for name, form, key in schema(kind):
            most = "" if key.most is None else f"-1 .. {key.most}"
            given = kind is SceneExtras and name in SourceExtras.__annotations__
            writer = "kinds" if given else "exporters"
            files, readers = (", ".join(words.split()) for words in (key.files, key.readers))
            said = translate(types.get(form, "object")), files, translate(key.meaning)
            rows.append((f"`{name}`", *said, most, writer, readers))
        title = (kind.__doc__ or "").removeprefix("Keys of ").rstrip(".").replace("``", "`")
        out.append(f"\n### {translate(f'On {title}')}\n\n{table(head, rows)}")
    return f"{''.join(out)}\n"


#: Blocks that are not records.
BLOCKS: dict[str, Callable[[Translate], str]] = {
    "core tables": core_tables,
    "terrain tables": terrain_tables,
    "compact masks": compact_masks,
    "pixel formats": pixel_formats,
    "categories": categories,
    "extras": extras_tables,
}


def updated(text: str, translate: Translate = str) -> str:
    """A page with its tables as they should be."""

    def made(found: re.Match[str]) -> str:
        name = found["name"]
        body = BLOCKS[name](translate) if name in BLOCKS else record_table(name, translate)
        return f"{found[1]}{body}{found[3]}"

    return BLOCK.sub(made, text)


def current(page: Path) -> str:
    """What a page should hold; a Russian one has Russian tables, which link to Russian pages."""
    text = page.read_text("utf-8")
    if page.name.endswith(RUSSIAN):
        return to_translations(updated(text, russian), page)
    return updated(text)


if __name__ == "__main__":
    for page in sorted(FOLDER.glob("*.md")):
        page.write_text(current(page), "utf-8")
