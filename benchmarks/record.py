"""What was measured: rows of a table, records of runs as JSON, and how rows changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

#: Where records go; git passes them by.
FOLDER = Path(__file__).parent / "results"
#: A row that takes so much longer than it did is marked.
SLOWER = 1.2


@dataclass(frozen=True)
class Row:
    """One job, what it is measured against, and what it should reach.

    Attributes:
        name: of the row in records.
        job: for people.
        measured: a median, in ``unit``.
        unit: ``s``, ``MB``, or empty.
        reference: what it is compared with, in the same unit.
        against: what that is.
        aim: of the ratio, or of ``measured`` where there is no reference; ``None``: no aim.
        faster: the reference should be at least ``aim`` times as slow; else the job at most.
    """

    name: str
    job: str
    measured: float
    unit: str = "s"
    reference: float | None = None
    against: str = ""
    aim: float | None = None
    faster: bool = False

    @property
    def score(self) -> float:
        """What the aim is about."""
        if self.reference is None:
            return self.measured
        return self.reference / self.measured if self.faster else self.measured / self.reference

    @property
    def met(self) -> bool | None:
        """Whether the aim is reached."""
        if self.aim is None:
            return None
        return self.score >= self.aim if self.faster else self.score <= self.aim

    def cells(self, before: float | None) -> list[str]:
        """The row as text."""
        aim = met = ratio = ""
        if self.reference is not None:
            ratio = f"{self.score:.2f} x"
        if self.aim is not None:
            sign = ">=" if self.faster else "<="
            bound = amount(self.aim, self.unit) if self.reference is None else f"{self.aim:g} x"
            aim, met = f"{sign} {bound}", "yes" if self.met else "NO"
        reference = "" if self.reference is None else amount(self.reference, self.unit)
        change = "" if before is None else f"{self.measured / before - 1:+.0%}"
        if before is not None and self.measured > SLOWER * before:
            change += " SLOWER"
        measured = amount(self.measured, self.unit)
        return [self.job, measured, reference, self.against, ratio, aim, met, change]


def amount(value: float, unit: str) -> str:
    """A figure with its unit."""
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.{int(value < 0.01)}f} ms"
    return f"{value:.0f} {unit}" if unit else f"{value:.2f}"


def table(rows: Sequence[Row], before: dict[str, float]) -> str:
    """Rows under one another, with what changed."""
    lines = [["job", "measured", "reference", "", "ratio", "aim", "met", "change"]]
    lines += [row.cells(before.get(row.name)) for row in rows]
    width = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = (0, 3, 6)
    return "\n".join(
        "  ".join(cell.ljust(width[i]) if i in left else cell.rjust(width[i]) for i, cell in enumerate(line)).rstrip()
        for line in lines
    )


def write(rows: Sequence[Row], about: dict[str, str], path: Path | None) -> Path:
    """Record a run; returns the file."""
    if path is None:
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{about['date'].replace(' ', '_').replace(':', '')}.json"
    data = {"about": about, "rows": [{**asdict(row), "score": row.score} for row in rows]}
    path.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    return path


def last(machine: str) -> dict[str, float]:
    """What each row measured when it was last recorded on this machine."""
    out: dict[str, float] = {}
    for path in sorted(FOLDER.glob("*.json")):  # names are dates
        record = json.loads(path.read_text("utf-8"))
        if record["about"]["machine"] == machine:
            out |= {row["name"]: row["measured"] for row in record["rows"]}
    return out
