"""What other tools make of an archive's files: their layouts, from their sources, without the project's code.

FParkan (its unpacker, its later command and its validator) and ParkanPlayground (its exporter, and
what its packer reads).
"""

import json
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.second.container import Container


@dataclass
class Member:
    """A directory entry, read by itself."""

    index: int
    kind: bytes
    attributes: tuple[int, int, int]
    name: bytes
    sort: int
    payload: bytes

    @property
    def text(self) -> str:
        return self.name.decode("cp1251")


def members(data: bytes) -> list[Member]:
    file = Container(data)
    return [
        Member(index, struct.pack("<I", one.kind), (one.attr1, one.attr2, one.attr3), one.name, sort, one.data)
        for index, (one, sort) in enumerate(zip(file.entries, file.order, strict=True))
    ]


def index_json(found: list[Member]) -> str:
    """What FParkan's unpacker says of the entries."""
    rows = []
    for one in found:
        kind = one.kind.decode("utf-8", "replace").strip("\0")
        unknown = {f"unknown{number}": value for number, value in enumerate(one.attributes)}
        rows.append({"extension": kind, "index": one.sort, "name": one.text, **unknown})
    return json.dumps(rows, indent=2)


def of_validator(one: Member) -> str:
    base = re.sub(r"[^A-Za-z0-9._-]+", "_", one.name.decode("latin1")).strip("._-")[:80] or f"entry_{one.index:05d}"
    (kind,), (a1, a2, _) = struct.unpack("<I", one.kind), one.attributes
    return f"entries/{one.index:05d}__{base}__t{kind:08X}_a1{a1:08X}_a2{a2:08X}.bin"


def manifest_json(found: list[Member]) -> str:
    rows = []
    for one in found:
        facts = {"index": one.index, "type_id": int.from_bytes(one.kind, "little")}
        facts |= {f"attr{number}": value for number, value in enumerate(one.attributes, 1)}
        rows.append({**facts, "name_bytes_hex": one.name.hex(), "sort_index": one.sort, "data_file": of_validator(one)})
    return json.dumps({"format": "NRes", "entries": rows})


def ended(one: Member) -> str:
    """``.bin`` where the name has no ending."""
    return one.text if "." in one.text else f"{one.text}.bin"


def of_packer(one: Member) -> str:
    kind = one.kind.decode("ascii") if one.kind.isalnum() else one.kind.hex(" ").upper()
    return f"{one.index}_{kind}_{ended(one)}"


def layout(
    name: Callable[[Member], str], index: str = "", said: Callable[[list[Member]], str] = index_json
) -> Callable[[Path, list[Member]], None]:
    """What writes entries into a folder: a file each, and one that says what they are."""

    def write(folder: Path, found: list[Member]) -> None:
        for one in found:
            path = folder / name(one)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(one.payload)
        if index:
            (folder / index).write_text(said(found), "utf-8")

    return write


LAYOUTS: dict[str, Callable[[Path, list[Member]], None]] = {
    "fparkan-list": layout(lambda one: one.text, "index.json"),
    "fparkan-numbered": layout(lambda one: f"{one.text}.{one.sort}"),  # by the sort table
    "fparkan-validator": layout(of_validator, "manifest.json", manifest_json),
    "playground": layout(lambda one: f"{one.index}_{ended(one)}"),
    "playground-packer": layout(of_packer),
}


#: What other people make: a file of each name.
NAMES = layout(lambda one: one.text)


def unpack_game(root: Path, layout: str) -> None:
    """Make a folder of every archive in a game's root."""
    for path in sorted(root.iterdir()):
        data = b"" if path.is_dir() else path.read_bytes()
        if data[:4] == b"NRes":
            path.unlink()
            path.mkdir()
            LAYOUTS.get(layout, NAMES)(path, members(data))
