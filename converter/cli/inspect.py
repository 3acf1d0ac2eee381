"""``msh-inspect``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..options import ExportOptions
from .common import SETTINGS, Command, console, print_json, say, version_option
from .given import ToInspect
from .options import FILE, given_options, options_of, read_options


@click.command(
    cls=Command,
    name="msh-inspect",
    context_settings=SETTINGS,
    help="""Show what is in a model, a terrain, an areal map or an archive, and whether it is valid.

\b
Examples:
  msh-inspect robot.msh
  msh-inspect static.rlb                     the entries of an archive
  msh-inspect static.rlb --entry r_h_01.msh  one model of it
  msh-inspect robot.msh --json | jq .counts
  msh-inspect DATA/MAPS/Tut_1/Land.map       a terrain (Land.msh) or an areal map
  msh-inspect Textures.lib --entry WALL.0    a texture
  msh-inspect bases.rlb --entry r_h_01.ctl   a controller: what plays the model's clip, and how fast
  msh-inspect BuildDat.lst                   which buildings a category has
  msh-inspect GAME/UNITS/AUTO/robot.dat      a unit: its parts as a tree, and what is missing
  msh-inspect GAME/MISSIONS/Single.01        a mission: clans, routes, objects
  msh-inspect --diff old.msh new.msh         what differs, table by table
  msh-inspect --check robot.msh              is it valid?
  msh-inspect --check GAME                   a whole game; archives and directories too
  msh-inspect --check GAME --ignore wear-id --strict
  msh-inspect --explain slot-box             what a code means (list: all of them)
  msh-inspect --uses armour GAME             what uses a material, a texture, a model, a unit
  msh-inspect --roundtrip GAME               does every model come back from glTF byte for byte?

--check exits with 1 where it finds errors, which conversion refuses; with --strict warnings too;
with --tolerant only errors that cannot be left out.
""",
)
@click.argument("sources", metavar="FILE...", nargs=-1, type=FILE)
@options_of(ToInspect)
@version_option
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    given = read_options(ToInspect, context.params)
    if given.explain is not None:
        from .checks import explain

        explain(given.explain)
        return
    if not given.sources:
        raise click.MissingParameter(ctx=context, param=context.command.params[0])
    options = given_options(context)
    if given.uses is not None:
        if given.diff or given.check or given.roundtrip or len(given.sources) != 1:
            raise click.UsageError("--uses takes a name and the game's directory")
        _uses(given.uses, given.sources[0], given.as_json)
        return
    if given.check:
        from .checks import check

        if given.diff or given.roundtrip or (given.strict and given.tolerant):
            raise click.UsageError("--check goes with one of --strict and --tolerant, not --diff or --roundtrip")
        if "dialect" in options:
            raise click.UsageError("--check decides the dialect by itself: without --dialect")
        check(given)
        return
    for name, written in options.items():
        if name in _OF_CHECK and not (given.roundtrip and name in _OF_ROUNDTRIP):
            raise click.UsageError(f"{written} goes with --check")
    if given.roundtrip:
        from .checks import roundtrip

        if given.diff:
            raise click.UsageError("--roundtrip does not go with --diff")
        roundtrip(given)
        return
    if len(given.sources) != 1 + given.diff:
        raise click.UsageError("--diff takes two files, everything else takes one")
    if given.diff:
        _diff(given)
    else:
        _inspect(given)


_OF_CHECK = {"strict", "tolerant", "ignore", "jobs", "quiet", "verbose"}
_OF_ROUNDTRIP = {"tolerant", "jobs", "quiet"}


def _inspect(given: ToInspect) -> None:
    from ..files import read_file
    from ..formats.kinds import Kind, file_kind, models_in
    from ..formats.nres import is_nres, read_nres
    from ..kinds import inspect as overview
    from ..kinds.base import LoadedContainer, list_entries
    from ..kinds.controllers import controller_facts
    from ..kinds.dispatch import load_file
    from ..kinds.inspect import assembly_facts
    from ..kinds.open_files import mission_in
    from ..kinds.texture import texture_at

    source, entry, as_json = given.sources[0], given.entry, given.as_json
    source = mission_in(source) or source
    if (facts := controller_facts(source, entry)) is not None:
        _print(facts, as_json)
        return
    if (texture := texture_at(source, entry)) is not None:
        _print(texture.describe(), as_json)
        return
    data = read_file(source)
    if entry is None and (facts := assembly_facts(source, data)) is not None:
        _print(facts, as_json)
        return
    if not is_nres(data) and source.name.lower() == "builddat.lst":
        _build_dat(bytes(data), str(source), as_json)
        return
    archive = read_nres(data, str(source)) if entry is None and is_nres(data) else None
    if archive is not None and file_kind(archive) is Kind.ARCHIVE:
        entries, models = list_entries(archive), models_in(archive)
        if as_json:
            print_json({"kind": Kind.ARCHIVE, "models": models, "entries": entries})
        else:
            overview.show_archive(console(), str(source), entries, models)
        return
    options = ExportOptions(dialect=given.dialect, find_textures=False)
    loaded = load_file(source, entry, options)
    assert isinstance(loaded, LoadedContainer)  # units and missions are above
    _print(loaded.describe(), as_json)


def _print(facts: dict[str, Any], as_json: bool) -> None:
    from ..kinds.dispatch import show

    if as_json:
        print_json(facts)
    else:
        show(console(), facts)


def _build_dat(data: bytes, label: str, as_json: bool) -> None:
    """The categories of ``BuildDat.lst``."""
    from ..formats.build_dat import CATEGORIES, read_build_dat
    from ..formats.kinds import Kind

    found, findings = read_build_dat(data, label)
    if as_json:
        rows = [finding.facts() for finding in findings]
        print_json({"kind": Kind.BUILD_DAT, "categories": found.categories, "findings": rows})
        return
    for name, paths in found.categories.items():
        say(f"{name} ({CATEGORIES.get(name, 0):#010x}): {len(paths)}")
        for path in paths:
            say(f"  {path}")
    for finding in findings:
        say(f"{finding.severity}: {finding}")


def _uses(name: str, game: Path, as_json: bool) -> None:
    """What uses a thing, indented below it."""
    from ..errors import printable
    from ..game.uses import describe_uses

    found = describe_uses(name, game)
    if as_json:
        print_json({"uses": found})
        return
    for thing in found:
        say(f"{thing['kind']} {printable(thing['name'])}")
        for user in thing["users"]:
            text = f"{'  ' * user['depth']}used by {user['kind']} {printable(user['name'])}"
            say(text + (" (see above)" if user["again"] else ""))
        if not thing["users"]:
            say("  used by nothing that is known here")


def _diff(given: ToInspect) -> None:
    from ..kinds.differences import diff_assemblies, diff_controller_files, diff_models, lines
    from ..kinds.open_files import mission_in, read_msh

    sources = [mission_in(source) or source for source in given.sources]
    differences = diff_controller_files(sources[0], sources[1], given.entry)
    if differences is None and given.entry is None:
        differences = diff_assemblies(*sources)
    if differences is None:
        differences = diff_models(*(read_msh(source, given.entry) for source in sources))
    if given.as_json:
        print_json({"differences": differences})
    else:
        for line in lines(differences) or ["no differences"]:
            say(line)
    if differences:
        sys.exit(1)
