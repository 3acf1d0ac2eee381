"""Name what an edited file changes, and what of it cannot be applied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """One difference that is applied: where (a node, part or animation) and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, kw_only=True)
class NotApplied:
    """One difference that is not applied; every field is text for the user.

    Attributes:
        where: the object, as ``node 'gun'`` or ``material 'steel'``.
        what: the difference, as ``is missing``.
        why: the reason that it cannot be applied, or was not.
        instead: what to do.
    """

    where: str
    what: str
    why: str
    instead: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.why}; {self.instead}"

    @property
    def line(self) -> str:
        """The line that commands print."""
        return f"not applied: {self}"
