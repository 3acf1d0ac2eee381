""":class:`~converter.scene.terrain.TerrainScene` to glTF 2.0 (``gltf-mapping`` page, Terrain)."""

from __future__ import annotations

from ..converter.formats.terrain import COARSE, FINE, LEVELS, NO_MATERIAL
from ..converter.numeric.axes import game_to_gltf
from ..converter.scene.appearance import Appearance
from ..converter.scene.extras import (
    MaterialExtras,
    MeshExtras,
    NodeExtras,
    SceneExtras,
    SourceExtras,
    to_extras,
)
from ..converter.scene.terrain import MaterialPair, TerrainScene
from .gltf_appearance import Pictures, set_appearance
from .gltf_file import Builder, Document, Json, row_colour

#: Names of the nodes and meshes of the two levels.
NODE_NAMES = ("terrain", "coarse")


def export_terrain(
    scene: TerrainScene,
    source: SourceExtras,
    dress: Appearance | None = None,
    *,
    visible_only: bool = False,
) -> Document:
    """A terrain as a glTF document: scene 0 the fine level, scene ``coarse`` the other.

    All primitives share the vertex streams; each has indices of its own.

    Args:
        scene: what to show.
        source: more of scene 0's ``extras.msh``: where the terrain comes from.
        dress: how the materials look; ``None``: a colour per pair.
        visible_only: leave the coarse level out.
    """
    file = Builder()
    pictures = Pictures(file, dress or Appearance())
    meshes: list[Json] = []
    nodes: list[Json] = []
    scenes: list[Json] = []
    attributes: Json = {}
    for level in (FINE,) if visible_only else (FINE, COARSE):
        data: Json = {"name": scene.name if level == FINE else LEVELS[COARSE]}
        if level == FINE:
            values = SceneExtras(format=1, kind="terrain")
            data["extras"] = to_extras({**values, **source})
        scenes.append(data)
        if not scene.primitives[level]:
            continue
        if not attributes:
            attributes = _attributes(file, scene)
        primitives = [
            {
                "attributes": attributes,
                "indices": file.indices(scene.vertex[rows].reshape(-1), len(scene.positions)),
                "material": ground,
            }
            for ground, rows in scene.primitives[level]
        ]
        name = NODE_NAMES[level]
        about = to_extras(NodeExtras(level=level))
        nodes.append({"name": name, "mesh": len(meshes), "extras": about})
        about = to_extras(MeshExtras(level=level))
        meshes.append({"name": name, "primitives": primitives, "extras": about})
        data["nodes"] = [len(nodes) - 1]
    return file.document(
        {
            "scene": 0,
            "scenes": scenes,
            "nodes": nodes,
            "meshes": meshes,
            "materials": [_material(g, pictures) for g in scene.material_pairs] if meshes else [],
            **pictures.document(),
        }
    )


def _attributes(file: Builder, scene: TerrainScene) -> Json:
    out = {
        "POSITION": file.vertices(game_to_gltf(scene.positions), bounds=True),
        "NORMAL": file.vertices(game_to_gltf(scene.normals)),
        "TEXCOORD_0": file.vertices(scene.uv0),
        "TEXCOORD_1": file.vertices(scene.micro_uv),
    }
    if scene.blend is not None:
        out["_MSH_BLEND"] = file.vertices(scene.blend)
    return out


def _material(ground: MaterialPair, pictures: Pictures) -> Json:
    """The first material; where there is a second, both textures in one (decision 0019)."""
    values = MaterialExtras(first=ground.first, second=ground.second, microtexture=ground.micro)
    if ground.second != NO_MATERIAL:
        values["microtexture2"] = ground.micro2
    out: Json = {
        "name": ground.name,
        "pbrMetallicRoughness": row_colour(
            ground.first if ground.second == NO_MATERIAL else 31 * ground.first + ground.second + 7
        ),
        "doubleSided": True,
    }
    look, picture = pictures.dress.of(ground.first)
    if look is not None and look.step != "missing":
        both = pictures.dress.mixed.get((ground.first, ground.second), picture)
        set_appearance(out, values, pictures, look, both)
    out["extras"] = to_extras(values)
    return out
