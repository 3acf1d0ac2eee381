"""What the commands print is safe for terminals, whatever names the files hold."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.corpus import DATA, sample_called
from tests.support.game import MESH, WEAR, archive, entry, model, write
from tests.support.gltf_edit import Editable
from tests.support.runs import run, to_gltf

#: Sets the window's title, colours what follows, clears the screen, reverses text, moves up a line.
EVIL = "\x1b]0;owned\x07\x1b[31m\x1b[2J"
GOOD, BROKEN = f"ok{EVIL}.msh", f"R{EVIL}.MSH"
NAMES = (GOOD, BROKEN, f"X{EVIL}.msh", f"none{EVIL}")
PACKAGE = Path(__file__).parents[3] / "converter"


def shown(*arguments: object, cwd: Path) -> str:
    """All that a command prints; what a terminal would obey is a failure."""
    done = run(str(arguments[0]), *arguments[1:], cwd=cwd)
    text = done.stdout + done.stderr
    bad = {c for c in text if not c.isprintable()} - {"\n", "\t"}
    assert not bad, f"{arguments}: {sorted(bad)}\n{text!r}"
    assert "Traceback" not in text
    assert "internal error" not in text
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive whose names are hostile: one model converts, two are broken; hostile files, and names in a glTF."""
    folder = tmp_path_factory.mktemp("names")
    data = model("retail__system__R_H_002")
    wear = (DATA / "retail__system__R_H_002.wea").read_bytes()
    entries = [
        entry(MESH, GOOD.encode("cp1251"), data),
        entry(WEAR, f"ok{EVIL}.wea".encode("cp1251"), wear),
        entry(MESH, BROKEN.encode("cp1251"), data[: len(data) // 2]),
        entry(MESH, f"X{EVIL}.msh".encode("cp1251"), b"NRes" + data[4:200]),
    ]
    write(folder / "game/static.rlb", archive(entries))
    write(folder / f"game/{EVIL.replace('/', '')}.rlb", archive(entries[:1]))
    write(folder / f"game/notes{EVIL}.msh", b"just text")
    document = Editable(to_gltf(sample_called("spec__system__R_H_002"), folder / "m.glb"))
    for key in ("nodes", "meshes", "materials", "animations", "scenes"):
        for item in document.json.get(key, [])[::2]:
            item["name"] = item.get("name", "") + EVIL + "\x9b\u202e\n"
    document.save(folder / f"e{EVIL.replace('/', '')}.glb")
    shown("msh2gltf", "game", "-o", "out", cwd=folder)
    return folder


#: What is typed in the folder; OUT is another one, and the names stand for those of the entries.
TYPED = """
msh2gltf game -o OUT
msh2gltf game -o OUT -q
msh2gltf game -o OUT -v
msh2gltf game -o OUT --dry-run
msh2gltf game -o OUT --strict -v
msh2gltf game -o OUT --tolerant -v
msh2gltf game -o OUT --list
msh2gltf game -o OUT --list -v
msh2gltf game -o OUT --fail-fast
msh2gltf game -o OUT -j 1
msh2gltf game -o OUT --include EVIL
msh2gltf game/static.rlb --entry NAME -o OUT/m.glb
msh2gltf game/static.rlb --entry NAME -o OUT/m.glb -q
msh2gltf game/static.rlb --entry NAME -o OUT/m.glb --strict -v
msh2gltf game/static.rlb --entry NAME -o OUT/m.glb --tolerant
msh-inspect game/static.rlb
msh-inspect game/static.rlb --json
msh-inspect game/static.rlb --entry NAME
msh-inspect game/static.rlb --entry NAME --json
msh-inspect --check game
msh-inspect --check game -q
msh-inspect --check game -v
msh-inspect --check game --json
msh-inspect --roundtrip game
msh-inspect --roundtrip game --json
msh-inspect --roundtrip game -q
msh-inspect game/notesEVIL.msh
msh-inspect noneEVIL.msh
msh-inspect --EVIL
gltf2msh out --game game -o OUT
gltf2msh out --game game -o OUT -q
gltf2msh out --game game -o OUT -v
gltf2msh out --game game -o OUT --dry-run
gltf2msh eEVIL.glb --sidecar m.msh-sidecar -o OUT/m.msh
gltf2msh eEVIL.glb --sidecar m.msh-sidecar -o OUT/m.msh -q
gltf2msh eEVIL.glb --sidecar m.msh-sidecar -o OUT/m.msh -v
gltf2msh eEVIL.glb --no-sidecar -o OUT/m.msh
gltf2msh eEVIL.glb --no-sidecar -o OUT/m.msh -v
""".strip().splitlines()


@pytest.mark.parametrize("typed", TYPED)
def test_a_terminal_obeys_nothing(folder: Path, tmp_path: Path, typed: str) -> None:
    for name in NAMES if "NAME" in typed else ("",):
        instead = {"NAME": name, "EVIL": EVIL, "OUT": str(tmp_path)}
        words = [re.sub("NAME|EVIL|OUT", lambda found, own=instead: own[found[0]], word) for word in typed.split()]
        shown(*words, cwd=folder)


def test_the_name_is_still_told(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    text = shown("msh2gltf", "game", "-o", tmp_path / "out", "--log-file", log, cwd=folder)
    assert r"static.rlb::R\x1b]0;owned\x07\x1b[31m\x1b[2J.MSH" in text
    assert "owned" in log.read_text("utf-8")
    assert "\x1b" not in log.read_text("utf-8")


def test_one_function_prints() -> None:
    """Names from files reach a terminal through ``say`` and ``console`` only."""
    prints = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"}
    found = {
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in prints
    }
    assert found == {"common.py"}
