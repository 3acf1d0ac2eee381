"""``gltf2msh OUT_DIR --add``: new entries; and archives that take all of a model or nothing."""

import shutil
from pathlib import Path

from msh_gltf.converter import cli
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry, replace_entry
from msh_gltf.converter.formats.wear import read_wear_names
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.open_files import read_msh
from tests.converter.game.test_import_run import back, game, move, out, same_but_for
from tests.support.corpus import DATA
from tests.support.game import WEAR, snapshot, write
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import call
from tests.support.vault import as_another_output, original

__all__ = ["game", "out"]


def test_a_new_gltf_becomes_an_entry(game: Path, out: Path, tmp_path: Path) -> None:
    """In the archive's dialect, last in its directory, found through the sort table."""
    tower = DATA.parents[1] / "examples"
    assert call(cli.msh2gltf, tower / "tree.msh", "-o", tmp_path / "t.glb", "--no-sidecar") == 0
    document = Editable(tmp_path / "t.glb")
    drop_extras(document)
    for material, name in zip(document.json["materials"], ("BARK", "LEAVES.001"), strict=True):
        material["name"] = name
    for folder in ("static.rlb", "SYSTEM.RLB", "OBJECTS.RLB"):
        (out / folder).mkdir(exist_ok=True)
        document.save(out / folder / "дерево.glb")
    shutil.copy(out / "static.rlb/дерево.glb", out / "DATA/Loose/tree.glb")
    (out / "static.rlb/hut.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n")
    facts = back(tmp_path, "-o", tmp_path / "plain")
    assert snapshot(tmp_path / "plain") == snapshot(game)
    assert {(p["id"], p["reason"]) for p in facts["skipped"]} == {
        ("DATA/Loose/tree.glb", "new, but not in an archive's folder"),
        ("static.rlb/hut.obj", "an OBJ; --into ARCHIVE --add takes one"),
        *(
            (f"{name}/дерево.glb", "a new glTF; --add makes it an entry")
            for name in ("static.rlb", "SYSTEM.RLB", "OBJECTS.RLB")
        ),
    }
    facts = back(tmp_path, "-o", tmp_path / "new", "--add")
    assert facts["counts"] == {"added": 3, "unchanged": 10}
    rows = [r["wear"] for r in facts["items"] if r["status"] == "added"]
    assert rows == [["BARK", "LEAVES"]] * 3
    dialects = {r["id"]: r["dialect"] for r in facts["items"] if r["status"] == "added"}
    assert dialects == {
        "static.rlb::дерево.msh": "retail",
        "SYSTEM.RLB::дерево.msh": "spec",
        "OBJECTS.RLB::дерево.msh": "spec",
    }
    for name in ("static.rlb", "SYSTEM.RLB", "OBJECTS.RLB"):
        old, new = (read_nres(read_file(d / name), name) for d in (game, tmp_path / "new"))
        assert [bytes(e.payload) for e in new.entries[: len(old.entries)]] == [bytes(e.payload) for e in old.entries]
        assert new.sort_table_fold() is not None
        assert new.find("ДЕРЕВО.msh") is None  # ASCII folding only
        assert new.find("дерево.MSH") == len(old.entries)
        # a WEAR of its own, where the archive's other models have one
        added = [(e.name, e.type_text) for e in new.entries[len(old.entries) :]]
        wear = [] if name == "OBJECTS.RLB" else [("дерево.wea", "WEAR")]
        assert added == [("дерево.msh", "MESH"), *wear]
        if wear:
            assert read_wear_names(new.entries[-1].payload) == ["BARK", "LEAVES"]
        assert read_msh(tmp_path / "new" / name, "дерево.msh").name == "дерево.msh"
    assert b"\x01forgotten data\xff" in (tmp_path / "new/static.rlb").read_bytes()


def test_a_new_entry_that_does_not_fit(game: Path, out: Path, tmp_path: Path) -> None:
    source = out / "static.rlb/s_rock_057.glb"
    for name in ("r_h_002%2Emsh", "%52_h_002", "длинное имя в сорок букв никуда не войдёт"):
        shutil.copy(source, out / "static.rlb" / f"{name}.glb")
    facts = back(tmp_path, "-o", tmp_path / "new", "--add", code=1)
    details = {r["id"]: r["detail"] for r in facts["items"] if r["status"] == "failed"}
    assert len(details) == 2
    assert facts["counts"]["added"] == 1  # r_h_002.msh.msh
    assert any("has an entry of this name already" in d for d in details.values())
    assert any("expected 1 to 35 bytes of CP1251" in d for d in details.values())


def test_the_wea_of_a_new_entry_that_is_there(game: Path, out: Path, tmp_path: Path) -> None:
    """An entry of its name stays; a warning says what does not fit."""
    archive = read_nres((game / "static.rlb").read_bytes(), "x")
    for name, text in ((b"one.wea", b"1\r\n0 WALL\r\n"), (b"two.WEA", b"1\r\n0 other\r\n")):
        archive = add_entry(archive, name, WEAR, text)
    write(game / "static.rlb", write_nres(archive))
    document = Editable(out / "static.rlb/s_rock_057.glb")
    drop_extras(document)
    for material in document.json["materials"]:
        material["name"] = "wall"
    for name in ("one", "two"):
        document.save(out / "static.rlb" / f"{name}.glb")
    facts = back(tmp_path, "-o", tmp_path / "new", "--add", "--force")
    said = {r["id"]: r["warnings"] for r in facts["items"] if r["status"] == "added"}
    assert not any(".wea" in warning for warning in said["static.rlb::one.msh"])
    (warning,) = (w for w in said["static.rlb::two.msh"] if ".wea" in w)
    assert warning.startswith("two.wea is there already and stays")
    names = [e.name for e in read_nres(read_file(tmp_path / "new/static.rlb"), "x").entries]
    assert names[-4:] == ["one.wea", "two.WEA", "one.msh", "two.msh"]


def test_adding_again_finds_what_was_added(game: Path, out: Path, tmp_path: Path) -> None:
    """After success the same command succeeds and changes nothing; another model is refused where
    the output does not know what it added."""
    path = out / "static.rlb/new rock.glb"
    shutil.copy(out / "static.rlb/s_rock_057.glb", path)
    before = (game / "static.rlb").read_bytes()
    assert back(tmp_path, "--in-place", "--add")["counts"] == {"added": 1, "unchanged": 10}
    done = snapshot(game)
    facts = back(tmp_path, "--in-place", "--add")
    assert facts["counts"] == {"unchanged": 11}
    assert "the game has it already" in {row["detail"] for row in facts["items"]}
    assert snapshot(game) == done

    as_another_output(out)
    move(path)
    facts = back(tmp_path, "--in-place", "--add", code=1)
    (failed,) = (row["detail"] for row in facts["items"] if row["status"] == "failed")
    assert "has an entry of this name already, which is another one" in failed
    assert "--force replaces it" in failed
    assert snapshot(game) == done
    facts = back(tmp_path, "-o", tmp_path / "new", "--add", "--force")
    assert facts["counts"] == {"changed": 1, "unchanged": 10}
    assert original(game, "static.rlb") == before
    new = read_nres(read_file(tmp_path / "new/static.rlb"), "x")
    found = [e for e in new.entries if e.name == "new rock.msh"]
    assert [bytes(e.payload) for e in found] == [import_gltf(path).data]


def test_a_refused_companion_keeps_its_model_as_well(game: Path, out: Path, tmp_path: Path) -> None:
    """A model and its ``.wea`` go into the archive together, or neither does."""
    for target in ("SYSTEM.RLB/b_bun_000.glb", "SYSTEM.RLB/птица.glb"):
        move(out / target)
    path = out / "SYSTEM.RLB/b_bun_000.glb"
    document = Editable(path)
    document.json["materials"][0]["name"] = "rust"
    document.save(path)
    archive = read_nres((game / "SYSTEM.RLB").read_bytes(), "x")
    theirs = replace_entry(archive, 3, b"1\r\n0 theirs\r\n")
    write(game / "SYSTEM.RLB", write_nres(theirs))
    facts = back(tmp_path, "-o", tmp_path / "new", code=1)
    assert facts["counts"] == {"changed": 1, "failed": 1, "unchanged": 8}
    same_but_for(game / "SYSTEM.RLB", tmp_path / "new/SYSTEM.RLB", 4)
