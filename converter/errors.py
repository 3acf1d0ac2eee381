"""Errors that a user can cause, as data and as one line of text; packages that only some features need."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 change``, ``2 changes``, ``1,000 triangles``."""
    return f"{count:,} {noun}" + ("s" if count != 1 else "")


#: How many objects a line names; the others are counted.
_MOST_NAMED = 5


def listed(texts: Sequence[str], joint: str = "and") -> str:
    """Return texts as a sentence lists them: ``a, b and c``."""
    return f" {joint} ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def few(texts: Sequence[str], most: int = _MOST_NAMED) -> str:
    """Return the first of some texts, and how many others there are: ``a, b and 3 others``."""
    left = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {plural(left, 'other')}" if left > 0 else "")


def with_article(noun: str) -> str:
    """Return a noun with its article: ``a terrain``, ``an areal map``, ``a unit``."""
    vowel = noun[0] in "aeiou" and not noun.startswith("uni")
    return f"{'an' if vowel else 'a'} {noun}"


def printable(text: str) -> str:
    """Return a text with everything escaped that a terminal would obey or not show.

    Names in files are anybody's: control characters, line breaks and marks that reverse the
    direction of text become ``\\x1b`` and the like.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def called(name: str | None) -> str:
    """Return what stands after a noun for the name that a file gives: ``'body'``, or ``without a name``."""
    return f"'{printable(name)}'" if name else "without a name"


def in_words(value: object) -> str:
    """Return a value of a file as messages have it: a text in quotes, anything else as JSON writes it."""
    if isinstance(value, str | bytes):
        return f"'{printable(value if isinstance(value, str) else value.decode('latin-1'))}'"
    return printable(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    """What JSON has for a value that it does not know: numbers of NumPy, anything else as a text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


#: How long a line for the user is at most, and a value in it.
LONGEST_LINE, LONGEST_VALUE = 500, 160


def shortened(text: str, most: int = LONGEST_LINE) -> str:
    """Return a text that is not longer than a bound: what is left out in its middle is marked."""
    if len(text) <= most:
        return text
    half = (most - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def quoted(path: object) -> str:
    """Return a path as it is typed in a command: in quotes where bash or PowerShell would split it."""
    text = str(path)
    if all(c.isalnum() or c in "/\\._-+:~" for c in text):
        return text
    return f"'{text}'" if set(text) & set('"$`') and "'" not in text else f'"{text}"'


@dataclass(eq=False, repr=False)
class ConversionError(Exception):
    """Input that cannot be converted: what is wrong, where, and what was expected.

    ``str(error)`` is one line for the user; the attributes are for programs.

    Attributes:
        entry: the archive entry inside the file.
        table: the table, e.g. ``Res13 (batches)``.
        offset: the byte offset, counted from the start of the model (or of the file
            where there is no model).
        expected: what should have been there.
        hint: what the user can do about it.
        code: the rule that does not hold (``converter.findings.Rule``), if there is one.
    """

    problem: str
    _: KW_ONLY
    file: str | None = None
    entry: str | None = None
    table: str | None = None
    row: int | None = None
    offset: int | None = None
    value: object = None
    expected: object = None
    hint: str | None = None
    code: str | None = None

    def at(self, *, file: str | None = None, entry: str | None = None) -> ConversionError:
        """Fill in the file and entry where they are not known yet; returns the error itself."""
        self.file = self.file if self.file is not None else file
        self.entry = self.entry if self.entry is not None else entry
        return self

    def __str__(self) -> str:
        forms = ("{}", "entry {}", "{}", "row {}", "byte {:#x}")
        places = zip(forms, (self.file, self.entry, self.table, self.row, self.offset), strict=True)
        text = ", ".join(form.format(value) for form, value in places if value is not None)
        text = f"{text}: {self.problem}" if text else self.problem
        if self.value is not None:
            text += f": {shortened(in_a_line(self.value), LONGEST_VALUE)}"
        if self.expected is not None:
            text += f" (expected {shortened(in_a_line(self.expected), LONGEST_VALUE)})"
        if self.hint is not None:
            text += f"; {self.hint}"
        return text.replace("\n", " ")


def in_a_line(value: object) -> str:
    """A value after a colon: as :func:`in_words`, a text without quotes."""
    if isinstance(value, bytes):
        return in_words(value)[1:-1]
    return in_words(value) if isinstance(value, bool | list | tuple | dict) else str(value)


#: What the user can do about a path that leads nowhere.
CHECK_PATH = "check the path"
#: What the user can do where the system refuses a file; the rest of its reasons say so themselves.
_TO_DO = {
    errno.ENOENT: CHECK_PATH,
    errno.ENOTDIR: "check the path: a part of it is a file",
    errno.EEXIST: "check the path: a part of it is a file",
    errno.EISDIR: "name a file in it",
    errno.EACCES: "change its permissions, or work on a copy",
    errno.EPERM: "change its permissions, or work on a copy",
    errno.EROFS: "choose a place on another disk",
    errno.ENOSPC: "make room, and run it again",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.EIO: "the disk has errors: copy what is on it to another",
}


def to_do(error: OSError) -> str | None:
    """Return what the user can do about a file that the system refuses, where that is known."""
    return _TO_DO.get(error.errno or 0)


class Conflict(ConversionError):
    """What a difference changes is neither as it was nor as it is to be.

    ``table`` and ``row`` are those of the first such place. ``places``: all of them (``game.differences.Touched``).
    """

    places: tuple[Any, ...] = ()


class Malformed(ValueError):
    """Content that is not what it should be; its text says so in words, as the end of a sentence."""


#: What exceptions of Python and of libraries mean, in words: their own text is for programmers.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (RecursionError, "it is nested too deeply"),
    (MemoryError, "there is not enough memory"),
    (UnicodeError, "its text is not UTF-8"),
    (OverflowError, "a number is out of range"),
    (EOFError, "it ends too early"),
    (ValueError, "a value is not one of those that are allowed"),
    (TypeError, "a value is of another type than it should be"),
    (AttributeError, "a value is of another type than it should be"),
    (IndexError, "it has fewer values than it should"),
)


def reason_of(error: Exception) -> str:
    """Return in words why something could not be read.

    Messages hold the text of an exception through here only: it is ours (:class:`Malformed`), the
    system's, or put into words by kind.
    """
    if isinstance(error, Malformed):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, KeyError) and error.args and str(error.args[0]).isidentifier():
        return f"it lacks the value {error.args[0]}"
    return next((text for kind, text in _REASONS if isinstance(error, kind)), "it is damaged, or of another kind")


def internal_error(error: Exception) -> str:
    """Return the line for a bug of ours, which whoever reports it copies."""
    return f"internal error, please report it: {type(error).__name__}: {printable(str(error))}"


#: What exceptions of the machine are: their text is one line for the user, never "internal error".
MACHINE = (OSError, MemoryError, ImportError)


def fault_of(error: OSError | MemoryError | ImportError) -> ConversionError:
    """What the machine refused, as an error of the user's: no room, no file, no memory."""
    hint = "fewer processes (-j 1) need less"
    if isinstance(error, MemoryError):
        return ConversionError("not enough memory", hint=hint)
    if isinstance(error, ImportError):
        reason = _first_reason(error)
        if "failed to map segment" in reason or "Cannot allocate memory" in reason:
            return ConversionError("not enough memory to load a library", value=reason, hint=hint)
        return ConversionError("a library cannot be loaded", value=reason, hint="install the converter again")
    named = error.filename if isinstance(error.filename, (str, bytes)) else None
    file = None if named is None else os.fsdecode(named)
    return ConversionError(reason_of(error), file=file, hint=to_do(error))


@contextmanager
def machine_errors() -> Iterator[None]:
    """Raise what the machine refuses (no room, no permission) as a ConversionError."""
    try:
        yield
    except OSError as error:
        raise fault_of(error) from error


def _first_reason(error: BaseException) -> str:
    """The first of the errors that led to one, in a line; NumPy makes a page of it."""
    while isinstance(earlier := error.__cause__ or error.__context__, (ImportError, OSError)):
        error = earlier
    return " ".join(str(error).split())[:200]


class MissingPackage(ConversionError):
    """A feature needs a package that is not installed. ``needs``: an extra of ``pyproject.toml``, or a package."""

    needs = ""


@contextmanager
def needed_for(feature: str, needs: str, *, file: str | None = None, instead: str | None = None) -> Iterator[None]:
    """Import the packages of an extra, or a package, inside this context.

    Args:
        feature: what they are for, as the subject of a sentence.
        needs: an extra of ``pyproject.toml``, or a package: every installation has those that are
            no extra, but for the Blender extension, whose zip leaves out the large ones.

    Raises:
        MissingPackage: one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError:
        hint = ", or ".join(filter(None, [install_command(needs), instead]))
        error = MissingPackage(f"{feature} needs more packages", file=file, hint=hint)
        error.needs = needs
        raise error from None


def install_command(needs: str) -> str:
    """Return the command that adds an extra or a package to this installation: of pipx, uv or pip."""
    packages, here = _packages(needs), Path(sys.prefix)
    if (here / "pipx_metadata.json").is_file():
        return f"pipx inject msh-gltf {' '.join(packages or [needs])}"
    if (here / "uv-receipt.toml").is_file():
        return f'uv tool install "msh-gltf[{needs}]"' if packages else f"uv tool install msh-gltf --with {needs}"
    return f'pip install "msh-gltf[{needs}]"' if packages else f"pip install {needs}"


def _packages(extra: str) -> list[str]:
    """The packages of an extra with their versions, quoted, as the installed metadata has them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = [row.partition(";") for row in requires("msh-gltf") or []]
    except PackageNotFoundError:  # a checkout that was not installed
        return []
    return [f'"{row[0].strip()}"' for row in rows if f'extra == "{extra}"' in row[2].replace("'", '"')]
