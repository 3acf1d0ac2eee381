"""Names of cells, by row and column and as the game means them."""

from pathlib import Path

import pytest

from msh_gltf.converter.scene.dialect import PartName, node_of_part, read_part_name

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
