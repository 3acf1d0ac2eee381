"""What the glTF of a unit or mission shows besides its records, so that edits of it are noticed.

A unit or mission places models and does not change them: their sidecars are attached to its own,
which keeps as text by key:

- ``rows``: objects that are shown;
- ``hosted ROW``: where an object stands that starts in a building;
- ``terrain``: the number of the attached terrain;
- ``model KEY``: the number of the attached model of an object key;
- ``component PATH ROW``: a component of a unit of a mission;
- ``bare PATH ROW``: a component that shows nothing, though its key has a model;
- ``clips``: there, if the clips of the models are shown;
- ``material NUMBER``: the name of a material, in the order of the sidecar's ``shown``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from .assembly import Assembly, Pose
from .extras import NodeExtras

#: Key of the number of the attached terrain.
TERRAIN = "terrain"
#: Key that is there if clips are shown.
CLIPS = "clips"


def shown_inside(assembly: Assembly, *, clips: bool) -> dict[str, str]:
    """Return what the export of an assembly shows besides the records.

    Args:
        assembly: what is shown; its models are attached in their order, then its terrain.
        clips: whether the clips of its models are shown.
    """
    out: dict[str, str] = {}
    rows, bare = [], []
    for placement in assembly.placements:
        extras = placement.extras
        if extras.get("kind") == "object":
            rows.append(extras["index"])
            if extras.get("hosted"):
                out[f"hosted {extras['index']}"] = pose_text(placement.pose)
        if placement.model is not None:
            out[f"model {object_key(extras)}"] = str(placement.model)
        owner = placement
        while owner.extras.get("kind") == "component" and owner.parent >= 0:
            owner = assembly.placements[owner.parent]
        if owner is placement:
            continue
        path = object_key(owner.extras)
        if owner.extras.get("kind") == "object":
            out[f"component {path} {extras['index']}"] = component_text(extras)
        if placement.model is None:
            bare.append((f"bare {path} {extras['index']}", f"model {object_key(extras)}"))
    out |= {label: "1" for label, model in bare if model in out}
    if assembly.terrain is not None:
        out[TERRAIN] = str(len(assembly.models))
    if clips:
        out[CLIPS] = "1"
    if rows:
        out["rows"] = " ".join(map(str, rows))
    return out


def object_key(extras: NodeExtras) -> str:
    """Return the key or path of what a node places, in lower case."""
    return str(extras.get("key", extras.get("path", ""))).lower()


def component_text(extras: NodeExtras) -> str:
    """Return what the extras of a component state, as text."""
    return " ".join(str(extras.get(key)) for key in ("key", "class", "attach", "label"))


def material_texts(names: Sequence[str]) -> dict[str, str]:
    """Return the names of a document's materials, by key."""
    return {f"material {i}": name for i, name in enumerate(names)}


def material_names(inside: Mapping[str, str]) -> list[str]:
    """Return the names that :func:`material_texts` states, in order."""
    numbers = itertools.takewhile(lambda i: f"material {i}" in inside, itertools.count())
    return [inside[f"material {i}"] for i in numbers]


def pose_text(pose: Pose) -> str:
    """Return a place without scale as text."""
    return " ".join(f"{value:.9g}" for value in (*pose.translation, *pose.rotation))


def read_pose(text: str) -> Pose | None:
    """Return the place that a text of :func:`pose_text` states; ``None``: it states none."""
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        return None
    if values.shape != (7,) or not np.isfinite(values).all() or not values[3:].any():
        return None
    return Pose(values[:3], values[3:] / np.linalg.norm(values[3:]))


def hosted_places(inside: Mapping[str, str]) -> dict[int, Pose]:
    """Return where objects were shown that start in a building, by row."""
    found = {}
    for key, text in inside.items():
        kind, _, row = key.partition(" ")
        if kind == "hosted" and row.isdecimal() and (pose := read_pose(text)) is not None:
            found[int(row)] = pose
    return found
