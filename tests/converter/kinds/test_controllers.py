"""Controllers of models, found and shown.

Edits of what they play are in ``../edits/controllers.py``, of what they name in ``../edits/numbered_files.py``.
"""

from pathlib import Path

import numpy as np

from msh_gltf.converter.checks.companions import Facts
from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.edits.controller import numbered
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.appearance import facts_of_model
from msh_gltf.converter.kinds.registry import game_of
from msh_gltf.converter.scene.companions import add_clips, spliced
from msh_gltf.converter.scene.extras import FileInfo
from msh_gltf.converter.scene.scene import Channel, Clip, ImportedScene, evaluate
from tests.converter.edits.numbered_files import made_controller, make_game
from tests.support.controller import walker
from tests.support.gltf_edit import Editable
from tests.support.runs import call


def test_a_controller_is_found_beside_its_model_or_by_the_registry(tmp_path: Path) -> None:
    game = make_game(tmp_path)
    for name, states, ranges, key, stored in (
        ("robot", "0;1;5-5;5-5;50;-2;2", ["5-13;1.30521;5", "13-25;1.08905;10"], ".ctl", made_controller()),
        ("other", "0;1;0-0;0-0;50;-2;2", ["0-19;3.88582;5"], "PARTS.rlb::c_01.ctl", walker(20, node=7, points=1)),
    ):
        target = tmp_path / f"{name}.glb"
        assert call(msh2gltf, game / "bases.rlb", "--entry", f"{name}.msh", "-o", target, "-q") == 0
        extras = Editable(target).json["scenes"][0]["extras"]["msh"]
        assert (extras["states"].splitlines()[0], extras["ranges"].splitlines()) == (states, ranges)
        kept = read_sidecar(target.with_suffix(".msh-sidecar").read_bytes(), "").description
        assert kept.companions[key] == stored
    assert [numbered("state", n) for n in ([0, 1, 3, 0], [4, 5], [5])] == ["states 0-1, 3", "states 4-5", "state 5"]


def test_frames_in_the_name_of_a_range_are_no_number_of_blender() -> None:
    file = ImportedScene("m", FileInfo(range_clips="0-8.125"))
    add_clips(file, [Clip("m"), Clip("0-8.125")])
    assert ([one.span for one in file.ranges], file.report.warnings) == ([(0, 8.125)], [])


def test_the_model_of_a_controller_is_found_too(tmp_path: Path) -> None:
    game = make_game(tmp_path)
    found = game_of(game / "parts.rlb")
    path = game / "parts.rlb"
    facts = facts_of_model(read_nres(read_file(path), ""), path, 0, found)
    robot = facts_of_model(read_nres(read_file(game / "bases.rlb"), ""), game / "bases.rlb", 1, None)
    assert robot == Facts(facts.nodes, facts.frames, 4)
    assert facts.points is None


def test_outside_a_range_a_curve_stays_on_whole_frames() -> None:
    whole = Channel(np.array([0.0, 10.0]), np.array([[0.0], [10.0]]))
    part = Channel(np.array([0.0, 1.0]), np.array([[50.0], [60.0]]))
    found = spliced(whole, part, 2, 4, 10)
    np.testing.assert_allclose(evaluate(found, [0, 1, 2, 3, 4, 5, 10]).ravel(), [0, 1, 50, 60, 60, 5, 10])
    assert found.frames.tolist() == [0, 1, 2, 3, 4, 5, 10]
