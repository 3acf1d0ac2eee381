"""Edits of the clips of the ranges that a controller plays, of a model and of what is placed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.converter.edits.animation import play_at, resample
from tests.converter.edits.numbered_files import ROBOT, make_game
from tests.support.assembly import mission, placed, unit
from tests.support.controller import State, controller, walker
from tests.support.gltf_edit import Editable
from tests.support.recorded import Case, outcome
from tests.support.runs import call

FRAMES = 9


def turned(edited: Editable, animation: int, key: int) -> None:
    """Turn a node at a key of an animation."""
    one = edited.json["animations"][animation]
    [first, *_] = [c for c in one["channels"] if c["target"]["path"] == "translation"]
    edited.arrays[one["samplers"][first["sampler"]]["output"]][key] += 1


def without_extras(edited: Editable) -> None:
    edited.json["scenes"][0].pop("extras")
    edited.json["animations"].reverse()  # as an editor that sorts by name


def renamed(edited: Editable) -> None:
    edited.json["animations"][1]["name"] = "attack"
    edited.json["animations"].reverse()


def both(edited: Editable, *animations: int) -> None:
    for number in animations:
        turned(edited, number, 4)


def called_otherwise(edited: Editable) -> None:
    """As far off as six digits are in a long clip."""
    (clip,) = edited.json["animations"][1:]
    assert clip["name"] == "5.33333-20.5"
    assert {round(edited.arrays[one["input"]][-1, 0].item(), 4) for one in clip["samplers"]} == {0.6319}
    edited.json["animations"][1]["name"] = "5.332-20.5"
    edited.json["scenes"][0]["extras"]["msh"]["range_clips"] = "5.332-20.5"


#: Frames of states that are between those of the clip.
THIRDS = controller(
    [State((5 + 1 / 3, 6), True), State((6, 20 + 1 / 3)), State((20 + 1 / 3, 20.5), True)], free=[(0, 1), (1, 2)]
)
#: Of the whole clip, which is the first animation, and of the range that the controller plays.
EDITS: dict[str, Callable[[Editable], object]] = {
    "nothing": lambda edited: None,
    "a name": renamed,
    "another rate": lambda edited: resample(edited, 30, 1),
    "no extras": without_extras,
    "numbered": lambda edited: edited.json["animations"][1].update(name="0-8.001"),
    "a key": lambda edited: turned(edited, 1, 4),
    "the key of the whole clip": lambda edited: turned(edited, 0, 4),
    "the key of both": lambda edited: both(edited, 0, 1),
    "the key of both, otherwise": lambda edited: both(edited, 0, 1, 1),
    "a key at another rate": lambda edited: (resample(edited, 30, 1), turned(edited, 1, 4)),
    "the last key": lambda edited: turned(edited, 1, -1),
    "slower": lambda edited: play_at(edited, 12, 1),
    "a channel gone": lambda edited: edited.json["animations"][1]["channels"].pop(0),
    "the range gone": lambda edited: edited.json["animations"].pop(1),
    "the whole clip gone": lambda edited: edited.json["animations"].pop(0),
}


def played(
    edit: Callable[[Editable], object], *export: object, alone: bool = False, made: bytes = walker(FRAMES, node=3)
) -> Case:
    """An edit of a model that lies beside a controller. Alone nobody knows which of two clips was edited."""
    beside = partial(lambda folder, data: (folder / "m.ctl").write_bytes(data), data=made)
    return Case(edit, ROBOT, ("--clips", "states", *export), alone, before=beside)


class Ranges(NamedTuple):
    """An edit of the ranges of what a unit or a mission places.

    There is an animation for each model and range, of all its places; an edit of one edits that model.
    """

    edit: Callable[[Editable], object]
    source: str

    def found(self, folder: Path) -> str:
        game = make_game(folder)
        (game / "u.dat").write_bytes(unit([("robot", 0, -1, 2), ("other", 0, 1, 0), ("other", 0, 2, 0)]))
        (game / "data.tma").write_bytes(mission([placed(1, "u.dat", name=name) for name in ("a", "b")]))
        assert call(msh2gltf, game / self.source, "-o", folder / "e.glb", "--clips", "states", "-q") == 0
        edited = Editable(folder / "e.glb")
        clips = [one["name"] for one in edited.json["animations"]]
        self.edit(edited)
        back = partial(import_gltf, edited.save(folder / "e.glb"), None, ImportOptions(game=str(game)))
        return f"{clips}; {outcome(back, folder)}"


CASES = {
    **{
        f"{name}{', alone' * alone}": played(edit, alone=alone)
        for name, edit in EDITS.items()
        for alone in (False, True)
    },
    "nothing, of keys": played(lambda edited: None, "--keys"),
    "a key, of subframes": played(EDITS["a key"], "--subframes", 4),
    "between frames": played(called_otherwise, made=THIRDS),
    **{
        f"{source}: {name}": Ranges(edit, source)
        for source in ("u.dat", "data.tma")
        for name, edit in {
            "nothing": lambda edited: None,
            "a key": lambda edited: turned(edited, 3, 4),
            "a range gone": lambda edited: edited.json["animations"].pop(3),
        }.items()
    },
}
