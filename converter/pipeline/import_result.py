"""What comes of the import of a glTF or OBJ file."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..edits.compare_model import Change


@dataclass
class ImportResult:
    """A file as the import makes it.

    Attributes:
        name: the model's file name.
        data: its bytes.
        dialect: the dialect it is written in.
        changes: what differs from the sidecar; empty where nothing does.
        report: every node and part with kept, rebuilt, new or deleted, and why.
        warnings: what the user should know.
        kept_all: nothing was changed, and the bytes are those of the source.
        rebuilt: there was no sidecar.
        wear: material names by row, of a model that was rebuilt.
    """

    name: str
    data: bytes
    dialect: str
    changes: list[Change] = field(default_factory=list)
    report: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kept_all: bool = False
    rebuilt: bool = False
    wear: list[str] | None = None
