"""What became of each item of a run, and of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import MACHINE, ConversionError, fault_of

if TYPE_CHECKING:
    from ..edits.new_materials import NewMaterial
    from ..findings import NotApplied
    from ..formats.library import LibraryEdit
    from ..kinds.import_result import PlacedImport
    from .walk import Skipped

#: Statuses that mean that something is not as the user asked.
FAILED = "failed"


@dataclass
class Outcome:
    """What became of one item.

    Attributes:
        id: ``path::entry``, or the path alone.
        status: ``converted``, ``unchanged``, ``kept``, ``changed``, ``added``, ``restored`` (an
            edit that was written before is undone) or ``failed``.
        detail: the error, or why it was kept.
        warnings: what the user should know.
        not_applied: differences of an edited file that are not applied.
        facts: what else a report says.
        seconds: time by stage.
        result: what the caller needs: a record, or the model's bytes. Not reported.
        library: what it changes in the game's libraries; not reported, its entries are.
        is_gone: its file is gone, so that what was written for it stays.
        new_materials: materials that the game may not have; likewise.
        placed: models and a level that a unit or mission shows and that were edited there; likewise.
        origins: the models whose glTF an entry of a library comes from; empty: itself.
    """

    id: str
    status: str
    detail: str = ""
    warnings: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    result: Any = None
    not_applied: list[NotApplied] = field(default_factory=list)
    library: list[LibraryEdit] = field(default_factory=list)
    new_materials: list[NewMaterial] = field(default_factory=list)
    placed: list[PlacedImport] = field(default_factory=list)
    is_gone: bool = False
    origins: list[str] = field(default_factory=list)

    @property
    def is_undecided(self) -> bool:
        """Whether nothing is known of what its file shows."""
        return self.is_gone or self.status == FAILED


def guarded(id: str, work: Callable[[], Outcome]) -> Outcome:
    """The outcome of some work; whatever goes wrong is this item's failure and no other's."""
    try:
        return work()
    except ConversionError as error:
        return Outcome(id, FAILED, str(error))
    except MACHINE as error:
        return Outcome(id, FAILED, str(fault_of(error)))
    except RecursionError:
        return Outcome(id, FAILED, "nested too deeply")
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        return Outcome(id, FAILED, f"internal error, please report it: {problem}")


def known_at_once(work: Callable[[], Outcome | None]) -> Outcome | None:
    """The outcome of an item that needs no work; ``None`` also where looking fails.

    The work then says why.
    """
    try:
        return work()
    except Exception:
        return None


@dataclass
class Run:
    """A whole run, in the order of its items whatever the order of work.

    Attributes:
        command: which command ran.
        outcomes: by model; those of a run that was interrupted may be fewer.
        textures: by picture that the models use, and by entry of a library that they change.
        total: how many models there were.
        skipped, unreadable: files and entries that are no items.
        notes: what the run as a whole has to say.
        interrupted: the user stopped it.
        seconds: how long it took.
    """

    command: str
    outcomes: list[Outcome] = field(default_factory=list)
    textures: list[Outcome] = field(default_factory=list)
    total: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def everything(self) -> list[Outcome]:
        """Models and textures."""
        return [*self.outcomes, *self.textures]

    @property
    def counts(self) -> dict[str, int]:
        """Number of models by status."""
        return _counts(self.outcomes)

    @property
    def texture_counts(self) -> dict[str, int]:
        """Number of textures by status."""
        return _counts(self.textures)

    @property
    def failures(self) -> list[tuple[str, str]]:
        """``(id, error)`` of everything that failed, files that cannot be read first."""
        failed = [(o.id, o.detail) for o in self.everything if o.status == FAILED]
        return [*((b.id, b.reason) for b in self.unreadable), *failed]

    @property
    def exit_code(self) -> int:
        """0 all done, 1 some failed, 130 interrupted."""
        if self.interrupted:
            return 130
        return 1 if self.failures else 0

    def report(self) -> dict[str, Any]:
        """The run as JSON data. Only ``times`` differs between equal runs."""
        stages: Counter[str] = Counter()
        for outcome in self.everything:
            stages.update(outcome.seconds)
        return {
            "format": 1,
            "command": self.command,
            "converter": __version__,
            "interrupted": self.interrupted,
            "total": self.total,
            "counts": self.counts,
            "texture_counts": self.texture_counts,
            "items": _rows(self.outcomes),
            "textures": _rows(self.textures),
            "skipped": [{"id": p.id, "reason": p.reason} for p in self.skipped],
            "unreadable": [{"id": p.id, "reason": p.reason} for p in self.unreadable],
            "notes": self.notes,
            "times": {
                "seconds": round(self.seconds, 3),
                "stages": {stage: round(value, 3) for stage, value in sorted(stages.items())},
                "items": {o.id: round(sum(o.seconds.values()), 4) for o in self.everything},
            },
        }


def _counts(outcomes: list[Outcome]) -> dict[str, int]:
    return dict(sorted(Counter(outcome.status for outcome in outcomes).items()))


def _rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [
        {
            "id": outcome.id,
            "status": outcome.status,
            "detail": outcome.detail,
            "warnings": outcome.warnings,
            "not_applied": [asdict(difference) for difference in outcome.not_applied],
            **outcome.facts,
        }
        for outcome in outcomes
    ]
