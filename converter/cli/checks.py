"""``msh-inspect --check``, ``--explain`` and ``--roundtrip``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from ..checks import all_rules, similar_codes
from ..errors import ConversionError, in_words, plural
from ..findings import Mode
from ..game.export_item import DIFFERENT, IDENTICAL, RoundTripTask, roundtrip_item
from ..game.export_run import found_in
from ..game.outcome import FAILED, progress_bar
from ..game.walk import Item
from ..game.workers import Engine, cores
from ..language import in_language
from .common import EXIT_INTERRUPTED, console, print_json, say
from .given import ToInspect

if TYPE_CHECKING:
    from rich.table import Table

    from ..findings import Finding, Rule
    from ..game.check import CheckRun
    from ..kinds.check import Checked

EXIT_ERRORS = 1
#: The version of the JSON's form.
FORMAT = 1
#: How many files and entries are shown with one code before the rest is only counted.
_SHOWN = 5
_SEVERITIES = ("error", "warning", "note")


def _known_code(code: str) -> str:
    """The code as it is listed."""
    if code in all_rules():
        return code
    found = similar_codes(code)
    hint = f"did you mean {', '.join(found)}?" if found else "--explain list shows them all"
    raise click.UsageError(f"unknown code {in_words(code)}: {hint}")


def explain(code: str) -> None:
    """Print a rule, or with ``list`` one line for each."""
    if code == "list":
        for rule in all_rules().values():
            say(f"{rule.code:24}{rule.severity:9}{rule.format:23}{rule.rule}")
        return
    rule = all_rules()[_known_code(code)]
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


def check(given: ToInspect) -> None:
    """Check files, archives and directories; exits with 0 or 1."""
    from ..game.check import check_run, check_tasks

    ignored = set(map(_known_code, given.ignore))
    tasks, run = check_tasks(given.sources)
    engine = Engine(given.jobs or cores())
    silent = given.quiet or given.as_json or len(tasks) == 1
    with progress_bar("checking", len(tasks), silent) as progress:
        check_run(tasks, run, engine, progress)
    _require_something(run, given.sources)
    run.checked = _chosen(run.checked, given.entry, ignored)
    failing = [one for one in run.checked if any(f.rule.fails(given.mode) for f in one.findings)]
    if given.as_json:
        print_json(as_json(run, given.mode, not failing))
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
        sys.exit(EXIT_ERRORS)


def _require_something(run: CheckRun, sources: Sequence[Path]) -> None:
    """Stop where nothing was checked: that is not a result."""
    if run.checked or run.failures or run.interrupted:
        return
    where = ", ".join(map(str, sources))
    reason = f"{run.skipped[0].id}: {run.skipped[0].reason}" if run.skipped else "no files"
    hint = "name the game's folder, or a file of it"
    raise ConversionError("holds nothing that can be checked", file=where, value=reason, hint=hint)


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


def as_json(run: CheckRun, mode: Mode, valid: bool) -> dict[str, Any]:
    """The run as JSON data; ``docs/checks.md`` describes it."""
    files, places = _totals(run.checked)
    return {
        "format": FORMAT,
        "mode": mode,
        "valid": valid and not run.failures,
        "counts": _counts(run.checked),
        "codes": {
            code: {"severity": rule.severity, "files": files[code], "count": places[code]}
            for code, rule in sorted(_rules(run.checked).items())
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


def _rules(checked: Sequence[Checked]) -> dict[str, Rule]:
    """The rules that are broken, by code."""
    return {finding.code: finding.rule for one in checked for finding in one.findings}


def _totals(checked: Sequence[Checked]) -> tuple[Counter[str], Counter[str]]:
    """By code: in how many files and entries, and in how many places."""
    files: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for one in checked:
        files.update({finding.code for finding in one.findings})
        for finding in one.findings:
            places[finding.code] += finding.count
    return files, places


def _counts(checked: Sequence[Checked]) -> dict[str, int]:
    """Findings by severity."""
    counts: Counter[str] = Counter(finding.severity for one in checked for finding in one.findings)
    return {severity: counts[severity] for severity in _SEVERITIES}


def _show(run: CheckRun, given: ToInspect) -> None:
    """Findings by file and entry, then a table of codes, then a result."""
    out = console()
    colours = {"error": "red", "warning": "yellow", "note": "cyan"}
    shown: Counter[str] = Counter()

    def wanted(finding: Finding) -> bool:
        if given.verbose:
            return True
        return finding.severity != "note" and shown[finding.code] < _SHOWN

    from rich.markup import escape

    for one in run.checked:
        lines = [finding for finding in one.findings if wanted(finding)]
        shown.update({finding.code for finding in lines})
        if lines:
            out.print(f"[bold]{escape(one.id)}[/]  {one.kind}", soft_wrap=True)
        for finding in sorted(lines, key=lambda f: _SEVERITIES.index(f.severity)):
            severity = f"[{colours[finding.severity]}]{in_language(finding.severity):8}[/]"
            out.print(f"  {severity} {finding.code}: {escape(str(finding))}", soft_wrap=True)
    files, places = _totals(run.checked)
    if files:
        out.print(_table(_rules(run.checked), files, places))
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
    for code, rule in sorted(rules.items(), key=lambda pair: (_SEVERITIES.index(pair[1].severity), pair[0])):
        row = (rule.severity, code, f"{files[code]:,}", f"{places[code]:,}", rule.rule)
        table.add_row(*row)
    return table


def _result(run: CheckRun, mode: Mode) -> str:
    counts = _counts(run.checked)
    found = ", ".join(plural(counts[s], s) for s in _SEVERITIES)
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


#: The version of the JSON's form.
ROUNDTRIP_FORMAT = 1


def roundtrip(given: ToInspect) -> None:
    """Take models to glTF and back, and compare bytes; exits with 0 or 1.

    With ``--tolerant`` models that are broken locally too. Nothing is written but in the system's directory for
    temporary files. Raises ConversionError: there is no model.
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
                "format": ROUNDTRIP_FORMAT,
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
        raise ConversionError(
            "has no such model",
            file=", ".join(map(str, sources)),
            value=entry,
            expected=f"one of {names}{', ...' if len(items) > 8 else ''}",
        )
    return chosen
