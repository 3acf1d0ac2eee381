"""The built wheel, installed apart from the checkout: what a user gets from ``pip install``, with extras and without.

The environment has the dependencies of the one that runs the tests, but not its ``msh_gltf``; the last tests leave
in it links to the files of what the wheel needs, and no extra: everything works but what asks for one by name.
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
from tests.support.gltf_edit import Editable

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


# ------------------------------------------------------------------ with what it needs, and no extra


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
def light(scripts: Path) -> Path:
    """Leave the wheel and its dependencies alone in the environment, for all tests after it; returns its commands."""
    (site,) = scripts.parent.glob("lib/python*/site-packages")
    (site / "dependencies.pth").unlink()
    installed = Path(sysconfig.get_path("purelib"))
    for name in dependencies(site):
        for file in importlib.metadata.files(name) or []:
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(installed / top)
    code = f"from importlib.util import find_spec; print([n for n in {HEAVY} if find_spec(n)])"
    found = subprocess.run([scripts / "python", "-c", code], capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
    return scripts


def test_models_both_ways(light: Path, here: Path) -> None:
    for command, *arguments in (
        ("msh-inspect", "walker.msh"),
        ("msh-inspect", "--check", "walker.msh"),
        ("msh2gltf", "walker.msh", "-o", "out"),
        ("msh2gltf", "walker.msh", "-o", "out/walker.obj", "--no-sidecar"),
        ("gltf2msh", "out/walker.glb", "-o", "back"),
        ("gltf2msh", "out/walker.glb", "-o", "new", "--no-sidecar"),
        ("gltf2msh", "out/walker.obj", "-o", "obj"),
    ):
        done = run(light, command, *arguments, cwd=here)
        assert done.returncode == 0, (arguments, done.stderr)
    assert (here / "back/walker.msh").read_bytes() == (here / "walker.msh").read_bytes()


def test_a_game_both_ways(light: Path, here: Path) -> None:
    game(here / "GAME")
    for command in (
        ("msh2gltf", "GAME", "-o", "out", "-j", 2),
        ("gltf2msh", "out", "--game", "GAME", "-o", "new", "-j", 2),
    ):
        done = run(light, *command, cwd=here)
        assert done.returncode == 0, done.stderr
    assert (here / "out/textures").is_dir()
    assert snapshot(here / "new") == snapshot(here / "GAME")


@pytest.fixture
def tower(light: Path, here: Path) -> Path:
    """A folder with a model and a glTF of it, without a sidecar."""
    shutil.move(here / "walker.msh", here / "tower.msh")
    done = run(light, "msh2gltf", "tower.msh", "-o", "tower.glb", "--no-sidecar", cwd=here)
    assert done.returncode == 0, done.stderr
    return here


@pytest.mark.parametrize(
    ("command", "feature", "extra"),
    [
        ("msh2gltf . -o new --thumbnails", "--thumbnails", "preview"),
        ("msh2gltf . -o new --dask tcp://127.0.0.1:1", "--dask", "dask"),
    ],
)
def test_a_missing_extra_is_one_line(light: Path, tower: Path, command: str, feature: str, extra: str) -> None:
    name, *arguments = command.split()
    done = run(light, name, *arguments, cwd=tower)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{name}: error: ")
    assert done.stderr.endswith(f'{feature} needs more packages; pip install "msh-gltf[{extra}]"\n')
    assert len(done.stderr.splitlines()) == 1
    assert list((tower / "new").rglob("*.msh")) == list((tower / "new").rglob("*.glb")) == []


@pytest.mark.parametrize(
    ("mark", "command"),
    [
        ("pipx_metadata.json", 'pipx inject msh-gltf "distributed>=2024.5"'),
        ("uv-receipt.toml", 'uv tool install "msh-gltf[dask]"'),
    ],
)
def test_the_command_fits_the_installer(light: Path, tower: Path, mark: str, command: str) -> None:
    """Each puts a file of this name into the environment that it makes for a tool."""
    (light.parent / mark).touch()
    try:
        done = run(light, "msh2gltf", ".", "-o", "new", "--dask", "tcp://127.0.0.1:1", cwd=tower)
    finally:
        (light.parent / mark).unlink()
    assert done.stderr.endswith(f"--dask needs more packages; {command}\n")
    assert not list((tower / "new").rglob("*.glb"))


def test_in_a_run_only_the_files_that_need_it_fail(light: Path, here: Path) -> None:
    make_game(here / "GAME")
    assert run(light, "msh2gltf", "GAME", "-o", "out", "-q", cwd=here).returncode == 0
    packed, edited = here / "out/static.rlb/i_room_006.glb", here / "out/static.rlb/R_H_002.glb"
    document = Editable(packed)
    document.primitives()[0]["extensions"] = {
        "KHR_draco_mesh_compression": {"bufferView": 0, "attributes": {"POSITION": 0}}
    }
    document.save(packed)
    document = Editable(edited)
    document.json["nodes"][0]["translation"] = [1, 2, 3]
    document.save(edited)
    done = run(light, "gltf2msh", "out", "--game", "GAME", "-o", "new", "-q", cwd=here)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("gltf2msh: static.rlb::i_room_006.msh: ")
    assert 'pip install "msh-gltf[draco]", or clear Compression' in line
    before, after = snapshot(here / "GAME"), snapshot(here / "new")
    assert [name for name in before if after[name] != before[name]] == ["static.rlb"]
