"""Extensions of glTF: instances, hidden nodes, those of appearance, those that are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf import ImportResult, import_gltf
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import sample_called
from tests.support.foreign import Builder, convert, quad, same_triangles, world
from tests.support.gltf_edit import Editable
from tests.support.runs import to_gltf

INSTANCING, VISIBILITY = "EXT_mesh_gpu_instancing", "KHR_node_visibility"
HIDDEN = {VISIBILITY: {"visible": False}}
ROCK = sample_called("retail__odd__s_rock_009")
MOVES = np.float32([[0, 0, 0], [5, 0, 0], [0, 7, 0]])


def imported(path: Path) -> ImportResult:
    return import_gltf(path, options=ImportOptions())


def instanced(b: Builder, **attributes: np.ndarray) -> int:
    given = {k: b.accessor(v) for k, v in attributes.items()}
    return b.node(name="n", mesh=b.mesh(), translation=[0, 0, 1], extensions={INSTANCING: {"attributes": given}})


@pytest.mark.parametrize("lists", [("Used",), ("Used", "Required")])
def test_instances_become_nodes(lists: tuple[str, ...], tmp_path: Path) -> None:
    b = Builder()
    half = np.float32(np.sqrt(0.5))
    turns = np.float32([[0, 0, 0, 1], [0, 0, half, half], [0, 0, 0, 1]])
    sizes = np.float32([[1, 1, 1], [1, 1, 1], [2, 3, -1]])
    instanced(b, TRANSLATION=MOVES, ROTATION=turns, SCALE=sizes)
    b.json |= {f"extensions{name}": [INSTANCING] for name in lists}
    scene, warnings = convert(b.save(tmp_path))
    assert [n.name for n in scene.nodes] == ["n", "n.0", "n.1", "n.2"]
    assert [n.parent for n in scene.nodes] == [-1, 0, 0, 0]
    assert any("'n': 3 instances of its mesh became nodes" in w for w in warnings)
    linear = [np.eye(3), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], np.diag([2, 3, -1])]
    matrices = np.tile(np.eye(4), (3, 1, 1))
    matrices[:, :3, :3], matrices[:, :3, 3] = linear, MOVES + np.float32([0, 0, 1])
    same_triangles(world(scene), np.concatenate([quad(m) for m in matrices]))


def test_instances_of_unequal_count_are_refused(tmp_path: Path) -> None:
    b = Builder()
    instanced(b, TRANSLATION=MOVES, SCALE=MOVES[:2])
    with pytest.raises(ConversionError, match="instances of node 'n'"):
        convert(b.save(tmp_path))


def test_more_instances_than_the_file_holds_are_refused_at_once(tmp_path: Path) -> None:
    """An accessor without a buffer view is all zeros: nothing in the file pays for it."""
    b = Builder()
    instanced(b, TRANSLATION=MOVES)
    accessor: dict[str, Any] = b.json["accessors"][0]
    accessor["count"] = 500_000
    del accessor["bufferView"]
    with pytest.raises(ConversionError, match="unpacks to far more than it holds"):
        convert(b.save(tmp_path))


def test_hidden_nodes_and_what_is_below_them_are_left_out(tmp_path: Path) -> None:
    b = Builder()
    below = b.node(name="below", mesh=b.mesh(), translation=[9, 9, 9])
    b.node(name="ghost", mesh=b.mesh(), children=[below], extensions=HIDDEN)
    b.node(name="body", mesh=b.mesh(), extensions={VISIBILITY: {"visible": True}})
    b.clip(below, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.clip(2, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.json["scenes"][0]["nodes"] = [1, 2]
    path = b.save(tmp_path)
    scene, _ = convert(path)
    assert [n.name for n in scene.nodes] == ["body"]
    assert [track.node for track in scene.tracks] == [0]
    same_triangles(world(scene), quad())
    (left_out,) = imported(path).not_applied
    assert left_out.line.startswith("not applied: node 'below' and 1 other: are hidden and left out; ")


def test_a_hidden_node_of_the_model_stays_and_is_reported(tmp_path: Path) -> None:
    path = to_gltf(ROCK, tmp_path / "m.glb")
    document = Editable(path)
    shown = next(n for n in document.json["nodes"] if "mesh" in n and "children" not in n)
    shown["extensions"] = HIDDEN
    document.json["nodes"].append({"name": "ghost", "mesh": shown["mesh"], "extensions": HIDDEN})
    document.json["scenes"][0]["nodes"].append(len(document.json["nodes"]) - 1)
    back = import_gltf(document.save(path))
    assert [fact.what for fact in back.not_applied] == ["is hidden", "is hidden and left out"]
    assert back.data == ROCK.source
    assert not back.unchanged
