"""Find what an edit of a model breaks in its controller, which names frames, nodes and points by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ..errors import in_words, plural
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
from ..scene.companions import PlayedRange, played_ranges, strides_of
from ..scene.extras import FileInfo
from ..scene.scene import Channel, Scene, evaluate
from .nodes import POSE_NOISE, model_size
from .poses import same_rotations

#: How much a stride may change without being told, relative.
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


# ------------------------------------------------------------------ the clip


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
    """States and channels of two masks in words."""
    rows = [np.flatnonzero(mask).tolist() for mask in masks]
    return ", ".join(numbered(what, found) for what, found in zip(("state", "channel"), rows, strict=True) if found)


def _stride_warnings(
    named: NamedController, ranges: Sequence[PlayedRange], stored: Scene, edited: Scene
) -> Iterator[str]:
    """Yield the stride of ranges over which the root moves otherwise than before."""
    steps = named.controller.states["pair_b"].astype(np.float64)
    a, b = strides_of(stored, steps), strides_of(edited, steps)
    lines = {played.name: played.line for played in played_ranges(named.controller, edited)}
    told = []
    for played in ranges:
        rows = list(played.range.states)
        before, now = float(a[rows].sum()), float(b[rows].sum())
        if abs(now - before) > _STRIDE_NOISE * max(before, now, 1e-6):
            told.append(f"range {played.line} became {lines[played.name]} (stride {before:.4g} became {now:.4g})")
    if told:
        yield f"{named.name}: the root moves otherwise, which sets the unit's speed: " + "; ".join(told)


# ------------------------------------------------------------------ without a sidecar


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
    """A node's translation or rotation at some frames."""
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
    told = [
        f"range {played.line} took {took[played.name]:.3g} s"
        for played in played_ranges(named.controller, edited)
        if played.name in took
        and played.seconds is not None
        and abs(played.seconds - took[played.name]) > _TIME_NOISE * took[played.name]
    ]
    if told:
        yield f"{named.name}: the root moves otherwise, which sets the unit's speed: " + "; ".join(told)


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
