"""Materials edited in models, a mission and a unit: they belong to the game's libraries, and go there.

Some show one rectangle of their texture's ``Page``, as a texture transform.
"""

import base64
import io
import itertools
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from msh_gltf import import_gltf, read_msh, to_trimesh
from msh_gltf.converter import cli
from msh_gltf.converter.edits.materials import NewMaterial
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.material import first_phase
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.formats.texture import PAGE_DTYPE, read_texm, write_texm
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.kinds.new_entries import NewEntries
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.exporters.gltf_file import png_bytes
from tests.docs.materials import game
from tests.support.corpus import DATA, LIBS
from tests.support.gltf_edit import Editable
from tests.support.recorded import digest, outcome
from tests.support.runs import call

TURRET, MISSION, WALKER = "turrets.rlb/e_tur_01.glb", "MISSIONS/Single.01/data.glb", "UNITS/ROBOTS/walker.glb"
TRANSFORM = "KHR_texture_transform"
#: Left, width, top, height as parts of the texture: a Page stores them in this order.
CELLS = [(0, 0.5, 0, 0.5), (0.5, 0.25, 0.25, 0.75)]


def edited_entry(path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    archive = read_nres(read_file(path), path.name)
    index = archive.find(name)
    assert index is not None
    path.write_bytes(write_nres(replace_entry(archive, index, change(bytes(archive.entries[index].payload)))))


def with_pages(data: bytes) -> bytes:
    texm = read_texm(data, "joint.0")
    sides = (texm.width, texm.width, texm.height, texm.height)
    rects = np.array([tuple(int(a * b) for a, b in zip(c, sides, strict=True)) for c in CELLS], PAGE_DTYPE)
    return write_texm(replace(texm, rects=rects))


@cache
def made() -> Path:
    """The example game, whose material ``joint`` shows the second rectangle of its texture; and all of it as glTF."""
    folder = Path(HERE.name)
    game(folder / "GAME")
    edited_entry(folder / "GAME/Textures.lib", "joint.0", with_pages)
    edited_entry(folder / "GAME/Material.lib", "joint", lambda data: data[:31] + b"\1" + data[32:])
    shutil.copy(DATA / "retail__odd__s_rock_009.msh", folder / "GAME/rock.msh")
    assert call(cli.msh2gltf, folder / "GAME", "-o", folder / "out", "-q", "-j", "1") == 0
    return folder


HERE = TemporaryDirectory()


# ------------------------------------------------------------------ edits


def called(file: Editable, *names: str) -> list[dict[str, Any]]:
    """The materials that are called so, or so with a number."""
    return [one for one in file.json["materials"] if one["name"].startswith(names)]


def infos(material: dict[str, Any]) -> list[dict[str, Any]]:
    """The textures of a material that show its picture."""
    found = [material["pbrMetallicRoughness"].get("baseColorTexture"), material.get("emissiveTexture")]
    return [info for info in found if info]


def transformed(file: Editable, **values: Any) -> None:
    """Give ``joint`` another transform, all of whose textures have it."""
    for info in itertools.chain(*map(infos, called(file, "joint"))):
        info["extensions"][TRANSFORM].update(values)


def untransformed(file: Editable) -> None:
    for info in itertools.chain(*map(infos, called(file, "joint"))):
        del info["extensions"]


def another_picture(file: Editable) -> None:
    """A new texture has no Page: what the transform showed of it is in the coordinates."""
    pixels = np.random.default_rng(1).integers(0, 256, (8, 8, 4), np.uint8)
    uri = "data:image/png;base64," + base64.b64encode(png_bytes(pixels)).decode()
    file.json["images"].append({"name": "tiles.0", "uri": uri})
    file.json["textures"].append({"source": len(file.json["images"]) - 1})
    for material in called(file, "joint"):
        infos(material)[0]["index"] = len(file.json["textures"]) - 1


def coloured(file: Editable, name: str, *colour: float) -> None:
    for material in called(file, name):
        material["pbrMetallicRoughness"]["baseColorFactor"] = [*colour, 1.0]


def renamed(file: Editable, old: str, new: str, *, pictures: bool = True) -> None:
    for material in called(file, old):
        material["name"] = material["name"].replace(old, new)
        if not pictures:
            material["pbrMetallicRoughness"].pop("baseColorTexture", None)
            material.pop("emissiveTexture", None)


def of_one_place(file: Editable) -> None:
    """The material of one placement is that of all."""
    shown = Counter(node["mesh"] for node in file.json["nodes"] if "mesh" in node)
    mesh = next(i for i, count in shown.items() if count > 1)
    copy = {**file.json["meshes"][mesh]}
    glow = next(i for i, one in enumerate(file.json["materials"]) if one["name"] == "glow")
    copy["primitives"] = [{**copy["primitives"][0], "material": glow}, *copy["primitives"][1:]]
    next(node for node in file.json["nodes"] if node.get("mesh") == mesh)["mesh"] = len(file.json["meshes"])
    file.json["meshes"].append(copy)


def as_jpeg(file: Editable) -> None:
    """What is of the whole file is reported once."""
    for number, image in enumerate(file.json["images"]):
        data = io.BytesIO()
        Image.new("RGB", (8, 8), (number, 9, 9)).save(data, "JPEG")
        image |= {"uri": f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}"}
        image["mimeType"] = "image/jpeg"


Edit = Callable[[Editable], object]
#: Of a model, whose material shows the second rectangle; moved by an eighth of the texture is by half of that.
OF_CELLS: dict[str, Edit] = {
    "as Blender may write it": lambda f: transformed(f, offset=[0.5 + 1e-7, 0.25 - 1e-7], rotation=0.0),
    "another rectangle": lambda f: transformed(f, offset=[0, 0], scale=[0.5, 0.5]),
    "no rectangle": lambda f: transformed(f, offset=[0.625, 0.25]),
    "turned": lambda f: transformed(f, rotation=0.5),
    "no transform": untransformed,
    "another picture": another_picture,
}
#: Of a mission and of a unit.
PLACED: dict[str, Edit] = {
    "nothing": lambda f: None,
    "a colour": lambda f: coloured(f, "armour", 1, 0, 0),
    "two colours": lambda f: (coloured(f, "armour", 1, 0, 0), coloured(f, "joint", 0, 0.5, 1)),
    "a new name": lambda f: renamed(f, "armour", "PLATE"),
    "a new name, no pictures": lambda f: renamed(f, "joint", "RUST", pictures=False),
    "another rectangle": OF_CELLS["another rectangle"],
}


# ------------------------------------------------------------------ names that a library has, or has not


#: Opaque, with a texture or without one, clear and additive; the last ones have several phases.
KNOWN = ("m_wall_001", "Metal_008", "MTL_009", "Metal_002", "MTL_003", "Metal_011", "m_wall_013")
#: What a file shows of a material; the rest is as the library has it.
VALUES: dict[str, dict[str, bytes]] = {
    "nothing": {},
    "white": {"colour": b"\xff\xff\xff"},
    "blue": {"colour": b"\0\0\xff"},
    "glows": {"light": b"\x40\0\0"},
    "half clear": {"alpha": b"\x32", "kind": b"\4"},
    "solid": {"alpha": b"\x64", "kind": b"\0"},
    "adds": {"kind": b"\x08"},
    "another texture": {"texture": b"TEX_000.0"},
    "no texture": {"texture": b""},
}


class Values(NamedTuple):
    """What becomes of a material of a known name, or of a new one that is like it, whatever a file shows of it."""

    name: str
    like: str
    lightmapped: bool

    def found(self, _: Path) -> str:
        return "; ".join(f"{key}: {self.made(key)}" for key in VALUES)

    def made(self, key: str) -> str:
        library = read_nres(read_file(LIBS / "Material.lib"), "lib")
        known = library.entries[library.find(self.like or self.name) or 0]
        own = {field: first_phase(known.payload, field) for field in ("colour", "light", "alpha", "texture")}
        own |= {"texture": own["texture"].rstrip(b"\0"), "kind": b"\4" if known.attr1 in (4, 8) else b"\0"}
        given = VALUES[key] if self.like else own | VALUES[key]
        new = NewMaterial(self.name, "material", key, self.like, values=given, lightmapped=self.lightmapped)
        out = NewEntries(library).material(new)
        entries = [f"{one.name} {one.what} {digest([one.data, one.attributes])} {one.warnings}" for one in out.entries]
        return " ".join([*entries, *map(str, out.not_applied), *[f"is {out.meant}"] * bool(out.meant)]) or "as it is"


# ------------------------------------------------------------------ trimesh


def of_scene(scene: Any, field: str, change: Callable[[Any], Any]) -> None:
    """Change a field of the first material of a trimesh.Scene, wherever it is shown."""
    materials = [mesh.visual.material for mesh in scene.geometry.values()]
    each = {id(one): one for material in materials for one in getattr(material, "materials", [material])}
    for one in each.values():
        if one.name.startswith(next(iter(each.values())).name):
            setattr(one, field, change(getattr(one, field)))


def coloured_scene(scene: Any, steps: int) -> None:
    of_scene(scene, "baseColorFactor", lambda old: np.array([old[0] - steps, *old[1:]], np.uint8))


#: It has 8 bits of a colour, no lightmaps, and no rectangles of light.
SCENES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda scene: None,
    "a colour of the next step": lambda scene: coloured_scene(scene, 1),
    "a colour two steps off": lambda scene: coloured_scene(scene, 2),
    "another colour": lambda scene: coloured_scene(scene, 60),
    "a picture": lambda scene: of_scene(scene, "baseColorTexture", lambda _: Image.new("RGB", (16, 16), (9, 8, 7))),
    "light": lambda scene: of_scene(scene, "emissiveFactor", lambda _: np.array([0.0, 1.0, 0.0])),
}
#: A model of white materials, and one of many colours, with lightmaps.
SHOWN = {
    "turret": lambda: to_trimesh(read_msh(made() / "GAME/turrets.rlb", "e_tur_01.msh")),
    "lit": lambda: to_trimesh(read_msh(DATA / f"{LIT}.msh"), options=ExportOptions(textures=(str(LIBS),))),
}
LIT = "retail__system__R_H_002"


# ------------------------------------------------------------------ rows


class Row(NamedTuple):
    """An edit of a file; it is imported without its sidecar, or nothing is written into libraries."""

    edit: Edit
    file: str
    alone: bool = False
    libraries: bool = True

    def found(self, folder: Path) -> str:
        """What comes of it, and which of the libraries' entries differ then."""
        out = shutil.copytree(made() / "out", folder / "out")
        file = Editable(out / self.file)
        self.edit(file)
        file.save(out / self.file)
        options = ImportOptions("retail", use_sidecar=not self.alone, libraries=self.libraries)
        return outcome(lambda: import_gltf(out / self.file, options=options), folder, other_entries)


def other_entries(back: ImportResult) -> list[str]:
    entries = [f"{one.entry.library}::{one.entry.name}" for one in back.library]
    return [f"{', '.join(sorted(entries)) or 'no entry'} of the libraries"]


class Scene(NamedTuple):
    """An edit of a ``trimesh.Scene``."""

    edit: Callable[[Any], object]
    model: str

    def found(self, folder: Path) -> str:
        scene = SHOWN[self.model]()
        self.edit(scene)
        return outcome(lambda: import_gltf(scene), folder)


CASES = {
    **{f"model: {name}": Row(edit, TURRET) for name, edit in OF_CELLS.items()},
    **{f"model alone: {name}": Row(edit, TURRET, alone=True) for name, edit in OF_CELLS.items()},
    **{f"mission: {name}": Row(edit, MISSION) for name, edit in PLACED.items()},
    **{f"unit: {name}": Row(edit, WALKER) for name, edit in PLACED.items()},
    "mission: the material of one place": Row(of_one_place, MISSION),
    "unit: JPEG": Row(as_jpeg, WALKER),
    "unit: JPEG, a new name": Row(lambda f: (renamed(f, "joint", "RUST"), as_jpeg(f)), WALKER),
    # what it is called in the file comes from the exporter: an entry of that name is one that no row can name
    "no .wea: a colour": Row(lambda f: coloured(f, "material_0", 0.2, 0.3, 0.9), "rock.glb"),
    "no .wea: new names": Row(lambda f: renamed(f, "material_", "rust_"), "rock.glb"),
    **{
        f"{place}: a colour, libraries not written": Row(PLACED["a colour"], file, libraries=False)
        for place, file in (("mission", MISSION), ("unit", WALKER))
    },
    **{f"trimesh, {model}: {name}": Scene(edit, model) for model in SHOWN for name, edit in SCENES.items()},
    **{
        f"{name}{f' like {like}' * bool(like)}{', lightmapped' * lightmapped}": Values(name, like, lightmapped)
        for known in KNOWN
        for lightmapped in (False, True)
        for name, like in ((known, ""), ("brick", known), (known, "DEFAULT"))
    },
    **{f"brick{', lightmapped' * lightmapped}": Values("brick", "", lightmapped) for lightmapped in (False, True)},
}
