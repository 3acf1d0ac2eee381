"""Controllers of models: found and shown.

What comes of edits of the clips of ranges stands in ``controllers.txt``; ``python -m
tests.converter.kinds.test_controllers`` writes it again, for you to read what became different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pytest

from msh_gltf.converter.checks.companions import Facts
from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.edits.controller import numbered
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.appearance import facts_of_model
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.registry import game_of
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.companions import add_clips, spliced
from msh_gltf.converter.scene.extras import FileInfo
from msh_gltf.converter.scene.scene import Channel, Clip, ImportedScene, evaluate
from tests.support.assembly import mission, placed, registry, unit
from tests.support.controller import State, controller, walker
from tests.support.game import MESH, archive, entry, model
from tests.support.gltf_edit import Editable
from tests.support.points import CTPT, POINTS, cpt
from tests.support.recorded import Recorded, outcome
from tests.support.runs import call

#: A model of 8 nodes and a clip of 26 frames whose root moves.
ROBOT = "retail__odd__s_rock_009"
CTLD = int.from_bytes(b"CTLD", "little")
FRAMES = 9
CLIPS = Recorded(__file__, "controllers.txt")
#: What the registry says of a model whose controller has another name.
OTHER = ("EXTO", [("bases.rlb", "other.msh"), ("PARTS.rlb", "c_01.ctl")])


@pytest.fixture
def game(tmp_path: Path) -> Path:
    return make_game(tmp_path)


def make_game(folder: Path) -> Path:
    """A game with a robot, whose controller is called as it is, and one whose controller is not."""
    root = folder / "game"
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


def _both(edited: Editable, *animations: int) -> None:
    for number in animations:
        _turned(edited, number, 4)


def _called_otherwise(edited: Editable) -> None:
    """As far off as six digits are in a long clip."""
    edited.json["animations"][1]["name"] = "5.332-20.5"
    edited.json["scenes"][0]["extras"]["msh"]["range_clips"] = "5.332-20.5"


class Case(NamedTuple):
    """An edit of the animations of a model: of its whole clip, and of the range that its controller plays."""

    edit: Callable[[Editable], object]
    export: tuple[str | int, ...] = ()
    made: bytes = walker(FRAMES, node=3)


_THIRDS = [State((5 + 1 / 3, 6), True), State((6, 20 + 1 / 3)), State((20 + 1 / 3, 20.5), True)]
CASES = {
    "nothing": Case(lambda edited: None),
    "nothing, of keys": Case(lambda edited: None, ("--keys",)),
    "a name": Case(_renamed),
    "another rate": Case(_at_thirty),
    "no extras": Case(_without_extras),
    "numbered": Case(lambda edited: edited.json["animations"][1].update(name="0-8.001")),
    "a key": Case(lambda edited: _turned(edited, 1, 4)),
    "a key, of subframes": Case(lambda edited: _turned(edited, 1, 4), ("--subframes", 4)),
    "the key of the whole clip": Case(lambda edited: _turned(edited, 0, 4)),
    "the key of both": Case(lambda edited: _both(edited, 0, 1)),
    "the key of both, otherwise": Case(lambda edited: _both(edited, 0, 1, 1)),
    "a key at another rate": Case(lambda edited: (_at_thirty(edited), _turned(edited, 1, 4))),
    "the last key": Case(lambda edited: _turned(edited, 1, -1)),
    "slower": Case(_twice_as_long),
    "a channel gone": Case(lambda edited: edited.json["animations"][1]["channels"].pop(0)),
    "the range gone": Case(lambda edited: edited.json["animations"].pop(1)),
    "the whole clip gone": Case(lambda edited: edited.json["animations"].pop(0)),
    "between frames": Case(_called_otherwise, made=controller(_THIRDS, free=[(0, 1), (1, 2)])),
}


def found(name: str, folder: Path) -> str:
    """What comes of an edit, with the sidecar and without: then nobody knows which of two clips was edited."""
    edit, more, made = CASES[name]
    path = folder / "m.msh"
    path.write_bytes(model(ROBOT))
    path.with_suffix(".ctl").write_bytes(made)
    assert call(msh2gltf, path, "-o", folder / "m.glb", "--clips", "states", "-q", *more) == 0
    edited = Editable(folder / "m.glb")
    ends = {edited.arrays[one["input"]][-1, 0].item() for one in edited.json["animations"][1]["samplers"]}
    shown = [f"{one['name']}" for one in edited.json["animations"]]
    edit(edited)
    edited.save(folder / "m.glb")
    results = [
        outcome(lambda options=options: import_gltf(folder / "m.glb", None, options), folder)
        for options in (ImportOptions(), ImportOptions("spec", use_sidecar=False))
    ]
    return f"{shown} to {sorted(round(end, 4) for end in ends)}; {'; alone: '.join(results)}"


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    CLIPS.require(name, found(name, tmp_path))


def test_frames_in_the_name_of_a_range_are_no_number_of_blender() -> None:
    file = ImportedScene("m", FileInfo(range_clips="0-8.125"))
    add_clips(file, [Clip("m"), Clip("0-8.125")])
    assert ([one.span for one in file.ranges], file.report.warnings) == ([(0, 8.125)], [])


#: An animation for each model and range, of all its places; an edit of one edits that model.
PLACED: dict[str, Callable[[Editable], object]] = {
    "nothing": lambda edited: None,
    "a key": lambda edited: _turned(edited, 2, 4),
    "a range gone": lambda edited: edited.json["animations"].pop(2),
}


def found_in_places(game: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """What comes of edits of the ranges of what a unit and a mission place."""
    robot = ("EXTO", [("bases.rlb", "robot.msh")])
    (game / "objects.rlb").write_bytes(registry({"robot": robot, "other": OTHER}))
    (game / "UNITS").mkdir()
    (game / "UNITS/u.dat").write_bytes(unit([("robot", 0, -1, 2), ("other", 0, 1, 0), ("other", 0, 2, 0)]))
    both = [placed(1, "UNITS\\u.dat", name="a"), placed(1, "UNITS\\u.dat", name="b")]
    (game / "data.tma").write_bytes(mission(both))
    for path in (game / "UNITS/u.dat", game / "data.tma"):
        shown = folder / f"{path.stem}.glb"
        assert call(msh2gltf, path, "-o", shown, "--clips", "states", "-q") == 0
        for name, edit in PLACED.items():
            edited = Editable(shown)
            clips = [one["name"] for one in edited.json["animations"]]
            edit(edited)
            given, sidecar = edited.save(folder / "edited.glb"), shown.with_suffix(".msh-sidecar")
            back = partial(import_gltf, given, sidecar, ImportOptions(game=str(game)))
            yield f"{path.suffix}: {name}", f"{clips}; {outcome(back, folder)}"


def test_what_comes_of_ranges_of_what_is_placed(game: Path, tmp_path: Path) -> None:
    for name, text in found_in_places(game, tmp_path):
        CLIPS.require(name, text)


def test_the_model_of_a_controller_is_found_too(game: Path) -> None:
    found = game_of(game / "parts.rlb")
    path = game / "parts.rlb"
    facts = facts_of_model(read_nres(read_file(path), ""), path, 0, found)
    robot = facts_of_model(read_nres(read_file(game / "bases.rlb"), ""), game / "bases.rlb", 1, None)
    assert robot == Facts(facts.nodes, facts.frames, 4)
    assert facts.points is None


def test_outside_a_range_a_curve_stays_on_whole_frames() -> None:
    whole = Channel(np.array([0.0, 10.0]), np.array([[0.0], [10.0]]))
    part = Channel(np.array([0.0, 1.0]), np.array([[50.0], [60.0]]))
    found = spliced(whole, part, 2, 4, 10)
    np.testing.assert_allclose(evaluate(found, [0, 1, 2, 3, 4, 5, 10]).ravel(), [0, 1, 50, 60, 60, 5, 10])
    assert found.frames.tolist() == [0, 1, 2, 3, 4, 5, 10]


if __name__ == "__main__":
    CLIPS.write_each(CASES, found)
    with TemporaryDirectory() as place:
        more = found_in_places(make_game(Path(place)), Path(place))
        CLIPS.write([*Recorded(__file__, "controllers.txt").known.items(), *more])
