"""What editors, users and other programs do in sessions, between two commands: a verb each."""

import base64
import json
import random
import re
import shutil
import struct
import tempfile
import wave
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import msh_gltf
from msh_gltf.converter.formats.model_parts import POINTS_TYPE
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry, new_archive, replace_entry
from msh_gltf.converter.formats.rsli import METHODS
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.games import Games, Origin, replace_model
from msh_gltf.converter.game.new_models import add_model, find_destination, plan_libraries
from msh_gltf.converter.kinds.import_result import Companion
from tests.converter.game.commands import move
from tests.converter.game.contents import digest_of
from tests.docs.materials import EXAMPLES, example_game
from tests.support import assembly as make
from tests.support import inside_game
from tests.support.assembled_game import GameParts
from tests.support.game import WEAR, archive, entry, make_game, unpack_archives
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.points import cpt
from tests.support.recorded import shown
from tests.support.rsli import library
from tests.support.runs import run
from tests.support.unpackers import LAYOUTS, members, unpack_game
from tests.support.vault import as_another_output

#: Files that are no business of anybody.
CLUTTER = ("a.txt", "a.txt.bak", "b.OBJ", "a/c.gltf", "d.rlb", "textures/walls.jpg", "turrets.rlb/f.gltf")
#: FourCC TEST: entries that are nobody's format.
TEST = int.from_bytes(b"TEST", "little")
KINDS = {".wea": WEAR, ".cpt": POINTS_TYPE}
Json = dict[str, Any]


# ------------------------------------------------------------------ games


def give(path: Path, number: int, name: str, layout: str = "") -> None:
    """A model, or a game: of the examples, of bundled models, assembled, of odd entries; unpacked by a tool."""
    match name:
        case "tree" | "robot":
            shutil.copy(EXAMPLES / ("tree.msh" if name == "tree" else "edits/my_robot.glb"), path)
        case "exported":
            shutil.copytree(exported(), path, dirs_exist_ok=True)
        case "example":
            shutil.copytree(example_game(), path)
        case "bundled":
            make_game(path)
        case "assembled":
            GameParts().write(path)
        case "inside":
            inside_game.make(path)
        case "small":
            small_game(path)
        case "library":
            libraries(path)
    if layout:
        unpack_game(path, layout) if layout in LAYOUTS else unpack_archives(path)


@cache
def exported() -> Path:
    """The example game and its glTF, made once."""
    folder = Path(tempfile.mkdtemp(prefix="msh-exported"))
    shutil.copytree(example_game(), folder / "game")
    assert run("msh2gltf", "game", "-o", "out", "-j", "1", "-q", cwd=folder).returncode == 0
    return folder


def small_game(path: Path) -> None:
    """An archive of which two entries share a name, with forgotten bytes, and a file that is none."""
    (path / "DATA").mkdir(parents=True)
    names = (b"one", b"two", b"two", b"four")
    (path / "a.rlb").write_bytes(archive([entry(TEST, name, name * 9) for name in names], forgotten=b"\1forgotten\xff"))
    (path / "DATA/plain.bin").write_bytes(b"a file that is no archive")


def libraries(path: Path) -> None:
    """Libraries with entries of every method, and of one that nobody knows."""
    chance = random.Random(12)
    contents = [b"a", b"ab" * 900, chance.randbytes(3000), chance.randbytes(40) * 300]
    entries = [(f"E{method:03X}_{n}", content, method) for method in METHODS for n, content in enumerate(contents)]
    path.mkdir()
    for name, overlay in (("sprites", None), ("overlaid", 16)):
        (path / f"{name}.lib").write_bytes(library([*entries, ("UNKNOWN", b"not read here", 0x1E0)], overlay))


# ------------------------------------------------------------------ glTF


def edited(path: Path, edit: Callable[[Editable], object]) -> None:
    document = Editable(path)
    edit(document)
    document.save(path)


def colour(path: Path, number: int, material: str = "") -> None:
    def change(document: Editable) -> None:
        some = [one for one in document.json.get("materials", ()) if material in ("", one["name"])]
        some[0]["pbrMetallicRoughness"]["baseColorFactor"] = [number / 10, 0.5, 0.5, 1.0]

    edited(path, change)


def rename(path: Path, number: int, old: str = "", new: str = "") -> None:
    """Call a material something else; without names the first one, which has another colour then, too."""
    if not old:
        colour(path, number)

    def change(document: Editable) -> None:
        for material in document.json["materials"] if old else document.json["materials"][:1]:
            if old in ("", material["name"]):
                material["name"] = new or f"NEW_{number}"

    edited(path, change)


def set_(path: Path, number: int, material: str, values: str) -> None:
    """Give a material values, as JSON; ``null`` takes one away."""

    def merge(there: Json, new: Json) -> None:
        for name, value in new.items():
            if isinstance(value, dict):
                merge(there.setdefault(name, {}), value)
            elif value is None:
                there.pop(name, None)
            else:
                there[name] = value

    def change(document: Editable) -> None:
        for one in document.json["materials"]:
            if one["name"] == material:
                merge(one, json.loads(values))

    edited(path, change)


def plain(path: Path, number: int, material: str) -> None:
    """Make a model and a material of it as Blender makes new ones."""

    def change(document: Editable) -> None:
        for node in (*document.json["nodes"], document.json["scenes"][0]):
            node.pop("extras", None)
        found = next(one for one in document.json["materials"] if one["name"] == material)
        found.clear()
        look = {"baseColorFactor": [0.8, 0.8, 0.8, 1], "metallicFactor": 0, "roughnessFactor": 0.5}
        found |= {"name": "Material", "doubleSided": True, "pbrMetallicRoughness": look}

    edited(path, change)


def embedded(picture: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(picture.read_bytes()).decode()


def assign(path: Path, number: int, material: str, name: str, picture: str, also: str = "") -> None:
    """Give a material a picture of its own, as Blender writes it; ``also``: as another of its textures, too."""

    def change(document: Editable) -> None:
        parts = document.json
        parts["images"].append({"name": name, "uri": embedded(Path(picture))})
        parts["textures"].append({"source": len(parts["images"]) - 1})
        for one in parts["materials"]:
            if one["name"] == material:
                one["pbrMetallicRoughness"]["baseColorTexture"] = {"index": len(parts["textures"]) - 1}
                one |= {also: {"index": len(parts["textures"]) - 1}} if also else {}

    edited(path, change)


def inside(path: Path, number: int, name: str, picture: str) -> None:
    """Let a picture of the run be another one, inside the file, as Blender leaves it."""

    def change(document: Editable) -> None:
        image = next(one for one in document.json["images"] if one["name"] in (name, name.rpartition(".")[0]))
        image |= {"uri": embedded(Path(picture)), "name": name.rpartition(".")[0]}

    edited(path, change)


def raise_(path: Path, number: int, name: str, eighths: str = "") -> None:
    """Lift a vertex of a node's mesh."""

    def change(document: Editable) -> None:
        node = next(one for one in document.json["nodes"] if one.get("name") == name and "mesh" in one)
        for primitive in document.json["meshes"][node["mesh"]]["primitives"]:
            document.arrays[primitive["attributes"]["POSITION"]][0, 1] += np.float32(float(eighths or number) / 8)

    edited(path, change)


def put(path: Path, number: int, name: str, *place: str) -> None:
    """Move a node of a name to a place; a new one stands below the first node, in a mission in the scene."""

    def change(document: Editable) -> None:
        nodes = document.json["nodes"]
        if not any(one.get("name") == name for one in nodes):
            below = document.json["scenes"][0]["nodes"] if path.stem == "data" else nodes[0].setdefault("children", [])
            below.append(len(nodes))
            nodes.append({"name": name})
        document.node(name)["translation"] = [*map(float, place)]

    edited(path, change)


def reformat(path: Path, number: int) -> None:
    Editable(path).save(path.with_suffix(".gltf"))
    path.unlink()


def bare(path: Path, number: int) -> None:
    """Leave what Blender leaves by default."""
    edited(path, drop_extras)


# ------------------------------------------------------------------ files


def paint(path: Path, number: int) -> None:
    picture = Image.open(path).convert("RGBA")
    picture.putpixel((0, 0), (number, 0, 0, 255))
    picture.save(path)


def opaque(path: Path, number: int, factor: str) -> None:
    """Save a picture without alpha, and larger."""
    picture = Image.open(path).convert("RGB")
    picture.resize([side * int(factor) for side in picture.size], Image.Resampling.NEAREST).save(path)


def brick(path: Path, number: int, seed: str, width: str = "32", height: str = "16") -> None:
    """A picture of many colours; of other sides it has a clear half, too."""
    pixels = np.random.default_rng(int(seed)).integers(0, 256, (int(height), int(width), 4), np.uint8)
    pixels[..., 3] = 255
    pixels[: int(height) // 2, :, 3] *= height == "16"
    Image.fromarray(pixels).save(path)


def draw(path: Path, number: int) -> None:
    Image.new("RGBA", (8, 8), (number, 0, 0, 255)).save(path)


def copy(path: Path, number: int, to: str = "") -> None:
    new = Path(to) if to else path.with_name(f"added_{number}.glb")
    new.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(path, new, dirs_exist_ok=True) if path.is_dir() else shutil.copy(path, new)


def delete(path: Path, number: int) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def carry(path: Path, number: int, to: str) -> None:
    """Move a file or a folder."""
    path.rename(to)


def save(path: Path, number: int, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def points(path: Path, number: int) -> None:
    """Control points, one of them on a node that no model has, one with leftovers of a longer name."""
    some = [("Width_1", 1, (1.5, -2.25, 3.1), (0.1, 0.2, 1.0)), ("Nowhere", 99, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))]
    made = cpt([*some, ("Dir_2", 2, (0.3, 0.7, 0.0), (0.0, 2.9, 0.0))])
    path.write_bytes(made.replace(b"Width_1\0\0\0", b"Width_1\0x."))


def sound(path: Path, number: int, rate: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, int(rate), 0, "NONE", ""))
        file.writeframes(struct.pack("<h", int(rate) % 1000) * (int(rate) // 10))


def replace(path: Path, number: int, old: str, new: str) -> None:
    path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))


def link(path: Path, number: int, to: str) -> None:
    path.symlink_to(to)


def compare(path: Path, number: int, other: str) -> str:
    """Look whether two files show the same, or two folders of what was unpacked hold the same."""
    if path.is_dir():
        files = ({file.name: file.read_bytes() for file in one.glob("[!a]*")} for one in (path, Path(other)))
        return "the same" if next(files) == next(files) else "not the same"
    if path.suffix == ".glb":
        return "the same" if Editable(path).json["nodes"] == Editable(Path(other)).json["nodes"] else "not the same"
    return "the same" if shown(path) == shown(Path(other)) else "not the same"


def clutter(path: Path, number: int) -> None:
    for place in CLUTTER:
        if (path / place).parent.name != "turrets.rlb" or (path / place).parent.is_dir():
            (path / place).parent.mkdir(exist_ok=True)
            (path / place).write_bytes(b"NRes")


def another(path: Path, number: int) -> None:
    """Somebody else's output directory, of which the game knows nothing."""
    as_another_output(path)


# ------------------------------------------------------------------ archives


def patch(path: Path, number: int, index: str = "", text: str = "") -> None:
    """Another program gives an entry another's bytes, or some of its own."""
    there = read_nres(path.read_bytes(), "")
    at = int(index) if index else number % len(there.entries)
    path.write_bytes(write_nres(replace_entry(there, at, text.encode() or bytes(there.entries[-1].payload))))


def add(path: Path, number: int, name: str, text: str, kind: str = "TEST") -> None:
    """Another program adds an entry."""
    type_id = int.from_bytes(kind.encode(), "little")
    there = read_nres(path.read_bytes(), "")
    new = entry(type_id, name.encode("cp1251"), text.encode())
    path.write_bytes(write_nres(new_archive([*there.entries, new], path.name)))


def enter(path: Path, number: int, file: str, kind: str) -> None:
    """Another program puts a file into an archive."""
    there, type_id = read_nres(path.read_bytes(), ""), int.from_bytes(kind.encode(), "little")
    new = entry(type_id, Path(file).name.encode("cp1251"), Path(file).read_bytes())
    path.write_bytes(write_nres(new_archive([*there.entries, new], path.name)))


def key(path: Path, number: int, name: str, tag: str, *rows: str) -> None:
    """Another program gives a name to models; a row is ``archive:entry``."""
    there, type_id = read_nres(path.read_bytes(), ""), int.from_bytes(tag.encode(), "little")
    payload = b"".join(make.row(*one.split(":")) for one in rows)
    path.write_bytes(write_nres(add_entry(there, name.encode(), type_id, payload, (len(rows), 0, 0))))


def lay(path: Path, number: int, *order: str) -> None:
    """Another program makes an archive of some of its entries, in some order."""
    entries = read_nres(path.read_bytes(), "").entries
    path.write_bytes(write_nres(new_archive([entries[int(at)] for at in order], path.name)))


def unpack(path: Path, number: int, layout: str = "") -> None:
    folder = path.with_suffix(".d")
    if layout:
        folder.mkdir()
        LAYOUTS[layout](folder, members(path.read_bytes()))
    else:
        run("msh2gltf", path, "--unpack", folder, "-q")
    path.unlink()
    folder.rename(path)


def change(path: Path, number: int, owner: str, *entries: str) -> str:
    """An output directory shows these edits of an archive and no others: ``0=text``, new ones ``+name=text``."""
    with GameEdits(path.parent, f"edit {owner}", owner) as door:
        there = read_nres(door.was(path.name, lambda layer: layer.owner == owner) or b"", path.name)
        for one in entries:
            place, _, text = one.partition("=")
            if place.startswith("+"):
                there = add_entry(there, place[1:].encode(), TEST, text.encode())
            else:
                there = replace_entry(there, int(place), text.encode())
        door.put(path.name, write_nres(there), lambda layer: layer.owner == owner, item=f"{path.name}.glb")
        door.commit()
        return "; ".join(door.messages)


def write(path: Path, number: int, owner: str, text: str = "") -> None:
    """An output directory makes a file of the game; without a text, none any more."""
    root = next(one for one in path.parents if one.name == "game")
    with GameEdits(root, f"edit {owner}", owner) as door:
        file = path.relative_to(root).as_posix()
        door.put(file, text.encode() or None, lambda layer: layer.owner == owner)
        door.commit()


def put_back(path: Path, number: int, entry: str, owner: str, text: str, known: str, *beside: str) -> str:
    """*Put Back* of a scene of Blender.

    Args:
        entry: the name in an archive; ``-``: the path is a file of its own.
        owner: which scene.
        text: the model as it is to be.
        known: what the scene has read or written before, with commas between.
        beside: companions, ``.wea=new:stored``.
    """
    origin = Origin(path, None if entry == "-" else 0, b"" if entry == "-" else entry.encode())
    companions = []
    for one in beside:
        suffix, new, stored = re.split("[=:]", one)
        companions.append(Companion(suffix, KINDS[suffix], new.encode(), stored.encode()))
    with Games("put back", owner, takes_back=True) as games:
        replace_model(games, origin, text.encode(), {digest_of(one.encode()) for one in known.split(",")}, companions)
        games.take_back_rest(path)
        return f"wrote {', '.join(one.name for one in games.commit()) or 'nothing'}"


def write_libraries(path: Path, number: int, game: str) -> str:
    """What one model changes in the game's libraries, by the library in Python."""
    result = msh_gltf.import_gltf(path)
    wrote = [one.name for one in msh_gltf.write_libraries(result, Path(game))]
    said = [*(f"{one.what}: {one.why}" for one in result.not_applied), *map(str, result.warnings)]
    return f"wrote {'; '.join([', '.join(wrote) or 'nothing', *said])}"


def put_new(path: Path, number: int, owner: str, archive: str, tag: str = "") -> str:
    """A scene of Blender puts a new model, and what it looks like, into a game."""
    result = msh_gltf.import_gltf(path, options=msh_gltf.ImportOptions("retail", new=True))
    to = find_destination(Path(archive).resolve(), f"{path.stem}.msh".encode(), tag or None)
    with Games("put", owner, takes_back=True) as games:
        plan = plan_libraries(games, to.folders, result)
        add_model(plan, to, result, hint="choose another name")
        plan.put()
        wrote = [one.name for one in games.commit()]
    said = [f"{one.what}: {one.why}" for one in plan.not_applied]
    return f"wrote {'; '.join([', '.join(wrote) or 'nothing', *said])}"


GLTF = (colour, rename, plain, assign, inside, put, reformat, bare)
FILES = (give, copy, delete, carry, save, replace, link, compare, clutter, another)
MADE = (paint, opaque, brick, draw, points, sound)
ARCHIVES = (write_libraries, put_new, patch, add, enter, key, lay, unpack, change, write, put_back)
VERBS: dict[str, Callable[..., str | None]] = {one.__name__: one for one in (*GLTF, *FILES, *MADE, *ARCHIVES)}
VERBS |= {"move": lambda path, number, _="": move(path, float(number)), "raise": raise_, "set": set_}
