"""Import the materials of a model: the ``.wea`` that goes with it."""

from __future__ import annotations

from ...exporters.wear import write_wear
from ...importers.wear import read_wear
from ..edits.material_rows import WearEdit
from ..findings import Finding
from ..formats.sidecar import Description
from ..formats.wear import WEAR_ENDING, WEAR_TYPE, edited_wear, new_wear
from .import_result import Companion, ImportResult


def why_locked(about: Description) -> str:
    """Return why the ``.wea`` of a sidecar cannot be changed, ``""`` where it can."""
    before = about.companions.get(WEAR_ENDING, b"")
    if not before and about.materials:
        return (
            "version 0.1, which made the sidecar, did not keep the .wea (convert the model again, "
            "and repeat the edit)"
        )
    if before and _errors(before, about.source):
        return "its .wea has errors, which msh-inspect --check names"
    return ""


def import_wear(out: ImportResult, edit: WearEdit, about: Description) -> None:
    """Add to a result what a file changes of the ``.wea``.

    Args:
        out: the result; its changes, companions (or kept ones) grow.
        edit: what changes.
        about: the sidecar's description.
    """
    before = about.companions.get(WEAR_ENDING, b"")
    if not edit.names:
        if before:
            out.kept_companions.append(Companion(WEAR_ENDING, WEAR_TYPE, before, before))
        return
    wear = read_wear(before, about.source)[0] if before else new_wear([])
    data = write_wear(edited_wear(wear, edit.names))
    out.changes += edit.changes
    out.companions.append(Companion(WEAR_ENDING, WEAR_TYPE, data, before))


def _errors(data: bytes, label: str) -> list[Finding]:
    return [finding for finding in read_wear(data, label)[1] if finding.severity == "error"]
