"""Compare the animations that show a range of a model's clip with the clip, and put what was edited into it.

``msh2gltf --clips states`` writes them. One that shows what the clip shows says nothing; an edited one edits the
frames of the clip that it shows, unless the clip was edited there too, otherwise.
"""

from __future__ import annotations

import numpy as np

from ..errors import called, few, in_words, printable
from ..findings import Subject
from ..numeric.arrays import F64, Bools
from ..scene.companions import spliced
from ..scene.scene import Channel, Clip, Track, evaluate
from .frame_rate import Timing, in_frames
from .nodes import POSE_NOISE, Identified
from .poses import same_rotations

#: A key this near to a whole frame is on it.
_FRAME_NOISE = 2e-3


def with_ranges(identified: Identified, read: list[Track], stored: list[Track] | None, fps: float) -> list[Track]:
    """Return the clip with the edits of the animations that show a range of it; what cannot be put in is reported.

    Args:
        read: curves by item, times in frames: of the clip that is read.
        stored: those of the stored clip; ``None`` without a sidecar, when nobody can tell which of two was edited, or
            without a clip in the file.
    """
    imported = identified.imported
    whole = imported.clips[0].name if imported.clips else imported.name
    before = read
    for clip in imported.ranges:
        shown = [before] if stored is None else [read, before, stored]
        keys = [c.frames for tracks in shown for t in tracks for c in (t.translation, t.rotation) if c is not None]
        compared = _Range(identified, clip, np.unique(np.concatenate([[0.0], *keys])), fps)
        found = min((compared.changed(tracks) for tracks in shown), key=len)
        names = [printable(name) for name in (*(imported.nodes[item].name for item in found), *clip.scaled)]
        imported.report.add(clip.report)
        if not names and compared.has_its_length:
            continue
        where = Subject("animation", clip.name)
        why = f"it only shows frames {compared.first:g} to {compared.last:g} of {in_words(whole)}, which is read"
        moved = few([*map(called, names)], 1)
        if stored is not None and names and compared.has_its_length and not clip.scaled:
            edited = [item for item in compared.changed(stored) if item in compared.changed(read)]
            changed = compared.put_into(read, stored, edited)
            if not isinstance(changed, str):
                read = changed
                clip.span, clip.put_in = (compared.first, compared.last), frozenset(compared.put_in)
                imported.report.warnings.append(
                    f"{where} moves node {moved} in frames {compared.first:g} to {compared.last:g} of "
                    f"{in_words(whole)}, and so does the clip now"
                )
                imported.report.concerns([imported.nodes[item].name for item in edited], "clip")
                continue
            why = changed
        imported.report.skipped(
            where,
            f"moves node {moved} otherwise than the clip" if names else "has another length",
            why,
            f"edit these frames of {in_words(whole)}",
        )
    return read


class _Range:
    """An animation of a range, in frames that count from 0.

    Attributes:
        first, last: those of the whole clip.
        resampled: whether an editor at another rate put keys where the whole clip has none.
        put_in: items and paths whose curves :meth:`put_into` took.
    """

    def __init__(self, identified: Identified, clip: Clip, known: F64, fps: float) -> None:
        self.identified, self.put_in = identified, set[tuple[int, str]]()
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
        whole = self._by_place(tracks)
        places = {*self.curves, *whole}
        return sorted({item for item, path in places if not self._shows((item, path), whole)})

    def _by_place(self, tracks: list[Track]) -> dict[tuple[int, str], Channel]:
        """Curves by item and path."""
        return {
            (track.node, path): channel
            for track in tracks
            for path in ("translation", "rotation")
            if track.node in self.identified.node_of and (channel := getattr(track, path)) is not None
        }

    def put_into(self, read: list[Track], stored: list[Track], edited: list[int]) -> list[Track] | str:
        """Return the clip that shows what this range does of the edited items, else why that cannot be."""
        out, whole = {track.node: track for track in read}, self._by_place(read)
        end = max((c.frames[-1] for t in read for c in (t.rotation, t.translation) if c is not None), default=self.last)
        for item in edited:
            track = out.get(item, Track(item))
            curves: dict[str, Channel | None] = {}
            for path in ("translation", "rotation"):
                place = (item, path)
                if place not in self.curves:
                    if getattr(track, path) is not None:
                        return "it lacks a curve that the clip has"
                    continue
                if self._shows(place, whole):
                    curves[path] = whole.get(place)
                    continue
                mine, old, before = (
                    curve or self._at_rest(*place)
                    for curve in (self.curves.get(place), getattr(track, path), _curve(stored, place))
                )
                frames = np.unique(np.concatenate([mine.frames + self.first, old.frames, before.frames]))
                frames = frames[(frames >= self.first) & (frames <= self.last)]
                own, kept = evaluate(mine, frames - self.first), evaluate(old, frames)
                if not (self._same(path, own, kept) | self._same(path, kept, evaluate(before, frames))).all():
                    return "the clip was edited in these frames too, in another way"
                self.put_in.add(place)
                curves[path] = spliced(old, mine, self.first, self.last, end)
            out[item] = Track(item, curves.get("rotation"), curves.get("translation"))
        made = [*out.values()]
        return "the clip cannot show it" if set(self.changed(made)) & set(edited) else made

    def _same(self, path: str, a: F64, b: F64) -> Bools:
        if path == "rotation":
            return same_rotations(a, b, self.identified.turn_noise)
        return np.asarray((np.abs(a - b) <= POSE_NOISE * self.identified.size).all(axis=1))

    def _shows(self, place: tuple[int, str], whole: dict[tuple[int, str], Channel]) -> bool:
        """Whether a curve is what the whole clip has between the frames of the range."""
        mine, other = (curves.get(place) or self._at_rest(*place) for curves in (self.curves, whole))
        between = np.empty(0) if self.resampled else other.frames
        between = between[(between > self.first) & (between < self.last)] - self.first
        ends = [] if self.resampled else [0.0, self.keys[-1] if self.has_its_length else self.last - self.first]
        frames = np.concatenate([self.curves[place].frames if place in self.curves else [], between, ends])
        own = evaluate(mine, frames)
        return any(
            bool(self._same(place[1], own, evaluate(other, frames + self.first, by_component=way)).all())
            for way in (False, True)
        )

    def _at_rest(self, item: int, path: str) -> Channel:
        """What a node without a curve does: it keeps its own pose."""
        value = np.asarray(getattr(self.identified.imported.nodes[item], path), np.float64)
        return Channel(np.zeros(1), value[None])


def _curve(tracks: list[Track], place: tuple[int, str]) -> Channel | None:
    """The curve of a node and path among some, if there is one."""
    found = next((track for track in tracks if track.node == place[0]), None)
    curve: Channel | None = None if found is None else getattr(found, place[1])
    return curve
