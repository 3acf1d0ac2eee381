"""Valid files have no errors, and no warnings but those that somebody put there on purpose."""

import copy
import json
import os
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.kinds.check import check_file
from msh_gltf.converter.kinds.open_files import read_msh
from tests.support.assembled_game import GameParts
from tests.support.corpus import CORPUS, DATA, LIBS, sample_called
from tests.support.maps import LEVELS

#: The generator numbers rows of material lists at random, makes the legacy outlier, and fills
#: control points with random bytes.
ON_PURPOSE = {"wear-id", "look-missing", "node-legacy", "point-place", "ndp-count"}
#: In the game with units and missions: keys, files, parents and records that are missing.
MISSING = {"registry-cycle", "object-model", "object-file", "unit-key", "mission-path"}
#: Its archive of oddities also has a model without Res7, one whose batches overlap, and one whose
#: map names a later key.
ODD = ON_PURPOSE | {"table-missing", "batch-tile", "map-key"}


ROOT = Path(__file__).parents[3]
NOTHING: dict[str, set[str]] = {"error": set(), "warning": set(), "note": set()}
NOTES = {".map": {"areal-polys"}, ".lib": {"nres-region"}}
FILES = [path for folder in (DATA, LIBS, *(level.folder for level in LEVELS)) for path in sorted(folder.iterdir())]


def found(path: Path) -> dict[str, set[str]]:
    """Codes by severity of a file and all its entries."""
    out = copy.deepcopy(NOTHING)
    checked = check_file(path, path.name)
    assert checked
    for finding in (finding for one in checked for finding in one.findings):
        out[finding.severity].add(finding.code)
    return out


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.suffix.lower() in (".msh", ".map", ".wea", ".lib")],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_bundled_files(path: Path) -> None:
    codes, truth = found(path), path.with_suffix(".json")
    assert not codes["error"]
    assert codes["warning"] <= (ODD if "odd" in path.stem.lower() else set() if path.suffix == ".lib" else ON_PURPOSE)
    assert path.parent == DATA or codes["note"] <= NOTES.get(path.suffix.lower(), set())
    if path.parent == DATA and path.suffix == ".msh":
        assert ("node-legacy" in codes["warning"]) == json.loads(truth.read_text("utf-8"))["legacy"]


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "examples").glob("*.msh")), DATA / "BuildDat.lst"],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_what_this_project_makes_has_nothing_to_find(path: Path) -> None:
    assert found(path) == NOTHING


def test_a_game_with_units_and_a_mission(tmp_path: Path) -> None:
    root = tmp_path / "game"
    mission = GameParts().write(root)
    for path in (mission, root / "objects.rlb", *root.glob("UNITS/**/*.dat")):
        assert found(path) == NOTHING, path
    alone = tmp_path / "data.tma"
    alone.write_bytes(mission.read_bytes())
    assert found(alone) == NOTHING, "without a game nothing is looked for"


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
