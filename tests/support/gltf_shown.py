"""What a glTF file of a model shows: plain matrices, no code of the project.

A file is evaluated as the specification of glTF has it, and read as ``docs/reference/gltf.md``
says: nodes of the hierarchy are nodes, objects with ``lod`` and ``group`` (or such a name) parts,
which follow their node.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from tests.support.gltf_edit import Editable
from tests.support.gltf_view import trs, unit

Json = dict[str, Any]
Array = np.ndarray[Any, Any]
_ROW_NAME = re.compile(r"(.+?)\.lod(\d)(?:\.group(\d))?")
_STAGE_NAME = re.compile(r"(.+?)(?=\.stage|\.level|\.view)(?:\.stage(\d))?(?:\.level(\d)|\.(view))?")
#: What Blender appends to a name that it has met, and what the export appends.
NUMBER = re.compile(r"(\.\d{3})?(#\d+)*$")


def part_of_name(name: str) -> tuple[str, int, int] | None:
    """The node, row and column that the name of a part states."""
    if match := _ROW_NAME.fullmatch(name):
        return match[1], int(match[2]), int(match[3] or 0)
    if match := _STAGE_NAME.fullmatch(name):
        return match[1], int(match[2] or 0), 4 if match[4] else int(match[3] or 0)
    return None


def name_like(other: str, owner: str, lod: int, group: int) -> str:
    """The name of a part, in the terms that another one is called in."""
    if _ROW_NAME.fullmatch(other):
        return f"{owner}.lod{lod}.group{group}"
    return f"{owner}.stage{lod}" + ("" if not group else ".view" if group == 4 else f".level{group}")


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


WIDTHS = {"NORMAL": 3, "TEXCOORD_0": 2, "TEXCOORD_1": 2, "COLOR_0": 4}


def joined(lists: list[Triangles]) -> Triangles:
    return Triangles(
        np.concatenate([np.zeros((0, 3, 3)), *(t.corners for t in lists)]),
        {
            name: np.concatenate([np.zeros((0, 3, width)), *(t.streams[name] for t in lists)])
            for name, width in WIDTHS.items()
        },
        [name for t in lists for name in t.materials],
        [facts for t in lists for facts in t.facts],
        [owner for t in lists for owner in t.owner],
    )


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
        return list(unit(mixed) if path == "rotation" else mixed)
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
        former: further names of nodes, which parts may be called after.
        renamed: objects whose name was changed, and not their custom properties: the name counts.

    Attributes:
        nodes: the nodes of the hierarchy.
        parts: object -> (owner, lod, group) of the other objects with a mesh.
        names: of every node of the document.
        at_rest: animated nodes and paths whose own value means nothing: the clip's start is meant.
    """

    def __init__(
        self, document: Editable, former: dict[str, int] | None = None, renamed: frozenset[int] = frozenset()
    ) -> None:
        self.document, self.json = document, document.json
        self.items: list[Json] = self.json.get("nodes", [])
        self.names = [node.get("name", "") for node in self.items]
        self.parent = {c: i for i, n in enumerate(self.items) for c in n.get("children", [])}
        self.scenes: list[Json] = self.json.get("scenes", [])
        self.info: Json = self.scenes[0].get("extras", {}).get("msh", {}) if self.scenes else {}
        stated = [self.info, *(self.extras(i) for i in range(len(self.items)))]
        self.fps = next((float(e["fps"]) for e in stated if "fps" in e), 24.0)
        self._arrays: dict[int, Array] = {}
        self._poses: dict[float | None, Array] = {}
        self._meshes: dict[int, Triangles] = {}
        self.at_rest: set[tuple[int, str]] = set()
        self._classify(former or {}, renamed)

    def extras(self, index: int) -> Json:
        found: Json = self.items[index].get("extras", {}).get("msh", {})
        return found

    def _classify(self, former: dict[str, int], renamed: frozenset[int]) -> None:
        reached, waiting = set(), [i for scene in self.scenes for i in scene.get("nodes", [])]
        while waiting:
            index = waiting.pop()
            hidden = self.items[index].get("extensions", {}).get("KHR_node_visibility", {})
            if index not in reached and (hidden.get("visible", True) or not self._has_mesh(index)):
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
            extras, match = self.extras(i), part_of_name(NUMBER.sub("", self.names[i]))
            stated = "lod" in extras and "group" in extras
            named = match is not None and match[0] in by_name
            if "mesh" in self.items[i] and stated and not (i in renamed and named):
                owner = by_row.get(extras.get("node"), -1)
                self.parts[i] = owner, extras["lod"], extras["group"]
            elif "mesh" in self.items[i] and match and named:
                self.parts[i] = by_name[match[0]], *match[1:]
            elif extras.get("kind") not in ("point", "paths"):
                self.nodes.append(i)

    def _has_mesh(self, index: int) -> bool:
        """Whether a node or one below it has a mesh."""
        item = self.items[index]
        return "mesh" in item or any(self._has_mesh(below) for below in item.get("children", []))

    # -------------------------------------------------------------- poses

    def clips(self) -> tuple[dict[tuple[int, str], Json], set[str]]:
        """Channels by node and path: of the first clip, then of others for nodes it leaves alone;
        and names of clips of which not all is shown so."""
        found: dict[tuple[int, str], Json] = {}
        hidden: set[str] = set()
        taken: set[int] = set()
        for clip in self.json.get("animations", []):
            mine = set()
            for channel in clip["channels"]:
                node, path = channel["target"].get("node"), channel["target"]["path"]
                if node in taken:
                    hidden.add(clip.get("name", ""))
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
        for path in ("translation", "rotation", "scale"):
            sampler = self.channels.get((index, path))
            meant = (index, path) in self.at_rest and not own
            if sampler is not None and (seconds is not None or meant):
                posed[path] = curve(
                    self._array(sampler["input"])[:, 0],
                    self._array(sampler["output"]),
                    sampler.get("interpolation", "LINEAR"),
                    path,
                    seconds or 0.0,
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
            own = "EXT_mesh_gpu_instancing" not in self.items[i].get("extensions", {})
            out[row, 3] = len(self.mesh(i)) if "mesh" in self.items[i] and own else 0
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
        return self.info.get("lod", 0), self.info.get("group", 0)

    # -------------------------------------------------------------- triangles

    def mesh(self, index: int) -> Triangles:
        """The triangles of an object, as its mesh has them; instances of it, one by one."""
        if index in self._meshes:
            return self._meshes[index]
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
            for name, width in WIDTHS.items():
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
        if copies is not None:
            keys = {"TRANSLATION": "translation", "ROTATION": "rotation", "SCALE": "scale"}
            columns = {keys[k]: self._array(v) for k, v in copies["attributes"].items() if k in keys}
            total = len(next(iter(columns.values())))
            places = [trs({k: v[row] for k, v in columns.items()}) for row in range(total)]
            out = joined([moved(out, place) for place in places])
        self._meshes[index] = out
        return out


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
