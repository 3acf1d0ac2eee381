"""Sessions of commands, drawn at random and written down: what each prints, and what all files are then.

They stand in ``sessions.txt``; ``python -m tests.converter.game.test_sessions`` writes it again, for you to read what
became different.
"""

import json
import random
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
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
#: Sessions of the whole example game, which are no matter of chance: what is typed and edited, step by step.
WRITTEN = {
    "outputs": """
msh2gltf game -o out -j 1 --clips states --report report.json
delete out/static.rlb/s_tree_01.glb
move out/turrets.rlb/e_tur_01.glb
delete out/turrets.rlb/e_tur_01.msh-sidecar
reformat out/turrets.rlb/e_tur_02.glb
paint out/textures/wall.0.png
msh2gltf game -o out -j 1 --clips states --report report.json
msh2gltf game -o out -j 1 --report report.json
patch game/static.rlb
clutter game
msh2gltf game -o out -j 1 --clips states --report report.json -v
msh2gltf game -o out -j 1 --clips states --report report.json --force --no-sidecar --exclude *turrets* --exclude readme*
msh2gltf game/a -o none -j 1
clutter out
copy out/static.rlb/r_h_01.glb
gltf2msh out --game game -o new -j 1 --report report.json -v
gltf2msh out --game game -o new -j 1 --no-sidecar --force --report report.json
msh2gltf game/static.rlb game/UNITS -o some -j 1 --only units --only models --parts all --no-points --report report.json
msh2gltf game/static.rlb game/UNITS -o some -j 1 --list -v
""",
    "placed": """
msh2gltf game -o out -j 1
raise out/MISSIONS/Single.01/data.glb door
raise out/UNITS/ROBOTS/walker.glb thigh_l
gltf2msh out --game game --in-place -j 1 --report report.json
gltf2msh out --game game --in-place -j 1 --report report.json
raise out/fortif.rlb/f_hangar.glb iHall
raise out/UNITS/ROBOTS/walker.glb foot_l
gltf2msh out --game game --in-place -j 1 --report report.json
msh-mod undo game
raise out/MISSIONS/Single.01/data.glb terrain
raise out/DATA/MAPS/Tut_1/Land.glb terrain
gltf2msh out --game game -o new -j 1 --report report.json --require-all
gltf2msh out --game game -o new -j 1 --report report.json
patch game/bases.rlb
gltf2msh out --game game --in-place -j 1 --report report.json
gltf2msh out --game game --in-place -j 1 --report report.json --force
colour out/MISSIONS/Single.01/data.glb
delete out/fortif.rlb/f_hangar.glb
gltf2msh out --game game/UNITS --in-place -j 1 --report report.json
gltf2msh out --game game --in-place -j 1 --own-materials --report report.json
msh2gltf game/UNITS -o part -j 1
raise part/ROBOTS/walker.glb shin_l
gltf2msh part --game game/UNITS --in-place -j 1 --report report.json
msh-mod status game
msh-mod restore game
""",
    "folders": """
unpack game/Material.lib
unpack game/Textures.lib
unpack game/turrets.rlb
msh2gltf game -o out -j 1 --report report.json
colour out/turrets.rlb/e_tur_01.glb
paint out/textures/armour.0.png
move out/turrets.rlb/e_tur_02.glb
gltf2msh out --game game --in-place -j 1 --report report.json
gltf2msh out --game game --in-place -j 1 --report report.json
rename out/turrets.rlb/e_tur_02.glb
copy out/turrets.rlb/e_tur_02.glb
paint out/textures/armour.0.png
gltf2msh out --game game --in-place -j 1 --add --like glass --report report.json
rename out/turrets.rlb/e_tur_01.glb
gltf2msh out --game game --in-place -j 1 --add --like armour --report report.json
gltf2msh game/Material.lib --pack packed/Material.lib
gltf2msh game/turrets.rlb --pack packed/turrets.rlb
msh-inspect packed/Material.lib
msh-inspect --uses armour game
msh-mod status game --json
msh-mod undo game
msh2gltf game --unpack all --layout playground-packer
patch all/guns.rlb/0_MESH_r_dome.msh
gltf2msh all/guns.rlb --pack game/guns.rlb
gltf2msh all/guns.rlb --pack new/guns.rlb
msh2gltf game/guns.rlb --unpack listed --layout fparkan-validator
gltf2msh listed --pack new/guns.rlb
msh-mod restore game
""",
    "mods": """
msh2gltf game -o out -j 1
move out/turrets.rlb/e_tur_01.glb
paint out/textures/armour.0.png
colour out/static.rlb/s_tree_01.glb
gltf2msh out --game game --in-place -j 1 -q
msh-mod make game first.zip --name First --author Me --version 1
msh-mod make game part.zip --name Part --only turrets.rlb::*
msh-mod restore game
raise out/turrets.rlb/e_tur_01.glb Base_TM
raise out/DATA/MAPS/Tut_1/Land.glb terrain
gltf2msh out --game game --in-place -j 1 -q
msh-mod make game other.zip --name Other
msh-mod restore game
msh-mod install part.zip game
msh-mod install first.zip game
msh-mod install other.zip game
msh-mod install other.zip game
msh-mod list game --json
msh-mod show first.zip game --textures pictures
msh-mod remove part game
msh-mod remove Part game
msh-mod install first.zip game
msh-mod show first.zip
msh-mod status game
msh-mod remove Other game
patch game/turrets.rlb
msh-mod install other.zip game
msh-mod undo game --dry-run
msh-mod undo game 3
msh-mod restore game turrets.rlb
""",
}
#: Files that are no business of anybody.
CLUTTER = ("a.txt", "a.txt.bak", "b.OBJ", "a/c.gltf", "d.rlb", "textures/walls.jpg", "static/f.gltf")
#: What is another one in each run, or where bytes are packed otherwise.
OTHER = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+(\+00:00)?|[0-9a-f]{16,64}|[\d,.]+ ?(bytes|MB)|\"sizes\":[^}]*}")


def edit(what: str, path: Path, number: int, name: str = "") -> None:
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
        case "raise":
            document = Editable(path)
            node = next(one for one in document.json["nodes"] if one.get("name") == name and "mesh" in one)
            for primitive in document.json["meshes"][node["mesh"]]["primitives"]:
                document.arrays[primitive["attributes"]["POSITION"]][0, 1] += np.float32(number / 8)
            document.save(path)
        case "reformat":
            Editable(path).save(path.with_suffix(".gltf"))
            path.unlink()
        case "clutter":
            for place in (
                "a.txt",
                "a.txt.bak",
                "b.OBJ",
                "a/c.gltf",
                "d.rlb",
                "textures/walls.jpg",
                "turrets.rlb/f.gltf",
            ):
                if (path / place).parent.name != "turrets.rlb" or (path / place).parent.is_dir():
                    (path / place).parent.mkdir(exist_ok=True)
                    (path / place).write_bytes(b"NRes")
        case "unpack":
            run("msh2gltf", path, "--unpack", path.with_suffix(".d"), "-q")
            path.unlink()
            path.with_suffix(".d").rename(path)
        case "patch":
            archive = read_nres(path.read_bytes(), "")
            other = bytes(archive.entries[-1].payload)
            path.write_bytes(write_nres(replace_entry(archive, number % len(archive.entries), other)))


def drawn(number: int, folder: Path) -> Iterator[tuple[str, int]]:
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
        yield typed.replace("FILE", chance.choice(("static.rlb", "turrets.rlb"))).replace(" N", f" {n}"), n


def written(name: str, folder: Path) -> Iterator[tuple[str, int]]:
    """The same of a session that is written down."""
    shutil.copytree(example_game(), folder / "game")
    for number, typed in enumerate(WRITTEN[name].strip().splitlines(), 1):
        yield typed, number


def session(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """The steps of a session: what is typed, and what comes of it."""
    for step, (typed, number) in enumerate(written(name, folder) if name in WRITTEN else drawn(int(name), folder)):
        command, *words = typed.split()
        if command.startswith(("msh", "gltf")):
            said = run(command, *words, cwd=folder)
            lines = f"{said.stdout}\n{said.stderr}".replace(str(folder), "").strip().splitlines()
            last = lines[-1] if lines else ""
            whole = "".join(f"{said.stdout}{said.stderr}".split()).replace("".join(str(folder).split()), "")
            text = f"{said.returncode} {digest(OTHER.sub('', whole))} {OTHER.sub('', last)[:80]}"
        else:
            edit(command, folder / words[0], number, *words[1:])
            text = "edited"
        yield f"{name}.{step} {typed}", f"{text} {digest([*facts(folder)])}"


def stated(value: Any) -> Any:
    """JSON without what is another one in each run, or where bytes are packed otherwise."""
    if isinstance(value, dict):
        other = ("times", "converter", "key", "size", "frame", "library")
        return {key: stated(one) for key, one in value.items() if key not in other}
    return [*map(stated, value)] if isinstance(value, list) else value


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
        elif path.suffix == ".json":
            facts = stated(json.loads(path.read_text("utf-8")))
            yield name, digest(OTHER.sub("", json.dumps(facts).replace(str(folder), "")))
        elif path.suffix not in (".msh-sidecar", ".gltf"):
            yield name, digest(path.read_bytes())


NAMES = [*map(str, range(COUNT)), *WRITTEN]


@pytest.mark.parametrize("name", NAMES)
def test_a_session_is_what_it_was(name: str, tmp_path: Path) -> None:
    for step, text in session(name, tmp_path):
        SESSIONS.require(step, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        SESSIONS.write(row for name in NAMES for row in session(name, Path(place) / name))
