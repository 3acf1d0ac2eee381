"""What a repository's host and the package index show: addresses, citation, workflow, templates."""

import email
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from msh_gltf.converter import __version__

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
yaml = pytest.importorskip("yaml", reason="no PyYAML (the docs extra)")


def load(path: str) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load((ROOT / path).read_text("utf-8"))
    return found


def test_addresses_follow_the_one_setting() -> None:
    repository = PYPROJECT["tool"]["msh-gltf"]["repository"]
    urls = PYPROJECT["project"]["urls"]
    wanted = {
        "Repository": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
    }
    named = {name: urls[name] for name in wanted if name in urls}
    assert named == (wanted if repository else {})
    assert all(address.startswith("https://") for address in urls.values())


def description(folder: Path, repository: str) -> str:
    """What a package index shows of the project, once the setting names a repository."""
    for name in ("msh_gltf", "converter", "importers", "exporters", "docs/man"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    project = folder / "pyproject.toml"
    text = project.read_text("utf-8").replace('repository = ""', f'repository = "{repository}"')
    project.write_text(text, "utf-8")
    code = "from setuptools.build_meta import prepare_metadata_for_build_wheel as make; make('out')"
    (folder / "out").mkdir()
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (metadata,) = (folder / "out").glob("*.dist-info/METADATA")
    message = email.message_from_string(metadata.read_text("utf-8"))
    assert message["Description-Content-Type"] == "text/markdown"
    return str(message.get_payload())


def test_a_package_index_shows_the_readme(tmp_path: Path) -> None:
    """With addresses once the repository has one: links to pages, pictures as files."""
    pytest.importorskip("setuptools", minversion="77", reason="no setuptools that builds it")
    readme = (ROOT / "README.md").read_text("utf-8")
    (tmp_path / "without").mkdir()
    without = description(tmp_path / "without", "")
    assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)]+)\)", without))
    assert "Every option with an example: msh2gltf, gltf2msh," in without  # what is said stays
    assert without.count("\n## ") == readme.count("\n## ")
    (tmp_path / "with").mkdir()
    shown = description(tmp_path / "with", "https://host.org/us/it")
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", shown)
    assert len(targets) == len(re.findall(r"\]\(", readme)) > 30
    for picture, target in targets:
        assert target.startswith("https://"), target
        if target.startswith("https://host.org/us/it/"):
            kind, _, path = target.removeprefix("https://host.org/us/it/").partition("/main/")
            assert kind == ("raw" if picture else "blob"), target
            assert (ROOT / path.partition("#")[0]).is_file(), target
    outside = re.sub(r"\]\([^)]*\)", "", shown)
    assert outside.strip() == re.sub(r"\]\([^)]*\)", "", readme).strip()


def test_the_citation_is_of_this_version() -> None:
    citation = load("CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == PYPROJECT["project"]["license"]
    assert citation["title"] == PYPROJECT["project"]["name"]


def test_the_workflow_runs_the_gate() -> None:
    workflow = load(".github/workflows/gate.yml")
    steps = workflow["jobs"]["gate"]["steps"]  # type: ignore[index]
    assert [step["run"] for step in steps if "run" in step] == ["bash .ci/run"]
    (python,) = (s["with"]["python-version"] for s in steps if "setup-python" in s.get("uses", ""))
    assert PYPROJECT["project"]["requires-python"] == f">={python}"
    assert (ROOT / ".ci/run").read_text("utf-8").rstrip().endswith("python3 dev.py test")


@pytest.mark.parametrize("name", ["bug", "format"])
def test_issue_templates_are_forms(name: str) -> None:
    form = load(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= form.keys()
    parts = form["body"]
    assert isinstance(parts, list)
    assert len({part["id"] for part in parts}) == len(parts)
    assert all(part["attributes"]["label"] for part in parts)
