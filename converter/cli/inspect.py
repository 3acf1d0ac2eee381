"""``msh-inspect``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConversionError, in_words, plural, printable
from ..language import in_language
from ..options import ExportOptions
from .common import (
    EXIT_INTERRUPTED,
    FILE,
    SETTINGS,
    Command,
    console,
    given_options,
    options_of,
    print_json,
    read_options,
    say,
    version_option,
)
from .given import ToInspect

if TYPE_CHECKING:
    from rich.table import Table

    from ..findings import Mode, Rule
    from ..game.inspect import CheckRun
    from ..game.walk import Item
    from ..kinds.check import Checked

#: The form of the JSON that is printed.
_FORMAT = 1
#: How many files and entries are shown with one code before the rest is only counted.
_SHOWN = 5
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


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
        _explain(given.explain)
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
        if given.diff or given.roundtrip or (given.strict and given.tolerant):
            raise click.UsageError("--check goes with one of --strict and --tolerant, not --diff or --roundtrip")
        if "dialect" in options:
            raise click.UsageError("--check decides the dialect by itself: without --dialect")
        _check(given)
        return
    for name, written in options.items():
        if name in {"strict", "ignore", "verbose"} or (name in {"tolerant", "jobs", "quiet"} and not given.roundtrip):
            raise click.UsageError(f"{written} goes with --check")
    if given.roundtrip:
        if given.diff:
            raise click.UsageError("--roundtrip does not go with --diff")
        _roundtrip(given)
        return
    if len(given.sources) != 1 + given.diff:
        raise click.UsageError("--diff takes two files, everything else takes one")
    if given.diff:
        _diff(given)
    else:
        _inspect(given)


def _inspect(given: ToInspect) -> None:
    from ..files import read_file
    from ..formats.kinds import Kind, file_kind, models_in
    from ..formats.nres import is_nres, read_nres
    from ..kinds import inspect as overview
    from ..kinds.base import LoadedContainer, list_entries
    from ..kinds.dispatch import load_file
    from ..kinds.inspect import assembly_facts
    from ..kinds.library import texture_at
    from ..kinds.model import controller_facts
    from ..kinds.open_files import mission_in

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
    from ..formats.kinds import Kind
    from ..formats.terrain import CATEGORIES, read_build_dat

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
    from ..game.inspect import describe_uses

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
    from ..kinds.differences import diff_files, lines
    from ..kinds.open_files import mission_in

    first, second = (mission_in(source) or source for source in given.sources)
    differences = diff_files(first, second, given.entry)
    if given.as_json:
        print_json({"differences": differences})
    else:
        for line in lines(differences) or ["no differences"]:
            say(line)
    if differences:
        sys.exit(1)


def _rule(code: str) -> Rule:
    from ..checks import all_rules, similar_codes

    if code in all_rules():
        return all_rules()[code]
    found = similar_codes(code)
    hint = f"did you mean {', '.join(found)}?" if found else "--explain list shows them all"
    raise click.UsageError(f"unknown code {in_words(code)}: {hint}")


def _explain(code: str) -> None:
    """Print a rule, or with ``list`` one line for each."""
    from ..checks import all_rules

    if code == "list":
        for rule in all_rules().values():
            say(f"{rule.code:24}{rule.severity:9}{rule.format:23}{rule.rule}")
        return
    rule = _rule(code)
    say(f"{rule.code}  {rule.severity}, {rule.format}")
    for title, text in (
        ("rule", rule.rule),
        ("why", rule.why),
        ("fix", rule.fix),
        ("tolerant", f"leaves out {rule.drops}" if rule.drops else ""),
        ("source", rule.source),
    ):
        if text:
            say(f"{title:10}{text}")


def _check(given: ToInspect) -> None:
    """Check files, archives and directories; exits with 0 or 1."""
    from ..game.inspect import check_run, check_tasks
    from ..game.workers import Engine, cores
    from .runs import progress_bar

    ignored = {_rule(code).code for code in given.ignore}
    tasks, run = check_tasks(given.sources)
    engine = Engine(given.jobs or cores())
    silent = given.quiet or given.as_json or len(tasks) == 1
    with progress_bar("checking", len(tasks), silent) as progress:
        check_run(tasks, run, engine, progress)
    if not (run.checked or run.failures or run.interrupted):  # that is not a result
        where = ", ".join(map(str, given.sources))
        reason = f"{run.skipped[0].id}: {run.skipped[0].reason}" if run.skipped else "no files"
        hint = "name the game's folder, or a file of it"
        raise ConversionError("holds nothing that can be checked", file=where, value=reason, hint=hint)
    run.checked = _chosen(run.checked, given.entry, ignored)
    failing = [one for one in run.checked if any(f.rule.fails(given.mode) for f in one.findings)]
    if given.as_json:
        print_json(_as_json(run, given.mode, not failing))
    elif given.quiet:
        for one in failing:
            for finding in one.findings:
                if finding.rule.fails(given.mode):
                    say(f"{one.id}: {finding.severity} {finding.code}: {finding}", error=True)
    else:
        _show(run, given)
    for id, error in run.failures:
        say(f"msh-inspect: {id}: {error}", error=True)
    if run.interrupted:
        sys.exit(EXIT_INTERRUPTED)
    if failing or run.failures:
        sys.exit(1)


def _chosen(checked: list[Checked], entry: str | None, ignored: set[str]) -> list[Checked]:
    """What the user chose to be reported."""
    if entry is not None:
        wanted = entry.casefold()
        files = [one for one in checked if one.entry is None]
        checked = [one for one in checked if one.entry is not None and wanted in (one.entry.casefold(), str(one.index))]
        if not checked:  # perhaps because the archive cannot be read
            checked = [one for one in files if any(f.severity == "error" for f in one.findings)]
        if not checked:
            raise click.UsageError(f"--entry {entry}: no entry of this name is checked")
    return [replace(one, findings=[f for f in one.findings if f.code not in ignored]) for one in checked]


def _as_json(run: CheckRun, mode: Mode, valid: bool) -> dict[str, Any]:
    """The run as JSON data; ``docs/checks.md`` describes it."""
    rules, files, places = _totals(run.checked)
    return {
        "format": _FORMAT,
        "mode": mode,
        "valid": valid and not run.failures,
        "counts": _counts(run.checked),
        "codes": {
            code: {"severity": rule.severity, "files": files[code], "count": places[code]}
            for code, rule in sorted(rules.items())
        },
        "items": [
            {
                "id": one.id,
                "file": one.file,
                "entry": one.entry,
                "index": one.index,
                "kind": one.kind,
                "findings": [
                    finding.facts() | {"fails": finding.rule.fails(mode), "fix": finding.rule.fix}
                    for finding in one.findings
                ],
            }
            for one in run.checked
        ],
        "skipped": [{"id": p.id, "reason": p.reason} for p in run.skipped],
        "failures": [{"id": id, "error": error} for id, error in run.failures],
        "interrupted": run.interrupted,
    }


def _totals(checked: Sequence[Checked]) -> tuple[dict[str, Rule], Counter[str], Counter[str]]:
    """The rules that are broken by code; in how many files and entries each is, and in how many places."""
    rules: dict[str, Rule] = {}
    files, places = Counter[str](), Counter[str]()
    for one in checked:
        files.update({finding.code for finding in one.findings})
        for finding in one.findings:
            rules[finding.code] = finding.rule
            places[finding.code] += finding.count
    return rules, files, places


def _counts(checked: Sequence[Checked]) -> dict[str, int]:
    """Findings by severity."""
    counts = Counter(finding.severity for one in checked for finding in one.findings)
    return {severity: counts[severity] for severity in ("error", "warning", "note")}


def _show(run: CheckRun, given: ToInspect) -> None:
    """Findings by file and entry, then a table of codes, then a result."""
    from rich.markup import escape

    out, shown = console(), Counter[str]()
    for one in run.checked:
        lines = [
            finding
            for finding in one.findings
            if given.verbose or (finding.severity != "note" and shown[finding.code] < _SHOWN)
        ]
        shown.update({finding.code for finding in lines})
        if lines:
            out.print(f"[bold]{escape(one.id)}[/]  {one.kind}", soft_wrap=True)
        for finding in sorted(lines, key=lambda f: [*_COLOURS].index(f.severity)):
            severity = f"[{_COLOURS[finding.severity]}]{in_language(finding.severity):8}[/]"
            out.print(f"  {severity} {finding.code}: {escape(str(finding))}", soft_wrap=True)
    rules, files, places = _totals(run.checked)
    if files:
        out.print(_table(rules, files, places))
        hidden = sum(files[code] - shown[code] for code in files if shown[code])
        if hidden and not given.verbose:
            out.print(f"{hidden} more like these are not listed (-v lists all)")
    if given.verbose:
        for passed in run.skipped:
            out.print(f"skipped {passed.id}: {passed.reason}", markup=False, soft_wrap=True)
    out.print(_result(run, given.mode), markup=False, soft_wrap=True)


def _table(rules: dict[str, Rule], files: Counter[str], places: Counter[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, right in (("severity", 0), ("code", 0), ("files", 1), ("places", 1), ("rule that is broken", 0)):
        table.add_column(title, justify="right" if right else "left")
    for code, rule in sorted(rules.items(), key=lambda pair: ([*_COLOURS].index(pair[1].severity), pair[0])):
        table.add_row(rule.severity, code, f"{files[code]:,}", f"{places[code]:,}", rule.rule)
    return table


def _result(run: CheckRun, mode: Mode) -> str:
    from ..checks import all_rules

    found = ", ".join(plural(count, severity) for severity, count in _counts(run.checked).items())
    what = "file" if len(run.checked) == 1 else "files and entries"
    text = f"{len(run.checked):,} {what} checked: {found}"
    failing = {f.code for one in run.checked for f in one.findings if f.rule.fails(mode)}
    if failing:
        first = min(failing, key=list(all_rules()).index)
        what = "errors or warnings" if mode == "strict" else "errors"
        text += f"; has {what} ({mode}), see msh-inspect --explain {first}"
    elif run.checked and not run.interrupted:
        text += "; valid" + ("" if mode == "default" else f" ({mode})")
    if run.skipped:
        text += f"; {plural(len(run.skipped), 'other file')} skipped"
    return text + ("; interrupted" if run.interrupted else "")


def _roundtrip(given: ToInspect) -> None:
    """Take models to glTF and back, and compare bytes; exits with 0 or 1.

    With ``--tolerant`` models that are broken locally too. Nothing is written but in the system's directory for
    temporary files. Raises ConversionError: there is no model.
    """
    from ..game.export_run import found_in
    from ..game.inspect import DIFFERENT, IDENTICAL, RoundTripTask, roundtrip_item
    from ..game.manifest import FAILED
    from ..game.workers import Engine, cores
    from .runs import progress_bar

    items, found = found_in(given.sources, None, (), (), longer=given.tolerant)
    if given.entry is not None:
        items = _called(items, given.entry, given.sources)
    silent = given.quiet or given.as_json or len(items) == 1
    mode: Mode = "tolerant" if given.tolerant else "default"
    with TemporaryDirectory(prefix="msh-gltf-") as folder, progress_bar("converting", len(items), silent) as progress:
        tasks = [RoundTripTask(item, folder, given.dialect, mode) for item in items]
        ids, sizes = [item.id for item in items], [item.size for item in items]
        done, interrupted = Engine(given.jobs or cores()).gather(roundtrip_item, tasks, progress, ids=ids, sizes=sizes)
    outcomes = [*done.values()]
    counts = Counter(outcome.status for outcome in outcomes)
    if given.as_json:
        print_json(
            {
                "format": _FORMAT,
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
    """The items that an entry's name or number stands for."""
    wanted = entry.casefold()
    chosen = [i for i in items if i.name.casefold() == wanted or str(i.index) == entry]
    if not chosen:
        names = ", ".join(item.name for item in items[:8])
        expected = f"one of {names}{', ...' if len(items) > 8 else ''}"
        raise ConversionError("has no such model", file=", ".join(map(str, sources)), value=entry, expected=expected)
    return chosen
