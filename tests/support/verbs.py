"""What editors, users and other programs do in sessions, between two commands: a verb each.

A verb takes a path, and words. What it returns is what is said; of one that says nothing no more is on record than
what comes of it in the commands after it.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import struct
import wave
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import msh_gltf
from msh_gltf.converter.formats.model_parts import POINTS_TYPE
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry, new_archive, replace_entry
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.games import Games, Origin, replace_model
from msh_gltf.converter.game.new_models import add_model, find_destination, plan_libraries
from msh_gltf.converter.kinds.import_result import Companion
from tests.docs.materials import EXAMPLES
from tests.support import assembly as make
from tests.support import inside_game
from tests.support.assembled_game import GameParts
from tests.support.controller import walker
from tests.support.corpus import DATA
from tests.support.corruption.base import Nres
from tests.support.game import TEST, WEAR, entry, example, exported, libraries, make_game, small_game, two_outputs
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.points import cpt
from tests.support.recorded import shown
from tests.support.runs import run
from tests.support.unpackers import LAYOUTS, members, unpack_game

KINDS = {".wea": WEAR, ".cpt": POINTS_TYPE}
Json = dict[str, Any]


# ------------------------------------------------------------------ games


def give(path: Path, name: str, *more: str) -> None:
    """A game, or a file of the examples or of the tests' data.

    ``more``: the layout in which a tool unpacked the game, or statements about the ``parts`` of an assembled one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    match name:
        case "exported" | "two-outputs":
            shutil.copytree(exported() if name == "exported" else two_outputs(), path, dirs_exist_ok=True)
        case "assembled":
            names = {"parts": GameParts()}
            for edit in more:
                exec(edit, names)
            names["parts"].write(path)
        case _ if name in GAMES:
            GAMES[name](path)
        case _:
            shutil.copyfile(next(folder / name for folder in (EXAMPLES, DATA) if (folder / name).exists()), path)
    if more and name != "assembled":
        unpack_game(path, more[0])


GAMES: dict[str, Callable[[Path], object]] = {
    "example": example,
    "bundled": make_game,
    "inside": inside_game.make,
    "small": small_game,
    "library": libraries,
}


# ------------------------------------------------------------------ glTF


def edited(path: Path, edit: Callable[[Editable], object]) -> None:
    document = Editable(path)
    edit(document)
    document.save(path)


def move(path: Path, x: float | str = 9) -> None:
    """Move the first node, as an artist does."""
    edited(path, lambda document: document.json["nodes"][0].update(translation=[float(x), 0.5, 0.25]))


def place(path: Path, name: str, *to: str) -> None:
    """Move a node of a name; a new one stands below the first node, in a mission in the scene."""

    def change(document: Editable) -> None:
        nodes = document.json["nodes"]
        if not any(one.get("name") == name for one in nodes):
            below = document.json["scenes"][0]["nodes"] if path.stem == "data" else nodes[0].setdefault("children", [])
            below.append(len(nodes))
            nodes.append({"name": name})
        document.node(name)["translation"] = [*map(float, to)]

    edited(path, change)


def stray(path: Path) -> None:
    """Give a glTF a part of a node that its model does not have."""

    def change(document: Editable) -> None:
        extras = {"msh": {"node": 999, "lod": 1, "group": 0}}
        document.json["nodes"].append({"name": "stray", "mesh": 0, "extras": extras})
        document.json["scenes"][0]["nodes"].append(len(document.json["nodes"]) - 1)

    edited(path, change)


def raise_(path: Path, name: str, eighths: str) -> None:
    """Lift a vertex of a node's mesh."""

    def change(document: Editable) -> None:
        node = next(one for one in document.json["nodes"] if one.get("name") == name and "mesh" in one)
        for primitive in document.json["meshes"][node["mesh"]]["primitives"]:
            document.arrays[primitive["attributes"]["POSITION"]][0, 1] += np.float32(float(eighths) / 8)

    edited(path, change)


def colour(path: Path, red: str, material: str = "") -> None:
    """Give a material another colour; without a name the first one."""

    def change(document: Editable) -> None:
        some = [one for one in document.json.get("materials", ()) if material in ("", one["name"])]
        some[0]["pbrMetallicRoughness"]["baseColorFactor"] = [float(red) / 10, 0.5, 0.5, 1.0]

    edited(path, change)


def rename(path: Path, old: str, new: str) -> None:
    """Call a material something else; without a name the first one."""

    def change(document: Editable) -> None:
        for material in document.json["materials"] if old else document.json["materials"][:1]:
            if old in ("", material["name"]):
                material["name"] = new

    edited(path, change)


def set_(path: Path, material: str, values: str) -> None:
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


def plain(path: Path, material: str) -> None:
    """Make a model and a material of it as Blender makes new ones."""

    def change(document: Editable) -> None:
        for node in (*document.json["nodes"], document.json["scenes"][0]):
            node.pop("extras", None)
        found = next(one for one in document.json["materials"] if one["name"] == material)
        found.clear()
        look = {"baseColorFactor": [0.8, 0.8, 0.8, 1], "metallicFactor": 0, "roughnessFactor": 0.5}
        found |= {"name": "Material", "doubleSided": True, "pbrMetallicRoughness": look}

    edited(path, change)


def embedded(picture: str) -> str:
    return "data:image/png;base64," + base64.b64encode(Path(picture).read_bytes()).decode()


def assign(path: Path, material: str, name: str, picture: str, also: str = "") -> None:
    """Give a material a picture of its own, as Blender writes it; ``also``: as another of its textures, too."""

    def change(document: Editable) -> None:
        parts = document.json
        parts["images"].append({"name": name, "uri": embedded(picture)})
        parts["textures"].append({"source": len(parts["images"]) - 1})
        for one in parts["materials"]:
            if one["name"] == material:
                one["pbrMetallicRoughness"]["baseColorTexture"] = {"index": len(parts["textures"]) - 1}
                one |= {also: {"index": len(parts["textures"]) - 1}} if also else {}

    edited(path, change)


def inside(path: Path, name: str, picture: str) -> None:
    """Let a picture of the run be another one, inside the file, as Blender leaves it."""

    def change(document: Editable) -> None:
        image = next(one for one in document.json["images"] if one["name"] in (name, name.rpartition(".")[0]))
        image |= {"uri": embedded(picture), "name": name.rpartition(".")[0]}

    edited(path, change)


def reformat(path: Path) -> None:
    Editable(path).save(path.with_suffix(".gltf"))
    path.unlink()


def bare(path: Path) -> None:
    """Leave what Blender leaves by default."""
    edited(path, drop_extras)


# ------------------------------------------------------------------ pictures, sounds, points


def paint(path: Path, size: str, mode: str, seed: str) -> None:
    """Make a picture of any pixels."""
    width, height = map(int, size.split("x"))
    pixels = np.random.default_rng(int(seed)).integers(0, 256, (height, width, len(mode)), np.uint8)
    Image.fromarray(pixels).save(path)


def dot(path: Path, red: str) -> None:
    """Paint one pixel."""
    picture = Image.open(path).convert("RGBA")
    picture.putpixel((0, 0), (int(red), 0, 0, 255))
    picture.save(path)


def opaque(path: Path, factor: str) -> None:
    """Save a picture without alpha, and larger."""
    picture = Image.open(path).convert("RGB")
    picture.resize([side * int(factor) for side in picture.size], Image.Resampling.NEAREST).save(path)


def points(path: Path) -> None:
    """Control points, one of them on a node that no model has, one with leftovers of a longer name."""
    some = [("Width_1", 1, (1.5, -2.25, 3.1), (0.1, 0.2, 1.0)), ("Nowhere", 99, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))]
    made = cpt([*some, ("Dir_2", 2, (0.3, 0.7, 0.0), (0.0, 2.9, 0.0))])
    path.write_bytes(made.replace(b"Width_1\0\0\0", b"Width_1\0x."))


def sound(path: Path, rate: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, int(rate), 0, "NONE", ""))
        file.writeframes(struct.pack("<h", int(rate) % 1000) * (int(rate) // 10))


def play(path: Path, frames: str, node: str = "3") -> None:
    """Make a controller that plays so many frames."""
    path.write_bytes(walker(int(frames), node=int(node)))


# ------------------------------------------------------------------ files


def cp(path: Path, to: str) -> None:
    new = Path(to)
    new.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(path, new, dirs_exist_ok=True) if path.is_dir() else shutil.copyfile(path, new)


def rm(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def save(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def append(path: Path, text: str, times: str = "1") -> None:
    with path.open("ab") as file:
        file.write(text.encode() * int(times))


def cut(path: Path, size: str) -> None:
    """Leave so many bytes of a file; of fewer than none: without the last ones."""
    path.write_bytes(path.read_bytes()[: int(size)])


def flip(path: Path, at: str) -> None:
    """Change a bit of a byte; of fewer than none: counted from the end."""
    data = bytearray(path.read_bytes())
    data[int(at)] ^= 1
    path.write_bytes(data)


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text in a file wherever it is."""
    data = path.read_bytes()
    assert old.encode() in data
    path.write_bytes(data.replace(old.encode(), new.encode()))


def compare(path: Path, other: str) -> str:
    """Look whether two files show the same, or two folders of what was unpacked hold the same."""
    if path.is_dir():
        files = ({file.name: file.read_bytes() for file in one.glob("[!a]*")} for one in (path, Path(other)))
        return "the same" if next(files) == next(files) else "not the same"
    if path.suffix == ".glb":
        return "the same" if Editable(path).json["nodes"] == Editable(Path(other)).json["nodes"] else "not the same"
    return "the same" if shown(path) == shown(Path(other)) else "not the same"


def another(path: Path) -> None:
    """Somebody else's output directory, of which the game knows nothing."""
    facts = json.loads((path / "manifest.json").read_text("utf-8"))
    facts["id"] = f"{int(facts['id'], 16) ^ 1:016x}"
    (path / "manifest.json").write_text(json.dumps(facts), "utf-8")


# ------------------------------------------------------------------ archives


def number_of(kind: str) -> int:
    """A type by its four letters, or as a number."""
    return int(kind) if kind.isdigit() else int.from_bytes(kind.encode(), "little")


def enter(path: Path, kind: str, *files: str) -> None:
    """Another program puts files into an archive, which may be new; ``NAME=FILE`` gives an entry another name."""
    given = {Path(one.partition("=")[0]).name: Path(one.rpartition("=")[2]).read_bytes() for one in files}
    there = read_nres(path.read_bytes(), "").entries if path.exists() else []
    new = [entry(number_of(kind), name.encode("cp1251"), data) for name, data in given.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(write_nres(new_archive([*there, *new], path.name)))


def patch(path: Path, index: str, text: str = "") -> None:
    """Another program gives an entry some bytes, or those of the last one."""
    there = read_nres(path.read_bytes(), "")
    at = int(index) % len(there.entries)
    path.write_bytes(write_nres(replace_entry(there, at, text.encode() or bytes(there.entries[-1].payload))))


def key(path: Path, name: str, tag: str, *rows: str) -> None:
    """Another program gives a name to models; a row is ``archive:entry``."""
    payload = b"".join(make.row(*one.split(":")) for one in rows)
    there = read_nres(path.read_bytes(), "")
    path.write_bytes(write_nres(add_entry(there, name.encode(), number_of(tag), payload, (len(rows), 0, 0))))


def lay(path: Path, *order: str) -> None:
    """Another program makes an archive of some of its entries, in some order."""
    entries = read_nres(path.read_bytes(), "").entries
    path.write_bytes(write_nres(new_archive([entries[int(at)] for at in order], path.name)))


def unpack(path: Path, layout: str = "") -> None:
    folder = path.with_suffix(".d")
    if layout:
        folder.mkdir()
        LAYOUTS[layout](folder, members(path.read_bytes()))
    else:
        run("msh2gltf", path, "--unpack", folder, "-q")
    path.unlink()
    folder.rename(path)


def break_table(path: Path, table: str, row: str, at: str, kind: str, value: str) -> None:
    """Put another number into a table of a model."""
    box = Nres.read(path.read_bytes())
    box.table(int(table)).set(int(row), int(at), kind, float(value) if kind == "f" else int(value))
    path.write_bytes(box.write())


def break_entry(path: Path, kind: str, what: str, value: str) -> None:
    """Give a table of a model another attribute, leave so many bytes of it (``size``), or take out a ``row``."""
    box = Nres.read(path.read_bytes())
    entry, number = box.entry(int(kind)), int(value)
    if what == "size":
        del entry.data[number:]
    elif what == "row":
        size = box.table(int(kind)).stride
        del entry.data[size * number : size * (number + 1)]
    else:
        setattr(entry, what, number)
    path.write_bytes(box.write())


# ------------------------------------------------------------------ the library in Python, as Blender calls it


def change(path: Path, owner: str, *entries: str) -> str:
    """An output directory shows these edits of an archive and no others: ``0=text``, new ones ``+name=text``."""
    with GameEdits(path.parent, f"edit {owner}", owner) as door:
        there = read_nres(door.was(path.name, lambda layer: layer.owner == owner) or b"", path.name)
        for one in entries:
            where, _, text = one.partition("=")
            if where.startswith("+"):
                there = add_entry(there, where[1:].encode(), TEST, text.encode())
            else:
                there = replace_entry(there, int(where), text.encode())
        door.put(path.name, write_nres(there), lambda layer: layer.owner == owner, item=f"{path.name}.glb")
        door.commit()
        return "; ".join(door.messages)


def put_file(path: Path, owner: str, text: str = "") -> str:
    """An output directory makes a file of the game; without a text, none any more."""
    root = next(one for one in path.parents if one.name == "game")
    with GameEdits(root, f"edit {owner}", owner) as door:
        door.put(path.relative_to(root).as_posix(), text.encode() or None, lambda layer: layer.owner == owner)
        door.commit()
        return "; ".join(door.messages)


def put_back(path: Path, entry: str, owner: str, text: str, known: str, *beside: str) -> str:
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
    digests = {hashlib.sha256(one.encode()).hexdigest() for one in known.split(",")}
    with Games("put back", owner, takes_back=True) as games:
        replace_model(games, origin, text.encode(), digests, companions)
        games.take_back_rest(path)
        return f"wrote {', '.join(one.name for one in games.commit()) or 'nothing'}"


def write_libraries(path: Path, game: str) -> str:
    """What one model changes in the game's libraries."""
    result = msh_gltf.import_gltf(path)
    wrote = [one.name for one in msh_gltf.write_libraries(result, Path(game))]
    said = [*(f"{one.what}: {one.why}" for one in result.not_applied), *map(str, result.warnings)]
    return f"wrote {'; '.join([', '.join(wrote) or 'nothing', *said])}"


def put_new(path: Path, owner: str, archive: str, tag: str = "") -> str:
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


GLTF = (move, place, stray, raise_, colour, rename, set_, plain, assign, inside, reformat, bare)
MADE = (paint, dot, opaque, points, sound, play)
FILES = (give, cp, rm, save, append, cut, flip, replace, compare, another)
ARCHIVES = (enter, patch, key, lay, unpack, break_table, break_entry)
PYTHON = (change, put_file, put_back, write_libraries, put_new)
VERBS: dict[str, Callable[..., str | None]] = {
    one.__name__.strip("_").replace("_", "-"): one for one in (*GLTF, *MADE, *FILES, *ARCHIVES, *PYTHON)
} | {
    "mv": lambda path, to: os.rename(path, to),
    "show": lambda path: path.read_text("utf-8"),
    "zip": lambda path: zipfile.ZipFile(path, "w").close(),
    "mkdir": lambda path: path.mkdir(parents=True),
    "link": lambda path, to: path.symlink_to(to),
    "hard": lambda path, to: os.link(path, to),
    "pipe": lambda path: os.mkfifo(path),
}
