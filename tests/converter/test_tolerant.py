"""Tolerant conversion: what is broken is left out and nothing else, and comes back as it was."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from converter.archive import Archive
from converter.cli import gltf2msh, msh2gltf
from converter.convert import ExportOptions, LoadedModel, gltf_files, load_from, to_model
from converter.convert_map import LoadedMap, load_map, map_files
from converter.errors import ConversionError
from converter.model import MshModel
from converter.rules import RULES
from converter.sidecar import read_sidecar
from converter.tables import StreamType
from converter.tolerant import STEPS, leave_out
from converter.tolerant_maps import AREAL_STEPS, TERRAIN_STEPS
from converter.validate import check_model, told
from importers.msh import kind_at, read_model, read_msh
from importers.nres import read_nres
from tests.converter.test_corruptions import bounded
from tests.support.corpus import DATA, sample_called
from tests.support.corruption import CATALOGUE
from tests.support.corruption.base import NAN, NONE, Nres, models
from tests.support.gltf_edit import Editable
from tests.support.runs import call
from tests.support.shown import in_gltf, shown

TOLERANT = ExportOptions(dressed=False, mode="tolerant")
#: Kinds of the catalogue that a default conversion refuses.
REFUSED = [
    kind
    for kind in CATALOGUE
    if kind.format in ("model", "file", "terrain", "areal map")
    and RULES[kind.code].severity == "error"
]
LEFT_OUT = [kind for kind in REFUSED if RULES[kind.code].drops]
OF_MODELS = [kind for kind in LEFT_OUT if kind.format == "model"]


def ids(kinds: list) -> list[str]:
    return [kind.name for kind in kinds]


def load(data: bytes, path: Path, **options: object) -> LoadedModel | LoadedMap:
    archive: Archive = read_nres(data, "x")
    kind = kind_at(archive, None)
    chosen = replace(TOLERANT, **options)
    if kind == "model":
        return load_from(archive, path, None, chosen)
    return load_map(archive, path, None, kind, chosen)


def convert(data: bytes, target: Path, **options: object) -> LoadedModel | LoadedMap:
    """The glTF of some bytes, with its sidecar."""
    loaded = load(data, target.with_suffix(".msh"), **options)
    chosen = replace(TOLERANT, **options)
    if isinstance(loaded, LoadedModel):
        files = gltf_files(loaded, target, chosen)
    else:
        files = map_files(loaded, target, chosen)
    for path, content in files:
        path.write_bytes(content)
    return loaded


def first_case(kind, folder: Path, wanted: str = "") -> bytes:
    """The first sample of a kind that there is."""
    case = next(c for c in kind.make(folder) if wanted in c.sample)
    return case.path.read_bytes()


# ------------------------------------------------------------------ the catalogue


@pytest.mark.parametrize("kind", REFUSED, ids=ids(REFUSED))
def test_converted_or_refused(kind, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """Where the rule says what is left out it is converted, and comes back byte for byte."""
    done = 0
    for done, case in enumerate(kind.make(tmp_path / "cases"), 1):
        if done > 4:
            break
        out = tmp_path / f"{done}.glb"
        with bounded():
            code = call(msh2gltf, case.path, "-o", out, "--no-textures", "--tolerant")
        said = capfd.readouterr().err
        assert "internal error" not in said
        assert "Warning" not in said
        if not RULES[kind.code].drops:
            assert code == 2, case.sample
            assert said.startswith("msh2gltf: error: ")
            assert said.count("\n") == 1
            assert not out.exists()
            continue
        assert code == 0, (case.sample, said)
        assert f"left out {RULES[kind.code].drops} ({kind.code}): " in said
        sidecar = out.with_suffix(".msh-sidecar")
        kept = read_sidecar(sidecar.read_bytes(), "x")
        assert kept.description.tolerant
        assert bytes(kept.source) == case.path.read_bytes()
        back = tmp_path / f"{done}.back"
        back.mkdir()
        assert call(gltf2msh, out, "-o", back, "-q") == 0, capfd.readouterr().err
        (made,) = back.glob("*.m*")
        assert made.read_bytes() == case.path.read_bytes()
    assert done


@pytest.mark.parametrize("kind", OF_MODELS, ids=ids(OF_MODELS))
def test_only_the_broken_part_is_missing(kind, tmp_path: Path) -> None:
    """Against a twin that reads bytes, and against the sound model: nothing but triangles go."""
    sound = {}
    for sample in models():
        data = sample.path.read_bytes()
        sound[sample.id] = shown(data, sample.facts["legacy"])
    legacy = {sample.id: sample.facts["legacy"] for sample in models()}
    for case in kind.make(tmp_path / "cases"):
        data = case.path.read_bytes()
        wanted = shown(data, legacy[case.sample])
        convert(data, tmp_path / "out.glb")
        assert in_gltf(tmp_path / "out.glb") == wanted, case.sample
        if kind.code not in OF_GEOMETRY:
            assert wanted == sound[case.sample]
        for cell, triangles in wanted.items():
            before = iter(sound[case.sample][cell])
            assert all(triangle in before for triangle in triangles)  # in order, none new


OF_GEOMETRY = {"node-slot", "slot-batches", "batch-indices", "batch-vertices", "vertex-finite"}


def test_rules_and_steps_agree() -> None:
    """What the registry promises to leave out is left out, and nothing else."""
    steps = {*STEPS, *TERRAIN_STEPS, *AREAL_STEPS}
    formats = {"core model", "core model (animation)", "terrain", "areal map"}
    assert steps == {c for c, rule in RULES.items() if rule.drops and rule.format in formats}
    assert steps == {kind.code for kind in LEFT_OUT}


# ------------------------------------------------------------------ nothing outside is read


def box_of(name: str = "retail__odd__s_rock_009") -> Nres:
    return Nres.read((DATA / f"{name}.msh").read_bytes())


def _parent(box: Nres, v: int) -> None:
    box.table(1).set(1, 2, "H", 60000 + v)


def _slot_index(box: Nres, v: int) -> None:
    box.table(1).set(1, 8, "H", 60000 + v)


def _slot(box: Nres, v: int) -> None:
    box.table(2).set(0, 4, "2H", 60000 + v, 3 * v)


def _descriptors(box: Nres, v: int) -> None:
    box.table(2).set(0, 0, "2H", 60000 + v, 7 * v)


def _batch(box: Nres, v: int) -> None:
    box.table(13).set(0, 8, "H", 300 + 3 * v)
    box.table(13).set(0, 10, "I", 0x10000 << v)


def _base(box: Nres, v: int) -> None:
    box.table(13).set(1, 16, "I", 0x7FFFFFFF - v)


def _index(box: Nres, v: int) -> None:
    box.table(6).set(4, 0, "H", 0xFFFF - 40 * v)


def _vertex(box: Nres, v: int) -> None:
    box.table(3).set(1, 0, "3f", *[(NAN, 5.0, 9.0), (-1e9, -NAN, 1.0), (0.0, 0.0, -1e999)][v])


def _link(box: Nres, v: int) -> None:
    box.table(7).set(0, 2, "H", 0xFFFE - v)


def _fallback(box: Nres, v: int) -> None:
    box.table(1).set(2, 6, "H", 60000 + v)


def _map(box: Nres, v: int) -> None:
    box.table(1).set(2, 4, "H", 60000 + v)


def _key(box: Nres, v: int) -> None:
    values = [(NAN, 0, 0, 1), (9, 9, NAN, 4), (1, 2, 3, 1e999)][v]
    box.table(8).set(3, 0, "4f", *values)
    box.table(8).set(3, 16, "4h", 5 * v, 0, v, 9)


def _strings(box: Nres, v: int) -> None:
    data = box.entry(10).data
    struct.pack_into("<I", data, 0, 0xFFFFFF00 + v)
    data[4:] = bytes([65 + v]) * (len(data) - 4)


POISONED: list[Callable[[Nres, int], None]] = [
    _parent, _slot_index, _slot, _descriptors, _batch, _base, _index, _vertex, _link, _fallback,
    _map, _key, _strings,
]  # fmt: skip


@pytest.mark.parametrize("poison", POISONED, ids=lambda p: p.__name__[1:])
def test_what_is_left_out_has_no_say(poison, tmp_path: Path) -> None:
    """Other garbage in the broken fields and behind the tables: the same glTF, digest apart."""
    made = set()
    for variant in range(3):
        box = box_of()
        poison(box, variant)
        box.forgotten = bytes([0x11 * (variant + 1)]) * 65536  # where reading too far would end
        data = box.write()
        loaded = convert(data, tmp_path / "a.gltf")
        assert loaded.tolerant
        digest = read_sidecar((tmp_path / "a.msh-sidecar").read_bytes(), "").description
        text = (tmp_path / "a.gltf").read_text().replace(digest.source_sha256, "")
        made.add((text, (tmp_path / "a.bin").read_bytes()))
    assert len(made) == 1


# ------------------------------------------------------------------ animation


def tracks_of(loaded: LoadedModel) -> dict[int, tuple]:
    """Rest pose and clip of every node, to compare."""
    scene = loaded.scene
    out: dict[int, tuple] = {}
    clips = {track.node: track for track in scene.tracks}
    for i, node in enumerate(scene.nodes):
        track = clips.get(i)
        channels = [] if track is None else [track.rotation, track.translation]
        said = [(c.frames.tolist(), c.values.tolist()) for c in channels if c is not None]
        out[i] = (node.rotation.tolist(), node.translation.tolist(), said)
    return out


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("name", ["retail__odd__s_rock_009", "spec__odd__Gen_stat_011"])
def test_broken_keys_stop_their_own_nodes_only(name: str, keys: bool, tmp_path: Path) -> None:
    sound = tracks_of(load(box_of(name).write(), tmp_path / "m.msh", stored_keys=keys))
    moving = [node for node, (_, _, clip) in sound.items() if clip]
    assert len(moving) > 2
    still = ([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    for node in moving:
        box = box_of(name)
        nodes = box.table(1)
        last = nodes.get(node, 6)
        first = nodes.get(node - 1, 6) + 1 if node else 0

        broken = box_of(name)
        broken.table(1).set(node, 6, "H", 0xFFFE)
        got = tracks_of(load(broken.write(), tmp_path / "m.msh", stored_keys=keys))
        assert got.pop(node) == (*still, [])
        assert got == {k: v for k, v in sound.items() if k != node}

        broken = box_of(name)
        broken.table(1).set(node, 4, "H", 0xFFFE)
        got = tracks_of(load(broken.write(), tmp_path / "m.msh", stored_keys=keys))
        assert got.pop(node)[2] == []
        assert got == {k: v for k, v in sound.items() if k != node}

        for key in (first, (first + last) // 2, last):
            broken = box_of(name)
            broken.table(8).set(key, 4, "f", NAN)
            got = tracks_of(load(broken.write(), tmp_path / "m.msh", stored_keys=keys))
            own = got.pop(node)
            assert own[2] == []
            assert (own[:2] == still) == (key == last or sound[node][:2] == still)
            assert got == {k: v for k, v in sound.items() if k != node}


def test_a_map_that_reads_a_broken_key_of_another_node(tmp_path: Path) -> None:
    """A map may name any key below the fallback: what it names counts, and the key behind it."""
    box = box_of()
    nodes, words = box.table(1), box.table(19)
    moving = [row for row in range(len(nodes)) if nodes.get(row, 4) != NONE]
    late = moving[-1]
    words.set(nodes.get(late, 4), 0, "H", 2)
    box.table(8).set(3, 0, "f", NAN)
    got = tracks_of(load(box.write(), tmp_path / "m.msh"))
    assert got[late][2] == []


def test_a_broken_key_of_the_run_that_no_map_names(tmp_path: Path) -> None:
    """The stored keys (--keys) show it all the same."""
    box = box_of()
    nodes, words = box.table(1), box.table(19)
    node = next(row for row in range(len(nodes)) if nodes.get(row, 4) != NONE)
    first = nodes.get(node - 1, 6) + 1 if node else 0
    for frame in range(box.entry(19).attr2):
        words.set(nodes.get(node, 4) + frame, 0, "H", first + 1)
    assert tracks_of(load(box.write(), tmp_path / "m.msh", stored_keys=True))[node][2]
    box.table(8).set(first, 0, "f", NAN)
    assert tracks_of(load(box.write(), tmp_path / "m.msh", stored_keys=True))[node][2] == []


# ------------------------------------------------------------------ the view


def test_a_sound_model_is_its_own_view() -> None:
    for sample in models():
        model = read_msh(sample.path)
        view, findings = leave_out(model)
        assert view is model
        assert findings == check_model(model)


@pytest.mark.parametrize("kind", OF_MODELS, ids=ids(OF_MODELS))
def test_views_are_sound_and_tables_untouched(kind, tmp_path: Path) -> None:
    for case in kind.make(tmp_path):
        model = read_msh(case.path)
        before = {k: v.tobytes() for k, v in model.streams.items()}
        nodes, slots = model.nodes.tobytes(), model.slots.tobytes()
        view, _ = leave_out(model)
        assert not [f for f in check_model(view) if f.severity == "error"]
        assert {k: v.tobytes() for k, v in model.streams.items()} == before
        assert (model.nodes.tobytes(), model.slots.tobytes()) == (nodes, slots)
        again, _ = leave_out(read_msh(case.path))
        assert {k: v.tobytes() for k, v in again.streams.items()} == {
            k: v.tobytes() for k, v in view.streams.items()
        }
        for table in ("nodes", "slots"):
            assert len(getattr(view, table)) == len(getattr(model, table))
        assert len(view.batches) == len(model.batches)


def model_of(box: Nres) -> MshModel:
    return read_model(read_nres(box.write(), "x"), "m.msh")


def test_several_errors_at_once_and_behind_one_another(tmp_path: Path) -> None:
    """A cycle shows only when parents are nodes; vertices only when indices are there."""
    box = box_of()
    nodes = box.table(1)
    nodes.set(1, 2, "H", 60000)
    nodes.set(3, 2, "H", 4)
    nodes.set(4, 2, "H", 3)
    box.table(13).set(0, 10, "I", 0xFFFFFFFF)
    box.table(13).set(2, 16, "I", 0xFFFFFF)
    box.table(3).set(40, 0, "f", NAN)
    loaded = convert(box.write(), tmp_path / "a.glb")
    codes = {f.code for f in loaded.findings if f.severity == "error"}
    assert codes == {
        "node-parent", "node-cycle", "batch-indices", "batch-vertices", "vertex-finite",
    }  # fmt: skip
    assert in_gltf(tmp_path / "a.glb") == shown(box.write(), legacy=False)
    parents = [node.parent for node in loaded.scene.nodes]
    assert (parents[1], parents[3], parents[4]) == (-1, -1, 3)  # the lowest one becomes a root
    assert to_model(tmp_path / "a.glb").data == box.write()


def test_nodes_below_a_cycle_stay_below_it() -> None:
    box = box_of()
    nodes = box.table(1)
    count = len(nodes)
    below = [nodes.get(row, 2) for row in range(count)]
    nodes.set(0, 2, "H", 0)
    view, _ = leave_out(model_of(box))
    assert list(view.parents) == [NONE, *below[1:]]
    nodes.set(0, 2, "H", count - 1)
    view, _ = leave_out(model_of(box))
    assert list(view.parents) == [NONE, *below[1:]]


def test_batches_that_share_indices_keep_them() -> None:
    """Words of a broken batch stay where a sound one uses them too."""
    box = box_of()
    batches = box.table(13)
    count, start = batches.get(0, 8), batches.get(0, 10, "I")
    batches.append(box.entry(13).data[:20])
    batches.set(0, 16, "I", 0xFFFFFF)
    model = model_of(box)
    view, _ = leave_out(model)
    assert (
        view.indices[start : start + count].tolist()
        == model.indices[start : start + count].tolist()
    )
    assert view.batches["index_count"][0] == 0


def test_a_thousand_overlapping_batches_are_not_laid_out() -> None:
    box = box_of()
    batches = box.table(13)
    total = len(box.table(6))
    record = bytearray(box.entry(13).data[:20])
    struct.pack_into("<HIHI", record, 8, total - total % 3, 0, 0, 0)
    box.entry(13).data += bytes(record) * 1000
    box.table(3).set(0, 0, "f", NAN)
    assert len(batches) > 1000
    with pytest.raises(ConversionError, match="the batches overlap too much"):
        leave_out(model_of(box))


def test_a_model_without_one_finite_vertex(tmp_path: Path) -> None:
    box = box_of()
    points = box.table(3)
    for row in range(len(points)):
        points.set(row, 0, "f", NAN)
    loaded = convert(box.write(), tmp_path / "a.glb")
    assert loaded.scene.parts == []
    assert to_model(tmp_path / "a.glb").data == box.write()


# ------------------------------------------------------------------ maps


@pytest.mark.parametrize(
    "kind", [k for k in LEFT_OUT if k.format == "terrain"], ids=lambda k: k.name
)
def test_terrains_lose_their_broken_faces_only(kind, tmp_path: Path) -> None:
    for case in kind.make(tmp_path / "cases"):
        data = case.path.read_bytes()
        sound = load((DATA / "maps" / case.sample / "Land.msh").read_bytes(), case.path).scene
        got = load(data, case.path).scene
        box = Nres.read(data)
        faces, slots, squares = box.table(21), box.table(2), box.table(1)
        points = box.table(3)
        for level in (0, 1):
            wanted = set()
            for square in range(len(squares)):
                slot = squares.get(square, 8 + 2 * level)
                if slot >= len(slots):
                    continue
                start, count = slots.get(slot, 0, "2H")
                if start + count <= len(faces):
                    wanted |= set(range(start, start + count))
            for row in list(wanted):
                corners = faces.get(row, 8, "3H")
                inside = all(corner < len(points) for corner in corners)
                if not inside or not np.isfinite([points.get(c, 0, "3f") for c in corners]).all():
                    wanted.remove(row)
            assert {r for _, rows in got.primitives[level] for r in rows.tolist()} == wanted
            before = {r for _, rows in sound.primitives[level] for r in rows.tolist()}
            assert wanted <= before
            rows = sorted(wanted)
            assert np.array_equal(got.vertex[rows], sound.vertex[rows])
            assert np.array_equal(
                got.positions[got.vertex[rows]], sound.positions[sound.vertex[rows]]
            )
        assert np.isfinite(got.positions).all()


def test_a_terrain_without_ground_is_refused(tmp_path: Path) -> None:
    box = Nres.read((DATA / "maps/spec__AutoMAP_00/Land.msh").read_bytes())
    slots = box.table(2)
    for row in range(len(slots)):
        slots.set(row, 0, "H", 60000)
    with pytest.raises(ConversionError, match="no ground left to show"):
        load(box.write(), tmp_path / "Land.msh")


def test_broken_areals_go_and_all_others_stay(tmp_path: Path) -> None:
    """Against the sound map: every polygon but the broken one, and a border where it was."""
    from tests.support.corruption.areal import Map

    path = DATA / "maps/spec__AutoMAP_00/Land.map"
    sound = load(path.read_bytes(), path).content
    box = Nres.read(path.read_bytes())
    area = Map(box)
    row = 2
    struct.pack_into("<f", area.data, area.records[row] + 56, NAN)
    got = load(box.write(), path).content
    assert len(got.records) == len(sound.records) - 1
    keep = sound.owner != row
    assert np.array_equal(got.vertices, sound.vertices[keep])
    assert np.array_equal(got.records, sound.records[np.arange(len(sound.records)) != row])
    old = sound.links[keep]
    now = got.links
    lost = (old["areal"] == row) | (old["areal"] < 0)
    assert (now["areal"][lost] == -1).all()
    moved = old["areal"] - (old["areal"] > row)
    assert np.array_equal(now["areal"][~lost], moved[~lost])
    assert np.array_equal(now["edge"][~lost], old["edge"][~lost])
    for cell in range(len(sound.cell_start) - 1):
        a = sound.cell_ids[sound.cell_start[cell] : sound.cell_start[cell + 1]].astype(int)
        b = got.cell_ids[got.cell_start[cell] : got.cell_start[cell + 1]].astype(int)
        a = a[a != row]
        assert b.tolist() == (a - (a > row)).tolist()


# ------------------------------------------------------------------ edits, sidecars, OBJ


def renamed(edit: Editable) -> None:
    edit.json["nodes"][1]["name"] = "other"


def moved(edit: Editable) -> None:
    """The first corner of the last part, a little."""
    points = edit.arrays[edit.primitives()[-1]["attributes"]["POSITION"]]
    points[edit.arrays[edit.primitives()[-1]["indices"]][0, 0]] += 0.25


def turned(edit: Editable) -> None:
    """The first clip of a node, a little to the side."""
    clip = edit.json["animations"][0]
    channel = next(c for c in clip["channels"] if c["target"]["path"] == "translation")
    edit.arrays[clip["samplers"][channel["sampler"]]["output"]] += 0.5


#: What an edit may meet: it goes in unless it changes a broken table or one that rows point into.
EDITS = {
    renamed: {kind.code for kind in OF_MODELS},
    moved: {"node-parent", "node-cycle", "node-map", "node-fallback", "key-finite", "string-run"},
    turned: OF_GEOMETRY
    | {"node-parent", "node-cycle", "slot-triangles", "triangle-link", "string-run"},
}  # fmt: skip


@pytest.mark.parametrize("kind", OF_MODELS, ids=ids(OF_MODELS))
@pytest.mark.parametrize("change", EDITS, ids=lambda change: change.__name__)
def test_edits(change, kind, tmp_path: Path) -> None:
    """An edit apart from what is broken goes in, and what is broken stays byte for byte."""
    data = first_case(kind, tmp_path / "c", "s_rock_009")
    convert(data, tmp_path / "a.glb")
    edit = Editable(tmp_path / "a.glb")
    if not (edit.json.get("animations") if change is turned else edit.primitives()):
        return  # all of it is left out
    change(edit)
    edit.save(tmp_path / "a.glb")
    if kind.code not in EDITS[change]:
        with pytest.raises(ConversionError, match="the edit meets tables that are broken") as said:
            to_model(tmp_path / "a.glb")
        assert "--no-sidecar" in str(said.value)
        return
    back = to_model(tmp_path / "a.glb")
    assert back.changes
    assert not back.kept_all
    assert "what is broken was kept as it is, as --tolerant left it out" in back.warnings
    before, after = (
        read_model(read_nres(data, "x"), "x"),
        read_model(read_nres(back.data, "x"), "x"),
    )
    errors = [
        [(f.code, f.row, f.value) for f in leave_out(m)[1] if f.severity == "error"]
        for m in (before, after)
    ]
    assert errors[0] == errors[1]
    again = convert(back.data, tmp_path / "b.glb")
    assert again.tolerant
    assert to_model(tmp_path / "b.glb").data == back.data


def test_the_sidecar_of_a_sound_model_is_not_marked(tmp_path: Path) -> None:
    path = DATA / "retail__system__R_H_002.msh"
    for name, options in (("a", ()), ("b", ("--tolerant",))):
        (tmp_path / name).mkdir()
        assert call(msh2gltf, path, "-o", tmp_path / name / "m.glb", "-q", *options) == 0
    for file in ("m.glb", "m.msh-sidecar"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_sidecar_without_the_mark_is_refused(tmp_path: Path) -> None:
    """An older converter, which does not know the mark, reads the source as always."""
    from converter.sidecar import write_sidecar

    data = first_case(next(k for k in OF_MODELS if k.code == "slot-batches"), tmp_path / "c")
    convert(data, tmp_path / "a.glb")
    path = tmp_path / "a.msh-sidecar"
    kept = read_sidecar(path.read_bytes(), "x")
    unmarked = replace(kept, description=replace(kept.description, tolerant=False))
    path.write_bytes(write_sidecar(unmarked))
    with pytest.raises(ConversionError, match="run past the table"):
        to_model(tmp_path / "a.glb")


@pytest.mark.parametrize("code", ["slot-batches", "vertex-finite", "node-cycle", "node-fallback"])
def test_obj(code: str, tmp_path: Path) -> None:
    kind = next(k for k in OF_MODELS if k.code == code)
    data = first_case(kind, tmp_path / "c", "R_H")
    path, out = tmp_path / "m.msh", tmp_path / "m.obj"
    path.write_bytes(data)
    assert call(msh2gltf, path, "-o", out, "-q") == 2
    assert call(msh2gltf, path, "-o", out, "-q", "--tolerant", "--frame", "3") == 0
    assert call(gltf2msh, out, "-o", tmp_path / "back.msh", "-q") == 0
    assert (tmp_path / "back.msh").read_bytes() == data


# ------------------------------------------------------------------ messages


def test_what_is_said(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    box = box_of()
    for row in (1, 3, 4):
        box.table(1).set(row, 2, "H", 60000)
    path = tmp_path / "m.msh"
    path.write_bytes(box.write())
    assert call(msh2gltf, path, "-o", tmp_path / "m.glb") == 2
    refused = capfd.readouterr().err
    assert "; msh2gltf --tolerant leaves out the parent: the node becomes a root" in refused
    assert call(msh2gltf, path, "-o", tmp_path / "m.glb", "--tolerant") == 0
    said = capfd.readouterr().err
    assert said.startswith(f"warning: {path}: left out the parent")
    assert "(node-parent): Res1 (nodes), row 1, byte " in said
    assert said.rstrip().endswith("; rows 1, 3, 4")
    assert call(msh2gltf, path, "-o", tmp_path / "m.glb", "--tolerant", "-q", "--force") == 0
    assert capfd.readouterr().err == ""


def test_many_rows_are_cut_short() -> None:
    box = box_of("retail__static__i_room_006")
    triangles = box.table(7)
    for row in range(20):
        triangles.set(row, 2, "H", 0xFFFE)
    _, findings = leave_out(model_of(box))
    (said,) = [text for text in told(findings) if "triangle-link" in text]
    assert said.endswith("; rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...")


# ------------------------------------------------------------------ any bytes

SMALL = sorted(
    (s for s in models() if s.path.stat().st_size < 60_000), key=lambda s: s.path.stat().st_size
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([s.id for s in SMALL]),
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.sampled_from(["words", "bytes", "floats"]),
)
def test_any_damage_converts_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, seed: int, places: int, how: str
) -> None:
    """Nothing but a ConversionError, and what converts comes back byte for byte."""
    folder = tmp_path_factory.mktemp("m")
    dice = random.Random(seed)
    box = box_of(name)
    for _ in range(places):
        entry = dice.choice([e for e in box.entries if len(e.data) >= 8])
        at = dice.randrange(len(entry.data) - 4)
        if how == "words":
            word = dice.choice([0, 1, 2, 0xFFFF, 0xFFFE, 0x7FFF, 0x8000, dice.randrange(65536)])
            struct.pack_into("<H", entry.data, at & ~1, word)
        elif how == "bytes":
            entry.data[at] = dice.randrange(256)
        else:
            value = dice.choice([NAN, 1e999, -1e999, 0.0, -0.0, dice.uniform(-1e4, 1e4)])
            struct.pack_into("<f", entry.data, at & ~3, value)
    data = box.write()
    try:
        convert(data, folder / "a.glb")
    except ConversionError:
        return
    assert to_model(folder / "a.glb").data == data


def test_streams_are_numbered_as_expected() -> None:
    """The poison above writes to tables by number."""
    assert (StreamType.NODES, StreamType.BATCHES, StreamType.KEYS) == (1, 13, 8)
    assert sample_called("retail__odd__s_rock_009").path.is_file()
