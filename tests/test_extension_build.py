"""The extension's zip: no import by our names, the wheels listed, the same bytes every time."""

import ast
import hashlib
import re
import sys
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from blender_extension import build
from msh_gltf.converter import __version__

#: In Blender all extensions share one Python, where these may be anybody's.
OUR_NAMES = {"msh_gltf", *build.PACKAGES}
OUR_MODULE = re.compile(rf"({'|'.join(sorted(OUR_NAMES))})(\.\w+)+")
#: What modules of the zip may name: NumPy and bpy are Blender's, the rest is in the wheels.
AT_ONCE = {"bmesh", "bpy", "bpy_extras", "mathutils", "numpy"}
#: Imported inside functions that the extension does not call, but for scipy, which has a message.
LATER = {"PIL", "scipy", "rich", "trimesh", "pygltflib", "DracoPy", "distributed"}


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    return {name: data.decode() for name, data in build.sources()}


def test_imports_lead_to_modules_of_the_zip_or_to_what_is_there(modules: dict[str, str]) -> None:
    """Relative ones are walked by hand; others name none of ours, and at once nothing but Blender's."""
    paths, relative = set(modules), 0
    for name, source in modules.items():
        tree, package = ast.parse(source), PurePosixPath(name).parent.parts
        for node in ast.walk(tree):
            tops: set[str] = set()
            if isinstance(node, ast.Import):
                tops = {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                tops = {str(node.module).partition(".")[0]}
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1]
                assert len(base) == len(package) - node.level + 1, f"{name} leads out of the zip"
                target = "/".join([*base, *(node.module or "").split(".")]).rstrip("/")
                submodules = {f"{target}/{alias.name}.py".lstrip("/") for alias in node.names}
                assert {f"{target}.py", f"{target}/__init__.py"} & paths or submodules <= paths, name
                relative += 1
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not OUR_MODULE.fullmatch(node.value), f"{name}: what an import by text would take"
            tops -= set(sys.stdlib_module_names)
            assert tops <= (AT_ONCE if node in tree.body else AT_ONCE | LATER), name
    assert relative > 300


def test_manifest() -> None:
    needed = build.wheels()
    facts = tomllib.loads(build.manifest(needed))
    assert facts["schema_version"] == "1.0.0"
    assert facts["id"] == "msh_gltf"
    assert facts["version"] == __version__
    assert facts["type"] == "add-on"
    assert facts["license"] == ["SPDX:MIT"]
    assert facts["permissions"].keys() == {"files"}
    assert facts["wheels"] == [f"./wheels/{wheel.file}" for wheel in needed]
    assert len(facts["tagline"]) <= 64
    pillow = [wheel.file for wheel in needed if wheel.file.startswith("pillow")]
    for python in ("cp311", "cp313"):
        for platform in ("win_amd64", "manylinux", "macosx_11_0_arm64", "macosx_10"):
            assert sum(platform in file and python in file for file in pillow) == 1
    assert len(pillow) == 2 * len(facts["platforms"]) == 8
    assert "blender_version_max" not in facts


def test_wheels_satisfy_the_project() -> None:
    """What is pinned for Blender is what ``pyproject.toml`` asks for."""
    from packaging.requirements import Requirement

    project = tomllib.loads((build.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = {w.file.split("-")[0]: w.file.split("-")[1] for w in build.wheels()}
    asked = {r.name: r.specifier for r in map(Requirement, project["dependencies"])}
    assert asked["pillow"].contains(pinned["pillow"])


def test_a_wrong_hash_stops_the_build(tmp_path: Path) -> None:
    good = build.wheels()[0]
    bad = build.Wheel(good.file, "0" * 64)
    with pytest.raises(build.BuildError, match=f"pip cannot fetch {good.file}: "):
        build.fetch([bad], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_zip(tmp_path: Path) -> None:
    """Twice the same; wheels as they are; nothing but what belongs there."""
    try:
        first = build.build(tmp_path / "a")
    except build.BuildError as error:
        pytest.skip(f"no extension: {error}")
    second = build.build(tmp_path / "b")
    assert first.name == f"msh_gltf-{__version__}.zip"
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as file:
        names = set(file.namelist())
        assert {"__init__.py", "blender_manifest.toml", "LICENSE", "converter/kinds/dispatch.py"} <= names
        assert not any(n.startswith(("converter/cli", "tests", "blender_extension")) for n in names)
        for wheel in build.wheels():
            data = file.read(f"wheels/{wheel.file}")
            assert hashlib.sha256(data).hexdigest() == wheel.sha256
