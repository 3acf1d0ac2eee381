"""What ``msh-inspect`` reports: facts about a file as JSON data, and the same on one screen."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import plural, printable
from ..findings import Finding
from ..formats.kinds import Kind
from ..formats.model import NO_LIGHTMAP, TABLES, MshModel
from ..formats.nres import Archive
from ..formats.terrain import NO_MATERIAL
from ..numeric.surfaces import describe as describe_flags
from ..scene.dialect import Decision, Dialect, batch_materials, node_labels
from ..scene.level import material_pair
from ..scene.scene import Scene

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from .areal_map import LoadedArealMap
    from .base import LoadedContainer
    from .terrain import LoadedTerrain
    from .texture import LoadedTexture

Json = dict[str, Any]
_FLAG_NAMES = {0x1: "interior", 0x4: "cell", 0x20: "cockpit", 0x100: "never hidden", 0x200: "vital"}


def describe(model: MshModel, decision: Decision, scene: Scene, findings: list[Finding]) -> Json:
    """Facts about a model; plain JSON values.

    Args:
        model: the model.
        decision: its dialect and why.
        scene: the model decoded in that dialect.
        findings: from ``check_model``.
    """
    triangles = [scene.triangle_count(i) for i in range(len(scene.meshes))]
    cells = Counter((part.lod, part.group) for part in scene.parts)
    in_cell = Counter[tuple[int, int]]()
    for part in scene.parts:
        in_cell[part.lod, part.group] += triangles[part.mesh]
    return {
        "name": model.name,
        "bytes": model.archive.total_size,
        "dialect": asdict(decision) | {"dialect": decision.dialect.value},
        "legacy": model.legacy,
        "counts": {
            "nodes": len(model.nodes),
            "slots": len(model.slots),
            "batches": len(model.batches),
            "vertices": len(model.positions),
            "triangles": len(model.indices) // 3,
            "keys": 0 if model.keys is None else len(model.keys),
            "map_words": len(model.frame_map),
        },
        "timeline": {"frame_count": scene.frame_count, "animated_nodes": [t.node for t in scene.tracks]},
        "nodes": _nodes(model, decision, scene, triangles),
        "cells": [
            {"lod": lod, "group": group, "parts": cells[lod, group], "triangles": in_cell[lod, group]}
            for lod, group in sorted(cells)
        ],
        "materials": _materials(model, decision, scene),
        "entries": list_entries(model.archive),
        "findings": [finding.facts() for finding in findings],
    }


def _nodes(model: MshModel, decision: Decision, scene: Scene, triangles: list[int]) -> list[Json]:
    if model.legacy:
        return [
            {
                "index": 0,
                "name": scene.nodes[0].name,
                "parent": -1,
                "flags": 0,
                "keys": 0,
                "animated": False,
                "parts": [],
            }
        ]
    labels = node_labels(model, decision.dialect)
    fallback = model.nodes["fallback_key"].astype(np.int64)
    keys = np.diff(fallback, prepend=-1).tolist() if model.keys is not None else [0] * len(labels)
    out: list[Json] = []
    for i, node in enumerate(scene.nodes):
        out.append(
            {
                "index": i,
                "name": node.name,
                "parent": node.parent,
                "flags": node.flags,
                "keys": keys[i],
                "animated": node.animated,
                "parts": [],
            }
        )
        if labels[i]:
            out[-1]["label"] = labels[i]
    for part in scene.parts:
        out[part.node]["parts"].append(
            {
                "lod": part.lod,
                "group": part.group,
                "slot": scene.meshes[part.mesh].slot,
                "triangles": triangles[part.mesh],
            }
        )
    return out


def _materials(model: MshModel, decision: Decision, scene: Scene) -> list[Json]:
    """Rows of the WEAR that the batches name, with what uses them."""
    meaning = batch_materials(model, decision.dialect)
    names = {material.row: material.name for material in scene.materials}
    counts = model.batches["index_count"].astype(np.int64) // 3
    out = []
    for row in sorted(names):
        mine = meaning.row == row
        lightmaps = sorted({x for x in meaning.lightmap[mine].tolist() if x != NO_LIGHTMAP})
        out.append(
            {
                "row": row,
                "name": names[row],
                "batches": int(mine.sum()),
                "triangles": int(counts[mine].sum()),
                "lightmaps": lightmaps,
                "flags": sorted(set(meaning.flags[mine].tolist())),
            }
        )
    return out


def list_entries(archive: Archive) -> list[Json]:
    """The directory of an NRes file."""
    return [
        {
            "index": i,
            "name": entry.name,
            "type": entry.type_text,
            "attr1": entry.attr1,
            "attr2": entry.attr2,
            "attr3": entry.attr3,
            "size": entry.size,
            "offset": entry.data_offset,
        }
        for i, entry in enumerate(archive.entries)
    ]


# ------------------------------------------------------------------ on a screen


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


def describe_terrain(loaded: LoadedTerrain) -> Json:
    """Return the facts about a terrain as plain JSON values."""
    terrain, faces = loaded.terrain, loaded.terrain.faces
    flags, counts = np.unique(faces["flags"], return_counts=True)
    pairs = np.unique(np.stack([faces["first"], faces["second"]], axis=1), axis=0)
    hull = terrain.header["hull"][0]
    return {
        **_heading(loaded),
        "counts": {
            "vertices": len(terrain.positions),
            "faces": len(faces),
            "fine": len(terrain.faces_of(0)),
            "coarse": len(terrain.faces_of(1)),
            "squares": [terrain.across, terrain.down],
        },
        "box": [hull.min(axis=0).tolist(), hull.max(axis=0).tolist()],
        "materials": [
            material_pair(first, second, loaded.wear, loaded.micro)._asdict() for first, second in pairs.tolist()
        ],
        "flags": {describe_flags(flag): number for flag, number in zip(flags.tolist(), counts.tolist(), strict=True)},
        **_ending(loaded),
    }


def describe_areal_map(loaded: LoadedArealMap) -> Json:
    """Return the facts about an areal map as plain JSON values."""
    areals = loaded.areals
    classes, counts = np.unique(areals.records["class_id"], return_counts=True)
    return {
        **_heading(loaded),
        "counts": {
            "areals": len(areals.records),
            "vertices": len(areals.vertices),
            "cells": [areals.cells_x, areals.cells_y],
            "cell_entries": len(areals.cell_ids),
        },
        "classes": dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True)),
        "area": float(areals.records["area"].astype(np.float64).sum()),
        **_ending(loaded),
    }


def _heading(loaded: LoadedContainer) -> Json:
    return {"name": loaded.name, "bytes": loaded.archive.total_size, "summary": loaded.summary}


def _ending(loaded: LoadedContainer) -> Json:
    findings = [finding.facts() for finding in loaded.findings]
    return {"entries": list_entries(loaded.archive), "findings": findings}


def describe_texture(loaded: LoadedTexture) -> Json:
    """Return the facts about a texture as plain JSON values."""
    texm, keys = loaded.texm, ("x", "y", "width", "height")
    return {
        "name": loaded.name,
        "width": texm.width,
        "height": texm.height,
        "format": texm.format,
        "levels": len(texm.levels),
        "alpha": texm.has_alpha,
        "rectangles": [{key: int(rect[key]) for key in keys} for rect in texm.pages],
    }


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
