"""What a controller plays of a model's clip, for people: states as text, ranges with their time and speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..formats.controller import Controller, Range, ranges_of
from .extras import SourceExtras
from .scene import F64, Scene, evaluate


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
