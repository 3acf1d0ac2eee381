"""Report what a terrain's file has besides its faces: a terrain has no place for it."""

from __future__ import annotations

from ..errors import plural, printable
from ..findings import Report
from ..formats.names import without_number
from ..formats.terrain import COARSE, FINE, LEVELS, Terrain
from ..scene.scene import ImportedScene
from ..scene.terrain import TerrainScene
from .compare_terrain import TerrainPlan

#: Names of the objects of the two levels.
_NAMES = ("terrain", "coarse")


def compare_terrain_objects(
    plan: TerrainPlan, edited: ImportedScene, terrain: Terrain, scene: TerrainScene, *, visible_only: bool
) -> None:
    """Report the differences of objects, materials and clips, which are not applied.

    Args:
        plan: of the same file.
        edited: the file.
        terrain: the sidecar's terrain.
        scene: its decoded scene.
        visible_only: whether the coarse level was not exported.
    """
    _report_levels(plan, terrain, visible_only)
    _report_objects(plan.report, edited)
    _report_clips(plan.report, edited)


def _report_levels(plan: TerrainPlan, terrain: Terrain, visible_only: bool) -> None:
    if COARSE not in plan.levels and not visible_only and len(terrain.faces_of(COARSE)):
        plan.report.skipped(
            "coarse level",
            "is missing",
            "a terrain needs both levels: the stored one stays",
            "export the object 'coarse' too (not only visible objects)",
        )
    for level, found in sorted(plan.levels.items()):
        if clamped := found.edited.triangles.clamped:
            plan.report.skipped(
                f"{LEVELS[level]} level",
                f"{plural(clamped, 'texture coordinate')} beyond -32..32 were clamped",
                "a stored coordinate has 16 bits",
                "move the faces' coordinates by whole turns",
            )
        if terrain.blend is None and found.edited.blend is not None:
            plan.report.skipped(
                f"{LEVELS[level]} level",
                "has the attribute _MSH_BLEND",
                "this terrain has no blend table (type 14)",
                "remove the attribute; materials named 'first+second' blend fully",
            )


def _report_objects(report: Report, edited: ImportedScene) -> None:
    """Objects that were renamed, and empty ones."""
    for level in (FINE, COARSE):
        mine = [item for item in edited.nodes if item.extras.get("level") == level]
        names = [without_number(item.name) for item in mine]
        if mine and _NAMES[level] not in names:
            report.skipped(
                f"node {_NAMES[level]!r}",
                f"was renamed to {printable(mine[0].name)!r}",
                "a terrain has no names of objects",
                "name it as before",
            )
    above = {item.parent for item in edited.nodes}
    for i, item in enumerate(edited.nodes):
        if item.mesh < 0 and i not in above:
            report.skipped(
                f"node {printable(item.name)!r}", "is new", "a terrain has no objects without faces", "delete it"
            )


def _report_clips(report: Report, edited: ImportedScene) -> None:
    tracks = [track for clip in edited.clips for track in clip.tracks]
    if tracks:
        report.skipped(
            f"animation of node {printable(edited.nodes[tracks[0].node].name)!r}",
            "is new",
            "a terrain has no animation",
            "delete it",
        )
