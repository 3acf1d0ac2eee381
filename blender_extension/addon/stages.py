"""The damage stages and levels of detail of a model: one of each is seen, the panel's sliders choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bpy

from .converter.scene.dialect import VIEW, Dialect, read_part_name


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


def dialect_of(scene: bpy.types.Scene) -> Dialect:
    """The dialect of a scene's model; of one that was made here, that of the game's."""
    return Dialect(scene.msh_gltf.dialect or Dialect.RETAIL)


def cell_of(one: bpy.types.Object, shown: tuple[int, int]) -> tuple[int, int] | None:
    """The row and column that an object's mesh is in, by what it says of itself or is called; ``None``: it has none.

    Args:
        shown: the cell whose parts are the meshes of the nodes themselves.
    """
    said = about(one)
    if one.type != "MESH":
        return None
    if "lod" not in said:
        named = read_part_name(one.name)
        return shown if named is None else (named.lod, named.group)
    cell = said.get("lod", 0), said.get("group", 0)
    return (cell[0], VIEW) if cell == shown else cell  # beside the node's own mesh: of the view from inside


def show_cells(scene: bpy.types.Scene) -> None:
    """Show the parts of the chosen stage and level, and hide the others; where there are none, of the one before it."""
    state, said = scene.msh_gltf, about(scene)
    if state.kind not in ("", "model"):
        return
    shown, retail = (said.get("lod", 0), said.get("group", 0)), dialect_of(scene) is Dialect.RETAIL
    cells = {one: cell for one in scene.objects if (cell := cell_of(one, shown)) is not None}
    there = {cell if retail else cell[::-1] for cell in cells.values()}
    stage = max((one for one, _ in there if one <= state.stage), default=state.stage)
    level = max((one for of, one in there if of == stage and one <= state.level), default=state.level)
    for name, value in (("stage", stage), ("level", level)):
        if getattr(state, name) != value:
            setattr(state, name, value)  # the slider stops at the last one
    wanted = (stage, level) if retail else (level, stage)
    for one, cell in cells.items():
        one.hide_render = cell != wanted
        for layer in scene.view_layers:  # the eye of the outliner: what it hides is evaluated all the same
            if one.name in layer.objects:
                one.hide_set(cell != wanted, view_layer=layer)
