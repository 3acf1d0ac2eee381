"""Names: the game's text, and file names for what comes out of archives.

An entry's name is untrusted bytes (``..\\..\\x``, ``CON.msh``, ``a/b``). The name of its file is
safe on every system, unique, and reversible: that name, with every character that some system
refuses as ``%XX``, the byte of the name; ``~12`` marks entry 12 of an archive where an earlier one
has the same name.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePath

from ..errors import ConversionError, printable
from ..numeric.arrays import Records


def fold_upper(name: bytes) -> bytes:
    """ASCII upper case; other bytes stay (docs/reference/nres.md: no Unicode folding)."""
    return name.upper()


def fold_lower(name: bytes) -> bytes:
    """ASCII lower case; other bytes stay."""
    return name.lower()


def decode_text(raw: bytes) -> str:
    """Text view of bytes from the game: CP1251, or latin-1 where CP1251 lacks a byte."""
    try:
        return raw.decode("cp1251")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def field_text(raw: bytes | Records) -> str:
    """Text of a name field up to its NUL, after which some have leftovers; all of it where there is none."""
    return decode_text(bytes(raw).partition(b"\0")[0])


def encode_name(name: str) -> bytes:
    """Bytes of an entry name: CP1251, or latin-1 for text that only latin-1 can hold."""
    try:
        return name.encode("cp1251")
    except UnicodeEncodeError:
        return name.encode("latin-1", "replace")


_REFUSED = frozenset('<>:"/\\|?*%~')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\.|$)", re.I)


def stem(name: str) -> str:
    """A file or entry name without its extension."""
    head, dot, _ = name.rpartition(".")
    return head if dot and head else name


def without_number(name: str) -> str:
    """A name without the ``.001`` that Blender appends where a name is taken."""
    head, dot, number = name.rpartition(".")
    return head if dot and head and number.isdecimal() and len(number) >= 3 else name


def readable(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 are read as CP1251, as the game would."""
    raw = os.fsencode(name)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return decode_text(raw)


def escape(name: str) -> str:
    """A name that every system takes as one file or directory name; see :func:`unescape`."""
    last = len(name) - 1
    device = _DEVICES.match(name) is not None
    return "".join(
        _percent(c)
        if c in _REFUSED or not c.isprintable() or (i == 0 and (c == "." or device)) or (i == last and c in " .")
        else c
        for i, c in enumerate(name)
    )


def is_device(path: PurePath) -> bool:
    """Return whether Windows takes a path for a device, such as ``NUL`` or ``com1 .txt``."""
    return _DEVICES.match(re.split("[.:]", path.name)[0].rstrip(" ")) is not None


def unescape(name: str) -> str:
    """The name that :func:`escape` was given; a ``%`` that starts no escape stays."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), name)


def _percent(character: str) -> str:
    # beyond latin-1 only file names get here, which are never turned back
    raw = character.encode("latin-1" if ord(character) < 256 else "utf-8", "replace")
    return "".join(f"%{byte:02X}" for byte in raw)


def file_stem(entry_name: str) -> str:
    """The stem of an entry's file: its escaped name; ``.msh``, in any case, is dropped.

    Every other extension stays, so that ``a.msh`` and ``a.rlb`` are two files.
    """
    bare = entry_name[:-4] if entry_name.lower().endswith(".msh") else entry_name
    return escape(bare or entry_name) or "~"  # an entry may have no name at all


def entry_name(file_stem: str) -> bytes:
    """The name of a new entry for a file that was added to an archive's folder.

    Raises:
        ConversionError: the game's alphabet, CP1251, does not have all of its letters.
    """
    name = f"{unescape(file_stem)}.msh"
    raw = encode_name(name)
    if decode_text(raw) != name:
        raise ConversionError(
            "entry name has letters that the game does not have",
            value=printable(name),
            expected="letters of CP1251",
            hint="rename the file",
        )
    return raw


class Names:
    """File and directory names taken in one directory, in any case."""

    def __init__(self, *taken: str) -> None:
        self._taken = {name.casefold() for name in taken}

    def take(self, name: str, mark: int, suffix: str = "", *others: str) -> str:
        """``name``, or ``name~mark`` (or the next free number) where it is taken; and suffix.

        With other suffixes, the names that end in these are free too, and taken from now on.
        """
        stem = name
        while any(f"{stem}{end}".casefold() in self._taken for end in (suffix, *others)):
            stem = f"{name}~{mark}"
            mark += 1
        self._taken |= {f"{stem}{end}".casefold() for end in (suffix, *others)}
        return f"{stem}{suffix}"
