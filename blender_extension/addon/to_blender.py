"""A scene of the converter becomes objects of Blender, array by array.

The axes are the same: Z is up in the game and in Blender.

A mesh has one vertex for each place where corners meet, so that moving it moves them all: normals, texture
coordinates, colours and blends are those of corners. Blender has no two faces of the same vertices, and none that
uses a vertex twice; where the game has such, each further one has vertices of its own.

A part that is not shown first is an object below its node, which it follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from .converter.edits.triangles import NORMAL_DEGREES
from .converter.formats.mission import BUILDING, OBJECT_KINDS, UNIT
from .converter.formats.names import stem
from .converter.formats.terrain import COARSE, LEVELS
from .converter.numeric.arrays import row_ids
from .converter.numeric.pose import rotation_matrix
from .converter.scene.assembly import object_key
from .converter.scene.extras import MeshExtras, to_extras
from .converter.scene.scene import Channel, Clip, ImportedNode, ImportedScene, Mesh, Streams
from .editing import Things, mount, placed_things, show_thing
from .game_material import UV_NAMES

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
COLOUR = "Color"
#: Frames of a scene in a second: one of Blender is one of the game.
FPS = 24
#: A key this near to a whole frame is on it.
NEAR = 1e-3
#: On collections that the import switched off, and which these are.
SWITCHED_OFF = "msh_off"
_OFF = (("routes",), ("zones",), ("lodes",), (LEVELS[COARSE],))
_PLURALS = {"building": "buildings", "unit": "units", "vegetation": "vegetation", "rock": "rocks"}
BLEND = "_MSH_BLEND"
#: The number of a face's batch, where its material has several.
BATCH = "msh_batch"


class Builder:
    """Makes the objects of one scene."""

    def __init__(
        self,
        scene: bpy.types.Scene,
        given: ImportedScene,
        materials: list[bpy.types.Material],
        batches: Sequence[int],
        clans: Sequence[str] = (),
        *,
        whole: bool = True,
    ) -> None:
        """Take what is to be made.

        Args:
            given: what they are made of.
            materials: by number of ``given``.
            batches: for each of them the number of its batch.
            clans: of a mission, by row.
            whole: whether what is placed is one thing.
        """
        self.scene, self.given, self.materials, self.clans = scene, given, materials, clans
        self.whole = whole
        self.batches = np.array(batches, np.int32)
        self._homes: dict[tuple[str, ...], bpy.types.Collection] = {}
        self._home(())
        self._meshes: dict[int, bpy.types.Mesh | None] = {}

    def build(self) -> Iterator[float]:
        """Make them; yields how much is done, from 0 to 1."""
        nodes = self.given.nodes
        things = Things([-1] * len(nodes), {})
        if self.whole:
            things = placed_things(nodes, {track.node for clip in self.given.clips for track in clip.tracks})
        made: dict[int, bpy.types.Object] = {}
        yield from self._objects(things, made)
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

    def _objects(self, things: Things, made: dict[int, bpy.types.Object]) -> Iterator[float]:
        """Make the objects of nodes; of things that are placed several times, those below the first."""
        shown: dict[int, bpy.types.Collection] = {}
        groups: dict[int, tuple[str, ...]] = {}
        for i, item in enumerate(self.given.nodes):
            owner = things.owner[i]
            groups[i] = groups.get(item.parent, ()) or self._group_of(item)
            yield i / len(self.given.nodes)
            if owner < 0:
                made[i] = self._object(item)
                self._home(groups[i]).objects.link(made[i])
            elif things.first[owner] == owner:
                made[i] = self._object(item)
                if owner not in shown:
                    shown[owner] = bpy.data.collections.new(stem(object_key(self.given.nodes[owner].extras)))
                shown[owner].objects.link(made[i])
        for thing, first in things.first.items():
            show_thing(made[thing], shown[first])

    def _home(self, path: tuple[str, ...]) -> bpy.types.Collection:
        """The collection of that path below the scene's own."""
        if path not in self._homes:
            home = self._homes[path] = bpy.data.collections.new(".".join((self.scene.name, *path)))
            off = path[:1] in _OFF
            above = self._home(path[:-1]) if path and not off else self.scene.collection
            above.children.link(home)
            if off:
                layer = self.scene.view_layers[0]
                layer.update()  # of a scene that no window shows, Blender 5.2 has no collections before
                layer.layer_collection.children[home.name].exclude = True
                home[SWITCHED_OFF] = True
        return self._homes[path]

    def _group_of(self, item: ImportedNode) -> tuple[str, ...]:
        """The path of the collection that a node goes into: what a mission places by kind, and by clan."""
        kind, number = item.extras.get("kind", ""), item.extras.get("object_kind")
        if (f"{kind}s",) in _OFF:
            return (f"{kind}s",)
        if item.extras.get("level") == COARSE:
            return (LEVELS[COARSE],)
        if kind != "object" or item.parent >= 0 or number is None or not 0 <= number < len(OBJECT_KINDS):
            return ()
        group = _PLURALS[OBJECT_KINDS[number]]
        if number not in (BUILDING, UNIT):
            return (group,)
        clan = item.extras.get("clan", -1)
        return group, (self.clans[clan] if 0 <= clan < len(self.clans) else "") or f"clan {clan}"

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
            self._meshes[number] = new_mesh(mesh, self.given.streams, self.materials, self.batches) if shown else None
        return self._meshes[number]


def new_mesh(
    mesh: Mesh, streams: Streams, materials: Sequence[bpy.types.Material], batches: NDArray[np.int32]
) -> bpy.types.Mesh:
    """Make a mesh.

    Args:
        mesh: it has triangles or lines.
        materials: by number of its primitives.
        batches: for each of them the number of its batch.
    """
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
    own = [materials[p.material] if p.material >= 0 else None for p in mesh.primitives]
    used = [*dict.fromkeys(own)]
    for material in used:
        out.materials.append(material)
    counts = [p.index_count // 3 for p in mesh.primitives]
    corner = streams.corners(mesh.primitives).reshape(-1)
    fill(out, streams, corner, np.repeat([used.index(material) for material in own], counts))
    numbers = np.repeat([batches[p.material] if p.material >= 0 else 0 for p in mesh.primitives], counts)
    if numbers.any():
        out.attributes.new(BATCH, "INT", "FACE").data.foreach_set("value", numbers.astype(np.int32))
    return out


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

    A triangle of the same corners as an earlier one has another vertex at one of them, and one that is twice or
    three times at a place has as many there: no two vertices of a place could be one.

    Args:
        positions: (3T, 3) of the corners.

    Returns:
        (3T,)
    """
    corners = ids(np.ascontiguousarray(positions).view(np.uint32)).reshape(-1, 3)
    face = ids(np.sort(corners, axis=1))
    order = np.argsort(face, kind="stable")
    ordered = face[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    layer = np.empty(len(face), np.int64)  # 0 for the first face of its corners, 1 for the next one ...
    layer[order] = np.arange(len(face)) - np.repeat(starts, np.diff(np.r_[starts, len(face)]))
    number = np.zeros_like(corners)  # of a vertex at its place; 0 is the one that most faces have
    second = corners[:, 1] == corners[:, 0]
    third = (corners[:, 2:] == corners[:, :2]).any(axis=1)
    number[second, 1] = np.where(third, 1, 1 + layer)[second]
    number[third, 2] = np.where(second, 2, 1)[third] + layer[third]
    again = np.flatnonzero((layer > 0) & ~second & ~third)
    often = np.bincount(corners[again].reshape(-1), minlength=int(corners.max(initial=0)) + 1)
    rank = np.argsort(np.argsort(often, kind="stable"), kind="stable")
    number[again, np.argmax(rank[corners[again]], axis=1)] = layer[again]
    vertex = corners * (int(number.max(initial=0)) + 1) + number
    return np.unique(vertex.reshape(-1), return_inverse=True)[1].reshape(-1)


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
