"""gltf2msh: unchanged content gives the same bytes, whatever the file looks like; edits do not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.edits.materials import _most_votes
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.converter.edits.numbered_files import delete_6, exported
from tests.support.corpus import Sample, every_sample, sample_called
from tests.support.gltf_edit import HARMLESS, Editable
from tests.support.runs import first_difference, run, to_gltf

ANIMATED = "retail__odd__s_rock_009"
OPTIONS = ("--fps 30", "--fps 23.976", "--lod 1", "--group 4", "--parts visible", "--parts visible --lod 2")


@pytest.mark.parametrize("options", [*OPTIONS, "--subframes 3", "--keys", "--paths"])
@pytest.mark.parametrize("name", [ANIMATED, "spec__odd__B_PLANT_008", "retail__static__i_room_006"])
def test_every_option_has_a_way_back(name: str, options: str, tmp_path: Path) -> None:
    assert import_gltf(to_gltf(sample_called(name), tmp_path / "m.glb", *options.split())).unchanged


@every_sample
@pytest.mark.parametrize("change", HARMLESS)
def test_other_files_of_the_same_content(sample: Sample, change: str, tmp_path: Path) -> None:
    document = Editable(to_gltf(sample, tmp_path / "m.glb"))
    HARMLESS[change](document)
    back = import_gltf(document.save(tmp_path / "m.gltf", indent=1))
    assert (back.changes, back.not_applied) == ([], [])
    assert first_difference(sample.source, back.data) is None


def test_materials_of_one_name_are_assigned_as_scipy_does() -> None:
    """Also where every material has a favourite of its own, and SciPy is not asked."""
    from scipy.optimize import linear_sum_assignment

    random = np.random.default_rng(0)
    for _ in range(500):
        count, stored = random.integers(2, 6), random.integers(2, 6)
        votes = random.integers(0, 4, (count, stored)) * random.integers(0, 9, (count, 1)) * 1.0
        names, old = random.integers(0, 2, count), random.integers(0, 2, stored)
        allowed = names[:, None] == old
        rows = [i for i in range(count) if allowed[i].sum() > 1 and random.random() < 0.8]
        if not rows:
            continue
        best = linear_sum_assignment(np.where(allowed, votes, -1e9), maximize=True)
        expected = {(i, k) for i, k in zip(*best, strict=True) if i in rows and votes[i, k] > 0}
        found = {(i, k) for i, k in _most_votes(votes, allowed, rows) if votes[i, k] > 0}
        assert {p for p in found if allowed[p]} == {p for p in expected if allowed[p]}


def test_a_material_on_no_known_triangle_needs_no_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    votes, allowed = np.array([[3.0, 0.0], [0.0, 0.0]]), np.ones((2, 2), np.bool_)
    assert _most_votes(votes, allowed, [0, 1]) == [(0, 0)]


def test_files_of_the_models_name_are_written_beside_it(tmp_path: Path) -> None:
    """A node is gone, whose number they name; what comes of them is in ``numbered_files.txt``."""
    document = Editable(path := exported(tmp_path))
    delete_6(document)
    back = run("gltf2msh", document.save(path), "-o", tmp_path / "new.msh")
    assert (back.returncode, "robot.ctl: node 6 " in back.stderr) == (0, True)
    assert {one.suffix for one in tmp_path.glob("new.*")} >= {".msh", ".ctl", ".ndp"}
