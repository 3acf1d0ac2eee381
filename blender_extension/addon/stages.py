"""The damage stages and levels of detail of a model: one of each is seen, the panel's sliders choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bpy

from .converter.scene.dialect import Dialect
from .converter.scene.part_names import VIEW


def about(thing: bpy.types.ID) -> Mapping:
    """What a thing says of itself; empty where it says nothing."""
    found = thing.get("msh")
    return found if hasattr(found, "get") else {}


def plain_items(thing: bpy.types.ID) -> dict[str, Any]:
    """The custom properties of a thing, as plain values."""
    return {key: _plain(value) for key, value in thing.items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return value.to_list() if hasattr(value, "to_list") else value


def cell_of(one: bpy.types.Object, shown: tuple[int, int]) -> tuple[int, int] | None:
    """The row and column that an object's mesh is in; ``None``: it is no part of a model.

    Args:
        shown: the cell whose parts are the meshes of the nodes themselves.
    """
    said = about(one)
    if one.type != "MESH" or "node" not in said:
        return None
    if "lod" not in said:
        return shown
    cell = said.get("lod", 0), said.get("group", 0)
    return (cell[0], VIEW) if cell == shown else cell  # beside the node's own mesh: of the view from inside


def show_cells(scene: bpy.types.Scene) -> None:
    """Show the parts of the chosen stage and level, and hide the others."""
    state, said = scene.msh_gltf, about(scene)
    if state.kind != "model":
        return
    shown = said.get("lod", 0), said.get("group", 0)
    wanted = (state.stage, state.level) if state.dialect == Dialect.RETAIL.value else (state.level, state.stage)
    for one in scene.objects:
        cell = cell_of(one, shown)
        if cell is not None:
            one.hide_render = cell != wanted
            for layer in scene.view_layers:  # the eye of the outliner: what it hides is evaluated all the same
                if one.name in layer.objects:
                    one.hide_set(cell != wanted, view_layer=layer)
