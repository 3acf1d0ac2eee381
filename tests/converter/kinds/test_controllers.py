"""Controllers of models: found, shown, inspected, compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.checks.companions import Facts
from msh_gltf.converter.cli import gltf2msh, msh2gltf, msh_inspect
from msh_gltf.converter.edits.controller import numbered
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.appearance import facts_of_model
from msh_gltf.converter.kinds.registry import game_of
from msh_gltf.converter.scene.companions import add_clips, spliced
from msh_gltf.converter.scene.extras import FileInfo
from msh_gltf.converter.scene.scene import Channel, Clip, ImportedScene, evaluate
from tests.support.assembly import mission, placed, registry, unit
from tests.support.controller import State, controller, walker
from tests.support.game import MESH, archive, entry, model
from tests.support.gltf_edit import Editable
from tests.support.points import CTPT, POINTS, cpt
from tests.support.runs import call

#: A model of 8 nodes and a clip of 26 frames whose root moves.
ROBOT = "retail__odd__s_rock_009"
CTLD = int.from_bytes(b"CTLD", "little")
FRAMES = 9
#: What the registry says of a model whose controller has another name.
OTHER = ("EXTO", [("bases.rlb", "other.msh"), ("PARTS.rlb", "c_01.ctl")])


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A game with a robot, whose controller is called as it is, and one whose controller is not."""
    root = tmp_path / "game"
    root.mkdir()
    rows = [
        (MESH, b"robot.msh", model(ROBOT)),
        (CTLD, b"ROBOT.CTL", walker(FRAMES, node=3)),
        (CTPT, b"robot.cpt", cpt(POINTS)),
        (MESH, b"other.msh", model(ROBOT)),
    ]
    (root / "bases.rlb").write_bytes(archive([entry(*row) for row in rows]))
    (root / "parts.rlb").write_bytes(archive([entry(CTLD, b"c_01.ctl", walker(5, node=1))]))
    (root / "objects.rlb").write_bytes(registry({"other": OTHER}))
    return root


def test_a_controller_is_found_beside_its_model_or_by_the_registry(game: Path, tmp_path: Path) -> None:
    kept = {}
    for name in ("robot", "other"):
        target = tmp_path / f"{name}.glb"
        assert call(msh2gltf, game / "bases.rlb", "--entry", f"{name}.msh", "-o", target, "-q") == 0
        extras = Editable(target).json["scenes"][0]["extras"]["msh"]
        assert extras["states"].splitlines()[0] == "0;1;0-0;0-0;50;-2;2"
        assert len(extras["states"].splitlines()) == 4
        kept[name] = extras["ranges"], read_sidecar(target.with_suffix(".msh-sidecar").read_bytes(), "").description
    assert [numbered("state", n) for n in ([0, 1, 3, 0], [4, 5], [5])] == ["states 0-1, 3", "states 4-5", "state 5"]
    assert kept["robot"][0].startswith("0-8;")
    assert kept["robot"][0].endswith(";5")
    assert kept["robot"][1].companions[".ctl"] == walker(FRAMES, node=3)
    assert kept["other"][0].startswith("0-4;")
    assert kept["other"][1].companions["PARTS.rlb::c_01.ctl"] == walker(5, node=1)


def _turned(edited: Editable, animation: int, key: int) -> None:
    """Turn a node at a key of an animation."""
    one = edited.json["animations"][animation]
    [first, *_] = [c for c in one["channels"] if c["target"]["path"] == "translation"]
    edited.arrays[one["samplers"][first["sampler"]]["output"]][key] += 1


def _twice_as_long(edited: Editable) -> None:
    for number in {sampler["input"] for sampler in edited.json["animations"][1]["samplers"]}:
        edited.arrays[number] *= 2


def _at_thirty(edited: Editable) -> None:
    """Sample the range again at another rate, as an editor does; its end is cut off."""
    times = np.arange(0, (FRAMES - 1) / 24, 1 / 30, np.float32)[:, None]
    new = edited.add(times)
    for sampler in edited.json["animations"][1]["samplers"]:
        old, values = edited.arrays[sampler["input"]][:, 0], edited.arrays[sampler["output"]]
        out = np.stack([np.interp(times[:, 0], old, column) for column in values.T], axis=1)
        out /= np.linalg.norm(out, axis=1, keepdims=True) if out.shape[1] == 4 else 1
        sampler |= {"input": new, "output": edited.add(out.astype(np.float32))}


def _without_extras(edited: Editable) -> None:
    edited.json["scenes"][0].pop("extras")
    edited.json["animations"].reverse()  # as an editor that sorts by name


def _renamed(edited: Editable) -> None:
    edited.json["animations"][1]["name"] = "attack"
    edited.json["animations"].reverse()


EDITS = {
    "a name": (_renamed, "animation 'attack': moves node"),
    "nothing": (lambda edited: None, ""),
    "another rate": (_at_thirty, ""),
    "no extras": (_without_extras, ""),
    "numbered": (lambda edited: edited.json["animations"][1].update(name="0-8.001"), ""),
    "a key": (lambda edited: _turned(edited, 1, 4), "and so does the clip now"),
    "a key at another rate": (lambda edited: (_at_thirty(edited), _turned(edited, 1, 4)), "and so does the clip now"),
    "the last key": (lambda edited: _turned(edited, 1, -1), "and so does the clip now"),
    "slower": (_twice_as_long, "animation '0-8': moves node"),
    "a channel": (lambda edited: edited.json["animations"][1]["channels"].pop(0), "animation '0-8': moves node"),
    "all": (lambda edited: edited.json["animations"].pop(1), "1 animation of a range of the clip missing (0-8)"),
    "the clip": (lambda edited: edited.json["animations"].pop(0), "animation 'm': is missing"),
}


@pytest.mark.parametrize(
    ("named", "more"), [*((name, ()) for name in EDITS), ("a key", ("--subframes", 4)), ("nothing", ("--keys",))]
)
def test_clips_of_ranges_come_back_or_are_named(
    named: str, more: tuple[str | int, ...], tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    edit, line = EDITS[named]
    path = tmp_path / "m.msh"
    path.write_bytes(model(ROBOT))
    path.with_suffix(".ctl").write_bytes(walker(FRAMES, node=3))
    assert call(msh2gltf, path, "-o", tmp_path / "m.glb", "--clips", "states", "-q", *more) == 0
    edited = Editable(tmp_path / "m.glb")
    assert [one["name"] for one in edited.json["animations"]] == ["m", "0-8"]
    ends = [edited.arrays[s["input"]][[0, -1], 0].tolist() for s in edited.json["animations"][1]["samplers"]]
    assert {*map(tuple, ends)} == {(0.0, float(np.float32((FRAMES - 1) / 24)))}
    edit(edited)
    edited.save(tmp_path / "m.glb")
    assert call(gltf2msh, tmp_path / "m.glb", "-o", tmp_path / "back.msh") == 0
    said = capfd.readouterr()
    assert ((tmp_path / "back.msh").read_bytes() == path.read_bytes()) == ("now" not in line)
    assert line in said.out + said.err
    between = named == "a key at another rate"  # that key is between frames
    assert ("not applied" in said.out + said.err) == ("animation '" in line or between)
    assert ("make keys where it should be, on whole frames" in said.err) == between
    alone = call(gltf2msh, tmp_path / "m.glb", "--no-sidecar", "-o", tmp_path / "alone.msh", "--dialect", "spec")
    assert (alone, "so does the clip now" in capfd.readouterr().out) == (0, False), "nobody knows which was edited"


def test_frames_in_the_name_of_a_range_are_no_number_of_blender() -> None:
    file = ImportedScene("m", FileInfo(range_clips="0-8.125"))
    add_clips(file, [Clip("m"), Clip("0-8.125")])
    assert ([one.span for one in file.ranges], file.report.warnings) == ([(0, 8.125)], [])


def test_an_edit_arrives_of_the_clip_of_its_range_or_of_both(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    path = tmp_path / "m.msh"
    path.write_bytes(model(ROBOT))
    path.with_suffix(".ctl").write_bytes(walker(FRAMES, node=3))
    assert call(msh2gltf, path, "-o", tmp_path / "m.glb", "--clips", "states", "-q") == 0
    results = []
    for turned in ((0,), (1,), (0, 1), (0, 1, 1)):
        edited = Editable(tmp_path / "m.glb")
        for animation in turned:
            _turned(edited, animation, 4)
        edited.save(tmp_path / "edited.glb")
        (tmp_path / "edited.msh-sidecar").write_bytes((tmp_path / "m.msh-sidecar").read_bytes())
        assert call(gltf2msh, tmp_path / "edited.glb", "-o", tmp_path / "back.msh", "--force") == 0
        said = capfd.readouterr()
        named = "the clip was edited in these frames too" in said.out + said.err
        assert named == ("not applied" in said.out + said.err) == (turned == (0, 1, 1))
        results.append((tmp_path / "back.msh").read_bytes())
    assert [*{*results}] == results[:1] != [path.read_bytes()]


def test_ranges_of_what_a_unit_and_a_mission_place(game: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """An animation for each model and range, of all its places; an edit of one edits that model."""
    robot = ("EXTO", [("bases.rlb", "robot.msh")])
    (game / "objects.rlb").write_bytes(registry({"robot": robot, "other": OTHER}))
    (game / "UNITS").mkdir()
    dat, tma = game / "UNITS/u.dat", game / "data.tma"
    dat.write_bytes(unit([("robot", 0, -1, 2), ("other", 0, 1, 0), ("other", 0, 2, 0)]))
    tma.write_bytes(mission([placed(1, "UNITS\\u.dat", name="a"), placed(1, "UNITS\\u.dat", name="b")]))
    for path in (dat, tma):
        shown = tmp_path / f"{path.stem}.glb"
        assert call(msh2gltf, path, "-o", shown, "--clips", "states", "-q") == 0
        edited = Editable(shown)
        names = [one["name"] for one in edited.json["animations"]]
        assert (
            names[1:] == ["robot:0-8", "other:0-4"] == edited.json["scenes"][0]["extras"]["msh"]["range_clips"].split()
        )
        assert call(gltf2msh, shown, "-o", tmp_path / path.name, "--game", game) == 0
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
        _turned(edited, 2, 4)
        edited.save(shown)
        capfd.readouterr()
        back = tmp_path / path.stem / path.name
        back.parent.mkdir()
        assert call(gltf2msh, shown, "-o", back, "--game", game) == 0
        said = capfd.readouterr()
        assert "animation 'other:0-4' moves node" in said.err
        assert "model 'other.msh', animation of node 'Base_TM': translation changed at frame 4" in said.out
        assert {one.name for one in back.parent.iterdir()} == {path.name, "other.msh"}
    (game / "parts.rlb").unlink()
    dat.write_bytes(unit([("other", 0, -1, 0)]))
    assert call(msh2gltf, dat, "-o", tmp_path / "none.glb", "--clips", "states") == 0
    assert "no model that it places has a controller" in capfd.readouterr().err


def test_what_has_no_ranges_is_said(tmp_path: Path, game: Path, capfd: pytest.CaptureFixture) -> None:
    path = tmp_path / "m.msh"
    path.write_bytes(model(ROBOT))
    assert call(msh2gltf, "--clips", "states", path, "-o", tmp_path / "m.glb") == 0
    assert "--clips states: the model has no controller (.ctl)" in capfd.readouterr().err
    assert call(msh2gltf, "--clips", path, "-o", tmp_path / "all.glb") == 0  # an input is no value
    assert capfd.readouterr().err == ""
    for none in (controller(), walker(27)):  # the clip has 26 frames
        path.with_suffix(".ctl").write_bytes(none)
        assert call(msh2gltf, path, "-o", tmp_path / "none.glb", "--clips=states", "--force") == 0
        assert "its controller plays no range inside the clip" in capfd.readouterr().err
    thirds = [State((5 + 1 / 3, 6), True), State((6, 20 + 1 / 3)), State((20 + 1 / 3, 20.5), True)]
    path.with_suffix(".ctl").write_bytes(controller(thirds, free=[(0, 1), (1, 2)]))
    assert call(msh2gltf, path, "-o", tmp_path / "m.glb", "--clips=states", "--force") == 0
    edited = Editable(tmp_path / "m.glb")
    assert edited.json["animations"][1]["name"] == "5.33333-20.5"
    edited.json["animations"][1]["name"] = "5.332-20.5"  # as far off as six digits are in a long clip
    edited.json["scenes"][0]["extras"]["msh"]["range_clips"] = "5.332-20.5"
    edited.save(tmp_path / "m.glb")
    assert call(gltf2msh, tmp_path / "m.glb", "-o", tmp_path / "back.msh") == 0
    said = capfd.readouterr()
    assert (tmp_path / "back.msh").read_bytes() == path.read_bytes()
    assert "not applied" not in said.out + said.err
    assert call(msh2gltf, game, "-o", tmp_path / "out", "--clips", "states", "--include", "bases*", "-q") == 0
    names = [one["name"] for one in Editable(tmp_path / "out/bases.rlb/robot.glb").json["animations"]]
    assert names == ["robot", "0-8"]


def test_the_model_of_a_controller_is_found_too(game: Path) -> None:
    found = game_of(game / "parts.rlb")
    path = game / "parts.rlb"
    facts = facts_of_model(read_nres(read_file(path), ""), path, 0, found)
    robot = facts_of_model(read_nres(read_file(game / "bases.rlb"), ""), game / "bases.rlb", 1, None)
    assert robot == Facts(facts.nodes, facts.frames, 4)
    assert facts.points is None


def test_inspection_lists_ranges_not_states_alone(game: Path, capsys: pytest.CaptureFixture) -> None:
    assert call(msh_inspect, game / "bases.rlb", "--entry", "robot.ctl") == 0
    said = capsys.readouterr().out
    assert "ROBOT.CTL  controller: 4 states, 1 range, 1 channel, 2 components" in said
    assert "range     0..8 at 5 m/s  (states 0 1 2 3)" in said
    assert call(msh_inspect, game / "bases.rlb", "--entry", "robot.ctl", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert [component["label"] for component in facts["components"]] == ["Turret", ""]
    loose = game / "x.ctl"
    loose.write_bytes(walker())
    assert call(msh_inspect, loose) == 0
    assert "x.ctl  controller" in capsys.readouterr().out
    assert call(msh_inspect, game / "bases.rlb", "--entry", "robot.msh", "--json") == 0
    assert json.loads(capsys.readouterr().out)["controller"]["ranges"][0]["states"] == [0, 1, 2, 3]


def test_two_controllers_are_compared_field_by_field(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    a, b, c = tmp_path / "a.ctl", tmp_path / "b.ctl", tmp_path / "c.msh"
    a.write_bytes(walker(9))
    b.write_bytes(walker(9, node=2))
    c.write_bytes(model(ROBOT))
    assert call(msh_inspect, "--diff", a, a) == 0
    assert call(msh_inspect, "--diff", a, b) == 1
    said = capsys.readouterr().out
    assert "channels: differs (rows 0; node)\n    node: 1 became 2" in said
    assert "components: 'Turret' differs (rows 0; node)" in said
    assert "actions, group 1: differs (rows 1; arguments)" in said
    assert call(msh_inspect, "--diff", a, c) == 2
    assert "is not of the kind of the other file" in capsys.readouterr().err


def test_a_broken_controller_does_not_stop_the_export(game: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    path = tmp_path / "m.msh"
    path.write_bytes(model(ROBOT))
    path.with_suffix(".ctl").write_bytes(walker()[:-1])
    assert call(msh2gltf, path, "-o", tmp_path / "m.glb") == 0
    assert "more actions than the file has bytes for" in capfd.readouterr().err
    assert "states" not in Editable(tmp_path / "m.glb").json["scenes"][0]["extras"]["msh"]


def test_outside_a_range_a_curve_stays_on_whole_frames() -> None:
    whole = Channel(np.array([0.0, 10.0]), np.array([[0.0], [10.0]]))
    part = Channel(np.array([0.0, 1.0]), np.array([[50.0], [60.0]]))
    found = spliced(whole, part, 2, 4, 10)
    np.testing.assert_allclose(evaluate(found, [0, 1, 2, 3, 4, 5, 10]).ravel(), [0, 1, 50, 60, 60, 5, 10])
    assert found.frames.tolist() == [0, 1, 2, 3, 4, 5, 10]
