"""Missions and units through real Blender without edits; edits of them are trials (``test_trials.py``)."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from msh_gltf import import_gltf
from tests.support.blender import exported
from tests.support.inside_game import convert, make, robot_of

PLAIN = {"export_extras": True, "use_mesh_edges": True}
#: Trips without edits: options of the exporter, and what is done in the scene.
TRIPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "modifiers": ({"export_apply": True}, {}),
    "no animation": ({"export_animations": False}, {}),
    "frame 7": ({}, {"frame": 7}),
    "single user": ({}, {"edit": "single_user"}),
    "30 fps": ({}, {"before": 30}),
    "60 fps": ({}, {"before": 60}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mission with and without clips and a unit, and the files that Blender makes of them."""
    out = tmp_path_factory.mktemp("inside")
    mission = make(out / "GAME")
    convert(mission, out / "mission.glb", clips=True)
    convert(mission, out / "still.glb")
    convert(robot_of(mission), out / "robot.glb")
    trips = itertools.product(("mission", "still", "robot"), TRIPS.items())
    exported(
        out,
        [
            {"source": out / f"{name}.glb", "files": {f"{out}/{name}-{trip}.glb": PLAIN | options}, **scene}
            for name, (trip, (options, scene)) in trips
        ],
    )
    return out


@pytest.mark.parametrize("trip", TRIPS)
@pytest.mark.parametrize("name", ["mission", "still", "robot"])
def test_a_trip_without_edits_reports_nothing(folder: Path, name: str, trip: str) -> None:
    back = import_gltf(folder / f"{name}-{trip}.glb", sidecar=folder / f"{name}.msh-sidecar")
    assert [str(one) for one in back.not_applied] == []
    assert back.unchanged
    no_clips = trip == "no animation" and name != "still"
    assert ("clips of its models are not compared" in str(back.warnings)) == no_clips
