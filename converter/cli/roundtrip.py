"""``msh-inspect --roundtrip``: proof, for the user's own files, that nothing is lost."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import ConversionError, plural
from ..findings import Mode
from ..game.console import progress_bar
from ..game.engine import Engine, cores
from ..game.export_run import found_in
from ..game.outcome import FAILED
from ..game.roundtrip import DIFFERENT, IDENTICAL, RoundTripTask, roundtrip_item
from ..game.walk import Item
from .common import EXIT_INTERRUPTED, print_json, say
from .given import ToInspect

#: The version of the JSON's form.
FORMAT = 1


def roundtrip(given: ToInspect) -> None:
    """Take models to glTF and back, and compare bytes; exits with 0 or 1.

    With ``--tolerant`` models that are broken locally too. Nothing is written but in the system's
    directory for temporary files.

    Raises:
        ConversionError: there is no model.
    """
    items, found = found_in(given.sources, None, (), (), longer=given.tolerant)
    if given.entry is not None:
        items = _called(items, given.entry, given.sources)
    silent = given.quiet or given.as_json or len(items) == 1
    mode: Mode = "tolerant" if given.tolerant else "default"
    with TemporaryDirectory(prefix="msh-gltf-") as folder, progress_bar("converting", len(items), silent) as progress:
        tasks = [RoundTripTask(item, folder, given.dialect, mode) for item in items]
        ids, sizes = [item.id for item in items], [item.size for item in items]
        engine = Engine(given.jobs or cores())
        done, interrupted = engine.gather(roundtrip_item, tasks, progress, ids=ids, sizes=sizes)
    outcomes = [*done.values()]
    counts = Counter(outcome.status for outcome in outcomes)
    if given.as_json:
        print_json(
            {
                "format": FORMAT,
                "interrupted": interrupted,
                "counts": {status: counts[status] for status in (IDENTICAL, DIFFERENT, FAILED)},
                "models": [{"id": o.id, "verdict": o.status, "detail": o.detail, **o.facts} for o in outcomes],
                "unreadable": [{"id": p.id, "reason": p.reason} for p in found.unreadable],
            }
        )
    else:
        for outcome in outcomes:
            good = outcome.status == IDENTICAL
            if not (good and given.quiet):
                message = f"{outcome.status:10}{outcome.id}"
                say(message if good else f"{message}: {outcome.detail}", error=given.quiet)
        for broken in found.unreadable:
            say(f"{'unread':10}{broken.id}: {broken.reason}", error=given.quiet)
        if not given.quiet:
            say(f"{counts[IDENTICAL]:,} of {plural(len(items), 'model')}: byte-identical")
    if interrupted:
        sys.exit(EXIT_INTERRUPTED)
    if counts[IDENTICAL] < len(items) or found.unreadable:
        sys.exit(1)


def _called(items: list[Item], entry: str, sources: Sequence[Path]) -> list[Item]:
    """The items that an entry's name or number stands for.

    Raises:
        ConversionError: none.
    """
    wanted = entry.casefold()
    chosen = [i for i in items if i.name.casefold() == wanted or str(i.index) == entry]
    if not chosen:
        names = ", ".join(item.name for item in items[:8])
        raise ConversionError(
            "has no such model",
            file=", ".join(map(str, sources)),
            value=entry,
            expected=f"one of {names}{', ...' if len(items) > 8 else ''}",
        )
    return chosen
