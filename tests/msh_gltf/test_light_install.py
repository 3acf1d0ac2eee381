"""The wheel with what it needs and no extra: everything works but what asks for one by name.

A real environment: links to the dependencies' files, as they are installed here.
"""

import importlib.metadata
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.docs.materials import game
from tests.msh_gltf.test_wheel import MISSING, here, run, scripts, wheel  # noqa: F401
from tests.support.game import make_game, snapshot
from tests.support.gltf_edit import Editable

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"no {' and no '.join(sorted(MISSING))}")
HEAVY = ("DracoPy", "distributed", "vtkmodules")


def dependencies(site: Path) -> set[str]:
    """The distributions that the wheel in an environment needs without an extra."""
    from packaging.requirements import Requirement

    (wheel,) = importlib.metadata.distributions(path=[str(site)])  # noqa: F811
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
def light(scripts: Path) -> Path:  # noqa: F811
    """Leave the wheel and its dependencies alone in the environment; returns its commands."""
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


def test_models_both_ways(light: Path, here: Path) -> None:  # noqa: F811
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


def test_a_game_both_ways(light: Path, here: Path) -> None:  # noqa: F811
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
def tower(light: Path, here: Path) -> Path:  # noqa: F811
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


def test_in_a_run_only_the_files_that_need_it_fail(light: Path, here: Path) -> None:  # noqa: F811
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
