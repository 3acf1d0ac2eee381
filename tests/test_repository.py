"""What a repository's host and the package index show: addresses, citation, workflow, templates."""

from __future__ import annotations

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
