"""Links in an output directory that came from somebody else: nothing is written through them.

What commands say of links stands in ``converter/game/sessions.txt``.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.storage import TEMPORARY, no_follow
from tests.support.game import make_game, snapshot
from tests.support.runs import call
from tests.support.verbs import move

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_game(tmp_path_factory.mktemp("made") / "game")


@pytest.fixture(scope="module")
def whole(game: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an undisturbed run makes."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q") == 0
    return out


@pytest.fixture
def places(game: Path, whole: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A game of the test's own, and glTF with an edit of one of its archives."""
    shutil.copytree(game, tmp_path / "game")
    shutil.copytree(whole, tmp_path / "out")
    move(tmp_path / "out/static.rlb/s_rock_057.glb")
    return tmp_path / "game", tmp_path / "out"


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("system", ["with a flag", "without"])
def test_the_file_of_a_lock_is_not_opened_through_a_link(
    system: str, live: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Windows opens it, which has no flag for that; other systems lock the directory."""
    if system == "without":
        monkeypatch.delattr(os, "O_NOFOLLOW")
    path, outside = tmp_path / "out" / f"{TEMPORARY}lock", tmp_path / "outside"
    path.parent.mkdir()
    if live:
        outside.write_bytes(b"somebody's\n")
    path.symlink_to(outside)
    before = snapshot(tmp_path)
    with pytest.raises(ConversionError, match="is a link, and is not followed; delete it"):
        no_follow(str(path), os.O_RDWR | os.O_CREAT)
    assert snapshot(tmp_path) == before


def test_files_are_opened_for_writing_in_one_place() -> None:
    """By ``storage``, or with its ``no_follow``; the extension writes into folders of its own."""
    writes = re.compile(
        r"\.write_text\(|\.write_bytes\(|\.touch\(|FileHandler\(|mkstemp\(|open\((?![^()]*opener=)[^()]*"
        r"(O_CREAT|O_APPEND|O_TRUNC|[\"'][rbtU]*[wax+][rwaxbt+]*[\"'])"
    )
    packages = ("converter", "importers", "exporters", "msh_gltf")
    sources = [path for name in packages for path in (ROOT / name).rglob("*.py") if path.name != "storage.py"]
    assert [(path.name, found[0]) for path in sources for found in writes.finditer(path.read_text("utf-8"))] == []
    assert writes.search('path.open("ab")')
    known = [path for path in sources if path.parent.name != "msh_gltf"]
    assert not [path for path in known if ".resolve()" in path.read_text("utf-8")], "real_path raises in no Python"
