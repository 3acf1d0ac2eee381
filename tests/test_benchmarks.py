"""What the benchmarks compare is the same work, and their table says what is so."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import commands, floor, full_game, game, inside, libraries, missions, record
from msh_gltf.converter.checks.areal_map import check_areal_map, check_areal_map_further
from msh_gltf.converter.formats.areal_map import read_areal_map
from msh_gltf.converter.formats.kinds import models_in
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.missions import LoadedMission
from msh_gltf.converter.kinds.open_files import open_nres
from msh_gltf.converter.options import ExportOptions

Json = dict[str, Any]


@pytest.fixture(scope="module")
def archive() -> bytes:
    """Two models, one of them animated."""
    models = {"still.msh": game.build(1), "moving.msh": game.build(2, nodes=4, frames=9)}
    mesh = int.from_bytes(b"MESH", "little")
    return write_nres(new_archive([game.entry(mesh, *model) for model in models.items()], "two"))


def windows(document: Json) -> Counter[tuple[Any, ...]]:
    """Every primitive's vertex and index counts and bounds."""
    accessors = document["accessors"]
    return Counter(
        (
            accessors[primitive["attributes"]["POSITION"]]["count"],
            accessors[primitive["indices"]]["count"],
            *accessors[primitive["attributes"]["POSITION"]]["min"],
            *accessors[primitive["attributes"]["POSITION"]]["max"],
        )
        for mesh in document["meshes"]
        for primitive in mesh["primitives"]
    )


def test_the_floor_shows_the_same_geometry(archive: bytes) -> None:
    own = inside.way_out([(Path("two.rlb"), archive)])
    low = [floor.glb(model) for model in floor.models(archive)]
    assert len(own) == len(low) == 2
    assert [len(libraries.parts(glb)[0].get("animations", [])) for glb in own] == [1, 1]
    for ours, theirs in zip(own, low, strict=True):
        assert windows(libraries.parts(ours)[0]) == windows(libraries.parts(theirs)[0])


def test_other_libraries_write_the_same_model(archive: bytes) -> None:
    for glb in inside.way_out([(Path("two.rlb"), archive)]):
        document, buffer = libraries.parts(glb)
        saved, stored = libraries.parts(libraries.through_pygltflib(document, buffer))
        assert stored == buffer
        assert windows(saved) == windows(document)
        assert len(saved.get("animations", [])) == len(document.get("animations", []))
        exported, _ = libraries.parts(libraries.through_trimesh(libraries.pieces(document, buffer)))
        assert windows(exported) == windows(document)


def test_rows_say_whether_an_aim_is_met() -> None:
    slow = record.Row("a", "job", 3.1, "s", 1.0, "floor", 3)
    fast = record.Row("b", "job", 1.0, "s", 5.0, "trimesh", 5, faster=True)
    alone = record.Row("c", "job", 0.06, aim=0.05)
    assert [row.met for row in (slow, fast, alone)] == [False, True, False]
    assert record.Row("d", "job", 1.0).met is None
    text = record.table([slow, fast], {"a": 3.0, "b": 0.8})
    assert "NO" in text.splitlines()[1]
    assert "SLOWER" not in text.splitlines()[1]
    assert text.splitlines()[2].endswith("+25% SLOWER")


def test_areal_maps_of_the_full_game_are_valid() -> None:
    areals = read_areal_map(read_nres(full_game.areal_map(0), "Land.map"))
    assert len(areals.records) == full_game.COLUMNS * full_game.ROWS
    found = [*check_areal_map(areals), *check_areal_map_further(areals)]
    assert [str(finding) for finding in found if finding.severity != "note"] == []


def test_an_archive_with_a_film_is_an_archive(tmp_path: Path) -> None:
    root = game.make_film(tmp_path / "film", commands.MODEL, 1 << 20)
    archive = open_nres(root / "film.rlb", "film.rlb")
    assert models_in(archive) == [0]
    assert [entry.size for entry in archive.entries] == [commands.MODEL.stat().st_size, 1 << 20]
    assert bytes(archive.entries[0].payload) == commands.MODEL.read_bytes()


def test_the_mission_shows_every_object(tmp_path: Path) -> None:
    root = missions.make(tmp_path / "mission", game.make(tmp_path / "game", missions.MODELS))
    loaded = load_file(root / missions.MISSION, None, ExportOptions(find_textures=False))
    assert isinstance(loaded, LoadedMission)
    assert [str(finding) for finding in loaded.findings if finding.severity == "error"] == []
    assert len(loaded.mission.objects) == 300
    assert loaded.terrain is not None
    kinds = Counter(placed.kind for placed in loaded.mission.objects)
    assert [kinds[kind] for kind in range(3)] == [20, 40, 240]
    shown = [one for one in loaded.assembly.placements if one.model is not None]
    assert len(shown) == 20 + 3 * 40 + 240
