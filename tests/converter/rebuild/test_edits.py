"""Edits rebuilt: they touch only what they must, and what refers to it follows."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import TABLES
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_model import require_sound
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import corner_vertices
from tests.converter.edits import test_model as edits
from tests.support.corpus import Sample, every_sample, sample_called
from tests.support.gltf_edit import Editable
from tests.support.rebuilt import ALONE, parse
from tests.support.runs import to_gltf


def test_deleted_clip_makes_static_nodes(tmp_path: Path) -> None:
    sample = sample_called(edits.ANIMATED)
    document = Editable(to_gltf(sample, tmp_path / "m.glb"))
    edits.delete_clip(document)
    edited = document.save(tmp_path / "e.glb")
    back = import_gltf(edited, tmp_path / "m.msh-sidecar", ImportOptions(allow_delete=True))
    model = parse(back.data)
    assert (model.nodes["map_start"] == NONE16).all()
    assert (len(model.keys), len(model.frame_map), model.frame_count) == (8, 0, 1)


def test_legacy_models_cannot_be_edited(tmp_path: Path) -> None:
    document = Editable(to_gltf(sample_called("retail__system__MTCHECK"), tmp_path / "m.glb"))
    edits.move_vertex(document)
    with pytest.raises(ConversionError, match="legacy nodes"):
        import_gltf(document.save(tmp_path / "e.glb"), tmp_path / "m.msh-sidecar")


def test_verification_checks_links(tmp_path: Path) -> None:
    gltf = to_gltf(sample_called("spec__static__b_bun_000"), tmp_path / "m.glb")
    model = parse(import_gltf(gltf, None, ALONE).data)
    triangles = model.triangles.copy()
    triangles["selectors"][3] ^= 1
    model.streams[7] = triangles
    with pytest.raises(ConversionError, match=r"verification failed: Res7.*link back"):
        require_sound(model)
    require_sound(model, before=model)  # it was so before


def test_an_edit_of_one_user_of_a_slot_leaves_the_other(tmp_path: Path) -> None:
    """Two cells share a slot; one of them gets a mesh of its own."""
    sample = sample_called("spec__odd__Gen_stat_011")
    document = Editable(to_gltf(sample, tmp_path / "m.glb"))
    by_mesh: dict[int, list[dict]] = {}
    for node in document.json["nodes"]:
        if "mesh" in node:
            by_mesh.setdefault(node["mesh"], []).append(node)
    shared = next(nodes for nodes in by_mesh.values() if len(nodes) > 1)
    mesh = json.loads(json.dumps(document.json["meshes"][shared[0]["mesh"]]))
    attributes = mesh["primitives"][0]["attributes"]
    moved = document.arrays[attributes["POSITION"]].copy()
    moved[0] += 1
    attributes["POSITION"] = document.add(moved)
    document.json["meshes"].append(mesh)
    shared[0]["mesh"] = len(document.json["meshes"]) - 1
    back = import_gltf(document.save(tmp_path / "e.glb"), tmp_path / "m.msh-sidecar")
    old, new = parse(sample.source), parse(back.data)
    assert len(new.slots) == len(old.slots) + 1
    assert (old.nodes["slot_index"] != new.nodes["slot_index"]).sum() == 1
    assert new.positions[: len(old.positions)].tobytes() == old.positions.tobytes()
    # the copy brings along what nobody understands
    added = new.streams[15][len(old.positions) :]
    assert {row.tobytes() for row in added} & {row.tobytes() for row in old.streams[15]}


def test_bas_beside_the_model_is_named(tmp_path: Path) -> None:
    document = Editable(to_gltf(sample_called(edits.ANIMATED), tmp_path / "m.glb"))
    edits.delete_face(document)
    document.save(tmp_path / "m.glb")
    assert not any(".bas" in w for w in import_gltf(tmp_path / "m.glb").warnings)
    (tmp_path / "m.bas").write_bytes(b"")
    assert any(".bas" in w for w in import_gltf(tmp_path / "m.glb").warnings)


def test_portals_of_nodes_without_numbers_are_named(tmp_path: Path) -> None:
    """Where they lead is said by number; without extras of the nodes nobody knows whether it is the same node."""
    from tests.support.gltf_edit import reverse_nodes

    sample = sample_called("retail__static__i_room_006")
    for numbered in (True, False):
        document = Editable(to_gltf(sample, tmp_path / "m.glb"))
        reverse_nodes(document)
        for node in document.json["nodes"] if not numbered else ():
            node.pop("extras", None)
        back = import_gltf(document.save(tmp_path / "e.glb"), None, replace(ALONE, dialect="retail"))
        named = [line for line in back.warnings if "by the numbers of their nodes" in line]
        new, old = parse(back.data), parse(sample.source)
        leads = [{m.node_names[k] for k in m.batches["word6"] if k != NONE16} for m in (new, old)]
        assert bool(named) == (not numbered)
        assert (leads[0] == leads[1]) == numbered
        assert all(f"'{name.decode()}'" in named[0] for name in sorted(leads[0])[:1] if named)


def test_a_lost_sidecar_is_mentioned(tmp_path: Path) -> None:
    """A renamed export without extras does not find its sidecar: that is said."""
    from tests.support.gltf_edit import drop_extras

    document = Editable(to_gltf(sample_called(edits.ANIMATED), tmp_path / "m.glb"))
    drop_extras(document)
    back = import_gltf(document.save(tmp_path / "renamed.glb"))
    assert back.rebuilt
    assert any("m.msh-sidecar lies beside it" in warning for warning in back.warnings)


def test_generated_lods_leave_stored_ones(tmp_path: Path) -> None:
    sample = sample_called("mixed__odd__s_rock_057")
    gltf = to_gltf(sample, tmp_path / "m.glb")
    old = parse(sample.source)
    new = parse(import_gltf(gltf, None, ImportOptions(lod_ratios=(0.5,))).data)
    filled = old.nodes["slot_index"] != NONE16
    assert (new.nodes["slot_index"][filled] == old.nodes["slot_index"][filled]).all()
    assert (new.nodes["slot_index"][:, 0, 1] != NONE16).sum() > filled[:, 0, 1].sum()


@every_sample
def test_torn_edges_are_unlinked_on_both_sides(sample: Sample, tmp_path: Path) -> None:
    """A vertex moves away from its neighbours: links stay mutual (verification looks)."""
    if sample.truth["legacy"]:
        return
    document = Editable(to_gltf(sample, tmp_path / "m.glb"))
    for primitive in document.primitives()[::3]:
        document.arrays[primitive["attributes"]["POSITION"]][0] += 7
    back = import_gltf(document.save(tmp_path / "e.glb"), tmp_path / "m.msh-sidecar")
    assert back.changes


@every_sample
def test_deleting_the_last_part_takes_its_rows(sample: Sample, tmp_path: Path) -> None:
    """What is left is then a prefix of the old tables: they must shrink all the same."""
    if sample.truth["legacy"]:
        return
    old = parse(sample.source)
    document = Editable(to_gltf(sample, tmp_path / "m.glb"))
    rows = [(m["extras"]["msh"]["slot"], i) for i, m in enumerate(document.json["meshes"])]
    last = max(rows)[1]
    scenes = [[document.json["nodes"][n] for n in s["nodes"]] for s in document.json["scenes"]]
    users = [n for n in document.json["nodes"] if n.get("mesh") == last]
    alone = any(all(n is users[0] for n in nodes) for nodes in scenes)
    if len(users) > 1 or alone:
        return  # shared, or its scene would be gone with it
    del users[0]["mesh"]
    back = import_gltf(document.save(tmp_path / "e.glb"), tmp_path / "m.msh-sidecar")
    new = parse(back.data)
    if "orphan_slot" not in sample.truth["variants"]:  # its rows may be that slot's too
        assert len(new.indices) < len(old.indices)
    sizes = {len(t) for s, t in new.streams.items() if TABLES[s].per_vertex}
    assert sizes == {len(new.positions)}
    gone = len(np.unique(corner_vertices(old))) - len(np.unique(corner_vertices(new)))
    assert len(new.positions) >= len(old.positions) - gone
    if not {"overlap_windows", "orphan_batch", "orphan_slot", "shared_slots"} & set(sample.truth["variants"]):
        assert len(new.positions) == len(old.positions) - gone


def test_rows_behind_the_last_vertex_stay(tmp_path: Path) -> None:
    """A per-vertex table that is too long keeps its tail through an edit of its rows."""
    from msh_gltf.converter.rebuild.workspace import Workspace

    model = parse(sample_called("spec__static__b_bun_000").source)
    model.streams[5] = np.concatenate([model.uv0, model.uv0[:3] + 1])
    space = Workspace.of(model)
    space.vertices = space.vertices[:-4]
    space.into(model)
    assert len(model.positions) == 206
    assert model.uv0[206:].tobytes() == (model.uv0[:3] + 1).tobytes()
