"""Import the materials of a model or terrain: the ``.wea`` files that go with it."""

from __future__ import annotations

from collections.abc import Mapping

from ...exporters.wear import write_wear
from ...importers.wear import read_wear
from ..edits.material_rows import WearEdit
from ..edits.terrain_materials import TerrainWearEdit
from ..findings import Finding
from ..formats.sidecar import Description
from ..formats.wear import LEVEL_ENDINGS, WEAR_ENDING, WEAR_TYPE, edited_wear, new_wear
from .import_result import Companion, ImportResult


def why_locked(about: Description, ending: str = WEAR_ENDING) -> str:
    """Return why the ``.wea`` of a sidecar cannot be changed, ``""`` where it can.

    Args:
        about: the sidecar's description.
        ending: of the file's name.
    """
    before = about.companions.get(ending, b"")
    if not before and about.materials:
        return (
            "version 0.1, which made the sidecar, did not keep the .wea (convert the model again, and repeat the edit)"
        )
    if before and _errors(before, about.source):
        return "its .wea has errors, which msh-inspect --check names"
    return ""


def why_level_locked(about: Description) -> str:
    """Return why ``Land1.wea`` and ``Land2.wea`` cannot be changed, ``""`` where they can."""
    first, second = LEVEL_ENDINGS
    if first not in about.companions and not about.materials:
        return "no Land1.wea lies beside the terrain, and the file does not name all its rows"
    return why_locked(about, first) or (why_locked(about, second) if second in about.companions else "")


def import_wear(out: ImportResult, edit: WearEdit, about: Description) -> None:
    """Add to a result what a file changes of the ``.wea``.

    Args:
        out: the result; its changes, companions (or kept ones) grow.
        edit: what changes.
        about: the sidecar's description.
    """
    out.differences.add(edit.report)
    _write(out, about, WEAR_ENDING, edit.names)


def import_level_wears(out: ImportResult, edit: TerrainWearEdit, about: Description) -> None:
    """Add to a result what a file changes of ``Land1.wea`` and ``Land2.wea``.

    Arguments as of :func:`import_wear`. A level without ``Land2.wea`` gets none.
    """
    out.differences.add(edit.report)
    first, second = LEVEL_ENDINGS
    _write(out, about, first, edit.names)
    _write(out, about, second, edit.micro if second in about.companions else {})


def _write(out: ImportResult, about: Description, ending: str, names: Mapping[int, str]) -> None:
    """Add a ``.wea`` with other names to a result, or as it was."""
    before = about.companions.get(ending, b"")
    if not names:
        if before:
            out.kept_companions.append(Companion(ending, WEAR_TYPE, before, before))
        return
    wear = read_wear(before, about.source)[0] if before else new_wear([])
    data = write_wear(edited_wear(wear, names))
    out.companions.append(Companion(ending, WEAR_TYPE, data, before))


def _errors(data: bytes, label: str) -> list[Finding]:
    return [finding for finding in read_wear(data, label)[1] if finding.severity == "error"]
