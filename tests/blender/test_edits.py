"""Edits that an artist makes in real Blender: they arrive, and touch only what they must."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.formats.model import MshModel, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.differences import diff_models
from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ExportOptions
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.part_places import displaced
from tests.support.runs import to_gltf

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")
pytestmark = pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
#: Edits that place nodes and parts.
PLACES = ("apply_transforms", "set_origin", "scale_all", "move_node_and_parts_apart")
EDITS = (
    "move_node",
    "rotate_at_frame",
    "move_vertex",
    "delete_face",
    "subdivide",
    "add_mesh_node",
    "rename",
    "reparent",
    "assign_material",
    "delete_part",
    "add_lod",
    "delete_cell",
    "move_part",
    "move_part_by_properties",
    "hide_parts",
    "apply_modifier",
    "flags_of_object",
    "flags_of_faces",
    *PLACES,
)
GEOMETRY = {"Res2", "Res3", "Res4", "Res5", "Res15", "Res13", "Res6", "Res7"}
SAMPLE, NODE, ROW = "retail__odd__l_mast_010", "mast_c_m5o2", 5
TRIANGLES = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model, and one file per edit."""
    out = tmp_path_factory.mktemp("edits")
    source = to_gltf(sample_called(SAMPLE), out / "model.glb")
    script = Path(__file__).parent / "edit.py"
    result = subprocess.run([BLENDER, script, source, out, NODE, *EDITS], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return out


def parse(data: bytes) -> MshModel:
    return read_model(read_nres(data, "x"), "x")


def edited(folder: Path, name: str) -> tuple[ImportResult, MshModel, MshModel, set[str]]:
    """What came back, the old and the new model, and the tables that differ."""
    back = import_gltf(folder / f"{name}.glb", folder / "model.msh-sidecar")
    old, new = parse(sample_called(SAMPLE).source), parse(back.data)
    tables = {
        "header" if "header" in item["table"] else item["table"].partition(" ")[0] for item in diff_models(old, new)
    }
    return back, old, new, tables


def test_move_node(folder: Path) -> None:
    back, old, new, tables = edited(folder, "move_node")
    assert [str(c) for c in back.changes] == [f"node '{NODE}': translation changed"]
    assert tables == {"Res8", "header"}
    moved = new.keys["position"] - old.keys["position"]
    assert not moved[:ROW].any()
    assert np.linalg.norm(moved[ROW]) == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("name", PLACES)
def test_parts_arrive_where_blender_shows_them(name: str, folder: Path, tmp_path: Path) -> None:
    back, *_ = edited(folder, name)
    assert (back.warnings, back.not_applied) == ([], [])
    (tmp_path / "again.msh").write_bytes(back.data)
    options = ExportOptions(dialect=back.dialect)
    loaded = load_file(tmp_path / "again.msh", None, options)
    for path, data in loaded.files(tmp_path / "again.glb", options):
        path.write_bytes(data)
    away = displaced(Editable(folder / f"{name}.glb"), Editable(tmp_path / "again.glb"))
    assert len(away) == 10
    assert max(away.values()) < 1e-4


def test_rotate_a_node_at_one_frame(folder: Path) -> None:
    """One key in Blender turns the node for good: the model has one frame."""
    _, old, new, tables = edited(folder, "rotate_at_frame")
    assert tables <= {"Res8", "header", "Res1", "Res19"}
    assert (new.keys["quaternion"][:ROW] == old.keys["quaternion"][:ROW]).all()
    assert (new.keys["quaternion"][ROW] != old.keys["quaternion"][ROW]).any()


def test_move_vertex(folder: Path) -> None:
    _, old, new, tables = edited(folder, "move_vertex")
    assert "Res3" in tables
    assert tables <= {"Res2", "Res3", "Res4", "Res7", "header"}  # no indices, batches, texture
    moved = np.flatnonzero((new.positions != old.positions).any(axis=1))
    assert len(moved) == 1
    assert np.abs(new.positions - old.positions).max() == pytest.approx(0.25, abs=1e-5)


def test_delete_face(folder: Path) -> None:
    back, old, new, tables = edited(folder, "delete_face")
    assert len(new.indices) == len(old.indices) - 3
    assert tables <= GEOMETRY | {"header"}
    assert back.changes[0].what == f"{TRIANGLES} triangles became {TRIANGLES - 1}"


def test_subdivide(folder: Path) -> None:
    _, old, new, tables = edited(folder, "subdivide")
    assert len(new.indices) == len(old.indices) + 9 * TRIANGLES
    assert tables <= GEOMETRY | {"header"}


def test_add_mesh_node(folder: Path) -> None:
    _, old, new, tables = edited(folder, "add_mesh_node")
    assert tables == GEOMETRY | {"header", "Res1", "Res8", "Res9", "Res10"}
    assert new.node_names[-1] == b"antenna"
    assert new.nodes["parent"][-1] == ROW
    for stream, table in old.streams.items():  # everything old is still there, in place
        assert stream == 1 or new.streams[stream][: len(table)].tobytes() == table.tobytes()


def test_rename(folder: Path) -> None:
    _, _, new, tables = edited(folder, "rename")
    assert tables == {"Res9"}
    assert new.node_names[ROW] == b"renamed"


def test_reparent(folder: Path) -> None:
    """Under the root, where it stands: the world pose stays."""
    _, _, new, tables = edited(folder, "reparent")
    assert tables == {"Res1", "Res8", "header"}
    assert new.nodes["parent"][ROW] == 0


def test_assign_material(folder: Path) -> None:
    _, old, new, tables = edited(folder, "assign_material")
    assert tables == {"Res13"}
    differ = old.batches.view("u1").reshape(-1, 20) != new.batches.view("u1").reshape(-1, 20)
    assert differ.any(axis=1).sum() == 1


def test_delete_part(folder: Path) -> None:
    _, old, new, tables = edited(folder, "delete_part")
    assert new.nodes["slot_index"][ROW, 0, 0] == 0xFFFF
    assert len(new.slots) == len(old.slots) - 1
    assert tables == (GEOMETRY | {"header", "Res1"})


def test_add_lod(folder: Path, tmp_path: Path) -> None:
    _, old, new, tables = edited(folder, "add_lod")
    """A copy of the mesh shows the same slot."""
    assert tables == {"Res1"}
    assert new.nodes["slot_index"][ROW, 2, 0] == old.nodes["slot_index"][ROW, 0, 0]


def test_delete_the_last_part_of_a_cell(folder: Path) -> None:
    back, old, new, _ = edited(folder, "delete_cell")
    assert (old.nodes["slot_index"][:, 0, 2] != 0xFFFF).sum() == 1
    assert (new.nodes["slot_index"][:, 0, 2] == 0xFFFF).all()
    assert [c.what for c in back.changes] == ["is missing"]
    assert back.not_applied == []
    assert len(new.slots) == len(old.slots) - 1


@pytest.mark.parametrize("name", ["move_part", "move_part_by_properties"])
def test_move_a_part_to_another_cell(folder: Path, name: str) -> None:
    """By its name, with custom properties that still say the old cell; and by these alone."""
    back, old, new, tables = edited(folder, name)
    assert tables == {"Res1"}
    assert (new.nodes["slot_index"][:, 0, 2] == 0xFFFF).all()
    assert (new.nodes["slot_index"][:, 1, 3] == old.nodes["slot_index"][:, 0, 2]).all()
    assert back.not_applied == []


def test_visible_objects_alone(folder: Path) -> None:
    back, old, _, tables = edited(folder, "hide_parts")
    assert tables == set()
    outside = (old.nodes["slot_index"] != 0xFFFF).sum() - (old.nodes["slot_index"][:, 0, 0] != 0xFFFF).sum()
    assert len(back.not_applied) == outside
    assert {one.what for one in back.not_applied} == {"is missing"}


def test_a_modifier_that_arrives_applied(folder: Path) -> None:
    back, _, new, tables = edited(folder, "apply_modifier")
    assert tables <= GEOMETRY | {"header"}
    slot = int(new.nodes["slot_index"][ROW, 0, 0])
    assert new.slots["tri_count"][slot] == 2 * TRIANGLES
    assert back.changes[0].what == f"{TRIANGLES} triangles became {2 * TRIANGLES}"


def flags(model: MshModel) -> np.ndarray:
    """Of the triangles of the edited part."""
    slot = model.slots[int(model.nodes["slot_index"][ROW, 0, 0])]
    assert model.triangles is not None
    return model.triangles["tri_flags"][int(slot["tri_start"]) :][: int(slot["tri_count"])]


def test_flags_of_an_object(folder: Path) -> None:
    """A custom property that somebody added in Blender."""
    _, old, new, tables = edited(folder, "flags_of_object")
    assert tables == {"Res7"}
    assert (flags(old) != 2).any()
    assert (flags(new) == 2).all()


def test_flags_of_single_faces(folder: Path) -> None:
    """A copy of the material with a custom property, on one face."""
    back, old, new, tables = edited(folder, "flags_of_faces")
    assert tables == {"Res7"}
    assert sorted(flags(new)[flags(new) != flags(old)]) == [34]
    assert back.not_applied == []


@pytest.mark.parametrize("name", EDITS)
def test_the_next_conversion_shows_the_edit(folder: Path, name: str, tmp_path: Path) -> None:
    """Converted out and back again, the edited model is unchanged."""
    back = import_gltf(folder / f"{name}.glb", folder / "model.msh-sidecar")
    (tmp_path / "e.msh").write_bytes(back.data)
    assert load_file(tmp_path / "e.msh", None, ExportOptions(dialect=back.dialect)).scene.parts

    loaded = load_file(tmp_path / "e.msh", None, ExportOptions(dialect=back.dialect))
    for path, data in loaded.files(tmp_path / "e.glb", ExportOptions()):
        path.write_bytes(data)
    again = import_gltf(tmp_path / "e.glb")
    assert again.kept_all
    assert again.data == back.data
