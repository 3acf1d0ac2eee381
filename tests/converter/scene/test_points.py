"""Control points in glTF: below their nodes, never in the way."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.converter.edits.points import POINTS as EDITED
from tests.converter.edits.points import stored
from tests.support.corpus import sample_called
from tests.support.gltf_view import GltfView
from tests.support.points import POINTS, Point, cpt
from tests.support.runs import run

ROBOT = sample_called("retail__system__R_H_002")


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """A loose model with control points beside it."""
    (tmp_path / "robot.CPT").write_bytes(cpt(POINTS))
    return Path(shutil.copy(ROBOT.path, tmp_path / "robot.msh"))


WHOLE = cpt(POINTS)


@pytest.mark.parametrize("data", [WHOLE[:-1], WHOLE + b"\0", b"\1", b"\xff\xff\xff\xff", WHOLE[:3]])
def test_broken_files(robot: Path, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "robot.CPT").write_bytes(data)
    out = run("msh2gltf", robot, "--points", "-o", tmp_path / "r.glb")
    assert (out.returncode, "size does not fit its count of" in out.stderr) == (0, True)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([("a", 99, (0, 0, 0), (0, 0, 1))], "control point 'a' has no place: the model has no such node: 99"),
        ([("a", -1, (0, 0, 0), (0, 0, 1))], "the model has no such node: -1"),
        ([("a", 0, (float("nan"), 0, 0), (0, 0, 1))], "numbers that no place has: nan 0 0 0 0 1"),
        ([("a", 0, (0, float("inf"), 0), (0, 0, 1))], "numbers that no place has"),
        ([("a", 0, (0, 2e6, 0), (0, 0, 1))], "numbers that no place has"),
        ([("a", 0, (0, 0, 0), (0, 0, float("nan")))], "numbers that no place has"),
    ],
)
def test_points_that_cannot_be(robot: Path, tmp_path: Path, points: list[Point], said: str) -> None:
    """The others are shown, the model too."""
    good: Point = ("good", 1, (1, 2, 3), (0, 0, 1))
    (tmp_path / "robot.CPT").write_bytes(cpt([*points, good]))
    out = run("msh2gltf", robot, "--points", "-o", tmp_path / "r.glb")
    assert out.returncode == 0
    assert said in out.stderr
    names = [node["name"] for node in GltfView(tmp_path / "r.glb")["nodes"]]
    assert [n for n in names if n.endswith(".point")] == ["good.point"]


def test_exported_as_the_contract_says(robot: Path, tmp_path: Path) -> None:
    """With what the game's files have: a flag, another second node, a point of no node."""
    (tmp_path / "robot.CPT").write_bytes(stored())
    assert run("msh2gltf", robot, "-o", tmp_path / "r.glb").returncode == 0
    view = GltfView(tmp_path / "r.glb")
    by_row = {n["extras"]["msh"].get("index"): n for n in view["nodes"] if "extras" in n}
    for row, (name, node, _, direction) in enumerate(EDITED):
        about = by_row[row]["extras"]["msh"]
        assert by_row[row]["name"].startswith(f"{name}.point")
        assert (about["kind"], about["point"]) == ("point", row)
        assert about["node2"] == (2 if row == 1 else node)
        np.testing.assert_allclose(about["length"], np.linalg.norm(direction), rtol=1e-6)
        x, y, z, w = by_row[row].get("rotation", [0, 0, 0, 1])
        # +Y of glTF, turned; game (x, y, z) is (x, z, -y)
        up = np.array([2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)])
        across, along, upward = direction
        shown = np.array([across, upward, -along])
        np.testing.assert_allclose(up * about["length"], shown, atol=1e-6)
    assert by_row[0]["extras"]["msh"]["flags"] == "0x80000000"
