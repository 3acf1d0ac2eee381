"""A level is loaded in the runtime's order, whatever the case of its files."""

import shutil
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import load_level
from tests.support.maps import every_level, level_called

FILES = ("Land1.wea", "Land2.wea", "Land.map", "Land.msh")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        shutil.copy(level_called("spec__AutoMAP_00").folder / name, tmp_path / name)
    return tmp_path


@every_level
def test_levels_of_the_corpus(level) -> None:
    """Also ``LAND1.WEA``, as one of them has it."""
    loaded = load_level(level.base)
    assert [f for _, f in loaded.findings if f.severity != "note"] == []
    assert loaded.wear == [name for _, name in level.facts("terrain")["materials1"]]
    assert loaded.micro == [name for _, name in level.facts("terrain")["materials2"]]
    assert len(loaded.areals.records) == level.facts("areal")["areals"]
    assert len(loaded.terrain.faces) == level.facts("terrain")["counts"]["faces"]


@pytest.mark.parametrize("name", FILES)
def test_missing_files_in_order(name: str, folder: Path) -> None:
    """The first file that the game would miss is named."""
    for later in FILES[FILES.index(name) :]:
        (folder / later).unlink()
    with pytest.raises(ConversionError, match=f"{name}: a file of the level is missing"):
        load_level(folder / "Land")
    with pytest.raises(ConversionError, match="cannot be read"):
        load_level(folder / "nowhere" / "Land")


def test_broken_files(folder: Path) -> None:
    source = (folder / "Land.map").read_bytes()
    (folder / "Land.map").write_bytes(source[:-1])
    with pytest.raises(ConversionError, match=r"Land\.map.*total_size"):
        load_level(folder / "Land")
    (folder / "Land.map").write_bytes(source)
    (folder / "Land2.wea").write_text("nothing")
    with pytest.raises(ConversionError, match=r"Land2\.wea: is not a list of materials"):
        load_level(folder / "Land")
    loaded = load_level(folder / "Land", strict=False)
    assert [f.code for _, f in loaded.findings] == ["level-wear", "level-wear-parallel"]
