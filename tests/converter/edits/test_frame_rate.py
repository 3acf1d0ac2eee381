"""Which frames the times of a clip mean: rates, spacing, samples between frames, holds.

What comes of most edits stands in ``frame_rate.txt``; ``python -m tests.converter.edits.test_frame_rate`` writes it
again, for you to read what became different.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from msh_gltf.converter.formats.model import MshModel, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.edits.test_scaled_animation import WALKER
from tests.support.corpus import Sample, sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.recorded import Recorded, judged_as_stored, outcome
from tests.support.runs import run, to_gltf

RATES_FOUND = Recorded(__file__, "frame_rate.txt")
SAMPLES = [Sample("walker", WALKER, None, WALKER), sample_called("spec__odd__B_PLANT_008")]
WALKING = SAMPLES[0]
FRAMES = 25


def parse(data: bytes) -> MshModel:
    return read_model(read_nres(data, "m"), "m")


def opened(sample: Sample, folder: Path, *options: object) -> Editable:
    return Editable(to_gltf(sample, folder / "m.glb", *options))


def imported(document: Editable, folder: Path, **options: object) -> ImportResult:
    """With the sidecar of ``m.glb``."""
    return import_gltf(document.save(folder / "e.glb"), folder / "m.msh-sidecar", ImportOptions(**options))


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


def at_24(d: Editable, rate: int) -> None:
    """Exported at another rate, through a Blender at 24 that drops the extras: neither file nor keys state the rate."""
    play_at(d, rate)
    (_, sampler), *_ = samplers(d)
    end = d.arrays[sampler["input"]][-1, 0]
    for _, sampler in samplers(d):
        times = d.arrays[sampler["input"]][:, 0]
        values = d.arrays[sampler["output"]]
        at = np.arange(int(end * 24 + 1e-4) + 1) / 24
        rows = np.stack([np.interp(at, times, column) for column in values.T], axis=1)
        sampler["input"] = d.add(at.astype(np.float32)[:, None])
        sampler["output"] = d.add(rows.astype(np.float32))
    drop_extras(d)


def every_second_frame(d: Editable) -> None:
    """A new clip with a key on every second frame is not one at 12 frames per second."""
    rng = np.random.default_rng(3)
    times = d.add((np.arange(0, 15, 2) / 24).astype(np.float32)[:, None])
    for path, sampler in samplers(d):
        values = rng.normal(size=(8, 4 if path == "rotation" else 3))
        values /= np.linalg.norm(values, axis=1)[:, None]
        sampler["input"], sampler["output"] = times, d.add(values.astype(np.float32))


def between_stored_keys(d: Editable) -> None:
    """A clip of stored keys is compared at every frame, not only at its keys."""
    sampler = next(sampler for path, sampler in samplers(d) if path == "rotation")
    times = d.arrays[sampler["input"]][:, 0]
    wide = int(np.argmax(np.diff(times)))
    middle = (times[wide] + times[wide + 1]) / 2
    assert times[wide + 1] - times[wide] > 1.5 / 24
    middle = np.float32(np.rint(middle * 24) / 24)
    sampler["input"] = d.add(np.insert(times, wide + 1, middle)[:, None])
    sampler["output"] = d.add(np.insert(d.arrays[sampler["output"]], wide + 1, [0.5] * 4, axis=0))


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


def with_its_end(d: Editable, rate: int) -> None:
    """Samples at another rate, and one at the end, less than a sample after the one before it."""
    ends = [[d.arrays[sampler[name]][-1:] for name in ("input", "output")] for _, sampler in samplers(d)]
    resample(d, rate)
    for (_, sampler), (time, value) in zip(samplers(d), ends, strict=True):
        inside = d.arrays[sampler["input"]][:, 0] < time[0, 0] - 1e-4
        for name, end in (("input", time), ("output", value)):
            sampler[name] = d.add(np.concatenate([d.arrays[sampler[name]][inside], end]))


def fast(d: Editable) -> None:
    """Half a turn from frame to frame."""
    values = np.float32([[0, 0, 0, 1], [0.97, 0.1, 0.2, 0.1]] * 13)[:FRAMES]
    for path, sampler in samplers(d):
        if path == "rotation":
            sampler["output"] = d.add(values / np.linalg.norm(values, axis=1)[:, None])


def rounded(d: Editable, rate: int) -> None:
    """Times are float32, which moves a fast node a little; Blender may lose the last sample to rounding."""
    resample(d, rate)
    for _, sampler in samplers(d):
        kept = slice(-1 if rate > 24 * 2 else None)
        sampler["input"] = d.add(np.nextafter(d.arrays[sampler["input"]], np.float32(9))[kept])
        sampler["output"] = d.add(d.arrays[sampler["output"]][kept])


class Case(NamedTuple):
    """An edit; the sample, options of the export and of the import; an edit that makes the model first."""

    edit: Callable[[Editable], object]
    options: dict[str, Any] = {}  # noqa: RUF012
    export: tuple[object, ...] = ()
    sample: Sample = WALKING
    before: Callable[[Editable], object] | None = None


CASES = {
    **{f"{rate} that nothing states": Case(lambda d, r=rate: at_24(d, r)) for rate in (30, 50, 60)},
    # nothing tells which it is: the stored clip is kept, and a line says how to have the other
    "half the speed, or half the rate": Case(lambda d: play_at(d, 12)),
    **{
        f"{sample.id}, {change.__name__} {rate}{', no extras' * bare}": Case(
            lambda d, c=change, r=rate, b=bare: (c(d, r), drop_extras(d) if b else None), sample=sample
        )
        for sample in SAMPLES
        for change in (play_at, resample)
        for rate in (25, 30, 50, 60)
        for bare in (False, True)
    },
    **{
        f"keys at {rate}, and at frame {last}": Case(
            lambda d, r=rate: with_its_end(d, r), before=lambda d, n=last + 1: cut(d, n)
        )
        for rate, last in ((25, 20), (30, 21), (50, 22), (30, 23), (25, 23))
    },
    **{f"fast turns at {rate}": Case(lambda d, r=rate: rounded(d, r), before=fast) for rate in (25, 50, 60)},
    **{
        f"a hold{what}{', alone' * alone}": Case(edit, {"use_sidecar": not alone}, export, before=lambda d: hold(d, 10))
        for what, edit, export in (
            (" and an edit", lambda d: turn_last(d, slice(3, 5)), ()),
            (", cut", lambda d: cut(d, FRAMES + 4), ()),
            (" without a key", lambda d: None, ("--keys",)),  # the file's extras state the length
        )
        for alone in (False, True)
    },
    # it interpolates rotations per component: between sparse keys that is not the arc
    "stored keys through Blender": Case(
        lambda d: resample(d, 24), {}, ("--keys",), sample_called("retail__odd__s_rock_009")
    ),
    **{
        f"the first {count} frames, {change.__name__} {rate}": Case(
            lambda d, n=count, c=change, r=rate: (cut(d, n), c(d, r))
        )
        for count, change, rate in (
            (13, play_at, 24),
            (13, play_at, 12),
            (13, resample, 48),
            (7, play_at, 12),
            (9, play_at, 30),
            (4, resample, 30),
        )
    },
    "half the speed": Case(lambda d: play_at(d, 12), {"fps": 24.0}),
    "edited, played at 30": Case(lambda d: (play_at(d, 30), turn_last(d, slice(10, 14)))),
    "edited, sampled at 30": Case(lambda d: (resample(d, 30), turn_last(d, slice(10, 14)))),
    # between samples of another rate, the stored pose is taken where nothing changed
    "edited, all keys": Case(lambda d: (resample(d, 30), turn_last(d, slice(20, 24))), {"reduce": False}),
    "every second frame": Case(every_second_frame),
    "played at 30, 60 given": Case(lambda d: play_at(d, 30), {"fps": 60.0}),
    "played at 30, alone": Case(lambda d: play_at(d, 30), {"use_sidecar": False}),
    "sampled at 30, alone": Case(lambda d: resample(d, 30), {"use_sidecar": False}),
    "sampled at 12": Case(lambda d: resample(d, 12), sample=SAMPLES[1]),
    "a longer hold": Case(lambda d: hold(d, 10)),
    "a key between stored keys": Case(between_stored_keys, export=("--keys",)),
}


def drawn(number: int) -> Case:
    """A clip that came back through programs and hands: its rate, its ends, what the file states, what was edited."""
    chance = np.random.default_rng([24, number])

    def edit(d: Editable) -> None:
        rate = float(chance.choice([7, 12, 15, 23.976, 24, 25, 29.97, 30, 48, 50, 60]))
        if chance.random() < 0.4:
            cut(d, int(chance.integers(2, FRAMES)))
        elif chance.random() < 0.3:
            hold(d, int(chance.integers(1, 12)))
        (play_at if chance.random() < 0.4 else resample)(d, rate)
        late, first = int(chance.integers(1, 9)), int(chance.integers(1, 9))
        shift, begin = chance.random() < 0.25, chance.random() < 0.25
        for number in {sampler["input"] for _, sampler in samplers(d)}:
            d.arrays[number] = d.arrays[number] + np.float32(late / rate if shift else 0)
        for _, sampler in samplers(d):
            for name in ("input", "output") if begin else ():
                sampler[name] = d.add(d.arrays[sampler[name]][min(first, len(d.arrays[sampler[name]]) - 1) :])
        if chance.random() < 0.5:
            at = int(chance.integers(FRAMES))
            turn_last(d, slice(at, at + int(chance.integers(1, 6))))
        if chance.random() < 0.3:
            drop_extras(d)
        elif chance.random() < 0.5:
            about = d.json["scenes"][0]["extras"]["msh"]
            length = int(chance.choice([10, 25, 26, 70_000]))
            about |= {"fps": float(chance.choice([12, 24, 30])), "frame_count": length}

    options: dict[str, Any] = {"use_sidecar": number % 2 == 0}
    return Case(edit, options | ({"fps": 30.0} if number % 9 == 0 else {}), (), SAMPLES[number % 5 == 4])


CASES |= {f"drawn {number}": drawn(number) for number in range(60)}


def found(name: str, folder: Path) -> str:
    case = CASES[name]
    sample = case.sample
    if case.before is not None:
        document = opened(sample, folder)
        case.before(document)
        (folder / "made.msh").write_bytes(imported(document, folder, reduce=False).data)
        sample = Sample("made", folder / "made.msh", None, WALKER)
    document = opened(sample, folder, "--force", *case.export)
    case.edit(document)
    made: list[ImportResult] = []

    def act() -> ImportResult:
        made.append(imported(document, folder, **case.options))
        return made[0]

    with judged_as_stored() as unlike:
        refused = outcome(act, folder)
    if not made:
        return refused
    text, length, timing = outcome(lambda: made[0], folder, unlike), parse(made[0].data).frame_count, made[0].timing
    return f"{text}; {length} frames" + (f" at {timing.fps:g} from {timing.start:g}: {timing.reason}" if timing else "")


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    RATES_FOUND.require(name, found(name, tmp_path))


def test_the_command_says_what_is_in_the_report(tmp_path: Path) -> None:
    """The rate; ten changes and how many there are more; rows of materials where there is no sidecar."""
    document = opened(WALKING, tmp_path)
    play_at(document, 30)
    for number in range(12):
        document.json["nodes"][number]["name"] += "x"
    path = document.save(tmp_path / "m.glb")
    back = run("gltf2msh", path, "-o", tmp_path / "b.msh", "--report", tmp_path / "r.json")
    assert back.returncode == 0, back.stderr
    reason = "keys have this spacing, and the clip is unchanged"
    assert f"  30 frames per second: {reason}\n" in back.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert f"  and {len(report['changes']) - 10} more (--verbose lists them)\n" in back.stdout
    assert (report["fps"], report["fps_reason"], "wear" in report) == (30, reason, False)
    assert (
        run("gltf2msh", path, "-o", tmp_path / "c.msh", "--no-sidecar", "--report", tmp_path / "s.json").returncode == 0
    )
    assert json.loads((tmp_path / "s.json").read_text())["wear"] == ["armour", "glass", "joint", "glow"]


if __name__ == "__main__":
    RATES_FOUND.write_each(CASES, found)
