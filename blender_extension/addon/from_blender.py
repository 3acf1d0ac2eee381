"""Objects of Blender become what the converter imports, array by array; as Blender shows them.

What the bridge cannot carry goes through Blender's glTF add-on (:func:`needs_gltf`): skeletons, constraints,
and whatever else moves objects or makes their shapes besides keys and modifiers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Matrix, Quaternion
from numpy.typing import NDArray

from .converter.errors import ConversionError, called
from .converter.findings import Report, Subject
from .converter.numeric.arrays import NONE16
from .converter.scene.extras import FileInfo, MeshExtras, NodeExtras, read_extras, typed_extras
from .converter.scene.scene import Channel, Clip, ImportedNode, ImportedScene, Mesh, Track
from .editing import free_constraints, socket_of
from .importers.gltf import read_flags, require_finite
from .importers.gltf_mesh import StreamBuilder
from .materials import fill_in, looks
from .state import plain_items
from .to_blender import BATCH, FPS, NEAR, NORMAL, SHOWN_NORMAL, ids

#: Attributes of our own, and what other meshes have in their place.
_OWN = ("_MSH_BLEND", "_MSH_AREAL", "_MSH_LOGIC")
_PATHS = {"location": 3, "rotation_quaternion": 4, "rotation_euler": 3, "scale": 3}
#: Scale that rounding makes of none.
_SCALE_NOISE = 1e-5
_MAX_SCALE_CHANGE = 1e-4
_NORMAL_NOISE = 1e-3


def needs_gltf(scene: bpy.types.Scene) -> bool:
    """Whether something of a scene is beyond the bridge."""
    return any(_is_beyond(one) for one in everything(scene))


def everything(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The objects of a scene, and those that they are instances of, each once."""
    found = dict.fromkeys(scene.objects)
    homes = [*found]
    shown: set[bpy.types.Collection] = set()
    for one in homes:
        home = one.instance_collection if one.instance_type == "COLLECTION" else None
        if home is not None and home not in shown:
            shown.add(home)
            new = [thing for thing in home.all_objects if thing not in found]
            found.update(dict.fromkeys(new))
            homes += new
    return [*found]


def _is_beyond(one: bpy.types.Object) -> bool:
    data = one.animation_data
    moved = data is not None and (
        any(not track.mute and track.strips for track in data.nla_tracks)
        or len(data.drivers)
        or any(curve.data_path not in _PATHS for curve in curves_of(one))
    )
    return bool(
        one.type not in ("MESH", "EMPTY", "CAMERA", "LIGHT")
        or moved
        or free_constraints(one)
        or (one.parent is not None and one.parent_type != "OBJECT")
        or one.instance_type not in ("NONE", "COLLECTION")
        or one.rotation_mode == "AXIS_ANGLE"
        or len(one.particle_systems)
        or one.rigid_body
        or any(modifier.type in ("NODES", "ARMATURE") for modifier in one.modifiers)
        or (one.type == "MESH" and one.data.shape_keys is not None)
        or _has_deltas(one)
    )


def _has_deltas(one: bpy.types.Object) -> bool:
    still = Matrix.LocRotScale(one.delta_location, one.delta_rotation_quaternion, one.delta_scale)
    return still != Matrix.Identity(4) or any(one.delta_rotation_euler)


def curves_of(one: bpy.types.Object) -> list[bpy.types.FCurve]:
    """The curves that move an object."""
    data = one.animation_data
    if data is None or data.action is None:
        return []
    if not hasattr(data.action, "layers"):
        return [*data.action.fcurves]
    slot = data.action_slot
    bags = [strip.channelbag(slot) for layer in data.action.layers for strip in layer.strips] if slot else []
    return [curve for bag in bags if bag is not None for curve in bag.fcurves]


def read_scene(context: bpy.types.Context, *, lines: bool) -> ImportedScene:
    """Return what a scene shows.

    Args:
        context: Blender's; everything of its scene is evaluated.
        lines: whether edges without faces count, as those of a mission's routes.

    Raises ConversionError: custom properties that are not valid, numbers that are not finite.
    """
    return _Reader(context, lines).read()


def read_parts(context: bpy.types.Context) -> tuple[ImportedScene, list[tuple[bpy.types.Material, int]]]:
    """Return what a scene shows, and for each of its materials the one of Blender and the number of its batch."""
    reader = _Reader(context, lines=False)
    out, materials = reader.read(), [*reader.rows]
    return out, [(materials[row], batch) for row, batch in reader.kinds]


class _Reader:
    """Reads one scene; holds what its steps have in common."""

    def __init__(self, context: bpy.types.Context, lines: bool) -> None:
        self.context, self.lines = context, lines
        self.scene = context.scene
        self.report = Report()
        self.items: list[tuple[bpy.types.Object, int, Matrix | None]] = []  # object, parent, place instead of its own
        self.nodes: dict[bpy.types.Object, ImportedNode] = {}
        self.vertices = StreamBuilder()
        self.meshes: list[Mesh] = []
        self.mesh_of: dict[tuple[Any, ...], int] = {}
        self.rows: dict[bpy.types.Material, int] = {}
        self.kinds: dict[tuple[int, int], int] = {}  # a look and the number of a batch: material of the scene

    def read(self) -> ImportedScene:
        self._add(self.scene.objects, -1, None)
        shown = {one.data for one, *_ in self.items if one.type == "MESH"}
        layers = [*dict.fromkeys(layer.name for mesh in shown for layer in mesh.uv_layers)]
        used = [
            slot.material
            for one, *_ in self.items
            if one.type == "MESH"
            for slot in one.material_slots
            if slot.material is not None
        ]
        self.rows = {material: row for row, material in enumerate(dict.fromkeys(used))}
        self.looks = looks(self.context, [*self.rows], layers, self.report)
        self.graph = self.context.evaluated_depsgraph_get()
        out = ImportedScene(self.scene.name, read_extras(FileInfo, plain_items(self.scene)), report=self.report)
        out.nodes = [self._node(*item) for item in self.items]
        out.meshes, out.streams = self.meshes, self.vertices.streams()
        fill_in(out, self.looks, self.kinds)
        out.fps = float(FPS)
        out.clips = self._clips()
        require_finite(out, f"scene {called(self.scene.name)}")
        return out

    # -------------------------------------------------------------- objects

    def _add(self, objects: Iterable[bpy.types.Object], parent: int, offset: Matrix | None) -> None:
        """Add objects, and those below them, parents first."""
        there = [*objects]
        known = set(there)
        below: dict[bpy.types.Object | None, list[bpy.types.Object]] = {}
        for one in there:
            below.setdefault(one.parent if one.parent in known else None, []).append(one)
        waiting = [(one, parent) for one in reversed(below.get(None, []))]
        while waiting:
            one, above = waiting.pop()
            children = below.get(one, [])
            if one.type in ("CAMERA", "LIGHT") and not children:
                continue
            own = len(self.items)
            place = None
            if above == parent and (offset is not None or one.parent is not None):
                # Blender shows it where it stands by itself, whatever it is below
                own_place = _local(one) if one.parent is None else one.matrix_world
                place = (offset or Matrix.Identity(4)) @ own_place
            self.items.append((one, above, place))
            if one.instance_type == "COLLECTION" and one.instance_collection is not None:
                away = one.instance_collection.instance_offset
                moved = Matrix.Translation(-away) if any(away) else None
                self._add(one.instance_collection.all_objects, own, moved)
            inside = {thing: own + 1 + row for row, (thing, *_) in enumerate(self.items[own + 1 :])}
            waiting += [(child, inside.get(socket_of(child), own)) for child in reversed(children)]

    def _node(self, one: bpy.types.Object, parent: int, place: Matrix | None) -> ImportedNode:
        if place is not None:
            return self._read_node(one, parent, place)
        if one not in self.nodes:  # once, wherever it is placed
            self.nodes[one] = self._read_node(one, parent, None)
        return replace(self.nodes[one], parent=parent)

    def _read_node(self, one: bpy.types.Object, parent: int, place: Matrix | None) -> ImportedNode:
        extras = plain_items(one)
        out = ImportedNode(one.name, parent, np.zeros(3, np.float32), np.array([1.0, 0, 0, 0]), None, -1, NodeExtras())
        exact = place is None and one.rotation_mode == "QUATERNION" and _is_identity(one)
        if exact and max(abs(value - 1) for value in one.scale) <= _SCALE_NOISE:
            out.translation = np.array(one.location, np.float32)
            turn = np.array(one.rotation_quaternion, np.float64)
            out.rotation = turn / (np.linalg.norm(turn) or 1.0) if turn.any() else out.rotation
        else:
            _place(out, _local(one) if place is None else place)
        out.extras = read_extras(NodeExtras, extras)
        out.typed = typed_extras(extras)
        if out.extras.get("kind") != "point" and out.extras.get("flags", 0) > NONE16:
            raise ConversionError(f"node {called(one.name)} has flags beyond 16 bits", value=out.extras["flags"])
        out.tri_flags = read_flags(extras, Subject("node", one.name), self.report)
        out.mesh = self._mesh(one) if one.type == "MESH" else -1
        return out

    # -------------------------------------------------------------- meshes

    def _mesh(self, one: bpy.types.Object) -> int:
        """The mesh of an object; objects of one mesh, without modifiers, have one."""
        slots = [slot.material for slot in one.material_slots]
        own = one.name if one.modifiers else ""
        key = one.data, own, *slots
        if key not in self.mesh_of:
            self.mesh_of[key] = len(self.meshes)
            extras = read_extras(MeshExtras, plain_items(one.data))
            cell = extras.get("slot"), extras.get("lod"), extras.get("group")
            self.meshes.append(Mesh(one.data.name, [], *cell))
            evaluated = one.evaluated_get(self.graph) if own else one
            mesh = evaluated.to_mesh() if own else one.data
            self._read_mesh(one, mesh, [-1 if slot is None else self.rows[slot] for slot in slots])
            if own:
                evaluated.to_mesh_clear()
        return self.mesh_of[key]

    def _read_mesh(self, one: bpy.types.Object, mesh: bpy.types.Mesh, rows: list[int]) -> None:
        out = self.meshes[-1]
        if self.lines and (edges := _loose_edges(mesh)) is not None:
            if plain_items(one).get("msh", {}).get("kind") == "route":
                out.lines.append(edges)
            elif not one.name.startswith(("paths", "borders")):
                self.report.skipped(
                    Subject("mesh", mesh.name),
                    "has lines",
                    "the game draws nothing but triangles",
                    "delete them, or make faces of them",
                )
        mesh.calc_loop_triangles()
        count = len(mesh.loop_triangles)
        if not count:
            return
        loops = _values(mesh.loop_triangles, "loops", 3 * count, np.int32)
        slot = _values(mesh.loop_triangles, "material_index", count, np.int32)
        face = _values(mesh.loop_triangles, "polygon_index", count, np.int32)
        vertex = _values(mesh.loops, "vertex_index", len(mesh.loops), np.int32)[loops]
        attributes = {
            "POSITION": _values(mesh.vertices, "co", 3 * len(mesh.vertices), np.float32).reshape(-1, 3)[vertex],
            "NORMAL": _values(mesh.corner_normals, "vector", 3 * len(mesh.loops), np.float32).reshape(-1, 3)[loops],
        }
        _put_back_normals(mesh, attributes["NORMAL"], loops)
        uv = {}
        for layer in mesh.uv_layers:
            flipped = _values(layer.uv, "vector", 2 * len(mesh.loops), np.float32).reshape(-1, 2)[loops]
            flipped[:, 1] = 1 - flipped[:, 1]
            uv[layer.name] = flipped
        if len(uv) > 1:
            attributes["TEXCOORD_1"] = [*uv.values()][1]
        colours = mesh.color_attributes
        if colours and 0 <= colours.render_color_index < len(colours):
            attributes["COLOR_0"] = _colours(colours[colours.render_color_index], vertex, loops)
        for name in _OWN:
            found = mesh.attributes.get(name)
            if found is not None and found.data_type == "FLOAT" and found.domain in ("POINT", "FACE", "CORNER"):
                values = _values(found.data, "value", len(found.data), np.float32)
                at = {"POINT": vertex, "FACE": np.repeat(face, 3), "CORNER": loops}[found.domain]
                attributes[name] = values[at].reshape(-1, 1)
        slot = np.clip(slot, 0, max(0, len(rows) - 1))
        for material, batch, faces in self._kinds(mesh, rows, slot, face):
            chosen = np.flatnonzero(np.repeat(faces, 3))
            own = {name: values[chosen] for name, values in attributes.items()}
            layer = self.looks[material].layer if material >= 0 else None
            if uv:
                own["TEXCOORD_0"] = uv.get(layer or "", next(iter(uv.values())))[chosen]
            kind = -1 if material < 0 else self.kinds.setdefault((material, batch), len(self.kinds))
            out.primitives.append(self.vertices.add(kind, *_shared(own)))

    def _kinds(
        self, mesh: bpy.types.Mesh, rows: list[int], slot: NDArray[np.int32], face: NDArray[np.int32]
    ) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
        """The triangles of each material and batch: look, number, (T,) whether it is one. New ones are as the first."""
        stated = mesh.attributes.get(BATCH)
        known = stated is not None and stated.domain == "FACE" and stated.data_type == "INT"
        numbers = _values(stated.data, "value", len(stated.data), np.int32)[face] if known else np.zeros_like(slot)
        for number in np.unique(slot).tolist():
            material, here = rows[number] if rows else -1, slot == number
            batches = [
                one for one in np.unique(numbers[here]).tolist() if material >= 0 and self.looks[material].has(one)
            ]
            for batch in batches[1:]:
                yield material, batch, here & (numbers == batch)
            first = batches[0] if batches else 0
            yield material, first, here & ~np.isin(numbers, batches[1:])

    # -------------------------------------------------------------- the clip

    def _clips(self) -> list[Clip]:
        """What moves, as one clip, since it all plays at once; an action of scale alone is one of its own."""
        out = Clip(self.scene.name)
        others = []
        for number, (one, _, place) in enumerate(self.items):
            curves = [curve for curve in curves_of(one) if curve.data_path in _PATHS and not curve.mute]
            if place is not None and (curves or any(map(curves_of, _above(one)))):
                where, what = Subject("object", one.name), "moves, and stands still where a collection shows it"
                why = "what is shown without its parent, or with an offset, has no keys of its own"
                self.report.skipped(where, what, why, "Object > Apply > Make Instances Real, and animate that")
            if not curves or place is not None:
                continue
            track = Track(number)
            if all(curve.data_path == "scale" for curve in curves):
                others.append(Clip(one.animation_data.action.name))
                self._read_scale(others[-1], one, _channel(curves, 3, one.scale).values)
                continue
            if one.rotation_mode == "QUATERNION" and _is_identity(one):
                by_path = {path: [c for c in curves if c.data_path == path] for path in _PATHS}
                if found := by_path["location"]:
                    track.translation = _channel(found, 3, one.location)
                if found := by_path["rotation_quaternion"]:
                    track.rotation = _channel(found, 4, one.rotation_quaternion)
                if found := by_path["scale"]:
                    self._read_scale(out, one, _channel(found, 3, one.scale).values)
            else:
                self._sample(out, one, curves, track)
            if track.translation is not None or track.rotation is not None:
                out.tracks.append(track)
        return [clip for clip in (out, *others) if clip.tracks or clip.scaled]

    def _sample(self, out: Clip, one: bpy.types.Object, curves: list[bpy.types.FCurve], track: Track) -> None:
        """Every frame of an object that is turned by Euler angles, or has a place that its parent gave it."""
        frames = _frames(curves)
        values = {
            path: _sampled([c for c in curves if c.data_path == path], frames, getattr(one, path)) for path in _PATHS
        }
        self._read_scale(out, one, values["scale"])
        places = []
        for moved, turned, euler, scale in zip(
            values["location"], values["rotation_quaternion"], values["rotation_euler"], values["scale"], strict=True
        ):
            turn = Quaternion(turned) if one.rotation_mode == "QUATERNION" else Euler(euler, one.rotation_mode)
            places.append((one.matrix_parent_inverse @ Matrix.LocRotScale(moved, turn, scale)).decompose())
        track.translation = Channel(frames / FPS, np.array([place[0] for place in places], np.float64))
        track.rotation = Channel(frames / FPS, np.array([place[1] for place in places], np.float64))

    def _read_scale(self, clip: Clip, one: bpy.types.Object, values: NDArray[np.float64]) -> None:
        """Note a scale that is animated, or a constant one that is not the node's own."""
        if not np.abs(values - values[:1]).max() <= _MAX_SCALE_CHANGE:
            clip.scaled.append(one.name)


# ------------------------------------------------------------------ places


def _is_identity(one: bpy.types.Object) -> bool:
    return one.parent is None or one.matrix_parent_inverse == Matrix.Identity(4)


def _above(one: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """What an object is below."""
    while (one := one.parent) is not None:
        yield one


def _local(one: bpy.types.Object) -> Matrix:
    """The place of an object below its parent."""
    return one.matrix_basis if one.parent is None else one.matrix_parent_inverse @ one.matrix_basis


def _place(out: ImportedNode, matrix: Matrix) -> None:
    """Give an item a place: a rotation where it is one, else a matrix."""
    values = np.array(matrix, np.float64)
    out.translation = values[:3, 3].astype(np.float32)
    linear = values[:3, :3]
    scale = np.linalg.norm(linear, axis=0)
    turn = np.array(matrix.to_quaternion(), np.float64)
    if scale.min() > 0:
        turned = linear / scale
        square = np.abs(turned.T @ turned - np.eye(3)).max() <= _SCALE_NOISE and np.linalg.det(turned) > 0
        if square:
            out.rotation = turn / np.linalg.norm(turn)
            if np.abs(scale - 1).max() <= _SCALE_NOISE:
                return
    out.linear = linear


# ------------------------------------------------------------------ curves


def _frames(curves: list[bpy.types.FCurve]) -> NDArray[np.float64]:
    """Every whole frame from the first key to the last, as the glTF exporter has them."""
    ranges = [curve.range() for curve in curves]
    first, last = min(low for low, _ in ranges), max(high for _, high in ranges)
    return np.arange(np.floor(first + NEAR), np.floor(last + NEAR) + 1)


def _channel(curves: list[bpy.types.FCurve], width: int, still) -> Channel:
    """A curve by its keys, where they say it all; else by every frame.

    Between keys the game turns by the shorter arc and Blender by components: only on neighbouring frames it is one.
    """
    keys = [_values(c.keyframe_points, "co", 2 * len(c.keyframe_points), np.float32).reshape(-1, 2) for c in curves]
    modes = {point.interpolation for curve in curves for point in curve.keyframe_points}
    same = (
        len(curves) == width
        and all(len(key) == len(keys[0]) and np.array_equal(key[:, 0], keys[0][:, 0]) for key in keys)
        and len(keys[0])
        and not any(len(curve.modifiers) for curve in curves)
    )
    step = modes == {"CONSTANT"}
    if same and (step or (modes == {"LINEAR"} and (width == 3 or np.diff(keys[0][:, 0]).max(initial=0) <= 1 + NEAR))):
        frames = keys[0][:, 0].astype(np.float64)
        values = np.empty((len(frames), width))
        for curve, key in zip(curves, keys, strict=True):
            values[:, curve.array_index] = key[:, 1]
    else:
        step = False
        frames = _frames(curves)
        values = _sampled(curves, frames, still)
    if width == 4:
        values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-30)
    return Channel(frames / FPS, values, "STEP" if step else "LINEAR")


def _sampled(curves: list[bpy.types.FCurve], frames: NDArray[np.float64], still) -> NDArray[np.float64]:
    out = np.tile(np.array(still, np.float64), (len(frames), 1))
    for curve in curves:
        out[:, curve.array_index] = [curve.evaluate(frame) for frame in frames.tolist()]
    return out


# ------------------------------------------------------------------ meshes


def _values(things, name: str, count: int, dtype: type) -> NDArray[Any]:
    out = np.empty(count, dtype)
    things.foreach_get(name, out)
    return out


def _shared(corners: dict[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """Corners that are alike in everything become one vertex: the vertices, and the corners' rows."""
    words = [np.ascontiguousarray(v).view(np.uint8 if v.dtype == np.uint8 else np.uint32) for v in corners.values()]
    vertex = ids(np.concatenate([w.reshape(len(w), -1) for w in words], axis=1))
    _, first, found = np.unique(vertex, return_index=True, return_inverse=True)
    order = np.argsort(first)  # in the order of the faces
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return {name: values[first[order]] for name, values in corners.items()}, place[found.reshape(-1)]


def _colours(layer, vertex: NDArray[np.int32], loops: NDArray[np.int32]) -> NDArray[np.uint8]:
    values = _values(layer.data, "color", 4 * len(layer.data), np.float32).reshape(-1, 4)
    return np.clip(np.rint(values * 255), 0, 255).astype(np.uint8)[vertex if layer.domain == "POINT" else loops]


def _put_back_normals(mesh: bpy.types.Mesh, normals: NDArray[np.float32], loops: NDArray[np.int32]) -> None:
    """Replace normals that Blender could not hold, where it shows what it showed instead of them."""
    layers = [mesh.attributes.get(name) for name in (NORMAL, SHOWN_NORMAL)]
    if any(one is None or one.domain != "CORNER" or one.data_type != "FLOAT_VECTOR" for one in layers):
        return
    stored, shown = (_values(one.data, "vector", 3 * len(one.data), np.float32).reshape(-1, 3)[loops] for one in layers)
    same = stored.any(axis=1) & (np.abs(shown - normals).max(axis=1) < _NORMAL_NOISE)
    normals[same] = stored[same]


def _loose_edges(mesh: bpy.types.Mesh) -> NDArray[np.float32] | None:
    """The ends of edges without faces, (n, 2, 3); ``None``: there are none."""
    count = len(mesh.edges)
    if not count:
        return None
    ends = _values(mesh.edges, "vertices", 2 * count, np.int32).reshape(-1, 2)
    used = _values(mesh.loops, "edge_index", len(mesh.loops), np.int32)
    loose = np.setdiff1d(np.arange(count), used)
    points = _values(mesh.vertices, "co", 3 * len(mesh.vertices), np.float32).reshape(-1, 3)
    return points[ends[loose]] if len(loose) else None
