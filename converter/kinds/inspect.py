"""What ``msh-inspect`` shows: facts about registries, units, missions and RsLi libraries; every kind on one screen."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConversionError, plural, printable
from ..findings import Finding
from ..formats.kinds import Kind, is_rsli
from ..formats.mission import CLAN_TYPES, OBJECT_KINDS, Mission
from ..formats.model import TABLES
from ..formats.names import decode_text
from ..formats.objects import CLASSES, Registry, Unit
from ..formats.rsli import RsliLibrary, read_rsli, unpack
from ..formats.terrain import NO_MATERIAL
from ..formats.texture import TEXM_MAGIC
from ..language import in_language
from ..scene.dialect import Dialect
from .check import check_file
from .open_files import read_assembly
from .registry import Game, game_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Json = dict[str, Any]
_FLAG_NAMES = {0x1: "interior", 0x4: "cell", 0x20: "cockpit", 0x100: "never hidden", 0x200: "vital"}


def _shown(text: str) -> str:
    """A text that a terminal shows as it is."""
    from rich.markup import escape

    return escape(printable(text))


def show_model(console: Console, facts: Json) -> None:
    """Print a model's facts as one screen."""
    from rich.table import Table

    counts, dialect, timeline = facts["counts"], facts["dialect"], facts["timeline"]
    console.print(f"[bold]{_shown(facts['name'])}[/]  core model, {facts['bytes']:,} bytes")
    console.print(f"dialect   [bold]{dialect['dialect']}[/] ({_shown(dialect['reason'])})")
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
    size = f"{facts['width']} x {facts['height']}, format {facts['format']}, {plural(facts['levels'], 'level')}"
    lines = [f"{printable(facts['name'])}  texture, {size}"]
    for i, rect in enumerate(facts["rectangles"]):
        at = f"{rect['width']} x {rect['height']} at {rect['x']}, {rect['y']}"
        lines.append(f"rectangle {i}  {at}")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def show_map(console: Console, facts: Json) -> None:
    """Print the facts of a terrain or an areal map as one screen."""
    name = _shown(facts["name"])
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
            table.add_row(*map(_shown, row))
        console.print(table)
        table = _table("face flags", "faces", "flags")
        for flags, count in facts["flags"].items():
            table.add_row(f"{count:,}", _shown(flags))
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
    if not findings:
        console.print("findings  none")
    colours = {"error": "red", "warning": "yellow", "note": "cyan"}
    for finding in findings:
        place = "".join(f", row {finding['row']}" if "row" in finding else "")
        text = f"{finding.get('table', '')}{place}: {finding['problem']}"
        value = f": {finding['value']}" if "value" in finding else ""
        severity = finding["severity"]
        console.print(
            f"[{colours[severity]}]{severity:8}[/] {_shown(text + value)} [dim]{_shown(finding['code'])}[/]",
            highlight=False,
        )


def show_archive(console: Console, label: str, entries: list[Json], models: list[int]) -> None:
    """Print an archive's directory, the core models marked."""
    console.print(
        f"[bold]{_shown(label)}[/]  archive of {len(entries)} entries, {len(models)} core models", soft_wrap=True
    )
    console.print(_entries_table(entries, set(models)))
    if models:
        name = printable(entries[models[0]]["name"])
        console.print(f"Look at one with: msh-inspect {_shown(label)} --entry {_shown(name)}", soft_wrap=True)


def _tree(nodes: list[Json], cell: str) -> RenderableType:
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
            text = f"[cyan]{node['index']}[/] {_shown(node['name'])}"
            if node.get("label"):
                text += f" [magenta]{_shown(node['label'])}[/]"
            named = [in_language(name) for bit, name in _FLAG_NAMES.items() if (node["flags"] or 0) & bit]
            text += f" [yellow]{', '.join(named)}[/]" if named else ""
            text += f" [green]{in_language(plural(node['keys'], 'key'))}[/]" if node["animated"] else ""
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


def _cells_table(cells: list[Json], titles: tuple[str, str]) -> Any:
    table = _table("parts", *titles, "parts", "triangles")
    for cell in cells:
        table.add_row(*(f"{cell[k]:,}" for k in ("lod", "group", "parts", "triangles")))
    return table


def _materials_table(materials: list[Json]) -> Any:
    table = _table("materials", "row", "name", "batches", "triangles", "lightmaps", "flags")
    for m in materials:
        flags = " ".join(f"{flag:#x}" for flag in m["flags"][:3])
        flags += f" +{len(m['flags']) - 3}" if len(m["flags"]) > 3 else ""
        lightmaps = " ".join(map(str, m["lightmaps"]))
        name = _shown(m["name"])
        table.add_row(str(m["row"]), name, str(m["batches"]), f"{m['triangles']:,}", lightmaps, flags)
    return table


def _entries_table(entries: list[Json], marked: set[int] | None = None) -> Any:
    table = _table("entries", "#", "type", "name", "table", "attr1", "attr2", "attr3", "bytes", "offset")
    for entry in entries:
        known = entry["type"].isdecimal() and TABLES.get(int(entry["type"]))
        what = known.title if known and marked is None else ""
        if marked is not None and entry["index"] in marked:
            what = Kind.MODEL.file_format
        table.add_row(
            str(entry["index"]),
            entry["type"],
            _shown(entry["name"]),
            what,
            *(f"{entry[k]:,}" for k in ("attr1", "attr2", "attr3", "size")),
            f"{entry['offset']:#x}",
        )
    return table


def describe_unit(unit: Unit, name: str, game: Game | None, findings: list[Finding]) -> Json:
    """Facts about a unit. ``game``: the game that it is in; ``None``: keys are not looked up."""
    return {
        "kind": Kind.UNIT,
        "name": name,
        "type": unit.type,
        "game": None if game is None else str(game.root),
        "components": [_component(unit, row, game) for row in range(len(unit))],
        "findings": [finding.facts() for finding in findings],
    }


def _component(unit: Unit, row: int, game: Game | None) -> Json:
    part, parent = unit.part_class(row), int(unit.parents[row])
    facts: Json = {
        "index": row,
        "parent": parent,
        "key": unit.key(row),
        "class": part,
        "class_name": name_of(CLASSES, part),
        "attach": unit.attach(row),
        "label": unit.label(row),
        "shown": unit.is_shown(row),
    }
    if game is not None:
        found = game.object(unit.key(row))
        model = None if found.resolved is None else found.resolved.model
        facts["model"] = None if model is None else str(model)
        facts["missing"] = "the key" if found.resolved is None else found.problem
        if parent >= 0 and unit.is_shown(row):
            facts["socket"] = _node_name(game, unit.key(parent), unit.attach(row))
    return facts


def _node_name(game: Game, key: str, node: int) -> str:
    found = game.object(key)
    if found.model is None:
        return ""
    try:
        names = game.model(found.model).node_names or []
    except ConversionError:
        return ""
    return decode_text(names[node]) if 0 <= node < len(names) else ""


def describe_mission(mission: Mission, name: str, game: Game | None, findings: list[Finding]) -> Json:
    """Facts about a mission; arguments as of :func:`describe_unit`."""
    return {
        "kind": Kind.MISSION,
        "name": name,
        "map": mission.map,
        "word": mission.word,
        "object_version": mission.object_version,
        "game": None if game is None else str(game.root),
        "routes": [{"id": route.id, "points": route.points.tolist()} for route in mission.routes],
        "clans": [
            {
                "name": clan.title,
                "type": clan.type,
                "type_name": name_of(CLAN_TYPES, clan.type),
                "base": list(clan.base),
                "zones": [{name: zone[name].tolist() for name in ("centre", "inner", "outer")} for zone in clan.zones],
                "relations": [[decode_text(to), relation] for to, relation in clan.relations],
            }
            for clan in mission.clans
        ],
        "objects": [_object(mission, row, game) for row in range(len(mission.objects))],
        "lodes": [{"position": lode["position"].tolist(), "amount": lode["amount"].item()} for lode in mission.lodes],
        "findings": [finding.facts() for finding in findings],
    }


def _object(mission: Mission, row: int, game: Game | None) -> Json:
    placed = mission.objects[row]
    clan = int(placed.record["clan"])
    owner = mission.clans[clan].title if placed.is_assembly and clan < len(mission.clans) else ""
    facts: Json = {
        "index": row,
        "kind": name_of(OBJECT_KINDS, placed.kind),
        "name": placed.title,
        "path": placed.reference,
        "clan": owner,
        "logical_id": placed.logical_id,
        "position": placed.record["position"].tolist(),
        "turns": placed.record["turns"].tolist(),
        "scale": list(placed.scale),
        "start": int(placed.record["start"]),
        "host": None if placed.host is None else list(placed.host),
        "properties": {each.title: each.number for each in placed.properties},
    }
    if game is not None:
        from .missions import path_problem  # a model is shown without

        facts["missing"] = path_problem(placed, game)
    return facts


def name_of(names: tuple[str, ...], number: int) -> str:
    """Return what a number means; the number where nobody knows."""
    return names[number] if number < len(names) else str(number)


def describe_rsli(library: RsliLibrary, findings: list[Finding]) -> Json:
    """Facts about an RsLi library: its entries, and which are textures."""
    entries = []
    for row, entry in enumerate(library.rows):
        try:
            texture = unpack(library, row)[: len(TEXM_MAGIC)] == TEXM_MAGIC
            holds = "texture" if texture else "data"
        except ConversionError:
            holds = "unknown"
        entries.append(
            {
                "index": row,
                "name": library.name(row),
                "method": library.method_name(row),
                "packed": int(entry["packed_size"]),
                "unpacked": int(entry["unpacked_size"]),
                "holds": holds,
            }
        )
    rows = [finding.facts() for finding in findings]
    return {"kind": Kind.RSLI, "name": library.label, "entries": entries, "findings": rows}


def show_rsli(console: Console, facts: Json) -> None:
    """Print the entries of an RsLi library."""
    count = len(facts["entries"])
    console.print(
        f"[bold]{_shown(facts['name'])}[/]  RsLi library of {count} {'entry' if count == 1 else 'entries'}",
        soft_wrap=True,
    )
    for one in facts["entries"]:
        console.print(
            f"[cyan]{one['index']}[/] {_shown(one['name'])}  {one['method']}  "
            f"{one['packed']} -> {plural(one['unpacked'], 'byte')}  [green]{one['holds']}[/]",
            highlight=False,
            soft_wrap=True,
        )
    _list_findings(console, facts)


def show_registry(console: Console, facts: Json) -> None:
    """Print what every key means."""
    objects = facts["objects"]
    tags = Counter(one["tag"] for one in objects)
    counts = ", ".join(f"{count} {printable(tag)}" for tag, count in sorted(tags.items()))
    console.print(f"[bold]object registry[/] of {plural(len(objects), 'key')}: {_shown(counts)}", soft_wrap=True)
    for one in sorted(objects, key=lambda each: each["key"].lower()):
        text = f"[cyan]{_shown(one['key'])}[/] {_shown(one['tag'])}"
        text += "".join(f"  {_shown(file)}" for file in one["files"].values())
        if one["chain"]:
            text += f"  [dim]by {_shown(' -> '.join(one['chain']))}[/]"
        console.print(text, highlight=False, soft_wrap=True)


def show_unit(console: Console, facts: Json) -> None:
    """Print a unit as a tree."""
    from rich.tree import Tree

    parts = facts["components"]
    tree = Tree(
        f"[bold]{_shown(facts['name'])}[/]  unit of {plural(len(parts), 'component')}, "
        f"type {facts['type']:#010x}  [dim](index, key, class, socket or slot)[/]"
    )
    branches = {-1: tree}
    for part in parts:  # depth first: the parent comes before
        text = f"[cyan]{part['index']}[/] {_shown(part['key'])} {part['class_name']}"
        if part["parent"] >= 0:
            what = "socket" if part["shown"] else "slot"
            text += f"  {what} {part['attach']}"
            text += f" [magenta]{_shown(part.get('socket', ''))}[/]"
        text += f"  [green]{_shown(part['label'])}[/]"
        if not part["shown"]:
            text += "  [dim]inside[/]"
        if part.get("missing"):
            text += f"  [red]missing: {_shown(part['missing'])}[/]"
        branches[part["index"]] = branches[part["parent"]].add(text, highlight=False)
    console.print(tree)
    _game_and_findings(console, facts)


def show_mission(console: Console, facts: Json) -> None:
    """Print the clans, routes and objects of a mission."""

    def line(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    objects = facts["objects"]
    zones = sum(len(clan["zones"]) for clan in facts["clans"])
    line(
        f"[bold]{_shown(facts['name'])}[/]  mission on "
        f"{_shown(facts['map'])}: "
        f"{plural(len(objects), 'object')}, {plural(len(facts['clans']), 'clan')}, "
        f"{plural(len(facts['routes']), 'route')}, {plural(zones, 'zone')}, "
        f"{plural(len(facts['lodes']), 'lode')}"
    )
    for clan in facts["clans"]:
        x, y = clan["base"]
        line(
            f"clan [cyan]{_shown(clan['name'])}[/] {clan['type_name']}, base "
            f"{x:.1f} {y:.1f}, {plural(len(clan['zones']), 'zone')}"
        )
    for route in facts["routes"]:
        line(f"route {route['id']}: {plural(len(route['points']), 'point')}")
    for one in objects:
        x, y, z = one["position"]
        text = f"[cyan]{one['index']}[/] {one['kind']} {_shown(one['path'])}"
        text += f" [green]{_shown(one['name'])}[/]" if one["name"] else ""
        text += f" [magenta]{_shown(one['clan'])}[/]" if one["clan"] else ""
        text += f" id {one['logical_id']}" if one["logical_id"] >= 0 else ""
        text += f"  at {x:.1f} {y:.1f} {z:.1f}"
        if one["host"] is not None:
            text += f", hosted by {one['host'][0]} at vertex {one['host'][1]}"
        if one.get("missing"):
            text += f"  [red]{_shown(one['missing'])}[/]"
        line(text)
    _game_and_findings(console, facts)


def _game_and_findings(console: Console, facts: Json) -> None:
    """Where the game was found, and findings."""
    if facts["game"] is None:
        console.print("no objects.rlb above it: keys were not looked up", markup=False)
    _list_findings(console, facts)


def _list_findings(console: Console, facts: Json) -> None:
    for finding in facts["findings"]:
        text = f"{finding['severity']} {finding['code']}: {finding['problem']}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def assembly_facts(path: Path, data: memoryview) -> dict[str, Any] | None:
    """Return what ``msh-inspect`` shows of a registry, unit, mission or RsLi, else ``None``. Raises ConversionError: it
    cannot be read, or the registry of its game cannot.
    """
    library = read_rsli(data, str(path)) if is_rsli(data) else None
    read = None if library is not None else read_assembly(path, data)
    if library is None and read is None:
        return None
    checked = check_file(path, path.name, known=True)
    findings = [finding for one in checked for finding in one.findings]
    if library is not None:
        return describe_rsli(library, findings)
    game = game_of(path)
    if isinstance(read, Registry):
        return describe_registry(read, findings)
    if isinstance(read, Unit):
        return describe_unit(read, path.name, game, findings)
    assert isinstance(read, Mission)
    return describe_mission(read, path.name, game, findings)


def describe_registry(registry: Registry, findings: list[Finding]) -> dict[str, Any]:
    """Facts about the registry: what every key means; files are not opened."""
    objects = []
    for entry in registry.archive.entries:
        key, found = entry.name, registry.resolve(entry.name_bytes)
        assert found is not None
        order = sorted(found.members, key=lambda ending: (ending != ".msh", ending != ".wea"))
        files = {ending: str(found.members[ending]) for ending in order}
        objects.append({"key": key, "tag": found.tag, "files": files, "chain": list(found.chain)})
    return {"kind": Kind.REGISTRY, "objects": objects, "findings": [finding.facts() for finding in findings]}
