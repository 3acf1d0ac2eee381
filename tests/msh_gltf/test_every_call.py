"""What functions of the API return, and what they refuse, stands in ``calls.txt``; ``test_examples.py`` has the rest.

``python -m tests.msh_gltf.test_every_call`` writes it again, for you to read what became different.
"""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pygltflib
import pytest
import trimesh

import msh_gltf
from msh_gltf import ConversionError, ExportOptions, ImportOptions, MshModel
from msh_gltf.converter.formats.model import StreamType
from msh_gltf.converter.kinds.check import Checked
from tests.docs.materials import EXAMPLES, example_game
from tests.support.corpus import DATA
from tests.support.game import MESH, WEAR, archive, entry, make_game
from tests.support.recorded import Recorded, digest, summary

CALLS = Recorded(__file__, "calls.txt")
WALKER, TREE = EXAMPLES / "walker.msh", EXAMPLES / "tree.msh"
READERS = ("read_msh", "read_terrain", "read_areal_map", "open_archive", "read_models", "import_gltf", "check")


def text(value: Any) -> str:
    """A result in words."""
    if isinstance(value, MshModel):
        return f"{value.name} of {Path(value.archive.label).name}"
    if isinstance(value, msh_gltf.ImportResult):
        return f"{'rebuilt' if value.rebuilt else 'unchanged' if value.unchanged else 'edited'} {summary(value)}"
    if isinstance(value, Checked):
        return f"{value.id}, {value.kind}: {text([finding.code for finding in value.findings])}"
    if isinstance(value, Path | trimesh.visual.material.PBRMaterial):
        return value.name
    if isinstance(value, bytes):
        return digest(bytes(value))
    if isinstance(value, dict):
        return text([f"{key}: {text(one)}" for key, one in sorted(value.items())])
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(text, value))}]"
    return str(value)


def found(call: Callable[[Path], Any], folder: Path) -> str:
    try:
        said = text(call(folder))
    except (ConversionError, ValueError, TypeError, AttributeError, ImportError) as error:
        said = f"{type(error).__name__}: {error}"
    return re.sub(f"({folder}|{EXAMPLES.parent})/", "", said).replace("\n", " ")


def walker() -> MshModel:
    return msh_gltf.read_msh(WALKER)


def textured() -> MshModel:
    return next(msh_gltf.read_models(example_game() / "turrets.rlb"))


def rebuilt(path: Path) -> msh_gltf.ImportResult:
    glb = msh_gltf.to_glb(msh_gltf.read_msh(path))
    return msh_gltf.import_gltf(bytes(glb), options=ImportOptions(use_sidecar=False))


# ------------------------------------------------------------------ files


def with_other_tables(folder: Path) -> list[Any]:
    """A model whose tables were replaced is exported and written as it is."""
    model = walker()
    model.streams[StreamType.POSITIONS] = model.positions * np.float32(2)
    msh_gltf.export_gltf(model, folder / "m.glb")
    result = msh_gltf.import_gltf(folder / "m.glb")
    (path,) = msh_gltf.write_msh(model, folder / "m.msh")
    same = [path.read_bytes() == result.data, (msh_gltf.read_msh(path).positions == model.positions).all()]
    return [result.kept_all, *same]


def exported_twice(folder: Path, **given: Any) -> list[Path]:
    msh_gltf.export_gltf(walker(), folder / "m.glb")
    return msh_gltf.export_gltf(walker(), folder / "m.glb", options=ExportOptions(fps=30), **given).files


def models(folder: Path, *include: str) -> list[MshModel]:
    return list(msh_gltf.read_models(make_game(folder / "GAME"), include=include))


def broken_models(folder: Path, **given: Any) -> list[MshModel]:
    (folder / "a.msh").write_bytes(TREE.read_bytes()[:-1])
    (folder / "b.msh").write_bytes(TREE.read_bytes())
    return list(msh_gltf.read_models(folder, **given))


def reported_models(folder: Path) -> list[Any]:
    errors: list[ConversionError] = []
    return [broken_models(folder, on_error=errors.append), errors]


def lists_of_their_own(folder: Path) -> list[list[str]]:
    """Entries of one name in an archive each have the list of materials that follows."""
    rows = []
    for word in ("first", "other"):
        wear = "".join(["4\r\n", *(f"{number} {word}{number}\r\n" for number in range(4))])
        rows += [entry(MESH, b"w.msh", WALKER.read_bytes()), entry(WEAR, b"w.wea", wear.encode())]
    (folder / "many.rlb").write_bytes(archive(rows))
    found = map(msh_gltf.to_pygltflib, msh_gltf.read_models(folder / "many.rlb"))
    return [[material.name for material in gltf.materials] for gltf in found]


# ------------------------------------------------------------------ objects


def edits_of_a_scene(_: Path) -> Any:
    scene = msh_gltf.to_trimesh(walker(), frame=3)
    scene.geometry["gun"].vertices *= 1.5
    base = scene.geometry["Base_TM"]
    base.update_faces(np.arange(24) >= 6)
    crate = trimesh.creation.box([0.2, 0.2, 0.2])
    crate.visual = trimesh.visual.TextureVisuals(material=base.visual.material.materials[0])
    scene.add_geometry(crate, node_name="crate", geom_name="crate")
    return msh_gltf.import_gltf(scene)


def loaded_documents(folder: Path) -> list[Any]:
    """The sidecar beside the file that a document or an open file is of is found."""
    out = []
    for name in ("walker.glb", "walker.gltf"):
        msh_gltf.export_gltf(walker(), folder / name, force=True)
        out.append(msh_gltf.import_gltf(pygltflib.GLTF2().load(folder / name)))
        with open(folder / name, "rb") as file:
            out.append(msh_gltf.import_gltf(file))
    return out


def a_buffer_that_is_a_file(folder: Path) -> Any:
    msh_gltf.export_gltf(walker(), folder / "walker.gltf")
    return msh_gltf.import_gltf((folder / "walker.gltf").read_bytes())


def a_file_of_text(folder: Path) -> Any:
    (folder / "text.glb").write_text("no")
    with open(folder / "text.glb") as file:
        return msh_gltf.import_gltf(file)


ROWS: dict[str, Callable[[Path], Any]] = {
    "an unknown name": lambda _: msh_gltf.read_mhs,
    "an unknown name, imported": lambda _: exec("from msh_gltf import read_mhs"),
    **{f"{name} of nothing": lambda f, name=name: getattr(msh_gltf, name)(f / "missing.msh") for name in READERS},
    "convert_directory of nothing": lambda f: msh_gltf.convert_directory(f / "missing", f / "out"),
    "restore_directory of nothing": lambda f: msh_gltf.restore_directory(f / "missing", f / "game", f / "out"),
    "restore_directory to nowhere": lambda _: msh_gltf.restore_directory("glTF", "game"),
    "restore_directory to two places": lambda _: msh_gltf.restore_directory("a", "game", out="new", in_place=True),
    "a model as a terrain": lambda _: msh_gltf.read_terrain(WALKER),
    **{
        f"exported as {name}": lambda f, name=name: msh_gltf.export_gltf(walker(), f / name)
        for name in ("m.obj", "m", "m.msh")
    },
    "written as m.glb": lambda f: msh_gltf.write_msh(walker(), f / "m.glb"),
    "other tables": with_other_tables,
    "exported over another": lambda f: exported_twice(f),
    "exported over another, forced": lambda f: exported_twice(f, force=True, sidecar=False),
    "written over itself": lambda f: [msh_gltf.write_msh(walker(), f / "m.msh") for _ in range(2)],
    "written over another": lambda f: [msh_gltf.write_msh(msh_gltf.read_msh(p), f / "m.msh") for p in (WALKER, TREE)],
    "a list of materials": lambda f: msh_gltf.write_msh(rebuilt(TREE), f / "new.msh"),
    "models of a game": models,
    "models by name": lambda f: models(f, "*::r_h_*"),
    "models of which one is broken": broken_models,
    "models of which one is broken, reported": reported_models,
    "a check of a model": lambda _: msh_gltf.check(str(WALKER)),
    "a check of a game": lambda f: msh_gltf.check(make_game(f / "GAME")),
    "lists of their own": lists_of_their_own,
    "nodes of a scene": lambda _: msh_gltf.to_trimesh(walker()).graph.transforms.parents,
    "materials of a part": lambda _: msh_gltf.to_trimesh(walker()).geometry["Base_TM"].visual.material.materials,
    "a cell of a scene": lambda _: [*msh_gltf.to_trimesh(walker(), stage=1).geometry],
    "edits of a scene": edits_of_a_scene,
    "a mesh": lambda _: msh_gltf.import_gltf(trimesh.creation.box()),
    "an empty scene": lambda _: msh_gltf.import_gltf(trimesh.Scene()),
    "a copy of a document": lambda _: msh_gltf.import_gltf(copy.deepcopy(msh_gltf.to_pygltflib(walker()))),
    "a document as bytes": lambda _: msh_gltf.import_gltf(b"".join(msh_gltf.to_pygltflib(walker()).save_to_bytes())),
    "bytes without their sidecar": lambda _: msh_gltf.import_gltf(bytes(msh_gltf.to_glb(walker()))),
    "documents that were loaded": loaded_documents,
    "a buffer that is a file": a_buffer_that_is_a_file,
    "a number": lambda _: msh_gltf.import_gltf(3),
    "a file of text": a_file_of_text,
    "pictures beside": lambda _: msh_gltf.export_gltf(textured(), options=ExportOptions(embed=False)).images,
    "pictures inside": lambda _: msh_gltf.export_gltf(textured()).images,
    "a level": lambda _: sorted(vars(msh_gltf.load_level(str(DATA / "maps/spec__AutoMAP_00/Land")))),
    "a level that is not there": lambda _: msh_gltf.load_level("nowhere"),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_a_call_returns(name: str, tmp_path: Path) -> None:
    CALLS.require(name, found(ROWS[name], tmp_path))


if __name__ == "__main__":
    CALLS.write_each(ROWS, lambda name, folder: found(ROWS[name], folder))
