"""A terrain as glTF 2.0 (``docs/reference/gltf.md``, A terrain)."""

from __future__ import annotations

from collections.abc import Sequence

from ..converter.formats.gltf import Json
from ..converter.formats.terrain import COARSE, FINE, LEVELS, NO_MATERIAL
from ..converter.numeric.axes import game_to_gltf
from ..converter.scene.appearance import Appearance
from ..converter.scene.extras import MaterialExtras, MeshExtras, NodeExtras, SceneExtras, SourceExtras, to_extras
from ..converter.scene.terrain import MaterialPair, TerrainScene
from .gltf_appearance import Pictures, set_appearance
from .gltf_file import Builder, Document, row_colour

#: Names of the nodes and meshes of the two levels.
NODE_NAMES = ("terrain", "coarse")


def export_terrain(
    scene: TerrainScene, source: SourceExtras, appearance: Appearance | None = None, *, visible_only: bool = False
) -> Document:
    """A terrain as a glTF document: scene 0 the fine level, scene ``coarse`` the other.

    All primitives use the same vertex streams; each has indices of its own.

    Args:
        scene: what to show.
        source: more of scene 0's ``extras.msh``: where the terrain comes from.
        appearance: of the materials; ``None``: a colour per pair.
        visible_only: leave the coarse level out.
    """
    file = Builder()
    levels = (FINE,) if visible_only else (FINE, COARSE)
    nodes = add_levels(file, scene, Pictures(file, appearance or Appearance()), levels)
    for level in levels:
        out: Json = {"name": scene.name if level == FINE else LEVELS[COARSE]}
        if level == FINE:
            values = SceneExtras(format=1, kind="terrain")
            out["extras"] = to_extras({**values, **source})
        if level in nodes:
            out["nodes"] = [nodes[level]]
        file.scenes.append(out)
    return file.document()


def add_levels(file: Builder, scene: TerrainScene, pictures: Pictures, levels: Sequence[int]) -> dict[int, int]:
    """Add a node for each level of a terrain that has triangles, their meshes and materials.

    Args:
        file: the document.
        scene: the terrain.
        pictures: the document's textures, and the appearance of the terrain's rows.
        levels: ``FINE``, ``COARSE`` or both.

    Returns:
        The node of each level in the document.
    """
    attributes: Json = {}
    nodes: dict[int, int] = {}
    first = len(file.materials)
    for level in levels:
        if not scene.primitives[level]:
            continue
        attributes = attributes or _attributes(file, scene)
        primitives = [
            {
                "attributes": attributes,
                "indices": file.add_indices(scene.vertex[rows].reshape(-1), len(scene.positions)),
                "material": first + material,
            }
            for material, rows in scene.primitives[level]
        ]
        name, extras = NODE_NAMES[level], to_extras(MeshExtras(level=level))
        mesh = file.add_mesh({"name": name, "primitives": primitives, "extras": extras})
        extras = to_extras(NodeExtras(level=level))
        nodes[level] = file.add_node({"name": name, "mesh": mesh, "extras": extras})
    if nodes:
        for pair in scene.material_pairs:
            file.add_material(_material(pair, pictures))
    return nodes


def _attributes(file: Builder, scene: TerrainScene) -> Json:
    out = {
        "POSITION": file.add_vertices(game_to_gltf(scene.positions), bounds=True),
        "NORMAL": file.add_vertices(game_to_gltf(scene.normals)),
        "TEXCOORD_0": file.add_vertices(scene.uv0),
        "TEXCOORD_1": file.add_vertices(scene.micro_uv),
    }
    if scene.blend is not None:
        out["_MSH_BLEND"] = file.add_vertices(scene.blend)
    return out


def _material(pair: MaterialPair, pictures: Pictures) -> Json:
    """The first material; where there is a second, both textures in one (decision 0019)."""
    values = MaterialExtras(first=pair.first, second=pair.second, microtexture=pair.micro)
    if pair.second != NO_MATERIAL:
        values["microtexture2"] = pair.micro2
    out: Json = {
        "name": pair.name,
        "pbrMetallicRoughness": row_colour(
            pair.first if pair.second == NO_MATERIAL else 31 * pair.first + pair.second + 7
        ),
        "doubleSided": True,
    }
    shown, picture = pictures.appearance.of(pair.first)
    if shown is not None and shown.step != "missing":
        both = pictures.appearance.mixed.get((pair.first, pair.second), picture)
        set_appearance(out, values, shown, both, pictures=pictures)
    out["extras"] = to_extras(values)
    return out
