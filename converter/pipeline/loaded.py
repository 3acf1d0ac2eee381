"""What every loaded file or entry has, whatever its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from ..findings import Finding
from ..formats.archive import Archive
from ..formats.kinds import Kind
from ..scene.appearance import Appearance


@dataclass(frozen=True, kw_only=True)
class Loaded(ABC):
    """A valid file or entry, and what was found out about it.

    Attributes:
        name: file or entry name.
        findings: errors are about what a tolerant reader leaves out of it.
    """

    kind: ClassVar[Kind]

    name: str
    findings: list[Finding] = field(default_factory=list)

    @property
    def tolerant(self) -> bool:
        """Whether something is left out."""
        return any(finding.severity == "error" for finding in self.findings)

    @property
    @abstractmethod
    def summary(self) -> str:
        """What it is, in a few figures."""


@dataclass(frozen=True, kw_only=True)
class LoadedScene(Loaded):
    """What becomes glTF: a model, a terrain or an areal map.

    Attributes:
        archive: its own container.
        appearance: its materials and textures; ``None`` where nobody looked for them.
    """

    archive: Archive
    appearance: Appearance | None = None
