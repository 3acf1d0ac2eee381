"""The pictures of a run: every texture and lightmap that its models use, each once.

They are items like models, in ``textures/`` of the output directory, so that an edited one is not
overwritten and a second run makes only what changed (``gltf-mapping`` page, Materials).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...importers.nres import stamp
from ...importers.wear import read_lightmap_names, read_wear_names
from ..errors import ConversionError
from ..formats.kinds import ASSEMBLY_KINDS, Kind
from ..formats.library import LIGHTMAPS, TEXTURES
from ..formats.names import readable
from ..pipeline.options import ExportOptions
from ..pipeline.texture_lookup import Libraries, libraries
from ..scene.appearance import picture_path
from .sources import archive_of, placed_files, wear_text
from .walk import Item, text_of


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
    return Item(
        str(path),
        source,
        index=index,
        name=entry.name,
        kind=Kind.TEXTURE,
        size=entry.size,
        target=target,
    )
