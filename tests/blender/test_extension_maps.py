"""Terrains and areal maps through the extension in real Blender."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.checks.areal_map import check_areal_map
from msh_gltf.converter.formats.areal_map import areal_payload, read_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import read_terrain
from tests.blender.test_extension import LEVEL, Seen, by_command, see, zip_file
from tests.docs.materials import example_game
from tests.support.areals import own, record_bytes
from tests.support.game import snapshot

__all__ = ["zip_file"]


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), ("maps", "ground", "two_grounds", "areals"))


def test_maps(seen: Seen) -> None:
    facts = seen.facts["maps"]
    assert facts["land"]["outcome"] == facts["areals"]["outcome"]
    seen.same("maps", "land.same", LEVEL / "Land.msh")
    seen.same("maps", "areals.same", LEVEL / "Land.map")
    raised = seen.out / "maps/raised.glb"
    made = (seen.out / "maps/raised.msh").read_bytes()
    assert made == by_command(raised, LEVEL / "Land.msh")
    assert made != (LEVEL / "Land.msh").read_bytes()
    assert facts["raised"]["rows"]


def test_faces_that_cross_a_border_are_selected_by_one_click(seen: Seen) -> None:
    """Those that Put Back refuses, and no others."""
    facts = seen.facts["ground"]
    before, none, after, (count, all_there) = facts["checked"]
    assert (before, none, after, all_there) == ("EDIT", [0, True], "EDIT", True)
    assert count > 0
    assert "a face crosses its square's border" in facts["crossing"]


def test_of_two_grounds_each_is_seen_and_painted(seen: Seen) -> None:
    facts = seen.facts["two_grounds"]
    assert facts["shown"]
    assert {tuple(types) for types in facts["shown"].values()} == {("TEX_IMAGE", "ATTRIBUTE")}
    assert facts["unchanged"]["outcome"] == "unchanged, restored byte for byte"
    for image, name in facts["painted"].items():
        assert image != name
        report = facts[image]
        assert any(f"picture {name} is repainted" in row[3] for row in report["rows"]), report
        assert not [line for line in report["warnings"] if "not applied" in line]
    assert facts["undone"]["outcome"] == "unchanged, restored byte for byte"
    assert any("has another second ground" in line for line in facts["recoloured"]["warnings"])
    assert snapshot(seen.out.parent / "example") == snapshot(example_game())


# ------------------------------------------------------------------ edits


def test_a_raised_corner_does_not_tear_the_ground(seen: Seen) -> None:
    facts, old = (seen.facts["ground"], read_terrain(read_nres((LEVEL / "Land.msh").read_bytes(), "x"), "x"))
    assert facts["twice"] == 0
    assert facts["raised"]["warnings"] == []
    new = read_terrain(read_nres((seen.out / "ground/raised.msh").read_bytes(), "x"), "x")
    corner = np.float32(facts["corner"])
    here = (old.positions == corner).all(axis=1)
    assert here.any()
    assert not (new.positions == corner).all(axis=1).any()
    raised = (new.positions == corner + np.float32([0, 0, 5])).all(axis=1)
    assert raised.any()
    assert len(new.faces) == len(old.faces)
    seen.same("ground", "undone.msh", LEVEL / "Land.msh")


def test_a_new_ground(seen: Seen) -> None:
    """Its rows in the two lists of materials lie beside the terrain."""
    before, folder = (LEVEL / "Land1.wea").read_bytes(), seen.out / "ground"
    after = (folder / "lava1.wea").read_bytes()
    assert after.splitlines()[1:] == [*before.splitlines()[1:], "11 лава".encode("cp1251")]
    assert len((folder / "lava2.wea").read_bytes().splitlines()) == len(after.splitlines())
    terrain = read_terrain(read_nres((folder / "lava.msh").read_bytes(), "x"), "x")
    assert (terrain.faces["first"] == 11).sum() == 1


def test_areals_are_edited_as_faces(seen: Seen) -> None:
    facts, folder = seen.facts["areals"], seen.out / "areals"
    old = read_areal_map(read_nres((LEVEL / "Land.map").read_bytes(), "x"))
    assert (facts["faces"], facts["objects"]) == (len(old.records), ["areals", "borders"])
    codes = {f.code for f in check_areal_map(old)}
    new = {}
    for name in ("move", "split", "knife", "delete", "replace", "classify", "set"):
        assert facts[name]["warnings"] == [], name
        new[name] = read_areal_map(read_nres((folder / f"{name}.map").read_bytes(), name))
        assert {f.code for f in check_areal_map(new[name])} <= codes, name

    def concerned(name: str) -> set[int]:
        pairs = zip(*(record_bytes(a, areal_payload(a)) for a in (old, new[name])), strict=False)
        return {i for i, (a, b) in enumerate(pairs) if a != b}

    place, areals = facts["move"]["seen"]
    assert concerned("move") == set(areals)
    assert all((own(new["move"], i) == np.float32(place)).all(axis=1).any() for i in areals)
    count = len(old.records)
    areal, corners = facts["split"]["seen"]
    both = np.concatenate([own(new["split"], i) for i in (areal, count)])
    assert len(both) == len(corners) + 2
    assert {tuple(p) for p in both.tolist()} == {tuple(np.float32(p).tolist()) for p in corners}
    areal, areals = facts["knife"]["seen"]
    assert len(new["knife"].records) == count + 1
    assert set(areals) - {count} <= concerned("knife")
    assert [len(a.records) for a in (new["delete"], new["replace"])] == [count - 1, count]
    gone = own(old, facts["delete"]["seen"])
    assert {tuple(p) for p in own(new["replace"], count - 1).tolist()} == set(map(tuple, gone.tolist()))
    areal, name = facts["classify"]["seen"]
    record = new["classify"].records[areal]
    assert (f"class_{record['class_id']}", record["logic"]) == (name, 1 - old.records["logic"][areal])
    assert concerned("classify") == {areal}
    areal, (number, class_id, walkable) = facts["set"]["seen"]
    record = new["set"].records[areal]
    assert (number, record["class_id"], bool(record["logic"])) == (areal, 77, not walkable)
    assert concerned("set") == {areal}
    assert old.records["class_id"][areal] == class_id
    seen.same("areals", "set_back.map", LEVEL / "Land.map")
    assert "areal" in facts["refused"]
    assert not (folder / "refused.map").exists()
    seen.same("areals", "undone.map", LEVEL / "Land.map")
    assert (folder / "put_back.map").read_bytes() != (LEVEL / "Land.map").read_bytes()
