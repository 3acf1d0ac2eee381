"""Show control points in a scene, and recognise them among the nodes of a glTF file."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from ..findings import Finding
from ..formats.control_points import POINTS_SIZE, ControlPoint, ControlPoints, misplaced, read_points
from ..formats.names import without_number
from .scene import ImportedNode, Scene

_POINT_NAME = re.compile(r"(?P<name>.+)\.point(#[0-9]+)*")


def shown_points(points: ControlPoints, scene: Scene) -> tuple[list[ControlPoint], list[Finding]]:
    """Return the points that have a place in a scene, by row, and a warning where some have none.

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
        words = int(record["opaque0"]), int(record["second"])
        shown.append(ControlPoint(label, row, node, (x, y, z), (across, along, up), *words))
    findings = list(wrong.values())[:1]
    if len(wrong) > 1:
        more = f"{findings[0].problem}, and {len(wrong) - 1} more"
        findings = [replace(findings[0], problem=more)]
    return shown, findings


def points_in(scene: Scene, data: bytes) -> tuple[list[ControlPoint], list[Finding]]:
    """The control points of a model that have a place in its scene, and findings about the others.

    A broken ``.cpt`` is a warning too: the model is whole without it.

    Args:
        scene: the model.
        data: its ``.cpt``.
    """
    try:
        points = read_points(data, f"{scene.name}.cpt")
    except ConversionError as error:
        return [], [Finding(POINTS_SIZE, str(error))]
    return shown_points(points, scene)


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


def length_of(direction: Sequence[float]) -> float:
    """Return the length of a direction."""
    return float(np.linalg.norm(np.array(direction, np.float64)))


def rotation_of(direction: Sequence[float]) -> NDArray[np.float64]:
    """Return the shortest rotation that takes up (z) to a direction, ``[w, x, y, z]``.

    Of a direction without length: none.
    """
    length = length_of(direction)
    x, y, z = np.array(direction, np.float64) / length if length > 0 else (0.0, 0.0, 1.0)
    if z < -1 + 1e-9:  # straight down: half a turn about x
        return np.array([0.0, 1.0, 0.0, 0.0])
    whole = np.array([1 + z, -y, x, 0.0])
    return np.asarray(whole / np.linalg.norm(whole))


def name_of(item: ImportedNode) -> str:
    """Return a control point's name: without ``.point``, and what made it unique."""
    bare = without_number(item.name)
    found = _POINT_NAME.fullmatch(bare)
    return found["name"] if found else bare
