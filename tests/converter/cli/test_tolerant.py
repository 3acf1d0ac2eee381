"""``--tolerant``: what is left of broken models and maps, for the validator and for Blender."""

from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.blender import needs_blender, round_trip
from tests.support.runs import call
from tests.support.tolerant import LEFT_OUT
from tests.support.validator import issues


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, bytes]]:
    """Two samples of each kind that tolerant conversion can read, and their bytes."""
    folder = tmp_path_factory.mktemp("converted")
    out = []
    for number, kind in enumerate(LEFT_OUT):
        for case, _ in zip(kind.make(folder / str(number)), range(2), strict=False):
            target = folder / f"{number}_{case.sample}.glb"
            code = call(cli.msh2gltf, case.path, "-o", target, "-q", "--tolerant", "--no-textures")
            assert code == 0, kind.name
            out.append((target, case.path.read_bytes()))
    return out


def test_validator_is_silent(converted: list[tuple[Path, bytes]]) -> None:
    assert issues([path for path, _ in converted]) == {}


@needs_blender
def test_broken_models_come_back_through_blender(converted: list[tuple[Path, bytes]], tmp_path: Path) -> None:
    """Imported and exported with the stock add-on, nothing touched: the broken bytes; one sample of each kind."""
    one = {path.name.partition("_")[0]: (path, data) for path, data in reversed(converted)}.values()
    round_trip(tmp_path, *[path for path, _ in one])
    for path, data in one:
        for kind in ("plain", "extras"):
            back = import_gltf(tmp_path / kind / path.name, path.with_suffix(".msh-sidecar"))
            assert back.data == data, (path.name, kind, [str(c) for c in back.changes])
