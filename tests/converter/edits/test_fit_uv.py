"""Texture coordinates that words cannot hold: whole turns first, clamped only what is left."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf import ImportResult, import_gltf
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from tests.importers.test_foreign import QUAD, Builder
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.runs import to_gltf

UV = np.float32([[0, 0], [1, 0], [0, 1], [1, 1]])


def new_part(uv: np.ndarray, folder: Path) -> tuple[ImportResult, np.ndarray]:
    """A quad with these coordinates; the words that it gets, in the order of its vertices."""
    b = Builder()
    b.node(name="quad", mesh=b.mesh(attributes={"TEXCOORD_0": b.accessor(uv.astype(np.float32))}))
    back = import_gltf(b.save(folder))
    model = read_model(read_nres(back.data, "x"), "x")
    order = [np.flatnonzero((model.positions == p).all(1))[0] for p in QUAD[:, [0, 2, 1]]]
    return back, model.uv0[order].astype(int)


@pytest.mark.parametrize("far", [(1000, 0), (-40.5, 33), (0, -100)])
def test_a_whole_part_is_shifted_by_whole_turns(far: tuple[float, float], tmp_path: Path) -> None:
    back, words = new_part(UV + far, tmp_path)
    assert back.not_applied == []
    shown = (UV + np.float32(far)) * 1024
    assert ((words - shown) % 1024 == 0).all()
    assert (np.ptp(words, axis=0) == 1024).all()
    # an axis that fits is kept as is
    fits = np.abs(far) < 32
    assert (words[:, fits] == shown[:, fits]).all()


def test_a_part_that_is_too_wide_is_shifted_by_triangle(tmp_path: Path) -> None:
    """Two triangles that share no vertex, 100 turns apart."""
    b = Builder()
    points = QUAD[[0, 1, 2, 1, 3, 2]]
    uv = UV[[0, 1, 2, 1, 3, 2]].copy()
    uv[3:, 0] += 100
    attributes = {"TEXCOORD_0": b.accessor(uv)}
    b.node(name="quad", mesh=b.mesh(points, range(6), attributes=attributes))
    back = import_gltf(b.save(tmp_path))
    assert back.not_applied == []
    words = read_model(read_nres(back.data, "x"), "x").uv0
    assert (np.abs(words) <= 2 * 1024).all()


def test_what_still_does_not_fit_is_clamped_and_named(tmp_path: Path) -> None:
    back, words = new_part(UV * 200, tmp_path)
    (fact,) = back.not_applied
    assert fact.where == "lod 0 group 0, part 'quad'"
    assert fact.what == "has other texture coordinates on 2 triangles in the game"
    assert fact.why == "a stored one has 16 bits, -32 to 32"
    assert set(words.ravel()) == {-32768, 32767}


def test_unchanged_triangles_of_a_part_keep_their_words(tmp_path: Path) -> None:
    path = to_gltf(sample_called("retail__static__i_room_006"), tmp_path / "m.glb")
    source = sample_called("retail__static__i_room_006").source
    document = Editable(path)
    primitive = document.primitives()[0]
    index = document.arrays[primitive["indices"]]
    accessor = primitive["attributes"]["TEXCOORD_0"]
    positions = document.arrays[primitive["attributes"]["POSITION"]]
    normals = document.arrays[primitive["attributes"]["NORMAL"]]
    uv = document.arrays[accessor]
    corners = index[3:6, 0]  # the first triangle stays
    start = len(uv)
    attributes = {
        "POSITION": document.add(np.concatenate([positions, positions[corners]])),
        "NORMAL": document.add(np.concatenate([normals, normals[corners]])),
        "TEXCOORD_0": document.add(np.concatenate([uv, uv[corners] + np.float32([500, 0])])),
    }
    for name in set(primitive["attributes"]) - set(attributes):
        array = document.arrays[primitive["attributes"][name]]
        attributes[name] = document.add(np.concatenate([array, array[corners]]))
    primitive["attributes"] = attributes
    moved = index.copy()
    moved[3:6, 0] = np.arange(start, start + 3)
    primitive["indices"] = document.add(moved)
    back = import_gltf(document.save(path))
    assert back.not_applied == []
    old, new = (read_model(read_nres(data, "x"), "x") for data in (source, back.data))
    lost = {tuple(row) for row in old.uv0.tolist()} - {tuple(row) for row in new.uv0.tolist()}
    assert len(lost) <= 3  # of the triangle that moved, where no other has the same
    assert np.abs(new.uv0[:, 0].astype(int)).max() < 32 * 1024
