"""Numbers that import would refuse are refused by export, under a code; --tolerant converts."""

import struct
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from tests.support.corpus import DATA
from tests.support.corruption.base import Nres
from tests.support.runs import call


@pytest.mark.parametrize("suffix", ["glb", "gltf", "obj"])
@pytest.mark.parametrize(
    ("name", "kind"),
    [("retail__system__R_H_002.msh", 3), ("maps/spec__AutoMAP_00/Land.msh", 3), ("retail__system__R_H_002.msh", 8)],
)
def test_far_numbers(name: str, kind: int, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if suffix == "obj" and name.startswith("maps"):
        pytest.skip("only models become OBJ")
    box = Nres.read((DATA / name).read_bytes())
    entry = next(entry for entry in box.entries if entry.type == kind)
    struct.pack_into("<f", entry.data, 0, 1e17)
    model, out = tmp_path / Path(name).name, tmp_path / f"out.{suffix}"
    model.write_bytes(box.write())
    options = ("--dialect", "retail") if kind == 8 else ()
    assert call(cli.msh2gltf, model, "-o", out, "-q", *options) == 2
    assert "too large: " in capsys.readouterr().err
    assert not out.exists()
    assert call(cli.msh_inspect, "--check", model) == 1
    assert "-finite: " in capsys.readouterr().out
    assert call(cli.msh2gltf, model, "-o", out, "-q", "--tolerant", *options) == 0
