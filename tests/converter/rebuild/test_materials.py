"""The rows and the ``.wea`` of a model that is made without a sidecar."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import SCRIPTS, run, to_gltf

ROOM = sample_called("retail__static__i_room_006")


def foreign(folder: Path, names: list[str | None]) -> Path:
    """A room from elsewhere: no sidecar, no extras, these names for its materials."""
    folder.mkdir(exist_ok=True)
    to_gltf(ROOM, folder / "tower.glb", "--no-sidecar", "--parts", "visible", "--no-textures")
    document = Editable(folder / "tower.glb")
    drop_extras(document)
    for i, material in enumerate(document.json["materials"]):
        material.pop("pbrMetallicRoughness")  # one look, whatever the name
        material["name"] = names[i % len(names)]
        if material["name"] is None:
            del material["name"]
    return document.save(folder / "tower.glb")


def painted(path: Path) -> set[tuple[str, bytes]]:
    """What every triangle of a glTF is called that it is painted with."""
    document = Editable(path)
    out = set()
    for primitive in document.primitives():
        name = document.json["materials"][primitive["material"]].get("name", "")
        points = document.arrays[primitive["attributes"]["POSITION"]]
        corners = points[document.arrays[primitive["indices"]].reshape(-1, 3)]
        for triangle in corners.reshape(-1, 3, 3):
            at = int(np.lexsort(triangle.T[::-1])[0])
            out.add((re.sub(r"\.\d\d\d$", "", name), np.roll(triangle, -at, axis=0).tobytes()))
    return out


def rows_of(path: Path) -> list[str]:
    head, *rows = path.read_bytes().decode("cp1251").split("\r\n")
    assert rows.pop() == ""
    assert int(head) == len(rows)
    assert [row.split(" ", 1)[0] for row in rows] == [str(i) for i in range(len(rows))]
    return [row.split(" ", 1)[1] for row in rows]


@pytest.mark.parametrize("dialect", ["spec", "retail"])
@pytest.mark.parametrize("names", [["WALL", "roof", "WALL.001"], ["Стена", "B GLASS"], ["a", "b", "c", "d", "e", "f"]])
def test_every_triangle_keeps_its_material(tmp_path: Path, names: list[str], dialect: str) -> None:
    source = foreign(tmp_path / "from", names)
    out = run("gltf2msh", source, "-o", tmp_path / "tower.msh", "--dialect", dialect)
    assert (out.returncode, out.stderr) == (0, "")
    assert f"wrote {tmp_path / 'tower.wea'} (" in out.stdout
    bare = {name.removesuffix(".001") for name in names}
    assert set(rows_of(tmp_path / "tower.wea")) <= bare
    again = tmp_path / "again.glb"
    assert run("msh2gltf", tmp_path / "tower.msh", "-o", again, "--dialect", dialect).stderr == ""
    assert painted(again) == painted(source)


SAME = b"3\n0 WALL\n1 Roof\n2 more\n\nLIGHTMAPS\n1\n0 LM\n"
BY_HAND = b"9\r\n0 wall\r\n" + b"".join(b"%d MINE_%d\r\n" % (i, i) for i in range(1, 9))


@pytest.mark.parametrize(
    ("names", "stored", "options", "stays", "warned"),
    [
        (["wall", "roof"], SAME, ["--force"], True, False),
        (["wall", "roof"], b"1\n0 WALL\n", [], True, True),
        (["wall", "roof"], b"2\n0 roof\n1 wall\n", [], True, True),
        (["wall", "roof"], b"no wear", [], True, True),
        (["wall", "roof"], b"no wear", ["--force"], False, False),
        (["wall", None], BY_HAND, ["--force"], True, False),  # whoever has named a row by hand keeps the name
    ],
)
def test_a_wea_that_is_there(
    names: list[str | None], stored: bytes, options: list[str], stays: bool, warned: bool, tmp_path: Path
) -> None:
    """It stays where it says the same, and where nobody forces; in any case of its name."""
    wear = tmp_path / "Tower.WEA"
    wear.write_bytes(stored)
    out = run("gltf2msh", foreign(tmp_path / "from", names), "-o", tmp_path / "tower.msh", *options)
    assert out.returncode == 0
    line = "Tower.WEA is there already and stays" in out.stderr and "wall, roof (move it away" in out.stderr
    assert (line, bool(out.stderr)) == (warned, warned)
    assert wear.read_bytes() == stored if stays else rows_of(wear) == names
    assert sorted(p.name for p in tmp_path.iterdir()) == ["Tower.WEA", "from", "tower.msh"]


def test_no_wea(tmp_path: Path) -> None:
    """On standard output, and for a model that has a sidecar."""
    source = foreign(tmp_path / "from", ["wall"])
    done = run("gltf2msh", source, "-o", "there.msh", "-q", cwd=tmp_path)
    assert done.returncode == 0
    (tmp_path / "there.msh").unlink()
    (tmp_path / "there.wea").unlink()
    piped = [SCRIPTS / "gltf2msh", source, "-o", "-"]
    assert subprocess.run(piped, cwd=tmp_path, capture_output=True, check=True).stdout
    to_gltf(ROOM, tmp_path / "from/kept.glb")
    assert run("gltf2msh", "from/kept.glb", "-o", "kept.msh", "-q", cwd=tmp_path).returncode == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["from", "kept.msh"]
