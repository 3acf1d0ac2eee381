"""What a sidecar of an older version is promised (docs/versioning.md).

``tests/data/sidecars/VERSION`` holds a glTF and its sidecar as that version wrote them;
``0.1.0-first`` is the oldest description that is read. ``tests/data/runs/VERSION.zip`` holds what
it made of a whole game (``tests.support.game``) and of single models with other options.
"""

import shutil
import zipfile
from pathlib import Path

import pytest

from msh_gltf.converter import __version__
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.differences import diff_models
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.corpus import DATA, sample_called
from tests.support.gltf_edit import Editable
from tests.support.runs import first_difference, run

KEPT = sorted((DATA / "sidecars").iterdir())
SOURCE = sample_called("retail__odd__l_mast_010").source
every_version = pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)


@every_version
def test_an_old_pair_can_be_edited(kept: Path, tmp_path: Path) -> None:
    """One node is moved: its key and the model's box change, all else stays."""
    shutil.copy(kept / "mast.msh-sidecar", tmp_path)
    document = Editable(kept / "mast.glb")
    node = document.node("mast_c_m5o2")
    node["translation"] = [1 + x for x in node.get("translation", [0, 0, 0])]
    back = import_gltf(document.save(tmp_path / "mast.glb"))
    assert [(c.where, c.what) for c in back.changes] == [("node 'mast_c_m5o2'", "translation changed")]
    old, new = (read_model(read_nres(data, "m"), "m") for data in (SOURCE, back.data))
    tables = {difference["table"] for difference in diff_models(old, new)}
    assert tables == {"Res2 (slots), header", "Res8 (key pool)"}


def test_every_release_left_a_pair() -> None:
    assert __version__ in [path.name for path in KEPT]


RUNS = sorted((DATA / "runs").glob("*.zip"))
every_run = pytest.mark.parametrize("recorded", RUNS, ids=lambda path: path.stem)
#: Which bundled model each file of ``single`` was made of.
SINGLE = {
    "colours.glb": "spec__system__R_H_002",
    "keys.glb": "spec__odd__B_PLANT_008",
    "animated.gltf": "retail__odd__s_rock_009",
    "bunker.obj": "spec__static__b_bun_000",
    "room.glb": "retail__static__i_room_006",
}


def unpacked(recorded: Path, folder: Path) -> Path:
    with zipfile.ZipFile(recorded) as archive:
        archive.extractall(folder)
    return folder


@every_run
@pytest.mark.parametrize("name", SINGLE)
def test_old_files_made_with_other_options_come_back(recorded: Path, name: str, tmp_path: Path) -> None:
    source = unpacked(recorded, tmp_path) / "single" / name
    done = run("gltf2msh", source, "-o", tmp_path / "back.msh")
    assert done.returncode == 0, done.stderr
    expected = sample_called(SINGLE[name]).source
    assert first_difference(expected, (tmp_path / "back.msh").read_bytes()) is None
