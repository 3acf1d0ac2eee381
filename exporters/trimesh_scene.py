"""A model's scene as ``trimesh.Scene``: a geometry per part, the nodes as they are posed."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ..converter.errors import needed_for
from ..converter.formats.gltf import Json
from ..converter.numeric.arrays import F64
from ..converter.numeric.pose import game_to_gltf, rotation_matrix
from ..converter.scene.decode import unique_names
from ..converter.scene.dialect import part_name
from ..converter.scene.scene import Part, Scene
from .obj import material_names, shown_parts

if TYPE_CHECKING:
    import trimesh


def trimesh_scene(
    scene: Scene, poses: tuple[F64, F64], document: Json, buffer: memoryview, *, lod: int = 0, group: int = 0
) -> trimesh.Scene:
    """Return a scene as trimesh's, in glTF axes (Y up). Raises MissingPackage: trimesh is not installed.

    Args:
        scene: node-local vertices, game axes.
        poses: rotations (N, 4) and translations (N, 3) of the nodes below their parents, game axes.
        document: the same scene as glTF: its materials.
        buffer: that document's buffer: its pictures.
        lod, group: the cell to show; cockpit nodes are left out, as in a glTF's scene 0.
    """
    with needed_for("a trimesh.Scene", "trimesh"):
        import trimesh

    names = [node.name for node in scene.nodes]
    out = trimesh.Scene(base_frame=unique_names([*names, "world"])[-1])
    materials = _materials(document, buffer, material_names(scene))
    shown = {part.node: part for part in shown_parts(scene, lod, group)}
    axes = game_to_gltf(np.eye(3, dtype=np.float32)).astype(np.float64)
    for i, node in enumerate(scene.nodes):
        matrix = np.eye(4)
        matrix[:3, :3] = axes.T @ rotation_matrix(poses[0][i]) @ axes
        matrix[:3, 3] = poses[1][i] @ axes
        above = names[node.parent] if node.parent >= 0 else out.graph.base_frame
        edge: dict[str, Any] = {"frame_to": node.name, "frame_from": above, "matrix": matrix}
        if (part := shown.get(i)) is not None:
            edge["geometry"] = name = part_name(node.name, lod, group, scene.dialect)
            out.geometry[name] = _geometry(scene, part, name, materials)
        out.graph.update(**edge)
    return out


def _geometry(scene: Scene, part: Part, name: str, materials: Sequence[Any]) -> trimesh.Trimesh:
    """A part: its vertices as they are stored, its triangles, and the material of each."""
    import trimesh
    from trimesh.visual import TextureVisuals
    from trimesh.visual.material import MultiMaterial

    streams, primitives = scene.streams, scene.meshes[part.mesh].primitives
    rows = [
        streams.indices[p.index_start : p.index_start + p.index_count].astype(np.int64) + p.vertex_start
        for p in primitives
    ]
    used, faces = np.unique(np.concatenate(rows), return_inverse=True)
    uv = None
    if streams.uv0 is not None:
        uv = streams.uv0[used].astype(np.float64)
        uv[:, 1] = 1 - uv[:, 1]  # trimesh counts V upwards
    numbers = sorted({p.material for p in primitives})
    of_face = np.repeat([numbers.index(p.material) for p in primitives], [len(row) // 3 for row in rows])
    several = len(numbers) > 1
    visual = TextureVisuals(
        uv=uv,
        material=MultiMaterial([materials[k] for k in numbers]) if several else materials[numbers[0]],
        face_materials=of_face if several else None,
    )
    normals = None if streams.normals is None else game_to_gltf(streams.normals[used]).astype(np.float64)
    return trimesh.Trimesh(
        vertices=game_to_gltf(streams.positions[used]).astype(np.float64),
        faces=faces.reshape(-1, 3),
        vertex_normals=normals,
        visual=visual,
        face_attributes={"material": of_face} if several else None,
        metadata={"name": name},
        process=False,
    )


def _materials(document: Json, buffer: memoryview, names: list[str]) -> list[Any]:
    """The materials of a document that has its pictures inside, under the names that they have in an OBJ."""
    from PIL import Image
    from trimesh.visual.material import PBRMaterial

    images = []
    for about in document.get("images", []):
        view = document["bufferViews"][about["bufferView"]]
        picture = Image.open(BytesIO(buffer[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]))
        picture.load()
        picture.info = {"name": about["name"]}
        images.append(picture)

    def image(info: Json | None) -> Any:
        if info is None or info.get("texCoord", 0):
            return None  # trimesh has one set of texture coordinates
        return images[document["textures"][info["index"]]["source"]]

    out = []
    for name, material in zip(names, document.get("materials", []), strict=False):
        base = material["pbrMetallicRoughness"]
        out.append(
            PBRMaterial(
                name=name,
                baseColorFactor=base.get("baseColorFactor"),
                metallicFactor=base.get("metallicFactor"),
                roughnessFactor=base.get("roughnessFactor"),
                baseColorTexture=image(base.get("baseColorTexture")),
                emissiveFactor=material.get("emissiveFactor"),
                emissiveTexture=image(material.get("emissiveTexture")),
                alphaMode=material.get("alphaMode"),
                doubleSided=material.get("doubleSided", False),
            )
        )
    return out
