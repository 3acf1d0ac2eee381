"""The pictures of a run: every texture and lightmap that its models use, each once.

They are items like models, in ``textures/`` of the output directory, so that an edited one is not
overwritten and a second run makes only what changed (``gltf-mapping`` page, Materials).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from ..errors import ConversionError
from ..files import stamp
from ..formats.kinds import ASSEMBLY_KINDS, Kind
from ..formats.library import LIGHTMAPS, TEXTURES
from ..formats.names import readable
from ..formats.texture import texture_name
from ..formats.wear import read_lightmap_names, read_wear_names
from ..kinds.texture_lookup import Libraries, libraries
from ..options import ExportOptions
from ..scene.appearance import PICTURES, picture_path
from .manifest import Manifest
from .sources import archive_of, placed_files, wear_text
from .walk import Item, Skipped, text_of

#: Endings of pictures that people save.
_ENDINGS = frozenset((".bmp", ".dds", ".gif", ".jpeg", ".jpg", ".png", ".tga", ".tif", ".tiff", ".webp"))


def picture_items(items: Sequence[Item], options: ExportOptions) -> list[Item]:
    """Find the pictures that the models of a run use; textures first, in the order of their names.

    Names that lead nowhere and textures that cannot be read are left out: the models that use
    them report it.

    Args:
        items: the models and terrains.
        options: where the libraries are.
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
    entry, path = archive.entries[index], found.files[library].absolute()
    inside = path.is_relative_to(root)
    source = text_of(path.relative_to(root)) if inside else readable(str(path))
    target = picture_path(library, entry.name)
    return Item(str(path), source, index=index, name=entry.name, kind=Kind.TEXTURE, size=entry.size, target=target)


def stray_pictures(out: Path, manifest: Manifest, files: Iterable[Path]) -> list[Skipped]:
    """Find pictures beside those of a run that nothing reads, each with the name that counts.

    Args:
        out: the directory that ``msh2gltf`` wrote.
        manifest: what is in it.
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
        if str(path) in known or (same and _is_same(out / file, out / same)):
            continue
        meant = _meant(path, by_fold)
        do = (
            f"save it as {meant} (a PNG) to change that texture"
            if meant
            else f"gltf2msh {path.stem}.png --into {TEXTURES} adds it"
        )
        found.append(Skipped(str(path), f"not a texture of this run; {do}"))
    return found


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names are one file, where case does not count."""
    return other.is_file() and path.samefile(other)


def _meant(path: PurePosixPath, known: Mapping[str, str]) -> str | None:
    """The picture of a run that is called most like another one of its folder."""
    for name in (path.stem, texture_name(path.stem)):
        exact = known.get(str(path.with_name(f"{name}.png")).casefold())
        if exact is not None:
            return exact
    stems = {target.stem: str(target) for target in map(PurePosixPath, known.values()) if target.parent == path.parent}
    near = get_close_matches(path.stem, stems, 1, cutoff=0.7)
    return stems[near[0]] if near else None
