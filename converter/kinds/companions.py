"""Where the files go that change with a model: beside its file, or into its archive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import ConversionError, printable
from ..files import read_file
from ..findings import NotApplied
from ..formats.control_points import misplaced, read_points
from ..formats.names import decode_text, escape
from ..formats.nres import Archive
from ..formats.nres_edits import add_entry
from ..formats.wear import WEAR_TYPE, agrees, new_wear, read_wear_names, write_wear
from .import_result import Companion, ImportResult
from .open_files import file_beside


def wear_beside(
    target: Path,
    names: Sequence[str],
    force: bool,
    *,
    hint: str = "move it away and repeat the command to get a new one",
) -> tuple[list[tuple[Path, bytes]], list[str]]:
    """The ``.wea`` to write beside a new model, if any, and what to say.

    One that is there stays if it names the same rows; another one stays unless it is forced.

    Args:
        target: the model's file.
        names: material names by row.
        force: replace what is in the way.
        hint: what the user can do about another one.
    """
    name = target.with_suffix(".wea").name
    there = file_beside(target, name)
    if there is not None and agrees(names, read_wear_names(read_file(there))):
        return [], []
    if there is not None and not force:
        return [], [f"{_stays(there.name, names)} ({hint})"]
    return [(there or target.with_name(name), write_wear(new_wear(names)))], []


def with_wear(archive: Archive, model: bytes, names: Sequence[str] | None) -> tuple[Archive, list[str]]:
    """The archive with the ``.wea`` of a new model, and what to say.

    Only where other models have theirs in it; one of that name stays.

    Args:
        archive: where the model is already.
        model: its entry's name.
        names: material names by row; ``None``: it has a WEAR of its own.
    """
    if names is None or WEAR_TYPE not in archive.type_ids:
        return archive, []
    name = model[: -len(b".msh")] + b".wea"
    found = archive.find(name)
    if found is None:
        return add_entry(archive, name, WEAR_TYPE, write_wear(new_wear(names))), []
    if agrees(names, read_wear_names(archive.entries[found].payload)):
        return archive, []
    return archive, [_stays(decode_text(name), names)]


def _stays(name: str, names: Sequence[str]) -> str:
    rows = ", ".join(map(printable, names))
    return f"{printable(name)} is there already and stays, though the model's rows are: {rows}"


def shows_same_points(companion: Companion, now: memoryview | bytes) -> bool:
    """Whether a ``.cpt`` holds the points of a file without a sidecar.

    Then it stays: it also has what glTF does not show, leftovers in names and points without a
    place.

    Args:
        companion: any.
        now: what is there in its place.
    """
    if companion.nodes is None:
        return False
    made = read_points(companion.data, "")
    try:
        stored = read_points(now, "")
    except ConversionError:
        return False
    rows = [*range(len(stored.records))]
    hidden = misplaced(stored, companion.nodes)
    shown = [row for row in rows if row not in hidden]
    a, b = made.records, stored.records[shown]
    return (
        [made.name(row) for row in range(len(a))] == [stored.name(row) for row in shown]
        and all((a[key] == b[key]).all() for key in ("opaque0", "node", "second"))
        and all(np.allclose(a[key], b[key], 1e-5, 1e-5) for key in ("position", "direction"))
    )


def companions_beside(target: Path, companions: Sequence[Companion]) -> list[tuple[Path, bytes]]:
    """The files to write beside a model: path, in the case that is there, and bytes."""
    files = []
    for one in companions:
        name = f"{target.stem}{one.ending}"
        files.append((file_beside(target, name) or target.with_name(name), one.data))
    return files


def placed_beside(target: Path, result: ImportResult) -> list[tuple[Path, bytes]]:
    """The files of models that a unit or mission shows and that were edited there, to write beside it.

    What has the name of another one is reported.

    Args:
        target: the file of the unit or mission.
        result: its import; its messages grow.
    """
    files: dict[Path, bytes] = {}
    report = result.differences
    for placed in result.placed:
        path = target.with_name(escape(placed.result.name))
        whole = [] if placed.result.kept_all else [(path, placed.result.data)]
        own = [*whole, *companions_beside(path, placed.result.companions)]
        if files.keys() & {file for file, _ in own}:
            report.not_applied.append(
                NotApplied(
                    where=f"model {printable(placed.result.name)!r}",
                    what="is edited, too",
                    why="it has the name of another one, which is written beside the file",
                    instead="run gltf2msh on the whole game",
                )
            )
            continue
        files |= own
        home = "its archive" if placed.path is None else placed.path.name
        names = ", ".join(file.name for file, _ in own)
        report.warnings.append(f"{names} of {home}: edited here, and written beside the file")
    return [*files.items()]
