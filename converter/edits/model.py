"""Compare a glTF file with the model in its sidecar; the result is a plan for the rebuild.

The unit of change is the slot for geometry, the node for poses, tracks and names, the model for
the header (docs/reference/model.md, What the writer does).

Find what a model had, by what its glTF says, that a rebuild without its sidecar loses.
"""

from __future__ import annotations

import numpy as np

from ..errors import ConversionError, plural, printable
from ..findings import NotApplied
from ..numeric.quantize import colour_of_row
from ..options import ImportOptions
from ..scene.scene import ImportedScene, Node, Scene
from .materials import same_materials
from .new_materials import HARMLESS
from .nodes import Identified
from .plan import Plan, compare_parts
from .poses import PoseChanges


def compare_model(
    identified: Identified,
    stored: Scene,
    poses: PoseChanges,
    *,
    lightmap: bool,
    has_names: bool,
    has_labels: bool,
    only_shown: bool,
    options: ImportOptions,
) -> Plan:
    """Return every difference between a file and the model in its sidecar.

    Args:
        identified: the file's scene, its nodes identified against ``stored``, its parts placed.
        stored: decoded from the sidecar's model.
        poses: what differs in poses.
        lightmap: whether Res18 holds lightmap coordinates.
        has_names: whether the model has a table of node names.
        has_labels: whether it has one of labels.
        only_shown: the file was exported with nothing but the default scene.
        options: whether whatever is missing is deleted.

    Raises:
        ConversionError: more than half of the nodes are missing, and nobody allowed that.
    """
    plan = Plan(identified)
    scene = identified.scene
    plan.materials = same_materials(scene, stored)
    stored_of = identified.stored_of
    for i, node in enumerate(scene.nodes):
        if i in stored_of:
            _node_changes(plan, i, node, stored)
        else:
            plan.report.changed(f"node {printable(node.name)!r}", "is new")
            plan.poses.add(i)
        old = stored.nodes[stored_of[i]] if i in stored_of else None
        if has_names or (old is not None and node.name == old.name):
            _name_changes(plan, i, node, old)
        if has_labels:
            _label_changes(plan, i, node, old)
    present = set(stored_of.values())
    plan.deleted_nodes = [k for k in range(len(stored.nodes)) if k not in present]
    if not options.allow_delete and 2 * len(plan.deleted_nodes) > len(stored.nodes):
        raise _too_many_missing(plan, stored)
    for k in plan.deleted_nodes:
        plan.report.changed(f"node {printable(stored.nodes[k].name)!r}", "is missing")
    compare_parts(plan, stored, lightmap=lightmap, only_shown=only_shown, options=options)
    plan.poses |= poses.nodes
    plan.report.add(poses.report)
    return plan


def _too_many_missing(plan: Plan, stored: Scene) -> ConversionError:
    """The error for a file that shows a small part of the model, most likely by mistake."""
    names = [repr(printable(stored.nodes[k].name)) for k in plan.deleted_nodes[:3]]
    more = ", ..." if len(plan.deleted_nodes) > len(names) else ""
    return ConversionError(
        f"{len(plan.deleted_nodes)} of the model's {plural(len(stored.nodes), 'node')} are missing",
        value=", ".join(names) + more,
        hint="if only selected or visible objects were exported, export everything; --allow-delete deletes them",
    )


def _node_changes(plan: Plan, i: int, node: Node, stored: Scene) -> None:
    identified = plan.identified
    old = stored.nodes[identified.stored_of[i]]
    what = []
    parent = -1 if node.parent < 0 else identified.stored_of.get(node.parent, -2)
    if parent != old.parent:
        above = identified.scene.nodes[node.parent].name if node.parent >= 0 else None
        what.append(f"moved under {printable(above)!r}" if above else "moved to the root")
        plan.parents.add(i)
    if node.flags is not None and node.flags != old.flags:
        what.append(f"flags {old.flags} became {node.flags}")
        plan.flags.add(i)
    plan.report.changed(f"node {printable(old.name)!r}", *what)


def _name_changes(plan: Plan, i: int, node: Node, old: Node | None) -> None:
    if old is not None and node.name != old.name:
        what = f"renamed to {printable(node.name)!r}"
        plan.report.changed(f"node {printable(old.name)!r}", what)
        plan.names.add(i)


def _label_changes(plan: Plan, i: int, node: Node, old: Node | None) -> None:
    if old is not None and node.label != old.label:
        what = f"label {old.label!r} became {node.label!r}"
        plan.report.changed(f"node {printable(old.name)!r}", what)
        plan.labels.add(i)


#: Blender rounds colours by far less.
_COLOUR_NOISE = 1e-3
_INSTEAD = "keep the .msh-sidecar beside the file, or give it with --sidecar PATH"


def refuse_legacy(given: ImportedScene) -> None:
    """Refuse a model of legacy nodes, which would become an ordinary one.

    Raises:
        ConversionError: the file says that it is one.
    """
    if given.info.get("legacy"):
        raise ConversionError(
            "is a model with legacy nodes (stride 24), which needs its sidecar to be rebuilt", hint=_INSTEAD
        )


def lost_without_sidecar(given: ImportedScene) -> list[NotApplied]:
    """Return what a file shows of its model's tables that cannot be rebuilt; warn of the rest.

    Args:
        given: the file; its warnings get a line where an exporter of this project made it.
    """
    if "digest" in given.info or "source" in given.info:
        given.report.warnings.append(
            "rebuilt without the sidecar: unknown tables and words (Res15, Res17, Res20, the last "
            "words of slots) are empty or zero now, whatever the model had"
        )
    paths = [node for node in given.nodes if node.extras.get("kind") == "paths"]
    return _recoloured(given) + [
        NotApplied(
            where=f"interior path graph {printable(node.name)!r}",
            what="is shown, and not in the model",
            why="the file has its lines, not its tables (Res17)",
            instead=_INSTEAD,
        )
        for node in paths
    ]


def _recoloured(given: ImportedScene) -> list[NotApplied]:
    """Materials that were exported in the colour of their row, and look otherwise now."""
    out = []
    for material, extras, surface in zip(given.materials, given.material_extras, given.surfaces, strict=False):
        if material.row < 0 or "material" in extras:  # foreign, or coloured by a game's library
            continue
        shown = (*colour_of_row(material.row), 1.0)
        there = surface.picture is not None or surface.light is not None or {*surface.others} - {*HARMLESS}
        more = there or any(surface.emission) or surface.alpha_mode != "OPAQUE"
        if more or np.abs(np.array(surface.colour) - shown).max() > _COLOUR_NOISE:
            edit = NotApplied(
                where=f"material {printable(material.name)!r}",
                what="has another colour, or a picture, light, alpha or extensions",
                why="a model has but the names of its materials, and no game was at hand",
                instead="keep the .msh-sidecar beside the file, and export with the game at hand",
            )
            out.append(edit)
    return out
