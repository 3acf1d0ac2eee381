"""Files and folders that are dropped on a command in Explorer, from its own console: outputs beside them."""

import shutil
from pathlib import Path

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


def drop(command: str, *paths: Path, fails: bool = False) -> str:
    with start_on_windows(EXPLORER, entry_point(command), *paths) as process:
        output = process.communicate(timeout=300)[0].decode("utf-8", "replace").replace("\r\n", "\n")
    assert process.returncode == (2 if fails else 0), output
    assert output.rstrip().endswith("press Enter to close this window"), output
    return output


def test_files_and_a_game(tmp_path: Path) -> None:
    """A model and back, beside it; a whole game into a folder beside it, and that back into the game."""
    game, models = tmp_path / "Моя игра", tmp_path / "Моя игра_gltf"
    shutil.copytree(example_game(), game)
    model = shutil.copy(EXAMPLES / "walker.msh", tmp_path / "walker.msh")
    drop("msh2gltf", model)
    model.rename(tmp_path / "kept")
    drop("gltf2msh", tmp_path / "walker.glb")
    assert model.read_bytes() == (tmp_path / "kept").read_bytes()
    assert "walker.msh" in drop("msh-inspect", model)
    drop("msh2gltf", game)
    assert drop("msh-mod", game).startswith("nothing was changed here\n")
    shutil.copy(EXAMPLES / "edits/e_tur_01.glb", models / "turrets.rlb")
    assert "1 model went into" in drop("gltf2msh", models)
    assert drop("msh-mod", game).startswith("turrets.rlb\n")
    assert "--game GAME_DIR" in drop("gltf2msh", models.rename(tmp_path / "моделі"), fails=True)
