"""Where two glTF files of a model show something else: no code of the project.

Differences within what a model can store (quaternions of 16 bits, normals of 8, texture coordinates
in steps of 1 / 1024) are none.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial import cKDTree

from tests.support.gltf_shown import NUMBER, WIDTHS, Array, Json, Shown, Triangles, joined, moved, trs

#: Of the model's size; a stored quaternion turns by up to 6e-5, and nodes hang below one another.
PLACE = 4e-4
TEXTURE = 0.6 / 1024
COLOUR = 3 / 255
NORMAL = float(np.cos(np.radians(1.2)))
#: Flags of single triangles are not shown: an object shows those that all of its own have.
FACTS = ("lightmap", "batch_flags", "w2", "w4", "w6")
PORTAL = 8
#: Word of a portal behind which nothing is.
NOTHING = 0xFFFF
TIMES = 64


@dataclass(frozen=True)
class Difference:
    """What two files show differently; ``names``: of what it is about, any of which names it."""

    what: str
    names: frozenset[str]

    def is_named(self, messages: list[str], touched: list[str]) -> bool:
        """Whether a message names it, or one of several objects that were touched with it.

        Args:
            messages: of the report.
            touched: names of what the edit changed; a message about several names the first.
        """
        several = [text for text in messages if re.search(r" and \d+ (more|others?)\b", text)]
        return _any_in(self.names, messages) or (
            _any_in(self.names & set(touched), [" ".join(touched)]) and _any_in(frozenset(touched), several)
        )


def _any_in(names: frozenset[str], messages: list[str]) -> bool:
    patterns = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in names if name]
    return any(re.search(pattern, text) for pattern in patterns for text in messages)


def same_own(a: Json, b: Json, path: str) -> bool:
    """Whether the transforms of two nodes themselves agree in translation, rotation or scale."""
    parts = []
    for matrix in (trs(a), trs(b)):
        size = np.linalg.norm(matrix[:3, :3], axis=0)
        turn = matrix[:3, :3] / np.where(size, size, 1)
        parts.append({"translation": matrix[:3, 3], "rotation": turn, "scale": size}[path])
    return bool(np.abs(parts[0] - parts[1]).max() < 1e-6)


class Comparison:
    """What an edited file shows, against what the file made of its import shows.

    Args:
        first: the file before the edit.
        edited: after it.
        second: made of the model that was made of ``edited``.
        origin: node of ``edited`` -> the node of ``first`` that it was; new ones are not in it.
    """

    def __init__(self, first: Shown, edited: Shown, second: Shown, origin: dict[int, int]) -> None:
        self.first, self.edited, self.second, self.origin = first, edited, second, origin
        self.called = {name.encode("cp1251", "replace").decode("cp1251"): name for name in edited.names}
        for i, path in edited.channels:
            # who moves a key leaves the node's own transform as it is
            if i not in origin or same_own(edited.items[i], first.items[origin[i]], path):
                edited.at_rest.add((i, path))
        self.partner = self._partners()
        corners = [first.poses()[i][:3, 3] for i in first.nodes] or [np.zeros(3)]
        for i in first.drawn:
            matrix = first.poses()[i]
            corners += list(first.mesh(i).corners.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3])
        self.size = float(np.ptp(corners, axis=0).max()) or 1.0
        self.out: list[Difference] = []
        #: Row of a node in the first file -> in the second, where batches name nodes.
        self.rows: dict[int, int] = {}
        if second.info.get("dialect") != "retail":
            return
        for i, k in self.partner.items():
            was, now = first.extras(origin[i]).get("node") if i in origin else None, second.extras(k).get("node")
            if was is not None and now is not None:
                self.rows[was] = now

    def _partners(self) -> dict[int, int]:
        """Node of the edited file -> of the second: by name, the rest by where they are."""
        edited, second = self.edited, self.second
        by_name = {second.names[i]: i for i in reversed(second.nodes) if not second.is_nameless(i)}
        out: dict[int, int] = {}
        for strip in (str, lambda name: NUMBER.sub("", name)):
            for i in edited.nodes:
                k = by_name.get(strip(edited.names[i]))
                if i not in out and k is not None and k not in out.values():
                    out[i] = k
        left = [i for i in edited.nodes if i not in out]
        free = [k for k in second.nodes if k not in out.values() and not self._is_instance(k)]
        if left and free:
            a, b = edited.likeness(left), second.likeness(free)
            cost = np.abs(a[:, None] - b[None]).max(axis=-1)
            cost += [[1e-6 * (edited.names[i] != second.names[k]) for k in free] for i in left]
            cost += 1e-9 * np.abs(np.subtract.outer(np.arange(len(left)), np.arange(len(free))))
            rows, columns = linear_sum_assignment(cost)
            out |= {left[r]: free[c] for r, c in zip(rows.tolist(), columns.tolist(), strict=True)}
        return out

    def differences(self) -> list[Difference]:
        """All of them."""
        for name in sorted(self.edited.clips()[1]):
            self._add(f"clip {name!r} is not the one that is read", [name])
        self._nodes()
        self._poses(None)
        if self.edited.frame_count != self.second.frame_count:
            names = [clip.get("name", "") for clip in self.edited.json.get("animations", [])]
            names += [clip.get("name", "") for clip in self.first.json.get("animations", [])]
            self._add(
                f"the clip has {self.edited.frame_count} frames, then {self.second.frame_count}",
                [*names, *(self.edited.names[i] for i, _ in self.edited.channels), "clip"],
            )
        else:
            last = self.edited.frame_count - 1
            for frame in sorted({round(k * last / (TIMES - 1)) for k in range(TIMES)}):
                if self.edited.channels or self.second.channels:
                    self._poses(frame)
        self._parts()
        self._materials()
        return self.out

    def _add(self, what: str, names: list[str]) -> None:
        self.out.append(Difference(what, frozenset([*names, *(self.called[n] for n in names if n in self.called)])))

    def _is_instance(self, k: int) -> bool:
        """Whether a node of the second file is one of several that show a mesh of the edited one."""
        several = (
            i for i in self.edited.nodes if "EXT_mesh_gpu_instancing" in self.edited.items[i].get("extensions", {})
        )
        return any(self.second.names[k].startswith(f"{self.edited.names[i]}.") for i in several)

    # -------------------------------------------------------------- nodes

    def _nodes(self) -> None:
        edited, second = self.edited, self.second
        for i in edited.nodes:
            name, k = edited.names[i], self.partner.get(i)
            if k is None:
                self._add(f"node {name!r} is gone", [name])
                continue
            nameless = i in self.origin and self.first.is_nameless(self.origin[i])
            if name and not nameless and NUMBER.sub("", name) != NUMBER.sub("", second.names[k]):
                self._add(f"node {name!r} is called {second.names[k]!r}", [name])
            above = next((n for n in list(edited.line(i))[1:] if n in edited.nodes), None)
            up = second.parent.get(k)
            if (None if above is None else self.partner.get(above)) != up:
                self._add(f"node {name!r} has another parent", [name])
            for key in ("flags", "label", "tri_flags"):
                stated = edited.extras(i).get(key)
                if i in self.origin and stated not in (None, second.extras(k).get(key)):
                    self._add(f"{key} of node {name!r}", [name])
        expected = set(self.partner.values())
        for k in second.nodes:
            if k not in expected and not self._is_instance(k):
                names = [second.names[n] for n in second.line(k)]
                self._add(f"node {second.names[k]!r} is not in the edited file", names)

    def _poses(self, frame: int | None) -> None:
        """Where nodes are, and what hangs on them, at rest or at a frame."""
        edited, second = self.edited, self.second
        a = edited.poses(None if frame is None else frame / edited.fps)
        b = second.poses(None if frame is None else frame / second.fps)
        when = "at rest" if frame is None else f"at frame {frame}"
        for i, k in self.partner.items():
            names = [edited.names[n] for n in edited.line(i)]
            if np.abs(a[i, :3, 3] - b[k, :3, 3]).max() > PLACE * self.size:
                self._add(f"node {edited.names[i]!r} stands elsewhere {when}", names)
            elif not self._is_scaled(i) and np.abs(a[i, :3, :3] - b[k, :3, :3]).max() > 1e-3:
                self._add(f"node {edited.names[i]!r} is turned elsewhere {when}", names)
        drawn: dict[tuple[int, int], tuple[list[Triangles], list[Triangles]]] = {}
        for i in edited.drawn:
            drawn.setdefault(edited.cell(i), ([], []))[0].append(moved(edited.mesh(i), a[i]))
        for k in second.drawn:
            drawn.setdefault(second.cell(k), ([], []))[1].append(moved(second.mesh(k), b[k]))
        # a part outside the first scene may have become one of it, and the other way round
        shown = {edited.cell(i) for i in edited.drawn} | {second.cell(k) for k in second.drawn}
        for cell, (ours, theirs) in drawn.items():
            more, less = self._hanging(cell, b) if cell in shown else ([], [])
            self._match(joined(ours + more), joined(theirs + less), f"{cell} {when}")

    def _is_scaled(self, index: int) -> bool:
        """Whether a node or one above it has a scale, which a model does not."""
        edited = self.edited
        return any(
            {"scale", "matrix"} & edited.items[n].keys() or (n, "scale") in edited.channels for n in edited.line(index)
        )

    # -------------------------------------------------------------- parts

    def _hanging(self, cell: tuple[int, int], b: Array) -> tuple[list[Triangles], list[Triangles]]:
        """Parts of a cell in model space, following the second file's nodes, posed by ``b``."""
        second, rest = self.second, self.second.poses()
        theirs = [
            moved(second.mesh(k), b[p[0]] @ np.linalg.inv(rest[p[0]]) @ rest[k])
            for k, p in second.parts.items()
            if p[1:] == cell
        ]
        ours = []
        for i, part in self.edited.parts.items():
            if part[1:] == cell:
                ours.append(moved(self.edited.mesh(i), self._place(i, b)))
        return ours, theirs

    def _place(self, i: int, poses: Array) -> Array:
        """Where the second file shows a part whose nodes are posed by ``poses``.

        At rest it stands where the edited file shows it, and it follows its node from there.
        """
        place, owner = self.edited.poses()[i], self.edited.parts[i][0]
        if owner not in self.partner:
            return place
        k = self.partner[owner]
        return poses[k] @ np.linalg.inv(self.second.poses()[k]) @ place

    def _parts(self) -> None:
        """Cells of which nothing hangs in the hierarchy: at rest."""
        shown = {self.edited.cell(i) for i in self.edited.drawn}
        shown |= {self.second.cell(k) for k in self.second.drawn}
        cells = {p[1:] for s in (self.edited, self.second) for p in s.parts.values()}
        for cell in sorted(cells - shown):
            ours, theirs = self._hanging(cell, self.second.poses())
            self._match(joined(ours), joined(theirs), f"{cell}")

    def _materials(self) -> None:
        """Colours and textures of materials that were given others."""
        before = self.first.json.get("materials", [])
        after = {NUMBER.sub("", m["name"]): m for m in self.second.json.get("materials", [])}
        meshes = {self.edited.items[i]["mesh"] for i in self.edited.drawn}
        used = {p.get("material") for mesh in meshes for p in self.edited.json["meshes"][mesh]["primitives"]}
        for i, material in enumerate(self.edited.json.get("materials", [])):
            if i not in used:
                continue
            shown, name = material.get("pbrMetallicRoughness"), material.get("name", "")
            if i < len(before) and before[i].get("pbrMetallicRoughness") != shown:
                again = after.get(NUMBER.sub("", name), {}).get("pbrMetallicRoughness")
                if again != shown:
                    self._add(f"material {name!r} looks different", [name])

    def _followed(self, facts: Json) -> Json:
        """What a material states; the last word of a portal names a node, by its row in the second file."""
        if not self.rows or not facts.get("batch_flags", 0) & PORTAL or "w6" not in facts:
            return facts
        return facts | {"w6": self.rows.get(facts["w6"], facts["w6"] if facts["w6"] == NOTHING else None)}

    def _match(self, ours: Triangles, theirs: Triangles, where: str) -> None:
        ours.facts = [self._followed(facts) for facts in ours.facts]
        left, extra = unmatched(ours, theirs, PLACE * self.size)
        if not left and not extra:
            return
        loose, more = unmatched(ours, theirs, PLACE * self.size, geometry=True)
        what = "triangles" if loose or more else "what is on triangles"
        names = self._names(self.edited, {ours.owner[t] for t in left})
        names |= self._names(self.second, {theirs.owner[t] for t in extra})
        if not (loose or more):
            names |= {ours.materials[t] for t in left} | {theirs.materials[t] for t in extra}
        self._add(f"{what} of {where}: {len(left)} are gone, {len(extra)} came", sorted(names))

    @staticmethod
    def _names(file: Shown, owners: set[int]) -> set[str]:
        out = set()
        for i in owners:
            out |= {file.names[n] for n in file.line(i)}
            if i in file.parts and file.parts[i][0] >= 0:
                out |= {file.names[n] for n in file.line(file.parts[i][0])}
            mesh = file.items[i].get("mesh")
            if mesh is not None:
                out.add(file.json["meshes"][mesh].get("name", ""))
        return out


def unmatched(a: Triangles, b: Triangles, tolerance: float, *, geometry: bool = False) -> tuple[list[int], list[int]]:
    """Triangles of either side that have no partner on the other.

    Degenerate ones may be missing on either side, and duplicates on the first: so does Blender.
    """
    near = np.zeros((len(a), len(b)), np.bool_)
    if len(a) and len(b):
        trees = [cKDTree(t.corners.mean(axis=1)) for t in (a, b)]
        pairs = trees[0].sparse_distance_matrix(trees[1], 2 * tolerance, output_type="ndarray")
        rows, columns = pairs["i"], pairs["j"]
        near[rows, columns] = _alike(a, rows, b, columns, tolerance, geometry=geometry)
    found = maximum_bipartite_matching(csr_matrix(near), perm_type="column")
    left = [t for t in np.flatnonzero(found < 0).tolist() if not _flat(a.corners[t])]
    taken = set(found[found >= 0].tolist())
    extra = [t for t in range(len(b)) if t not in taken and not _flat(b.corners[t]) and not near[:, t].any()]
    if len(left) == 0:
        return left, extra
    # an unmatched triangle of a group whose others are taken: count them on both sides
    return left, [t for t in range(len(b)) if t not in taken and not _flat(b.corners[t])]


def _flat(corners: Array) -> bool:
    a, b, c = corners
    edge = max(float(np.abs(x - y).max()) for x, y in ((a, b), (b, c), (c, a)))
    return float(np.linalg.norm(np.cross(b - a, c - a))) <= 1e-6 * max(edge, 1e-30) ** 2


def _alike(a: Triangles, rows: Array, b: Triangles, columns: Array, tolerance: float, *, geometry: bool) -> Array:
    """Whether pairs of triangles are the same, however their corners are counted."""
    out = np.zeros(len(rows), np.bool_)
    for turn in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
        x, y = a.corners[rows], b.corners[columns][:, turn]
        same = np.abs(x - y).max(axis=(1, 2)) <= tolerance
        if not geometry:
            pair = {n: (a.streams[n][rows], b.streams[n][columns][:, turn]) for n in WIDTHS}
            same &= _same_streams(pair)
        out |= same
    if not geometry:
        pairs = [*zip(rows.tolist(), columns.tolist(), strict=True)]
        facts = {(id(a.facts[i]), id(b.facts[k])): (a.facts[i], b.facts[k]) for i, k in pairs}  # of few materials
        same = {ids: _same_facts(*both) for ids, both in facts.items()}
        named = [a.materials[i] == b.materials[k] and same[id(a.facts[i]), id(b.facts[k])] for i, k in pairs]
        out &= np.array(named, np.bool_)
    return out


def _same_facts(a: Json, b: Json) -> bool:
    """Whether what materials state is the same; ``None``: nobody knows."""
    return all(_word(a, fact, _word(b, fact)) in (None, _word(b, fact)) for fact in FACTS)


def _word(facts: Json, name: str, default: Any = None) -> Any:
    """A word that a material states, without the row in it: its name says which one it is."""
    word, row = facts.get(name, default), facts.get("row")
    if row is not None and name == "w4" and word & 0xFF == row:
        return word & 0xFF00
    return 0 if row is not None and name == "w2" and word == row else word


def _same_streams(pair: dict[str, tuple[Array, Array]]) -> Array:
    """Per pair of triangles. What one side does not have is the same."""
    x, y = pair["NORMAL"]
    length = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    cosine = np.einsum("tci,tci->tc", x, y)
    far = (length > 1e-9) & (cosine < NORMAL * length)
    out = ~far.any(axis=1)
    x, y = pair["TEXCOORD_0"]
    away = x - y
    away -= np.round(away[:, :1])  # whole turns of a triangle look the same
    out &= ~(np.abs(away) > TEXTURE).any(axis=(1, 2))
    x, y = pair["TEXCOORD_1"]
    out &= ~(np.abs(x - y) > TEXTURE).any(axis=(1, 2))
    x, y = pair["COLOR_0"]
    return np.asarray(out & ~(np.abs(x - y) > COLOUR).any(axis=(1, 2)))
