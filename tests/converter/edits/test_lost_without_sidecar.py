"""A rebuild without the sidecar says what it loses and what it makes up."""

from __future__ import annotations

from pathlib import Path

import pytest

from msh_gltf import ConversionError, ImportResult, import_gltf
from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.options import ImportOptions
from tests.importers.test_foreign import Builder
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.runs import call, to_gltf

WALKER = sample_called("retail__system__R_H_002")
ALONE = ImportOptions(use_sidecar=False)


def alone(path: Path) -> ImportResult:
    return import_gltf(path, options=ALONE)


def test_legacy_nodes_do_not_become_ordinary_ones(tmp_path: Path) -> None:
    path = to_gltf(sample_called("retail__system__MTCHECK"), tmp_path / "m.glb")
    with pytest.raises(ConversionError, match=r"legacy nodes \(stride 24\), which needs its side"):
        alone(path)


def test_a_path_graph_that_is_shown_is_not_applied(tmp_path: Path) -> None:
    path = to_gltf(sample_called("retail__static__i_room_006"), tmp_path / "m.glb", "--paths")
    assert "interior path graph 'paths'" in [fact.where for fact in alone(path).not_applied]
    assert import_gltf(path).unchanged


def test_what_is_unknown_is_one_warning(tmp_path: Path) -> None:
    path = to_gltf(WALKER, tmp_path / "m.glb")
    assert [w for w in alone(path).warnings if "(Res15, Res17" in w]
    b = Builder()
    b.node(name="n", mesh=b.mesh())
    assert not [w for w in import_gltf(b.save(tmp_path)).warnings if "Res15" in w]


def test_faces_of_a_new_model_without_a_material_are_reported(tmp_path: Path) -> None:
    b = Builder()
    b.json["materials"] = [{"name": "WALL"}]
    b.node(name="a", mesh=b.mesh(material=0))
    b.node(name="b", mesh=b.mesh())
    b.json["scenes"][0]["nodes"] = [0, 1]
    (fact,) = import_gltf(b.save(tmp_path)).not_applied
    assert fact.where == "lod 0 group 0, part 'b'"
    assert fact.what == "has 2 triangles without a material"
    assert fact.why.endswith("has one: wall")


def test_no_materials_at_all_is_a_warning(tmp_path: Path) -> None:
    b = Builder()
    b.node(name="n", mesh=b.mesh())
    back = import_gltf(b.save(tmp_path))
    assert back.not_applied == []
    assert back.warnings == ["no materials in the file: its faces have row 0 (DEFAULT)"]


@pytest.mark.parametrize("other", ["WALL.001", "wall"])
@pytest.mark.parametrize("same", [True, False])
def test_one_name_for_two_looks_is_reported(same: bool, other: str, tmp_path: Path) -> None:
    """The game finds materials in any case."""
    b = Builder()
    looks = [{"baseColorFactor": [1, 0, 0, 1]}, {"baseColorFactor": [int(same), 0, 0, 1]}]
    b.json["materials"] = [
        {"name": name, "pbrMetallicRoughness": look} for name, look in zip(("WALL", other), looks, strict=True)
    ]
    for i in range(2):
        b.node(name=f"n{i}", mesh=b.mesh(material=i))
    b.json["scenes"][0]["nodes"] = [0, 1]
    back = import_gltf(b.save(tmp_path))
    said = [fact.line for fact in back.not_applied]
    assert back.wear == ["WALL"]
    assert len(said) == (not same)
    assert all(f"{other!r}: has the name of 'WALL', and another look" in line for line in said)


@pytest.mark.parametrize("plain", [True, False])
def test_a_look_without_a_name_is_reported(plain: bool, tmp_path: Path) -> None:
    """Its row is DEFAULT; a material that shows nothing is as good as that."""
    b = Builder()
    colour = [1, 1, 1, 1] if plain else [1, 0, 0, 1]
    b.json["materials"] = [{"pbrMetallicRoughness": {"baseColorFactor": colour}}]
    b.node(name="n", mesh=b.mesh(material=0))
    back = import_gltf(b.save(tmp_path))
    assert back.wear == ["DEFAULT"]
    assert [fact.where for fact in back.not_applied] == ([] if plain else ["material 0"])


def test_another_name_on_a_row_gets_a_row_of_its_own(tmp_path: Path) -> None:
    path = to_gltf(WALKER, tmp_path / "m.glb")
    document = Editable(path)
    used = [document.json["materials"][p["material"]] for p in document.primitives()]
    row = used[0]["extras"]["msh"]["row"]
    shared = [m for m in used if m["extras"]["msh"]["row"] == row and m is not used[0]]
    if not shared:
        shared = [{**used[0]}]
        document.json["materials"] += shared
        last = len(document.json["materials"]) - 1
        next(p for p in document.primitives()[1:])["material"] = last
    shared[0]["name"] = "rust"
    back = alone(document.save(path))
    assert back.wear is not None
    assert "rust" in back.wear
    assert used[0]["name"] in back.wear


def test_an_obj_of_other_names_is_refused_with_those_that_are_expected(tmp_path: Path) -> None:
    path = to_gltf(WALKER, tmp_path / "m.obj")
    text = path.read_text("utf-8")
    names = [line[2:] for line in text.splitlines() if line.startswith("o ")]
    path.write_text(text.replace("\no ", "\no other_"), "utf-8")
    with pytest.raises(ConversionError, match="no object is named after a node") as caught:
        import_obj(path)
    assert names[0] in str(caught.value)
    path.write_text(text.replace(f"o {names[0]}\n", "o other\n"), "utf-8")
    (warning,) = [w for w in import_obj(path).warnings if "a new node" in w]
    assert warning.startswith("object 'other' ")


def test_a_part_may_be_called_after_its_node_as_that_was_called(tmp_path: Path) -> None:
    """Who renames a node need not rename its parts; one that is moved to another cell by its name moves."""
    path = to_gltf(WALKER, tmp_path / "m.glb")
    document = Editable(path)
    nodes = document.json["nodes"]
    part = next(node for node in nodes if node["name"] == "Wheel_c_m1o1.level1")
    part["name"] = "Wheel_c_m1o1.stage2.level1"
    nodes[part["extras"]["msh"]["node"]]["name"] = "another"
    back = alone(document.save(path))
    assert [text for text in back.warnings if text.startswith(f"part {part['name']!r} has custom properties of anoth")]
    made = tmp_path / "again.msh"
    made.write_bytes(back.data)
    assert call(msh2gltf, made, "-o", tmp_path / "again.glb", "--quiet", "--dialect", "retail") == 0
    names = {node["name"] for node in Editable(tmp_path / "again.glb").json["nodes"]}
    assert "another.stage2.level1" in names
    assert "another.level1" not in names


@pytest.mark.parametrize(
    "look", [{"emissiveFactor": [1, 0.5, 0.25]}, {"alphaMode": "MASK"}, {"extensions": {"KHR_materials_unlit": {}}}]
)
def test_every_look_of_a_material_without_a_game_is_named(look: dict[str, object], tmp_path: Path) -> None:
    """It was exported in the colour of its row; no ``Material.lib`` is at hand."""
    path = to_gltf(WALKER, tmp_path / "m.glb")
    document = Editable(path)
    document.json["materials"][document.primitives()[0]["material"]] |= look
    assert [one.what for one in alone(document.save(path)).not_applied] == [
        "has another colour, or a picture, light, alpha or extensions"
    ]
