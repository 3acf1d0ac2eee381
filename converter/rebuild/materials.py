"""Materials of a glTF file to batch words (``rebuild`` page, Vertices and batches, 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.dialect import Dialect
from converter.errors import ConversionError
from converter.merge import Plan
from converter.scene import Material, Scene
from converter.tables import BATCH_LIGHTMAP, NO_LIGHTMAP, NONE16


def material_words(material: Material | None, dialect: Dialect) -> tuple[int, int, int, int]:
    """Batch words +0, +2, +4, +6 of a material (``rebuild`` page, Vertices and batches, 4).

    What its extras give wins; the rest follows from row and lightmap row.
    """
    row = max(0, material.row) if material is not None else 0
    light = NO_LIGHTMAP
    if material is not None and 0 <= material.lightmap < NO_LIGHTMAP:
        light = material.lightmap
    if dialect is Dialect.RETAIL:
        if row > 0xFF:
            raise ConversionError("material row does not fit retail", value=row, expected="0..255")
        flags = BATCH_LIGHTMAP if light != NO_LIGHTMAP else 0
        words = [flags, 0, row | light << 8, NONE16]
    else:
        words = [0, row, 0, 0]
    if material is not None:
        if material.batch_flags >= 0:
            words[0] = material.batch_flags & 0xFFFF
            if dialect is Dialect.RETAIL:
                words[1] = material.batch_flags >> 16 & 0xFFFF
        if material.w6 >= 0:
            words[3] = material.w6
        # a row or lightmap given in the extras wins over the raw word it lives in
        if material.w2 >= 0 and dialect is Dialect.RETAIL and material.batch_flags < 0:
            words[1] = material.w2
        if material.w4 >= 0 and dialect is Dialect.SPEC:
            words[2] = material.w4
    return words[0], words[1], words[2], words[3]


def words_table(
    materials: list[Material], plan: Plan | None, kept: Scene | None, dialect: Dialect
) -> NDArray[np.uint16]:
    """(M + 1, 4) batch words per material of the file; the last row is 'no material'."""
    rows: list[tuple[int, int, int, int]] = []
    next_row = 0
    known: dict[str, int] = {}
    for i, material in enumerate(materials):
        same = plan.materials[i] if plan is not None else set()
        if -1 in material.key and same and kept is not None:
            material = kept.materials[min(same)]
        elif material.row < 0:
            # a stranger: the row of its name in the WEAR, else rows in order of appearance
            if material.name not in known:
                known[material.name] = _row_called(material.name, kept, next_row)
                next_row += 1
            material = material._replace(row=known[material.name])
        rows.append(material_words(material, dialect))
    rows.append(material_words(None, dialect))
    return np.array(rows, np.uint16).reshape(-1, 4)


def stored_choices(
    materials: list[Material], plan: Plan, kept: Scene | None, dialect: Dialect
) -> list[set[tuple[int, ...]]]:
    """Per material of the file that has lost its extras, the words of those it may be."""
    if kept is None:
        return []
    return [
        {material_words(kept.materials[k], dialect) for k in plan.materials[i]}
        if -1 in material.key
        else set()
        for i, material in enumerate(materials)
    ]


def _row_called(name: str, kept: Scene | None, otherwise: int) -> int:
    """A material's row by its name: ``material_7``, or as a kept material is called."""
    if name.startswith("material_") and name[9:].isdecimal():
        return int(name[9:])
    if kept is not None:
        for material in kept.materials:
            if material.name == name:
                return material.row
        return 0
    return otherwise
