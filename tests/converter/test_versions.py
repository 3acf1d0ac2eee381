"""What a sidecar of an older version is promised (docs/versioning.md).

``tests/data/sidecars/VERSION`` holds a glTF and its sidecar as that version wrote them;
``0.1.0-first`` is the oldest description that is read.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from converter import __version__
from converter.convert import to_model
from converter.diff import diff_models
from importers.msh import read_model
from importers.nres import read_nres
from tests.support.corpus import DATA, sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import first_difference

KEPT = sorted((DATA / "sidecars").iterdir())
SOURCE = sample_called("retail__odd__l_mast_010").source
every_version = pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)


@every_version
def test_an_old_pair_gives_the_bytes_of_its_model(kept: Path) -> None:
    back = to_model(kept / "mast.glb")
    assert (back.changes, back.warnings) == ([], [])
    assert first_difference(SOURCE, back.data) is None


@every_version
def test_an_old_pair_can_be_edited(kept: Path, tmp_path: Path) -> None:
    """One node is moved: its key and the model's box change, all else stays."""
    shutil.copy(kept / "mast.msh-sidecar", tmp_path)
    document = Editable(kept / "mast.glb")
    node = document.node("mast_c_m5o2")
    node["translation"] = [1 + x for x in node.get("translation", [0, 0, 0])]
    back = to_model(document.save(tmp_path / "mast.glb"))
    assert [(c.where, c.what) for c in back.changes] == [
        ("node 'mast_c_m5o2'", "translation changed")
    ]
    old, new = (read_model(read_nres(data, "m"), "m") for data in (SOURCE, back.data))
    tables = {difference["table"] for difference in diff_models(old, new)}
    assert tables == {"Res2 (slots), header", "Res8 (key pool)"}


@every_version
def test_an_old_sidecar_serves_a_file_without_custom_properties(kept: Path, tmp_path: Path) -> None:
    """As an editor leaves it, which knows nothing of either version."""
    shutil.copy(kept / "mast.msh-sidecar", tmp_path)
    document = Editable(kept / "mast.glb")
    drop_extras(document)
    back = to_model(document.save(tmp_path / "mast.glb"))
    assert back.changes == []
    assert first_difference(SOURCE, back.data) is None


def test_every_release_left_a_pair() -> None:
    assert __version__ in [path.name for path in KEPT]
