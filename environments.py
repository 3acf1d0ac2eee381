"""Virtual environments beside the checkout: what ``dev.py`` installs and runs things with.

Each is made once per recipe; nothing touches the system's Python.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
DOCS_VENV = HERE / ".venv-docs"
WINDOWS = HERE / "build" / "windows"
#: Blender's versions: what pip installs, and the one Python that it runs on. A plain test run
#: installs the first one, and uses the others where they are installed.
BLENDERS = {
    "5.0": ("bpy==5.0.1", "3.11"),
    "4.2": ("bpy>=4.2,<4.3", "3.11"),
    "4.5": ("bpy>=4.5,<4.6", "3.11"),
    "5.1": ("bpy>=5.1,<5.2", "3.13"),
    "5.2": ("bpy>=5.2,<5.3", "3.13"),
}
#: Pythons in which the library's tests run, with the newest of what it needs.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def project() -> dict[str, Any]:
    """Return the project table of ``pyproject.toml``."""
    import tomllib  # not before dev.py has looked at Python's version

    table = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))
    return dict(table["project"])


def environment(extras: list[str], venv: Path = VENV, base: Path | None = None) -> Path:
    """Return the Python of an environment with the project and some of its extras."""
    target = f"{HERE}[{','.join(extras)}]" if extras else str(HERE)
    recipe = (HERE / "pyproject.toml").read_text("utf-8")
    return install(venv, ["-e", target], recipe, base)


def blenders(*, every: bool) -> dict[str, Path]:
    """Return the Pythons that can import bpy, by Blender's version; says why others cannot.

    Args:
        every: install all that can be had; else the first, and those that are there.
    """
    found = {}
    for number, (version, (requirement, python)) in enumerate(BLENDERS.items()):
        venv = HERE / (".venv-blender" if number == 0 else f".venv-blender-{version}")
        if number and not every and not (venv / "installed").is_file():
            continue
        try:
            found[version] = _blender(venv, requirement, python)
        except SystemExit as error:
            print(f"no tests in Blender {version}: {error}")
    return found


def _blender(venv: Path, requirement: str, version: str) -> Path:
    base = python_of(version)
    if base is None:
        raise SystemExit(f"{requirement} is for Python {version}, which is not installed")
    python = install(venv, [requirement], requirement, base)
    answer = subprocess.run([python, "-c", "import bpy, os; os._exit(0)"], capture_output=True, text=True, check=False)
    if answer.returncode:
        reason = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[-1]
        raise SystemExit(f"bpy does not start: {reason}")
    return python


def newest_blender_is_tested() -> bool:
    """Whether the newest bpy on PyPI is of a version in ``BLENDERS``; prints what is not."""
    base = python_of(max((python for _, python in BLENDERS.values()), key=_numbers))
    command = [base or sys.executable, "-m", "pip", "index", "versions", "bpy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"bpy \((\d+\.\d+)", done.stdout)
    if found is None:
        print("PyPI does not say which bpy is the newest")
        return True
    if found[1] not in BLENDERS:
        print(f"Blender {found[1]} is on PyPI and not tested: add it to BLENDERS")
    return found[1] in BLENDERS


def other_pythons() -> Iterator[tuple[str, Path]]:
    """Yield environments of the project in other Pythons than this one; says which are missing."""
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for version in PYTHONS:
        if version == own:
            continue
        base = python_of(version)
        if base is None:
            print(f"no tests in Python {version}: it is not installed")
            continue
        try:
            yield version, environment(["library-test"], HERE / f".venv-python-{version}", base)
        except SystemExit as error:
            print(f"no tests in Python {version}: {error}")


def newest_python() -> Path:
    """The Python of the project's environment in the newest one that is there."""
    version, base = next((one, found) for one in reversed(PYTHONS) if (found := python_of(one)))
    return environment(["library-test"], HERE / f".venv-python-{version}", base)


def python_of(version: str) -> Path | None:
    """Return a Python of a version: this one, one on the PATH, or one of pyenv's."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [*sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)]
    if on_path := shutil.which(f"python{version}"):
        places.append(Path(on_path))
    for place in places:  # a shim of pyenv's may be there and not run
        command = [place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return place
    return None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def windows_python(*, install_it: bool) -> Path | None:
    """Return CPython for Windows in build/windows: installed on request, used where it is there."""
    from tests.windows import install

    if not install_it and not (WINDOWS / "installed").is_file():
        return None
    dependencies = project()["dependencies"]
    # newer NumPy and SciPy call what wine 8 does not have
    limits = ["numpy<2.2", "scipy<1.16", "colorama"]
    return install.windows_python(WINDOWS, HERE, [*dependencies, *limits])


def install(venv: Path, requirements: list[str], recipe: str, base: Path | None = None) -> Path:
    """Make a virtual environment and install into it, once per recipe; return its Python.

    Args:
        venv: where.
        requirements: what pip installs.
        recipe: what a change of makes it again.
        base: the Python that it is made of; ``None`` = this one.
    """
    stamp = venv / "installed"
    wanted = " ".join(requirements)
    recipe = hashlib.sha256(f"{recipe}{base or sys.version}".encode()).hexdigest()
    python = scripts(venv) / ("python.exe" if os.name == "nt" else "python")
    if stamp.is_file() and python.exists():
        # what `test` installed is enough for `demo`
        known, _, had = stamp.read_text().partition("\n")
        if known == recipe and had.startswith(wanted):
            return python
    _require_place(venv)
    print(f"Setting up {venv.name} (once) ...", flush=True)
    shutil.rmtree(venv, ignore_errors=True)
    pip = _new_environment(venv, python, base or Path(sys.executable))
    code = subprocess.run(
        [*pip, "install", "--quiet", "--disable-pip-version-check", *requirements], check=False
    ).returncode
    if code:
        raise SystemExit(
            f"\npip could not install {' '.join(requirements)} into {venv.name}; the reason is above.\n"
            "It needs the internet once; behind a proxy, set HTTPS_PROXY=http://HOST:PORT. Without one, fetch\n"
            "the packages elsewhere, with the same system and Python: pip download setuptools wheel . -d FOLDER\n"
            "Copy the folder here, set PIP_NO_INDEX=1 and PIP_FIND_LINKS=FOLDER, and repeat the command."
        )
    stamp.write_text(f"{recipe}\n{wanted}")
    return python


def _require_place(venv: Path) -> None:
    """Stop where an environment cannot be made because nothing can be written there.

    Raises:
        SystemExit: with what to do.
    """
    try:
        with tempfile.TemporaryFile(dir=venv.parent):
            pass
    except OSError as error:
        raise SystemExit(
            f"{venv.parent} cannot be written ({error.strerror}), and the environment has its place there.\n"
            "Copy the project to a folder of your own, and run it there."
        ) from None


def _new_environment(venv: Path, python: Path, base: Path) -> list[str | Path]:
    """Make a virtual environment; return the pip command that installs into it."""
    whole = subprocess.run([base, "-m", "venv", venv], capture_output=True, check=False)
    if whole.returncode == 0:
        return [python, "-m", "pip"]
    # Debian's Python comes without ensurepip: an environment without pip, served by the system's
    bare = subprocess.run([base, "-m", "venv", "--without-pip", venv], capture_output=True, check=False)
    outer = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
    if bare.returncode == 0 and outer.returncode == 0:
        return [sys.executable, "-m", "pip", "--python", python]
    raise SystemExit(
        f"This Python cannot make virtual environments: {_last_line(bare)}\n"
        "On Debian and Ubuntu: sudo apt install python3-venv. Elsewhere take a Python of https://www.python.org/downloads"
    )


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


def scripts(where: Path) -> Path:
    """The folder of an environment's commands, given it or its Python."""
    if where.name.startswith("python"):
        return where.parent
    return where / ("Scripts" if os.name == "nt" else "bin")
