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
    _, _, count, total = struct.unpack_from("<4sIII", data)
    found = []
    for index in range(count):
        kind, one, two, size, three, name, offset, sort = struct.unpack_from(
            "<4sIIII36sII", data, total - 64 * (count - index)
        )
        name = name.partition(b"\0")[0]
        found.append(Member(index, kind, (one, two, three), name, sort, data[offset : offset + size]))
    return found


def fparkan_list(folder: Path, found: list[Member]) -> None:
    """The unpacker: a file of its name, and ``index.json``."""
    rows = []
    for one in found:
        (folder / one.text).write_bytes(one.payload)
        names = ("unknown0", "unknown1", "unknown2")
        kind = one.kind.decode("utf-8", "replace").strip("\0")
        rows.append(
            {"extension": kind, "index": one.sort, "name": one.text, **dict(zip(names, one.attributes, strict=True))}
        )
    (folder / "index.json").write_text(json.dumps(rows, indent=2), "utf-8")


def fparkan_numbered(folder: Path, found: list[Member]) -> None:
    """``NAME.INDEX``: the number is that of the sort table."""
    for one in found:
        (folder / f"{one.text}.{one.sort}").write_bytes(one.payload)


def fparkan_validator(folder: Path, found: list[Member]) -> None:
    """``manifest.json``, and ``entries/00003__NAME__t..._a1..._a2....bin``."""
    (folder / "entries").mkdir()
    rows = []
    for one in found:
        base = re.sub(r"[^A-Za-z0-9._-]+", "_", one.name.decode("latin1")).strip("._-")[:80] or f"entry_{one.index:05d}"
        kind = int.from_bytes(one.kind, "little")
        a1, a2, a3 = one.attributes
        file = f"entries/{one.index:05d}__{base}__t{kind:08X}_a1{a1:08X}_a2{a2:08X}.bin"
        (folder / file).write_bytes(one.payload)
        facts = {"index": one.index, "type_id": kind, "attr1": a1, "attr2": a2, "attr3": a3}
        rows.append({**facts, "name_bytes_hex": one.name.hex(), "sort_index": one.sort, "data_file": file})
    (folder / "manifest.json").write_text(json.dumps({"format": "NRes", "entries": rows}), "utf-8")


def _parts(name: str) -> tuple[str, str]:
    head, dot, ending = name.rpartition(".")
    return (head, dot + ending) if dot else (name, ".bin")


def playground(folder: Path, found: list[Member]) -> None:
    """``INDEX_NAME.ext``; ``.bin`` where the name has no ending."""
    for one in found:
        head, ending = _parts(one.text)
        (folder / f"{one.index}_{head}{ending}").write_bytes(one.payload)


def playground_packer(folder: Path, found: list[Member]) -> None:
    """``INDEX_TYPE_NAME.ext``."""
    for one in found:
        head, ending = _parts(one.text)
        kind = one.kind.decode("ascii") if one.kind.isalnum() else one.kind.hex(" ").upper()
        (folder / f"{one.index}_{kind}_{head}{ending}").write_bytes(one.payload)


LAYOUTS: dict[str, Callable[[Path, list[Member]], None]] = {
    "fparkan-list": fparkan_list,
    "fparkan-numbered": fparkan_numbered,
    "fparkan-validator": fparkan_validator,
    "playground": playground,
    "playground-packer": playground_packer,
}


def unpack_game(root: Path, layout: str) -> Path:
    """Make a folder of every archive in a game's root; returns the root."""
    for path in sorted(root.iterdir()):
        data = b"" if path.is_dir() else path.read_bytes()
        if data[:4] == b"NRes":
            path.unlink()
            path.mkdir()
            LAYOUTS[layout](path, members(data))
    return root
