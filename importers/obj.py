"""Wavefront OBJ to :class:`~converter.scene.scene.ImportedScene` (docs/reference/gltf.md).

trimesh reads it. What trimesh ignores without a message is resolved first: it counts relative
indices from the end of the whole file, drops texture coordinates or normals of faces that are
written in different ways, and keeps a face's object or its material, but both only in one name.
"""

from __future__ import annotations

import io
import re
import warnings
from itertools import compress
from pathlib import Path
from typing import NamedTuple, NotRequired, Protocol, TypedDict, cast
from urllib.parse import unquote

import numpy as np
from numpy.typing import ArrayLike

from ..converter.errors import ConversionError, called, needed_for, plural, printable, reason_of
from ..converter.files import read_file
from ..converter.findings import Report
from ..converter.formats.gltf import FilePicture, Surface
from ..converter.formats.names import decode_text, readable, stem
from ..converter.formats.tables import GROUP_COUNT, LOD_COUNT
from ..converter.numeric.arrays import F64, I64, Bools, summed_cross_products
from ..converter.numeric.pose import gltf_to_game
from ..converter.numeric.quantize import normalise
from ..converter.numeric.surfaces import position_ids, triangulate_flat
from ..converter.scene.extras import FileInfo
from ..converter.scene.scene import ImportedNode, ImportedScene, Material, Mesh, Primitive, Streams, require_in_range
from .materials import read_mtl

_HEADER = re.compile(r"(?m)^# msh-gltf((?: [a-z_]+=\S*)+) *$")
_DIRECTIVE = re.compile(rb"(?m)^(o|g|usemtl)(?: (.*))?$")
_LIBRARY = re.compile(r"(?m)^mtllib (.*)$")
_NO_MATERIAL = -1
#: Drawn things that are not faces.
_OTHER_SHAPES = re.compile(r"(?m)^(l|p|curv2?|surf) ")
_VERTEX_COLOURS = re.compile(r"(?m)^v(?: +[^\s#]+){6}")
#: Objects times materials times kinds of polygons: trimesh takes a while for each.
MOST_SHAPES = 10_000
#: Corners of a polygon: triangulation takes their square, and more.
MOST_CORNERS = 512


class Pieces:
    """Meshes that stand in model space, put together of pieces: an item at the origin for each."""

    def __init__(self, out: ImportedScene) -> None:
        self.out, self.made = out, list[tuple[F64, F64, F64 | None, I64]]()
        self.vertex = self.index = 0

    def begin(self, name: str) -> None:
        """Begin a mesh, and its item."""
        rest = np.zeros(3, np.float32), np.array([1.0, 0.0, 0.0, 0.0])
        self.out.nodes.append(ImportedNode(name, -1, *rest, linear=None, mesh=len(self.out.meshes), extras={}))
        self.out.meshes.append(Mesh(name, []))

    def add(self, mesh: int, material: int, points: F64, normals: F64, uv: F64 | None, corners: I64) -> None:
        """Add vertices, and the triangles of one material, to a mesh."""
        self.out.meshes[mesh].primitives.append(Primitive(material, self.vertex, len(points), self.index, corners.size))
        self.vertex, self.index = self.vertex + len(points), self.index + corners.size
        self.made.append((points, normalise(normals, (0, 0, 1)), uv, corners.reshape(-1)))

    def finish(self, up: str, label: str) -> None:
        """Lay all pieces end to end, in game axes; of some without texture coordinates these are (0, 0).

        Raises ConversionError: a position that is not finite, or too large.
        """
        points, normals, uvs, corners = zip(*self.made, strict=True)
        full = [np.zeros((len(at), 2)) if uv is None else uv for uv, at in zip(uvs, points, strict=True)]
        with np.errstate(over="ignore"):
            places, turned, flat = (np.concatenate(rows).astype(np.float32) for rows in (points, normals, full))
        require_in_range("a position", places, label)
        if up == "y":
            places, turned = gltf_to_game(places), gltf_to_game(turned)
        uv0 = None if all(uv is None for uv in uvs) else flat
        self.out.streams = Streams(places, np.concatenate(corners).astype("<u4"), turned, uv0)


class _Shape(NamedTuple):
    """What faces have in common: object, material, corners each, further coordinates or none."""

    object: int
    material: int
    corners: int
    has_uv: int
    has_normal: int


def read_obj(path: Path, *, up: str | None = None) -> ImportedScene:
    """Read an OBJ file: an item at the origin per ``o``, triangles in model space, game axes.

    Objects of one name are one item; a file without ``o`` is split by ``g``. Polygons become
    triangles, missing normals are computed, V is turned to point down. ``info`` holds what the
    header of a file of ours states: source, digest, sidecar, dialect, lod, group, frame, up; such a
    file may be without faces.

    Args:
        up: ``y`` or ``z``; default as the file states, else ``y``.

    Raises ConversionError: not an OBJ, without faces, an index out of range, or a number that is not finite.
    """
    label = str(path)
    text = _text(path)
    info = _info(text, label)
    lines = _Lines(text.encode("utf-8"), label)
    if info and not lines.is_face.any():
        return ImportedScene(stem(readable(path.name)), info)  # ours, of a cell that shows nothing
    if not lines.counts[0] or not lines.is_face.any():
        raise ConversionError(
            "has no vertices" if not lines.counts[0] else "has no faces", file=label, hint="is it an OBJ with meshes?"
        )
    out = ImportedScene(stem(readable(path.name)), info)
    objects, materials, state = _states(lines, out.name)
    out.materials = [Material(unescape(text)) for text in materials]
    out.material_extras = [{} for _ in materials]
    _add_surfaces(out, path, text)
    _report_unread(out, text)
    faces = _faces(lines, state, out.report)
    geometry = _trimesh(lines, [written for _, written in faces])
    _fill(out, objects, [shape for shape, _ in faces], geometry, up or info.get("up", "y"), label)
    out.has_normals = any(shape.has_normal for shape, _ in faces)
    return out


def _add_surfaces(out: ImportedScene, path: Path, text: str) -> None:
    """Add what the materials show, if the files that the OBJ names tell of all of them."""
    if not out.materials:
        return
    found: dict[str, Surface[FilePicture]] = {}
    names = _LIBRARY.findall(text)
    for name in names:
        found = (read_mtl(path, name.strip(), own=bool(out.info)) or {}) | found
    lacking = [material.name for material in out.materials if material.name not in found]
    if not lacking:
        out.surfaces = [found[material.name] for material in out.materials]
    elif found or out.info:
        out.report.warnings.append(
            f"its .mtl has no material {called(lacking[0])}: colours and pictures of materials are not compared"
        )
    elif names:
        out.report.warnings.append(
            f"{printable(names[0].strip())}, its .mtl, is not in its folder: colours and pictures "
            "of materials are not read"
        )


def _report_unread(out: ImportedScene, text: str) -> None:
    """Report what a model cannot hold, and what is not read."""
    if found := _OTHER_SHAPES.search(text):
        kinds = {"l": "lines", "p": "points"}
        out.report.skipped(
            "the file",
            f"has {kinds.get(found[1], 'curves or surfaces')}",
            "the game draws nothing but triangles",
            "delete them, or make faces of them",
        )
    if _VERTEX_COLOURS.search(text):
        out.report.warnings.append("colours of vertices in an OBJ are not read: use glTF for them")


def unescape(name: str) -> str:
    """The name that ``exporters.obj.escape`` was given; a ``%`` that starts no escape stays."""
    return unquote(name)


def _text(path: Path) -> str:
    """The file with plain line ends, continued lines joined, and no comments after data."""
    raw = bytes(read_file(path))
    if b"\0" in raw:
        raise ConversionError("is not an OBJ", file=str(path), value="it is not text")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = decode_text(raw)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\\\n", " ").replace("\t", " ")
    text = re.sub(r"(?m)^ +", "", text)
    return re.sub(r"(?m)^((?:v|vt|vn|f) [^#\n]*)#.*", r"\1", text)


def _info(text: str, label: str) -> FileInfo:
    """The header comment's values, empty where there is none. Raises ConversionError: a value that is not possible."""
    found = _HEADER.search(text)
    pairs = [pair.partition("=") for pair in found[1].split()] if found else []
    info: dict[str, int | float | str] = {key: unescape(value) for key, _, value in pairs}
    try:
        info |= {key: int(info[key]) for key in ("lod", "group") if key in info}
        info |= {"frame": float(info["frame"])} if "frame" in info else {}
    except ValueError:
        info["frame"] = np.nan
    if not (
        np.isfinite(float(info.get("frame", 0.0)))
        and info.get("lod", 0) in range(LOD_COUNT)
        and info.get("group", 0) in range(GROUP_COUNT)
        and info.get("up", "y") in ("y", "z")
        and info.get("dialect", "spec") in ("spec", "retail")
    ):
        assert found is not None
        raise ConversionError("its msh-gltf line cannot be understood", file=label, value=printable(found[0]))
    return cast("FileInfo", info)


class _Lines:
    """The lines of a file by what they are."""

    def __init__(self, text: bytes, label: str) -> None:
        self.label = label
        self.text = text
        self.lines = text.split(b"\n")
        raw = np.frombuffer(text + b"\n  ", np.uint8)
        self.starts = np.concatenate([[0], np.flatnonzero(raw[: len(text)] == ord("\n")) + 1])
        a, b, c = (raw[self.starts + k] for k in range(3))
        blank = b == ord(" ")
        self.is_face = (a == ord("f")) & blank
        #: v, vt and vn lines
        self.is_vertex = [
            (a == ord("v")) & blank,
            (a == ord("v")) & (b == ord("t")) & (c == ord(" ")),
            (a == ord("v")) & (b == ord("n")) & (c == ord(" ")),
        ]
        self.counts = np.array([mask.sum() for mask in self.is_vertex], np.int64)

    def fail(self, problem: str, face: int, value: object = None) -> ConversionError:
        """An error about a face, counted from 0."""
        line = int(np.flatnonzero(self.is_face)[face])
        shown = printable(self.lines[line].decode())[:60] if value is None else value
        return ConversionError(problem, file=self.label, table=f"line {line + 1}", value=shown)


def _states(lines: _Lines, default: str) -> tuple[list[str], list[str], I64]:
    """Object names, material names, and both for every face as (F, 2) numbers."""
    marks = list(_DIRECTIVE.finditer(lines.text))
    splitter = b"o" if any(mark[1] == b"o" for mark in marks) else b"g"
    objects: dict[str, int] = {}
    materials: dict[str, int] = {}
    at, state = [-1], [(-1, _NO_MATERIAL)]
    for mark in marks:
        name = (mark[2] or b"").decode().strip()
        now = state[-1]
        if mark[1] == b"usemtl":
            now = (now[0], materials.setdefault(name, len(materials)) if name else _NO_MATERIAL)
        elif mark[1] == splitter:
            now = (objects.setdefault(name or default, len(objects)), now[1])
        at.append(mark.start())
        state.append(now)
    where = np.searchsorted(at, lines.starts[lines.is_face], side="right") - 1
    of_face = np.array(state, np.int64)[where]
    if (of_face[:, 0] < 0).any():
        of_face[of_face[:, 0] < 0, 0] = objects.setdefault(default, len(objects))
    return list(objects), list(materials), of_face


def _faces(lines: _Lines, state: I64, report: Report) -> list[tuple[_Shape, str]]:
    """Faces by shape, written again with numbers that count from 1.

    Raises ConversionError: a face that cannot be read, an index out of range.
    """
    line, table, given = _corners(lines)
    count = np.bincount(line, minlength=len(state))
    full = [np.bincount(line, given[:, k], minlength=len(state)) == count for k in (1, 2)]
    shape_of_face = np.column_stack([state, count, *full]).astype(np.int64)
    if (short := int((count < 3).sum())) != 0:
        report.warnings.append(f"{plural(short, 'face')} with fewer than three corners skipped")
    shapes, of_face = np.unique(shape_of_face, axis=0, return_inverse=True)
    if (most := int(count.max(initial=0))) > MOST_CORNERS:
        problem, hint = "a polygon has too many corners", "triangulate it before you export"
        raise ConversionError(problem, file=lines.label, value=most, expected=f"at most {MOST_CORNERS}", hint=hint)
    if len(shapes) > MOST_SHAPES:
        what = "has too many objects, materials and kinds of polygons"
        raise ConversionError(what, file=lines.label, value=len(shapes), expected=f"at most {MOST_SHAPES}")
    of_corner = of_face.reshape(-1)[line]
    order = np.argsort(of_corner, kind="stable")
    ends = np.searchsorted(of_corner[order], np.arange(len(shapes) + 1))
    out = []
    for i, values in enumerate(shapes.tolist()):
        shape = _Shape(*values)
        if shape.corners >= 3:
            columns = [0, *([1] if shape.has_uv else []), *([2] if shape.has_normal else [])]
            numbers = table[order[ends[i] : ends[i + 1]]][:, columns]
            out.append((shape, _face_text(shape, numbers)))
    if not out:
        raise ConversionError("has no faces", file=lines.label)
    return out


def _corners(lines: _Lines) -> tuple[I64, I64, Bools]:
    """The corners of all faces. Raises ConversionError: a face that cannot be read, an index out of range.

    Returns:
        The face of each, (K,); its numbers of v, vt and vn from 1, (K, 3); which of them are given.
    """
    text = np.frombuffer(b"\n".join(compress(lines.lines, lines.is_face)), np.uint8).copy()
    newline = text == ord("\n")
    text[np.concatenate([[0], np.flatnonzero(newline) + 1])] = ord(" ")  # the f
    row = np.cumsum(newline)
    minus, slash = text == ord("-"), text == ord("/")
    number = ((text >= ord("0")) & (text <= ord("9"))) | minus
    first_of_number = number & ~_before(number)
    inside = number | slash
    first_of_corner = inside & ~_before(inside)
    unexpected = ~(inside | newline | (text == ord(" "))) | (minus & ~first_of_number)
    if unexpected.any():
        raise lines.fail("a face cannot be read", int(row[unexpected.argmax()]))
    at = np.flatnonzero(first_of_number)
    words = re.findall(rb"-?\d+", text.tobytes())
    try:
        values = np.array(words, "S").astype(np.int64)
    except (ValueError, OverflowError):
        raise ConversionError("an index has too many digits", file=lines.label) from None
    corner_at = np.flatnonzero(first_of_corner)
    corner = np.cumsum(first_of_corner)[at] - 1
    slashes = np.cumsum(slash)
    slot = slashes[at] - (slashes - slash)[corner_at][corner]
    line = row[corner_at]
    table = np.zeros((len(corner_at), 3), np.int64)
    given = np.zeros(table.shape, np.bool_)
    if len(values) == len(at) and not (slot > 2).any():
        table[corner, slot], given[corner, slot] = values, True
    if not given[:, 0].all():
        raise lines.fail("a face cannot be read", int(line[(~given[:, 0]).argmax()]))

    # relative indices count back from the line they are on
    before = np.stack([np.cumsum(mask)[lines.is_face] for mask in lines.is_vertex], axis=1)
    table = np.where(table < 0, table + before[line] + 1, table)
    wrong = given & ((table < 1) | (table > lines.counts))
    if wrong.any():
        where, what = np.argwhere(wrong)[0].tolist()
        kind = ("v", "vt", "vn")[what]
        raise lines.fail(
            "a face has an index out of range", int(line[where]), f"{kind} {table[where, what]} of {lines.counts[what]}"
        )
    return line, table, given


def _before(mask: Bools) -> Bools:
    """The mask of the byte before."""
    return np.concatenate([[False], mask[:-1]])


def _face_text(shape: _Shape, numbers: I64) -> str:
    """Lines of faces of one shape. (n * corners, k) numbers."""
    uv, normal = shape.has_uv, shape.has_normal
    corner = " %d/%d/%d" if uv and normal else " %d/%d" if uv else " %d//%d" if normal else " %d"
    count = len(numbers) // shape.corners
    return (f"f{corner * shape.corners}\n" * count) % tuple(numbers.reshape(-1).tolist())


# ------------------------------------------------------------------ trimesh


class _Visual(Protocol):
    """Texture coordinates as trimesh holds them."""

    uv: F64 | None


class _Geometry(TypedDict):
    """A mesh as trimesh reads it."""

    vertices: F64
    faces: I64
    vertex_normals: NotRequired[F64]
    visual: NotRequired[_Visual]


def _trimesh(lines: _Lines, faces: list[str]) -> list[_Geometry]:
    """What trimesh makes of the vertices and of every run of faces."""
    with needed_for("reading OBJ", "trimesh", file=lines.label):
        from trimesh.exchange.obj import load_obj

    kept = np.logical_or.reduce(lines.is_vertex)
    parts = [f"o {i}\n{text}".encode() for i, text in enumerate(faces)]
    plain = b"\n".join([*compress(lines.lines, kept), *parts])
    try:
        with warnings.catch_warnings():
            # of numpy, about text that is not a number: trimesh then tries again, and fails
            warnings.simplefilter("ignore", DeprecationWarning)
            # maintain_order would keep one vn and vt per v: it takes the median of their numbers
            read = load_obj(io.BytesIO(plain), skip_materials=True, group_material=False, split_objects=True)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        problem, hint = "a vertex cannot be read", "export it again"
        raise ConversionError(problem, file=lines.label, value=reason_of(error), hint=hint) from None
    return [read["geometry"][str(i)] for i in range(len(faces))]


def _fill(
    out: ImportedScene, objects: list[str], shapes: list[_Shape], geometry: list[_Geometry], up: str, label: str
) -> None:
    """Nodes, meshes and streams.

    Raises ConversionError: a number that is not finite, or missing.
    """
    pieces = Pieces(out)
    for name in map(unescape, objects):
        pieces.begin(name)
    for shape, made in sorted(zip(shapes, geometry, strict=True), key=lambda pair: pair[0].object):
        pieces.add(shape.object, shape.material, *_vertices(shape, made, objects[shape.object], label))
    pieces.finish(up, label)
    if out.streams.uv0 is not None and not np.isfinite(out.streams.uv0).all():
        raise ConversionError("a texture coordinate is beyond float32", file=label)
    for node, drawn in zip(out.nodes, out.meshes, strict=True):
        node.mesh = node.mesh if drawn.primitives else -1


def _vertices(shape: _Shape, made: _Geometry, name: str, label: str) -> tuple[F64, F64, F64 | None, I64]:
    """Positions, normals and texture coordinates of a shape's vertices, and its triangles."""
    polygons = np.asarray(made["faces"])
    place = _numbers(made["vertices"], 3, name, label)
    corners = polygons.reshape(-1)[triangulate_flat(place[polygons])]
    if shape.has_normal and "vertex_normals" in made:
        turned = _numbers(made["vertex_normals"], 3, name, label)
    else:
        turned = _smooth(place, corners)
    uv = None
    if shape.has_uv:
        # trimesh drops them all where one cannot be read
        visual = made.get("visual")
        uv = _numbers(np.zeros((0, 0)) if visual is None else visual.uv, 2, name, label)
        uv[:, 1] = 1 - uv[:, 1]
    return place, turned, uv, corners


def _numbers(values: ArrayLike | None, width: int, name: str, label: str) -> F64:
    """(n, width) finite numbers."""
    array = np.array(values, np.float64)
    if array.ndim != 2 or array.shape[1] < width:
        raise ConversionError(f"object {called(name)} has a vertex with too few numbers", file=label, expected=width)
    if not np.isfinite(array).all():
        raise ConversionError(f"object {called(name)} has a number that is not finite", file=label)
    return array[:, :width]


def _smooth(points: F64, corners: I64) -> F64:
    """Area-weighted normals of vertices; equal positions share one, as OBJ's vertices do."""
    triangles = points[corners]
    with np.errstate(over="ignore"):
        same = position_ids(triangles.astype(np.float32))
    out = np.zeros(points.shape)
    out[corners] = summed_cross_products(triangles, same)[same]
    return out
