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
    help="""Show what is in a model, a terrain, an areal map or an archive.

\b
Examples:
  msh-inspect robot.msh
  msh-inspect static.rlb                     the entries of an archive
  msh-inspect static.rlb --entry r_h_01.msh  one model of it
  msh-inspect robot.msh --json | jq .counts
  msh-inspect DATA/MAPS/Tut_1/Land.map       a terrain (Land.msh) or an areal map
  msh-inspect Textures.lib --entry WALL.0    a texture
  msh-inspect BuildDat.lst                   which buildings a category has
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
    from converter.convert import ExportOptions, load_from
    from converter.convert_texture import texture_at
    from importers.msh import archive_kind, find_model, kind_at, models_in
    from importers.nres import is_nres, map_file, read_nres

    if (texture := texture_at(source, entry)) is not None:
        from converter.cli.textures import inspect_texture

        inspect_texture(*texture, as_json)
        return
    data = map_file(source)
    if not is_nres(data) and source.name.lower() == "builddat.lst":
        _build_dat(bytes(data), str(source), as_json)
        return
    archive = read_nres(data, str(source))
    if entry is None and (kind := archive_kind(archive)) == "archive":
        entries, models = overview.list_entries(archive), models_in(archive)
        if as_json:
            print_json({"kind": kind, "models": models, "entries": entries})
        else:
            overview.show_archive(console(), str(source), entries, models)
        return
    index = find_model(archive, entry)
    kind = kind_at(archive, index)
    if kind != "model":
        from converter.convert_map import load_map

        plain = ExportOptions(dressed=False)
        facts = overview.describe_map(load_map(archive, source, index, kind, plain))
    else:
        loaded = load_from(archive, source, index, ExportOptions(dialect=dialect, dressed=False))
        facts = overview.describe(loaded.model, loaded.decision, loaded.scene, loaded.findings)
        facts = {"kind": "model", **facts}
    if as_json:
        print_json(facts)
    elif kind == "model":
        overview.show_model(console(), facts)
    else:
        overview.show_map(console(), facts)


def _build_dat(data: bytes, label: str, as_json: bool) -> None:
    """The categories of ``BuildDat.lst``."""
    from converter.build_dat import CATEGORIES
    from importers.build_dat import read_build_dat

    found, findings = read_build_dat(data, label)
    if as_json:
        rows = [finding.facts() for finding in findings]
        print_json({"kind": "BuildDat.lst", "categories": found.categories, "findings": rows})
        return
    for name, paths in found.categories.items():
        click.echo(f"{name} ({CATEGORIES.get(name, 0):#010x}): {len(paths)}")
        for path in paths:
            click.echo(f"  {path}")
    for finding in findings:
        click.echo(f"{finding.severity}: {finding}")


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
