"""Edits of colours, pictures and names in the glTF of the example game, and what comes of them in its libraries."""

import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.material import read_material
from msh_gltf.converter.formats.nres import Entry, read_nres
from msh_gltf.converter.formats.texture import read_texm
from msh_gltf.converter.formats.wear import read_wear_names
from tests.support.gltf_edit import Editable
from tests.support.recorded import digest
from tests.support.runs import run

ROOT = Path(__file__).resolve().parents[3]
TURRETS = ("turrets.rlb/e_tur_01.glb", "turrets.rlb/e_tur_02.glb")
BRICK = np.random.default_rng(19).integers(0, 256, (16, 32, 4), np.uint8)
BRICK[..., 3] = 255
Json = dict[str, Any]
Paint = Callable[[Json], object]


def make(folder: Path) -> Path:
    """The example game and its glTF."""
    script = [sys.executable, ROOT / "examples/make_game.py", folder / "GAME"]
    subprocess.run(script, check=True, capture_output=True)
    assert run("msh2gltf", folder / "GAME", "-o", folder / "out", "-q").returncode == 0
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made"))


def png(pixels: np.ndarray) -> bytes:
    out = BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=1)
    return out.getvalue()


def read_png(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGBA")).copy()


def colour(*factor: float) -> Callable[[Json], None]:
    return lambda m: m["pbrMetallicRoughness"].update(baseColorFactor=list(factor))


RED, BLUE, PURPLE = colour(1, 0, 0, 1), colour(0, 0, 1, 1), colour(0.2140411, 0, 1, 1)


class Edit:
    """A game, its glTF, and what comes of edits of it.

    Attributes:
        said: what each command printed and made.
    """

    def __init__(self, made: Path, folder: Path) -> None:
        self.made, self.folder = made, folder
        self.game, self.out, self.new = made / "GAME", folder / "out", folder / "NEW"
        self.said: list[str] = []
        shutil.copytree(made / "out", self.out)

    def material(self, model: str, name: str, edit: Paint) -> None:
        path = self.out / model
        document = Editable(path)
        for material in document.json["materials"]:
            if material["name"] == name:
                edit(material)
        document.save(path)

    def rename(self, model: str, material: str, name: str, *, bare: bool = False) -> None:
        def edit(one: Json) -> None:
            one["name"] = name
            if bare:
                one.pop("extras", None)

        self.material(model, material, edit)

    def assign(self, model: str, material: str, name: str, pixels: np.ndarray) -> None:
        """Give a material a picture of its own, as Blender writes it."""
        path = self.out / model
        document = Editable(path)
        parts = document.json
        uri = "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
        parts["images"].append({"name": name, "uri": uri})
        parts["textures"].append({"source": len(parts["images"]) - 1})
        for one in parts["materials"]:
            if one["name"] == material:
                info = {"index": len(parts["textures"]) - 1}
                one["pbrMetallicRoughness"]["baseColorTexture"] = info
        document.save(path)

    def repaint(self, model: str, name: str, colour: tuple[int, int, int]) -> None:
        """Paint the first pixel, in a picture inside the file, as Blender leaves it."""
        path = self.out / model
        document = Editable(path)
        names = (name, name.rpartition(".")[0])
        image = next(i for i in document.json["images"] if i["name"] in names)
        pixels = read_png(self.out / f"textures/{name}.png")
        pixels[0, 0, :3] = colour
        image["uri"] = "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
        image["name"] = names[1]
        document.save(path)

    def look(self, name: str, paint: Paint | None, folder: str = "turrets.rlb") -> Path:
        """A new model that has a new material ``Material``; ``None``: as Blender makes it."""
        document = Editable(self.out / TURRETS[0])
        for node in (*document.json["nodes"], document.json["scenes"][0]):
            node.pop("extras", None)
        armour = next(one for one in document.json["materials"] if one["name"] == "armour")
        armour.clear()
        armour |= {"name": "Material", "doubleSided": True}
        plain = {"baseColorFactor": [0.8, 0.8, 0.8, 1], "metallicFactor": 0, "roughnessFactor": 0.5}
        armour["pbrMetallicRoughness"] = plain
        if paint is not None:
            paint(armour)
        return document.save(self.out / folder / f"{name}.glb")

    def run(self, *words: object) -> None:
        """Run a command, and keep what it says."""
        below = [
            word.relative_to(self.folder) if self.folder in getattr(word, "parents", ()) else word for word in words
        ]
        done = run(*below, cwd=self.folder)
        text = " ".join(f"{done.stdout} {done.stderr}".split())
        text = text.replace(f"{self.folder}/", "").replace(f"{self.made}/", "")
        self.said.append(f"{done.returncode}: {text}")

    def back(self, *options: object) -> None:
        """Bring the files back into a copy of the game."""
        shutil.rmtree(self.new, ignore_errors=True)
        report = self.folder / "report.json"
        self.run("gltf2msh", self.out, "--game", self.game, "-o", self.new, "--report", report, *options)
        self.said += self.differences()

    def differences(self) -> Iterator[str]:
        """The entries that differ or are new, in words."""
        for path in sorted(self.new.rglob("*")) if self.new.is_dir() else ():
            name = path.relative_to(self.new).as_posix()
            if not path.is_file() or name.startswith(".") or path.read_bytes() == (self.game / name).read_bytes():
                continue
            if path.suffix not in (".lib", ".rlb"):
                yield f"{name} {digest(path.read_bytes())}"
                continue
            before, after = (read_nres(read_file(root / name), name) for root in (self.game, self.new))
            rows = [*before.entries, *[None] * (len(after.entries) - len(before.entries))]
            for old, new in zip(rows, after.entries, strict=True):
                if old is None or (old.payload, old.attr1, old.attr2) != (new.payload, new.attr1, new.attr2):
                    yield f"{name}: {described(new)}{' is new' if old is None else apart(old, new)}"

    def names(self, library: str) -> list[str]:
        return [entry.name for entry in read_nres(read_file(self.new / library), library).entries]

    def entry(self, library: str, name: str, *, old: bool = False) -> Any:
        archive = read_nres(read_file((self.game if old else self.new) / library), library)
        index = archive.find(name)
        assert index is not None
        return archive.entries[index]

    def skipped(self) -> list[str]:
        """What the report has no place for."""
        report = json.loads((self.folder / "report.json").read_text("utf-8"))
        return [f"{row['id']}: {row['reason']}" for row in report["skipped"]]


def described(entry: Entry) -> str:
    """An entry of a library, with all that it says."""
    head = f"{entry.name} {entry.attr1}/{entry.attr2} {digest(bytes(entry.payload))}"
    kind = entry.type_id.to_bytes(4, "little").upper()
    if kind == b"MAT0":
        one = read_material(entry, "")
        values = [[round(value, 3) for value in rgb] for rgb in (one.diffuse, one.self_light)]
        return f"{head}, {one.texture} diffuse {values[0]} light {values[1]} alpha {one.alpha:.3g} kind {one.kind}"
    if kind == b"TEXM":
        texm = read_texm(entry.payload, "")
        shape = f"{texm.width} x {texm.height} x {len(texm.levels)} format {texm.format}"
        return f"{head}, {shape}, {digest(texm.rgba().tobytes())}"
    if kind == b"WEAR":
        return f"{head}, {' '.join(read_wear_names(entry.payload))}"
    return head


def apart(old: Entry, new: Entry) -> str:
    """Where two entries of a name differ."""
    if len(old.payload) != len(new.payload):
        return ""
    bytes_apart = np.flatnonzero(np.frombuffer(old.payload, "u1") != np.frombuffer(new.payload, "u1"))
    return f" differs in {len(bytes_apart)} bytes from {bytes_apart[:1].tolist()}"
