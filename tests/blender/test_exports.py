"""What options of Blender's exporters, frame rates and edits of single things do to a file: nothing is lost in silence.

Edits by the extension, and further ones by the exporter, are trials (``test_trials.py``).
"""

import itertools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf import ConversionError, ImportResult, import_gltf
from msh_gltf.converter.formats.model_parts import read_points
from msh_gltf.converter.kinds.obj import import_obj
from tests.support.blender import EXTRAS, exported
from tests.support.corpus import LIBS, Sample, sample_called
from tests.support.inside_game import make, robot_of
from tests.support.points import POINTS, cpt
from tests.support.rebuilt import parse
from tests.support.runs import convert, first_difference, require, run, to_gltf

EXAMPLES = Path(__file__).parents[2] / "examples"
WALKER = EXAMPLES / "walker.msh"
SAMPLES = [Sample("walker", WALKER, None, WALKER), sample_called("spec__system__a_bird_007")]
#: Options of a clip, and what is reported of the file; the remedy is an option below Animation.
CLIPS: dict[str, tuple[dict[str, Any], str]] = {
    "off": ({"export_animations": False}, "is missing"),
    "nla": ({"export_animation_mode": "NLA_TRACKS"}, "begins 1 frame late"),
    "scene": ({"export_animation_mode": "SCENE"}, "is exported from frame 1"),
    "scene_as_one": (
        {"export_animation_mode": "SCENE", "export_anim_scene_split_object": False},
        "is exported from frame 1",
    ),
    "range": ({"export_frame_range": True}, "is exported from frame 1"),
    "broadcast": ({"export_animation_mode": "BROADCAST"}, "several of every node"),
    "merged": ({"export_animation_mode": "ACTIVE_ACTIONS"}, ""),
    "unsampled": ({"export_force_sampling": False}, ""),
    "unoptimised": ({"export_optimize_animation_size": False}, ""),
    "with_scale": ({"export_optimize_animation_keep_anim_object": True}, ""),
}
#: Options that leave out or change a whole model, and what is reported, or why it is refused.
MODEL: dict[str, tuple[dict[str, Any], str]] = {
    "no_materials": ({"export_materials": "NONE"}, "materials"),
    "placeholder": ({"export_materials": "PLACEHOLDER"}, "materials"),
    "no_images": ({"export_image_format": "NONE"}, "pictures"),
    "jpeg": ({"export_image_format": "JPEG"}, "pictures"),
    "z_up": ({"export_yup": False}, r"\+Y Up"),
    "draco": ({"export_draco_mesh_compression_enable": True}, "Compression"),
}
ROBOT = sample_called("retail__system__R_H_002")
#: A mission with and without clips and a unit, untouched: options of the exporter, and what is done in the scene.
INSIDE = ("mission", "still", "unit")
TRIPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "modifiers": ({"export_apply": True}, {}),
    "no animation": ({"export_animations": False}, {}),
    "frame 7": ({}, {"frame": 7}),
    "single user": ({}, {"edit": "single_user"}),
    "30 fps": ({}, {"before": 30}),
    "60 fps": ({}, {"before": 60}),
}
#: Edits of an OBJ, and what is said of each.
OBJ = {
    "untouched": [],
    "alpha": ["material 'armour': alpha 100% became 50%, alpha mode OPAQUE became BLEND"],
    "other_picture": ["material 'armour': picture armour.0 became floor.0"],
    "no_picture": ["material 'armour': picture is gone"],
}
RATES = [(when, rate, end) for when in ("before", "after") for rate in (24, 25, 30, 50, 60) for end in ("", ".extras")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exports")

    def files(start: str, options: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {f"{out / start}-{name}.glb": one for name, one in options.items()}

    jobs: list[dict[str, Any]] = []
    for sample in SAMPLES:
        source = to_gltf(sample, out / f"{sample.id}.glb")
        for when, rate, end in RATES:
            made = files(sample.id, {f"{when}{rate}{end}": EXTRAS if end else {}})
            # set after the import, or before it, when the importer scales the clip
            jobs.append({"source": source, when: rate, "files": made})
        jobs.append({"source": source, "files": files(sample.id, {name: one for name, (one, _) in CLIPS.items()})})
        jobs.append({"source": source, "frame": 7, "files": files(sample.id, {"frame": {}})})
        jobs.append({"source": source, "before": 30, "edit": "turned_key", "files": files(sample.id, {"turned": {}})})
    source = to_gltf(ROBOT, out / "robot.glb", "--textures", LIBS)
    jobs.append({"source": source, "files": files("robot", {n: one | EXTRAS for n, (one, _) in MODEL.items()})})
    mission = make(out / "GAME")
    convert(mission, out / "mission.glb", clips=True)
    convert(mission, out / "still.glb")
    convert(robot_of(mission), out / "unit.glb")
    for name, (trip, (options, scene)) in itertools.product(INSIDE, TRIPS.items()):
        made = files(name, {trip: {"export_extras": True, "use_mesh_edges": True} | options})
        jobs.append({"source": out / f"{name}.glb", "files": made, **scene})
    (out / "points.cpt").write_bytes(cpt(POINTS))
    run("msh2gltf", shutil.copy(ROBOT.path, out / "points.msh"), "-o", out / "points.glb")
    made = files("points", {"False": {}, "True": {"export_extras": True}})
    jobs.append({"source": out / "points.glb", "edit": "points", "files": made})
    run("msh2gltf", EXAMPLES / "hangar.msh", "-o", out / "hangar.obj", "--game", EXAMPLES / "textures")
    for edit in OBJ:
        more = {"edit": edit} if OBJ[edit] else {}
        jobs.append({"source": out / "hangar.obj", "files": {f"{out / edit}.obj": {}}, **more})
    exported(out, jobs)
    return out


def back(folder: Path, sample: Sample, name: str) -> ImportResult:
    start = "robot" if sample is ROBOT else sample.id
    return import_gltf(folder / f"{start}-{name}.glb", sidecar=folder / f"{start}.msh-sidecar")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
@pytest.mark.parametrize(("when", "rate", "end"), RATES)
def test_untouched_at_any_frame_rate(folder: Path, sample: Sample, when: str, rate: int, end: str) -> None:
    made = back(folder, sample, f"{when}{rate}{end}")
    assert (made.changes, made.not_applied) == ([], [])
    assert first_difference(sample.source, made.data) is None
    assert made.timing is not None
    assert made.timing.fps == (rate if when == "after" else 24)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
@pytest.mark.parametrize("name", [*CLIPS, "frame"])
def test_options_of_a_clip(folder: Path, sample: Sample, name: str) -> None:
    """Nothing of the clip is lost, and what was exported badly is reported with the remedy."""
    made = back(folder, sample, name)
    assert made.changes == []
    assert first_difference(sample.source, made.data) is None
    _, reported = CLIPS.get(name, ({}, ""))
    if not reported or (name == "broadcast" and sample is SAMPLES[1]):  # of one node: nothing to broadcast to
        assert made.not_applied == []
    else:
        (one,) = made.not_applied
        assert reported in one.what
        assert one.instead.startswith("export with Animation")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
def test_a_key_at_another_rate(folder: Path, sample: Sample) -> None:
    """A key that is turned at 30 frames per second keeps the clip's length."""
    made = back(folder, sample, "turned")
    (where,) = {change.where for change in made.changes}
    assert where.startswith("animation of node ")
    assert parse(made.data).frame_count == parse(sample.source).frame_count


@pytest.mark.parametrize("name", MODEL)
def test_options_of_a_model(folder: Path, name: str) -> None:
    """What is left out is one line; what moves every vertex is refused."""
    _, where = MODEL[name]
    if name == "draco":
        data = (folder / "robot-draco.glb").read_bytes()
        require(b"KHR_draco" in data, "this bpy came without its Draco library")
    if name in ("z_up", "draco"):
        with pytest.raises(ConversionError, match=where):
            back(folder, ROBOT, name)
    else:
        made = back(folder, ROBOT, name)
        assert [fact.where for fact in made.not_applied] == [where]
        assert made.data == ROBOT.source


@pytest.mark.parametrize("trip", TRIPS)
@pytest.mark.parametrize("name", INSIDE)
def test_a_trip_of_a_mission_or_unit_reports_nothing(folder: Path, name: str, trip: str) -> None:
    made = import_gltf(folder / f"{name}-{trip}.glb", sidecar=folder / f"{name}.msh-sidecar")
    assert [str(one) for one in made.not_applied] == []
    assert made.unchanged
    no_clips = trip == "no animation" and name != "still"
    assert ("clips of its models are not compared" in str(made.warnings)) == no_clips


@pytest.mark.parametrize("extras", [False, True])
def test_edits_of_control_points_arrive(folder: Path, extras: bool) -> None:
    made = import_gltf(folder / f"points-{extras}.glb", sidecar=folder / "points.msh-sidecar")
    assert made.not_applied == []
    assert made.data == ROBOT.source
    (one,) = made.companions
    now = read_points(one.data, "x")
    assert [now.name(row) for row in range(len(now.records))] == ["CameraCenter", "Dir_1", "Свет", "Muzzle"]
    assert now.records["node"].tolist() == [2, 0, 3, 3]
    # the axes of a game's node are Blender's
    np.testing.assert_allclose(now.records["position"][0], (0, 0, 1.876), atol=1e-5)
    np.testing.assert_allclose(now.records["direction"][1], (9.698, 0, 0), atol=1e-5)
    np.testing.assert_allclose(now.records["position"][3], (1, 2, 3), atol=1e-4)
    np.testing.assert_allclose(now.records["direction"][3], (0, 0, 1), atol=1e-5)
    assert now.records[2].tobytes() == cpt(POINTS)[4 + 72 : 4 + 108]


@pytest.mark.parametrize("edit", OBJ)
def test_an_edit_of_an_obj_is_named(folder: Path, edit: str) -> None:
    made = import_obj(folder / f"{edit}.obj", folder / "hangar.msh-sidecar")
    assert made.data == (EXAMPLES / "hangar.msh").read_bytes()
    reported = [*map(str, made.changes), *(f"{one.where}: {one.what}" for one in made.not_applied)]
    assert reported == OBJ[edit]
