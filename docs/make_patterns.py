"""Write ``docs/reference/patterns``: the records for Kaitai Struct and ImHex, so that other tools can read the game.

python docs/make_patterns.py

Offsets and types come from the dtypes, words from ``fields.toml``, as on the pages of the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from make_reference import FIELDS, dtype_of

from msh_gltf.converter.formats.model import TABLES
from msh_gltf.converter.formats.nres import NRES_ENTRY_DTYPE, NRES_HEADER_DTYPE
from msh_gltf.converter.formats.tables import TableSpec
from msh_gltf.converter.formats.terrain import TERRAIN_TABLES

FOLDER = Path(__file__).with_name("reference") / "patterns"
#: File -> what it reads, its usual ending, and the tables of the container (none: payloads are bytes).
PATTERNS: dict[str, tuple[str, str, Mapping[int, TableSpec]]] = {
    "parkan_nres": ("NRes archive: directory and payloads", "rlb", {}),
    "parkan_msh": ("core model: an NRes file of tables", "msh", TABLES),
    "parkan_land": ("terrain (Land.msh): an NRes file of tables", "msh", TERRAIN_TABLES),
}
MADE = "Made by docs/make_patterns.py of msh-gltf; docs/reference says what the fields mean and how that is known."
_IMHEX = {"u1": "u8", "u2": "u16", "u4": "u32", "i1": "s8", "i2": "s16", "i4": "s32", "f4": "float", "V1": "u8"}

Record = np.dtype[np.generic]


def fields_of(dtype: Record, name: str = "values") -> list[tuple[str, str, int]]:
    """Name, type of one number (``u2``; ``V1`` for raw bytes) and count of every field of a record."""
    if dtype.names is None or dtype.fields is None:
        if dtype.base.kind == "V":
            return [(name, "V1", dtype.itemsize)]
        return [(name, f"{dtype.base.kind}{dtype.base.itemsize}", int(np.prod(dtype.shape, dtype=int)))]
    return [row for key in dtype.names for row in fields_of(dtype.fields[key][0], key)]


def identifier(spec: TableSpec) -> str:
    """The name of a table's type: ``nodes``, ``triangle_descriptors``."""
    return spec.title.lower().replace(" ", "_")


def record_name(dtype: Record, terrain: bool) -> str | None:
    """The name in ``fields.toml`` of a record with fields of its own, if it has one."""
    names = [name for name in FIELDS if " in " not in name and not name.startswith("Res")]
    matching = [name for name in names if dtype_of(name) is dtype]
    inside = [f"{name} in Land.msh" for name in matching if terrain and f"{name} in Land.msh" in FIELDS]
    return next(iter([*inside, *matching]), None)


def records_of(tables: Mapping[int, TableSpec]) -> dict[str, tuple[Record, str | None]]:
    """Every record of a container: name of its type -> dtype, name in ``fields.toml``."""
    terrain = tables is TERRAIN_TABLES
    records: dict[str, tuple[Record, str | None]] = {"nres_header": (NRES_HEADER_DTYPE, None)}
    records["nres_entry"] = (NRES_ENTRY_DTYPE, None)
    for number, spec in tables.items():
        if spec.dtype is None:
            continue
        place = f"Res{number} in Land.msh" if terrain and f"Res{number} in Land.msh" in FIELDS else f"Res{number}"
        records[f"{identifier(spec)}_row"] = (spec.dtype, place if place in FIELDS else None)
        if spec.header is not None:
            records[f"{identifier(spec)}_header"] = (spec.header, None)
        if spec.legacy is not None:
            records[f"{identifier(spec)}_legacy_row"] = (spec.legacy, None)
    return {name: (dtype, place or record_name(dtype, terrain)) for name, (dtype, place) in records.items()}


def meaning(record: str | None, field: str) -> str:
    """What ``fields.toml`` says of a field, on one line."""
    return " ".join(FIELDS.get(record or "", {}).get(field, {}).get("meaning", "").split())


# ------------------------------------------------------------------ Kaitai Struct


def kaitai(name: str) -> str:
    """Return a ``.ksy`` file."""
    what, ending, tables = PATTERNS[name]
    lines = [f"# {MADE}", "meta:", f"  id: {name}", f"  title: 'Parkan: Iron Strategy, {what}'"]
    lines += [f"  file-extension: {ending}", "  endian: le", "  license: MIT", "seq:"]
    lines += ["  - {id: header, type: nres_header}", "instances:", "  directory:"]
    lines += ["    pos: header.total_size - 64 * header.entry_count", "    type: nres_entry", "    repeat: expr"]
    lines += ["    repeat-expr: header.entry_count", "types:"]
    for record, (dtype, place) in records_of(tables).items():
        lines += [f"  {record}:", "    seq:"]
        for field, kind, count in fields_of(dtype):
            lines.append(f"      - id: {field}")
            if kind == "V1" or field == "name":
                lines.append(f"        size: {count}")
            else:
                # one byte has no byte order; Kaitai calls signed integers "s"
                lines.append(f"        type: {kind.replace('i', 's')}")
                lines += ["        repeat: expr", f"        repeat-expr: {count}"] if count > 1 else []
            if text := meaning(place, field):
                lines.append(f"        doc: {quoted(text)}")
        if record == "nres_entry":
            lines += ["    instances:", "      payload:", "        io: _root._io", "        pos: data_offset"]
            lines += ["        size: size"]
            typed = [f"            {n}: table_{identifier(s)}" for n, s in tables.items() if s.dtype is not None]
            lines += ["        type:", "          switch-on: type_id", "          cases:", *typed] if typed else []
    for spec in tables.values():
        if spec.dtype is None:
            continue
        title = identifier(spec)
        lines += [f"  table_{title}:", f"    doc: {quoted(spec.label)}", "    seq:"]
        lines += [f"      - {{id: header, type: {title}_header}}"] if spec.header is not None else []
        lines += ["      - id: rows", "        repeat: eos"]
        if spec.legacy is None:
            lines.append(f"        type: {title}_row")
        else:
            lines += ["        type:", "          switch-on: _parent.attr3", "          cases:"]
            lines += [f"            {spec.legacy.itemsize}: {title}_legacy_row", f"            _: {title}_row"]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A text as a YAML string."""
    return "'" + text.replace("'", "''") + "'"


# ------------------------------------------------------------------ ImHex


def imhex(name: str) -> str:
    """Return a ``.hexpat`` file."""
    what, _, tables = PATTERNS[name]
    lines = ["#pragma endian little", f"// Parkan: Iron Strategy, {what}.", f"// {MADE}", ""]
    for record, (dtype, place) in records_of(tables).items():
        lines.append(f"struct {record} {{")
        for field, kind, count in fields_of(dtype):
            text = meaning(place, field)
            number = "char" if field in ("name", "magic") else _IMHEX[kind]
            lines.append(f"    {number} {field}{f'[{count}]' if count > 1 else ''};{f'  // {text}' if text else ''}")
        lines += ["};", ""]
    lines.append("struct entry {")
    lines.append("    nres_entry row;")
    for number, spec in tables.items():
        if spec.dtype is None:
            continue
        title, start = identifier(spec), 0 if spec.header is None else spec.header.itemsize
        lines.append(f"    if (row.type_id == {number}) {{  // {spec.label}")
        lines += [f"        {title}_header header @ row.data_offset;"] if spec.header is not None else []
        where = f"row.data_offset{f' + {start}' if start else ''}"
        size = f"(row.size{f' - {start}' if start else ''})"
        rows = f"{title}_row rows[{size} / sizeof({title}_row)] @ {where};"
        if spec.legacy is not None:
            old = f"{title}_legacy_row rows[{size} / sizeof({title}_legacy_row)] @ {where};"
            rows = f"if (row.attr3 == {spec.legacy.itemsize}) {old}\n        else {rows}"
        lines += [f"        {rows}", "    } else"]
    lines += ["    {", "        u8 payload[row.size] @ row.data_offset;", "    }", "};", ""]
    lines.append("nres_header header @ 0;")
    lines.append("entry entries[header.entry_count] @ header.total_size - 64 * header.entry_count;")
    return "\n".join(lines) + "\n"


def files() -> dict[str, str]:
    """Return what belongs into the folder: file name -> text."""
    makers = {".ksy": kaitai, ".hexpat": imhex}
    return {f"{name}{ending}": make(name) for name in PATTERNS for ending, make in makers.items()}


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, "utf-8", newline="\n")


if __name__ == "__main__":
    main()
