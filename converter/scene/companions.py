"""What comes with a model, for people: its control points, what its controller plays of the clip (states, ranges)."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import ConversionError, plural, printable
from ..findings import Finding
from ..formats.controller import Controller, Range, ranges_of
from ..formats.model_parts import POINTS_SIZE, ControlPoint, ControlPoints, misplaced, read_points
from ..formats.names import stem, without_number
from ..numeric.arrays import F64
from .extras import SourceExtras
from .scene import Channel, Clip, ImportedNode, ImportedScene, Scene, Track, evaluate

#: The name of a range: two frames, of a placed model after its name.
_SPAN = re.compile(r"(?:.+:)?(-?\d{1,9}(?:\.\d{1,9})?)-(-?\d{1,9}(?:\.\d{1,9})?)")


class PlayedRange(NamedTuple):
    """A range of a clip as people see it.

    Attributes:
        range: its frames, states and speed.
        seconds: how long it lasts; ``None``: the controller leaves it to how fast the unit moves, and
            nothing says how fast that is.
    """

    range: Range
    seconds: float | None

    @property
    def name(self) -> str:
        """Its frames: ``5-13``."""
        return f"{self.range.first:g}-{self.range.last:g}"

    @property
    def line(self) -> str:
        """Its frames, time and speed in words: ``5..13 in 0.49 s at 5 m/s``."""
        speed = self.range.speed
        said = f"{self.range.first:g}..{self.range.last:g}"
        said += "" if self.seconds is None else f" in {self.seconds:.3g} s"
        return said + ("" if not speed else f" at {speed:g} m/s")


def range_name(model: str, played: PlayedRange) -> str:
    """Return the name of the animation that shows a range of a placed model: ``r_h_01:5-13``."""
    return f"{model}:{played.name}"


def played_ranges(controller: Controller, scene: Scene | None) -> list[PlayedRange]:
    """Return the ranges of a controller with the time that each takes.

    A step lasts as long as its state says, else its stride by the speed of the range; without the scene
    of its model that is not known.
    """
    return [PlayedRange(found, _seconds(controller, scene, found)) for found in ranges_of(controller)]


def _seconds(controller: Controller, scene: Scene | None, found: Range) -> float | None:
    states = controller.states[list(found.states)]
    moving = states[states["pair_b"][:, 0] != states["pair_b"][:, 1]]
    strides = np.zeros(len(moving)) if scene is None else strides_of(scene, moving["pair_b"].astype(np.float64))
    total = 0.0
    for length, stride in zip(moving["length"].tolist(), strides.tolist(), strict=True):
        if length > 0:
            total += length / 1000
        elif stride and found.speed:
            total += stride / abs(found.speed)
        else:
            return None
    return total or None


def strides_of(scene: Scene, pairs: F64) -> F64:
    """Return how far node 0 moves between the frames of each pair. (n, 2) -> (n,), units."""
    track = next((track for track in scene.tracks if track.node == 0), None)
    if track is None or track.translation is None:
        return np.zeros(len(pairs))
    ends = evaluate(track.translation, pairs.ravel()).reshape(-1, 2, 3)
    return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))


def cut_tracks(tracks: Sequence[Track], first: float, last: float) -> list[Track]:
    """Return what curves show from a frame to a frame, which becomes 0: their keys between, and one at either end."""

    def cut(channel: Channel | None) -> Channel | None:
        if channel is None or not len(channel.frames):
            return None
        inside = channel.frames[(channel.frames > first) & (channel.frames < last)]
        frames = np.concatenate([[first], inside, [last]])
        return Channel(frames - first, evaluate(channel, frames))

    return [Track(track.node, cut(track.rotation), cut(track.translation)) for track in tracks]


def spliced(whole: Channel, part: Channel, first: float, last: float, end: float) -> Channel:
    """Return a curve that shows another one from a frame to a frame; whole frames outside stay as they are.

    Args:
        whole: the curve.
        part: what it is to show; its frame 0 is ``first``.
        first, last: frames of the whole curve.
        end: the last frame of the clip.
    """
    ends = np.array([np.ceil(first) - 1, np.floor(last) + 1])
    around = np.unique(np.concatenate([whole.frames, ends[(ends >= 0) & (ends <= end)]]))
    around = around[(around < first) | (around > last)]
    inside = np.unique(np.concatenate([[0.0], part.frames, [last - first]]))
    inside = inside[(inside >= 0) & (inside <= last - first)]
    frames = np.concatenate([around, inside + first])
    order = np.argsort(frames)
    return Channel(frames[order], np.concatenate([evaluate(whole, around), evaluate(part, inside)])[order])


def _span_of(name: str) -> tuple[float, float] | None:
    """Return the frames of a range that a name says, as :attr:`PlayedRange.name` does; ``None``: it says none."""
    found = _SPAN.fullmatch(name)
    first, last = map(float, found.groups()) if found else (0.0, 0.0)
    return (first, last) if first < last else None


def add_clips(out: ImportedScene, clips: list[Clip]) -> None:
    """Give the scene of a file its animations, those that show a range of a model's clip apart.

    These are known by what the file states; where it states nothing, as without custom properties, by their
    names, which are frames, if there are others too.

    Args:
        out: the scene; its clips, ranges and report are changed in place.
        clips: every animation of the file.
    """
    stated = out.info.get("range_clips", "").splitlines()
    if out.info.get("kind", "model") in ("model", "unit", "mission"):
        for clip in clips:
            name = clip.name if clip.name in stated else without_number(clip.name)
            clip.span = _span_of(name) if name in stated or not stated else None
        if not stated and all(clip.span for clip in clips):
            for clip in clips:
                clip.span = None
    out.clips = [clip for clip in clips if clip.span is None]
    if stated:  # a renamed one may come first in an editor's file
        out.clips.sort(key=lambda clip: without_number(clip.name) != stem(out.info.get("source", "")))
    out.ranges = [clip for clip in clips if clip.span is not None]
    known = {clip.name for clip in out.ranges} | {without_number(clip.name) for clip in out.ranges}
    if missing := [name for name in stated if name not in known]:
        out.report.warnings.append(
            f"{plural(len(missing), 'animation')} of a range of the clip missing "
            f"({', '.join(map(printable, missing[:5]))}): the controller says which frames are played: nothing changes"
        )


def played_extras(controller: Controller | None, scene: Scene) -> SourceExtras:
    """Return the keys of ``extras.msh`` that say what a controller plays; none where it has no states."""
    out = SourceExtras()
    if controller is not None and len(controller.states):
        out["states"] = states_text(controller)
        if ranges := played_ranges(controller, scene):
            out["ranges"] = ranges_text(ranges)
    return out


def states_text(controller: Controller) -> str:
    """Return every state as a line: ``index;anchor;A0-A1;B0-B1;ms;vy_min;vy_max`` (docs/reference/gltf.md)."""
    lines = []
    for row, state in enumerate(controller.states):
        low, high = state["velocity"][:, 1].tolist() if state["boxes"] & 0x2 else ("", "")
        pairs = [f"{a:.7g}-{b:.7g}" for a, b in (state["pair_a"].tolist(), state["pair_b"].tolist())]
        ends = [text if text == "" else f"{text:.7g}" for text in (low, high)]
        fields = [str(row), str(int(controller.is_anchor(row))), *pairs, f"{float(state['length']):.7g}", *ends]
        lines.append(";".join(fields))
    return "\n".join(lines)


def ranges_text(ranges: Sequence[PlayedRange]) -> str:
    """Return every range as a line: ``first-last;seconds;speed``; what is not known is empty."""
    lines = []
    for played in ranges:
        seconds = "" if played.seconds is None else f"{played.seconds:.6g}"
        speed = "" if played.range.speed is None else f"{played.range.speed:g}"
        lines.append(f"{played.name};{seconds};{speed}")
    return "\n".join(lines)


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

    A broken ``.cpt`` is a warning too: the model is whole without it. ``data``: its ``.cpt``.
    """
    try:
        points = read_points(data, f"{scene.name}.cpt")
    except ConversionError as error:
        return [], [Finding(POINTS_SIZE, str(error))]
    return shown_points(points, scene)


def is_point(item: ImportedNode, nodes: Container[str] = ()) -> bool:
    """Return whether a node of a glTF file is a control point that the exporter showed: by its extras; where an editor
    dropped them, by a name that ends in ``.point`` and is no node's of the model (``nodes``), without a mesh.
    """
    if item.extras:
        return item.extras.get("kind") == "point"
    named = _POINT_NAME.fullmatch(without_number(item.name)) is not None
    return named and item.mesh < 0 and item.name not in nodes


def length_of(direction: Sequence[float]) -> float:
    """Return the length of a direction."""
    return float(np.linalg.norm(np.array(direction, np.float64)))


def rotation_of(direction: Sequence[float]) -> F64:
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
