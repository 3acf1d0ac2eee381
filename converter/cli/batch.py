"""What ``msh2gltf`` and ``gltf2msh`` do with whole directories and archives."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..batch.console import open_log, progress_bar, show_summary, write_report
from ..batch.engine import Engine, cores
from ..errors import plural
from .common import STDOUT, console, refuse_device, say

if TYPE_CHECKING:
    from ..batch.outcome import Run
    from ..pipeline.options import ExportOptions, ImportOptions
    from .given import Given, ToGltf, ToMsh


def _engine(given: Given) -> Engine:
    return Engine(given.jobs or cores(), given.dask, given.fail_fast)


def export_many(given: ToGltf, options: ExportOptions) -> None:
    """``msh2gltf`` on directories, archives and several models; exits with the run's code."""
    from ..batch.export_run import export_run, found_in, run_options

    sources, output = given.sources, given.output
    if not given.list_only and (output is None or output == STDOUT):
        raise click.UsageError("several models need a directory: -o OUT_DIR")
    refuse_device(output or "")
    out = None if output is None else Path(output)
    if out is not None and out.exists() and not out.is_dir():
        raise click.UsageError(f"-o {output}: expected a directory")
    items, found = found_in(
        sources, out, given.include, given.exclude, given.only, in_game=given.game is not None, longer=given.tolerant
    )
    if given.list_only or out is None:
        for item in items:
            say(item.id, *((str(item.size), item.target) if given.verbose else ()))
        for broken in found.unreadable:
            say(f"msh2gltf: {broken.id}: {broken.reason}", error=True)
        if found.unreadable:
            sys.exit(1)
        return
    packed = any(item.index is not None for item in items)
    if packed and out.resolve() in [source.resolve() for source in sources]:
        raise click.UsageError(
            f"-o {output}: is what is converted; its archives are in the way: name a directory of its own"
        )
    if given.thumbnails:
        from ..batch.gallery import make_gallery, require_preview

        require_preview(out, given.force)
    if given.log_file is not None:
        open_log(given.log_file)
    options = run_options(sources, options)
    with progress_bar("converting", len(items), given.quiet) as progress:
        run = export_run(
            items,
            found,
            out,
            options,
            _engine(given),
            progress,
            sidecar=not given.no_sidecar,
            force=given.force,
            dry_run=given.dry_run,
        )
    if given.thumbnails and not given.dry_run and not run.interrupted:
        make_gallery(run, out, _engine(given), partial(progress_bar, quiet=given.quiet))
    finish(run, given, f"{out}/manifest.json says what came from where")


def import_many(given: ToMsh, options: ImportOptions) -> None:
    """``gltf2msh`` on a directory; exits with the run's code."""
    from ..batch.import_run import import_run
    from ..batch.write_game import Places
    from ..formats.library import MATERIALS

    game, output = given.game, given.output
    if game is None:
        raise click.UsageError("a directory of glTF needs the game: --game GAME_DIR")
    if given.in_place == (output is not None):
        raise click.UsageError("give a new game directory with -o NEW_GAME_DIR, or --in-place")
    if output == STDOUT:
        raise click.UsageError("-o -: expected a directory")
    refuse_device(output or "")
    if given.log_file is not None:
        open_log(given.log_file)
    places = Places(given.source, game, None if output is None else Path(output))
    run = import_run(
        places,
        options,
        _engine(given),
        partial(progress_bar, quiet=given.quiet),
        add=given.add,
        tag=given.tag,
        require_all=given.require_all,
        force=given.force,
        dry_run=given.dry_run,
    )
    changed = sum(outcome.status in ("changed", "added") for outcome in run.outcomes)
    painted = [outcome for outcome in run.textures if outcome.status in ("changed", "added")]
    materials = sum(outcome.id.startswith(f"{MATERIALS}::") for outcome in painted)
    what = plural(changed, "model")
    for count, noun in ((len(painted) - materials, "texture"), (materials, "material")):
        what += f" and {plural(count, noun)}" if count else ""
    keys = sum("key" in o.facts and o.status in ("changed", "added") for o in run.outcomes)
    what += f" and {plural(keys, 'object key')}" if keys else ""
    wrote = changed or painted or any(o.status == "restored" for o in run.everything)
    undo = f"; msh-mod undo {game} takes it back" if output is None and wrote else ""
    finish(run, given, f"{what} went into {game if output is None else output}{undo}")


def finish(run: Run, given: Given, closing: str) -> None:
    """Report, summary and exit code of a run."""
    if given.report is not None:
        write_report(run, given.report)
    for outcome in run.everything:
        for difference in outcome.not_applied:
            say(f"not applied: {outcome.id}: {difference}", error=True)
    if given.quiet:
        for id, error in run.failures:
            say(f"{run.command}: {id}: {error}", error=True)
    else:
        show_summary(console(), run, given.verbose)
        say("dry run: nothing was written" if given.dry_run else closing)
    if run.exit_code:
        sys.exit(run.exit_code)
