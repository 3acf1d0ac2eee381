"""Names and text: the game's text, file names for what comes out of archives, a cursor over a file of texts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

import numpy as np

from ..errors import ConversionError, plural, printable
from ..findings import Rule
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


def known_name(name: str, is_known: Callable[[str], object]) -> str:
    """A name, or what it was before Blender appended ``.001``, where only that is known."""
    short = without_number(name)
    return short if short != name and not is_known(name) and is_known(short) else name


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

    Raises ConversionError: the game's alphabet, CP1251, does not have all of its letters.
    """
    name = f"{unescape(file_stem)}.msh"
    raw = encode_name(name)
    if decode_text(raw) != name:
        problem = "entry name has letters that the game does not have"
        raise ConversionError(problem, value=printable(name), expected="letters of CP1251", hint="rename the file")
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


class Cursor:
    """Reads a file from its start to its end; every size is compared with the bytes that are left.

    Attributes:
        at: where it is, bytes.
        table, row: what errors name.
    """

    def __init__(self, data: memoryview, rule: Rule) -> None:
        """Start at the first byte of ``data``; ``rule`` is what a size that does not fit breaks."""
        self.data = data
        self.rule = rule
        self.at = 0
        self.table: str | None = None
        self.row: int | None = None

    def take(self, size: int, what: str) -> memoryview:
        """So many bytes."""
        if size > len(self.data) - self.at:
            raise self.error(f"{what} is cut off", plural(len(self.data) - self.at, "byte"), size)
        self.at += size
        return self.data[self.at - size : self.at]

    def word(self, what: str) -> int:
        """A u32."""
        return int.from_bytes(self.take(4, what), "little")

    def count(self, what: str, least: int) -> int:
        """A number of records, each of at least so many bytes."""
        count = self.word(f"number of {what}")
        left = len(self.data) - self.at
        if count * least > left:
            self.at -= 4
            raise self.error(f"more {what} than the file has bytes for", count, left // least)
        return count

    def rows(self, what: str, least: int) -> Iterator[int]:
        """The rows of a table one by one; errors name the row."""
        for row in range(self.count(what, least)):
            self.row = row
            yield row

    def records(self, dtype: np.dtype[np.void], count: int, what: str) -> Records:
        """Records without texts between them, a view of the file."""
        return np.frombuffer(self.take(count * dtype.itemsize, what), dtype)

    def text(self, what: str) -> bytes:
        """A length and so many bytes."""
        return bytes(self.take(self.word(f"length of the {what}"), what))

    def error(self, problem: str, value: object, expected: object, rule: Rule | None = None) -> ConversionError:
        """An error at the place where it is."""
        return ConversionError(
            problem,
            table=self.table,
            row=self.row,
            offset=self.at,
            value=value,
            expected=expected,
            code=(rule or self.rule).code,
        )
