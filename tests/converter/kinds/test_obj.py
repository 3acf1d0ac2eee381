"""OBJ files to models: without a sidecar, and ours with theirs."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import StreamType, StringTable, write_model
from msh_gltf.converter.formats.sidecar import Description, Sidecar, sha256, write_sidecar
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.kinds.obj import import_obj, obj_files
from msh_gltf.converter.numeric.pose import rotation_matrix
from msh_gltf.converter.options import ExportOptions, ImportOptions
from msh_gltf.converter.scene.decode import rest_pose
from msh_gltf.converter.scene.scene import Scene
from msh_gltf.importers.obj import read_obj
from tests.support.corpus import Sample, every_sample, sample_called
from tests.support.obj import ANIMATED, as_blender_writes, scene_of, to_obj, triangles
from tests.support.runs import first_difference, to_gltf


@every_sample
def test_rebuilt_without_a_sidecar(sample: Sample, tmp_path: Path) -> None:
    """Every object a static node at the origin, its triangles where the OBJ has them."""
    path = to_obj(sample, tmp_path / "m.obj", frame=1.5, sidecar=False)
    given = read_obj(path)
    if not given.nodes:
        with pytest.raises(ConversionError, match="no nodes"):
            import_obj(path)
        return
    back = import_obj(path)
    assert back.rebuilt
    assert back.dialect == sample.dialect
    scene = scene_of(back)
    assert [n.name for n in scene.nodes] == [item.name for item in given.nodes]
    for i, node in enumerate(scene.nodes):
        assert (node.parent, node.translation.tolist()) == (-1, [0, 0, 0])
        np.testing.assert_array_equal(node.rotation, [1, 0, 0, 0])
        mine = [p for p in scene.parts if p.node == i]
        # degenerate triangles are not rebuilt
        flat = triangles(given, i)
        whole = ~(flat == np.roll(flat, 1, axis=1)).all(axis=-1).any(axis=1)
        assert sum(scene.triangle_count(p.mesh) for p in mine) >= whole.sum()
        assert {(p.lod, p.group) for p in mine} <= {(0, 0)}


def test_losses_are_said(tmp_path: Path) -> None:
    path = to_obj(sample_called(ANIMATED), tmp_path / "m.obj")
    (kept,) = [w for w in import_obj(path).warnings if "not in an OBJ" in w]
    (lost,) = [w for w in import_obj(path, None, ImportOptions(use_sidecar=False)).warnings if "are lost" in w]
    for words in (kept, lost):
        assert "hierarchy, animation, other stages and levels" in words


@every_sample
@pytest.mark.parametrize(("frame", "up"), [(0, "y"), (1.5, "z"), (1000, "y")])
def test_bytes_come_back(sample: Sample, frame: float, up: str, tmp_path: Path) -> None:
    back = import_obj(to_obj(sample, tmp_path / "m.obj", frame=frame, up=up))
    assert back.changes == []
    assert first_difference(sample.source, back.data) is None
    assert back.kept_all


@every_sample
@pytest.mark.parametrize(("lod", "group"), [(1, 0), (0, 1), (2, 4)])
def test_other_cells_come_back(sample: Sample, lod: int, group: int, tmp_path: Path) -> None:
    back = import_obj(to_obj(sample, tmp_path / "m.obj", lod=lod, group=group))
    assert back.changes == []
    assert first_difference(sample.source, back.data) is None


@every_sample
def test_rounding_is_no_edit(sample: Sample, tmp_path: Path) -> None:
    path = to_obj(sample, tmp_path / "m.obj", frame=2)
    path.write_text(as_blender_writes(path.read_text("utf-8")), "utf-8")
    back = import_obj(path, frame=2)
    assert [str(change) for change in back.changes] == []
    assert first_difference(sample.source, back.data) is None


def test_a_frame_that_is_not_said(tmp_path: Path) -> None:
    path = to_obj(sample_called(ANIMATED), tmp_path / "m.obj")
    text = path.read_text("utf-8")
    path.write_text(text.partition("\n")[2], "utf-8")
    back = import_obj(path)
    assert any("frame 0 is taken" in warning for warning in back.warnings)
    assert back.kept_all
    moved = to_obj(sample_called(ANIMATED), tmp_path / "n.obj", frame=7)
    moved.write_text(moved.read_text("utf-8").partition("\n")[2], "utf-8")
    assert import_obj(moved).changes
    assert import_obj(moved, frame=7).kept_all
    with pytest.raises(ConversionError, match="frame is no finite number"):
        import_obj(moved, frame=float("nan"))


class Editable:
    """Lines of an OBJ, and where each object's are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = path.read_text("utf-8").splitlines()

    def lines_of(self, name: str, word: str) -> list[int]:
        start = self.lines.index(f"o {name}")
        ends = [i for i, line in enumerate(self.lines) if line.startswith("o ") and i > start]
        stop = min(ends, default=len(self.lines))
        return [i for i in range(start, stop) if self.lines[i].split(" ")[0] == word]

    def save(self) -> ImportResult:
        self.path.write_text("\n".join(self.lines), "utf-8")
        return import_obj(self.path)


@pytest.fixture(params=[0, 4.5])
def document(request: pytest.FixtureRequest, tmp_path: Path) -> Editable:
    return Editable(to_obj(sample_called(ANIMATED), tmp_path / "m.obj", frame=request.param))


def before() -> Scene:
    sample = sample_called(ANIMATED)
    return load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).scene


def test_a_moved_vertex(document: Editable) -> None:
    """One vertex goes where the file has it, every other bit of geometry stays."""
    at = document.lines_of("foot_m2o3", "v")[0]
    x, y, z = document.lines[at].split()[1:]
    document.lines[at] = f"v {float(x) + 0.25} {y} {z}"
    back = document.save()
    assert {c.where for c in back.changes} == {"part 'foot_m2o3' stage 0 level 0"}
    old, new = before(), scene_of(back)
    assert [n.name for n in new.nodes] == [n.name for n in old.nodes]
    assert [n.parent for n in new.nodes] == [n.parent for n in old.nodes]
    assert len(new.tracks) == len(old.tracks)
    assert [p[:3] for p in new.parts] == [p[:3] for p in old.parts]
    moved = (old.streams.positions != new.streams.positions).any(axis=1)
    assert moved.sum() == 1
    shift = new.streams.positions[moved] - old.streams.positions[moved]
    np.testing.assert_allclose(np.linalg.norm(shift), 0.25, atol=1e-5)
    assert old.streams.uv0 is not None
    assert new.streams.uv0 is not None
    np.testing.assert_array_equal(old.streams.uv0, new.streams.uv0)
    if old.streams.uv1 is not None:
        np.testing.assert_array_equal(old.streams.uv1, new.streams.uv1)
    # and back again: what the edited model shows is what was in the file
    edited = document.path.with_name("edited.msh")
    edited.write_bytes(back.data)
    options = ExportOptions(dialect=back.dialect)
    frame = read_obj(document.path).info["frame"]
    made = obj_files(load_file(edited, None, options), edited, options=options, frame=frame)
    again = document.path.with_name("again.obj")
    again.write_bytes(made[-1][1])
    given, shown = read_obj(document.path), read_obj(again)
    for i in range(len(given.nodes)):
        np.testing.assert_allclose(triangles(given, i), triangles(shown, i), atol=1e-5)


def test_a_deleted_face(document: Editable) -> None:
    faces = document.lines_of("foot_m2o3", "f")
    del document.lines[faces[0]]
    back = document.save()
    assert [c.where for c in back.changes] == ["part 'foot_m2o3' stage 0 level 0"]
    old, new = before(), scene_of(back)
    count = {p[:3]: old.triangle_count(p.mesh) for p in old.parts}
    for part in new.parts:
        now = new.triangle_count(part.mesh)
        assert now == count[part[:3]] - (part[:3] == (2, 0, 0))
    # of what is left every vertex is a stored one, to the bit
    known = {row.tobytes() for row in old.streams.positions}
    assert {row.tobytes() for row in new.streams.positions} <= known


def test_a_deleted_object(document: Editable) -> None:
    start = document.lines.index("o foot_m2o3")
    for word in ("o", "g", "usemtl", "f"):
        for i in document.lines_of("foot_m2o3", word) if start >= 0 else []:
            document.lines[i] = "#" if word != "o" else document.lines[i]
    document.lines[start] = "#"
    changes = [str(c) for c in document.save().changes]
    assert changes == ["part 'foot_m2o3' stage 0 level 0: is missing"]


def test_a_new_object(document: Editable) -> None:
    document.lines += ["v 1 2 3", "v 2 2 3", "v 2 3 3", "o antenna", "f -3 -2 -1"]
    back = document.save()
    assert [str(c) for c in back.changes] == ["node 'antenna': is new", "part 'antenna' stage 0 level 0: is new"]
    scene = scene_of(back)
    (node,) = [i for i, n in enumerate(scene.nodes) if n.name == "antenna"]
    assert scene.nodes[node].parent == -1
    (part,) = [p for p in scene.parts if p.node == node]
    turn, shift = rest_pose(scene)
    primitive = scene.meshes[part.mesh].primitives[0]
    points = scene.streams.positions[primitive.vertex_start :][:3].astype(float)
    world = points @ rotation_matrix(turn[node]).T + shift[node]
    np.testing.assert_allclose(world, [[1, -3, 2], [2, -3, 2], [2, -3, 3]], atol=1e-6)


def test_a_copy_is_new(document: Editable) -> None:
    """Blender's Shift-D: the copy is a node of its own; alone it is the node itself."""
    start = document.lines.index("o foot_m2o3")
    faces = [document.lines[i] for i in document.lines_of("foot_m2o3", "f")]
    document.lines[start] = "o foot_m2o3.001"
    assert document.save().changes == []
    document.lines[start] = "o foot_m2o3"
    document.lines += ["o foot_m2o3.001", *faces]
    changes = [str(c) for c in document.save().changes]
    assert changes[0] == "node 'foot_m2o3.001': is new"
    assert all("foot_m2o3.001" in change for change in changes)


def test_another_material(document: Editable) -> None:
    names = sorted({line for line in document.lines if line.startswith("usemtl ")})
    at = document.lines_of("foot_m2o3", "usemtl")[0]
    document.lines[at] = next(name for name in names if name != document.lines[at])
    changes = [str(c) for c in document.save().changes]
    assert len(changes) == 1
    assert changes[0].startswith("part 'foot_m2o3' stage 0 level 0: materials changed")


def test_texture_and_normal_edits(document: Editable) -> None:
    at = document.lines_of("foot_m2o3", "vt")[0]
    u, v = map(float, document.lines[at].split()[1:])
    document.lines[at] = f"vt {u + 1 / 1024} {v}"
    normal = document.lines_of("foot_m3o2", "vn")[0]
    x, y, z = document.lines[normal].split()[1:]
    document.lines[normal] = f"vn {y} {z} {x}"
    changes = [str(c) for c in document.save().changes]
    assert len(changes) == 2
    assert "'foot_m2o3' stage 0 level 0: positions or texture coordinates changed" in changes[0]
    assert "'foot_m3o2' stage 0 level 0: normals changed" in changes[1]


def test_both_users_of_a_shared_slot(tmp_path: Path) -> None:
    """Two nodes draw one slot: an edit of one leaves the other as it was."""
    sample = sample_called("spec__odd__Gen_stat_011")
    scene = load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).scene
    shown = [p for p in scene.parts if (p.lod, p.group) == (0, 0)]
    mesh = next(p.mesh for p in shown if [q.mesh for q in shown].count(p.mesh) > 1)
    first, second, *_ = (scene.nodes[p.node].name for p in shown if p.mesh == mesh)
    document = Editable(to_obj(sample, tmp_path / "m.obj"))
    at = document.lines_of(first, "v")[0]
    x, y, z = document.lines[at].split()[1:]
    document.lines[at] = f"v {float(x) + 0.5} {y} {z}"
    back = document.save()
    assert [c.where for c in back.changes] == [f"part {first!r} lod 0 group 0"]
    rows = {row["name"]: row["status"] for row in back.report if row["what"] == "part"}
    assert rows[f"{first}.lod0.group0"] == "rebuilt"
    assert rows[f"{second}.lod0.group0"] == "kept"


def test_sidecar_of_another_model(tmp_path: Path) -> None:
    path = to_obj(sample_called(ANIMATED), tmp_path / "m.obj")
    other = to_obj(sample_called("spec__odd__B_PLANT_008"), tmp_path / "o.obj")
    with pytest.raises(ConversionError, match="belongs to another model"):
        import_obj(path, other.with_suffix(".msh-sidecar"))
    path.with_suffix(".msh-sidecar").unlink()
    with pytest.raises(ConversionError, match="its sidecar is missing"):
        import_obj(path)


def test_sidecar_of_a_terrain(tmp_path: Path) -> None:
    path = to_obj(sample_called(ANIMATED), tmp_path / "m.obj", sidecar=False)
    about = Description("x", sha256(b"x"), "", "", "", 0, 0, "0", [], kind="terrain")
    path.with_suffix(".msh-sidecar").write_bytes(write_sidecar(Sidecar(about, b"x")))
    with pytest.raises(ConversionError, match="sidecar is of a terrain"):
        import_obj(path)


@every_sample
def test_sidecar_of_a_gltf(sample: Sample, tmp_path: Path) -> None:
    """The sidecar that stands beside both belongs to both, whatever the glTF's clip holds."""
    path = to_obj(sample, tmp_path / "m.obj", frame=1)
    gltf = to_gltf(sample, tmp_path / "m.glb", "--keys", "--lod", 1, "--force")
    assert import_obj(path).kept_all
    assert import_gltf(gltf).kept_all


def far_model(folder: Path, distance: float) -> Path:
    """A model whose nodes stand so far away that float32 cannot tell its vertices apart."""
    sample = sample_called("retail__system__R_H_002")
    model = load_file(sample.path, None, ExportOptions(dialect=sample.dialect)).model
    keys = model.keys.copy()
    keys["position"] += np.float32(distance)
    model.streams[StreamType.KEYS] = keys
    path = folder / "far.msh"
    path.write_bytes(write_model(model))
    return path


def export(path: Path, target: Path) -> Path:
    options = ExportOptions(dialect="retail")
    for file, data in obj_files(load_file(path, None, options), target, options=options):
        file.write_bytes(data)
    return target


@pytest.mark.parametrize("distance", [1e3, 1e5, 1e7])
def test_vertices_that_fall_together_come_back(distance: float, tmp_path: Path) -> None:
    source = far_model(tmp_path, distance)
    path = export(source, tmp_path / "m.obj")
    back = import_obj(path)
    assert [str(c) for c in back.changes] == []
    assert back.data == source.read_bytes()


@pytest.mark.parametrize("distance", [1e2, 1e3])
def test_a_step_of_float32_is_no_edit(distance: float, tmp_path: Path) -> None:
    source = far_model(tmp_path, distance)
    path = export(source, tmp_path / "m.obj")
    lines = path.read_text("utf-8").splitlines()
    for i, line in enumerate(lines):
        if line.startswith("v "):
            numbers = np.array(line.split()[1:], np.float32)
            numbers = np.nextafter(numbers, np.float32(1e9 if i % 2 else -1e9))
            lines[i] = "v " + " ".join(f"{n:.9g}" for n in numbers)
    path.write_text("\n".join(lines), "utf-8")
    assert [str(c) for c in import_obj(path).changes] == []


def test_labels_are_kept(tmp_path: Path) -> None:
    sample = sample_called("retail__system__R_H_002")
    loaded = load_file(sample.path, None, ExportOptions(dialect="retail"))
    model, count = loaded.model, len(loaded.scene.nodes)
    model.strings = StringTable([b"socket\0"] * count)
    source = tmp_path / "labels.msh"
    source.write_bytes(write_model(model))
    options = ExportOptions(dialect="retail")
    assert load_file(source, None, options).scene.nodes[0].label == "socket"
    assert import_obj(export(source, tmp_path / "m.obj")).kept_all


def test_scaling_the_whole_file_is_an_edit(tmp_path: Path) -> None:
    document = Editable(to_obj(sample_called(ANIMATED), tmp_path / "m.obj"))
    for i, line in enumerate(document.lines):
        if line.startswith("v "):
            document.lines[i] = "v " + " ".join(str(float(n) * 1.001) for n in line.split()[1:])
    assert len(document.save().changes) > 1
