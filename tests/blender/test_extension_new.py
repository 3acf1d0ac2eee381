"""A model made in Blender is put into the game and a mission, through the extension."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.mission import read_mission
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.objects import read_registry
from tests.blender.test_extension import Seen, see, zip_file
from tests.support.game import original, snapshot
from tests.support.runs import run

__all__ = ["zip_file"]


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), ("adding",))


def test_errors_name_what_to_do_in_blender(seen: Seen) -> None:
    facts, out = seen.facts["adding"], seen.out / "adding"
    assert "Preferences > Add-ons > MSH" in facts["no_game"]
    assert "no archive is named; choose one of the game" in facts["no_archive"]
    assert "nothing.rlb: is not an archive" in facts["no_such"]
    assert "s_rock: has the object key already, for something else" in facts["taken"]
    assert not any("--" in facts[name] for name in ("no_game", "no_archive", "no_such", "taken"))
    assert not [name for name in snapshot(out / "before") if ".msh-gltf" in name]


def test_a_new_model_goes_into_an_archive(seen: Seen) -> None:
    """With materials, pictures and a key; every file that changes is kept once."""
    facts, out = seen.facts["adding"], seen.out / "adding"
    assert facts["archives"] == ["static.rlb"]
    before, added = snapshot(out / "before"), snapshot(out / "added")
    files = {"static.rlb", "objects.rlb", "Material.lib", "Textures.lib"}
    assert {name for name in added if added[name] != before.get(name)} == files
    for name in files:
        assert original(out / "added" / name) == (out / "before" / name).read_bytes()
    found = read_registry(read_nres(read_file(out / "added/objects.rlb"), "x")).resolve("my_box")
    assert found is not None
    assert found.tag == "STAT"
    assert str(found.model) == "static.rlb::my_box.msh"
    assert "object key 'my_box' is new in objects.rlb" in facts["added"]["warnings"]
    assert snapshot(out / "again") == added


def test_edits_arrive_and_a_renamed_model_leaves_nothing_of_its_old_name(seen: Seen) -> None:
    facts, out = seen.facts["adding"], seen.out / "adding"
    again, edited = snapshot(out / "again"), snapshot(out / "edited")
    assert {name for name in edited if edited[name] != again[name]} == {"static.rlb"}
    for name in ("static.rlb", "objects.rlb"):
        before, now = (read_nres(read_file(out / d / name), "x") for d in ("before", "renamed"))
        names = [entry.name for entry in now.entries]
        added = ["my_crate.msh", "my_crate.wea"] if name == "static.rlb" else ["my_crate"]
        assert names == [*(entry.name for entry in before.entries), *added]
    assert facts["state"] == ["static.rlb", "my_crate", "STAT", ""]
    assert (facts["put_back"], facts["imported"]) == (False, False)


def test_a_property_typed_in_blender_places_it_in_a_mission(seen: Seen) -> None:
    facts, out = seen.facts["adding"], seen.out / "adding"
    assert "object 'Guard' places what neither the mission nor the game has" in facts["unknown"]
    assert "name the game's folder in Edit > Preferences > Add-ons > MSH" in facts["unknown"]
    assert facts["placed"]["warnings"] == []
    assert facts["said"]["Crate at the gate"][0] == "my_crate"
    assert facts["said"]["Guard"][1] == 0
    np.testing.assert_allclose(facts["shown"][0], [120, 80, 9], atol=1e-4)
    assert facts["shown"][1] == 1
    mission = read_mission((out / "edited.tma").read_bytes(), "x")
    assert len(mission.objects) == 5
    checked = run("msh-inspect", "--check", out / "game")
    assert checked.returncode == 0, checked.stdout
