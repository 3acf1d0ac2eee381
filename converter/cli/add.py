"""``gltf2msh MODEL --into ARCHIVE --add``: one new model of a game."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ..batch.put_libraries import plan_libraries
from ..batch.put_models import add_model, dialect_of, find_destination
from ..formats.names import decode_text, entry_name
from ..game.games import Games
from ..pipeline.import_result import unapplied
from ..storage import write_outputs
from .common import say
from .imported import import_file, report_bytes, show_result

if TYPE_CHECKING:
    from ..pipeline.import_result import ImportResult
    from ..pipeline.options import ImportOptions
    from .given import ToMsh


def add_one(given: ToMsh, options: ImportOptions) -> None:
    """Put a new model, its materials and its key into the archives of a game."""
    source, archive = given.source, given.into
    assert archive is not None
    if given.output is not None:
        raise click.UsageError("--into and -o exclude each other")
    to = find_destination(archive, entry_name(source.stem), given.tag, given.game)
    if options.dialect == "auto":
        options = replace(options, dialect=dialect_of(archive))
    result = import_file(given, replace(options, new=True))
    result.name = decode_text(to.name)
    command = f"gltf2msh {source.name} --into {archive.name} --add"
    with Games(command, "into", dry_run=given.dry_run) as games:
        games.of(archive)  # what a killed run left is completed first
        plan = plan_libraries(games, to.folders, result, like=given.like)
        add_model(plan, to, result, force=given.force, hint="--force replaces it, or give the new file another name")
        plan.put()
        result.differences.not_applied += plan.not_applied
        _show_problems(given, result)
        wrote = games.commit()
    if given.quiet:
        return
    for message in games.messages:
        say(f"warning: {message}", error=True)
    show_result(result, given.verbose)
    for message in plan.messages:
        say(f"  {message}")
    if given.dry_run:
        say("dry run: nothing was written")
    elif not wrote:
        say("  the game has it already")
    for path in wrote if not given.dry_run else ():
        say(f"  wrote {path}")
    if wrote and not given.dry_run:
        say(f"  msh-mod undo {archive.parent} takes it back")


def _show_problems(given: ToMsh, result: ImportResult) -> None:
    """Print warnings and what is not applied; exit where all was required."""
    if not given.quiet:
        for warning in result.warnings:
            say(f"warning: {given.source}: {warning}", error=True)
    for difference in result.not_applied:
        say(difference.line, error=True)
    if given.report is not None:
        write_outputs([(given.report, report_bytes(result))], given.force)
    if given.require_all and result.not_applied:
        say(f"gltf2msh: {unapplied(result.not_applied).at(file=str(given.source))}", error=True)
        sys.exit(1)
