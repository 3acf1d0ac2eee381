"""glTF files to documents and arrays: ``.glb``, ``.gltf``, buffers, accessors (glTF 2.0, 3.6).

The document's objects are those of ``importers.gltf_schema``; bulk data stays NumPy. What they mean
is ``importers.gltf``.

``pygltflib.GLTF2`` to a document as :mod:`importers.gltf_file` reads it, without writing JSON.
"""

from __future__ import annotations

import binascii
import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, called, few, needed_for, plural, printable, reason_of
from ..converter.files import read_file, read_json
from ..converter.findings import Report, Subject
from ..converter.formats.gltf import DTYPES, WIDTHS, Json, Mode
from ..converter.formats.names import is_device
from ..converter.numeric.arrays import NONE16
from ..converter.scene.extras import raw_extras
from ..converter.storage import real_path
from .gltf_schema import DRACO, UNPACK_HINTS, VISIBILITY, GltfObject, check_extensions, embedded, require_valid

if TYPE_CHECKING:
    from pygltflib import GLTF2


#: What a file that cannot be read may be, besides broken.
BROKEN_HINT = "if a glTF validator finds it valid, please report it (MSH_GLTF_TRACEBACK=1 shows where)"
#: Accessors, vertices and instances of a file may unpack to this many times its size, and a floor
#: for small ones: accessors may share bytes, primitives accessors, and nodes meshes.
UNPACKED, UNPACKED_FLOOR = 64, 1 << 26
#: Nodes of a document: those of the largest model, and its parts, which are objects of their own.
MOST_NODES = 2 * NONE16
#: What a node, a mesh, a sampler and the like takes in memory, roughly, in bytes.
OBJECT_SIZE = 1024


@dataclass(frozen=True)
class GltfInMemory:
    """A glTF document that is in memory.

    Attributes:
        content: the bytes of a ``.glb`` or ``.gltf``; or the document, and its first buffer where the
            document names none.
        folder: where the files lie that it names; ``None``: it may name none.
    """

    content: memoryview | bytes | tuple[Json, bytes | None]
    folder: Path | None = None


@dataclass
class GltfFile:
    """A parsed document: typed objects, raw primitives, accessors as arrays on demand.

    ``foreign`` has a warning for each buffer that is not the one that the file was written with,
    ``folder`` is where files lie that the document names; ``None``: it may name none.
    """

    label: str
    root: Json
    buffers: list[memoryview]
    size: int
    folder: Path | None
    foreign: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    scenes: list[GltfObject] = field(init=False)
    nodes: list[GltfObject] = field(init=False)
    meshes: list[GltfObject] = field(init=False)
    materials: list[GltfObject] = field(init=False)
    animations: list[GltfObject] = field(init=False)
    skins: list[GltfObject] = field(init=False)
    draco_used: bool = False
    has_coordinates: bool = field(init=False)

    def __post_init__(self) -> None:
        self._room = UNPACKED_FLOOR + UNPACKED * (self.size + sum(map(len, self.buffers)))
        self._require_few_objects()
        self.scenes = typed(self.root.get("scenes"))
        self.nodes = typed(self.root.get("nodes"))
        self.meshes = typed(self.root.get("meshes"))
        self.has_coordinates = any("TEXCOORD" in "".join(p["attributes"]) for m in self.meshes for p in m.primitives)
        self.materials = typed(self.root.get("materials"))
        self.animations = typed(self.root.get("animations"))
        self.skins = typed(self.root.get("skins"))
        self._accessors = typed(self.root.get("accessors"))
        self._views = typed(self.root.get("bufferViews"))
        self._arrays: dict[int, NDArray[Any]] = {}

    def _require_few_objects(self) -> None:
        """Refuse more nodes than a model can have, and more objects than the file's size allows."""
        nodes = len(self.root.get("nodes") or [])
        if nodes > MOST_NODES:
            expected, hint = f"at most {MOST_NODES:,} (nodes and parts)", "join objects before the export"
            raise ConversionError("too many nodes", file=self.label, value=f"{nodes:,}", expected=expected, hint=hint)
        self.claim(OBJECT_SIZE * _object_count(self.root))

    def claim(self, size: int) -> None:
        """Ask for memory before it is taken; ``size``: bytes.

        Raises ConversionError: the file would unpack to more than ``UNPACKED`` times its size.
        """
        self._room -= max(0, size)
        if self._room < 0:
            problem, hint = "unpacks to far more than it holds", "do too many meshes use the same data?"
            raise ConversionError(problem, file=self.label, expected=f"at most {UNPACKED} times its size", hint=hint)

    def mesh_title(self, number: int) -> str:
        """Return what messages call a mesh: by its name, else by a node that has it."""
        name = self.meshes[number].name
        if name:
            return Subject("mesh", name)
        users = [node.name for node in self.nodes if node.mesh == number and node.name]
        return Subject("mesh", *users, text=f"mesh {number}" + (f" of node {called(users[0])}" if users else ""))

    def node_title(self, number: int) -> str:
        """Return what messages call a node: by its name, else by its number."""
        name = self.nodes[number].name
        return Subject("node", name) if name else f"node {number}"

    def view(self, index: int) -> memoryview:
        """Return the bytes of a buffer view."""
        view = self._views[index]
        start: int = view.byteOffset or 0
        buffer: memoryview = self.buffers[view.buffer]
        return buffer[start : start + view.byteLength]

    def array(self, index: int) -> NDArray[Any]:
        """An accessor's elements, (n, width), normalised integers as floats (glTF 2.0, 3.6.2)."""
        if index not in self._arrays:
            accessor = self._accessors[index]
            stored = np.dtype(DTYPES[accessor.componentType])
            width = WIDTHS[accessor.type]
            self.claim(accessor.count * width * 4)
            try:
                values = self._elements(accessor.bufferView, accessor.byteOffset or 0, accessor.count, stored, width)
                if accessor.sparse is not None:
                    values = self._with_sparse(values, accessor.sparse, stored, width)
            except ConversionError as error:
                error.table = f"accessor {index}"
                raise
            self._arrays[index] = self._as_float(values, accessor)
        return self._arrays[index]

    def was_read(self, index: int) -> bool:
        """Return whether an accessor's elements were asked for."""
        return index in self._arrays

    def _elements(
        self, view_index: int | None, offset: int, count: int, stored: np.dtype[Any], width: int
    ) -> NDArray[Any]:
        """``count`` elements of a buffer view; zeros where there is none."""
        size = stored.itemsize * width
        if view_index is None:
            return np.zeros((count, width), stored)
        view = self._views[view_index]
        name = next((name for name in view.extensions or {} if name in UNPACK_HINTS), None)
        if name is not None:
            raise ConversionError(f"data is packed with {name}", file=self.label, hint=UNPACK_HINTS[name])
        start = (view.byteOffset or 0) + offset
        end = (view.byteOffset or 0) + view.byteLength
        stride = view.byteStride or size
        buffer = self.buffers[view.buffer]
        needed = start + stride * (count - 1) + size
        lowest = min(offset, view.byteOffset or 0)
        if count < 1 or lowest < 0 or stride < size or needed > end or end > len(buffer):
            problem, value = "runs past its buffer view", f"{count} elements from byte {start}"
            raise ConversionError(problem, file=self.label, value=value, expected=f"an end at byte {end} or before")
        strides = (stride, stored.itemsize)
        return np.ascontiguousarray(np.ndarray((count, width), stored, buffer[start:needed], 0, strides))

    def _with_sparse(self, values: NDArray[Any], sparse: Json, stored: np.dtype[Any], width: int) -> NDArray[Any]:
        count, where, what = sparse["count"], sparse["indices"], sparse["values"]
        kind = np.dtype(DTYPES[where["componentType"]])
        rows = self._elements(where["bufferView"], where.get("byteOffset", 0), count, kind, 1)
        new = self._elements(what["bufferView"], what.get("byteOffset", 0), count, stored, width)
        if (np.diff(rows[:, 0].astype(np.int64)) <= 0).any():
            raise ConversionError("indices of a sparse accessor are not increasing", file=self.label)
        if int(rows.max()) >= len(values):
            problem = "sparse accessor names an element past its end"
            raise ConversionError(problem, file=self.label, value=int(rows.max()), expected=f"below {len(values)}")
        values = values.copy()
        values[rows[:, 0]] = new
        return values

    def draco(self, primitive: Json) -> dict[str, NDArray[Any]] | None:
        """Attributes and ``indices`` of a Draco-packed primitive, ``None`` for a plain one.

        Raises MissingPackage: packed, and the ``draco`` extra is not installed.
        """
        packed = primitive.get("extensions", {}).get(DRACO)
        if packed is None:
            return None
        instead = "clear Compression in Blender's glTF exporter"
        with needed_for(f"unpacking {DRACO}", "draco", file=self.label, instead=instead):
            import DracoPy
        self.draco_used = True
        data = bytes(self.view(packed["bufferView"]))
        try:
            faces, points = _draco_counts(data)
            self.claim(12 * faces + 64 * points)
            mesh = DracoPy.decode(data)
            by_id = {a["unique_id"]: a["data"] for a in mesh.attributes}
            out = {name: np.asarray(by_id[number]) for name, number in packed["attributes"].items()}
        except (MemoryError, ConversionError):
            raise
        except Exception as error:
            raise ConversionError("Draco data is broken", file=self.label, hint="export it again") from error
        for name, index in primitive["attributes"].items():
            if name in out:
                out[name] = self._as_float(out[name], self._accessors[index])
        out["indices"] = np.asarray(mesh.faces).reshape(-1, 1)
        return out

    @staticmethod
    def _as_float(values: NDArray[Any], accessor: GltfObject) -> NDArray[Any]:
        """Normalised integers as floats (glTF 2.0, 3.6.2.2)."""
        if not accessor.normalized or values.dtype.kind not in "iu":
            return values
        scaled = values.astype(np.float32) / np.float32(np.iinfo(values.dtype).max)
        return np.asarray(np.maximum(scaled, np.float32(-1)))


def _object_count(root: Json) -> int:
    """The objects of a document, roughly."""
    lists = ("nodes", "meshes", "materials", "animations", "skins", "accessors", "bufferViews")
    return sum(len(root.get(name) or []) for name in lists)


def _draco_counts(data: bytes) -> tuple[int, int]:
    """Return the faces and points that a Draco mesh declares (its header, connectivity).

    Raises IndexError: it ends before that.
    """
    at = 11 + (data[8] == 1)  # edgebreaker has its method first
    numbers = []
    for _ in range(2):
        number = shift = 0
        while data[at] & 0x80:
            number |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
        numbers.append(number | data[at] << shift)
        at += 1
    return (numbers[1], numbers[0]) if data[8] == 1 else (numbers[0], numbers[1])


def open_gltf(path: Path, in_memory: GltfInMemory | None = None) -> GltfFile:
    """Open a glTF file; nothing is decoded yet.

    Args:
        path: the file; what messages call a document in memory.

    Raises ConversionError: no glTF, broken, or with an extension it requires and nobody can read.
    """
    label = str(path)
    if in_memory is None:
        in_memory = GltfInMemory(read_file(path), path.parent)
    folder, content = in_memory.folder, in_memory.content
    if isinstance(content, tuple):
        root, blob = content
        chunk, size = None if blob is None else memoryview(blob), OBJECT_SIZE * _object_count(root) + len(blob or b"")
    else:
        size = len(content)
        root, chunk = _parsed(memoryview(content), label)
    if not isinstance(root, dict) or not isinstance(root.get("asset"), dict):
        raise ConversionError("is not glTF: it has no asset", file=label)
    version = root["asset"].get("version")
    if isinstance(version, str) and version.partition(".")[0] != "2":
        raise ConversionError("unknown glTF version", file=label, value=printable(version), expected="2.0")
    require_valid(root, label)
    least = root["asset"].get("minVersion") or "2.0"
    if least != "2.0":
        raise ConversionError(f"needs glTF {printable(least)}", file=label, expected="2.0")
    with broken_gltf(label):
        appearance = check_extensions(root, label)
        buffers = _buffers(root, chunk, label, folder)
        foreign = _foreign_buffers(root, buffers)
        return GltfFile(label, root, buffers, size, folder, foreign, Report(warnings=[*foreign, *appearance]))


def _parsed(data: memoryview, label: str) -> tuple[Json, memoryview | None]:
    """The document of a ``.glb`` or ``.gltf``, and the BIN chunk."""
    if not data:
        raise ConversionError("is empty", file=label, hint="export it again")
    document, chunk = _split_glb(data, label) if bytes(data[:4]) == b"glTF" else (data, None)
    try:
        return read_json(bytes(document)), chunk
    except ValueError as error:
        raise ConversionError("is not glTF: its JSON cannot be read", file=label, value=reason_of(error)) from None


@contextmanager
def broken_gltf(label: str) -> Iterator[None]:
    """Turn a bug that a strange document meets into one error that names the file."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ConversionError("cannot be read as glTF", file=label, hint=BROKEN_HINT) from error


def _split_glb(data: memoryview, label: str) -> tuple[memoryview, memoryview | None]:
    """The JSON chunk and the BIN chunk; unknown chunks are skipped."""
    version, size = (int.from_bytes(data[at : at + 4], "little") for at in (4, 8))
    if size > len(data) or len(data) < 20:
        raise ConversionError(
            "is cut", file=label, value=plural(len(data), "byte"), expected=max(size, 20), hint="export it again"
        )
    if version != 2:
        raise ConversionError("unknown version of .glb", file=label, offset=4, value=version, expected=2)
    if size < 20:
        raise ConversionError(
            ".glb is too short for its header", file=label, offset=8, value=size, expected="20 or more"
        )
    chunks: dict[bytes, memoryview] = {}
    at = 12
    while at + 8 <= size:
        length, kind = int.from_bytes(data[at : at + 4], "little"), bytes(data[at + 4 : at + 8])
        if at + 8 + length > size:
            raise ConversionError("chunk runs past the .glb", file=label, offset=at, value=plural(length, "byte"))
        if kind in chunks and kind in (b"JSON", b"BIN\0"):
            raise ConversionError(f".glb has two {kind.decode().strip(chr(0))} chunks", file=label, offset=at)
        chunks.setdefault(kind, data[at + 8 : at + 8 + length])
        at += 8 + length
    if b"JSON" not in chunks:
        raise ConversionError(".glb has no JSON chunk", file=label, offset=12)
    return chunks[b"JSON"], chunks.get(b"BIN\0")


def _buffers(root: Json, chunk: memoryview | None, label: str, folder: Path | None) -> list[memoryview]:
    """The bytes of every buffer; a URI may not leave the file's directory."""
    out: list[memoryview] = []
    for i, buffer in enumerate(root.get("buffers", [])):
        uri = buffer.get("uri")
        if not uri:
            if chunk is None or i:
                raise ConversionError(f"buffer {i} has no data", file=label)
            data = chunk
        elif uri.startswith("data:"):
            try:
                data = memoryview(embedded(uri))
            except binascii.Error:
                problem = f"data URI of buffer {i} is not base64, or is cut"
                raise ConversionError(problem, file=label, hint="export it again") from None
        elif folder is None:
            hint = "give the path of the .gltf, or a .glb, which holds its buffer"
            raise ConversionError(f"buffer {i} is a file, which bytes do not lead to", file=label, value=uri, hint=hint)
        else:
            target = None if "://" in uri else file_of_uri(uri, folder, folder)
            if target is None and "://" in uri:
                hint = "put the file beside it, or export a .glb, which holds its buffer"
                raise ConversionError(f"buffer {i} is on the web", file=label, value=uri, hint=hint)
            if target is None:
                raise ConversionError(f"buffer {i} lies outside the file's directory", file=label, value=uri)
            try:
                data = read_file(target)
            except ConversionError as error:
                error.hint = f"{printable(label)} has its meshes there: put the file beside it, or export a .glb"
                raise
        if len(data) < buffer["byteLength"]:
            raise ConversionError(
                f"buffer {i} is cut", file=label, value=plural(len(data), "byte"), expected=buffer["byteLength"]
            )
        out.append(data)
    return out


def file_of_uri(uri: str, folder: Path, root: Path) -> Path | None:
    """Return the file that a URI of a glTF file names; ``None`` where it may not be opened.

    Windows logs in to another machine, or opens a pipe, when it only looks at such a path: the
    text is judged first.

    Args:
        uri: with ``%20`` and the like.
        folder: the directory of the glTF file, which the URI is relative to.
        root: the directory that the file must lie in.
    """
    name = unquote(uri, errors="surrogateescape")
    windows = PureWindowsPath(name)
    # since Python 3.13 "//./NUL" is a drive without a root
    if windows.root or name[:1] in ("/", "\\") or (sys.platform == "win32" and (windows.drive or is_device(windows))):
        return None
    target = folder / name
    return target if real_path(target).is_relative_to(real_path(root)) else None


def _foreign_buffers(root: Json, buffers: list[memoryview]) -> list[str]:
    """Warnings of buffers that are not the ones that the file was written with."""
    warnings = []
    for buffer, data in zip(root.get("buffers", []), buffers, strict=True):
        digest = raw_extras(buffer.get("extras")).get("digest")
        if digest is not None and digest != (found := hashlib.sha256(data).hexdigest()):
            warnings.append(
                f"{buffer.get('uri')} is not the buffer that was written with this file: digest "
                f"{found} instead of {digest} (edited, or of a run that was interrupted: repeat it)"
            )
    return warnings


def typed(objects: Sequence[Json] | None) -> list[GltfObject]:
    """Return the objects of a list of the document."""
    return [*map(GltfObject, objects or [])]


def document_of(gltf: GLTF2) -> GltfInMemory:
    """Return the document of pygltflib's objects, with their blob and the folder that they were loaded from.

    As pygltflib writes it, what is ``None`` or empty is left out; extras and extensions stay as they are.
    """
    folder = getattr(gltf, "_path", None)  # GLTF2.load sets it
    blob = gltf.binary_blob()
    return GltfInMemory((_plain(gltf), blob), None if folder is None else Path(folder))


def _plain(value: Any) -> Any:
    """Objects as dictionaries."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not is_dataclass(value) and type(value).__name__ != "Attributes":  # no data class: it may have any name
        return value
    fields = ((k, v) for k, v in vars(value).items() if not k.startswith("_glb") and k not in _PRIVATE)
    return {k: _plain(v) for k, v in fields if v is not None and not (isinstance(v, list | dict) and not v)}


#: What ``GLTF2`` keeps beside its fields.
_PRIVATE = frozenset(("_path", "_name", "_glb_data", "_min_alignment"))


def report_idle(file: GltfFile, nodes: Iterable[int], report: Report) -> None:
    """Name nodes that have a skin or weights of shapes, and no mesh for them."""
    for i in nodes:
        node = file.nodes[i]
        for name, value in (("a skin", node.skin), ("weights", node.weights)):
            if value is not None and node.mesh is None:
                what, why = f"has {name} and no mesh", "there is nothing to shape"
                report.skipped(file.node_title(i), what, why, "give it its mesh, or remove them", "fact")


def report_flat(file: GltfFile, report: Report) -> None:
    """Name the meshes whose faces are flat, because they have no normals, in a file where others have."""
    flat = [
        mesh.name or f"mesh {i}"
        for i, mesh in enumerate(file.meshes)
        if any(
            p.get("mode", Mode.TRIANGLES) >= Mode.TRIANGLES and "NORMAL" not in p.get("attributes", {})
            for p in mesh.primitives
        )
    ]
    if flat:
        names = few([*map(called, flat)])
        report.warnings.append(f"no normals in {names}, though others have them: the faces are flat")
        report.concerns(flat, "normals")


def hidden_nodes(nodes: Sequence[GltfObject]) -> set[int]:
    """Return the nodes that are hidden, by themselves or with one above (KHR_node_visibility)."""
    hidden: set[int] = set()
    waiting = [
        i for i, node in enumerate(nodes) if (node.extensions or {}).get(VISIBILITY, {}).get("visible", True) is False
    ]
    while waiting:
        node = waiting.pop()
        if node not in hidden:
            hidden.add(node)
            waiting += nodes[node].children or []
    return hidden
