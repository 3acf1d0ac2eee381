"""A ``Land.map`` that holds no areal map is an invalid areal map, and no archive that may be skipped."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from tests.support.runs import run

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("types", [[], [13], [0x12345678]])
def test_it_has_an_error_and_a_run_reports_it(types: list[int], tmp_path: Path) -> None:
    stored = read_nres((DATA / "maps/spec__AutoMAP_00/Land.map").read_bytes(), "Land.map").entries[0]
    path = tmp_path / "game/DATA/MAPS/A/Land.map"
    path.parent.mkdir(parents=True)
    path.write_bytes(write_nres(new_archive([replace(stored, type_id=number) for number in types], "Land.map")))
    shutil.copy(DATA / "retail__odd__s_rock_009.msh", tmp_path / "game/rock.msh")
    for checked in (path, tmp_path / "game"):
        check = run("msh-inspect", checked, "--check")
        assert (check.returncode, "areal-entry" in check.stdout) == (1, True)
    shown = run("msh-inspect", path)
    assert (shown.returncode, "holds no areal map" in shown.stderr) == (2, True)
    out = run("msh2gltf", tmp_path / "game", "-o", tmp_path / "out")
    assert out.returncode == 1
    assert "Land.map" in out.stdout + out.stderr
    assert "expected an entry of type 12" in out.stdout + out.stderr
    assert list((tmp_path / "out").rglob("rock.gl*"))
