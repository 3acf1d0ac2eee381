"""Broken controllers, beside the model and the control points that they name."""

import struct

from tests.support.controller import walker
from tests.support.corruption.assembly import beside_a_model
from tests.support.corruption.base import NAN, Made, kinds, pack

#: Of the walker: its states with two contacts each, transitions, channel, and component.
STATES, SIZE, COUNT = 128, 156 + 2 * 16, 4
COSTS = STATES + COUNT * SIZE
CHANNEL = COSTS + 4 * COUNT * COUNT
PART = CHANNEL + 36
#: The model's nodes.
NODES = 12


POINTS = struct.pack("<I", 2) + bytes(2 * 68)
CTPT, CTLD = (int.from_bytes(kind, "little") for kind in (b"CTPT", b"CTLD"))
of_controller = kinds(
    "controller",
    lambda: [Made("walker", walker(1, node=NODES - 1))],
    beside_a_model(b"ROOM.CTL", CTLD, (CTPT, b"room.cpt", POINTS)),
)


# fmt: off
of_controller("controller-size", "controller-cut", lambda data: data.pop())
of_controller("controller-size", "controller-of-many-channels", lambda data: pack("<i", data, 8, 0x7FFFFFFF))
of_controller("controller-size", "controller-of-fewer-than-no-states", lambda data: pack("<i", data, 0, -1))
of_controller("controller-numbers", "controller-with-an-unknown-cost", lambda data: pack("<f", data, COSTS, NAN))
of_controller("controller-node", "controller-of-a-node-that-is-not-there", lambda d: pack("<i", d, CHANNEL, NODES))
of_controller("controller-node", "controller-with-a-part-on-no-node", lambda data: pack("<i", data, PART + 4, 4000))
of_controller("controller-point", "controller-with-a-channel-of-no-point", lambda d: pack("<i", d, CHANNEL + 20, 99))
of_controller("controller-channel", "controller-with-a-part-of-no-channel", lambda d: pack("<i", d, PART + 176, 7))
of_controller("controller-class", "controller-with-a-part-of-no-class", lambda data: pack("<i", data, PART, 31))
of_controller("controller-numbers", "controller-with-frames-that-are-no-numbers",
    lambda d: pack("<f", d, STATES + 12, NAN))
of_controller("controller-numbers", "controller-with-a-step-of-less-than-no-time",
    lambda d: pack("<f", d, STATES + SIZE + 32, -5.0))
of_controller("controller-frame", "controller-beyond-the-clip", lambda d: pack("<f", d, STATES + 2 * SIZE + 24, 4000.0))
of_controller("controller-frame", "controller-with-a-channel-beyond-the-clip",
    lambda d: pack("<f", d, CHANNEL + 8, 4000.0))
of_controller("controller-contact", "controller-with-other-feet-in-a-state",
    lambda d: pack("<i", d, STATES + 3 * SIZE + 156, 1))
of_controller("controller-group", "controller-with-a-group-that-is-not-there",
    lambda d: pack("<i", d, STATES + 0x90, 2))
of_controller("controller-transition", "controller-that-jumps", lambda d: pack("<2f", d, STATES + SIZE + 20, 0.0, 0.25))
of_controller("controller-point", "controller-of-a-point-that-is-not-there",
    lambda data: [pack("<i", data, STATES + row * SIZE + 156, 2) for row in range(COUNT)])
# fmt: on
