"""What a scene shows beyond what a game can hold: named; *Check Faces*; and what collections of clans say.

An object of a mission that is in the collection of another clan than the one it was imported into was dragged
there: the collection counts. ``msh_clan`` of a collection and of an object say so.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence

import bmesh
import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from .converter.errors import called, plural
from .converter.findings import Subject
from .converter.formats.mission import BUILDING, UNIT
from .converter.formats.names import without_number
from .converter.formats.terrain import MOST_VERTICES, Grid
from .converter.judge.models import world_poses
from .converter.judge.shown import some_of
from .converter.scene.scene import Channel, ImportedScene, Track
from .editing import free_constraints
from .from_blender import curves_of, everything
from .game_material import ADDED, mark
from .game_material import read as read_material
from .state import about
from .to_blender import FPS
from .window import doing, say

CLAN, CLANS = "msh_clan", "msh_clans"
#: On an object and a mesh: the import that it came with, which stays its own where the game or the .blend moves.
MODEL = "msh_model"
#: What says which node and part of the model they are.
_PLACES = ("node", "slot", "lod", "group")
_MOVES = ("location", "rotation", "scale", "delta_")
#: Blender's matrices are float32.
_NOISE, _AWAY = 1e-4, 1e-3


# ------------------------------------------------------------------ clans


def remember_clans(scene: bpy.types.Scene, clans: Sequence[str]) -> None:
    """Note the clan of each collection of a mission that is sorted by kind and clan, and of its objects.

    Args:
        clans: their names by row.
    """
    scene.collection[CLANS] = list(clans)
    for home in scene.collection.children_recursive:
        placed = [one for one in home.objects if about(one).get("object_kind") in (BUILDING, UNIT)]
        for one in placed:
            home[CLAN] = one[CLAN] = about(one)["clan"]


def remember_model(scene: bpy.types.Scene) -> None:
    """Note on all that was imported which model it is of."""
    for one in everything(scene):
        for thing in filter(None, (one, one.data)):
            thing[MODEL] = scene.msh_gltf.owner


@contextlib.contextmanager
def others_are_new(scene: bpy.types.Scene) -> Iterator[None]:
    """While a scene is read, what came from that of another model is new: it is none of its nodes."""
    things = {thing for one in everything(scene) for thing in (one, one.data) if thing and "msh" in thing}
    own = scene.msh_gltf.owner
    others = [thing for thing in things if own and thing.get(MODEL, own) != own]
    before = [(thing, thing["msh"].to_dict()) for thing in others]
    try:
        for thing, said in before:
            thing["msh"] = {key: value for key, value in said.items() if key not in _PLACES}
        yield
    finally:
        for thing, said in before:
            thing["msh"] = said


@contextlib.contextmanager
def clans_of_collections(scene: bpy.types.Scene) -> Iterator[None]:
    """Give objects that were dragged to the collection of another clan that clan, while the scene is read."""
    before = []
    for home in scene.collection.children_recursive:
        clan = _clan_of(scene, home)
        for one in home.objects if clan is not None else ():
            if CLAN in one and one[CLAN] != clan and about(one).get("kind") == "object":
                before.append((one, one["msh"]["clan"]))
                one["msh"]["clan"] = clan
    try:
        yield
    finally:
        for one, clan in before:
            one["msh"]["clan"] = clan


def _clan_of(scene: bpy.types.Scene, home: bpy.types.Collection) -> int | None:
    """The clan of a collection; one that the user made and called after a clan is of that."""
    if CLAN in home:
        return int(home[CLAN])
    name, titles = without_number(home.name), scene.collection.get(CLANS, ())
    return next((row for row, title in enumerate(titles) if title and name.endswith(f".{title}")), None)


# ------------------------------------------------------------------ what is left out


def report_left_out(scene: bpy.types.Scene, given: ImportedScene) -> None:
    """Report what a scene shows, and what was read of it does not.

    Args:
        scene: it is in Blender's window, and everything of it is evaluated.
        given: what was read; its report gets the lines.
    """
    there = everything(scene)
    slots = [slot.material for one in there for slot in one.material_slots]
    for material in dict.fromkeys(one for one in slots if one is not None):
        _report_material(given, material)
    for one in there:
        for path in dict.fromkeys(curve.data_path for curve in curves_of(one)):
            if not path.startswith((*_MOVES, "modifiers", '["', "pose.")):
                why = "models of the game move, and nothing else of them changes"
                given.report.skipped(Subject("object", one.name), f"has keys of {path}", why, "delete these keys")
    _report_flattened(scene, given)


def _report_material(given: ImportedScene, material: bpy.types.Material) -> None:
    """Nodes that change the colour on its way to the shader, and animation."""
    tree, where = material.node_tree, Subject("material", material.name)
    if tree is None:
        return
    seen = read_material(material)
    if seen is None:
        shaders = [node for node in tree.nodes if node.type == "BSDF_PRINCIPLED"]
        between = [node for one in shaders for node in _between(one.inputs["Base Color"])]
    else:
        between = seen.foreign
        mark(between)
        said = about(material)
        if (seen.mode == ADDED) != bool(said.get("additive")) or seen.phases != max(1, said.get("phases", 1)):
            why = "whether a material is added to what is behind it, and its phases, are not changed from here"
            given.report.skipped(where, "has another Draw Mode or Phases", why, "put the old value back")
        if seen.reground:
            why = "two grounds are of landscapes, and the colour of the second is that of its own material"
            given.report.skipped(where, "has another second ground", why, "put the old value back")
    for name in dict.fromkeys(node.label or node.name for node in between):
        why = "the game has no such thing, and it is left out"
        what = f"has a node {called(name)} between its picture and its shader"
        given.report.skipped(where, what, why, "bake it into the picture (Bake to Texture), or take it out")
    if tree.animation_data is not None and (tree.animation_data.action or tree.animation_data.drivers):
        given.report.skipped(where, "is animated", "a model has one look", "delete its keys and drivers")


def _between(socket: bpy.types.NodeSocket) -> Iterator[bpy.types.Node]:
    """Nodes above a socket that Blender's glTF add-on does not know."""
    for link in socket.links:
        node = link.from_node
        if node.type in ("TEX_IMAGE", "RGB", "VERTEX_COLOR", "ATTRIBUTE"):
            continue
        colours = [one for one in node.inputs if one.type == "RGBA" and one.enabled]
        if node.type not in ("MIX", "MIX_RGB", "REROUTE") or (node.type != "REROUTE" and not _multiplies(node)):
            yield node
        for one in colours:
            yield from _between(one)


def _multiplies(node: bpy.types.Node) -> bool:
    """Whether a mix multiplies, and is whole."""
    factor = next(one for one in node.inputs if one.type == "VALUE" and one.enabled)
    return node.blend_type == "MULTIPLY" and not factor.is_linked and factor.default_value > 1 - _NOISE


def report_unread(given: ImportedScene) -> None:
    """Report objects of which Blender shows other triangles than its glTF add-on wrote.

    Args:
        given: what was read of that; everything of the scene is evaluated.
    """
    shown, read, counts = Counter[str](), Counter[str](), dict[int, int]()
    for one in bpy.context.evaluated_depsgraph_get().object_instances:
        if one.object.type == "MESH":
            mesh = one.object.data
            if mesh.as_pointer() not in counts:
                mesh.calc_loop_triangles()
                counts[mesh.as_pointer()] = len(mesh.loop_triangles)
            shown[one.object.name] += counts[mesh.as_pointer()]
    for node in given.nodes:
        if node.mesh >= 0:
            read[node.name] += sum(p.index_count // 3 for p in given.meshes[node.mesh].primitives)
    for name in [name for name in shown if shown[name] != read[name]]:
        what = f"shows {plural(shown[name], 'triangle')}, and {read[name]:,} are read"
        why = "Blender's glTF add-on leaves out instances of geometry nodes, metaballs and the like"
        given.report.skipped(
            Subject("object", name), what, why, "make them real: Object > Convert > Mesh, or Realize Instances"
        )


# ------------------------------------------------------------------ motion


def _report_flattened(scene: bpy.types.Scene, given: ImportedScene) -> None:
    """What drivers, constraints and modifiers move, where one pose was read, or one shape."""
    moved = [one for one in scene.objects if _is_driven(one)]
    shaped = [one for one in scene.objects if one.type == "MESH" and any(m.show_viewport for m in one.modifiers)]
    if not moved and not shaped:
        return
    frames = scene.frame_start + some_of(scene.frame_end - scene.frame_start + 1)
    tracks: dict[int, Track] = {}
    for track in [track for clip in given.clips for track in clip.tracks]:
        tracks.setdefault(track.node, Track(track.node, _in_frames(track.rotation), _in_frames(track.translation)))
    world = world_poses(given.nodes, list(tracks.values()), frames.astype(np.float64))
    rows = {node.name: i for i, node in enumerate(given.nodes)}
    now, away = scene.frame_current, dict.fromkeys(moved, 0.0)
    shapes: dict[bpy.types.Object, np.ndarray] = {}
    changed: dict[bpy.types.Object, None] = {}
    try:
        for at, frame in enumerate(frames.tolist()):
            scene.frame_set(frame)
            graph = bpy.context.evaluated_depsgraph_get()
            for one in [one for one in moved if one.name in rows]:
                read = world[rows[one.name], at]
                apart = np.abs(np.array(one.evaluated_get(graph).matrix_world) - read).max()
                away[one] = max(away[one], float(apart) / max(1.0, float(np.abs(read).max())))
            for one in shaped:
                shape = _shape(one.evaluated_get(graph))
                first = shapes.setdefault(one, shape)
                if shape.shape != first.shape or np.abs(shape - first).max(initial=0) > _NOISE:
                    changed[one] = None
    finally:
        scene.frame_set(now)
    for one in moved:
        if away[one] > _AWAY:
            what = "is moved by a constraint" if free_constraints(one) else "is moved by a driver"
            if one.parent is not None and one.parent_type != "OBJECT":
                what = "follows a part of its parent"
            why = f"only keys make motion, and other frames are up to {away[one]:.2g} away from the pose that was read"
            given.report.skipped(Subject("object", one.name), what, why, "Object > Animation > Bake Action makes keys")
    for one in changed:
        why = "shapes of models do not change, and that of the current frame was read"
        given.report.skipped(Subject("object", one.name), "changes its shape with time", why, "move nodes of their own")


def is_elsewhere(place: Matrix, other: Matrix) -> bool:
    """Whether two places differ by more than rounding; scale is no matter."""
    a, b = (np.array(Matrix.LocRotScale(*one.decompose()[:2], None)) for one in (place, other))
    return bool(np.abs(a - b).max() > _NOISE * max(1.0, float(np.abs(a).max())))


def _is_driven(one: bpy.types.Object) -> bool:
    drivers = one.animation_data.drivers if one.animation_data is not None else ()
    part_of_parent = one.parent is not None and one.parent_type != "OBJECT"
    return (
        part_of_parent
        or any(not c.mute for c in free_constraints(one))
        or any(d.data_path.startswith(_MOVES) for d in drivers)
    )


def _in_frames(channel: Channel | None) -> Channel | None:
    return None if channel is None else Channel(channel.frames * FPS, channel.values, channel.interpolation)


def _shape(one: bpy.types.Object) -> np.ndarray:
    mesh = one.to_mesh()
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    one.to_mesh_clear()
    return points


#: Custom property of the scene of a landscape: corner and size of its first square, squares along x and y.
GRID = "msh_grid"
#: Of the squared size of a face's box.
_FLAT = 1e-7


def remember_grid(scene: bpy.types.Scene, grid: Grid) -> None:
    """Keep the squares of a landscape."""
    scene[GRID] = [*grid.low.tolist(), *grid.size.tolist(), float(grid.across), float(grid.down)]


def flat_faces(mesh: bpy.types.Mesh) -> NDArray[np.bool_]:
    """Whether each face has no area."""
    area = np.empty(len(mesh.polygons), np.float32)
    mesh.polygons.foreach_get("area", area)
    ends = _corners(mesh)
    starts = np.empty(len(mesh.polygons), np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    low, high = np.minimum.reduceat(ends, starts), np.maximum.reduceat(ends, starts)
    return area <= _FLAT * ((high - low) ** 2).sum(axis=1)


def crossing_faces(mesh: bpy.types.Mesh, matrix: NDArray[np.float64], grid: Grid) -> NDArray[np.bool_]:
    """Whether each face crosses the border of a landscape's square.

    Args:
        matrix: (4, 4) its place.
        grid: of the landscape.
    """
    points = _corners(mesh) @ matrix[:3, :3].T + matrix[:3, 3]
    starts = np.empty(len(mesh.polygons), np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    counts = np.diff(np.r_[starts, len(points)])
    low, high = (way.reduceat(points, starts)[:, :2] for way in (np.minimum, np.maximum))
    middle = np.add.reduceat(points, starts)[:, :2] / counts[:, None]
    return grid.outside(np.stack([low, high], axis=1), grid.squares_at(middle)).any(axis=(1, 2))


def _corners(mesh: bpy.types.Mesh) -> NDArray[np.float64]:
    vertex, points = np.empty(len(mesh.loops), np.int32), np.empty(3 * len(mesh.vertices), np.float32)
    mesh.loops.foreach_get("vertex_index", vertex)
    mesh.vertices.foreach_get("co", points)
    return points.reshape(-1, 3).astype(np.float64)[vertex]


class MSH_OT_check(bpy.types.Operator):
    """Select the faces that the game cannot hold: without area, or across the border of a landscape's square"""

    bl_idname = "object.msh_check"
    bl_label = "Check Faces"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        one = context.object
        return one is not None and one.type == "MESH" and context.mode in ("OBJECT", "EDIT_MESH")

    @doing
    def execute(self, context):
        one = context.object
        if context.mode == "EDIT_MESH":
            bpy.ops.object.mode_set(mode="OBJECT")
        mesh = one.data
        flat = flat_faces(mesh) if len(mesh.polygons) else np.zeros(0, np.bool_)
        across = np.zeros_like(flat)
        if len(flat) and GRID in context.scene and "level" in about(one):
            x, y, wide, high, columns, rows = context.scene[GRID]
            grid = Grid(np.array([x, y]), np.array([wide, high]), int(columns), int(rows))
            across = crossing_faces(mesh, np.array(one.matrix_world, np.float64), grid)
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_mode(type="FACE")
        bpy.ops.mesh.select_all(action="DESELECT")
        shape = bmesh.from_edit_mesh(mesh)
        shape.faces.ensure_lookup_table()
        for row in np.flatnonzero(flat | across).tolist():
            shape.faces[row].select_set(True)
        bmesh.update_edit_mesh(mesh)
        kind = "WARNING" if (flat | across).any() else "INFO"
        say(self, kind, f"{plural(int(flat.sum()), 'face')} without area, {int(across.sum())} across a square's border")
        if len(mesh.vertices) > MOST_VERTICES:
            say(self, "WARNING", f"{len(mesh.vertices):,} vertices, the game holds {MOST_VERTICES:,} at most")


CLASSES = (MSH_OT_check,)
