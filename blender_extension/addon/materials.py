"""What materials show: those of the game's group by its sockets, others through Blender's glTF add-on.

The add-on knows every way to build materials of nodes. A probe goes that way: one object, with a triangle for each
such material and nothing else. All the rest of a scene takes the bridge (``to_blender``, ``from_blender``).

The game tells batches of one material apart by words that nobody sees, and a glTF has a material for each. In Blender
all that look alike are one material; which batch a face is of says the face attribute ``msh_batch``.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from . import game_material
from .converter.errors import ConversionError, called
from .converter.findings import Report, Subject
from .converter.formats.gltf import TEXTURE_TRANSFORM, FilePicture, Surface, pixel_digest, surface_of
from .converter.formats.names import without_number
from .converter.numeric.quantize import to_linear
from .converter.scene.appearance import Appearance
from .converter.scene.extras import MaterialExtras, read_extras
from .converter.scene.scene import ImportedScene
from .exporters.gltf_file import png_bytes
from .game_material import BLEND, HOLES, LIGHT_TEXTURE, SECOND, SECOND_COLOUR, TEXTURE, UV_NAMES, node_of, read
from .importers.gltf import read_flags
from .importers.gltf_file import GltfFile, GltfInMemory, open_gltf
from .importers.gltf_schema import GltfObject
from .importers.materials import file_picture, read_material, read_surfaces
from .state import about, plain_items
from .to_blender import BATCH
from .window import SidePanel, doing, shown

_CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
#: What goes into the probe's file; the sampling of its animation is none.
_OPTIONS = {
    "export_format": "GLB",
    "export_extras": True,
    "use_active_scene": True,
    "export_animations": False,
    "export_yup": True,
}


@contextlib.contextmanager
def apart(context: bpy.types.Context) -> Iterator[bpy.types.Scene]:
    """A scene of its own; what is put into it is taken out again, but for materials and pictures."""
    window = context.window
    before = window.scene, window.view_layer
    kept = {group: set(getattr(bpy.data, group)) for group in ("scenes", "collections", "objects", "meshes")}
    scene = window.scene = bpy.data.scenes.new("probe")
    try:
        yield scene
    finally:
        window.scene, window.view_layer = before
        for group, known in kept.items():
            things = getattr(bpy.data, group)
            for thing in [one for one in things if one not in known]:
                things.remove(thing)


#: What tells the batches of one material apart: nothing that anybody sees.
_BATCH = ("row", "lightmap", "batch_flags", "w2", "w4", "w6", "first", "second", "microtexture", "microtexture2")
#: On a material whose faces are of several batches: what the number of a face means.
BATCHES = "msh_batches"
#: Between a material's name and that of the lightmap that it is shown with.
_LIT = " + "


@dataclass(frozen=True)
class Ground:
    """A ground of a landscape: its picture's name, a PNG, what its pixels are known by; its colour, linear."""

    name: str
    data: bytes
    pixels: str
    colour: list[float]


def grounds_of(appearance: Appearance | None) -> dict[tuple[int, int], tuple[Ground, Ground]]:
    """Return the pictures of two grounds that lie one over the other, by their rows."""
    made: dict[int, Ground] = {}
    if appearance is None:
        return {}
    for row in {row for pair in appearance.mixed for row in pair}:
        material, picture = appearance.of(row)
        pixels = picture.rgba()
        colour = to_linear(material.colour[:3])
        made[row] = Ground(picture.name, png_bytes(pixels), pixel_digest(pixels), colour)
    return {rows: (made[rows[0]], made[rows[1]]) for rows in appearance.mixed}


def bring_in(
    file: GltfFile, grounds: Mapping[tuple[int, int], tuple[Ground, Ground]], attribute: str | None
) -> tuple[list[bpy.types.Material], list[int]]:
    """Make the materials of a document that the exporter made, and its pictures: one for all that look alike.

    Args:
        grounds: of a landscape, as of :func:`grounds_of`.
        attribute: says how much of the second one is seen; ``None``: all of it.

    Returns:
        For each material of the document the one of Blender, and the number of its batch there, from 1; 0: there is
        no other.
    """
    root = file.root
    images = [
        game_material.image_of(image.get("name", "image"), bytes(file.view(image["bufferView"])))
        for image in root.get("images", [])
    ]
    textures = [images[texture["source"]] for texture in root.get("textures", [])]
    known = dict(zip((image.get("name", "image") for image in root.get("images", [])), images, strict=True))
    alike: dict[str, list[int]] = {}
    for i, entry in enumerate(root.get("materials", [])):
        said = {key: value for key, value in entry["extras"]["msh"].items() if key not in _BATCH}
        alike.setdefault(repr((sorted(said.items()), {**entry, "extras": None})), []).append(i)
    made: dict[int, bpy.types.Material] = {}
    numbers: dict[int, int] = {}
    for rows in alike.values():
        entry = root["materials"][rows[0]]
        said = entry["extras"]["msh"]
        light = f"{_LIT}{said['light']}" if "light" in said else ""
        one = game_material.make(entry, f"{entry['name']}{light}", textures)
        batches = {i + 1: {k: v for k, v in root["materials"][i]["extras"]["msh"].items() if k in _BATCH} for i in rows}
        if len(rows) > 1:
            said = {key: value for key, value in said.items() if key not in _BATCH}
            one[BATCHES] = {str(number): words for number, words in batches.items()}
        one["msh"] = said
        both = grounds.get((said.get("first", -1), said.get("second", -1)), ())
        for ground in both:
            if ground.name not in known:
                known[ground.name] = game_material.image_of(ground.name, ground.data)
            known[ground.name][game_material.IMPORTED] = ground.pixels
        if both:
            game_material.blend(one, [known[ground.name] for ground in both], both[1].colour, attribute)
        made |= dict.fromkeys(rows, one)
        numbers |= {i: i + 1 if len(rows) > 1 else 0 for i in rows}
    return [made[i] for i in range(len(made))], [numbers[i] for i in range(len(made))]


@dataclass
class Look:
    """What a material shows.

    Attributes:
        extras: its custom properties.
        surface: as an ``ImportedScene`` has it.
        layer: the UV map that its picture goes through; ``None``: by the first.
    """

    name: str
    extras: dict[str, Any]
    surface: Surface[FilePicture]
    layer: str | None

    def batch(self, number: int) -> dict[str, Any]:
        """The custom properties of it on faces of a batch."""
        words = self.extras.get(BATCHES, {}).get(str(number), {})
        return {**self.extras, "msh": {**self.extras["msh"], **words}} if words else self.extras

    def has(self, number: int) -> bool:
        """Whether faces of it may be of a batch."""
        return str(number) in self.extras.get(BATCHES, {})


def looks(
    context: bpy.types.Context, used: Sequence[bpy.types.Material], layers: Sequence[str], report: Report
) -> list[Look]:
    """Return what materials show; those that are not made of the game's group through Blender's glTF add-on.

    Args:
        layers: names of all UV maps, in the order in which meshes have them.
    """
    found = _looks(used, report)
    others = [one for one in used if found[one] is None]
    found |= dict(zip(others, _probe(context, others, layers, report), strict=True))
    return [look for look in found.values() if look is not None]


def _looks(used: Iterable[bpy.types.Material], report: Report) -> dict[bpy.types.Material, Look | None]:
    """What materials of the game's group show; of two grounds that were painted each is shown by one of them."""
    seen = {one: game_material.read(one) for one in used}
    shown = {image for one in seen.values() if one is not None for image in one.images}
    for one in filter(None, seen.values()):
        new = next((image for image in one.painted if image not in shown), None)
        if new is not None:
            one.images[0] = new
            shown.add(new)
    for image in {image for one in filter(None, seen.values()) for image in one.painted} - shown:
        report.skipped(Subject("picture", image.name), "is repainted", "no material has it alone", "put one back first")
    return {material: None if one is None else _look(material, one) for material, one in seen.items()}


def _look(material: bpy.types.Material, seen: game_material.Read) -> Look:
    extras = plain_items(material)
    light = f"{_LIT}{about(material).get('light', '')}"
    pictures = [
        file_picture(game_material.stored_name(one), "", partial(game_material.bytes_of, one)) for one in seen.images
    ]
    name = without_number(material.name).removesuffix(light)
    entry = {**seen.entry, "name": name, "extras": extras}
    surface = surface_of(entry, [{"source": i} for i in range(len(pictures))], pictures.__getitem__)
    return Look(name if name != without_number(material.name) else material.name, extras, surface, seen.layer)


@contextlib.contextmanager
def split(meshes: Iterable[bpy.types.Mesh]) -> Iterator[None]:
    """Give faces of each batch a material of their own, as Blender's glTF add-on needs it, for a while."""
    copies: dict[tuple[bpy.types.Material, int], bpy.types.Material] = {}
    before = []
    for mesh in meshes:
        stated = mesh.attributes.get(BATCH)
        if stated is None or stated.domain != "FACE" or stated.data_type != "INT":
            continue
        numbers, slots = np.empty(len(mesh.polygons), np.int32), np.empty(len(mesh.polygons), np.int32)
        stated.data.foreach_get("value", numbers)
        mesh.polygons.foreach_get("material_index", slots)
        before.append((mesh, slots.copy(), len(mesh.materials)))
        for slot, number in np.unique(np.stack([slots, numbers], axis=1), axis=0).tolist():
            one = mesh.materials[slot] if slot < len(mesh.materials) else None
            if one is None or str(number) not in one.get(BATCHES, {}):
                continue
            if (one, number) not in copies:
                copy = copies[one, number] = one.copy()
                words = plain_items(one)[BATCHES][str(number)]
                copy["msh"] = {**plain_items(one)["msh"], **words}
                del copy[BATCHES]
            slots[(slots == slot) & (numbers == number)] = len(mesh.materials)
            mesh.materials.append(copies[one, number])
        mesh.polygons.foreach_set("material_index", slots)
    try:
        yield
    finally:
        for mesh, slots, count in before:
            mesh.polygons.foreach_set("material_index", slots)
            while len(mesh.materials) > count:
                mesh.materials.pop()
        for copy in copies.values():
            bpy.data.materials.remove(copy)


def as_shown(given: ImportedScene) -> None:
    """Replace what Blender's glTF add-on made of materials of the game's group, which it does not know."""
    there = [bpy.data.materials.get(material.name) for material in given.materials]
    found = _looks({one for one in there if one is not None}, given.report)
    for i, material in enumerate(given.materials):
        look = found.get(there[i])
        if look is not None:
            given.materials[i], given.surfaces[i] = material._replace(name=look.name), look.surface


def fill_in(out: ImportedScene, shown: Sequence[Look], kinds: Iterable[tuple[int, int]]) -> None:
    """Give a scene its materials; ``kinds``: per material of the scene its look, and the number of its batch."""
    for row, number in kinds:
        look = shown[row]
        extras = look.batch(number)
        stated = read_flags(extras, Subject("material", look.name), out.report)
        out.materials.append(read_material(GltfObject({"name": look.name, "extras": extras})))
        out.surfaces.append(look.surface)
        out.material_extras.append(read_extras(MaterialExtras, extras))
        out.material_flags.append(stated.exported if stated.own is None else stated.own)


def _probe(
    context: bpy.types.Context, used: Sequence[bpy.types.Material], layers: Sequence[str], report: Report
) -> list[Look]:
    if not used:
        return []
    with tempfile.TemporaryDirectory() as folder, apart(context) as scene:
        mesh = bpy.data.meshes.new("materials")
        mesh.from_pydata(np.tile(_CORNERS, (len(used), 1)), [], np.arange(3 * len(used)).reshape(-1, 3).tolist())
        for material in used:
            mesh.materials.append(material)
        mesh.polygons.foreach_set("material_index", np.arange(len(used)))
        for name in layers:
            mesh.uv_layers.new(name=name)
        scene.collection.objects.link(bpy.data.objects.new("materials", mesh))
        path = Path(folder) / "materials.glb"
        bpy.ops.export_scene.gltf(filepath=str(path), **_OPTIONS)
        data = path.read_bytes()
    file = open_gltf(path, GltfInMemory(data))
    report.warnings += file.report.warnings
    surfaces = read_surfaces(file)
    return [
        Look(
            file.materials[i].name or "",
            dict(file.materials[i].extras or {}),
            surfaces[i],
            _layer(file.root["materials"][i], layers),
        )
        for i in (primitive.get("material") for primitive in file.meshes[0].primitives)
    ]


def _layer(material: dict, layers: Sequence[str]) -> str | None:
    """The UV map of a material's picture."""
    info = material.get("pbrMetallicRoughness", {}).get("baseColorTexture")
    if info is None or not layers:
        return None
    transform = info.get("extensions", {}).get(TEXTURE_TRANSFORM, {})
    number = transform.get("texCoord", info.get("texCoord", 0))
    return layers[number] if number < len(layers) else layers[0]


#: Pixels of a side of what has no picture, and of a name of a picture of the game.
_SIDE, _NAME = 256, 10
_BAKED = "_baked"
#: Sockets that the panel leaves to the node editor.
_IN_NODES = (TEXTURE, HOLES, LIGHT_TEXTURE, SECOND, SECOND_COLOUR, BLEND)


def bake(context: bpy.types.Context, material: bpy.types.Material) -> bpy.types.Image:
    """Replace what is above the socket of the picture by a picture of it; returns that.

    Args:
        material: it is made of the game's group.

    Raises ConversionError: nothing is above the socket.
    """
    node, seen = node_of(material), read(material)
    if node is None or seen is None or not node.inputs[TEXTURE].is_linked:
        raise ConversionError(f"material {called(material.name)} has no picture, and nothing to bake")
    sizes = [tuple(one.size) for one in seen.images if one.size[0]]
    size = sizes[0] if sizes else (_SIDE, _SIDE)
    pixels = _render(context, material, TEXTURE, size)
    if node.inputs[HOLES].is_linked:
        pixels[:, 3] = _render(context, material, HOLES, size, "Non-Color")[:, 0]
    name = seen.images[0].name.partition(".")[0].removesuffix(_BAKED) if seen.images else material.name
    image = bpy.data.images.new(f"{name[:_NAME]}{_BAKED}", *size, alpha=True)
    image.alpha_mode = "CHANNEL_PACKED"
    image.pixels.foreach_set(np.ascontiguousarray(pixels, np.float32).reshape(-1))
    image.update()
    image.pack()
    tree = material.node_tree
    made = tree.nodes.new("ShaderNodeTexImage")
    made.image, made.location = image, (node.location.x - 350, node.location.y)
    if seen.layer is not None:
        layer = tree.nodes.new("ShaderNodeUVMap")
        layer.uv_map = seen.layer
        tree.links.new(layer.outputs[0], made.inputs["Vector"])
    lit = {link.from_node for link in node.inputs[LIGHT_TEXTURE].links}
    follows = all(one.type != "TEX_IMAGE" or one.image in seen.images[:1] for one in lit)  # else it is a lightmap
    for foreign in seen.foreign:
        tree.nodes.remove(foreign)
    for output, socket in (("Color", TEXTURE), ("Alpha", HOLES), *((("Color", LIGHT_TEXTURE),) if follows else ())):
        tree.links.new(made.outputs[output], node.inputs[socket])
    tree.nodes.active = made
    return image


def _render(
    context: bpy.types.Context, material: bpy.types.Material, socket: str, size: tuple[int, int], space: str = "sRGB"
) -> NDArray[np.float32]:
    """What comes into a socket over the whole picture, (pixels, 4), by Cycles, on a square of its own."""
    copy = material.copy()
    target = bpy.data.images.new("bake", *size, alpha=True)
    target.colorspace_settings.name = space
    try:
        tree, node = copy.node_tree, node_of(copy)
        light, picture = tree.nodes.new("ShaderNodeEmission"), tree.nodes.new("ShaderNodeTexImage")
        end = next(one for one in tree.nodes if one.type == "OUTPUT_MATERIAL" and one.is_active_output)
        tree.links.new(node.inputs[socket].links[0].from_socket, light.inputs["Color"])
        tree.links.new(light.outputs[0], end.inputs["Surface"])
        picture.image = target
        tree.nodes.active = picture
        with apart(context) as scene:
            mesh = bpy.data.meshes.new("bake")
            mesh.from_pydata([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [], [(0, 1, 2, 3)])
            named = (one.uv_map for one in tree.nodes if one.type == "UVMAP" and one.uv_map)
            for name in dict.fromkeys((*UV_NAMES, *named)):
                mesh.uv_layers.new(name=name).uv.foreach_set("vector", [0, 0, 1, 0, 1, 1, 0, 1])
            mesh.materials.append(copy)
            one = bpy.data.objects.new("bake", mesh)
            scene.collection.objects.link(one)
            scene.render.engine, scene.cycles.samples = "CYCLES", 1
            one.select_set(True)
            context.view_layer.objects.active = one
            bpy.ops.object.bake(type="EMIT", margin=0)
        pixels = np.empty(size[0] * size[1] * 4, np.float32)
        target.pixels.foreach_get(pixels)
        return pixels.reshape(-1, 4)
    finally:
        bpy.data.materials.remove(copy)
        bpy.data.images.remove(target)


class MSH_OT_bake(bpy.types.Operator):
    """Make one picture of what nodes make of the material's picture: the game can show that"""

    bl_idname = "object.msh_bake"
    bl_label = "Bake to Texture"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return context.mode == "OBJECT" and node_of(_active(context)) is not None

    @doing
    def execute(self, context):
        bake(context, _active(context))


class MSH_PT_material(SidePanel, bpy.types.Panel):
    """The active material as the game has it."""

    bl_label = "Material"
    bl_idname = "MSH_PT_material"

    @classmethod
    def poll(cls, context):
        return node_of(_active(context)) is not None

    def draw(self, context):
        material = _active(context)
        seen, node, column = read(material), node_of(material), self.layout.column()
        column.label(text=material.name, icon="MATERIAL", translate=False)
        for image in seen.images:
            column.label(text=image.name, icon="IMAGE_DATA", translate=False)
        for socket in node.inputs:
            if not socket.is_linked and socket.name not in _IN_NODES:
                column.prop(socket, "default_value", text=shown(socket.name))
        for one in seen.foreign:
            column.label(text=shown(f"the game has no node {one.label or one.name}"), icon="ERROR")
        if seen.foreign:
            column.operator(MSH_OT_bake.bl_idname, icon="RENDER_STILL")


def _active(context: bpy.types.Context) -> bpy.types.Material | None:
    return None if context.object is None else context.object.active_material


CLASSES = (MSH_OT_bake, MSH_PT_material)
