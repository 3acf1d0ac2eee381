"""Sessions of commands, drawn at random: what each prints, and what the game's files and the outputs are then.

They stand in ``sessions.txt``; ``python -m tests.converter.game.test_sessions`` writes it again, for you to read what
became different.
"""

import random
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from tests.converter.game.commands import MODELS, move, prepared
from tests.docs.materials import example_game
from tests.support.gltf_edit import Editable
from tests.support.recorded import Recorded, digest, shown
from tests.support.runs import run

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
#: What is another one in each run, or where bytes are packed otherwise.
OTHER = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+(\+00:00)?|[0-9a-f]{16,64}|[\d,.]+ ?(bytes|MB)|\"sizes\":[^}]*}")


def edit(what: str, path: Path, number: int) -> None:
    """What an editor or another program does with a file that may be there."""
    if not path.exists():
        return
    match what:
        case "move":
            move(path, float(number))
        case "colour" | "rename":
            document = Editable(path)
            for material in document.json.get("materials", ())[:1]:
                material["pbrMetallicRoughness"]["baseColorFactor"] = [number / 10, 0.5, 0.5, 1.0]
                material["name"] = f"NEW_{number}" if what == "rename" else material["name"]
            document.save(path)
        case "paint":
            picture = Image.open(path).convert("RGBA")
            picture.putpixel((0, 0), (number, 0, 0, 255))
            picture.save(path)
        case "copy":
            shutil.copy(path, path.with_name(f"added_{number}.glb"))
        case "delete":
            path.unlink()
        case "patch":
            archive = read_nres(path.read_bytes(), "")
            other = bytes(archive.entries[-1].payload)
            path.write_bytes(write_nres(replace_entry(archive, number % len(archive.entries), other)))


def session(number: int, folder: Path) -> Iterator[tuple[str, str]]:
    """The steps of a session: what is typed, and what comes of it."""
    chance = random.Random(number)
    shutil.copytree(prepared(), folder, dirs_exist_ok=True)
    shutil.copy(example_game() / "objects.rlb", folder / "game")
    shutil.copytree(folder / "game", folder / "second")
    Image.new("RGBA", (8, 8), (number, 0, 0, 255)).save(folder / "picture.png")
    for step, begin in enumerate([*FIRST, *[""] * LENGTH]):
        n, model = chance.randrange(1, 5), chance.choice(MODELS)
        typed = (
            (begin or chance.choice(COMMANDS)).replace("MODEL", model).replace("OUT", chance.choice(("out_a", "out_b")))
        )
        typed = typed.replace("FILE", chance.choice(("static.rlb", "turrets.rlb"))).replace(" N", f" {n}")
        command, *words = typed.split()
        if command.startswith(("msh", "gltf")):
            said = run(command, *words, cwd=folder)
            lines = f"{said.stdout}\n{said.stderr}".replace(str(folder), "").strip().splitlines()
            whole = "".join(f"{said.stdout}{said.stderr}".split()).replace("".join(str(folder).split()), "")
            text = f"{said.returncode} {digest(OTHER.sub('', whole))} {OTHER.sub('', lines[-1])[:80]}"
        else:
            edit(command, folder / words[0], n)
            text = "edited"
        yield f"{number}.{step} {typed}", f"{text} {digest([*facts(folder)])}"


def facts(folder: Path) -> Iterator[tuple[str, str]]:
    """The files of games and outputs; of what a vault holds only how many, for it is packed."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if ".msh-gltf" in path.parts or path.is_dir():
            continue
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as mod:
                yield name, str(sorted(mod.namelist()))
        elif path.suffix in (".glb", ".png"):
            yield name, shown(path)
        elif path.suffix not in (".msh-sidecar", ".json"):
            yield name, digest(path.read_bytes())


@pytest.mark.parametrize("number", range(COUNT))
def test_a_session_is_what_it_was(number: int, tmp_path: Path) -> None:
    for name, text in session(number, tmp_path):
        SESSIONS.require(name, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        SESSIONS.write(row for i in range(COUNT) for row in session(i, Path(place) / str(i)))
