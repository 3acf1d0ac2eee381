"""Apply what an edited file changes of a mission."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from ..errors import printable
from ..formats.mission import Mission
from ..options import ImportOptions
from ..scene.assembly import Pose
from ..scene.scene import ImportedScene
from .compare_markers import edit_markers
from .compare_objects import edit_objects
from .placed_nodes import Asset, MissionEdit
from .typed_properties import mission_extras, take_typed


def edit_mission(
    given: ImportedScene,
    stored: Mission,
    known: Mapping[str, Asset],
    hosted: Mapping[int, Pose],
    left_out: frozenset[int],
    options: ImportOptions,
) -> MissionEdit:
    """Return a mission with the edits of a file; what is not edited is that of the sidecar.

    Args:
        given: the file.
        stored: the mission of the sidecar.
        known: what can be placed, by its name, path or key in lower case.
        hosted: where the file was made to show objects that start in a building, by row.
        left_out: rows that it was made without.
        options: whether objects are deleted even where none is left.

    Raises:
        ConversionError: an object of something that nothing is known of.
    """
    mission = copy(stored)
    mission.clans = [*stored.clans]
    edit = MissionEdit(given, stored, mission, known, hosted, left_out, options)
    edit.not_applied += take_typed(given.nodes, mission_extras(stored), "path", known)
    edit_objects(edit)
    edit_markers(edit)
    _report_loose(edit)
    _report_head(edit)
    return edit


def _report_loose(edit: MissionEdit) -> None:
    """Report components that are below no object."""
    nodes = edit.given.nodes
    for i in edit.of_kind("component"):
        above = nodes[i].parent
        while above >= 0 and nodes[above].extras.get("kind") not in ("object", "unit"):
            above = nodes[above].parent
        if above < 0:
            edit.refuse(
                f"node {printable(nodes[i].name)!r}",
                "is below no object",
                "a mission places objects, not their components",
                "delete it, or parent it to its object; copy the object's own node for one more",
            )


def _report_head(edit: MissionEdit) -> None:
    """Report what differs of the scene's own properties: the level, and the list of clans."""
    stored, info = edit.stored, edit.given.info
    clans = "\n".join(clan.title for clan in stored.clans)
    why = "objects, routes, zones and lodes are edited through glTF, the level and the clans are not"
    for name, before, after in (
        ("map", stored.map, info.get("map", stored.map)),
        ("clans", clans, info.get("clans", clans)),
    ):
        if after != before:
            what = f"property {name!r} of the scene became {printable(str(after))!r}"
            edit.refuse("mission", what, why, "edit data.tma with the Python library")
