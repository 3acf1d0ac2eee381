"""Runs without sidecars: control points that nobody edited stay as the game has them."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.formats.model_parts import POINTS_TYPE, read_points
from msh_gltf.converter.formats.nres import read_nres
from tests.support.game import MESH, archive, entry, model, write
from tests.support.gltf_edit import Editable
from tests.support.points import cpt
from tests.support.runs import call

#: The second is on a node that the model does not have: glTF does not show it.
POINTS = cpt(
    [
        ("Width_1", 1, (1.5, -2.25, 3.1), (0.1, 0.2, 1.0)),
        ("Nowhere", 99, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        ("Dir_2", 2, (0.3, 0.7, 0.0), (0.0, 2.9, 0.0)),
    ]
).replace(b"Width_1\0\0\0", b"Width_1\0x.")  # leftovers of a longer name
ROCK = model("retail__odd__s_rock_009")


@pytest.fixture(params=["archive", "loose"])
def game(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path / "game"
    if request.param == "loose":
        write(root / "a.msh", ROCK)
        write(root / "a.cpt", POINTS)
    else:
        rows = [entry(MESH, b"a.msh", ROCK), entry(POINTS_TYPE, b"a.cpt", POINTS)]
        write(root / "x.rlb", archive(rows))
    assert call(cli.msh2gltf, root, "-o", tmp_path / "out", "-q") == 0
    return root


def points_in(game: Path) -> bytes:
    if (game / "a.cpt").exists():
        return (game / "a.cpt").read_bytes()
    whole = read_nres((game / "x.rlb").read_bytes(), "x")
    found = whole.find("a.cpt")
    assert found is not None
    return bytes(whole.entries[found].payload)


def back(tmp_path: Path, game: Path, *options: str) -> int:
    arguments = (tmp_path / "out", "--game", game, "-o", tmp_path / "new", "--no-sidecar", "-q")
    return call(cli.gltf2msh, *arguments, *options)


def test_points_that_nobody_edited_stay(game: Path, tmp_path: Path) -> None:
    assert back(tmp_path, game) == 0
    assert points_in(tmp_path / "new") == POINTS


def test_edited_points_need_force(game: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = (tmp_path / "out").rglob("a.glb")
    document = Editable(path)
    nodes = document.json["nodes"]
    node = next(n for n in nodes if n.get("extras", {}).get("msh", {}).get("kind") == "point")
    node["translation"] = [7.0, 0.0, 0.0]
    document.save(path)
    assert back(tmp_path, game) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "holds other points than the glTF, which has no sidecar that says which are new" in line
    assert back(tmp_path, game, "--force") == 0
    made = read_points(points_in(tmp_path / "new"), "a.cpt")
    assert made.name(0) == "Width_1"
    assert np.abs(made.records["position"][0]).max() == 7.0
