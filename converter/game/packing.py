"""The file format of differences: a description and raw bytes, compressed, of bounded size.

Nothing in it is executed, and every size is checked before anything of that size is made.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ConversionError, plural
from ..storage import read_json
from .byte_delta import damaged

MAGIC = b"MSHDIFF\x1a"
VERSION = 1
_HEADER_DTYPE = np.dtype(
    [
        ("magic", "V8"),  # +0
        ("version", "<u4"),  # +8
        ("description_size", "<u4"),  # +12
        ("payload_size", "<u8"),  # +16
    ]
)
assert _HEADER_DTYPE.itemsize == 24
#: In front of the description: SHA-256 before and after, and the size after.
_FACTS_DTYPE = np.dtype([("before", "V32"), ("after", "V32"), ("size", "<u8")])
assert _FACTS_DTYPE.itemsize == 72
#: What a difference may unpack to, whatever its size: no entry of the game comes near it.
UNPACKED_FLOOR = 1 << 24
#: Beyond that, how many times the size of the difference and its base.
UNPACKED_TIMES = 16
#: The longest description, bytes.
MOST_TEXT = 1 << 20


@dataclass(frozen=True)
class Packed:
    """A difference as it is stored.

    Attributes:
        before: SHA-256 of the base, hex; empty where there is none.
        after: SHA-256 of the result, hex.
        size: of the result, bytes.
        description: what the payload holds (``converter.game.differences``).
        payload: raw bytes.
    """

    before: str
    after: str
    size: int
    description: Mapping[str, Any] = field(default_factory=dict)
    payload: memoryview | bytes = b""


def most_bytes(stored: int) -> int:
    """Return how much may be made of this many bytes."""
    return max(UNPACKED_FLOOR, UNPACKED_TIMES * stored)


def pack(packed: Packed) -> bytes:
    """Return the bytes of a difference; the same input gives the same bytes.

    Raises:
        ConversionError: the description is too long.
    """
    facts = np.zeros(1, _FACTS_DTYPE)
    for name, digest in (("before", packed.before), ("after", packed.after)):
        facts[name] = np.void(bytes.fromhex(digest or "0" * 64))
    facts["size"] = packed.size
    text = json.dumps(packed.description, separators=(",", ":"), sort_keys=True).encode()
    if len(text) > MOST_TEXT:
        raise _too_large(len(text), MOST_TEXT)
    header = np.array((MAGIC, VERSION, len(text), len(packed.payload)), _HEADER_DTYPE)
    raw = b"".join([facts.tobytes(), text, packed.payload])
    best = zlib.compress(raw, 9)
    if len(raw) > most_bytes(len(best)):  # what nobody would unpack is stored as it is
        best = zlib.compress(raw, 0)
    return header.tobytes() + best


def unpack(data: memoryview | bytes) -> Packed:
    """Read the bytes of a difference.

    Raises:
        ConversionError: not a difference, a newer version, damaged, or it claims too much.
    """
    view = memoryview(data)
    size = _HEADER_DTYPE.itemsize
    if len(view) < size or bytes(view[:8]) != MAGIC:
        raise ConversionError("is not a difference of msh-gltf")
    header = np.frombuffer(view[:size], _HEADER_DTYPE)[0]
    if int(header["version"]) != VERSION:
        raise ConversionError(
            "version of a difference is not known",
            value=int(header["version"]),
            expected=VERSION,
            hint="update msh-gltf",
        )
    facts_size, text_size = _FACTS_DTYPE.itemsize, int(header["description_size"])
    total = facts_size + text_size + int(header["payload_size"])
    require_size(total, len(view))
    if text_size > MOST_TEXT:
        raise _too_large(text_size, MOST_TEXT)
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(view[size:], total + 1)
    except zlib.error as error:
        raise damaged(f"cannot be unpacked: {error}") from None
    if len(raw) != total or not unpacker.eof or unpacker.unused_data:
        raise damaged("has not the size that it states")
    facts = np.frombuffer(raw[:facts_size], _FACTS_DTYPE)[0]
    end = facts_size + text_size
    try:
        description = read_json(raw[facts_size:end])
    except ValueError:
        description = None
    if not isinstance(description, dict):
        raise damaged("has no description")
    before, after = (facts[name].tobytes() for name in ("before", "after"))
    return Packed(
        before.hex() if any(before) else "", after.hex(), int(facts["size"]), description, memoryview(raw)[end:]
    )


def require_size(size: int, stored: int) -> None:
    """Refuse to make more of some stored bytes than differences may.

    Raises:
        ConversionError: it is too much.
    """
    if size > most_bytes(stored):
        raise _too_large(size, most_bytes(stored))


def _too_large(size: int, most: int) -> ConversionError:
    return ConversionError(
        "the difference claims to be too large", value=plural(size, "byte"), expected=f"at most {most:,}"
    )
