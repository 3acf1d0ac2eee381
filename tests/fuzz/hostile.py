"""Small files that claim to be huge, or do much with little: ``(name, target, bytes)``.

One statement in a game's file that claims much is a corruption (``tests.support.corruption``), its memory bounded too.
"""

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from tests.fuzz.mutate import dump, join_glb, join_nres, split_nres
from tests.fuzz.targets import manifests, models
from tests.support.assembly import registry, unit
from tests.support.rsli import cipher, deflate, library

HUGE = 0xFFFFFFFF
Hostile = tuple[str, str, bytes]


def hostile() -> Iterator[Hostile]:
    """All of them."""
    yield from _models()
    yield from _sidecars()
    yield from _manifests()
    yield from _documents()
    yield from _clips()
    yield from _objects()
    yield from _pictures()
    yield from _assembly()


def _entry(entries: list[list[Any]], kind: int) -> list[Any]:
    return next(entry for entry in entries if entry[0] == kind)


def _changed(data: bytes, **tables: bytes) -> bytes:
    entries = split_nres(data)
    for name, payload in tables.items():
        _entry(entries, int(name[1:]))[5] = payload
    return join_nres(entries)


def _models() -> Iterator[Hostile]:
    """Each of them reaches a few thousand rows millions of times."""
    data = models()[-2]
    entries = [entry for entry in split_nres(data) if entry[0] != 10]  # a string per node
    data = join_nres(entries)
    count = len(_entry(entries, 3)[5]) // 12
    header = _entry(entries, 2)[5][:140]
    indices = struct.pack("<H", count - 1) * 60000
    batch = struct.pack("<4HHIHI", 0, 0, 0, HUGE & 0xFFFF, 60000, 0, count, 0)
    slot = struct.pack("<4H", 0, 0, 0, 1) + bytes(60)
    node = struct.pack("<4H", 0, 0xFFFF, 0xFFFF, 0) + bytes(2) + b"\xff" * 28
    yield "batches share indices", "model_out", _changed(data, t6=indices, t13=batch * 4000, t2=header + slot, t1=node)
    yield "nodes share a slot", "model_out", _changed(data, t6=indices, t13=batch, t2=header + slot, t1=node * 5000)
    many = struct.pack("<4H", 0, 0, 0, 30000) + bytes(60)
    small = struct.pack("<4HHIHI", 0, 0, 0, HUGE & 0xFFFF, 3, 0, count, 0)
    shared = _changed(data, t6=indices[:6], t13=small * 30000, t2=header + many * 5000, t1=node)
    yield "slots share batches", "model_out", shared
    entries = split_nres(_changed(data, t1=struct.pack("<4H", 0, 0xFFFF, 0, 0) + b"\xff" * 30))
    _entry(entries, 1)[5] *= 5000
    frames = _entry(entries, 19)
    frames[5], frames[2] = bytes(2 * 60000), 60000
    yield "nodes share frames", "model_out", join_nres(entries)
    data = models()[-2]
    for table in (1, 2, 3, 6, 13, 10, 17, 19):
        again = split_nres(data)
        for entry in (entry for entry in again if entry[0] == table):
            entry[1:4] = [HUGE] * 3
        yield f"attributes of Res{table}", "model_out", join_nres(again)
    yield "strings", "msh", _changed(data, t10=struct.pack("<I", HUGE) * 40)


def _sidecars() -> Iterator[Hostile]:
    for text, source in ((HUGE, 0), (0, (1 << 64) - 1), (2, (1 << 63) - 1)):
        head = struct.pack("<8sIIQ", b"MSHSIDE\x1a", 1, text, source)
        yield f"{text} and {source} bytes", "sidecar", head + bytes(32) + b"{}"
    for name, description in (("depth", b'{"a":' * 200_000), ("digits", b'{"format": ' + b"9" * 100_000 + b"}")):
        head = struct.pack("<8sIIQ", b"MSHSIDE\x1a", 1, len(description), 0)
        yield name, "sidecar", head + hashlib.sha256(description).digest() + description


def _manifests() -> Iterator[Hostile]:
    """Those that are deep or long, and those that name what is outside of their directory, or the directory itself."""
    yield "manifest", "manifest", b'{"a":' * 200_000
    yield "number", "manifest", b'{"format": ' + b"9" * 100_000 + b"}"
    for path in ("../x.glb", "/x.glb", "a/../../x", "C:/x", "C:x", "..\\x", "a\0b", "", ".", "./", "/"):
        for kind, place in (("models", "path"), ("archives", "folder")):
            facts = json.loads(manifests()[0])
            row = facts[kind][0]
            (row["outputs"][0] if kind == "models" else row)[place] = path
            yield f"{place} {path!r}", "manifest", dump(facts)


def _documents() -> Iterator[Hostile]:
    triangle = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)

    def made(binary: bytes = triangle, **change: Any) -> bytes:
        tree = {
            "asset": {"version": "2.0"},
            "nodes": [{"mesh": 0}],
            "meshes": [{"name": "m", "primitives": [{"attributes": {"POSITION": 0}}]}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
            "bufferViews": [{"buffer": 0, "byteLength": len(binary)}],
            "buffers": [{"byteLength": len(binary)}],
        }
        return join_glb(dump({**tree, **change}), binary)

    accessor = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
    for count in (1 << 31, 1 << 62, 1 << 64, 10**30, 0, -1, -(1 << 63)):
        yield f"{count} elements", "gltf_new", made(accessors=[{**accessor, "count": count}])
        zeros = {"componentType": 5126, "count": count, "type": "MAT4"}
        yield f"{count} zeros", "gltf_new", made(accessors=[zeros])
        kinds = {"indices": {"bufferView": 0, "componentType": 5125}, "values": {"bufferView": 0}}
        sparse = {**accessor, "sparse": {"count": count, **kinds}}
        yield f"{count} sparse", "gltf_new", made(accessors=[sparse])
        view = {"buffer": 0, "byteLength": 36}
        for key in ("byteOffset", "byteStride", "byteLength"):
            yield f"{key} {count}", "gltf_new", made(bufferViews=[{**view, key: count}])
        yield f"buffer of {count}", "gltf_new", made(buffers=[{"byteLength": count}])
    large, many = {**accessor, "count": 60_000}, [{"attributes": {"POSITION": i}} for i in range(4000)]
    bytes_of = [{**large, "componentType": 5121, "normalized": True}] * 4000
    for name, change in (
        ("primitives share", {"meshes": [{"name": "m", "primitives": [{"attributes": {"POSITION": 0}}] * 3000}]}),
        ("nodes share", {"nodes": [{"mesh": 0}] * 20_000}),
        ("accessors share", {"accessors": bytes_of, "meshes": [{"name": "m", "primitives": many}]}),
    ):
        yield name, "gltf_new", made(triangle * 20_000, **{"accessors": [large], **change})
    chain = [{"children": [i + 1]} for i in range(2000)] + [{"mesh": 0}]
    yield "chain of nodes", "gltf_new", made(nodes=chain, scenes=[{"nodes": [0]}])
    loop = [{"children": [1], "mesh": 0}, {"children": [0]}]
    yield "loop of nodes", "gltf_new", made(nodes=loop, scenes=[{"nodes": [0]}])
    side_by_side = [{"mesh": 0, "translation": [i % 9, 0, 0]} for i in range(4000)]
    yield "4,000 nodes side by side", "gltf_new", made(nodes=side_by_side, scenes=[{"nodes": [*range(4000)]}])
    below = [{**node, "children": [i + 1]} for i, node in enumerate(side_by_side[:-1])]
    yield "4,000 nodes in a chain", "gltf_new", made(nodes=[*below, {"mesh": 0}], scenes=[{"nodes": [0]}])
    yield "far away", "gltf_new", made(nodes=[{"mesh": 0, "translation": [1e13, 0, 0]}])
    yield "half a character", "gltf_new", made(nodes=[{"mesh": 0, "name": "\ud800"}])
    yield "fourth level", "gltf_new", made(nodes=[{"mesh": 0, "extras": {"msh": {"lod": 3}}}])
    yield "dialect", "gltf_new", made(scenes=[{"nodes": [0], "extras": {"msh": {"dialect": "x"}}}])
    yield "65,700 nodes in a chain", "gltf_new", made(nodes=_chain(65_700), scenes=[{"nodes": [0]}])
    yield "1,000,001 nodes", "gltf_new", made(nodes=[{}] * 1_000_001)
    for name in ("meshes", "materials", "animations", "skins", "accessors", "bufferViews"):
        yield f"200,000 {name}", "gltf_new", made(**{name: [{}] * 200_000})
    samplers = [{"samplers": [{}] * 200_000, "channels": []}]
    yield "200,000 samplers", "gltf_new", made(animations=samplers)
    uri = "data:;base64," + base64.b64encode(bytes(60)).decode()
    yield "data URI", "gltf_new", made(buffers=[{"byteLength": 1 << 40, "uri": uri}])
    yield "chunk", "gltf_new", struct.pack("<4sIIII", b"glTF", 2, 20, HUGE, 0x4E4F534A)
    yield "depth", "gltf_new", b'{"asset":' + b"[" * 500_000
    yield "digits", "gltf_new", b'{"asset":{"version":' + b"9" * 100_000 + b"}}"
    draco = b"DRACO\x02\x02\x01\x01\0\0\0" + b"\xff\xff\xff\xff\x0f" * 2 + bytes(64)
    packed = {"KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {"POSITION": 0}}}
    primitive = {"attributes": {"POSITION": 0}, "indices": 0, "extensions": packed}
    yield "Draco", "gltf_new", made(draco, meshes=[{"name": "m", "primitives": [primitive]}])


def _chain(count: int) -> list[dict[str, Any]]:
    return [*({"children": [i + 1]} for i in range(count - 1)), {}]


def _clips() -> Iterator[Hostile]:
    """Clips that last long, or state that they do."""

    def made(times: list[float], nodes: int = 1, **stated: Any) -> bytes:
        keys = len(times)
        values = [float(i) for i in range(3 * keys)]
        binary = struct.pack(f"<{4 * keys}f", *times, *values)
        channels = [{"sampler": 0, "target": {"node": i, "path": "translation"}} for i in range(nodes)]
        tree = {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [*range(nodes)], "extras": {"msh": stated}}],
            "nodes": [{"name": f"n{i}"} for i in range(nodes)],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": keys, "type": "SCALAR"},
                {"bufferView": 1, "componentType": 5126, "count": keys, "type": "VEC3"},
            ],
            "bufferViews": [
                {"buffer": 0, "byteLength": 4 * keys},
                {"buffer": 0, "byteOffset": 4 * keys, "byteLength": 12 * keys},
            ],
            "buffers": [{"byteLength": len(binary)}],
            "animations": [{"samplers": [{"input": 0, "output": 1}], "channels": channels}],
        }
        return join_glb(dump(tree), binary)

    yield "clip of 3e6 s", "gltf_new", made([0, 1, 3e6])
    yield "clip of 65,536 frames", "gltf_new", made([0, 1, 65_535 / 24])
    yield "clip of 3e6 s before 0", "gltf_new", made([-3e6, 0])
    yield "clip of 3e6 s that ends before 0", "gltf_new", made([-3e6, -1])
    yield "clip at 1e30 frames a second", "gltf_new", made([0, 1, 2], fps=1e30)
    yield "clip of 1e8 stated frames", "gltf_new", made([0, 1], frame_count=10**8)
    yield "clip of stated text", "gltf_new", made([0, 1], frame_count="x")
    yield "2,000 nodes that move for 60,000 frames", "gltf_new", made([0, 2500], 2000)


def _objects() -> Iterator[Hostile]:
    points = b"v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    for index in (b"999999999", b"99999999999999999999", b"-99999999999", b"0"):
        yield f"index {index.decode()}", "obj_new", points + b"f 1 2 " + index + b"\n"
    faces = b"".join(b"o %d\nf 1 2 3\n" % i for i in range(30_000))
    yield "objects", "obj_new", points + faces


def _pictures() -> Iterator[Hostile]:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    def png(width: int, height: int, *more: bytes) -> bytes:
        head = chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0))
        end = chunk(b"IDAT", zlib.compress(bytes(1 << 20), 9)) + chunk(b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + end

    for width, height in ((HUGE, HUGE), (0x7FFFFFFF, 1), (30_000, 30_000), (9000, 9000), (4097, 4096)):
        yield f"{width} x {height} picture", "picture", png(width, height)
    for name in (b"IHDR", b"IDAT", b"IEND"):
        cut = png(4, 4)
        at = cut.index(name) - 4
        yield f"{name.decode()} chunk", "picture", cut[:at] + b"\x7f\xff\xff\xff" + cut[at + 4 :]
    bomb = zlib.compress(bytes(64 << 20), 9)
    yield "text", "picture", png(4, 4, chunk(b"zTXt", b"a\0\0" + bomb))
    yield "profile", "picture", png(4, 4, chunk(b"iCCP", b"a\0\0" + bomb))


def _assembly() -> Iterator[Hostile]:
    yield "deep", "unit", unit([("a", 0, 0, 1)] * 3000 + [("a", 0, 0, 0)])
    parents = [("objects.rlb", f"k{i}") for i in range(200)]
    yield "parents", "registry", registry({f"k{i}": ("FORT", parents) for i in range(200)})
    zeros, empty = deflate(bytes(64 << 20)), library([])
    for size in (64 << 20, HUGE, 1 << 24):
        row = b"BOMB".ljust(12, b"\0") + struct.pack("<IHh3I", 0, 0x100, 0, size, 64, len(zeros))
        yield f"{size} bytes of Deflate", "rsli", empty[:4] + struct.pack("<h", 1) + empty[6:] + cipher(row) + zeros
    for row, count in enumerate((0x7FFFFFFF, 20_000, 0x7FFFFFF, HUGE, 5_000)):
        claims = [count if row == place else 0 for place in range(5)]
        yield f"{count} in place {row}", "controller", struct.pack("<5I", *claims) + bytes(400)
    yield "states", "controller", struct.pack("<5I", 2000, 0x7FFFFFFF, 0, 0, 0) + bytes(400_000)
