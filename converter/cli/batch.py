"""What ``msh2gltf`` and ``gltf2msh`` do with whole directories and archives."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..batch.console import open_log, progress_bar, show_summary, write_report
from ..batch.engine import Engine
from ..batch.export_run import export_run, found_in, run_options
from ..batch.import_run import Places, import_run
from ..batch.outcome import Run
from ..batch.workers import cores
from ..pipeline.options import ExportOptions, ImportOptions
from .common import STDOUT, console, say

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Settings:
    """Options that both directions share; see ``--help``."""

    jobs: int | None
    fail_fast: bool
    dask: str | None
    dry_run: bool
    log_file: Path | None
    report: Path | None
    force: bool
    quiet: bool
    verbose: bool

    @classmethod
    def of(cls, context: click.Context) -> Settings:
        """Return what the user gave to a command."""
        return cls(**{field.name: context.params[field.name] for field in fields(cls)})

    @property
    def engine(self) -> Engine:
        """Where the work is done."""
        return Engine(self.jobs or cores(), self.dask, self.fail_fast)


def export_many(
    sources: Sequence[Path],
    output: str | None,
    *,
    options: ExportOptions,
    include: Sequence[str],
    exclude: Sequence[str],
    list_only: bool,
    no_sidecar: bool,
    thumbnails: bool,
    settings: Settings,
) -> None:
    """``msh2gltf`` on directories, archives and several models; exits with the run's code."""
    if not list_only and (output is None or output == STDOUT):
        raise click.UsageError("several models need a directory: -o OUT_DIR")
    out = None if output is None else Path(output)
    if out is not None and out.exists() and not out.is_dir():
        raise click.UsageError(f"-o {output}: expected a directory")
    items, found = found_in(sources, out, include, exclude)
    if list_only or out is None:
        for item in items:
            say(item.id, *((str(item.size), item.target) if settings.verbose else ()))
        return
    if thumbnails:
        from ..batch.gallery import make_gallery, require_preview

        require_preview(out, settings.force)
    if settings.log_file is not None:
        open_log(settings.log_file)
    options = run_options(sources, options)
    with progress_bar("converting", len(items), settings.quiet) as progress:
        run = export_run(
            items,
            found,
            out,
            options,
            settings.engine,
            progress,
            sidecar=not no_sidecar,
            force=settings.force,
            dry_run=settings.dry_run,
        )
    if thumbnails and not settings.dry_run and not run.interrupted:
        make_gallery(run, out, settings.engine, partial(progress_bar, quiet=settings.quiet))
    finish(run, settings, f"{out}/manifest.json says what came from where")


def import_many(
    source: Path,
    output: str | None,
    *,
    game: Path | None,
    in_place: bool,
    add: bool,
    require_all: bool,
    options: ImportOptions,
    settings: Settings,
) -> None:
    """``gltf2msh`` on a directory; exits with the run's code."""
    if game is None:
        raise click.UsageError("a directory of glTF needs the game: --game GAME_DIR")
    if in_place == (output is not None):
        raise click.UsageError("give a new game directory with -o NEW_GAME_DIR, or --in-place")
    if output == STDOUT:
        raise click.UsageError("-o -: expected a directory")
    if settings.log_file is not None:
        open_log(settings.log_file)
    places = Places(source, game, None if output is None else Path(output))
    run = import_run(
        places,
        options,
        settings.engine,
        partial(progress_bar, quiet=settings.quiet),
        add=add,
        require_all=require_all,
        force=settings.force,
        dry_run=settings.dry_run,
    )
    changed = sum(outcome.status in ("changed", "added") for outcome in run.outcomes)
    painted = sum(outcome.status == "changed" for outcome in run.textures)
    what = f"{changed} models" + (f" and {painted} textures" if painted else "")
    where = f"{game} (what changed has a .bak)" if output is None else output
    finish(run, settings, f"{what} went into {where}")


def finish(run: Run, settings: Settings, closing: str) -> None:
    """Report, summary and exit code of a run."""
    if settings.report is not None:
        write_report(run, settings.report)
    for outcome in run.everything:
        for difference in outcome.not_applied:
            say(f"not applied: {outcome.id}: {difference}", error=True)
    if settings.quiet:
        for id, error in run.failures:
            say(f"{run.command}: {id}: {error}", error=True)
    else:
        show_summary(console(), run, settings.verbose)
        say("dry run: nothing was written" if settings.dry_run else closing)
    if run.exit_code:
        sys.exit(run.exit_code)
