"""Runs over a game with units and missions: found, converted, up to date, put back."""

import json
import os
import sys
from pathlib import Path

import pytest

from msh_gltf.converter.formats.kinds import Kind
from msh_gltf.converter.game.walk import walk
from tests.support.assembled_game import GameParts
from tests.support.game import write
from tests.support.gltf_view import GltfView
from tests.support.runs import run


@pytest.fixture
def game(tmp_path: Path) -> Path:
    GameParts().write(tmp_path / "GAME")
    return tmp_path / "GAME"


def converted(game: Path, out: Path, *options: object) -> list[str]:
    """Convert; returns what the report says of each item that is not unchanged."""
    report = out.parent / "report.json"
    done = run("msh2gltf", game, "-o", out, "-j", 1, "--report", report, "--force", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return statuses(report)


def statuses(report: Path) -> list[str]:
    rows = json.loads(report.read_text("utf-8"))["items"]
    return sorted(f"{row['id']}: {row['status']}" for row in rows if row["status"] != "unchanged")


def test_a_walk_finds_units_and_missions_in_a_game(game: Path, tmp_path: Path) -> None:
    found = walk([game])
    placed = {item.source: (item.kind, item.target) for item in found.items if item.index is None}
    assert placed["UNITS/robot.dat"] == (Kind.UNIT, "UNITS/robot.glb")
    assert placed["MISSIONS/Single.01/data.tma"] == (Kind.MISSION, "MISSIONS/Single.01/data.glb")
    alone = tmp_path / "alone"
    write(alone / "robot.dat", (game / "UNITS/robot.dat").read_bytes())
    write(alone / "other.dat", b"not a unit")
    found = walk([alone])
    assert not found.items
    assert {skipped.id: skipped.reason for skipped in found.skipped} == {
        "robot.dat": "a unit, and no directory above it has objects.rlb",
        "other.dat": "not an NRes file",
    }
    found = walk([alone], in_game=True)
    assert [item.source for item in found.items] == ["robot.dat"]


def test_kinds_are_chosen(game: Path) -> None:
    listed = {only: run("msh2gltf", game, "--list", "--only", only).stdout.split() for only in ("units", "missions")}
    assert listed["units"] == ["UNITS/BUILDS/base.dat", "UNITS/robot.dat"]
    assert listed["missions"] == ["MISSIONS/Single.01/data.tma"]
    both = run("msh2gltf", game, "--list", "--only", "units", "--only", "missions").stdout.split()
    assert sorted(both) == sorted(listed["units"] + listed["missions"])
    done = run("msh2gltf", game, "--list", "--only", "units", "--exclude", "*.dat")
    assert done.returncode == 2
    assert "--only" in done.stderr


def test_a_second_run_converts_what_changed_and_what_places_it(game: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "second.json"
    first = converted(game, out)
    assert "UNITS/robot.dat: converted" in first
    assert "MISSIONS/Single.01/data.tma: converted" in first
    assert GltfView(out / "UNITS/robot.glb").info["kind"] == "unit"

    def again() -> list[str]:
        done = run("msh2gltf", game, "-o", out, "-j", 1, "--report", report)
        assert done.returncode == 0, done.stdout + done.stderr
        return statuses(report)

    assert again() == []
    parts = GameParts()
    parts.objects["e_gun_1"][1][:] = [("static.rlb", "room.msh")]  # the robot's gun
    parts.write(game)
    assert again() == ["MISSIONS/Single.01/data.tma: converted", "UNITS/robot.dat: converted"]
    parts.placed[3]["place"] = (5.0, 5.0, 5.0)
    parts.write(game)
    assert again() == ["MISSIONS/Single.01/data.tma: converted"]


def test_a_mission_comes_back_in_a_round_trip_of_the_game(game: Path) -> None:
    done = run("msh-inspect", "--roundtrip", game, "--json", "-j", 1)
    rows = {row["id"]: row for row in json.loads(done.stdout)["models"]}
    assert rows["MISSIONS/Single.01/data.tma"]["verdict"] == "identical"


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_link_to_itself_hides_no_game(game: Path, tmp_path: Path) -> None:
    (game / "loop").symlink_to("loop")
    done = run("msh2gltf", game, "-o", tmp_path / "linked", "--only", "units", "-j", "1", "-q")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="needs any file name")
def test_a_list_names_what_cannot_be_read(game: Path) -> None:
    for name in ("Ёж.msh".encode(), "Ёж.msh".encode("cp1251")):
        Path(os.fsdecode(os.fsencode(game) + b"/" + name)).write_bytes(b"x")
    done = run("msh2gltf", game, "--list")
    assert done.returncode == 1
    assert done.stderr == "msh2gltf: Ёж.msh: two files have this name, as UTF-8 and as CP1251\n"
    assert "UNITS/robot.dat" in done.stdout
