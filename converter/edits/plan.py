"""The plan of an import: what of a file to keep, to rebuild and to delete."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..findings import Report
from ..scene.scene import Part
from .nodes import Identified
from .triangles import Match, TriangleList

#: Stored node, LOD, group.
Cell = tuple[int, int, int]


@dataclass(eq=False)
class PartPlan:
    """One part of the file and its part in the sidecar.

    Attributes:
        part: in the identified scene.
        slot: the stored slot it had, ``None`` for a new part.
        triangles: its triangles; not read for parts that are unchanged.
        match: how they meet the stored ones.
        stored: the stored ones.
        cell: where it is in the stored model; ``None``: in a new node.
        source: the cell that it was in, or is a copy of; ``None``: ``cell``, or it is new.
        copied: a part of the file is still where it was.
        placed: how it was placed where its object was left and its node was not.
    """

    part: Part
    slot: int | None = None
    triangles: TriangleList | None = None
    match: Match | None = None
    stored: TriangleList | None = None
    cell: Cell | None = None
    source: Cell | None = None
    copied: bool = False
    placed: str = ""

    @property
    def unchanged(self) -> bool:
        """Whether every triangle is as it was."""
        return self.match is not None and self.match.unchanged


@dataclass
class Plan:
    """What to keep and what to rebuild.

    Attributes:
        poses: nodes that need a new key run.
        names, flags, labels, parents: nodes of which that changed.
        parts: every part of the file.
        kept_parts: cells (stored node, lod, group) that the file does not show and that stay.
        deleted_parts: cells (stored node, lod, group) that are gone.
        replaced_parts: cells (stored node, lod, group) that show another stored part, and whose
            own no cell shows any more.
        deleted_nodes: stored nodes that are gone.
        materials: per material of the file the stored ones that it may be.
    """

    identified: Identified
    poses: set[int] = field(default_factory=set)
    names: set[int] = field(default_factory=set)
    flags: set[int] = field(default_factory=set)
    labels: set[int] = field(default_factory=set)
    parents: set[int] = field(default_factory=set)
    parts: list[PartPlan] = field(default_factory=list)
    kept_parts: list[Cell] = field(default_factory=list)
    deleted_parts: list[Cell] = field(default_factory=list)
    replaced_parts: list[Cell] = field(default_factory=list)
    deleted_nodes: list[int] = field(default_factory=list)
    materials: list[set[int]] = field(default_factory=list)

    @property
    def report(self) -> Report:
        """What the import says; its changes are those that the rebuild applies."""
        return self.identified.report
