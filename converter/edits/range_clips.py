"""Compare the animations that show a range of a model's clip with the clip, and report those that were edited.

``msh2gltf --clips states`` writes them for people and other programs; what an import reads is the whole clip.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import plural, printable
from ..scene.scene import Channel, Clip, Track, evaluate
from .frame_rate import Timing, in_frames
from .nodes import POSE_NOISE, Identified
from .poses import same_rotations

F64 = NDArray[np.float64]
#: A key this near to a whole frame is on it.
_FRAME_NOISE = 2e-3


def report_ranges(identified: Identified, shown: Sequence[list[Track]], fps: float) -> None:
    """Report each animation of a range that shows neither the clip of its file nor the stored one.

    Args:
        identified: the file, whose report is added to.
        shown: curves by item, times in frames: of the clip that is read, and of the stored one, if there is one.
        fps: frames per second of the file.
    """
    imported = identified.imported
    whole = imported.clips[0].name if imported.clips else imported.name
    keys = [c.frames for tracks in shown for t in tracks for c in (t.translation, t.rotation) if c is not None]
    for clip in imported.ranges:
        compared = _Range(identified, clip, np.unique(np.concatenate([[0.0], *keys])), fps)
        found = min((compared.changed(tracks) for tracks in shown), key=len)
        names = [*(imported.nodes[item].name for item in found), *clip.scaled]
        imported.report.add(clip.report)
        if names:
            more = f" and {plural(len(names) - 1, 'other')}" if len(names) > 1 else ""
            what = f"moves node {printable(names[0])!r}{more} otherwise than the clip"
        elif not compared.has_its_length:
            what = "has another length"
        else:
            continue
        imported.report.skipped(
            f"animation {printable(clip.name)!r}",
            what,
            f"it only shows frames {compared.first:g} to {compared.last:g} of {printable(whole)!r}, which is read",
            f"edit these frames of {printable(whole)!r}",
        )


class _Range:
    """An animation of a range, in frames that count from 0.

    Attributes:
        first, last: those of the whole clip.
        resampled: whether an editor at another rate put keys where the whole clip has none.
    """

    def __init__(self, identified: Identified, clip: Clip, known: F64, fps: float) -> None:
        self.identified = identified
        self.first, self.last = clip.span or (0.0, 0.0)
        timing = Timing(fps)
        self.curves = {
            (track.node, path): in_frames(channel, timing)
            for track in clip.tracks
            for path in ("translation", "rotation")
            if track.node in identified.node_of and (channel := getattr(track, path)) is not None
        }
        self.keys = np.unique(np.concatenate([[], *(curve.frames for curve in self.curves.values())]))
        inner = self.keys[1:-1] + self.first  # the ends may be between frames in any file
        after = np.searchsorted(known, inner)
        near = [np.abs(known[np.clip(at, 0, len(known) - 1)] - inner) for at in (after - 1, after)]
        self.resampled = bool((np.minimum(*near) > _FRAME_NOISE).any())
        off = np.rint(inner) - inner
        self.first += float(next(iter(off[np.abs(off) <= _FRAME_NOISE]), 0.0))  # its name has six digits

    @property
    def has_its_length(self) -> bool:
        """Whether it ends where the range does, within what sampling cuts off."""
        step = float(np.diff(self.keys).max(initial=0.0)) if self.resampled else 0.0
        return bool(len(self.keys)) and abs(self.keys[-1] - (self.last - self.first)) <= step + _FRAME_NOISE

    def changed(self, tracks: list[Track]) -> list[int]:
        """Return the items that it moves otherwise than curves in frames of the whole clip do."""
        whole = {
            (track.node, path): channel
            for track in tracks
            for path in ("translation", "rotation")
            if track.node in self.identified.node_of and (channel := getattr(track, path)) is not None
        }
        places = {*self.curves, *whole}
        return sorted({item for item, path in places if not self._shows((item, path), whole)})

    def _shows(self, place: tuple[int, str], whole: dict[tuple[int, str], Channel]) -> bool:
        """Whether a curve is what the whole clip has between the frames of the range."""
        mine, other = (curves.get(place) or self._at_rest(*place) for curves in (self.curves, whole))
        between = np.empty(0) if self.resampled else other.frames
        between = between[(between > self.first) & (between < self.last)] - self.first
        ends = [] if self.resampled else [0.0, self.keys[-1] if self.has_its_length else self.last - self.first]
        frames = np.concatenate([self.curves[place].frames if place in self.curves else [], between, ends])
        own = evaluate(mine, frames)
        if place[1] == "translation":
            noise = POSE_NOISE * self.identified.size
            return bool((np.abs(own - evaluate(other, frames + self.first)) <= noise).all())
        noise = self.identified.turn_noise
        return any(
            bool(same_rotations(own, evaluate(other, frames + self.first, by_component=way), noise).all())
            for way in (False, True)
        )

    def _at_rest(self, item: int, path: str) -> Channel:
        """What a node without a curve does: it keeps its own pose."""
        value = np.asarray(getattr(self.identified.imported.nodes[item], path), np.float64)
        return Channel(np.zeros(1), value[None])
