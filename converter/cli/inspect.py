"""``msh-inspect``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from converter.cli.common import (
    FILE,
    SETTINGS,
    console,
    dialect_option,
    entry_option,
    print_json,
    version_option,
)


@click.command(
    name="msh-inspect",
    context_settings=SETTINGS,
    help="""Show what is in a model or an archive.

\b
Examples:
  msh-inspect robot.msh
  msh-inspect static.rlb                     the entries of an archive
  msh-inspect static.rlb --entry r_h_01.msh  one model of it
  msh-inspect robot.msh --json | jq .counts
  msh-inspect --diff old.msh new.msh         what differs, table by table
""",
)
@click.argument("source", metavar="FILE", type=FILE)
@click.argument("other", metavar="[FILE]", type=FILE, required=False)
@click.option("--diff", is_flag=True, help="Compare two models, row by row; exit 1 if they differ.")
@entry_option
@dialect_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@version_option
def command(
    source: Path, other: Path | None, diff: bool, entry: str | None, dialect: str, as_json: bool
) -> None:
    if diff != (other is not None):
        raise click.UsageError("--diff takes two files, everything else takes one")
    if other is not None:
        _diff(source, other, entry, as_json)
        return
    from converter import overview
    from converter.convert import ExportOptions, load
    from importers.msh import archive_kind, models_in
    from importers.nres import map_file, read_nres

    archive = read_nres(map_file(source), str(source))
    if entry is None and (kind := archive_kind(archive)) != "model":
        entries, models = overview.list_entries(archive), models_in(archive)
        if as_json:
            print_json({"kind": kind, "models": models, "entries": entries})
        else:
            overview.show_archive(console(), str(source), entries, models)
        return
    loaded = load(source, entry, ExportOptions(dialect=dialect))
    facts = overview.describe(loaded.model, loaded.decision, loaded.scene, loaded.findings)
    if as_json:
        print_json({"kind": "model", **facts})
    else:
        overview.show_model(console(), facts)


def _diff(source: Path, other: Path, entry: str | None, as_json: bool) -> None:
    from converter.diff import diff_models, lines
    from importers.msh import read_msh

    differences = diff_models(read_msh(source, entry), read_msh(other, entry))
    if as_json:
        print_json({"differences": differences})
    else:
        for line in lines(differences) or ["no differences"]:
            click.echo(line)
    if differences:
        sys.exit(1)
