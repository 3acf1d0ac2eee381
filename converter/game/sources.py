"""What a run reads: items and what they depend on, their lists of materials, and every picture once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ..errors import ConversionError, quoted
from ..files import Stamp, read_file, stamp
from ..formats.kinds import ASSEMBLY_KINDS, Kind
from ..formats.material import LIGHTMAPS, TEXTURES
from ..formats.mission import Mission, read_mission
from ..formats.model_parts import POINTS_ENDING
from ..formats.names import readable
from ..formats.nres import Archive, read_nres
from ..formats.objects import Unit, read_unit
from ..formats.sidecar import sha256
from ..formats.texture import texture_name
from ..formats.wear import WEAR_ENDING, read_lightmap_names, read_wear_names
from ..kinds import open_files
from ..kinds.appearance import Libraries, find_appearance, libraries
from ..kinds.open_files import points_of, wear_of, wears_of_level
from ..kinds.registry import Game, files_that_name, game_of, majority_of
from ..options import ExportOptions
from ..scene.appearance import PICTURES, picture_path
from ..storage import absolute
from .manifest import Manifest
from .walk import Item, Skipped, text_of

if TYPE_CHECKING:
    from ..kinds.base import Source
    from ..scene.dialect import Decision

#: How many archives' directories a worker keeps: tasks come by size, so from all of a game's by
#: turns.
_KEPT = 16


def archive_of(item: Item, now: Stamp) -> Archive:
    """The NRes file that an item is in, or is; of a unit or mission its bytes, without entries."""
    if item.kind in ASSEMBLY_KINDS:
        return Archive(item.source, read_from=read_file(Path(item.path)))
    if item.index is None:
        return read_nres(read_file(Path(item.path)), item.source, longer=True)
    return open_archive(item.path, item.source, now)


@lru_cache(maxsize=_KEPT)
def open_archive(path: str, label: str, now: Stamp) -> Archive:
    """An NRes file whose directory a worker reads once, and entries when they are asked for.

    Args:
        path: the file, or the folder that it was unpacked into.
    """
    return open_files.open_archive(Path(path), label, longer=True)


@lru_cache(maxsize=_KEPT)
def archive_majority(path: str, label: str, now: Stamp) -> Decision | None:
    """The dialect of most models of an archive (``evidence`` page, Reading: auto).

    Arguments as of :func:`open_archive`.
    """
    return majority_of(open_archive(path, label, now))


def source_of(archive: Archive, item: Item, now: Stamp) -> Source:
    """Return what an item is loaded from; ``now``: the stamp of its file."""
    from ..kinds.base import Source  # a run that has nothing to do loads nothing

    others = None if item.index is None else partial(archive_majority, item.path, item.source, now)
    return Source(Path(item.path), archive, item.index, fallback=others)


def payload_of(archive: Archive, item: Item) -> memoryview | bytes:
    """The bytes of an item: a file of its own, or an entry of its archive.

    Raises:
        ConversionError: the file cannot be read, or the archive has fewer entries than it had.
    """
    if item.index is None:
        return archive.read_from
    if item.index >= len(archive.entries):
        raise ConversionError("changed while it was read", file=item.source)
    return archive.entries[item.index].payload


def wear_text(archive: Archive, path: Path, item: Item) -> bytes:
    """The WEAR that names an item's materials: of a terrain both, one after the other."""
    if item.kind is Kind.TERRAIN:
        return b"".join(wears_of_level(archive, path, item.index))
    return b"" if item.kind is Kind.TEXTURE else bytes(wear_of(archive, path, item.index))


def files_beside(archive: Archive, path: Path, item: Item, options: ExportOptions) -> list[str]:
    """Return names and digests of what a model's glTF and sidecar show and keep of the files beside it."""
    game = game_of(path) if item.index is not None else None
    points = {POINTS_ENDING: bytes(points_of(archive, path, item.index))} if options.points else {}
    return digests({**points, **files_that_name(archive, path, item.index, game)})


def digests(files: Mapping[str, bytes]) -> list[str]:
    """Return the names of files and the digests of their bytes."""
    return [text for name, data in files.items() for text in (name, sha256(data))]


def placed_files(path: Path, options: ExportOptions) -> PlacedFiles:
    """What the units and missions of a game depend on; kept while its directory is the same.

    Raises:
        ConversionError: the file is not in a game.
    """
    from ..kinds.placed_models import require_game

    game = require_game(path, options)
    known = _PLACED.get("files")
    if known is None or known.game is not game or known.options != options:
        known = _PLACED["files"] = PlacedFiles(game, options)
    return known


#: Those of the game that a worker is at.
_PLACED: dict[str, PlacedFiles] = {}


#: Endings of pictures that people save.
_ENDINGS = frozenset((".bmp", ".dds", ".gif", ".jpeg", ".jpg", ".png", ".tga", ".tif", ".tiff", ".webp"))


def picture_items(items: Sequence[Item], options: ExportOptions) -> list[Item]:
    """Find the pictures that the models of a run use; textures first, in the order of their names.

    Names that lead nowhere and textures that cannot be read are left out: the models that use
    them report it.
    """
    if not items or not options.find_textures or options.embed or not options.textures:
        return []
    found = libraries([Path(folder) for folder in options.textures])
    materials: dict[str, None] = {}
    lightmaps: dict[str, None] = {}
    for item in items:
        path = Path(item.path)
        try:
            texts = _texts(item, path, options)
        except (ConversionError, OSError):  # gone since it was found: converting it says so
            continue
        for text in texts:
            materials.update(dict.fromkeys(read_wear_names(text)))
            if options.lightmaps:
                lightmaps.update(dict.fromkeys(read_lightmap_names(text)))
    textures = {found.material(name).texture: None for name in materials if name}
    root = Path(items[0].path).parents[items[0].source.count("/")]
    out: dict[str, Item] = {}
    for library, names in ((TEXTURES, textures), (LIGHTMAPS, lightmaps)):
        for name in names:
            picture = _item(found, library, name, root)
            if picture is not None:
                out[picture.target] = picture
    return [out[target] for target in sorted(out)]


def _texts(item: Item, path: Path, options: ExportOptions) -> list[bytes]:
    """The material lists of an item."""
    if item.kind in ASSEMBLY_KINDS:
        return placed_files(path, options).material_lists(item.kind, path)
    return [wear_text(archive_of(item, stamp(path)), path, item)]


def _item(found: Libraries, library: str, name: str, root: Path) -> Item | None:
    place = found.find(library, name)
    archive = found.library(library)
    if place is None or archive is None:
        return None
    index, _ = place
    entry, path = archive.entries[index], absolute(found.files[library])
    inside = path.is_relative_to(root)
    source = text_of(path.relative_to(root)) if inside else readable(str(path))
    target = picture_path(library, entry.name)
    return Item(str(path), source, index=index, name=entry.name, kind=Kind.TEXTURE, size=entry.size, target=target)


def stray_pictures(out: Path, manifest: Manifest, files: Iterable[Path]) -> list[Skipped]:
    """Find pictures beside those of a run that nothing reads, each with the name that counts.

    Args:
        files: all files of it, from there.
    """
    known = {o.path for record in manifest.records.values() for o in record.outputs}
    by_fold = {path.casefold(): path for path in known}
    found = []
    for file in files:
        path = PurePosixPath(text_of(file))
        if path.parts[0] != PICTURES or path.suffix.lower() not in _ENDINGS:
            continue
        same = by_fold.get(str(path).casefold())
        if str(path) in known or (same and (out / same).is_file() and (out / file).samefile(out / same)):
            continue
        meant = _meant(path, by_fold)
        do = (
            f"save it as {meant} (a PNG) to change that texture"
            if meant
            else f"gltf2msh {quoted(path.stem + '.png')} --into {TEXTURES} adds it"
        )
        found.append(Skipped(str(path), f"not a texture of this run; {do}"))
    return found


def _meant(path: PurePosixPath, known: Mapping[str, str]) -> str | None:
    """The picture of a run that is called most like another one of its folder."""
    for name in (path.stem, texture_name(path.stem)):
        exact = known.get(str(path.with_name(f"{name}.png")).casefold())
        if exact is not None:
            return exact
    stems = {target.stem: str(target) for target in map(PurePosixPath, known.values()) if target.parent == path.parent}
    near = get_close_matches(path.stem, stems, 1, cutoff=0.7)
    return stems[near[0]] if near else None


@dataclass
class PlacedFiles:
    """What units and missions of a game depend on.

    Attributes:
        options: how models become glTF; libraries are looked for in ``textures``.
    """

    game: Game
    options: ExportOptions
    _keys: dict[str, tuple[str, bytes]] = field(default_factory=dict, repr=False)

    def digest(self, kind: Kind, path: Path) -> str:
        """Return a digest of all that a unit or a mission is made of.

        Raises:
            ConversionError: it cannot be read, or the registry cannot.
        """
        units, keys, levels = self._named(kind, path)
        facts = [self._key(key)[0] for key in keys]
        facts += [sha256(data) for data in (*units, *levels)]
        if levels:
            facts.append(sha256(repr(self._appearance(levels[-2])).encode()))
        return sha256(json.dumps(facts).encode())

    def material_lists(self, kind: Kind, path: Path) -> list[bytes]:
        """Return the material lists of all that a unit or a mission shows; errors as of digest."""
        _, keys, levels = self._named(kind, path)
        return [*(self._key(key)[1] for key in keys), *levels[-2:]]

    def _named(self, kind: Kind, path: Path) -> tuple[list[bytes], list[str], list[bytes]]:
        """Units, object keys, and a level with its two material lists, of a unit or a mission."""
        data = read_file(path)
        if kind is Kind.UNIT:
            return [bytes(data)], sorted(_keys_of(read_unit(data, str(path)))), []
        mission = read_mission(data, str(path))
        keys: set[str] = set()
        units: dict[str, bytes] = {}
        for placed in mission.objects:
            name = placed.reference.lower()
            if not placed.is_assembly:
                keys.add(name)
            elif name not in units:
                units[name] = b""
                try:
                    unit = self.game.unit(placed.reference)
                except ConversionError:
                    continue
                units[name] = unit.records.tobytes()
                keys.update(_keys_of(unit))
        return [bytes(data), *units.values()], sorted(keys), self._level(mission)

    def _level(self, mission: Mission) -> list[bytes]:
        path = self.game.file(f"{mission.map}.msh")
        if path is None or not path.is_file():
            return []
        return [bytes(read_file(path)), *wears_of_level(Archive(str(path)), path, None)]

    def _key(self, key: str) -> tuple[str, bytes]:
        """A digest of what an object key leads to, and its material list."""
        if key not in self._keys:
            found = self.game.object(key)
            texts = {WEAR_ENDING: b"", POINTS_ENDING: b""}
            facts = [key, found.problem]
            if found.model is not None and found.resolved is not None:
                opened = found.model
                facts += [sha256(opened.entry.payload), str(opened.archive.total_size)]
                for ending in texts:
                    member = found.resolved.members.get(ending)
                    try:
                        other = None if member is None else self.game.open(member)
                    except ConversionError as error:
                        facts.append(str(error))
                        continue
                    texts[ending] = b"" if other is None else bytes(other.entry.payload)
                facts += [sha256(text) for text in texts.values()]
                facts += digests(files_that_name(opened.archive, opened.path, opened.index, self.game))
                facts.append(sha256(repr(self._appearance(texts[WEAR_ENDING])).encode()))
            self._keys[key] = sha256(json.dumps(facts).encode()), texts[WEAR_ENDING]
        return self._keys[key]

    def _appearance(self, wear: bytes) -> object:
        return find_appearance(wear, self.game.root, self.options)


def _keys_of(unit: Unit) -> Iterator[str]:
    return (unit.key(row).lower() for row in range(len(unit)))
