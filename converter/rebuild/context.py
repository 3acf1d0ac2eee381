"""Hold what goes into one rebuild of a model, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..edits.plan import Plan
from ..findings import Report
from ..formats.model import MshModel
from ..scene.dialect import Dialect
from ..scene.scene import Scene

#: Node of the file, LOD, group.
Cell = tuple[int, int, int]


@dataclass(frozen=True)
class RebuildOptions:
    """How to rebuild; see ``gltf2msh --help``."""

    reduce: bool = True


@dataclass
class Rebuilt:
    """A rebuilt model, and how it came about.

    Attributes:
        model: the model.
        statuses: rows of (what, name, status, reason) for people and programs.
        shifted: texture coordinates of cells that were shifted by whole turns, (T, 3, 2).
        rows: node of the file -> row in Res1.
    """

    model: MshModel
    statuses: list[dict[str, str]] = field(default_factory=list)
    shifted: dict[Cell, NDArray[np.int16]] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Rebuild:
    """One rebuild.

    Attributes:
        plan: what changed.
        stored: the stored model's scene, ``None`` for a new model.
        dialect: of the model that is made.
        options: how to rebuild.
        out: the result; its model is changed in place.
    """

    plan: Plan
    stored: Scene | None
    dialect: Dialect
    options: RebuildOptions
    out: Rebuilt

    @property
    def model(self) -> MshModel:
        """The model that is made."""
        return self.out.model

    @property
    def report(self) -> Report:
        """What the import says."""
        return self.plan.report

    @property
    def scene(self) -> Scene:
        """The scene of the file."""
        return self.plan.identified.scene
