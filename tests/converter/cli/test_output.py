"""What the commands print is safe for terminals, whatever names the files hold."""

import ast
from pathlib import Path

import pytest

from tests.support.corpus import DATA, sample_called
from tests.support.game import MESH, WEAR, archive, entry, model, write
from tests.support.gltf_edit import Editable
from tests.support.runs import run, to_gltf

#: Sets the window's title, colours what follows, clears the screen, reverses text, moves up a line.
EVIL = "\x1b]0;owned\x07\x1b[31m\x1b[2J"
GOOD, BROKEN = f"ok{EVIL}.msh", f"R{EVIL}.MSH"
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
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive whose names are hostile: one model converts, two are broken; and hostile files."""
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
    return folder


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-q",),
        ("-v",),
        ("--dry-run",),
        ("--strict", "-v"),
        ("--tolerant", "-v"),
        ("--list",),
        ("--list", "-v"),
        ("--fail-fast",),
        ("-j", "1"),
        ("--include", EVIL),
    ],
    ids=" ".join,
)
def test_runs(game: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    shown("msh2gltf", "game", "-o", tmp_path / "out", *options, cwd=game)


def test_the_name_is_still_told(game: Path, tmp_path: Path) -> None:
    text = shown("msh2gltf", "game", "-o", tmp_path / "out", cwd=game)
    assert r"static.rlb::R\x1b]0;owned\x07\x1b[31m\x1b[2J.MSH" in text


def test_log_files(game: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    shown("msh2gltf", "game", "-o", tmp_path / "out", "--log-file", log, "-q", cwd=game)
    assert "owned" in log.read_text("utf-8")
    assert "\x1b" not in log.read_text("utf-8")


@pytest.mark.parametrize("name", [GOOD, BROKEN, f"X{EVIL}.msh", f"none{EVIL}"])
@pytest.mark.parametrize("more", [(), ("-q",), ("--strict", "-v"), ("--tolerant",)], ids=" ".join)
def test_one_model(game: Path, tmp_path: Path, name: str, more: tuple[str, ...]) -> None:
    file = game / "game/static.rlb"
    shown("msh2gltf", file, "--entry", name, "-o", tmp_path / "m.glb", *more, cwd=tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        ("game/static.rlb",),
        ("game/static.rlb", "--json"),
        ("game/static.rlb", "--entry", GOOD),
        ("game/static.rlb", "--entry", GOOD, "--json"),
        ("game/static.rlb", "--entry", BROKEN),
        ("--check", "game"),
        ("--check", "game", "-q"),
        ("--check", "game", "-v"),
        ("--check", "game", "--json"),
        ("--roundtrip", "game"),
        ("--roundtrip", "game", "--json"),
        ("--roundtrip", "game", "-q"),
        (f"game/notes{EVIL}.msh",),
        (f"none{EVIL}.msh",),
        (f"--{EVIL}",),
    ],
    ids=" ".join,
)
def test_inspection(game: Path, options: tuple[str, ...]) -> None:
    shown("msh-inspect", *options, cwd=game)


@pytest.mark.parametrize("options", [(), ("-q",), ("-v",), ("--no-sidecar",), ("--no-sidecar", "-v")], ids=" ".join)
def test_names_in_gltf(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Nodes, meshes, materials and clips of a glTF file."""
    sample = sample_called("spec__system__R_H_002")
    document = Editable(to_gltf(sample, tmp_path / "m.glb"))
    for key in ("nodes", "meshes", "materials", "animations", "scenes"):
        for item in document.json.get(key, [])[::2]:
            item["name"] = item.get("name", "") + EVIL + "\x9b\u202e\n"
    document.json["scenes"][0].setdefault("extras", {})
    edited = document.save(tmp_path / f"e{EVIL}.glb")
    target = tmp_path / "back.msh"
    shown("gltf2msh", edited, "-o", target, "--force", *options, cwd=tmp_path)
    shown(
        "gltf2msh",
        edited,
        "--sidecar",
        tmp_path / "m.msh-sidecar",
        "-o",
        target,
        "--force",
        *[o for o in options if o != "--no-sidecar"],
        cwd=tmp_path,
    )


def test_runs_back(game: Path, tmp_path: Path) -> None:
    shown("msh2gltf", "game", "-o", tmp_path / "out", cwd=game)
    for i, options in enumerate(((), ("-q",), ("-v",), ("--dry-run",))):
        new = tmp_path / f"new{i}"
        shown("gltf2msh", tmp_path / "out", "--game", "game", "-o", new, *options, cwd=game)


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
