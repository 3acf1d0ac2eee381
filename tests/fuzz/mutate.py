"""One mutator for every format: a file is taken apart into a tree, changed inside, and put together again.

What is outside (sizes, directories, check sums, digests) fits again, so that most inputs get past the first checks.
Nothing here shares code with the readers. All chance comes from one generator.
"""

import hashlib
import json
import random
import struct
import zlib
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tests.support.corruption.base import STRIDES

Mutator = Callable[[random.Random, bytes, list[bytes]], bytes]
#: What a file holds, as records, lists, dictionaries, numbers, text and bytes; and what makes a file of it again.
Parts = tuple[Any, Callable[[Any], bytes]]

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
#: Words of text files, and chunks of pictures.
_WORDS = (
    *("0", "-1", "1", "99999999", "inf", "1e400", "1e39", "/", "//", "1/", "1//1", "-1/-1/-1", "\\", "\xff\xfe"),
    *("%00", '"', "#", "o", "v", "f", "usemtl", "LIGHTMAPS", "1.5", "\xc2\xb2", "\x1c", "1_0", ""),
    *("IHDR", "PLTE", "tRNS", "IDAT", "IEND", "iCCP", "zTXt", "iTXt", "acTL", "fcTL"),
)
_KEYS = (
    *("POSITION", "NORMAL", "TEXCOORD_0", "TEXCOORD_1", "COLOR_0", "JOINTS_0", "WEIGHTS_0", "_MSH_BLEND"),
    *("matrix", "scale", "skin", "mesh", "sparse", "bufferView", "byteStride", "byteOffset", "normalized"),
    *("targets", "mode", "indices", "extensions", "extras", "msh", "KHR_texture_transform"),
    *("KHR_draco_mesh_compression", "EXT_meshopt_compression", "children", "camera", "uri", "node"),
    *("interpolation", "texCoord", "name", "fps", "lod", "group", "row", "kind"),
)


class Record(list[Any]):
    """Fields, of which none is added or lost; the last is what the record is about."""


def number(chance: random.Random) -> int:
    """A whole number that is likely to hurt."""
    kind = chance.random()
    if kind < 0.6:
        return chance.choice(NUMBERS)
    if kind < 0.8:
        return chance.randrange(0, 40)
    return (1 << chance.randrange(0, 34)) + chance.randrange(-2, 3)


# ------------------------------------------------------------------ changes


def mutate_bytes(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change words in place, or take away, repeat, blank and insert runs; one to four changes."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        size = len(out)
        kind = chance.randrange(9) if size else 8
        at = chance.randrange(size) if size else 0
        if kind <= 4:
            out[:] = _in_place(chance, bytes(out))
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


def _in_place(chance: random.Random, data: bytes) -> bytes:
    """Change a bit, a byte, a word or a float."""
    out, how, width = bytearray(data), chance.randrange(5), chance.choice((2, 4))
    at = chance.randrange(len(out))
    if how == 0 or len(out) < 4:
        out[at] = chance.choice((out[at] ^ 1 << chance.randrange(8), chance.randrange(256)))
    elif how == 1:
        value = chance.choice(FLOATS)
        struct.pack_into("<f", out, min(at - at % 4, len(out) - 4), value if abs(value) < 1e300 else value * 1e10)
    else:
        at = min(at - at % 2, len(out) - width)
        out[at : at + width] = (number(chance) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(out)


def change(chance: random.Random, tree: Any, donor: Any) -> Any:
    """Change something in a tree; ``donor``: another tree, or the same part of it, which may take its place."""
    if isinstance(tree, Record):
        at = len(tree) - 1 if chance.random() < 0.35 else chance.randrange(len(tree))
        other = donor[at] if isinstance(donor, Record) and len(donor) == len(tree) else None
        tree[at] = change(chance, tree[at], other)
        return tree
    if isinstance(tree, list | dict) and tree:
        keys = range(len(tree)) if isinstance(tree, list) else [*tree]
        at = chance.choice(keys)
        if chance.random() < (0.3 if isinstance(tree[at], list) else 0.12):
            return _rearranged(chance, tree, at, donor)
        has = isinstance(donor, type(tree)) and (at in donor if isinstance(donor, dict) else at < len(donor))
        other = donor[at] if has else None
        take = other is not None and chance.random() < 0.05
        tree[at] = deepcopy(other) if take else change(chance, tree[at], other)
        return tree
    return _like(chance, tree) if chance.random() < 0.8 or isinstance(tree, bytes) else _value(chance)


def _rearranged(chance: random.Random, tree: Any, at: Any, donor: Any) -> Any:
    """Take away, repeat, exchange, rename or cut members of a list or a dictionary."""
    kind = chance.randrange(6)
    other = chance.choice(range(len(tree)) if isinstance(tree, list) else [*tree])
    if kind == 0:
        del tree[at]
    elif kind == 1:
        tree[at] = deepcopy(tree[other])
    elif isinstance(tree, dict):
        value = tree.pop(at) if kind == 2 else _value(chance)
        tree[at if kind == 3 else chance.choice(_KEYS)] = value
    elif kind == 2:
        tree[at:at] = [deepcopy(tree[at]) for _ in range(chance.choice((1, 1, 2, 30)))]
    elif kind == 3:
        tree[at], tree[other] = tree[other], tree[at]
    elif kind == 4 and isinstance(donor, list) and donor:
        tree.insert(at, deepcopy(chance.choice(donor)))
    else:
        del tree[chance.choice((0, 1, 2, len(tree) // 2)) :]
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
        return chance.choice((*_STRINGS, *_WORDS, old + "x", old[:-1]))
    if isinstance(old, bytes):
        return _in_place(chance, old) if old and chance.random() < 0.7 else mutate_bytes(chance, old, [])
    return _value(chance)


def _value(chance: random.Random) -> Any:
    return chance.choice(
        (
            *(None, True, False, -1, 0, 1, number(chance), 1.5, chance.choice(FLOATS), [], {}, [0], "x"),
            *(chance.choice(_STRINGS), [[[]]], {"a": {}}, 10**400, [0, 0, 0, 1], [1, 1, 1], {"msh": {}}),
        )
    )


def mutator(take_apart: Callable[[bytes], Parts | None]) -> Mutator:
    """What changes one to three things inside; now and then bytes of the whole, which nothing puts right again."""

    def mutate(chance: random.Random, data: bytes, others: list[bytes]) -> bytes:
        parts = None if chance.random() < 0.06 else take_apart(data)
        if parts is None:
            return mutate_bytes(chance, data, others)
        tree, together = parts
        donor = take_apart(chance.choice(others)) if others else None
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            tree = change(chance, tree, None if donor is None else donor[0])
        try:
            return together(tree)
        except (TypeError, ValueError, AttributeError, LookupError, OverflowError, struct.error):
            return mutate_bytes(chance, data, others)  # something is there that the format has no place for

    return mutate


# ------------------------------------------------------------------ text and JSON


def text_parts(data: bytes) -> Parts:
    """Lines of words."""
    lines = [line.split(" ") for line in data.decode("latin-1").split("\n")]
    return lines, lambda tree: "\n".join(map(" ".join, tree)).encode("latin-1", "replace")


def dump(tree: Any) -> bytes:
    """JSON as loosely as Python writes it: NaN, Infinity, numbers of any length."""
    return json.dumps(tree).encode()


def json_parts(data: bytes) -> Parts | None:
    try:
        return json.loads(data), dump
    except (ValueError, RecursionError):
        return None


# ------------------------------------------------------------------ glTF


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


def gltf_parts(data: bytes) -> Parts | None:
    """The buffer of a ``.glb``, which keeps its size, and the document; a ``.gltf`` is a document alone."""
    text, binary = split_glb(data) or (data, b"")
    parts = json_parts(text)
    if parts is None or text is data:
        return parts
    size = len(binary)
    return Record([binary, parts[0]]), lambda tree: join_glb(dump(tree[1]), tree[0][:size].ljust(size, b"\0"))


# ------------------------------------------------------------------ NRes


def split_nres(data: bytes) -> list[list[Any]]:
    """``[type, attr1, attr2, attr3, name, payload]`` per entry; none: no container."""
    if data[:4] != b"NRes" or len(data) < 16:
        return []
    count, total = struct.unpack_from("<iI", data, 8)
    first = len(data) - 64 * count
    if total != len(data) or first < 16 or not 0 <= count < 10_000:
        return []
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


#: Record sizes of the tables of models and terrains, and where the first is.
_STRIDES = STRIDES | {12: (56, 0), 16: (8, 0), 17: (20, 0)}


def nres_parts(data: bytes) -> Parts | None:
    """Entries, their payloads as a head and rows, or as entries where they are containers themselves."""
    entries = split_nres(data)
    if not entries:
        return None

    def together(tree: list[Any]) -> bytes:
        rows = [[*(int(word) & 0xFFFFFFFF for word in row[:4]), row[4][:36], payload(row[5])] for row in tree]
        return join_nres(rows)

    def payload(part: Any) -> bytes:
        if isinstance(part, Record):
            return part[0] + b"".join(part[1])
        return part if isinstance(part, bytes) else together(part)

    def parts(entry: list[Any]) -> Record:
        *head, whole = entry
        stride, first = _STRIDES.get(entry[0], (0, 0))
        inner = nres_parts(whole) if len(whole) < len(data) else None  # one may be the file itself
        if inner:
            return Record([*head, inner[0]])
        if not stride or not whole:
            return Record([*head, whole])
        rows = [whole[at : at + stride] for at in range(first, len(whole), stride)]
        return Record([*head, Record([whole[:first], rows])])

    return [parts(entry) for entry in entries], together


# ------------------------------------------------------------------ sidecars and pictures


def sidecar_parts(data: bytes) -> Parts | None:
    """The description and the source; the digest of the source fits again half of the time."""
    if len(data) < 56:
        return None
    size = struct.unpack_from("<I", data, 12)[0]
    described, source = json_parts(data[56 : 56 + size]), nres_parts(data[56 + size :])
    if described is None:
        return None

    def together(tree: Record) -> bytes:
        kept = tree[1] if source is None else source[1](tree[1])
        digest = hashlib.sha256(kept)
        if "source_sha256" in tree[0] and digest.digest()[0] % 2:
            tree[0]["source_sha256"] = digest.hexdigest()
        text = dump(tree[0])
        head = struct.pack("<8sIIQ", b"MSHSIDE\x1a", 1, len(text), len(kept))
        return head + hashlib.sha256(text + kept).digest() + text + kept

    return Record([described[0], data[56 + size :] if source is None else source[0]]), together


def png_parts(data: bytes) -> Parts | None:
    """Chunks; the header's numbers, and what other chunks pack."""
    chunks, at = [], 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        name, body = data[at + 4 : at + 8].decode("latin-1"), data[at + 8 : at + 8 + size]
        at += 12 + size
        if name == "IHDR" and len(body) == 13:
            chunks.append(Record([name, Record(struct.unpack(">2I5B", body))]))
        else:
            chunks.append(Record([name, zlib.decompress(body) if name == "IDAT" else body]))

    def together(tree: list[Any]) -> bytes:
        out = data[:8]
        for name, body in tree:
            if isinstance(body, Record):
                numbers = [int(value) for value in body]
                body = struct.pack(">2I5B", *(v & 0xFFFFFFFF for v in numbers[:2]), *(v & 255 for v in numbers[2:]))
            chunk = name.encode("latin-1") + (zlib.compress(body) if name == "IDAT" else body)
            out += len(chunk[4:]).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big")
        return out

    return (chunks, together) if chunks else None


#: Of what nothing may move in, as it is read from front to back.
mutate_words = mutator(lambda data: (data, bytes))
mutate_text, mutate_json, mutate_gltf = map(mutator, (text_parts, json_parts, gltf_parts))
mutate_nres, mutate_sidecar, mutate_png = map(mutator, (nres_parts, sidecar_parts, png_parts))
