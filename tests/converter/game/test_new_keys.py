"""``gltf2msh OUT_DIR --add --tag TAG``: new models get object keys in ``objects.rlb``."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.cli.given import TAGS as TAG_CHOICES
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import Archive, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry, replace_entry
from msh_gltf.converter.formats.objects import TAGS, read_registry
from msh_gltf.converter.formats.sidecar import sha256
from tests.support import assembly as make
from tests.support.assembled_game import GameParts
from tests.support.corpus import DATA
from tests.support.game import snapshot, write
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.gltf_view import GltfView
from tests.support.runs import call, run
from tests.support.vault import as_another_output, original

TREE = DATA.parents[1] / "examples/tree.msh"
STAT, EXTO = (int.from_bytes(tag, "little") for tag in (b"STAT", b"EXTO"))


class Place:
    """A game, what ``msh2gltf`` made of it, and a new tree among it."""

    def __init__(self, root: Path) -> None:
        self.root, self.game, self.out = root, root / "GAME", root / "out"
        GameParts().write(self.game)
        before = self.registry()
        forgotten = replace_entry(before, 0, bytes(before.entries[0].payload) + bytes(64))
        write(self.game / "objects.rlb", write_nres(forgotten))
        assert call(cli.msh2gltf, self.game, "-o", self.out, "-q", "-j", "1") == 0
        self.new_model("static.rlb/my_tree.glb")

    def new_model(self, name: str) -> None:
        """A model that no game and no sidecar knows."""
        made = self.root / "made.glb"
        assert call(cli.msh2gltf, TREE, "-o", made, "--no-sidecar", "--force", "-q") == 0
        document = Editable(made)
        drop_extras(document)
        (self.out / name).parent.mkdir(parents=True, exist_ok=True)
        document.save(self.out / name)

    def registry(self, game: Path | None = None) -> Archive:
        return read_nres(read_file((game or self.game) / "objects.rlb"), "objects.rlb")

    def back(self, *options: object, code: int = 0) -> dict[str, Any]:
        """Run ``gltf2msh``; the item of the tree in its report."""
        report = self.root / "report.json"
        where = ("--game", self.game, "-j", "1", "-q", "--report", report)
        assert call(cli.gltf2msh, self.out, *where, *options) == code
        self.facts = json.loads(report.read_text("utf-8"))
        found = [one for one in self.facts["items"] if one["id"].endswith("::my_tree.msh")]
        return found[0] if found else {}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_new_model_gets_a_key(place: Place) -> None:
    """The row of each of its files; the other bytes of the registry stay."""
    new = place.root / "NEW"
    item = place.back("-o", new, "--add", "--tag", "STAT")
    assert (item["status"], item["key"]) == ("added", "my_tree")
    before, after = place.registry(), place.registry(new)
    rows = [make.row("static.rlb", f"my_tree{ending}") for ending in (".msh", ".wea")]
    expected = add_entry(before, b"my_tree", STAT, b"".join(rows), (2, 0, 0))
    assert write_nres(after) == write_nres(expected)
    assert after.sort_table_fold() is not None
    changed = {n for n, d in snapshot(new).items() if snapshot(place.game).get(n) != d}
    assert changed == {"objects.rlb", "static.rlb"}


def test_without_a_tag_there_is_no_key(place: Place) -> None:
    item = place.back("-o", place.root / "NEW", "--add")
    assert "key" not in item
    assert snapshot(place.root / "NEW")["objects.rlb"] == snapshot(place.game)["objects.rlb"]


def test_control_points_get_a_row(place: Place) -> None:
    document = Editable(place.out / "static.rlb/my_tree.glb")
    document.json["nodes"].append({"name": "Top.point", "translation": [0, 3, 0]})
    last = len(document.json["nodes"]) - 1
    document.json["nodes"][0].setdefault("children", []).append(last)
    document.save(place.out / "static.rlb/my_tree.glb")
    place.back("-o", place.root / "NEW", "--add", "--tag", "STAT")
    registry = read_registry(place.registry(place.root / "NEW"))
    found = registry.resolve("my_tree")
    assert found is not None
    assert sorted(found.members) == [".cpt", ".msh", ".wea"]


def test_a_copy_of_a_model_has_materials_of_its_own(place: Place) -> None:
    """It names the sidecar of its origin, whose ``.wea`` is written under its name."""
    shutil.copy(place.out / "static.rlb/room.glb", place.out / "static.rlb/my_tree.glb")
    place.back("-o", place.root / "NEW", "--add", "--tag", "STAT")
    archive = read_nres(read_file(place.root / "NEW/static.rlb"), "static.rlb")
    lists = [archive.entries[archive.find(f"{stem}.wea") or 0] for stem in ("my_tree", "room")]
    assert lists[0].name == "my_tree.wea"
    assert lists[0].payload == lists[1].payload
    found = read_registry(place.registry(place.root / "NEW")).resolve("my_tree")
    assert found is not None
    assert str(found.wear) == "static.rlb::my_tree.wea"


def test_in_place_it_stays_without_the_options_and_goes_with_its_file(place: Place) -> None:
    before = snapshot(place.game)
    assert place.back("--in-place", "--add", "--tag", "STAT")["status"] == "added"
    done = snapshot(place.game)
    assert sha256(original(place.game, "objects.rlb")) == before["objects.rlb"]
    for options in (("--add", "--tag", "STAT"), ("--add",), ()):
        item = place.back("--in-place", *options)
        assert (item["status"], item["key"]) == ("unchanged", "my_tree")
        assert snapshot(place.game) == done
    item = place.back("--in-place", "--add", "--tag", "EXTO")
    assert item["warnings"][-1] == "object key 'my_tree' is there as STAT and stays so"
    (place.out / "static.rlb/my_tree.glb").unlink()
    assert place.back("--in-place")["status"] == "restored"
    assert snapshot(place.game) == before


def test_a_second_edit_of_a_new_model_is_not_called_unchanged(place: Place) -> None:
    """Its key stays, its geometry arrives."""
    options = ("--in-place", "--add", "--tag", "STAT")
    place.back(*options)
    added = place.out / "static.rlb/my_tree.glb"
    document = Editable(added)
    document.json["nodes"][0]["translation"] = [1, 2, 3]
    document.save(added)
    before = read_file(place.game / "static.rlb")
    assert place.back(*options)["status"] == "added"
    assert read_file(place.game / "static.rlb") != before
    assert place.back(*options)["status"] == "unchanged"


def test_a_model_that_was_added_before_gets_its_key(place: Place) -> None:
    place.back("--in-place", "--add")
    item = place.back("--in-place", "--add", "--tag", "STAT")
    assert (item["status"], item["key"]) == ("changed", "my_tree")
    assert place.registry().find("my_tree") is not None


def test_again_without_record_it_finds_its_own_key(place: Place) -> None:
    place.back("--in-place", "--add", "--tag", "STAT")
    done = snapshot(place.game)
    as_another_output(place.out)
    assert place.back("--in-place", "--add", "--tag", "STAT")["status"] == "unchanged"
    assert snapshot(place.game) == done


def with_key_of(place: Place, *rows: tuple[str, str], tag: int = STAT) -> None:
    """Give the game a key of the tree's name."""
    payload = b"".join(make.row(*row) for row in rows)
    made = add_entry(place.registry(), b"MY_TREE", tag, payload, (len(rows), 0, 0))
    write(place.game / "objects.rlb", write_nres(made))


@pytest.mark.parametrize(
    "rows",
    [
        [("static.rlb", "room.msh"), ("static.rlb", "room.wea")],
        [("static.rlb", "my_tree.msh"), ("static.rlb", "room.wea")],
        [("objects.rlb", "s_rock")],
        [("", "")],
    ],
)
def test_a_key_for_something_else_is_refused_with_its_model(place: Place, rows: list[tuple[str, str]]) -> None:
    with_key_of(place, *rows)
    before = snapshot(place.game)
    item = place.back("--in-place", "--add", "--tag", "STAT", "--force", code=1)
    assert item["status"] == "failed"
    assert "entry my_tree: has the object key already, for something else" in item["detail"]
    assert "give the new model another name" in item["detail"]
    assert snapshot(place.game) == before


def test_a_key_for_the_same_files_stays(place: Place) -> None:
    """With its tag, and with further rows."""
    rows = [("", ""), ("STATIC.RLB", "My_Tree.msh"), ("static.rlb", "my_tree.ndp")]
    with_key_of(place, *rows, ("static.rlb", "my_tree.WEA"), tag=EXTO)
    before = snapshot(place.game)["objects.rlb"]
    item = place.back("-o", place.root / "NEW", "--add", "--tag", "STAT")
    assert item["warnings"][-1] == "object key 'my_tree' is there as EXTO and stays so"
    assert snapshot(place.root / "NEW")["objects.rlb"] == before


def test_a_key_without_the_material_list_gets_its_row(place: Place) -> None:
    with_key_of(place, ("static.rlb", "my_tree.msh"))
    place.back("-o", place.root / "NEW", "--add", "--tag", "STAT")
    registry = read_registry(place.registry(place.root / "NEW"))
    index = registry.find("my_tree")
    assert index is not None
    assert [str(one) for one in registry.members(index)] == ["static.rlb::my_tree.msh", "static.rlb::my_tree.wea"]
    assert registry.archive.entries[index].attr1 == 2


def test_names_that_do_not_fit_are_refused(place: Place) -> None:
    """31 bytes with the ending, of CP1251; the model is not written either."""
    fits, names = "t" * 27, ("t" * 28, "é")
    for name in (fits, *names):
        place.new_model(f"static.rlb/{name}.glb")
    place.back("-o", place.root / "NEW", "--add", "--tag", "STAT", code=1)
    status = {one["id"]: one["status"] for one in self_items(place)}
    assert status[f"static.rlb::{fits}.msh"] == "added"
    assert [status[f"static.rlb::{name}.msh"] for name in names] == ["failed", "failed"]
    details = [one["detail"] for one in self_items(place) if one["status"] == "failed"]
    assert "expected at most 31 bytes of CP1251, the ending included" in details[0]
    assert "expected letters of CP1251" in details[1]
    archive = read_nres(read_file(place.root / "NEW/static.rlb"), "x")
    assert archive.find(f"{fits}.msh") is not None
    assert archive.find(f"{names[0]}.msh") is None


def self_items(place: Place) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = place.facts["items"]
    return items


def test_the_registry_is_written_last(place: Place) -> None:
    """What names others comes after them: a kill in between leaves no key without its model."""
    log = place.root / "run.log"
    place.back("--in-place", "--add", "--tag", "STAT", "--log-file", log)
    lines = log.read_text("utf-8").splitlines()
    written = [line.split()[-2] for line in lines if line.endswith(": written")]
    assert written == ["static.rlb:", "objects.rlb:"]


def test_russian_names(place: Place) -> None:
    place.new_model("static.rlb/Дерево.glb")
    place.back("-o", place.root / "NEW", "--add", "--tag", "STAT")
    found = read_registry(place.registry(place.root / "NEW")).resolve("Дерево")
    assert found is not None
    assert str(found.model) == "static.rlb::Дерево.msh"


def test_two_models_of_one_name_get_one_key(place: Place) -> None:
    """The second one, of another archive, is refused."""
    write(place.game / "more.rlb", (place.game / "static.rlb").read_bytes())
    shutil.rmtree(place.out)
    assert call(cli.msh2gltf, place.game, "-o", place.out, "-q", "-j", "1") == 0
    for archive in ("static", "more"):
        place.new_model(f"{archive}.rlb/my_tree.glb")
    place.back("-o", place.root / "NEW", "--add", "--tag", "STAT", code=1)
    assert place.facts["counts"]["added"] == place.facts["counts"]["failed"] == 1


def test_an_archive_in_a_folder(place: Place) -> None:
    """Its path has backslashes, as paths of the game do."""
    write(place.game / "Mods/more.rlb", (place.game / "static.rlb").read_bytes())
    shutil.rmtree(place.out)
    assert call(cli.msh2gltf, place.game, "-o", place.out, "-q", "-j", "1") == 0
    place.new_model("Mods/more.rlb/my_tree.glb")
    place.back("-o", place.root / "NEW", "--add", "--tag", "STAT")
    found = read_registry(place.registry(place.root / "NEW")).resolve("my_tree")
    assert found is not None
    assert str(found.model) == "Mods\\more.rlb::my_tree.msh"
    assert run("msh-inspect", "--check", place.root / "NEW").returncode == 0


def test_the_game_needs_a_registry(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("-o", place.root / "NEW", "--add", "--tag", "STAT", "--game", place.game)
    write(place.game / "objects.rlb", (place.game / "static.rlb").read_bytes())
    assert call(cli.gltf2msh, place.out, *options) == 2
    assert "is not an object registry" in capsys.readouterr().err
    (place.game / "objects.rlb").unlink()
    assert call(cli.gltf2msh, place.out, *options) == 2
    assert "has no objects.rlb" in capsys.readouterr().err
    assert not (place.root / "NEW").exists()


def test_a_dry_run_writes_nothing(place: Place) -> None:
    before = snapshot(place.root)
    item = place.back("--in-place", "--add", "--tag", "STAT", "--dry-run")
    assert (item["status"], item["key"]) == ("added", "my_tree")
    (place.root / "report.json").unlink()
    assert snapshot(place.root) == before


def test_a_tag_needs_add_and_is_one_of_the_registrys(place: Place) -> None:
    assert tuple(TAGS) == TAG_CHOICES
    for options in (("--tag", "STAT"), ("--add", "--tag", "TREE")):
        where = ("--game", place.game, "-o", place.root / "NEW", "-q")
        assert call(cli.gltf2msh, place.out, *where, *options) == 2


def test_a_mission_places_the_new_tree(place: Place) -> None:
    """From nothing to a mission that shows it, in one run; then nothing is left to do."""
    path = place.out / "MISSIONS/Single.01/data.glb"
    document = Editable(path)
    document.json["nodes"].append({"name": "my_tree", "translation": [120.0, 9.0, -80.0]})
    document.json["scenes"][0]["nodes"].append(len(document.json["nodes"]) - 1)
    document.save(path)
    new = place.root / "NEW"
    place.back("-o", new, "--add", "--tag", "STAT")
    assert place.facts["counts"]["changed"] == 1
    shown = place.root / "mission.glb"
    assert call(cli.msh2gltf, new / "MISSIONS/Single.01", "-o", shown, "-q") == 0
    view = GltfView(shown)
    (tree,) = (i for i in view["scenes"][0]["nodes"] if view.extras(i).get("path") == "my_tree")
    assert view.own_meshes(tree)
    said = run("msh-inspect", "--uses", "my_tree", new).stdout
    assert "object key my_tree\n  used by mission MISSIONS/Single.01/data.tma" in said
    checked = run("msh-inspect", "--check", new)
    assert checked.returncode == 0, checked.stdout
    again = place.root / "again"
    assert call(cli.msh2gltf, new, "-o", again, "-q", "-j", "1") == 0
    assert call(cli.gltf2msh, again, "--game", new, "-o", place.root / "SAME", "-q") == 0
    assert snapshot(place.root / "SAME") == snapshot(new)
