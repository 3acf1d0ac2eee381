"""Names of cells, by row and column and as the game means them."""

from pathlib import Path

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.dialect import PartName, node_of_part, read_part_name
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import run, to_gltf

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("gun.lod1", ("gun", 1, 0, True)),
        ("gun.lod2.group4#7", ("gun", 2, 4, False)),
        ("gun.stage1", ("gun", 1, 0, False)),
        ("gun.level2", ("gun", 0, 2, False)),
        ("gun.stage2.level3", ("gun", 2, 3, False)),
        ("gun.view", ("gun", 0, 4, False)),
        ("gun.stage1.view", ("gun", 1, 4, False)),
        ("a.b.level1", ("a.b", 0, 1, False)),
    ],
)
def test_both_forms_are_read(name: str, stated: tuple[str, int, int, bool]) -> None:
    assert read_part_name(name) == PartName(*stated)
    assert node_of_part(name) == stated[0]


@pytest.mark.parametrize("name", ["gun", "gun.lod3", "gun.level4", "gun.stage", "level1", ".stage1", "gun.group1"])
def test_other_names_state_no_cell(name: str) -> None:
    assert read_part_name(name) is None
    assert node_of_part(name) == name


@pytest.mark.parametrize("extras", [True, False])
def test_exports_that_name_cells_by_row_and_column_come_back_unchanged(extras: bool, tmp_path: Path) -> None:
    """Older versions called them so in both dialects; without extras the names alone say which part is which."""
    run("msh2gltf", ROOT / "examples/walker.msh", "-o", tmp_path / "walker.glb")
    document = Editable(tmp_path / "walker.glb")
    by_row = {}
    for node in document.json["nodes"]:
        about = node["extras"]["msh"]
        owner = document.json["nodes"][about["node"]]["name"]
        if "lod" in about:
            by_row[node["name"]] = f"{owner}.lod{about['lod']}.group{about['group']}"
    for node in document.json["nodes"]:
        node["name"] = by_row.get(node["name"], node["name"])
    for mesh in document.json["meshes"]:
        mesh["name"] = by_row.get(mesh["name"], f"{mesh['name']}.lod0.group0")
    if not extras:
        for thing in [*document.json["nodes"], *document.json["meshes"]]:
            thing.pop("extras", None)
    assert len(by_row) == 9
    document.save(tmp_path / "walker.glb")
    result = import_gltf(tmp_path / "walker.glb")
    assert (result.unchanged, result.warnings, result.not_applied) == (True, [], [])


def test_the_mesh_of_an_older_export_says_which_node_was_renamed(tmp_path: Path) -> None:
    run("msh2gltf", ROOT / "examples/walker.msh", "-o", tmp_path / "walker.glb")
    document = Editable(tmp_path / "walker.glb")
    gun = document.node("gun")
    document.json["meshes"][gun["mesh"]]["name"] = "gun.lod0.group0"
    del document.json["meshes"][gun["mesh"]]["extras"], gun["extras"]
    gun["name"] = "cannon"
    document.save(tmp_path / "walker.glb")
    result = import_gltf(tmp_path / "walker.glb")
    assert [str(change) for change in result.changes] == ["node 'gun': renamed to 'cannon'"]


def test_an_export_without_anything_beside_it_says_nothing_of_its_own_stages(tmp_path: Path) -> None:
    """Its parts are called by row and column, which nobody does who means a level of detail."""
    document = Editable(to_gltf(sample_called("spec__odd__B_PLANT_008"), tmp_path / "m.glb"))
    assert any(".lod1.group" in node["name"] for node in document.json["nodes"])
    drop_extras(document)
    back = import_gltf(document.save(tmp_path / "e.glb"), None, ImportOptions(use_sidecar=False, dialect="retail"))
    assert [line for line in back.warnings if "damage stage" in line] == []
