"""Find faces without a material, colours without a table, the rows that names of materials mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import plural, printable
from ..findings import Report
from ..formats.terrain import LEVELS
from ..scene.scene import ImportedScene, Part, Scene
from .nodes import Identified

if TYPE_CHECKING:
    from .terrain import TerrainPlan

#: How many names a message lists.
_LISTED = 8


def report_faces_without_material(identified: Identified, stored: Scene, wear: Sequence[str]) -> None:
    """Report faces that have no material in the file; before ``material_rows.settle_materials``."""
    scene = identified.scene
    bare = [(part, _bare_faces(scene, part)) for part in scene.parts]
    bare = [(part, count) for part, count in bare if count]
    if bare and not scene.materials and stored.materials:
        _report_left_out(identified.report, f"stored faces keep theirs, new ones have {row_title(0, wear)}")
        return
    cells = {(part.node, part.lod, part.group) for part in stored.parts}
    for part, count in bare:
        old = identified.stored_of.get(part.node)
        is_new = (old, part.lod, part.group) not in cells
        becomes = f"these have {row_title(0, wear)}" if is_new else "stored ones keep theirs"
        _report_bare(identified, part, count, becomes, f"assign {listed(dict(rows_by_name(stored, wear)))}")


def report_new_faces_without_material(identified: Identified, wear: Sequence[str]) -> None:
    """Report parts of a new model that have faces without a material, and the row they have."""
    scene = identified.scene
    for part in scene.parts:
        if count := _bare_faces(scene, part):
            becomes = f"these have {row_title(0, wear)}"
            _report_bare(identified, part, count, becomes, "assign one named as in Material.lib")


def _report_bare(identified: Identified, part: Part, count: int, becomes: str, instead: str) -> None:
    identified.report.skipped(
        f"part {printable(identified.scene.nodes[part.node].name)!r} lod {part.lod} group {part.group}",
        f"has {plural(count, 'triangle')} without a material",
        f"every triangle of a model has one: {becomes}",
        instead,
    )


def report_colours_without_table(given: ImportedScene) -> None:
    """Report vertex colours of a model that has no table for them; white ones show nothing."""
    colours = given.streams.colours
    windows = (p for mesh in given.meshes for p in mesh.primitives)
    if colours is not None and any(
        (colours[p.vertex_start : p.vertex_start + p.vertex_count] != np.uint8(255)).any() for p in windows
    ):
        given.report.skipped(
            "vertex colours",
            "are in the file",
            "the model has no table for them",
            "use the colour or the picture of a material",
        )


def report_terrain_faces_without_material(plan: TerrainPlan) -> None:
    """Report stored faces of a terrain that have no material in the file."""
    keep = "stored faces keep theirs"
    for level, found in sorted(plan.levels.items()):
        if count := int((found.edited.triangles.material[found.new] < 0).sum()):
            if not plan.materials:
                _report_left_out(plan.report, keep)
                return
            plan.report.skipped(
                f"{LEVELS[level]} level",
                f"has {plural(count, 'triangle')} without a material",
                f"every face of a terrain has one: {keep}",
                "assign one of the terrain's materials",
            )


def _report_left_out(report: Report, keep: str) -> None:
    report.skipped(
        "materials",
        "are not in the file",
        f"Materials is set to No export or Placeholder in Blender's glTF exporter: {keep}",
        "set Materials to Export, and export again",
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
