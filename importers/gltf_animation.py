"""Animations of glTF as curves of items."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, plural, printable
from ..converter.numeric.axes import gltf_to_game, rotation_to_game
from ..converter.numeric.quantize import normalise
from ..converter.scene.scene import Channel, Clip, Track
from .gltf_file import OBJECT_SIZE, GltfFile, typed
from .gltf_types import GltfAnimation, GltfSampler, GltfTarget

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
            raise ValueError(f"a channel of node {name!r} has the path {path!r}")
        sampler = samplers[channel["sampler"]]
        kind = sampler.interpolation or "LINEAR"
        seconds, values = _keys(file, sampler, kind, name)
        width = 4 if path == "rotation" else 3
        if values.shape[1:] != (width,):
            raise ValueError(f"{path} of node {name!r} is not of {width} numbers")
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
    seconds = file.array(sampler.input).reshape(-1).astype(np.float64)
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
