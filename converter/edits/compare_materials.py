"""Find faces without a material, colours without a table, the rows that names of materials mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import plural, printable
from ..findings import NotApplied
from ..formats.terrain import LEVELS
from ..scene.scene import ImportedScene, Part, Scene
from .identify_nodes import Identified

if TYPE_CHECKING:
    from .compare_terrain import TerrainPlan

#: How many names a message lists.
_LISTED = 8


def faces_without_material(identified: Identified, stored: Scene, wear: Sequence[str]) -> list[NotApplied]:
    """Report faces that have no material in the file; before ``material_rows.settle_materials``."""
    scene = identified.scene
    bare = [(part, _bare_faces(scene, part)) for part in scene.parts]
    bare = [(part, count) for part, count in bare if count]
    if bare and not scene.materials and stored.materials:
        return [_left_out(f"stored faces keep theirs, new ones have {row_title(0, wear)}")]
    cells = {(part.node, part.lod, part.group) for part in stored.parts}
    out = []
    for part, count in bare:
        old = identified.stored_of.get(part.node)
        is_new = (old, part.lod, part.group) not in cells
        out.append(
            NotApplied(
                where=f"part {printable(scene.nodes[part.node].name)!r} lod {part.lod} group {part.group}",
                what=f"has {plural(count, 'triangle')} without a material",
                why="every triangle of a model has one: "
                + (f"these have {row_title(0, wear)}" if is_new else "stored ones keep theirs"),
                instead=f"assign {listed(dict(rows_by_name(stored, wear)))}",
            )
        )
    return out


def new_faces_without_material(identified: Identified, wear: Sequence[str]) -> list[NotApplied]:
    """Report parts of a new model that have faces without a material, and the row they have."""
    scene = identified.scene
    bare = [(part, count) for part in scene.parts if (count := _bare_faces(scene, part))]
    return [
        NotApplied(
            where=f"part {printable(scene.nodes[part.node].name)!r} lod {part.lod} group {part.group}",
            what=f"has {plural(count, 'triangle')} without a material",
            why=f"every triangle of a model has one: these have {row_title(0, wear)}",
            instead="assign one named as in Material.lib",
        )
        for part, count in bare
    ]


def colours_without_table(given: ImportedScene) -> list[NotApplied]:
    """Report vertex colours of a model that has no table for them; white ones show nothing."""
    colours = given.streams.colours
    if colours is None or (colours == np.uint8(255)).all():
        return []
    return [
        NotApplied(
            where="vertex colours",
            what="are in the file",
            why="the model has no table for them",
            instead="use the colour or the picture of a material",
        )
    ]


def terrain_faces_without_material(plan: TerrainPlan) -> list[NotApplied]:
    """Report stored faces of a terrain that have no material in the file."""
    keep = "stored faces keep theirs"
    out = []
    for level, found in sorted(plan.levels.items()):
        if count := int((found.edited.triangles.material[found.new] < 0).sum()):
            if not plan.materials:
                return [_left_out(keep)]
            out.append(
                NotApplied(
                    where=f"{LEVELS[level]} level",
                    what=f"has {plural(count, 'triangle')} without a material",
                    why=f"every face of a terrain has one: {keep}",
                    instead="assign one of the terrain's materials",
                )
            )
    return out


def _left_out(keep: str) -> NotApplied:
    return NotApplied(
        where="materials",
        what="are not in the file",
        why=f"Materials is set to No export or Placeholder in Blender's glTF exporter: {keep}",
        instead="set Materials to Export, and export again",
    )


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


def _bare_faces(scene: Scene, part: Part) -> int:
    return sum(p.index_count // 3 for p in scene.meshes[part.mesh].primitives if p.material < 0)


def row_title(row: int, wear: Sequence[str]) -> str:
    """Return what messages call a row."""
    name = wear[row] if row < len(wear) else ""
    return f"row {row}" + (f" ({printable(name)})" if name else "")
