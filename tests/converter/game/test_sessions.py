"""Sessions of commands, drawn at random and written in ``typed.txt``: what each prints, and what all files are then.

That stands in ``sessions.txt``; ``python -m tests.converter.game.test_sessions [NAME ...]`` writes it again, for you to
read what became different.
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.converter.game.commands import MODELS, prepared
from tests.converter.game.contents import Files, files_of
from tests.converter.game.outcomes import apart, step
from tests.docs.materials import example_game
from tests.support.recorded import Recorded

SESSIONS = Recorded(__file__, "sessions.txt")
COUNT, LENGTH = 8, 30
#: What each begins with: a change of the game that a mod is made of.
FIRST = """
move out_a/turrets.rlb/e_tur_01.glb
gltf2msh out_a --game game --in-place -j 1
msh-mod make game mod.zip --name Mine --force
""".strip().splitlines()
#: What is typed; MODEL, OUT, FILE and N are drawn.
COMMANDS = """
gltf2msh OUT --game game --in-place -j 1
gltf2msh OUT --game game --in-place -j 1
gltf2msh OUT --game game --in-place -j 1 --dry-run -v
gltf2msh OUT --game game --in-place -j 1 --own-materials
gltf2msh OUT --game game --in-place -j 1 --add --tag stat
gltf2msh OUT --game game --in-place -j 1 --require-all
gltf2msh OUT --game game --in-place -j 1 --force --report report.json
gltf2msh OUT --game game -o new -j 1 --force
gltf2msh OUT/MODEL.glb -o alone.msh --force --explain
gltf2msh OUT/MODEL.glb --add --into game/FILE
gltf2msh picture.png --into game/Textures.lib
gltf2msh files --pack game/FILE
msh2gltf game -o OUT -j 1
msh2gltf game -o OUT -j 1 --force
msh2gltf game -o OUT -j 1 --only models --include *tree* --force --dry-run
msh2gltf game/FILE --unpack files --force
msh-inspect game --check
msh-inspect game/FILE
msh-mod status game
msh-mod status game --json
msh-mod undo game
msh-mod undo game N
msh-mod undo game N --dry-run
msh-mod restore game FILE
msh-mod restore game --dry-run
msh-mod make game mod.zip --name Mine --force
msh-mod make game mod.zip --name Part --only FILE --author Me --force
msh-mod show mod.zip
msh-mod show mod.zip game --json
msh-mod show mod.zip second --textures pictures
msh-mod install mod.zip second
msh-mod install mod.zip game
msh-mod list second
msh-mod remove Mine second
move OUT/MODEL.glb
move OUT/MODEL.glb
colour OUT/MODEL.glb
rename OUT/MODEL.glb
paint OUT/textures/bark.0.png
copy OUT/MODEL.glb
delete OUT/MODEL.glb
patch game/FILE
""".strip().splitlines()
#: Sessions that are no matter of chance: what is typed and edited, step by step.
TYPED = Path(__file__).with_name("typed.txt")
WRITTEN = {name: lines for name, *lines in (one.splitlines() for one in TYPED.read_text("utf-8").split("== ")[1:])}


def drawn(number: int, folder: Path) -> Iterator[tuple[int, str]]:
    """A session of chance on a small game: what is typed, and a number for edits."""
    chance = random.Random(number)
    shutil.copytree(prepared(), folder, dirs_exist_ok=True)
    shutil.copy(example_game() / "objects.rlb", folder / "game")
    shutil.copytree(folder / "game", folder / "second")
    Image.new("RGBA", (8, 8), (number, 0, 0, 255)).save(folder / "picture.png")
    for begin in (*FIRST, *[""] * LENGTH):
        n, model = chance.randrange(1, 5), chance.choice(MODELS)
        typed = (begin or chance.choice(COMMANDS)).replace("MODEL", model)
        typed = typed.replace("OUT", chance.choice(("out_a", "out_b")))
        yield n, typed.replace("FILE", chance.choice(("static.rlb", "turrets.rlb"))).replace(" N", f" {n}")


def session(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """The steps of a session: what is typed, and what comes of it."""
    steps = drawn(int(name), folder) if name not in WRITTEN else enumerate(filter(None, WRITTEN[name]))
    original: Files = {}
    known: list[str] = []
    for at, (number, typed) in enumerate(steps):
        original = original or files_of(folder / "game")
        text, games = step(typed, number, folder), [*apart(folder, original)]
        yield f"{name}.{at} {typed}", "".join([text, *(one for one in games if one not in known)])
        known = games


NAMES = [*map(str, range(COUNT)), *WRITTEN]


@pytest.mark.parametrize("name", NAMES)
def test_a_session_is_what_it_was(name: str, tmp_path: Path) -> None:
    for typed, text in session(name, tmp_path):
        SESSIONS.require(typed, text)


def main() -> None:
    """Write sessions again: those of the names that are given, or all."""
    with tempfile.TemporaryDirectory() as place:
        for name in sys.argv[1:] or NAMES:
            (Path(place) / name).mkdir()
            made = dict(session(name, Path(place) / name))
            SESSIONS.known = {typed: text for typed, text in SESSIONS.known.items() if typed.split(".")[0] != name}
            SESSIONS.known |= made
    SESSIONS.write(sorted(SESSIONS.known.items(), key=lambda row: NAMES.index(row[0].split(".")[0])))


if __name__ == "__main__":
    main()
