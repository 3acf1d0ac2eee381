"""OBJ files there and back; edits of them are in ``../edits/obj.py``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from msh_gltf.converter.formats.model import StreamType, StringTable, write_model
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.options import ExportOptions
from tests.converter.edits.obj import GAME, export, hangar
from tests.support.corpus import Sample, every_sample, sample_called
from tests.support.obj import as_blender_writes, to_obj
from tests.support.runs import first_difference, to_gltf


@every_sample
@pytest.mark.parametrize(
    ("how", "rounded"),
    [
        ({}, False),
        ({"frame": 1.5, "up": "z"}, False),
        ({"frame": 1000}, False),
        ({"frame": 2}, True),
        *(({"lod": lod, "group": group}, False) for lod, group in ((1, 0), (0, 1), (2, 4))),
    ],
)
def test_bytes_come_back(sample: Sample, how: dict[str, Any], rounded: bool, tmp_path: Path) -> None:
    """At any frame, of any level, and from the decimals that Blender writes."""
    path = to_obj(sample, tmp_path / "m.obj", **how)
    if rounded:
        path.write_text(as_blender_writes(path.read_text("utf-8")), "utf-8")
    back = import_obj(path, frame=how["frame"] if rounded else None)
    assert [str(change) for change in back.changes] == []
    assert first_difference(sample.source, back.data) is None
    assert back.kept_all


@every_sample
def test_sidecar_of_a_gltf(sample: Sample, tmp_path: Path) -> None:
    """The sidecar that stands beside both belongs to both, whatever the glTF's clip holds."""
    path = to_obj(sample, tmp_path / "m.obj", frame=1)
    gltf = to_gltf(sample, tmp_path / "m.glb", "--keys", "--lod", 1, "--force")
    assert import_obj(path).kept_all
    assert import_gltf(gltf).kept_all


def changed(path: Path, name: str, change: Callable[[Any], object]) -> Path:
    """A model that was changed in its tables."""
    sample = sample_called(name)
    model = load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).model
    change(model)
    path.write_bytes(write_model(model))
    return path


def moved_away(distance: float) -> Callable[[Any], None]:
    """So far that float32 cannot tell its vertices apart."""

    def change(model: Any) -> None:
        keys = model.keys.copy()
        keys["position"] += np.float32(distance)
        model.streams[StreamType.KEYS] = keys

    return change


def labelled(model: Any) -> None:
    model.strings = StringTable([b"socket\0"] * len(model.nodes))


@pytest.mark.parametrize(
    ("change", "stepped"),
    [(labelled, True), (moved_away(1e3), True), (moved_away(1e5), False), (moved_away(1e7), False)],
)
def test_far_vertices_and_labels_come_back(change: Callable[[Any], object], stepped: bool, tmp_path: Path) -> None:
    """``stepped``: every coordinate is the next float32 number, up or down."""
    source = changed(tmp_path / "changed.msh", "retail__system__R_H_002", change)
    path = export(source, tmp_path / "m.obj", dialect="retail")
    lines = path.read_text("utf-8").splitlines()
    for i, line in enumerate(lines if stepped else ()):
        if line.startswith("v "):
            numbers = np.nextafter(np.array(line.split()[1:], np.float32), np.float32(1e9 if i % 2 else -1e9))
            lines[i] = "v " + " ".join(f"{n:.9g}" for n in numbers)
    path.write_text("\n".join(lines), "utf-8")
    back = import_obj(path)
    assert [str(c) for c in back.changes] == []
    assert back.data == source.read_bytes()


@pytest.mark.parametrize("first", ["glb", "obj"])
def test_a_gltf_and_an_obj_beside_one_sidecar(tmp_path: Path, first: str) -> None:
    """The last one that was written knows what its materials showed; the other one says so."""
    for ending in sorted(("glb", "obj"), reverse=first == "obj"):
        to_gltf(hangar(tmp_path), tmp_path / f"m.{ending}", *GAME, "--force")
    glb, obj = import_gltf(tmp_path / "m.glb"), import_obj(tmp_path / "m.obj")
    assert (glb.unchanged, obj.unchanged) == (True, True)
    for back, knows in ((glb, first == "obj"), (obj, first == "glb")):
        assert knows is not any("are not compared" in text for text in back.warnings)


def test_a_new_model_brings_its_materials(tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), (9, 8, 7)).save(tmp_path / "brick.png")
    (tmp_path / "box.mtl").write_text("newmtl mine\nKd 1 1 1\nmap_Kd brick.png\n", "utf-8")
    text = "mtllib box.mtl\no box\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl mine\nf 1 2 3\n"
    (tmp_path / "box.obj").write_text(text, "utf-8")
    (one,) = import_obj(tmp_path / "box.obj").new_materials
    assert (one.name, one.certain) == ("mine", True)
    assert one.picture is not None
