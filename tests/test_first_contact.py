"""``python3 dev.py demo`` where it cannot work: one of the right advice each, tried for real."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import environments

ROOT = Path(__file__).parents[1]


def old_pythons() -> list[Path]:
    """Pythons before 3.11 on this machine, by version."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [path for number in range(6, 11) for path in sorted(pyenv.glob(f"3.{number}.*/bin/python"))[-1:]]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="no Python before 3.11"))]  # type: ignore[list-item]


@pytest.mark.parametrize("python", old_pythons(), ids=lambda path: path and path.parts[-3])
def test_an_old_python_names_a_newer_one(python: Path, tmp_path: Path) -> None:
    """One that is on the PATH, and runs; else where to get one."""
    (tmp_path / "python3.14").write_text("#!/bin/sh\nexit 1\n")  # a shim that leads nowhere
    (tmp_path / "python3.13").symlink_to(sys.executable)
    (tmp_path / "python3.14").chmod(0o755)
    for path, expected in ((str(tmp_path), f"{tmp_path}/python3.13 dev.py demo"), ("", "uv run --no-project")):
        command = [str(python), "-B", str(ROOT / "dev.py"), "demo"]
        done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        assert expected in done.stdout


def test_an_old_python_gets_as_far_as_the_advice() -> None:
    """Also where none is installed: nothing in dev.py is newer than Python 3.6."""
    ast.parse((ROOT / "dev.py").read_text("utf-8"), feature_version=(3, 6))
    assert "from __future__" not in (ROOT / "dev.py").read_text("utf-8")


def refusal(venv: Path, *requirements: str) -> str:
    with pytest.raises(SystemExit) as refused:
        environments.install(venv, list(requirements), "")
    return str(refused.value)


def test_a_folder_that_cannot_be_written() -> None:
    assert "/proc cannot be written" in (said := refusal(Path("/proc/.venv"), "."))
    assert "Copy the project to a folder of your own" in said


def test_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip says why, above; what to do is ours."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    said = refusal(tmp_path / ".venv", "no-such-package-of-msh-gltf")
    assert "HTTPS_PROXY" in said
    assert "pip download" in said


def test_a_python_without_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian's is before python3-venv is installed."""
    (tmp_path / "venv.py").write_text("raise ModuleNotFoundError('No module named venv')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = refusal(tmp_path / ".venv", ".")
    assert "No module named venv" in said
    assert "sudo apt install python3-venv" in said
