"""Rules about the project itself: layers, README, packaging."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from converter import __version__
from tests.support.gltf_view import GltfView
from tests.support.runs import run

ROOT = Path(__file__).parent.parent
PACKAGES = ("converter", "importers", "exporters")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_layers(path: Path) -> None:
    """importers and exporters never meet; converter imports them in few places only."""
    names = imported(path)
    if "converter" in (path.parent.name, path.parent.parent.name):
        if not path.name.startswith("convert") and path.parent.name not in ("cli", "batch"):
            assert not names & {"importers", "exporters"}
    else:
        assert not names & ({"importers", "exporters"} - {path.parent.name})


def test_every_dependency_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.match(r"[\w-]+", text)[0] for text in declared["dependencies"]}
    used = set().union(*map(imported, SOURCES))
    assert used & {"numpy", "scipy", "click", "pygltflib", "trimesh", "rich"} <= names
    assert names == {"numpy", "scipy", "click", "pygltflib", "trimesh", "rich", "pillow"}


def test_packages_are_listed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    listed = settings["tool"]["setuptools"]["packages"]
    assert {name.partition(".")[0] for name in listed} == set(PACKAGES)
    found = {p.parent.relative_to(ROOT).as_posix().replace("/", ".") for p in SOURCES}
    assert found <= set(listed)
    assert all((ROOT / package / "py.typed").is_file() for package in PACKAGES)


def test_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    """Lines of the README's output are lines that the commands print today."""
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = run("msh2gltf", ROOT / "examples/walker.msh", "-o", tmp_path / "walker.glb").stdout
    for line in shown.splitlines():
        text = line.replace(f"{tmp_path}/", "out/")
        assert text in readme, text
    back = run("gltf2msh", tmp_path / "walker.glb", "-o", tmp_path / "walker.msh").stdout
    assert back.splitlines()[0] in readme
    assert (tmp_path / "walker.msh").read_bytes() == (ROOT / "examples/walker.msh").read_bytes()
    inspected = run("msh-inspect", ROOT / "examples/walker.msh").stdout
    for line in inspected.splitlines()[:4]:
        assert line.rstrip() in readme, line


def test_example_models_are_current(tmp_path: Path) -> None:
    """``examples/*.msh`` are what the script and gltf2msh make today."""
    script = ROOT / "examples/make_models.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, capture_output=True)
    for name in ("walker", "hangar", "tree"):
        target = tmp_path / f"{name}.msh"
        result = run("gltf2msh", tmp_path / f"{name}.glb", "-o", target, "--dialect", "retail")
        assert result.returncode == 0, result.stderr
        for suffix in (".msh", ".wea"):
            made, kept = tmp_path / f"{name}{suffix}", ROOT / "examples" / f"{name}{suffix}"
            assert made.read_bytes() == kept.read_bytes(), kept.name


def test_textures_of_the_examples_are_reproducible(tmp_path: Path) -> None:
    """``examples/textures`` is what the script makes today, and dresses every example."""
    script = ROOT / "examples/make_textures.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, capture_output=True)
    kept = ROOT / "examples/textures"
    for name in ("Material.lib", "Textures.lib"):
        assert (tmp_path / name).read_bytes() == (kept / name).read_bytes(), name
    for name in ("walker", "hangar", "tree"):
        target = tmp_path / f"{name}.glb"
        shown = run("msh2gltf", ROOT / f"examples/{name}.msh", "--textures", kept, "-o", target)
        assert (shown.returncode, shown.stderr) == (0, "")
        view = GltfView(target)
        assert all("baseColorTexture" in m["pbrMetallicRoughness"] for m in view["materials"])


def test_readme_links_exist() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_module_map_is_complete() -> None:
    """The architecture page names every module."""
    page = (ROOT / "docs/develop/architecture.md").read_text("utf-8")
    names = set(re.findall(r"\w+", page[page.index("## Where things live") :]))
    patterns = [re.compile(p.replace("*", r"\w*")) for p in re.findall(r"\w+\*", page)]
    for path in SOURCES:
        known = path.stem in names or any(p.fullmatch(path.stem) for p in patterns)
        folder = path.parent.name
        listed = folder in ("rules", "checks", "cli")  # as a whole
        assert known or listed or path.stem == "__init__", f"{folder}/{path.name}"


def test_version() -> None:
    assert run("msh2gltf", "--version").stdout.strip() == f"msh-gltf, version {__version__}"


def test_render_script_has_help() -> None:
    """It needs bpy; without it, Python says so and nothing else happens."""
    text = (ROOT / "examples/blender/preview.py").read_text("utf-8")
    assert ast.get_docstring(ast.parse(text))


def test_no_compiled_files_are_tracked() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a git checkout: nothing says which files are tracked")
    assert not re.search(r"__pycache__|node_modules|\.venv", tracked.stdout)
