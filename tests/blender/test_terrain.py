"""A terrain through real Blender: untouched, and with an artist's edits."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.support.gltf_view import TO_GAME, GltfView
from tests.support.maps import LEVELS, level_called
from tests.support.runs import call, first_difference
from tests.support.terrain_twin import Tables, check

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")
pytestmark = pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
HERE = Path(__file__).parent
EDITS = (
    "raise_vertex",
    "raise_all",
    "delete_face_add_two",
    "delete_face",
    "paint",
    "new_ground",
    "new_ground",
    "across_border",
)
#: Two maps: the second has materials of one name that Blender's defaults do not keep apart.
EDITED = ("spec__AutoMAP_00", "mixed__tut_1")


def blender(script: str, *arguments: object) -> None:
    result = subprocess.run([BLENDER, HERE / script, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]


UNNUMBERED = "areal map: is kept, whatever was edited"


@pytest.mark.parametrize("fps", [24, 30])
def test_untouched_maps_come_back(fps: int, tmp_path: Path) -> None:
    """With the exporter's defaults, and with custom properties and attributes on."""
    models = []
    for number, level in enumerate(LEVELS):
        for name in ("Land.msh", "Land.map"):
            models.append(tmp_path / f"{number}{name}.glb")
            assert call(cli.msh2gltf, level.folder / name, "-o", models[-1], "-q") == 0
    blender("roundtrip.py", tmp_path, *models, f"--fps={fps}")
    for kind in ("plain", "extras"):
        for number, level in enumerate(LEVELS):
            for name in ("Land.msh", "Land.map"):
                made = tmp_path / kind / f"{number}{name}.glb"
                back = import_gltf(made, tmp_path / f"{number}{name}.msh-sidecar")
                reported = [*map(str, (*back.changes, *back.not_applied)), *back.warnings]
                if kind == "plain":  # Blender left out what numbers the areals, and how two grounds blend
                    reported = [text for text in reported if not text.startswith("how the two grounds of a face blend")]
                if name == "Land.map" and kind == "plain":
                    assert [text.partition(";")[0] for text in reported] == [UNNUMBERED]
                else:
                    assert reported == [], (level.id, name, kind)
                source = (level.folder / name).read_bytes()
                assert first_difference(source, back.data) is None


@pytest.fixture(scope="module", params=[(m, a) for m in EDITED for a in (0, 1)], ids=str)
def edited(request, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A map's glTF after every edit, without and with custom attributes; and its source."""
    name, attributes = request.param
    folder = tmp_path_factory.mktemp("terrain")
    source = level_called(name).folder / "Land.msh"
    assert call(cli.msh2gltf, source, "-o", folder / "Land.glb", "-q") == 0
    blender("edit_terrain.py", folder / "Land.glb", folder, attributes, *EDITS)
    return folder, source.read_bytes()


def back(edited: tuple[Path, bytes], name: str) -> tuple[ImportResult, set[int]]:
    """What came back, by the rules; and the tables that differ."""
    folder, source = edited
    made = import_gltf(folder / f"{name}.glb", folder / "Land.msh-sidecar")
    check(made.data)
    a, b = Tables(source), Tables(made.data)
    return made, {kind for kind in a.tables if a.tables[kind] != b.tables[kind]}


def test_a_raised_vertex(edited: tuple[Path, bytes], tmp_path: Path) -> None:
    """Only the tables that depend on it differ, and the next conversion shows it."""
    made, tables = back(edited, "raise_vertex")
    assert {3, 21} <= tables <= {2, 3, 4, 21}
    before, after = Tables(edited[1]), Tables(made.data)
    moved = np.flatnonzero((before.positions != after.positions).any(axis=1))
    assert len(moved) == 1
    lift = after.positions[moved[0]].astype("f8") - before.positions[moved[0]]
    np.testing.assert_allclose(lift, [0, 0, 5], atol=1e-5)
    (tmp_path / "Land.msh").write_bytes(made.data)
    assert call(cli.msh2gltf, tmp_path / "Land.msh", "-o", tmp_path / "new.glb", "-q") == 0
    view = GltfView(tmp_path / "new.glb")
    shown = view.array(view["meshes"][0]["primitives"][0]["attributes"]["POSITION"]) @ TO_GAME.T
    np.testing.assert_array_equal(shown, after.positions)


def test_every_vertex_raised(edited: tuple[Path, bytes]) -> None:
    made, tables = back(edited, "raise_all")
    assert tables <= {2, 3, 4, 21}
    before, after = Tables(edited[1]), Tables(made.data)
    fine = sum(before.runs[s[0]][1] for s in before.squares)
    used = np.unique(np.concatenate(list(before.vertex[:fine])))
    lift = after.positions[used].astype("f8") - before.positions[used]
    np.testing.assert_allclose(lift, np.broadcast_to([0, 0, 2.5], lift.shape), atol=1e-4)


def test_a_face_deleted_and_two_added(edited: tuple[Path, bytes]) -> None:
    """Links mutual, selectors exact, draw order minimal, every face in its square: ``check``."""
    made, _ = back(edited, "delete_face_add_two")
    before, after = Tables(edited[1]), Tables(made.data)
    assert len(after.faces) - len(before.faces) == 2  # an edge that two faces share was cut
    assert len(after.positions) == len(before.positions) + 1
    kept = sum(a in set(before.faces) for a in after.faces)
    assert kept > 0


def test_a_face_deleted(edited: tuple[Path, bytes]) -> None:
    made, _ = back(edited, "delete_face")
    assert len(Tables(made.data).faces) == len(Tables(edited[1]).faces) - 1


def test_a_new_ground(edited: tuple[Path, bytes]) -> None:
    """Two new rows in Land1.wea: a name of nothing, and one that a slot got."""
    made, tables = back(edited, "new_ground")
    assert tables <= {11, 21}
    wear = next(one for one in made.companions if one.ending == "1.wea")
    before, after = wear.before.splitlines()[1:], wear.data.splitlines()[1:]
    count = len(before)
    assert after[:count] == before
    assert {line.split(None, 1)[1].decode("cp1251") for line in after[count:]} == {"лава", "ash"}
    rows = {line.split(None, 1)[1]: row for row, line in enumerate(after)}
    first = [face[4] for face in Tables(made.data).faces]
    assert first.count(rows["лава".encode("cp1251")]) == 1
    assert first.count(rows[b"ash"]) > 1
    assert not [one for one in made.not_applied if one.where.startswith("material")]


def test_a_face_painted(edited: tuple[Path, bytes]) -> None:
    made, tables = back(edited, "paint")
    assert tables <= {11, 21}
    before, after = Tables(edited[1]), Tables(made.data)
    changed = [(a, b) for a, b in zip(before.faces, after.faces, strict=True) if a != b]
    assert len(changed) == 1
    assert changed[0][0][4:6] != changed[0][1][4:6]


def test_a_vertex_dragged_across_a_border(edited: tuple[Path, bytes]) -> None:
    with pytest.raises(ConversionError, match="a face crosses its square's border"):
        back(edited, "across_border")
