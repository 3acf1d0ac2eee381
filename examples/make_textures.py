"""Paint the textures of the example models, and make their libraries, from nothing.

    python examples/make_textures.py OUT_DIR

Writes ``Material.lib`` and ``Textures.lib`` as they are in ``examples/textures``:
``msh2gltf examples/walker.msh --textures examples/textures`` shows them. Read it as a recipe for
libraries of your own. Every face of the models shows a texture once, from edge to edge.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from msh_gltf.converter.formats.material import (
    MATERIAL_HEADER_DTYPE,
    MATERIAL_TYPE,
    MATERIAL_VERSION,
    PHASE_DTYPE,
    Material,
    MaterialKind,
)
from msh_gltf.converter.formats.material import write_material as bytes_of_material
from msh_gltf.converter.formats.nres import Entry, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.formats.texture import new_texm, write_texm

SIZE = 64
ROWS, COLUMNS = np.mgrid[0:SIZE, 0:SIZE]
TEXM = int.from_bytes(b"Texm", "little")


def noise(cell: int, seed: int) -> np.ndarray:
    """(64, 64) blotches of a size in pixels, 0..1; wraps round, the same on every machine."""
    count = SIZE // cell
    i, j = np.mgrid[0:count, 0:count].astype(np.int64)
    hashed = (i * 374761393 + j * 668265263 + seed * 2246822519) & 0xFFFFFFFF
    hashed = ((hashed ^ (hashed >> 13)) * 1274126177) & 0xFFFFFFFF
    grid = (hashed >> 8 & 0xFFFF) / 65536
    at_row, at_column = ROWS / cell, COLUMNS / cell
    r, c = at_row.astype(int), at_column.astype(int)
    v, u = at_row - r, at_column - c
    v, u = v * v * (3 - 2 * v), u * u * (3 - 2 * u)
    top = grid[r, c] * (1 - u) + grid[r, (c + 1) % count] * u
    low = grid[(r + 1) % count, c] * (1 - u) + grid[(r + 1) % count, (c + 1) % count] * u
    return top * (1 - v) + low * v


def grain(seed: int) -> np.ndarray:
    """Dirt of several sizes, about 1."""
    return 0.72 + 0.3 * noise(16, seed) + 0.18 * noise(4, seed + 1) + 0.1 * noise(2, seed + 2)


def plate(colour: np.ndarray, width: int = 2, rivets: int = 0) -> np.ndarray:
    """A plate with a worn edge, light above and dark below, and rivets near it."""
    edge = np.minimum.reduce([ROWS, COLUMNS, SIZE - 1 - ROWS, SIZE - 1 - COLUMNS])
    light = np.ones((SIZE, SIZE))
    light[edge < width] = 0.45
    light[(edge == width) & ((width == ROWS) | (width == COLUMNS))] = 1.5
    for at in range(rivets, SIZE, SIZE // 4) if rivets else ():
        for row, column in ((6, at), (SIZE - 7, at), (at, 6), (at, SIZE - 7)):
            light[row - 1 : row + 1, column - 1 : column + 1] = 1.45
            light[row + 1, column - 1 : column + 1] = 0.55
    return colour * light[..., None]


def flat(red: float, green: float, blue: float, shade: np.ndarray) -> np.ndarray:
    """One colour, light and dark."""
    return np.stack([shade * red, shade * green, shade * blue], axis=-1)


def armour() -> np.ndarray:
    """Olive with brown and dark patches, worn, riveted."""
    blotch = noise(16, 11) + 0.4 * noise(8, 12)
    colour = flat(104, 112, 66, grain(1))
    colour[blotch > 0.85] = flat(116, 92, 58, grain(2))[blotch > 0.85]
    colour[blotch < 0.5] = flat(58, 68, 44, grain(3))[blotch < 0.5]
    return plate(colour, 2, 8)


def joint() -> np.ndarray:
    """Dark ribs of rubber between rings of steel."""
    rib = np.abs((ROWS % 8) - 3.5) / 3.5
    return plate(flat(74, 76, 84, grain(21) * (1.15 - 0.7 * rib)), 3)


def glass() -> np.ndarray:
    """Two panes in a frame, with the sky in them."""
    sky = 0.55 + 0.6 * (1 - ROWS / SIZE)
    shine = ((ROWS + COLUMNS) % SIZE > 40) & ((ROWS + COLUMNS) % SIZE < 48)
    colour = flat(60, 140, 190, sky + 0.35 * shine)
    frame = (np.minimum(ROWS, SIZE - 1 - ROWS) < 4) | (COLUMNS % 32 < 4)
    colour[frame] = flat(52, 56, 50, grain(31))[frame]
    return colour


def glow() -> np.ndarray:
    """A lamp behind a grille."""
    near = 1 - np.maximum(np.abs(ROWS - 31.5), np.abs(COLUMNS - 31.5)) / 32
    colour = flat(255, 150, 50, 0.55 + 0.6 * near)
    colour[(ROWS % 12 < 3) | (COLUMNS % 22 < 3)] *= 0.35
    return colour


def bark() -> np.ndarray:
    """Furrows from bottom to top."""
    wobble = (COLUMNS + (6 * noise(16, 41)).astype(int)) % 11
    return flat(112, 82, 56, grain(42) * np.where(wobble < 3, 0.5, 1.0))


def leaf() -> np.ndarray:
    """Leaves with nothing between them, red, green, blue and alpha."""
    colour = flat(74, 122, 48, 0.5 + 0.8 * noise(4, 51) * (0.5 + 0.6 * noise(16, 52)))
    fall = np.minimum(COLUMNS, SIZE - 1 - COLUMNS) / 20
    there = noise(8, 53) + 0.5 * noise(4, 54) + np.minimum(fall, 0.35) > 0.8
    return np.concatenate([colour, np.where(there, 255.0, 0.0)[..., None]], axis=-1)


def wall() -> np.ndarray:
    """Slabs of concrete, stained below their joints, on a base with warning stripes."""
    stain = noise(4, 61) * np.clip(1 - (ROWS % 26) / 18, 0, 1)
    colour = flat(150, 146, 134, grain(62) * (1.05 - 0.45 * stain))
    seam = (ROWS % 26 == 0) | ((COLUMNS + 16 * (ROWS // 26)) % 32 == 0)
    colour[seam] *= 0.5
    base = ROWS >= 56
    stripe = (COLUMNS + ROWS) % 16 < 8
    colour[base] = flat(190, 150, 40, grain(63))[base]
    colour[base & stripe] = flat(40, 40, 42, grain(64))[base & stripe]
    colour[ROWS == 55] *= 0.5
    return colour


def floor() -> np.ndarray:
    """Steel with a tread."""
    row, column = ROWS % 16, COLUMNS % 16
    one = (np.abs(row - column) < 2) & (row > 2) & (row < 8)
    other = (np.abs(row + column - 23) < 2) & (row > 9) & (row < 15)
    return plate(flat(88, 90, 96, grain(71) * np.where(one | other, 1.5, 0.95)), 1)


@dataclass(frozen=True)
class Paint:
    """A material of the examples' ``.wea``: its picture, Texm format, kind and own light."""

    name: str
    pixels: np.ndarray
    format: int = 565
    kind: MaterialKind = MaterialKind.OPAQUE
    light: tuple[int, int, int] = (0, 0, 0)


def paints() -> list[Paint]:
    """All of them; the first also stands for names that are not here."""
    return [
        Paint("DEFAULT", plate(flat(150, 150, 150, grain(81)))),
        Paint("armour", armour()),
        Paint("joint", joint()),
        Paint("glass", glass(), 888),
        Paint("glow", glow(), light=(255, 140, 60)),
        Paint("bark", bark()),
        Paint("leaf", leaf(), 4444, MaterialKind.ALPHA_BLEND),
        Paint("wall", wall()),
        Paint("floor", floor()),
    ]


def texture_entry(paint: Paint) -> Entry:
    """An entry of ``Textures.lib``, with all its smaller levels."""
    alpha = np.full((SIZE, SIZE, 1), 255.0)
    pixels = paint.pixels if paint.pixels.shape[2] == 4 else np.dstack([paint.pixels, alpha])
    rgba = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    data = write_texm(new_texm(rgba, paint.format))
    return Entry(TEXM, 0, 0, 0, name_field(f"{paint.name}.0".encode()), 0, 0, data)


def material_entry(paint: Paint) -> Entry:
    """An entry of ``Material.lib``: one phase, white, its texture as it is."""
    phase = np.zeros(1, PHASE_DTYPE)
    phase["diffuse"] = (255, 255, 255, 255)
    phase["ambient"] = (*paint.light, 100)
    name = f"{paint.name}.0".encode().ljust(16, b"\0")
    phase["texture"] = np.frombuffer(name, np.uint8)
    phase["cell"] = -1
    material = Material(paint.name, paint.kind, np.zeros(1, MATERIAL_HEADER_DTYPE), phase)
    raw = name_field(paint.name.encode())
    return Entry(MATERIAL_TYPE, paint.kind, MATERIAL_VERSION, 0, raw, 0, 0, bytes_of_material(material))


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in (("Material.lib", material_entry), ("Textures.lib", texture_entry)):
        library = new_archive([make(paint) for paint in paints()], name)
        (folder / name).write_bytes(write_nres(library))
        print(f"wrote {folder / name}: {len(library.entries)} entries")


if __name__ == "__main__":
    main()
