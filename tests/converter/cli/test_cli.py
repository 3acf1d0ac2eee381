"""The commands in processes of their own: standard output, names of any bytes, what a quick one imports."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from tests.docs.materials import EXAMPLES
from tests.support.corpus import sample_called
from tests.support.gltf_view import GltfView
from tests.support.recorded import shown
from tests.support.runs import SCRIPTS, call

ROBOT = sample_called("retail__odd__s_rock_009")


def piped(folder: Path, command: str, source: Path) -> bytes:
    """What a command writes to standard output, and nothing else anywhere."""
    before = list(folder.iterdir())
    done = subprocess.run([SCRIPTS / command, source, "-o", "-"], cwd=folder, capture_output=True, check=True)
    assert (done.stderr, list(folder.iterdir())) == (b"", before)
    return done.stdout


def test_standard_output(tmp_path: Path) -> None:
    (tmp_path / "piped.glb").write_bytes(piped(tmp_path, "msh2gltf", ROBOT.path))
    assert "sidecar" not in GltfView(tmp_path / "piped.glb").info
    assert call(cli.msh2gltf, ROBOT.path, "-o", tmp_path / "m.glb", "-q") == 0
    assert piped(tmp_path, "gltf2msh", tmp_path / "m.glb") == ROBOT.source
    picture = EXAMPLES / "building/BRICK.png"
    (tmp_path / "wall.0").write_bytes(piped(tmp_path, "gltf2msh", picture))
    (tmp_path / "back.png").write_bytes(piped(tmp_path, "msh2gltf", tmp_path / "wall.0"))
    assert shown(tmp_path / "back.png") == shown(picture)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has file names of any bytes")
def test_cp1251_file_names(tmp_path: Path) -> None:
    """Names as an old archive tool unpacks them: CP1251 bytes on a UTF-8 system."""
    name = os.fsdecode("робот".encode("cp1251"))
    shutil.copy(ROBOT.path, tmp_path / f"{name}.msh")
    for suffix in ("glb", "gltf"):
        target = tmp_path / "out" / f"{name}.{suffix}"
        assert call(cli.msh2gltf, tmp_path / f"{name}.msh", "-o", target, "--force") == 0
        assert GltfView(target).info["source"] == "робот.msh" if suffix == "glb" else True
        assert call(cli.gltf2msh, target, "-o", tmp_path / "b.msh", "--force") == 0
        assert (tmp_path / "b.msh").read_bytes() == ROBOT.source


LARGE = {"scipy", "trimesh", "pygltflib", "rich"}
#: What is typed, and what it may not import.
QUICK = {
    "msh2gltf --help": {"numpy", *LARGE},
    "gltf2msh --help": {"numpy", *LARGE},
    "msh-inspect --help": {"numpy", *LARGE},
    "msh-inspect --explain slot-box": LARGE,
    "msh2gltf robot.msh -o m.glb": LARGE | {f"msh_gltf.converter.{name}" for name in ("edits", "kinds.landscape")},
    "gltf2msh robot.glb -o m.msh": LARGE | {"msh_gltf.api", "msh_gltf.objects"},
}


@pytest.mark.parametrize("typed", QUICK)
def test_a_quick_command_imports_nothing_that_it_does_not_need(typed: str, tmp_path: Path) -> None:
    shutil.copy(ROBOT.path, tmp_path / "robot.msh")
    assert call(cli.msh2gltf, tmp_path / "robot.msh", "-o", tmp_path / "robot.glb", "-q") == 0
    command, *words = typed.split()
    code = (
        "import sys; from msh_gltf.converter import cli\n"
        f"try: cli.{command.replace('-', '_')}({words})\n"
        "except SystemExit as stop: assert not stop.code\n"
        f"found = {QUICK[typed]} & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)


def test_both_ways_without_the_large_packages(tmp_path: Path) -> None:
    """As in Blender, whose extension has none of the three."""
    code = (
        "import sys\n"
        "for name in ('scipy', 'trimesh', 'pygltflib'): sys.modules[name] = None\n"
        "import msh_gltf\n"
        f"model = msh_gltf.read_msh({str(ROBOT.path)!r})\n"
        "glb = msh_gltf.to_glb(model)\n"
        "assert msh_gltf.import_gltf(glb).unchanged\n"
        "new = msh_gltf.import_gltf(glb, options=msh_gltf.ImportOptions(use_sidecar=False))\n"
        "assert new.rebuilt\n"
        "for call in (msh_gltf.to_trimesh, msh_gltf.to_pygltflib):\n"
        "    try: call(model)\n"
        "    except msh_gltf.ConversionError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "a trimesh.Scene needs more packages; pip install trimesh",
        "glTF as objects needs more packages; pip install pygltflib",
    ]


def test_workers_get_settings_that_the_user_did_not_make() -> None:
    names = ["OPENBLAS_NUM_THREADS", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"]
    show = f"import os; print(*map(os.environ.get, {names}))"
    command = f"click.Command('x', callback=lambda: exec({show!r}))"
    code = f"import click; from msh_gltf.converter import cli; cli._run({command}, [])"
    free = {name: value for name, value in os.environ.items() if name not in names}
    for own, wanted in ({}, "1 4194304 16777216"), ({names[2]: "0"}, "1 4194304 0"):
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, env=free | own, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == wanted, done.stderr
