"""Tolerant conversion: what is broken is left out and nothing else, and comes back as it was."""

import random
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.checks.areal_map import AREAL_STEPS
from msh_gltf.converter.checks.model import check_model
from msh_gltf.converter.checks.recover import STEPS, leave_out, without_broken
from msh_gltf.converter.checks.terrain import TERRAIN_STEPS
from msh_gltf.converter.cli import gltf2msh, msh2gltf
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import messages
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.model import LoadedModel
from tests.converter.checks.test_corruptions import bounded
from tests.support.corruption.base import NAN, NONE, Nres, models
from tests.support.recorded import Recorded
from tests.support.recorded import shown as digests
from tests.support.runs import call, run
from tests.support.shown import in_gltf, shown
from tests.support.tolerant import (
    LEFT_OUT,
    OF_GEOMETRY,
    OF_MODELS,
    REFUSED,
    box_of,
    convert,
    cut_model,
    ids,
    load,
    model_of,
)

#: What the first case of each kind becomes, and what is said of it.
TOLERANT = Recorded(__file__, "tolerant.txt")


def result(out: Path, said: str, folder: Path) -> str:
    lines = [line for line in said.replace(str(folder), "").splitlines() if not line.startswith("wrote")]
    return "; ".join([digests(out) if out.exists() else "refused", *lines])


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
        if done == 1:
            TOLERANT.require(kind.name, result(out, said, tmp_path / "cases"))
        if not all_rules()[kind.code].drops:
            assert code == 2, case.sample
            assert said.startswith("msh2gltf: error: ")
            assert said.count("\n") == 1
            assert not out.exists()
            continue
        assert code == 0, (case.sample, said)
        assert f"left out {all_rules()[kind.code].drops} ({kind.code}): " in said
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
    """Against a reference that reads bytes, and the valid model: nothing but triangles go."""
    valid = {}
    for sample in models():
        data = sample.path.read_bytes()
        valid[sample.id] = shown(data, sample.facts["legacy"])
    legacy = {sample.id: sample.facts["legacy"] for sample in models()}
    for case in kind.make(tmp_path / "cases"):
        data = case.path.read_bytes()
        wanted = shown(data, legacy[case.sample])
        convert(data, tmp_path / "out.glb")
        assert in_gltf(tmp_path / "out.glb") == wanted, case.sample
        if kind.code not in OF_GEOMETRY:
            assert wanted == valid[case.sample]
        for cell, triangles in wanted.items():
            before = iter(valid[case.sample][cell])
            assert all(triangle in before for triangle in triangles)  # in order, none new


def test_rules_and_steps_agree() -> None:
    """What the registry promises to leave out is left out, and nothing else."""
    steps = {rule.code for rule in (*STEPS, *TERRAIN_STEPS, *AREAL_STEPS)}
    formats = {"core model", "core model (animation)", "terrain", "areal map"}
    assert steps == {c for c, rule in all_rules().items() if rule.drops and rule.format in formats}
    assert steps == {kind.code for kind in LEFT_OUT} - {"nres-trailing"}  # of a container


# ------------------------------------------------------------------ nothing outside is read


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
    _parent,
    _slot_index,
    _slot,
    _descriptors,
    _batch,
    _base,
    _index,
    _vertex,
    _link,
    _fallback,
    _map,
    _key,
    _strings,
]


@pytest.mark.parametrize("poison", POISONED, ids=lambda p: p.__name__[1:])
def test_what_is_left_out_has_no_say(poison, tmp_path: Path) -> None:
    """Other garbage in the broken fields and after the tables: the same glTF, digests apart."""
    made = set()
    for variant in range(3):
        box = box_of()
        poison(box, variant)
        box.forgotten = bytes([0x11 * (variant + 1)]) * 65536  # where reading too far would end
        data = box.write()
        loaded = convert(data, tmp_path / "a.gltf")
        assert loaded.tolerant
        about = read_sidecar((tmp_path / "a.msh-sidecar").read_bytes(), "").description
        text = (tmp_path / "a.gltf").read_text()
        for digest in (about.source_sha256, about.pair):
            assert digest in text
            text = text.replace(digest, "")
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
    valid = tracks_of(load(box_of(name).write(), tmp_path / "m.msh", stored_keys=keys))
    moving = [node for node, (_, _, clip) in valid.items() if clip]
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
        assert got == {k: v for k, v in valid.items() if k != node}

        broken = box_of(name)
        broken.table(1).set(node, 4, "H", 0xFFFE)
        got = tracks_of(load(broken.write(), tmp_path / "m.msh", stored_keys=keys))
        assert got.pop(node)[2] == []
        assert got == {k: v for k, v in valid.items() if k != node}

        for key in (first, (first + last) // 2, last):
            broken = box_of(name)
            broken.table(8).set(key, 4, "f", NAN)
            got = tracks_of(load(broken.write(), tmp_path / "m.msh", stored_keys=keys))
            own = got.pop(node)
            assert own[2] == []
            assert (own[:2] == still) == (key == last or valid[node][:2] == still)
            assert got == {k: v for k, v in valid.items() if k != node}


def test_a_map_that_reads_a_broken_key_of_another_node(tmp_path: Path) -> None:
    """A map may name any key below the fallback: what it names counts, and the key after it."""
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
    box.table(8).set(first + 1, 12, "f", 0.0)  # of keys of one time, the first counts
    frames = tracks_of(load(box.write(), tmp_path / "m.msh", stored_keys=True))[node][2][0][0]
    assert frames == sorted({*frames})
    box.table(8).set(first, 0, "f", NAN)
    assert tracks_of(load(box.write(), tmp_path / "m.msh", stored_keys=True))[node][2] == []


def test_a_sampled_pose_that_is_not_finite_holds_the_frame_before(tmp_path: Path) -> None:
    """The runtime divides by the difference of two times, which a map may choose to be 0."""
    box = box_of()
    nodes, words, keys = box.table(1), box.table(19), box.table(8)
    node = next(row for row in range(len(nodes)) if nodes.get(row, 4) != NONE)
    last = nodes.get(node, 6)
    keys.set(last - 1, 0, "4f", 1.0, 2.0, 3.0, 7.0)
    keys.set(last, 0, "4f", 2.0, 3.0, 4.0, 7.0)
    for frame in range(10, 13):
        words.set(nodes.get(node, 4) + frame, 0, "H", last - 1)
    loaded = convert(box.write(), tmp_path / "a.glb", mode="default")
    (track,) = [track for track in loaded.scene.tracks if track.node == node]
    values = track.translation.values
    assert np.isfinite(values).all()
    assert (values[10:13] == values[9]).all()
    assert np.isfinite(track.rotation.values).all()
    assert import_gltf(tmp_path / "a.glb").data == box.write()


# ------------------------------------------------------------------ the view


def test_a_sound_model_is_its_own_view() -> None:
    for sample in models():
        model = cut_model(sample.path)
        view, findings = leave_out(model)
        assert view is model
        assert findings == check_model(model)


@pytest.mark.parametrize("kind", OF_MODELS, ids=ids(OF_MODELS))
def test_views_are_sound_and_tables_untouched(kind, tmp_path: Path) -> None:
    for case in kind.make(tmp_path):
        model = cut_model(case.path)
        before = {k: v.tobytes() for k, v in model.streams.items()}
        nodes, slots = model.nodes.tobytes(), model.slots.tobytes()
        view, _ = leave_out(model)
        assert not [f for f in check_model(view) if f.severity == "error"]
        assert {k: v.tobytes() for k, v in model.streams.items()} == before
        assert (model.nodes.tobytes(), model.slots.tobytes()) == (nodes, slots)
        again, _ = leave_out(cut_model(case.path))
        assert {k: v.tobytes() for k, v in again.streams.items()} == {k: v.tobytes() for k, v in view.streams.items()}
        for table in ("nodes", "slots"):
            assert len(getattr(view, table)) == len(getattr(model, table))
        assert len(view.batches) == len(model.batches)


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
    assert codes == {"node-parent", "node-cycle", "batch-indices", "batch-vertices", "vertex-finite"}
    assert in_gltf(tmp_path / "a.glb") == shown(box.write(), legacy=False)
    parents = [node.parent for node in loaded.scene.nodes]
    assert (parents[1], parents[3], parents[4]) == (-1, -1, 3)  # the lowest one becomes a root
    assert import_gltf(tmp_path / "a.glb").data == box.write()


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
    """Words of a broken batch stay where a valid one uses them too."""
    box = box_of()
    batches = box.table(13)
    count, start = batches.get(0, 8), batches.get(0, 10, "I")
    batches.append(box.entry(13).data[:20])
    batches.set(0, 16, "I", 0xFFFFFF)
    model = model_of(box)
    view, _ = leave_out(model)
    assert view.indices[start : start + count].tolist() == model.indices[start : start + count].tolist()
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
    with pytest.raises(ConversionError, match="batches overlap too much") as refused:
        leave_out(model_of(box))
    assert refused.value.code == "batch-overlap"


def test_what_no_step_takes_away_is_refused_under_a_code() -> None:
    """One that ``--check --tolerant`` does not let pass."""
    box = box_of()
    box.table(3).set(0, 0, "f", NAN)
    steps = {rule: lambda model, finding: model for rule in STEPS}
    with pytest.raises(ConversionError, match="something is broken still") as refused:
        without_broken(model_of(box), check_model, steps, "x.msh")
    assert refused.value.code == "still-broken"
    assert all_rules()["still-broken"].fails("tolerant")


def test_a_model_without_one_finite_vertex(tmp_path: Path) -> None:
    box = box_of()
    points = box.table(3)
    for row in range(len(points)):
        points.set(row, 0, "f", NAN)
    loaded = convert(box.write(), tmp_path / "a.glb")
    assert loaded.scene.parts == []
    assert import_gltf(tmp_path / "a.glb").data == box.write()


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
    (said,) = [text for text in messages(findings) if "triangle-link" in text]
    assert said.endswith("; rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...")


# ------------------------------------------------------------------ any bytes

SMALL = sorted((s for s in models() if s.path.stat().st_size < 60_000), key=lambda s: s.path.stat().st_size)


@settings(max_examples=150)
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
    assert import_gltf(folder / "a.glb").data == data


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for number, kind in enumerate(REFUSED):
            case, out = next(kind.make(Path(folder) / str(number))), Path(folder) / str(number) / "1.glb"
            said = run("msh2gltf", case.path, "-o", out, "--no-textures", "--tolerant").stderr
            rows.append((kind.name, result(out, said, Path(folder) / str(number))))
    TOLERANT.write(rows)
