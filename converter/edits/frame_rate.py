"""Decide which frames the times of a clip mean, by evidence.

glTF has seconds, a model frames. Hypotheses are the rate that the file states, the spacing of its
own keys as one frame, and usual rates that give the clip its stored length; each is judged by how
much of the stored clip it shows (docs/reference/gltf.md, Import). A scene of Blender at
another rate resamples a clip: its keys lie on the stored curve then, between frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import ConversionError
from ..numeric.arrays import F64, NONE16, Bools
from ..scene.scene import Channel, Scene, Track, channels_of, curves_of, evaluate
from .nodes import POSE_NOISE, ROTATION_NOISE
from .poses import collapsed, same_rotations, spread

Mask = Bools

DEFAULT_FPS = 24.0
#: Rates that editors sample at; frames per second.
_USUAL = (12.0, 15.0, 23.976, 24.0, 25.0, 29.97, 30.0, 48.0, 50.0, 59.94, 60.0, 120.0)
#: Times of keys are float32: seconds that a spacing may be off by, and the ratio.
_TIME_NOISE, _SPACING_NOISE = 1e-5, 2e-4
#: So few keys are an artist's: that the last one is uneven says nothing.
_FEW_KEYS = 5
#: A key this near to a whole frame is on it.
_FRAME_NOISE = 1e-3
#: Frames over which the speed of a curve is taken.
_MOMENT = 0.01
#: With more frames from key to key a file has not all of them.
_SPARSE = 1.5
#: A curve that varies by more, rotations or relative to its size, is never taken for constant.
_CERTAIN = 1e-3
#: How much more of the stored clip another rate must show to win over the one that is stated.
_CLEARLY = 0.1


@dataclass(frozen=True)
class Timing:
    """What times mean: frame = (seconds - start) * fps.

    Attributes:
        usual: that of every file of its kind: stated, or the default, and nothing against it.
    """

    fps: float
    reason: str = ""
    start: float = 0.0
    usual: bool = False


@dataclass
class TimedClip:
    """A clip in frames.

    Attributes:
        tracks: curves by node of the file; times are frames.
        frame_count: length of the clip; ``None`` where the file does not show one.
        first, last: the frames that the file shows; ``first`` is above 0 where the beginning of
            the stored clip is not in the file.
        left_out: whether the file has fewer keys than frames, and stored frames between them that it does not show.
    """

    timing: Timing
    tracks: list[Track] = field(default_factory=list)
    frame_count: int | None = None
    first: float = 0.0
    last: float = 0.0
    left_out: bool = False


@dataclass(frozen=True)
class _Pair:
    """A channel in frames, and the stored curve of its node."""

    node: int
    path: str
    channel: Channel
    stored: Channel | None
    before: F64  # what the stored node has without a channel
    noise: float


@dataclass(frozen=True)
class _Verdict:
    """How much of the stored clip a timing shows; ``beginning``: it shows nothing else, and not all of it."""

    timing: Timing
    ratio: float
    same_length: bool
    beginning: bool

    @property
    def unchanged(self) -> bool:
        return self.ratio == 1.0 and self.same_length


class FrameRate:
    """Times of a clip, compared with the stored one where there is one.

    Args:
        tracks: curves whose times are seconds.
        stored_of: node of the file -> stored node; only those that stand in the same frame.
        stored: the sidecar's scene.
        size: extent of the model, for tolerances.
        turn_noise: how far rotations drift.
    """

    def __init__(
        self,
        tracks: list[Track],
        stored_of: dict[int, int],
        *,
        stored: Scene | None,
        size: float,
        turn_noise: float = ROTATION_NOISE,
    ) -> None:
        self.tracks, self.stored_of, self.stored = tracks, stored_of, stored
        self.noise, self.turn_noise = POSE_NOISE * size, turn_noise
        self.old = {} if stored is None else {track.node: track for track in stored.tracks}
        channels = channels_of(tracks)
        self.first = min((float(c.frames[0]) for c in channels), default=0.0)
        self.last = max((float(c.frames[-1]) for c in channels), default=0.0)
        steps = {_step(channel) for channel in channels if len(channel.frames) > 2}
        self.step = min(steps, default=0.0)
        if self.step and max(steps) > self.step * (1 + _SPACING_NOISE) + _TIME_NOISE:
            self.step = 0.0  # each channel has keys of its own
        self.stored_end = float(max((c.frames[-1] for c in channels_of(self.old.values())), default=0.0))
        self.stored_count = stored.frame_count if stored is not None and self.old else 0

    def decide(self, given: float | None, stated: float | None, length: int | None) -> Timing:
        """Return what the times mean. ``length``: frames of the clip, as the file states."""
        reason = "as the file states" if stated else "the default"
        own = Timing(stated or DEFAULT_FPS, reason, usual=True)
        if given is not None:
            own = Timing(given, "as given")
        spacing = None if given is not None else self._spacing(own.fps)
        if not self.old:
            if spacing is None or (length is not None and self._ends_at(own, length - 1)):
                return own
            fits = length is not None and self._ends_at(spacing, length - 1)
            return spacing if fits or not self._on_frames(own) else own
        verdicts = []
        for timing in self._hypotheses(own, spacing, given is None):
            verdict = self._judge(timing)
            if verdict.unchanged:
                reason = f"{timing.reason}, and the clip is unchanged"
                return replace(timing, reason=reason)
            verdicts.append(verdict)
        best = max(verdicts, key=lambda v: (round(v.ratio, 2), v.same_length))
        stay = next(v for v in verdicts if v.timing.fps == own.fps)
        if stay.beginning:
            return stay.timing
        if best.ratio > stay.ratio + _CLEARLY:
            return replace(best.timing, reason=f"{best.timing.reason}, which fits the clip best")
        if spacing is None or self._on_frames(own):
            return stay.timing
        other = self._judge(spacing)
        first = (other.same_length, other.ratio) >= (stay.same_length, stay.ratio)
        return spacing if first else stay.timing

    def _on_frames(self, timing: Timing) -> bool:
        """Whether all of the evenly spaced keys are on whole frames."""
        step = self.step * timing.fps
        return abs(step - round(step)) <= _SPACING_NOISE

    def shows_stored(self, timing: Timing) -> bool:
        """Return whether every channel shows the stored curve at a rate."""
        return self._judge(timing).ratio == 1.0

    def _spacing(self, other: float) -> Timing | None:
        """The keys' own spacing as one frame, unless that is the rate anyway."""
        if not self.step or abs(self.step * other - 1) <= _SPACING_NOISE:
            return None
        fps = min(_USUAL, key=lambda usual: abs(usual * self.step - 1))
        if abs(fps * self.step - 1) > _SPACING_NOISE:
            return None
        return Timing(fps, "keys have this spacing")

    def _hypotheses(self, own: Timing, spacing: Timing | None, free: bool) -> Iterator[Timing]:
        timings = [own] if spacing is None else [own, spacing]
        if free:
            known = {timing.fps for timing in timings}
            timings += [
                Timing(fps, "the clip has its stored length then")
                for fps in _USUAL
                if fps not in known and self._same_length(Timing(fps))
            ]
        for timing in timings:
            yield timing
            if self.first > _TIME_NOISE:
                yield replace(timing, start=self.first)

    def _judge(self, timing: Timing) -> _Verdict:
        found = total = shown = 0
        last = self._frame(self.last, timing) + _FRAME_NOISE
        for pair in self._pairs(timing):
            frames, own_keys = self._compared(pair, timing)
            same = _agreement(pair, frames, own_keys)
            found, total, shown = found + int(same.sum()), total + len(same), shown + int((frames <= last).sum())
        ratio = found / total if total else 0.0
        return _Verdict(timing, ratio, self._same_length(timing), found >= shown > 0 and shown < total)

    def _compared(self, pair: _Pair, timing: Timing) -> tuple[F64, bool]:
        """The frames to compare a channel at; and whether they are its own keys."""
        if self._resampled(pair.channel, timing):
            return pair.channel.frames, True
        frames = np.arange(self.stored_end + 1) if pair.stored is None else pair.stored.frames
        if (first := self._missing(timing)) > 0:
            frames = frames[(frames >= first) & (frames <= self._frame(self.last, timing))]
        return frames, False

    def _missing(self, timing: Timing) -> float:
        """Frames before the file's first one, where the file shows only a part of the clip."""
        return 0.0 if timing.start else max(0.0, self._frame(self.first, timing))

    def _frame(self, seconds: float, timing: Timing) -> float:
        return float(_snap(np.array((seconds - timing.start) * timing.fps)))

    def _resampled(self, channel: Channel, timing: Timing) -> bool:
        """Whether keys lie evenly between frames; ``channel`` in frames."""
        return len(channel.frames) > 2 and (self._is_uneven(timing) or self.step * timing.fps > _SPARSE)

    def _is_uneven(self, timing: Timing) -> bool:
        """Whether a frame is not a whole number of the keys' steps."""
        step = self.step * timing.fps
        return step > 0 and abs(1 / step - round(1 / step)) > _SPACING_NOISE

    def _same_length(self, timing: Timing) -> bool:
        """Whether the clip ends where the stored one does, within what sampling cuts off."""
        if timing.start == 0 and self.first > _TIME_NOISE:
            return True  # only a part of the clip is shown
        return self._ends_at(timing, self.stored_end)

    def _ends_at(self, timing: Timing, end: float) -> bool:
        away = abs(self._frame(self.last, timing) - end)
        step = self.step * timing.fps
        cut = step + _FRAME_NOISE if step < 1 else step - _FRAME_NOISE  # a last sample may be lost to rounding
        return away <= 2 * _FRAME_NOISE or (self._is_uneven(timing) and away < cut)

    def _length(self, timing: Timing) -> int:
        return max(1, int(np.floor(self._frame(self.last, timing) + 1e-4)) + 1)

    def _require_length(self, timing: Timing, stated: int | None) -> None:
        """Refuse a clip that no model can hold, before anything is sampled for it."""
        span = int(np.ceil(self._frame(self.last, timing) - self._frame(self.first, timing)))
        length = max(self._length(timing), span, 0 if self.stored else stated or 0)
        if length > max(NONE16, self.stored_count):
            raise ConversionError(
                "the clip is too long",
                value=f"{length:,}",
                expected=f"at most {NONE16:,} frames",
                hint="a shorter clip, or another --fps",
            )
        moving = len({node for node, _, channel in curves_of(self.tracks) if self._moves(channel)})
        if moving * self._length(timing) > max(NONE16, len(self.old) * self.stored_count):
            raise ConversionError(
                "too many animated frames",
                value=f"{moving * self._length(timing):,}",
                expected=f"at most {NONE16:,} map words, one per animated node and frame",
                hint="a shorter timeline or fewer animated nodes",
            )

    def _moves(self, channel: Channel) -> bool:
        """Whether a curve certainly needs keys: it varies by more than noise."""
        keys = channel.values
        if channel.interpolation == "CUBICSPLINE":
            keys = keys[1::3]
        if keys.shape[1] == 4:
            return spread(keys) > _CERTAIN
        return spread(keys) > max(4 * self.noise, _CERTAIN * float(np.abs(keys).max()))

    def apply(self, timing: Timing, length: int | None) -> TimedClip:
        """Return the clip in frames.

        Where the file holds samples between frames, or lacks the beginning, frames of which it shows no change are
        those of the stored clip. Raises ConversionError: more frames, or more animated ones, than a model can have.
        """
        self._require_length(timing, length)
        out = TimedClip(timing, first=self._missing(timing))
        out.last = self._frame(self.last, timing)
        by_node = {track.node: Track(track.node) for track in self.tracks}
        for node, path, channel in curves_of(self.tracks):
            setattr(by_node[node], path, in_frames(channel, timing))
        out.tracks = list(by_node.values())
        if self.last - self.first > _TIME_NOISE:
            out.frame_count = self._length(timing)
            if self.stored is None and length is not None:
                sparse = not 0 < self.step * timing.fps < _SPARSE
                if (sparse and length > out.frame_count) or self._ends_at(timing, length - 1):
                    out.frame_count = length
        if self.old:
            self._keep_stored(out)
        return out

    def _keep_stored(self, out: TimedClip) -> None:
        """Settle the length, and take stored values where the file does not differ from them."""
        if out.frame_count is None or self._same_length(out.timing):
            out.frame_count = self.stored_count
        else:
            longer = out.frame_count - (int(np.floor(self.stored_end)) + 1)
            out.frame_count = max(1, self.stored_count + longer)
        frames = np.arange(float(out.frame_count))
        whole = {track.node: track for track in out.tracks}
        for pair in self._pairs(out.timing):
            at, own_keys = self._compared(pair, out.timing)
            if own_keys:
                same_keys = _agreement(pair, at, own_keys)
                kept = _between(at, same_keys, frames)
            elif out.first > 0:
                kept = frames < out.first
                if _holds(pair, self.stored_end) and out.last > self.stored_end:
                    kept |= frames > self.stored_end
                if out.last < self.stored_end:
                    kept |= frames > out.last
            else:
                continue
            if kept.any():
                old = _stored_values(pair, frames)
                values = evaluate(pair.channel, frames)
                if own_keys and self.step * out.timing.fps > _SPARSE:
                    out.left_out |= not _near(values[kept], old[kept], pair.noise).all()
                values[kept] = old[kept]
                setattr(whole[pair.node], pair.path, Channel(frames, values))

    def _pairs(self, timing: Timing) -> Iterator[_Pair]:
        for item, path, channel in curves_of(self.tracks):
            k = self.stored_of.get(item)
            if k is None or self.stored is None:
                continue
            node, old = self.stored.nodes[k], self.old.get(k)
            stored = None if old is None else getattr(old, path)
            before = np.asarray(getattr(node, path), np.float64)
            noise = self.noise if path == "translation" else self.turn_noise
            yield _Pair(item, path, in_frames(channel, timing), stored, before, noise)


def _step(channel: Channel) -> float:
    """Seconds between the keys of a channel that was sampled, 0 = it was not.

    Some tools add a key where the clip ends, less than a sample after the last one.
    """
    times = channel.frames
    if channel.interpolation == "CUBICSPLINE":
        return 0.0
    loose = _TIME_NOISE + 1e-6 * float(times[-1])
    for own in (times, times[:-1] if len(times) >= _FEW_KEYS else times):
        step = float(own[-1] - own[0]) / (len(own) - 1)
        even = own[0] + step * np.arange(len(own))
        if np.abs(own - even).max() <= loose and times[-1] - own[-1] < step + loose:
            return step
    return 0.0


def in_frames(channel: Channel, timing: Timing) -> Channel:
    values = channel.values
    if channel.interpolation == "CUBICSPLINE":
        values = values.copy()
        values.reshape(-1, 3, values.shape[1])[:, [0, 2]] /= timing.fps
    frames = _snap((channel.frames - timing.start) * timing.fps)
    return Channel(frames, values, channel.interpolation)


def _snap(frames: F64) -> F64:
    """Frames within 1e-3 of a whole one become it (docs/reference/conventions.md#time)."""
    whole = np.rint(frames)
    return np.where(np.abs(frames - whole) <= _FRAME_NOISE, whole, frames)


def _stored_values(pair: _Pair, frames: F64, *, by_component: bool = False) -> F64:
    if pair.stored is None:
        return np.tile(pair.before, (len(frames), 1))
    return evaluate(pair.stored, frames, by_component=by_component)


def _agreement(pair: _Pair, frames: F64, own_keys: bool) -> Mask:
    """At which frames a channel shows the stored curve. (T,) bool."""
    got = evaluate(pair.channel, frames)
    old = _stored_values(pair, frames)
    noise: float | F64 = max(pair.noise, collapsed(pair.channel, old))
    if own_keys:  # times are float32, and a fast node moves as far in their noise
        loose = 2 * np.spacing(frames.astype(np.float32)).astype(np.float64)
        before, after = (_stored_values(pair, frames + side * _MOMENT) for side in (-1, 1))
        noise = 2 * pair.noise + loose * np.abs(after - before).max(axis=1) / (2 * _MOMENT)
    same = _near(got, old, noise)
    if own_keys and not same.all():
        same |= _near(got, _stored_values(pair, frames, by_component=True), noise)
    return same


def _near(a: F64, b: F64, noise: float | F64) -> Mask:
    if a.shape[1] == 4:
        return same_rotations(a, b, noise)
    return np.asarray(np.abs(a - b).max(axis=1) <= noise)


def _between(keys: F64, same: Mask, frames: F64) -> Mask:
    """At which frames both neighbouring keys, or the key there, show the stored curve."""
    left = np.clip(np.searchsorted(keys, frames, "right") - 1, 0, len(keys) - 1)
    right = np.clip(np.searchsorted(keys, frames, "left"), 0, len(keys) - 1)
    return np.asarray(same[left] & same[right])


def _holds(pair: _Pair, end: float) -> bool:
    """Whether a channel shows the end of the stored curve from there on."""
    after = pair.channel.frames[pair.channel.frames >= end]
    frames = np.concatenate([[end], after])
    return bool(_near(evaluate(pair.channel, frames), _stored_values(pair, frames), pair.noise).all())
