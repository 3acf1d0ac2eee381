"""Compare what Blender shows of an edited scene with a glTF file of the result: no code of the product."""

import io
import re
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.spatial import cKDTree

from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import Shown, part_of_name

Array = np.ndarray[Any, Any]
NUMBER = re.compile(r"(\.\d{3}|#\d+)*$")
PLACE = {"model": 2e-3, "unit": 2e-3, "mission": 2e-2, "terrain": 1e-2, "areal map": 1e-2}
#: The corners of a triangle, from each of them.
TURNS = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
COLOUR, PICTURE, UV = 0.02, 0.02, 1.2 / 1024
#: Kinds of objects of Blender that glTF has as nodes.
NODES = ("MESH", "EMPTY")


class Result:
    """A glTF of the result, at some frames."""

    def __init__(self, path: Path, frames: list[int], cells: bool) -> None:
        self.document = Editable(path)
        self.shown = Shown(self.document)
        self.json = self.document.json
        seconds = [frame / 24 for frame in frames]
        self.poses = [self.shown.poses(at) for at in seconds]
        meshes = [i for i, item in enumerate(self.shown.items) if "mesh" in item and self._drawn(i)]
        lists = {i: self.shown.mesh(i) for i in meshes}
        self.corners = np.stack(
            [
                np.concatenate([np.zeros((0, 3, 3)), *(_posed(lists[i].corners, poses[i]) for i in meshes)])
                for poses in self.poses
            ]
        )
        self.uv = np.concatenate([np.zeros((0, 3, 2)), *(lists[i].streams["TEXCOORD_0"] for i in meshes)])
        self.colour = np.concatenate([np.zeros((0, 3, 4)), *(lists[i].streams["COLOR_0"] for i in meshes)])
        self.material = [name for i in meshes for name in self._materials(i)]
        self.cell = [self._cell(i) if cells else "" for i in meshes for _ in range(len(lists[i]))]
        self.frames = self.shown.frame_count if self.json.get("animations") else 1

    def _drawn(self, i: int) -> bool:
        return self.shown.extras(i).get("kind") not in ("paths", "borders")

    def _cell(self, i: int) -> str:
        """As ``trial_tools`` calls it."""
        if part := part_of_name(NUMBER.sub("", self.shown.names[i])):
            return f"lod{part[1]}.group{part[2]}"
        return "coarse" if "coarse" in self.shown.names[i] else ""

    def _materials(self, i: int) -> list[int]:
        out: list[int] = []
        for primitive in self.json["meshes"][self.shown.items[i]["mesh"]]["primitives"]:
            if primitive.get("mode", 4) != 4:
                continue
            count = len(self.document.arrays[primitive.get("indices", primitive["attributes"]["POSITION"])]) // 3
            out += [primitive.get("material", -1)] * count
        return out

    @cache  # noqa: B019
    def look(self, index: int) -> dict[str, Any]:
        material = self.json["materials"][index]
        pbr = material.get("pbrMetallicRoughness", {})
        out: dict[str, Any] = {"factor": list(pbr.get("baseColorFactor", [1, 1, 1])[:3]), "image": None}
        texture = pbr.get("baseColorTexture")
        if texture is not None:
            out["image"] = self._picture(self.json["textures"][texture["index"]]["source"])
        strength = material.get("extensions", {}).get("KHR_materials_emissive_strength", {}).get("emissiveStrength", 1)
        glow = [strength * v for v in material.get("emissiveFactor", [0, 0, 0])]
        out["emission"] = [float(any(glow))] if "emissiveTexture" in material else glow
        out["alpha"] = pbr.get("baseColorFactor", [1, 1, 1, 1])[3] if material.get("alphaMode") == "BLEND" else None
        return out

    def _picture(self, index: int) -> list[float]:
        with Image.open(io.BytesIO(self.document.pictures[index])) as image:
            pixels = np.asarray(image.convert("RGBA"), np.float64) / 255
            return [*pixels.reshape(-1, 4).mean(axis=0).tolist()[:3], *image.size]

    def name(self, index: int) -> str:
        return "" if index < 0 else NUMBER.sub("", self.json["materials"][index].get("name", ""))


def _posed(corners: Array, matrix: Array) -> Array:
    """To Blender's axes: Z is up."""
    world = corners @ matrix[:3, :3].T + matrix[:3, 3]
    if np.linalg.det(matrix[:3, :3]) < 0:
        world = world[:, ::-1]
    return np.stack([world[..., 0], -world[..., 2], world[..., 1]], axis=-1)


def differences(
    facts: dict[str, Any], arrays: dict[str, Array], path: Path, frames: list[int], kind: str, names: list[str]
) -> list[str]:
    """What the result shows otherwise, in words; ``names``: what the edit is about."""
    result = Result(path, frames, kind in ("model", "terrain"))
    out: list[str] = []
    end = facts["frames"]
    if kind == "model" and result.frames not in (int(end + 1e-3) + 1, int(np.ceil(end - 1e-3)) + 1):
        out.append(f"the last key is at frame {end:g}, then there are {result.frames} frames")
    # a clip has whole frames; the coarse level of a terrain follows the fine one
    shown = [i for i, frame in enumerate(frames) if frame < max(result.frames, 1) or not result.json.get("animations")]
    shown = shown if len(arrays["corners"]) == len(frames) else [0]
    ours = arrays | {"corners": arrays["corners"][shown] if len(arrays["corners"]) else np.zeros((len(shown), 0, 3, 3))}
    result.corners = result.corners[shown]
    for side, cells in ((ours, facts["cell"]), (vars(result), result.cell)):  # parts follow their nodes: at rest
        still = np.array(["lod" in cell for cell in cells], bool)
        side["corners"] = np.where(still[None, :, None, None], side["corners"][:1], side["corners"])
    skip = {"coarse"} if kind == "terrain" and "coarse" not in names else set()
    out += _triangles(facts, ours, result, [frames[i] for i in shown], PLACE[kind], skip)
    if kind == "mission":
        out += _marks(facts["things"], result)
    elif kind != "areal map":
        out += _things(facts["things"], result, PLACE[kind])
    return out


def _triangles(
    facts: dict[str, Any], arrays: dict[str, Array], result: Result, frames: list[int], near: float, skip: set[str]
) -> list[str]:
    """Triangles that have no partner on the other side, and what partners show."""
    ours, theirs = arrays["corners"], result.corners
    if len(ours) != len(theirs):
        return ["the number of triangles changes in time"]
    # all frames of a triangle are one long row
    a = ours.transpose(1, 2, 0, 3).reshape(ours.shape[1], 3, 3 * len(frames))
    b = theirs.transpose(1, 2, 0, 3).reshape(theirs.shape[1], 3, 3 * len(frames))
    near = max(near, 4 * float(np.spacing(np.float32(np.abs(a).max(initial=0)))))  # far away, floats are coarse
    keep_a, keep_b = ~_flat(ours[0]), ~_flat(theirs[0])
    keep_a &= ~np.isin(np.array(facts["owner"], dtype=str), [*skip])
    keep_b &= ~np.isin(np.array(result.cell, dtype=str), [*skip])
    out = []
    rows, near_to, turn = _pairs(a, b, near)
    texts = _others(facts, arrays, result, rows, near_to, turn)
    order = np.lexsort((near_to, [len(one) for one in texts], rows))
    order = order[np.unique(rows[order], return_index=True)[1]]  # what shows the same first
    first = np.full(len(a), -1)
    first[rows[order]] = near_to[order]
    others = {int(rows[i]): texts[i] for i in order if texts[i]}
    lost = keep_a & (first < 0)
    gained = keep_b.copy()
    gained[first[first >= 0]] = False
    # coincident ones count once
    if gained.any() and len(a):
        gained[np.flatnonzero(gained)[[bool(_has(a, b[k], near)) for k in np.flatnonzero(gained)]]] = False
    if lost.any():
        owners = sorted({facts["owner"][i] for i in np.flatnonzero(lost)})
        out.append(f"{int(lost.sum())} triangles are not in the result: {', '.join(owners[:4])}")
    if gained.any():
        out.append(f"{int(gained.sum())} triangles are only in the result")
    wrong: dict[str, set[str]] = {}
    for row in sorted(others):
        for text in others[row] if keep_a[row] else ():
            wrong.setdefault(text, set()).add(facts["owner"][row])
    out += [f"{text}: {', '.join(sorted(owners)[:4])}" for text, owners in wrong.items()]
    return out


def _has(a: Array, one: Array, near: float) -> bool:
    return any((np.abs(a - np.roll(one, turn, axis=0)).max(axis=(1, 2)) <= near).any() for turn in range(3))


def _flat(corners: Array) -> Array:
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.asarray(np.linalg.norm(normal, axis=1) < 1e-9)


def _pairs(a: Array, b: Array, near: float) -> tuple[Array, Array, Array]:
    """Triangles of both sides in one place: their rows, and the corner with which the second one begins."""
    if not len(a) or not len(b):
        return np.empty(0, int), np.empty(0, int), np.empty(0, int)
    close = cKDTree(b.mean(axis=1)).query_ball_point(a.mean(axis=1), 4 * near * np.sqrt(a.shape[2] / 3))
    rows = np.repeat(np.arange(len(a)), [len(one) for one in close])
    others = np.concatenate([*close, []]).astype(int)
    away = np.stack([np.abs(a[rows] - b[others][:, turn]).max(axis=(1, 2)) for turn in TURNS], axis=1)
    pair, turn = np.nonzero(away <= near)
    return rows[pair], others[pair], turn


def _others(
    facts: dict[str, Any], arrays: dict[str, Array], result: Result, rows: Array, k: Array, turn: Array
) -> list[list[str]]:
    """What each pair of triangles shows differently."""
    out: list[list[str]] = [[] for _ in rows]

    def note(which: Array, *texts: str) -> None:
        for i in np.flatnonzero(which) if texts else ():
            out[i] += texts

    for names, theirs, text in ((facts["cell"], result.cell, _other_cell), (facts["material"], result.material, None)):
        (mine, a), (there, b) = (np.unique(np.array(one, dtype=object), return_inverse=True) for one in (names, theirs))
        both, of = np.unique(np.stack([a[rows], b[k]]), axis=1, return_inverse=True)
        for n, (x, y) in enumerate(both.T):
            note(of.reshape(-1) == n, *(text or partial(_other_material, facts, result))(mine[x], there[y]))
    uv = result.uv[k[:, None], TURNS[turn]] * [1, -1] + [0, 1]
    away = arrays["uv"][rows] - uv
    bare = np.isnan(arrays["uv"][rows]).any(axis=(1, 2))
    some = ~np.isnan(uv).any(axis=(1, 2)) & np.abs(np.nan_to_num(uv - [0, 1])).any(axis=(1, 2))
    note(bare & some, "no texture coordinates, then some")
    note(~bare & (np.abs(away - np.round(away[:, :1])) > UV).any(axis=(1, 2)), "other texture coordinates")
    mine, their = arrays["colour"][rows][..., :3], result.colour[k[:, None], TURNS[turn]][..., :3]
    mine, their = (np.where(np.isnan(one), 1.0, one) for one in (mine, their))
    note((np.abs(mine - their) > COLOUR).any(axis=(1, 2)), "other vertex colours")
    return out


def _other_cell(ours: str, theirs: str) -> list[str]:
    return [] if ours == theirs else [f"in {ours or 'the first'}, then in {theirs or 'the first'}"]


def _other_material(facts: dict[str, Any], result: Result, name: str, index: int) -> list[str]:
    ours, theirs = NUMBER.sub("", name), result.name(index)
    if ours != theirs:
        return [f"material {ours!r}, then {theirs!r}"]
    return _look(facts["looks"][name], result.look(index), ours) if index >= 0 else []


def _look(ours: dict[str, Any] | None, theirs: dict[str, Any], name: str) -> list[str]:
    if ours is None:
        return [f"material {name!r} shows what no file of the game can say"]
    out = []
    if np.abs(np.array(ours["factor"]) - theirs["factor"]).max() > PICTURE:
        out.append(f"material {name!r} has another colour")
    if any(ours["emission"] + theirs["emission"]) and not _near(ours["emission"], theirs["emission"]):
        out.append(f"material {name!r} glows otherwise")
    if theirs["alpha"] is not None and not _near([ours["alpha"]], [theirs["alpha"]]):
        out.append(f"material {name!r} is seen through otherwise")
    if (ours["image"] is None) != (theirs["image"] is None):
        out.append(f"material {name!r}: a picture on one side")
    elif (
        ours["image"] is not None
        and "+" not in name
        and np.abs(np.array(ours["image"]) - theirs["image"]).max() > PICTURE
    ):
        out.append(f"material {name!r} has another picture")
    return out


def _near(a: list[float], b: list[float]) -> bool:
    return len(a) == len(b) and float(np.abs(np.array(a) - b).max()) <= PICTURE


def _things(things: dict[str, Any], result: Result, near: float) -> list[str]:
    """Nodes: by name, their parents, their places, what they say of themselves."""
    out = []
    shown = result.shown
    theirs: dict[str, list[int]] = {}
    for i, name in enumerate(shown.names):
        if part_of_name(NUMBER.sub("", name)):  # parts are called after their nodes
            continue
        theirs.setdefault(NUMBER.sub("", name), []).append(i)
    inside = {NUMBER.sub("", name) for name, thing in things.items() if thing.get("inside")}
    mine: dict[str, list[str]] = {}
    for name, thing in things.items():
        if thing["kind"] in NODES and "lod" not in thing["cell"]:
            mine.setdefault(NUMBER.sub("", name), []).append(name)
    for name in sorted(mine.keys() | theirs.keys()):
        ours, others = mine.get(name, []), theirs.get(name, [])
        if len(ours) != len(others):
            out.append(f"{len(ours)} objects {name!r}, then {len(others)}")
            continue
        if len(ours) > 1 or not ours:
            continue
        thing, i = things[ours[0]], others[0]
        above = _above(shown, i, inside if things.get(thing["parent"], {}).get("carries") else set())
        if NUMBER.sub("", thing["parent"]) != above:
            out.append(f"{name!r} is below {thing['parent']!r}, then below {above!r}")
        world = result.poses[0][i]
        place = np.array([world[0, 3], -world[2, 3], world[1, 3]])
        if np.abs(place - thing["place"]).max() > near:
            out.append(f"{name!r} stands elsewhere")
        said = shown.extras(i)
        for key, value in thing["facts"].items():
            had = said.get(key)
            if had is not None and (had != value if isinstance(value, str) else abs(had - value) > 1e-5 * abs(value)):
                out.append(f"{key} of {name!r} is {value}, then {had}")
    return out


def _above(shown: Shown, i: int, inside: set[str]) -> str:
    """What a node is below; of the nodes that an object shows as one thing, the object."""
    while i in shown.parent:
        i = shown.parent[i]
        if (name := NUMBER.sub("", shown.names[i])) not in inside:
            return name
    return ""


def _marks(things: dict[str, Any], result: Result) -> list[str]:
    """Routes, zones and lodes of a mission: by what they are and where, whatever they are called."""
    ours: dict[str, list[Any]] = {"route": [], "zone": [], "lode": []}
    theirs: dict[str, list[Any]] = {"route": [], "zone": [], "lode": []}
    for thing in things.values():
        if thing["says"] in ours:
            ours[thing["says"]].append(thing["line"] or [*thing["place"], thing["scale"]])
    for i, item in enumerate(result.shown.items):
        kind = result.shown.extras(i).get("kind", "")
        if kind not in theirs:
            continue
        world = result.poses[0][i]
        points = np.zeros((1, 3))
        if "mesh" in item:
            primitives = result.json["meshes"][item["mesh"]]["primitives"]
            points = np.concatenate([result.document.arrays[p["attributes"]["POSITION"]] for p in primitives])
        posed = points @ world[:3, :3].T + world[:3, 3]
        posed = np.stack([posed[:, 0], -posed[:, 2], posed[:, 1]], axis=-1)
        size = float(np.linalg.norm(world[:3, 0]))
        theirs[kind].append(sorted(posed.tolist()) if "mesh" in item else [*posed[0], size])
    out = []
    for kind, mine in ours.items():
        left = [np.array(one) for one in theirs[kind]]
        for one in map(np.array, mine):
            same = [k for k, b in enumerate(left) if b.shape == one.shape and np.abs(b - one).max() < 2e-2]
            if same:
                left.pop(same[0])
            else:
                out.append(f"a {kind} is elsewhere, or not in the result")
        out += [f"a {kind} is only in the result"] * len(left)
    return out
