"""Build a small game to try everything on, from nothing.

    python examples/make_game.py GAME

Makes the folder ``GAME`` with archives, libraries, a level, units and a mission that are laid out
like those of the real game: ``turrets.rlb``, ``static.rlb``, ``fortif.rlb``, ``Material.lib``,
``Textures.lib``, ``BuildDat.lst``, ``DATA/MAPS/Tut_1``, and what ``make_mission.py`` adds. The
README's commands and the tutorials in ``docs/tutorials`` work on it, so that they can be followed
without the game. The same bytes every time.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import make_level
import make_mission
import make_textures
import numpy as np
from make_entries import made, pair
from make_models import ARMOUR, GLASS, GLOW, JOINT, Model, Shape
from make_textures import Paint, flat, grain, noise

from msh_gltf.converter.formats.nres import Entry, write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.formats.terrain import CATEGORIES

HERE = Path(__file__).parent


# ------------------------------------------------------------------ the turrets


def base(model: Model) -> int:
    """What a turret stands on."""
    plinth = Shape().box(ARMOUR, (0, 0, 0.25), (2.6, 2.6, 0.5), 0.8)
    plinth.box(JOINT, (0, 0, 0.6), (1.3, 1.3, 0.2))
    node = model.node("Base_TM", None, (0, 0, 0), plinth)
    model.part(node, "level1", Shape().box(ARMOUR, (0, 0, 0.35), (2.6, 2.6, 0.7), 0.7))
    model.part(node, "level2", Shape().box(ARMOUR, (0, 0, 0.9), (2.2, 2.2, 1.8), 0.6))
    model.part(node, "stage1", Shape().box(JOINT, (0, 0, 0.2), (2.6, 2.6, 0.4), 0.7))
    return node


def gun_turret() -> Model:
    """A turning tower with a radar on its left and one gun on its right; three levels of detail."""
    m = Model("e_tur_01")
    body = base(m)
    head = Shape().box(ARMOUR, (0, 0, 0.5), (1.8, 2.0, 1.0), 0.75)
    head.box(GLASS, (0, 0.86, 0.55), (0.5, 0.3, 0.25)).box(JOINT, (0.55, 0.8, 0.45), (0.5, 0.5, 0.5))
    tower = m.node("tower", body, (0, 0, 0.7), head)
    m.part(tower, "level1", Shape().box(ARMOUR, (0, 0, 0.5), (1.8, 2.0, 1.0), 0.75))
    m.part(tower, "stage1", Shape().box(JOINT, (0.1, -0.2, 0.3), (1.5, 1.4, 0.6), 0.6))
    m.turn(tower, (0, 0, 1), lambda t: 0.6 * math.sin(2 * math.pi * t), 24)
    barrel = Shape().box(JOINT, (0, 0.9, 0), (0.2, 1.8, 0.2)).box(ARMOUR, (0, 1.8, 0), (0.32, 0.5, 0.32))
    gun = m.node("gun", tower, (0.55, 0.9, 0.45), barrel)
    m.part(gun, "level1", Shape().box(JOINT, (0, 1.0, 0), (0.24, 2.0, 0.24)))
    mast = Shape().box(JOINT, (0, 0, 0.35), (0.1, 0.1, 0.7)).box(GLOW, (0, 0.05, 0.75), (0.7, 0.08, 0.35))
    radar = m.node("radar", tower, (-0.45, -0.5, 0.95), mast)
    m.turn(radar, (0, 0, 1), lambda t: 2 * math.pi * t, 24)
    return m


def rocket_turret() -> Model:
    """The same base with two boxes of rockets."""
    m = Model("e_tur_02")
    body = base(m)
    head = Shape().box(ARMOUR, (0, 0, 0.4), (1.0, 1.4, 0.8), 0.8)
    tower = m.node("tower", body, (0, 0, 0.7), head)
    m.part(tower, "level1", Shape().box(ARMOUR, (0, 0, 0.4), (1.0, 1.4, 0.8), 0.8))
    m.turn(tower, (0, 0, 1), lambda t: -0.8 * math.sin(2 * math.pi * t), 24)
    for side, sign in (("l", -1), ("r", 1)):
        pod = Shape().box(ARMOUR, (0, 0, 0), (0.6, 1.6, 0.6)).box(GLOW, (0, 0.82, 0), (0.45, 0.06, 0.45))
        node = m.node(f"pod_{side}", tower, (0.85 * sign, 0.2, 0.55), pod)
        m.part(node, "level1", Shape().box(ARMOUR, (0, 0, 0), (0.6, 1.6, 0.6)))
    return m


# ------------------------------------------------------------------ what the level looks like


def ground_paints() -> list[Paint]:
    """The materials of ``Land1.wea``, and the microtextures of ``Land2.wea``."""
    blade = noise(2, 101) * 0.5 + noise(4, 102) * 0.5
    grass = flat(82, 104, 52, 0.7 + 0.5 * blade)
    dry = noise(16, 103) > 0.62
    grass[dry] = flat(112, 108, 62, 0.7 + 0.5 * blade)[dry]
    crack = np.abs(noise(16, 111) - 0.5) < 0.04
    rock = flat(122, 116, 108, grain(112) * np.where(crack, 0.55, 1.0))
    sand = flat(186, 166, 122, 0.86 + 0.16 * noise(4, 121) + 0.08 * noise(2, 122))
    footing = flat(120, 120, 118, grain(131))
    grains = [flat(128, 128, 128, grain(seed)) for seed in (141, 151, 161, 171)]
    names = [*make_level.GROUNDS, *make_level.MICRO]
    pictures = [footing, grass, rock, sand, *grains]
    return [Paint(name, pixels) for name, pixels in zip(names, pictures, strict=True)]


BUILDINGS = {
    "Bunker_Small": ["BUNKER_S\\bunker00.dat", "BUNKER_S\\bunker01.dat"],
    "Generator": ["GENERATO\\genera00.dat"],
    "Hangar": ["HANGAR\\hangar00.dat"],
    "Tower_Medium": ["TOWER_M\\tower00.dat"],
}


def build_dat() -> bytes:
    """``BuildDat.lst``: every category, some of them empty."""
    lines = ["// object categories", ""]
    for name in CATEGORIES:
        paths = BUILDINGS.get(name, [])
        lines += [f"{name} {len(paths)}", *(f'"UNITS\\BUILDS\\{path}"' for path in paths), ""]
    return "\r\n".join(lines).encode("ascii")


# ------------------------------------------------------------------ the folder


def kept(source: str, name: str) -> list[Entry]:
    """One of the models that lie beside this script."""
    return pair(name, *((HERE / f"{source}.{suffix}").read_bytes() for suffix in ("msh", "wea")))


def make_game(root: Path) -> None:
    """All of it.

    Raises:
        SystemExit: the folder is there and not empty.
    """
    if root.exists() and any(root.iterdir()):
        raise SystemExit(f"{root} is not empty: name a new folder")
    archives = {
        "turrets.rlb": [*made(gun_turret()), *made(rocket_turret())],
        "static.rlb": [*kept("walker", "r_h_01"), *kept("tree", "s_tree_01"), *kept("tree", "ёлка")],
        "fortif.rlb": kept("hangar", "f_hangar"),
    }
    paints = [*make_textures.paints(), *ground_paints()]
    archives["Material.lib"] = [make_textures.material_entry(paint) for paint in paints]
    archives["Textures.lib"] = [make_textures.texture_entry(paint) for paint in paints]
    loose = root / "DATA" / "Loose"
    loose.mkdir(parents=True)
    for name, entries in archives.items():
        (root / name).write_bytes(write_nres(new_archive(entries, name)))
    for suffix in ("msh", "wea"):
        (loose / f"Дом.{suffix}").write_bytes((HERE / f"hangar.{suffix}").read_bytes())
    make_level.write_level(root / "DATA" / "MAPS" / "Tut_1")
    (root / "BuildDat.lst").write_bytes(build_dat())
    make_mission.add_mission(root)
    (root / "readme.txt").write_text("A small game to try msh-gltf on.\n", "ascii")


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    root = Path(sys.argv[1])
    make_game(root)
    count = sum(path.is_file() for path in root.rglob("*"))
    print(f"wrote {root}: {count} files")


if __name__ == "__main__":
    main()
