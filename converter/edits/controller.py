"""What a controller plays: edited animations of its ranges go into the clip, and what an edit of a model breaks in it.

A controller names frames, nodes and points by number. ``msh2gltf --clips states`` writes an animation of each range:
one that shows what the clip shows says nothing; an edited one edits the frames of the clip that it shows, unless the
clip was edited there too, otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ..errors import called, few, in_words, plural, printable
from ..findings import Subject
from ..formats.controller import (
    CHANNELS,
    GROUPS,
    PARTS,
    STATES,
    UNDRIVEN,
    Controller,
    Reference,
    node_references,
    point_references,
    with_nodes,
)
from ..numeric.arrays import F64, Bools
from ..scene.companions import PlayedRange, played_ranges, spliced, strides_of
from ..scene.extras import FileInfo
from ..scene.scene import Channel, Clip, Scene, Track, channels_of, curves_of, evaluate
from .frame_rate import Timing, in_frames
from .nodes import POSE_NOISE, Identified, model_size
from .poses import same_rotations

#: How much a stride may change without being reported, relative.
_STRIDE_NOISE = 1e-4
#: How much the time of a range may differ from what the file states, relative: it states six digits.
_TIME_NOISE = 1e-3
_ONE = {CHANNELS: "channel", PARTS: "component"}


@dataclass(frozen=True)
class NamedController:
    """A controller, and what messages call it.

    Attributes:
        name: its file, or ``archive::entry``.
        own: it has the model's name, and changes with it; else other models may use it too.
    """

    name: str
    controller: Controller
    own: bool

    @property
    def named_points(self) -> dict[int, str]:
        """What names each control point, in words, by row."""
        by_row: dict[int, list[Reference]] = {}
        for found in point_references(self.controller):
            by_row.setdefault(found.number, []).append(found)
        return {row: places(found) for row, found in by_row.items()}


def places(references: Sequence[Reference]) -> str:
    """Return where references are, in words: ``states 0-10 contact 1, channel 0, group 1 action 0``."""
    out = []
    contacts: dict[int, list[int]] = {}
    for found in references:
        if found.table == STATES:
            contacts.setdefault(found.within, []).append(found.row)
    out += [f"{numbered('state', rows)} contact {within}" for within, rows in sorted(contacts.items())]
    for table, one in _ONE.items():
        if rows := [found.row for found in references if found.table == table]:
            out.append(numbered(one, rows))
    actions = {(found.row, found.within): None for found in references if found.table == GROUPS}
    return ", ".join([*out, *(f"group {row} action {within}" for row, within in actions)])


def numbered(what: str, numbers: Sequence[int]) -> str:
    """Return numbers as runs: ``states 0-3, 7``."""
    runs: list[list[int]] = []
    for number in sorted({*numbers}):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"{what}{'s' if len({*numbers}) > 1 else ''} {text}"


def by_row(scene: Scene, rows: Mapping[int, int]) -> Scene:
    """Return the scene of a file with the curves of its nodes by their rows, as a controller numbers them."""
    return replace(scene, tracks=[replace(t, node=rows[t.node]) for t in scene.tracks if t.node in rows])


def clip_warnings(named: NamedController, stored: Scene, edited: Scene, changed: F64) -> Iterator[str]:
    """Yield what an edit of the clip changes of what the controller plays. ``changed``: (n,) frames at which a node is
    posed otherwise.
    """
    controller, ranges = named.controller, played_ranges(named.controller, stored)
    pairs, ends = _frames_of(controller)
    last = edited.frame_count - 1
    yield from _late_warnings(named, last, stored.frame_count - 1)
    changed = changed[changed <= last]
    if len(changed) and (text := _both([_plays(frames, changed) for frames in (pairs, ends)])):
        shown = [
            played.name for played in ranges if _plays(np.array([[played.range.first, played.range.last]]), changed)[0]
        ]
        of = f" (range{'s' if len(shown) > 1 else ''} {', '.join(shown)})" if shown else ""
        first, end = changed.min(), changed.max()
        what = f"frame {first:g}" if first == end else f"frames {first:g}..{end:g}"
        yield f"{named.name}: {what} changed, played by {text}{of}"
    yield from _stride_warnings(named, ranges, stored, edited)


def _frames_of(controller: Controller) -> tuple[F64, F64]:
    """The frames that states and channels name, (n, 4) and (n, 2)."""
    pairs = np.concatenate([controller.states["pair_a"], controller.states["pair_b"]], axis=1)
    return pairs, controller.channels["frames"]


def _late_warnings(named: NamedController, last: int, before: int | None) -> Iterator[str]:
    """Yield what names frames after the last one, and did not when the clip ended where it did before."""
    late = [_ends_after(frames, last) for frames in _frames_of(named.controller)]
    if before is not None:
        late = [now & ~_ends_after(f, before) for now, f in zip(late, _frames_of(named.controller), strict=True)]
    if text := _both(late):
        was = "" if before is None else f", it ended at {before}"
        yield f"{named.name}: clip ends at frame {last}{was}: later frames of {text} show the last pose"


def _ends_after(frames: F64, last: int) -> Bools:
    return np.asarray(frames.max(axis=1, initial=0) > last)


def _plays(frames: F64, changed: F64) -> Bools:
    """Whether states play a frame that changed: one that is less than a frame away. (n, 2 or 4) -> (n,)."""
    found = np.zeros(len(frames), np.bool_)
    for pair in range(0, frames.shape[1], 2):
        low, high = frames[:, pair : pair + 2].min(axis=1), frames[:, pair : pair + 2].max(axis=1)
        at = np.searchsorted(changed, low - 1, "right")
        found |= (at < len(changed)) & (changed[np.minimum(at, len(changed) - 1)] < high + 1)
    return found


def _both(masks: Sequence[Bools]) -> str:
    rows = [np.flatnonzero(mask).tolist() for mask in masks]
    return ", ".join(numbered(what, found) for what, found in zip(("state", "channel"), rows, strict=True) if found)


def _stride_warnings(
    named: NamedController, ranges: Sequence[PlayedRange], stored: Scene, edited: Scene
) -> Iterator[str]:
    """Yield the stride of ranges over which the root moves otherwise than before."""
    steps = named.controller.states["pair_b"].astype(np.float64)
    a, b = strides_of(stored, steps), strides_of(edited, steps)
    lines = {played.name: played.line for played in played_ranges(named.controller, edited)}
    reported = []
    for played in ranges:
        rows = list(played.range.states)
        before, now = float(a[rows].sum()), float(b[rows].sum())
        if abs(now - before) > _STRIDE_NOISE * max(before, now, 1e-6):
            reported.append(f"range {played.line} became {lines[played.name]} (stride {before:.4g} became {now:.4g})")
    if reported:
        yield f"{named.name}: the root moves otherwise, which sets the unit's speed: " + "; ".join(reported)


def changed_frames(before: Scene, after: Scene, node_of: Mapping[int, int], turn_noise: float) -> F64:
    """Return the whole frames at which a node of two models stands otherwise, of those that both have. ``node_of``:
    node before -> node after.
    """
    frames = np.arange(min(before.frame_count, after.frame_count), dtype=np.float64)
    differ, noise = np.zeros(len(frames), np.bool_), POSE_NOISE * model_size(before)
    for old, new in node_of.items():
        for path in ("translation", "rotation"):
            a, b = (_values(scene, node, path, frames) for scene, node in ((before, old), (after, new)))
            same = same_rotations(a, b, turn_noise) if path == "rotation" else (np.abs(a - b) <= noise).all(axis=1)
            differ |= ~same
    return frames[differ]


def _values(scene: Scene, node: int, path: str, frames: F64) -> F64:
    track = next((track for track in scene.tracks if track.node == node), None)
    channel: Channel | None = None if track is None else getattr(track, path)
    if channel is not None:
        return evaluate(channel, frames)
    return np.tile(np.asarray(getattr(scene.nodes[node], path), np.float64), (len(frames), 1))


def unseen_warnings(
    named: NamedController,
    stated: FileInfo,
    edited: Scene,
    rows: Mapping[str, Mapping[int, int]],
    before: tuple[Scene, F64] | None = None,
) -> Iterator[str]:
    """Yield what a model that was made without its sidecar breaks in its controller, as far as file and game tell.

    Args:
        stated: what the file says of the model that it was made from.
        rows: by what is named, node or control point: the row that the file states -> row now.
        before: the game's own model, and the frames at which it stands otherwise; ``None``: not known.
    """
    count = stated.get("frame_count")
    if before is None:
        yield from _late_warnings(named, edited.frame_count - 1, None if count is None else count - 1)
    references = {"node": node_references(named.controller), "control point": point_references(named.controller)}
    for what, row_of in rows.items():
        found = [one for one in references[what] if one.number >= 0]
        gone: dict[int, str] = {}
        moved: dict[int, str] = {}
        for number in sorted({one.number for one in found}):
            now = row_of.get(number)
            if now != number:
                (gone if now is None else moved)[number] = places([one for one in found if one.number == number])
        if gone:
            text = ", ".join(f"{number} ({where})" for number, where in gone.items())
            yield f"{named.name} names what the model has not: {what} {text}"
        if moved:
            text = ", ".join(f"{number} is now {row_of[number]} ({where})" for number, where in moved.items())
            yield f"{named.name} names by number what has another number now: {what} {text}"
    if before is not None:
        yield from clip_warnings(named, before[0], edited, before[1])
        return
    took = _seconds_of_ranges(stated.get("ranges", "")) if named.own else {}
    reported = [
        f"range {played.line} took {took[played.name]:.3g} s"
        for played in played_ranges(named.controller, edited)
        if played.name in took
        and played.seconds is not None
        and abs(played.seconds - took[played.name]) > _TIME_NOISE * took[played.name]
    ]
    if reported:
        yield f"{named.name}: the root moves otherwise, which sets the unit's speed: " + "; ".join(reported)


def _seconds_of_ranges(text: str) -> dict[str, float]:
    """The seconds of ranges that extras state, by their frames; of what cannot be read nothing."""
    found = {}
    for line in text.splitlines():
        name, *rest = line.split(";")
        with suppress(ValueError, IndexError):
            found[name] = float(rest[0])
    return found


def late_states(text: str, last: int) -> list[int]:
    """Return the states of ``extras.msh.states`` that name frames after the last one of the clip."""
    late = []
    for line in text.splitlines():
        row, *fields = line.split(";")
        with suppress(ValueError):
            if max(float(end) for pair in fields[1:3] for end in pair.split("-")) > last:
                late.append(int(row))
    return late


def carried_nodes(
    named: NamedController, names: Sequence[str], parents: Sequence[int], rows: Mapping[int, int]
) -> tuple[Controller, list[str]]:
    """Return the controller with the numbers that its model's nodes have now, and what to say.

    What names a deleted node names the nearest one above it that is left; a channel is not driven any more.

    Args:
        names: of the stored nodes.
        parents: (n,) stored parent of each, -1 or more than there are: none.
        rows: stored node -> row now; deleted nodes are missing.
    """
    controller, warnings = named.controller, []
    numbers = {node: above(node, parents, rows) for node in range(len(names))}
    gone: dict[int, list[Reference]] = {}
    moved: list[Reference] = []
    for found in node_references(controller):
        if found.number in numbers and found.number not in rows:
            gone.setdefault(found.number, []).append(found)
        elif numbers.get(found.number, found.number) != found.number:
            moved.append(found)
    for node, lost in gone.items():
        what = f"{named.name}: node {node} {in_words(names[node])} is gone, which {places(lost)} named"
        instead = f": now node {numbers[node]} is named, and channels of it are not driven" if named.own else ""
        warnings.append(what + instead)
    if not named.own:
        if moved:
            text = ", ".join(f"{places([one])}: {one.number} is now {numbers[one.number]}" for one in moved)
            warnings.append(f"{named.name} is not the model's own and stays; nodes have other numbers: {text}")
        return controller, warnings
    carried = with_nodes(controller, numbers)
    stopped = [found.row for each in gone.values() for found in each if found.table == CHANNELS]
    if stopped:
        channels = carried.channels.copy()
        channels["flags"][stopped] |= UNDRIVEN
        carried = replace(carried, channels=channels)
    return carried, warnings


def above(node: int, parents: Sequence[int], rows: Mapping[int, int]) -> int:
    """Return the row of a stored node, of a deleted one that of the nearest above it that is left, else 0."""
    for _ in range(len(parents)):
        if node in rows or not 0 <= node < len(parents):
            break
        node = parents[node]
    return rows.get(node, 0)


def count_warning(what: str, count: int, nodes: int) -> str:
    """Return the warning about a file that counts other nodes than its model has."""
    return f"{what} has {plural(count, 'record')} for {plural(nodes, 'node')}: it was left as it is"


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
        keys = [c.frames for tracks in shown for c in channels_of(tracks)]
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
        self.curves = {place: in_frames(channel, timing) for place, channel in self._by_place(clip.tracks).items()}
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
        node_of = self.identified.node_of
        return {(item, path): channel for item, path, channel in curves_of(tracks) if item in node_of}

    def put_into(self, read: list[Track], stored: list[Track], edited: list[int]) -> list[Track] | str:
        """Return the clip that shows what this range does of the edited items, else why that cannot be."""
        whole, stored_curves = self._by_place(read), self._by_place(stored)
        out = {track.node: track for track in read}
        end = max((channel.frames[-1] for channel in channels_of(read)), default=self.last)
        for item in edited:
            curves: dict[str, Channel | None] = {}
            for path in ("translation", "rotation"):
                place = (item, path)
                if place not in self.curves:
                    if place in whole:
                        return "it lacks a curve that the clip has"
                    continue
                if self._shows(place, whole):
                    curves[path] = whole.get(place)
                    continue
                mine = self.curves[place]
                old, before = (curves_at.get(place) or self._at_rest(*place) for curves_at in (whole, stored_curves))
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
