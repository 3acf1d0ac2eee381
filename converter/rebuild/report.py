"""Report what became of every node and part."""

from __future__ import annotations

from ..edits.plan import Plan
from ..errors import printable
from ..scene.scene import Scene


def report_rows(plan: Plan, stored: Scene | None) -> list[dict[str, str]]:
    """Return what was kept, rebuilt, new and deleted: what, name, status and reason of each."""
    scene = plan.identified.scene
    out: list[dict[str, str]] = []

    def say(what: str, name: str, status: str, reason: str) -> None:
        out.append({"what": what, "name": name, "status": status, "reason": reason})

    reasons: dict[str, list[str]] = {}
    for change in plan.report.changes:
        reasons.setdefault(change.where, []).append(change.what)
    for i, node in enumerate(scene.nodes):
        k = plan.identified.stored_of.get(i)
        name = printable(node.name)
        if stored is None or k is None:
            say("node", name, "new", "not in the sidecar" if stored else "no sidecar")
            continue
        where = f"node {printable(stored.nodes[k].name)!r}"
        why = reasons.get(where, []) + reasons.get(f"animation of {where}", [])
        say("node", name, "rebuilt" if why else "kept", "; ".join(why) or "unchanged")
    for part in plan.parts:
        node = scene.nodes[part.part.node]
        name = f"{printable(node.name)}.lod{part.part.lod}.group{part.part.group}"
        where = f"part {printable(node.name)!r} lod {part.part.lod} group {part.part.group}"
        if part.source is not None and not part.copied:
            say("part", name, "moved", "; ".join(reasons[where]))
        elif part.unchanged:
            say("part", name, "kept", "; ".join(reasons.get(where, [part.placed or "unchanged"])))
        elif part.slot is None:
            say("part", name, "new", "not in the sidecar" if stored else "no sidecar")
        else:
            say("part", name, "rebuilt", "; ".join(reasons.get(where, ["changed"])))
    if stored is not None:
        for cells, status, reason in (
            (plan.kept_parts, "kept", "not in the file"),
            (plan.deleted_parts, "deleted", "missing from the file"),
            (plan.replaced_parts, "deleted", "its cell shows another part"),
        ):
            for k, lod, group in cells:
                name = f"{printable(stored.nodes[k].name)}.lod{lod}.group{group}"
                say("part", name, status, reason)
        for k in plan.deleted_nodes:
            say("node", printable(stored.nodes[k].name), "deleted", "missing from the file")
    return out
