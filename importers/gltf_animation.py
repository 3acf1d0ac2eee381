"""Animations of glTF as curves of items."""

from __future__ import annotations

import numpy as np
import pygltflib
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.numeric.axes import gltf_to_game, rotation_to_game
from ..converter.numeric.quantize import normalise
from ..converter.scene.scene import Channel, Track
from .gltf_file import GltfFile, typed
from .gltf_types import GltfAnimation, GltfSampler

_MAX_SCALE_CHANGE = 1e-4


def read_clips(
    file: GltfFile,
    clip: str | None,
    index_of: dict[int, int],
    fps: float,
    *,
    ignore_scale: bool,
) -> tuple[list[Track], list[Track]]:
    """Return the tracks of a clip, and those of all other clips for items that it does not move.

    Args:
        file: the document.
        clip: its name or number. ``None``: the first one.
        index_of: node -> item.
        fps: frames per second.
        ignore_scale: skip animated scale.

    Raises:
        ConversionError: no such clip, or curves that a model cannot have.
    """
    chosen = _clip(file, clip)
    if chosen is None:
        return [], []
    tracks = _tracks(file, chosen, index_of, fps, ignore_scale=ignore_scale)
    if clip is not None:
        return tracks, []
    moved = {track.node for track in tracks}
    others = []
    for animation in file.animations:
        if animation is not chosen:
            for track in _tracks(file, animation, index_of, fps, ignore_scale=ignore_scale):
                if track.node not in moved:
                    moved.add(track.node)
                    others.append(track)
    return tracks, others


def _clip(file: GltfFile, clip: str | None) -> GltfAnimation | None:
    if clip is None:
        return file.animations[0] if file.animations else None
    for i, animation in enumerate(file.animations):
        if clip in (animation.name, str(i)):
            return animation
    names = ", ".join(f"{i} {a.name}" for i, a in enumerate(file.animations))
    raise ConversionError("no such clip", file=file.label, value=clip, expected=names or "none")


def _tracks(
    file: GltfFile,
    clip: GltfAnimation,
    index_of: dict[int, int],
    fps: float,
    *,
    ignore_scale: bool,
) -> list[Track]:
    """Translations and rotations of a clip, by item."""
    samplers: list[GltfSampler] = typed(pygltflib.AnimationSampler, clip.samplers)
    out: dict[int, Track] = {}
    for channel in clip.channels:
        target, path = channel["target"].get("node"), channel["target"]["path"]
        if target is None or target not in index_of or path == "weights":
            continue
        name = file.nodes[target].name
        sampler = samplers[channel["sampler"]]
        kind = sampler.interpolation or "LINEAR"
        seconds, values = _keys(file, sampler, kind, name)
        width = 4 if path == "rotation" else 3
        if values.shape[1:] != (width,):
            raise ValueError(f"{path} of node {name!r} is not of {width} numbers")
        if path == "scale":
            if not ignore_scale and np.abs(values - values[:1]).max() > _MAX_SCALE_CHANGE:
                raise ConversionError(
                    f"node {name!r} has animated scale", file=file.label,
                    hint="nodes of a model have none: --ignore-scale skips it",
                )  # fmt: skip
            continue
        track = out.setdefault(target, Track(index_of[target]))
        frames = _snap(seconds * fps)
        if kind == "CUBICSPLINE":
            # tangents are per second
            values.reshape(-1, 3, values.shape[1])[:, [0, 2]] /= fps
        if path == "translation":
            track.translation = Channel(frames, gltf_to_game(values), kind)
        else:
            if kind != "CUBICSPLINE":
                values = normalise(values, (0, 0, 0, 1))
            track.rotation = Channel(frames, rotation_to_game(values), kind)
    return list(out.values())


def _keys(
    file: GltfFile, sampler: GltfSampler, kind: str, name: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times of a sampler, (T,) seconds, and its values, (T, n) or (3T, n)."""
    seconds = file.array(sampler.input).reshape(-1).astype(np.float64)
    values = file.array(sampler.output).astype(np.float64)
    if len(values) != len(seconds) * (3 if kind == "CUBICSPLINE" else 1):
        raise ConversionError(
            f"animation of node {name!r} has not as many values as key times", file=file.label,
            value=len(values), expected=len(seconds),
        )  # fmt: skip
    if (np.diff(seconds) <= 0).any() or not np.isfinite(values).all():
        raise ConversionError(
            f"animation of node {name!r}: key times are not increasing, or values not finite",
            file=file.label,
        )
    return seconds, values


def _snap(frames: NDArray[np.float64]) -> NDArray[np.float64]:
    """Frames within 1e-3 of a whole one become it (docs/reference/conventions.md#time)."""
    whole = np.rint(frames)
    return np.where(np.abs(frames - whole) <= 1e-3, whole, frames)
