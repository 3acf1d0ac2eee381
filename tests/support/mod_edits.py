"""Random edits of a game, each as its author makes it: in the output directory, then the commands.

An edit changes files of an output directory, or says that it has no place there (``NotHere``).
"""

import io
import shutil
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.formats.material import MATERIAL_TYPE
from msh_gltf.converter.formats.nres import Archive, is_nres, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.game.edits import GameEdits
from tests.support.gltf_edit import Editable
from tests.support.random_edits import EDITS, Edited, NotHere
from tests.support.runs import call

Chance = np.random.Generator
Json = dict[str, Any]
#: Name -> what changes an output directory, or the game beside it, in the folder of an author: with the
#: chance of which file it takes, and that of what it does.
KINDS: dict[str, Callable[[Path, Chance, Chance], None]] = {}


def kind(function: Callable[[Path, Chance, Chance], None]) -> Callable[[Path, Chance, Chance], None]:
    KINDS[function.__name__.replace("_", " ")] = function
    return function


def quiet(command: Any, *arguments: object) -> tuple[int, str, str]:
    """A command's exit code, and what it said on both streams."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = call(command, *arguments)
    return code, out.getvalue(), err.getvalue()


def put_back(folder: Path, *options: str) -> bool:
    """``gltf2msh --in-place``; whether it did all."""
    place = ("--game", folder / "game", "--in-place", "-q", "-j", "1")
    return quiet(cli.gltf2msh, folder / "out", *place, *options)[0] == 0


def one_of(chance: Chance, found: Sequence[Any]) -> Any:
    if not found:
        raise NotHere
    return found[int(chance.integers(len(found)))]


def files(folder: Path, *patterns: str) -> list[Path]:
    found = [path for pattern in patterns for path in folder.glob(pattern) if path.is_file()]
    return sorted(set(found))


def models(out: Path) -> list[Path]:
    return [path for path in files(out, "*/*.glb") if path.parent.name.lower().endswith(".rlb")]


# ------------------------------------------------------------------ of glTF files


@kind
def edit_of_a_model(folder: Path, target: Chance, chance: Chance) -> None:
    document = Edited(path := one_of(target, models(folder / "out")))
    EDITS[one_of(chance, sorted(EDITS))](document, chance)
    document.save(path)


@kind
def small_edit_of_a_model(folder: Path, target: Chance, chance: Chance) -> None:
    """One that keeps the number of rows, of the kinds that mods are made of."""
    document = Edited(path := one_of(target, models(folder / "out")))
    small = ("move node", "turn node", "move vertices", "change uv", "move key", "rename node", "assign material")
    EDITS[one_of(chance, small)](document, chance)
    document.save(path)


@kind
def recolour_a_material(folder: Path, target: Chance, chance: Chance) -> None:
    document = Editable(path := one_of(target, models(folder / "out")))
    material = one_of(chance, document.json.get("materials", []))
    colour = [*chance.uniform(0.1, 0.9, 3).round(2).tolist(), 1.0]
    material.setdefault("pbrMetallicRoughness", {})["baseColorFactor"] = colour
    document.save(path)


@kind
def raise_the_ground(folder: Path, target: Chance, chance: Chance) -> None:
    document = Editable(path := one_of(target, files(folder / "out", "DATA/**/Land.glb", "DATA/**/LAND.glb")))
    positions = document.arrays[document.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]
    rows = chance.choice(len(positions), 3, replace=False)
    positions[rows, 1] += chance.uniform(1, 20, 3).astype(np.float32)
    document.save(path)


@kind
def shrink_an_areal(folder: Path, target: Chance, chance: Chance) -> None:
    document = Editable(path := one_of(target, files(folder / "out", "DATA/**/*.map.glb", "DATA/**/*.MAP.glb")))
    primitives = [p for p in document.primitives() if "_MSH_AREAL" in p["attributes"]]
    attributes = one_of(chance, primitives)["attributes"]
    owners = document.arrays[attributes["_MSH_AREAL"]][:, 0]
    positions = document.arrays[attributes["POSITION"]]
    own = owners == chance.choice(owners)
    centre = positions[own].mean(0)
    positions[own] = centre + (positions[own] - centre) * np.float32(chance.uniform(0.5, 0.95))
    document.save(path)


def marked(document: Editable, kind: str) -> list[Json]:
    return [n for n in document.json["nodes"] if n.get("extras", {}).get("msh", {}).get("kind") == kind]


@kind
def edit_of_a_mission(folder: Path, target: Chance, chance: Chance) -> None:
    document = Editable(path := one_of(target, files(folder / "out", "MISSIONS/**/data.glb")))
    nodes = document.json["nodes"]
    what = one_of(chance, ("move", "move", "name", "property", "route", "copy", "delete", "lode", "zone"))
    if what == "route":
        mesh = document.json["meshes"][one_of(chance, marked(document, "route"))["mesh"]]
        points = document.arrays[mesh["primitives"][0]["attributes"]["POSITION"]]
        points[chance.integers(len(points))] += chance.uniform(1, 5, 3).astype(np.float32) * (1, 0, 1)
    else:
        marker = what if what in ("lode", "zone") else "object"
        node = one_of(chance, [n for n in marked(document, marker) if n["extras"]["msh"].get("host", -1) == -1])
        place = [float(x) for x in np.add(node.get("translation", [0, 0, 0]), chance.uniform(1, 9, 3) * (1, 0, 1))]
        extras, number = node["extras"]["msh"], nodes.index(node)
        if what == "name":
            node["name"] = extras["name"] = f"Имя {chance.integers(99)}"
        elif what == "property":
            properties = extras.get("properties")
            if not properties:
                raise NotHere
            properties[one_of(chance, sorted(properties))] = int(chance.integers(1, 4))
        elif what == "copy":
            copied = {**node, "translation": place, "extras": {"msh": {**extras}}}
            copied["extras"]["msh"].pop("index", None)
            copied.pop("children", None)
            nodes.append(copied)
            document.json["scenes"][0]["nodes"].append(len(nodes) - 1)
        elif what == "delete":
            for holder in (*nodes, *document.json["scenes"]):
                for key in ("children", "nodes"):
                    if number in holder.get(key, []):
                        holder[key].remove(number)
                        if not holder[key]:
                            del holder[key]
        else:
            node["translation"] = place
    document.save(path)


@kind
def edit_of_a_unit(folder: Path, target: Chance, chance: Chance) -> None:
    document = Editable(path := one_of(target, files(folder / "out", "UNITS/**/*.glb")))
    node = one_of(chance, marked(document, "component"))
    extras, what = node["extras"]["msh"], one_of(chance, ("label", "class", "key"))
    if what == "label":
        extras["label"] = f"часть {chance.integers(99)}"
    elif what == "class":
        extras["class"] = int(chance.integers(6))
    else:
        others = [n["extras"]["msh"]["key"] for n in marked(document, "component")]
        extras["key"] = node["name"] = one_of(chance, others)
    document.save(path)


@kind
def a_new_model(folder: Path, target: Chance, chance: Chance) -> None:
    path = one_of(target, models(folder / "out"))
    shutil.copy(path, path.with_name(f"added_{chance.integers(3)}.glb"))


# ------------------------------------------------------------------ of pictures


@kind
def paint_a_texture(folder: Path, target: Chance, chance: Chance) -> None:
    path = one_of(target, files(folder / "out", "textures/*.png"))
    picture = np.array(Image.open(path).convert("RGBA"))
    height, width = (int(chance.integers(1, max(2, side // 3))) for side in picture.shape[:2])
    top, left = (
        int(chance.integers(side - own + 1)) for side, own in zip(picture.shape, (height, width), strict=False)
    )
    picture[top : top + height, left : left + width, :3] = chance.integers(0, 256, (height, width, 3))
    Image.fromarray(picture).save(path)


@kind
def a_picture_into_the_library(folder: Path, target: Chance, chance: Chance) -> None:
    """A texture that is there, or a new one."""
    library = one_of(target, files(folder / "game", "Textures.lib"))
    path = folder / f"wall{chance.integers(4)}.png"
    Image.fromarray(chance.integers(0, 256, (8, 8, 3)).astype(np.uint8)).save(path)
    code, _, _ = quiet(cli.gltf2msh, path, "--into", library)
    if code:
        raise NotHere


# ------------------------------------------------------------------ of what is not shown


def put_entry(folder: Path, file: str, index: int, data: bytes) -> None:
    """What a script does: an entry of an archive, or a whole file, replaced by the API."""
    with GameEdits(folder / "game", "a script", f"script:{folder.name}") as door:
        now = door.was(file, lambda layer: False)
        assert now is not None
        made = write_nres(replace_entry(read_nres(now, file), index, data)) if is_nres(now) else data
        door.put(file, made, lambda layer: False, item=file)
        door.commit()


def _entries(folder: Path, pattern: str) -> list[tuple[str, Archive, int]]:
    found = []
    for path in files(folder / "game", pattern):
        name = path.relative_to(folder / "game").as_posix()
        if is_nres(data := path.read_bytes()):
            archive = read_nres(data, name)
            found += [(name, archive, i) for i, entry in enumerate(archive.entries) if entry.payload]
    return found


@kind
def bytes_of_a_material(folder: Path, target: Chance, chance: Chance) -> None:
    """A colour of a phase, as an editor of materials changes it."""
    rows = [row for row in _entries(folder, "Material.lib") if row[1].entries[row[2]].type_id == MATERIAL_TYPE]
    file, archive, index = one_of(target, rows)
    data = bytearray(archive.entries[index].payload)
    if len(data) < 40:
        raise NotHere
    data[int(chance.integers(24, 40))] ^= int(chance.integers(1, 64))
    put_entry(folder, file, index, bytes(data))


@kind
def bytes_of_any_entry(folder: Path, target: Chance, chance: Chance) -> None:
    """Of a format that nobody knows."""
    rows = [row for row in _entries(folder, "*.rlb") if row[1].entries[row[2]].start(4) != b"NRes"]
    rows = [row for row in rows if "object" not in row[0].lower()]
    file, archive, index = one_of(target, rows)
    entry = archive.entries[index]
    if entry.name.lower().endswith((".wea", ".cpt")):
        raise NotHere
    data = bytearray(entry.payload)
    data[int(chance.integers(len(data)))] ^= 1
    put_entry(folder, file, index, bytes(data))


def edited(folder: Path, kinds: Sequence[str], target: Chance, chance: Chance) -> list[str]:
    """Carry out edits of these kinds; what has no place, or is refused, is left out.

    Args:
        folder: the author's.
        kinds: of ``KINDS``.
        target: which files.
        chance: what is done to them.

    Returns:
        The kinds that were carried out. The game of the folder may still be as it was.
    """
    done = []
    for name in kinds:
        try:
            KINDS[name](folder, target, chance)
        except (NotHere, StopIteration, KeyError, IndexError, ValueError):
            continue
        done.append(name)
    put_back(folder, "--add") or put_back(folder)
    return done
