"""Edits of OBJ files: ours, with their sidecar and without it."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from msh_gltf.converter.formats.model import MshModel, StreamType, StringTable, write_model
from msh_gltf.converter.formats.sidecar import Description, Sidecar, sha256, write_sidecar
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.kinds.obj import import_obj, obj_files
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.importers.obj import read_obj
from tests.docs.materials import EXAMPLES
from tests.support.corpus import DATA, SAMPLES, Sample, sample_called
from tests.support.obj import ANIMATED, to_obj, triangles
from tests.support.recorded import digest, outcome
from tests.support.runs import to_gltf

ROBOT = "retail__system__R_H_002"
BUNDLED = [sample for sample in SAMPLES if sample.path.parent == DATA]


def export(path: Path, target: Path, frame: float = 0.0, **options: Any) -> Path:
    given = ExportOptions(**options)
    for file, data in obj_files(load_file(path, None, given), target, options=given, frame=frame):
        file.write_bytes(data)
    return target


GAME = ("--game", EXAMPLES / "textures")


def hangar(folder: Path) -> Sample:
    """A copy of the example, with its .wea."""
    for ending in ("msh", "wea"):
        shutil.copy(EXAMPLES / f"hangar.{ending}", folder / f"m.{ending}")
    return Sample("hangar", folder / "m.msh", None, folder / "m.msh")


def changed(sample: Sample, folder: Path, change: Callable[[MshModel], object] | None) -> Sample:
    """A copy of a model whose tables are changed."""
    if change is None:
        return sample
    model = load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).model
    change(model)
    path = folder / "changed.msh"
    path.write_bytes(write_model(model))
    return replace(sample, path=path)


class Edited:
    """An OBJ and its .mtl as lines."""

    def __init__(self, folder: Path, case: "Row") -> None:
        self.path, self.frame = folder / "m.obj", case.frame
        self.mtl, self.import_frame, self.use_sidecar = folder / "m.mtl", None, not case.alone
        if case.model == "hangar":
            to_gltf(hangar(folder), self.path, *(GAME if case.looks else ("--no-textures",)))
        else:
            to_obj(changed(sample_called(case.model), folder, case.before), self.path, frame=case.frame)
        self.lines = self.path.read_text("utf-8").splitlines()

    def lines_of(self, name: str, word: str) -> list[int]:
        start = self.lines.index(f"o {name}")
        ends = [i for i, line in enumerate(self.lines) if line.startswith("o ") and i > start]
        stop = min(ends, default=len(self.lines))
        return [i for i in range(start, stop) if self.lines[i].split(" ")[0] == word]

    def numbers(self, name: str, word: str, change: Callable[..., tuple[float, ...]]) -> None:
        """Change the first line of a word in an object."""
        at = self.lines_of(name, word)[0]
        numbers = change(*map(float, self.lines[at].split()[1:]))
        self.lines[at] = " ".join([word, *map(str, numbers)])

    def material(self, name: str, before: str, after: str) -> None:
        """Change a line of one material."""
        head, mark, rest = self.mtl.read_text("utf-8").partition(f"newmtl {name}\n")
        assert before in rest.partition("newmtl")[0]
        self.mtl.write_text(head + mark + rest.replace(before, after, 1), "utf-8")

    def back(self) -> ImportResult:
        self.path.write_text("\n".join(self.lines), "utf-8")
        options = ImportOptions(use_sidecar=self.use_sidecar)
        return import_obj(self.path, options=options, frame=self.import_frame)


class Row(NamedTuple):
    """An edit of a model that is exported at a frame; the hangar has the looks of the example's libraries, or none.

    Without a sidecar every object is a static node at the origin, its triangles where the OBJ has them. ``before``
    changes the model first.
    """

    edit: Callable[[Edited], object]
    model: str = ANIMATED
    frame: float = 0.0
    looks: bool = True
    alone: bool = False
    before: Callable[[MshModel], object] | None = None

    def found(self, folder: Path) -> str:
        """What comes of it, and in how many triangles its own OBJ is unlike the edited one."""
        edited = Edited(folder, self)
        self.edit(edited)
        return outcome(edited.back, folder, lambda out: self.shown(edited, out))

    def shown(self, edited: Edited, out: ImportResult) -> Iterator[str]:
        made = edited.path.with_name("edited.msh")
        made.write_bytes(out.data)
        frame = 0.0 if out.rebuilt else self.frame
        again = export(made, made.with_name("again.obj"), frame, dialect=out.dialect)
        given, shown = (all_triangles(path) for path in (edited.path, again))
        yield f"{len(given ^ shown)} triangles unlike the file"
        pictures = [digest(one.rgba.tobytes()) for one in out.library if one.rgba is not None]
        yield from [f"pictures {pictures}"] * bool(pictures)


def all_triangles(path: Path) -> set[bytes]:
    """The triangles of a file, to three decimals."""
    given = read_obj(path)
    shown = [triangles(given, item) for item in range(len(given.nodes)) if given.nodes[item].mesh is not None]
    return {(one.round(3) + 0.0).tobytes() for one in np.concatenate(shown)}


def object_deleted(e: Edited) -> None:
    for word in ("g", "usemtl", "f", "o"):
        for i in e.lines_of("foot_m2o3", word):
            e.lines[i] = "#"


def another_material(e: Edited) -> None:
    at = e.lines_of("foot_m2o3", "usemtl")[0]
    e.lines[at] = next(line for line in e.lines if line.startswith("usemtl ") and line != e.lines[at])


def texture_and_normal(e: Edited) -> None:
    e.numbers("foot_m2o3", "vt", lambda u, v: (u + 1 / 1024, v))
    e.numbers("foot_m3o2", "vn", lambda x, y, z: (y, z, x))


def scaled(e: Edited) -> None:
    vertices = [i for i, line in enumerate(e.lines) if line.startswith("v ")]
    for i in vertices:
        e.lines[i] = "v " + " ".join(str(float(n) * 1.001) for n in e.lines[i].split()[1:])


def painted(e: Edited) -> None:
    picture = Image.open(e.path.with_name("m.wall.0.png"))
    picture.putpixel((4, 3), (200, 10, 20))
    picture.save(e.path.with_name("m.wall.0.png"))


def own_picture(e: Edited) -> None:
    Image.new("RGB", (32, 32), (9, 8, 7)).save(e.path.with_name("моя стена.png"))
    e.material("wall", "m.wall.0.png", "-s 1 1 1 -bm 0.5 моя стена.png")


def light_taken_and_given(e: Edited) -> None:
    """Blender 4.2 leaves it out; a file with the light of another material is an edit."""
    e.material("glow", "Ke 1 0.54902 0.235294\n", "")
    e.material("wall", "illum 1\n", "illum 1\nKe 1 1 1\n")


def no_material_of_a_game(e: Edited) -> None:
    """The colour of a row is none of a material; another one makes a material of the name."""
    line = next(line for line in e.mtl.read_text("utf-8").splitlines() if line.startswith("Kd"))
    e.material("wall", line, "Kd 1 0 0")


def other_sidecar(e: Edited) -> None:
    other = to_obj(sample_called("spec__odd__B_PLANT_008"), e.path.with_name("o.obj"))
    shutil.copy(other.with_suffix(".msh-sidecar"), e.path.with_suffix(".msh-sidecar"))


def sidecar_of_a_terrain(e: Edited) -> None:
    about = Description("x", sha256(b"x"), "", "", "", 0, 0, "0", [], kind="terrain")
    e.path.with_suffix(".msh-sidecar").write_bytes(write_sidecar(Sidecar(about, b"x")))


def move_away(model: MshModel, distance: float) -> None:
    """So far that float32 can hardly tell its vertices apart."""
    keys = model.keys.copy()
    keys["position"] += np.float32(distance)
    model.streams[StreamType.KEYS] = keys


def label(model: MshModel) -> None:
    model.strings = StringTable([b"socket\0"] * len(model.nodes))


def to_the_next_number(e: Edited) -> None:
    """Every coordinate is the next float32 number, up or down."""
    for i, line in enumerate(e.lines):
        if line.startswith("v "):
            numbers = np.nextafter(np.array(line.split()[1:], np.float32), np.float32(1e9 if i % 2 else -1e9))
            e.lines[i] = "v " + " ".join(f"{n:.9g}" for n in numbers)


def no_header(e: Edited) -> None:
    del e.lines[0]


#: At both frames.
SHAPES: dict[str, Callable[[Edited], object]] = {
    "a vertex moved": lambda e: e.numbers("foot_m2o3", "v", lambda x, y, z: (x + 0.25, y, z)),
    "a face deleted": lambda e: e.lines.pop(e.lines_of("foot_m2o3", "f")[0]),
    "an object deleted": object_deleted,
    "a new object": lambda e: e.lines.extend(["v 1 2 3", "v 2 2 3", "v 2 3 3", "o antenna", "f -3 -2 -1"]),
    # Blender's Shift-D: the copy is a node of its own
    "a copy": lambda e: e.lines.extend(["o foot_m2o3.001", *(e.lines[i] for i in e.lines_of("foot_m2o3", "f"))]),
    "a number of Blender": lambda e: e.lines.__setitem__(e.lines.index("o foot_m2o3"), "o foot_m2o3.001"),
    "another material": another_material,
    "texture coordinates and normals": texture_and_normal,
    "everything scaled": scaled,
}
ARMOUR = (
    ("Kd 1 1 1", "Kd 1 0 0"),
    ("Kd 1 1 1", "Kd\t 1  0   0 "),
    ("d 1\n", "d 0.5\n"),
    ("d 1\n", "Tr 0.5\n"),
    ("m.armour.0.png", "m.floor.0.png"),
    ("illum 1\n", "illum 1\nKe 0 1 0\n"),
)
#: Of a picture; not one is opened.
ELSEWHERE = ("../m.png", "//server/share/x.png", "\\\\server\\share\\x.png", "/etc/x.png")
MATERIALS: dict[str, Callable[[Edited], object]] = {
    "nothing": lambda e: None,
    **{
        f"armour: {after!r}": lambda e, before=before, after=after: e.material("armour", before, after)
        for before, after in ARMOUR
    },
    "painted over": painted,
    "a picture of one's own": own_picture,
    **{
        f"a picture at {place}": lambda e, place=place: e.material("wall", "m.wall.0.png", place) for place in ELSEWHERE
    },
    # Blender writes such, by its Path Mode
    "a picture at its whole path": lambda e: e.material("wall", "m.wall.0.png", f"{e.path.parent}/m.wall.0.png"),
    "a picture gone": lambda e: e.material("wall", "map_Kd m.wall.0.png\n", ""),
    "own light left out": lambda e: e.material("glow", "Ke 1 0.54902 0.235294\n", ""),
    "own light elsewhere": light_taken_and_given,
    **{
        f"an .mtl of {data!r}": lambda e, data=data: e.mtl.write_bytes(data)
        for data in (b"", b"Kd 1 0 0\nd\n", b"newmtl \xff\xfe\nKd a b c\n")
    },
    "no .mtl": lambda e: e.mtl.unlink(),
    **{
        f"numbers {text}": lambda e, text=text: e.material("wall", "Kd 1 1 1", f"Kd {text}\nKe {text}\nd {text}")
        for text in ("nan 1e999 -5", "1 2", "1e308 1e308 1e308", "x")
    },
}
CASES = {
    **{f"{name}, frame {frame}": Row(edit, frame=frame) for name, edit in SHAPES.items() for frame in (0, 4.5)},
    # two nodes draw one slot: an edit of one leaves the other as it was
    "a shared slot": Row(
        lambda e: e.numbers("Base_TM", "v", lambda x, y, z: (x + 0.5, y, z)), "spec__odd__Gen_stat_011"
    ),
    **{name: Row(edit, "hangar") for name, edit in MATERIALS.items()},
    "no game": Row(lambda e: None, "hangar", looks=False),
    "no game, a colour": Row(no_material_of_a_game, "hangar", looks=False),
    "the frame is not said": Row(no_header),
    "another frame is not said": Row(no_header, frame=7),
    "another frame is given": Row(lambda e: (no_header(e), setattr(e, "import_frame", 7.0)), frame=7),
    "a frame that is not a number": Row(lambda e: setattr(e, "import_frame", float("nan"))),
    "a sidecar of another model": Row(other_sidecar),
    "a sidecar of a terrain": Row(sidecar_of_a_terrain),
    "no sidecar": Row(lambda e: e.path.with_suffix(".msh-sidecar").unlink()),
    **{
        f"{how}, by the next numbers": Row(to_the_next_number, ROBOT, before=change)
        for how, change in {"labelled": label, "far away": lambda model: move_away(model, 1e3)}.items()
    },
    # triangles that float32 flattens have other normals
    **{
        f"{far:g} away": Row(lambda e: None, ROBOT, before=lambda model, far=far: move_away(model, far))
        for far in (1e5, 1e7)
    },
    "alone, hangar": Row(lambda e: None, "hangar", alone=True),
    **{f"alone, {sample.id}": Row(lambda e: None, sample.id, 1.5, alone=True) for sample in BUNDLED},
}
