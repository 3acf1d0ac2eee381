"""What lies in a game directory: every model, and every file that is skipped, with the reason.

Containers are recognised by content, never by name. Symbolic links to directories are not
followed (a loop ends nowhere); links to files are read like files.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath

from .. import MANIFEST
from ..errors import ConversionError, printable, reason_of, with_article
from ..formats.kinds import MODEL_TYPE, Kind, assembly_kind, entry_kind, file_kind
from ..formats.names import Names, escape, file_stem, readable, stem
from ..formats.nres import Archive, is_nres
from ..formats.sidecar import SUFFIX
from ..kinds.open_files import entry_name, open_nres
from ..scene.appearance import PICTURES
from ..storage import TEMPORARY, absolute, not_there, real_path, walk_files

#: Backups of versions before the vault.
BACKUP = ".bak"
#: The gallery's page and folder (``--thumbnails``).
PAGE, GALLERY = "index.html", "gallery"


@dataclass(frozen=True)
class Item:
    """One model, terrain, areal map, unit, mission or texture to convert.

    Attributes:
        source: that file's path from the root, as text with ``/``.
        index: directory index of its entry; ``None`` where the file is the model.
        kind: one of ``SCENE_KINDS``, or a texture.
        target: the glTF's or picture's path from the output directory, with ``/``.
    """

    path: str
    source: str
    index: int | None
    name: str
    kind: Kind
    size: int
    target: str

    @property
    def id(self) -> str:
        """``path::entry``, or the path alone; what ``--include`` is matched with."""
        return self.source if self.index is None else f"{self.source}::{self.name}"


@dataclass(frozen=True)
class Skipped:
    """A file or entry that is skipped. ``id``: ``path`` or ``path::entry``."""

    id: str
    reason: str


@dataclass(frozen=True)
class Folder:
    """An archive and the folder of its models: ``--add`` looks there for new ones.

    ``source``: the archive's path from the root. ``folder``: the folder's path from the output directory.
    """

    source: str
    folder: str
    entries: dict[str, int]


@dataclass
class Found:
    """Everything that a walk met, in the order of sorted paths and directory entries."""

    items: list[Item] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: list[Skipped] = field(default_factory=list)
    archives: list[Folder] = field(default_factory=list)


@dataclass
class Tree:
    """The directory entries below a root, as paths from it; sorted."""

    files: list[Path] = field(default_factory=list)
    directories: list[Path] = field(default_factory=list)
    directory_links: list[Path] = field(default_factory=list)
    unreadable: list[Skipped] = field(default_factory=list)


def common_root(inputs: Sequence[Path]) -> Path:
    """The directory that sources are named from: the only directory given, else the parent of all.

    Raises:
        ConversionError: the inputs have no common directory.
    """
    paths = [absolute(path) for path in inputs]
    try:
        return Path(os.path.commonpath([p if p.is_dir() else p.parent for p in paths]))
    except ValueError:
        raise ConversionError(
            "inputs on different drives have no common directory", hint="convert them one by one"
        ) from None


def text_of(path: Path) -> str:
    """A path from the root as text with ``/``; bytes that are not UTF-8 are read as CP1251."""
    return readable(path.as_posix())


def tree(root: Path, *, leave_out: Path | None = None) -> Tree:
    """Everything below a directory. ``leave_out``: a directory that is not looked into."""
    out = Tree()
    hidden = None if leave_out is None else real_path(leave_out)

    def refused(error: OSError) -> None:
        where = Path(error.filename or here).relative_to(root)  # of a disk that fails: no name
        out.unreadable.append(Skipped(text_of(where), f"cannot be read ({reason_of(error)})"))

    here = str(root)
    for base, directories, files in walk_files(root, onerror=refused):
        here = str(base)
        for name in list(directories):
            path = base / name
            if os.path.islink(path):  # False where a path is too long to ask
                out.directory_links.append(path.relative_to(root))
                directories.remove(name)
            elif hidden is not None and real_path(path) == hidden:
                directories.remove(name)
            else:
                out.directories.append(path.relative_to(root))
        out.files += [(base / name).relative_to(root) for name in files]
    out.files.sort(key=lambda path: path.parts)  # the same everywhere: Windows' own order ignores case
    return out


def files_below(
    inputs: Sequence[Path], leave_out: Path | None = None
) -> tuple[list[tuple[str, Path, str | None]], Found]:
    """Return every file that is named, or below a directory that is, and what else was met.

    Of a file: its source, its path, and the reason where it is not worth opening. ``leave_out``: a directory that is
    not looked into: the output's. Raises ConversionError: an input is not there.
    """
    for path in inputs:
        if not path.exists():
            raise not_there(path)
    root = common_root(inputs)
    found = Found()
    files: dict[Path, None] = {}
    for given in inputs:
        path = absolute(given)
        if not path.is_dir():
            files[path.relative_to(root)] = None
            continue
        base, below = path.relative_to(root), tree(path, leave_out=leave_out)
        files.update(dict.fromkeys(base / file for file in below.files))
        found.unreadable += below.unreadable
        found.skipped += [
            Skipped(text_of(base / link), "a link to a directory is not followed") for link in below.directory_links
        ]
    opened: dict[str, tuple[str, Path, str | None]] = {}
    for file in sorted(files, key=lambda path: path.parts):
        source = text_of(file)
        if source in opened:
            found.unreadable.append(Skipped(source, "two files have this name, as UTF-8 and as CP1251"))
            continue
        opened[source] = source, root / file, _reason_to_skip(root, file, files)
    return list(opened.values()), found


def walk(
    inputs: Sequence[Path], leave_out: Path | None = None, *, in_game: bool = False, longer: bool = False
) -> Found:
    """Look through files, archives and directories. Raises ConversionError: an input is not there.

    Args:
        leave_out: a directory that is not looked into: the output's.
        in_game: whether units and missions have a game wherever they are: the user named it.
        longer: whether files with bytes after their directory are looked into.
    """
    opened, found = files_below(inputs, leave_out)
    targets = _Targets()
    _in_game.cache_clear()
    for source, path, reason in opened:
        kind = None if reason else placed_kind(path)
        if kind is not None and not (in_game or _in_game(path.parent)):
            reason = f"{with_article(kind)}, and no directory above it has objects.rlb"
        if reason := reason or (None if kind is not None else foreign(path)):
            found.skipped.append(Skipped(source, reason))
        elif kind is not None:
            name, size = PurePosixPath(source).name, path.stat().st_size
            target = targets.file(source, escape(stem(name)))  # called like the file, without its ending
            found.items.append(Item(str(path), source, None, name, kind, size, target))
        else:
            _look_into(path, source, targets, found, longer)
    return found


def _reason_to_skip(root: Path, file: Path, files: Iterable[Path]) -> str | None:
    """Why a file is not even opened."""
    path = root / file
    if file.name.startswith(TEMPORARY):
        return "left by a run that was killed"
    if file.suffix.lower() == BACKUP and file.with_suffix("") in files:
        return "the backup of a file beside it"
    try:
        return None if stat.S_ISREG(path.stat().st_mode) else "not a regular file"
    except OSError:
        # a link that leads nowhere is skipped, a file that refuses is worth an error
        return "a link that leads nowhere" if path.is_symlink() else None


def placed_kind(path: Path) -> Kind | None:
    """Tell whether a file is a unit or a mission, by its first bytes and its name."""
    try:
        with path.open("rb") as opened:
            return assembly_kind(path.name, opened.read(4))
    except OSError:
        return None  # opening it again says what is wrong


@lru_cache(maxsize=1024)
def _in_game(folder: Path) -> bool:
    from ..kinds.registry import find_game  # only units and missions need it

    return find_game(folder) is not None


#: Why the game's other container is no input of a run.
RSLI = "RsLi, a container of another kind"


def foreign(path: Path) -> str | None:
    """Why a file is no NRes file, by its first bytes; ``None``: it is one, or cannot be read."""
    try:
        with path.open("rb") as opened:
            head = opened.read(4)
    except OSError:
        return None  # opening it says what is wrong
    if is_nres(head):
        return None
    return RSLI if head[:3] == b"NL\0" else "not an NRes file"


def _look_into(path: Path, source: str, targets: _Targets, found: Found, longer: bool) -> None:
    try:
        archive = open_nres(path, source, longer=longer)
        kind = file_kind(archive)
    except ConversionError as error:
        found.unreadable.append(Skipped(source, _without_file(error)))
        return
    if kind is not Kind.ARCHIVE:
        name, size = readable(entry_name(path)), archive.total_size + archive.trailing
        found.items.append(Item(str(path), source, None, name, kind, size, targets.file(source, file_stem(name))))
        return
    folder = targets.folder(source)
    types = Counter(printable(entry.type_text) for entry in archive.entries)
    found.archives.append(Folder(source, folder, dict(sorted(types.items()))))
    try:
        _look_at_entries(path, source, archive, folder, found)
    except ConversionError as error:  # the file has changed meanwhile
        found.unreadable.append(Skipped(source, _without_file(error)))


def _look_at_entries(path: Path, source: str, archive: Archive, folder: str, found: Found) -> None:
    names = Names()
    for index, entry in enumerate(archive.entries):
        id = f"{source}::{entry.name}"
        if not is_nres(entry.start(4)):  # the rest may be large
            if entry.type_id == MODEL_TYPE:
                found.skipped.append(Skipped(id, "called a model (MESH), but not an NRes file"))
            continue
        try:
            kind = entry_kind(entry, source)
        except ConversionError:
            kind = Kind.MODEL  # its conversion says what is wrong
        if kind is Kind.ARCHIVE:
            found.skipped.append(Skipped(id, "an archive in an archive is not looked into"))
        else:
            target = f"{folder}/{names.take(file_stem(entry.name), index)}.glb"
            found.items.append(Item(str(path), source, index, entry.name, kind, entry.size, target))


def _without_file(error: ConversionError) -> str:
    error.file = None
    return str(error)


class _Targets:
    """Output paths: escaped, and unique in any case on every level."""

    def __init__(self) -> None:
        self._names: dict[str, Names] = {"": Names(MANIFEST, PICTURES, PAGE, GALLERY)}
        self._folders: dict[str, str] = {"": ""}

    def folder(self, source: str) -> str:
        """The output folder of a directory or an archive, the same whenever it is asked for."""
        if source not in self._folders:
            parent, name = self._split(source)
            taken = self._names.setdefault(parent, Names()).take(escape(name), 2)
            self._folders[source] = f"{parent}/{taken}" if parent else taken
        return self._folders[source]

    def file(self, source: str, stem: str) -> str:
        """The glTF of a model that is a file of its own; its sidecar has the same stem."""
        parent, _ = self._split(source)
        name = self._names.setdefault(parent, Names()).take(stem, 2, ".glb", SUFFIX)
        return f"{parent}/{name}" if parent else name

    def _split(self, source: str) -> tuple[str, str]:
        path = PurePosixPath(source)
        parent = path.parent.as_posix()
        return ("" if parent == "." else self.folder(parent)), path.name


def select(items: Sequence[Item], include: Sequence[str], exclude: Sequence[str]) -> list[Item]:
    """The items that ``--include`` and ``--exclude`` leave, in the same order."""
    return [
        item
        for item in items
        if (not include or any(_matches(item, glob) for glob in include))
        and not any(_matches(item, glob) for glob in exclude)
    ]


def _matches(item: Item, glob: str) -> bool:
    """Whether a glob fits ``path::entry``, or the path alone. Case is nothing."""
    return any(fnmatchcase(id.casefold(), glob.casefold()) for id in (item.id, item.source))
