"""Where the looks of a model come from, and where its pictures go. No printing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...importers.nres import read_file
from ...importers.wear import read_wear, read_wear_names
from ..findings import Finding
from ..scene.appearance import MATERIALS, Appearance

if TYPE_CHECKING:
    from .model import ExportOptions


def dress_of(
    text: memoryview | bytes,
    path: Path,
    options: ExportOptions,
    pairs: Mapping[tuple[int, int], float] | None = None,
) -> Appearance | None:
    """How the materials of a WEAR look; ``None`` where nobody asked and no library is at hand.

    Args:
        text: the WEAR.
        path: the model's file, whose folder is looked at last.
        options: the folders that the user named, and whether to look at all.
        pairs: a terrain's pairs of rows, with the share of the second.
    """
    if not options.dressed:
        return None
    folders = [Path(folder) for folder in options.textures]
    if options.own_folder and (folders or has_libraries(path.absolute().parent)):
        folders.append(path.absolute().parent)
    if not folders:
        return None
    from .game import libraries

    lightmaps = read_wear(text, "")[0].lightmaps if options.lightmaps else []
    return libraries(folders).dress(read_wear_names(text), lightmaps, pairs)


def has_libraries(folder: Path) -> bool:
    """Whether a folder has a ``Material.lib``; asked before their reader is imported."""
    try:
        return any(path.name.lower() == MATERIALS.lower() for path in folder.iterdir())
    except OSError:
        return False


def missing_looks(dress: Appearance | None) -> list[Finding]:
    """What was not found on the way to the looks."""
    missing = [] if dress is None else dress.warnings
    return [Finding("look-missing", text) for text in missing]


def placed(
    dress: Appearance | None, target: Path, options: ExportOptions, root: Path | None
) -> Appearance | None:
    """The dress with where its pictures lie; arguments as of ``gltf_files``."""
    if dress is None or options.embed:
        return dress
    depth = 0 if root is None else len(target.relative_to(root).parts) - 1
    return replace(dress, up="../" * depth)


def picture_files(dress: Appearance | None, target: Path) -> list[tuple[Path, bytes]]:
    """The pictures that lie beside a glTF, in their folder; without those that are there already,
    byte for byte: the files of one directory share them."""
    if dress is None or dress.up is None:
        return []
    from ...exporters.png import png_bytes

    pictures = [*dress.pictures.values(), *dress.lightmaps.values()]
    paths = {target.parent.joinpath(*p.path.split("/")): p for p in pictures}
    files = [(path, png_bytes(picture.rgba())) for path, picture in paths.items()]
    return [(path, png) for path, png in files if not path.is_file() or read_file(path) != png]
