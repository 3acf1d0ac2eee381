"""Controllers as bytes, by ``struct``: they share no code with the project."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

LARGEST = 3.4028234663852886e38
#: A pair of frames.
Pair = tuple[float, float]


class State(NamedTuple):
    """A state: its frames (pair B), whether the unit can stay in it, ms, speed forward; pair A where it is another."""

    frames: Pair
    anchor: bool = False
    length: float = 0.0
    speed: Pair | None = None
    entered: Pair | None = None


def state(row: State, contacts: Sequence[int]) -> bytes:
    """A state and its contacts, which name control points."""
    low, high = row.speed or (-LARGEST, LARGEST)
    head = struct.pack("<2I4B", 2 if row.speed else 0, 1 if row.anchor else 0x10000, 1, 2, 3, 4)
    head += struct.pack("<6f", *(row.entered or row.frames), *row.frames, 0.5, row.length)
    head += struct.pack("<6f", -LARGEST, low, -LARGEST, LARGEST, high, LARGEST)
    head += struct.pack("<6f", *[-LARGEST] * 3, *[LARGEST] * 3) + struct.pack("<f", 1.0) + bytes(56)
    head += struct.pack("<3i", -1, -1, -1)
    return head + b"".join(struct.pack("<iIii", point, 3, 0, 0) for point in contacts)


def channel(node: int, frames: Pair = (0, 0), point: int = -1, second: int = -1) -> bytes:
    return struct.pack("<i3f2i2fI", node, *frames, 0.5, second, point, 1.0, 3.0, 1)


def component(node: int, kind: int = 1, channels: Sequence[int] = (), label: bytes = b"") -> bytes:
    head = struct.pack("<2iI3ii2f2f16f", kind, node, 7, 0, -1, -1, 0, 100.0, 5.0, 1, 2, *range(16)) + bytes(64)
    lists = struct.pack(f"<i{len(channels)}ii", len(channels), *channels, len(label))
    return head + lists + (label + b"\0" if label else b"")


def action(number: int, *arguments: int) -> bytes:
    values = [*arguments, 0, 0, 0, 0][:4]
    return struct.pack("<3Ii4iI", 1, 0, 0, number, *values, 0) + b"effects.rlb".ljust(32, b"\0") + bytes(32)


def controller(
    states: Sequence[State] = (),
    contacts: Sequence[int] = (),
    free: Sequence[tuple[int, int]] = (),
    channels: Sequence[bytes] = (),
    components: Sequence[bytes] = (),
    groups: Sequence[Sequence[bytes]] = (),
) -> bytes:
    """A ``.ctl``.

    Args:
        states: the states; each has ``contacts``.
        contacts: control points.
        free: transitions of cost 0, from and to.
        channels, components: as bytes.
        groups: actions as bytes, by group.
    """
    counts = (len(states), len(contacts), len(channels), len(components), len(groups))
    head = struct.pack("<5i", *counts) + struct.pack("<3f3I9f", 2, 2, 2, 0, 0, 0, 9, 9, 9, 1, 1, 1, 1, 1, 1)
    head += struct.pack("<3fi2fiffIff", 1, 1, 1, 0, 0, 0, 0, -1, 1.57079, 0, -1, LARGEST)
    assert len(head) == 128
    size = len(states)
    costs = [[0.0 if (a, b) in free else 1e6 for a in range(size)] for b in range(size)]
    body = b"".join(state(row, contacts) for row in states)
    body += struct.pack(f"<{size * size}f", *[cost for row in costs for cost in row])
    body += b"".join([*channels, *components]) + b"\xff" * 84
    return head + body + b"".join(struct.pack("<I", len(group)) + b"".join(group) for group in groups)


def walker(frames: int = 9, *, node: int = 1, points: int = 2) -> bytes:
    """A controller of a model with so many frames, nodes to ``node`` and control points: it stands and walks."""
    last = frames - 1
    states = [
        State((0, 0), True, 50, (-2, 2)),
        State((0, last / 2), speed=(2, 8)),
        State((last / 2, last), speed=(2, 10)),
        State((last, last), True, 50, (-2, 2)),
    ]
    return controller(
        states,
        range(points),
        [(0, 1), (1, 2), (2, 3)],
        [channel(node, (0, last), points - 1)],
        [component(node, 1, [0], b"Turret"), component(0, 27)],
        [[action(7, node), action(4, *[points - 1] * 3)], [action(14, 0, points - 1), action(27, node)]],
    )
