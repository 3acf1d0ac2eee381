"""``gltf2msh OUT_DIR --game GAME``: a directory of glTF back into a game, and ``--watch``."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, NoReturn

import click

from ..errors import ConversionError, plural, quoted
from ..storage import walk_files
from .common import STDOUT, engine, finish, refuse_device, say

if TYPE_CHECKING:
    from ..game.outcome import Run
    from ..options import ImportOptions
    from .given import ToMsh


def put_back(given: ToMsh, options: ImportOptions) -> None:
    """Put a directory of glTF into a game, once or whenever something is saved there; exits with the run's code.

    Raises:
        click.UsageError: options that do not go together.
        ConversionError: the directory or the game is not what it should be.
    """
    from ..game.outcome import open_log

    game, output = given.game, given.output
    if game is None:
        raise click.UsageError("a directory of glTF needs the game: --game GAME_DIR")
    if given.in_place == (output is not None):
        raise click.UsageError("give a new game directory with -o NEW_GAME_DIR, or --in-place")
    if output == STDOUT:
        raise click.UsageError("-o -: expected a directory")
    if given.watch and (output is not None or given.dry_run):
        raise click.UsageError("--watch is for --in-place, without --dry-run")
    refuse_device(output or "")
    if given.log_file is not None:
        open_log(given.log_file)
    if given.watch:
        _watch(given, options)
    run, closing = _run_of(given, options)
    finish(run, given, given.report, closing)


def _run_of(given: ToMsh, options: ImportOptions, saved: set[str] | None = None) -> tuple[Run, str]:
    """Put a directory back, or what was saved there; the run, and the line that ends it."""
    from collections import Counter

    from ..formats.library import MATERIALS
    from ..game.import_run import import_run
    from ..game.outcome import progress_bar
    from ..game.write_game import Places

    game, output = given.game, given.output
    assert game is not None
    run = import_run(
        Places(given.source, game, None if output is None else Path(output)),
        options,
        engine(given if saved is None else replace(given, jobs=1)),  # a few files: no process is started
        partial(progress_bar, quiet=given.quiet or saved is not None),
        add=given.add,
        tag=given.tag,
        require_all=given.require_all,
        force=given.force,
        dry_run=given.dry_run,
        saved=saved,
    )
    changed = [outcome for outcome in run.outcomes if outcome.status in ("changed", "added")]
    painted = [outcome for outcome in run.textures if outcome.status in ("changed", "added")]
    nouns = Counter(outcome.kind for outcome in changed)
    nouns += Counter("material" if o.id.startswith(f"{MATERIALS}::") else "texture" for o in painted)
    nouns["object key"] = sum("key" in outcome.facts for outcome in changed)
    parts = [plural(count, noun) for noun, count in nouns.items() if count]
    what = f"{' and '.join(parts) or 'nothing'} went into {game if output is None else output}"
    if back := sum(outcome.status == "restored" for outcome in run.everything):
        what += f"; taken back: {plural(back, 'earlier change')}"
    undo = f"; msh-mod undo {quoted(game)} takes it back" if output is None and (parts or back) else ""
    return run, what + undo


def _watch(given: ToMsh, options: ImportOptions) -> NoReturn:
    """Put the directory back now, and each of its files whenever it is saved; only a signal ends it."""

    saves, saved = Saves(given.source), None
    while True:
        try:
            run, closing = _run_of(given, options, saved)
        except ConversionError as error:
            if saved is None:
                raise
            say(f"gltf2msh: {error}", error=True)
        else:
            if run.interrupted:
                raise KeyboardInterrupt
            _show_pass(run, given, closing)
        if saved is None and not given.quiet:
            say(f"waiting for files that are saved in {given.source}; Ctrl+C ends it")
        saved = saves.wait()


def _show_pass(run: Run, given: ToMsh, closing: str) -> None:
    """What one pass did, in few lines."""
    from ..game.outcome import write_report

    if given.report is not None:
        write_report(run, given.report)
    for outcome in run.everything:
        for text in (
            *(f"warning: {outcome.id}: {text}" for text in outcome.warnings if not given.quiet),
            *(f"not applied: {outcome.id}: {difference}" for difference in outcome.not_applied),
        ):
            say(text, error=True)
        if outcome.status in ("changed", "added", "restored") and not given.quiet:
            say(f"{outcome.status:10}{outcome.id}")
    for id, error in run.failures:
        say(f"{run.command}: {id}: {error}", error=True)
    if not given.quiet:
        say(closing)


#: Seconds between two looks at a folder.
INTERVAL = 0.25


class Saves:
    """What was saved below a folder since the last time that somebody asked."""

    def __init__(self, folder: Path) -> None:
        """Begin now: what is saved from here on is reported."""
        self._folder = folder
        self._known = self._stamps()

    def wait(self) -> set[str]:
        """Return the paths that were saved, made or removed, once no file changes any more.

        A program may write a file in several steps: it is complete when two looks see the same.
        """
        now = self._known
        while now == self._known:
            sleep(INTERVAL)
            now = self._stamps()
        before: dict[str, tuple[int, int]] = {}
        while now != before:
            sleep(INTERVAL)
            before, now = now, self._stamps()
        changed = {path for path, _ in self._known.items() ^ now.items()}
        self._known = now
        return changed

    def _stamps(self) -> dict[str, tuple[int, int]]:
        """Time and size of each file, by its path with ``/``."""
        out = {}
        for here, _, files in walk_files(self._folder):
            for name in files:
                path = here / name
                with contextlib.suppress(OSError):  # removed between the two
                    about = os.stat(path)
                    out[path.relative_to(self._folder).as_posix()] = about.st_mtime_ns, about.st_size
        return out
