"""Leave hidden nodes of a file out: a model has no hidden nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from ..errors import plural, printable
from ..formats.names import without_number
from ..scene.scene import ImportedNode, ImportedScene, Scene, Track


def leave_out_hidden(given: ImportedScene, is_stored: Callable[[ImportedNode], bool]) -> None:
    """Leave out hidden items that are new; stored ones stay, and are reported.

    Args:
        given: the file; changed in place.
        is_stored: whether an item is in the sidecar's file.
    """
    items = given.nodes
    hidden = [i for i, item in enumerate(items) if item.hidden]
    if not hidden:
        return
    kept = {i for i, item in enumerate(items) if not item.hidden}
    staying = [i for i in hidden if is_stored(items[i])]
    for i in staying:
        while i >= 0:
            kept.add(i)
            i = items[i].parent
    gone = [i for i in hidden if i not in kept]
    if staying:
        _report(given, staying, "", "delete it, or show it")
    if gone:
        _report(given, gone, " and left out", "show it and export again")
    keep_nodes(given, kept)


def keep_nodes(given: ImportedScene, kept: Collection[int]) -> None:
    """Leave all other nodes out of a file, with their tracks; what is below them becomes a root.

    Args:
        given: the file. Changed in place.
        kept: the nodes that stay.
    """
    row_of = {old: new for new, old in enumerate(sorted(kept))}
    given.nodes = [given.nodes[i] for i in sorted(kept)]
    for item in given.nodes:
        item.parent = row_of.get(item.parent, -1)
    given.tracks = _moved(given.tracks, row_of)
    for clip in given.clips:
        clip.tracks = _moved(clip.tracks, row_of)


def _report(given: ImportedScene, rows: list[int], more: str, instead: str) -> None:
    others = f" and {plural(len(rows) - 1, 'other')}" if len(rows) > 1 else ""
    where = f"node {printable(given.nodes[rows[0]].name)!r}{others}"
    given.report.skipped(where, f"{'are' if others else 'is'} hidden{more}", "the game has no hidden nodes", instead)


def _moved(tracks: list[Track], row_of: dict[int, int]) -> list[Track]:
    return [replace(t, node=row_of[t.node]) for t in tracks if t.node in row_of]


def item_of(stored: Scene) -> Callable[[ImportedNode], bool]:
    """Return whether an item is a node or a part of a stored model: by its extras, or its name."""
    names = {node.name for node in stored.nodes} | {mesh.name for mesh in stored.meshes}

    def known(item: ImportedNode) -> bool:
        return "node" in item.extras or bool({item.name, without_number(item.name)} & names)

    return known
