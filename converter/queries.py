"""What the runtime asks a model (core page, 6)."""

from __future__ import annotations

from converter.model import MshModel
from converter.tables import GROUP_COUNT, LOD_COUNT, NONE16


def slot_for(
    model: MshModel, node: int, lod: int = -1, group: int = 0, current_lod: int = 0
) -> int | None:
    """The slot of a node's part, ``None`` if it has none (``sub_100124D0``; core page, 6.1).

    Args:
        model: not a legacy one.
        node: node index.
        lod: level of detail 0..2; -1 stands for ``current_lod``.
        group: 0..4.
        current_lod: the instance's level of detail.

    Raises:
        IndexError: a node, lod or group that does not exist (the runtime would read other bytes).
    """
    use_lod = current_lod if lod == -1 else lod
    if not (0 <= node < len(model.nodes) and 0 <= use_lod < LOD_COUNT and 0 <= group < GROUP_COUNT):
        raise IndexError(f"no cell (node {node}, lod {use_lod}, group {group})")
    slot = int(model.nodes["slot_index"][node, use_lod, group])
    return None if slot == NONE16 else slot


def node_string(model: MshModel, node: int) -> bytes | None:
    """Res10's string of a node; ``None`` where its length is 0 (``sub_10012530``; 6.2)."""
    return model.strings.text(node) if model.strings is not None else None
