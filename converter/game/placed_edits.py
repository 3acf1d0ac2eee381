"""Write models that were edited where a unit or mission shows them into their own archives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..errors import printable
from ..files import read_file, stamp
from ..findings import NotApplied
from ..formats.names import decode_text
from ..formats.sidecar import sha256
from ..kinds.import_result import PlacedImport
from .import_item import Brought, Edited, archive_without
from .outcome import FAILED, Outcome, Run, guarded
from .replace_entry import HINT_OF_RUN, changed_since, entry_to_replace
from .walk import text_of


def add_placed_edits(run: Run, game: Path, *, brought: Brought, force: bool = False) -> None:
    """Let the models that units and missions of a run show be written as they were edited there.

    Where two of them show a model otherwise, or one otherwise than the model's own glTF, that of the
    model alone is applied, else none.

    Args:
        run: its outcomes; those of the models change, and ``not_applied`` grows.
        game: the game's directory.
        brought: what earlier runs brought into the game.
        force: replace entries that are not the ones that were converted.
    """
    groups: dict[tuple[str, bytes], list[tuple[Outcome, PlacedImport]]] = {}
    for outcome in run.outcomes:
        for one in outcome.placed:
            root = game.absolute()
            if one.path is None or not one.path.is_relative_to(root):
                _refuse(outcome, one, "its file is not in the game's directory", "give the whole game with --game")
                continue
            groups.setdefault((text_of(one.path.relative_to(root)), one.raw_name), []).append((outcome, one))
    known = {outcome.id: outcome for outcome in run.outcomes}
    for (source, raw), group in groups.items():
        id = f"{source}::{decode_text(raw)}" if raw else source
        _add(run, known.get(id), id, source, group, brought, force)


def _add(
    run: Run,
    own: Outcome | None,
    id: str,
    source: str,
    group: Sequence[tuple[Outcome, PlacedImport]],
    brought: Brought,
    force: bool,
) -> None:
    """Apply the edits of one model, or report them."""
    first = group[0][1]
    both = "make both the same, or undo one of them"
    if any(_content(one) != _content(first) for _, one in group):
        for outcome, one in group:
            other = next(o.id for o, theirs in group if _content(theirs) != _content(one))
            _refuse(outcome, one, f"{other} shows it edited in another way", both)
        return
    made = guarded(id, partial(_edited, id, source, first, brought.of(source), force))
    if own is not None and (own.status == FAILED or isinstance(own.result, Edited)):
        if own.result != made.result:
            for outcome, one in group:
                _refuse(outcome, one, "its own glTF is edited in another way", both)
        return
    made.origins = [id, *(outcome.id for outcome, _ in group)]
    made.facts["changes"] = [str(change) for change in first.result.changes]
    made.facts["items"] = [row for row in first.result.report if row["status"] != "kept"]
    for outcome, _ in group:
        if outcome.status == "unchanged":
            outcome.detail = f"it shows {printable(first.result.name)} edited, which is written to {source}"
    if own is None:
        run.outcomes.append(made)
        return
    made.warnings = own.warnings + made.warnings
    run.outcomes[run.outcomes.index(own)] = made


def _content(placed: PlacedImport) -> tuple[bytes, list[bytes]]:
    return placed.result.data, [companion.data for companion in placed.result.companions]


def _edited(id: str, source: str, placed: PlacedImport, brought: Brought, force: bool) -> Outcome:
    result, path, index = placed.result, placed.path, placed.index
    assert path is not None
    known = {placed.sha256, *brought.digests(source, decode_text(placed.raw_name), placed.raw_name.hex())}
    is_there = result.kept_all
    if index is None:
        now = brought.was(source) if brought.layers else bytes(read_file(path))
        if not is_there and now != result.data and _digest(now) not in known and not force:
            raise changed_since(source, None, HINT_OF_RUN)
    else:
        archive = archive_without(str(path), source, stamp(path), brought)
        index = entry_to_replace(
            archive,
            placed.raw_name,
            index,
            known=known,
            is_new=lambda entry: entry.payload == result.data,
            hint=HINT_OF_RUN,
            force=force,
        )
        is_there |= index is None
    if is_there and not result.companions:
        return Outcome(id, "unchanged", "the game has it already")
    data, companions = None if is_there else result.data, tuple(result.companions)
    return Outcome(
        id, "changed", result=Edited(source, index, None, data, model=placed.raw_name, companions=companions)
    )


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data)


def _refuse(outcome: Outcome, placed: PlacedImport, why: str, instead: str) -> None:
    changes = "; ".join(str(change) for change in placed.result.changes[:5])
    outcome.not_applied.append(
        NotApplied(where=f"model {printable(placed.result.name)!r}", what=changes, why=why, instead=instead)
    )
