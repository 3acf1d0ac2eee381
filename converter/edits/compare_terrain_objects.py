"""Report what a terrain's file has besides its faces: a terrain has no place for it."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import plural, printable
from ..findings import NotApplied
from ..formats.names import without_number
from ..formats.terrain import COARSE, FINE, LEVELS, Terrain
from ..scene.scene import ImportedScene
from ..scene.terrain import TerrainScene
from .compare_terrain import TerrainPlan

#: Names of the objects of the two levels.
_NAMES = ("terrain", "coarse")


def compare_terrain_objects(
    plan: TerrainPlan, edited: ImportedScene, terrain: Terrain, scene: TerrainScene, *, visible_only: bool
) -> list[NotApplied]:
    """Return the differences of objects, materials and clips that are not applied.

    Args:
        plan: of the same file.
        edited: the file.
        terrain: the sidecar's terrain.
        scene: its decoded scene.
        visible_only: whether the coarse level was not exported.
    """
    return [*_levels(plan, terrain, visible_only), *_objects(edited), *_clips(edited)]


def _levels(plan: TerrainPlan, terrain: Terrain, visible_only: bool) -> Iterator[NotApplied]:
    if COARSE not in plan.levels and not visible_only and len(terrain.faces_of(COARSE)):
        yield NotApplied(
            where="coarse level",
            what="is missing",
            why="a terrain needs both levels: the stored one stays",
            instead="export the object 'coarse' too (not only visible objects)",
        )
    for level, found in sorted(plan.levels.items()):
        if clamped := found.edited.triangles.clamped:
            yield NotApplied(
                where=f"{LEVELS[level]} level",
                what=f"{plural(clamped, 'texture coordinate')} beyond -32..32 were clamped",
                why="a stored coordinate has 16 bits",
                instead="move the faces' coordinates by whole turns",
            )
        if terrain.blend is None and found.edited.blend is not None:
            yield NotApplied(
                where=f"{LEVELS[level]} level",
                what="has the attribute _MSH_BLEND",
                why="this terrain has no blend table (type 14)",
                instead="remove the attribute; materials named 'first+second' blend fully",
            )


def _objects(edited: ImportedScene) -> Iterator[NotApplied]:
    """Objects that were renamed, and empty ones."""
    for level in (FINE, COARSE):
        mine = [item for item in edited.nodes if item.extras.get("level") == level]
        names = [without_number(item.name) for item in mine]
        if mine and _NAMES[level] not in names:
            yield NotApplied(
                where=f"node {_NAMES[level]!r}",
                what=f"was renamed to {printable(mine[0].name)!r}",
                why="a terrain has no names of objects",
                instead="name it as before",
            )
    above = {item.parent for item in edited.nodes}
    for i, item in enumerate(edited.nodes):
        if item.mesh < 0 and i not in above:
            yield NotApplied(
                where=f"node {printable(item.name)!r}",
                what="is new",
                why="a terrain has no objects without faces",
                instead="delete it",
            )


def _clips(edited: ImportedScene) -> Iterator[NotApplied]:
    tracks = [track for clip in edited.clips for track in clip.tracks]
    if tracks:
        yield NotApplied(
            where=f"animation of node {printable(edited.nodes[tracks[0].node].name)!r}",
            what="is new",
            why="a terrain has no animation",
            instead="delete it",
        )
