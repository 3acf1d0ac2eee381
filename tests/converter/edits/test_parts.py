"""Parts (a cell of node, LOD and group each) that are missing from a file."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.sidecar import Sidecar as StoredSidecar
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.kinds.base import sidecar_path
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable
from tests.support.part_edits import COCKPIT, DELETE, PLANT, cells_of, delete, edited, name_of, parse, part_names
from tests.support.runs import first_difference, run, to_gltf


def hide(document: Editable) -> None:
    """As *Visible Objects* exports it: nothing but the default scene's collection."""
    delete(document, *part_names(document))


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
        f"part {name!r} stage 0 level 0"
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
    (tmp_path / "one.msh").write_bytes(import_gltf(first, None, ImportOptions(use_sidecar=False)).data)
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
