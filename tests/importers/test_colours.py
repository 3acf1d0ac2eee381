"""Vertex colours (COLOR_0): every legal type, mixed over the primitives of a file."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.runs import first_difference, to_gltf

SAMPLE = sample_called("spec__system__R_H_002")
#: (components, dtype) as glTF 2.0, 3.7.2.1 allows them.
TYPES = [(4, "B"), (3, "f"), (4, "H"), (3, "B"), (4, "f"), (3, "H")]


def encoded(colours: np.ndarray, width: int, code: str) -> np.ndarray:
    """RGBA bytes in another type."""
    most = {"B": 255, "H": 65535, "f": 1}[code]
    values = colours[:, :width].astype(np.float64) / 255 * most
    return (values if code == "f" else np.rint(values)).astype(np.dtype(code))


def mixed(path: Path, types: list[tuple[int, str]]) -> Editable:
    """The sample with another type of colours on every primitive."""
    document = Editable(to_gltf(SAMPLE, path))
    for i, primitive in enumerate(document.primitives()):
        width, code = types[i % len(types)]
        old = document.arrays[primitive["attributes"]["COLOR_0"]]
        made = document.add(encoded(old, width, code))
        document.normalized[made] = code != "f"
        primitive["attributes"]["COLOR_0"] = made
    return document


@pytest.mark.parametrize("types", [TYPES, TYPES[::-1], *([t] for t in TYPES)], ids=str)
def test_colours_of_any_type_come_back(tmp_path: Path, types: list[tuple[int, str]]) -> None:
    document = mixed(tmp_path / "m.glb", types)
    back = import_gltf(document.save(tmp_path / "e.glb"), tmp_path / "m.msh-sidecar")
    assert [str(change) for change in back.changes] == []
    assert first_difference(SAMPLE.source, back.data) is None


def whitened(tmp_path: Path, *, whole: bool) -> tuple[list[int], ImportResult]:
    """White on the first primitive of each mesh of several, or on each mesh of one; how many triangles had colours."""
    document = mixed(tmp_path / "m.glb", [(3, "f")])
    every = [mesh["primitives"] for mesh in document.json["meshes"]]
    meshes = [primitives for primitives in every if (len(primitives) == 1) == whole]
    counts = []
    for primitives in meshes:
        colours = document.arrays[primitives[0]["attributes"]["COLOR_0"]]
        of_triangles = colours[document.arrays[primitives[0]["indices"]].reshape(-1, 3)]
        counts.append(int((of_triangles != 1).any(axis=(1, 2)).sum()))
        colours[:] = 1
    return counts, import_gltf(document.save(tmp_path / "e.glb"), tmp_path / "m.msh-sidecar")


def test_white_beside_colours_is_what_blender_leaves_out(tmp_path: Path) -> None:
    counts, back = whitened(tmp_path, whole=False)
    assert counts
    assert first_difference(SAMPLE.source, back.data) is None
    warned = [text for text in back.warnings if "came back white beside coloured ones" in text]
    assert sorted(int(text.rpartition(": ")[2].split()[0]) for text in warned) == sorted(counts)


def test_an_object_painted_white_is_an_edit(tmp_path: Path) -> None:
    counts, back = whitened(tmp_path, whole=True)
    assert len([c for c in back.changes if "colours changed" in str(c)]) == len(counts) > 0


@pytest.mark.parametrize("with_sidecar", [True, False])
@pytest.mark.parametrize(("red", "count"), [(255, 1), (0, 0)])
def test_colours_that_the_model_has_no_table_for_are_reported(
    with_sidecar: bool, red: int, count: int, tmp_path: Path
) -> None:
    """Of the retail dialect none has one; white shows nothing."""
    document = Editable(to_gltf(sample_called("retail__system__R_H_002"), tmp_path / "m.glb"))
    attributes = document.primitives()[0]["attributes"]
    colours = np.full((len(document.arrays[attributes["POSITION"]]), 4), 255, np.uint8)
    colours[:, 1:3] -= np.uint8(red)
    attributes["COLOR_0"] = document.add(colours)
    document.normalized[attributes["COLOR_0"]] = True
    options = ImportOptions(use_sidecar=with_sidecar, dialect="retail")
    back = import_gltf(document.save(tmp_path / "m.glb"), options=options)
    assert [one.where for one in back.not_applied].count("vertex colours") == count
