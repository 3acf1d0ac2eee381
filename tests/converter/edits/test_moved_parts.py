"""Parts that were moved, copied, renamed, or stand in another place."""

import copy
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.part_edits import COCKPIT, PLANT, Outcome, cells_of, delete, edited, name_of, parse
from tests.support.runs import call


def move(document: Editable, row: int, old: tuple[int, int], new: tuple[int, int], *, by: str):
    """Give a part's object another cell: ``by`` its name, its extras, or both."""
    node = document.node(name_of(document, row, *old))
    if by != "extras":
        node["name"] = name_of(document, row, *new)
    if by != "name":
        node["extras"]["msh"] |= {"lod": new[0], "group": new[1]}


def only_slot_indices(out: Outcome) -> None:
    """Nothing differs but words of the matrix in Res1."""
    assert set(out.tables) == {"Res1"}
    old, new = out.old.nodes.copy(), out.new.nodes.copy()
    old["slot_index"] = new["slot_index"] = 0
    assert old.tobytes() == new.tobytes()


@pytest.mark.parametrize("by", ["name", "extras", "name alone"])
def test_two_parts_are_swapped(by: str, tmp_path: Path) -> None:
    row = cells_of(parse(sample_called(PLANT).source), 1, 4)[0]

    def edit(document: Editable) -> None:
        one = document.node(name_of(document, row, 1, 0))
        two = document.node(name_of(document, row, 1, 4))
        if by != "extras":
            one["name"], two["name"] = two["name"], one["name"]
        else:
            one["extras"], two["extras"] = two["extras"], one["extras"]
        if by == "name alone":
            drop_extras(document)

    out = edited(tmp_path, PLANT, edit)
    only_slot_indices(out)
    assert out.cell(row, 1, 0) == int(out.old.nodes["slot_index"][row, 1, 4])
    assert out.cell(row, 1, 4) == int(out.old.nodes["slot_index"][row, 1, 0])


def test_a_part_takes_the_place_of_another(tmp_path: Path) -> None:
    """The other one's triangles go."""
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        delete(document, name_of(document, row, 1, 0))
        document.node(name_of(document, row, 1, 0))["name"] = "gone"
        move(document, row, (2, 0), (1, 0), by="name")

    out = edited(tmp_path, PLANT, edit)
    assert len(out.new.slots) == len(out.old.slots) - 1
    assert out.cell(row, 2, 0) == NONE16
    assert [c.split(": ")[1] for c in out.changes if "are gone" in c] == ["its triangles are gone"]


def test_a_part_is_moved_and_edited(tmp_path: Path) -> None:
    """What no editor shows stays: flags of triangles, words of the slot, Res15."""
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        move(document, row, (2, 0), (2, 3), by="both")
        mesh = document.json["meshes"][document.node(name_of(document, row, 2, 3))["mesh"]]
        accessor = mesh["primitives"][0]["attributes"]["POSITION"]
        document.arrays[accessor] = document.arrays[accessor].copy()
        document.arrays[accessor][0, 0] += 0.25

    out = edited(tmp_path, PLANT, edit)
    slot = int(out.old.nodes["slot_index"][row, 2, 0])
    assert out.cell(row, 2, 3) == slot
    assert [c.split(": ")[1][:4] for c in out.changes] == ["was ", "posi"]
    for word in ("opaque56", "opaque60", "opaque64"):
        assert out.new.slots[word][slot] == out.old.slots[word][slot]
    assert out.new.streams[15].tobytes() == out.old.streams[15].tobytes()
    assert (out.new.triangles["tri_flags"] == out.old.triangles["tri_flags"]).all()


def test_a_copied_node_shares_its_slot(tmp_path: Path) -> None:
    def edit(document: Editable) -> None:
        document.json["nodes"].append({"name": "antenna", "mesh": 0})
        document.json["scenes"][0]["nodes"].append(len(document.json["nodes"]) - 1)

    out = edited(tmp_path, PLANT, edit)
    assert not {"Res3", "Res6", "Res7", "Res13"} & set(out.tables)
    assert out.new.slots.tobytes() == out.old.slots.tobytes()
    assert len(out.new.nodes) == len(out.old.nodes) + 1


# ------------------------------------------------------------------ names and places


def test_a_name_that_is_taken_is_reported(tmp_path: Path) -> None:
    """Blender appends a number then."""
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        node = document.node(name_of(document, row, 2, 0))
        node["name"] = name_of(document, row, 1, 0) + ".001"

    out = edited(tmp_path, PLANT, edit)
    assert out.back.changes == []
    (one,) = out.back.not_applied
    assert one.where.endswith(".lod1.group0.001'")
    assert "there is one already" in one.why


def test_a_name_that_is_not_a_part_is_reported(tmp_path: Path) -> None:
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        document.node(name_of(document, row, 2, 0))["name"] = "far away"

    out = edited(tmp_path, PLANT, edit)
    assert out.back.changes == []
    (one,) = out.back.not_applied
    assert one.where == "part 'far away'"
    assert one.what.endswith(".lod2.group0")


def test_a_name_and_extras_that_both_changed_are_reported(tmp_path: Path) -> None:
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        node = document.node(name_of(document, row, 2, 0))
        move(document, row, (2, 0), (2, 3), by="name")
        node["extras"]["msh"] |= {"lod": 2, "group": 4}

    (one,) = edited(tmp_path, PLANT, edit).back.not_applied
    assert "was neither" in one.what


@pytest.mark.parametrize(("name", "other", "cell"), [("stage1", "level1", (0, 1)), ("level1", "stage1", (1, 0))])
@pytest.mark.parametrize("alone", [False, True])
def test_a_part_that_properties_put_where_another_one_is_is_named(
    name: str, other: str, cell: tuple[int, int], alone: bool, tmp_path: Path
) -> None:
    """Whichever of the two comes first in the file."""
    document = walker(tmp_path)
    document.node(f"Base_TM.{name}")["extras"]["msh"] |= {"lod": cell[0], "group": cell[1]}
    back = import_gltf(document.save(tmp_path / "m.glb"), None, ImportOptions(use_sidecar=not alone))
    (one,) = back.not_applied
    assert one.where == f"part 'Base_TM.{name}'"
    assert (one.what, one.why) == (f"is Base_TM.{other} by its custom properties", "there is one already")


def test_flags_alone_do_not_make_a_node_a_copy(tmp_path: Path) -> None:
    """An editor dropped the custom properties, and somebody gave flags to one of two that are called alike."""
    document = walker(tmp_path)
    drop_extras(document)
    node = document.node("Base_TM")
    nodes, (scene, *_) = document.json["nodes"], document.json["scenes"]
    nodes.append({**{key: value for key, value in node.items() if key != "children"}, "name": "Base_TM.001"})
    scene["nodes"].append(len(nodes) - 1)
    node["extras"] = {"msh": {"tri_flags": 32}}
    back = import_gltf(document.save(tmp_path / "m.glb"))
    assert [one.where for one in back.changes if one.what == "is new"] == ["node 'Base_TM.001'"]


def walker(folder: Path) -> Editable:
    assert call(cli.msh2gltf, Path(__file__).parents[3] / "examples/walker.msh", "-o", folder / "m.glb", "-q") == 0
    return Editable(folder / "m.glb")


def test_a_renamed_node_keeps_its_parts(tmp_path: Path) -> None:
    """Whether their objects are renamed, too, or not."""
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        old = name_of(document, row, 2, 0)
        document.json["nodes"][row]["name"] = "renamed"
        document.node(old)["name"] = "renamed.lod2.group0"

    out = edited(tmp_path, PLANT, edit)
    assert [c.partition(": ")[2] for c in out.changes] == ["renamed to 'renamed'"]
    assert out.back.not_applied == []


def test_a_part_that_was_moved_with_its_node_keeps_its_vertices(tmp_path: Path) -> None:
    model = parse(sample_called(PLANT).source)
    row = next(r for r in cells_of(model, 2, 0) if model.nodes["parent"][r] == NONE16)

    def edit(document: Editable) -> None:
        for name in (document.json["nodes"][row]["name"], name_of(document, row, 2, 0)):
            node = document.node(name)
            node["translation"] = [x + 1 for x in node.get("translation", [0, 0, 0])]

    out = edited(tmp_path, PLANT, edit)
    assert not any("part '" in change and "lod 2" in change for change in out.changes)


def test_a_part_below_another_node_is_reported(tmp_path: Path) -> None:
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        part = nodes.index(document.node(name_of(document, row, 2, 0)))
        for scene in document.json["scenes"]:
            scene["nodes"] = [i for i in scene["nodes"] if i != part]
        nodes.append({"name": "group", "children": [part]})
        document.json["scenes"][0]["nodes"].append(len(nodes) - 1)

    out = edited(tmp_path, PLANT, edit)
    assert out.changes == ["node 'group': is new"]
    (one,) = out.back.not_applied
    assert one.what == "is below node 'group'"


def test_an_empty_without_its_name_is_known_by_its_place(tmp_path: Path) -> None:
    def edit(document: Editable) -> None:
        node = document.node("Wheel_m4o1")
        del node["extras"]
        node["name"] = "other"

    assert edited(tmp_path, PLANT, edit).changes == ["node 'Wheel_m4o1': renamed to 'other'"]


@pytest.mark.parametrize("source", [(0, 0), (2, 0)])
def test_the_box_of_the_model_follows_what_lod_0_shows(source: tuple[int, int], tmp_path: Path) -> None:
    """A part that comes into LOD 0, group 0 changes it; LOD 0 of others does not."""
    model = parse(sample_called(PLANT).source)
    target = (0, 0) if source == (2, 0) else (0, 3)
    row = next(r for r in cells_of(model, *source) if source == (0, 0) or r == 0)

    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        if source == (0, 0):  # the node's own mesh becomes a part
            part = {key: nodes[row][key] for key in ("mesh",)}
            there = document.node(name_of(document, row, 0, 4))
            part |= {key: there[key] for key in ("translation", "rotation") if key in there}
            nodes.append({**part, "name": name_of(document, row, *target)})
            document.json["scenes"][0]["nodes"].append(len(nodes) - 1)
            del nodes[row]["mesh"]
        else:
            lod = document.node(name_of(document, row, 2, 0))
            nodes[row]["mesh"] = lod["mesh"]
            delete(document, lod["name"])

    out = edited(tmp_path, PLANT, edit)
    assert out.cell(row, *target) != NONE16
    assert out.new.header.tobytes() != out.old.header.tobytes()


def test_a_copied_node_has_the_flags_of_its_origin(tmp_path: Path) -> None:
    """They say what draws it: the copy of a node of the cockpit is one of the cockpit."""

    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        origin = next(node for node in nodes if node.get("extras", {}).get("msh", {}).get("flags"))
        copied = {key: value for key, value in copy.deepcopy(origin).items() if key != "children"}
        nodes.append({**copied, "name": f"{origin['name']}.001"})
        document.json["scenes"][0]["nodes"].append(len(nodes) - 1)

    out = edited(tmp_path, COCKPIT, edit)
    flags = [int(value) for value in out.old.nodes["flags"]]
    assert [int(value) for value in out.new.nodes["flags"][len(flags) :]] == [next(value for value in flags if value)]


def test_two_objects_in_one_cell_are_one_part(tmp_path: Path) -> None:
    """A node of the cockpit has no mesh in the scene that is shown; its own part is an object of another scene."""

    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        node = next(n for n in nodes if n["name"] == "CP_7")
        part = next(n for n in nodes if n["name"] == "CP_7.view")
        node["mesh"] = part["mesh"]
        number = nodes.index(part)
        for scene in document.json["scenes"]:
            scene["nodes"] = [n for n in scene["nodes"] if n != number]
        for other in nodes:
            if number in other.get("children", []):
                other["children"].remove(number)

    out = edited(tmp_path, COCKPIT, edit)
    assert out.changes == [
        "part 'CP_7' stage 0 level 0: 12 triangles became 32",
        "part 'CP_7' stage 0 view: is missing",
    ]
    assert out.cell(7, 0, 4) == NONE16
