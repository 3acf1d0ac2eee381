"""Read the fields on which the two dialects differ, name parts by their cells, and detect a file's dialect.

Readers of the game's data disagree on four fields (docs/reference/dialects.md). The source
documents' reading is ``spec``, the one that the retail data proves is ``retail``. All other code is
dialect-free: it sees ``[w, x, y, z]`` quaternions, material rows, names and named vertex streams.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from ..formats.model import NO_LIGHTMAP, NODE_COCKPIT, MshModel
from ..formats.names import decode_text
from ..formats.tables import KEY_DTYPE, bounding_header, count_identities, decode_keys
from ..numeric.arrays import F32, F64, I64, NONE16, U8, U16, Records, ranges
from ..numeric.pose import Tracks, compose, keys_at_rest, rotate, rotation, rotation_matrix, sample


class Dialect(StrEnum):
    """Which reading of the ambiguous fields holds."""

    SPEC = "spec"
    RETAIL = "retail"


def last_row(dialect: Dialect) -> int:
    """Return the largest row of the WEAR that a batch can name."""
    return 0xFF if dialect is Dialect.RETAIL else 0xFFFF


_ORDER = list(Dialect)
#: Column order that turns a stored key quaternion into [w, x, y, z].
_KEY_ORDER = {Dialect.SPEC: [3, 0, 1, 2], Dialect.RETAIL: [0, 1, 2, 3]}
#: The same for a quaternion that was read as ``spec``.
_RETAIL_OF_SPEC = [_KEY_ORDER[Dialect.SPEC].index(k) for k in _KEY_ORDER[Dialect.RETAIL]]


class Readings(NamedTuple):
    """What every dialect reads in the keys of a model, in the order of :class:`Dialect`.

    Made once, for the decision and for the scene.

    Attributes:
        tracks: the keys.
        rotation: (D, N, 4) float64, unit rotations of the nodes at rest, relative to the parent.
        translation: (N, 3) float32, the same under all.
    """

    tracks: list[Tracks]
    rotation: F64
    translation: F32

    def of(self, dialect: Dialect) -> Tracks:
        """What one dialect reads."""
        return self.tracks[_ORDER.index(dialect)]

    def at_rest(self, dialect: Dialect) -> F64:
        """The rotations at rest that one dialect reads. (N, 4)."""
        rotation: F64 = self.rotation[_ORDER.index(dialect)]
        return rotation


class BatchMaterials(NamedTuple):
    """Per batch: material row, lightmap row (255 = none), flags. (B,) int64 each."""

    row: I64
    lightmap: I64
    flags: I64


@dataclass(frozen=True)
class Decision:
    """A dialect and what decided it.

    Attributes:
        dialect: the answer.
        step: ``given``, ``a`` (header box), ``bc`` (keys and batch words), ``archive`` (the
            majority of its archive) or ``d`` (no evidence).
        reason: one line for people.
        box_error: header box error under each reading, where it could be computed.
        identity_keys: number of keys that are an identity under each reading.
        batch_words: the reading that the batch words vote for, or ``None``.
    """

    dialect: Dialect
    step: str
    reason: str
    box_error: dict[str, float] = field(default_factory=dict)
    identity_keys: dict[str, int] = field(default_factory=dict)
    batch_words: str | None = None


# ------------------------------------------------------------------ what the dialects read


def tracks(model: MshModel, dialect: Dialect) -> Tracks | None:
    """Return what the sampler reads; ``None`` for models without keys and for legacy nodes."""
    if model.keys is None or not len(model.keys) or model.legacy:
        return None
    starts, fallback = (model.nodes[name].astype(np.int64) for name in ("map_start", "fallback_key"))
    return Tracks(starts, fallback, model.frame_map, model.frame_count, *decode_keys(model.keys, _KEY_ORDER[dialect]))


def read_keys(model: MshModel) -> Readings | None:
    """Return the keys of a model under every dialect; ``None`` as of :func:`tracks`."""
    one = tracks(model, Dialect.SPEC)
    if one is None:
        return None
    both = [one, one._replace(quaternion=one.quaternion[:, _RETAIL_OF_SPEC])]
    if (key := keys_at_rest(one)) is not None:
        at_rest = np.array([each.quaternion[key] for each in both])
        return Readings(both, rotation(at_rest), one.position[key])
    # between two keys: the order in which the sampler sums counts
    samples = [sample(each, np.arange(len(model.nodes)), [0.0]) for each in both]
    at_rest = np.array([each.quaternion[:, 0] for each in samples])
    return Readings(both, rotation(at_rest), samples[0].position[:, 0])


def key_order(dialect: Dialect) -> list[int]:
    """Return the columns of a stored key quaternion in ``[w, x, y, z]`` order."""
    return _KEY_ORDER[dialect]


def batch_materials(model: MshModel, dialect: Dialect) -> BatchMaterials:
    """Return material row, lightmap row and flags of every batch."""
    word0, word2, word4 = (model.batches[f"word{k}"].astype(np.int64) for k in (0, 2, 4))
    if dialect is Dialect.SPEC:
        return BatchMaterials(word2, np.full_like(word0, NO_LIGHTMAP), word0)
    return BatchMaterials(word4 & 0xFF, word4 >> 8, word0 | word2 << 16)


def node_names(model: MshModel, dialect: Dialect) -> list[str]:
    """Return a name per node, empty where neither table has one."""
    count = len(model.nodes)
    res9 = (model.node_names or [])[:count]
    res9 += [b""] * (count - len(res9))
    res10 = [(model.strings.text(i) if model.strings else None) or b"" for i in range(count)]
    first, second = (res9, res10) if dialect is Dialect.RETAIL else (res10, res9)
    return [decode_text(a or b) for a, b in zip(first, second, strict=True)]


def node_labels(model: MshModel, dialect: Dialect) -> list[str]:
    """Return a socket label per node: Res10 of ``retail``, else empty."""
    if dialect is Dialect.SPEC or model.strings is None:
        return [""] * len(model.nodes)
    return [decode_text(model.strings.text(i) or b"") for i in range(len(model.nodes))]


def lightmap_uv_words(model: MshModel, dialect: Dialect) -> U16 | None:
    """Return Res18 as (V, 2) uint16 lightmap coordinates, in ``retail``."""
    if model.vertex_extra is None or dialect is Dialect.SPEC:
        return None
    return model.vertex_extra.view("<u2")


def vertex_colours(model: MshModel, dialect: Dialect) -> U8 | None:
    """Return Res18 as (V, 4) uint8 RGBA, in ``spec`` (stored BGRA)."""
    if model.vertex_extra is None or dialect is Dialect.RETAIL:
        return None
    return model.vertex_extra[:, [2, 1, 0, 3]]


# ------------------------------------------------------------------ detection


def decide(model: MshModel, wanted: str = "auto", keys: Readings | None = None) -> Decision:
    """Detect the dialect of a model, from evidence in the file.

    In order: (a) the header box, posed under both quaternion orders; (b) identity keys and
    (c) batch words, one vote each; (d) no evidence: ``spec``. The model must be valid.

    Args:
        wanted: ``auto``, ``spec`` or ``retail``; the latter two decide without looking.
        keys: its keys, where they were read already (:func:`read_keys`).
    """
    if wanted != "auto":
        return Decision(Dialect(wanted), "given", "given by --dialect")
    errors = _box_errors(model, keys or read_keys(model))
    box = {d.value: e for d, e in errors.items()}
    identity = _identity_keys(model)
    words = _batch_word_vote(model)
    decided = partial(Decision, box_error=box, identity_keys=identity, batch_words=words)

    for this, other in ((Dialect.SPEC, Dialect.RETAIL), (Dialect.RETAIL, Dialect.SPEC)):
        if errors and errors[this] < 0.05 and errors[this] < errors[other] / 2:
            reason = f"header box: error {errors[this]:.2g} against {errors[other]:.2g}"
            return decided(this, "a", reason)

    votes = {}
    if identity["spec"] != identity["retail"]:
        votes["identity keys"] = "spec" if identity["spec"] > identity["retail"] else "retail"
    if words is not None:
        votes["batch words"] = words
    if len(set(votes.values())) == 1:
        return decided(Dialect(next(iter(votes.values()))), "bc", " and ".join(votes))
    return decided(Dialect.SPEC, "d", "contradicting evidence, so spec" if votes else "no evidence, so spec")


def majority(decisions: Sequence[Decision]) -> Decision | None:
    """Return the dialect that models of an archive without evidence of their own take; ``None``: nothing decides."""
    votes = Counter(d.dialect for d in decisions if d.step in ("a", "bc"))
    ranked = votes.most_common()
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    dialect, count = ranked[0]
    reason = f"no evidence in the model; {count} of {votes.total()} in its archive are {dialect}"
    return Decision(dialect, "archive", reason)


def _box_errors(model: MshModel, keys: Readings | None) -> dict[Dialect, float]:
    """Largest difference of a box face from the header's, over the header's diagonal."""
    with np.errstate(invalid="ignore"):  # signalling NaNs signal when they are converted
        hull = model.header["hull"][0].astype(np.float64)
    low, high = hull.min(0), hull.max(0)
    side = high - low
    diagonal = sqrt(side.dot(side))
    if not isfinite(diagonal) or diagonal == 0:
        return {}
    posed = None if keys is None else _posed_at_rest(model, keys)
    if posed is None:
        return {}
    off = np.concatenate([posed.min(2) - low, posed.max(2) - high], axis=1)
    error = np.abs(off).max(1) / diagonal
    return dict(zip(Dialect, error.tolist(), strict=True))


def posed_at_rest(model: MshModel) -> dict[Dialect, F64]:
    """Return the geometry that the header bounds, at rest under each reading of the keys, (n, 3) float64, model space;
    nothing where there is no such geometry, or no keys.
    """
    keys = read_keys(model)
    posed = None if keys is None else _posed_at_rest(model, keys)
    return {} if posed is None else {d: posed[k].T for k, d in enumerate(Dialect)}


def _posed_at_rest(model: MshModel, keys: Readings) -> F64 | None:
    """The same under every dialect in their order, axis after axis in memory. (D, 3, n)."""
    vertices, nodes, counts = header_vertices(model)
    if not vertices.size:
        return None
    translations = keys.translation.astype(np.float64)[None].repeat(len(keys.rotation), axis=0)
    world_r, world_t = compose(model.parents, keys.rotation, translations)
    matrices = rotation_matrix(world_r)
    # axis after axis in memory: the largest of each is found twenty times as fast
    points = model.positions.T.astype(np.float64).take(vertices, axis=1)
    posed = np.empty((len(matrices), *points.shape))
    end = 0
    for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
        start, end = end, end + count
        here = posed[:, :, start:end]
        np.matmul(matrices[:, node], points[:, start:end], out=here)
        here += world_t[:, node, :, None]
    return posed


def header_vertices(model: MshModel) -> tuple[I64, I64, I64]:
    """Return the vertices that LOD 0, group 0 uses, without cockpit nodes.

    Returns:
        The vertices node after node, as often as indices name them; the nodes, and how many of
        the vertices are each one's.
    """
    if model.legacy:
        none = np.empty(0, np.int64)
        return none, none, none
    slot = model.nodes["slot_index"][:, 0, 0]
    nodes = np.flatnonzero((slot != NONE16) & (model.nodes["flags"] & NODE_COCKPIT == 0))
    slots = model.slots[slot[nodes]]
    batches = slots["batch_count"].astype(np.int64)
    rows = model.batches[ranges(slots["batch_start"].astype(np.int64), batches)]
    corners = rows["index_count"].astype(np.int64)
    base = np.repeat(rows["base_vertex"].astype(np.int64), corners)
    vertices = base + model.indices[ranges(rows["index_start"].astype(np.int64), corners)]
    before = np.zeros(len(corners) + 1, np.int64)
    np.cumsum(corners, out=before[1:])
    counts = before[np.cumsum(batches)]
    counts[1:] -= counts[:-1].copy()
    return vertices, nodes, counts


def _identity_keys(model: MshModel) -> dict[str, int]:
    pool = np.zeros(0, KEY_DTYPE) if model.keys is None else model.keys
    counts = count_identities(pool, *_KEY_ORDER.values())
    return dict(zip(_KEY_ORDER, counts, strict=True))


def _batch_word_vote(model: MshModel) -> str | None:
    if model.batches["word2"].any():
        return Dialect.SPEC.value
    if ((model.batches["word4"] >> 8) == NO_LIGHTMAP).any():
        return Dialect.RETAIL.value
    return None


#: The column that the unit's own first-person view draws.
VIEW = 4
_ROW = r"\.lod(?P<lod>[0-2])(?:\.group(?P<group>[0-4]))?"
_STAGE = r"(?:\.stage(?P<stage>[0-2]))?(?:\.level(?P<level>[0-3])|(?P<view>\.view))?"
_PART_NAME = re.compile(rf"(?P<node>.+?)(?:{_ROW}|{_STAGE})(?:#\d+)*")


class PartName(NamedTuple):
    """What the name of a part's object states.

    Attributes:
        node: name of its node.
        lod, group: row and column.
        by_row: the row is called ``lod``, and no column is stated: the address of the exporter states both.
    """

    node: str
    lod: int
    group: int
    by_row: bool


def cell_name(lod: int, group: int, dialect: Dialect) -> str:
    """Return the name of a cell: ``lod1.group2``, in ``retail`` ``stage1.level2``, zeros left out."""
    if dialect is Dialect.SPEC:
        return f"lod{lod}.group{group}"
    column = "view" if group == VIEW else f"level{group}" if group else ""
    return ".".join(filter(None, (f"stage{lod}" if lod else "", column)))


def scene_name(lod: int, group: int, dialect: Dialect) -> str:
    """Return the name of a scene of parts of a cell."""
    return cell_name(lod, group, dialect) or "stage0"


def part_name(node: str, lod: int, group: int, dialect: Dialect) -> str:
    """Return the name of a part: its node's, and its cell's where that has one."""
    return ".".join(filter(None, (node, cell_name(lod, group, dialect))))


def part_key(node: str, lod: int, group: int) -> str:
    """Return what tells a part from all other parts and from its node, whatever the dialect."""
    return part_name(node, lod, group, Dialect.SPEC)


def cell_title(lod: int, group: int, dialect: Dialect) -> str:
    """Return a cell in words, for reports: ``lod 1 group 2``, in ``retail`` ``stage 1 level 2``."""
    if dialect is Dialect.SPEC:
        return f"lod {lod} group {group}"
    return f"stage {lod} view" if group == VIEW else f"stage {lod} level {group}"


def read_part_name(name: str) -> PartName | None:
    """Return what the name of an object states, in the terms of either dialect; ``None``: no cell."""
    found = _PART_NAME.fullmatch(name)
    if found is None or (found["lod"] is None and not any(found[key] for key in ("stage", "level", "view"))):
        return None
    if found["lod"] is not None:
        return PartName(found["node"], int(found["lod"]), int(found["group"] or 0), by_row=found["group"] is None)
    column = VIEW if found["view"] else int(found["level"] or 0)
    return PartName(found["node"], int(found["stage"] or 0), column, by_row=False)


def node_of_part(name: str) -> str:
    """Return the node that the name of a part begins with; other names as they are."""
    found = read_part_name(name)
    return name if found is None else found.node


def posed_header(model: MshModel, dialect: Dialect) -> Records:
    """Return the header of a model: LOD 0, group 0 without cockpits, posed at t = 0."""
    vertices, nodes, counts = header_vertices(model)
    owner = np.repeat(nodes, counts)
    points = model.positions[vertices].astype(np.float64)
    read = tracks(model, dialect)
    if read is None or not len(points):
        return bounding_header(points)
    rest = sample(read, np.arange(len(model.nodes)), [0.0])
    world_r, world_t = compose(model.parents, rotation(rest.quaternion[:, 0]), rest.position[:, 0].astype(np.float64))
    return bounding_header(rotate(world_r[owner], points) + world_t[owner])
