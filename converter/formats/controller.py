"""Controllers (``.ctl``, type ``CTLD``): what plays the clip of a model, and what refers to it by number.

A model's clip is one strip of frames; the controller's states say which of them are standing, walking
or running, and how fast. It names frames, nodes and control points of the model by number
(docs/reference/controller.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from ..findings import Rules
from ..numeric.arrays import F32, I64, Bools, Records
from .names import Cursor, field_text

CONTROLLER_DTYPE = np.dtype(
    [
        ("states", "<i4"),  # +0
        ("contacts", "<i4"),  # +4   of each state
        ("channels", "<i4"),  # +8
        ("components", "<i4"),  # +12
        ("groups", "<i4"),  # +16
        ("acceleration", "<f4", (3,)),  # +20
        ("unread32", "<u4", (3,)),  # +32
        ("top_speed", "<f4", (3,)),  # +44  metres per second, y is forward
        ("turn_rate", "<f4", (3,)),  # +56  radians per second
        ("opaque68", "<f4", (3,)),  # +68  1.0
        ("lean", "<f4", (3,)),  # +80  radians
        ("opaque92", "<i4"),  # +92
        ("opaque96", "<f4", (2,)),  # +96
        ("opaque104", "<i4"),  # +104
        ("opaque108", "<f4"),  # +108
        ("slope", "<f4"),  # +112 radians
        ("bits", "<u4"),  # +116
        ("opaque120", "<f4"),  # +120
        ("payload", "<f4"),  # +124 kilograms
    ]
)
assert CONTROLLER_DTYPE.itemsize == 128

STATE_DTYPE = np.dtype(
    [
        ("boxes", "<u4"),  # +0    which axes of the two boxes count
        ("flags", "<u4"),  # +4    bit 0: an anchor
        ("lean", "u1", (4,)),  # +8
        ("pair_a", "<f4", (2,)),  # +12   first and last frame
        ("pair_b", "<f4", (2,)),  # +20   the same
        ("blend", "<f4"),  # +28   where the blend from A to B starts
        ("length", "<f4"),  # +32   milliseconds; 0: stride by speed
        ("velocity", "<f4", (2, 3)),  # +36   least and greatest
        ("spin", "<f4", (2, 3)),  # +60   the same
        ("engine", "<f4"),  # +84
        ("measured", "<u4", (14,)),  # +88   0 in files
        ("group", "<i4"),  # +144  run on entering, -1 none
        ("uses", "<i4"),  # +148  -1 without end
        ("request", "<i4"),  # +152  -1 any
    ]
)
assert STATE_DTYPE.itemsize == 156

CONTACT_DTYPE = np.dtype(
    [
        ("point", "<i4"),  # +0   row of the .cpt
        ("flags", "<u4"),  # +4
        ("group", "<i4"),  # +8   run when it lands, -1 none
        ("opaque12", "<i4"),  # +12  0
    ]
)
assert CONTACT_DTYPE.itemsize == 16

CHANNEL_DTYPE = np.dtype(
    [
        ("node", "<i4"),  # +0
        ("frames", "<f4", (2,)),  # +4   first and last
        ("value", "<f4"),  # +12  0 to 1
        ("second_point", "<i4"),  # +16  row of the .cpt, -1 none
        ("point", "<i4"),  # +20  the same
        ("rate", "<f4"),  # +24  per second
        ("span", "<f4"),  # +28  radians
        ("flags", "<u4"),  # +32
    ]
)
assert CHANNEL_DTYPE.itemsize == 36

PART_DTYPE = np.dtype(
    [
        ("part_class", "<i4"),  # +0   see PART_CLASSES
        ("node", "<i4"),  # +4
        ("flags", "<u4"),  # +8
        ("groups", "<i4", (3,)),  # +12  -1 none
        ("state", "<i4"),  # +24  the initial one
        ("mass", "<f4"),  # +28  kilograms
        ("power", "<f4"),  # +32
        ("opaque36", "<f4", (2,)),  # +36
        ("values", "<f4", (16,)),  # +44
        ("archive", "u1", (32,)),  # +108 of what it emits
        ("member", "u1", (32,)),  # +140
    ]
)
assert PART_DTYPE.itemsize == 172

ACTION_DTYPE = np.dtype(
    [
        ("flags", "<u4"),  # +0
        ("condition", "<u4"),  # +4
        ("inversion", "<u4"),  # +8
        ("action", "<i4"),  # +12  0 to 27
        ("arguments", "<i4", (4,)),  # +16  v4 to v7
        ("unread32", "<u4"),  # +32
        ("archive", "u1", (32,)),  # +36
        ("member", "u1", (32,)),  # +68
    ]
)
assert ACTION_DTYPE.itemsize == 100

EVENTS_DTYPE = np.dtype(("<i4", (21,)))  # group of actions by event, -1 none
assert EVENTS_DTYPE.itemsize == 84

_rule = Rules("controller", "docs/reference/controller.md")

#: Type of a directory entry of a controller.
CONTROLLER_TYPE = int.from_bytes(b"CTLD", "little")
#: Ending of a controller's file.
CONTROLLER_ENDING = ".ctl"
#: What messages call the parts of a controller.
STATES, TRANSITIONS, CHANNELS, PARTS, GROUPS = "states", "transitions", "channels", "components", "actions"
#: A state in which the unit can stay.
ANCHOR = 0x1
#: A channel that nothing drives.
UNDRIVEN = 0x4
#: A cost of a transition from which on there is none.
NO_WAY = 1_000_000.0
#: Classes of components that have a name, and that of the last class.
PART_CLASSES = {
    1: "turret", 2: "gun", 4: "camera", 5: "engine", 8: "radar", 9: "shield", 15: "repair", 19: "battery",
    21: "deflector", 26: "efficiency", 27: "armour", 30: "builder's beam",
}  # fmt: skip
MAX_CLASS, MAX_ACTION = 30, 27
#: Arguments of actions that are control points, and nodes: by action, places among its arguments.
POINT_ARGUMENTS: Mapping[int, tuple[int, ...]] = {3: (0,), 4: (0, 1, 2), 14: (1,)}
NODE_ARGUMENTS: Mapping[int, tuple[int, ...]] = {7: (0,), 27: (0,)}

CONTROLLER_SIZE = _rule("controller-size", "warning", "A controller is used up exactly by its counts.")(
    why="The game reads past the file.", fix="Take the file from the game again."
)


@dataclass(frozen=True)
class Controller:
    """A controller, every byte of it.

    Attributes:
        header: ``CONTROLLER_DTYPE``, one record.
        states: ``STATE_DTYPE``, (A,).
        contacts: ``CONTACT_DTYPE``, (A, B): contact ``b`` of every state is the same point.
        costs: (A, A) float32, row: destination, column: origin; ``NO_WAY`` and more: none.
        channels: ``CHANNEL_DTYPE``, (C,).
        parts: ``PART_DTYPE``, (D,): the components.
        part_channels: (D,) channels of each component, each (n,) int32.
        label_sizes: (D,) length of each component's label; 0 or less: no label.
        labels: (D,) the bytes of the label with its NUL; empty where there is none.
        events: (21,) int32.
        groups: (E,) ``ACTION_DTYPE`` records of each group.
    """

    header: Records
    states: Records
    contacts: Records
    costs: F32
    channels: Records
    parts: Records
    part_channels: tuple[NDArray[np.int32], ...]
    label_sizes: tuple[int, ...]
    labels: tuple[bytes, ...]
    events: NDArray[np.int32]
    groups: tuple[Records, ...]

    def is_anchor(self, state: int) -> bool:
        """Tell whether the unit can stay in a state."""
        return bool(self.states["flags"][state] & ANCHOR)

    def label(self, row: int) -> str:
        """Return the label of a component, empty where it has none."""
        return field_text(np.frombuffer(self.labels[row], np.uint8))

    def part_name(self, row: int) -> str:
        """Return what a component is: its label, else its class."""
        number = int(self.parts["part_class"][row])
        return self.label(row) or PART_CLASSES.get(number, f"class {number}")


def read_controller(data: memoryview | bytes, label: str) -> Controller:
    """Read a controller; the arrays are views of ``data``.

    Raises ConversionError: it is cut off, a count is more than its bytes hold, or bytes are left over.
    """
    try:
        return _read(Cursor(memoryview(data), CONTROLLER_SIZE))
    except ConversionError as error:
        raise error.at(file=label) from None


def _read(at: Cursor) -> Controller:
    at.table = "CTLD"
    header = at.records(CONTROLLER_DTYPE, 1, "header")
    names = (STATES, "contacts", CHANNELS, PARTS, GROUPS)
    a, b, c, d, e = (int(header[name][0]) for name in ("states", "contacts", "channels", "components", "groups"))
    for row, (what, count) in enumerate(zip(names, (a, b, c, d, e), strict=True)):
        if not 0 <= count <= len(at.data):
            at.at = 4 * row
            raise at.error(f"number of {what} does not fit the file", count, f"0..{len(at.data)}")
    at.table = STATES
    size = STATE_DTYPE.itemsize + b * CONTACT_DTYPE.itemsize
    rows = np.frombuffer(at.take(a * size, STATES), np.uint8).reshape(a, size if a else STATE_DTYPE.itemsize)
    states = rows[:, : STATE_DTYPE.itemsize].copy().view(STATE_DTYPE).reshape(a)
    contacts = rows[:, STATE_DTYPE.itemsize :].copy().view(CONTACT_DTYPE).reshape(a, b if a else 0)
    at.table = TRANSITIONS
    costs = np.frombuffer(at.take(4 * a * a, TRANSITIONS), "<f4").reshape(a, a)
    at.table = CHANNELS
    channels = at.records(CHANNEL_DTYPE, c, CHANNELS)
    at.table = PARTS
    parts, part_channels, label_sizes, labels = _read_parts(at, d)
    at.table, at.row = "events", None
    events = np.frombuffer(at.take(EVENTS_DTYPE.itemsize, "events"), "<i4")
    at.table = GROUPS
    groups = []
    for row in range(e):
        at.row = row
        groups.append(at.records(ACTION_DTYPE, at.count("actions", ACTION_DTYPE.itemsize), "group"))
    at.table = at.row = None
    if at.at != len(at.data):
        raise at.error("has bytes after its last group of actions", len(at.data) - at.at, 0)
    return Controller(
        header, states, contacts, costs, channels, parts, part_channels, label_sizes, labels, events, tuple(groups)
    )


def _read_parts(
    at: Cursor, count: int
) -> tuple[Records, tuple[NDArray[np.int32], ...], tuple[int, ...], tuple[bytes, ...]]:
    """The components: records, channels, sizes of labels, labels."""
    raw, channels, sizes, labels = [], [], [], []
    for row in range(count):
        at.row = row
        raw.append(at.take(PART_DTYPE.itemsize, "component"))
        channels.append(np.frombuffer(at.take(4 * at.count("channels", 4), "channels"), "<i4"))
        size = int(np.int32(np.uint32(at.word("length of the label"))))
        sizes.append(size)
        labels.append(bytes(at.take(size + 1, "label")) if size > 0 else b"")
    return np.frombuffer(b"".join(raw), PART_DTYPE), tuple(channels), tuple(sizes), tuple(labels)


def write_controller(controller: Controller) -> bytes:
    """Return the bytes of a ``.ctl`` (docs/reference/controller.md)."""
    out = [controller.header.tobytes()]
    for state, contacts in zip(controller.states, controller.contacts, strict=True):
        out += [state.tobytes(), contacts.tobytes()]
    out += [controller.costs.tobytes(), controller.channels.tobytes()]
    rows = zip(controller.parts, controller.part_channels, controller.label_sizes, controller.labels, strict=True)
    for part, channels, size, label in rows:
        numbers = np.array([len(channels)], "<i4").tobytes() + channels.tobytes() + np.array([size], "<i4").tobytes()
        out += [part.tobytes(), numbers, label]
    out.append(controller.events.tobytes())
    for group in controller.groups:
        out += [len(group).to_bytes(4, "little"), group.tobytes()]
    return b"".join(out)


def state_offsets(controller: Controller) -> I64:
    """Return where each state lies in the file, bytes. (A,)."""
    size = STATE_DTYPE.itemsize + CONTACT_DTYPE.itemsize * controller.contacts.shape[1]
    return np.asarray(CONTROLLER_DTYPE.itemsize + size * np.arange(len(controller.states)), np.int64)


def costs_offset(controller: Controller) -> int:
    """Return where the transitions lie in the file, bytes."""
    size = controller.states.nbytes + controller.contacts.nbytes
    return CONTROLLER_DTYPE.itemsize + size


def channels_offset(controller: Controller) -> int:
    """Return where the channels lie in the file, bytes."""
    return costs_offset(controller) + controller.costs.nbytes


# ------------------------------------------------------------------ what it names of its model


class Reference(NamedTuple):
    """A number of the model that a controller names.

    Attributes:
        number: a node of the model, or a row of its ``.cpt``.
        table: ``STATES``, ``CHANNELS``, ``PARTS`` or ``GROUPS``.
        row: of it.
        within: contact of the state, or action of the group; 0 elsewhere.
    """

    number: int
    table: str
    row: int
    within: int = 0


def node_references(controller: Controller) -> list[Reference]:
    """List the nodes that channels, components and actions name."""
    out = [Reference(node, CHANNELS, row) for row, node in enumerate(controller.channels["node"].tolist())]
    out += [Reference(node, PARTS, row) for row, node in enumerate(controller.parts["node"].tolist())]
    return [*out, *_arguments(controller, NODE_ARGUMENTS)]


def point_references(controller: Controller) -> list[Reference]:
    """List the control points that contacts, channels and actions name; -1, which names none, is left out."""
    points = controller.contacts["point"]
    out = [Reference(int(points[at]), STATES, *at) for at in np.ndindex(points.shape)]
    for name in ("second_point", "point"):
        out += [Reference(number, CHANNELS, row) for row, number in enumerate(controller.channels[name].tolist())]
    return [found for found in (*out, *_arguments(controller, POINT_ARGUMENTS)) if found.number >= 0]


def _arguments(controller: Controller, places: Mapping[int, tuple[int, ...]]) -> Iterator[Reference]:
    for row, group in enumerate(controller.groups):
        for within, action in enumerate(group):
            for place in places.get(int(action["action"]), ()):
                yield Reference(int(action["arguments"][place]), GROUPS, row, within)


def with_nodes(controller: Controller, numbers: Mapping[int, int]) -> Controller:
    """Return the controller with new node numbers, by old ones, of channels, components and actions; others stay."""
    channels, parts = controller.channels.copy(), controller.parts.copy()
    for records in (channels, parts):
        records["node"] = [numbers.get(node, node) for node in records["node"].tolist()]
    groups = []
    for group in map(np.copy, controller.groups):
        for action in group:
            for place in NODE_ARGUMENTS.get(int(action["action"]), ()):
                node = int(action["arguments"][place])
                action["arguments"][place] = numbers.get(node, node)
        groups.append(group)
    return replace(controller, channels=channels, parts=parts, groups=tuple(groups))


class Range(NamedTuple):
    """Frames that are played in a row: states joined by transitions of cost 0, from an anchor to an anchor.

    Attributes:
        first, last: frames; fractions occur.
        states: in the order in which they are played, both anchors included.
        speed: metres per second, the middle of what the states allow, negative backwards; ``None``:
            the controller does not bound it.
    """

    first: float
    last: float
    states: tuple[int, ...]
    speed: float | None


def ranges_of(controller: Controller) -> list[Range]:
    """List the ranges of a controller, each pair of frames once, in order of frames.

    Every state is entered once from each anchor.
    """
    free = np.ascontiguousarray((controller.costs == 0).T)  # row: origin
    anchors = (controller.states["flags"] & ANCHOR).astype(np.bool_)
    found: dict[tuple[float, float], Range] = {}
    for start in np.flatnonzero(anchors).tolist():
        for chain in _chains(free, anchors, start):
            made = _range(controller, chain)
            if made.first < made.last:
                found.setdefault((made.first, made.last), made)
    return sorted(found.values())


def _chains(free: Bools, anchors: Bools, start: int) -> Iterator[tuple[int, ...]]:
    """Yield paths of states from one anchor to the next ones, the shortest to each."""
    came = {start: start}
    new = np.ones(len(free), np.bool_)
    new[start] = False
    waiting = [start]
    for state in waiting:
        for then in np.flatnonzero(free[state] & new).tolist():
            new[then] = False
            came[then] = state
            if not anchors[then]:
                waiting.append(then)
                continue
            path = [then]
            while path[-1] != start:
                path.append(came[path[-1]])
            yield tuple(reversed(path))


def _range(controller: Controller, chain: tuple[int, ...]) -> Range:
    states = controller.states[list(chain)]
    inner = states[1:-1] if len(chain) > 2 else states
    frames = states["pair_b"]  # the pair that a transition of cost 0 continues
    bounded = inner["boxes"] & 0x2 != 0
    speed = None
    if bounded.any():
        low, high = inner["velocity"][bounded, :, 1].T.tolist()
        middle = (max(low) + min(high)) / 2
        speed = middle if abs(middle) < NO_WAY else None
    return Range(float(frames.min()), float(frames.max()), chain, speed)
