"""Nodes of glTF as items, with their animation curves and the flags of triangles that they state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, plural, printable
from ..converter.findings import Report
from ..converter.numeric.arrays import NONE16
from ..converter.numeric.axes import gltf_to_game, rotation_to_game
from ..converter.numeric.pose import rotation_matrix
from ..converter.numeric.quantize import normalise
from ..converter.scene.extras import NAMESPACE, NodeExtras, read_extras, typed_extras
from ..converter.scene.scene import Channel, Clip, ImportedNode, ImportedScene, StatedFlags, Track
from .gltf_file import OBJECT_SIZE, GltfFile, typed
from .gltf_types import INSTANCING, VISIBILITY, GltfAnimation, GltfSampler, GltfTarget, vector

_SCALE_NOISE = 1e-5
_ATTRIBUTES = {"TRANSLATION": [0.0, 0, 0], "ROTATION": [0.0, 0, 0, 1], "SCALE": [1.0, 1, 1]}


def read_node(file: GltfFile, i: int, parent: int) -> ImportedNode:
    """Return a node as an item.

    Args:
        file: the document.
        i: the node.
        parent: the node above, -1 = root.

    Raises:
        ConversionError: a transform that is not finite.
    """
    node = file.nodes[i]
    mesh = -1
    if node.mesh is not None:
        mesh = int(node.mesh)
        _ = file.meshes[mesh]  # raises where there is none
    out = _placed(file, node.name or "", parent, node.translation, node.rotation, node.scale)
    if node.matrix is not None:
        matrix = vector(node.matrix, 16).reshape(4, 4).T
        out = _placed(file, out.name, parent, matrix[:3, 3])
        out.linear = _to_game(matrix[:3, :3])
        _require_finite(file, out)
    out.mesh, out.extras = mesh, read_extras(NodeExtras, node.extras)
    out.typed = typed_extras(node.extras)
    if out.extras.get("kind") != "point" and out.extras.get("flags", 0) > NONE16:
        raise ConversionError(
            f"{file.node_title(i)} has flags beyond 16 bits", file=file.label, value=out.extras["flags"]
        )
    return out


def _placed(
    file: GltfFile,
    name: str,
    parent: int,
    translation: Sequence[float] | NDArray[Any] | None = None,
    rotation: Sequence[float] | NDArray[Any] | None = None,
    scale: Sequence[float] | NDArray[Any] | None = None,
) -> ImportedNode:
    """An item at a place in glTF axes; what is ``None`` is the identity."""
    moved = vector([0, 0, 0] if translation is None else translation, 3)
    turned = vector([0, 0, 0, 1] if rotation is None else rotation, 4)
    scaled = vector([1, 1, 1] if scale is None else scale, 3)
    spun = rotation_to_game(normalise(turned, (0, 0, 0, 1)))
    linear = None
    if not np.abs(scaled - 1).max() <= _SCALE_NOISE:
        linear = rotation_matrix(spun) @ _to_game(np.diag(scaled))
    place = gltf_to_game(moved.astype(np.float32))
    out = ImportedNode(name, parent, translation=place, rotation=spun, linear=linear, mesh=-1, extras=NodeExtras())
    _require_finite(file, out, turned)
    return out


def _to_game(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """A (3, 3) matrix in game axes: M glTF M^-1, and the axis map M is a rotation."""
    mapped = gltf_to_game(np.ascontiguousarray(linear.T)).T
    return gltf_to_game(np.ascontiguousarray(mapped))


def _require_finite(file: GltfFile, item: ImportedNode, *more: NDArray[np.float64]) -> None:
    values = (item.translation, item.rotation, item.linear, *more)
    if not all(np.isfinite(v).all() for v in values if v is not None):
        raise ConversionError(f"node {item.name!r} has a transform that is not finite", file=file.label)


def hidden_nodes(file: GltfFile) -> set[int]:
    """Return the nodes that are hidden, by themselves or with one above (KHR_node_visibility)."""
    hidden: set[int] = set()
    waiting = [
        i
        for i, node in enumerate(file.nodes)
        if (node.extensions or {}).get(VISIBILITY, {}).get("visible", True) is False
    ]
    while waiting:
        node = waiting.pop()
        if node not in hidden:
            hidden.add(node)
            waiting += file.nodes[node].children or []
    return hidden


def add_instances(file: GltfFile, out: ImportedScene, index_of: dict[int, int]) -> None:
    """Give every instance of a node's mesh an item of its own below the node.

    Args:
        file: the document.
        out: its items; changed in place.
        index_of: glTF node -> item.

    Raises:
        ConversionError: more instances than the size of the file allows.
    """
    for node, i in index_of.items():
        extension = (file.nodes[node].extensions or {}).get(INSTANCING)
        item = out.nodes[i]
        if extension is None or item.mesh < 0 or file.nodes[node].skin is not None:
            continue
        attributes = extension.get("attributes") or {}
        given = {k: _values(file, attributes[k], width=len(v)) for k, v in _ATTRIBUTES.items() if k in attributes}
        count = min(map(len, given.values()), default=0)
        if any(len(values) != count for values in given.values()) or not count:
            raise ConversionError(
                f"instances of node {item.name!r} have no attributes of one length",
                file=file.label,
                value=", ".join(f"{printable(k)}: {len(values)}" for k, values in given.items()) or None,
                expected=", ".join(_ATTRIBUTES),
            )
        file.claim(OBJECT_SIZE * count)
        places = [given.get(k, np.tile(v, (count, 1))) for k, v in _ATTRIBUTES.items()]
        for k, (moved, turned, scaled) in enumerate(zip(*places, strict=True)):
            copy = _placed(file, f"{item.name}.{k}", i, moved, turned, scaled)
            copy.mesh, copy.hidden = item.mesh, item.hidden
            out.nodes.append(copy)
        item.mesh = -1
        out.report.warnings.append(
            f"node {printable(item.name)!r}: {plural(count, 'instance')} of its mesh became nodes "
            f"of their own ({INSTANCING})"
        )


def _values(file: GltfFile, accessor: int, *, width: int) -> NDArray[np.float64]:
    """An attribute of instances, (n, width)."""
    values = file.array(accessor)
    if values.shape[1] != width:
        raise ConversionError(
            "an attribute of instances has elements of another width",
            file=file.label,
            value=values.shape[1],
            expected=width,
        )
    file.claim(8 * values.size)
    return values.astype(np.float64)


#: The custom property; the exporter writes it under ``extras.msh``, people as one of its own.
_KEY = "tri_flags"


def read_flags(extras: object, where: str, report: Report) -> StatedFlags:
    """Return the flags that an object states; what is not a number of 16 bits is reported.

    Args:
        extras: the object's ``extras``: any JSON.
        where: what messages call it.
        report: of the import.
    """
    own = extras if isinstance(extras, dict) else {}
    exported = own.get(NAMESPACE)
    found: list[int | None] = []
    for values in (own, exported if isinstance(exported, dict) else {}):
        value = values.get(_KEY)
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
        if 0 <= number <= NONE16 and number == int(number):
            found.append(int(number))
            continue
        found.append(None)
        if value is not None:
            report.skipped(
                where,
                f"has {_KEY} {printable(str(value))}",
                f"the flags of a triangle are an integer from 0 to {NONE16}",
                "write the sum of the flags, as 2 for a floor to walk on",
            )
    return StatedFlags(*found)


#: Seconds that the first key may be before 0: times are float32.
_TIME_NOISE = 1e-5
_MAX_SCALE_CHANGE = 1e-4
_PATHS = ("translation", "rotation", "scale")


def read_clips(file: GltfFile, index_of: dict[int, int], placed: set[int]) -> list[Clip]:
    """Return every animation of a document; times are seconds.

    Args:
        file: the document.
        index_of: node -> item.
        placed: nodes that are in a scene; no other can be missed.

    Raises:
        ConversionError: curves that are broken.
    """
    return [_clip(file, animation, index_of, placed) for animation in file.animations]


def _clip(file: GltfFile, animation: GltfAnimation, index_of: dict[int, int], placed: set[int]) -> Clip:
    """Translations and rotations of one animation, by item, and what else it has."""
    file.claim(OBJECT_SIZE * len(animation.samplers))
    samplers = typed(GltfSampler, animation.samplers)
    clip = Clip(animation.name or "")
    where = f"animation {printable(clip.name)!r}"
    tracks: dict[int, Track] = {}
    outside: list[str] = []
    morphed: list[str] = []
    pointers: list[str] = []
    for channel in animation.channels:
        target, path = channel["target"].get("node"), channel["target"]["path"]
        if target is None:
            pointers.append(_pointer(channel["target"]))
            continue
        name = file.nodes[target].name or ""
        if path == "weights":
            morphed.append(name)
            continue
        if target not in index_of:
            outside += [name] if target in placed else []
            continue
        if path not in _PATHS:
            pointers.append(path)
            continue
        sampler = samplers[channel["sampler"]]
        kind = sampler.interpolation or "LINEAR"
        seconds, values = _keys(file, sampler, kind, name)
        width = 4 if path == "rotation" else 3
        if values.shape[1:] != (width,):
            raise ConversionError(
                f"{path} of {file.node_title(target)} has values of another width",
                file=file.label,
                value=values.shape[1],
                expected=width,
            )
        if path == "scale":
            values = values[1::3] if kind == "CUBICSPLINE" else values
            _read_scale(clip, where, name, values, file.nodes[target].scale)
            continue
        track = tracks.setdefault(target, Track(index_of[target]))
        if path == "translation":
            track.translation = Channel(seconds, gltf_to_game(values), kind)
        else:
            if kind != "CUBICSPLINE":
                values = normalise(values, (0, 0, 0, 1))
            track.rotation = Channel(seconds, rotation_to_game(values), kind)
    clip.tracks = list(tracks.values())
    for names, what, why, instead in (
        (
            outside,
            "moves {}, not in the model",
            "only nodes of the model are animated",
            "export them with the scene that is read, if they belong to the model",
        ),
        (morphed, "changes shape keys of {}", "a model has none", "animate nodes instead"),
        (pointers, "animates {}", "only nodes of a model are animated", "animate nodes instead"),
    ):
        if names:
            clip.report.skipped(where, what.format(_names(names)), why, instead)
    return clip


def _names(names: Iterable[str]) -> str:
    """A list of names for a message, the first of them in full."""
    first, *rest = dict.fromkeys(names)
    more = f" and {plural(len(rest), 'other')}" if rest else ""
    return f"{printable(first)!r}{more}"


def _pointer(target: GltfTarget) -> str:
    """What a channel without a node animates, as KHR_animation_pointer names it."""
    extensions = target.get("extensions")
    pointer = extensions.get("KHR_animation_pointer") if isinstance(extensions, dict) else None
    return str(pointer["pointer"]) if isinstance(pointer, dict) else "nothing"


def _read_scale(clip: Clip, where: str, name: str, values: NDArray[np.float64], own: list[float] | None) -> None:
    """Note a scale that is animated, or a constant one that is not the node's own."""
    if not np.abs(values - values[:1]).max() <= _MAX_SCALE_CHANGE:
        clip.scaled.append(name)
    elif not np.abs(values[0] - (own or [1, 1, 1])).max() <= _MAX_SCALE_CHANGE:
        shown = " ".join(f"{value:.6g}" for value in values[0].tolist())
        clip.report.skipped(
            f"{where} of node {printable(name)!r}",
            f"its scale {shown} is not the node's",
            "scale is taken from the node, for its vertices",
            "give the node that scale, and remove the animation's",
        )


def _keys(
    file: GltfFile, sampler: GltfSampler, kind: str, name: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times of a sampler, (T,) seconds, and its values, (T, n) or (3T, n)."""
    times = file.array(sampler.input)
    if times.shape[1] != 1 or times.dtype.kind != "f":
        raise ConversionError(f"animation of node {name!r}: key times are not float32 numbers", file=file.label)
    seconds = times.reshape(-1).astype(np.float64)
    values = file.array(sampler.output).astype(np.float64)
    wanted = len(seconds) * (3 if kind == "CUBICSPLINE" else 1)
    if len(values) != wanted:
        raise ConversionError(
            f"animation of node {name!r} has not as many values as key times",
            file=file.label,
            value=len(values),
            expected=wanted,
        )
    if seconds[0] < -_TIME_NOISE:
        raise ConversionError(
            f"animation of node {name!r}: key times are negative",
            file=file.label,
            value=f"{seconds[0]:g} s",
            expected="0 s or later",
            hint="move the keys to frame 0 or later before you export",
        )
    if (np.diff(seconds) <= 0).any() or not np.isfinite(values).all():
        raise ConversionError(
            f"animation of node {name!r}: key times are not increasing, or values not finite", file=file.label
        )
    return seconds, values
