"""A game with pictures, made once for the tests of a process."""

from pathlib import Path

import pytest

from msh_gltf.converter import cli
from tests.support.controller import State, controller
from tests.support.gallery import make_gallery_game
from tests.support.runs import call


@pytest.fixture(scope="session")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    game = make_gallery_game(tmp_path_factory.mktemp("gallery") / "game")
    steps = [State((5, 5), True, 50), State((5, 13), length=500, speed=(2, 8)), State((13, 13), True, 50)]
    (game / "walker.ctl").write_bytes(controller(steps, free=[(0, 1), (1, 2)]))
    return game


@pytest.fixture(scope="session")
def out(game: Path) -> Path:
    """The export, in a folder whose name a page must quote."""
    out = game.with_name("a game's pictures")
    assert call(cli.msh2gltf, game, "-o", out, "--thumbnails", "-q") == 0
    return out
