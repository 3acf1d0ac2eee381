"""Registries, units, missions and RsLi libraries as ``msh-inspect`` shows them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConversionError, plural, printable
from ..files import read_file
from ..findings import Finding
from ..formats.kinds import MISSION_FILE, Kind, archive_kind
from ..formats.mission import CLAN_TYPES, OBJECT_KINDS, Mission, read_mission
from ..formats.names import decode_text
from ..formats.nres import is_nres, read_nres
from ..formats.registry import Registry, is_registry, read_registry
from ..formats.rsli import RsliLibrary, is_rsli, read_rsli, unpack
from ..formats.texture import TEXM_MAGIC
from ..formats.unit import CLASSES, Unit, is_unit, read_unit
from .check import check_file
from .check_assembly import game_of, path_problem
from .registry import Game

if TYPE_CHECKING:
    from rich.console import Console

Json = dict[str, Any]


def describe_registry(registry: Registry, findings: list[Finding]) -> Json:
    """Facts about the registry: what every key means; files are not opened."""
    objects = []
    for entry in registry.archive.entries:
        key, found = entry.name, registry.resolve(entry.name_bytes)
        assert found is not None
        order = sorted(found.members, key=lambda ending: (ending != ".msh", ending != ".wea"))
        files = {ending: str(found.members[ending]) for ending in order}
        objects.append({"key": key, "tag": found.tag, "files": files, "chain": list(found.chain)})
    return {"kind": Kind.REGISTRY, "objects": objects, "findings": [finding.facts() for finding in findings]}


def describe_unit(unit: Unit, name: str, game: Game | None, findings: list[Finding]) -> Json:
    """Facts about a unit.

    Args:
        unit: the unit.
        name: its file's.
        game: the game that it is in; ``None``: keys are not looked up.
        findings: what a check found.
    """
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
    """The name of a node of a key's model; empty where there is none."""
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


# ------------------------------------------------------------------ on one screen


def show_rsli(console: Console, facts: Json) -> None:
    """Print the entries of an RsLi library."""
    from rich.markup import escape

    count = len(facts["entries"])
    console.print(
        f"[bold]{escape(printable(facts['name']))}[/]  RsLi library of {count} {'entry' if count == 1 else 'entries'}",
        soft_wrap=True,
    )
    for one in facts["entries"]:
        console.print(
            f"[cyan]{one['index']}[/] {escape(printable(one['name']))}  {one['method']}  "
            f"{one['packed']} -> {plural(one['unpacked'], 'byte')}  [green]{one['holds']}[/]",
            highlight=False,
            soft_wrap=True,
        )
    for finding in facts["findings"]:
        text = f"{finding['severity']} {finding['code']}: {finding['problem']}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def show_registry(console: Console, facts: Json) -> None:
    """Print what every key means."""
    from rich.markup import escape

    objects = facts["objects"]
    tags = Counter(one["tag"] for one in objects)
    counts = ", ".join(f"{count} {printable(tag)}" for tag, count in sorted(tags.items()))
    console.print(f"[bold]object registry[/] of {plural(len(objects), 'key')}: {escape(counts)}", soft_wrap=True)
    for one in sorted(objects, key=lambda each: each["key"].lower()):
        text = f"[cyan]{escape(printable(one['key']))}[/] {escape(printable(one['tag']))}"
        text += "".join(f"  {escape(printable(file))}" for file in one["files"].values())
        if one["chain"]:
            text += f"  [dim]by {escape(printable(' -> '.join(one['chain'])))}[/]"
        console.print(text, highlight=False, soft_wrap=True)


def show_unit(console: Console, facts: Json) -> None:
    """Print a unit as a tree."""
    from rich.markup import escape
    from rich.tree import Tree

    parts = facts["components"]
    tree = Tree(
        f"[bold]{escape(printable(facts['name']))}[/]  unit of {plural(len(parts), 'component')}, "
        f"type {facts['type']:#010x}  [dim](index, key, class, socket or slot)[/]"
    )
    branches = {-1: tree}
    for part in parts:  # depth first: the parent comes before
        text = f"[cyan]{part['index']}[/] {escape(printable(part['key']))} {part['class_name']}"
        if part["parent"] >= 0:
            what = "socket" if part["shown"] else "slot"
            text += f"  {what} {part['attach']}"
            text += f" [magenta]{escape(printable(part.get('socket', '')))}[/]"
        text += f"  [green]{escape(printable(part['label']))}[/]"
        if not part["shown"]:
            text += "  [dim]inside[/]"
        if part.get("missing"):
            text += f"  [red]missing: {escape(printable(part['missing']))}[/]"
        branches[part["index"]] = branches[part["parent"]].add(text, highlight=False)
    console.print(tree)
    _ending(console, facts)


def show_mission(console: Console, facts: Json) -> None:
    """Print the clans, routes and objects of a mission."""
    from rich.markup import escape

    def line(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    objects = facts["objects"]
    zones = sum(len(clan["zones"]) for clan in facts["clans"])
    line(
        f"[bold]{escape(printable(facts['name']))}[/]  mission on "
        f"{escape(printable(facts['map']))}: "
        f"{plural(len(objects), 'object')}, {plural(len(facts['clans']), 'clan')}, "
        f"{plural(len(facts['routes']), 'route')}, {plural(zones, 'zone')}, "
        f"{plural(len(facts['lodes']), 'lode')}"
    )
    for clan in facts["clans"]:
        x, y = clan["base"]
        line(
            f"clan [cyan]{escape(printable(clan['name']))}[/] {clan['type_name']}, base "
            f"{x:.1f} {y:.1f}, {plural(len(clan['zones']), 'zone')}"
        )
    for route in facts["routes"]:
        line(f"route {route['id']}: {plural(len(route['points']), 'point')}")
    for one in objects:
        x, y, z = one["position"]
        text = f"[cyan]{one['index']}[/] {one['kind']} {escape(printable(one['path']))}"
        text += f" [green]{escape(printable(one['name']))}[/]" if one["name"] else ""
        text += f" [magenta]{escape(printable(one['clan']))}[/]" if one["clan"] else ""
        text += f" id {one['logical_id']}" if one["logical_id"] >= 0 else ""
        text += f"  at {x:.1f} {y:.1f} {z:.1f}"
        if one["host"] is not None:
            text += f", hosted by {one['host'][0]} at vertex {one['host'][1]}"
        if one.get("missing"):
            text += f"  [red]{escape(printable(one['missing']))}[/]"
        line(text)
    _ending(console, facts)


def _ending(console: Console, facts: Json) -> None:
    """Where the game was found, and findings."""
    if facts["game"] is None:
        console.print("no objects.rlb above it: keys were not looked up", markup=False)
    for finding in facts["findings"]:
        text = f"{finding['severity']} {finding['code']}: {finding['problem']}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def read_assembly(path: Path, data: memoryview | None = None) -> Registry | Unit | Mission | None:
    """Read a file if it is a registry, a unit or a mission; ``None``: it is another one.

    Args:
        path: the file.
        data: its bytes, where they are read already.

    Raises:
        ConversionError: unreadable.
    """
    data = read_file(path) if data is None else data
    if is_nres(data):
        archive = read_nres(data, str(path))
        known = archive_kind(archive) is Kind.ARCHIVE and is_registry(archive)
        return read_registry(archive) if known else None
    if path.name.lower() == MISSION_FILE or path.suffix.lower() == ".tma":
        return read_mission(data, str(path))
    return read_unit(data, str(path)) if is_unit(data) else None


def assembly_facts(path: Path, data: memoryview) -> dict[str, Any] | None:
    """Return what ``msh-inspect`` shows of a registry, unit, mission or RsLi, else ``None``.

    Args:
        path: the file.
        data: its bytes.

    Raises:
        ConversionError: it cannot be read, or the registry of its game cannot.
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
