"""Random edits before two judges: the product's, and one of the tests that reads both sides by itself.

A trial is an edit, drawn from a seed, and every fourth time also an importer that ignores some kind
of edit. The judges agree where both see something that the report does not name, or neither does.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.judge.difference import JUDGED
from tests.converter.judge import mutants
from tests.converter.judge.worlds import WORLDS
from tests.converter.kinds.test_every_difference import MODELS, MODES, outcomes, sparse
from tests.support.random_edits import EDITS, NotHere
from tests.support.recorded import judged_as_stored, summary

#: One of so many trials has an importer that ignores a kind of edit.
_MUTANTS = 4


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
            target, instead, ignored = mutants.MODELS[int(chance.integers(len(mutants.MODELS)))]
            kinds = [ignored[int(chance.integers(len(ignored)))]]
            trial = f"{path.stem} {kinds} {seed} {mode}, ignored by {target}"
            with mutants.ignored(target, instead):
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
        target, ignored = IGNORED.get(name, ("", ()))
        is_mutant = bool(ignored) and not chance.integers(_MUTANTS)
        kinds = list(ignored) if is_mutant else [one for one in WORLDS[name].edits if one not in (*_STALE, *_FINE)]
        some = [str(one) for one in chance.choice(kinds, 1 if is_mutant else int(chance.integers(1, 3)))]
        with TemporaryDirectory() as folder, ExitStack() as stack:
            world = WORLDS[name](Path(folder))
            for one in some:
                world.edits[one](world, chance)
            before = world.shown() if ignored else {}
            if is_mutant:
                instead = True if target.endswith("unchanged") else mutants.nothing
                stack.enter_context(mutants.ignored(f"{mutants.EDITS}.{target}", instead))
            try:
                with judged_as_stored() as unlike:
                    back = world.back()
            except ConversionError as error:
                return Verdict(str(some), [], [], f"refused: {error}".replace(folder, "").replace("\n", " "))
            after = world.arrived(back) if ignored else {}
            other = sorted({*map(str, before)} ^ {*map(str, after)})
        judged = [str(one) for one in back.not_applied if one.why == JUDGED]
        if not ignored:  # nothing reads it but the product
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
