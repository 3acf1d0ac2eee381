"""What a rule is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
#: How a file is read (core page, 7.3).
Mode = Literal["default", "strict", "tolerant"]


@dataclass(frozen=True)
class Rule:
    """One invariant of a format.

    Attributes:
        code: its stable name.
        severity: ``error``: the game stops at it, or it or a converter would read out of bounds,
            or glTF cannot hold the value; conversion refuses such a model, terrain or map.
            ``warning``: no sound file of the game is known to have it. ``note``: worth knowing,
            harmless.
        format: what kind of file or entry it is about.
        rule: what holds in a sound file, in one line.
        source: page and section that it comes from.
        why: what happens where it does not hold.
        mend: what to do about it.
        drops: what a tolerant reader can leave out to read all the rest (core page, 7.3); empty
            where the whole file cannot be read, or where nothing needs to be left out.
    """

    code: str
    severity: Severity
    format: str
    rule: str
    source: str
    why: str
    mend: str
    drops: str = ""

    def fails(self, mode: Mode) -> bool:
        """Whether a file that breaks the rule is refused (core page, 7.3).

        Args:
            mode: ``strict``: any violation is, notes apart; ``tolerant``: only what cannot be left
                out; ``default``: every error.
        """
        if mode == "strict":
            return self.severity != "note"
        return self.severity == "error" and not (mode == "tolerant" and self.drops)
