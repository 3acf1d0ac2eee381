"""OBJ files there and back; edits of them are in ``../edits/obj.py``."""

from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.obj import import_obj
from tests.converter.edits.obj import GAME, hangar
from tests.support.corpus import Sample, every_sample
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


@pytest.mark.parametrize("first", ["glb", "obj"])
def test_a_gltf_and_an_obj_beside_one_sidecar(tmp_path: Path, first: str) -> None:
    """The last one that was written knows what its materials showed; the other one says so."""
    for ending in sorted(("glb", "obj"), reverse=first == "obj"):
        to_gltf(hangar(tmp_path), tmp_path / f"m.{ending}", *GAME, "--force")
    glb, obj = import_gltf(tmp_path / "m.glb"), import_obj(tmp_path / "m.obj")
    assert (glb.unchanged, obj.unchanged) == (True, True)
    for back, knows in ((glb, first == "obj"), (obj, first == "glb")):
        assert knows is not any("are not compared" in text for text in back.warnings)
