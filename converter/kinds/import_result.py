"""What comes of the import of a glTF or OBJ file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..edits.frame_rate import Timing
from ..edits.new_materials import NewMaterial
from ..errors import ConversionError, plural
from ..findings import Change, NotApplied, Report
from ..formats.controller import CONTROLLER_ENDING
from ..formats.library import LibraryEdit
from ..formats.model_parts import FOOTING_ENDING, NODE_PROPERTIES_ENDING

#: Files that name parts of a model by number: a new model without changes of them uses its origin's.
NUMBERED = (CONTROLLER_ENDING, FOOTING_ENDING, NODE_PROPERTIES_ENDING)


@dataclass(frozen=True)
class Companion:
    """A file of the model's name that changes with it.

    Attributes:
        ending: what follows the model's stem: ``.cpt``, ``.wea``, ``1.wea``.
        type_id: type of its entry in an archive.
        data: its bytes.
        before: the bytes that it replaces, empty where there was none.
        attr1: of its entry in an archive; ``None``: as it was, 0 of a new one.
        nodes: of control points made without a sidecar, how many nodes the model has: what was
            there before is not known.
    """

    ending: str
    type_id: int
    data: bytes
    before: bytes
    attr1: int | None = None
    nodes: int | None = None


@dataclass(frozen=True)
class PlacedImport:
    """A model, or a level, that a unit or mission shows and that was edited there.

    Attributes:
        result: what comes of its import.
        sha256: of the model that was shown.
        path: the game's file that it is, or is in; ``None``: not known.
        index: directory index of its entry; ``None``: the file is the level.
        raw_name: the entry's name, as its bytes.
    """

    result: ImportResult
    sha256: str
    path: Path | None = None
    index: int | None = None
    raw_name: bytes = b""


@dataclass
class ImportResult:
    """A file as the import makes it.

    Attributes:
        name: the model's file name.
        data: its bytes.
        dialect: the dialect it is written in.
        differences: what differs from the sidecar, and what else the user should know.
        report: every node and part with kept, rebuilt, new or deleted, and why.
        kept_all: nothing is applied, and the bytes are those of the source.
        rebuilt: there was no sidecar.
        wear: material names by row, of a model that was rebuilt.
        companions: files of its name that changed.
        kept_companions: those that did not, as they were: ``before`` is ``data``.
        new_materials: materials whose names the ``.wea`` did not have, or the game; of each that
            the game has not an entry is made (``kinds.new_entries``).
        timing: what the times of the clip were taken for, ``None`` without a clip.
        library: entries of the game's libraries that change, each once.
        placed: models and the level that a unit or mission shows, as they were edited there.
        source_sha256: digest of the sidecar's source; empty where there was none.
    """

    name: str
    data: bytes
    dialect: str
    differences: Report
    report: list[dict[str, str]] = field(default_factory=list)
    kept_all: bool = False
    rebuilt: bool = False
    wear: list[str] | None = None
    companions: list[Companion] = field(default_factory=list)
    kept_companions: list[Companion] = field(default_factory=list)
    timing: Timing | None = None
    new_materials: list[NewMaterial] = field(default_factory=list)
    library: list[LibraryEdit] = field(default_factory=list)
    placed: list[PlacedImport] = field(default_factory=list)
    source_sha256: str = ""

    @property
    def changes(self) -> list[Change]:
        """What differs from the sidecar and is applied."""
        return self.differences.changes

    @property
    def not_applied(self) -> list[NotApplied]:
        """What differs and is not applied."""
        return self.differences.not_applied

    @property
    def warnings(self) -> list[str]:
        """What else the user should know."""
        return self.differences.warnings

    @property
    def own_companions(self) -> list[Companion]:
        """What goes with it as a new model: what changed, and its origin's materials and control points."""
        kept = [one for one in self.kept_companions if one.ending not in NUMBERED]
        return [*self.companions, *(replace(one, before=b"") for one in kept)]

    @property
    def unchanged(self) -> bool:
        """Whether the file shows what the sidecar's model shows."""
        return self.kept_all and not self.changes and not self.not_applied

    @property
    def verdict(self) -> str:
        """What came of it, in one line."""
        if self.unchanged:
            return "unchanged, restored byte for byte"
        if self.kept_all and not self.changes:
            said = "nothing changed, restored byte for byte"
        elif self.rebuilt:
            said = f"rebuilt from the file alone, dialect {self.dialect}"
        else:
            said = plural(len(self.changes), "change")
        return said + (f", {len(self.not_applied)} not applied" if self.not_applied else "")


def unapplied(differences: Sequence[NotApplied]) -> ConversionError:
    """Return the error of ``--require-all``."""
    return ConversionError(
        f"{plural(len(differences), 'difference')} cannot be applied",
        value=differences[0].where,
        hint="nothing was written; without --require-all everything else is applied",
    )
