"""Decide which stored material each one of a file is.

A material is what its extras state, else what its name says, else what most of its triangles were. Blender appends
``.001`` to equal names, and drops extras by default.

Pictures that came back in a lossy format: Blender's exporter has JPEG and WebP for all of them.

Every pixel differs a little then, and the game's textures would all be written again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ..errors import needed_for, plural, printable
from ..findings import NotApplied
from ..formats.gltf import FilePicture, ShownPicture, Surface, same_picture
from ..formats.names import known_name
from ..numeric.arrays import I64, Bools
from ..scene.scene import Scene
from .nodes import Identified
from .triangles import Match, TriangleList, match, triangle_list

#: How many names a message lists.
_LISTED = 8


def same_stored(given: Iterable[tuple[Hashable | None, str]], stored: Iterable[tuple[Hashable, str]]) -> list[set[int]]:
    """Return the stored materials that each one of a file may be: by its key, else by its name.

    Several stored materials of one name cannot be distinguished by it, and any of them is taken for unchanged.

    Args:
        given: per material of the file the key that its extras state (``None``: none), and its name.
        stored: the same of the stored ones.
    """
    by_key: dict[Hashable, set[int]] = defaultdict(set)
    by_name: dict[str, set[int]] = defaultdict(set)
    for row, (key, name) in enumerate(stored):
        by_key[key].add(row)
        by_name[name].add(row)
    return [
        by_name.get(known_name(name, by_name.__contains__), set()) if key is None else by_key.get(key, set())
        for key, name in given
    ]


def same_materials(edited: Scene, stored: Scene) -> list[set[int]]:
    """Return the stored materials of a model that each edited one may be; see :func:`same_stored`."""
    given = ((None if -1 in material.key else material.key, material.name) for material in edited.materials)
    return same_stored(given, ((material.key, material.name) for material in stored.materials))


def material_votes(lists: Iterable[tuple[TriangleList, Match]], edited: Scene, stored: Scene) -> I64:
    """Count the triangles that had a stored material and have one of the file.

    Args:
        lists: triangles of parts, and how they meet the stored ones.
        edited, stored: the scenes with the materials.

    Returns:
        (M + 1, K): of each material of the file and, in the last row, of none.
    """
    votes = np.zeros((len(edited.materials) + 1, len(stored.materials)), np.int64)
    for triangles, matched in lists:
        if matched.old_material is not None:
            hit = matched.old_of >= 0
            old = matched.old_material[matched.old_of[hit]]
            np.add.at(votes, (triangles.material[hit][old >= 0], old[old >= 0]), 1)
    return votes


def origins_by_faces(identified: Identified, stored: Scene, *, lightmap: bool) -> dict[int, tuple[int, bool]]:
    """Return the stored material that most triangles had of each material of a file.

    Returns:
        Per material the stored one, and whether all triangles of either have the other: that is certain.
    """
    scene = identified.scene
    cells = {(part.node, part.lod, part.group): part for part in stored.parts}
    parts = [(part, (identified.stored_of.get(part.node, -1), part.lod, part.group)) for part in scene.parts]

    def lists() -> Iterator[tuple[TriangleList, Match]]:
        for part, cell in parts:
            if (old := cells.get(cell)) is not None:
                new = triangle_list(scene, part, lightmap=lightmap)
                yield new, match(new, triangle_list(stored, old, lightmap=lightmap), [])

    votes = material_votes(lists(), scene, stored)
    here = {cell for _, cell in parts}
    absent = {
        stored.materials[primitive.material].row
        for cell, part in cells.items()
        if cell not in here
        for primitive in stored.meshes[part.mesh].primitives
    }
    out = {}
    for i in np.flatnonzero(votes[:-1].any(1)).tolist():
        k = int(votes[i].argmax())
        whole = votes[i, k] == votes[i].sum() == votes[:, k].sum()
        out[i] = k, bool(whole) and stored.materials[k].row not in absent
    return out


def resolve_same_names(
    choices: list[set[int]], edited: Scene, stored: Scene, lists: Iterable[tuple[TriangleList, Match]]
) -> None:
    """Distinguish materials of one name by the triangles they are on: most did not change theirs.

    Only for files without extras, where Blender's ``.001`` is their only difference.

    Args:
        choices: per material of the file the stored ones that it may be; changed in place.
        edited, stored, lists: as of :func:`material_votes`.
    """
    open_ones = [i for i, rows in enumerate(choices) if len(rows) > 1 and -1 in edited.materials[i].key]
    if not open_ones:
        return
    votes = material_votes(lists, edited, stored)[:-1]
    allowed = np.zeros(votes.shape, np.bool_)
    for i in open_ones:
        allowed[i, list(choices[i])] = True
    for i, k in _most_votes(votes, allowed, open_ones):
        if votes[i, k] > 0 and allowed[i, k]:
            choices[i] = {k}


def _most_votes(votes: I64, allowed: Bools, rows: list[int]) -> list[tuple[int, int]]:
    """Assign stored materials to materials so that their triangles agree the most.

    Args:
        votes: (materials, stored materials), triangles that had the one and have the other.
        allowed: the same shape, whether the names fit.
        rows: the materials to assign; each has two or more stored ones that are allowed.

    Returns:
        Pairs of a row and its column.

    Raises:
        MissingPackage: two of them want the same, and SciPy is not installed to settle it.
    """
    others = np.asarray(np.delete(allowed, rows, axis=0).any(0), np.bool_)
    rows = [i for i in rows if (votes[i] * allowed[i]).any()]  # the rest decides nothing
    counted = np.where(allowed, votes, -1)[rows]
    best, ranked = counted.argmax(1), np.sort(counted, axis=1)
    clear = bool((ranked[:, -1] > np.maximum(ranked[:, -2], 0)).all())
    if clear and not others[best].any() and len(np.unique(best)) == len(best):
        return list(zip(rows, best.tolist(), strict=True))  # no sum can be larger
    with needed_for("telling several materials of one name apart", "scipy"):
        from scipy.optimize import linear_sum_assignment

    assigned = linear_sum_assignment(np.where(allowed, votes, -1e9), maximize=True)
    pairs = zip(*(part.tolist() for part in assigned), strict=True)
    return [(i, k) for i, k in pairs if i in rows]


def listed(names: Sequence[str] | dict[str, int]) -> str:
    """Return the names that may be used, as far as a line can hold them."""
    shown = [printable(name) for name in names]
    more = f" or {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return ("one of " if len(shown) > 1 else "") + ", ".join(shown[:_LISTED]) + more


def rows_by_name(stored: Scene, wear: Sequence[str]) -> list[tuple[str, int]]:
    """Return names and their rows; those that the model uses win."""
    rows = [(name, row) for row, name in reversed(list(enumerate(wear))) if name]
    used = [(m.name, m.row) for m in reversed(stored.materials)]
    return list(reversed(list(dict([*rows, *used]).items())))


def stated_row(name: str) -> int | None:
    """Return the row in ``material_7``, as the exporter calls a row without a name."""
    number = name.removeprefix("material_")
    return int(number) if number != name and number.isdecimal() and len(number) <= 5 else None


def names_of_rows(names: Iterable[str]) -> list[str]:
    """Return the first row's name of each material, of one row or two; empty where only the exporter names it."""
    first = (name.partition("+")[0] for name in names)
    return ["" if stated_row(name) is not None else name for name in first]


def row_title(row: int, wear: Sequence[str]) -> str:
    """Return what messages call a row."""
    name = wear[row] if row < len(wear) else ""
    return f"row {row}" + (f" ({printable(name)})" if name else "")


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
