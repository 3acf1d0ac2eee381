"""Models as objects in memory: bytes, files, pygltflib's and trimesh's, and back."""

import copy
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pygltflib
import pytest
import trimesh
from pygltflib import gltf_asdict
from scipy.spatial import cKDTree

import msh_gltf
from msh_gltf import ConversionError, ExportOptions, MshModel
from msh_gltf.converter.formats import model as formats_of_models
from msh_gltf.converter.formats.nres import Entry, bytes_as_read, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.kinds import open_files
from msh_gltf.importers.gltf_file import GltfInMemory, open_gltf
from tests.docs.materials import EXAMPLES, example_game
from tests.support.corpus import DATA
from tests.support.gltf_view import GltfView

WALKER = EXAMPLES / "walker.msh"
MODELS = sorted(DATA.glob("*.msh"))
CORPUS = os.environ.get("MSH_GLTF_CORPUS")


def models() -> list[MshModel]:
    """The bundled models, and those of the corpus where it is there."""
    found = [msh_gltf.read_msh(path) for path in (*MODELS, *sorted(EXAMPLES.glob("*.msh")))]
    games = sorted(Path(CORPUS).glob("*/game")) if CORPUS else []
    return [*found, *(model for game in games for model in msh_gltf.read_models(game))]


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
    assert untouched(msh_gltf.import_gltf(msh_gltf.to_pygltflib(model)), model)
    loaded = pygltflib.GLTF2.load_from_bytes(bytes(glb))
    assert untouched(msh_gltf.import_gltf(loaded, sidecar=made.sidecar), model)


@pytest.mark.parametrize("frame", [0, 1, 2.5])
def test_a_scene_of_trimesh_brings_the_bytes_back(model: MshModel, frame: float) -> None:
    scene = msh_gltf.to_trimesh(model, frame)
    if not scene.geometry:
        pytest.skip("the cell shows nothing")
    assert untouched(msh_gltf.import_gltf(scene), model)
    assert untouched(msh_gltf.import_gltf(scene.copy()), model)  # which drops normals


def test_the_document_is_what_pygltflib_loads(model: MshModel) -> None:
    made, loaded = msh_gltf.to_pygltflib(model), pygltflib.GLTF2.load_from_bytes(bytes(msh_gltf.to_glb(model)))
    assert gltf_asdict(made) == gltf_asdict(loaded)
    assert made.binary_blob() == loaded.binary_blob()
    assert made.to_json() == loaded.to_json()


# ------------------------------------------------------------------ trimesh


def posed_by_gltf(path: Path, frame: float) -> np.ndarray:
    """The triangles that the default scene of a .glb shows at a frame, by a second reader: (T, 3, 3), sorted."""
    view, found = GltfView(path), [np.zeros((0, 3, 3))]
    clip = view["animations"][0] if view["animations"] else {"samplers": []}
    times = [view.array(sampler["input"])[:, 0] * 24 for sampler in clip["samplers"][:1]]
    at = int(np.abs(times[0] - frame).argmin()) if times else None
    waiting = [*view["scenes"][0].get("nodes", [])]
    while waiting:
        number = waiting.pop()
        node = view["nodes"][number]
        waiting += node.get("children", [])
        matrix = view.world(number, at)
        for primitive in view["meshes"][node["mesh"]]["primitives"] if "mesh" in node else []:
            if primitive.get("mode", 4) == 4:
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
    size = float(np.ptp(expected.reshape(-1, 3), axis=0).max()) if len(expected) else 0.0
    if len(found):
        within = 1e-5 * max(size, 1.0)
        trees = cKDTree(expected.reshape(-1, 9)), cKDTree(found.reshape(-1, 9))
        # each triangle as often in both: some models have coincident ones
        times = [[len(near) for near in tree.query_ball_point(found.reshape(-1, 9), within)] for tree in trees]
        assert times[0] == times[1]
        assert min(times[0]) > 0


def test_a_part_is_a_geometry_with_its_materials() -> None:
    model = msh_gltf.read_msh(WALKER)
    scene = msh_gltf.to_trimesh(model)
    assert scene.graph.transforms.parents["turret"] == "Base_TM"
    base = scene.geometry["Base_TM"]
    assert [material.name for material in base.visual.material.materials] == ["armour", "glass"]
    assert base.face_attributes["material"].tolist() == [0] * 12 + [1] * 12
    assert scene.metadata["msh"]["source"] == "walker.msh"


def test_a_cell_is_chosen_by_stage_and_level() -> None:
    scene = msh_gltf.to_trimesh(msh_gltf.read_msh(WALKER), stage=1)
    assert {name.rpartition(".")[2] for name in scene.geometry} == {"stage1"}
    assert msh_gltf.import_gltf(scene).unchanged


def test_pictures_of_a_scene_are_there_and_edits_of_them_arrive() -> None:
    for model in msh_gltf.read_models(example_game() / "static.rlb"):
        scene = msh_gltf.to_trimesh(model)
        assert msh_gltf.import_gltf(scene).unchanged
        looks = [mesh.visual.material for mesh in scene.geometry.values()]
        materials = [material for look in looks for material in getattr(look, "materials", [look])]
        for material in (one for one in materials if one.baseColorTexture is not None):
            picture = material.baseColorTexture.convert("RGBA")
            picture.putpixel((0, 0), (1, 2, 3, 255))
            material.baseColorTexture = picture
            result = msh_gltf.import_gltf(scene)
            assert result.library or result.new_materials or result.not_applied
            assert not result.unchanged
            return
    pytest.fail("no picture")


def test_edits_of_a_scene_arrive() -> None:
    model = msh_gltf.read_msh(WALKER)
    scene = msh_gltf.to_trimesh(model, frame=3)
    scene.geometry["gun"].vertices *= 1.5
    base = scene.geometry["Base_TM"]
    base.update_faces(np.arange(24) >= 6)
    crate = trimesh.creation.box([0.2, 0.2, 0.2])
    crate.visual = trimesh.visual.TextureVisuals(material=base.visual.material.materials[0])
    scene.add_geometry(crate, node_name="crate", geom_name="crate")
    result = msh_gltf.import_gltf(scene)
    assert [str(change) for change in result.changes] == [
        "node 'crate': is new",
        "part 'Base_TM' stage 0 level 0: 24 triangles became 18",
        "part 'gun' stage 0 level 0: positions or texture coordinates changed on 24 of 24 triangles",
        "part 'crate' stage 0 level 0: is new",
    ]
    assert result.not_applied == []


def test_a_mesh_becomes_a_new_model() -> None:
    result = msh_gltf.import_gltf(trimesh.creation.box())
    assert result.rebuilt
    assert result.warnings == ["no materials in the file: its faces have row 0 (DEFAULT)"]
    with pytest.raises(ConversionError, match="has no triangles"):
        msh_gltf.import_gltf(trimesh.Scene())


# ------------------------------------------------------------------ sidecars and errors


def test_an_object_keeps_its_sidecar_and_copies_do() -> None:
    gltf = msh_gltf.to_pygltflib(msh_gltf.read_msh(WALKER))
    assert msh_gltf.import_gltf(copy.deepcopy(gltf)).unchanged
    written = b"".join(gltf.save_to_bytes())
    with pytest.raises(ConversionError, match=r"sidecar is missing \(expected walker.msh-sidecar\)"):
        msh_gltf.import_gltf(written)
    with pytest.raises(ConversionError, match="sidecar is missing"):
        msh_gltf.import_gltf(bytes(msh_gltf.to_glb(msh_gltf.read_msh(WALKER))))


def test_a_loaded_document_finds_the_sidecar_beside_its_file(tmp_path: Path) -> None:
    for name in ("walker.glb", "walker.gltf"):
        msh_gltf.export_gltf(msh_gltf.read_msh(WALKER), tmp_path / name, force=True)
        assert msh_gltf.import_gltf(pygltflib.GLTF2().load(tmp_path / name)).unchanged
        with open(tmp_path / name, "rb") as file:
            assert msh_gltf.import_gltf(file).unchanged


def test_bytes_do_not_find_what_lies_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    msh_gltf.export_gltf(msh_gltf.read_msh(WALKER), "model.glb")
    foreign = trimesh.Scene(trimesh.creation.box()).export(file_type="glb")
    result = msh_gltf.import_gltf(foreign)
    assert result.rebuilt
    assert not any("sidecar" in warning for warning in result.warnings)


def test_a_document_whose_buffer_is_a_file_is_refused(tmp_path: Path) -> None:
    msh_gltf.export_gltf(msh_gltf.read_msh(WALKER), tmp_path / "walker.gltf")
    with pytest.raises(ConversionError, match="buffer 0 is a file, which bytes do not lead to"):
        msh_gltf.import_gltf((tmp_path / "walker.gltf").read_bytes())


def test_what_is_not_a_source_is_a_type_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"takes a path, bytes, a file, pygltflib\.GLTF2 or trimesh\.Scene, not int"):
        msh_gltf.import_gltf(3)  # type: ignore[arg-type]
    (tmp_path / "text.glb").write_text("no")
    with open(tmp_path / "text.glb") as file, pytest.raises(ConversionError, match="open for reading text"):
        msh_gltf.import_gltf(file)  # type: ignore[arg-type]


def test_pictures_beside_a_gltf_are_handed_over(tmp_path: Path) -> None:
    game = example_game()
    model = next(m for m in msh_gltf.read_models(game) if msh_gltf.to_trimesh(m).geometry)
    made = msh_gltf.export_gltf(model, options=ExportOptions(embed=False))
    assert all(data.startswith(b"\x89PNG") for data in made.images.values())
    out = msh_gltf.export_gltf(model, tmp_path / "out/model.glb", options=ExportOptions(embed=False))
    assert {path.relative_to(tmp_path / "out").as_posix() for path in out.files if path.suffix == ".png"} == set(
        made.images
    )
    assert out.images == made.images
    assert not list(Path().glob("in memory"))


# ------------------------------------------------------------------ many models of an archive


def archive_of(folder: Path, names: list[tuple[bytes, int, bytes]]) -> Path:
    """An archive of entries: name, type, payload."""
    entries = [
        Entry(type_id, 0, 0, 0, name.ljust(36, b"\0"), 0, row, data) for row, (name, type_id, data) in enumerate(names)
    ]
    path = folder / "many.rlb"
    path.write_bytes(write_nres(new_archive(entries, "many.rlb")))
    return path


def test_entries_of_one_name_have_their_own_lists_of_materials(tmp_path: Path) -> None:
    walker, mesh, wear = WALKER.read_bytes(), int.from_bytes(b"MESH", "little"), int.from_bytes(b"WEAR", "little")
    lists = [
        b"4\r\n" + b"".join(b"%d %s%d\r\n" % (row, word, row) for row in range(4)) for word in (b"first", b"other")
    ]
    rows = [(b"walker.msh", mesh, walker), (b"walker.wea", wear, lists[0])]
    rows += [(b"walker.msh", mesh, walker), (b"walker.wea", wear, lists[1])]
    found = [msh_gltf.to_pygltflib(model) for model in msh_gltf.read_models(archive_of(tmp_path, rows))]
    assert [gltf.materials[0].name[:5] for gltf in found] == ["first", "other"]


def test_no_model_of_an_archive_is_read_twice(tmp_path: Path) -> None:
    walker, mesh = WALKER.read_bytes(), int.from_bytes(b"MESH", "little")
    path = archive_of(tmp_path, [(b"w%03d.msh" % i, mesh, walker) for i in range(20)])
    with (
        mock.patch.object(formats_of_models, "read_model", wraps=formats_of_models.read_model) as read,
        mock.patch.object(open_files, "open_nres", wraps=open_files.open_nres) as opened,
    ):
        glbs = [msh_gltf.to_glb(model) for model in msh_gltf.read_models(path)]
    assert len({bytes(glb) for glb in glbs}) == 20  # each names its source
    assert [call.args[1] for call in read.call_args_list] == [f"w{i:03}.msh" for i in range(20)]
    assert [call.args[1] for call in opened.call_args_list] == [str(path)]


def test_a_level_is_named_by_text() -> None:
    level = msh_gltf.load_level(str(DATA / "maps/spec__AutoMAP_00/Land"))
    assert level.terrain.streams
    with pytest.raises(ConversionError, match="a file of the level is missing"):
        msh_gltf.load_level("nowhere")


# ------------------------------------------------------------------ what is imported


def imported(code: str, cwd: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    "code",
    [
        "import msh_gltf; msh_gltf.to_glb(msh_gltf.read_msh('walker.msh'))",
        "import msh_gltf; g = msh_gltf.to_glb(msh_gltf.read_msh('walker.msh')); msh_gltf.import_gltf(g)",
        "import msh_gltf.objects",
    ],
)
def test_bytes_need_none_of_the_large_packages(code: str) -> None:
    assert not imported(code, EXAMPLES) & {"scipy", "trimesh", "pygltflib", "rich", "click"}


def test_open_gltf_reads_no_file_for_a_document_in_memory(tmp_path: Path) -> None:
    glb = msh_gltf.to_glb(msh_gltf.read_msh(WALKER))
    assert open_gltf(tmp_path / "nowhere.glb", GltfInMemory(glb)).folder is None
    assert read_nres(glb.sidecar[-len(WALKER.read_bytes()) :], "x").entries


def test_a_glb_is_shown_in_a_notebook() -> None:
    page = msh_gltf.to_glb(msh_gltf.read_msh(WALKER))._repr_html_()
    assert page.startswith("<iframe srcdoc=")
    assert page.count('"') == 8  # nothing ends the attribute early
