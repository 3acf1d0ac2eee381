"""A scene of the converter becomes objects of Blender, array by array.

The axes are the same: Z is up in the game and in Blender.

A mesh has one vertex for each place where corners meet, so that moving it moves them all: normals, texture
coordinates, colours and blends are those of corners. Blender has no two faces of the same vertices, and none that
uses a vertex twice; where the game has such, each further one has vertices of its own.

A part that is not shown first is an object below its node, which it follows.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from .converter.edits.triangles import NORMAL_DEGREES
from .converter.formats.names import stem
from .converter.formats.terrain import COARSE, LEVELS
from .converter.numeric.arrays import row_ids
from .converter.numeric.pose import rotation_matrix
from .converter.scene.assembly import object_key
from .converter.scene.extras import MeshExtras, to_extras
from .converter.scene.scene import Channel, Clip, ImportedNode, ImportedScene, Mesh, Streams
from .game_material import UV_NAMES
from .placed import Things, mount, placed_things, show_thing

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
COLOUR = "Color"
#: Frames of a scene in a second: one of Blender is one of the game.
FPS = 24
#: A key this near to a whole frame is on it.
NEAR = 1e-3
#: On collections that the import switched off.
SWITCHED_OFF = "msh_off"
BLEND = "_MSH_BLEND"
#: The number of a face's batch, where its material has several.
BATCH = "msh_batch"


class Builder:
    """Makes the objects of one scene."""

    def __init__(
        self, scene: bpy.types.Scene, given: ImportedScene, materials: list[bpy.types.Material], batches: Sequence[int]
    ) -> None:
        self.scene, self.given, self.materials = scene, given, materials
        self.batches = np.array(batches, np.int32)
        self._homes: dict[str, bpy.types.Collection] = {}
        self._home("")
        self._meshes: dict[int, bpy.types.Mesh | None] = {}

    def build(self) -> None:
        """Make them."""
        nodes = self.given.nodes
        things = placed_things(nodes, {track.node for clip in self.given.clips for track in clip.tracks})
        made = self._objects(things)
        owners = {
            item.extras["node"]: i for i, item in enumerate(nodes) if "node" in item.extras and "lod" not in item.extras
        }
        for i, item in enumerate(nodes):
            if "lod" in item.extras and item.parent < 0 and item.extras.get("node") in owners:
                made[i].parent = made[owners[item.extras["node"]]]  # where the node is, whatever it does
                made[i].matrix_basis.identity()
            elif item.parent >= 0 and i in made and things.owner[i] != item.parent:
                above = things.owner[item.parent] if things.owner[i] < 0 else -1
                made[i].parent = made[item.parent if above < 0 else above]
                if above >= 0:
                    mount(made[i], nodes[item.parent].extras["node"])
        for clip in self.given.clips:
            _animate(clip, made)

    def _objects(self, things: Things) -> dict[int, bpy.types.Object]:
        """The objects of nodes; of things that are placed several times, those below the first."""
        made, shown = {}, {}
        for i, item in enumerate(self.given.nodes):
            owner = things.owner[i]
            if owner < 0:
                made[i] = self._object(item)
                self._home(_group_of(item)).objects.link(made[i])
            elif things.first[owner] == owner:
                made[i] = self._object(item)
                if owner not in shown:
                    shown[owner] = bpy.data.collections.new(stem(object_key(self.given.nodes[owner].extras)))
                shown[owner].objects.link(made[i])
        for thing, first in things.first.items():
            show_thing(made[thing], shown[first])
        return made

    def _home(self, name: str) -> bpy.types.Collection:
        """The collection of that name; the scene's own, which has none, is the only one that is switched on."""
        if name not in self._homes:
            full = f"{self.scene.name}.{name}" if name else self.scene.name
            home = self._homes[name] = bpy.data.collections.new(full)
            self.scene.collection.children.link(home)
            layer = self.scene.view_layers[0].layer_collection.children[home.name]
            layer.exclude = bool(name)
            if name:
                home[SWITCHED_OFF] = True
        return self._homes[name]

    def _object(self, item: ImportedNode) -> bpy.types.Object:
        out = bpy.data.objects.new(item.name or "node", self._mesh(item.mesh))
        out.rotation_mode = "QUATERNION"
        out.location = item.translation.tolist()
        out.rotation_quaternion = item.rotation.tolist()
        if item.linear is not None:
            out.scale = np.linalg.norm(rotation_matrix(item.rotation).T @ item.linear, axis=0).tolist()
        if out.data is None:
            out.empty_display_size = 0.25
            if item.extras.get("kind") == "point":  # along its direction, which is the z axis
                out.empty_display_type = "SINGLE_ARROW"
        for key, value in {**item.typed, **(to_extras(item.extras) if item.extras else {})}.items():
            out[key] = value
        return out

    def _mesh(self, number: int) -> bpy.types.Mesh | None:
        if number not in self._meshes:
            mesh = self.given.meshes[number] if number >= 0 else None
            shown = mesh is not None and (mesh.drawn or mesh.lines)
            self._meshes[number] = self._new_mesh(mesh) if shown else None
        return self._meshes[number]

    def _new_mesh(self, mesh: Mesh) -> bpy.types.Mesh:
        out = bpy.data.meshes.new(mesh.name)
        if mesh.slot is not None:
            values = MeshExtras(slot=mesh.slot, lod=mesh.lod or 0, group=mesh.group or 0)
            for key, value in to_extras(values).items():
                out[key] = value
        if mesh.lines:
            ends = np.concatenate(mesh.lines).reshape(-1, 3)
            points = row_ids((ends + np.float32(0)).view(np.uint32).astype(np.uint64))
            first = np.unique(points, return_index=True)[1]
            out.from_pydata(ends[first], points.reshape(-1, 2), [])
        if not mesh.drawn:
            return out
        streams = self.given.streams
        own = [self.materials[p.material] if p.material >= 0 else None for p in mesh.primitives]
        used = [*dict.fromkeys(own)]
        for material in used:
            out.materials.append(material)
        corner = np.concatenate(
            [
                streams.indices[p.index_start : p.index_start + p.index_count].astype(np.int64) + p.vertex_start
                for p in mesh.primitives
            ]
        )
        counts = [p.index_count // 3 for p in mesh.primitives]
        fill(out, streams, corner, np.repeat([used.index(material) for material in own], counts))
        numbers = np.repeat([self.batches[p.material] if p.material >= 0 else 0 for p in mesh.primitives], counts)
        if numbers.any():
            out.attributes.new(BATCH, "INT", "FACE").data.foreach_set("value", numbers.astype(np.int32))
        return out


def _group_of(item: ImportedNode) -> str:
    """The collection that a node goes into."""
    kind = item.extras.get("kind", "")
    if kind in ("route", "zone", "lode"):
        return f"{kind}s"
    return LEVELS[COARSE] if item.extras.get("level") == COARSE else ""


def fill(out: bpy.types.Mesh, streams: Streams, corner: I64, slots: I64) -> None:
    """Give an empty mesh its triangles.

    Args:
        corner: (3T,) row of the streams for each corner.
        slots: (T,) material slot.
    """
    positions = streams.positions[corner] + np.float32(0)
    vertex = weld(positions)
    _, first = np.unique(vertex, return_index=True)
    out.vertices.add(len(first))
    out.vertices.foreach_set("co", positions[first].reshape(-1))
    out.loops.add(len(corner))
    out.loops.foreach_set("vertex_index", vertex.astype(np.int32))
    out.polygons.add(len(slots))
    out.polygons.foreach_set("loop_start", np.arange(0, len(corner), 3, dtype=np.int32))
    out.polygons.foreach_set("material_index", slots.astype(np.int32))
    for name, uv in zip(UV_NAMES, (streams.uv0, streams.uv1), strict=True):
        if uv is not None:
            flipped = uv[corner].astype(np.float32)
            flipped[:, 1] = 1 - flipped[:, 1]
            out.uv_layers.new(name=name, do_init=False).uv.foreach_set("vector", flipped.reshape(-1))
    if out.uv_layers:
        out.uv_layers.active = out.uv_layers[0]
    if streams.colours is not None:
        layer = out.color_attributes.new(COLOUR, "FLOAT_COLOR", "CORNER")
        layer.data.foreach_set("color", (streams.colours[corner] / np.float32(255)).reshape(-1))
    if streams.blend is not None:
        out.attributes.new(BLEND, "FLOAT", "CORNER").data.foreach_set("value", streams.blend[corner])
    out.update(calc_edges=True)
    if streams.normals is not None:
        normals = streams.normals[corner]
        out.normals_split_custom_set(normals)
        _remember(out, normals)


#: A normal that Blender cannot hold, such as that of a face without area, and what it shows instead.
NORMAL, SHOWN_NORMAL = "msh_normal", "msh_shown_normal"


def _remember(out: bpy.types.Mesh, normals: F32) -> None:
    """Keep the normals that Blender shows otherwise; (3T, 3)."""
    shown = np.empty(normals.size, np.float32)
    out.corner_normals.foreach_get("vector", shown)
    apart = np.einsum("ni,ni->n", shown.reshape(-1, 3), normals) < np.cos(np.radians(NORMAL_DEGREES / 2))
    if apart.any():
        for name, values in ((NORMAL, normals), (SHOWN_NORMAL, shown.reshape(-1, 3))):
            kept = np.where(apart[:, None], values, 0).astype(np.float32)
            out.attributes.new(name, "FLOAT_VECTOR", "CORNER").data.foreach_set("vector", kept.reshape(-1))


def weld(positions: F32) -> I64:
    """Number the vertices of triangles: corners at one place have one, as far as Blender can hold that.

    Args:
        positions: (3T, 3) of the corners.

    Returns:
        (3T,)
    """
    place = ids(np.ascontiguousarray(positions).view(np.uint32))
    corners = np.sort(place.reshape(-1, 3), axis=1)
    flat = (corners[:, 0] == corners[:, 1]) | (corners[:, 1] == corners[:, 2])
    face = ids(corners)
    order = np.argsort(face, kind="stable")
    ordered = face[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    layer = np.empty(len(face), np.int64)  # 0 for the first face of its vertices, 1 for the next one ...
    layer[order] = np.arange(len(face)) - np.repeat(starts, np.diff(np.r_[starts, len(face)]))
    vertex = place * (int(layer.max(initial=0)) + 1) + np.repeat(layer, 3)
    lone = np.flatnonzero(np.repeat(flat, 3))
    vertex[lone] = int(vertex.max(initial=0)) + 1 + np.arange(len(lone))
    return np.unique(vertex, return_inverse=True)[1].reshape(-1)


def ids(rows: NDArray[np.integer]) -> I64:
    """Number distinct rows, by a hash that is checked. (n, k) -> (n,)."""
    mixed = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, first, found = np.unique(mixed, return_index=True, return_inverse=True)
    found = found.reshape(-1)
    if np.array_equal(rows[first[found]], rows):
        return found
    return row_ids(rows.astype(np.uint64))


def _animate(clip: Clip, made: dict[int, bpy.types.Object]) -> None:
    """Give objects the keys of a clip: one action for all, where Blender has such."""
    action = None
    for track in clip.tracks:
        one = made[track.node]
        if action is None or not hasattr(action, "slots"):
            action = bpy.data.actions.new(clip.name if hasattr(bpy.types, "ActionSlot") else f"{clip.name}_{one.name}")
        data = one.animation_data_create()
        data.action = action
        curves = action.fcurves if not hasattr(action, "slots") else _channels(action, one)
        for path, channel in (("location", track.translation), ("rotation_quaternion", track.rotation)):
            if channel is not None:
                _key(curves, path, channel)


def _channels(action: bpy.types.Action, one: bpy.types.Object):
    """The curves of an object in an action with slots."""
    if not action.layers:
        action.layers.new("layer").strips.new(type="KEYFRAME")
    slot = action.slots.new("OBJECT", one.name)
    one.animation_data.action_slot = slot
    return action.layers[0].strips[0].channelbag(slot, ensure=True).fcurves


def _key(curves, path: str, channel: Channel) -> None:
    frames = channel.frames * FPS
    whole = np.rint(frames)
    frames = np.where(np.abs(frames - whole) < NEAR, whole, frames)  # seconds are binary32
    values = channel.values
    if path == "rotation_quaternion":  # Blender turns them component by component: no jump to the other sign
        turned = np.einsum("ti,ti->t", values[1:], values[:-1]) < 0
        values = values * np.where(np.r_[0, np.cumsum(turned)] % 2, -1.0, 1.0)[:, None]
    mode = "CONSTANT" if channel.interpolation == "STEP" else "LINEAR"
    number = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items[mode].value
    for axis in range(values.shape[1]):
        curve = curves.new(path, index=axis)
        curve.keyframe_points.add(len(frames))
        curve.keyframe_points.foreach_set("co", np.stack([frames, values[:, axis]], axis=1).reshape(-1))
        curve.keyframe_points.foreach_set("interpolation", [number] * len(frames))
        curve.update()
