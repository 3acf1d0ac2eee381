"""Mutators: bytes, text lines, JSON trees, NRes containers. All chance comes from one generator.

A structured mutator changes one thing inside and makes the outside fit again, so that most inputs
get past the first checks. None of them shares code with the readers.
"""

import base64
import hashlib
import json
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

from tests.support.corruption.base import STRIDES

Mutator = Callable[[random.Random, bytes, list[bytes]], bytes]

#: Beside powers of two: what overflows, wraps, or means "none" somewhere.
NUMBERS = (
    *(0, 1, 2, 3, 7, 15, 16, 36, 64, 127, 128, 255, 256, 1023, 1024, 4095, 32767, 32768, 65534, 65535),
    *(65536, 0xFFFFFF, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF),
)
FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e-38, 1e-30, 1e30, 3.4028235e38, -3.4028235e38, 1e300),
    *(float("inf"), float("-inf"), float("nan"), 16777217.0, 2147483648.0),
)
_STRINGS = (
    *("", "a", "\0", "../../x", "/etc/passwd", "C:\\x", "%2e%2e/x", "\ud800", "\U0001f600", "nan", "1e999"),
    *("0x10", "9" * 30, "SCALAR", "VEC3", "MAT4", "LINEAR", "STEP", "CUBICSPLINE", "retail", "spec"),
    *("terrain", "areal map", "model", "translation", "rotation", "scale", "weights", ".", "x" * 300),
    *("data:;base64,", "data:application/octet-stream;base64,AAAA", "data:;base64,A", "file:///dev/zero"),
)
_KEYS = (
    *("POSITION", "NORMAL", "TEXCOORD_0", "TEXCOORD_1", "COLOR_0", "JOINTS_0", "WEIGHTS_0", "_MSH_BLEND"),
    *("matrix", "scale", "skin", "mesh", "sparse", "bufferView", "byteStride", "byteOffset", "normalized"),
    *("targets", "mode", "indices", "extensions", "extras", "msh", "KHR_texture_transform"),
    *("KHR_draco_mesh_compression", "EXT_meshopt_compression", "children", "camera", "uri", "node"),
    *("interpolation", "texCoord", "name", "fps", "lod", "group", "row", "kind"),
)


def number(chance: random.Random) -> int:
    """A whole number that is likely to hurt."""
    kind = chance.random()
    if kind < 0.6:
        return chance.choice(NUMBERS)
    if kind < 0.8:
        return chance.randrange(0, 40)
    return (1 << chance.randrange(0, 34)) + chance.randrange(-2, 3)


def mutate_bytes(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change bytes, words, floats or runs; one to four changes."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        size = len(out)
        kind = chance.randrange(9) if size else 8
        at = chance.randrange(size) if size else 0
        if kind == 0:
            out[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            out[at] = chance.randrange(256)
        elif kind in (2, 3):
            width = chance.choice((2, 4))
            at -= at % width
            if at + width <= size:
                value = number(chance) & ((1 << 8 * width) - 1)
                out[at : at + width] = value.to_bytes(width, "little")
        elif kind == 4:
            at -= at % 4
            if at + 4 <= size:
                value = chance.choice(FLOATS)
                out[at : at + 4] = struct.pack("<f", value if abs(value) < 1e300 else value * 1e10)
        elif kind == 5:
            del out[at : at + chance.choice((1, 2, 4, 16, 64, size))]
        elif kind == 6:
            run = bytes(out[at : at + chance.choice((1, 2, 4, 16, 64))])
            out[at:at] = run * chance.choice((1, 1, 2, 8))
        elif kind == 7:
            end = min(size, at + chance.choice((1, 4, 16, 64)))
            out[at:end] = bytes([chance.choice((0, 255))]) * (end - at)
        else:
            other = chance.choice(others) if others else b"\0"
            start = chance.randrange(len(other) + 1)
            piece = other[start : start + chance.choice((1, 4, 16, 64, 256))]
            out[at : at + (len(piece) if chance.random() < 0.5 else 0)] = piece
    return bytes(out)


# ------------------------------------------------------------------ text


_TOKENS = (
    *(b"0", b"-1", b"1", b"99999999", b"999999999999999999999", b"nan", b"inf", b"1e400", b"1e39", b""),
    *(b"/", b"//", b"1/", b"1//1", b"-1/-1/-1", b"\\", b"\xff\xfe", b"\0", b"%00", b'"', b"#", b"o", b"v"),
    *(b"f", b"usemtl", b"LIGHTMAPS", b"1.5", b"\xc2\xb2", b"\x1c", b"0x10", b"1_0", b"x" * 200),
)


def mutate_text(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change lines and words; now and then single bytes."""
    if chance.random() < 0.2:
        return mutate_bytes(chance, data, others)
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(len(lines))
        kind = chance.randrange(7)
        if kind == 0 and len(lines) > 1:
            del lines[at]
        elif kind == 1:
            lines.insert(at, lines[chance.randrange(len(lines))])
        elif kind == 2:
            other = chance.choice(others or [data]).split(b"\n")
            lines.insert(at, chance.choice(other))
        elif kind == 3:
            swap = chance.randrange(len(lines))
            lines[at], lines[swap] = lines[swap], lines[at]
        else:
            words = lines[at].split(b" ")
            place = chance.randrange(len(words))
            if kind == 4:
                words[place] = chance.choice(_TOKENS)
            elif kind == 5:
                words[place:place] = [chance.choice(_TOKENS)]
            elif len(words) > 1:
                del words[place]
            lines[at] = b" ".join(words)
    return b"\n".join(lines)


# ------------------------------------------------------------------ JSON


def mutate_tree(chance: random.Random, tree: Any) -> Any:
    """Change one to three places of a JSON tree, in place where that is possible."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places: list[tuple[Any, Any]] = []
        waiting = [tree]
        while waiting:
            here = waiting.pop()
            if isinstance(here, dict):
                places += [(here, key) for key in here]
                waiting += here.values()
            elif isinstance(here, list):
                places += [(here, i) for i in range(len(here))]
                waiting += here
        if not places:
            return chance.choice(({}, [], 0, "x", None))
        parent, key = chance.choice(places)
        kind = chance.randrange(12)
        old = parent[key]
        if kind <= 4:
            parent[key] = _like(chance, old)
        elif kind == 5:
            parent[key] = _value(chance)
        elif kind == 6:
            del parent[key]
        elif kind == 7:
            other, place = chance.choice(places)
            if place in other if isinstance(other, dict) else place < len(other):
                parent[key] = json.loads(json.dumps(other[place]))
        elif kind == 8 and isinstance(parent, list):
            parent[key:key] = [json.loads(json.dumps(old))] * chance.choice((1, 1, 2, 30))
        elif kind == 9 and isinstance(parent, dict):
            parent[chance.choice(_KEYS)] = _value(chance)
        elif kind == 10 and isinstance(parent, dict):
            parent[chance.choice(_KEYS)] = parent.pop(key)
        elif kind == 11 and isinstance(parent, list):
            chance.shuffle(parent)
    return tree


def _like(chance: random.Random, old: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        near = old + chance.choice((-1, 1, -2, 2, 4))
        near = max(-(10**30), min(10**30, near))
        return chance.choice((near, -near, number(chance), -number(chance), float(near), 10**20))
    if isinstance(old, float):
        return chance.choice((*FLOATS, -old, old * 1e6, int(old) if abs(old) < 1e9 else 0))
    if isinstance(old, str):
        return chance.choice((*_STRINGS, old + "x", old[:-1]))
    if isinstance(old, list):
        return chance.choice((old[:-1], old[1:], old * 2, [], [0] * len(old)))
    return _value(chance)


def _value(chance: random.Random) -> Any:
    return chance.choice(
        (
            *(None, True, False, -1, 0, 1, number(chance), 1.5, chance.choice(FLOATS), [], {}, [0], "x"),
            *(chance.choice(_STRINGS), [[[]]], {"a": {}}, 10**400, [0, 0, 0, 1], [1, 1, 1], {"msh": {}}),
        )
    )


def dump(tree: Any) -> bytes:
    """JSON as loosely as Python writes it: NaN, Infinity, numbers of any length."""
    return json.dumps(tree).encode()


def mutate_json(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change a JSON document as a tree, now and then as text."""
    kind = chance.random()
    if kind < 0.1:
        return mutate_bytes(chance, data, others)
    if kind < 0.11:
        depth = chance.choice((10, 200, 990, 5000, 100_000))
        return data.replace(b"{", b'{"a":' + b"[" * depth + b"]" * depth + b",", 1)
    if kind < 0.115:
        return data.replace(b":", b":" + b"9" * 5000, 1)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(chance, data, others)
    return dump(mutate_tree(chance, tree))


# ------------------------------------------------------------------ .glb


def split_glb(data: bytes) -> tuple[bytes, bytes] | None:
    """JSON and BIN of a ``.glb`` whose sizes are right."""
    if data[:4] != b"glTF" or len(data) < 20:
        return None
    size = struct.unpack_from("<I", data, 12)[0]
    text = data[20 : 20 + size]
    return text, data[28 + size :]


def join_glb(text: bytes, binary: bytes) -> bytes:
    """A ``.glb`` with right sizes."""
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    size = 20 + len(text) + (8 + len(binary) if binary else 0)
    out = struct.pack("<4sIII4s", b"glTF", 2, size, len(text), b"JSON") + text
    return out + (struct.pack("<I4s", len(binary), b"BIN\0") + binary if binary else b"")


def mutate_gltf(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change a ``.glb`` or ``.gltf``: the document as a tree, the buffer as bytes."""
    if chance.random() < 0.05:
        return mutate_bytes(chance, data, others)
    parts = split_glb(data)
    if parts is None:
        if data[:1] == b"{" and b"base64," in data and chance.random() < 0.3:
            return _mutate_data_uri(chance, data)
        return mutate_json(chance, data, others)
    text, binary = parts
    if binary and chance.random() < 0.35:
        size = len(binary)
        binary = mutate_bytes(chance, binary, [])
        if chance.random() < 0.9:  # the same length, so that the document still fits
            binary = binary[:size].ljust(size, b"\0")
    else:
        text = mutate_json(chance, text, [])
    if chance.random() < 0.05 and b'"byteLength"' in text:
        return text  # the document alone
    return join_glb(text, binary)


def _mutate_data_uri(chance: random.Random, data: bytes) -> bytes:
    head, _, rest = data.partition(b"base64,")
    packed, quote, tail = rest.partition(b'"')
    try:
        raw = base64.b64decode(packed, validate=True)
    except ValueError:
        return mutate_bytes(chance, data, [])
    size = len(raw)
    raw = mutate_bytes(chance, raw, [])[:size].ljust(size, b"\0")
    return head + b"base64," + base64.b64encode(raw) + quote + tail


# ------------------------------------------------------------------ NRes


def split_nres(data: bytes) -> list[list[Any]] | None:
    """``[type, attr1, attr2, attr3, name, payload]`` per entry; ``None``: no container."""
    if data[:4] != b"NRes" or len(data) < 16:
        return None
    count, total = struct.unpack_from("<iI", data, 8)
    first = len(data) - 64 * count
    if total != len(data) or first < 16 or not 0 <= count < 10_000:
        return None
    out = []
    for at in range(first, len(data), 64):
        kind, a1, a2, size, a3, name, start, _ = struct.unpack_from("<5I36s2I", data, at)
        out.append([kind, a1, a2, a3, name, data[start : start + size]])
    return out


def join_nres(entries: list[list[Any]]) -> bytes:
    """A container of entries, payloads at multiples of 8, its sort table in directory order."""
    body, rows = bytearray(16), []
    for i, (kind, a1, a2, a3, name, payload) in enumerate(entries):
        rows.append(struct.pack("<5I36s2I", kind, a1, a2, len(payload), a3, name, len(body), i))
        body += payload
        body += bytes(-len(body) % 8)
    total = len(body) + 64 * len(rows)
    body[:16] = struct.pack("<4sIiI", b"NRes", 0x100, len(rows), total)
    return bytes(body) + b"".join(rows)


#: Record sizes of the tables of models and terrains, for changes of whole records.
_STRIDES = {kind: stride for kind, (stride, _) in STRIDES.items()} | {12: 56, 16: 8, 17: 20}


def mutate_nres(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change a container inside, and make its header and directory fit again."""
    entries = None if chance.random() < 0.08 else split_nres(data)
    if not entries:
        return mutate_bytes(chance, data, others)
    for _ in range(chance.choice((1, 1, 2, 3))):
        row = chance.randrange(len(entries))
        entry = entries[row]
        kind = chance.randrange(16)
        if kind <= 6:
            entry[5] = in_place(chance, entry[5], _STRIDES.get(entry[0], 4))
        elif kind == 7:
            inner = split_nres(entry[5])
            if inner:
                entry[5] = mutate_nres(chance, entry[5], others)
            else:
                entry[5] = mutate_bytes(chance, entry[5], [])
        elif kind in (8, 9):
            stride = _STRIDES.get(entry[0], 4)
            rows = chance.choice((0, 1, 2, len(entry[5]) // stride // 2))
            head = 140 if entry[0] == 2 else 0
            more = chance.random() < 0.3
            body = entry[5][head:]
            entry[5] = entry[5][:head] + (body + body[: rows * stride] if more else body[: rows * stride])
        elif kind in (10, 11):
            entry[chance.choice((1, 2, 3))] = chance.choice((number(chance) & 0xFFFFFFFF, len(entry[5])))
        elif kind == 12 and len(entries) > 1:
            del entries[row]
        elif kind == 13:
            entries.insert(chance.randrange(len(entries) + 1), list(entry))
        elif kind == 14:
            entry[4] = mutate_bytes(chance, entry[4], [])[:36].ljust(36, b"\0")
            if chance.random() < 0.3:
                entry[0] = chance.choice((*_STRIDES, 10, 20, number(chance) & 0xFFFFFFFF))
        else:
            other = split_nres(chance.choice(others)) if others else None
            same = [e for e in other or [] if e[0] == entry[0]]
            if same:
                entries[row] = chance.choice(same)
    out = join_nres(entries)
    return mutate_bytes(chance, out, []) if chance.random() < 0.03 else out


def in_place(chance: random.Random, data: bytes, stride: int = 0) -> bytes:
    """Change words and floats; ``stride``: of records, which are copied over others, and whose words are aligned."""
    size, out = len(data), bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5)) if size >= 4 else 0):
        how, at = chance.randrange(5), chance.randrange(size - 3)
        at -= at % 2 if stride else 0
        if how == 0 and size >= 2 * stride > 0:
            source, target = (chance.randrange(size // stride) * stride for _ in range(2))
            out[target : target + stride] = out[source : source + stride]
        elif how == 1:
            value = chance.choice(FLOATS)
            struct.pack_into("<f", out, at, value if abs(value) < 1e300 else value * 1e10)
        elif how == 2:
            out[at] = chance.choice((out[at] ^ 1 << chance.randrange(8), chance.randrange(256)))
        else:
            width = chance.choice((2, 2, 4))
            out[at : at + width] = (number(chance) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(out)


# ------------------------------------------------------------------ sidecars and pictures


def mutate_sidecar(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change description or source; half of the time the digests are made to fit again."""
    kind = chance.random()
    if kind < 0.1 or len(data) < 56:
        return mutate_bytes(chance, data, others)
    size = struct.unpack_from("<I", data, 12)[0]
    text, source = data[56 : 56 + size], data[56 + size :]
    where = chance.random()
    if where < 0.7:
        text = mutate_json(chance, text, [])
    else:
        source = mutate_nres(chance, source, [])
    if chance.random() < 0.5:
        try:
            tree = json.loads(text)
            if "source_sha256" in tree:
                tree["source_sha256"] = hashlib.sha256(source).hexdigest()
                text = json.dumps(tree).encode()
        except (ValueError, TypeError, RecursionError):
            pass
    digest = hashlib.sha256(text + source).digest()
    if chance.random() < 0.1:
        digest = bytes(32)
    return struct.pack("<8sIIQ", b"MSHSIDE\x1a", 1, len(text), len(source)) + digest + text + source


def mutate_png(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change chunks; the check sums fit again most of the time."""
    if chance.random() < 0.1:
        return mutate_bytes(chance, data, others)
    chunks, at = [], 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        chunks.append([data[at + 4 : at + 8], data[at + 8 : at + 8 + size]])
        at += 12 + size
    if not chunks:
        return mutate_bytes(chance, data, others)
    chunk = chance.choice(chunks)
    kind = chance.randrange(6)
    if kind == 0 and len(chunks) > 1:
        chunks.remove(chunk)
    elif kind == 1:
        chunks.insert(chance.randrange(len(chunks)), list(chance.choice(chunks)))
    elif kind == 2:
        names = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"iCCP", b"zTXt", b"iTXt", b"acTL", b"fcTL")
        chunk[0] = chance.choice(names)
    elif chunk[0] == b"IHDR" and len(chunk[1]) == 13 and kind < 5:
        raw = bytearray(chunk[1])
        at = chance.choice((3, 7, 8, 9, 12, 1, 0))
        raw[at] = chance.choice((0, 1, 2, 3, 4, 6, 8, 16, 255))
        chunk[1] = bytes(raw)
    else:
        try:
            raw = zlib.decompress(chunk[1])
            chunk[1] = zlib.compress(mutate_bytes(chance, raw, []))
        except zlib.error:
            chunk[1] = mutate_bytes(chance, chunk[1], [])
    out = data[:8]
    for name, body in chunks:
        out += len(body).to_bytes(4, "big") + name + body
        out += zlib.crc32(name + body).to_bytes(4, "big")
    return out
