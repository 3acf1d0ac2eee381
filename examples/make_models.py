"""Build the example models from nothing: a walker robot, a hangar, a tree.

    python examples/make_models.py OUT_DIR

Writes ``walker.glb``, ``hangar.glb`` and ``tree.glb`` with a ``.wea`` each; ``gltf2msh`` turns them
into the ``.msh`` files in ``examples/``. Read it as a recipe for models of your own: nodes that
hinge, levels of detail named ``.level1`` and ``.level2``, a damage stage named ``.stage1``, a walk cycle.
Game axes: x to the right, y forward, z up.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

FPS = 24
ARMOUR, JOINT, GLASS, GLOW, BARK, LEAF, WALL, FLOOR = range(8)
COLOURS = {
    ARMOUR: ("armour", (0.32, 0.36, 0.20)),
    JOINT: ("joint", (0.10, 0.10, 0.12)),
    GLASS: ("glass", (0.10, 0.35, 0.50)),
    GLOW: ("glow", (0.80, 0.25, 0.05)),
    BARK: ("bark", (0.22, 0.12, 0.06)),
    LEAF: ("leaf", (0.12, 0.35, 0.08)),
    WALL: ("wall", (0.45, 0.43, 0.40)),
    FLOOR: ("floor", (0.22, 0.22, 0.24)),
}


class Shape:
    """Quads by material, each with its own four corners (so that edges stay hard)."""

    def __init__(self) -> None:
        self.quads: dict[int, list[np.ndarray]] = {}

    def quad(self, material: int, *corners: tuple[float, float, float]) -> Shape:
        self.quads.setdefault(material, []).append(np.array(corners, np.float64))
        return self

    def box(
        self, material: int, center: tuple[float, float, float], size: tuple[float, float, float], taper: float = 1.0
    ) -> Shape:
        """A box; its top is ``taper`` times as wide as its bottom."""
        x, y, z = (s / 2 for s in size)
        low = [(-x, -y, -z), (x, -y, -z), (x, y, -z), (-x, y, -z)]
        high = [(p[0] * taper, p[1] * taper, z) for p in low]
        faces = [low[::-1], high]
        faces += [[low[i], low[(i + 1) % 4], high[(i + 1) % 4], high[i]] for i in range(4)]
        for face in faces:
            self.quad(material, *(tuple(np.add(p, center)) for p in face))
        return self


class Model:
    """A glTF document in the making."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.buffer = b""
        self.nodes: list[dict] = []
        self.meshes: list[dict] = []
        self.accessors: list[dict] = []
        self.views: list[dict] = []
        self.materials: list[int] = []
        self.channels: list[dict] = []
        self.samplers: list[dict] = []

    def accessor(self, array: np.ndarray, kind: str, code: int = 5126) -> int:
        raw = np.ascontiguousarray(array)
        self.views.append({"buffer": 0, "byteOffset": len(self.buffer), "byteLength": raw.nbytes})
        self.buffer += raw.tobytes() + bytes(-raw.nbytes % 4)
        flat = raw.reshape(len(raw), -1)
        self.accessors.append(
            {
                "bufferView": len(self.views) - 1,
                "componentType": code,
                "count": len(raw),
                "type": kind,
                "min": flat.min(0).tolist(),
                "max": flat.max(0).tolist(),
            }
        )
        return len(self.accessors) - 1

    def mesh(self, name: str, shape: Shape) -> int:
        primitives = []
        for material, quads in shape.quads.items():
            corners = np.stack(quads)
            normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            normal /= np.linalg.norm(normal, axis=1, keepdims=True)
            points = corners.reshape(-1, 3)
            uv = np.tile([(0, 1), (1, 1), (1, 0), (0, 0)], (len(quads), 1))
            index = (4 * np.arange(len(quads))[:, None] + [0, 1, 2, 0, 2, 3]).reshape(-1, 1)
            if material not in self.materials:
                self.materials.append(material)
            primitives.append(
                {
                    "attributes": {
                        "POSITION": self.accessor(y_up(points), "VEC3"),
                        "NORMAL": self.accessor(y_up(np.repeat(normal, 4, axis=0)), "VEC3"),
                        "TEXCOORD_0": self.accessor(uv.astype(np.float32), "VEC2"),
                    },
                    "indices": self.accessor(index.astype(np.uint16), "SCALAR", 5123),
                    "material": self.materials.index(material),
                }
            )
        self.meshes.append({"name": name, "primitives": primitives})
        return len(self.meshes) - 1

    def node(
        self,
        name: str,
        parent: int | None = None,
        at: tuple[float, float, float] = (0, 0, 0),
        shape: Shape | None = None,
        flags: int = 0,
    ) -> int:
        node: dict = {"name": name, "translation": y_up(np.array([at]))[0].tolist()}
        if shape is not None:
            node["mesh"] = self.mesh(name, shape)
        if flags:
            node["extras"] = {"msh": {"flags": flags}}
        self.nodes.append(node)
        if parent is not None:
            self.nodes[parent].setdefault("children", []).append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def part(self, node: int, cell: str, shape: Shape) -> None:
        """What the node shows from afar (``level1``) or damaged (``stage1``): a child that stands where its node stands."""
        self.node(f"{self.nodes[node]['name']}.{cell}", node, shape=shape)

    def turn(self, node: int, axis: tuple[float, float, float], angle: Callable[[float], float], frames: int) -> None:
        """Turn a node about an axis; ``angle`` takes 0..1 through the clip and gives radians."""
        times = np.arange(frames + 1)
        half = np.array([angle(t / frames) / 2 for t in times])
        direction = y_up(np.array([axis], np.float64))[0]
        q = np.column_stack([np.sin(half)[:, None] * direction, np.cos(half)])
        self.channels.append({"sampler": len(self.samplers), "target": {"node": node, "path": "rotation"}})
        seconds = (times / FPS).astype(np.float32)[:, None]
        self.samplers.append(
            {"input": self.accessor(seconds, "SCALAR"), "output": self.accessor(q.astype(np.float32), "VEC4")}
        )

    def save(self, folder: Path) -> None:
        children = {c for node in self.nodes for c in node.get("children", [])}
        document = {
            "asset": {"version": "2.0", "generator": "msh-gltf example"},
            "scene": 0,
            "scenes": [{"name": self.name, "nodes": [i for i in range(len(self.nodes)) if i not in children]}],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": [
                {
                    "name": COLOURS[m][0],
                    "doubleSided": True,
                    "pbrMetallicRoughness": {"baseColorFactor": [*COLOURS[m][1], 1.0], "metallicFactor": 0.0},
                }
                for m in self.materials
            ],
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{"byteLength": len(self.buffer)}],
        }
        if self.channels:
            document["animations"] = [{"name": self.name, "channels": self.channels, "samplers": self.samplers}]
        text = json.dumps(document, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        chunks += struct.pack("<I4s", len(self.buffer), b"BIN\0") + self.buffer
        head = struct.pack("<4sII", b"glTF", 2, 12 + len(chunks))
        (folder / f"{self.name}.glb").write_bytes(head + chunks)
        rows = [f"{i} {COLOURS[m][0]}" for i, m in enumerate(self.materials)]
        wear = "\r\n".join([str(len(rows)), *rows, ""])
        (folder / f"{self.name}.wea").write_text(wear, "ascii", newline="")


def y_up(points: np.ndarray) -> np.ndarray:
    """Game axes to glTF axes."""
    return np.column_stack([points[:, 0], points[:, 2], -points[:, 1]]).astype(np.float32)


# ------------------------------------------------------------------ the models


def walker() -> Model:
    """Two legs on hinges, a turret with a gun, a walk cycle, three levels of detail, one damage stage."""
    m = Model("walker")
    frames = 24
    hull = Shape().box(ARMOUR, (0, 0, 0), (1.6, 2.0, 0.7), 0.8).box(GLASS, (0, 0.85, 0.2), (0.9, 0.4, 0.3))
    body = m.node("Base_TM", None, (0, 0, 2.6), hull)
    m.part(body, "level1", Shape().box(ARMOUR, (0, 0, 0), (1.6, 2.0, 0.7), 0.8))
    m.part(body, "level2", Shape().box(ARMOUR, (0, 0, 0), (1.5, 1.9, 0.7)))
    burnt = Shape().box(JOINT, (0, -0.2, -0.05), (1.5, 1.5, 0.5), 0.7).box(GLOW, (0.2, 0.5, 0.2), (0.4, 0.4, 0.2))
    m.part(body, "stage1", burnt)

    dome = Shape().box(ARMOUR, (0, 0, 0.25), (1.0, 1.0, 0.5), 0.7).box(GLOW, (0, 0.45, 0.3), (0.5, 0.1, 0.1))
    turret = m.node("turret", body, (0, -0.1, 0.35), dome)
    m.part(turret, "level1", Shape().box(ARMOUR, (0, 0, 0.25), (1.0, 1.0, 0.5), 0.7))
    m.turn(turret, (0, 0, 1), lambda t: 0.5 * math.sin(2 * math.pi * t), frames)
    barrel = Shape().box(JOINT, (0, 0.8, 0), (0.14, 1.6, 0.14)).box(ARMOUR, (0, 1.6, 0), (0.24, 0.3, 0.24))
    gun = m.node("gun", turret, (0.3, 0.3, 0.3), barrel)
    m.part(gun, "level1", Shape().box(JOINT, (0, 0.8, 0), (0.16, 1.8, 0.16)))

    for side, sign, phase in (("l", -1, 0.0), ("r", 1, math.pi)):
        swing = lambda t, p=phase: 0.5 * math.sin(2 * math.pi * t + p)  # noqa: E731
        bend = lambda t, p=phase: 0.35 - 0.35 * math.cos(2 * math.pi * t + p)  # noqa: E731
        hip = m.node(f"hip_{side}", body, (0.85 * sign, 0, -0.1), Shape().box(JOINT, (0, 0, 0), (0.3, 0.5, 0.5)))
        m.turn(hip, (1, 0, 0), swing, frames)
        thigh = Shape().box(ARMOUR, (0.2 * sign, 0, -0.5), (0.4, 0.6, 1.1), 1.2)
        upper = m.node(f"thigh_{side}", hip, (0, 0, 0), thigh)
        m.part(upper, "level1", Shape().box(ARMOUR, (0.2 * sign, 0, -0.5), (0.4, 0.6, 1.1)))
        shin = Shape().box(JOINT, (0, 0, -0.05), (0.3, 0.35, 0.3)).box(ARMOUR, (0, 0, -0.6), (0.3, 0.45, 1.0), 0.8)
        lower = m.node(f"shin_{side}", upper, (0.2 * sign, 0, -1.05), shin)
        m.turn(lower, (1, 0, 0), lambda t, b=bend: -b(t), frames)
        m.part(lower, "level1", Shape().box(ARMOUR, (0, 0, -0.55), (0.3, 0.45, 1.1)))
        foot = Shape().box(ARMOUR, (0, 0.2, -0.12), (0.5, 1.0, 0.24), 0.7)
        toe = m.node(f"foot_{side}", lower, (0, 0, -1.1), foot)
        m.turn(toe, (1, 0, 0), lambda t, s=swing, b=bend: b(t) - s(t), frames)
    return m


def hangar() -> Model:
    """Walls, a roof, a sliding door, and an interior node that is drawn from inside only."""
    m = Model("hangar")
    hall = Shape()
    for x in (-6, 6):
        hall.box(WALL, (x, 0, 2.5), (0.5, 16, 5))
    hall.box(WALL, (0, -8, 2.5), (12.5, 0.5, 5)).box(WALL, (-4.5, 8, 2.5), (3.5, 0.5, 5))
    hall.box(WALL, (4.5, 8, 2.5), (3.5, 0.5, 5)).box(WALL, (0, 8, 4.5), (5.5, 0.5, 1))
    hall.box(ARMOUR, (0, 0, 5.6), (13, 17, 1.2), 0.75)
    root = m.node("Base_TM", None, (0, 0, 0), hall)
    m.part(
        root, "level1", Shape().box(WALL, (0, 0, 2.5), (12.5, 16.5, 5)).box(ARMOUR, (0, 0, 5.6), (13, 17, 1.2), 0.75)
    )
    m.part(root, "level2", Shape().box(WALL, (0, 0, 3), (12.5, 16.5, 6)))
    inside = Shape().quad(FLOOR, (-5.7, -7.7, 0.05), (5.7, -7.7, 0.05), (5.7, 7.7, 0.05), (-5.7, 7.7, 0.05))
    for y in (-5, 0, 5):
        inside.box(JOINT, (-4.6, y, 1), (1.2, 2.4, 2)).box(GLOW, (0, y, 4.8), (3, 0.2, 0.1))
    m.node("iHall", root, (0, 0, 0), inside, flags=0x1)
    door = m.node("door", root, (0, 8.1, 0), Shape().box(JOINT, (0, 0, 2), (5.4, 0.2, 4)))
    times = np.arange(17)
    slide = np.array([[5.0 * min(1.0, max(0.0, (t - 4) / 12)), 8.1, 0] for t in times])
    m.channels.append({"sampler": 0, "target": {"node": door, "path": "translation"}})
    m.samplers.append(
        {
            "input": m.accessor((times / FPS).astype(np.float32)[:, None], "SCALAR"),
            "output": m.accessor(y_up(slide), "VEC3"),
        }
    )
    return m


def tree() -> Model:
    """A trunk and crossed planes of leaves: open, non-manifold, cheap."""
    m = Model("tree")

    def crown(planes: int, layers: int) -> Shape:
        shape = Shape()
        for layer in range(layers):
            radius, z = 1.6 - 0.35 * layer, 1.6 + 0.9 * layer
            for i in range(planes):
                a = math.pi * i / planes + 0.4 * layer
                x, y = radius * math.cos(a), radius * math.sin(a)
                shape.quad(LEAF, (-x, -y, z), (x, y, z), (x * 0.2, y * 0.2, z + 1.5), (-x * 0.2, -y * 0.2, z + 1.5))
        return shape

    root = m.node("Base_TM", None, (0, 0, 0), Shape().box(BARK, (0, 0, 1.0), (0.4, 0.4, 2.0), 0.6))
    m.part(root, "level1", Shape().box(BARK, (0, 0, 1.0), (0.4, 0.4, 2.0)))
    leaves = m.node("leaf1", root, (0, 0, 0), crown(4, 4))
    m.part(leaves, "level1", crown(3, 2))
    m.part(leaves, "level2", crown(2, 1))
    return m


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for build in (walker, hangar, tree):
        model = build()
        model.save(folder)
        print(f"wrote {folder / model.name}.glb: {len(model.nodes)} nodes")


if __name__ == "__main__":
    main()
