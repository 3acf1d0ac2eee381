"""A material of the game in Blender: a node group *Parkan material*, with the game's own sockets.

What the game cannot show is not there, and what stands between a picture and the group is marked and reported:
the game has pictures, and colours that they are multiplied by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from math import cos, sin
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from .converter.formats.gltf import TEXTURE_TRANSFORM
from .exporters.gltf_file import row_colour
from .importers.materials import file_picture

GROUP = "Parkan material"
TEXTURE, HOLES, COLOUR, ALPHA = "Texture", "Texture Alpha", "Colour", "Alpha"
SECOND, SECOND_COLOUR, BLEND = "Second Texture", "Second Colour", "Blend"
LIGHT, LIGHT_TEXTURE, MODE, PHASES = "Own Light", "Light Texture", "Draw Mode", "Phases"
#: What glTF calls a draw mode, by its number; the last one is added to what is behind it.
MODES = ("OPAQUE", "MASK", "BLEND", "BLEND")
ADDED = 3
#: Socket: its type, its value, its least and its greatest, and what it means.
_SOCKETS = {
    TEXTURE: ("Color", (1, 1, 1, 1), None, None, "The picture, a texture of Textures.lib"),
    SECOND: ("Color", (1, 1, 1, 1), None, None, "Of two grounds of a landscape the upper one"),
    SECOND_COLOUR: ("Color", (1, 1, 1, 1), None, None, "Its colour; the material of that ground alone has it"),
    BLEND: ("Float", 0.0, 0.0, 1.0, "How much of the second texture lies over the first: the attribute _MSH_BLEND"),
    HOLES: ("Float", 1.0, 0.0, 1.0, "The alpha of the picture; it counts where the draw mode is not 0"),
    COLOUR: ("Color", (1, 1, 1, 1), None, None, "The diffuse colour, which the picture is multiplied by"),
    ALPHA: ("Float", 1.0, 0.0, 1.0, "How opaque the material is"),
    LIGHT: ("Color", (0, 0, 0, 1), None, None, "The light of its own (ambient), which goes through the picture"),
    LIGHT_TEXTURE: ("Color", (1, 1, 1, 1), None, None, "The picture again, or the lightmap"),
    MODE: ("Int", 0, 0, ADDED, "0: opaque, 1: with holes, 2: blended, 3: added to what is behind"),
    PHASES: ("Int", 1, 1, 255, "How many phases an animated material has; the first one is shown"),
}
#: On a material of two grounds: the picture of both that was imported. On its pictures: what was imported of them.
MIXED, IMPORTED = "msh_mixed", "msh_imported"
#: On a picture: what the game calls it, and what Blender did when it was imported.
STORED = "msh_stored"
#: Colours nearer than that are the same.
_STEP = 1e-4
_MARK = (0.5, 0.1, 0.1)
#: Where nodes pass a picture on as it is.
_PLAIN = ("TEX_IMAGE", "REROUTE")


def make(entry: dict[str, Any], name: str, images: Sequence[bpy.types.Image | None]) -> bpy.types.Material:
    """Make a material. ``entry``: a material of a glTF that the exporter made."""
    out = bpy.data.materials.new(name)
    out.use_nodes = True
    base, said = entry.get("pbrMetallicRoughness", {}), entry.get("extras", {}).get("msh", {})
    mode = ADDED if said.get("additive") else MODES.index(entry.get("alphaMode", "OPAQUE"))
    out.use_backface_culling = not entry.get("doubleSided", False)
    out.surface_render_method = "BLENDED" if MODES[mode] == "BLEND" else "DITHERED"
    tree = out.node_tree
    tree.nodes.clear()
    end, node = tree.nodes.new("ShaderNodeOutputMaterial"), tree.nodes.new("ShaderNodeGroup")
    node.node_tree, node.width, end.location = group(), 200, (300, 0)
    tree.links.new(node.outputs[0], end.inputs["Surface"])
    colour, alpha = base.get("baseColorFactor", [1, 1, 1, 1])[:3], base.get("baseColorFactor", [1, 1, 1, 1])[3]
    node.inputs[COLOUR].default_value = (*colour, 1)
    node.inputs[ALPHA].default_value = alpha
    node.inputs[LIGHT].default_value = (*entry.get("emissiveFactor", (0, 0, 0)), 1)
    node.inputs[MODE].default_value = mode
    node.inputs[PHASES].default_value = max(1, said.get("phases", 1))
    out.diffuse_color = (*colour, alpha)
    picture, light = base.get("baseColorTexture"), entry.get("emissiveTexture")
    made = _picture(tree, picture, images)
    other = made if light is None or light == picture else _picture(tree, light, images)
    if made is not None:
        tree.links.new(made.outputs["Color"], node.inputs[TEXTURE])
        tree.links.new(made.outputs["Alpha"], node.inputs[HOLES])
        tree.nodes.active = made  # what Solid with Color: Texture shows
    if other is not None:
        tree.links.new(other.outputs["Color"], node.inputs[LIGHT_TEXTURE])
    return out


def blend(
    material: bpy.types.Material, grounds: Sequence[bpy.types.Image], colour: Sequence[float], attribute: str | None
) -> None:
    """Let a material of two grounds show both, one over the other, in the place of the picture of both.

    Args:
        material: as :func:`make` makes it.
        grounds: pictures of the first and the second.
        colour: of the second, linear.
        attribute: of the mesh, how much of the second is seen; ``None``: all of it.
    """
    tree, node = material.node_tree, node_of(material)
    first = node.inputs[TEXTURE].links[0].from_node
    material[MIXED], material[SECOND_COLOUR] = first.image, [*colour]
    node.inputs[SECOND_COLOUR].default_value = (*colour, 1)
    second = tree.nodes.new("ShaderNodeTexImage")
    second.location = first.location.x, first.location.y - 300
    first.image, second.image = grounds
    tree.links.new(second.outputs["Color"], node.inputs[SECOND])
    node.inputs[BLEND].default_value = 1.0
    both = tree.nodes.new("ShaderNodeTexImage")
    both.image, both.location, both.label = material[MIXED], (first.location.x, first.location.y + 300), "Both"
    tree.nodes.active = both  # Solid with Color: Texture shows one picture
    if attribute is not None:
        stated = tree.nodes.new("ShaderNodeAttribute")
        stated.attribute_name, stated.location = attribute, (first.location.x, second.location.y - 300)
        tree.links.new(stated.outputs["Fac"], node.inputs[BLEND])


def _is_painted(image: bpy.types.Image) -> bool:
    """Whether a ground shows something else than what was imported."""
    return file_picture(image.name, "", partial(bytes_of, image)).pixels() != image.get(IMPORTED)


def _picture(tree: bpy.types.NodeTree, info: dict[str, Any] | None, images: Sequence[bpy.types.Image | None]):
    """The node of a texture; ``None``: there is none."""
    if info is None or images[info["index"]] is None:
        return None
    out = tree.nodes.new("ShaderNodeTexImage")
    out.image, out.location = images[info["index"]], (-350, -300 * info.get("texCoord", 0))
    transform = info.get("extensions", {}).get(TEXTURE_TRANSFORM)
    last = out.inputs["Vector"]
    if transform is not None:
        node = tree.nodes.new("ShaderNodeMapping")
        node.location = out.location.x - 200, out.location.y
        (u, v), (wide, high) = transform.get("offset", (0, 0)), transform.get("scale", (1, 1))
        node.inputs["Location"].default_value = u, 1 - v - high, 0
        node.inputs["Scale"].default_value = wide, high, 1
        tree.links.new(node.outputs[0], last)
        last = node.inputs["Vector"]
    if transform is not None or info.get("texCoord"):
        node = tree.nodes.new("ShaderNodeUVMap")
        node.uv_map, node.location = UV_NAMES[info.get("texCoord", 0)], (out.location.x - 400, out.location.y)
        tree.links.new(node.outputs[0], last)
    return out


#: Names of UV maps, as Blender's glTF add-on gives them; materials name the second one.
UV_NAMES = ("UVMap", "UVMap.001")


def group() -> bpy.types.NodeTree:
    """The node group, which is made where it is not there."""
    known = bpy.data.node_groups.get(GROUP)
    if known is not None and known.bl_idname == "ShaderNodeTree" and known.library is None:
        there = {*known.interface.items_tree.keys()}
        if there.issuperset(_SOCKETS):  # else it is of an earlier version
            return known
    tree = bpy.data.node_groups.new(GROUP, "ShaderNodeTree")
    for name, (kind, value, least, most, tip) in _SOCKETS.items():
        socket = tree.interface.new_socket(name, in_out="INPUT", socket_type=f"NodeSocket{kind}", description=tip)
        socket.default_value = value
        if least is not None:
            socket.min_value, socket.max_value = least, most
    tree.interface.new_socket("Shader", in_out="OUTPUT", socket_type="NodeSocketShader")
    nodes, links = tree.nodes, tree.links
    given, end = nodes.new("NodeGroupInput").outputs, nodes.new("NodeGroupOutput")
    shader = nodes.new("ShaderNodeBsdfPrincipled")
    shader.inputs["Roughness"].default_value = row_colour(0)["roughnessFactor"]
    shader.inputs["Emission Strength"].default_value = 1.0

    def mix(kind: str, first: Any, second: Any, factor: Any = None):
        node = nodes.new("ShaderNodeMix")
        node.data_type, node.blend_type = "RGBA", kind
        share, *_ = (one for one in node.inputs if one.enabled)
        share.default_value = 1.0
        if factor is not None:
            links.new(factor, share)
        colours = [one for one in node.inputs if one.enabled and one.type == "RGBA"]
        links.new(first, colours[0])
        links.new(second, colours[1])
        return next(one for one in node.outputs if one.enabled)

    second = mix("MULTIPLY", given[SECOND], given[SECOND_COLOUR])
    ground = mix("MIX", mix("MULTIPLY", given[TEXTURE], given[COLOUR]), second, given[BLEND])
    links.new(ground, shader.inputs["Base Color"])
    lit = mix("MIX", given[LIGHT_TEXTURE], given[SECOND], given[BLEND])
    links.new(mix("MULTIPLY", lit, given[LIGHT]), shader.inputs["Emission Color"])

    def calculate(operation: str, *values: Any):
        node = nodes.new("ShaderNodeMath")
        node.operation = operation
        for socket, value in zip(node.inputs, values, strict=False):
            if isinstance(value, float):
                socket.default_value = value
            else:
                links.new(value, socket)
        return node.outputs[0]

    seen = calculate("MULTIPLY", given[HOLES], given[ALPHA])
    solid, is_cut = calculate("LESS_THAN", given[MODE], 0.5), calculate("COMPARE", given[MODE], 1.0, 0.5)
    away = calculate("SUBTRACT", calculate("GREATER_THAN", seen, 0.5), seen)  # from the alpha that cuts
    alpha = calculate("MAXIMUM", solid, calculate("MULTIPLY_ADD", is_cut, away, seen))
    links.new(alpha, shader.inputs["Alpha"])
    links.new(shader.outputs[0], end.inputs[0])
    for column, node in enumerate(nodes):
        node.location = 220 * column, 0
    return tree


# ------------------------------------------------------------------ back


@dataclass
class Read:
    """A material as glTF has it.

    Attributes:
        layer: the UV map that its picture goes through; ``None``: by the first.
        reground: whether the second of two grounds is another, or has another colour.
        painted: of two grounds those that do not show what was imported.
        foreign: nodes between pictures and the group that the game has not.
        mode: number of the draw mode.
        phases: as the socket says.
    """

    entry: dict[str, Any]
    images: list[bpy.types.Image] = field(default_factory=list)
    layer: str | None = None
    reground: bool = False
    painted: list[bpy.types.Image] = field(default_factory=list)
    foreign: list[bpy.types.Node] = field(default_factory=list)
    mode: int = 0
    phases: int = 1


def node_of(material: bpy.types.Material | None) -> bpy.types.Node | None:
    """The node of the group that a material shows; ``None``: it shows something else."""
    tree = None if material is None else material.node_tree
    for end in tree.nodes if tree is not None else ():
        if end.type == "OUTPUT_MATERIAL" and end.is_active_output:
            for node in _above(end.inputs["Surface"]):
                if node.type == "GROUP" and node.node_tree is not None and node.node_tree.name.startswith(GROUP):
                    return node
    return None


def read(material: bpy.types.Material) -> Read | None:
    """Return what a material shows; ``None``: it is not made of the group."""
    node = node_of(material)
    if node is None:
        return None
    colour, alpha = _colour(node, COLOUR, TEXTURE), node.inputs[ALPHA].default_value
    base = {**row_colour(0), "baseColorFactor": [*colour, alpha]}
    mode = min(max(int(node.inputs[MODE].default_value), 0), ADDED)
    entry = {"name": material.name, "pbrMetallicRoughness": base, "alphaMode": MODES[mode]}
    entry["doubleSided"] = not material.use_backface_culling
    out = Read(entry, mode=mode, phases=int(node.inputs[PHASES].default_value))
    picture = _info(out, node.inputs[TEXTURE])
    if picture is not None:
        base["baseColorTexture"], out.layer = picture
    light = _colour(node, LIGHT, LIGHT_TEXTURE)
    if any(light):
        entry["emissiveFactor"] = light
        other = _info(out, node.inputs[LIGHT_TEXTURE])
        if other is not None:
            entry["emissiveTexture"] = other[0]
    _read_grounds(out, material, node)
    for name in (HOLES, SECOND_COLOUR, BLEND, COLOUR, ALPHA, LIGHT, MODE, PHASES):
        if name not in node.inputs:  # of an earlier version
            continue
        plain = {HOLES: "TEX_IMAGE", BLEND: "ATTRIBUTE"}.get(name)
        out.foreign += [one for one in _above(node.inputs[name]) if one.type != plain]
    out.foreign = [*dict.fromkeys(out.foreign)]
    return out


def _read_grounds(out: Read, material: bpy.types.Material, node: bpy.types.Node) -> None:
    """Of two grounds, what the material is compared by is the picture of both, which nobody sees."""
    chain = [*_chain(node.inputs[SECOND])] if SECOND in node.inputs else []
    out.foreign += [one for one in chain if one.type not in _PLAIN]
    second = next((one.image for one in chain if one.type == "TEX_IMAGE" and one.image is not None), None)
    if second is not None and out.images and isinstance(material.get(MIXED), bpy.types.Image):
        out.painted = [one for one in (out.images[0], second) if _is_painted(one)]
        out.images[0] = material[MIXED]
        pairs = zip(node.inputs[SECOND_COLOUR].default_value, material[SECOND_COLOUR], strict=False)
        out.reground = any(abs(a - b) > _STEP for a, b in pairs)
    elif BLEND in node.inputs:
        out.reground = node.inputs[BLEND].is_linked or node.inputs[BLEND].default_value > _STEP


def _colour(node: bpy.types.Node, name: str, texture: str) -> list[float]:
    """A colour of the group, times that which stands in the place of its picture."""
    pairs = zip(node.inputs[name].default_value, node.inputs[texture].default_value, strict=True)
    return [a if node.inputs[texture].is_linked else a * b for a, b in pairs][:3]


def _info(out: Read, socket: bpy.types.NodeSocket) -> tuple[dict[str, Any], str | None] | None:
    """The texture of a socket, and the UV map that it goes through."""
    found = None
    for node in _chain(socket):
        if node.type == "TEX_IMAGE" and node.image is not None and found is None:
            found = node
        elif node.type not in _PLAIN:
            out.foreign.append(node)
    if found is None:
        return None
    if found.image not in out.images:
        out.images.append(found.image)
    info: dict[str, Any] = {"index": out.images.index(found.image)}
    layer = None
    for node in _chain(found.inputs["Vector"]):
        if node.type == "UVMAP":
            layer = node.uv_map or None
        elif node.type == "MAPPING" and node.vector_type == "POINT":
            (x, y, _), (wide, high, _) = node.inputs["Location"].default_value, node.inputs["Scale"].default_value
            turn = node.inputs["Rotation"].default_value[2]
            offset = [x - high * sin(turn), 1 - y - high * cos(turn)]
            info["extensions"] = {TEXTURE_TRANSFORM: {"offset": offset, "scale": [wide, high], "rotation": turn}}
        elif node.type not in ("REROUTE", "TEX_COORD"):
            out.foreign.append(node)
    return info, layer


def _chain(socket: bpy.types.NodeSocket) -> Iterator[bpy.types.Node]:
    """Every node above a socket, the nearest first; not what is above the coordinates of a picture."""
    waiting, known = [*_above(socket)], set()
    for node in waiting:  # grows while it is walked
        if node in known:
            continue
        known.add(node)
        yield node
        if node.type != "TEX_IMAGE":
            waiting += [one for each in node.inputs if each.enabled for one in _above(each)]


def _above(socket: bpy.types.NodeSocket) -> list[bpy.types.Node]:
    return [link.from_node for link in socket.links if not link.is_muted]


def mark(nodes: Sequence[bpy.types.Node]) -> None:
    """Show in the node editor that the game cannot show some nodes."""
    for node in nodes:
        node.use_custom_color, node.color = True, _MARK


# ------------------------------------------------------------------ pictures


def image_of(name: str, data: bytes) -> bpy.types.Image:
    """A picture of a glTF."""
    out = bpy.data.images.new(name, 8, 8)
    out.pack(data=data, data_len=len(data))
    out.source, out.alpha_mode = "FILE", "CHANNEL_PACKED"
    out[STORED] = [name, out.name]
    return out


def stored_name(image: bpy.types.Image) -> str:
    """What the game calls a picture; of copies, renamed ones and others what Blender does."""
    name, own = image.get(STORED, ("", ""))
    return name if own == image.name else image.name


def bytes_of(image: bpy.types.Image) -> bytes:
    """The file of a picture: the very one where nobody painted on it, else a PNG of its pixels."""
    if not image.is_dirty and image.source == "FILE":
        if image.packed_file is not None:
            return bytes(image.packed_file.data)
        path = Path(bpy.path.abspath(image.filepath))
        if path.is_file():
            return path.read_bytes()
    from PIL import Image

    wide, high = image.size
    pixels = np.empty(wide * high * 4, np.float32)
    image.pixels.foreach_get(pixels)
    rows = np.clip(np.rint(pixels.reshape(high, wide, 4)[::-1] * 255), 0, 255).astype(np.uint8)
    file = BytesIO()
    Image.fromarray(rows).save(file, "PNG", compress_level=1)
    return file.getvalue()
