"""Find the materials and textures of a model, and place its pictures. No printing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...importers.nres import read_file
from ...importers.unpacked import find_library
from ...importers.wear import read_wear, read_wear_names
from ..checks.appearance import missing_appearance
from ..errors import plural, printable
from ..findings import Finding
from ..formats.library import MATERIALS
from ..formats.material import DEFAULT_MATERIAL
from ..scene.appearance import Appearance
from .options import ExportOptions


def find_appearance(
    text: memoryview | bytes,
    path: Path,
    options: ExportOptions,
    pairs: Mapping[tuple[int, int], float] | None = None,
) -> Appearance | None:
    """Find the materials and textures that a WEAR names.

    Args:
        text: the WEAR.
        path: the model's file, whose folder is searched last, and where that has no libraries
            the folder around it: an archive may be unpacked into a folder beside them.
        options: the folders that the user named, and whether to search at all.
        pairs: a terrain's pairs of rows, with the weight of the second.

    Returns:
        ``None`` where nobody asked and no library is at hand.
    """
    if not options.find_textures:
        return None
    folders = [Path(folder) for folder in options.textures]
    if options.own_folder:
        own = path.absolute().parent
        has_own = has_libraries(own)
        folders += [own] if folders or has_own else []
        folders += [own.parent] if not has_own and has_libraries(own.parent) else []
    if not folders:
        return None
    from .texture_lookup import libraries

    lightmaps = read_wear(text, "")[0].lightmaps if options.lightmaps else []
    return libraries(folders).appearance(read_wear_names(text), lightmaps, pairs)


def has_libraries(folder: Path) -> bool:
    """Return whether a folder has a ``Material.lib``, packed or not."""
    try:
        return find_library(folder, MATERIALS) is not None
    except OSError:
        return False


def missing_materials(appearance: Appearance | None) -> list[Finding]:
    """Report the materials and textures that were not found."""
    missing = [] if appearance is None else appearance.warnings
    return [missing_appearance(text) for text in missing]


def unknown_materials(wear: Sequence[str], folder: Path) -> list[str]:
    """Return a warning where a model names materials that the game does not have.

    Args:
        wear: names of materials.
        folder: where the game's ``Material.lib`` is; without one nothing is known.
    """
    from difflib import SequenceMatcher

    from ..edits.compare_materials import listed
    from .texture_lookup import libraries

    found = libraries([folder])
    library = found.library(MATERIALS) if MATERIALS in found.files else None
    if library is None:
        return []
    names = list(dict.fromkeys(entry.name for entry in library.entries))
    known = {name.casefold() for name in names}
    unknown = [name for name in dict.fromkeys(wear) if name and name.casefold() not in known]
    if not unknown:
        return []
    others = f" and {plural(len(unknown) - 1, 'other')}" if len(unknown) > 1 else ""
    near = sorted(names, key=lambda name: -SequenceMatcher(None, name, unknown[0]).ratio())
    return [
        f"material {printable(unknown[0])!r}{others}: not in {MATERIALS}, so the game shows "
        f"{DEFAULT_MATERIAL}; it has {listed(near)}"
    ]


def in_folder(
    appearance: Appearance | None, target: Path, options: ExportOptions, root: Path | None
) -> Appearance | None:
    """Return the appearance with the folder of its pictures; arguments as of ``output_files``."""
    if appearance is None or options.embed:
        return appearance
    depth = 0 if root is None else len(target.relative_to(root).parts) - 1
    return replace(appearance, up="../" * depth)


def picture_files(appearance: Appearance | None, target: Path) -> list[tuple[Path, bytes]]:
    """Make the pictures that lie beside a glTF, in their folder, which the files of a directory
    share: without those that are there already, byte for byte."""
    if appearance is None or appearance.up is None:
        return []
    from ...exporters.png import png_bytes

    pictures = [*appearance.pictures.values(), *appearance.lightmaps.values()]
    paths = {target.parent.joinpath(*p.path.split("/")): p for p in pictures}
    files = [(path, png_bytes(picture.rgba())) for path, picture in paths.items()]
    return [(path, png) for path, png in files if not path.is_file() or read_file(path) != png]
