"""The objects of a glTF document that models are made of, alone and assembled.

What they look like: ``docs/reference/gltf.md``, A core model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.formats.control_points import ControlPoint
from ..converter.formats.gltf import Json
from ..converter.numeric.axes import game_to_gltf, rotation_to_gltf
from ..converter.scene.extras import MaterialExtras, MeshExtras, NodeExtras, to_extras
from ..converter.scene.points import length_of, rotation_of
from ..converter.scene.scene import Channel, Material, Mesh, Node, Track
from .gltf_appearance import Pictures, set_appearance
from .gltf_file import Builder, row_colour
from .gltf_json import Text, numbers_text, quoted


def node_object(node: Node, place: Json, mesh: int | None, clip: tuple[float, int] | None, flags: int | None) -> Json:
    """Return a node of a model.

    Args:
        node: the node.
        place: its translation and rotation, of :func:`placed`.
        mesh: its mesh in the document.
        clip: frames per second and length of the clip in frames; ``None``: there is none.
        flags: what all triangles of its mesh have.
    """
    out: Json = {"name": node.name}
    if mesh is not None:
        out["mesh"] = mesh
    out |= place
    values = NodeExtras()
    if node.index is not None:
        values["node"] = node.index
    if node.flags is not None:
        values["flags"] = node.flags
    if node.label:
        values["label"] = node.label
    if node.animated and clip is not None:
        values["fps"], values["frame_count"] = clip
    if flags:
        values["tri_flags"] = flags
    return {**out, "extras": to_extras(values)} if values else out


def point_object(point: ControlPoint) -> Json:
    """Return a control point as a node without a mesh."""
    moved = game_to_gltf(np.array(point.position, np.float32)).tolist()
    out: Json = {"name": point.name}
    if any(moved):
        out["translation"] = moved
    turned = rotation_to_gltf(rotation_of(point.direction)).tolist()
    if turned != [0, 0, 0, 1]:
        out["rotation"] = turned
    values = NodeExtras(
        kind="point",
        point=point.row,
        index=point.row,
        direction=" ".join(f"{value:.9g}" for value in point.direction),
        length=length_of(point.direction),
        flags=point.flags,
        node2=point.node2,
    )
    return {**out, "extras": to_extras(values)}


def mesh_text(mesh: Mesh, primitives: Iterator[str]) -> Text:
    """Return a mesh; takes its primitives, as JSON text, from those of the model."""
    own = ",".join(islice(primitives, len(mesh.primitives)))
    extras = ""
    if mesh.slot is not None:
        values = MeshExtras(slot=mesh.slot, lod=mesh.lod or 0, group=mesh.group or 0)
        extras = f',"extras":{numbers_text(to_extras(values))}'
    return Text(f'{{"name":{quoted(mesh.name)},"primitives":[{own}]{extras}}}')


def placed(translations: NDArray[Any], rotations: NDArray[np.float64]) -> list[Json]:
    """Return translation and rotation of nodes in glTF axes, float32, without the identity.

    Args:
        translations: (N, 3), game axes.
        rotations: (N, 4), game axes.
    """
    moved = game_to_gltf(translations.astype(np.float32)).tolist()
    turned = rotation_to_gltf(rotations).astype(np.float32).tolist()
    out: list[Json] = []
    for move, turn in zip(moved, turned, strict=True):
        place: Json = {}
        if any(move):
            place["translation"] = move
        if turn != [0.0, 0.0, 0.0, 1.0]:
            place["rotation"] = turn
        out.append(place)
    return out


def material_object(material: Material, pictures: Pictures, lit: bool) -> Json:
    """Return a material as it appears (``docs/reference/gltf.md``), else with a colour per row.

    Args:
        material: the scene's material.
        pictures: the document's images, and the appearance of rows.
        lit: whether the model has lightmap coordinates.
    """
    values = MaterialExtras(
        row=material.row,
        lightmap=material.lightmap,
        batch_flags=material.batch_flags,
        w2=material.w2,
        w4=material.w4,
        w6=material.w6,
    )
    out: Json = {"name": material.name, "pbrMetallicRoughness": row_colour(material.row), "doubleSided": True}
    shown, picture = pictures.appearance.of(material.row)
    if shown is not None and shown.step != "missing":
        light = pictures.appearance.lightmaps.get(material.lightmap) if lit else None
        set_appearance(out, values, shown, picture, pictures=pictures, light=light)
        if light is not None:
            values["light"] = light.name
    return {**out, "extras": to_extras(values)}


def add_clip(file: Builder, name: str, moved: Iterable[tuple[int, Sequence[Track]]], fps: float) -> None:
    """Add one animation; channels with the same frames have the same time accessor.

    Args:
        file: the document.
        name: the animation's name.
        moved: the first node of a model in the document, and the model's tracks. Models that
            have the same tracks have the same samplers.
        fps: frames per second.
    """
    samplers: list[Json] = []
    channels: list[Json] = []
    times: dict[bytes, int] = {}
    known: dict[int, int] = {}  # sampler of a channel, by identity
    for base, tracks in moved:
        for track in tracks:
            for path, channel in (("translation", track.translation), ("rotation", track.rotation)):
                if channel is None or not len(channel.frames):
                    continue
                if id(channel) not in known:
                    key = channel.frames.tobytes()
                    if key not in times:
                        seconds = (channel.frames / fps).astype(np.float32)
                        times[key] = file.add_accessor(seconds, bounds=True)
                    known[id(channel)] = len(samplers)
                    output = file.add_accessor(_values(path, channel))
                    samplers.append({"input": times[key], "output": output})
                target = {"node": base + track.node, "path": path}
                channels.append({"sampler": known[id(channel)], "target": target})
    if channels:
        file.animations.append({"name": name, "channels": channels, "samplers": samplers})


def _values(path: str, channel: Channel) -> NDArray[np.float32]:
    """Values of a channel in glTF axes, float32."""
    if path == "translation":
        return game_to_gltf(channel.values).astype(np.float32)
    return rotation_to_gltf(channel.values).astype(np.float32)
