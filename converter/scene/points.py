"""Show control points in a scene, and recognise them among the nodes of a glTF file."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

import numpy as np

from ..errors import printable
from ..findings import Finding
from ..formats.control_points import ControlPoint, ControlPoints, misplaced
from ..formats.names import without_number
from .scene import ImportedNode, Scene

_POINT_NAME = re.compile(r".+\.point(#[0-9]+)*")


def shown_points(points: ControlPoints, scene: Scene) -> tuple[list[ControlPoint], list[Finding]]:
    """Return the points that have a place in a scene, by row, and a warning for each without one.

    A point is called ``NAME.point``, with ``#`` and its row where that is taken.
    """
    taken = {node.name for node in scene.nodes}
    wrong, shown = misplaced(points, len(scene.nodes)), []
    for row, record in enumerate(points.records):
        if row in wrong:
            continue
        numbers = np.concatenate([record["position"], record["direction"]])
        name, node = points.name(row), int(record["node"])
        label = f"{name or row}.point"
        while label in taken:
            label += f"#{row}"
        taken.add(label)
        x, y, z, *direction = map(float, numbers)
        across, along, up = direction
        shown.append(ControlPoint(label, row, node, (x, y, z), (across, along, up)))
    return shown, list(wrong.values())


def is_point(item: ImportedNode, nodes: Container[str] = ()) -> bool:
    """Return whether a node of a glTF file is a control point that the exporter showed.

    By its extras; where an editor dropped them, by a name that ends in ``.point``, without a mesh.

    Args:
        item: the node.
        nodes: names of the model's own nodes, as far as they are known.
    """
    if item.extras:
        return item.extras.get("kind") == "point"
    named = _POINT_NAME.fullmatch(without_number(item.name)) is not None
    return named and item.mesh < 0 and item.name not in nodes


def unread_points(
    items: Sequence[ImportedNode],
    about: Sequence[ControlPoint],
    nodes: Container[str],
    noise: float,
) -> list[str]:
    """Return a warning where control points were edited, which are not read back.

    Args:
        items: the nodes of a glTF file.
        about: the points that it was made with.
        nodes: names of the model's own nodes.
        noise: how far a pose may drift on its way through an editor.
    """
    found = [item for item in items if is_point(item, nodes)]
    by_row = {str(item.extras.get("point")): item for item in reversed(found) if item.extras}
    by_name = {without_number(item.name): item for item in reversed(found)}
    by_name |= {item.name: item for item in reversed(found)}
    edited = []
    for point in about:
        item = by_row.get(str(point.row)) or by_name.get(point.name)
        if item is None:
            edited.append(f"{point.name} is gone")
            continue
        if np.abs(item.translation - np.array(point.position)).max() > noise:
            edited.append(f"{point.name} was moved")
    new = len(found) - len(about)
    if new > 0:
        edited.append(f"{new} are new")
    if not edited:
        return []
    more = f" and {len(edited) - 5} more" if len(edited) > 5 else ""
    listed = printable(", ".join(edited[:5]))
    return [f"control points are not read back, the .cpt stays as it is: {listed}{more}"]
