"""``trimesh.Scene``, and what trimesh reads, to :class:`~converter.scene.scene.ImportedScene`.

The scene is read as an OBJ is: an item per node, triangles in model space as they are posed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..converter.errors import (
    ConversionError,
    Malformed,
    MissingPackage,
    called,
    install_command,
    needed_for,
    plural,
    reason_of,
)
from ..converter.files import read_file
from ..converter.findings import Subject
from ..converter.formats.gltf import FilePicture, Json, Surface, pixel_digest, surface_of
from ..converter.formats.names import stem
from ..converter.numeric.arrays import F64, I64, U8, summed_cross_products
from ..converter.scene.extras import FileInfo, read_extras
from ..converter.scene.scene import ImportedScene, Material
from .obj import Pieces

if TYPE_CHECKING:
    import trimesh

#: Files of programs, which their own exporters turn into glTF without loss.
OF_PROGRAMS = (".blend", ".fbx", ".dae", ".zae", ".max", ".ma", ".mb", ".c4d", ".3ds")
#: What reads as glTF, OBJ or a picture.
_OTHERS = (".glb", ".gltf", ".obj", ".png")


def read_by_trimesh(path: Path) -> bool:
    """Return whether a file's ending is that of a mesh format that trimesh has a loader for.

    Raises ConversionError: it is a program's own format, or one whose loader needs a package.
    """
    ending = path.suffix.lower()
    if ending in OF_PROGRAMS:
        raise ConversionError("cannot be read", file=str(path), hint="export it as glTF (.glb), and convert that")
    if ending in _OTHERS or not ending:
        return False
    with needed_for(f"reading {ending}", "trimesh", file=str(path)):
        from trimesh.exchange.load import mesh_loaders
    return ending[1:] in mesh_loaders


def load_scene(path: Path) -> trimesh.Scene:
    """Read a file of a mesh format that trimesh knows: STL, PLY, OFF, 3MF and others.

    Raises:
        ConversionError: it cannot be read.
        MissingPackage: its loader needs a package.
    """
    ending, label = path.suffix.lower(), str(path)
    data = bytes(read_file(path))  # errors of reading are ours
    with needed_for(f"reading {ending}", "trimesh", file=label):
        import trimesh

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return trimesh.load_scene(BytesIO(data), file_type=ending[1:], process=False)
    except ImportError as error:
        raise _missing(ending, label, error) from None
    except MemoryError:
        raise
    except Exception as error:  # whatever a broken file leads its loader to
        raise ConversionError(
            f"cannot be read as {ending}", file=label, value=reason_of(error), hint="export it again"
        ) from error


def _missing(ending: str, label: str, error: ImportError) -> MissingPackage:
    """The error of a loader that needs a package."""
    package = (error.name or str(error).rpartition("'")[0].rpartition("'")[2] or "trimesh[easy]").partition(".")[0]
    out = MissingPackage(f"reading {ending} needs more packages", file=label, hint=install_command(package))
    out.needs = package
    return out


def read_scene(scene: trimesh.Scene, label: str, *, up: str | None = None) -> tuple[ImportedScene, set[int]]:
    """Return what a scene shows: an item at the origin per node with a mesh, in model space, game axes.

    What the scene's ``metadata["msh"]`` states of its source becomes ``info``. The second value has the
    meshes without normals: trimesh drops them when vertices or faces are edited, and in copies. Theirs
    are computed, each vertex from its faces.

    Args:
        up: ``y`` or ``z``; default as the metadata states, else ``y``.

    Raises ConversionError: no triangles, or a number that is not finite.
    """
    out = ImportedScene(stem(Path(label).name), _info(scene, label))
    materials: dict[str, int] = {}
    pieces, bare = Pieces(out), set[int]()
    for node in sorted(scene.graph.nodes_geometry):
        matrix, name = scene.graph.get(node)
        geometry = scene.geometry.get(name)
        faces = getattr(geometry, "faces", None)
        if geometry is None or faces is None or not len(faces):
            what = f"has {type(geometry).__name__} and no triangles"
            out.report.skipped(
                Subject("node", str(node)), what, "the game draws nothing but triangles", "make a mesh of it"
            )
            continue
        pieces.begin(str(node))
        _require_valid(geometry, str(node), label)
        for material, rows in _by_material(geometry, materials, out):
            pieces.add(len(out.meshes) - 1, material, *_posed(geometry, rows, np.asarray(matrix, np.float64)))
        if "vertex_normals" not in geometry._cache:
            bare.add(len(out.meshes) - 1)
    if len(out.nodes) == 1 and not scene.metadata.get("msh"):
        out.nodes[0].name = out.name  # a format without names: trimesh makes one up
    if not pieces.made:
        raise ConversionError("has no triangles", file=label, hint="is it a mesh?")
    out.materials = [*map(Material, materials)]
    out.material_extras = [{} for _ in materials]
    pieces.finish(up or out.info["up"], label)
    return out, bare


def _info(scene: trimesh.Scene, label: str) -> FileInfo:
    """What the metadata states, empty of a foreign scene."""
    try:
        info = read_extras(FileInfo, scene.metadata)
        if not np.isfinite(float(info.get("frame", 0.0))):
            raise Malformed(f"frame is {info['frame']}")
    except (ValueError, TypeError, OverflowError) as error:
        raise ConversionError("its metadata cannot be understood", file=label, value=reason_of(error)) from None
    info.setdefault("up", "y")  # as an OBJ, it has no control points and no clip
    return info


def _require_valid(geometry: Any, name: str, label: str) -> None:
    faces, count = np.asarray(geometry.faces), len(geometry.vertices)
    if faces.min() < 0 or faces.max() >= count:
        raise ConversionError(f"object {called(name)} has a face out of range", file=label, expected=count)
    if not np.isfinite(geometry.vertices).all():
        raise ConversionError(f"object {called(name)} has a number that is not finite", file=label)


def _by_material(geometry: Any, materials: dict[str, int], out: ImportedScene) -> Iterator[tuple[int, I64]]:
    """The faces of each material, and its number; adds new materials, and what they show."""
    visual = geometry.visual
    every = np.arange(len(geometry.faces))
    if getattr(visual, "kind", None) in ("vertex", "face"):
        message = "colours of vertices and faces in a trimesh.Scene are not read: use glTF for them"
        out.report.warnings += [message] if message not in out.report.warnings else []
    material = getattr(visual, "material", None)
    if material is None:
        yield -1, every
        return
    several = getattr(material, "materials", None)
    if several is None:
        yield _number(material, materials, out), every
        return
    stated = (geometry.face_attributes.get("material"), visual.face_materials)  # edits of faces keep the former
    of_face = next((np.asarray(one) for one in stated if np.shape(one) == every.shape), None)
    if of_face is None:
        problem = f"mesh {called(str(geometry.metadata.get('name', '')))} does not say which face has which material"
        raise ConversionError(problem, expected=f'face_attributes["material"] of {plural(len(every), "number")}')
    for k in np.unique(of_face).tolist():
        number = _number(several[k], materials, out) if 0 <= k < len(several) else -1
        yield number, np.flatnonzero(of_face == k)


def _number(material: Any, materials: dict[str, int], out: ImportedScene) -> int:
    """The number of a material; adds a new one, and what it shows."""
    name = str(getattr(material, "name", None) or "")
    if not name:
        return -1
    if name not in materials:
        materials[name] = len(materials)
        out.surfaces.append(_surface(name, material.to_pbr() if hasattr(material, "to_pbr") else material))
    return materials[name]


def _surface(name: str, material: Any) -> Surface[FilePicture]:
    """What a material of trimesh shows; its colours have 8 bits."""
    images: list[Any] = []
    base: Json = {}
    out: Json = {"name": name, "pbrMetallicRoughness": base, "doubleSided": bool(material.doubleSided)}
    if (colour := material.baseColorFactor) is not None:
        base["baseColorFactor"] = (np.asarray(colour, np.float64) / 255).tolist()
    for key in ("metallicFactor", "roughnessFactor"):
        if (value := getattr(material, key)) is not None:
            base[key] = float(value)
    if (emission := material.emissiveFactor) is not None:
        out["emissiveFactor"] = np.asarray(emission).tolist()
    if material.alphaMode is not None:
        out["alphaMode"] = material.alphaMode
    for place, key in ((base, "baseColorTexture"), (out, "emissiveTexture")):
        if (image := getattr(material, key)) is not None:
            place[key] = {"index": len(images)}
            images.append(image)
    textures: list[Json] = [{"source": i} for i in range(len(images))]
    return surface_of(out, textures, lambda i: _picture(images[i], name))


def _picture(image: Any, material: str) -> FilePicture:
    """A picture of PIL's."""
    name = str(image.info.get("name") or material)

    def rgba() -> U8:
        return np.asarray(image.convert("RGBA"), np.uint8)

    return FilePicture(name, "", lambda: "", lambda: pixel_digest(rgba()), rgba, lambda: False)


def _posed(geometry: Any, rows: I64, matrix: F64) -> tuple[F64, F64, F64 | None, I64]:
    """Points, normals and texture coordinates of some faces, posed, and their corners."""
    used, corners = np.unique(np.asarray(geometry.faces)[rows], return_inverse=True)
    corners = corners.reshape(-1, 3)
    points = np.asarray(geometry.vertices, np.float64)[used] @ matrix[:3, :3].T + matrix[:3, 3]
    if np.linalg.det(matrix[:3, :3]) < 0:
        corners = corners[:, ::-1]  # mirrored
    if "vertex_normals" in geometry._cache:  # as they were given; else trimesh would make them
        turned = np.asarray(geometry.vertex_normals, np.float64)[used] @ np.linalg.pinv(matrix[:3, :3])
    else:
        turned = summed_cross_products(points[corners], corners)  # what faces do not share stays hard, as in STL
    uv = getattr(geometry.visual, "uv", None)
    if uv is not None and np.shape(uv) == (len(geometry.vertices), 2):
        uv = np.array(uv, np.float64)[used]
        uv[:, 1] = 1 - uv[:, 1]  # trimesh counts V upwards
    else:
        uv = None
    return points, turned, uv, corners
