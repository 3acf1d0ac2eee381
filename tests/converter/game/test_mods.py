"""Mods: made from a game's vault, installed in either order, removed without a trace."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.game.mods import MAX_CHANGES, read_mod
from tests.converter.game.commands import prepared
from tests.support.game import snapshot
from tests.support.gltf_edit import Editable
from tests.support.runs import call

TURRET, OTHER, TREE = "turrets.rlb/e_tur_01", "turrets.rlb/e_tur_02", "static.rlb/s_tree_01"


class Author:
    """Somebody with a game of their own, and its glTF."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.folder = name, folder / name
        shutil.copytree(prepared(), self.folder)
        self.game, self.out = self.folder / "game", self.folder / "out_a"

    def move(self, model: str, x: float, node: int = 0) -> Author:
        document = Editable(self.out / f"{model}.glb")
        document.json["nodes"][node]["translation"] = [x, 2.0, 3.0]
        document.save(self.out / f"{model}.glb")
        return self

    def colour(self, model: str, red: float) -> Author:
        document = Editable(self.out / f"{model}.glb")
        material = document.json["materials"][0]
        material["pbrMetallicRoughness"]["baseColorFactor"] = [red, 0.5, 0.5, 1.0]
        document.save(self.out / f"{model}.glb")
        return self

    def paint(self, name: str, grey: int) -> Author:
        path = self.out / f"textures/{name}.png"
        picture = Image.open(path).convert("RGBA")
        picture.putpixel((0, 0), (grey, 0, 0, 255))
        picture.save(path)
        return self

    def mod(self) -> Path:
        """What was changed, as a mod."""
        options = ("--game", self.game, "--in-place", "-q", "-j", "1")
        assert call(cli.gltf2msh, self.out, *options) == 0
        path = self.folder / f"{self.name}.zip"
        assert call(cli.msh_mod, "make", self.game, path, "--name", self.name) == 0
        return path


@pytest.fixture
def game(tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared() / "game", tmp_path / "game"))


def test_a_mod_makes_of_a_game_what_its_author_has(tmp_path: Path, game: Path) -> None:
    before = snapshot(game)
    author = Author(tmp_path, "Ёлки")
    mod = author.move(TURRET, 1).colour(TREE, 0.25).paint("armour.0", 200).mod()
    assert call(cli.msh_mod, "install", mod, game) == 0
    assert snapshot(game) == snapshot(author.game) != before
    assert call(cli.msh_mod, "install", mod, game) == 2  # it is installed
    assert call(cli.msh_mod, "remove", "Ёлки", game) == 0
    assert snapshot(game) == before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda a: a.move(TURRET, 1), lambda b: b.move(OTHER, 2)),
        (lambda a: a.move(TURRET, 1), lambda b: b.colour(TREE, 0.5)),
        (lambda a: a.paint("armour.0", 9), lambda b: b.paint("joint.0", 9)),
        (lambda a: a.colour(TURRET, 0.25), lambda b: b.colour(TREE, 0.75)),
        (lambda a: a.move(TREE, 4), lambda b: b.move(TREE, 5, node=1)),
    ],
)
def test_disjoint_mods_merge_in_either_order(tmp_path: Path, game: Path, one, other) -> None:  # type: ignore[no-untyped-def]
    before = snapshot(game)
    first, second = Author(tmp_path, "First"), Author(tmp_path, "Second")
    one(first)
    other(second)
    mods = [first.mod(), second.mod()]
    for mod in mods:
        assert call(cli.msh_mod, "install", mod, game) == 0
    done = snapshot(game)
    for name in ("First", "Second"):
        assert call(cli.msh_mod, "remove", name, game) == 0
    assert snapshot(game) == before
    for mod in reversed(mods):
        assert call(cli.msh_mod, "install", mod, game) == 0
    assert snapshot(game) == done
    # the first one alone is gone, whatever came after it
    assert call(cli.msh_mod, "remove", "Second", game) == 0
    assert snapshot(game) == snapshot(first.game)


def test_a_conflict_names_table_and_row_and_both_mods(
    tmp_path: Path, game: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mods = [Author(tmp_path, n).move(TURRET, x).mod() for n, x in (("First", 1.0), ("Second", 2.0))]
    assert call(cli.msh_mod, "install", mods[0], game) == 0
    done = snapshot(game)
    capsys.readouterr()
    assert call(cli.msh_mod, "install", mods[1], game) == 2
    (line,) = capsys.readouterr().err.splitlines()
    for part in ("turrets.rlb", "e_tur_01.msh", "Res8", "row", "First", "Second"):
        assert part in line
    assert snapshot(game) == done


def test_another_edition_is_named(tmp_path: Path, game: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mod = Author(tmp_path, "First").move(TURRET, 1).mod()
    other = Author(tmp_path, "Edition").move(TURRET, 7).mod()
    assert call(cli.msh_mod, "install", other, game) == 0
    shutil.rmtree(game / ".msh-gltf")
    for changed in (Author(tmp_path, "Beside").move(OTHER, 3).mod(), None):  # nothing, and another entry
        capsys.readouterr()
        assert call(cli.msh_mod, "install", mod, game) == 2
        assert "another edition" in capsys.readouterr().err
        if changed is not None:
            assert call(cli.msh_mod, "install", changed, game) == 0


def test_what_a_mod_brought_is_not_in_the_next_mod(tmp_path: Path) -> None:
    mod = Author(tmp_path, "First").move(TURRET, 1).mod()
    second = Author(tmp_path, "Second")
    assert call(cli.msh_mod, "install", mod, second.game) == 0
    made = read_mod(second.move(OTHER, 2).mod())
    assert [change.text for change in made.changes] == ["turrets.rlb: e_tur_02.msh"]


def test_a_mod_holds_nothing_of_the_game(tmp_path: Path) -> None:
    """Applied to zeros, no window of 64 bytes with more than eight values is one of the game's."""
    from msh_gltf.converter.game.differences import apply

    author = Author(tmp_path, "First")
    mod = author.move(TURRET, 1).colour(TREE, 0.25).mod()
    assert mod.stat().st_size < 4000
    for change in read_mod(mod).changes:
        file = (prepared() / "game" / change.file).read_bytes()
        base = next(
            bytes(entry.payload) for entry in read_nres(file, "").entries if entry.name_bytes.hex() == change.slot.name
        )
        windows = {base[i : i + 64] for i in range(len(base) - 63)}
        rich = {window for window in windows if len(set(window)) > 8}
        stored = change.stored
        assert not any(stored[i : i + 64] in rich for i in range(len(stored) - 63))
        with pytest.raises(ConversionError):
            apply(stored, bytes(len(base)))


# ------------------------------------------------------------------ received mods


def made(path: Path, facts: object, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mod.json", facts if isinstance(facts, str) else json.dumps(facts))
        for name, data in members.items():
            file.writestr(name, data)
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../outside.txt"},
        {"file": "/etc/hosts"},
        {"file": ".msh-gltf/edits.jsonl"},
        {"file": "static.rlb/../../outside.txt"},
        {"file": 3},
        {"name": "zz"},
        {"nth": -1},
        {"nth": 2**40},
        {"before": "0" * 64},
        {"attributes": [1, 2]},
        {"change": "changes/99"},
        {"change": "../mod.json"},
    ],
)
def test_a_hostile_mod_is_refused_in_a_line(
    tmp_path: Path, game: Path, change: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "outside.txt").write_bytes(b"nobody's")
    good = Author(tmp_path, "First").move(TURRET, 1).mod()
    with zipfile.ZipFile(good) as file:
        facts = json.loads(file.read("mod.json"))
        members = {name: file.read(name) for name in file.namelist() if name != "mod.json"}
    facts["changes"][0] |= change
    bad = made(tmp_path / "bad.zip", facts, members)
    before = snapshot(tmp_path)
    capsys.readouterr()
    assert call(cli.msh_mod, "install", bad, game) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert snapshot(tmp_path) == before


def test_what_is_not_a_mod_is_refused(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mod.json", b" " * (1 << 27))
    changes = [{}] * (MAX_CHANGES + 1)
    texts = dict.fromkeys(("name", "author", "version", "licence", "tool"), "x")
    for data in (b"", b"PK", b"not a zip", bomb.getvalue()):
        (tmp_path / "bad.zip").write_bytes(data)
        with pytest.raises(ConversionError):
            read_mod(tmp_path / "bad.zip")
    for facts in (
        "[]",
        "{",
        "[" * 100_000,
        {"format": 2},
        {"format": 1, **texts},
        {"format": 1, **texts, "changes": changes},
    ):
        with pytest.raises(ConversionError):
            read_mod(made(tmp_path / "bad.zip", facts, {}))


def test_textures_are_shown_before_and_after(tmp_path: Path, game: Path) -> None:
    mod = Author(tmp_path, "First").paint("armour.0", 200).move(TURRET, 1).mod()
    before, shown = snapshot(game), tmp_path / "shown"
    assert call(cli.msh_mod, "show", mod, "--textures", shown) == 2
    assert call(cli.msh_mod, "show", mod, game, "--textures", shown) == 0
    pixels = {path.name: Image.open(path).getpixel((0, 0)) for path in shown.iterdir()}
    assert pixels.keys() == {"armour.0.before.png", "armour.0.after.png"}
    assert abs(pixels["armour.0.after.png"][0] - 200) < 8  # the texture has 5 bits a channel
    assert pixels["armour.0.before.png"] != pixels["armour.0.after.png"]
    assert snapshot(game) == before
