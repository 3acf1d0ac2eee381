"""``gltf2msh OUT_DIR --game GAME_DIR``: only what changed is replaced, nothing else moves."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.storage import VAULT
from tests.support.corpus import CORPUS, LIBS
from tests.support.game import LOOSE, WEAR, make_game, model, snapshot, write
from tests.support.gltf_edit import Editable
from tests.support.runs import call, require, run
from tests.support.vault import records

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


def entries_of(path: Path) -> list[bytes]:
    return [bytes(e.payload) for e in read_nres(read_file(path), "x").entries]


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


@pytest.mark.parametrize("options", [("-o", "new"), ("--in-place",)])
@pytest.mark.parametrize(
    ("game_is", "problem"), [("out", "is the glTF directory"), (".", "has none of the files that were converted: no ")]
)
def test_another_directory_than_the_game_is_refused(
    options: tuple[str, ...], game_is: str, problem: str, out: Path, tmp_path: Path
) -> None:
    """Nothing is copied, and nobody is told that all is well."""
    (tmp_path / "elsewhere").mkdir()
    folder = out if game_is == "out" else tmp_path / "elsewhere"
    before = snapshot(out)
    done = run("gltf2msh", out, "--game", folder, *options, cwd=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not (tmp_path / "new").exists()
    assert snapshot(out) == before


def test_only_what_changed_is_replaced(game: Path, out: Path, tmp_path: Path) -> None:
    before = snapshot(game)
    for target in ("static.rlb/s_rock_057.glb", "SYSTEM.RLB/птица.glb"):
        move(out / target)
    facts = back(tmp_path, "-o", tmp_path / "new")
    assert facts["counts"] == {"changed": 2, "unchanged": 8}
    changed = next(row for row in facts["items"] if row["id"] == "SYSTEM.RLB::птица.msh")
    assert changed["changes"]
    new = snapshot(tmp_path / "new")
    assert {k for k in new if new[k] != before[k]} == {"static.rlb", "SYSTEM.RLB"}
    same_but_for(game / "static.rlb", tmp_path / "new/static.rlb", 4)
    same_but_for(game / "SYSTEM.RLB", tmp_path / "new/SYSTEM.RLB", 4)
    lone = import_gltf(out / "SYSTEM.RLB/птица.glb").data
    assert entries_of(tmp_path / "new/SYSTEM.RLB")[4] == lone
    assert snapshot(game) == before


def test_a_loose_model(game: Path, out: Path, tmp_path: Path) -> None:
    path = out / "DATA/Loose/Дом.glb"
    move(path)
    assert back(tmp_path, "-o", tmp_path / "new")["counts"] == {"changed": 1, "unchanged": 9}
    assert (tmp_path / "new" / LOOSE).read_bytes() == import_gltf(path).data


def test_blenders_gltf_is_taken(game: Path, out: Path, tmp_path: Path) -> None:
    """A .glb that was saved as .gltf under the same name; and one that was deleted."""
    path = out / "static.rlb/s_rock_057.glb"
    move(path)
    expected = import_gltf(path).data
    view = Editable(path)
    path.unlink()
    view.save(path.with_suffix(".gltf"))
    (out / "static.rlb/MTCHECK.glb").unlink()
    facts = back(tmp_path, "-o", tmp_path / "new")
    assert facts["counts"] == {"changed": 1, "kept": 1, "unchanged": 8}
    assert facts["skipped"] == []
    kept = next(row for row in facts["items"] if row["status"] == "kept")
    assert kept["detail"] == "its glTF is gone: kept as it is in the game"
    assert entries_of(tmp_path / "new/static.rlb")[4] == expected


def test_any_number_of_jobs(game: Path, out: Path, tmp_path: Path) -> None:
    for target in ("static.rlb/s_rock_057.glb", "SYSTEM.RLB/R_H_002.glb"):
        move(out / target)
    reports = []
    for jobs in (1, 3):
        facts = back(tmp_path, "-o", tmp_path / f"new{jobs}", "-j", jobs)
        del facts["times"]
        reports.append(facts)
    assert reports[0] == reports[1]
    assert snapshot(tmp_path / "new1") == snapshot(tmp_path / "new3")


# ------------------------------------------------------------------ in place


def test_in_place(game: Path, out: Path, tmp_path: Path) -> None:
    before = snapshot(game)
    assert back(tmp_path, "--in-place")["counts"] == {"unchanged": 10}
    assert snapshot(game) == before
    path = out / "static.rlb/s_rock_057.glb"
    move(path)
    assert back(tmp_path, "--in-place")["counts"] == {"changed": 1, "unchanged": 9}
    after = snapshot(game)
    assert {k for k in after if after[k] != before[k]} == {"static.rlb"}
    assert after.keys() == before.keys()
    (original,) = (game / VAULT / "originals").iterdir()
    assert original.name == before["static.rlb"]
    same_but_for(original, game / "static.rlb", 4)

    # once more, nothing new: nothing to do; and the original is not an archive of the game
    facts = back(tmp_path, "--in-place")
    assert facts["counts"] == {"unchanged": 10}
    listed = run("msh2gltf", game, "--list").stdout
    assert ".bak" not in listed

    # a second edit: what the game has is known to be the first one (more in test_undo.py)
    move(path)
    assert back(tmp_path, "--in-place")["counts"] == {"changed": 1, "unchanged": 9}
    kept = snapshot(game)
    assert kept["static.rlb"] != after["static.rlb"]
    assert [path.name for path in (game / VAULT / "originals").iterdir()] == [original.name]
    # somebody copies the original back, and has a backup of their own
    shutil.copy(original, game / "static.rlb")
    (game / "static.rlb.bak").write_bytes(b"somebody's own backup")
    (game / ".msh-gltf-0123.tmp").write_bytes(b"half")
    assert back(tmp_path, "--in-place")["counts"] == {"changed": 1, "unchanged": 9}
    assert not (game / ".msh-gltf-0123.tmp").exists()
    assert snapshot(game)["static.rlb"] == kept["static.rlb"]
    assert (game / "static.rlb.bak").read_bytes() == b"somebody's own backup"


# ------------------------------------------------------------------ repeats and refusals


def test_repeats(game: Path, out: Path, tmp_path: Path) -> None:
    """The same command again is harmless; what would be lost needs --force."""
    new = tmp_path / "new"
    assert back(tmp_path, "-o", new)["counts"] == {"unchanged": 10}
    path = out / "static.rlb/s_rock_057.glb"
    move(path)
    back(tmp_path, "-o", new)  # the old copy is what the game has: nothing is lost
    done = snapshot(new)
    number = records(new)[-1]["number"]
    back(tmp_path, "-o", new)
    assert snapshot(new) == done
    assert records(new)[-1]["number"] == number
    as_it_was = path.read_bytes()
    move(path)
    back(tmp_path, "-o", new)  # its vault has what is replaced
    assert snapshot(new)["static.rlb"] != done["static.rlb"]
    path.write_bytes(as_it_was)
    back(tmp_path, "-o", new)
    assert snapshot(new)["static.rlb"] == done["static.rlb"]
    (new / "static.rlb").write_bytes(b"theirs")
    result = run("gltf2msh", out, "--game", game, "-o", new)
    assert result.returncode == 2
    assert "new/static.rlb: output exists already; name another directory, or --force replaces it" in result.stderr
    assert (new / "static.rlb").read_bytes() == b"theirs"
    back(tmp_path, "-o", new, "--force")
    assert snapshot(new)["static.rlb"] == done["static.rlb"]
    (new / "zero.dat").write_bytes(b"mine")
    assert run("gltf2msh", out, "--game", game, "-o", new).returncode == 2
    assert (new / "zero.dat").read_bytes() == b"mine"


def test_a_copy_without_changes_needs_no_history(game: Path, out: Path, tmp_path: Path) -> None:
    """What was put into the game and is taken back in the copy is the original there."""
    before, path, new = snapshot(game), out / "static.rlb/s_rock_057.glb", tmp_path / "new"
    as_it_was = path.read_bytes()
    move(path)
    assert run("gltf2msh", out, "--game", game, "--in-place").returncode == 0
    path.write_bytes(as_it_was)
    back(tmp_path, "-o", new)
    assert snapshot(new) == before
    assert not (new / ".msh-gltf/originals").exists()


def test_another_game(game: Path, out: Path, tmp_path: Path) -> None:
    """An edit of a model that the game no longer has fails; all others are put back."""
    rock, bird = out / "static.rlb/s_rock_057.glb", out / "SYSTEM.RLB/птица.glb"
    for path in (rock, bird):
        move(path)
    data = bytearray((game / "static.rlb").read_bytes())
    entry = read_nres(bytes(data), "x").entries[4]
    data[entry.data_offset + entry.size - 1] ^= 1
    (game / "static.rlb").write_bytes(data)
    facts = back(tmp_path, "-o", tmp_path / "new", code=1)
    assert facts["counts"] == {"changed": 1, "failed": 1, "unchanged": 8}
    assert (tmp_path / "new/static.rlb").read_bytes() == data
    assert back(tmp_path, "-o", tmp_path / "new", "--force")["counts"] == {"changed": 2, "unchanged": 8}
    path = tmp_path / "new/static.rlb"
    written = path.read_bytes()
    rock.unlink()
    assert back(tmp_path, "-o", tmp_path / "new")["counts"] == {"changed": 1, "kept": 1, "unchanged": 8}
    assert path.read_bytes() != written
    (game / "SYSTEM.RLB").unlink()
    facts = back(tmp_path, "-o", tmp_path / "other", "--force", code=1)
    failed = next(row for row in facts["items"] if row["status"] == "failed")
    assert failed["detail"] == "SYSTEM.RLB: is not in the game's directory"


def test_shifted_entries_are_found_by_name(game: Path, out: Path, tmp_path: Path) -> None:
    """Another tool has added an entry in front: the edit finds its model all the same."""
    from tests.support.game import archive, entry

    path = out / "static.rlb/s_rock_057.glb"
    move(path)
    old = read_nres(read_file(game / "static.rlb"), "x").entries
    entries = [entry(WEAR, b"a.wea", b"0")]
    entries += [entry(e.type_id, e.name_bytes, bytes(e.payload)) for e in old]
    write(game / "static.rlb", archive(entries))
    assert back(tmp_path, "-o", tmp_path / "new")["counts"] == {"changed": 1, "unchanged": 9}
    assert entries_of(tmp_path / "new/static.rlb")[5] == import_gltf(path).data


def test_a_bad_gltf_does_not_stop_the_run(game: Path, out: Path, tmp_path: Path) -> None:
    (out / "static.rlb/MTCHECK.glb").write_bytes(b"glTF broken")
    rock = out / "static.rlb/s_rock_057.glb"
    move(rock)
    facts = back(tmp_path, "-o", tmp_path / "new", code=1)
    assert facts["counts"] == {"changed": 1, "failed": 1, "unchanged": 8}
    same_but_for(game / "static.rlb", tmp_path / "new/static.rlb", 4)
    facts = back(tmp_path, "-o", tmp_path / "none", "--fail-fast", "-j", 1, code=1)
    assert not (tmp_path / "none").exists() or snapshot(tmp_path / "none") == {}


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


def test_dry_run(game: Path, out: Path, tmp_path: Path) -> None:
    path = out / "static.rlb/s_rock_057.glb"
    move(path)
    before = snapshot(tmp_path)
    result = run("gltf2msh", out, "--game", game, "-o", tmp_path / "new", "--dry-run")
    assert "1   changed" in result.stdout
    assert "dry run: nothing was written" in result.stdout
    assert snapshot(tmp_path) == before


def test_rebuilt_games_convert_again(game: Path, out: Path, tmp_path: Path) -> None:
    """--no-sidecar rebuilds every model; the new game is as readable as the old one."""
    for target in ("static.rlb/MTCHECK.glb", "static.rlb/MTCHECK.msh-sidecar"):
        (out / target).unlink()  # the stride-24 outlier cannot be rebuilt
    facts = back(tmp_path, "-o", tmp_path / "new", "--no-sidecar")
    assert facts["counts"]["changed"] == 7
    assert call(cli.msh2gltf, tmp_path / "new", "-o", tmp_path / "again", "-q") == 0


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


def test_a_renamed_material_changes_the_wea_and_is_new(game: Path, out: Path, tmp_path: Path) -> None:
    shutil.copy(LIBS / "Material.lib", game)
    path = out / "SYSTEM.RLB/b_bun_000.glb"
    document, original = Editable(path), path.read_bytes()
    before = document.json["materials"][0]["name"]
    for material in document.json["materials"]:
        if material["name"] == before:
            material["name"] = "rust"
    document.save(path)
    facts = back(tmp_path, "-o", tmp_path / "new")
    assert facts["counts"] == {"changed": 1, "unchanged": 9}
    library = read_nres(read_file(tmp_path / "new/Material.lib"), "x")
    assert library.entries[-1].name == "rust"
    old, new = game / "SYSTEM.RLB", tmp_path / "new/SYSTEM.RLB"
    same_but_for(old, new, 3)
    assert b" rust\r\n" in entries_of(new)[3]
    path.write_bytes(original)
    back(tmp_path, "-o", tmp_path / "undone")
    assert snapshot(tmp_path / "undone") == snapshot(game)
