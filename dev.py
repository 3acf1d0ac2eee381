"""Set everything up and run it. Needs Python 3.11 or newer, nothing else.

    python3 dev.py demo         convert the bundled example both ways, and say where the files are
    python3 dev.py test         style, types, and all tests (arguments after it go to pytest;
                                --windows also tests CPython for Windows, under wine)
    python3 dev.py extension    the Blender extension: dist/msh_gltf-VERSION.zip
    python3 dev.py docs         the site, strictly built into site/ (--serve: shown while you write)
    python3 dev.py release      wheel, sdist, extension and site into dist/, checked

All but ``extension`` make their own virtual environments beside this file; nothing touches the
system's Python.
``test`` also installs Blender's ``bpy`` and Node's packages where it can; where it cannot, the
tests that need them are skipped and say so.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
BLENDER_VENV = HERE / ".venv-blender"
DOCS_VENV = HERE / ".venv-docs"
WINDOWS = HERE / "build" / "windows"
#: Where mypy finds the packages as they are installed, below one name.
TYPES = HERE / "build" / "types" / "msh_gltf"
#: What Node runs: the glTF validator, and what the gallery's viewer is built with.
NODE_FOLDERS = (HERE / "tests" / "validator", HERE / "viewer")
BPY_PYTHON = (3, 11)  # bpy exists for one Python version per release; see pyproject.toml


def main() -> int:
    if sys.version_info < (3, 11):
        print(f"dev.py needs Python 3.11 or newer; this is {sys.version.split()[0]}")
        return 2
    command, *more = sys.argv[1:] or ["help"]
    if command == "demo":
        return demo()
    if command == "test":
        return test(more)
    if command == "extension":
        return subprocess.run(
            [sys.executable, "-m", "blender_extension.build"], cwd=HERE, check=False
        ).returncode
    if command == "docs":
        return docs(serve="--serve" in more)
    if command == "release":
        return subprocess.run([sys.executable, "release.py"], cwd=HERE, check=False).returncode
    print(__doc__)
    return 0 if command in ("help", "-h", "--help") else 2


def demo() -> int:
    """One model to glTF and back, then compared byte by byte."""
    python = environment(VENV, [])
    out = HERE / "out"
    shutil.rmtree(out, ignore_errors=True)
    model, gltf, back = "examples/walker.msh", "out/walker.glb", "out/walker.msh"
    for command in (
        ["msh-inspect", model],
        ["msh2gltf", model, "-o", gltf],
        ["gltf2msh", gltf, "-o", back],
    ):
        print("\n$ " + " ".join(command), flush=True)
        job = [scripts(python) / command[0], *command[1:]]
        code = subprocess.run(job, cwd=HERE, check=False).returncode
        if code:
            return code
    same = (HERE / model).read_bytes() == (HERE / back).read_bytes()
    print(f"\n{back} is {'byte-identical to' if same else 'NOT the same as'} {model}")
    print(f"Open {gltf} in Blender (File > Import > glTF) or any glTF viewer.")
    return 0 if same else 1


def test(pytest_arguments: list[str]) -> int:
    """Everything that the gate checks."""
    python = environment(VENV, ["test"])
    settings = dict(os.environ)
    if blender := blender_python():
        settings["MSH_GLTF_BLENDER_PYTHON"] = str(blender)
    wanted = "--windows" in pytest_arguments
    pytest_arguments = [argument for argument in pytest_arguments if argument != "--windows"]
    if windows := windows_python(install_it=wanted):
        settings["MSH_GLTF_WINDOWS_PYTHON"] = str(windows)
    install_node_packages()
    link_packages()
    steps = [
        ["-m", "ruff", "check", "."],
        ["-m", "ruff", "format", "--check", "."],
        ["-m", "mypy"],
        # on all cores, a file in one piece: its tests share what they set up
        ["-m", "pytest", *(pytest_arguments or ["-n", "auto", "--dist", "loadfile"])],
    ]
    for step in steps:
        print("\n$ python " + " ".join(step), flush=True)
        code = subprocess.run([python, *step], cwd=HERE, env=settings, check=False).returncode
        if code:
            return code
    return 0


def docs(*, serve: bool) -> int:
    """The site, and every link of it looked at; or a server that follows what is written."""
    import tomllib  # not before main() has looked at Python's version

    extras = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = extras["optional-dependencies"]["docs"]
    python = install(DOCS_VENV, wanted, " ".join(wanted))
    settings = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    steps = [["-m", "mkdocs", "build", "--strict"], ["docs/check_links.py", "site"]]
    if serve:
        steps = [["-m", "mkdocs", "serve", "--no-strict", "--livereload"]]
    for step in steps:
        code = subprocess.run([python, *step], cwd=HERE, env=settings, check=False).returncode
        if code:
            return code
    return 0


def environment(venv: Path, extras: list[str]) -> Path:
    """The Python of a virtual environment with the project and some of its extras."""
    target = f"{HERE}[{','.join(extras)}]" if extras else str(HERE)
    return install(venv, ["-e", target], (HERE / "pyproject.toml").read_text("utf-8"))


def blender_python() -> Path | None:
    """A Python that can import bpy, or ``None`` and a line that says why."""
    if sys.version_info[:2] != BPY_PYTHON:
        wanted = ".".join(map(str, BPY_PYTHON))
        print(f"no Blender tests: bpy 5.0.1 is for Python {wanted}")
        return None
    try:
        python = install(BLENDER_VENV, ["bpy==5.0.1"], "bpy==5.0.1")
    except SystemExit as error:
        print(f"no Blender tests: {error}")
        return None
    answer = subprocess.run(
        [python, "-c", "import bpy"], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        reason = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[-1]
        print(f"no Blender tests: bpy does not start: {reason}")
        return None
    return python


def windows_python(*, install_it: bool) -> Path | None:
    """CPython for Windows in build/windows: installed on request, used where it is there."""
    import tomllib  # not before main() has looked at Python's version

    from tests.windows import install

    if not install_it and not (WINDOWS / "installed").is_file():
        return None
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    # newer NumPy and SciPy call what wine 8 does not have
    limits = ["numpy<2.2", "scipy<1.16", "colorama"]
    return install.windows_python(WINDOWS, HERE, [*project["dependencies"], *limits])


def link_packages() -> None:
    """Lay links to the packages below one name, as they are installed, for mypy.

    mypy does not run ``msh_gltf/__init__.py``, which shows Python the packages beside it.
    """
    TYPES.mkdir(parents=True, exist_ok=True)
    packages = [HERE / name for name in ("converter", "importers", "exporters")]
    for place in [*(HERE / "msh_gltf").glob("*.py"), *packages]:
        link = TYPES / place.name
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(place, target_is_directory=place.is_dir())


def install_node_packages() -> None:
    """The Khronos validator and the viewer's packages, where Node is present."""
    npm = shutil.which("npm")
    for folder in NODE_FOLDERS:
        if npm is None or (folder / "node_modules").is_dir():
            continue
        name = folder.relative_to(HERE)
        print(f"Installing what {name} needs ...", flush=True)
        command = "ci" if (folder / "package-lock.json").is_file() else "install"
        code = subprocess.run(
            [npm, command, "--no-save", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=folder,
            check=False,
        ).returncode
        if code:
            print(f"no tests of {name}: npm could not install its packages")


def install(venv: Path, requirements: list[str], recipe: str) -> Path:
    """Make a virtual environment and install into it, once per recipe; returns its Python."""
    stamp = venv / "installed"
    wanted = " ".join(requirements)
    recipe = hashlib.sha256(f"{recipe}{sys.version}".encode()).hexdigest()
    python = scripts(venv) / ("python.exe" if os.name == "nt" else "python")
    if stamp.is_file() and python.exists():
        # what `test` installed is enough for `demo`
        known, _, had = stamp.read_text().partition("\n")
        if known == recipe and had.startswith(wanted):
            return python
    print(f"Setting up {venv.name} (once) ...", flush=True)
    shutil.rmtree(venv, ignore_errors=True)
    pip = new_environment(venv, python)
    code = subprocess.run(
        [*pip, "install", "--quiet", "--disable-pip-version-check", *requirements], check=False
    ).returncode
    if code:
        raise SystemExit(f"pip could not install {' '.join(requirements)} into {venv.name}")
    stamp.write_text(f"{recipe}\n{wanted}")
    return python


def new_environment(venv: Path, python: Path) -> list[str | Path]:
    """A new virtual environment; returns the pip command that installs into it."""
    whole = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, check=False)
    if whole.returncode == 0:
        return [python, "-m", "pip"]
    # Debian's Python comes without ensurepip: an environment without pip, served by the system's
    bare = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", venv], capture_output=True, check=False
    )
    outer = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False
    )
    if bare.returncode == 0 and outer.returncode == 0:
        return [sys.executable, "-m", "pip", "--python", python]
    raise SystemExit(
        "This Python cannot make virtual environments. On Debian and Ubuntu: "
        "sudo apt install python3-venv"
    )


def scripts(where: Path) -> Path:
    """The folder of an environment's commands, given it or its Python."""
    if where.name.startswith("python"):
        return where.parent
    return where / ("Scripts" if os.name == "nt" else "bin")


if __name__ == "__main__":
    sys.exit(main())
