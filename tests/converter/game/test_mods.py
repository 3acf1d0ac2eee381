"""Mods: what is none, and what lies, is refused in a line; what a conflict says; mods of what a killed run left."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import Conflict, ConversionError
from msh_gltf.converter.formats.model import BATCH_DTYPE
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.mods import MAX_CHANGES, install, make_mod, read_mod
from msh_gltf.converter.game.split import split
from tests.converter.game.commands import prepared_mod
from tests.converter.game.stopping import Killed, stopped_at
from tests.converter.game.test_vault import FILE, change
from tests.support.assembled_game import GameParts
from tests.support.corpus import DATA
from tests.support.game import MESH, SMALL, WEAR, archive, entry, model, small_game, snapshot, two_outputs, write
from tests.support.runs import call, run


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
        {},  # which is there twice
    ],
)
def test_a_hostile_mod_is_refused_in_a_line(
    tmp_path: Path, change: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "outside.txt").write_bytes(b"nobody's")
    game = shutil.copytree(two_outputs() / "game", tmp_path / "game")
    with zipfile.ZipFile(io.BytesIO(prepared_mod())) as file:
        facts = json.loads(file.read("mod.json"))
        members = {name: file.read(name) for name in file.namelist() if name != "mod.json"}
    facts["changes"] *= 1 if change else 2
    facts["changes"][0] |= change
    bad = made(tmp_path / "bad.zip", facts, members)
    before = snapshot(tmp_path)
    assert call(cli.msh_mod, "install", bad, game) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert snapshot(tmp_path) == before


def test_what_is_not_a_mod_is_refused(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mod.json", b" " * (1 << 27))
    texts = dict.fromkeys(("name", "author", "version", "licence", "tool"), "x")
    many = [{}] * (MAX_CHANGES + 1)
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
        {"format": 1, **texts, "changes": many},
    ):
        with pytest.raises(ConversionError):
            read_mod(made(tmp_path / "bad.zip", facts, {}))


# ------------------------------------------------------------------ conflicts, and killed runs

BUNKER = "spec__static__b_bun_000"


def edited(root: Path, data: bytes, file: str = "a.txt", base: bytes = b"as it was") -> Path:
    """A game of one file, which an edit of this machine's owner changed."""
    root.mkdir()
    (root / file).write_bytes(base)
    with GameEdits(root, "edit", "blend:0123456789abcdef") as door:
        door.put(file, data, lambda layer: False, item="tower.msh")
        door.commit()
    return root


def test_it_names_the_mod_and_the_edit(tmp_path: Path) -> None:
    """Not the id of a .blend or an output directory, which nobody knows."""
    mod = make_mod(edited(tmp_path / "theirs", b"by them"), "Towers")
    mine = edited(tmp_path / "mine", b"by me")
    with (
        GameEdits(mine, "install", mod.owner) as door,
        pytest.raises(Conflict, match=r"a\.txt.*Towers and your edit of tower\.msh both change it"),
    ):
        install(door, mod)
    assert (mine / "a.txt").read_bytes() == b"by me"


def library(material: int = 0, row: str = "9 EXTRA", u: int = 0) -> bytes:
    """A model and its list of materials. ``material``: of a batch. ``row``: the last. ``u``: added to a coordinate."""
    tables = split("model", model(BUNKER)).tables
    batches = np.frombuffer(tables["13.0"].data, BATCH_DTYPE).copy()
    batches["word2"][0] = material
    uv = np.frombuffer(tables["5.0"].data, "<i2").copy()
    uv[0] += u
    changed = {"13.0": batches.tobytes(), "5.0": uv.tobytes()}
    rows = [*(DATA / f"{BUNKER}.wea").read_text("ascii").split("\n")[1:5], *([row] if row else [])]
    wear = "".join(f"{line.strip()}\r\n" for line in (str(len(rows)), *rows)).encode()
    made = split("model", model(BUNKER)).join(changed, {})
    return archive([entry(MESH, b"b.msh", made), entry(WEAR, b"b.wea", wear)])


def mission(**ids: int) -> bytes:
    parts = GameParts()
    for one in parts.placed:
        one["id"] = ids.get(one.get("name", ""), one.get("id", 0))
    return parts.mission


@pytest.mark.parametrize(
    ("file", "base", "theirs", "mine", "said"),
    [
        ("static.rlb", library(), library(4), library(row="", u=1), r"b\.msh: would not be valid with both .* Towers"),
        ("data.tma", mission(), mission(Base=300), mission(Guard=300), r"data\.tma: would not be valid .* tower\.msh"),
    ],
)
def test_what_only_both_changes_break_is_refused(
    tmp_path: Path, file: str, base: bytes, theirs: bytes, mine: bytes, said: str
) -> None:
    """Where each of them alone is valid: the row that one of them takes away is the other's material."""
    mod = make_mod(edited(tmp_path / "theirs", theirs, file, base), "Towers")
    root = edited(tmp_path / "mine", mine, file, base)
    with GameEdits(root, "install", mod.owner) as door, pytest.raises(Conflict, match=said):
        install(door, mod)
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / file).write_bytes(base)
    with GameEdits(plain, "install", mod.owner) as door:
        install(door, mod)


def every_file(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_mod_has_what_a_killed_run_left(tmp_path: Path) -> None:
    """As every command that changes a game, make completes the run or takes it back first, and says so.

    Those that only read say that a run was stopped, and what ends it.
    """
    small_game(game := tmp_path / "game")
    change(game, (0, b"one"), "a")
    ended = 0
    for kill in range(40):
        mine, other, zipped = tmp_path / f"mine{kill}", tmp_path / f"other{kill}", tmp_path / f"{kill}.zip"
        shutil.copytree(game, mine)
        try:
            with stopped_at(kill):
                change(mine, (2, b"two"), "b")
        except Killed:
            pass
        before = every_file(mine)
        said = [
            run("msh-mod", *words).stderr for words in (["status", mine], ["list", mine], ["undo", mine, "--dry-run"])
        ]
        assert every_file(mine) == before
        was_stopped = "a run that was stopped" in run("msh-mod", "make", mine, zipped, "--name", "M").stderr
        ended += was_stopped
        line = "a run was stopped and its files may be half written (edit b); run it again"
        assert [line in one for one in said] == [was_stopped] * 3
        write(other / FILE, SMALL)
        assert run("msh-mod", "install", zipped, other).returncode == 0
        assert (other / FILE).read_bytes() == (mine / FILE).read_bytes()
    assert ended
