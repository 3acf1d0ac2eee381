"""Give a model materials of its own, instead of changes of those that others use (docs/materials.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import printable
from ..formats.gltf import ShownPicture, Surface
from ..formats.library import MATERIALS, TEXTURES, LibraryEdit, LibraryEntry, NewPicture, entry_key
from ..formats.names import decode_text, encode_name
from ..formats.nres import NAME_SIZE
from .looks import SurfaceEdits
from .material_rows import WearEdit
from .new_materials import NewMaterial


def own_materials(
    found: SurfaceEdits,
    wear: WearEdit,
    *,
    model: str,
    names: Sequence[str],
    rows: Sequence[int],
    shown: Sequence[Surface[ShownPicture]],
    entries: Sequence[LibraryEntry],
    file: str = ".wea",
) -> None:
    """Turn edits of the game's entries into new materials, and name these in the ``.wea``.

    Materials of one row that contradict each other stay edits, which are then reported.

    Args:
        found: what materials show otherwise; its edits become new materials.
        wear: what changes of the ``.wea``; it gets their names.
        model: the model's name, which theirs end with.
        names: of the ``.wea`` by row.
        rows: per stored material its row.
        shown: what the stored materials showed.
        entries: what of the game's libraries they showed.
        file: what messages call the ``.wea``.
    """
    known = {entry.key: entry for entry in entries}
    groups: dict[int, list[int]] = {}
    for i, k in found.origins.items():
        if rows[k] < len(names) and rows[k] not in wear.names:
            groups.setdefault(rows[k], []).append(i)
    for row, group in groups.items():
        edits = [edit for i in group for edit in found.library[i]]
        base = known.get(entry_key(MATERIALS, shown[found.origins[group[0]]].definition))
        if base is None or not _agree(edits):
            continue
        values: dict[str, bytes] = {}
        picture = None
        for edit in edits:
            if edit.entry.library == TEXTURES:
                assert edit.rgba is not None
                digest = edit.values["pixels"]
                picture = NewPicture(edit.entry.name, digest.decode(), edit.rgba)
                values["picture"] = digest
            else:
                picture = edit.picture or picture
                values |= edit.values
        name = own_name(names[row], model)
        what = ", ".join(dict.fromkeys(edit.what for edit in edits))
        where = edits[0].where
        found.new.append(NewMaterial(name, where, what, base.name, base, values, picture, certain=True))
        wear.names[row] = name
        wear.new_materials.append((name, names[row]))
        text = f"{printable(names[row])!r} became {printable(name)!r}, a copy for this model"
        wear.report.changed(f"row {row} of the {file}", text)
        for i in group:
            del found.library[i]


def own_name(name: str, model: str) -> str:
    """Return the name of a model's own copy of a material, as long as an entry's may be."""
    tail = encode_name(f"_{model}")[: NAME_SIZE // 2]
    return decode_text(encode_name(name)[: NAME_SIZE - 1 - len(tail)] + tail)


def _agree(edits: Sequence[LibraryEdit]) -> bool:
    values: dict[tuple[tuple[str, str], str], bytes] = {}
    for edit in edits:
        named: Mapping[str, bytes] = edit.values
        for name, value in named.items():
            if values.setdefault((edit.entry.key, name), value) != value:
                return False
    return True
