"""What Blender shows and its glTF exporter leaves out: collections are carried over, the rest is named.

An object that is in the collection of another level of detail or clan than the one it was imported into was
dragged there: the collection counts. Custom properties say where objects were: ``msh_cell`` of a collection,
``msh_home`` of an object.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import bpy
import numpy as np

from .converter.findings import NotApplied
from .converter.formats.mission import BUILDING, UNIT
from .converter.formats.names import without_number
from .converter.judge.shown import some_of, world_poses
from .converter.options import ExportOptions
from .converter.scene.scene import Channel, Track, node_of_part, part_name, read_part_name
from .importers.gltf import read_gltf
from .levels import about

CELL, HOME, CLANS, CLAN = "msh_cell", "msh_home", "msh_clans", "clan "
#: What an exported animation may move.
_MOVES = ("location", "rotation", "scale", "delta_")
#: Blender's matrices are float32.
_NOISE = 1e-4
_KEEP = "make the edit in another way"


# ------------------------------------------------------------------ collections


def remember_cells(scene: bpy.types.Scene, clans: Sequence[str] = ()) -> None:
    """Note what each collection stands for, and where its objects are.

    Args:
        scene: a model, or a mission that is sorted by kind and clan.
        clans: names of the mission's clans by row; empty for a model.
    """
    scene.collection[CLANS] = list(clans)
    for home in scene.collection.children_recursive if clans else scene.collection.children:
        said = [about(one) for one in home.objects]
        if clans:
            cells = [f"{CLAN}{one['clan']}" for one in said if one.get("object_kind") in (BUILDING, UNIT)]
        else:
            cells = [part_name("", one["lod"], one["group"]) for one in said if {"lod", "group"} <= set(one.keys())]
        if cells or not clans:
            home[CELL] = cells[0] if cells else ""
            for one in home.objects:
                one[HOME] = home[CELL]


def _cell(scene: bpy.types.Scene, home: bpy.types.Collection) -> str | None:
    """What a collection stands for; one that the user made and called after a clan stands for it."""
    if CELL in home:
        return str(home[CELL])
    name = without_number(home.name)
    rows = [row for row, title in enumerate(scene.collection.get(CLANS, ())) if title and name.endswith(f".{title}")]
    return f"{CLAN}{rows[0]}" if rows else None


@contextlib.contextmanager
def collections_count(scene: bpy.types.Scene, found: list[NotApplied]) -> Iterator[None]:
    """Give objects that were dragged to another collection what it stands for, while the scene is exported.

    Args:
        scene: it is exported.
        found: gets what no collection can say.
    """
    undo: list[Callable[[], None]] = []
    for home in scene.collection.children_recursive:
        cell = _cell(scene, home)
        for one in home.objects if cell is not None else ():
            if one.get(HOME) == cell or (not about(one) and one.type != "MESH"):
                continue
            now = _of_clan(one, cell) if cell.startswith(CLAN) else _of_cell(scene, one, cell, found)
            if "lod" in now and "lod" not in about(one):
                undo.append(_as_part(scene, one, cell))
            undo.append(partial(_say, one, {key: one["msh"].get(key) for key in now}))
            _say(one, now)
    try:
        yield
    finally:
        for step in reversed(undo):
            step()


def _say(one: bpy.types.Object, values: dict[str, int | None]) -> None:
    for key, value in values.items():
        if value is not None:
            one["msh"][key] = value
        elif key in one["msh"]:
            del one["msh"][key]


def _as_part(scene: bpy.types.Scene, one: bpy.types.Object, cell: str) -> Callable[[], None]:
    """Call a copy of a node like a part, on its own; return what undoes it."""
    name, above, world = one.name, one.parent, one.matrix_world.copy()
    before = one.parent_type, one.parent_bone, one.matrix_parent_inverse.copy(), one.matrix_basis.copy()
    node = next(
        other.name for other in scene.objects if other is not one and about(other).get("node") == one["msh"]["node"]
    )
    one.parent = None
    one.matrix_world = world
    one.name = f"{node_of_part(without_number(node))}{cell}"

    def back() -> None:
        one.name, one.parent = name, above
        one.parent_type, one.parent_bone, one.matrix_parent_inverse, one.matrix_basis = before

    return back


def _of_clan(one: bpy.types.Object, cell: str) -> dict[str, int]:
    return {"clan": int(cell.removeprefix(CLAN))} if about(one).get("kind") == "object" else {}


def _of_cell(scene: bpy.types.Scene, one: bpy.types.Object, cell: str, found: list[NotApplied]) -> dict[str, int]:
    """The cell of a collection for a part, or for a copy of a node."""
    to = read_part_name(f"x{cell}")
    said, stated = about(one), read_part_name(without_number(one.name))
    homes = [other.get(CELL) for other in one.users_collection]
    if to is not None and stated is not None and stated[1:3] == to[1:3]:
        return {}
    why = ""
    if len(homes) > 1 and HOME in one:
        why = "it is in its own collection, too; a part is of one level: make a copy of it"
    elif to is None:
        why = "" if HOME not in one else "only nodes are in the first collection: copy its mesh into the node's"
    elif "node" not in said:
        why = "it belongs to no node: call it NODE.lodL.groupG"
    elif "lod" not in said and not any(
        other is not one and about(other).get("node") == said["node"] and "lod" not in about(other)
        for other in scene.objects
    ):
        why = "it is a node, which has no level of detail: copy it there instead"
    if why:
        reason, _, instead = why.partition(": ")
        found.append(_line(one, f"was put into collection {one.users_collection[0].name!r}", reason, instead))
    return {} if why or to is None else {"lod": to.lod, "group": to.group}


# ------------------------------------------------------------------ what is left out


def _line(one: bpy.types.Object | bpy.types.Material, what: str, why: str, instead: str) -> NotApplied:
    kind = "material" if isinstance(one, bpy.types.Material) else "object"
    return NotApplied(where=f"{kind} {one.name!r}", what=what, why=why, instead=instead)


def left_out(scene: bpy.types.Scene, gltf: Path) -> list[NotApplied]:
    """Return what a scene shows that its exported file does not.

    Args:
        scene: as it was exported; it is in Blender's window.
        gltf: the file.
    """
    things = [one for one in scene.objects if one.type == "MESH"]
    materials = {slot.material: None for one in things for slot in one.material_slots if slot.material}
    out = [line for material in materials for line in _of_material(material)]
    out += [line for one in things for line in _painted(one)]
    out += [line for one in scene.objects for line in _animated(one)]
    return out + _flattened(scene, gltf)


def _of_material(material: bpy.types.Material) -> Iterator[NotApplied]:
    """Nodes that change the colour on its way to the shader, and animation."""
    tree = material.node_tree
    if tree is None:
        return
    for shader in [node for node in tree.nodes if node.type == "BSDF_PRINCIPLED"]:
        names = dict.fromkeys(node.label or node.name for node in _between(shader.inputs["Base Color"]))
        for name in names:
            what = f"has a node {name!r} between its picture and its shader"
            why = "neither glTF nor the game has it, and what it does is not exported"
            yield _line(material, what, why, "bake it into the picture, or take it out")
    if tree.animation_data is not None and (tree.animation_data.action or tree.animation_data.drivers):
        yield _line(material, "is animated", "glTF has no animation of materials", _KEEP)


def _between(socket: bpy.types.NodeSocket) -> Iterator[bpy.types.Node]:
    """Nodes above a socket that Blender's glTF exporter does not know."""
    for link in socket.links:
        node = link.from_node
        if node.type in ("TEX_IMAGE", "RGB", "VERTEX_COLOR", "ATTRIBUTE"):
            continue
        if node.type == "REROUTE":
            yield from _between(node.inputs[0])
            continue
        colours = [one for one in node.inputs if one.type == "RGBA" and one.enabled]
        if not (node.type in ("MIX", "MIX_RGB") and node.blend_type == "MULTIPLY" and _whole(node)):
            yield node
        for one in colours:
            yield from _between(one)


def _whole(node: bpy.types.Node) -> bool:
    """Whether a mix is whole."""
    factor = next(one for one in node.inputs if one.type == "VALUE" and one.enabled)
    return not factor.is_linked and factor.default_value > 1 - _NOISE


def _painted(one: bpy.types.Object) -> Iterator[NotApplied]:
    """Colours that no material of an object uses: they are not exported."""
    layer = one.data.color_attributes.active_color
    trees = [slot.material.node_tree for slot in one.material_slots if slot.material]
    used = any(node.type in ("VERTEX_COLOR", "ATTRIBUTE") for tree in trees if tree for node in tree.nodes)
    if layer is None or used or not len(layer.data):
        return
    colours = np.empty(4 * len(layer.data), np.float32)
    layer.data.foreach_get("color", colours)
    if colours.min() < 1 - _NOISE:
        yield _line(
            one,
            f"has painted colours ({layer.name!r})",
            "no material of it shows them, so they are not exported",
            "paint the picture; of a model with colours, add a Color Attribute node to the material",
        )


def _animated(one: bpy.types.Object) -> Iterator[NotApplied]:
    """Curves of what an animation of a model cannot move."""
    data = one.animation_data
    paths = dict.fromkeys(curve.data_path for curve in _curves(data)) if data is not None else {}
    for path in paths:
        if not path.startswith((*_MOVES, "modifiers", '["', "pose.")):
            yield _line(one, f"has keys of {path}", "models of the game move, and nothing else of them changes", _KEEP)


def _curves(data: bpy.types.AnimData) -> Iterable[bpy.types.FCurve]:
    action = data.action
    if action is None:
        return ()
    layers = getattr(action, "layers", None)
    if not layers:
        return getattr(action, "fcurves", ())
    slot = data.action_slot
    return [c for layer in layers for strip in layer.strips for c in getattr(strip.channelbag(slot), "fcurves", ())]


# ------------------------------------------------------------------ motion


def _flattened(scene: bpy.types.Scene, gltf: Path) -> list[NotApplied]:
    """What drivers, constraints and modifiers move, where the file has one pose, or one shape."""
    moved = [one for one in scene.objects if _is_driven(one)]
    shaped = [one for one in scene.objects if one.type == "MESH" and any(m.show_viewport for m in one.modifiers)]
    if not moved and not shaped:
        return []
    frames = scene.frame_start + some_of(scene.frame_end - scene.frame_start + 1)
    given = read_gltf(gltf, all_scenes=True)
    tracks: dict[int, Track] = {}
    for clip in given.clips:
        for track in clip.tracks:
            tracks.setdefault(track.node, _in_frames(track))
    world = world_poses(given.nodes, list(tracks.values()), frames.astype(np.float64))
    rows = {node.name: i for i, node in enumerate(given.nodes)}
    now, away, shapes, changed = scene.frame_current, dict.fromkeys(moved, 0.0), {}, set()
    try:
        for at, frame in enumerate(frames.tolist()):
            scene.frame_set(frame)
            graph = bpy.context.evaluated_depsgraph_get()
            for one in moved:
                if one.name in rows:
                    apart = np.abs(np.array(one.evaluated_get(graph).matrix_world) - world[rows[one.name], at]).max()
                    away[one] = max(away[one], float(apart) / max(1.0, float(np.abs(world[rows[one.name], at]).max())))
            for one in shaped:
                shape = _shape(one.evaluated_get(graph))
                first = shapes.setdefault(one, shape)
                if shape.shape != first.shape or np.abs(shape - first).max(initial=0) > _NOISE:
                    changed.add(one)
    finally:
        scene.frame_set(now)
    out = [
        _line(
            one,
            f"is moved by a {'constraint' if one.constraints else 'driver'}",
            f"the file has one pose of it, which is up to {away[one]:.2g} away at other frames",
            "Object > Animation > Bake Action makes keys of it",
        )
        for one in moved
        if away[one] > 10 * _NOISE
    ]
    why = "shapes of models do not change with time: the file has that of the current frame"
    return out + [_line(one, "changes its shape with time", why, "move it with nodes of their own") for one in changed]


def _is_driven(one: bpy.types.Object) -> bool:
    drivers = one.animation_data.drivers if one.animation_data is not None else ()
    return any(not c.mute for c in one.constraints) or any(d.data_path.startswith(_MOVES) for d in drivers)


def _in_frames(track: Track) -> Track:
    def moved(channel: Channel | None) -> Channel | None:
        if channel is None:
            return None
        return Channel(channel.frames * ExportOptions().fps, channel.values, channel.interpolation)

    return Track(track.node, moved(track.rotation), moved(track.translation))


def _shape(one: bpy.types.Object) -> np.ndarray:
    mesh = one.to_mesh()
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    one.to_mesh_clear()
    return points
