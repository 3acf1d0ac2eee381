"""Mutations that make a file claim much: long durations, high counts, deep trees."""

import json
import random
import struct
from typing import Any

#: How often a structured mutator makes a claim instead of its other changes: some take seconds.
CLAIMS = 0.005
#: How many of something, and how much longer something takes. Large ones cost time: they are rare.
_COUNTS = (*(20, 300) * 20, *(2000,) * 5, 66_000, 140_000)
_LONGER = (100.0, 1e3, 1e4, 1e6, 1e9, 1e30)
_SECONDS = (1e-30, 1e-9, 0.02, 1e4, 1e9, 1e30)


def claim_gltf(chance: random.Random, text: bytes, binary: bytes) -> tuple[bytes, bytes]:
    """Let a glTF document claim a long clip, many nodes, deep ones, or data that is not there."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return text, binary
    if not isinstance(tree, dict):
        return text, binary
    kind = chance.randrange(8)
    if kind <= 2:
        binary = _long_clip(chance, tree, binary)
    elif kind == 3:
        _state_times(chance, tree)
    elif kind in (4, 5):
        _many_nodes(chance, tree)
    elif kind == 6:
        _many_objects(chance, tree)
    else:
        _absent_data(chance, tree)
    return json.dumps(tree).encode(), binary


def _dicts(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = tree.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _long_clip(chance: random.Random, tree: dict[str, Any], binary: bytes) -> bytes:
    """Other key times: all of them longer, the last one later, the first one before 0."""
    out = bytearray(binary)
    accessors, views = _dicts(tree, "accessors"), _dicts(tree, "bufferViews")
    samplers = [s for a in _dicts(tree, "animations") for s in _dicts(a, "samplers")]
    inputs = {s["input"] for s in samplers if isinstance(s.get("input"), int)}
    factor, how = chance.choice(_LONGER), chance.randrange(4)
    for number in sorted(inputs):
        if not 0 <= number < len(accessors):
            continue
        accessor = accessors[number]
        view = views[accessor.get("bufferView", 0)] if views else {}
        places = (view.get("byteOffset", 0), accessor.get("byteOffset", 0), accessor.get("count"))
        if not all(isinstance(place, int) and 0 <= place < len(out) for place in places):
            continue
        start, count = places[0] + places[1], places[2]
        if not count or start + 4 * count > len(out):
            continue
        times = list(struct.unpack_from(f"<{count}f", out, start))
        if how == 0:
            times = [time * factor for time in times]
        elif how == 1:
            times[-1] = factor
        elif how == 2:
            times[0] = -factor
        else:
            times = [time + factor for time in times]
        times = [max(-3e38, min(3e38, time)) for time in times]
        struct.pack_into(f"<{count}f", out, start, *times)
    return bytes(out)


def _state_times(chance: random.Random, tree: dict[str, Any]) -> None:
    """Another rate or length in the extras."""
    key = chance.choice(("fps", "frame_count"))
    value = chance.choice(_SECONDS if key == "fps" else (0, 65_535, 65_536, 10**8, 2**31, 2**40))
    for item in (*_dicts(tree, "scenes"), *_dicts(tree, "nodes")):
        extras = item.setdefault("extras", {})
        if isinstance(extras, dict) and isinstance(extras.setdefault("msh", {}), dict):
            extras["msh"][key] = value


def _many_nodes(chance: random.Random, tree: dict[str, Any]) -> None:
    """Nodes in a chain, side by side, or like one that is there."""
    nodes, scenes = tree.get("nodes"), _dicts(tree, "scenes")
    if not isinstance(nodes, list):
        return
    count, first = chance.choice(_COUNTS), len(nodes)
    kind = chance.randrange(4)
    if kind == 0:
        nodes += [{"children": [first + i + 1]} for i in range(count - 1)]
        nodes.append({})
    elif kind == 1:
        nodes += [{}] * count
    elif kind == 2:
        nodes += [{"children": list(range(first + 1, first + count))}, *[{}] * (count - 1)]
    else:
        like = dict(chance.choice(nodes)) if nodes and isinstance(nodes[0], dict) else {}
        like.pop("children", None)
        nodes += [like] * count
    if scenes and isinstance(scenes[0].get("nodes"), list):
        scenes[0]["nodes"] += range(first, first + count) if kind in (1, 3) else [first]


def _many_objects(chance: random.Random, tree: dict[str, Any]) -> None:
    """A list of the document many times as long."""
    lists = [(tree, key) for key, value in tree.items() if isinstance(value, list) and value]
    for name in ("meshes", "animations"):
        lists += [
            (item, key)
            for item in _dicts(tree, name)
            for key in ("primitives", "samplers", "channels")
            if isinstance(item.get(key), list) and item[key]
        ]
    if lists:
        parent, key = chance.choice(lists)
        last = chance.choice((parent[key][-1], {}))
        parent[key] = [*parent[key], *[last] * chance.choice(_COUNTS)]


def _absent_data(chance: random.Random, tree: dict[str, Any]) -> None:
    """Accessors without data, which are zeros: as many as they say."""
    for accessor in _dicts(tree, "accessors"):
        if chance.random() < 0.5:
            accessor.pop("bufferView", None)
            accessor["count"] = chance.choice((*_COUNTS, 10**6, 10**8, 2**31, 2**62))


#: Where the times of keys are in their records of 24 bytes, and which tables frames are in.
_KEYS, _KEY_SIZE, _KEY_TIME, _MAP = 8, 24, 12, 19


def claim_nres(chance: random.Random, entries: list[list[Any]], strides: dict[int, int]) -> None:
    """Let a table claim long times, many frames, many records or many strings."""
    entry = chance.choice(entries)
    kind = chance.randrange(5)
    if kind == 0:
        factor = chance.choice(_LONGER)
        for other in entries:
            if other[0] == _KEYS:
                other[5] = _later(other[5], factor, every=chance.random() < 0.5)
    elif kind == 1:
        for other in entries:
            if other[0] == _MAP:
                other[2] = chance.choice((65_535, 65_536, 10**6, 10**8, 0xFFFFFFFF))
                if chance.random() < 0.5:
                    other[5] = (other[5] or bytes(2)) * chance.choice((2, 100))
    elif kind == 2:
        entry[chance.choice((1, 2, 3))] = chance.choice((65_536, 10**6, 10**8, 0xFFFFFFFF))
    elif kind == 3:
        stride = strides.get(entry[0], 4)
        record = entry[5][-stride:]
        entry[5] += record * min(chance.choice(_COUNTS), 1_000_000 // stride)
    else:
        entries += [list(entry)] * min(chance.choice(_COUNTS), 5000)


def _later(keys: bytes, factor: float, *, every: bool) -> bytes:
    """Key records with longer times: of all, or of the last."""
    out = bytearray(keys)
    for at in range(0, len(out) - _KEY_SIZE + 1, _KEY_SIZE):
        if every or at + 2 * _KEY_SIZE > len(out):
            (time,) = struct.unpack_from("<f", out, at + _KEY_TIME)
            time = max(-3e38, min(3e38, (time or 1.0) * factor))
            struct.pack_into("<f", out, at + _KEY_TIME, time)
    return bytes(out)


def claim_text(chance: random.Random, lines: list[bytes]) -> list[bytes]:
    """A line thousands of times, a number with many digits, a polygon with many corners."""
    at, count = chance.randrange(len(lines)), chance.choice(_COUNTS)
    kind = chance.randrange(4)
    if kind == 0:
        lines[at:at] = [lines[at]] * min(count, 5000)
    elif kind == 1:
        words = lines[at].split(b" ")
        words[chance.randrange(len(words))] = b"9" * chance.choice((9, 10, 30, 5000))
        lines[at] = b" ".join(words)
    elif kind == 2:
        words = lines[at].split(b" ")
        lines[at] = b" ".join(words + words[-1:] * min(count, 5000))
    else:
        numbered = [b"o %d" % i + b"\nf 1 2 3" * (i % 2) for i in range(min(count, 5000))]
        lines[at:at] = numbered
    return lines
