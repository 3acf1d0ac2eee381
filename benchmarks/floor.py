"""The floor: what it costs at least to turn core models into GLB bytes with NumPy.

    python benchmarks/floor.py GAME

One loop that decodes geometry with ``np.frombuffer`` and assembles the bytes with NumPy and
``json.dumps``: nodes, meshes, a primitive with its own window into the streams per batch, exact
bounds. No validation, no dialects (``retail``), no poses, no clips, no materials, no sidecar, no
files.
It shares no code with the converter. Figures of the converter are given as multiples of it.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

ENTRY = struct.Struct("<5I36s2I")
NODE = np.dtype([("head", "<u2", (4,)), ("slot", "<u2", (15,))])
SLOT = np.dtype([("tri", "<u2", (2,)), ("batch", "<u2", (2,)), ("rest", "V60")])
BATCH = np.dtype([("word", "<u2", (4,)), ("count", "<u2"), ("start", "<u4"), ("top", "<u2"), ("base", "<u4")])


def entries(data: memoryview) -> list[tuple[int, memoryview]]:
    """Type ids and payloads of an NRes file."""
    count, total = struct.unpack_from("<iI", data, 8)
    return [(row[0], data[row[6] : row[6] + row[3]]) for row in ENTRY.iter_unpack(data[total - 64 * count :])]


def models(archive: bytes) -> list[memoryview]:
    """The core models of an archive."""
    return [
        payload
        for _, payload in entries(memoryview(archive))
        if bytes(payload[:4]) == b"NRes" and {1, 2, 3, 6, 13} <= {kind for kind, _ in entries(payload)}
    ]


def geometry(model: memoryview) -> tuple[Any, ...]:
    """Nodes, slots, batches, positions, normals, UV and indices of a model, in glTF's axes."""
    table: dict[int, memoryview] = {}
    for kind, payload in entries(model):
        table.setdefault(kind, payload)
    nodes = np.frombuffer(table[1], NODE)
    slots = np.frombuffer(table[2][140:], SLOT)
    batches = np.frombuffer(table[13], BATCH)
    stored = np.frombuffer(table[3], "<f4").reshape(-1, 3)
    positions = np.stack([stored[:, 0], stored[:, 2], -stored[:, 1]], axis=1)
    normals = np.frombuffer(table[4], "i1").reshape(-1, 4)[:, :3].astype("<f4") / np.float32(127)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.float32(1e-6))
    normals = np.stack([normals[:, 0], normals[:, 2], -normals[:, 1]], axis=1)
    uv = np.frombuffer(table[5], "<i2").reshape(-1, 2).astype("<f4") / np.float32(1024)
    return nodes, slots, batches, positions, normals, uv, np.frombuffer(table[6], "<u2")


def bounds(positions: Any, batches: Any) -> tuple[list[list[float]], list[list[float]]]:
    """Least and largest position of every batch's window."""
    ends = np.stack([batches["base"], batches["base"] + batches["top"]], axis=1).ravel()
    padded = np.concatenate([positions, positions[:1]])
    low, high = (f.reduceat(padded, ends)[::2].tolist() for f in (np.minimum, np.maximum))
    return low, high


def glb(model: memoryview) -> bytes:
    """A model as a GLB file."""
    nodes, slots, batches, positions, normals, uv, indices = geometry(model)
    streams = [positions, normals, uv, indices]
    views, chunks, at = [], [], 0
    for stream in streams:
        data = stream.tobytes()
        data += bytes(-len(data) % 4)
        views.append({"buffer": 0, "byteOffset": at, "byteLength": stream.nbytes})
        chunks.append(data)
        at += len(data)
    for view, stride in zip(views, (12, 12, 8), strict=False):
        view["byteStride"] = stride
    words, counts, starts, tops, bases = (batches[k].tolist() for k in ("word", "count", "start", "top", "base"))
    lows, highs = bounds(positions, batches)
    accessors: list[dict[str, Any]] = []
    meshes: list[dict[str, Any]] = []
    documents: list[dict[str, Any]] = [{"name": f"node_{i}"} for i in range(len(nodes))]
    materials: dict[int, int] = {}
    mesh_of: dict[int, int] = {}
    for node, cells in enumerate(nodes["slot"].tolist()):
        for cell, slot in enumerate(cells):
            if slot == 0xFFFF:
                continue
            if slot not in mesh_of:
                mesh_of[slot] = len(meshes)
                first, many = slots["batch"][slot].tolist()
                primitives = []
                for batch in range(first, first + many):
                    base, count = bases[batch], tops[batch]
                    at = len(accessors)
                    accessors += [
                        {
                            "bufferView": 0,
                            "byteOffset": 12 * base,
                            "componentType": 5126,
                            "count": count,
                            "type": "VEC3",
                            "min": lows[batch],
                            "max": highs[batch],
                        },
                        {
                            "bufferView": 1,
                            "byteOffset": 12 * base,
                            "componentType": 5126,
                            "count": count,
                            "type": "VEC3",
                        },
                        {
                            "bufferView": 2,
                            "byteOffset": 8 * base,
                            "componentType": 5126,
                            "count": count,
                            "type": "VEC2",
                        },
                        {
                            "bufferView": 3,
                            "byteOffset": 2 * starts[batch],
                            "componentType": 5123,
                            "count": counts[batch],
                            "type": "SCALAR",
                        },
                    ]
                    material = materials.setdefault(words[batch][2] & 0xFF, len(materials))
                    attributes = {"POSITION": at, "NORMAL": at + 1, "TEXCOORD_0": at + 2}
                    primitives.append({"attributes": attributes, "indices": at + 3, "material": material})
                meshes.append({"name": f"node_{node}.{cell}", "primitives": primitives})
            documents.append({"name": f"node_{node}.{cell}", "mesh": mesh_of[slot]})
    text = json.dumps(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": list(range(len(documents)))}],
            "nodes": documents,
            "meshes": meshes,
            "materials": [{"name": f"material_{row}"} for row in materials],
            "accessors": accessors,
            "bufferViews": views,
            "buffers": [{"byteLength": sum(map(len, chunks))}],
        },
        separators=(",", ":"),
    ).encode()
    text += b" " * (-len(text) % 4)
    binary = b"".join(chunks)
    size = 28 + len(text) + len(binary)
    return b"".join(
        [
            struct.pack("<4sII", b"glTF", 2, size),
            struct.pack("<I4s", len(text), b"JSON"),
            text,
            struct.pack("<I4s", len(binary), b"BIN\0"),
            binary,
        ]
    )


def main() -> None:
    """The floor of a whole game, as a process: archives in, GLB bytes, no files."""
    for path in sorted(Path(sys.argv[1]).glob("*.rlb")):
        for model in models(path.read_bytes()):
            glb(model)


if __name__ == "__main__":
    main()
