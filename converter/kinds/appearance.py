"""Find the materials and textures of a model, and place its pictures. No printing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..checks.materials import look_missing
from ..files import read_file
from ..findings import Finding
from ..formats.library import MATERIALS
from ..formats.wear import read_lightmap_names, read_wear_names
from ..options import ExportOptions
from ..scene.appearance import Appearance
from ..storage import if_there
from .open_files import find_library


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
        folders = with_libraries_around(path.absolute().parent, folders)
    if not folders:
        return None
    if not text:
        return Appearance()  # of a texture, of most areal maps
    from .texture_lookup import libraries

    lightmaps = read_lightmap_names(text) if options.lightmaps else []
    return libraries(folders).appearance(read_wear_names(text), lightmaps, pairs)


def with_libraries_around(own: Path, folders: Sequence[Path]) -> list[Path]:
    """Return the folders to search for materials and textures, in that order.

    Args:
        own: the folder of what is converted: a level lies deep in its game, and an archive may be
            unpacked into a folder beside the libraries.
        folders: those that the user named.
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
    """Return the appearance with the folder of its pictures; arguments as of ``output_files``."""
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
