"""Find what of a file's materials an import does not apply.

A model has no materials of its own: its batches name rows of the ``.wea``, which is not edited.
Faces can take another of those rows; all else is reported. Faces whose material is not one of the
model's lose it here, so that stored triangles keep what they had.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import plural, printable
from ..formats.names import without_number
from ..formats.terrain import LEVELS
from ..scene.differences import NotApplied
from ..scene.scene import Material, Part, Scene
from .compare_terrain import TerrainPlan
from .identify_nodes import Identified

#: How many names a message lists.
_LISTED = 8


def settle_materials(
    identified: Identified, stored: Scene, wear: Sequence[str]
) -> list[NotApplied]:
    """Give materials their rows, take unknown ones off their faces, and report those.

    Args:
        identified: the file's scene; its materials and primitives are changed in place.
        stored: the sidecar's model.
        wear: material names by row.

    Returns:
        What is renamed, new or missing.
    """
    scene = identified.scene
    known = dict(_rows(stored, wear))
    unknown: set[int] = set()
    for i, material in enumerate(scene.materials):
        row = material.row if material.row >= 0 else _row_of(material.name, known)
        if row is None:
            unknown.add(i)
        elif material.row < 0 and not _is_stored(material, stored):
            scene.materials[i] = material._replace(row=row)
    meshes = {part.mesh for part in scene.parts}
    used = {p.material for mesh in meshes for p in scene.meshes[mesh].primitives if p.index_count}
    out = [
        NotApplied(
            where=f"material {printable(scene.materials[i].name)!r}",
            what="is not one of the model's",
            why="new and renamed materials are not read back: stored faces keep theirs, new ones "
            f"have {_name(0, wear)}",
            instead=f"use {listed(known)}",
        )
        for i in sorted(unknown & used)
    ]
    out += _renamed(scene, stored, used)
    for mesh in meshes:
        primitives = scene.meshes[mesh].primitives
        primitives[:] = [
            p._replace(material=-1) if p.material in unknown else p for p in primitives
        ]
    return out


def faces_without_material(
    identified: Identified, stored: Scene, wear: Sequence[str]
) -> list[NotApplied]:
    """Report faces that have no material in the file; before :func:`settle_materials`."""
    scene = identified.scene
    bare = [(part, _bare_faces(scene, part)) for part in scene.parts]
    bare = [(part, count) for part, count in bare if count]
    if bare and not scene.materials and stored.materials:
        return [_left_out(f"stored faces keep theirs, new ones have {_name(0, wear)}")]
    cells = {(part.node, part.lod, part.group) for part in stored.parts}
    out = []
    for part, count in bare:
        old = identified.stored_of.get(part.node)
        is_new = (old, part.lod, part.group) not in cells
        out.append(
            NotApplied(
                where=f"part {printable(scene.nodes[part.node].name)!r} lod {part.lod} group "
                f"{part.group}",
                what=f"has {plural(count, 'triangle')} without a material",
                why="every triangle of a model has one: "
                + (f"these have {_name(0, wear)}" if is_new else "stored ones keep theirs"),
                instead=f"assign {listed(dict(_rows(stored, wear)))}",
            )
        )
    return out


def new_faces_without_material(identified: Identified, wear: Sequence[str]) -> list[NotApplied]:
    """Report parts of a new model that have faces without a material, and the row they have."""
    scene = identified.scene
    bare = [(part, count) for part in scene.parts if (count := _bare_faces(scene, part))]
    return [
        NotApplied(
            where=f"part {printable(scene.nodes[part.node].name)!r} lod {part.lod} group "
            f"{part.group}",
            what=f"has {plural(count, 'triangle')} without a material",
            why=f"every triangle of a model has one: these have {_name(0, wear)}",
            instead="assign one named as in Material.lib",
        )
        for part, count in bare
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


def _rows(stored: Scene, wear: Sequence[str]) -> list[tuple[str, int]]:
    """Names and their rows; those that the model uses win."""
    rows = [(name, row) for row, name in reversed(list(enumerate(wear))) if name]
    used = [(m.name, m.row) for m in reversed(stored.materials)]
    return list(reversed(list(dict([*rows, *used]).items())))


def stated_row(name: str) -> int | None:
    """Return the row in ``material_7``, as the exporter calls a row without a name."""
    number = name.removeprefix("material_")
    return int(number) if number != name and number.isdecimal() and len(number) <= 5 else None


def _row_of(name: str, known: dict[str, int]) -> int | None:
    for candidate in (name, without_number(name)):
        if candidate in known:
            return known[candidate]
        if (row := stated_row(candidate)) is not None:
            return row
    return None


def _is_stored(material: Material, stored: Scene) -> bool:
    """Whether a material is found by its name among those that the model uses."""
    names = {old.name for old in stored.materials}
    return bool({material.name, without_number(material.name)} & names)


def _renamed(scene: Scene, stored: Scene, used: set[int]) -> list[NotApplied]:
    """Materials whose extras are those of another name."""
    old = {material.key: material for material in stored.materials}
    out = []
    for i in sorted(used - {-1}):
        material = scene.materials[i]
        before = old.get(material.key)
        if before is None or before.name in (material.name, without_number(material.name)):
            continue
        out.append(
            NotApplied(
                where=f"material {printable(material.name)!r}",
                what=f"is {printable(before.name)!r} under another name",
                why=f"its custom properties say row {before.row}, and names are not read back",
                instead=f"rename row {before.row} in the model's .wea, or assign another material",
            )
        )
    return out


def _bare_faces(scene: Scene, part: Part) -> int:
    return sum(p.index_count // 3 for p in scene.meshes[part.mesh].primitives if p.material < 0)


def _name(row: int, wear: Sequence[str]) -> str:
    name = wear[row] if row < len(wear) else ""
    return f"row {row}" + (f" ({printable(name)})" if name else "")
