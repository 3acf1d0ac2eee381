"""The game's directory: object keys to models, and paths that stay inside."""

import json
import os
from pathlib import Path

import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.objects import Member
from msh_gltf.converter.kinds.registry import Game
from tests.support import assembly as make
from tests.support.corpus import CORPUS
from tests.support.game import MESH, archive, entry, model, write

MODEL = "retail__static__i_room_006"


@pytest.fixture
def game(tmp_path: Path) -> Game:
    """A game of one model, with files beside its directory."""
    objects = {
        "room": ("STAT", [("STATIC.RLB", "ROOM.msh")]),
        "far": ("STAT", [("..\\secret.rlb", "room.msh")]),
        "lost": ("STAT", [("nowhere.rlb", "room.msh"), ("static.rlb", "room.msh")]),
        "gone": ("STAT", [("static.rlb", "gone.msh")]),
        "text": ("STAT", [("readme.txt", "room.msh")]),
        "sun": ("SUNO", [("", "")]),
    }
    data = archive([entry(MESH, b"room.msh", model(MODEL))])
    root = tmp_path / "game"
    write(root / "Objects.RLB", make.registry(objects))
    write(root / "static.rlb", data)
    write(root / "readme.txt", b"text")
    write(root / "UNITS/Дома/Base.dat", b"1")
    write(tmp_path / "secret.rlb", data)
    return Game(root)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("far", "game has no such archive: ..\\secret.rlb"),
        ("lost", "game has no such archive: nowhere.rlb"),
        ("gone", "archive has no such entry: gone.msh"),
        ("text", "not an NRes file"),
    ],
)
def test_a_missing_model_says_what_is_missing(game: Game, key: str, problem: str) -> None:
    """The first ``.msh`` row decides: a later one is not tried."""
    found = game.object(key)
    assert found.resolved is not None
    assert found.model is None
    assert problem in found.problem


def test_paths_are_found_in_any_case(game: Game) -> None:
    wanted = game.root / "UNITS/Дома/Base.dat"
    for path in ("units\\ДОМА\\BASE.DAT", "Units/дома/base.dat", ".\\units\\\\дома\\base.dat"):
        assert game.file(path) == wanted
    for name in ("one.RLB", "ONE.rlb", "One.rlb"):
        write(game.root / name, b"1")
    first = game.file("one.rlb")  # of several the first, where the system tells them apart
    assert first is not None
    assert game.file("/static.rlb") == game.root / "static.rlb"  # an absolute path is one inside
    assert game.file(str(game.root.parent / "secret.rlb")) is None
    assert first.name == "ONE.rlb" or len({path.name for path in game.root.glob("[oO]*.[rR]*")}) == 2


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "..\\secret.rlb",
        "units/../../secret.rlb",
        "C:\\secret.rlb",
        "a\0b",
        "link.rlb",
        "loop",
        "readme.txt/x",
        "units/дома/nothing",
    ],
)
def test_no_path_leaves_the_game(game: Game, path: str) -> None:
    try:
        os.symlink("../secret.rlb", game.root / "link.rlb")
        os.symlink("loop", game.root / "loop")
    except OSError:
        if path in ("link.rlb", "loop"):
            pytest.skip("links cannot be made here")
    assert game.file(path) is None
    with pytest.raises(ConversionError):
        game.open(Member(path, "room.msh"))


@pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")
def test_objects_of_the_corpus_lead_to_the_recorded_models() -> None:
    root = Path(CORPUS or "") / "missions"
    game = Game(root / "game")
    reasons = {
        "": "",
        "no model": "",
        "cycle": "",
        "archive missing": "game has no such archive",
        "member missing": "archive has no such entry",
    }
    for truth in json.loads((root / "truth/objects.json").read_text("utf-8"))["keys"]:
        found = game.object(truth["key"])
        model = found.model
        name = None if model is None else f"{model.path.name}::{model.entry.name}"
        assert name == truth["model"]
        assert reasons[truth["why"]] in found.problem
        assert bool(found.problem) == bool(reasons[truth["why"]])
