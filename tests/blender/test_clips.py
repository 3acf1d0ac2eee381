"""Clips through real Blender: scenes at other frame rates, and options that damage a clip."""

from pathlib import Path

import pytest

from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.converter.edits.test_scaled_animation import WALKER
from tests.support.blender import blender
from tests.support.corpus import Sample, sample_called
from tests.support.runs import first_difference, to_gltf

SAMPLES = [Sample("walker", WALKER, None, WALKER), sample_called("spec__system__a_bird_007")]
RATES = (24, 25, 30, 50, 60)
#: What is reported of a file that an option of the exporter made.
DAMAGED = {
    "off": "is missing",
    "nla": "begins 1 frame late",
    "scene": "is exported from frame 1",
    "scene_as_one": "is exported from frame 1",
    "range": "is exported from frame 1",
    "broadcast": "several of every node",
}
HARMLESS = ("merged", "unsampled", "unoptimised", "with_scale", "current_frame")


@pytest.fixture(scope="module", params=SAMPLES, ids=lambda sample: sample.id)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A sample, and the folder of its files."""
    sample: Sample = request.param
    folder = tmp_path_factory.mktemp("clips")
    source = to_gltf(sample, folder / "model.glb")
    blender("clips.py", source, folder)
    return sample, folder


@pytest.mark.parametrize("extras", ["", ".extras"])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_untouched_at_any_frame_rate(exported: tuple[Sample, Path], when: str, rate: int, extras: str) -> None:
    sample, folder = exported
    back = import_gltf(folder / f"{when}{rate}{extras}.glb", folder / "model.msh-sidecar")
    assert (back.changes, back.not_applied) == ([], [])
    assert first_difference(sample.source, back.data) is None
    assert back.timing is not None
    assert back.timing.fps == (rate if when == "after" else 24)


@pytest.mark.parametrize("name", [*DAMAGED, *HARMLESS])
def test_options_of_the_exporter(exported: tuple[Sample, Path], name: str) -> None:
    """Nothing of the clip is lost, and what was exported badly is reported with the remedy."""
    sample, folder = exported
    if name == "broadcast" and sample is SAMPLES[1]:
        name = "merged"  # one animated node: nothing to broadcast to
    back = import_gltf(folder / f"{name}.glb", folder / "model.msh-sidecar")
    assert back.changes == []
    assert first_difference(sample.source, back.data) is None
    if name in HARMLESS:
        assert back.not_applied == []
    else:
        (one,) = back.not_applied
        assert DAMAGED[name] in one.what
        assert one.instead.startswith("export with Animation")


def test_an_edited_clip_at_30_keeps_its_length(exported: tuple[Sample, Path]) -> None:
    sample, folder = exported
    back = import_gltf(folder / "edited30.glb", folder / "model.msh-sidecar")
    node = (folder / "edited").read_text()
    assert {change.where for change in back.changes} == {f"animation of node '{node}'"}
    before, after = (read_model(read_nres(d, "m"), "m") for d in (sample.source, back.data))
    assert after.frame_count == before.frame_count


def test_an_action_of_scale_alone_is_reported(exported: tuple[Sample, Path]) -> None:
    sample, folder = exported
    back = import_gltf(folder / "scaled.glb", folder / "model.msh-sidecar")
    (one,) = back.not_applied
    node = (folder / "scaled").read_text()
    assert (one.where, one.what) == (f"node '{node}'", "has animated scale")
    assert first_difference(sample.source, back.data) is None
