"""How the objects of a mission and the components of a unit are shown: names, places, extras.

The export writes them, the import compares a file with them (docs/reference/gltf.md).
"""

from __future__ import annotations

import numpy as np

from ..formats.mission import Mission, PlacedObject
from ..formats.names import stem
from ..formats.unit import Unit
from .assembly import Marker, Pose, property_values, turned
from .extras import NodeExtras


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


def object_extras(placed: PlacedObject, row: int, hosted: bool) -> NodeExtras:
    """Return ``extras.msh`` of an object."""
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
