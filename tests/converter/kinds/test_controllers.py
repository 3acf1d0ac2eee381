"""Controllers of models: found, shown, inspected, compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from msh_gltf.converter.checks.controller import Facts
from msh_gltf.converter.cli import msh2gltf, msh_inspect
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.controllers import facts_of_model
from msh_gltf.converter.kinds.registry import game_of
from tests.support.assembly import registry
from tests.support.controller import walker
from tests.support.game import MESH, archive, entry, model
from tests.support.gltf_edit import Editable
from tests.support.points import CTPT, POINTS, cpt
from tests.support.runs import call

#: A model of 8 nodes and a clip of 26 frames whose root moves.
ROBOT = "retail__odd__s_rock_009"
CTLD = int.from_bytes(b"CTLD", "little")
FRAMES = 9


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A game with a robot, whose controller is called as it is, and one whose controller is not."""
    root = tmp_path / "game"
    root.mkdir()
    rows = [
        (MESH, b"robot.msh", model(ROBOT)),
        (CTLD, b"ROBOT.CTL", walker(FRAMES, node=3)),
        (CTPT, b"robot.cpt", cpt(POINTS)),
        (MESH, b"other.msh", model(ROBOT)),
    ]
    (root / "bases.rlb").write_bytes(archive([entry(*row) for row in rows]))
    (root / "parts.rlb").write_bytes(archive([entry(CTLD, b"c_01.ctl", walker(5, node=1))]))
    keys = {"other": ("EXTO", [("bases.rlb", "other.msh"), ("PARTS.rlb", "c_01.ctl")])}
    (root / "objects.rlb").write_bytes(registry(keys))
    return root


def test_a_controller_is_found_beside_its_model_or_by_the_registry(game: Path, tmp_path: Path) -> None:
    kept = {}
    for name in ("robot", "other"):
        target = tmp_path / f"{name}.glb"
        assert call(msh2gltf, game / "bases.rlb", "--entry", f"{name}.msh", "-o", target, "-q") == 0
        extras = Editable(target).json["scenes"][0]["extras"]["msh"]
        assert extras["states"].splitlines()[0] == "0;1;0-0;0-0;50;-2;2"
        assert len(extras["states"].splitlines()) == 4
        kept[name] = extras["ranges"], read_sidecar(target.with_suffix(".msh-sidecar").read_bytes(), "").description
    assert kept["robot"][0].startswith("0-8;")
    assert kept["robot"][0].endswith(";5")
    assert kept["robot"][1].companions[".ctl"] == walker(FRAMES, node=3)
    assert kept["other"][0].startswith("0-4;")
    assert kept["other"][1].companions["PARTS.rlb::c_01.ctl"] == walker(5, node=1)


def test_the_model_of_a_controller_is_found_too(game: Path) -> None:
    found = game_of(game / "parts.rlb")
    path = game / "parts.rlb"
    facts = facts_of_model(read_nres(read_file(path), ""), path, 0, found)
    robot = facts_of_model(read_nres(read_file(game / "bases.rlb"), ""), game / "bases.rlb", 1, None)
    assert robot == Facts(facts.nodes, facts.frames, 4)
    assert facts.points is None


def test_inspection_lists_ranges_not_states_alone(game: Path, capsys: pytest.CaptureFixture) -> None:
    assert call(msh_inspect, game / "bases.rlb", "--entry", "robot.ctl") == 0
    said = capsys.readouterr().out
    assert "ROBOT.CTL  controller: 4 states, 1 range, 1 channel, 2 components" in said
    assert "range     0..8 at 5 m/s  (states 0 1 2 3)" in said
    assert call(msh_inspect, game / "bases.rlb", "--entry", "robot.ctl", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert [component["label"] for component in facts["components"]] == ["Turret", ""]
    loose = game / "x.ctl"
    loose.write_bytes(walker())
    assert call(msh_inspect, loose) == 0
    assert "x.ctl  controller" in capsys.readouterr().out
    assert call(msh_inspect, game / "bases.rlb", "--entry", "robot.msh", "--json") == 0
    assert json.loads(capsys.readouterr().out)["controller"]["ranges"][0]["states"] == [0, 1, 2, 3]


def test_two_controllers_are_compared_field_by_field(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    a, b, c = tmp_path / "a.ctl", tmp_path / "b.ctl", tmp_path / "c.msh"
    a.write_bytes(walker(9))
    b.write_bytes(walker(9, node=2))
    c.write_bytes(model(ROBOT))
    assert call(msh_inspect, "--diff", a, a) == 0
    assert call(msh_inspect, "--diff", a, b) == 1
    said = capsys.readouterr().out
    assert "channels: differs (rows 0; node)\n    node: 1 became 2" in said
    assert "components: 'Turret' differs (rows 0; node)" in said
    assert "actions, group 1: differs (rows 1; arguments)" in said
    assert call(msh_inspect, "--diff", a, c) == 2
    assert "is not of the kind of the other file" in capsys.readouterr().err


def test_a_broken_controller_does_not_stop_the_export(game: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    path = tmp_path / "m.msh"
    path.write_bytes(model(ROBOT))
    path.with_suffix(".ctl").write_bytes(walker()[:-1])
    assert call(msh2gltf, path, "-o", tmp_path / "m.glb") == 0
    assert "more actions than the file has bytes for" in capfd.readouterr().err
    assert "states" not in Editable(tmp_path / "m.glb").json["scenes"][0]["extras"]["msh"]
