"""Edits of the trials: materials of a model."""

from __future__ import annotations

import bpy
from trial_nodes import M
from trial_tools import edit, materials, mesh_of, new_image, new_look, picture, put, quick, shader

# ------------------------------------------------------------------ model: materials


def _base(name, colour):
    for one in materials(name):
        inputs = shader(one).inputs["Base Color"]
        for link in list(inputs.links):
            one.node_tree.links.remove(link)
        inputs.default_value = colour


def set_socket(name, socket, value):
    for one in materials(name):
        inputs = shader(one).inputs[socket]
        for link in list(inputs.links):
            one.node_tree.links.remove(link)
        inputs.default_value = value


def _between(name, kind, **settings):
    """A node between the picture and the shader."""
    for one in materials(name):
        tree, inputs = one.node_tree, shader(one).inputs["Base Color"]
        node = tree.nodes.new(kind)
        for field, value in settings.items():
            if field in node.inputs:
                node.inputs[field].default_value = value
            else:
                setattr(node, field, value)
        source = inputs.links[0].from_socket
        into = next(s for s in node.inputs if s.type == "RGBA" and s.enabled)
        tree.links.new(source, into)
        tree.links.new(next(s for s in node.outputs if s.type == "RGBA" and s.enabled), inputs)
        if kind == "ShaderNodeRGBCurve":
            node.mapping.curves[3].points[0].location.y = 0.5
            node.mapping.update()


def _pictures(name, image):
    for one in materials(name):
        picture(one).image = image


def _mapping(name):
    for one in materials(name):
        tree, node = one.node_tree, picture(one)
        mapping = tree.nodes.new("ShaderNodeMapping")
        mapping.inputs["Scale"].default_value = (2, 2, 1)
        where = tree.nodes.new("ShaderNodeTexCoord")
        tree.links.new(where.outputs["UV"], mapping.inputs["Vector"])
        tree.links.new(mapping.outputs["Vector"], node.inputs["Vector"])


def _assign(name, material):
    mesh_of(name).materials[0] = material


def _plain(name, colour):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader(material).inputs["Base Color"].default_value = colour
    return material


A = "armour"
quick(M, "base colour without picture", lambda: _base(A, (1, 0, 0, 1)), A)
quick(M, "emission off", lambda: set_socket("glow", "Emission Strength", 0.0), "glow")
quick(M, "roughness", lambda: set_socket(A, "Roughness", 0.1), A)
quick(M, "alpha", lambda: set_socket(A, "Alpha", 0.5), A)
quick(M, "other picture", lambda: _pictures(A, new_image("RUST", (32, 32))), A, "RUST")
quick(M, "odd picture", lambda: _pictures(A, new_image("RUST", (33, 17))), A, "RUST")
quick(M, "see-through picture", lambda: _pictures(A, new_image("RUST", (32, 32), (1, 0, 0, 0.3))), A, "RUST")
quick(M, "node gamma", lambda: _between(A, "ShaderNodeGamma", Gamma=3.0), A, only_extension=True)
quick(M, "node invert", lambda: _between(A, "ShaderNodeInvert"), A, only_extension=True)
quick(M, "node curves", lambda: _between(A, "ShaderNodeRGBCurve"), A, only_extension=True)
quick(M, "node mix", lambda: _between(A, "ShaderNodeMix", data_type="RGBA", blend_type="MIX"), A, only_extension=True)
quick(M, "node mapping", lambda: _mapping(A), A)
quick(M, "new material", lambda: _assign("gun", _plain("brass", (1, 0.5, 0, 1))), "brass")
quick(
    M,
    "new material with picture",
    lambda: _assign("gun", new_look("brass", new_image("BRASS", (32, 32)))),
    "brass",
    "BRASS",
)
quick(M, "new material of an old name", lambda: _assign("gun", _plain("glow", (1, 0, 0, 1))), "glow", "glow.001")
quick(M, "assigned material", lambda: _assign("gun", materials("glow")[0]), "glow", "gun")
quick(M, "no material", lambda: mesh_of("gun").materials.clear(), "gun", "faces")
quick(M, "renamed material", lambda: [put(m, name="rust") for m in materials(A)], A, "rust")
quick(M, "cullingoff", lambda: [put(m, use_backface_culling=False) for m in materials(A)])


@edit(M, A)
def repainted():
    image = picture(materials(A)[0]).image
    image.pixels[:400] = [1, 0, 0, 1] * 100
    image.update()


@edit(M, A)
def other_shader():
    for one in materials(A):
        tree = one.node_tree
        node = tree.nodes.new("ShaderNodeBsdfDiffuse")
        node.inputs["Color"].default_value = (1, 0, 0, 1)
        output = next(n for n in tree.nodes if n.type == "OUTPUT_MATERIAL")
        tree.links.new(node.outputs[0], output.inputs[0])
