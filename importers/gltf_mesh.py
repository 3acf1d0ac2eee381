"""Meshes of glTF as vertex streams and primitives.

Skins of glTF as rigid parts: each triangle follows its dominant joint (glTF 2.0, 3.7.3).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, called, plural, printable
from ..converter.formats.gltf import TEXTURE_TRANSFORM, Json, Mode
from ..converter.numeric.arrays import F32, F64, I64, U8, cross_products
from ..converter.numeric.pose import gltf_to_game
from ..converter.numeric.quantize import normalise
from ..converter.scene.extras import MeshExtras, raw_extras, read_extras
from ..converter.scene.scene import ImportedNode, ImportedScene, Mesh, Primitive, Streams
from .gltf_file import GltfFile
from .gltf_schema import DRACO, NOISE, GltfObject

#: Meshes of lines that the exporters make, view-only.
_OWN_LINES = ("paths", "borders")
_LINES = (Mode.LINES, Mode.LINE_LOOP, Mode.LINE_STRIP)
#: Where no mesh of a file has texture coordinates, one line says so.
_UNWRAP = "unwrap it, or choose the UV map that it has"
Arrays = dict[str, NDArray[Any]]


def read_meshes(file: GltfFile, used: set[int]) -> tuple[list[Mesh], Streams, Weights]:
    """Return every mesh, its vertices laid end to end in common streams; game axes; and the weights of skins.

    Args:
        used: meshes that are drawn; the others get no primitives.

    Raises ConversionError: a mesh that a model cannot have.
    """
    meshes: list[Mesh] = []
    weights: Weights = {}
    vertices = StreamBuilder()
    routes = {n.mesh for n in file.nodes if raw_extras(n.extras).get("kind") == "route"}
    for number, mesh in enumerate(file.meshes):
        extras = read_extras(MeshExtras, mesh.extras)
        cell = extras.get("slot"), extras.get("lod"), extras.get("group")
        meshes.append(Mesh(mesh.name or "", [], *cell))
        for place, data in enumerate(mesh.primitives if number in used else []):
            shown = number in routes or (mesh.name or "").partition(".")[0] in _OWN_LINES
            if shown and data.get("mode", Mode.TRIANGLES) in _LINES:
                meshes[-1].lines.append(_read_lines(file, number, data))
                continue
            read = _read_primitive(file, number, place, data)
            if read is None:
                continue
            attributes, index = read
            if "NORMAL" not in attributes:
                attributes, index = _flat(attributes, index)
            weights.setdefault(number, []).append(_weights(file, number, attributes))
            for name in ("POSITION", "NORMAL"):
                attributes[name] = gltf_to_game(attributes[name].astype(np.float32))
            meshes[-1].primitives.append(vertices.add(data.get("material", -1), attributes, index))
    _report_unread(file, used)
    return meshes, vertices.streams(), weights


def _report_unread(file: GltfFile, used: set[int]) -> None:
    """Name attributes that hold something which no model has a place for."""
    named = {
        item for mesh in used for primitive in file.meshes[mesh].primitives for item in primitive["attributes"].items()
    }
    unread = sorted(
        {
            name
            for name, accessor in named
            if not (_widths_of(name) or name == "TANGENT" or name.startswith("_MSH_") or file.was_read(accessor))
        }
    )
    if unread:
        what = "attributes are not read, and what they hold is ignored"
        file.report.warnings.append(f"{what}: {printable(', '.join(unread))}")


class StreamBuilder:
    """Lays the vertices of primitives end to end."""

    def __init__(self) -> None:
        self._pieces: list[Arrays] = []
        self._indices: list[NDArray[Any]] = []
        self._vertex_count = self._index_count = 0

    def add(self, material: int, attributes: Arrays, index: NDArray[Any]) -> Primitive:
        """Add a primitive.

        Args:
            material: its material, -1 = none.
            attributes: by their names in glTF, (V, n) each; positions and normals in game axes.
            index: (I,) corners of triangles, rows of the attributes.
        """
        count = len(attributes["POSITION"])
        lit = "TEXCOORD_1" in attributes
        out = Primitive(material, self._vertex_count, count, self._index_count, len(index), lit=lit)
        self._pieces.append(attributes)
        self._indices.append(index)
        self._vertex_count += count
        self._index_count += len(index)
        return out

    def streams(self) -> Streams:
        """Return all of them; what some primitives have and others lack is filled in."""
        found = {name for piece in self._pieces for name in piece if name in _WIDTH}
        joined: Arrays = {name: np.concatenate([_present(piece, name) for piece in self._pieces]) for name in found}
        flat = (("blend", "_MSH_BLEND"), ("areal", "_MSH_AREAL"), ("logic", "_MSH_LOGIC"))
        return Streams(
            joined.get("POSITION", np.empty((0, 3), np.float32)),
            np.concatenate(self._indices).astype("<u4") if self._indices else np.empty(0, "<u4"),
            normals=joined.get("NORMAL"),
            uv0=joined.get("TEXCOORD_0"),
            uv1=joined.get("TEXCOORD_1"),
            colours=joined.get("COLOR_0"),
            **{field: joined[name].reshape(-1) if name in joined else None for field, name in flat},
        )


def _read_primitive(file: GltfFile, number: int, place: int, data: Json) -> tuple[Arrays, NDArray[Any]] | None:
    """Attributes and triangle indices of a primitive; ``None`` for points and lines."""
    name, title = file.meshes[number].name, file.mesh_title(number)
    mode = data.get("mode", Mode.TRIANGLES)
    if mode < Mode.TRIANGLES:
        kind = "points" if mode == Mode.POINTS else "lines"
        if (name or "").partition(".")[0] not in _OWN_LINES:
            file.report.skipped(
                title, f"has {kind}", "the game draws nothing but triangles", "delete them, or make faces of them"
            )
        return None
    if data.get("targets"):
        hint = "a model of the game has none: apply the shape keys before you export"
        raise ConversionError(f"{title} has morph targets", file=file.label, hint=hint)
    if "POSITION" not in data["attributes"]:
        file.report.skipped(
            title, "has no POSITION", "a primitive without positions draws nothing", "delete it, or give it vertices"
        )
        return None
    attributes, index = _arrays(file, data)
    if index.dtype.kind != "u":
        raise ConversionError(f"indices of {title} are not unsigned integers", file=file.label)
    if rest := len(index) % 3 if mode == Mode.TRIANGLES else len(index) * (len(index) < 3):
        what = f"has {plural(rest, 'corner')} after its last triangle"
        file.report.skipped(title, what, "a triangle has three", "give it whole triangles", "triangles")
    index = _as_triangles(index, mode)
    if "material" in data:
        _choose_coordinates(file, data, attributes, file.materials[data["material"]], title)
    count = len(attributes["POSITION"])
    for key, values in attributes.items():
        widths = _widths_of(key)
        if len(values) != count or values.shape[1] not in widths:
            problem = f"{key} of {title} does not fit its vertices"
            expected = f"{count} x {' or '.join(map(str, widths))}"
            raise ConversionError(problem, file=file.label, value=" x ".join(map(str, values.shape)), expected=expected)
    file.claim(64 * count + 8 * len(index))
    _require_vertices(file, title, index, count)
    for key, values in attributes.items():
        finite = np.isfinite(values)
        if np.count_nonzero(finite) < finite.size:
            raise ConversionError(
                f"{key} is not finite in {title}",
                file=file.label,
                table=f"primitive {place}",
                row=int(np.argmax(~finite.all(axis=1))),
            )
    if "COLOR_0" in attributes:
        attributes["COLOR_0"] = _colours(attributes["COLOR_0"])
    return attributes, index


def _require_vertices(file: GltfFile, title: str, index: NDArray[np.unsignedinteger], count: int) -> None:
    """Refuse indices beyond the vertices, and the largest of their type, which restarts a strip."""
    most = min(count, int(np.iinfo(index.dtype).max))
    if len(index) and int(index.max()) >= most:
        problem = f"{title} has an index past its vertices"
        raise ConversionError(problem, file=file.label, value=int(index.max()), expected=f"below {most}")


def _read_lines(file: GltfFile, number: int, data: Json) -> F32:
    """The lines of a primitive, (n, 2, 3), game axes."""
    attributes, index = _arrays(file, data)
    positions = attributes["POSITION"]
    if index.dtype.kind != "u" or positions.shape[1] != 3 or not np.isfinite(positions).all():
        raise ConversionError(f"lines of {file.mesh_title(number)} have no finite positions", file=file.label)
    _require_vertices(file, file.mesh_title(number), index, len(positions))
    mode = data.get("mode", Mode.TRIANGLES)
    if mode == Mode.LINES:
        ends = index[: len(index) - len(index) % 2].reshape(-1, 2)
    else:
        ends = np.stack([index, np.roll(index, -1)], axis=1)
        ends = ends if mode == Mode.LINE_LOOP else ends[:-1]
    file.claim(24 * len(ends))
    points = gltf_to_game(positions.astype(np.float32))
    lines: F32 = points[ends]
    return lines


def _arrays(file: GltfFile, data: Json) -> tuple[Arrays, NDArray[Any]]:
    """Attributes and indices of a primitive as they are stored; packed ones are unpacked."""
    stored = data["attributes"]
    packed = file.draco(data)
    if packed is not None:
        index = packed.pop("indices").reshape(-1)
        attributes = {k: v for k, v in packed.items() if _widths_of(k)}
    else:
        attributes = {k: file.array(v) for k, v in stored.items() if _widths_of(k)}
        if "indices" in data:
            index = file.array(data["indices"]).reshape(-1)
        else:
            index = np.arange(len(attributes["POSITION"]), dtype="<u4")
    for key in stored:
        if _widths_of(key) and key not in attributes:
            attributes[key] = file.array(stored[key])
    return attributes, index


def _widths_of(name: str) -> tuple[int, ...]:
    """How many numbers an attribute may have; empty for one that is not read."""
    return (4,) if _SET.fullmatch(name) else _WIDTHS_OF.get(name, ())


def _weights(file: GltfFile, mesh: int, attributes: Arrays) -> tuple[I64, F64] | None:
    """Joints and weights of each vertex, all sets side by side; takes them out of the attributes."""
    names = sorted(name for name in attributes if name.startswith("JOINTS_"))
    pairs = [(attributes.pop(name), attributes.pop(f"WEIGHTS_{name[7:]}", None)) for name in names]
    rest = [attributes.pop(name) for name in [name for name in attributes if name.startswith("WEIGHTS_")]]
    if rest or any(joints.dtype.kind != "u" or weights is None for joints, weights in pairs):
        problem = f"{file.mesh_title(mesh)} has not weights for each set of joints, or joints that are not integers"
        raise ConversionError(problem, file=file.label)
    if not pairs:
        return None
    joints, weights = (
        np.concatenate([one for one in side if one is not None], axis=1) for side in zip(*pairs, strict=True)
    )
    return joints.astype(np.int64), weights.astype(np.float64)


#: A set of joints or weights; a number with zeros before it is none.
_SET = re.compile("(JOINTS|WEIGHTS)_(0|[1-9][0-9]*)")
#: How many numbers an attribute has (glTF 2.0, 3.7.2.1).
_WIDTHS_OF = {
    "POSITION": (3,),
    "NORMAL": (3,),
    "TEXCOORD_0": (2,),
    "TEXCOORD_1": (2,),
    "COLOR_0": (3, 4),
    "_MSH_BLEND": (1,),
    "_MSH_AREAL": (1,),
    "_MSH_LOGIC": (1,),
}
_WIDTH = {name: widths[-1] for name, widths in _WIDTHS_OF.items()}
#: What a primitive without an attribute has, where others have it.
_DEFAULTS = {"_MSH_BLEND": 1, "_MSH_LOGIC": -1}


def _present(piece: Arrays, name: str) -> NDArray[Any]:
    """An attribute of a primitive, or what stands in for one that only others have."""
    if name in piece:
        return piece[name]
    count = len(piece["POSITION"])
    if name == "COLOR_0":
        return np.full((count, 4), 255, np.uint8)
    return np.full((count, _WIDTH[name]), _DEFAULTS.get(name, 0), np.float32)


def _as_triangles(index: NDArray[Any], mode: int) -> NDArray[Any]:
    """Indices of separate triangles of a list, strip or fan (glTF 2.0, 3.7.2.1)."""
    if mode == Mode.TRIANGLES:
        return index[: len(index) - len(index) % 3]
    count = max(0, len(index) - 2)
    i = np.arange(count)
    if mode == Mode.TRIANGLE_STRIP:
        corners = np.stack([i, i + 1 + i % 2, i + 2 - i % 2], axis=1)
    else:
        corners = np.stack([i + 1, i + 2, np.zeros_like(i)], axis=1)
    return np.asarray(index[corners.reshape(-1)])


def _flat(attributes: Arrays, index: NDArray[Any]) -> tuple[Arrays, NDArray[Any]]:
    """Vertices of their own for each triangle, with its normal (glTF 2.0, 3.7.2.1), glTF axes."""
    corners = attributes["POSITION"][index.reshape(-1, 3)].astype(np.float64)
    normals = normalise(cross_products(corners), (0, 1, 0)).astype(np.float32)
    own = {name: values[index] for name, values in attributes.items()}
    return own | {"NORMAL": np.repeat(normals, 3, axis=0)}, np.arange(len(index), dtype="<u4")


def _choose_coordinates(file: GltfFile, data: Json, attributes: Arrays, material: GltfObject, title: str) -> None:
    """Make TEXCOORD_0 the set that the base colour texture uses; its transform is the material's."""
    info = (material.pbrMetallicRoughness or {}).get("baseColorTexture", {})
    transform = info.get("extensions", {}).get(TEXTURE_TRANSFORM, {})
    name = f"TEXCOORD_{transform.get('texCoord', info.get('texCoord', 0))}".replace("TEXCOORD_-1", "UV map")
    uv = attributes.get(name, attributes.get("TEXCOORD_0"))
    packed = DRACO in data.get("extensions", {})
    if name not in attributes and name in data["attributes"] and not packed:
        uv = file.array(data["attributes"][name])
    reported = not file.has_coordinates and any(one.instead == _UNWRAP for one in file.report.not_applied)
    if info and name not in data["attributes"] and not reported:
        file.report.skipped(
            title,
            f"has no {name}, which the texture of material {called(material.name)} is laid by",
            "nothing in the file says where the texture lies",
            _UNWRAP,
        )
    if uv is not None:
        attributes["TEXCOORD_0"] = uv


def _colours(values: NDArray[Any]) -> U8:
    """Return COLOR_0 of one primitive as (V, 4) RGBA bytes.

    Primitives of one file may differ in type: (V, 3) or (V, 4), floats or integers. Integers that
    are not marked as normalised, which glTF does not allow, are read as if they were.
    """
    if values.dtype.kind == "u":
        values = values / np.float32(np.iinfo(values.dtype).max)
    out = np.full((len(values), 4), 255, np.uint8)
    scaled = np.rint(values.astype(np.float64) * 255)
    out[:, : values.shape[1]] = np.clip(scaled, 0, 255).astype(np.uint8)
    return out


#: The joints and weights of each vertex, (V, n) both, by mesh and primitive; ``None`` where there are none.
Weights = dict[int, list[tuple[I64, F64] | None]]
_TO_GAME = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], np.float64)


def bind_skins(file: GltfFile, out: ImportedScene, index_of: dict[int, int], weights: Weights, allowed: bool) -> None:
    """Bind each triangle of a skinned mesh to its dominant joint, or refuse.

    Args:
        out: what was read of it; changed in place.
        index_of: glTF node -> item.
        weights: of the vertices of each primitive.
        allowed: ``--rigid-skin``.

    Raises ConversionError: there is a skin and it is not allowed, or a joint has a mesh of its own.
    """
    skinned = [
        (i, node)
        for i, node in enumerate(file.nodes)
        if i in index_of and node.skin is not None and node.mesh is not None
    ]
    if not skinned:
        return
    if not allowed:
        hint = "parts of a model are rigid: --rigid-skin binds each triangle to one joint"
        raise ConversionError(f"{file.node_title(skinned[0][0])} has a skin", file=file.label, hint=hint)
    for i, node in skinned:
        assert node.skin is not None
        skin = file.skins[node.skin]
        if missing := [joint for joint in skin.joints if joint not in index_of]:
            problem = f"{file.node_title(missing[0])} is a joint, and not in the scene that is read"
            raise ConversionError(problem, file=file.label, hint="put the skeleton into the scene of its mesh")
        _bind(file, out, out.nodes[index_of[i]], skin, index_of, weights.get(node.mesh or 0, []))


def _inverse_bind(file: GltfFile, skin: GltfObject) -> F64:
    """The inverse bind matrix of each joint, (n, 4, 4)."""
    if skin.inverseBindMatrices is None:
        return np.tile(np.eye(4), (len(skin.joints), 1, 1))
    stored = file.array(skin.inverseBindMatrices)
    if stored.shape[1] != 16 or len(stored) < len(skin.joints):
        problem, value = "a skin has not an inverse bind matrix for each joint", " x ".join(map(str, stored.shape))
        raise ConversionError(problem, file=file.label, value=value, expected=f"{len(skin.joints)} x 16")
    inverse = stored.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)
    places = np.isfinite(inverse).all() and np.abs(inverse[:, 3] - [0, 0, 0, 1]).max() <= NOISE
    if not (places and np.linalg.det(inverse[:, :3, :3]).all()):
        what = "an inverse bind matrix scales to nothing, is not finite, or has no fourth row of 0, 0, 0 and 1"
        raise ConversionError(what, file=file.label, hint="give the joint a scale other than 0")
    return inverse


def _bind(
    file: GltfFile,
    out: ImportedScene,
    item: ImportedNode,
    skin: GltfObject,
    index_of: dict[int, int],
    weights: list[tuple[I64, F64] | None],
) -> None:
    """Give each joint the triangles that it has most weight on, in the joint's frame."""
    joints = list(skin.joints)
    inverse = _inverse_bind(file, skin)
    mesh, streams = out.meshes[item.mesh], out.streams
    positions, normals = [streams.positions], [streams.normals]
    per_joint: dict[int, list[Primitive]] = {}
    indices = [streams.indices.astype("<u4")]
    end, index_end = len(streams.positions), len(streams.indices)
    copies: list[I64] = [np.arange(end)]
    for weighted, primitive in zip(weights, mesh.primitives, strict=True):
        if weighted is None:
            problem = f"node {called(item.name)} has a skin, and its mesh has vertices without joints and weights"
            raise ConversionError(problem, file=file.label, hint="give every vertex a weight, or remove the skin")
        index = streams.indices[primitive.index_start : primitive.index_start + primitive.index_count].reshape(-1, 3)
        owner = _dominant_joints(file, weighted, index, len(joints))
        for j in np.unique(owner).tolist():
            linear = _TO_GAME @ inverse[j, :3, :3] @ _TO_GAME.T
            shift = _TO_GAME @ inverse[j, :3, 3]
            owned = index[owner == j]
            if np.linalg.det(linear) < 0:  # a mirror turns triangles round
                owned = owned[:, ::-1]
            used, chosen = np.unique(owned, return_inverse=True)
            rows = primitive.vertex_start + used.astype(np.int64)
            moved = streams.positions[rows].astype(np.float64) @ linear.T + shift
            positions.append(moved.astype(np.float32))
            if streams.normals is not None:
                turned = streams.normals[rows].astype(np.float64) @ np.linalg.inv(linear)
                normals.append(normalise(turned, (0, 0, 1)).astype(np.float32))
            indices.append(chosen.reshape(-1).astype("<u4"))
            copies.append(rows)
            own = Primitive(primitive.material, end, len(rows), index_end, chosen.size, lit=primitive.lit)
            per_joint.setdefault(j, []).append(own)
            end += len(rows)
            index_end += chosen.size
    order = np.concatenate(copies)
    out.streams = replace(
        streams.taken(order, np.concatenate(indices)),
        positions=np.concatenate(positions),
        normals=None if streams.normals is None else np.concatenate([n for n in normals if n is not None]),
    )
    owners = [(index_of[joints[j]], primitives) for j, primitives in per_joint.items()]
    _give_to_joints(file, out, item, owners)


def _dominant_joints(file: GltfFile, weighted: tuple[I64, F64], index: NDArray[np.unsignedinteger], count: int) -> I64:
    """The joint that each triangle has most weight on, (T,), over all sets."""
    joint, weight = weighted
    if joint.max(initial=0) >= count:
        problem = "a vertex names a joint that its skin does not have"
        raise ConversionError(problem, file=file.label, value=int(joint.max()), expected=f"below {count}")
    file.claim(8 * len(index) * count)
    total = np.zeros((len(index), count))
    for corner in range(3):
        rows = index[:, corner]
        for k in range(joint.shape[1]):
            np.add.at(total, (np.arange(len(index)), joint[rows, k]), weight[rows, k])
    dominant: I64 = np.argmax(total, axis=1)
    return dominant


def _give_to_joints(
    file: GltfFile, out: ImportedScene, item: ImportedNode, owners: list[tuple[int, list[Primitive]]]
) -> None:
    """Make a mesh of the primitives of each joint's item, in place of the skinned one."""
    name = out.meshes[item.mesh].name
    item.mesh = -1
    for i, primitives in owners:
        owner = out.nodes[i]
        out.meshes.append(Mesh(f"{name}.{owner.name}", primitives))
        if owner.mesh >= 0:
            hint = "join it with the skinned mesh"
            raise ConversionError(f"joint {called(owner.name)} has a mesh of its own", file=file.label, hint=hint)
        owner.mesh = len(out.meshes) - 1
    out.report.warnings.append(f"skin of node {called(item.name)}: each triangle follows its dominant joint")


def join_pieces(out: ImportedScene) -> None:
    """Give a node the meshes of nodes below it that state to be the same one, stand there, and have nothing below.

    Programs write such for each material of its mesh (trimesh).
    """
    nodes, clips = out.nodes, [*out.clips, *out.ranges]
    busy = {item.parent for item in nodes} | {track.node for clip in clips for track in clip.tracks}
    pieces = dict[int, list[int]]()
    for i, item in enumerate(nodes):
        known = item.parent >= 0 and ("node" in item.extras or "level" in item.extras)
        same = known and item.extras == nodes[item.parent].extras
        still = item.linear is None and not item.translation.any() and item.rotation[0] == 1
        if same and still and item.mesh >= 0 and nodes[item.parent].mesh < 0 and i not in busy and not item.hidden:
            pieces.setdefault(item.parent, []).append(i)
    mesh_of = dict[tuple[int, ...], int]()
    for above, group in pieces.items():
        numbers = tuple(sorted(nodes[i].mesh for i in group))
        if numbers not in mesh_of:
            mesh_of[numbers] = len(out.meshes)
            out.meshes.append(Mesh(nodes[above].name, [p for k in numbers for p in out.meshes[k].primitives]))
        nodes[above].mesh = mesh_of[numbers]
    gone = {i for group in pieces.values() for i in group}
    row_of = {-1: -1} | {old: new for new, old in enumerate(i for i in range(len(nodes)) if i not in gone)}
    out.nodes = [replace(nodes[i], parent=row_of[nodes[i].parent]) for i in row_of if i >= 0]
    for clip in clips:
        clip.tracks = [replace(track, node=row_of[track.node]) for track in clip.tracks]
