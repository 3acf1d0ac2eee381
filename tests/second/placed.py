"""Units, missions and controllers: records that must end where the file ends."""

import struct
from collections import Counter
from typing import Any

from tests.second.container import Bad, Problems


class Walk:
    """A position in a file."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.problems = data, 0, Problems()

    def take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def word(self) -> int:
        return int(self.take("I")[0])

    def text(self) -> bytes:
        size = self.word()
        if self.at + size > len(self.data):
            raise Bad("mission-end")
        self.at += size
        return self.data[self.at - size : self.at]


def unit_problems(data: bytes) -> Problems:
    """What is wrong with a unit's ``.dat``: a tree, written depth first."""
    if len(data) < 8 or (len(data) - 8) % 112 or data[:4] != b"\xf1\xf0\0\0":
        return Counter({"unit-size": 1})
    found, waiting = Problems(), 1
    for at in range(8, len(data), 112):
        (count,) = struct.unpack_from("<i", data, at + 108)
        found["unit-tree"] += waiting < 1 or count < 0
        waiting += count - 1
        found["unit-name"] += b"\0" not in data[at : at + 32] or b"\0" not in data[at + 32 : at + 64]
    found["unit-tree"] += waiting != 0
    return +found


def mission_problems(data: bytes) -> Problems:
    """What is wrong with a mission's ``data.tma``."""
    f = Walk(data)
    try:
        _mission(f)
    except (Bad, struct.error) as error:
        return Counter({str(error) if isinstance(error, Bad) else "mission-end": 1})
    return +f.problems


def _mission(f: Walk) -> None:
    f.word()
    for _ in range(f.word()):
        f.word()
        f.take(f"{3 * f.word()}f")
    if f.word() != 6:
        raise Bad("mission-version")
    clans = f.word()
    for _ in range(clans):
        f.text()
        f.take("i2fI")
        f.text()
        for _ in range(f.word()):
            f.take("I5f")
        f.text()
        f.word()
        for _ in range(f.word()):
            f.text()
            f.word()
    version = f.word()
    owners = [_object(f, version, clans) for _ in range(f.word())]
    f.text()
    f.word()
    f.text()
    f.word()
    for _ in range(f.word()):
        f.take("3f2IfI")
    f.problems["mission-end"] += f.at != len(f.data)
    ids = {own for own, _ in owners}
    f.problems["mission-host"] += sum(host != -1 and host not in ids for _, host in owners)


def _object(f: Walk, version: int, clans: int) -> tuple[int, int]:
    """Read an object; its logical id and that of its host."""
    kind, _ = f.take("2I")
    path = f.text()
    clan = f.take("i")[0] if version >= 3 else 0
    own = f.take("i")[0] if version >= 4 else -1
    f.take("6f" if version < 10 else "9f")
    if version >= 7:
        f.text()
    if version >= 8:
        f.word()
    host = f.take("2i")[0] if version >= 9 else -1
    f.word()
    for _ in range(f.word() if version >= 6 else 0):
        f.take("4I")
        f.text()
    f.problems["mission-object"] += kind > 3 or not path
    f.problems["mission-clan"] += kind < 2 and not -1 <= clan < clans
    return own, host


def controller_problems(data: bytes) -> Problems:
    """What is wrong with a controller's ``.ctl``."""
    f = Walk(data)
    try:
        _controller(f)
    except struct.error:
        return Counter({"controller-end": 1})
    return +f.problems


def _controller(f: Walk) -> None:
    states, contacts, channels, components, groups = f.take("5i")
    f.take("27I")
    for _ in range(states):
        f.take("156s")
        f.take("4i" * contacts)
    f.take(f"{states * states}f")
    for _ in range(channels):
        f.take("36s")
    for _ in range(components):
        f.take("172s")
        f.problems["controller-channel"] += any(c >= channels for c in f.take(f"{f.take('i')[0]}i"))
        if label := f.take("i")[0]:
            f.take(f"{label + 1}s")
    f.problems["controller-group"] += any(group >= groups for group in f.take("21i"))
    for _ in range(groups):
        f.take("100s" * f.take("i")[0])
    f.problems["controller-end"] += f.at != len(f.data)
