"""Files and folders that are dropped on a command in Explorer, from its own console: outputs beside them."""

import shutil
from pathlib import Path

import pytest

from tests.docs.materials import EXAMPLES, example_game
from tests.support.wine import entry_point, needs_windows, start_on_windows

pytestmark = needs_windows
#: Starts a command as Explorer does: in a console of its own, in a folder of the system's; Enter closes the window.
EXPLORER = """
import os, subprocess, sys
os.chdir(os.environ["SystemRoot"])
done = subprocess.run([sys.executable, "-c", *sys.argv[1:]], creationflags=subprocess.CREATE_NEW_CONSOLE,
                      input=b"\\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
sys.stdout.buffer.write(done.stdout)
sys.exit(done.returncode)
"""


def drop(command: str, *paths: Path) -> tuple[int, str]:
    with start_on_windows(EXPLORER, entry_point(command), *paths) as process:
        output = process.communicate(timeout=300)[0].decode("utf-8", "replace").replace("\r\n", "\n")
    assert output.rstrip().endswith("press Enter to close this window"), output
    return process.returncode, output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(example_game(), tmp_path / "Моя игра")
    shutil.copy(EXAMPLES / "walker.msh", tmp_path)
    return tmp_path


def test_files_and_a_game(folder: Path) -> None:
    """A model and back, beside it; a whole game into a folder beside it, and that back into the game."""
    code, output = drop("msh2gltf", folder / "walker.msh")
    assert code == 0, output
    assert (folder / "walker.glb").is_file()
    (folder / "walker.msh").rename(folder / "kept")
    code, output = drop("gltf2msh", folder / "walker.glb")
    assert code == 0, output
    assert (folder / "walker.msh").read_bytes() == (folder / "kept").read_bytes()
    code, output = drop("msh2gltf", folder / "Моя игра")
    assert code == 0, output
    assert (folder / "Моя игра_gltf/manifest.json").is_file()
    code, output = drop("msh-mod", folder / "Моя игра")
    assert (code, output.splitlines()[0]) == (0, "nothing was changed here")
    code, output = drop("msh-inspect", folder / "walker.msh")
    assert code == 0
    assert "walker.msh" in output
    shutil.copy(EXAMPLES / "edits/e_tur_01.glb", folder / "Моя игра_gltf/turrets.rlb")
    code, output = drop("gltf2msh", folder / "Моя игра_gltf")
    assert code == 0, output
    assert "1 model went into" in output
    code, output = drop("msh-mod", folder / "Моя игра")
    assert (code, output.splitlines()[0]) == (0, "turrets.rlb")
    (folder / "Моя игра_gltf").rename(folder / "моделі")
    code, output = drop("gltf2msh", folder / "моделі")
    assert code == 2
    assert "--game GAME_DIR" in output
