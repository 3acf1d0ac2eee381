"""Edits inside of a mission or unit: those of the model alone; none is silent. Rows: ``../edits/inside.py``."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from tests.converter.edits.inside import EDITS
from tests.support.inside_game import Inside, opened, whole
from tests.support.runs import convert

#: They show something else in a file of the model alone: materials of other models, numbers of repeated names, parts
#: that a mission does not show; or a model cannot hold them.
NOT_ALONE = [
    "material",
    "no material",
    "renamed material",
    "in one place",
    "all deleted",
    "added",
    "copied",
    "scaled",
    "point deleted",
    "a second clip",
    "an object animated",
    "scale animated",
]


class Alone(Inside):
    """The glTF of a model alone, edited by what edits it inside a mission."""

    def _below(self, key: str, place: int, name: str, number: int) -> Any:
        return next(node for node in self.nodes if self.extras(node).get(name) == number)


@pytest.mark.parametrize("name", [name for name in EDITS if name not in NOT_ALONE and not name.startswith("ground")])
def test_what_is_carried_is_what_the_same_edit_of_the_model_alone_gives(tmp_path: Path, name: str) -> None:
    file = opened(tmp_path, "clips")
    EDITS[name](file)
    (placed,) = file.back().placed
    convert(whole() / "GAME/static.rlb", tmp_path / "alone.glb", entry=placed.result.name)
    alone = Alone(tmp_path / "alone.glb")
    EDITS[name](alone)
    out = alone.back()
    assert placed.result.data == out.data
    assert placed.result.companions == out.companions


def test_what_a_sidecar_says_of_models_and_the_level_is_held_against_what_it_has(tmp_path: Path) -> None:
    file = opened(tmp_path, "clips")
    path = file.path.with_suffix(".msh-sidecar")
    kept = read_sidecar(path.read_bytes(), path.name)
    inside = kept.description.inside
    model = next(key for key in inside if key.startswith("model "))
    for key, number in ((model, inside["terrain"]), ("terrain", inside[model]), (model, "99"), (model, "x")):
        described = replace(kept.description, inside=inside | {key: number})
        path.write_bytes(write_sidecar(replace(kept, description=described)))
        with pytest.raises(ConversionError, match="description cannot be read"):
            file.back()


@pytest.mark.parametrize("name", ["all", "robot"])
@pytest.mark.parametrize("deleted", [False, True])
def test_no_edit_of_a_node_is_silent(tmp_path: Path, name: str, deleted: bool) -> None:
    """Every node of the file by itself; of models only the roots, as they are compared alike."""
    count = len(opened(tmp_path, name).nodes)
    silent = []
    for number in range(count):
        file = opened(tmp_path, name)
        node = file.nodes[number]
        if file.extras(node).get("node", 0) > 0:
            continue
        if deleted:
            file.file.take_out(number)
        else:
            before = node.get("translation", (0.0, 0.0, 0.0))
            node["translation"] = np.add(before, (3.0, -0.5, 2.0)).tolist()
        try:
            out = file.back()
        except ConversionError:
            continue  # a unit without its chassis
        if out.unchanged or not (out.changes or out.not_applied):
            silent.append(node["name"])
    assert silent == []
