"""Find what belongs to a model: materials and textures, whose pictures are placed, and its controller. No printing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..checks.companions import look_missing
from ..errors import ConversionError, called, in_words, printable
from ..files import Stamp, read_file, stamp
from ..findings import Finding
from ..formats.controller import CONTROLLER_ENDING, CONTROLLER_SIZE, Controller, read_controller
from ..formats.kinds import Kind, archive_kind
from ..formats.material import LIGHTMAPS, MATERIALS, TEXTURES, LibraryEntry, entry_key, find_material, read_material
from ..formats.model import read_model
from ..formats.model_parts import POINTS_ENDING, POINTS_TYPE, read_points
from ..formats.nres import Archive, Entry, is_nres, read_nres
from ..formats.objects import Member
from ..formats.sidecar import sha256, texture_head
from ..formats.texture import Texm, read_texm
from ..formats.wear import read_lightmap_names, read_wear_names
from ..options import ExportOptions
from ..scene.appearance import (
    Appearance,
    MaterialAppearance,
    Picture,
    Pixels,
    appearance_of,
    missing_material,
    mixed,
    picture_path,
)
from ..storage import absolute, if_there
from .open_files import companion, find_libraries, find_library, folder_stamp, open_archive
from .registry import Game, inside

if TYPE_CHECKING:
    from ..checks.companions import Facts


def find_appearance(
    text: memoryview | bytes, path: Path, options: ExportOptions, pairs: Mapping[tuple[int, int], float] | None = None
) -> Appearance | None:
    """Find the materials and textures that a WEAR names.

    Args:
        text: the WEAR.
        path: the model's file; the nearest folder at or above its own that has libraries is
            searched last.
        options: the folders that the user named, and whether to search at all.
        pairs: a terrain's pairs of rows, with the weight of the second.

    Returns:
        ``None`` where nobody asked and no library is at hand.
    """
    if not options.find_textures:
        return None
    folders = [Path(folder) for folder in options.textures]
    if options.own_folder:
        folders = with_libraries_around(absolute(path).parent, folders)
    if not folders:
        return None
    if not text:
        return Appearance()  # of a texture, of most areal maps

    lightmaps = read_lightmap_names(text) if options.lightmaps else []
    return libraries(folders).appearance(read_wear_names(text), lightmaps, pairs)


def with_libraries_around(own: Path, folders: Sequence[Path]) -> list[Path]:
    """Return the folders to search for materials and textures: those that the user named, the own one of what is
    converted (an archive may be unpacked beside libraries), and the nearest above with libraries (a level lies deep).
    """
    nearest = next((folder for folder in (own, *own.parents) if has_libraries(folder)), None)
    loose = [own] if folders and nearest != own else []
    return [*folders, *loose, *([] if nearest is None else [nearest])]


def has_libraries(folder: Path) -> bool:
    """Return whether a folder has a ``Material.lib``, packed or not."""
    with if_there(folder):
        return find_library(folder, MATERIALS) is not None
    return False


def missing_materials(appearance: Appearance | None) -> list[Finding]:
    """Report the materials and textures that were not found."""
    missing = [] if appearance is None else appearance.warnings
    return [finding for text in missing for finding in look_missing(text)]


def in_folder(
    appearance: Appearance | None, target: Path, options: ExportOptions, root: Path | None
) -> Appearance | None:
    """Return the appearance with the folder of its pictures; arguments as of ``Loaded.files``."""
    embed = root is None and target.suffix.lower() != ".gltf" if options.embed is None else options.embed
    if appearance is None or embed:
        return appearance
    depth = 0 if root is None else len(target.relative_to(root).parts) - 1
    return replace(appearance, up="../" * depth)


def picture_files(appearance: Appearance | None, target: Path) -> list[tuple[Path, bytes]]:
    """Make the pictures that lie beside a glTF, in their folder, which the files of a directory
    share: without those that are there already, byte for byte."""
    if appearance is None or appearance.up is None:
        return []
    from ...exporters.gltf_file import png_bytes

    pictures = [*appearance.pictures.values(), *appearance.lightmaps.values()]
    paths = {target.parent.joinpath(*p.path.split("/")): p for p in pictures}
    files = [(path, png_bytes(picture.rgba())) for path, picture in paths.items()]
    return [(path, png) for path, png in files if not path.is_file() or read_file(path) != png]


def libraries(folders: Sequence[Path]) -> Libraries:
    """The libraries in some folders; a second call finds them open, unless a file has changed. ``folders``: where they
    are looked for, in this order.
    """
    found = Libraries(folders)
    stamps = [(path, *(folder_stamp(path) if path.is_dir() else [stamp(path)])) for path in found.files.values()]
    return _opened(tuple(found.folders), *stamps)


@lru_cache(maxsize=4)
def _opened(folders: tuple[Path, ...], *now: tuple[Path | Stamp, ...]) -> Libraries:
    return Libraries(folders)


class Libraries:
    """The libraries of a game.

    Attributes:
        folders: where they are looked for, in this order.
        warnings: what was not found or not readable since the last :meth:`appearance`, each once.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = list(dict.fromkeys(folders))
        self.warnings: list[str] = []
        self._open: dict[str, Archive] = {}
        self._pictures: dict[tuple[str, str], Picture] = {}
        self._entries: dict[tuple[str, str], LibraryEntry] = {}
        self._materials: dict[str, tuple[MaterialAppearance, list[str]]] = {}

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """The libraries that are there, by their name in :mod:`converter.scene.appearance`.

        A folder is a library that was unpacked.
        """
        found: dict[str, Path] = {}
        for folder in self.folders:
            wanted = [name for name in (MATERIALS, TEXTURES, LIGHTMAPS) if name not in found]
            with if_there(folder):
                found |= find_libraries(folder, wanted)
        return found

    def library(self, name: str) -> Archive | None:
        """A library by its name; a warning and ``None`` where it is not there, or no archive."""
        if name not in self.files:
            self._warn(f"no {name} in {', '.join(map(str, self.folders)) or 'any folder'}")
            return None
        if name not in self._open:
            path = self.files[name]
            try:
                self._open[name] = open_archive(path, str(path))
            except ConversionError as error:
                self._warn(f"{error}: shown without it")
                return None
        return self._open[name]

    def material(self, name: str) -> MaterialAppearance:
        """What a WEAR row's name leads to: that material, ``DEFAULT``, or the first.

        A name is looked up once; what cannot be read is tried again.
        """
        known = self._materials.get(name)
        if known is not None:
            for text in known[1]:
                self._warn(text)
            return known[0]
        library = self.library(MATERIALS)
        found = None if library is None else find_material(library, name)
        if library is None or found is None:
            return missing_material(name)
        warning = ""
        if found.step == "first" and self.files[MATERIALS].is_dir():
            self._warn(
                f"{Path(library.label).name} has no material {called(name)}, and does not say which one was its first"
            )
            return missing_material(name)
        entry = library.entries[found.index]
        if found.step != "name":
            warning = f"{Path(library.label).name} has no material {called(name)}: {in_words(entry.name)} is shown"
            self._warn(warning)
        try:
            data = bytes(entry.payload)
            material = read_material(replace(entry, payload=data), library.label)
            self._note(MATERIALS, entry, data)
            appearance = appearance_of(name, material, found.step)
            self._materials[name] = appearance, [warning] if warning else []
            return appearance
        except ConversionError as error:
            self._unreadable(error, library)
            return missing_material(name)

    def find(self, library: str, name: str) -> tuple[int, Texm] | None:
        """A texture or a lightmap with its directory index; ``None`` where there is none."""
        found = self._read(library, name)
        return None if found is None else (found[0], found[2])

    def _read(self, library: str, name: str) -> tuple[int, memoryview | bytes, Texm] | None:
        """As :meth:`find`, with the entry's payload between: a texture may be large."""
        archive = self.library(library) if name else None
        if archive is None:
            return None
        index = archive.find(name)
        if index is None:
            self._warn(f"{Path(archive.label).name} has no texture {called(name)}")
            return None
        entry = archive.entries[index]
        try:
            payload = entry.payload
            return index, payload, read_texm(payload, _label(entry, archive))
        except ConversionError as error:
            self._unreadable(error, archive)
            return None

    def picture(self, library: str, name: str) -> Picture | None:
        """A texture or a lightmap as a picture; as :meth:`find`."""
        known = self._pictures.get((library, name))
        if known is not None:
            return known
        found = self._read(library, name)
        archive = self.library(library)
        if found is None or archive is None:
            return None
        index, payload, texm = found
        entry = archive.entries[index]
        path, digest = picture_path(library, entry.name), sha256(payload)
        self._note(library, entry, texture_head(payload), digest)
        # its pixels are read again when they are asked for: a game has a great many
        rgba, size = partial(_pixels, entry, _label(entry, archive)), (texm.width, texm.height)
        picture = Picture(entry.name, path, digest, rgba, size, texm.rectangles)
        self._pictures[library, name] = picture
        return picture

    def appearance(
        self,
        wear: Sequence[str],
        lightmaps: Sequence[str] = (),
        pairs: Mapping[tuple[int, int], float] | None = None,
        up: str | None = None,
    ) -> Appearance:
        """How the materials of a WEAR look.

        Args:
            pairs: a terrain's (first, second) rows, with the weight of the second.
            up: see :class:`~converter.scene.appearance.Appearance`.
        """
        self.warnings = []
        appearances = {row: self.material(name) for row, name in enumerate(wear) if name}
        pictures: dict[str, Picture] = {}
        for name in {look.texture: None for look in appearances.values() if look.texture}:
            found = self.picture(TEXTURES, name)
            if found is not None:
                pictures[name] = found
        lights: dict[int, Picture] = {}
        for row, name in enumerate(lightmaps):
            found = self.picture(LIGHTMAPS, name)
            if found is not None:
                lights[row] = found
        both: dict[tuple[int, int], Picture] = {}
        for (first, second), weight in (pairs or {}).items():
            shown = [
                pictures[appearances[row].texture]
                for row in (first, second)
                if row in appearances and appearances[row].texture in pictures
            ]
            if len(shown) == 2:
                both[first, second] = mixed(shown[0], shown[1], weight)

        return Appearance(appearances, pictures, lights, both, self._noted(appearances, pictures), self.warnings, up)

    def _note(self, library: str, entry: Entry, data: bytes, digest: str = "") -> None:
        made = LibraryEntry(library, entry.name, entry.attr1, digest or sha256(data), data)
        self._entries[made.key] = made

    def _noted(
        self, appearances: Mapping[int, MaterialAppearance], pictures: Mapping[str, Picture]
    ) -> list[LibraryEntry]:
        """What of the libraries is shown, each once."""
        names = [(MATERIALS, look.material) for look in appearances.values()]
        names += [(TEXTURES, picture.name) for picture in pictures.values()]
        keys = dict.fromkeys(entry_key(*name) for name in names)
        return [self._entries[key] for key in keys if key in self._entries]

    def _unreadable(self, error: ConversionError, archive: Archive) -> None:
        error.file = Path(archive.label).name
        self._warn(f"{error}: shown without it")

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def _label(entry: Entry, archive: Archive) -> str:
    return f"{archive.label}, entry {printable(entry.name)}"


def _pixels(entry: Entry, label: str) -> Pixels:
    return read_texm(entry.payload, label).rgba()


def controller_in(files: Mapping[str, bytes]) -> tuple[Controller | None, list[Finding]]:
    """Read the controller among the files of a model, and what is wrong with it.

    A broken one is a warning: the model is whole without it. ``files``: as of ``kinds.registry.files_that_name``.
    """
    for name, data in files.items():
        if name.lower().endswith(CONTROLLER_ENDING):
            try:
                return read_controller(data, name), []
            except ConversionError as error:
                return None, [Finding(CONTROLLER_SIZE, str(error))]
    return None, []


def facts_of_model(archive: Archive | None, path: Path, index: int | None, game: Game | None) -> Facts:
    """Return what is known about the model of a controller; arguments as of ``kinds.registry.files_that_name``.
    ``archive``: ``None``: the controller is a file of its own.
    """
    archive = archive or Archive(path.name)
    points = companion(archive, path, index, POINTS_ENDING, POINTS_TYPE)
    facts = _facts(companion(archive, path, index, ".msh"), points)
    if facts.nodes is not None or game is None or index is None:
        return facts
    own = Member(inside(path, game), archive.entries[index].name)
    for resolved in game.objects:
        member = resolved.members.get(CONTROLLER_ENDING)
        if member is not None and resolved.model is not None and member.place == own.place:
            try:
                model = game.open(resolved.model)
                named = resolved.members.get(POINTS_ENDING)
                return _facts(model.entry.payload, b"" if named is None else game.open(named).entry.payload)
            except ConversionError:
                continue
    return facts


def _facts(model: memoryview | bytes, points: memoryview | bytes) -> Facts:
    """What a model and its control points have; nothing of those that cannot be read."""
    from ..checks.companions import Facts

    count = None
    with suppress(ConversionError):  # its own check says what is wrong with it
        count = len(read_points(points, "").records) if points else None
    with suppress(ConversionError):
        archive = read_nres(model, "") if is_nres(model) else None
        if archive is not None and archive_kind(archive) is Kind.MODEL:
            found = read_model(archive, "")
            return Facts(len(found.nodes), found.frame_count, count)
    return Facts()
