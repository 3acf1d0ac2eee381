"""Facts about models, maps, textures and archives on one screen, as ``msh-inspect`` shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import plural, printable
from ..formats.kinds import Kind
from ..formats.model import TABLES
from ..formats.terrain import NO_MATERIAL
from ..scene.dialect import Dialect

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


Json = dict[str, Any]
_FLAG_NAMES = {0x1: "interior", 0x4: "cell", 0x20: "cockpit", 0x100: "never hidden", 0x200: "vital"}


def show_model(console: Console, facts: Json) -> None:
    """Print a model's facts as one screen."""
    from rich.markup import escape
    from rich.table import Table

    counts, dialect, timeline = facts["counts"], facts["dialect"], facts["timeline"]
    console.print(f"[bold]{escape(printable(facts['name']))}[/]  core model, {facts['bytes']:,} bytes")
    console.print(f"dialect   [bold]{dialect['dialect']}[/] ({escape(dialect['reason'])})")
    shown = ("nodes", "slots", "batches", "vertices", "triangles", "keys")
    console.print("counts    " + ", ".join(f"{counts[k]:,} {k}" for k in shown))
    moving = len(timeline["animated_nodes"])
    console.print(
        f"timeline  {timeline['frame_count']} frames, {moving} animated nodes, {counts['map_words']:,} map words"
        if moving
        else "timeline  static"
    )
    if (played := facts.get("controller")) is not None:
        console.print(f"control   {plural(len(played['states']), 'state')}, {plural(len(played['ranges']), 'range')}")
        for found in played["ranges"]:
            console.print(f"range     {found['text']}", highlight=False)
    console.print()
    spec = dialect["dialect"] == Dialect.SPEC
    console.print(_tree(facts["nodes"], "lod.group" if spec else "stage.level"))
    console.print()
    tables: tuple[RenderableType, ...]
    cells = _cells_table(facts["cells"], ("lod", "group") if spec else ("stage", "level"))
    tables = cells, _materials_table(facts["materials"])
    if console.width >= 120:
        beside = Table.grid(padding=(0, 4))
        beside.add_row(*tables)
        tables = (beside,)
    console.print(*tables)
    console.print(_entries_table(facts["entries"]))
    _show_findings(console, facts["findings"])


def show_texture(console: Console, facts: Json) -> None:
    """Print a texture's facts."""
    levels = f"{facts['levels']} level{'s' if facts['levels'] > 1 else ''}"
    size = f"{facts['width']} x {facts['height']}, format {facts['format']}, {levels}"
    lines = [f"{printable(facts['name'])}  texture, {size}"]
    for i, rect in enumerate(facts["rectangles"]):
        at = f"{rect['width']} x {rect['height']} at {rect['x']}, {rect['y']}"
        lines.append(f"rectangle {i}  {at}")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def show_map(console: Console, facts: Json) -> None:
    """Print the facts of a terrain or an areal map as one screen."""
    from rich.markup import escape

    name = escape(printable(facts["name"]))
    console.print(f"[bold]{name}[/]  {facts['summary']}, {facts['bytes']:,} bytes")
    if facts["kind"] is Kind.TERRAIN:
        low, high = facts["box"]
        console.print(
            "box       " + ", ".join(f"{axis} {a:g}..{b:g}" for axis, a, b in zip("xyz", low, high, strict=True))
        )
        table = _table("material pairs", "first", "second", "name", "microtexture name")
        for pair in facts["materials"]:
            second = "" if pair["second"] == NO_MATERIAL else str(pair["second"])
            micro = "+".join(filter(None, (pair["micro"], pair["micro2"])))
            row = (str(pair["first"]), second, printable(pair["name"]), printable(micro))
            table.add_row(*map(escape, row))
        console.print(table)
        table = _table("face flags", "faces", "flags")
        for flags, count in facts["flags"].items():
            table.add_row(f"{count:,}", escape(flags))
        console.print(table)
    else:
        console.print(f"area      {facts['area']:,.0f} square units")
        table = _table("classes", "class", "areals")
        for number, count in facts["classes"].items():
            table.add_row(number, f"{count:,}")
        console.print(table)
    console.print(_entries_table(facts["entries"], set()))
    _show_findings(console, facts["findings"])


def _show_findings(console: Console, findings: list[Json]) -> None:
    from rich.markup import escape

    if not findings:
        console.print("findings  none")
    colours = {"error": "red", "warning": "yellow", "note": "cyan"}
    for finding in findings:
        place = "".join(f", row {finding['row']}" if "row" in finding else "")
        text = f"{finding.get('table', '')}{place}: {finding['problem']}"
        value = f": {finding['value']}" if "value" in finding else ""
        severity = finding["severity"]
        console.print(
            f"[{colours[severity]}]{severity:8}[/] {escape(text + value)} [dim]{escape(finding['code'])}[/]",
            highlight=False,
        )


def show_archive(console: Console, label: str, entries: list[Json], models: list[int]) -> None:
    """Print an archive's directory, the core models marked."""
    from rich.markup import escape

    console.print(
        f"[bold]{escape(printable(label))}[/]  archive of {len(entries)} entries, {len(models)} core models",
        soft_wrap=True,
    )
    console.print(_entries_table(entries, set(models)))
    if models:
        name = printable(entries[models[0]]["name"])
        console.print(f"Look at one with: msh-inspect {escape(label)} --entry {escape(name)}", soft_wrap=True)


def _tree(nodes: list[Json], cell: str) -> RenderableType:
    from rich.markup import escape
    from rich.tree import Tree

    root = Tree(f"[bold]nodes[/]  [dim](index, name, parts as {cell}:triangles)[/]")
    branches: dict[int, Tree] = {-1: root}
    waiting = list(nodes)
    while waiting:
        later = []
        for node in waiting:
            if node["parent"] not in branches:
                later.append(node)
                continue
            parts = " ".join(f"{p['lod']}.{p['group']}:{p['triangles']}" for p in node["parts"])
            text = f"[cyan]{node['index']}[/] {escape(printable(node['name']))}"
            if node.get("label"):
                text += f" [magenta]{escape(printable(node['label']))}[/]"
            named = [name for bit, name in _FLAG_NAMES.items() if (node["flags"] or 0) & bit]
            text += f" [yellow]{', '.join(named)}[/]" if named else ""
            text += f" [green]{node['keys']} keys[/]" if node["animated"] else ""
            text += f"  {parts}" if parts else ""
            branches[node["index"]] = branches[node["parent"]].add(text, highlight=False)
        if len(later) == len(waiting):
            break
        waiting = later
    return root


def _table(title: str, *columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        right = column not in ("name", "type", "table", "flags", "lightmaps")
        table.add_column(column, justify="right" if right else "left", no_wrap=column != "table")
    return table


def _cells_table(cells: list[Json], titles: tuple[str, str]) -> RenderableType:
    table = _table("parts", *titles, "parts", "triangles")
    for cell in cells:
        table.add_row(*(f"{cell[k]:,}" for k in ("lod", "group", "parts", "triangles")))
    rendered: RenderableType = table
    return rendered


def _materials_table(materials: list[Json]) -> RenderableType:
    from rich.markup import escape

    table = _table("materials", "row", "name", "batches", "triangles", "lightmaps", "flags")
    for m in materials:
        flags = " ".join(f"{flag:#x}" for flag in m["flags"][:3])
        flags += f" +{len(m['flags']) - 3}" if len(m["flags"]) > 3 else ""
        lightmaps = " ".join(map(str, m["lightmaps"]))
        name = escape(printable(m["name"]))
        table.add_row(str(m["row"]), name, str(m["batches"]), f"{m['triangles']:,}", lightmaps, flags)
    rendered: RenderableType = table
    return rendered


def _entries_table(entries: list[Json], marked: set[int] | None = None) -> RenderableType:
    from rich.markup import escape

    table = _table("entries", "#", "type", "name", "table", "attr1", "attr2", "attr3", "bytes", "offset")
    for entry in entries:
        known = entry["type"].isdecimal() and TABLES.get(int(entry["type"]))
        what = known.title if known and marked is None else ""
        if marked is not None and entry["index"] in marked:
            what = Kind.MODEL.file_format
        table.add_row(
            str(entry["index"]),
            entry["type"],
            escape(printable(entry["name"])),
            what,
            *(f"{entry[k]:,}" for k in ("attr1", "attr2", "attr3", "size")),
            f"{entry['offset']:#x}",
        )
    rendered: RenderableType = table
    return rendered
