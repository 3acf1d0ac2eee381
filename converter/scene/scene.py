"""Hold a model as a scene: nodes, parts, materials, a clip. Format-neutral, game axes, float.

``converter.scene.decode`` makes a scene from MSH tables, ``importers.gltf`` from a glTF file.
Vertex streams and indices are whole arrays; primitives are windows into them, so that nothing is
copied per batch.

The addresses of cells are those of the source documents, row (``lod``) and column (``group``). In the game a row is a
damage stage and columns 0 to 3 are levels of detail (docs/reference/model.md#the-slot-matrix): in the dialect
``retail`` cells are called ``.stage1``, ``.level2`` and ``.view``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConversionError
from ..findings import Report
from ..formats.gltf import FilePicture, Surface
from ..formats.model_parts import ControlPoint
from ..numeric.arrays import F32, F64, I64, U8, U16, U32, Bools
from ..numeric.quantize import normalise
from .dialect import Dialect
from .extras import FileInfo, MaterialExtras, NodeExtras

#: A curve that varies by less, relative to its values, does not move.
_STILL = 1e-6


class Material(NamedTuple):
    """A distinct material key of the batches.

    Attributes:
        name: for people; from the model's WEAR, else ``material_{row}``.
        row: WEAR row.
        lightmap: lightmap row, 255 = none.
        batch_flags: flags, u32.
        w2, w4, w6: the raw words of the batch at +2, +4 and +6; they and the others: -1 = a file does not say.
    """

    name: str
    row: int = -1
    lightmap: int = -1
    batch_flags: int = -1
    w2: int = -1
    w4: int = -1
    w6: int = -1

    @property
    def key(self) -> tuple[int, ...]:
        """What identifies a material, whatever its name."""
        return self[1:]


class Primitive(NamedTuple):
    """One batch: a window of vertices, a range of indices relative to it, a material.

    ``tri_flags`` are stated for all of its triangles by an edited file, -1 = not. ``lit``: whether it has lightmap
    coordinates; if not, they are zeros where others have some.
    """

    material: int
    vertex_start: int
    vertex_count: int
    index_start: int
    index_count: int
    tri_flags: int = -1
    lit: bool = True


@dataclass
class Mesh:
    """What one used slot draws; ``tri_flags`` (T,) are of its descriptors, if it has them all.

    ``lines``: (n, 2, 3) each, of a route of a mission, or of what the exporters show by lines.
    """

    name: str
    primitives: list[Primitive]
    slot: int | None = None
    lod: int | None = None
    group: int | None = None
    tri_flags: U16 | None = None
    lines: list[F32] = field(default_factory=list)

    @property
    def common_flags(self) -> int | None:
        """The flags that all of its triangles have, ``None`` where they differ."""
        flags = self.tri_flags
        if flags is None or not len(flags) or np.count_nonzero(flags != flags[0]):
            return None
        return int(flags[0])

    @property
    def drawn(self) -> bool:
        """Whether there is a triangle: without one, it is not a part."""
        return any(primitive.index_count for primitive in self.primitives)


#: Node, LOD, group.
Cell = tuple[int, int, int]


class Part(NamedTuple):
    """A mesh in a cell (node, lod, group).

    ``matrix`` (4, 4) takes its vertices into the node's frame; ``None`` where they are in it.
    ``tri_flags`` are what an edited file states for its triangles, ``None`` = nothing.
    """

    node: int
    lod: int
    group: int
    mesh: int
    matrix: F64 | None = None
    tri_flags: int | None = None

    @property
    def cell(self) -> Cell:
        """Where it is."""
        return self[:3]


class GeneratedLevel(NamedTuple):
    """A part that the import made of another one of the same node, and what it states of it.

    Attributes:
        node: index in ``Scene.nodes``; of a written model, in its table.
        lod, group: its cell.
        whole: the cell of the other one.
        error: how far the surfaces of each material are from each other at most.
    """

    node: int
    lod: int
    group: int
    whole: tuple[int, int]
    error: float


@dataclass
class Node:
    """One node of the hierarchy.

    Attributes:
        index: row in Res1, ``None`` where the scene does not say.
        parent: index in ``Scene.nodes``, -1 = root.
        rotation: (4,) float64, unit, textbook sense, ``[w, x, y, z]``.
        translation: (3,) float32, relative to the parent.
        flags: Res1 hdr0; ``None`` where the scene does not say.
        label: socket label, empty = none.
        cockpit: only the unit's own first-person view draws it.
        animated: has a frame map.
    """

    name: str
    index: int | None
    parent: int
    rotation: F64
    translation: F32
    flags: int | None = None
    label: str = ""
    cockpit: bool = False
    animated: bool = False


@dataclass
class Channel:
    """An animation curve of one node and path.

    Attributes:
        frames: (T,) float64, increasing.
        values: (T, 3) translations or (T, 4) rotations ``[w, x, y, z]`` in game axes; (3T, ...)
            for ``CUBICSPLINE``: in-tangent, value, out-tangent per key.
        interpolation: ``LINEAR``, ``STEP`` or ``CUBICSPLINE``.
    """

    frames: F64
    values: F64
    interpolation: str = "LINEAR"


@dataclass
class Track:
    """The curves of one node; a path without a channel keeps the node's own value."""

    node: int
    rotation: Channel | None = None
    translation: Channel | None = None


class StatedFlags(NamedTuple):
    """``tri_flags`` of an object of a file: a custom property of its own, and ``extras.msh``."""

    own: int | None = None
    exported: int | None = None


@dataclass
class Clip:
    """One animation of an edited file, by node of the file.

    Attributes:
        tracks: curves whose times are seconds; tangents of ``CUBICSPLINE`` are per second.
        scaled: nodes whose scale is animated.
        report: what else of it a model cannot have; told if the clip is read.
        span: of one that shows a range of the whole clip, that range: its first and last frame.
        put_in: of such a one, nodes of the file and paths whose curves became those of the whole clip there.
    """

    name: str
    tracks: list[Track] = field(default_factory=list)
    scaled: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    span: tuple[float, float] | None = None
    put_in: frozenset[tuple[int, str]] = frozenset()


@dataclass
class ImportedNode:
    """A node of an edited file before it is identified; game axes.

    Attributes:
        parent: index of the node above, -1 = root.
        rotation: (4,) float64, unit, ``[w, x, y, z]``.
        linear: (3, 3) float64, rotation and scale together, where they are not just a rotation.
        mesh: index of its mesh, -1 = none.
        tri_flags: what it states for the triangles of its mesh.
        hidden: the file does not show it, nor what is below it.
        typed: keys of the schema that stand beside ``msh``: people typed them.
    """

    name: str
    parent: int
    translation: F32
    rotation: F64
    linear: F64 | None
    mesh: int
    extras: NodeExtras
    tri_flags: StatedFlags = field(default_factory=StatedFlags)
    hidden: bool = False
    typed: dict[str, object] = field(default_factory=dict)


@dataclass
class Streams:
    """Vertex streams of all meshes, and their indices.

    Attributes:
        positions: (V, 3) float32, node-local.
        normals: (V, 3) float32, unit, or ``None``.
        uv0: (V, 2) float32, or ``None``.
        uv1: (V, 2) float32, lightmap coordinates, or ``None``.
        colours: (V, 4) uint8 RGBA, or ``None``.
        indices: (I,) unsigned integers, relative to a primitive's window.
        blend: (V,) float32, terrains only: alpha of the second material, or ``None``.
        areal, logic: (V,) float32, areal maps only: areal + 1 and its logic flag, or ``None``; 0
            and -1 where a primitive has none.
    """

    positions: F32
    indices: U16 | U32
    normals: F32 | None = None
    uv0: F32 | None = None
    uv1: F32 | None = None
    colours: U8 | None = None
    blend: F32 | None = None
    areal: F32 | None = None
    logic: F32 | None = None

    def taken(self, rows: I64, indices: U16 | U32) -> Streams:
        """Return some of the vertices, (n,) rows, and other indices; without what only maps have."""
        normals, uv0, uv1 = (None if one is None else one[rows] for one in (self.normals, self.uv0, self.uv1))
        colours = None if self.colours is None else self.colours[rows]
        return Streams(self.positions[rows], indices, normals, uv0, uv1, colours)

    def corners(self, primitives: Iterable[Primitive]) -> I64:
        """Return the vertices of the triangles of primitives, one after the other. (T, 3)."""
        windows = [
            self.indices[p.index_start : p.index_start + p.index_count].astype(np.int64) + p.vertex_start
            for p in primitives
        ]
        return np.concatenate([np.empty(0, np.int64), *windows]).reshape(-1, 3)

    @classmethod
    def joined(cls, pieces: Sequence[Streams]) -> Streams:
        """Join streams end to end, their indices as they are; one that a piece lacks is left out."""
        columns = [[getattr(piece, one.name) for piece in pieces] for one in fields(cls)]
        whole = (None if any(part is None for part in parts) else np.concatenate(parts) for parts in columns)
        return cls(*whole)  # type: ignore[arg-type]


#: The largest coordinate of a vertex: a box of such a size still has a volume in binary32.
MAX_COORDINATE = 1e12


def require_in_range(what: str, positions: NDArray[np.floating], label: str | None = None) -> None:
    """Refuse coordinates that are not finite, or beyond ``MAX_COORDINATE``. ``positions``: (..., 3)."""
    if not np.abs(positions).max(initial=0) <= MAX_COORDINATE:  # also where one is NaN
        far = ~(np.abs(positions) <= MAX_COORDINATE)
        problem, value = f"{what} is not finite, or too large", float(np.asarray(positions)[far][0])
        raise ConversionError(problem, file=label, value=value, expected=f"at most {MAX_COORDINATE:g}")


def in_range(points: NDArray[np.floating]) -> Bools:
    """Return which rows are finite and at most ``MAX_COORDINATE``. (n, k) -> (n,)."""
    return np.asarray((np.abs(points) <= MAX_COORDINATE).all(axis=1))  # nor is NaN


@dataclass
class Scene:
    """A whole model.

    Attributes:
        nodes: parents may come after children only in foreign files.
        parts: every cell that has a mesh.
        tracks: one per animated node.
        frame_count: length of the timeline in frames.
        paths: (L, 2, 3) float64 segments of the interior path graph in model space.
        dialect: of the model, which cells are called by.
    """

    name: str
    streams: Streams
    nodes: list[Node] = field(default_factory=list)
    meshes: list[Mesh] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    materials: list[Material] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    frame_count: int = 1
    legacy: bool = False
    paths: F64 | None = None
    points: list[ControlPoint] = field(default_factory=list)
    dialect: Dialect = Dialect.SPEC

    def shown(self, lod: int, group: int) -> list[Part]:
        """Return the parts that a glTF's scene 0 shows of a LOD and group: cockpit nodes are left out."""
        return [part for part in self.parts if part.cell[1:] == (lod, group) and not self.nodes[part.node].cockpit]

    def triangle_count(self, mesh: int) -> int:
        """Number of whole triangles of a mesh."""
        return sum(p.index_count // 3 for p in self.meshes[mesh].primitives)


class Placed(NamedTuple):
    """How a model stands in the glTF of a unit or mission, which does not show all of it.

    Attributes:
        reach: the largest coordinate there: editors compute places of nodes from places in the world.
        moves: whether its clip is shown.
        points: whether its control points are.
    """

    reach: float
    moves: bool
    points: bool


@dataclass
class ImportedScene:
    """An edited file as it is, before its nodes are identified; game axes.

    Attributes:
        info: the default scene's ``extras.msh``, or the header line of an OBJ.
        nodes: those of the scenes that are read.
        clips: every animation, in the order of the file, but for those that show a range of another.
        ranges: these; they are compared with the clip, and not read.
        tracks: curves by node, times in frames; of the clip that ``edits.clips`` chose.
        material_extras: ``extras.msh`` of each material.
        surfaces: what each material shows; empty for an OBJ.
        draco: whether a mesh was compressed with Draco.
        has_normals: whether the file has any; else they are computed from its faces.
        material_flags: ``tri_flags`` of each material, for the triangles that have it.
        fps: frames per second as the file states.
        placed: of a model that a unit or mission places, how; materials that it names are those of the
            whole file, and are compared there.
        report: what the import says; whatever it is passed to adds to it.
    """

    name: str
    info: FileInfo
    nodes: list[ImportedNode] = field(default_factory=list)
    meshes: list[Mesh] = field(default_factory=list)
    streams: Streams = field(default_factory=lambda: Streams(np.empty((0, 3), np.float32), np.empty(0, "<u4")))
    materials: list[Material] = field(default_factory=list)
    material_extras: list[MaterialExtras] = field(default_factory=list)
    surfaces: list[Surface[FilePicture]] = field(default_factory=list)
    material_flags: list[int | None] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    ranges: list[Clip] = field(default_factory=list)
    fps: float | None = None
    draco: bool = False
    has_normals: bool = True
    placed: Placed | None = None
    report: Report = field(default_factory=Report)

    @property
    def shown(self) -> tuple[int, int]:
        """The cell that the default scene shows, as far as the file states it."""
        return self.info.get("lod", 0), self.info.get("group", 0)


def curves_of(tracks: Iterable[Track]) -> Iterator[tuple[int, str, Channel]]:
    """Yield node, path and curve of all channels of some nodes."""
    for track in tracks:
        for path, channel in (("translation", track.translation), ("rotation", track.rotation)):
            if channel is not None:
                yield track.node, path, channel


def channels_of(tracks: Iterable[Track]) -> list[Channel]:
    """Return all curves of some nodes."""
    return [channel for _, _, channel in curves_of(tracks)]


def nodes_above(nodes: Sequence[ImportedNode] | Sequence[Node], i: int) -> Iterator[int]:
    """Yield the nodes that a node is below, the nearest first."""
    while (i := nodes[i].parent) >= 0:
        yield i


def moves(tracks: Iterable[Track]) -> bool:
    """Return whether any curve varies by more than what rounds."""
    return any(np.ptp(c.values, axis=0).max() > _STILL * max(1.0, np.abs(c.values).max()) for c in channels_of(tracks))


def evaluate(channel: Channel, frames: ArrayLike, *, by_component: bool = False) -> F64:
    """Return the values of a curve; before its first and after its last key they stay.

    Args:
        channel: LINEAR (rotations along the shorter arc), STEP or CUBICSPLINE.
        by_component: interpolate rotations of LINEAR per component, as Blender does.

    Returns:
        (T, 3) translations or (T, 4) unit rotations.
    """
    keys, at = channel.frames, np.clip(frames, channel.frames[0], channel.frames[-1])
    last = np.searchsorted(keys, at, "right") - 1
    is_rotation = channel.values.shape[1] == 4
    if channel.interpolation != "CUBICSPLINE" and (keys[last] == at).all():  # nothing is between two keys
        out = channel.values[last]
        return normalise(out, (1, 0, 0, 0)) if is_rotation else out
    following = np.minimum(last + 1, len(keys) - 1)
    span = keys[following] - keys[last]
    t = np.divide(at - keys[last], span, out=np.zeros_like(at), where=span > 0)[:, None]
    if channel.interpolation == "CUBICSPLINE":
        out = _cubic(channel.values, last, following, span[:, None], t)
    elif channel.interpolation == "STEP":
        out = channel.values[last]
    elif is_rotation and not by_component:
        out = _slerp(channel.values[last], channel.values[following], t)
    else:
        a, b = channel.values[last], channel.values[following]
        if is_rotation:
            b = np.where(np.einsum("ti,ti->t", a, b)[:, None] < 0, -b, b)
        out = a + (b - a) * t
    return normalise(out, (1, 0, 0, 0)) if is_rotation else out


def _slerp(a: F64, b: F64, t: F64) -> F64:
    dot = np.einsum("ti,ti->t", a, b)[:, None]
    b = np.where(dot < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0, 1))
    sine = np.sin(angle)
    close = sine < 1e-8
    safe = np.where(close, 1, sine)
    w0 = np.where(close, 1 - t, np.sin((1 - t) * angle) / safe)
    w1 = np.where(close, t, np.sin(t * angle) / safe)
    # on a key the key itself, so that what was not resampled compares exactly
    return np.where(t == 0, a, w0 * a + w1 * b)


def _cubic(values: F64, left: I64, right: I64, span: F64, t: F64) -> F64:
    """Hermite spline: keys are (in-tangent, value, out-tangent)."""
    v0, out0 = values[3 * left + 1], values[3 * left + 2]
    in1, v1 = values[3 * right], values[3 * right + 1]
    t2, t3 = t * t, t * t * t
    return np.asarray(
        (2 * t3 - 3 * t2 + 1) * v0 + span * (t3 - 2 * t2 + t) * out0 + (3 * t2 - 2 * t3) * v1 + span * (t3 - t2) * in1
    )
