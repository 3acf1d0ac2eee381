"""Parts (a cell of node, LOD and group each): missing, moved, copied, renamed ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import MshModel
from msh_gltf.converter.formats.sidecar import Sidecar as StoredSidecar
from msh_gltf.converter.formats.sidecar import read_sidecar, sidecar_path, write_sidecar
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.pipeline.dispatch import import_gltf
from msh_gltf.converter.pipeline.import_result import ImportResult
from msh_gltf.converter.pipeline.inspect_diff import diff_models
from msh_gltf.converter.pipeline.obj import import_obj
from msh_gltf.converter.pipeline.options import ImportOptions
from msh_gltf.importers.msh import read_model
from msh_gltf.importers.nres import read_nres
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import first_difference, run, to_gltf

#: Six nodes; LOD 0 to 2 and groups 0 and 4 in use.
PLANT = "spec__odd__B_PLANT_008"
#: Two of its eight nodes are cockpit nodes.
COCKPIT = "retail__odd__s_rock_009"
DELETE = ImportOptions(allow_delete=True)
Edit = Callable[[Editable], None]


class Outcome(NamedTuple):
    """What came back, the model before and after, and the rows that differ by table."""

    back: ImportResult
    old: MshModel
    new: MshModel
    tables: dict[str, list[int]]

    @property
    def changes(self) -> list[str]:
        return [str(change) for change in self.back.changes]

    def cell(self, row: int, lod: int, group: int) -> int:
        return int(self.new.nodes["slot_index"][row, lod, group])


def parse(data: bytes) -> MshModel:
    return read_model(read_nres(data, "x"), "x")


def edited(
    folder: Path, name: str, edit: Edit, *options: object, given: ImportOptions | None = None
) -> Outcome:
    """Export a sample, edit the file, import it."""
    sample = sample_called(name)
    document = Editable(to_gltf(sample, folder / "m.glb", *options))
    edit(document)
    document.save(folder / "e.glb")
    back = import_gltf(folder / "e.glb", folder / "m.msh-sidecar", given)
    old, new = parse(sample.source), parse(back.data)
    tables: dict[str, list[int]] = {}
    for item in diff_models(old, new):
        tables.setdefault(item["table"].partition(" ")[0], []).extend(item.get("rows", [-1]))
    return Outcome(back, old, new, tables)


def delete(document: Editable, *names: str) -> None:
    """Take nodes out of every scene, as Blender leaves them."""
    nodes = document.json["nodes"]
    gone = {i for i, node in enumerate(nodes) if node["name"] in names}
    assert len(gone) == len(names)
    for scene in document.json["scenes"]:
        scene["nodes"] = [i for i in scene["nodes"] if i not in gone]
    document.json["scenes"] = [s for s in document.json["scenes"] if s["nodes"]]
    for node in nodes:
        if gone & set(node.get("children", [])):
            node["children"] = [i for i in node["children"] if i not in gone]


def part_names(document: Editable) -> list[str]:
    """The objects of parts outside the default scene."""
    return [
        node["name"] for node in document.json["nodes"] if "lod" in node.get("extras", {})["msh"]
    ]


def name_of(document: Editable, row: int, lod: int, group: int) -> str:
    return f"{document.json['nodes'][row]['name']}.lod{lod}.group{group}"


def cells_of(model: MshModel, lod: int, group: int) -> list[int]:
    return np.flatnonzero(model.nodes["slot_index"][:, lod, group] != NONE16).tolist()


# ------------------------------------------------------------------ missing


def delete_lod2(document: Editable) -> None:
    """All parts of a cell, and so its scene."""
    delete(document, *(name for name in part_names(document) if ".lod2." in name))


def hide(document: Editable) -> None:
    """As *Visible Objects* exports it: nothing but the default scene's collection."""
    delete(document, *part_names(document))


def test_the_last_parts_of_a_cell_can_be_deleted(tmp_path: Path) -> None:
    out = edited(tmp_path, PLANT, delete_lod2)
    gone = cells_of(out.old, 2, 0)
    assert len(gone) == 2
    assert cells_of(out.new, 2, 0) == []
    assert len(out.back.changes) == 2
    assert out.back.not_applied == []
    assert len(out.new.slots) == len(out.old.slots) - 2


@pytest.mark.parametrize("extras", [True, False])
def test_hidden_parts_are_kept_and_reported(extras: bool, tmp_path: Path) -> None:
    def edit(document: Editable) -> None:
        hide(document)
        if not extras:
            drop_extras(document)

    out = edited(tmp_path, PLANT, edit)
    assert out.back.changes == []
    assert not out.back.unchanged
    outside = (out.old.nodes["slot_index"] != NONE16).sum() - len(cells_of(out.old, 0, 0))
    assert len(out.back.not_applied) == outside
    for one in out.back.not_applied:
        assert one.where.startswith("part '")
        assert one.what == "is missing"
        assert "--allow-delete" in one.instead
    assert first_difference(sample_called(PLANT).source, out.back.data) is None


def test_hidden_parts_are_deleted_if_allowed(tmp_path: Path) -> None:
    out = edited(tmp_path, PLANT, hide, given=DELETE)
    assert out.back.not_applied == []
    used = out.new.nodes["slot_index"] != NONE16
    assert used[:, 0, 0].any()
    assert used.sum() == used[:, 0, 0].sum()


def test_a_visible_part_that_is_missing_with_the_hidden_ones_is_kept(tmp_path: Path) -> None:
    """It may be hidden, too."""

    def edit(document: Editable) -> None:
        hide(document)
        del document.json["nodes"][cells_of(parse(sample_called(PLANT).source), 0, 0)[0]]["mesh"]

    out = edited(tmp_path, PLANT, edit)
    assert out.back.changes == []
    assert any("lod 0 group 0" in one.where for one in out.back.not_applied)


@pytest.mark.parametrize("group", [0, 3])
def test_a_new_part_does_not_make_hidden_ones_deleted(group: int, tmp_path: Path) -> None:
    """Nor does one in place of a hidden one."""
    model = parse(sample_called(PLANT).source)
    row = next(r for r in cells_of(model, 2, 0) if r in cells_of(model, 0, 0))

    def edit(document: Editable) -> None:
        there = document.node(name_of(document, row, 2, 0))
        hide(document)
        nodes = document.json["nodes"]
        copy = {key: there[key] for key in ("translation", "rotation") if key in there}
        copy |= {"name": name_of(document, row, 2, group), "mesh": nodes[row]["mesh"]}
        nodes.append(copy)
        document.json["scenes"][0]["nodes"].append(len(nodes) - 1)
        there["name"] = "gone"

    out = edited(tmp_path, PLANT, edit)
    assert "is new, a copy of part" in out.changes[0]
    assert {one.what for one in out.back.not_applied} == {"is missing"}
    assert cells_of(out.new, 2, 0) == cells_of(out.old, 2, 0)
    assert out.cell(row, 2, group) == out.cell(row, 0, 0)


def test_cockpit_parts_are_outside_of_the_default_scene(tmp_path: Path) -> None:
    """One of them that arrived shows that nothing was hidden."""
    model = parse(sample_called(COCKPIT).source)
    rows = np.flatnonzero((model.nodes["flags"] & 0x20) != 0).tolist()

    def but_cockpit(document: Editable) -> None:
        names = {name_of(document, row, 0, 0) for row in rows}
        assert names <= set(part_names(document))
        delete(document, *(set(part_names(document)) - names))

    out = edited(tmp_path, COCKPIT, but_cockpit)
    assert out.back.not_applied == []
    assert cells_of(out.new, 0, 4) == []
    out = edited(tmp_path, COCKPIT, hide, "--force")
    assert {one.where for one in out.back.not_applied} >= {
        f"part {name!r} lod 0 group 0"
        for name in (Editable(tmp_path / "m.glb").json["nodes"][row]["name"] for row in rows)
    }


def test_nothing_else_is_missing_where_only_the_visible_was_exported(tmp_path: Path) -> None:
    out = edited(tmp_path, PLANT, lambda _: None, "--parts", "visible")
    assert out.back.unchanged

    def bare(document: Editable) -> None:
        del next(node for node in document.json["nodes"] if "mesh" in node)["mesh"]

    out = edited(tmp_path, PLANT, bare, "--parts", "visible", "--force")
    assert [c.what for c in out.back.changes] == ["is missing"]
    assert out.back.not_applied == []
    assert cells_of(out.new, 0, 4) == cells_of(out.old, 0, 4)


def test_sidecars_of_0_1_do_not_say_what_was_exported(tmp_path: Path) -> None:
    """The bytes come back all the same; without the key the sidecars are the same."""
    path = to_gltf(sample_called(PLANT), tmp_path / "v.glb", "--parts", "visible")
    whole = to_gltf(sample_called(PLANT), tmp_path / "m.glb")
    beside = sidecar_path(path)
    kept = read_sidecar(beside.read_bytes(), "v")
    assert kept.description.visible_only
    fields = {**vars(kept.description), "visible_only": False}
    old = StoredSidecar(type(kept.description)(**fields), kept.source)
    beside.write_bytes(write_sidecar(old))
    assert beside.read_bytes() == sidecar_path(whole).read_bytes()
    back = import_gltf(path)
    assert back.changes == []
    assert first_difference(sample_called(PLANT).source, back.data) is None


def test_an_obj_never_had_the_other_parts(tmp_path: Path) -> None:
    to_gltf(sample_called(PLANT), tmp_path / "m.obj")
    assert import_obj(tmp_path / "m.obj").not_applied == []


def test_parts_of_a_model_with_nothing_else_are_deleted(tmp_path: Path) -> None:
    """A model of the default cell alone: nothing can be hidden."""
    first = to_gltf(sample_called(PLANT), tmp_path / "v.glb", "--parts", "visible")
    (tmp_path / "one.msh").write_bytes(
        import_gltf(first, None, ImportOptions(use_sidecar=False)).data
    )
    assert run("msh2gltf", tmp_path / "one.msh", "-o", tmp_path / "one.glb").returncode == 0
    document = Editable(tmp_path / "one.glb")
    del next(node for node in document.json["nodes"] if "mesh" in node)["mesh"]
    back = import_gltf(document.save(tmp_path / "one.glb"))
    assert [c.what for c in back.changes] == ["is missing"]
    assert back.not_applied == []


def test_most_nodes_are_not_deleted_by_mistake(tmp_path: Path) -> None:
    """As *Selected Objects* leaves a file."""

    def keep_two(document: Editable) -> None:
        nodes = document.json["nodes"]
        for node in nodes:
            node.pop("children", None)
        document.json["scenes"] = [{**document.json["scenes"][0], "nodes": [0, 1]}]

    with pytest.raises(ConversionError, match=r"4 of the model's 6 nodes are missing") as refused:
        edited(tmp_path, PLANT, keep_two)
    assert "--allow-delete" in str(refused.value.hint)
    out = edited(tmp_path, PLANT, keep_two, "--force", given=DELETE)
    assert len(out.new.nodes) == 2


def test_the_command_deletes_when_it_is_allowed(tmp_path: Path) -> None:
    edited(tmp_path, PLANT, hide)
    given = ("e.glb", "--sidecar", "m.msh-sidecar", "-o", "b.msh")
    first = run("gltf2msh", *given, cwd=tmp_path)
    assert first.stderr.count("not applied: part '") > 5
    done = run("gltf2msh", *given, "--allow-delete", "--force", cwd=tmp_path)
    assert done.stderr == ""
    assert cells_of(parse((tmp_path / "b.msh").read_bytes()), 2, 0) == []


# ------------------------------------------------------------------ moved and copied


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


@pytest.mark.parametrize("by", ["name", "extras", "both", "name alone"])
def test_moving_a_part_changes_its_slot_index_alone(by: str, tmp_path: Path) -> None:
    rows = cells_of(parse(sample_called(PLANT).source), 2, 0)

    def edit(document: Editable) -> None:
        for row in rows:
            move(document, row, (2, 0), (1, 3), by=by.partition(" ")[0])
        if by == "name alone":
            drop_extras(document)

    out = edited(tmp_path, PLANT, edit)
    only_slot_indices(out)
    for row in rows:
        assert out.cell(row, 2, 0) == NONE16
        assert out.cell(row, 1, 3) == int(out.old.nodes["slot_index"][row, 2, 0])
    assert len(out.back.changes) == len(rows)
    assert all(" lod 1 group 3: was part '" in change for change in out.changes)
    assert all(change.endswith(" lod 2 group 0") for change in out.changes)
    assert out.back.not_applied == []
    status = {row["status"] for row in out.back.report if row["what"] == "part"}
    assert status == {"kept", "moved"}


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


def test_a_part_goes_to_another_node(tmp_path: Path) -> None:
    """Of equal triangles in the frame of that node, so that it stands there."""
    model = parse(sample_called(PLANT).source)
    row = cells_of(model, 2, 0)[0]
    other = next(r for r in cells_of(model, 0, 4) if r not in cells_of(model, 2, 0))

    def edit(document: Editable) -> None:
        node = document.node(name_of(document, row, 2, 0))
        node["name"] = name_of(document, other, 2, 0)
        there = document.node(name_of(document, other, 0, 4))
        for key in ("translation", "rotation"):
            node.pop(key, None)
            if key in there:
                node[key] = there[key]

    out = edited(tmp_path, PLANT, edit)
    only_slot_indices(out)
    assert out.cell(other, 2, 0) == int(out.old.nodes["slot_index"][row, 2, 0])
    assert out.cell(row, 2, 0) == NONE16


def test_a_copy_shares_the_slot(tmp_path: Path) -> None:
    row = cells_of(parse(sample_called(PLANT).source), 1, 0)[0]

    def edit(document: Editable) -> None:
        nodes = document.json["nodes"]
        copy = json.loads(json.dumps(document.node(name_of(document, row, 1, 0))))
        copy["name"] = name_of(document, row, 1, 2)
        # Blender copies the mesh, too
        document.json["meshes"].append({**document.json["meshes"][copy["mesh"]], "name": "copy"})
        copy["mesh"] = len(document.json["meshes"]) - 1
        nodes.append(copy)
        document.json["scenes"][0]["nodes"].append(len(nodes) - 1)

    out = edited(tmp_path, PLANT, edit)
    only_slot_indices(out)
    assert out.cell(row, 1, 2) == out.cell(row, 1, 0) != NONE16
    assert "is new, a copy of part" in out.changes[0]


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


def test_a_part_that_was_moved_on_its_own_takes_its_vertices_along(tmp_path: Path) -> None:
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        node = document.node(name_of(document, row, 2, 0))
        node["translation"] = [x + 1 for x in node.get("translation", [0, 0, 0])]

    out = edited(tmp_path, PLANT, edit)
    (change,) = out.changes
    assert change.endswith("as its object was moved, turned or scaled")
    assert out.tables.keys() <= {"Res2", "Res3", "Res4", "Res7"}
    slot = out.cell(row, 2, 0)
    apart = out.new.slots["sphere_center"][slot] - out.old.slots["sphere_center"][slot]
    assert np.linalg.norm(apart) == pytest.approx(3**0.5, abs=1e-4)


def test_a_part_that_was_moved_with_its_node_keeps_its_vertices(tmp_path: Path) -> None:
    model = parse(sample_called(PLANT).source)
    row = next(r for r in cells_of(model, 2, 0) if model.nodes["parent"][r] == NONE16)

    def edit(document: Editable) -> None:
        for name in (document.json["nodes"][row]["name"], name_of(document, row, 2, 0)):
            node = document.node(name)
            node["translation"] = [x + 1 for x in node.get("translation", [0, 0, 0])]

    out = edited(tmp_path, PLANT, edit)
    assert not any("part '" in change and "lod 2" in change for change in out.changes)


def test_a_part_scaled_to_nothing_is_refused(tmp_path: Path) -> None:
    row = cells_of(parse(sample_called(PLANT).source), 2, 0)[0]

    def edit(document: Editable) -> None:
        document.node(name_of(document, row, 2, 0))["scale"] = [0, 1, 1]

    with pytest.raises(ConversionError, match=r"part '.*lod2.group0' is scaled to nothing"):
        edited(tmp_path, PLANT, edit)


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


def test_a_part_of_a_deleted_node_is_reported(tmp_path: Path) -> None:
    model = parse(sample_called(PLANT).source)
    parents = set(model.nodes["parent"].tolist())
    row = next(r for r in cells_of(model, 0, 4) if r not in parents)
    out = edited(tmp_path, PLANT, lambda d: delete(d, d.json["nodes"][row]["name"]))
    assert len(out.new.nodes) == len(model.nodes) - 1
    assert {one.what for one in out.back.not_applied} == {"is left of a node that is missing"}


def test_parts_follow_their_node(tmp_path: Path) -> None:
    """Their objects stay where they were exported: nothing of them is edited."""
    model = parse(sample_called(PLANT).source)
    row = next(r for r in cells_of(model, 2, 0) if model.nodes["parent"][r] == NONE16)

    def edit(document: Editable) -> None:
        node = document.json["nodes"][row]
        node["translation"] = [x + 1 for x in node.get("translation", [0, 0, 0])]

    out = edited(tmp_path, PLANT, edit)
    assert not any("part '" in change for change in out.changes)


@pytest.mark.parametrize("source", [(0, 0), (2, 0)])
def test_the_box_of_the_model_follows_what_lod_0_shows(
    source: tuple[int, int], tmp_path: Path
) -> None:
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
