""":class:`~converter.scene.scene.Scene` to Wavefront OBJ (docs/reference/gltf.md), and to ``trimesh.Scene``.

An OBJ has one ``o`` per node that is shown, one ``g`` per part, one ``usemtl`` per primitive, vertices posed in model
space. It keeps no hierarchy, animation, LODs or second UV set. A name ends at the first blank for most readers, and
``\\`` at a line's end joins lines: see :func:`escape`.

A ``trimesh.Scene`` has a geometry per part, and the nodes as they are posed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, called, needed_for, printable
from ..converter.formats.gltf import Json, TextureTransform
from ..converter.numeric.arrays import F32, F64, I64
from ..converter.numeric.pose import affine, game_to_gltf, rotation_matrix
from ..converter.numeric.quantize import normalise
from ..converter.scene.appearance import MaterialAppearance
from ..converter.scene.decode import unique_names
from ..converter.scene.dialect import part_name
from ..converter.scene.scene import Part, Primitive, Scene, Streams
from .gltf_file import row_colour

if TYPE_CHECKING:
    import trimesh


#: Starts the comment that states where an OBJ comes from.
HEADER = "# msh-gltf"


def export_obj(
    scene: Scene,
    poses: tuple[F64, F64],
    *,
    lod: int = 0,
    group: int = 0,
    up: str = "y",
    mtl_name: str = "",
    info: Mapping[str, int | float | str] | None = None,
    appearances: Mapping[int, MaterialAppearance] | None = None,
    pictures: Mapping[str, str] | None = None,
    rectangles: Mapping[int, TextureTransform] | None = None,
) -> tuple[bytes, bytes]:
    """A scene as OBJ and MTL text; the same scene gives the same bytes.

    Args:
        scene: node-local vertices, game axes.
        poses: model-space rotations (N, 4) and translations (N, 3) of the nodes, game axes.
        lod, group: the cell to show; cockpit nodes are left out, as in a glTF's scene 0.
        up: ``y`` for glTF axes, ``z`` for game axes.
        mtl_name: what the OBJ calls its MTL file; empty = it names none.
        info: for the header comment, ``key=value`` with escaped values.
        appearances: of the materials, by row; without one a row has the colour it has in glTF.
        pictures: file name of each texture that lies beside the MTL.
        rectangles: what materials show of their textures, by index; in the scene's coordinates already, and
            a comment of the MTL.

    Raises ConversionError: a vertex that float32 cannot hold once it is posed.
    """
    names = material_names(scene)
    pairs = "".join(f" {key}={escape(str(value))}" for key, value in (info or {}).items())
    pieces = [f"{HEADER}{pairs}\n"]
    if mtl_name:
        pieces.append(f"mtllib {printable(mtl_name)}\n")
    used: set[int] = set()
    written = 1
    for part in scene.shown(lod, group):
        text, count = _object(scene, part, poses, up, names, written)
        pieces.append(text)
        written += count
        used |= {p.material for p in scene.meshes[part.mesh].primitives}
    mtl = [f"{HEADER}\n"]
    for i in sorted(used):
        row = scene.materials[i].row
        mtl.append(_material(names[i], row, (appearances or {}).get(row), pictures or {}))
        if (shown := (rectangles or {}).get(i)) is not None:
            mtl.append(f"{HEADER} rectangle {' '.join(f'{value:.9g}' for value in shown[:4])}\n")
    return _encoded(pieces), _encoded(mtl)


def material_names(scene: Scene) -> list[str]:
    """A name per material, made unique as those of nodes are: OBJ knows materials by name."""
    return unique_names([material.name for material in scene.materials])


def escape(name: str) -> str:
    """A name without blanks, for OBJ.

    Blanks, ``%``, ``\\`` and what does not print become ``%XX``, their bytes in UTF-8; everything
    else, Cyrillic too, stays. ``importers.obj.unescape`` undoes it.
    """
    return "".join(
        c if c.isprintable() and c not in " %\\" else quote(c, safe="", errors="surrogatepass") for c in name
    )


def posed(points: F32, rotation: F64, translation: F64) -> F32:
    """Points of a node in model space, game axes: float64 inside, float32 out. (V, 3).

    Only elementwise arithmetic: the import repeats it and needs the same bits, which a matrix
    product does not promise for other array sizes.
    """
    return _turned(points, rotation, translation).astype(np.float32)


def posed_normals(normals: F32, rotation: F64) -> F32:
    """Unit normals of a node in model space, game axes. (V, 3)."""
    return normalise(_turned(normals, rotation, np.zeros(3)), (0, 0, 1)).astype(np.float32)


def _turned(vectors: F32, rotation: F64, translation: F64) -> F64:
    x, y, z = vectors.astype(np.float64).T
    m = rotation_matrix(rotation)
    return np.stack([m[i, 0] * x + m[i, 1] * y + m[i, 2] * z + translation[i] for i in range(3)], axis=1)


def _object(scene: Scene, part: Part, poses: tuple[F64, F64], up: str, names: list[str], first: int) -> tuple[str, int]:
    """The text of a part, and how many vertices it has; its first one is number ``first``."""
    streams, node = scene.streams, scene.nodes[part.node]
    primitives = scene.meshes[part.mesh].primitives
    used, place, counts = _vertices(streams, primitives)
    rotation, translation = poses[0][part.node], poses[1][part.node]
    points = posed(streams.positions[used], rotation, translation)
    if not np.isfinite(points).all():
        raise ConversionError(f"node {called(node.name)} is posed beyond float32")
    axes = game_to_gltf if up == "y" else np.asarray
    out = [f"o {escape(node.name)}\n", _lines("v %.9g %.9g %.9g\n", axes(points))]
    if streams.uv0 is not None:
        # OBJ counts V upwards, the game and glTF downwards
        flipped = np.stack([streams.uv0[used, 0], 1 - streams.uv0[used, 1]], axis=1)
        out.append(_lines("vt %.9g %.9g\n", flipped))
    if streams.normals is not None:
        normals = posed_normals(streams.normals[used], rotation)
        out.append(_lines("vn %.9g %.9g %.9g\n", axes(normals)))
    out.append(f"g {escape(part_name(node.name, part.lod, part.group, scene.dialect))}\n")
    corner, width = _corner(streams)
    numbers = place + first
    for primitive, faces in zip(primitives, np.split(numbers, np.cumsum(counts)[:-1]), strict=True):
        out.append(f"usemtl {escape(names[primitive.material])}\n")
        out.append(_lines(f"f{corner * 3}\n", np.repeat(faces, width).reshape(-1, 3 * width)))
    return "".join(out), len(used)


def _vertices(streams: Streams, primitives: Sequence[Primitive]) -> tuple[I64, I64, list[int]]:
    """The vertices that primitives use, which of them each corner is, and how many corners each primitive has."""
    used, place = np.unique(streams.corners(primitives), return_inverse=True)
    return used, place.reshape(-1), [p.index_count for p in primitives]


def _corner(streams: Streams) -> tuple[str, int]:
    """How a face names a corner, and how often the vertex number is in it."""
    if streams.uv0 is not None:
        return (" %d/%d/%d", 3) if streams.normals is not None else (" %d/%d", 2)
    return (" %d//%d", 2) if streams.normals is not None else (" %d", 1)


def _lines(line: str, values: NDArray[np.generic]) -> str:
    """A line per row; 9 digits bring every float32 back."""
    return (line * len(values)) % tuple(values.reshape(-1).tolist())


def _material(name: str, row: int, appearance: MaterialAppearance | None, pictures: Mapping[str, str]) -> str:
    """A material with its appearance, else with the colour of its row."""
    if appearance is not None and appearance.step == "missing":
        appearance = None
    colour = row_colour(row)["baseColorFactor"] if appearance is None else appearance.colour
    red, green, blue, alpha = colour
    out = [f"newmtl {escape(name)}\nKd {red:g} {green:g} {blue:g}\nd {alpha:g}\nillum 1\n"]
    if appearance is not None:
        if any(appearance.self_light):
            out.append("Ke {:g} {:g} {:g}\n".format(*appearance.self_light))
        if appearance.texture in pictures:
            out.append(f"map_Kd {pictures[appearance.texture]}\n")
            if appearance.translucent:
                out.append(f"map_d {pictures[appearance.texture]}\n")
    return "".join(out)


def _encoded(pieces: list[str]) -> bytes:
    # surrogates stand for the raw bytes of a file name
    return "".join(pieces).encode("utf-8", "surrogateescape")


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
    materials = _pbr_materials(document, buffer, material_names(scene))
    shown = {part.node: part for part in scene.shown(lod, group)}
    axes = game_to_gltf(np.eye(3, dtype=np.float32)).astype(np.float64)
    for i, node in enumerate(scene.nodes):
        matrix = affine(axes.T @ rotation_matrix(poses[0][i]) @ axes, poses[1][i] @ axes)
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
    used, faces, counts = _vertices(streams, primitives)
    uv = None
    if streams.uv0 is not None:
        uv = streams.uv0[used].astype(np.float64)
        uv[:, 1] = 1 - uv[:, 1]  # trimesh counts V upwards
    numbers = sorted({p.material for p in primitives})
    of_face = np.repeat([numbers.index(p.material) for p in primitives], np.array(counts) // 3)
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


def _pbr_materials(document: Json, buffer: memoryview, names: list[str]) -> list[Any]:
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
