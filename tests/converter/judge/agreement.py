"""Random edits before two judges: the product's, and one of the tests that reads both sides by itself.

A trial is an edit, drawn from a seed, and every fourth time also an importer that ignores some kind
of edit. The judges agree where both see something that the report does not name, or neither does.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

from msh_gltf.converter.edits.poses import PoseChanges
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.judge.difference import JUDGED
from tests.converter.judge.worlds import WORLDS
from tests.converter.kinds.test_every_difference import MODELS, MODES, outcomes, sparse
from tests.support.random_edits import EDITS, NotHere
from tests.support.recorded import judged_as_stored, summary

#: One of so many trials has an importer that ignores a kind of edit.
_MUTANTS = 4
EDITS_OF = "msh_gltf.converter.edits"
UNCHANGED = f"{EDITS_OF}.model.PartPlan.unchanged"


def nothing(*_: object, **__: object) -> None:
    return None


def _rigid(world: Any) -> Any:
    """A transform as if nothing in it was scaled."""
    return np.array([1.0, 0, 0, 0]), world[:3, 3].astype(np.float32), None, (np.array([1.0, 0, 0, 0]), world[:3, 3])


def _alike(a: Any, *_: object) -> Any:
    return np.zeros(a.shape[:-1], np.bool_)


#: Importers of models that ignore an edit: what is replaced by what (a property, by its value), and such edits.
IGNORED_OF_MODELS: list[tuple[str, object, tuple[str, ...]]] = [
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("move node", "turn node")),
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("move key", "turn key")),
    ("msh_gltf.converter.kinds.import_model.compare_poses", lambda *_: PoseChanges(), ("offset animation",)),
    (UNCHANGED, True, ("move vertices", "delete triangles", "add triangles", "flip triangles")),
    (UNCHANGED, True, ("change uv", "change lightmap uv", "change colours")),
    (UNCHANGED, True, ("assign material",)),
    (f"{EDITS_OF}.triangles.normals_apart", _alike, ("change normals",)),
    (f"{EDITS_OF}.triangles.colours_apart", _alike, ("change colours",)),
    (f"{EDITS_OF}.triangles.Match.compare_materials", nothing, ("assign material",)),
    ("msh_gltf.converter.rebuild.model.renumber", nothing, ("delete node but not its children",)),
    (f"{EDITS_OF}.model._name_changes", nothing, ("rename node",)),
    (f"{EDITS_OF}.model._label_changes", nothing, ("change label",)),
    (f"{EDITS_OF}.model._node_changes", nothing, ("change flags", "reparent node", "make node a root")),
    (f"{EDITS_OF}.node_roles._report_hidden", nothing, ("hide node",)),
    (f"{EDITS_OF}.material_rows._ModelRows._add", nothing, ("assign new material",)),
    (f"{EDITS_OF}.model.compare_parts", nothing, ("delete part", "move vertices", "move part to another cell")),
    (f"{EDITS_OF}.model._missing_parts", nothing, ("delete part", "delete shown part")),
    ("msh_gltf.converter.kinds.import_model.place_parts", nothing, ("move part object", "scale part object")),
    (f"{EDITS_OF}.nodes.rigid_part", lambda _, world, __: _rigid(world), ("mirror node", "scale node")),
]


def ignored(target: str, instead: object) -> AbstractContextManager[object]:
    """Replace a function, or a property by what it says."""
    return mock.patch(target, instead if callable(instead) else property(lambda _: instead))


@dataclass(frozen=True)
class Verdict:
    """What two judges say of a trial.

    Attributes:
        trial: what was done, to repeat it.
        judged: lines of the product's judge.
        seen: what the judge of the tests sees and the rest of the report does not name.
        summary: what came of it, on a line.
    """

    trial: str
    judged: list[str]
    seen: list[str]
    summary: str

    @property
    def agrees(self) -> bool:
        """Whether both see something, or neither does."""
        return bool(self.judged) == bool(self.seen)


def model(chance: np.random.Generator, models: Callable[[], list[Path]] = lambda: MODELS) -> Verdict | None:
    """One to four edits of a model; ``None``: it has no place for them."""
    kinds = [str(one) for one in chance.choice(list(EDITS), int(chance.integers(1, 5)))]
    path = models()[int(chance.integers(len(models())))]
    seed, mode = int(chance.integers(2**32)), MODES[int(chance.integers(len(MODES)))]
    trial = f"{path.stem} {kinds} {seed} {mode}"
    try:
        if chance.integers(_MUTANTS):
            seen, judged, said = outcomes(path, kinds, seed, mode, judged=False)
        else:
            target, instead, kinds_ignored = IGNORED_OF_MODELS[int(chance.integers(len(IGNORED_OF_MODELS)))]
            kinds = [kinds_ignored[int(chance.integers(len(kinds_ignored)))]]
            trial = f"{path.stem} {kinds} {seed} {mode}, ignored by {target}"
            with ignored(target, instead):
                seen, judged, said = outcomes(path, kinds, seed, mode, judged=False)
                if judged and not seen:  # a message has the name of the thing, and is about something else
                    seen, *_ = outcomes(path, kinds, seed, mode, judged=False, by_name=False)
    except NotHere:
        return None
    return Verdict(trial, judged, [one.what for one in seen], said)


#: Importers that ignore an edit which the reader of the tests sees, by what they are of.
IGNORED = {
    "areal map": ("areal_changes._compare", ("move corner", "raise areal", "change flag", "change class")),
    "terrain": ("terrain.LevelPlan.unchanged", ("raise vertex", "delete face", "assign material")),
    "mission": ("mission_objects._Objects._set_place", ("move object", "scale rock")),
    "unit": ("unit._Parts._set_key", ("exchange part",)),
}
#: Edits after which a file still shows what was there: what is placed is not what is drawn, a class has two names.
_STALE = ("exchange object", "exchange part", "drop material")
#: Edits that are less than the reader of the tests tells apart, and those of numbers that people type.
_FINE = ("nudge object", "nudge turn", "nudge route", "number past the end", "type rows")


def of_world(name: str) -> Callable[[np.random.Generator], Verdict | None]:
    """Return the trial of a kind of file: one or two edits, or one that is ignored."""

    def trial(chance: np.random.Generator) -> Verdict | None:
        target, kinds_ignored = IGNORED.get(name, ("", ()))
        is_mutant = bool(kinds_ignored) and not chance.integers(_MUTANTS)
        kinds = (
            list(kinds_ignored) if is_mutant else [one for one in WORLDS[name].edits if one not in (*_STALE, *_FINE)]
        )
        some = [str(one) for one in chance.choice(kinds, 1 if is_mutant else int(chance.integers(1, 3)))]
        with TemporaryDirectory() as folder, ExitStack() as stack:
            world = WORLDS[name](Path(folder))
            for one in some:
                world.edits[one](world, chance)
            before = world.shown() if kinds_ignored else {}
            if is_mutant:
                instead = True if target.endswith("unchanged") else nothing
                stack.enter_context(ignored(f"{EDITS_OF}.{target}", instead))
            try:
                with judged_as_stored() as unlike:
                    back = world.back()
            except ConversionError as error:
                return Verdict(str(some), [], [], f"refused: {error}".replace(folder, "").replace("\n", " "))
            after = world.arrived(back) if kinds_ignored else {}
            other = sorted({*map(str, before)} ^ {*map(str, after)})
        judged = [str(one) for one in back.not_applied if one.why == JUDGED]
        if not kinds_ignored:  # nothing reads it but the product
            return Verdict(str(some), judged, judged, summary(back, unlike))
        named = len(back.not_applied) > len(judged) or back.warnings
        trial = f"{some}{f' ignored by {target}' if is_mutant else ''}"
        return Verdict(trial, judged, [] if named else other[:5], summary(back, unlike))

    return trial


#: What trials are of.
TRIALS: dict[str, Callable[[np.random.Generator], Verdict | None]] = {
    "model": model,
    "sparse model": partial(model, models=lambda: sparse()[0]),
    **{name: of_world(name) for name in WORLDS},
}


def verdict(what: str, number: int) -> Verdict:
    """One trial; one without a place for its edits is drawn again."""
    chance = np.random.default_rng([sum(what.encode()), number])
    while (found := TRIALS[what](chance)) is None:
        pass
    return found
