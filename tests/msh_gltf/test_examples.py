"""The examples in the docstrings of the API are run, as a user would type them."""

import doctest
import shutil
from pathlib import Path

import pytest

import msh_gltf
from msh_gltf import api, objects
from tests.docs.materials import EXAMPLES

FUNCTIONS = [t for module in (api, objects) for t in doctest.DocTestFinder(recurse=True).find(module) if t.examples]


@pytest.mark.parametrize("example", FUNCTIONS, ids=lambda test: test.name)
def test_example(example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that holds the example models and their textures."""
    here = tmp_path / "here"
    here.mkdir()
    for path in [*EXAMPLES.glob("*.msh"), *EXAMPLES.glob("*.wea")]:
        shutil.copy(path, here)
    shutil.copytree(EXAMPLES / "textures", here / "textures")
    monkeypatch.chdir(here)
    example.globs |= {"Path": Path, **{name: getattr(msh_gltf, name) for name in msh_gltf.__all__}}
    lines: list[str] = []
    failed, attempted = doctest.DocTestRunner().run(example, out=lines.append)
    assert not failed, "".join(lines)
    assert attempted


def test_every_function_that_converts_has_an_example() -> None:
    converting = "read_msh read_models open_archive export_gltf to_glb to_pygltflib to_trimesh import_gltf write_msh"
    wanted = {*converting.split(), "convert_directory", "restore_directory", "check"}
    assert wanted <= {test.name.rpartition(".")[2] for test in FUNCTIONS}
