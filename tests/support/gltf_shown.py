"""What a glTF file of a model shows, and where two files differ: no code of the project.

A file is evaluated as the specification of glTF has it, and read as ``docs/reference/gltf.md``
says: nodes of the hierarchy are nodes, objects with ``lod`` and ``group`` (or such a name) parts,
which follow their node. Differences within what a model can store (quaternions of 16 bits, normals
of 8, texture coordinates in steps of 1 / 1024) are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial import cKDTree

from tests.support.gltf_edit import Editable

Json = dict[str, Any]
Array = np.ndarray[Any, Any]
PART_NAME = re.compile(r"(?P<owner>.+?)\.lod(?P<lod>\d)(?:\.group(?P<group>\d))?")
#: What Blender appends to a name that it has met, and what the export appends.
NUMBER = re.compile(r"(\.\d{3}|(#\d+)+)$")
#: Of the model's size; a stored quaternion turns by up to 6e-5, and nodes hang below one another.
PLACE = 4e-4
TEXTURE = 0.6 / 1024
COLOUR = 3 / 255
NORMAL = float(np.cos(np.radians(1.2)))
FACTS = ("lightmap", "batch_flags", "w2", "w4", "tri_flags", "w6")
PORTAL = 8
TIMES = 5


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
            _any_in(self.names & set(touched), [" ".join(touched)])
            and _any_in(frozenset(touched), several)
        )


def _any_in(names: frozenset[str], messages: list[str]) -> bool:
    patterns = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in names if name]
    return any(re.search(pattern, text) for pattern in patterns for text in messages)


@dataclass
class Triangles:
    """T triangles: ``corners`` (T, 3, 3); ``streams`` (T, 3, n), NaN where the file has none;
    ``materials`` and ``facts``, what is known of each; ``owner``, the object of each."""

    corners: Array
    streams: dict[str, Array]
    materials: list[str]
    facts: list[Json]
    owner: list[int]

    def __len__(self) -> int:
        return len(self.corners)


_WIDTHS = {"NORMAL": 3, "TEXCOORD_0": 2, "TEXCOORD_1": 2, "COLOR_0": 4}


def joined(lists: list[Triangles]) -> Triangles:
    return Triangles(
        np.concatenate([np.zeros((0, 3, 3)), *(t.corners for t in lists)]),
        {
            name: np.concatenate([np.zeros((0, 3, width)), *(t.streams[name] for t in lists)])
            for name, width in _WIDTHS.items()
        },
        [name for t in lists for name in t.materials],
        [facts for t in lists for facts in t.facts],
        [owner for t in lists for owner in t.owner],
    )


def trs(node: Json) -> Array:
    """The (4, 4) matrix of a node by its own transform."""
    if "matrix" in node:
        return np.array(node["matrix"], np.float64).reshape(4, 4).T
    x, y, z, w = _unit(np.array(node.get("rotation", [0, 0, 0, 1]), np.float64))
    out = np.eye(4)
    out[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    out[:3, :3] *= np.array(node.get("scale", [1, 1, 1]), np.float64)
    out[:3, 3] = node.get("translation", [0, 0, 0])
    return out


def _unit(vector: Array) -> Array:
    return vector / (np.linalg.norm(vector) or 1)


def curve(times: Array, values: Array, kind: str, path: str, at: float) -> list[float]:
    """A sampler at a time, as the specification has it (appendix C)."""
    n = len(times)
    k = int(np.clip(np.searchsorted(times, at + 1e-5, "right") - 1, 0, n - 1))
    keys = values.reshape(n, 3, -1)[:, 1] if kind == "CUBICSPLINE" else values
    if kind == "STEP" or k == n - 1 or at <= times[0]:
        return list(keys[0 if at <= times[0] else k])
    span = times[k + 1] - times[k]
    t = (at - times[k]) / span
    a, b = keys[k], keys[k + 1]
    if kind == "CUBICSPLINE":
        out, into = values.reshape(n, 3, -1)[k, 2], values.reshape(n, 3, -1)[k + 1, 0]
        mixed = (2 * t**3 - 3 * t**2 + 1) * a + span * (t**3 - 2 * t**2 + t) * out
        mixed = mixed + (3 * t**2 - 2 * t**3) * b + span * (t**3 - t**2) * into
        return list(_unit(mixed) if path == "rotation" else mixed)
    if path != "rotation":
        return list(a + t * (b - a))
    b = b if a @ b >= 0 else -b
    angle = float(np.arccos(np.clip(a @ b, -1, 1)))
    if angle < 1e-6:
        return list(a)
    return list((np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle))


class Shown:
    """A file, evaluated.

    Args:
        document: the file.
        former: further names of nodes, which parts may be called after.
        renamed: objects whose name was changed, and not their custom properties: the name counts.

    Attributes:
        nodes: the nodes of the hierarchy.
        parts: object -> (owner, lod, group) of the other objects with a mesh.
        names: of every node of the document.
        at_rest: animated nodes whose own transform means nothing: the clip's start is meant.
    """

    def __init__(
        self,
        document: Editable,
        former: dict[str, int] | None = None,
        renamed: frozenset[int] = frozenset(),
    ) -> None:
        self.document, self.json = document, document.json
        self.items: list[Json] = self.json.get("nodes", [])
        self.names = [node.get("name", "") for node in self.items]
        self.parent = {c: i for i, n in enumerate(self.items) for c in n.get("children", [])}
        self.scenes: list[Json] = self.json.get("scenes", [])
        info = self.scenes[0].get("extras", {}).get("msh", {}) if self.scenes else {}
        stated = [info, *(self.extras(i) for i in range(len(self.items)))]
        self.fps = next((float(e["fps"]) for e in stated if "fps" in e), 24.0)
        self._arrays: dict[int, Array] = {}
        self._poses: dict[float | None, Array] = {}
        self.at_rest: set[int] = set()
        self._classify(former or {}, renamed)

    def extras(self, index: int) -> Json:
        found: Json = self.items[index].get("extras", {}).get("msh", {})
        return found

    def _classify(self, former: dict[str, int], renamed: frozenset[int]) -> None:
        reached, waiting = set(), [i for scene in self.scenes for i in scene.get("nodes", [])]
        while waiting:
            index = waiting.pop()
            hidden = self.items[index].get("extensions", {}).get("KHR_node_visibility", {})
            if index not in reached and hidden.get("visible", True):
                reached.add(index)
                waiting += self.items[index].get("children", [])
        self.nodes: list[int] = []
        self.parts: dict[int, tuple[int, int, int]] = {}
        by_name = former | {self.names[i]: i for i in sorted(reached, reverse=True)}
        by_row = {
            self.extras(i)["node"]: i
            for i in sorted(reached, reverse=True)
            if "node" in self.extras(i) and "lod" not in self.extras(i)
        }
        for i in sorted(reached):
            extras, match = self.extras(i), PART_NAME.fullmatch(NUMBER.sub("", self.names[i]))
            stated = "lod" in extras and "group" in extras
            named = match is not None and match["owner"] in by_name
            if "mesh" in self.items[i] and stated and not (i in renamed and named):
                owner = by_row.get(extras.get("node"), -1)
                self.parts[i] = owner, extras["lod"], extras["group"]
            elif "mesh" in self.items[i] and match and named:
                owner = by_name[match["owner"]]
                self.parts[i] = owner, int(match["lod"]), int(match["group"] or 0)
            elif extras.get("kind") not in ("point", "paths"):
                self.nodes.append(i)

    # -------------------------------------------------------------- poses

    def clips(self) -> tuple[dict[tuple[int, str], Json], list[Difference]]:
        """Channels by node and path: of the first clip, then of others for nodes it leaves alone;
        and clips that this does not show."""
        found: dict[tuple[int, str], Json] = {}
        hidden = []
        taken: set[int] = set()
        for clip in self.json.get("animations", []):
            mine = set()
            for channel in clip["channels"]:
                node, path = channel["target"].get("node"), channel["target"]["path"]
                if node in taken:
                    what = f"clip {clip.get('name')!r} is not the one that is read"
                    hidden.append(Difference(what, frozenset([clip.get("name", "")])))
                else:
                    mine.add(node)
                    found[node, path] = clip["samplers"][channel["sampler"]]
            taken |= mine
        return found, hidden

    @cached_property
    def channels(self) -> dict[tuple[int, str], Json]:
        return self.clips()[0]

    @cached_property
    def frame_count(self) -> int:
        """Length of what is animated, in frames."""
        ends = [float(self._array(s["input"]).max()) for s in self.channels.values()]
        return int(np.floor(max(ends, default=0) * self.fps + 1e-4)) + 1

    def _array(self, index: int) -> Array:
        if index not in self._arrays:
            self._arrays[index] = self.document.arrays[index].astype(np.float64)
        return self._arrays[index]

    def local(self, index: int, seconds: float | None, own: bool) -> Array:
        node = self.items[index]
        posed = {}
        if seconds is None and index in self.at_rest and not own:
            seconds = 0.0
        if seconds is not None:
            for path in ("translation", "rotation", "scale"):
                sampler = self.channels.get((index, path))
                if sampler is not None:
                    posed[path] = curve(
                        self._array(sampler["input"])[:, 0],
                        self._array(sampler["output"]),
                        sampler.get("interpolation", "LINEAR"),
                        path,
                        seconds,
                    )
        return trs(node | posed)

    def poses(self, seconds: float | None = None, *, own: bool = False) -> Array:
        """(n, 4, 4) matrices from node to model, at a time or at rest.

        ``own``: by the transforms of animated nodes, even if they mean nothing.
        """
        key = -1.0 if own else seconds
        if key in self._poses:
            return self._poses[key]

        @cache
        def world(index: int) -> Array:
            local = self.local(index, seconds, own)
            return world(self.parent[index]) @ local if index in self.parent else local

        found = np.array([world(i) for i in range(len(self.items))]).reshape(-1, 4, 4)
        self._poses[key] = found
        return found

    def is_nameless(self, index: int) -> bool:
        """Whether the exporter made its name up."""
        return self.names[index] == f"node_{self.extras(index).get('node', '?')}"

    def likeness(self, nodes: list[int]) -> Array:
        """Numbers by which nodes are alike: where they are, what they show. (n, 4)"""
        out = np.zeros((len(nodes), 4))
        for row, i in enumerate(nodes):
            out[row, :3] = self.poses()[i, :3, 3]
            out[row, 3] = len(self.mesh(i)) if "mesh" in self.items[i] else 0
        return out

    def line(self, index: int) -> Iterator[int]:
        """A node and all above it."""
        yield index
        while index in self.parent:
            index = self.parent[index]
            yield index

    @property
    def drawn(self) -> list[int]:
        """Nodes of the hierarchy that have a mesh with triangles."""
        return [i for i in self.nodes if "mesh" in self.items[i] and len(self.mesh(i))]

    def cell(self, index: int) -> tuple[int, int]:
        """Level of detail and group of an object."""
        if index in self.parts:
            return self.parts[index][1:]
        info = self.scenes[0].get("extras", {}).get("msh", {})
        return info.get("lod", 0), info.get("group", 0)

    # -------------------------------------------------------------- triangles

    def mesh(self, index: int) -> Triangles:
        """The triangles of an object, as its mesh has them; instances of it, one by one."""
        node = self.items[index]
        lists = []
        for primitive in self.json["meshes"][node["mesh"]]["primitives"]:
            if primitive.get("mode", 4) != 4:
                continue
            attributes = primitive["attributes"]
            count = len(self.document.arrays[attributes["POSITION"]])
            order = np.arange(count)
            if "indices" in primitive:
                order = self.document.arrays[primitive["indices"]].reshape(-1).astype(int)
            order = order[: len(order) // 3 * 3].reshape(-1, 3)
            streams = {}
            for name, width in _WIDTHS.items():
                streams[name] = np.full((*order.shape, width), np.nan)
                if name in attributes:
                    scale = 255 if self.document.normalized[attributes[name]] else 1
                    values = self._array(attributes[name])[order] / scale
                    streams[name][..., : values.shape[-1]] = values
            material, facts = "", {}
            if "material" in primitive:
                known = self.json["materials"][primitive["material"]]
                material = NUMBER.sub("", known.get("name", ""))
                facts = known.get("extras", {}).get("msh", {})
            count = len(order)
            corners = self._array(attributes["POSITION"])[order]
            lists.append(Triangles(corners, streams, [material] * count, [facts] * count, []))
        out = joined(lists)
        out.owner = [index] * len(out)
        copies = node.get("extensions", {}).get("EXT_mesh_gpu_instancing")
        if copies is None:
            return out
        keys = {"TRANSLATION": "translation", "ROTATION": "rotation", "SCALE": "scale"}
        columns = {keys[k]: self._array(v) for k, v in copies["attributes"].items() if k in keys}
        total = len(next(iter(columns.values())))
        places = [trs({k: v[row] for k, v in columns.items()}) for row in range(total)]
        return joined([moved(out, place) for place in places])


def moved(triangles: Triangles, matrix: Array) -> Triangles:
    """Triangles after a (4, 4) matrix; a mirror turns them round."""
    linear = matrix[:3, :3]
    corners = triangles.corners @ linear.T + matrix[:3, 3]
    streams = dict(triangles.streams)
    if abs(np.linalg.det(linear)) > 1e-12:
        streams["NORMAL"] = streams["NORMAL"] @ np.linalg.inv(linear)
    if np.linalg.det(linear) < 0:
        corners = corners[:, ::-1]
        streams = {name: values[:, ::-1] for name, values in streams.items()}
    return Triangles(corners, streams, triangles.materials, triangles.facts, triangles.owner)


# ------------------------------------------------------------------ two files


class Comparison:
    """What an edited file shows, against what the file made of its import shows.

    Args:
        first: the file before the edit.
        edited: after it.
        second: made of the model that was made of ``edited``.
        origin: node of ``edited`` -> the node of ``first`` that it was; new ones are not in it.
        follow: whether parts follow a node that moved; without the first file, the import cannot
            know that it did.
    """

    def __init__(
        self, first: Shown, edited: Shown, second: Shown, origin: dict[int, int], *, follow: bool
    ) -> None:
        self.first, self.edited, self.second, self.origin = first, edited, second, origin
        self.follow = follow
        self.partner = self._partners()
        for i, _ in edited.channels:
            # who moves a key leaves the node's own transform as it is
            if (
                i not in origin
                or not np.abs(trs(edited.items[i]) - trs(first.items[origin[i]])).any()
            ):
                edited.at_rest.add(i)
        corners = [first.poses()[i][:3, 3] for i in first.nodes] or [np.zeros(3)]
        for i in first.drawn:
            matrix = first.poses()[i]
            corners += list(first.mesh(i).corners.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3])
        self.size = float(np.ptp(corners, axis=0).max()) or 1.0
        self.out: list[Difference] = []

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
        free = [k for k in second.nodes if k not in out.values()]
        if left and free:
            a, b = edited.likeness(left), second.likeness(free)
            cost = np.abs(a[:, None] - b[None]).max(axis=-1)
            cost += [[1e-6 * (edited.names[i] != second.names[k]) for k in free] for i in left]
            rows, columns = linear_sum_assignment(cost)
            out |= {left[r]: free[c] for r, c in zip(rows.tolist(), columns.tolist(), strict=True)}
        return out

    def differences(self) -> list[Difference]:
        """All of them."""
        self.out = list(self.edited.clips()[1])
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
        self.out.append(Difference(what, frozenset(names)))

    # -------------------------------------------------------------- nodes

    def _nodes(self) -> None:
        edited, second = self.edited, self.second
        copied = [
            edited.names[i]
            for i in edited.nodes
            if "EXT_mesh_gpu_instancing" in edited.items[i].get("extensions", {})
        ]
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
            if k not in expected and not second.names[k].startswith(tuple(copied) or ("\0",)):
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
            {"scale", "matrix"} & edited.items[n].keys() or (n, "scale") in edited.channels
            for n in edited.line(index)
        )

    # -------------------------------------------------------------- parts

    def _hanging(self, cell: tuple[int, int], b: Array) -> tuple[list[Triangles], list[Triangles]]:
        """Parts of a cell in model space, following the second file's nodes, posed by ``b``."""
        return (
            [self._placed(i, b) for i, p in self.edited.parts.items() if p[1:] == cell],
            [
                moved(
                    self.second.mesh(k),
                    b[p[0]] @ np.linalg.inv(self.second.poses()[p[0]]) @ self.second.poses()[k],
                )
                for k, p in self.second.parts.items()
                if p[1:] == cell
            ],
        )

    def _placed(self, i: int, poses: Array) -> Triangles:
        """A part where the second file should show it, whose nodes are posed by ``poses``."""
        edited, place = self.edited, self.edited.poses()[i]
        owner = edited.parts[i][0]
        if owner in self.partner:
            # parts stand where their nodes stood when the file was made
            rest = self.second.poses()[self.partner[owner]]
            if not self.follow and not self._is_scaled(owner):
                rest = edited.poses(own=True)[owner]
            elif self.follow and i in self.origin and owner in self.origin:
                rest = self.first.poses()[self.origin[owner]]
            place = poses[self.partner[owner]] @ np.linalg.inv(rest) @ place
        return moved(edited.mesh(i), place)

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
        for i, material in enumerate(self.edited.json.get("materials", [])):
            shown, name = material.get("pbrMetallicRoughness"), material.get("name", "")
            if i < len(before) and before[i].get("pbrMetallicRoughness") != shown:
                again = after.get(NUMBER.sub("", name), {}).get("pbrMetallicRoughness")
                if again != shown:
                    self._add(f"material {name!r} looks different", [name])

    def _match(self, ours: Triangles, theirs: Triangles, where: str) -> None:
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


def unmatched(
    a: Triangles, b: Triangles, tolerance: float, *, geometry: bool = False
) -> tuple[list[int], list[int]]:
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
    extra = [
        t
        for t in range(len(b))
        if t not in taken and not _flat(b.corners[t]) and not near[:, t].any()
    ]
    if len(left) == 0:
        return left, extra
    # an unmatched triangle of a group whose others are taken: count them on both sides
    return left, [t for t in range(len(b)) if t not in taken and not _flat(b.corners[t])]


def _flat(corners: Array) -> bool:
    a, b, c = corners
    edge = max(float(np.abs(x - y).max()) for x, y in ((a, b), (b, c), (c, a)))
    return float(np.linalg.norm(np.cross(b - a, c - a))) <= 1e-6 * max(edge, 1e-30) ** 2


def _alike(
    a: Triangles, rows: Array, b: Triangles, columns: Array, tolerance: float, *, geometry: bool
) -> Array:
    """Whether pairs of triangles are the same, however their corners are counted."""
    out = np.zeros(len(rows), np.bool_)
    for turn in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
        x, y = a.corners[rows], b.corners[columns][:, turn]
        same = np.abs(x - y).max(axis=(1, 2)) <= tolerance
        if not geometry:
            pair = {n: (a.streams[n][rows], b.streams[n][columns][:, turn]) for n in _WIDTHS}
            same &= _same_streams(pair)
        out |= same
    if not geometry:
        same = [
            a.materials[i] == b.materials[k] and _same_facts(a.facts[i], b.facts[k])
            for i, k in zip(rows.tolist(), columns.tolist(), strict=True)
        ]
        out &= np.array(same, np.bool_)
    return out


def _same_facts(a: Json, b: Json) -> bool:
    """Whether what materials state is the same; the last word of a portal names a node."""
    facts = FACTS[:-1] if b.get("batch_flags", 0) & PORTAL else FACTS
    return all(a.get(fact, b.get(fact)) == b.get(fact) for fact in facts)


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
