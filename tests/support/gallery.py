"""Games for the gallery, and where a model's corners are in a picture: reference cameras."""

import math
import shutil
from pathlib import Path

import numpy as np

from tests.support.corpus import DATA, LIBS
from tests.support.game import MESH, WEAR, archive, entry, make_game, model, write
from tests.support.gltf_view import GltfView

#: Names that would do something if a page took them for more than text.
HOSTILE = (
    "<img src=x onerror=hacked()>.msh",
    '");hacked();("</script>.msh',
    "`${hacked()}`'&amp;.msh",
    "CON.msh",
    "a%41 b#c?d.msh",
    "..\\..\\up.msh",
    "Ёж и кот.msh",
    "__proto__",
)
#: An archive's name is no better.
HOSTILE_ARCHIVE = "<img src=x onerror=hacked()>'.rlb"
WALKER = Path(__file__).parents[2] / "examples/walker.msh"
TREE = WALKER.with_name("tree.msh")


def make_gallery_game(root: Path) -> Path:
    """A fake game with textures, hostile names, and a walker that is a file of its own."""
    make_game(root)
    for name in ("Material.lib", "Textures.lib"):
        shutil.copy(LIBS / name, root / name)
    small = "retail__odd__s_rock_009"
    entries = []
    for name in HOSTILE:
        raw = name.encode("cp1251")
        entries.append(entry(MESH, raw, model(small)))
        wear = (DATA / f"{small}.wea").read_bytes()
        entries.append(entry(WEAR, raw.removesuffix(b".msh") + b".wea", wear))
    write(root / "names.rlb", archive(entries))
    write(root / HOSTILE_ARCHIVE, archive([entry(MESH, b"tree.msh", TREE.read_bytes())]))
    shutil.copy(WALKER, root / "walker.msh")
    return root


def cell_of(view: GltfView, lod: int, group: int) -> list[tuple[int, int]]:
    """(MSH node, mesh) of every part of a cell, cockpits left out; LOD 0, group 0 is scene 0."""
    out = []
    nodes = view["nodes"]
    for (node, *cell), index in view.scene_parts().items():
        cockpit = nodes[node].get("extras", {}).get("msh", {}).get("flags", 0) & 0x20
        if cell == [lod, group] and not cockpit:
            out.append((node, nodes[index]["mesh"]))
    return out


def corners(view: GltfView, lod: int = 0, group: int = 0, frame: int | None = None) -> np.ndarray:
    """(n, 3) corners of a cell's triangles in glTF axes, each part posed like its MSH node."""
    out = [np.empty((0, 3))]
    for node, mesh in cell_of(view, lod, group):
        matrix = view.world(node, frame)
        for primitive in view["meshes"][mesh]["primitives"]:
            points = view.array(primitive["attributes"]["POSITION"]).astype(np.float64)
            used = points[view.array(primitive["indices"])[:, 0].astype(int)]
            out.append(used @ matrix[:3, :3].T + matrix[:3, 3])
    return np.concatenate(out)


class Camera:
    """35 degrees off the front (game +Y), 24 above, as near as all corners allow."""

    def __init__(self, points: np.ndarray, width: int, height: int) -> None:
        self.size = np.array([width, height])
        turn, rise = math.radians(180 - 35), math.radians(24)
        around = np.array([[math.cos(turn), 0, -math.sin(turn)], [0, 1, 0], [math.sin(turn), 0, math.cos(turn)]])
        over = np.array([[1, 0, 0], [0, math.cos(rise), -math.sin(rise)], [0, math.sin(rise), math.cos(rise)]])
        self.turn = over @ around
        seen = points @ self.turn.T
        self.middle = (seen.max(0) + seen.min(0)) / 2
        self.half = math.tan(math.radians(15))
        offsets = seen - self.middle
        across = np.abs(offsets[:, 0]) / (self.half * width / height) + offsets[:, 2]
        along = np.abs(offsets[:, 1]) / self.half + offsets[:, 2]
        self.distance = 1.06 * max(across.max(), along.max())

    def pixels(self, points: np.ndarray, *, mirrored: bool = False) -> np.ndarray:
        """(n, 2) column and row of points in the picture."""
        seen = points @ self.turn.T - self.middle
        flat = seen[:, :2] / (self.distance - seen[:, 2:]) / self.half
        flat[:, 0] *= self.size[1] / self.size[0] * (-1 if mirrored else 1)
        return (flat * (1, -1) + 1) / 2 * self.size


def ratio_inside(mask: np.ndarray, pixels: np.ndarray, radius: int = 2) -> float:
    """How many of the points lie on what a picture shows, or at most ``radius`` away."""
    wide = np.pad(mask, radius)
    grown = np.zeros_like(mask)
    for x in range(2 * radius + 1):
        for y in range(2 * radius + 1):
            grown |= wide[y : y + mask.shape[0], x : x + mask.shape[1]]
    columns, rows = np.floor(pixels).astype(int).T
    within = (columns >= 0) & (rows >= 0) & (columns < mask.shape[1]) & (rows < mask.shape[0])
    hit = grown[rows.clip(0, mask.shape[0] - 1), columns.clip(0, mask.shape[1] - 1)]
    return float((within & hit).mean())
