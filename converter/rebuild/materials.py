"""Turn materials of a glTF into batch words and WEAR rows (docs/reference/model.md, Res13)."""

from __future__ import annotations

from itertools import count

import numpy as np
from numpy.typing import NDArray

from ..edits.compare_materials import stated_row
from ..edits.new_materials import materials_in_use
from ..edits.plan import Plan
from ..errors import ConversionError, printable
from ..findings import Report
from ..formats.material import DEFAULT_MATERIAL
from ..formats.model import BATCH_LIGHTMAP, NO_LIGHTMAP
from ..formats.names import without_number
from ..formats.nres import NAME_SIZE
from ..formats.wear import is_material_name
from ..numeric.arrays import NONE16
from ..scene.dialect import Dialect, last_row
from ..scene.scene import Material, Scene


def material_words(material: Material | None, dialect: Dialect) -> tuple[int, int, int, int]:
    """Return the batch words +0, +2, +4, +6 of a material.

    What its extras give wins; the rest follows from row and lightmap row.
    """
    row = max(0, material.row) if material is not None else 0
    light = NO_LIGHTMAP
    if material is not None and 0 <= material.lightmap < NO_LIGHTMAP:
        light = material.lightmap
    if row > (most := last_row(dialect)):
        raise ConversionError(f"material row does not fit {dialect.value}", value=row, expected=f"0..{most}")
    if dialect is Dialect.RETAIL:
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
    materials: list[Material], plan: Plan | None, stored: Scene | None, dialect: Dialect
) -> NDArray[np.uint16]:
    """Return the batch words of each material of the file, (M + 1, 4); the last row is none."""
    rows: list[tuple[int, int, int, int]] = []
    if stored is None:
        materials = new_rows(materials)
    for i, material in enumerate(materials):
        same = plan.materials[i] if plan is not None else set()
        if -1 in material.key and same and stored is not None:
            material = stored.materials[min(same)]
        rows.append(material_words(material, dialect))
    rows.append(material_words(None, dialect))
    return np.array(rows, np.uint16).reshape(-1, 4)


def stored_choices(
    materials: list[Material], plan: Plan, stored: Scene | None, dialect: Dialect
) -> list[set[tuple[int, ...]]]:
    """Return the words that each material may have that lost its extras, else none."""
    if stored is None:
        return []
    return [
        {material_words(stored.materials[k], dialect) for k in plan.materials[i]} if -1 in material.key else set()
        for i, material in enumerate(materials)
    ]


def new_rows(materials: list[Material]) -> list[Material]:
    """Return the materials of a file that has no sidecar, each with its row.

    A row in the extras stands, unless a material before has it under another name, and
    ``material_7`` is row 7. The others take the rows that are left, in order of appearance: one for
    each name (Blender's ``.001`` does not count, nor does case), one for each material without a
    name. A name that has a row already keeps to it.
    """
    rows: dict[str | int, int] = {}
    owners: dict[int, str] = {}
    out = []
    for material in materials:
        bare = without_number(material.name)
        row = material.row if material.row >= 0 else stated_row(bare)
        name = bare.casefold()
        if row is not None and name and owners.setdefault(row, name) != name:
            material = material._replace(row=-1)  # one of its row was renamed
        elif row is not None:
            rows.setdefault(name, row)
        out.append(material)
    taken = {*rows.values(), *(material.row for material in out)}
    free = (row for row in count() if row not in taken)
    for i, material in enumerate(out):
        if material.row < 0:
            key = without_number(material.name).casefold() or i
            if key not in rows:
                rows[key] = next(free)
            out[i] = material._replace(row=rows[key])
    return out


def wear_rows(scene: Scene, report: Report) -> list[str]:
    """Return the WEAR rows of a new model; warn of names that they cannot have.

    A row is called like its first material. Rows that no material names are ``DEFAULT``, which is
    what the game shows for an unknown name; so is a name that no ``Material.lib`` can hold.

    Args:
        scene: whose materials :func:`new_rows` gave the batches their rows.
        report: of the import.
    """
    materials = new_rows(scene.materials)
    used = materials_in_use(scene)
    names: dict[int, str] = {}
    for i in sorted(used):
        material = materials[i] if i >= 0 else None
        row = 0 if material is None else material.row
        name = "" if material is None else without_number(material.name)
        if row in names or not name:
            continue
        if is_material_name(name):
            names[row] = name
        else:
            report.warnings.append(
                f"material {printable(name)!r} cannot be a name in Material.lib (one line of 1 to "
                f"{NAME_SIZE - 1} bytes of CP1251): row {row} of the .wea is {DEFAULT_MATERIAL}"
            )
    rows = {0, *(materials[i].row for i in used if i >= 0)}
    if any(0 <= materials[i].lightmap < NO_LIGHTMAP for i in used if i >= 0):
        report.warnings.append("the names of its lightmaps are not in the file: the .wea has no LIGHTMAPS")
    return [names.get(row, DEFAULT_MATERIAL) for row in range(max(rows) + 1)]
