"""Valid files have no errors, and no warnings but those that somebody put there on purpose."""

import os
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.kinds.check import check_file
from msh_gltf.converter.kinds.open_files import read_msh
from tests.support.assembled_game import GameParts
from tests.support.corpus import CORPUS, DATA, LIBS, every_sample, sample_called
from tests.support.maps import LEVELS

#: The generator numbers rows of material lists at random, makes the legacy outlier, and fills
#: control points with random bytes.
ON_PURPOSE = {"wear-id", "look-missing", "node-legacy", "point-place", "ndp-count"}
#: In the game with units and missions: keys, files, parents and records that are missing.
MISSING = {"registry-cycle", "object-model", "object-file", "unit-key", "mission-path"}
#: Its archive of oddities also has a model without Res7, one whose batches overlap, and one whose
#: map names a later key.
ODD = ON_PURPOSE | {"table-missing", "batch-tile", "map-key"}


def found(path: Path) -> dict[str, set[str]]:
    """Codes by severity, notes left out, of a file and all its entries."""
    out: dict[str, set[str]] = {"error": set(), "warning": set(), "note": set()}
    checked = check_file(path, path.name)
    assert checked
    for one in checked:
        for finding in one.findings:
            out[finding.severity].add(finding.code)
    return out


@every_sample
def test_models(sample) -> None:
    codes = found(sample.path)
    assert not codes["error"]
    assert codes["warning"] <= (ODD if "odd" in sample.id.lower() else ON_PURPOSE)
    if sample.entry is None:
        assert ("node-legacy" in codes["warning"]) == sample.truth["legacy"]


@pytest.mark.parametrize("name", ["hangar", "tree", "walker"])
def test_examples(name: str) -> None:
    """What this project makes has nothing to find at all."""
    path = Path(__file__).parents[3] / f"examples/{name}.msh"
    assert found(path) == {"error": set(), "warning": set(), "note": set()}


@pytest.mark.parametrize("level", LEVELS, ids=[level.id for level in LEVELS])
def test_levels(level) -> None:
    for path in sorted(level.folder.iterdir()):
        if path.suffix.lower() in (".msh", ".map", ".wea"):
            codes = found(path)
            assert not codes["error"] | codes["warning"] - ON_PURPOSE, path.name
            assert codes["note"] <= {"areal-polys"}


@pytest.mark.parametrize("path", sorted(LIBS.glob("*.lib")), ids=lambda p: p.name)
def test_libraries(path: Path) -> None:
    codes = found(path)
    assert not codes["error"] | codes["warning"]
    assert codes["note"] <= {"nres-region"}


def test_build_dat() -> None:
    assert found(DATA / "BuildDat.lst") == {"error": set(), "warning": set(), "note": set()}


def test_a_game_with_units_and_a_mission(tmp_path: Path) -> None:
    nothing = {"error": set(), "warning": set(), "note": set()}
    root = tmp_path / "game"
    mission = GameParts().write(root)
    for path in (mission, root / "objects.rlb", *root.glob("UNITS/**/*.dat")):
        assert found(path) == nothing, path
    alone = tmp_path / "data.tma"
    alone.write_bytes(mission.read_bytes())
    assert found(alone) == nothing, "without a game nothing is looked for"


def test_whole_games() -> None:
    if CORPUS is None:
        pytest.skip("MSH_GLTF_CORPUS names no corpus")
    for game in sorted(Path(CORPUS).glob("*/game")):
        for folder, _, names in os.walk(game):
            for name in names:
                for one in check_file(Path(folder) / name, name, [game]):
                    bad = {f.code for f in one.findings if f.severity != "note"}
                    assert bad <= (ODD if name == "Odd.rlb" else ON_PURPOSE | MISSING), (one.id, bad)


def test_hostile_ranges_are_not_followed() -> None:
    """Every slot reaches every batch: what they reach together is never laid out."""
    model = read_msh(sample_called("retail__system__R_H_002").path)
    slots = np.repeat(model.slots[:1], 65000)
    slots["batch_start"], slots["batch_count"] = 0, len(model.batches)
    model.slots = slots
    from msh_gltf.converter.checks.model import check_geometry

    codes = {finding.code for finding in check_geometry(model)}
    assert "slot-cover" in codes
    assert "slot-box" not in codes
