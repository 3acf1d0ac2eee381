"""Models as objects in memory: bytes, files, pygltflib's and trimesh's, and back."""

import io
from pathlib import Path
from unittest import mock

import numpy as np
import pygltflib
import pytest
import trimesh
from pygltflib import gltf_asdict
from scipy.spatial import cKDTree

import msh_gltf
from msh_gltf import ExportOptions, MshModel
from msh_gltf.converter.formats import model as formats_of_models
from msh_gltf.converter.formats.nres import bytes_as_read
from msh_gltf.converter.kinds import open_files
from msh_gltf.importers.gltf_file import GltfInMemory, open_gltf
from tests.docs.materials import EXAMPLES
from tests.support.corpus import CORPUS, DATA, EVERY
from tests.support.game import MESH, archive, entry
from tests.support.gltf_view import GltfView

WALKER = EXAMPLES / "walker.msh"
MODELS = sorted(DATA.glob("*.msh"))


def models() -> list[MshModel]:
    """The bundled models, and those of the corpus where it is there."""
    found = [msh_gltf.read_msh(path) for path in (*MODELS, *sorted(EXAMPLES.glob("*.msh")))]
    games = sorted(Path(CORPUS).glob("*/game")) if CORPUS else []
    return [*found, *[model for game in games for model in msh_gltf.read_models(game)][::EVERY]]


@pytest.fixture(params=models(), ids=lambda model: f"{Path(model.archive.label).name}-{model.name}")
def model(request: pytest.FixtureRequest) -> MshModel:
    return request.param


def untouched(result: msh_gltf.ImportResult, model: MshModel) -> bool:
    return result.unchanged and result.data == bytes_as_read(model.archive)


def test_every_kind_of_object_brings_the_bytes_back(model: MshModel) -> None:
    glb = msh_gltf.to_glb(model)
    made = msh_gltf.export_gltf(model)
    assert (made.glb, made.sidecar, made.files) == (glb, glb.sidecar, [])
    assert untouched(msh_gltf.import_gltf(glb), model)
    assert untouched(msh_gltf.import_gltf(bytearray(glb), sidecar=made.sidecar), model)
    assert untouched(msh_gltf.import_gltf(io.BytesIO(glb), sidecar=made.sidecar), model)
    document = msh_gltf.to_pygltflib(model)
    assert untouched(msh_gltf.import_gltf(document), model)
    loaded = pygltflib.GLTF2.load_from_bytes(bytes(glb))
    assert gltf_asdict(document) == gltf_asdict(loaded)
    assert document.binary_blob() == loaded.binary_blob()
    assert document.to_json() == loaded.to_json()
    assert untouched(msh_gltf.import_gltf(loaded, sidecar=made.sidecar), model)


@pytest.mark.parametrize("frame", [0, 1, 2.5])
def test_a_scene_of_trimesh_brings_the_bytes_back(model: MshModel, frame: float) -> None:
    scene = msh_gltf.to_trimesh(model, frame)
    if not scene.geometry:
        pytest.skip("the cell shows nothing")
    assert untouched(msh_gltf.import_gltf(scene), model)
    assert untouched(msh_gltf.import_gltf(scene.copy()), model)  # which drops normals


# ------------------------------------------------------------------ trimesh


def posed_by_gltf(path: Path, frame: float) -> np.ndarray:
    """The triangles that a .glb shows at a frame, by a second reader: (T, 3, 3), sorted."""
    view, found = GltfView(path), [np.zeros((0, 3, 3))]
    samplers = view["animations"][0]["samplers"] if view["animations"] else []
    at = int(np.abs(view.array(samplers[0]["input"])[:, 0] * 24 - frame).argmin()) if samplers else None
    for node in view.scene_parts().values():
        matrix = view.world(node, at)
        for primitive in view["meshes"][view["nodes"][node]["mesh"]]["primitives"]:
            points = view.array(primitive["attributes"]["POSITION"]) @ matrix[:3, :3].T + matrix[:3, 3]
            found.append(points[view.array(primitive["indices"])[:, 0]].reshape(-1, 3, 3))
    return in_order(np.concatenate(found))


def in_order(triangles: np.ndarray) -> np.ndarray:
    return triangles[np.lexsort(np.round(triangles.reshape(-1, 9), 3).T)]


@pytest.mark.parametrize("frame", [0, 2, 5])
def test_a_scene_shows_the_triangles_of_the_gltf(model: MshModel, frame: int, tmp_path: Path) -> None:
    scene = msh_gltf.to_trimesh(model, frame)
    shown = [
        scene.geometry[name].triangles @ matrix[:3, :3].T + matrix[:3, 3]
        for matrix, name in (scene.graph.get(node) for node in scene.graph.nodes_geometry)
    ]
    msh_gltf.export_gltf(model, tmp_path / "m.glb", options=ExportOptions(parts="visible"))
    expected = posed_by_gltf(tmp_path / "m.glb", frame)
    found = in_order(np.concatenate([np.zeros((0, 3, 3)), *shown]))
    assert found.shape == expected.shape
    if len(found):
        within = 1e-5 * max(float(np.ptp(expected.reshape(-1, 3), axis=0).max()), 1.0)
        trees = cKDTree(expected.reshape(-1, 9)), cKDTree(found.reshape(-1, 9))
        # each triangle as often in both: some models have coincident ones
        times = [[len(near) for near in tree.query_ball_point(found.reshape(-1, 9), within)] for tree in trees]
        assert times[0] == times[1]
        assert min(times[0]) > 0


# ------------------------------------------------------------------ documents in memory


def test_bytes_do_not_find_what_lies_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    msh_gltf.export_gltf(msh_gltf.read_msh(WALKER), "model.glb")
    box = trimesh.Scene(trimesh.creation.box()).export(file_type="glb")
    result = msh_gltf.import_gltf(box)
    assert result.rebuilt
    assert not any("sidecar" in warning for warning in result.warnings)
    assert open_gltf(tmp_path / "model.glb", GltfInMemory(box)).folder is None


def test_a_glb_is_shown_in_a_notebook() -> None:
    page = msh_gltf.to_glb(msh_gltf.read_msh(WALKER))._repr_html_()
    assert page.startswith("<iframe srcdoc=")
    assert page.count('"') == 8  # nothing ends the attribute early


def test_no_model_of_an_archive_is_read_twice(tmp_path: Path) -> None:
    path, data = tmp_path / "many.rlb", WALKER.read_bytes()
    path.write_bytes(archive([entry(MESH, b"w%03d.msh" % i, data) for i in range(20)]))
    with (
        mock.patch.object(formats_of_models, "read_model", wraps=formats_of_models.read_model) as read,
        mock.patch.object(open_files, "open_nres", wraps=open_files.open_nres) as opened,
    ):
        glbs = [msh_gltf.to_glb(model) for model in msh_gltf.read_models(path)]
    assert len({bytes(glb) for glb in glbs}) == 20  # each names its source
    assert [call.args[1] for call in read.call_args_list] == [f"w{i:03}.msh" for i in range(20)]
    assert [call.args[1] for call in opened.call_args_list] == [str(path)]
