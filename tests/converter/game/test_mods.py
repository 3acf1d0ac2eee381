"""Mods that somebody received: what is none, and what lies, is refused in a line."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.game.mods import MAX_CHANGES, read_mod
from tests.converter.game.commands import prepared_mod
from tests.support.game import snapshot
from tests.support.runs import call
from tests.support.verbs import two_outputs


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
    tmp_path: Path, change: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "outside.txt").write_bytes(b"nobody's")
    game = shutil.copytree(two_outputs() / "game", tmp_path / "game")
    with zipfile.ZipFile(io.BytesIO(prepared_mod())) as file:
        facts = json.loads(file.read("mod.json"))
        members = {name: file.read(name) for name in file.namelist() if name != "mod.json"}
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
