"""Which frames the times of a clip mean: rates, spacing, samples between frames, holds."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import MshModel, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.edits.test_scaled_animation import (
    EVEN,
    SHAPE,
    WALKER,
    curve,
    file_points,
    model_points,
    random_file,
)
from tests.converter.edits.test_scaled_animation import FRAMES as LAST
from tests.importers.test_foreign import Builder
from tests.support.corpus import Sample, sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import first_difference, run, to_gltf

ALONE = ImportOptions(use_sidecar=False)
SAMPLES = [Sample("walker", WALKER, None, WALKER), sample_called("spec__odd__B_PLANT_008")]
WALKING = SAMPLES[0]
FRAMES = 25
RATES = (25, 30, 50, 60)
every_animated = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)


def parse(data: bytes) -> MshModel:
    return read_model(read_nres(data, "m"), "m")


def opened(sample: Sample, folder: Path, *options: object) -> Editable:
    return Editable(to_gltf(sample, folder / "m.glb", *options))


def imported(document: Editable, folder: Path, **options: object) -> ImportResult:
    """With the sidecar of ``m.glb``."""
    return import_gltf(document.save(folder / "e.glb"), folder / "m.msh-sidecar", ImportOptions(**options))


def fps_of(back: ImportResult) -> float:
    assert back.timing is not None
    return back.timing.fps


def samplers(document: Editable) -> list[tuple[str, dict]]:
    """Each channel's path and sampler."""
    (clip,) = document.json["animations"]
    return [(c["target"]["path"], clip["samplers"][c["sampler"]]) for c in clip["channels"]]


def play_at(document: Editable, fps: float) -> None:
    """What Blender writes of a clip imported at 24 when its scene then plays at another rate."""
    for number in {sampler["input"] for _, sampler in samplers(document)}:
        document.arrays[number] = (document.arrays[number] * 24 / fps).astype(np.float32)


def resample(document: Editable, fps: float) -> None:
    """What Blender writes of a clip imported into a scene at another rate: keys at its frames."""
    for _, sampler in samplers(document):
        times = document.arrays[sampler["input"]][:, 0] * 24
        values = document.arrays[sampler["output"]].astype(np.float64)
        frames = np.arange(np.ceil(times[-1] / 24 * fps - 1e-4) + 1)
        at = [np.array([np.interp(f * 24 / fps, times, v) for v in values.T]) for f in frames]
        rows = np.array(at)
        if rows.shape[1] == 4:
            rows /= np.linalg.norm(rows, axis=1)[:, None]
        sampler["input"] = document.add((frames / fps).astype(np.float32)[:, None])
        sampler["output"] = document.add(rows.astype(np.float32))


def turn_last(document: Editable, keys: slice) -> str:
    """Turn the last animated node at some of its keys; returns its name."""
    (clip,) = document.json["animations"]
    channel = [c for c in clip["channels"] if c["target"]["path"] == "rotation"][-1]
    sampler = clip["samplers"][channel["sampler"]]
    values = document.arrays[sampler["output"]].copy()
    values[keys] = np.float32([0.5, 0.5, 0.5, 0.5])
    sampler["output"] = document.add(values)
    return document.json["nodes"][channel["target"]["node"]]["name"]


# ------------------------------------------------------------------ untouched


@every_animated
@pytest.mark.parametrize("extras", [True, False])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("change", [play_at, resample])
def test_untouched_at_another_rate(tmp_path: Path, change, rate: int, extras: bool, sample: Sample) -> None:
    document = opened(sample, tmp_path)
    change(document, rate)
    if not extras:
        drop_extras(document)
    back = imported(document, tmp_path)
    assert (back.changes, back.not_applied) == ([], [])
    assert first_difference(sample.source, back.data) is None
    assert back.timing is not None
    assert back.timing.fps == (rate if change is play_at else 24)
    assert "the clip is unchanged" in back.timing.reason


@pytest.mark.parametrize("rate", [25, 30, 50])
@pytest.mark.parametrize("last", [20, 21, 22, 23])
def test_untouched_with_a_key_where_the_clip_ends(tmp_path: Path, rate: int, last: int) -> None:
    """Samples at another rate, and one at the end, less than a sample after the one before it."""
    document = opened(WALKING, tmp_path)
    for _, sampler in samplers(document):
        for name in ("input", "output"):
            sampler[name] = document.add(document.arrays[sampler[name]][: last + 1])
    cut_off = tmp_path / "cut.msh"
    cut_off.write_bytes(imported(document, tmp_path, reduce=False).data)
    (tmp_path / "cut").mkdir()
    document = opened(Sample("cut", cut_off, None, WALKER), tmp_path / "cut")
    ends = [document.arrays[s[name]][-1:] for _, s in samplers(document) for name in ("input", "output")]
    resample(document, rate)
    for i, (_, sampler) in enumerate(samplers(document)):
        times = document.arrays[sampler["input"]]
        inside = times[:, 0] < ends[2 * i][0, 0] - 1e-4
        for name, end in (("input", ends[2 * i]), ("output", ends[2 * i + 1])):
            sampler[name] = document.add(np.concatenate([document.arrays[sampler[name]][inside], end]))
    back = imported(document, tmp_path / "cut")
    assert (back.changes, back.not_applied) == ([], [])
    assert back.data == cut_off.read_bytes()


@pytest.mark.parametrize("rate", [30, 50, 60])
def test_a_rate_that_neither_file_nor_keys_state(tmp_path: Path, rate: int) -> None:
    """Exported at another rate, through a Blender at 24 that drops the extras."""
    document = opened(WALKING, tmp_path)
    play_at(document, rate)
    (_, sampler), *_ = samplers(document)
    end = document.arrays[sampler["input"]][-1, 0]
    for _, sampler in samplers(document):
        times = document.arrays[sampler["input"]][:, 0]
        values = document.arrays[sampler["output"]]
        at = np.arange(int(end * 24 + 1e-4) + 1) / 24
        rows = np.stack([np.interp(at, times, column) for column in values.T], axis=1)
        sampler["input"] = document.add(at.astype(np.float32)[:, None])
        sampler["output"] = document.add(rows.astype(np.float32))
    drop_extras(document)
    back = imported(document, tmp_path)
    assert back.changes == []
    assert fps_of(back) == rate


def test_a_clip_of_half_the_speed_or_of_half_the_rate_is_named(tmp_path: Path) -> None:
    """Nothing tells which it is: the stored clip is kept, and a line says how to have the other."""
    document = opened(WALKING, tmp_path)
    play_at(document, 12)
    back = imported(document, tmp_path)
    assert back.unchanged
    assert [line for line in back.warnings if "--fps 24 makes it so" in line]
    slower = imported(document, tmp_path, fps=24.0)
    assert parse(slower.data).frame_count == 2 * FRAMES - 1
    assert slower.warnings == []


# ------------------------------------------------------------------ edited


@pytest.mark.parametrize(("change", "fps"), [(play_at, 30), (resample, 24)])
def test_an_edited_clip_keeps_its_frames(tmp_path: Path, change, fps: int) -> None:
    document = opened(WALKING, tmp_path)
    change(document, 30)
    name = turn_last(document, slice(10, 14))
    back = imported(document, tmp_path)
    assert {change.where for change in back.changes} == {f"animation of node '{name}'"}
    assert fps_of(back) == fps
    old, new = parse(WALKING.source), parse(back.data)
    assert new.frame_count == old.frame_count == FRAMES
    kept = {key.tobytes() for key in old.keys} & {key.tobytes() for key in new.keys}
    assert len(kept) > len(old.keys) / 2


def test_frames_that_an_edit_left_alone_keep_their_keys(tmp_path: Path) -> None:
    """Between samples of another rate, the stored pose is taken where nothing changed."""
    document = opened(WALKING, tmp_path)
    resample(document, 30)
    turn_last(document, slice(20, 24))
    back = imported(document, tmp_path, reduce=False)
    (change,) = back.changes
    assert change.what == "rotation changed at frame 16 and 3 more frames"


def test_keys_on_whole_frames_say_nothing_against_the_stated_rate(tmp_path: Path) -> None:
    """A new clip with a key on every second frame is not one at 12 frames per second."""
    document = opened(WALKING, tmp_path)
    rng = np.random.default_rng(3)
    times = document.add((np.arange(0, 15, 2) / 24).astype(np.float32)[:, None])
    for path, sampler in samplers(document):
        values = rng.normal(size=(8, 4 if path == "rotation" else 3))
        values /= np.linalg.norm(values, axis=1)[:, None]
        sampler["input"], sampler["output"] = times, document.add(values.astype(np.float32))
    back = imported(document, tmp_path)
    assert fps_of(back) == 24
    assert parse(back.data).frame_count == 15


def test_fps_overrides(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    play_at(document, 30)
    back = imported(document, tmp_path, fps=60.0)
    assert back.timing is not None
    assert (back.timing.fps, back.timing.reason) == (60, "as given")
    assert parse(back.data).frame_count == 2 * FRAMES - 1


@pytest.mark.parametrize(("change", "fps"), [(play_at, 30), (resample, 24)])
def test_without_a_sidecar_the_stated_length_decides(tmp_path: Path, change, fps: int) -> None:
    document = opened(WALKING, tmp_path)
    change(document, 30)
    back = import_gltf(document.save(tmp_path / "e.glb"), None, ALONE)
    assert fps_of(back) == fps
    assert parse(back.data).frame_count == FRAMES


@pytest.mark.parametrize(("rate", "fps", "frames"), [(30, 30, 31), (25, 25, 31), (7, 24, 103)])
def test_keys_of_foreign_files_are_frames(tmp_path: Path, rate: int, fps: int, frames: int) -> None:
    """Sampled at a usual rate, a key is a frame; other spacings are keys at 24."""
    builder = Builder()
    node = builder.node(name="n", mesh=builder.mesh(SHAPE, (0, 1, 2)))
    places = np.random.default_rng(1).normal(size=(31, 3))
    builder.clip(node, "translation", np.arange(31) / rate, places)
    back = import_gltf(builder.save(tmp_path), None, ALONE)
    assert fps_of(back) == fps
    assert parse(back.data).frame_count == frames
    if frames == 31:
        shown = parse(back.data).keys["position"]
        assert np.allclose(shown[:, 0], places[:, 0], atol=1e-4)


@pytest.mark.parametrize("rate", [24, 25, 30, 50, 60])
@pytest.mark.parametrize("seed", range(4))
def test_foreign_clips_stand_where_they_stood_at_five_times(tmp_path: Path, rate: int, seed: int) -> None:
    path = random_file(tmp_path, np.random.default_rng(seed), EVEN, "LINEAR", rate)
    document = Editable(path)
    back = import_gltf(path, None, ALONE)
    assert fps_of(back) == rate
    for seconds in np.linspace(0, (LAST - 1) / rate, 5):
        shown = file_points(document, seconds * rate, rate)
        came = model_points(back.data, back.dialect, seconds * rate)
        away = cKDTree(shown).query(came)[0].max()
        assert away < 2e-3 * max(1.0, float(np.abs(shown).max()))


def test_the_command_reports_the_rate(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    play_at(document, 30)
    path = document.save(tmp_path / "m.glb")
    back = run("gltf2msh", path, "-o", tmp_path / "b.msh", "--report", tmp_path / "r.json")
    assert back.returncode == 0, back.stderr
    reason = "keys have this spacing, and the clip is unchanged"
    assert f"  30 frames per second: {reason}\n" in back.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["fps"], report["fps_reason"]) == (30, reason)


def test_a_clip_beyond_every_limit_is_refused(tmp_path: Path) -> None:
    builder = Builder()
    node = builder.node(name="n", mesh=builder.mesh(SHAPE, (0, 1, 2)))
    builder.clip(node, "translation", [0, 1e9], np.eye(3)[:2])
    with pytest.raises(ConversionError, match=r"the clip is too long.*at most 65,535 frames"):
        import_gltf(builder.save(tmp_path), None, ALONE)


# ------------------------------------------------------------------ length


def hold(document: Editable, frames: int) -> None:
    """Repeat the last key of every channel some frames later."""
    for _, sampler in samplers(document):
        for name, more in (("input", frames / 24), ("output", 0)):
            rows = document.arrays[sampler[name]]
            sampler[name] = document.add(np.concatenate([rows, rows[-1:] + np.float32(more)]))


def cut(document: Editable, frames: int) -> None:
    for _, sampler in samplers(document):
        for name in ("input", "output"):
            sampler[name] = document.add(document.arrays[sampler[name]][:frames])


def test_a_longer_hold_is_a_longer_clip(tmp_path: Path) -> None:
    document = opened(WALKING, tmp_path)
    hold(document, 10)
    back = imported(document, tmp_path)
    assert [str(c) for c in back.changes] == [f"animation 'walker': has {FRAMES + 10} frames, had {FRAMES}"]
    old, new = parse(WALKING.source), parse(back.data)
    assert new.frame_count == FRAMES + 10
    assert new.keys.tobytes() == old.keys.tobytes()
    assert new.header.tobytes() == old.header.tobytes()


@pytest.mark.parametrize("use_sidecar", [True, False])
def test_a_hold_is_kept_and_may_be_cut(tmp_path: Path, use_sidecar: bool) -> None:
    """A model whose tail is still: its length survives an edit elsewhere, and a cut arrives."""
    document = opened(WALKING, tmp_path)
    hold(document, 10)
    held = tmp_path / "held.msh"
    held.write_bytes(imported(document, tmp_path).data)
    long = Sample("held", held, None, WALKER)
    options = ImportOptions(use_sidecar=use_sidecar)

    moved = Editable(to_gltf(long, tmp_path / "h.glb"))
    turn_last(moved, slice(3, 5))
    back = import_gltf(moved.save(tmp_path / "e.glb"), tmp_path / "h.msh-sidecar", options)
    assert parse(back.data).frame_count == FRAMES + 10

    shorter = Editable(tmp_path / "h.glb")
    cut(shorter, FRAMES + 4)
    back = import_gltf(shorter.save(tmp_path / "e.glb"), tmp_path / "h.msh-sidecar", options)
    assert parse(back.data).frame_count == FRAMES + 4
    if not use_sidecar:
        assert any("29 frames, though the file states 35" in text for text in back.warnings)
    else:
        assert [c.what for c in back.changes] == [f"has {FRAMES + 4} frames, had {FRAMES + 10}"]
        assert parse(back.data).keys.tobytes() == parse(held.read_bytes()).keys.tobytes()


def test_stored_keys_do_not_show_the_hold(tmp_path: Path) -> None:
    """``--keys`` writes no key at the end of a hold: the file's extras state the length."""
    document = opened(WALKING, tmp_path)
    hold(document, 10)
    held = tmp_path / "held.msh"
    held.write_bytes(imported(document, tmp_path).data)
    path = to_gltf(Sample("held", held, None, WALKER), tmp_path / "h.glb", "--keys")
    assert import_gltf(path).unchanged
    assert parse(import_gltf(path, None, ALONE).data).frame_count == FRAMES + 10


def test_stored_keys_through_blender_are_unchanged(tmp_path: Path) -> None:
    """It interpolates rotations per component: between sparse keys that is not the arc."""
    document = opened(sample_called("retail__odd__s_rock_009"), tmp_path, "--keys")
    sparse = max(np.diff(document.arrays[s["input"]][:, 0]).max() for _, s in samplers(document))
    assert sparse > 1.5 / 24
    resample(document, 24)
    assert imported(document, tmp_path).unchanged


def test_a_key_between_stored_keys_is_seen(tmp_path: Path) -> None:
    """A clip of stored keys is compared at every frame, not only at its keys."""
    document = opened(WALKING, tmp_path, "--keys")
    sampler = next(sampler for path, sampler in samplers(document) if path == "rotation")
    times = document.arrays[sampler["input"]][:, 0]
    wide = int(np.argmax(np.diff(times)))
    middle = (times[wide] + times[wide + 1]) / 2
    assert times[wide + 1] - times[wide] > 1.5 / 24
    middle = np.float32(np.rint(middle * 24) / 24)
    sampler["input"] = document.add(np.insert(times, wide + 1, middle)[:, None])
    values = np.insert(document.arrays[sampler["output"]], wide + 1, [0.5] * 4, axis=0)
    sampler["output"] = document.add(values)
    assert imported(document, tmp_path).changes != []


def test_curve_reference_passes_through_its_keys() -> None:
    assert curve(np.array([0.0, 2.0]), np.array([[0.0], [2.0]]), "LINEAR", 1) == [1.0]


def test_frames_between_the_keys_of_a_slower_scene_are_kept_and_named(tmp_path: Path) -> None:
    document = opened(SAMPLES[1], tmp_path)
    resample(document, 12)
    back = imported(document, tmp_path)
    assert (back.kept_all, back.not_applied) == (True, [])
    assert any("has 12 keys of the clip per second" in text for text in back.warnings)


@pytest.mark.parametrize("rate", [25, 50, 60])
def test_fast_turns_and_a_lost_last_sample_are_no_edits(tmp_path: Path, rate: int) -> None:
    """Times are float32, which moves a fast node a little; Blender may lose the last sample to rounding."""
    document = opened(WALKING, tmp_path)
    values = np.float32([[0, 0, 0, 1], [0.97, 0.1, 0.2, 0.1]] * 13)[:FRAMES]
    for path, sampler in samplers(document):
        if path == "rotation":
            sampler["output"] = document.add(values / np.linalg.norm(values, axis=1)[:, None])
    (tmp_path / "fast.msh").write_bytes(imported(document, tmp_path).data)
    (tmp_path / "fast").mkdir()
    document = opened(Sample("fast", tmp_path / "fast.msh", None, WALKER), tmp_path / "fast")
    resample(document, rate)
    for _, sampler in samplers(document):
        times = document.arrays[sampler["input"]]
        sampler["input"] = document.add(np.nextafter(times, np.float32(9))[: -1 if rate > 24 * 2 else None])
        sampler["output"] = document.add(document.arrays[sampler["output"]][: -1 if rate > 24 * 2 else None])
    back = imported(document, tmp_path / "fast")
    assert (back.changes, back.not_applied) == ([], [])
