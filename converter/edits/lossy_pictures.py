"""Pictures that came back in a lossy format: Blender's exporter has JPEG and WebP for all of them.

Every pixel differs a little then, and the game's textures would all be written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import plural, printable
from ..findings import NotApplied
from ..formats.gltf import FilePicture, ShownPicture, Surface, same_picture


def without_loss(
    edited: Sequence[Surface[FilePicture]], shown: Sequence[Surface[ShownPicture]], choices: Mapping[int, Iterable[int]]
) -> tuple[list[Surface[FilePicture]], list[NotApplied]]:
    """Take pictures in a lossy format for the exported ones of their names.

    Args:
        edited: what the materials of a file show.
        shown: what the stored materials showed.
        choices: per material of the file the stored ones that it may be.

    Returns:
        What the materials show, and a report if such pictures were found.
    """
    exported = _by_name(shown)
    found: set[str] = set()

    def as_exported(new: FilePicture | None, first: Mapping[str, ShownPicture]) -> FilePicture | None:
        if new is None:
            return None
        old = first.get(new.name.lower()) or exported.get(new.name.lower())
        if old is None or not new.lossy() or same_picture(new, old):
            return new
        found.add(old.name)
        return new._replace(name=old.name, digest=lambda: "", pixels=lambda: old.pixels)

    out = []
    for i, one in enumerate(edited):
        own = _by_name(shown[k] for k in choices.get(i, ()))
        picture, light = as_exported(one.picture, own), as_exported(one.light, own)
        out.append(one._replace(picture=picture, light=light))
    if not found:
        return out, []
    report = NotApplied(
        where="pictures",
        what=f"{plural(len(found), 'picture')} (first {printable(min(found))}) cannot be compared",
        why="JPEG and lossy WebP change pixels that nobody touched",
        instead="set Images to Automatic in Blender's glTF exporter, and export again",
    )
    return out, [report]


def _by_name(shown: Iterable[Surface[ShownPicture]]) -> dict[str, ShownPicture]:
    """Pictures by name in lower case, also without what follows its last dot, as in Blender."""
    out: dict[str, ShownPicture] = {}
    for one in shown:
        for picture in filter(None, (one.picture, one.light)):
            name = picture.name.lower()
            out |= {name: picture}
            out.setdefault(name.rpartition(".")[0], picture)
    return out
