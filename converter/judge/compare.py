"""Compare what two sides show: every difference, by the thing that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..edits.materials import LIGHT_FOLLOWS
from ..errors import called, in_words, plural, printable
from ..findings import Kind
from ..formats.model import NO_LIGHTMAP
from ..numeric.arrays import F64, I64, Bools
from ..scene.dialect import Dialect, cell_title
from .difference import (
    LACKS,
    LIGHTMAPS_LOST,
    LOST,
    MOST,
    NO_MATERIALS,
    TOO_FAR,
    Difference,
    distinct,
    is_flat,
    looseness,
    made_up,
    nearest,
    pairs,
    steps,
)
from .shown import Shown, Thing, Triangles, some_of, ways

#: Texture coordinates: more than half a step of a stored word.
_UV = 0.6 / 1024
#: Vertex colours: editors round them on their way through their colour spaces.
_COLOUR = 3
#: Normals: what editors turn them by, and a step of a stored byte.
_NORMAL = float(np.cos(np.radians(1.2)))

#: How far editors turn a part, in radians, and move it, of the model's size.
_PART_TURN, _PART_MOVE = 1e-5, 2e-6

#: What a difference of triangles is called, where its kind says less.
_WORDS: dict[Kind, str] = {"fact": "tri_flags"}

#: Triangles times frames that are posed at once.
_AT_ONCE = 1 << 14

#: How many names a line lists.
_LISTED = 8

#: What the exporter calls a material of a row without a name.
_ROW = re.compile(r"material_\d+")


@dataclass
class Comparison:
    """Two sides, and what differs.

    Attributes:
        absent: whether cells that the file does not have were never in it.
        file_only: whether triangles that the file does not have do not count.
        partner: thing of the file that is a node -> of the result.
    """

    file: Shown
    result: Shown
    absent: bool = False
    file_only: bool = False
    found: list[Difference] = field(default_factory=list)
    partner: dict[int, int] = field(default_factory=dict)
    _looked: dict[tuple[int, int], list[str]] = field(default_factory=dict)

    def run(self) -> list[Difference]:
        """Return all differences."""
        self._clip()
        self.pair_nodes()
        self._share_names()
        self._nodes(self.partner)
        for cell in sorted(self.file.cells.keys() | self.result.cells.keys()):
            if cell in self.file.cells or not self.absent:
                self.cell(cell)
        return self.found

    def _add_node(self, thing: Thing, kind: Kind, text: str, amount: float = 0.0, fact: str = "") -> None:
        reason = LACKS[fact] if fact in self.result.lacks else None
        moving = thing.moving and kind in ("place", "turn")
        names = _folded(thing.named_by(kind))
        where = f"node {called(thing.name)}"
        self.found.append(Difference(where, kind, text, names, amount, moving, fact=fact, reason=reason))

    def _add_part(
        self,
        thing: Thing,
        cell: tuple[int, int],
        kind: Kind,
        text: str,
        amount: float,
        *others: str,
        reason: tuple[str, str] | None = None,
    ) -> None:
        """Add a difference of a part, which lines about ``others`` explain, too."""
        title = "" if self.result.dialect is None else cell_title(*cell, self.result.dialect)
        where = f"{title}, part {called(thing.name)}" if title else f"part {called(thing.name)}"
        moving = thing.moving and kind in ("place", "triangles")
        names = _folded((*thing.named_by(kind), *others))
        self.found.append(Difference(where, kind, text, names, amount, moving, title, reason=reason))

    def _add_once(self, difference: Difference) -> None:
        self.found += [] if difference in self.found else [difference]

    def _clip(self) -> None:
        mine, theirs = self.file.frame_count, self.result.frame_count
        if mine != theirs:
            names = _folded((*self.file.clip, *self.result.clip, "clip"))
            name = next((n for n in (*self.file.clip, *self.result.clip) if n), "")
            text = f"has {plural(mine, 'frame')} in the file, and {theirs:,} in the game"
            self.found.append(Difference(f"animation {called(name)}", "clip", text, names))

    def pair_nodes(self) -> None:
        """Find the partners: by name, several of one name and the rest by their parents, then by where they stand."""
        a, b = self.file.things, self.result.things
        out = self.partner = {}

        def pair_nearest(mine: list[int], theirs: list[int]) -> list[tuple[int, int]]:
            pairs = [(mine[i], theirs[k]) for i, k in nearest([a[i] for i in mine], [b[k] for k in theirs])]
            out.update(pairs)
            return pairs

        def pair(mine: list[int], theirs: list[int]) -> None:
            below, free = dict[int, list[int]](), dict[int, list[int]]()
            for i in mine:
                below.setdefault(a[i].above, []).append(i)
            for k in theirs:
                free.setdefault(b[k].above, []).append(k)
            parents = [(-1, -1), *((i, out[i]) for i in below if i in out)]
            for i, k in parents:  # it grows: children of what is paired come after it
                if i in below and k in free:
                    parents += pair_nearest(below.pop(i), free.pop(k))
            taken = {*out.values()}
            pair_nearest([i for i in mine if i not in out], [k for k in theirs if k not in taken])

        for exact in (True, False):
            free, wanted, taken = dict[str, list[int]](), dict[str, list[int]](), {*out.values()}
            for k in self.result.nodes:
                if k not in taken and not made_up(b[k]):
                    free.setdefault(b[k].name.casefold(), []).append(k)
            for i in self.file.nodes:
                names = {a[i].name.casefold()} if exact else ways(a[i].name)
                if i not in out and (found := free.keys() & names):
                    wanted.setdefault(max(sorted(found), key=len), []).append(i)
            for name, several in wanted.items():
                if len(several) == len(free[name]) == 1:
                    out[several[0]] = free[name][0]
                else:
                    pair(several, free[name])
        taken = {*out.values()}
        pair([i for i in self.file.nodes if i not in out], [k for k in self.result.nodes if k not in taken])

    def _share_names(self) -> None:
        """Let the names that the report has for nodes and their parts name those of the result, too.

        A node without a name is called after its row, which may be another one now.
        """
        of = {k: self.file.things[i].name for i, k in self.partner.items()}
        for k, thing in enumerate(self.result.things):
            node = k if k in of else thing.above
            if (name := of.get(node)) is not None and name not in thing.names:
                own = name + thing.name.removeprefix(self.result.things[node].name)
                thing.names = (*thing.names[:2], own, name, *thing.names[2:])
                thing.own += 2

    def _nodes(self, partner: dict[int, int]) -> None:
        a, b = self.file.things, self.result.things
        for i in self.file.nodes:
            if i not in partner:
                self._add_node(a[i], "node", "is in the file, and not in the game")
                continue
            k = partner[i]
            above = partner.get(a[i].above, -1) if a[i].above >= 0 else -1
            if above != b[k].above:
                name = printable(b[b[k].above].name) if b[k].above >= 0 else ""
                text = f"is below {in_words(name)} in the game" if name else "is a root in the game"
                self._add_node(a[i], "node", text)
            if a[i].name and not made_up(a[i]) and not ways(b[k].name) & ways(a[i].name):
                text = "has no name" if made_up(b[k]) else f"is called {in_words(b[k].name)}"
                self._add_node(a[i], "name", f"{text} in the game", fact="name")
            for fact, stated in a[i].facts.items():
                if stated is not None and stated != (had := b[k].facts.get(fact)):
                    text = f"has {fact} {in_words(stated)} in the file, and {in_words(had)} in the game"
                    self._add_node(a[i], "fact", text, fact=fact)
            self._pose(a[i], k)
        for k in sorted(set(self.result.nodes) - set(partner.values())):
            self._add_node(b[k], "node", "is in the game, and not in the file")

    def _pose(self, mine: Thing, k: int) -> None:
        theirs = self.result.things[k]
        count = min(len(mine.world), len(theirs.world))
        a, b = mine.world[:count], theirs.world[:count]
        apart = np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1)
        step = 4 * np.spacing(np.abs(a[:, :3, 3]).max(axis=1).astype(np.float32))
        loose = np.broadcast_to(theirs.move, len(theirs.world))[:count] + step
        if (apart > loose).any():
            at = int(np.argmax(apart - loose))
            self._add_node(mine, "place", f"stands {apart[at]:.3g} away{self._when(at)}", float((apart - loose)[at]))
            return
        scaled = (
            np.abs(np.linalg.norm(a[:, :3, :3], axis=1) - 1).max() > 1e-4 or (np.linalg.det(a[:, :3, :3]) < 0).any()
        )
        turned = np.abs(a[:, :3, :3] - b[:, :3, :3]).max(axis=(1, 2))
        if not scaled and (turned > 2 * theirs.turn).any():
            at = int(np.argmax(turned))
            self._add_node(mine, "turn", f"is turned{self._when(at)}", float(turned[at]))
        elif not scaled:
            self._tighten(k, 3 * float(turned.max()), float((apart + step).max()))

    def _tighten(self, k: int, turn: float, move: float) -> None:
        """Let rounding move what a node has by what it moved the node, and no more.

        Parts stand by themselves in scenes of their own, in which editors round them, too.
        """
        node = self.result.things[k]
        node.turn = min(node.turn, max(turn, _PART_TURN))
        node.move = np.minimum(node.move, max(move, _PART_MOVE * self.result.size))
        for part in self.result.parts.get(k, []):
            part.turn, part.move = node.turn, node.move

    def _when(self, at: int) -> str:
        return f" at frame {self.file.frames[at]:g}" if len(self.file.frames) > 1 else ""

    def cell(self, cell: tuple[int, int]) -> None:
        """Compare the triangles of a cell."""
        mine_there, theirs_there = self._drawn(self.file, cell), self._drawn(self.result, cell)
        if mine_there is None or theirs_there is None:
            sides = ((self.file, mine_there, "file"), (self.result, theirs_there, "game"))
            for side, found, there in sides[:1] if self.file_only else sides:
                rows = np.empty(0, np.int64) if found is None else found[0].owner
                owners = np.unique(rows, return_counts=True)
                for owner, count in zip(*(column.tolist() for column in owners), strict=True):
                    self._missing(side, int(owner), cell, count, there)
            return
        (a, x), (b, y) = mine_there, theirs_there
        [loose] = looseness(b, self.result.things, [0])
        most = float((steps(y, b.local) + loose).max(initial=0))
        tolerance = steps(x, a.local) + min(most, float(loose.max(initial=0)) + most)
        i, j, turn, _ = pairs(x, y, tolerance, lambda: self._corners(a, b, float(tolerance.max())))
        mine, theirs = np.ones(len(a), np.bool_), np.ones(len(b), np.bool_)
        mine[i] = theirs[j] = False
        elsewhere = self._unmatched(cell, (a, x, mine), (b, y, theirs), float(tolerance.max()))
        stays = ~np.isin(a.owner[i], elsewhere)  # of what is elsewhere, some is in one place with the rest by chance
        self._attributes(cell, a, b, (i[stays], j[stays], turn[stays]))
        self._later(cell, a, b, (i, j, turn), tolerance)

    def _corners(self, a: Triangles, b: Triangles, tolerance: float) -> list[tuple[F64, F64]]:
        """What corners have besides their place, in units of what counts as a difference. (N, 3, k), (M, 3, k).

        With colours and without: many that an editor rounds add up.
        """
        first_of: dict[str, int] = {}
        for k, names in enumerate(self.result.materials):
            first_of |= {name: k for name in names if name not in first_of}
        out: list[list[F64]] = []
        known = np.zeros(4) if a.known is None else a.known.all(axis=0)
        for side, one in ((self.file, a), (self.result, b)):
            of = [next((first_of[n] for n in sorted(names) if n in first_of), -1) for names in side.materials]
            material = np.array([*of, -1], np.float64)[one.material]
            columns = [np.repeat(material, 3).reshape(-1, 3, 1) / _UV]
            at = some_of(len(self.file.frames))[1:].tolist()
            columns += [*one.posed(side.worlds(at)) / max(tolerance, 1e-12)]
            if a.normals is not None and b.normals is not None:
                normals = one.posed_normals(side.back)
                assert normals is not None
                length = np.linalg.norm(normals, axis=2, keepdims=True)
                columns.append(normals / np.maximum(length, 1e-30) / (1 - _NORMAL) ** 0.5)
            if a.uv0 is not None and b.uv0 is not None:
                assert one.uv0 is not None
                turns = one.uv0.astype(np.float64) * 2 * np.pi  # whole turns look the same
                columns += [np.cos(turns) / _UV, np.sin(turns) / _UV]
            if a.uv1 is not None and b.uv1 is not None:
                assert one.uv1 is not None
                columns.append(one.uv1.astype(np.float64) / _UV)
            if a.colours is not None:
                colours = np.full((len(one), 3, 4), 255.0) if one.colours is None else one.colours.astype(np.float64)
                columns.append(colours * known / _COLOUR)
            out.append(columns)
        mine, theirs = out
        ends = (len(mine), len(mine) - 1) if a.colours is not None else (len(mine),)
        return [(np.concatenate(mine[:end], axis=2), np.concatenate(theirs[:end], axis=2)) for end in ends]

    @staticmethod
    def _drawn(side: Shown, cell: tuple[int, int]) -> tuple[Triangles, F64] | None:
        """The triangles of a cell that show something, and their corners in the first frame."""
        found = side.cells.get(cell)
        if found is None or not len(found):
            return None
        corners = found.posed(side.first)
        shown = ~is_flat(corners, steps(corners, found.local))
        if shown.all():
            return found, corners
        return (found.select(shown), corners[shown]) if shown.any() else None

    def _missing(self, side: Shown, owner: int, cell: tuple[int, int], count: int, there: str) -> None:
        other = "game" if there == "file" else "file"
        text = f"has {plural(count, 'triangle')} in the {there} that are not in the {other}"
        self._add_part(side.things[owner], cell, "triangles", text, count)

    def _unmatched(
        self,
        cell: tuple[int, int],
        file: tuple[Triangles, F64, Bools],
        result: tuple[Triangles, F64, Bools],
        loose: float,
    ) -> list[int]:
        """Tell of triangles that have no partner; returns the things whose triangles are elsewhere."""
        (a, x, mine), (b, y, theirs) = file, result
        moved, elsewhere = set[int](), list[int]()
        shown = self.file.names_of(np.unique(a.owner).tolist())
        for owner in np.unique(a.owner[mine]).tolist():
            own = mine & (a.owner == owner)
            thing, count = self.file.things[owner], int(own.sum())
            others = self._same_part(thing, np.unique(b.owner[theirs]).tolist())
            same = theirs & np.isin(b.owner, others)
            if int(same.sum()) == count or (same.any() and np.isin(b.owner, others).sum() == (a.owner == owner).sum()):
                moved |= set(others)
                elsewhere.append(owner)
                away = float(np.linalg.norm(x[own].mean(axis=(0, 1)) - y[same].mean(axis=(0, 1))))
                text = f"has {plural(count, 'triangle')} elsewhere in the game, {away:.3g} away on average"
                self._add_part(thing, cell, "place", text, away - loose)
            else:
                self._missing(self.file, owner, cell, count, "file")
        for owner in np.unique(b.owner[theirs]).tolist() if not self.file_only else ():
            if self.absent and not set(self.result.things[owner].names[1:2]) & shown:
                continue
            if owner not in moved:
                self._missing(self.result, owner, cell, int((theirs & (b.owner == owner)).sum()), "game")
        return elsewhere

    def _same_part(self, thing: Thing, owners: list[int]) -> list[int]:
        """Of things of the result, those that are a part of the file: below the same node, else of the same name."""
        found, node = [self.result.things[k] for k in owners], self.partner.get(thing.above)
        below = [k for k, one in zip(owners, found, strict=True) if node is not None and one.above == node]
        named = [k for k, one in zip(owners, found, strict=True) if {*one.names[: one.own]} & {*thing.names[:2]}]
        return below or named

    def _later(
        self, cell: tuple[int, int], a: Triangles, b: Triangles, found: tuple[I64, I64, I64], tolerance: F64
    ) -> None:
        """Whether what is in the same place first stays together through the clip."""
        i, j, turn = found
        moves = self.file.moves[a.owner[i]] | self.result.moves[b.owner[j]]
        moves &= ~np.isin(i, i[~moves])  # what does not move stays with a partner that does not
        i, j, turn = i[moves], j[moves], turn[moves]
        count, mine, theirs = min(self.file.frame_count, self.result.frame_count), a.select(i), b.select(j)
        frames = self.file.frames
        at = [k for k in some_of(len(frames))[1:].tolist() if frames[k] < count] if len(i) else []
        block = max(1, _AT_ONCE // max(len(i), 1))
        for some in (at[first : first + block] for first in range(0, len(at), block)):
            x = mine.posed(self.file.worlds(some))
            y = np.take_along_axis(theirs.posed(self.result.worlds(some)), turn[None, ..., None], axis=2)
            loose = looseness(theirs, self.result.things, some) + steps(x, mine.local) + tolerance[i]
            apart = np.sqrt(np.square(x - y).sum(axis=-1).max(axis=-1)) - loose
            for one in np.flatnonzero((apart > 0).any(axis=1)).tolist():
                best = np.full(len(a), np.inf)
                np.minimum.at(best, i, apart[one])
                bad = np.isfinite(best) & (best > 0)
                for owner in np.unique(a.owner[bad]).tolist():
                    away = float(best[bad & (a.owner == owner)].max())
                    text = f"is {away:.3g} away from where it is in the file at frame {frames[some[one]]:g}"
                    self._add_part(self.file.things[owner], cell, "place", text, away)
                if bad.any():
                    return

    def _attributes(self, cell: tuple[int, int], a: Triangles, b: Triangles, found: tuple[I64, I64, I64]) -> None:
        i, j, turn = found
        self._bare(cell, a, i, b.material[j])
        bad = self._compared(a, b, i, j, turn)
        if not any(wrong.any() for wrong in bad.values()):
            return
        cost = np.sum(list(bad.values()), axis=0)
        least = np.full(len(a), 99)
        np.minimum.at(least, i, cost)
        best = cost == least[i]
        for kind, wrong in bad.items():
            if kind == "look":
                self._looks(a.material[i][best & wrong], b.material[j][best & wrong])
                continue
            rows = np.unique(i[best & wrong])
            if kind in LOST and kind in self.result.lacks and len(rows):
                self._add_once(LOST[kind])
                continue
            for owner in np.unique(a.owner[rows]).tolist():
                own = rows[a.owner[rows] == owner]
                text = f"has other {_WORDS.get(kind, kind)} on {plural(len(own), 'triangle')} in the game"
                shown = np.unique(a.material[own]).tolist() if kind in ("materials", "flags of materials") else []
                names = [name for m in shown if m >= 0 for name in sorted(self.file.materials[m])]
                why = self._why(kind, a, own)
                self._add_part(self.file.things[owner], cell, kind, text, len(own), *names, reason=why)

    def _why(self, kind: Kind, a: Triangles, rows: I64) -> tuple[str, str] | None:
        """Why what is on triangles cannot be stored; ``None``: not known."""
        if kind == "fact":
            return LACKS["tri_flags"] if "tri_flags" in self.result.lacks else None
        uv = a.uv0 if kind == "texture coordinates" else a.uv1
        far = kind in MOST and uv is not None and np.abs(uv[rows]).max(initial=0) > MOST[kind]
        return TOO_FAR if far else None

    def _bare(self, cell: tuple[int, int], a: Triangles, i: I64, theirs: I64) -> None:
        """Tell of triangles without a material, each of which has one in the game."""
        bare = (a.material[i] < 0) & (theirs >= 0)
        if not self.file.materials and bare.any():
            self._add_once(NO_MATERIALS)
            return
        for owner in np.unique(a.owner[i[bare]]).tolist():
            own = bare & (a.owner[i] == owner)
            shown = sorted({min(self.result.materials[k]) for k in theirs[own].tolist()})
            count, thing = len(np.unique(i[own])), self.file.things[owner]
            text = f"has {plural(count, 'triangle')} without a material"
            why = f"every triangle of the game has one: {', '.join(map(printable, shown[:_LISTED]))}"
            self._add_part(thing, cell, "materials", text, count, reason=(why, "assign one of the materials"))

    def _looks(self, *pairs: I64) -> None:
        """Tell what materials look like otherwise, each once. (n,) those of the file, (n,) of the result."""
        for mine, theirs in distinct(*pairs)[0]:
            names = sorted(self.file.materials[mine], key=lambda name: (len(name), name))
            where = f"material {called(names[0])}"
            if all(one.where != where for one in self.found):
                what, about = self._other_look(mine, theirs), _folded((*names, "materials", "pictures"))
                reason = LIGHT_FOLLOWS if what[0].startswith("shines") else None
                self.found.append(Difference(where, "look", ", ".join(what), about, reason=reason))

    def _compared(self, a: Triangles, b: Triangles, i: I64, j: I64, turn: I64) -> dict[Kind, Bools]:
        def corners(array: NDArray[Any] | None) -> NDArray[Any]:
            return np.zeros(1) if array is None else np.take_along_axis(array[j], turn[..., None], axis=1)

        out: dict[Kind, Bools] = {}
        x, y = a.posed_normals(self.file.back), b.posed_normals(self.result.back)
        if x is not None and y is not None:
            x, y = x[i], corners(y)
            length = np.linalg.norm(x, axis=2) * np.linalg.norm(y, axis=2)
            apart: Bools = (length > 1e-9) & (np.einsum("tci,tci->tc", x, y) < _NORMAL * length)
            out["normals"] = np.asarray(apart.any(axis=1))
        if a.uv0 is not None:
            away = a.uv0[i].astype(np.float64) - corners(b.uv0)
            away -= np.round(away[:, :1])  # whole turns look the same
            out["texture coordinates"] = np.asarray((np.abs(away) > _UV).any(axis=(1, 2)))
        if a.uv1 is not None:
            out["lightmap coordinates"] = np.asarray((np.abs(a.uv1[i] - corners(b.uv1)) > _UV).any(axis=(1, 2)))
        if a.colours is not None and a.known is not None:
            theirs = np.full((len(i), 3, 4), 255, np.uint8) if b.colours is None else corners(b.colours)
            other: Bools = np.abs(a.colours[i].astype(np.int16) - theirs) > _COLOUR
            out["vertex colours"] = np.asarray((other & a.known[i][:, None]).any(axis=(1, 2)))
        if a.flags is not None and b.flags is not None:
            out["fact"] = (a.flags[i] >= 0) & (a.flags[i] != b.flags[j])
        both, of = distinct(a.material[i], b.material[j])
        named, facts = self._materials(both)
        out["materials"], out["flags of materials"] = named[of], facts[of]
        looks = np.array([bool(self._other_look(m, k)) for m, k in both], np.bool_)
        out["look"] = looks[of] & ~out["materials"]
        return out

    def _other_look(self, mine: int, theirs: int) -> list[str]:
        """What a material of the result shows otherwise than one of the file."""
        if not (0 <= mine < len(self.file.looks) and 0 <= theirs < len(self.result.looks)):
            return []
        if (mine, theirs) not in self._looked:
            self._looked[mine, theirs] = self.file.looks[mine].other_than(self.result.looks[theirs])
        return self._looked[mine, theirs]

    def _materials(self, both: Sequence[tuple[int, int]]) -> tuple[Bools, Bools]:
        """Which materials of the result have other names than those of the file, and other facts."""
        named, facts = [], []
        for m, k in both:
            if m < 0 or k < 0:
                named.append(m >= 0)
                facts.append(False)
                continue
            names, others = self.file.materials[m], self.result.materials[k]
            # a row that people typed counts, where the name is that of another row; a name may state it, too
            typed = [int(n.removeprefix("material_")) for n in names if _ROW.fullmatch(n)]
            rows = [self.file.rows[m]] if self.file.rows[m] >= 0 else typed
            by_row = bool(typed or names & self.result.known) and self.result.rows[k] in rows
            other_row = self.result.rows_count and self.file.rows[m] not in (-1, self.result.rows[k])
            named.append(other_row or (bool(names - {""}) and not names & others and not by_row))
            had = self.result.facts_of_materials[k]
            mine_of = self.file.facts_of_materials[m]
            behind = None if "portal" not in mine_of else self.partner.get(int(mine_of["portal"]))
            stated = {**mine_of, "portal": had.get("portal", -1) if behind is None else behind}
            if self.result.dialect is Dialect.SPEC and 0 <= int(stated.pop("lightmap", -1)) < NO_LIGHTMAP:
                self._add_once(LIGHTMAPS_LOST)
            facts.append(any(had.get(n, -1) != v for n, v in stated.items()))
        return np.array(named, np.bool_), np.array(facts, np.bool_)


def _folded(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.casefold() for name in names if name))
