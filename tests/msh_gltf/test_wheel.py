"""The built wheel, installed apart from the checkout: what a user gets from ``pip install``.

The environment has the dependencies of the one that runs the tests, but not its ``msh_gltf``.
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

import environments
from msh_gltf import __version__
from tests.docs.materials import EXAMPLES
from tests.support.game import make_game, snapshot

ROOT = Path(__file__).parents[2]
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


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment of its own; returns the folder of its commands."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    commands = environments.scripts(venv)
    pip = [sys.executable, "-m", "pip", "--python", str(commands / "python")]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    where = subprocess.run([commands / "python", "-c", code], capture_output=True, text=True)
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(where.stdout.strip(), "dependencies.pth").write_text("\n".join(sorted(dependencies)))
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
    modules = {
        f"msh_gltf/{path.relative_to(ROOT).as_posix().removeprefix('msh_gltf/')}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
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
        ("msh-inspect", "--check", "walker.msh"),
        ("msh2gltf", "walker.msh", "-o", "out/walker.glb"),
        ("gltf2msh", "out/walker.glb", "-o", "back/walker.msh"),
        ("msh-mod", "status", "."),
    ):
        words = ("python", "-m", "msh_gltf", command) if module else (command,)
        done = run(scripts, *words, *arguments, cwd=here)
        assert (done.returncode, done.stderr) == (0, ""), arguments
    assert (here / "back/walker.msh").read_bytes() == (here / "walker.msh").read_bytes()


@pytest.mark.parametrize("start", ["forkserver", "spawn"])
def test_a_run_with_two_processes(start: str, scripts: Path, here: Path) -> None:
    game = make_game(here / "GAME")
    settings = {}
    if start == "spawn":  # the socket of a fork server does not fit into so long a path
        folder = here / ("long" * 30)
        folder.mkdir()
        settings["TMPDIR"] = str(folder)
    done = run(scripts, "msh2gltf", "GAME", "-o", "out", "-j", 2, cwd=here, **settings)
    assert done.returncode == 0, done.stderr
    back = ("out", "--game", "GAME", "-o", "new", "-j", 2)
    done = run(scripts, "gltf2msh", *back, cwd=here, **settings)
    assert done.returncode == 0, done.stderr
    assert snapshot(here / "new") == snapshot(game)


def test_a_traceback_names_the_package(scripts: Path, here: Path) -> None:
    code = (
        "import sys, msh_gltf.converter.formats.nres as nres, msh_gltf.__main__ as commands\n"
        "nres.read_nres = None\n"
        "sys.argv[1:] = ['msh2gltf', 'walker.msh']\n"
        "commands.main()\n"
    )
    done = run(scripts, "python", "-c", code, cwd=here, MSH_GLTF_TRACEBACK="1")
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    ours = [line for line in files if "converter" in line]
    assert ours
    assert all(str(Path("site-packages/msh_gltf/converter")) in line for line in ours)


def test_the_api(scripts: Path, here: Path) -> None:
    (here / "convert.py").write_text(
        "import msh_gltf\n"
        "model = msh_gltf.read_msh('walker.msh')\n"
        "msh_gltf.export_gltf(model, 'walker.glb')\n"
        "result = msh_gltf.import_gltf('walker.glb')\n"
        "msh_gltf.write_msh(result, 'back.msh')\n"
    )
    done = run(scripts, "python", "convert.py", cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (here / "back.msh").read_bytes() == (here / "walker.msh").read_bytes()
