"""The extension in real Blender: installed from its zip, used as a modder does.

What the steps of ``extension_basics.py`` see stands in ``extension.txt``: what the panel says, and which files are
others then. ``python -m tests.blender.test_extension`` writes it again, for you to read what became different.
"""

import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from blender_extension import build
from msh_gltf.converter import cli
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.blender.run_extension import LEVEL, Seen, write, zip_file
from tests.support.blender import BLENDER
from tests.support.rebuilt import parse
from tests.support.recorded import Recorded
from tests.support.runs import call

__all__ = ["zip_file"]
RECORDED = Recorded(__file__, "extension.txt")
_NAMES = """namespace untouched textured reopened copied moved edited archive turret new_model errors
    same_names panel dialogs dropped switched_off maps"""
STEPS = _NAMES.split()


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("extension"), zip_file, STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_what_a_step_sees_is_what_was_recorded(seen: Seen, step: str) -> None:
    seen.require(step, RECORDED)


def by_command(glb: Path, source: Path, *entry: object) -> bytes:
    """What ``gltf2msh`` makes of a Blender export, with the sidecar of ``msh2gltf``."""
    made = glb.with_name(f"command_{glb.stem}.glb")
    assert call(cli.msh2gltf, source, "-o", made, "-q", *entry) == 0
    sidecar, target = made.with_suffix(".msh-sidecar"), made.with_suffix(".msh")
    assert call(cli.gltf2msh, glb, "--sidecar", sidecar, "-o", target, "-q") == 0
    return target.read_bytes()


def test_the_command_makes_the_same_of_what_blender_exports(seen: Seen) -> None:
    """But for what glTF rounds: the object's key, where its own node moves."""
    walker = seen.files / "models/walker.msh"
    moved, by_gltf = (seen.out / f"moved/moved.{suffix}" for suffix in ("msh", "glb"))
    ours, theirs = (parse(data).keys["position"] for data in (moved.read_bytes(), by_command(by_gltf, walker)))
    assert np.allclose(ours, theirs, atol=1e-6)
    level = by_command(seen.out / "maps/raised.glb", LEVEL / "Land.msh")
    assert level == (seen.out / "maps/raised.msh").read_bytes()
    new = import_gltf(seen.out / "new_model/new.glb", None, ImportOptions("retail"))
    assert new.data == (seen.out / "new_model/new.msh").read_bytes()
    archive = read_nres((seen.out / "archive/game/SYSTEM.RLB").read_bytes(), "x")
    bird = archive.entries[archive.find("птица.msh") or 0].payload
    assert bird == by_command(seen.out / "archive/bird.glb", seen.files / "game/SYSTEM.RLB", "--entry", "птица.msh")


def test_blender_finds_the_manifest_valid(zip_file: Path, tmp_path: Path) -> None:
    """Blender's own validator, with its list of tags; it does say no to another tag."""
    where = "import bpy, sys; sys.stdout.write(bpy.utils.system_resource('SCRIPTS'))"
    out = subprocess.run([BLENDER, "-c", where], capture_output=True, text=True, check=True).stdout
    scripts = Path(out.splitlines()[-1])
    tags = scripts / "modules/_bpy_internal/extensions/tags.py"
    tool = scripts / "addons_core/bl_pkg/cli/blender_ext.py"

    def validate(path: Path) -> subprocess.CompletedProcess[str]:
        command = [BLENDER, tool, "validate", path, "--valid-tags", tags]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = validate(zip_file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Success" in done.stdout
    with zipfile.ZipFile(zip_file) as file:
        file.extractall(tmp_path)
    manifest = tmp_path / build.MANIFEST
    manifest.write_text(manifest.read_text("utf-8").replace("Game Engine", "Games"), "utf-8")
    assert validate(tmp_path).returncode != 0


if __name__ == "__main__":
    write(RECORDED, STEPS)
