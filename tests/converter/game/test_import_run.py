"""``gltf2msh OUT_DIR --game GAME_DIR``: only what changed is replaced, nothing else moves."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.corpus import CORPUS
from tests.support.game import make_game, model, snapshot, write
from tests.support.gltf_edit import Editable
from tests.support.runs import call, require

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs links and any file name")


@pytest.fixture
def game(tmp_path: Path) -> Path:
    return make_game(tmp_path / "game")


@pytest.fixture
def out(game: Path, tmp_path: Path) -> Path:
    assert call(cli.msh2gltf, game, "-o", tmp_path / "out", "-q") == 0
    return tmp_path / "out"


def back(tmp_path: Path, *arguments: object, code: int = 0) -> dict[str, Any]:
    """Run ``gltf2msh`` on the output directory and read its report."""
    path = tmp_path / "report.json"
    game = ("--game", tmp_path / "game")
    assert call(cli.gltf2msh, tmp_path / "out", *game, *arguments, "--report", path, "-q") == code
    facts: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return facts


def move(path: Path, by: float = 1.0) -> None:
    """Move a node of a glTF file, as an artist would."""
    document = Editable(path)
    node = next(n for n in document.json["nodes"] if "translation" in n)
    node["translation"] = [node["translation"][0] + by, *node["translation"][1:]]
    document.save(path)


def same_but_for(old: Path, new: Path, index: int) -> None:
    """Every byte of two archives is the same, but for one entry and what its size moves."""
    a, b = (read_nres(read_file(p), "x") for p in (old, new))
    assert len(a.entries) == len(b.entries)
    for i, (one, two) in enumerate(zip(a.entries, b.entries, strict=True)):
        assert (bytes(one.payload) == bytes(two.payload)) == (i != index), one.name
        assert one.raw_name == two.raw_name
        assert (one.type_id, one.attr1, one.attr2, one.attr3, one.sort_index) == (
            two.type_id,
            two.attr1,
            two.attr2,
            two.attr3,
            two.sort_index,
        )
    assert b"\x01forgotten data\xff" in bytes(read_file(new))


# ------------------------------------------------------------------ in place


# ------------------------------------------------------------------ repeats and refusals


@linux
def test_links(game: Path, out: Path, tmp_path: Path) -> None:
    """Links come over as links, files that links lead to as files; no link is written through."""
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "far.txt", b"far")
    (game / "loop").symlink_to(".")
    (game / "outside").symlink_to(elsewhere)
    (game / "up").symlink_to("../elsewhere")
    (game / "nowhere").symlink_to("missing")
    (game / "file").symlink_to("DATA/notes.msh")
    os.mkfifo(game / "pipe")
    new = tmp_path / "new"
    back(tmp_path, "-o", new)
    assert os.readlink(new / "loop") == "."
    assert (new / "outside/far.txt").read_bytes() == b"far"
    assert (new / "up/far.txt").read_bytes() == b"far"
    assert os.readlink(new / "nowhere") == "missing"
    assert (new / "file").read_bytes() == (game / "DATA/notes.msh").read_bytes()
    assert not (new / "pipe").exists()
    back(tmp_path, "-o", new)  # and again

    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "DATA").symlink_to(game / "DATA")
    before = snapshot(game)
    facts = back(tmp_path, "-o", trap, "--force", code=1)
    assert snapshot(game) == before
    assert any("a link leads out of the output directory" in f["reason"] for f in facts["unreadable"])


@linux
def test_names_of_any_bytes(tmp_path: Path) -> None:
    """CP1251 file names on a UTF-8 system come back as they were."""
    game = tmp_path / "game"
    name = os.fsdecode("Здания/Дом".encode("cp1251"))
    write(game / f"{name}.msh", model("retail__odd__s_rock_009"))
    assert call(cli.msh2gltf, game, "-o", tmp_path / "out", "-q") == 0
    path = tmp_path / "out/Здания/Дом.glb"
    assert back(tmp_path, "-o", tmp_path / "new")["counts"] == {"unchanged": 1}
    assert snapshot(tmp_path / "new") == snapshot(game)
    move(path)
    back(tmp_path, "-o", tmp_path / "new")
    assert (tmp_path / "new" / f"{name}.msh").read_bytes() == import_gltf(path).data


@pytest.mark.parametrize("name", ["spec", "retail", "mixed"])
def test_whole_corpus_games(name: str, tmp_path: Path) -> None:
    require(CORPUS, "no corpus: MSH_GLTF_CORPUS names no folder of whole games")
    game = Path(str(CORPUS)) / name / "game"
    assert call(cli.msh2gltf, game, "-o", tmp_path / "out", "-q") == 0
    truth = json.loads((game.parent / "truth/manifest.json").read_text("utf-8"))
    facts = json.loads((tmp_path / "out/manifest.json").read_text("utf-8"))
    made = {(row["source"].casefold(), row["name"].casefold()): row for row in facts["models"]}
    assert len(made) == len(truth["models"]) + 1 + 2 * len(truth["maps"])
    assert facts["failed"] == facts["unreadable"] == []
    for expected in truth["models"]:
        row = made[expected["archive"].casefold(), expected["entry"].casefold()]
        assert row["dialect"] == expected["dialect"], row
    for path in (tmp_path / "out").rglob("*.glb"):
        Editable(path).save(path)  # every file is read and compared
    arguments = ("--game", game, "-o", tmp_path / "new", "-q")
    assert call(cli.gltf2msh, tmp_path / "out", *arguments) == 0
    assert snapshot(tmp_path / "new") == snapshot(game)
