"""Differences that an import cannot apply: lines, reports, ``--require-all``, runs."""

import shutil
from dataclasses import replace
from pathlib import Path

from msh_gltf import import_gltf
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.runs import to_gltf

ROCK = sample_called("retail__odd__s_rock_009")


def test_a_material_that_no_wea_names_is_no_material_of_the_game(tmp_path: Path) -> None:
    """What it is called in the file comes from the exporter: an entry of that name is one that no row can name."""
    alone = replace(ROCK, path=Path(shutil.copy(ROCK.path, tmp_path / "rock.msh")))
    document = Editable(path := to_gltf(alone, tmp_path / "m.glb"))
    first = [one for one in document.json["materials"] if one["name"] == "material_0"]
    for one in first:
        one["pbrMetallicRoughness"]["baseColorFactor"] = [0.2, 0.3, 0.9, 1]
    back = import_gltf(document.save(path))
    assert (back.new_materials, back.library) == ([], [])
    assert len(back.not_applied) == len(first) > 0
    line = back.not_applied[0]
    assert line.why.startswith("no .wea names its row")
    assert line.instead.startswith("give all materials of the model that are called so")
    for one in document.json["materials"]:
        one["name"] = one["name"].replace("material_", "rust_")
    named = import_gltf(document.save(path))
    assert [str(one) for one in named.changes if "'material_0' became 'rust_0'" in str(one)]
    assert "rust_0" in [one.name for one in named.new_materials]
