"""The built wheel, installed apart from the checkout: what a user gets from ``pip install``, without any extra.

The environment has links to the files of what the wheel needs: everything works but what asks for an extra by name.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import environments
from msh_gltf import __version__
from tests.docs.materials import EXAMPLES, game
from tests.support.game import make_game, snapshot

ROOT = Path(__file__).parents[2]
HEAVY = ("DracoPy", "distributed", "vtkmodules")
PACKAGES = ("msh_gltf", "converter", "exporters", "importers")
#: Asked by name: importing one of them would change how the others are found.
MISSING = {"pip", "setuptools"} - {found.name for found in importlib.metadata.distributions()}
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"no {' and no '.join(sorted(MISSING))}")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the sources, because setuptools leaves a ``build`` there."""
    source = tmp_path_factory.mktemp("wheel") / "source"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "docs/man", source / "docs/man")
    code = "from setuptools import build_meta; build_meta.build_wheel('dist')"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = (source / "dist").glob("*.whl")
    return built


def dependencies(site: Path) -> set[str]:
    """The distributions that the wheel in an environment needs without an extra."""
    (wheel,) = importlib.metadata.distributions(path=[str(site)])
    found: set[str] = set()
    ahead = [wheel]
    while ahead:
        rows = map(Requirement, ahead.pop().requires or [])
        needed = [row for row in rows if row.marker is None or row.marker.evaluate({"extra": ""})]
        names = {row.name for row in needed} - found
        ahead += map(importlib.metadata.distribution, names)
        found |= names
    return found


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and what it needs into an environment of its own; returns the folder of its commands."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    commands = environments.scripts(venv)
    pip = [sys.executable, "-m", "pip", "--python", str(commands / "python")]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    installed = Path(sysconfig.get_path("purelib"))
    for name in dependencies(site):
        for file in importlib.metadata.files(name) or []:
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(installed / top)
    code = f"from importlib.util import find_spec; print([n for n in {HEAVY} if find_spec(n)])"
    found = subprocess.run([commands / "python", "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
    return commands


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """An empty folder to work in, but for a model."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(EXAMPLES / "walker.msh", folder)
    return folder


def run(
    scripts: Path, command: str, *arguments: object, cwd: Path, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment; the checkout is nowhere on ``sys.path``."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [scripts / command, *map(str, arguments)],
        cwd=cwd,
        env=environment | settings,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_the_wheel_holds_one_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        about = f"msh_gltf-{__version__}.dist-info"
        assert opened.read(f"{about}/top_level.txt").split() == [b"msh_gltf"]
    manual = f"msh_gltf-{__version__}.data"
    assert {name.partition("/")[0] for name in names} == {"msh_gltf", about, manual}
    assert {name for name in names if name.startswith(manual)} == {
        f"{manual}/data/share/man/man1/{path.name}" for path in (ROOT / "docs/man").glob("*.1")
    }
    sources = [path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    modules = {f"msh_gltf/{path.removeprefix('msh_gltf/')}" for path in sources}
    packed = {name for name in names if name.startswith("msh_gltf/")}
    assert {name for name in packed if name.endswith(".py")} == modules
    site = {name for name in packed if "/game/site/" in name}
    assert len(site) == len(list((ROOT / "converter/game/site").iterdir()))
    assert packed == modules | site | {"msh_gltf/py.typed", "msh_gltf/converter/ru.po"}


def test_nothing_in_the_wheel_is_suspicious(wheel: Path) -> None:
    pytest.importorskip("check_wheel_contents", reason="no check-wheel-contents (the test extra)")
    command = [sys.executable, "-m", "check_wheel_contents", wheel]
    done = subprocess.run(command, capture_output=True, text=True, cwd=wheel.parent)
    assert (done.returncode, done.stdout.strip()) == (0, f"{wheel}: OK")


def test_what_is_imported_is_what_is_installed(scripts: Path, here: Path) -> None:
    code = (
        "import sys, msh_gltf, msh_gltf.api, msh_gltf.converter.cli\n"
        "print(*{m.__file__ for n, m in sys.modules.items() if n.startswith('msh_gltf')},"
        " sep='\\n')\n"
        "print(*[n for n in sys.modules if n in ('converter', 'importers', 'exporters')])\n"
    )
    done = run(scripts, "python", "-c", code, cwd=here)
    *files, others = done.stdout.split("\n")[:-1]
    assert (others, done.stderr) == ("", "")
    assert all(Path(file).is_relative_to(scripts.parent) for file in files)


@pytest.mark.parametrize("module", [False, True], ids=["entry point", "python -m"])
def test_the_commands(module: bool, scripts: Path, here: Path) -> None:
    for command, *arguments in (
        ("msh-inspect", "--version"),
        ("msh-inspect", "walker.msh"),
        ("msh-inspect", "--check", "walker.msh"),
        ("msh2gltf", "walker.msh", "-o", "out/walker.glb"),
        ("msh2gltf", "walker.msh", "-o", "out/walker.obj", "--no-sidecar"),
        ("gltf2msh", "out/walker.glb", "-o", "back/walker.msh"),
        ("gltf2msh", "out/walker.glb", "-o", "new", "--no-sidecar", "-q"),
        ("gltf2msh", "out/walker.obj", "-o", "obj", "-q"),
        ("msh-mod", "status", "."),
    ):
        words = ("python", "-m", "msh_gltf", command) if module else (command,)
        done = run(scripts, *words, *arguments, cwd=here)
        assert (done.returncode, "rror" in done.stderr) == (0, False), (arguments, done.stderr)
    assert (here / "back/walker.msh").read_bytes() == (here / "walker.msh").read_bytes()


@pytest.mark.parametrize("start", ["forkserver", "spawn"])
def test_a_run_with_two_processes(start: str, scripts: Path, here: Path) -> None:
    settings = {}
    if start == "spawn":  # the socket of a fork server does not fit into so long a path
        game(here / "GAME")
        settings["TMPDIR"] = str(here / ("long" * 30))
        Path(settings["TMPDIR"]).mkdir()
    else:
        make_game(here / "GAME")
    for command in (
        ("msh2gltf", "GAME", "-o", "out", "-j", 2),
        ("gltf2msh", "out", "--game", "GAME", "-o", "new", "-j", 2),
    ):
        done = run(scripts, *command, cwd=here, **settings)
        assert done.returncode == 0, done.stderr
    assert snapshot(here / "new") == snapshot(here / "GAME")
    assert (here / "out/textures").is_dir() == (start == "spawn")


@pytest.mark.parametrize(
    ("mark", "option", "said"),
    [
        ("", "--thumbnails", '--thumbnails needs more packages; pip install "msh-gltf[preview]"'),
        ("", "--dask tcp://127.0.0.1:1", '--dask needs more packages; pip install "msh-gltf[dask]"'),
        ("pipx_metadata.json", "--dask tcp://127.0.0.1:1", 'pipx inject msh-gltf "distributed>=2024.5"'),
        ("uv-receipt.toml", "--dask tcp://127.0.0.1:1", 'uv tool install "msh-gltf[dask]"'),
    ],
)
def test_a_missing_extra_is_one_line(mark: str, option: str, said: str, scripts: Path, here: Path) -> None:
    """It fits the installer, which puts a file of this name into the environment that it makes for a tool."""
    kept = scripts.parent / (mark or "none")
    kept.touch()
    done = run(scripts, "msh2gltf", ".", "-o", "new", *option.split(), cwd=here)
    kept.unlink()
    assert done.returncode == 2
    assert done.stderr.startswith("msh2gltf: error: ")
    assert done.stderr.endswith(f"{said}\n")
    assert len(done.stderr.splitlines()) == 1
    assert not list((here / "new").rglob("*.glb"))
