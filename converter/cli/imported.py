"""What ``gltf2msh`` imports of one file, and what it says of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import plural
from .common import console, say

if TYPE_CHECKING:
    from ..pipeline.import_result import ImportResult
    from ..pipeline.options import ImportOptions
    from .given import ToMsh


def import_file(given: ToMsh, options: ImportOptions) -> ImportResult:
    """Import a glTF or an OBJ file."""
    if given.source.suffix.lower() == ".obj":
        from ..pipeline.obj import import_obj

        return import_obj(given.source, given.sidecar_file, options, up=given.up, frame=given.frame)
    from ..pipeline.dispatch import import_gltf

    return import_gltf(given.source, given.sidecar_file, options)


def show_result(result: ImportResult, verbose: bool) -> None:
    """Print what changed."""
    say(f"{result.name}: {result.verdict}")
    if result.timing is not None and (verbose or not result.timing.usual):
        say(f"  {result.timing.fps:g} frames per second: {result.timing.reason}")
    shown = result.changes if verbose else result.changes[:10]
    for change in shown:
        say(f"  {change}")
    if len(shown) < len(result.changes):
        say(f"  and {len(result.changes) - len(shown)} more (--verbose lists them)")
    if result.report:
        _show_report(result.report, verbose)


def report_bytes(result: ImportResult) -> bytes:
    """Return the JSON of ``--report``."""
    import json
    from dataclasses import asdict

    facts: dict[str, object] = {
        "format": 1,
        "model": result.name,
        "dialect": result.dialect,
        "unchanged": result.unchanged,
        "changes": [asdict(change) for change in result.changes],
        "not_applied": [asdict(difference) for difference in result.not_applied],
        "items": result.report,
        "warnings": result.warnings,
    }
    if result.wear is not None:
        facts["wear"] = result.wear
    if result.timing is not None:
        facts["fps"], facts["fps_reason"] = result.timing.fps, result.timing.reason
    return json.dumps(facts, ensure_ascii=False, indent=1).encode() + b"\n"


def _show_report(report: list[dict[str, str]], verbose: bool) -> None:
    """A table of what became of nodes and parts; kept ones only when asked."""
    from rich import box
    from rich.table import Table

    counts: dict[tuple[str, str], int] = {}
    for row in report:
        key = row["what"], row["status"]
        counts[key] = counts.get(key, 0) + 1
    say("  " + ", ".join(f"{plural(n, what)} {status}" for (what, status), n in counts.items()))
    rows = [row for row in report if verbose or row["status"] != "kept"]
    if not verbose and len(rows) > 20:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("what", "name", "status", "reason"):
        table.add_column(column)
    for row in rows:
        table.add_row(*(row[k] for k in ("what", "name", "status", "reason")))
    if rows:
        console().print(table, markup=False)
