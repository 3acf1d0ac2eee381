"""Models that are placed together: units and missions. Format-neutral, game axes.

``kinds.missions`` makes the assembly of a mission, ``kinds.placed_models`` that of a unit (``formats.objects``
says which components are seen), ``exporters.gltf`` writes it. A model is there once, however often
it is placed.

What the glTF of a unit or mission shows besides its records, so that edits of it are noticed.

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
from dataclasses import dataclass, field

import numpy as np

from ..formats.mission import FLOAT, Mission, PlacedObject, Property
from ..formats.names import stem
from ..formats.objects import Unit
from ..numeric.arrays import F32, F64
from ..numeric.pose import multiply, rotate
from .appearance import Appearance
from .companions import PlayedRange
from .decode import TerrainScene, unique_label
from .extras import NodeExtras, SourceExtras
from .scene import Scene

_IDENTITY = (1.0, 0.0, 0.0, 0.0)
#: The longest name of a custom property in Blender, bytes of UTF-8.
_MAX_NAME = 63


@dataclass(frozen=True)
class Pose:
    """A place: scaled, then turned, then moved.

    Attributes:
        rotation: (4,) float64, unit, textbook sense, ``[w, x, y, z]``.
        scale: (3,) float64.
    """

    translation: F64 = field(default_factory=lambda: np.zeros(3))
    rotation: F64 = field(default_factory=lambda: np.array(_IDENTITY))
    scale: F64 = field(default_factory=lambda: np.ones(3))

    def inverse(self) -> Pose:
        """Return the place that takes this one back; scale must be 1."""
        turned = self.rotation * [1.0, -1.0, -1.0, -1.0]
        return Pose(-rotate(turned, self.translation), turned)

    def apply(self, point: F64) -> F64:
        """Return a point of this place's frame in the frame around it. (3,) -> (3,)."""
        moved: F64 = rotate(self.rotation, point * self.scale) + self.translation
        return moved


@dataclass(frozen=True)
class AssembledModel:
    """A model with the materials that its object has.

    Attributes:
        scene: the model; what a single model's default scene shows of it is shown.
        appearance: its materials and textures; ``None``: a colour for each row.
        played: what its controller plays, which the nodes that place it state.
        ranges: of its clip, each of which may be an animation of its own, too.
    """

    scene: Scene
    appearance: Appearance | None = None
    played: SourceExtras = field(default_factory=SourceExtras)
    ranges: Sequence[PlayedRange] = ()


@dataclass
class Placement:
    """A node of the assembly; below it are the nodes of its model.

    Attributes:
        parent: the placement that it is below, -1 = none; earlier in the list.
        socket: node of the parent's model that it is below; ``None``: the parent itself.
        model: row of ``Assembly.models``; ``None``: it shows nothing.
        pose: relative to what it is below.
    """

    name: str
    extras: NodeExtras
    parent: int = -1
    socket: int | None = None
    model: int | None = None
    pose: Pose = field(default_factory=Pose)


@dataclass
class Marker:
    """A thing of a mission that is not an object: an empty, or lines.

    Attributes:
        outline: (n, 3) float32 corners of a closed outline; ``None``: it is an empty.
    """

    name: str
    extras: NodeExtras
    pose: Pose = field(default_factory=Pose)
    outline: F32 | None = None


@dataclass
class Assembly:
    """Models and where they are placed.

    Attributes:
        models: each once.
        placements: parents first.
        terrain: the ground, and how it looks; ``None``: there is none.
        markers: further scenes, by name.
    """

    name: str
    models: list[AssembledModel] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    terrain: tuple[TerrainScene, Appearance | None] | None = None
    markers: dict[str, list[Marker]] = field(default_factory=dict)


def root_pose(scene: Scene) -> Pose:
    """Return the rest pose of a model's first node, which a mounted part is placed by."""
    if not scene.nodes:
        return Pose()
    node = scene.nodes[0]
    return Pose(node.translation.astype(np.float64), node.rotation)


def turned(turns: Sequence[float]) -> F64:
    """Return the rotation of a placed object, ``[w, x, y, z]``.

    Args:
        turns: about x, y and z in radians, applied in this order (docs/reference/mission.md).
    """
    out = np.array(_IDENTITY)
    for axis, angle in enumerate(turns):
        step = np.zeros(4)
        step[0], step[1 + axis] = np.cos(angle / 2), np.sin(angle / 2)
        out = multiply(step, out)
    return out


def property_labels(properties: Sequence[Property]) -> list[str]:
    """Return the keys under which the extras of an object have its properties.

    Their names; ``name#2`` where a name was there already, and ``property_{row}`` where Blender
    could not keep the name: it is empty, or longer than 63 bytes.
    """
    taken: dict[str, int] = {}
    out = []
    for row, each in enumerate(properties):
        name = each.title
        if not 0 < len(name.encode()) <= _MAX_NAME - 4:
            name = f"property_{row}"
        out.append(unique_label(name, taken))
    return out


def property_values(properties: Sequence[Property]) -> dict[str, float | int | str]:
    """Return the properties of an object as its extras have them.

    A number that JSON lacks (infinity, NaN), or of an unknown type, is its word as text.
    """
    values: dict[str, float | int | str] = {}
    for label, each in zip(property_labels(properties), properties, strict=True):
        known = each.type <= 1 and (each.type != FLOAT or np.isfinite(each.number))
        values[label] = each.number if known else f"{each.value:#x}"
    return values


def stored_pose(placed: PlacedObject) -> Pose:
    """Return the place of an object that its record has."""
    record = placed.record
    position, scale = record["position"].astype(np.float64), np.array(placed.scale)
    return Pose(position, turned(record["turns"].tolist()), scale)


def object_label(placed: PlacedObject) -> str:
    """Return what the node of an object is called: its name, else its key or its file's stem."""
    if placed.title:
        return placed.title
    name = placed.reference.replace("\\", "/").rpartition("/")[2]
    return (stem(name) if placed.is_assembly else name) or "object"


def object_extras(placed: PlacedObject, row: int, hosted: bool = False) -> NodeExtras:
    """Return ``extras.msh`` of an object; ``hosted``: it stands in its building."""
    record = placed.record
    values = NodeExtras(
        kind="object",
        index=row,
        object_kind=placed.kind,
        path=placed.reference,
        clan=int(record["clan"]),
        logical_id=placed.logical_id,
        start=int(record["start"]),
        host=int(record["host"]),
        vertex=int(record["vertex"]),
    )
    if hosted:
        values["hosted"] = 1
    if placed.properties:
        values["properties"] = property_values(placed.properties)
    return values


def component_extras(unit: Unit, row: int) -> NodeExtras:
    """Return ``extras.msh`` of a component."""
    values = NodeExtras(kind="component", index=row, key=unit.key(row), attach=unit.attach(row))
    values["class"], values["label"] = unit.part_class(row), unit.label(row)
    return values


def markers(mission: Mission) -> dict[str, list[Marker]]:
    """Return what the further scenes of a mission show, by their names."""
    return {"routes": _routes(mission), "zones": _zones(mission), "lodes": _lodes(mission)}


def _routes(mission: Mission) -> list[Marker]:
    return [
        Marker(f"route_{route.id}", NodeExtras(kind="route", index=row, route=route.id), outline=route.points)
        for row, route in enumerate(mission.routes)
    ]


def _zones(mission: Mission) -> list[Marker]:
    out = []
    for row, clan in enumerate(mission.clans):
        for number, zone in enumerate(clan.zones):
            extras = NodeExtras(kind="zone", clan=row, index=number, inner=float(zone["inner"]))
            centre = zone["centre"].astype(np.float64)
            pose = Pose(centre, scale=np.full(3, float(zone["outer"])))
            out.append(Marker(f"{clan.title or row}.zone_{number}", extras, pose))
    return out


def _lodes(mission: Mission) -> list[Marker]:
    out = []
    for row, lode in enumerate(mission.lodes):
        extras = NodeExtras(kind="lode", index=row, amount=float(lode["amount"]))
        extras["type"], extras["found"] = int(lode["type"]), int(lode["found"])
        out.append(Marker(f"lode_{row}", extras, Pose(lode["position"].astype(np.float64))))
    return out


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
