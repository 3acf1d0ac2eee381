"""Rewrite a .glb as other tools do: other layouts of the same content, and small edits."""

import base64
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.gltf_view import GltfView

_CODES = {"f": 5126, "B": 5121, "H": 5123, "I": 5125}
_KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}

#: URIs of files on other machines, of pipes and of no directory of ours: looking there does harm.
PATHS_ELSEWHERE = (
    "//server/share/m.bin",
    "\\\\server\\share\\m.bin",
    "%2F%2Fserver/share/m.bin",
    "%5C%5Cserver%5Cshare%5Cm.bin",
    "\\\\?\\UNC\\server\\share\\m.bin",
    "\\\\.\\pipe\\x",
    "//./NUL",
    "//?/C:/m.bin",
    "/etc/m.bin",
    "\\m.bin",
)
#: Those that only Windows takes for a device, or for a file of another directory.
DEVICES = ("NUL", "con", "sub/aux.bin", "COM1%20.bin", "lpt1:", "C:m.bin", "C%3Am.bin")


class Editable:
    """A document whose accessors are arrays; nothing of the old layout is left when saved."""

    def __init__(self, path: Path) -> None:
        view = GltfView(path)
        self.json: dict[str, Any] = json.loads(json.dumps(view.json))
        self.arrays = [view.array(i).copy() for i in range(len(view["accessors"]))]
        self.normalized = [a.get("normalized", False) for a in view["accessors"]]
        self.pictures = {i: view.picture(image) for i, image in enumerate(view["images"]) if "bufferView" in image}

    def add(self, array: np.ndarray[Any, Any]) -> int:
        self.arrays.append(array)
        self.normalized.append(False)
        return len(self.arrays) - 1

    def primitives(self) -> list[dict[str, Any]]:
        return [p for mesh in self.json.get("meshes", []) for p in mesh["primitives"]]

    def node(self, name: str) -> dict[str, Any]:
        return next(n for n in self.json["nodes"] if n["name"] == name)

    def put(self, node: dict[str, Any], above: int | None = None) -> int:
        """Add a node to the first scene, or below another node; returns its number."""
        nodes = self.json["nodes"]
        holder, key = (self.json["scenes"][0], "nodes") if above is None else (nodes[above], "children")
        nodes.append(node)
        holder.setdefault(key, []).append(len(nodes) - 1)
        return len(nodes) - 1

    def take_out(self, *numbers: int) -> None:
        """Take nodes out of every scene and from below every node, as Blender leaves them."""
        for key, holders in (("nodes", self.json["scenes"]), ("children", self.json["nodes"])):
            for holder in holders:
                if kept := [i for i in holder.pop(key, []) if i not in numbers]:
                    holder[key] = kept

    def save(self, path: Path, *, indent: int | None = None) -> Path:
        """A .glb, or a .gltf with its buffer as a data URI."""
        chunks, views, accessors = bytearray(), [], []
        for array, normalized in zip(self.arrays, self.normalized, strict=True):
            raw = np.ascontiguousarray(array)
            views.append({"buffer": 0, "byteOffset": len(chunks), "byteLength": raw.nbytes})
            accessor: dict[str, Any] = {
                "bufferView": len(views) - 1,
                "componentType": _CODES[raw.dtype.char],
                "count": len(raw),
                "type": _KINDS[raw.shape[1]],
                "min": raw.min(0).tolist(),
                "max": raw.max(0).tolist(),
            }
            if normalized:
                accessor["normalized"] = True
            accessors.append(accessor)
            chunks += raw.tobytes() + bytes(-raw.nbytes % 4)
        document = self.json | {"bufferViews": views, "accessors": accessors}
        pictures = self.pictures if "images" in self.json else {}
        if pictures:
            document["images"] = [dict(image) for image in self.json["images"]]
        for i, picture in pictures.items():
            document["images"][i]["bufferView"] = len(views)
            views.append({"buffer": 0, "byteOffset": len(chunks), "byteLength": len(picture)})
            chunks += picture + bytes(-len(picture) % 4)
        document["buffers"] = [{"byteLength": len(chunks)}]
        if path.suffix == ".gltf":
            uri = "data:application/octet-stream;base64," + base64.b64encode(chunks).decode()
            document["buffers"][0]["uri"] = uri
            path.write_text(json.dumps(document, indent=indent), "utf-8")
            return path
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        chunk = struct.pack("<I4s", len(text), b"JSON") + text
        chunk += struct.pack("<I4s", len(chunks), b"BIN\0") + bytes(chunks)
        path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunk)) + chunk)
        return path


def drop_extras(document: Editable) -> None:
    """What Blender's exporter does by default."""

    def walk(data: Any) -> None:
        if isinstance(data, dict):
            data.pop("extras", None)
            for value in data.values():
                walk(value)
        elif isinstance(data, list):
            for item in data:
                walk(item)

    walk(document.json)


def shuffle(document: Editable) -> None:
    """Other vertex and triangle order, corners rolled, every vertex split."""
    rng = np.random.default_rng(5)
    for primitive in document.primitives():
        index = document.arrays[primitive["indices"]].reshape(-1, 3)
        index = rng.permutation(index)
        index = np.stack([np.roll(row, rng.integers(3)) for row in index]).reshape(-1)
        fresh = rng.permutation(len(index))
        place = np.argsort(fresh)
        primitive["attributes"] = {
            name: _add_like(document, accessor, document.arrays[accessor][index][place])
            for name, accessor in primitive["attributes"].items()
        }
        primitive["indices"] = document.add(fresh.astype(np.uint32)[:, None])


def _add_like(document: Editable, accessor: int, array: np.ndarray[Any, Any]) -> int:
    index = document.add(array)
    document.normalized[index] = document.normalized[accessor]
    return index


def merge_primitives(document: Editable) -> None:
    """Primitives of one material become one, as in Blender."""
    for mesh in document.json.get("meshes", []):
        groups: dict[int, list[dict[str, Any]]] = {}
        for primitive in mesh["primitives"]:
            groups.setdefault(primitive.get("material", -1), []).append(primitive)
        merged = []
        for group in groups.values():
            counts = [len(document.arrays[p["attributes"]["POSITION"]]) for p in group]
            starts = np.cumsum([0, *counts[:-1]])
            index = [document.arrays[p["indices"]] + np.uint32(s) for p, s in zip(group, starts, strict=True)]
            indices = document.add(np.concatenate(index).astype(np.uint32))
            attributes = {}
            for name, accessor in group[0]["attributes"].items():
                joined = np.concatenate([document.arrays[p["attributes"][name]] for p in group])
                attributes[name] = _add_like(document, accessor, joined)
            merged.append(group[0] | {"attributes": attributes, "indices": indices})
        mesh["primitives"] = merged


def reorder_nodes(document: Editable, order: Sequence[int]) -> None:
    """Other node order; ``order``: the row that each had."""
    row_of = {old: new for new, old in enumerate(order)}
    nodes = document.json["nodes"]
    nodes[:] = [nodes[i] for i in order]
    for holder in (*nodes, *document.json["scenes"]):
        for name in {"children", "nodes"} & holder.keys():
            holder[name] = [row_of[i] for i in holder[name]]
    for clip in document.json.get("animations", []):
        for channel in clip["channels"]:
            channel["target"]["node"] = row_of[channel["target"]["node"]]


def reverse_nodes(document: Editable) -> None:
    reorder_nodes(document, range(len(document.json["nodes"]))[::-1])


HARMLESS: dict[str, Callable[[Editable], None]] = {
    "other layout": lambda document: None,
    "shuffled": shuffle,
    "merged": merge_primitives,
    "nodes reversed": reverse_nodes,
    "no extras": drop_extras,
}
