"""Find which ground of a terrain an edit is about: of the two that a pair shows, and of microtextures.

A material of a terrain is a ground, a row of ``Land1.wea``, or a pair of two that blend. A pair shows the
colour of its first ground, and both pictures, mixed; the same row of ``Land2.wea`` names the microtexture of a
ground, which glTF states in the material's extras (docs/levels.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..errors import called, few, in_words, printable
from ..findings import Subject
from ..formats.gltf import FilePicture, Surface
from ..formats.library import MATERIALS, LibraryEntry, entry_key
from ..formats.names import known_name
from ..formats.terrain import NO_MATERIAL
from ..formats.wear import is_material_name
from ..scene.decode import MaterialPair
from ..scene.scene import ImportedScene
from .looks import OF_TWO, SurfaceEdits
from .material_rows import NO_NAME, TerrainWearEdit

#: How many materials a line names.
_NAMED = 3


def settle_pairs(
    found: SurfaceEdits,
    surfaces: Sequence[Surface[FilePicture]],
    pairs: Sequence[MaterialPair],
    choices: Sequence[set[int]],
    used: set[int],
    entries: Sequence[LibraryEntry],
) -> set[str]:
    """Give edits of pairs to the ground that they are about, and name what else shows it.

    That is the second one where the material's extras name it, or where it was changed alike and the
    first one stands unchanged elsewhere in the file.

    Returns:
        The grounds that change, by their names in ``Land1.wea``.
    """
    changed: set[str] = set()
    named: set[str] = set()
    known = {entry.key: entry for entry in entries}
    pair_of = {i: pairs[found.origins.get(i, min(choices[i]))] for i in used if i < len(choices) and choices[i]}
    shows: dict[int, list[int]] = {}
    for i, pair in sorted(pair_of.items()):
        shows.setdefault(pair.first, []).append(i)
    for i in sorted(found.library.keys() & pair_of.keys()):
        pair = pair_of[i]
        grounds = pair.name.split("+")
        changed.add(grounds[0])
        own = [edit for edit in found.library[i] if edit.entry.library == MATERIALS]
        if len(own) < len(found.library[i]):  # a picture, which either may show
            changed.update(grounds)
        if not own:
            continue
        still = [k for k in shows[pair.first] if k not in found.library]
        second = known.get(entry_key(MATERIALS, grounds[-1])) if pair.second != NO_MATERIAL else None
        stated, first = surfaces[i].definition.lower(), own[0].entry.name
        values = [edit.values for k in shows.get(pair.second, []) for edit in found.library.get(k, [])]
        alike = bool(still) and all(edit.values in values for edit in own)
        if second is not None and (alike or stated == second.name.lower() != first.lower()):
            changed.add(grounds[1])
            before, after = OF_TWO.format(printable(first), "first"), OF_TWO.format(printable(second.name), "second")
            found.library[i] = [
                replace(edit, entry=second, what=edit.what.replace(before, after)) if edit in own else edit
                for edit in found.library[i]
            ]
        elif still and first not in named:
            named.add(first)
            found.report.warnings.append(
                f"material {called(pair.name)}: {printable(first)} changes everywhere, and the file shows it "
                f"as it was in {few([printable(pair_of[k].name) for k in still], _NAMED)}"
            )
    return changed


def settle_microtextures(
    wear: TerrainWearEdit,
    edited: ImportedScene,
    pairs: Sequence[MaterialPair],
    used: Mapping[int, tuple[int, int]],
    locked: str,
) -> None:
    """Rename the microtextures that all materials of a row state by one new name; report the others.

    Args:
        wear: what changes of ``Land1.wea`` and ``Land2.wea``; its ``micro`` and report grow.
        used: materials of the file that faces have, and the rows that their extras stated.
        locked: why ``Land2.wea`` cannot be changed, if so.
    """
    stored = {(pair.first, pair.second): pair for pair in pairs}
    stated: dict[int, dict[str, str]] = {}
    before: dict[int, str] = {}
    for i, rows in sorted(used.items()):
        pair, name = stored.get(rows), edited.materials[i].name
        if pair is None or known_name(name.casefold(), pair.name.casefold().__eq__) != pair.name.casefold():
            continue  # it has other rows now
        extras = edited.material_extras[i]
        for row, own, text in (
            (pair.first, pair.micro, extras.get("microtexture")),
            (pair.second, pair.micro2, extras.get("microtexture2")),
        ):
            if row != NO_MATERIAL and text is not None:
                before[row] = own
                stated.setdefault(row, {}).setdefault(text, name)
    for row, texts in sorted(stated.items()):
        new = sorted(texts.keys() - {before[row]})
        for text in new:
            where, what = Subject("material", texts[text]), f"microtexture {in_words(before[row])} became "
            why = locked or ("" if is_material_name(text) else NO_NAME)
            if not why and len(texts) > 1:
                others = ", ".join(called(other) for other in sorted(texts.keys() - {text}))
                why = f"all materials of row {row} have one microtexture, and others state {others}"
            if why:
                wear.report.skipped(where, f"{what}{in_words(text)}", why, "change it in all of them, or in none")
            else:
                wear.micro[row] = text
                wear.report.changed(f"row {row} of Land2.wea", f"{in_words(before[row])} became {in_words(text)}")
