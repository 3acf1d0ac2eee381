"""What files of a game hold, whatever the layout of an archive."""

import hashlib
from pathlib import Path

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres

Files = dict[str, bytes]


def files_of(root: Path) -> Files:
    """Every file of a game, the vault aside."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".msh-gltf" not in path.parts
    }


def content(data: bytes | None) -> dict[tuple[bytes, int], tuple]:
    """What a file holds: the entries of an archive with their attributes, or all of it."""
    if data is None:
        return {}
    try:
        entries = read_nres(data, "x").entries
    except ConversionError:
        return {(b"", 0): (data,)}
    seen: dict[bytes, int] = {}
    found = {}
    for one in entries:
        nth = seen[one.name_bytes] = seen.get(one.name_bytes, -1) + 1
        found[one.name_bytes, nth] = (bytes(one.payload), one.type_id, one.attr1, one.attr2, one.attr3)
    return found


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def assert_wanted(after: Files, wanted: dict[str, bytes | None]) -> None:
    """The game is as an edit wants it."""
    for file, data in wanted.items():
        assert content(after.get(file)) == content(data), file
