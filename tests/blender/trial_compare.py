"""Compare what Blender shows of an edited scene with a glTF file of the result: no code of the product."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.support.gltf_compared import unmatched
from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import WIDTHS, Shown, Triangles, joined, moved, part_of_name

Array = np.ndarray[Any, Any]
NUMBER = re.compile(r"(\.\d{3}|#\d+)*$")
PLACE = {"model": 2e-3, "unit": 2e-3, "scene": 2e-3, "mission": 2e-2, "terrain": 1e-2, "areal map": 1e-2}
PICTURE = 0.02
#: From glTF's axes to Blender's: Z is up.
UP = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], float)
#: Kinds of objects of Blender that glTF has as nodes.
NODES = ("MESH", "EMPTY", "ARMATURE")
#: What a mission has besides objects.
MARKS = ("route", "zone", "lode")


class Result:
    """A glTF of the result, at some frames, in Blender's axes."""

    def __init__(self, path: Path, frames: list[int], cells: bool) -> None:
        self.document = Editable(path)
        self.shown = Shown(self.document)
        self.json = self.document.json
        self.poses = [self.shown.poses(frame / 24) for frame in frames]
        meshes = [i for i, item in enumerate(self.shown.items) if "mesh" in item and self._drawn(i)]
        self.triangles = [joined([moved(self.shown.mesh(i), UP @ poses[i]) for i in meshes]) for poses in self.poses]
        self.cell = [self._cell(i) if cells else "" for i in self.triangles[0].owner]
        self.frames = self.shown.frame_count if self.json.get("animations") else 1

    def _drawn(self, i: int) -> bool:
        return self.shown.extras(i).get("kind") not in ("paths", "borders")

    def _cell(self, i: int) -> str:
        """As ``trial_tools`` calls it."""
        if part := part_of_name(NUMBER.sub("", self.shown.names[i])):
            return f"lod{part[1]}.group{part[2]}"
        return "coarse" if "coarse" in self.shown.names[i] else ""

    def looks(self, name: str) -> Iterator[dict[str, Any]]:
        """What each material of a name shows."""
        for material in self.json.get("materials", []):
            if NUMBER.sub("", material.get("name", "")) == name:
                yield self._look(material)

    def _look(self, material: dict[str, Any]) -> dict[str, Any]:
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


def differences(
    facts: dict[str, Any], arrays: dict[str, Array], path: Path, frames: list[int], kind: str, names: list[str]
) -> list[str]:
    """What the result shows otherwise, in words; ``names``: what the edit is about."""
    result = Result(path, frames, kind in ("model", "terrain"))
    out: list[str] = []
    end = facts["frames"]
    if kind == "scene":  # a model alone has no looks
        facts["looks"] = {}
    if kind == "model" and result.frames not in (int(end + 1e-3) + 1, int(np.ceil(end - 1e-3)) + 1):
        out.append(f"the last key is at frame {end:g}, then there are {result.frames} frames")
    shown = [i for i, frame in enumerate(frames) if frame < result.frames or not result.json.get("animations")]
    if len(arrays["corners"]) != len(frames):
        out.append("the number of triangles changes in time")
        shown = [0]
    # the coarse level of a terrain follows the fine one
    skip = "coarse" if kind == "terrain" and "coarse" not in names else ""
    out += _triangles(facts, arrays, result, shown, PLACE[kind], skip)
    if kind != "scene":  # a model alone has no looks
        out += _looks(facts, result)
    if kind == "mission":
        out += _marks(facts["things"], result)
    elif kind not in ("areal map", "scene"):
        out += _things(facts["things"], result, PLACE[kind])
    return out


def _triangles(
    facts: dict[str, Any], arrays: dict[str, Array], result: Result, shown: list[int], near: float, skip: str
) -> list[str]:
    """Triangles that have no partner on the other side at some frame, and those that show something else."""
    near = max(near, 4 * float(np.spacing(np.float32(np.abs(arrays["corners"]).max(initial=0)))))  # floats far away
    rest = result.triangles[0]
    uv = arrays["uv"] * [1, -1] + [0, 1]
    lost: set[int] = set()
    gained: set[int] = set()
    other: set[int] = set()
    for i in shown:
        # parts follow their nodes: at rest
        ours = _listed(arrays["corners"][[0, i]], uv, arrays["colour"], facts["material"], facts["cell"])
        theirs = np.stack([rest.corners, result.triangles[i].corners])
        streams = rest.streams["TEXCOORD_0"], rest.streams["COLOR_0"]
        pair = ours, _listed(theirs, *streams, rest.materials, result.cell)
        left, extra = unmatched(*pair, near)
        other |= {row for row in left if facts["owner"][row] != skip or not skip}
        if left or extra:
            left, extra = unmatched(*pair, near, geometry=True)
        lost |= {row for row in left if facts["owner"][row] != skip or not skip}
        gained |= {row for row in extra if result.cell[row] != skip or not skip}
    found = {"are not in the result": lost, "show something else": other - lost}
    out = [
        f"{len(rows)} triangles {what}: {', '.join(sorted({facts['owner'][row] for row in rows})[:4])}"
        for what, rows in found.items()
        if rows
    ]
    return [*out, f"{len(gained)} triangles are only in the result"] if gained else out


def _listed(corners: Array, uv: Array, colour: Array, materials: list[str], cells: list[str]) -> Triangles:
    """Triangles at rest and at a frame, as one list; what has no colour is white, what has no texture is at 0."""
    parts = np.array(["lod" in cell for cell in cells], bool).reshape(-1, 1, 1)
    streams = {name: np.full((len(cells), 3, width), np.nan) for name, width in WIDTHS.items()}
    streams["TEXCOORD_0"] = np.nan_to_num(uv, nan=0)
    streams["COLOR_0"][..., :3] = np.nan_to_num(colour[..., :3], nan=1)
    names = [f"{NUMBER.sub('', name)} in {cell}" for name, cell in zip(materials, cells, strict=True)]
    return Triangles(np.where(parts, *corners), streams, names, [{}] * len(cells), [*range(len(cells))])


def _looks(facts: dict[str, Any], result: Result) -> list[str]:
    """Materials that show something else; of several of a name one is enough that does not."""
    out: list[str] = []
    for name in sorted({*facts["material"]} - {""}):
        short = NUMBER.sub("", name)
        out += min((_look(facts["looks"][name], theirs, short) for theirs in result.looks(short)), key=len, default=[])
    return out


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
        place = (UP @ result.poses[0][i])[:3, 3]
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
    left: list[tuple[str, Array]] = []
    for i, item in enumerate(result.shown.items):
        if (kind := result.shown.extras(i).get("kind", "")) in MARKS:
            world, points = UP @ result.poses[0][i], np.zeros((1, 3))
            if "mesh" in item:
                primitives = result.json["meshes"][item["mesh"]]["primitives"]
                points = np.concatenate([result.document.arrays[p["attributes"]["POSITION"]] for p in primitives])
            posed = (points @ world[:3, :3].T + world[:3, 3]).tolist()
            size = float(np.linalg.norm(world[:3, 0]))
            left.append((kind, np.array(sorted(posed) if "mesh" in item else [*posed[0], size])))
    out = []
    for thing in (thing for thing in things.values() if thing["says"] in MARKS):
        ours = np.array(thing["line"] or [*thing["place"], thing["scale"]])
        alike = (kind == thing["says"] and b.shape == ours.shape and np.abs(b - ours).max() < 2e-2 for kind, b in left)
        found = next((row for row, same in enumerate(alike) if same), None)
        if found is None:
            out.append(f"a {thing['says']} is elsewhere, or not in the result")
        else:
            left.pop(found)
    return [*out, *(f"a {kind} is only in the result" for kind, _ in left)]
