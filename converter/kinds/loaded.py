"""What every loaded file or entry has, whatever its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from ..findings import Finding
from ..formats.kinds import Kind
from ..formats.names import file_stem
from ..formats.nres import Archive, bytes_as_read
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

    @property
    def file_stem(self) -> str:
        """What its glTF is called, without an ending."""
        return file_stem(self.name)


@dataclass(frozen=True, kw_only=True)
class LoadedScene(Loaded):
    """What becomes glTF: a model, a terrain, an areal map, a unit or a mission.

    Attributes:
        appearance: its materials and textures; ``None`` where nobody looked for them.
    """

    appearance: Appearance | None = None

    @property
    @abstractmethod
    def stored(self) -> memoryview | bytes:
        """The bytes of the file or entry, which the sidecar keeps."""


@dataclass(frozen=True, kw_only=True)
class LoadedContainer(LoadedScene):
    """An NRes file: a model, a terrain or an areal map.

    Attributes:
        archive: its own container.
    """

    archive: Archive

    @property
    def stored(self) -> memoryview | bytes:
        """The bytes of the file or entry, which the sidecar keeps."""
        return bytes_as_read(self.archive)
