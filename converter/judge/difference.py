"""What differs: triangles of two sides matched, a difference, and the line that explains it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import product

import numpy as np

from ..errors import called, in_words, plural
from ..findings import Explained, Explains, Kind, Report
from ..numeric.arrays import F64, I64, Bools, cross_products, ranges, row_ids
from ..scene.dialect import part_key, read_part_name
from .shown import Thing, Triangles, ways

#: What a result may have no table for (``Shown.lacks``): why, and what to do.
LACKS = {
    "name": ("the model has no table of node names (Res9)", "rebuild it with --no-sidecar, which writes one"),
    "label": ("the model has no table of labels (Res10)", "remove the custom property label, or rename the node"),
    "tri_flags": ("the model has no Res7, which holds them", "rebuild the model with --no-sidecar"),
    "vertex colours": ("the file of the game has no table for them", "use the colour or the picture of a material"),
    "texture coordinates": ("the model has no table for them", "rebuild the model with --no-sidecar"),
    "lightmap coordinates": ("the model has no table for them", "rebuild the model with --no-sidecar"),
}
#: How far stored coordinates go, by kind, and what to do.
MOST = {"texture coordinates": 32, "lightmap coordinates": 64}
TOO_FAR = ("a stored one has 16 bits, -32 to 32", "repeat the texture less often on these faces, or cut them")
#: Streams that a model may lack.
_STREAMS: tuple[Kind, ...] = ("vertex colours", "texture coordinates", "lightmap coordinates")
_KEYS_ALONE = ("the keys alone say where an animated node stands", "move its keys")


@dataclass(frozen=True)
class Difference:
    """What the two sides show differently.

    Attributes:
        kind: what of it.
        what: in the file and in the result, for the user.
        names: what a line of the report may call the thing, its own names first, those of what is above it last.
        amount: how much: a distance beyond what rounding may move it, or a number of triangles.
        moving: whether it is about where something is that a clip moves.
        cell: that of a part, as reports call it.
        fact: the one that differs, of kind ``fact``.
        reason: why the result cannot show it, and what to do, where that is known.
    """

    where: str
    kind: Kind
    what: str
    names: tuple[str, ...]
    amount: float = 0.0
    moving: bool = False
    cell: str = ""
    fact: str = ""
    reason: tuple[str, str] | None = None


#: A file without any material.
NO_MATERIALS = Difference(
    "materials",
    "materials",
    "are not in the file",
    ("materials",),
    reason=(
        "Materials is set to No export or Placeholder in Blender's glTF exporter: what was exported keeps its own",
        "set Materials to Export, and export again",
    ),
)

#: What says that they are nowhere in the game, by kind.
LOST = {kind: Difference(kind, kind, "are in the file", (kind,), reason=LACKS[kind]) for kind in _STREAMS}

#: Lightmaps of a model that is made in the dialect without.
LIGHTMAPS_LOST = Difference(
    "lightmap rows of materials",
    "flags of materials",
    "are in the file",
    ("lightmap rows of materials",),
    reason=("the dialect spec has none", "import the file with --dialect retail, where it is a model of the game"),
)


def still_elsewhere(name: str, how: Sequence[str]) -> Difference:
    """Return that a node which a clip moves stands elsewhere by itself; ``how``: moved, turned."""
    what = f"is {' and '.join(how)}, but its animation is not"
    names = tuple(one.casefold() for one in (name, *sorted(ways(name))) if one)
    return Difference(f"node {called(name)}", "place", what, names, reason=_KEYS_ALONE)


#: Lines that a report gets at most.
MOST_LINES = 20
#: The reason of each line of the judge.
JUDGED = "no line of this report says why"
_INSTEAD = "make the edit in another way; what is not meant, undo"
_LOOKS: tuple[Kind, ...] = ("materials", "flags of materials", "look")
_MOTION: tuple[Kind, ...] = ("clip", "place", "turn")
_MESH: tuple[Kind, ...] = ("normals", "texture coordinates", "lightmap coordinates", "vertex colours")
#: What a line about such an object is about, unless it says it; others are about all of their object.
_KINDS: dict[str, tuple[Kind, ...]] = {
    "animation": _MOTION,
    "material": _LOOKS,
    "materials": _LOOKS,
    "node": ("node", "name", "fact", "place", "turn", "triangles"),
    "part": ("place", "turn", "triangles", *_MESH, "materials", "flags of materials"),
    "picture": _LOOKS,
    "pictures": _LOOKS,
}


class Lines:
    """The lines and warnings of a report by what they are about.

    Attributes:
        used: how often each explained something.
    """

    def __init__(self, report: Report) -> None:
        self.texts = [*map(str, report.not_applied)]
        self.about = [one.explains for one in report.not_applied] + report.concerned
        self.used: Counter[int] = Counter()
        self._rows: dict[str, list[int]] = {}
        for row, one in enumerate(self.about):
            for key in {key for name in one.names for key in _called(name)}:
                self._rows.setdefault(key, []).append(row)
        self._motion = [row for row, one in enumerate(self.about) if one.noun == "animation"]

    def explanation(self, difference: Difference) -> str | None:
        """Return what explains a difference: the line that is nearest to its thing, of several one that has none."""
        groups = [self._rows.get(name, []) for name in difference.names]
        for rows in [*groups, self._motion if difference.moving else []]:
            fitting = [row for row in rows if self._fits(self.about[row], difference)]
            if fitting:
                row = min(fitting, key=lambda row: (not self.about[row].fact, self.used[row]))
                self.used[row] += 1
                about = self.about[row]
                return self.texts[row] if row < len(self.texts) else f"a warning about {in_words(about.names[0])}"
        return None

    @staticmethod
    def _fits(one: Explains, difference: Difference) -> bool:
        kinds = one.kinds or _KINDS.get(one.noun)
        return (
            (not kinds or difference.kind in kinds)
            and difference.amount <= one.most
            and one.fact in ("", difference.fact)
            and (not one.cell or difference.cell in ("", one.cell))
        )


@lru_cache(maxsize=4096)
def _called(name: str) -> tuple[str, ...]:
    """A name, and of a part what tells it from all others: objects state their cell in the terms of either dialect."""
    part = read_part_name(name)
    key = () if part is None else (part_key(part.node, part.lod, part.group).casefold(),)
    return (name.casefold(), *key)


def tell(report: Report, differences: Sequence[Difference]) -> None:
    """Add a line for each difference that nothing explains, the largest first; note what explains the others."""
    lines_of = Lines(report)
    why = [lines_of.explanation(one) for one in differences]
    left = [one for one, line in zip(differences, why, strict=True) if line is None]
    left.sort(key=lambda one: -one.amount)
    lines: dict[tuple[str, tuple[str, str]], list[Difference]] = {}
    for one in left:
        lines.setdefault((one.where, one.reason or (JUDGED, _INSTEAD)), []).append(one)
    shown = [*lines.items()]
    if len(shown) > MOST_LINES:
        shown = shown[: MOST_LINES - 1]
    for (where, reason), found in shown:
        what = ", ".join(dict.fromkeys(one.what for one in found))
        report.skipped(where, what, *reason)
    if len(lines) > len(shown):
        rest = plural(len(lines) - len(shown), "other place")
        report.skipped(rest, "show something else in the game than in the file", JUDGED, _INSTEAD)
    report.judged = [
        Explained(f"{one.where} {one.what}", line or ("" if one.reason is None else "; ".join(one.reason)))
        for one, line in zip(differences, why, strict=True)
    ]
    report.judged += [Explained("", text) for row, text in enumerate(lines_of.texts) if not lines_of.used[row]]


#: A triangle of less area than this, of its longest edge squared, shows nothing.
_FLAT = 1e-6
#: Distance that another fact, or another name, of a node counts as: it decides between equal distances.
_OTHER = np.array([1e-9, 1e-10])
#: Decimals of a place that two nodes share.
_SAME_PLACE = 5
#: Candidates that are compared at once.
_BLOCK = 1 << 20
_TURNS = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
#: Where more triangles than this are in one cube, only those that are most alike are compared,
_CROWD = 64
#: so many of each.
_ALIKE = 8


def steps(corners: F64, local: F64) -> F64:
    """Return two steps of a stored coordinate at each triangle. (..., N, 3, 3), (N, 3, 3) -> (..., N)."""
    most = np.maximum(np.abs(corners), np.abs(local)).max(axis=(-2, -1))
    return np.asarray(2 * np.spacing(most.astype(np.float32)).astype(np.float64))


def looseness(triangles: Triangles, things: list[Thing], at: Sequence[int]) -> F64:
    """Return how far rounding of poses may move each triangle at some of the frames. (t, N)."""
    turn = np.array([thing.turn for thing in things])[triangles.owner]
    moves = np.array([np.broadcast_to(thing.move, len(thing.world))[at] for thing in things])
    reach = np.sqrt(np.einsum("tci,tci->tc", triangles.local, triangles.local).max(axis=1))
    return np.asarray(moves.T[:, triangles.owner] + turn * reach)


def is_flat(corners: F64, tolerance: F64) -> Bools:
    """Return which triangles show nothing. (N, 3, 3), (N,) -> (N,)."""
    edge = np.linalg.norm(corners - corners[:, [1, 2, 0]], axis=2).max(axis=1)
    height = np.linalg.norm(cross_products(corners), axis=1) / np.maximum(edge, 1e-300)
    return np.asarray((height <= _FLAT * edge) | (height <= 2 * tolerance))


def pairs(
    a: F64, b: F64, tolerance: F64, more: Callable[[], list[tuple[F64, F64]]] = list
) -> tuple[I64, I64, I64, F64]:
    """Return pairs of triangles whose corners are within a tolerance: all, unless a crowd coincides.

    Args:
        a: (N, 3, 3) corners.
        b: (M, 3, 3) corners.
        tolerance: (N,) the largest distance of a corner, of each of the first.
        more: gives (N, 3, k) and (M, 3, k) of what else their corners have, in units of what counts as a
            difference: of a crowd, those are compared that are alike in any of that, too.

    Returns:
        (K,) rows of the first, of the second, (K, 3) the corner of the second at each of the first,
        and (K,) how far they are apart. K is bounded by the number of triangles, not of pairs.
    """
    both = min(len(a), len(b))
    apart = np.linalg.norm(a[:both] - b[:both], axis=2).max(axis=1)
    if len(a) == len(b) and (apart <= tolerance).all():
        rows = np.arange(both)
        return rows, rows, np.tile(_TURNS[:1], (both, 1)), apart
    if not both:
        none = np.empty(0, np.int64)
        return none, none, np.empty((0, 3), np.int64), np.empty(0)
    i, j = candidates(a, b, float(tolerance.max()), more)
    found: list[tuple[I64, I64, I64, F64]] = []
    for first in range(0, max(len(i), 1), _BLOCK):
        x, y = i[first : first + _BLOCK], j[first : first + _BLOCK]
        apart = np.stack([np.linalg.norm(a[x] - b[y][:, turn], axis=2).max(axis=1) for turn in _TURNS])
        turn = apart.argmin(axis=0)
        apart = apart.min(axis=0)
        near = apart <= tolerance[x]
        found.append((x[near], y[near], _TURNS[turn[near]], apart[near]))
    mine, theirs, turns, distances = zip(*found, strict=True)
    return np.concatenate(mine), np.concatenate(theirs), np.concatenate(turns), np.concatenate(distances)


def candidates(a: F64, b: F64, tolerance: float, more: Callable[[], list[tuple[F64, F64]]] = list) -> tuple[I64, I64]:
    """Return pairs of triangles that may be within a tolerance: their middles are in one cube of one of eight grids.

    Arguments as of :func:`pairs`. Of a crowd in a cube, those that are next to each other along a line
    through all that is compared: what is alike in everything is near there.
    """
    edge = max(4 * tolerance, 1e-12)
    x, y = a.mean(axis=1), b.mean(axis=1)
    low = np.minimum(x.min(axis=0), y.min(axis=0))
    keys: list[tuple[F64, F64]] = []
    out = []
    for shift in product((0.0, 0.5), repeat=3):
        cubes = np.floor((np.concatenate([x, y]) - low) / edge + shift) + 0.0
        ids = row_ids(cubes.view(np.uint64))
        mine, theirs = ids[: len(a)], ids[len(a) :]
        order = np.argsort(theirs, kind="stable")
        ranked = theirs[order]
        first = np.searchsorted(ranked, mine, "left")
        count = np.searchsorted(ranked, mine, "right") - first
        crowd = np.flatnonzero(count > _CROWD)
        if len(crowd):
            keys = keys or _on_lines(a, b, max(tolerance, 1e-12), more())
            for ours, others in keys:
                sorted_by = np.lexsort((others, theirs))
                i, j = _next_to(
                    mine[crowd], ours[crowd], theirs[sorted_by], others[sorted_by], first[crowd], count[crowd]
                )
                out.append(crowd[i] * len(b) + sorted_by[j])
            count[crowd] = 0
        i, j = np.repeat(np.arange(len(a)), count), order[ranges(first, count)]
        out.append(i * len(b) + j)
    merged = np.unique(np.concatenate(out))
    return merged // len(b), merged % len(b)


def _on_lines(a: F64, b: F64, tolerance: float, more: list[tuple[F64, F64]]) -> list[tuple[F64, F64]]:
    """Where triangles are along lines, through their corners and through what else each has; turned in three ways."""
    x, y = a / tolerance, b / tolerance
    lines = [(x, y)]
    lines += [(np.concatenate([x, mine], axis=2), np.concatenate([y, theirs], axis=2)) for mine, theirs in more]
    out = []
    for ours, others in lines:
        along = np.random.default_rng(0).uniform(0.5, 1.5, ours.shape[1:])
        out += [
            (np.einsum("tci,ci->t", ours[:, turn], along), np.einsum("tci,ci->t", others, along)) for turn in _TURNS
        ]
    return out


def _next_to(ids: I64, keys: F64, sorted_ids: I64, sorted_keys: F64, first: I64, count: I64) -> tuple[I64, I64]:
    """Pair rows with the few that are next to them among those of their cube, which ``first`` and ``count`` tell."""
    every = np.lexsort((np.concatenate([keys, sorted_keys]), np.concatenate([ids, sorted_ids])))
    is_other = every >= len(keys)
    at = np.empty(len(keys), np.int64)
    at[every[~is_other]] = np.cumsum(is_other)[~is_other]
    start = np.clip(at - _ALIKE // 2, first, first + count - _ALIKE)
    return np.repeat(np.arange(len(keys)), _ALIKE), (start[:, None] + np.arange(_ALIKE)).reshape(-1)


def nearest(mine: Sequence[Thing], theirs: Sequence[Thing]) -> Iterator[tuple[int, int]]:
    """Pair things by where they stand in the first frame: the two that are nearest first, and so on.

    Of several in the same place, those with the same facts and name. Takes memory for each thing,
    and not for each pair of them.

    Returns:
        Rows of the first and of the second, each at most once.
    """
    ids: dict[str, int] = {}
    (a, said), (b, stated) = (
        (
            np.array([thing.world[0, :3, 3] for thing in side]).reshape(-1, 3),
            np.array(
                [[ids.setdefault(str(one), len(ids)) for one in ([*t.facts.values()], t.name)] for t in side]
            ).reshape(-1, 2),
        )
        for side in (mine, theirs)
    )
    left, free = dict.fromkeys(range(len(mine))), np.ones(len(theirs), np.bool_)
    for count in (2, 1, 0):
        places: dict[bytes, list[int]] = {}
        for k in np.flatnonzero(free)[::-1].tolist():
            places.setdefault(_place(b[k], stated[k, :count]), []).append(k)
        for i in [*left]:
            if there := places.get(_place(a[i], said[i, :count])):
                yield i, (k := there.pop())
                free[k] = False
                del left[i]

    def next_of(i: int) -> tuple[float, int, int]:
        rows = np.flatnonzero(free)
        apart = np.linalg.norm(b[rows] - a[i], axis=1) + (stated[rows] != said[i]) @ _OTHER
        at = int(np.argmin(np.nan_to_num(apart, nan=np.inf)))
        return float(apart[at]), i, int(rows[at])

    waiting = [next_of(i) for i in left] if free.any() else []
    heapify(waiting)
    while waiting and free.any():
        _, i, k = heappop(waiting)
        if free[k]:
            yield i, k
            free[k] = False
        else:
            heappush(waiting, next_of(i))


def _place(point: F64, stated: I64) -> bytes:
    return (np.round(point, _SAME_PLACE) + 0.0).tobytes() + stated.tobytes()


def distinct(mine: I64, theirs: I64) -> tuple[list[tuple[int, int]], I64]:
    """Return the pairs of two columns of small numbers, -1 or more, each once; and which of them each row is."""
    width = int(theirs.max(initial=0)) + 2
    both, of = np.unique((mine + 1) * width + theirs + 1, return_inverse=True)
    return [(m - 1, k - 1) for m, k in (divmod(one, width) for one in both.tolist())], of


def made_up(thing: Thing) -> bool:
    """Return whether the exporter made the name of a node up, which has none."""
    return re.fullmatch(r"node_\d+", thing.name) is not None
