"""A glTF file as one ``.glb`` that needs no other file, and what its default scene shows."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

from ...exporters.gltf_file import Document, glb_bytes
from ...importers.gltf_file import broken_gltf, file_of_uri, open_gltf
from ..errors import ConversionError
from ..files import read_file
from ..formats.gltf import Json
from ..scene.extras import raw_extras

_TRIANGLES = 4
_MIME = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg"}


@dataclass(frozen=True)
class Packed:
    """A whole model in one piece.

    Attributes:
        glb: its bytes; no URI in it leads anywhere.
        nodes: nodes of the model (``extras.msh.node``), else of the default scene.
        triangles: triangles that the default scene shows.
        frames: length of the clip in frames, 1 = none.
        empty: whether the default scene shows nothing at all, no line either.
    """

    glb: bytes
    nodes: int
    triangles: int
    frames: int
    empty: bool


def pack(path: Path, root: Path) -> Packed:
    """Read a ``.glb`` or ``.gltf`` with its buffers and pictures.

    Args:
        path: the file.
        root: the directory that no picture may lie outside of.

    Raises:
        ConversionError: it cannot be read, or a picture of it cannot.
    """
    gltf = open_gltf(path)
    with broken_gltf(str(path)):
        data = bytes(read_file(path))
        images = gltf.root.get("images", [])
        external = [image for image in images if not image.get("uri", "data:").startswith("data:")]
        whole = data[:4] == b"glTF" and len(gltf.buffers) <= 1
        if external or not whole or any("uri" in b for b in gltf.root.get("buffers", [])):
            data = glb_bytes(_joined(gltf.root, gltf.buffers, path, root))
        return Packed(data, *_counts(gltf.root))


def _joined(gltf: Json, buffers: list[memoryview], path: Path, root: Path) -> Document:
    """The document with one buffer, in which all buffers and pictures lie."""
    out = copy.deepcopy(gltf)
    out.pop("buffers", None)
    chunks: list[bytes] = []
    starts: list[int] = []
    size = 0

    def add(data: bytes) -> int:
        nonlocal size
        start = size
        chunks.extend((data, bytes(-len(data) % 4)))
        size += len(data) + -len(data) % 4
        return start

    for buffer, about in zip(buffers, gltf.get("buffers", []), strict=True):
        starts.append(add(bytes(buffer[: about["byteLength"]])))
    for view in out.get("bufferViews", []):
        view["byteOffset"] = view.get("byteOffset", 0) + starts[view["buffer"]]
        view["buffer"] = 0
    for image in out.get("images", []):
        uri = image.get("uri", "data:")
        if uri.startswith("data:"):
            continue
        picture = _picture(uri, path, root)
        kinds = [kind for magic, kind in _MIME.items() if picture.startswith(magic)]
        if not kinds:
            raise ConversionError("picture is neither PNG nor JPEG", file=str(path), value=image["uri"])
        del image["uri"]
        view = {"buffer": 0, "byteOffset": add(picture), "byteLength": len(picture)}
        out.setdefault("bufferViews", []).append(view)
        image |= {"bufferView": len(out["bufferViews"]) - 1, "mimeType": kinds[0]}
    return Document(out, b"".join(chunks))


def _picture(uri: str, path: Path, root: Path) -> bytes:
    target = file_of_uri(uri, path.parent, root)
    if target is None:
        raise ConversionError("picture lies outside the output directory", file=str(path), value=uri)
    return bytes(read_file(target))


def _counts(gltf: Json) -> tuple[int, int, int, bool]:
    """Nodes, triangles, frames, and whether nothing is shown, of the default scene."""
    nodes, accessors = gltf.get("nodes", []), gltf.get("accessors", [])
    scenes = gltf.get("scenes") or [{}]
    scene = scenes[gltf.get("scene", 0)]
    waiting, seen = list(scene.get("nodes", [])), set()
    triangles = own = primitives = 0
    while waiting:
        index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        node = nodes[index]
        waiting += node.get("children", [])
        own += "node" in raw_extras(node.get("extras"))
        mesh = gltf["meshes"][node["mesh"]] if "mesh" in node else {}
        for primitive in mesh.get("primitives", []):
            primitives += 1
            if primitive.get("mode", _TRIANGLES) == _TRIANGLES:
                rows = primitive.get("indices", primitive["attributes"]["POSITION"])
                triangles += accessors[rows]["count"] // 3
    frames = raw_extras(scene.get("extras")).get("frame_count", 1)
    return own or len(seen), triangles, int(frames), not primitives
